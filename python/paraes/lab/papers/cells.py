"""Cells of tables: measured numbers with their intervals, what follows from them, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from paraes.lab.configurations import medians_of, ratio_of
from paraes.lab.crossover import Crossover, crossover_of
from paraes.lab.derived import phase_times
from paraes.lab.document import (
    NANOSECONDS,
    Cell,
    Estimate,
    Missing,
    Predicted,
    median_estimate,
)
from paraes.lab.rows import Process, Row
from paraes.lab.statistics import ratio_of_pairs
from paraes.lab.units import megabytes_per_second

WHOLE = ""  # in place of a phase: the whole call
COPIES = ("host_to_device", "device_to_host")


Rows = Mapping[int, Row | Missing]  # by size, in bytes


def duration(row: Row | Missing, unit: str = "s") -> Cell:
    """Return the median in this unit, with its interval."""
    if isinstance(row, Missing):
        return row
    return median_estimate(row.samples_ns, 1 / NANOSECONDS[unit])


def _by_round(row: Row, names: tuple[str, ...]) -> dict[int, float] | None:
    """Return the nanoseconds of the phases together by turn.

    Two runs of a turn may measure one row: paraes-mpi measures threads beside its ranks. Then the
    turn has the median of both.
    """
    turns = [process.turn for process in row.samples_of]
    if len(turns) < 2 or any(turn is None for turn in turns):
        return None
    total = np.zeros(len(turns))
    for name in names:
        part = medians_of(row) if name == WHOLE else row.timeline_samples_ns.get(name)
        if part is None or part.size != total.size:
            return None
        total = total + part
    of_turn: dict[int, list[float]] = {}
    for turn, ns in zip(turns, total, strict=True):
        of_turn.setdefault(int(turn or 0), []).append(float(ns))
    return {turn: float(np.median(times)) for turn, times in of_turn.items()}


def _rounds(parts: Sequence[tuple[Row, tuple[str, ...]]]) -> dict[int, list[float]] | None:
    """Return the nanoseconds of all parts in each turn that has all of them; None below two."""
    known = [_by_round(row, names) for row, names in parts]
    times = [of_turn for of_turn in known if of_turn is not None]
    common = sorted(set.intersection(*map(set, times))) if times else []
    if len(times) < len(parts) or len(common) < 2:
        return None
    return {turn: [of_turn[turn] for of_turn in times] for turn in common}


def together(*parts: tuple[Row | Missing, tuple[str, ...]]) -> Row | Missing:
    """Return a row whose time is the sum of phases of other rows; WHOLE stands for the whole call.

    The sum is taken process by process, as the rounds of the measurement pair them, or call by call
    for phases of one process. Otherwise it is the sum of the medians, which has no interval.
    Missing if a row or a phase is.
    """
    rows: list[tuple[Row, tuple[str, ...]]] = []
    for row, names in parts:
        if isinstance(row, Missing):
            return row
        if any(name != WHOLE and row.timeline_ns.get(name) is None for name in names):
            return Missing("the bench did not measure this phase")
        rows.append((row, names))
    first = rows[0][0]
    if len(rows) == 1 and len(first.samples_of) <= 1:
        times = phase_times(first, *rows[0][1]) if WHOLE not in rows[0][1] else None
        if isinstance(times, np.ndarray):  # call by call
            process = next(iter(first.samples_of), first.process)
            return replace(first, samples_of={process: times}, samples_ns=times)
    rounds = _rounds(rows)
    if rounds is not None:
        samples = {
            Process(-1 - turn, turn=turn): np.array([sum(times)]) for turn, times in rounds.items()
        }
        medians = np.array([values[0] for values in samples.values()])
        return replace(first, samples_of=samples, samples_ns=medians)
    total = sum(
        row.median_ns if name == WHOLE else (row.timeline_ns.get(name) or 0.0)
        for row, names in rows
        for name in names
    )
    only = np.array([total])
    return replace(first, samples_of={Process(-1): only}, samples_ns=only)


def phase(row: Row | Missing, *names: str) -> Cell:
    """Return the sum of phases in seconds; Missing if one of them was not measured."""
    return duration(together((row, names)))


def _absent(*rows: Row | Missing) -> Missing | None:
    return next((row for row in rows if isinstance(row, Missing)), None)


def ratio(
    over: Row | Missing, under: Row | Missing, scale: Callable[[Row], float] | None = None
) -> Cell:
    """Return how many times as long `over` takes as `under`, with its interval.

    `scale` multiplies the times of each row.
    """
    if absent := _absent(over, under):
        return absent
    found = ratio_of(over, under, scale=scale)
    return Estimate(found.value, found.interval)


def ratio_of_ratios(
    first: tuple[Row | Missing, Row | Missing], second: tuple[Row | Missing, Row | Missing]
) -> Cell:
    """Return how many times as large the ratio of the first two times is as that of the others.

    Each round of the measurement gives one value. Without rounds it is computed from the medians,
    and has no interval.
    """
    rows = (*first, *second)
    if absent := _absent(*rows):
        return absent
    rounds = _rounds([(row, (WHOLE,)) for row in rows])
    if rounds is not None:
        a, b, c, d = np.array(list(rounds.values())).T
        found = ratio_of_pairs(a / b, c / d)
        return Estimate(found.value, found.interval)
    a, b, c, d = (row.median_ns for row in rows)
    return Estimate(a / b / (c / d))


def rate_ratio(over: Row | Missing, under: Row | Missing) -> Cell:
    """Return how many times as many bytes a second `over` computes as `under`."""
    return ratio(under, over, lambda row: 1 / row.bytes)


def mapped(cell: Cell, function: Callable[[float], float]) -> Cell:
    """Apply a monotonic function to a value and to the ends of its interval."""
    if isinstance(cell, (Estimate, Predicted)):
        interval = cell.interval and cell.interval.mapped(function)
        return replace(cell, value=function(cell.value), interval=interval)
    return cell


def scaled(cell: Cell, factor: float) -> Cell:
    """Multiply a value and its interval by a positive number."""
    return mapped(cell, lambda value: value * factor)


def rate(row: Row | Missing) -> Cell:
    """Return the rate in 10**6 bytes a second, with its interval."""
    return mapped(duration(row, "ns"), lambda ns: megabytes_per_second(row.bytes, ns))


def value_of(cell: Cell) -> float | None:
    """Return the measured number of a cell; None for a Missing or a Predicted."""
    return cell.value if isinstance(cell, Estimate) else None


def common(over: Rows, under: Rows) -> list[int]:
    """Return the sizes at which both were measured, in order."""
    both = over.keys() & under.keys()
    return sorted(size for size in both if not _absent(over[size], under[size]))


def crossover_between(incumbent: Rows, challenger: Rows) -> Crossover | None:
    """Find the size from which the challenger is faster, over the sizes of both."""
    sizes = common(incumbent, challenger)
    return crossover_of([incumbent[size] for size in sizes], [challenger[size] for size in sizes])
