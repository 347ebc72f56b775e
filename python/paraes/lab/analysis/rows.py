"""Group and describe rows; shared by the sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from paraes.lab.derived import Known
from paraes.lab.document import Axis, Cell, Column, Estimate, Figure, Missing, Series, Table
from paraes.lab.rows import Report, Row, Skip
from paraes.lab.statistics import Interval, median_interval
from paraes.lab.units import megabytes_per_second, size_text

# Axes that define the job. Rows that differ only in other axes do the same job.
JOB = (
    "mode",
    "key_bits",
    "direction",
    "bytes",
    "messages",
    "keys",
    "scope",
    "in_place",
    "report",
)


def values_of(row: Row, names: Iterable[str]) -> tuple[Any, ...]:
    """Return the values of these axes or properties of a row."""
    return tuple(getattr(row, name) for name in names)


def grouped_by(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by these values, in the order of their first rows."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(values_of(row, names), []).append(row)
    return groups


def job_text(row: Row, size: bool = True) -> str:
    """Describe the job in words; `size` says whether to include the number of bytes."""
    words = [f"{row.scope} scope"]
    if row.mode:
        words.append(row.mode.upper())
    if row.key_bits:
        words.append(f"{row.key_bits}-bit keys")
    if row.direction:
        words.append({"encrypt": "encryption", "decrypt": "decryption"}.get(row.direction, ""))
    if row.in_place:
        words.append("in place")
    if row.message_bytes is not None:
        words.append(f"messages of {size_text(row.message_bytes)}")
        of_keys = {"each": "a key each", "once": "keys used once"}
        words.append(of_keys.get(row.keys or "", "one key"))
    if size:
        words.append(size_text(row.bytes))
    return ", ".join(words)


def rate_estimate(row: Row) -> Estimate:
    """Return the rate in 10**6 bytes a second, with the interval of the median."""
    interval = median_interval(row.samples_ns)
    low, high = (megabytes_per_second(row.bytes, ns) for ns in (interval.high, interval.low))
    return Estimate(row.mb_per_s, Interval(low, high, interval.coverage))


def rate_series(
    name: str, xs: Sequence[float], rows: Sequence[Row], origin: str = "measured"
) -> Series:
    """Return a series of the rows' rates with their intervals."""
    return Series.of(name, zip(xs, map(rate_estimate, rows), strict=True), origin)


def rates_figure(
    name: str,
    title: str,
    description: str,
    lines: Iterable[tuple[str, Iterable[Row]]],
    origin: Callable[[Row], str],
    heading: str,
    of: str = "message",
    caption: str | None = None,
) -> Figure:
    """Draw the rates of named lines of rows over the size; the table has a column for each size."""
    ordered = [(label, sorted(rows, key=lambda row: row.bytes)) for label, rows in lines]
    sizes = sorted({row.bytes for _, rows in ordered for row in rows})
    series = []
    body: list[list[Cell]] = []
    for label, rows in ordered:
        series.append(rate_series(label, [r.bytes for r in rows], rows, origin(rows[0])))
        by_size = {row.bytes: row.mb_per_s for row in rows}
        body.append([label, *map(by_size.get, sizes)])
    columns = [Column(heading, "text"), *[Column(size_text(s)) for s in sizes]]
    return Figure(
        name,
        title,
        description,
        Axis(f"size of the {of}", "log", "size"),
        Axis("10⁶ bytes a second", "log"),
        series,
        Table(name, caption or title, columns, body),
    )


def absent_devices(report: Report) -> list[Skip]:
    """Return the skips that stand for an absent device: one for each scope, without a job."""
    present = {row.device for row in report.rows}
    return [
        skip
        for skip in report.skipped
        if is_of_device(skip) and skip.axes["device"] not in (None, "cpu", *present)
    ]


def is_of_device(skip: Skip) -> bool:
    """Tell whether `skip` stands for a whole device rather than a single row."""
    return not any(skip.axes.get(name) for name in ("bytes", "kernel", "rival"))


def known_cell(known: Known) -> Cell:
    if known.value is None:
        return Missing(known.why)
    return known.value if known.interval is None else Estimate(known.value, known.interval)


def label_in(row: Row, rows: list[Row], job: bool = False) -> str:
    """Label a row by everything that distinguishes it from the others.

    `job` includes the axes of the job, for places where no column shows them.
    """
    label = row.label()
    for name, text in (
        ("key_bits", "{} bits"),
        ("format", "{}"),
        ("key_expansion", "keys on the {}"),
        ("transfer", "{}"),
        ("distribution", "{}"),
        ("group_threads", "groups of {}"),
        ("gpu_tuning", "{}"),
        ("scope", "{} scope"),
    ):
        if name in JOB and not job:
            continue
        value = getattr(row, name)
        others = {getattr(other, name) for other in rows if other.rival is None}
        if name == "key_expansion" and not row.on_gpu:
            continue  # a choice on GPUs only
        if value is not None and len(others - {None}) > 1:
            label += f" · {text.format(value)}"
    if (
        row.rival is None
        and len({r.overlap for r in rows if r.rival is None and r.scope == row.scope}) > 1
    ):
        label += " · overlap" if row.overlap else " · no overlap"
    if len({other.report for other in rows}) > 1:
        label += f" · {row.build}"
    return label


# The first columns of many tables.
WHO = "device and kernel; (rival)"
JOB_COLUMNS = [Column(WHO, "text"), Column("job", "text"), Column("size", "size")]


def job_columns(rows: list[Row], who: str = WHO) -> list[tuple[Column, Callable[[Row], Cell]]]:
    """Return these columns with what gives their cells for a row among the others."""
    return [
        (Column(who, "text"), lambda row: label_in(row, rows)),
        (JOB_COLUMNS[1], lambda row: job_text(row, size=False)),
        (JOB_COLUMNS[2], lambda row: row.bytes),
    ]


UNITS_NOTE = (
    "Intervals are over processes. With one process they are over its samples, and say nothing "
    "about the next process. With fewer than 6 of either there is only the range."
)
