"""Damaged messages: every change is refused, and only authentic plaintext is released."""

import itertools
import json
import os
import pathlib
import tempfile

from support import KEYS, LONG, Case, file_reports, flipped, pattern

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
BATCH = 500
# Outside the long tier the tests damage every Nth byte and length of a message, and take turns among
# the ways to run paraes.
EVERY = 1 if LONG else int(os.environ.get("PARAES_TAMPER_EVERY", "3"))


class Layout:
    """Where the segments of a message are: after `header` bytes, one with `first` bytes of
    plaintext and others with `later` bytes, each with a tag."""

    def __init__(self, flags, header, first, later, wrong_key):
        self.flags = flags
        self.header = header
        self.first = first
        self.later = later
        self.wrong_key = wrong_key  # the exit status of a wrong key or context

    def plain_offset(self, segment):
        return 0 if segment == 0 else self.first + (segment - 1) * self.later

    def sealed_offset(self, segment):
        return self.header + self.plain_offset(segment) + 16 * segment

    def split(self, message):
        """The header, and a list of the sealed segments."""
        count = next(k for k in itertools.count(1) if self.sealed_offset(k) >= len(message))
        return message[:self.header], [message[self.sealed_offset(k):self.sealed_offset(k + 1)]
                                       for k in range(count)]

    def is_whole(self, size):
        """Whether `size` bytes of plaintext end where a segment ends."""
        return size == 0 or (size >= self.first and (size - self.first) % self.later == 0)

    def damage_status(self, at):
        """The exit status when the byte at `at` is damaged."""
        if self.header == 88 and at < 8:
            return 2  # it does not begin like a paraes message
        if self.header == 88 and at < 32:
            return 4
        return self.wrong_key if at < self.header else 4


KEY = ["--key-file", "k"]
PARAES = Layout(KEY, 88, 16384, 16384, 5)
C2SP = Layout([*KEY, "--format", "c2sp"], 56, 16384, 16384, 5)
TINK = Layout([*KEY, "--format", "tink", "--segment-size", "64"], 40, 8, 48, 4)
TINK_4096 = Layout([*KEY, "--format", "tink", "--segment-size", "4096"], 40, 4040, 4080, 4)
PASSPHRASE = Layout(["--passphrase-file", "p"], 88, 16384, 16384, 5)


def damaged(layout, message, segments):
    """The message with one byte changed in each of `segments`: the first, middle or last one."""
    for k in segments:
        begin, end = layout.sealed_offset(k), min(layout.sealed_offset(k + 1), len(message))
        message = flipped(message, (begin, (begin + end) // 2, end - 1)[k % 3], 0x10)
    return message


def changed(message, at, *values):
    return message[:at] + bytes(values) + message[at + len(values):]


class TamperCase(Case):
    GIVEN = {"k": KEYS[256], "p": b"pass"}
    SIZES = {PARAES: 2 * 16384 + 100, C2SP: 2 * 16384 + 100, TINK: 8 + 5 * 48 + 20}
    turn = 0

    def new_folder(self):
        return pathlib.Path(tempfile.mkdtemp(prefix="paraes-tamper-", dir=MEMORY))

    def message(self, layout, size=None, flags=()):
        plain = pattern(self.SIZES[layout] if size is None else size)
        return plain, self.ok("encrypt", *layout.flags, *flags, "-c", "-", stdin=plain)

    def messages(self):
        """A layout, plaintext and message of each format."""
        for layout in self.SIZES:
            yield layout, *self.message(layout)

    def in_turn(self, ways, step):
        """All of `ways`; on slow builds every `step`-th, with another first one in each call."""
        if EVERY == 1:
            return ways
        self.turn = (self.turn + 1) % step
        return ways[self.turn::step]

    def refuse(self, layout, tampered, flags=()):
        """Expects `tampered`, each (description, message, exit status), to be refused by decrypt
        and verify."""
        tampered = iter(tampered)
        count = 0
        while batch := list(itertools.islice(tampered, BATCH)):
            count += len(batch)
            names = []
            for i, (_, message, _) in enumerate(batch):
                names.append(self.write(f"{i}.paes", message))
            for verb in (["decrypt", "-o", "out"], ["verify"]):
                # Two files at least, so that --json has a status for each; "none" does not exist.
                done = self.exits(3, *verb, *layout.flags, *flags, "--json", "-q", *names, "none")
                got = {name: row["exit"] for name, row in file_reports(done.stdout).items()}
                self.assertEqual(got.pop("none"), 1)
                self.assertEqual(len(got), len(batch))
                for name, (description, _, status) in zip(names, batch, strict=True):
                    self.assertEqual(got[name], status, f"{verb[0]} {layout.flags}: {description}")
                if self.path("out").exists():
                    self.assertEqual(os.listdir(self.path("out")), [], verb)
                # One error line for each file; -q hides the summary.
                self.assertEqual(len(done.stderr.splitlines()), len(batch) + 1)
        self.assertGreater(count, 0)


class Tamper(TamperCase):
    def test_unchanged_messages_are_accepted(self):
        for layout, plain, message in self.messages():
            self.assertEqual(len(layout.split(message)[1]), 3 if layout is not TINK else 7)
            self.assertEqual(self.ok("decrypt", *layout.flags, "-c", "-", stdin=message), plain)
            self.write("m", message)
            self.ok("verify", *layout.flags, "m")

    def refuse_flips(self, layout, message, places, bits=range(8)):
        self.refuse(layout, ((f"bit {bit} of byte {at}", flipped(message, at, 1 << bit),
                              layout.damage_status(at)) for at in places for bit in bits))

    def test_damage_of_every_byte_is_refused(self):
        for layout, step in ((PARAES, EVERY), (C2SP, 31)):
            _, message = self.message(layout)
            for bit in range(8):
                self.refuse_flips(layout, message, range(bit * step, len(message), 8 * step), [bit])

    def test_every_flipped_bit_of_headers_and_tags_is_refused(self):
        for layout, _, message in self.messages():
            near = set(range(layout.header + 17))
            for k in range(1, 4):
                begin = layout.sealed_offset(k)
                near.update(range(begin - 17, min(begin + 17, len(message))))
            near.update(range(len(message) - 17, len(message)))
            self.refuse_flips(layout, message, sorted(near))

    def test_every_flipped_bit_of_a_small_message_is_refused(self):
        for size in (self.SIZES[TINK], 8 + 3 * 48, 8, 1, 0):
            _, message = self.message(TINK, size)
            self.refuse_flips(TINK, message, range(len(message)))

    def refuse_cuts(self, layout, message, lengths):
        self.refuse(layout, ((f"first {n} bytes of {len(message)}", message[:n], 4)
                             for n in lengths))

    def test_every_truncation_is_refused(self):
        _, message = self.message(PARAES)
        self.refuse_cuts(PARAES, message, range(0, len(message), EVERY))
        for size in (self.SIZES[TINK], 8 + 3 * 48, 8, 0):
            _, message = self.message(TINK, size)
            self.refuse_cuts(TINK, message, range(len(message)))
        _, message = self.message(C2SP)
        lengths = {*range(56 + 40), *range(0, len(message), 31)}
        for k in (1, 2):
            lengths.update(range(C2SP.sealed_offset(k) - 20, C2SP.sealed_offset(k) + 20))
        self.refuse_cuts(C2SP, message, sorted(lengths))
        # Where the plaintext fills its segments exactly, an empty segment ends the message.
        for layout, segments in itertools.product((PARAES, C2SP), (0, 1, 2)):
            _, message = self.message(layout, segments * 16384)
            self.refuse_cuts(layout, message, range(len(message) - 39, len(message)))

    def test_missing_first_bytes_are_refused(self):
        for layout, _, message in self.messages():
            status = {PARAES: 2, C2SP: 5, TINK: 4}[layout]
            self.refuse(layout, ((f"without the first {n} bytes", message[n:], status)
                                 for n in (1, 7, 8, 16)))

    def test_trailing_bytes_are_refused(self):
        for layout, _, message in self.messages():
            _, segments = layout.split(message)
            tails = [bytes(n) for n in (*range(1, 64), 4096, 16268, 16283, 16284, 16285, 16300,
                                        16383, 16384, 16385, 16400, 16416, 65536)]
            tails += [b"\n", message, *segments, message[-16:], message[:layout.header]]
            self.refuse(layout, ((f"{len(tail)} bytes behind", message + tail, 4)
                                 for tail in tails))

    def test_moved_segments_are_refused(self):
        for layout, plain, message in self.messages():
            other = self.message(layout)[1]
            # Moved segments are refused even if their plaintext is equal.
            same = self.ok("encrypt", *layout.flags, "-c", "-", stdin=bytes(len(plain)))

            def rearranged(message):
                header, segments = layout.split(message)
                n = len(segments)
                for i, k in itertools.combinations(range(n), 2):
                    order = list(range(n))
                    order[i], order[k] = order[k], order[i]
                    yield f"{i} and {k} swapped", [segments[j] for j in order]
                for k in range(n):
                    yield f"{k} doubled", segments[:k + 1] + segments[k:]
                    yield f"{k} once more at the end", segments + [segments[k]]
                    yield f"{k} dropped", segments[:k] + segments[k + 1:]
                    for i in range(n):
                        if i != k:
                            yield f"{i} in the place of {k}", [
                                *segments[:k], segments[i], *segments[k + 1:]]
                yield "backwards", segments[::-1]
                yield "all dropped", []
                yield "all doubled", segments * 2
                foreign = layout.split(other)[1]
                for k in range(n):
                    yield f"{k} of another message", [*segments[:k], foreign[k], *segments[k + 1:]]
                yield "all of another message", foreign

            for whole in (message, same):
                header = whole[:layout.header]
                self.refuse(layout, ((description, header + b"".join(segments), 4)
                                     for description, segments in rearranged(whole)))

    def test_mixed_headers_are_refused(self):
        for layout in (PARAES, C2SP):
            one, two = self.message(layout)[1], self.message(layout)[1]
            at = layout.header - 32  # where the commitment begins
            self.refuse(layout, [
                ("the salt of another message", two[:at] + one[at:], 5),
                ("the commitment of another message",
                 one[:at] + two[at:at + 32] + one[at + 32:], 5),
                ("the header of another message", two[:at + 32] + one[at + 32:], 4)])

    def test_messages_of_another_format_are_refused(self):
        paraes, c2sp, tink = (self.message(layout)[1] for layout in self.SIZES)
        self.refuse(PARAES, [("c2sp", c2sp, 2), ("tink", tink, 2)])
        self.refuse(C2SP, [("paraes", paraes, 5), ("tink", tink, 5),
                           # Well-formed C2SP, but its context includes the preface.
                           ("paraes without its preface", paraes[32:], 5)])
        self.refuse(TINK, [("paraes", paraes, 4), ("c2sp", b"\0" + c2sp, 4)])
        self.refuse(PARAES, [("c2sp behind a preface", paraes[:32] + c2sp, 5)])
        named = Layout([*KEY, "--format", "paraes"], 88, 16384, 16384, 5)
        self.refuse(named, [("c2sp", c2sp, 4), ("nothing", b"", 4), ("x", b"x", 4),
                            ("another beginning", flipped(paraes, 0), 4)])
        # With the preface as its context, the same message opens as C2SP.
        done = self.ok("decrypt", *C2SP.flags, "--context-hex", paraes[:32].hex(), "-c", "-",
                       stdin=paraes[32:])
        self.assertEqual(done, pattern(self.SIZES[PARAES]))

    def test_wrong_contexts_are_refused(self):
        for layout, plain, bare in self.messages():
            right = ["--context-hex", "00ff10"]
            message = self.message(layout, flags=right)[1]
            self.assertEqual(self.ok("decrypt", *layout.flags, *right, "-c", "-", stdin=message),
                             plain)
            for wrong in ("00ff11", "00ff", "00ff1000", "10ff00", "ff"):
                self.refuse(layout, [("context", message, layout.wrong_key),
                                     ("none", bare, layout.wrong_key)], ["--context-hex", wrong])
            self.refuse(layout, [("missing context", message, layout.wrong_key)])
            self.refuse(layout, [("needless context", bare, layout.wrong_key)], right)

    def test_wrong_keys_are_refused(self):
        for layout, _, message in self.messages():
            for label, key in (("other", KEYS[256][::-1]), ("one bit", flipped(KEYS[256], 31)),
                              ("shorter", KEYS[128]), ("shorter", KEYS[256][16:])):
                self.write("k", key)
                self.refuse(layout, [(f"key: {label}", message, layout.wrong_key)])
            self.write("k", KEYS[256])

    def test_changed_prefaces_of_key_messages_are_refused(self):
        _, message = self.message(PARAES)
        some = (1, 0x80, 0xFF)
        for status, at, values in (
                (4, 8, set(range(256)) - {1}),  # version
                (4, 9, range(1, 256)),  # kdf
                (4, 10, set(range(256)) - {1, 2}), (5, 10, [1]),  # aead, and the other one
                (4, 11, range(1, 256)),  # log2n
                *((4, at, some) for at in range(12, 32))):  # reserved bytes, and the salt
            self.refuse(PARAES,
                        [(f"byte {at}: {n}", changed(message, at, n), status) for n in values])
        # With kdf 1 it is a message for a passphrase, which a key file cannot open.
        for layout, status, costs in ((PARAES, 2, (1, 10, 17, 22, 255)),
                                      (PASSPHRASE, 5, (1, 4, 10))):
            self.refuse(layout, [(f"kdf 1, log2n {n}", changed(message, 9, 1, 2, n), status)
                                 for n in costs])

    def test_changed_prefaces_of_passphrase_messages_are_refused(self):
        plain, message = self.message(PASSPHRASE, self.SIZES[PARAES], ["--scrypt-log2n", "4"])
        self.assertEqual(self.ok("decrypt", *PASSPHRASE.flags, "-c", "-", stdin=message), plain)
        for status, at, values in (
                (5, 11, (1, 2, 3, 5, 6, 10)), (4, 11, [0]),  # log2n
                (2, 11, (23, 40, 63, 64, 65, 255)),  # refused before scrypt runs
                (5, 10, [1]), (4, 9, (0, 2))):  # aead, kdf
            self.refuse(PASSPHRASE,
                        [(f"byte {at}: {n}", changed(message, at, n), status) for n in values])
        without = changed(message, 9, 0, 2, 0, *message[12:16], *bytes(16))
        self.refuse(PASSPHRASE, [("no scrypt at all", without, 2)])
        self.refuse(PASSPHRASE, [(f"bit {bit} of byte {at} of the salt",
                                  flipped(message, at, 1 << bit), 5)
                                 for at in range(16, 32) for bit in (0, 7)])
        self.write("p", b"Pass")
        self.refuse(PASSPHRASE, [("passphrase", message, 5)])

    def test_damaged_input_leaves_an_existing_output_unchanged(self):
        _, message = self.message(PARAES)
        self.write("g", b"precious")
        for tampered in (message[:-1], message + b"x", damaged(PARAES, message, [1])):
            self.fails(4, "decrypt", *KEY, "-f", "-o", "g", "-", stdin=tampered)
            self.write("bad.paes", tampered)
            self.fails(4, "decrypt", *KEY, "-f", "--rm", "-o", "g", "bad.paes")
            self.assertEqual(self.read("g"), b"precious")
        self.assertEqual(self.names(), ["bad.paes", "g", "k", "p"])


class ReleasedPlaintext(TamperCase):
    """Messages of several chunks, which several threads decrypt to a pipe."""

    SIZES = {PARAES: 40 * 16384 + 100, C2SP: 34 * 16384, TINK_4096: 4040 + 150 * 4080 + 1000}

    def released(self, layout, message, status=4):
        """Returns what a failed decryption writes, from a pipe and from a file. The number of
        threads must not change it."""
        self.write("m.paes", message)
        got = set()
        for threads in self.in_turn(("1", "0", "5"), 3):
            for source, stdin in (("m.paes", b""), ("-", message)):
                done = self.fails(status, "decrypt", *layout.flags, "-T", threads, "-c", source,
                                  stdin=stdin)
                got.add((source, done.stdout))
        self.assertLessEqual(len(got), 2)
        return [out for _, out in sorted(got)]

    def test_damaged_segments_end_the_release_before_them(self):
        for layout, plain, message in self.messages():
            last = len(layout.split(message)[1]) - 1
            for k in (0, 1, 15, 16, 17, 31, 32, last - 1, last):
                for more in ([], [k + 1, last]):
                    bad = [k, *(j for j in more if k < j <= last)]
                    with self.subTest(flags=layout.flags, bad=bad):
                        for out in self.released(layout, damaged(layout, message, bad)):
                            self.assertEqual(out, plain[:layout.plain_offset(k)])

    def check_whole(self, layout, plain, message):
        """Expects that the beginning of `plain` is released, and whole segments alone."""
        for out in self.released(layout, message):
            self.assertTrue(plain.startswith(out))
            self.assertTrue(layout.is_whole(len(out)))

    def test_truncated_messages_release_whole_segments(self):
        for layout, plain, message in self.messages():
            for k in (1, 2, 16, 17, 33):
                for more in (0, 1, 15, 16, 17, 100):
                    with self.subTest(flags=layout.flags, segments=k, more=more):
                        cut = message[:layout.sealed_offset(k) + more]
                        self.check_whole(layout, plain, cut)
                        # From a pipe, all whole segments are released before the end is read.
                        done = self.fails(4, "decrypt", *layout.flags, "-c", "-", stdin=cut)
                        if layout.header != 40:
                            self.assertEqual(len(done.stdout), layout.plain_offset(k))

    def test_trailing_bytes_release_whole_segments_only(self):
        for layout, plain, message in self.messages():
            for more in (1, 16, 16284, 70000):
                with self.subTest(flags=layout.flags, more=more):
                    self.check_whole(layout, plain, message + bytes(more))

    def test_damaged_headers_release_nothing(self):
        for layout, _, message in self.messages():
            for at in range(0, layout.header, 5):
                for out in self.released(layout, flipped(message, at), layout.damage_status(at)):
                    self.assertEqual(out, b"")


class Salvage(TamperCase):
    SIZES = {PARAES: 40 * 16384 + 100, C2SP: 18 * 16384, TINK_4096: 4040 + 80 * 4080 + 1000}

    def salvage(self, layout, message, expected, ranges, status=3):
        """Salvages from a file and a pipe to a file and a pipe; checks output and report."""
        self.write("m.paes", message)
        sources = (("m.paes", b""), ("-", message))
        ways = list(itertools.product(("1", "0", "5"), sources, (["-f", "-o", "out"], ["-c"])))
        for threads, (source, stdin), sink in self.in_turn(ways, 5):
            done = self.run_paraes("decrypt", *layout.flags, "--salvage", "--json", "-T", threads,
                                   *sink, source, stdin=stdin)
            to_file = sink[0] == "-f"
            text = done.stdout if to_file else done.stderr
            self.assertEqual(done.returncode, status, done.stderr)
            report, = [json.loads(line) for line in text.splitlines() if line.startswith(b"{")]
            got = [(bad["offset"], bad["bytes"]) for bad in report["bad_ranges"]]
            self.assertEqual(got, ranges)
            self.assertEqual(report["exit"], status)
            self.assertEqual(report["bytes"], len(expected))
            out = self.read("out") if to_file else done.stdout
            self.assertEqual(len(out), len(expected))
            self.assertTrue(out == expected, "salvaged bytes")
            lines = [line for line in done.stderr.splitlines() if line[:1] != b"{"]
            self.assertEqual(len(lines), 1 if ranges else 0, done.stderr)
            if to_file:
                self.path("out").unlink()
        self.assertEqual(self.names(), ["k", "m.paes", "p"])

    def zeroed(self, layout, plain, bad):
        """The plaintext with zeros for the segments `bad`, and the merged ranges of zeros."""
        expected = bytearray(plain)
        ranges = []
        for k in sorted(bad):
            begin = layout.plain_offset(k)
            end = min(layout.plain_offset(k + 1), len(plain))
            expected[begin:end] = bytes(end - begin)
            if ranges and end != begin and sum(ranges[-1]) == begin:
                begin = ranges.pop()[0]
            ranges.append((begin, end - begin))
        return bytes(expected), ranges

    def test_damaged_and_swapped_segments_become_zeros(self):
        for layout, plain, message in self.messages():
            header, segments = layout.split(message)
            last = len(segments) - 1
            for bad in ([], [0], [5], [last], [last - 1, last], [15, 16], [3, 4, 5, 9, last],
                        list(range(1, last)), list(range(last)), list(range(1, last + 1)),
                        list(range(0, last + 1, 2))):
                with self.subTest(flags=layout.flags, bad=bad):
                    self.salvage(layout, damaged(layout, message, bad),
                                 *self.zeroed(layout, plain, bad), status=3 if bad else 0)
            segments[3], segments[7] = segments[7], segments[3]
            self.salvage(layout, header + b"".join(segments), *self.zeroed(layout, plain, [3, 7]))

    def test_messages_cut_at_the_end_of_or_in_a_segment_are_salvaged(self):
        for layout, plain, message in self.messages():
            for k in (1, 2, 15, 16, 17):
                end = layout.plain_offset(k)
                cut = message[:layout.sealed_offset(k)]
                for more in (0, 1, 15, 16, 17, 1000, layout.later + 15):
                    with self.subTest(flags=layout.flags, segments=k, more=more):
                        rest = max(more - 16, 0)
                        self.salvage(layout, message[:len(cut) + more], plain[:end] + bytes(rest),
                                     [(end, rest)])
                if k > 1:
                    expected, ranges = self.zeroed(layout, plain[:end], [0])
                    self.salvage(layout, damaged(layout, cut, [0]), expected, [*ranges, (end, 0)])

    def test_every_truncation_of_a_small_message_is_salvaged(self):
        plain, message = self.message(TINK, 8 + 5 * 48 + 20)
        for n in range(41 + 24, len(message), EVERY):
            k = next(k for k in itertools.count(1) if TINK.sealed_offset(k + 1) > n)
            end = TINK.plain_offset(k)
            rest = max(n - TINK.sealed_offset(k) - 16, 0)
            with self.subTest(bytes=n):
                self.salvage(TINK, message[:n], plain[:end] + bytes(rest), [(end, rest)])

    def test_trailing_bytes_make_the_last_segment_zeros(self):
        plain, message = self.message(PARAES, 3 * 16384 + 100)
        self.salvage(PARAES, message + bytes(50), plain[:3 * 16384] + bytes(150),
                     [(3 * 16384, 150)])

    def test_damaged_headers_cannot_be_salvaged(self):
        for layout, _, message in self.messages():
            cases = [(flipped(message, at), layout.damage_status(at))
                     for at in range(0, layout.header, 7)]
            cases += [(message[:n], 4) for n in (0, 1, layout.header - 1)]
            for bad, status in cases:
                self.write("m.paes", bad)
                for source in ("m.paes", "-"):
                    salvage = ["decrypt", *layout.flags, "--salvage", source]
                    self.fails(status, *salvage, "-o", "out", stdin=bad)
                    done = self.fails(status, *salvage, "-c", stdin=bad)
                    # Tink has no commitment: zeros may be written before the run fails.
                    self.assertEqual(done.stdout.strip(b"\0"), b"")
                    if layout.wrong_key == 5:
                        self.assertEqual(done.stdout, b"")
                    self.assertEqual(self.names(), ["k", "m.paes", "p"])

    def test_each_of_several_files_is_salvaged(self):
        plain, message = self.message(PARAES, 2 * 16384 + 100)
        self.write("a.paes", message)
        self.write("b.paes", damaged(PARAES, message, [1]))
        self.write("c.paes", flipped(message, 40))
        done = self.exits(3, "decrypt", *KEY, "--salvage", "--json", "-o", "out", "a.paes",
                          "b.paes", "c.paes")
        reports = file_reports(done.stdout)
        self.assertEqual({name: report["exit"] for name, report in reports.items()},
                         {"a.paes": 0, "b.paes": 3, "c.paes": 5})
        self.assertEqual(reports["b.paes"]["bad_ranges"], [{"offset": 16384, "bytes": 16384}])
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["a", "b"])
        self.assertEqual(self.read("out/a"), plain)
        self.assertEqual(self.read("out/b"), plain[:16384] + bytes(16384) + plain[2 * 16384:])
