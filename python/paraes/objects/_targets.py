"""Objects that are written.

Targets are pickled and used in other processes and on other machines.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from paraes._messages import forget
from paraes.exceptions import InvalidArgument, _file_error
from paraes.fsspec import ParaesFileSystem
from paraes.fsspec._upload import Upload
from paraes.objects._stores import (
    again,
    asked,
    call_s3,
    code_of,
    endpoint_of,
    failed,
    fresh_info,
    is_local,
    is_s3,
    name_file,
    resolve,
    sync_folder,
    unlink,
    url_of,
)

if TYPE_CHECKING:
    from fsspec.spec import AbstractFileSystem


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
        forget(self.fs, self.path)
        return bool(again(lambda: asked(self.path, lambda: self.fs.exists(self.path))))

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
            found = bytes(again(lambda: asked(self.path, lambda: self.fs.cat_file(
                self.path, start=0, end=len(start)))))
            return found == start and self._size() == size
        except FileNotFoundError:
            return False

    def _size(self) -> int | None:
        return fresh_info(self.fs, self.path).get("size")

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
        return call_s3(self.fs, self.path, method, **self._where, **options)

    def begin(self) -> None:
        self._upload = self._call("create_multipart_upload")["UploadId"]

    def facts(self) -> dict[str, Any]:
        return {"upload": self._upload, "endpoint": endpoint_of(self.fs, self.path)}

    def take_over(self, facts: dict[str, Any]) -> None:
        endpoint = endpoint_of(self.fs, self.path)
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
                if code_of(error) == "NoSuchUpload":
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
        if code_of(error) != "NoSuchUpload":
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
            if code_of(error) != "NoSuchUpload" or not is_ours():
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
                code = code_of(error)
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
            forget(self.fs, self.path)
            found = asked(self.path, lambda: self.fs.info(self.path)).get("ETag", "")
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
                if code_of(error) == "NoSuchUpload":
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
            raise failed(error, self._partial, "cannot write") from error

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
            raise failed(error, self._partial, "cannot write") from error
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
                name_file(self._partial, self.path)
            except FileExistsError:
                self.check_absent()
                raise
        else:
            os.replace(self._partial, self.path)
        with contextlib.suppress(OSError):  # not for folders on some systems; the file is there
            sync_folder(self.path)

    def _final_mode(self) -> int:
        if self.mode is not None:
            return self.mode
        try:
            return os.stat(self.path).st_mode & 0o777
        except FileNotFoundError:
            return 0o666 & ~current_umask()

    def abort(self) -> None:
        unlink(self._partial)


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
    if is_s3(fs):
        return S3Target(fs, path, overwrite)
    return InOrderTarget(fs, path, overwrite)
