"""The exceptions of paraes.

::

    Error
    ├── InvalidTag            the data does not authenticate
    │   ├── IntegrityError    it is damaged, truncated or no message at all
    │   └── WrongKey          its header was made with another key, passphrase or context
    ├── InvalidArgument       also a ValueError
    ├── FileError             also an OSError; for some errnos also a FileNotFoundError, …
    ├── Unavailable           this machine lacks a kernel, a device or the program age
    ├── DeviceError           a GPU failed
    ├── WrongProcess          an object was used in a child of the process that made it
    └── AlreadyFinalized      finalize was called before
"""

import errno as _errno
import os as _os
from typing import Any as _Any

__all__ = [
    "AlreadyFinalized",
    "DeviceError",
    "Error",
    "FileError",
    "IntegrityError",
    "InvalidArgument",
    "InvalidTag",
    "Unavailable",
    "WrongKey",
    "WrongProcess",
]


class Error(Exception):
    """The base of all exceptions of paraes."""


class InvalidTag(Error):
    """The data does not authenticate: wrong key, nonce, context or associated data, or changed
    data. Nothing of it was returned."""


class IntegrityError(InvalidTag):
    """A message is damaged, truncated or none at all.

    segment and offset are the number of the first damaged segment, and the offset of its first byte
    in the plaintext; None if the damage is elsewhere.
    """

    segment: int | None = None
    offset: int | None = None


class WrongKey(InvalidTag):
    """The header of a message does not match the key, passphrase, identity or context."""


class InvalidArgument(Error, ValueError):
    """An argument breaks a rule. The message says which one, and what is right."""


class FileError(Error, OSError):
    """The system reported an error, `errno`, or a file changed while it was read. `filename` is its
    path; None for file objects."""

    def __str__(self) -> str:
        return str(self.args[1]) if len(self.args) > 1 else super().__str__()

    def __reduce__(self) -> _Any:
        # pickle finds a class by its name, and those below all have the name FileError.
        if self.errno is None:
            return super().__reduce__()
        return _file_error, (self.errno, self.strerror, self.filename or ""), self.__dict__ or None


class Unavailable(Error):
    """This machine lacks a kernel or a device, or has no program `age`."""


class DeviceError(Error):
    """A GPU failed. buf, if one was given, has no defined contents."""


class WrongProcess(Error, RuntimeError):
    """An object that encrypts, or a file that is being written, belongs to the process that made
    it, and was used in a child that os.fork() or multiprocessing made of that."""


class AlreadyFinalized(Error):
    """The context was finalized, or has failed, before."""


# The kinds of FileError that are kinds of OSError as well; they have its name.
_CLASSES: dict[int, type[FileError]] = {
    code: type("FileError", (FileError, kind), {"__module__": __name__})
    for code, kind in (
        (_errno.ENOENT, FileNotFoundError),
        (_errno.EEXIST, FileExistsError),
        (_errno.EACCES, PermissionError),
        (_errno.EPERM, PermissionError),
        (_errno.EISDIR, IsADirectoryError),
        (_errno.ENOTDIR, NotADirectoryError),
    )
}


def _file_error(code: int, text: str, path: str = "") -> FileError:
    """The exception for an errno. The module _native calls it."""
    # Always with an errno, so that errno and strerror are set.
    error = _CLASSES.get(code, FileError)(code, text or _os.strerror(code))
    if path:
        error.filename = path
    return error


def _cut_off(path: str, begin: int, end: int, came: int) -> str:
    """The text of an error: a store sent fewer bytes than it should."""
    return (f"{path}: the bytes {begin} to {end} were asked for, and {came} came: it became "
            "shorter, or the transfer was cut")
