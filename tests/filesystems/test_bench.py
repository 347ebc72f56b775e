"""The bench itself: each switch does what it says, the rule finds what breaks it, and no mount stays."""

import errno
import os
import pathlib
import signal
import subprocess
import sys
import time
from unittest import mock

import bench
from bench import KEY, OLD, SMALL, BenchCase, Job, is_bytes, setUpModule, sftp_server, sshfs  # noqa: F401

NFC, NFD = "\u00e9", "e\u0301"


def inode(path):
    return os.stat(path).st_ino


class Switches(BenchCase):
    def test_names_are_stored(self):
        for switches, given, stored in (({"store": "lower"}, "Ab", "ab"), ({"store": "upper"}, "Ab", "AB"),
                                        ({"store": "nfd"}, NFC, NFD), ({"strip": True}, "a. .", "a")):
            with self.subTest(switches):
                mount = self.mount(fold="both", **switches)
                (mount.place / given).write_bytes(b"")
                self.assertEqual(os.listdir(mount.back), [stored])
                self.assertTrue((mount.place / given).exists())

    def test_numbers_of_inodes(self):
        for inodes, links_share, looks_share in (("true", True, True), ("by_name", False, True),
                                                 ("changing", False, False)):
            with self.subTest(inodes):
                mount = self.mount(inodes=inodes)
                one, two = mount.place / "one", mount.place / "two"
                with open(one, "wb") as file:
                    os.link(one, two)
                    self.assertEqual(inode(one) == inode(two), links_share)
                    number = os.fstat(file.fileno()).st_ino
                    self.assertEqual(number == inode(one), looks_share)
                    self.assertEqual(number, os.fstat(file.fileno()).st_ino)
                    os.rename(one, mount.place / "three")
                    self.assertEqual(number == inode(mount.place / "three"), looks_share)

    def test_numbers_by_name_tell_nothing_of_names_that_fold(self):
        mount = self.mount(fold="case", inodes="by_name")
        (mount.place / "a").write_bytes(b"")
        self.assertNotEqual(inode(mount.place / "a"), inode(mount.place / "A"))

    def test_operations_fail(self):
        """Each that is named, by the call that makes it, with its error."""
        def at(mount, name):
            return str(mount.place / name)

        def rename_new(mount):
            if bench.libc.renameat2(-100, os.fsencode(at(mount, "f")), -100, os.fsencode(at(mount, "n")), 1):
                raise OSError(bench.ctypes.get_errno(), "renameat2")

        calls = {
            "chmod": lambda m: os.chmod(at(m, "f"), 0o600),
            "chown": lambda m: os.chown(at(m, "f"), os.getuid(), os.getgid()),
            "create": lambda m: os.close(os.open(at(m, "n"), os.O_CREAT | os.O_WRONLY)),
            "link": lambda m: os.link(at(m, "f"), at(m, "n")),
            "mkdir": lambda m: os.mkdir(at(m, "n")),
            "open": lambda m: os.close(os.open(at(m, "f"), os.O_RDONLY)),
            "opendir": lambda m: os.listdir(m.place),
            "read": lambda m: pathlib.Path(at(m, "f")).read_bytes(),
            "readdir": lambda m: os.listdir(m.place),
            "rename": lambda m: os.rename(at(m, "f"), at(m, "n")),
            "rename2": rename_new,
            "statfs": lambda m: os.statvfs(m.place),
            "tmpfile": lambda m: os.close(os.open(m.place, os.O_TMPFILE | os.O_WRONLY)),
            "truncate": lambda m: os.truncate(at(m, "f"), 1),
            "unlink": lambda m: os.unlink(at(m, "f")),
            "utimens": lambda m: os.utime(at(m, "f")),
            "write": lambda m: pathlib.Path(at(m, "f")).write_bytes(b"new"),
        }
        for operation, call in calls.items():
            for fail in ({operation: "EDQUOT"}, {}):
                with self.subTest(operation, fail=fail):
                    mount = self.mount(fail=fail)
                    (mount.back / "f").write_bytes(b"data")
                    if fail:
                        with self.assertRaises(OSError) as caught:
                            call(mount)
                        self.assertEqual(caught.exception.errno, errno.EDQUOT)
                    else:
                        call(mount)
                    self.release(mount)

    def test_what_is_done_and_denied(self):
        mount = self.mount(after={"rename": "ENOENT", "unlink": "EIO"})
        (mount.back / "f").write_bytes(b"data")
        with self.assertRaises(FileNotFoundError):
            os.rename(mount.place / "f", mount.place / "g")
        self.assertEqual(os.listdir(mount.back), ["g"])
        with self.assertRaises(OSError):
            os.unlink(mount.place / "g")
        self.assertEqual(os.listdir(mount.back), [])

    def test_sizes_and_times(self):
        for sizes, wanted in (("zero", 0), ("big", 104)):
            mount = self.mount(sizes=sizes)
            (mount.back / "f").write_bytes(b"data")
            self.assertEqual((mount.place / "f").stat().st_size, wanted)
            with open(mount.place / "f", "rb") as file:
                self.assertEqual(file.read(), b"data")
        for times, alone, both in (("omit", False, True), ("drop", False, False), ("2s", True, True)):
            mount = self.mount(times=times)
            (mount.back / "f").write_bytes(b"data")
            subprocess.run(["touch", "-m", "-d", "@1000000001.5", mount.place / "f"], check=True)
            self.assertEqual(int(os.stat(mount.place / "f").st_mtime) == 1000000000, alone and times == "2s")
            os.utime(mount.place / "f", (1000000001.5, 1000000001.5))
            seen = os.stat(mount.place / "f").st_mtime
            self.assertEqual(seen, {"omit": 1000000001.5, "2s": 1000000000}.get(times, seen))
            self.assertEqual(1000000000 <= seen < 1000000002, both)

    def test_no_replacement(self):
        mount = self.mount(no_replace="EPERM")
        for name in "fg":
            (mount.back / name).write_bytes(b"data")
        with self.assertRaises(PermissionError):
            os.rename(mount.place / "f", mount.place / "g")
        os.rename(mount.place / "f", mount.place / "h")


class TheRule(BenchCase):
    """It finds what breaks it."""

    def setUp(self):
        super().setUp()
        self.job = Job({"f": SMALL, "g": SMALL[:-1]}, ["encrypt", "--rm", "f", "g"],
                       {"f.paes": is_bytes(b"F"), "g.paes": is_bytes(b"G")})
        self.made = {"f.paes": b"F", "g.paes": b"G"}

    def check(self, left, status, text="", works=False, job=None, code=None):
        done = subprocess.CompletedProcess([], status, b"", text.encode())
        job = job or self.job
        self.check_rule(job, job.begin, left, done, code, works, False)

    def breaks(self, *args, **kwargs):
        with self.assertRaises(AssertionError):
            self.check(*args, **kwargs)

    def test_what_keeps_it(self):
        self.check(self.made, 0)
        self.check({**self.job.begin}, 1, "paraes: f: cannot write it: No space left on device",
                   code="ENOSPC")
        self.check({"f": SMALL, "g.paes": b"G"}, 3, "paraes: f: cannot write it: too bad")

    def test_what_breaks_it(self):
        text = "paraes: f: cannot write it: too bad"
        self.breaks({"f.paes": b"F"}, 0)  # an output is missing, and so is its source
        self.breaks({"f.paes": b"F", "g": SMALL[:-1]}, 0)
        self.breaks({**self.made, "f": SMALL}, 0)  # --rm did not remove it
        self.breaks({**self.made, "g.paes": b"half"}, 3, text)
        self.breaks({"f.paes": b"F"}, 3, text)  # g is lost
        self.breaks({**self.made, ".f.paes.host.1.00000000.paraes-tmp": b""}, 0)
        self.breaks({**self.made, "other": b""}, 0)
        self.breaks(self.job.begin, 1, "paraes: f: cannot write it", works=True)
        self.breaks(self.job.begin, 1, "")  # says nothing
        self.breaks(self.job.begin, 1, "Traceback")
        self.breaks(self.job.begin, 1, "paraes: no")  # no file
        self.breaks(self.job.begin, 1, "paraes: f: no")  # no reason
        self.breaks(self.job.begin, -11, text)
        kept = Job({"f": SMALL, "f.paes": OLD}, ["encrypt", "-f", "f"], {"f.paes": is_bytes(b"F")})
        self.breaks({"f": SMALL, "f.paes": OLD}, 0, job=kept)  # not replaced
        self.breaks({"f": SMALL[:-1], "f.paes": b"F"}, 0, job=kept)  # the source has changed
        self.breaks({"f.paes": b"F"}, 0, job=kept)  # removed without --rm
        self.breaks({"f": SMALL}, 1, text, job=kept)  # the old output is gone


class Mounts(BenchCase):
    def test_a_mount_that_hangs_does_not_hang_the_tests(self):
        mount = self.mount()
        (mount.place / "f").write_bytes(b"data")
        os.kill(mount.process.pid, signal.SIGSTOP)
        began = time.monotonic()
        with mock.patch.object(bench, "SECONDS", 1):
            with self.assertRaisesRegex(AssertionError, "hangs"):
                self.run_in(self.dir, "encrypt", *KEY, mount.place / "f")
        self.assertLess(time.monotonic() - began, 10)

    def check_ends_with_its_tests(self, server):
        """Tests that are killed leave no mount."""
        script = ("import pathlib, sys, time, bench\n"
                  f"mount = bench.Mount(pathlib.Path(sys.argv[1]){server})\n"
                  "print(mount.reason or 'mounted', flush=True)\ntime.sleep(60)")
        top = self.path("killed")
        process = subprocess.Popen([sys.executable, "-B", "-c", script, str(top)], cwd=bench.HERE,
                                   stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"mounted\n")
        self.assertTrue(os.path.ismount(top / "m"))
        process.kill()
        process.wait()
        process.stdout.close()
        self.wait_for(lambda: not os.path.ismount(top / "m"), "the end of the mount")

    def test_killed_tests_leave_no_mount(self):
        self.check_ends_with_its_tests("")

    def test_killed_tests_leave_no_sshfs(self):
        sftp_server()
        self.check_ends_with_its_tests(", bench.sshfs()")

    def test_a_server_that_ends_is_a_reason(self):
        sftp_server()
        with self.assertRaisesRegex(AssertionError, "\\w"):
            self.mount(sshfs("-o", "no_such_option"))

    def test_a_place_that_does_not_mount_is_a_reason(self):
        with self.assertRaisesRegex(AssertionError, "m"):
            self.mount(lambda back, place: ["false"])
