"""Objects that are read."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar, cast

from fsspec.caching import BaseCache, register_cache
from fsspec.spec import AbstractBufferedFile

from paraes import _native
from paraes._file_objects import Turns
from paraes._messages import Message
from paraes.files import DecryptedReader
from paraes.fsspec._threads import start

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from paraes.fsspec import ParaesFileSystem

_LEAST_AHEAD = 1 << 20


class ReadAhead(BaseCache):  # type: ignore[misc]
    """Fetches what is asked for, and when that goes on in order, ever more ahead of it.

    blocksize: the most bytes to fetch ahead.
    """

    __module__ = "paraes.fsspec"  # as pickles and reports name it
    name: ClassVar[str] = "paraes"
    # The end of the segment of a byte: a segment is fetched as a whole.
    segment_end: Callable[[int], int] = staticmethod(lambda offset: offset + 1)

    def __init__(self, blocksize: int, fetcher: Any, size: int) -> None:
        super().__init__(blocksize, fetcher, size)
        self._expected = 0
        self._forget()

    def _forget(self) -> None:
        self._begin = 0
        self._data = b""
        self._ahead = 0
        self._next: tuple[int, int, Future[bytes]] | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def _fetch(self, start: int | None, stop: int | None) -> bytes:
        start = start or 0
        end = self.size if stop is None else min(stop, self.size)
        if start >= end:
            return b""
        if self._process != os.getpid():
            self._forget()  # the thread is the parent's
        in_order = start == self._expected
        self._expected = end
        parts = []
        while start < end:
            if not self._begin <= start < self._begin + len(self._data):
                self._load(start, end, in_order)
            part = self._data[start - self._begin:end - self._begin]
            parts.append(part)
            start += len(part)
        if in_order:
            self._load_next()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _load(self, start: int, end: int, in_order: bool) -> None:
        following, self._next = self._next, None
        if following is not None and following[0] <= start < following[1]:
            self.hit_count += 1
            data = following[2].result()
            self._begin, self._data = following[0], data
            return
        if following is not None:
            following[2].cancel()
        self.miss_count += 1
        self._ahead = min(max(2 * self._ahead, _LEAST_AHEAD), self.blocksize) if in_order else 0
        self._data = b""
        stop = min(self.segment_end(max(end, start + self._ahead) - 1), self.size)
        if not in_order:
            stop = end
        self._data = self.fetcher(start, stop)
        self._begin = start
        self.total_requested_bytes += stop - start

    def _load_next(self) -> None:
        begin = self._begin + len(self._data)
        if self._next is not None or begin >= self.size or self._ahead == 0:
            return
        self._ahead = min(2 * self._ahead, self.blocksize)
        end = min(self.segment_end(begin + self._ahead - 1), self.size)
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "paraes-read-ahead")
        try:
            self._next = (begin, end, start(self._thread, self.fetcher, begin, end))
        except RuntimeError:  # no more threads
            self._thread = None
            self._ahead = 0
            return
        self.total_requested_bytes += end - begin

    def close(self) -> None:
        if self._thread is not None and self._process == os.getpid():
            self._thread.shutdown(wait=False, cancel_futures=True)
        self._forget()


register_cache(ReadAhead, clobber=True)


class EncryptedFile(AbstractBufferedFile):  # type: ignore[misc]
    """The plaintext of an encrypted object, as ParaesFileSystem.open() returns it.

    cache_type: one of fsspec's caches, which then hold plaintext. The default reads ahead, in
    parallel, what is read in order.
    """

    __module__ = "paraes.fsspec"
    DEFAULT_BLOCK_SIZE = 16 << 20
    loc: int  # in the plaintext
    _LINES = 1 << 18

    def __init__(self, fs: ParaesFileSystem, path: str, source: Message | _native.PlainReader,
                 cache_type: str | None = None, **options: Any) -> None:
        self._source = source
        self._lines = (0, b"")
        self._turns = Turns()
        is_local = isinstance(source, _native.PlainReader)
        options["size"] = source.size() if isinstance(source, _native.PlainReader) else source.size
        # The native reader reads ahead.
        super().__init__(fs, path, "rb",
                         cache_type=cache_type or ("none" if is_local else "paraes"), **options)
        if isinstance(self.cache, ReadAhead) and isinstance(source, Message):
            self.cache.segment_end = source.segments.segment_end

    def _fetch_range(self, start: int, end: int) -> bytes:
        end = min(end, self.size)  # some caches ask for whole blocks
        if start >= end:
            return b""
        if isinstance(self._source, _native.PlainReader):
            return self._source.read(start, end - start)
        return cast(bytes, self.fs._messages.read(self._source, start, end))

    # Threads may share a file, and take turns.
    def read(self, length: int | None = -1, /) -> bytes:
        with self._turns:
            return self._read(length)

    def _read(self, length: int | None) -> bytes:
        return cast(bytes, super().read(length))

    def readinto(self, buffer: Buffer, /) -> int:
        source = self._source
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        with self._turns:
            view = memoryview(buffer)
            if view.nbytes == 0 or self.loc >= self.size:
                return 0
            if type(self.cache) is BaseCache and isinstance(source, _native.PlainReader):
                done = source.readinto(self.loc, view)
            else:
                data = self._read(view.nbytes)
                done = len(data)
                self.loc -= done
                view.cast("B")[:done] = data
            self.loc += done
            return done

    # The base class fetches a block for every line, and its readlines() ends with an empty one.
    def readline(self, size: int | None = -1, /) -> bytes:
        with self._turns:
            return self._readline(size)

    def _readline(self, size: int | None) -> bytes:
        left = -1 if size is None else size
        parts: list[bytes] = []
        while left != 0 and not (parts and parts[-1].endswith(b"\n")):
            begin, data = self._lines
            if not begin <= self.loc < begin + len(data):
                begin = self.loc
                data = self._read(self._LINES)
                self.loc = begin
                self._lines = (begin, data)
                if not data:
                    break
            at = self.loc - begin
            stop = data.find(b"\n", at) + 1 or len(data)
            if left > 0:
                stop = min(stop, at + left)
                left -= stop - at
            parts.append(data[at:stop])
            self.loc += stop - at
        return b"".join(parts)

    def readlines(self, hint: int | None = -1, /) -> list[bytes]:
        return io.IOBase.readlines(self, -1 if hint is None else hint)

    def close(self) -> None:
        with self._turns:
            super().close()
            self._lines = (0, b"")
            if isinstance(self._source, _native.PlainReader):
                self._source.close()


class InOrder(DecryptedReader):
    """An object whose size nobody says, as of some web servers."""

    def __init__(self, file: Any, secret: _native.Secret) -> None:
        self._below = file
        try:
            super().__init__(file, secret.open_reader(file))
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._below.close()
