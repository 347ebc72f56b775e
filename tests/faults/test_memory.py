"""Memory that runs out at any allocation: a run reports it in one line, leaves whole files or none and
keeps its sources, or goes on where that is correct. `tests/run long:faults` tries every allocation.

PARAES_FAILING_MEMORY names the library to preload, see tests/support/failing_memory_preload.cpp."""

import collections
import signal
import ssl
import struct
import subprocess
import unittest

from faults import KEY, SMALL, environment, preloaded, sanitized
from recipients import AGE, RecipientsCase
from test_protected import KEYSET
from trees import CHEAP, LIMIT, PASSPHRASE, RAW, Job, TreeCase, read_tree, sample

SAMPLES = 12  # of the faults of each run
ALL = 1 << 40
# libcrypto 3.5 waits for itself without end if one of its first allocations fails: it then reports an
# error, for which it starts once more. paraes makes sure of that memory before, so only an allocation
# that fails by its number gets there.
STARTING = 4 if ssl.OPENSSL_VERSION_INFO >= (3, 5) else 0
STARTING_LIMIT = 20
# scrypt says how much memory it needs, and PBKDF2 only that it failed.
SAYS = (
    r"\Aparaes: [^\n]*((out of|Cannot allocate|MiB of) memory|PKCS5_PBKDF2_HMAC failed)[^\n]*\n\Z"
)


@unittest.skipIf(sanitized(), "the sanitizers allocate memory themselves")
class MemoryCase(TreeCase):
    def setUp(self):
        super().setUp()
        self.preload = preloaded("PARAES_FAILING_MEMORY")["LD_PRELOAD"]

    def run_with(self, folder, job, stdin, first, most, limit=LIMIT):
        """Runs paraes with `most` failing allocations, from number `first` on. Returns how it ended,
        and the numbers of its log."""
        self.begin(folder, job)
        log = folder.with_suffix(".log")
        log.write_bytes(bytes(24))
        env = environment(LD_PRELOAD=self.preload, PARAES_FAIL_LOG=str(log),
                          PARAES_FAIL_FIRST=str(first), PARAES_FAIL_MOST=str(most))
        done = self.run_in(folder, *job.args, env=env, input=stdin, timeout=limit)
        return done, struct.unpack("3q", log.read_bytes())

    def check(self, folder, job, done):
        text = done.stderr.decode()
        if self.may_end_in_a_library(job.args, -done.returncode):
            self.check_tree(folder, job, False)
            return
        self.assertIn(done.returncode, (0, 1, 3), text)
        if done.returncode == 0:
            self.assertEqual(text, "")
        lines = text.splitlines(keepends=True)
        if done.returncode == 1:
            self.assertEqual(len(lines), 1, text)
        for line in lines:
            self.assertRegex(line, SAYS)
        self.check_tree(folder, job, done.returncode == 0)

    @staticmethod
    def may_end_in_a_library(args, signal_number):
        """Whether a library may end the process if memory runs out in it. libcrypto 3.0 follows a null
        pointer while it makes its first context, which it does to derive a key of a passphrase."""
        return signal_number == signal.SIGSEGV and any("passphrase" in arg for arg in args)

    def exhaust(self, name, job, stdin=b"", output=lambda data, succeeded: data == b"", last=0):
        """Runs paraes with failing allocations: one, or all from one on. `output` says whether
        standard output is right. With `last`, each of so many at the end fails in place of a sample."""
        done, (before_main, total, _) = self.run_with(self.path("w0"), job, stdin, ALL, 0)
        self.check(self.path("w0"), job, done)
        self.assertEqual(done.returncode, 0)
        self.assertGreater(total - before_main, 100)
        if last:
            faults = [(first, 1) for first in range(total - last, total + 1)]
        else:
            # A few more: with threads, the number of allocations is not always the same.
            faults = sample(
                [(first, most) for most in (1, ALL) for first in range(before_main + 1, total + 10)],
                SAMPLES, name)
        ends = collections.Counter()

        def work(folder, fault):
            starting = fault[0] <= before_main + STARTING
            limit = STARTING_LIMIT if starting else LIMIT
            try:
                done, (_, made, failed) = self.run_with(folder, job, stdin, *fault, limit)
            except subprocess.TimeoutExpired:
                if not starting:
                    raise
                with self.lock, self.subTest(name, first=fault[0], most=fault[1]):
                    ends["libcrypto waits for itself"] += 1
                    self.check_tree(folder, job, False)
                return
            with self.lock, self.subTest(name, first=fault[0], most=fault[1]):
                if made and not failed:
                    ends["not reached"] += 1
                    return
                ends[done.returncode] += 1
                self.check(folder, job, done)
                self.assertTrue(output(done.stdout, done.returncode == 0), "wrong output")

        self.each(faults, work)
        if not last:
            self.assertGreater(ends[1] + ends[3], len(faults) // 4)
        print(f"\n{name}: {before_main} allocations before main, {total} in all; ends: {dict(ends)}",
              flush=True)

    def exhaust_all(self, name, jobs, *only):
        for job in only or jobs:
            self.exhaust(f"{job}, {name}", jobs[job])


class Commands(MemoryCase):
    def test_encrypt_and_decrypt(self):
        for name, key, seal in (
            ("paraes", KEY, None),
            ("raw", ["-q", *KEY, *RAW], None),
            ("openssl", ["-q", *PASSPHRASE, "--format", "openssl", "--iter", "10"], None),
            ("passphrase", PASSPHRASE, [*PASSPHRASE, *CHEAP]),
        ):
            self.exhaust_all(name, self.file_jobs(*key, seal=seal), "encrypt --rm", "decrypt -f")

    def test_keyset(self):
        self.write("set", KEYSET)
        self.secrets["set"] = KEYSET
        jobs = self.file_jobs("--format", "tink", "-k", "set")
        self.exhaust_all("keyset", jobs, "encrypt", "decrypt")

    def test_commands_for_secrets(self):
        # The secrets that they print never reach standard output.
        for key, seal in (
            (KEY, ["--key-command", "cat k"]),
            (PASSPHRASE, ["--passphrase-command", "cat p", *CHEAP]),
        ):
            self.exhaust_all(seal[0], self.file_jobs(*key, seal=seal), "encrypt")

    def test_verify(self):
        self.exhaust_all("a key", self.file_jobs(*KEY), "verify")

    def test_pipes(self):
        opens = self.opens(*KEY)
        self.exhaust("encrypt pipes", Job({}, ["encrypt", *KEY, "-"], {}), SMALL,
                     lambda data, succeeded: opens(data) or not succeeded)
        self.exhaust("decrypt pipes", Job({}, ["decrypt", *KEY, "-"], {}), self.sealed(*KEY),
                     lambda data, succeeded: data == SMALL if succeeded else SMALL.startswith(data))

    def test_keygen(self):
        self.exhaust("keygen", self.keygen_job())

    def test_rekey(self):
        self.exhaust_all("one file", self.rekey_jobs())

    def test_folders_and_threads(self):
        self.exhaust_all("3 threads", self.folder_jobs(threads=3))

    def test_after_the_last_file(self):
        # A file that is in its place is not processed again, which would call its new key a wrong one.
        for name, job in self.folder_jobs(depth=8).items():
            self.exhaust(f"{name}, the last allocations", job, last=100)

    def test_before_main(self):
        # The constants of CLI11's header, before which no handler of ours can be. Nothing is touched.
        job, folder = self.file_jobs(*KEY)["encrypt"], self.path("w")
        _, (before_main, _, _) = self.run_with(folder, job, b"", ALL, 0)
        self.assertLess(before_main, 100)
        for first in sample(range(1, before_main + 1), 5, "before main"):
            done, _ = self.run_with(folder, job, b"", first, 1)
            self.assertIn(done.returncode, (0, -signal.SIGABRT))
            if done.returncode != 0:
                self.assertEqual(read_tree(folder), {**self.secrets, **job.begin})


@unittest.skipIf(AGE is None, "age is not installed")
class Recipients(RecipientsCase, MemoryCase):
    """age itself gets all the memory that it asks for."""

    def setUp(self):
        super().setUp()
        self.secrets |= {"me.txt": self.read("me.txt")}

    def test_recipients(self):
        mine, to_me = ["-i", "me.txt"], ["--recipient", self.me]
        self.exhaust_all("recipients", self.file_jobs(*mine, seal=to_me), "encrypt", "decrypt")
        self.exhaust("rekey to recipients", self.rekey_job(KEY, ["--to-recipient", self.me], mine))
