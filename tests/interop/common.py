"""Helpers of the interop tests, in addition to tests/cli/support.py."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from support import KEYS, LONG, Case, file_reports, pattern, restore_signals, sanitized  # noqa: F401

SEGMENT = 16384
SEALED = SEGMENT + 16  # a segment with its tag
CHUNK = 16 * SEGMENT  # what paraes reads, encrypts and writes at a time
SIZES = (0, 1, 15, 16, 17, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT - 1, 2 * SEGMENT,
         2 * SEGMENT + 1, 5 * SEGMENT - 1, 5 * SEGMENT, 5 * SEGMENT + 1, CHUNK - SEGMENT,
         CHUNK - SEGMENT + 1, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK + SEGMENT, 2 * CHUNK - 1,
         2 * CHUNK, 2 * CHUNK + 1, (1 << 20) + 5)
KERNELS = ("reference", "ttable", "openssl", "bitslice", "auto")
CONTEXTS = (b"", b"\0", b"photos/2019", pattern(512))


def spread(items, step):
    """All items in `tests/run long`; otherwise every `step`-th."""
    return list(items)[::1 if LONG else step]


def in_hex(context):
    return ["--context-hex", context.hex()] if context else []


class InteropCase(Case):
    """Helpers that process many messages in one run of paraes."""

    def encrypt_all(self, plains, *flags):
        """Encrypts a dict of plaintexts; returns a dict of the messages with the same keys."""
        for name, data in plains.items():
            self.write(name, data)
        self.ok("encrypt", "-q", "-f", *flags, "-o", "sealed", *plains)
        # With a single input, -o names the file and not a folder.
        return {name: self.read(f"sealed/{name}.paes" if len(plains) > 1 else "sealed")
                for name in plains}

    def decrypt_all(self, messages, *flags):
        """Decrypts a dict of messages; returns a dict of the plaintexts with the same keys."""
        files = [self.write(f"{name}.paes", data) for name, data in messages.items()]
        self.ok("decrypt", "-q", "-f", *flags, "-o", "opened", *files)
        return {name: self.read(f"opened/{name}" if len(messages) > 1 else "opened")
                for name in messages}

    def check_same(self, got, expected):
        """Checks that two dicts are equal; a failure names the keys that differ, not the values."""
        self.assertEqual(got.keys(), expected.keys())
        self.assertEqual([name for name in expected if got[name] != expected[name]], [])

    def refused(self, status, says, messages, *flags, pipe=True):
        """Expects verify to refuse each message with exit `status`, from a file and from a pipe."""
        for name, data in messages.items():
            self.write(name, data)
        done = self.run_paraes("verify", "--json", *flags, *messages)
        rows = file_reports(done.stdout)
        for name, data in messages.items():
            with self.subTest(message=name):
                self.assertEqual(rows[name]["exit"], status, rows[name]["status"])
                self.assertIn(says, rows[name]["status"])
                if pipe:
                    self.fails(status, "verify", *flags, "-", stdin=data, says=says)

    def four_ways(self, verb, data, check, *flags):
        """Runs `verb` from a file and a pipe to a file and a pipe; calls check(output) for each."""
        self.write("input", data)
        for source, stdin in (("input", b""), ("-", data)):
            with self.subTest(verb=verb, size=len(data), source=source):
                check(self.ok(verb, *flags, "-c", source, stdin=stdin))
                self.ok(verb, *flags, "-f", "-o", "output", source, stdin=stdin)
                check(self.read("output"))

    def check_ranges(self, message, plain, ranges, *flags):
        """Checks --offset and --length for each of `ranges`; a length of None omits --length."""
        self.write("message", message)
        for offset, length in ranges:
            range_flags = ["--offset", offset]
            range_flags += [] if length is None else ["--length", length]
            with self.subTest(size=len(plain), offset=offset, length=length):
                got = self.ok("decrypt", *flags, *range_flags, "-c", "message")
                end = len(plain) if length is None else offset + length
                self.assertTrue(got == plain[offset:end], f"{len(got)} bytes that differ")


def ranges_around(size, bounds):
    """Ranges of a message of `size` bytes that begin and end at, before and after each bound."""
    near = sorted({b + d for b in bounds for d in (-1, 0, 1) if 0 <= b + d <= size} | {0, size})
    ranges = [(offset, None) for offset in near]
    ranges += [(a, b - a) for i, a in enumerate(near) for b in near[i::2]]
    return ranges


class SegmentCase(InteropCase):
    """A format with segments of 16 KiB. A subclass defines flags(), and the client's seal() and
    open()."""

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

    def check_both_ways(self, bits, plains, *flags, context=b""):
        flags = [*self.flags(bits, context), *flags]
        sealed = self.encrypt_all(plains, *flags)
        self.check_same({n: self.open(bits, m, context) for n, m in sealed.items()}, plains)
        sealed = {n: self.seal(bits, data, context) for n, data in plains.items()}
        self.check_same(self.decrypt_all(sealed, *flags), plains)


class SegmentTests:
    """Tests that c2sp and paraes have in common, for a SegmentCase with the size of the header."""

    header_bytes = 0

    def test_paraes_and_the_client_open_each_others_messages(self):
        plains = {f"f{size}": pattern(size) for size in SIZES}
        for bits in (128, 256):
            with self.subTest(bits=bits):
                self.check_both_ways(bits, plains)

    def test_message_size_is_header_plaintext_and_tags(self):
        plains = {f"f{size}": pattern(size) for size in SIZES}
        for name, message in self.encrypt_all(plains, *self.flags(256)).items():
            size = len(plains[name])
            self.assertEqual(len(message), self.header_bytes + size + 16 * (size // SEGMENT + 1))

    def test_files_and_pipes_agree_with_the_client(self):
        for size in spread(SIZES, 3):
            data = pattern(size)
            self.four_ways("encrypt", data, lambda made: self.assertTrue(
                self.open(256, made) == data), *self.flags(256))
            self.four_ways("decrypt", self.seal(256, data), lambda got: self.assertTrue(
                got == data), *self.flags(256))

    def test_every_kernel_agrees_with_the_client(self):
        plains = {f"f{size}": pattern(size) for size in SIZES}
        plains = dict(spread(plains.items(), 3))
        for kernel in KERNELS:
            for bits in (128, 256):
                with self.subTest(kernel=kernel, bits=bits):
                    self.check_both_ways(bits, plains, "--kernel", kernel)

    def test_any_number_of_threads_agrees_with_the_client(self):
        # One file per run: of several small files, each would be encrypted by one thread.
        for size in spread((1, SEGMENT, CHUNK - 1, CHUNK, 2 * CHUNK - 1, 2 * CHUNK + 1,
                            (1 << 20) + 5, 13 * CHUNK + 7), 2):
            data = pattern(size)
            sealed = self.seal(128, data)
            for threads in (1, 2, 5):
                with self.subTest(size=size, threads=threads):
                    flags = [*self.flags(128), "-T", threads]
                    self.check_both_ways(128, {"f": data}, "-T", threads)
                    made = self.ok("encrypt", *flags, "-", stdin=data)
                    self.assertTrue(self.open(128, made) == data)
                    self.assertTrue(self.ok("decrypt", *flags, "-", stdin=sealed) == data)

    def test_contexts_agree_with_the_client(self):
        plains = {f"f{size}": pattern(size) for size in (0, 100, SEGMENT)}
        for context in CONTEXTS:
            for bits in (128, 256):
                with self.subTest(context=len(context), bits=bits):
                    self.check_both_ways(bits, plains, context=context)

    def test_offset_and_length_select_a_range(self):
        # Ranges within, across and at the ends of segments and chunks.
        for bits, size, bounds in ((256, 3 * SEGMENT + 100, (SEGMENT, 2 * SEGMENT)),
                                   (128, 2 * SEGMENT, (SEGMENT,)),
                                   (256, 2 * CHUNK + 5, (CHUNK + 77, 2 * CHUNK)), (256, 0, ())):
            data = pattern(size)
            self.check_ranges(self.seal(bits, data), data,
                              spread(ranges_around(size, bounds), 3), *self.flags(bits))

    def test_info_states_sizes_and_segments(self):
        flags = [flag for flag in self.flags(256) if flag in ("--format", "c2sp", "paraes")]
        for size in spread(SIZES, 2):
            with self.subTest(size=size):
                self.write("m", self.seal(256, pattern(size)))
                said = json.loads(self.ok("info", "--json", *flags, "m"))
                self.assertEqual(said["header_bytes"], self.header_bytes)
                self.assertEqual(said["segment_bytes"], SEGMENT)
                self.assertEqual(said["bytes"], len(self.read("m")))
                self.assertEqual(said["plain_bytes"], size)
                self.assertEqual(said["segments"], size // SEGMENT + 1)

    def test_message_without_its_short_last_segment_is_refused(self):
        # All full segments are authentic, but the shorter one that must follow is missing.
        for segments in (1, 2, 16):
            whole = self.seal(256, pattern(segments * SEGMENT))
            self.refused(4, "truncated", {f"n{segments}": whole[:-16]}, *self.flags(256))
