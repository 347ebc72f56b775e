"""--format raw --mode xts against IEEE 1619 vectors and a model over openssl's ECB."""

from support import Case, pattern

# IEEE 1619-2007 annex B: key 1, key 2, data unit number (little-endian), plaintext,
# ciphertext.
VECTORS = {
    2: ("11" * 16, "22" * 16, "3333333333", "44" * 32,
        "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"),
    3: ("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "22" * 16, "3333333333", "44" * 32,
        "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89"),
    15: ("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0", "9a78563412",
         "000102030405060708090a0b0c0d0e0f10", "6c1625db4671522d3d7599601de7ca09ed"),
    16: ("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0", "9a78563412",
         "000102030405060708090a0b0c0d0e0f1011", "d069444b7a7e0cab09e24447d24deb1fedbf"),
    17: ("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0", "9a78563412",
         "000102030405060708090a0b0c0d0e0f101112", "e5df1351c0544ba1350b3363cd8ef4beedbf9d"),
    18: ("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0", "9a78563412",
         "000102030405060708090a0b0c0d0e0f10111213", "9d84c813f719aa2c7be3f66171c7c5c2edbf9dac"),
}


def doubled(tweak):
    value = int.from_bytes(tweak, "little") << 1
    if value >> 128:
        value = (value & ((1 << 128) - 1)) ^ 0x87
    return value.to_bytes(16, "little")


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


class Xts(Case):
    def flags(self, key, *more):
        self.write("k", key)
        return ["--format", "raw", "--mode", "xts", "--key-file", "k", *more]

    def units(self, size, unit):
        """Offsets and lengths of the data units: a last one under 16 bytes joins the one before."""
        cuts = [(at, min(unit, size - at)) for at in range(0, size, unit)]
        if len(cuts) > 1 and cuts[-1][1] < 16:
            at, short = cuts.pop()
            cuts[-1] = (cuts[-1][0], cuts[-1][1] + short)
        return cuts

    def model(self, key, data, unit, first):
        """XTS encryption as in IEEE 1619 section 5.3, written for clarity instead of speed."""
        half = len(key) // 2
        cuts = self.units(len(data), unit)
        numbers = b"".join(((first + u) % (1 << 128)).to_bytes(16, "little")
                           for u in range(len(cuts)))
        firsts = self.ecb(key[half:], numbers)
        out = b""
        for u, (at, size) in enumerate(cuts):
            tweaks = [firsts[16 * u:16 * u + 16]]
            while len(tweaks) < (size + 15) // 16:
                tweaks.append(doubled(tweaks[-1]))
            whole = size // 16 * 16
            mask = b"".join(tweaks[:whole // 16])
            text = data[at:at + size]
            cipher = xor(self.ecb(key[:half], xor(text[:whole], mask)), mask)
            rest = size - whole
            if rest:
                stolen = cipher[-16:]
                last = text[whole:] + stolen[rest:]
                cipher = (cipher[:-16] + xor(self.ecb(key[:half], xor(last, tweaks[-1])), tweaks[-1])
                          + stolen[:rest])
            out += cipher
        return out

    def test_ieee_1619_vectors(self):
        for number, (key1, key2, unit, text, cipher) in VECTORS.items():
            with self.subTest(vector=number):
                text, cipher = bytes.fromhex(text), bytes.fromhex(cipher)
                flags = self.flags(bytes.fromhex(key1 + key2), "--iv-hex", unit.ljust(32, "0"))
                self.assertEqual(self.ok("encrypt", *flags, "-", stdin=text), cipher)
                self.assertEqual(self.ok("decrypt", *flags, "-", stdin=cipher), text)

    def test_units_joining_and_ciphertext_stealing_match_the_model(self):
        for bits in (128, 256):
            key = pattern(bits // 4)
            for unit in (16, 17, 100, 512, 4096):
                for size in {16, 17, 31, 32, 33, unit - 1, unit, unit + 1, unit + 15, unit + 16,
                             3 * unit, 3 * unit + 1, 3 * unit + 15, 3 * unit + 16, 3 * unit + 17}:
                    if size < 16:
                        continue
                    with self.subTest(bits=bits, unit=unit, size=size):
                        data = pattern(size)
                        flags = self.flags(key, "--unit", unit, "--iv-hex", "05".ljust(32, "0"))
                        made = self.ok("encrypt", *flags, "-", stdin=data)
                        self.assertEqual(made, self.model(key, data, unit, 5))
                        self.assertEqual(self.ok("decrypt", *flags, "-", stdin=made), data)

    def test_end_of_a_large_file_matches_the_model(self):
        key = pattern(32)
        size = (4 << 20) + 4096 + 7
        data = pattern(size)
        self.write("f", data)
        self.ok("encrypt", *self.flags(key), "f")
        made = self.read("f.paes")
        self.assertEqual(len(made), size)
        # Units are independent, so comparing the last two is enough.
        tail = (4 << 20) - 4096
        self.assertEqual(made[tail:], self.model(key, data[tail:], 4096, tail // 4096))

    def test_unit_numbers_wrap_after_2_to_the_128(self):
        key = pattern(32)
        data = pattern(64)
        flags = self.flags(key, "--unit", 16, "--iv-hex", "fe" + "ff" * 15)
        self.assertEqual(self.ok("encrypt", *flags, "-", stdin=data),
                         self.model(key, data, 16, (1 << 128) - 2))

    def test_data_under_16_bytes_is_refused(self):
        for size in (0, 1, 15):
            flags = self.flags(pattern(32))
            self.write("f", pattern(size))
            with self.subTest(size=size):
                self.fails(2, "encrypt", *flags, "f", says=[str(size), "16"])
                self.fails(2, "encrypt", *flags, "-", stdin=pattern(size), says=str(size))
                self.fails(4, "decrypt", *flags, "-", stdin=pattern(size), says=str(size))
                self.assertEqual(self.names(), ["f", "k"])

    def test_joined_unit_over_2_to_the_20_blocks_is_refused(self):
        flags = self.flags(pattern(32), "--unit", "16MiB")
        self.write("f", bytes((16 << 20) + 1))
        self.fails(2, "encrypt", *flags, "f", says="2^20 blocks")
        self.fails(4, "decrypt", *flags, "-o", "out", "f", says="2^20 blocks")
        self.fails(2, "encrypt", *flags, "-o", "out", "-", stdin=self.read("f"), says="2^20 blocks")
        self.fails(4, "decrypt", *flags, "-o", "out", "-", stdin=self.read("f"), says="2^20 blocks")
        self.assertEqual(self.names(), ["f", "k"])

    def test_unit_sizes_out_of_range_are_refused(self):
        for unit in ("15", "0", "16777217", "17MiB", "x", "", "-1", "4Ki", "1.5K", "99999999999999G"):
            with self.subTest(unit=unit):
                self.fails(2, "encrypt", *self.flags(pattern(32), "--unit", unit), "-",
                           stdin=bytes(32), says="--unit")
