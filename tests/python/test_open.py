"""paraes.open: the plaintext of encrypted files as file objects."""

import contextlib
import errno
import gc
import gzip
import io
import os
import random
import shutil
import socket
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest
from helpers import KEY, FileObject, content, together
from hypothesis import given
from hypothesis import strategies as st

import paraes
from paraes import IntegrityError, InvalidArgument, WrongKey

SEGMENT = 16384
SIZES = [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 300_000, (5 << 20) + 3]
BLOCK = random.Random(1).randbytes((20 << 20) + 11)


pytestmark = pytest.mark.usefixtures("folder")


def data_of(size):
    return BLOCK[:size]


def make(size, name="sealed", **options):
    """An encrypted file of that many bytes."""
    Path(name).write_bytes(paraes.seal(data_of(size), **(options or {"key": KEY})))
    return data_of(size)


def threads_of_process():
    return len(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("threads", [0, 1])
def test_reads_as_a_file_does(size, threads):
    data = make(size)
    with paraes.open("sealed", key=KEY, threads=threads) as file:
        assert file.readable() and file.seekable() and not file.writable()
        assert file.mode == "rb" and file.name == "sealed" and not file.closed
        assert file.read() == data and file.read() == b"" and file.tell() == size
        assert file.seek(0) == 0 and file.read(10) == data[:10] and file.tell() == min(10, size)
        back = min(5, size)
        assert file.seek(0, 2) == size and file.seek(-back, os.SEEK_CUR) == size - back
        assert file.read(100) == data[size - back :]
        file.seek(size + 100)
        assert file.read(5) == b"" and file.tell() == size + 100
    assert file.closed
    for call in (file.read, file.readable, file.tell, lambda: file.seek(0),
                 lambda: file.readinto(bytearray(5)), lambda: file.peek()):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_numbers_beyond_64_bits():
    data = make(300_000)
    with paraes.open("sealed", key=KEY) as file:
        for huge in (1 << 63, 1 << 64, 1 << 70):
            file.seek(100)
            assert file.read(huge) == data[100:]
            file.seek(100)
            assert file.peek(huge) == data[100:]
            assert file.read1(huge) == data[100 : 100 + (1 << 18)]
            for whence in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
                with pytest.raises(ValueError, match="offset"):
                    file.seek(huge, whence)
                with pytest.raises(ValueError, match="before the start"):
                    file.seek(-huge, whence)
        assert file.seek((1 << 63) - 1) == (1 << 63) - 1
        assert file.read(huge) == file.peek() == b"" and file.readinto(bytearray(5)) == 0
        with pytest.raises(ValueError, match="offset"):
            file.seek(1, os.SEEK_CUR)


@pytest.mark.parametrize("seeks", [True, False])
def test_empty_buffers_of_any_shape(seeks):
    make(300_000)
    empty = [bytearray(), memoryview(bytearray(6)).cast("B", (2, 3))[:0]]
    source = io.BufferedReader(FileObject(content("sealed"), seeks))
    with paraes.open(source, key=KEY) as file:
        assert file.seekable() == seeks
        for buffer in empty:
            assert file.readinto(buffer) == file.readinto1(buffer) == 0
    with paraes.open("out", "wb", key=KEY) as file:
        for buffer in empty:
            assert file.write(buffer) == 0


@given(st.data())
def test_any_reads_give_what_a_file_gives(data):
    size = data.draw(st.sampled_from([*SIZES, len(BLOCK)]))
    sealed = io.BytesIO(paraes.seal(data_of(size), key=KEY))
    plain = io.BytesIO(data_of(size))
    with paraes.open(sealed, key=KEY) as file:
        for _ in range(data.draw(st.integers(1, 12))):
            kind = data.draw(st.sampled_from(["seek", "read", "read", "readinto", "read1", "line"]))
            n = data.draw(st.integers(0, 100) | st.integers(0, 300_000) | st.integers(0, 6 << 20))
            if kind == "seek":
                assert file.seek(min(n, size)) == plain.seek(min(n, size))
            elif kind == "read":
                assert file.read(n) == plain.read(n)
            elif kind == "line":
                assert file.readline(n % 5000) == plain.readline(n % 5000)
            elif kind == "read1":
                part = file.read1(n)
                assert plain.read(len(part)) == part and (part or n == 0 or file.tell() >= size)
            else:
                ours, theirs = bytearray(n), bytearray(n)
                assert file.readinto(ours) == plain.readinto(theirs) and ours == theirs
            assert file.tell() == plain.tell()


@pytest.mark.parametrize("step", [1000, 65536, 1 << 20, 5 << 20])
@pytest.mark.parametrize("options", [{"key": KEY}, {"key": KEY, "format": "c2sp"},
                                     {"key": KEY, "format": "tink", "segment_size": 100_000}])
def test_reading_in_order(step, options):
    data = make(len(BLOCK), **options)
    buffer = bytearray(step)
    parts = []
    with paraes.open("sealed", **options) as file:
        while n := file.readinto(buffer):
            parts.append(bytes(memoryview(buffer)[:n]))
    assert b"".join(parts) == data
    assert all(len(part) == step for part in parts[:-1])


def test_random_reads_while_reading_in_order():
    data = make(len(BLOCK))
    generator = random.Random(2)
    with paraes.open("sealed", key=KEY) as file:
        for _ in range(30):
            at = generator.randrange(len(data))
            file.seek(at)
            for _ in range(generator.randrange(40)):
                assert file.read(50_000) == data[at : at + 50_000]
                at = file.tell()


def test_what_python_builds_on_files():
    lines = [f"line {i}\n" for i in range(50_000)]
    with paraes.open("sealed", "wb", key=KEY) as file, io.TextIOWrapper(file) as text:
        text.writelines(lines)
    with paraes.open("sealed", key=KEY) as file:
        assert list(file) == [line.encode() for line in lines]
        file.seek(0)
        assert file.peek(3)[:3] == b"lin" and file.tell() == 0
        with io.TextIOWrapper(io.BufferedReader(file), "ascii") as text:
            assert text.readlines() == lines
    data = make(5 << 20)
    with paraes.open("sealed", key=KEY) as source, open("plain", "wb") as target:
        shutil.copyfileobj(source, target)
    assert content("plain") == data
    with paraes.open("tar", "wb", key=KEY) as file, tarfile.open(fileobj=file, mode="w|") as tar:
        tar.add("plain")
    with paraes.open("tar", key=KEY) as file, tarfile.open(fileobj=file) as tar:
        assert tar.extractfile("plain").read() == data
    with paraes.open("zip", "wb", key=KEY) as file, zipfile.ZipFile(file, "w") as archive:
        archive.write("plain")
    with paraes.open("zip", key=KEY) as file, zipfile.ZipFile(file) as archive:
        assert archive.read("plain") == data


def test_file_objects():
    data = make(300_000)
    sealed = content("sealed")
    Path("prefixed").write_bytes(b"prefix" + sealed)
    with gzip.open("sealed.gz", "wb") as file:
        file.write(sealed)
    with open("sealed", "rb") as raw, paraes.open(raw, key=KEY) as file:
        assert file.read() == data and file.seek(5) == 5 and file.read(5) == data[5:10]
        file.close()
        assert not raw.closed
    with open("sealed", "rb", buffering=0) as raw, paraes.open(raw, key=KEY) as file:
        assert file.read() == data
    with open("prefixed", "rb") as raw:
        raw.seek(6)
        with paraes.open(raw, key=KEY) as file:
            assert file.read() == data and file.seek(299_990) and file.read() == data[-10:]
    with gzip.open("sealed.gz", "rb") as raw, paraes.open(raw, key=KEY) as file:
        assert file.read(5) == data[:5]
        file.seek(100_000)
        assert file.read() == data[100_000:]
    for wrong in (5, None, object()):
        with pytest.raises(TypeError):
            paraes.open(wrong, key=KEY)
        with pytest.raises(TypeError):
            paraes.open(wrong, "wb", key=KEY)


@pytest.mark.parametrize("size", [*SIZES, len(BLOCK)])
@pytest.mark.parametrize("options", [{"key": KEY}, {"key": KEY, "format": "tink"}])
def test_pipes(size, options):
    data = data_of(size)
    sealed = paraes.seal(data, **options)
    if not os.path.exists("fifo"):
        os.mkfifo("fifo")
    read_end, write_end = os.pipe()
    ours, theirs = socket.socketpair()
    with theirs:
        to_socket = theirs.makefile("wb")
    for source, target in (("fifo", lambda: open("fifo", "wb")),  # noqa: SIM115
                           (os.fdopen(read_end, "rb"), lambda: os.fdopen(write_end, "wb")),
                           (ours.makefile("rb"), lambda: to_socket)):
        def send(target=target):
            with target() as out:
                out.write(sealed)

        thread = threading.Thread(target=send)
        thread.start()
        with paraes.open(source, **options) as file:
            assert not file.seekable()
            with pytest.raises(OSError):
                file.seek(0)
            assert file.read(10) == data[:10]
            assert file.read(1 << 16) == data[10 : 10 + (1 << 16)]
            assert file.read() == data[10 + (1 << 16) :] and file.read() == b""
        thread.join()


def test_truncated_pipes_do_not_end_well():
    sealed = paraes.seal(data_of(300_000), key=KEY)
    for size in (0, 10, 88, 100, 88 + 16400, 200_000, len(sealed) - 1):
        got = b""
        with pytest.raises(IntegrityError):
            with paraes.open(FileObject(sealed[:size], most=999), key=KEY) as file:
                while part := file.read1(1 << 20):
                    got += part
        assert data_of(300_000).startswith(got)


class Full(io.BytesIO):
    def write(self, data):
        raise LookupError("full")


def test_errors_of_file_objects_reach_the_caller():
    class Broken(io.BytesIO):
        def readinto(self, buffer):
            if self.tell() > 1000:
                raise LookupError("broken")
            return super().readinto(buffer)

    with pytest.raises(LookupError, match="broken"):
        paraes.open(Broken(paraes.seal(data_of(100_000), key=KEY)), key=KEY).read()
    with pytest.raises(LookupError, match="full"):
        with paraes.open(Full(), "wb", key=KEY) as file:
            file.write(data_of(3 << 20))
    file = paraes.open(Full(), "wb", key=KEY)
    with pytest.raises(LookupError):
        file.write(data_of(3 << 20))
    with pytest.raises(paraes.Error, match="earlier write"):
        file.close()
    assert file.closed


def test_raw_files_that_do_not_block_lose_nothing():
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with os.fdopen(read_end, "rb"), os.fdopen(write_end, "wb", buffering=0) as raw:
        with pytest.raises(paraes.FileError, match="must block") as caught:
            with paraes.open(raw, "wb", key=KEY) as file:
                file.write(bytes(1 << 20))
        assert caught.value.errno == errno.EAGAIN
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        with pytest.raises(paraes.FileError, match="must block"):
            with theirs.makefile("wb", buffering=0) as raw, paraes.open(raw, "wb", key=KEY) as file:
                file.write(bytes(4 << 20))


def test_what_write_returns():
    class Raw(io.RawIOBase):
        def __init__(self, answer):
            self.answer, self.taken = answer, bytearray()

        def writable(self):
            return True

        def write(self, data):
            n = self.answer(len(data))
            self.taken += data[: n if isinstance(n, int) else 0]
            return n

    data = data_of(100_000)
    few = Raw(lambda size: min(size, 777))
    with paraes.open(few, "wb", key=KEY) as file:
        file.write(data)
    assert paraes.unseal(few.taken, key=KEY) == data
    for answer, says in ((0, "took no data"), (None, "must block"), (-1, "wrote"),
                         (1 << 40, "wrote"), (1 << 70, "wrote"), ("all", "wrote")):
        with pytest.raises(paraes.FileError, match=says):
            with paraes.open(Raw(lambda _, answer=answer: answer), "wb", key=KEY) as file:
                file.write(data)

    class Other:  # no raw file: it takes all of it, or raises
        def __init__(self):
            self.taken = bytearray()

        def write(self, data):
            self.taken += data

    other = Other()
    with paraes.open(other, "wb", key=KEY) as file:
        file.write(data)
    assert paraes.unseal(other.taken, key=KEY) == data


def test_damage_is_found_where_it_is():
    data = make(64 * SEGMENT)
    header = 88
    with open("sealed", "r+b") as file:
        file.seek(header + 20 * (SEGMENT + 16) + 100)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    with paraes.open("sealed", key=KEY) as file:
        assert file.read(20 * SEGMENT) == data[: 20 * SEGMENT]
        for _ in range(2):
            with pytest.raises(IntegrityError) as caught:
                file.read(1)
            assert caught.value.segment == 20 and caught.value.offset == 20 * SEGMENT
        buffer = bytearray(64 * SEGMENT)
        file.seek(0)
        with pytest.raises(IntegrityError):
            file.readinto(buffer)
        file.seek(21 * SEGMENT)
        assert file.read() == data[21 * SEGMENT :]


def test_truncation_is_found_when_the_file_is_opened():
    make(5 * SEGMENT)
    whole = content("sealed")
    for size in (0, 5, 31, 32, 87, 88, 100, 88 + SEGMENT + 16, 88 + 2 * (SEGMENT + 16) + 50,
                 len(whole) - 16, len(whole) - 1, len(whole) + 1):
        Path("sealed").write_bytes((whole + b"x")[:size])
        with pytest.raises(IntegrityError):
            paraes.open("sealed", key=KEY)
    Path("sealed").write_bytes(whole)
    with pytest.raises(WrongKey):
        paraes.open("sealed", key=bytes(32))
    for mode in ("rb", "wb"):
        with pytest.raises(InvalidArgument, match="threads"):
            paraes.open("sealed", mode, key=KEY, threads=-1)
    with pytest.raises(InvalidArgument, match="mode"):
        paraes.open("sealed", "r+b", key=KEY)


@given(st.lists(st.integers(0, 40_000) | st.integers(0, 3 << 20), max_size=12),
       st.sampled_from([{}, {"format": "c2sp"}, {"format": "tink", "segment_size": 70_000}]),
       st.sampled_from([0, 1]))
def test_any_writes_make_one_message(sizes, options, threads):
    with paraes.open("out", "wb", key=KEY, threads=threads, **options) as file:
        at = 0
        for size in sizes:
            assert file.write(memoryview(BLOCK)[at : at + size]) == len(BLOCK[at : at + size])
            at = min(at + size, len(BLOCK))
            assert file.tell() == at
    assert paraes.unseal(content("out"), key=KEY, **options) == BLOCK[:at]
    target = io.BytesIO()
    with paraes.open(target, "wb", key=KEY, threads=threads, **options) as file:
        for begin in range(0, at, 1 << 19):
            file.write(BLOCK[begin : min(begin + (1 << 19), at)])
    assert not target.closed
    assert paraes.unseal(target.getvalue(), key=KEY, **options) == BLOCK[:at]


def test_files_appear_when_they_are_closed():
    file = paraes.open("out", "wb", key=KEY)
    file.write(data_of(5 << 20))
    assert os.listdir() == [] and file.writable() and not file.readable()
    file.flush()
    assert os.listdir() == []
    file.close()
    file.close()
    assert os.listdir() == ["out"]
    with pytest.raises(ValueError, match="closed"):
        file.write(b"x")
    old = content("out")
    with pytest.raises(FileExistsError):
        paraes.open("out", "xb", key=KEY)
    with pytest.raises(LookupError):
        with paraes.open("out", "wb", key=KEY) as file:
            file.write(data_of(3 << 20))
            raise LookupError
    assert file.closed
    file = paraes.open("out", "wb", key=KEY)
    file.write(b"x")
    file.abort()
    file = paraes.open("out", "wb", key=KEY)
    file.write(data_of(3 << 20))
    with pytest.warns(ResourceWarning, match="not closed"):
        del file
        gc.collect()
    assert os.listdir() == ["out"] and content("out") == old
    os.chmod("out", 0o600)
    with paraes.open("out", "wb", key=KEY) as file:
        file.write(b"new")
    assert paraes.unseal(content("out"), key=KEY) == b"new"
    assert os.stat("out").st_mode & 0o777 == 0o600


def test_target_that_appears_meanwhile_stays():
    file = paraes.open("out", "xb", key=KEY)
    assert file.mode == "xb"
    file.write(b"ours")
    Path("out").write_bytes(b"somebody else's")
    with pytest.raises(FileExistsError, match="appeared") as caught:
        file.close()
    assert caught.value.errno == errno.EEXIST and isinstance(caught.value, paraes.FileError)
    assert os.listdir() == ["out"] and content("out") == b"somebody else's"
    with paraes.open("out", "wb", key=KEY) as file:
        assert file.mode == "wb"


def test_output_objects_are_left_when_the_writer_fails():
    target = io.BytesIO()
    with pytest.raises(LookupError):
        with paraes.open(target, "wb", key=KEY) as file:
            file.write(data_of(5 << 20))
            raise LookupError
    with pytest.raises(paraes.InvalidTag):
        paraes.unseal(target.getvalue(), key=KEY)


def test_threads_share_a_reader():
    data = make(len(BLOCK))
    with paraes.open("sealed", key=KEY) as file:
        def read():
            for _ in range(200):
                part = file.read(10_000)
                assert not part or data.find(part[:40]) >= 0

        together(*[read] * 4)
        assert file.tell() == 4 * 200 * 10_000


def test_damage_ahead_does_not_hide_intact_bytes():
    data = bytearray(paraes.seal(data_of(5 << 20), key=KEY))
    data[88 + 200 * (SEGMENT + 16)] ^= 1
    Path("sealed").write_bytes(data)
    for step in (1000, SEGMENT, 100 * SEGMENT):
        with paraes.open("sealed", key=KEY) as file:
            at = 0
            while at + step <= 200 * SEGMENT:
                assert file.read(step) == BLOCK[at : at + step]
                at += step
            file.seek(201 * SEGMENT)
            assert file.read(10) == BLOCK[201 * SEGMENT : 201 * SEGMENT + 10]


def test_lines_of_a_pipe():
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as out:
        out.write(paraes.seal(b"one\ntwo\n", key=KEY))
    with os.fdopen(read_end, "rb") as source, paraes.open(source, key=KEY) as file:
        assert list(file) == [b"one\n", b"two\n"]


def test_closing_while_another_thread_reads():
    make(len(BLOCK))
    for _ in range(20):
        file = paraes.open("sealed", key=KEY)

        def read(file=file):
            try:
                while file.read(100_000):
                    pass
            except ValueError as error:
                assert "closed" in str(error)

        together(read, file.close)


def test_descriptors_and_threads_are_given_back():
    make(len(BLOCK))
    paraes.verify_file("sealed", key=KEY)  # the threads that stay
    for _ in range(2):
        with paraes.open("sealed", key=KEY) as file:
            file.read(6 << 20)
    before = len(os.listdir("/proc/self/fd")), threads_of_process()
    for i in range(50):
        with paraes.open("sealed", key=KEY) as file:
            for _ in range(40):
                file.read(50_000)
        file = paraes.open("sealed", key=KEY)
        del file
        writer = paraes.open("out", "wb", key=KEY)
        writer.write(b"x")
        writer.close() if i % 2 else writer.abort()
    assert (len(os.listdir("/proc/self/fd")), threads_of_process()) == before


@pytest.mark.parametrize("how", ["wrapper", "stack"])
def test_an_exception_in_a_block_of_another_object_leaves_nothing(how):
    """The wrapper closes the writer, and does not say why."""
    Path("sealed").write_bytes(b"old")
    with pytest.raises(KeyError):
        with paraes.open("sealed", "wb", key=KEY) as file:
            if how == "stack":
                with contextlib.ExitStack() as stack:
                    text = stack.enter_context(io.TextIOWrapper(file))
                    text.write("half of it")
                    raise KeyError
            with io.TextIOWrapper(file) as text:
                text.write("half of it")
                raise KeyError
    assert os.listdir() == ["sealed"] and content("sealed") == b"old"


def test_a_writer_that_own_code_closes_is_complete():
    @contextlib.contextmanager
    def recording():
        file = paraes.open("sealed", "wb", key=KEY)
        try:
            yield file
        except KeyError:
            pass
        file.close()

    with recording() as file:
        file.write(b"all of it")
        raise KeyError
    assert paraes.unseal(content("sealed"), key=KEY) == b"all of it"


def test_a_writer_that_is_closed_in_a_handler_is_complete():
    file = paraes.open("sealed", "wb", key=KEY)
    try:
        raise KeyError
    except KeyError:
        file.write(b"all of it")
        file.close()
    assert paraes.unseal(content("sealed"), key=KEY) == b"all of it"
