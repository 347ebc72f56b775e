"""--format paraes, the default, against the client in clients.py, in both directions."""

import json
import unittest

from clients import c2sp_open, paraes_open, paraes_seal, scrypt
from common import (
    CHUNK,
    CONTEXTS,
    KEYS,
    SEGMENT,
    InteropCase,
    SegmentTests,
    flipped,
    in_hex,
    pattern,
)

WORD = b"correct horse"
LOG2N = 4  # a cheap scrypt
AEAD, LOG2N_AT, RESERVED, SALT = 10, 11, 12, 16  # offsets in the preface


class WithKey(SegmentTests, InteropCase):
    header_bytes = 88

    def flags(self, bits, context=b""):
        return ["--key-file", f"key{bits}", *in_hex(context)]

    def seal(self, bits, plain, context=b""):
        return paraes_seal(plain, key=KEYS[bits], context=context)

    def open(self, bits, message, context=b""):
        return paraes_open(message, key=KEYS[bits], context=context)

    def test_wrong_key_is_refused(self):
        messages = {"short": self.seal(256, b""), "long": self.seal(256, pattern(3 * SEGMENT))}
        self.refused(5, "wrong key", messages, "--key-file", "other")
        self.refused(5, "wrong key", messages, "--key-file", "key128")

    def test_preface_of_a_key_message(self):
        for bits, aead in ((128, 1), (256, 2)):
            made = self.ok("encrypt", *self.flags(bits), "-", stdin=b"data")
            self.assertEqual(made[:32], b"PARAES\r\n" + bytes([1, 0, aead, 0]) + bytes(20))

    def test_format_paraes_may_be_named(self):
        message = self.seal(256, b"data")
        flags = [*self.flags(256), "--format", "paraes", "-"]
        self.assertEqual(self.ok("decrypt", *flags, stdin=message), b"data")
        self.assertEqual(self.open(256, self.ok("encrypt", *flags, stdin=b"data")), b"data")

    def test_changed_preface_is_refused(self):
        message = self.seal(256, b"data")
        for name, at, mask, says in (("version", 8, 3, "version 2"), ("kdf", 9, 3, "kdf 3"),
                                     ("aead", AEAD, 5, "aead 7"),
                                     ("reserved", RESERVED, 1, "reserved"),
                                     ("last reserved", RESERVED + 3, 128, "reserved"),
                                     ("log2 N", LOG2N_AT, 4, "scrypt"),
                                     ("salt", SALT, 1, "scrypt")):
            self.refused(4, says, {name: flipped(message, at, mask)}, *self.flags(256))
        # The preface now says AES-128: try a key of 32 bytes, and one of 16, which fits.
        changed = {"aead": flipped(message, AEAD, 3)}
        self.refused(5, "wrong key", changed, "--key-file", "key256")
        self.refused(5, "wrong key", changed, "--key-file", "key128")

    def test_changed_magic_is_refused(self):
        for at in range(8):
            changed = flipped(self.seal(256, b"data"), at)
            self.fails(2, "decrypt", *self.flags(256), "-", stdin=changed, says="--format c2sp")
            self.fails(4, "decrypt", *self.flags(256), "--format", "paraes", "-", stdin=changed)

    def test_message_without_its_preface_is_a_c2sp_message(self):
        for bits in (128, 256):
            for context in CONTEXTS:
                for size in (0, 5, SEGMENT, CHUNK + 1):
                    with self.subTest(bits=bits, context=len(context), size=size):
                        data = pattern(size)
                        made = self.ok("encrypt", *self.flags(bits, context), "-", stdin=data)
                        whole = made[:32] + context
                        self.assertTrue(c2sp_open(KEYS[bits], made[32:], whole) == data)
                        flags = ["--format", "c2sp", "--key-file", f"key{bits}", *in_hex(whole)]
                        self.assertTrue(self.ok("decrypt", *flags, "-", stdin=made[32:]) == data)
                        # Conversely, a preface turns a c2sp message into a paraes one.
                        made = whole[:32] + self.ok("encrypt", *flags, "-", stdin=data)
                        self.assertTrue(self.ok("decrypt", *self.flags(bits, context), "-",
                                                stdin=made) == data)

    def test_key_message_refuses_a_passphrase(self):
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

    def test_paraes_and_the_client_open_each_others_messages(self):
        plains = {f"f{size}": pattern(size)
                  for size in (0, 1, SEGMENT - 1, SEGMENT, CHUNK, CHUNK + 1)}
        for bits in (128, 256):
            for context in CONTEXTS:
                with self.subTest(bits=bits, context=len(context)):
                    made = self.encrypt_all(plains, *self.flags(bits, context), "--scrypt-log2n",
                                            LOG2N)
                    self.check_same({n: paraes_open(m, passphrase=WORD, context=context)
                                     for n, m in made.items()}, plains)
                    made = {n: self.seal(data, context=context, key_bytes=bits // 8)
                            for n, data in plains.items()}
                    # The preface states the key size: decrypting needs no --key-bits.
                    self.check_same(self.decrypt_all(made, *self.flags(256, context)), plains)

    def test_files_and_pipes_agree_with_the_client(self):
        for size in (0, SEGMENT, CHUNK + 1):
            data = pattern(size)
            self.four_ways("encrypt", data, lambda made: self.assertTrue(
                paraes_open(made, passphrase=WORD) == data), *self.flags(), "--scrypt-log2n", LOG2N)
            self.four_ways("decrypt", self.seal(data), lambda got: self.assertTrue(
                got == data), *self.flags())

    def test_scrypt_costs_agree_with_the_client(self):
        for log2n in (1, 2, 10, 17):
            with self.subTest(log2n=log2n):
                made = self.ok("encrypt", *self.flags(), "--scrypt-log2n", log2n, "-",
                               stdin=b"data")
                self.assertEqual(made[LOG2N_AT], log2n)
                self.assertEqual(paraes_open(made, passphrase=WORD), b"data")
                made = self.seal(b"data", log2n=log2n)
                self.assertEqual(self.ok("decrypt", *self.flags(), "-", stdin=made), b"data")

    def test_default_scrypt_cost_is_2_to_the_17(self):
        made = self.ok("encrypt", *self.flags(), "-", stdin=b"data")
        self.assertEqual(made[:12], b"PARAES\r\n" + bytes([1, 1, 2, 17]))
        self.assertEqual(paraes_open(made, passphrase=WORD), b"data")

    def test_scrypt_costs_above_the_limit_are_refused(self):
        message = self.seal(b"data", log2n=10)
        self.fails(2, "decrypt", *self.flags(), "--max-scrypt-log2n", 9, "-", stdin=message,
                   says="2^10")
        done = self.ok("decrypt", *self.flags(), "--max-scrypt-log2n", 10, "-", stdin=message)
        self.assertEqual(done, b"data")
        # Above the default limit: refused before scrypt runs.
        self.fails(2, "decrypt", *self.flags(), "-", stdin=flipped(message, LOG2N_AT, 10 ^ 23),
                   says=["2^23", "8.0 GiB of memory"])

    def test_unusual_passphrases_agree_with_the_client(self):
        for word in (b"x", "Zürich, 日本".encode(), pattern(255), b" spaces ", 999 * b"w"):
            with self.subTest(word=word[:16]):
                self.write("word", word)
                flags = ["--passphrase-file", "word"]
                made = self.ok("encrypt", *flags, "--scrypt-log2n", LOG2N, "-", stdin=b"data")
                self.assertEqual(paraes_open(made, passphrase=word), b"data")
                made = paraes_seal(b"data", passphrase=word, log2n=LOG2N)
                self.assertEqual(self.ok("decrypt", *flags, "-", stdin=made), b"data")

    def test_message_without_its_preface_is_a_c2sp_message(self):
        for bits in (128, 256):
            made = self.ok("encrypt", *self.flags(bits), "--scrypt-log2n", LOG2N, "-",
                           stdin=b"data")
            self.write("derived", scrypt(WORD, made[SALT:32], LOG2N, bits // 8))
            got = self.ok("decrypt", "--format", "c2sp", "--key-file", "derived",
                          *in_hex(made[:32]), "-", stdin=made[32:])
            self.assertEqual(got, b"data")

    def test_wrong_passphrase_is_refused(self):
        self.write("wrong", WORD + b"s\n")
        messages = {"small": self.seal(b""), "large": self.seal(pattern(CHUNK))}
        self.refused(5, "wrong passphrase or context", messages, "--passphrase-file", "wrong")

    def test_wrong_context_is_refused(self):
        messages = {"m": self.seal(b"data", context=b"a")}
        self.refused(5, "context", messages, *self.flags())
        self.refused(5, "context", messages, *self.flags(256, b"b"))

    def test_changed_header_is_refused(self):
        message = self.seal(b"data")
        places = [AEAD, LOG2N_AT, *range(SALT, 88)]
        # 3 turns AES-256 into AES-128, and 2^4 into 2^7.
        self.refused(5, "damaged header", {f"byte{at}": flipped(message, at, 3) for at in places},
                     *self.flags(), pipe=False)
        self.refused(4, "scrypt", {"none": flipped(message, LOG2N_AT, LOG2N)}, *self.flags())

    def test_passphrase_message_refuses_a_key(self):
        self.refused(2, "passphrase, not with a key", {"m": self.seal(b"data")},
                     "--key-file", "key")

    def test_info_describes_the_message_without_a_passphrase(self):
        for key_bytes, cipher in ((16, "AES-128-GCM"), (32, "AES-256-GCM")):
            self.write("m", self.seal(pattern(SEGMENT + 9), key_bytes=key_bytes))
            said = json.loads(self.ok("info", "--json", "m"))
            self.assertEqual([said[name] for name in ("format", "version", "cipher", "kdf")],
                             ["paraes", 1, cipher, "scrypt"])
            self.assertEqual([said[name] for name in ("scrypt_log2n", "plain_bytes", "segments")],
                             [LOG2N, SEGMENT + 9, 2])


class ParaesClient(unittest.TestCase):
    """The client refuses damaged messages; otherwise its agreement would prove little."""

    def test_client_refuses_damage_and_wrong_secrets(self):
        for secret in ({"key": KEYS[256]}, {"passphrase": WORD}):
            message = paraes_seal(b"data", **secret, context=b"a", log2n=LOG2N)
            self.assertEqual(paraes_open(message, **secret, context=b"a"), b"data")
            # The mask 13 keeps log2 N small: it makes 9 of 4.
            for at in range(len(message)):
                with self.subTest(at=at), self.assertRaises(ValueError):
                    paraes_open(flipped(message, at, 13), **secret, context=b"a")
            with self.assertRaises(ValueError):
                paraes_open(message, **secret)
        message = paraes_seal(b"data", key=KEYS[128])
        for secret in ({"key": KEYS[256]}, {"key": bytes(16)}, {"passphrase": WORD}):
            with self.assertRaises(ValueError):
                paraes_open(message, **secret)
