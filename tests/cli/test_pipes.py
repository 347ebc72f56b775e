"""Pipes whose reader takes its time, keeps what it takes, or goes away."""

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
PIPE_BYTES = 1 << 20
# Linux's fcntl, which Python names from 3.10 on.
F_SETPIPE_SZ = 1031
PR_SET_THP_DISABLE = 41


class Pipes(Case):
    def setUp(self):
        super().setUp()
        self.write("k", KEYS[256])
        # Many times what two pipes hold, and no chunk like another.
        self.data = pattern(24 << 20)

    def started(self, verb, data):
        """Starts a run that reads `data` from a pipe, and returns it with the end of its output."""
        end, its_end = os.pipe()
        run = self.start(verb, "-q", *KEY, stdin=-1, stdout=its_end)
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

    def kept(self, verb, data):
        """The output of a run, whose pages wait in other pipes until the run has ended."""
        run, end = self.started(verb, data)
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
        sealed = self.kept("encrypt", self.data)
        self.assertEqual(self.ok("decrypt", "-q", *KEY, stdin=sealed), self.data)
        self.assertEqual(self.kept("decrypt", sealed), self.data)

    def test_a_slow_reader_gets_everything(self):
        run, end = self.started("encrypt", self.data)
        sealed = bytearray()
        with open(end, "rb", buffering=0) as pipe:
            while piece := pipe.read(777_777):
                sealed += piece
                time.sleep(0.001)
        self.assertEqual(run.wait(), 0)
        run.stderr.close()
        self.assertEqual(self.ok("decrypt", "-q", *KEY, stdin=bytes(sealed)), self.data)

    def test_without_huge_pages_the_same_bytes_come(self):
        libc = ctypes.CDLL(None)

        def forbid_huge_pages():
            restore_signals()
            libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)

        with unittest.mock.patch("support.restore_signals", forbid_huge_pages):
            run, end = self.started("encrypt", self.data)
        with open(end, "rb") as pipe:
            sealed = pipe.read()
        self.assertEqual(run.wait(), 0)
        run.stderr.close()
        self.assertEqual(self.ok("decrypt", "-q", *KEY, stdin=sealed), self.data)

    def test_a_reader_that_goes_away_ends_the_run(self):
        for verb, data in (("encrypt", self.data),
                           ("decrypt", self.ok("encrypt", "-q", *KEY, stdin=self.data))):
            run, end = self.started(verb, data)
            os.read(end, 300_000)
            os.close(end)
            self.assertEqual(run.wait(), 141)
            run.stderr.close()

    def test_a_damaged_segment_lets_the_intact_ones_before_it_pass(self):
        sealed = bytearray(self.ok("encrypt", "-q", *KEY, stdin=self.data))
        sealed[len(sealed) // 2] ^= 1
        done = self.run_paraes("decrypt", "-q", *KEY, stdin=bytes(sealed))
        self.assertEqual(done.returncode, 4)
        self.assertGreater(len(done.stdout), len(self.data) // 2 - 65536)
        self.assertLess(len(done.stdout), len(self.data) // 2 + 65536)
        self.assertEqual(done.stdout, self.data[:len(done.stdout)])


if __name__ == "__main__":
    unittest.main()
