"""--format paraes, the default, against the client in clients.py, in both directions."""

import json

import common
from clients import c2sp_open, paraes_open, paraes_seal, scrypt
from common import CHUNK, CONTEXTS, KEYS, SEGMENT, InteropCase, in_hex, pattern

WORD = b"correct horse"
LOG2N = 4  # a cheap scrypt
LOG2N_AT, SALT = 11, 16  # offsets in the preface


class WithKey(common.SegmentTests, common.SegmentCase):
    header_bytes = 88

    def flags(self, bits, context=b""):
        return ["--key-file", f"key{bits}", *in_hex(context)]

    def seal(self, bits, plain, context=b""):
        return paraes_seal(plain, key=KEYS[bits], context=context)

    def open(self, bits, message, context=b""):
        return paraes_open(message, key=KEYS[bits], context=context)

    def test_preface_of_a_key_message(self):
        for bits, aead in ((128, 1), (256, 2)):
            made = self.ok("encrypt", *self.flags(bits), "-", stdin=b"data")
            self.assertEqual(made[:32], b"PARAES\r\n" + bytes([1, 0, aead, 0]) + bytes(20))

    def test_format_paraes_may_be_named(self):
        message = self.seal(256, b"data")
        flags = [*self.flags(256), "--format", "paraes", "-"]
        self.assertEqual(self.ok("decrypt", *flags, stdin=message), b"data")
        self.assertEqual(self.open(256, self.ok("encrypt", *flags, stdin=b"data")), b"data")

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

    def test_info_describes_the_message_without_a_passphrase(self):
        for key_bytes, cipher in ((16, "AES-128-GCM"), (32, "AES-256-GCM")):
            self.write("m", self.seal(pattern(SEGMENT + 9), key_bytes=key_bytes))
            said = json.loads(self.ok("info", "--json", "m"))
            self.assertEqual([said[name] for name in ("format", "version", "cipher", "kdf")],
                             ["paraes", 1, cipher, "scrypt"])
            self.assertEqual([said[name] for name in ("scrypt_log2n", "plain_bytes", "segments")],
                             [LOG2N, SEGMENT + 9, 2])
