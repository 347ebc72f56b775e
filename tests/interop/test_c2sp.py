"""--format c2sp against the client in clients.py, in both directions."""

import unittest

from clients import c2sp_open, c2sp_seal
from common import KEYS, SEGMENT, InteropCase, SegmentTests, flipped, in_hex, pattern


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
