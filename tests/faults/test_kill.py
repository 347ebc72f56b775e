"""Killed runs: the target stays as it was or is complete, and the next run removes leftovers."""

import contextlib
import os
import random
import signal
import subprocess
import time
import unittest

from faults import KEY, MIB, SMALL, FaultCase, Strace, pattern, preloaded, strace_reason
from support import LONG

# In both classes together.
KILLS = int(os.environ.get("PARAES_KILLS", "300" if LONG else "20"))
SEED = int(os.environ.get("PARAES_SEED", "1"))
OLD = b"precious" * 1000
# System calls that change state, and exit. A kill before any other call finds the same state.
CHANGING = {"openat", "open", "write", "pwrite64", "fchmod", "utimensat", "fsync", "fcntl", "close",
            "flock", "ftruncate", "link", "linkat", "rename", "renameat", "renameat2", "unlink",
            "unlinkat", "exit_group"}


class WithTmpfile(FaultCase):
    """Temporary files without names (O_TMPFILE)."""

    # Each run: verb, input, target, and whether there is an old target.
    RUNS = [(verb, *names, old) for verb, names in (("encrypt", ("f", "f.paes")),
                                                    ("decrypt", ("g.paes", "g")))
            for old in (False, True)]

    def prepare(self, plain):
        self.plain = plain
        self.write("f", plain)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")
        self.sealed = self.read("g.paes")

    def set_up_target(self, target, old):
        self.path(target).unlink(missing_ok=True)
        if old:
            self.write(target, OLD)

    def check_target(self, verb, target, old):
        """Checks that the target is old or complete; returns whether there is a new one."""
        if not self.path(target).exists():
            self.assertFalse(old, "the old target is gone")
            return False
        if old and self.path(target).stat().st_size == len(OLD):
            self.assertEqual(self.read(target), OLD)
            return False
        if verb == "encrypt":
            self.check_opens(target, self.plain)
        else:
            self.assertTrue(self.read(target) == self.plain, "the new target is not whole")
        return True

    def check_next_run(self, verb, source, target):
        """Checks that the next run succeeds, and removes what the killed run left."""
        force = ["-f"] if self.path(target).exists() else []
        self.ok(verb, *KEY, *force, source)
        self.assertTrue(self.check_target(verb, target, False))
        self.assertEqual(self.left_over(), [])
        self.assertTrue(self.read("f") == self.plain, "a source changed")
        self.assertTrue(self.read("g.paes") == self.sealed, "a source changed")

    def test_kill_at_a_random_moment_leaves_an_old_or_complete_target(self):
        choose = random.Random(f"{SEED} {type(self).__name__}")
        self.prepare(pattern(64 * MIB + 100))
        usual = {}
        for run in self.RUNS:
            verb, source, target, old = run
            times = []
            for _ in range(3):
                self.set_up_target(target, old)
                start = time.monotonic()
                self.ok(verb, *KEY, *(["-f"] if old else []), source)
                times.append(time.monotonic() - start)
            usual[run] = min(times)
        ends = {"absent or old": 0, "complete": 0, "finished": 0, "with a temporary": 0}
        kills = KILLS // 2
        for i in range(4 * kills):
            if i >= kills and (ends["absent or old"] or kills < 8):
                break
            run = self.RUNS[i % len(self.RUNS)]
            verb, source, target, old = run
            self.set_up_target(target, old)
            # Half of the kills come late, around the time when the file gets its name.
            share = choose.uniform(0, 1.1) if choose.random() < 0.5 else choose.uniform(0.7, 1.1)
            with self.subTest(run=run, number=i, share=share):
                process = self.start(verb, *KEY, *(["-f"] if old else []), source)
                start = time.monotonic()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(share * usual[run])
                    # It was measured while the machine had more to do than now.
                    usual[run] = min(usual[run], time.monotonic() - start)
                process.send_signal(signal.SIGKILL)
                status = process.wait()
                self.assertIn(status, (0, -signal.SIGKILL), process.stderr.read())
                if status == 0:
                    self.assertEqual(self.left_over(), [])
                ends["with a temporary"] += len(self.left_over())
                new = self.check_target(verb, target, old)
                if status == 0:
                    self.assertTrue(new)
                ends["finished" if status == 0 else "complete" if new else "absent or old"] += 1
                self.check_next_run(verb, source, target)
        done = ends["finished"] + ends["complete"] + ends["absent or old"]
        print(f"\n{type(self).__name__}: {done} kills:", ends, flush=True)
        if kills >= 8:
            self.assertGreater(ends["absent or old"], 0, "no run was hit before its end")

    def at_every_call(self, more_flags=(), inject=()):
        reason = strace_reason()
        if reason:
            self.skipTest(reason)
        self.prepare(SMALL)
        for run in self.RUNS:
            verb, source, target, old = run
            args = [verb, *KEY, "-T", "1", *(["-f"] if old else []), *more_flags, source]

            def strace(*more):
                self.set_up_target(target, old)
                self.write(source, self.plain if verb == "encrypt" else self.sealed)
                return Strace(self, *args, env=self.env, inject=[*inject, *more])

            whole = strace()
            self.assertEqual(whole.done.returncode, 0, whole.done.stderr)
            calls = [call for call in whole.calls_from(f'"{source}"') if call[0] in CHANGING]
            states = []
            for name, number in calls:
                with self.subTest(run=run, call=name, number=number):
                    # strace kills the run before the call is made.
                    done = strace(f"{name}:signal=KILL:when={number}")
                    self.assertTrue(done.killed or done.done.returncode == 0,
                                    (done.done.returncode, done.done.stderr))
                    self.assertTrue(done.killed, "the call was not made this time")
                    new = self.check_target(verb, target, old)
                    states.append(new)
                    if not self.path(source).exists():
                        self.assertTrue(new, "the source is gone before its result is there")
                        self.assertIn("--rm", more_flags)
                        self.write(source, self.plain if verb == "encrypt" else self.sealed)
                    self.check_next_run(verb, source, target)
            # Kills find the old state first and later the new one.
            self.assertEqual(states, sorted(states))
            self.assertEqual(set(states), {False, True})

    def test_kill_at_every_call_leaves_an_old_or_complete_target(self):
        self.at_every_call()

    def test_kill_at_every_call_with_rm_loses_no_data(self):
        self.at_every_call(["--rm"])

    def test_temporary_of_a_running_process_is_not_removed(self):
        # Two runs with one target: the temporary of the first is no leftover for the second.
        self.prepare(SMALL)
        first = self.start("encrypt", *KEY, "-o", "out", "-", stdin=subprocess.PIPE)
        self.wait_for(lambda: self.temporaries(first), "a temporary")
        self.ok("encrypt", *KEY, "-o", "out", "f")
        self.assertEqual(len(self.temporaries(first)), 1)
        first.send_signal(signal.SIGKILL)
        first.stdin.close()
        first.wait()
        self.check_opens("out", SMALL)
        self.ok("encrypt", *KEY, "-f", "-o", "out", "f")
        self.assertEqual(self.left_over(), [])


class WithoutTmpfile(WithTmpfile):
    """Repeats these tests without O_TMPFILE: temporary files have names, and a killed run leaves one."""

    @classmethod
    def setUpClass(cls):
        cls.env = preloaded("PARAES_NO_TMPFILE")

    def test_leftover_of_a_killed_run_is_removed_by_the_next_run(self):
        self.prepare(SMALL)
        process = self.start("encrypt", *KEY, "-o", "out", "-", stdin=subprocess.PIPE)
        self.wait_for(lambda: self.temporaries(process), "a temporary")
        process.send_signal(signal.SIGKILL)
        process.stdin.close()
        process.wait()
        host = os.uname().nodename.replace(".", "-")
        self.assertEqual(len(self.left_over()), 1)
        self.assertRegex(self.left_over()[0],
                         rf"\A\.out\.{host}\.{process.pid}\.[0-9a-f]{{8}}\.paraes-tmp\Z")
        self.ok("encrypt", *KEY, "-o", "out", "f")
        self.assertEqual(self.left_over(), [])

    def test_kill_at_every_call_without_rename_noreplace(self):
        # Like a file system without RENAME_NOREPLACE.
        self.at_every_call(inject=["renameat2:error=EINVAL"])


if __name__ == "__main__":
    unittest.main()
