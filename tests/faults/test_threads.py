"""Systems that start fewer threads than a run asks for: it completes with those it gets."""

import os
import resource
import subprocess
import unittest

from faults import KEY, MIB, FaultCase, file_reports, pattern, restore_signals, sanitized

IV = "000102030405060708090a0b0c0d0e0f"
# Enough data for each of 16 threads to get a range of every chunk.
PLAIN = pattern(9 * MIB + 16)
RAW = {
    "ecb": ["--format", "raw", "--mode", "ecb", "--nopad"],
    "cbc": ["--format", "raw", "--mode", "cbc", "--iv-hex", IV, "--nopad"],
    "ctr": ["--format", "raw", "--mode", "ctr", "--iv-hex", IV],
    "xts": ["--format", "raw", "--mode", "xts"],
}
NOBODY = 65534


class ThreadLimitTests:
    """The tests of each kind of limit; a subclass defines limited(), which runs paraes under it."""

    formats = {**RAW, "paraes": [], "c2sp": ["--format", "c2sp"]}

    def setUp(self):
        super().setUp()
        self.write("f", PLAIN)
        self.write("f1", PLAIN[: 5 * MIB])
        self.write("f2", PLAIN[: 3 * MIB + 32])

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(self.left_over(), [])
        return done.stdout

    def test_files_have_the_bytes_of_a_run_without_a_limit(self):
        for name, flags in self.formats.items():
            for more in ([], ["--no-overlap"]):
                with self.subTest(name, more=more):
                    flags_16 = [*KEY, *flags, *more, "-T", "16"]
                    self.check(self.limited("encrypt", *flags_16, "-f", "-o", "e", "f"))
                    if name in RAW:  # the others draw salts
                        self.ok("encrypt", *KEY, *flags, "-T", "1", "-f", "-o", "whole", "f")
                        self.assertTrue(self.read("e") == self.read("whole"))
                    self.check(self.limited("decrypt", *flags_16, "-f", "-o", "d", "e"))
                    self.assertTrue(self.read("d") == PLAIN)
                    for made in {"e", "d", "whole"} & set(self.names()):
                        self.path(made).unlink()

    def test_every_one_of_several_files_is_encrypted(self):
        for name, flags in self.formats.items():
            with self.subTest(name):
                files = ["f", "f1", "f2"]
                out = self.check(self.limited("encrypt", *KEY, *flags, "-T", "16", "-q", "--json",
                                              *files))
                lines = list(file_reports(out).values())
                self.assertEqual([line["status"] for line in lines], ["ok"] * 3)
                self.assertEqual({line["exit"] for line in lines}, {0})
                for file in files:
                    plain = self.ok("decrypt", *KEY, *flags, "-T", "1", "-c", file + ".paes")
                    self.assertTrue(plain == self.read(file), file)
                    self.path(file + ".paes").unlink()

    def test_pipes_round_trip(self):
        for name, flags in self.formats.items():
            with self.subTest(name):
                flags_16 = [*KEY, *flags, "-T", "16", "-"]
                sealed = self.check(self.limited("encrypt", *flags_16, stdin=PLAIN))
                plain = self.check(self.limited("decrypt", *flags_16, stdin=sealed))
                self.assertTrue(plain == PLAIN)


@unittest.skipUnless(os.environ.get("PARAES_FEW_THREADS_LIBRARY"),
                     "PARAES_FEW_THREADS_LIBRARY names no library")
class NoThreadStarts(ThreadLimitTests, FaultCase):
    """The system starts no more than `threads` threads. Temporary files have names."""

    threads = 0

    def limited(self, *args, **kwargs):
        libraries = [os.environ["PARAES_FEW_THREADS_LIBRARY"],
                     os.environ.get("PARAES_NO_TMPFILE", "")]
        return self.run_paraes(*args, **kwargs, env={
            "LD_PRELOAD": ":".join(filter(None, libraries)),
            "PARAES_FEW_THREADS": str(self.threads),
            "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"})


class OneThreadStarts(NoThreadStarts):
    threads = 1


class SixThreadsStart(NoThreadStarts):
    threads = 6


@unittest.skipIf(sanitized(), "sanitizers reserve terabytes of address space")
class AddressSpaceLimit(ThreadLimitTests, FaultCase):
    """ulimit -v 100000: too little address space for the stacks of all threads."""

    def limited(self, *args, **kwargs):
        def limit():
            restore_signals()
            resource.setrlimit(resource.RLIMIT_AS, (100000 << 10, 100000 << 10))
        return self.run_paraes(*args, **kwargs, preexec_fn=limit)


@unittest.skipIf(sanitized(), "sanitizers start a thread themselves")
class ProcessLimit(ThreadLimitTests, FaultCase):
    """ulimit -u 1: a user with one process gets no second thread. Root is exempt, so the tests run
    paraes as another user."""

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o777)
        for name in self.names():
            os.chmod(self.path(name), 0o644)
        os.chmod(self.path("k"), 0o600)
        if os.geteuid() == 0:
            os.chown(self.path("k"), NOBODY, NOBODY)
        if self.limited("--version").returncode != 0:
            self.skipTest("another user cannot run the program")

    def limited(self, *args, **kwargs):
        def limit():
            restore_signals()
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        try:
            done = self.run_paraes(*args, **kwargs, preexec_fn=limit)
        except (PermissionError, subprocess.SubprocessError) as error:
            self.skipTest(f"another user cannot run the program: {error}")
        for name in self.names():
            if os.geteuid() == 0 and name != "k":
                os.chown(self.path(name), 0, 0)
                os.chmod(self.path(name), 0o644)
        return done
