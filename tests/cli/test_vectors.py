"""The cases of testvectors/: files and pipes, and what must happen to them."""

import hashlib
import unittest

from support import Case
from vectors import all_cases

STATUS = {"success": 0, "header failure": 4, "key failure": 5, "payload failure": 4,
          "other kind of secret": 2, "cost too high": 2}


def plaintext(size):
    return hashlib.shake_128(b"plaintext").digest(size)


class Vectors(Case):
    def arguments(self, case):
        """The flags that hand over the secret and the context."""
        flags = ["--format", case["format"]]
        for field, name, flag in (("key", "k", "--key-file"), ("identity", "i", "-i"),
                                  ("passphrase", "p", "--passphrase-file")):
            if field in case:
                secret = case[field]
                data = bytes.fromhex(secret) if field == "key" else secret.encode() + b"\n"
                self.write(name, data)
                self.path(name).chmod(0o600)
                flags += [flag, name]
        return [*flags, *(["--context-hex", case["context"]] if "context" in case else [])]

    def each(self, check):
        """Calls check(fields, content) for every case."""
        cases = all_cases()
        self.assertGreater(len(cases), 100)
        self.assertEqual({case["expect"] for _, case, _ in cases}, set(STATUS))
        for name, case, content in cases:
            with self.subTest(case=name):
                check(case, content)

    def test_files_are_decrypted_or_refused_and_leave_nothing(self):
        def check(case, content):
            source = self.write("m", content)
            before = self.names()
            done = self.run_paraes("decrypt", "-q", *self.arguments(case), "-o", "out", source)
            self.assertEqual(done.returncode, STATUS[case["expect"]], done.stderr)
            good = case["expect"] == "success"
            self.assertEqual("out" in self.names(), good)
            if good:
                data = self.read("out")
                self.assertEqual(hashlib.sha256(data).hexdigest(), case["payload"])
                self.assertEqual(data, plaintext(len(data)))
                self.path("out").unlink()
            else:
                self.assertTrue(done.stderr)
            self.assertEqual(set(self.names()) - set(before) - {"k", "i", "p"}, set())
            self.assertEqual(self.read(source), content)

        self.each(check)

    def test_pipes_get_no_more_than_may_be_released(self):
        def check(case, content):
            done = self.run_paraes("decrypt", "-q", *self.arguments(case), "-", stdin=content)
            self.assertEqual(done.returncode, STATUS[case["expect"]], done.stderr)
            most = int(case.get("payload-bytes", 0))
            self.assertLessEqual(len(done.stdout), most)
            self.assertEqual(done.stdout, plaintext(len(done.stdout)))
            if case["expect"] == "success":
                self.assertEqual(len(done.stdout), most)

        self.each(check)

    def test_verify_says_the_same_without_output(self):
        def check(case, content):
            source = self.write("m", content)
            done = self.run_paraes("verify", "-q", *self.arguments(case), source)
            self.assertEqual(done.returncode, STATUS[case["expect"]], done.stderr)
            self.assertEqual(done.stdout, b"")

        self.each(check)


if __name__ == "__main__":
    unittest.main()
