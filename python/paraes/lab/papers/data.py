"""Read the papers' numbers and check them against each other.

Each paper has a JSON file. Numbers are text exactly as printed, except that a decimal comma became
a point: the digits show how far a number was rounded. Every table says where it is from, and in
which unit its numbers are printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from importlib import resources
from itertools import product
from operator import truediv
from typing import Any

from paraes.lab.errors import USAGE, LabError
from paraes.lab.papers.setting import MIB

NAMES = ("moreira-2026", "tybusch-2014", "luken-2009", "pousa-2011", "pousa-2014", "soares")
SECONDS = {"s": 1.0, "ms": 1e-3}


@dataclass(frozen=True)
class Printed:
    """A number as printed. `value` is in the printed unit; None if the paper has a * instead."""

    text: str
    unit: str

    @property
    def value(self) -> float | None:
        """The number in the printed unit, or None."""
        return None if self.text in ("*", "") else float(self.text)

    @property
    def seconds(self) -> float | None:
        """The time in seconds, from whichever unit was printed."""
        return None if self.value is None else self.value * SECONDS[self.unit]

    @property
    def ulp(self) -> float:
        """One unit of the last printed digit."""
        return float(Decimal(1).scaleb(int(Decimal(self.text).as_tuple().exponent)))

    def rounded_from(self) -> tuple[float, float]:
        """Return the range of values that rounding turns into this text."""
        assert self.value is not None
        return self.value - self.ulp / 2, self.value + self.ulp / 2

    def may_show(self, low: float, high: float) -> bool:
        """Tell whether some value from `low` to `high` prints like this, rounded or truncated."""
        assert self.value is not None
        slack = 1e-9 * abs(self.value)
        return low <= self.value + self.ulp + slack and high >= self.value - self.ulp / 2 - slack


@dataclass(frozen=True)
class PaperTable:
    """A printed table: `cells[row][column id]`. `sizes` are bytes (or threads) by row."""

    where: str
    columns: list[dict[str, str]]
    labels: list[str]
    sizes: list[int]
    cells: list[dict[str, Printed]]

    def column(self, name: str) -> dict[int, Printed]:
        """Return the numbers of one column by size (or threads)."""
        return {size: row[name] for size, row in zip(self.sizes, self.cells, strict=True)}

    def seconds(self, name: str) -> dict[int, float | None]:
        """Return the times of one column in seconds, by size."""
        return {size: printed.seconds for size, printed in self.column(name).items()}

    def lines(self) -> Iterator[tuple[str, int, dict[str, Printed]]]:
        """Yield each row: where it is printed, its size, and its numbers by column."""
        for label, size, row in zip(self.labels, self.sizes, self.cells, strict=True):
            yield f"{self.where}, {label}", size, row

    def at(self, size: int, name: str) -> Printed:
        """Return one number; the size must be in the table."""
        return self.cells[self.sizes.index(size)][name]

    def number(self, size: int, name: str) -> float:
        """Return one number that is not a *, in the printed unit."""
        value = self.at(size, name).value
        assert value is not None
        return value

    def ratio(self, size: int, over: str, under: str) -> float | None:
        """Return one number divided by another of its row; None if one of them is a *."""
        a, b = self.at(size, over).value, self.at(size, under).value
        return None if a is None or b is None else a / b

    def above(self, over: str, under: str, limit: float = 1.0) -> list[int]:
        """Return the sizes at which this ratio is above the limit."""
        return [s for s in self.sizes if (self.ratio(s, over, under) or 0) > limit]


@dataclass(frozen=True)
class Paper:
    """The data file of one paper."""

    id: str
    raw: dict[str, Any]
    tables: dict[str, PaperTable]

    @property
    def statements(self) -> dict[str, dict[str, str]]:
        """The statements of the paper's text, by id."""
        return {s["id"]: s for s in self.raw["statements"]}


def _table(raw: dict[str, Any]) -> PaperTable:
    columns = raw["columns"]
    cells = []
    for row in raw["rows"]:
        if len(row["values"]) != len(columns):
            raise ValueError(f"{raw['id']}, {row['label']}: {len(row['values'])} values")
        pairs = zip(columns, row["values"], strict=True)
        cells.append({column["id"]: Printed(text, column["unit"]) for column, text in pairs})
    return PaperTable(
        where=raw["where"],
        columns=columns,
        labels=[row["label"] for row in raw["rows"]],
        sizes=[row["bytes"] if "bytes" in row else row["threads"] for row in raw["rows"]],
        cells=cells,
    )


def load_paper(name: str) -> Paper:
    """Load the data of a paper by name."""
    if name not in NAMES:
        raise LabError(f"no paper '{name}'; there are {', '.join(NAMES)}, all", USAGE)
    text = resources.files(__package__).joinpath(f"{name}.json").read_text(encoding="utf-8")
    raw = json.loads(text)
    return Paper(name, raw, {t["id"]: _table(t) for t in raw["tables"]})


@dataclass(frozen=True)
class Recomputed:
    """A printed number, and its value recomputed from the paper's other numbers."""

    where: str
    what: str
    printed: Printed
    low: float
    high: float
    value: float

    @property
    def agrees(self) -> bool:
        """Whether rounding or truncation of the numbers explains the difference."""
        return self.printed.may_show(self.low, self.high)


def follows(
    where: str, what: str, printed: Printed, formula: Callable[..., float], *parts: Printed
) -> Recomputed | None:
    """Compare `printed` with a formula of other numbers; None if one of them has no number.

    The formula must rise or fall with each of the numbers, so that its limits are at theirs.
    """
    if None in (printed.value, *[part.value for part in parts]):
        return None
    ends = [formula(*each) for each in product(*[part.rounded_from() for part in parts])]
    value = formula(*[part.value for part in parts])
    return Recomputed(where, what, printed, min(ends), max(ends), value)


def total(where: str, what: str, printed: Printed, parts: list[Printed]) -> Recomputed | None:
    """Compare `printed` with the sum of `parts`, in which a * counts as 0; None without numbers."""
    known = [part for part in parts if part.value is not None]
    return follows(where, what, printed, lambda *times: sum(times), *known) if known else None


def _moreira_2026(paper: Paper) -> Iterator[Recomputed | None]:
    for table in paper.tables.values():
        for where, size, row in table.lines():
            yield follows(
                where, "speedup", row["speedup"], truediv, row["cpu_time"], row["gpu_time"]
            )
            for who in ("cpu", "gpu"):
                rate = partial(truediv, size / MIB)
                what = f"throughput of the {who.upper()}"
                yield follows(where, what, row[f"{who}_rate"], rate, row[f"{who}_time"])


def _tybusch_2014(paper: Paper) -> Iterator[Recomputed | None]:
    processing, transfer, whole = (paper.tables[t] for t in ("processing", "transfer", "total"))
    for where, size, row in whole.lines():
        for name, printed in row.items():
            parts = [transfer.at(size, "load"), processing.at(size, name)]
            parts += [transfer.at(size, "transfer")] if name == "gpu" else []
            yield total(where, f"total of {name}", printed, parts)
    load = transfer.at(1000 * MIB, "load")
    rate = Printed(paper.statements["load_rate"]["value"], "MB/s")
    yield follows("section 6.2", "rate of loading", rate, truediv, Printed("1000", "MB"), load)


def _pousa_2011(paper: Paper) -> Iterator[Recomputed | None]:
    times, speedups, transfers = (paper.tables[t] for t in ("times", "speedups", "transfers"))
    for where, size, row in speedups.lines():
        for name, printed in row.items():
            serial, parallel = times.at(size, "serial"), times.at(size, name)
            yield follows(where, f"speedup of {name}", printed, truediv, serial, parallel)
    for where, _, row in transfers.lines():
        yield total(where, "total", row["total"], [row[p] for p in ("h2d", "d2h", "kernel")])
    for (where, size, _), row in zip(times.lines(), transfers.cells, strict=True):
        what = "time of CUDA (Table 3's time of encryption)"
        yield total(where, what, times.at(size, "cuda"), [row["kernel"]])


def _soares(paper: Paper) -> Iterator[Recomputed | None]:
    stated, table = paper.tables["times"].column("time"), paper.tables["karp_flatt"]
    for threads in (8, 16):

        def fraction(t1: float, tp: float, p: int = threads) -> float:
            return (tp / t1 - 1 / p) / (1 - 1 / p)

        where = f"{table.where}, {threads} threads"
        printed = table.at(threads, "karp_flatt")
        yield follows(where, "Karp–Flatt", printed, fraction, stated[1], stated[threads])


# Paper → the numbers that follow from its others: speedups, rates, totals, Karp–Flatt.
_FOLLOWING: dict[str, Callable[[Paper], Iterator[Recomputed | None]]] = {
    "moreira-2026": _moreira_2026,
    "tybusch-2014": _tybusch_2014,
    "pousa-2011": _pousa_2011,
    "soares": _soares,
}


def recompute(paper: Paper) -> list[Recomputed]:
    """Recompute every number that follows from others."""
    if paper.id not in _FOLLOWING:
        return []
    return [item for item in _FOLLOWING[paper.id](paper) if item is not None]
