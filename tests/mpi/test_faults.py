"""Ranks that are killed, cannot write, see other files, or have other flags or another executable.

In each case all ranks end within ten seconds, the exit status is not 0 (but for MPICH's launcher when
it is interrupted), no file has the final name, and the next run removes what is left."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
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
    SAMPLE,
    SCATTER,
    SHARED,
    SLOW,
    WAYS,
    MpiCase,
    in_namespace,
    messages,
    on_small_disk,
    pattern,
    remove_shared_memory,
    shared_memory,
)

KILLS = int(os.environ.get("PARAES_MPI_KILLS", "100" if LONG else "4" if SAMPLE else "12"))
SEED = int(os.environ.get("PARAES_SEED", "1"))
OLD = b"precious" * 1000
PLAIN = pattern(12 * MIB + 100)


class FaultCase(MpiCase):
    # Verb, input and target of each run.
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
        """Whether the target is the expected output. If not, it must be absent or the old file."""
        if not self.path(target).exists():
            return False
        if self.path(target).stat().st_size == len(OLD):
            self.assertEqual(self.read(target), OLD)
            return False
        made = self.read(target) if verb == "decrypt" else self.ok("decrypt", *KEY, "-c", target)
        self.same(made, self.plain, f"{target} exists and is incomplete")
        return True

    def check_failed(self, done, target, status=None, says=()):
        """Checks a failed run: one error line (if `status` is given), no target, no temporary."""
        if status is None:
            self.assertNotEqual(done.returncode, 0, done.stderr.decode())
        else:
            self.failed(done, status, says)
        self.assertFalse(self.path(target).exists(), f"{target} exists")
        self.assertEqual(self.left_over(), [])

    def check_next_run(self, verb, source, target, ranks=2, way=SHARED):
        """Checks that the next run succeeds and removes what a killed run left."""
        force = ["-f"] if self.path(target).exists() else []
        if ranks:
            self.mpi(ranks, verb, *force, *way, *KEY, "-o", target, source)
        else:
            self.ok(verb, *force, *KEY, "-o", target, source)
        self.assertTrue(self.whole(verb, target))
        self.assertEqual(self.names(), sorted({*self.before, target}))
        self.path(target).unlink()


class Kills(FaultCase):
    def hit_ranks_at_random_moments(self, kills, number, needed=()):
        """Kills `kills` runs, and more of them if none ended in one of the ways in `needed`."""
        choose = random.Random(f"{SEED} {self.id()}")
        usual = {}
        ends = {"finished": 0, "whole": 0, "absent or old": 0, "with a temporary": 0,
                "with a launcher that hangs": 0}
        slowest = 0
        for i in range(4 * kills):
            if i >= kills and all(ends[way] for way in needed):
                break
            verb, source, target = self.RUNS[i % 2]
            self.path(target).unlink(missing_ok=True)  # of a kill that failed
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
                    # Hit the run while the temporary exists.
                    self.wait_for(lambda: run.over() or self.left_over(), "a temporary")
                else:
                    start = time.monotonic()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        run.process.wait(share * usual[way[1]])
                        # It was measured while the machine had more to do than now.
                        usual[way[1]] = min(usual[way[1]], time.monotonic() - start)
                ranks_alive = sorted(run.ranks().items())
                if ranks_alive:
                    _, pid = choose.choice(ranks_alive)
                    with contextlib.suppress(ProcessLookupError):  # it had ended
                        os.kill(pid, number)
                start = time.monotonic()
                status, err = run.end(launcher_may_hang=True)
                if not run.launcher_hung:
                    slowest = max(slowest, time.monotonic() - start)
                ends["with a launcher that hangs"] += run.launcher_hung
                new = self.whole(verb, target)
                ends["with a temporary"] += len(self.left_over())
                if status == 0:
                    self.assertTrue(new, "success without a result")
                    self.assertEqual(self.left_over(), [])
                ends["finished" if status == 0 else "whole" if new else "absent or old"] += 1
                # Once by ranks in each distribution, and once by one process.
                self.check_next_run(verb, source, target, *((2, SHARED), (0,), (2, SCATTER))[i % 3])
                self.assertTrue(self.read("f") == PLAIN and self.read("g.paes") == self.sealed,
                                "a source changed")
        done = ends["finished"] + ends["whole"] + ends["absent or old"]
        print(f"\n{self.id()}: {done} kills: {ends}, the slowest ended after {slowest:.2f} s",
              flush=True)
        for way in needed:
            self.assertGreater(ends[way], 0, f"no run ended {way}")
        # One or two of 100 kills do this.
        self.assertLessEqual(ends["with a launcher that hangs"], 1 + kills // 10, ends)

    def test_rank_killed_at_a_random_moment_leaves_no_partial_output(self):
        # Some are hit before their end, and some while they write.
        needed = ("absent or old", "with a temporary") if KILLS >= 8 else ()
        self.hit_ranks_at_random_moments(KILLS, signal.SIGKILL, needed)

    def test_rank_terminated_at_a_random_moment_leaves_no_partial_output(self):
        self.hit_ranks_at_random_moments(max(4, KILLS // 10), signal.SIGTERM)

    def test_interrupted_launcher_leaves_no_partial_output(self):
        self.plain = pattern(4 * len(PLAIN))
        self.write("f", self.plain)
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                run = self.at_work(self.command(3, "encrypt", *SLOW, *KEY, "f"))
                self.assertFalse(run.over(), "ended before it was hit")
                # Stop a rank, so that the run cannot end before the signal.
                os.kill(run.ranks()[1], signal.SIGSTOP)
                self.wait_for(self.left_over, "a temporary")
                run.process.send_signal(number)
                status, err = run.end()
                # Open MPI lets ranks continue for a second, and a rank may have done its share before
                # it is stopped: the output may be complete, and then success is right. MPICH's
                # launcher exits with 0 where it lost the ranks' status: docs/cluster.md.
                whole = self.whole("encrypt", "f.paes")
                if OPEN_MPI:
                    self.assertTrue(whole or status != 0, err)
                self.check_next_run("encrypt", "f", "f.paes")


class Disks(FaultCase):
    """Outputs that cannot be written."""

    def test_full_disk_gives_one_error_and_no_output(self):
        self.write("before", b"old")
        self.prefix = on_small_disk("4m", "before", "old")
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

    def test_write_error_of_one_rank_fails_the_run(self):
        # Rank 1 writes the second half, beyond its limit, which counts blocks of 512 bytes.
        limited = ["sh", "-c", 'ulimit -f 18000; exec "$@"', "sh", PROGRAM]
        for verb, source, target in self.RUNS:
            with self.subTest(verb=verb):
                args = [verb, *SHARED, *KEY, source]
                if verb == "decrypt":
                    args[1:1] = ["-o", target]
                done = self.mpmd((1, PROGRAM, *args), (1, *limited, *args), limit=LIMIT + 5)
                self.check_failed(done, target, 1, ["File too large", "rank 1"])
                self.check_next_run(verb, source, target)


class DifferentFiles(FaultCase):
    """Ranks that see other files than rank 0."""

    ELSEWHERE = ["sh", "-c", 'cd empty && exec "$@"', "sh"]

    def setUp(self):
        super().setUp()
        for folder in ("empty", "in", "out"):
            self.path(folder).mkdir()
        self.write("in/f", PLAIN)
        self.write("in/g.paes", self.sealed)
        self.before = self.names()

    def with_last(self, there, *args, ranks=2):
        """Runs ranks, the last of them through the command `there`."""
        return self.mpmd((ranks - 1, PROGRAM, *args), (1, *there, PROGRAM, *args), limit=LIMIT + 5)

    def hidden(self, folder, then="true"):
        """The command that shows another one `folder` with only the files that `then` puts there."""
        return in_namespace(f'mount -t tmpfs -o size=64m tmpfs {folder} && {then} || exit 99\n'
                            'exec "$@"')

    def test_rank_in_another_working_folder_agrees_or_fails(self):
        # The names are relative. Success would also be right, if the output is complete.
        for verb, source, target in self.RUNS:
            with self.subTest(verb=verb):
                done = self.with_last(self.ELSEWHERE, verb, *SHARED, *KEY, "-o", target, source)
                if done.returncode == 0:
                    self.assertTrue(self.whole(verb, target))
                    self.path(target).unlink()
                else:
                    self.check_failed(done, target, 1, "rank 1")
                self.check_next_run(verb, source, target)
                self.assertEqual(os.listdir(self.path("empty")), [])

    def test_rank_without_the_input_fails_the_run(self):
        for verb, source, target in self.RUNS:
            with self.subTest(verb=verb):
                done = self.with_last(self.hidden("in"), verb, *SHARED, *KEY, "-o", target,
                                      f"in/{source}", ranks=3)
                self.check_failed(done, target, 1, ["rank 2", f"in/{source}"])
                self.check_next_run(verb, source, target)
        done = self.with_last(self.hidden("in"), "verify", *SHARED, *KEY, "in/g.paes")
        self.failed(done, 1, "paraes: in/g.paes: rank 1")

    def test_rank_with_a_shorter_input_fails_the_run(self):
        # A shorter file of the same name, as on nodes with private disks.
        shorter = self.hidden("in", "head -c 9000000 g.paes > in/g.paes")
        for verb, flags in (("verify", []), ("decrypt", ["-o", "h"])):
            done = self.with_last(shorter, verb, *SHARED, *KEY, *flags, "in/g.paes")
            self.check_failed(done, "h", says="rank 1")

    def check_other_input(self, there, says):
        done = self.with_last(there, "encrypt", *SHARED, *KEY, "-o", "h", "in/f")
        self.check_failed(done, "h", 1, ["paraes: in/f: rank 1", says])

    def test_rank_with_another_input_of_the_same_size_fails_the_run(self):
        self.check_other_input(self.hidden("in", "tr a-z A-Z < f > in/f"),
                               "it is on another file system than on rank 0")
        # A copy on the same file system, of the same time.
        shutil.copy2(self.path("in/f"), self.path("in/other"))
        self.check_other_input(in_namespace('mount --bind in/other in/f && exec "$@"'),
                               "it is another file than on rank 0;")

    def test_rank_with_a_copy_on_another_file_system_fails_the_run(self):
        # The copy has the same contents, inode, size and time. On one host, the device tells that
        # it is a copy: the ranks could see different versions of it at any time.
        copy = "cat f > in/f && touch -d @1000000000 in/f"
        self.prefix = in_namespace(f'mount -t tmpfs tmpfs in && {copy} && exec "$@"')
        self.check_other_input(self.hidden("in", copy), "it is on another file system than on rank 0")

    def test_rank_that_writes_to_a_copy_of_the_output_fails_the_run(self):
        overlay = in_namespace("""
            mount -t tmpfs tmpfs /mnt && mkdir /mnt/upper /mnt/work &&
            mount -t overlay overlay -o lowerdir=out,upperdir=/mnt/upper,workdir=/mnt/work out || exit 99
            exec "$@" """)
        if self.finish([*overlay, "true"]).returncode != 0:
            self.skipTest("this machine allows no overlays")
        self.write("tiny", b"all of it in the share of rank 1")
        for verb, source, target in (*self.RUNS, ("encrypt", "tiny", "tiny.paes")):
            self.check_other_folder(overlay, verb, source, target, f"out/{target}")

    def test_rank_without_the_target_folder_fails_the_run(self):
        for verb, source, target in self.RUNS:
            self.check_other_folder(self.hidden("out"), verb, source, target)

    def check_other_folder(self, there, verb, source, target, *says):
        with self.subTest(verb=verb, source=source):
            done = self.with_last(there, verb, *SHARED, *KEY, "-o", f"out/{target}", source)
            self.check_failed(done, f"out/{target}", 1, ["rank 1", *says])
            self.assertEqual(os.listdir(self.path("out")), [])

    def test_scatter_needs_no_shared_files(self):
        for verb, source, target in self.RUNS:
            with self.subTest(verb=verb):
                args = [verb, *SCATTER, *KEY, "-o", target, source]
                done = self.mpmd((1, PROGRAM, *args), (2, *self.ELSEWHERE, PROGRAM, *args))
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                self.assertTrue(self.whole(verb, target))


class ChangedInputs(FaultCase):
    """The input is written to after all ranks have compared it."""

    def has_open(self, run, rank, name):
        try:
            files = list(pathlib.Path(f"/proc/{run.ranks()[rank]}/fd").iterdir())
            return any(os.path.samefile(file, self.path(name)) for file in files)
        except (KeyError, OSError):
            return False

    def test_input_that_is_written_to_fails_the_run_of_each_verb(self):
        for verb, source, *flags in (
                ("encrypt", "f", "-o", "h"), ("decrypt", "g.paes", "-o", "h"), ("verify", "g.paes"),
                ("decrypt", "g.paes", "-o", "h", "--salvage"),
                ("decrypt", "g.paes", "-o", "h", "--offset", str(MIB), "--length", str(10 * MIB))):
            for at in (4 * MIB, 8 * MIB):  # in the share of each rank
                with self.subTest(verb=verb, flags=flags, at=at):
                    run = self.at_work(self.command(2, verb, *SHARED, *SLOW, *KEY, *flags, source))
                    self.wait_for(lambda run=run, name=source: run.over() or
                                  self.has_open(run, 1, name), "rank 1 at work")
                    self.assertFalse(run.over(), "ended before its input changed")
                    pid = run.ranks()[1]
                    os.kill(pid, signal.SIGSTOP)
                    with open(self.path(source), "r+b") as file:
                        file.seek(at)
                        file.write(b"changed")
                    os.kill(pid, signal.SIGCONT)
                    status, err = run.end()
                    self.assertEqual(status, 1, err)
                    lines = messages(err)
                    self.assertEqual(len(lines), 1, err)
                    self.assertTrue(lines[0].startswith(f"paraes: {source}: "), lines[0])
                    self.assertRegex(lines[0], "was written to|has changed")
                    self.assertEqual(self.names(), self.before)
                    self.write("f", PLAIN)
                    self.write("g.paes", self.sealed)


class DifferentStarts(FaultCase):
    """Ranks that were started with different flags, environments or executables."""

    def check_refused(self, first, second, statuses=(2,), bad=1):
        """Starts a rank each with the commands `first` and `second`; rank `bad` is the reason why
        the run fails."""
        done = self.mpmd((1, *first), (1, *second), limit=LIMIT + 5)
        self.assertIn(done.returncode, statuses, done.stderr.decode())
        lines = messages(done.stderr)
        self.assertEqual(len(lines), 1, done.stderr.decode())
        self.assertEqual("rank 1" in lines[0], bad == 1, lines)
        self.assertEqual(self.names(), self.before)

    def test_different_flags_are_refused(self):
        usual = ["encrypt", *KEY, "f"]
        for other in (["encrypt", *KEY, *SCATTER, "f"], ["encrypt", "--key-file", "other", "f"],
                      ["verify", *KEY, "g.paes"], ["encrypt", *KEY, "g.paes"]):
            with self.subTest(other=other):
                self.check_refused([PROGRAM, *usual], [PROGRAM, *other])

    def test_rank_with_an_invalid_environment_fails_the_run(self):
        # One rank cannot do its work, the others can: they must not wait for it.
        bench = ["bench", "--mode", "ctr", "--size", "1MiB", "--samples", "1"]
        for args in (["encrypt", *KEY, "f"], bench):
            for bad in (0, 1):
                with self.subTest(args=args, bad=bad):
                    ranks = [[PROGRAM, *args], [PROGRAM, *args]]
                    ranks[bad] = ["env", "PARAES_KERNEL=nope", *ranks[bad]]
                    self.check_refused(*ranks, statuses=(1, 2), bad=bad)

    def test_different_executables_are_refused(self):
        folder = tempfile.TemporaryDirectory(prefix="paraes-mpi-other-")
        self.addCleanup(folder.cleanup)
        copy = pathlib.Path(folder.name) / "paraes-mpi"
        copy.write_bytes(pathlib.Path(PROGRAM).read_bytes() + b"\0")
        copy.chmod(0o755)
        usual = ["encrypt", *KEY, "f"]
        self.check_refused([PROGRAM, *usual], [copy, *usual])
        # The copy with an appended byte still runs.
        done = self.finish(self.command(2, *usual, program=str(copy)))
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertTrue(self.whole("encrypt", "f.paes"))

    @unittest.skipUnless(OPEN_MPI, "with MPICH, the other ranks wait in MPI_Init for ever")
    def test_rank_that_never_joins_fails_the_run(self):
        # An executable that ends without calling MPI.
        done = self.mpmd((1, PROGRAM, "encrypt", *KEY, "f"), (1, "false"), limit=LIMIT + 5)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.names(), self.before)
