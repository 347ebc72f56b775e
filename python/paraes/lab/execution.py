"""Run one process of `paraes bench`, and end it with this one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paraes.lab import bench
from paraes.lab.errors import LabError

INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 10.0  # seconds for the bench to end after a signal


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived, which ends a measurement as Ctrl-C does."""


def _terminate(*_: Any) -> None:
    raise Terminated


@contextmanager
def _handled(handler: Any, *numbers: signal.Signals) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)


@contextmanager
def terminated_raises() -> Iterator[None]:
    """Let SIGTERM raise Terminated in the block."""
    with _handled(_terminate, signal.SIGTERM):
        yield


@contextmanager
def interruption_waits() -> Iterator[None]:
    """Delay KeyboardInterrupt and Terminated to the end of the block."""
    held: list[int] = []
    with _handled(lambda number, _: held.append(number), *INTERRUPTIONS):
        yield
    if held:
        raise Terminated if signal.SIGTERM in held else KeyboardInterrupt


def _abandon(process: subprocess.Popen[str]) -> None:
    """End the bench after an interruption, ignoring further ones until it has ended."""
    with _handled(signal.SIG_IGN, *INTERRUPTIONS):
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # it hangs in a driver, say
            process.kill()
            process.wait()


def _finish(command: list[str]) -> tuple[subprocess.Popen[str], str]:
    """Run `command` to its end; return the process and its standard error."""
    process = None
    try:
        # An interruption inside Popen could leave a child that nobody ends.
        with interruption_waits():
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        return process, process.communicate()[1]
    except BaseException:
        if process is not None:
            _abandon(process)
        raise


def _error_line(stderr: str) -> str:
    """Pick the line that says what went wrong: the last of paraes, else the first of any.

    mpirun surrounds its errors with lines of dashes and explains at length.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip("- \t")]
    own = [line for line in lines if line.startswith("paraes")]
    return own[-1] if own else lines[0] if lines else ""


def _not_one_job(command: list[str], ranks: int) -> str:
    return (
        f"{command[0]} did not start {ranks} ranks as one job: it belongs to another MPI than "
        "paraes-mpi"
    )


def execute(command: list[str], target: Path, ranks: int = 1) -> tuple[dict[str, Any] | None, str]:
    """Run the bench with its JSON beside `target`, then rename that to `target`.

    Returns (report, "") or (report, error), and None for a report that is missing or unusable.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            process, stderr = _finish([*command, "--json", str(temporary)])
        except OSError as error:
            return None, f"{command[0]}: cannot run: {error.strerror}"
        failure = _error_line(stderr) or f"exit status {process.returncode}"
        if not temporary.is_file():
            return None, failure
        try:
            report = bench.parse(temporary.read_text(encoding="utf-8"), str(temporary))
            rows = bench.from_object(report, str(temporary)).rows
        except LabError as error:
            # Ranks that are not connected each write the file, at the same time.
            unconnected = ranks > 1 and process.returncode == 0
            return None, _not_one_job(command, ranks) if unconnected else str(error)
        if rows and not any(row.ranks == ranks for row in rows):
            return None, _not_one_job(command, ranks)
        os.replace(temporary, target)
        return report, "" if process.returncode == 0 else failure
    finally:
        temporary.unlink(missing_ok=True)
