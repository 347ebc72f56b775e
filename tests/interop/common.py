"""What the interop tests share, on top of what the tests of the command line share."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from support import KEYS, Case, pattern  # noqa: E402,F401

CHUNK = 16384
SEALED = CHUNK + 16
PIECE = 16 * CHUNK  # the program reads, computes and writes so much at a time
SIZES = (0, 1, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1,
         5 * CHUNK - 1, 5 * CHUNK, 5 * CHUNK + 1, PIECE - CHUNK, PIECE - CHUNK + 1, PIECE - 1,
         PIECE, PIECE + 1, PIECE + CHUNK, 2 * PIECE - 1, 2 * PIECE, 2 * PIECE + 1, (1 << 20) + 5)
KERNELS = ("reference", "ttable", "openssl", "bitslice", "auto")
CONTEXTS = (b"", b"\0", b"photos/2019", pattern(512))


def flipped(data, at, mask=1):
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1:]


def in_hex(context):
    return ["--context-hex", context.hex()] if context else []


class InteropCase(Case):
    """Many messages in one run of the program, where a run for each would show no more."""

    def encrypt_all(self, plains, *flags):
        """Encrypts a dict of plaintexts; returns the messages under the same names."""
        for name, data in plains.items():
            self.write(name, data)
        self.ok("encrypt", "-q", "-f", *flags, "-o", "sealed", *plains)
        # With a single input, -o names the file and not a folder.
        return {name: self.read(f"sealed/{name}.paes" if len(plains) > 1 else "sealed")
                for name in plains}

    def decrypt_all(self, messages, *flags):
        """The other way round."""
        files = [self.write(f"{name}.paes", data) for name, data in messages.items()]
        self.ok("decrypt", "-q", "-f", *flags, "-o", "opened", *files)
        return {name: self.read(f"opened/{name}" if len(messages) > 1 else "opened")
                for name in messages}

    def check_same(self, got, expected):
        """Equal dicts of long values; says which names differ, and not all the bytes."""
        self.assertEqual(got.keys(), expected.keys())
        self.assertEqual([name for name in expected if got[name] != expected[name]], [])

    def refused(self, status, says, messages, *flags, pipe=True):
        """Each of the messages is refused with `status`, from a file and from a pipe."""
        for name, data in messages.items():
            self.write(name, data)
        done = self.run_paraes("verify", "--json", *flags, *messages)
        rows = {row["input"]: row for row in map(json.loads, done.stdout.splitlines())}
        for name, data in messages.items():
            with self.subTest(message=name):
                self.assertEqual(rows[name]["exit"], status, rows[name]["status"])
                self.assertIn(says, rows[name]["status"])
                if pipe:
                    self.fails(status, "verify", *flags, "-", stdin=data, says=says)

    def four_ways(self, verb, data, check, *flags):
        """From a file and from a pipe, to a file and to a pipe; check(output) looks at each."""
        self.write("input", data)
        for source, stdin in (("input", b""), ("-", data)):
            with self.subTest(verb=verb, size=len(data), source=source):
                check(self.ok(verb, *flags, "-c", source, stdin=stdin))
                self.ok(verb, *flags, "-f", "-o", "output", source, stdin=stdin)
                check(self.read("output"))

    def check_parts(self, message, plain, ranges, *flags):
        """--offset and --length give what Python's slices give; length None is up to the end."""
        self.write("message", message)
        for offset, length in ranges:
            part = ["--offset", offset] + ([] if length is None else ["--length", length])
            with self.subTest(size=len(plain), offset=offset, length=length):
                got = self.ok("decrypt", *flags, *part, "-c", "message")
                end = len(plain) if length is None else offset + length
                self.assertTrue(got == plain[offset:end], f"{len(got)} other bytes")


def parts(size, bounds):
    """Ranges of a message of `size` bytes that begin and end at, before and after each bound."""
    near = sorted({b + d for b in bounds for d in (-1, 0, 1) if 0 <= b + d <= size} | {0, size})
    ranges = [(offset, None) for offset in near]
    ranges += [(a, b - a) for i, a in enumerate(near) for b in near[i::2]]
    return ranges


class ChunkedTests:
    """What c2sp and paraes have in common. A format gives its flags, its client and its header."""

    header_bytes = 0

    def flags(self, bits, context=b""):
        raise NotImplementedError

    def seal(self, bits, plain, context=b""):
        raise NotImplementedError

    def open(self, bits, message, context=b""):
        raise NotImplementedError

    def setUp(self):
        super().setUp()
        for bits, key in KEYS.items():
            self.write(f"key{bits}", key)
        self.write("other", bytes(32))
        self.write("pw", b"correct horse\n")
        self.write("wrong", b"incorrect horse\n")

    def check_both_ways(self, bits, plains, *flags, context=b""):
        flags = [*self.flags(bits, context), *flags]
        sealed = self.encrypt_all(plains, *flags)
        self.check_same({n: self.open(bits, m, context) for n, m in sealed.items()}, plains)
        sealed = {n: self.seal(bits, data, context) for n, data in plains.items()}
        self.check_same(self.decrypt_all(sealed, *flags), plains)

    def test_lengths(self):
        plains = {f"f{size}": pattern(size) for size in SIZES}
        for bits in (128, 256):
            with self.subTest(bits=bits):
                self.check_both_ways(bits, plains)

    def test_sizes_of_messages(self):
        plains = {f"f{size}": pattern(size) for size in SIZES}
        for name, message in self.encrypt_all(plains, *self.flags(256)).items():
            size = len(plains[name])
            self.assertEqual(len(message), self.header_bytes + size + 16 * (size // CHUNK + 1))

    def test_files_and_pipes(self):
        for size in SIZES:
            data = pattern(size)
            self.four_ways("encrypt", data, lambda made: self.assertTrue(
                self.open(256, made) == data), *self.flags(256))
            self.four_ways("decrypt", self.seal(256, data), lambda got: self.assertTrue(
                got == data), *self.flags(256))

    def test_kernels(self):
        plains = {f"f{size}": pattern(size) for size in SIZES}
        for kernel in KERNELS:
            for bits in (128, 256):
                with self.subTest(kernel=kernel, bits=bits):
                    self.check_both_ways(bits, plains, "--kernel", kernel)

    def test_threads(self):
        # One file a run: several small ones would be done side by side, each by one thread.
        for size in (1, CHUNK, PIECE - 1, PIECE, 2 * PIECE - 1, 2 * PIECE + 1, (1 << 20) + 5,
                     13 * PIECE + 7):
            data = pattern(size)
            sealed = self.seal(128, data)
            for threads in (1, 2, 5):
                with self.subTest(size=size, threads=threads):
                    flags = [*self.flags(128), "-T", threads]
                    self.check_both_ways(128, {"f": data}, "-T", threads)
                    made = self.ok("encrypt", *flags, "-", stdin=data)
                    self.assertTrue(self.open(128, made) == data)
                    self.assertTrue(self.ok("decrypt", *flags, "-", stdin=sealed) == data)

    def test_contexts(self):
        plains = {f"f{size}": pattern(size) for size in (0, 100, CHUNK)}
        for context in CONTEXTS:
            for bits in (128, 256):
                with self.subTest(context=len(context), bits=bits):
                    self.check_both_ways(bits, plains, context=context)

    def test_parts(self):
        # Within, across and at the ends of chunks, and of pieces.
        for bits, size, bounds in ((256, 3 * CHUNK + 100, (CHUNK, 2 * CHUNK)),
                                   (128, 2 * CHUNK, (CHUNK,)),
                                   (256, 2 * PIECE + 5, (PIECE + 77, 2 * PIECE)), (256, 0, ())):
            data = pattern(size)
            self.check_parts(self.seal(bits, data), data, parts(size, bounds), *self.flags(bits))

    def test_part_of_what_is_not_there(self):
        message = self.seal(256, pattern(CHUNK + 5))
        for offset, length in ((CHUNK + 6, 0), (CHUNK, 6), (0, CHUNK + 6), (1 << 40, 1)):
            with self.subTest(offset=offset, length=length):
                self.fails(2, "decrypt", *self.flags(256), "--offset", offset, "--length", length,
                           "-c", self.write("m", message), says="beyond the end")

    def test_part_of_a_pipe(self):
        self.fails(2, "decrypt", *self.flags(256), "--offset", 1, "--length", 2, "-c", "-",
                   stdin=self.seal(256, b"data"), says="not in a pipe")

    def test_part_that_is_damaged(self):
        data = pattern(3 * CHUNK)
        message = flipped(self.seal(256, data), self.header_bytes + SEALED + 9)
        for offset, length in ((CHUNK, 1), (2 * CHUNK - 1, 5), (0, CHUNK + 1)):
            with self.subTest(offset=offset, length=length):
                self.fails(4, "decrypt", *self.flags(256), "--offset", offset, "--length", length,
                           "-c", self.write("m", message))

    def test_info(self):
        flags = [flag for flag in self.flags(256) if flag in ("--format", "c2sp", "paraes")]
        for size in SIZES:
            with self.subTest(size=size):
                self.write("m", self.seal(256, pattern(size)))
                said = json.loads(self.ok("info", "--json", *flags, "m"))
                self.assertEqual(said["header_bytes"], self.header_bytes)
                self.assertEqual(said["segment_bytes"], CHUNK)
                self.assertEqual(said["bytes"], len(self.read("m")))
                self.assertEqual(said["plain_bytes"], size)
                self.assertEqual(said["segments"], size // CHUNK + 1)

    def test_wrong_context(self):
        for right, wrong in ((b"", b"x"), (b"x", b""), (b"x", b"y"), (b"x", b"x\0"),
                             (pattern(512), flipped(pattern(512), 511))):
            with self.subTest(right=len(right), wrong=len(wrong)):
                messages = {"small": self.seal(256, b"x", right),
                            "large": self.seal(256, pattern(PIECE), right)}
                self.refused(5, "context", messages, *self.flags(256, wrong))

    def test_changed_salt_or_commitment(self):
        message = self.seal(256, b"data")
        # The last 56 bytes of the header: 24 of salt, 32 of commitment.
        places = range(self.header_bytes - 56, self.header_bytes)
        changed = {f"byte{at}": flipped(message, at, 0x80) for at in places}
        self.refused(5, "damaged header", changed, *self.flags(256), pipe=False)

    def test_changed_chunks(self):
        size = 2 * CHUNK + 50
        message = self.seal(256, pattern(size))
        h = self.header_bytes
        changed = {f"byte{at}": flipped(message, at)
                   for at in (h, h + CHUNK, h + SEALED - 1, h + SEALED, h + 2 * SEALED,
                              h + 2 * SEALED + 49, h + 2 * SEALED + 50, len(message) - 1)}
        first, second, last = message[h:h + SEALED], message[h + SEALED:h + 2 * SEALED], \
            message[h + 2 * SEALED:]
        start = message[:h]
        changed.update(swapped=start + second + first + last, doubled=start + first + first + last,
                       dropped=start + second + last, repeated=message[:-len(last)] + first + last)
        self.refused(4, "", changed, *self.flags(256))

    def test_cut_off_or_with_more(self):
        size = 2 * CHUNK + 50
        message = self.seal(256, pattern(size))
        h = self.header_bytes
        cuts = {0, 1, 23, 24, h - 1, h, h + 1, h + 15, h + 16, h + 17, h + SEALED - 1, h + SEALED,
                h + SEALED + 1, h + SEALED + 15, h + SEALED + 16, h + 2 * SEALED,
                h + 2 * SEALED + 15, h + 2 * SEALED + 16, len(message) - 1}
        changed = {f"cut{at}": message[:at] for at in cuts}
        for more in (1, 15, 16, 17, SEALED - 66, SEALED):
            changed[f"more{more}"] = message + bytes(more)
        self.refused(4, "", changed, *self.flags(256))

    def test_full_last_chunk(self):
        # All chunks are there and authentic, but the shorter one that must follow is missing.
        for chunks in (1, 2, 16):
            whole = self.seal(256, pattern(chunks * CHUNK))
            self.refused(4, "truncated", {f"n{chunks}": whole[:-16]}, *self.flags(256))

    def test_nothing_is_left_of_a_bad_file(self):
        message = flipped(self.seal(256, pattern(PIECE + 5)), -1)
        self.write("m.paes", message)
        before = self.names()
        self.fails(4, "decrypt", *self.flags(256), "m.paes")
        self.fails(5, "decrypt", *self.flags(256, b"x"), "m.paes")
        self.assertEqual(self.names(), before)

    def test_salts_differ(self):
        made = [self.ok("encrypt", *self.flags(256), "-", stdin=b"") for _ in range(3)]
        starts = {one[self.header_bytes - 56:self.header_bytes - 32] for one in made}
        self.assertEqual(len(starts), 3)
