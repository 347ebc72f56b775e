"""The work of one call on an object: all of its parts, what is left if it is interrupted, and what
earlier calls have left."""

from __future__ import annotations

import errno
import hmac
import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import TYPE_CHECKING, Any, cast

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
from paraes.objects._engines import Claim, Dask, Engine
from paraes.objects._keys import Keys
from paraes.objects._parts import segments_of_parts
from paraes.objects._sources import LocalSource, Source, SourceChanged, source_of
from paraes.objects._state import Facts, State
from paraes.objects._stores import identity, warn
from paraes.objects._targets import LocalTarget, Target, current_umask
from paraes.objects._work import Job

if TYPE_CHECKING:
    from paraes.files import Path

_TRIES = 3  # to encrypt a source that changes


# ---- What is left of earlier runs


def place_of_state(target: Target, state: Path | None) -> str:
    if state is None:
        return _state.default_path(identity(target.fs, target.path))
    return os.path.abspath(os.fsdecode(state))


def path_of_state(target: Target, state: Path | None) -> str:
    path = place_of_state(target, state)
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


def abort_run(state: State, target: Target) -> None:
    try:
        _take_over(state, target)
        target.abort()
        state.remove()
    finally:
        state.close()


# ---- A run


class Run:
    """One call, whose methods return the job that was done. state_path: where its state is, or was
    left."""

    def __init__(self, engine: Engine, keys: Keys, progress: Callable[[int, int], object] | None,
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
        abort_run(old, target)

    # ---- Encrypting

    def encrypt(self, open_source: Callable[[], Source], target: Target, part_size: int | None,
                restart: bool) -> Job:
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

    def resume(self, target: Target, source_options: dict[str, Any] | None) -> Job:
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
                return job
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

    def _finish(self, job: Job, state: State | None, done: dict[int, str]) -> Job:
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
        return job

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
                part_size: int | None) -> Job:
        self._check(source, target)
        try:
            message, plain_bytes = self._open(source)
            per_part = segments_of_parts(message, plain_bytes, part_size)
            verb = "verify" if target is None else "decrypt"
            job = self._job(verb, source, target, message, plain_bytes, per_part)
            if target is None:
                self._do_parts(job, lambda number, mark: False, {}, None)
                source.check()
                return job
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

