"""The size from which a GPU is faster than the CPU."""

from __future__ import annotations

from paraes.lab.analysis.rows import (
    UNITS_NOTE,
    job_text,
)
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


def _opponents_to_show(opponents: dict[tuple, list[Row]], kernel: str) -> list[list[Row]]:
    """Select the CPU rows to compare with a GPU kernel.

    These are the rows that are fastest at their largest size, and those of the same kernel on the
    CPU. Others would only lengthen the table.
    """
    if not opponents:
        return []

    def pace(group: list[Row]) -> float:
        largest = max(group, key=lambda row: row.bytes)
        return largest.median_ns / largest.bytes

    fastest = min(opponents.values(), key=pace)
    family = kernel.split("-")[0]  # reference-shared is the GPU's form of reference
    same = [group for (name, _), group in opponents.items() if name == family]
    return [fastest, *[group for group in same if group is not fastest]]


def crossover_section(rows: list[Row]) -> Section | None:
    """Find the size from which a GPU is faster than the CPU, without and with transfers."""
    gpu_rows = [row for row in rows if row.on_gpu and row.rival is None]
    cpu_rows = [
        r
        for r in rows
        if r.device == "cpu" and r.rival is None and r.scope == "memory" and r.keys is None
    ]
    lines: dict[tuple, list[Row]] = {}
    for row in gpu_rows:
        key = (
            row.report,
            row.device,
            row.kernel,
            row.scope,
            row.mode,
            row.key_bits,
            row.direction,
            row.key_expansion,
            row.transfer,
            row.overlap,
        )
        lines.setdefault(key, []).append(row)
    body: list[list[Cell]] = []
    for members in lines.values():
        first = members[0]
        opponents: dict[tuple, list[Row]] = {}
        for row in cpu_rows:
            same = ("mode", "key_bits", "direction")
            if row.report != first.report or row.in_place:
                continue
            if all(getattr(row, n) == getattr(first, n) for n in same):
                opponents.setdefault((row.kernel, (row.workers, row.executor)), []).append(row)
        for group in _opponents_to_show(opponents, str(first.kernel)):
            found = crossover_of(group, members)
            if found is None:
                continue
            timed = "with transfers" if first.scope == "transfer" else "kernel only"
            cell: Cell = (
                found.verdict if found.size is None else Estimate(found.size, found.interval)
            )
            between = None
            if found.between is not None:
                between = f"{size_text(found.between[0])} to {size_text(found.between[1])}"
            body.append(
                [
                    first.label(),
                    timed,
                    group[0].label(),
                    job_text(first, size=False),
                    cell,
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
    ]
    notes.append(UNITS_NOTE)
    table = Table("crossover", "Size from which the GPU is faster", columns, body, notes, keys=4)
    return Section("crossover-section", "Crossover", [table])
