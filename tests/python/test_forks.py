"""After os.fork(), what seals or owns an output belongs to the parent; everything else works."""

import gc
import io
import multiprocessing
import os
import threading
from pathlib import Path

import pytest
from helpers import KEY, FileObject, content, in_child, run_python

import paraes
from paraes import WrongProcess
from paraes.ciphers import Cipher, algorithms, modes

MIB = 1 << 20
pytestmark = pytest.mark.usefixtures("folder")


def plaintext(name):
    with paraes.open(name, key=KEY) as file:
        return file.read()


@pytest.mark.parametrize("gives_up", [False, True])
@pytest.mark.parametrize("before", [0, 100, 3 * MIB])
def test_a_file_belongs_to_the_process_that_opened_it(before, gives_up):
    writer = paraes.open("f", "wb", key=KEY)
    writer.write(b"a" * before)

    def work():
        for data in (b"C", b"C" * 8 * MIB):
            with pytest.raises(WrongProcess, match="belongs to the process that made it"):
                writer.write(data)
        with pytest.raises(WrongProcess):
            writer.close()
        assert writer.closed

    in_child(work)
    writer.write(b"P" * 2 * MIB)
    if gives_up:
        writer.abort()
        assert os.listdir() == []
    else:
        writer.close()
        assert plaintext("f") == b"a" * before + b"P" * 2 * MIB


def test_a_file_object_gets_the_bytes_of_one_process():
    with open("f", "wb", buffering=0) as file:
        writer = paraes.open(file, "wb", key=KEY)
        writer.write(b"a" * 100)

        def work():
            for call in (lambda: writer.write(b"C" * 2 * MIB), writer.close):
                with pytest.raises(WrongProcess):
                    call()

        in_child(work)
        assert content("f") == b""
        writer.close()
    assert plaintext("f") == b"a" * 100


CHILD_ENDS = """
import os, sys, paraes
key = bytes(32)
with paraes.open("f", "wb", key=key) as writer:
    writer.write(b"a" * 3_000_000)
    before = sorted(os.listdir())
    child = os.fork()
    if child == 0:
        HOW
    assert os.waitpid(child, 0)[1] == STATUS << 8
    assert sorted(os.listdir()) == before
    writer.write(b"P")
with paraes.open("f", key=key) as reader:
    assert reader.read() == b"a" * 3_000_000 + b"P"
"""


@pytest.mark.parametrize("without", [(), ("LD_PRELOAD",)])
@pytest.mark.parametrize(("how", "status"), [
    ("sys.exit(3)", 3), ("raise SystemExit(4)", 4), ("del writer; os._exit(0)", 0),
    ("sys.exit()", 0),
])
def test_a_child_that_ends_leaves_the_file_alone(how, status, without):
    if without and "PARAES_NO_TMPFILE" not in os.environ:
        pytest.skip("PARAES_NO_TMPFILE names no library: ctest sets it")
    env = {**os.environ, **{name: os.environ["PARAES_NO_TMPFILE"] for name in without}}
    text = CHILD_ENDS.replace("HOW", how).replace("STATUS", str(status))
    done = run_python(text, flags=["-X", "dev"], env=env)
    assert (done.returncode, done.stderr) == (0, "")


def test_encryptors_and_contexts_belong_to_one_process():
    key = algorithms.AES(KEY)
    sealing = [
        paraes.Cobblestone256Encryptor(KEY, b""),
        paraes.Cobblestone128Encryptor(KEY[:16], b""),
        *(Cipher(key, mode).encryptor()
          for mode in (modes.ECB(), modes.CBC(bytes(16)), modes.CTR(bytes(16)))),
        Cipher(key, modes.CTR(bytes(16))).decryptor(),
    ]
    for one in sealing:
        one.update(bytes(40_000))

    def work():
        for one in sealing:
            for call in (lambda: one.update(b""), lambda: one.update(bytes(16)),
                         lambda: one.update_into(bytes(16), bytearray(100)), one.finalize):
                with pytest.raises(WrongProcess):
                    call()
        # With another nonce, it is another message.
        sealing[-1].reset_nonce(b"another nonce...")
        assert len(sealing[-1].update(bytes(10))) == 10

    in_child(work)
    for one in sealing:
        one.update(bytes(48))
        one.finalize()


def test_readers_and_one_shots_work_in_parent_and_child():
    data = os.urandom(5 * MIB)
    Path("plain").write_bytes(data)
    paraes.encrypt_file("plain", key=KEY)
    reader = paraes.open("plain.paes", key=KEY)
    stream = paraes.open(io.BytesIO(content("plain.paes")), key=KEY)
    assert reader.read(MIB) == stream.read(MIB) == data[:MIB]
    one_shot = paraes.Cobblestone256(KEY, b"")
    decryptor = Cipher(algorithms.AES(KEY), modes.CBC(bytes(16))).decryptor()
    sealed = one_shot.encrypt(data)

    def work():
        assert reader.read() == stream.read() == data[MIB:]
        assert reader.seek(0) == 0 and reader.read(10) == data[:10]
        assert one_shot.decrypt(sealed) == data and one_shot.decrypt(one_shot.encrypt(data)) == data
        assert paraes.unseal(paraes.seal(data, key=KEY), key=KEY) == data
        decryptor.update(bytes(32))
        paraes.encrypt_file("plain", "of child", key=KEY)
        reader.close()

    in_child(work)
    assert reader.read() == stream.read() == data[MIB:]
    assert plaintext("of child") == data


READER = None  # of the workers


def chunk(number):
    READER.seek(number * 10_000)
    return number, READER.read(10_000)


def test_a_pool_of_forked_workers_reads_one_file():
    global READER
    data = os.urandom(2 * MIB)
    Path("plain").write_bytes(data)
    paraes.encrypt_file("plain", key=KEY)
    READER = paraes.open("plain.paes", key=KEY)
    READER.read(100)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        for number, part in pool.imap_unordered(chunk, range(200)):
            assert part == data[number * 10_000 : (number + 1) * 10_000]
    READER.close()


class Slow(FileObject):
    """Its calls wait, once `slow` is set, until a child has done its work."""

    slow = False

    def readinto(self, buffer):
        self._wait()
        return super().readinto(buffer)

    def write(self, data):
        self._wait()
        return super().write(data)

    def _wait(self):
        if self.slow:
            self.started.set()
            assert self.go_on.wait(60)

    def fork_during(self, call, work):
        """Calls `call` in another thread, and `work` in a child that is forked meanwhile."""
        self.slow, self.started, self.go_on = True, threading.Event(), threading.Event()
        thread = threading.Thread(target=call)
        thread.start()
        assert self.started.wait(60)
        in_child(work)
        self.go_on.set()
        thread.join()


def test_a_fork_during_a_call_of_another_thread():
    file = Slow()
    writer = paraes.open(file, "wb", key=KEY)

    def work():
        nonlocal writer
        with pytest.raises(WrongProcess):
            writer.write(b"1")
        del writer
        gc.collect()

    file.fork_during(lambda: writer.write(bytes(3 * MIB)), work)
    writer.close()


@pytest.mark.parametrize("seeks", [False, True])
def test_a_fork_during_a_read_of_another_thread(seeks):
    file = Slow(paraes.seal(bytes(5 * MIB), key=KEY), seeks)
    reader = paraes.open(file, key=KEY)
    read = []

    def work():
        nonlocal reader
        with pytest.raises(WrongProcess, match="another thread was using this object"):
            reader.read(10)
        del reader
        gc.collect()

    file.fork_during(lambda: read.append(reader.read()), work)
    assert read == [bytes(5 * MIB)]
