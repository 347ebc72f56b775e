"""The values of a zarr store: each is a message whose context is its name."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, default_buffer_prototype
from zarr.storage import LocalStore

from paraes import _native
from paraes._recent import Recent
from paraes.exceptions import IntegrityError, InvalidArgument, InvalidTag, WrongKey, _cut_off

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest

_T = TypeVar("_T")

LIST = ".paraes-sealed"  # the key of the authenticated list
_WHOLE = 1 << 16  # smaller values are read as a whole, whatever range is wanted
_INLINE = 1 << 14  # bytes that are not worth a thread


class _Known:
    """A value whose header and end have been authenticated."""

    def __init__(self, segments: _native.Segments, sealed_size: int) -> None:
        self.segments = segments
        self.sealed_size = sealed_size
        self.size = segments.plain_bytes(sealed_size)


class Values:
    """What is in the store below. Values that are returned have been authenticated."""

    def __init__(self, store: Store, opens: _native.Secret, seals: _native.Secret,
                 name: str) -> None:
        self.store = store
        self.opens = opens
        self.name = name
        self.listed: dict[str, list[Any]] | None = None  # with sealed=
        self._seals = seals
        self._known: Recent[str, _Known] = Recent(256)

    def of(self, store: Store) -> Values:
        """The same values, by another object for the store below."""
        made = Values(store, self.opens, self._seals, self.name)
        made.listed = self.listed
        return made

    def forget(self) -> None:
        self._known.clear()

    # ---- Messages

    def _context(self, key: str) -> bytes:
        if key == LIST or key.startswith(LIST + "/"):
            raise InvalidArgument(f"{key}: the name is that of the list which seal() writes")
        return self._context_of(key)

    def _context_of(self, key: str) -> bytes:
        context = (f"{self.name}//{key}" if self.name else key).encode()
        if len(context) <= 512:
            return context
        return b"//sha256:" + hashlib.sha256(context).hexdigest().encode()

    def _check_listed(self, key: str, header: bytes, sealed_size: int) -> None:
        listed = None if self.listed is None else self.listed[key]
        if listed is not None and listed != [_digest(header), sealed_size]:
            raise IntegrityError(f"{key}: it is not the value that was there when the store was "
                                 "sealed")

    def _unseal(self, key: str, sealed: Any) -> bytes:
        plain = _named(key, lambda: self.opens.unseal(sealed, self._context(key)))
        header = bytes(memoryview(sealed)[:self.opens.header_bytes()])
        self._check_listed(key, header, len(memoryview(sealed)))
        return plain

    # ---- Reading

    async def whole(self, key: str) -> bytes | None:
        if type(self.store) is LocalStore:
            return await asyncio.to_thread(self._whole_file, key)
        sync_get = getattr(self.store, "get_sync", None)
        if sync_get is not None:
            return await asyncio.to_thread(self._whole_now, sync_get, key)
        sealed = await self._raw(key)
        return None if sealed is None else await _in_thread(len(sealed), self._unseal, key, sealed)

    def _whole_file(self, key: str) -> bytes | None:
        # Small pieces are read and opened in turns, which takes half the memory.
        path = cast(LocalStore, self.store).root / key
        context = self._context(key)
        try:
            plain, header, size = _named(key, lambda: self.opens.unseal_file(path, context))
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        self._check_listed(key, header, size)
        return plain

    def _whole_now(self, sync_get: Callable[..., Any], key: str) -> bytes | None:
        value = sync_get(key, prototype=default_buffer_prototype())
        return None if value is None else self._unseal(key, value.as_numpy_array())

    async def _raw(self, key: str, begin: int | None = None, end: int | None = None) -> Any:
        wanted = None if begin is None else RangeByteRequest(begin, cast(int, end))
        value = await self.store.get(key, default_buffer_prototype(), wanted)
        if value is None:
            return None
        data = value.as_numpy_array()
        if begin is not None and len(data) != cast(int, end) - begin:
            raise IntegrityError(_cut_off(key, begin, cast(int, end), len(data)))
        return data

    async def range(self, key: str, wanted: ByteRequest) -> bytes | None:
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
            sealed_size = await self.store.getsize(key)
        except FileNotFoundError:
            return None
        if sealed_size <= _WHOLE:
            plain = await self.whole(key)
            return None if plain is None else plain[slice(*_bounds(wanted, len(plain)))]
        known = await self._authenticated(key, sealed_size)
        if known is None:
            return None
        self._known.put(key, known)
        return await self._range_of(key, known, wanted)

    async def _authenticated(self, key: str, sealed_size: int) -> _Known | None:
        header_size = self.opens.header_bytes()
        header, tail = await asyncio.gather(self._raw(key, 0, header_size),
                                            self._raw(key, sealed_size - _WHOLE, sealed_size))
        if header is None or tail is None:
            return None
        segments = _named(key, lambda: self.opens.segments(header, self._context(key)))
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

    def plain_size(self, key: str, sealed_size: int) -> int:
        return _named(key, lambda: self.opens.plain_bytes(sealed_size))

    # ---- Writing

    async def write(self, method: str, key: str, value: Buffer) -> None:
        context = self._context(key)
        if not isinstance(value, Buffer):
            raise TypeError("value: a Buffer of zarr is required, as zarr.core.buffer.cpu.Buffer."
                            f"from_bytes() makes one, not {type(value).__name__!r}")
        data: Any = value.as_numpy_array()
        self._known.drop(key)
        sync_set = getattr(self.store, "set_sync", None)
        if method == "set" and sync_set is not None:
            await asyncio.to_thread(
                lambda: sync_set(key, _buffer(self._seals.seal(data, context))))
        else:
            sealed = await _in_thread(len(data), self._seals.seal, data, context)
            await getattr(self.store, method)(key, _buffer(sealed))
        self._known.drop(key)

    async def delete(self, key: str) -> None:
        self._context(key)  # refuses the name of the list
        self._known.drop(key)
        await self.store.delete(key)

    # ---- The authenticated list

    async def entry(self, key: str) -> list[Any]:
        """What the list says of a value, all of which is authenticated."""
        sealed = await self._raw(key)
        if sealed is None:
            raise IntegrityError(f"{key}: it was deleted while the store was sealed")
        await _in_thread(len(sealed), self._unseal, key, sealed)
        return [_digest(bytes(sealed[:self.opens.header_bytes()])), len(sealed)]

    async def write_list(self, values: dict[str, Any]) -> str:
        """Write the list, and return its name."""
        text = json.dumps({"version": 1, "values": dict(sorted(values.items()))})
        sealed = self._seals.seal(text.encode(), self._context_of(LIST))
        await self.store.set(LIST, _buffer(sealed))
        return _digest(sealed[:self.opens.header_bytes()])

    async def read_list(self, demanded: bool | str) -> None:
        sealed = await self._raw(LIST)
        if sealed is None:
            raise IntegrityError("the store is not sealed: it has no list of its values. "
                                 "EncryptedStore.seal() writes one")
        text = _named(LIST, lambda: self.opens.unseal(sealed, self._context_of(LIST)))
        if isinstance(demanded, str):
            found = _digest(bytes(sealed[:self.opens.header_bytes()]))
            if demanded != found:
                raise IntegrityError("the store has another list of its values than the one that "
                                     "is demanded: an older one, or it was sealed again")
        content = json.loads(text)
        if content.get("version") != 1:
            raise InvalidArgument("a later version of paraes has sealed this store")
        self.listed = content["values"]


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


def is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef")


def _digest(header: bytes) -> str:
    """Names a message: its header has a random part, and a commitment to its key and context."""
    return hashlib.sha256(header).hexdigest()
