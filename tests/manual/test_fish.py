"""Completion in fish, as its own `complete -C` answers."""

import support
from support import BIN, BUILT, help_of, names_of, run, verbs_of

COMPLETE = 'source $argv[1]; complete -C "$argv[2]"'


def setUpModule():
    support.need("fish")


class Fish(support.ShellCase):
    def answers(self, line, file="paraes.fish"):
        """The words that fish offers, with their descriptions."""
        command = ["fish", "--no-config", "-c", COMPLETE, BUILT / "fish" / file, line]
        done = run(*command, cwd=self.dir, env={"PATH": "/usr/bin:/bin", "HOME": str(self.dir)})
        self.assertEqual(done.stderr, "", line)
        rows = [row.partition("\t") for row in done.stdout.splitlines()]
        # Newer versions quote spaces.
        return {word.replace("\\ ", " "): text for word, _, text in rows}

    def offers(self, line, file="paraes.fish"):
        return sorted(self.answers(line, file))

    def test_syntax(self):
        for file in (BUILT / "fish").iterdir():
            run("fish", "--no-execute", file, check=True)

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
        self.check({
            "paraes encrypt --format ": ["c2sp", "openssl", "paraes", "raw", "tink"],
            "paraes encrypt --format=o": ["--format=openssl"],
            "paraes bench --mode ctr,g": ["ctr,gcm"],
            "paraes lab figure clu": ["cluster"],
        })
        self.check({"paraes-lab figure clu": ["cluster"]}, "paraes-lab.fish")
        self.check(
            {"paraes-mpi encrypt --distribute ": ["scatter", "shared"]}, "paraes-mpi.fish"
        )

    def test_files(self):
        self.make("a.paes", "my file.paes", "my.key", "notes.enc", "photos/")
        # Names that end in .paes come first, and the others stay possible.
        self.assertIn("a.paes", self.offers("paraes decrypt "))
        self.check({
            "paraes decrypt my\\ f": ["my file.paes"],
            "paraes decrypt notes": ["notes.enc"],
            "paraes encrypt -k my.k": ["my.key"],
            "paraes devices --compile -o ": ["photos/"],
        })
