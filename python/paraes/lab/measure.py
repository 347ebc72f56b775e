"""Run `paraes bench`, and keep the result of every run.

The JSON that a process wrote is kept in a file whose name depends on the run's axes, the machine,
the program and the number of the process. A process whose file exists is not repeated, so an
interrupted call can be resumed.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paraes.lab import bench
from paraes.lab.discovery import Machine
from paraes.lab.errors import LabError
from paraes.lab.files import locked, make_folder
from paraes.lab.rows import SCHEMA
from paraes.lab.runs import Run


@dataclass
class Part:
    """The result of one run: bench JSON, and the command that made it.

    The command has the names of the programs without their folders: results are published, and
    should not show where somebody builds.
    """

    run: Run
    file: str | None
    command: list[str]
    report: dict[str, Any]
    papers: list[str] = field(default_factory=list)
    process: int = 0


def _command(run: Run, machine: Machine) -> list[str]:
    flags = run.arguments(machine.gpu)
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
    words = [machine.identity, str(process), *_command(run, machine)]
    key = hashlib.sha256("\0".join(words).encode())
    names = [run.scope, *run.arguments(machine.gpu)[3].split(","), *run.kernels, str(run.size)]
    readable = "-".join("".join(c if c.isalnum() else "_" for c in name) for name in names)
    return f"{readable}-{process + 1}-{key.hexdigest()[:16]}.json"


def _empty(skipped: list[dict[str, Any]]) -> dict[str, Any]:
    return {"schema": 1, "seed": None, "context": {}, "results": [], "skipped": skipped}


@contextmanager
def _interruption_waits() -> Iterator[None]:
    """Delay KeyboardInterrupt to the end of the block."""
    held = []
    before = signal.signal(signal.SIGINT, lambda *_: held.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt


def _abandon(process: subprocess.Popen[str]) -> None:
    """End the bench after an interruption, ignoring further Ctrl-C until it has ended."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.terminate()
        process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _finish(command: list[str]) -> tuple[subprocess.Popen[str], str]:
    """Run `command` to its end; return the process and its standard error."""
    process = None
    try:
        # An interruption inside Popen could leave a child that nobody ends.
        with _interruption_waits():
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


def sweep(folder: Path) -> None:
    """Remove temporary files of killed processes from `folder`, but not those of running ones."""
    for path in folder.glob(".*.json.*"):
        pid = path.name.rpartition(".")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            path.unlink(missing_ok=True)


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


def kept(path: Path) -> dict[str, Any] | None:
    """Return the report of an earlier call, or None if it is absent or damaged."""
    if not path.is_file():
        return None
    try:
        report = bench.parse(path.read_text(encoding="utf-8"), str(path))
        bench.from_object(report, str(path))
    except (LabError, OSError, UnicodeDecodeError):
        return None
    return report


def make(
    run: Run, machine: Machine, folder: Path, warn: Callable[[str], None], process: int = 0
) -> Part:
    """Return the part of one process of a run: kept from an earlier call, or measured now.

    A run that is not possible or fails gives a part with skipped rows.
    """
    skipped: list[dict[str, Any]] = []
    rest: Run | None = run
    if run.on_gpu and machine.gpu is None:
        # Listed once, however many processes there are.
        skipped = [run.absent(machine.gpu_reason or "no GPU")] if process == 0 else []
        rest = run.without_gpu()
    if rest is not None and rest.ranks > 1 and machine.mpi_reason is not None:
        skipped += rest.skipped("cpu", machine.mpi_reason)
        rest = None
    if rest is None:
        return Part(run, None, [], _empty(skipped), process=process)
    command = _command(rest, machine)
    path = folder / part_file(rest, machine, process)
    report = kept(path)
    if report is None:
        report, complaint = execute(command, path, rest.ranks)
        if complaint:
            warn(f"{rest.title(machine.gpu)}: {complaint}")
        if report is None:
            reason = f"the bench failed: {complaint}"
            device = machine.gpu if rest.on_gpu else "cpu"
            failed = _empty(skipped + rest.skipped(device, reason))
            return Part(run, None, _named(command, machine), failed, process=process)
    report = {**report, "skipped": [*report.get("skipped", []), *skipped]}
    return Part(run, path.name, _named(command, machine), report, process=process)


def _possible(run: Run, machine: Machine) -> Run | None:
    """Return what of the run can be measured here: without the GPU if there is none."""
    rest = run.without_gpu() if run.on_gpu and machine.gpu is None else run
    return None if rest and rest.ranks > 1 and machine.mpi_reason is not None else rest


def rounds(count: int, processes: int) -> Iterator[tuple[int, int]]:
    """Yield every process of `count` runs as (process, run), one process of every run in a round.

    So the processes of one run are spread over the whole time. The order changes from round to
    round, so that no run always follows the same other one, and is the same when resumed.
    """
    for process in range(processes):
        order = list(range(count))
        random.Random(process).shuffle(order)
        yield from ((process, index) for index in order)


def costs_of(
    runs: Sequence[Run], machine: Machine, folder: Path, processes: int
) -> dict[tuple[int, int], float]:
    """Estimate the seconds of every process of every run, by (run, process).

    Kept ones take none, and runs that nothing can be measured of are left out.
    """
    costs: dict[tuple[int, int], float] = {}
    for index, run in enumerate(runs):
        if (rest := _possible(run, machine)) is None:
            continue
        for process in range(processes):
            there = (folder / part_file(rest, machine, process)).is_file()
            costs[index, process] = 0.0 if there else rest.cost(machine.cores)
    return costs


def make_all(
    runs: Iterable[tuple[Run, list[str]]],
    machine: Machine,
    folder: Path,
    processes: int = 1,
    progress: Callable[[str, float, float], None] | None = None,
    warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
) -> list[Part]:
    """Make all runs in so many processes each, in rounds; `runs` lists each with its papers.

    `progress` is called before each process that has to be measured, with its title, the cost done
    so far and the total cost; kept ones cost nothing. A run that nothing can be measured of gives
    one part. The parts of a run follow each other in the result.
    """
    make_folder(folder)
    sweep(folder)
    listed = list(runs)
    costs = costs_of([run for run, _ in listed], machine, folder, processes)
    parts: dict[tuple[int, int], Part] = {}
    done, total = 0.0, sum(costs.values())
    with locked(folder):
        for process, index in rounds(len(listed), processes):
            run, papers = listed[index]
            if process > 0 and (index, process) not in costs:
                continue
            cost = costs.get((index, process), 0.0)
            if progress is not None and cost > 0:
                progress(f"{process + 1}/{processes} {run.title(machine.gpu)}", done, total)
            parts[index, process] = make(run, machine, folder, warn, process)
            parts[index, process].papers = papers
            done += cost
    return [parts[key] for key in sorted(parts)]


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
                "results": [len(whole["results"]), len(part.report["results"])],
                "skipped": [len(whole["skipped"]), len(part.report["skipped"])],
            }
        )
        whole["results"] += part.report["results"]
        whole["skipped"] += part.report["skipped"]
    return whole


def dumps(value: Any) -> str:
    """Return a value as the JSON text that this package writes."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
