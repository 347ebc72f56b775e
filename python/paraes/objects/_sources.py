"""Objects that are read.

Sources are pickled and used in other processes and on other machines.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Any

import fsspec.asyn

from paraes._messages import version_of
from paraes.exceptions import InvalidArgument, _cut_off, _file_error
from paraes.objects._stores import (
    again,
    asked,
    call_s3,
    code_of,
    fresh_info,
    is_local,
    is_s3,
    resolve,
    url_of,
)

if TYPE_CHECKING:
    from fsspec.spec import AbstractFileSystem


class SourceChanged(Exception):
    """The source is not what it was when its encryption began."""


class Source:
    """An object that is read in ranges, by many at once."""

    def __init__(self, fs: AbstractFileSystem, path: str) -> None:
        try:
            info = fresh_info(fs, path)
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
        self.tag: str | None = info.get("ETag") if is_s3(fs) else None

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
        return again(lambda: self._read(begin, end))

    def _read(self, begin: int, end: int) -> Any:
        data = self._read_s3(begin, end) if self.tag is not None else self._cat(begin, end)
        if len(data) != end - begin:
            raise _file_error(errno.EIO, _cut_off(self.path, begin, end, len(data)), self.path)
        return data

    def _cat(self, begin: int, end: int) -> Any:
        return asked(self.path, lambda: self.fs.cat_file(self.path, start=begin, end=end))

    def _read_s3(self, begin: int, end: int) -> Any:
        bucket, key, version = self.fs.split_path(self.path)
        wanted = {"VersionId": version} if version else {}
        try:
            answer = call_s3(self.fs, self.path, "get_object", Bucket=bucket, Key=key,
                              IfMatch=self.tag, Range=f"bytes={begin}-{end - 1}", **wanted)
        except OSError as error:
            if code_of(error) in ("PreconditionFailed", "412", "InvalidRange"):
                raise SourceChanged(self.path) from error
            raise
        try:
            return asked(self.path, lambda: fsspec.asyn.sync(self.fs.loop, answer["Body"].read),
                          "the transfer was cut: ")
        finally:
            answer["Body"].close()

    def check(self) -> None:
        """Raises SourceChanged if it is another one by now, as far as anybody can tell."""
        try:
            info = fresh_info(self.fs, self.path)
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
        with contextlib.suppress(FileNotFoundError):
            if self._status(os.stat(self.path)) == self.status:
                return
        raise SourceChanged(self.path)


def source_of(place: Any, options: dict[str, Any] | None) -> Source:
    fs, path = resolve(place, options, "source")
    return LocalSource(fs, path) if is_local(fs) else Source(fs, path)
