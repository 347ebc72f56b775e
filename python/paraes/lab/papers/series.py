"""Compare two configurations that were measured at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from paraes.lab.crossover import Crossover, crossover_of
from paraes.lab.document import Cell, Missing
from paraes.lab.papers.cells import ratio
from paraes.lab.papers.evidence import Device
from paraes.lab.rows import Row

Rows = Mapping[int, Row | Missing]  # by size, in bytes


def common(over: Rows, under: Rows) -> list[int]:
    """Return the sizes at which both were measured, in order."""
    both = over.keys() & under.keys()
    return sorted(s for s in both if isinstance(over[s], Row) and isinstance(under[s], Row))


def at_largest(
    sizes: Sequence[int],
    over: Rows,
    under: Rows,
    how: Callable[[Row | Missing, Row | Missing], Cell] = ratio,
) -> tuple[int | None, Cell]:
    """Compare at the largest of `sizes` that both were measured at; return that size too.

    Without one the size is None, and the cell has the reason for the first of `sizes`.
    """
    size = max(set(common(over, under)) & set(sizes), default=None)
    shown = sizes[0] if size is None else size
    return size, how(over[shown], under[shown])


def crossover_between(incumbent: Rows, challenger: Rows) -> Crossover | None:
    """Find the size from which the challenger is faster, over the sizes of both."""
    sizes = common(incumbent, challenger)

    def rows(of: Rows) -> list[Row]:
        return [row for size in sizes if isinstance(row := of[size], Row)]

    return crossover_of(rows(incumbent), rows(challenger))


def gpu_name(device: Device) -> str:
    """Return the name of the GPU beside a paper's; it says so if a CPU stands in for one."""
    return f"GPU, here {device.title}" if device.is_cpu else "GPU"
