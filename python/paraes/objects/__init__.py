"""Large objects by many workers: `pip install 'paraes[objects]'`.

encrypt(), decrypt() and verify() cut an object into parts of whole segments, and let threads,
processes, MPI or Dask read, compute and store them. What they write is what paraes.encrypt_file
writes, and everything else of paraes reads it. resume() and abort() deal with what a run left that
was interrupted. docs/how-to/object-storage.md has examples, `paraes-objects` is the command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

try:
    import fsspec as _fsspec
except ImportError as _error:
    raise ImportError("paraes.objects needs fsspec 2025.10.0 or later: "
                      "pip install 'paraes[objects]'") from _error

from paraes.exceptions import InvalidArgument
from paraes.objects import _state
from paraes.objects._engines import engine_of
from paraes.objects._keys import Keys
from paraes.objects._run import Run, abort_run, path_of_state, place_of_state
from paraes.objects._sources import source_of
from paraes.objects._state import State
from paraes.objects._stores import warn
from paraes.objects._targets import target_of

if TYPE_CHECKING:
    from fsspec.core import OpenFile
    from typing_extensions import Buffer, Unpack

    from paraes.files import Path
    from paraes.objects._work import Job

    Place: TypeAlias = str | os.PathLike[str] | OpenFile
    Workers: TypeAlias = Executor | Any  # None, or a distributed.Client

__all__ = [
    "Interrupted",
    "ObjectResult",
    "abort",
    "decrypt",
    "encrypt",
    "interrupted",
    "resume",
    "verify",
]

del _fsspec


class _Format(TypedDict, total=False):
    context: Buffer
    format: str
    segment_size: int
    tink_hash: str


class SealObjectOptions(_Format, total=False):
    """Exactly one of key, key_file, key_command, passphrase and recipients (or recipients_file)."""

    key: Buffer  # 16 or 32 bytes
    key_file: Path  # each worker reads it
    key_command: str  # each worker runs it in a shell, and takes what it prints
    passphrase: str | Buffer
    recipients: str | Iterable[str]
    recipients_file: Path | Iterable[Path]
    key_bits: int
    scrypt_log2n: int


class OpenObjectOptions(_Format, total=False):
    """Exactly one of key, key_file, key_command, passphrase and identity."""

    key: Buffer
    key_file: Path
    key_command: str
    passphrase: str | Buffer
    identity: Path | Iterable[Path]
    max_scrypt_log2n: int


class Interrupted(NamedTuple):
    """A run that was interrupted, or goes on now."""

    verb: str  # "encrypt" can be resumed, "decrypt" cannot
    target: str
    source: str
    bytes: int  # of plaintext
    parts: int
    parts_done: int
    state: str  # the file
    running: bool


class ObjectResult(NamedTuple):
    """The result of an operation on an object."""

    output: str  # the URL of what was written, or was verified
    bytes: int  # of plaintext
    parts: int


def _result(job: Job) -> ObjectResult:
    output = job.source.url if job.target is None else job.target.url
    return ObjectResult(output, job.plain_bytes, job.parts.count)


def encrypt(source: Place, target: Place, *, executor: Workers = None, workers: int | None = None,
            part_size: int | None = None, overwrite: bool = False,
            source_options: dict[str, Any] | None = None,
            target_options: dict[str, Any] | None = None, state: Path | None = None,
            restart: bool = False, keep: bool = True,
            progress: Callable[[int, int], object] | None = None,
            **options: Unpack[SealObjectOptions]) -> ObjectResult:
    """Encrypt the object `source` to the object `target`, which appears when it is complete.

    source, target: URLs and paths that fsspec opens, with the keyword arguments source_options and
    target_options of their file systems, or what fsspec.open() returns. S3 and local folders take
    parts from many workers; any other target takes them in order, from workers of this machine.
    executor: a ThreadPoolExecutor, ProcessPoolExecutor, MPIPoolExecutor, or distributed.Client.
    Without one, `workers` threads. Local paths have to mean the same at all workers.
    part_size: plaintext of a part in bytes, 5 MiB to 5 GiB; by the size of the source if not given.
    Each worker needs memory for up to three parts, and with Dask for two more.
    overwrite: whether an existing target is replaced. Not set, it is a FileExistsError.

    Parts that were uploaded are recorded in a file, `state`, which contains no key; without a name,
    it is below ~/.local/state/paraes. If a run is interrupted, resume() goes on and abort() gives
    up; another encrypt() refuses until then, unless `restart`, which gives the interrupted one up.
    After an exception that may have a passing cause, such as the network, the upload is kept for
    that, unless keep=False; after any other, and KeyboardInterrupt, nothing is left.
    If the source changes meanwhile, its encryption starts anew, up to three times.

    progress(done, total), with bytes of plaintext, is called in this thread after each part; its
    exceptions end the work. Errors as of paraes.encrypt_file, and those of fsspec and the executor.
    """
    keys = Keys(options, True)
    to = target_of(target, target_options, overwrite)
    run = Run(engine_of(executor, workers), keys, progress, keep, place_of_state(to, state))
    return _result(run.encrypt(lambda: source_of(source, source_options), to, part_size, restart))


def resume(target: Place, *, executor: Workers = None, workers: int | None = None,
           source_options: dict[str, Any] | None = None,
           target_options: dict[str, Any] | None = None, state: Path | None = None,
           keep: bool = True, progress: Callable[[int, int], object] | None = None,
           **options: Unpack[OpenObjectOptions]) -> ObjectResult:
    """Go on with an encryption of this target that was interrupted.

    All of the source is read again, unless its store refuses to read another version, as S3 does:
    each part that has left must be of the same plaintext. If one is not, or if the store has given
    up the upload, the object starts anew. That needs a secret that encrypts: with recipients, their
    identity= resumes, but cannot start anew. What the target has is not sent again. Everything else
    as in encrypt(). FileNotFoundError if nothing is there to resume.
    """
    keys = Keys(options, False)
    to = target_of(target, target_options, True)
    run = Run(engine_of(executor, workers), keys, progress, keep, path_of_state(to, state))
    return _result(run.resume(to, source_options))


def abort(target: Place, *, target_options: dict[str, Any] | None = None,
          state: Path | None = None) -> None:
    """Give up what an interrupted run has left of this target: remove its parts and its state.
    FileNotFoundError if nothing is there."""
    to = target_of(target, target_options, True)
    abort_run(State.load(path_of_state(to, state)), to)


def interrupted() -> list[Interrupted]:
    """The runs whose states are in the default folder."""
    found = []
    for path in _state.default_paths():
        try:
            state, running = State.look(path)
        except (OSError, InvalidArgument) as error:
            warn(str(error))
            continue
        facts = state.facts
        found.append(Interrupted(facts.verb, facts.target, facts.source, facts.plain_bytes,
                                 facts.parts, len(state.done), path, running))
    return found


def decrypt(source: Place, target: Place, *, executor: Workers = None, workers: int | None = None,
            part_size: int | None = None, overwrite: bool = False,
            source_options: dict[str, Any] | None = None,
            target_options: dict[str, Any] | None = None, state: Path | None = None,
            progress: Callable[[int, int], object] | None = None,
            **options: Unpack[OpenObjectOptions]) -> ObjectResult:
    """Decrypt the object `source` to `target`, which appears when all of it is authenticated.

    IntegrityError if it is damaged or truncated, WrongKey if its key is another one. Whatever goes
    wrong, nothing is left; what a crash has left, abort() or the next decrypt() removes. Everything
    else as in encrypt().
    """
    keys = Keys(options, False)
    to = target_of(target, target_options, overwrite)
    run = Run(engine_of(executor, workers), keys, progress, False, place_of_state(to, state))
    return _result(run.decrypt(source_of(source, source_options), to, part_size))


def verify(source: Place, *, executor: Workers = None, workers: int | None = None,
           part_size: int | None = None, source_options: dict[str, Any] | None = None,
           progress: Callable[[int, int], object] | None = None,
           **options: Unpack[OpenObjectOptions]) -> ObjectResult:
    """Authenticate all of an object, and write nothing. Everything else as in decrypt()."""
    keys = Keys(options, False)
    run = Run(engine_of(executor, workers), keys, progress, False, "")
    return _result(run.decrypt(source_of(source, source_options), None, part_size))
