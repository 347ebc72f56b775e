"""The manual pages: what they contain, and how man and mandoc show them."""

import os
import re
import unittest

import support
from support import BIN, BUILT, MPI, TREE, help_of, names_of, run, verbs_of

PAGES = sorted((BUILT / "man").glob("*.1"))


def setUpModule():
    support.need("man", "groff", "mandoc")


def rendered(page):
    """The text of a page in a terminal of 80 columns, and what groff warns of."""
    more = {"MANWIDTH": "80", "MANROFFOPT": "-ww", "MAN_KEEP_FORMATTING": ""}
    env = {**os.environ, **more, "LC_ALL": "C.UTF-8"}
    done = run("man", "--warnings=w", "-l", page, env=env, check=True)
    return re.sub(r".\x08", "", done.stdout), done.stderr


def options_in(text):
    """The names of flags that begin a paragraph in the options of a rendered page."""
    body = re.split(r"(?m)^(?:EXIT STATUS|ENVIRONMENT)$", text)[0]
    # Not a line within a paragraph that names flags.
    rows = re.findall(r"(?m)^(?! {7}\S).*\n {7}(-{1,2}[A-Za-z0].*)$", body)
    return {name for row in rows for name in re.findall(r"(?:^|, )(--?[A-Za-z0][\w-]*)", row)}


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shown = {page.stem: rendered(page) for page in PAGES}
        cls.texts = {name: text for name, (text, _) in shown.items()}
        cls.warnings = {name: warning for name, (_, warning) in shown.items()}
        cls.verbs = [verb for verb in verbs_of(help_of(BIN)) if verb not in ("help", "version")]

    def test_every_verb_and_program_has_a_page(self):
        expected = {"paraes", "paraes-mpi", *(f"paraes-{verb}" for verb in self.verbs)}
        self.assertEqual(set(self.texts), expected)

    def test_groff_warns_of_nothing(self):
        self.assertEqual(self.warnings, dict.fromkeys(self.texts, ""))

    def test_mandoc_finds_nothing(self):
        done = run("mandoc", "-T", "lint", "-W", "style", *PAGES)
        self.assertEqual((done.stdout, done.returncode), ("", 0))

    def test_whatis_finds_every_page(self):
        done = run("lexgrog", *PAGES, check=True)
        for name in self.texts:
            self.assertRegex(done.stdout, rf'{name}\.1: "{name} - [a-z]')

    def test_every_flag_of_help_is_in_its_page_and_no_other(self):
        for verb in self.verbs:
            if verb == "lab":  # test_lab.py
                continue
            with self.subTest(verb=verb):
                shown = options_in(self.texts[f"paraes-{verb}"])
                self.assertEqual(shown, names_of(help_of(BIN, verb)))
        self.assertEqual(options_in(self.texts["paraes"]), names_of(help_of(BIN)))

    @unittest.skipUnless(MPI, "paraes-mpi is not built")
    def test_page_of_mpi_names_all_differences(self):
        text = self.texts["paraes-mpi"]
        for verb in verbs_of(help_of(MPI)):
            if verb in ("help", "version"):
                continue
            with self.subTest(verb=verb):
                part = re.split(r"(?m)^ {3}\S", text.split(f"\n   paraes-mpi {verb}\n")[1])[0]
                ours, theirs = names_of(help_of(MPI, verb)), names_of(help_of(BIN, verb))
                self.assertEqual(options_in(part), ours - theirs)
                sentence = part.split(":")[0]
                excepted = sentence.split(", except ")[1] if ", except " in sentence else ""
                self.assertEqual(set(re.findall(r"--[\w-]+", excepted)), theirs - ours)

    def test_statuses_and_examples_of_help_are_there(self):
        whole = help_of(BIN)
        statuses = re.findall(r"(?m)^  ([\d, ]+)  \S", whole.split("\nExit status:\n")[1])
        for name, text in self.texts.items():
            if name == "paraes-lab":
                continue
            part = text.split("\nEXIT STATUS\n")[1]
            for status in statuses:
                self.assertRegex(part, rf"(?m)^ {{7}}{status.strip()}\b", name)
        for verb in self.verbs:
            if verb == "lab":
                continue
            text = " ".join(self.texts[f"paraes-{verb}"].split("\nEXAMPLES\n")[1].split())
            for line in help_of(BIN, verb).split("\nExamples:\n")[1].strip().splitlines():
                self.assertIn(re.split(r"\s{2,}", line.strip())[0], text)

    def test_hyphens_are_ascii(self):
        for name, text in self.texts.items():
            self.assertNotRegex(text, "[\u2010-\u2015\u2212\u2018\u2019]", name)

    def test_see_also_names_pages_that_exist(self):
        for name, text in self.texts.items():
            for other in re.findall(r"(paraes[a-z-]*)\(1\)", text):
                self.assertIn(other, self.texts, name)

    def test_every_variable_that_the_sources_read_is_documented(self):
        read = set()
        for folder in ("cli", "src", "bench", "mpi"):
            for path in (TREE / folder).rglob("*"):
                if path.suffix in (".cpp", ".hpp", ".inc"):
                    read |= set(re.findall(r'"((?:PARAES|XDG)_[A-Z_]+)"', path.read_text()))
        documented = set(
            re.findall(r"(?m)^ {7}([A-Z_]+)", self.texts["paraes"].split("\nENVIRONMENT\n")[1])
        )
        documents = "".join(
            path.read_text() for path in (TREE / "docs").glob("*.md") if path.name != "reference.md"
        )
        for name in sorted(read):
            with self.subTest(variable=name):
                self.assertIn(name, documented)
                self.assertTrue(re.search(rf"\b{name}\b", documents), "it is not in docs")
