"""Tests of packaging/provenance: what it states, and what it refuses."""

import hashlib
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import support

SCRIPT = support.SOURCE / "packaging/provenance"
BUILDER = "https://example.org/builder"


def setUpModule():
    support.require("git", "minisign", "dpkg-query")


class Provenance(unittest.TestCase):
    """A small source tree, an artefact of it, and throwaway keys."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.source = self.folder / "source"
        self.source.mkdir()
        (self.source / "file").write_text("text\n")
        for command in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "Add a file"]):
            self.git(*command)
        self.artefact = self.folder / "paraes_1.deb"
        self.artefact.write_bytes(os.urandom(1000))
        self.statement = self.folder / "provenance.json"
        for name in ("own", "other"):
            support.run("minisign", "-G", "-W", "-p", self.folder / f"{name}.pub",
                        "-s", self.folder / f"{name}.key")

    def git(self, *arguments):
        options = ["user.name=T", "user.email=t@example.org", "commit.gpgsign=false"]
        command = ["git", "-C", self.source, *(word for o in options for word in ("-c", o))]
        return support.run(*command, *arguments).stdout.strip()

    def make(self, *options, check=True):
        return support.run(SCRIPT, "make", "--builder", BUILDER, "--source", self.source,
                           "--parameter", "preset=package", "-o", self.statement, *options,
                           self.artefact, check=check)

    def signed(self):
        return self.make("--sign", self.folder / "own.key")

    def verify(self, key="own.pub", files=None):
        return support.run(SCRIPT, "verify", "--key", self.folder / key, self.statement,
                           *(files or [self.artefact]), check=False)

    def refuses(self, done, words):
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(words, done.stdout)

    def test_Statement_HasWhatSlsaAsksFor(self):
        self.signed()
        made = json.loads(self.statement.read_text())
        self.assertEqual(made["_type"], "https://in-toto.io/Statement/v1")
        self.assertEqual(made["predicateType"], "https://slsa.dev/provenance/v1")
        digest = hashlib.sha256(self.artefact.read_bytes()).hexdigest()
        self.assertEqual(made["subject"], [{"name": "paraes_1.deb", "digest": {"sha256": digest}}])
        definition = made["predicate"]["buildDefinition"]
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

    def test_SameBuild_GivesTheSameBytes(self):
        self.make()
        first = self.statement.read_bytes()
        self.make()
        self.assertEqual(self.statement.read_bytes(), first)

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

    def test_UncommittedChange_IsRefused(self):
        (self.source / "file").write_text("other\n")
        self.refuses(self.make(check=False), "not committed")

    def test_KeyInTheSources_IsRefused(self):
        key = self.source / "own.key"
        key.write_bytes((self.folder / "own.key").read_bytes())
        self.refuses(self.make("--sign", key, check=False), "key lies in the source tree")


if __name__ == "__main__":
    unittest.main()
