"""Files with recipients: paraes, the programs of age, pyrage, and the module cobblestone of the
package cryptography open each other's. PARAES_TEST_AGE may name an age of version 1.3 or later, for
the tests of post-quantum recipients; else they run if the installed one has them."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import pyrage
from common import CHUNK, SEGMENT, InteropCase, in_hex, pattern
from recipients import RecipientsCase, split
from recipients_client import recipients_open, recipients_seal
from support import Terminal

SIZES = (0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, CHUNK - 1, CHUNK, CHUNK + 1, (1 << 20) + 5)
CONTEXTS = (b"", b"photos/2019", pattern(512))


class Recipients(RecipientsCase, InteropCase):
    def setUp(self):
        super().setUp()
        self.identity = ["-i", str(self.path("me.txt"))]

    def pyrage_identity(self):
        secret = next(line for line in self.read("me.txt").decode().splitlines()
                      if line.startswith("AGE-SECRET-KEY-"))
        return pyrage.x25519.Identity.from_str(secret)

    def run_pyrage(self, arguments, data):
        """Does what recipients_client wants of age."""
        if "-d" in arguments:
            return pyrage.decrypt(data, [self.pyrage_identity()])
        return pyrage.encrypt(data, [self.pyrage_identity().to_public()])

    def test_paraes_and_the_client_open_each_others_files(self):
        plains = {f"f{size}": pattern(size) for size in SIZES}
        for bits in (128, 256):
            for context in CONTEXTS:
                with self.subTest(bits=bits, context=len(context)):
                    made = self.encrypt_all(plains, "--recipient", self.me, "--key-bits", bits,
                                            *in_hex(context))
                    self.check_same({name: recipients_open(message, self.identity, context)
                                     for name, message in made.items()}, plains)
                    made = {name: recipients_seal(data, ["-r", self.me], context, bits // 8)
                            for name, data in plains.items()}
                    self.check_same(self.decrypt_all(made, *self.identity, *in_hex(context)), plains)

    def test_files_and_pipes_agree_with_the_client(self):
        data = pattern(CHUNK + 1)
        self.four_ways("encrypt", data, lambda made: self.assertTrue(
            recipients_open(made, self.identity) == data), "--recipient", self.me)
        self.four_ways("decrypt", recipients_seal(data, ["-r", self.me]),
                       lambda got: self.assertTrue(got == data), *self.identity)

    def test_age_files_of_pyrage(self):
        data = pattern(SEGMENT + 9)
        # It adds stanzas of random types and lengths.
        for _ in range(20):
            made = recipients_seal(data, [], age=self.run_pyrage)
            self.assertEqual(self.ok("decrypt", *self.identity, "-", stdin=made), data)
        made = self.ok("encrypt", "--recipient", self.me, "-", stdin=data)
        self.assertEqual(recipients_open(made, [], age=self.run_pyrage), data)

    def test_client_opens_what_was_rekeyed(self):
        data = pattern(3 * SEGMENT)
        for flags in ([], ["--verify"], ["--new-key"]):
            self.write("f.paes", recipients_seal(data, ["-r", self.me], b"ctx"))
            self.ok("rekey", "-q", *self.identity, "--to-recipient", self.you, *flags,
                    *in_hex(b"ctx"), "f.paes")
            yours = ["-i", str(self.path("you.txt"))]
            self.assertEqual(recipients_open(self.read("f.paes"), yours, b"ctx"), data)
        self.write("f.paes", recipients_seal(data, ["-r", self.me]))
        self.ok("rekey", "-q", *self.identity, "--to-recipient", self.you, "f.paes")
        self.ok("rekey", "-q", *yours, "--to-recipient", self.me, "--new-key", "--key-bits", 128,
                "f.paes")
        self.assertEqual(recipients_open(self.read("f.paes"), self.identity), data)

    def test_identity_file_with_a_passphrase(self):
        # age asks for it on the terminal.
        sealed = pyrage.passphrase.encrypt(self.read("me.txt"), "open sesame")
        self.write("locked.age", sealed)
        self.path("locked.age").chmod(0o600)
        self.write("f.paes", self.ok("encrypt", "--recipient", self.me, "-", stdin=b"data"))
        for word, status in ((b"open sesame\n", 0), (b"wrong\n", 5)):
            terminal = Terminal(self, "verify", "-i", "locked.age", "f.paes")
            terminal.expect(b"Enter passphrase")
            terminal.type(word)
            ended, shown = terminal.finish()
            self.assertEqual(ended, status, shown)


def post_quantum_age():
    """The folder of an age that has post-quantum recipients, or why there is none."""
    program = os.environ.get("PARAES_TEST_AGE") or shutil.which("age") or ""
    if not program:
        return None, "age is not installed"
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
    numbers = re.match(r"v?(\d+)\.(\d+)", said)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < (1, 3):
        return None, f"age {said} has no post-quantum recipients: they need 1.3"
    return pathlib.Path(program).parent, None


FOLDER, WHY_NOT = post_quantum_age()


@unittest.skipIf(FOLDER is None, WHY_NOT)
class PostQuantum(RecipientsCase):
    """mlkem768x25519, and an age file of 2 KiB."""

    def setUp(self):
        super().setUp()
        self.env = {"PARAES_AGE": str(FOLDER / "age")}
        subprocess.run([FOLDER / "age-keygen", "-pq", "-o", self.path("pq.txt")], check=True,
                       capture_output=True)
        self.pq = subprocess.run([FOLDER / "age-keygen", "-y", self.path("pq.txt")], check=True,
                                 capture_output=True, text=True).stdout.strip()

    def test_post_quantum_recipient(self):
        self.assertTrue(self.pq.startswith("age1pq1"))
        data = pattern(100_000)
        made = self.ok("encrypt", "--recipient", self.pq, "-", stdin=data, env=self.env)
        self.assertIn(b"-> mlkem768x25519 ", split(made)[1])
        self.assertTrue(self.ok("decrypt", "-i", "pq.txt", "-", stdin=made, env=self.env) == data)
        self.assertIn(b"mlkem768x25519", self.ok("info", "-", stdin=made))
        self.fails(5, "decrypt", "-i", "me.txt", "-", stdin=made, env=self.env)

    def test_rekey_to_a_post_quantum_recipient(self):
        data = pattern(100_000)
        self.write("f.paes", self.ok("encrypt", "--recipient", self.me, "-", stdin=data))
        self.ok("rekey", "-q", "-i", "me.txt", "--to-recipient", self.pq, "f.paes", env=self.env)
        self.assertTrue(self.ok("decrypt", "-i", "pq.txt", "-c", "f.paes", env=self.env) == data)
