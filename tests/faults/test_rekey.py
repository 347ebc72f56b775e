"""rekey under faults: the file is the old one or the new one, always whole, and nothing is left.
test_calls.py has its failing calls."""

import subprocess
import unittest

from faults import (
    BIN,
    KEY,
    MIB,
    SMALL,
    FaultCase,
    NoTmpfile,
    Strace,
    environment,
    on_small_disk,
    pattern,
    preloaded,
    sanitized,
    strace_reason,
)
from injection import DATA, KillCase
from recipients import RecipientsCase
from support import LONG

KILLS = 100 if LONG else 8


class RekeyFaults(KillCase):
    def job(self, plain):
        """The job of a rekey from k to k2, and what gives the next one: back, where that is done."""
        there = self.rekey_job(KEY, ["--to-key-file", "k2"], ["-k", "k2"], plain=plain)
        back = ["rekey", "-k", "k2", "--to-key-file", "k", "g.paes"]
        back = there._replace(args=back, wanted={"g.paes": self.opens(*KEY, plain=plain)})
        return there, lambda new: back if new else there

    def test_kill_at_every_call(self):
        self.kill_at_every_call(*self.job(SMALL), '"g.paes"')

    def test_every_failing_call(self):
        self.inject("rekey", self.job(SMALL)[0])

    def test_kill_at_a_random_moment(self):
        self.kill_at_random_moments([self.job(pattern(DATA))], KILLS)


class RekeyWithoutTmpfile(NoTmpfile, RekeyFaults):
    """Temporary files have names."""


class Recipients(RecipientsCase, FaultCase):
    """The data is copied behind a new header."""

    def setUp(self):
        super().setUp()
        self.plain = pattern(20 * MIB + 77)
        self.write("f", self.plain)
        self.ok("encrypt", "--recipient", self.me, "f")
        self.sealed = self.read("f.paes")
        # One thread: strace counts the calls of each.
        self.args = ["rekey", "-q", "-T", "1", "-i", "me.txt", "--to-recipient", self.you, "f.paes"]

    def check_new(self):
        opened = self.ok("decrypt", "-i", "you.txt", "-c", "f.paes")
        self.assertTrue(opened == self.plain)

    def copy_with(self, fault, status):
        if strace_reason():
            self.skipTest(strace_reason())
        run = Strace(self, *self.args, inject=[f"copy_file_range:{fault}"], status=status)
        self.assertGreater(run.injected, 0)
        return run

    def test_file_systems_that_cannot_copy(self):
        for error in ("ENOSYS", "EXDEV", "EINVAL", "EOPNOTSUPP", "EPERM", "EINTR"):
            # Each call fails, or all but the first two; after an interruption it is repeated.
            for when in ("1", "2") if error == "EINTR" else ("1+", "3+"):
                with self.subTest(error=error, when=when):
                    self.write("f.paes", self.sealed)
                    self.copy_with(f"error={error}:when={when}", 0)
                    self.check_new()

    def test_copy_that_fails(self):
        for error in ("EIO", "ENOSPC", "EDQUOT", "EFBIG"):
            for when in (1, 2):
                with self.subTest(error=error, when=when):
                    self.write("f.paes", self.sealed)
                    run = self.copy_with(f"error={error}:when={when}", 1)
                    self.assertIn(b"f.paes: cannot write it", run.done.stderr)
                    self.assertTrue(self.read("f.paes") == self.sealed)
                    self.assertEqual(self.left_over(), [])

    def test_copy_that_copies_nothing(self):
        self.copy_with("retval=0:when=1+", 0)
        self.check_new()

    def test_full_disk(self):
        for flags in ([], ["--new-key"], ["--verify"]):
            with self.subTest(flags=flags):
                done = subprocess.run(
                    [*on_small_disk("30m", "f.paes", "f.paes"), BIN, *self.args[:-1], *flags,
                     "small/f.paes"], cwd=self.dir, env=environment(), capture_output=True,
                    timeout=60)
                self.assertEqual(done.stdout.decode().split(), ["status=1", "f.paes"], done.stderr)
                self.assertIn(b"No space left", done.stderr)

    def test_short_reads_and_writes(self):
        for flags in ([], ["--verify"], ["--new-key"]):
            self.write("f.paes", self.sealed)
            self.ok(*self.args, *flags, env=preloaded("PARAES_SHORT_IO"))
            self.check_new()

    def test_writes_while_the_new_file_is_synced_are_kept(self):
        for change in ("printf more >> f.paes", "printf X | dd of=f.paes bs=1 seek=99 conv=notrunc",
                       "chmod 600 f.paes"):
            with self.subTest(change=change):
                self.write("f.paes", self.sealed)
                self.path("f.paes").chmod(0o644)
                text = self.pause("fsync", 1, lambda: self.shell(change), *self.args, status=1)
                self.assertRegex(text, b"it was (written to|changed) while")
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
            self.assertLess(self.peak('P "$@"', *self.args, *flags), 64, flags)
