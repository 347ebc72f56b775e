"""Completion in fish, as its own `complete -C` answers."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import support
from support import BIN, BUILT, DEADLINE, help_of, names_of, verbs_of


def setUpModule():
    support.need("fish")


class Fish(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="paraes-fish-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def answers(self, line, file="paraes.fish"):
        """The words that fish offers, with their descriptions."""
        done = subprocess.run(
            [
                "fish",
                "--no-config",
                "-c",
                'source $argv[1]; complete -C "$argv[2]"',
                BUILT / "fish" / file,
                line,
            ],
            cwd=self.dir,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.dir)},
        )
        self.assertEqual(done.stderr, "", line)
        rows = [row.partition("\t") for row in done.stdout.splitlines()]
        # Newer versions quote spaces.
        return {word.replace("\\ ", " "): text for word, _, text in rows}

    def offers(self, line, file="paraes.fish"):
        return sorted(self.answers(line, file))

    def test_syntax(self):
        for file in (BUILT / "fish").iterdir():
            subprocess.run(["fish", "--no-execute", file], check=True, timeout=DEADLINE)

    def test_verbs(self):
        self.assertEqual(self.answers("paraes enc"), {"encrypt": "Encrypts files or a pipe"})
        self.assertEqual(self.offers("paraes "), sorted(verbs_of(help_of(BIN))))
        self.assertEqual(self.offers("paraes help ver"), ["verify", "version"])

    def test_flags_are_those_of_help(self):
        for verb in verbs_of(help_of(BIN)):
            if verb in ("lab", "help", "version"):
                continue
            with self.subTest(verb=verb):
                names = names_of(help_of(BIN, verb))
                short = {name for name in names if not name.startswith("--")}
                self.assertEqual(set(self.offers(f"paraes {verb} --")), names - short)
                self.assertTrue(short <= set(self.offers(f"paraes {verb} -")), verb)

    def test_values(self):
        self.assertEqual(
            self.offers("paraes encrypt --format "), ["c2sp", "openssl", "paraes", "raw", "tink"]
        )
        self.assertEqual(self.offers("paraes encrypt --format=o"), ["--format=openssl"])
        self.assertEqual(self.offers("paraes bench --mode ctr,g"), ["ctr,gcm"])
        self.assertEqual(self.offers("paraes lab figure clu"), ["cluster"])
        self.assertEqual(self.offers("paraes-lab figure clu", "paraes-lab.fish"), ["cluster"])
        self.assertEqual(
            self.offers("paraes-mpi encrypt --distribute ", "paraes-mpi.fish"),
            ["scatter", "shared"],
        )

    def test_files(self):
        for name in ("a.paes", "my file.paes", "my.key", "notes.enc"):
            (self.dir / name).write_text("")
        (self.dir / "photos").mkdir()
        self.assertEqual(self.offers("paraes decrypt my\\ f"), ["my file.paes"])
        # Those that end in .paes come first, and the others stay possible.
        self.assertIn("a.paes", self.offers("paraes decrypt "))
        self.assertEqual(self.offers("paraes decrypt notes"), ["notes.enc"])
        self.assertEqual(self.offers("paraes encrypt -k my.k"), ["my.key"])
        self.assertEqual(self.offers("paraes devices --compile -o "), ["photos/"])
