"""--format paraes, the default, against the client in clients.py, both ways."""

import json
import unittest

from clients import c2sp_open, paraes_open, paraes_seal, scrypt
from common import (CHUNK, CONTEXTS, KEYS, PIECE, ChunkedTests, InteropCase, flipped, in_hex,
                    pattern)

WORD = b"correct horse"
LOG2N = 4  # as cheap as scrypt gets that is worth calling so
AEAD, LOG2N_AT, RESERVED, SALT = 10, 11, 12, 16  # offsets in the preface


class WithKey(ChunkedTests, InteropCase):
    header_bytes = 88

    def flags(self, bits, context=b""):
        return ["--key-file", f"key{bits}", *in_hex(context)]

    def seal(self, bits, plain, context=b""):
        return paraes_seal(plain, key=KEYS[bits], context=context)

    def open(self, bits, message, context=b""):
        return paraes_open(message, key=KEYS[bits], context=context)

    def test_wrong_key(self):
        messages = {"short": self.seal(256, b""), "long": self.seal(256, pattern(3 * CHUNK))}
        self.refused(5, "wrong key", messages, "--key-file", "other")
        self.refused(5, "wrong key", messages, "--key-file", "key128")

    def test_preface(self):
        for bits, aead in ((128, 1), (256, 2)):
            made = self.ok("encrypt", *self.flags(bits), "-", stdin=b"data")
            self.assertEqual(made[:32], b"PARAES\r\n" + bytes([1, 0, aead, 0]) + bytes(20))

    def test_format_may_be_named(self):
        message = self.seal(256, b"data")
        flags = [*self.flags(256), "--format", "paraes", "-"]
        self.assertEqual(self.ok("decrypt", *flags, stdin=message), b"data")
        self.assertEqual(self.open(256, self.ok("encrypt", *flags, stdin=b"data")), b"data")

    def test_changed_preface(self):
        message = self.seal(256, b"data")
        for name, at, mask, says in (("version", 8, 3, "version 2"), ("kdf", 9, 2, "kdf 2"),
                                     ("aead", AEAD, 5, "aead 7"),
                                     ("reserved", RESERVED, 1, "reserved"),
                                     ("last reserved", RESERVED + 3, 128, "reserved"),
                                     ("log2 N", LOG2N_AT, 4, "scrypt"),
                                     ("salt", SALT, 1, "scrypt")):
            self.refused(4, says, {name: flipped(message, at, mask)}, *self.flags(256))
        # AES-128 by the preface, which a key of 32 bytes cannot be for; then with one that can.
        changed = {"aead": flipped(message, AEAD, 3)}
        self.refused(5, "wrong key", changed, "--key-file", "key256")
        self.refused(5, "wrong key", changed, "--key-file", "key128")

    def test_not_paraes(self):
        for at in range(8):
            changed = flipped(self.seal(256, b"data"), at)
            self.fails(2, "decrypt", *self.flags(256), "-", stdin=changed, says="--format c2sp")
            self.fails(4, "decrypt", *self.flags(256), "--format", "paraes", "-", stdin=changed)

    def test_is_c2sp_behind_32_bytes(self):
        for bits in (128, 256):
            for context in CONTEXTS:
                for size in (0, 5, CHUNK, PIECE + 1):
                    with self.subTest(bits=bits, context=len(context), size=size):
                        data = pattern(size)
                        made = self.ok("encrypt", *self.flags(bits, context), "-", stdin=data)
                        whole = made[:32] + context
                        self.assertTrue(c2sp_open(KEYS[bits], made[32:], whole) == data)
                        if len(whole) > 512:
                            continue  # more than the command takes in one --context-hex
                        flags = ["--format", "c2sp", "--key-file", f"key{bits}", *in_hex(whole)]
                        self.assertTrue(self.ok("decrypt", *flags, "-", stdin=made[32:]) == data)
                        # And the other way: a preface makes a c2sp message of ours a paraes one.
                        made = whole[:32] + self.ok("encrypt", *flags, "-", stdin=data)
                        self.assertTrue(self.ok("decrypt", *self.flags(bits, context), "-",
                                                stdin=made) == data)

    def test_takes_no_passphrase(self):
        self.refused(2, "not with a passphrase", {"m": self.seal(256, b"data")},
                     "--passphrase-file", "pw")


class WithPassphrase(InteropCase):
    def setUp(self):
        super().setUp()
        self.write("pw", WORD + b"\n")
        self.write("key", KEYS[256])

    def flags(self, bits=256, context=b""):
        return ["--passphrase-file", "pw", *([] if bits == 256 else ["--key-bits", bits]),
                *in_hex(context)]

    def seal(self, plain, **more):
        return paraes_seal(plain, passphrase=WORD, **{"log2n": LOG2N, **more})

    def test_both_ways(self):
        plains = {f"f{size}": pattern(size) for size in (0, 1, CHUNK - 1, CHUNK, PIECE, PIECE + 1)}
        for bits in (128, 256):
            for context in CONTEXTS:
                with self.subTest(bits=bits, context=len(context)):
                    made = self.encrypt_all(plains, *self.flags(bits, context), "--scrypt-log2n",
                                            LOG2N)
                    self.check_same({n: paraes_open(m, passphrase=WORD, context=context)
                                     for n, m in made.items()}, plains)
                    made = {n: self.seal(data, context=context, key_bytes=bits // 8)
                            for n, data in plains.items()}
                    # The preface says which AES it is: decrypting needs no --key-bits.
                    self.check_same(self.decrypt_all(made, *self.flags(256, context)), plains)

    def test_files_and_pipes(self):
        for size in (0, CHUNK, PIECE + 1):
            data = pattern(size)
            self.four_ways("encrypt", data, lambda made: self.assertTrue(
                paraes_open(made, passphrase=WORD) == data), *self.flags(), "--scrypt-log2n", LOG2N)
            self.four_ways("decrypt", self.seal(data), lambda got: self.assertTrue(
                got == data), *self.flags())

    def test_costs(self):
        for log2n in (1, 2, 10, 17):
            with self.subTest(log2n=log2n):
                made = self.ok("encrypt", *self.flags(), "--scrypt-log2n", log2n, "-",
                               stdin=b"data")
                self.assertEqual(made[LOG2N_AT], log2n)
                self.assertEqual(paraes_open(made, passphrase=WORD), b"data")
                made = self.seal(b"data", log2n=log2n)
                self.assertEqual(self.ok("decrypt", *self.flags(), "-", stdin=made), b"data")

    def test_default_cost(self):
        made = self.ok("encrypt", *self.flags(), "-", stdin=b"data")
        self.assertEqual(made[:12], b"PARAES\r\n" + bytes([1, 1, 2, 17]))
        self.assertEqual(paraes_open(made, passphrase=WORD), b"data")

    def test_cost_of_a_stranger(self):
        message = self.seal(b"data", log2n=10)
        self.fails(2, "decrypt", *self.flags(), "--max-scrypt-log2n", 9, "-", stdin=message,
                   says="2^10")
        done = self.ok("decrypt", *self.flags(), "--max-scrypt-log2n", 10, "-", stdin=message)
        self.assertEqual(done, b"data")
        # Above what is accepted by default, and refused before it is computed.
        self.fails(2, "decrypt", *self.flags(), "-", stdin=flipped(message, LOG2N_AT, 10 ^ 23),
                   says=["2^23", "--max-scrypt-log2n 23"])

    def test_passphrases(self):
        for word in (b"x", "Zürich, 日本".encode(), pattern(255), b" spaces ", 999 * b"w"):
            with self.subTest(word=word[:16]):
                self.write("word", word)
                flags = ["--passphrase-file", "word"]
                made = self.ok("encrypt", *flags, "--scrypt-log2n", LOG2N, "-", stdin=b"data")
                self.assertEqual(paraes_open(made, passphrase=word), b"data")
                made = paraes_seal(b"data", passphrase=word, log2n=LOG2N)
                self.assertEqual(self.ok("decrypt", *flags, "-", stdin=made), b"data")

    def test_is_c2sp_behind_32_bytes(self):
        for bits in (128, 256):
            made = self.ok("encrypt", *self.flags(bits), "--scrypt-log2n", LOG2N, "-",
                           stdin=b"data")
            self.write("derived", scrypt(WORD, made[SALT:32], LOG2N, bits // 8))
            got = self.ok("decrypt", "--format", "c2sp", "--key-file", "derived",
                          *in_hex(made[:32]), "-", stdin=made[32:])
            self.assertEqual(got, b"data")

    def test_wrong_passphrase(self):
        self.write("wrong", WORD + b"s\n")
        messages = {"small": self.seal(b""), "large": self.seal(pattern(PIECE))}
        self.refused(5, "wrong key, passphrase", messages, "--passphrase-file", "wrong")

    def test_wrong_context(self):
        messages = {"m": self.seal(b"data", context=b"a")}
        self.refused(5, "context", messages, *self.flags())
        self.refused(5, "context", messages, *self.flags(256, b"b"))

    def test_changed_header(self):
        message = self.seal(b"data")
        places = [AEAD, LOG2N_AT, *range(SALT, 88)]
        # 3 turns AES-256 into AES-128, and 2^4 into 2^7.
        self.refused(5, "damaged header", {f"byte{at}": flipped(message, at, 3) for at in places},
                     *self.flags(), pipe=False)
        self.refused(4, "scrypt", {"none": flipped(message, LOG2N_AT, LOG2N)}, *self.flags())

    def test_takes_no_key(self):
        self.refused(2, "passphrase, not with a key", {"m": self.seal(b"data")},
                     "--key-file", "key")

    def test_info(self):
        for key_bytes, cipher in ((16, "AES-128-GCM"), (32, "AES-256-GCM")):
            self.write("m", self.seal(pattern(CHUNK + 9), key_bytes=key_bytes))
            said = json.loads(self.ok("info", "--json", "m"))
            self.assertEqual([said[name] for name in ("format", "version", "cipher", "kdf")],
                             ["paraes", 1, cipher, "scrypt"])
            self.assertEqual([said[name] for name in ("scrypt_log2n", "plain_bytes", "segments")],
                             [LOG2N, CHUNK + 9, 2])


class Client(unittest.TestCase):
    """The client refuses what it must: else its agreement would say little."""

    def test_refuses(self):
        for secret in ({"key": KEYS[256]}, {"passphrase": WORD}):
            message = paraes_seal(b"data", **secret, context=b"a", log2n=LOG2N)
            self.assertEqual(paraes_open(message, **secret, context=b"a"), b"data")
            # 13 keeps log2 N small: 9 instead of 4.
            for at in range(len(message)):
                with self.subTest(at=at), self.assertRaises(ValueError):
                    paraes_open(flipped(message, at, 13), **secret, context=b"a")
            with self.assertRaises(ValueError):
                paraes_open(message, **secret)
        message = paraes_seal(b"data", key=KEYS[128])
        for secret in ({"key": KEYS[256]}, {"key": bytes(16)}, {"passphrase": WORD}):
            with self.assertRaises(ValueError):
                paraes_open(message, **secret)
