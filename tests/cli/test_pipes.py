"""Pipes whose reader takes its time, keeps what it takes, or goes away."""

import contextlib
import ctypes
import fcntl
import os
import select
import threading
import time
import unittest
import unittest.mock

from support import DEADLINE, KEYS, Case, pattern, restore_signals

KEY = ["-k", "k"]
# Data that is not authenticated goes through another part of the program.
RAW = ["--format", "raw", "--mode", "ctr", "--iv-hex", "00" * 16, *KEY]
RAW_CBC = ["--format", "raw", "--mode", "cbc", "--iv-hex", "00" * 16, *KEY]
OPENSSL = ["--format", "openssl", "--passphrase-file", "p"]
PIPE_BYTES = 1 << 20
# Linux's fcntl, which Python names from 3.10 on.
F_SETPIPE_SZ = 1031
PR_SET_THP_DISABLE = 41


class Pipes(Case):
    GIVEN = {"k": KEYS[256], "p": b"secret"}
    # Many times what two pipes hold, and no chunk like another.
    data = pattern(24 << 20)

    def started(self, verb, data, flags=KEY):
        """Starts a run that reads `data` from a pipe, and returns it with the end of its output."""
        end, its_end = os.pipe()
        run = self.start(verb, "-q", *flags, stdin=-1, stdout=its_end)
        os.close(its_end)

        def feed():
            with contextlib.suppress(BrokenPipeError):
                run.stdin.write(data)
            with contextlib.suppress(BrokenPipeError):
                run.stdin.close()  # writes what it still held

        feeder = threading.Thread(target=feed)
        feeder.start()
        self.addCleanup(feeder.join)
        return run, end

    def kept(self, verb, data, flags):
        """The output of a run, whose pages wait in other pipes until the run has ended."""
        run, end = self.started(verb, data, flags)
        pipes = []
        moved = None
        while moved != 0:
            select.select([end], [], [])  # data, or the end of the run
            try:
                moved = os.splice(end, pipes[-1][1], PIPE_BYTES) if pipes else None
            except BlockingIOError:
                moved = None  # that pipe is full
            if moved is None:
                pipes.append(os.pipe())
                fcntl.fcntl(pipes[-1][1], F_SETPIPE_SZ, PIPE_BYTES)
                # Splice then takes what there is room for, and does not wait for more.
                os.set_blocking(pipes[-1][1], False)
        os.close(end)
        self.assertEqual(run.wait(), 0)
        run.stderr.close()
        text = bytearray()
        for pipe_end, pipe in pipes:
            os.close(pipe)
            with open(pipe_end, "rb") as file:
                text += file.read()
        return bytes(text)

    @unittest.skipUnless(hasattr(os, "splice"), "Python has os.splice from 3.10 on")
    def test_a_reader_that_keeps_pages_keeps_their_bytes(self):
        for flags in KEY, RAW, RAW_CBC, OPENSSL:
            with self.subTest(flags):
                sealed = self.kept("encrypt", self.data, flags)
                self.assertEqual(self.ok("decrypt", "-q", *flags, stdin=sealed), self.data)
                self.assertEqual(self.kept("decrypt", sealed, flags), self.data)

    def check_sealed(self, flags, read):
        """Checks the output of a run, which read(file) reads."""
        run, end = self.started("encrypt", self.data, flags)
        with open(end, "rb", buffering=0) as pipe:
            sealed = read(pipe)
        self.assertEqual(run.wait(), 0)
        run.stderr.close()
        self.assertEqual(self.ok("decrypt", "-q", *flags, stdin=sealed), self.data)

    def test_a_slow_reader_gets_everything(self):
        def slowly(pipe):
            sealed = bytearray()
            while piece := pipe.read(777_777):
                sealed += piece
                time.sleep(0.001)
            return bytes(sealed)

        for flags in KEY, RAW:
            self.check_sealed(flags, slowly)

    def test_without_huge_pages_the_same_bytes_come(self):
        libc = ctypes.CDLL(None)

        def forbid_huge_pages():
            restore_signals()
            libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)

        with unittest.mock.patch("support.restore_signals", forbid_huge_pages):
            for flags in KEY, RAW:
                self.check_sealed(flags, lambda pipe: pipe.readall())

    def test_a_reader_that_goes_away_ends_the_run_while_the_input_is_silent(self):
        for flags in KEY, RAW, OPENSSL:
            end, its_end = os.pipe()
            run = self.start("encrypt", "-q", *flags, stdin=-1, stdout=its_end)
            os.close(its_end)
            os.close(end)
            # The input stays open: for all that the run knows, more may come.
            with contextlib.suppress(BrokenPipeError):
                run.stdin.write(self.data[:4 << 20])
                run.stdin.flush()
            self.assertEqual(run.wait(timeout=60), 141)
            with contextlib.suppress(BrokenPipeError):
                run.stdin.close()
            run.stderr.close()



class Trickles(Case):
    """A writer that pauses: what is complete goes on."""

    GIVEN = {"k": KEYS[256], "p": b"secret"}
    data = pattern(100_000)

    def after_pause(self, verb, flags, data, more, expected):
        """The output of a run that gets `data`, then `more` once `expected` bytes have come out."""
        run = self.start(verb, "-q", *flags, stdin=-1, stdout=-1)
        run.stdin.write(data)
        run.stdin.flush()
        got = b""
        end = time.monotonic() + DEADLINE
        while len(got) < expected:
            ready, _, _ = select.select([run.stdout], [], [], end - time.monotonic())
            self.assertTrue(ready, f"{verb} {flags}: {len(got)} of {expected} bytes came")
            got += os.read(run.stdout.fileno(), 1 << 20)
        text, errors = run.communicate(more)
        self.assertEqual(run.returncode, 0, errors)
        return got + text

    def check(self, flags, sealed_by, opened_by, cut):
        """sealed_by: how many bytes the sealed data has at least. cut, opened_by: after how many bytes
        of that its writer pauses, and how many bytes of plaintext then come."""
        with self.subTest(flags=flags):
            sealed = self.after_pause("encrypt", flags, self.data, b"", sealed_by)
            self.assertEqual(self.ok("decrypt", "-q", *flags, stdin=sealed), self.data)
            sealed = self.after_pause("encrypt", flags, self.data[:-7], self.data[-7:], sealed_by)
            self.assertEqual(self.ok("decrypt", "-q", *flags, stdin=sealed), self.data)
            text = self.after_pause("decrypt", flags, sealed[:cut], sealed[cut:], opened_by)
            self.assertEqual(text, self.data)

    def test_complete_segments_go_on(self):
        segment, six = 16384 + 16, 6 * 16384
        # A last segment is shorter, so that one of 16 KiB is complete.
        for flags in KEY, ["--format", "c2sp", *KEY], ["--passphrase-file", "p"]:
            self.check(flags, 6 * segment, six, six - len(self.data) - 16)
        self.data = self.data[:six]
        sealed = self.after_pause("encrypt", KEY, self.data, b"", 6 * segment)
        self.assertEqual(self.ok("decrypt", "-q", *KEY, stdin=sealed), self.data)

    def test_tink_keeps_what_may_be_the_last_segment(self):
        flags = ["--format", "tink", "--segment-size", "4KiB", *KEY]
        # Each holds 4,080 bytes, the first 40 fewer.
        self.check(flags, 24 * 4096, 23 * 4080 - 40, 24 * 4096 + 16)
        self.data = self.data[:24 * 4080 - 40]
        self.check(flags, 23 * 4096, 22 * 4080 - 40, 23 * 4096 + 16)

    def test_complete_blocks_go_on(self):
        raw = ["--format", "raw", "-k", "k", "--mode"]
        iv = ["--iv-hex", "00" * 16]
        for flags, sealed, opened, cut in (
                ([*raw, "ctr", *iv], 99_993, 50_001, 50_001),
                ([*raw, "cbc", *iv], 99_984, 50_000 - 16, 50_000),
                ([*raw, "ecb"], 99_984, 50_000 - 16, 50_001),
                ([*raw, "xts", "--unit", "4KiB"], 24 * 4096, 12 * 4096, 12 * 4096 + 16),
                (OPENSSL, 16 + 99_984, 50_000 - 16, 16 + 50_000)):
            self.check(flags, sealed, opened, cut)
        text = self.openssl("enc", "-aes-256-cbc", "-pbkdf2", "-a", "-pass", "file:p", stdin=self.data)
        # After 1,000 lines, 48,000 bytes have come, of which the header has 16, and one block waits.
        self.assertEqual(self.after_pause("decrypt", OPENSSL, text[:65_000], text[65_000:], 47_968), self.data)
        self.data = self.data[:96_000]
        self.check([*raw, "cbc", *iv, "--nopad"], 95_984, 48_000, 48_000)

    def test_base64_that_never_stops_goes_on(self):
        """Its writer is slow, and no pause is long."""
        text = self.openssl("enc", "-aes-256-ctr", "-pbkdf2", "-a", "-pass", "file:p", stdin=self.data)
        run = self.start("decrypt", "-q", *OPENSSL, "--mode", "ctr", stdin=-1, stdout=-1)
        sent = 0
        end = time.monotonic() + DEADLINE
        while not select.select([run.stdout], [], [], 0.002)[0]:
            self.assertLess(time.monotonic(), end)
            run.stdin.write(text[sent:sent + 65])
            run.stdin.flush()
            sent += 65
        self.assertLess(sent, 20_000)
        plain, errors = run.communicate(text[sent:])
        self.assertEqual((run.returncode, plain), (0, self.data), errors)

    def test_a_log_that_is_encrypted_live_can_be_read_live(self):
        encrypts = self.start("encrypt", "-q", *KEY, stdin=-1, stdout=-1)
        decrypts = self.start("decrypt", "-q", *KEY, stdin=encrypts.stdout, stdout=-1)
        encrypts.stdout.close()
        for _ in range(5):
            encrypts.stdin.write(self.data[:16384])
            encrypts.stdin.flush()
            self.assertEqual(decrypts.stdout.read(16384), self.data[:16384])
        encrypts.stdin.close()
        self.assertEqual(decrypts.stdout.read(), b"")
        self.assertEqual((encrypts.wait(), decrypts.wait()), (0, 0))
        for run in encrypts, decrypts:
            run.stderr.close()
