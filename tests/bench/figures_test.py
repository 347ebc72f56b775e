"""Tests of bench/figures with the built paraes. Which goals it reaches is not tested."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FIGURES = pathlib.Path(__file__).resolve().parents[2] / "bench/figures"


def figures(*flags):
    """Return the exit status and the lines of the table."""
    done = subprocess.run(
        [sys.executable, "-B", FIGURES, "--paraes", os.environ["PARAES_BIN"], "--only", "cache",
         "--samples", "1", "--min-time", "0", *flags], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


class FiguresTest(unittest.TestCase):
    def test_ratios_are_measured_and_versions_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "figures.json"
            status, lines = figures("-o", str(path))
            report = json.loads(path.read_text())
        self.assertEqual(status, 0, lines)
        openssl = next(line for line in lines if line.startswith("CTR-128 / OpenSSL"))
        self.assertRegex(openssl, r"≥ 2.3 +\d+\.\d\d  (yes|NO) \(")
        self.assertRegex(lines[-1], r"^versions: .*openssl-evp \d+\.")
        self.assertEqual([line["figure"] for line in report["figures"]][2], "CTR-128 / OpenSSL")
        self.assertTrue(report["runs"][0]["results"])

    def test_other_libcryptos_are_figures_without_a_goal(self):
        libcrypto = os.environ["PARAES_LIBCRYPTO"]
        if libcrypto.endswith(".a"):
            self.skipTest("libcrypto is linked statically")
        status, lines = figures("--libcrypto", libcrypto)
        self.assertEqual(status, 0, lines)
        if any("sanitizer" in line for line in lines):
            self.skipTest("a build with a sanitizer opens no other libcrypto")
        other = [line for line in lines if "/ openssl-evp@" in line]
        self.assertEqual(len(other), 3, lines)
        for line in other:
            self.assertRegex(line, r" - +\d+\.\d\d  - \(")
        version = re.match(r"CTR-128 / openssl-evp@(\S+)", other[0])[1]
        self.assertIn(f"openssl-evp@{version} OpenSSL {version}", lines[-1])

    def test_a_file_that_is_no_libcrypto_is_the_reason_of_all_figures(self):
        status, lines = figures("--libcrypto", "/absent")
        self.assertEqual(status, 0, lines)
        self.assertEqual(len([line for line in lines if "not measured: --rivals: /absent" in line]),
                         len(lines) - 1)


if __name__ == "__main__":
    unittest.main()
