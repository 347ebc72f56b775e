"""Signals leave no files behind, and the exit status tells which signal ended the run."""

import os
import signal
import subprocess

from support import DEADLINE, IV, KEYS, Case, Terminal, pattern

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex(), "--key-file", "k"]


class Signals(Case):
    def setUp(self):
        super().setUp()
        self.write("k", KEYS[256])

    def started(self, *flags, data=pattern(9 << 20)):
        """Starts a run that has read `data`, has a temporary file and waits for more input."""
        process = self.start("encrypt", *CTR, *flags, "-", stdin=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdin.close)
        self.wait_for(lambda: self.temporaries(process), "a temporary")
        if data:
            process.stdin.write(data)
            process.stdin.flush()
            self.wait_for(lambda: self.temporaries(process)[0].stat().st_size > 0, "output")
        return process

    def test_signal_ends_the_run_and_removes_its_temporary(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            for data in (b"", pattern(9 << 20)):
                with self.subTest(signal=number, bytes=len(data)):
                    process = self.started("-o", "g", data=data)
                    process.send_signal(number)
                    self.assertEqual(process.wait(DEADLINE), status)
                    self.assertEqual(process.stderr.read(), b"")
                    self.assertEqual(self.names(), ["k"])

    def test_signal_leaves_an_existing_output_unchanged(self):
        self.write("g", b"precious")
        process = self.started("-f", "-o", "g")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(DEADLINE), 143)
        self.assertEqual(self.names(), ["g", "k"])
        self.assertEqual(self.read("g"), b"precious")

    def test_ignored_sigint_stays_ignored(self):
        def ignore():
            signal.signal(signal.SIGINT, signal.SIG_IGN)

        from support import BIN, environment
        process = subprocess.Popen([BIN, "encrypt", *CTR, "-o", "g", "-"], cwd=self.dir,
                                   env=environment(), stdin=subprocess.PIPE, preexec_fn=ignore)
        self.addCleanup(process.kill)
        self.wait_for(lambda: self.temporaries(process), "a temporary")
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE), 0)
        self.assertEqual(self.names(), ["g", "k"])

    def test_sigusr1_prints_progress_and_the_run_continues(self):
        data = pattern(9 << 20)
        process = self.started("-o", "g", data=data)
        process.send_signal(signal.SIGUSR1)
        line = process.stderr.readline()
        self.assertRegex(line, rb"\Aparaes: \d+ bytes in \d+ s, \d+ MB/s\n\Z")
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE), 0)
        self.assertEqual(self.path("g").stat().st_size, len(data))

    def test_sigusr1_prints_the_total_size_of_a_file(self):
        self.write("f", pattern(9 << 20))
        os.mkfifo(self.path("pipe"))
        process = self.start("encrypt", *CTR, "-f", "-o", "pipe", "f")
        self.addCleanup(process.stderr.close)
        with open(self.path("pipe"), "rb") as pipe:
            pipe.read(4 << 20)
            process.send_signal(signal.SIGUSR1)
            self.assertRegex(process.stderr.readline(), rb"paraes: \d+ of 9437184 bytes in")
            pipe.read()
        self.assertEqual(process.wait(DEADLINE), 0)

    def test_signal_at_a_prompt_restores_the_echo(self):
        self.write("f", b"x")
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            terminal = Terminal(self, "encrypt", "--format", "openssl", "f")
            terminal.expect(b"Passphrase: ")
            self.assertFalse(terminal.echoes())
            terminal.process.send_signal(number)
            self.assertEqual(terminal.finish()[0], status)
            self.assertTrue(terminal.echoes())
        self.assertEqual(self.names(), ["f", "k"])
