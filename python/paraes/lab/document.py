"""The parts of a report, independent of its output: HTML, Markdown, LaTeX or CSV.

Cells keep numbers, and each output formats them. A cell is text, a number, an Estimate, a
Predicted, a Missing or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np

from paraes.lab.statistics import Interval, median_interval
from paraes.lab.units import plural, significant, size_text, time_text


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, in the same unit."""

    value: float
    interval: Interval | None = None


def median_estimate(samples: np.ndarray, unit: float = 1.0) -> Estimate:
    """Return the median of samples with its interval, both multiplied by `unit`.

    A single sample has none.
    """
    if len(samples) < 2:
        return Estimate(float(np.median(samples)) * unit)
    return Estimate(float(np.median(samples)) * unit, median_interval(samples).scaled(unit))


@dataclass(frozen=True)
class Predicted:
    """A prediction of a model, marked as such wherever it is shown.

    `points` is the number of measured points that the model was fitted to, None if it has constants
    instead. `interval` follows from resampling the points.
    """

    value: float
    interval: Interval | None = None
    points: int | None = None


@dataclass(frozen=True)
class Missing:
    """The reason why there is no value."""

    reason: str


DIGITS = 3  # of measured numbers in tables
NANOSECONDS = {"ns": 1.0, "ms": 1e6, "s": 1e9}  # in the units of columns of times


@dataclass(frozen=True)
class AsPrinted:
    """A paper's number as printed, with its unit, in a column of measured ones."""

    text: str
    unit: str


Cell = Any  # AsPrinted | str | int | float | Estimate | Predicted | Missing | None


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `kind` is text, size (bytes), ns, ms or s (times, shown in a unit that fits), number, percent,
    or printed (text from a paper, aligned as a number). `unit` is shown in the heading.
    """

    title: str
    kind: str = "number"
    unit: str = ""

    @property
    def heading(self) -> str:
        """The title with the unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def full_heading(self) -> str:
        """The title with the unit of the numbers themselves, for CSV and JSON."""
        units = {"size": "bytes", "percent": "%"} | {name: name for name in NANOSECONDS}
        unit = self.unit or units.get(self.kind, "")
        return f"{self.title} ({unit})" if unit else self.title

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers, and is aligned to the right."""
        return self.kind != "text"


def format_number(value: float, kind: str) -> str:
    """Format a number of a column of this kind."""
    if kind == "size":
        return size_text(value)
    if kind in NANOSECONDS:
        return time_text(value * NANOSECONDS[kind])
    if kind == "percent":
        return f"{significant(value, DIGITS)} %"
    return significant(value, DIGITS)


def predicted_text(cell: Predicted) -> str:
    """Say that a value is predicted, and from how many points."""
    return "predicted" if cell.points is None else f"predicted from {plural(cell.points, 'point')}"


def format_cell(cell: Cell, kind: str) -> str:
    """Format a cell. A Missing becomes a dash: its reason stands below the table."""
    if cell is None or isinstance(cell, Missing):
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (Estimate, Predicted)):
        text = format_number(cell.value, kind)
        if cell.interval is not None:
            ends = (format_number(end, kind) for end in (cell.interval.low, cell.interval.high))
            text += f" [{'range ' if cell.interval.is_range else ''}{'; '.join(ends)}]"
        if isinstance(cell, Predicted):
            text += f" ({predicted_text(cell)})"
        return text
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, AsPrinted):
        return f"{cell.text} {cell.unit}"
    if isinstance(cell, int) and kind == "number":
        return str(cell)  # a count
    return format_number(float(cell), kind)


@dataclass
class Table:
    """Rows of cells. `name` is a file name without its suffix, unique in the document.

    `keys` is the number of columns at the left that say what a row is about. By default these are
    all columns before the first number. `form` is table, or claims or findings: on a narrow
    screen, a page shows each of their rows as a card.
    """

    name: str
    caption: str
    columns: list[Column]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)
    keys: int | None = None
    form: str = "table"

    @classmethod
    def of(
        cls,
        name: str,
        caption: str,
        items: Iterable[Any],
        columns: Sequence[tuple[Column, Callable[[Any], Cell]]],
        notes: Iterable[str] = (),
        keys: int | None = None,
    ) -> Table:
        """Return a table with a row for each item; each column has what gives its cell."""
        rows = [[cell(item) for _, cell in columns] for item in items]
        return cls(name, caption, [column for column, _ in columns], rows, list(notes), keys)

    def key_columns(self) -> int:
        """Return the number of columns that say what a row is about."""
        if self.keys is not None:
            return self.keys
        return sum(1 for _ in takewhile(lambda c: c.kind in ("text", "size"), self.columns))

    def footnotes(self) -> list[str]:
        """Return the distinct reasons of missing cells, in order of appearance."""
        missing = [cell for row in self.rows for cell in row if isinstance(cell, Missing)]
        return list(dict.fromkeys(cell.reason for cell in missing))

    def texts(self) -> list[list[str]]:
        """Format every cell; missing ones show the number of their footnote."""
        numbers = {reason: i for i, reason in enumerate(self.footnotes(), 1)}

        def text(column: Column, cell: Cell) -> str:
            mark = f" [{numbers[cell.reason]}]" if isinstance(cell, Missing) else ""
            return format_cell(cell, column.kind) + mark

        return [list(map(text, self.columns, row)) for row in self.rows]

    def all_notes(self) -> list[str]:
        """Return what stands below the table: the numbered footnotes, then the notes."""
        footnotes = [f"[{i}] {reason}" for i, reason in enumerate(self.footnotes(), 1)]
        return [*footnotes, *self.notes]


@dataclass
class Series:
    """One line of a figure.

    `origin` decides how it is drawn: measured, program (measured: a whole program, file to file),
    roof (measured: an upper bound, such as a copy), paper, or predicted (also the ideal line).
    Lines with one `colour`, a number, are of one subject; without it each has its own.
    """

    name: str
    x: list[float]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None
    origin: str = "measured"
    colour: int | None = None

    @classmethod
    def of(
        cls, name: str, points: Iterable[tuple[float, Cell]], origin: str = "measured"
    ) -> Series:
        """Return the line through cells that have values.

        A value without an interval, or with a range only, gets one of width 0.
        """
        series = cls(name, [], [], low := [], high := [], origin)
        for x, cell in points:
            y = cell.value if isinstance(cell, (Estimate, Predicted)) else float(cell)
            interval = getattr(cell, "interval", None)
            series.x.append(float(x))
            series.y.append(y)
            known = interval is not None and not interval.is_range
            low.append(interval.low if known else y)
            high.append(interval.high if known else y)
        return series


@dataclass
class Axis:
    """An axis. `scale` is log or linear; `kind` is size (bytes), count or number."""

    title: str
    scale: str = "log"
    kind: str = "number"


@dataclass
class Figure:
    """A plot, its description for readers who cannot see it, and the table of its numbers.

    `form` is lines or stack. A stack is a bar of shares for each of `categories`, which x indexes.
    """

    name: str
    title: str
    description: str
    x: Axis
    y: Axis
    series: list[Series]
    table: Table | None = None
    form: str = "lines"
    categories: list[str] = field(default_factory=list)
    level: float | None = None  # y of a horizontal reference line, such as speedup 1
    level_name: str = ""

    def data(self) -> dict[str, Any]:
        """Return the figure's numbers, for JSON."""
        return {
            "figure": self.name,
            "title": self.title,
            "x": self.x.title,
            "y": self.y.title,
            "categories": self.categories or None,
            "series": [
                {key: getattr(s, key) for key in ("name", "origin", "x", "y", "low", "high")}
                for s in self.series
            ],
        }


@dataclass
class Paragraph:
    """A paragraph of plain text."""

    text: str


@dataclass
class Bullets:
    """A bulleted list of plain texts."""

    items: list[str]


@dataclass
class Facts:
    """Facts in a few words each, with their names: those of a machine, for example."""

    items: list[tuple[str, str]]


@dataclass
class Bar:
    """A bar of counts, and what came out in a sentence.

    Each count has its kind, which decides how it looks, and its words. `label` says whose they are
    if there are several bars.
    """

    label: str
    counts: list[tuple[str, int, str]]
    sentence: str


@dataclass
class Card:
    """A subject at a glance. `name` is the section that has the details."""

    name: str
    title: str
    about: str
    bars: list[Bar]
    figure: Figure | None = None


@dataclass
class Cards:
    """Cards beside each other, and the table that outputs without cards have instead."""

    cards: list[Card]
    table: Table


Block = Table | Figure | Paragraph | Bullets | Facts | Cards


def table_of(block: Block) -> Table | None:
    """Return the table that a block is, or that of a figure or of cards."""
    found = block.table if isinstance(block, (Figure, Cards)) else block
    return found if isinstance(found, Table) else None


@dataclass
class Section:
    """A section. `name` is unique in the document; `level` 1 is a chapter."""

    name: str
    title: str
    blocks: Sequence[Block]
    level: int = 2


@dataclass
class Document:
    """A report."""

    title: str
    lead: str
    sections: list[Section]

    def tables(self) -> list[Table]:
        """Return all tables, including those of figures."""
        return [t for s in self.sections for b in s.blocks if (t := table_of(b)) is not None]

    def figures(self) -> list[Figure]:
        """Return all figures."""
        return [b for s in self.sections for b in s.blocks if isinstance(b, Figure)]
