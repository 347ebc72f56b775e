"""Shared by the tests of the bench's scripts."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PARAES = os.environ.get("PARAES_BIN")
TREE = pathlib.Path(__file__).resolve().parents[2]


def load(name):
    """Return the script bench/NAME as a module."""
    sys.path.insert(0, str(TREE / "bench"))
    loader = importlib.machinery.SourceFileLoader(name, str(TREE / "bench" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


class FolderCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def run_script(self, script, *arguments, python=sys.executable, **environment):
        """Return the exit status, the output and the report."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run(
            [python, "-B", TREE / "bench" / script, "--json", report, *arguments],
            env=os.environ | {"LOG": str(self.log), "PYTHONUTF8": "1"} | environment,
            capture_output=True, encoding="utf-8", check=False)
        return (done.returncode, done.stdout + done.stderr,
                json.loads(report.read_text()) if report.exists() else None)


class BenchCase(FolderCase):
    """Tests of `paraes bench`, with these further variables of the environment."""

    variables = {}

    def bench(self, *arguments, paraes=PARAES, **variables):
        return subprocess.run([paraes, "bench", *arguments], capture_output=True, text=True,
                              check=False, env=os.environ | self.variables | variables)

    def report(self, *arguments, **options):
        """Return the ended process, and the report."""
        done = self.bench(*arguments, "--json", "-", **options)
        self.assertTrue(done.stdout, done.stderr)
        return done, json.loads(done.stdout)

    def compile(self, name, *words):
        """Compile a shared library in the folder, which paraes opens."""
        library = self.folder / name
        subprocess.run([os.environ["PARAES_CC"], "-O2", "-shared", "-fPIC", *words, "-o", library],
                       check=True)
        library.chmod(0o755)
        return library
