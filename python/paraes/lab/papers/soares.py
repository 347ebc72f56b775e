"""Soares, Brunini and Velo: the round function with OpenMP on 1 to 16 threads."""

from __future__ import annotations

from dataclasses import replace

from paraes.lab.analysis.scaling import FIT_COLUMNS, RESIDUAL_NOTE, fit_cells
from paraes.lab.bench import OPENMP, Row
from paraes.lab.document import Axis, Cell, Column, Estimate, Missing, Section, Series, Table
from paraes.lab.measure import Run
from paraes.lab.papers.cells import printed_text, seconds
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import AGREEMENT, Finding, compare_near, findings_table, judge
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.evidence import Evidence, executor_of
from paraes.lab.papers.figures import line_figure, measured_series, paper_series
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.scaling import Scaling, amdahl, scalings, weak_scalings
from paraes.lab.units import significant, size_text

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
        and r.direction == "encrypt"
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
            direction="encrypt",
        )

    table_time = Table(
        f"{NAME}-times",
        "Time in seconds by threads (figure 'Tempo de Execução'; the paper's of section 5)",
        [
            Column("threads"),
            Column("paper", "printed", "s, size not stated"),
            *[Column(size_text(s), unit="s") for s in sizes],
        ],
        [
            [t, printed_text(printed_time.get(t)), *[seconds(time(s, t)) for s in sizes]]
            for t in THREADS
        ],
        [f"More than {cores} threads share the {cores} cores."] if max(THREADS) > cores else [],
    )

    def point(size: int, threads: int, quantity: str) -> Cell:
        found = series.get(size)
        if found is None:
            return reason
        for p in found.points:
            if p.workers == threads:
                if quantity == "speedup":
                    return Estimate(p.speedup, p.speedup_interval if threads > 1 else None)
                if quantity == "efficiency":
                    return Estimate(p.efficiency, p.efficiency_interval if threads > 1 else None)
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
            body.append([*line, *[point(s, t, quantity) for s in sizes]])
        return Table(f"{NAME}-{quantity}", title, columns, body)

    computed = {t: float(printed_time[1].text) / float(p.text) for t, p in printed_time.items()}
    speedup = table_of(
        "speedup",
        "Speedup (figure 'Speedup'; the paper's computed from its times)",
        {t: significant(v) for t, v in computed.items()},
    )
    efficient = table_of(
        "efficiency",
        "Efficiency (figure 'Eficiência'; the paper's computed from its times)",
        {t: significant(v / t) for t, v in computed.items()},
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
    speed_series = [
        measured_series(f"{size_text(s)}, here", ((t, point(s, t, "speedup")) for t in THREADS))
        for s in sizes
    ]
    speed_series.append(
        Series(
            "paper, from its times",
            [float(t) for t in computed],
            list(computed.values()),
            origin="paper",
        )
    )
    speed_series.append(Series("ideal", [1.0, 16.0], [1.0, 16.0], origin="predicted"))
    if (found := series.get(main)) is not None and found.fit is not None:
        speed_series.append(
            Series(
                f"Amdahl, fitted to {size_text(main)}",
                [float(t) for t in THREADS],
                [amdahl(found.fit.fraction, t) for t in THREADS],
                origin="predicted",
            )
        )

    def section(
        key: str, title: str, description: str, y: str, lines, table: Table, scale: str = "log"
    ) -> Section:
        return Section(
            f"{NAME}-{key}-section",
            title,
            [
                line_figure(
                    f"{NAME}-{key}-figure", title, description, y, lines, table, threads_axis, scale
                )
            ],
        )

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
                *[
                    measured_series(
                        f"{size_text(s)}, here", ((t, seconds(time(s, t))) for t in THREADS)
                    )
                    for s in sizes
                ],
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
                *[
                    measured_series(
                        f"{size_text(s)}, here", ((t, point(s, t, "efficiency")) for t in THREADS)
                    )
                    for s in sizes
                ],
                Series(
                    "paper, from its times",
                    [float(t) for t in computed],
                    [v / t for t, v in computed.items()],
                    origin="paper",
                ),
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
                *[
                    measured_series(
                        f"{size_text(s)}, here",
                        ((t, point(s, t, "karp-flatt")) for t in THREADS[1:]),
                    )
                    for s in sizes
                ],
                paper_series("paper", printed_kf),
            ],
            fraction,
            "linear",
        ),
        _fits(series, rows, cores),
    ]
    sections.append(
        Section(
            f"{NAME}-agreement",
            AGREEMENT,
            [
                findings_table(
                    NAME, _findings(series, main, printed_kf, cores, reason), evidence.device
                )
            ],
        )
    )
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
    table = Table(
        f"{NAME}-fits",
        f"Fits over at most {cores} threads, one for each core",
        [
            Column("law", "text"),
            Column("size", "text"),
            *FIT_COLUMNS,
        ],
        body,
        [RESIDUAL_NOTE],
    )
    return Section(f"{NAME}-fits-section", "Amdahl and Gustafson", [table])


def _findings(
    series: dict[int, Scaling], main: int, printed_kf, cores: int, reason: Missing
) -> list[Finding]:
    found = []
    s = series.get(main)
    points = {p.workers: p for p in s.points} if s else {}
    for threads, printed in printed_kf.items():
        p = points.get(threads)
        cell: Cell = (
            reason
            if p is None or p.karp_flatt is None
            else Estimate(p.karp_flatt, p.karp_flatt_interval)
        )
        finding = compare_near(
            f"Karp–Flatt, {threads} threads, {size_text(main)}", float(printed.text), cell, "", 0.05
        )
        here = finding.here
        if p is not None and p.karp_flatt_interval is not None:
            low, high = p.karp_flatt_interval.low, p.karp_flatt_interval.high
            here += f", 95 % {significant(low, 3)} to {significant(high, 3)}"
        if threads > cores:
            here += f"; {cores} cores here, 4 in the paper"
        found.append(replace(finding, here=here))
    times = {t: p.row.median_ns for t, p in points.items()}
    falls = None if not {1, 2, 4, 8} <= set(times) else times[1] > times[2] > times[4] > times[8]
    found.append(
        Finding(
            "the time falls from 1 to 8 threads",
            "falls",
            "no rows" if falls is None else "falls" if falls else "does not fall at every step",
            judge(falls),
            "falls at every step",
        )
    )
    rises = None if not {8, 16} <= set(times) else times[16] > times[8]
    found.append(
        Finding(
            "the time rises from 8 to 16 threads",
            "rises",
            "no rows" if rises is None else "rises" if rises else "does not rise",
            judge(rises),
            "rises",
        )
    )
    inner = [v for t, p in points.items() if 1 < t <= cores and (v := p.efficiency) > 0]
    found.append(
        Finding(
            "performance grows in proportion to the cores",
            "stated in section 6; its own times give efficiency 0.55 on 8 threads",
            f"efficiency {', '.join(significant(v, 3) for v in inner)} up to {cores} threads"
            if inner
            else "one core only",
            judge(all(v >= 0.9 for v in inner) if inner else None),
            "efficiency at least 0.9 up to the number of cores",
        )
    )
    return found
