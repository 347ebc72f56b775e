"""How workers of other processes ask the coordinator whether a part may leave.

A worker connects, shows that it has the key of this run (a random one, which it got with its task),
says the number of a part and the hash of its plaintext, and waits for the answer, which comes when
the hash is on the coordinator's disk. Only numbers and hashes go this way.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import socket
import struct
import threading
import time
import weakref
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

from paraes.exceptions import Error

_QUESTION = struct.Struct(">Q32s")
_YES, _NO = b"yes", b"no"
_LONGEST = 20  # seconds that either side waits for the other
_LONGEST_CLAIM = 600  # seconds that a worker waits for the disk of the coordinator
_MOST_CONNECTIONS = 1024
_TRIES = 4


class _Busy(Exception):
    pass


class _Closed(Exception):
    pass


@dataclasses.dataclass(repr=False)
class Address:
    """Where the coordinator listens, for its own machine and for others."""

    host: str
    path: str
    port: int | None
    names: list[str]
    key: bytes

    def __repr__(self) -> str:
        return f"<the coordinator at {self.host}>"

    def _connect(self) -> Any:
        failures: list[str] = []
        for attempt in range(_TRIES):
            if attempt != 0:
                time.sleep(0.1 * 3**attempt)
            try:
                return self._connect_once(failures)
            except _Busy:
                continue
            except _Closed:
                break
        raise Error(f"{socket.gethostname()}: cannot reach the program that started this worker "
                    f"on port {self.port} of {self.host}; it has to say when a part may leave: "
                    + "; ".join(dict.fromkeys(failures)))

    def _connect_once(self, failures: list[str]) -> Connection:
        places: list[tuple[int, Any]] = []
        if socket.gethostname() == self.host:
            places.append((socket.AF_UNIX, self.path))
        if self.port is not None:
            places += [(socket.AF_INET, (name, self.port)) for name in self.names]
        elif not places:
            raise Error("the workers are on another machine than the program that started them: "
                        "take executors of Dask or mpi4py for that")
        is_closed = True
        for family, place in places:
            try:
                return _connected(family, place, self.key)
            except (OSError, EOFError, AuthenticationError) as error:
                is_closed = is_closed and isinstance(error, ConnectionRefusedError)
                failures.append(f"{place[0] if family == socket.AF_INET else self.host}: "
                                f"{error or type(error).__name__}")
        raise _Closed if is_closed else _Busy

    def claim(self, number: int, mark: bytes) -> bool:
        with self._connect() as connection:
            try:
                connection.send_bytes(_QUESTION.pack(number, mark))
                if not connection.poll(_LONGEST_CLAIM):
                    raise EOFError
                answer = connection.recv_bytes(16)
            except (EOFError, OSError):
                raise Error("the program that started this worker has ended, or could not write "
                            "its state") from None
        return bool(answer == _YES)


def _connected(family: int, place: Any, key: bytes) -> Connection:
    with socket.socket(family) as made:
        made.settimeout(_LONGEST)
        made.connect(place)
        made.settimeout(None)
        _limit(made)
        connection = Connection(made.detach())
    try:
        answer_challenge(connection, key)
        deliver_challenge(connection, key)
    except BaseException:
        connection.close()
        raise
    return connection


def _limit(limited: socket.socket) -> None:
    """Let reading fail if the other side says nothing. poll() can wait longer."""
    limited.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _LONGEST, 0))


class Desk:
    """Answers workers, each in a thread of its own, until it is closed.

    claim: what decides; remote: whether workers may be on other machines.
    """

    def __init__(self, claim: Callable[[int, bytes], bool], remote: bool) -> None:
        self._claim = claim
        self.error: BaseException | None = None
        key = secrets.token_bytes(32)
        path = f"\0paraes-{secrets.token_hex(16)}"  # in no folder
        self._closed = False
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        self._listening: list[socket.socket] = []
        port = None
        names: list[str] = []
        try:
            self._listen(socket.AF_UNIX, path)
            if remote:
                port = self._listen(socket.AF_INET, ("0.0.0.0", 0))[1]
                names = _names()
        except BaseException:
            self.close()
            raise
        self.address = Address(socket.gethostname(), path, port, names, key)
        _desks.add(self)

    def _listen(self, family: int, place: Any) -> Any:
        listening = socket.socket(family)
        self._listening.append(listening)
        listening.bind(place)
        listening.listen(128)
        threading.Thread(target=self._accept, args=(listening,), daemon=True,
                         name="paraes-claims").start()
        return listening.getsockname()

    def _accept(self, listening: socket.socket) -> None:
        while not self._closed:
            try:
                accepted, _ = listening.accept()
                _limit(accepted)
            except OSError:
                if not self._closed:
                    time.sleep(0.05)  # too many open files, perhaps
                continue
            connection = Connection(accepted.detach())
            with self._lock:
                is_welcome = not self._closed and len(self._connections) < _MOST_CONNECTIONS
                if is_welcome:
                    self._connections.add(connection)
            if not is_welcome:
                _end(connection)
                continue
            try:
                threading.Thread(target=self._answer, args=(connection,), daemon=True,
                                 name="paraes-claim").start()
            except RuntimeError:  # no more threads: the worker tries again
                self._forget(connection)

    def _answer(self, connection: Connection) -> None:
        try:
            try:
                deliver_challenge(connection, self.address.key)
                answer_challenge(connection, self.address.key)
                number, mark = _QUESTION.unpack(connection.recv_bytes(_QUESTION.size))
            except Exception:
                return  # a stranger, or a worker that was killed
            try:
                answer = _YES if self._claim(number, mark) else _NO
            except BaseException as error:
                self.error = self.error or error
                return
            with contextlib.suppress(OSError):  # the worker was killed
                connection.send_bytes(answer)
        finally:
            self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        with self._lock:
            self._connections.discard(connection)
        _end(connection)

    def close(self) -> None:
        self._closed = True
        for listening in self._listening:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)  # wakes accept(), and refuses who comes later
            listening.close()
        with self._lock:
            for connection in self._connections:
                _shut(connection)  # wakes who reads from it; the thread closes it

    def close_in_child(self) -> None:
        """In a process that was forked: let go of what belongs to the parent. As long as a child
        has a connection, the worker at its other end does not see that it has ended."""
        self._closed = True
        for listening in self._listening:
            listening.close()
        for connection in list(self._connections):
            connection.close()


def _shut(connection: Connection) -> None:
    with (contextlib.suppress(OSError),
          socket.socket(fileno=os.dup(connection.fileno())) as ending):
        ending.shutdown(socket.SHUT_RDWR)


def _end(connection: Connection) -> None:
    _shut(connection)
    connection.close()


_desks: weakref.WeakSet[Desk] = weakref.WeakSet()


def _close_in_child() -> None:
    for desk in list(_desks):
        desk.close_in_child()


os.register_at_fork(after_in_child=_close_in_child)


def _names() -> list[str]:
    """Names and addresses by which other machines may know this one."""
    name = socket.gethostname()
    found = [name, socket.getfqdn()]
    with contextlib.suppress(OSError):
        found += [str(info[4][0]) for info in socket.getaddrinfo(name, None, socket.AF_INET)]
    with (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
          contextlib.suppress(OSError)):
        probe.connect(("192.0.2.1", 9))  # sends nothing; chooses the interface that leads out
        found.append(probe.getsockname()[0])
    return list(dict.fromkeys(found))
