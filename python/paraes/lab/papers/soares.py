"""Soares, Brunini and Velo: the round function with OpenMP on 1 to 16 threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from paraes.lab.analysis.scaling import FIT_COLUMNS, FITS_NOTE, RESIDUAL_NOTE, fit_cells
from paraes.lab.document import (
    Axis,
    Cell,
    Column,
    Estimate,
    Missing,
    Paragraph,
    Section,
    Series,
    Table,
)
from paraes.lab.papers.cells import printed_text, rate, ratio, seconds
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import (
    Case,
    Findings,
)
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.evidence import Evidence, executor_of
from paraes.lab.papers.figures import figure_section, here_series, paper_series
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import OPENMP, Row
from paraes.lab.runs import Run
from paraes.lab.scaling import Scaling, amdahl, scalings, weak_scalings
from paraes.lab.units import plural, significant, size_text

NAME = "soares"
THREADS = (1, 2, 4, 8, 16)
# The paper states none. Powers of two let the size grow with the threads, for Gustafson's law.
SIZES = [256 << 10, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB]
QUICK_SIZES = [64 << 10, 128 << 10, 256 << 10]


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


def chapter(evidence: Evidence) -> list[Section]:
    """Compare times, speedup, efficiency and Karp–Flatt; fit Amdahl's and Gustafson's laws."""
    paper = load_paper(NAME)
    cores = evidence.setting.cores
    sizes = sizes_of(evidence.setting)
    rows = [
        r
        for r in evidence.report.valid
        if r.kernel == "reference"
        and (r.mode, r.key_bits, r.direction) == ("ecb", 128, "encrypt")
        and (r.rival, r.device, r.scope, r.ranks) == (None, "cpu", "memory", 1)
        and r.executor == executor_of(r.threads)
    ]
    series = {s.base.bytes: s for s in scalings(rows, cores)}
    main = max(series, default=sizes[-1])
    printed_kf = paper.tables["karp_flatt"].column("karp_flatt")
    printed_time = paper.tables["times"].column("time")
    threads_axis = Axis("threads", "log", "count")
    reason = Missing(evidence.why(device="cpu", kernel="reference", scope="memory", bytes=main))

    def time(size: int, threads: int):
        return evidence.need(
            device="cpu",
            kernel="reference",
            scope="memory",
            bytes=size,
            threads=threads,
            executor=executor_of(threads),
        )

    table_time = Table(
        f"{NAME}-times",
        "Time by threads (figure 'Tempo de Execução'; the paper's of section 5)",
        [
            Column("threads"),
            Column("paper", "printed", "s, size not stated"),
            *[Column(size_text(s), "s") for s in sizes],
        ],
        [
            [t, printed_text(printed_time.get(t)), *[seconds(time(s, t)) for s in sizes]]
            for t in THREADS
        ],
        [f"More than {cores} threads share the {cores} cores."] if max(THREADS) > cores else [],
    )

    def point(quantity: str, size: int, threads: int) -> Cell:
        found = series.get(size)
        if found is None:
            return reason
        for p in found.points:
            if p.workers == threads:
                if quantity == "speedup":
                    return Estimate(p.speedup, p.speedup_interval)
                if quantity == "rate":
                    return rate(p.row)
                if quantity == "efficiency":
                    return Estimate(p.efficiency, p.efficiency_interval)
                return (
                    None if p.karp_flatt is None else Estimate(p.karp_flatt, p.karp_flatt_interval)
                )
        return Missing(
            evidence.why(
                device="cpu", kernel="reference", scope="memory", bytes=size, threads=threads
            )
        )

    def table_of(quantity: str, title: str, theirs: dict[int, str]) -> Table:
        columns = [Column("threads")]
        if theirs:
            columns.append(Column("paper", "printed"))
        columns += [Column(size_text(s)) for s in sizes]
        body = []
        for t in THREADS:
            line: list[Cell] = [t]
            if theirs:
                line.append(theirs.get(t))
            body.append([*line, *[point(quantity, s, t) for s in sizes]])
        return Table(f"{NAME}-{quantity}", title, columns, body)

    # Where the text states no time, the speedup follows from the printed Karp–Flatt.
    computed = {t: amdahl(float(p.text), t) for t, p in printed_kf.items()}
    computed |= {t: float(printed_time[1].text) / float(p.text) for t, p in printed_time.items()}
    computed = dict(sorted(computed.items()))
    speedup = table_of(
        "speedup",
        "Speedup (figure 'Speedup'; the paper's computed from its times, or from its Karp–Flatt "
        "with 2 and 4 threads)",
        {t: significant(v) for t, v in computed.items()},
    )
    efficient = table_of(
        "efficiency",
        "Efficiency (figure 'Eficiência'; the paper's computed from its speedups)",
        {t: significant(v / t) for t, v in computed.items()},
    )
    rates = table_of(
        "rate", "MB/s: 10⁶ bytes a second (the paper states no sizes, so it has no rates)", {}
    )
    fraction = table_of(
        "karp-flatt",
        "Karp–Flatt: the experimentally determined serial fraction, with its 95 % interval",
        {t: p.text for t, p in printed_kf.items()},
    )
    fraction.notes += [
        f"{size_text(s.base.bytes)}, {p.workers} threads: superlinear "
        f"({'beyond noise' if p.superlinear == 'yes' else p.superlinear})"
        for s in series.values()
        for p in s.points
        if p.superlinear
    ]

    def here(cells: Callable[[int, int], Cell], threads: Sequence[int] = THREADS) -> list:
        """Return a line over the threads for each size."""
        return here_series({size_text(s): partial(cells, s) for s in sizes}, threads)

    def theirs(values: dict[int, float]) -> Series:
        xs, ys = list(map(float, values)), list(values.values())
        return Series("paper, computed", xs, ys, origin="paper")

    speed_series = [*here(partial(point, "speedup")), theirs(computed)]
    speed_series.append(Series("ideal", [1.0, 16.0], [1.0, 16.0], origin="predicted"))
    if (found := series.get(main)) is not None and found.fit is not None:
        speed_series.append(
            Series(
                f"Amdahl, {size_text(main)}, fitted to {plural(found.fit.points, 'point')}",
                [float(t) for t in THREADS],
                [amdahl(found.fit.fraction, t) for t in THREADS],
                origin="predicted",
            )
        )

    def section(
        key: str, title: str, description: str, y: str, lines, table: Table, scale: str = "log"
    ) -> Section:
        figure = (f"{NAME}-{key}-figure", title, description, y, lines, table, threads_axis, scale)
        return figure_section((f"{NAME}-{key}-section", title), *figure)

    sections = [
        introduction(
            paper,
            evidence,
            f"kernel reference with OpenMP on 1, 2, 4, 8 and 16 threads and {cores} cores; AES-128 "
            f"ECB encryption of {', '.join(size_text(s) for s in sizes)} (the paper states no "
            "sizes).",
        ),
        section(
            "time",
            "Time",
            "Seconds over the number of threads, by size, and the three times that the paper's "
            "text states.",
            "seconds",
            [
                *here(lambda s, t: seconds(time(s, t))),
                paper_series("paper, size not stated", printed_time),
            ],
            table_time,
        ),
        section(
            "speedups",
            "Speedup",
            "Speedup over the number of threads, by size; the ideal; and the paper's, from its "
            "times.",
            "speedup",
            speed_series,
            speedup,
        ),
        section(
            "efficiencies",
            "Efficiency",
            "Speedup divided by threads over the number of threads.",
            "efficiency",
            [
                *here(partial(point, "efficiency")),
                theirs({t: v / t for t, v in computed.items()}),
            ],
            efficient,
            "linear",
        ),
        section(
            "fraction",
            "Karp–Flatt",
            "The serial fraction by Karp and Flatt over the number of threads, with 95 % "
            "intervals, and the paper's table.",
            "serial fraction",
            [
                *here(partial(point, "karp-flatt"), THREADS[1:]),
                paper_series("paper", printed_kf),
            ],
            fraction,
            "linear",
        ),
        Section(f"{NAME}-rate-section", "Rates", [rates]),
        _fits(series, rows, cores),
    ]
    findings = Findings(paper, evidence)
    _judge(findings, series, main, reason)
    sections.append(findings.section())
    return sections


def _fits(series: dict[int, Scaling], rows: list[Row], cores: int) -> Section:
    body: list[list[Cell]] = []
    for size, s in sorted(series.items()):
        if s.fit is not None:
            body.append(
                [
                    "Amdahl (same size)",
                    size_text(size),
                    *fit_cells(s.fit),
                ]
            )
    for weak in weak_scalings(rows, cores):
        body.append(
            [
                "Gustafson (size grows)",
                f"{size_text(weak.base.bytes)} a thread",
                *fit_cells(weak.fit),
            ]
        )
    if not body:
        reason = (
            "No law is fitted: it needs two numbers of threads above 1 with a core each, and this "
            f"machine has {plural(cores, 'core')}."
        )
        return Section(f"{NAME}-fits-section", "Amdahl and Gustafson", [Paragraph(reason)])
    table = Table(
        f"{NAME}-fits",
        f"Fits over at most {cores} threads, one for each core",
        [
            Column("law", "text"),
            Column("size", "text"),
            *FIT_COLUMNS,
        ],
        body,
        [FITS_NOTE, RESIDUAL_NOTE],
    )
    return Section(f"{NAME}-fits-section", "Amdahl and Gustafson", [table])


def _judge(findings: Findings, series: dict[int, Scaling], main: int, reason: Missing) -> None:
    found = series.get(main)
    points = {p.workers: p for p in found.points} if found else {}
    cores = findings.evidence.setting.cores

    def karp_flatt(threads: int) -> Cell:
        p = points.get(threads)
        if p is None or p.karp_flatt is None:
            return reason
        return Estimate(p.karp_flatt, p.karp_flatt_interval)

    def time_ratio(over: int, under: int) -> Cell:
        if over not in points or under not in points:
            return reason
        return ratio(points[over].row, points[under].row)

    for threads in THREADS[1:]:
        findings.add(f"karp-flatt-{threads}", karp_flatt(threads), main)
    steps = [(1, 2), (2, 4), (4, 8)]
    findings.add("falls", [Case(f"{a} to {b} threads", time_ratio(a, b)) for a, b in steps], main)
    findings.add("rises", time_ratio(16, 8), main)
    findings.add(
        "proportional",
        [
            Case(plural(t, "thread"), Estimate(p.efficiency, p.efficiency_interval))
            for t, p in points.items()
            if 1 < t <= min(cores, 8)
        ]
        or [Case("", reason)],
        main,
    )
