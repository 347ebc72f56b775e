"""Large objects by many workers: `pip install 'paraes[objects]'`.

encrypt(), decrypt() and verify() cut an object into parts of whole segments, and let threads,
processes, MPI or Dask read, compute and store them. What they write is what paraes.encrypt_file
writes, and everything else of paraes reads it. resume() and abort() deal with what a run left that
was interrupted. docs/how-to/object-storage.md has examples, `paraes-objects` is the command.
"""

from __future__ import annotations

import base64
import binascii
import errno
import os
import secrets
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Executor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

try:
    import fsspec as _fsspec
except ImportError as _error:
    raise ImportError("paraes.objects needs fsspec 2025.10.0 or later: "
                      "pip install 'paraes[objects]'") from _error

from paraes import _native
from paraes._messages import MessagesBelow
from paraes.exceptions import Error, IntegrityError, InvalidArgument, InvalidTag, _file_error
from paraes.objects import _state
from paraes.objects._engines import Claim, Dask, Engine, engine_of
from paraes.objects._parts import segments_of_parts
from paraes.objects._places import (
    LocalSource,
    LocalTarget,
    Source,
    SourceChanged,
    Target,
    current_umask,
    source_of,
    target_of,
    warn,
)
from paraes.objects._state import State
from paraes.objects._work import Job, OwnKey, SentKey

if TYPE_CHECKING:
    from fsspec.core import OpenFile
    from typing_extensions import Buffer, Unpack

    from paraes.files import Path

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

_TRIES = 3  # to encrypt a source that changes


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
    """An encryption that was interrupted, or goes on now."""

    target: str
    source: str
    bytes: int  # of plaintext
    parts: int
    parts_done: int
    state: str  # the file
    running: bool


class ObjectResult(NamedTuple):
    """What was done with an object."""

    output: str  # the URL of what was written, or was verified
    bytes: int  # of plaintext
    parts: int


_FORMAT = ("context", "format", "segment_size", "tink_hash")
_SECRETS = ("key", "key_file", "passphrase", "recipients", "recipients_file", "identity")
_TO_SEAL = ("key", "key_file", "passphrase", "recipients", "recipients_file", "key_bits",
            "scrypt_log2n", *_FORMAT)
_TO_OPEN = ("key", "key_file", "passphrase", "identity", "max_scrypt_log2n", *_FORMAT)


class _Keys:
    """The secret of a call: what the coordinator uses, and what the workers get."""

    def __init__(self, options: Any, seals: bool) -> None:
        try:
            self._take(options, _TO_SEAL if seals else _TO_OPEN, seals)
        finally:
            options.clear()  # tracebacks show no secrets

    def _take(self, options: dict[str, Any], names: tuple[str, ...], seals: bool) -> None:
        command = options.pop("key_command", None)
        for name in list(options):
            if name not in names:
                raise TypeError(f"there is no option {name!r}")
        format_options = {name: options[name] for name in _FORMAT if options.get(name) is not None}
        if "context" in format_options:
            format_options["context"] = bytes(format_options["context"])
        file = options.get("key_file")
        self.own: OwnKey | None = None  # how the workers read the key
        if command is not None:
            if any(options.get(name) is not None for name in _SECRETS):
                raise InvalidArgument("key_command: another secret is given, too")
            self.own = OwnKey(None, command, format_options)
            self.secret: _native.Secret = self.own.secret()
            return
        if file is not None:
            self.own = OwnKey(file, None, format_options)
        options["threads"] = 1
        self.secret = _native.Secret(seals, options)

    def for_workers(self, message: _native.Segments, engine: Engine) -> OwnKey | SentKey:
        """How the workers get the key of the message. In this process, they share it."""
        if self.own is not None:
            return self.own
        if engine.why_no_key is not None:
            raise InvalidArgument(f"key: {engine.why_no_key}")
        return SentKey(message.parts())


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
    Each worker needs memory for two parts.
    overwrite: whether an existing target is replaced. Not set, it is a FileExistsError.

    What has left is recorded in a file, `state`, which has no key; without a name, it is below
    ~/.local/state/paraes. If a run is interrupted, resume() goes on and abort() gives up; another
    encrypt() refuses until then, unless `restart`, which gives the interrupted one up. After an
    exception that may have a passing cause, such as of the network, the upload is kept for that,
    unless keep=False; after any other, and KeyboardInterrupt, nothing is left.
    If the source changes meanwhile, its encryption starts anew, up to three times.

    progress(done, total), with bytes of plaintext, is called in this thread after each part; its
    exceptions end the work. Errors as of paraes.encrypt_file, and those of fsspec and the executor.
    """
    keys = _Keys(options, True)
    to = target_of(target, target_options, overwrite)
    path = _place_of_state(to, state)
    run = _Run(engine_of(executor, workers), keys, progress, keep)
    run.check_engine(to)
    _clear_the_way(path, to, restart)
    return run.encrypt(lambda: source_of(source, source_options), to, part_size, path)


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
    keys = _Keys(options, False)
    to = target_of(target, target_options, True)
    run = _Run(engine_of(executor, workers), keys, progress, keep)
    return run.resume(_path_of_state(to, state), to, source_options)


def abort(target: Place, *, target_options: dict[str, Any] | None = None,
          state: Path | None = None) -> None:
    """Give up an encryption of this target that was interrupted: remove its parts and its state.
    FileNotFoundError if nothing is there."""
    to = target_of(target, target_options, True)
    _abort(State.load(_path_of_state(to, state)), to)


def interrupted() -> list[Interrupted]:
    """The encryptions whose states are in the default folder."""
    found = []
    for path in _state.default_paths():
        try:
            state, running = State.look(path)
            facts = state.facts
            found.append(Interrupted(facts["target"], facts["source"], facts["bytes"],
                                     facts["parts"], len(state.done), path, running))
        except (OSError, InvalidArgument, KeyError) as error:
            warn(f"{path}: {error}")
    return found


def decrypt(source: Place, target: Place, *, executor: Workers = None, workers: int | None = None,
            part_size: int | None = None, overwrite: bool = False,
            source_options: dict[str, Any] | None = None,
            target_options: dict[str, Any] | None = None,
            progress: Callable[[int, int], object] | None = None,
            **options: Unpack[OpenObjectOptions]) -> ObjectResult:
    """Decrypt the object `source` to `target`, which appears when all of it is authenticated.

    IntegrityError if it is damaged or truncated, WrongKey if its key is another one. Whatever goes
    wrong, nothing is left. Everything else as in encrypt().
    """
    keys = _Keys(options, False)
    to = target_of(target, target_options, overwrite)
    run = _Run(engine_of(executor, workers), keys, progress, False)
    run.check_engine(to)
    return run.decrypt(source_of(source, source_options), to, part_size)


def verify(source: Place, *, executor: Workers = None, workers: int | None = None,
           part_size: int | None = None, source_options: dict[str, Any] | None = None,
           progress: Callable[[int, int], object] | None = None,
           **options: Unpack[OpenObjectOptions]) -> ObjectResult:
    """Authenticate all of an object, and write nothing. Everything else as in decrypt()."""
    keys = _Keys(options, False)
    run = _Run(engine_of(executor, workers), keys, progress, False)
    return run.decrypt(source_of(source, source_options), None, part_size)


# ---- What is left of earlier runs


def _place_of_state(target: Target, state: Path | None) -> str:
    if state is None:
        return _state.default_path(target.url)
    return os.path.abspath(os.fsdecode(state))


def _path_of_state(target: Target, state: Path | None) -> str:
    path = _place_of_state(target, state)
    if not _state.exists(path):
        raise _file_error(errno.ENOENT, f"{target.url}: no interrupted encryption of it is known: "
                          f"there is no {path}", path)
    return path


def _clear_the_way(path: str, target: Target, restart: bool) -> None:
    if not _state.exists(path):
        return
    old = State.load(path)
    if not restart:
        old.close()
        raise _file_error(errno.EEXIST, f"{target.url}: an encryption of it was interrupted: "
                          f"resume it, abort it, or restart it ({path})", path)
    _abort(old, target)


def _check_target(state: State, target: Target) -> None:
    if state.facts.get("target") != target.url:
        raise InvalidArgument(f"{state.path}: it is the state of {state.facts.get('target')}, not "
                              f"of {target.url}")


def _abort(state: State, target: Target) -> None:
    try:
        _check_target(state, target)
        target.go_on(state.facts["upload"])
        target.abort()
        state.remove()
    finally:
        state.close()


class _Run:
    def __init__(self, engine: Engine, keys: _Keys, progress: Callable[[int, int], object] | None,
                 keep: bool) -> None:
        self._engine = engine
        self._keys = keys
        self._progress = progress
        self._keep = keep

    def check_engine(self, target: Target) -> None:
        target.check()
        if target.in_order and (isinstance(self._engine, Dask) or self._engine.why_no_key):
            raise InvalidArgument(f"target: {type(target.fs).__name__} takes an object in order, "
                                  "from this machine: take threads or processes, or a target on S3 "
                                  "or in a folder of all workers")

    def _check_files(self, source: Source, target: Target | None) -> None:
        """Neither side is the file of a key, and they are not the same object."""
        if isinstance(source, LocalSource):
            self._keys.secret.check_file(source.path)
        if isinstance(target, LocalTarget):
            self._keys.secret.check_file(target.path)
        if target is None:
            return
        same = source.url == target.url
        if isinstance(source, LocalSource) and isinstance(target, LocalTarget):
            same = os.path.exists(target.path) and os.path.samefile(source.path, target.path)
        if same:
            raise InvalidArgument(f"{target.path}: it is the source itself: choose another target")

    # ---- Encrypting

    def encrypt(self, open_source: Callable[[], Source], target: Target, part_size: int | None,
                path: str) -> ObjectResult:
        for attempt in range(_TRIES):
            source = open_source()
            self._check_files(source, target)
            message = self._keys.secret.new_segments()
            per_part = segments_of_parts(message, source.size, part_size)
            _take_attributes(source, target, encrypts=True)
            job = self._job("encrypt", source, target, message, source.size, per_part)
            target.begin()
            state: State | None = None
            try:
                if not target.in_order:
                    state = State.create(path, {
                        "source": source.url, "source_version": source.version,
                        "target": target.url, "overwrite": target.overwrite, "bytes": source.size,
                        "part_size": part_size, "segments": per_part,
                        "parts": job.made()[1].count,
                        "header": base64.b64encode(job.header).decode(),
                        "upload": target.facts()})
            except BaseException:
                self._give_up(target, None)
                raise
            try:
                return self._finish(job, state, {})
            except SourceChanged:
                if attempt + 1 == _TRIES:
                    raise self._changed(source) from None
        raise AssertionError

    def _changed(self, source: Source) -> Error:
        return _file_error(errno.ESTALE, f"{source.path}: it changed while it was read; nothing "
                           "was written: try again when no other program works on it",
                           source.path)

    def _job(self, verb: str, source: Source, target: Target | None, message: _native.Segments,
             plain_bytes: int, per_part: int) -> Job:
        job = Job(secrets.token_hex(16), verb, source, target, message.header, plain_bytes,
                  per_part, self._keys.for_workers(message, self._engine)
                  if not self._engine.same_process else None)
        job.use(message)
        return job

    def resume(self, path: str, target: Target,
               source_options: dict[str, Any] | None) -> ObjectResult:
        state = State.load(path)
        try:
            _check_target(state, target)
            job, done = self._job_of(state, target, source_options)
        except BaseException:
            state.close()
            raise
        if done is not None:
            try:
                return self._finish(job, state, done)
            except SourceChanged:
                pass
        else:
            tags = [state.done[number] for number in sorted(state.done)]
            count = job.made()[1].count
            # The run may have ended between the last answer of the store and the end of its state.
            if len(tags) == count and target.has_all(tags):
                state.remove()
                return ObjectResult(target.url, job.plain_bytes, count)
            self._give_up(target, state)
        target.check()
        return self.encrypt(lambda: source_of(job.source.url, source_options),
                            type(target)(target.fs, target.path, target.overwrite),
                            state.facts.get("part_size"), path)

    def _job_of(self, state: State, target: Target, source_options: dict[str, Any] | None,
                ) -> tuple[Job, dict[int, str] | None]:
        """What an earlier run was doing, and the parts that the target has; None instead if it
        has to start anew."""
        facts = state.facts
        try:
            header = base64.b64decode(facts["header"])
            place, size, per_part = facts["source"], facts["bytes"], facts["segments"]
            version, target.overwrite = facts["source_version"], facts["overwrite"]
            upload = facts["upload"]
        except (KeyError, TypeError, binascii.Error):
            raise InvalidArgument(f"{state.path}: the state is damaged: abort the object") from None
        message = self._keys.secret.segments(header)
        source = source_of(place, source_options)
        _take_attributes(source, target, encrypts=True)
        self._check_files(source, target)
        job = self._job("encrypt", source, target, message, size, per_part)
        there = target.go_on(upload)
        # A part without a claim: the state is an old copy, and others may have left, too.
        if there is None or source.size != size or not state.claims.keys() >= there.keys():
            return job, None
        if source.proves_version and source.version != version:
            return job, None
        return job, {number: tag for number, tag in there.items() if state.done.get(number) == tag}

    def _finish(self, job: Job, state: State | None, done: dict[int, str]) -> ObjectResult:
        """Do all parts and complete the object, or leave what encrypt() says."""
        target = job.target
        assert target is not None
        try:
            claim: Claim = state.claim if state is not None else (lambda number, mark: True)
            tags = self._do_parts(job, claim, done, state)
            job.source.check()
            self._check_files(job.source, target)
            target.complete(tags, job.made()[1].sealed_bytes if job.verb == "encrypt"
                            else job.plain_bytes)
        except BaseException as error:
            if state is not None and self._may_pass(error):
                state.close()
                _add_note(error, f"What was stored is kept: resume {target.url}, or abort it.")
                raise
            self._give_up(target, state)
            raise
        if state is not None:
            state.remove()
        return ObjectResult(target.url, job.plain_bytes, job.made()[1].count)

    def _may_pass(self, error: BaseException) -> bool:
        if not self._keep or isinstance(error, InvalidArgument | InvalidTag | FileExistsError):
            return False
        if isinstance(error, OSError) and error.errno == errno.ESTALE:
            return False
        return isinstance(error, OSError | BrokenExecutor | TimeoutError | Error)

    def _give_up(self, target: Target, state: State | None) -> None:
        try:
            target.abort()
        except Exception as error:
            where = ""
            if state is not None:
                state.close()
                where = f"; abort it when the store can be reached (the state is {state.path})"
            warn(f"{target.url}: parts of it may be left: {error}{where}")
            return
        if state is not None:
            state.remove()

    def _do_parts(self, job: Job, claim: Claim, there: dict[int, str],
                  state: State | None) -> list[str]:
        _, parts = job.made()
        engine = self._engine
        tags: dict[int, str] = dict(there)
        done = 0
        skipped = {number for number in there if job.source.proves_version}
        for number in skipped:
            done += parts[number].plain_bytes
        todo = iter([number for number in range(parts.count) if number not in skipped])
        in_order = job.target is not None and job.target.in_order
        waiting: dict[int, Any] = {}
        written = under_way = 0

        def submit() -> bool:
            number = next(todo, None)
            if number is None:
                return False
            engine.submit(number, number in there)
            return True

        self._report(done, parts.plain_bytes)
        try:
            # Before a worker can ask: start() may make what answers.
            engine.start(job, claim)
            while under_way < engine.window and submit():
                under_way += 1
            while under_way:
                number, result = engine.next()
                under_way -= 1
                if in_order:
                    waiting[number] = result
                    while written in waiting:
                        assert job.target is not None
                        job.target.put(written, *waiting.pop(written))
                        tags[written] = ""
                        written += 1
                elif result is not None:
                    tags[number] = result
                    if state is not None:
                        state.add_done(number, result)
                done += parts[number].plain_bytes
                self._report(done, parts.plain_bytes)
                # Parts that wait for their turn take memory, too.
                while under_way + len(waiting) < engine.window and submit():
                    under_way += 1
        except BrokenExecutor as error:
            raise Error(f"a worker has died, and with it its executor: {error}") from error
        finally:
            engine.stop()
        return [tags[number] for number in range(parts.count) if number in tags]

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    # ---- Decrypting

    def decrypt(self, source: Source, target: Target | None,
                part_size: int | None) -> ObjectResult:
        self._check_files(source, target)
        never: Claim = lambda number, mark: False  # noqa: E731
        try:
            message, plain_bytes = self._open(source)
            per_part = segments_of_parts(message, plain_bytes, part_size)
            verb = "verify" if target is None else "decrypt"
            job = self._job(verb, source, target, message, plain_bytes, per_part)
            if target is None:
                self._do_parts(job, never, {}, None)
                source.check()
                return ObjectResult(source.url, plain_bytes, job.made()[1].count)
            _take_attributes(source, target, encrypts=False)
            target.begin()
            return self._finish(job, None, {})
        except SourceChanged:
            raise self._changed(source) from None
        except IntegrityError as error:
            # Perhaps nothing is damaged, but another object was read in the end.
            try:
                source.check()
            except SourceChanged:
                raise self._changed(source) from error
            raise

    def _open(self, source: Source) -> tuple[_native.Segments, int]:
        """The message, whose header and end are authenticated."""
        below = MessagesBelow(source.fs, lambda: self._keys.secret)
        message = below.open([source.path], {})[0]
        if isinstance(message, Exception):
            raise message
        if message.sealed_size != source.size:
            raise SourceChanged(source.path)
        return message.segments, message.size


def _take_attributes(source: Source, target: Target, *, encrypts: bool) -> None:
    """From file to file, mode and time are kept, as paraes.encrypt_file does."""
    if isinstance(source, LocalSource) and isinstance(target, LocalTarget):
        status = os.stat(source.path)
        mode = status.st_mode & 0o777
        target.mode = mode if encrypts else mode & ~current_umask()
        target.modified = status.st_mtime_ns


def _add_note(error: BaseException, text: str) -> None:
    """As add_note() of Python 3.11."""
    error.__dict__.setdefault("__notes__", []).append(text)

