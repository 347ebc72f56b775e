"""Where objects are read and written: whatever fsspec opens.

Sources and targets are pickled and used in other processes and on other machines.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import re
import secrets
import threading
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import fsspec
import fsspec.asyn
from fsspec.core import OpenFile, url_to_fs
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

from paraes._messages import version_of
from paraes.exceptions import Error, InvalidArgument, _file_error
from paraes.fsspec import ParaesFileSystem
from paraes.fsspec._upload import Upload, protocols

if TYPE_CHECKING:
    from fsspec.spec import AbstractFileSystem

_T = TypeVar("_T")

_S3 = frozenset({"s3", "s3a"})
_TRIES = 4  # of a request that reads


class SourceChanged(Exception):
    """The source is not what it was when its encryption began."""


def resolve(place: Any, options: dict[str, Any] | None,
            name: str) -> tuple[AbstractFileSystem, str]:
    """The file system and the path of a URL, a path, or what fsspec.open() returns."""
    if isinstance(place, OpenFile):
        if options:
            raise InvalidArgument(f"{name}_options: {name} is a file of fsspec, which has its own")
        if place.compression is not None:
            raise InvalidArgument(f"{name}: it is compressed by fsspec: compress it before")
        fs, path = place.fs, place.path
    else:
        fs, path = url_to_fs(os.fspath(place), **(options or {}))
    while isinstance(fs, DirFileSystem):
        fs, path = fs.fs, fs._join(path)
    if getattr(fs, "async_impl", False) and fs.asynchronous:
        raise InvalidArgument(f"{name}: an asynchronous file system cannot be used; pass one "
                              "without asynchronous=True")
    return fs, path


def url_of(fs: AbstractFileSystem, path: str) -> str:
    return str(fs.unstrip_protocol(path))


def is_local(fs: AbstractFileSystem) -> bool:
    return type(fs) is LocalFileSystem


def _is_s3(fs: AbstractFileSystem) -> bool:
    return not _S3.isdisjoint(protocols(fs)) and hasattr(fs, "call_s3")


def _code(error: BaseException | None) -> str:
    """The code of an error of S3, which s3fs has as the cause of its own."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
        error = error.__cause__
    return ""


def _asked(path: str, work: Callable[[], _T], what: str = "") -> _T:
    """Call a file system. Many pass on what their clients raise for a network that fails."""
    try:
        return work()
    except (OSError, Error):
        raise
    except Exception as error:
        raise _file_error(errno.EIO, f"{path}: {what}{error}", path) from error


def _call_s3(fs: Any, path: str, method: str, **options: Any) -> Any:
    return _asked(path, lambda: fs.call_s3(method, **options))


def _endpoint(fs: Any, path: str) -> str:
    return str(_asked(path, lambda: fs.s3.meta.endpoint_url))


def identity(fs: AbstractFileSystem, path: str) -> str:
    """The URL, with what it does not say of the place."""
    place = _endpoint(fs, path) if _is_s3(fs) else getattr(fs, "host", "")
    return f"{place} {url_of(fs, path)}".strip()


_NEVER_BETTER = (FileNotFoundError, PermissionError, IsADirectoryError, InvalidArgument)


def _again(work: Callable[[], _T]) -> _T:
    """Reads again what a busy or broken network did not bring."""
    for attempt in range(_TRIES):
        try:
            return work()
        except _NEVER_BETTER:
            raise
        except OSError:
            if attempt + 1 == _TRIES:
                raise
            time.sleep(0.1 * 4**attempt)
    raise AssertionError


_kept = threading.local()


def buffer(name: str, size: int) -> memoryview:
    """Memory of this thread for `size` bytes. New memory would take as long as the work."""
    memory = getattr(_kept, name, None)
    if memory is None or len(memory) < size:
        memory = mmap.mmap(-1, max(size, mmap.PAGESIZE),
                           flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)  # a part has thousands of others
        except OSError:
            pass  # the kernel has none
        setattr(_kept, name, memory)
    return memoryview(memory)[:size]


def forget_buffers() -> None:
    """Overwrite and free the memory of this thread."""
    for memory in _kept.__dict__.values():
        memory[:] = bytes(len(memory))
    _kept.__dict__.clear()


class Source:
    """An object that is read in ranges, by many at once."""

    def __init__(self, fs: AbstractFileSystem, path: str) -> None:
        fs.invalidate_cache(path)
        fs.invalidate_cache(fs._parent(path))
        try:
            info = _again(lambda: _asked(path, lambda: fs.info(path)))
        except FileNotFoundError as error:
            raise _file_error(errno.ENOENT, f"{path}: there is no such object", path) from error
        if info["type"] == "directory":
            raise _file_error(errno.EISDIR, f"{path}: it is a folder; encrypt its files one by one",
                              path)
        if info.get("size") is None:
            raise _file_error(errno.ESPIPE, f"{path}: its size is not known, so that it cannot be "
                              "read in parts", path)
        self.fs = fs
        self.path = path
        self.size: int = info["size"]
        self.version = version_of(info)
        self.tag: str | None = info.get("ETag") if _is_s3(fs) else None

    @property
    def url(self) -> str:
        return url_of(self.fs, self.path)

    @property
    def proves_version(self) -> bool:
        """Whether the store itself refuses to read another version."""
        return self.tag is not None

    def read(self, begin: int, end: int) -> Any:
        """The bytes of a range."""
        if begin == end:
            return b""
        return _again(lambda: self._read(begin, end))

    def _read(self, begin: int, end: int) -> Any:
        data = self._read_s3(begin, end) if self.tag is not None else self._cat(begin, end)
        if len(data) != end - begin:
            raise _file_error(errno.EIO, f"{self.path}: the bytes {begin} to {end} were asked for, "
                              f"and {len(data)} came: it became shorter, or the transfer was cut",
                              self.path)
        return data

    def _cat(self, begin: int, end: int) -> Any:
        return _asked(self.path, lambda: self.fs.cat_file(self.path, start=begin, end=end))

    def _read_s3(self, begin: int, end: int) -> Any:
        bucket, key, version = self.fs.split_path(self.path)
        wanted = {"VersionId": version} if version else {}
        try:
            answer = _call_s3(self.fs, self.path, "get_object", Bucket=bucket, Key=key,
                              IfMatch=self.tag, Range=f"bytes={begin}-{end - 1}", **wanted)
        except OSError as error:
            if _code(error) in ("PreconditionFailed", "412", "InvalidRange"):
                raise SourceChanged(self.path) from error
            raise
        try:
            return _asked(self.path, lambda: fsspec.asyn.sync(self.fs.loop, answer["Body"].read),
                          "the transfer was cut: ")
        finally:
            answer["Body"].close()

    def check(self) -> None:
        """Raises SourceChanged if it is another one by now, as far as anybody can tell."""
        self.fs.invalidate_cache(self.path)
        self.fs.invalidate_cache(self.fs._parent(self.path))
        try:
            info = _again(lambda: _asked(self.path, lambda: self.fs.info(self.path)))
        except FileNotFoundError:
            raise SourceChanged(self.path) from None
        if version_of(info) != self.version:
            raise SourceChanged(self.path)


class LocalSource(Source):
    """A regular file, here and at all workers."""

    def __init__(self, fs: AbstractFileSystem, path: str) -> None:
        super().__init__(fs, path)
        if not os.path.isfile(path):
            raise InvalidArgument(f"{path}: it is no regular file, so that it cannot be read in "
                                  "parts: `paraes encrypt` takes pipes and devices")
        self.status = self._status(os.stat(path))
        self.size = self.status[1]
        self.version = repr(self.status)

    @staticmethod
    def _status(status: os.stat_result) -> tuple[int, int, int, int]:
        # Programs can set the time of modification, but not that of the change.
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def check(self) -> None:
        try:
            if self._status(os.stat(self.path)) == self.status:
                return
        except FileNotFoundError:
            pass
        raise SourceChanged(self.path)


def source_of(place: Any, options: dict[str, Any] | None) -> Source:
    fs, path = resolve(place, options, "source")
    return LocalSource(fs, path) if is_local(fs) else Source(fs, path)


# ---- Targets


class Target:
    """An object that appears when it is complete. Parts have numbers from 0."""

    in_order = False  # takes the parts one after another, in the process that began
    reuses_buffers = False  # whether put() is done with its data when it returns
    syncs = False  # whether put() waits for the disk, because complete() runs on another machine

    def __init__(self, fs: AbstractFileSystem, path: str, overwrite: bool) -> None:
        self.fs = fs
        self.path = path
        self.overwrite = overwrite

    @property
    def url(self) -> str:
        return url_of(self.fs, self.path)

    def check_absent(self) -> None:
        if not self.overwrite and self._exists():
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise _file_error(errno.EEXIST, f"{self.path}: it exists already and was not replaced: "
                          "allow that (overwrite=True, -f), or choose another target", self.path)

    def _exists(self) -> bool:
        self._forget()
        return bool(_again(lambda: _asked(self.path, lambda: self.fs.exists(self.path))))

    def _forget(self) -> None:
        self.fs.invalidate_cache(self.path)
        self.fs.invalidate_cache(self.fs._parent(self.path))

    def check(self) -> None:
        """Refuse what can be no target, before any work."""
        self.check_absent()

    def begin(self) -> None:
        """Begin, so far as that is needed for facts()."""

    def create(self) -> None:
        """Begin the rest, when the state is on the disk."""

    def facts(self) -> dict[str, Any]:
        """What a later run needs to go on, in terms of JSON."""
        return {}

    def take_over(self, facts: dict[str, Any]) -> None:
        """Go on with what facts() said in an earlier run."""
        raise NotImplementedError

    def stored(self) -> dict[int, tuple[str, int]] | None:
        """Tags and sizes of the parts that are there; None if nothing is left to go on with."""
        return None

    def holds(self, start: bytes, size: int) -> bool:
        """Whether it is complete: an object of this size that begins with these bytes, of which 24
        are random."""
        if not start:
            return False
        try:
            found = bytes(_again(lambda: _asked(self.path, lambda: self.fs.cat_file(
                self.path, start=0, end=len(start)))))
            return found == start and self._size() == size
        except FileNotFoundError:
            return False

    def _size(self) -> int | None:
        self._forget()
        size: int | None = _again(lambda: _asked(self.path, lambda: self.fs.info(
            self.path))).get("size")
        return size

    def put(self, number: int, offset: int, data: Any) -> str:
        """Store a part, and return what complete() needs of it."""
        raise NotImplementedError

    def complete(self, tags: list[str], size: int, start: bytes) -> None:
        """Give the object its name. size, start: its own; no start if that is not known."""
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError


class S3Target(Target):
    """A multipart upload."""

    def __init__(self, fs: AbstractFileSystem, path: str, overwrite: bool) -> None:
        super().__init__(fs, path, overwrite)
        bucket, key, _ = fs.split_path(path)
        if not key:
            raise InvalidArgument(f"{path}: it is a bucket: name an object in it")
        self._where = {"Bucket": bucket, "Key": key}
        self._upload: str | None = None

    def _call(self, method: str, **options: Any) -> Any:
        return _call_s3(self.fs, self.path, method, **self._where, **options)

    def begin(self) -> None:
        self._upload = self._call("create_multipart_upload")["UploadId"]

    def facts(self) -> dict[str, Any]:
        return {"upload": self._upload, "endpoint": _endpoint(self.fs, self.path)}

    def take_over(self, facts: dict[str, Any]) -> None:
        endpoint = _endpoint(self.fs, self.path)
        if facts["endpoint"] != endpoint:
            raise InvalidArgument(f"{self.path}: the run began at {facts['endpoint']}, not at "
                                  f"{endpoint}: name the same store")
        self._upload = str(facts["upload"])

    def stored(self) -> dict[int, tuple[str, int]] | None:
        found: dict[int, tuple[str, int]] = {}
        after = 0
        while True:
            try:
                answer = self._call("list_parts", UploadId=self._upload, PartNumberMarker=after)
            except FileNotFoundError as error:
                if _code(error) == "NoSuchUpload":
                    return None
                raise
            for part in answer.get("Parts", ()):
                found[part["PartNumber"] - 1] = (part["ETag"], part["Size"])
            if not answer.get("IsTruncated"):
                return found
            after = answer["NextPartNumberMarker"]

    def put(self, number: int, offset: int, data: Any) -> str:
        try:
            answer = self._call("upload_part", UploadId=self._upload, PartNumber=number + 1,
                                Body=data)
        except FileNotFoundError as error:
            raise self._lost(error) from error
        return str(answer["ETag"])

    def _lost(self, error: Exception) -> Exception:
        if _code(error) != "NoSuchUpload":
            return error
        return _file_error(errno.ESTALE, f"{self.path}: the store has given up the upload, as it "
                           "does after some days, or somebody has: start the object anew",
                           self.path)

    def complete(self, tags: list[str], size: int, start: bytes) -> None:
        self.check_absent()
        parts = [{"PartNumber": number + 1, "ETag": tag} for number, tag in enumerate(tags)]
        def is_ours() -> bool:
            return self.holds(start, size) or self._is_made_of(tags)

        try:
            self._complete({"Parts": parts}, is_ours)
        except FileNotFoundError as error:
            # An answer may be lost, and the next try finds the upload complete.
            if _code(error) != "NoSuchUpload" or not is_ours():
                raise self._lost(error) from error
        if self._size() != size:
            raise _file_error(errno.EIO, f"{self.path}: the store says that the object is "
                              f"complete, but it has not its size of {size} bytes", self.path)

    def _complete(self, parts: dict[str, Any], is_ours: Callable[[], bool]) -> None:
        options: dict[str, Any] = {"UploadId": self._upload, "MultipartUpload": parts}
        if not self.overwrite:
            try:
                self._call("complete_multipart_upload", IfNoneMatch="*", **options)
                return
            except OSError as error:
                code = _code(error)
                if code in ("PreconditionFailed", "412"):
                    if is_ours():
                        return
                    self._refuse()
                if code == "ConditionalRequestConflict":
                    raise _file_error(errno.EAGAIN, f"{self.path}: somebody else writes it at the "
                                      "same time: try again", self.path) from error
                if code not in ("NotImplemented", "501"):  # as older stores answer
                    raise
        self._call("complete_multipart_upload", **options)

    def _is_made_of(self, tags: list[str]) -> bool:
        """Whether the object has these parts, of a store that makes tags by MD5."""
        try:
            digests = b"".join(bytes.fromhex(tag.strip('"')) for tag in tags)
            self._forget()
            found = _asked(self.path, lambda: self.fs.info(self.path)).get("ETag", "")
        except (ValueError, FileNotFoundError):
            return False
        digest = hashlib.md5(digests, usedforsecurity=False).hexdigest()
        return bool(str(found).strip('"') == f"{digest}-{len(tags)}")

    def abort(self) -> None:
        if self._upload is None:
            return
        for _ in range(2):  # a part that came meanwhile may be left by the first
            try:
                self._call("abort_multipart_upload", UploadId=self._upload)
            except FileNotFoundError as error:
                if _code(error) == "NoSuchUpload":
                    return
                raise


class LocalTarget(Target):
    """A file, in a folder that all workers have."""

    reuses_buffers = True

    def __init__(self, fs: AbstractFileSystem, path: str, overwrite: bool) -> None:
        # A symbolic link stays, and what it leads to is replaced.
        super().__init__(fs, os.path.realpath(path), overwrite)
        self._partial = ""
        # The mode and time that the target gets, unless it has its own.
        self.mode: int | None = None
        self.modified: int | None = None

    def _exists(self) -> bool:
        return os.path.lexists(self.path)

    def check(self) -> None:
        if os.path.lexists(self.path) and not os.path.isfile(self.path):
            if os.path.isdir(self.path):
                raise _file_error(errno.EISDIR, f"{self.path}: it is a folder", self.path)
            raise InvalidArgument(f"{self.path}: it is no regular file, and is not replaced: "
                                  "`paraes encrypt` writes to pipes and devices")
        self.check_absent()

    def begin(self) -> None:
        self._partial = f"{self.path}.{secrets.token_hex(8)}.partial"

    def create(self) -> None:
        os.close(self._opened(os.O_CREAT | os.O_EXCL))

    def _opened(self, flags: int = 0) -> int:
        try:
            return os.open(self._partial, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
        except OSError as error:
            raise _file_error(error.errno or errno.EIO, f"{self._partial}: cannot write: "
                              f"{error.strerror}", self._partial) from error

    def facts(self) -> dict[str, Any]:
        return {"partial": self._partial}

    def take_over(self, facts: dict[str, Any]) -> None:
        name = str(facts["partial"])
        # Somebody else may have written the state.
        if not re.fullmatch(re.escape(self.path) + r"\.[0-9a-f]{16}\.partial", name):
            raise InvalidArgument(f"{name}: it is no name for a part of {self.path}")
        self._partial = name

    def stored(self) -> dict[int, tuple[str, int]] | None:
        # Written parts may not have reached the disk, so none of them counts as stored.
        return {} if os.path.isfile(self._partial) else None

    def put(self, number: int, offset: int, data: Any) -> str:
        file = self._opened()
        try:
            view = memoryview(data)
            done = 0
            while done < len(view):
                done += os.pwrite(file, view[done:], offset + done)
            if self.syncs:
                os.fdatasync(file)
        except OSError as error:
            raise _file_error(error.errno or errno.EIO, f"{self._partial}: cannot write: "
                              f"{error.strerror}", self._partial) from error
        finally:
            os.close(file)
        return ""

    def complete(self, tags: list[str], size: int, start: bytes) -> None:
        file = self._opened()
        try:
            if os.fstat(file).st_size != size:
                raise _file_error(errno.EIO, f"{self._partial}: it has not its size of {size} "
                                  "bytes: another program changed it", self._partial)
            os.fchmod(file, self._final_mode())
            if self.modified is not None:
                os.utime(file, ns=(self.modified, self.modified))
            os.fsync(file)
        finally:
            os.close(file)
        if not self.overwrite:
            try:
                os.link(self._partial, self.path)  # never over another one
            except FileExistsError:
                self.check_absent()
                raise
            except OSError:  # no hard links here
                self.check_absent()
                os.rename(self._partial, self.path)
            else:
                os.unlink(self._partial)
        else:
            os.replace(self._partial, self.path)
        try:
            folder = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError:
            pass  # not for folders on some systems, and the file is there

    def _final_mode(self) -> int:
        if self.mode is not None:
            return self.mode
        try:
            return os.stat(self.path).st_mode & 0o777
        except FileNotFoundError:
            return 0o666 & ~current_umask()

    def abort(self) -> None:
        try:
            os.unlink(self._partial)
        except FileNotFoundError:
            pass


def current_umask() -> int:
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o077


class InOrderTarget(Target):
    """Any other object: one process writes it, from its beginning to its end."""

    in_order = True

    def __init__(self, fs: AbstractFileSystem, path: str, overwrite: bool) -> None:
        super().__init__(fs, path, overwrite)
        self._upload: Upload | None = None
        self._next = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_upload": None}  # workers return parts, and write nothing

    def begin(self) -> None:
        self._upload = Upload(self.fs, self.path, "wb" if self.overwrite else "xb", {})
        self._next = 0

    def put(self, number: int, offset: int, data: Any) -> str:
        assert self._upload is not None
        if offset != self._next:
            raise RuntimeError(f"{self.path}: part {number} is not the next one")
        self._upload.write(data)
        self._next += len(data)
        return ""

    def complete(self, tags: list[str], size: int, start: bytes) -> None:
        assert self._upload is not None
        self._upload.finish()
        self._upload.commit()

    def abort(self) -> None:
        if self._upload is not None:
            self._upload.discard(wait=True)


def target_of(place: Any, options: dict[str, Any] | None, overwrite: bool) -> Target:
    fs, path = resolve(place, options, "target")
    if isinstance(fs, ParaesFileSystem):
        raise InvalidArgument("target: paraes:: would encrypt it once more: leave it out")
    if is_local(fs):
        return LocalTarget(fs, path, overwrite)
    if _is_s3(fs):
        return S3Target(fs, path, overwrite)
    return InOrderTarget(fs, path, overwrite)


def warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=3)
