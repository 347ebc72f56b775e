"""Behaviour on a terminal: prompts, refused binary output, the progress bar and warnings."""

import array
import fcntl
import json
import os
import re
import signal
import subprocess
import termios
import time

from support import IV, KEYS, Case, Screen, Terminal, pattern

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex(), "--key-file", "k"]
SALTED = ["--format", "openssl"]
DELAY = 0.5  # seconds before the bar appears


class Prompts(Case):
    GIVEN = {"f": b"some text"}

    def test_encrypt_asks_for_the_passphrase_twice_without_echo(self):
        terminal = Terminal(self, "encrypt", *SALTED, "f")
        terminal.expect(b"Passphrase: ")
        self.assertFalse(terminal.echoes())
        terminal.type(b"open sesame\n")
        between = terminal.answer(b"The same again: ", b"open sesame\n")
        shown = terminal.ends()
        self.assertNotIn(b"sesame", between + shown)
        self.assertTrue(terminal.echoes())
        made = self.read("f.paes")
        self.assertEqual(self.openssl("enc", "-d", "-aes-256-cbc", "-pbkdf2", "-pass",
                                      "pass:open sesame", stdin=made), b"some text")

    def test_decrypt_asks_for_the_passphrase_once(self):
        made = self.openssl("enc", "-aes-256-cbc", "-pbkdf2", "-pass", "pass:word", stdin=b"text")
        self.write("g.paes", made)
        terminal = Terminal(self, "decrypt", *SALTED, "g.paes")
        terminal.answer(b"Passphrase: ", b"word\n")
        self.assertNotIn(b"again", terminal.ends())
        self.assertEqual(self.read("g"), b"text")

    def test_empty_missing_or_different_passphrases_are_refused(self):
        for text, says in ((b"\n", b"empty"), (b"\x04", b"no passphrase"), (b"one\n", b"differ")):
            terminal = Terminal(self, "encrypt", *SALTED, "f")
            terminal.answer(b"Passphrase: ", text)
            if says == b"differ":
                terminal.answer(b"again: ", b"two\n")
            self.assertIn(says, terminal.ends(2))
            self.assertTrue(terminal.echoes())
            self.assertEqual(self.names(), ["f"])


class Output(Case):
    GIVEN = {"k": KEYS[256], "f": pattern(100)}

    def test_binary_output_to_a_terminal_is_refused(self):
        for args in (["-c", "f"], ["-"]):
            shown = Terminal(self, "encrypt", *CTR, *args, stdin=subprocess.DEVNULL).ends(2)
            self.assertIn(b"terminal", shown)
            self.assertIn(b"-o -", shown)

    def test_o_dash_allows_output_to_a_terminal(self):
        self.write("text", self.ok("encrypt", *CTR, "-", stdin=b"plain words"))
        shown = Terminal(self, "decrypt", *CTR, "-o", "-", "text").ends()
        self.assertIn(b"plain words", shown)

    def test_table_kernels_warn_only_on_a_terminal(self):
        for kernel in ("ttable", "reference"):
            # A bar would be right where a run takes long.
            args = ["encrypt", *CTR, "--no-progress", "--kernel", kernel, "-f", "f"]
            self.assertRegex(Terminal(self, *args).ends(), rb"\A[^\n]*warning[^\n]*\n\Z")
            self.assertEqual(Terminal(self, *args, "-q").ends(), b"")
            self.assertEqual(self.run_paraes(*args).stderr, b"")
        args = ["encrypt", *CTR, "--no-progress", "--kernel", "openssl", "-f", "f"]
        self.assertEqual(Terminal(self, *args).ends(), b"")

    def wait_until_taken(self, terminal, data):
        """Writes to the run's standard input, a pipe, until the run has read all of `data`."""
        terminal.process.stdin.write(data)
        terminal.process.stdin.flush()
        left = array.array("i", [1])

        def taken():
            self.assertIsNone(terminal.process.poll(), terminal.seen)
            fcntl.ioctl(terminal.process.stdin, termios.FIONREAD, left)
            return left[0] == 0

        self.wait_for(taken, "the run to read its input")

    def slow(self, *flags, until=None):
        """Runs for longer than the delay of the progress bar, and until `until` was shown; returns
        what the terminal showed."""
        terminal = Terminal(self, "encrypt", *CTR, *flags, "-", stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL)
        self.wait_until_taken(terminal, pattern(5 << 20))
        if until is None:
            end = time.monotonic() + DELAY + 0.3
            while time.monotonic() < end:
                terminal.read_some(0.02)
        else:
            self.wait_for(lambda: terminal.read_some() and until in terminal.seen, until)
        terminal.process.stdin.write(pattern(9 << 20))
        terminal.process.stdin.close()
        return terminal.ends()

    def test_long_runs_show_a_progress_bar(self):
        shown = self.slow(until=b"\r")
        self.assertRegex(shown, rb"\r[0-9.]+ MB  [0-9.]+ .B/s")

    def test_q_and_no_progress_hide_the_progress_bar(self):
        for flag in ("-q", "--no-progress"):
            self.assertEqual(self.slow(flag), b"")

    def test_data_on_the_terminal_hides_the_progress_bar(self):
        terminal = Terminal(self, "encrypt", *CTR, "-o", "-", "-", stdin=subprocess.PIPE)
        self.wait_until_taken(terminal, b"abc")
        time.sleep(DELAY + 0.2)
        terminal.process.stdin.close()
        status, shown = terminal.finish()
        self.assertEqual((status, len(shown)), (0, 3), shown)


BYTES = 9 << 20
AMOUNT = "9.44 MB"
BAR = r"\[#* *\] +\d+ %"


class Bar(Case):
    """The progress bar of runs that wait for the reader of their output, a named pipe."""

    GIVEN = {"k": KEYS[256], "f": pattern(BYTES)}

    def setUp(self):
        super().setUp()
        os.mkfifo(self.path("pipe"))

    def halted(self, *flags, args=("encrypt", *CTR), source="f", columns=80):
        """Starts a run that has drawn its bar and waits, with half of its output read."""
        terminal = Terminal(self, *args, "-f", "--progress", *flags, "-o", "pipe", source,
                            columns=columns)
        terminal.pipe = os.fdopen(os.open(self.path("pipe"), os.O_RDONLY), "rb")
        self.addCleanup(terminal.pipe.close)
        terminal.pipe.read(BYTES // 2)
        self.wait_for_draws(terminal)
        return terminal

    def ended(self, terminal, expected=0):
        terminal.pipe.read()
        return terminal.ends(expected)

    def wait_for_draws(self, terminal, count=2):
        start = len(terminal.seen)
        self.wait_for(lambda: terminal.read_some() and
                      terminal.seen.count(b"\r", start) >= count, "the bar")

    def test_bar_fits_every_width(self):
        for columns in (200, 80, 60, 40, 30, 20, 16, 12, 10, 6, 2, 1):
            with self.subTest(columns=columns):
                shown = self.ended(self.halted(columns=columns))
                screen = Screen(shown, columns)
                self.assertFalse(screen.wrapped, shown)
                self.assertEqual(len(screen.rows), 2, shown)  # the last state and an empty row
                if columns >= 5:
                    self.assertRegex(screen.rows[0], r"\b100 %")
                self.assertLess(screen.longest, columns)
                self.assertLess(screen.longest, 80)
                if columns == 10:  # the percentage alone
                    for line in re.split(rb"\x1b\[K|\r|\n", shown):
                        self.assertRegex(line, rb"\A(\d+ %)?\Z")

    def test_last_state_stays_on_a_line_before_other_output(self):
        shown = self.ended(self.halted("--json"))
        rows = Screen(shown, 1000).rows
        self.assertRegex(rows[0], rf"^\[#{{24}}\] 100 %  {AMOUNT}  [0-9.]+ .?B/s  in [0-9.]+ s$")
        self.assertEqual(json.loads(rows[1])["status"], "ok")
        self.assertEqual(rows[2:], [""])
        self.assertIn(b" of 9.44 MB", shown)
        self.assertNotIn(b"iB", shown)  # decimal units only

    def test_error_leaves_nothing_of_the_bar(self):
        self.ok("encrypt", "--key-file", "k", "f")
        self.damage("f.paes", -1)
        shown = self.ended(self.halted("-q", args=("decrypt", "--key-file", "k"), source="f.paes"), 4)
        self.assertRegex(shown.decode(), BAR)
        rows = Screen(shown, 1000).rows
        self.assertEqual(len(rows), 2, rows)
        self.assertRegex(rows[0], "^paraes: ")

    def test_fatal_signal_leaves_nothing_of_the_bar(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            terminal = self.halted()
            terminal.process.send_signal(number)
            shown = terminal.ends(128 + number)
            self.assertEqual(Screen(shown, 80).rows, [""], shown)

    def test_messages_and_json_have_whole_lines_beside_the_bar(self):
        names = [self.write(f"small{i}", pattern(5000 + i)) for i in range(40)]
        for threads in ("1", "4"):
            shown = Terminal(self, "encrypt", "--progress", "-v", "--json", "-T", threads,
                             "--key-file", "k", "-o", "out" + threads, *names, "f", "missing",
                             columns=80).ends(3)
            rows = Screen(shown, 10000).rows
            self.assertEqual(rows.pop(), "")
            self.assertRegex(rows.pop(), r'^\{"files":41,')
            self.assertRegex(rows.pop(), r"^paraes: 41 files encrypted, 9\.64 MB in .*; 1 failed$")
            self.assertRegex(rows.pop(), rf"^{BAR}  9\.64 MB  ")
            self.assertEqual(sum(row.startswith("{") for row in rows), 42)
            for row in rows:
                self.assertRegex(row, r"^(paraes: [^\[]*|\{.*\})$")


class PromptsAndTheBar(Case):
    GIVEN = {"f": pattern(BYTES), "g": pattern(BYTES // 9)}

    def test_prompt_and_messages_have_lines_of_their_own(self):
        prompt = b"Passphrase: "
        for what, status in ((b"\x04", 2), (signal.SIGINT, 130), (signal.SIGTERM, 143)):
            terminal = Terminal(self, "encrypt", "f", columns=80)
            shown = terminal.expect(prompt) + prompt
            terminal.process.send_signal(signal.SIGUSR1)
            shown += terminal.expect(prompt) + prompt
            if isinstance(what, bytes):
                terminal.type(what)
            else:
                terminal.process.send_signal(what)
            ended, rest = terminal.finish()
            rows = Screen(shown + rest, 200).rows
            with self.subTest(what=what):
                self.assertEqual(ended, status)
                self.assertTrue(terminal.echoes())
                self.assertEqual(self.names(), ["f", "g"])
                self.assertRegex(rows.pop(0), "^paraes: nothing processed yet")
                self.assertEqual(rows.pop(0), prompt.decode())
                self.assertEqual(rows.pop(), "")
                self.assertEqual(rows, ["paraes: f: no passphrase was typed"] if status == 2 else [])

    def test_prompt_hides_the_bar(self):
        terminal = Terminal(self, "encrypt", "--progress", "--scrypt-log2n", "10", "f", columns=80)
        shown = terminal.expect(b"Passphrase: ")
        self.assertEqual(Screen(shown, 80).rows, [""])
        self.assertFalse(terminal.read_some(0.5), terminal.seen)  # a bar would be drawn five times
        terminal.type(b"word\n")
        terminal.answer(b"The same again: ", b"word\n")
        terminal.ends()

    def test_prompt_hides_the_bar_while_another_file_is_opened(self):
        os.mkfifo(self.path("pipe"))
        terminal = Terminal(self, "encrypt", "--progress", "-T", "2", "--scrypt-log2n", "10", "pipe",
                            "g", columns=80)
        terminal.expect(b"Passphrase: ")
        self.assertFalse(terminal.read_some(0.5), terminal.seen)
        terminal.type(b"word\n")
        terminal.answer(b"The same again: ", b"word\n")
        self.write("pipe", b"data")
        terminal.ends()


class Bench(Case):
    def test_signal_leaves_nothing_of_the_status_line(self):
        for scope in ("memory", "file"):
            terminal = Terminal(self, "bench", "--scope", scope, "--samples", "10000", "--dir", ".",
                                columns=80)
            terminal.expect(b"\r")
            terminal.seen = b"\r" + terminal.seen
            terminal.process.send_signal(signal.SIGINT)
            shown = terminal.ends(130)
            self.assertEqual(Screen(shown, 80).rows, [""])
