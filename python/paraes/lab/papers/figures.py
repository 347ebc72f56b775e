"""Figures of the papers' chapters, with their tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paraes.lab.document import (
    NANOSECONDS,
    Axis,
    Cell,
    Column,
    Figure,
    Predicted,
    Section,
    Series,
    Table,
)
from paraes.lab.papers.cells import Rows, duration, value_of
from paraes.lab.papers.data import Printed
from paraes.lab.units import plural, size_text

Cells = Mapping[str, Callable[[int], Cell]]  # by name: the cell of a size, or of so many threads


def measured_series(name: str, points: Iterable[tuple[float, Cell]]) -> Series:
    """Return a line through the points with measured values."""
    return Series.of(name, [(x, c) for x, c in points if value_of(c) is not None])


def here_series(cells: Cells, xs: Sequence[int]) -> list[Series]:
    """Return the lines of what was measured here, by their names."""
    return [
        measured_series(f"{name}, here", [(x, of(x)) for x in xs]) for name, of in cells.items()
    ]


def predicted_series(name: str, points: Iterable[tuple[float, Cell]]) -> Series:
    """Return a line through the points that are predictions."""
    kept = [(x, c) for x, c in points if isinstance(c, Predicted)]
    least = min((c.points or 0 for _, c in kept), default=0)
    return Series.of(f"{name} from {plural(least, 'point')}", kept, "predicted")


def paper_series(name: str, printed: Mapping[int, Printed], factor: float = 1.0) -> Series:
    """Return a line through the paper's numbers other than 0, which no logarithmic axis has."""
    kept = {float(x): p.value * factor for x, p in printed.items() if p.value}
    return Series(name, list(kept), list(kept.values()), origin="paper")


def line_figure(
    name: str,
    title: str,
    description: str,
    y: str,
    series: Iterable[Series],
    table: Table,
    x: Axis | None = None,
    y_scale: str = "log",
    level: float | None = None,
    level_name: str = "",
) -> Figure:
    """Return a figure of the lines that have points, by default over the size of the data.

    `y` is the unit of times, or the title of another axis.
    """
    return Figure(
        name,
        title,
        description,
        x or Axis("size of the data", "log", "size"),
        Axis("time", y_scale, y) if y in NANOSECONDS else Axis(y, y_scale),
        [s for s in series if s.x],
        table,
        level=level,
        level_name=level_name,
    )


def figure_section(section: tuple[str, str], *figure: Any, **how: Any) -> Section:
    """Return the section of this name and title that is a line_figure."""
    return Section(*section, [line_figure(*figure, **how)])


def sizes_table(
    name: str,
    caption: str,
    heads: Sequence[str],
    sizes: Sequence[int],
    rows: list[list[Cell]],
    notes: Sequence[str] = (),
    kind: str = "number",
    keys: int | None = None,
) -> Table:
    """Tabulate what has a row each and a column for every size, after the columns of texts."""
    columns = [Column(head, "text") for head in heads]
    columns += [Column(size_text(size), kind) for size in sizes]
    return Table(name, caption, columns, rows, list(notes), keys)


@dataclass(frozen=True)
class Pair:
    """The paper's times and the rows of this machine, by size, with the names of both."""

    theirs: str
    ours: str
    printed: Mapping[int, Printed]
    rows: Rows


def pairs_figure(
    names: tuple[str, str],
    title: str,
    description: str,
    caption: str,
    unit: str,
    pairs: Sequence[Pair],
    notes: Sequence[str] = (),
    more: Mapping[str, Rows] | None = None,
) -> Figure:
    """Draw pairs of times over the size; `names` are those of the figure and of its table.

    The table has the paper's as printed, and `more` rows from here.
    """
    columns: list[tuple[Column, Callable[[int], Cell]]] = [(Column("size", "size"), int)]
    for pair in pairs:
        columns += [
            (
                Column(f"{pair.theirs}, paper", "printed", unit),
                lambda s, of=pair.printed: of[s].text if s in of else None,
            ),
            (Column(f"{pair.ours}, here", unit), lambda s, of=pair.rows: duration(of[s], unit)),
        ]
    for name, rows in (more or {}).items():
        columns.append((Column(f"{name}, here", unit), lambda s, of=rows: duration(of[s], unit)))
    sizes = list(pairs[0].rows)
    here = {pair.ours: lambda s, of=pair.rows: duration(of[s], unit) for pair in pairs}
    theirs = [paper_series(f"{pair.theirs}, paper", pair.printed) for pair in pairs]
    return line_figure(
        names[0],
        title,
        description,
        unit,
        [*here_series(here, sizes), *theirs],
        Table.of(names[1], caption, sizes, columns, notes),
    )
