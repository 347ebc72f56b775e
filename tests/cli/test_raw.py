"""--format raw against `openssl enc -K -iv`, in both directions."""

import itertools

from support import IV, KEYS, Case, pattern

SIZES = (0, 1, 15, 16, 17, 31, 32, 4095, 4096, 4097, 65535, 65536, 65537)
# Sizes around the 4 MiB chunks in which data is read, with 16 bytes of lookahead.
CHUNK = 4 << 20
LARGE = (CHUNK - 1, CHUNK, CHUNK + 1, CHUNK + 15, CHUNK + 16, CHUNK + 17, 2 * CHUNK + 16,
         3 * CHUNK + 12345)


class Raw(Case):
    GIVEN = {f"k{bits}": key for bits, key in KEYS.items()}

    def flags(self, mode, bits):
        iv = [] if mode == "ecb" else ["--iv-hex", IV.hex()]
        return ["--format", "raw", "--mode", mode, *iv, "--key-file", f"k{bits}"]

    def openssl_enc(self, mode, bits, data, *more):
        iv = [] if mode == "ecb" else ["-iv", IV.hex()]
        return self.openssl("enc", f"-aes-{bits}-{mode}", "-K", KEYS[bits].hex(), *iv, *more,
                            stdin=data)

    def check(self, modes, all_bits, sizes, *more, via=("pipe", "file")):
        pad = ["-nopad"] if more else []
        for mode, bits, size, way in itertools.product(modes, all_bits, sizes, via):
            with self.subTest(mode=mode, bits=bits, size=size, via=way):
                data = pattern(size)
                expected = self.openssl_enc(mode, bits, data, *pad)
                flags = [*self.flags(mode, bits), *more]
                if way == "pipe":
                    self.assertEqual(self.ok("encrypt", *flags, "-", stdin=data), expected)
                    self.assertEqual(self.ok("decrypt", *flags, "-", stdin=expected), data)
                else:
                    self.write("f", data)
                    self.ok("encrypt", *flags, "-f", "f")
                    self.assertEqual(self.read("f.paes"), expected)
                    self.path("f").unlink()
                    self.ok("decrypt", *flags, "f.paes")
                    self.assertEqual(self.read("f"), data)

    def test_files_and_pipes_agree_with_openssl(self):
        self.check(("ecb", "cbc", "ctr"), KEYS, (0, 1, 15, 16, 17, 4097), via=["file"])
        self.check(("ecb", "cbc", "ctr"), [256], SIZES, via=["pipe"])
        self.check(("cbc", "ctr"), [128], LARGE)
        self.check(("ecb", "cbc"), [192], (0, 16, 32, 4096, CHUNK, CHUNK + 16), "--nopad")

    def test_nopad_refuses_partial_blocks(self):
        for mode in ("ecb", "cbc"):
            flags = [*self.flags(mode, 128), "--nopad"]
            self.write("f", pattern(17))
            self.fails(2, "encrypt", *flags, "f", says=["17", "16-byte blocks"])
            self.fails(2, "encrypt", *flags, "-", stdin=pattern(17), says="17")
            self.fails(4, "decrypt", *flags, "-o", "g", "f", says="17")
            self.assertEqual([n for n in self.names() if not n.startswith("k")], ["f"])

    def test_decrypting_impossible_lengths_fails(self):
        for size in (0, 1, 15, 17, 4097):
            self.write("f.paes", pattern(size))
            with self.subTest(size=size):
                self.fails(4, "decrypt", *self.flags("cbc", 128), "f.paes")
                self.fails(4, "decrypt", *self.flags("cbc", 128), "-", stdin=pattern(size))
                self.assertNotIn("f", self.names())

    def test_bad_padding_is_refused(self):
        # ECB, to choose the last plaintext block: it ends in 0, 17 or 255, or in 2 after a 1.
        for last in (b"\x00", b"\x11", b"\x02", b"\xff"):
            block = b"\x01" * 15 + last
            damaged = self.openssl_enc("ecb", 128, pattern(64) + block, "-nopad")
            self.write("f.paes", damaged)
            with self.subTest(last=last):
                self.fails(4, "decrypt", *self.flags("ecb", 128), "f.paes", says="padding")
                self.assertEqual(self.names(), ["f.paes", "k128", "k192", "k256"])

    def test_every_padding_length_is_removed(self):
        for n in range(1, 17):
            data = pattern(48 - n)
            self.write("f.paes", self.openssl_enc("ecb", 128, data))
            self.assertEqual(self.ok("decrypt", *self.flags("ecb", 128), "-c", "f.paes"), data)

    def test_bad_padding_in_a_pipe_fails_after_the_data_before_it(self):
        data = pattern(2 * CHUNK)
        damaged = self.openssl_enc("cbc", 128, data, "-nopad")
        done = self.fails(4, "decrypt", *self.flags("cbc", 128), "-", stdin=damaged)
        self.assertTrue(data.startswith(done.stdout))
        self.assertGreater(len(done.stdout), 0)
