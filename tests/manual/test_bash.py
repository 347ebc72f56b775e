"""Completion in Bash: the words that it offers, and what a user gets who presses TAB."""

import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest

import support
from support import BIN, BUILT, DEADLINE, MPI, help_of, names_of, verbs_of

FILE = BUILT / "bash/paraes"
# Calls the completion function as Bash does, and prints what it offers.
OFFER = r"""
bind -l &>/dev/null # starts readline, which knows how names are quoted
source "$1"
COMP_LINE=$2 COMP_POINT=${#COMP_LINE}
COMP_WORDS=("${@:4}") COMP_CWORD=$(($# - 4))
function=$(complete -p "$4")
[[ $function =~ -F\ ([^ ]+) ]] && "${BASH_REMATCH[1]}" "$4" "$3" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""
# Bash splits a line at blanks, = and : that are not quoted.
WORD = re.compile(r"""(?:"[^"]*"?|'[^']*'?|\\.|[^\s"'=:\\])+|[=:]+""")


def split(line):
    """The words of a line, and what of the last one Bash completes."""
    words = WORD.findall(line) + ([""] if line[-1].isspace() else [])
    last = "" if words[-1] in ("=", ":") else words[-1].lstrip("\"'")
    return last, words


def setUpModule():
    support.need("bash")


class BashCase(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="paraes-bash-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def make(self, *names):
        for name in names:
            path = self.dir / name
            path.mkdir() if name.endswith("/") else path.write_text("")

    def offers(self, line, file=FILE):
        last, words = split(line)
        done = subprocess.run(
            ["bash", "--norc", "-c", OFFER, "bash", file, line, last, *words],
            cwd=self.dir,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        self.assertEqual(done.stderr, "", line)
        return sorted(done.stdout.split("\n")[:-1] if done.stdout != "\n" else [])


class Offers(BashCase):
    def test_verbs_by_their_beginning(self):
        self.assertEqual(self.offers("paraes "), sorted(verbs_of(help_of(BIN))))
        self.assertEqual(self.offers("paraes en"), ["encrypt"])
        self.assertEqual(self.offers("paraes re"), ["rekey"])
        self.assertEqual(self.offers("paraes help ver"), ["verify", "version"])
        self.assertEqual(self.offers("paraes x"), [])

    def test_flags_are_those_of_help(self):
        self.assertEqual(set(self.offers("paraes -")), names_of(help_of(BIN)))
        for verb in verbs_of(help_of(BIN)):
            if verb == "lab":
                continue
            with self.subTest(verb=verb):
                self.assertEqual(set(self.offers(f"paraes {verb} -")), names_of(help_of(BIN, verb)))
        self.assertEqual(
            self.offers("paraes rekey --to-pass"),
            [
                "--to-passphrase",
                "--to-passphrase-command",
                "--to-passphrase-env",
                "--to-passphrase-fd",
                "--to-passphrase-file",
            ],
        )

    @unittest.skipUnless(MPI, "paraes-mpi is not built")
    def test_flags_of_mpi(self):
        file = BUILT / "bash/paraes-mpi"
        self.assertEqual(self.offers("paraes-mpi ", file), sorted(verbs_of(help_of(MPI))))
        for verb in ("encrypt", "bench"):
            self.assertEqual(
                set(self.offers(f"paraes-mpi {verb} -", file)), names_of(help_of(MPI, verb))
            )

    def test_verbs_and_flags_of_the_laboratory(self):
        verbs = ["bundle", "compare", "figure", "measure", "report", "reproduce"]
        for start, file in (("paraes lab", FILE), ("paraes-lab", BUILT / "bash/paraes-lab")):
            with self.subTest(program=start):
                self.assertEqual(self.offers(f"{start} ", file), verbs)
                self.assertEqual(self.offers(f"{start} figure c", file), ["cluster"])
                self.assertEqual(self.offers(f"{start} figure cluster --mode x", file), ["xts"])
                self.assertIn("moreira-2026", self.offers(f"{start} reproduce ", file))

    def test_values(self):
        formats = ["c2sp", "openssl", "paraes", "raw", "tink"]
        self.assertEqual(self.offers("paraes encrypt --format "), formats)
        self.assertEqual(self.offers("paraes verify --format "), ["c2sp", "paraes", "tink"])
        self.assertEqual(self.offers("paraes encrypt --format=ra"), ["raw"])
        self.assertEqual(self.offers("paraes encrypt --format="), formats)
        self.assertEqual(self.offers("paraes encrypt --tink-hash SHA2"), ["SHA256"])
        self.assertEqual(self.offers("paraes keygen --key-bits "), ["128", "192", "256"])
        self.assertEqual(
            self.offers("paraes encrypt --device "), ["auto", "cpu", "cuda", "hip", "opencl"]
        )
        self.assertEqual(self.offers("paraes encrypt --threads "), [])
        self.assertIn("PATH", self.offers("paraes encrypt --passphrase-env PAT"))
        self.assertIn("cat", self.offers("paraes encrypt --key-command ca"))

    def test_values_are_those_that_the_program_takes(self):
        for flag, more in (
            ("--format", []),
            ("--tink-hash", ["--format", "tink"]),
            ("--mode", ["--format", "raw"]),
            ("--key-encoding", []),
            ("--transfer", ["--device", "auto"]),
            ("--key-expansion", ["--device", "auto"]),
            ("--key-bits", []),
        ):
            words = self.offers(f"paraes encrypt {flag} ")
            self.assertTrue(words, flag)
            for word in [*words, "wrong"]:
                arguments = [flag, word, *more, "--key-file", "/nowhere", "/nowhere/x"]
                self.assertEqual(
                    self.refuses_word(word, *arguments), word == "wrong", f"{flag} {word}"
                )

    def test_kernels_are_those_of_devices(self):
        listed = subprocess.run(
            [BIN, "devices", "--json"], capture_output=True, check=True, timeout=DEADLINE
        )
        names = [kernel["name"] for kernel in json.loads(listed.stdout)["kernels"]]
        self.assertEqual(self.offers("paraes encrypt --kernel "), sorted(["auto", *names]))

    def refuses_word(self, word, *arguments):
        """Whether encrypt says that it knows no such word."""
        done = subprocess.run(
            [BIN, "encrypt", *arguments],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            stdin=subprocess.DEVNULL,
        )
        self.assertNotEqual(done.returncode, 0)
        return (
            re.search(
                rf"there is no \w+ '{word}'|{word}: there is no|, not '{word}'|"
                rf"'{word}' is not",
                done.stderr,
            )
            is not None
        )

    def test_lists_continue_after_a_comma(self):
        self.assertEqual(self.offers("paraes bench --mode "), ["cbc", "ctr", "ecb", "gcm", "xts"])
        self.assertEqual(self.offers("paraes bench --mode ctr,g"), ["ctr,gcm"])
        self.assertEqual(self.offers("paraes bench --mode=ctr,g"), ["ctr,gcm"])
        self.assertIn("memcpy,stream-copy", self.offers("paraes bench --rivals memcpy,s"))

    def test_files_for_arguments_and_for_flags_that_take_them(self):
        self.make("my.key", "photo", "dir/")
        self.assertEqual(self.offers("paraes encrypt "), ["dir", "my.key", "photo"])
        self.assertEqual(self.offers("paraes encrypt -k m"), ["my.key"])
        self.assertEqual(self.offers("paraes encrypt -rk m"), ["my.key"])
        self.assertEqual(self.offers("paraes encrypt --key-file=m"), ["my.key"])
        self.assertEqual(self.offers("paraes encrypt -k my.key -T 2 p"), ["photo"])
        self.assertEqual(self.offers("paraes devices --compile -o "), ["dir"])
        self.assertEqual(self.offers("paraes keygen p"), [])
        self.assertEqual(self.offers("paraes keygen > p"), ["photo"])
        self.assertEqual(self.offers("paraes decrypt < photo -k m"), ["my.key"])

    def test_sealed_files_and_folders_for_what_reads_them(self):
        self.make("a.paes", "a.txt", "dir/", "notes.enc")
        for verb in ("decrypt", "verify", "rekey", "info"):
            with self.subTest(verb=verb):
                self.assertEqual(self.offers(f"paraes {verb} "), ["a.paes", "dir"])
                self.assertEqual(self.offers(f"paraes {verb} -- "), ["a.paes", "dir"])
                self.assertEqual(self.offers(f"paraes {verb} notes"), ["notes.enc"])
        self.assertIn("notes.enc", self.offers("paraes decrypt --format openssl "))
        self.assertIn("notes.enc", self.offers("paraes decrypt --format=openssl "))

    def test_after_two_dashes_come_files_alone(self):
        self.make("-x", "--force", "photo")
        self.assertEqual(self.offers("paraes encrypt -- -"), ["--force", "-x"])

    def test_names_with_spaces_and_colons(self):
        self.make("my file.paes", "a:b.paes", "a:c.paes", "x=y.paes", "st*r.paes")
        self.assertEqual(self.offers("paraes decrypt my\\ f"), ["my file.paes"])
        self.assertEqual(self.offers('paraes decrypt "my f'), ["my file.paes"])
        self.assertEqual(self.offers("paraes decrypt m"), ["my file.paes"])
        # Bash replaces the part after the colon or equals sign alone.
        self.assertEqual(self.offers("paraes decrypt a:"), ["b.paes", "c.paes"])
        self.assertEqual(self.offers("paraes decrypt a:b"), ["b.paes"])
        self.assertEqual(self.offers("paraes decrypt x=y"), ["y.paes"])
        self.assertEqual(self.offers("paraes decrypt st"), ["st*r.paes"])

    def test_one_completion_file_needs_no_package(self):
        done = subprocess.run(
            ["bash", "--norc", "-uec", 'source "$1"; complete -p', "bash", FILE],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        self.assertEqual((done.stdout, done.stderr), ("complete -F _paraes paraes\n", ""))


class Typed(BashCase):
    """An interactive Bash in a pseudo-terminal, and keys that a user types."""

    def typed(self, keys):
        """The words of the command line after these keys, without the first one."""
        out = self.dir / ".typed"
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.dir)
            os.execvpe(
                "bash",
                ["bash", "--norc", "--noprofile", "-i"],
                {
                    **os.environ,
                    "PS1": "READY>",
                    "TERM": "dumb",
                    "HISTFILE": "/dev/null",
                    "INPUTRC": "/dev/null",
                },
            )
        try:
            self.wait_for(terminal, b"READY>")
            # The function paraes prints what it is called with.
            setup = (
                f"source {shlex.quote(str(FILE))}; bind 'set bell-style none'; "
                f"paraes() {{ printf '%s\\n' \"$@\" > {out}; echo 'CALL''ED'; }}\n"
            )
            os.write(terminal, setup.encode())
            self.wait_for(terminal, b"READY>")
            os.write(terminal, keys.encode() + b"\n")
            self.wait_for(terminal, b"CALLED")
        finally:
            os.close(terminal)
            os.waitpid(child, 0)
        return out.read_text().splitlines()

    def wait_for(self, terminal, text):
        seen = b""
        end = time.monotonic() + DEADLINE
        while text not in seen:
            ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
            self.assertTrue(ready, f"{text} did not come: {seen}")
            seen += os.read(terminal, 4096)

    def test_tab_completes(self):
        self.make("my file.paes", "a:b.paes", "my.key", "photos/")
        (self.dir / "photos/one.jpg").write_text("")
        for keys, words in (
            ("paraes enc\t-k my.k\tpho\ton\t", ["encrypt", "-k", "my.key", "photos/one.jpg"]),
            ("paraes decrypt my\\ f\t", ["decrypt", "my file.paes"]),
            ('paraes decrypt "my f\t', ["decrypt", "my file.paes"]),
            ("paraes decrypt a:\t", ["decrypt", "a:b.paes"]),
            ("paraes decrypt --key-file=my.\ta\t", ["decrypt", "--key-file=my.key", "a:b.paes"]),
            ("paraes encrypt --form\top\t", ["encrypt", "--format", "openssl"]),
            ("true | X=1 paraes enc\t-T 2", ["encrypt", "-T", "2"]),
            ("paraes dec\t< my.k\t -k my.k\t", ["decrypt", "-k", "my.key"]),
            ("paraes encrypt --format=op\t", ["encrypt", "--format=openssl"]),
            ("paraes bench --mode ct\t,gc\t", ["bench", "--mode", "ctr,gcm"]),
        ):
            with self.subTest(keys=keys):
                self.assertEqual(self.typed(keys), words)
