"""What errors say: they begin with the name of the file they are about."""

import json
import os
import subprocess
import tempfile

from recipients import new_identity
from support import BIN, DEADLINE, KEYS, Case, Terminal, environment, flipped, pattern

KEY = ["--key-file", "k"]
NOT_THERE = "No such file or directory"


class ErrorCase(Case):
    GIVEN = {"k": KEYS[256], "a": b"x"}

    def line(self, status, *args, **kwargs):
        """The one error line of a run that fails with `status`, without `paraes: `."""
        return self.fails(status, *args, **kwargs).line.removeprefix("paraes: ")

    def says(self, text, status, *args, **kwargs):
        self.assertEqual(self.line(status, *args, **kwargs), text)


class ErrorsBeginWithTheName(ErrorCase):
    def test_of_an_input_that_cannot_be_opened(self):
        for verb in ("encrypt", "decrypt", "verify"):
            self.says(f"a.paes: cannot open it: {NOT_THERE}", 1, verb, *KEY, "a.paes")
        self.says(f"a.paes: cannot open it: {NOT_THERE}", 1, "info", "a.paes")

    def test_of_a_url(self):
        hint = (f"{NOT_THERE} (for an object of S3 or another store, take `paraes-objects`: pip install "
                "'paraes[objects]')")
        for args in (["encrypt", *KEY, "s3://b/a"], ["verify", *KEY, "gs://b/a"], ["info", "s3://b/a"],
                     ["encrypt", *KEY, "-c", "s3://b/a"]):
            self.says(f"{args[-1]}: cannot open it: {hint}", 1, *args)
        self.says(f"s3://b/a: cannot open it: {hint}", 3, "encrypt", "-q", "-r", *KEY, "s3://b/a")
        self.says(f"s3://b/a: cannot create it: {hint}", 1, "encrypt", *KEY, "-o", "s3://b/a", "a")

    def test_of_a_secret_that_cannot_be_read(self):
        self.ok("encrypt", *KEY, "-o", "keyed", "a")
        self.ok("encrypt", "--recipient", new_identity(self.path("me")), "-o", "sealed", "a")
        for args in (["encrypt", "--key-file", "no", "a"], ["encrypt", "--passphrase-file", "no", "a"],
                     ["rekey", *KEY, "--to-key-file", "no", "keyed"],
                     ["encrypt", "--recipients-file", "no", "a"], ["decrypt", "-c", "-i", "no", "sealed"]):
            flag = args[-3].replace("-i", "--identity")
            self.says(f"{args[-1]}: {flag} no: cannot open it: {NOT_THERE}", 1, *args)

    def test_of_a_folder_as_input(self):
        self.path("d").mkdir()
        for args in (["encrypt", *KEY, "d"], ["verify", *KEY, "d"], ["info", "d"]):
            self.assertTrue(self.line(2, *args).startswith("d: it is a folder"))

    def test_of_a_damaged_input(self):
        self.write("a", pattern(50000))
        self.ok("encrypt", *KEY, "a")
        self.damage("a.paes", 40000)
        data = self.read("a.paes")
        for args in (["verify", *KEY], ["decrypt", "-c", *KEY]):
            self.assertRegex(self.line(4, *args, "a.paes"), r"\Aa\.paes: segment 2 does not")
            self.assertRegex(self.line(4, *args, "-", stdin=data),
                             r"\Astandard input: segment 2 does not")
        self.write("cut.paes", data[:90])
        self.assertRegex(self.line(4, "info", "cut.paes"), r"\Acut\.paes: the input is truncated")
        self.assertRegex(self.line(4, "info", "-", stdin=data[:20]),
                         r"\Astandard input: the input is truncated")

    def test_also_if_a_short_name_occurs_in_the_text(self):
        # "a" and "is" are in most texts.
        for name in ("a", "is", "e", "the input"):
            self.write(name, b"no message at all")
            self.assertTrue(self.line(2, "verify", *KEY, name).startswith(f"{name}: the input"))
            self.write("b", b"x")
            done = self.run_paraes("verify", *KEY, name, "b")
            lines = sorted(done.stderr.decode().splitlines())
            for file in (name, "b"):
                self.assertTrue(any(line.startswith(f"paraes: {file}: the input does not")
                                    for line in lines), lines)

    def test_of_the_output(self):
        self.write("a.paes", b"old")
        for args in ([], ["-o", "a.paes"]):
            line = self.line(2, "encrypt", *KEY, *args, "a")
            self.assertRegex(line, r"\Aa\.paes: ")
            self.assertEqual(line.count("a.paes"), 1)
        self.path("d").mkdir()
        self.path("d/a.paes").write_bytes(b"old")
        for args in (["a"], ["-r", "a"]):
            line = self.line(2 if len(args) == 1 else 3, "encrypt", "-q", *KEY, "-o", "d", *args)
            self.assertRegex(line, r"\Ad/a\.paes: ")
        line = self.line(1, "encrypt", *KEY, "-o", "no/out", "a")
        self.assertEqual(line, "no/out: cannot create it: No such file or directory")

    def test_of_a_key_file_keyset_or_passphrase_file(self):
        self.write("short", b"123")
        self.path("d").mkdir()
        self.write("set", b"{" + 200 * b" ")
        self.write("long", bytes(70000))
        for flags, beginning in (
                (["--key-file", "short"], "a: --key-file short: the key has 3 bytes; "),
                (["--key-file", "-"], "a: --key-file standard input: the key has 3 bytes; "),
                (["--key-file", "d"], "a: --key-file d: it is a folder"),
                (["--format", "tink", "--key-file", "set"], "a: --key-file set: not a usable Tink keyset: "),
                (["--passphrase-file", "long"], "a: --passphrase-file long: it holds more than ")):
            line = self.line(2, "encrypt", *flags, "a", stdin=b"123")
            self.assertTrue(line.startswith(beginning), line)

    def test_of_folders(self):
        line = self.line(1, "devices", "--compile", "--arch", "sm_90", "-o", "no/d")
        # The compiler is asked first whether it knows the target. It does not run with sanitizers.
        if "nvrtc" in line.lower():
            self.skipTest(f"NVRTC does not work here: {line}")
        self.assertRegex(line, r"\Ano/d: cannot make it: ")

    def test_and_json_has_the_text_without_the_name_of_its_input(self):
        self.write("a", b"no message")
        done = self.run_paraes("verify", "--json", *KEY, "a")
        report = json.loads(done.stdout)
        self.assertEqual(report["input"], "a")
        self.assertTrue(report["status"].startswith("the input does not begin"), report)


class WrongKeys(ErrorCase):
    """The texts name only what the header needs."""

    def test_name_the_key_or_the_passphrase(self):
        self.write("pw", b"one\n")
        self.write("wrong", KEYS[256][::-1], 0o600)
        word = ["--passphrase-file", "pw"]
        self.ok("encrypt", *KEY, "-o", "key.paes", "a")
        self.ok("encrypt", *KEY, "--format", "c2sp", "-o", "c2sp.paes", "a")
        self.ok("encrypt", *word, "--scrypt-log2n", "1", "-o", "word.paes", "a")
        key = "wrong key or context, or a damaged header"
        for flags in (["--key-file", "wrong"], [*KEY, "--context-hex", "00"]):
            self.says(f"key.paes: {key}", 5, "verify", *flags, "key.paes")
            self.says(f"c2sp.paes: {key}", 5, "verify", "--format", "c2sp", *flags, "c2sp.paes")
        self.says("word.paes: wrong passphrase or context, or a damaged header", 5, "verify", *word,
                  "--context-hex", "00", "word.paes")

    def test_bad_padding_names_what_its_format_has(self):
        data = bytes(32)  # not padding under any of these keys
        iv = ["--iv-hex", "00" * 16]
        for flags, suspects in ((["--mode", "ecb"], "key or mode"),
                                (["--mode", "cbc", *iv], "key, IV or mode")):
            line = self.line(4, "decrypt", "--format", "raw", *KEY, *flags, "-", stdin=data)
            self.assertIn(f"standard input: bad padding at the end: a wrong {suspects}, or dam", line)
        self.write("pw", b"one")
        line = self.line(4, "decrypt", "--format", "openssl", "--passphrase-file", "pw", "-",
                         stdin=b"Salted__" + bytes(40))
        self.assertIn("a wrong passphrase, key derivation (PBKDF2 with sha256 and 10000 iterations), key "
                      "size or mode, or damaged", line)
        self.assertIn("--kdf evp", line)


class ForeignFiles(ErrorCase):
    """What other programs made is named, with the command that opens it."""

    def check(self, data, *says):
        self.write("f", data)
        for args in (["decrypt", *KEY, "-c"], ["verify", *KEY], ["info"],
                     ["rekey", *KEY, "--to-key-file", "k"]):
            line = self.line(2, *args, "f")
            for text in says:
                self.assertIn(text, line)

    def test_by_their_first_bytes(self):
        for start, *says in ((b"PK\3\4", "zip", "7z x"), (b"7z\xbc\xaf\x27\x1c", "7z"),
                             (b"RCLONE\0\0", "rclone"), (b"LUKS\xba\xbe\0\2", "cryptsetup"),
                             (b"-----BEGIN PGP MESSAGE-----\n", "gpg -d"),
                             (b"\x85\x01\x0c\x03" + b"\x77" * 8, "gpg -d"),
                             (b"\x84\x5e\x03" + b"\x77" * 8, "gpg -d"),
                             (b"\x8c\x0d\x04\x09\x03\x02", "gpg -d"),
                             (b"\xc3\x2e\x05\x07\x02\x09", "gpg -d"),
                             (b"\xc1\xc0\x4c\x03" + b"\x77" * 8, "gpg -d")):
            self.check(start + bytes(100), *says)

    def test_of_age(self):
        recipient = new_identity(self.path("me"))
        for flags in ([], ["--armor"]):
            made = subprocess.run(["age", *flags, "-r", recipient], input=b"x", capture_output=True).stdout
            self.check(made, "a file of age", "age -d -i IDENTITY")

    def test_others_are_none_of_them(self):
        for data in (b"PK", b"\x85", b"\x85\x01\x0c\x09" + bytes(40), b"\x99\x01\x0c\x04" + bytes(40),
                     b"7zip" + bytes(40), b"age-encryption" + bytes(40), bytes(40), b"\xff" * 40):
            self.write("f", data)
            line = self.line(2, "decrypt", *KEY, "-c", "f")
            self.assertNotIn("looks like", line)


class NamesOnATerminal(ErrorCase):
    """Nothing in a name reaches the terminal that it would obey."""

    NAMES = {  # how each name is shown
        b"esc\x1b[31m": "esc\\x1b[31m", b"new\nline\x7f": "new\\x0aline\\u007f",
        b"bare\x9b31m": "bare\\x9b31m", "c1\u009b31m\u0080".encode(): "c1\\u009b31m\\u0080",
        "bidi\u202egpj.exe".encode(): "bidi\\u202egpj.exe",
        "\u2066i\u2069\u200e\u200f\u061c".encode(): "\\u2066i\\u2069\\u200e\\u200f\\u061c",
        "lines\u2028\u2029".encode(): "lines\\u2028\\u2029",
        "gr\u00fc\u00dfe \u4f60\u597d \U0001f600 e\u0301".encode():
            "gr\u00fc\u00dfe \u4f60\u597d \U0001f600 e\u0301",
        "\u00a0\u07ff\u0800\uffff\U0010ffff".encode(): "\u00a0\u07ff\u0800\uffff\U0010ffff",
        # Overlong, a surrogate, beyond U+10FFFF, cut, and stray continuation bytes.
        b"\xc0\x9b\xe0\x82\x9b": "\\xc0\\x9b\\xe0\\x82\\x9b", b"\xed\xa0\x80": "\\xed\\xa0\\x80",
        b"\xf4\x90\x80\x80\xff": "\\xf4\\x90\\x80\\x80\\xff", b"cut\xe2\x80": "cut\\xe2\\x80",
    }

    def check(self, text, shown):
        self.assertIn(shown.encode(), text)
        for char in text.decode():  # also: all of it is UTF-8
            self.assertTrue(char == "\n" or (char.isprintable() or char == "\u00a0") or
                            char in "\uffff\U0010ffff", ascii(char))

    def test_is_escaped_in_errors_verbose_lines_and_json(self):
        for name, shown in self.NAMES.items():
            with self.subTest(name=name):
                self.check(self.run_bytes("verify", *KEY, name).stderr, f"{shown}: cannot open it")
                (self.dir / os.fsdecode(name)).write_bytes(b"some text")
                done = self.run_bytes("encrypt", "-v", "--json", *KEY, name)
                self.assertEqual(done.returncode, 0)
                self.check(done.stderr, f"{shown} -> {shown}.paes")
                self.check(done.stdout, "input")
                self.assertEqual(json.loads(done.stdout)["input"], name.decode("utf-8", "replace"))

    def test_is_escaped_in_errors_about_keys_and_keysets(self):
        name = "k\u009b\u202e".encode()
        shown = "k\\u009b\\u202e"
        for contents, form in ((b"short", "paraes"), (b"{" + 300 * b" ", "tink")):
            (self.dir / os.fsdecode(name)).write_bytes(contents)
            self.check(self.run_bytes("encrypt", "--format", form, "--key-file", name, "a").stderr,
                       f"a: --key-file {shown}: ")
        self.check(self.run_bytes("info", name).stderr, f"{shown}: ")
        self.check(self.run_bytes("encrypt", "--format", name, *KEY, "a").stderr, shown)

    def run_bytes(self, *args):
        """Runs paraes with arguments that may not be UTF-8."""
        return self.run_paraes(*map(os.fsdecode, args))


class SalvageClaims(ErrorCase):
    """What --salvage says was written, and when."""

    def setUp(self):
        super().setUp()
        self.write("a", pattern(5 * 16384 + 100))
        self.ok("encrypt", *KEY, "a")
        self.sealed = self.read("a.paes")

    def salvage(self, data, *flags, **kwargs):
        self.write("m.paes", data)
        return self.run_paraes("decrypt", *KEY, "--salvage", "--json", *flags, "m.paes", **kwargs)

    def check(self, data, text):
        done = self.salvage(data, "-f", "-o", "out")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr.decode(), f"paraes: m.paes: {text}\n")
        self.assertEqual(json.loads(done.stdout)["status"], text)

    def test_words_a_missing_end_apart_from_zeros(self):
        at = [88 + k * (16384 + 16) for k in range(6)]
        zeros = flipped(flipped(self.sealed, at[1] + 5), at[3] + 5)
        ranges = "written as zeros: 16384 bytes at 16384, 16384 bytes at 49152"
        self.check(zeros, f"not intact; {ranges}")
        end = "the end, from byte 65536 on, is missing or damaged"
        self.check(self.sealed[:at[4]], f"not intact; {end}")
        self.assertEqual(self.path("out").stat().st_size, 65536)
        self.check(zeros[:at[4]], f"not intact; {ranges}; {end}")
        self.check(self.sealed[:at[4] + 17], "not intact; written as zeros: 1 byte at 65536 (more "
                   "may be missing after it)")

    def test_claims_nothing_if_the_output_was_not_written(self):
        with open("/dev/full", "wb") as full:
            done = self.salvage(flipped(self.sealed, 200), "-c", stdout=full)
        self.assertEqual(done.returncode, 1, done.stderr)
        report = json.loads(done.stderr.splitlines()[-1])
        self.assertNotIn(b"zeros", done.stderr)
        self.assertNotIn("bad_ranges", report)
        self.assertEqual(report["exit"], 1)

    def test_claims_nothing_if_the_target_appeared_meanwhile(self):
        data = flipped(self.sealed, 200)
        process = self.start("decrypt", *KEY, "--salvage", "--json", "-o", "out", "-",
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(data[:70000])
        process.stdin.flush()
        self.wait_for(lambda: self.temporaries(process), "the temporary file")
        self.write("out", b"of another process")
        out, err = process.communicate(data[70000:], timeout=DEADLINE)
        self.assertEqual(process.returncode, 2, err)
        self.assertEqual(err.count(b"\n"), 1)
        self.assertTrue(err.startswith(b"paraes: out: it appeared while"), err)
        self.assertNotIn("bad_ranges", json.loads(out))
        self.assertEqual(self.read("out"), b"of another process")


class Advice(ErrorCase):
    """Each flag and command that an error offers is accepted, and helps."""

    GIVEN = {"k": KEYS[256], "a": pattern(50000), "pw": b"word\n"}
    word = ["--passphrase-file", "pw"]

    def scrypt(self, log2n):
        made = bytearray(self.ok("encrypt", *self.word, "--scrypt-log2n", "4", "-c", "a"))
        made[11] = log2n
        return self.write("s.paes", bytes(made))

    def test_max_scrypt_log2n_is_offered_if_it_is_accepted_and_the_memory_is_there(self):
        for verb in ("decrypt", "verify"):
            name = self.scrypt(4)
            sink = ["-c"] if verb == "decrypt" else []
            line = self.line(2, verb, *self.word, "--max-scrypt-log2n", "3", *sink, name)
            self.assertIn("--max-scrypt-log2n 4 accepts it, which takes 16.0 KiB", line)
            self.ok(verb, *self.word, "--max-scrypt-log2n", "4", *sink, name)
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
        self.assertIn("1.0 PiB of memory are more than this machine has",
                      self.line(2, "decrypt", *self.word, "-c", self.scrypt(40)))
        for log2n in (23, 25, 30, 35, 40):
            line = self.line(2, "verify", *self.word, self.scrypt(log2n))
            self.assertIn(f"2^{log2n}", line)
            self.assertIn("of memory", line)
            self.assertEqual("--max-scrypt" in line, 1 << (log2n + 10) < memory, line)
        for log2n in (41, 42, 63, 64, 255):
            line = self.line(2, "verify", *self.word, self.scrypt(log2n))
            self.assertIn(f"2^{log2n}, but at most 2^22 is accepted: a damaged header", line)
            self.assertNotIn("--max-scrypt", line)

    def test_salvage_is_offered_as_a_command_of_decrypt(self):
        self.write("b.paes", flipped(self.ok("encrypt", *KEY, "-c", "a"), 20000))
        for args in (["verify"], ["decrypt", "-c"], ["decrypt", "-c", "--offset", "16384"]):
            self.assertIn("(`paraes decrypt --salvage` saves", self.line(4, *args, *KEY, "b.paes"))
        self.exits(3, "decrypt", "--salvage", *KEY, "b.paes")
        self.assertEqual(len(self.read("b")), 50000)

    def test_keygen_is_offered_as_a_command_that_works(self):
        for flags, text in ((["--format", "c2sp"], "(`paraes keygen -o FILE` makes"),
                            (["--key-file", self.write("s", b"short")],
                             "(`paraes keygen -o FILE` makes")):
            self.assertIn(text, self.line(2, "encrypt", *flags, "a"))
        self.ok("keygen", "-o", "new")
        self.ok("encrypt", "--format", "c2sp", "--key-file", "new", "a")
        xts = ["--format", "raw", "--mode", "xts", "--key-file"]
        self.write("s48", pattern(48))
        self.assertIn("(`paraes keygen --mode xts -o FILE` makes",
                      self.line(2, "encrypt", *xts, "s48", "-c", "a"))
        self.ok("keygen", "--mode", "xts", "-o", "x")
        self.ok("encrypt", *xts, "x", "-c", "a")

    def test_key_instead_of_a_passphrase_and_the_reverse(self):
        self.ok("encrypt", *KEY, "-o", "key.paes", "a")
        self.ok("encrypt", *self.word, "--scrypt-log2n", "4", "-o", "word.paes", "a")
        self.assertIn("use --key-file instead", self.line(2, "verify", *self.word, "key.paes"))
        line = self.line(2, "verify", *KEY, "word.paes")
        self.assertIn("instead of the key, use --passphrase-file, or nothing to be asked for the "
                      "passphrase on a terminal", line)
        self.ok("verify", *KEY, "key.paes")
        self.ok("verify", *self.word, "word.paes")
        terminal = Terminal(self, "verify", "word.paes")
        terminal.answer(b"Passphrase: ", b"word\n")
        terminal.ends()

    def test_formats_that_are_offered_are_accepted(self):
        salted = self.openssl("enc", "-aes-256-cbc", "-pbkdf2", "-pass", "pass:word", stdin=b"x")
        self.write("o", salted)
        line = self.line(2, "decrypt", *self.word, "-c", "o")
        self.assertTrue(line.endswith("it must be named: --format openssl"), line)
        self.ok("decrypt", "--format", "openssl", *self.word, "-q", "-c", "o")
        self.assertTrue(self.line(2, "verify", *self.word, "o").endswith("nothing to verify"))
        self.assertTrue(self.line(2, "decrypt", *KEY, "-c", "a").endswith("c2sp, tink, raw or openssl"))
        self.assertTrue(self.line(2, "verify", *KEY, "a").endswith("--format c2sp or tink"))
        line = self.line(4, "decrypt", "--format", "openssl", *self.word, "-c", "a")
        self.assertTrue(line.endswith("(bare ciphertext needs --format raw, with its key and mode)"))


class IgnoredFlags(ErrorCase):
    def test_key_bits_contradicts_a_header_of_another_size(self):
        self.write("pw", b"word\n")
        word = ["--passphrase-file", "pw"]
        text = "a.paes: --key-bits {} contradicts the header, which is for AES-{}"
        for bits, other in ((128, 256), (256, 128)):
            self.ok("encrypt", *word, "--scrypt-log2n", "4", "--key-bits", bits, "-f", "a")
            for verb in (["decrypt", "-c"], ["verify"]):
                self.says(text.format(other, bits), 2, *verb, *word, "--key-bits", other, "a.paes")
            self.ok("verify", *word, "--key-bits", bits, "a.paes")
        tink = ["--format", "tink"]
        self.ok("encrypt", *tink, *KEY, "-f", "a")
        self.ok("info", *tink, "--key-bits", "256", "a.paes")
        self.says(text.format(128, 256), 2, "info", *tink, "--key-bits", "128", "a.paes")

    def test_key_bits_contradicts_the_key_for_every_file(self):
        self.write("b", b"b")
        done = self.exits(3, "encrypt", *KEY, "--key-bits", "128", "a", "b")
        text = "--key-bits 128 contradicts the key, which is for AES-256"
        lines = done.stderr.decode().splitlines()
        self.assertEqual(sorted(lines[:2]), [f"paraes: {name}: {text}" for name in "ab"])
        self.assertFalse(self.path("a.paes").exists() or self.path("b.paes").exists())


class PassphraseDescriptors(ErrorCase):
    """--passphrase-fd is checked before anything is read."""

    def refused(self, number, says, *args, script='"$@"', stdin=b"never read"):
        words = ["encrypt", f"--passphrase-fd={number}", *args, "-"]
        with tempfile.TemporaryFile() as data:
            data.write(stdin)
            data.seek(0)
            done = subprocess.run(["bash", "-c", script, "bash", BIN, *words], cwd=self.dir,
                                  stdin=data, capture_output=True, env=environment(),
                                  timeout=DEADLINE)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"paraes: --passphrase-fd {number}: {says}".encode(), done.stderr)
            self.assertEqual(data.seek(0, os.SEEK_CUR), 0)  # a shared offset

    def test_that_are_outputs_are_refused(self):
        for args in (["-o", "out"], []):
            self.refused(1, "this descriptor is standard output", *args)
            self.refused(2, "this descriptor is standard error", *args)
        os.mkfifo(self.path("pipe"))
        says = "this descriptor is the output"
        self.refused(3, says, script='"$@" 3<>pipe >pipe')
        self.refused(3, says, "-f", "-o", "pipe", script='"$@" 3<>pipe')

    def test_that_cannot_be_read_are_refused(self):
        self.refused(3, "this descriptor is not open to read", script='"$@" 3>written')
        self.refused(3, "this descriptor is not open to read", script='"$@" 3>&1')
        self.refused(3, "this descriptor is a folder", script='"$@" 3<.')
        for number in (9, 2147483647):
            self.refused(number, "there is no such open file descriptor")

    def test_advice_works(self):
        self.write("pw", b"word", 0o600)
        done = self.shell('"$@" 3< pw', "encrypt", "--passphrase-fd", 3, "--scrypt-log2n", 1, "a")
        self.assertEqual(done.stderr, b"")
