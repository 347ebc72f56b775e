"""Tests of bench/pyca with stand-ins for paraes and for the package cryptography."""

import statistics
import sys
import unittest

import cases

FAKE_PARAES = """#!{python}
import itertools, json, os, sys

axes = dict(zip(sys.argv[2::2], sys.argv[3::2]))
size = int(axes["--size"])
with open(os.environ["LOG"], "a") as log:
    log.write(f"paraes {{size}}\\n")
rows = [{{"key_bits": int(bits), "direction": direction, "bytes": size, "median_ns": 100 * size,
         "verified": {verified}}}
        for bits, direction in itertools.product(axes["--key-bits"].split(","),
                                                 axes["--direction"].split(","))]
print(json.dumps({{"context": {{"libraries": {{"paraes": "7.8.9"}}}}, "results": rows}}))
"""

# The "cipher" of the stand-in exchanges upper and lower case.
FAKE_AEAD = """
import os

class AESGCM:
    def __init__(self, key):
        self.logs = True

    def encrypt(self, nonce, data, aad):
        if self.logs:
            with open(os.environ["LOG"], "a") as log:
                log.write(f"pyca {len(data)}\\n")
        self.logs = False
        return bytes(data).swapcase() + b"t" * 16

    def decrypt(self, nonce, data, aad):
        assert data[-16:] == b"t" * 16
        return DECRYPTED(bytes(data[:-16]))
"""
INTO = """
    def encrypt_into(self, nonce, data, aad, out):
        out[:] = self.encrypt(nonce, data, aad)
        return len(out)

    def decrypt_into(self, nonce, data, aad, out):
        out[:] = self.decrypt(nonce, data, aad)
        return len(out)
"""


class PycaTest(cases.FolderCase):
    def setUp(self):
        super().setUp()
        self.paraes = self.fake_paraes()
        self.fake_cryptography(FAKE_AEAD + INTO)

    def fake_paraes(self, verified="True"):
        text = FAKE_PARAES.format(python=sys.executable, verified=verified)
        return self.write(f"paraes-{verified}", text, 0o755)

    def fake_cryptography(self, aead, decrypted="bytes.swapcase"):
        files = {
            "__init__.py": "__version__ = '99.1'",
            "hazmat/backends/openssl/backend.py":
                "class backend:\n    openssl_version_text = lambda: 'OpenSSL 9.9.9'",
            "hazmat/primitives/ciphers/aead.py": f"DECRYPTED = {decrypted}\n{aead}",
        }
        for name, text in files.items():
            self.write(f"cryptography/{name}", text)

    def run_pyca(self, *flags, paraes=None):
        """Return the exit status, the output and the report."""
        return self.run_script("pyca", "--paraes", paraes or self.paraes, "--passes", "3",
                               "--size", "1KiB,100", *flags, PYTHONPATH=str(self.folder))

    def test_ratios_are_of_times_of_the_same_pass_and_versions_are_named(self):
        status, text, report = self.run_pyca()
        self.assertEqual(status, 0, text)
        rows = report["rows"]
        self.assertEqual({(row["key_bits"], row["direction"], row["bytes"]) for row in rows},
                         {(bits, direction, size) for bits in (128, 256)
                          for direction in ("encrypt", "decrypt") for size in (100, 1024)})
        self.assertEqual(len(rows), 8)
        for row in rows:
            self.assertEqual(row["paraes_ns"], [100 * row["bytes"]] * 3)
            self.assertEqual(row["ratios"], [theirs / ours for ours, theirs
                                             in zip(row["paraes_ns"], row["pyca_ns"], strict=True)])
            self.assertEqual(row["ratio"], statistics.median(row["ratios"]))
            self.assertGreater(row["ratio"], 0)
        self.assertIn("paraes 7.8.9 / cryptography 99.1 with OpenSSL 9.9.9", text)
        self.assertIn("encrypt_into, decrypt_into", text)
        self.assertRegex(text, r"a call for 16 bytes from Python: \d+ ns")
        self.assertEqual((report["cryptography"], report["openssl"], report["calls"]),
                         ("99.1", "OpenSSL 9.9.9", "encrypt_into, decrypt_into"))
        self.assertGreater(report["empty_call_ns"], 0)
        self.assertEqual(report["empty_call_bytes"], 16)

    def test_old_versions_return_new_bytes(self):
        self.fake_cryptography(FAKE_AEAD)
        status, text, report = self.run_pyca()
        self.assertEqual(status, 0, text)
        self.assertEqual(report["calls"], "encrypt, decrypt")
        self.assertIn("Python", text)
        self.assertNotIn("encrypt_into", text)

    def test_the_one_that_goes_first_alternates(self):
        self.run_pyca()
        # The first line is that of the empty call; pyca has four rows a size.
        lines = self.log.read_text().splitlines()
        self.assertEqual(lines[0], "pyca 16")
        turns = [line for before, line in zip(lines, lines[1:], strict=False) if line != before]
        self.assertEqual(turns, ["paraes 1024", "pyca 1024", "pyca 100", "paraes 100",
                                 "pyca 1024", "paraes 1024", "paraes 100", "pyca 100",
                                 "paraes 1024", "pyca 1024", "pyca 100", "paraes 100"])

    def test_what_cannot_be_measured_exits_with_2(self):
        def check(words, **options):
            status, text, report = self.run_pyca(**options)
            self.assertEqual(status, 2, text)
            self.assertIn(words, text)
            self.assertIsNone(report)

        check("bench/pyca: ", paraes=self.fake_paraes(verified="False"))
        check("bench/pyca: ", paraes=self.folder / "absent")
        self.fake_cryptography(FAKE_AEAD + INTO, decrypted="bytes.title")
        check("bench/pyca: cryptography: wrong result: AES-128-GCM decrypt")
        self.write("cryptography/__init__.py", "raise ImportError('none')")
        check("has no package cryptography: install it")

    def test_wrong_sizes_are_usage_errors(self):
        for size in ("", "0", "1KiB,", "-1", "1.5KiB", "64QiB", "\u0663", "KiB"):
            status, text, _ = self.run_pyca(f"--size={size}")
            self.assertEqual(status, 2, text)
            self.assertIn("is not a size", text)
        self.assertEqual(self.run_pyca("--passes", "0")[0], 2)

    def test_a_report_that_cannot_be_written_exits_with_2_after_the_table(self):
        status, text, _ = self.run_pyca("--json", self.folder / "absent" / "report.json")
        self.assertEqual(status, 2, text)
        self.assertIn("report.json: No such file", text)
        self.assertNotIn("Traceback", text)
        self.assertIn("ratio", text)


if __name__ == "__main__":
    unittest.main()
