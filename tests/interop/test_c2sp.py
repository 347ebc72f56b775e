"""--format c2sp against the client in clients.py and the package cryptography, in both directions."""

from clients import c2sp_open, c2sp_seal
from common import CONTEXTS, KEYS, SIZES, InteropCase, SegmentTests, in_hex, pattern
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

    def test_context_over_544_bytes_is_refused(self):
        flags = self.flags(256, bytes(545))
        self.fails(2, "encrypt", *flags, "-", stdin=b"", says=["--context-hex", "545", "544"])

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
