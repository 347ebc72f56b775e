"""Runs programs, and looks into their memory at work and at their end."""

import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

import ptrace
from memory import Snapshot
from support import DEADLINE, environment, restore_signals

STOP_AT_WRITE = os.environ["PARAES_STOP_AT_WRITE"]
QUIET = 0.02  # seconds without any progress


def require_tracing():
    if sys.platform != "linux":
        raise unittest.SkipTest("reads /proc, which is Linux's")
    if reason := ptrace.may_trace():
        raise unittest.SkipTest(f"this system does not let a process trace its child: {reason}")


def _threads(process):
    """The state of each thread, and how long it has run."""
    found = {}
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        try:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            ran = (task / "schedstat").read_text().split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[task.name] = (fields[0], ran)
    return found


class Watched:
    """A running program. When it has ended, `output` and `errors` are what it wrote."""

    def __init__(self, command, folder, env=None, stdin=subprocess.DEVNULL,
                 stdout=subprocess.PIPE, **kwargs):
        self.process = subprocess.Popen(
            [*map(str, command)], cwd=folder, env=environment(**(env or {})), stdin=stdin,
            stdout=stdout, stderr=subprocess.PIPE, preexec_fn=restore_signals, **kwargs)
        self.pid = self.process.pid
        self.output = b""
        self.errors = b""
        self.looks = {}  # snapshots by name, in order

    def wait_until_still(self, state=None):
        """Until every thread waits, or until the process is stopped (`state` T)."""
        until = time.monotonic() + DEADLINE
        last = None
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"it has ended early: {self.process.stderr.read().decode()}")
            if time.monotonic() > until:
                raise TimeoutError(f"it does not stand still: {_threads(self.pid)}")
            now = _threads(self.pid)
            states = {thread[0] for thread in now.values()}
            if states == {state or "S"} and now == last:
                return
            last = now
            time.sleep(QUIET)

    def look(self, name, state=None):
        self.wait_until_still(state)
        self.looks[name] = Snapshot(self.pid)

    def finish(self, resume=lambda: None):
        """Goes on after `resume()`, and looks again at the end."""
        readers = [threading.Thread(target=self._drain, args=("output", self.process.stdout)),
                   threading.Thread(target=self._drain, args=("errors", self.process.stderr))]
        watch = ptrace.EndWatch(self.pid)
        for reader in readers:
            reader.start()
        try:
            resume()
            watch.run_to_end(DEADLINE)
            self.looks["at the end"] = Snapshot(self.pid)
        except BaseException:
            watch.kill()
            raise
        watch.let_go()
        for reader in readers:
            reader.join()
        self.process.wait(DEADLINE)

    def _drain(self, name, stream):
        setattr(self, name, stream.read())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
