"""Completion in Bash: the words that it offers, and what a user gets who presses TAB."""

import json
import os
import pty
import re
import select
import shlex
import subprocess
import time
import unittest

import support
from support import BIN, BUILT, DEADLINE, MPI, help_of, names_of, run, verbs_of

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


class Offers(support.ShellCase):
    def offers(self, line, file=FILE):
        last, words = split(line)
        command = ["bash", "--norc", "-c", OFFER, "bash", file, line, last, *words]
        done = run(*command, cwd=self.dir)
        self.assertEqual(done.stderr, "", line)
        return sorted(done.stdout.split("\n")[:-1] if done.stdout != "\n" else [])

    def test_verbs_by_their_beginning(self):
        self.assertEqual(self.offers("paraes "), sorted(verbs_of(help_of(BIN))))
        self.check({
            "paraes en": ["encrypt"],
            "paraes re": ["rekey"],
            "paraes help ver": ["verify", "version"],
            "paraes x": [],
        })

    def test_flags_are_those_of_help(self):
        self.assertEqual(set(self.offers("paraes -")), names_of(help_of(BIN)))
        for verb in verbs_of(help_of(BIN)):
            if verb == "lab":
                continue
            with self.subTest(verb=verb):
                self.assertEqual(set(self.offers(f"paraes {verb} -")), names_of(help_of(BIN, verb)))
        ends = ("", "-command", "-env", "-fd", "-file")
        self.assertEqual(
            self.offers("paraes rekey --to-pass"), [f"--to-passphrase{end}" for end in ends]
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
        self.check({
            "paraes encrypt --format ": formats,
            "paraes verify --format ": ["c2sp", "paraes", "tink"],
            "paraes encrypt --format=ra": ["raw"],
            "paraes encrypt --format=": formats,
            "paraes encrypt --tink-hash SHA2": ["SHA256"],
            "paraes keygen --key-bits ": ["128", "192", "256"],
        })
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
                refused = self.refuses_word(
                    word, flag, word, *more, "--key-file", "/nowhere", "/nowhere/x"
                )
                self.assertEqual(refused, word == "wrong", f"{flag} {word}")

    def test_kernels_are_those_of_devices(self):
        listed = run(BIN, "devices", "--json", check=True)
        names = [kernel["name"] for kernel in json.loads(listed.stdout)["kernels"]]
        self.assertEqual(self.offers("paraes encrypt --kernel "), sorted(["auto", *names]))

    def refuses_word(self, word, *arguments):
        """Whether encrypt says that it knows no such word."""
        done = run(BIN, "encrypt", *arguments, stdin=subprocess.DEVNULL)
        self.assertNotEqual(done.returncode, 0)
        said = rf"there is no \w+ '{word}'|{word}: there is no|, not '{word}'|'{word}' is not"
        return re.search(said, done.stderr) is not None

    def test_lists_continue_after_a_comma(self):
        self.assertEqual(self.offers("paraes bench --mode "), ["cbc", "ctr", "ecb", "gcm", "xts"])
        self.assertEqual(self.offers("paraes bench --mode ctr,g"), ["ctr,gcm"])
        self.assertEqual(self.offers("paraes bench --mode=ctr,g"), ["ctr,gcm"])
        self.assertIn("memcpy,stream-copy", self.offers("paraes bench --rivals memcpy,s"))

    def test_files_for_arguments_and_for_flags_that_take_them(self):
        self.make("my.key", "photo", "dir/")
        self.check({
            "paraes encrypt ": ["dir", "my.key", "photo"],
            "paraes encrypt -k m": ["my.key"],
            "paraes encrypt -rk m": ["my.key"],
            "paraes encrypt --key-file=m": ["my.key"],
            "paraes encrypt -k my.key -T 2 p": ["photo"],
            "paraes devices --compile -o ": ["dir"],
            "paraes keygen p": [],
            "paraes keygen > p": ["photo"],
            "paraes decrypt < photo -k m": ["my.key"],
        })

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
        self.check({
            "paraes decrypt a:": ["b.paes", "c.paes"],
            "paraes decrypt a:b": ["b.paes"],
            "paraes decrypt x=y": ["y.paes"],
            "paraes decrypt st": ["st*r.paes"],
        })

    def test_one_completion_file_needs_no_package(self):
        done = run("bash", "--norc", "-uec", 'source "$1"; complete -p', "bash", FILE)
        self.assertEqual((done.stdout, done.stderr), ("complete -F _paraes paraes\n", ""))


class Typed(support.ShellCase):
    """An interactive Bash in a pseudo-terminal, and keys that a user types."""

    def typed(self, keys):
        """The words of the command line after these keys, without the first one."""
        out = self.dir / ".typed"
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.dir)
            files = dict.fromkeys(("HISTFILE", "INPUTRC"), "/dev/null")
            command = ["bash", "--norc", "--noprofile", "-i"]
            os.execvpe("bash", command, {**os.environ, **files, "PS1": "READY>", "TERM": "dumb"})
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
