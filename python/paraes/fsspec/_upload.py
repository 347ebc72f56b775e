"""Objects that appear when they are complete."""

from __future__ import annotations

import atexit
import collections
import contextlib
import errno
import io
import os
import secrets
import warnings
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from fsspec.implementations.cached import CachingFileSystem, SimpleCacheFileSystem
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.spec import AbstractFileSystem

from paraes._messages import forget
from paraes.exceptions import _file_error
from paraes.fsspec._threads import start

# Uploads of these appear when they are complete, and can be given up.
_COMMITS = frozenset({"s3", "s3a"})


def protocols(fs: AbstractFileSystem) -> Sequence[str]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


class Upload(io.RawIOBase):
    """An object that is uploaded by a thread of its own, while the next part is computed."""

    _MOST_WAITING = 4  # chunks

    def __init__(self, fs: AbstractFileSystem, path: str, mode: str,
                 options: dict[str, Any]) -> None:
        super().__init__()
        self._fs = fs
        self._path = path
        self._process = os.getpid()
        self._waiting: collections.deque[Future[Any]] = collections.deque()
        self._ended = False
        # Elsewhere, an object has its name from the beginning, or as soon as it is closed.
        self._commits = not _COMMITS.isdisjoint(protocols(fs))
        self._exclusive = "x" in mode and not self._commits
        self._name = path
        if not self._commits:
            if fs.isdir(path):
                raise _file_error(errno.EISDIR, f"{path}: it is a folder", path)
            self._check_exclusive()
            self._name = f"{path}.{secrets.token_hex(8)}.partial"
        else:
            options = {**options, "autocommit": False}
        self._file = fs.open(self._name, mode if self._commits else "wb", **options)
        self._thread = ThreadPoolExecutor(1, "paraes-upload")
        _uploads.add(self)

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        # The writer of messages makes new bytes for every call.
        self._waiting.append(start(self._thread, self._write_all, data))
        while len(self._waiting) > self._MOST_WAITING:
            self._waiting.popleft().result()
        return len(data)

    def _write_all(self, data: Any) -> None:
        rest = memoryview(data)
        while rest:
            written = self._file.write(rest)
            rest = rest[written if isinstance(written, int) else len(rest):]

    def finish(self) -> None:
        """Upload the rest, without giving the object its name."""
        while self._waiting:
            self._waiting.popleft().result()
        start(self._thread, self._file.close).result()

    def commit(self) -> None:
        self._ended = True
        try:
            start(self._thread, self._commit).result()
        finally:
            self._thread.shutdown(wait=False)
        forget(self._fs, self._path)
        _drop_copy(self._fs, self._path)

    def _commit(self) -> None:
        try:
            if self._commits:
                self._file.commit()
            else:
                self._check_exclusive()
                _move(self._fs, self._name, self._path)
        except BaseException:
            warn_if_it_fails(self._path, self._discard)
            raise

    def _check_exclusive(self) -> None:
        if self._exclusive and self._fs.exists(self._path):
            raise _file_error(errno.EEXIST, f"{self._path}: it exists already, and was not "
                              "replaced", self._path)

    def discard(self, *, wait: bool) -> None:
        """Leave nothing, and do nothing in a child of the process that uploads."""
        if self._ended or self._process != os.getpid():
            return
        self._ended = True
        for part in self._waiting:
            part.cancel()
        # Python may delete an object in any thread, also in the one that does the transfers: who
        # waits there for a transfer waits for ever.
        try:
            done = start(self._thread, self._discard)
        except RuntimeError:  # no more threads, and this one has none
            self._discard()
            return
        finally:
            self._thread.shutdown(wait=False)
        if wait:
            done.result()

    def discard_at_exit(self) -> None:
        """The same, when the threads have ended."""
        if not self._ended and self._process == os.getpid():
            self._ended = True
            self._discard()

    def _discard(self) -> None:
        if self._commits:
            self._file.discard()
            self._file.closed = True  # so that its deletion does not upload the rest
            return
        try:
            self._file.close()
        finally:
            with contextlib.suppress(FileNotFoundError):
                self._fs.rm_file(self._name)


# Uploads that nobody has ended when the process does.
_uploads: weakref.WeakSet[Upload] = weakref.WeakSet()


@atexit.register
def _discard_uploads() -> None:
    for upload in list(_uploads):
        warn_if_it_fails(upload._path, upload.discard_at_exit)


def _move(fs: AbstractFileSystem, name: str, path: str) -> None:
    """Move one object, whatever its name: some mv() take it for a pattern."""
    below = fs
    while isinstance(below, DirFileSystem):
        below = below.fs
    if type(below).mv is not AbstractFileSystem.mv:
        fs.mv(name, path)
        return
    fs.cp_file(name, path)
    warn_if_it_fails(path, lambda: fs.rm_file(name))


def _drop_copy(fs: AbstractFileSystem, path: str) -> None:
    """Remove what fsspec's caches of whole files have of an object that was replaced."""
    if isinstance(fs, SimpleCacheFileSystem):
        copy = fs._check_file(path)
        if isinstance(copy, str) and os.path.exists(copy):
            os.unlink(copy)
    elif isinstance(fs, CachingFileSystem):
        fs.pop_from_cache(path)


def warn_if_it_fails(path: str, work: Callable[[], object]) -> None:
    """Call what cleans up: its error is not the caller's."""
    try:
        work()
    except Exception as error:
        warnings.warn(f"{path}: something may be left of it: {error}", RuntimeWarning, stacklevel=2)
