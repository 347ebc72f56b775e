"""Shares and times of phases."""

from __future__ import annotations

from functools import partial

from paraes.lab.analysis.rows import UNITS_NOTE, job_columns, label_in
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

WHOSE = "device and kernel"
PHASE_NAMES = {phase: phase.replace("_", " ") for phase in PHASES}
PHASE_NAMES |= {"host_to_device": "copy to the GPU", "device_to_host": "copy from the GPU"}


def _phase_times_table(rows: list[Row], names: list[str]) -> Table:
    """Tabulate the medians of the phases, with intervals where the report has samples."""

    def time(row: Row, phase: str) -> Cell:
        times = phase_times(row, phase)
        return times if times is None or isinstance(times, float) else median_estimate(times)

    columns = [
        *job_columns(rows, WHOSE),
        *[(Column(f"{PHASE_NAMES[p]}, 95 %", "ns"), partial(time, phase=p)) for p in names],
    ]
    notes = ["Medians of each phase; no interval where the report has no samples of the phase."]
    notes.append(UNITS_NOTE)
    return Table.of("phases-times", "Time of each phase", rows, columns, notes)


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

    def share(row: Row, phase: str) -> Cell:
        shares = phase_shares(row)
        return 100 * shares[phase] if phase in shares else None

    def total(row: Row) -> Cell:
        return 100 * sum(t for t in row.timeline_ns.values() if t is not None) / row.median_ns

    columns = [
        *job_columns(chosen, WHOSE),
        *[(Column(PHASE_NAMES[p], "percent"), partial(share, phase=p)) for p in names],
        (Column("sum / median", "percent"), total),
    ]
    notes = [
        "Shares are of the sum of the phases. A sum above the median of the whole call means that "
        "phases overlap; a sum below it, that time passes between them."
    ]
    table = Table.of("phases", "Share of each phase", chosen, columns, notes)
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
    sampled = any(row.timeline_samples_ns for row in chosen)
    more = [_phase_times_table(chosen, names)] if sampled else []
    return Section("phases-section", "Phases", [figure, *more])
