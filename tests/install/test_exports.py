"""What the shared library exports.

    PARAES_LIBRARY=build/release/src/libparaes.so python3 tests/install/test_exports.py --renew

writes symbols.txt: all exported names of an x86-64 build, demangled and sorted. Read the difference
before you commit it: whatever disappears breaks programs, and needs another SONAME.
"""

import difflib
import os
import pathlib
import re
import sys
import unittest

from installation import check_needed, exported, run

LIBRARY = os.environ["PARAES_LIBRARY"]
LIST = pathlib.Path(__file__).with_name("symbols.txt")
HEADERS = pathlib.Path(__file__).resolve().parents[2] / "include/paraes"
DEFINITION = re.compile(r"(class|struct) (PARAES_EXPORT )?(\w+)[^;]*\{")
FUNCTION = re.compile(
    r"(?:\[\[nodiscard\]\] )?(?!inline|using|\[\[gnu)(PARAES_EXPORT )?"
    r"[\w:][\w:<>,& *]*[ *&](\w+)\("
)
# A member function that a source file defines.
MEMBER = re.compile(r"\)(?: const)?(?: noexcept)?;", re.MULTILINE)
COMMENT = re.compile(r"//.*")


def readelf(option):
    return run("readelf", "--wide", option, LIBRARY, environment={"LC_ALL": "C"})


def names():
    return sorted(set(exported(LIBRARY, "--demangle")))


def unmarked(text):
    """The declarations at the left margin of a header that lack PARAES_EXPORT: functions, classes,
    and structures with functions that a source file defines."""
    lines = [COMMENT.sub("", line) for line in text.splitlines()]
    for number, line in enumerate(lines):
        definition, function = DEFINITION.match(line), FUNCTION.match(line)
        if definition:
            name, body = definition[3], "\n".join(lines[number : lines.index("};", number)])
            in_source = MEMBER.search(body) and not any(f" {name}::" in line for line in lines)
            if not definition[2] and (definition[1] == "class" or in_source):
                yield line
        elif function and not function[1]:
            yield line


class Exports(unittest.TestCase):
    maxDiff = None

    def test_symbols_are_those_of_the_list(self):
        listed = LIST.read_text(encoding="utf-8").splitlines()
        changes = "\n".join(difflib.unified_diff(listed, names(), lineterm="", n=0))
        self.assertEqual(changes, "", f"{LIBRARY} exports (+) or lacks (-) these: {__doc__}")

    def test_symbols_have_the_version_of_the_interface(self):
        minor = os.environ["PARAES_VERSION"].rpartition(".")[0]
        self.assertEqual(set(exported(LIBRARY).values()), {f"PARAES_{minor}"})
        self.assertIn(f"soname: [libparaes.so.{minor}]", readelf("--dynamic"))

    def test_code_stays_after_dlclose(self):
        # Threads of the library wait for work in it.
        self.assertRegex(readelf("--dynamic"), r"FLAGS_1.*NODELETE")

    def test_calls_within_the_library_are_direct(self):
        relocations = re.findall(r"(?m)^.*_(?:JUMP_SLO|GLOB_DAT).*$", readelf("--relocs"))
        self.assertGreater(len(relocations), 20)  # functions of libcrypto
        self.assertEqual([line for line in relocations if re.search(r" _ZNK?6paraes", line)], [])

    def test_needs_no_other_libraries(self):
        check_needed(self, readelf("--dynamic"))


class Headers(unittest.TestCase):
    def test_mark_what_they_declare(self):
        marks = 0
        for header in sorted(HEADERS.glob("*.hpp")):
            text = header.read_text(encoding="utf-8")
            marks += text.count("PARAES_EXPORT ")
            self.assertEqual(list(unmarked(text)), [], header.name)
        self.assertGreater(marks, 100)


if __name__ == "__main__":
    if sys.argv[1:] == ["--renew"]:
        LIST.write_text("\n".join(names()) + "\n", encoding="utf-8")
    else:
        unittest.main()
