"""Full disks, files that change, pipes that end or stall, large files and little memory."""

import itertools
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

from faults import (BIN, KEY, MEMORY, MIB, FaultCase, Strace, restore_signals, environment, pattern,
                    preloaded, sanitized, strace_reason)

GIB = 1 << 30
LIMIT = 60  # seconds for what ends at once or never
OLD = b"precious" * 1000


def namespace():
    """A command that runs another one where it may mount, or nothing."""
    for command in (["unshare", "-m"], ["unshare", "-rm"]):
        script = ["sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]
        if shutil.which("unshare") and subprocess.run([*command, *script],
                                                      capture_output=True).returncode == 0:
            return command
    return None


class Disks(FaultCase):
    """Outputs that find no room."""

    def setUp(self):
        super().setUp()
        self.plain = pattern(16 * MIB + 100)
        self.write("f", self.plain)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")
        self.write("g", OLD)

    def test_a_disk_that_fills_up(self):
        command = namespace()
        if command is None:
            self.skipTest("nothing may be mounted here")
        self.path("small").mkdir()
        # What is left on the disk shows what the run left there, also of what has no name.
        script = """set -e
            mount -t tmpfs -o size=8m tmpfs small
            cp g small/g
            before=$(stat -f -c %f small)
            set +e
            "$@"
            echo status=$?
            ls -A small
            cmp g small/g || echo changed
            test $before = $(stat -f -c %f small) || echo occupied"""
        for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
            for target in ("small/new", "small/g"):
                for name in (source, "-"):
                    with self.subTest(verb=verb, target=target, source=name):
                        with open(self.path(source), "rb") as stdin:
                            done = subprocess.run(
                                [*command, "bash", "-c", script, "bash", BIN, verb, *KEY, "-f",
                                 "-o", target, name], cwd=self.dir, env=environment(**self.env),
                                stdin=stdin, capture_output=True, timeout=LIMIT)
                        self.assertEqual(done.stdout.decode().split(), ["status=1", "g"])
                        lines = done.stderr.decode().splitlines()
                        self.assertEqual(len(lines), 1, lines)
                        self.assertRegex(lines[0], f"^paraes: cannot write {target}: No space left")

    def test_several_files_to_a_disk_that_fills_up(self):
        command = namespace()
        if command is None:
            self.skipTest("nothing may be mounted here")
        self.path("small").mkdir()
        for i in range(12):
            self.write(f"s{i}", self.plain[:MIB])
        script = """mount -t tmpfs -o size=8m tmpfs small || exit
            "$@"
            echo status=$?
            for f in $(ls -A small); do "$1" verify --key-file k small/$f || echo broken; done
            ls -A small | wc -l"""
        done = subprocess.run(
            [*command, "bash", "-c", script, "bash", BIN, "encrypt", *KEY, "-o", "small",
             *(f"s{i}" for i in range(12))], cwd=self.dir, env=environment(**self.env),
            capture_output=True, timeout=LIMIT)
        status, count = done.stdout.decode().split()
        self.assertEqual(status, "status=3", done.stderr)
        self.assertIn(int(count), range(4, 8), done.stderr)
        self.assertEqual(done.stderr.decode().count("No space left"), 12 - int(count))

    def test_dev_full(self):
        for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
            for name, stdin in ((source, b""), ("-", self.read(source))):
                self.fails(1, verb, *KEY, "-f", "-o", "/dev/full", name, stdin=stdin,
                           says=["/dev/full", "No space left"])
                with open("/dev/full", "wb") as full:
                    self.fails(1, verb, *KEY, "-c", name, stdin=stdin, stdout=full,
                               says=["standard output", "No space left"])
        with open("/dev/full", "wb") as full:
            self.fails(1, "verify", *KEY, "--json", "g.paes", stdout=full,
                       says="cannot write standard output")

    def test_a_limit_of_the_shell(self):
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


class DisksNamed(Disks):
    @classmethod
    def setUpClass(cls):
        cls.env = preloaded("PARAES_NO_TMPFILE")


class Changes(FaultCase):
    """Inputs that grow and shrink while they are read."""

    SIZE = 64 * MIB

    def setUp(self):
        super().setUp()
        with open(self.path("f"), "wb") as f:
            f.truncate(self.SIZE)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")

    def held_up(self, verb, source, change):
        """Changes the source after the first bytes of output, and takes the rest then."""
        process = self.start(verb, *KEY, "-c", source, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        process.stdout.read(100000)
        size = self.path(source).stat().st_size
        change(source, size)
        process.stdout.read()
        self.assertEqual(process.wait(LIMIT), 1)
        return process.stderr.read().decode()

    def grow(self, name, _):
        with open(self.path(name), "ab") as f:
            f.write(b"more")

    def shrink(self, name, size):
        os.truncate(self.path(name), size // 2)

    def empty(self, name, _):
        os.truncate(self.path(name), 0)

    def test_to_a_pipe(self):
        for change, what in ((self.grow, "grew"), (self.shrink, "shrank"), (self.empty, "shrank")):
            for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
                with self.subTest(verb=verb, what=what):
                    shutil.copyfile(self.path(source), self.path("s.paes"))
                    text = self.held_up(verb, "s.paes", change)
                    self.assertEqual(len(text.splitlines()), 1, text)
                    self.assertRegex(text, rf"\Aparaes: s.paes {what} while it was read")

    def held_up_at_a_write(self, change, verb, source):
        """Calls `change` between the second and the third write of a run to a file."""
        def when_it_writes():
            log = self.path("strace.log")
            self.wait_for(lambda: log.exists() and log.read_bytes().count(b"pwrite64(") >= 2,
                          "the first writes")
            change()

        thread = threading.Thread(target=when_it_writes)
        thread.start()
        run = Strace(self, verb, *KEY, "--rm", "-T", "1", "-o", "out", source,
                     inject=["pwrite64:delay_enter=1000000:when=3"])
        thread.join()
        return run

    def test_to_a_file(self):
        if strace_reason():
            self.skipTest(strace_reason())
        for change, what in ((self.grow, "grew"), (self.shrink, "shrank")):
            for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
                with self.subTest(verb=verb, what=what):
                    shutil.copyfile(self.path(source), self.path("s"))
                    size = self.path("s").stat().st_size
                    run = self.held_up_at_a_write(lambda: change("s", size), verb, "s")
                    text = run.done.stderr.decode()
                    self.assertEqual(run.done.returncode, 1, text)
                    self.assertRegex(text, rf"\Aparaes: s {what} while it was read[^\n]*\n\Z")
                    self.assertEqual(self.names(), ["f", "g.paes", "k", "s"])

    def test_removed_meanwhile(self):
        # What is open stays whole.
        process = self.start("decrypt", *KEY, "-c", "g.paes", stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        first = process.stdout.read(100000)
        self.path("g.paes").unlink()
        self.assertEqual(len(first) + len(process.stdout.read()), self.SIZE)
        self.assertEqual(process.wait(LIMIT), 0)

    def test_replaced_meanwhile_with_rm(self):
        # The file of that name is no longer the one that was read.
        if strace_reason():
            self.skipTest(strace_reason())

        def replace():
            self.write("other", b"somebody else's")
            os.rename(self.path("other"), self.path("f"))

        run = self.held_up_at_a_write(replace, "encrypt", "f")
        self.assertEqual(run.done.returncode, 1)
        self.assertIn(b"not the file that was read", run.done.stderr)
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

    def test_an_input_that_ends_early(self):
        for n in (0, 1, 40, 88, 104, 88 + 16400, 88 + 5 * 16400 + 7, 88 + 100 * 16400,
                  len(self.sealed) - 1):
            for threads in ("1", "0"):
                with self.subTest(bytes=n, threads=threads):
                    done = self.fails(4, "decrypt", *KEY, "-T", threads, "-", stdin=self.sealed[:n])
                    self.assertTrue(self.plain.startswith(done.stdout))
                    self.assertEqual(len(done.stdout) % 16384, 0)
                    self.fails(4, "decrypt", *KEY, "-T", threads, "-o", "out", "-",
                               stdin=self.sealed[:n])
                    self.assertEqual(self.names(), ["f", "g.paes", "k"])

    def test_a_closed_output(self):
        for verb, source in (("encrypt", "f"), ("decrypt", "g.paes")):
            for threads, name, flags in itertools.product(
                    ("1", "0"), (source, "-"), ([], ["--json", "-v"])):
                done = self.shell(f'"$@" < {source} | head -c 1 > /dev/null\n'
                                  'exit ${PIPESTATUS[0]}', verb, *KEY, "-T", threads, *flags,
                                  "-q", "-c", name)
                self.assertEqual((done.returncode, done.stderr), (141, b""), (verb, name, threads))

    def test_a_stalled_input(self):
        # A damaged first segment and more than a pipe holds, and then nothing, nor an end.
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
        """Writes as much as is taken, but does not wait for ever."""
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

    def test_a_stalled_output(self):
        # Nobody takes what comes out of a damaged message: signals end it all the same.
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.start("decrypt", *KEY, "-c", "g.paes", stdout=subprocess.PIPE)
            self.addCleanup(process.stdout.close)
            process.stdout.read(1)
            time.sleep(0.05)
            self.assertIsNone(process.poll())
            process.send_signal(number)
            self.assertEqual(process.wait(LIMIT), status)
            self.assertEqual(process.stderr.read(), b"")

    def test_signals(self):
        for old, number in itertools.product(
                (False, True), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
            with self.subTest(old=old, signal=number):
                if old:
                    self.write("out", OLD)
                process = self.start("decrypt", *KEY, *(["-f"] if old else []), "-o", "out", "-",
                                     stdin=subprocess.PIPE)
                self.addCleanup(process.stdin.close)
                process.stdin.write(self.sealed[:5 * MIB])
                process.stdin.flush()
                self.wait_for(lambda: self.temporaries(process), "a temporary")
                self.wait_for(lambda: self.temporaries(process)[0].stat().st_size > 0, "output")
                process.send_signal(number)
                self.assertEqual(process.wait(LIMIT), 128 + number)
                self.assertEqual(process.stderr.read(), b"")
                self.assertEqual(self.names(), sorted(["f", "g.paes", "k", *(["out"] * old)]))
                if old:
                    self.assertEqual(self.read("out"), OLD)


class PipesNamed(Pipes):
    @classmethod
    def setUpClass(cls):
        cls.env = preloaded("PARAES_NO_TMPFILE")


class Large(FaultCase):
    def sparse(self, size):
        """Zeros, but for a few bytes of its start, of its end and near 4 GiB."""
        with open(self.path("f"), "wb") as f:
            for at in (0, 4 * GIB - 5, size - 10):
                if at + 10 <= size:
                    f.seek(at)
                    f.write(b"0123456789")

    def room(self, size):
        """Whether so much fits where the test works, memory included."""
        if shutil.disk_usage(self.dir).free < 2 * size:
            return False
        if MEMORY is None:
            return True
        for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024 > 2 * size
        return False

    def test_more_than_4_gib_through_pipes(self):
        self.sparse(5 * GIB + 100)
        done = self.shell('set -o pipefail; "$1" encrypt --key-file k -c f |'
                          ' "$1" decrypt --key-file k - | cmp - f')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_more_than_4_gib_in_files(self):
        size = 4 * GIB + 40 * MIB + 100
        if not self.room(size):
            self.skipTest("no room for 4 GiB")
        self.sparse(size)
        self.assertEqual(self.shell('"$1" encrypt --key-file k f').stderr, b"")
        segments = (size + 16383) // 16384
        self.assertEqual(self.path("f.paes").stat().st_size, 88 + size + 16 * segments)
        done = self.shell('"$1" verify --key-file k f.paes')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        for at in (0, 4 * GIB - 8, size - 12):
            with open(self.path("f"), "rb") as f:
                f.seek(at)
                part = f.read(12)
            self.assertEqual(self.ok("decrypt", *KEY, "--offset", at, "--length", len(part), "-c",
                                     "f.paes"), part)
        # A byte beyond 4 GiB.
        with open(self.path("f.paes"), "r+b") as f:
            f.seek(88 + 16400 * (segments - 2) + 5)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 1]))
        self.fails(4, "decrypt", *KEY, "--offset", 4 * GIB + MIB, "-c", "f.paes",
                   says=f"segment {segments - 2} ")


@unittest.skipIf(sanitized(), "a sanitizer needs memory of its own")
class Memory(FaultCase):
    """1 GiB takes less than 64 MiB."""

    # Itself small: what a process has when it forks counts for its children.
    MEASURE = ("import resource, subprocess, sys\n"
               "status = subprocess.run(sys.argv[1:]).returncode\n"
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n"
               "sys.exit(status)")

    def peak(self, script):
        """In MiB, of the runs of $P in a script."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f'P() {{ "{sys.executable}" -S -c "$M" "$B" "$@"; }}\n'
             + script], cwd=self.dir, capture_output=True, timeout=300,
            env=environment(**self.env, M=self.MEASURE, B=BIN))
        self.assertEqual(done.returncode, 0, done.stderr)
        return max(int(line) for line in done.stderr.split()) / 1024

    def test_files_and_pipes(self):
        with open(self.path("f"), "wb") as f:
            f.truncate(GIB)
        key = "--key-file k"
        for what, script in (("file to file", f"P encrypt {key} f"),
                             ("file to pipe", f"P encrypt {key} -c f | cat > /dev/null"),
                             ("pipe to pipe", f"cat f | P encrypt {key} - | cat > /dev/null"),
                             ("verify", f"P verify {key} f.paes"),
                             ("decrypt to pipe", f"P decrypt {key} -c f.paes | cmp - f"),
                             ("decrypt pipes", f"cat f.paes | P decrypt {key} - | cmp - f"),
                             ("decrypt a pipe to a file",
                              f"cat f.paes | P decrypt {key} -o g - && rm g"),
                             ("decrypt", f"rm f; P decrypt {key} f.paes")):
            with self.subTest(what=what):
                self.assertLess(self.peak(script), 64)

    def test_with_many_threads(self):
        with open(self.path("f"), "wb") as f:
            f.truncate(GIB // 4)
        self.assertLess(self.peak("P encrypt --key-file k -T 64 f"), 64)
        self.assertLess(self.peak("P decrypt --key-file k -T 64 -c f.paes | cat > /dev/null"), 64)


if __name__ == "__main__":
    unittest.main()
