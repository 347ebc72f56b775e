"""Secrets are known by what they are, wherever they were read from: no run removes or replaces a file
that holds one. And nothing but paraes sees them: no child, no core dump."""

import base64
import json
import os
import shlex
import shutil
import unittest

from recipients import AGE, RecipientsCase
from support import BIN, IV, KEYS, POSIX_ONLY, Case
from test_protected import KEYSET

KEY = KEYS[256]
HEX = KEY.hex().encode() + b"\n"
CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex()]
FAST = ["--scrypt-log2n", "2"]
WORD = b"correct horse\n"
NAMED = "it holds the secret of "

UNHEX = "perl -ne 'chomp; print pack q(H*), $_' F"
SPACELESS = "tr -d ' \\n' < F"


def command(text, flag="--key-command"):
    return f"{flag} {shlex.quote(text)}"


# By name: the flags of a run, the bytes of its secret's file F, and how paraes gets the secret from it.
SOURCES = {
    "command": ([], KEY, command("cat F")),
    "process substitution": ([], KEY, "-k <(cat F)"),
    "standard input": ([], KEY, "-k - < <(cat F)"),
    "hex": ([], HEX, command("cat F")),
    "hex, decoded": ([], HEX, command(UNHEX)),
    "upper case, decoded": ([], HEX.upper(), f"-k <({UNHEX})"),
    "raw, as hex": ([], KEY, command("od -An -v -tx1 F | tr -d ' \\n'; echo")),
    "base64": ([], base64.b64encode(KEY) + b"\n", command("base64 -d F")),
    "hex, wrapped": ([], HEX[:60] + b"\n" + HEX[60:], command("tr -d '\\n' < F; echo")),
    "hex with colons": ([], KEY.hex(":").encode(), command("tr -d : < F; echo")),
    "base64, wrapped": ([], b"\n".join(base64.b64encode(KEY)[i:i + 20] for i in (0, 20, 40)),
                        command("base64 -d F")),
    "argument": ([], HEX, "--key-hex $(cat F)"),
    "raw format": (CTR, KEY, "-k <(cat F)"),
    "keyset": (["--format", "tink"], KEYSET, command("cat F")),
    "keyset, other white space": (
        ["--format", "tink"], json.dumps(json.loads(KEYSET), indent=2).encode(), f"-k <({SPACELESS})"),
    "passphrase": (FAST, WORD, command("cat F", "--passphrase-command")),
    "passphrase without newline": (FAST, WORD[:-1], command("cat F", "--passphrase-command")),
    "passphrase, trimmed": (FAST, WORD, command("tr -d '\\n' < F", "--passphrase-command")),
    "passphrase, CRLF": (FAST, WORD[:-1] + b"\r\n", "--passphrase-fd 7 7< <(cat F)"),
    "passphrase, first line": (FAST, WORD + b"user: me\n", command("head -n1 F", "--passphrase-command")),
    "variable, two newlines": (FAST, WORD + b"\n", "--passphrase-env WORDS"),
    "variable": (FAST, WORD, "--passphrase-env WORDS"),
    "openssl": (["--format", "openssl", "--iter", "1"], WORD + b"a note\n", "--passphrase-file <(cat F)"),
}


class Known(Case):
    GIVEN = {"x": b"1"}

    def given(self, name):
        """The flags and the script of a source whose file is d/secret, in a new folder."""
        flags, data, source = SOURCES[name]
        shutil.rmtree(self.path("d"), ignore_errors=True)
        self.write("d/secret", data, 0o600)
        self.write("d/z", b"2")
        self.before = data
        script = f"export WORDS=\"$(cat d/secret)\"; \"$@\" {source.replace('F', 'd/secret')}"
        return flags, script

    def refused(self, *args, says):
        """Encrypts with each source, which must do nothing, as for a file that -k names."""
        for name in SOURCES:
            with self.subTest(source=name):
                flags, script = self.given(name)
                done = self.shell(script, "encrypt", *flags, *args, status=2)
                self.assertEqual(self.read("d/secret"), self.before)
                self.assertEqual(self.names("d"), ["secret", "z"])
                text = done.stderr.decode()
                self.assertEqual(text.count(NAMED), 1, text)
                for words in says:
                    self.assertIn(words, text)

    def test_rm_keeps_the_secret(self):
        self.refused("-r", "--rm", "d", says=["paraes: d/secret: ", "--exclude /secret"])

    def test_rm_of_the_secret_alone_is_refused(self):
        self.refused("--rm", "d/secret", says=["paraes: d/secret: "])

    def test_nothing_replaces_the_secret(self):
        self.refused("-f", "-o", "d/secret", "x", says=["paraes: x: its output would be d/secret, "])


class Other(Case):
    GIVEN = {"k": KEY, "plain": b"1", "x": b"1"}

    def test_a_file_that_is_no_secret_is_removed_and_replaced(self):
        for data in (KEY[::-1], HEX[::-1], b"", KEY + b"\n\n", WORD, KEYSET, b"0" * 65536, b"1" * 70000,
                     b"log of " + HEX):
            with self.subTest(data=data[:40]):
                self.write("a", data)
                self.ok("encrypt", "-f", "--rm", "--key-command", "cat k", "a")
                self.ok("decrypt", "-f", "--rm", "--key-command", "cat k", "a.paes")
                self.assertEqual(self.read("a"), data)
                self.ok("encrypt", "-f", "--key-command", "cat k", "-o", "a", "k")

    def test_without_rm_a_copy_of_the_key_is_an_input_like_others(self):
        self.write("copy", KEY)
        self.ok("encrypt", "--key-command", "cat k", "copy")
        self.assertEqual(self.ok("decrypt", "-k", "k", "-c", "copy.paes"), KEY)

    def test_a_copy_of_the_key_file_is_kept(self):
        self.write("copy", KEY)
        self.fails(2, "encrypt", "--rm", "-k", "k", "copy", says=["paraes: copy: ", NAMED, "--key-file"])

    def test_appending_to_the_key_is_refused(self):
        done = self.shell('"$@" --key-command "cat k" -c x >> k', "encrypt", status=2)
        self.assertIn(NAMED.encode(), done.stderr)
        self.assertEqual(self.read("k"), KEY)

    def test_a_log_that_has_an_identity_is_written_on(self):
        self.write("pw", b"first\n", 0o600)
        self.ok("encrypt", "--passphrase-file", "pw", *FAST, "-o", "m.paes", "plain")
        self.shell('{ cat pw; echo a note; "$@" --passphrase-file pw -c m.paes; } > log', "decrypt")
        self.assertEqual(self.read("log"), b"first\na note\n1")

    def test_a_key_that_only_root_reads_is_not_replaced(self):
        nobody = self.as_another_user()
        self.dir.chmod(0o777)
        self.path("k").chmod(0o600)
        self.write("x", b"1", 0o644)
        done = self.exits(2, "encrypt", "-f", "--key-hex", KEY.hex(), "-o", "k", "x", **nobody)
        self.assertIn(b"k: it cannot be read, and has a size that a secret of this run could have", done.stderr)
        self.assertEqual(self.read("k"), KEY)

    def test_decrypt_and_update_keep_it(self):
        self.ok("encrypt", "-k", "k", "-o", "k.paes", "plain")
        self.write("other.paes", self.read("k.paes"))
        for more in (["-f"], ["--update"]):
            os.utime(self.path("k"), (1, 1))
            self.fails(2, "decrypt", *more, "--key-command", "cat k", "k.paes", says=["k.paes: ", "k", NAMED])
            self.fails(2, "decrypt", "-r", *more, "--key-command", "cat k", ".", says=NAMED)
            self.assertEqual(self.read("k"), KEY)

    def test_rekey_keeps_the_new_passphrase(self):
        # A passphrase may be any bytes, also those of a message.
        self.ok("encrypt", "-k", "k", "-o", "m.paes", "plain")
        before = self.read("m.paes")
        self.fails(2, "rekey", "-k", "k", "--to-passphrase-command", "cat m.paes", *FAST, "m.paes",
                   says=["m.paes: ", NAMED, "--to-passphrase-command"])
        self.assertEqual(self.read("m.paes"), before)


@unittest.skipUnless(AGE, "age is not installed")
class Identities(RecipientsCase):
    def test_decrypt_replaces_no_identity(self):
        self.write("plain", b"1")
        self.ok("encrypt", "--recipient", self.me, "-o", "x.paes", "plain")
        before = self.read("me.txt")
        for source in ("<(cat me.txt)", "<(grep -v '#' me.txt)", "copy"):
            with self.subTest(source=source):
                self.write("copy", before, 0o600)
                done = self.shell(f'"$@" -i {source}', "decrypt", "-f", "-o", "me.txt", "x.paes", status=2)
                self.assertIn(b"paraes: x.paes: its output would be me.txt, ", done.stderr)
                self.assertEqual(self.read("me.txt"), before)
        self.ok("decrypt", "-f", "-i", "me.txt", "-o", "you.txt", "x.paes")  # another identity


# Writes down what a program sees.
SPY = "{ env; for fd in /proc/self/fd/*; do readlink $fd; done; cat; } > seen 2>&1"


class Children(Case):
    GIVEN = {"k": KEY, "new": KEY[::-1], "plain": b"1"}

    def setUp(self):
        super().setUp()
        self.ok("encrypt", "-k", "k", "-o", "m.paes", "plain")

    def check_seen(self):
        seen = self.read("seen")
        self.assertIn(b"\nPATH=", b"\n" + seen)
        for secret in (b"tell-nobody", KEY, KEY[::-1], *(str(self.path(name)).encode() for name in ("k", "new"))):
            self.assertNotIn(secret + b"\n", seen + b"\n")
        return seen

    def test_a_key_command_sees_no_other_secret(self):
        before = self.read("m.paes")
        # The test's standard input is a pipe.
        for script, pipes in (
                ('WORDS=tell-nobody "$@" --to-passphrase-env WORDS', 1),
                ('"$@" --to-key-file /dev/fd/7 7< new', 1), ('"$@" --to-passphrase-fd 7 7< new', 1),
                ('"$@" --to-key-file /proc/self/fd/7 7< new', 1), ('"$@" --to-key-file - < new', 0),
                ('"$@" --to-key-file /dev/stdin < new', 0), ('"$@" --to-key-file <(cat new)', 1),
                ('"$@" --to-passphrase-fd 8 7< new 8<&7', 1), ('"$@" --to-passphrase-fd 8 < new 8<&0', 0)):
            with self.subTest(script=script):
                self.write("m.paes", before)
                fast = FAST if "passphrase" in script else []
                self.shell(script, "rekey", *fast, "--key-command", SPY + "; cat k", "m.paes")
                self.assertEqual(self.check_seen().count(b"pipe:"), pipes)

    def test_age_sees_no_other_secret(self):
        self.write("age", f"#!/bin/sh\n{SPY}\nexit 1\n".encode(), 0o755)
        age = f"export PARAES_AGE={shlex.quote(str(self.path('age')))}; "
        given = 'WORDS=tell-nobody "$@" --passphrase-env WORDS'
        self.shell(given, "encrypt", *FAST, "-o", "w.paes", "plain")
        for script, message in (('"$@" -k /dev/fd/7 7< k', "m"), ('"$@" -k - < k', "m"),
                                ('"$@" -k /dev/stdin < k', "m"), (given, "w")):
            with self.subTest(script=script):
                self.shell(age + script, "rekey", "--to-recipient", "age1" + "q" * 58, f"{message}.paes", status=2)
                self.check_seen()


class Memory(Case):
    GIVEN = {"k": KEY, "plain": b"1"}

    @unittest.skipIf(POSIX_ONLY, "only Linux hides memory")
    def test_each_verb_that_handles_secrets_hides_its_memory_first(self):
        self.ok("encrypt", "-k", "k", "plain")
        self.write("id", b"AGE-SECRET-KEY-1")
        for args in (["encrypt", "-f", "-k", "k", "plain"], ["decrypt", "-c", "-k", "k", "plain.paes"],
                     ["verify", "-k", "k", "plain.paes"], ["info", "-i", "k", "plain.paes"],
                     ["rekey", "-k", "k", "--to-key-file", "k", "plain.paes"], ["keygen", "-o", "new"]):
            with self.subTest(verb=args[0]):
                done = self.strace("-qq", "-e", "trace=prctl,openat,getrandom", BIN, *args, log="log")
                log = self.read("log").decode()
                hidden = log.index("PR_SET_DUMPABLE, SUID_DUMP_DISABLE")
                for secret in ('AT_FDCWD, "k"', 'AT_FDCWD, "new"'):
                    if secret in log:
                        self.assertLess(hidden, log.index(secret), done.stderr)
