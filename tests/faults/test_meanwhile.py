"""What others do to files and folders while a run is at work: nothing is lost or mixed, and nothing
outside the named folders is touched."""

import os
import resource
import shutil
import subprocess
import threading
import unittest

from faults import KEY, MIB, SMALL, FaultCase, Strace, pattern, preloaded, strace_reason

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", "00" * 16]
CBC = ["--format", "raw", "--mode", "cbc", "--iv-hex", "00" * 16]
NO_OPENAT2 = "openat2:error=ENOSYS"
LIMIT = 60


class HeldCase(FaultCase):
    """Runs that wait at one of their system calls."""

    def setUp(self):
        super().setUp()
        if strace_reason():
            self.skipTest(strace_reason())

    def held(self, call, number, meddle, *args, inject=()):
        """Calls meddle() while the run waits at its `number`-th `call`."""
        log = self.path("strace.log")

        def when_it_waits():
            self.wait_for(lambda: log.exists() and
                          log.read_bytes().count(call.encode() + b"(") >= number, call)
            meddle()

        thread = threading.Thread(target=when_it_waits)
        thread.start()
        run = Strace(self, *args, inject=[f"{call}:delay_enter=500000:when={number}", *inject])
        thread.join()
        return run


class Swaps(HeldCase):
    """A folder below the one that was named becomes a symbolic link to somewhere else."""

    OUTSIDE = b"not in the tree"

    def setUp(self):
        super().setUp()
        self.make_trees()

    def make_trees(self):
        for name in ("t/a", "t/sub/deep/b", "outside/deep/b", "outside/b"):
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.write(name, self.OUTSIDE if name.startswith("outside") else SMALL)
        self.outside = self.tree("outside")

    def tree(self, top):
        return {os.path.join(folder, name): self.read(os.path.join(folder, name))
                for folder, _, names in os.walk(self.path(top)) for name in names}

    def swap(self, name, target):
        os.rename(self.path(name), self.path("moved"))
        os.symlink(target, self.path(name))

    def check_outside(self):
        self.assertEqual(self.tree("outside"), self.outside)

    def each_way(self):
        """With openat2, and on systems and in sandboxes without it."""
        for inject in ((), (NO_OPENAT2,), ("openat2:error=EPERM",)):
            with self.subTest(inject=inject):
                yield inject
            for name in set(self.names()) - {"k"}:
                if self.path(name).is_symlink():
                    self.path(name).unlink()
                else:
                    shutil.rmtree(self.path(name))
            self.make_trees()

    def test_of_inputs(self):
        for inject in self.each_way():
            run = self.held("pwrite64", 1, lambda: self.swap("t/sub", "../outside"), "encrypt", "-r",
                            "--rm", *KEY, "-T", "1", "t", inject=inject)
            self.assertEqual(run.done.returncode, 3, run.done.stderr)
            self.assertIn(b"t/sub", run.done.stderr)
            self.assertIn(b"symbolic link", run.done.stderr)
            self.check_outside()
            self.assertEqual(self.read("moved/deep/b"), SMALL)

    def test_of_the_last_folder(self):
        for inject in self.each_way():
            run = self.held("pwrite64", 1, lambda: self.swap("t/sub/deep", "../../outside/deep"),
                            "encrypt", "-r", "--rm", *KEY, "-T", "1", "t", inject=inject)
            self.assertEqual(run.done.returncode, 3, run.done.stderr)
            self.check_outside()

    def test_of_a_file(self):
        def swap():
            self.path("t/sub/deep/b").unlink()
            os.symlink("../../../outside/b", self.path("t/sub/deep/b"))

        for inject in self.each_way():
            run = self.held("pwrite64", 1, swap, "encrypt", "-r", "--rm", *KEY, "-T", "1", "t",
                            inject=inject)
            self.assertEqual(run.done.returncode, 3, run.done.stderr)
            self.check_outside()

    def test_of_a_file_for_a_pipe(self):
        # That nobody writes to: it must not be waited for.
        def swap():
            self.path("t/sub/deep/b").unlink()
            os.mkfifo(self.path("t/sub/deep/b"))

        for inject in self.each_way():
            run = self.held("pwrite64", 1, swap, "encrypt", "-r", *KEY, "-T", "1", "t",
                            inject=inject)
            self.assertEqual(run.done.returncode, 3, run.done.stderr)
            self.assertIn(b"no longer a regular file", run.done.stderr)

    def test_of_outputs(self):
        for inject in self.each_way():
            run = self.held("pwrite64", 1, lambda: self.swap("out/t/sub", "../../outside"),
                            "encrypt", "-r", "--rm", *KEY, "-T", "1", "-o", "out", "t",
                            inject=inject)
            self.assertEqual(run.done.returncode, 3, run.done.stderr)
            self.check_outside()
            self.assertEqual(self.read("t/sub/deep/b"), SMALL)

    def test_between_the_output_and_the_removal(self):
        # At the first sync of a folder, when all outputs are there.
        for inject in self.each_way():
            shutil.copytree(self.path("t/sub/deep"), self.path("outside/deep"), dirs_exist_ok=True)
            self.outside = self.tree("outside")
            run = self.held("fsync", 3, lambda: self.swap("t/sub", "../outside"), "encrypt", "-r",
                            "--rm", *KEY, "-T", "1", "-o", "out", "t", inject=inject)
            self.assertEqual(run.done.returncode, 3, run.done.stderr)
            self.assertIn(b"was not removed", run.done.stderr)
            self.check_outside()

    def test_of_the_argument_itself(self):
        # It was open: what is done is done in the folder that was named.
        for inject in self.each_way():
            run = self.held("pwrite64", 1, lambda: self.swap("t", "outside"), "encrypt", "-r", "--rm",
                            *KEY, "-T", "1", "t", inject=inject)
            self.assertEqual(run.done.returncode, 0, run.done.stderr)
            self.check_outside()
            self.assertEqual(sorted(os.listdir(self.path("moved"))), ["a.paes", "sub"])

    def test_of_one_among_many_arguments(self):
        # More than a run holds descriptors for.
        names = [f"x{i:02}" for i in range(30)]
        for name in names:
            self.path(name).mkdir()
            self.write(f"{name}/f", SMALL)
        run = self.held("pwrite64", 1, lambda: self.swap("x29", "outside"), "encrypt", "-r", "--rm",
                        *KEY, "-T", "1", *names)
        self.assertEqual(run.done.returncode, 3, run.done.stderr)
        self.assertIn(b"another folder has taken its place", run.done.stderr)
        self.check_outside()
        self.assertEqual(os.listdir(self.path("moved")), ["f"])

    def test_openat2_was_used_and_was_not(self):
        # Else the tests above say less than they seem to.
        for inject, expected in (([], True), ([NO_OPENAT2], False)):
            run = Strace(self, "encrypt", "-r", "-f", *KEY, "-T", "1", "t", inject=inject)
            self.assertEqual(run.done.returncode, 0, run.done.stderr)
            works = any("openat2(" in line and "= -1" not in line for line in run.text.splitlines())
            self.assertEqual(works, expected)


class Changes(HeldCase):
    """Inputs that are overwritten while they are read, without a change of their size."""

    def setUp(self):
        super().setUp()
        # More than is read before the first write.
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

    RUNS = (("encrypt", [], "f"), ("encrypt", CTR, "f"), ("encrypt", CBC, "f"),
            ("decrypt", [], "g.paes"), ("decrypt", CBC, "g.cbc"))

    def test_to_a_file(self):
        for verb, flags, source in self.RUNS:
            for rm in ([], ["--rm"]):
                with self.subTest(verb=verb, flags=flags, rm=rm):
                    shutil.copyfile(self.path(source), self.path("s"))
                    run = self.held("pwrite64", 1, self.overwrite("s"), verb, *KEY, *flags, *rm, "-T",
                                    "1", "-o", "out", "s")
                    self.assertEqual(run.done.returncode, 1, run.done.stderr)
                    self.assertRegex(run.done.stderr,
                                     rb"\Aparaes: s was written to while it was read[^\n]*\n\Z")
                    self.assertFalse(self.path("out").exists())
                    self.assertEqual(self.path("s").stat().st_size,
                                     self.path(source).stat().st_size)
                    self.path("s").unlink()

    def test_verify(self):
        shutil.copyfile(self.path("g.paes"), self.path("s"))
        run = self.held("pread64", 9, self.overwrite("s"), "verify", *KEY, "-T", "1", "s")
        self.assertEqual(run.done.returncode, 1, run.done.stderr)
        self.assertIn(b"s was written to while it was read", run.done.stderr)

    def test_standard_input(self):
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
                self.assertIn(b"standard input was written to while it was read",
                              process.stderr.read())

    def test_among_several(self):
        # What was read before the change is done already, and stays.
        self.write("a", b"1")
        shutil.copyfile(self.path("f"), self.path("s"))
        run = self.held("pwrite64", 4, self.overwrite("s"), "encrypt", "--rm", *KEY, "-T", "1", "a",
                        "s")
        self.assertEqual(run.done.returncode, 3, run.done.stderr)
        self.assertIn(b"s was written to while it was read", run.done.stderr)
        self.assertEqual(self.names(), ["a.paes", "f", "g.cbc", "g.paes", "k", "s"])

    def test_a_source_that_is_read_only_by_others_is_no_change(self):
        # Reading changes the time of access, removing a hard link the time of the last change.
        os.link(self.path("f"), self.path("h"))

        def read():
            self.read("f")
            self.path("h").unlink()

        run = self.held("pwrite64", 2, read, "encrypt", "--rm", *KEY, "-T", "1", "-o", "out", "f")
        self.assertEqual((run.done.returncode, run.done.stderr), (0, b""))


class SecretsMeanwhile(HeldCase):
    def test_a_key_that_appears_where_the_output_goes(self):
        self.write("f", SMALL)
        self.write("out", b"old")
        run = self.held("pwrite64", 1, lambda: os.replace(self.path("k"), self.path("out")),
                        "encrypt", "-f", *KEY, "-T", "1", "-o", "out", "f")
        self.assertEqual(run.done.returncode, 2, run.done.stderr)
        self.assertIn(b"out is the file of --key-file, which is never overwritten",
                      run.done.stderr)
        self.assertEqual(self.read("out"), bytes(range(1, 33)))
        self.assertEqual(self.names(), ["f", "out"])


    def test_a_pipe_that_becomes_a_file(self):
        # A pipe is written in place: nothing else is.
        self.write("f", SMALL)
        os.mkfifo(self.path("out"))
        self.write("other", b"precious")
        # The last opening of all is that of the pipe.
        run = Strace(self, "encrypt", "-f", *KEY, "-T", "1", "-o", "k2", "f")
        opened = run.text.count("openat(")
        log = self.path("strace.log")

        def swap():
            os.replace(self.path("other"), self.path("out"))

        for number in range(opened - 4, opened + 2):
            self.path("k2").unlink(missing_ok=True)
            if not self.path("other").exists():
                self.path("out").unlink()
                os.mkfifo(self.path("out"))
                self.write("other", b"precious")
            reader = os.open(self.path("out"), os.O_RDONLY | os.O_NONBLOCK)
            thread = threading.Thread(target=lambda: (self.wait_for(
                lambda: log.exists() and log.read_bytes().count(b"openat(") >= number, "it"), swap()))
            thread.start()
            Strace(self, "encrypt", "-f", *KEY, "-T", "1", "-o", "out", "f",
                   inject=[f"openat:delay_enter=200000:when={number}"])
            thread.join()
            os.close(reader)
            if self.path("out").is_file():
                data = self.read("out")
                # Replaced as a whole, if it was a file from the start; never written into.
                if data != b"precious":
                    self.check_opens("out", SMALL)


class TwoRuns(FaultCase):
    """Two runs with one target, where files without names do not exist and locks hold on one host
    alone: Lustre, and NFS with local locks."""

    @classmethod
    def setUpClass(cls):
        shims = [preloaded(name)["LD_PRELOAD"] for name in ("PARAES_NO_TMPFILE",
                                                            "PARAES_ANOTHER_HOST")]
        cls.env = {**preloaded("PARAES_NO_TMPFILE"), "LD_PRELOAD": ":".join(shims)}

    def setUp(self):
        super().setUp()
        self.plain = {"a": pattern(3 * MIB + 1), "b": bytes(2 * MIB)}

    def begin(self, name, host, *flags):
        """A run that has written something and waits for the rest of its input."""
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

    def test_on_two_hosts(self):
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

    def test_on_hosts_of_one_name(self):
        # The second takes the first one's temporary for a leftover.
        first = self.begin("a", "same")
        second = self.begin("b", "same")
        status, text = self.end(first, "a")
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"\Aparaes: cannot write out: its temporary file \.out\.same\.[^\n]*\n\Z")
        self.assertFalse(self.path("out").exists())
        self.assertEqual(self.end(second, "b"), (0, ""))
        self.check_opens("out", self.plain["b"])
        self.assertEqual(self.left_over(), [])

    def test_leftovers_of_another_host_stay(self):
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

    def test_leftovers_of_other_targets_stay(self):
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

    def test_long_names(self):
        # The temporary's has at most 255 bytes too, and no half character.
        for name in ("n" * 255, "ü" * 127, "n" + "ü" * 127, "日" * 85):
            for host in ("h", "h" * 64):
                with self.subTest(name=name, host=host):
                    self.ok("encrypt", *KEY, "-o", name, "-", stdin=b"x",
                            env={"PARAES_TEST_HOST": host})
                    self.check_opens(name, b"x")
                    self.path(name).unlink()


class Leftovers(FaultCase):
    """A folder is read once for the leftovers of many targets."""

    def test_many_targets(self):
        if strace_reason():
            self.skipTest(strace_reason())
        host = os.uname().nodename.replace(".", "-")
        for i in range(20):
            self.write(f"f{i}", b"x")
            self.write(f".f{i}.paes.{host}.1.01234567.paraes-tmp", b"stale")
        run = Strace(self, "encrypt", *KEY, "-T", "1", *(f"f{i}" for i in range(20)))
        self.assertEqual(run.done.returncode, 0, run.done.stderr)
        self.assertEqual(self.left_over(), [])
        self.assertLessEqual(run.text.count("getdents64("), 3)


class Descriptors(FaultCase):
    def tree(self, top):
        return {os.path.relpath(os.path.join(folder, name), self.path(top)):
                self.read(os.path.join(folder, name))
                for folder, _, names in os.walk(self.path(top)) for name in names}

    def test_more_folders_than_descriptors(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

        for i in range(10000):
            self.path(f"t/{i // 100}/{i}").mkdir(parents=True)
            self.write(f"t/{i // 100}/{i}/f", b"%d" % i)
        files = self.tree("t")
        done = self.run_paraes("encrypt", "-r", "--rm", *KEY, "-o", "out", "t", preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.tree("t"), {})
        # As many arguments as there are descriptors, and more.
        names = [f"out/t/{i}" for i in range(100)]
        done = self.run_paraes("decrypt", "-r", "--rm", *KEY, *names, preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.tree("out/t"), files)


if __name__ == "__main__":
    unittest.main()
