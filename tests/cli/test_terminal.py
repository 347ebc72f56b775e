"""Behaviour on a terminal: prompts, refused binary output, the progress bar and warnings."""

import subprocess

from support import IV, KEYS, Case, Terminal, pattern

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex(), "--key-file", "k"]
SALTED = ["--format", "openssl"]


class Prompts(Case):
    def setUp(self):
        super().setUp()
        self.write("f", b"some text")

    def test_encrypt_asks_for_the_passphrase_twice_without_echo(self):
        terminal = Terminal(self, "encrypt", *SALTED, "f")
        terminal.expect(b"Passphrase: ")
        self.assertFalse(terminal.echoes())
        terminal.type(b"open sesame\n")
        between = terminal.expect(b"The same again: ")
        terminal.type(b"open sesame\n")
        status, shown = terminal.finish()
        self.assertEqual(status, 0)
        self.assertNotIn(b"sesame", between + shown)
        self.assertTrue(terminal.echoes())
        made = self.read("f.paes")
        self.assertEqual(self.openssl("enc", "-d", "-aes-256-cbc", "-pbkdf2", "-pass",
                                      "pass:open sesame", stdin=made), b"some text")

    def test_decrypt_asks_for_the_passphrase_once(self):
        made = self.openssl("enc", "-aes-256-cbc", "-pbkdf2", "-pass", "pass:word", stdin=b"text")
        self.write("g.paes", made)
        terminal = Terminal(self, "decrypt", *SALTED, "g.paes")
        terminal.expect(b"Passphrase: ")
        terminal.type(b"word\n")
        status, shown = terminal.finish()
        self.assertEqual(status, 0, shown)
        self.assertNotIn(b"again", shown)
        self.assertEqual(self.read("g"), b"text")

    def test_passphrase_comes_from_the_terminal_while_data_comes_from_a_pipe(self):
        terminal = Terminal(self, "encrypt", *SALTED, "-", stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
        terminal.expect(b"Passphrase: ")
        terminal.type(b"word\n")
        terminal.expect(b"again: ")
        terminal.type(b"word\n")
        terminal.process.stdin.write(b"piped")
        terminal.process.stdin.close()
        made = terminal.process.stdout.read()
        self.assertEqual(terminal.finish()[0], 0)
        self.assertEqual(self.openssl("enc", "-d", "-aes-256-cbc", "-pbkdf2", "-pass", "pass:word",
                                      stdin=made), b"piped")

    def test_passphrases_that_differ_are_refused(self):
        terminal = Terminal(self, "encrypt", *SALTED, "f")
        terminal.expect(b"Passphrase: ")
        terminal.type(b"one\n")
        terminal.expect(b"again: ")
        terminal.type(b"two\n")
        status, shown = terminal.finish()
        self.assertEqual(status, 2)
        self.assertIn(b"differ", shown)
        self.assertEqual(self.names(), ["f"])

    def test_empty_or_missing_passphrase_is_refused(self):
        for text, says in ((b"\n", b"empty"), (b"\x04", b"no passphrase")):
            terminal = Terminal(self, "encrypt", *SALTED, "f")
            terminal.expect(b"Passphrase: ")
            terminal.type(text)
            status, shown = terminal.finish()
            self.assertEqual(status, 2)
            self.assertIn(says, shown)
            self.assertTrue(terminal.echoes())


class Screen(Case):
    def setUp(self):
        super().setUp()
        self.write("k", KEYS[256])
        self.write("f", pattern(100))

    def test_binary_output_to_a_terminal_is_refused(self):
        for args in (["-c", "f"], ["-"]):
            terminal = Terminal(self, "encrypt", *CTR, *args, stdin=subprocess.DEVNULL)
            status, shown = terminal.finish()
            self.assertEqual(status, 2)
            self.assertIn(b"terminal", shown)
            self.assertIn(b"-o -", shown)

    def test_o_dash_allows_output_to_a_terminal(self):
        self.write("text", self.ok("encrypt", *CTR, "-", stdin=b"plain words"))
        terminal = Terminal(self, "decrypt", *CTR, "-o", "-", "text")
        status, shown = terminal.finish()
        self.assertEqual(status, 0)
        self.assertIn(b"plain words", shown)

    def test_table_kernels_warn_only_on_a_terminal(self):
        for kernel in ("ttable", "reference"):
            args = ["encrypt", *CTR, "--kernel", kernel, "-f", "f"]
            status, shown = Terminal(self, *args).finish()
            self.assertEqual(status, 0)
            self.assertEqual(shown.count(b"warning"), 1)
            self.assertEqual(shown.count(b"\n"), 1)
            self.assertEqual(Terminal(self, *args, "-q").finish(), (0, b""))
            self.assertEqual(self.run_paraes(*args).stderr, b"")
        self.assertEqual(Terminal(self, "encrypt", *CTR, "--kernel", "openssl", "-f", "f").finish(),
                         (0, b""))

    def test_short_runs_show_no_progress_bar(self):
        self.assertEqual(Terminal(self, "encrypt", *CTR, "-f", "f").finish(), (0, b""))

    def slow(self, *flags):
        """Runs for longer than the delay of the progress bar; returns what the terminal showed."""
        terminal = Terminal(self, "encrypt", *CTR, *flags, "-", stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL)
        terminal.process.stdin.write(pattern(5 << 20))
        terminal.process.stdin.flush()
        for _ in range(40):
            terminal.read_some(0.02)
        terminal.process.stdin.write(pattern(9 << 20))
        terminal.process.stdin.close()
        status, shown = terminal.finish()
        self.assertEqual(status, 0)
        return shown

    def test_long_runs_show_a_progress_bar(self):
        shown = self.slow()
        self.assertRegex(shown, rb"\r[0-9.]+ MiB  [0-9.]+ .B/s")
        self.assertTrue(shown.endswith(b"\r\x1b[K"))

    def test_q_and_no_progress_hide_the_progress_bar(self):
        for flag in ("-q", "--no-progress"):
            self.assertEqual(self.slow(flag), b"")

    def test_progress_bar_of_a_file_shows_percent_and_eta(self):
        shown = Terminal(self, "encrypt", *CTR, "--progress", "-f", "f").finish()[1]
        self.assertRegex(shown, rb"\[#{24}\] 100 %  100 B of 100 B .*ETA 0:00")
