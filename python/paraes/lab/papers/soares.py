"""Soares, Brunini and Velo: the round function with OpenMP on 1 to 16 threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from paraes.lab.analysis.scaling import (
    FIT_COLUMNS,
    FITS_NOTE,
    RESIDUAL_NOTE,
    efficiency_cell,
    fit_cells,
    karp_flatt_cell,
    speedup_cell,
)
from paraes.lab.document import (
    Axis,
    Cell,
    Column,
    Missing,
    Paragraph,
    Section,
    Series,
    Table,
)
from paraes.lab.papers.cells import duration, rate, ratio
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import figure_section, here_series, paper_series
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import OPENMP, Row
from paraes.lab.runs import Run
from paraes.lab.scaling import Point, Scaling, amdahl, scalings, weak_scalings
from paraes.lab.units import plural, significant, size_text

NAME = "soares"
THREADS = (1, 2, 4, 8, 16)
# The paper states none. Powers of two let the size grow with the threads, for Gustafson's law.
SIZES = [256 << 10, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB]
QUICK_SIZES = [64 << 10, 128 << 10, 256 << 10]
AXES = {"device": "cpu", "kernel": "reference", "scope": "memory"}
# What a point of a series over threads shows.
QUANTITIES: dict[str, Callable[[Point], Cell]] = {
    "speedup": speedup_cell,
    "efficiency": efficiency_cell,
    "rate": lambda point: rate(point.row),
    "karp-flatt": karp_flatt_cell,
}


def sizes_of(setting: Setting) -> list[int]:
    """Return the sizes of this experiment; a quick run has small ones of its own."""
    quick = setting.quick and setting.max_size is None
    sizes = QUICK_SIZES if quick else setting.sizes([*QUICK_SIZES[:2], *SIZES])
    return sizes or [min(QUICK_SIZES)]


def plan(setting: Setting) -> list[Run]:
    """List the runs: `reference`, with all numbers of threads in one run to interleave them."""
    return [
        Run(
            "memory",
            ("cpu",),
            ("reference",),
            size,
            threads=THREADS,
            executors=(OPENMP,),
            samples=setting.samples_of(size),
        )
        for size in sizes_of(setting)
    ]


def chapter(evidence: Evidence, findings: Findings) -> list[Section]:
    """Compare times, speedup, efficiency and Karp–Flatt; fit Amdahl's and Gustafson's laws."""
    cores = evidence.setting.cores
    sizes = sizes_of(evidence.setting)
    rows = [
        r
        for r in evidence.report.valid
        if r.kernel == "reference"
        and (r.mode, r.key_bits, r.direction) == ("ecb", 128, "encrypt")
        and (r.rival, r.device, r.scope, r.ranks) == (None, "cpu", "memory", 1)
        and r.executor == (OPENMP if r.threads > 1 else None)
    ]
    series = {s.base.bytes: s for s in scalings(rows, cores)}
    main = max(series, default=sizes[-1])
    points = {size: {p.workers: p for p in s.points} for size, s in series.items()}
    reason = Missing(evidence.why(bytes=main, **AXES))
    printed_kf = findings.paper.tables["karp_flatt"].column("karp_flatt")
    printed_time = findings.paper.tables["times"].column("time")
    # Where the text states no time, the speedup follows from the printed Karp–Flatt.
    computed = {t: amdahl(float(p.text), t) for t, p in printed_kf.items()}
    computed |= {t: float(printed_time[1].text) / float(p.text) for t, p in printed_time.items()}
    computed = dict(sorted(computed.items()))

    def time(size: int, threads: int) -> Cell:
        return duration(evidence.cpu("reference", size, threads))

    def point(quantity: str, size: int, threads: int) -> Cell:
        if size not in points:
            return reason
        if threads not in points[size]:
            return Missing(evidence.why(bytes=size, threads=threads, **AXES))
        return QUANTITIES[quantity](points[size][threads])

    def table(
        name: str,
        caption: str,
        theirs: Mapping[int, str],
        cells: Callable[[int, int], Cell],
        notes: Sequence[str] = (),
    ) -> Table:
        kind, unit = ("s", "s, size not stated") if name == "times" else ("number", "")
        columns = [(Column("threads"), int)]
        columns += [(Column("paper", "printed", unit), theirs.get)] if theirs else []
        columns += [(Column(size_text(s), kind), partial(cells, s)) for s in sizes]
        return Table.of(f"{NAME}-{name}", caption, THREADS, columns, notes)

    def section(
        key: str,
        title: str,
        description: str,
        y: str,
        name: str,
        caption: str,
        theirs: Mapping[int, str],
        lines: Sequence[Series],
        notes: Sequence[str] = (),
        threads: Sequence[int] = THREADS,
        scale: str = "log",
    ) -> Section:
        """Return a section with the table `name`, and the figure of it with lines of the paper."""
        cells = time if name == "times" else partial(point, name)
        return figure_section(
            (f"{NAME}-{key}-section", title),
            f"{NAME}-{key}-figure",
            title,
            description,
            y,
            [*here_series({size_text(s): partial(cells, s) for s in sizes}, threads), *lines],
            table(name, caption, theirs, cells, notes),
            Axis("threads", "log", "count"),
            scale,
        )

    def line(name: str, values: Mapping[int, float], origin: str) -> Series:
        return Series(name, list(map(float, values)), list(values.values()), origin=origin)

    laws = [line("ideal", {1: 1.0, 16: 16.0}, "predicted")]
    if (found := series.get(main)) is not None and (fit := found.fit) is not None:
        name = f"Amdahl, {size_text(main)}, fitted to {plural(fit.points, 'point')}"
        laws.append(line(name, {t: amdahl(fit.fraction, t) for t in THREADS}, "predicted"))
    efficiencies = {t: v / t for t, v in computed.items()}
    few = [f"More than {cores} threads share the {cores} cores."] if max(THREADS) > cores else []
    superlinear = [
        f"{size_text(size)}, {p.workers} threads: superlinear "
        f"({'beyond noise' if p.superlinear == 'yes' else p.superlinear})"
        for size, of in points.items()
        for p in of.values()
        if p.superlinear
    ]
    rates = "MB/s: 10⁶ bytes a second (the paper states no sizes, so it has no rates)"
    _judge(findings, points.get(main, {}), main, reason)
    return [
        introduction(
            findings,
            f"kernel reference with OpenMP on 1, 2, 4, 8 and 16 threads and {cores} cores; AES-128 "
            f"ECB encryption of {', '.join(size_text(s) for s in sizes)} (the paper states no "
            "sizes).",
        ),
        section(
            "time",
            "Time",
            "Seconds over the number of threads, by size, and the three times that the paper's "
            "text states.",
            "s",
            "times",
            "Time by threads (figure 'Tempo de Execução'; the paper's of section 5)",
            {t: p.text for t, p in printed_time.items()},
            [paper_series("paper, size not stated", printed_time)],
            few,
        ),
        section(
            "speedups",
            "Speedup",
            "Speedup over the number of threads, by size; the ideal; and the paper's, from its "
            "times.",
            "speedup",
            "speedup",
            "Speedup (figure 'Speedup'; the paper's computed from its times, or from its "
            "Karp–Flatt with 2 and 4 threads)",
            {t: significant(v) for t, v in computed.items()},
            [line("paper, computed", computed, "paper"), *laws],
        ),
        section(
            "efficiencies",
            "Efficiency",
            "Speedup divided by threads over the number of threads.",
            "efficiency",
            "efficiency",
            "Efficiency (figure 'Eficiência'; the paper's computed from its speedups)",
            {t: significant(v) for t, v in efficiencies.items()},
            [line("paper, computed", efficiencies, "paper")],
            scale="linear",
        ),
        section(
            "fraction",
            "Karp–Flatt",
            "The serial fraction by Karp and Flatt over the number of threads, with 95 % "
            "intervals, and the paper's table.",
            "serial fraction",
            "karp-flatt",
            "Karp–Flatt: the experimentally determined serial fraction, with its 95 % interval",
            {t: p.text for t, p in printed_kf.items()},
            [paper_series("paper", printed_kf)],
            superlinear,
            THREADS[1:],
            "linear",
        ),
        Section(
            f"{NAME}-rate-section", "Rates", [table("rate", rates, {}, partial(point, "rate"))]
        ),
        _fits(series, rows, cores),
    ]


def _fits(series: dict[int, Scaling], rows: list[Row], cores: int) -> Section:
    body: list[list[Cell]] = [
        ["Amdahl (same size)", size_text(size), *fit_cells(s.fit)]
        for size, s in sorted(series.items())
        if s.fit is not None
    ]
    body += [
        [
            "Gustafson (size grows)",
            f"{size_text(weak.base.bytes)} a thread",
            *fit_cells(weak.fit),
        ]
        for weak in weak_scalings(rows, cores)
    ]
    block: Paragraph | Table = Table(
        f"{NAME}-fits",
        f"Fits over at most {cores} threads, one for each core",
        [Column("law", "text"), Column("size", "text"), *FIT_COLUMNS],
        body,
        [FITS_NOTE, RESIDUAL_NOTE],
    )
    if not body:
        block = Paragraph(
            "No law is fitted: it needs two numbers of threads above 1 with a core each, and this "
            f"machine has {plural(cores, 'core')}."
        )
    return Section(f"{NAME}-fits-section", "Amdahl and Gustafson", [block])


def _judge(findings: Findings, points: Mapping[int, Point], main: int, reason: Missing) -> None:
    cores = findings.evidence.setting.cores

    def time_ratio(over: int, under: int) -> Cell:
        if over not in points or under not in points:
            return reason
        return ratio(points[over].row, points[under].row)

    for threads in THREADS[1:]:
        fraction = karp_flatt_cell(points[threads]) if threads in points else reason
        findings.add(f"karp-flatt-{threads}", fraction, main)
    steps = [(1, 2), (2, 4), (4, 8)]
    findings.add("falls", [Case(f"{a} to {b} threads", time_ratio(a, b)) for a, b in steps], main)
    findings.add("rises", time_ratio(16, 8), main)
    findings.add(
        "proportional",
        [
            Case(plural(t, "thread"), efficiency_cell(p))
            for t, p in points.items()
            if 1 < t <= min(cores, 8)
        ]
        or [Case("", reason)],
        main,
    )
