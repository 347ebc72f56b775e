"""Files and folders that others change during a run: no data is lost or mixed, and nothing outside
the named folders is touched."""

import os
import resource
import shutil
import subprocess
import time
import unittest

from faults import KEY, MIB, POSIX_ONLY, SMALL, FaultCase, Strace, pattern, preloaded
from support import LONG
from trees import RAW, read_tree

CBC = ["--format", "raw", "--mode", "cbc", "--iv-hex", "00" * 16]
NO_OPENAT2 = "openat2:error=ENOSYS"
LIMIT = 60


class SwappedFolders(FaultCase):
    """A folder below the named one is replaced by a symbolic link that leads out of it."""

    OUTSIDE = b"not in the tree"

    def setUp(self):
        super().setUp()
        self.make_trees()

    def make_trees(self):
        for name in ("t/a", "t/sub/deep/b", "outside/deep/b", "outside/b"):
            self.write(name, self.OUTSIDE if name.startswith("outside") else SMALL)

    def check(self, interfere, status, *says, pause=("pwrite64", 1), args=("--rm", "t"),
              before=lambda: None, after=lambda: None):
        """Encrypts the tree, and calls interfere() while the run pauses: where openat2 works, where it
        is unknown, as to old kernels, and where it is forbidden, as in sandboxes."""
        for inject in ((), (NO_OPENAT2,), ("openat2:error=EPERM",)):
            for name in set(self.names()) - {"k"}:
                if self.path(name).is_symlink():
                    self.path(name).unlink()
                else:
                    shutil.rmtree(self.path(name))
            self.make_trees()
            before()
            outside = read_tree(self.path("outside"))
            with self.subTest(inject=inject):
                self.pause(*pause, interfere, "encrypt", "-r", *KEY, "-T", "1", *args, status=status,
                           says=says, inject=inject)
                self.assertEqual(read_tree(self.path("outside")), outside)
                after()

    def swapped(self, name, target):
        """A function that replaces a folder by a symbolic link."""
        def swap():
            os.rename(self.path(name), self.path("moved"))
            os.symlink(target, self.path(name))
        return swap

    def replaced(self, make):
        """A function that replaces an input file by what make(path) makes."""
        def replace():
            self.path("t/sub/deep/b").unlink()
            make(self.path("t/sub/deep/b"))
        return replace

    def test_swapped_input_folder_is_not_followed(self):
        self.check(self.swapped("t/sub", "../outside"), 3, b"t/sub", b"symbolic link",
                   after=lambda: self.assertEqual(self.read("moved/deep/b"), SMALL))

    def test_swapped_innermost_input_folder_is_not_followed(self):
        self.check(self.swapped("t/sub/deep", "../../outside/deep"), 3)

    def test_input_file_swapped_for_a_link_is_not_followed(self):
        self.check(self.replaced(lambda path: path.symlink_to("../../../outside/b")), 3)

    def test_input_file_swapped_for_a_pipe_is_refused(self):
        # Nobody writes to the pipe, so opening it must not block.
        self.check(self.replaced(os.mkfifo), 3, b"no longer a regular file", args=["t"])

    def test_swapped_output_folder_is_not_followed(self):
        self.check(self.swapped("out/t/sub", "../../outside"), 3, args=["--rm", "-o", "out", "t"],
                   after=lambda: self.assertEqual(self.read("t/sub/deep/b"), SMALL))

    def test_folder_swapped_before_rm_is_not_followed(self):
        # The third fsync is the first one of a folder: by then both outputs are complete.
        self.check(self.swapped("t/sub", "../outside"), 3, b"not removed", pause=("fsync", 3),
                   args=["--rm", "-o", "out", "t"], before=lambda: shutil.copytree(
                       self.path("t/sub/deep"), self.path("outside/deep"), dirs_exist_ok=True))

    def test_run_continues_in_the_opened_folder_if_the_argument_is_swapped(self):
        # The named folder is already open, and the run continues in it.
        self.check(self.swapped("t", "outside"), 0, after=lambda: self.assertEqual(
            sorted(os.listdir(self.path("moved"))), ["a.paes", "sub"]))

    def test_one_swapped_argument_of_many_is_refused(self):
        # More folders than a run keeps open.
        names = [f"x{i:02}" for i in range(30)]
        for name in names:
            self.write(f"{name}/f", SMALL)
        outside = read_tree(self.path("outside"))
        self.pause("pwrite64", 1, self.swapped("x29", "outside"), "encrypt", "-r", "--rm", *KEY, "-T", "1",
                   *names, status=3, says=[b"another folder has taken its place"])
        self.assertEqual(read_tree(self.path("outside")), outside)
        self.assertEqual(os.listdir(self.path("moved")), ["f"])

    @unittest.skipIf(POSIX_ONLY, "POSIX has no openat2: the tests above test one way twice")
    def test_injected_fault_disables_openat2(self):
        # Otherwise the tests above would not test both ways.
        for inject, expected in (([], True), ([NO_OPENAT2], False)):
            run = Strace(self, "encrypt", "-r", "-f", *KEY, "-T", "1", "t", inject=inject, status=0)
            works = any("openat2(" in line and "= -1" not in line for line in run.text.splitlines())
            self.assertEqual(works, expected)


class OverwrittenInputs(FaultCase):
    """Inputs that are overwritten while they are read, with their size unchanged."""

    def setUp(self):
        super().setUp()
        # Larger than what is read before the first write.
        self.plain = pattern(12 * MIB)
        self.write("f", self.plain)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")
        self.ok("encrypt", *CBC, *KEY, "-o", "g.cbc", "f")

    def overwrite(self, name):
        def change():
            with open(self.path(name), "r+b") as f:
                f.seek(11 * MIB)
                f.write(b"something else")

        return change

    RUNS = (("encrypt", [], "f"), ("encrypt", RAW, "f"), ("encrypt", CBC, "f"),
            ("decrypt", [], "g.paes"), ("decrypt", CBC, "g.cbc"))

    def test_overwritten_input_leaves_no_output_file(self):
        for verb, flags, source in self.RUNS:
            for rm in ([], ["--rm"]):
                with self.subTest(verb=verb, flags=flags, rm=rm):
                    shutil.copyfile(self.path(source), self.path("s"))
                    text = self.pause("pwrite64", 1, self.overwrite("s"), verb, *KEY, *flags, *rm,
                                      "-T", "1", "-o", "out", "s", status=1)
                    self.assertRegex(
                        text, rb"\Aparaes: s: it was written to while it was read[^\n]*\n\Z")
                    self.assertFalse(self.path("out").exists())
                    self.assertEqual(self.path("s").stat().st_size,
                                     self.path(source).stat().st_size)
                    self.path("s").unlink()

    def test_verify_fails_on_an_overwritten_input(self):
        shutil.copyfile(self.path("g.paes"), self.path("s"))
        self.pause("pread64", 9, self.overwrite("s"), "verify", *KEY, "-T", "1", "s", status=1,
                   says=[b"s: it was written to while it was read"])

    def test_overwritten_standard_input_fails(self):
        for verb, flags, source in self.RUNS:
            with self.subTest(verb=verb, flags=flags):
                shutil.copyfile(self.path(source), self.path("s"))
                with open(self.path("s"), "rb") as stdin:
                    process = self.start(verb, *KEY, *flags, "-T", "1", "-c", "-", stdin=stdin,
                                         stdout=subprocess.PIPE)
                self.addCleanup(process.stdout.close)
                process.stdout.read(1000)
                self.overwrite("s")()
                process.stdout.read()
                self.assertEqual(process.wait(LIMIT), 1)
                self.assertIn(b"standard input: it was written to while it was read",
                              process.stderr.read())

    def test_overwritten_input_among_several_fails_alone(self):
        # The first file is complete before the change, and its output stays.
        self.write("a", b"1")
        shutil.copyfile(self.path("f"), self.path("s"))
        self.pause("pwrite64", 4, self.overwrite("s"), "encrypt", "--rm", *KEY, "-T", "1", "a", "s",
                   status=3, says=[b"s: it was written to while it was read"])
        self.assertEqual(self.names(), ["a.paes", "f", "g.cbc", "g.paes", "k", "s"])

    def test_reading_and_unlinking_the_input_is_no_change(self):
        # Reading changes the atime, removing a hard link the ctime.
        os.link(self.path("f"), self.path("h"))

        def read():
            self.read("f")
            self.path("h").unlink()

        text = self.pause("pwrite64", 2, read, "encrypt", "--rm", *KEY, "-T", "1", "-o", "out", "f",
                          status=0)
        self.assertEqual(text, b"")


class OutputsThatChange(FaultCase):
    def test_key_file_moved_to_the_output_is_not_overwritten(self):
        self.write("f", SMALL)
        self.write("out", b"old")
        self.pause("pwrite64", 1, lambda: os.replace(self.path("k"), self.path("out")),
                   "encrypt", "-f", *KEY, "-T", "1", "-o", "out", "f", status=2,
                   says=[b"out: it is the file of --key-file, which is never overwritten"])
        self.assertEqual(self.read("out"), bytes(range(1, 33)))
        self.assertEqual(self.names(), ["f", "out"])

    def test_file_that_replaces_an_output_pipe_is_not_written_in_place(self):
        # Only pipes and devices are written in place.
        self.write("f", SMALL)
        # The output is opened by one of the last calls of openat.
        run = Strace(self, "encrypt", "-f", *KEY, "-T", "1", "-o", "k2", "f")
        opened = run.text.count("openat(")
        swaps = []

        def swap():
            os.replace(self.path("other"), self.path("out"))
            swaps.append(True)

        # It takes a thread of this process to look while paraes waits: on a busy machine, several
        # rounds.
        end = time.monotonic() + LIMIT
        while len(swaps) < 2 and time.monotonic() < end:
            for number in range(opened - 4, opened + 2):
                self.path("out").unlink(missing_ok=True)
                os.mkfifo(self.path("out"))
                self.write("other", b"precious")
                reader = os.open(self.path("out"), os.O_RDONLY | os.O_NONBLOCK)
                # A run that writes to a pipe may make fewer calls.
                self.pause("openat", number, swap, "encrypt", "-f", *KEY, "-T", "1", "-o", "out", "f",
                           status=None, may_end=True)
                os.close(reader)
                # A file is replaced as a whole, never written in place.
                if self.path("out").is_file() and self.read("out") != b"precious":
                    self.check_opens("out", SMALL)
        self.assertGreaterEqual(len(swaps), 2, "the pipe was not swapped while paraes ran")


class TwoRuns(FaultCase):
    """Two runs with one target, without O_TMPFILE and with locks that hold on one host only, as on
    Lustre and on NFS with local locks."""

    @classmethod
    def setUpClass(cls):
        shims = [preloaded(name)["LD_PRELOAD"] for name in ("PARAES_NO_TMPFILE",
                                                            "PARAES_ANOTHER_HOST")]
        cls.env = {**preloaded("PARAES_NO_TMPFILE"), "LD_PRELOAD": ":".join(shims)}

    def setUp(self):
        super().setUp()
        self.plain = {"a": pattern(3 * MIB + 1), "b": bytes(2 * MIB)}

    def begin(self, name, host, *flags):
        """Starts a run that has written some output and waits for the rest of its input."""
        before = set(self.left_over())
        process = self.start("encrypt", *KEY, *flags, "-o", "out", "-", stdin=subprocess.PIPE,
                             env={"PARAES_TEST_HOST": host})
        process.stdin.write(self.plain[name][:2 * MIB - 1])
        process.stdin.flush()
        self.wait_for(lambda: set(self.left_over()) - before and self.path(
            (set(self.left_over()) - before).pop()).stat().st_size > 0, "a temporary")
        return process

    def end(self, process, name):
        process.stdin.write(self.plain[name][2 * MIB - 1:])
        process.stdin.close()
        return process.wait(LIMIT), process.stderr.read().decode()

    def test_runs_on_two_hosts_do_not_mix_their_outputs(self):
        for force in ([], ["-f"]):
            with self.subTest(force=force):
                if force:
                    self.write("out", b"old")
                first = self.begin("a", "one", *force)
                second = self.begin("b", "two", *force)
                self.assertEqual(len(self.left_over()), 2)
                self.assertEqual(self.end(first, "a"), (0, ""))
                self.check_opens("out", self.plain["a"])
                status, text = self.end(second, "b")
                if force:
                    self.assertEqual((status, text), (0, ""))
                    self.check_opens("out", self.plain["b"])
                else:
                    self.assertEqual(status, 2)
                    self.assertIn("appeared while its contents were written", text)
                    self.check_opens("out", self.plain["a"])
                self.assertEqual(self.left_over(), [])
                self.path("out").unlink()

    def test_run_whose_temporary_was_removed_fails(self):
        # The second run takes the temporary of the first one for a leftover, and removes it.
        first = self.begin("a", "same")
        second = self.begin("b", "same")
        status, text = self.end(first, "a")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"\Aparaes: out: cannot write it: its temporary file \.out\.same\.[^\n]*\n\Z")
        self.assertFalse(self.path("out").exists())
        self.assertEqual(self.end(second, "b"), (0, ""))
        self.check_opens("out", self.plain["b"])
        self.assertEqual(self.left_over(), [])

    def test_leftovers_of_another_host_are_kept(self):
        for host, gone in (("two", False), ("one.example.org", False), ("one", True)):
            process = self.begin("a", "one")
            process.kill()
            process.stdin.close()
            process.wait()
            self.assertEqual(len(self.left_over()), 1)
            self.assertRegex(self.left_over()[0],
                             rf"\A\.out\.one\.{process.pid}\.[0-9a-f]{{8}}\.paraes-tmp\Z")
            self.ok("encrypt", *KEY, "-f", "-o", "out", "-", stdin=b"x",
                    env={"PARAES_TEST_HOST": host})
            self.assertEqual(self.left_over() == [], gone, host)
            for name in ("out", *self.left_over()):
                self.path(name).unlink()

    def test_leftovers_of_other_targets_are_kept(self):
        others = [".other.one.1.01234567.paraes-tmp", ".out.x.one.1.01234567.paraes-tmp",
                  ".out.one.1.0123456.paraes-tmp", ".out.one.x.01234567.paraes-tmp",
                  "out.one.1.01234567.paraes-tmp", ".out.paraes-tmp", ".paraes-tmp"]
        mine = ".out.one.1.01234567.paraes-tmp"
        for name in (*others, mine):
            self.write(name, b"")
        os.symlink("k", self.path(".out.one.1.fedcba98.paraes-tmp"))
        self.ok("encrypt", *KEY, "-o", "out", "-", stdin=b"x", env={"PARAES_TEST_HOST": "one"})
        self.assertEqual(self.names(), sorted([*others, ".out.one.1.fedcba98.paraes-tmp", "k",
                                               "out"]))

    def test_temporaries_of_long_names_fit_into_255_bytes(self):
        # The name of the temporary has at most 255 bytes too, and no partial UTF-8 character.
        for name in ("n" * 255, "ü" * 127, "n" + "ü" * 127, "日" * 85):
            for host in ("h", "h" * 64):
                with self.subTest(name=name, host=host):
                    self.ok("encrypt", *KEY, "-o", name, "-", stdin=b"x",
                            env={"PARAES_TEST_HOST": host})
                    self.check_opens(name, b"x")
                    self.path(name).unlink()


class LargeFolders(FaultCase):
    """A folder of so many names that to list them takes longer than to encrypt a small file."""

    LEFT = "large/.out.one.1.01234567.paraes-tmp"

    @classmethod
    def setUpClass(cls):
        cls.env = preloaded("PARAES_ANOTHER_HOST")

    def setUp(self):
        super().setUp()
        large = self.path("large")
        large.mkdir()
        for number in range(100_000):
            if large.stat().st_size > 256 << 10:
                return
            (large / f"{number:0200}").touch()
        self.skipTest("this file system does not say how large a folder is")

    def keeps_leftover(self, *flags, **env):
        self.write(self.LEFT, b"")
        self.ok("encrypt", *KEY, *flags, "-o", "large/out", "-", stdin=b"x",
                env={"PARAES_TEST_HOST": "one", **env})
        return self.path(self.LEFT).exists()

    def test_leftovers_go_where_a_killed_run_could_leave_one(self):
        self.assertTrue(self.keeps_leftover(), "the folder was listed for an unnamed file")
        self.assertFalse(self.keeps_leftover("-f"))
        self.path("large/out").unlink()
        shims = [self.env["LD_PRELOAD"], preloaded("PARAES_NO_TMPFILE")["LD_PRELOAD"]]
        self.assertFalse(self.keeps_leftover(LD_PRELOAD=":".join(shims)))


class Descriptors(FaultCase):
    def test_thousands_of_folders_round_trip_with_64_descriptors(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        files = {f"{i % 100}/{i}/f": b"%d" % i for i in range(10000 if LONG else 2000)}
        for name, data in files.items():
            self.write(f"t/{name}", data)
        done = self.run_paraes("encrypt", "-r", "--rm", *KEY, "-o", "out", "t", preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_tree(self.path("t")), {})
        # More arguments than there may be descriptors.
        names = [f"out/t/{name}" for name in os.listdir(self.path("out/t"))]
        done = self.run_paraes("decrypt", "-r", "--rm", *KEY, *names, preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read_tree(self.path("out/t")), files)
