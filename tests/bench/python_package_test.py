"""Tests of bench/python_package.

    python_package_test.py StandIns    with stand-ins for the packages paraes and cryptography
    python_package_test.py Packages    with the packages themselves, in the Python that
                                       PARAES_PYTHON names; exits with 77, which ctest shows as
                                       skipped, if it lacks them, or with 1 if
                                       PARAES_REQUIRE_LAB is 1
"""

import os
import signal
import statistics
import subprocess
import sys
import time
import unittest

import cases

BENCH = cases.TREE / "bench/python_package"
PACKAGES_PYTHON = os.environ.get("PARAES_PYTHON", sys.executable)
NEEDED = "import cryptography.cobblestone; from paraes import AESGCM"

# The "ciphers" of the stand-ins exchange upper and lower case, and add 16 bytes.
CIPHERS = """
import os

last = None

def note(name):
    global last
    if name != last:
        last = name
        with open(os.environ["LOG"], "a") as log:
            log.write(name + "\\n")

def sealed(data):
    return bytes(data).swapcase() + b"t" * 16

def opened(data):
    if data[-16:] != b"t" * 16:
        raise ValueError("no tag")
    return bytes(data[:-16]).swapcase()

class Aead:
    kernel = "stand-in"

    def __init__(self, key, threads=1):
        self.threads = threads

    def encrypt(self, nonce, data, aad):
        note(f"{self.name} {len(data)}")
        return sealed(data)

    def decrypt(self, nonce, data, aad):
        return opened(data)

    def encrypt_into(self, nonce, data, aad, out):
        out[:] = sealed(data)
        return len(out)

    def decrypt_into(self, nonce, data, aad, out):
        out[:] = opened(data)
        return len(out)

class Stream:
    def __init__(self, key, context, threads=1):
        pass

    def update(self, data):
        return self.crypt(data)

    def update_into(self, data, out):
        result = self.crypt(data)
        out[:len(result)] = result
        return len(result)

    def finalize(self):
        return b""

class Encryptor(Stream):
    crypt = staticmethod(sealed)

class Decryptor(Stream):
    crypt = staticmethod(opened)
"""
CRYPTOGRAPHY = {
    "cryptography/__init__.py": "__version__ = '99.1'",
    "cryptography/cobblestone.py":
        "from ciphers import Decryptor, Encryptor\n"
        "Cobblestone256Decryptor, Cobblestone256Encryptor = Decryptor, Encryptor",
    "cryptography/exceptions.py": "class InvalidTag(Exception): pass",
    "cryptography/hazmat/backends/openssl/backend.py":
        "class backend:\n    openssl_version_text = lambda: 'OpenSSL 9.9.9'",
    "cryptography/hazmat/primitives/ciphers/aead.py":
        "import ciphers\n"
        "class AESGCM(ciphers.Aead):\n    name = 'cryptography'",
}
PARAES = """
import builtins, io, pathlib
import ciphers

__version__ = "7.8.9"

class Error(Exception):
    pass

class AESGCM(ciphers.Aead):
    name = "paraes"

class Cobblestone256Encryptor(ciphers.Encryptor):
    pass

class Cobblestone256Decryptor(ciphers.Decryptor):
    pass

class Cobblestone256:
    def __init__(self, key, context, threads=1):
        pass

    def encrypt(self, data):
        return ciphers.sealed(data)

    def decrypt(self, data):
        return ciphers.opened(data)

def encrypt_file(source, target, key, threads):
    target.write_bytes(ciphers.sealed(source.read_bytes()))

def decrypt_file(source, target, key, threads):
    target.write_bytes(ciphers.opened(source.read_bytes()))

class Writer(io.BytesIO):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def close(self):
        self.path.write_bytes(ciphers.sealed(self.getvalue()))
        super().close()

def open(path, mode="rb", *, key, threads):
    return Writer(path) if mode == "wb" else io.BytesIO(ciphers.opened(path.read_bytes()))
"""
CORRUPTIONS = {
    # the wrong paraes, the group that notices it, and what the message names
    "encrypt_into": (
        "AESGCM.encrypt_into = lambda self, nonce, data, aad, out: len(out)",
        "aead", "paraes: wrong result: encrypt_into of 100 B"),
    "decrypt": (
        "AESGCM.decrypt = lambda self, nonce, data, aad: ciphers.opened(data)[:-1]",
        "aead", "paraes: wrong result: decrypt of 100 B"),
    "length": (
        "AESGCM.decrypt_into = lambda self, nonce, data, aad, out: "
        "ciphers.Aead.decrypt_into(self, nonce, data, aad, out) + 1",
        "aead", "paraes: wrong result: decrypt_into of 100 B"),
    "refusal": (
        "def refuse(*_):\n    raise Error('no')\nAESGCM.decrypt = refuse",
        "aead", "paraes: decrypt of 100 B: Error: no"),
    "message": (
        "Cobblestone256Encryptor.update = lambda self, data: bytes(data)",
        "cobblestone", "paraes: Cobblestone256Encryptor.update of 1 MiB: ValueError: no tag"),
    "nothing is written": (
        "Cobblestone256Decryptor.update_into = lambda self, data, out: len(data) - 16",
        "cobblestone", "paraes: wrong result: Cobblestone256Decryptor.update_into of 1 MiB"),
    "one-shot": (
        "Cobblestone256.decrypt = lambda self, data: bytes(data[:-16])",
        "cobblestone", "paraes: wrong result: Cobblestone256.decrypt of 1 MiB"),
    "decrypt_file": (
        "def decrypt_file(source, target, **options):\n    target.write_bytes(b'')",
        "files", "paraes: wrong result: decrypt_file"),
    "reader": (
        "def open(path, **options):\n    return io.BytesIO(path.read_bytes())",
        "files", "paraes: wrong result: open, readinto 1 MiB"),
    "seek": (
        "class Reader(io.BytesIO):\n"
        "    def seek(self, offset, whence=0):\n"
        "        return super().seek(offset + 1) - 1\n"
        "def open(path, **options):\n    return Reader(ciphers.opened(path.read_bytes()))",
        "files", "paraes: wrong result: seek, readinto 64 KiB"),
    "writer": (
        "Writer.write = lambda self, data: io.BytesIO.write(self, bytes(len(data)))",
        "files", "paraes: wrong result: open, write 1 MiB"),
}


class Case(cases.FolderCase):
    def setUp(self):
        super().setUp()
        self.files = self.folder / "files"
        self.files.mkdir()

    def run_bench(self, *flags, **environment):
        """Return the exit status, the output and the report."""
        return self.run_script("python_package", "--sizes", "100,1MiB", "--large", "1MiB",
                               "--rounds", "3", "--folder", self.files, *flags, **environment)

    def check_report(self, report, rounds, with_optional=False):
        self.assertEqual(report["schema"], 1)
        self.assertLessEqual({"cpu", "cores", "python", "paraes", "cryptography", "kernel", "time"},
                             report["context"].keys())
        for row in report["rows"]:
            self.assertEqual(len(row["paraes_ns"]), rounds)
            self.assertGreater(min(row["paraes_ns"]), 0)
            self.assertEqual(row["paraes_median_ns"], statistics.median(row["paraes_ns"]))
            if "rival" not in row:
                self.assertEqual(row["reads_per_second"], 1e9 / row["paraes_median_ns"])
                continue
            self.assertEqual(row["ratios"], [theirs / ours for ours, theirs in zip(
                row["paraes_ns"], row["rival_ns"], strict=True)])
            self.assertEqual(row["ratio"], statistics.median(row["ratios"]))
            self.assertEqual(row["met"], None if row["required"] is None
                             else row["ratio"] >= row["required"])
        # By what was measured: the rival and the required ratio.
        small = {(f"AESGCM.{direction}{into}", 100, bits, 1): ("cryptography", 1.0)
                 for direction in ("encrypt", "decrypt") for into in ("", "_into")
                 for bits in (128, 256)}
        large = {(f"AESGCM.{direction}{into}", 1 << 20, bits, threads):
                 ("cryptography", required if into else None)
                 for direction in ("encrypt", "decrypt") for into in ("", "_into")
                 for bits in (128, 256) for threads, required in ((1, 1.1), (2, 1.9))}
        cobblestone = {(f"Cobblestone256{call}", 1 << 20, 256, 2): ("cryptography", 2.0)
                       for call in (".encrypt", ".decrypt", "Encryptor.update",
                                    "Decryptor.update", "Encryptor.update_into",
                                    "Decryptor.update_into")}
        files = {(f"open, {call}", 1 << 20, 256, 2): rival for call, rival in {
            "readinto 1 MiB": ("decrypt_file", 0.9), "readinto 64 KiB": ("decrypt_file", 0.9),
            "read()": ("decrypt_file", 0.9), "write 1 MiB": ("encrypt_file", None)}.items()}
        files |= {(f"seek, readinto {kib} KiB", kib << 10, 256, 2): (None, None)
                  for kib in (64, 4)}
        optional = {}
        if with_optional:
            optional = {
                (call, size, 256, 2): rival for call, size, rival in (
                    ("load_file, beside the plain file", 1 << 20, ("safetensors", 0.77)),
                    ("load_file, beside unseal in memory", 1 << 20, ("unseal", 0.9)),
                    ("fsspec.open, readinto 64 KiB", 1 << 20, ("paraes.open", 0.8)),
                    ("fsspec, seek, readinto 64 KiB", 1 << 16, ("paraes.open", 0.8)),
                    ("encrypt, parts of 1 MiB", 1 << 20, ("copy", 0.9)),
                    ("decrypt, parts of 1 MiB", 1 << 20, ("copy", None)),
                    ("encrypt to S3, parts of 1 MiB", 1 << 20, ("plain upload", 0.9)),
                    ("read, chunks of 1 MiB", 1 << 20, ("plain store", 0.7)),
                    ("write, chunks of 1 MiB", 1 << 20, ("plain store", None)))}
        found = [((row["call"], row["bytes"], row["key_bits"], row["threads"]),
                  (row.get("rival"), row.get("required"))) for row in report["rows"]]
        self.assertEqual(dict(found), small | large | cobblestone | files | optional)
        self.assertEqual(len(dict(found)), len(found))


class StandIns(Case):
    def setUp(self):
        super().setUp()
        self.packages = self.folder / "packages"
        self.write("ciphers.py", CIPHERS)
        for name, text in CRYPTOGRAPHY.items():
            self.write(name, text)
        self.write("paraes/__init__.py", PARAES)

    def write(self, name, text):
        super().write(f"packages/{name}", text)

    def run_bench(self, *flags):
        return super().run_bench(*flags, PYTHONPATH=str(self.packages))

    def test_report_has_every_row_and_ratios_of_the_same_round(self):
        status, text, report = self.run_bench("--only", "aead,cobblestone,files")
        self.assertEqual(status, 0, text)
        self.check_report(report, 3)
        self.assertIn("paraes 7.8.9 (stand-in) / cryptography 99.1 with OpenSSL 9.9.9", text)
        self.assertRegex(text, r"seek, readinto 4 KiB .* reads per second")
        context = report["context"]
        self.assertEqual((context["paraes"], context["cryptography"], context["kernel"]),
                         ("7.8.9", "99.1", "stand-in"))

    def test_figures_are_met_or_missed(self):
        self.write("paraes/__init__.py", PARAES + """
import time
def slow(self, nonce, data, aad):
    time.sleep(0.005)
    return ciphers.opened(data)
AESGCM.decrypt = slow
""")
        status, text, report = self.run_bench("--only", "aead", "--sizes", "100")
        self.assertEqual(status, 0, text)
        met = {row["call"]: row["met"] for row in report["rows"]}
        self.assertFalse(met["AESGCM.decrypt"])
        self.assertRegex(text, r"AESGCM\.decrypt .* 1\.0 missed")

    def test_the_order_is_reversed_in_each_round(self):
        status, text, _ = self.run_bench("--only", "aead", "--sizes", "100", "--rounds", "4")
        self.assertEqual(status, 0, text)
        # Only encrypt writes to the log. The first line is that of the message that the row starts
        # with; then both are checked, calibrated, and measured in four rounds.
        turns = self.log.read_text().splitlines()
        ours, theirs = "paraes 100", "cryptography 100"
        row = [theirs, ours, theirs, ours, theirs, ours, theirs, ours, theirs, ours]
        self.assertEqual(turns, row * 2)

    def test_only_some_groups_are_measured(self):
        status, text, report = self.run_bench("--only", "files,aead", "--sizes", "16")
        self.assertEqual(status, 0, text)
        self.assertEqual({row["group"] for row in report["rows"]}, {"aead", "files"})
        self.assertEqual(list(self.files.iterdir()), [])

    def test_a_terminated_run_leaves_nothing_in_the_folder(self):
        with subprocess.Popen(
                [sys.executable, "-B", BENCH, "--only", "files", "--large", "1MiB", "--rounds",
                 "1000000", "--folder", self.files], stdout=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": str(self.packages)}) as bench:
            deadline = time.monotonic() + 60
            while not any(self.files.glob("*/sealed")) and time.monotonic() < deadline:
                time.sleep(0.01)
            bench.terminate()
            self.assertEqual(bench.wait(60), 128 + signal.SIGTERM)
        self.assertEqual(list(self.files.iterdir()), [])

    def test_wrong_results_exit_with_1(self):
        for name, (code, group, message) in CORRUPTIONS.items():
            with self.subTest(name):
                self.write("paraes/__init__.py", f"{PARAES}\n{code}\n")
                status, text, report = self.run_bench("--only", group)
                self.assertEqual(status, 1, text)
                self.assertIn(f"bench/python_package: {message}", text)
                self.assertNotIn("Traceback", text)
                self.assertIsNone(report)
                self.assertEqual(list(self.files.iterdir()), [])

    def test_wrong_results_of_the_rival_exit_with_1(self):
        self.write("cryptography/hazmat/primitives/ciphers/aead.py",
                   CRYPTOGRAPHY["cryptography/hazmat/primitives/ciphers/aead.py"] +
                   "\n    def decrypt(self, nonce, data, aad):\n        return b''")
        status, text, _ = self.run_bench("--only", "aead")
        self.assertEqual(status, 1, text)
        self.assertIn("cryptography: wrong result: decrypt of 100 B", text)

    def test_missing_packages_exit_with_2(self):
        for name in ("paraes/__init__.py", "cryptography/__init__.py",
                     "cryptography/cobblestone.py"):
            with self.subTest(name):
                kept = (self.packages / name).read_text()
                self.write(name, "raise ImportError('it is not here')")
                status, text, report = self.run_bench()
                self.assertEqual(status, 2, text)
                self.assertIn("needs the packages paraes and cryptography (50 or later): it is not "
                              "here", text)
                self.assertIsNone(report)
                self.write(name, kept)

    def test_files_that_cannot_be_written_exit_with_2(self):
        absent = self.folder / "absent"
        for flags in (("--only", "files", "--folder", absent), ("--only", "weights"),
                      ("--only", "objects"), ("--only", "zarr"),
                      ("--only", "workers"), ("--only", "uploads"),
                      ("--only", "files", "--large", "1048576GiB"),
                      ("--only", "aead", "--sizes", "16", "--json", absent / "report.json")):
            status, text, _ = self.run_bench(*flags)
            self.assertEqual(status, 2, text)
            self.assertIn("bench/python_package: ", text)
            self.assertNotIn("Traceback", text)

    def test_wrong_arguments_are_usage_errors(self):
        for flag in ("--sizes=0", "--sizes=", "--large=1MiB,2MiB", "--large=much", "--rounds=0",
                     "--only=", "--only=aead,xts"):
            status, text, _ = self.run_bench(flag)
            self.assertEqual(status, 2, text)
            self.assertIn("usage:", text)


class Packages(Case):
    def test_report_has_every_row(self):
        status, text, report = self.run_bench("--rounds", "1", python=PACKAGES_PYTHON)
        self.assertEqual(status, 0, text)
        self.check_report(report, 1, with_optional=True)


def skip_reason():
    """Return why the packages cannot be measured, or None."""
    if not os.access(PACKAGES_PYTHON, os.X_OK):
        return f"{PACKAGES_PYTHON} is missing: run tests/interop/environment"
    done = subprocess.run([PACKAGES_PYTHON, "-c", NEEDED], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        error = (done.stderr.strip().splitlines() or ["it fails"])[-1]
        return f"{PACKAGES_PYTHON}: {error}: run tests/interop/environment"
    return None


if __name__ == "__main__":
    if sys.argv[1:2] == ["Packages"] and (reason := skip_reason()) is not None:
        print(reason, file=sys.stderr)
        sys.exit(1 if os.environ.get("PARAES_REQUIRE_LAB") == "1" else 77)
    unittest.main()
