"""The command line with several ranks: pipes, folders, ranges, damage, reports, refusals, bench."""

import contextlib
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import threading
import unittest

from ranks import (
    BIN,
    KEY,
    LAUNCHER,
    MIB,
    NO_STRACE,
    OPEN_MPI,
    PROGRAM,
    SCATTER,
    SEGMENT,
    SHARED,
    WAYS,
    MpiCase,
    check_layout,
    examples,
    file_reports,
    messages,
    pattern,
    with_one_mpi,
)
from recipients import new_identity

LARGE = 5 * MIB + 1
HEADER = 88  # bytes of a paraes header


def sealed_at(segment):
    """An offset in a segment of a message in the paraes format."""
    return HEADER + segment * (SEGMENT + 16) + 100


class Pipes(MpiCase):
    def piped(self, ranks, verb, *flags, data, **kwargs):
        """Runs a verb that reads `data` from a pipe. MPICH's launcher gives up if a rank does not
        read standard input fast enough ("can't keep up"), so with MPICH long data goes through a
        named pipe."""
        if OPEN_MPI or len(data) <= 32768:
            dash = ["-"] if ranks % 2 == 0 else []  # standard input in either way
            return self.run_mpi(ranks, verb, *flags, *dash, stdin=data, **kwargs)
        fifo = self.path("fifo")
        os.mkfifo(fifo)

        def feed():
            with contextlib.suppress(BrokenPipeError):
                fifo.write_bytes(data)

        thread = threading.Thread(target=feed)
        thread.start()
        try:
            to = [] if "-o" in flags or verb == "verify" else ["-c"]
            return self.run_mpi(ranks, verb, *flags, *to, "fifo", **kwargs)
        finally:
            # Let the thread end even if the run never opened the pipe.
            os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))
            thread.join()
            fifo.unlink()

    def through(self, *args, **kwargs):
        done = self.piped(*args, **kwargs)
        self.assertEqual(done.returncode, 0, (args, done.stderr.decode()))
        return done.stdout

    def test_pipe_to_pipe_round_trips(self):
        for ranks, size in ((3, LARGE), (4, 0), (2, SEGMENT)):
            with self.subTest(ranks=ranks, size=size):
                data = pattern(size)
                sealed = self.through(ranks, "encrypt", *KEY, data=data)
                self.same(self.ok("decrypt", *KEY, "-", stdin=sealed), data, "one process")
                self.same(self.through(ranks, "decrypt", *KEY, data=sealed), data, "ranks")

    def test_pipe_to_file_and_file_to_pipe_round_trip(self):
        data = pattern(LARGE)
        self.write("f", data)
        self.through(3, "encrypt", *KEY, "-o", "g.paes", data=data)
        self.same(self.ok("decrypt", *KEY, "-c", "g.paes"), data, "pipe to file")
        self.same(self.mpi(3, "decrypt", *KEY, "-c", "g.paes"), data, "file to pipe")
        sealed = self.mpi(2, "encrypt", "--json", *KEY, "-c", "f")
        self.same(self.ok("decrypt", *KEY, "-", stdin=sealed), data, "file to pipe")
        self.through(2, "verify", *KEY, data=sealed)
        self.assertEqual(self.names(), ["f", "g.paes", "k", "other"])

    def test_raw_and_tink_from_a_pipe_decrypt_in_one_process(self):
        data = pattern(LARGE)
        for flags in (["--format", "raw", "--mode", "ctr", "--iv-hex", "0f" * 16],
                      ["--format", "raw", "--mode", "cbc", "--iv-hex", "0f" * 16],
                      ["--format", "tink"]):
            with self.subTest(flags=flags):
                sealed = self.through(3, "encrypt", *flags, *KEY, data=data)
                self.same(self.ok("decrypt", *flags, *KEY, "-", stdin=sealed), data, "one process")

    def test_damaged_pipe_releases_only_authentic_segments(self):
        self.write("f", pattern(LARGE))
        self.ok("encrypt", *KEY, "f")
        self.damage("f.paes", sealed_at(200))
        before = self.names()
        done = self.failed(self.piped(3, "decrypt", *KEY, data=self.read("f.paes")), 4,
                           "segment 200")
        # Only whole authentic segments before the damage.
        self.assertTrue(pattern(LARGE).startswith(done.stdout))
        self.assertEqual(len(done.stdout) % SEGMENT, 0)
        self.assertLessEqual(len(done.stdout), 200 * SEGMENT)
        self.failed(self.piped(3, "decrypt", *KEY, "-o", "g", data=self.read("f.paes")[:300000]), 4)
        self.assertEqual(self.names(), before)


class ManyFiles(MpiCase):
    FILES = {"t/none": 0, "t/small": 100, "t/a/large": LARGE, "t/a/other": 4 * MIB + 16,
             "t/b/just": 4 * MIB}

    def setUp(self):
        super().setUp()
        for name, size in self.FILES.items():
            self.write(name, pattern(size))

    def check_tree(self, where):
        found = {str(path.relative_to(self.path(where))): path.read_bytes()
                 for path in self.path(where).rglob("*") if path.is_file()}
        expected = {name.removeprefix("t/"): pattern(size) for name, size in self.FILES.items()}
        self.assertEqual(sorted(found), sorted(expected))
        for name, data in expected.items():
            self.same(found[name], data, name)

    def test_tree_round_trips(self):
        for way in WAYS:
            with self.subTest(way=way[1]):
                name = way[1]
                self.mpi(3, "encrypt", "-r", *way, *KEY, "-o", name, "t", says=b"5 files encrypted")
                self.mpi(2, "verify", "-r", *way, *KEY, name, says=b"5 files intact")
                self.ok("decrypt", "-r", *KEY, "-o", f"{name}-one", f"{name}/t/.")
                self.check_tree(f"{name}-one")
                self.mpi(3, "decrypt", "-r", *way, *KEY, "-o", f"{name}-all", f"{name}/t/.")
                self.check_tree(f"{name}-all")

    def test_rank_0_reads_lists_and_dry_runs_touch_nothing(self):
        names = sorted(self.FILES)
        listed = "\n".join(names).encode()
        self.write("skip", b"*.none\n")
        flags = [*KEY, "--files-from", "-", "--exclude-from", "skip", "--exclude-from", "/dev/null",
                 "-o", "out"]
        done = self.mpi(3, "encrypt", *flags, "--dry-run", stdin=listed)
        self.assertEqual(done.decode().splitlines(),
                         [f"reads {name}, writes out/{name}.paes" for name in names])
        self.assertFalse(self.path("out").exists())
        self.mpi(3, "encrypt", *flags, stdin=listed)
        self.assertEqual(sorted(os.path.relpath(path, self.path("out"))
                                for path in self.path("out").rglob("*.paes")),
                         [f"{name}.paes" for name in names])
        self.mpi_fails(2, 3, "encrypt", *KEY, "--files-from", "-", stdin=b"",
                       says="it names no files")
        self.mpi_fails(2, 3, "encrypt", *KEY, "--files-from", "/dev/fd/9",
                       says="no other descriptors")

    def test_one_bad_file_does_not_stop_the_others(self):
        self.ok("encrypt", "-r", *KEY, "-o", "e", "t")
        self.damage("e/t/a/large.paes", sealed_at(200))
        self.damage("e/t/small.paes", HEADER + 5)
        done = self.run_mpi(3, "decrypt", "-r", "--json", *KEY, "-o", "d", "e/t/.")
        self.assertEqual(done.returncode, 3, done.stderr)
        exits = {os.path.basename(name): report["exit"]
                 for name, report in file_reports(done.stdout).items()}
        self.assertEqual(exits, {"none.paes": 0, "small.paes": 4, "large.paes": 4, "other.paes": 0,
                                 "just.paes": 0})
        self.assertEqual(sorted(path.name for path in self.path("d").rglob("*") if path.is_file()),
                         ["just", "none", "other"])
        text = done.stderr.decode()
        for word in ("large.paes", "segment 200", "small.paes", "2 failed"):
            self.assertIn(word, text)


@unittest.skipUnless(os.environ.get("PARAES_COMMAND_MEMORY_LIBRARY"),
                     "PARAES_COMMAND_MEMORY_LIBRARY is not set")
class Keys(MpiCase):
    """Commands carry keys. PARAES_COMMAND_MEMORY_LIBRARY is the library to preload, built from
    tests/support/command_memory.cpp, that notes where their bytes are when MPI gets or fills them."""

    def test_commands_are_in_locked_memory_on_every_rank(self):
        self.write("f", pattern(LARGE))
        for way in WAYS:
            for verb, flags, source in (("encrypt", ["-o", "g"], "f"), ("decrypt", ["-o", "h"], "g"),
                                        ("verify", [], "g")):
                with self.subTest(way=way[1], verb=verb):
                    self.path("log").unlink(missing_ok=True)
                    self.mpi(3, verb, *(["-f"] if flags else []), *way, *KEY, *flags, source, env={
                        "LD_PRELOAD": os.environ["PARAES_COMMAND_MEMORY_LIBRARY"],
                        "PARAES_COMMAND_MEMORY": str(self.path("log")),
                        "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"})
                    self.check(self.read("log").decode().splitlines(), way)

    def check(self, lines, way):
        entries = [line.split() for line in lines]
        # The command and `quit`; with scatter, `finish` as well. Rank 0 sends each twice.
        number = 2 if way is SHARED else 3
        for what, rank, expected in (("sent", "0", 2 * number), ("received", "1", number),
                                     ("received", "2", number)):
            found = [entry for entry in entries if entry[:2] == [what, rank]]
            self.assertEqual(len(found), expected, lines)
        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        for line, (*_, size), flags in ((line, entry[:3], entry[3:])
                                        for line, entry in zip(lines, entries, strict=True)):
            self.assertGreater(int(size), 0)
            self.assertIn("dd", flags, line)  # not in core dumps
            if soft >= 1 << 20 or soft == resource.RLIM_INFINITY:
                self.assertIn("lo", flags, line)  # never swapped out


@unittest.skipIf(NO_STRACE, NO_STRACE)
class Memory(MpiCase):
    def calls_of(self, *command):
        """The calls of prctl and setrlimit in a run that succeeds."""
        done = self.finish(["strace", "-f", "-qq", "-e", "trace=prctl,prlimit64", "-o", "log",
                            *command])
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.read("log").decode()

    def test_ranks_do_not_hide_their_memory(self):
        # Open MPI copies messages from the memory of other ranks on the host.
        self.write("f", pattern(LARGE))
        self.assertNotIn("PR_SET_DUMPABLE", self.calls_of(*self.command(2, "encrypt", *KEY, "f")))
        self.assertIn("PR_SET_DUMPABLE", self.calls_of(BIN, "verify", *KEY, "f.paes"))

    def test_ranks_write_no_core_files(self):
        self.write("f", pattern(LARGE))
        calls = self.calls_of(*self.command(2, "encrypt", *KEY, "f"))
        forbidden = re.findall(r"^(\d+) +prlimit64\(0, RLIMIT_CORE, \{rlim_cur=0, rlim_max=0\}", calls,
                               re.MULTILINE)
        self.assertEqual(len(set(forbidden)), 2, calls)


@with_one_mpi
class Ranges(MpiCase):
    def setUp(self):
        super().setUp()
        self.data = pattern(LARGE)
        self.write("f", self.data)
        self.ok("encrypt", *KEY, "f")

    def test_offset_and_length_give_that_range(self):
        for i, (offset, length) in enumerate(((0, 0), (0, LARGE), (SEGMENT - 1, 2), (12345, 4 * MIB),
                                              (LARGE - 1, 1))):
            for target in (["-o", f"part{i}"],) if i != 3 else (["-o", "part3"], ["-c"]):
                with self.subTest(offset=offset, length=length, target=target):
                    out = self.mpi(3, "decrypt", *WAYS[i % 2], *KEY, "--offset", offset, "--length",
                                   length, *target, "f.paes")
                    if target != ["-c"]:
                        out = self.read(target[1])
                    self.same(out, self.data[offset:offset + length], "part")
        self.mpi_fails(2, 2, "decrypt", *KEY, "--offset", LARGE + 1, "-o", "g", "f.paes",
                       says=str(LARGE))

    def test_range_beyond_the_end_of_a_cut_file_is_damage(self):
        whole = self.read("f.paes")
        self.write("cut.paes", whole[:sealed_at(100) + 500])
        for way in WAYS:
            for given in (["--offset", LARGE - 1], ["--offset", 5, "--length", LARGE - 5]):
                self.mpi_fails(4, 3, "decrypt", *way, *KEY, *given, "-o", "g", "cut.paes",
                               says=["paraes: cut.paes: ", "truncated"])
        self.assertFalse(self.path("g").exists())

    def test_damage_outside_the_range_is_not_noticed(self):
        self.damage("f.paes", sealed_at(100))
        for way in WAYS:
            self.mpi(3, "decrypt", "-f", *way, *KEY, "--offset", 101 * SEGMENT, "-o", "g", "f.paes")
            self.same(self.read("g"), self.data[101 * SEGMENT:], "after the damage")
            self.mpi_fails(4, 3, "decrypt", "-f", *way, *KEY, "--offset", 99 * SEGMENT, "-o", "h",
                           "f.paes", says="segment 100")
        self.assertFalse(self.path("h").exists())


@with_one_mpi
class Damage(MpiCase):
    def setUp(self):
        super().setUp()
        self.write("f", pattern(LARGE))
        self.ok("encrypt", *KEY, "f")
        self.last = LARGE // SEGMENT

    def test_verify_names_the_damaged_segment(self):
        # The first, the last, and one in the share of each of the three ranks.
        for i, segment in enumerate((0, 50, 160, 300, self.last)):
            with self.subTest(segment=segment):
                self.damage("f.paes", HEADER + segment * (SEGMENT + 16))
                self.mpi_fails(4, 3, "verify", *WAYS[i % 2], *KEY, "f.paes",
                               says=f"segment {segment} ")
                self.damage("f.paes", HEADER + segment * (SEGMENT + 16))
        for way in WAYS:
            self.assertEqual(self.mpi(3, "verify", *way, *KEY, "f.paes"), b"")

    def test_decrypt_of_a_damaged_file_writes_nothing(self):
        self.write("old", b"precious")
        before = self.names()
        self.damage("f.paes", sealed_at(self.last - 1))
        for way in WAYS:
            self.mpi_fails(4, 3, "decrypt", *way, *KEY, "-o", "new", "f.paes",
                           says=f"segment {self.last - 1} ")
            self.mpi_fails(4, 3, "decrypt", "-f", *way, *KEY, "-o", "old", "f.paes")
            self.assertEqual(self.names(), before)
            self.assertEqual(self.read("old"), b"precious")

    def test_verify_rejects_truncated_and_extended_files(self):
        whole = self.read("f.paes")
        for i, changed in enumerate((whole[:-1], whole[:HEADER + 100 * (SEGMENT + 16)],
                                     whole + b"more", whole[:HEADER - 1], b"")):
            with self.subTest(size=len(changed)):
                self.write("g.paes", changed)
                self.mpi_fails(4, 3, "verify", *WAYS[i % 2], *KEY, "g.paes")

    def test_wrong_key_or_context_is_rejected(self):
        for way in WAYS:
            self.mpi_fails(5, 3, "decrypt", *way, "--key-file", "other", "-o", "g", "f.paes",
                           says="wrong key")
        self.mpi_fails(5, 2, "verify", *KEY, "--context-hex", "00", "f.paes", says="context")
        self.assertFalse(self.path("g").exists())

    def salvage(self, ranks, way, source="f.paes"):
        """Salvages with ranks and with one process, compares the results, returns the report."""
        flags = ["decrypt", "-f", "--salvage", "--json", *KEY, "-o"]
        one = self.run_paraes(*flags, "one", source)
        all_of_them = self.run_mpi(ranks, *flags, "all", *way, source)
        self.assertEqual(all_of_them.returncode, one.returncode, all_of_them.stderr)
        expected, got = json.loads(one.stdout), json.loads(all_of_them.stdout)
        for field in ("bad_ranges", "bytes", "exit", "format"):
            self.assertEqual(got[field], expected[field], field)
        self.assertEqual(self.path("all").exists(), self.path("one").exists())
        self.same(self.read("all"), self.read("one"), "salvaged bytes")
        return got

    def test_recipients_and_identities(self):
        # Rank 0 alone runs age, which writes its rank to a file.
        age = self.path("age-stand-in")
        age.write_text('#!/bin/sh\necho "$OMPI_COMM_WORLD_RANK$PMIX_RANK$PMI_RANK" >> ranks\n'
                       'exec age "$@"\n')
        age.chmod(0o700)
        key, _ = (new_identity(self.path(name)) for name in ("me.txt", "you.txt"))
        env = {"PARAES_AGE": str(age)}
        data = pattern(5 * MIB + 77)
        self.write("f", data)
        mine = ["-i", "me.txt"]
        for way in WAYS:
            for ranks in (1, 3):
                with self.subTest(way=way, ranks=ranks):
                    self.write("ranks", b"")
                    self.mpi(ranks, "encrypt", "-f", *way, "--recipient", key, "f", env=env)
                    self.assertTrue(self.ok("decrypt", *mine, "-c", "f.paes") == data)
                    self.mpi(ranks, "decrypt", "-f", *way, *mine, "-o", "g", "f.paes", env=env)
                    self.assertTrue(self.read("g") == data)
                    self.mpi(ranks, "verify", *way, *mine, "f.paes", env=env)
                    called = self.read("ranks").decode().split()
                    self.assertEqual(len(called), 3)
                    self.assertEqual(set("".join(called)) - {"0"}, set())
        self.mpi_fails(5, 3, "decrypt", "-f", "-i", "you.txt", "-o", "g", "f.paes",
                       says="age refuses the identities")
        self.mpi_fails(1, 3, "decrypt", "-f", *mine, "-o", "g", "f.paes", says="no-such-age",
                       env={"PARAES_AGE": "no-such-age"})

    def test_salvage_of_damage_equals_that_of_one_process(self):
        # A single one, neighbours, both sides of a border between ranks, the end, every other one.
        half = (self.last + 1) // 2
        for i, bad in enumerate(([0], [5, 6, 200], list(range(half - 3, half + 3)),
                                 [100, self.last - 1, self.last], list(range(1, self.last, 2)))):
            with self.subTest(bad=bad[:9]):
                self.ok("encrypt", "-f", *KEY, "f")
                self.damage("f.paes", *(HEADER + k * (SEGMENT + 16) for k in bad))
                self.assertTrue(self.salvage((2, 3, 4, 7)[i % 4], WAYS[i % 2])["bad_ranges"])
        self.write("f.paes", self.read("f.paes")[:sealed_at(150)])
        self.salvage(3, WAYS[0])
        self.salvage(3, SCATTER)

    def test_salvage_of_an_intact_file_reports_no_damage(self):
        self.assertEqual(self.salvage(3, WAYS[0])["bad_ranges"], [])


class Output(MpiCase):
    def setUp(self):
        super().setUp()
        self.write("f", pattern(LARGE))

    def test_json_report_agrees_with_that_of_one_process(self):
        for way in WAYS:
            with self.subTest(way=way[1]):
                self.ok("encrypt", "-f", *KEY, "f")
                report = json.loads(self.mpi(3, "decrypt", "-f", "--json", *way, *KEY, "-o", "g",
                                             "f.paes"))
                one = json.loads(self.ok("decrypt", "-f", "--json", *KEY, "-o", "g", "f.paes"))
                self.assertLessEqual(set(one), set(report))
                self.assertLessEqual(set(one["timeline_ns"]), set(report["timeline_ns"]))
                for field in ("input", "output", "format", "bytes", "device", "status", "exit"):
                    self.assertEqual(report[field], one[field], field)
                self.assertGreater(report["seconds"], 0)
                self.assertGreater(report["timeline_ns"]["kernel"], 0)

    def test_json_reports_a_failure(self):
        done = self.run_mpi(2, "decrypt", "--json", *KEY, "-o", "g", "f")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(json.loads(done.stdout)["exit"], 2)

    def test_existing_target_is_replaced_only_with_force(self):
        self.write("f.paes", b"old")
        self.mpi_fails(2, 3, "encrypt", *KEY, "f", says="exists")
        self.assertEqual(self.read("f.paes"), b"old")
        self.mpi(3, "encrypt", "-f", *KEY, "f")
        self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), pattern(LARGE), "-f")
        self.mpi_fails(2, 2, "encrypt", "-f", *KEY, "-o", "f", "f")
        self.same(self.read("f"), pattern(LARGE), "the input")

    def test_output_gets_mode_and_time_of_the_input(self):
        os.chmod(self.path("f"), 0o640)
        os.utime(self.path("f"), ns=(1234567890123456789, 1234567890123456789))
        for way in WAYS:
            self.mpi(3, "encrypt", "-f", *way, *KEY, "f")
            status = self.path("f.paes").stat()
            self.assertEqual((status.st_mode & 0o777, status.st_mtime_ns),
                             (0o640, 1234567890123456789))

    def test_rm_removes_the_source_only_after_success(self):
        self.mpi(3, "encrypt", "--rm", *KEY, "f")
        self.assertEqual(self.names(), ["f.paes", "k", "other"])
        self.damage("f.paes", sealed_at(5))
        self.mpi_fails(4, 3, "decrypt", "--rm", *KEY, "f.paes")
        self.assertEqual(self.names(), ["f.paes", "k", "other"])
        self.damage("f.paes", sealed_at(5))
        self.mpi(2, "decrypt", "--rm", *SCATTER, *KEY, "f.paes")
        self.same(self.read("f"), pattern(LARGE), "decrypted")
        self.assertEqual(self.names(), ["f", "k", "other"])

    def test_rm_keeps_the_key_that_a_command_prints(self):
        self.write("d/f", b"1")
        self.write("d/my.key", self.read("k"))
        self.mpi_fails(2, 2, "encrypt", "-r", "--rm", "--key-command", "cat d/my.key", "d",
                       says=["d/my.key: it holds the secret of --key-command", "--exclude /my.key"])
        self.assertEqual(sorted(os.listdir(self.path("d"))), ["f", "my.key"])

    def test_refusals_print_one_line(self):
        for status, args in ((1, ["encrypt", *KEY, "missing"]),
                             (2, ["encrypt", *KEY, "--no-such-flag", "f"]),
                             (2, ["encrypt", *KEY, "--distribute", "round-robin", "f"]),
                             (2, ["encrypt", *KEY, "--kernel", "none", "f"]),
                             (2, ["encrypt", "--key-file", "f", "f"]),
                             (2, ["decrypt", *KEY, "f"]),
                             (1, ["encrypt", *KEY, "-o", "missing/g", "f"])):
            with self.subTest(args=args):
                # The error about a wrong flag refers to --help, as in paraes.
                done = self.run_mpi(3, *args)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(len(messages(done.stderr)), 1, done.stderr.decode())
        self.assertEqual(self.names(), ["f", "k", "other"])

    def test_help_and_version_are_printed_once(self):
        self.assertEqual(self.mpi(2, "--version").count(b"\n"), 1)
        text = self.mpi(2, "encrypt", "--help").decode()
        for flag in ("\n  --distribute ", "\n  -k,--key-file "):
            self.assertEqual(text.count(flag), 1, text)

    @with_one_mpi
    def test_help_fits_the_terminal_and_its_examples_are_of_paraes_mpi(self):
        with open(PROGRAM, "rb") as file:
            program = file.read()
        check_layout(self, self.mpi(2, "--help").decode(), program)
        self.write("my.key", self.read("k"))
        self.path("my.key").chmod(0o600)
        for verb in ("encrypt", "decrypt", "verify", "bench"):
            text = self.mpi(2, verb, "--help").decode()
            check_layout(self, text, program)
            lines = examples(text)
            self.assertTrue(lines)
            for line in lines:
                self.assertRegex(line, rf"(^|\| )mpirun -n 4 paraes-mpi {verb} ")
                if verb == "bench":
                    line += " --list"
                for folder in ("photos", "letters", "dir"):
                    self.path(folder).mkdir(exist_ok=True)
                    self.write(f"{folder}/a", b"x")
                self.write("big.tar", pattern(100_000))
                for name in ("big.tar.paes", "backup", "restored", "dir.tar.paes"):
                    path = self.path(name)
                    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                if verb in ("decrypt", "verify"):
                    self.ok("encrypt", "-k", "my.key", "big.tar")
                    self.ok("encrypt", "-rk", "my.key", "-o", "backup", "photos")
                    tar = subprocess.run(["tar", "c", "dir"], cwd=self.dir, check=True,
                                         stdout=subprocess.PIPE).stdout
                    self.write("dir.tar.paes", self.ok("encrypt", "-k", "my.key", stdin=tar))
                if verb == "decrypt":
                    self.path("big.tar").unlink()
                command = line.replace("mpirun", shlex.join(LAUNCHER)).replace("paraes-mpi", PROGRAM)
                with self.subTest(line=line):
                    done = self.finish(["bash", "-o", "pipefail", "-c", command])
                    self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_key_is_read_from_standard_input(self):
        self.mpi(3, "encrypt", "--key-file", "-", "f", stdin=self.read("k"))
        self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), pattern(LARGE), "one process")


class Bench(MpiCase):
    FLAGS = ["bench", "--mode", "ctr", "--direction", "encrypt", "--samples", "3", "--rivals", "none"]

    def rows(self, *flags):
        self.mpi(2, *self.FLAGS, *flags, "--json", "rows.json")
        rows = json.loads(self.read("rows.json"))["results"]
        for row in rows:
            self.assertGreater(row["bytes_per_second"], 0, row)
        return {(row["ranks"], row["distribution"]): row for row in rows}

    def test_memory_scope_has_rows_for_both_distributions_and_one_process(self):
        rows = self.rows("--size", "1MiB")
        # The last one is rank 0 alone, with the same total number of threads.
        self.assertEqual(set(rows), {(2, "shared"), (2, "scatter"), (1, None)})
        for name in ("scatter", "gather"):
            self.assertGreater(rows[2, "scatter"]["timeline_ns"][name], 0)
        for (_, distribution), row in rows.items():
            # If rank 0 sends nothing, the kernel is the whole call, and has no samples of its own.
            phases = {"scatter", "kernel", "gather"} if distribution == "scatter" else set()
            samples = row["timeline_samples_ns"]
            self.assertEqual(set(samples) - {"key_expansion"}, phases)
            for name in phases:
                self.assertEqual(len(samples[name]), len(row["samples_ns"]), name)
            # Rank 0 is in one phase at a time: those of each sample fit in it, but for rounding.
            for whole, *parts in zip(row["samples_ns"], *(samples[name] for name in phases),
                                     strict=True):
                self.assertLessEqual(sum(parts), whole + 1)

    @unittest.skipUnless(OPEN_MPI, "with MPICH, ranks must be in one PID namespace")
    def test_memory_of_another_process_is_not_taken_for_that_of_rank_0(self):
        # Both ranks are process 1 of a namespace of their own, as in containers. What rank 0 calls
        # /proc/1/fd/N is for rank 1 a file that rank 1 has open.
        own = ["unshare", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*own, "true"], capture_output=True).returncode != 0:
            self.skipTest("this machine allows no PID namespaces")
        self.write("precious", bytes(4 * MIB))
        keeps_open = [*own, "bash", "-c",
                      'for n in {10..200}; do eval "exec $n<>precious"; done; exec "$@"', "bash"]
        args = [PROGRAM, *self.FLAGS, "--distribute", "shared", "--size", "1MiB"]
        done = self.mpmd((1, *own, *args), (1, *keeps_open, *args),
                         env={"OMPI_MCA_btl": "self,tcp"})
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertIn("PID namespace", (done.stdout + done.stderr).decode())
        self.assertEqual(self.read("precious"), bytes(4 * MIB))

    def test_axes_without_rows_on_ranks_are_refused(self):
        for flags, says in ((["--in-place", "yes"], "--in-place"), (["--in-place"], "--in-place"),
                            (["--scope", "file", "--format", "raw"], "--format"),
                            (["--key-expansion", "device"], "--key-expansion"),
                            (["--device", "opencl:0"], "--device")):
            with self.subTest(flags=flags):
                self.mpi_fails(2, 2, *self.FLAGS, *flags, says=says)
        done = self.run_mpi(2, *self.FLAGS, "--scope", "file")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"--format paraes has only GCM", done.stdout)

    def test_file_scope_has_rows_for_every_key_size(self):
        done = self.mpi(2, "bench", "--scope", "file", "--direction", "encrypt", "--key-bits",
                        "128,256", "--size", "1MiB", "--list")
        self.assertIn(b"6 rows", done)

    def test_file_scope_has_rows_for_both_distributions(self):
        self.FLAGS = ["bench", "--scope", "file", "--direction", "encrypt", "--samples", "1",
                      "--rivals", "none"]
        rows = self.rows("--size", "8MiB")
        self.assertLessEqual({(2, "shared"), (2, "scatter")}, set(rows))
        for row in rows.values():
            timed = {name for name, ns in row["timeline_ns"].items() if ns is not None}
            self.assertEqual(set(row["timeline_samples_ns"]), timed)
            for name, samples in row["timeline_samples_ns"].items():
                self.assertEqual(len(samples), len(row["samples_ns"]), name)
