"""The default format on the command line: keys, passphrases, contexts, verify, info, ranges."""


import json

from support import KEYS, Case, pattern

MAGIC = b"PARAES\r\n"
QUICK = ["--passphrase-file", "pw", "--scrypt-log2n", "4"]


class ParaesFormat(Case):
    data = pattern(100000)
    GIVEN = {"k": KEYS[256], "k128": KEYS[128], "pw": b"open sesame\n", "f": data}

    def test_key_file_alone_gives_the_default_format(self):
        self.ok("encrypt", "--key-file", "k", "f")
        made = self.read("f.paes")
        self.assertEqual(made[:16], MAGIC + b"\x01\x00\x02\x00" + bytes(4))
        self.assertEqual(len(made), 88 + len(self.data) + 16 * 7)
        self.path("f").unlink()
        self.ok("decrypt", "--key-file", "k", "f.paes")
        self.assertEqual(self.read("f"), self.data)

    def test_two_encryptions_differ_in_every_block_after_the_preface(self):
        one, two = (self.ok("encrypt", "--key-file", "k", "-c", "f") for _ in range(2))
        self.assertEqual(one[:32], two[:32])
        for at in range(32, len(one) - 16, 16):
            self.assertNotEqual(one[at:at + 16], two[at:at + 16])

    def test_key_size_selects_the_cipher(self):
        self.assertEqual(self.ok("encrypt", "--key-file", "k128", "-c", "f")[10], 1)
        self.write("k192", KEYS[192])
        for flags in ([], ["--format", "c2sp"], ["--format", "tink"]):
            self.fails(2, "encrypt", *flags, "--key-file", "k192", "-c", "f", says="24 bytes")
        self.fails(2, "encrypt", "--key-file", "k", "--key-bits", "128", "f", says="AES-256")
        self.fails(2, "encrypt", "--key-file", "k", "--key-bits", "192", "f", says="128 and 256")

    def test_passphrase_encrypts_and_a_wrong_one_is_refused(self):
        self.ok("encrypt", *QUICK, "f")
        made = self.read("f.paes")
        self.assertEqual(made[8:12], b"\x01\x01\x02\x04")
        self.assertNotEqual(made[16:32], bytes(16))
        self.assertEqual(self.ok("decrypt", "--passphrase-file", "pw", "-c", "f.paes"), self.data)
        self.write("other", b"open sesamE")
        self.fails(5, "decrypt", "--passphrase-file", "other", "-c", "f.paes",
                   says="f.paes: wrong passphrase or context, or a damaged header")
        made = self.ok("encrypt", *QUICK, "--key-bits", "128", "-c", "f")
        self.assertEqual(made[10], 1)
        self.assertEqual(self.ok("decrypt", "--passphrase-file", "pw", "-", stdin=made), self.data)

    def test_default_scrypt_cost_is_2_to_the_17(self):
        self.assertEqual(self.ok("encrypt", "--passphrase-file", "pw", "-c", "f")[11], 17)

    def test_context_has_hex_digits_of_up_to_512_bytes(self):
        made = self.ok("encrypt", "--key-file", "k", "--context-hex", "00ff" * 256, "-c", "f")
        got = self.ok("decrypt", "--key-file", "k", "--context-hex", "00FF" * 256, "-", stdin=made)
        self.assertEqual(got, self.data)
        for wrong in ("0", "zz", "00" * 513):
            self.fails(2, "encrypt", "--key-file", "k", "--context-hex", wrong, "f",
                       says="--context-hex")

    def test_other_formats_are_never_guessed(self):
        decrypt = ["decrypt", "--key-file", "k"]
        self.fails(2, *decrypt, "-", stdin=b"Salted__" + bytes(24),
                   says=["Salted__", "--format openssl"])
        self.fails(2, *decrypt, "-c", "f", says="--format c2sp")
        self.fails(4, *decrypt, "--format", "paraes", "-c", "f", says="begin")
        self.fails(4, *decrypt, "-", stdin=b"", says="truncated")

    def test_verify_finds_damage_and_writes_nothing(self):
        self.ok("encrypt", "--key-file", "k", "f")
        before = self.names()
        self.assertEqual(self.ok("verify", "--key-file", "k", "f.paes"), b"")
        self.assertEqual(self.ok("verify", "--key-file", "k", "-", stdin=self.read("f.paes")), b"")
        report = self.report("verify", "--key-file", "k", "f.paes")
        self.assertEqual((report["output"], report["bytes"]), (None, len(self.data)))
        self.assertEqual(self.names(), before)
        self.damage("f.paes", 50000)
        self.fails(4, "verify", "--key-file", "k", "f.paes", says="segment 3")

    def test_info_describes_the_message_without_a_key(self):
        self.ok("encrypt", *QUICK, "f")
        text = self.ok("info", "f.paes").decode()
        for word in ("paraes, version 1", "AES-256-GCM", "scrypt, N = 2^4", "7, 16.0 KiB",
                     "100000 are plaintext"):
            self.assertIn(word, text)
        report = self.report("info", "f.paes")
        self.assertEqual(report, {"input": "f.paes", "format": "paraes", "version": 1,
                                  "cipher": "AES-256-GCM", "kdf": "scrypt", "scrypt_log2n": 4,
                                  "header_bytes": 88, "segment_bytes": 16384,
                                  "bytes": 88 + 100000 + 7 * 16, "plain_bytes": 100000,
                                  "segments": 7})
        self.fails(2, "info", "f", says="does not begin")
        self.fails(2, "info", "--format", "raw", "f", says="raw")
        self.fails(1, "info", "missing", says="missing")
        self.write("cut", self.read("f.paes")[:88 + 16400])
        self.fails(4, "info", "cut", says="truncated")

    def tensors(self, header, data=b""):
        """A safetensors file, encrypted, and what info says of it with the key."""
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        self.write("m", len(text).to_bytes(8, "little") + text + data)
        self.ok("encrypt", "-f", "--key-file", "k", "m")
        return self.report("info", "--key-file", "k", "m.paes")

    def test_info_lists_tensors_with_the_key_alone(self):
        far = 40_000  # the header has several segments
        header = {"__metadata__": {"about": "x" * far},
                  "b\x1b[31m": {"dtype": "F32", "shape": [2, 2], "data_offsets": [4, 20]},
                  "a": {"dtype": "BF16", "shape": [], "data_offsets": [0, 4]}}
        report = self.tensors(header, bytes(20))
        self.assertEqual(report["tensors"], [
            {"name": "a", "dtype": "BF16", "shape": [], "bytes": 4},
            {"name": "b\x1b[31m", "dtype": "F32", "shape": [2, 2], "bytes": 16}])
        self.assertEqual((report["key_opens"], report["why_not"], report["damage"]), (True, None, None))
        text = self.ok("info", "--key-file", "k", "m.paes").decode()
        self.assertIn('tensors    2, of 20 bytes\n  "a" "BF16" []\n  "b\\u001b[31m" "F32" [2,2]\n', text)
        self.assertIn("The header is authentic, and so are the tensors' names.", text)
        for secret in (b"BF16", b"about"):
            self.assertNotIn(secret, self.ok("info", "m.paes"))
            self.assertNotIn(secret, self.ok("info", "--json", "m.paes"))
        # A pipe is not read twice.
        text = self.ok("info", "--key-file", "k", "-", stdin=self.read("m.paes")).decode()
        self.assertIn("given      a secret that opens it", text)
        self.assertNotIn("tensors", text)
        done = self.exits(5, "info", "--key-hex", "00" * 32, "--json", "m.paes")
        self.assertEqual(json.loads(done.stdout)["key_opens"], False)
        self.assertNotIn("tensors", self.exits(5, "info", "--key-hex", "00" * 32, "m.paes").stdout.decode())
        self.damage("m.paes", 20_000)
        done = self.exits(4, "info", "--key-file", "k", "m.paes")
        self.assertIn(b"damage     segment 1 does not authenticate", done.stdout)
        self.fails(2, "info", "--key-file", "k", "--passphrase-file", "pw", "m.paes", says="give one of the two")
        self.fails(2, "info", "--passphrase-file", "pw", "m.paes", says="encrypted with a key")
        self.fails(2, "info", "--format", "c2sp", "--key-file", "k", "m.paes",
                   says="--key-file goes with --format paraes")

    def test_info_opens_with_a_passphrase_and_a_context(self):
        self.write("m", (2).to_bytes(8, "little") + b"{}")
        self.ok("encrypt", *QUICK, "--context-hex", "0a0b", "m")
        opens = ["info", "--passphrase-file", "pw", "--json", "m.paes"]
        self.assertEqual(json.loads(self.ok(*opens, "--context-hex", "0a0b"))["tensors"], [])
        self.assertEqual(json.loads(self.exits(5, *opens).stdout)["key_opens"], False)

    def test_info_takes_no_other_file_for_tensors(self):
        one = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
        for header in (b"", b"[]", b"{", b"[" * 100_000, {"a": 5}, {"a": {**one, "dtype": 5}},
                       {"a": {**one, "shape": [-1]}}, {"a": {**one, "shape": [1.5]}},
                       {"a": {**one, "data_offsets": [1, 0]}}, {"a": {**one, "data_offsets": [0]}},
                       {"a": {**one, "data_offsets": [0, 2**65]}}):
            report = self.tensors(header, b"x")
            self.assertEqual((report["key_opens"], report["tensors"]), (True, None), header)
        for content in (b"", b"1234567", b"12345678", (2**63).to_bytes(8, "little") + b"{}"):
            self.write("m", content)
            self.ok("encrypt", "-f", "--key-file", "k", "m")
            self.assertEqual(self.report("info", "--key-file", "k", "m.paes")["tensors"], None)

    def test_offset_and_length_select_a_range(self):
        self.ok("encrypt", "--key-file", "k", "f")
        decrypt = ["decrypt", "--key-file", "k"]
        for offset, length in ((0, 0), (0, 1), (16383, 2), (16384, 16384), (5, 90000), (99999, 1),
                               (100000, 0)):
            output = self.ok(*decrypt, "--offset", offset, "--length", length, "-c", "f.paes")
            self.assertEqual(output, self.data[offset:offset + length])
        self.assertEqual(self.ok(*decrypt, "--offset", "99000", "-c", "f.paes"), self.data[99000:])
        # Standard input is read in order even if it is a file: a range needs a named file.
        done = self.shell('"$@" - < f.paes', *decrypt, "--length", "3", status=2)
        self.assertEqual(done.stdout, b"")
        self.ok(*decrypt, "--length", "1K", "-o", "range", "f.paes")
        self.assertEqual(self.read("range"), self.data[:1024])

    def test_bad_ranges_and_ranges_of_pipes_are_refused(self):
        self.ok("encrypt", "--key-file", "k", "f")
        at_offset = ["decrypt", "--key-file", "k", "--offset"]
        self.fails(2, *at_offset, "1", "f.paes", says=["-o FILE", "-c"])
        self.fails(2, *at_offset, "1", "-c", "-", stdin=self.read("f.paes"), says="pipe")
        self.fails(2, *at_offset, "100001", "-c", "-", stdin=self.read("f.paes")[:50000], says="pipe")
        self.fails(2, *at_offset, "1", "--salvage", "-c", "f.paes", says="--salvage")
        self.fails(2, *at_offset, "1", "--rm", "-o", "g", "f.paes", says="--rm")
        self.fails(2, "encrypt", "--offset", "1", "-c", "f")

    def test_intact_ranges_of_a_damaged_file_are_decrypted(self):
        self.ok("encrypt", "--key-file", "k", "f")
        self.damage("f.paes", 88 + 16400)
        at_offset = ["decrypt", "--key-file", "k", "-c", "--offset"]
        self.assertEqual(self.ok(*at_offset, "0", "--length", "16384", "f.paes"), self.data[:16384])
        self.assertEqual(self.ok(*at_offset, "32768", "f.paes"), self.data[32768:])
        self.fails(4, *at_offset, "16000", "--length", "1000", "f.paes", says="segment 1")

    def test_ranges_beyond_the_end_of_a_cut_file_are_damage(self):
        # Each cut within the third segment; unit.Ranges has cuts at borders.
        for form, size in (("paraes", 88 + 2 * 16400 + 500), ("c2sp", 56 + 2 * 16400 + 500),
                           ("tink", 2 * 4096 + 500)):
            flags = ["--format", form, "--key-file", "k"]
            flags += ["--segment-size", 4096] if form == "tink" else []
            whole = self.ok("encrypt", *flags, "-c", "f")
            self.write("whole", whole)
            self.write("cut", whole[:size])
            for given in (["--offset", size], ["--offset", size, "--length", 0], ["--offset", 100000],
                          ["--offset", 5, "--length", size], ["--length", 100000],
                          ["--offset", 1 << 50, "--length", 1 << 50]):
                with self.subTest(form=form, given=given):
                    self.fails(4, "decrypt", *flags, *given, "-o", "out", "cut",
                               says=["cut: ", "truncated"])
                    self.assertFalse(self.path("out").exists())
            for given in (["--offset", 100001], ["--offset", 99999, "--length", 2],
                          ["--length", 100001], ["--offset", 100001, "--length", 0]):
                self.fails(2, "decrypt", *flags, *given, "-c", "whole",
                           says="whole: the range goes beyond the end of the message, which has "
                                "100000 bytes")
            self.assertEqual(self.ok("decrypt", *flags, "--offset", 100000, "-c", "whole"), b"")

    def test_flags_of_other_formats_are_refused(self):
        key = ["--key-file", "k"]
        self.fails(2, "encrypt", *key, "--mode", "ctr", "f", says="raw")
        self.fails(2, "encrypt", *key, "--iter", "5", "f", says="openssl")
        self.fails(2, "encrypt", *key, "--segment-size", "4K", "f", says="tink")
        self.fails(2, "encrypt", *key, "--tink-hash", "SHA1", "f", says="tink")
        self.fails(2, "encrypt", *key, "--format", "tink", "--tink-hash", "MD5", "f", says="MD5")
        self.fails(2, "encrypt", *key, "--format", "tink", "--segment-size", "40", "f", says="40")
        self.fails(2, "encrypt", *key, "--format", "c2sp", "--scrypt-log2n", "4", "f")
        self.fails(2, "encrypt", *key, "--scrypt-log2n", "4", "f", says="passphrase")
        self.fails(2, "encrypt", "--format", "c2sp", "--passphrase-file", "pw", "f", says="c2sp")
        self.fails(2, "decrypt", *key, "--format", "raw", "--mode", "ctr", "--iv-hex", "0" * 32,
                   "--salvage", "-c", "f", says="--salvage")

    def test_json_has_the_time_of_each_phase(self):
        report = self.report("encrypt", "--key-file", "k", "f")
        self.assertEqual(report["format"], "paraes")
        self.assertEqual(list(report["timeline_ns"]),
                         ["read", "key_expansion", "host_to_device", "kernel", "device_to_host",
                          "write"])
        for name, phase in report["timeline_ns"].items():
            if "device" in name:
                self.assertEqual(phase, 0)  # the CPU copies to no device
            else:
                self.assertGreater(phase, 0)
