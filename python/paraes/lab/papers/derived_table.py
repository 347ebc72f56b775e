"""The table of what follows from a paper's times: rates, efficiency, Karp–Flatt, transfer share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from paraes.lab.document import Cell, Missing, Section
from paraes.lab.papers.cells import mapped, rate, ratio
from paraes.lab.papers.figures import sizes_table
from paraes.lab.rows import Row
from paraes.lab.scaling import efficiency, karp_flatt
from paraes.lab.units import megabytes_per_second

NO_TIME = Missing("the paper has no time for this")
EFFICIENCY_NOTE = (
    "efficiency: speedup against one thread divided by threads or ranks. Karp–Flatt: the serial "
    "fraction that explains the speedup."
)


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


def derived_section(
    paper: str,
    sizes: Sequence[int],
    lines: Sequence[Line],
    serial: Line | None,
    shares: Sequence[Share] = (),
    of: str = "",
) -> Section:
    """Tabulate what follows from the times of the paper and of this machine, by size.

    Efficiency and Karp–Flatt are relative to `serial`. `of` names whose times they are.
    """
    body: list[list[Cell]] = []

    def theirs(name: str, quantity: str, numbers: Iterable[float | None]) -> None:
        cells = [NO_TIME if number is None else number for number in numbers]
        body.append([name, quantity, "paper", *cells])

    def here(name: str, quantity: str, cell: Callable[[int], Cell]) -> None:
        body.append([name, quantity, "here", *map(cell, sizes)])

    for line in lines:
        if line.paper:
            times = [(size, line.paper.get(size)) for size in sizes]
            theirs(line.name, "MB/s", [t and megabytes_per_second(s, t * 1e9) for s, t in times])
        here(line.name_here, "MB/s", lambda size, of=line: rate(of.here(size)))
    formulas = {"efficiency": efficiency, "Karp–Flatt": karp_flatt} if serial else {}
    for quantity, formula in formulas.items():
        for line in lines:
            if line.workers > 1 and line.paper:
                both = [(serial.paper.get(size), line.paper.get(size)) for size in sizes]
                numbers = [formula(a / b, line.workers) if a and b else None for a, b in both]
                theirs(line.name, quantity, numbers)
            if line.workers_here > 1:
                of_speedup = partial(formula, p=line.workers_here)

                def from_here(size: int, line: Line = line, function=of_speedup) -> Cell:
                    return mapped(ratio(serial.here(size), line.here(size)), function)

                here(line.name_here, quantity, from_here)
    for share in shares:
        quantity = f"{share.part}, %"
        theirs(share.name, quantity, map(share.paper.get, sizes))
        here(share.name, quantity, share.here)
    notes = [EFFICIENCY_NOTE] if serial is not None else []
    for part, meaning in (("transfers", "both copies"), ("loading", "reading the file")):
        if any(share.part == part for share in shares):
            notes.append(f"{part}: {meaning}, in percent of the whole time.")
    table = sizes_table(
        f"{paper}-derived",
        "Rates (MB/s are 10⁶ bytes a second) and what else follows from the times",
        ["implementation", "quantity", "source"],
        sizes,
        body,
        notes,
        keys=3,
    )
    title = f"Derived from the times{of}"
    return Section(f"{paper}-derived-section", title, [table])
