"""Throughput by size, a figure for each job."""

from __future__ import annotations

from paraes.lab.analysis.rows import WHO, job_text, label_in, rates_figure
from paraes.lab.document import Figure
from paraes.lab.rows import Row


def throughput_figures(rows: list[Row]) -> list[Figure]:
    """Draw one figure for each job that has several sizes.

    Rows of copies (memcpy, copy-threads, …) appear in every figure of their scope.
    """
    groups: dict[tuple, list[Row]] = {}
    copies = [row for row in rows if row.is_copy]
    for row in rows:
        if row.mode is not None and not row.is_ports:
            axes = (row.mode, row.key_bits, row.direction, row.in_place)
            key = (row.scope, *axes, row.message_bytes, row.keys)
            groups.setdefault(key, []).append(row)
    figures = []
    for number, (key, members) in enumerate(groups.items(), 1):
        sizes = [row.bytes for row in members]
        whole = members + [
            c
            for c in copies
            if c.scope == key[0] and c.in_place == key[4] and c.direction in (None, key[3])
            # Other sizes would only lengthen the axis.
            if min(sizes) <= c.bytes <= max(sizes)
        ]
        if len({row.bytes for row in members}) < 2:
            continue
        job = job_text(members[0], size=False)
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
