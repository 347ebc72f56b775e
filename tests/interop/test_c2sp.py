"""--format c2sp against the client in clients.py and the package cryptography, in both directions."""

import unittest

from clients import c2sp_open, c2sp_seal
from common import (
    CONTEXTS,
    KEYS,
    SEGMENT,
    SIZES,
    InteropCase,
    SegmentTests,
    flipped,
    in_hex,
    pattern,
)
from cryptography.cobblestone import (
    Cobblestone128Decryptor,
    Cobblestone128Encryptor,
    Cobblestone256Decryptor,
    Cobblestone256Encryptor,
)


class C2sp(SegmentTests, InteropCase):
    header_bytes = 56

    def flags(self, bits, context=b""):
        return ["--format", "c2sp", "--key-file", f"key{bits}", *in_hex(context)]

    def seal(self, bits, plain, context=b""):
        return c2sp_seal(KEYS[bits], plain, context)

    def open(self, bits, message, context=b""):
        return c2sp_open(KEYS[bits], message, context)

    def test_wrong_key_is_refused(self):
        messages = {"short": self.seal(256, b""), "long": self.seal(256, pattern(3 * SEGMENT))}
        self.refused(5, "wrong key", messages, "--format", "c2sp", "--key-file", "other")
        # The other key size means another AEAD, and so another commitment.
        self.refused(5, "wrong key", messages, *self.flags(128))

    def test_context_over_544_bytes_is_refused(self):
        flags = self.flags(256, bytes(545))
        self.fails(2, "encrypt", *flags, "-", stdin=b"", says=["--context-hex", "545", "544"])

    def test_c2sp_format_must_be_named(self):
        self.write("m.paes", self.seal(256, b"data"))
        self.fails(2, "decrypt", "--key-file", "key256", "m.paes", says="--format c2sp")

    def test_info_names_the_key_size_only_with_key_bits(self):
        self.write("m", self.seal(128, b"data"))
        self.assertIn(b'"cipher":"AES-GCM"', self.ok("info", "--json", "--format", "c2sp", "m"))
        self.assertIn(b'"cipher":"AES-128-GCM"', self.ok(
            "info", "--json", "--format", "c2sp", "--key-bits", 128, "m"))


class Cobblestone(InteropCase):
    """The same format in the package cryptography (module cobblestone)."""

    CLASSES = {128: (Cobblestone128Encryptor, Cobblestone128Decryptor),
               256: (Cobblestone256Encryptor, Cobblestone256Decryptor)}

    def setUp(self):
        super().setUp()
        for bits in self.CLASSES:
            self.write(f"key{bits}", KEYS[bits])

    def test_paraes_and_cobblestone_open_each_others_messages(self):
        plains = {f"f{size}": pattern(size) for size in SIZES}
        for bits, (encryptor, decryptor) in self.CLASSES.items():
            for context in CONTEXTS:
                with self.subTest(bits=bits, context=len(context)):
                    flags = ["--format", "c2sp", "--key-file", f"key{bits}", *in_hex(context)]
                    opened = {}
                    for name, message in self.encrypt_all(plains, *flags).items():
                        reader = decryptor(KEYS[bits], context)
                        opened[name] = reader.update(message) + reader.finalize()
                    self.check_same(opened, plains)
                    made = {}
                    for name, plain in plains.items():
                        writer = encryptor(KEYS[bits], context)
                        made[name] = writer.update(plain) + writer.finalize()
                    self.check_same(self.decrypt_all(made, *flags), plains)


class C2spClient(unittest.TestCase):
    """The client refuses damaged messages; otherwise its agreement would prove little."""

    def test_client_refuses_damage_truncation_and_wrong_keys(self):
        message = c2sp_seal(KEYS[256], pattern(SEGMENT + 5), b"context")
        self.assertEqual(c2sp_open(KEYS[256], message, b"context"), pattern(SEGMENT + 5))
        for at in (0, 23, 24, 55, 56, len(message) - 1):
            with self.subTest(at=at), self.assertRaises(ValueError):
                c2sp_open(KEYS[256], flipped(message, at), b"context")
        for size in (0, 55, 56, 71, 56 + SEGMENT + 16, len(message) - 1):
            with self.subTest(size=size), self.assertRaises(ValueError):
                c2sp_open(KEYS[256], message[:size], b"context")
        with self.assertRaises(ValueError):
            c2sp_open(KEYS[256], message, b"")
        with self.assertRaises(ValueError):
            c2sp_open(KEYS[128], message, b"context")
