"""Turn bench JSON into report sections.

Machine, throughput, rivals, scaling, crossover, phases, roofs, energy, all rows, skipped rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from paraes.lab.bench import OPENMP, PHASES, Report, Row, Skip, is_cpu_device, machine_of
from paraes.lab.crossover import crossover
from paraes.lab.derived import (
    Known,
    clock_of,
    cycles_per_byte,
    energy,
    joules_per_gigabyte,
    percent_of_ports,
    percent_of_roof,
    phase_shares,
    phase_times,
)
from paraes.lab.document import (
    Axis,
    Bullets,
    Cell,
    Column,
    Document,
    Estimate,
    Figure,
    Missing,
    Paragraph,
    Section,
    Series,
    Table,
    median_estimate,
)
from paraes.lab.scaling import Fit, Scaling, scalings, weak_scalings
from paraes.lab.statistics import Interval, compare, mad, median_interval
from paraes.lab.units import megabytes_per_second, plural, size_text

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
PHASE_NAMES = {
    "read": "read",
    "key_expansion": "key expansion",
    "host_to_device": "copy to the GPU",
    "kernel": "kernel",
    "device_to_host": "copy from the GPU",
    "write": "write",
    "scatter": "scatter",
    "gather": "gather",
}
FEW_SAMPLES_NOTE = (
    "With fewer than 6 samples the interval is their whole range and covers less than 95 %."
)
VERDICT_NOTE = (
    "faster or slower: the two-sided Mann–Whitney test has p < 0.05 and the bootstrap interval of "
    "the ratio of medians excludes 1; otherwise undecided."
)


def distinct(rows: Iterable[Row]) -> list[Row]:
    """Return the first row of each set of axes in each report (parts may repeat a row)."""
    found: dict[tuple, Row] = {}
    for row in rows:
        found.setdefault((row.report, *row.axes()), row)
    return list(found.values())


def job_of(row: Row) -> tuple[Any, ...]:
    """Return the job that a row does."""
    return tuple(getattr(row, name) for name in JOB)


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
        words.append("a key each" if row.keys == "each" else "one key")
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


def _with_absent(table: Table, absent: Sequence[Skip], scope: str | None = None) -> Table:
    """Append one row for each absent device: dashes with the reason. Return the table."""
    reasons: dict[str, str] = {}
    for skip in absent:
        if scope in (None, skip.axes["scope"]):
            reasons.setdefault(str(skip.axes["device"]), skip.reason)
    for device, reason in reasons.items():
        rest = [Missing(reason) if column.numeric else "" for column in table.columns[1:]]
        table.rows.append([device, *rest])
    return table


def _cell(known: Known) -> Cell:
    if known.value is None:
        return Missing(known.why)
    return known.value if known.interval is None else Estimate(known.value, known.interval)


def _label_in(row: Row, rows: list[Row], job: bool = False) -> str:
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
    return label


def machine_section(report: Report) -> Section:
    """Describe the machine of each report. Rates mean nothing without it."""
    names = (
        "time",
        "host",
        "cpu",
        "features",
        "cores",
        "threads",
        "numa",
        "governor",
        "thp",
        "first_touch",
        "last_level_cache_bytes",
        "kernel_release",
        "container",
        "compiler",
        "flags",
        "git",
        "dirty",
    )
    distinct_contexts: list[dict[str, Any]] = []
    for context in report.contexts:
        if context and context not in distinct_contexts:
            distinct_contexts.append(context)
    # Reports of one machine and one commit share a column, which shows the first of them.
    seen: dict[tuple, dict[str, Any]] = {}
    for context in distinct_contexts:
        seen.setdefault((machine_of(context), context.get("git")), context)
    columns = [Column("", "text")] + [
        Column(f"report {i}", "text") for i in range(1, len(seen) + 1)
    ]
    rows: list[list[Cell]] = []
    for name in names:
        rows.append([name, *[_context_text(c.get(name)) for c in seen.values()]])
    libraries = sorted({k for c in seen.values() for k in (c.get("libraries") or {})})
    for library in libraries:
        rows.append(
            [
                library,
                *[_context_text((c.get("libraries") or {}).get(library)) for c in seen.values()],
            ]
        )
    gpus = [_gpus_text(c.get("gpus") or []) for c in seen.values()]
    rows.append(["GPUs and OpenCL devices", *gpus])
    table = Table(
        "machine",
        "Machine as detected by the bench (unknown: could not be detected)",
        columns,
        rows,
    )
    blocks: list[Any] = [table]
    if len({machine_of(c) for c in seen.values()}) > 1:
        blocks.append(
            Paragraph(
                "These reports come from different machines: "
                "compare rates only within one machine."
            )
        )
    return Section("machine-section", "Machine", blocks)


def _context_text(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(str(v) for v in value)
    return str(value)


def _gpus_text(gpus: list[dict[str, Any]]) -> str:
    words = []
    for gpu in gpus:
        kind = " (a CPU)" if is_cpu_device(gpu) else ""
        words.append(f"{gpu.get('id')}{kind}: {gpu.get('name')}, {gpu.get('driver')}")
    return "; ".join(words) or "none"


def throughput_figures(
    rows: list[Row], report: Report, absent: Sequence[Skip] = ()
) -> list[Figure]:
    """Draw one figure for each job that has several sizes.

    Rows of copies (memcpy, copy-threads, …) appear in every figure of their scope.
    """
    groups: dict[tuple, list[Row]] = {}
    machine = report.machine_of_row
    copies = [row for row in rows if row.rival and row.mode is None]
    for row in rows:
        if row.mode is not None and not row.is_ports:
            job = (row.mode, row.key_bits, row.direction, row.in_place)
            key = (machine(row), row.scope, *job, row.message_bytes, row.keys)
            groups.setdefault(key, []).append(row)
    figures = []
    for number, (key, members) in enumerate(groups.items(), 1):
        whole = members + [
            c
            for c in copies
            if (machine(c), c.scope) == key[:2]
            and c.in_place == key[5]
            and c.direction in (None, key[4])
        ]
        if len({row.bytes for row in members}) < 2:
            continue
        figure = _throughput_figure(f"throughput-{number}", job_text(members[0], size=False), whole)
        assert figure.table is not None
        _with_absent(figure.table, absent, members[0].scope)
        figures.append(figure)
    return figures


def _throughput_figure(name: str, job: str, rows: list[Row]) -> Figure:
    lines: dict[str, list[Row]] = {}
    for row in rows:
        label = _label_in(row, rows)
        if any(other.bytes == row.bytes for other in lines.get(label, [])):
            label += f" · report {row.report + 1}"  # measured twice: show both
        lines.setdefault(label, []).append(row)
    series, body = [], []
    for label, members in lines.items():
        members.sort(key=lambda r: r.bytes)
        series.append(rate_series(label, [r.bytes for r in members], members))
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


def rows_section(rows: list[Row], absent: Sequence[Skip] = ()) -> Section:
    """Tabulate every measured row."""
    body: list[list[Cell]] = []
    for row in rows:
        line: list[Cell] = [_label_in(row, rows), job_text(row, size=False), row.bytes, row.cache]
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
    return Section("rows-section", "All rows", [_with_absent(table, absent)])


def rivals_section(rows: list[Row]) -> Section | None:
    """Compare every row of paraes with every rival that does the same job.

    In memory scope the rival must have run on as many threads.
    """
    body: list[list[Cell]] = []
    rivals = [r for r in rows if r.rival and r.mode is not None and not r.is_ports]
    for rival in rivals:
        for row in rows:
            if row.rival or job_of(row) != job_of(rival):
                continue
            if row.scope == "memory" and row.threads != rival.threads:
                continue
            if row.on_gpu != rival.on_gpu:
                continue
            c = compare(row.samples_ns, rival.samples_ns)
            body.append(
                [
                    _label_in(row, rows),
                    rival.name,
                    job_text(row, size=False),
                    row.bytes,
                    Estimate(c.ratio, c.ratio_interval),
                    c.p,
                    c.verdict,
                ]
            )
    if not body:
        return None
    columns = [
        Column("paraes", "text"),
        Column("rival", "text"),
        Column("job", "text"),
        Column("size", "size"),
        Column("rival's time / paraes' time, 95 %"),
        Column("p"),
        Column("paraes is", "text"),
    ]
    return Section(
        "rivals",
        "Comparison with rivals",
        [Table("rivals", "paraes and rivals on the same job", columns, body, [VERDICT_NOTE])],
    )


def _scaling_rows(scaling: Scaling) -> list[list[Cell]]:
    body: list[list[Cell]] = []
    for p in scaling.points:
        marks = []
        if p.superlinear:
            marks.append("superlinear" if p.superlinear == "yes" else "superlinear within noise")
        if p.more_than_cores:
            marks.append("more workers than cores")
        body.append(
            [
                _series_text(scaling),
                p.workers,
                p.row.median_ns,
                Estimate(p.speedup, p.speedup_interval if p.workers > 1 else None),
                p.best_serial,
                Estimate(p.efficiency, p.efficiency_interval if p.workers > 1 else None),
                None if p.karp_flatt is None else Estimate(p.karp_flatt, p.karp_flatt_interval),
                ", ".join(marks),
            ]
        )
    return body


def _series_text(scaling: Scaling) -> str:
    row = scaling.base
    several = [p.row for p in scaling.points if p.row.ranks > 1]
    kind = "ranks" if several else "threads"
    if several and several[0].distribution:
        kind += f" ({several[0].distribution})"
    if not several and scaling.points[-1].row.executor == OPENMP:
        kind += " by OpenMP"
    return f"{row.name}, {kind}, {job_text(row)}"


FIT_COLUMNS = [Column("serial fraction, 95 %"), Column("residual", "percent"), Column("points")]
RESIDUAL_NOTE = "residual: root mean square of the relative errors of the fit"


def fit_cells(fit: Fit) -> list[Cell]:
    """Return the cells of a fit, in the order of FIT_COLUMNS."""
    residual: Cell = Missing("too few points for a residual: the fit passes through all of them")
    if fit.residual is not None:
        residual = 100 * fit.residual
    return [Estimate(fit.fraction, fit.interval), residual, fit.points]


def scaling_section(rows: list[Row], cores: int | None) -> Section | None:
    """Tabulate speedup, efficiency and Karp–Flatt over threads and ranks, with fits."""
    found = scalings(rows, cores)
    weak = weak_scalings(rows, cores)
    if not found:
        return None
    body = [line for scaling in found for line in _scaling_rows(scaling)]
    columns = [
        Column("series", "text"),
        Column("workers"),
        Column("median", "ns"),
        Column("speedup, 95 %", unit="×"),
        Column("against the best serial kernel", unit="×"),
        Column("efficiency"),
        Column("Karp–Flatt e, 95 %"),
        Column("note", "text"),
    ]
    table = Table("scaling", "Speedup, efficiency and Karp–Flatt", columns, body)
    fits: list[list[Cell]] = []
    for s in found:
        if s.fit is not None:
            fits.append(["Amdahl", _series_text(s), *fit_cells(s.fit)])
    for w in weak:
        text = f"{w.base.name}, {job_text(w.base)} a thread"
        text += " by OpenMP" if w.executor == OPENMP else ""
        fits.append(["Gustafson", text, *fit_cells(w.fit)])
    notes = ["Fits leave out points with more workers than cores.", RESIDUAL_NOTE]
    if not weak:
        notes.append(
            "Gustafson: not fitted; it needs three or more rows whose size grows with the threads."
        )
    fit_table = Table(
        "scaling-fits",
        "Amdahl's and Gustafson's laws, fitted",
        [
            Column("law", "text"),
            Column("series", "text"),
            *FIT_COLUMNS,
        ],
        fits,
        notes,
    )
    several = [s for s in found if len(s.points) > 2]
    blocks: list[Any] = []
    if several:
        lines = [
            Series.of(
                _series_text(s),
                ((p.workers, Estimate(p.speedup, p.speedup_interval)) for p in s.points),
            )
            for s in several
        ]
        top = max(max(line.x) for line in lines)
        lines.append(Series("ideal", [1.0, top], [1.0, top], origin="predicted"))
        blocks.append(
            Figure(
                "scaling-speedup",
                "Speedup over workers",
                "Speedup against one worker over the number of threads or ranks, with the ideal "
                "line.",
                Axis("workers", "log", "count"),
                Axis("speedup", "log"),
                lines,
                table,
            )
        )
    else:
        blocks.append(table)
    return Section("scaling-section", "Scaling", [*blocks, fit_table])


def _opponents_to_show(opponents: dict[tuple, list[Row]], kernel: str) -> list[list[Row]]:
    """Select the CPU rows to compare with a GPU kernel.

    These are the rows that are fastest at their largest size, and those of the same kernel on the
    CPU. Others would only lengthen the table.
    """
    if not opponents:
        return []

    def pace(group: list[Row]) -> float:
        largest = max(group, key=lambda row: row.bytes)
        return largest.median_ns / largest.bytes

    fastest = min(opponents.values(), key=pace)
    family = kernel.split("-")[0]  # reference-shared is the GPU's form of reference
    same = [group for (name, _), group in opponents.items() if name == family]
    return [fastest, *[group for group in same if group is not fastest]]


def crossover_section(
    rows: list[Row], report: Report, absent: Sequence[Skip] = ()
) -> Section | None:
    """Find the size from which a GPU is faster than the CPU, without and with transfers."""
    gpu_rows = [row for row in rows if row.on_gpu and row.rival is None]
    cpu_rows = [
        r
        for r in rows
        if r.device == "cpu" and r.rival is None and r.scope == "memory" and r.keys is None
    ]
    lines: dict[tuple, list[Row]] = {}
    for row in gpu_rows:
        key = (
            row.report,
            row.device,
            row.kernel,
            row.scope,
            row.mode,
            row.key_bits,
            row.direction,
            row.key_expansion,
            row.transfer,
            row.overlap,
        )
        lines.setdefault(key, []).append(row)
    body: list[list[Cell]] = []
    for members in lines.values():
        first = members[0]
        opponents: dict[tuple, list[Row]] = {}
        for row in cpu_rows:
            same = ("mode", "key_bits", "direction")
            if report.machine_of_row(row) != report.machine_of_row(first) or row.in_place:
                continue
            if all(getattr(row, n) == getattr(first, n) for n in same):
                opponents.setdefault((row.kernel, (row.workers, row.executor)), []).append(row)
        for group in _opponents_to_show(opponents, str(first.kernel)):
            found = crossover(
                {r.bytes: r.samples_ns for r in group}, {r.bytes: r.samples_ns for r in members}
            )
            if found is None:
                continue
            timed = "with transfers" if first.scope == "transfer" else "kernel only"
            cell: Cell = (
                found.verdict if found.size is None else Estimate(found.size, found.interval)
            )
            between = None
            if found.between is not None:
                between = f"{size_text(found.between[0])} to {size_text(found.between[1])}"
            body.append(
                [
                    first.label(),
                    timed,
                    group[0].label(),
                    job_text(first, size=False),
                    cell,
                    between,
                    100 * found.share,
                    found.changes,
                ]
            )
    if not body and not absent:
        return None
    columns = [
        Column("GPU", "text"),
        Column("GPU time", "text"),
        Column("CPU", "text"),
        Column("job", "text"),
        Column("GPU faster from, 95 %", "size"),
        Column("between measured sizes", "text"),
        Column("replicates with a crossover", "percent"),
        Column("changes"),
    ]
    notes = [
        "Interpolated linearly between measured sizes, in the logarithms of time and size; "
        "never extrapolated.",
        "replicates: bootstrap resamples of the measured times.",
        "changes: how many times the faster device changes as the size grows; more than 1 means "
        "that the curves cross more than once.",
    ]
    table = Table("crossover", "Size from which the GPU is faster", columns, body, notes)
    return Section("crossover-section", "Crossover", [_with_absent(table, absent)])


def _phase_times_table(rows: list[Row], names: list[str]) -> Table:
    """Tabulate the medians of the phases, with intervals where the report has samples."""
    body: list[list[Cell]] = []
    for row in rows:
        line: list[Cell] = [_label_in(row, rows), job_text(row, size=False), row.bytes]
        for name in names:
            times = phase_times(row, name)
            known = times is None or isinstance(times, float)
            line.append(times if known else median_estimate(times))
        body.append(line)
    columns = [
        Column("device and kernel", "text"),
        Column("job", "text"),
        Column("size", "size"),
        *[Column(f"{PHASE_NAMES[p]}, 95 %", "ns") for p in names],
    ]
    notes = ["Medians of each phase; no interval where the report has no samples of the phase."]
    sizes = {s.size for row in rows for s in row.timeline_samples_ns.values()}
    if any(size < 6 for size in sizes):
        notes.append(FEW_SAMPLES_NOTE)
    return Table("phases-times", "Time of each phase", columns, body, notes)


def phases_section(rows: list[Row], absent: Sequence[Skip] = ()) -> Section | None:
    """Tabulate the share and time of every phase, for rows that have more than one."""
    chosen = [
        row
        for row in rows
        if len(shares := phase_shares(row)) > 1 and (row.scope != "memory" or "scatter" in shares)
    ]
    if not chosen and not absent:
        return None
    names = [p for p in PHASES if any(p in phase_shares(row) for row in chosen)]
    body: list[list[Cell]] = []
    for row in chosen:
        shares = phase_shares(row)
        total = sum(t for t in row.timeline_ns.values() if t is not None)
        body.append(
            [
                _label_in(row, chosen),
                job_text(row, size=False),
                row.bytes,
                *[100 * shares[p] if p in shares else None for p in names],
                100 * total / row.median_ns,
            ]
        )
    columns = [
        Column("device and kernel", "text"),
        Column("job", "text"),
        Column("size", "size"),
        *[Column(PHASE_NAMES[p], "percent") for p in names],
        Column("sum / median", "percent"),
    ]
    notes = [
        "Shares are of the sum of the phases. A sum above the median of the whole call means that "
        "phases overlap; a sum below it, that time passes between them."
    ]
    table = _with_absent(Table("phases", "Share of each phase", columns, body, notes), absent)
    if not chosen:
        return Section("phases-section", "Phases", [table])
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
        categories=[f"{_label_in(r, chosen, job=True)}, {size_text(r.bytes)}" for r in bars],
    )
    blocks: list[Any] = [figure]
    if any(row.timeline_samples_ns for row in chosen):
        blocks.append(_with_absent(_phase_times_table(chosen, names), absent))
    return Section("phases-section", "Phases", blocks)


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
                _label_in(row, rows),
                job_text(row, size=False),
                row.bytes,
                rate_estimate(row),
                _cell(percent_of_roof(row, rows)),
                _cell(cycles_per_byte(row, clock)),
                _cell(percent_of_ports(row, rows)),
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
    return Section("roofs-section", "Roofs and cycles", [_with_absent(table, absent)])


def energy_section(rows: list[Row], absent: Sequence[Skip] = ()) -> Section:
    """Tabulate energy where a counter was read, or list why there is none."""
    counted = [row for row in rows if energy(row).value is not None]
    if not counted:
        reasons = sorted({energy(row).why for row in rows})
        return Section(
            "energy-section",
            "Energy",
            [Paragraph("No energy was measured:"), Bullets(reasons or ["no rows"])],
        )
    body = [
        [
            _label_in(r, rows),
            job_text(r, size=False),
            r.bytes,
            _cell(energy(r)),
            _cell(joules_per_gigabyte(r)),
        ]
        for r in rows
    ]
    columns = [
        Column("device and kernel; (rival)", "text"),
        Column("job", "text"),
        Column("size", "size"),
        Column("energy of a call", unit="J"),
        Column("energy", unit="J/GB, 10⁹ bytes"),
    ]
    note = (
        "A counter covers a whole CPU package or GPU: "
        "the values are meaningful only if the machine did nothing else."
    )
    table = Table("energy", "Energy as counted", columns, body, [note])
    return Section("energy-section", "Energy", [_with_absent(table, absent)])


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


def sections(report: Report, clock_hz: float | None = None) -> list[Section]:
    """Return all sections of a report, without those that would be empty."""
    rows = distinct(report.valid)
    every = distinct(report.rows)
    cores = report.context.get("threads")
    cores = cores if isinstance(cores, int) else None
    absent = absent_devices(report)
    figures = throughput_figures(rows, report, absent)
    found: list[Section | None] = [
        Section(
            "measurements",
            "Measurements",
            [
                Paragraph(
                    f"{plural(len(every), 'row')} measured, {len(every) - len(rows)} of them wrong "
                    f"or failed, {len(report.skipped)} skipped. Times are medians with 95 % "
                    "intervals from order statistics."
                )
            ],
            level=1,
        ),
        machine_section(report),
        Section("throughput", "Throughput", list(figures)) if figures else None,
        rivals_section(rows),
        scaling_section(rows, cores),
        crossover_section(rows, report, absent),
        phases_section(rows, absent),
        roofs_section(rows, report.contexts, clock_hz, absent) if rows else None,
        energy_section(rows, absent) if rows else None,
        rows_section(every, absent) if every else None,
        skipped_section(report),
    ]
    return [section for section in found if section is not None]


def document(report: Report, clock_hz: float | None = None) -> Document:
    """Return the document for any bench JSON."""
    names = ", ".join(report.sources[:3]) + (" …" if len(report.sources) > 3 else "")
    return Document("paraes bench", f"From {names}.", sections(report, clock_hz))
