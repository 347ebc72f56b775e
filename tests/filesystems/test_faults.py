"""File systems that fail late, fill up, lose times, say wrong sizes, or do what they deny."""

import os
import time

from bench import KEY, LONG, BenchCase, Job, is_bytes, sample, setUpModule  # noqa: F401
from support import pattern

MIB = 1 << 20
LARGE = pattern(5 * MIB + 100)
QUICK = ("encrypt", "encrypt -f --rm", "rekey to a key", "decrypt two --rm", "decrypt -o --rm",
         "encrypt -r --rm")


class FaultsCase(BenchCase):
    def check_kinds(self, count=3, names=None, **kinds):
        """Runs jobs on a mount of each kind of switches, and checks the rule; returns the runs by kind and
        name. `_works` and `_times`, and `_code`, are for check_job."""
        found = {}
        for kind, switches in kinds.items():
            how = {name[1:]: value for name, value in switches.items() if name.startswith("_")}
            mount = self.mount(**{name: value for name, value in switches.items() if name[0] != "_"})
            runs = self.check_jobs(
                mount, names or (self.jobs if LONG else sample(QUICK, count, kind)), **how)
            found |= {(kind, name): run for name, run in runs.items()}
        return found


class Late(FaultsCase):
    """Writes are delayed, and fail when a file is closed or synchronised."""

    def check_ends(self, runs):
        for (kind, name), done in runs.items():
            self.assertNotEqual(done.returncode, 0, f"{kind}, {name}")

    def test_errors_at_close(self):
        kinds = {f"{code}, {inodes}": {"fail": {"flush": code}, "inodes": inodes, "_code": code}
                 for code in ("EIO", "ENOSPC", "EDQUOT") for inodes in ("true", "by_name")}
        self.check_ends(self.check_kinds(names=self.writing() if LONG else QUICK[:2], **kinds))

    def test_errors_at_fsync(self):
        kinds = {code: {"fail": {"fsync": code}, "_code": code} for code in ("EIO", "ENOSPC", "EDQUOT")}
        self.check_ends(self.check_kinds(names=self.writing() if LONG else QUICK[2:], **kinds))

    def writing(self):
        """Jobs that write to the mount."""
        return [name for name, (job, onto) in self.jobs.items()
                if any(not onto or out.startswith("m/") for out in job.wanted)]

    def test_errors_of_writes(self):
        kinds = {code: {"fail": {"write": code}, "_code": code} for code in ("EIO", "EROFS", "ENOSPC")}
        self.check_ends(self.check_kinds(names=["encrypt", "decrypt two --rm", "rekey to a key"], **kinds))

    def test_errors_of_reads(self):
        kinds = {code: {"fail": {"read": code}, "_code": code} for code in ("EIO", "EACCES", "ESTALE")}
        runs = self.check_kinds(names=["encrypt", "decrypt two --rm", "verify", "encrypt -r --rm"], **kinds)
        for done in runs.values():
            self.assertNotEqual(done.returncode, 0, done)


class Limits(FaultsCase):
    """No file may grow past 4 MiB: a full disk, a quota, FAT's limit at a smaller size."""

    def setUp(self):
        super().setUp()
        message = self.sealed(*KEY, data=LARGE)
        opens = self.opens(*KEY, plain=LARGE)
        self.jobs = {
            "encrypt --rm": (Job({"f": LARGE}, ["encrypt", "-q", *KEY, "--rm", "f"], {"f.paes": opens}), False),
            "encrypt -o": (Job({"f": LARGE}, ["encrypt", "-q", *KEY, "-o", "m/f.paes", "f"],
                               {"m/f.paes": opens}), True),
            "encrypt -f": (Job({"f": LARGE, "f.paes": message}, ["encrypt", "-q", *KEY, "-f", "f"],
                               {"f.paes": opens}), False),
            "encrypt two": (Job({"f": LARGE, "g": b"small"}, ["encrypt", "-q", *KEY, "--rm", "f", "g"],
                                {"f.paes": opens, "g.paes": self.opens(*KEY, plain=b"small")}), False),
            "decrypt --rm": (Job({"f.paes": message}, ["decrypt", "-q", *KEY, "--rm", "f.paes"],
                                 {"f": is_bytes(LARGE)}), False),
            "rekey": (Job({"f.paes": message}, ["rekey", "-q", *KEY, "--to-key-file", "k2", "f.paes"],
                          {"f.paes": self.opens("-k", "k2", plain=LARGE)}), False),
            "verify": (Job({"f.paes": message}, ["verify", "-q", *KEY, "f.paes"], {}), False),
        }

    def test_each_error(self):
        for code in ("ENOSPC", "EFBIG", "EDQUOT"):
            for inodes in ("true", "by_name") if LONG else sample(("true", "by_name"), 1, code):
                names = self.jobs if LONG else sample(list(self.jobs), 3, code)
                runs = self.check_jobs(self.mount(limit=[4 * MIB, code], inodes=inodes), names, code=code)
                for name, done in runs.items():
                    self.assertEqual(done.returncode, {"verify": 0, "encrypt two": 3}.get(name, 1), done)


class Times(FaultsCase):
    def test_libfuse_2_keeps_them(self):
        """It ignores calls that set one of both times."""
        self.check_kinds(count=4, real={"times": "omit", "_works": True, "_times": 1},
                        made_up=dict(times="omit", inodes="by_name", _works=True, _times=1))

    def test_rounded_to_two_seconds(self):
        self.check_kinds(count=4, rounded={"times": "2s", "_works": True})

    def test_dropped(self):
        self.check_kinds(dropped={"times": "drop", "_works": True})

    def test_a_second_update_does_nothing(self):
        """Times were rounded or lost on the way, and the outputs are up to date."""
        for times in ("2s", "drop", "omit"):
            for inodes in ("true", "by_name"):
                with self.subTest(times, inodes=inodes):
                    mount = self.mount(times=times, inodes=inodes)
                    self.write("f", b"data")
                    run = ["encrypt", "-q", *KEY, "--update", "-o", mount.place / "f.paes", "f"]
                    self.outcome(*run)
                    before = (mount.back / "f.paes").read_bytes()
                    self.outcome(*run)
                    self.assertEqual((mount.back / "f.paes").read_bytes(), before)
                    self.check_opens(mount.back / "f.paes", b"data")
                    self.write("f", b"newer")
                    os.utime(self.path("f"), (time.time() + 100, time.time() + 100))
                    self.outcome(*run)
                    self.check_opens(mount.back / "f.paes", b"newer")

    def test_update_says_that_times_are_dropped(self):
        """Then an input that an older one replaced is noticed by its size."""
        mount = self.mount(times="drop")
        self.write("f", b"data")
        run = ["encrypt", *KEY, "--update", "-o", mount.place / "f.paes", "f"]
        self.assertNotIn(b"drops the times", self.run_in(self.dir, *run).stderr)
        os.utime(self.path("f"), (1, 1))
        done = self.run_in(self.dir, *run)
        self.assertEqual(done.stderr.count(b"drops the times"), 1, done.stderr)
        self.assertIn(b"up to date", done.stderr)
        self.write("f", b"longer")
        os.utime(self.path("f"), (1, 1))
        self.outcome(*run)
        self.check_opens(mount.back / "f.paes", b"longer")
        self.assertEqual([path.name for path in mount.back.iterdir()], ["f.paes"])

    def test_attributes_that_are_lost_are_named(self):
        self.write("f", b"data")
        os.setxattr(self.path("f"), "user.origin", b"here")
        mount = self.mount()
        run = ["encrypt", "-v", "--xattrs", *KEY, "-o", mount.place / "f.paes", "f"]
        self.assertIn(b"f.paes: not kept: user.origin", self.run_in(self.dir, *run).stderr)
        self.check_opens(mount.back / "f.paes", b"data")

    def test_modified_all_the_time(self):
        """A source whose time is always now seems to change while it is read."""
        self.check_kinds(now={"times": "now"}, made_up=dict(times="now", inodes="by_name"))


class Sizes(FaultsCase):
    """Sizes that are not those of the files, as of /proc, or of files that grow on a server. A message may
    then seem to be damaged."""

    def check_sizes(self, sizes):
        how = {"sizes": sizes, "_statuses": (0, 1, 2, 3, 4)}
        self.check_kinds(count=4, **{sizes: how, f"{sizes}, made up": {"inodes": "by_name", **how}})

    def test_zero(self):
        self.check_sizes("zero")

    def test_too_big(self):
        self.check_sizes("big")


class Repeated(FaultsCase):
    """The answer of a call is lost, and its repetition fails: it says that it failed, and was done."""

    def test_each(self):
        named = {"tmpfile": "ENOSYS"}
        kinds = {
            "rename": dict(after={"rename": "ENOENT"}, fail=named, _code="ENOENT"),
            "rename2": dict(after={"rename2": "EEXIST"}, fail=named),
            "rename2 and EIO": dict(after={"rename2": "EIO"}, fail=named, _code="EIO"),
            "link": dict(after={"link": "EEXIST"}),
            "link and EIO": dict(after={"link": "EIO"}, _code="EIO"),
            "unlink": dict(after={"unlink": "ENOENT"}, _code="ENOENT"),
            "mkdir": dict(after={"mkdir": "EEXIST"}, _works=True),
            "create": dict(after={"create": "EEXIST"}, fail=named, _without_unlink=True),
        }
        self.check_kinds(**kinds)

    def test_no_rename_onto_existing_files(self):
        """Of SFTP without its extension: an old output stays, or is replaced."""
        kinds = {code + inodes: dict(no_replace=code, inodes=inodes, _code=code)
                 for code in ("EPERM", "EEXIST", "EIO") for inodes in ("true", "by_name")}
        self.check_kinds(names=["encrypt -f", "encrypt -f --rm", "decrypt -f", "rekey to a key"]
                        if LONG else ["encrypt -f --rm", "rekey to a key"], **kinds)
