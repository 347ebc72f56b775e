"""Full disks, changing files, pipes that end or stall, large files and bounded memory."""

import functools
import itertools
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

from faults import (
    BIN,
    KEY,
    MEMORY,
    MIB,
    FaultCase,
    NoTmpfile,
    environment,
    in_namespace,
    on_small_disk,
    pattern,
    restore_signals,
    sanitized,
)
from support import LONG

GIB = 1 << 30
LIMIT = 60  # seconds for runs that either end soon or hang
OLD = b"precious" * 1000


class Disks(FaultCase):
    """Outputs on a full disk."""

    def setUp(self):
        super().setUp()
        self.plain = pattern(16 * MIB + 100)
        self.write("f", self.plain)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")
        self.write("g", OLD)

    def run_on(self, disk, *args, **kwargs):
        return subprocess.run([*disk, BIN, *args], cwd=self.dir, env=environment(**self.env),
                              capture_output=True, timeout=LIMIT, **kwargs)

    def test_full_disk_leaves_the_folder_unchanged(self):
        disk = on_small_disk("8m", "g", "g")
        for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
            for target, name in itertools.product(("small/new", "small/g"), (source, "-")):
                with self.subTest(verb=verb, target=target, source=name):
                    with open(self.path(source), "rb") as stdin:
                        done = self.run_on(disk, verb, *KEY, "-f", "-o", target, name, stdin=stdin)
                    self.assertEqual(done.stdout.decode().split(), ["status=1", "g"])
                    lines = done.stderr.decode().splitlines()
                    self.assertEqual(len(lines), 1, lines)
                    self.assertRegex(lines[0], f"^paraes: {target}: cannot write it: No space left")

    def test_full_disk_fails_only_the_files_without_room(self):
        names = [self.write(f"s{i}", self.plain[:MIB]) for i in range(12)]
        self.path("small").mkdir()
        disk = in_namespace("""mount -t tmpfs -o size=8m tmpfs small || exit
            "$@"
            echo status=$?
            for f in $(ls -A small); do "$1" verify --key-file k small/$f || echo broken; done
            ls -A small | wc -l""")
        done = self.run_on(disk, "encrypt", *KEY, "-o", "small", *names)
        status, count = done.stdout.decode().split()
        self.assertEqual(status, "status=3", done.stderr)
        self.assertIn(int(count), range(4, 8), done.stderr)
        self.assertEqual(done.stderr.decode().count("No space left"), 12 - int(count))

    def test_dev_full_is_reported_for_files_and_standard_output(self):
        for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
            for name, stdin in ((source, b""), ("-", self.read(source))):
                self.fails(1, verb, *KEY, "-f", "-o", "/dev/full", name, stdin=stdin,
                           says=["/dev/full", "No space left"])
                with open("/dev/full", "wb") as full:
                    self.fails(1, verb, *KEY, "-c", name, stdin=stdin, stdout=full,
                               says=["standard output", "No space left"])
        with open("/dev/full", "wb") as full:
            self.fails(1, "verify", *KEY, "--json", "g.paes", stdout=full,
                       says="standard output: cannot write it: No space left")

    def test_file_size_limit_leaves_the_folder_unchanged(self):
        def limit():
            restore_signals()
            resource.setrlimit(resource.RLIMIT_FSIZE, (4 * MIB, 4 * MIB))

        before = self.names()
        for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
            for flags in (["-o", "new"], ["-f", "-o", "g"]):
                self.fails(1, verb, *KEY, *flags, source, preexec_fn=limit,
                           says=[flags[-1], "File too large", "ulimit -f"])
                self.assertEqual(self.names(), before)
                self.assertEqual(self.read("g"), OLD)


class DisksWithoutTmpfile(NoTmpfile, Disks):
    """Temporary files have names."""


class Changes(FaultCase):
    """Inputs that grow or shrink while they are read."""

    def setUp(self):
        super().setUp()
        # No zeros, which would not be written.
        with open(self.path("f"), "wb") as f:
            for _ in range(64):
                f.write(pattern(MIB))
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")

    def grow(self, name, _):
        with open(self.path(name), "ab") as f:
            f.write(b"more")

    def shrink(self, name, size):
        os.truncate(self.path(name), size // 2)

    def empty(self, name, _):
        os.truncate(self.path(name), 0)

    def each_change(self, *changes):
        """Copies of both files to `s`, each with a change of it and what is to be said."""
        for change, says in changes:
            for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
                shutil.copyfile(self.path(source), self.path("s"))
                size = self.path("s").stat().st_size
                yield verb, functools.partial(change, "s", size), says

    def test_changed_input_fails_with_a_pipe_as_output(self):
        for verb, change, says in self.each_change((self.grow, "grew"), (self.shrink, "shrank"),
                                                   (self.empty, "shrank")):
            process = self.start(verb, *KEY, "-c", "s", stdout=subprocess.PIPE)
            self.addCleanup(process.stdout.close)
            process.stdout.read(100000)
            change()
            process.stdout.read()
            self.assertEqual(process.wait(LIMIT), 1)
            self.assertRegex(process.stderr.read().decode(),
                             rf"\Aparaes: s: it {says} while it was read[^\n]*\n\Z")

    def change_during_file_output(self, change, verb, source):
        return self.pause("pwrite64", 3, change, verb, *KEY, "--rm", "-T", "1", "-o", "out", source,
                          status=1).decode()

    def test_changed_input_leaves_no_output_file(self):
        for verb, change, says in self.each_change((self.grow, "grew"), (self.shrink, "shrank")):
            text = self.change_during_file_output(change, verb, "s")
            self.assertRegex(text, rf"\Aparaes: s: it {says} while it was read[^\n]*\n\Z")
            self.assertEqual(self.names(), ["f", "g.paes", "k", "s"])

    def test_rm_keeps_a_file_that_replaced_the_source_meanwhile(self):
        # The name no longer leads to the file that was read.
        def replace():
            self.write("other", b"somebody else's")
            os.rename(self.path("other"), self.path("f"))

        text = self.change_during_file_output(replace, "encrypt", "f")
        self.assertIn("not the file that was read", text)
        self.assertEqual(self.read("f"), b"somebody else's")


class Pipes(FaultCase):
    """Pipes that end, close or stall."""

    SIZE = 6 * MIB + 100

    def setUp(self):
        super().setUp()
        self.plain = pattern(self.SIZE)
        self.sealed = self.ok("encrypt", *KEY, "-c", "-", stdin=self.plain)
        self.write("f", self.plain)
        self.write("g.paes", self.sealed)

    def test_closed_output_pipe_exits_141_silently(self):
        for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
            for threads, name, flags in itertools.product(
                    ("1", "0"), (source, "-"), ([], ["--json", "-v"])):
                done = self.shell(f'"$@" < {source} | head -c 1 > /dev/null\n'
                                  'exit ${PIPESTATUS[0]}', verb, *KEY, "-T", threads, *flags,
                                  "-q", "-c", name)
                self.assertEqual((done.returncode, done.stderr), (141, b""), (verb, name, threads))

    def test_damage_ends_a_run_whose_input_stalls(self):
        # A damaged first segment and more data than a pipe buffers; then the writer stalls.
        bad = bytearray(self.sealed[:4 * MIB])
        bad[500] ^= 1
        for threads in ("1", "2", "0", "5"):
            for flags in (["-o", "out"], ["-c"]):
                with self.subTest(threads=threads, flags=flags):
                    fifo = self.path("fifo")
                    os.mkfifo(fifo)
                    process = self.start("decrypt", *KEY, "-T", threads, *flags, "fifo",
                                         stdout=subprocess.PIPE)
                    self.addCleanup(process.stdout.close)
                    writer = os.open(fifo, os.O_WRONLY)
                    try:
                        self.feed(writer, bad)
                        self.assertEqual(process.wait(LIMIT), 4)
                    finally:
                        process.kill()
                        os.close(writer)
                        fifo.unlink()
                    self.assertEqual(process.stdout.read(), b"")
                    self.assertIn(b"segment 0 does not authenticate", process.stderr.read())
                    self.assertEqual(self.names(), ["f", "g.paes", "k"])

    def feed(self, writer, data):
        """Writes as much of `data` as the reader takes within LIMIT seconds."""
        os.set_blocking(writer, False)
        view = memoryview(data)
        end = time.monotonic() + LIMIT
        while len(view) and time.monotonic() < end:
            try:
                view = view[os.write(writer, view):]
            except BlockingIOError:
                time.sleep(0.002)
            except BrokenPipeError:
                return


class PipesWithoutTmpfile(NoTmpfile, Pipes):
    """Temporary files have names."""


class Tebibyte(FaultCase):
    """A message of 1 TiB and 100 bytes, in a file of holes, of which only the first chunks of 256 KiB
    are there: numbers of 8 bytes that are their own offsets."""

    SIZE = 1024 * GIB + 100
    CHUNKS = SIZE >> 18  # and a last segment that belongs to the last of them

    def seal(self, *chunks):
        """Writes f.paes with these chunks, or skips the test."""
        tool = self.named_by("PARAES_SEAL_PARTS")
        try:
            self.write("f.paes", b"")
            os.truncate(self.path("f.paes"), self.SIZE + GIB + 1000 * MIB)
        except OSError as error:
            self.skipTest(f"{self.dir}: no files of this size: {error}")
        done = subprocess.run([tool, "k", str(self.SIZE), "f.paes", str(self.CHUNKS),
                               *map(str, chunks)], cwd=self.dir, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        if self.path("f.paes").stat().st_blocks * 512 > GIB:
            self.skipTest(f"{self.dir}: its file system has no holes in files")

    def test_estimates_are_those_of_the_whole(self):
        self.seal(*range(40))
        # This kernel takes half a second for what is there.
        done = self.run_paraes("verify", *KEY, "-T", 1, "--kernel", "reference", "--progress",
                               "f.paes")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, rb"0 %  [0-9.]+ .?B of 1\.10 TB  [0-9.]+ .?B/s  ETA [0-9]+:")
        os.mkfifo(self.path("pipe"))
        process = self.start("decrypt", *KEY, "-f", "-o", "pipe", "f.paes")
        with open(self.path("pipe"), "rb") as pipe:
            self.assertTrue(pipe.read(5 * MIB) == struct.pack("<655360Q", *range(0, 5 * MIB, 8)))
            process.send_signal(signal.SIGUSR1)
            line = process.stderr.readline().decode()
            amount = r"([0-9.]+) ([kMG])B"
            match = re.fullmatch(rf"paraes: {amount} of 1\.10 TB in [0-9.]+ s, {amount}/s, "
                                 r"(\d+) s left\n", line)
            self.assertTrue(match, line)
            unit = {"k": 1e3, "M": 1e6, "G": 1e9}
            # Three digits of the rate are shown.
            self.assertAlmostEqual(int(match[5]) * float(match[3]) * unit[match[4]], self.SIZE,
                                   delta=0.01 * self.SIZE)
        process.wait(60)


@unittest.skipUnless(LONG, "gigabytes of data: tests/run long")
class Large(FaultCase):
    def sparse(self, size):
        """Writes a file of zeros, except for a few bytes at the start, the end and near 4 GiB."""
        with open(self.path("f"), "wb") as f:
            for at in (0, 4 * GIB - 5, size - 10):
                if at + 10 <= size:
                    f.seek(at)
                    f.write(b"0123456789")

    def room(self, size):
        """Whether two files of `size` bytes fit into the folder, and into memory if it is there."""
        if shutil.disk_usage(self.dir).free < 2 * size:
            return False
        if MEMORY is None:
            return True
        for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024 > 2 * size
        return False

    def test_5_gib_round_trip_through_pipes(self):
        self.sparse(5 * GIB + 100)
        done = self.shell('set -o pipefail; "$1" encrypt --key-file k -c f |'
                          ' "$1" decrypt --key-file k - | cmp - f')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_file_over_4_gib_is_verified_and_read_in_ranges(self):
        size = 4 * GIB + 40 * MIB + 100
        if not self.room(size):
            self.skipTest("two files of 4 GiB do not fit on the disk or into memory")
        self.sparse(size)
        self.assertEqual(self.shell('"$1" encrypt --key-file k f').stderr, b"")
        segments = (size + 16383) // 16384
        self.assertEqual(self.path("f.paes").stat().st_size, 88 + size + 16 * segments)
        done = self.shell('"$1" verify --key-file k f.paes')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        for at in (0, 4 * GIB - 8, size - 12):
            with open(self.path("f"), "rb") as f:
                f.seek(at)
                expected = f.read(12)
            self.assertEqual(self.ok("decrypt", *KEY, "--offset", at, "--length", len(expected),
                                     "-c", "f.paes"), expected)
        # Damage a byte beyond 4 GiB.
        self.damage("f.paes", 88 + 16400 * (segments - 2) + 5)
        self.fails(4, "decrypt", *KEY, "--offset", 4 * GIB + MIB, "-c", "f.paes",
                   says=f"segment {segments - 2} ")


@unittest.skipIf(sanitized(), "sanitizers take more memory")
class Memory(FaultCase):
    """Every run takes less than 64 MiB of memory."""

    RAW = "--format raw --mode ctr --iv-hex " + "00" * 16

    def test_large_files_and_pipes_take_less_than_64_mib(self):
        with open(self.path("f"), "wb") as f:
            f.truncate(GIB if LONG else GIB // 8)
        key = "--key-file k"
        for name, script in (("file to file", f"P encrypt {key} f"),
                             ("file to pipe", f"P encrypt {key} -c f | cat > /dev/null"),
                             ("pipe to pipe", f"cat f | P encrypt {key} - | cat > /dev/null"),
                             ("verify", f"P verify {key} f.paes"),
                             ("decrypt to pipe", f"P decrypt {key} -c f.paes | cmp - f"),
                             ("decrypt pipes", f"cat f.paes | P decrypt {key} - | cmp - f"),
                             ("decrypt a pipe to a file",
                              f"cat f.paes | P decrypt {key} -o g - && rm g"),
                             ("decrypt", f"rm f; P decrypt {key} f.paes"),
                             ("raw, file to file", f"rm f.paes; P encrypt {key} {self.RAW} f"),
                             ("raw, file to pipe",
                              f"P decrypt {key} {self.RAW} -c f.paes | cmp - f"),
                             ("raw, pipe to pipe",
                              f"cat f.paes | P decrypt {key} {self.RAW} - | cmp - f")):
            with self.subTest(run=name):
                self.assertLess(self.peak(script), 64)

    def test_each_file_of_a_folder_takes_little_memory(self):
        # Nothing is written, so nothing is synced, which would take long: one run finds all outputs
        # up to date, the other one finds no header in any input.
        def make(folders):
            for top in ("in", "out/in"):
                for i in range(folders):
                    folder = self.path(f"{top}/{i:03}")
                    folder.mkdir(parents=True, exist_ok=True)
                    for j in range(500):
                        suffix = "" if top == "in" else ".paes"
                        os.close(os.open(f"{folder}/name-{j:07}{suffix}", os.O_CREAT | os.O_WRONLY))
            return 500 * folders

        runs = {"update": "P encrypt -q -r -k k --update in -o out",
                "update, in order": "P encrypt -q -r -k k -T 1 --update in -o out",
                "verify": "P verify -q -r -k k out 2> peak | cat; tail -n 1 peak >&2"}
        few = make(6)
        before = {name: self.peak(script) for name, script in runs.items()}
        many = make(66 if LONG else 36)
        for name, script in runs.items():
            with self.subTest(run=name):
                grown = (self.peak(script) - before[name]) * MIB / (many - few)
                # About 50 bytes in truth. As strings, the paths alone would take 500.
                self.assertLess(grown, 150)

    def test_64_threads_take_less_than_64_mib(self):
        with open(self.path("f"), "wb") as f:
            f.truncate(GIB // 8)
        for flags in ("", self.RAW):
            with self.subTest(flags=flags):
                flags += " --key-file k -T 64"
                self.assertLess(self.peak(f"P encrypt {flags} -f f"), 64)
                self.assertLess(self.peak(f"P decrypt {flags} -c f.paes | cat > /dev/null"), 64)
