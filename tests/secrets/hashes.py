"""Key derivation in plain Python, with what it has in between: the padded keys of HMAC, and the
states of SHA-2 after them, which serve as well as the key."""

import hashlib
import hmac
import struct


def _primes(count):
    found = [2]
    while len(found) < count:
        found.append(next(n for n in range(found[-1] + 1, 999) if all(n % p for p in found)))
    return found


def _root(number, degree, bits):
    """The first `bits` bits of the fractional part of a square or cube root."""
    scaled, root = number << degree * bits, 0
    for bit in reversed(range(bits + 5)):  # the whole part is less than 32
        if (root | 1 << bit) ** degree <= scaled:
            root |= 1 << bit
    return root & (1 << bits) - 1


class Sha2:
    """SHA-256 or SHA-512 (FIPS 180-4), one block at a time."""

    def __init__(self, bits):
        self.width = bits // 8
        self.mask = (1 << self.width) - 1
        rounds = 64 if bits == 256 else 80
        primes = _primes(rounds)
        self.start = [_root(p, 2, self.width) for p in primes[:8]]
        self.constants = [_root(p, 3, self.width) for p in primes]
        self.rotations = (((2, 13, 22), (6, 11, 25), (7, 18, 3), (17, 19, 10)) if bits == 256
                          else ((28, 34, 39), (14, 18, 41), (1, 8, 7), (19, 61, 6)))

    def _rotated(self, x, *counts):
        result = 0
        for n in counts:
            result ^= (x >> n | x << (self.width - n)) & self.mask
        return result

    def state_after(self, block):
        """The state after one block: eight words."""
        big_0, big_1, small_0, small_1 = self.rotations
        w = list(struct.unpack(">16" + ("I" if self.width == 32 else "Q"), block))
        for i in range(16, len(self.constants)):
            a, b = w[i - 15], w[i - 2]
            w.append((w[i - 16] + w[i - 7]
                      + (self._rotated(a, *small_0[:2]) ^ a >> small_0[2])
                      + (self._rotated(b, *small_1[:2]) ^ b >> small_1[2])) & self.mask)
        a, b, c, d, e, f, g, h = self.start
        for k, word in zip(self.constants, w, strict=True):
            t1 = h + self._rotated(e, *big_1) + (e & f ^ ~e & g) + k + word
            t2 = self._rotated(a, *big_0) + (a & b ^ a & c ^ b & c)
            a, b, c, d, e, f, g, h = (t1 + t2) & self.mask, a, b, c, (d + t1) & self.mask, e, f, g
        return [(x + y) & self.mask for x, y in zip(self.start, (a, b, c, d, e, f, g, h),
                                                     strict=True)]


SHA2 = {"sha256": Sha2(256), "sha512": Sha2(512)}


def hmac_secrets(hash_name, key):
    """What an HMAC under `key` has in memory, by name, as this machine stores it. Of SHA-1 without
    its states."""
    size = hashlib.new(hash_name).block_size
    letter = "Q" if size == 128 else "I"
    if len(key) > size:
        key = hashlib.new(hash_name, key).digest()
    found = {}
    for pad_name, pad in (("inner", 0x36), ("outer", 0x5C)):
        block = bytes(b ^ pad for b in key.ljust(size, b"\0"))
        # Only the part that depends on the key: the rest is the same for all keys.
        found[f"{pad_name} pad"] = block[:len(key)]
        words = struct.pack("<16" + letter, *struct.unpack(">16" + letter, block))
        found[f"words of the {pad_name} pad"] = words[:len(key)]
        if hash_name in SHA2:
            state = SHA2[hash_name].state_after(block)
            found[f"{pad_name} state"] = struct.pack("<8" + letter, *state)
    return found


def hkdf_expand(hash_name, prk, info, size):
    out, block, number = b"", b"", 1
    while len(out) < size:
        block = hmac.digest(prk, block + info + bytes([number]), hash_name)
        out += block
        number += 1
    return out[:size]


def hkdf_extract(hash_name, salt, ikm):
    return hmac.digest(salt or bytes(hashlib.new(hash_name).digest_size), ikm, hash_name)
