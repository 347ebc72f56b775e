"""paraes.fsspec: encrypted files in other file systems, of which some fail."""

import contextlib
import errno
import gc
import gzip
import io
import json
import os
import pickle
import random
import threading
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from helpers import (
    KEY,
    FileObject,
    in_child,
    new_identity,
    refuses_without_secrets,
    run_python,
    together,
)
from hypothesis import given
from hypothesis import strategies as st

import paraes
import paraes.gpu
from paraes import FileError, IntegrityError, InvalidArgument, WrongKey
from paraes.fsspec import EncryptedFile, ParaesFileSystem

pytestmark = pytest.mark.usefixtures("folder")

SEGMENT = 16384
SIZES = [0, 1, SEGMENT, SEGMENT + 1, 300_000, (9 << 20) + 3]
BLOCK = random.Random(7).randbytes((9 << 20) + 3)
OVERHEAD = 88


class Faulty(MemoryFileSystem):
    """A file system in memory. `fault` sees every range that is read, and may change it or raise;
    `uploads` fail after that many bytes."""

    protocol = "faulty"
    cachable = False

    def __init__(self, **options):
        super().__init__(**options)
        self.store, self.pseudo_dirs = {}, [""]
        self.fault = lambda path, start, end, data: data
        self.asked = []
        self.most_upload = None

    def cat_file(self, path, start=None, end=None, **kwargs):
        self.asked.append((path, start, end))
        return self.fault(path, start, end, super().cat_file(path, start, end))

    def _open(self, path, mode="rb", **kwargs):
        file = super()._open(path, mode, **kwargs)
        if "r" not in mode and self.most_upload is not None:
            return Full(file, self.most_upload)
        return file


class Full:
    """A file that takes no more than some bytes."""

    def __init__(self, file, most):
        self.file, self.most = file, most

    def write(self, data):
        self.most -= len(data)
        if self.most < 0:
            raise OSError(errno.ENOSPC, "no space left")
        return self.file.write(data)

    def close(self):
        self.file.close()


@pytest.fixture
def faulty():
    return Faulty()


@pytest.fixture
def key_file():
    Path("secret").mkdir()
    Path("secret/my.key").write_text(KEY.hex() + "\n")
    return "secret/my.key"


@pytest.fixture(params=["memory", "local", "dir"])
def below(request, tmp_path):
    """An encrypted file system, the one below it, and a folder in both."""
    if request.param == "memory":
        fs, root = MemoryFileSystem(skip_instance_cache=True), "/data"
        fs.store, fs.pseudo_dirs = {}, [""]
    elif request.param == "local":
        fs, root = LocalFileSystem(skip_instance_cache=True), str(tmp_path / "data")
    else:
        (tmp_path / "data").mkdir()
        fs, root = fsspec.filesystem("dir", path=str(tmp_path), fs=LocalFileSystem()), "data"
    fs.makedirs(root, exist_ok=True)
    return encrypted(fs), fs, root


def encrypted(fs, **options):
    return ParaesFileSystem(fs=fs, **(options or {"key": KEY}))


def assert_no_threads():
    """They end with their last transfer, for which close() does not wait."""
    for thread in threading.enumerate():
        if thread.name.startswith("paraes"):
            thread.join(30)
            assert not thread.is_alive()


def names(fs, folder):
    return sorted(os.path.basename(name) for name in fs.find(folder))


# ---- Reading and writing


@pytest.mark.parametrize("size", SIZES)
def test_what_is_written_is_read(below, size):
    fs, inner, root = below
    path = f"{root}/x.paes"
    with fs.open(path, "wb") as file:
        for begin in range(0, size, 700_001):
            file.write(BLOCK[begin:min(begin + 700_001, size)])
        assert file.tell() == size
    assert paraes.unseal(inner.cat_file(path), key=KEY) == BLOCK[:size]
    with fs.open(path) as file:
        assert (file.size, file.read()) == (size, BLOCK[:size])
        assert file.seek(-size, 2) == 0
        assert b"".join(iter(lambda: file.read(65536), b"")) == BLOCK[:size]
        file.seek(0)
        assert file.readlines() == io.BytesIO(BLOCK[:size]).readlines()
        buffer = bytearray(size + 3)
        file.seek(0)
        assert file.readinto(buffer) == size
        assert buffer[:size] == BLOCK[:size]
    assert fs.cat_file(path) == fs.cat(path) == BLOCK[:size]
    assert fs.info(path)["size"] == fs.size(path) == size
    assert names(inner, root) == ["x.paes"]


@pytest.mark.parametrize("options", [
    {"key": KEY}, {"key": KEY[:16]}, {"passphrase": "correct", "scrypt_log2n": 4},
    {"key": KEY, "format": "c2sp"}, {"key": KEY, "context": b"backup"},
    {"key": KEY, "format": "tink", "segment_size": 4096},
    {"key": KEY, "format": "tink", "segment_size": 200_000}])
def test_formats_and_secrets(faulty, options):
    fs = encrypted(faulty, **options)
    fs.pipe_file("/x", BLOCK[:500_000])
    written = {name: value for name, value in options.items() if name != "scrypt_log2n"}
    assert paraes.unseal(faulty.cat_file("/x"), **written) == BLOCK[:500_000]
    with fs.open("/x") as file:
        file.seek(123_456)
        assert file.read(200_001) == BLOCK[123_456:323_457]
    assert fs.info("/x")["size"] == 500_000
    assert fs.cat_ranges(["/x"] * 2, [5, -9], [70_000, None]) == [BLOCK[5:70_000],
                                                                  BLOCK[499_991:500_000]]


def test_recipients(faulty, folder):
    recipient = new_identity("id")
    fs = encrypted(faulty, recipients=recipient, identity="id")
    for size in (0, 3, 100_000):
        fs.pipe_file(f"/{size}", BLOCK[:size])
    assert [info["size"] for info in fs.ls("/")] == [0, 3, 100_000]
    with fs.open("/100000") as file:
        file.seek(50_000)
        assert file.read(5) == BLOCK[50_000:50_005]
    assert fs.cat_file("/3") == BLOCK[:3]
    reader = encrypted(faulty, identity="id")
    with pytest.raises(InvalidArgument, match="pass recipients to write, too"):
        reader.open("/y", "wb")
    writer = encrypted(faulty, recipients=recipient)
    with pytest.raises(InvalidArgument, match="pass identity to read, too"):
        writer.open("/3")
    bad = encrypted(faulty, recipients="age1bad")
    with pytest.raises(paraes.Error):
        bad.open("/y", "wb")
    assert names(faulty, "/") == ["0", "100000", "3"]
    # The start of a message has any size, also that of the header alone.
    start = faulty.cat_file("/100000")[:4096]
    header = start[:fs._secret.opens.header_bytes(start)]
    assert paraes.gpu.Segments.open(header, identity="id").header == header


@given(st.data())
def test_any_range(data):
    inner = Faulty()
    fs = encrypted(inner)
    size = data.draw(st.sampled_from(SIZES[1:5]))
    fs.pipe_file("/x", BLOCK[:size])
    bounds = st.none() | st.integers(-size - 3, size + 3)
    wanted = data.draw(st.lists(st.tuples(bounds, bounds), min_size=1, max_size=4))
    starts, ends = zip(*wanted, strict=True)
    found = fs.cat_ranges(["/x"] * len(wanted), list(starts), list(ends), on_error="raise")
    assert found == [BLOCK[:size][start:end] for start, end in wanted]
    with fs.open("/x", cache_type=data.draw(st.sampled_from(["paraes", "none", "blockcache",
                                                             "bytes", "readahead"])),
                 block_size=data.draw(st.sampled_from([None, 1000, 70_000]))) as file:
        for start, length in data.draw(st.lists(st.tuples(
                st.integers(0, size), st.integers(0, size)), max_size=6)):
            file.seek(start)
            assert file.read(length) == BLOCK[:size][start:start + length]


def test_ranges_are_fetched_at_once_and_nothing_else(faulty):
    fs = encrypted(faulty)
    fs.pipe_file("/x", BLOCK)
    faulty.asked.clear()
    with fs.open("/x") as file:
        assert len(faulty.asked) == 2  # the header and the end
        file.seek(5 << 20)
        file.read(100)
        assert faulty.asked[2:] == [("/x", 88 + 320 * (SEGMENT + 16), 88 + 321 * (SEGMENT + 16))]
        faulty.asked.clear()
        file.seek(0)
        file.read(8 << 20)
        assert len(faulty.asked) == 8
    # Where the header is known already, it is not fetched again.
    fs.cat_file("/x", 0, 10)
    faulty.asked.clear()
    fs.cat_file("/x", 100, 110)
    assert len(faulty.asked) == 1


def test_what_is_read_in_order_is_fetched_ahead(faulty):
    fs = encrypted(faulty)
    fs.pipe_file("/x", BLOCK)
    threads = set()
    faulty.fault = lambda path, start, end, data: threads.add(threading.get_ident()) or data
    with fs.open("/x") as file:
        for begin in range(0, 9 << 20, 65536):
            assert file.read(65536) == BLOCK[begin:begin + 65536]
    assert len(threads - {threading.get_ident()}) == 1
    assert_no_threads()


def test_text_and_compression(below):
    fs, inner, root = below
    text = "déjà vu\n" * 50_000
    with fs.open(f"{root}/t.paes", "w", encoding="utf-8") as file:
        file.write(text)
    with fs.open(f"{root}/t.paes", encoding="utf-8", mode="r") as file:
        assert file.read() == text
    with fs.open(f"{root}/t.gz.paes", "w", compression="infer", encoding="utf-8") as file:
        file.write(text)
    assert gzip.decompress(fs.cat_file(f"{root}/t.gz.paes")).decode() == text
    with fs.open(f"{root}/t.gz.paes", "r", compression="infer", encoding="utf-8") as file:
        assert file.readline() == "déjà vu\n"
    fs.write_text(f"{root}/u", text, encoding="utf-8")
    assert fs.read_text(f"{root}/u", encoding="utf-8") == text


def test_names_and_sizes(below):
    fs, inner, root = below
    fs.makedirs(f"{root}/a")
    fs.pipe({f"{root}/a/{n}.paes": BLOCK[:n] for n in (1, 20_000, 70_000)})
    inner.pipe_file(f"{root}/a/plain", b"short")
    found = {os.path.basename(info["name"]): info for info in fs.ls(f"{root}/a")}
    assert {name: info["size"] for name, info in found.items()} == {
        "1.paes": 1, "20000.paes": 20_000, "70000.paes": 70_000, "plain": None}
    assert found["1.paes"]["sealed_size"] == OVERHEAD + 17
    inner.rm(f"{root}/a/plain")
    assert fs.du(root) == 90_001
    inner.pipe_file(f"{root}/a/plain", b"short")
    assert fs.du(root) == 90_001
    inner.rm(f"{root}/a/plain")
    assert sorted(fs.glob(f"{root}/a/*0000.paes")) == sorted(
        name for name in fs.ls(f"{root}/a", detail=False) if name.endswith("0000.paes"))
    assert set(fs.cat(f"{root}/a/*.paes").values()) == {BLOCK[:n] for n in (1, 20_000, 70_000)}
    assert len(fs.expand_path(f"{root}/a/**")) == 4
    fs.mv(f"{root}/a/1.paes", f"{root}/b.paes")
    fs.cp_file(f"{root}/b.paes", f"{root}/c.paes")
    assert fs.cat_file(f"{root}/c.paes") == BLOCK[:1]
    assert fs.exists(f"{root}/b.paes") and not fs.exists(f"{root}/a/1.paes")
    assert fs.isdir(f"{root}/a") and fs.isfile(f"{root}/b.paes")
    fs.rm(f"{root}/a", recursive=True)
    assert names(inner, root) == ["b.paes", "c.paes"]
    fs.touch(f"{root}/empty")
    assert (fs.info(f"{root}/empty")["size"], fs.cat_file(f"{root}/empty")) == (0, b"")
    with pytest.raises(FileNotFoundError):
        fs.open(f"{root}/none")
    assert list(fs.walk(root))[0][2]


def test_copies_to_and_from_local_files(below, tmp_path):
    fs, inner, root = below
    Path("plain").write_bytes(BLOCK)
    fs.put("plain", f"{root}/x.paes")
    assert paraes.unseal(inner.cat_file(f"{root}/x.paes"), key=KEY) == BLOCK
    fs.get(f"{root}/x.paes", str(tmp_path / "out/plain"))
    assert Path("out/plain").read_bytes() == BLOCK
    sealed = bytearray(inner.cat_file(f"{root}/x.paes"))
    sealed[5_000_000] ^= 1
    inner.pipe_file(f"{root}/x.paes", bytes(sealed))
    Path("out/plain").write_bytes(b"old")
    with pytest.raises(IntegrityError):
        fs.get_file(f"{root}/x.paes", "out/plain")
    assert Path("out/plain").read_bytes() == b"old"
    assert os.listdir("out") == ["plain"]


@pytest.mark.parametrize("name", ["x[1].paes", "x*.paes", "a b#c?.paes", "ü.paes"])
def test_names_that_look_like_patterns(below, name):
    fs, inner, root = below
    for path in (f"{root}/{name}", f"{root}/x1.paes"):
        with fs.open(path, "wb") as file:
            file.write(name.encode())
    assert names(inner, root) == sorted([name, "x1.paes"])
    assert fs.cat(f"{root}/*") == {path: name.encode() for path in fs.find(root)}
    inner.makedirs(f"{root}/folder")
    with pytest.raises(IsADirectoryError):
        fs.open(f"{root}/folder", "wb").close()
    assert inner.ls(f"{root}/folder") == []


def test_many_ranges_of_a_folder_and_through_links(tmp_path):
    fs = ParaesFileSystem(fs=fsspec.filesystem("dir", path=str(tmp_path), fs=LocalFileSystem()),
                          key=KEY)
    fs.pipe({"a": b"one", "b": b"two"})
    assert fs.cat_ranges(["a", "b"], [0, 1], [2, 3]) == [b"on", b"wo"]
    os.symlink("a", "link")
    assert {info["size"] for info in fs.ls("", detail=True)} == {3}
    local = ParaesFileSystem(fs=LocalFileSystem(), key=KEY)
    Path("plain").write_bytes(b"content")
    local.put_file("plain", f"paraes::file://{tmp_path}/new/c")
    assert local.cat_file(f"{tmp_path}/new/c") == b"content"
    assert sorted(os.listdir()) == ["a", "b", "link", "new", "plain"]


def test_segments_are_fetched_once(faulty):
    """Tink's segments are large."""
    fs = encrypted(faulty, key=KEY, format="tink", segment_size=1 << 20)
    fs.pipe_file("/x", BLOCK)
    faulty.asked.clear()
    with fs.open("/x") as file:
        while file.read(65536):
            pass
    fetched = sum(end - start for _, start, end in faulty.asked)
    assert fetched < len(BLOCK) + (3 << 20)  # and the last one, to authenticate the end


# ---- URLs


def test_chained_urls(key_file, tmp_path):
    url = f"paraes::file://{tmp_path}/x.paes"
    with fsspec.open(url, "wb", paraes={"key_file": key_file}) as file:
        file.write(BLOCK)
    assert paraes.unseal(Path("x.paes").read_bytes(), key_file=key_file) == BLOCK
    with fsspec.open(url, paraes={"key_file": key_file}) as file:
        assert isinstance(file, EncryptedFile)
        assert file.read() == BLOCK
    fs, path = fsspec.url_to_fs(url, paraes={"key_file": key_file})
    assert fsspec.url_to_fs(url + "2", paraes={"key_file": key_file})[0] == fs
    assert (path, fs.unstrip_protocol(path)) == (f"{tmp_path}/x.paes", url)
    assert fs.cat_file(url, 3, 9) == BLOCK[3:9]
    files = fsspec.open_files(f"paraes::file://{tmp_path}/*.paes", paraes={"key_file": key_file})
    assert [file.path for file in files] == [path]
    # Options may name the file system below as well.
    fs = fsspec.filesystem("paraes", target_protocol="file", key_file=key_file)
    assert fs.cat_file(path) == BLOCK
    mapper = fsspec.get_mapper(f"paraes::file://{tmp_path}/map", paraes={"key_file": key_file})
    mapper["one"] = b"1"
    assert (mapper["one"], list(mapper)) == (b"1", ["one"])


def test_a_cache_below_holds_ciphertext_alone(key_file, tmp_path):
    fs = encrypted(LocalFileSystem())
    fs.pipe_file(f"{tmp_path}/x.paes", b"plaintext " * 9)
    with fsspec.open(f"paraes::filecache::file://{tmp_path}/x.paes", paraes={"key_file": key_file},
                     filecache={"cache_storage": str(tmp_path / "cache")}) as file:
        assert file.read() == b"plaintext " * 9
    cached = [path.read_bytes() for path in (tmp_path / "cache").iterdir()]
    assert any(data.startswith(paraes.seal(b"", key=KEY)[:6]) for data in cached)
    assert not any(b"plaintext" in data for data in cached)


@pytest.mark.parametrize("cache", ["filecache", "simplecache"])
def test_a_cache_below_forgets_what_is_replaced(key_file, tmp_path, cache):
    url = f"paraes::{cache}::file://{tmp_path}/x.paes"
    options = {"paraes": {"key_file": key_file}, cache: {"cache_storage": str(tmp_path / "cache")}}
    for content in (b"first", b"and a longer second", b"3"):
        with fsspec.open(url, "wb", **options) as file:
            file.write(content)
        with fsspec.open(url, **options) as file:
            assert file.read() == content


def test_the_package_registers_itself():
    known = run_python("import fsspec; print(fsspec.get_filesystem_class('paraes').__module__)")
    assert known.stdout == "paraes.fsspec\n"


# ---- What is given up


@contextlib.contextmanager
def wrapped(fs, path):
    with fs.open(path, "wb") as raw, io.TextIOWrapper(raw) as file:
        yield file


OPENS = {
    "with": lambda fs, path: fs.open(path, "wb"),
    "text": lambda fs, path: fs.open(path, "w"),
    "gzip": lambda fs, path: fs.open(path, "wb", compression="gzip"),
    "open": lambda fs, path: fsspec.core.OpenFile(fs, path, "wb"),
    "open text": lambda fs, path: fsspec.core.OpenFile(fs, path, "w"),
    "wrapper text": wrapped,
}


@pytest.mark.parametrize("how", [*OPENS, "abort", "deleted", "deleted text"])
def test_what_is_given_up_leaves_nothing(below, how):
    fs, inner, root = below
    path = f"{root}/x.paes"
    fs.pipe_file(path, b"old")
    if how in OPENS:
        with pytest.raises(KeyError):
            with OPENS[how](fs, path) as file:
                file.write("text" * 100_000 if "text" in how else BLOCK)
                raise KeyError
    elif how == "abort":
        fs.open(path, "wb").abort()
    else:
        with pytest.warns(ResourceWarning, match="nothing was written"):
            file = fs.open(path, "w" if "text" in how else "wb")
            file.write("text" if "text" in how else b"text")
            del file
            gc.collect()
    gc.collect()
    assert fs.cat_file(path) == b"old"
    assert names(inner, root) == ["x.paes"]


def test_what_own_code_closes_is_complete(below):
    """Who closes a file in an __exit__() or after a handler wants it."""
    fs, inner, root = below

    @contextlib.contextmanager
    def recording(path):
        file = fs.open(path, "wb")
        try:
            yield file
        except KeyError:
            file.write(b" and more")
        file.close()

    class Recorder:
        def __enter__(self):
            self.file = fs.open(f"{root}/b", "wb")
            return self.file

        def __exit__(self, *_):
            self.file.close()
            return True

    with recording(f"{root}/a") as file:
        file.write(b"all")
        raise KeyError
    with Recorder() as file:
        file.write(b"all")
        raise KeyError
    assert (fs.cat_file(f"{root}/a"), fs.cat_file(f"{root}/b")) == (b"all and more", b"all")


BELOW_OUT = """
import atexit, fsspec
fs = fsspec.filesystem("paraes", fs=fsspec.filesystem("dir", path="out",
                       fs=fsspec.filesystem("file")), key=bytes(32))
"""


def test_a_process_that_ends_leaves_nothing():
    Path("out").mkdir()
    done = run_python(BELOW_OUT + 'file = fs.open("x", "wb")\nfile.write(bytes(10_000_000))')
    assert done.returncode == 0, done.stderr
    assert os.listdir("out") == []


def test_what_is_closed_beside_an_exception_is_complete(below):
    """In a handler, in a file that an exception has nothing to do with, and within a block."""
    fs, inner, root = below
    file = fs.open(f"{root}/a", "wb")
    try:
        file.write(b"1")
        raise KeyError
    except KeyError:
        file.write(b"2")
        file.close()

    class Log:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            with fs.open(f"{root}/b", "wb") as log:
                log.write(b"failed")

    with pytest.raises(KeyError):
        with Log():
            raise KeyError
    assert (fs.cat_file(f"{root}/a"), fs.cat_file(f"{root}/b")) == (b"12", b"failed")


def test_failing_uploads_leave_nothing(faulty):
    fs = encrypted(faulty)
    fs.pipe_file("/x", b"old")
    faulty.most_upload = 3_000_000
    for size in (len(BLOCK), 3_000_001):  # the upload of the first fails while it is written
        with pytest.raises(OSError, match="no space left"):
            with fs.open("/x", "wb") as file:
                file.write(BLOCK[:size])
        assert fs.cat_file("/x") == b"old"
        assert names(faulty, "/") == ["x"]
    assert_no_threads()


def test_exclusive_and_other_modes(below):
    fs, inner, root = below
    with fs.open(f"{root}/x", "xb") as file:
        file.write(b"1")
    with pytest.raises(FileExistsError):
        fs.open(f"{root}/x", "xb").close()
    with fs.open(f"{root}/y", "xb") as file:
        inner.pipe_file(f"{root}/y", b"of another process")
        with pytest.raises(FileExistsError):
            file.close()
    assert inner.cat_file(f"{root}/y") == b"of another process"
    with pytest.raises(FileExistsError):
        fs.pipe_file(f"{root}/x", b"2", mode="create")
    with pytest.raises(InvalidArgument, match="fsspec has no 'zap'"):
        fs.open(f"{root}/x", "wb", compression="zap")
    for mode in ("ab", "r+b", "w+b"):
        with pytest.raises(InvalidArgument, match="written as a whole"):
            fs.open(f"{root}/x", mode)
    assert fs.cat_file(f"{root}/x") == b"1"


def test_transactions_of_files_that_are_open_or_given_up(below):
    fs, inner, root = below
    fs.pipe_file(f"{root}/open", b"old")
    with fs.transaction:
        file = fs.open(f"{root}/open", "wb")
        file.write(BLOCK[:200_000])
        with pytest.raises(KeyError):
            with fs.open(f"{root}/bad", "wb") as bad:
                bad.write(b"1")
                raise KeyError
        with fs.open(f"{root}/good", "wb") as good:
            good.write(b"2")
    assert fs.cat_file(f"{root}/open") == BLOCK[:200_000]
    assert names(inner, root) == ["good", "open"] and file.closed


def test_transactions(below):
    fs, inner, root = below
    with fs.transaction:
        for name in "ab":
            with fs.open(f"{root}/{name}", "wb") as file:
                file.write(BLOCK[:100_000])
        assert not inner.exists(f"{root}/a")
    assert fs.cat_file(f"{root}/a") == fs.cat_file(f"{root}/b") == BLOCK[:100_000]
    with pytest.raises(KeyError):
        with fs.transaction:
            with fs.open(f"{root}/c", "wb") as file:
                file.write(b"1")
            raise KeyError
    assert names(inner, root) == ["a", "b"]


def test_at_the_end_of_the_interpreter():
    program = BELOW_OUT + """
fs.pipe_file("x", bytes(9_000_000))
reader, writer = fs.open("x"), fs.open("log", "wb")

@atexit.register
def end():
    assert len(reader.read(5_000_000)) == 5_000_000
    assert len(reader.read()) == 4_000_000
    writer.write(bytes(3_000_000))
    writer.close()
"""
    Path("out").mkdir()
    done = run_python(program)
    assert (done.returncode, done.stderr) == (0, "")
    assert paraes.unseal(Path("out/log").read_bytes(), key=bytes(32)) == bytes(3_000_000)


def test_without_more_threads(faulty, monkeypatch):
    fs = encrypted(faulty)
    fs.pipe_file("/x", BLOCK)
    reader, writer = fs.open("/x"), fs.open("/y", "wb")

    def start(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        assert reader.read(5 << 20) + reader.read() == BLOCK
        with pytest.raises(RuntimeError, match="can't start new thread"):
            writer.write(BLOCK)
            writer.close()
        writer.abort()
    assert names(faulty, "/") == ["x"]
    reader.close()


def test_threads_that_share_a_file(below):
    fs, inner, root = below
    fs.pipe_file(f"{root}/x", BLOCK)
    with fs.open(f"{root}/x") as file:
        parts = []

        def read():
            while part := file.read(100_001):
                parts.append(part)

        together(*[read] * 4)
        assert sorted(parts) == sorted(BLOCK[n:n + 100_001] for n in range(0, len(BLOCK), 100_001))
        file.seek(1 << 70)
        assert file.read(5) == b"" and file.readinto(bytearray(5)) == 0


# ---- What is below fails or lies


def test_transfers_that_are_cut_are_errors(faulty):
    fs = encrypted(faulty)
    fs.pipe_file("/x", BLOCK[:500_000])
    with fs.open("/x") as file:
        faulty.fault = lambda path, start, end, data: data[:-1]
        for _ in range(2):
            with pytest.raises(FileError, match="came: it became shorter, or the transfer") as cut:
                file.read(10)
            assert cut.value.errno == errno.EIO
        faulty.fault = lambda path, start, end, data: data
        assert file.read(10) == BLOCK[:10]
    faulty.fault = lambda path, start, end, data: data[:-1]
    with pytest.raises(FileError):
        fs.open("/x")
    with pytest.raises(IntegrityError):
        fs.cat_file("/x")
    assert [type(found).__name__ for found in fs.cat_ranges(["/x"], [0], [10])] == ["FileError"]


def test_errors_of_the_file_system_come_through(faulty):
    fs = encrypted(faulty)
    fs.pipe({"/x": BLOCK, "/y": b"good"})

    class Busy(Exception):
        pass

    def busy(path, start, end, data):
        if path == "/x" and (start or 0) > 4 << 20:
            raise Busy("503 slow down")
        return data

    file = fs.open("/x")
    faulty.fault = busy
    assert file.read(1000) == BLOCK[:1000]
    with pytest.raises(Busy):
        file.read()
    faulty.fault = lambda path, start, end, data: data
    assert file.read() == BLOCK[1000:]
    faulty.fault = busy
    found = fs.cat_ranges(["/x", "/y", "/none"], [5 << 20, 0, 0], [6 << 20, 2, 1])
    assert isinstance(found[0], Busy) and isinstance(found[2], FileNotFoundError)
    assert found[1] == b"go"
    with pytest.raises(Busy):
        fs.cat_ranges(["/x"], [5 << 20], [6 << 20], on_error="raise")


def test_an_object_that_changes_while_it_is_read(faulty):
    fs = encrypted(faulty)
    other = encrypted(faulty, key=KEY)
    for new in (BLOCK[1:], BLOCK[:4 << 20], BLOCK + b"longer", BLOCK[::-1]):
        fs.pipe_file("/x", BLOCK)
        with fs.open("/x") as file:
            assert file.read(10) == BLOCK[:10]
            other.pipe_file("/x", new)
            file.seek(3 << 20)
            with pytest.raises(FileError, match="changed while it was read") as changed:
                file.read(1 << 20)
            assert changed.value.errno == errno.ESTALE
        # Properties of the old object are not used for the new one.
        fs.pipe_file("/x", BLOCK)
        assert fs.cat_file("/x", 0, 3) == BLOCK[:3]
        faulty.pipe_file("/x", paraes.seal(new, key=KEY))
        assert fs.cat_file("/x", -5) == new[-5:]


@pytest.mark.parametrize("at", [0, 40, 100, 200_000, -1])
def test_damage_and_exchange(faulty, at):
    fs = encrypted(faulty)
    fs.pipe_file("/x", BLOCK[:400_000])
    sealed = bytearray(faulty.cat_file("/x"))
    sealed[at] ^= 1
    faulty.pipe_file("/x", bytes(sealed))
    with pytest.raises((IntegrityError, WrongKey)):
        with fs.open("/x") as file:
            file.read()
    with pytest.raises((IntegrityError, WrongKey)):
        fs.cat_file("/x")
    assert isinstance(fs.cat_ranges(["/x"], [199_000], [201_000])[0],
                      (IntegrityError, WrongKey)) or at in (100,)
    for cut in (1, 16, SEGMENT, 200_000):
        faulty.pipe_file("/x", bytes(sealed[:-cut]))
        with pytest.raises((IntegrityError, WrongKey)):
            fs.open("/x")


def test_wrong_keys(faulty):
    encrypted(faulty).pipe_file("/x", BLOCK[:400_000])
    for options in ({"key": bytes(32)}, {"key": KEY, "context": b"other"}):
        fs = encrypted(faulty, **options)
        with pytest.raises(WrongKey):
            fs.open("/x")
        with pytest.raises(WrongKey):
            fs.cat_file("/x")
        with pytest.raises(WrongKey):
            fs.cat_file("/x", 0, 1)
    with pytest.raises(InvalidArgument, match="encrypted with a key"):
        encrypted(faulty, passphrase="a").open("/x")


def test_objects_of_unknown_size_are_read_in_order(faulty):
    class Web(Faulty):
        def info(self, path, **kwargs):
            return {**super().info(path), "size": None}

    web = Web()
    web.pipe_file("/x", paraes.seal(BLOCK, key=KEY))
    fs = encrypted(web)
    assert fs.info("/x")["size"] is None

    streams = []

    def open_stream(path, mode="rb", **kwargs):
        streams.append(FileObject(web.store["/x"].getvalue()))
        return streams[-1]

    web._open = open_stream
    with fs.open("/x") as file:
        assert not file.seekable()
        assert file.read() == BLOCK
    with pytest.raises(WrongKey):
        encrypted(web, key=bytes(32)).open("/x")
    assert len(streams) == 2 and all(stream.closed for stream in streams)
    assert isinstance(fs.cat_ranges(["/x"], [0], [1])[0], FileError)


# ---- Secrets


def test_bad_options():
    memory = MemoryFileSystem()
    for options, error, says in (
        ({}, InvalidArgument, "pass one of key_file"),
        ({"keyfile": "x"}, TypeError, "no option 'keyfile'"),
        ({"key": KEY, "passphrase": "x"}, InvalidArgument, "exactly one of"),
        ({"key": KEY, "fs": None}, InvalidArgument, "name the file system below"),
        ({"key_file": "none"}, FileNotFoundError, "none"),
        ({"key": KEY, "asynchronous": True}, InvalidArgument, "EncryptedStore"),
    ):
        with pytest.raises(error, match=says):
            ParaesFileSystem(**{"fs": memory, **options})
    ParaesFileSystem(fs=memory, key=KEY, use_listings_cache=False)
    with pytest.raises(NotImplementedError, match="ciphertext"):
        ParaesFileSystem(fs=memory, key=KEY).sign("/x")


def test_pickles_have_no_secrets(key_file, tmp_path):
    fs = fsspec.filesystem("paraes", target_protocol="file", key_file=key_file)
    fs.pipe_file(f"{tmp_path}/x", BLOCK)
    with fs.open(f"{tmp_path}/x") as file:
        file.seek(5)
        pickled = pickle.dumps([fs, file])
    assert KEY not in pickled and KEY.hex().encode() not in pickled
    again, file = pickle.loads(pickled)
    assert again == fs
    assert file.read(10) == BLOCK[5:15]
    assert json.loads(fs.to_json())["key_file"] == key_file
    file.close()
    for options in ({"key": KEY}, {"passphrase": "correct horse"}):
        fs = fsspec.filesystem("paraes", target_protocol="memory", **options)
        with pytest.raises(TypeError, match="pass key_file="):
            pickle.dumps(fs)
        seen = fs.to_json() + repr(fs.storage_options) + repr(fs) + repr(vars(fs))
        assert "horse" not in seen and KEY.hex() not in seen and repr(KEY) not in seen
        assert fs == fsspec.filesystem("paraes", target_protocol="memory", **options)


def test_a_key_file_that_is_replaced(key_file, tmp_path):
    def opened():
        return fsspec.filesystem("paraes", target_protocol="file", key_file=key_file)

    opened().pipe_file(f"{tmp_path}/x", b"1")
    Path(key_file).write_text(bytes(32).hex() + "\n")
    with pytest.raises(WrongKey):
        opened().cat_file(f"{tmp_path}/x")
    for key in (KEY, bytes(32)):  # their views may have the same address
        fs = fsspec.filesystem("paraes", target_protocol="memory", key=memoryview(key))
        fs.pipe_file("/of a view", b"1")
        assert paraes.unseal(MemoryFileSystem().cat_file("/of a view"), key=key) == b"1"


def test_tracebacks_have_no_secrets():
    memory = MemoryFileSystem()
    refuses_without_secrets(
        lambda: ParaesFileSystem.__init__(object.__new__(ParaesFileSystem), memory, other=1,
                                          passphrase="the secret"))


def test_the_key_file_is_never_replaced(key_file, tmp_path):
    fs = ParaesFileSystem(fs=LocalFileSystem(), key_file=key_file)
    with pytest.raises(InvalidArgument, match="key_file"):
        with fs.open(str(tmp_path / key_file), "wb") as file:
            file.write(b"1")
    assert KEY.hex() in Path(key_file).read_text()


def test_forks(faulty):
    """A child reads on with its own threads, and leaves uploads to the parent."""
    fs = encrypted(faulty)
    fs.pipe_file("/x", BLOCK)
    reader = fs.open("/x")
    assert reader.read(3 << 20) == BLOCK[:3 << 20]
    writer = fs.open("/y", "wb")
    writer.write(BLOCK[:2 << 20])

    def work():
        assert reader.read() == BLOCK[3 << 20:]
        with pytest.raises(paraes.WrongProcess):
            writer.write(b"child")
        writer.abort()

    in_child(work)
    writer.write(BLOCK[2 << 20:])
    writer.close()
    assert fs.cat_file("/y") == BLOCK
    reader.close()
