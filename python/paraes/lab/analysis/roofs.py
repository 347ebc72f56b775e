"""Rates in percent of measured upper bounds, and cycles per byte."""

from __future__ import annotations

from typing import Any

from paraes.lab.analysis.rows import (
    JOB_COLUMNS,
    job_cells,
    known_cell,
    rate_estimate,
)
from paraes.lab.derived import (
    Known,
    clock_of,
    counted,
    cycles_per_byte,
    percent_of_ports,
    percent_of_roof,
)
from paraes.lab.document import (
    Cell,
    Column,
    Missing,
    Section,
    Table,
)
from paraes.lab.rows import Row


def roofs_section(
    rows: list[Row],
    contexts: list[dict[str, Any]],
    clock_hz: float | None,
) -> Section:
    """Compare rates with a copy and with the limit of the AES units; add cycles per byte."""
    body: list[list[Cell]] = []
    rows_of_jobs = [row for row in rows if row.mode is not None]
    counts = any(row.counters for row in rows_of_jobs)
    for row in rows_of_jobs:
        clock = clock_of(contexts[row.report] if row.report < len(contexts) else {}, clock_hz)
        body.append(
            [
                *job_cells(row, rows),
                rate_estimate(row),
                known_cell(percent_of_roof(row, rows)),
                known_cell(cycles_per_byte(row, clock)),
                known_cell(percent_of_ports(row, rows)),
                *(_counters(row) if counts else []),
            ]
        )
    columns = [
        *JOB_COLUMNS,
        Column("rate, 95 %", unit="MB/s"),
        Column("of a copy of the same size, 95 %", "percent"),
        Column("cycles per byte, 95 %"),
        Column("of the port limit, 95 %", "percent"),
    ]
    if counts:
        columns += [
            Column("instructions per byte"),
            Column("instructions per cycle"),
            Column("cache misses per KiB"),
        ]
    notes = [
        "The copy comes from the same report: memcpy with as many threads (memory scope), a pinned "
        "copy to the GPU and back (transfer scope), copy-threads with as many threads, or cp in a "
        "report without it (file scope).",
        "The port limit is the rate of the AES units on registers alone: the row ports-… of the "
        "kernel's instruction set with the same key size and number of threads, the fastest of "
        "any size. CTR and GCM can exceed it because they compute round 1 once for 256 counters.",
    ]
    if counts:
        notes.append(
            "Cycles, instructions and cache misses are those that the processor counted in user "
            "space, in all threads together. Cycles with an interval follow from the time and the "
            "clock, where it did not count."
        )
    else:
        reasons = {row.counters_reason for row in rows_of_jobs} - {None}
        notes += [f"The processor's counters were not read: {r}." for r in sorted(reasons)[:3]]
    caption = "Rates in percent of measured upper bounds (roofs), and cycles per byte"
    table = Table("roofs", caption, columns, body, notes)
    return Section("roofs-section", "Roofs and cycles", [table])


def _counters(row: Row) -> list[Cell]:
    """Return instructions per byte, instructions per cycle, and cache misses per KiB."""
    cycles, instructions, misses = (
        counted(row, name) for name in ("cycles", "instructions", "cache_misses")
    )

    def over(known: Known, divisor: Known) -> Cell:
        for each in (known, divisor):
            if each.value is None:
                return Missing(each.why)
        return known.value / divisor.value if divisor.value else None

    size = Known(row.bytes, "")
    return [
        over(instructions, size),
        over(instructions, cycles),
        over(misses, Known(row.bytes / 1024, "")),
    ]
