"""Cells of tables: measured numbers with their intervals, and what follows from them."""

from __future__ import annotations

from paraes.lab.bench import Row
from paraes.lab.derived import phase_times
from paraes.lab.document import (
    Cell,
    Estimate,
    Missing,
    median_estimate,
)
from paraes.lab.papers.data import Printed
from paraes.lab.statistics import bootstrap


def seconds(row: Row | Missing) -> Cell:
    """Return the median in seconds, with its interval."""
    if isinstance(row, Missing):
        return row
    return median_estimate(row.samples_ns, 1e-9)


def phase(row: Row | Missing, *names: str) -> Cell:
    """Return the sum of phases in seconds; Missing if one of them was not measured.

    It has an interval if every phase has samples.
    """
    if isinstance(row, Missing):
        return row
    times = phase_times(row, *names)
    if times is None:
        return Missing("the bench did not measure this phase")
    return times * 1e-9 if isinstance(times, float) else median_estimate(times, 1e-9)


def add(*cells: Cell) -> Cell:
    """Return the sum of cells, or the first of them that has no value."""
    total = 0.0
    for cell in cells:
        if isinstance(cell, Missing) or cell is None:
            return cell
        total += cell.value if isinstance(cell, Estimate) else float(cell)
    return total


def ratio(over: Row | Missing, under: Row | Missing) -> Cell:
    """Return the median time of `over` divided by that of `under`, with a bootstrap interval."""
    for row in (over, under):
        if isinstance(row, Missing):
            return row
    assert isinstance(over, Row) and isinstance(under, Row)
    interval, _ = bootstrap([over.samples_ns, under.samples_ns], lambda a, b: a / b)
    return Estimate(over.median_ns / under.median_ns, interval)


def rate(row: Row | Missing) -> Cell:
    """Return the rate in 10**6 bytes a second."""
    return row if isinstance(row, Missing) else row.mb_per_s


def value_of(cell: Cell) -> float | None:
    """Return the measured number of a cell; None for a Missing, a Predicted or text."""
    if isinstance(cell, Estimate):
        return cell.value
    return float(cell) if isinstance(cell, (int, float)) else None


def divide(over: Cell, under: float | None) -> Cell:
    """Divide a cell by a paper's number."""
    if isinstance(over, Missing):
        return over
    value = value_of(over)
    if value is None or not under:
        return None
    return value / under


def printed_text(printed: Printed | None) -> str | None:
    """Return a paper's number as a cell."""
    return None if printed is None else printed.text


def shorten(text: str, limit: int = 90) -> str:
    """Shorten a reason; the footnotes of the tables have all of it."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
