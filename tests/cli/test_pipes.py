"""Pipes whose reader takes its time, keeps what it takes, or goes away."""

import contextlib
import ctypes
import fcntl
import os
import select
import threading
import time
import unittest
import unittest.mock

from support import KEYS, Case, pattern, restore_signals

KEY = ["-k", "k"]
# What is not authenticated goes through another part of the program.
RAW = ["--format", "raw", "--mode", "ctr", "--iv-hex", "00" * 16, *KEY]
RAW_CBC = ["--format", "raw", "--mode", "cbc", "--iv-hex", "00" * 16, *KEY]
OPENSSL = ["--format", "openssl", "--passphrase-file", "p"]
PIPE_BYTES = 1 << 20
# Linux's fcntl, which Python names from 3.10 on.
F_SETPIPE_SZ = 1031
PR_SET_THP_DISABLE = 41


class Pipes(Case):
    def setUp(self):
        super().setUp()
        self.write("k", KEYS[256])
        self.write("p", b"secret")
        # Many times what two pipes hold, and no chunk like another.
        self.data = pattern(24 << 20)

    def started(self, verb, data, flags=KEY):
        """Starts a run that reads `data` from a pipe, and returns it with the end of its output."""
        end, its_end = os.pipe()
        run = self.start(verb, "-q", *flags, stdin=-1, stdout=its_end)
        os.close(its_end)

        def feed():
            try:
                run.stdin.write(data)
            except BrokenPipeError:
                pass
            try:
                run.stdin.close()
            except BrokenPipeError:
                pass  # what it still held

        feeder = threading.Thread(target=feed)
        feeder.start()
        self.addCleanup(feeder.join)
        return run, end

    def kept(self, verb, data, flags):
        """The output of a run, whose pages wait in other pipes until the run has ended."""
        run, end = self.started(verb, data, flags)
        pipes = []
        moved = None
        while moved != 0:
            select.select([end], [], [])  # data, or the end of the run
            try:
                moved = os.splice(end, pipes[-1][1], PIPE_BYTES) if pipes else None
            except BlockingIOError:
                moved = None  # that pipe is full
            if moved is None:
                pipes.append(os.pipe())
                fcntl.fcntl(pipes[-1][1], F_SETPIPE_SZ, PIPE_BYTES)
                # Splice then takes what there is room for, and does not wait for more.
                os.set_blocking(pipes[-1][1], False)
        os.close(end)
        self.assertEqual(run.wait(), 0)
        run.stderr.close()
        text = bytearray()
        for pipe_end, pipe in pipes:
            os.close(pipe)
            with open(pipe_end, "rb") as file:
                text += file.read()
        return bytes(text)

    @unittest.skipUnless(hasattr(os, "splice"), "Python has os.splice from 3.10 on")
    def test_a_reader_that_keeps_pages_keeps_their_bytes(self):
        for flags in KEY, RAW, RAW_CBC, OPENSSL:
            with self.subTest(flags):
                sealed = self.kept("encrypt", self.data, flags)
                self.assertEqual(self.ok("decrypt", "-q", *flags, stdin=sealed), self.data)
                self.assertEqual(self.kept("decrypt", sealed, flags), self.data)

    def check_sealed(self, flags, read):
        """Checks the output of a run, which read(file) reads."""
        run, end = self.started("encrypt", self.data, flags)
        with open(end, "rb", buffering=0) as pipe:
            sealed = read(pipe)
        self.assertEqual(run.wait(), 0)
        run.stderr.close()
        self.assertEqual(self.ok("decrypt", "-q", *flags, stdin=sealed), self.data)

    def test_a_slow_reader_gets_everything(self):
        def slowly(pipe):
            sealed = bytearray()
            while piece := pipe.read(777_777):
                sealed += piece
                time.sleep(0.001)
            return bytes(sealed)

        for flags in KEY, RAW:
            self.check_sealed(flags, slowly)

    def test_without_huge_pages_the_same_bytes_come(self):
        libc = ctypes.CDLL(None)

        def forbid_huge_pages():
            restore_signals()
            libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)

        with unittest.mock.patch("support.restore_signals", forbid_huge_pages):
            for flags in KEY, RAW:
                self.check_sealed(flags, lambda pipe: pipe.readall())

    def test_a_reader_that_goes_away_ends_the_run_while_the_input_is_silent(self):
        for flags in KEY, RAW, OPENSSL:
            end, its_end = os.pipe()
            run = self.start("encrypt", "-q", *flags, stdin=-1, stdout=its_end)
            os.close(its_end)
            os.close(end)
            # The input stays open: for all that the run knows, more may come.
            with contextlib.suppress(BrokenPipeError):
                run.stdin.write(self.data[:4 << 20])
                run.stdin.flush()
            self.assertEqual(run.wait(timeout=60), 141)
            with contextlib.suppress(BrokenPipeError):
                run.stdin.close()
            run.stderr.close()

    def test_a_damaged_segment_lets_the_intact_ones_before_it_pass(self):
        sealed = bytearray(self.ok("encrypt", "-q", *KEY, stdin=self.data))
        sealed[len(sealed) // 2] ^= 1
        done = self.exits(4, "decrypt", "-q", *KEY, stdin=bytes(sealed))
        self.assertGreater(len(done.stdout), len(self.data) // 2 - 65536)
        self.assertLess(len(done.stdout), len(self.data) // 2 + 65536)
        self.assertEqual(done.stdout, self.data[:len(done.stdout)])
