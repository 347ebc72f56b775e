"""Figures of the papers' chapters."""

from __future__ import annotations

from collections.abc import Iterable

from paraes.lab.document import (
    Axis,
    Cell,
    Figure,
    Predicted,
    Series,
    Table,
)
from paraes.lab.papers.cells import (
    value_of,
)
from paraes.lab.papers.data import Printed
from paraes.lab.units import plural


def measured_series(name: str, points: Iterable[tuple[float, Cell]]) -> Series | None:
    """Return a line through the points with measured values; None without any."""
    kept = [(x, c) for x, c in points if value_of(c) is not None]
    return Series.of(name, kept) if kept else None


def predicted_series(name: str, points: Iterable[tuple[float, Cell]]) -> Series | None:
    """Return a line through the points that are predictions; None without any."""
    kept = [(x, c) for x, c in points if isinstance(c, Predicted)]
    if not kept:
        return None
    least = min(c.points or 0 for _, c in kept)
    return Series.of(f"{name} from {plural(least, 'point')}", kept, "predicted")


def paper_series(name: str, printed: dict[int, Printed], factor: float = 1.0) -> Series | None:
    """Return a line through the paper's numbers other than 0; None without any.

    0 has no place on a logarithmic axis.
    """
    kept = [(x, p.value * factor) for x, p in printed.items() if p.value]
    if not kept:
        return None
    return Series(name, [float(x) for x, _ in kept], [y for _, y in kept], origin="paper")


TIMES = {"seconds": "s", "milliseconds": "ms"}  # titles of axes that show times with their units


def line_figure(
    name: str,
    title: str,
    description: str,
    y_title: str,
    series: Iterable[Series | None],
    table: Table,
    x: Axis | None = None,
    y_scale: str = "log",
    level: float | None = None,
    level_name: str = "",
) -> Figure:
    """Return a figure of lines, by default over the size of the data."""
    return Figure(
        name,
        title,
        description,
        x or Axis("size of the data", "log", "size"),
        Axis("time", y_scale, TIMES[y_title]) if y_title in TIMES else Axis(y_title, y_scale),
        [s for s in series if s is not None],
        table,
        level=level,
        level_name=level_name,
    )
