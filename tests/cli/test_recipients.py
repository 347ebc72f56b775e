"""Recipients and identities: encrypt, decrypt, verify and info with the program age."""

import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from recipients import (
    HEADER,
    MOST_WRAP,
    PREFACE,
    SLOT,
    RecipientsCase,
    joined,
    split,
    wrap_bytes,
)
from support import (
    BIN,
    DEADLINE,
    KEYS,
    Case,
    Terminal,
    environment,
    file_reports,
    flipped,
    pattern,
    sanitized,
)

OPEN = ["-i", "me.txt"]


class Recipients(RecipientsCase):
    GIVEN = {"f": b"data"}

    def opens(self, identity, sealed, data):
        self.assertEqual(self.ok("decrypt", f"--identity={identity}", "-", stdin=sealed), data)

    def test_each_recipient_opens_what_was_encrypted_to_both(self):
        for size in (0, 1, 16384, 300_000):
            data = pattern(size)
            sealed = self.seal(data, to=[self.me, self.you])
            for identity in ("me.txt", "you.txt"):
                self.opens(identity, sealed, data)
        self.write("f.paes", sealed)
        self.ok("decrypt", *OPEN, "-o", "opened", "f.paes")
        self.assertEqual(self.read("opened"), data)
        part = self.ok("decrypt", *OPEN, "--offset", "20000", "--length", "9", "-c", "f.paes")
        self.assertEqual(part, data[20000:20009])

    def test_salvage(self):
        data = pattern(40_000)
        sealed = self.seal(data)
        end = PREFACE + wrap_bytes(sealed) + HEADER
        # Damage in the second segment, and a length that no message has.
        for message in (flipped(sealed, end + 16400 + 5), sealed[:end + 16400 + 7]):
            self.write("f.paes", message)
            self.exits(3, "decrypt", "-f", *OPEN, "--salvage", "f.paes")
            self.assertEqual(self.read("f")[:16384], data[:16384])

    def test_recipients_file_holds_several(self):
        self.write("team.txt", f"# the team\n{self.me}\n\n{self.you}\n".encode())
        self.ok("encrypt", "--recipients-file", "team.txt", "f")
        for identity in ("me.txt", "you.txt"):
            self.ok("verify", "-i", identity, "f.paes")

    def test_any_of_several_identities_opens(self):
        self.new_identity("other.txt")
        sealed = self.seal(b"data")
        flags = ["--identity", "other.txt", "-i", "you.txt", "-i", "me.txt"]
        self.assertEqual(self.ok("decrypt", *flags, "-", stdin=sealed), b"data")

    def test_ssh_keys(self):
        for kind in ("ed25519", "rsa"):
            with self.subTest(kind=kind):
                self.opens(kind, self.seal(b"data", to=[self.new_ssh_key(kind, kind)]), b"data")

    def test_key_bits_context_and_header(self):
        for bits, aead, slot in ((256, 2, SLOT), (128, 1, SLOT - 16)):
            sealed = self.seal(b"data", "--key-bits", bits, "--context-hex", "abcd")
            self.assertEqual(sealed[:12], b"PARAES\r\n" + bytes([1, 2, aead, 0]))
            self.assertEqual(sealed[16:32], bytes(16))
            preface, age_file, _, message = split(sealed)
            self.assertTrue(age_file.startswith(b"age-encryption.org/v1\n-> X25519 "))
            self.assertEqual(len(self.age("-d", "-i", "me.txt", stdin=age_file)), 32)
            self.assertEqual(len(message), HEADER + 4 + 16)
            flags = [*OPEN, "--context-hex", "abcd"]
            self.assertEqual(self.ok("decrypt", *flags, "-", stdin=sealed), b"data")
            self.fails(5, "decrypt", *OPEN, "-", stdin=sealed, says="wrong context, or")
            other = 384 - bits
            self.fails(2, "decrypt", *flags, "--key-bits", other, "-", stdin=sealed,
                       says="contradicts the header")
            self.assertEqual(wrap_bytes(sealed), len(age_file) + slot)
            self.assertEqual(preface[12:16], (len(age_file) + slot).to_bytes(4, "big"))

    def test_two_runs_and_two_files_share_no_key(self):
        a, b = self.seal(b"data"), self.seal(b"data")
        self.assertNotEqual(split(a)[1], split(b)[1])
        self.write("a", b"data")
        self.write("b", b"data")
        self.ok("encrypt", "-q", "--recipient", self.me, "a", "b")
        a, b = self.read("a.paes"), self.read("b.paes")
        self.assertEqual(split(a)[1], split(b)[1])
        self.assertNotEqual(split(a)[2], split(b)[2])
        self.assertNotEqual(split(a)[3], split(b)[3])
        keys = [self.input_key(sealed) for sealed in (a, b, self.seal(b"data"))]
        keys.append(self.input_key(self.seal(b"data", "--key-bits", 128)))
        self.assertEqual([len(key) for key in keys], [32, 32, 32, 16])
        self.assertEqual(len(set(keys)), 4)
        for key in keys:
            self.assertGreater(len(set(key)), 5)  # random

    def test_wrong_identity_is_refused_with_the_words_of_age(self):
        self.write("g.paes", self.seal(b"data"))
        for verb in ("decrypt", "verify"):
            self.fails(5, verb, "-i", "you.txt", "g.paes",
                       says=["g.paes: age refuses the identities", "no identity matched"])
        self.assertNotIn("g", self.names())

    def test_a_reader_is_given_one_kind_of_secret(self):
        self.write("k", KEYS[256])
        self.write("pw", b"word\n", 0o600)
        key, word = ["-k", "k"], ["--passphrase-file", "pw"]
        for verb, own in (("encrypt", ["--recipient", self.me]), ("decrypt", OPEN)):
            for other in (key, word, ["--key-command", "cat k"], ["--passphrase-env", "PATH"]):
                self.fails(2, verb, *own, *other, "f", says="give one of the two")
        sealed = {"recipients": self.seal(b"data"),
                  "key": self.ok("encrypt", *key, "-", stdin=b"data"),
                  "passphrase": self.ok("encrypt", *word, "--scrypt-log2n", "2", "-",
                                        stdin=b"data")}
        flags = {"recipients": OPEN, "key": key, "passphrase": word}
        for made, message in sealed.items():
            for given, its_flags in flags.items():
                with self.subTest(made=made, given=given):
                    if made == given:
                        opened = self.ok("decrypt", *its_flags, "-", stdin=message)
                        self.assertEqual(opened, b"data")
                    else:
                        self.fails(2, "decrypt", *its_flags, "-", stdin=message,
                                   says="the input was encrypted")

    def test_without_a_secret_nothing_is_asked(self):
        self.write("g.paes", self.seal(b"data"))
        shown = Terminal(self, "decrypt", "g.paes").ends(2)
        self.assertIn(b"use --identity", shown)
        self.assertNotIn(b"Passphrase", shown)

    def test_flags_that_do_not_go_together_are_refused(self):
        for form in ("c2sp", "tink", "raw", "openssl"):
            mode = ["--mode", "ecb"] if form == "raw" else []
            self.fails(2, "encrypt", "--format", form, *mode, "--recipient", self.me, "-",
                       says="--recipient goes with --format paraes")
            self.fails(2, "decrypt", "--format", form, *mode, *OPEN, "-",
                       says="--identity goes with --format paraes")
        self.fails(2, "encrypt", "--recipient", self.me, "--scrypt-log2n", "4", "-",
                   says="passphrases, not with recipients")
        self.fails(2, "encrypt", "--recipients-file", "-", "f", says="cannot be standard input")
        for verb in ("decrypt", "verify", "info"):
            self.fails(2, verb, "-i", "-", "f", says="--identity cannot be standard input")
        self.fails(2, "decrypt", "-i", "/dev/stdin", "-", says="--identity cannot be standard input")
        self.fails(2, "decrypt", *OPEN, "--offset", "1", "-c", "-", stdin=self.seal(b"data"),
                   says="not in a pipe")

    def test_bad_recipients_are_refused(self):
        for key, says in (("age1nonsense", "age refuses the recipients"),
                          ("nonsense", "age refuses the recipients"), ("", "one public key"),
                          (self.me + "\n" + self.you, "one public key in one line"),
                          (" " + self.me, "one public key")):
            self.fails(2, "encrypt", f"--recipient={key}", "f", says=says)
        self.assertNotIn("f.paes", self.names())

    def test_private_keys_in_the_wrong_place_are_neither_shown_nor_passed_on(self):
        self.new_ssh_key("ssh")
        self.write("f.paes", self.seal(b"data"))
        env = self.counting()
        identity = self.read("me.txt").decode()
        secret = identity.splitlines()[-1]
        for text in (secret, secret.lower(), identity, " " + secret, self.read("ssh").decode()):
            for args in (["encrypt", "-f", f"--recipient={text}", "f"],
                         ["encrypt", "-f", f"--recipients-file={text}", "f"],
                         ["decrypt", f"--identity={text}", "f.paes"],
                         ["info", f"--identity={text}", "f.paes"],
                         ["rekey", *OPEN, f"--to-recipient={text}", "f.paes"]):
                if args[0] == "rekey":
                    self.path("calls").unlink(missing_ok=True)
                done = self.exits(2, *args, "--json", env=env)
                said = (done.stdout + done.stderr).decode().lower()
                self.assertIn("a private key was given", said)
                for part in (secret[-20:], "abcdef" if "BEGIN" not in text else text[100:120]):
                    self.assertNotIn(part.lower(), said)
                self.assertNotIn(secret[-20:].lower(), "".join(self.calls()).lower())

    def test_identities_and_recipients_from_standard_input_and_pipes(self):
        self.write("team.txt", f"{self.me}\n".encode())
        for script in ('"$@" encrypt -f --recipients-file /dev/stdin f < team.txt',
                       'cat team.txt | "$@" encrypt -f --recipients-file /dev/stdin f',
                       '"$@" encrypt -f --recipients-file <(cat team.txt) f',
                       '"$@" verify -i /dev/stdin f.paes < me.txt',
                       'cat me.txt | "$@" verify -i /dev/fd/0 f.paes',
                       '"$@" verify -i /dev/fd/9 f.paes 9< me.txt'):
            with self.subTest(script=script):
                self.shell(script)
        for i in range(3):
            self.write(f"f{i}.paes", self.seal(b"data"))  # three age files, one pipe
        self.shell('"$@" verify -i <(cat me.txt) f0.paes f1.paes f2.paes')
        self.write("large", self.read("me.txt") + b"#" * 70_000)
        done = self.shell('cat large | "$@" verify -i /dev/stdin f.paes', status=2)
        self.assertIn(b"/dev/stdin: it has more than 64 KiB", done.stderr)


class Secrets(RecipientsCase):
    def test_identity_is_no_input_and_no_output(self):
        identity = self.read("me.txt")
        self.write("t/me.paes", identity, 0o600)
        self.write("t/f.paes", self.seal(b"data"))
        flags = ["-i", "t/me.paes"]
        self.fails(2, "decrypt", *flags, "-f", "-o", "t/me.paes", "t/f.paes",
                   says="is the file of --identity")
        self.fails(2, "verify", *flags, "t/me.paes", says="is the file of --identity")
        self.fails(2, "decrypt", "-r", *flags, "-f", "t", says=["t/me.paes", "--exclude /me.paes"])
        self.fails(2, "rekey", "-r", *flags, "--to-recipient", self.you, "t", says="t/me.paes")
        self.assertEqual(self.read("t/me.paes"), identity)
        self.assertNotIn("f", os.listdir(self.path("t")))

    def test_identity_that_all_users_can_read_gets_a_warning(self):
        self.path("me.txt").chmod(0o644)
        done = self.run_paraes("decrypt", *OPEN, "-", stdin=self.seal(b"data"))
        self.assertIn(b"warning: the mode 0644 of the file of --identity", done.stderr)

    def test_rm_keeps_identities(self):
        self.write("t/me.txt", self.read("me.txt"))
        self.write("t/f", b"data")
        self.new_ssh_key("t/ssh")
        done = self.exits(3, "encrypt", "-r", "--rm", "--recipient", self.me, "t")
        for name in ("me.txt", "ssh"):
            self.assertIn(f"t/{name}: not removed: it holds an identity", done.stderr.decode())
        self.assertEqual(sorted(os.listdir(self.path("t"))),
                         ["f.paes", "me.txt", "me.txt.paes", "ssh", "ssh.paes", "ssh.pub.paes"])
        # An identity is kept when it is protected by a passphrase, or the beginning of a larger file.
        scrypt = b"age-encryption.org/v1\n-> scrypt YWFhYWFhYWFhYWFhYWFhYQ 18\n" + bytes(300)
        armored = (b"-----BEGIN AGE ENCRYPTED FILE-----\n" + base64.b64encode(scrypt) +
                   b"\n-----END AGE ENCRYPTED FILE-----\n")
        for data in (scrypt, armored, self.read("me.txt") + bytes(300_000)):
            self.write("own", data)
            done = self.exits(1, "encrypt", "-f", "--rm", "--recipient", self.me, "own")
            self.assertIn(b"own: not removed: it holds an identity", done.stderr)
            self.assertEqual(self.read("own"), data)
        self.ok("verify", "-q", "-r", "-i", "t/me.txt", "t")
        # Decrypting with --rm removes encrypted files alone.
        self.path("t/me.txt").unlink()
        self.ok("decrypt", "-q", "--rm", "-i", "me.txt", "t/me.txt.paes")
        self.assertEqual(self.read("t/me.txt"), self.read("me.txt"))

    def test_age_gets_secrets_through_pipes_only(self):
        # The run key is what age decrypts to; the input key is in the slot.
        env = self.program('{ for a in "$@"; do echo "$a"; done; env; '
                           'tr "\\0" " " < /proc/$$/cmdline; } >> "$0.log"\n'
                           'exec age "$@"\n')
        sealed = self.ok("encrypt", "--recipient", self.me, "-", stdin=b"data", env=env)
        self.ok("decrypt", *OPEN, "-", stdin=sealed, env=env)
        run_key = self.age("-d", "-i", "me.txt", stdin=split(sealed)[1])
        log = self.read("age-stand-in.log")
        self.assertIn(b"-i\nme.txt\n", log)
        self.assertIn(f"-r\n{self.me}\n".encode(), log)
        for secret in (run_key, run_key.hex().encode()):
            self.assertNotIn(secret, log)
        self.path("age-stand-in.log").unlink()
        # Secrets of the run that are not for age.
        self.write("f", b"data")
        self.write("pw", b"open sesame\n", 0o600)
        env = self.program('{ env; ls -l /proc/$$/fd; } >> "$0.log"\nexec age "$@"\n')
        cheap = ["--scrypt-log2n", "2"]
        self.ok("encrypt", "-f", "--passphrase-file", "pw", *cheap, "f")
        self.ok("rekey", "-q", "--passphrase-env", "WORD", "--to-recipient", self.me, "f.paes",
                env={**env, "WORD": "open sesame"})
        with open(self.path("pw"), "rb") as file:
            self.ok("rekey", "-q", *OPEN, "--to-passphrase-fd", file.fileno(), *cheap, "f.paes",
                    env=env, pass_fds=[file.fileno()])
        self.ok("verify", "--passphrase-file", "pw", "f.paes")
        log = self.read("age-stand-in.log")
        self.assertIn(b"PATH=", log)
        self.assertNotIn(b"open sesame", log)
        self.assertNotIn(b"/pw", log)
        for name in ("f", "f.paes", "pw"):
            self.path(name).unlink()
        self.assertEqual(self.names(), ["age-stand-in", "age-stand-in.log", "me.txt", "you.txt"])


class Program(RecipientsCase):
    """How age is started, and what of it counts."""

    def test_age_runs_or_refuses_once_for_the_files_of_a_run(self):
        env = self.counting()
        names = [self.write(f"f{i}", pattern(i * 1000)) for i in range(40)]
        self.ok("encrypt", "-q", "--recipient", self.me, *names, env=env)
        self.assertEqual(len(self.calls()), 1)
        sealed = [f"{name}.paes" for name in names]
        self.ok("verify", "-q", *OPEN, *sealed, env=env)
        self.assertEqual(len(self.calls()), 2)
        done = self.exits(3, "verify", "--json", "-i", "you.txt", *sealed, env=env)
        self.assertEqual({row["exit"] for row in file_reports(done.stdout).values()}, {5})
        self.assertEqual(len(self.calls()), 3)
        done = self.exits(3, "encrypt", "-q", "-f", "--recipient", "age1x", *names, env=env)
        self.assertEqual(len(self.calls()), 4)

    def test_commands_and_age_fail_once_for_the_files_of_a_run(self):
        names = [self.write(f"f{i}", b"x") for i in range(5)]
        self.write("k", KEYS[256])
        self.ok("encrypt", "-q", "-k", "k", *names)
        sealed = [f"{name}.paes" for name in names]
        for flag in ("--key-command", "--passphrase-command"):
            self.path("calls").unlink(missing_ok=True)
            verb = ["verify", *sealed] if flag == "--key-command" else ["encrypt", "-f", *names]
            self.exits(3, verb[0], flag, "echo x >> calls; exit 3", *verb[1:])
            self.assertEqual(self.calls(), ["x"])
        self.ok("encrypt", "-q", "-f", "--recipient", self.me, *names)
        self.path("calls").unlink()
        env = self.program("echo x >> calls\nkill -9 $$\n")
        self.assertEqual(self.run_paraes("verify", *OPEN, *sealed, env=env).returncode, 3)
        self.assertEqual(self.calls(), ["x"])

    def test_output_counts_only_after_success(self):
        sealed = self.seal(b"data")
        self.write("key", self.age("-d", "-i", "me.txt", stdin=split(sealed)[1]))
        for then, status, says in (("echo 'age: error: no luck' >&2; exit 1", 5, "identities: no luck"),
                                   ("kill -9 $$", 1, "signal 9"),
                                   ("exec cat /dev/zero", 1, "on and on")):
            env = self.program(f"cat > /dev/null\ncat key\n{then}\n")
            self.fails(status, "decrypt", *OPEN, "-", stdin=sealed, env=env, says=says)

    def test_programs_that_age_starts_do_not_delay_it(self):
        sealed = self.seal(b"data")
        for more in ("sleep 20 &", "(while sleep 0.05; do echo hi >&2; done) &"):
            env = self.program(f'age "$@"\nstatus=$?\n{more}\nexit $status\n')
            start = time.monotonic()
            self.assertEqual(self.ok("decrypt", *OPEN, "-", stdin=sealed, env=env), b"data")
            self.assertLess(time.monotonic() - start, 10)
            subprocess.run(["pkill", "-f", str(self.path("age-stand-in"))])

    def test_ignored_sigchld_is_no_obstacle(self):
        sealed = self.seal(b"data")
        self.write("k", KEYS[256])
        for flags in (OPEN, ["--key-command", "cat k"]):
            message = sealed if flags == OPEN else self.ok("encrypt", *flags, "-", stdin=b"data")
            done = subprocess.run(
                [sys.executable, "-c", "import os, signal, sys\n"
                 "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                 "os.execv(sys.argv[1], sys.argv[1:])", BIN, "decrypt", *flags, "-"], cwd=self.dir,
                input=message, capture_output=True, env=environment(), timeout=DEADLINE)
            self.assertEqual((done.returncode, done.stdout), (0, b"data"), done.stderr)

    def test_a_signal_ends_age_too_and_restores_the_terminal(self):
        self.write("f.paes", self.seal(b"data"))
        env = self.program('echo $$ > pid\nstty -echo < /dev/tty\nprintf "PIN: " > /dev/tty\n'
                           'exec sleep 60\n')
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            terminal = Terminal(self, "verify", *OPEN, "f.paes", env=env)
            terminal.expect(b"PIN: ")
            self.assertFalse(terminal.echoes())
            terminal.process.send_signal(number)
            terminal.ends(128 + number)
            self.assertTrue(terminal.echoes())
            process = int(self.read("pid"))
            self.wait_for(lambda: not pathlib.Path(f"/proc/{process}").exists() or
                          "Z" in pathlib.Path(f"/proc/{process}/stat").read_text().split()[2],
                          "the end of age")

    def test_words_of_a_refusal(self):
        sealed = self.seal(b"data")
        for words, says in (
                ("first\\n\\033[31msecond", "first; \\x1b[31msecond"),
                # rage adds this to every error.
                ("Error: no luck\\n\\n[ Did rage not do what you expected? ]\\n[ Tell us: X  ]\\n",
                 "no luck")):
            env = self.program(f"printf '{words}' >&2; exit 1")
            done = self.fails(5, "decrypt", *OPEN, "-", stdin=sealed, env=env)
            self.assertTrue(done.stderr.endswith(f"age refuses the identities: {says}\n".encode()))

    def test_encrypting_takes_nothing_but_an_age_file(self):
        # The second reads nothing: no signal ends paraes.
        for script, status, says in (
                ('age "$@" | head -c 220\n', 1, "what it wrote is no age file with a key"),
                ("exec < /dev/null\nexit 3\n", 2, "age refuses the recipients")):
            self.fails(status, "encrypt", "--recipient", self.me, "-", stdin=b"x",
                       env=self.program(script), says=says)

    def test_program_that_is_missing(self):
        sealed = self.seal(b"data")
        for env, says in (({"PARAES_AGE": "no-such-age"}, "no-such-age, which is not in PATH"),
                          ({"PARAES_AGE": "/nowhere/age"}, ["/nowhere/age: cannot start it",
                                                            "PARAES_AGE names"]),
                          ({"PATH": "/nowhere"}, "need the program age, which is not in PATH")):
            self.fails(1, "decrypt", *OPEN, "-", stdin=sealed, env=env, says=says)
            self.fails(1, "encrypt", "--recipient", self.me, "-", stdin=b"x", env=env, says=says)
        self.path("bin").mkdir()
        self.program("exec /usr/bin/age", "bin/age")
        self.fails(1, "decrypt", *OPEN, "-", stdin=sealed, env={"PATH": "bin:/usr/bin"},
                   says=["bin/age", "in a relative folder"])

    def test_process_with_more_rights_than_its_caller_does_not_run_age(self):
        if os.geteuid() != 0 or sanitized():
            self.skipTest("only root can give away a program, and LeakSanitizer fails in such runs")
        if os.statvfs(self.dir).f_flag & os.ST_NOSUID:
            self.skipTest(f"{self.dir}: its file system ignores the setuid bit")
        copy = self.path("paraes")
        shutil.copy(BIN, copy)
        self.dir.chmod(0o777)  # whoever runs it could run age, which counts its calls there
        env = {**environment(), **self.counting()}
        self.path("age-stand-in").chmod(0o755)
        command = [copy, "encrypt", "--recipient", self.me, "-"]
        for mode in (0o755, 0o4755):
            os.chown(copy, 12345, 12345)
            copy.chmod(mode)
            with self.subTest(mode=oct(mode)):
                done = subprocess.run(command, cwd=self.dir, input=b"data", env=env,
                                      capture_output=True, timeout=DEADLINE)
                self.assertEqual(done.returncode, 0 if mode == 0o755 else 1, done.stderr)
                self.assertEqual(len(self.calls()), 1)  # that of the first mode
        self.assertIn(b"a process with more rights than its caller does not run age", done.stderr)

    def test_age_may_ask_on_the_terminal(self):
        self.write("f.paes", self.seal(b"data"))
        env = self.program('printf "PIN: " > /dev/tty\nread pin < /dev/tty\n'
                           '[ "$pin" = 1234 ] || { echo "wrong PIN $pin" >&2; exit 1; }\n'
                           'exec age "$@"\n')
        for pin, expected in ((b"1234\n", 0), (b"9\n", 5)):
            terminal = Terminal(self, "verify", *OPEN, "f.paes", env=env)
            terminal.answer(b"PIN: ", pin)
            terminal.ends(expected)

    def test_what_age_says_while_it_waits_is_shown(self):
        self.write("f.paes", self.seal(b"data"))
        # A line, and a question in a line that does not end.
        for command, words in (("echo", b"please touch your key"), ("printf", b"touch it now: ")):
            env = self.program(f'{command} "{words.decode()}" >&2\nread x < /dev/tty\nexec age "$@"\n')
            terminal = Terminal(self, "verify", *OPEN, "f.paes", env=env)
            terminal.answer(b"paraes: age: " + words, b"\n")
            terminal.ends()


class Attacks(RecipientsCase):
    """Each is refused before anything is written."""

    def setUp(self):
        super().setUp()
        self.data = pattern(40_000)
        self.sealed = self.seal(self.data)

    def verified(self, files, *expected, env=None):
        """Verifies many files, and checks that the exit status of each is among `expected`."""
        names = [self.write(name, data) for name, data in files.items()]
        done = self.run_paraes("verify", "--json", *OPEN, *names, env=env)
        rows = file_reports(done.stdout)
        for name in names:
            self.path(name).unlink()
            self.assertIn(rows[name]["exit"], expected, name)

    def test_every_byte_of_preface_age_file_and_slot(self):
        end = PREFACE + wrap_bytes(self.sealed) + HEADER
        slot_at = end - HEADER - SLOT
        self.verified({"whole": self.sealed}, 0)
        for begin, stop, *expected in (
                (0, 8, 2),  # it does not begin like a paraes message
                (8, 12, 4), (12, 16, 4, 5), (16, PREFACE, 4),  # other fields
                (PREFACE, slot_at, 4, 5),  # the age file has a form and a MAC
                (slot_at, slot_at + HEADER, 5),  # salt and commitment of the slot, and its sealed key
                (slot_at + HEADER, end - HEADER, 4), (end - HEADER, end, 5)):
            self.verified({f"byte {at}, {mask}": flipped(self.sealed, at, mask)
                           for at in range(begin, stop) for mask in (0x01, 0x80)}, *expected)
        self.verified({"the other aead": flipped(self.sealed, 10, 3)}, 4)

    def test_kdf_byte_never_chooses_another_secret(self):
        self.write("k", KEYS[256])
        self.write("pw", b"word\n", 0o600)
        for kdf in (0, 1):
            changed = self.sealed[:9] + bytes([kdf]) + self.sealed[10:]
            plain = changed[:12] + bytes(4) + changed[16:]  # without W
            with_n = plain[:11] + b"\x04" + plain[12:]
            for flags in (OPEN, ["-k", "k"], ["--passphrase-file", "pw"]):
                for name, message in (("W", changed), ("zero", plain), ("N", with_n)):
                    with self.subTest(kdf=kdf, flags=flags, name=name):
                        done = self.run_paraes("decrypt", *flags, "-", stdin=message)
                        self.assertIn(done.returncode, (2, 4, 5))
                        self.assertEqual(done.stdout, b"")
        # Conversely, a file for a key does not make age run.
        env = self.counting()
        made = self.ok("encrypt", "-k", "k", "-", stdin=b"data")
        self.fails(2, "decrypt", *OPEN, "-", stdin=made, env=env, says="encrypted with a key")
        self.assertEqual(self.calls(), [])

    def test_slots_and_wraps_swapped_between_files_of_one_run_and_of_two(self):
        for name in ("a", "b"):
            self.write(name, name.encode() * 5000)
        self.ok("encrypt", "-q", "--recipient", self.me, "a", "b")
        # Files of one run share the age file, and each slot opens: the message's commitment differs.
        one_run = [split(self.read(f"{name}.paes")) for name in ("a", "b")]
        for a, b in (one_run, [split(self.sealed), split(self.seal(self.data))]):
            self.verified({"slot": joined(a[0], a[1], b[2], a[3]),
                           "wrap": joined(a[0], b[1], b[2], a[3]),
                           "message": joined(a[0], a[1], a[2], b[3])}, 5)
            self.verified({"same": joined(*a)}, 0)
        self.verified({"age": joined(a[0], b[1], a[2], a[3])}, 5)

    def test_slot_of_another_key_size(self):
        a, b = split(self.sealed), split(self.seal(self.data, "--key-bits", 128))
        self.verified({"short": joined(a[0], a[1], b[2], a[3]),
                       "long": joined(b[0], b[1], a[2], b[3])}, 4, 5)

    def with_wrap(self, length):
        return self.sealed[:12] + length.to_bytes(4, "big") + self.sealed[16:]

    def test_length_of_the_wrap(self):
        env = self.counting()
        for length in (0, 1, 103, 104, MOST_WRAP + 1, 1 << 24, (1 << 32) - 1,
                       len(self.sealed) - 87, len(self.sealed), MOST_WRAP):
            with self.subTest(length=length):
                self.verified({"m": self.with_wrap(length)}, 4, env=env)
                self.fails(4, "decrypt", *OPEN, "-", stdin=self.with_wrap(length), env=env)
        self.assertEqual(self.calls(), [])

    def test_pipe_that_stops_while_the_writer_stays(self):
        process = self.start("verify", *OPEN, "-", stdin=subprocess.PIPE)
        process.stdin.write(self.sealed[:150])
        process.stdin.flush()
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE), 4)

    def test_armor_and_scrypt_are_refused_before_age_starts(self):
        env = self.counting()
        preface, age_file, slot, message = split(self.sealed)
        armored = self.age("-a", "-r", self.me, stdin=bytes(32))
        scrypt = (b"age-encryption.org/v1\n-> scrypt YWFhYWFhYWFhYWFhYWFhYQ 18\n" +
                  b"A" * 43 + b"\n--- " + b"A" * 43 + b"\n" + bytes(64))
        lines = age_file.split(b"\n", 1)
        both = lines[0] + b"\n" + scrypt.split(b"\n--- ", 1)[0].split(b"\n", 1)[1] + b"\n" + lines[1]
        files = {"armor": armored, "scrypt": scrypt, "both": both, "empty": b"x",
                 "version": age_file.replace(b"/v1", b"/v2"), "text": b"age-encryption.org/v1\n"}
        files = {name: joined(preface, age, slot, message) for name, age in files.items()}
        self.verified(files, 4, env=env)
        for name in ("scrypt", "both"):
            self.fails(4, "decrypt", *OPEN, "-", stdin=files[name], env=env, says="scrypt")
            self.fails(4, "info", "-", stdin=files[name], says="scrypt")
        self.fails(4, "decrypt", *OPEN, "-", stdin=files["armor"], env=env, says="armored")
        self.assertEqual(self.calls(), [])

    def test_age_files_of_a_stranger(self):
        # Whoever knows the recipients can make an age file, but not a slot that opens.
        preface, _, slot, message = split(self.sealed)
        for count, status, says in (*((n, 4, "does not hold a key of 32 bytes") for n in (0, 31, 33, 5000)),
                                    (32, 5, "slot")):
            made = joined(preface, self.age("-r", self.me, stdin=bytes(count)), slot, message)
            self.fails(status, "decrypt", *OPEN, "-", stdin=made, says=says)

    def test_impossible_sizes_need_no_identity(self):
        env = self.counting()
        end = PREFACE + wrap_bytes(self.sealed) + HEADER
        self.verified({f"{length}": self.sealed[:length]
                       for length in (end, end + 15, end + 16400, end + 16400 + 7)}, 4, env=env)
        self.assertEqual(self.calls(), [])


class Info(RecipientsCase):
    def test_info_lists_stanzas_tags_and_sizes(self):
        sealed = self.seal(pattern(50_000), to=[self.me, self.new_ssh_key("ssh"),
                                                self.new_ssh_key("rsa", "rsa")])
        self.write("f.paes", sealed)
        said = self.report("info", "f.paes")
        age_file = split(sealed)[1]
        stanzas = [line.split()[1:] for line in age_file.decode(errors="replace").splitlines()
                   if line.startswith("-> ")]
        self.assertEqual([(r["type"], r["tag"]) for r in said["recipients"]],
                         [(words[0], words[1] if words[0].startswith("ssh-") else None)
                          for words in stanzas])
        self.assertEqual([r["type"] for r in said["recipients"]],
                         ["X25519", "ssh-ed25519", "ssh-rsa"])
        self.assertEqual([said[name] for name in ("kdf", "wrap_bytes", "age_file_bytes",
                                                  "plain_bytes", "header_bytes")],
                         ["recipients", wrap_bytes(sealed), len(age_file), 50_000,
                          PREFACE + wrap_bytes(sealed) + HEADER])
        self.assertIsNone(said["identity_opens"])
        text = self.ok("info", "-", stdin=sealed).decode()
        self.assertIn(f"ssh-ed25519 (tag {said['recipients'][1]['tag']})", text)
        self.assertIn(f"an age file of {len(age_file)}", text)

    def test_info_says_whether_an_identity_opens_the_file(self):
        self.write("f.paes", self.seal(b"data", "--context-hex", "00"))
        for identity, opens in (("me.txt", True), ("you.txt", False)):
            status = 0 if opens else 5
            done = self.exits(status, "info", "-i", identity, "--json", "f.paes")
            self.assertIs(json.loads(done.stdout)["identity_opens"], opens)
            done = self.exits(status, "info", "-i", identity, "f.paes")
            self.assertIn(b"opens it, with a context" if opens else b"does not open it",
                          done.stdout)
        self.assertIn(b"opens it\n", self.ok("info", *OPEN, "-", stdin=self.seal(b"data")))
        self.path("me.txt").chmod(0o644)
        done = self.run_paraes("info", *OPEN, "f.paes")
        self.assertIn(b"warning: the mode 0644 of the file of --identity", done.stderr)

    def test_info_with_an_identity_for_a_file_without_recipients(self):
        self.write("k", KEYS[256])
        made = self.ok("encrypt", "-k", "k", "-", stdin=b"data")
        self.fails(2, "info", *OPEN, "-", stdin=made, says="has no recipients")
        self.fails(2, "info", *OPEN, "--format", "c2sp", "-", stdin=made, says="--format paraes")


class KeyCommand(Case):
    """--key-command."""

    GIVEN = {"k": KEYS[256], "k.hex": KEYS[256].hex().encode() + b"\n"}

    def check(self, command, *flags):
        """Expects that the key in k opens what is sealed with that of a command."""
        made = self.ok("encrypt", "--key-command", command, *flags, "-", stdin=b"data")
        self.assertEqual(self.ok("decrypt", "-k", "k", *flags, "-", stdin=made), b"data")

    def test_what_a_command_prints_is_the_key(self):
        for command in ("cat k", "cat k.hex", "printf '%s\\n' " + KEYS[256].hex(),
                        "head -c 16 k; tail -c 16 k"):
            self.check(command)
        sealed = self.ok("encrypt", "-k", "k", "-", stdin=b"data")
        self.assertEqual(self.ok("decrypt", "--key-command", "cat k", "-", stdin=sealed), b"data")
        self.fails(5, "decrypt", "--key-command", "tr '\\1' '\\2' < k", "-", stdin=sealed)

    def test_each_format_that_takes_a_key_takes_a_command(self):
        for flags in (["--format", "c2sp"], ["--format", "tink"],
                      ["--format", "raw", "--mode", "ecb"]):
            self.check("cat k", *flags)

    def test_command_prints_no_key(self):
        for command, status, says in (
                ("exit 3", 1, "--key-command failed with exit status 3"),
                ("cat k; exit 3", 1, "failed with exit status 3"),
                ("kill -9 $$", 1, "was ended by signal 9"),
                ("true", 2, "the key has 0 bytes"),
                ("echo short", 2, "the key has 6 bytes"),
                ("cat k k k k k", 2, "printed more than 130 bytes"),
                ("cat /dev/zero | head -c 5000000", 2, "printed more than"),
                ("cat /dev/zero", 2, "printed more than"), ("yes", 2, "printed more than"),
                ("printf '%s' " + KEYS[256].hex(), 2, "--key-encoding hex")):
            self.fails(status, "encrypt", "--key-command", command, "-", stdin=b"x", says=says)
        self.ok("encrypt", "--key-command", "printf '%s' " + KEYS[256].hex(), "--key-encoding",
                "hex", "-", stdin=b"x")

    def test_command_does_not_read_the_data(self):
        self.check("cat > /dev/null; cat k")

    def test_a_part_of_the_output_is_never_the_key(self):
        # The shell ends before the process that prints the second half.
        self.check("head -c 16 k; (sleep 0.2; tail -c 16 k) &")

    def test_one_key_source(self):
        for other in (["-k", "k"], ["--key-hex", KEYS[256].hex()]):
            self.fails(2, "encrypt", "--key-command", "cat k", *other, "-", stdin=b"x",
                       says="give one of the two")
        self.fails(2, "encrypt", "--format", "openssl", "--key-command", "cat k", "-", stdin=b"x",
                   says="--key-command does not go with --format openssl")
