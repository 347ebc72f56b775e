"""Threads, processes, and where secrets do not appear."""

import copy
import errno
import functools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
from helpers import in_child, run_python, together

import paraes
from paraes.ciphers import Cipher, algorithms, modes

KEY = b"a secret key of 32 bytes, really"
NONCE = bytes(12)
DATA = bytes(range(256)) * 20_000
SEALED = paraes.AESGCM(KEY).encrypt(NONCE, DATA, None)


def works():
    """A bit of everything, on as many threads as this process has."""
    assert paraes.AESGCM(KEY).encrypt(NONCE, DATA, None) == SEALED
    cipher = paraes.Cobblestone256(KEY, b"")
    assert cipher.decrypt(cipher.encrypt(DATA)) == DATA
    assert paraes.unseal(paraes.seal(DATA, key=KEY), key=KEY) == DATA


def report_to(queue):
    works()
    queue.put((paraes.thread_limit(), len(os.listdir("/proc/self/task"))))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing(method):
    works()
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=report_to, args=(queue,))
    child.start()
    limit, threads = queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert limit == (1 if method == "fork" else 0)  # others import paraes after a fork
    if method == "fork":
        assert threads <= 3  # this one, and those of the queue


def test_objects_outlive_a_fork(tmp_path):
    cipher = paraes.AESGCM(KEY, threads=2)
    cipher.encrypt(NONCE, DATA, None)
    with paraes.open(tmp_path / "x", "wb", key=KEY) as file:
        file.write(DATA * 3)
    reader = paraes.open(tmp_path / "x", key=KEY)
    assert reader.read(2_000_000) == (DATA * 3)[:2_000_000]  # a thread reads ahead now
    writer = paraes.open(tmp_path / "y", "wb", key=KEY)
    writer.write(b"parent")

    def work():
        signal.alarm(60)  # it may hang
        assert cipher.encrypt(NONCE, DATA, None) == SEALED
        assert reader.read() == (DATA * 3)[2_000_000:]
        reader.close()
        works()
        paraes.limit_threads(0)
        works()

    in_child(work)
    assert reader.read() == (DATA * 3)[2_000_000:]
    writer.close()
    with paraes.open(tmp_path / "y", key=KEY) as file:
        assert file.read() == b"parent"
    works()


def test_many_threads_use_one_object():
    cipher = paraes.AESGCM(KEY, threads=2)
    one_shot = paraes.Cobblestone256(KEY, b"")

    def work(number):
        for size in (10, 3000, 70_000, 500_000):
            data = DATA[number : number + size]
            sealed = cipher.encrypt(NONCE, data, None)
            assert cipher.decrypt(NONCE, sealed, None) == data
            assert one_shot.decrypt(one_shot.encrypt(data)) == data

    together(*[functools.partial(work, n) for n in range(8)])


def test_contexts_take_turns():
    context = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor()
    parts = []
    together(*[lambda: parts.append(context.update(bytes(100_000)))] * 8)
    stream = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor().update(bytes(800_000))
    assert sorted(parts) == sorted(stream[i : i + 100_000] for i in range(0, 800_000, 100_000))


def test_others_run_meanwhile():
    data = bytes(512 << 20)
    out = bytearray(len(data) + 16)
    counted, ends = [0], threading.Event()

    def count():
        while not ends.is_set():
            counted[0] += 1
            time.sleep(0.0001)

    counter = threading.Thread(target=count)
    counter.start()
    while counted[0] == 0:
        time.sleep(0.001)
    before = counted[0]
    paraes.AESGCM(KEY, threads=1).encrypt_into(NONCE, data, None, out)
    after = counted[0]
    ends.set()
    counter.join()
    assert after > before + 5


def test_limit_of_threads():
    assert paraes.thread_limit() == 0
    try:
        paraes.limit_threads(1)
        assert paraes.thread_limit() == 1
        works()
    finally:
        paraes.limit_threads(0)


SECRETS = [KEY, KEY.hex().encode(), b"my passphrase"]


def assert_no_secret(text):
    raw = text if isinstance(text, bytes) else text.encode(errors="surrogateescape")
    for secret in SECRETS:
        assert secret not in raw and repr(secret).encode() not in raw


def objects():
    return [paraes.AESGCM(KEY), paraes.Cobblestone256(KEY, b""),
            paraes.Cobblestone256Encryptor(KEY, b""), paraes.Cobblestone256Decryptor(KEY, b""),
            algorithms.AES(KEY), Cipher(algorithms.AES(KEY), modes.ECB()),
            Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()]


def test_objects_show_no_secret(tmp_path):
    with paraes.open(tmp_path / "x", "wb", key=KEY) as writer:
        shown = [*objects(), writer]
        for made in shown:
            assert_no_secret(repr(made) + str(made) + str(getattr(made, "__dict__", "")))
            for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
                with pytest.raises(TypeError, match="pickle"):
                    pickle.dumps(made, protocol)
            for copied in (copy.copy, copy.deepcopy):
                if isinstance(made, Cipher) and copied is copy.copy:
                    continue  # the copy shares the key's only object
                with pytest.raises(TypeError):
                    copied(made)
    with paraes.open(tmp_path / "x", key=KEY) as reader, pytest.raises(TypeError, match="pickle"):
        pickle.dumps(reader)


def test_tracebacks_show_no_secret(tmp_path):
    (tmp_path / "x").write_bytes(paraes.seal(b"data", key=bytes(32)))
    x, passphrase = tmp_path / "x", "my passphrase"
    calls = [
        lambda: paraes.open(x, key=KEY),
        lambda: paraes.open(x, "nonsense", key=KEY),
        lambda: paraes.open(tmp_path / "missing", key=KEY),
        lambda: paraes.open(x, "xb", passphrase=passphrase),
        lambda: paraes.open(x, key=KEY, nonsense=5),
        lambda: paraes.open(5, key=KEY),
        lambda: paraes.encrypt_file(x, x, key=KEY, overwrite=True),
        lambda: paraes.decrypt_file(x, tmp_path / "y", key=KEY),
        lambda: paraes.verify_file(x, passphrase=passphrase),
        lambda: paraes.rekey_file(x, key=KEY, to_passphrase=passphrase),
        lambda: paraes.rekey_file(x, to_key=KEY),
        lambda: paraes.seal("text", key=KEY),
        lambda: paraes.seal(b"", key=KEY + b"x"),
        lambda: paraes.seal(b"", passphrase=passphrase, scrypt_log2n=99),
        lambda: paraes.seal(b"", passphrase=passphrase + "\ud800"),
        lambda: paraes.unseal(b"", key=KEY, threads="x"),
        lambda: paraes.AESGCM(KEY + b"x"),
        lambda: paraes.Cobblestone128(KEY, b""),
        lambda: paraes.encrypt_file(x, overwrite=1, key=KEY),
        lambda: paraes.rekey_file(x, new_key=1, key=KEY, to_passphrase=passphrase),
        lambda: paraes.open(None, key=KEY),
        lambda: paraes.open(None, "wb", key=KEY),
        lambda: paraes.seal(None, key=KEY),
        lambda: paraes.unseal(None, passphrase=passphrase),
        lambda: paraes.encrypt_file(None, key=KEY),
        lambda: paraes.decrypt_file(None, key=KEY),
        lambda: paraes.verify_file(None, key=KEY),
        lambda: algorithms.AES128(KEY + KEY),
        lambda: algorithms.AES(KEY + b"x"),
    ]
    inside = os.path.dirname(paraes.__file__)
    for call in calls:
        number = calls.index(call)
        with pytest.raises(Exception) as caught:
            call()
            print(f"call {number} raised nothing")
        assert_no_secret(repr(caught.value) + str(caught.value))
        place = caught.value.__traceback__
        while place is not None:
            if place.tb_frame.f_code.co_filename.startswith(inside):
                assert_no_secret(repr(place.tb_frame.f_locals))
            place = place.tb_next


@pytest.mark.parametrize("wrong", [-1, 4097, 2**40, -(2**70), 2**70])
def test_threads_out_of_range(wrong):
    for call in (lambda: paraes.AESGCM(KEY, threads=wrong),
                 lambda: paraes.Cobblestone256(KEY, b"", threads=wrong),
                 lambda: paraes.Cobblestone256Encryptor(KEY, b"", threads=wrong),
                 lambda: paraes.Cobblestone256Decryptor(KEY, b"", threads=wrong),
                 lambda: Cipher(algorithms.AES(KEY), modes.ECB(), threads=wrong),
                 lambda: paraes.seal(b"", key=KEY, threads=wrong)):
        with pytest.raises(ValueError, match="threads: .* 0 to 4096"):
            call()
    if wrong != 4097:
        with pytest.raises(ValueError, match="unit_size: .* 0 to 16777216"):
            Cipher(algorithms.AES(KEY), modes.XTS(bytes(16), unit_size=wrong))
        with pytest.raises(ValueError, match="most: .* 0 to 4294967295"):
            paraes.limit_threads(wrong)
    for call in (lambda: paraes.AESGCM(KEY, threads="2"),
                 lambda: paraes.seal(b"", key=KEY, threads=1.5),
                 lambda: paraes.limit_threads(None)):
        with pytest.raises(TypeError):
            call()


def test_exceptions_can_be_pickled():
    errors = [getattr(paraes, name)("text") for name in paraes.exceptions.__all__]
    damage = paraes.IntegrityError("damaged")
    damage.segment, damage.offset = 3, 49152
    errors.append(damage)
    for code in (errno.ENOENT, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EISDIR, errno.EIO):
        errors.append(paraes.exceptions._file_error(code, f"x: errno {code}"))
    errors[-1].add_note("a note") if hasattr(errors[-1], "add_note") else None
    for error in errors:
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(error, protocol))
            assert type(again) is type(error) and str(again) == str(error)
            assert again.args == error.args and vars(again) == vars(error)
            if isinstance(error, OSError):
                assert (again.errno, again.strerror) == (error.errno, error.strerror)
        assert str(copy.copy(error)) == str(error)


def test_errors_cross_processes(tmp_path):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        with pytest.raises(FileNotFoundError, match="missing") as caught:
            pool.apply(paraes.verify_file, (tmp_path / "missing",), {"key": KEY})
    assert isinstance(caught.value, paraes.FileError) and caught.value.errno == errno.ENOENT


def test_importing_loads_little():
    done = run_python("import sys, paraes; print(*sys.modules)")
    loaded = done.stdout.split()
    assert done.returncode == 0 and "paraes._native" in loaded
    for heavy in ("numpy", "matplotlib", "typing_extensions", "paraes.lab", "asyncio",
                  "cryptography", "importlib.metadata"):
        assert heavy not in loaded, heavy


def test_subinterpreters_are_refused_clearly():
    done = run_python("""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import paraes
number = interpreters.create()
text = '''
try:
    import paraes
except ImportError as error:
    print(error)
'''
(getattr(interpreters, 'run_string', None) or interpreters.exec)(number, text)
""")
    assert done.returncode == 0, done.stderr
    assert "subinterpreters" in done.stdout


def test_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "paraes", "--version"], capture_output=True,
                          text=True)
    assert done.returncode == 0 and paraes.__version__ in done.stdout, done.stderr
    done = subprocess.run([sys.executable, "-m", "paraes", "nonsense"], capture_output=True)
    assert done.returncode == 2
