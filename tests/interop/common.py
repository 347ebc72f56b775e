"""What the interop tests share, on top of what the tests of the command line share."""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from support import KEYS, Case, pattern  # noqa: E402,F401

CHUNK = 16384
PIECE = 16 * CHUNK  # the program reads, computes and writes so much at a time
SIZES = (0, 1, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1,
         5 * CHUNK - 1, 5 * CHUNK, 5 * CHUNK + 1, PIECE - CHUNK, PIECE - CHUNK + 1, PIECE - 1, PIECE,
         PIECE + 1, PIECE + CHUNK, 2 * PIECE - 1, 2 * PIECE, 2 * PIECE + 1, (1 << 20) + 5)
KERNELS = ("reference", "ttable", "openssl", "bitslice", "auto")
CONTEXTS = (b"", b"\0", b"photos/2019", pattern(512))


def flipped(data, at, mask=1):
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1:]


class InteropCase(Case):
    """Many messages a run of the program, where one run a message would prove no more."""

    def encrypt_all(self, messages, *flags):
        """Encrypts a dict of plaintexts in one run; returns the dict of the messages."""
        for name, data in messages.items():
            self.write(name, data)
        self.ok("encrypt", "-q", "-f", *flags, "-o", "sealed", *messages)
        return {name: self.read(f"sealed/{name}.paes") for name in messages}

    def decrypt_all(self, messages, *flags):
        """The other way round."""
        for name, data in messages.items():
            self.write(f"{name}.paes", data)
        self.ok("decrypt", "-q", "-f", *flags, "-o", "opened", *(f"{name}.paes" for name in messages))
        return {name: self.read(f"opened/{name}") for name in messages}

    def verdicts(self, messages, *flags, verb="verify"):
        """The exit status and the message for each of several damaged messages, in one run."""
        for name, data in messages.items():
            self.write(name, data)
        # A run over one file alone would have its own exit status, and one more is cheap.
        self.write("missing-on-purpose", b"")
        done = self.run_paraes(verb, "--json", *flags, *messages, "missing-on-purpose")
        found = {row["input"]: row for row in map(json.loads, done.stdout.splitlines())}
        return {name: (found[name]["exit"], found[name]["status"]) for name in messages}

    def expect_verdict(self, status, says, messages, *flags, **kwargs):
        for name, (exit_status, text) in self.verdicts(messages, *flags, **kwargs).items():
            with self.subTest(name):
                self.assertEqual(exit_status, status, text)
                self.assertIn(says, text)

    def four_ways(self, verb, data, expect, *flags):
        """File or pipe to file or pipe; expect(output) checks each output."""
        self.write("in.paes", data)
        where = {"files": lambda: self.ok(verb, *flags, "-f", "-o", "out", "in.paes"),
                 "file to pipe": lambda: self.ok(verb, *flags, "-c", "in.paes"),
                 "pipe to file": lambda: self.ok(verb, *flags, "-f", "-o", "out", "-", stdin=data),
                 "pipes": lambda: self.ok(verb, *flags, "-", stdin=data)}
        for name, run in where.items():
            with self.subTest(name):
                output = run()
                expect(self.read("out") if name.endswith("file") or name == "files" else output)
