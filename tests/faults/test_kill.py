"""Killed runs of encrypt and decrypt: the target stays as it was or is complete, and the next run removes
leftovers."""

import os
import signal
import subprocess

from faults import KEY, SMALL, NoTmpfile, pattern
from injection import DATA, KILLS, KillCase


class WithTmpfile(KillCase):
    """Temporary files without names (O_TMPFILE)."""

    def jobs(self, *flags, **kwargs):
        """Pairs of a job with these flags, and what gives the next job after a kill."""
        jobs = self.file_jobs(*KEY, **kwargs)
        for verb in ("encrypt", "decrypt"):
            for force in ([], ["-f"]):
                job = jobs[" ".join([verb, *force, *flags])]
                yield job, lambda new, next_job=jobs[f"{verb} -f"]: next_job

    def test_kill_at_a_random_moment_leaves_an_old_or_complete_target(self):
        self.kill_at_random_moments([*self.jobs(plain=pattern(DATA), more=[])], KILLS // 2)

    def at_every_call(self, *flags, inject=()):
        for job, next_job in self.jobs(*flags):
            self.kill_at_every_call(job, next_job, f'"{job.args[-1]}"', *inject)

    def test_kill_at_every_call_leaves_an_old_or_complete_target(self):
        self.at_every_call()

    def test_kill_at_every_call_with_rm_loses_no_data(self):
        self.at_every_call("--rm")

    def test_temporary_of_a_running_process_is_not_removed(self):
        # Two runs with one target: the temporary of the first is no leftover for the second.
        self.write("f", SMALL)
        first = self.killed_later()
        self.ok("encrypt", *KEY, "-o", "out", "f")
        self.assertEqual(len(self.temporaries(first)), 1)
        self.kill(first)
        self.check_opens("out", SMALL)
        self.ok("encrypt", *KEY, "-f", "-o", "out", "f")
        self.assertEqual(self.left_over(), [])

    def killed_later(self):
        """A run that waits for its input, with a temporary for the output `out`."""
        process = self.start("encrypt", *KEY, "-o", "out", "-", stdin=subprocess.PIPE)
        self.wait_for(lambda: self.temporaries(process), "a temporary")
        return process

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.stdin.close()
        process.wait()


class WithoutTmpfile(NoTmpfile, WithTmpfile):
    """A killed run leaves a temporary."""

    def test_leftover_of_a_killed_run_is_removed_by_the_next_run(self):
        self.write("f", SMALL)
        process = self.killed_later()
        self.kill(process)
        host = os.uname().nodename.replace(".", "-")
        self.assertEqual(len(self.left_over()), 1)
        self.assertRegex(self.left_over()[0],
                         rf"\A\.out\.{host}\.{process.pid}\.[0-9a-f]{{8}}\.paraes-tmp\Z")
        self.ok("encrypt", *KEY, "-o", "out", "f")
        self.assertEqual(self.left_over(), [])

    def test_kill_at_every_call_without_rename_noreplace(self):
        # Like a file system without RENAME_NOREPLACE.
        self.at_every_call(inject=["renameat2:error=EINVAL"])
