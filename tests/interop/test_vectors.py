"""testvectors/: its reader passes every case, and `make` makes what is there."""

import hashlib
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "testvectors"
sys.path += [str(FOLDER), str(ROOT / "tests" / "cli")]
import reader
from vectors import all_cases

EMPTY = hashlib.sha256().hexdigest()


def found_in(case, content):
    """What the reader finds, and the SHA-256 of what it releases."""
    context = bytes.fromhex(case.get("context", ""))
    if case["format"] == "c2sp":
        found, text = reader.message(content, bytes.fromhex(case["key"]), context)
    else:
        found, text = reader.file(content, case, context)
    return found, hashlib.sha256(text).hexdigest()


class Vectors(unittest.TestCase):
    def cases(self):
        cases = {name: (case, content) for name, case, content in all_cases()}
        self.assertGreater(len(cases), 100)
        return cases

    def test_reader_passes_all_but_those_that_need_age(self):
        left_out = set()
        for name, (case, content) in self.cases().items():
            if "needs" in case:
                left_out.add(name)
                continue
            with self.subTest(case=name):
                expected = (case["expect"], case.get("payload", EMPTY))
                self.assertEqual(found_in(case, content), expected)
        self.assertEqual(left_out, {
            "recipients-age-header-changed", "recipients-identity-other",
            "recipients-run-key-of-31-bytes"})

    def test_reader_is_as_short_as_the_document_says(self):
        lines = (FOLDER / "reader.py").read_text().splitlines()
        self.assertLessEqual(len(lines), 60)
        self.assertIn(f"in {len(lines)} lines", lines[0])
        self.assertIn(f"in {len(lines)} lines of Python", (FOLDER / "README.md").read_text())
        self.assertIn(f"{len(self.cases())} files", (FOLDER / "README.md").read_text())

    def test_reader_finds_every_changed_byte_of_a_short_message(self):
        case, content = self.cases()["c2sp-16"]
        for at in range(len(content)):
            changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1:]
            self.assertNotEqual(found_in(case, changed)[0], "success", at)

    def test_make_makes_what_is_there(self):
        done = subprocess.run([sys.executable, "-B", FOLDER / "make", "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
