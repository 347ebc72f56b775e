"""Failing system calls and kills, which strace injects into the jobs of trees.py one at a time."""

import collections
import contextlib
import os
import random
import signal
import subprocess
import time

from faults import BIN, MIB, Strace, environment, restore_signals, strace_reason
from support import LONG
from trees import SEED, TreeCase, sample, write_file

SAMPLES = 12  # of the faults of each run
# In both classes of a test together.
KILLS = int(os.environ.get("PARAES_KILLS", "300" if LONG else "20"))
DATA = (48 if LONG else 12) * MIB + 100  # of runs that are killed at random moments
# The errors to inject into each system call.
ERRORS = {
    "read": ("EIO", "EINTR"),
    "pread64": ("EIO", "EINTR"),
    "write": ("ENOSPC", "EIO", "EINTR", "EDQUOT"),
    "pwrite64": ("ENOSPC", "EIO", "EINTR", "EDQUOT"),
    "fsync": ("EIO", "ENOSPC", "EDQUOT"),
    "fdatasync": ("EIO",),
    "close": ("EIO", "EINTR"),
    "openat": ("EMFILE", "EACCES", "EDQUOT"),
    "openat2": ("EMFILE", "EACCES", "EIO"),
    "getdents64": ("EIO",),
    "fcntl": ("EMFILE",),
    "newfstatat": ("EIO",),
    "fstat": ("EIO",),
    "access": ("EIO",),
    "linkat": ("EIO", "ENOSPC", "EROFS", "EDQUOT"),
    "renameat": ("EIO", "ENOSPC", "EDQUOT"),
    "renameat2": ("EIO", "ENOSPC"),
    "fchmod": ("EIO", "EROFS"),
    "fchown": ("EIO", "EPERM"),
    "utimensat": ("EIO", "EROFS"),
    "flock": ("ENOLCK", "EINTR", "EAGAIN"),
    "ftruncate": ("EIO", "ENOSPC"),
    "fadvise64": ("EINVAL",),
    "unlinkat": ("EIO", "EACCES"),
    "lseek": ("EIO",),
    "poll": ("EINTR",),
    "mmap": ("ENOMEM",),
    "mprotect": ("ENOMEM",),
    "clone3": ("EAGAIN", "ENOSYS"),
    "pipe2": ("EMFILE",),
    "eventfd2": ("EMFILE",),
    "mkdirat": ("EIO", "ENOSPC", "EROFS", "EDQUOT"),
    "fgetxattr": ("EIO", "EOPNOTSUPP", "EPERM"),
    "fremovexattr": ("EIO", "EPERM"),
    "copy_file_range": ("EIO", "EDQUOT", "EINTR"),
    "sync_file_range": ("EIO",),
    "wait4": ("EINTR",),
    "getrandom": ("EINTR", "EAGAIN"),
}
# Without these, a run goes on: memory that is not locked or not left out of core dumps, pages that are
# not huge, fewer threads, signals that are not handled, limits and access lists that are not known.
NEEDLESS = {
    "mlock2": ("ENOMEM", "EPERM", "ENOSYS"),
    "madvise": ("EINVAL", "ENOMEM"),
    "munmap": ("ENOMEM",),
    "prctl": ("EINVAL",),
    "prlimit64": ("EPERM",),
    "sched_getaffinity": ("ENOSYS",),
    "rt_sigaction": ("EINVAL",),
    "rt_sigprocmask": ("EINVAL",),
    "ioctl": ("EIO",),
    "fadvise64": ("EIO",),
    "uname": ("EFAULT",),
}
# A run must report a failure of one of these, even though its output looks complete.
MUST_FAIL = {"fsync", "linkat", "renameat", "renameat2"}
# After the target got its name, one of these can fail: --rm compares the beginnings of the outputs.
LATE = {"fsync", "unlinkat", "newfstatat", "fstat", "openat", "openat2", "flock", "close", "pread64"}
# System calls that change state, and exit. A kill before any other call finds the same state.
CHANGING = {
    *("openat", "open", "write", "pwrite64", "copy_file_range", "ftruncate", "fcntl", "close"),
    *("fchmod", "fchown", "utimensat", "fsync", "flock", "link", "linkat", "exit_group"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat"),
}
# The first call of main: what comes before is the loader's.
MAIN = "F_GETFD"


class InjectCase(TreeCase):
    def run_job(self, folder, job, *inject, children=True):
        if strace_reason():
            self.skipTest(strace_reason())
        self.begin(folder, job)
        return Strace(self, *job.args, env=self.env, inject=inject, folder=folder, children=children)

    def calls_of(self, job, marker, *inject, **kwargs):
        """A run without a fault but `inject`: its other calls from the first on whose line in the
        log of strace has `marker`."""
        run = self.run_job(self.path("w0"), job, *inject, **kwargs)
        self.assertEqual((run.done.returncode, run.done.stderr), (0, b""))
        self.check_tree(self.path("w0"), job, True)
        ours = {fault.split(":")[0] for fault in inject}
        return [call for call in run.calls_from(marker) if call[0] not in ours]

    def inject(self, name, job, marker=MAIN, errors=ERRORS, also=(), **kwargs):
        """Fails each call of a job."""
        calls = self.calls_of(job, marker, *also, **kwargs)
        self.assertGreater(len(calls), 10)
        # Some numbers are not reached: threads share the files of a folder out anew each time, and how
        # many reads a pipe takes depends on how busy the machine is.
        faults = sample(
            [(call, error, number) for call, number in calls for error in errors.get(call, ())],
            SAMPLES, f"{type(self).__name__} {name}")
        ends = collections.Counter()

        def work(folder, fault):
            call, error, number = fault
            run = self.run_job(folder, job, *also, f"{call}:error={error}:when={number}", **kwargs)
            met = any(call in line and "(INJECTED)" in line for line in run.text.splitlines())
            with self.lock, self.subTest(name, call=call, error=error, when=number):
                ends[run.done.returncode if met else "not reached"] += 1
                self.check_fault(folder, job, call, error, run, met)

        self.each(faults, work)
        self.assertGreater(ends[0] + ends[1] + ends[3], len(faults) // 4)
        print(f"\n{name}: {len(faults)} faults; ends: {dict(ends)}", flush=True)

    def check_fault(self, folder, job, call, error, run, met):
        status, text = run.done.returncode, run.done.stderr.decode()
        # A file of a secret's size that this user cannot open refuses the run, before it writes.
        refused = (call, error, status) == ("openat", "EACCES", 2)
        if refused:
            self.assertIn("has a size that a secret of this run could have", text)
        else:
            self.assertIn(status, (0, 1, 3), text)
        lines = text.splitlines()
        subjects = [*self.secrets, *job.begin, *job.wanted, "the folder", "key", "standard", "memory"]
        for line in lines:
            self.assertRegex(line, r"\Aparaes: .*\S.*")
        if status == 0:
            self.assertEqual(text, "")
            if met and error not in ("EINTR", "EINVAL"):
                self.assertNotIn(call, MUST_FAIL)
        else:
            self.assertNotEqual(error, "EINTR", f"{call}: a signal ended it: {text}")
            self.assertNotIn(call, NEEDLESS, text)
        if status == 1 and "-r" not in job.args:
            self.assertEqual(len(lines), 1, text)
            self.assertTrue(any(word in text.split(": ", 1)[1] for word in subjects), text)
            if job.wanted and self.is_new(folder, job):
                self.assertIn(call, LATE, text)
                self.assertRegex(text, "sync the folder|cannot remove|not removed")
        # A temporary that cannot be removed stays.
        if call == "unlinkat" and status != 0:
            for path in folder.rglob(".*.paraes-tmp"):
                path.unlink()
        # If the mode of the old target cannot be read, the new one may be private.
        self.check_tree(folder, job, status == 0, (call, error) == ("openat", "EACCES"))


class KillCase(InjectCase):
    """Killed runs: the target stays as it was or is complete, and the next run completes the work and
    removes what is left."""

    def check_killed(self, folder, job, next_job):
        """Returns whether the result was there. `next_job` gives the next job for that."""
        self.check_tree(folder, job, False, killed=True)
        new = self.is_new(folder, job)
        again = next_job(new)
        for name in again.begin.keys() - again.wanted:  # what --rm has removed
            if not (folder / name).exists():
                self.assertTrue(new, "the source is gone before its result is there")
                write_file(folder / name, again.begin[name])
        done = self.run_in(folder, *again.args)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_tree(folder, again, True)
        return new

    def kill_at_every_call(self, job, next_job, marker, *inject):
        calls = [call for call in self.calls_of(job, marker, *inject) if call[0] in CHANGING]
        found = {}

        def work(folder, item):
            place, (name, number) = item
            # strace kills the run before the call is made.
            run = self.run_job(folder, job, *inject, f"{name}:signal=KILL:when={number}")
            with self.lock, self.subTest(args=job.args, call=name, number=number):
                self.assertTrue(run.killed, f"the call was not made this time: {run.done}")
                found[place] = self.check_killed(folder, job, next_job)

        chosen = sample(list(enumerate(calls)), 12, " ".join(job.args))
        self.each([*chosen, (len(calls) - 1, calls[-1])], work)
        # Kills find the old state first and later the new one.
        states = [found[place] for place in sorted(found)]
        self.assertEqual(states, sorted(states))
        self.assertEqual(set(states), {False, True})

    def start_in(self, folder, *args):
        process = subprocess.Popen(
            [BIN, *args], cwd=folder, env=environment(**self.env), preexec_fn=restore_signals,
            stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def kill_at_random_moments(self, jobs, kills):
        """`jobs`: pairs of a job and what gives the next one."""
        choose = random.Random(f"{SEED} {self.id()}")
        folder = self.path("w0")
        usual = {}
        for number, (job, _) in enumerate(jobs):
            times = []
            for _ in range(3):
                self.begin(folder, job)
                start = time.monotonic()
                self.assertEqual(self.run_in(folder, *job.args).returncode, 0)
                times.append(time.monotonic() - start)
            usual[number] = min(times)
        ends = collections.Counter()
        for i in range(4 * kills):
            if i >= kills and (ends["absent or old"] or kills < 8):
                break
            number = i % len(jobs)
            job, next_job = jobs[number]
            self.begin(folder, job)
            # Half of the kills come late, around the time when the file gets its name.
            share = choose.uniform(0, 1.1) if choose.random() < 0.5 else choose.uniform(0.7, 1.1)
            with self.subTest(args=job.args, number=i, share=share):
                process = self.start_in(folder, *job.args)
                start = time.monotonic()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(share * usual[number])
                    # It was measured while the machine had more to do than now.
                    usual[number] = min(usual[number], time.monotonic() - start)
                process.send_signal(signal.SIGKILL)
                status = process.wait()
                self.assertIn(status, (0, -signal.SIGKILL), process.stderr.read())
                ends["with a temporary"] += len(list(folder.glob(".*.paraes-tmp")))
                if status == 0:
                    self.check_tree(folder, job, True)
                new = self.check_killed(folder, job, next_job)
                ends["finished" if status == 0 else "complete" if new else "absent or old"] += 1
        print(f"\n{self.id()}: {dict(ends)}", flush=True)
        if kills >= 8:
            self.assertGreater(ends["absent or old"], 0, "no run was hit before its end")
