"""Messages that are objects of a file system of fsspec: their headers, ends and ranges."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import fsspec.asyn

from paraes import _native
from paraes.exceptions import IntegrityError, _cut_off, _file_error

if TYPE_CHECKING:
    from fsspec.spec import AbstractFileSystem

_START = 4096  # more than most headers have
_TAIL = 1 << 16  # the last segment, unless Tink's segments are large
_PIECE = 1 << 20  # the least that is worth a request of its own
_PIECES = 8  # of one range, at once


def attempt(work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What a call returns, or its exception."""
    try:
        return work(*arguments, **options)
    except Exception as error:
        return error


def forget(fs: AbstractFileSystem, path: str) -> None:
    """Let a file system forget what it knows of an object."""
    fs.invalidate_cache(fs._parent(path))
    fs.invalidate_cache(path)


class Message:
    """An object whose header and end have been authenticated."""

    def __init__(self, path: str, version: str, sealed_size: int,
                 segments: _native.Segments, options: dict[str, Any]) -> None:
        self.path = path
        self.version = version
        self.sealed_size = sealed_size
        self.segments = segments
        self.size = segments.plain_bytes(sealed_size)
        self.options = options  # of the file system below, such as a version


class Wanted:
    """A range of a message, in the pieces that are fetched at once."""

    def __init__(self, message: Message, begin: int, end: int) -> None:
        self.message = message
        step = max((end - begin) // _PIECES, _PIECE)
        bounds = [begin]
        while bounds[-1] < end:  # whole segments, so that none is fetched twice
            bounds.append(min(message.segments.segment_end(bounds[-1] + step - 1), end))
        self.pieces = list(zip(bounds, bounds[1:], strict=False)) or [(begin, end)]
        self.sealed = [message.segments.sealed_range(*piece, message.sealed_size)
                       for piece in self.pieces]

    def plain(self, fetched: Sequence[Any]) -> bytes:
        parts = []
        for piece, data in zip(self.pieces, fetched, strict=True):
            if isinstance(data, BaseException):
                raise data
            parts.append(self.message.segments.open(*piece, self.message.sealed_size, data))
        return parts[0] if len(parts) == 1 else b"".join(parts)


def may_be_replaced(error: object) -> bool:
    """Whether an error may come from an object that is another one by now: it does not
    authenticate, is shorter, or the range that is asked for is not in it."""
    return isinstance(error, IntegrityError | OSError) and not isinstance(
        error, FileNotFoundError | PermissionError | IsADirectoryError)


class MessagesBelow:
    """The messages in a file system. `secret` returns what opens them."""

    def __init__(self, fs: AbstractFileSystem, secret: Callable[[], _native.Secret]) -> None:
        self._fs = fs
        self._secret = secret

    def _infos(self, paths: list[str], options: dict[str, Any]) -> list[Any]:
        """What the file system below says of objects, or its exceptions; at once if it can."""
        if self._fs.async_impl and len(paths) > 1:
            infos = fsspec.asyn.sync(self._fs.loop, fsspec.asyn._run_coros_in_chunks,
                                     [self._fs._info(path, **options) for path in paths],
                                     return_exceptions=True)
            # Some are asynchronous only where the file system below them is.
            if not any(isinstance(info, AttributeError | NotImplementedError) for info in infos):
                return list(infos)
        return [attempt(self._fs.info, path, **options) for path in paths]

    def fetch(self, ranges: list[tuple[str, int, int]], options: dict[str, Any]) -> list[Any]:
        """The bytes of ranges of objects, or exceptions."""
        if not ranges:
            return []
        paths, starts, ends = (list(column) for column in zip(*ranges, strict=True))
        fetched = self.cat_ranges(paths, starts, ends, options)
        for at, (path, begin, end) in enumerate(ranges):
            if not isinstance(fetched[at], BaseException) and len(fetched[at]) != end - begin:
                fetched[at] = _file_error(errno.EIO, _cut_off(path, begin, end, len(fetched[at])),
                                          path)
        return fetched

    def cat_ranges(self, paths: list[str], starts: list[Any], ends: list[Any],
                   options: dict[str, Any]) -> list[Any]:
        fetched = list(self._fs.cat_ranges(paths, starts, ends, on_error="return", **options))
        for at, data in enumerate(fetched):
            # Older versions of fsspec fail so in "dir" over a file system without coroutines.
            if isinstance(data, AttributeError | NotImplementedError):
                fetched[at] = attempt(self._fs.cat_file, paths[at], starts[at], ends[at], **options)
        return fetched

    def _fetch_one(self, path: str, begin: int, end: int, options: dict[str, Any]) -> bytes:
        data = self.fetch([(path, begin, end)], options)[0]
        if isinstance(data, BaseException):
            raise data
        return cast(bytes, data)

    def open(self, paths: list[str], options: dict[str, Any]) -> list[Any]:
        """Messages whose headers and ends have been authenticated, or exceptions."""
        infos = self._infos(paths, options)
        made = self._authenticated(paths, infos, options)
        # The file system below may have kept the size of an object that is another one by now.
        failed = [at for at, found in enumerate(made) if may_be_replaced(found)]
        if failed:
            for at in failed:
                forget(self._fs, paths[at])
            new = self._infos([paths[at] for at in failed], options)
            again = [(at, info) for at, info in zip(failed, new, strict=True)
                     if isinstance(infos[at], Exception) or isinstance(info, Exception)
                     or version_of(info) != version_of(infos[at])]
            found = self._authenticated([paths[at] for at, _ in again],
                                        [info for _, info in again], options)
            for (at, _), message in zip(again, found, strict=True):
                made[at] = message
        return made

    def _authenticated(self, paths: list[str], infos: list[Any],
                       options: dict[str, Any]) -> list[Any]:
        secret = self._secret()
        start_size = _START if secret.header_varies else secret.header_bytes()
        made: list[Any] = []
        ranges: list[tuple[str, int, int]] = []
        for path, info in zip(paths, infos, strict=True):
            if isinstance(info, Exception):
                made.append(info)
            elif info["type"] == "directory":
                made.append(_file_error(errno.EISDIR, f"{path}: it is a folder", path))
            elif info.get("size") is None:
                made.append(_file_error(errno.ESPIPE, f"{path}: its size is not known, so that it "
                                        "can be read in order only", path))
            else:
                made.append(None)
                size = info["size"]
                ranges += [(path, 0, min(start_size, size)), (path, max(size - _TAIL, 0), size)]
        fetched = iter(self.fetch(ranges, options))
        for at, (path, info) in enumerate(zip(paths, infos, strict=True)):
            if made[at] is None:
                parts = (next(fetched), next(fetched))
                made[at] = attempt(self._message, path, info, *parts, options)
        return made

    def _message(self, path: str, info: dict[str, Any], start: Any, tail: Any,
                 options: dict[str, Any]) -> Message:
        for part in (start, tail):
            if isinstance(part, BaseException):
                raise part
        secret = self._secret()
        size = info["size"]
        if secret.header_varies and len(start) >= 32:
            needed = secret.header_bytes(start)
            if len(start) < needed <= size:
                start = self._fetch_one(path, 0, needed, options)
        message = Message(path, version_of(info), size, secret.segments(start), options)
        ends = (message.size, message.size, size)
        begin, end = message.segments.sealed_range(*ends)
        if end - begin > len(tail):
            tail = self._fetch_one(path, begin, end, options)
        message.segments.open(*ends, tail[len(tail) - (end - begin):])
        return message

    def read(self, message: Message, begin: int, end: int) -> bytes:
        wanted = Wanted(message, begin, end)
        try:
            return wanted.plain(self.fetch([(message.path, *sealed) for sealed in wanted.sealed],
                                            message.options))
        except Exception as error:
            if may_be_replaced(error) and self._is_replaced(message):
                raise _file_error(errno.ESTALE, f"{message.path}: it changed while it was read; "
                                  "open it again", message.path) from error
            raise

    def _is_replaced(self, message: Message) -> bool:
        forget(self._fs, message.path)
        try:
            return version_of(self._fs.info(message.path, **message.options)) != message.version
        except FileNotFoundError:
            return True
        except Exception:
            return False  # nobody knows


def version_of(info: dict[str, Any]) -> str:
    """What changes when an object is replaced."""
    names = ("ETag", "etag", "VersionId", "generation", "mtime", "LastModified", "last_modified",
             "updated", "created", "ino", "size")
    return repr([info.get(name) for name in names])

