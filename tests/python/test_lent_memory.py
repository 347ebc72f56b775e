"""File objects may keep what they were lent: they see nobody else's memory, and no later data."""

import gc
import os
from pathlib import Path

import pytest
from helpers import KEY, FileObject, run_python

import paraes

pytestmark = pytest.mark.usefixtures("folder")
DATA = os.urandom(5_000_003)


class Keeps(FileObject):
    """Keeps a slice of each buffer, and what was in it."""

    def __init__(self, data=b"", seeks=False):
        super().__init__(data, seeks)
        self.kept = []

    def readinto(self, buffer):
        n = self.inner.readinto(buffer)
        self.kept.append((buffer[:], memoryview(buffer), bytes(buffer)))
        return n

    def write(self, data):
        self.kept.append((data[:], memoryview(data), bytes(data)))
        return self.inner.write(data[:100_000])

    def check(self):
        gc.collect()
        [bytearray(1 << 20) for _ in range(50)]  # would overwrite what was freed
        assert self.kept
        for one, other, what in self.kept:
            assert bytes(one) == bytes(other) == what


@pytest.mark.parametrize("seeks", [False, True])
def test_a_reader_that_keeps_slices(seeks):
    file = Keeps(paraes.seal(DATA, key=KEY), seeks)
    with paraes.open(file, key=KEY) as reader:
        assert reader.read() == DATA
    del reader
    file.check()


def test_a_writer_that_keeps_slices():
    file = Keeps()
    with paraes.open(file, "wb", key=KEY) as writer:
        writer.write(DATA)
        writer.write(b"more")
    del writer
    file.check()
    assert paraes.unseal(file.inner.getvalue(), key=KEY) == DATA + b"more"


def test_an_exception_keeps_the_buffer():
    class Fails(Keeps):
        def write(self, data):
            self.kept.append((data[:], data, bytes(data)))
            raise ValueError("no room")

    file = Fails()
    with pytest.raises(ValueError, match="no room"), paraes.open(file, "wb", key=KEY) as writer:
        writer.write(DATA)
    del writer
    file.check()


def test_readinto_sees_nothing_of_anybody():
    seen = []

    class Looks(FileObject):
        def readinto(self, buffer):
            seen.append(bytes(buffer))
            return 0

    with pytest.raises(paraes.IntegrityError):
        paraes.open(Looks(), key=KEY)
    assert seen and not any(map(any, seen))


ASYNCIO = """
import asyncio, os, socket, sys, paraes
data = os.urandom(3_000_003)
async def main():
    one, other = socket.socketpair()
    other.setblocking(False)
    transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=one)
    class File:
        def write(self, part):
            transport.write(part)
    with paraes.open(File(), "wb", key=bytes(32)) as writer:
        writer.write(data)
    transport.close()
    got = b""
    while part := await asyncio.get_running_loop().sock_recv(other, 1 << 16):
        got += part
    assert paraes.unseal(got, key=bytes(32)) == data
asyncio.run(main())
"""


def test_memory_cannot_be_made_smaller_meanwhile():
    class Clears(Keeps):
        def readinto(self, buffer):
            n = self.inner.readinto(buffer)
            memory = buffer.obj
            buffer.release()
            with pytest.raises(BufferError):
                memory.clear()
            return n

    assert paraes.open(Clears(paraes.seal(DATA, key=KEY)), key=KEY).read() == DATA


def test_an_asyncio_transport_queues_slices():
    done = run_python(ASYNCIO)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("value", [-1, 1.0, "5", b"5", [], 1 << 70])
@pytest.mark.parametrize("method", ["readinto", "tell", "seek"])
def test_a_method_that_returns_no_size_is_a_type_error(method, value):
    file = Keeps(paraes.seal(DATA[:100], key=KEY), seeks=True)
    setattr(file, method, lambda *_: value)
    with pytest.raises(TypeError, match=rf"^{method}\(\) of the file object returned "):
        paraes.open(file, key=KEY)


@pytest.mark.parametrize(("call", "path"), [
    (lambda: paraes.encrypt_file("missing", key=KEY), "missing"),
    (lambda: paraes.encrypt_file("plain", "no/such/folder", key=KEY), "no/such/folder"),
    (lambda: paraes.decrypt_file("plain.paes", "plain", key=KEY), "plain"),
    (lambda: paraes.open("missing", key=KEY), "missing"),
    (lambda: paraes.open("plain", "xb", key=KEY), "plain"),
    (lambda: paraes.open(".", key=KEY), "."),
    (lambda: paraes.rekey_file("missing", key=KEY, to_key=bytes(32)), "missing"),
    (lambda: paraes.encrypt_file("plain", key_file="no key"), "no key"),
])
def test_a_file_error_names_its_file(call, path):
    Path("plain").write_bytes(b"1")
    if not Path("plain.paes").exists():
        paraes.encrypt_file("plain", key=KEY)
    with pytest.raises(paraes.FileError) as caught:
        call()
    assert (caught.value.filename, caught.value.filename2) == (path, None)
    assert caught.value.errno and path in str(caught.value)
