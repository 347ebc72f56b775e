"""Memory that runs out at any allocation: a run reports it in one line, leaves whole files or none and
keeps its sources, or goes on where that is correct. `tests/run long:faults` tries every allocation.

PARAES_FAILING_MEMORY names the library to preload, see tests/support/failing_memory_preload.cpp."""

import collections
import signal
import ssl
import struct
import subprocess
import unittest

from faults import BIN, SMALL, environment, preloaded, sanitized
from recipients import AGE, RecipientsCase
from trees import (
    CHEAP,
    PASSPHRASE,
    RAW,
    TreeCase,
    folder_files,
    is_bytes,
    read_tree,
    sample,
    write_tree,
)

SAMPLES = 40  # of the faults of each run
ALL = 1 << 40
LIMIT = 60
# libcrypto 3.5 waits for itself without end if one of its first allocations fails: it then reports an
# error, for which it starts once more. paraes makes sure of that memory before, so only an allocation
# that fails by its number gets there.
STARTING = 4 if ssl.OPENSSL_VERSION_INFO >= (3, 5) else 0
STARTING_LIMIT = 20
KEYSET = (
    b'{"primaryKeyId":1,"key":[{"keyData":{"typeUrl":'
    b'"type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey","value":'
    b'"GhAAAAAAAAAAAAAAAAAAAAAAEggYAxAQCICABA==","keyMaterialType":"SYMMETRIC"},'
    b'"status":"ENABLED","keyId":1,"outputPrefixType":"RAW"}]}'
)
# scrypt says how much memory it needs, and PBKDF2 only that it failed.
SAYS = (
    r"\Aparaes: [^\n]*((out of|Cannot allocate|MiB of) memory|PKCS5_PBKDF2_HMAC failed)[^\n]*\n\Z"
)


@unittest.skipIf(sanitized(), "the sanitizers allocate memory themselves")
class MemoryCase(TreeCase):
    def setUp(self):
        super().setUp()
        self.preload = preloaded("PARAES_FAILING_MEMORY")["LD_PRELOAD"]

    def run_with(self, folder, args, stdin, first, most, limit=LIMIT):
        """Runs paraes with `most` failing allocations, from number `first` on. Returns how it ended,
        and the numbers of its log."""
        write_tree(folder, self.begin)
        log = folder.with_suffix(".log")
        log.write_bytes(bytes(24))
        env = environment(
            LD_PRELOAD=self.preload,
            PARAES_FAIL_LOG=str(log),
            PARAES_FAIL_FIRST=str(first),
            PARAES_FAIL_MOST=str(most),
        )
        done = subprocess.run(
            [BIN, *args], cwd=folder, env=env, input=stdin, capture_output=True, timeout=limit
        )
        return done, struct.unpack("3q", log.read_bytes())

    def check(self, folder, args, wanted, done):
        text = done.stderr.decode()
        if self.may_end_in_a_library(args, -done.returncode):
            self.check_tree(folder, args, wanted, False)
            return
        self.assertIn(done.returncode, (0, 1, 3), text)
        if done.returncode == 0:
            self.assertEqual(text, "")
        lines = text.splitlines(keepends=True)
        if done.returncode == 1:
            self.assertEqual(len(lines), 1, text)
        for line in lines:
            self.assertRegex(line, SAYS)
        self.check_tree(folder, args, wanted, done.returncode == 0)

    @staticmethod
    def may_end_in_a_library(args, signal_number):
        """Whether a library may end the process if memory runs out in it. libcrypto 3.0 follows a null
        pointer while it makes its first context, which it does to derive a key of a passphrase."""
        return signal_number == signal.SIGSEGV and any("passphrase" in arg for arg in args)

    def exhaust(self, name, args, wanted, stdin=b"", output=lambda data, succeeded: data == b""):
        """Runs paraes with failing allocations: one, or all from one on. `output` says whether
        standard output is right."""
        done, (before_main, total, _) = self.run_with(self.path("w0"), args, stdin, ALL, 0)
        self.check(self.path("w0"), args, wanted, done)
        self.assertEqual(done.returncode, 0)
        self.assertGreater(total - before_main, 100)
        # A few more: with threads, the number of allocations is not always the same.
        faults = sample(
            [(first, most) for first in range(before_main + 1, total + 10) for most in (1, ALL)],
            SAMPLES,
            name,
        )
        ends = collections.Counter()

        def work(folder, fault):
            starting = fault[0] <= before_main + STARTING
            limit = STARTING_LIMIT if starting else LIMIT
            try:
                done, (_, made, failed) = self.run_with(folder, args, stdin, *fault, limit)
            except subprocess.TimeoutExpired:
                if not starting:
                    raise
                with self.lock, self.subTest(name, first=fault[0], most=fault[1]):
                    ends["libcrypto waits for itself"] += 1
                    self.check_tree(folder, args, wanted, False)
                return
            with self.lock, self.subTest(name, first=fault[0], most=fault[1]):
                if made and not failed:
                    ends["not reached"] += 1
                    return
                ends[done.returncode] += 1
                self.check(folder, args, wanted, done)
                self.assertTrue(output(done.stdout, done.returncode == 0), "wrong output")

        self.each(faults, work)
        self.assertGreater(ends[1] + ends[3], 10)
        print(
            f"\n{name}: {before_main} allocations before main, {total} in all; ends: {dict(ends)}",
            flush=True,
        )


class Commands(MemoryCase):
    def test_encrypt_and_decrypt(self):
        for name, flags, more in (
            ("paraes", ["-k", "k"], []),
            ("raw", ["-q", "-k", "k", *RAW], []),
            ("openssl", ["-q", *PASSPHRASE, "--format", "openssl", "--iter", "10"], []),
            ("passphrase", PASSPHRASE, CHEAP),
        ):
            self.start_with(f=SMALL)
            self.exhaust(
                f"encrypt, {name}",
                ["encrypt", *flags, *more, "-T", "1", "--rm", "f"],
                {"f.paes": self.opens(*flags)},
            )
            self.start_with(g_paes=self.sealed(*flags, *more), g=b"old")
            self.exhaust(
                f"decrypt, {name}",
                ["decrypt", *flags, "-T", "1", "-f", "g.paes"],
                {"g": is_bytes(SMALL)},
            )

    def test_keyset(self):
        self.write("set", KEYSET)
        flags = ["--format", "tink", "-k", "set"]
        self.start_with(set=KEYSET, f=SMALL)
        self.exhaust(
            "encrypt, keyset", ["encrypt", *flags, "-T", "1", "f"], {"f.paes": self.opens(*flags)}
        )
        self.start_with(set=KEYSET, g_paes=self.sealed(*flags))
        self.exhaust(
            "decrypt, keyset", ["decrypt", *flags, "-T", "1", "g.paes"], {"g": is_bytes(SMALL)}
        )

    def test_commands_for_secrets(self):
        # What they print never gets to standard output.
        for name, flags in (
            ("key", ["--key-command", "cat k"]),
            ("passphrase", ["--passphrase-command", "cat p", *CHEAP]),
        ):
            self.start_with(f=SMALL)
            opened = ["-k", "k"] if name == "key" else PASSPHRASE
            self.exhaust(
                f"encrypt, {name} of a command",
                ["encrypt", *flags, "-T", "1", "f"],
                {"f.paes": self.opens(*opened)},
            )

    def test_verify(self):
        self.start_with(g_paes=self.sealed("-k", "k"))
        self.exhaust("verify", ["verify", "-k", "k", "g.paes"], {})

    def test_pipes(self):
        self.start_with()
        opens = self.opens("-k", "k")
        self.exhaust(
            "encrypt pipes",
            ["encrypt", "-k", "k", "-"],
            {},
            stdin=SMALL,
            output=lambda data, succeeded: opens(data) or not succeeded,
        )
        self.exhaust(
            "decrypt pipes",
            ["decrypt", "-k", "k", "-"],
            {},
            stdin=self.sealed("-k", "k"),
            output=lambda data, succeeded: data == SMALL if succeeded else SMALL.startswith(data),
        )

    def test_keygen(self):
        self.start_with()
        self.exhaust("keygen", ["keygen", "-o", "new"], {"new": lambda data: len(data) == 32})

    def test_rekey(self):
        for name, flags, key in (
            ("a key", ["--to-key-file", "k2"], ["-k", "k2"]),
            ("a passphrase", ["--to-passphrase-file", "p", *CHEAP], PASSPHRASE),
        ):
            self.start_with(g_paes=self.sealed("-k", "k"))
            self.exhaust(
                f"rekey to {name}",
                ["rekey", "-k", "k", *flags, "-T", "1", "g.paes"],
                {"g.paes": self.opens(*key)},
            )

    def test_folders_and_threads(self):
        files = folder_files()
        flags = ["-q", "-r", "-k", "k", "-T", "3"]
        self.begin = {**self.secrets, **files}
        self.exhaust(
            "encrypt -r",
            ["encrypt", *flags, "--rm", "t"],
            {f"{name}.paes": self.opens("-k", "k", plain=data) for name, data in files.items()},
        )
        sealed = {f"{name}.paes": self.sealed("-k", "k", data=data) for name, data in files.items()}
        self.begin = {**self.secrets, **sealed}
        self.exhaust("verify -r", ["verify", *flags, "t"], {})
        self.exhaust(
            "rekey -r",
            ["rekey", *flags, "--to-key-file", "k2", "t"],
            {f"{name}.paes": self.opens("-k", "k2", plain=data) for name, data in files.items()},
        )
        self.exhaust(
            "decrypt -r",
            ["decrypt", *flags, "-o", "out", "t"],
            {f"out/{name}": is_bytes(data) for name, data in files.items()},
        )

    def test_before_main(self):
        # The constants of CLI11's header, before which no handler of ours can be. Nothing is touched.
        self.start_with(f=SMALL)
        args = ["encrypt", "-k", "k", "f"]
        _, (before_main, _, _) = self.run_with(self.path("w"), args, b"", ALL, 0)
        self.assertLess(before_main, 100)
        for first in sample(range(1, before_main + 1), 5, "before main"):
            done, _ = self.run_with(self.path("w"), args, b"", first, 1)
            self.assertIn(done.returncode, (0, -signal.SIGABRT))
            if done.returncode != 0:
                self.assertEqual(read_tree(self.path("w")), self.begin)


@unittest.skipIf(AGE is None, "age is not installed")
class Recipients(RecipientsCase, MemoryCase):
    """age itself gets all the memory that it asks for."""

    def setUp(self):
        MemoryCase.setUp(self)
        self.me = self.new_identity("me.txt")
        self.secrets |= {"me.txt": self.read("me.txt")}
        self.to_me = self.opens("-i", "me.txt")

    def test_recipients(self):
        self.start_with(f=SMALL)
        self.exhaust(
            "encrypt, recipients",
            ["encrypt", "--recipient", self.me, "-T", "1", "f"],
            {"f.paes": self.to_me},
        )
        self.start_with(g_paes=self.seal(SMALL))
        self.exhaust(
            "decrypt, recipients",
            ["decrypt", "-i", "me.txt", "-T", "1", "g.paes"],
            {"g": is_bytes(SMALL)},
        )
        self.start_with(g_paes=self.sealed("-k", "k"))
        self.exhaust(
            "rekey to recipients",
            ["rekey", "-k", "k", "--to-recipient", self.me, "-T", "1", "g.paes"],
            {"g.paes": self.to_me},
        )


if __name__ == "__main__":
    unittest.main()
