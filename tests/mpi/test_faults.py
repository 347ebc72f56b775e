"""Ranks that are killed, find no room, see other files, have other flags or another binary: all end
within ten seconds, not with 0, nothing is under the final name, and the next run clears up."""

import os
import pathlib
import random
import signal
import tempfile
import time
import unittest

from ranks import (
    KEY,
    LIMIT,
    LONG,
    MIB,
    OPEN_MPI,
    PROGRAM,
    SCATTER,
    SHARED,
    SLOW,
    WAYS,
    MpiCase,
    messages,
    pattern,
    remove_shared_memory,
    shared_memory,
)
from test_full import namespace

KILLS = int(os.environ.get("PARAES_MPI_KILLS", "500" if LONG else "20"))
SEED = int(os.environ.get("PARAES_SEED", "1"))
OLD = b"precious" * 1000
PLAIN = pattern(12 * MIB + 100)


class FaultCase(MpiCase):
    # What the runs are: verb, input, target.
    RUNS = (("encrypt", "f", "f.paes"), ("decrypt", "g.paes", "g"))

    def setUp(self):
        super().setUp()
        self.addCleanup(remove_shared_memory, shared_memory())
        self.plain = PLAIN
        self.write("f", self.plain)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")
        self.sealed = self.read("g.paes")
        self.before = self.names()

    def whole(self, verb, target):
        """Whether the target is what the run was to make; all else is a failure, but the old one."""
        if not self.path(target).exists():
            return False
        if self.path(target).stat().st_size == len(OLD):
            self.assertEqual(self.read(target), OLD)
            return False
        made = self.read(target) if verb == "decrypt" else self.ok("decrypt", *KEY, "-c", target)
        self.same(made, self.plain, f"{target} is there and not whole")
        return True

    def check_failed(self, done, target, status=None, says=()):
        """A failure in good order: one line, no target, no temporary."""
        if status is None:
            self.assertNotEqual(done.returncode, 0, done.stderr.decode())
        else:
            self.failed(done, status, says)
        self.assertFalse(self.path(target).exists(), f"{target} exists")
        self.assertEqual(self.left_over(), [])

    def check_next_run(self, verb, source, target, ranks=2, way=SHARED):
        """What a killed run left is in nobody's way, and goes."""
        force = ["-f"] if self.path(target).exists() else []
        if ranks:
            self.mpi(ranks, verb, *force, *way, *KEY, "-o", target, source)
        else:
            self.ok(verb, *force, *KEY, "-o", target, source)
        self.assertTrue(self.whole(verb, target))
        self.assertEqual(self.names(), sorted({*self.before, target}))
        self.path(target).unlink()


class Kills(FaultCase):
    def at_random_moments(self, kills, number):
        choose = random.Random(f"{SEED} {self.id()}")
        usual = {}
        ends = {"finished": 0, "whole": 0, "absent or old": 0, "with a temporary": 0}
        slowest = 0
        for i in range(kills):
            verb, source, target = self.RUNS[i % 2]
            way = WAYS[i // 2 % 2]
            ranks = choose.choice((2, 3, 4))
            old = choose.random() < 0.3
            if old:
                self.write(target, OLD)
            args = self.command(ranks, verb, *(["-f"] if old else []), *way, *SLOW, *KEY, "-o", target,
                                source)
            if way[1] not in usual:
                run = self.at_work(self.command(ranks, verb, *way, *SLOW, *KEY, "-o", "usual", source))
                start = time.monotonic()
                self.assertEqual(run.end()[0], 0)
                usual[way[1]] = time.monotonic() - start
                self.path("usual").unlink()
            share = choose.uniform(0, 1.1)
            with self.subTest(number=i, verb=verb, way=way[1], ranks=ranks, old=old, share=share):
                run = self.at_work(args)
                if i % 3 == 0 and way is SHARED:
                    # Where the temporary is surely there.
                    self.wait_for(lambda: run.over() or self.left_over(), "a temporary")
                else:
                    time.sleep(share * usual[way[1]])
                there = sorted(run.ranks().items())
                if there:
                    _, pid = choose.choice(there)
                    try:
                        os.kill(pid, number)
                    except ProcessLookupError:
                        pass  # it was over
                start = time.monotonic()
                status, err = run.end()
                slowest = max(slowest, time.monotonic() - start)
                new = self.whole(verb, target)
                ends["with a temporary"] += len(self.left_over())
                if status == 0:
                    self.assertTrue(new, "success without a result")
                    self.assertEqual(self.left_over(), [])
                ends["finished" if status == 0 else "whole" if new else "absent or old"] += 1
                # By ranks in either distribution, and by one process.
                self.check_next_run(verb, source, target, *((2, SHARED), (0,), (2, SCATTER))[i % 3])
                self.assertTrue(self.read("f") == PLAIN and self.read("g.paes") == self.sealed,
                                "a source changed")
        print(f"\n{self.id()}: {kills} kills: {ends}, the slowest ended after {slowest:.2f} s",
              flush=True)
        return ends

    def test_at_random_moments(self):
        ends = self.at_random_moments(KILLS, signal.SIGKILL)
        if KILLS >= 8:
            self.assertGreater(ends["absent or old"], 0, "no run was hit before its end")
            self.assertGreater(ends["with a temporary"], 0, "no run was hit while it wrote")

    def test_a_rank_that_is_told_to_end(self):
        self.at_random_moments(max(4, KILLS // 10), signal.SIGTERM)

    def test_the_launcher_is_interrupted(self):
        self.plain = pattern(4 * len(PLAIN))
        self.write("f", self.plain)
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                run = self.at_work(self.command(3, "encrypt", *SLOW, *KEY, "f"))
                self.assertFalse(run.over(), "over before it was hit")
                # So that the run cannot end by itself, however late the signal comes.
                os.kill(run.ranks()[1], signal.SIGSTOP)
                self.wait_for(self.left_over, "a temporary")
                run.process.send_signal(number)
                status, err = run.end()
                # Open MPI lets ranks go on for a second.
                self.assertNotEqual(status, 0, err)
                self.whole("encrypt", "f.paes")
                self.check_next_run("encrypt", "f", "f.paes")


class Disks(FaultCase):
    """Outputs that find no room."""

    def test_a_disk_that_fills_up(self):
        command = namespace()
        if command is None:
            self.skipTest("nothing may be mounted here")
        self.path("small").mkdir()
        script = """set -e
            mount -t tmpfs -o size=4m tmpfs small
            cp k small/old
            before=$(stat -f -c %f small)
            set +e
            "$@"
            echo status=$?
            ls -A small
            cmp k small/old || echo changed
            test $before = $(stat -f -c %f small) || echo occupied"""
        self.prefix = [*command, "bash", "-c", script, "bash"]
        for i, (verb, source, _) in enumerate(self.RUNS):
            for way in WAYS:
                target = ("small/new", "small/old")[i]
                with self.subTest(verb=verb, way=way[1], target=target):
                    done = self.run_mpi(3, verb, "-f", *way, *KEY, "-o", target, source,
                                        limit=LIMIT + 5)
                    self.assertEqual(done.stdout.decode().split(), ["status=1", "old"], done.stderr)
                    lines = messages(done.stderr)
                    self.assertEqual(len(lines), 1, done.stderr.decode())
                    self.assertIn("No space left", lines[0])
                    self.assertIn(target, lines[0])

    def test_one_rank_finds_no_room(self):
        # Rank 1 writes the second half, and may not write that far; a limit of 512 bytes a block.
        limited = ["sh", "-c", 'ulimit -f 18000; exec "$@"', "sh", PROGRAM]
        for verb, source, target in self.RUNS:
            with self.subTest(verb=verb):
                args = [verb, *SHARED, *KEY, source]
                if verb == "decrypt":
                    args[1:1] = ["-o", target]
                done = self.mpmd((1, PROGRAM, *args), (1, *limited, *args), limit=LIMIT + 5)
                self.check_failed(done, target, 1, ["File too large", "rank 1"])
                self.check_next_run(verb, source, target)


class Views(FaultCase):
    """Ranks that do not see the files that rank 0 sees."""

    def setUp(self):
        super().setUp()
        self.path("empty").mkdir()
        self.before = self.names()

    def elsewhere(self, *args):
        return ["sh", "-c", 'cd empty && exec "$@"', "sh", PROGRAM, *args]

    def test_another_working_folder(self):
        # The names are relative. That it works all the same would do, too.
        for verb, source, target in self.RUNS:
            with self.subTest(verb=verb):
                args = [verb, *SHARED, *KEY, "-o", target, source]
                done = self.mpmd((1, PROGRAM, *args), (1, *self.elsewhere(*args)), limit=LIMIT + 5)
                if done.returncode == 0:
                    self.assertTrue(self.whole(verb, target))
                    self.path(target).unlink()
                else:
                    self.check_failed(done, target, 1, "rank 1")
                self.check_next_run(verb, source, target)
                self.assertEqual(os.listdir(self.path("empty")), [])

    def hidden(self, folder, *args, then="true"):
        """A rank to which `folder` is empty, but for what `then` puts there."""
        command = namespace()
        if command is None:
            self.skipTest("nothing may be mounted here")
        script = f'mount -t tmpfs -o size=64m tmpfs "$1" || exit 99; {then}; shift; exec "$@"'
        return [*command, "sh", "-c", script, "sh", folder, PROGRAM, *args]

    def test_a_rank_without_the_input(self):
        self.path("in").mkdir()
        self.write("in/f", PLAIN)
        self.write("in/g.paes", self.sealed)
        self.before = self.names()
        for verb, source, target in self.RUNS:
            args = [verb, *SHARED, *KEY, "-o", target, f"in/{source}"]
            with self.subTest(verb=verb):
                done = self.mpmd((2, PROGRAM, *args), (1, *self.hidden("in", *args)), limit=LIMIT + 5)
                self.check_failed(done, target, 1, ["rank 2", f"in/{source}"])
                self.check_next_run(verb, source, target)
        args = ["verify", *SHARED, *KEY, "in/g.paes"]
        done = self.mpmd((1, PROGRAM, *args), (1, *self.hidden("in", *args)), limit=LIMIT + 5)
        self.failed(done, 1, ["rank 1", "in/g.paes"])

    def test_a_rank_with_another_input(self):
        # Of the same name, and shorter: where every node has a disk of its own.
        self.path("in").mkdir()
        self.write("in/g.paes", self.sealed)
        self.write("in/f", PLAIN)
        for verb, flags in (("verify", []), ("decrypt", ["-o", "h"])):
            args = [verb, *SHARED, *KEY, *flags, "in/g.paes"]
            done = self.mpmd((1, PROGRAM, *args), (1, *self.hidden(
                "in", *args, then='head -c 9000000 g.paes > in/g.paes')), limit=LIMIT + 5)
            self.check_failed(done, "h", says="rank 1")

    def test_a_rank_with_another_input_of_the_same_size(self):
        self.path("in").mkdir()
        self.write("in/f", PLAIN)
        args = ["encrypt", *SHARED, *KEY, "-o", "h", "in/f"]
        done = self.mpmd((1, PROGRAM, *args), (1, *self.hidden(
            "in", *args, then="tr a-z A-Z < f > in/f")), limit=LIMIT + 5)
        self.check_failed(done, "h", 1, ["rank 1", "in/f is another file than on rank 0"])

    def test_a_rank_without_the_folder_of_the_target(self):
        self.path("out").mkdir()
        self.before = self.names()
        for verb, source, target in self.RUNS:
            args = [verb, *SHARED, *KEY, "-o", f"out/{target}", source]
            with self.subTest(verb=verb):
                done = self.mpmd((1, PROGRAM, *args), (1, *self.hidden("out", *args)),
                                 limit=LIMIT + 5)
                self.check_failed(done, f"out/{target}", 1, "rank 1")
                self.assertEqual(os.listdir(self.path("out")), [])

    def test_scatter_needs_no_shared_files(self):
        for verb, source, target in self.RUNS:
            args = [verb, *SCATTER, *KEY, "-o", target, source]
            with self.subTest(verb=verb):
                done = self.mpmd((1, PROGRAM, *args), (2, *self.elsewhere(*args)))
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                self.assertTrue(self.whole(verb, target))


class Disagreement(FaultCase):
    """Ranks that were not started as one program."""

    def refused(self, first, second, program=PROGRAM):
        done = self.mpmd((1, PROGRAM, *first), (1, program, *second), limit=LIMIT + 5)
        self.assertEqual(done.returncode, 2, done.stderr.decode())
        lines = messages(done.stderr)
        self.assertEqual(len(lines), 1, done.stderr.decode())
        self.assertIn("rank 1", lines[0])
        self.assertEqual(self.names(), self.before)

    def test_different_flags(self):
        usual = ["encrypt", *KEY, "f"]
        for other in (["encrypt", *KEY, *SCATTER, "f"], ["encrypt", "--key-file", "other", "f"],
                      ["verify", *KEY, "g.paes"], ["encrypt", *KEY, "g.paes"]):
            with self.subTest(other=other):
                self.refused(usual, other)

    def test_different_environments(self):
        # What one rank cannot do, and the others can: nobody waits for it.
        bench = ["bench", "--mode", "ctr", "--size", "1MiB", "--samples", "1"]
        for args in (["encrypt", *KEY, "f"], bench):
            for bad in (0, 1):
                with self.subTest(args=args, bad=bad):
                    ranks = [(1, PROGRAM, *args), (1, PROGRAM, *args)]
                    ranks[bad] = (1, "env", "PARAES_KERNEL=nope", PROGRAM, *args)
                    done = self.mpmd(*ranks, limit=LIMIT + 5)
                    self.assertIn(done.returncode, (1, 2), done.stderr.decode())
                    lines = messages(done.stderr)
                    self.assertEqual(len(lines), 1, done.stderr.decode())
                    self.assertEqual("rank 1" in lines[0], bad == 1, lines)
                    self.assertEqual(self.names(), self.before)

    def test_different_binaries(self):
        folder = tempfile.TemporaryDirectory(prefix="paraes-mpi-other-")
        self.addCleanup(folder.cleanup)
        copy = pathlib.Path(folder.name) / "paraes-mpi"
        copy.write_bytes(pathlib.Path(PROGRAM).read_bytes() + b"\0")
        copy.chmod(0o755)
        usual = ["encrypt", *KEY, "f"]
        self.refused(usual, usual, program=str(copy))
        # What was appended keeps nobody from running it.
        done = self.finish(self.command(2, *usual, program=str(copy)))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertTrue(self.whole("encrypt", "f.paes"))

    @unittest.skipUnless(OPEN_MPI, "MPICH's launcher lets the others wait for ever in MPI_Init")
    def test_another_program(self):
        # One that never talks to the others, and ends.
        done = self.mpmd((1, PROGRAM, "encrypt", *KEY, "f"), (1, "false"), limit=LIMIT + 5)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.names(), self.before)


if __name__ == "__main__":
    unittest.main()
