"""The size from which a GPU is faster than the CPU."""

from __future__ import annotations

from paraes.lab.analysis.rows import UNITS_NOTE, grouped_by, job_text, values_of
from paraes.lab.crossover import crossover_of
from paraes.lab.document import (
    Cell,
    Column,
    Estimate,
    Section,
    Table,
)
from paraes.lab.rows import Row
from paraes.lab.units import size_text

# Axes of the rows of a GPU that differ in their size only.
SERIES = (
    "report",
    "device",
    "kernel",
    "scope",
    "mode",
    "key_bits",
    "direction",
    "key_expansion",
    "transfer",
    "overlap",
)
SAME = ("report", "mode", "key_bits", "direction")  # axes of rows of a GPU and of the CPU


def _opponents(cpu_rows: list[Row], gpu_row: Row) -> list[list[Row]]:
    """Select the series of the CPU to compare with a GPU kernel.

    These are the rows that are fastest at their largest size, and those of the same kernel on the
    CPU. Others would only lengthen the table.
    """
    same_job = [row for row in cpu_rows if values_of(row, SAME) == values_of(gpu_row, SAME)]
    opponents = grouped_by(same_job, ("kernel", "workers", "executor"))
    if not opponents:
        return []

    def pace(group: list[Row]) -> float:
        largest = max(group, key=lambda row: row.bytes)
        return largest.median_ns / largest.bytes

    fastest = min(opponents.values(), key=pace)
    family = str(gpu_row.kernel).split("-")[0]  # reference-shared is the GPU's form of reference
    same = [group for (name, *_), group in opponents.items() if name == family]
    return [fastest, *[group for group in same if group is not fastest]]


def crossover_section(rows: list[Row]) -> Section | None:
    """Find the size from which a GPU is faster than the CPU, without and with transfers."""
    gpu_rows = [row for row in rows if row.on_gpu and row.rival is None]
    cpu_rows = [
        r
        for r in rows
        if r.device == "cpu"
        and r.rival is None
        and r.scope == "memory"
        and r.keys is None
        and not r.in_place
    ]
    body: list[list[Cell]] = []
    for members in grouped_by(gpu_rows, SERIES).values():
        first = members[0]
        for group in _opponents(cpu_rows, first):
            found = crossover_of(group, members)
            if found is None:
                continue
            between = found.between and " to ".join(map(size_text, found.between))
            body.append(
                [
                    first.label(),
                    "with transfers" if first.scope == "transfer" else "kernel only",
                    group[0].label(),
                    job_text(first, size=False),
                    found.verdict if found.size is None else Estimate(found.size, found.interval),
                    between,
                    None if found.share is None else 100 * found.share,
                    found.changes,
                ]
            )
    if not body:
        return None
    columns = [
        Column("GPU", "text"),
        Column("GPU time", "text"),
        Column("CPU", "text"),
        Column("job", "text"),
        Column("GPU faster from, 95 %", "size"),
        Column("between measured sizes", "text"),
        Column("replicates with a crossover", "percent"),
        Column("changes"),
    ]
    notes = [
        "Interpolated linearly between measured sizes, in the logarithms of time and size; "
        "never extrapolated.",
        "replicates: bootstrap resamples of the measured times.",
        "changes: how many times the faster device changes as the size grows; more than 1 means "
        "that the curves cross more than once.",
        UNITS_NOTE,
    ]
    table = Table("crossover", "Size from which the GPU is faster", columns, body, notes, keys=4)
    return Section("crossover-section", "Crossover", [table])
