"""Tests of `bench --device GPU --rival NAME=FILE.so`: AES on GPUs that somebody else wrote.

PoCL stands for GPUs with OpenCL, and a stand-in for CUDA's driver for those of NVIDIA. Both work in
memory of the host, and so do the libraries of these tests.
"""

import os
import pathlib
import shutil
import subprocess
import unittest

import cases

PARAES = pathlib.Path(os.environ["PARAES_BIN"])
SOURCE = pathlib.Path(os.environ["PARAES_SOURCE"])
HEADER = f"-I{SOURCE / 'bench/rivals'}"
OPENCL = SOURCE / "tests/bench/opencl_rival.c"
EXAMPLE = SOURCE / "docs/examples/own_device_rival.cu"
ON_OPENCL = ["--device", "opencl:0", "--kernel", "reference"]
QUICK = ["--samples", "2", "--min-time", "0", "--rivals", "none"]
RATIO = r"reference +[0-9.]+ +[0-9.!]+ +[0-9.]+\n"  # behind the rate and spread of a row
NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def has_opencl():
    done = subprocess.run([PARAES, "devices"], capture_output=True, text=True, check=True)
    found = "opencl:0" in done.stdout
    if not found and os.environ.get("PARAES_REQUIRE_DEVICE"):
        raise RuntimeError(done.stdout)
    return found


needs_opencl = unittest.skipUnless(has_opencl(), "there is no OpenCL device (PoCL makes one)")


class DeviceRival(cases.BenchCase):
    def build(self, source, *flags):
        return self.compile("mine.so", HEADER, *flags, source)

    def opencl(self, *flags, name="mine.so"):
        return self.compile(name, HEADER, "-x", "c", "-DCL_TARGET_OPENCL_VERSION=120", *flags,
                            OPENCL, "-x", "none", "-l:libOpenCL.so.1", "-lcrypto")

    def report(self, *arguments, size="70000"):
        return super().report(*QUICK, *arguments, "--size", size)

    def rows(self, report, name="mine"):
        return [row for row in report["results"] if row["rival"] == name]


@needs_opencl
class OnOpenCl(DeviceRival):
    def test_all_modes_are_verified_and_timed_like_those_of_paraes(self):
        done, report = self.report(*ON_OPENCL, "--rival", f"mine={self.opencl()}", "--key-bits",
                                   "128,192,256", "--in-place", "no,yes", "--mode", "ecb,ctr,gcm",
                                   size="70000,70001")
        self.assertEqual(done.returncode, 0, done.stderr)
        mine = self.rows(report)
        # CTR of both sizes and ECB of one, with 3 keys, 2 directions and 2 places; GCM of both
        # sizes, which has no decryption.
        self.assertEqual(len(mine), 2 * 12 + 12 + 2 * 6)
        for row in mine:
            self.assertIs(row["verified"], True, row)
            self.assertEqual(row["traffic"], "reads and writes")
            self.assertEqual((row["device"], row["kernel"], row["threads"]), ("opencl:0", None, 0))
            self.assertEqual(len(row["samples_ns"]), 2)
            self.assertEqual(row["messages"], 5 if row["mode"] == "gcm" else 1)
            self.assertEqual(row["timeline_ns"]["kernel"], row["median_ns"])
        own = [row for row in report["results"] if row["rival"] is None]
        self.assertTrue(own and all(row["traffic"] is None for row in own))
        self.assertRegex(report["context"]["libraries"]["mine"], "^of the tests, SHA-256 ")
        # The speeds stand side by side.
        self.assertIn("/mine", done.stderr)
        reasons = {row["reason"] for row in report["skipped"] if row["rival"] == "mine"}
        self.assertTrue(any("no GCM decryption" in reason for reason in reasons), reasons)

    def test_other_modes_and_keys_are_skipped_with_the_reason(self):
        library = self.opencl("-DONE_KEY_SIZE")
        done, report = self.report(*ON_OPENCL, "--rival", f"mine={library}", "--key-bits",
                                   "128,256", size="65536")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({row["key_bits"] for row in self.rows(report)}, {128})
        skipped = {(row["mode"], row["key_bits"]): row["reason"] for row in report["skipped"]
                   if row["rival"] == "mine"}
        self.assertIn("rivals on GPUs have ECB, CTR and GCM", skipped["xts", 128])
        self.assertIn("rivals on GPUs have ECB, CTR and GCM", skipped["cbc", 128])
        self.assertIn("rival_device_open returned 104", skipped["ctr", 256])

    def test_calls_that_refuse_are_skipped_with_what_they_return(self):
        library = self.opencl("-DREFUSES=77", "-DAFTER=0")
        done, report = self.report(*ON_OPENCL, "--rival", f"mine={library}", "--mode", "ctr")
        self.assertEqual(self.rows(report), [])
        self.assertIn("its rival_device_ctr returned 77", done.stderr)

    def encrypt(self, *flags, mode="ctr", status=0):
        """Measures a rival with these flags of its compiler. Returns its row and what was said."""
        done, report = self.report(*ON_OPENCL, "--rival", f"mine={self.opencl(*flags)}", "--mode",
                                   mode, "--direction", "encrypt")
        self.assertEqual(done.returncode, status, done.stderr)
        (row,) = self.rows(report)
        return row, done.stderr

    def assert_wrong(self, *flags, mode="ctr", said=""):
        with self.subTest(flags=flags, mode=mode):
            row, found = self.encrypt(*flags, mode=mode, status=1)
            self.assertIs(row["verified"], False)
            self.assertIn(said, found)
            return found

    def test_calls_that_refuse_later_are_wrong(self):
        found = self.assert_wrong("-DREFUSES=78", "-DAFTER=1",
                                  said="rival_device_ctr of mine returned 78")
        # A wrong row has no ratios.
        self.assertNotRegex(found, RATIO)

    def test_work_that_is_on_another_queue_is_found(self):
        # Every call computes the right bytes, but some calls too late.
        self.assert_wrong("-DLATE", "-pthread")

    def test_output_that_is_kept_from_an_earlier_call_is_found(self):
        for mode in ("ecb", "ctr", "gcm"):
            self.assert_wrong("-DKEEPS", mode=mode)

    def test_writing_elsewhere_is_found(self):
        for place in ("0", "69999", "BEHIND"):
            self.assert_wrong(f"-DSPOILS={place}",
                              said="mine writes to its input, or behind its output")

    def test_work_in_place_begins_with_the_text(self):
        # Equal blocks would make tables faster: there is the pattern, or what a call made of it.
        library = self.opencl("-DDIFFERENT_BLOCKS")
        done, report = self.report(*ON_OPENCL, "--rival", f"mine={library}", "--mode", "ecb",
                                   "--in-place", "yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["verified"] for row in self.rows(report)], [True] * 2, done.stderr)

    def test_wrong_bytes_are_found_wherever_they_are(self):
        # In the text, in its last byte, and in a tag.
        for mode, flip in (("ctr", 0), ("ctr", 69999), ("gcm", 20000), ("gcm", 70010)):
            self.assert_wrong(f"-DFLIP={flip}", mode=mode, said="WRONG")

    def test_key_stream_that_is_stored_is_verified(self):
        row, found = self.encrypt("-DGENERATES=1")
        self.assertIs(row["verified"], True)
        self.assertEqual(row["traffic"], "generates only")
        self.assertIn("(mine, generates only)", found)
        # A rival that moves no text is not compared with rows that do.
        self.assertNotRegex(found, RATIO)

    def test_wrong_key_stream_is_found(self):
        library = self.opencl("-DGENERATES=1", "-DFLIP=69999")
        done, report = self.report(*ON_OPENCL, "--rival", f"mine={library}", "--mode", "ctr")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(all(row["verified"] is False for row in self.rows(report)))

    def test_what_stores_nothing_is_called_not_verified(self):
        row, found = self.encrypt("-DGENERATES=0")
        self.assertIsNone(row["verified"])
        self.assertIn("stores nothing", row["verified_reason"])
        self.assertIn("not verified: mine", found)

    def test_several_rivals_stand_beside_each_other(self):
        one, two = self.opencl(), self.opencl("-DFLIP=3", name="other.so")
        done, report = self.report(*ON_OPENCL, "--rival", f"mine={one}", "--rival", f"other={two}",
                                   "--mode", "ctr", "--direction", "encrypt")
        self.assertEqual(done.returncode, 1)
        self.assertEqual([row["verified"] for row in self.rows(report)], [True])
        self.assertEqual([row["verified"] for row in self.rows(report, "other")], [False])


# A rival with the functions that it needs, and one of a mode more.
START = '#include "rival_device.h"\n'
OPENED = START + """
int rival_device_open(const struct rival_device *d, const uint8_t *k, size_t n, void **s) {
  return 0;
}
"""
CLOSED = OPENED + "void rival_device_close(void *s) {}\n"
CTR = CLOSED + """
int rival_device_ctr(void *s, const uint8_t c[16], const void *i, void *o, size_t n) { return 0; }
"""
ECB = CTR + """
int rival_device_ecb(void *s, const void *i, void *o, size_t n, int d) { return 0; }
"""


class Libraries(DeviceRival):
    def build_text(self, text):
        return self.build(self.write("mine.c", text), "-x", "c", "-w")

    def test_libraries_that_lack_something_are_refused(self):
        says = 'const char *rival_device_traffic(void) {{ return {}; }}\n'
        for text, said in (
            (START, "it defines neither rival_ecb (CPU) nor rival_device_open (GPUs)"),
            (OPENED, "for GPUs it needs"),
            (CLOSED, "for GPUs it needs"),
            (CTR + says.format('"reads"'), "rival_device_traffic returns neither"),
            (CTR + says.format("0"), "rival_device_traffic returns neither"),
            (ECB + says.format('"generates only"'), "only CTR can do without the text"),
        ):
            with self.subTest(said=said):
                done = self.bench("--device", "cuda:0", "--rival", f"mine={self.build_text(text)}")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)
        done = self.bench("--rival", f"mine={self.build_text(CTR)}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("mine is for GPUs: add one to --device", done.stderr)

    def test_a_device_that_is_absent_skips_its_rows(self):
        done, report = self.report("--device", "cpu,opencl:999", "--rival",
                                   f"mine={self.build_text(CTR)}", "--mode", "ctr")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(report["results"])
        self.assertIn("opencl:999", {row["device"] for row in report["skipped"]})


class OnCuda(DeviceRival):
    """The example, on a stand-in for CUDA's driver, which runs no programs of paraes."""

    def setUp(self):
        super().setUp()
        compiler = self.folder / "libnvrtc.so"
        shutil.copy(os.environ["PARAES_FAKE_NVRTC"], compiler)
        self.write("libnvrtc.so.says", "version 12 0\ntargets 75 80 90\n")
        self.variables = {"LD_LIBRARY_PATH": os.environ["PARAES_FAKE_DRIVERS"],
                          "PARAES_NVRTC": str(compiler)}
        self.example = self.build(EXAMPLE, "-x", "c++", "-std=c++17", "-Wall",
                                  f"-I{SOURCE / 'tests/bench/stand_in'}")

    def test_example_is_verified_in_the_context_and_on_the_stream_of_the_bench(self):
        done, report = self.report("--device", "cuda:0", "--kernel", "ttable", "--mode", "ctr,gcm",
                                   "--key-bits", "128,256", "--rival", f"mine={self.example}")
        self.assertEqual(done.returncode, 0, done.stderr)
        mine = self.rows(report)
        self.assertEqual({(row["mode"], row["key_bits"], row["verified"]) for row in mine},
                         {("ctr", 128, True)}, done.stderr)
        self.assertIn("rival_device_open returned 1 for this device and 256-bit keys", done.stderr)

    def test_work_that_the_stream_does_not_know_of_is_found(self):
        self.variables["PARAES_FAKE_CUDA"] = "others:20"  # work of the device, in milliseconds
        done, report = self.report("--device", "cuda:0", "--kernel", "ttable", "--mode", "ctr",
                                   "--direction", "encrypt", "--rival", f"mine={self.example}",
                                   size="4096")
        self.assertEqual([row["verified"] for row in self.rows(report)], [False], done.stderr)
        self.assertIn("mine does not use the stream that it was given", done.stderr)

    @unittest.skipIf(NVCC is None, "CUDA's compiler nvcc is not installed")
    def test_example_is_accepted_by_the_compiler_of_cuda(self):
        library = self.folder / "mine.so"
        compiling = [NVCC, "-O3", "-shared", "-Xcompiler", "-fPIC", "-arch=sm_90", HEADER]
        subprocess.run([*compiling, EXAMPLE, "-o", library], check=True)
        library.chmod(0o755)
        done = self.bench("--device", "cuda:0", "--rival", f"mine={library}", "--mode", "ctr",
                          "--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("(mine)", done.stdout)


if __name__ == "__main__":
    unittest.main()
