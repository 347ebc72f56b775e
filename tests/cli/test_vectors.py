"""The cases of testvectors/: files and pipes, and what must happen to them."""

import hashlib

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

    def run_case(self, case, verb, *args, stdin=b""):
        """The standard output of a run that ends as the case says."""
        status = STATUS[case["expect"]]
        done = self.exits(status, verb, "-q", *self.arguments(case), *args, stdin=stdin)
        self.assertEqual(done.stderr == b"", case["expect"] == "success")
        return done.stdout

    def test_messages_are_decrypted_or_refused_and_leave_nothing(self):
        cases = all_cases()
        self.assertGreater(len(cases), 100)
        self.assertEqual({case["expect"] for _, case, _ in cases}, set(STATUS))
        for name, case, content in cases:
            with self.subTest(case=name):
                self.check(case, content)

    def check(self, case, content):
        good = case["expect"] == "success"
        self.write("m", content)
        self.run_case(case, "decrypt", "-o", "out", "m")
        self.assertEqual(set(self.names()) - {"k", "i", "p"}, {"m", "out"} if good else {"m"})
        if good:
            data = self.read("out")
            self.assertEqual(hashlib.sha256(data).hexdigest(), case["payload"])
            self.assertEqual(data, plaintext(len(data)))
            self.path("out").unlink()
        self.assertEqual(self.read("m"), content)
        # A pipe gets no more than may be released.
        released = self.run_case(case, "decrypt", "-", stdin=content)
        most = int(case.get("payload-bytes", 0))
        self.assertIn(len(released), [most] if good else range(most + 1))
        self.assertEqual(released, plaintext(len(released)))
        self.assertEqual(self.run_case(case, "verify", "m"), b"")
