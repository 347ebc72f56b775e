"""Every measured row."""

from __future__ import annotations

from paraes.lab.analysis.rows import (
    JOB_COLUMNS,
    UNITS_NOTE,
    job_cells,
)
from paraes.lab.configurations import processes_text
from paraes.lab.document import (
    Cell,
    Column,
    Estimate,
    Missing,
    Section,
    Table,
)
from paraes.lab.rows import Row
from paraes.lab.statistics import mad, median_interval


def rows_section(rows: list[Row]) -> Section:
    """Tabulate every measured row."""
    body: list[list[Cell]] = []
    for row in rows:
        line = [*job_cells(row, rows), row.cache]
        if row.samples_ns.size == 0:
            failed = Missing("the measurement failed")
            body.append([*line, failed, failed, None, "", None, "WRONG"])
            continue
        interval = median_interval(row.samples_ns)
        spread = 100 * 1.4826 * mad(row.samples_ns) / row.median_ns
        body.append(
            [
                *line,
                Estimate(row.median_ns, interval),
                row.mb_per_s,
                spread,
                processes_text(row),
                len(row.outliers) if len(row.samples_of) <= 1 else None,
                "yes" if row.verified else "WRONG",
            ]
        )
    columns = [
        *JOB_COLUMNS,
        Column("cache", "text"),
        Column("median, 95 % interval", "ns"),
        Column("MB/s"),
        Column("spread", "percent"),
        Column("of", "text"),
        Column("outliers"),
        Column("verified", "text"),
    ]
    notes = [
        "spread: 1.4826 × MAD, relative to the median; outliers are counted, never dropped.",
        UNITS_NOTE,
        "verified: whether the output was compared with a reference, and equal.",
    ]
    table = Table("rows", "All measured configurations", columns, body, notes)
    return Section("rows-section", "All rows", [table])
