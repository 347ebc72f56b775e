"""The Python package: objects at work, and after they were closed or deleted."""

import os
import sys
import unittest

import needles
import processes
from cases import AGE, SecretsCase, setUpModule  # noqa: F401

import paraes

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_work.py")
# Writes to files after which these stop: the first of decrypt_file with an identity is for age.
WRITES = {"encrypt_file": 2, "encrypt_file with a passphrase": 2, "encrypt_file with a key file": 2,
          "encrypt_file to recipients": 2, "decrypt_file": 1, "decrypt_file with an identity": 2}


class Package(SecretsCase):
    program = (sys.executable, "-B", SCRIPT)

    def stages(self, use, secret):
        env = {"LD_PRELOAD": processes.STOP_AT_WRITE, "PARAES_STOP_AT": str(WRITES.get(use, 0))}
        # A call that seals has already ended.
        times = ["after the call" if use.startswith("seal") else "at work", "after close"]
        with open(self.write("secret", secret), "rb") as file:
            return self.used_and_closed(times, use, self.dir, stdin=file, env=env)

    def test_ciphers(self):
        for use in ("aesgcm", "ecb", "cbc", "ctr", "xts"):
            with self.subTest(use):
                key = needles.random_key(64 if use == "xts" else 32, self.id())
                add = (needles.add_gcm, "key", key) if use != "xts" else (needles.add_xts, key, 1)
                self.check(self.stages(use, key), needles.of((needles.add_key, "key", key), add))

    def test_cobblestone(self):
        run = self.stages("cobblestone", self.key)
        self.check(run, needles.of((needles.add_key, "key", self.key),
                                   (needles.add_c2sp, run.output, self.key)))

    def check_sealed(self, use, secret, **known):
        run = self.stages(use, secret)
        self.check(run, needles.of_paraes(self.read("sealed"), **known))

    def test_files_with_a_key(self):
        for use in ("writer", "writer that is left", "seal", "encrypt_file",
                    "encrypt_file with a key file"):
            with self.subTest(use):
                self.check_sealed(use, self.key, key=self.key)

    def test_files_with_a_passphrase(self):
        for use in ("writer with a passphrase", "seal with a passphrase",
                    "encrypt_file with a passphrase"):
            with self.subTest(use):
                self.check_sealed(use, self.passphrase, passphrase=self.passphrase)

    def test_writer_that_fails(self):
        run = self.stages("writer that fails", self.key)
        self.check(run, needles.of((needles.add_key, "key", self.key)))

    def test_reading(self):
        self.write("sealed", paraes.seal(self.plain, key=self.key))
        for use in ("reader", "decrypt_file"):
            with self.subTest(use):
                self.check_sealed(use, self.key, key=self.key)

    @unittest.skipIf(AGE is None, "age is not installed")
    def test_recipients(self):
        public, private = self.new_identity("me.txt")
        for use in ("encrypt_file to recipients", "decrypt_file with an identity"):
            with self.subTest(use):
                run = self.stages(use, public.encode())
                sealed = self.read("sealed")
                secrets = needles.of_paraes(sealed, run_key=self.run_key(sealed, "me.txt"))
                needles.add_text(secrets, "identity", private)
                self.check(run, secrets)
