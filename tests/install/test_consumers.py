"""Builds programs in C++ and C against the installed libraries: by find_package and pkg-config."""

import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import tempfile
import unittest

from installation import configure, files_below, install, run

BUILD = pathlib.Path(os.environ["PARAES_BUILD"])
LIB = os.environ["PARAES_LIBDIR"]
VERSION = os.environ["PARAES_VERSION"]
INTERFACE = VERSION.rpartition(".")[0]
COMPILER = os.environ["PARAES_CXX"]
SHARED = "shared" in os.environ["PARAES_PARTS"].split()
SOURCE = pathlib.Path(__file__).with_name("consumer")
SOURCE_IN_C = pathlib.Path(__file__).with_name("consumer_c")
C = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wstrict-prototypes", "-Werror"]
C_COMPILERS = ["cc", *(name for name in ("clang", "clang-16") if shutil.which(name))]
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

    # needed: the libraries of paraes that the program needs.
    def check(self, program, *needed, environment=None):
        self.assertEqual(run(program, environment=environment), f"paraes {VERSION}\n")
        dynamic = run("readelf", "--wide", "--dynamic", program)
        found = re.findall(r"\(NEEDED\).*\[(libparaes.+)\]", dynamic)
        self.assertEqual(found, list(needed), dynamic)

    @unittest.skipUnless(SHARED, "the shared library is not built")
    def test_cmake(self):
        folder = self.scratch / "cmake"
        configure(SOURCE, folder, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", folder)
        self.check(folder / "static")
        self.check(folder / "shared", f"libparaes.so.{INTERFACE}")

    @unittest.skipUnless(SHARED, "the shared library is not built")
    def test_cmake_in_c(self):
        folder = self.scratch / "cmake in c"
        configure(SOURCE_IN_C, folder, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", folder)
        self.check(folder / "shared", "libparaes-c.so.0")
        self.check(folder / "static")

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
        where = {"LD_LIBRARY_PATH": str(self.prefix / LIB)}
        self.check(program, f"libparaes.so.{INTERFACE}", environment=where)

    # As docs/c.md says. Another version of the C++ library does not touch it.
    @unittest.skipUnless(SHARED, "the shared library is not built")
    def test_pkg_config_in_c(self):
        where = {"LD_LIBRARY_PATH": str(self.prefix / LIB)}
        for compiler in C_COMPILERS:
            program = self.scratch / f"c by {compiler}"
            flags = self.pkg_config(self.prefix, "--cflags", "--libs")
            run(compiler, *C, SOURCE_IN_C / "main.c", "-o", program, *flags)
            self.check(program, "libparaes-c.so.0", environment=where)

    def test_pkg_config_static(self):
        prefix = self.scratch / "static only"
        shutil.copytree(self.prefix, prefix, symlinks=True)
        for path in files_below(prefix / LIB):
            if path.startswith(("libparaes.so", "libparaes-c.so")):
                (prefix / LIB / path).unlink()
        flags = self.pkg_config(prefix, "--static", "--cflags", "--libs")
        self.check(self.compile(self.scratch / "pkg-config-static", *flags))
        program = self.scratch / "c-static"
        run("cc", *C, SOURCE_IN_C / "main.c", "-o", program, *flags)
        self.check(program)

    def test_pkg_config_names_no_libraries_of_the_library(self):
        words = self.pkg_config(self.prefix, "--libs")
        self.assertEqual(
            [word for word in words if word.startswith("-l")], ["-lparaes-c", "-lparaes"]
        )
        self.assertEqual(self.pkg_config(self.prefix, "--modversion"), [VERSION])

    def test_headers_compile_alone(self):
        headers = sorted((self.prefix / "include/paraes").glob("*.hpp"))
        self.assertGreater(len(headers), 10)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for text in pool.map(self.compile_header, headers):
                self.assertEqual(text, "")

    def test_header_for_c_compiles_alone(self):
        source = self.scratch / "header.c"
        source.write_text("#include <paraes.h>\nint unused;\n", encoding="utf-8")
        for compiler in C_COMPILERS:
            run(compiler, *C, "-fsyntax-only", f"-I{self.prefix / 'include'}", source)
        source = self.scratch / "header_of_c.cpp"
        source.write_text("#include <paraes.h>\n", encoding="utf-8")
        for standard in ("c++11", "c++20"):
            flags = [f"-std={standard}", "-fsyntax-only", *WARNINGS]
            run(COMPILER, *flags, f"-I{self.prefix / 'include'}", source)

    def compile_header(self, header):
        source = self.scratch / f"{header.stem}.cpp"
        source.write_text(f"#include <paraes/{header.name}>\n", encoding="utf-8")
        flags = ["-std=c++20", "-fsyntax-only", *WARNINGS, f"-I{self.prefix / 'include'}"]
        return run(COMPILER, *flags, source)


if __name__ == "__main__":
    unittest.main()
