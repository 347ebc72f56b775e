"""Ranks on two hosts, which talk over TCP: namespaces of this machine, see the script `hosts`."""

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
# With the slow kernel half a second of work, in which a run can be looked at and hit.
SIZE = 48 * MIB + 100
# The launcher starts its helpers through the agent. What went over the cable is in the file `cable`:
# all that ranks of Open MPI say to those on the other host. Those of MPICH notice through UCX that
# the hosts share their memory, and use it.
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


class Hosts(MpiCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(remove_shared_memory, shared_memory())
        self.plain = pattern(SIZE)
        self.write("f", self.plain)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")

    def command(self, ranks, *args, program=PROGRAM):
        """Half of the ranks on each host, the first ones on paraes-a."""
        half = (ranks + 1) // 2
        where = f"paraes-a:{half},paraes-b:{half}"
        return [HOSTS, "sh", "-c", SCRIPT, "sh", *LAUNCHER, "--host" if OPEN_MPI else "-hosts", where,
                "-n", str(ranks), program, *map(str, args)]

    def over_the_cable(self):
        """Bytes that paraes-a got and sent."""
        numbers = self.read("cable").split(b":")[1].split()
        return int(numbers[0]), int(numbers[8])

    def test_ranks_are_on_both(self):
        # Asked of the ranks while they work: launchers lose lines of programs that are over at once.
        run = self.at_work(self.command(4, "encrypt", *SLOW, *KEY, "f"))
        where = [network_of(pid) for _, pid in sorted(run.ranks().items())]
        self.assertEqual(len(where), 4)
        self.assertEqual(where[0], where[1])
        self.assertEqual(where[2], where[3])
        self.assertNotEqual(where[0], where[2])
        self.assertNotIn(network_of("self"), where)
        self.assertEqual(run.end()[0], 0)
        self.assertGreater(min(self.over_the_cable()), 1000)

    def test_there_and_back(self):
        for way in WAYS:
            with self.subTest(way=way[1]):
                # A kernel so slow that no rank does it all before the others have begun.
                self.assertEqual(self.mpi(4, "encrypt", "-f", *way, *SLOW, *KEY, "f"), b"")
                if OPEN_MPI:
                    # Data goes over the network in one of the two.
                    check = self.assertGreater if way is SCATTER else self.assertLess
                    for count in self.over_the_cable():
                        check(count, SIZE // 8)
                self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), self.plain, "one process")
                self.assertEqual(self.mpi(3, "decrypt", "-f", *way, *KEY, "-o", "h", "g.paes"), b"")
                self.same(self.read("h"), self.plain, "two hosts")
                self.mpi(2, "verify", *way, *KEY, "g.paes")

    def test_hosts_without_a_shared_file_system(self):
        hidden = {"PARAES_HOSTS_HIDE": str(self.dir)}
        for verb, source, target in (("encrypt", "f", "f.paes"), ("decrypt", "g.paes", "g")):
            with self.subTest(verb=verb):
                self.mpi_fails(1, 2, verb, *SHARED, *KEY, source, env=hidden,
                               says=["rank 1", "paraes-b"])
                self.assertFalse(self.path(target).exists())
                self.assertEqual([n for n in self.names() if n.endswith("-tmp")], [])
                self.mpi(4, verb, *SCATTER, *KEY, source, env=hidden)
        self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), self.plain, "encrypted")
        self.same(self.read("g"), self.plain, "decrypted")

    def test_a_host_that_dies(self):
        for way in WAYS:
            for rank_alone in (True, False):
                with self.subTest(way=way[1], rank_alone=rank_alone):
                    run = self.at_work(self.command(4, "encrypt", *way, *SLOW, *KEY, "f"))
                    self.assertFalse(run.over(), "over before it was hit")
                    victims = [run.ranks()[3]]
                    if not rank_alone:
                        # All that runs on paraes-b but what keeps it up.
                        network = network_of(victims[0])
                        victims = [pid for pid in run.everything()
                                   if network_of(pid) == network and not holds(pid)]
                    for pid in victims:
                        try:
                            os.kill(pid, signal.SIGKILL)
                        except ProcessLookupError:
                            pass  # it went with the one before
                    status, _ = run.end(LIMIT)
                    self.assertNotEqual(status, 0)
                    self.assertFalse(self.path("f.paes").exists())
                    self.mpi(4, "encrypt", *KEY, "f")
                    self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), self.plain, "the next run")
                    self.path("f.paes").unlink()
                    self.assertEqual(self.left_over(), [])


def network_of(pid):
    """The network of its host; None if it is over."""
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def holds(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe").endswith(("/sleep", "/coreutils"))
    except OSError:
        return True


if __name__ == "__main__":
    unittest.main()
