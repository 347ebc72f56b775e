"""Builds programs against the installed libraries: with find_package, and with pkg-config."""

import concurrent.futures
import os
import pathlib
import shlex
import shutil
import tempfile
import unittest

from installation import files_below, install, run

BUILD = pathlib.Path(os.environ["PARAES_BUILD"])
LIB = os.environ["PARAES_LIBDIR"]
VERSION = os.environ["PARAES_VERSION"]
COMPILER = os.environ["PARAES_CXX"]
SHARED = "shared" in os.environ["PARAES_PARTS"].split()
SOURCE = pathlib.Path(__file__).with_name("consumer")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


class Consumers(unittest.TestCase):
    """Of a tree that was moved after it was installed."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="paraes-consumers-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        first = cls.scratch / "first"
        install(BUILD, first)
        cls.prefix = cls.scratch / "a place"
        first.rename(cls.prefix)

    def check(self, program, needs_library, environment=None):
        self.assertEqual(run(program, environment=environment), f"paraes {VERSION}\n")
        needed = run("readelf", "--wide", "--dynamic", program)
        self.assertEqual("libparaes.so" in needed, needs_library, needed)

    def configure(self, folder, *options, status=0, source=SOURCE):
        return run(
            "cmake",
            "-G",
            "Ninja",
            "-S",
            source,
            "-B",
            folder,
            *options,
            f"-DCMAKE_CXX_COMPILER={COMPILER}",
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            status=status,
        )

    @unittest.skipUnless(SHARED, "the shared library is not built")
    def test_cmake(self):
        folder = self.scratch / "cmake"
        self.configure(folder)
        run("cmake", "--build", folder)
        self.check(folder / "static", False)
        self.check(folder / "shared", True)

    def test_cmake_components(self):
        self.configure(
            self.scratch / "components",
            f"-DSHARED={SHARED}",
            source=SOURCE.with_name("components"),
        )

    def pkg_config(self, prefix, *options):
        words = run(
            "pkg-config",
            *options,
            "paraes",
            environment={"PKG_CONFIG_PATH": str(prefix / LIB / "pkgconfig")},
        )
        return shlex.split(words)

    def compile(self, program, *options):
        run(COMPILER, "-std=c++20", *WARNINGS, SOURCE / "main.cpp", "-o", program, *options)
        return program

    @unittest.skipUnless(SHARED, "the shared library is not built")
    def test_pkg_config(self):
        # With hidden visibility, as many projects have: types of the library stay visible.
        program = self.compile(
            self.scratch / "pkg-config",
            "-fvisibility=hidden",
            *self.pkg_config(self.prefix, "--cflags", "--libs"),
        )
        self.check(program, True, {"LD_LIBRARY_PATH": str(self.prefix / LIB)})

    def test_pkg_config_static(self):
        prefix = self.scratch / "static only"
        shutil.copytree(self.prefix, prefix, symlinks=True)
        for path in files_below(prefix / LIB):
            if path.startswith("libparaes.so"):
                (prefix / LIB / path).unlink()
        program = self.compile(
            self.scratch / "pkg-config-static",
            *self.pkg_config(prefix, "--static", "--cflags", "--libs"),
        )
        self.check(program, False)

    def test_pkg_config_names_no_libraries_of_the_library(self):
        self.assertEqual(
            [word for word in self.pkg_config(self.prefix, "--libs") if word.startswith("-l")],
            ["-lparaes"],
        )
        self.assertEqual(self.pkg_config(self.prefix, "--modversion"), [VERSION])

    def test_headers_compile_alone(self):
        headers = sorted((self.prefix / "include/paraes").glob("*.hpp"))
        self.assertGreater(len(headers), 10)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for text in pool.map(self.compile_header, headers):
                self.assertEqual(text, "")

    def compile_header(self, header):
        source = self.scratch / f"{header.stem}.cpp"
        source.write_text(f"#include <paraes/{header.name}>\n", encoding="utf-8")
        return run(
            COMPILER,
            "-std=c++20",
            "-fsyntax-only",
            *WARNINGS,
            f"-I{self.prefix / 'include'}",
            source,
        )


if __name__ == "__main__":
    unittest.main()
