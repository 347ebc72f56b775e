"""paraes.zarr: encrypted stores, also of somebody who exchanges, deletes and restores values."""

import asyncio
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import KEY, refuses_without_secrets

zarr = pytest.importorskip("zarr", reason="zarr 3 needs Python 3.11")

import fsspec  # noqa: E402
import numpy as np  # noqa: E402
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from zarr.abc.store import (  # noqa: E402
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.buffer import cpu, default_buffer_prototype  # noqa: E402
from zarr.core.sync import sync  # noqa: E402
from zarr.storage import FsspecStore, LocalStore, MemoryStore, WrapperStore  # noqa: E402
from zarr.testing.store import StoreTests  # noqa: E402

import paraes  # noqa: E402
from paraes import IntegrityError, InvalidArgument, InvalidTag, WrongKey  # noqa: E402
from paraes.zarr import EncryptedStore, copy_store  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("folder"),
    pytest.mark.filterwarnings("ignore:Consolidated metadata"),
]
OTHER_KEY = bytes(32)
VALUES = np.random.default_rng(5).integers(0, 1 << 30, (64, 1000))


def put(store, key, value):
    sync(store.set(key, cpu.Buffer.from_bytes(value)))


def got(store, key, byte_range=None):
    found = sync(store.get(key, default_buffer_prototype(), byte_range))
    return None if found is None else found.to_bytes()


def keys(store):
    async def collect():
        return sorted([key async for key in store.list()])

    return sync(collect())


def filled(store, **options):
    """A group with an array in chunks, and one in shards."""
    group = zarr.create_group(store)
    group.create_array("plain", data=VALUES, chunks=(16, 250), **options)
    group.create_array("sharded", data=VALUES, chunks=(8, 50), shards=(32, 500), **options)
    return group


# ---- zarr's own tests of stores


class TestConformance(StoreTests):
    store_cls = EncryptedStore
    buffer_cls = cpu.Buffer

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        (tmp_path / "key").write_text(KEY.hex() + "\n")
        return {"store": LocalStore(tmp_path / "data.zarr"), "key_file": str(tmp_path / "key")}

    async def set(self, store, key, value):
        path = Path(store._store.root) / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(paraes.seal(value.to_bytes(), key=KEY, context=key.encode()))

    async def get(self, store, key):
        sealed = (Path(store._store.root) / key).read_bytes()
        return self.buffer_cls.from_bytes(paraes.unseal(sealed, key=KEY, context=key.encode()))

    def test_store_repr(self, store):
        assert str(store) == f"paraes::{store._store}"
        assert KEY.hex() not in repr(store)

    def test_store_supports_writes(self, store):
        assert store.supports_writes

    def test_store_supports_listing(self, store):
        assert store.supports_listing


# ---- Arrays


@pytest.mark.parametrize("kind", ["local", "memory", "fsspec", "wrapper"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_arrays(kind, zarr_format, tmp_path):
    memory = fsspec.filesystem("memory", skip_instance_cache=True)
    memory.store = {}
    inner = {"local": lambda: LocalStore(tmp_path / "d.zarr"), "memory": MemoryStore,
             "fsspec": lambda: FsspecStore(AsyncFileSystemWrapper(memory), path="/d.zarr"),
             "wrapper": lambda: WrapperStore(MemoryStore())}[kind]()
    store = EncryptedStore(inner, KEY)
    group = zarr.create_group(store, zarr_format=zarr_format, attributes={"title": "secret title"})
    group.create_array("a", data=VALUES, chunks=(16, 250))
    if zarr_format == 3:
        group.create_array("s", data=VALUES, chunks=(8, 50), shards=(32, 500))
        group["s"][5:9, 7:300] = 1
    zarr.consolidate_metadata(store)
    for open_group in (zarr.open_group, zarr.open_consolidated):
        again = open_group(EncryptedStore(inner, KEY), mode="r")
        assert again.attrs["title"] == "secret title"
        assert (again["a"][:] == VALUES).all()
        assert (again["a"][3:20, 700:] == VALUES[3:20, 700:]).all()
        if zarr_format == 3:
            assert (again["s"][:5] == VALUES[:5]).all() and (again["s"][5:9, 7:300] == 1).all()
    for key in keys(inner):
        assert b"secret title" not in got(inner, key)
        assert got(store, key) == paraes.unseal(got(inner, key), key=KEY, context=key.encode())
    assert keys(store) == keys(inner)
    assert sync(store.getsize("a/c/0/0" if zarr_format == 3 else "a/0.0")) > 0


@given(st.data())
def test_any_range_of_a_value(data):
    size = data.draw(st.sampled_from([0, 1, 16384, 65_400, 65_500, 300_000]))
    value = np.random.default_rng(size).bytes(size)
    inner = MemoryStore()
    store = EncryptedStore(inner, KEY)
    put(store, "v", value)
    for _ in range(3):
        begin = data.draw(st.integers(0, size + 5))
        end = data.draw(st.integers(begin, size + 9))
        assert got(store, "v", RangeByteRequest(begin, end)) == value[begin:end]
        assert got(store, "v", OffsetByteRequest(begin)) == value[begin:]
        assert got(store, "v", SuffixByteRequest(begin)) == value[max(size - begin, 0):]
    assert sync(store.getsize("v")) == size
    assert got(store, "none", RangeByteRequest(0, 1)) is None


def test_ranges_read_what_they_need_alone(tmp_path):
    class Counting(WrapperStore):
        asked = []

        async def get(self, key, prototype, byte_range=None):
            self.asked.append(byte_range)
            return await self._store.get(key, prototype, byte_range)

        async def getsize(self, key):
            return await self._store.getsize(key)

    inner = Counting(MemoryStore())
    store = EncryptedStore(inner, KEY)
    value = np.random.default_rng(1).bytes(4 << 20)
    put(store, "v", value)
    assert got(store, "v", RangeByteRequest(1 << 20, (1 << 20) + 5)) == value[1 << 20:][:5]
    first = 88 + 64 * 16400
    assert inner.asked[2:] == [RangeByteRequest(first, first + 16400)]
    assert got(store, "v", SuffixByteRequest(3)) == value[-3:]
    assert len(inner.asked) == 4  # header and end are known


def test_xarray_of_another_process(tmp_path):
    """A store with a key file can be sent to other processes."""
    Path("key").write_text(KEY.hex() + "\n")
    store = EncryptedStore(LocalStore(tmp_path / "d.zarr"), key_file="key")
    filled(store)
    Path("store.pickle").write_bytes(pickle.dumps(store))
    assert KEY not in Path("store.pickle").read_bytes()
    program = ("import pickle, zarr; store = pickle.load(open('store.pickle', 'rb')); "
               "zarr.open_group(store)['plain'][0, 0] = 7")
    subprocess.run([sys.executable, "-c", program], check=True)
    assert zarr.open_group(store)["plain"][0, 0] == 7
    in_memory = EncryptedStore(store._store, KEY)
    with pytest.raises(TypeError, match="pass key_file="):
        pickle.dumps(in_memory)
    assert in_memory == in_memory and in_memory != store
    assert in_memory.with_read_only(True).read_only


# ---- Somebody else writes to the store below


@pytest.fixture
def inner(tmp_path):
    return LocalStore(tmp_path / "d.zarr")


def path_of(inner, key):
    return Path(inner.root) / key


@pytest.mark.parametrize("array", ["plain", "sharded"])
def test_exchanged_values_are_refused(inner, array):
    filled(EncryptedStore(inner, KEY))
    shutil.copy(path_of(inner, f"{array}/c/0/0"), path_of(inner, f"{array}/c/1/1"))
    found = zarr.open_group(EncryptedStore(inner, KEY))[array]
    assert (found[:5, :5] == VALUES[:5, :5]).all()
    with pytest.raises(WrongKey, match=f"{array}/c/1/1: .*exchanged or moved"):
        found[:]
    if array == "sharded":
        with pytest.raises(WrongKey):
            found[32, 500]  # by ranges


def test_values_of_another_store_are_refused(inner, tmp_path):
    filled(EncryptedStore(inner, KEY, name="one"))
    other = LocalStore(tmp_path / "other.zarr")
    filled(EncryptedStore(other, KEY, name="two"))
    shutil.copy(path_of(other, "plain/c/0/0"), path_of(inner, "plain/c/0/0"))
    with pytest.raises(WrongKey):
        zarr.open_group(EncryptedStore(inner, KEY, name="one"))["plain"][:]
    # Without names, both stores have the same values at the same keys.
    unnamed = EncryptedStore(MemoryStore(), KEY)
    put(unnamed, "a", b"1")
    assert paraes.unseal(got(unnamed._store, "a"), key=KEY, context=b"a") == b"1"
    named = EncryptedStore(unnamed._store, KEY, name="n")
    with pytest.raises(WrongKey):
        got(named, "a")
    put(named, "b", b"2")
    assert paraes.unseal(got(unnamed._store, "b"), key=KEY, context=b"n//b") == b"2"
    for name in ("a//b", "/a", "a/"):
        with pytest.raises(InvalidArgument, match="name"):
            EncryptedStore(inner, KEY, name=name)


@pytest.mark.parametrize("at", [0, 50, 100, -1])
def test_damaged_and_truncated_values(inner, at):
    filled(EncryptedStore(inner, KEY), compressors=None)
    store = EncryptedStore(inner, KEY)
    group = zarr.open_group(store)
    for key in ("plain/c/3/3", "sharded/c/1/1"):
        sealed = path_of(inner, key).read_bytes()
        damaged = bytearray(sealed)
        damaged[at] ^= 1
        for changed in (damaged, sealed[:-1], sealed[:90], b""):
            path_of(inner, key).write_bytes(changed)
            with pytest.raises(InvalidTag, match=key):
                group[key.split("/")[0]][32:, 500:]
        path_of(inner, key).write_bytes(sealed)
        assert group[key.split("/")[0]][-1, -1] == VALUES[-1, -1]


def test_wrong_key(inner):
    filled(EncryptedStore(inner, KEY))
    with pytest.raises(WrongKey, match="zarr.json"):
        zarr.open_group(EncryptedStore(inner, OTHER_KEY), mode="r")
    with pytest.raises(InvalidArgument, match="exactly one of"):
        EncryptedStore(inner)
    with pytest.raises(InvalidArgument, match="16 or 32"):
        EncryptedStore(inner, b"short")
    for wrong in (lambda: EncryptedStore("d.zarr", KEY), lambda: copy_store("d.zarr", inner)):
        with pytest.raises(TypeError, match="a store of zarr is required"):
            wrong()
    with pytest.raises(TypeError, match="a Buffer of zarr"):
        sync(EncryptedStore(inner, KEY).set("v", b"1"))
    for sealed in ("", "x", None, 0, 1, b"x"):
        with pytest.raises(InvalidArgument, match="sealed"):
            EncryptedStore(inner, KEY, sealed=sealed)


def test_a_value_that_is_replaced_while_it_is_known(inner):
    store = EncryptedStore(inner, KEY)
    old, new = (np.random.default_rng(n).bytes(300_000) for n in (1, 2))
    put(store, "v", old)
    assert got(store, "v", RangeByteRequest(0, 5)) == old[:5]
    put(EncryptedStore(inner, KEY), "v", new + b"longer")
    assert got(store, "v", SuffixByteRequest(9)) == (new + b"longer")[-9:]
    put(store, "v", old)
    assert got(store, "v", RangeByteRequest(9, 15)) == old[9:15]
    sync(EncryptedStore(inner, KEY).delete("v"))
    assert got(store, "v", RangeByteRequest(9, 15)) is None


def test_an_empty_range_of_a_value_that_is_another_one_by_now(inner):
    one, two = EncryptedStore(inner, KEY), EncryptedStore(inner, KEY)
    put(one, "v", bytes(300_000))
    assert got(one, "v", RangeByteRequest(0, 5)) == bytes(5)
    put(two, "v", b"1" * 600_000)
    assert got(one, "v", RangeByteRequest(400_000, 400_005)) == b"11111"
    sync(two.delete("v"))
    assert got(one, "v", OffsetByteRequest(700_000)) is None


def test_what_is_not_seen_without_a_list(inner):
    """Deletion is zarr's fill value, and an older version is as good as the newest."""
    filled(EncryptedStore(inner, KEY), fill_value=9)
    old = path_of(inner, "plain/c/0/0").read_bytes()
    group = zarr.open_group(EncryptedStore(inner, KEY))
    group["plain"][0, 0] = 5
    path_of(inner, "plain/c/0/0").write_bytes(old)
    path_of(inner, "plain/c/1/1").unlink()
    assert group["plain"][0, 0] == VALUES[0, 0]
    assert (group["plain"][16:32, 250:500] == 9).all()


@pytest.mark.parametrize("array", ["plain", "sharded"])
def test_a_sealed_store(inner, array):
    store = EncryptedStore(inner, KEY, name="of the laboratory")
    filled(store)
    old = path_of(inner, f"{array}/c/0/0").read_bytes()
    zarr.open_group(store)[array][0, 0] = 5
    first = store.seal()

    def opened(sealed=True):
        return EncryptedStore(inner, KEY, name="of the laboratory", sealed=sealed)

    for sealed in (True, first):
        group = zarr.open_group(opened(sealed), mode="r")
        assert group[array][0, 0] == 5
        assert sorted(group.keys()) == ["plain", "sharded"]
    reader = opened()
    assert keys(reader) == keys(store) and ".paraes-sealed" not in keys(store)
    assert sync(reader.exists(f"{array}/c/0/0")) and not sync(reader.exists("none"))
    assert sync(reader.getsize(f"{array}/c/0/0")) == sync(store.getsize(f"{array}/c/0/0"))
    with pytest.raises(ValueError, match="read-only"):
        put(reader, "new", b"1")
    with pytest.raises(ValueError, match="read-only"):
        reader.with_read_only(False)

    # An older version, a deletion, and a value that was not there.
    now = path_of(inner, f"{array}/c/0/0").read_bytes()
    path_of(inner, f"{array}/c/0/0").write_bytes(old)
    with pytest.raises(IntegrityError, match="not the value that was there when"):
        zarr.open_group(opened(), mode="r")[array][0, 0]
    path_of(inner, f"{array}/c/0/0").unlink()
    with pytest.raises(IntegrityError, match="it is missing, and was there when"):
        zarr.open_group(opened(), mode="r")[array][0, 0]
    path_of(inner, f"{array}/c/0/0").write_bytes(now)
    put(store, "extra/zarr.json", b"{}")
    assert not sync(opened().exists("extra/zarr.json"))

    # The list itself: an older one, and none.
    old_list = path_of(inner, ".paraes-sealed").read_bytes()
    sync(store.delete("extra/zarr.json"))
    second = store.seal()
    assert second != first
    assert zarr.open_group(opened(second), mode="r")[array][0, 0] == 5
    with pytest.raises(IntegrityError, match="another list"):
        zarr.open_group(opened(first), mode="r")
    path_of(inner, ".paraes-sealed").write_bytes(old_list)
    with pytest.raises(IntegrityError, match="another list"):
        zarr.open_group(opened(second), mode="r")
    with pytest.raises(WrongKey):
        zarr.open_group(EncryptedStore(inner, KEY, name="another", sealed=True), mode="r")
    path_of(inner, ".paraes-sealed").unlink()
    with pytest.raises(IntegrityError, match="the store is not sealed"):
        zarr.open_group(opened(), mode="r")


def test_a_sealed_store_that_several_open_at_once(inner, tmp_path):
    Path("key").write_text(KEY.hex() + "\n")
    store = EncryptedStore(inner, key_file="key")
    filled(store)
    store.seal()
    sealed = EncryptedStore(inner, key_file="key", sealed=True)
    array = pickle.loads(pickle.dumps(zarr.open_group(sealed, mode="r")["plain"]))
    assert (array[:] == VALUES).all()


def test_no_value_passes_for_the_list(inner):
    for name in ("", "N"):
        store = EncryptedStore(inner, KEY, name=name)
        sync(store.clear())
        put(store, "v", b"1")
        store.seal()
        for key in ("sealed", "N//sealed", "N//.paraes-sealed", "paraes-sealed"):
            put(store, key, b'{"version": 1, "values": {}}')
            shutil.copy(path_of(inner, key), path_of(inner, ".paraes-sealed"))
            with pytest.raises(WrongKey):
                got(EncryptedStore(inner, KEY, name=name, sealed=True), "v")


def test_tracebacks_have_no_keys():
    key = b"the secret key, of 32 bytes ....."
    refuses_without_secrets(lambda: EncryptedStore(MemoryStore(), key))


def test_the_list_has_a_name_of_its_own(inner):
    store = EncryptedStore(inner, KEY)
    for key in (".paraes-sealed", ".paraes-sealed/zarr.json"):
        with pytest.raises(InvalidArgument, match="the list which seal"):
            put(store, key, b"1")
        with pytest.raises(InvalidArgument, match="the list which seal"):
            sync(store.delete(key))
    put(store, "v", b"1")
    store.seal()
    assert sync(store.is_empty("w")) and not sync(store.is_empty(""))
    sync(store.clear())
    assert sync(store.is_empty("")) and keys(inner) == []
    with pytest.raises(IntegrityError):
        damaged = EncryptedStore(inner, KEY)
        put(damaged, "v", b"1" * 100)
        path_of(inner, "v").write_bytes(path_of(inner, "v").read_bytes()[:-1])
        damaged.seal()
    assert keys(inner) == ["v"]


def test_long_names():
    inner = MemoryStore()
    store = EncryptedStore(inner, KEY, name="n" * 300)
    for length in (200, 210, 211, 400):
        put(store, "k" * length, b"%d" % length)
    again = EncryptedStore(inner, KEY, name="n" * 300)
    assert [got(again, "k" * length) for length in (210, 400)] == [b"210", b"400"]
    store.seal()
    assert got(EncryptedStore(inner, KEY, name="n" * 300, sealed=True), "k" * 400) == b"400"


# ---- Moving


def test_copies_to_another_key_name_and_root(inner, tmp_path):
    plain = LocalStore(tmp_path / "plain.zarr")
    filled(plain)
    store = EncryptedStore(inner, KEY)
    assert copy_store(plain, store) == len(keys(plain))
    assert (zarr.open_group(store)["sharded"][:] == VALUES).all()
    # The array alone is another store: its values have other names.
    root = EncryptedStore(LocalStore(Path(inner.root) / "plain"), KEY)
    with pytest.raises(WrongKey):
        zarr.open_array(root, mode="r")
    moved = EncryptedStore(MemoryStore(), OTHER_KEY, name="moved")

    class Below(WrapperStore):
        """The array as a root."""

        async def get(self, key, prototype, byte_range=None):
            return await self._store.get(f"plain/{key}", prototype, byte_range)

        async def list(self):
            async for key in self._store.list_prefix("plain/"):
                yield key.removeprefix("plain/")

    copy_store(Below(store), moved)
    assert (zarr.open_array(moved, mode="r")[:] == VALUES).all()
    back = MemoryStore()
    copy_store(store, back)
    assert (zarr.open_group(back)["plain"][:] == VALUES).all()


def test_failing_stores(inner):
    class Failing(WrapperStore):
        fails = False
        cut = False

        async def get(self, key, prototype, byte_range=None):
            if self.fails:
                raise OSError("503 slow down")
            found = await self._store.get(key, prototype, byte_range)
            return found[:-1] if self.cut and found is not None else found

        async def set(self, key, value):
            if self.fails:
                raise OSError("503 slow down")
            await self._store.set(key, value)

    failing = Failing(inner)
    store = EncryptedStore(failing, KEY)
    filled(store)
    failing.fails = True
    for work in (lambda: got(store, "zarr.json"), lambda: put(store, "v", b"1"), store.seal,
                 lambda: got(store, "plain/c/0/0", RangeByteRequest(0, 1))):
        with pytest.raises(OSError, match="503"):
            work()
    failing.fails, failing.cut = False, True
    for byte_range in (None, RangeByteRequest(0, 1), SuffixByteRequest(1)):
        with pytest.raises(InvalidTag, match="sharded/c/0/0"):
            got(store, "sharded/c/0/0", byte_range)
    failing.cut = False
    assert (zarr.open_group(store)["plain"][:] == VALUES).all()


def test_in_an_event_loop(inner):
    async def work():
        store = await EncryptedStore.open(inner, KEY)
        await asyncio.gather(*(store.set(f"k{n}", cpu.Buffer.from_bytes(os.urandom(n * 5000)))
                               for n in range(20)))
        seal = await store.seal_async()
        sealed = await EncryptedStore.open(inner, KEY, sealed=seal)
        values = await sealed.get_partial_values(default_buffer_prototype(),
                                                 [(f"k{n}", None) for n in range(20)])
        assert [len(value) for value in values] == [n * 5000 for n in range(20)]
        assert isinstance(sealed, Store)

    asyncio.run(work())
