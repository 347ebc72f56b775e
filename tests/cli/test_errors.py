"""What errors say: they begin with the name of the file they are about."""

import json
import unittest

from support import KEYS, Case, pattern

KEY = ["--key-file", "k"]
NOT_THERE = "No such file or directory"


class ErrorCase(Case):
    def setUp(self):
        super().setUp()
        self.write("k", KEYS[256])

    def line(self, status, *args, **kwargs):
        """The one error line of a run that fails with `status`, without `paraes: `."""
        lines = self.fails(status, *args, **kwargs).stderr.decode("utf-8", "surrogateescape")
        lines = [line for line in lines.splitlines()
                 if not line.startswith(("paraes: note:", "paraes: warning:"))]
        return lines[0].removeprefix("paraes: ")


class ErrorsBeginWithTheName(ErrorCase):
    def says(self, text, status, *args, **kwargs):
        self.assertEqual(self.line(status, *args, **kwargs), text)

    def test_of_an_input_that_cannot_be_opened(self):
        for verb in ("encrypt", "decrypt", "verify"):
            self.says(f"a.paes: cannot open it: {NOT_THERE}", 1, verb, *KEY, "a.paes")
        self.says(f"a.paes: cannot open it: {NOT_THERE}", 1, "info", "a.paes")

    def test_of_a_folder_as_input(self):
        self.path("d").mkdir()
        for args in (["encrypt", *KEY, "d"], ["verify", *KEY, "d"], ["info", "d"]):
            self.assertTrue(self.line(2, *args).startswith("d: it is a folder"))

    def test_of_a_damaged_input(self):
        self.write("a", pattern(50000))
        self.ok("encrypt", *KEY, "a")
        data = bytearray(self.read("a.paes"))
        data[40000] ^= 1
        self.write("a.paes", bytes(data))
        for args in (["verify", *KEY], ["decrypt", "-c", *KEY]):
            self.assertRegex(self.line(4, *args, "a.paes"), r"\Aa\.paes: segment 2 does not")
            self.assertRegex(self.line(4, *args, "-", stdin=bytes(data)),
                             r"\Astandard input: segment 2 does not")
        self.write("cut.paes", bytes(data[:90]))
        self.assertRegex(self.line(4, "info", "cut.paes"), r"\Acut\.paes: the input is truncated")
        self.assertRegex(self.line(4, "info", "-", stdin=bytes(data[:20])),
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
        self.write("a", b"x")
        self.write("a.paes", b"old")
        for args in ([], ["-o", "a.paes"]):
            line = self.line(2, "encrypt", *KEY, *args, "a")
            self.assertRegex(line, r"\A(a: )?a\.paes\b")
            self.assertEqual(line.count("a.paes"), 1)
        line = self.line(1, "encrypt", *KEY, "-o", "no/out", "a")
        self.assertRegex(line, r"\Ano/out\b|\Aa: ")
        with open("/dev/full", "wb") as full:
            self.assertTrue(self.line(1, "encrypt", *KEY, "-c", "a", stdout=full).startswith(
                "standard output: cannot write it: No space left on device"))

    def test_of_a_key_file(self):
        self.write("a", b"x")
        self.says(f"a: no: cannot open it: {NOT_THERE}", 1, "encrypt", "--key-file", "no", "a")
        self.write("short", b"123")
        self.assertRegex(self.line(2, "encrypt", "--key-file", "short", "a"),
                         r"\Aa: short: the key has 3 bytes; ")
        self.assertRegex(self.line(2, "encrypt", "--key-file", "-", "a", stdin=b"123"),
                         r"\Aa: standard input: the key has 3 bytes; ")
        self.path("d").mkdir()
        self.assertRegex(self.line(2, "encrypt", "--key-file", "d", "a"), r"\Aa: d: it is a folder")

    def test_of_a_keyset(self):
        self.write("a", b"x")
        self.write("set", b"{" + 200 * b" ")
        self.assertRegex(self.line(2, "encrypt", "--format", "tink", "--key-file", "set", "a"),
                         r"\Aa: set: not a usable Tink keyset: ")

    def test_of_a_passphrase_file(self):
        self.write("a", b"x")
        self.says(f"a: no: cannot open it: {NOT_THERE}", 1,
                  "encrypt", "--passphrase-file", "no", "a")
        self.write("long", bytes(70000))
        self.assertRegex(self.line(2, "encrypt", "--passphrase-file", "long", "a"),
                         r"\Aa: long: it holds more than ")

    def test_of_folders(self):
        self.assertRegex(self.line(1, "devices", "--compile", "--arch", "sm_90", "-o", "no/d"),
                         r"\Ano/d: cannot make it: ")

    def test_and_no_name_is_there_twice(self):
        self.write("k.paes", KEYS[256])
        for args in (["encrypt", *KEY, "k"], ["encrypt", *KEY, "-o", "k", "-f", "k.paes"]):
            line = self.line(2, *args)
            name = args[-1]
            self.assertTrue(line.startswith(f"{name}: "), line)
            self.assertEqual(line.split(": ")[0], name)
            self.assertNotIn(f" {name} ", line)

    def test_and_json_has_the_text_without_the_name_of_its_input(self):
        self.write("a", b"no message")
        done = self.run_paraes("verify", "--json", *KEY, "a")
        report = json.loads(done.stdout)
        self.assertEqual(report["input"], "a")
        self.assertTrue(report["status"].startswith("the input does not begin"), report)


class WrongKeys(ErrorCase):
    """The texts name only what the header needs."""

    def test_name_the_key_or_the_passphrase(self):
        self.write("a", b"x")
        self.write("pw", b"one\n")
        self.write("wrong", KEYS[256][::-1])
        self.path("wrong").chmod(0o600)
        word = ["--passphrase-file", "pw"]
        self.ok("encrypt", *KEY, "-o", "key.paes", "a")
        self.ok("encrypt", *KEY, "--format", "c2sp", "-o", "c2sp.paes", "a")
        self.ok("encrypt", *word, "--scrypt-log2n", "1", "-o", "word.paes", "a")
        key = "wrong key or context, or a damaged header"
        for flags in (["--key-file", "wrong"], [*KEY, "--context-hex", "00"]):
            self.assertEqual(self.line(5, "verify", *flags, "key.paes"), f"key.paes: {key}")
            self.assertEqual(self.line(5, "verify", "--format", "c2sp", *flags, "c2sp.paes"),
                             f"c2sp.paes: {key}")
        line = self.line(5, "verify", *word, "--context-hex", "00", "word.paes")
        self.assertEqual(line, "word.paes: wrong passphrase or context, or a damaged header")

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
        self.assertIn("a wrong passphrase, key size, number of iterations or mode, or damaged", line)


if __name__ == "__main__":
    unittest.main()
