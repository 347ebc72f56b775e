"""Flags that are refused, --json and --progress."""

import json

from support import IV, KEYS, Case

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex(), "--key-file", "k"]
CBC = ["--format", "raw", "--mode", "cbc", "--iv-hex", IV.hex(), "--key-file", "k"]


class Usage(Case):
    GIVEN = {"k": KEYS[256], "f": b"x" * 1000}

    def refused(self, *args, says=()):
        before = self.names()
        self.fails(2, *args, says=says)
        self.assertEqual(self.names(), before)

    def test_unknown_formats_and_verify_of_raw_are_refused(self):
        for verb in ("encrypt", "decrypt", "verify", "info"):
            self.refused(verb, "--format", "gzip", "f", says=["gzip", "paraes, c2sp, tink, raw"])
            self.refused(verb, "--format", "", "f", says="paraes, c2sp, tink, raw")
        self.refused("verify", "--format", "raw", "--key-file", "k", "f", says=["not authenticated", "nothing to verify"])

    def test_bad_modes_and_ivs_are_refused(self):
        raw = ["--format", "raw", "--key-file", "k"]
        self.refused("encrypt", *raw, "f", says="--mode")
        self.refused("encrypt", *raw, "--mode", "gcm", "f", says="gcm")
        self.refused("encrypt", *raw, "--mode", "CBC", "f", says="CBC")
        for mode in ("cbc", "ctr"):
            self.refused("encrypt", *raw, "--mode", mode, "f", says="--iv-hex")
            for iv, says in (("00" * 15, "30"), ("00" * 17, "34"), ("0" * 31, "31"), ("", "0 hex"),
                             ("zz" * 16, "not a hex digit"), ("0x" + "0" * 30, "not a hex digit")):
                self.refused("encrypt", *raw, "--mode", mode, "--iv-hex", iv, "f", says=says)
        self.refused("encrypt", *raw, "--mode", "ecb", "--iv-hex", "00" * 16, "f", says="ecb")

    def test_flags_without_effect_are_refused(self):
        self.refused("encrypt", *CTR, "--nopad", "f", says="--nopad")
        self.refused("encrypt", *CTR, "--unit", "512", "f", says="--unit")
        self.refused("encrypt", *CTR, "--iter", "5", "f", says="--iter")
        self.refused("encrypt", *CTR, "--progress", "--no-progress", "f", says="--progress")
        self.refused("encrypt", *CTR, "-c", "-o", "g", "f", says=["-c", "-o"])


class Reports(Case):
    GIVEN = {"k": KEYS[256], "f": b"x" * 1000}
    FIELDS = ["input", "output", "format", "bytes", "seconds", "device", "kernel", "fallback",
              "status", "exit", "timeline_ns"]

    def test_json_reports_an_encrypted_file(self):
        text = self.ok("encrypt", *CBC, "--json", "f").decode()
        self.assertEqual(text.count("\n"), 1)
        report = json.loads(text)
        self.assertEqual(list(report), self.FIELDS)
        self.assertGreaterEqual(report["seconds"], 0)
        expected = {"input": "f", "output": "f.paes", "format": "raw", "bytes": 1000,
                    "device": "cpu", "fallback": None, "status": "ok", "exit": 0}
        self.assertEqual(report, {**report, **expected})
        # Decrypting reports the size of the plaintext as well.
        self.assertEqual(self.report("decrypt", *CBC, "-f", "f.paes")["bytes"], 1000)

    def test_json_goes_to_stderr_beside_data(self):
        done = self.run_paraes("encrypt", *CBC, "--json", "-", stdin=b"abc")
        self.assertEqual(len(done.stdout), 16)
        report = json.loads(done.stderr)
        self.assertEqual((report["input"], report["output"]), ("-", "-"))

    def test_json_reports_a_failure(self):
        done = self.exits(4, "decrypt", *CBC, "--json", "-o", "g", "f")
        report = json.loads(done.stdout)
        self.assertEqual(list(report), self.FIELDS)
        self.assertEqual(report["exit"], 4)
        self.assertNotEqual(report["status"], "ok")
        done = self.run_paraes("encrypt", *CBC, "--json", "nowhere")
        self.assertEqual(json.loads(done.stdout)["exit"], 1)

    def test_only_progress_shows_a_bar_without_a_terminal(self):
        done = self.run_paraes("encrypt", *CBC, "--progress", "-f", "f")
        self.assertIn(b"100 %  1.00 kB  ", done.stderr)
        for flags in ([], ["-q"], ["--no-progress"]):
            done = self.run_paraes("encrypt", *CBC, *flags, "-f", "f")
            self.assertEqual((done.stdout, done.stderr), (b"", b""))
