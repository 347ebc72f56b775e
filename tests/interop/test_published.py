"""--format c2sp against Project Wycheproof's c2sp_chunked_encryption_*_test.json (testvectors_v1), in the
folder that PARAES_VECTORS names:

    PARAES_VECTORS=FOLDER ctest --test-dir build/release -R interop.published -V

Without it, only a file of the same schema is tested, with messages of the package cryptography.
"""

import hashlib
import json
import os
import pathlib
import zlib

from common import KEYS, SEGMENT, InteropCase, in_hex, pattern
from cryptography.cobblestone import Cobblestone128Encryptor, Cobblestone256Encryptor

FOLDER = os.environ.get("PARAES_VECTORS")
FILES = "c2sp_chunked_encryption_*_test.json"
SCHEMA = "c2sp_chunked_encryption_schema.json"
KEY_BYTES = {"AEAD_AES_128_GCM": 16, "AEAD_AES_256_GCM": 32}
# Exit statuses: the key has a wrong size; the message is damaged; key or context is wrong.
USAGE, DAMAGED, WRONG_KEY = 2, 4, 5


class Published(InteropCase):
    """Checks the cases of such files, from a file and from a pipe."""

    def check(self, aead, case):
        message = zlib.decompress(bytes.fromhex(case["ct"]))
        key = bytes.fromhex(case["key"])
        self.write("key", key, 0o600)
        self.write("message", message)
        flags = ["decrypt", "--format", "c2sp", "--key-file", "key"]
        flags += in_hex(bytes.fromhex(case["ctx"]))
        self.path("output").unlink(missing_ok=True)
        done = self.run_paraes(*flags, "-o", "output", "message")
        piped = self.run_paraes(*flags, "-", stdin=message)
        self.assertEqual(done.returncode, piped.returncode)
        if case["result"] == "valid":
            self.assertEqual(done.returncode, 0, done.stderr)
            self.check_text(case, self.read("output"))
            self.check_text(case, piped.stdout)
            return
        self.assertIn(done.returncode, (USAGE, DAMAGED, WRONG_KEY))
        self.assertNotIn("output", self.names())
        self.assertEqual(done.returncode == USAGE, len(key) != KEY_BYTES[aead])
        # The longest intact beginning, which consists of whole segments, is what a pipe may get.
        self.assertLessEqual(len(piped.stdout), case.get("msgLength", 0))
        self.assertEqual(len(piped.stdout) % SEGMENT, 0)
        if piped.stdout:
            self.check_text(case, piped.stdout)

    def check_text(self, case, text):
        self.assertEqual(len(text), case["msgLength"])
        self.assertEqual(hashlib.sha512(text).hexdigest(), case["msgSha512"])

    def check_folder(self, folder):
        """Returns how many cases are valid, and how many not."""
        counts = [0, 0]
        files = sorted(pathlib.Path(folder).glob(FILES))
        self.assertTrue(files, f"{folder} has no {FILES}")
        for file in files:
            content = json.loads(file.read_text())
            self.assertEqual(content["schema"], SCHEMA)
            cases = [(group["aead"], case)
                     for group in content["testGroups"] for case in group["tests"]]
            self.assertEqual(len(cases), content["numberOfTests"])
            for aead, case in cases:
                with self.subTest(file=file.name, tcId=case["tcId"], comment=case["comment"]):
                    self.check(aead, case)
                counts[case["result"] != "valid"] += 1
        return counts


def sample(bits):
    """A file of the schema: sound messages and damaged ones, and their plaintexts."""
    encryptor = {128: Cobblestone128Encryptor, 256: Cobblestone256Encryptor}[bits]
    key, context = KEYS[bits], b"context"
    cases = []

    def add(comment, message, intact, valid=False, key=key, context=context):
        cases.append({"tcId": len(cases) + 1, "comment": comment, "key": key.hex(),
                      "ctx": context.hex(), "ct": zlib.compress(message).hex(),
                      "msgLength": len(intact), "msgSha512": hashlib.sha512(intact).hexdigest(),
                      "result": "valid" if valid else "invalid"})

    for size in (0, 1, SEGMENT, 2 * SEGMENT + 7):
        writer = encryptor(key, context)
        plain = pattern(size)
        message = writer.update(plain) + writer.finalize()
        add(f"{size} bytes", message, plain, valid=True)
    add("the last byte changed", message[:-1] + bytes([message[-1] ^ 1]), plain[:2 * SEGMENT])
    add("the last segment missing", message[:-23], plain[:2 * SEGMENT])
    add("another context", message, b"", context=b"other")
    add("a short key", message, b"", key=key[:-1])
    add("the header alone", message[:56], b"")
    aead = f"AEAD_AES_{bits}_GCM"
    return {"schema": SCHEMA, "numberOfTests": len(cases),
            "testGroups": [{"aead": aead, "tests": cases}]}


class Sample(Published):
    def test_files_of_the_schema_are_understood(self):
        for bits in (128, 256):
            self.path(FILES.replace("*", str(bits))).write_text(json.dumps(sample(bits)))
        self.assertEqual(self.check_folder(self.dir), [8, 10])

if FOLDER:
    class WycheproofFolder(Published):
        """The files in PARAES_VECTORS."""

        def test_every_case(self):
            valid, invalid = self.check_folder(FOLDER)
            print(f"{valid} valid, {invalid} invalid")
            self.assertGreater(min(valid, invalid), 0)
