"""Readers and writers that stop: a run waits without spinning and without taking memory, goes on when
they do, and ends with a signal at once and without a trace."""

import os
import pathlib
import signal
import subprocess
import time

from faults import (
    BIN,
    KEY,
    MIB,
    FaultCase,
    NoTmpfile,
    environment,
    pattern,
    restore_signals,
    sanitized,
)
from trees import read_tree

WATCHED = 0.4  # seconds
LIMIT = 30
TICK = os.sysconf("SC_CLK_TCK")
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def cpu_seconds(process):
    """The time that the processor has worked for a process, for it and in the system."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def peak_mib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM:")).split()[1]) / 1024


class StoppedCase(FaultCase):
    RUNS = (("encrypt", "f"), ("decrypt", "g.paes"))

    def runs_and_signals(self):
        return zip(self.RUNS * 2, [*SIGNALS, signal.SIGINT], strict=True)

    def setUp(self):
        super().setUp()
        self.plain = pattern(24 * MIB + 100)
        self.write("f", self.plain)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")
        self.write("old", b"precious")
        self.before = read_tree(self.dir)

    def popen(self, *command, **kwargs):
        process = subprocess.Popen(
            command, cwd=self.dir, env=environment(**self.env), preexec_fn=restore_signals, **kwargs
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def check_idle(self, process):
        """Checks that a run that cannot go on does nothing, in little memory."""
        last = -1.0
        end = time.monotonic() + LIMIT
        while cpu_seconds(process) != last:  # until it has done what it can
            self.assertLess(time.monotonic(), end, "it never waits")
            last = cpu_seconds(process)
            time.sleep(0.1)
        time.sleep(WATCHED)
        self.assertIsNone(process.poll())
        self.assertLess(cpu_seconds(process) - last, WATCHED / 10, "it spins")
        if not sanitized():
            self.assertLess(peak_mib(process), 64)

    def check_signal(self, process, number):
        process.send_signal(number)
        begin = time.monotonic()
        self.assertEqual(process.wait(LIMIT), SIGNALS[number])
        self.assertLess(time.monotonic() - begin, LIMIT / 2)
        self.assertEqual(process.stderr.read() if process.stderr else b"", b"")
        self.assertTrue(read_tree(self.dir) == self.before, "a file was left or changed")


class StoppedReader(StoppedCase):
    def start_with_stopped_reader(self, verb, source, through_pipe):
        """Starts a run whose output goes to a stopped process, which would write it to `read`."""
        with open(self.path("read"), "wb") as read:
            reader = self.popen("cat", stdin=subprocess.PIPE, stdout=read)
        self.before = read_tree(self.dir)
        reader.send_signal(signal.SIGSTOP)
        stdin = self.popen("cat", source, stdout=subprocess.PIPE).stdout if through_pipe else None
        process = self.popen(BIN, verb, *KEY, "-c", "-" if through_pipe else source, stdin=stdin,
                             stdout=reader.stdin, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        reader.stdin.close()
        if stdin:
            stdin.close()
        return process, reader

    def test_run_waits_for_a_stopped_reader(self):
        for verb, source in self.RUNS:
            for through_pipe in (False, True):
                with self.subTest(verb=verb, through_pipe=through_pipe):
                    process, reader = self.start_with_stopped_reader(verb, source, through_pipe)
                    self.check_idle(process)
                    reader.send_signal(signal.SIGCONT)
                    self.assertEqual(process.wait(LIMIT), 0, process.stderr.read())
                    reader.wait(LIMIT)
                    read = self.read("read")
                    if verb == "encrypt":
                        read = self.ok("decrypt", *KEY, "-c", "-", stdin=read)
                    self.assertTrue(read == self.plain, "wrong bytes")

    def test_signal_ends_a_run_that_waits_for_a_stopped_reader(self):
        for (verb, source), number in self.runs_and_signals():
            with self.subTest(verb=verb, signal=number):
                process, _ = self.start_with_stopped_reader(verb, source, number == signal.SIGINT)
                self.check_idle(process)
                self.check_signal(process, number)

    def test_report_waits_for_a_stopped_reader(self):
        # Reports are larger than what a pipe holds.
        for i in range(400):
            self.write(f"t/{i:0200}", b"")
        self.ok("encrypt", "-q", "-r", *KEY, "--rm", "t")
        self.before = read_tree(self.dir)
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        process = self.popen(BIN, "verify", "-q", "-r", "--json", *KEY, "t", stdout=writing)
        os.close(writing)
        self.check_idle(process)
        self.check_signal(process, signal.SIGTERM)


class StoppedWriter(StoppedCase):
    def start_with_stopped_writer(self, verb, source, *flags):
        """Starts a run whose input comes from a process that stops after 3 MiB."""
        writer = self.popen("sh", "-c", 'head -c 3145728 "$0"; kill -STOP $$; tail -c +3145729 "$0"',
                            source, stdout=subprocess.PIPE)
        process = self.popen(BIN, verb, *KEY, *flags, "-", stdin=writer.stdout,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        writer.stdout.close()
        return process, writer

    def test_run_waits_for_a_stopped_writer(self):
        for verb, source in self.RUNS:
            with self.subTest(verb=verb):
                process, writer = self.start_with_stopped_writer(verb, source, "-o", "out")
                self.check_idle(process)
                self.assertFalse(self.path("out").exists())
                writer.send_signal(signal.SIGCONT)
                self.assertEqual(process.wait(LIMIT), 0, process.stderr.read())
                if verb == "encrypt":
                    self.check_opens("out", self.plain)
                else:
                    self.assertTrue(self.read("out") == self.plain)
                self.path("out").unlink()

    def test_signal_ends_a_run_that_waits_for_a_stopped_writer(self):
        for (verb, source), number in self.runs_and_signals():
            for flags in (["-o", "out"], ["-f", "-o", "old"], ["-c"]):
                with self.subTest(verb=verb, signal=number, flags=flags):
                    process, _ = self.start_with_stopped_writer(verb, source, *flags)
                    self.check_idle(process)
                    self.check_signal(process, number)


class StoppedWriterWithoutTmpfile(NoTmpfile, StoppedWriter):
    """Temporary files have names."""
