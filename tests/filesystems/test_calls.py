"""Calls that a file system lacks, by FUSE: each operation in turn answers that it is not there, or is denied.

The kernel hides some: without `flush`, `fsync` or `create` it says nothing, or makes files in two steps."""

import subprocess
import time

from bench import KEY, LONG, SMALL, BenchCase, sample, setUpModule  # noqa: F401
from faults import environment
from support import BIN

MISSING = ("ENOSYS", "EOPNOTSUPP")
ALL = (*MISSING, "EPERM", "EACCES")
# The errors despite which every run succeeds, by operation.
WORKS = {
    "access": ("ENOSYS",),  # others would keep every process out of its folders
    "chmod": (*MISSING, "EPERM"),
    "copy_file_range": ALL,
    "create": ("ENOSYS",),
    "flush": ("ENOSYS",),
    "fsync": MISSING,
    "fsyncdir": MISSING,
    "getxattr": ALL,
    "link": ALL,
    "removexattr": ALL,
    "rename2": MISSING,
    "statfs": ALL,
    "tmpfile": ALL,
    "truncate": ALL,
    "utimens": (*MISSING, "EPERM"),
}
# Runs with these errors keep the rule, whether they fail or not.
FAILS = {
    "chmod": ("EACCES",),
    "create": ("EOPNOTSUPP", "EPERM", "EACCES"),
    "flush": ("EOPNOTSUPP", "EPERM", "EACCES"),
    "fsync": ("EPERM", "EACCES"),
    "fsyncdir": ("EPERM", "EACCES"),
    "mkdir": ALL,
    "open": ALL,
    "opendir": ALL,
    "read": ALL,
    "readdir": ALL,
    "rename": ALL,
    "rename2": ("EPERM", "EACCES"),
    "unlink": ALL,
    "utimens": ("EACCES",),
    "write": ALL,
}
# Without unnamed files, others are created and renamed.
NAMED = {"tmpfile": "ENOSYS"}
NO_RENAME = ("rename", "rename2", "link", "tmpfile")
QUICK = ("encrypt --rm", "rekey to a key", "decrypt -r", "encrypt -o -f")


class Missing(BenchCase):
    def check_each(self, table, works, fail):
        for operation, errors in table.items():
            for error in errors if LONG else sample(errors, 1, operation):
                self.check_jobs(self.mount(fail={**fail, operation: error}),
                                self.jobs if LONG else sample(QUICK, 2, operation),
                                code=error, works=works, without_unlink=operation == "unlink",
                                times=int(works and operation != "utimens"))

    def test_operations_that_a_run_does_without(self):
        self.check_each(WORKS, True, {})

    def test_operations_that_a_run_does_without_and_no_unnamed_files(self):
        self.check_each({name: WORKS[name] for name in ("create", "link", "rename2")}, True, NAMED)

    def test_operations_that_end_a_run(self):
        self.check_each(FAILS, False, {})

    def test_operations_that_end_a_run_without_unnamed_files(self):
        names = ("create", "rename", "unlink", "write")
        self.check_each({name: FAILS[name] for name in names}, False, NAMED)

    def test_links_and_renames_with_flags(self):
        """Both are missing: a rename that checks before is left."""
        for error in ALL if LONG else ("ENOSYS", "EPERM"):
            mount = self.mount(fail={"link": error, "rename2": "ENOSYS", "tmpfile": "ENOSYS"})
            self.check_jobs(mount, self.jobs if LONG else QUICK, works=True, times=1)


class WithoutRename(BenchCase):
    """Nothing gives a complete file its name: the error comes before the first byte."""

    def test_every_verb(self):
        for error in ALL if LONG else ("ENOSYS", "EOPNOTSUPP"):
            log = self.path(f"log {error}")
            mount = self.mount(fail=dict.fromkeys(NO_RENAME, error), log=str(log))
            for name in ("encrypt", "encrypt -o -f", "encrypt -r -o --rm", "decrypt --rm", "rekey to a key"):
                with self.subTest(name, error=error):
                    log.write_text("")
                    done = self.check_job(mount, *self.jobs[name], code=error)
                    self.assertIn(done.returncode, (1, 3), done)
                    self.assertIn(b"cannot rename", done.stderr)
                    if not name.startswith("rekey"):
                        self.assertIn(b"-c", done.stderr)
                    self.assertNotIn("write", log.read_text().split())
            self.release(mount)

    def test_standard_output_of_its_files(self):
        """What the error offers works."""
        mount = self.mount(fail=dict.fromkeys(NO_RENAME, "ENOSYS"))
        (mount.back / "f").write_bytes(SMALL)
        with open(mount.place / "f.paes", "wb") as output:
            done = self.run_paraes("encrypt", *KEY, "-c", mount.place / "f", stdout=output)
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue(self.opens(*KEY)((mount.back / "f.paes").read_bytes()))


class InUse(BenchCase):
    """Files cannot be removed while they are open, nor for a moment after they were closed."""

    def test_a_temporary_is_removed(self):
        for error in ("EACCES", "EBUSY"):
            mount = self.mount(fail=dict.fromkeys(NO_RENAME, "EACCES"), in_use=[error, 0.05])
            self.check_jobs(mount, self.jobs if LONG else ("encrypt -f --rm", "encrypt -r -o --rm",
                                                           "rekey to a key"))

    def test_sources_are_removed(self):
        names = [name for name in self.jobs if "--rm" in name]
        for inodes in ("true", "by_name"):
            mount = self.mount(inodes=inodes, in_use=["EBUSY", 0.05])
            self.check_jobs(mount, names if LONG else sample(names, 4, inodes), works=True)

    def test_a_source_that_is_gone_though_the_answer_denies_it(self):
        mount = self.mount(after={"unlink": "EBUSY"}, in_use=["EBUSY", 0])
        self.check_jobs(mount, ("encrypt --rm", "decrypt two --rm"), works=True)

    def test_a_source_that_changes_before_it_can_be_removed_stays(self):
        """What was written or put there between two attempts is in no output."""
        for how in ("written", "replaced"):
            with self.subTest(how):
                log, go = self.path(f"log {how}"), self.path(f"go {how}")
                mount = self.mount(in_use=["EBUSY", 5], log=str(log), hold=str(go))
                (mount.back / "f").write_bytes(SMALL)
                run = subprocess.Popen([BIN, "encrypt", "--key-file", self.path("k"), "--rm", "f"], cwd=mount.place,
                                       env=environment(), stderr=subprocess.PIPE)
                end = time.monotonic() + 20
                while "unlink" not in log.read_text().split() and time.monotonic() < end:
                    time.sleep(0.001)
                if how == "written":
                    (mount.back / "f").write_bytes(b"newer")
                else:
                    (mount.back / "other").write_bytes(b"newer")
                    (mount.back / "other").rename(mount.back / "f")
                go.touch()
                _, said = run.communicate(timeout=30)
                self.assertEqual(run.returncode, 1, said)
                self.assertIn(b"f: not removed: it was in use, and was written to or replaced", said)
                self.assertEqual((mount.back / "f").read_bytes(), b"newer")
                self.release(mount)
