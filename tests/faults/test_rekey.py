"""rekey under faults: the file is the old one or the new one, always whole, and nothing is left."""

import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

from faults import (
    BIN,
    KEYS,
    MIB,
    SMALL,
    FaultCase,
    Strace,
    environment,
    pattern,
    preloaded,
    sanitized,
    strace_reason,
)
from recipients import RecipientsCase
from support import LONG

OLD_KEY, NEW_KEY = ["-k", "k"], ["-k", "k2"]
KILLS = 100 if LONG else 12
TIME = 1234567890123456789
MODE = 0o640
CHANGING = {"openat", "write", "pwrite64", "fchmod", "fchown", "utimensat", "fsync", "close", "flock",
            "linkat", "renameat", "renameat2", "unlinkat", "copy_file_range", "exit_group"}
ERRORS = {"pread64": ("EIO", "EINTR"), "pwrite64": ("ENOSPC", "EIO", "EINTR"), "fsync": ("EIO",),
          "fchmod": ("EIO",), "utimensat": ("EIO",), "linkat": ("EIO",), "renameat": ("EIO", "ENOSPC"),
          "openat": ("EMFILE", "EACCES"), "newfstatat": ("EIO",), "flock": ("ENOLCK", "EAGAIN"),
          "close": ("EIO",), "fcntl": ("EMFILE",)}


class RekeyFaults(FaultCase):
    def setUp(self):
        super().setUp()
        self.write("k2", KEYS[128])

    def prepare(self, plain):
        self.plain = plain
        self.write("f", plain)
        self.ok("encrypt", *OLD_KEY, "-o", "f.paes", "f")
        self.path("f").unlink()
        self.sealed = self.read("f.paes")
        self.restore()

    def restore(self):
        for name in set(self.names()) - {"k", "k2", "f.paes"}:
            self.path(name).unlink()
        self.write("f.paes", self.sealed)
        self.path("f.paes").chmod(MODE)
        os.utime(self.path("f.paes"), ns=(TIME, TIME))

    def check(self):
        """Checks that the file is old or new, and whole; returns whether it is new."""
        if self.read("f.paes") == self.sealed:
            return False
        self.assertTrue(self.ok("decrypt", *NEW_KEY, "-c", "f.paes") == self.plain)
        status = self.path("f.paes").stat()
        self.assertEqual((stat.S_IMODE(status.st_mode), status.st_mtime_ns), (MODE, TIME))
        return True

    args = ("rekey", *OLD_KEY, "--to-key-file", "k2", "-T", "1", "f.paes")

    def strace(self, *inject):
        self.restore()
        return Strace(self, *self.args, env=self.env, inject=inject)

    def test_kill_at_every_call(self):
        if strace_reason():
            self.skipTest(strace_reason())
        self.prepare(SMALL)
        whole = self.strace()
        self.assertEqual(whole.done.returncode, 0, whole.done.stderr)
        states = []
        for name, number in whole.calls_from('"f.paes"'):
            if name not in CHANGING:
                continue
            with self.subTest(call=name, number=number):
                done = self.strace(f"{name}:signal=KILL:when={number}")
                self.assertTrue(done.killed, "the call was not made this time")
                states.append(self.check())
                # The next run removes what the killed one has left.
                key, new = (NEW_KEY, "k") if states[-1] else (OLD_KEY, "k2")
                self.ok("rekey", *key, "--to-key-file", new, "f.paes")
                self.assertEqual(self.left_over(), [])
        self.assertEqual(states, sorted(states))
        self.assertEqual(set(states), {False, True})

    def test_every_failing_call(self):
        if strace_reason():
            self.skipTest(strace_reason())
        self.prepare(SMALL)
        first = {}
        for name, number in self.strace().calls_from('"f.paes"'):
            first.setdefault(name, number)
        injections = 0
        for call, errors in ERRORS.items():
            for error in errors if call in first else ():
                number = first[call]
                while True:
                    with self.subTest(call=call, error=error, when=number):
                        run = self.strace(f"{call}:error={error}:when={number}")
                        if run.injected == 0:
                            break
                        text = run.done.stderr.decode()
                        self.assertIn(run.done.returncode, (0, 1), text)
                        new = self.check()
                        if run.done.returncode == 0:
                            self.assertTrue(new, "status 0, and the file is old")
                        else:
                            self.assertEqual(len(text.splitlines()), 1, text)
                            if new:
                                self.assertRegex(text, "sync the folder")
                        self.assertEqual(self.left_over(), [])
                        self.assertEqual(set(self.names()), {"k", "k2", "f.paes"})
                    injections += 1
                    number += 1
        self.assertGreater(injections, 15)

    def test_kill_at_a_random_moment(self):
        self.prepare(pattern(48 * MIB + 100))
        start = time.monotonic()
        self.ok(*self.args)
        usual = time.monotonic() - start
        choose = random.Random(type(self).__name__)
        ends = {False: 0, True: 0}
        for _ in range(KILLS):
            self.restore()
            process = self.start(*self.args)
            time.sleep(usual * choose.uniform(0, 1.1))
            process.send_signal(signal.SIGKILL)
            process.wait()
            new = self.check()
            ends[new] += 1
            key, to = (NEW_KEY, "k") if new else (OLD_KEY, "k2")
            self.ok("rekey", *key, "--to-key-file", to, "f.paes")
            self.assertEqual(self.left_over(), [])
        print(f"\n{type(self).__name__}: old and new after a kill: {ends}", flush=True)


class RekeyWithoutTmpfile(RekeyFaults):
    """The same without O_TMPFILE."""

    @classmethod
    def setUpClass(cls):
        cls.env = preloaded("PARAES_NO_TMPFILE")


class Recipients(RecipientsCase, FaultCase):
    """The data is copied behind a new header."""

    def setUp(self):
        FaultCase.setUp(self)
        self.me = self.new_identity("me.txt")
        self.you = self.new_identity("you.txt")
        self.plain = pattern(20 * MIB + 77)
        self.write("f", self.plain)
        self.ok("encrypt", "--recipient", self.me, "f")
        self.sealed = self.read("f.paes")
        # One thread: strace counts the calls of each.
        self.args = ["rekey", "-q", "-T", "1", "-i", "me.txt", "--to-recipient", self.you, "f.paes"]

    def check_new(self):
        opened = self.ok("decrypt", "-i", "you.txt", "-c", "f.paes")
        self.assertTrue(opened == self.plain)

    def test_file_systems_that_cannot_copy(self):
        if strace_reason():
            self.skipTest(strace_reason())
        for error in ("ENOSYS", "EXDEV", "EINVAL", "EOPNOTSUPP", "EPERM", "EINTR"):
            # Each call fails, or all but the first two; after an interruption it is repeated.
            for when in ("1", "2") if error == "EINTR" else ("1+", "3+"):
                with self.subTest(error=error, when=when):
                    self.write("f.paes", self.sealed)
                    run = Strace(self, *self.args,
                                 inject=[f"copy_file_range:error={error}:when={when}"])
                    self.assertEqual(run.done.returncode, 0, run.done.stderr)
                    self.assertGreater(run.injected, 0)
                    self.check_new()

    def test_copy_that_fails(self):
        if strace_reason():
            self.skipTest(strace_reason())
        for error in ("EIO", "ENOSPC", "EDQUOT", "EFBIG"):
            for when in (1, 2):
                with self.subTest(error=error, when=when):
                    self.write("f.paes", self.sealed)
                    run = Strace(self, *self.args,
                                 inject=[f"copy_file_range:error={error}:when={when}"])
                    self.assertEqual(run.done.returncode, 1, run.done.stderr)
                    self.assertIn(b"f.paes: cannot write it", run.done.stderr)
                    self.assertTrue(self.read("f.paes") == self.sealed)
                    self.assertEqual(self.left_over(), [])

    def test_copy_that_copies_nothing(self):
        if strace_reason():
            self.skipTest(strace_reason())
        run = Strace(self, *self.args, inject=["copy_file_range:retval=0:when=1+"])
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        self.assertGreater(run.injected, 0)
        self.check_new()

    def test_full_disk(self):
        if shutil.which("unshare") is None or subprocess.run(
                ["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("mounting a tmpfs is not permitted")
        self.path("small").mkdir()
        script = """mount -t tmpfs -o size=30m tmpfs small && cp f.paes small/ || exit
            before=$(stat -f -c %f small)
            "$@"
            echo status=$?
            ls -A small
            cmp f.paes small/f.paes || echo changed
            test $before = $(stat -f -c %f small) || echo occupied"""
        for flags in ([], ["--new-key"], ["--verify"]):
            with self.subTest(flags=flags):
                done = subprocess.run(
                    ["unshare", "-m", "bash", "-c", script, "bash", BIN, *self.args[:-1], *flags,
                     "small/f.paes"], cwd=self.dir, env=environment(), capture_output=True, timeout=60)
                self.assertEqual(done.stdout.decode().split(), ["status=1", "f.paes"], done.stderr)
                self.assertIn(b"No space left", done.stderr)

    def test_short_reads_and_writes(self):
        for flags in ([], ["--verify"], ["--new-key"]):
            self.write("f.paes", self.sealed)
            self.ok(*self.args, *flags, env=preloaded("PARAES_SHORT_IO"))
            self.check_new()

    def test_writes_while_the_new_file_is_synced_are_kept(self):
        if strace_reason():
            self.skipTest(strace_reason())
        for change in ("printf more >> f.paes", "printf X | dd of=f.paes bs=1 seek=99 conv=notrunc",
                       "chmod 600 f.paes"):
            with self.subTest(change=change):
                self.write("f.paes", self.sealed)
                self.path("f.paes").chmod(0o644)
                done = subprocess.Popen(["bash", "-c", f"sleep 1; {change}"], cwd=self.dir,
                                        stderr=subprocess.DEVNULL)
                run = Strace(self, *self.args, inject=["fsync:delay_enter=2500000:when=1"])
                done.wait()
                self.assertEqual(run.done.returncode, 1, run.done.stderr)
                self.assertRegex(run.done.stderr.decode(), "it was (written to|changed) while")
                self.assertEqual(self.left_over(), [])
                self.assertGreaterEqual(len(self.read("f.paes")), len(self.sealed))

    def test_age_that_is_killed_leaves_the_file(self):
        env = self.program('[ "$1" = -d ] && exec age "$@"\nkill -9 $$\n')
        self.fails(1, *self.args, env=env, says="signal 9")
        self.assertTrue(self.read("f.paes") == self.sealed)
        self.assertEqual(self.left_over(), [])

    @unittest.skipIf(sanitized(), "the sanitizers take memory of their own")
    def test_memory_stays_bounded(self):
        plain = pattern(150 * MIB)
        self.write("f", plain)
        for flags in ([], ["--verify"], ["--new-key"]):
            self.ok("encrypt", "-f", "--recipient", self.me, "f")
            # A process of its own: what this one holds would count, too.
            done = subprocess.run(
                [sys.executable, "-c",
                 "import resource, subprocess, sys\n"
                 "subprocess.run(sys.argv[1:], check=True)\n"
                 "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n",
                 BIN, *self.args, *flags], cwd=self.dir, env=environment(), capture_output=True,
                timeout=60, check=True)
            self.assertLess(int(done.stdout), 64 * 1024, flags)  # KiB


if __name__ == "__main__":
    unittest.main()
