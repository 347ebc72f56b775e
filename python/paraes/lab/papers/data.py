"""Read the papers' numbers and check them against each other.

Each paper has a JSON file. Numbers are text exactly as printed, except that a decimal comma became
a point: the digits show how far a number was rounded. Every table says where it is from, and in
which unit its numbers are printed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from typing import Any

from paraes.lab.errors import USAGE, LabError

MIB = 1 << 20
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

    id: str
    where: str
    caption: str
    columns: list[dict[str, str]]
    labels: list[str]
    sizes: list[int]
    cells: list[dict[str, Printed]]
    transposed: bool

    def column(self, name: str) -> dict[int, Printed]:
        """Return the numbers of one column by size (or threads)."""
        return {size: row[name] for size, row in zip(self.sizes, self.cells, strict=True)}

    def at(self, size: int, name: str) -> Printed:
        """Return one number; the size must be in the table."""
        return self.cells[self.sizes.index(size)][name]

    def number(self, size: int, name: str) -> float:
        """Return one number that is not a *, in the printed unit."""
        value = self.at(size, name).value
        assert value is not None
        return value


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
        id=raw["id"],
        where=raw["where"],
        caption=raw["caption"],
        columns=columns,
        labels=[row["label"] for row in raw["rows"]],
        sizes=[row["bytes"] if "bytes" in row else row["threads"] for row in raw["rows"]],
        cells=cells,
        transposed=raw.get("transposed", False),
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


def quotient(
    where: str, what: str, printed: Printed, over: Printed, under: Printed, factor: float = 1.0
) -> Recomputed | None:
    """Compare `printed` with factor × over / under; None if one of them has no number."""
    if None in (printed.value, over.value, under.value):
        return None
    (ol, oh), (ul, uh) = over.rounded_from(), under.rounded_from()
    value = factor * over.value / under.value  # type: ignore[operator]
    return Recomputed(where, what, printed, factor * ol / uh, factor * oh / max(ul, 1e-300), value)


def total(where: str, what: str, printed: Printed, parts: list[Printed]) -> Recomputed | None:
    """Compare `printed` with the sum of `parts`, in which a * counts as 0; None without numbers."""
    known = [part for part in parts if part.value is not None]
    if printed.value is None or not known:
        return None
    spans = [part.rounded_from() for part in known]
    value = sum(part.value for part in known)  # type: ignore[misc]
    return Recomputed(
        where, what, printed, sum(s[0] for s in spans), sum(s[1] for s in spans), value
    )


def recompute(paper: Paper) -> list[Recomputed]:
    """Recompute every number that follows from others: speedups, rates, totals, Karp–Flatt."""
    found: list[Recomputed | None] = []
    tables = paper.tables
    if paper.id == "moreira-2026":
        for table in tables.values():
            for label, size, row in zip(table.labels, table.sizes, table.cells, strict=True):
                megabytes = Printed(repr(size / MIB), "MB")
                where = f"{table.where}, {label}"
                found.append(
                    quotient(where, "speedup", row["speedup"], row["cpu_time"], row["gpu_time"])
                )
                for who in ("cpu", "gpu"):
                    time = row[f"{who}_time"]
                    low, high = time.rounded_from()
                    value = float(megabytes.text)
                    found.append(
                        Recomputed(
                            where,
                            f"throughput of the {who.upper()}",
                            row[f"{who}_rate"],
                            value / high,
                            value / low,
                            value / float(time.text),
                        )
                    )
    elif paper.id == "pousa-2011":
        times, speedups, transfers = (tables[t] for t in ("times", "speedups", "transfers"))
        for label, size, row in zip(speedups.labels, speedups.sizes, speedups.cells, strict=True):
            for name, printed in row.items():
                serial, parallel = times.at(size, "serial"), times.at(size, name)
                where = f"{speedups.where}, {label}"
                found.append(quotient(where, f"speedup of {name}", printed, serial, parallel))
        for label, row in zip(transfers.labels, transfers.cells, strict=True):
            parts = [row[p] for p in ("h2d", "d2h", "kernel")]
            found.append(total(f"{transfers.where}, {label}", "total", row["total"], parts))
        rows = zip(transfers.labels, transfers.sizes, transfers.cells, strict=True)
        for label, size, row in rows:
            cuda = times.at(size, "cuda")
            low, high = row["kernel"].rounded_from()
            found.append(
                Recomputed(
                    f"{times.where}, {label}",
                    "time of CUDA (Table 3's time of encryption)",
                    cuda,
                    low,
                    high,
                    float(row["kernel"].text),
                )
            )
    elif paper.id == "tybusch-2014":
        processing, transfer, whole = (tables[t] for t in ("processing", "transfer", "total"))
        for label, size, row in zip(whole.labels, whole.sizes, whole.cells, strict=True):
            for name, printed in row.items():
                parts = [transfer.at(size, "load"), processing.at(size, name)]
                parts += [transfer.at(size, "transfer")] if name == "gpu" else []
                where = f"{whole.where}, {label}"
                found.append(total(where, f"total of {name}", printed, parts))
        load = transfer.at(1048576000, "load")
        rate = Printed(paper.statements["load_rate"]["value"], "MB/s")
        found.append(quotient("section 6.2", "rate of loading", rate, Printed("1000", "MB"), load))
    elif paper.id == "soares":
        stated, table = tables["times"].column("time"), tables["karp_flatt"]
        for threads in (8, 16):
            printed = table.at(threads, "karp_flatt")
            (l1, h1), (lp, hp) = stated[1].rounded_from(), stated[threads].rounded_from()

            def fraction(t1: float, tp: float, p: int = threads) -> float:
                return (tp / t1 - 1 / p) / (1 - 1 / p)

            found.append(
                Recomputed(
                    f"{table.where}, {threads} threads",
                    "Karp–Flatt",
                    printed,
                    fraction(h1, lp),
                    fraction(l1, hp),
                    fraction(float(stated[1].text), float(stated[threads].text)),
                )
            )
    return [item for item in found if item is not None]
