"""paraes-mpi: the memory of each rank at work and at its end."""

import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "mpi"))

import needles
import processes
import ptrace
from cases import SearchedMemory, setUpModule  # noqa: F401
from memory import Snapshot
from ranks import DEADLINE, KEY, WAYS, MpiCase, Running

RANKS = 3
RECEIVES = 0.5  # seconds in which a rank receives what rank 0 has sent before it stopped
PLAIN_BYTES = 16 << 20  # every rank has several chunks


def state_of(process):
    return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


class Ranks(SearchedMemory, MpiCase):
    def setUp(self):
        super().setUp()
        self.key = needles.random_key(32, self.id())
        self.write("k", self.key)
        (self.dir / "k").chmod(0o600)
        self.write("plain", os.urandom(PLAIN_BYTES))

    def environment(self, **more):
        # Each rank that writes stops itself, when it has the key and has worked.
        return super().environment(LD_PRELOAD=processes.STOP_AT_WRITE, PARAES_STOP_AT="2", **more)

    def looks_of(self, *args):
        """Snapshots of all ranks, by moment and rank, of one run."""
        run = Running(self, self.command(RANKS, *args))
        self.wait_for(lambda: len(run.ranks()) == RANKS, "all ranks")
        ranks = run.ranks()
        writers = [0] if "scatter" in args else list(ranks)
        self.wait_for(lambda: all(state_of(ranks[rank]) == "T" for rank in writers),
                      "the ranks that write")
        time.sleep(RECEIVES)
        for pid in ranks.values():
            os.kill(pid, signal.SIGSTOP)  # the others would poll for messages
        self.wait_for(lambda: all(state_of(pid) == "T" for pid in ranks.values()), "all ranks")
        looks = {("at work", rank): Snapshot(pid) for rank, pid in ranks.items()}
        watches = {rank: ptrace.EndWatch(pid) for rank, pid in ranks.items()}
        for pid in ranks.values():
            os.kill(pid, signal.SIGCONT)
        self.wait_for_ends(watches, looks)
        self.assertEqual(run.end()[0], 0)
        return looks

    def wait_for_ends(self, watches, looks):
        until = time.monotonic() + DEADLINE
        while watches:
            self.assertLess(time.monotonic(), until, "ranks do not end")
            for rank, watch in list(watches.items()):
                if watch.at_end():
                    looks["at the end", rank] = Snapshot(watch.process)
                    watch.let_go()
                    del watches[rank]
            time.sleep(0.001)

    def check(self, looks, sealed):
        secrets = needles.of((needles.add_key, "key", self.key),
                             (needles.add_paraes, sealed, self.key))
        self.check_looks([(f"rank {rank}", moment, memory)
                          for (moment, rank), memory in looks.items()], secrets)
        for (moment, rank), memory in looks.items():
            if moment == "at work" and rank != 0:
                found = {hit.secret for hit in memory.hits(secrets)}
                self.assertFalse([name for name in found if name.startswith("key")],
                                 "the key of the user is rank 0's alone")

    def check_verb(self, verb, source, target):
        for way in WAYS:
            with self.subTest(way):
                looks = self.looks_of(verb, *KEY, *way, "-f", "-o", target, source)
                self.check(looks, self.read("sealed"))

    def test_encrypt(self):
        self.check_verb("encrypt", "plain", "sealed")

    def test_decrypt(self):
        self.write("sealed", self.ok("encrypt", *KEY, "-c", "plain"))
        self.check_verb("decrypt", "sealed", "opened")
