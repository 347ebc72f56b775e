"""Tests of `bench --rival NAME=FILE.so`: AES from a shared library that somebody else built."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import cases

SOURCE = pathlib.Path(os.environ["PARAES_SOURCE"])
COMPILER = os.environ["PARAES_CC"]
EXAMPLE = SOURCE / "docs/examples/own_rival.c"
QUICK = ["--mode", "ecb", "--size", "16KiB,80000", "--samples", "2", "--min-time", "0"]

# XOR with the key, so that decryption is encryption: no AES, and so it has to be found out.
XOR = """
#include <stddef.h>
#include <stdint.h>
int rival_ecb(const uint8_t *key, size_t key_bytes, const uint8_t *in, uint8_t *out, size_t blocks,
              int decrypt) {
  for (size_t i = 0; i < 16 * blocks; ++i) out[i] = in[i] ^ key[i % key_bytes];
  return 0 * decrypt;
}
"""
EMPTY = "int something_else(void) { return 0; }"


def has_nettle():
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "a.c"
        source.write_text("#include <nettle/aes.h>\n")
        command = [COMPILER, "-x", "c", "-shared", "-fPIC", source, "-x", "none", "-lnettle",
                   "-o", f"{folder}/a.so"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_nettle = unittest.skipUnless(
    has_nettle(), "GNU Nettle is not installed for this compiler (Debian: nettle-dev)")


class OwnRival(cases.BenchCase):
    def build(self, text, *flags, name="mine.so"):
        return self.compile(name, "-x", "c", self.write("mine.c", text), "-x", "none", *flags)

    @needs_nettle
    def test_a_foreign_aes_is_verified_and_timed_like_all_others(self):
        library = self.build(EXAMPLE.read_text(), "-lnettle")
        done, report = self.report(*QUICK, "--rival", f"nettle={library}", "--threads", "1,2",
                                   "--key-bits", "128,256", "--in-place", "no,yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [row for row in report["results"] if row["rival"] == "nettle"]
        self.assertEqual(len(rows), 2 * 2 * 2 * 2 * 2)  # sizes, threads, keys, directions, places
        for row in rows:
            self.assertTrue(row["verified"], row)
            self.assertEqual(len(row["samples_ns"]), 2)
            self.assertIsNone(row["kernel"])
        # The default rivals and the kernel have rows beside it.
        self.assertTrue(any(row["rival"] == "openssl-evp" for row in report["results"]))
        self.assertTrue(any(row["rival"] is None for row in report["results"]))
        version = report["context"]["libraries"]["nettle"]
        self.assertRegex(version, r"^GNU Nettle, SHA-256 [0-9a-f]{16}")

    @needs_nettle
    def test_a_key_size_that_it_lacks_makes_the_row_wrong(self):
        library = self.build(EXAMPLE.read_text(), "-lnettle")
        done, report = self.report(*QUICK, "--rival", f"nettle={library}", "--key-bits", "192",
                                   "--rivals", "none")
        self.assertEqual(done.returncode, 1)
        wrong = [row for row in report["results"] if row["rival"] == "nettle"]
        self.assertTrue(wrong and not any(row["verified"] for row in wrong))
        self.assertIn("rival_ecb of nettle returned 1", done.stderr)

    def test_wrong_bytes_and_functions_that_fail_are_found_in_several_rivals(self):
        xor = self.build(XOR)
        broken = self.build(XOR.replace("return 0 * decrypt", "return 7"), name="broken.so")
        done, report = self.report(*QUICK, "--rival", f"xor={xor}", "--rival", f"broken={broken}",
                                   "--rivals", "none")
        self.assertEqual(done.returncode, 1)
        self.assertEqual({row["rival"] for row in report["results"]}, {None, "xor", "broken"})
        for row in report["results"]:
            self.assertEqual(row["verified"], row["rival"] is None, row)
        self.assertIn("WRONG", done.stderr)
        self.assertIn("rival_ecb of broken returned 7", done.stderr)

    def test_other_modes_are_skipped_with_the_reason(self):
        library = self.build(XOR)
        done, report = self.report(
            "--mode", "ecb,cbc,ctr,xts,gcm", "--size", "64KiB", "--samples", "1", "--threads", "2",
            "--rivals", "none", "--rival", f"xor={library}")
        self.assertEqual(done.returncode, 1)  # XOR is no AES
        skipped = [row for row in report["skipped"] if row["rival"] == "xor"]
        self.assertEqual({row["mode"] for row in skipped}, {"cbc", "ctr", "xts", "gcm"})
        for row in skipped:
            self.assertIn("rival_ecb only", row["reason"])

    def test_a_quick_run_has_the_mode_of_the_rival(self):
        done = self.bench("--quick", "--list", "--rival", f"xor={self.build(XOR)}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\(?xor\)?")

    def test_bad_input_is_refused_before_anything_runs(self):
        library = self.build(XOR)
        empty = self.build(EMPTY, name="empty.so")
        text = self.write("text.so", "no library")
        for arguments, said in (
            (["--rival", "mine"], "is not NAME=FILE"),
            (["--rival", "openssl-evp"], "--rivals takes the names"),
            (["--rival", "mine="], "is not NAME=FILE"),
            (["--rival", f"={library}"], "is no name"),
            (["--rival", f"Mine={library}"], "is no name"),
            (["--rival", f"a b={library}"], "is no name"),
            (["--rival", f"{'a' * 33}={library}"], "is no name"),
            (["--rival", f"ports-mine={library}"], "those of limits"),
            (["--rival", f"memcpy={library}"], "the name of something else"),
            (["--rival", f"ttable={library}"], "the name of something else"),
            (["--rival", f"none={library}"], "the name of something else"),
            (["--rival", f"a={library}", "--rival", f"a={library}"], "the name of something else"),
            (["--rival", f"mine={self.folder / 'missing.so'}"], "missing.so"),
            (["--rival", f"mine={self.folder}"], "no regular file"),
            (["--rival", f"mine={text}"], "text.so: "),
            (["--rival", f"mine={empty}"], "it defines neither rival_ecb (CPU)"),
            (["--rival", f"mine={library}", "--scope", "file"], "--rival goes with --scope memory"),
            (["--rival", f"mine={library}", "--mode", "ctr"], "--rival: mine goes with --mode ecb"),
        ):
            with self.subTest(arguments=arguments):
                output = self.folder / "report.json"
                done = self.bench("--size", "16KiB", "--samples", "2", *arguments, "--json", output)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)
                self.assertFalse(output.exists())

    def test_a_library_that_everybody_can_change_is_not_opened(self):
        library = self.build(XOR)
        library.chmod(0o777)
        done = self.bench(*QUICK, "--rival", f"mine={library}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("only you or root can change it", done.stderr)

    def test_a_version_that_is_no_plain_text_is_refused(self):
        for value in ('"a\\nb"', "0", f'"{"x" * 65}"'):
            library = self.build(f"{XOR}const char *rival_version(void) {{ return {value}; }}")
            done = self.bench(*QUICK, "--rival", f"mine={library}")
            self.assertEqual(done.returncode, 2, value)
            self.assertIn("rival_version", done.stderr)


if __name__ == "__main__":
    unittest.main()
