"""keygen: key sizes, encodings and permissions; it never overwrites anything."""

import os
import stat

from support import Case


class Keygen(Case):
    def make(self, *flags):
        if self.path("k").exists():
            self.path("k").unlink()
        self.ok("keygen", *flags, "-o", "k")
        return self.read("k")

    def test_keys_have_the_requested_size(self):
        self.assertEqual(len(self.make()), 32)
        for bits in (128, 192, 256):
            self.assertEqual(len(self.make("--key-bits", bits)), bits // 8)
        for bits in (128, 256):
            key = self.make("--key-bits", bits, "--mode", "xts")
            self.assertEqual(len(key), bits // 4)
            self.assertNotEqual(key[:bits // 8], key[bits // 8:])

    def test_hex_keys_are_hex_digits_and_a_newline(self):
        for flags, digits in ((["--key-bits", "128"], 32), ([], 64), (["--mode", "xts"], 128)):
            text = self.make("--hex", *flags).decode()
            self.assertRegex(text, rf"\A[0-9a-f]{{{digits}}}\n\Z")

    def test_quiet_as_other_verbs(self):
        self.assertEqual(len(self.make("-q")), 32)
        self.fails(2, "keygen", "-q", "-o", "k", says="it exists already")

    def test_generated_keys_differ(self):
        self.assertEqual(len({self.make() for _ in range(5)}), 5)

    def test_key_file_has_mode_0600_whatever_the_umask(self):
        for mask in (0, 0o022, 0o777):
            old = os.umask(mask)
            try:
                self.make()
            finally:
                os.umask(old)
            self.assertEqual(stat.S_IMODE(self.path("k").stat().st_mode), 0o600)

    def test_existing_names_are_never_overwritten(self):
        self.write("k", b"precious")
        os.symlink("nowhere", self.path("link"))
        self.path("folder").mkdir()
        for name in ("k", "link", "folder"):
            with self.subTest(name=name):
                self.fails(2, "keygen", "-o", name, says="exists")
        self.assertEqual(self.read("k"), b"precious")
        self.assertEqual(self.names(), ["folder", "k", "link"])

    def test_bad_flags_and_missing_folders_are_refused(self):
        self.fails(2, "keygen", says="-o")
        self.fails(2, "keygen", "-o", "", says="-o")
        self.fails(2, "keygen", "--key-bits", "100", "-o", "k", says="128, 192 or 256")
        self.fails(2, "keygen", "--key-bits", "x", "-o", "k", says="key-bits")
        self.fails(2, "keygen", "--key-bits", "192", "--mode", "xts", "-o", "k", says="AES-192-XTS")
        self.fails(2, "keygen", "--mode", "cfb", "-o", "k", says="cfb")
        self.fails(1, "keygen", "-o", "no/such/folder/k", says=["no/such/folder/k", "No such file"])
        self.assertEqual(self.names(), [])

    def test_o_dash_writes_the_key_to_standard_output(self):
        self.assertEqual(len(self.ok("keygen", "-o", "-")), 32)

    def test_generated_keys_encrypt_and_decrypt(self):
        for flags, use in (([], ["--mode", "ecb"]), (["--hex"], ["--mode", "ecb"]),
                           (["--mode", "xts"], ["--mode", "xts"]),
                           (["--mode", "xts", "--hex"], ["--mode", "xts"])):
            self.make(*flags)
            made = self.ok("encrypt", "--format", "raw", *use, "--key-file", "k", "-",
                           stdin=b"some text to encrypt")
            self.assertEqual(self.ok("decrypt", "--format", "raw", *use, "--key-file", "k", "-",
                                     stdin=made), b"some text to encrypt")
