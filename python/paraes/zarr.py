"""Encrypted zarr stores: `pip install paraes[zarr]`.

EncryptedStore(store, key) is a store of zarr over any other store. Each value is a message of its
own, whose context is its name. docs/how-to/data-tools.md has examples with xarray and Dask.
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from paraes import _native
from paraes.exceptions import IntegrityError, InvalidArgument

_python = sys.version_info[:2]
if _python < (3, 11):
    raise ImportError("paraes.zarr needs zarr 3, which needs Python 3.11 or later; this is Python "
                      f"{_python[0]}.{_python[1]}")
try:
    from zarr.abc.store import Store
    from zarr.core.buffer import Buffer, default_buffer_prototype
    from zarr.core.config import config
    from zarr.core.sync import sync

    from paraes._zarr_values import LIST, Values, is_digest
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
        if not isinstance(sealed, bool) and not is_digest(sealed):
            raise InvalidArgument("sealed: it is True, or what seal() returned")
        if "//" in name or name.startswith("/") or name.endswith("/"):
            raise InvalidArgument("name: it has no '//', and no '/' at its ends")
        super().__init__(read_only=read_only or store.read_only or bool(sealed))
        self._store = store
        self._options = {"key_file": key_file, "threads": threads, "kernel": kernel}
        options: dict[str, Any] = {"key": key, **self._options}
        self._has_key = key is not None
        del key  # tracebacks show no secrets
        self._values = Values(store, *_secrets(options), name)
        self._demanded = sealed

    # ---- The store as an object

    def __str__(self) -> str:
        return f"paraes::{self._store}"

    def __repr__(self) -> str:
        return f"EncryptedStore({self._store!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EncryptedStore):
            return False
        same_key = self._values.opens is other._values.opens or (
            not self._has_key and not other._has_key and self._options == other._options)
        return (same_key and self._store == other._store and self._values.name == other._values.name
                and self._demanded == other._demanded and self.read_only == other.read_only)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        if self._has_key:
            raise TypeError("a store with a key in memory cannot be pickled, because the pickle "
                            "would have the key: pass key_file=")
        return _made_again, (self._store, {**self._options, "name": self._values.name,
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
        made._values = self._values.of(made._store)
        return made

    async def _open(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        await self._store._ensure_open()
        if self._demanded and self._values.listed is None:
            await self._values.read_list(self._demanded)
        if not self._is_open:  # another task may have opened it meanwhile
            await super()._open()

    def close(self) -> None:
        super().close()
        self._values.forget()
        self._store.close()

    # ---- Reading

    async def get(self, key: str, prototype: BufferPrototype,
                  byte_range: ByteRequest | None = None) -> Buffer | None:
        await self._ensure_open()
        if self._values.listed is not None and key not in self._values.listed:
            return None
        if byte_range is None:
            plain = await self._values.whole(key)
        else:
            plain = await self._values.range(key, byte_range)
        if plain is None:
            if self._values.listed is not None:
                raise IntegrityError(f"{key}: it is missing, and was there when the store was "
                                     "sealed")
            return None
        return prototype.buffer.from_bytes(plain)

    async def get_partial_values(
            self, prototype: BufferPrototype,
            key_ranges: Iterable[tuple[str, ByteRequest | None]]) -> list[Buffer | None]:
        return list(await asyncio.gather(*(self.get(key, prototype, wanted)
                                           for key, wanted in key_ranges)))

    async def exists(self, key: str) -> bool:
        await self._ensure_open()
        if self._values.listed is not None:
            return key in self._values.listed
        return key != LIST and await self._store.exists(key)

    async def getsize(self, key: str) -> int:
        """The size of the plaintext, computed from that of the message."""
        await self._ensure_open()
        if self._values.listed is not None:
            if key not in self._values.listed:
                raise FileNotFoundError(key)
            return self._values.plain_size(key, self._values.listed[key][1])
        return self._values.plain_size(key, await self._store.getsize(key))

    # ---- Listing

    async def list(self) -> AsyncIterator[str]:
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        await self._ensure_open()
        if self._values.listed is not None:
            for key in self._values.listed:
                if key.startswith(prefix):
                    yield key
            return
        async for key in self._store.list_prefix(prefix):
            if key != LIST:
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        await self._ensure_open()
        if self._values.listed is None:
            async for name in self._store.list_dir(prefix):
                if name != LIST or prefix.strip("/"):
                    yield name
            return
        folder = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""
        for name in {key[len(folder):].split("/")[0]: None for key in self._values.listed
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
        await self._values.write(method, key, value)

    async def delete(self, key: str) -> None:
        self._check_writable()
        await self._ensure_open()
        await self._values.delete(key)

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        await self._ensure_open()
        self._values.forget()
        await self._store.delete_dir(prefix)

    async def clear(self) -> None:
        self._check_writable()
        await self._ensure_open()
        self._values.forget()
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
        entries: dict[str, Any] = {}

        async def add(key: str) -> None:
            async with turns:
                entries[key] = await self._values.entry(key)

        await _all(add, [key async for key in self.list()])
        return await self._values.write_list(entries)


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
