"""Ranks on two hosts that communicate over TCP. The script `hosts` simulates them by namespaces."""

import contextlib
import os
import pathlib
import signal
import subprocess
import unittest

from ranks import (
    DEADLINE,
    KEY,
    LAUNCHER,
    LIMIT,
    MIB,
    OPEN_MPI,
    PROGRAM,
    SCATTER,
    SHARED,
    SLOW,
    WAYS,
    MpiCase,
    pattern,
    remove_shared_memory,
    shared_memory,
)

HOSTS = str(pathlib.Path(__file__).resolve().parent / "hosts")
# Half a second of work for the slow kernel: time enough to inspect a run, or to kill a rank.
SIZE = 48 * MIB + 100
# The launcher starts its helpers through the agent. The file `cable` gets the traffic between the
# hosts: with Open MPI, all messages between ranks on different hosts. MPICH notices, through UCX,
# that the hosts share their memory, and uses that.
SCRIPT = """
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$PARAES_AGENT OMPI_MCA_btl=self,vader,tcp
export OMPI_MCA_btl_tcp_if_include=$PARAES_HOSTS_NETWORK
export OMPI_MCA_oob_tcp_if_include=$PARAES_HOSTS_NETWORK
export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$PARAES_AGENT HYDRA_IFACE=cable
"$@"
status=$?
grep cable: /proc/net/dev > cable
exit $status"""


def setUpModule():
    done = subprocess.run([HOSTS, "true"], capture_output=True, timeout=DEADLINE)
    if done.returncode == 77:
        raise unittest.SkipTest(done.stdout.decode().strip())
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())


class TwoHosts(MpiCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(remove_shared_memory, shared_memory())
        self.plain = pattern(SIZE)
        self.write("f", self.plain)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")

    def command(self, ranks, *args, program=PROGRAM):
        """Puts the first half of the ranks on paraes-a, the others on paraes-b."""
        half = (ranks + 1) // 2
        where = f"paraes-a:{half},paraes-b:{half}"
        return [HOSTS, "sh", "-c", SCRIPT, "sh", *LAUNCHER, "--host" if OPEN_MPI else "-hosts", where,
                "-n", str(ranks), program, *map(str, args)]

    def prepared(self, script, ranks, *args):
        """Runs a shell script on paraes-a and then paraes-mpi. In the script, `there COMMAND` runs a
        command on paraes-b."""
        both = f"there() {{ $PARAES_AGENT paraes-b \"$@\"; }}; {script}\nexec \"$@\""
        command = self.command(ranks, *args)
        at = command.index("-c") + 1
        command[at:at + 1] = ["set -e; " + both, "sh", "sh", "-c", SCRIPT]
        return self.finish(command)

    def over_the_cable(self):
        """The bytes that paraes-a received and sent."""
        numbers = self.read("cable").split(b":")[1].split()
        return int(numbers[0]), int(numbers[8])

    def test_ranks_run_on_both_hosts(self):
        # Look at the ranks while they work: launchers lose output of processes that end at once.
        run = self.at_work(self.command(4, "encrypt", *SLOW, *KEY, "f"))
        where = [network_of(pid) for _, pid in sorted(run.ranks().items())]
        self.assertEqual(len(where), 4)
        self.assertEqual(where[0], where[1])
        self.assertEqual(where[2], where[3])
        self.assertNotEqual(where[0], where[2])
        self.assertNotIn(network_of("self"), where)
        self.assertEqual(run.end()[0], 0)
        self.assertGreater(min(self.over_the_cable()), 1000)

    def test_files_round_trip_over_two_hosts(self):
        for way in WAYS:
            with self.subTest(way=way[1]):
                # The slow kernel, so that one rank cannot finish before the others have started.
                self.assertEqual(self.mpi(4, "encrypt", "-f", *way, *SLOW, *KEY, "f"), b"")
                if OPEN_MPI:
                    # Only scatter sends the data over the network.
                    check = self.assertGreater if way is SCATTER else self.assertLess
                    for count in self.over_the_cable():
                        check(count, SIZE // 8)
                self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), self.plain, "one process")
                self.assertEqual(self.mpi(3, "decrypt", "-f", *way, *KEY, "-o", "h", "g.paes"), b"")
                self.same(self.read("h"), self.plain, "two hosts")
                self.mpi(2, "verify", *way, *KEY, "g.paes")

    def test_only_scatter_works_without_a_shared_file_system(self):
        hidden = {"PARAES_HOSTS_HIDE": str(self.dir)}
        for verb, source, target in (("encrypt", "f", "f.paes"), ("decrypt", "g.paes", "g")):
            with self.subTest(verb=verb):
                self.mpi_fails(1, 2, verb, *SHARED, *KEY, source, env=hidden,
                               says=["rank 1", "paraes-b"])
                self.assertFalse(self.path(target).exists())
                self.assertEqual(self.left_over(), [])
                self.mpi(4, verb, *SCATTER, *KEY, source, env=hidden)
        self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), self.plain, "encrypted")
        self.same(self.read("g"), self.plain, "decrypted")

    # Puts `one` and `two` under the name local/f, each on a disk of its own host. Inode, size and
    # time are the same, as on nodes that were installed from one image.
    COPIES = """
        mkdir -p local
        put='mount -t tmpfs tmpfs local && cat %s > local/f && touch -d @1000000000 local/f'
        sh -c "$(printf "$put" one)"
        there "$(printf "$put" two)"
        same='stat -c "%i %s %Y" local/f'
        test "$(sh -c "$same")" = "$(there "$same")" || exit 99"""

    def differ(self, one, two, verb, *args, ranks=2):
        """Runs a verb on local/f, of which each host has another version: it must be refused."""
        self.write("one", one)
        self.write("two", two)
        before = self.names()
        done = self.prepared(self.COPIES, ranks, verb, *SHARED, *KEY, *args, "local/f")
        self.failed(done, 1, ["paraes: local/f: rank ", " (paraes-b): it has ", "other contents",
                              "--distribute scatter"])
        self.path("local").rmdir()
        self.assertEqual(self.names(), sorted({*before, "cable"}))

    def test_copies_of_equal_size_inode_and_time_are_not_mixed(self):
        for size in (SIZE, 5 * MIB, 100_000, 100, 1):
            with self.subTest(size=size):
                self.differ(b"A" * size, b"B" * size, "encrypt", "-o", "h.paes")

    def test_copy_that_differs_in_its_second_half_is_refused_by_each_verb(self):
        other = self.plain[:SIZE // 2] + bytes(SIZE - SIZE // 2)
        self.differ(self.plain, other, "encrypt", "-o", "h.paes", ranks=3)
        sealed = self.read("g.paes")
        half = len(sealed) // 2
        self.differ(sealed, sealed[:half] + bytes(len(sealed) - half), "decrypt", "-o", "h")

    def test_copies_with_different_damage_are_not_called_intact(self):
        # Each rank reads only the good half of its host's copy.
        sealed = self.read("g.paes")
        half = len(sealed) // 2
        one = sealed[:half + MIB] + bytes(len(sealed) - half - MIB)
        two = sealed[:88] + bytes(half - MIB) + sealed[half - MIB + 88:]
        self.differ(one, two, "verify")
        self.differ(one, two, "decrypt", "--salvage", "-o", "h")
        self.differ(one, two, "decrypt", "--offset", str(half - 2 * MIB), "--length", str(4 * MIB),
                    "-o", "h")

    def test_equal_copies_are_accepted(self):
        for size in (SIZE, 300_000, 262_144, 4096, 4095, 1, 0):
            with self.subTest(size=size):
                self.write("one", self.plain[:size])
                self.write("two", self.plain[:size])
                done = self.prepared(self.COPIES, 3, "encrypt", "-f", *SHARED, *KEY, "-o", "h.paes",
                                     "local/f")
                self.assertEqual(done.returncode, 0, done.stderr.decode())
                self.same(self.ok("decrypt", *KEY, "-c", "h.paes"), self.plain[:size], "result")
                self.path("local").rmdir()

    # An overlay shows the files of the folder below it, with their inodes, and copies one to a local
    # disk when it is opened for writing.
    OVERLAY = """
        rm -rf upper work; mkdir upper work
        there 'mount -t overlay overlay -o lowerdir=out,upperdir=upper,workdir=work out' || exit 98"""

    def test_rank_that_writes_to_a_copy_of_the_output_fails_the_run(self):
        self.path("out").mkdir()
        self.write("tiny", b"all of it in the share of rank 1")
        for verb, source, target in (("encrypt", "f", "out/f.paes"), ("decrypt", "g.paes", "out/g"),
                                     ("encrypt", "tiny", "out/tiny.paes")):
            with self.subTest(verb=verb, source=source):
                self.write_to_copies(verb, target, source, says=[
                    f"paraes: {target}: rank 1 (paraes-b): ", "another file", "--distribute scatter"])
                self.assertEqual(os.listdir(self.path("out")), [])

    def write_to_copies(self, verb, target, *args, says=()):
        done = self.prepared(self.OVERLAY, 2, verb, *SHARED, *KEY, "-o", target, *args)
        if done.returncode == 98:
            self.skipTest("this machine allows no overlays")
        self.failed(done, 1, says)

    def test_rank_that_writes_to_a_copy_of_the_output_is_stopped_early(self):
        # Seconds of work for the slow kernel, of which rank 1 must have done only the beginning. The
        # input is a hole.
        size = 1 << 30
        self.path("out").mkdir()
        self.write("f", b"")
        os.truncate(self.path("f"), size)
        self.write_to_copies("encrypt", "out/f.paes", *SLOW, "f")
        (copy,) = self.path("upper").iterdir()
        with open(copy, "rb") as file:
            file.seek(size - MIB)
            self.assertFalse(any(file.read(MIB)), "rank 1 did all of its share")

    def test_run_fails_cleanly_when_a_host_dies(self):
        for way in WAYS:
            for rank_alone in (True, False):
                with self.subTest(way=way[1], rank_alone=rank_alone):
                    run = self.at_work(self.command(4, "encrypt", *way, *SLOW, *KEY, "f"))
                    self.assertFalse(run.over(), "ended before it was hit")
                    victims = [run.ranks()[3]]
                    if not rank_alone:
                        # All processes on paraes-b except the one that keeps the host alive.
                        network = network_of(victims[0])
                        victims = [pid for pid in run.everything()
                                   if network_of(pid) == network and not keeps_host_alive(pid)]
                    for pid in victims:
                        with contextlib.suppress(ProcessLookupError):  # it ended with the previous one
                            os.kill(pid, signal.SIGKILL)
                    status, _ = run.end(LIMIT)
                    self.assertNotEqual(status, 0)
                    self.assertFalse(self.path("f.paes").exists())
                    self.mpi(4, "encrypt", *KEY, "f")
                    self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), self.plain, "the next run")
                    self.path("f.paes").unlink()
                    self.assertEqual(self.left_over(), [])


def network_of(pid):
    """The network namespace of a process, which tells its host; None if the process has ended."""
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def keeps_host_alive(pid):
    """Whether the process is the `sleep` that keeps paraes-b alive."""
    try:
        return os.readlink(f"/proc/{pid}/exe").endswith(("/sleep", "/coreutils"))
    except OSError:
        return True
