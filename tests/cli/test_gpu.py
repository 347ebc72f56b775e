"""--device: every format on the first OpenCL device (PoCL where there is no GPU), and driver
failures with a fake CUDA driver."""

import itertools
import json
import os
import re
import shutil
import subprocess
import unittest

import support
from recipients import new_identity
from support import IV, KEYS, LONG, Case, file_reports, pattern

support.DEADLINE = 300  # GPU programs are compiled at first use
DEVICE = "opencl:0"
GPU = ["--key-file", "k32", "--device", DEVICE]
FAKE = os.environ.get("PARAES_FAKE_DRIVERS", "")
FAKE_NVRTC = os.environ.get("PARAES_FAKE_NVRTC", "")


def missing_device():
    """Why the tests cannot use DEVICE, or None."""
    if os.environ.get("PARAES_REQUIRE_DEVICE"):
        return None
    listed = json.loads(subprocess.run([support.BIN, "devices", "--json"], stdout=subprocess.PIPE,
                                       check=True).stdout)
    for device in listed["devices"]:
        if device["id"] == DEVICE:
            return None if device["available"] else device["reason"]
    return f"there is no device {DEVICE}"


REASON = missing_device()


@unittest.skipIf(REASON, REASON)
class GpuFiles(Case):
    data = pattern(300_001)
    GIVEN = {"f": data, "k16": KEYS[128], "k32": KEYS[256]}

    def test_openssl_opens_the_openssl_format_of_the_gpu(self):
        self.write("p", b"word", 0o600)
        flags = ["--format", "openssl", "--mode", "ctr", "--passphrase-file", "p", "--device", DEVICE]
        self.ok("encrypt", *flags, "-o", "e", "f")
        self.assertEqual(self.openssl("enc", "-d", "-aes-256-ctr", "-pbkdf2", "-pass", "file:p",
                                      "-in", "e"), self.data)
        self.assertEqual(self.ok("decrypt", *flags, "-c", "e"), self.data)

    def test_gpu_and_cpu_open_each_others_files_in_every_format(self):
        iv = ["--iv-hex", IV.hex()]
        cases = [(["--format", "paraes"], "k32"), (["--format", "c2sp"], "k32"),
                 (["--format", "tink"], "k16"),
                 (["--format", "tink", "--segment-size", "4096", "--tink-hash", "SHA512"], "k32"),
                 (["--format", "tink", "--segment-size", "5001"], "k32"),
                 (["--format", "raw", "--mode", "ctr", *iv], "k16"),
                 (["--format", "raw", "--mode", "ecb"], "k32"),
                 (["--format", "raw", "--mode", "cbc", *iv], "k16"),
                 (["--format", "raw", "--mode", "xts", *iv], "k32"),
                 (["--format", "raw", "--mode", "xts", "--unit", "4099", *iv], "k32")]
        # Each process loads a GPU program, which is slow: formats take turns with smaller sizes.
        for first, step, size in ((0, 3, 0), (1, 3, 1), (0, 1, 4097) if LONG else (2, 3, 4097),
                                  (0, 1, len(self.data))):
            self.write("f", self.data[:size])
            for flags, key in cases[first::step]:
                if "xts" in flags and size < 16:
                    continue
                options = [*flags, "--key-file", key]
                with self.subTest(flags=flags, size=size):
                    self.ok("encrypt", "-f", *options, "--device", DEVICE, "-o", "gpu", "f")
                    self.ok("decrypt", "-f", *options, "-o", "back", "gpu")
                    self.assertEqual(self.read("back"), self.data[:size])
                    self.ok("encrypt", "-f", *options, "-o", "cpu", "f")
                    self.ok("decrypt", "-f", *options, "--device", DEVICE, "-o", "back", "cpu")
                    self.assertEqual(self.read("back"), self.data[:size])
                    if "raw" in flags:
                        self.assertEqual(self.read("gpu"), self.read("cpu"))

    def test_every_kernel_transfer_and_key_expansion_round_trips(self):
        kernels = [k["name"] for k in self.report("devices")["kernels"]
                   if "opencl" in k["devices"]]
        self.assertIn("bitslice", kernels)
        ways = ([], ["--transfer", "mapped"], ["--key-expansion", "device"])
        for kernel, flags in itertools.product(kernels, ways):
            with self.subTest(kernel=kernel, flags=flags):
                report = self.report("encrypt", "-f", *GPU, "--kernel", kernel, *flags, "-o", "e", "f")
                self.assertEqual((report["kernel"], report["device"]), (kernel, DEVICE))
                self.assertEqual(self.ok("decrypt", "--key-file", "k32", "-c", "e"), self.data)

    def test_rekey_and_recipients(self):
        to_me = ["--to-recipient", new_identity(self.path("me.txt"))]
        me = ["-i", "me.txt"]
        self.ok("encrypt", "--key-file", "k16", "-o", "f.paes", "f")
        for old, new, read in ((["-k", "k16"], ["--to-key-file", "k32"], ["-k", "k32"]),
                               (["-k", "k32"], to_me, me), (me, [*to_me, "--verify"], me),
                               (me, [*to_me, "--new-key", "--key-bits", "128"], me)):
            with self.subTest(new=new):
                report = self.report("rekey", "-q", "--device", DEVICE, *old, *new, "f.paes")
                self.assertEqual((report["kernel"], report["device"]), ("bitslice", DEVICE))
                for device in ("cpu", DEVICE):
                    got = self.ok("decrypt", *read, "--device", device, "-c", "f.paes")
                    self.assertEqual(got, self.data)
        self.damage("f.paes", -20_000)
        damaged = self.read("f.paes")
        for flags in (["--verify"], ["--new-key"]):
            self.fails(4, "rekey", "--device", DEVICE, *me, *to_me, *flags, "f.paes",
                       says="does not authenticate")
            self.assertEqual(self.read("f.paes"), damaged)

    def test_auto_kernel_is_bitslice_and_ttable_with_allow_leaky(self):
        for flags, kernel, why in (
                ([], "bitslice", "the fastest constant-time one available"),
                (["--allow-leaky"], "ttable", "the fastest one available")):
            command = ["encrypt", "-f", "--key-file", "k32", "--device", "opencl", *flags, "-o", "e", "f"]
            report = self.report(*command)
            self.assertEqual(report["kernel"], kernel)
            said = self.exits(0, *command, "-v").stderr.decode()
            self.assertIn(f"kernel {kernel}: {why};", said)
            for name, phase in report["timeline_ns"].items():
                self.assertGreater(phase, 0, name)
        self.fails(2, "encrypt", *GPU, "--kernel", "vaes512", "f", says=["vaes512", "bitslice"])

    def test_pipes_ranges_and_verify(self):
        sealed = self.ok("encrypt", *GPU, "-", stdin=self.data)
        self.write("e.paes", sealed)
        self.ok("verify", *GPU, "e.paes")
        self.assertEqual(self.ok("decrypt", *GPU, "-", stdin=sealed), self.data)
        got = self.ok("decrypt", *GPU, "--offset", "20000", "--length", "70000", "-c", "e.paes")
        self.assertEqual(got, self.data[20000:90000])

    def test_cpu_and_gpu_share_files(self):
        pair = ["--device", f"cpu+{DEVICE}"]
        self.data = pattern(9_000_001)
        self.write("f", self.data)
        for flags in ([], ["--format", "c2sp"], ["--format", "tink"],
                      ["--format", "tink", "--segment-size", "5001"]):
            with self.subTest(flags=flags):
                report = self.report("encrypt", "-f", *flags, "-k", "k32", *pair, "-o", "e", "f")
                self.assertEqual(report["device"], f"cpu+{DEVICE}")
                self.assertRegex(report["kernel"], r"^\w+\+bitslice$")
                self.assertEqual(self.ok("decrypt", *flags, "-k", "k32", "-c", "e"), self.data)
                self.ok("decrypt", "-f", *flags, "-k", "k32", *pair, "-o", "back", "e")
                self.assertEqual(self.read("back"), self.data)
                sealed = self.ok("encrypt", *flags, "-k", "k32", *pair, "-", stdin=self.data)
                got = self.ok("decrypt", *flags, "-k", "k32", *pair, "-", stdin=sealed)
                self.assertEqual(got, self.data)
        self.ok("encrypt", "-k", "k16", *pair, "-o", "f.paes", "f")
        self.ok("rekey", "-k", "k16", "--to-key-file", "k32", *pair, "f.paes")
        self.ok("verify", "-k", "k32", *pair, "f.paes")
        self.damage("f.paes", 5_000_000)
        self.fails(4, "decrypt", "-k", "k32", *pair, "-o", "none", "f.paes",
                   says="does not authenticate")
        self.assertNotIn("none", self.names())
        for size in (700_000, 100):
            self.write(f"d/{size}", pattern(size))
        self.ok("encrypt", "-r", "-k", "k32", *pair, "-o", "out", "d/.")
        self.ok("decrypt", "-r", "-k", "k32", "-o", "backs", "out/.")
        for size in (700_000, 100):
            self.assertEqual(self.read(f"backs/{size}"), pattern(size))

    def test_cpu_and_gpu_share_no_format_without_segments(self):
        for flags in (["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex(), "-k", "k32"],
                      ["--format", "openssl", "--passphrase-file", "k32"]):
            self.fails(2, "encrypt", *flags, "--device", f"cpu+{DEVICE}", "-o", "e", "f",
                       says=f"--device cpu+{DEVICE} shares out segments")
        self.fails(2, "encrypt", "-k", "k32", "--device", "cpu+cpu", "-o", "e", "f",
                   says="there is no device 'cpu+cpu'")
        self.assertNotIn("e", self.names())

    def test_damaged_segment_is_refused_and_salvaged(self):
        self.ok("encrypt", "--key-file", "k32", "-o", "e.paes", "f")
        self.damage("e.paes", 100_000, 4)
        decrypt = ["decrypt", *GPU, "-o", "b", "e.paes"]
        self.fails(4, *decrypt)
        self.assertFalse(self.path("b").exists())
        self.fails(3, *decrypt, "--salvage")
        saved = self.read("b")
        self.assertEqual(len(saved), len(self.data))
        lost = sum(a != b for a, b in zip(saved, self.data, strict=True))
        self.assertTrue(0 < lost <= 16384, lost)


@unittest.skipIf(REASON, REASON)
class GpuSmallFiles(Case):
    """Small files, whose messages go to the device in batches."""

    GIVEN = {"k": KEYS[256]}

    def setUp(self):
        super().setUp()
        self.files = {f"{'sub/' if i % 3 == 0 else ''}{i}": pattern((i * 53) % 5001)
                      for i in range(100)}
        for name, data in self.files.items():
            self.write(f"d/{name}", data)

    def tree(self, folder):
        top = self.path(folder)
        return {str(path.relative_to(top)): path.read_bytes()
                for path in top.rglob("*") if path.is_file()}

    def run_many(self, *args, status=0):
        """Returns the number of files in each batch, and the other lines of standard error."""
        text = self.exits(status, *args, "--device", DEVICE, "--key-file", "k", "-v").stderr.decode()
        lines = [line for line in text.splitlines() if " -> " not in line and "AES-" not in line]
        batches = [int(line.split()[1]) for line in lines if line.endswith("files at once")]
        return batches, [line for line in lines if not line.endswith("files at once")]

    def test_a_batch_round_trips_in_every_format(self):
        for flags in ([], ["--format", "c2sp"], ["--format", "tink", "--segment-size", "1000"],
                      ["--kernel", "ttable", "--key-expansion", "device"]):
            with self.subTest(flags=flags):
                for made in ("out", "back"):
                    shutil.rmtree(self.path(made), ignore_errors=True)
                same = flags if "--format" in flags else []
                batches, lines = self.run_many("encrypt", "-r", *flags, "-o", "out", "d/.")
                self.assertEqual((batches, len(lines)), ([100], 1))
                self.assertIn("100 files encrypted", lines[0])
                self.assertEqual(sorted(self.tree("out")), sorted(f"{n}.paes" for n in self.files))
                self.ok("decrypt", "-r", *same, "--key-file", "k", "-o", "back", "out/.")
                self.assertEqual(self.tree("back"), self.files)
                shutil.rmtree(self.path("out"))
                shutil.rmtree(self.path("back"))
                self.ok("encrypt", "-r", *same, "--key-file", "k", "-o", "out", "d/.")
                batches, lines = self.run_many("decrypt", "-r", *flags, "-o", "back", "out/.")
                self.assertEqual((batches, len(lines)), ([100], 1))
                self.assertEqual(self.tree("back"), self.files)
                batches, lines = self.run_many("verify", "-r", *flags, "out")
                self.assertEqual(batches, [100])
                self.assertIn("100 files intact", lines[0])

    def test_large_files_are_not_batched_and_many_small_ones_take_several_batches(self):
        self.write("d/large", pattern(300_000))
        self.write("d/empty", b"")
        for i in range(1000):
            self.write(f"d/more{i}", b"x")
        batches, lines = self.run_many("encrypt", "-r", "-o", "out", "d/.")
        self.assertEqual(batches, [1024, 1101 - 1024])
        self.assertIn("1102 files encrypted", lines[0])
        self.ok("decrypt", "-r", "--key-file", "k", "-o", "back", "out/.")
        self.assertEqual(self.tree("back"), self.tree("d"))

    def test_each_bad_file_of_a_batch_gets_its_own_error(self):
        # A wrong key, a missing header, an existing target and a damaged segment.
        self.ok("encrypt", "-r", "--key-file", "k", "-o", "out", "d/.")
        self.write("k2", bytes(32))
        self.ok("encrypt", "--key-file", "k2", "-f", "-o", "out/1.paes", "d/1")
        self.write("out/2.paes", b"PARAES\r\n")
        self.write("back/4", b"old")
        self.damage("out/77.paes", -1)
        done = self.exits(3, "decrypt", "-r", "--json", "-v", "--device", DEVICE, "--key-file", "k",
                          "-o", "back", "out/.")
        reports = file_reports(done.stdout)
        self.assertEqual(len(reports), 100)
        exits = {name: r["exit"] for name, r in reports.items() if r["exit"] != 0}
        self.assertEqual(exits, {"out/./1.paes": 5, "out/./2.paes": 4, "out/./4.paes": 2,
                                 "out/./77.paes": 4})
        for text in (b"97 files at once\n", b"77.paes: segment 0 does not authenticate",
                     b"96 files decrypted", b"4 failed"):
            self.assertEqual(done.stderr.count(text), 1, done.stderr)
        good = reports["out/./5.paes"]
        self.assertEqual((good["bytes"], good["device"], good["kernel"], good["output"],
                          good["status"]), (5 * 53, DEVICE, "bitslice", "back/5", "ok"))
        for name, phase in good["timeline_ns"].items():
            self.assertGreater(phase, 0, name)
        for name in ("1", "2", "77"):
            del self.files[name]
        self.assertEqual(self.tree("back"), {**self.files, "4": b"old"})

    def test_batches_keep_mode_and_time_and_rm_keeps_failed_sources(self):
        os.chmod(self.path("d/7"), 0o640)
        os.utime(self.path("d/7"), ns=(0, 1234567890123456789))
        self.write("d/8.paes", b"in the way")
        self.run_many("encrypt", "-r", "--rm", "d", status=3)
        self.assertEqual(sorted(self.tree("d")),
                         sorted(["8"] + [f"{name}.paes" for name in self.files]))
        status = self.path("d/7.paes").stat()
        self.assertEqual((status.st_mode & 0o777, status.st_mtime_ns), (0o640, 1234567890123456789))
        self.path("d/8.paes").unlink()
        self.path("d/8").unlink()
        del self.files["8"]
        self.run_many("decrypt", "-r", "--rm", "d")
        self.assertEqual(self.tree("d"), self.files)

    def test_missing_device_creates_no_output(self):
        self.fails(1, "encrypt", "-r", "--key-file", "k", "--device", "opencl:99", "-o", "out", "d",
                   says="opencl:99")
        self.assertFalse(self.path("out").exists())

    def test_salvage_no_overlap_raw_and_single_files_are_not_batched(self):
        names = [f"d/{i}" for i in range(1, 20, 3)]
        self.ok("encrypt", "--key-file", "k", "-o", "out", *names)
        # d/0 does not exist, which leaves a single file.
        for status, *args in ((0, "decrypt", "-r", "--salvage", "-o", "back", "out/."),
                              (0, "encrypt", "-f", "--no-overlap", "-o", "out", *names),
                              (0, "encrypt", "-f", "--format", "raw", "--mode", "ecb", "-o", "out",
                               *names),
                              (3, "encrypt", "-f", "-o", "out", names[0], "d/0")):
            self.assertEqual(self.run_many(*args, status=status)[0], [], args)
        self.assertEqual(self.tree("back"), {name[2:]: self.read(name) for name in names})


class FakeNvrtc(Case):
    """Gives each test the environment `nvrtc`, with a compiler of programs of a few bytes."""

    def setUp(self):
        super().setUp()
        if not FAKE_NVRTC:
            self.skipTest("PARAES_FAKE_NVRTC names no library")
        nvrtc = self.dir / "nvrtc"
        nvrtc.mkdir()
        shutil.copy(FAKE_NVRTC, nvrtc / "libnvrtc.so")
        (nvrtc / "libnvrtc.so.says").write_text("version 1 2\ntargets 80 90\n")
        self.nvrtc = {"PARAES_NVRTC": str(nvrtc / "libnvrtc.so")}


@unittest.skipIf(not FAKE, "PARAES_FAKE_DRIVERS names no folder")
class FailingCudaDriver(FakeNvrtc):
    """The fake CUDA driver accepts every call and every program, and its kernels compute nothing."""

    GIVEN = {"f": pattern(100_000), "k": KEYS[256]}
    flags = ["--key-file", "k", "--device", "cuda", "--kernel", "reference"]
    compile = ["devices", "--compile", "--arch", "sm_90", "--kernel", "reference", "-o"]

    def setUp(self):
        super().setUp()
        self.ok(*self.compile, "programs", env=self.nvrtc)
        self.env = {"LD_LIBRARY_PATH": FAKE, "XDG_CACHE_HOME": str(self.dir),
                    "PARAES_PROGRAM_PATH": str(self.path("programs"))}

    def check_error(self, directive, *says):
        before = self.names()
        self.fails(1, "encrypt", *self.flags, "-o", "e", "f",
                   env={**self.env, "PARAES_FAKE_CUDA": "kernels:1," + directive}, says=says)
        self.assertEqual(self.names(), before)

    def test_error_names_the_driver_call_that_failed(self):
        self.check_error("devices:0", "cuda")
        self.check_error("fail:cuMemAlloc_v2:0:2", "cuMemAlloc_v2", "(2)", "out of memory")
        for call, nth, error in (("cuInit", 1, 999), ("cuModuleLoadData", 1, 200),
                                 ("cuMemHostAlloc", 0, 2), *(("cuLaunchKernel", n, 719) for n in (1, 2, 3)),
                                 ("cuMemcpyDtoHAsync_v2", 1, 214), ("cuEventSynchronize", 1, 700)):
            self.check_error(f"fail:{call}:{nth}:{error}", call, str(error))
        self.check_error("lose:719", "719")

    def test_a_failed_allocation_leads_to_smaller_launches(self):
        # The third allocation fails.
        self.ok("encrypt", *self.flags, "-o", "e", "f",
                env={**self.env, "PARAES_FAKE_CUDA": "kernels:1,fail:cuMemAlloc_v2:3:2"})

    def test_without_nvrtc_a_compiled_program_is_needed(self):
        env = {**self.env, "PARAES_NVRTC": "/nowhere/libnvrtc.so", "PARAES_FAKE_CUDA": "kernels:1"}
        self.ok("encrypt", *self.flags, "-o", "e", "f", env=env)
        del env["PARAES_PROGRAM_PATH"]
        self.fails(1, "encrypt", *self.flags, "-o", "e2", "f", env=env,
                   says=["NVRTC", "PARAES_PROGRAM_PATH", "--arch sm_90"])

    def test_command_in_the_error_of_a_damaged_program_compiles_it_again(self):
        env = {**self.env, "PARAES_FAKE_CUDA": "kernels:1"}
        for program in self.path("programs").iterdir():
            program.write_bytes(program.read_bytes()[:-1])
        done = self.run_paraes("encrypt", *self.flags, "-o", "e", "f", env=env)
        self.assertEqual(done.returncode, 1, done.stderr)  # the data is intact
        command = re.search(r"`paraes (devices --compile --arch sm_90 -o \S+)` compiles it again",
                            done.stderr.decode())
        self.ok(*command[1].split(), "--kernel", "reference", env=self.nvrtc)
        self.ok("encrypt", *self.flags, "-o", "e", "f", env=env)


@unittest.skipIf(not FAKE, "PARAES_FAKE_DRIVERS names no folder")
class FakeCudaDriver(Case):
    GIVEN = {"k": KEYS[256]}
    env = {"LD_LIBRARY_PATH": FAKE, "PARAES_NVRTC": "/nowhere/libnvrtc.so"}

    def test_devices_json_says_why_a_gpu_has_no_compiler(self):
        listed = self.report("devices", env=self.env)["devices"]
        rows = {row["id"]: row for row in listed}
        self.assertIsNone(rows["cuda:0"]["compiler"])
        self.assertIn("/nowhere/libnvrtc.so", rows["cuda:0"]["compiler_reason"])
        self.assertIsNone(rows["cpu"]["compiler_reason"])

    def test_unknown_gpu_kernel_names_the_flag_or_the_variable(self):
        run = ["encrypt", "--device", "cuda", "--key-file", "k", "-"]
        self.fails(2, *run, "--kernel", "vaes512x", env=self.env,
                   says=["paraes: --kernel: there is no GPU kernel 'vaes512x'", "the GPU kernels are auto, "])
        self.fails(2, *run, env={**self.env, "PARAES_KERNEL": "aesni"},
                   says="paraes: PARAES_KERNEL: there is no GPU kernel 'aesni'")


class DevicesCompile(FakeNvrtc):
    def test_bad_flags_of_devices_compile_are_refused(self):
        run = ["--compile", "--arch", "sm_90", "-o", "p"]
        for flags, says in (
                (["--compile"], "--arch"), (["--compile", "--arch", "sm_90"], "-o"),
                (["--arch", "sm_90"], "--compile"),
                ([*run, "--gpu-tuning", "tables=4"], "--gpu-tuning needs --kernel"),
                ([*run, "--gpu-tuning", "streams=2", "--kernel", "ttable"],
                 "tables, groups and ghash only"),
                ([*run, "--gpu-tuning", "tables=3", "--kernel", "ttable"],
                 "there are 1, 2 or 4 tables"),
                (["--gpu-tuning", "tables=4"], "go with --compile"),
                (["--compile", "--arch", "x86", "-o", "p"], "x86"),
                ([*run, "--kernel", "aesni"], "--kernel: there is no GPU kernel 'aesni'"),
                ([*run, "--kernel", "bitslicex"], "--kernel: there is no GPU kernel 'bitslicex'")):
            self.fails(2, "devices", *flags, says=says)
            self.assertNotIn("p", self.names())

    def test_nothing_is_made_unless_every_target_is_known(self):
        def compiled(kernel, arch, *flags):
            return self.ok("devices", "--compile", "--kernel", kernel, "-o", "p", "--arch", arch,
                           *flags, env=self.nvrtc).decode().split()

        for arch, says in (("sm_80,x86", "x86"), ("sm_80,sm_70", "sm_70"), ("sm_", "names like sm_90")):
            self.fails(2, "devices", "--compile", "--kernel", "bitslice", "-o", "p", "--arch", arch,
                       env=self.nvrtc, says=says)
            self.assertNotIn("p", self.names())
        os.umask(0o027)
        self.addCleanup(os.umask, 0o022)
        lines = compiled("bitslice", "sm_80,sm_90")
        self.assertEqual(sorted(lines), sorted(f"p/{f.name}" for f in self.path("p").iterdir()))
        for line in lines:
            self.assertTrue(self.read(line).endswith(b"fake 1.2"))
            self.assertEqual(self.path(line).stat().st_mode & 0o777, 0o640)
        tuned = compiled("ttable", "sm_80", "--gpu-tuning", "ghash=tensor,groups=2")
        self.assertFalse(set(tuned) & set(lines))
        # Again, into the same folder.
        self.assertEqual(compiled("bitslice", "sm_80,sm_90"), lines)
