"""Run `paraes bench`, and keep the result of every run.

One process makes several runs: those that differ in size only. What it wrote of each is kept in a
file whose name depends on the run's axes, the kind of machine, the program and the number of the
process. A process makes only the runs whose files are missing, so a call can be resumed.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paraes.lab import bench
from paraes.lab.calls import Left, now
from paraes.lab.costs import Paces, seconds_of
from paraes.lab.discovery import Machine
from paraes.lab.errors import LabError
from paraes.lab.execution import Terminated, execute, interruption_waits
from paraes.lab.files import dumps, locked, make_folder, write_whole
from paraes.lab.rows import SCHEMA
from paraes.lab.runs import Run
from paraes.lab.units import duration_text

MOST_SECONDS = 60.0  # of a process with several sizes: an interruption loses no more
LEAST_SECONDS = 5.0  # of processes, before their times correct the estimate


@dataclass
class Part:
    """The result of one run: bench JSON, and the command that made it.

    The command has the names of the programs without their folders: results are published, and
    should not show where somebody builds.
    """

    file: str | None
    command: list[str]
    report: dict[str, Any]
    papers: list[str] = field(default_factory=list)
    process: int = 0
    call: str | None = None  # when the call of paraes-lab began that measured it


def command_of(run: Run, machine: Machine, sizes: Sequence[int] = ()) -> list[str]:
    """Return the command of a process, which measures `sizes` rather than the run's own."""
    flags = run.arguments(machine.gpu, sizes)
    if machine.folder and run.scope == "file":
        flags += ["--dir", machine.folder]
    if machine.name:
        flags += ["--machine", machine.name]
    if run.ranks > 1:
        assert machine.mpi is not None
        return [*machine.mpi, "-n", str(run.ranks), str(machine.mpi_program), "bench", *flags]
    return [str(machine.program), "bench", *flags]


def _named(command: list[str], machine: Machine) -> list[str]:
    programs = {str(machine.program), str(machine.mpi_program)}
    return [Path(word).name if word in programs else word for word in command]


def part_file(run: Run, machine: Machine, process: int = 0) -> str:
    """Return the part's file name: readable, and unique for axes, machine, program and process."""
    words = [machine.identity, str(process), str(run.ranks), *run.arguments(machine.gpu)]
    words += [machine.folder or "", machine.name or ""]
    words += machine.gpu_facts if run.on_gpu else ()
    words += [machine.mpi_identity] if run.ranks > 1 else []
    key = hashlib.sha256("\0".join(words).encode())
    names = [run.scope, *run.arguments(machine.gpu)[3].split(","), *run.kernels, str(run.size)]
    readable = "-".join("".join(c if c.isalnum() else "_" for c in name) for name in names)
    return f"{readable}-{process + 1}-{key.hexdigest()[:16]}.json"


def _empty(skipped: list[dict[str, Any]]) -> dict[str, Any]:
    return {"schema": 1, "seed": None, "context": {}, "results": [], "skipped": skipped}


def sweep(folder: Path) -> None:
    """Remove temporary files of killed processes from `folder`, but not those of running ones."""
    for path in folder.glob(".*.json.*"):
        pid = path.name.rpartition(".")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            path.unlink(missing_ok=True)


def kept(path: Path) -> dict[str, Any] | None:
    """Return the report of an earlier call, or None if it is absent or damaged."""
    if not path.is_file():
        return None
    try:
        report = bench.parse(path.read_text(encoding="utf-8"), str(path))
        bench.from_object(report, str(path))
    except (LabError, OSError, UnicodeDecodeError):
        return None
    rows = [*report.get("results", []), *report.get("skipped", [])]
    return report if rows and isinstance(report.get("made", {}), dict) else None


@dataclass
class _Step:
    """One process of one run: where its part is kept, or the rows that it skips.

    `rest` is what can be measured here; None if that is nothing.
    """

    index: int  # of the run among all
    run: Run
    papers: list[str]
    process: int
    rest: Run | None
    skipped: list[dict[str, Any]]
    path: Path | None
    part: Part | None = None  # once it is known
    alone: bool = False  # needs a process of its own, because one with others has failed

    def finish(self, report: dict[str, Any], command: list[str], file: str | None) -> None:
        """Set the part."""
        own = report.get("made", {})
        report = {**report, "skipped": [*report.get("skipped", []), *self.skipped]}
        made = own.get("command") or command
        self.part = Part(file, made, report, self.papers, self.process, own.get("call"))


def _step(
    index: int, run: Run, papers: list[str], process: int, machine: Machine, folder: Path
) -> _Step:
    """Return what one process of a run has to do on this machine."""
    skipped: list[dict[str, Any]] = []
    rest: Run | None = run
    if run.on_gpu and machine.gpu is None:
        # Listed once, however many processes there are.
        skipped = [run.absent(machine.gpu_reason or "no GPU")] if process == 0 else []
        rest = run.without_gpu()
    if rest is not None and rest.ranks > 1 and machine.mpi_reason is not None:
        skipped += rest.skipped("cpu", machine.mpi_reason)
        rest = None
    path = folder / part_file(rest, machine, process) if rest is not None else None
    return _Step(index, run, papers, process, rest, skipped, path)


def steps_of(
    runs: Iterable[tuple[Run, list[str]]], machine: Machine, folder: Path, processes: int
) -> list[list[_Step]]:
    """List the processes of all runs, in rounds: those that one process of the bench can make.

    A round has one process of every run, so the processes of one run are spread over the whole
    time.
    """
    listed = list(runs)
    groups: dict[Run, list[int]] = {}
    for index, (run, _) in sorted(enumerate(listed), key=lambda item: item[1][0].size):
        groups.setdefault(run.implementation, []).append(index)
    alike = list(groups.values())
    return [
        [_step(index, *listed[index], process, machine, folder) for index in alike[group]]
        for process, group in rounds(len(alike), processes)
    ]


def _load(step: _Step, machine: Machine) -> bool:
    """Set the part of a step that is kept or not possible; tell whether it was."""
    if step.rest is None or step.path is None:
        step.finish(_empty([]), [], None)
        return True
    report = kept(step.path)
    if report is None:
        return False
    step.finish(report, _named(command_of(step.rest, machine), machine), step.path.name)
    return True


def first_batch(lacking: Sequence[_Step], paces: Paces, most: float = math.inf) -> list[_Step]:
    """Return the steps that the next process makes: as many sizes as end within MOST_SECONDS.

    Each process ends within `most` seconds; if none would, there are none. A step whose process
    has failed with others is alone.
    """
    batch: list[_Step] = []
    for step in lacking:
        longer = seconds_of(_rests([*batch, step]), paces)
        if longer > most or (batch and (longer > MOST_SECONDS or step.alone)):
            continue
        batch.append(step)
        if step.alone:
            break
    return batch


def _rests(steps: Iterable[_Step]) -> list[Run]:
    return [step.rest for step in steps if step.rest is not None]


def batches_of(lacking: Sequence[_Step], paces: Paces) -> list[list[_Step]]:
    """Divide steps of runs that differ in size only into processes of the bench."""
    left, found = list(lacking), []
    while left:
        batch = first_batch(left, paces)
        found.append(batch)
        left = [step for step in left if step not in batch]
    return found


def _of_size(report: dict[str, Any], size: int, made: dict[str, Any]) -> dict[str, Any]:
    """Return what a process reported of one size; a device that is absent is listed with each."""

    def own(name: str, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
        return [row for row in report.get(name, []) if row.get("bytes") in sizes]

    rows = {"results": own("results", (size,)), "skipped": own("skipped", (size, 0, None))}
    return {**report, **rows, "made": made}


def _bench(batch: list[_Step], machine: Machine, folder: Path) -> tuple[dict | None, str, list]:
    """Run one process of the bench; return its report, a complaint, and its command."""
    rest = _rests(batch)[0]
    command = command_of(rest, machine, [run.size for run in _rests(batch)])
    # Named as sweep expects, should this process be killed.
    target = folder / f".{part_file(rest, machine, batch[0].process)}.{os.getpid()}"
    report, complaint = execute(command, target, rest.ranks)
    target.unlink(missing_ok=True)
    return report, complaint, command


def _make(
    batch: list[_Step], machine: Machine, folder: Path, call: str, warn: Callable[[str], None]
) -> None:
    """Measure the steps in one process of the bench, and keep a part of each.

    Without a report, each needs a process alone: one size may be too large. Alone, it gets skipped
    rows.
    """
    rest = _rests(batch)[0]
    report, complaint, command = _bench(batch, machine, folder)
    if report is None and os.strerror(errno.ENOSPC) in complaint:
        raise LabError(f"{folder}: {complaint}: make room, and run the same command again")
    if report is None and len(batch) > 1:
        for step in batch:
            step.alone = True
        return
    named = _named(command, machine)
    if complaint:
        warn(f"{rest.title(machine.gpu, [run.size for run in _rests(batch)])}: {complaint}")
    # The measurements are kept as a whole, however the call ends.
    with interruption_waits():
        for step, run in zip(batch, _rests(batch), strict=True):
            if report is None or step.path is None:
                device = machine.gpu if run.on_gpu else "cpu"
                failed = run.skipped(device, f"the bench failed: {complaint}")
                step.finish(_empty(failed), named, None)
                continue
            own = _of_size(report, run.size, {"call": call, "command": named})
            write_whole(step.path, dumps(own))
            step.finish(own, named, step.path.name)


def rounds(count: int, processes: int) -> Iterator[tuple[int, int]]:
    """Yield every process of `count` runs as (process, run), one process of every run in a round.

    So the processes of one run are spread over the whole time. The order changes from round to
    round, so that no run always follows the same other one, and is the same when resumed.
    """
    for process in range(processes):
        order = list(range(count))
        random.Random(process).shuffle(order)
        yield from ((process, index) for index in order)


def left_of(
    runs: Iterable[tuple[Run, list[str]]],
    machine: Machine,
    folder: Path,
    processes: int,
    paces: Paces,
) -> Left:
    """Estimate what is left to measure. Kept parts and runs that are not possible take no time."""
    left = Left()
    for steps in steps_of(runs, machine, folder, processes):
        lacking = [step for step in steps if step.path is not None and kept(step.path) is None]
        for batch in batches_of(lacking, paces):
            left.add(seconds_of(_rests(batch), paces))
    return left


class _Clock:
    """Corrects the estimate of what is left by what was measured so far."""

    def __init__(self, left: float, end: float | None) -> None:
        self.left = left
        self.end = end  # on the clock of time.monotonic()
        self.estimated = self.spent = 0.0

    @property
    def factor(self) -> float:
        """How many times as long as estimated the processes have taken."""
        if self.estimated < LEAST_SECONDS:
            return 1.0
        return self.spent / self.estimated

    def room(self) -> float:
        """Return the estimated seconds that a process may take to end in time."""
        if self.end is None:
            return math.inf
        return (self.end - time.monotonic()) / max(1.0, self.factor)

    def count(self, estimated: float, began: float) -> None:
        """Count a process that has ended."""
        self.left = max(0.0, self.left - estimated)
        self.estimated += estimated
        self.spent += time.monotonic() - began


@dataclass
class Measured:
    """The parts that are there, in the order of the runs, and what is left.

    `interruption` is the signal that ended the measurement early.
    """

    parts: list[Part]
    left: Left
    interruption: signal.Signals | None = None
    started: int = 0  # processes of the bench


def make_all(
    runs: Iterable[tuple[Run, list[str]]],
    machine: Machine,
    folder: Path,
    processes: int = 1,
    progress: Callable[[str, float, float], None] | None = None,
    warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
    paces: Paces | None = None,
    end: float | None = None,
) -> Measured:
    """Make all runs in so many processes each, in rounds; `runs` lists each with its papers.

    `progress` is called before each process of the bench, with its title, the seconds done so far
    and all seconds, as estimated then. No process is started that would not end by `end`, a time of
    time.monotonic(). The parts of a run follow each other in the result.
    """
    make_folder(folder)
    listed = list(runs)
    paces = paces or Paces(machine.cores)
    call = now()
    measured = Measured([], Left())
    with locked(folder):
        sweep(folder)
        groups = steps_of(listed, machine, folder, processes)
        clock = _Clock(left_of(listed, machine, folder, processes, paces).seconds, end)
        try:
            for steps in groups:
                lacking = [step for step in steps if not _load(step, machine)]
                while batch := first_batch(lacking, paces, clock.room()):
                    lacking = [step for step in lacking if step not in batch]
                    cost, began = seconds_of(_rests(batch), paces), time.monotonic()
                    if progress is not None:
                        _tell(progress, batch, processes, machine, clock)
                    measured.started += 1
                    _make(batch, machine, folder, call, warn)
                    lacking += [step for step in batch if step.part is None]
                    clock.count(cost, began)
        except KeyboardInterrupt as interruption:
            terminated = isinstance(interruption, Terminated)
            measured.interruption = signal.SIGTERM if terminated else signal.SIGINT
    for steps in groups:
        lacking = [step for step in steps if step.part is None and not _load(step, machine)]
        for batch in batches_of(lacking, paces):
            measured.left.add(seconds_of(_rests(batch), paces) * clock.factor)
    known = [step for steps in groups for step in steps if step.part is not None]
    known.sort(key=lambda step: (step.index, step.process))
    # Of a run that nothing can be measured of, the part of the first process is enough.
    worth_listing = [step for step in known if step.process == 0 or step.rest is not None]
    measured.parts = [step.part for step in worth_listing if step.part is not None]
    return measured


def _tell(
    progress: Callable[[str, float, float], None],
    batch: list[_Step],
    processes: int,
    machine: Machine,
    clock: _Clock,
) -> None:
    left = clock.left * clock.factor
    title = batch[0].run.title(machine.gpu, [run.size for run in _rests(batch)])
    about = f"{batch[0].process + 1}/{processes} {title}, about {duration_text(left)} left"
    progress(about, clock.spent, clock.spent + left)


def join(parts: list[Part], lab: dict[str, Any]) -> dict[str, Any]:
    """Join all parts into one bench JSON.

    `lab` says what they were measured for; its `parts` locate the rows of each part.
    """
    contexts = [p.report["context"] for p in parts if p.report["context"]]
    seeds = [p.report["seed"] for p in parts if p.report["seed"] is not None]
    clocks = [hz for context in contexts if (hz := context.get("clock_hz")) is not None]
    whole: dict[str, Any] = {
        "schema": SCHEMA,
        "seed": seeds[0] if seeds else None,
        "context": contexts[0] if contexts else {},
        "lab": {**lab, "parts": []},
        "results": [],
        "skipped": [],
    }
    if clocks:
        whole["context"] = {**whole["context"], "clock_hz": statistics.median(clocks)}
    folders = [context["folder"] for context in contexts if context.get("folder")]
    if folders:  # only runs of file scope have one
        whole["context"] = {**whole["context"], "folder": folders[0]}
    for part in parts:
        whole["lab"]["parts"].append(
            {
                "file": part.file,
                "papers": part.papers,
                "command": part.command,
                "process": part.process,
                "seed": part.report["seed"],
                "time": part.report["context"].get("time"),
                "host": part.report["context"].get("host"),
                "call": part.call,
                "results": [len(whole["results"]), len(part.report["results"])],
                "skipped": [len(whole["skipped"]), len(part.report["skipped"])],
            }
        )
        whole["results"] += part.report["results"]
        whole["skipped"] += part.report["skipped"]
    return whole
