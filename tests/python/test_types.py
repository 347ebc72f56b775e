"""The types that the package declares, against the module and against a program that uses it."""

import pathlib
import subprocess
import sys

import paraes

# stubtest says this of all functions and classes of nanobind.
OF_NANOBIND = ("is not a function", "is inconsistent, metaclass differs",
               "is a disjoint base at runtime", "stub is a staticmethod but runtime is not",
               'stub does not have *args parameter "args"')
TREE = pathlib.Path(__file__).resolve().parents[2]
CONFIG = TREE / "pyproject.toml"
GOOD = '''
import io
import mmap
import paraes
import paraes.gpu
from paraes.aead import AESGCM
from paraes.ciphers import Cipher, algorithms, modes
from paraes.cobblestone import Cobblestone256Encryptor

key: bytes = AESGCM.generate_key(bit_length=256)
sealed: bytes = AESGCM(key, threads=2).encrypt(bytes(12), bytearray(5), None)
n: int = AESGCM(key).decrypt_into(bytes(12), memoryview(sealed), b"", bytearray(5))
context = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
out: bytes = context.update(b"a") + context.finalize()
part: bytes = Cobblestone256Encryptor(key, b"").update(mmap.mmap(-1, 5))
reader: io.BufferedIOBase = paraes.open("x", key=key)
with paraes.open("x", "wb", recipients=["age1"]) as writer:
    writer.write(b"a")
size: int = paraes.encrypt_file("x", passphrase="p", progress=lambda done, total: None).bytes
text: io.TextIOWrapper = io.TextIOWrapper(paraes.open("x", "rb", identity="k"))
verdict: paraes.gpu.GpuVerdict = paraes.gpu.AESGCM(key).decrypt_into(bytes(12), text, None, text)
work: paraes.gpu.GpuWork = paraes.gpu.XTS(key, 512).encrypt_into(bytes(16), text, text, stream=5)
message = paraes.gpu.Segments.open(sealed, key=key)
offset: int = message.sealed_offset(1) + len(message.header)
'''
BAD = [
    'paraes.AESGCM("key")',
    "paraes.AESGCM(b'').encrypt(bytes(12), b'')",
    'paraes.open("x", key_fil="k")',
    'paraes.open("x", "rb", recipients="age1")',
    'paraes.seal(b"", key=5)',
    'paraes.encrypt_file("x", thread=2)',
    'paraes.gpu.AESGCM("key")',
    'paraes.gpu.Segments.open(b"", key_fil="k")',
]


def mypy(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "mypy", "--config-file", CONFIG, *arguments],
                          cwd=cwd, capture_output=True, text=True)


def test_package_is_typed_strictly(tmp_path):
    done = mypy("-p", "paraes", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_match_the_runtime(tmp_path):
    for module in ("paraes._native", "paraes.files", "paraes.ciphers", "paraes.exceptions",
                   "paraes.gpu"):
        done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "--concise",
                               "--mypy-config-file", CONFIG, module],
                              cwd=tmp_path, capture_output=True, text=True)
        wrong = [line for line in done.stdout.splitlines()
                 if not any(phrase in line for phrase in OF_NANOBIND)]
        assert done.stderr == "" and wrong == [], done.stdout + done.stderr
        assert module == "paraes._native" or done.returncode == 0


def test_stub_in_the_tree_is_that_of_the_module():
    """The reference of the site is made from the sources, where no module is built."""
    def declarations(path):
        return [line for line in path.read_text(encoding="utf-8").splitlines()
                if line and not line.startswith(("import ", "from "))]

    made = pathlib.Path(paraes.__file__).with_name("_native.pyi")
    kept = TREE / "python/native/_native.pyi"
    assert declarations(made) == declarations(kept), f"copy {made} to {kept}"


def test_right_program_passes(tmp_path):
    (tmp_path / "program.py").write_text(GOOD)
    done = mypy("program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_calls_are_found(tmp_path):
    (tmp_path / "program.py").write_text("import paraes\n" + "\n".join(BAD) + "\n")
    done = mypy("program.py", cwd=tmp_path)
    for number, line in enumerate(BAD, 2):
        assert f"program.py:{number}: error" in done.stdout, line + "\n" + done.stdout
