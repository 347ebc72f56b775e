"""Throughput by size, a figure for each job."""

from __future__ import annotations

from paraes.lab.analysis.rows import WHO, grouped_by, job_text, label_in, rates_figure
from paraes.lab.document import Figure
from paraes.lab.rows import Row


def throughput_figures(rows: list[Row]) -> list[Figure]:
    """Draw one figure for each job that has several sizes.

    Rows of copies (memcpy, copy-threads, …) appear in every figure of their scope.
    """
    copies = [row for row in rows if row.is_copy]
    own = [row for row in rows if row.mode is not None and not row.is_ports]
    axes = ("scope", "mode", "key_bits", "direction", "in_place", "message_bytes", "keys")
    figures = []
    for number, members in enumerate(grouped_by(own, axes).values(), 1):
        sizes, first = {row.bytes for row in members}, members[0]
        if len(sizes) < 2:
            continue
        whole = members + [
            c
            for c in copies
            if c.scope == first.scope and c.in_place == first.in_place
            if c.direction in (None, first.direction)
            # Other sizes would only lengthen the axis.
            if min(sizes) <= c.bytes <= max(sizes)
        ]
        job = job_text(first, size=False)
        figures.append(_throughput_figure(f"throughput-{number}", job, whole))
    return figures


def _throughput_figure(name: str, job: str, rows: list[Row]) -> Figure:
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(label_in(row, rows), []).append(row)
    return rates_figure(
        name,
        f"Throughput: {job}",
        f"Throughput in 10⁶ bytes a second over the size of the message, {job}; one line for each "
        "device, kernel and rival.",
        lines.items(),
        lambda row: "roof" if row.is_copy else "measured",
        WHO,
        caption=f"MB/s (10⁶ bytes a second) by size, {job}",
    )
