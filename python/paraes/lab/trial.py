"""Measure in a few seconds how fast this machine starts the bench and computes, for estimates."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from paraes.lab.costs import Pace, Paces, seconds_of
from paraes.lab.discovery import Machine
from paraes.lab.execution import execute
from paraes.lab.measure import command_of
from paraes.lab.runs import GPU, Run

SMALL, LARGER = 64 << 10, 2 << 20  # bytes: two sizes give the fixed part of a call and the pace
SAMPLES = 9  # of ranks, to find out how long one takes


def trial(runs: Iterable[Run], machine: Machine, folder: Path) -> Paces:
    """Return the paces of this machine for these runs. `folder` is for temporary files.

    What cannot be measured keeps its usual pace.
    """
    paces = Paces(machine.cores)
    listed = list(runs)
    bench = _Bench(machine, folder)
    _try_cpu(listed, bench, paces)
    if machine.gpu is not None:
        _try_gpu(listed, bench, paces)
    if machine.mpi_reason is None:
        _try_ranks(listed, bench, paces)
    return paces


class _Bench:
    """Runs the bench, and measures how long that takes."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        self.machine = machine
        self.target = folder / f".trial.json.{os.getpid()}"

    def __call__(self, run: Run, *sizes: int) -> tuple[list[dict[str, Any]], float] | None:
        """Return the rows of a run and its seconds; None if it failed."""
        began = time.monotonic()
        command = command_of(run, self.machine, sizes)
        report, _ = execute(command, self.target, run.ranks)
        took = time.monotonic() - began
        self.target.unlink(missing_ok=True)
        rows = [row for row in report["results"] if row["samples_ns"]] if report else []
        return (rows, took) if rows else None


def _short(scope: str, kernels: tuple[str, ...]) -> Run:
    """Return a short run on the GPU: one row of each kernel."""
    return Run(scope, (GPU,), kernels, SMALL, samples=1)


def _rest(run: Run, sizes: Sequence[int], took: float, paces: Paces, start: str) -> float:
    """Return the seconds of a run that its rows do not explain: those of `start`."""
    without = replace(paces, **{start: 0.0})
    explained = seconds_of([replace(run, size=size) for size in sizes], without)
    return max(0.01, took - explained)


def _try_cpu(runs: list[Run], bench: _Bench, paces: Paces) -> None:
    wanted = [run for run in runs if "cpu" in run.devices]
    kernels = tuple(sorted({kernel for run in wanted for kernel in run.kernels}))
    if not kernels:
        return
    run = Run("memory", ("cpu",), kernels, SMALL, ("encrypt", "decrypt"), samples=3)
    if (found := bench(run, SMALL)) is None:
        return
    for row in found[0]:
        nanoseconds = sorted(row["samples_ns"])[len(row["samples_ns"]) // 2]
        paces.cpu[row["kernel"], row["direction"]] = nanoseconds * 1e-9 / row["bytes"]
    paces.counted = any(row.get("counters") for row in found[0])
    paces.start = _rest(run, [SMALL], found[1], paces, "start")


def _pace(rows: Iterable[dict[str, Any]]) -> Pace | None:
    """Return the line through the times of the two sizes; None if one failed."""
    times = {row["bytes"]: min(row["samples_ns"]) * 1e-9 for row in rows}
    if not {SMALL, LARGER} <= set(times):
        return None
    byte = max(0.0, (times[LARGER] - times[SMALL]) / (LARGER - SMALL))
    return Pace(max(0.0, times[SMALL] - byte * SMALL), byte)


def _try_gpu(runs: list[Run], bench: _Bench, paces: Paces) -> None:
    pairs = {(run.scope, kernel) for run in runs if run.on_gpu for kernel in run.kernels}
    # The first process of each may compile the kernel, so it gives no time to start. Groups of
    # other sizes are other programs, which later processes find compiled.
    for run in runs:
        if run.on_gpu and run.group_threads:
            bench(replace(_short(run.scope, run.kernels), group_threads=run.group_threads), SMALL)
    for scope, kernel in sorted(pairs):
        if (found := bench(_short(scope, (kernel,)), SMALL, LARGER)) is None:
            continue
        if (pace := _pace(found[0])) is not None:
            paces.gpu[scope, kernel] = pace
    starts: dict[str, list[float]] = {"memory": [], "transfer": []}
    for scope, kernel in sorted(paces.gpu):
        run = _short(scope, (kernel,))
        if (found := bench(run, SMALL)) is not None:
            starts[scope].append(_rest(run, [SMALL], found[1], paces, "gpu_start"))
    if starts["memory"]:
        paces.gpu_start = sum(starts["memory"]) / len(starts["memory"])


def _try_ranks(runs: list[Run], bench: _Bench, paces: Paces) -> None:
    counts = sorted({run.ranks for run in runs if run.ranks > 1})
    took = {}
    for ranks in sorted({*counts[:1], *counts[-1:]}):
        run = Run("memory", ("cpu",), ("ttable",), SMALL, ranks=ranks)
        found = [bench(replace(run, samples=samples), SMALL) for samples in (1, SAMPLES)]
        if None in found:
            return
        few, many = (seconds for _, seconds in found)
        paces.rank_sample = max(0.0, (many - few) / (SAMPLES - 1))
        took[ranks] = few - paces.start - 2 * paces.rank_sample
    if len(took) == 2:
        (fewest, least), (all_ranks, most) = sorted(took.items())
        paces.launch_rank = max(0.0, (most - least) / (all_ranks - fewest))
    for ranks, seconds in took.items():
        paces.launch = max(0.0, seconds - ranks * paces.launch_rank)
