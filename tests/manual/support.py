"""Helpers of the tests of manual pages and completions. ctest names the programs and folders."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
BIN = os.environ["PARAES_BIN"]
MPI = os.environ.get("PARAES_MPI", "")  # empty where it is not built
GENERATOR = os.environ["PARAES_MANUAL"]
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


def help_of(program, *verb):
    """The text of --help. PATH is empty: a paraes-lab in it would answer for `lab`."""
    command = [program, *verb, "--help"]
    if program == MPI:  # one rank, without a launcher
        command = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True)
    return done.stdout


def verbs_of(text):
    """The verbs that a --help lists."""
    return re.findall(r"(?m)^  ([a-z]+) +[A-Z]", text.split("\nVerbs:\n")[1].split("\n\n")[0])


def flags_of(text):
    """The names of flags that a --help lists: a list of names for each flag."""
    rows = re.findall(r"(?m)^  (-\S+)", text.split("\nExamples:")[0])
    return [row.split("[")[0].split(",") for row in rows]


def names_of(text):
    return {name for names in flags_of(text) for name in names}
