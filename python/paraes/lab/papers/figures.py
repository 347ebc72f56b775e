"""Figures of the papers' chapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paraes.lab.document import (
    Axis,
    Cell,
    Column,
    Figure,
    Predicted,
    Section,
    Series,
    Table,
)
from paraes.lab.papers.cells import printed_text, value_of
from paraes.lab.papers.data import Printed
from paraes.lab.units import plural


def measured_series(name: str, points: Iterable[tuple[float, Cell]]) -> Series | None:
    """Return a line through the points with measured values; None without any."""
    kept = [(x, c) for x, c in points if value_of(c) is not None]
    return Series.of(name, kept) if kept else None


def here_series(cells: Mapping[str, Callable[[int], Cell]], xs: Sequence[int]) -> list:
    """Return the lines of what was measured here, by their names."""
    points = {name: [(x, of(x)) for x in xs] for name, of in cells.items()}
    return [measured_series(f"{name}, here", of) for name, of in points.items()]


def predicted_series(name: str, points: Iterable[tuple[float, Cell]]) -> Series | None:
    """Return a line through the points that are predictions; None without any."""
    kept = [(x, c) for x, c in points if isinstance(c, Predicted)]
    if not kept:
        return None
    least = min(c.points or 0 for _, c in kept)
    return Series.of(f"{name} from {plural(least, 'point')}", kept, "predicted")


def paper_series(name: str, printed: Mapping[int, Printed], factor: float = 1.0) -> Series | None:
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


def figure_section(section: tuple[str, str], *figure: Any, **how: Any) -> Section:
    """Return the section of this name and title that is a line_figure."""
    return Section(*section, [line_figure(*figure, **how)])


@dataclass(frozen=True)
class Pair:
    """The paper's numbers and those of this machine, by size, with the names of both."""

    theirs: str
    ours: str
    printed: Mapping[int, Printed]
    cells: Mapping[int, Cell]


def pairs_table(
    name: str,
    caption: str,
    unit: str,
    pairs: Sequence[Pair],
    notes: Sequence[str] = (),
    more: Mapping[str, Mapping[int, Cell]] | None = None,
) -> Table:
    """Tabulate pairs of times by size, the paper's as printed; `more` has other times from here."""
    more = more or {}
    columns = [Column("size", "size")]
    for pair in pairs:
        columns.append(Column(f"{pair.theirs}, paper", "printed", unit))
        columns.append(Column(f"{pair.ours}, here", unit))
    columns += [Column(f"{title}, here", unit) for title in more]
    rows: list[list[Cell]] = []
    for size in pairs[0].cells:
        rows.append([size])
        for pair in pairs:
            rows[-1] += [printed_text(pair.printed.get(size)), pair.cells[size]]
        rows[-1] += [cells[size] for cells in more.values()]
    return Table(name, caption, columns, rows, list(notes))


def pairs_series(pairs: Sequence[Pair]) -> list[Series | None]:
    """Return the lines of pairs: those of this machine, then the paper's."""
    return [
        *[measured_series(f"{pair.ours}, here", pair.cells.items()) for pair in pairs],
        *[paper_series(f"{pair.theirs}, paper", pair.printed) for pair in pairs],
    ]
