"""Encrypted zarr stores: `pip install paraes[zarr]`.

EncryptedStore(store, key) is a store of zarr over any other store. Each value is a message of its
own, whose context is its name. docs/how-to/data-tools.md has examples with xarray and Dask.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

from paraes import _native
from paraes._recent import Recent
from paraes.exceptions import IntegrityError, InvalidArgument, InvalidTag, WrongKey

_python = sys.version_info[:2]
if _python < (3, 11):
    raise ImportError("paraes.zarr needs zarr 3, which needs Python 3.11 or later; this is Python "
                      f"{_python[0]}.{_python[1]}")
try:
    from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
    from zarr.core.buffer import Buffer, default_buffer_prototype
    from zarr.core.config import config
    from zarr.core.sync import sync
    from zarr.storage import LocalStore
except ImportError as _error:
    raise ImportError("paraes.zarr needs zarr 3.1.3 or later: "
                      "pip install 'paraes[zarr]'") from _error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from typing_extensions import Buffer as Bytes
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import BufferPrototype

    from paraes.files import Path

__all__ = ["EncryptedStore", "copy_store"]

_T = TypeVar("_T")

_LIST = ".paraes-sealed"  # the key of the authenticated list
_WHOLE = 1 << 16  # smaller values are read as a whole, whatever range is wanted
_INLINE = 1 << 14  # bytes that are not worth a thread


class _Known:
    """A value whose header and end have been authenticated."""

    def __init__(self, segments: _native.Segments, sealed_size: int) -> None:
        self.segments = segments
        self.sealed_size = sealed_size
        self.size = segments.plain_bytes(sealed_size)


class EncryptedStore(Store):
    """A store whose values are encrypted in another store.

    store: any store of zarr; key: 16 or 32 bytes, or key_file: as `paraes keygen` makes one.

    Each value is a message in the format paraes whose context is `name`, "//" and the key of the
    value, or this key alone without a name: a value that is moved to another key, or comes from a
    store with another name, is a WrongKey. A damaged one is an IntegrityError. What messages alone
    do not show is that a value was deleted, which zarr reads as the fill value, or replaced by an
    older one of the same key. For that, seal() writes an authenticated list of all values, and

    sealed: True demands this list, and that the store is as the list says. It is read-only then.
    The value that seal() returned, instead of True, demands that very list: an older one of the
    same store is refused.

    threads: for one value; several are processed at once anyway.
    """

    supports_writes = True
    supports_deletes = True
    supports_listing = True

    def __init__(self, store: Store, key: Bytes | None = None, *, key_file: Path | None = None,
                 name: str = "", sealed: bool | str = False, read_only: bool = False,
                 threads: int = 1, kernel: str = "auto") -> None:
        if not isinstance(store, Store):
            raise TypeError("store: a store of zarr is required, such as "
                            f"zarr.storage.LocalStore('data.zarr'), not {type(store).__name__!r}")
        if not isinstance(name, str):
            raise TypeError(f"name: a str is required, not {type(name).__name__!r}")
        if not isinstance(sealed, bool) and not _is_digest(sealed):
            raise InvalidArgument("sealed: it is True, or what seal() returned")
        if "//" in name or name.startswith("/") or name.endswith("/"):
            raise InvalidArgument("name: it has no '//', and no '/' at its ends")
        super().__init__(read_only=read_only or store.read_only or bool(sealed))
        self._store = store
        self._options = {"key_file": key_file, "threads": threads, "kernel": kernel}
        options: dict[str, Any] = {"key": key, **self._options}
        self._has_key = key is not None
        del key  # tracebacks show no secrets
        self._opens, self._seals = _secrets(options)
        self._name = name
        self._demanded = sealed
        self._sealed: dict[str, list[Any]] | None = None
        self._known: Recent[str, _Known] = Recent(256)

    # ---- The store as an object

    def __str__(self) -> str:
        return f"paraes::{self._store}"

    def __repr__(self) -> str:
        return f"EncryptedStore({self._store!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EncryptedStore):
            return False
        same_key = self._opens is other._opens or (
            not self._has_key and not other._has_key and self._options == other._options)
        return (same_key and self._store == other._store and self._name == other._name
                and self._demanded == other._demanded and self.read_only == other.read_only)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        if self._has_key:
            raise TypeError("a store with a key in memory cannot be pickled, because the pickle "
                            "would have the key: pass key_file=")
        return _made_again, (self._store, {**self._options, "name": self._name,
                                           "sealed": self._demanded, "read_only": self.read_only})

    def with_read_only(self, read_only: bool = False) -> EncryptedStore:
        if self._demanded and not read_only:
            raise ValueError("a store that is opened with sealed= is read-only")
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        try:
            made._store = self._store.with_read_only(read_only)
        except NotImplementedError:
            if not read_only:
                raise  # and otherwise this store alone refuses to write
        made._read_only = read_only
        made._is_open = False
        made._known = Recent(256)
        return made

    async def _open(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        await self._store._ensure_open()
        if self._demanded and self._sealed is None:
            self._sealed = await self._read_list(self._demanded)
        if not self._is_open:  # another task may have opened it meanwhile
            await super()._open()

    def close(self) -> None:
        super().close()
        self._known.clear()
        self._store.close()

    # ---- Messages

    def _context(self, key: str) -> bytes:
        if key == _LIST or key.startswith(_LIST + "/"):
            raise InvalidArgument(f"{key}: the name is that of the list which seal() writes")
        return self._context_of(key)

    def _context_of(self, key: str) -> bytes:
        context = (f"{self._name}//{key}" if self._name else key).encode()
        if len(context) <= 512:
            return context
        return b"//sha256:" + hashlib.sha256(context).hexdigest().encode()

    def _listed(self, key: str) -> list[Any] | None:
        return None if self._sealed is None else self._sealed[key]

    def _check_listed(self, key: str, header: bytes, sealed_size: int) -> None:
        listed = self._listed(key)
        if listed is not None and listed != [_digest(header), sealed_size]:
            raise IntegrityError(f"{key}: it is not the value that was there when the store was "
                                 "sealed")

    def _unseal(self, key: str, sealed: Any) -> bytes:
        plain = _named(key, lambda: self._opens.unseal(sealed, self._context(key)))
        header = bytes(memoryview(sealed)[:self._opens.header_bytes()])
        self._check_listed(key, header, len(memoryview(sealed)))
        return plain

    # ---- Reading

    async def get(self, key: str, prototype: BufferPrototype,
                  byte_range: ByteRequest | None = None) -> Buffer | None:
        await self._ensure_open()
        if self._sealed is not None and key not in self._sealed:
            return None
        if byte_range is None:
            plain = await self._whole(key)
        else:
            plain = await self._range(key, byte_range)
        if plain is None:
            if self._sealed is not None:
                raise IntegrityError(f"{key}: it is missing, and was there when the store was "
                                     "sealed")
            return None
        return prototype.buffer.from_bytes(plain)

    async def _whole(self, key: str) -> bytes | None:
        if type(self._store) is LocalStore:
            return await asyncio.to_thread(self._whole_file, key)
        sync_get = getattr(self._store, "get_sync", None)
        if sync_get is not None:
            return await asyncio.to_thread(self._whole_now, sync_get, key)
        sealed = await self._raw(key)
        return None if sealed is None else await _in_thread(len(sealed), self._unseal, key, sealed)

    def _whole_file(self, key: str) -> bytes | None:
        # Small pieces are read and opened in turns, which takes half the memory.
        path = cast(LocalStore, self._store).root / key
        context = self._context(key)
        try:
            plain, header, size = _named(key, lambda: self._opens.unseal_file(path, context))
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        self._check_listed(key, header, size)
        return plain

    def _whole_now(self, sync_get: Callable[..., Any], key: str) -> bytes | None:
        value = sync_get(key, prototype=default_buffer_prototype())
        return None if value is None else self._unseal(key, value.as_numpy_array())

    async def _raw(self, key: str, begin: int | None = None, end: int | None = None) -> Any:
        wanted = None if begin is None else RangeByteRequest(begin, cast(int, end))
        value = await self._store.get(key, default_buffer_prototype(), wanted)
        if value is None:
            return None
        data = value.as_numpy_array()
        if begin is not None and len(data) != cast(int, end) - begin:
            raise IntegrityError(f"{key}: the bytes {begin} to {end} were asked for, and "
                                 f"{len(data)} came: it became shorter, or the transfer was cut")
        return data

    async def _range(self, key: str, wanted: ByteRequest) -> bytes | None:
        known = self._known.get(key)
        if known is not None:
            try:
                found = await self._range_of(key, known, wanted)
                if found:
                    return found
                # Nothing was read that would show that the value is still the one that is known.
            except (InvalidTag, FileNotFoundError):
                # The value may be a new one, with another header.
                pass
            self._known.drop(key)
        try:
            sealed_size = await self._store.getsize(key)
        except FileNotFoundError:
            return None
        if sealed_size <= _WHOLE:
            plain = await self._whole(key)
            return None if plain is None else plain[slice(*_bounds(wanted, len(plain)))]
        known = await self._authenticated(key, sealed_size)
        if known is None:
            return None
        self._known.put(key, known)
        return await self._range_of(key, known, wanted)

    async def _authenticated(self, key: str, sealed_size: int) -> _Known | None:
        header_size = self._opens.header_bytes()
        header, tail = await asyncio.gather(self._raw(key, 0, header_size),
                                            self._raw(key, sealed_size - _WHOLE, sealed_size))
        if header is None or tail is None:
            return None
        segments = _named(key, lambda: self._opens.segments(header, self._context(key)))
        self._check_listed(key, bytes(header), sealed_size)
        known = _named(key, lambda: _Known(segments, sealed_size))
        ends = (known.size, known.size, sealed_size)
        begin, end = segments.sealed_range(*ends)
        _named(key, lambda: segments.open(*ends, tail[len(tail) - (end - begin):]))
        return known

    async def _range_of(self, key: str, known: _Known, wanted: ByteRequest) -> bytes | None:
        begin, end = _bounds(wanted, known.size)
        if begin == end:
            return b""
        sealed = await self._raw(
            key, *known.segments.sealed_range(begin, end, known.sealed_size))
        if sealed is None:
            return None
        return cast(bytes, await _in_thread(len(sealed), _named, key, lambda: known.segments.open(
            begin, end, known.sealed_size, sealed)))

    async def get_partial_values(
            self, prototype: BufferPrototype,
            key_ranges: Iterable[tuple[str, ByteRequest | None]]) -> list[Buffer | None]:
        return list(await asyncio.gather(*(self.get(key, prototype, wanted)
                                           for key, wanted in key_ranges)))

    async def exists(self, key: str) -> bool:
        await self._ensure_open()
        if self._sealed is not None:
            return key in self._sealed
        return key != _LIST and await self._store.exists(key)

    async def getsize(self, key: str) -> int:
        """The size of the plaintext, computed from that of the message."""
        await self._ensure_open()
        if self._sealed is not None:
            if key not in self._sealed:
                raise FileNotFoundError(key)
            return self._opens.plain_bytes(self._sealed[key][1])
        sealed_size = await self._store.getsize(key)
        return _named(key, lambda: self._opens.plain_bytes(sealed_size))

    # ---- Listing

    async def list(self) -> AsyncIterator[str]:
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        await self._ensure_open()
        if self._sealed is not None:
            for key in self._sealed:
                if key.startswith(prefix):
                    yield key
            return
        async for key in self._store.list_prefix(prefix):
            if key != _LIST:
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        await self._ensure_open()
        if self._sealed is None:
            async for name in self._store.list_dir(prefix):
                if name != _LIST or prefix.strip("/"):
                    yield name
            return
        folder = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""
        for name in {key[len(folder):].split("/")[0]: None for key in self._sealed
                     if key.startswith(folder)}:
            yield name

    # ---- Writing

    async def set(self, key: str, value: Buffer) -> None:
        await self._write("set", key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        await self._write("set_if_not_exists", key, value)

    async def _write(self, method: str, key: str, value: Buffer) -> None:
        self._check_writable()
        await self._ensure_open()
        context = self._context(key)
        if not isinstance(value, Buffer):
            raise TypeError("value: a Buffer of zarr is required, as zarr.core.buffer.cpu.Buffer."
                            f"from_bytes() makes one, not {type(value).__name__!r}")
        data: Any = value.as_numpy_array()
        self._known.drop(key)
        sync_set = getattr(self._store, "set_sync", None)
        if method == "set" and sync_set is not None:
            await asyncio.to_thread(
                lambda: sync_set(key, _buffer(self._seals.seal(data, context))))
        else:
            sealed = await _in_thread(len(data), self._seals.seal, data, context)
            await getattr(self._store, method)(key, _buffer(sealed))
        self._known.drop(key)

    async def delete(self, key: str) -> None:
        self._check_writable()
        self._context(key)  # refuses the name of the list
        await self._ensure_open()
        self._known.drop(key)
        await self._store.delete(key)

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        await self._ensure_open()
        self._known.clear()
        await self._store.delete_dir(prefix)

    async def clear(self) -> None:
        self._check_writable()
        await self._ensure_open()
        self._known.clear()
        await self._store.clear()

    # ---- The authenticated list

    def seal(self) -> str:
        """Authenticate all values as they are now, and write the list of them.

        Returns a name of this list, for sealed=. Call it when nobody writes, and again after
        changes: until then, the changed values are refused with sealed=.
        """
        return sync(self.seal_async())

    async def seal_async(self) -> str:
        """The same in an event loop."""
        self._check_writable()
        await self._ensure_open()
        turns = asyncio.Semaphore(config.get("async.concurrency"))
        values: dict[str, Any] = {}

        async def add(key: str) -> None:
            async with turns:
                sealed = await self._raw(key)
                if sealed is None:
                    raise IntegrityError(f"{key}: it was deleted while the store was sealed")
                await _in_thread(len(sealed), self._unseal, key, sealed)
                header = bytes(sealed[:self._opens.header_bytes()])
                values[key] = [_digest(header), len(sealed)]

        await _all(add, [key async for key in self.list()])
        text = json.dumps({"version": 1, "values": dict(sorted(values.items()))})
        sealed = self._seals.seal(text.encode(), self._context_of(_LIST))
        await self._store.set(_LIST, _buffer(sealed))
        return _digest(sealed[:self._opens.header_bytes()])

    async def _read_list(self, demanded: bool | str) -> dict[str, Any]:
        sealed = await self._raw(_LIST)
        if sealed is None:
            raise IntegrityError("the store is not sealed: it has no list of its values. "
                                 "EncryptedStore.seal() writes one")
        text = _named(_LIST, lambda: self._opens.unseal(sealed, self._context_of(_LIST)))
        if isinstance(demanded, str):
            found = _digest(bytes(sealed[:self._opens.header_bytes()]))
            if demanded != found:
                raise IntegrityError("the store has another list of its values than the one that "
                                     "is demanded: an older one, or it was sealed again")
        content = json.loads(text)
        if content.get("version") != 1:
            raise InvalidArgument("a later version of paraes has sealed this store")
        return cast("dict[str, Any]", content["values"])


def copy_store(source: Store, target: Store) -> int:
    """Copy all values of one store to another, and return how many there were.

    With EncryptedStore on one side or both, it encrypts a store, decrypts one, or gives it another
    key, name or root. Values of the target that the source does not have stay.
    """
    for store in (source, target):
        if not isinstance(store, Store):
            raise TypeError(f"a store of zarr is required, not {type(store).__name__!r}")
    return sync(_copy_store(source, target))


async def _copy_store(source: Store, target: Store) -> int:
    turns = asyncio.Semaphore(config.get("async.concurrency"))

    async def copy(key: str) -> None:
        async with turns:
            value = await source.get(key, default_buffer_prototype())
            if value is None:
                raise FileNotFoundError(f"{key}: it was deleted while the store was copied")
            await target.set(key, value)

    await source._ensure_open()
    await target._ensure_open()
    keys = [key async for key in source.list()]
    await _all(copy, keys)
    return len(keys)


async def _all(work: Callable[[str], Any], keys: list[str]) -> None:
    """Work on all keys. The first error ends the work on the others."""
    tasks = [asyncio.ensure_future(work(key)) for key in keys]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _secrets(options: dict[str, Any]) -> tuple[_native.Secret, _native.Secret]:
    """What opens and what seals. The options are forgotten: tracebacks show no secrets."""
    try:
        return _native.Secret(False, dict(options)), _native.Secret(True, dict(options))
    finally:
        options.clear()


def _made_again(store: Store, options: dict[str, Any]) -> EncryptedStore:
    return EncryptedStore(store, **options)


def _named(key: str, work: Callable[[], _T]) -> _T:
    """Call `work`, whose errors say which value is meant."""
    try:
        return work()
    except WrongKey as error:
        raise WrongKey(f"{key}: it was encrypted with another key, or as another value: it may "
                       "have been exchanged or moved") from error
    except IntegrityError as error:
        made = IntegrityError(f"{key}: {error}")
        made.segment, made.offset = error.segment, error.offset
        raise made from error


async def _in_thread(size: int, work: Callable[..., Any], *arguments: Any) -> Any:
    if size <= _INLINE:
        return work(*arguments)
    return await asyncio.to_thread(work, *arguments)


def _bounds(wanted: ByteRequest, size: int) -> tuple[int, int]:
    if isinstance(wanted, RangeByteRequest):
        begin, end = wanted.start, wanted.end
    elif isinstance(wanted, OffsetByteRequest):
        begin, end = wanted.offset, size
    elif isinstance(wanted, SuffixByteRequest):
        begin, end = size - wanted.suffix, size
    else:
        raise TypeError(f"Unexpected byte_range, got {wanted!r}: see zarr.abc.store")
    begin = min(max(begin, 0), size)
    return begin, min(max(end, begin), size)


def _buffer(data: bytes) -> Buffer:
    return default_buffer_prototype().buffer.from_bytes(data)


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef")


def _digest(header: bytes) -> str:
    """Names a message: its header has a random part, and a commitment to its key and context."""
    return hashlib.sha256(header).hexdigest()
