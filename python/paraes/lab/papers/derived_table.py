"""The table of what follows from a paper's times: rates, efficiency, Karp–Flatt, transfer share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.papers.cells import mapped, rate, ratio
from paraes.lab.rows import Row
from paraes.lab.scaling import efficiency, karp_flatt
from paraes.lab.units import megabytes_per_second, size_text

NO_TIME = Missing("the paper has no time for this")


@dataclass(frozen=True)
class Line:
    """An implementation: the paper's seconds by size, and the rows of this machine.

    `workers` are the paper's threads or ranks, `workers_here` those of the rows; 1 has neither
    efficiency nor Karp–Flatt, like a GPU. An empty `paper` has no lines.
    """

    name: str
    paper: Mapping[int, float | None]
    here: Callable[[int], Row | Missing]
    workers: int = 1
    workers_here: int = 1

    @property
    def name_here(self) -> str:
        """The name, with the number of workers of this machine where it is another one."""
        if self.workers_here == self.workers:
            return self.name
        return f"{self.name}, here {self.workers_here}"


@dataclass(frozen=True)
class Share:
    """The share of a part in the whole time of a GPU, in percent, by size.

    `part` is transfers or loading.
    """

    name: str
    paper: Mapping[int, float | None]
    here: Callable[[int], Cell]
    part: str = "transfers"


def _number(value: float | None) -> Cell:
    return NO_TIME if value is None else value


def derived_section(
    paper: str,
    sizes: Sequence[int],
    lines: Sequence[Line],
    serial: Line | None,
    shares: Sequence[Share] = (),
) -> Section:
    """Tabulate what follows from the times of the paper and of this machine, by size.

    Efficiency and Karp–Flatt are relative to `serial`.
    """
    body: list[list[Cell]] = []

    def add(name: str, quantity: str, source: str, cells: Callable[[int], Cell]) -> None:
        body.append([name, quantity, source, *[cells(size) for size in sizes]])

    for line in lines:

        def paper_rate(size: int, line: Line = line) -> Cell:
            time = line.paper.get(size)
            return _number(time and megabytes_per_second(size, time * 1e9))

        def rate_here(size: int, line: Line = line) -> Cell:
            return rate(line.here(size))

        if line.paper:
            add(line.name, "MB/s", "paper", paper_rate)
        add(line.name_here, "MB/s", "here", rate_here)
    formulas: tuple[tuple[str, Callable[[float, int], float]], ...] = (
        ("efficiency", efficiency),
        ("Karp–Flatt", karp_flatt),
    )
    for quantity, formula in formulas if serial is not None else ():
        for line in lines:
            assert serial is not None
            if line.workers > 1 and line.paper:

                def from_paper(size: int, line: Line = line, formula=formula) -> Cell:
                    one, many = serial.paper.get(size), line.paper.get(size)
                    return _number(formula(one / many, line.workers) if one and many else None)

                add(line.name, quantity, "paper", from_paper)
            if line.workers_here > 1:

                def from_here(size: int, line: Line = line, formula=formula) -> Cell:
                    speedup = ratio(serial.here(size), line.here(size))
                    return mapped(speedup, lambda s: formula(s, line.workers_here))

                add(line.name_here, quantity, "here", from_here)
    for share in shares:
        quantity = f"{share.part}, %"
        add(share.name, quantity, "paper", lambda size, s=share: _number(s.paper.get(size)))
        add(share.name, quantity, "here", share.here)
    table = Table(
        f"{paper}-derived",
        "Rates (MB/s are 10⁶ bytes a second) and what else follows from the times",
        [
            Column("implementation", "text"),
            Column("quantity", "text"),
            Column("source", "text"),
            *[Column(size_text(size)) for size in sizes],
        ],
        body,
        _notes(serial, shares),
        keys=3,
    )
    return Section(f"{paper}-derived-section", "Derived from the times", [table])


def _notes(serial: Line | None, shares: Sequence[Share]) -> list[str]:
    notes = []
    if serial is not None:
        notes.append(
            "efficiency: speedup against one thread divided by threads or ranks. Karp–Flatt: the "
            "serial fraction that explains the speedup."
        )
    for part, meaning in (("transfers", "both copies"), ("loading", "reading the file")):
        if any(share.part == part for share in shares):
            notes.append(f"{part}: {meaning}, in percent of the whole time.")
    return notes
