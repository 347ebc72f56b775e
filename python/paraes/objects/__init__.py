"""Large objects by many workers: `pip install 'paraes[objects]'`.

encrypt(), decrypt() and verify() cut an object into parts of whole segments, and let threads,
processes, MPI or Dask read, compute and store them. What they write is what paraes.encrypt_file
writes, and everything else of paraes reads it. resume() and abort() deal with what a run left that
was interrupted. docs/how-to/object-storage.md has examples, `paraes-objects` is the command.
"""

from __future__ import annotations

import errno
import hmac
import os
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Executor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict, cast

try:
    import fsspec as _fsspec
except ImportError as _error:
    raise ImportError("paraes.objects needs fsspec 2025.10.0 or later: "
                      "pip install 'paraes[objects]'") from _error

from paraes import _native
from paraes._messages import MessagesBelow
from paraes.exceptions import (
    Error,
    IntegrityError,
    InvalidArgument,
    InvalidTag,
    WrongKey,
    _file_error,
)
from paraes.objects import _state
from paraes.objects._engines import Claim, Dask, Engine, engine_of
from paraes.objects._parts import segments_of_parts
from paraes.objects._sources import LocalSource, Source, SourceChanged, source_of
from paraes.objects._state import Facts, State
from paraes.objects._stores import identity, warn
from paraes.objects._targets import LocalTarget, Target, current_umask, target_of
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
    keys = _Keys(options, True)
    to = target_of(target, target_options, overwrite)
    run = _Run(engine_of(executor, workers), keys, progress, keep, _place_of_state(to, state))
    return run.encrypt(lambda: source_of(source, source_options), to, part_size, restart)


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
    run = _Run(engine_of(executor, workers), keys, progress, keep, _path_of_state(to, state))
    return run.resume(to, source_options)


def abort(target: Place, *, target_options: dict[str, Any] | None = None,
          state: Path | None = None) -> None:
    """Give up what an interrupted run has left of this target: remove its parts and its state.
    FileNotFoundError if nothing is there."""
    to = target_of(target, target_options, True)
    _abort(State.load(_path_of_state(to, state)), to)


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
    keys = _Keys(options, False)
    to = target_of(target, target_options, overwrite)
    run = _Run(engine_of(executor, workers), keys, progress, False, _place_of_state(to, state))
    return run.decrypt(source_of(source, source_options), to, part_size)


def verify(source: Place, *, executor: Workers = None, workers: int | None = None,
           part_size: int | None = None, source_options: dict[str, Any] | None = None,
           progress: Callable[[int, int], object] | None = None,
           **options: Unpack[OpenObjectOptions]) -> ObjectResult:
    """Authenticate all of an object, and write nothing. Everything else as in decrypt()."""
    keys = _Keys(options, False)
    run = _Run(engine_of(executor, workers), keys, progress, False, "")
    return run.decrypt(source_of(source, source_options), None, part_size)


# ---- What is left of earlier runs


def _place_of_state(target: Target, state: Path | None) -> str:
    if state is None:
        return _state.default_path(identity(target.fs, target.path))
    return os.path.abspath(os.fsdecode(state))


def _path_of_state(target: Target, state: Path | None) -> str:
    path = _place_of_state(target, state)
    if not _state.exists(path):
        raise _file_error(errno.ENOENT, f"{target.url}: no interrupted run of it is known: there "
                          f"is no {path}", path)
    return path


def _take_over(state: State, target: Target) -> None:
    facts = state.facts
    if facts.target != target.url:
        raise InvalidArgument(f"{state.path}: it is the state of {facts.target}, not of "
                              f"{target.url}")
    try:
        target.take_over(facts.upload)
    except (KeyError, TypeError):
        raise InvalidArgument(f"{state.path}: it is damaged: remove it, and what is left of "
                              f"{target.url}") from None


def _abort(state: State, target: Target) -> None:
    try:
        _take_over(state, target)
        target.abort()
        state.remove()
    finally:
        state.close()


class _Run:
    """One call. state_path: where its state is, or was left."""

    def __init__(self, engine: Engine, keys: _Keys, progress: Callable[[int, int], object] | None,
                 keep: bool, state_path: str) -> None:
        self._engine = engine
        self._keys = keys
        self._progress = progress
        self._keep = keep
        self._state_path = state_path

    # ---- Before anything is touched

    def _check(self, source: Source, target: Target | None) -> None:
        """Neither side is the file of a key, they are not the same object, and so on."""
        check_file = self._keys.secret.check_file
        if isinstance(source, LocalSource):
            check_file(source.path)
        if target is None:
            return
        same = identity(source.fs, source.path) == identity(target.fs, target.path)
        if isinstance(target, LocalTarget):
            check_file(target.path)
            target.syncs = not self._engine.same_machine
            if isinstance(source, LocalSource):
                same = _are_one(source.path, target.path)
        if same:
            raise InvalidArgument(f"{target.path}: it is the source itself: choose another target")
        check_file(self._state_path)
        for place in (source, target):
            if isinstance(place, LocalSource | LocalTarget) and (
                    place.path == self._state_path or _are_one(place.path, self._state_path)):
                raise InvalidArgument(f"state: {self._state_path} is the source or the target")
        if target.in_order and (isinstance(self._engine, Dask) or self._engine.why_no_key):
            raise InvalidArgument(f"target: {type(target.fs).__name__} takes an object in order, "
                                  "from this machine: take threads or processes, or a target on S3 "
                                  "or in a folder of all workers")

    def _clear_the_way(self, target: Target, restart: bool) -> None:
        if not _state.exists(self._state_path):
            return
        old = State.load(self._state_path)
        if old.facts.verb == "encrypt" and not restart:
            old.close()
            raise _file_error(errno.EEXIST, f"{target.url}: an encryption of it was interrupted: "
                              f"resume it, abort it, or restart it ({self._state_path})",
                              self._state_path)
        _abort(old, target)

    # ---- Encrypting

    def encrypt(self, open_source: Callable[[], Source], target: Target, part_size: int | None,
                restart: bool) -> ObjectResult:
        for attempt in range(_TRIES):
            source = open_source()
            self._check(source, target)
            message = self._keys.secret.new_segments()
            per_part = segments_of_parts(message, source.size, part_size)
            job = self._job("encrypt", source, target, message, source.size, per_part)
            if attempt == 0:
                target.check()
                self._clear_the_way(target, restart)
            state = self._begin(job, message, part_size)
            try:
                return self._finish(job, state, {})
            except SourceChanged:
                if attempt + 1 == _TRIES:
                    raise _changed(source) from None
        raise AssertionError

    def _begin(self, job: Job, message: _native.Segments, part_size: int | None) -> State | None:
        """Begin the target, and the state of the run if another process could take it over."""
        target = job.target
        assert target is not None
        _take_attributes(job.source, target, encrypts=job.verb == "encrypt")
        target.begin()
        if target.in_order:
            target.create()
            return None
        facts = Facts(job.verb, target.url, target.facts(), target.overwrite, job.source.url,
                      job.source.version, job.plain_bytes, part_size, job.per_part,
                      job.parts.count, _layout_of(message), job.header)
        state: State | None = None
        try:
            state = State.create(self._state_path, facts, message.proof(facts.text()))
            target.create()
        except BaseException:
            self._give_up(target, state)
            raise
        return state

    def _job(self, verb: str, source: Source, target: Target | None, message: _native.Segments,
             plain_bytes: int, per_part: int) -> Job:
        key = None if self._engine.same_process else self._keys.for_workers(message, self._engine)
        return Job(verb, source, target, message, plain_bytes, per_part, key)

    def resume(self, target: Target, source_options: dict[str, Any] | None) -> ObjectResult:
        state = State.load(self._state_path)
        try:
            if state.facts.verb != "encrypt":
                raise InvalidArgument(f"{target.url}: its decryption was interrupted: decrypt it "
                                      "again")
            job = self._job_of(state, target, source_options)
            if target.holds(job.header, job.parts.sealed_bytes):
                # The run ended between the last answer of the store and the end of its state.
                target.abort()
                state.remove()
                return ObjectResult(target.url, job.plain_bytes, job.parts.count)
            done = self._done(state, job)
        except BaseException:
            state.close()
            raise
        if done is not None:
            try:
                return self._finish(job, state, done)
            except SourceChanged:
                pass
        elif not self._give_up(target, state):
            raise _file_error(errno.EIO, f"{target.url}: the store cannot be reached", target.path)
        return self.encrypt(lambda: source_of(job.source.url, source_options),
                            type(target)(target.fs, target.path, target.overwrite),
                            state.facts.part_size, False)

    def _job_of(self, state: State, target: Target, source_options: dict[str, Any] | None) -> Job:
        """What an earlier run was doing."""
        facts = state.facts
        message = self._keys.secret.segments(facts.header)
        # The proof also covers the key of a format whose header does not show it, and finds a state
        # that somebody else has written.
        if not hmac.compare_digest(message.proof(facts.text()), state.proof):
            raise WrongKey(f"{state.path}: the run began with another key or context, or somebody "
                           "changed the state")
        if _layout_of(message) != facts.layout:
            raise InvalidArgument("format, segment_size: not those with which the run began")
        _take_over(state, target)
        target.overwrite = facts.overwrite
        source = source_of(facts.source, source_options)
        self._check(source, target)
        _take_attributes(source, target, encrypts=True)
        return self._job("encrypt", source, target, message, facts.plain_bytes, facts.segments)

    def _done(self, state: State, job: Job) -> dict[int, str] | None:
        """The parts that the target has, with their tags. None if the object has to start anew:
        the source is another one, the upload is gone, or the state is an old copy."""
        assert job.target is not None
        there = job.target.stored()
        if there is None or not state.claims.keys() >= there.keys():
            return None
        if job.source.version != state.facts.source_version:
            return None
        parts = job.parts
        return {number: tag for number, (tag, size) in there.items()
                if state.done.get(number) == tag and size == parts[number].sealed_bytes}

    def _finish(self, job: Job, state: State | None, done: dict[int, str]) -> ObjectResult:
        """Do all parts and complete the object, or leave what encrypt() says."""
        target = job.target
        assert target is not None
        encrypts = job.verb == "encrypt"
        try:
            claim: Claim = state.claim if state is not None else (lambda number, mark: True)
            tags = self._do_parts(job, claim, done, state)
            job.source.check()
            self._check(job.source, target)
            size = job.parts.sealed_bytes if encrypts else job.plain_bytes
            target.complete(tags, size, job.header if encrypts else b"")
        except BaseException as error:
            if state is not None and self._may_pass(error):
                state.close()
                _add_note(error, f"What was stored is kept: resume {target.url}, or abort it.")
                raise
            if not self._give_up(target, state) and isinstance(error, SourceChanged):
                raise _changed(job.source) from None
            raise
        if state is not None:
            state.remove()
        return ObjectResult(target.url, job.plain_bytes, job.parts.count)

    def _may_pass(self, error: BaseException) -> bool:
        if not self._keep or isinstance(error, InvalidArgument | InvalidTag | FileExistsError):
            return False
        if isinstance(error, OSError) and error.errno == errno.ESTALE:
            return False
        return isinstance(error, OSError | BrokenExecutor | TimeoutError | Error)

    def _give_up(self, target: Target, state: State | None) -> bool:
        """Leave nothing. False, with a warning, if that is not possible now."""
        try:
            target.abort()
        except Exception as error:
            where = ""
            if state is not None:
                state.close()
                where = f"; abort it when the store can be reached (the state is {state.path})"
            warn(f"{target.url}: parts of it may be left: {error}{where}")
            return False
        if state is not None:
            state.remove()
        return True

    def _do_parts(self, job: Job, claim: Claim, there: dict[int, str],
                  state: State | None) -> list[str]:
        """Returns the tags of all parts that are stored."""
        parts = job.parts
        engine = self._engine
        tags: dict[int, str] = dict(there)
        # The others are read and sealed again, to prove that they are still the same.
        skipped = set(there) if job.source.proves_version else set()
        done = sum(parts[number].plain_bytes for number in skipped)
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

        try:
            engine.start(job, claim)
            self._report(done, parts.plain_bytes)
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
        stored = [number for number in range(parts.count) if number in tags]
        # The last part of a plaintext may be empty, and is then not stored.
        if job.target is not None and len(stored) < parts.count - (job.verb == "decrypt"):
            raise RuntimeError(f"{job.target.url}: parts are missing")
        return [tags[number] for number in stored]

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    # ---- Decrypting

    def decrypt(self, source: Source, target: Target | None,
                part_size: int | None) -> ObjectResult:
        self._check(source, target)
        try:
            message, plain_bytes = self._open(source)
            per_part = segments_of_parts(message, plain_bytes, part_size)
            verb = "verify" if target is None else "decrypt"
            job = self._job(verb, source, target, message, plain_bytes, per_part)
            if target is None:
                self._do_parts(job, lambda number, mark: False, {}, None)
                source.check()
                return ObjectResult(source.url, plain_bytes, job.parts.count)
            target.check()
            self._clear_the_way(target, False)
            return self._finish(job, self._begin(job, message, part_size), {})
        except SourceChanged:
            raise _changed(source) from None
        except IntegrityError as error:
            # Perhaps nothing is damaged, but another object was read in the end.
            try:
                source.check()
            except SourceChanged:
                raise _changed(source) from error
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


def _layout_of(message: _native.Segments) -> list[Any]:
    """Sizes and rules of the format, in terms of JSON."""
    return list(cast("tuple[Any, ...]", message.parts()[3]))


def _changed(source: Source) -> Error:
    return _file_error(errno.ESTALE, f"{source.path}: it changed while it was read; nothing was "
                       "written: try again when no other program works on it", source.path)


def _are_one(left: str, right: str) -> bool:
    try:
        return os.path.samefile(left, right)
    except OSError:
        return False


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

