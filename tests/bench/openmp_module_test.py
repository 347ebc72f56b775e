"""Tests of the module with OpenMP's executor: where the bench finds it, or why it skips rows."""

import os
import pathlib
import shutil
import subprocess
import unittest

import cases

PARAES = pathlib.Path(os.environ["PARAES_BIN"])
BUILD = pathlib.Path(os.environ["PARAES_BUILD"])
MODULE = "paraes_openmp.so"
QUICK = ["--mode", "ctr", "--direction", "encrypt", "--kernel", "ttable", "--threads", "2",
         "--size", "64KiB", "--rivals", "none", "--samples", "2", "--min-time", "0"]


class OpenMpModule(cases.BenchCase):
    def both(self, paraes, **environment):
        """The report of both executors."""
        done, report = self.report(*QUICK, "--executor", "threads,openmp", paraes=paraes,
                                   **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return report

    def assert_runs(self, paraes, **environment):
        report = self.both(paraes, **environment)
        verified = {row["executor"]: row["verified"] for row in report["results"]}
        self.assertEqual(verified, {"threads": True, "openmp": True}, report["skipped"])
        self.assertGreaterEqual(report["context"]["omp"]["version"], 201511)
        self.assertRegex(report["context"]["omp"]["library"], r"^lib[ig]?omp\.so")

    def assert_skipped(self, paraes, *reasons, **environment):
        report = self.both(paraes, **environment)
        self.assertEqual([row["executor"] for row in report["results"]], ["threads"])
        self.assertTrue(report["results"][0]["verified"])
        self.assertIsNone(report["context"]["omp"])
        [skipped] = report["skipped"]
        self.assertEqual(skipped["executor"], "openmp")
        for reason in reasons:
            self.assertIn(reason, skipped["reason"])

    def copy(self, *files):
        for file in files:
            shutil.copy(file, self.folder)
        return self.folder / PARAES.name

    def test_runs_in_the_build_folder(self):
        self.assert_runs(PARAES)

    def test_runs_in_a_folder_of_copied_files(self):
        self.assert_runs(self.copy(PARAES, PARAES.with_name(MODULE)))

    def test_runs_where_it_is_installed(self):
        subprocess.run(["cmake", "--install", BUILD, "--prefix", self.folder], check=True,
                       capture_output=True)
        paraes = self.folder / "bin/paraes"
        self.assertFalse(paraes.with_name(MODULE).exists())
        self.assert_runs(paraes)

    def test_row_is_skipped_without_the_module(self):
        self.assert_skipped(self.copy(PARAES), f"{self.folder}/{MODULE}", "built with OpenMP")

    def test_row_is_skipped_where_strangers_could_replace_the_module(self):
        paraes = self.copy(PARAES, PARAES.with_name(MODULE))
        self.folder.chmod(0o1777)
        self.assert_skipped(paraes, MODULE, f"everybody can write to {self.folder}")

    def test_row_is_skipped_without_an_openmp_library(self):
        for name in ("libgomp.so.1", "libomp.so.5", "libomp.so"):
            (self.folder / name).write_bytes(b"no library")
        self.assert_skipped(PARAES, "omp.so", "install", LD_LIBRARY_PATH=str(self.folder))

    def test_row_is_skipped_if_the_module_is_of_another_version(self):
        paraes = self.copy(PARAES)
        listed = subprocess.run(["ldd", PARAES], capture_output=True, text=True, check=True).stdout
        [libcrypto] = [line.split()[2] for line in listed.splitlines() if "libcrypto" in line]
        shutil.copy(libcrypto, self.folder / MODULE)
        self.assert_skipped(paraes, MODULE, "has no")

    def test_module_is_opened_only_when_needed(self):
        opened = self.bench(*QUICK, "--executor", "openmp", "--list", LD_DEBUG="files").stderr
        self.assertIn(MODULE, opened)
        self.assertNotIn(MODULE, self.bench(*QUICK, LD_DEBUG="files").stderr)


if __name__ == "__main__":
    unittest.main()
