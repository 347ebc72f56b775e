"""What the tests of this folder share: a folder with files and keys, and the check of what a
program has in its memory."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

import allowed
import needles
import processes
from processes import Watched
from recipients import AGE, new_identity, split
from support import BIN, DEADLINE, environment

PLAIN_BYTES = (1 << 20) + 12_345  # more than a pipe holds
ITERATIONS = "1000"
LOG2N = "4"  # the table of scrypt is then in the heap


def setUpModule():
    processes.require_tracing()


class SearchedMemory:
    """Of test cases: check_looks() fails if a secret is where it should not be."""

    def tearDown(self):
        self.assertEqual(allowed.stale(self.id()), [], "entries of allowed.py that nothing hits")

    def check_looks(self, looks, secrets):
        """At work, secrets are in locked memory alone; later there are none in any memory. `looks`:
        whose memory, when, and a snapshot of it."""
        wrong = []
        for whose, time, memory in looks:
            hits = memory.hits(secrets)
            if time == "at work":
                self.assertIn("locked", {hit.place for hit in hits}, f"{whose}: the search found "
                              "no secret in locked memory: does it look for the right ones?")
            wrong += [f"{whose}, {time}: {hit}"
                      for hit in allowed.wrong_places(self.id(), time, hits)]
        if wrong:
            self.fail(f"{len(wrong)} places:\n" + "\n".join(wrong[:40]))


class SecretsCase(SearchedMemory, unittest.TestCase):

    program = (BIN,)

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="paraes-secrets-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.key = needles.random_key(32, self.id())
        self.passphrase = needles.random_passphrase(self.id())
        self.plain = os.urandom(PLAIN_BYTES)
        self.write("k", self.key)
        self.write("pass", self.passphrase + b"\n")
        self.write("plain", self.plain)

    def write(self, name, data):
        path = self.dir / name
        path.write_bytes(data)
        path.chmod(0o600)
        return path

    def read(self, name):
        return (self.dir / name).read_bytes()

    def ok(self, *args, stdin=b"", env=None):
        done = subprocess.run([*self.program, *map(str, args)], cwd=self.dir, input=stdin,
                              env=environment(**(env or {})), capture_output=True,
                              timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def watch(self, *args, **kwargs):
        watched = Watched([*self.program, *args], self.dir, **kwargs)
        self.addCleanup(watched.close)
        return watched

    def finish(self, watched, resume=lambda: None):
        watched.finish(resume)
        self.assertEqual(watched.process.returncode, 0, watched.errors)

    def blocked_on_output(self, *args, **kwargs):
        """A run that waits because nobody reads its standard output."""
        watched = self.watch(*args, **kwargs)
        watched.look("at work")
        self.finish(watched)
        return watched

    def blocked_on_input(self, data, *args, **kwargs):
        """A run that waits for the second half of its standard input."""
        watched = self.watch(*args, stdin=subprocess.PIPE, **kwargs)
        pipe = watched.process.stdin
        half = len(data) // 2
        pipe.write(data[:half])
        pipe.flush()
        watched.look("at work")

        def write_the_rest():
            with pipe:
                pipe.write(data[half:])

        self.finish(watched, threading.Thread(target=write_the_rest).start)
        return watched

    def used_and_closed(self, times, *args, **kwargs):
        """A run that stops itself (SIGSTOP) at its work and, when that is over, waits for SIGUSR1.
        `times`: the names of the two moments. At the second one all threads sleep."""
        watched = self.watch(*args, **kwargs)
        watched.look(times[0], state="T")
        os.kill(watched.pid, signal.SIGCONT)
        watched.look(times[1])
        self.finish(watched, lambda: os.kill(watched.pid, signal.SIGUSR1))
        return watched

    def stopped_at_write(self, number, *args, env=None, **kwargs):
        """A run that stops itself at a write to a file."""
        env = {"LD_PRELOAD": processes.STOP_AT_WRITE, "PARAES_STOP_AT": str(number), **(env or {})}
        watched = self.watch(*args, env=env, **kwargs)
        watched.look("at work", state="T")
        self.finish(watched, lambda: os.kill(watched.pid, signal.SIGCONT))
        return watched

    def new_identity(self, name):
        """Makes an identity file of age. Returns its recipient, and the private key without the
        words with which all begin."""
        public = new_identity(self.dir / name)
        private = self.read(name).split()[-1]
        return public, private.removeprefix(b"AGE-SECRET-KEY-1")

    def run_key(self, sealed, identity):
        """The run key of a file for recipients, as age opens it."""
        _, age_file, _, _ = split(sealed)
        return subprocess.run([AGE, "-d", "-i", self.dir / identity], input=age_file, check=True,
                              capture_output=True, timeout=DEADLINE).stdout

    def check(self, watched, secrets):
        self.check_looks([("the run", *look) for look in watched.looks.items()], secrets)
