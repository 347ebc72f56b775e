"""Every measured row."""

from __future__ import annotations

from collections.abc import Sequence

from paraes.lab.analysis.rows import (
    FEW_SAMPLES_NOTE,
    job_text,
    label_in,
    with_absent,
)
from paraes.lab.bench import Row, Skip
from paraes.lab.document import (
    Cell,
    Column,
    Estimate,
    Missing,
    Section,
    Table,
)
from paraes.lab.statistics import mad, median_interval


def rows_section(rows: list[Row], absent: Sequence[Skip] = ()) -> Section:
    """Tabulate every measured row."""
    body: list[list[Cell]] = []
    for row in rows:
        line: list[Cell] = [label_in(row, rows), job_text(row, size=False), row.bytes, row.cache]
        if row.samples_ns.size == 0:
            failed = Missing("the measurement failed")
            body.append([*line, failed, failed, None, 0, "WRONG"])
            continue
        interval = median_interval(row.samples_ns)
        spread = 100 * 1.4826 * mad(row.samples_ns) / row.median_ns
        body.append(
            [
                *line,
                Estimate(row.median_ns, interval),
                row.mb_per_s,
                spread,
                f"{row.samples_ns.size} ({len(row.outliers)})",
                "yes" if row.verified else "WRONG",
            ]
        )
    columns = [
        Column("device and kernel; (rival)", "text"),
        Column("job", "text"),
        Column("size", "size"),
        Column("cache", "text"),
        Column("median, 95 % interval", "ns"),
        Column("MB/s"),
        Column("spread", "percent"),
        Column("samples (outliers)", "printed"),
        Column("verified", "text"),
    ]
    few = [r for r in rows if 0 < r.samples_ns.size < 6]
    notes = [
        "spread: 1.4826 × MAD, relative to the median; outliers are counted, never dropped.",
        "verified: whether the output was compared with a reference, and equal.",
    ]
    if few:
        notes.append(FEW_SAMPLES_NOTE)
    table = Table("rows", f"All {len(rows)} measured rows", columns, body, notes)
    return Section("rows-section", "All rows", [with_absent(table, absent)])
