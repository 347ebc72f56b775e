"""Sources of keys and passphrases, and which keys and passphrases are refused."""

import os
import pathlib
import pty
import select
import subprocess

from support import BIN, IV, KEYS, POSIX_ONLY, Case, end, environment, pattern, restore_signals

XTS = ["--format", "raw", "--mode", "xts"]
CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex()]
SALTED = ["--format", "openssl"]


class KeyFiles(Case):
    def ctr(self, key, data=b"some text"):
        return self.openssl("enc", f"-aes-{8 * len(key)}-ctr", "-K", key.hex(), "-iv", IV.hex(),
                            stdin=data)

    def check(self, contents, key, *flags):
        self.write("k", contents)
        got = self.ok("encrypt", *CTR, "--key-file", "k", *flags, "-", stdin=b"some text")
        self.assertEqual(got, self.ctr(key))

    def refused(self, contents, *flags, says=(), base=CTR):
        self.write("k", contents)
        self.fails(2, "encrypt", *base, "--key-file", "k", *flags, "-", stdin=pattern(64), says=says)

    def test_size_decides_between_raw_and_hex(self):
        for key in KEYS.values():
            key = bytes(range(200, 200 + len(key)))
            self.check(key, key)
            for text in (key.hex(), key.hex().upper()):
                self.check(text.encode() + b"\n", key)
                self.check(text.encode() + b"\r\n", key)
        # This holds for keys that look like another form as well.
        for key in (pattern(15) + b"\n", b"0123456789abcdef0123456789abcd\r\n"):
            self.check(key, key)

    def test_hex_digits_without_a_newline_are_ambiguous(self):
        for base, sizes in ((CTR, (32, 48, 64)), (XTS, (64, 128))):
            for size in sizes:
                self.refused(b"0123456789abcdef" * (size // 16), base=base,
                             says=["--key-encoding hex", "--key-encoding raw"])
        self.check(b"a5" * 16, b"\xa5" * 16, "--key-encoding", "hex")
        self.check(b"a5" * 16, b"a5" * 16, "--key-encoding", "raw")

    def test_keys_that_do_not_match_key_encoding_are_refused(self):
        for contents, encoding, says in ((bytes(17), "raw", "17 bytes"),
                                         (b"zz" * 16, "hex", ["32 bytes", "hex digits"]),
                                         (b"a" * 31, "hex", "hex digits"),
                                         (b"ab" * 20 + b"\n", "hex", "20 bytes"),
                                         (bytes(16), "base64", "raw or hex")):
            self.refused(contents, "--key-encoding", encoding, says=says)

    def test_error_states_the_wrong_size_of_a_key(self):
        for contents, says in ((b"", "0 bytes"), (bytes(15), "15 bytes"), (bytes(17), "17 bytes"),
                               (bytes(33), "33 bytes"), (bytes(64), "64 bytes"),
                               (b"a" * 33, "33 bytes"), (b"zz" * 16 + b"\n", "33 bytes"),
                               (b"ab" * 16 + b"\n\n", "34 bytes"), (b"ab" * 17 + b"\n", "17 bytes"),
                               (bytes(130), "130 bytes"), (bytes(131), "131 bytes"),
                               (bytes(70000), "70000 bytes")):
            with self.subTest(contents=contents[:40]):
                self.refused(contents, says=says)
        for contents, says in ((pattern(16), "16 bytes"), (pattern(24), "24 bytes"),
                               (pattern(48), "AES-192-XTS"),
                               (pattern(48).hex().encode() + b"\n", "AES-192-XTS"),
                               (pattern(96), "96 bytes"), (pattern(65), "65 bytes")):
            with self.subTest(mode="xts", size=len(contents)):
                self.refused(contents, base=XTS, says=says)

    def test_equal_xts_key_halves_are_refused(self):
        for half in (16, 32):
            key = pattern(half) * 2
            for contents in (key, key.hex().encode() + b"\n"):
                self.refused(contents, base=XTS, says="must differ")

    def test_key_bits_must_match_the_key(self):
        self.check(KEYS[192], KEYS[192], "--key-bits", "192")
        self.refused(KEYS[256], "--key-bits", "128", says=["128", "256"])
        self.refused(pattern(64), "--key-bits", "128", base=XTS, says=["128", "256"])
        self.refused(pattern(64), "--key-bits", "192", base=XTS, says="AES-192-XTS")
        self.refused(KEYS[256], "--key-bits", "512", says="128, 192 or 256")

    def test_key_is_read_from_standard_input(self):
        self.write("f", b"some text")
        got = self.ok("encrypt", *CTR, "--key-file", "-", "-c", "f", stdin=KEYS[256])
        self.assertEqual(got, self.ctr(KEYS[256]))
        self.fails(2, "encrypt", *CTR, "--key-file", "-", "-", stdin=KEYS[256],
                   says="standard input")

    def test_key_is_read_from_a_pipe(self):
        self.write("k", KEYS[128])
        done = self.shell('"$@" --key-file <(cat k) -', "encrypt", *CTR, stdin=b"some text")
        self.assertEqual(done.stdout, self.ctr(KEYS[128]))

    def test_missing_or_unreadable_key_file_is_an_error(self):
        self.fails(1, "encrypt", *CTR, "--key-file", "nowhere", "-", stdin=b"x",
                   says=["nowhere", "No such file"])
        self.fails(2, "encrypt", *CTR, "--key-file", ".", "-", stdin=b"x", says="folder")
        if os.getuid() == 0:
            self.skipTest("root can read every file")
        self.write("k", KEYS[128])
        self.path("k").chmod(0)
        self.fails(1, "encrypt", *CTR, "--key-file", "k", "-", stdin=b"x", says="Permission")


class KeyHex(Case):
    def test_key_hex_encrypts_and_warns(self):
        for flag in (["--key-hex", KEYS[128].hex()], ["--key-hex=" + KEYS[128].hex().upper()]):
            done = self.exits(0, "encrypt", *CTR, *flag, "-", stdin=b"abc")
            self.assertIn(b"process list", done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)
            expected = self.openssl("enc", "-aes-128-ctr", "-K", KEYS[128].hex(), "-iv", IV.hex(),
                                    stdin=b"abc")
            self.assertEqual(done.stdout, expected)

    def test_bad_key_hex_is_refused_and_not_printed(self):
        for text, says in (("00" * 15, "15 bytes after decoding its hex digits"), ("00" * 17, "17 bytes"),
                           ("0" * 31, "31 digits"), ("zz" * 16, "not a hex digit"),
                           ("", "no digits")):
            with self.subTest(text=text):
                done = self.fails(2, "encrypt", *CTR, "--key-hex", text, "-", stdin=b"x", says=says)
                self.assertNotIn(b"zz", done.stderr)
        self.fails(2, "encrypt", *CTR, "--key-hex", says="--key-hex")

    def test_key_hex_is_hidden_in_the_process_list(self):
        process = self.start("encrypt", *CTR, "--key-hex", KEYS[128].hex(), "-",
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.assertIn(b"process list", process.stderr.readline())
        try:
            with open(f"/proc/{process.pid}/cmdline", "rb") as f:
                shown = f.read()
        except FileNotFoundError:
            self.skipTest("this system has no /proc/PID/cmdline")
        self.assertIn(b"--key-hex\0" + b"x" * 32, shown)


class OpenFiles(Case):
    def warnings(self, mode, *flags, key=KEYS[128], **kwargs):
        self.path("k").unlink(missing_ok=True)
        self.write("k", key)
        self.path("k").chmod(mode)
        done = self.exits(0, "encrypt", *flags, "-c", "-", stdin=b"x", **kwargs)
        return done.stderr.decode()

    def test_key_that_all_users_can_read_gets_a_warning(self):
        for mode, may in ((0o604, "read"), (0o644, "read"), (0o602, "change")):
            text = self.warnings(mode, "--key-file", "k")
            for part in (f"mode {mode:04o} of the file of --key-file lets all users {may} it",
                         "chmod 600"):
                self.assertIn(part, text)
        for mode in (0o600, 0o400, 0o640, 0o660):
            self.assertEqual(self.warnings(mode, "--key-file", "k"), "")
        self.assertEqual(self.warnings(0o644, "-q", "--key-file", "k"), "")

    def test_passphrase_that_all_users_can_read_gets_a_warning(self):
        cheap = ["--scrypt-log2n", "1"]
        text = self.warnings(0o644, *cheap, "--passphrase-file", "k", key=b"pass")
        self.assertIn("the file of --passphrase-file lets all users read it", text)
        with open(self.path("k"), "rb") as file:
            number = file.fileno()
            text = self.warnings(0o644, *cheap, "--passphrase-fd", str(number), pass_fds=[number],
                                 key=b"pass")
        self.assertIn(f"the file of --passphrase-fd {number} lets all users read it", text)

    def test_pipe_with_a_key_gets_no_warning(self):
        self.write("f", b"x")
        done = self.run_paraes("encrypt", "--key-file", "-", "-c", "f", stdin=KEYS[128])
        self.assertEqual((done.returncode, done.stderr), (0, b""))


class Memory(Case):
    """A process that forbids core dumps does not own its files in /proc, except for root."""

    def owner_at_work(self, *args, stderr=subprocess.PIPE):
        """The user of a run that waits for input, and the owner of its memory."""
        user = os.geteuid() or 12345
        # The user may not enter the folder of the build.
        self.path("paraes").write_bytes(pathlib.Path(BIN).read_bytes())
        self.path("paraes").chmod(0o755)
        self.dir.chmod(0o755)
        env = environment()
        env.pop("LD_PRELOAD", None)
        try:
            process = subprocess.Popen(
                [self.path("paraes"), *map(str, args)], stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=stderr, env=env, preexec_fn=restore_signals,
                **({} if os.geteuid() else {"user": user, "group": user, "extra_groups": []}))
        except (OSError, subprocess.SubprocessError) as error:
            self.skipTest(f"another user cannot run the program: {error}")
        self.addCleanup(end, process)
        return user, process

    def test_command_with_a_key_writes_no_core_dump(self):
        user, process = self.owner_at_work("encrypt", *CTR, "--key-hex", KEYS[128].hex(), "-")
        self.assertIn(b"process list", process.stderr.readline())  # it has the key
        limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text()
        self.assertRegex(limits, r"Max core file size +0 +0 ")
        if POSIX_ONLY:  # nothing but the limit
            return
        self.assertNotEqual(os.stat(f"/proc/{process.pid}/environ").st_uid, user)

    def test_bench_can_be_inspected(self):
        try:
            shown, terminal = pty.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal (is /dev/pts mounted?): {error}")
        self.addCleanup(os.close, shown)
        self.addCleanup(os.close, terminal)
        user, process = self.owner_at_work("bench", "--size", "16KiB", "--mode", "ecb", "--rivals",
                                           "none", "--min-time", "5", stderr=terminal)
        self.wait_for(lambda: select.select([shown], [], [], 0)[0] or process.poll() is not None,
                      "the status line")
        self.assertIn(b" %  16 KiB", os.read(shown, 4096))  # it measures
        self.assertIsNone(process.poll())
        self.assertEqual(os.stat(f"/proc/{process.pid}/environ").st_uid, user)


class Pairing(Case):
    def test_raw_refuses_passphrases_and_openssl_refuses_keys(self):
        self.write("k", KEYS[128])
        for flags in (["--passphrase-file", "k"], ["--passphrase-env", "HOME"],
                      ["--passphrase-fd", "3"], ["--passphrase-command", "echo x"]):
            self.fails(2, "encrypt", *CTR, *flags, "-", stdin=b"x", says=[flags[0], "raw"])
        for flags in (["--key-file", "k"], ["--key-hex", "00" * 16]):
            self.fails(2, "encrypt", *SALTED, *flags, "-", stdin=b"x", says=[flags[0], "openssl"])

    def test_key_and_passphrase_together_are_refused_where_either_would_do(self):
        self.write("k", KEYS[256])
        keys = (["--key-file", "k"], ["--key-hex", "00" * 32])
        words = (["--passphrase-file", "p"], ["--passphrase-fd", "0"], ["--passphrase-env", "P"],
                 ["--passphrase-command", "echo p"])
        for key in keys:
            for word in words:
                for verb in ("encrypt", "decrypt", "verify"):
                    self.fails(2, verb, *key, *word, "f",
                               says=f"paraes: give one of the two: {key[0]} or {word[0]}")
                for flags in (["--format", "c2sp"], ["--format", "tink"], CTR):
                    self.fails(2, "encrypt", *flags, *key, *word, "f",
                               says=[f"{word[0]} does not go with", "a key: leave it out"])
                self.fails(2, "encrypt", *SALTED, *key, *word, "f",
                           says=[f"{key[0]} does not go with", "a passphrase: leave it out"])
        self.fails(2, "encrypt", *words[0], *words[2], "f",
                   says="give one of the two: --passphrase-file or --passphrase-env")

    def test_key_encoding_needs_a_key_file(self):
        for flags in ([], SALTED, ["--passphrase-file", "p"], ["--key-hex", "00" * 32]):
            self.fails(2, "encrypt", "--key-encoding", "hex", *flags, "f",
                       says="--key-encoding goes with --key-file")

    def test_exactly_one_key_or_passphrase_source_is_required(self):
        self.write("k", KEYS[128])
        self.fails(2, "encrypt", *CTR, "--key-file", "k", "--key-hex", "00" * 16, "-", stdin=b"x",
                   says="one of the two")
        self.fails(2, "encrypt", *SALTED, "--passphrase-file", "k", "--passphrase-env", "HOME", "-",
                   stdin=b"x", says="one of the two")
        self.fails(2, "encrypt", *CTR, "-", stdin=b"x", says=["--key-file", "keygen"])
        self.fails(2, "encrypt", *CTR, "--key-hex", "00" * 16, "--key-encoding", "hex", "-",
                   stdin=b"x", says="--key-encoding")


class Passphrases(Case):
    """test_openssl.py has what each source takes for the passphrase."""

    def decrypts(self, one, two):
        """Whether the paraes format takes both contents of a passphrase file for one passphrase."""
        self.write("one", one)
        self.write("two", two)
        made = self.ok("encrypt", "--scrypt-log2n", "1", "--passphrase-file", "one", "-",
                       stdin=b"text")
        done = self.run_paraes("decrypt", "--passphrase-file", "two", "-", stdin=made)
        self.assertIn(done.returncode, (0, 5), done.stderr)
        return done.returncode == 0

    def test_only_one_newline_is_removed(self):
        for same in (b"abc\n", b"abc\r\n"):
            self.assertTrue(self.decrypts(same, b"abc"))
        for other in (b"abc\n\n", b"abc\r", b"abc\ndef", b"abc ", b"abc\r\r\n"):
            self.assertFalse(self.decrypts(other, b"abc"), other)
        long = b"w" * 2000
        self.assertTrue(self.decrypts(long + b"\n", long))

    def test_passphrase_is_read_from_standard_input(self):
        self.write("f", b"a text")
        made = self.ok("encrypt", *SALTED, "--passphrase-file", "-", "-c", "f", stdin=b"abc\n")
        self.write("p", b"abc")
        self.assertEqual(self.ok("decrypt", *SALTED, "--passphrase-file", "p", "-", stdin=made),
                         b"a text")
        for flags in (["--passphrase-file", "-"], ["--passphrase-fd", "0"]):
            self.fails(2, "encrypt", *SALTED, *flags, "-", stdin=b"abc", says="standard input")

    def test_sources_that_have_no_passphrase_are_errors(self):
        for status, flags, says in (
                (2, ["--passphrase-env", "NO_SUCH_WORD"], "NO_SUCH_WORD"),
                (1, ["--passphrase-command", "echo x; exit 3"], "exit status 3"),
                (1, ["--passphrase-command", "kill -9 $$"], "signal 9")):
            self.fails(status, "encrypt", *SALTED, *flags, "-", stdin=b"x", says=says)

    def test_passphrase_command_does_not_consume_the_data(self):
        made = self.ok("encrypt", *SALTED, "-q", "--passphrase-command",
                       "cat > /dev/null; echo safe", "-", stdin=b"a text")
        self.assertEqual(self.openssl("enc", "-d", "-aes-256-cbc", "-pbkdf2", "-pass", "pass:safe",
                                      stdin=made), b"a text")

    def test_empty_or_too_long_passphrases_are_refused(self):
        for contents in (b"", b"\n", b"\r\n"):
            self.write("p", contents)
            self.fails(2, "encrypt", "--passphrase-file", "p", "-", stdin=b"x", says="empty")
        self.write("p", bytes(70000))
        self.fails(2, "encrypt", *SALTED, "--passphrase-file", "p", "-", stdin=b"x",
                   says="too many for a passphrase")

    def test_passphrase_flags_are_required_without_a_terminal(self):
        self.fails(2, "encrypt", *SALTED, "-", stdin=b"x", says=["terminal", "--passphrase-file"],
                   start_new_session=True)
