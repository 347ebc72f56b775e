"""One message for two keys: GCM allows it, tink does not prevent it, and c2sp and paraes do."""

import hashlib

from clients import make
from common import KEYS, InteropCase
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ONE = 1 << 127  # in the field of SP 800-38D, in which the first bit is that of x^0
KEY, OTHER = KEYS[256], bytes(range(100, 132))


def multiply(x, y):
    """SP 800-38D section 6.3."""
    product = 0
    for i in range(127, -1, -1):
        if x >> i & 1:
            product ^= y
        y = y >> 1 ^ (0xe1 << 120 if y & 1 else 0)
    return product


def power(x, n):
    result = ONE
    while n:
        if n & 1:
            result = multiply(result, x)
        x, n = multiply(x, x), n >> 1
    return result


def block_cipher(key, block):
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


class Gcm:
    """A key with a nonce."""

    def __init__(self, key, nonce):
        self.key, self.nonce = key, nonce
        self.h = int.from_bytes(block_cipher(key, bytes(16)), "big")
        self.mask = int.from_bytes(block_cipher(key, nonce + b"\0\0\0\1"), "big")

    def tag(self, blocks):
        """Of this ciphertext, a list of numbers, without associated data (section 7.1)."""
        state = 0
        for block in [*blocks, 128 * len(blocks)]:
            state = multiply(state ^ block, self.h)
        return state ^ self.mask

    def text(self, cipher):
        counter = self.nonce + b"\0\0\0\2"
        return Cipher(algorithms.AES(self.key), modes.CTR(counter)).encryptor().update(cipher)


def text_for_both(first, second, count=4):
    """A ciphertext of `count` blocks with a tag that is right for both: the last block is such that
    the tags are equal. (Dodis, Grubbs, Ristenpart and Woodage, 2018, attack messengers so.)"""
    blocks = [int.from_bytes(hashlib.sha256(bytes([i])).digest()[:16], "big")
              for i in range(count - 1)]
    # The last block enters each tag times h^2: it is followed by the block of the lengths.
    difference = first.tag([*blocks, 0]) ^ second.tag([*blocks, 0])
    factor = power(first.h, 2) ^ power(second.h, 2)
    blocks.append(multiply(difference, power(factor, 2**128 - 2)))
    assert first.tag(blocks) == second.tag(blocks)
    return b"".join(b.to_bytes(16, "big") for b in [*blocks, first.tag(blocks)])


class TwoKeys(InteropCase):
    GIVEN = {"one": KEY, "two": OTHER}

    def check(self, flags, message, gcm, name):
        """The message opens with the key in the file `name`."""
        self.assertEqual(self.ok("decrypt", *flags, "--key-file", name, "-", stdin=message),
                         gcm.text(message[-80:-16]))

    def test_tink_opens_one_message_with_two_keys(self):
        # This is no promise: it shows that such messages exist.
        header = bytes([40]) + bytes(range(39))
        both = [Gcm(HKDF(SHA256(), 32, header[1:33], b"").derive(key), header[33:] + bytes(4) + b"\1")
                for key in (KEY, OTHER)]
        message = header + text_for_both(*both)
        for gcm, name in zip(both, ("one", "two"), strict=True):
            self.check(["--format", "tink"], message, gcm, name)

    def derived(self, key, preface):
        """Segment key and nonce, and the commitment (docs/formats.md)."""
        derived, nonce, commitment = make.message_keys(key, bytes(24), preface)
        return Gcm(derived, nonce), commitment

    def test_c2sp_and_paraes_open_it_with_the_key_that_the_header_commits_to(self):
        preface = b"PARAES\r\n" + bytes([1, 0, 2, 0]) + bytes(20)
        for flags, before in ((["--format", "c2sp"], b""), ([], preface)):
            one, commitment_to_one = self.derived(KEY, before)
            two, commitment_to_two = self.derived(OTHER, before)
            segment = text_for_both(one, two)
            for commitment, gcm, right, wrong in ((commitment_to_one, one, "one", "two"),
                                                  (commitment_to_two, two, "two", "one")):
                with self.subTest(flags=flags, key=right):
                    message = before + bytes(24) + commitment + segment
                    self.check(flags, message, gcm, right)
                    self.fails(5, "decrypt", *flags, "--key-file", wrong, "-", stdin=message,
                               says="wrong key")
