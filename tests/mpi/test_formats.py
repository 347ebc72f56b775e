"""Every format, size, number of ranks and distribution: ranks and one process read each other."""

import base64
import itertools
import json
import os
import subprocess

from ranks import (
    DEADLINE,
    KEY,
    KEYS,
    LONG,
    MIB,
    PROGRAM,
    RANKS,
    SAMPLE,
    SCATTER,
    SEGMENT,
    SHARED,
    WAYS,
    MpiCase,
    pattern,
)

# The last is not a multiple of segments, blocks or ranks; the one before it has fewer segments than
# the largest number of ranks.
SIZES = (0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT + 5, 5 * MIB + 1)
LARGE = 5 * MIB + 7
RESEAL = os.environ.get("PARAES_RESEAL")

# Segments of 4096 bytes, derived keys of 32 bytes, SHA-256, and the key.
KEYSET = {"primaryKeyId": 7, "key": [{
    "keyId": 7, "status": "ENABLED", "outputPrefixType": "RAW", "keyData": {
        "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
        "keyMaterialType": "SYMMETRIC", "value": base64.b64encode(
            b"\x12\x07\x08\x80\x20\x10\x20\x18\x03\x1a\x20" + KEYS[256]).decode()}}]}

# By format: flags, the size of a large file, and the size of a small one unless others cover it.
RAW = ["--format", "raw", "--mode"]
IV = ["--iv-hex", "ff" * 15 + "f0"]  # a counter that wraps
WORD = ["--passphrase-file", "pw"]
FORMATS = {
    "c2sp": (["--format", "c2sp", *KEY], LARGE, None),
    "context": (["--context-hex", "00ff", *KEY], LARGE, None),
    "AES-128": (["--key-file", "k128"], LARGE, None),
    "tink": (["--format", "tink", *KEY], LARGE, 0),
    "tink, 4 KiB": (["--format", "tink", "--segment-size", "4KiB", "--tink-hash", "SHA512", *KEY],
                    LARGE, 4040 + 4080),
    "tink, keyset": (["--format", "tink", "--key-file", "keyset"], LARGE, 4040),
    "ecb": ([*RAW, "ecb", *KEY], LARGE, 112),
    "ecb, no padding": ([*RAW, "ecb", "--nopad", *KEY], 5 * MIB + 16, 112),
    "cbc": ([*RAW, "cbc", *IV, *KEY], LARGE, 1),
    "cbc, no padding": ([*RAW, "cbc", "--nopad", *IV, *KEY], 5 * MIB + 16, 112),
    "ctr": ([*RAW, "ctr", *IV, "--key-file", "k192"], LARGE, 100),
    "xts": ([*RAW, "xts", "--unit", "512", *IV, "--key-file", "kxts"], LARGE, 523),
    "xts, one unit": ([*RAW, "xts", "--unit", "16MiB", "--key-file", "kxts"], LARGE, 17),
    "openssl": (["--format", "openssl", "--iter", "10", *WORD], LARGE, 15),
    "openssl ctr": (["--format", "openssl", "--mode", "ctr", "--iter", "10", *WORD], LARGE, 15),
}


class Formats(MpiCase):
    def setUp(self):
        super().setUp()
        self.write("k128", KEYS[128])
        self.write("k192", KEYS[192])
        self.write("kxts", KEYS[256] + KEYS[128][::-1] * 2)
        self.write("keyset", json.dumps(KEYSET).encode())
        self.write("pw", b"open sesame\n")

    def reseal(self, plain, sealed):
        """Checks that one process, with the salt of `sealed`, encrypts to the same bytes."""
        if RESEAL:
            done = subprocess.run([RESEAL, "k", plain, sealed], cwd=self.dir, capture_output=True,
                                  timeout=DEADLINE)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def ranks_encrypt(self, ranks, way, flags, data, deterministic=False):
        """Ranks encrypt, one process decrypts."""
        self.write("f", data)
        self.assertEqual(self.mpi(ranks, "encrypt", "-f", *way, *flags, "-o", "g.paes", "f"), b"")
        self.same(self.ok("decrypt", *flags, "-c", "g.paes"), data, "decrypted by one process")
        if deterministic:
            self.same(self.read("g.paes"), self.ok("encrypt", *flags, "-c", "f"), "encrypted")

    def ranks_decrypt(self, ranks, way, flags, data):
        """One process encrypts, ranks decrypt."""
        self.write("f", data)
        self.ok("encrypt", "-f", *flags, "-o", "g.paes", "f")
        self.assertEqual(self.mpi(ranks, "decrypt", "-f", *way, *flags, "-o", "h", "g.paes"), b"")
        self.same(self.read("h"), data, "decrypted by ranks")

    def test_every_size_with_every_number_of_ranks(self):
        for (i, ranks), (j, size) in itertools.product(enumerate(RANKS), enumerate(SIZES)):
            if SAMPLE and (i + j) % 3:
                continue
            # Each pair of ranks and size gets one of the four combinations of direction and
            # distribution, so that every size and every number of ranks gets all four. The long
            # form does all four with every pair.
            chosen = [((i + j) % 2, WAYS[(i // 2 + j // 2) % 2])]
            for decrypt, way in itertools.product((0, 1), WAYS) if LONG else chosen:
                with self.subTest(ranks=ranks, size=size, way=way[1], decrypt=decrypt):
                    if decrypt:
                        self.ranks_decrypt(ranks, way, KEY, pattern(size))
                    else:
                        self.ranks_encrypt(ranks, way, KEY, pattern(size))
                        self.reseal("f", "g.paes")

    def test_every_format_agrees_with_one_process(self):
        for i, (name, (flags, large, small)) in enumerate(FORMATS.items()):
            if SAMPLE and i % 4:
                continue
            way, other = WAYS[i % 2], WAYS[1 - i % 2]

            def of(n):
                return (2, 3, 4)[(i + n) % 3]

            fixed = "raw" in flags
            with self.subTest(format=name):
                self.ranks_encrypt(of(0), way, flags, pattern(large), fixed)
                self.ranks_decrypt(of(1), other, flags, pattern(large))
                if LONG:
                    self.ranks_encrypt(of(2), other, flags, pattern(large), fixed)
                    self.ranks_decrypt(of(3), way, flags, pattern(large))
            if small is None:
                continue
            # More ranks than there are segments or units.
            with self.subTest(format=name, size=small):
                if LONG or i // 2 % 2:
                    self.ranks_encrypt(7, other, flags, pattern(small), fixed)
                if LONG or not i // 2 % 2:
                    self.ranks_decrypt(7, way, flags, pattern(small))

    def test_same_salt_gives_the_bytes_of_one_process(self):
        if not RESEAL:
            self.skipTest("PARAES_RESEAL names no program")
        self.write("f", pattern(LARGE))
        for ranks, way in ((2, SHARED), (7, SHARED), (3, SCATTER)):
            self.mpi(ranks, "encrypt", "-f", *way, *KEY, "f")
            self.reseal("f", "f.paes")
        # Check that reseal fails for a damaged file.
        self.damage("f.paes", 88 + 5 * (SEGMENT + 16))
        self.assertNotEqual(subprocess.run([RESEAL, "k", "f", "f.paes"], cwd=self.dir,
                                           capture_output=True).returncode, 0)

    def test_two_runs_use_different_salts(self):
        self.write("f", pattern(100))
        for name in ("one", "two"):
            self.mpi(2, "encrypt", *KEY, "-o", name, "f")
        self.assertNotEqual(self.read("one")[32:56], self.read("two")[32:56])

    def test_passphrase_from_every_source(self):
        for flags in ([*WORD], ["--passphrase-env", "WORD"],
                      ["--passphrase-command", "printf 'open sesame\\n'"]):
            with self.subTest(flags=flags):
                self.write("f", pattern(LARGE))
                self.mpi(3, "encrypt", "-f", "--scrypt-log2n", "4", *flags, "f",
                         env={"WORD": "open sesame"})
                self.same(self.ok("decrypt", *WORD, "-c", "f.paes"), pattern(LARGE), "one process")
                self.mpi(3, "decrypt", "-f", *SCATTER, *flags, "-o", "g", "f.paes",
                         env={"WORD": "open sesame"})
                self.same(self.read("g"), pattern(LARGE), "ranks")
        self.write("wrong", b"open sesamE\n")
        self.mpi_fails(5, 3, "decrypt", "-f", "--passphrase-file", "wrong", "-o", "g", "f.paes",
                       says="f.paes: wrong passphrase or context")

    def test_output_is_valid_for_all_kernels_and_thread_counts(self):
        self.write("f", pattern(LARGE))
        for flags in (["-T", "1"], ["-T", "3", "--no-overlap"], ["--kernel", "bitslice"]):
            with self.subTest(flags=flags):
                self.mpi(2, "encrypt", "-f", *flags, *KEY, "f")
                self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), pattern(LARGE), flags)

    def test_one_rank_works_without_a_launcher(self):
        self.write("f", pattern(LARGE))
        done = self.finish([PROGRAM, "encrypt", *KEY, "f"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.same(self.ok("decrypt", *KEY, "-c", "f.paes"), pattern(LARGE), "one rank")
