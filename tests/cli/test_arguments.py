"""What the command accepts: verbs, flags, and their values; and what it says about the rest."""

import json

from support import KEYS, Case

BASE = ["encrypt", "-k", "k"]


class Arguments(Case):
    GIVEN = {"k": KEYS[256], "f": b"x" * 1000}

    def refused(self, *args, says=(), never=()):
        before = self.names()
        done = self.fails(2, *args, says=says)
        for word in never:
            self.assertNotIn(word, done.stderr.decode())
        self.assertEqual(self.names(), before)
        return done.stderr.decode()

    def test_misspelt_verbs_get_the_nearest_verb(self):
        for word, meant in (("encrpyt", "encrypt"), ("Encrypt", "encrypt"), ("enc", "encrypt"),
                            ("decript", "decrypt"), ("verfy", "verify"), ("inof", "info"),
                            ("benchmark", "bench"), ("kegen", "keygen"), ("hepl", "help"),
                            ("lba", "lab")):
            for args in ([word, "f"], [word], ["help", word]):
                self.refused(*args, says=f"there is no verb '{word}'; did you mean '{meant}'? ")
        self.refused("crypt", says="did you mean 'encrypt' or 'decrypt'?")

    def test_words_that_are_near_no_verb_get_the_list(self):
        self.refused(says="encrypt, decrypt")
        for word in ("frob", "x", "", "backup.tar", "e" * 100_000, "-", "\u00e9ncr"):
            text = self.refused(word, says=f"there is no verb '{word}'; the verbs are encrypt, ")
            self.assertNotIn("did you mean", text)

    def test_misspelt_flags_get_the_nearest_flag_of_the_verb(self):
        for verb, flag, meant in (
                ("encrypt", "--keyfile=k", "--key-file"), ("encrypt", "--key", "--key-file"),
                ("encrypt", "--FORCE", "--force"), ("encrypt", "--password=x", "--passphrase-file"),
                ("encrypt", "-t4", "-T"), ("encrypt", "-t", "-T"),
                ("decrypt", "--lenght=4", "--length"), ("keygen", "--key-bit", "--key-bits"),
                ("bench", "--rivls", "--rivals"), ("encrypt", "--iv", "--iv-hex")):
            name = flag.split("=")[0] if flag.startswith("--") else flag[:2]
            self.refused(verb, flag, "f", says=[
                f"{verb} has no flag '{name}'",
                f"did you mean '{meant}'? (see `paraes {verb} --help`)"])

    def test_flags_that_are_near_no_flag_get_no_suggestion(self):
        for flag in ("--frobnicate", "-z", "--x", "--=x", "-=", "-rz", "--" + "q" * 50_000):
            self.refused(*BASE, flag, "f", says="encrypt has no flag '-", never=["did you mean"])
        for verb in ("decrypt", "verify", "info", "keygen", "devices"):
            self.refused(verb, "--frobnicate", says=["--frobnicate", f"paraes {verb} --help"])
        self.refused("--frobnicate", says="--frobnicate")

    def test_flags_of_other_verbs_say_which_verb_has_them(self):
        self.refused(*BASE, "--offset", "3", "f", says="has no flag '--offset'; decrypt has it (see `paraes decrypt --help`)")
        self.refused("info", "-v", "f", says="encrypt, decrypt, verify and rekey have it (see `paraes info --help`)")
        self.refused(*BASE, "--version", says="`paraes --version` has it")
        self.refused("--key-file", "k", "encrypt", "f",
                     says="'--key-file' is a flag of encrypt, decrypt, verify, rekey and info: write it "
                          "after")
        self.refused("--decrypt", "f", says="decrypt is a verb: `paraes decrypt")
        self.refused("-d", "f", says="the verb `decrypt` does that")
        self.refused("encrypt", "--in", "f", says="write the name of the input without a flag")
        self.refused("encrypt", "-in", "f", says="write the name of the input without a flag")

    def test_errors_about_flags_show_no_values(self):
        secret = "00112233445566778899aabbccddeeff"
        for flags in ([f"--key-hx={secret}"], ["--key-hx", secret], ["--pasword", secret],
                      [f"--force={secret}"], [f"--key-hex={secret}", "--key-hex", secret]):
            self.refused("encrypt", *flags, "f", never=[secret])
        for word in ("-pS3cret", "-xS3cret", "-qpS3cret", "-S3cret=x"):
            self.refused("encrypt", word, "f", says="encrypt has no flag", never=["3cret"])

    def test_missing_values_are_named_and_flags_are_not_taken_for_values(self):
        self.refused("encrypt", "--key-file", says="--key-file lacks its value (FILE)")
        self.refused("encrypt", "f", "-k", says="-k lacks its value (FILE)")
        self.refused("encrypt", "-k", "--recursive", "f",
                     says="-k lacks its value (FILE): --recursive is a flag, too")
        self.refused(*BASE, "-o", "-f", "f", says="-o lacks its value (FILE|FOLDER): -f is")
        self.refused(*BASE, "-o", "--", "f", says="-o lacks its value")
        self.refused("bench", "--in-place=", "--list", says="--in-place lacks its value (no,yes)")
        self.ok(*BASE, "--output=--force", "f")
        self.assertIn("--force", self.names())

    def test_empty_values_stay_empty(self):
        self.write("g", b"y")
        # Not the next argument.
        self.refused(*BASE, "--output=", "f", says="-o")
        self.fails(1, "encrypt", "--key-file=", "f", says="f: --key-file '': cannot open it")

    def test_a_file_that_looks_like_a_flag_gets_a_way_to_name_it(self):
        self.write("-zash.x", b"y")
        self.refused(*BASE, "-zash.x", says="write ./-zash.x")
        self.ok(*BASE, "./-zash.x")

    def test_a_value_may_look_like_a_flag_without_its_dash(self):
        for name in ("no", "xo", "k"):
            self.fails(1, "encrypt", "-f", "--key-file", name + "/f", "f",
                       says=f"f: --key-file {name}/f: cannot")
            self.write(name, KEYS[256])
            self.ok("encrypt", "-f", "--key-file", name, "f")

    def test_flags_without_values_refuse_values(self):
        for flag in ("--force=false", "--json=x", "--quiet=", "--stdout=1"):
            self.refused(*BASE, flag, "f", says=f"{flag.split('=')[0]} takes no value")

    def test_values_given_twice_are_refused(self):
        self.refused(*BASE, "--key-file", "k", "f", says="--key-file was given twice")
        self.refused(*BASE, "-T1", "-T", "1", "f", says="-T was given twice")
        self.ok(*BASE, "-vv", "-v", "--exclude", "a", "--exclude", "b", "f")

    def test_arguments_too_many_are_refused(self):
        self.refused("info", "f", "g", says="'g' is one argument too many: info takes one FILE")
        for verb in ("keygen", "devices", "bench", "tune", "version"):
            self.refused(verb, "f", says=f"'f' is one argument too many: {verb} takes only flags")
        self.refused("help", "info", "tune", says="'tune' is one argument too many")
        for words in ([], ["f"], ["encrypt", "f"]):
            self.refused("--", *words, says="no verb was given before --")

    def test_files_may_have_any_name(self):
        names = ["[f]", "[a,b]", "{}", "%%", "-x", "--force", "--", "++", "a=b", "encrypt", "lab"]
        for name in names:
            self.path(name).write_bytes(name.encode())
        self.ok("encrypt", "-q", "-k", "k", "f", "--", *names)
        for name in names:
            self.assertEqual(self.ok("decrypt", "-ckk", "--", f"{name}.paes"), name.encode())
        self.ok("encrypt", "-fkk", "-qT1", "f")

    def test_version_and_help_have_verbs(self):
        version = self.ok("--version")
        self.assertRegex(version, rb"\Aparaes \d+\.\d+\.\d+\n\Z")
        self.assertEqual(self.ok("-V"), version)
        self.assertEqual(self.ok("version"), version)
        self.assertEqual(self.ok("help"), self.ok("--help"))
        for verb in ("encrypt", "decrypt", "verify", "info", "keygen", "devices", "bench", "tune",
                     "version", "help"):
            text = self.ok(verb, "--help")
            self.assertIn(f"Usage: paraes {verb}".encode(), text)
            self.assertEqual(self.ok("help", verb), text)
            self.assertEqual(self.ok(verb, "-h"), text)
            self.assertEqual(self.ok(verb, "--nonsense", "--help"), text)


# For every verb: the flags with whole numbers, their range, and the other arguments of the command.
SEALED = ["--passphrase-file", "p"]
NUMBERS = (
    (["encrypt", "-k", "k", "-fo", "g", "f"], "--threads", 0, 4096),
    (["decrypt", "-k", "k", "-fo", "g", "f.paes"], "--threads", 0, 4096),
    (["verify", "-k", "k", "f.paes"], "--threads", 0, 4096),
    (["encrypt", *SEALED, "-fo", "g", "f"], "--scrypt-log2n", 1, 40),
    (["verify", *SEALED, "p.paes"], "--max-scrypt-log2n", 1, 40),
    (["encrypt", "--format", "openssl", *SEALED, "-qfo", "g", "f"], "--iter", 1, 2**31 - 1),
    (["encrypt", "-fo", "g", "f"], "--passphrase-fd", 0, 2**31 - 1),
    (["bench", "--list", "--mode", "ctr"], "--samples", 1, 100_000),
    (["bench", "--list", "--mode", "ctr"], "--warmup", 0, 100_000),
    (["bench", "--list", "--mode", "ctr"], "--seed", 0, 2**64 - 1),
    (["bench", "--list", "--mode", "ctr"], "--threads", 0, 4096),
)
NO_NUMBERS = ("0x11", "1e1", "+5", " 5", "5 ", "", "-1", "-0", "five", "5,", "1.5", "1_000", "5K",
              "\u0665", "99999999999999999999999", str(2**64), str(2**32 + 1) + "0" * 12)


class Numbers(Case):
    GIVEN = {"k": KEYS[256], "p": b"a passphrase", "f": b"x" * 1000}

    def setUp(self):
        super().setUp()
        self.ok("encrypt", "-k", "k", "f")
        self.ok("encrypt", *SEALED, "--scrypt-log2n", "10", "-o", "p.paes", "f")

    def test_numbers_are_decimal_and_in_their_range(self):
        for command, flag, least, most in NUMBERS:
            says = f"paraes: {flag}: '{{}}' is not a whole number from {least} to {most}"
            bad = [*NO_NUMBERS, str(most + 1), *([str(least - 1)] if least > 0 else [])]
            if flag == "--threads" and command[0] == "bench":
                bad = [text for text in bad if "," not in text and text != ""]  # a list
            for text in bad:
                with self.subTest(command=command, flag=flag, text=text):
                    self.fails(2, *command, f"{flag}={text}", says=says.format(text))

    def test_sizes_are_decimal(self):
        for text in ("0x11", "1e1", "+5", " 5", "5 ", "", "-1", "K", "5KK", "5 K", "1.5M", "5k"):
            for command, flag in ((["decrypt", "-k", "k", "-c", "f.paes"], "--offset"),
                                  (["decrypt", "-k", "k", "-c", "f.paes"], "--length"),
                                  (["encrypt", "--format", "tink", "-k", "k", "f"], "--segment-size")):
                self.fails(2, *command, f"{flag}={text}", says=f"{flag}: '{text}' is not a size")
        # Zeros in front do not make a number octal, and kB are not KiB.
        for offset, left in (("0010", 990), ("1kB", 0), ("0K", 1000)):
            got = self.ok("decrypt", "-k", "k", "-c", "f.paes", "--offset", offset)
            self.assertEqual(got, b"x" * left)
        self.fails(2, "decrypt", "-k", "k", "-c", "f.paes", "--offset", "1KiB", says="beyond the end")
        for flag in ("--offset", "--length"):
            for text in (2**63, "8388608T", 2**64 - 1, 2**64, 2**64 + 1, 10**20 - 1, 10**30):
                self.fails(2, "decrypt", "-k", "k", "-c", "f.paes", flag, text,
                           says=f"{flag}: {text} is more than 2^63 - 1 bytes")

    def test_name_of_the_machine_is_short_printable_text(self):
        for text in ("", "a\tb", "a\nb", "\x7f", "\u202e", "x" * 65, "\u00e4" * 33):
            self.fails(2, "bench", "--list", "--mode", "ctr", f"--machine={text}",
                       says="--machine: a name has 1 to 64 bytes of printable text")
        for text in ("rack 7", "x" * 64, "\u00e4" * 32):
            out = self.ok("bench", "--mode", "ctr", "--direction", "encrypt", "--size", "64",
                          "--samples", "1", "--rivals", "none", "--json", "-", f"--machine={text}")
            self.assertEqual(json.loads(out)["context"]["machine"], text)

    def test_key_sizes_are_one_of_a_few_numbers(self):
        for command, most in ((["encrypt", "-k", "k", "-fo", "g", "f"], "128, 192 or 256"),
                              (["keygen", "-o", "new"], "128, 192 or 256"),
                              (["info", "--format", "tink", "f"], "128 or 256")):
            for text in (*NO_NUMBERS, "0", "127", "512"):
                self.fails(2, *command, f"--key-bits={text}",
                           says=f"paraes: --key-bits: '{text}' is not {most}")
        for text in ("0x80", "+128", " 128", "-128", "512"):
            self.fails(2, "bench", "--list", f"--key-bits=128,{text}",
                       says=f"--key-bits: '{text}' is not a whole number from 128 to 256")

    def test_group_threads_of_bench_are_multiples_of_a_warp(self):
        gpu = ["bench", "--list", "--device", "opencl:9", "--mode", "ctr"]
        self.fails(2, *gpu, "--group-threads=64,31",
                   says="--group-threads: '31' is not a whole number from 32 to 1024")
        self.fails(2, *gpu, "--group-threads=48",
                   says="--group-threads: a group has a multiple of 32 threads, up to 1024, not 48")
        self.fails(2, "bench", "--list", "--group-threads=256",
                   says="--group-threads goes with a GPU and --scope memory or transfer")
        self.ok(*gpu, "--group-threads=64,1024")

    def test_seconds_are_decimal_numbers(self):
        for command, flag, least, most in ((["tune", "--show"], "--seconds", 1, 3600),
                                           (["bench", "--list"], "--min-time", 0, 86400)):
            for text in ("0x11", "1e1", "+5", " 5", "5 ", "", "-1", "inf", "nan", ".", "1.2.3",
                         "1,5", "86400.1", "9" * 400):
                self.fails(2, *command, f"{flag}={text}",
                           says=f"{flag}: '{text}' is not a number from {least} to {most}")
        self.ok("bench", "--list", "--mode", "ctr", "--min-time", "010.5")
