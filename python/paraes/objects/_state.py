"""What has left of an object that is being encrypted.

Two plaintexts under one nonce give both away. The nonces of a part follow from the object's salt
and the part's number, so each part has one plaintext for ever, from the moment at which the first
byte of it may have left. The state says so before: a keyed hash of each such part, on the disk.
Whoever seals the part again has to show the same hash first, or the object starts anew with another
salt. It has no keys, and nothing that helps to find the plaintext.

A state of a decryption has no hashes. It says what has to be removed after a crash.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from paraes.exceptions import InvalidArgument, _file_error
from paraes.objects._stores import failed, name_file, sync_folder, unlink

_KIND = "paraes.objects"
_VERSION = 1


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


class Facts(NamedTuple):
    """What a later run has to know."""

    verb: str  # "encrypt" or "decrypt"
    target: str  # URL
    upload: dict[str, Any]  # of the target, in terms of JSON
    overwrite: bool
    source: str  # URL
    source_version: str
    plain_bytes: int
    part_size: int | None  # as the caller wants it
    segments: int  # of a part
    parts: int
    layout: list[Any]  # of the message
    header: bytes

    def line(self) -> dict[str, Any]:
        return {**self._asdict(), "header": base64.b64encode(self.header).decode()}

    def text(self) -> bytes:
        """What the proof of the key is about."""
        return json.dumps(self.line(), sort_keys=True).encode()

    @classmethod
    def of_line(cls, line: dict[str, Any]) -> Facts:
        facts = cls(**{**line, "header": base64.b64decode(line["header"], validate=True)})
        texts = (facts.verb, facts.target, facts.source, facts.source_version)
        numbers = (facts.plain_bytes, facts.segments, facts.parts)
        if not (all(isinstance(text, str) for text in texts)
                and all(isinstance(number, int) and number >= 0 for number in numbers)
                and facts.segments > 0 and facts.parts > 0 and isinstance(facts.layout, list)
                and isinstance(facts.overwrite, bool) and isinstance(facts.upload, dict)
                and isinstance(facts.part_size, int | None)):
            raise ValueError
        return facts


def _lock(file: int, path: str) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _file_error(errno.EBUSY, f"{path}: another process works on this object",
                          path) from None
    except OSError as error:
        raise _file_error(error.errno or errno.EIO, f"{path}: its file system cannot lock files "
                          f"({error.strerror}): name a state on another one", path) from None


def _sync_name(path: str) -> None:
    try:
        sync_folder(path)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not for folders, on some systems
            raise


class State:
    """An open state file, which nobody else can open meanwhile. Any thread may use it."""

    def __init__(self, path: str, file: int, facts: Facts, proof: bytes) -> None:
        self.path = path
        self.facts = facts
        self.proof = proof  # that whoever made the state had the key of the message
        self.claims: dict[int, bytes] = {}
        self.done: dict[int, str] = {}
        self._file = file
        self._lock = threading.Lock()
        self._syncing = threading.Lock()
        self._written = 0
        self._synced = 0
        self._broken: OSError | None = None

    @classmethod
    def create(cls, path: str, facts: Facts, proof: bytes) -> State:
        """A new state, on the disk when this returns."""
        os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
        name = f"{path}.{secrets.token_hex(8)}.partial"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(name, flags, 0o600)
        try:
            _lock(file, path)
            os.fchmod(file, 0o600)
            state = cls(path, file, facts, proof)
            state._write({"kind": _KIND, "version": _VERSION,
                          "proof": base64.b64encode(proof).decode(), "facts": facts.line()})
            try:
                name_file(name, path)
            except FileExistsError:
                raise _file_error(errno.EEXIST, f"{path}: another run has begun meanwhile",
                                  path) from None
        except BaseException:
            os.close(file)
            unlink(name)
            raise
        try:
            _sync_name(path)
        except BaseException:
            state.remove()
            raise
        return state

    @classmethod
    def load(cls, path: str) -> State:
        """The state that an earlier run left."""
        file = cls._open(path, os.O_RDWR)
        try:
            try:
                _lock(file, path)
            except OSError:
                time.sleep(0.1)  # somebody may only have looked
                _lock(file, path)
            if not cls._is_at(file, path):
                raise _file_error(errno.EBUSY, f"{path}: another process has just ended its "
                                  "work on this object: try again", path)
            with open(os.dup(file), "rb") as stream:
                state, size = cls._parse(path, file, stream.read())
            os.ftruncate(file, size)
            os.lseek(file, 0, os.SEEK_END)
            return state
        except BaseException:
            os.close(file)
            raise

    @classmethod
    def look(cls, path: str) -> tuple[State, bool]:
        """A state that is only shown, and whether another process works on the object."""
        file = cls._open(path, os.O_RDONLY)
        try:
            running = False
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                running = True
            with open(os.dup(file), "rb") as stream:
                return cls._parse(path, -1, stream.read())[0], running
        finally:
            os.close(file)

    @staticmethod
    def _open(path: str, flags: int) -> int:
        try:
            return os.open(path, flags | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
        except OSError as error:
            raise failed(error, path, "cannot open the state") from error

    @staticmethod
    def _is_at(file: int, path: str) -> bool:
        """Whether the file still has this name."""
        try:
            return os.path.samestat(os.fstat(file), os.lstat(path))
        except FileNotFoundError:
            return False

    @classmethod
    def _parse(cls, path: str, file: int, text: bytes) -> tuple[State, int]:
        # Text behind the last end of a line was never acknowledged, so nothing of it has left.
        whole = text[:text.rfind(b"\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            first = lines.pop(0)
            if first["kind"] != _KIND:
                raise KeyError
            if first["version"] != _VERSION:
                raise InvalidArgument(f"{path}: it is of another version of paraes, which can "
                                      "resume or abort the object")
            state = cls(path, file, Facts.of_line(first["facts"]),
                        base64.b64decode(first["proof"], validate=True))
            for line in lines:
                if "mark" in line:
                    state.claims[int(line["part"])] = base64.b64decode(line["mark"], validate=True)
                else:
                    state.done[int(line["part"])] = str(line["tag"])
        except InvalidArgument:
            raise
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise InvalidArgument(f"{path}: it is no state of paraes.objects, or it is damaged: "
                                  "remove it, and start the object anew; parts of it may be left "
                                  "in the store") from None
        return state, len(whole)

    def _write(self, line: dict[str, Any]) -> None:
        """Append a line, and wait until it is on the disk."""
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            with self._lock, self._breaking():
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(self._file, rest):]
                self._written += 1
                mine = self._written
            with self._syncing, self._breaking():
                if self._synced < mine:  # one call serves all lines that were written before it
                    written = self._written
                    os.fdatasync(self._file)
                    self._synced = written
        except OSError as error:
            raise failed(error, self.path, "cannot write the state") from error

    @contextlib.contextmanager
    def _breaking(self) -> Iterator[None]:
        """After an error, half a line may be there, or pages that the system has forgotten, of
        which it tells once: nothing more is written."""
        if self._broken is not None:
            raise self._broken
        try:
            yield
        except OSError as error:
            self._broken = error
            raise

    def claim(self, part: int, mark: bytes) -> bool:
        """Whether the plaintext with this hash may be sealed as the part: no other one was. When
        this returns, that is on the disk."""
        with self._lock:
            known = self.claims.setdefault(part, mark)
        if known != mark:
            return False
        # A known mark is written as well: another thread may not have it on the disk yet.
        self._write({"part": part, "mark": base64.b64encode(mark).decode()})
        return True

    def add_done(self, part: int, tag: str) -> None:
        self.done[part] = tag
        self._write({"part": part, "tag": tag})

    def remove(self) -> None:
        try:
            if self._file >= 0 and self._is_at(self._file, self.path):
                unlink(self.path)
                _sync_name(self.path)
        finally:
            self.close()

    def close(self) -> None:
        # Whoever writes has the locks, and then finds the state closed.
        with self._lock, self._syncing:
            if self._file >= 0:
                # Processes that were forked meanwhile have the descriptor, too, and the lock.
                fcntl.flock(self._file, fcntl.LOCK_UN)
                os.close(self._file)
                self._file = -1
                self._broken = self._broken or OSError(errno.EBADF, "the run has ended")
