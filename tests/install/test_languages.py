"""Builds and runs docs/examples in C, Rust, Go and Fortran against the installed library, with the
commands that each states under "Build and run:".

The names of classes as arguments select languages. One whose compiler is not installed is skipped,
or fails if PARAES_REQUIRE_LANGUAGES is 1."""

import os
import pathlib
import re
import shlex
import shutil
import tempfile
import unittest

from installation import install, run

BUILD = pathlib.Path(os.environ["PARAES_BUILD"])
LIB = os.environ["PARAES_LIBDIR"]
SHARED = "shared" in os.environ["PARAES_PARTS"].split()
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs/examples"
PATH = f"{BUILD / 'cli'}{os.pathsep}{os.environ['PATH']}"  # with the command paraes
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]

scratch = None


def setUpModule():
    global scratch
    if not SHARED:
        raise unittest.SkipTest("the shared library is not built")
    folder = tempfile.TemporaryDirectory(prefix="paraes-languages-")
    unittest.addModuleCleanup(folder.cleanup)
    scratch = pathlib.Path(folder.name)
    install(BUILD, scratch / "a place")
    (scratch / "place").symlink_to("a place")


def need(programs):
    missing = [name for name in programs if shutil.which(name, path=PATH) is None]
    if not missing:
        return
    reason = f"not installed: {' '.join(missing)}"
    if os.environ.get("PARAES_REQUIRE_LANGUAGES") == "1":
        raise AssertionError(reason)
    raise unittest.SkipTest(reason)


def commands_of(source):
    """The indented lines of a comment, after "Build and run:"."""
    commands = []
    for line in source.read_text(encoding="utf-8").partition("Build and run:\n")[2].splitlines():
        match = re.fullmatch(r"(?: \*|//!?|!)(?:\t|   )(.+)", line)
        if match:
            commands.append(match[1])
        elif commands:
            break
    if not commands:
        raise AssertionError(f"{source} does not say how to build it")
    return commands


class Example:
    """In a copy of its folder."""

    folder = ""  # of docs/examples
    source = ""  # with the commands
    programs = []
    # The shell divides what $(pkg-config ...) prints at every space, and so does cgo: a name of
    # this prefix may have none.
    prefix = "place"

    @classmethod
    def setUpClass(cls):
        need(["pkg-config", *cls.programs])
        cls.place = scratch / cls.folder
        shutil.copytree(EXAMPLES / cls.folder, cls.place)
        prefix = scratch / cls.prefix
        cls.environment = {
            "PATH": PATH,
            "PKG_CONFIG_PATH": str(prefix / LIB / "pkgconfig"),
            "LD_LIBRARY_PATH": str(prefix / LIB),
        }
        # Nothing of the user's settings, nothing in the home folder, nothing from the network.
        cls.environment |= {
            "CARGO_HOME": str(scratch / "cargo"),
            "CARGO_TARGET_DIR": "target",
            "GOCACHE": str(scratch / "go-cache"),
            "GOENV": "off",
            "GOFLAGS": "",
            "GOPATH": str(scratch / "go-path"),
            "GOPROXY": "off",
            "GOTOOLCHAIN": "local",
        }
        commands = commands_of(cls.place / cls.source)
        cls.printed = [cls.run_here("sh", "-c", command) for command in commands][-1]
        cls.program = shlex.split(commands[-1])[0]

    @classmethod
    def run_here(cls, *command, status=0, **variables):
        environment = {**cls.environment, **variables}
        return run(*command, status=status, environment=environment, folder=cls.place)


class WithFile(Example):
    """An example that reads a range of a file that the command paraes has encrypted."""

    MESSAGES = (
        r"14 bytes, sealed 118\n"
        r"as it was: attack at dawn\n"
        r"wrong key: .+\n"
        r"damaged: .+\n"
    )
    RANGE = "588895 bytes; from byte 500000 on:\n185\n85186\n85187\n8"

    def after_messages(self, text):
        """What the program prints after what it does with messages in memory."""
        match = re.match(self.MESSAGES, text)
        self.assertTrue(match, text)
        return text[match.end() :].rstrip("\n")

    def failing(self, status, *arguments):
        return self.after_messages(self.run_here(self.program, *arguments, status=status))

    def test_prints(self):
        self.assertEqual(self.after_messages(self.printed), self.RANGE)

    def test_wrong_key(self):
        self.run_here("paraes", "keygen", "-o", "other.key")
        self.assertRegex(self.failing(5, "other.key", "numbers.txt.paes"), "wrong key")

    def test_damaged_file(self):
        sealed = bytearray((self.place / "numbers.txt.paes").read_bytes())
        sealed[501_000] ^= 1
        (self.place / "damaged.paes").write_bytes(sealed)
        self.assertRegex(self.failing(4, "my.key", "damaged.paes"), "segment 30 ")

    def test_missing_file(self):
        self.assertRegex(self.failing(1, "my.key", "missing.paes"), "^missing.paes: ")

    def test_usage(self):
        self.assertRegex(self.run_here(self.program, status=2), "^usage: ")


class C(Example, unittest.TestCase):
    folder = "c"
    source = "paraes_example.c"
    programs = ["cc"]

    def test_prints(self):
        size = (self.place / self.source).stat().st_size
        self.assertRegex(
            self.printed,
            r"\A14 bytes, sealed 118\n"
            r'as it was: "attack at dawn"\n'
            r"with another key: wrong key: .+\n"
            r"with a changed bit: damaged: .+\n"
            rf"example\.copy: {size} bytes\n\Z",
        )

    def test_files(self):
        text, sealed, copy = (
            (self.place / name).read_bytes()
            for name in (self.source, "example.paes", "example.copy")
        )
        self.assertEqual(text, copy)
        self.assertNotIn(text[:16], sealed)

    def test_missing_file(self):
        printed = self.run_here(self.program, "missing", status=1)
        self.assertRegex(printed, "(?m)^missing: ")

    def test_usage(self):
        self.assertRegex(self.run_here(self.program, status=2), "^usage: ")

    def test_warnings(self):
        flags = ["-std=c99", *WARNINGS, f"-I{scratch / self.prefix / 'include'}", "-fsyntax-only"]
        self.assertEqual(self.run_here("cc", *flags, self.source), "")


class Rust(WithFile, unittest.TestCase):
    folder = "rust"
    source = "src/main.rs"
    programs = ["cargo", "rustc", "paraes"]
    prefix = "a place"


class Go(WithFile, unittest.TestCase):
    folder = "go"
    source = "example/main.go"
    programs = ["go", "paraes"]


class Fortran(Example, unittest.TestCase):
    folder = "fortran"
    source = "paraes_example.f90"
    programs = ["gfortran"]

    def test_prints(self):
        self.assertRegex(
            self.printed,
            r"\A8000000 bytes; the same numbers: T\n"
            r"with another key: .+\n"
            r"with a changed bit: .+\n"
            r"nothing is left: T\n\Z",
        )

    def test_error(self):
        printed = self.run_here(self.program, status=2, PARAES_KERNEL="fast")
        self.assertRegex(printed, r"\APARAES_KERNEL: .*'fast'.*\n\Z")


if __name__ == "__main__":
    unittest.main()
