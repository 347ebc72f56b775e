"""Tests of packaging/provenance and packaging/release: what they state, and what they refuse. Also
what packaging/deb and packaging/wheel leave when they are stopped."""

import contextlib
import hashlib
import json
import os
import platform
import pty
import shutil
import signal
import subprocess
import sys
import unittest
import unittest.mock

import support

SCRIPT = support.SOURCE / "packaging/provenance"
BUILDER = "https://example.org/builder"


def setUpModule():
    support.require("git", "minisign", "dpkg-query")


class WithKeys(unittest.TestCase):
    """A small source tree, an artefact of it, and throwaway keys."""

    def setUp(self):
        self.folder = support.folder_of(self)
        self.source = self.folder / "source"
        self.source.mkdir()
        (self.source / "file").write_text("text\n")
        for command in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "Add a file"]):
            self.git(*command)
        self.artefact = self.folder / "paraes_1.deb"
        self.artefact.write_bytes(os.urandom(1000))
        self.statement = self.folder / "provenance.json"
        self.signature = self.folder / "provenance.json.minisig"
        for name in ("own", "other"):
            support.run("minisign", "-G", "-W", "-p", self.folder / f"{name}.pub",
                        "-s", self.folder / f"{name}.key")

    def git(self, *arguments):
        options = ["user.name=T", "user.email=t@example.org", "commit.gpgsign=false"]
        command = ["git", "-C", self.source, *(word for o in options for word in ("-c", o))]
        return support.run(*command, *arguments).stdout.strip()

    def verify(self, key="own.pub", files=None):
        return support.run(SCRIPT, "verify", "--key", self.folder / key, self.statement,
                           *(files or [self.artefact]), check=False)

    def minisign_that(self, command):
        """Programs started meanwhile find a minisign that begins a signature and runs a command."""
        folder = support.folder_of(self)
        support.write_program(folder / "minisign", f"""#!/bin/sh
while [ "$1" != -m ]; do shift; done
echo half >"$2.minisig"
{command}
""")
        path = f"{folder}:{os.environ['PATH']}"
        return unittest.mock.patch.dict(os.environ, {"PATH": path})

    def definition(self):
        return json.loads(self.statement.read_text())["predicate"]["buildDefinition"]

    def hide_key_in_the_sources(self):
        key = self.source / "own.key"
        key.write_bytes((self.folder / "own.key").read_bytes())
        return key

    def commit_nothing(self):
        self.git("commit", "-q", "--allow-empty", "-m", "Change nothing")

    def refuses(self, done, words):
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(words, done.stdout)


class Provenance(WithKeys):
    """What packaging/provenance states of an artefact."""

    def make(self, *options, check=True, prefix=()):
        return support.run(*prefix, SCRIPT, "make", "--builder", BUILDER, "--source", self.source,
                           "--parameter", "preset=package", "-o", self.statement, *options,
                           self.artefact, check=check)

    def signed(self, *prefix, check=True):
        return self.make("--sign", self.folder / "own.key", prefix=prefix, check=check)

    def test_Statement_HasWhatSlsaAsksFor(self):
        self.signed()
        made = json.loads(self.statement.read_text())
        self.assertEqual(made["_type"], "https://in-toto.io/Statement/v1")
        self.assertEqual(made["predicateType"], "https://slsa.dev/provenance/v1")
        digest = hashlib.sha256(self.artefact.read_bytes()).hexdigest()
        self.assertEqual(made["subject"], [{"name": "paraes_1.deb", "digest": {"sha256": digest}}])
        definition = self.definition()
        commit = self.git("rev-parse", "HEAD")
        self.assertEqual(definition["externalParameters"], {"commit": commit, "preset": "package"})
        self.assertEqual(definition["internalParameters"]["SOURCE_DATE_EPOCH"],
                         self.git("log", "-1", "--format=%ct"))
        archive, *packages = definition["resolvedDependencies"]
        tar = subprocess.run(["git", "-C", self.source, "archive", "--format=tar", "HEAD"],
                             capture_output=True, check=True).stdout
        self.assertEqual(archive["digest"],
                         {"sha256": hashlib.sha256(tar).hexdigest(), "gitCommit": commit})
        version = support.run("dpkg-query", "-W", "-f", "${Version}", "dpkg").stdout
        self.assertTrue(any(f"/dpkg@{version}?" in package["uri"] for package in packages))
        self.assertEqual(made["predicate"]["runDetails"]["builder"], {"id": BUILDER})

    def test_PythonOfTheBuild_IsStatedWithItsPackages(self):
        packages = self.folder / "packages"
        metadata = packages / "A_Package.b-1.0+c.dist-info/METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text("Metadata-Version: 2.1\nName: A_Package.b\nVersion: 1.0+c\n")
        python = self.folder / "python"
        support.write_program(
            python,
            "#!/bin/sh\nshift\n"  # -I, with which a test cannot add a package
            f'PYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n'
        )
        self.make("--python", python)
        found = [package.get("uri") for package in self.definition()["resolvedDependencies"]]
        self.assertIn(f"pkg:generic/python@{platform.python_version()}", found)
        self.assertIn("pkg:pypi/a-package-b@1.0%2Bc", found)

    def test_SameBuild_GivesTheSameBytes(self):
        made = []
        for _ in range(2):
            self.make("--python", sys.executable)
            made.append(self.statement.read_bytes())
        self.assertEqual(*made)

    def test_SignedStatement_IsVerified(self):
        self.signed()
        done = self.verify()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(self.git("rev-parse", "HEAD"), done.stdout)

    def test_KeyAsText_IsAccepted(self):
        self.signed()
        key = (self.folder / "own.pub").read_text().splitlines()[1]
        done = support.run(SCRIPT, "verify", "--key", key, self.statement, self.artefact)
        self.assertIn("1 files", done.stdout)

    def test_ChangedArtefact_IsRefused(self):
        self.signed()
        content = bytearray(self.artefact.read_bytes())
        content[500] ^= 1
        self.artefact.write_bytes(content)
        self.refuses(self.verify(), "SHA-256 differs")

    def test_UnknownArtefact_IsRefused(self):
        self.signed()
        other = self.folder / "paraes_2.deb"
        other.write_bytes(self.artefact.read_bytes())
        self.refuses(self.verify(files=[other]), "has no paraes_2.deb")

    def test_ChangedStatement_IsRefused(self):
        self.signed()
        text = self.statement.read_text()
        self.statement.write_text(text.replace("example.org", "example.com"))
        self.refuses(self.verify(), "signature is wrong")

    def test_OtherKey_IsRefused(self):
        self.signed()
        self.refuses(self.verify("other.pub"), "signature is wrong")

    def test_StatementWithoutSignature_IsRefused(self):
        self.make()
        self.refuses(self.verify(), "signature is wrong")

    def test_KeyAsText_IsNeverAFile(self):
        # A hostile download: its statement, and its key in a file that is named like the right one.
        self.make("--sign", self.folder / "other.key")
        key = (self.folder / "own.pub").read_text().splitlines()[1]
        named = self.folder / "download" / key
        named.parent.mkdir(parents=True)
        named.write_bytes((self.folder / "other.pub").read_bytes())
        done = support.run(SCRIPT, "verify", "--key", key, self.statement, self.artefact,
                           check=False, cwd=self.folder / "download")
        self.refuses(done, "signature is wrong")

    def test_OtherSignedText_IsRefused(self):
        self.signed()
        made = json.loads(self.statement.read_text())
        other = json.loads(json.dumps(made))
        other["predicate"]["buildDefinition"]["buildType"] = "urn:other"
        older = made | {"predicateType": "https://slsa.dev/provenance/v0.2"}
        for name, changed, words in (
            ("older", older, "no provenance of paraes"),
            ("another build", other, "no provenance of paraes"),
            ("nothing", {}, "incomplete"),
            ("a list", [], "incomplete"),
            ("no subject", made | {"subject": None}, "incomplete"),
            ("no files", made | {"subject": []}, "has no paraes_1.deb"),
        ):
            with self.subTest(name):
                self.statement.write_text(json.dumps(changed))
                support.run("minisign", "-S", "-s", self.folder / "own.key", "-m", self.statement)
                self.refuses(self.verify(), words)

    def test_AnyNameOfAFile_IsVerified(self):
        self.artefact = self.folder / "a\nb\udcff.deb"
        self.artefact.write_bytes(b"text")
        self.signed()
        self.assertEqual(self.verify().returncode, 0)

    def test_UncommittedChange_IsRefused(self):
        (self.source / "file").write_text("other\n")
        self.refuses(self.make(check=False), "not committed")

    def test_UntrackedFileThatGitHides_IsRefused(self):
        self.git("config", "status.showUntrackedFiles", "no")
        (self.source / "other").write_text("other\n")
        self.refuses(self.make(check=False), "not committed")

    def test_OtherCommitAsParameter_IsRefused(self):
        self.refuses(self.make("--parameter", "commit=other", check=False), "given twice")

    def test_ArchiveOfAnotherCommit_IsRefused(self):
        archive = self.folder / "sources.tar"
        self.git("archive", "--format=tar", "--prefix=p/", "-o", archive, "HEAD")
        self.make("--archive", archive)
        self.commit_nothing()
        self.refuses(self.make("--archive", archive, check=False), "another commit")

    def test_KeyInTheSources_IsRefused(self):
        folder = self.source / "folder"
        folder.mkdir()
        key = self.hide_key_in_the_sources()
        for source in ([], ["--source", folder]):  # also beside the folder that is named
            done = self.make("--sign", key, *source, check=False)
            self.refuses(done, "key lies in the source tree")

    def test_UnsignedStatement_DropsTheEarlierSignature(self):
        self.signed()
        self.make()
        self.assertFalse(self.signature.exists())

    def test_OutputThatIsNoFile_IsRefused(self):
        self.statement = self.folder / "folder"
        self.statement.mkdir()
        self.refuses(self.make(check=False), "not a regular file")
        self.assertTrue(self.statement.is_dir())

    def test_FullDisk_LeavesNothing(self):
        self.signed()
        needed = -(-self.statement.stat().st_size // 4096)
        disk = self.folder / "disk"
        disk.mkdir()
        said = set()
        # The statement does not fit, then the signature does not, then all does.
        for pages in range(needed - 1, needed + 5):
            prefix = support.on_small_disk(pages, disk)
            if prefix is None:
                self.skipTest("mounting a disk is not permitted")
            self.statement = disk / "provenance.json"
            done = self.signed(*prefix, check=False)
            with self.subTest(pages=pages):
                if done.returncode == 0:
                    said.add("made")
                    self.assertIn("\nprovenance.json\nprovenance.json.minisig\n", done.stdout)
                else:
                    said.add("signature" if "did not sign" in done.stdout else "statement")
                    self.assertIn("No space left on device", done.stdout)
                    self.assertRegex(done.stdout, r"provenance: .*\n\Z")  # and no name
        self.assertEqual(said, {"statement", "signature", "made"})

    def test_FailedSignature_LeavesTheEarlierStatement(self):
        self.signed()
        earlier = self.statement.read_bytes()
        self.commit_nothing()
        with self.minisign_that("exit 2"):
            self.refuses(self.signed(check=False), "did not sign")
        self.assertEqual(self.statement.read_bytes(), earlier)
        self.assertEqual(self.verify().returncode, 0)
        self.assertEqual(list(self.folder.glob(".prov*")), [])

    def test_Password_IsAskedForAgain(self):
        command = [SCRIPT, "make", "--builder", BUILDER, "--source", self.source, "--sign",
                   self.folder / "own.key", "-o", self.statement, self.artefact]
        for answers, status in (("wrong\nright\n", 0), ("wrong\n" * 3, 1)):
            with self.subTest(answers):
                asks = 'printf "Password: "; read answer; [ "$answer" = right ]'
                with self.minisign_that(asks):
                    terminal, other = pty.openpty()
                    with subprocess.Popen(command, stdin=other, stdout=other, stderr=other) as run:
                        os.close(other)
                        os.write(terminal, answers.encode())
                        said = b""
                        with contextlib.suppress(OSError):  # at the end
                            while part := os.read(terminal, 4096):
                                said += part
                    os.close(terminal)
                self.assertEqual(run.returncode, status, said)
                self.assertEqual(said.count(b"Password: "), answers.count("\n"), said)
                self.assertEqual(self.statement.exists(), status == 0)
            self.statement.unlink(missing_ok=True)

    def test_KilledRun_LeavesTheEarlierStatementOrNone(self):
        for earlier in (False, True):
            with self.subTest(earlier=earlier):
                with self.minisign_that("kill -9 $PPID"):
                    self.assertEqual(self.signed(check=False).returncode, -signal.SIGKILL)
                self.assertEqual(self.statement.exists(), earlier)
                self.assertEqual(self.signature.exists(), earlier)
                if earlier:
                    self.assertEqual(self.verify().returncode, 0)
                self.signed()


class Release(WithKeys):
    """A tree whose packages are made at once, of their options and of the environment."""

    def setUp(self):
        super().setUp()
        scripts = self.source / "packaging"
        scripts.mkdir()
        for name in ("provenance", "release"):
            shutil.copy(support.SOURCE / "packaging" / name, scripts)
        for name, made in (("deb", "package/packages/a.deb"), ("wheel", "wheel/dist/a.whl")):
            support.write_program(scripts / name, f"""#!/bin/sh -e
mkdir -p build/{made.rpartition("/")[0]} build/venv/bin
ln -sf {sys.executable} build/venv/bin/python
cat build/package/CMakeCache.txt >build/{made} 2>/dev/null || true
echo "flags: $CXXFLAGS, time: $SOURCE_DATE_EPOCH" >>build/{made}
head -c $((padding)) /dev/zero >>build/{made}
if [ -e "kill-{name}" ]; then kill -9 $PPID; fi
if [ -e commit ]; then git -c user.name=T -c user.email=T commit -q --allow-empty -m "Change"; fi
""")
        (self.source / ".gitignore").write_text("/build/\n/commit\n/kill-*\n*.key\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "Add scripts")
        self.made = self.source / "build/release-files"
        self.statement = self.made / "provenance.json"

    def release(self, *options, check=True, prefix=(), **others):
        script = self.source / "packaging/release"
        return support.run(*prefix, script, "--builder", BUILDER, *options, check=check,
                           cwd=self.folder, **others)

    def refuses_at_once(self, done, words):
        self.refuses(done, words)
        self.assertFalse((self.source / "build").exists())

    def test_Files_AreVerified(self):
        self.release("--sign", "own.key")  # relative to the folder of the caller
        archive = f"paraes-{self.git('rev-parse', 'HEAD')[:12]}.tar"
        names = ["a.deb", "a.whl", archive]
        self.assertEqual(sorted(os.listdir(self.made)),
                         [*names, "provenance.json", "provenance.json.minisig"])
        done = self.verify(files=[self.made / name for name in names])
        self.assertIn("3 files", done.stdout)
        needed = self.definition()["resolvedDependencies"]
        digest = hashlib.sha256((self.made / archive).read_bytes()).hexdigest()
        self.assertEqual(needed[0]["digest"]["sha256"], digest)
        self.assertIn({"uri": f"pkg:generic/python@{platform.python_version()}"}, needed)

    def test_EarlierBuildsAndFlags_AreForgotten(self):
        for place in ("package/CMakeCache.txt", "package/packages/b.deb", "wheel/dist/b.whl",
                      "release-files/c.deb"):
            path = self.source / "build" / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("of an earlier build\n")
        self.release(env=os.environ | {"CXXFLAGS": "-Dother", "SOURCE_DATE_EPOCH": "1"})
        found = [name for name in os.listdir(self.made) if name.endswith((".deb", ".whl"))]
        self.assertEqual(sorted(found), ["a.deb", "a.whl"])
        self.assertEqual((self.made / "a.deb").read_text(), "flags: , time: \n")

    def test_CommitMeanwhile_IsRefused(self):
        (self.source / "commit").touch()
        self.refuses(self.release(check=False), "another commit")

    def test_FullDisk_LeavesNoRelease(self):
        build = self.source / "build"
        build.mkdir()
        made = 0
        for pages in range(4, 100, 8):
            prefix = support.on_small_disk(pages, build)
            if prefix is None:
                self.skipTest("mounting a disk is not permitted")
            done = self.release("--sign", "own.key", check=False, prefix=prefix,
                                env=os.environ | {"padding": "20000"})
            names = done.stdout.splitlines()
            with self.subTest(pages=pages):
                self.assertEqual("release-files" in names, done.returncode == 0, done.stdout)
                self.assertNotIn("release-files.unfinished", names)
                made += done.returncode == 0
        self.assertGreater(made, 1)
        self.assertLess(made, 8)

    def test_KilledRun_LeavesNoRelease(self):
        self.release("--sign", "own.key")
        for name in ("deb", "wheel"):
            with self.subTest(name):
                kill = self.source / f"kill-{name}"
                kill.touch()
                self.assertEqual(self.release("--sign", "own.key", check=False).returncode,
                                 -signal.SIGKILL)
                kill.unlink()
                self.assertFalse(self.made.exists())
        with self.minisign_that("kill -9 $PPID"):
            self.assertNotEqual(self.release("--sign", "own.key", check=False).returncode, 0)
        self.assertFalse(self.made.exists())
        self.release("--sign", "own.key")  # the folders of the killed runs are replaced
        self.assertEqual(len(os.listdir(self.made)), 5)
        self.assertNotIn("release-files.unfinished", os.listdir(self.source / "build"))

    def test_Changes_AreRefusedAtOnce(self):
        self.git("config", "status.showUntrackedFiles", "no")
        (self.source / "other").write_text("other\n")
        self.refuses_at_once(self.release(check=False), "not committed")

    def test_KeyInTheSources_IsRefusedAtOnce(self):
        key, link = self.hide_key_in_the_sources(), self.folder / "link.key"
        link.symlink_to(key)
        for name in (key, link):
            self.refuses_at_once(self.release("--sign", name, check=False), "in the source tree")

    def test_KeyThatIsMissing_IsRefusedAtOnce(self):
        self.refuses_at_once(self.release("--sign", "none.key", check=False), "cannot be read")


class Stopped(unittest.TestCase):
    """Stand-ins for CMake, CPack, pip and auditwheel, which end within a file if told so."""

    HALF = """#!/bin/sh -e
[ -e half ] || text=whole
folder={folder}
while [ $# -gt 0 ]; do
  case $1 in -B | --wheel-dir) folder=$2 && shift ;; esac
  shift
done
mkdir -p "$folder"
echo "${{text:-half}}" >"$folder/{name}"
[ ! -e half ] || kill -9 $PPID
"""

    def setUp(self):
        self.tree = support.folder_of(self)
        (self.tree / "packaging").mkdir()
        for name in ("deb", "wheel"):
            shutil.copy(support.SOURCE / "packaging" / name, self.tree / "packaging")
        (self.tree / "build/package").mkdir(parents=True)
        # CPack starts in the folder of the build, and its parent is a subshell.
        cpack = self.HALF.replace("half ]", "../../half ]").replace(
            "kill -9 $PPID", "kill -9 $(cat ../../parent)"
        )
        for name, text in (
            ("bin/cmake", "#!/bin/sh\necho $PPID >parent\n"),
            ("bin/cpack", cpack.format(folder="packages", name="a.deb")),
            ("build/venv/bin/python", "#!/bin/sh\nmkdir -p build/wheel/built\n"),
            ("build/venv/bin/auditwheel", self.HALF.format(folder="dist", name="a.whl")),
        ):
            support.write_program(self.tree / name, text)

    def check(self, script, result):
        environment = os.environ | {"PATH": f"{self.tree}/bin:{os.environ['PATH']}"}
        for half in (False, True):
            if half:
                (self.tree / "half").touch()
            done = support.run(self.tree / "packaging" / script, check=False, env=environment)
            self.assertEqual(done.returncode, -signal.SIGKILL if half else 0, done.stdout)
            self.assertEqual((self.tree / result).exists(), not half)

    def test_KilledDeb_LeavesNoPackage(self):
        self.check("deb", "build/package/packages/a.deb")

    def test_KilledWheel_LeavesNoWheel(self):
        self.check("wheel", "build/wheel/dist/a.whl")


if __name__ == "__main__":
    unittest.main()
