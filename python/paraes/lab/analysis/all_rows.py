"""Every measured row, and those that did not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paraes.lab.analysis.rows import UNITS_NOTE, is_of_device, job_columns
from paraes.lab.configurations import processes_text
from paraes.lab.document import (
    Cell,
    Column,
    Estimate,
    Missing,
    Section,
    Table,
)
from paraes.lab.rows import Report, Row
from paraes.lab.statistics import mad, median_interval
from paraes.lab.units import plural, size_text


def rows_section(rows: list[Row]) -> Section:
    """Tabulate every measured row."""

    def measured(cell: Callable[[Row], Cell], otherwise: Cell) -> Callable[[Row], Cell]:
        return lambda row: cell(row) if row.samples_ns.size else otherwise

    def median(row: Row) -> Cell:
        return Estimate(row.median_ns, median_interval(row.samples_ns))

    def spread(row: Row) -> Cell:
        return 100 * 1.4826 * mad(row.samples_ns) / row.median_ns

    def outliers(row: Row) -> Cell:
        return len(row.outliers) if len(row.samples_of) <= 1 else None

    def verified(row: Row) -> Cell:
        if row.verified_reason is not None:
            return f"no: {row.verified_reason}"
        return "yes" if row.verified else "WRONG"

    failed = Missing("the measurement failed")
    columns = [
        *job_columns(rows),
        (Column("cache", "text"), lambda row: row.cache),
        (Column("median, 95 % interval", "ns"), measured(median, failed)),
        (Column("MB/s"), measured(lambda row: row.mb_per_s, failed)),
        (Column("spread", "percent"), measured(spread, None)),
        (Column("of", "text"), measured(processes_text, "")),
        (Column("outliers"), measured(outliers, None)),
        (Column("verified", "text"), measured(verified, "WRONG")),
    ]
    notes = [
        "spread: 1.4826 × MAD, relative to the median; outliers are counted, never dropped.",
        UNITS_NOTE,
        "verified: whether the output was compared with a reference, and equal.",
    ]
    table = Table.of("rows", "All measured configurations", rows, columns, notes)
    return Section("rows-section", "All rows", [table])


def skipped_section(report: Report) -> Section | None:
    """List the rows that did not run, by reason."""
    if not report.skipped:
        return None
    by_reason: dict[str, list[str]] = {}
    devices: set[tuple[Any, ...]] = set()
    for skip in report.skipped:
        axes = skip.axes
        if is_of_device(skip):
            # Each run of the bench lists the absent device again.
            key = (skip.reason, axes["device"], axes["scope"])
            if key in devices:
                continue
            devices.add(key)
        name = f"({axes['rival']})" if axes.get("rival") else axes.get("kernel") or ""
        size = size_text(axes["bytes"]) if axes.get("bytes") else ""
        words = [axes.get("device"), name, axes.get("scope"), axes.get("mode"), size]
        if (axes.get("ranks") or 1) > 1:
            words.append(plural(axes["ranks"], "rank"))
        by_reason.setdefault(skip.reason, []).append(" ".join(str(w) for w in words if w))
    body: list[list[Cell]] = []
    for reason, names in by_reason.items():
        distinct_names = list(dict.fromkeys(names))
        shown = "; ".join(distinct_names[:6]) + ("; …" if len(distinct_names) > 6 else "")
        body.append([reason, len(names), shown])
    columns = [Column("reason", "text"), Column("rows"), Column("which", "text")]
    return Section(
        "skipped-section",
        "Rows that did not run",
        [Table("skipped", "Rows that did not run, and why", columns, body)],
    )
