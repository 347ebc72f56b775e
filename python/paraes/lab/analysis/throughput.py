"""Throughput by size, a figure for each job."""

from __future__ import annotations

from paraes.lab.analysis.rows import (
    job_text,
    label_in,
    rate_series,
)
from paraes.lab.document import (
    Axis,
    Cell,
    Column,
    Figure,
    Table,
)
from paraes.lab.rows import Row
from paraes.lab.units import size_text


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
        label = label_in(row, rows)
        lines.setdefault(label, []).append(row)
    series, body = [], []
    for label, members in lines.items():
        members.sort(key=lambda r: r.bytes)
        origin = "roof" if members[0].is_copy else "measured"
        series.append(rate_series(label, [r.bytes for r in members], members, origin))
    sizes = sorted({row.bytes for row in rows})
    for label, members in lines.items():
        by_size = {row.bytes: row for row in members}
        cells: list[Cell] = [by_size[s].mb_per_s if s in by_size else None for s in sizes]
        body.append([label, *cells])
    columns = [Column("device and kernel; (rival)", "text"), *[Column(size_text(s)) for s in sizes]]
    return Figure(
        name,
        f"Throughput: {job}",
        f"Throughput in 10⁶ bytes a second over the size of the message, {job}; one line for each "
        "device, kernel and rival.",
        Axis("size of the message", "log", "size"),
        Axis("10⁶ bytes a second", "log"),
        series,
        Table(name, f"MB/s (10⁶ bytes a second) by size, {job}", columns, body),
    )
