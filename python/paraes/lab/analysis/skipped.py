"""Rows that did not run."""

from __future__ import annotations

from typing import Any

from paraes.lab.analysis.rows import is_of_device
from paraes.lab.document import (
    Cell,
    Column,
    Section,
    Table,
)
from paraes.lab.rows import Report
from paraes.lab.units import plural, size_text


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
