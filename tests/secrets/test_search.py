"""The search itself: it finds a planted secret in each kind of memory, and says where."""

import hashlib
import os
import subprocess
import unittest

import aes
import hashes
import needles
import processes
from cases import setUpModule  # noqa: F401
from memory import Secrets

PLANT = os.environ["PARAES_PLANT"]
SECRET = needles.random_key(32, "planted")


def secrets():
    found = Secrets()
    found.add("planted", SECRET)
    return found


class Search(unittest.TestCase):
    def plant(self, place):
        watched = processes.Watched([PLANT, place], "/", stdin=subprocess.PIPE)
        self.addCleanup(watched.close)
        watched.process.stdin.write(SECRET)
        watched.process.stdin.flush()
        if place != "end":
            self.assertEqual(watched.process.stdout.readline(), b"ready\n")
        return watched

    @staticmethod
    def hits(watched, wanted):
        watched.look("now")
        return watched.looks["now"].hits(wanted)

    def places(self, place):
        """Where 32 bytes of the secret are found."""
        return sorted(hit.place for hit in self.hits(self.plant(place), secrets())
                      if hit.part == slice(0, 32))

    def test_finds_a_secret_in_each_kind_of_memory(self):
        for place, expected in (("heap", "heap"), ("stack", "stack"), ("thread", "stack"),
                                ("data", "static"), ("bss", "static"), ("mapping", "anonymous"),
                                ("dumped", "anonymous"), ("locked", "locked")):
            with self.subTest(place):
                self.assertEqual(self.places(place), [expected])

    def test_finds_a_secret_at_the_end(self):
        watched = self.plant("end")
        watched.wait_until_still()
        watched.finish(watched.process.stdin.close)
        found = watched.looks["at the end"].hits(secrets())
        self.assertEqual([hit.place for hit in found], ["heap"])

    def test_finds_a_secret_in_the_arguments_and_the_environment(self):
        typed = Secrets()
        needles.add_text(typed, "typed", SECRET.hex().encode())
        watched = processes.Watched(["cat", "-", f"/{SECRET.hex()}"], "/", stdin=subprocess.PIPE,
                                    env={"SECRET": SECRET.hex()})
        self.addCleanup(watched.close)
        places = {hit.place for hit in self.hits(watched, typed)}
        self.assertLessEqual({"arguments", "environment"}, places)

    def test_finds_parts_of_eight_bytes_at_any_address(self):
        for begin, end in ((0, 8), (3, 11), (17, 32)):
            memory = bytes(range(100)) + SECRET[begin:end] + bytes(57)
            self.assertEqual(list(secrets().found_in(memory, 1000)),
                             [("planted", slice(begin, end), 1100)])
        self.assertEqual(list(secrets().found_in(SECRET[:7] + bytes(9) + SECRET[9:16])), [])
        # This form takes longer texts.
        typed = Secrets()
        needles.add_text(typed, "typed", b"0123456789abcdef")
        self.assertEqual(list(typed.found_in(b"x0123456789a-")), [])
        self.assertEqual(list(typed.found_in(b"x0123456789ab-")), [("typed", slice(0, 12), 1)])


class Needles(unittest.TestCase):
    """The secrets to look for are the right ones: examples of the standards."""

    def test_aes(self):
        key = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
        keys = aes.round_keys(key)
        self.assertEqual(keys[10].hex(), "d014f9a8c9ee2589e13f0cc8b6630ca6")  # FIPS 197 appendix A
        block = bytes.fromhex("3243f6a8885a308d313198a2e0370734")
        self.assertEqual(aes.encrypt_block(key, block).hex(), "3925841d02dc09fbdc118597196a0b32")

    def test_powers_of_the_hash_key(self):
        forms = aes.hash_keys(bytes(16), 2)
        self.assertEqual(forms["H^1"].hex(), "66e94bd4ef8a2c3b884cfa59ca342b2e")  # SP 800-38D
        # Test case 2 of the GCM specification: X1 is the product of a block and the hash key.
        block = 0x0388DACE60B6A392F328C2B971B2FE78
        h = int.from_bytes(forms["H^1"], "big")
        self.assertEqual(aes.ghash_product(block, h), 0x5E2EC746917062882C85B0685353DEB7)
        self.assertEqual(forms["H^2"], aes.ghash_product(h, h).to_bytes(16, "big"))

    def test_states_of_hashes(self):
        for name, size, pad in (("sha256", 64, 9), ("sha512", 128, 17)):
            block = b"abc\x80" + bytes(size - 3 - pad) + (24).to_bytes(pad - 1, "big")
            sha = hashes.SHA2[name]
            digest = b"".join(word.to_bytes(sha.width // 8, "big")
                              for word in sha.state_after(block))
            self.assertEqual(digest, hashlib.new(name, b"abc").digest())

    def test_xts_tweaks(self):
        # IEEE 1619 annex B, vector 1: all keys and the plaintext are zero.
        tweak = aes.xts_tweaks(bytes(16), 0, 2)[1]
        sealed = aes.encrypt_block(bytes(16), tweak)
        block = bytes(a ^ b for a, b in zip(sealed, tweak, strict=True))
        self.assertEqual(block.hex(), "cd43d2f59598ed858c02c2652fbf922e")
