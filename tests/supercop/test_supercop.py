"""The folders for SUPERCOP: complete, compiled as SUPERCOP compiles them, and right.

PARAES_CXX is the compiler. Expected texts are published vectors and those of `cryptography`.
"""

import os
import pathlib
import platform
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WRITE = ROOT / "packaging" / "supercop" / "write.py"
CXX = os.environ.get("PARAES_CXX", "c++")
# The first line of SUPERCOP's okcompilers/cpp, with the standard that the folders ask for.
FLAGS = ["-march=native", "-mtune=native", "-O3", "-fomit-frame-pointer", "-fwrapv", "-DSUPERCOP"]
STANDARD = "-std=gnu++20"
CROSS = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64-static"
MACHINE = {"x86_64": "amd64", "aarch64": "aarch64"}.get(platform.machine())

# SUPERCOP's list of operations: the macros of api.h and the functions.
OPERATIONS = {
    "crypto_aead": (
        "KEYBYTES NSECBYTES NPUBBYTES ABYTES NOOVERLAP",
        {
            "_encrypt": "unsigned char *,unsigned long long *,const unsigned char *,"
            "unsigned long long,const unsigned char *,unsigned long long,const unsigned char *,"
            "const unsigned char *,const unsigned char *",
            "_decrypt": "unsigned char *,unsigned long long *,unsigned char *,"
            "const unsigned char *,unsigned long long,const unsigned char *,unsigned long long,"
            "const unsigned char *,const unsigned char *",
        },
    ),
    "crypto_stream": (
        "KEYBYTES NONCEBYTES",
        {
            "": "unsigned char *,unsigned long long,const unsigned char *,const unsigned char *",
            "_xor": "unsigned char *,const unsigned char *,unsigned long long,"
            "const unsigned char *,const unsigned char *",
        },
    ),
}

# Test cases 1, 2, 4, 13, 14 and 16 of McGrew and Viega: key, nonce, associated data, plaintext,
# ciphertext with tag.
KEY = "feffe9928665731c6d6a8f9467308308"
NONCE = "cafebabefacedbaddecaf888"
AAD = "feedfacedeadbeeffeedfacedeadbeefabaddad2"
PLAIN = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
)
GCM = {
    16: [
        ("00" * 16, "00" * 12, "", "", "58e2fccefa7e3061367f1d57a4e7455a"),
        (
            *("00" * 16, "00" * 12, "", "00" * 16),
            "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf",
        ),
        (
            *(KEY, NONCE, AAD, PLAIN),
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
            "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47",
        ),
    ],
    32: [
        ("00" * 32, "00" * 12, "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
        (
            *("00" * 32, "00" * 12, "", "00" * 16),
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919",
        ),
        (
            *(2 * KEY, NONCE, AAD, PLAIN),
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
            "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b",
        ),
    ],
}
# SP 800-38A, F.5.1 and F.5.5: key, first counter block, plaintext, ciphertext.
COUNTER = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
BLOCKS = (
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
)
CTR = {
    16: [
        (
            *("2b7e151628aed2a6abf7158809cf4f3c", COUNTER, BLOCKS),
            "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
            "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
        )
    ],
    32: [
        (
            *("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", COUNTER, BLOCKS),
            "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
            "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
        )
    ],
}
LENGTHS = [
    *range(0, 100),
    *range(240, 274),
    511,
    512,
    513,
    1023,
    1535,
    1536,
    4095,
    4096,
    4097,
    9999,
]


def gcm_cases(key_bytes):
    source = random.Random(7)
    cases = list(GCM[key_bytes])
    for length in LENGTHS:
        key, nonce = source.randbytes(key_bytes), source.randbytes(12)
        aad = source.randbytes(source.choice((0, 1, 13, 16, 17, 100, length)))
        plain = source.randbytes(length)
        sealed = AESGCM(key).encrypt(nonce, plain, aad)
        cases.append(tuple(text.hex() for text in (key, nonce, aad, plain, sealed)))
    return cases


def ctr_cases(key_bytes):
    source = random.Random(8)
    cases = list(CTR[key_bytes])
    for length in LENGTHS:
        key, nonce = source.randbytes(key_bytes), source.randbytes(16)
        if length % 3 == 0:  # the counter wraps, or carries into its upper half
            nonce = source.choice((b"\xff" * 16, nonce[:8] + b"\xff" * 8))
        plain = source.randbytes(length)
        stream = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
        cases.append(tuple(text.hex() for text in (key, nonce, plain, stream.update(plain))))
    return cases


def write_headers(folder, operation, primitive, implementation):
    """Writes operation.h and operation_primitive.h, as SUPERCOP makes them of api.h."""
    macros, functions = OPERATIONS[operation]
    op = f"{operation}_{primitive}"
    opi = re.sub(r"[./-]", "_", implementation)
    names = [*(f"_{macro}" for macro in macros.split()), *functions]
    (folder / f"{operation}.h").write_text(
        f'#pragma once\n#include "{op}.h"\n'
        + "".join(f"#define {operation}{name} {op}{name}\n" for name in names)
        + f"#define {operation}_IMPLEMENTATION {op}_IMPLEMENTATION\n"
    )
    api = re.sub(r"[ \t]CRYPTO_", f" {opi}_", (folder / "api.h").read_text())
    (folder / f"{op}.h").write_text(
        f'#pragma once\n{api}\nextern "C" {{\n'
        + "".join(f"extern int {opi}{name}({types});\n" for name, types in functions.items())
        + "}\n"
        + "".join(f"#define {op}{name} {opi}{name}\n" for name in names)
        + f'#define {op}_IMPLEMENTATION "{implementation}"\n'
    )


def texts_of(source):
    """Returns the texts of a source and of all files of its folder that it includes."""
    found, left = {}, [source]
    while left:
        file = left.pop()
        if file.name not in found and file.is_file():
            found[file.name] = file.read_text()
            names = re.findall(r'^\s*#\s*include ["<](.*)[">]', found[file.name], re.MULTILINE)
            left += [source.parent / name for name in names]
    return sorted(found.values())


class Supercop(unittest.TestCase):
    compiler = [CXX, *FLAGS]
    emulator = []

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.tree = cls.folder / "supercop"
        subprocess.run([sys.executable, "-B", WRITE, cls.tree], check=True)
        cls.objects = {}  # by the source and what it may include

    def compile(self, folder, *words, standard=STANDARD):
        return subprocess.run(
            [*self.compiler, standard, "-I.", *words], cwd=folder, capture_output=True, text=True
        )

    def compiled(self, folder, source):
        """Compiles a source, once for all folders where it and all that it includes are equal."""
        key = (*self.compiler, source.name, *texts_of(source))
        if key not in self.objects:
            output = self.folder / f"{len(self.objects)}.o"
            done = self.compile(folder, "-c", source.name, "-o", output)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.objects[key] = output
        return self.objects[key]

    def link(self, folder, operation):
        """Compiles the program that tries an implementation, with all sources of the folder."""
        objects = [self.compiled(folder, source) for source in sorted(folder.glob("*.cpp"))]
        program = HERE / f"try_{operation.removeprefix('crypto_')}.cpp"
        done = self.compile(folder, program, *objects, "-o", "try")  # and no library
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return folder / "try"

    def build(self, operation, primitive, kernel):
        """Compiles a copy of an implementation as SUPERCOP does."""
        name = f"{operation}/{primitive}/paraes/{kernel}"
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "compile"
        shutil.copytree(self.tree / name, folder)
        write_headers(folder, operation, primitive, name)
        return self.link(folder, operation)

    def try_cases(self, program, cases):
        text = "".join(" ".join(word or "-" for word in case) + "\n" for case in cases)
        return subprocess.run([*self.emulator, program], input=text, capture_output=True, text=True)

    def try_kernel(self, kernel):
        for key_bytes in (16, 32):
            for operation, primitive, cases in (
                ("crypto_aead", f"aes{8 * key_bytes}gcmv1", gcm_cases(key_bytes)),
                ("crypto_stream", f"aes{8 * key_bytes}ctr", ctr_cases(key_bytes)),
            ):
                with self.subTest(primitive=primitive):
                    done = self.try_cases(self.build(operation, primitive, kernel), cases)
                    name = f"{operation}/{primitive}/paraes/{kernel}"
                    self.assertEqual(done.stdout, f"{len(cases)} cases of {name}\n")
                    self.assertEqual(done.returncode, 0)

    def try_on_amd64(self, kernel, *features):
        if MACHINE != "amd64":
            self.skipTest("for x86-64")
        flags = pathlib.Path("/proc/cpuinfo").read_text().partition("flags")[2].splitlines()[0]
        if missing := sorted(set(features) - set(flags.split())):
            self.skipTest(f"this CPU has no {', '.join(missing)}")
        self.try_kernel(kernel)

    def test_aesni(self):
        self.try_on_amd64("aesni", "aes", "pclmulqdq")

    def test_vaes256(self):
        self.try_on_amd64("vaes256", "vaes", "vpclmulqdq")

    def test_vaes512(self):
        self.try_on_amd64("vaes512", "vaes", "vpclmulqdq", "avx512bw", "avx512dq", "avx512vl")

    def test_armv8(self):
        if MACHINE != "aarch64":
            if shutil.which(CROSS) is None or shutil.which(EMULATOR) is None:
                self.skipTest(f"not an AArch64 machine, and no {CROSS} or {EMULATOR}")
            self.compiler = [CROSS, "-O2", "-DSUPERCOP", "-static"]
            self.emulator = [EMULATOR, "-cpu", "max"]
        self.try_kernel("armv8")

    def test_bitslice_of_any_architecture(self):
        self.try_kernel("bitslice")

    def test_a_kernel_that_the_cpu_lacks_returns_an_error(self):
        folder = self.build("crypto_aead", "aes128gcmv1", "bitslice").parent
        (folder / "implementation.h").write_text(
            '#include "kernels_kernel.hpp"\n'
            "inline const paraes::Kernel& lacking() {\n"
            "  static const paraes::Kernel kernel = [] {\n"
            "    paraes::Kernel changed = paraes::bitslice_kernel;\n"
            "    changed.needs.bits = ~0U;\n"
            "    return changed;\n"
            "  }();\n"
            "  return kernel;\n"
            "}\n"
            "#define PARAES_KERNEL lacking()\n"
        )
        done = self.try_cases(self.link(folder, "crypto_aead"), GCM[16])
        self.assertEqual(done.returncode, 1)
        self.assertIn("crypto_aead_encrypt returns nonzero", done.stdout)

    def test_the_harness_finds_a_wrong_byte(self):
        program = self.build("crypto_aead", "aes256gcmv1", "bitslice")
        key, nonce, aad, plain, sealed = GCM[32][2]
        for case in ((key, nonce, aad, plain, sealed[:-1] + "0"), (key, nonce, "", plain, sealed)):
            done = self.try_cases(program, [case])
            self.assertEqual(done.returncode, 1)
            self.assertIn("crypto_aead_encrypt gives wrong bytes", done.stdout)

    def test_an_older_standard_is_refused_with_the_flag_to_add(self):
        program = self.build("crypto_aead", "aes128gcmv1", "bitslice")
        done = self.compile(program.parent, "-c", "encrypt.cpp", standard="-std=gnu++17")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("add -std=gnu++20 to the lines of SUPERCOP's okcompilers/cpp", done.stderr)

    def test_folders_have_what_supercop_reads(self):
        kernels = sorted(p.name for p in (self.tree / "crypto_aead/aes256gcmv1/paraes").iterdir())
        self.assertEqual(
            kernels, ["aesni", "armv8", "armv8_eor3", "bitslice", "vaes256", "vaes512"]
        )
        folders = [path.parent for path in self.tree.rglob("api.h")]
        self.assertEqual(len(folders), 4 * len(kernels))
        for folder in folders:
            self.assertTrue((folder / "implementors").read_text().strip())
            self.assertIn("Apache License", (folder / "LICENSE").read_text())
            self.assertFalse([path for path in folder.iterdir() if path.is_dir()])
            sources = [*folder.glob("*.cpp"), *folder.glob("*.hpp"), *folder.glob("*.inc")]
            included = {
                name
                for source in sources
                for name in re.findall(r'^\s*#\s*include "(.*)"', source.read_text(), re.MULTILINE)
            }
            self.assertEqual({name for name in included if not (folder / name).is_file()}, set())
            other_name = {"aesni": "amd64", "armv8": "aarch64"}.get(re.sub(r"_.*", "", folder.name))
            architecture = folder / "architectures"
            if folder.name == "bitslice":
                self.assertFalse(architecture.exists())
            else:
                self.assertEqual(architecture.read_text(), f"{other_name or 'amd64'}\n")
        api = (self.tree / "crypto_aead/aes256gcmv1/paraes/aesni/api.h").read_text()
        numbers = dict(re.findall(r"#define CRYPTO_(\w+) (\d+)\n", api))
        self.assertEqual(
            numbers,
            {
                "KEYBYTES": "32",
                "NSECBYTES": "0",
                "NPUBBYTES": "12",
                "ABYTES": "16",
                "NOOVERLAP": "1",
            },
        )

    def write(self, *words):
        return subprocess.run([sys.executable, "-B", WRITE, *words], capture_output=True, text=True)

    def test_only_the_kernels_that_are_named_are_written(self):
        done = self.write(self.folder / "one", "aesni")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            sorted(path.name for path in (self.folder / "one").glob("*/*/paraes/*")), ["aesni"] * 4
        )

    def test_wrong_arguments_are_refused(self):
        done = self.write(self.folder / "none", "ttable")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no kernel 'ttable' for SUPERCOP; there are aesni, ", done.stderr)
        self.assertFalse((self.folder / "none").exists())
        done = self.write(self.tree)
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists: remove it first, or name another folder", done.stderr)
        (self.folder / "file").write_text("")
        done = self.write(self.folder / "file")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot be written", done.stderr)
