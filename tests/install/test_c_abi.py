"""The binary interface of libparaes-c.so: what programs that are compiled for it rely on.

    PARAES_C_LIBRARY=build/release/src/libparaes-c.so python3 tests/install/test_c_abi.py --renew

records the interface of paraes.h in libparaes-c.abi, for x86-64. Read the difference before you
commit it. Functions may be added, with another version in cmake/libparaes-c.map.in, and members at
the end of structures that begin with their size; src/c then needs the size of the first version, in
the calls of options_at() and the like. Anything else breaks programs: they keep using the library
under its name.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from installation import check_needed, exported, run

TREE = pathlib.Path(__file__).resolve().parents[2]
HEADER = TREE / "include/paraes.h"
RECORD = pathlib.Path(__file__).with_name("libparaes-c.abi")
MAP = TREE / "cmake/libparaes-c.map.in"
LIBRARY = os.environ["PARAES_C_LIBRARY"]
PROTOTYPE = re.compile(r"PARAES_(?:API|CHECKED)\s+([^;{}#]*?\))\s*;", re.DOTALL)


def stubs(header, folder):
    """A library with the functions of a header, and empty bodies: its debugging information has the
    types of C."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    source, library = folder / "stubs.c", folder / "libparaes-c.so.0"
    script, place = folder / "map", folder / "paraes.h"
    place.write_text(header, encoding="utf-8")
    script.write_text(MAP.read_text(encoding="utf-8"), encoding="utf-8")
    lines = ['#include "paraes.h"']
    for found in PROTOTYPE.finditer(text):
        prototype = " ".join(found[1].split())
        lines.append(prototype + (" {}" if prototype.startswith("void ") else " { return 0; }"))
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = ["-std=c99", "-w", "-g", "-fPIC", "-shared", f"-I{folder}"]
    linker = ["-Wl,-soname,libparaes-c.so.0", f"-Wl,--version-script={script}"]
    run("cc", *options, source, "-o", library, *linker)
    return library


def record():
    options = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed"]
    ids = ["--type-id-style", "hash", "--no-parameter-names"]
    with tempfile.TemporaryDirectory(prefix="paraes-abi-") as folder:
        library = stubs(HEADER.read_text(encoding="utf-8"), pathlib.Path(folder))
        run("abidw", *options, *ids, "--out-file", RECORD, library)
    text = RECORD.read_text(encoding="utf-8")
    RECORD.write_text(re.sub(r" path='[^']*'", " path='paraes.h'", text), encoding="utf-8")


def compare(library):
    """What abidiff says, and whether it found a change."""
    done = subprocess.run(["abidiff", RECORD, library], capture_output=True, text=True)
    if done.returncode & 3:  # it failed
        raise AssertionError(done.stdout + done.stderr)
    return done.returncode != 0, done.stdout


class Abi(unittest.TestCase):
    maxDiff = None

    # The library is built from the same sources, with debugging information.
    @unittest.skipUnless(os.uname().machine == "x86_64", "the record is for x86-64")
    def test_library_has_the_recorded_interface(self):
        changed, text = compare(os.environ["PARAES_C_DEBUG_LIBRARY"])
        self.assertFalse(changed, f"{text}\n{__doc__}")

    @unittest.skipUnless(os.uname().machine == "x86_64", "the record is for x86-64")
    def test_changes_would_be_found(self):
        header = HEADER.read_text(encoding="utf-8")
        changes = {
            "int many_threads;": "uint64_t many_threads;",
            "int paraes_exit_status(int code)": "int paraes_exit_status(long code)",
            "size_t bytes, void* out": "uint32_t bytes, void* out",
            "const char* kernel;\n  /* NULL": "/* NULL",
        }
        for old, new in changes.items():
            with self.subTest(new=new), tempfile.TemporaryDirectory() as folder:
                self.assertIn(old, header)
                library = stubs(header.replace(old, new), pathlib.Path(folder))
                self.assertTrue(compare(library)[0])

    def test_exports_the_functions_of_the_header_and_nothing_else(self):
        text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
        declared = {re.search(r"(paraes_\w+)\(", found[1])[1] for found in PROTOTYPE.finditer(text)}
        versions, version = {}, None
        for line in MAP.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"(PARAES_C_[\d.]+) \{", line):
                version = found[1]
            elif found := re.match(r"  (paraes_\w+);", line):
                versions[found[1]] = version
        self.assertEqual(set(versions), declared, MAP)
        self.assertEqual(exported(LIBRARY), versions)

    def test_soname_and_needed_libraries(self):
        dynamic = run("readelf", "--wide", "--dynamic", LIBRARY)
        self.assertIn("soname: [libparaes-c.so.0]", dynamic)
        # Threads of the library wait for work in it, also after dlclose(3).
        self.assertRegex(dynamic, r"FLAGS_1.*NODELETE")
        check_needed(self, dynamic)


if __name__ == "__main__":
    if sys.argv[1:] == ["--renew"]:
        record()
    else:
        unittest.main()
