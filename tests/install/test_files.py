"""What `cmake --install` puts where, and what the target `uninstall` removes of it."""

import fnmatch
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from installation import files_below, install, run

BUILD = pathlib.Path(os.environ["PARAES_BUILD"])
LIB = os.environ["PARAES_LIBDIR"]
VERSION = os.environ["PARAES_VERSION"]
PARTS = set(os.environ["PARAES_PARTS"].split())
LIST = pathlib.Path(__file__).with_name("files.txt")
LINE = re.compile(r"(\w+) +(\S+)(?: +\[(\w+)\])?")
PREFIX = "/opt/some where/ü"


def expected():
    """The patterns of the files of each component."""
    names = {"lib": LIB, "version": VERSION, "soversion": VERSION.rpartition(".")[0]}
    patterns = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        component, path, part = LINE.fullmatch(line).groups()
        of_component = patterns.setdefault(component, set())
        if part is None or part in PARTS:
            of_component.add(path.format_map(names))
    return patterns


def differences(found, patterns):
    unlisted = set(found).difference(*(fnmatch.filter(found, pattern) for pattern in patterns))
    missing = [pattern for pattern in patterns if not fnmatch.filter(found, pattern)]
    return [
        *(f"{LIST} lacks {path}" for path in sorted(unlisted)),
        *(f"not installed: {pattern}" for pattern in sorted(missing)),
    ]


class Installation(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="paraes-install-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.destination = self.scratch / "destination"
        self.prefix = self.destination / PREFIX[1:]
        # With the manifest, instead of the build folder.
        self.record = self.scratch / "record"
        self.record.mkdir()
        shutil.copy(BUILD / "uninstall.cmake", self.record)

    def install(self, component=None):
        install(BUILD, PREFIX, self.record, component, {"DESTDIR": str(self.destination)})

    def uninstall(self, *options, destination=None, status=0):
        script = self.record / "uninstall.cmake"
        where = {"DESTDIR": str(destination or self.destination)}
        return run("cmake", *options, "-P", script, status=status, environment=where)


class Files(Installation):
    def test_everything_is_on_the_list_and_below_the_prefix(self):
        self.install()
        patterns = set().union(*expected().values())
        self.assertEqual(differences(files_below(self.prefix), patterns), [])
        below = {os.path.relpath(path, PREFIX[1:]) for path in files_below(self.destination)}
        self.assertEqual(files_below(self.prefix), below)

    def test_components_have_their_files_and_no_others(self):
        for component, patterns in expected().items():
            with self.subTest(component=component):
                self.install(component)
                self.assertEqual(differences(files_below(self.prefix), patterns), [])
            shutil.rmtree(self.destination, ignore_errors=True)

    @unittest.skipUnless("command" in PARTS, "the command is not built")
    def test_command_runs(self):
        self.install("runtime")
        self.assertIn(VERSION, run(self.prefix / "bin/paraes", "--version"))

    def test_licence_is_whole(self):
        self.install("licence")
        self.assertIn("Apache License", (self.prefix / "share/doc/paraes/LICENSE").read_text())

    @unittest.skipUnless("shared" in PARTS, "the shared library is not built")
    def test_links_lead_to_the_shared_library(self):
        self.install()
        lib = self.prefix / LIB
        soname = f"libparaes.so.{VERSION.rpartition('.')[0]}"
        self.assertEqual(os.readlink(lib / "libparaes.so"), soname)
        self.assertTrue((lib / "libparaes.so").resolve().samefile(lib / f"libparaes.so.{VERSION}"))


class Uninstall(Installation):
    def test_removes_what_was_installed_and_nothing_else(self):
        self.install()
        foreign = {"include/paraes/foreign.hpp", "bin/foreign", f"{LIB}/libparaes.so.0"}
        for path in foreign:
            (self.prefix / path).write_text("of somebody else\n")
        installed = len(files_below(self.prefix)) - len(foreign)
        self.assertIn(f"removed {installed} files; 0 were", self.uninstall())
        left = {f"{PREFIX[1:]}/{path}" for path in foreign}
        self.assertEqual(files_below(self.destination), left)
        # Folders of others stay, even if they are empty.
        self.assertTrue((self.prefix / LIB / "pkgconfig").is_dir())

    def test_removes_the_folders_of_paraes_and_then_nothing(self):
        self.install()
        own = {path.parent for path in self.prefix.rglob("*") if path.parent.name == "paraes"}
        self.assertGreaterEqual(len(own), 3)
        self.uninstall()
        self.assertEqual([path for path in own if path.exists()], [])
        self.assertIn("removed 0 files;", self.uninstall())

    def test_without_installation_is_an_error(self):
        self.assertIn("nothing was installed", " ".join(self.uninstall(status=1).split()))

    def test_removes_nothing_elsewhere(self):
        self.install()
        before = files_below(self.destination)
        self.assertIn("removed 0 files;", self.uninstall(destination=self.scratch / "another"))
        self.assertEqual(files_below(self.destination), before)

    def test_names_what_it_cannot_remove(self):
        self.install()
        licence = self.prefix / "share/doc/paraes/LICENSE"
        licence.unlink()
        licence.mkdir()
        self.assertIn(str(licence), self.uninstall(status=1))
        self.assertEqual(files_below(self.destination), set())

    def test_removes_a_component_that_is_named(self):
        self.install("runtime")
        runtime = files_below(self.destination)
        self.install("development")
        self.uninstall("-DCOMPONENT=development")
        self.assertEqual(files_below(self.destination), runtime)

    def test_does_not_read_what_cpack_writes(self):
        self.install()
        everything = files_below(self.destination)
        (self.record / "install_manifest.txt").write_text(f"{PREFIX}/bin/paraes", encoding="utf-8")
        paths = "\n".join(f"/{path}" for path in everything)
        (self.record / "install_manifest_runtime.txt").write_text(paths, encoding="utf-8")
        self.uninstall()
        self.assertEqual(everything - files_below(self.destination), {f"{PREFIX[1:]}/bin/paraes"})

    def test_is_a_target_of_the_build(self):
        commands = run("ninja", "-C", BUILD, "-t", "commands", "uninstall")
        self.assertIn(f"-P {BUILD}/uninstall.cmake", commands)


if __name__ == "__main__":
    unittest.main()
