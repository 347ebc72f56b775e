"""Failing system calls of encrypt and decrypt: a run reports the error and leaves no output, or goes on
where that is correct. `tests/run long` fails every call."""

import shutil
import unittest

from faults import KEY, MIB, SMALL, FaultCase, NoTmpfile, Strace, pattern, preloaded, strace_reason
from injection import ERRORS, InjectCase
from trees import RAW, sample


class WithTmpfile(InjectCase):
    """Temporary files without names (O_TMPFILE). One thread makes all calls, so that their
    numbers are exact."""

    FORMAT = []

    def test_encrypt_and_decrypt_handle_every_failing_call(self):
        jobs = self.file_jobs(*KEY, *self.FORMAT)
        for name in ("encrypt", "encrypt -f --rm", "decrypt --rm", "decrypt -f"):
            self.inject(name, jobs[name])

    def test_files_of_a_folder_handle_every_failing_call(self):
        jobs = self.folder_jobs(*self.FORMAT)
        for name in ("encrypt -r --rm", "decrypt -r"):
            self.inject(name, jobs[name], marker='"t"')

    def test_disk_that_cannot_write_ends_the_run_before_it_is_complete(self):
        # Two windows of 4 MiB, and a part of one that is left to fsync.
        self.write("big", pattern(9 * MIB))
        args = ["encrypt", *KEY, *self.FORMAT, "-T", "1", "--rm", "big"]
        names = self.names()
        for number in (1, 2):
            for error in ("EIO", "ENOSPC", "EDQUOT"):
                with self.subTest(error=error, when=number):
                    inject = [f"sync_file_range:error={error}:when={number}"]
                    run = Strace(self, *args, env=self.env, inject=inject)
                    self.assertEqual((run.done.returncode, run.injected), (1, 1))
                    self.assertRegex(run.done.stderr, b"^paraes: big.paes: cannot write it: ")
                    self.assertNotIn("fsync(", run.text)
                    self.assertEqual(self.names(), names)

    def test_file_system_that_writes_only_when_synced_is_no_failure(self):
        plain = pattern(9 * MIB)
        for error in ("EINVAL", "ENOSYS", "EPERM", "ESPIPE"):
            self.write("big", plain)
            run = Strace(self, "encrypt", *KEY, *self.FORMAT, "--rm", "big", env=self.env,
                         inject=[f"sync_file_range:error={error}"])
            self.assertEqual((run.done.returncode, run.done.stderr), (0, b""), error)
            self.assertEqual(run.injected, 2)
            self.check_opens("big.paes", plain, *self.FORMAT)
            self.path("big.paes").unlink()

    def test_proc_links_a_file_where_its_descriptor_must_not(self):
        # As Linux before 6.10 refuses AT_EMPTY_PATH without CAP_DAC_READ_SEARCH.
        self.write("f", SMALL)
        run = Strace(self, "encrypt", *KEY, *self.FORMAT, "f",
                     inject=["linkat:error=ENOENT:when=1"])
        self.assertEqual((run.done.returncode, run.done.stderr), (0, b""))
        self.assertEqual(run.injected, 1)
        self.assertIn('"/proc/self/fd/', run.text)
        self.check_opens("f.paes", SMALL, *self.FORMAT)


class Unauthenticated(WithTmpfile):
    """Repeats these tests with `--format raw`, which is written by a loop of its own."""

    FORMAT = RAW


class WithoutTmpfile(NoTmpfile, WithTmpfile):
    """Temporary files have names."""

    test_proc_links_a_file_where_its_descriptor_must_not = None

    def test_encrypt_without_rename_noreplace_handles_every_failing_call(self):
        job = self.file_jobs(*KEY)["encrypt"]
        for also in (["renameat2:error=ENOSYS"], ["renameat2:error=EINVAL", "linkat:error=EPERM"]):
            self.inject(f"encrypt, {also}", job, also=also)


@unittest.skipIf(strace_reason(), strace_reason())
class StandardStreams(FaultCase):
    """Failing calls between standard input and standard output."""

    def test_encrypt_and_decrypt_handle_every_failing_call(self):
        sealed = self.ok("encrypt", *KEY, "-c", "-", stdin=SMALL)
        for verb, data in (("encrypt", SMALL), ("decrypt", sealed)):
            args = [verb, *KEY, "-T", "1", "-c", "-"]
            # Duplicating its descriptor is the first call that concerns standard input.
            calls = Strace(self, *args, stdin=data).calls_from("F_DUPFD_CLOEXEC")
            faults = [(call, error, number) for call, number in calls
                      if call in ("read", "write", "poll", "close", "fcntl", "eventfd2")
                      for error in ERRORS[call]]
            self.assertGreater(len(faults), 10)
            for call, error, number in sample(faults, 12, verb):
                with self.subTest(verb=verb, call=call, error=error, when=number):
                    run = Strace(self, *args, stdin=data,
                                 inject=[f"{call}:error={error}:when={number}"])
                    self.check(verb, call, error, run.done)

    def check(self, verb, call, error, done):
        text = done.stderr.decode()
        self.assertIn(done.returncode, (0, 1), text)
        if done.returncode == 0:
            self.assertEqual(text, "")
            if verb == "decrypt":
                self.assertTrue(done.stdout == SMALL, "output")
            else:
                self.assertTrue(self.ok("decrypt", *KEY, "-c", "-", stdin=done.stdout) == SMALL)
        elif call == "write" and not text:
            # The error message could not be written.
            self.assertNotEqual(error, "EINTR")
        else:
            self.assertNotEqual(error, "EINTR", text)
            self.assertEqual(len(text.splitlines()), 1, text)
            self.assertRegex(text, "standard (input|output)|key file|k:")
            if verb == "decrypt":
                self.assertTrue(SMALL.startswith(done.stdout))
        self.assertEqual(self.names(), ["k"])


@unittest.skipIf(strace_reason(), strace_reason())
class GivenPages(FaultCase):
    """Runs that give their pages to a pipe (vmsplice), as they do with huge pages."""

    FLAGS = [*KEY, "-T", "1", "-c", "-"]
    REFUSALS = [f"vmsplice:error={error}{when}" for error in ("ENOSYS", "EPERM", "EINVAL", "ENOMEM")
                for when in ("", ":when=2")]
    INTERRUPTIONS = ["vmsplice:error=EAGAIN:when=2", "vmsplice:error=EINTR:when=2"]
    # The fault, the status, and what is on standard error.
    FAILURES = [(f"vmsplice:error={error}:when={when}", status, says) for when in (1, 2)
                for error, status, says in (("EIO", 1, rb"\Aparaes: standard output: [^\n]*\n\Z"),
                                            ("EPIPE", 141, rb"\A\Z"))]

    def setUp(self):
        super().setUp()
        self.plain = pattern(9 * MIB + 100)
        # Each with its input, and with its output where that is always the same.
        self.runs = []
        for flags in ([], RAW):
            sealed = self.ok("encrypt", *flags, *KEY, "-c", "-", stdin=self.plain)
            self.runs += [(["encrypt", *flags], self.plain, sealed if flags else None),
                          (["decrypt", *flags], sealed, self.plain)]
        if not any("vmsplice(" in Strace(self, *args, *self.FLAGS, stdin=data).text
                   for args, data, _ in self.runs):
            self.skipTest("this system gives no huge pages")

    def run_with(self, args, data, *inject):
        for _ in range(5):
            run = Strace(self, *args, *self.FLAGS, stdin=data, inject=inject)
            if run.injected:
                break  # else the system had no huge pages for this run
        return run

    def test_refused_pages_are_written(self):
        for args, data, expected in self.runs:
            for fault in [*self.REFUSALS, *self.INTERRUPTIONS]:
                with self.subTest(args=args, fault=fault):
                    run = self.run_with(args, data, fault)
                    self.assertEqual((run.done.returncode, run.done.stderr), (0, b""))
                    self.assertGreater(run.injected, 0)
                    if expected is None:
                        opened = self.ok("decrypt", *KEY, "-c", "-", stdin=run.done.stdout)
                        self.assertTrue(opened == data, "wrong bytes")
                    else:
                        self.assertTrue(run.done.stdout == expected, "wrong bytes")

    def test_errors_end_the_run_after_right_bytes(self):
        for args, data, expected in self.runs:
            for fault, status, says in self.FAILURES:
                with self.subTest(args=args, fault=fault):
                    run = self.run_with(args, data, fault)
                    self.assertEqual(run.done.returncode, status)
                    self.assertRegex(run.done.stderr, says)
                    self.assertEqual(run.injected, 1)
                    made = run.done.stdout
                    if expected is None:
                        made = self.fails(4, "decrypt", *KEY, "-c", "-", stdin=made).stdout
                        self.assertTrue(data.startswith(made), "wrong bytes")
                    else:
                        self.assertLess(len(made), len(expected))
                        self.assertTrue(expected.startswith(made), "wrong bytes")


@unittest.skipIf(strace_reason(), strace_reason())
class PartsOfOneFile(FaultCase):
    """Processes that each write a part of one output, as those of a cluster do."""

    def seal(self, *inject):
        tool = self.named_by("PARAES_SEAL_PARTS")
        # The second of two parts: one whole window of 4 MiB, and parts of its neighbours.
        return Strace(self, "k", 18 * MIB, "out", 2, 1, program=tool, inject=inject)

    def test_disk_writes_while_the_rest_is_computed(self):
        run = self.seal()
        self.assertEqual((run.done.returncode, run.done.stderr), (0, b""))
        before, after = run.text.split("fsync(")
        self.assertEqual(before.count("sync_file_range("), 1)
        self.assertNotIn("sync_file_range(", after)

    def test_disk_that_cannot_write_ends_the_process(self):
        for error in ("EIO", "ENOSPC", "EDQUOT"):
            with self.subTest(error=error):
                run = self.seal(f"sync_file_range:error={error}")
                self.assertEqual((run.done.returncode, run.injected > 0), (2, True))
                self.assertIn(b"out: cannot write it: ", run.done.stderr)
                self.assertNotIn("fsync(", run.text)


@unittest.skipIf(strace_reason(), strace_reason())
class Programs(FaultCase):
    """GPU programs from `devices --compile`, which a stand-in for NVRTC compiles."""

    def setUp(self):
        super().setUp()
        shutil.copy(self.named_by("PARAES_FAKE_NVRTC"), self.path("libnvrtc.so"))
        self.write("libnvrtc.so.says", b"version 1 2\ntargets 90\n")
        self.nvrtc = {"PARAES_NVRTC": str(self.path("libnvrtc.so"))}

    def compile(self, *inject, status, env=None):
        return Strace(self, "devices", "--compile", "--arch", "sm_90", "--kernel", "bitslice",
                      "-o", "p", inject=inject, env={**self.nvrtc, **(env or {})}, status=status)

    def files(self):
        return [file.name for file in self.path("p").iterdir()]

    def test_programs_and_their_folders_are_synced(self):
        run = self.compile(status=0)
        self.assertEqual(len(self.files()), 1)
        # The folder that was made, the file, and its folder.
        self.assertEqual(run.text.count("fsync("), 3)

    def test_failures_leave_no_file(self):
        self.path("p").mkdir()
        for fault in ("fsync:error=EIO:when=1", "pwrite64:error=ENOSPC", "linkat:error=EIO"):
            run = self.compile(fault, status=1)
            self.assertGreater(run.injected, 0, fault)
            self.assertEqual(self.files(), [], fault)

    def test_signal_leaves_no_temporary_file(self):
        self.path("p").mkdir()
        run = self.compile("fsync:signal=TERM:when=1", env=preloaded("PARAES_NO_TMPFILE"), status=143)
        self.assertIn(".paraes-tmp", run.text)
        self.assertIn("SIGTERM", run.text)
        self.assertEqual(self.files(), [])


class ShortCalls(FaultCase):
    """Reads and writes that move a few bytes, or are interrupted by a signal."""

    def test_short_reads_and_writes_do_not_change_the_output(self):
        short = preloaded("PARAES_SHORT_IO")
        plain = pattern(20 * 16384 + 100)
        self.write("f", plain)
        sealed = self.ok("encrypt", *KEY, "-c", "f")
        for seed in ("1", "2", "3"):
            env = {**short, "PARAES_SHORT_IO_SEED": seed}
            for threads in ("1", "0"):
                with self.subTest(seed=seed, threads=threads):
                    flags = [*KEY, "-T", threads]
                    self.ok("encrypt", *flags, "-f", "-o", "a.paes", "f", env=env)
                    self.check_opens("a.paes", plain)
                    self.ok("verify", *flags, "a.paes", env=env)
                    self.ok("decrypt", *flags, "-f", "-o", "a", "a.paes", env=env)
                    self.assertTrue(self.read("a") == plain, "file to file")
                    out = self.ok("decrypt", *flags, "-c", "-", env=env, stdin=sealed)
                    self.assertTrue(out == plain, "pipe to pipe")
                    out = self.ok("encrypt", *flags, "-", env=env, stdin=plain)
                    self.assertTrue(self.ok("decrypt", *KEY, "-", stdin=out) == plain, "pipes")
                    out = self.fails(4, "decrypt", *flags, "-", env=env, stdin=sealed[:-1]).stdout
                    self.assertTrue(plain[:20 * 16384] == out, "cut")

    def test_preloaded_library_shortens_reads_and_writes(self):
        # Otherwise the test above would prove nothing.
        short = preloaded("PARAES_SHORT_IO")
        if strace_reason():
            self.skipTest(strace_reason())
        self.write("f", SMALL)
        run = Strace(self, "encrypt", *KEY, "-T", "1", "f", env=short, status=0)
        self.assertGreater(run.text.count("pwrite64("), len(SMALL) // 200)
        self.assertGreater(run.text.count("pread64("), len(SMALL) // 200)
