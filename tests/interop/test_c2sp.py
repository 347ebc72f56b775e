"""--format c2sp against the client in clients.py and the package cryptography, in both directions."""

from clients import c2sp_open, c2sp_seal
from common import CONTEXTS, KEYS, SIZES, SegmentCase, SegmentTests, in_hex, pattern
from cryptography import cobblestone


class C2spCase(SegmentCase):
    def flags(self, bits, context=b""):
        return ["--format", "c2sp", "--key-file", f"key{bits}", *in_hex(context)]


class C2sp(SegmentTests, C2spCase):
    header_bytes = 56

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


class Cobblestone(C2spCase):
    """The same format in the package cryptography (module cobblestone)."""

    def seal(self, bits, plain, context=b""):
        return self.whole(f"Cobblestone{bits}Encryptor", bits, plain, context)

    def open(self, bits, message, context=b""):
        return self.whole(f"Cobblestone{bits}Decryptor", bits, message, context)

    def whole(self, name, bits, data, context):
        made = getattr(cobblestone, name)(KEYS[bits], context)
        return made.update(data) + made.finalize()

    def test_paraes_and_cobblestone_open_each_others_messages(self):
        plains = {f"f{size}": pattern(size) for size in SIZES}
        for bits in (128, 256):
            for context in CONTEXTS:
                with self.subTest(bits=bits, context=len(context)):
                    self.check_both_ways(bits, plains, context=context)
