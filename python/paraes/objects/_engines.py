"""Who does the parts: threads, processes, MPI, or Dask. All of these are other people's engines."""

from __future__ import annotations

import asyncio
import concurrent.futures
import ipaddress
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from paraes.exceptions import InvalidArgument
from paraes.objects import _work
from paraes.objects._buffers import forget_buffers
from paraes.objects._channel import Address, Desk
from paraes.objects._sources import SourceChanged
from paraes.objects._work import Job, NeedsKey, Packed, SentKey

if TYPE_CHECKING:
    from distributed import Client

Claim = Callable[[int, bytes], bool]

_MOST_THREADS = 32
_LONGEST_UNUSED = 86_400  # seconds that a worker of Dask keeps a key
_TIMEOUTS = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)


def cores() -> int:
    return len(os.sched_getaffinity(0))


class Engine:
    """Does parts of one object at a time, in any order."""

    same_process = False  # whether it hands parts over without another process in between
    same_machine = True
    why_no_key: str | None = None  # why the key of a message must not travel to the workers
    window = 1  # how many parts to have under way

    def start(self, job: Job, claim: Claim) -> None: ...

    def submit(self, number: int, has_it: bool) -> None:
        raise NotImplementedError

    def next(self) -> tuple[int, Any]:
        """A part that is done, and what became of it. Raises what a worker has raised."""
        raise NotImplementedError

    def stop(self) -> None:
        """End all work on the object; when this returns, nothing more leaves."""


# ---- Executors of concurrent.futures


def _part(job: Job, number: int, has_it: bool, claim: Claim) -> Any:
    if job.target is not None and job.target.in_order:
        if job.verb == "encrypt":
            sealed = _work.seal(job, number, keeps=True)
            return sealed.part.sealed[0], sealed.data
        part, plain = _work.open_part(job, number, keeps=True)
        return part.plain[0], plain
    if job.verb == "encrypt":
        return _work.encrypt_part(job, number, claim, has_it)
    return _work.decrypt_part(job, number)


def _part_elsewhere(token: str, packed: Packed, number: int, has_it: bool,
                    address: Address) -> Any:
    try:
        return _part(_work.unpack(token, packed), number, has_it, address.claim)
    finally:
        forget_buffers()


def _forget_elsewhere(token: str) -> None:
    _work.forget(token)
    time.sleep(0.02)  # so that every process gets one of these


class _Futures(Engine):
    def __init__(self, executor: Executor | None, workers: int) -> None:
        self._executor = executor
        self._workers = workers
        self.window = 2 * workers  # so that no worker waits for this thread
        self._futures: dict[Future[Any], int] = {}

    def _start(self, number: int, function: Callable[..., Any], *arguments: Any) -> None:
        assert self._executor is not None
        self._futures[self._executor.submit(function, *arguments)] = number

    def next(self) -> tuple[int, Any]:
        # The wait has a limit, or a signal would wait for the end of a part.
        done: set[Future[Any]] = set()
        while not done:
            done = concurrent.futures.wait(self._futures, 0.5,
                                           concurrent.futures.FIRST_COMPLETED).done
        future = done.pop()
        return self._futures.pop(future), future.result()

    def stop(self) -> None:
        while True:
            try:
                for future in self._futures:
                    future.cancel()
                concurrent.futures.wait(self._futures)
                break
            except BaseException:
                # Another signal: what is under way must end before anything is cleaned up.
                continue
        self._futures.clear()


class Threads(_Futures):
    same_process = True

    def __init__(self, executor: ThreadPoolExecutor | None, workers: int | None) -> None:
        self._given = executor
        if executor is not None:
            workers = executor._max_workers
        elif workers is None:
            workers = min(max(2 * cores(), 4), _MOST_THREADS)
        elif workers < 1:
            raise InvalidArgument(f"workers: it is at least 1, not {workers}")
        super().__init__(executor, workers)

    def start(self, job: Job, claim: Claim) -> None:
        self._executor = self._given or ThreadPoolExecutor(self._workers, "paraes-part")
        self._job = job
        self._claim = claim

    def submit(self, number: int, has_it: bool) -> None:
        self._start(number, _part, self._job, number, has_it, self._claim)

    def stop(self) -> None:
        super().stop()
        if self._given is not None:
            for _ in range(self._workers):  # as many as there are threads, with luck
                self._given.submit(forget_buffers)
        elif self._executor is not None:
            self._executor.shutdown()


class Pool(_Futures):
    """Other processes: of this machine, or those of mpi4py."""

    def __init__(self, executor: Executor, is_mpi: bool) -> None:
        workers = getattr(executor, "num_workers" if is_mpi else "_max_workers", None) or cores()
        super().__init__(executor, workers)
        self._is_mpi = is_mpi
        self.same_machine = not is_mpi
        self._desk: Desk | None = None
        if is_mpi:
            self.why_no_key = ("MPI does not encrypt what it sends: let the workers read the key, "
                               "with key_file= or key_command=")

    def start(self, job: Job, claim: Claim) -> None:
        self._token = job.token
        self._packed = _work.pack(job)
        self._desk = Desk(claim, self._is_mpi)

    def submit(self, number: int, has_it: bool) -> None:
        assert self._desk is not None
        self._start(number, _part_elsewhere, self._token, self._packed, number, has_it,
                    self._desk.address)

    def next(self) -> tuple[int, Any]:
        try:
            return super().next()
        except Exception:
            # A worker knows only that it got no answer.
            if self._desk is not None and self._desk.error is not None:
                raise self._desk.error from None
            raise

    def stop(self) -> None:
        if self._desk is not None:
            self._desk.close()  # no part leaves any more that has not been allowed to
        super().stop()
        self._desk = None
        assert self._executor is not None
        try:
            for _ in range(self._workers):  # as many as there are processes
                self._executor.submit(_forget_elsewhere, self._token)
        except BrokenExecutor:
            self._executor.shutdown()  # some of its processes may still run


# ---- Dask


class _Prepared:
    """A sealed part in the memory of a worker, or why there is none."""

    def __init__(self, sealed: _work.Sealed | None, worker: str) -> None:
        self.sealed = sealed
        self.worker = worker

    def __repr__(self) -> str:
        return "<a sealed part>"

    def __sizeof__(self) -> int:  # Dask asks
        return 100 + (len(self.sealed.data) if self.sealed is not None else 0)


# The keys that this worker was given, and when it used them last.
_sent: dict[str, tuple[SentKey, float]] = {}


def _put_key(token: str, key: SentKey) -> None:
    _sent[token] = (key, time.monotonic())
    _drop_key_later(token)


def _drop_key_later(token: str) -> None:
    """Drop a key that nobody uses: the program that gave it may have been killed. If not, it gives
    the key once more."""
    used = _sent[token][1] if token in _sent else 0.0
    left = used + _LONGEST_UNUSED - time.monotonic()
    if left <= 0:
        _drop_key(token)
        return
    timer = threading.Timer(left, _drop_key_later, [token])
    timer.daemon = True
    timer.start()


def _drop_key(token: str) -> None:
    _sent.pop(token, None)
    _work.forget(token)


def _here() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _unpack_here(token: str, packed: Packed) -> Job:
    job = _work.unpack(token, packed)
    if job.key is None and token in _sent:
        job.key = _sent[token][0]
        _sent[token] = (job.key, time.monotonic())
    return job


def _prepare(token: str, packed: Packed, number: int) -> _Prepared:
    try:
        job = _unpack_here(token, packed)
        return _Prepared(_work.seal(job, number, keeps=True), _here())
    except NeedsKey:
        return _Prepared(None, _here())
    finally:
        forget_buffers()


def _mark(prepared: _Prepared) -> tuple[bytes | None, str]:
    return None if prepared.sealed is None else prepared.sealed.mark, prepared.worker


def _send(token: str, packed: Packed, prepared: _Prepared, mark: bytes) -> tuple[str, Any]:
    # Dask may have prepared the part again, because the worker that had it is lost.
    if prepared.sealed is None:
        return "key", prepared.worker
    if prepared.sealed.mark != mark:
        raise SourceChanged
    return "done", _work.send(_work.unpack(token, packed), prepared.sealed)


def _open(token: str, packed: Packed, number: int) -> tuple[str, Any]:
    try:
        return "done", _work.decrypt_part(_unpack_here(token, packed), number)
    except NeedsKey:
        return "key", _here()
    finally:
        forget_buffers()


_LOST = "Dask has lost the task, or the connection to its scheduler"


class Dask(Engine):
    """Parts are sealed by one task and sent by another, which gets the hash that is on the disk."""

    same_machine = False

    def __init__(self, client: Client) -> None:
        if client.asynchronous:
            raise InvalidArgument("executor: an asynchronous client of Dask cannot be used")
        self._client = client
        threads = sum(client.nthreads().values())
        if threads == 0:
            raise InvalidArgument("executor: this cluster of Dask has no workers")
        self.window = 2 * threads
        self._attempts = 0
        self._has_it: dict[int, bool] = {}
        self._futures: dict[Any, tuple[str, int, Any]] = {}
        self._key: SentKey | None = None
        # Names and arguments of Dask's tasks must not contain secrets.
        self.why_no_key = self._why_no_key()

    def _why_no_key(self) -> str | None:
        info = self._client.scheduler_info(n_workers=-1)
        scheduler: Any = self._client.scheduler
        addresses = [scheduler.address, info["address"], *info["workers"]]
        for address in addresses:
            url = urlsplit(address)
            if url.scheme in ("tls", "wss", "inproc"):
                continue
            if url.scheme in ("tcp", "ws") and _is_loopback(url.hostname or ""):
                continue
            return (f"Dask would send the key of the message over {address}, which is not "
                    "encrypted. Turn TLS on, as in Client(address, security=Security("
                    "require_encryption=True, tls_ca_file=…, tls_client_cert=…, "
                    "tls_client_key=…)) with a scheduler and workers started alike, or let the "
                    "workers read the key, with key_file= or key_command=")
        return None

    def start(self, job: Job, claim: Claim) -> None:
        self._claim = claim
        self._verb = job.verb
        self._token = job.token
        # Two minutes, and 1 MB/s for what is under way.
        self._longest = 120 + job.parts[0].sealed_bytes * self.window // 1_000_000
        if isinstance(job.key, SentKey):
            self._key, job.key = job.key, None
        self._packed = _work.pack(job)
        if self._key is not None:
            self._give_key(None)

    def _give_key(self, worker: str | None) -> None:
        # A new worker may have another kind of address.
        why = self._why_no_key()
        if why is not None:
            raise InvalidArgument(f"key: {why}")
        self._client.run(_put_key, self._token, self._key,
                         workers=None if worker is None else [worker], on_error="raise")

    def _task(self, stage: str, number: int, function: Any, *arguments: Any) -> Any:
        self._attempts += 1
        return self._client.submit(
            function, *arguments, pure=False, retries=0,
            key=f"paraes-{stage}-{self._token[:8]}-{number}-{self._attempts}")

    def _do(self, stage: str, number: int, held: Any, function: Any, *arguments: Any) -> None:
        self._futures[self._task(stage, number, function, *arguments)] = (stage, number, held)

    def submit(self, number: int, has_it: bool) -> None:
        self._has_it[number] = has_it
        if self._verb != "encrypt":
            self._do("open", number, None, _open, self._token, self._packed, number)
            return
        prepared = self._task("seal", number, _prepare, self._token, self._packed, number)
        self._do("mark", number, prepared, _mark, prepared)

    def next(self) -> tuple[int, Any]:
        from distributed import wait

        while True:
            try:
                done = wait(list(self._futures), timeout=0.5, return_when="FIRST_COMPLETED").done
            except _TIMEOUTS:
                continue
            except concurrent.futures.CancelledError as error:
                raise BrokenExecutor(_LOST) from error
            for future in done:
                stage, number, held = self._futures.pop(future)
                result = self._result(future)
                if stage == "mark":
                    mark, worker = result
                    if mark is None:
                        self._again(number, worker)
                    elif not self._claim(number, mark):
                        raise SourceChanged
                    elif self._has_it[number]:
                        return number, None
                    else:
                        self._do("send", number, held, _send, self._token, self._packed, held, mark)
                elif result[0] == "key":
                    self._again(number, result[1])
                else:
                    return number, result[1]

    @staticmethod
    def _result(future: Any) -> Any:
        from distributed.scheduler import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            raise BrokenExecutor(str(error)) from error
        except concurrent.futures.CancelledError as error:
            raise BrokenExecutor(_LOST) from error

    def _again(self, number: int, worker: str) -> None:
        if self._key is None:
            raise InvalidArgument(f"worker {worker} has no key")
        self._give_key(worker)
        self.submit(number, self._has_it[number])

    def stop(self) -> None:
        from distributed import wait

        # Dask lets what runs go on, so who stores something is waited for.
        storing = [future for future, (stage, _, _) in self._futures.items() if stage != "mark"]
        others = [future for future in self._futures if future not in storing]
        self._futures.clear()
        for step in (lambda: self._client.cancel(others, force=True),
                     lambda: wait(storing, timeout=self._longest) if storing else None,
                     lambda: self._client.cancel(storing, force=True),
                     self._drop_keys):
            try:
                step()
            except BaseException:
                # A client that is closed, a scheduler that is gone, another signal: what has failed
                # before is the error to tell, and the next steps are still to be done.
                pass

    def _drop_keys(self) -> None:
        if self._key is not None:
            self._key = None
            self._client.run(_drop_key, self._token, on_error="ignore")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def engine_of(executor: Any, workers: int | None) -> Engine:
    """The engine of what the caller passed: None, an executor, or a client of Dask."""
    if executor is None:
        return Threads(None, workers)
    if workers is not None:
        raise InvalidArgument("workers: the executor has its own number of them")
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(executor, None)
    kind = f"{type(executor).__module__}.{type(executor).__qualname__}"
    if kind.startswith("distributed."):
        client = getattr(executor, "_client", executor)  # of Client.get_executor()
        from distributed import Client

        if not isinstance(client, Client):
            raise InvalidArgument(f"executor: a distributed.Client is needed, not {kind}")
        return Dask(client)
    if not isinstance(executor, Executor):
        raise InvalidArgument("executor: it is one of concurrent.futures or mpi4py.futures, or a "
                              f"distributed.Client, not {kind}")
    is_mpi = any(base.__module__.startswith("mpi4py.") for base in type(executor).__mro__)
    engine = Pool(executor, is_mpi)
    if not is_mpi and not isinstance(executor, concurrent.futures.ProcessPoolExecutor):
        engine.same_machine = False
        engine.why_no_key = (f"nobody knows how {kind} sends it: let the workers read the key, "
                             "with key_file= or key_command=")
    return engine
