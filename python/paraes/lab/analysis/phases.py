"""Shares and times of phases."""

from __future__ import annotations

from typing import Any

from paraes.lab.analysis.rows import (
    UNITS_NOTE,
    job_cells,
    label_in,
)
from paraes.lab.derived import (
    phase_shares,
    phase_times,
)
from paraes.lab.document import (
    Axis,
    Cell,
    Column,
    Figure,
    Section,
    Series,
    Table,
    median_estimate,
)
from paraes.lab.rows import PHASES, Row
from paraes.lab.units import size_text

PHASE_NAMES = {
    "read": "read",
    "key_expansion": "key expansion",
    "host_to_device": "copy to the GPU",
    "kernel": "kernel",
    "device_to_host": "copy from the GPU",
    "write": "write",
    "scatter": "scatter",
    "gather": "gather",
}


def _phase_times_table(rows: list[Row], names: list[str]) -> Table:
    """Tabulate the medians of the phases, with intervals where the report has samples."""
    body: list[list[Cell]] = []
    for row in rows:
        line = job_cells(row, rows)
        for name in names:
            times = phase_times(row, name)
            known = times is None or isinstance(times, float)
            line.append(times if known else median_estimate(times))
        body.append(line)
    columns = [
        Column("device and kernel", "text"),
        Column("job", "text"),
        Column("size", "size"),
        *[Column(f"{PHASE_NAMES[p]}, 95 %", "ns") for p in names],
    ]
    notes = ["Medians of each phase; no interval where the report has no samples of the phase."]
    notes.append(UNITS_NOTE)
    return Table("phases-times", "Time of each phase", columns, body, notes)


def phases_section(rows: list[Row]) -> Section | None:
    """Tabulate the share and time of every phase, for rows that have more than one."""
    chosen = [
        row
        for row in rows
        if len(shares := phase_shares(row)) > 1 and (row.scope != "memory" or "scatter" in shares)
    ]
    if not chosen:
        return None
    names = [p for p in PHASES if any(p in phase_shares(row) for row in chosen)]
    body: list[list[Cell]] = []
    for row in chosen:
        shares = phase_shares(row)
        total = sum(t for t in row.timeline_ns.values() if t is not None)
        body.append(
            [
                *job_cells(row, chosen),
                *[100 * shares[p] if p in shares else None for p in names],
                100 * total / row.median_ns,
            ]
        )
    columns = [
        Column("device and kernel", "text"),
        Column("job", "text"),
        Column("size", "size"),
        *[Column(PHASE_NAMES[p], "percent") for p in names],
        Column("sum / median", "percent"),
    ]
    notes = [
        "Shares are of the sum of the phases. A sum above the median of the whole call means that "
        "phases overlap; a sum below it, that time passes between them."
    ]
    table = Table("phases", "Share of each phase", columns, body, notes)
    largest: dict[tuple, Row] = {}
    for row in chosen:
        key = (row.report, *row.axes("bytes", "cache", "direction"))
        if row.direction != "decrypt" and (key not in largest or row.bytes > largest[key].bytes):
            largest[key] = row
    bars = list(largest.values()) or chosen[:1]
    figure = Figure(
        "phases-figure",
        "Share of each phase at the largest size",
        "A bar of equal length for each device and kernel, divided into the shares of its phases.",
        Axis("", "linear"),
        Axis("percent", "linear"),
        [
            Series(
                PHASE_NAMES[p],
                [float(i) for i in range(len(bars))],
                [100 * phase_shares(r).get(p, 0.0) for r in bars],
            )
            for p in names
        ],
        table,
        form="stack",
        categories=[f"{label_in(r, chosen, job=True)}, {size_text(r.bytes)}" for r in bars],
    )
    blocks: list[Any] = [figure]
    if any(row.timeline_samples_ns for row in chosen):
        blocks.append(_phase_times_table(chosen, names))
    return Section("phases-section", "Phases", blocks)
