"""Calls that are missing, or that a policy denies, by a library to preload: everywhere, also without FUSE.

Where a file system lacks a call, a run does without it and loses nothing, or says so before the first
byte."""

import collections
import os
import pathlib
import types

from bench import KEY, LONG, OLD, SMALL, BenchCase, preloaded_calls, sample

MISSING = ("ENOSYS", "EOPNOTSUPP")
DENIED = ("EPERM", "EACCES")
# The errors without which every run succeeds, by call. Other errors have to keep the rule.
WORKS = {
    "copy_file_range": (*MISSING, *DENIED, "EINVAL"),
    "fchmod": (*MISSING, "EPERM"),
    "fgetxattr": (*MISSING, *DENIED),
    "flock": (*MISSING, "ENOLCK"),
    "fremovexattr": (*MISSING, *DENIED),
    "fsync": (*MISSING, "EINVAL"),
    "futimens": (*MISSING, "EPERM"),
    "linkat": (*MISSING, *DENIED),
    "openat2": ("ENOSYS", "EPERM"),  # seccomp's answer for system calls that it does not know
    "posix_fadvise": (*MISSING, *DENIED),
    "renameat2": (*MISSING, "EINVAL"),
    "statfs": MISSING,
    "sync_file_range": (*MISSING, *DENIED),
    "tmpfile": (*MISSING, *DENIED, "EISDIR", "EINVAL"),
}
# Errors that end a run, in an orderly manner.
FAILS = {
    "create": ("EACCES", "EPERM", "EROFS"),
    "fsync": ("EIO", "EDQUOT"),
    "mkdirat": (*MISSING, *DENIED),
    "renameat": (*MISSING, *DENIED, "EEXIST"),
    "unlinkat": (*MISSING, *DENIED),
}
# Calls that only some files need.
SELDOM = {"copy_file_range", "fchown", "fgetxattr", "fremovexattr", "mkdirat", "posix_fadvise", "statfs",
          "sync_file_range"}
# Calls that are made where there are no unnamed files.
FOR_NAMED = {"create": {"tmpfile": "EOPNOTSUPP"}, "renameat2": {"tmpfile": "EOPNOTSUPP"}}
# Calls that real file systems lack together.
SYSTEMS = {
    "SFTP": {"tmpfile": "EOPNOTSUPP", "renameat2": "EINVAL", "flock": "ENOSYS"},
    "FAT": {"tmpfile": "EOPNOTSUPP", "renameat2": "EINVAL", "linkat": "EPERM", "fchmod": "EPERM"},
    "FUSE without links": {"tmpfile": "EOPNOTSUPP", "renameat2": "EINVAL", "linkat": "ENOSYS"},
    "Android": {"linkat": "EACCES"},
    "Android without flags": {"linkat": "EACCES", "renameat2": "EINVAL"},
    "an object store": {"tmpfile": "EOPNOTSUPP", "linkat": "EOPNOTSUPP", "fchmod": "ENOSYS",
                        "futimens": "ENOSYS", "flock": "ENOSYS", "fsync": "ENOSYS",
                        "renameat2": "ENOSYS"},
    "unnamed files without links": {"linkat": "EOPNOTSUPP", "renameat2": "ENOSYS"},
}
RENAMES = ("renameat", "renameat2", "linkat")
QUICK = ("encrypt --rm", "encrypt -f", "rekey to a key", "decrypt two --rm")


class PreloadCase(BenchCase):
    def setUp(self):
        super().setUp()
        top = self.path("here")
        top.mkdir()
        self.here = types.SimpleNamespace(top=top, place=top, back=top)
        self.jobs = {name: job for name, (job, onto) in self.jobs.items() if not onto}
        self.met = collections.Counter()

    def check(self, name, calls, works=False, log_also=()):
        """Runs a job with failing calls, and returns the run and the calls that it met."""
        log = pathlib.Path(f"{self.path('log')}{self.number}")
        env = preloaded_calls({**calls, **{call: "0" for call in log_also}}, log)
        code = next((error for error in calls.values() if error != "0"), None)
        try:
            done = self.check_job(self.here, self.jobs[name], False, code=code, works=works, env=env,
                                  without_unlink="unlinkat" in calls,
                                  times=int("futimens" not in calls))
        finally:
            met = log.read_text().split() if log.exists() else []
            self.met.update(set(met))
        return done, met


class Missing(PreloadCase):
    def check_each(self, table, works):
        for call, errors in table.items():
            for error in errors if LONG else sample(errors, 1, call):
                for name in self.jobs if LONG else QUICK:
                    with self.subTest(name, call=call, error=error):
                        self.check(name, {call: error, **FOR_NAMED.get(call, {})}, works)
        self.assertEqual(table.keys() - SELDOM - self.met.keys(), set(), "no run made these calls")

    def test_calls_that_a_run_does_without(self):
        self.check_each(WORKS, works=True)

    def test_calls_that_end_a_run(self):
        self.check_each(FAILS, works=False)

    def test_what_systems_lack_together(self):
        for system, calls in SYSTEMS.items():
            for name in self.jobs if LONG else sample(list(self.jobs), 6, system):
                with self.subTest(name, system=system):
                    self.check(name, calls, works=True)

    def test_an_owner_that_cannot_be_kept(self):
        """The output then is for its owner alone."""
        try:
            os.chown(self.path("k2"), 12345, 12345)
        except OSError as error:
            self.skipTest(f"only root gives files to others: {error}")
        for error in (*MISSING, *DENIED):
            with self.subTest(error):
                self.write("f", SMALL, 0o644)
                self.write("f.paes", OLD, 0o644)
                os.chown(self.path("f.paes"), 12345, 12345)
                self.outcome("encrypt", "-q", *KEY, "-f", "f", env=preloaded_calls({"fchown": error}))
                self.assertEqual(self.path("f.paes").stat().st_mode & 0o777, 0o600)
                self.check_opens("f.paes", SMALL)


class WithoutRename(PreloadCase):
    """Nothing gives a complete file its name: the error comes before the first byte."""

    def test_every_verb(self):
        for error in (*MISSING, *DENIED) if LONG else ("ENOSYS", "EPERM"):
            calls = {**dict.fromkeys(RENAMES, error), "tmpfile": "EOPNOTSUPP"}
            for name in ("encrypt", "encrypt -f", "encrypt -f --rm", "decrypt", "rekey to a key"):
                with self.subTest(name, error=error):
                    done, met = self.check(name, calls, log_also=["pwrite"])
                    self.assertEqual(done.returncode, 1, done)
                    self.assertIn(b"cannot rename", done.stderr)
                    if not name.startswith("rekey"):
                        self.assertIn(b"-c", done.stderr)
                    self.assertNotIn("pwrite", met)

    def test_several_files(self):
        for name in ("encrypt two", "encrypt -r --rm", "keygen"):
            with self.subTest(name):
                calls = {**dict.fromkeys(RENAMES, "ENOSYS"), "tmpfile": "EOPNOTSUPP"}
                done, met = self.check(name, calls, log_also=["pwrite"])
                self.assertIn(done.returncode, (1, 3), done)
                self.assertIn(b"cannot rename", done.stderr)
                self.assertNotIn("pwrite", met)

    def test_links_are_enough_for_new_files(self):
        for name in ("encrypt", "decrypt", "encrypt two", "keygen", "encrypt --rm"):
            with self.subTest(name):
                self.check(name, {"renameat": "ENOSYS", "renameat2": "ENOSYS"}, works=True)

    def test_standard_output_needs_nothing(self):
        calls = {**dict.fromkeys(RENAMES, "ENOSYS"), "tmpfile": "EOPNOTSUPP", "create": "EROFS"}
        self.write("f", SMALL)
        made = self.outcome("encrypt", *KEY, "-c", "f", env=preloaded_calls(calls))
        self.assertTrue(self.opens(*KEY)(made))


class TheLibrary(PreloadCase):
    def test_an_error_that_it_does_not_know_ends_the_run(self):
        self.write("f", SMALL)
        done = self.run_in(self.dir, "encrypt", *KEY, "f", env=preloaded_calls({"fsync": "ENOTHING"}))
        self.assertLess(done.returncode, 0)
        self.assertIn(b"ENOTHING", done.stderr)

    def test_rename_is_a_job_of_every_output(self):
        """The names of the table are those of calls that runs make."""
        names = ("renameat", "tmpfile", "linkat", "fsync", "fchmod", "futimens", "pwrite")
        _, met = self.check("encrypt -f", dict.fromkeys(names, "0"), works=True)
        self.assertEqual(set(met), set(names))
