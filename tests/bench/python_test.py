"""bench/python with small sizes: its JSON, and that a wrong result is noticed.

    PYTHON tests/bench/python_test.py     PYTHON has the packages paraes and cryptography
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench/python"
WRONG = """
import paraes
real = paraes.AESGCM
class AESGCM:
    def __init__(self, *arguments, **options):
        self.real = real(*arguments, **options)
    def __getattr__(self, name):
        return getattr(self.real, name)
    def encrypt(self, nonce, data, aad):
        return bytes(len(data) + 16)
paraes.AESGCM = AESGCM
"""


def run(*arguments, folder, environment=None):
    return subprocess.run([sys.executable, BENCH, "--rounds", "1", "--folder", folder, *arguments],
                          capture_output=True, text=True, env=os.environ | (environment or {}))


class PythonBench(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_rows_have_samples_and_ratios(self):
        path = self.folder / "out.json"
        done = run("--sizes", "16,4KiB", "--large", "2MiB", "--json", path, folder=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(path.read_text())
        self.assertEqual(report["schema"], 1)
        self.assertIn("cryptography", json.dumps(report["context"]))
        calls = done.stdout
        for name in ("AESGCM.encrypt_into", "Cobblestone256Decryptor.update", "open, readinto"):
            self.assertIn(name, calls)
        self.assertGreater(len(report["rows"]), 15)
        self.assertEqual(os.listdir(self.folder), ["out.json"])

    def test_wrong_result_ends_with_1(self):
        (self.folder / "sitecustomize.py").write_text(WRONG)
        done = run("--only", "aead", "--sizes", "16", folder=self.folder,
                   environment={"PYTHONPATH": str(self.folder)})
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_bad_arguments_are_refused(self):
        for wrong in (("--sizes", "x"), ("--only", "nonsense"), ("--rounds", "0")):
            self.assertEqual(run(*wrong, folder=self.folder).returncode, 2)


if __name__ == "__main__":
    unittest.main()
