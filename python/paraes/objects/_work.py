"""What a worker does with a part, and where it has its key from."""

from __future__ import annotations

import os
import pickle
import secrets
import socket
import subprocess
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from paraes import _native
from paraes._recent import Recent
from paraes.exceptions import Error, InvalidArgument, Unavailable
from paraes.objects._buffers import buffer
from paraes.objects._parts import Part, Parts
from paraes.objects._sources import LocalSource, Source, SourceChanged
from paraes.objects._targets import Target

_MOST_KEY_BYTES = 1 << 16


def _output_of(command: str) -> bytes:
    done = subprocess.run(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=False)
    status, output = done.returncode, done.stdout
    del done  # tracebacks show no secrets
    if status == 0 and len(output) < _MOST_KEY_BYTES:
        return output
    del output
    if status != 0:
        raise InvalidArgument(f"key_command: it failed with exit status {status}")
    raise InvalidArgument("key_command: what it prints is no key: it is too long")


def key_of_command(command: str, options: dict[str, Any]) -> _native.Secret:
    """The secret that a shell command prints, by the rules of a key file."""
    reading, writing = os.pipe()
    try:
        with open(writing, "wb") as pipe:
            pipe.write(_output_of(command))
        try:
            return _native.Secret(False, {**options, "key_file": f"/dev/fd/{reading}"})
        except Error as error:
            text = str(error).replace(f"/dev/fd/{reading}", "key_command").replace(
                "key_file: ", "")
            raise InvalidArgument(text) from None
    finally:
        os.close(reading)


class SentKey:
    """The key of one message. It is in no repr, and so in no log."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self._parts = parts

    def message(self) -> _native.Segments:
        return _native.Segments(self._parts, 1)

    def __repr__(self) -> str:
        return "<the key of a message>"


class OwnKey:
    """How a worker reads the key by itself."""

    def __init__(self, key_file: Any, key_command: str | None, options: dict[str, Any]) -> None:
        self.key_file = None if key_file is None else os.path.abspath(os.fspath(key_file))
        self.key_command = key_command
        self.options = {**options, "threads": 1}

    def secret(self) -> _native.Secret:
        if self.key_command is not None:
            return key_of_command(self.key_command, self.options)
        return _native.Secret(False, {**self.options, "key_file": self.key_file})

    def message(self, header: bytes) -> _native.Segments:
        return self.secret().segments(header)


class Job:
    """What all parts of an object have in common. Workers get it pickled."""

    def __init__(self, verb: str, source: Source, target: Target | None,
                 message: _native.Segments, plain_bytes: int, per_part: int,
                 key: OwnKey | SentKey | None) -> None:
        self.token = secrets.token_hex(16)  # of this run
        self.verb = verb
        self.source = source
        self.target = target
        self.header = message.header
        self.proof = message.proof(b"worker")
        self.plain_bytes = plain_bytes
        self.per_part = per_part
        self.key = key  # None: it comes in another way
        self._made: tuple[_native.Segments, Parts] | None = None
        self._use(message)
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def _use(self, message: _native.Segments) -> None:
        # Not every format shows that the key is another one, such as an old file on one machine.
        if message.proof(b"worker") != self.proof:
            raise Unavailable(f"{socket.gethostname()}: the key of this worker is not that of the "
                              "object")
        self._made = (message, Parts(message, self.plain_bytes, self.per_part))

    def made(self) -> tuple[_native.Segments, Parts]:
        with self._lock:  # age and commands run once
            if self._made is None:
                self._use(self._message())
            assert self._made is not None
            return self._made

    @property
    def parts(self) -> Parts:
        return self.made()[1]

    def _message(self) -> _native.Segments:
        if self.key is None:
            raise NeedsKey
        if isinstance(self.key, SentKey):
            return self.key.message()
        try:
            return self.key.message(self.header)
        except (Error, OSError) as error:
            # The program that started this worker could read it: what one lacks may pass.
            raise Unavailable(f"{socket.gethostname()}: this worker cannot read the key: "
                              f"{error}") from None


class NeedsKey(Exception):
    """This process has not got the key of the message yet."""


class Packed(bytes):
    """A pickled Job. It may have a key, so it shows nothing of itself."""

    def __repr__(self) -> str:
        return "<an object of paraes>"

    __str__ = __repr__


_jobs: Recent[str, Job] = Recent(4)
_jobs_lock = threading.Lock()


def pack(job: Job) -> Packed:
    return Packed(pickle.dumps(job))


def unpack(token: str, packed: Packed) -> Job:
    """The job, which this process keeps for its next parts."""
    with _jobs_lock:
        job = _jobs.get(token)
        if job is None:
            job = pickle.loads(packed)
            _jobs.put(token, job)
        return job


def forget(token: str) -> None:
    with _jobs_lock:
        _jobs.drop(token)


class Sealed(NamedTuple):
    """A part before it leaves."""

    part: Part
    data: Any
    mark: bytes


def _seal_to(job: Job, message: _native.Segments, part: Part, out: memoryview) -> None:
    segments = (part.first, part.after)
    if isinstance(job.source, LocalSource):
        if not message.seal_file(job.source.path, part.plain[0], part.plain_bytes, segments,
                                 part.ends, out):
            raise SourceChanged(job.source.path)
        job.source.check()
    else:
        message.seal(part.first, part.ends, job.source.read(*part.plain), out)


def _open_to(job: Job, message: _native.Segments, part: Part, out: Any) -> None:
    header = len(job.header) if part.number == 0 else 0
    begin, end = part.sealed[0] + header, part.sealed[1]
    if isinstance(job.source, LocalSource):
        if not message.open_file(job.source.path, begin, end - begin, (part.first, part.after),
                                 part.ends, out):
            raise SourceChanged(job.source.path)
        job.source.check()
    else:
        message.open_into(part.first, part.ends, job.source.read(begin, end), out)


def _memory(job: Job, size: int, keeps: bool) -> Any:
    """Memory for a part. keeps: whether the caller keeps it after this thread's next part."""
    # A part that is only verified goes to memory that is used again.
    if keeps or job.target is not None and not job.target.reuses_buffers:
        return bytearray(size)
    return buffer("part", size)


def seal(job: Job, number: int, keeps: bool) -> Sealed:
    """Read and seal a part."""
    message, parts = job.made()
    part = parts[number]
    header = len(job.header) if number == 0 else 0
    out = _memory(job, part.sealed_bytes, keeps)
    view = memoryview(out)
    view[:header] = job.header[:header]
    _seal_to(job, message, part, view[header:])
    return Sealed(part, out, message.fingerprint(part.first, view[header:]))


def send(job: Job, sealed: Sealed) -> str:
    assert job.target is not None
    return job.target.put(sealed.part.number, sealed.part.sealed[0], sealed.data)


def encrypt_part(job: Job, number: int, claim: Callable[[int, bytes], bool],
                 has_it: bool) -> str | None:
    """Seal and send a part, unless another plaintext was sealed as this part. has_it: the target
    has the part; only that the plaintext is still the same is to be shown."""
    sealed = seal(job, number, keeps=False)
    if not claim(number, sealed.mark):
        raise SourceChanged(job.source.path)
    return None if has_it else send(job, sealed)


def open_part(job: Job, number: int, keeps: bool) -> tuple[Part, Any]:
    """Read and authenticate a part, and return its plaintext."""
    message, parts = job.made()
    part = parts[number]
    out = _memory(job, part.plain_bytes, keeps)
    _open_to(job, message, part, out)
    return part, out


def decrypt_part(job: Job, number: int) -> str | None:
    """Open a part, and write its plaintext unless there is no target."""
    part, plain = open_part(job, number, keeps=False)
    if job.target is None or part.plain_bytes == 0 and number > 0:
        return None
    return job.target.put(number, part.plain[0], plain)
