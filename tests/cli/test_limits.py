"""Files at the limits of the formats, of which only the ends are there: 2^38 segments of paraes and
c2sp, 2^32 of tink, and sizes up to 2^63 - 1 bytes."""

import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

from support import KEYS, POSIX_ONLY, Case

# The plaintext of the longest paraes message, in bytes: its last segment has one byte less than all others.
LONGEST = 2**52 - 1
SEALED = 88 + LONGEST + 16 * 2**38
# seal_parts writes the last of so many parts: eight chunks of 16 segments.
PARTS = 2**31


class LargeFiles(Case):
    """In memory: file systems on disks do not allow these sizes."""

    def setUp(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("/dev/shm cannot be written")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="paraes-limits-", dir="/dev/shm"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.write("k", KEYS[256])
        self.key = ["--key-file", "k"]

    def hole(self, name, size, start=b""):
        """Makes a file of `size` zeros that begins with `start`, or skips the test."""
        try:
            self.write(name, start)
            os.truncate(self.path(name), size)
        except OSError as error:
            self.skipTest(f"{self.dir}: no files of {size} bytes: {error}")

    def message(self):
        """Makes f.paes, the end of the longest message, whose plaintext is numbers of 8 bytes that
        are their own offsets."""
        tool = self.named_by("PARAES_SEAL_PARTS")
        self.hole("f.paes", SEALED)
        done = subprocess.run([tool, "k", str(LONGEST), "f.paes", str(PARTS), "0", str(PARTS - 1)],
                              cwd=self.dir, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.path("f.paes").stat().st_size, SEALED)
        self.assertLess(self.path("f.paes").stat().st_blocks * 512, 2**26)

    def numbers(self, offset, length):
        first = offset // 8
        data = b"".join(struct.pack("<Q", 8 * i) for i in range(first, first + length // 8 + 2))
        return data[offset - 8 * first:][:length]


class LongestMessage(LargeFiles):
    def test_ranges_at_the_end_are_decrypted(self):
        self.message()
        for offset, length in ((LONGEST - 1, 1), (LONGEST - 16383, 16383), (LONGEST - 16384, 2),
                               (LONGEST - 100000, 100000), (LONGEST, 0), (0, 100)):
            for threads in (1, 2):
                with self.subTest(offset=offset, length=length, threads=threads):
                    flags = [*self.key, "-T", threads, "--offset", offset, "--length", length]
                    self.assertEqual(self.ok("decrypt", *flags, "-c", "f.paes"),
                                     self.numbers(offset, length))
        self.ok("decrypt", *self.key, "--offset", LONGEST - 20000, "-o", "end", "f.paes")
        self.assertEqual(self.read("end"), self.numbers(LONGEST - 20000, 20000))

    def test_ranges_beyond_the_end_are_refused(self):
        self.message()
        for offset, length in ((LONGEST, 1), (LONGEST + 1, 0), (LONGEST - 1, 2), (0, LONGEST + 1),
                               (2**63 - 1, 2**63 - 1), (1, 2**63 - 1)):
            with self.subTest(offset=offset, length=length):
                self.fails(2, "decrypt", *self.key, "--offset", offset, "--length", length, "-o",
                           "g", "f.paes", says=str(LONGEST))
        self.assertEqual(self.names(), ["f.paes", "k"])

    def test_damage_at_the_end_is_found(self):
        self.message()
        self.damage("f.paes", -1)
        self.fails(4, "decrypt", *self.key, "--offset", LONGEST - 1, "-o", "g", "f.paes",
                   says=str(2**38 - 1))
        # The end of a range that is beyond the damaged end cannot be believed.
        self.fails(4, "decrypt", *self.key, "--offset", LONGEST + 1, "-o", "g", "f.paes")
        self.assertEqual(self.names(), ["f.paes", "k"])

    def test_segments_that_are_holes_are_damage(self):
        self.message()
        self.fails(4, "decrypt", *self.key, "--offset", 2**51, "--length", 1, "-o", "g", "f.paes",
                   says=str(2**51 // 16384))
        self.assertEqual(self.names(), ["f.paes", "k"])

    def test_info_shows_the_sizes(self):
        self.message()
        shown = self.report("info", "f.paes")
        self.assertEqual(shown["plain_bytes"], LONGEST)
        self.assertEqual(shown["segments"], 2**38)
        self.assertEqual(shown["bytes"], SEALED)


class OneByteMore(LargeFiles):
    def formats(self):
        """Formats by their flags, with the longest plaintext and its sealed size."""
        yield [], LONGEST, SEALED
        yield ["--format", "c2sp"], LONGEST, SEALED - 32
        for size in (4096, 2**20):
            plain = (size - 40 - 16) + (2**32 - 1) * (size - 16)
            yield ["--format", "tink", "--segment-size", size], plain, 40 + plain + 16 * 2**32

    def test_is_not_encrypted(self):
        for flags, longest, _ in self.formats():
            for size in (longest + 1, 2**63 - 1):
                self.hole("f", size)
                with self.subTest(flags=flags, size=size):
                    self.fails(2, "encrypt", *flags, *self.key, "f", says=[str(size), "segments"])
                    self.fails(2, "encrypt", *flags, *self.key, "-o", "-", "f", says=str(size))
                    self.assertEqual(self.names(), ["f", "k"])

    def test_is_not_decrypted(self):
        for flags, _, sealed in self.formats():
            # Any key opens a tink message until its first segment is read.
            if "tink" not in flags:
                self.write("e", b"")
                self.ok("encrypt", "-f", *flags, *self.key, "e")
                header = self.read("e.paes")
            else:
                header = bytes([40]) + bytes(39)
            for size in (sealed + 17, 2**63 - 1):
                self.hole("f.paes", size, header)
                with self.subTest(flags=flags, size=size):
                    for verb in (["decrypt", "-o", "g"], ["decrypt", "-c"], ["verify"]):
                        done = self.fails(4, verb[0], *flags, *self.key, *verb[1:], "f.paes",
                                          says=[str(size), "more than this format allows"])
                        self.assertEqual(done.stdout, b"")
            for name in self.names():
                self.assertIn(name, ("e", "e.paes", "f.paes", "k"))

    def test_is_not_rekeyed(self):
        self.write("e", b"")
        self.ok("encrypt", *self.key, "e")
        self.write("n", bytes(32), 0o600)
        for size in (SEALED + 17, 2**63 - 1):
            self.hole("f.paes", size, self.read("e.paes"))
            with self.subTest(size=size):
                self.fails(4, "rekey", *self.key, "--to-key-file", "n", "f.paes",
                           says=[str(size), "more than this format allows"])
                self.assertEqual(self.path("f.paes").stat().st_size, size)
                self.assertEqual(self.names(), ["e", "e.paes", "f.paes", "k", "n"])


if POSIX_ONLY:
    del LongestMessage, OneByteMore  # the same calls; the library's alternatives are tested elsewhere
