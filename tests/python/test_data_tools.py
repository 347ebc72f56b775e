"""pandas, pyarrow, polars, h5py, xarray and Dask on encrypted data, and an S3 server that fails."""

import contextlib
import errno
import gc
import json
import pickle
import threading
import time
import warnings
from pathlib import Path

import pytest
from helpers import KEY

pytest.importorskip("s3fs", reason="the newer versions of these packages need Python 3.11")

import dask.array  # noqa: E402
import dask.dataframe  # noqa: E402
import fsspec  # noqa: E402
import h5py  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import polars as pl  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.dataset as ds  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import s3fs  # noqa: E402
import xarray as xr  # noqa: E402
import zarr  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402
from werkzeug.wrappers import Response  # noqa: E402
from zarr.storage import FsspecStore, LocalStore  # noqa: E402

import paraes  # noqa: E402
from paraes import FileError, IntegrityError  # noqa: E402
from paraes.fsspec import ParaesFileSystem  # noqa: E402
from paraes.zarr import EncryptedStore  # noqa: E402

pytestmark = [pytest.mark.usefixtures("folder"),
              pytest.mark.filterwarnings("ignore:Consolidated metadata")]
BLOCK = np.random.default_rng(11).bytes((26 << 20) + 7)
TABLE = pd.DataFrame({"n": np.arange(50_000), "word": [f"word {n}" for n in range(50_000)]})


class Server:
    """S3 on the loopback interface. `fault` sees each request, and may answer in place of it."""

    def __init__(self):
        self.inner = ThreadedMotoServer(port=0)
        self.inner.start()
        self.fault = None
        self.requests = []
        app = self.inner._server.app

        def answer(environ, start_response):
            self.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"],
                                  environ.get("QUERY_STRING", ""), environ.get("HTTP_RANGE")))
            response = self.fault and self.fault(environ)
            return (response or app)(environ, start_response)

        self.inner._server.app = answer
        host, port = self.inner.get_host_and_port()
        self.options = {"endpoint_url": f"http://{host}:{port}", "key": "test", "secret": "test",
                        "skip_instance_cache": True,
                        "config_kwargs": {"retries": {"max_attempts": 2}}}

    @contextlib.contextmanager
    def failing(self, fault):
        self.fault = fault
        try:
            yield
        finally:
            self.fault = None


@pytest.fixture(scope="module")
def server():
    made = Server()
    yield made
    made.inner.stop()


@pytest.fixture
def s3(server, request):
    """The file system, with a new bucket in it."""
    fs = s3fs.S3FileSystem(**server.options)
    if fs.exists("bucket"):
        fs.rm("bucket", recursive=True)
    fs.mkdir("bucket")
    server.requests.clear()
    return fs


@pytest.fixture
def key_file():
    Path("my.key").write_text(KEY.hex() + "\n")
    return "my.key"


@pytest.fixture
def fs(s3):
    return ParaesFileSystem(fs=s3, key=KEY)


def refused(code, status, says=""):
    return Response(f"<Error><Code>{code}</Code><Message>{says}</Message></Error>", status=status)


def uploads(fs):
    """Parts that nobody completed."""
    return fs.call_s3("list_multipart_uploads", Bucket="bucket").get("Uploads", [])


# ---- S3


@pytest.mark.parametrize("size", [0, 5, 300_000, len(BLOCK)])
def test_objects_in_s3(fs, s3, server, size):
    with fs.open("bucket/x.paes", "wb", block_size=5 << 20) as file:
        for begin in range(0, size, 1 << 20):
            file.write(BLOCK[begin:min(begin + (1 << 20), size)])
    assert paraes.unseal(s3.cat_file("bucket/x.paes"), key=KEY) == BLOCK[:size]
    server.requests.clear()
    with fs.open("bucket/x.paes") as file:
        assert file.read() == BLOCK[:size]
        assert file.seek(size // 2) == size // 2
        assert file.read(10) == BLOCK[:size][size // 2:][:10]
    if size > 20 << 20:
        ranges = [one for _, _, _, one in server.requests if one]
        assert len(ranges) > 8  # in parallel
    assert fs.cat_file("bucket/x.paes", -3) == BLOCK[max(size - 3, 0):size]
    assert fs.ls("bucket")[0]["size"] == fs.info("bucket/x.paes")["size"] == size
    fs.mv("bucket/x.paes", "bucket/y.paes")
    assert fs.find("bucket") == ["bucket/y.paes"] and fs.cat("bucket/y.paes") == BLOCK[:size]


def test_parts_are_uploaded_while_later_ones_are_computed(fs, server):
    seen = threading.Event()

    def note(environ):
        if "partNumber=1" in environ.get("QUERY_STRING", ""):
            seen.set()

    with server.failing(note), fs.open("bucket/x", "wb", block_size=5 << 20) as file:
        file.write(BLOCK[:12 << 20])
        assert seen.wait(30)  # before the file ends
        file.write(BLOCK[12 << 20:])
    assert fs.cat_file("bucket/x") == BLOCK


def test_uploads_that_are_given_up_leave_nothing(fs, s3, server):
    fs.pipe_file("bucket/x", b"old")
    with pytest.raises(KeyError):
        with fsspec.core.OpenFile(fs, "bucket/x", "wb") as file:
            file.write(BLOCK)
            raise KeyError
    with pytest.raises(KeyError):
        with fs.open("bucket/x", "wb", block_size=5 << 20) as file:
            file.write(BLOCK)
            raise KeyError

    def refuse(environ):
        if "partNumber=3" in environ.get("QUERY_STRING", ""):
            return refused("AccessDenied", 403)
        return None

    with server.failing(refuse), pytest.raises(PermissionError):
        with fs.open("bucket/x", "wb", block_size=5 << 20) as file:
            file.write(BLOCK)
    s3.invalidate_cache()
    assert s3.find("bucket") == ["bucket/x"] and fs.cat_file("bucket/x") == b"old"
    assert uploads(s3) == []
    with pytest.raises(FileExistsError):
        with fs.open("bucket/x", "xb") as file:
            file.write(b"new")
    assert fs.cat_file("bucket/x") == b"old"


def test_a_completion_that_fails_leaves_nothing(fs, s3, server, monkeypatch):
    monkeypatch.setattr(s3, "retries", 1)

    def refuse(environ):
        if environ["REQUEST_METHOD"] == "POST" and "uploadId=" in environ.get("QUERY_STRING", ""):
            return refused("AccessDenied", 403)
        return None

    with server.failing(refuse), pytest.raises(PermissionError):
        with fs.open("bucket/x", "wb", block_size=5 << 20) as file:
            file.write(BLOCK)
    assert uploads(s3) == [] and s3.find("bucket") == []
    for size in (1, len(BLOCK)):
        fs.pipe_file("bucket/x", b"old")
        with pytest.raises(FileExistsError):
            with fs.open("bucket/x", "xb", block_size=5 << 20) as file:
                file.write(BLOCK[:size])
        assert uploads(s3) == [] and fs.cat_file("bucket/x") == b"old"


def test_an_upload_that_the_thread_of_transfers_deletes(fs, s3):
    """Python may find a cycle of garbage in any thread."""
    file = fs.open("bucket/x", "wb", block_size=5 << 20)
    file.write(BLOCK[:12 << 20])
    cycle = [file]
    cycle.append(cycle)
    del file, cycle

    async def collect():
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            gc.collect()

    gc.disable()
    try:
        fsspec.asyn.sync(s3.loop, collect, timeout=60)
    finally:
        gc.enable()
    assert fs.find("bucket") == []
    for _ in range(100):
        if not uploads(s3):
            break
        time.sleep(0.1)
    assert uploads(s3) == []


def test_versions_of_an_object(server, s3):
    s3 = s3fs.S3FileSystem(**server.options, version_aware=True)
    s3.call_s3("put_bucket_versioning", Bucket="bucket",
               VersioningConfiguration={"Status": "Enabled"})
    fs = ParaesFileSystem(fs=s3, key=KEY)
    fs.pipe_file("bucket/x", b"first")
    version = s3.call_s3("list_object_versions", Bucket="bucket")["Versions"][0]["VersionId"]
    fs.pipe_file("bucket/x", b"second")
    assert fs.cat_file("bucket/x", 0, 3) == b"sec"
    assert fs.cat_file("bucket/x", version_id=version) == b"first"
    assert fs.cat_file("bucket/x", 0, 3, version_id=version) == b"fir"
    with fs.open("bucket/x", version_id=version) as file:
        assert file.read() == b"first"
    assert fs.cat_file("bucket/x", 0, 3) == b"sec"


def test_an_object_that_became_shorter(fs, s3, server):
    """The server refuses ranges that begin behind its end."""
    other = ParaesFileSystem(fs=s3fs.S3FileSystem(**server.options), key=KEY)
    fs.pipe_file("bucket/x", BLOCK[:1 << 20])
    assert fs.cat_file("bucket/x", -3) == BLOCK[:1 << 20][-3:]
    s3.ls("bucket")  # s3fs keeps the size
    other.pipe_file("bucket/x", b"short")
    assert fs.cat_file("bucket/x", -3) == b"ort"
    s3.ls("bucket")
    other.pipe_file("bucket/x", BLOCK)
    with fs.open("bucket/x") as file:
        assert file.size == len(BLOCK)
        other.pipe_file("bucket/x", b"short")
        file.seek(20 << 20)
        with pytest.raises(FileError, match="changed while it was read"):
            file.read(5)


def test_a_server_that_is_busy(fs, s3, server, monkeypatch):
    monkeypatch.setattr(s3, "retries", 2)
    fs.pipe_file("bucket/x", BLOCK)
    answers = {"busy": 0, "most": 1}

    def busy(environ):
        begin = environ.get("HTTP_RANGE", "bytes=0-").removeprefix("bytes=").split("-")[0]
        if int(begin) > 4 << 20 and answers["busy"] < answers["most"]:
            answers["busy"] += 1
            return refused("SlowDown", 503, "Reduce your request rate.")
        return None

    with server.failing(busy), fs.open("bucket/x") as file:  # s3fs tries again
        assert file.read() == BLOCK
        assert answers["busy"] == 1
    with server.failing(busy), fs.open("bucket/x") as file:
        answers["most"] = 1 << 30
        with pytest.raises(OSError, match="Reduce your request rate"):
            file.read()
        answers["most"] = 0
        assert file.read() == BLOCK


def test_ranges_that_are_cut(fs, server):
    fs.pipe_file("bucket/x", BLOCK[:5 << 20])
    with fs.open("bucket/x") as file:
        def cut(environ):
            if environ["REQUEST_METHOD"] == "GET":
                return Response(b"x" * 100, status=206,
                                headers={"Content-Range": "bytes 0-99/1000000"})
            return None

        with server.failing(cut), pytest.raises(FileError, match="and 100 came") as error:
            file.read(50_000)
        assert error.value.errno == errno.EIO
        assert file.read(50_000) == BLOCK[:50_000]


def test_urls_of_s3(server, key_file, s3):
    options = {"paraes": {"key_file": key_file}, "s3": server.options}
    TABLE.to_csv("paraes::s3://bucket/t.csv.paes", index=False, storage_options=options)
    assert s3.cat_file("bucket/t.csv.paes")[:4] == paraes.seal(b"", key=KEY)[:4]
    assert pd.read_csv("paraes::s3://bucket/t.csv.paes", storage_options=options).equals(TABLE)


def test_zarr_in_s3(s3, server):
    s3_async = s3fs.S3FileSystem(**server.options, asynchronous=True)
    store = EncryptedStore(FsspecStore(s3_async, path="bucket/z"), KEY)
    values = np.arange(1 << 20).reshape(1024, 1024)
    zarr.create_array(store, name="a", data=values, chunks=(256, 256), shards=(512, 512))
    again = EncryptedStore(FsspecStore(s3_async, path="bucket/z"), KEY)
    found = zarr.open_array(again, path="a", mode="r")
    assert (found[:] == values).all() and found[700, 3] == values[700, 3]
    sealed = store.seal()
    s3.invalidate_cache()
    s3.rm("bucket/z/a/c/1/1")
    assert (zarr.open_array(again, path="a", mode="r")[512:, 512:] == 0).all()
    reader = EncryptedStore(FsspecStore(s3_async, path="bucket/z"), KEY, sealed=sealed)
    with pytest.raises(IntegrityError, match="it is missing"):
        zarr.open_array(reader, path="a", mode="r")[:]


# ---- Tools


@pytest.fixture(params=["local", "memory"])
def files(request, tmp_path, key_file):
    """A file system with a key file, a URL of a folder in it, and storage_options."""
    url = f"file://{tmp_path}" if request.param == "local" else f"memory://{tmp_path}"
    fs, root = fsspec.url_to_fs(f"paraes::{url}", paraes={"key_file": key_file})
    fs.makedirs(root, exist_ok=True)
    return fs, root, f"paraes::{url}", {"paraes": {"key_file": key_file}}


def test_pandas(files):
    fs, root, url, options = files
    for suffix, write, read in (("csv", TABLE.to_csv, pd.read_csv),
                                ("json", TABLE.to_json, pd.read_json)):
        for compression in (None, "gzip"):
            name = f"{url}/t.{suffix}.paes"
            write(name, storage_options=options, compression=compression,
                  **({"index": False} if suffix == "csv" else {}))
            assert read(name, storage_options=options, compression=compression).equals(TABLE)
    TABLE.to_parquet(f"{url}/t.parquet.paes", storage_options=options)
    assert pd.read_parquet(f"{url}/t.parquet.paes", storage_options=options).equals(TABLE)

    class Broken:
        def __str__(self):
            raise KeyError("in the middle")

    before = fs.cat_file(f"{root}/t.csv.paes")
    broken = pd.concat([TABLE.astype(object), pd.DataFrame({"n": [Broken()], "word": [""]})])
    with pytest.raises(KeyError):
        broken.to_csv(f"{url}/t.csv.paes", storage_options=options)
    assert fs.cat_file(f"{root}/t.csv.paes") == before


def test_pyarrow(files):
    fs, root, _, _ = files
    table = pa.Table.from_pandas(TABLE)
    ds.write_dataset(table, f"{root}/set", format="parquet", filesystem=fs,
                     max_rows_per_file=20_000, max_rows_per_group=20_000,
                     basename_template="part-{i}.parquet.paes")
    found = ds.dataset(f"{root}/set", format="parquet", filesystem=fs)
    assert len(found.files) == 3
    assert found.to_table(filter=ds.field("n") < 9)["word"].to_pylist() == [
        f"word {n}" for n in range(9)]
    pq.write_table(table, f"{root}/one.paes", filesystem=fs)
    assert pq.read_table(f"{root}/one.paes", filesystem=fs).equals(table)


def test_polars(files):
    fs, root, _, _ = files
    table = pl.from_pandas(TABLE)
    with fs.open(f"{root}/t.parquet.paes", "wb") as file:
        table.write_parquet(file)
    with fs.open(f"{root}/t.parquet.paes") as file:
        assert pl.read_parquet(file).equals(table)
    with fs.open(f"{root}/t.csv.paes", "wb") as file:
        table.write_csv(file)
    with fs.open(f"{root}/t.csv.paes") as file:
        assert pl.read_csv(file).equals(table)


def test_h5py(files):
    fs, root, _, _ = files
    with h5py.File("plain.h5", "w") as file:
        file.create_dataset("a", data=np.arange(100_000).reshape(100, 1000), chunks=(10, 100))
    fs.put("plain.h5", f"{root}/a.h5.paes")
    with fs.open(f"{root}/a.h5.paes") as raw, h5py.File(raw) as file:
        assert file["a"][50, 7] == 50_007
        assert file["a"][:].sum() == np.arange(100_000).sum()


@pytest.mark.parametrize("consolidated", [False, True])
def test_xarray_and_dask(tmp_path, key_file, consolidated):
    store = EncryptedStore(LocalStore(tmp_path / "x.zarr"), key_file=key_file)
    data = xr.Dataset({"t": (("time", "x"), np.random.default_rng(3).random((100, 200)))},
                      coords={"time": np.arange(100)}, attrs={"where": "here"})
    data.chunk({"time": 10}).to_zarr(store, consolidated=consolidated)
    with xr.open_zarr(store, consolidated=consolidated) as found:
        assert found.identical(data)
        assert float(found.t.chunk({"time": 25}).mean()) == pytest.approx(float(data.t.mean()))
    array = dask.array.from_zarr(zarr.open_array(store, path="t", mode="r"))
    assert array.sum().compute(scheduler="processes", num_workers=2) == pytest.approx(
        float(data.t.sum()))
    store.seal()
    sealed = EncryptedStore(LocalStore(tmp_path / "x.zarr"), key_file=key_file, sealed=True)
    with xr.open_zarr(sealed, consolidated=consolidated) as found:
        assert found.identical(data)
    with pytest.raises(TypeError, match="key_file="):
        pickle.dumps(EncryptedStore(LocalStore(tmp_path / "x.zarr"), KEY))


def test_dask_dataframes(files, tmp_path):
    fs, root, url, options = files
    frame = dask.dataframe.from_pandas(TABLE, npartitions=3)
    frame.to_csv(f"{url}/d/part-*.csv.paes", storage_options=options, index=False)
    found = dask.dataframe.read_csv(f"{url}/d/part-*.csv.paes", storage_options=options)
    assert len(fs.find(f"{root}/d")) == 3
    if url.startswith("paraes::file"):
        assert found.compute(scheduler="processes").word.tolist() == TABLE.word.tolist()
    assert int(found.n.sum().compute()) == int(TABLE.n.sum())
    shown = json.dumps([str(key) for key in found.__dask_graph__()])
    assert KEY.hex() not in shown
