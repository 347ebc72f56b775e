"""Tests of the wheel of packaging/wheel in a new virtual environment: tag, what it loads, whether
package and command run, also beside an openssl.cnf that breaks libcrypto."""

import os
import pathlib
import re
import tempfile
import unittest

import support

DIST = support.SOURCE / "build/wheel/dist"
ENVIRONMENT = support.SOURCE / "build/venv/bin"
# No provider is active, so that a libcrypto that reads it has no SHA-256.
CONFIGURATION = """\
openssl_conf = init
[init]
providers = providers
[providers]
null = null
[null]
activate = 1
"""
LIBRARIES = r"^(lib(c|m|stdc\+\+|gcc_s)|ld-linux-[\w-]+)\.so\.\d+$"
USE = """\
import os, sys, paraes
from paraes.aead import AESGCM

key = AESGCM.generate_key(256)
nonce = os.urandom(12)
sealed = AESGCM(key).encrypt(nonce, b"message", b"header")
assert AESGCM(key).decrypt(nonce, sealed, b"header") == b"message"
data = os.urandom(1_000_001)
with paraes.open("file.paes", "wb", key=key) as file:
    file.write(data)
with paraes.open("file.paes", key=key) as file:
    file.seek(500_000)
    assert file.read(1000) == data[500_000:501_000]
print(paraes.__file__)
"""


def setUpModule():
    if not (ENVIRONMENT / "auditwheel").exists():
        support.skip("build/venv has no auditwheel: run tests/interop/environment")
    cache = support.cache()
    environment = {**os.environ, "CXX": cache["CMAKE_CXX_COMPILER"]}
    if "CMAKE_CXX_COMPILER_LAUNCHER" in cache:
        environment["CMAKE_CXX_COMPILER_LAUNCHER"] = cache["CMAKE_CXX_COMPILER_LAUNCHER"]
    # Warnings are errors, as in the build, because ccache then has the objects of the library.
    support.run(
        *support.without_network(),
        support.SOURCE / "packaging/wheel",
        "--config-settings=cmake.define.PARAES_WERROR=ON",
        env=environment,
    )


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.root = pathlib.Path(cls.scratch.name) / "venv"
        [cls.wheel] = DIST.glob("*.whl")
        support.run(ENVIRONMENT / "python", "-m", "venv", cls.root)
        support.run(cls.root / "bin/pip", "install", "--no-index", "--no-deps", cls.wheel)

    def setUp(self):
        self.folder = support.folder_of(self)
        # No compiler, no folder of libraries.
        self.bare = {"PATH": str(self.root / "bin"), "HOME": str(self.folder)}

    def test_Name_HasVersionAndManylinuxTag(self):
        version = re.escape(support.VERSION)
        self.assertRegex(
            self.wheel.name,
            rf"^paraes-{version}-cp3\d+-(cp3\d+|abi3)-manylinux_2_\d+_\w+\.whl$",
        )

    def test_Binaries_NeedOnlyTheCAndCppLibraries(self):
        module = next(self.root.glob("lib/python3*/site-packages/paraes/_native*.so"))
        for file in (module, self.root / "bin/paraes"):
            needed = re.findall(
                r"\(NEEDED\).*\[(.+)\]", support.run("readelf", "--dynamic", "--wide", file).stdout
            )
            self.assertIn("libc.so.6", needed)
            for library in needed:
                self.assertRegex(library, LIBRARIES, file)

    def test_Package_EncryptsAndDecrypts(self):
        done = support.run(self.root / "bin/python", "-c", USE, cwd=self.folder, env=self.bare)
        self.assertIn(str(self.root), done.stdout)

    def test_Command_EncryptsAndDecrypts(self):
        support.encrypt_and_decrypt(self, self.root / "bin/paraes", self.folder, self.bare)
        for command in ([self.root / "bin/paraes"], [self.root / "bin/python", "-m", "paraes"]):
            done = support.run(*command, "--version", env=self.bare)
            self.assertIn(support.VERSION, done.stdout)

    def test_OpensslConfiguration_IsNotRead(self):
        configuration = self.folder / "openssl.cnf"
        configuration.write_text(CONFIGURATION)
        broken = {**self.bare, "OPENSSL_CONF": str(configuration)}
        derive = "import paraes; paraes.encrypt_file('in', 'out', passphrase='correct horse')"
        (self.folder / "in").write_bytes(b"text")
        support.run(self.root / "bin/python", "-c", derive, cwd=self.folder, env=broken)
        support.run(self.root / "bin/python", "-c", USE, cwd=self.folder, env=broken)
        # The configuration does break a libcrypto that reads it.
        done = support.run(
            "openssl",
            "dgst",
            "-sha256",
            self.folder / "in",
            check=False,
            env={**os.environ, "OPENSSL_CONF": str(configuration)},
        )
        self.assertNotEqual(done.returncode, 0, "openssl did not read the configuration")


if __name__ == "__main__":
    unittest.main()
