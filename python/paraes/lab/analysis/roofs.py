"""Rates in percent of measured upper bounds, and cycles per byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paraes.lab.analysis.rows import (
    job_text,
    known_cell,
    label_in,
    rate_estimate,
    with_absent,
)
from paraes.lab.bench import Row, Skip
from paraes.lab.derived import (
    clock_of,
    cycles_per_byte,
    percent_of_ports,
    percent_of_roof,
)
from paraes.lab.document import (
    Cell,
    Column,
    Section,
    Table,
)


def roofs_section(
    rows: list[Row],
    contexts: list[dict[str, Any]],
    clock_hz: float | None,
    absent: Sequence[Skip] = (),
) -> Section:
    """Compare rates with a copy and with the limit of the AES units; add cycles per byte."""
    body: list[list[Cell]] = []
    for row in rows:
        if row.mode is None:
            continue
        clock = clock_of(contexts[row.report] if row.report < len(contexts) else {}, clock_hz)
        body.append(
            [
                label_in(row, rows),
                job_text(row, size=False),
                row.bytes,
                rate_estimate(row),
                known_cell(percent_of_roof(row, rows)),
                known_cell(cycles_per_byte(row, clock)),
                known_cell(percent_of_ports(row, rows)),
            ]
        )
    columns = [
        Column("device and kernel; (rival)", "text"),
        Column("job", "text"),
        Column("size", "size"),
        Column("rate, 95 %", unit="MB/s"),
        Column("of a copy of the same size, 95 %", "percent"),
        Column("cycles per byte, 95 %"),
        Column("of the port limit, 95 %", "percent"),
    ]
    notes = [
        "The copy comes from the same report: memcpy with as many threads (memory scope), a pinned "
        "copy to the GPU and back (transfer scope), copy-threads with as many threads, or cp in a "
        "report without it (file scope).",
        "The port limit is the rate of the AES units on registers alone: the row ports-… of the "
        "kernel's instruction set with the same key size and number of threads, the fastest of "
        "any size. CTR and GCM can exceed it because they compute round 1 once for 256 counters.",
    ]
    caption = "Rates in percent of measured upper bounds (roofs), and cycles per byte"
    table = Table("roofs", caption, columns, body, notes)
    return Section("roofs-section", "Roofs and cycles", [with_absent(table, absent)])
