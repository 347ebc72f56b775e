"""--format openssl against `openssl enc -pbkdf2`, in both directions."""

import subprocess

from support import DEADLINE, Case, Terminal, environment, pattern

SIZES = (0, 1, 15, 16, 17, 4095, 4096, 4097, (4 << 20) + 17)
SALTED = ["--format", "openssl"]
WORD = "correct horse"


class OpensslFormat(Case):
    GIVEN = {"pw": WORD.encode() + b"\n"}

    def encrypt(self, *flags, **kwargs):
        return self.ok("encrypt", *SALTED, "--passphrase-file", "pw", *flags, **kwargs)

    def decrypt(self, *flags, **kwargs):
        return self.ok("decrypt", *SALTED, "--passphrase-file", "pw", *flags, **kwargs)

    def enc(self, cipher, data, *flags):
        return self.openssl("enc", f"-aes-{cipher}", "-pbkdf2", "-pass", f"pass:{WORD}", *flags,
                            stdin=data)

    def test_default_is_aes_256_cbc_with_10000_iterations(self):
        for size in SIZES:
            data = pattern(size)
            with self.subTest(size=size):
                self.assertEqual(self.enc("256-cbc", self.encrypt("-", stdin=data), "-d"), data)
                self.assertEqual(self.decrypt("-", stdin=self.enc("256-cbc", data)), data)

    def test_modes_key_sizes_and_iterations_agree_with_openssl(self):
        data = pattern(100003)
        for mode in ("cbc", "ctr"):
            for bits in (128, 192, 256):
                for rounds in (1, 777):
                    with self.subTest(mode=mode, bits=bits, rounds=rounds):
                        ours = ["--mode", mode, "--key-bits", bits, "--iter", rounds, "-"]
                        theirs = [f"{bits}-{mode}"]
                        made = self.encrypt(*ours, stdin=data)
                        self.assertEqual(self.enc(*theirs, made, "-iter", rounds, "-d"), data)
                        made = self.enc(*theirs, data, "-iter", rounds)
                        self.assertEqual(self.decrypt(*ours, stdin=made), data)

    def test_files_agree_with_openssl(self):
        data = pattern(70001)
        self.write("f", data)
        self.encrypt("f")
        self.assertEqual(self.enc("256-cbc", self.read("f.paes"), "-d"), data)
        self.path("f").unlink()
        self.decrypt("f.paes")
        self.assertEqual(self.read("f"), data)

    def weak(self, *args):
        """Runs paraes, which has to say that the derivation is weak, and returns its output."""
        done = self.exits(0, *args, "--passphrase-file", "pw", "-", stdin=self.data)
        self.assertIn(b"is weak", done.stderr)
        return done.stdout

    def test_other_derivations_agree_with_openssl(self):
        self.data = data = pattern(1003)
        for digest in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512"):
            for kdf, theirs in (("evp", []), ("pbkdf2", ["-pbkdf2"])):
                for bits, mode in ((128, "ctr"), (192, "cbc"), (256, "cbc")):
                    with self.subTest(digest=digest, kdf=kdf, bits=bits):
                        enc = ["enc", f"-aes-{bits}-{mode}", *theirs, "-md", digest, "-pass", f"pass:{WORD}"]
                        ours = ["--kdf", kdf, "--digest", digest, "--key-bits", bits, "--mode", mode]
                        made = self.encrypt("-q", *ours, "-", stdin=data)
                        self.assertEqual(self.openssl(*enc, "-d", stdin=made), data)
                        made = self.openssl(*enc, stdin=data)
                        self.assertEqual(self.decrypt("-q", *ours, "-", stdin=made), data)
        for flags in (["--kdf", "evp"], ["--digest", "md5"], ["--digest", "sha1"]):
            self.weak("encrypt", *SALTED, *flags)
        self.assertNotIn(b"weak", self.exits(0, "encrypt", *SALTED, "--digest", "sha512",
                                             "--passphrase-file", "pw", "-", stdin=data).stderr)

    def test_a_wrong_derivation_is_named_with_what_helps(self):
        for theirs, tried, flags in ((["-md", "md5"], "PBKDF2 with sha256 and 10000 iterations", []),
                                     (["-pbkdf2", "-md", "sha512"], "EVP_BytesToKey with sha1",
                                      ["--kdf", "evp", "--digest", "sha1"])):
            # One wrong key in 256 yields valid padding.
            for _ in range(20):
                made = self.openssl("enc", "-aes-256-cbc", *theirs, "-pass", f"pass:{WORD}", stdin=b"data")
                done = self.run_paraes("decrypt", *SALTED, "--passphrase-file", "pw", *flags, "-", stdin=made)
                if done.returncode != 0:
                    break
            self.assertEqual(done.returncode, 4, done)
            for says in (tried, "--kdf evp", "--digest"):
                self.assertIn(says, done.stderr.decode())

    def test_base64_is_read(self):
        for size in (0, 1, 31, 32, 33, 47, 48, 49, 100, 65535, 1 << 20):
            data = pattern(size)
            for flags in (["-a"], ["-a", "-A"]):
                with self.subTest(size=size, flags=flags):
                    made = self.enc("256-cbc", data, *flags)
                    for text in (made, made.rstrip(b"\n"), made.replace(b"\n", b"\r\n") + b"\n \n"):
                        self.assertEqual(self.decrypt("-", stdin=text), data)
        self.write("f.paes", self.enc("256-ctr", data, "-a"))
        self.decrypt("--mode", "ctr", "f.paes")
        self.assertEqual(self.read("f"), data)

    def test_damaged_base64_is_refused(self):
        text = self.enc("256-cbc", pattern(5000), "-a")
        for damaged, says in ((text[:-3], "within four"), (text + b"U2Fs", "follow its end"),
                              (text[:100] + b"*" + text[101:], "other characters"),
                              (text[:100] + b"-" + text[101:], "other characters"),
                              (text[:100] + b"=" + text[101:], ""), (text[:30], "within four"),
                              (text[:16], "ends within its header"), (b"U2FsdGVkX1", "within four")):
            with self.subTest(says=says, size=len(damaged)):
                self.write("f.paes", damaged)
                self.fails(4, "decrypt", *SALTED, "--passphrase-file", "pw", "f.paes", says=says)
                self.assertNotIn("f", self.names())

    def test_every_encryption_has_another_salt(self):
        made = [self.encrypt("-", stdin=b"x") for _ in range(3)]
        self.assertEqual(len(set(made)), 3)
        for one in made:
            self.assertEqual(one[:8], b"Salted__")

    # Contents of a passphrase file, or what a command prints.
    LINES = (b"abc", b"abc\n", b"abc\r\n", b"abc\ndef\n", b"abc\n\n", b"a\rb\n", b" abc  \n",
             b"\r\n", "z\u00fcrich\n".encode(), b"\x9b\xff\n", b"w" * 1023, b"w" * 1023 + b"\n",
             b"w" * 1022 + b"\r\n", b"abc\n" + bytes(9) + b"w" * 3000)

    def agree(self, ours, theirs, **kwargs):
        """Checks that `ours` and the -pass argument `theirs` give one passphrase, both ways."""
        enc = ["openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-pass", theirs]

        def openssl(*flags, stdin):
            done = subprocess.run([*enc, *flags], cwd=self.dir, input=stdin, capture_output=True,
                                  env=environment(**kwargs.get("env", {})), timeout=DEADLINE)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        made = self.ok("encrypt", *SALTED, *ours, "-", stdin=b"a text", **kwargs)
        self.assertEqual(openssl("-d", stdin=made), b"a text")
        made = openssl(stdin=b"a text")
        self.assertEqual(self.ok("decrypt", *SALTED, *ours, "-", stdin=made, **kwargs), b"a text")

    def test_passphrase_is_the_first_line_as_openssl_takes_it(self):
        for contents in self.LINES:
            with self.subTest(contents=contents):
                self.write("p", contents)
                self.agree(["--passphrase-file", "p"], "file:p")
                self.agree(["--passphrase-command", "cat p"], "file:p")
                for source in ("p", "<(cat p)"):
                    made = self.shell(f'"$@" 3< {source}', "encrypt", *SALTED, "--passphrase-fd", 3,
                                      "-", stdin=b"a text").stdout
                    self.assertEqual(self.openssl("enc", "-d", "-aes-256-cbc", "-pbkdf2", "-pass",
                                                  "file:p", stdin=made), b"a text")

    def test_passphrase_from_a_variable_is_its_whole_value(self):
        for value in ("abc", "abc\n", "abc\r\n", "\nabc", "abc\ndef", " a ", "w" * 1024, "w" * 3000):
            with self.subTest(value=value):
                self.agree(["--passphrase-env", "W"], "env:W", env={"W": value})

    def test_passphrases_that_openssl_would_cut_are_refused(self):
        for contents, says in ((b"w" * 1024, "1024 bytes"), (b"w" * 1024 + b"\n", "1024 bytes"),
                               (b"w" * 1023 + b"\r\n", "1024 bytes"), (b"ab\0c\n", "NUL byte"),
                               (b"\0", "NUL byte"), (b"\nabc\n", "it is empty"),
                               (b"\n", "it is empty"), (b"", "the passphrase is empty")):
            self.write("p", contents)
            for verb in ("encrypt", "decrypt"):
                self.fails(2, verb, *SALTED, "--passphrase-file", "p", "-",
                           stdin=b"Salted__" + bytes(24), says=says)
        # The paraes format takes them.
        self.write("p", b"w" * 1024)
        self.ok("encrypt", "--scrypt-log2n", "1", "--passphrase-file", "p", "-", stdin=b"x")

    def test_passphrase_from_the_prompt_is_what_openssl_takes(self):
        for typed, word in ((b" a b \n", b" a b "), (b"a\x16\rb\x16\r\n", b"a\rb\r")):
            terminal = Terminal(self, "encrypt", *SALTED, "-q", "-", stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
            terminal.answer(b"Passphrase: ", typed)
            terminal.answer(b"again: ", typed)
            terminal.process.stdin.write(b"a text")
            terminal.process.stdin.close()
            made = terminal.process.stdout.read()
            terminal.ends()
            self.write("word", word)
            self.assertEqual(self.openssl("enc", "-d", "-aes-256-cbc", "-pbkdf2", "-pass",
                                          "file:word", stdin=made), b"a text")

    def test_unauthenticated_note_is_printed_once_and_not_with_q(self):
        note = b"not authenticated"
        for verb, data in (("encrypt", b"abc"), ("decrypt", self.enc("256-cbc", b"abc"))):
            flags = [verb, *SALTED, "--passphrase-file", "pw", "-"]
            self.assertEqual(self.run_paraes(*flags, stdin=data).stderr.count(note), 1)
            self.assertEqual(self.run_paraes(*flags, "-q", stdin=data).stderr, b"")

    def test_wrong_passphrase_fails_and_leaves_no_output(self):
        self.write("f.paes", self.enc("256-cbc", pattern(4096)))
        self.write("wrong", b"incorrect horse")
        # About one wrong key in 256 yields valid padding, depending on the random salt: try again.
        for _ in range(20):
            self.write("f.paes", self.enc("256-cbc", pattern(4096)))
            done = self.run_paraes("decrypt", *SALTED, "--passphrase-file", "wrong",
                                   "-o", "g", "f.paes")
            if done.returncode == 4:
                break
            self.path("g").unlink()
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"passphrase", done.stderr)
        self.assertEqual(self.names(), ["f.paes", "pw", "wrong"])

    def test_input_without_salted_header_is_refused(self):
        for data in (b"", b"Salted_", b"salted__12345678" + bytes(16), bytes(64)):
            with self.subTest(data=data[:16]):
                self.fails(4, "decrypt", *SALTED, "--passphrase-file", "pw", "-",
                           stdin=data, says=["Salted__", "needs --format raw"])

    def test_truncated_input_is_refused(self):
        whole = self.enc("256-cbc", pattern(100))
        for size, says in ((8, "header"), (15, "header"), (16, "empty"), (17, "16-byte"),
                           (len(whole) - 1, "16-byte")):
            with self.subTest(size=size):
                self.write("f.paes", whole[:size])
                self.fails(4, "decrypt", *SALTED, "--passphrase-file", "pw", "f.paes",
                           says=says)
                self.assertNotIn("f", self.names())

    def test_openssl_format_must_be_named(self):
        for flags, name in ([], '"Salted__", as'), (["-a"], '"Salted__" in base64'):
            self.fails(2, "decrypt", "--passphrase-file", "pw", "-",
                       stdin=self.enc("256-cbc", b"abc", *flags), says=[name, "--format openssl"])

    def test_flags_of_other_formats_are_refused(self):
        for flags in (["--mode", "xts"], ["--mode", "ecb"], ["--iv-hex", "00" * 16], ["--nopad"],
                      ["--unit", "512"], ["--iter", "0"], ["--iter", "-1"], ["--iter", "x"],
                      ["--iter", "2147483648"], ["--key-bits", "100"],
                      ["--kdf", "scrypt"], ["--digest", "sha3"], ["--iter", "5", "--kdf", "evp"]):
            with self.subTest(flags=flags):
                self.fails(2, "encrypt", *SALTED, "--passphrase-file", "pw", *flags,
                           "-", stdin=b"x", says=flags[0].lstrip("-") if flags[0] != "--mode"
                           else "modes cbc and ctr")
