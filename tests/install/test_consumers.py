"""Builds programs against the installed libraries: with find_package, and with pkg-config."""

import concurrent.futures
import os
import pathlib
import shlex
import shutil
import tempfile
import unittest

from installation import configure, files_below, install, run

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

    @unittest.skipUnless(SHARED, "the shared library is not built")
    def test_cmake(self):
        folder = self.scratch / "cmake"
        configure(SOURCE, folder, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", folder)
        self.check(folder / "static", False)
        self.check(folder / "shared", True)

    def test_cmake_components(self):
        options = [f"-DSHARED={SHARED}", f"-DCMAKE_PREFIX_PATH={self.prefix}"]
        configure(SOURCE.with_name("components"), self.scratch / "components", *options)

    def pkg_config(self, prefix, *options):
        folder = {"PKG_CONFIG_PATH": str(prefix / LIB / "pkgconfig")}
        return shlex.split(run("pkg-config", *options, "paraes", environment=folder))

    def compile(self, program, *options):
        run(COMPILER, "-std=c++20", *WARNINGS, SOURCE / "main.cpp", "-o", program, *options)
        return program

    @unittest.skipUnless(SHARED, "the shared library is not built")
    def test_pkg_config(self):
        # With hidden visibility, as many projects have: types of the library stay visible.
        flags = ["-fvisibility=hidden", *self.pkg_config(self.prefix, "--cflags", "--libs")]
        program = self.compile(self.scratch / "pkg-config", *flags)
        self.check(program, True, {"LD_LIBRARY_PATH": str(self.prefix / LIB)})

    def test_pkg_config_static(self):
        prefix = self.scratch / "static only"
        shutil.copytree(self.prefix, prefix, symlinks=True)
        for path in files_below(prefix / LIB):
            if path.startswith("libparaes.so"):
                (prefix / LIB / path).unlink()
        flags = self.pkg_config(prefix, "--static", "--cflags", "--libs")
        self.check(self.compile(self.scratch / "pkg-config-static", *flags), False)

    def test_pkg_config_names_no_libraries_of_the_library(self):
        words = self.pkg_config(self.prefix, "--libs")
        self.assertEqual([word for word in words if word.startswith("-l")], ["-lparaes"])
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
        flags = ["-std=c++20", "-fsyntax-only", *WARNINGS, f"-I{self.prefix / 'include'}"]
        return run(COMPILER, *flags, source)


if __name__ == "__main__":
    unittest.main()
