"""Many processes at once in one folder: each gets what the threat model promises to two runs with
one target, no data is lost, and no temporary is left."""

import collections
import os
import stat
import subprocess

from faults import BIN, KEY, FaultCase, NoTmpfile, environment, pattern, restore_signals
from support import LONG

PROCESSES = 100 if LONG else 40
IN_TREE = PROCESSES if LONG else 12  # each makes all files of the tree
ROUNDS = 10 if LONG else 1
LIMIT = 120
# Waits until the other end of a pipe is closed, so that all begin together.
WAIT = 'read -r nothing <&$gate; exec "$@"'


class Together(FaultCase):
    """Temporary files without names (O_TMPFILE)."""

    def setUp(self):
        super().setUp()
        self.plain = [pattern(1000 + i) for i in range(PROCESSES)]
        for i, data in enumerate(self.plain):
            self.write(f"f{i}", data)

    def at_once(self, *runs):
        """Runs paraes with the arguments of each of `runs`. Returns the statuses and the errors."""
        gate, opener = os.pipe()
        wait = ["sh", "-c", WAIT.replace("$gate", str(gate)), "sh", BIN]
        processes = [
            subprocess.Popen([*wait, *map(str, run)], cwd=self.dir, env=environment(**self.env),
                             stderr=subprocess.PIPE, pass_fds=[gate], preexec_fn=restore_signals)
            for run in runs
        ]
        for process in processes:
            self.addCleanup(process.kill)
        os.close(opener)
        os.close(gate)
        ends = []
        for process in processes:
            text = process.communicate(timeout=LIMIT)[1].decode()
            ends.append((process.returncode, text))
        self.assertEqual(self.left_over(), [])
        statuses = collections.Counter(status for status, _ in ends)
        print(f"\n{self.id()}: {dict(statuses)}", flush=True)
        return ends

    def check_one_wins(self, ends, statuses, says):
        """Checks that one run succeeded and that the others say why they did not. Returns its
        number."""
        winners = [i for i, (status, _) in enumerate(ends) if status == 0]
        self.assertEqual(len(winners), 1, ends)
        for status, text in ends:
            if status != 0:
                self.assertIn(status, statuses, text)
                self.assertRegex(text, rf"\Aparaes: [^\n]*({says})[^\n]*\n\Z")
        return winners[0]

    def encrypt_at_once(self, *flags, target="out"):
        """Encrypts each file to `target`, in which {i} is its number."""
        return self.at_once(*(["encrypt", *flags, *KEY, "-o", target.format(i=i), f"f{i}"]
                              for i in range(PROCESSES)))

    def test_different_files(self):
        self.path("out").mkdir()
        for _ in range(ROUNDS):
            ends = self.encrypt_at_once("-f", target="out/f{i}")
            self.assertEqual(set(ends), {(0, "")})
            self.assertEqual(len(os.listdir(self.path("out"))), PROCESSES)
        for i, data in enumerate(self.plain):
            self.check_opens(f"out/f{i}", data)

    def test_one_target(self):
        for _ in range(ROUNDS):
            ends = self.encrypt_at_once()
            winner = self.check_one_wins(ends, {2}, "exists|appeared while")
            self.check_opens("out", self.plain[winner])
            self.path("out").unlink()

    def test_one_target_with_f(self):
        self.write("out", b"old")
        for _ in range(ROUNDS):
            ends = self.encrypt_at_once("-f")
            self.assertEqual(set(ends), {(0, "")})
            self.assertIn(self.ok("decrypt", *KEY, "-c", "out"), self.plain)

    def test_one_source_with_rm(self):
        for force in ([], ["-f"]):
            for _ in range(ROUNDS):
                self.write("f", b"the only copy")
                ends = self.at_once(*([["encrypt", "--rm", *force, *KEY, "f"]] * PROCESSES))
                self.check_opens("f.paes", b"the only copy")
                self.assertFalse(self.path("f").exists())
                if force:
                    # Several may have read the file before one of them removed it.
                    self.assertIn(0, {status for status, _ in ends})
                    self.assertLessEqual({status for status, _ in ends}, {0, 1})
                else:
                    says = "exists|appeared while|No such file|not the file that was read"
                    self.check_one_wins(ends, {1, 2}, says)
                self.path("f.paes").unlink()

    def test_one_tree(self):
        files = {f"t/{folder}/{name}": pattern(100 * folder + name)
                 for folder in range(4) for name in range(10)}
        for flags in (["-f"], [], ["--rm"], ["-f", "--rm"]):
            with self.subTest(flags=flags):
                for name, data in files.items():
                    self.write(name, data)
                ends = self.at_once(*([["encrypt", "-q", "-r", *flags, *KEY, "t"]] * IN_TREE))
                for name, data in files.items():
                    self.check_opens(f"{name}.paes", data)
                    self.assertEqual(self.path(name).exists(), "--rm" not in flags)
                    self.path(f"{name}.paes").unlink()
                # 2: a late run finds nothing to do.
                self.assertLessEqual({status for status, _ in ends},
                                     {0} if flags == ["-f"] else {0, 2, 3})
                found = {str(path.relative_to(self.dir)) for path in self.path("t").glob("*/*")}
                self.assertEqual(found, set() if "--rm" in flags else files.keys())

    def test_rekey_of_one_file(self):
        for i in range(PROCESSES):
            self.write(f"k{i}", bytes([128 + i]) * 32)
            self.path(f"k{i}").chmod(0o600)
        for _ in range(ROUNDS):
            self.write("g.paes", self.ok("encrypt", *KEY, "-c", "f7"))
            ends = self.at_once(*(["rekey", *KEY, "--to-key-file", f"k{i}", "g.paes"]
                                  for i in range(PROCESSES)))
            winner = self.check_one_wins(
                ends, {1, 5}, "it is locked|wrong key|replaced while its contents were read")
            plain = self.ok("decrypt", "-k", f"k{winner}", "-c", "g.paes")
            self.assertEqual(plain, self.plain[7])

    def test_keygen_of_one_file(self):
        for _ in range(ROUNDS):
            ends = self.at_once(*([["keygen", "-o", "new"]] * PROCESSES))
            self.check_one_wins(ends, {2}, "exists|appeared while")
            status = self.path("new").stat()
            self.assertEqual((status.st_size, stat.S_IMODE(status.st_mode)), (32, 0o600))
            self.path("new").unlink()


class TogetherWithoutTmpfile(NoTmpfile, Together):
    """Temporary files have names."""
