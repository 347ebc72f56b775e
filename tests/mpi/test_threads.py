"""Ranks that can start fewer threads than they need.

PARAES_FEW_THREADS_LIBRARY is the library to preload, built from tests/support/few_threads.cpp."""

import json
import os
import unittest

from ranks import KEY, MIB, WAYS, MpiCase, pattern

PLAIN = pattern(5 * MIB + 100)
RAW = ["--format", "raw", "--mode", "xts"]


@unittest.skipUnless(os.environ.get("PARAES_FEW_THREADS_LIBRARY"),
                     "PARAES_FEW_THREADS_LIBRARY is not set")
class FewThreads(MpiCase):
    def setUp(self):
        super().setUp()
        self.write("f", PLAIN)

    def limited(self, threads):
        return {"LD_PRELOAD": os.environ["PARAES_FEW_THREADS_LIBRARY"],
                "PARAES_FEW_THREADS": str(threads),
                "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}

    def test_files_are_processed_with_the_threads_that_start(self):
        for threads in (0, 1, 3):
            for way in WAYS:
                with self.subTest(threads=threads, way=way):
                    env = self.limited(threads)
                    flags = [*KEY, *way, "-T", "4", "-f"]
                    out = self.mpi(3, "encrypt", *flags, "--json", "-o", "g.paes", "f", env=env)
                    self.assertEqual(json.loads(out)["status"], "ok")
                    self.assertTrue(self.ok("decrypt", *KEY, "-c", "g.paes") == PLAIN)
                    self.mpi(3, "decrypt", *flags, "-o", "d", "g.paes", env=env)
                    self.assertTrue(self.read("d") == PLAIN)
                    self.assertEqual(self.names(), ["d", "f", "g.paes", "k", "other"])

    def test_raw_format_is_processed_with_the_threads_that_start(self):
        sealed = self.ok("encrypt", *KEY, *RAW, "-c", "f")
        made = self.mpi(2, "encrypt", *KEY, *RAW, "-T", "16", "-c", "f", env=self.limited(1))
        self.assertTrue(made == sealed)

    def bench(self, threads):
        done = self.run_mpi(2, "bench", "--mode", "ctr", "--direction", "encrypt", "--size", "1MiB",
                            "--samples", "3", "--rivals", "none", "--json", "-",
                            env=self.limited(threads))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_bench_skips_rows_for_which_no_thread_starts(self):
        report = self.bench(0)
        self.assertEqual([row["ranks"] for row in report["results"]], [1])
        self.assertTrue(report["results"][0]["verified"])
        reasons = [row["reason"] for row in report["skipped"] if row["ranks"] == 2]
        self.assertEqual(len(reasons), 2)
        for reason in reasons:
            self.assertIn("no thread can be started", reason)
        # One thread for each row is enough.
        report = self.bench(2)
        self.assertEqual([row["ranks"] for row in report["results"]], [2, 2, 1])
