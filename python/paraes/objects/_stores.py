"""File systems that fsspec opens, and requests to them, which may fail."""

from __future__ import annotations

import contextlib
import errno
import os
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fsspec.core import OpenFile, url_to_fs
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

from paraes._messages import forget
from paraes.exceptions import Error, FileError, InvalidArgument, _file_error
from paraes.fsspec._upload import protocols

if TYPE_CHECKING:
    from fsspec.spec import AbstractFileSystem

_T = TypeVar("_T")

_S3 = frozenset({"s3", "s3a"})
_TRIES = 4  # of a request that reads


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


def is_s3(fs: AbstractFileSystem) -> bool:
    return not _S3.isdisjoint(protocols(fs)) and hasattr(fs, "call_s3")


def fresh_info(fs: AbstractFileSystem, path: str) -> dict[str, Any]:
    """What the store says of an object now."""
    forget(fs, path)
    info: dict[str, Any] = again(lambda: asked(path, lambda: fs.info(path)))
    return info


def code_of(error: BaseException | None) -> str:
    """The code of an error of S3, which s3fs has as the cause of its own."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
        error = error.__cause__
    return ""


def asked(path: str, work: Callable[[], _T], what: str = "") -> _T:
    """Call a file system. Many pass on what their clients raise for a network that fails."""
    try:
        return work()
    except (OSError, Error):
        raise
    except Exception as error:
        raise _file_error(errno.EIO, f"{path}: {what}{error}", path) from error


def call_s3(fs: Any, path: str, method: str, **options: Any) -> Any:
    return asked(path, lambda: fs.call_s3(method, **options))


def endpoint_of(fs: Any, path: str) -> str:
    return str(asked(path, lambda: fs.s3.meta.endpoint_url))


def identity(fs: AbstractFileSystem, path: str) -> str:
    """The URL, with what it does not say of the place."""
    place = endpoint_of(fs, path) if is_s3(fs) else getattr(fs, "host", "")
    return f"{place} {url_of(fs, path)}".strip()


_NEVER_BETTER = (FileNotFoundError, PermissionError, IsADirectoryError, InvalidArgument)


def again(work: Callable[[], _T]) -> _T:
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


# ---- Local files


def failed(error: OSError, path: str, what: str) -> FileError:
    """The exception for an error of the system."""
    return _file_error(error.errno or errno.EIO, f"{path}: {what}: {error.strerror}", path)


def sync_folder(path: str) -> None:
    """Wait until the name of a file is on the disk."""
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def name_file(name: str, path: str) -> None:
    """Give a file its final name, but never over another one: FileExistsError."""
    try:
        os.link(name, path)
    except FileExistsError:
        raise
    except OSError as error:  # no hard links here
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from error
        os.rename(name, path)
    else:
        os.unlink(name)


def unlink(name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name)


def warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=3)
