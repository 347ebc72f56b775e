"""paraes as a part of another project, by add_subdirectory() or FetchContent."""

import os
import pathlib
import tempfile
import unittest

from installation import configure, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROJECT = f"""
cmake_minimum_required(VERSION 3.22)
project(parent LANGUAGES CXX)
include(FetchContent)
FetchContent_Declare(paraes SOURCE_DIR {SOURCE})
FetchContent_MakeAvailable(paraes)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE paraes::paraes)
"""


class Subproject(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="paraes-subproject-")
        self.addCleanup(scratch.cleanup)
        self.parent = pathlib.Path(scratch.name)
        (self.parent / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
        (self.parent / "main.cpp").write_text(
            "#include <paraes/version.hpp>\nint main() { return paraes::version() == nullptr; }\n",
            encoding="utf-8",
        )
        self.build = self.parent / "build"

    def targets(self):
        lines = run("ninja", "-C", self.build, "-t", "targets", "all").splitlines()
        return {line.rpartition(": ")[0] for line in lines if ": phony" not in line}

    def test_is_the_static_libraries_alone(self):
        # Without what the command and the tests need.
        absent = ("CLI11", "fmt", "nlohmann_json", "GTest", "MPI")
        flags = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in absent]
        configure(self.parent, self.build, *flags)
        targets = self.targets()
        linked = [name for name in targets if name.endswith((".a", ".so", "consumer", "/paraes"))]
        # That for C is built if the project links it.
        self.assertEqual(
            {os.path.basename(name) for name in linked},
            {"libparaes.a", "libparaes-c.a", "consumer"},
        )
        commands = run("ninja", "-C", self.build, "-t", "commands", "all")
        self.assertIn("libparaes.a", commands)
        self.assertNotIn("libparaes-c.a", commands)
        self.assertEqual([name for name in targets if "uninstall" in name], [])
        prefix = self.parent / "prefix"
        run("cmake", "--install", self.build, "--prefix", prefix)
        self.assertFalse(prefix.exists(), "the parent's installation has files of paraes")

    def test_can_have_the_shared_library(self):
        options = ["-DPARAES_BUILD_SHARED=ON", "-DPARAES_INSTALL=ON"]
        configure(self.parent, self.build, *options)
        self.assertTrue(any(name.endswith("libparaes.so") for name in self.targets()))


if __name__ == "__main__":
    unittest.main()
