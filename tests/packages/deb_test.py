"""Tests of the Debian packages of packaging/deb: content, dependencies, lintian, command."""

import re
import unittest

import support

PACKAGES = support.SOURCE / "build/package/packages"
# lintian's warnings that remain, each with the reason.
WARNINGS = {
    # CPack adds the call to its scripts beside the trigger, which the policy wants.
    "maintscript-calls-ldconfig",
}
# The dependencies of each package, whatever the release calls the library of OpenSSL.
NEEDS = {
    "paraes": {"libc6", "libgomp1", "libssl"},
    "paraes-mpi": {"libc6", "libssl", "libmpi"},
    "libparaes-dev": {"libssl-dev", "libparaes", "libparaes-c0"},
    "libparaes0.2": {"libc6", "libgcc-s1", "libssl", "libstdc++6"},
    "libparaes-c0": {"libc6", "libgcc-s1", "libssl", "libstdc++6"},
}
OTHER_NAMES = {
    r"libssl3(t64)?": "libssl",
    r"libopenmpi\d+(t64)?|libmpich\d+(t64)?": "libmpi",
    r"libparaes0\.2": "libparaes",
}
FILES = {
    "paraes": r"usr/bin/paraes|usr/lib/[^/]+/paraes/paraes_openmp\.so"
    r"|usr/share/man/man1/paraes.*\.1\.gz"
    r"|usr/share/(bash-completion|zsh/vendor-completions|fish)/.*|usr/share/doc/paraes/paraes\.spdx\.json",
    "paraes-mpi": r"usr/bin/paraes-mpi|usr/share/man/man1/paraes-mpi.*\.1\.gz"
    r"|usr/share/(bash-completion|zsh/vendor-completions|fish)/.*",
    "libparaes-dev": r"usr/include/paraes(\.h|/.*\.hpp)|usr/lib/[^/]+/libparaes(-c)?\.(a|so)"
    r"|usr/lib/[^/]+/(cmake/paraes/\w+(-\w+)?\.cmake|pkgconfig/paraes(-c)?\.pc)",
    "libparaes0.2": r"usr/lib/[^/]+/libparaes\.so\.0\.2.*",
    "libparaes-c0": r"usr/lib/[^/]+/libparaes-c\.so\.0.*",
}


def setUpModule():
    support.require("cpack", "dpkg-deb", "dpkg-shlibdeps", "lintian")
    options = [f"-D{name}={value}" for name, value in support.cache().items()]
    support.run(*support.without_network(), support.SOURCE / "packaging/deb", *options)


def packages():
    """The files by the names of their packages."""
    return {path.name.split("_")[0]: path for path in PACKAGES.glob("*.deb")}


def field(path, name):
    return support.run("dpkg-deb", "-f", path, name).stdout.strip()


class Deb(unittest.TestCase):
    def setUp(self):
        self.folder = support.folder_of(self)

    def unpack(self, name):
        support.run("dpkg-deb", "-x", packages()[name], self.folder)
        return self.folder

    def test_ExpectedPackages_AreBuilt(self):
        self.assertLessEqual({"paraes", "libparaes-dev"}, set(packages()))
        self.assertLessEqual(set(packages()), set(NEEDS))
        for path in packages().values():
            self.assertEqual(field(path, "Version"), support.VERSION)

    def test_Dependencies_AreTheLinkedLibraries(self):
        for name, path in packages().items():
            wanted = set(NEEDS[name])
            if "libparaes0.2" not in packages():
                wanted -= {"libparaes", "libparaes-c0"}
            found = set()
            for dependency in field(path, "Depends").split(", "):
                word = dependency.split(" ")[0]
                for pattern, other in OTHER_NAMES.items():
                    word = re.sub(f"^({pattern})$", other, word)
                found.add(word)
            self.assertEqual(found, wanted, name)

    def test_Files_AreThoseOfThePackage(self):
        for name, path in packages().items():
            documents = rf"usr/share/doc/{re.escape(name)}/(copyright|changelog\.gz)"
            seen = set()
            for line in support.run("dpkg-deb", "-c", path).stdout.splitlines():
                mode, owner, *_, file = line.split(" -> ")[0].split()
                self.assertEqual(owner, "root/root", line)
                if mode.startswith("d"):
                    self.assertEqual(mode, "drwxr-xr-x", line)
                    continue
                self.assertRegex(file, rf"^\./({FILES[name]}|{documents})$", name)
                executable = file.startswith("./usr/bin/")
                if not mode.startswith("l"):
                    self.assertEqual(mode, "-rwxr-xr-x" if executable else "-rw-r--r--", line)
                seen.add(file)
            self.assertLessEqual(
                {f"./usr/share/doc/{name}/{file}" for file in ("copyright", "changelog.gz")}, seen
            )

    def test_Lintian_FindsNoErrors(self):
        done = support.run("lintian", "--allow-root", *packages().values(), check=False)
        print(done.stdout)
        tags = re.findall(r"^([EW]): \S+: (\S+)", done.stdout, re.MULTILINE)
        self.assertEqual([tag for letter, tag in tags if letter == "E"], [])
        self.assertLessEqual({tag for _, tag in tags}, WARNINGS)

    def test_Command_RunsFromThePackage(self):
        paraes = self.unpack("paraes") / "usr/bin/paraes"
        self.assertIn(support.VERSION, support.run(paraes, "--version").stdout)
        support.encrypt_and_decrypt(self, paraes, self.folder)

    def test_Files_HaveNoPathsOfTheBuild(self):
        for name in packages():
            self.unpack(name)
        needle = support.path_of_the_build(support.SOURCE)
        for path in self.folder.rglob("*"):
            if path.is_file():
                self.assertIsNone(needle.search(path.read_bytes()), path)

    def test_Spdx_IsValidAndNamesEveryPart(self):
        spdx = self.unpack("paraes") / "usr/share/doc/paraes/paraes.spdx.json"
        reader = support.SOURCE / "build/venv/bin/pyspdxtools"
        if not reader.exists():
            support.skip("build/venv has no spdx-tools: run tests/interop/environment")
        support.run(reader, "--infile", spdx)
        text = spdx.read_text()
        for part in ("paraes", "OpenSSL", "CLI11", "fmt", "nlohmann-json"):
            self.assertRegex(text, rf'"name": "{part}",\s+"versionInfo": "\d+\.\d+', part)


if __name__ == "__main__":
    unittest.main()
