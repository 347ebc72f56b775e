"""A paper's claims beside what this machine shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from paraes.lab.bench import Row
from paraes.lab.crossover import Crossover, crossover
from paraes.lab.document import (
    Cell,
    Column,
    Estimate,
    Missing,
    Table,
)
from paraes.lab.papers.cells import (
    shorten,
    value_of,
)
from paraes.lab.papers.evidence import Device
from paraes.lab.units import significant, size_text

AGREEMENT = "Agreement with the paper"  # title of the last section of every chapter


@dataclass(frozen=True)
class Finding:
    """A statement of the paper beside the result on this machine.

    `verdict` is agrees, differs, undecided (the interval extends past the limit), predicted, not
    measured, or not in the paper. `rule` says what counts as agreement.
    """

    about: str
    paper: str
    here: str
    verdict: str
    rule: str = ""


def findings_table(name: str, findings: list[Finding], device: Device) -> Table:
    """Return the table of findings that ends every reproduction."""
    counts = {v: sum(f.verdict == v for f in findings) for v in ("agrees", "differs")}
    notes = [
        "A finding on a number with a 95 % interval is undecided if the interval extends past the "
        "limit of agreement. Findings without an interval compare medians.",
        "Intervals cover the variation within one run of the bench. Each size is a run of its own: "
        "no interval covers the variation between runs.",
    ]
    if device.is_cpu:
        notes.append(
            f"The CPU stands in for a GPU here, as {device.title}: "
            "its results say nothing about GPUs."
        )
    return Table(
        f"{name}-agreement",
        f"{AGREEMENT}: {counts['agrees']} agree, {counts['differs']} differ, "
        f"{len(findings) - sum(counts.values())} could not be compared or decided",
        [Column(t, "text") for t in ("about", "the paper", "this machine", "verdict", "agrees if")],
        [[f.about, f.paper, f.here, f.verdict, f.rule] for f in findings],
        notes,
    )


def judge(agrees: bool | None) -> str:
    """Return the verdict for yes, no, or None if there are no rows."""
    return "not measured" if agrees is None else "agrees" if agrees else "differs"


def ends_of(cell: Cell) -> tuple[float, float] | None:
    """Return the ends of a cell's interval; a number without one is its own interval."""
    value = value_of(cell)
    if value is None:
        return None
    interval = cell.interval if isinstance(cell, Estimate) else None
    return (interval.low, interval.high) if interval else (value, value)


def judge_within(cell: Cell, low: float, high: float) -> str:
    """Judge whether a cell lies in [low, high]: undecided if its interval contains an end."""
    ends = ends_of(cell)
    if ends is None:
        return "not measured"
    if low <= ends[0] and ends[1] <= high:
        return "agrees"
    return "differs" if ends[1] < low or ends[0] > high else "undecided"


def compare_order(
    about: str, size: int, paper: dict[str, float | None], ours: dict[str, Cell]
) -> Finding:
    """Judge whether the implementations measured here are in the paper's order, fastest first."""
    rule = "same order of those measured"
    about = f"{about}, {size_text(size)}"
    stated = {name: value for name, value in paper.items() if value}
    known = {n: ends for n, c in ours.items() if (ends := ends_of(c)) is not None and n in stated}
    if len(known) < 2:
        text = " < ".join(sorted(stated, key=lambda n: stated[n]))
        return Finding(about, text, "fewer than two of them were measured", "not measured", rule)
    theirs = sorted(known, key=lambda n: stated[n])
    mine = sorted(known, key=lambda n: value_of(ours[n]) or 0.0)
    pairs = [(a, b) for i, a in enumerate(theirs) for b in theirs[i + 1 :]]
    verdict = "agrees"
    if any(known[a][1] >= known[b][0] for a, b in pairs):
        verdict = "undecided"
    if any(known[a][0] > known[b][1] for a, b in pairs):
        verdict = "differs"
    return Finding(about, " < ".join(theirs), " < ".join(mine), verdict, rule)


def _missing(cell: Cell) -> str:
    reason = cell.reason if isinstance(cell, Missing) else "no value"
    return f"– ({shorten(reason)})"


def compare_ratio(about: str, theirs: float, ours: Cell) -> Finding:
    """Judge a speedup against the paper's.

    Speedups depend on the machine, so they agree if the same implementation is faster; the finding
    also states how far apart they are.
    """
    rule = "same side of 1"
    value, paper = value_of(ours), f"{significant(theirs)}×"
    if value is None:
        return Finding(about, paper, _missing(ours), "not measured", rule)
    text = f"{significant(value)}×, {significant(value / theirs, 3)} times the paper's"
    side = (1.0, float("inf")) if theirs > 1 else (0.0, 1.0)
    return Finding(about, paper, text, judge_within(ours, *side), rule)


def compare_near(about: str, theirs: float, ours: Cell, unit: str, tolerance: float) -> Finding:
    """Judge whether a number is within `tolerance` of the paper's, in the same unit."""
    rule = f"the paper's ± {significant(tolerance)}{unit}"
    value, paper = value_of(ours), f"{significant(theirs)}{unit}"
    if value is None:
        return Finding(about, paper, _missing(ours), "not measured", rule)
    verdict = judge_within(ours, theirs - tolerance, theirs + tolerance)
    return Finding(about, paper, f"{significant(value)}{unit}", verdict, rule)


def crossover_text(found: Crossover | None) -> str:
    """Describe a crossover in one line."""
    if found is None:
        return "fewer than two sizes were measured on both"
    if found.size is None or found.interval is None or found.between is None:
        return found.verdict
    text = (
        f"{size_text(found.size)}, 95 % from {size_text(found.interval.low)} to "
        f"{size_text(found.interval.high)}, between {size_text(found.between[0])} and "
        f"{size_text(found.between[1])}"
    )
    if found.changes > 1:
        text += f"; the faster one changes {found.changes} times"
    return text


def paper_crossover(
    sizes: list[int], incumbent: list[float], challenger: list[float]
) -> tuple[int, int] | None:
    """Return the printed sizes between which the challenger becomes faster and stays so."""
    ahead = [c <= i for i, c in zip(incumbent, challenger, strict=True)]
    for i in range(len(ahead) - 1, 0, -1):
        if ahead[i] and not ahead[i - 1]:
            return sizes[i - 1], sizes[i]
        if not ahead[i]:
            return None
    return None


def compare_crossover(
    about: str, theirs: tuple[int, int] | None, ours: Crossover | None
) -> Finding:
    """Judge whether the crossover lies between the same two sizes as the paper's."""
    rule = "between the same two sizes"
    paper = "none"
    if theirs is not None:
        paper = f"between {size_text(theirs[0])} and {size_text(theirs[1])}"
    if ours is None:
        return Finding(about, paper, crossover_text(ours), "not measured", rule)
    here = crossover_text(ours)
    if ours.size is None or ours.interval is None:
        if theirs is not None and ours.measured[1] < theirs[1]:
            here += f" (up to {size_text(ours.measured[1])})"
            return Finding(about, paper, here, "not measured", rule)
        return Finding(about, paper, here, judge(theirs is None), rule)
    if theirs is None:
        return Finding(about, paper, here, "differs", rule)
    ends = Estimate(ours.size, ours.interval)
    return Finding(about, paper, here, judge_within(ends, *theirs), rule)


def samples_by_size(rows: Iterable[Row | Missing]) -> dict[int, np.ndarray]:
    """Return the samples (ns) by size (bytes) of the rows that are not missing."""
    return {row.bytes: row.samples_ns for row in rows if isinstance(row, Row)}


def cross(
    incumbent: Iterable[Row | Missing], challenger: Iterable[Row | Missing]
) -> Crossover | None:
    """Find the crossover of two series of rows."""
    return crossover(samples_by_size(incumbent), samples_by_size(challenger))
