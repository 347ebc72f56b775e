"""Rates in percent of measured upper bounds, cycles per byte, and energy."""

from __future__ import annotations

from typing import Any

from paraes.lab.analysis.rows import job_columns, known_cell, rate_estimate
from paraes.lab.derived import (
    Known,
    clock_of,
    counted,
    cycles_per_byte,
    energy,
    joules_per_gigabyte,
    percent_of_ports,
    percent_of_roof,
)
from paraes.lab.document import (
    Bullets,
    Cell,
    Column,
    Missing,
    Paragraph,
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
    rows_of_jobs = [row for row in rows if row.mode is not None]
    counts = any(row.counters for row in rows_of_jobs)

    def cycles(row: Row) -> Known:
        return cycles_per_byte(row, clock_of(contexts[row.report], clock_hz))

    known = {
        Column("of a copy of the same size, 95 %", "percent"): lambda r: percent_of_roof(r, rows),
        Column("cycles per byte, 95 %"): cycles,
        Column("of the port limit, 95 %", "percent"): lambda r: percent_of_ports(r, rows),
    }
    columns = [
        *job_columns(rows),
        (Column("rate, 95 %", unit="MB/s"), rate_estimate),
        *[(column, lambda row, of=of: known_cell(of(row))) for column, of in known.items()],
    ]
    if counts:
        columns += [
            (Column("instructions per byte"), lambda row: _counted(row, "instructions")),
            (Column("instructions per cycle"), lambda row: _counted(row, "instructions", "cycles")),
            (Column("cache misses per KiB"), lambda row: _counted(row, "cache_misses", unit=1024)),
        ]
    notes = [
        "The copy comes from the same report: memcpy with as many threads (memory scope), a pinned "
        "copy to the GPU and back (transfer scope), copy-threads with as many threads, or cp in a "
        "report without it (file scope).",
        "The port limit is the rate of the AES units on registers alone: the row ports-… of the "
        "kernel's instruction set with the same key size and number of threads, the fastest of "
        "any size. CTR can exceed it because it computes round 1 once for 256 counters. For GCM it "
        "is the row ports-gcm-… if there is one, which has that round left out and the "
        "multiplications of GHASH added.",
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
    table = Table.of("roofs", caption, rows_of_jobs, columns, notes)
    return Section("roofs-section", "Roofs and cycles", [table])


def _counted(row: Row, name: str, divisor: str | None = None, unit: int = 1) -> Cell:
    """Return what was counted for each event of `divisor`, or else for so many bytes."""
    known = [counted(row, name)]
    known.append(counted(row, divisor) if divisor else Known(row.bytes / unit, ""))
    for each in known:
        if each.value is None:
            return Missing(each.why)
    return known[0].value / known[1].value if known[1].value else None


def energy_section(rows: list[Row]) -> Section:
    """Tabulate energy where a counter was read, or list why there is none."""
    counted = [row for row in rows if energy(row).value is not None]
    if not counted:
        reasons = sorted({energy(row).why for row in rows})
        return Section(
            "energy-section",
            "Energy",
            [Paragraph("No energy was measured:"), Bullets(reasons or ["no rows"])],
        )
    columns = [
        *job_columns(rows),
        (Column("energy of a call", unit="J"), lambda row: known_cell(energy(row))),
        (
            Column("energy", unit="J/GB, 10⁹ bytes"),
            lambda row: known_cell(joules_per_gigabyte(row)),
        ),
    ]
    note = (
        "A counter covers a whole CPU package or GPU: "
        "the values are meaningful only if the machine did nothing else."
    )
    table = Table.of("energy", "Energy as counted", rows, columns, [note])
    return Section("energy-section", "Energy", [table])
