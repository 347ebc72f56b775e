"""Tests of tests/gpu/pack, and of tests/gpu/check with stand-ins for paraes and its tests."""

import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import time
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["PARAES_BUILD"])
LONG = os.environ.get("PARAES_LONG") == "1"
PROGRAMS = ("modes", "many", "device_ciphers", "device_texts")

# A stand-in for paraes. FAKE names what it does wrong.
FAKE = """\
    #!{python}
    import json, os, pathlib, subprocess, sys
    fake = os.environ.get("FAKE", "").split()
    words = sys.argv[1:]
    with open({log!r}, "a") as log:
        log.write(" ".join(words) + "\\n")
    if words[0] == "devices":
        row = dict(id="cuda:0", name="Stand-in", driver="1", reason=None, available="absent" not in fake,
                   type="gpu", same_as=None)
        rows = [row, dict(row, id="opencl:0", type="cpu")]
        if "opencl" in fake:
            rows += [dict(row, id="opencl:1"), dict(row, id="opencl:2", same_as="cuda:0")]
        print(json.dumps({{"devices": rows}}))
    elif words[0] == "bench":
        axes = dict(zip(words[1::2], words[2::2]))
        if axes["--scope"] in fake:
            print("the driver crashed", file=sys.stderr)
            sys.exit(1)
        if "slow-" + axes["--scope"] in fake:
            subprocess.run(["sleep", "60"])
        row = dict(rival=None, device="cuda:0", kernel="bitslice", mode="ctr", key_bits=128,
                   direction="encrypt", transfer=None, format=None, scope=axes["--scope"], bytes=1 << 30,
                   bytes_per_second=250e9, verified="wrong" not in fake)
        skipped = [dict(row, reason="no room")] * 2
        if "--rival" in axes:
            name = axes["--rival"].split("=")[0]
            right = name == "example" or "blind" in fake
            row.update(rival=name, kernel=None, verified=right)
            fake = [] if right else ["wrong"]
        results = [row]
        if axes["--rivals"] == "pinned-copy":
            row["transfer"] = axes["--transfer"].split(",")[-1]
            results += [dict(row, rival="pinned-copy", kernel=None, mode=None, key_bits=None, direction=None,
                             transfer=None, bytes_per_second=312.5e9)]
        print(json.dumps({{"schema": 7, "results": results, "skipped": skipped}}))
        sys.exit(1 if "wrong" in fake else 0)
    elif words[0] == "lab" and "lab" in fake:
        if words[1:] != ["reproduce", "--help"]:
            folder = pathlib.Path(words[words.index("-o") + 1])
            parts = folder / "parts"
            parts.mkdir(parents=True, exist_ok=True)
            (parts / str(len(list(parts.iterdir())))).touch()
            (folder / "report.html").touch()
            if "unfinished" in fake:
                print("paraes-lab: the time is over; 9 processes are left", file=sys.stderr)
                sys.exit(3)
    elif words != ["lab", "--help"]:
        sys.exit(1)
"""
FAKE_NCU = """\
    #!{python}
    import os, sys
    words = sys.argv[1:]
    run = " ".join(words[words.index(axis) + 1] for axis in ("--kernel", "--mode"))
    print("profiled", run, "launches", words[words.index("-c") + 1])
    if run == os.environ.get("FAKE"):
        sys.exit(0)
    print("  ctr (132, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0")
    print("    Section: GPU Speed Of Light Throughput")
    print("    Memory Throughput                 %        45.67")
    print("    Memory Throughput      Tbyte/second         1.23")
"""
FAKE_NVCC = """\
    #!{python}
    import shutil, sys
    shutil.copy(sys.argv[-3], sys.argv[-1])
"""
FAKE_SANITIZER = """\
    #!{python}
    import subprocess, sys
    print("sanitizer:", *sys.argv[1:4])
    sys.exit(subprocess.run(sys.argv[5:]).returncode)
"""
# FAKE has "gpu" if a library of arrays has one.
FAKE_SCRIPT = """\
    import os, sys
    import from_the_wheel
    with open(sys.argv[2], "w") as file:
        file.write("{}")
    absent = "no library has a GPU, no torch with a GPU"
    print("right" if "gpu" in os.environ.get("FAKE", "") else absent)
"""
FAKE_TESTS = """\
    #!{python}
    import os, pathlib, sys
    fake = os.environ.get("FAKE", "").split()
    assert os.environ["PARAES_REQUIRE_DEVICE"] == "1"
    assert os.environ["PARAES_TEST_DEVICE"] == ("opencl:2" if "LD_PRELOAD" in os.environ else "cuda:0")
    if "LD_PRELOAD" in os.environ:
        print("trace", os.environ["LD_PRELOAD"], os.environ["PARAES_FAKE_OPENCL"])
        if "deaf" not in fake:
            print("launch of ecb_encrypt, 1 x 256 threads: 0")
        cache = pathlib.Path(os.environ["XDG_CACHE_HOME"])
        (cache / sys.argv[1].rpartition("/")[2]).write_text("compiled by the driver")
        if "crash" in fake and "ttable " in " ".join(sys.argv):
            print("launch of ctr, 1 x 256 threads: -36")
            sys.exit(1)
    programs = pathlib.Path(os.environ.get("PARAES_PROGRAM_PATH", "none"))
    for path in (programs, *programs.glob("*")):
        print("program", path, oct(path.stat().st_mode & 0o777), path.stat().st_uid == os.geteuid())
    print("[==========] 9 tests from 2 test suites ran.")
    if "skip" in fake:
        print("[  SKIPPED ] 1 test")
    print("[  PASSED  ] 9 tests.")
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = pathlib.Path(folder.name)
        self.packed = self.scratch / "packed"
        self.results = self.scratch / "results"

    def check(self, *arguments, status=0, **environment):
        # Nothing of this machine's environment, as on the machine with the GPU.
        done = subprocess.run([sys.executable, self.packed / "check", *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={"PATH": os.defpath, "OUT": str(self.results), **environment})
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def read(self, name):
        return (self.results / name).read_text()

    def runs(self, name):
        return json.loads(self.read(f"{name}.json"))["runs"]

    def summary(self):
        return json.loads(self.read("summary.json"))

    def outcomes(self):
        return {name: step["passed"] for name, step in self.summary()["steps"].items()}

    def folders(self):
        with tarfile.open(self.results / "folders.tar") as folders:
            return sorted(folders.getnames())


class StandIns(Folder):
    def setUp(self):
        super().setUp()
        self.packed.mkdir()
        (self.packed / "programs").mkdir()
        (self.packed / "programs" / "one").write_text("compiled")
        shutil.copy(HERE / "check", self.packed)
        self.commands = self.scratch / "commands"
        for name in ("paraes", "paraes-other"):
            self.install(self.packed / name, FAKE)
        for name in PROGRAMS:
            self.install(self.packed / f"paraes_gpu_{name}", FAKE_TESTS)
        for script in ("arrays.py", "weights.py"):
            (self.packed / script).write_text(textwrap.dedent(FAKE_SCRIPT))
        (self.packed / "libparaes_opencl_shim.so").touch()

    def install(self, path, text):
        path.write_text(textwrap.dedent(text).format(python=sys.executable, log=str(self.commands)))
        path.chmod(0o755)

    def add_wheel(self):
        (self.packed / "wheels").mkdir()
        with zipfile.ZipFile(self.packed / "wheels" / "paraes.whl", "w") as wheel:
            wheel.writestr("from_the_wheel.py", "")

    def tools(self, **tools):
        """Makes programs, and returns a PATH that begins with them."""
        folder = self.scratch / "tools"
        folder.mkdir()
        for name, text in tools.items():
            self.install(folder / name.replace("_", "-"), text)
        return f"{folder}:{os.defpath}"


class WithStandIns(StandIns):
    def test_without_a_step_all_run_in_order_and_write_at_most_eight_files(self):
        output = self.check()
        self.assertEqual(self.outcomes(), {
            "devices": True, "tests": True, "memory": True, "transfer": True, "start": None,
            "profile": None, "variants": True, "sanitizers": None, "opencl": None, "python": None,
            "weights": None, "crossover": True, "papers": None})
        listed = [line.split() for line in self.check("--list").splitlines()[1:]]
        self.assertEqual(list(self.outcomes()), [words[0] for words in listed])
        limits = [int(words[2]) for words in listed]
        self.assertLessEqual(sum(limits), 1800)  # after which the machine goes back
        self.assertLess(max(limits), 600)
        self.assertLessEqual(len(list(self.results.iterdir())), 8)
        self.assertRegex(output, r"memory 1GiB cuda:0 bitslice ctr-128 enc +2\.0000 Tbit/s")
        self.assertIn("ctr, locked, 1GiB: 0.80 of the two-way copy", output)
        self.assertIn("2 skipped: no room", output)
        self.assertIn("profile     not run", output)
        self.assertLess(len(output), 12000)
        log = self.read("check.log")
        for name in PROGRAMS:
            rest = " --gtest_filter=-*OpenCl*" if name.startswith("device") else ""
            self.assertIn(f"$ {self.packed}/paraes_gpu_{name}{rest} --gtest_brief=1", log)

    def test_archives_without_papers_and_flags_that_a_brief_run_ignores_are_refused(self):
        archive = self.scratch / "folders.tar"
        with tarfile.open(archive, "w") as file:
            file.add(__file__, "opencl/something")
        output = self.check("papers", "--continue", str(archive), FAKE="lab")
        self.assertIn(f"not run: --continue {archive}: it has no papers/", output)
        for flags in (["--sizes", "all"], ["--continue", str(archive)]):
            self.assertIn("leave out --sizes and --continue",
                          self.check("--quick", "papers", *flags, status=2))

    def test_example_of_a_rival_is_right_and_found_on_the_default_stream(self):
        self.assertIn("no rival: it is not packed", self.check("variants"))
        rival = self.packed / "rival"
        rival.mkdir()
        example = HERE.parents[1] / "docs/examples/own_device_rival.cu"
        self.assertIn("own.stream)", example.read_text())  # what the step replaces
        shutil.copy(example, rival)
        path = self.tools(nvcc=FAKE_NVCC)
        output = self.check("variants", PATH=path)
        self.assertIn("a rival on the default stream: verified [False]", output)
        self.assertEqual(self.outcomes(), {"variants": True})
        rows = [row for run in self.runs("variants") for row in run["results"] if row["rival"]]
        self.assertEqual([row["verified"] for row in rows], [True])
        self.check("variants", PATH=path, FAKE="blind", status=1)
        self.assertEqual(self.summary()["steps"]["variants"]["failures"],
                         ["a rival that works on another stream was not found"])

    def test_tools_and_laboratory_run_where_they_are_installed(self):
        path = self.tools(ncu=FAKE_NCU, compute_sanitizer=FAKE_SANITIZER)
        self.add_wheel()
        output = self.check(PATH=path, FAKE="lab opencl gpu")
        self.assertEqual({name for name, passed in self.outcomes().items() if not passed}, {"start"})
        self.assertEqual({path.name for path in self.results.iterdir()}, {
            "summary.json", "check.log", "memory.json", "transfer.json", "crossover.json",
            "variants.json", "profile.txt", "folders.tar"})
        self.assertRegex(output, r"ctr \(132, 1, 1\).*\n +Memory Throughput +% +45.67\n---")
        self.assertLessEqual({"papers/report.html", "opencl/bitslice", "python/arrays.json",
                              "weights/weights.json"},
                             set(self.folders()))
        log = self.read("check.log")
        for tool in ("memcheck", "racecheck", "synccheck", "initcheck"):
            command = f"--tool {tool} --error-exitcode 9 {self.packed}/paraes_gpu_"
            for program, filters in (("modes", "*LittleOfEverything*"), ("device_ciphers", "*Device*Gcm")):
                self.assertIn(f"{command}{program} --gtest_filter={filters}", log)
        self.assertEqual(self.read("profile.txt").count("Tbyte/second"), 4)
        # Every kernel and mode is profiled by itself.
        output = self.check("profile", PATH=path, FAKE="bitslice ctr", status=1)
        profiled = [line for line in self.read("profile.txt").splitlines()
                    if line.startswith("profiled")]
        self.assertEqual(profiled, [f"profiled {run} launches 6" for run in (
            "ttable ctr", "ttable gcm", "bitslice ctr", "bitslice gcm")])
        self.assertEqual(self.summary()["steps"]["profile"]["failures"],
                         ["ncu profiled no kernel of bitslice, ctr"])
        self.assertEqual(output.count("Memory Throughput"), 3)

    def test_scripts_of_python_run_with_the_packed_wheel(self):
        for step in ("python", "weights"):
            self.assertIn("there is no wheel", self.check(step))
        self.add_wheel()
        for step, script, absent, wrong in (
                ("python", "arrays.py", "neither torch nor CuPy nor JAX", "wrong bytes"),
                ("weights", "weights.py", "torch and safetensors are not installed", "a tensor is wrong")):
            self.assertIn(absent, self.check(step))
            self.assertIsNone(self.outcomes()[step])
            self.check(step, FAKE="gpu")
            self.assertTrue(self.outcomes()[step])
            (self.packed / script).write_text(f"raise SystemExit({wrong!r})")
            self.assertIn(wrong, self.check(step, status=1))

    def test_papers_by_themselves_are_measured_in_parts(self):
        output = self.check("papers", FAKE="lab unfinished")
        self.assertEqual(self.outcomes(), {"papers": True})
        self.assertIn("the time is over; 9 processes are left", output)
        step = self.summary()["steps"]["papers"]
        self.assertIn("unfinished: the next part is `papers --sizes 16MiB --continue", step["reason"])
        self.assertEqual(step["limit"], 240)
        commands = self.commands.read_text()
        self.assertIn("lab reproduce all --max-size 16MiB --processes 6 --samples 1 --limit 240s "
                      "--device cuda:0", commands)
        # The next part goes on from the first, with other results, as on another machine.
        first = self.results / "folders.tar"
        other = self.scratch / "other"
        self.check("papers", "--sizes", "all", "--continue", str(first), OUT=str(other), FAKE="lab")
        with tarfile.open(other / "folders.tar") as folders:
            self.assertLessEqual({"papers/parts/0", "papers/parts/1"}, set(folders.getnames()))
        self.assertNotIn("--max-size", self.commands.read_text().splitlines()[-1])
        summary = json.loads((other / "summary.json").read_text())
        self.assertIsNone(summary["steps"]["papers"]["reason"])
        # A second run with the same results does so as well.
        self.check("papers", FAKE="lab")
        self.assertLessEqual({"papers/parts/0", "papers/parts/1"}, set(self.folders()))
        self.assertIn("--continue none.tar: ", self.check("papers", "--continue", "none.tar", FAKE="lab"))
        self.assertIn("is for the step papers", self.check("--continue", "none.tar", status=2))

    def test_papers_beside_other_steps_are_brief(self):
        self.check("devices", "papers", FAKE="lab")
        self.assertIn("lab reproduce all --quick --device cuda:0", self.commands.read_text())
        self.assertEqual(self.summary()["steps"]["papers"]["limit"], 90)

    def test_each_kernel_runs_through_opencl_by_itself_and_launches_are_traced(self):
        output = self.check("opencl", status=1, FAKE="opencl crash")
        step = self.summary()["steps"]["opencl"]
        self.assertEqual(step["device"], "opencl:2")
        self.assertEqual(len(step["failures"]), 2)  # status, and tests
        self.assertIn("launch of ctr, 1 x 256 threads: -36", output)
        log = self.read("check.log")
        self.assertEqual(log.count(f"trace {self.packed}/libparaes_opencl_shim.so trace"), 5)
        kernels = ("bitslice", "reference", "reference_shared", "ttable", "ttable_simple")
        folders = ["opencl", *(f"opencl/{kernel}" for kernel in kernels)]
        self.assertEqual(self.folders(), folders)
        self.check("opencl", FAKE="opencl")  # replaces the folder
        self.assertEqual(self.outcomes(), {"opencl": True})
        self.assertEqual(self.folders(), folders)
        self.assertIn("traced no launch", self.check("opencl", status=1, FAKE="opencl deaf"))
        (self.packed / "libparaes_opencl_shim.so").unlink()
        self.assertIn("is missing", self.check("opencl", FAKE="opencl"))

    def test_programs_of_a_folder_that_all_can_write_are_copied_to_a_private_one(self):
        for path, mode in ((self.packed, 0o777), (self.packed / "programs", 0o777),
                           (self.packed / "programs" / "one", 0o666)):
            path.chmod(mode)
        before = os.umask(0)  # the mildest that check can inherit
        self.addCleanup(os.umask, before)
        self.check("tests")
        lines = [line.split()[1:] for line in self.read("check.log").splitlines()
                 if line.startswith("program ")]
        folder = pathlib.Path(lines[0][0])
        self.assertNotIn(self.packed, folder.parents)
        self.assertEqual(lines, len(PROGRAMS) * [[str(folder), "0o700", "True"],
                                     [str(folder / "one"), "0o600", "True"]])
        self.assertFalse(folder.exists())

    def test_steps_of_several_runs_add_to_one_summary(self):
        output = self.check("devices", "memory", "transfer", status=1, FAKE="memory")
        # A failing step does not stop the others.
        self.assertEqual(self.outcomes(), {"devices": True, "memory": False, "transfer": True})
        self.assertEqual(self.summary()["failed"], ["memory"])
        self.assertIn("the driver crashed", output)
        # Mended, it passes, and a failure in the summary of another run does not count.
        self.check("devices", status=1, FAKE="absent")
        self.check("crossover", "memory")
        self.assertEqual(self.outcomes(), {"devices": False, "memory": True, "transfer": True,
                                           "crossover": True})
        for name, runs in (("memory", 4), ("crossover", 1)):
            self.assertEqual(len(self.runs(name)), runs)
            # paraes-lab reads this schema only.
            self.assertEqual(json.loads(self.read(f"{name}.json"))["schema"], 7)
        self.assertEqual(self.read("check.log").count("==== memory"), 2)

    def test_wrong_bytes_and_skipped_tests_fail(self):
        self.assertIn("2.0000 Tbit/s  WRONG", self.check("memory", status=1, FAKE="wrong"))
        self.assertIn("not all tests ran", self.check("tests", status=1, FAKE="skip"))

    def test_step_that_takes_too_long_ends_with_its_children(self):
        # The other step needs little of that time; more only on a machine that is busy.
        for limit in ("1", "20"):
            start = time.monotonic()
            output = self.check("memory", "devices", "--limit", limit, status=1, FAKE="slow-memory")
            self.assertLess(time.monotonic() - start, 55)  # the child sleeps for 60 s
            self.assertIn("out of time", output)
            if self.outcomes()["devices"]:
                break
        self.assertEqual(self.outcomes(), {"devices": True, "memory": False})

    def test_every_variant_is_measured(self):
        output = self.check("variants")
        self.assertIn("paraes-other:", output)
        # Programs of two kernels, launches, and two executables.
        self.assertEqual(len(self.runs("variants")), 5)
        commands = self.commands.read_text().splitlines()
        tunings = [line for line in commands if "--gpu-tuning ghash=tensor" in line]
        self.assertEqual(len(tunings), 2)
        self.assertTrue(all("--gpu-tuning streams=12" in line for line in tunings))
        (self.packed / "paraes-other").unlink()
        self.check("variants")
        self.assertEqual(self.outcomes(), {"variants": True})
        self.assertEqual(len(self.runs("variants")), 3)

    def test_wrong_arguments_run_nothing(self):
        self.assertIn("no step 'measure'", self.check("devices", "measure", status=2))
        self.assertIn("OUT", self.check("devices", status=2, OUT=""))
        (self.packed / "paraes").unlink()
        self.assertIn("tests/gpu/pack", self.check("devices", status=2))
        self.assertFalse(self.results.exists())
        self.assertFalse(self.commands.exists())


class WithFakeDriver(StandIns):
    """paraes itself, with the stand-in for CUDA's driver and a compiler of programs of a few bytes."""

    def setUp(self):
        super().setUp()
        nvrtc = self.scratch / "nvrtc"
        nvrtc.mkdir()
        shutil.copy(f"{BUILD}/tests/gpu/libparaes_fake_nvrtc.so", nvrtc / "libnvrtc.so")
        (nvrtc / "libnvrtc.so.says").write_text("version 1 2\ntargets 90\n")
        shutil.copy(f"{BUILD}/cli/paraes", self.packed / "paraes")
        subprocess.run([self.packed / "paraes", "devices", "--compile", "--arch", "sm_90", "--kernel",
                        "bitslice", "-o", self.packed / "programs"], check=True, capture_output=True,
                       env={"PARAES_NVRTC": str(nvrtc / "libnvrtc.so")})
        self.driver = {"LD_LIBRARY_PATH": f"{BUILD}/tests/gpu/fake", "PARAES_FAKE_CUDA": "kernels:1,devices:3"}

    def test_start_says_where_the_time_goes(self):
        self.assertIn("is missing", self.check("start", "--device", "cuda:1", **self.driver))
        self.assertEqual(self.outcomes(), {"start": None})
        shutil.copy(f"{BUILD}/tests/gpu/libparaes_driver_times.so", self.packed)
        output = self.check("start", "--device", "cuda:1", **self.driver)
        self.assertEqual(self.outcomes(), {"start": True})
        self.assertRegex(output, r"a context alone: .*cuInit \d.*cuDevicePrimaryCtxRetain \d")
        self.assertRegex(output, r"1 MiB on cpu: \d.*\n1 MiB on cuda:1: \d")
        self.assertRegex(output, r"(?m)^  from +\d+\.\d ms: +\d+\.\d ms in \d+ x cuMemAlloc_v2$")
        rounds = [name for name in self.folders() if name[6:7].isdigit()]
        self.assertEqual(len(rounds), 3)
        with tarfile.open(self.results / "folders.tar") as folders:
            for name in rounds:
                times = json.load(folders.extractfile(name))
                calls = {call["name"]: call for call in times["calls"]}
                # One device of three, one program, and all streams.
                self.assertEqual(calls["cuDevicePrimaryCtxRetain"]["calls"], 1)
                self.assertEqual(calls["cuModuleLoadData"]["calls"], 1)
                self.assertEqual(calls["cuStreamCreate"]["calls"], 12)
                self.assertEqual(list(calls)[:2], ["dlopen", "cuInit"])
                for call in calls.values():
                    self.assertLessEqual(call["first_ns"], times["end_ns"])
                    self.assertGreater(call["ns"], 0)

    def test_start_fails_without_a_driver_or_its_times(self):
        shutil.copy(f"{BUILD}/tests/gpu/libparaes_driver_times.so", self.packed)
        output = self.check("start", status=1, **{**self.driver, "PARAES_FAKE_CUDA": "devices:0"})
        self.assertIn("cuInit failed: 100", output)
        self.assertIn("not all rounds have times", output)
        (self.packed / "libparaes_driver_times.so").write_text("no library")
        self.assertIn("not all rounds have times", self.check("start", status=1, **self.driver))


class Packed(Folder):
    """On PoCL, with the programs of the build."""

    copy = ("--variant", f"copy={BUILD}/cli/paraes")

    def pack(self, *arguments, arch=("--arch", "none"), status=0):
        done = subprocess.run([sys.executable, HERE / "pack", BUILD, "-o", self.packed, *arch, *arguments],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_packed_folder_checks_a_device(self):
        self.pack(*self.copy)
        self.assertTrue((self.packed / "paraes-copy").exists())
        cache = os.environ.get("XDG_CACHE_HOME", str(self.scratch))
        done = subprocess.run([self.packed / "paraes", "devices"], text=True, capture_output=True,
                              check=True)
        if "opencl:0" not in done.stdout and "PARAES_REQUIRE_DEVICE" not in os.environ:
            self.skipTest("there is no OpenCL device")
        traced = subprocess.run(
            [self.packed / "paraes", "bench", "--device", "opencl:0", "--kernel", "ttable", "--mode", "ctr",
             "--size", "64KiB", "--samples", "1"], text=True, capture_output=True, check=True,
            env={"PATH": os.environ["PATH"],  # PoCL links with ld
                 "LD_PRELOAD": str(self.packed / "libparaes_opencl_shim.so"), "XDG_CACHE_HOME": cache,
                 "PARAES_FAKE_OPENCL": "trace"})
        self.assertRegex(traced.stderr, r"(?m)^launch of ctr, \d+ x \d+ threads: 0$")
        self.check("--device", "opencl:0", "--quick", "devices", "tests", "memory", XDG_CACHE_HOME=cache)
        self.assertEqual(self.outcomes(), {"devices": True, "tests": True, "memory": True})
        # The filter of the tests of ciphers in device memory selects as many.
        self.assertIn(" 3 tests from 1 test suite ran", self.read("check.log"))
        reports = self.runs("memory")
        self.assertEqual(len(reports), 4)
        self.assertTrue(all(row["verified"] for report in reports for row in report["results"]))

    def test_only_a_folder_that_pack_filled_is_filled_again(self):
        checkout = self.packed / "paraes"
        checkout.mkdir(parents=True)
        (checkout / "work").touch()
        self.assertIn("packed-by-paraes", self.pack(status=2))
        self.assertTrue((checkout / "work").exists())
        shutil.rmtree(self.packed)
        self.packed.touch()
        self.assertIn("is no folder", self.pack(status=2))
        self.packed.unlink()
        self.packed.mkdir()
        self.pack(*self.copy)
        # An executable is missing, or in the folder itself: it stays as it was.
        for path, status in (("missing", 1), (self.packed / "paraes-copy", 2)):
            self.pack("--variant", f"other={path}", status=status)
            self.assertTrue((self.packed / "paraes-copy").exists())
        (self.packed / "paraes").write_text("")
        self.pack()
        self.assertGreater((self.packed / "paraes").stat().st_size, 0)
        self.assertFalse((self.packed / "paraes-copy").exists())
        for name in ("paraes-own", "notes"):
            (self.packed / name).touch()
            self.assertIn(name, self.pack(status=2))
            self.assertTrue((self.packed / name).exists())
            (self.packed / name).unlink()
        self.assertTrue((self.packed / "check").exists())
        wheel = self.scratch / "a.whl"
        wheel.write_text("")
        self.assertIn("this is no wheel", self.pack("--wheel", str(wheel), status=2))
        with zipfile.ZipFile(wheel, "w") as content:
            content.writestr("paraes.py", "")
        self.pack("--wheel", str(wheel))
        self.assertTrue((self.packed / "wheels" / "a.whl").exists())

    def test_executable_that_needs_more_libraries_is_refused(self):
        output = self.pack("--variant", f"bad={BUILD}/tests/gpu/paraes_gpu_runtime", status=1)
        self.assertIn("paraes-bad needs libstdc++.so.6", output)

    def compile(self, target, kernel, *tuning):
        """Compiles as the command does. Returns the exit status and the names of the programs."""
        folder = self.scratch / "-".join([target, kernel, *tuning])
        done = subprocess.run(
            [BUILD / "cli/paraes", "devices", "--compile", "--arch", target, "--kernel", kernel,
             *(word for value in tuning for word in ("--gpu-tuning", value)), "-o", folder],
            text=True, capture_output=True, check=False)
        if "install NVRTC" in done.stderr and "PARAES_REQUIRE_NVRTC" not in os.environ:
            self.skipTest(done.stderr)
        return done.returncode, {path.name for path in folder.glob("*")}

    def test_variants_are_those_that_the_chips_can_have(self):
        can_have = runpy.run_path(str(HERE / "pack"))["can_have"]
        tunings = ["tables=4,groups=1", "ghash=tensor"]
        if LONG:  # every chip can have these
            tunings += ["groups=2", "ghash=scalar"]
        for target in ("sm_75", "sm_89"):
            for tuning in tunings:
                with self.subTest(target=target, tuning=tuning):
                    status, _ = self.compile(target, "ttable", tuning)
                    self.assertEqual(status == 0, can_have(target, tuning))

    @unittest.skipUnless(LONG, "it compiles all programs for minutes: PARAES_LONG=1")
    def test_programs_are_compiled_for_the_chip(self):
        _, one = self.compile("sm_90", "reference")
        self.pack(arch=())
        packed = {path.name for path in (self.packed / "programs").iterdir()}
        self.assertGreater(len(packed), len(one))
        self.assertLessEqual(one, packed)
        # The package has the variants that check measures as well.
        _, four = self.compile("sm_90", "ttable", "tables=4,groups=1")
        self.assertLessEqual(four, packed)
        _, usual = self.compile("sm_90", "ttable")
        self.assertFalse(four & usual)
        # On this chip, ghash=tensor is the usual variant.
        self.assertEqual(self.compile("sm_90", "ttable", "ghash=tensor"), (0, usual))


if __name__ == "__main__":
    unittest.main()
