"""Signals leave no files behind, and the exit status tells which signal ended the run."""

import os
import signal
import subprocess

from support import DEADLINE, IV, KEYS, Case, pattern

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex(), "--key-file", "k"]


class Signals(Case):
    GIVEN = {"k": KEYS[256]}

    def started(self, *flags, data=pattern(9 << 20), **kwargs):
        """Starts a run that has read `data`, has a temporary file and waits for more input."""
        process = self.start("encrypt", *CTR, *flags, "-", stdin=subprocess.PIPE, **kwargs)
        self.wait_for(lambda: self.temporaries(process), "a temporary")
        if data:
            process.stdin.write(data)
            process.stdin.flush()
            self.wait_for(lambda: self.temporaries(process)[0].stat().st_size > 0, "output")
        return process

    def test_signal_ends_a_run_that_has_no_data_and_removes_its_temporary(self):
        # tests/faults sends signals to runs with some output, and with an old target.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                process = self.started("-o", "g", data=b"")
                process.send_signal(number)
                self.assertEqual(process.wait(DEADLINE), 128 + number)
                self.assertEqual(process.stderr.read(), b"")
                self.assertEqual(self.names(), ["k"])

    def test_ignored_sigint_stays_ignored(self):
        def ignore():
            signal.signal(signal.SIGINT, signal.SIG_IGN)

        process = self.started("-o", "g", data=b"", preexec_fn=ignore)
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE), 0)
        self.assertEqual(self.names(), ["g", "k"])

    def test_sigusr1_prints_progress_and_the_run_continues(self):
        data = pattern(9 << 20)
        for flags in ([], ["-q"]):
            process = self.started("-f", *flags, "-o", "g", data=data)
            process.send_signal(signal.SIGUSR1)
            line = process.stderr.readline()
            self.assertRegex(line, rb"\Aparaes: [0-9.]+ MB in [0-9.]+ s, [0-9.]+ [kMG]B/s\n\Z")
            process.stdin.close()
            self.assertEqual(process.wait(DEADLINE), 0)
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(self.path("g").stat().st_size, len(data))

    def test_sigusr1_does_not_end_a_run_without_a_reader_of_standard_error(self):
        process = self.started("-o", "g")
        process.stderr.close()
        process.send_signal(signal.SIGUSR1)
        process.stdin.write(b"more")
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE), 0)
        self.assertEqual(self.path("g").stat().st_size, (9 << 20) + 4)

    def test_sigusr1_does_not_stop_a_run_whose_standard_error_is_full(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        os.set_blocking(writing, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writing, bytes(4096))
        os.set_blocking(writing, True)
        process = self.started("-o", "g", data=b"", stderr=writing)
        os.close(writing)
        process.send_signal(signal.SIGUSR1)
        process.stdin.write(b"text")
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE), 0)
