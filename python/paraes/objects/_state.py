"""What has left of an object that is being encrypted.

Two plaintexts under one nonce give both away. The nonces of a part follow from the object's salt
and the part's number, so each part has one plaintext for ever, from the moment at which the first
byte of it may have left. The state says so before: a keyed hash of each such part, on the disk.
Whoever seals the part again has to show the same hash first, or the object starts anew with another
salt. It has no keys, and nothing that helps to find the plaintext.
"""

from __future__ import annotations

import base64
import errno
import fcntl
import hashlib
import json
import os
import secrets
import threading
from typing import Any

from paraes.exceptions import InvalidArgument, _file_error

_KIND = "paraes.objects"


def default_path(target: str) -> str:
    """Where the state of the object with this URL is, unless somebody names another place."""
    name = hashlib.sha256(target.encode(errors="surrogateescape")).hexdigest()[:32]
    return os.path.join(_default_folder(), f"{name}.state")


def _default_folder() -> str:
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(home, "paraes", "objects")


def default_paths() -> list[str]:
    """All states in the default folder."""
    folder = _default_folder()
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".state")]


def exists(path: str) -> bool:
    return os.path.lexists(path)


def _sync_folder(path: str) -> None:
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not for folders, on some systems
            raise
    finally:
        os.close(folder)


def _name_file(name: str, path: str) -> None:
    """Give a file its final name, but never over another one."""
    try:
        os.link(name, path)
    except FileExistsError:
        raise
    except OSError:  # no hard links here
        if os.path.lexists(path):
            raise _file_error(errno.EEXIST, f"{path}: it exists already", path) from None
        os.rename(name, path)
    else:
        os.unlink(name)


def _remove(name: str) -> None:
    try:
        os.unlink(name)
    except FileNotFoundError:
        pass


class State:
    """An open state file, which nobody else can open meanwhile. Any thread may use it."""

    def __init__(self, path: str, file: int, facts: dict[str, Any]) -> None:
        self.path = path
        self.facts = facts
        self.claims: dict[int, bytes] = {}
        self.done: dict[int, str] = {}
        self._file = file
        self._lock = threading.Lock()
        self._syncing = threading.Lock()
        self._written = 0
        self._synced = 0
        self._broken: OSError | None = None

    @classmethod
    def create(cls, path: str, facts: dict[str, Any]) -> State:
        """A new state, on the disk when this returns."""
        folder = os.path.dirname(path) or "."
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = f"{path}.{secrets.token_hex(8)}.partial"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(name, flags, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fchmod(file, 0o600)
            state = cls(path, file, facts)
            state._write({"kind": _KIND, "version": 1, **facts})
            _name_file(name, path)
        except BaseException:
            os.close(file)
            _remove(name)
            raise
        try:
            _sync_folder(path)
        except BaseException:
            state.remove()
            raise
        return state

    @classmethod
    def load(cls, path: str) -> State:
        """The state that an earlier run left."""
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
        except OSError as error:
            raise _file_error(error.errno or errno.EIO, f"{path}: cannot open the state: "
                              f"{error.strerror}", path) from error
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise _file_error(errno.EBUSY, f"{path}: another process works on this object",
                                  path) from None
            with open(os.dup(file), "rb") as stream:
                return cls._read(path, file, stream.read())
        except BaseException:
            os.close(file)
            raise

    @classmethod
    def look(cls, path: str) -> tuple[State, bool]:
        """A state that is only shown, and whether another process works on the object."""
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
        try:
            running = False
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                running = True
            with open(os.dup(file), "rb") as stream:
                return cls._parse(path, -1, stream.read())[0], running
        finally:
            os.close(file)

    @classmethod
    def _read(cls, path: str, file: int, text: bytes) -> State:
        state, size = cls._parse(path, file, text)
        os.ftruncate(file, size)
        os.lseek(file, 0, os.SEEK_END)
        return state

    @classmethod
    def _parse(cls, path: str, file: int, text: bytes) -> tuple[State, int]:
        # What follows the last end of a line was never acknowledged: nothing of it has left.
        whole = text[:text.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            facts = lines.pop(0)
            if facts.pop("kind") != _KIND:
                raise KeyError
            version = facts.pop("version")
            state = cls(path, file, facts)
            if version == 1:
                for line in lines:
                    if "mark" in line:
                        state.claims[int(line["part"])] = base64.b64decode(line["mark"])
                    else:
                        state.done[int(line["part"])] = str(line["tag"])
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise InvalidArgument(f"{path}: it is no state of paraes.objects, or it is damaged: "
                                  "remove it, and start the object anew") from None
        if version != 1:
            raise InvalidArgument(f"{path}: it is of a later version of paraes ({version})")
        return state, len(whole)

    def _write(self, line: dict[str, Any]) -> None:
        """Append a line, and wait until it is on the disk."""
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            with self._lock:
                self._check()
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(self._file, rest):]
                self._written += 1
                mine = self._written
            with self._syncing:  # one call serves all lines that were written before it
                self._check()
                if self._synced < mine:
                    written = self._written
                    os.fdatasync(self._file)
                    self._synced = written
        except OSError as error:
            # Half a line may be there, or pages that the system has forgotten after an error.
            self._broken = self._broken or error
            raise _file_error(error.errno or errno.EIO, f"{self.path}: cannot write the state: "
                              f"{error.strerror}", self.path) from error

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken

    def claim(self, part: int, mark: bytes) -> bool:
        """Whether the plaintext with this hash may be sealed as the part: no other one was. When
        this returns, that is on the disk."""
        with self._lock:
            known = self.claims.setdefault(part, mark)
        if known != mark:
            return False
        # Also for a mark that is known: another thread may not have it on the disk yet.
        self._write({"part": part, "mark": base64.b64encode(mark).decode()})
        return True

    def add_done(self, part: int, tag: str) -> None:
        self.done[part] = tag
        self._write({"part": part, "tag": tag})

    def remove(self) -> None:
        try:
            _remove(self.path)
            _sync_folder(self.path)
        finally:
            self.close()

    def close(self) -> None:
        # Whoever writes has the locks, and then finds the state closed.
        with self._lock, self._syncing:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
                self._broken = self._broken or OSError(errno.EBADF, "the run has ended")
