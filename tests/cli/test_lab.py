"""`paraes lab` replaces itself with the program paraes-lab and passes all arguments on."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from support import BIN, DEADLINE, Case, environment, restore_signals

# Prints its arguments and environment; arguments choose what it does after that.
STAND_IN = f"""#!{sys.executable}
import json, os, sys
print(json.dumps({{"arguments": sys.argv[1:], "program": os.environ.get("PARAES_PROGRAM"),
                   "name": sys.argv[0], "pid": os.getpid()}}), flush=True)
if "wait" in sys.argv:
    sys.stdin.read()
if "copy" in sys.argv:
    sys.stdout.write(sys.stdin.read())
    sys.stderr.write("paraes-lab: and this\\n")
sys.exit(int(sys.argv[-1]) if sys.argv[-1].isdecimal() else 0)
"""
MISSING = ["not installed", "./quickstart --with lab", "pip install '.[lab]'"]


class Lab(Case):
    def setUp(self):
        super().setUp()
        # A copy in an empty folder, because a paraes-lab may exist beside the built program.
        self.paraes = self.copied("bin")

    def copied(self, folder):
        self.path(folder).mkdir(parents=True)
        return pathlib.Path(shutil.copy(BIN, self.path(folder) / "paraes"))

    def stand_in(self, folder, mode=0o755):
        self.path(folder).mkdir(parents=True, exist_ok=True)
        program = self.path(folder) / "paraes-lab"
        program.write_text(STAND_IN)
        program.chmod(mode)
        return program

    def environment(self, **more):
        return environment(**{"PATH": str(self.path("in_path")), **more})

    def lab(self, *args, path=None, program=None, stdin=b"", **env):
        if path is not None:
            env["PATH"] = path
        return subprocess.run([program or self.paraes, "lab", *args], cwd=self.dir, input=stdin,
                              capture_output=True, timeout=DEADLINE, env=self.environment(**env))

    def found(self, *args, **kwargs):
        done = self.lab(*args, **kwargs)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def missing(self, **kwargs):
        done = self.lab("report", **kwargs)
        text = done.stderr.decode()
        self.assertEqual((done.returncode, done.stdout), (1, b""), text)
        self.assertEqual(len(text.splitlines()), 1, text)
        self.assertTrue(text.startswith("paraes: "), text)
        for words in MISSING:
            self.assertIn(words, text)

    def test_arguments_are_passed_on_unchanged(self):
        self.stand_in("in_path")
        for arguments in ([], ["--help"], ["-h"], ["--version"], ["report", "--help"], ["--"],
                          ["reproduce", "all", "-o", "my folder", "--", "--quick"],
                          ["-"], ["encrypt", "lab"],
                          ["--key-hex", "00ff", "--a=b c", "", "*", "@file", "++", "/x"],
                          [os.fsdecode(b"not\xffUTF-8"), "two\nlines", "'quotes\""]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.found(*arguments)["arguments"], arguments)

    def test_exit_status_and_streams_are_those_of_the_lab(self):
        self.stand_in("in_path")
        for status in (0, 1, 2, 130, 255):
            self.assertEqual(self.lab(str(status)).returncode, status)
        done = self.lab("copy", stdin=b"what came in")
        self.assertTrue(done.stdout.endswith(b"what came in"))
        self.assertEqual(done.stderr, b"paraes-lab: and this\n")

    def test_lab_replaces_the_process_and_receives_its_signals(self):
        self.stand_in("in_path")
        for number in (signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([self.paraes, "lab", "wait"], cwd=self.dir,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       env=self.environment(), preexec_fn=restore_signals)
            self.addCleanup(process.kill)
            with process.stdin, process.stdout:
                self.assertEqual(json.loads(process.stdout.readline())["pid"], process.pid)
                process.send_signal(number)
                self.assertEqual(process.wait(DEADLINE), -number)

    def test_paraes_program_defaults_to_this_program(self):
        self.stand_in("in_path")
        real = str(self.paraes.resolve())
        self.assertEqual(self.found()["program"], real)
        self.assertEqual(self.found(PARAES_PROGRAM="/another")["program"], "/another")
        link = self.path("link")
        link.symlink_to(self.paraes)
        self.assertEqual(self.found(program=link)["program"], real)

    def test_lab_is_found_beside_the_program_then_in_path_then_in_the_build_tree(self):
        tree = self.copied("build/release/cli")
        in_tree = self.stand_in("build/venv/bin")
        # Without a CMakeCache.txt it is not a build tree.
        self.missing(program=tree)
        self.path("build/release/CMakeCache.txt").touch()
        self.assertEqual(self.found(program=tree)["name"], str(in_tree.resolve()))
        self.stand_in("in_path")
        in_path = str(self.path("in_path/paraes-lab"))
        self.assertEqual(self.found(program=tree)["name"], in_path)
        self.assertEqual(self.found(program=tree, path=f"/empty::{self.path('in_path')}")["name"], in_path)
        beside = self.stand_in("build/release/cli")
        self.assertEqual(self.found(program=tree)["name"], str(beside.resolve()))

    def test_missing_lab_says_how_to_install_it(self):
        self.missing()
        self.stand_in("in_path", mode=0o644)
        self.missing()  # not executable
        self.path("folder/paraes-lab").mkdir(parents=True)
        self.missing(path=str(self.path("folder")))

    def test_lab_in_a_relative_folder_is_not_run(self):
        # Others may have put it into the working folder, as into that of a download.
        for folder in (".", "in_path"):
            self.stand_in(folder)
        for path in ("", ":", ".", "in_path", "./in_path", "/usr/bin:in_path"):
            with self.subTest(path=path):
                self.missing(path=path)

    def test_help_without_the_lab_says_what_it_does_and_how_to_install_it(self):
        for arguments in (["lab", "--help"], ["lab", "-h"], ["help", "lab"]):
            done = subprocess.run([self.paraes, *arguments], cwd=self.dir, capture_output=True,
                                  timeout=DEADLINE, env=self.environment())
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            for word in ("reproduce", "report", "compare", "figure", "not installed",
                         "pip install '.[lab]'"):
                self.assertIn(word, done.stdout.decode())

    def test_help_of_the_lab_is_its_own(self):
        self.stand_in("in_path")
        done = subprocess.run([self.paraes, "help", "lab"], cwd=self.dir, capture_output=True,
                              timeout=DEADLINE, env=self.environment())
        self.assertEqual(json.loads(done.stdout)["arguments"], ["--help"])

    def test_lab_that_cannot_run_is_an_error(self):
        program = self.stand_in("in_path")
        program.write_text("#!/nowhere/python\n")
        done = self.lab()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr,
                         f"paraes: cannot run {program}: No such file or directory\n".encode())
