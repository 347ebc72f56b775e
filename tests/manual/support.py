"""Helpers of the tests of manual pages and completions. ctest names the programs and folders."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
BIN = os.environ["PARAES_BIN"]
MPI = os.environ.get("PARAES_MPI", "")  # empty where it is not built
DESCRIBE = os.environ["PARAES_DESCRIBE"]
BUILT = pathlib.Path(os.environ["PARAES_MANUAL_FOLDER"])  # what the build has written
DEADLINE = 30


def need(*tools):
    """Skips a file of tests, with the reason, where a tool is missing. `./quickstart test` installs
    them, and then requires them."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if not missing:
        return
    reason = f"not installed: {', '.join(missing)}"
    if os.environ.get("PARAES_REQUIRE_MANUAL") == "1":
        raise AssertionError(reason)
    raise unittest.SkipTest(reason)


def run(*command, **options):
    """The finished process, with what it printed as text."""
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, **options)


def help_of(program, *verb):
    """The text of --help. PATH is empty: a paraes-lab in it would answer for `lab`."""
    command = [program, *verb, "--help"]
    if program == MPI:  # one rank, without a launcher
        command = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", *command]
    return run(*command, check=True).stdout


def verbs_of(text):
    """The verbs that a --help lists."""
    return re.findall(r"(?m)^  ([a-z]+) +[A-Z]", text.split("\nVerbs:\n")[1].split("\n\n")[0])


def flags_of(text):
    """The names of flags that a --help lists: a list of names for each flag."""
    rows = re.findall(r"(?m)^  (-\S+)", text.split("\nExamples:")[0])
    return [row.split("[")[0].split(",") for row in rows]


def names_of(text):
    return {name for names in flags_of(text) for name in names}


class ShellCase(unittest.TestCase):
    """Gives each test a folder in which a shell completes a line. offers(), which each shell has,
    returns the words, sorted."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="paraes-shell-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def make(self, *names):
        for name in names:
            path = self.dir / name
            path.mkdir() if name.endswith("/") else path.write_text("")

    def check(self, offers, *file):
        """Checks the words that are offered for each line, in the completion file `file`."""
        for line, words in offers.items():
            with self.subTest(line=line):
                self.assertEqual(self.offers(line, *file), words)
