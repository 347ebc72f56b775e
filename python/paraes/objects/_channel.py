"""How workers of other processes ask the coordinator whether a part may leave.

A worker connects, shows that it has the key of this run (a random one, which it got with its task),
says the number of a part and the hash of its plaintext, and waits for the answer, which comes when
the hash is on the coordinator's disk. Only numbers and hashes go this way.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from typing import Any

from paraes.exceptions import Error

_QUESTION = struct.Struct(">Q32s")
_YES, _NO = b"yes", b"no"
_LONGEST = 20  # seconds until a worker that has connected asks
_MOST_CONNECTIONS = 1024


class Address:
    """Where the coordinator listens, for its own machine and for others."""

    def __init__(self, host: str, path: str, port: int | None, names: list[str],
                 key: bytes) -> None:
        self.host = host
        self.path = path
        self.port = port
        self.names = names
        self.key = key

    def __repr__(self) -> str:
        return f"<the coordinator at {self.host}>"

    def _connect(self) -> Any:
        failures = []
        if socket.gethostname() == self.host:
            try:
                return Client(self.path, "AF_UNIX", self.key)
            except (OSError, AuthenticationError) as error:
                failures.append(str(error))
        if self.port is None:
            raise Error("the workers are on another machine than the program that started them: "
                        "take executors of Dask or mpi4py for that")
        for name in self.names:
            try:
                return Client((name, self.port), "AF_INET", self.key)
            except (OSError, AuthenticationError) as error:
                failures.append(f"{name}: {error}")
        raise Error(f"{socket.gethostname()}: cannot reach the program that started this worker "
                    f"on port {self.port} of {self.host}; it has to say when a part may leave: "
                    + "; ".join(failures))

    def claim(self, number: int, mark: bytes) -> bool:
        with self._connect() as connection:
            connection.send_bytes(_QUESTION.pack(number, mark))
            try:
                answer = connection.recv_bytes(16)
            except EOFError:
                raise Error("the program that started this worker has ended, or could not write "
                            "its state") from None
        return bool(answer == _YES)


class Desk:
    """Answers workers, each in a thread of its own, until it is closed.

    claim: what decides; remote: whether workers may be on other machines.
    """

    def __init__(self, claim: Callable[[int, bytes], bool], remote: bool) -> None:
        self._claim = claim
        self.error: BaseException | None = None
        key = secrets.token_bytes(32)
        path = f"\0paraes-{secrets.token_hex(16)}"  # in no folder
        self._listeners = [Listener(path, "AF_UNIX", backlog=64)]
        port = None
        names = []
        if remote:
            self._listeners.append(Listener(("0.0.0.0", 0), "AF_INET", backlog=64))
            port = self._listeners[1].address[1]
            names = _names()
        self.address = Address(socket.gethostname(), path, port, names, key)
        self._closed = False
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        for listener in self._listeners:
            threading.Thread(target=self._listen, args=(listener,), daemon=True,
                             name="paraes-claims").start()

    def _listen(self, listener: Listener) -> None:
        while not self._closed:
            try:
                connection = listener.accept()
            except OSError:
                if not self._closed:
                    time.sleep(0.05)  # too many open files, perhaps
                continue
            with self._lock:
                if self._closed or len(self._connections) >= _MOST_CONNECTIONS:
                    connection.close()
                    continue
                self._connections.add(connection)
            threading.Thread(target=self._answer, args=(connection,), daemon=True,
                             name="paraes-claim").start()

    def _answer(self, connection: Connection) -> None:
        try:
            try:
                _limit(connection)
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
            try:
                connection.send_bytes(answer)
            except OSError:
                pass  # the worker was killed
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def close(self) -> None:
        self._closed = True
        for listener in self._listeners:
            # accept() of another thread goes on waiting after close().
            is_unix = not isinstance(listener.address, tuple)
            try:
                with socket.socket(socket.AF_UNIX if is_unix else socket.AF_INET) as waking:
                    waking.connect(listener.address if is_unix
                                   else ("127.0.0.1", listener.address[1]))
            except OSError:
                pass
            listener.close()
        with self._lock:
            for connection in self._connections:
                # Wakes who reads from it; the thread closes it.
                with socket.socket(fileno=os.dup(connection.fileno())) as ending:
                    try:
                        ending.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass


def _limit(connection: Connection) -> None:
    """End a connection whose other side is silent."""
    with socket.socket(fileno=os.dup(connection.fileno())) as limited:
        limited.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _LONGEST, 0))


def _names() -> list[str]:
    """Names and addresses by which other machines may know this one."""
    name = socket.gethostname()
    found = [name, socket.getfqdn()]
    try:
        found += [str(info[4][0]) for info in socket.getaddrinfo(name, None, socket.AF_INET)]
    except OSError:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; chooses the interface that leads out
            found.append(probe.getsockname()[0])
        except OSError:
            pass
    return list(dict.fromkeys(found))
