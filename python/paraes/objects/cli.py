"""`paraes-objects`: the command line."""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from paraes.exceptions import InvalidTag, WrongKey
from paraes.objects._flags import UsageError, parser

SYSTEM, USAGE, DAMAGED, WRONG = 1, 2, 4, 5

_SECRETS = ("key_file", "key_command", "key_hex", "passphrase_file", "passphrase_fd",
            "passphrase_env", "passphrase_command", "recipient", "recipients_file", "identity")

# The keyword arguments of secrets and the format, where they are not called as their flags.
_FLAGS = {"key": "key_hex", "recipients": "recipient", "context": "context_hex"}
_KEYWORDS = ("key_file", "key_command", "key", "recipients", "recipients_file", "identity",
             "format", "context", "segment_size", "tink_hash", "key_bits", "scrypt_log2n",
             "max_scrypt_log2n")
# Those of encrypt() and the like.
_SETTINGS = ("part_size", "overwrite", "state", "keep", "restart")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


# ---- Secrets


def _without_newline(data: bytes) -> bytes:
    return data.removesuffix(b"\n").removesuffix(b"\r") if data.endswith(b"\n") else data


def _passphrase(arguments: argparse.Namespace) -> bytes | None:
    if arguments.passphrase_file == "-":
        return _without_newline(sys.stdin.buffer.read())
    for place in (arguments.passphrase_file, arguments.passphrase_fd):
        if place is not None:
            with open(place, "rb") as file:
                return _without_newline(file.read())
    if arguments.passphrase_env is not None:
        value = os.environb.get(os.fsencode(arguments.passphrase_env))
        if value is None:
            raise UsageError(f"--passphrase-env: there is no variable {arguments.passphrase_env}")
        return _without_newline(value)
    if arguments.passphrase_command is not None:
        done = subprocess.run(["/bin/sh", "-c", arguments.passphrase_command],
                              stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise UsageError("--passphrase-command: the command failed with exit status "
                              f"{done.returncode}")
        return _without_newline(done.stdout)
    return None


def _ask(verb: str) -> bytes:
    if not os.path.exists("/dev/tty") or not sys.stderr.isatty():
        raise UsageError("name a key: --key-file, --key-command, a passphrase, or recipients")
    given = getpass.getpass("Passphrase: ")
    if verb == "encrypt" and getpass.getpass("The same again: ") != given:
        raise UsageError("the two passphrases differ")
    return os.fsencode(given)


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of the secrets and the format."""
    given = [name for name in _SECRETS if getattr(arguments, name, None) is not None]
    kinds = {"recipients" if name.startswith("recipient") else name for name in given}
    if len(kinds) > 1:
        raise UsageError("name one kind of secret, not " +
                          " and ".join("--" + name.replace("_", "-") for name in given))
    found = {name: getattr(arguments, _FLAGS.get(name, name), None) for name in _KEYWORDS}
    if arguments.key_file == "-":
        raise UsageError("--key-file: workers cannot read standard input: name a file, or take "
                          "--key-command")
    passphrase = _passphrase(arguments)
    if passphrase is None and not given:
        passphrase = _ask(arguments.verb)
    found["passphrase"] = passphrase
    return {name: value for name, value in found.items() if value is not None}


# ---- Workers


def _check_workers(arguments: argparse.Namespace) -> None:
    kinds = [flag for flag, value in (("--workers", arguments.workers),
                                      ("--processes", arguments.processes),
                                      ("--dask", arguments.dask), ("--mpi", arguments.mpi or None))
             if value is not None]
    if len(kinds) > 1:
        raise UsageError(f"take one of {' and '.join(kinds)}")
    if arguments.dask is None and (arguments.tls_ca_file or arguments.tls_cert
                                   or arguments.tls_key):
        raise UsageError("--tls-…: these go with --dask")
    for flag in ("workers", "processes"):
        number = getattr(arguments, flag)
        if number is not None and number < 1:
            raise UsageError(f"--{flag}: at least 1, not {number}")


@contextlib.contextmanager
def _executor(arguments: argparse.Namespace) -> Iterator[Any]:
    """The executor that the flags name, or None for threads."""
    if arguments.dask is not None:
        try:
            from distributed import Client
            from distributed.security import Security
        except ImportError as error:
            raise UsageError(f"--dask: {error} (pip install 'paraes[dask]')") from None
        security = None
        if arguments.tls_ca_file or arguments.tls_cert or arguments.tls_key:
            security = Security(tls_ca_file=arguments.tls_ca_file,
                                tls_client_cert=arguments.tls_cert,
                                tls_client_key=arguments.tls_key, require_encryption=True)
        with Client(arguments.dask, security=security) as client:
            yield client
    elif arguments.processes is not None:
        with ProcessPoolExecutor(arguments.processes, get_context("spawn")) as pool:
            yield pool
    else:
        yield None


def _run_as_rank(arguments: argparse.Namespace) -> int:
    """Rank 0 does what main() does, and the others work for it."""
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor
    except (ImportError, RuntimeError) as error:  # the package, or the library of MPI
        raise UsageError(f"--mpi: {error} (pip install 'paraes[mpi]', and an MPI)") from None
    if MPI.COMM_WORLD.Get_size() < 2:
        raise UsageError("--mpi: start it with at least two ranks, as in `mpiexec -n 17 "
                          "paraes-objects …`: one tells the others what to do")
    status = 0
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
        if executor is not None:
            status = _reported(arguments, executor)
    return status


# ---- What a person sees


def _amount(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1000
    raise AssertionError


class _Progress:
    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._shown = 0.0
        self._is_open = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._begin < 0.5 or (now - self._shown < 0.2 and done != total):
            return
        self._shown = now
        share = 100 if total == 0 else 100 * done // total
        rate = done / (now - self._begin)
        print(f"\r\x1b[K{share:3} %  {_amount(done)} of {_amount(total)}, {_amount(rate)}/s",
              end="", file=sys.stderr, flush=True)
        self._is_open = True

    def end(self) -> None:
        if self._is_open:
            print(file=sys.stderr)


def _shown(text: object) -> str:
    """Text that cannot control the terminal."""
    return "".join(one if one.isprintable() or one == " " else one.encode(
        "unicode_escape").decode() for one in str(text))


def _say(text: object) -> None:
    print(f"paraes-objects: {_shown(text)}", file=sys.stderr)


def _status_of(error: BaseException) -> int:
    if isinstance(error, _Terminated):
        return 128 + error.number
    if isinstance(error, WrongKey):
        return WRONG
    if isinstance(error, InvalidTag):
        return DAMAGED
    if isinstance(error, FileExistsError | UsageError | TypeError | ValueError):
        return USAGE  # fsspec and Dask raise ValueError for URLs that they do not know
    return SYSTEM


def _text_of(error: BaseException) -> str:
    if isinstance(error, _Terminated):
        return "interrupted"
    if isinstance(error, ImportError):
        return f"{error} (pip install s3fs for S3, gcsfs for Google, adlfs for Microsoft)"
    return str(error) or type(error).__name__


class _Terminated(BaseException):
    """Ctrl-C, SIGTERM or SIGHUP."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _terminate(number: int, _: object) -> None:
    # The first one cleans up, and nothing is to interrupt that.
    for other in _SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise _Terminated(number)


def _call(arguments: argparse.Namespace, executor: Any,
          progress: Callable[[int, int], object] | None) -> dict[str, Any]:
    from paraes import objects

    common: dict[str, Any] = {"executor": executor, "workers": arguments.workers,
                              "progress": progress, **_options(arguments)}
    given = vars(arguments)
    common |= {name: given[name] for name in _SETTINGS if name in given}
    for name in ("source_options", "target_options"):
        if name in given:
            common[name] = dict(given[name])
    places = [getattr(arguments, name) for name in ("source", "target") if name in arguments]
    try:
        result = getattr(objects, arguments.verb)(*places, **common)
    finally:
        common.clear()
    return {"bytes": result.bytes, "parts": result.parts}


def _reported(arguments: argparse.Namespace, executor: Any) -> int:
    """Do what the flags say, print what became of it, and return the exit status."""
    begin = time.monotonic()
    wants = arguments.progress
    shows = not arguments.quiet and (sys.stderr.isatty() if wants is None else wants)
    progress = _Progress() if shows else None
    answer: dict[str, Any] = {"input": getattr(arguments, "source", None),
                              "output": getattr(arguments, "target", None), "bytes": None,
                              "parts": None}
    status, text = 0, "ok"
    error: BaseException | None = None
    try:
        answer.update(_call(arguments, executor, progress))
    except (Exception, _Terminated) as caught:
        error, status, text = caught, _status_of(caught), _text_of(caught)
    if progress is not None:
        progress.end()
    seconds = time.monotonic() - begin
    if arguments.json:
        print(json.dumps({**answer, "seconds": seconds, "status": text, "exit": status}))
    if error is not None:
        _say(text)
        for note in getattr(error, "__notes__", ()):
            _say(note)
    elif not arguments.quiet and not arguments.json:
        done = {"encrypt": "encrypted", "resume": "encrypted", "decrypt": "decrypted",
                "verify": "verified"}[arguments.verb]
        name = getattr(arguments, "target", None) or arguments.source
        rate = f", {_amount(answer['bytes'] / seconds)}/s" if seconds > 0 else ""
        print(_shown(f"{name}: {done} {_amount(answer['bytes'])} in {seconds:.1f} s{rate}"),
              file=sys.stderr)
    return status


def _list(arguments: argparse.Namespace) -> int:
    from paraes.objects import interrupted

    found = interrupted()
    for one in found:
        if arguments.json:
            print(json.dumps(one._asdict()))
        else:
            what = "runs now" if one.running else f"{one.verb} was interrupted"
            print(_shown(f"{one.target}: {what}: from {one.source}, {_amount(one.bytes)}, "
                         f"{one.parts_done} of {one.parts} parts stored ({one.state})"))
    if not found and not arguments.quiet:
        _say("nothing was interrupted")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    if arguments.verb == "list":
        return _list(arguments)
    if arguments.verb == "abort":
        from paraes import objects

        objects.abort(arguments.target, target_options=dict(arguments.target_options),
                      state=arguments.state)
        if arguments.json:
            print(json.dumps({"input": None, "output": arguments.target, "status": "ok",
                              "exit": 0}))
        return 0
    _check_workers(arguments)
    if arguments.mpi:
        return _run_as_rank(arguments)
    with _executor(arguments) as executor:
        return _reported(arguments, executor)


def main(argv: Sequence[str] | None = None) -> int:
    warnings.showwarning = lambda message, *_: _say(message)
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    try:
        return _run(parser().parse_args(argv))
    except (Exception, _Terminated) as error:
        _say(_text_of(error))
        return _status_of(error)
