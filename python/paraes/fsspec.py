"""Encrypted files wherever fsspec reaches: `pip install paraes[fsspec]`.

fsspec.open("paraes::s3://bucket/x.paes", paraes={"key_file": "my.key"}) reads and writes encrypted
objects. Paths are those of the file system below; sizes are those of the plaintext.
docs/how-to/data-tools.md has examples with pandas, pyarrow, polars and others.
"""

from __future__ import annotations

import atexit
import collections
import errno
import functools
import hashlib
import io
import os
import secrets
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar, cast

from paraes import _native
from paraes._messages import Message, MessagesBelow, Wanted, may_be_replaced
from paraes._recent import Recent
from paraes.exceptions import IntegrityError, InvalidArgument, _file_error
from paraes.files import DecryptedReader, EncryptedWriter, _leaves_by_exception, _Turns

try:
    import fsspec
    import fsspec.asyn
    from fsspec.callbacks import DEFAULT_CALLBACK
    from fsspec.implementations.chained import ChainedFileSystem
except ImportError as _error:
    raise ImportError("paraes.fsspec needs fsspec 2025.10.0 or later: "
                      "pip install 'paraes[fsspec]'") from _error

from fsspec.caching import BaseCache, register_cache
from fsspec.compression import compr
from fsspec.implementations.cached import CachingFileSystem, SimpleCacheFileSystem
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem
from fsspec.utils import infer_compression, isfilelike, stringify_path

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["EncryptedFile", "ParaesFileSystem"]

# The arguments of a file system. Secrets that are not in a file are kept in locked memory only.
_IN_MEMORY = ("key", "passphrase")
_OPENS = ("key", "key_file", "passphrase", "identity")
_SEALS = ("key", "key_file", "passphrase", "recipients", "recipients_file")
_OPTIONS_OF_BOTH = ("context", "format", "segment_size", "tink_hash", "threads", "device", "kernel")
_OPTIONS_TO_OPEN = (*_OPENS, *_OPTIONS_OF_BOTH, "max_scrypt_log2n")
_OPTIONS_OF_FSSPEC = ("asynchronous", "listings_expiry_time", "loop", "max_paths",
                      "use_listings_cache")
_OPTIONS_TO_SEAL = (*_SEALS, *_OPTIONS_OF_BOTH, "key_bits", "scrypt_log2n")

# Uploads of these appear when they are complete, and can be given up.
_COMMITS = frozenset({"s3", "s3a"})
# Their pipe_file() replaces an object as a whole.
_REPLACES = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "az", "memory"})

_HASH_KEY = os.urandom(32)
_LEAST_AHEAD = 1 << 20


class _Secret:
    """What messages are opened and sealed with."""

    def __init__(self, options: dict[str, Any]) -> None:
        for name in options:
            if name not in _OPTIONS_TO_OPEN and name not in _OPTIONS_TO_SEAL:
                raise TypeError(f"the file system 'paraes' has no option {name!r}")
        given = {name for name, value in options.items() if value is not None}
        self.opens = self._made(False, _OPENS, _OPTIONS_TO_OPEN, options, given)
        self.seals = self._made(True, _SEALS, _OPTIONS_TO_SEAL, options, given)
        if self.opens is None and self.seals is None:
            raise InvalidArgument("pass one of key_file, key, passphrase, identity and recipients, "
                                  'as in paraes={"key_file": "my.key"}')

    @staticmethod
    def _made(seals: bool, needed: Sequence[str], names: Sequence[str], options: dict[str, Any],
              given: set[str]) -> _native.Secret | None:
        if given.isdisjoint(needed):
            return None
        return _native.Secret(seals, {name: options[name] for name in names if name in options})

    def to_open(self) -> _native.Secret:
        if self.opens is None:
            raise InvalidArgument("recipients encrypt only: pass identity to read, too")
        return self.opens

    def to_seal(self) -> _native.Secret:
        if self.seals is None:
            raise InvalidArgument("identity decrypts only: pass recipients to write, too")
        return self.seals


def _start(thread: ThreadPoolExecutor, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Work in the thread or, when the interpreter ends, here: it starts no more threads."""
    try:
        return thread.submit(work, *arguments)
    except RuntimeError as error:
        # If the system has no more threads, the work waits in the queue: it must not be done twice.
        if "cannot schedule new futures" not in str(error):
            raise
        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done


class ReadAhead(BaseCache):  # type: ignore[misc]
    """Fetches what is asked for, and when that goes on in order, ever more ahead of it.

    blocksize: the most bytes to fetch ahead.
    """

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
            self._next = (begin, end, _start(self._thread, self.fetcher, begin, end))
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

    DEFAULT_BLOCK_SIZE = 16 << 20
    loc: int  # in the plaintext
    _LINES = 1 << 18

    def __init__(self, fs: ParaesFileSystem, path: str, source: Message | _native.PlainReader,
                 cache_type: str | None = None, **options: Any) -> None:
        self._source = source
        self._lines = (0, b"")
        self._turns = _Turns()
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


class _Upload(io.RawIOBase):
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
        self._commits = not _COMMITS.isdisjoint(_protocols(fs))
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
        self._waiting.append(_start(self._thread, self._write_all, data))
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
        _start(self._thread, self._file.close).result()

    def commit(self) -> None:
        self._ended = True
        try:
            _start(self._thread, self._commit).result()
        finally:
            self._thread.shutdown(wait=False)
        self._fs.invalidate_cache(self._path)
        self._fs.invalidate_cache(self._fs._parent(self._path))
        _drop_copy(self._fs, self._path)

    def _commit(self) -> None:
        try:
            if self._commits:
                self._file.commit()
            else:
                self._check_exclusive()
                _move(self._fs, self._name, self._path)
        except BaseException:
            _warn_if_it_fails(self._path, self._discard)
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
            done = _start(self._thread, self._discard)
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
            try:
                self._fs.rm_file(self._name)
            except FileNotFoundError:
                pass


# Uploads that nobody has ended when the process does.
_uploads: weakref.WeakSet[_Upload] = weakref.WeakSet()


@atexit.register
def _discard_uploads() -> None:
    for upload in list(_uploads):
        _warn_if_it_fails(upload._path, upload.discard_at_exit)


def _move(fs: AbstractFileSystem, name: str, path: str) -> None:
    """Move one object, whatever its name: some mv() take it for a pattern."""
    below = fs
    while isinstance(below, DirFileSystem):
        below = below.fs
    if type(below).mv is not AbstractFileSystem.mv:
        fs.mv(name, path)
        return
    fs.cp_file(name, path)
    _warn_if_it_fails(path, lambda: fs.rm_file(name))


def _drop_copy(fs: AbstractFileSystem, path: str) -> None:
    """Remove what fsspec's caches of whole files have of an object that was replaced."""
    if isinstance(fs, SimpleCacheFileSystem):
        copy = fs._check_file(path)
        if isinstance(copy, str) and os.path.exists(copy):
            os.unlink(copy)
    elif isinstance(fs, CachingFileSystem):
        fs.pop_from_cache(path)


def _warn_if_it_fails(path: str, work: Callable[[], object]) -> None:
    """Call what cleans up: its error is not the caller's."""
    try:
        work()
    except Exception as error:
        warnings.warn(f"{path}: something may be left of it: {error}", RuntimeWarning, stacklevel=2)


class _Writer(EncryptedWriter):
    """An encrypted object that is being written. It appears when it is closed or, in a transaction
    of fsspec, when that ends."""

    def __init__(self, path: str, native: _native.PlainWriter, mode: str, upload: _Upload | None,
                 autocommit: bool, written: Any) -> None:
        super().__init__(path, native, mode)
        self.path = path
        self.autocommit = autocommit
        self._upload = upload
        self._written = written
        self._discarded = False

    def close(self) -> None:
        if self.closed:
            return
        if _leaves_by_exception():
            self.abort()
            return
        try:
            self._end()
            if self.autocommit:
                self.commit()
        except BaseException:
            _warn_if_it_fails(self.path, self.abort)
            raise
        io.BufferedIOBase.close(self)

    def _end(self) -> None:
        if self._upload is not None:
            self._native.finish()
            self._upload.finish()

    def commit(self) -> None:
        """Give the object its name: close() does, but not in a transaction."""
        if self._discarded:
            return
        if not self.closed and not self.autocommit:
            self.close()
        if self._upload is None:
            self._native.finish()
        else:
            self._upload.commit()
        self._written()

    def discard(self) -> None:
        self._give_up(wait=True)

    def _give_up(self, *, wait: bool) -> None:
        self._discarded = True
        self._native.abort()
        if self._upload is not None:
            self._upload.discard(wait=wait)

    def abort(self) -> None:
        try:
            self._give_up(wait=True)
        finally:
            io.BufferedIOBase.close(self)

    def _drop(self) -> None:
        try:
            self._give_up(wait=False)
        finally:
            io.BufferedIOBase.close(self)


class _Compressed(io.BufferedIOBase):
    """Compresses what is written, and ends both files as one."""

    def __init__(self, compressor: Any, file: _Writer) -> None:
        super().__init__()
        self._compressor = compressor
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        return cast(int, self._compressor.write(data))

    def flush(self) -> None:
        if not self._compressor.closed and not self._file.closed:
            self._compressor.flush()

    def abort(self) -> None:
        self._file.abort()
        io.BufferedIOBase.close(self)

    def close(self) -> None:
        if self.closed:
            return
        if _leaves_by_exception():
            self.abort()
            return
        try:
            self._compressor.close()
            self._file.close()
        except BaseException:
            self._file.abort()
            raise
        finally:
            io.BufferedIOBase.close(self)

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if not self.closed:
            self._file.__del__()
            io.BufferedIOBase.close(self)


class _Text(io.TextIOWrapper):
    """Text that is written. Deletion without close() leaves nothing, as of the file below."""

    def __del__(self) -> None:
        if not self.closed:
            self.buffer.__del__()  # type: ignore[attr-defined]


def _protocols(fs: AbstractFileSystem) -> Sequence[str]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


class _InOrder(DecryptedReader):
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


class ParaesFileSystem(ChainedFileSystem):  # type: ignore[misc]
    """Encrypted files in another file system.

    fs, or target_protocol and target_options: the other one, of which any will do.
    Options of paraes, one of which has to be a secret: key_file, key, passphrase, identity (to
    read) or recipients and recipients_file (to write), and those of paraes.open(). Pickles have no
    secrets: a file system with key= or passphrase= refuses to be pickled.
    """

    protocol: ClassVar[str] = "paraes"
    root_marker = ""
    # fsspec would keep the secrets until the process ends, and return the same object after a key
    # file was replaced.
    cachable = False
    _strip_tokenize_options = ("fo",)  # that of all URLs is equal

    def __init__(self, fs: AbstractFileSystem | None = None, fo: str | None = None,
                 target_protocol: str | None = None, target_options: dict[str, Any] | None = None,
                 **options: Any) -> None:
        general = {name: options.pop(name) for name in _OPTIONS_OF_FSSPEC if name in options}
        super().__init__(**general)
        if general.get("asynchronous"):
            raise InvalidArgument("asynchronous: this file system has no asynchronous calls; for "
                                  "zarr, take paraes.zarr.EncryptedStore")
        self._has_secret_options = any(options.get(name) is not None for name in _IN_MEMORY)
        try:
            self._secret = _Secret(options)
        finally:
            options.clear()  # tracebacks show no secrets
        if fs is None:
            if target_protocol is None:
                raise InvalidArgument("name the file system below: paraes::s3://…, fs= or "
                                      "target_protocol=")
            fs = fsspec.filesystem(target_protocol, **(target_options or {}))
        if fs.async_impl and fs.asynchronous:
            raise InvalidArgument("fs: an asynchronous instance cannot be used; pass one without "
                                  "asynchronous=True")
        self.fs = fs
        self._is_local = type(fs) is LocalFileSystem
        self._strip_protocol = self._path  # type: ignore[method-assign]
        self._parent = self._folder_of
        self._messages = MessagesBelow(fs, self._secret.to_open)
        self._known: Recent[str, Message] = Recent(256)

    # ---- What fsspec keeps of an instance, without the secrets

    @property
    def storage_options(self) -> dict[str, Any]:
        return self._storage_options

    @storage_options.setter
    def storage_options(self, options: dict[str, Any]) -> None:
        self._storage_options = {name: value for name, value in options.items()
                                 if name not in _IN_MEMORY}

    @property
    def _fs_token_(self) -> str | None:
        return self._token

    @_fs_token_.setter
    def _fs_token_(self, token: str | None) -> None:
        # Whoever sees a fast hash of the options could try passphrases: Dask shows it.
        if token is not None and self._has_secret_options:
            token = hashlib.blake2b(token.encode(), key=_HASH_KEY, digest_size=16).hexdigest()
        self._token = token

    def __reduce__(self) -> Any:
        if self._has_secret_options:
            raise TypeError("a file system with key= or passphrase= cannot be pickled, because the "
                            "pickle would have the secret: pass key_file=")
        return super().__reduce__()

    # ---- Paths

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = _without_paraes(stringify_path(path))
        if "://" in path or "::" in path:
            protocol = path.split("::", 1)[0].split("://", 1)[0]
            return fsspec.get_filesystem_class(protocol)._strip_protocol(path)
        return path.rstrip("/")

    def _path(self, path: Any) -> Any:
        if isinstance(path, list):
            return [self._path(one) for one in path]
        return self.fs._strip_protocol(_without_paraes(stringify_path(path)))

    def _folder_of(self, path: Any) -> str:
        return cast(str, self.fs._parent(self._path(path)))

    def unstrip_protocol(self, name: str) -> str:
        return "paraes::" + cast(str, self.fs.unstrip_protocol(self._path(name)))

    # ---- What the file system below does

    def invalidate_cache(self, path: str | None = None) -> None:
        self._forget(None if path is None else self._path(path))
        self.fs.invalidate_cache(path if path is None else self._path(path))

    def exists(self, path: str, **kwargs: Any) -> bool:
        return cast(bool, self.fs.exists(self._path(path), **kwargs))

    def lexists(self, path: str, **kwargs: Any) -> bool:
        return cast(bool, self.fs.lexists(self._path(path), **kwargs))

    def isdir(self, path: str) -> bool:
        return cast(bool, self.fs.isdir(self._path(path)))

    def isfile(self, path: str) -> bool:
        return cast(bool, self.fs.isfile(self._path(path)))

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        self.fs.mkdir(self._path(path), create_parents=create_parents, **kwargs)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self.fs.makedirs(self._path(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        self.fs.rmdir(self._path(path))

    def rm_file(self, path: str) -> None:
        self._forget(self._path(path))
        self.fs.rm_file(self._path(path))

    _rm = rm_file

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        self._forget(None)
        self.fs.rm(self._path(path), recursive=recursive, maxdepth=maxdepth)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Copy the message as it is."""
        self._forget(self._path(path2))
        self.fs.cp_file(self._path(path1), self._path(path2), **kwargs)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None,
           **kwargs: Any) -> None:
        """Move messages as they are."""
        self._forget(None)
        # SFTP's takes neither.
        if recursive:
            kwargs["recursive"] = True
        if maxdepth is not None:
            kwargs["maxdepth"] = maxdepth
        self.fs.mv(self._path(path1), self._path(path2), **kwargs)

    def checksum(self, path: str) -> Any:
        return self.fs.checksum(self._path(path))

    def ukey(self, path: str) -> str:
        return cast(str, self.fs.ukey(self._path(path)))

    def created(self, path: str) -> Any:
        return self.fs.created(self._path(path))

    def modified(self, path: str) -> Any:
        return self.fs.modified(self._path(path))

    # ---- Names and sizes

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        """Return what the file system below returns, with the plaintext's size as `size`.

        It is computed from the size of the message, `sealed_size`, and None if no message has that
        size. open() authenticates it."""
        return self._with_plain_sizes([self.fs.info(self._path(path), **kwargs)])[0]

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        if not detail:
            return self.fs.ls(self._path(path), detail=False, **kwargs)
        return self._with_plain_sizes(self.fs.ls(self._path(path), detail=True, **kwargs))

    def find(self, path: str, maxdepth: int | None = None, withdirs: bool = False,
             detail: bool = False, **kwargs: Any) -> Any:
        found = self.fs.find(self._path(path), maxdepth=maxdepth, withdirs=withdirs, detail=detail,
                             **kwargs)
        if not detail:
            return found
        return dict(zip(found, self._with_plain_sizes(list(found.values())), strict=True))

    def du(self, path: str, total: bool = True, maxdepth: int | None = None,
           withdirs: bool = False, **kwargs: Any) -> Any:
        """The bytes of plaintext. What is no message has none."""
        found = self.find(path, maxdepth=maxdepth, withdirs=withdirs, detail=True, **kwargs)
        sizes = {name: info["size"] or 0 for name, info in found.items()}
        return sum(sizes.values()) if total else sizes

    def _with_plain_sizes(self, infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
        infos = [dict(info) for info in infos]
        files = [info for info in infos if info.get("type") != "directory"]
        secret = self._secret.opens or self._secret.to_seal()
        starts: list[Any] = [None] * len(files)
        if secret.header_varies and files:
            count = len(files)
            starts = self._messages.cat_ranges([info["name"] for info in files], [0] * count,
                                               [32] * count, {})
        for info, start in zip(files, starts, strict=True):
            sealed_size = info["sealed_size"] = info.get("size")
            info["size"] = None
            if sealed_size is None or isinstance(start, Exception):
                continue
            try:
                info["size"] = secret.plain_bytes(sealed_size, start)
            except IntegrityError:
                pass
        return infos

    # ---- Reading

    def _forget(self, path: str | None) -> None:
        if path is None:
            self._known.clear()
        else:
            self._known.drop(path)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None,
                 **kwargs: Any) -> bytes:
        """Return all of the plaintext, or a range of it."""
        path = self._path(path)
        if start is None and end is None:
            return self._secret.to_open().unseal(self.fs.cat_file(path, **kwargs))
        return cast(bytes, self.cat_ranges([path], [start], [end], on_error="raise", **kwargs)[0])

    def cat_ranges(self, paths: list[str], starts: Any, ends: Any, max_gap: int | None = None,
                   on_error: str = "return", **kwargs: Any) -> list[Any]:
        """Return ranges of the plaintext of one or more objects, which are fetched at once."""
        if max_gap is not None:
            raise NotImplementedError("max_gap: ranges are not merged")
        if not isinstance(paths, list):
            raise TypeError("paths: a list is required")
        count = len(paths)
        starts = list(starts) if isinstance(starts, Iterable) else [starts] * count
        ends = list(ends) if isinstance(ends, Iterable) else [ends] * count
        if len(starts) != count or len(ends) != count:
            raise ValueError("paths, starts and ends: they have different lengths")
        paths = [self._path(path) for path in paths]
        known: dict[str, Any] = {}
        if not kwargs:
            known = {path: self._known.get(path) for path in paths}
        out = self._plain_ranges(paths, starts, ends, known=known, options=kwargs)
        # An object may have been replaced since it was opened: then nothing of it authenticates.
        stale = [at for at, part in enumerate(out) if may_be_replaced(part)]
        if stale:
            columns = [[column[at] for at in stale] for column in (paths, starts, ends)]
            again = self._plain_ranges(*columns, known={}, options=kwargs)
            for at, part in zip(stale, again, strict=True):
                out[at] = part
        if on_error != "return":
            for part in out:
                if isinstance(part, BaseException):
                    raise part
        return out

    def _plain_ranges(self, paths: list[Any], starts: list[Any], ends: list[Any], *,
                      known: dict[str, Any], options: dict[str, Any]) -> list[Any]:
        messages = dict.fromkeys(paths) | known
        missing = [path for path, message in messages.items() if message is None]
        for path, message in zip(missing, self._messages.open(missing, options), strict=True):
            messages[path] = message
            if isinstance(message, Message) and not options:
                self._known.put(path, message)
        ranges: list[tuple[str, int, int]] = []
        parts: list[Any] = []
        for path, start, end in zip(paths, starts, ends, strict=True):
            part: Any = messages[path]
            if isinstance(part, Message):
                begin, stop, _ = slice(start, end).indices(part.size)
                part = Wanted(part, begin, max(begin, stop))
                ranges += [(path, *sealed) for sealed in part.sealed]
            parts.append(part)
        fetched = iter(self._messages.fetch(ranges, options))
        out: list[Any] = []
        for part in parts:
            if isinstance(part, Wanted):
                data = [next(fetched) for _ in part.sealed]
                try:
                    part = part.plain(data)
                except Exception as error:
                    part = error
            out.append(part)
        return out

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise",
            **kwargs: Any) -> Any:
        """Return the plaintext of an object, or of several by their names."""
        paths = self.expand_path(path, recursive=recursive)
        if len(paths) == 1 and not isinstance(path, list) and paths[0] == self._path(path):
            return self.cat_file(paths[0], **kwargs)
        paths = [one for one in paths if not (recursive and self.isdir(one))]
        anything = [None] * len(paths)
        fetched = self._messages.cat_ranges(paths, anything, anything, kwargs) if paths else []
        secret = self._secret.to_open()
        out: dict[str, Any] = {}
        for name, data in zip(paths, fetched, strict=True):
            try:
                if isinstance(data, BaseException):
                    raise data
                out[name] = secret.unseal(data)
            except Exception as error:
                if on_error == "raise":
                    raise
                if on_error == "return":
                    out[name] = error
        return out

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None,
              autocommit: bool = True, cache_options: dict[str, Any] | None = None,
              **kwargs: Any) -> Any:
        if mode == "rb":
            return self._open_to_read(path, block_size, cache_options, kwargs)
        if mode not in ("wb", "xb"):
            raise InvalidArgument(f"mode: it is 'rb', 'wb' or 'xb', not {mode!r}: an encrypted "
                                  "object is written as a whole")
        secret = self._secret.to_seal()
        written = functools.partial(self._forget, path)
        if self._is_local:
            if self.fs.auto_mkdir:
                self.fs.makedirs(self._parent(path), exist_ok=True)
            native = secret.open_writer(path, mode == "xb")
            return _Writer(path, native, mode, None, autocommit, written)
        if block_size is not None:
            kwargs["block_size"] = block_size
        upload = _Upload(self.fs, path, mode, kwargs)
        try:
            native = secret.open_writer(upload, False)
        except BaseException:
            upload.discard(wait=True)
            raise
        return _Writer(path, native, mode, upload, autocommit, written)

    def _open_to_read(self, path: str, block_size: int | None,
                      cache_options: dict[str, Any] | None, kwargs: dict[str, Any]) -> Any:
        secret = self._secret.to_open()
        kwargs.pop("size", None)  # of a file that was pickled: the present one is authenticated
        cache_type = kwargs.pop("cache_type", None)
        source: Any
        if self._is_local:
            native = secret.open_reader(path)
            if not isinstance(native, _native.PlainReader):
                return DecryptedReader(path, native)
            source = native
        else:
            info = self.fs.info(path, **kwargs)
            if info["type"] != "directory" and info.get("size") is None:
                return _InOrder(self.fs.open(path, "rb", **kwargs), secret)
            source = self._messages.open([path], kwargs)[0]
            if isinstance(source, Exception):
                raise source
        return EncryptedFile(self, path, source, block_size=block_size, cache_type=cache_type,
                             cache_options=cache_options, **kwargs)

    def open(self, path: str, mode: str = "rb", block_size: int | None = None,
             cache_options: dict[str, Any] | None = None, compression: str | None = None,
             **kwargs: Any) -> Any:
        """Open an object as a file of its plaintext.

        A written file appears when it is closed, and not at all after an exception in a `with`
        block. compression="infer" looks at the name without .paes.
        """
        path = self._path(path)
        if compression == "infer":
            compression = infer_compression(path.removesuffix(".paes"))
        if "r" in mode:
            return super().open(path, mode, block_size, cache_options, compression, **kwargs)
        if compression is not None and compression not in compr:
            raise InvalidArgument(f"compression: fsspec has no {compression!r}; it has "
                                  f"{', '.join(map(str, compr))}")
        text = {name: kwargs.pop(name) for name in ("encoding", "errors", "newline")
                if name in kwargs}
        file = super().open(path, mode.replace("t", "").replace("b", "") + "b", block_size,
                            cache_options, **kwargs)
        if compression is not None:
            file = _Compressed(compr[compression](file, mode="w"), file)
        return file if "b" in mode else _Text(file, **text)

    # ---- Writing

    def pipe_file(self, path: str, value: Buffer, mode: str = "overwrite", **kwargs: Any) -> None:
        """Encrypt `value` as an object."""
        path = self._path(path)
        if mode == "create":
            kwargs["mode"] = mode
        if _REPLACES.isdisjoint(_protocols(self.fs)):
            with self.open(path, "xb" if mode == "create" else "wb") as file:
                file.write(value)
        else:
            self.fs.pipe_file(path, self._secret.to_seal().seal(value), **kwargs)
        self._forget(path)

    def pipe(self, path: Any, value: Buffer | None = None, **kwargs: Any) -> None:
        if not isinstance(path, dict) or _REPLACES.isdisjoint(_protocols(self.fs)):
            super().pipe(path, value, **kwargs)
            return
        secret = self._secret.to_seal()
        self.fs.pipe({self._path(name): secret.seal(data) for name, data in path.items()}, **kwargs)
        self._forget(None)

    def get_file(self, rpath: str, lpath: Any = None, callback: Any = DEFAULT_CALLBACK,
                 outfile: Any = None, **kwargs: Any) -> None:
        """Decrypt an object to a local file, which appears when it is complete."""
        if outfile is not None or isfilelike(lpath) or self.isdir(rpath):
            super().get_file(rpath, lpath, callback=callback, outfile=outfile, **kwargs)
            return
        target = os.fspath(lpath)
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        name = f"{target}.{secrets.token_hex(8)}.partial"
        try:
            with open(name, "xb") as file:
                super().get_file(rpath, name, callback=callback, outfile=file, **kwargs)
            os.replace(name, target)
        except BaseException:
            if os.path.exists(name):
                os.unlink(name)
            raise

    def sign(self, path: str, expiration: int = 100, **kwargs: Any) -> str:
        raise NotImplementedError("a signed URL leads to the ciphertext: sign it with the file "
                                  "system below")


def _without_paraes(path: str) -> str:
    for prefix in ("paraes::", "paraes://"):
        path = path.removeprefix(prefix)
    return path
