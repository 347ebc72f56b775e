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
from paraes.lab.papers.data import Paper
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import figure_section, here_series, paper_series
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import OPENMP
from paraes.lab.runs import Run
from paraes.lab.scaling import Point, amdahl, scalings, weak_scalings
from paraes.lab.units import plural, significant, size_text

NAME = "soares"
THREADS = (1, 2, 4, 8, 16)
# The paper states none. Powers of two let the size grow with the threads, for Gustafson's law.
SIZES = [256 << 10, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB]
QUICK_SIZES = [64 << 10, 128 << 10, 256 << 10]
AXES = {"device": "cpu", "kernel": "reference", "scope": "memory"}
# The quantities that a point of a series over threads shows.
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


class _Measured:
    """What this machine measured: points over the number of threads, by size."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.cores = evidence.setting.cores
        self.sizes = sizes_of(evidence.setting)
        self.rows = [
            r
            for r in evidence.report.valid
            if r.kernel == "reference"
            and (r.mode, r.key_bits, r.direction) == ("ecb", 128, "encrypt")
            and (r.rival, r.device, r.scope, r.ranks) == (None, "cpu", "memory", 1)
            and r.executor == (OPENMP if r.threads > 1 else None)
        ]
        self.series = {s.base.bytes: s for s in scalings(self.rows, self.cores)}
        self.main = max(self.series, default=self.sizes[-1])
        self.points = {size: {p.workers: p for p in s.points} for size, s in self.series.items()}
        self.reason = Missing(evidence.why(bytes=self.main, **AXES))

    def cell(self, quantity: str, size: int, threads: int) -> Cell:
        if quantity == "times":
            return duration(self.evidence.cpu("reference", size, threads))
        if size not in self.points:
            return self.reason
        if threads not in self.points[size]:
            return Missing(self.evidence.why(bytes=size, threads=threads, **AXES))
        return QUANTITIES[quantity](self.points[size][threads])

    def laws(self) -> list[Series]:
        """Return the lines that the speedup is compared with."""
        lines = [_line("ideal", {1: 1.0, 16: 16.0}, "predicted")]
        if (found := self.series.get(self.main)) is not None and (fit := found.fit) is not None:
            name = f"Amdahl, {size_text(self.main)}, fitted to {plural(fit.points, 'point')}"
            values = {t: amdahl(fit.fraction, t) for t in THREADS}
            lines.append(_line(name, values, "predicted"))
        return lines

    def superlinear(self) -> list[str]:
        """Return a note for each point that is faster than its threads explain."""
        return [
            f"{size_text(size)}, {p.workers} threads: superlinear "
            f"({'beyond noise' if p.superlinear == 'yes' else p.superlinear})"
            for size, of in self.points.items()
            for p in of.values()
            if p.superlinear
        ]

    def table(
        self, name: str, caption: str, theirs: Mapping[int, str], notes: Sequence[str] = ()
    ) -> Table:
        kind, unit = ("s", "s, size not stated") if name == "times" else ("number", "")
        columns = [(Column("threads"), int)]
        columns += [(Column("paper", "printed", unit), theirs.get)] if theirs else []
        columns += [(Column(size_text(s), kind), partial(self.cell, name, s)) for s in self.sizes]
        return Table.of(f"{NAME}-{name}", caption, THREADS, columns, notes)

    def section(
        self,
        key: str,
        title: str,
        description: str,
        y: str,
        table: Table,
        lines: Sequence[Series],
        threads: Sequence[int] = THREADS,
        scale: str = "log",
    ) -> Section:
        """Return a section with the table, and the figure of it with lines of the paper."""
        name = table.name.removeprefix(f"{NAME}-")
        here = {size_text(s): partial(self.cell, name, s) for s in self.sizes}
        return figure_section(
            (f"{NAME}-{key}-section", title),
            f"{NAME}-{key}-figure",
            title,
            description,
            y,
            [*here_series(here, threads), *lines],
            table,
            Axis("threads", "log", "count"),
            scale,
        )


def _line(name: str, values: Mapping[int, float], origin: str) -> Series:
    return Series(name, list(map(float, values)), list(values.values()), origin=origin)


def chapter(evidence: Evidence, findings: Findings) -> list[Section]:
    """Compare times, speedup, efficiency and Karp–Flatt; fit Amdahl's and Gustafson's laws."""
    here = _Measured(evidence)
    _judge(findings, here)
    rates = "MB/s: 10⁶ bytes a second (the paper states no sizes, so it has no rates)"
    return [
        introduction(
            findings,
            f"kernel reference with OpenMP on 1, 2, 4, 8 and 16 threads and {here.cores} cores; "
            f"AES-128 ECB encryption of {', '.join(size_text(s) for s in here.sizes)} (the paper "
            "states no sizes).",
        ),
        *_sections(here, findings.paper),
        Section(f"{NAME}-rate-section", "Rates", [here.table("rate", rates, {})]),
        _fits(here),
    ]


def _sections(here: _Measured, paper: Paper) -> list[Section]:
    """Return the sections of the paper's figures, with what it prints or lets one compute."""
    times = paper.tables["times"].column("time")
    fractions = paper.tables["karp_flatt"].column("karp_flatt")
    # Where the text states no time, the speedup follows from the printed Karp–Flatt.
    speedups = {t: amdahl(float(p.text), t) for t, p in fractions.items()}
    speedups |= {t: float(times[1].text) / float(p.text) for t, p in times.items()}
    speedups = dict(sorted(speedups.items()))
    efficiencies = {t: v / t for t, v in speedups.items()}
    cores = here.cores
    few = [f"More than {cores} threads share the {cores} cores."] if max(THREADS) > cores else []
    return [
        here.section(
            "time",
            "Time",
            "Seconds over the number of threads, by size, and the three times that the paper's "
            "text states.",
            "s",
            here.table(
                "times",
                "Time by threads (figure 'Tempo de Execução'; the paper's of section 5)",
                {t: p.text for t, p in times.items()},
                few,
            ),
            [paper_series("paper, size not stated", times)],
        ),
        here.section(
            "speedups",
            "Speedup",
            "Speedup over the number of threads, by size; the ideal; and the paper's, from its "
            "times.",
            "speedup",
            here.table(
                "speedup",
                "Speedup (figure 'Speedup'; the paper's computed from its times, or from its "
                "Karp–Flatt with 2 and 4 threads)",
                {t: significant(v) for t, v in speedups.items()},
            ),
            [_line("paper, computed", speedups, "paper"), *here.laws()],
        ),
        here.section(
            "efficiencies",
            "Efficiency",
            "Speedup divided by threads over the number of threads.",
            "efficiency",
            here.table(
                "efficiency",
                "Efficiency (figure 'Eficiência'; the paper's computed from its speedups)",
                {t: significant(v) for t, v in efficiencies.items()},
            ),
            [_line("paper, computed", efficiencies, "paper")],
            scale="linear",
        ),
        here.section(
            "fraction",
            "Karp–Flatt",
            "The serial fraction by Karp and Flatt over the number of threads, with 95 % "
            "intervals, and the paper's table.",
            "serial fraction",
            here.table(
                "karp-flatt",
                "Karp–Flatt: the experimentally determined serial fraction, with its 95 % interval",
                {t: p.text for t, p in fractions.items()},
                here.superlinear(),
            ),
            [paper_series("paper", fractions)],
            THREADS[1:],
            "linear",
        ),
    ]


def _fits(here: _Measured) -> Section:
    body: list[list[Cell]] = [
        ["Amdahl (same size)", size_text(size), *fit_cells(s.fit)]
        for size, s in sorted(here.series.items())
        if s.fit is not None
    ]
    body += [
        [
            "Gustafson (size grows)",
            f"{size_text(weak.base.bytes)} a thread",
            *fit_cells(weak.fit),
        ]
        for weak in weak_scalings(here.rows, here.cores)
    ]
    block: Paragraph | Table = Table(
        f"{NAME}-fits",
        f"Fits over at most {here.cores} threads, one for each core",
        [Column("law", "text"), Column("size", "text"), *FIT_COLUMNS],
        body,
        [FITS_NOTE, RESIDUAL_NOTE],
    )
    if not body:
        block = Paragraph(
            "No law is fitted: it needs two numbers of threads above 1 with a core each, and this "
            f"machine has {plural(here.cores, 'core')}."
        )
    return Section(f"{NAME}-fits-section", "Amdahl and Gustafson", [block])


def _judge(findings: Findings, here: _Measured) -> None:
    points, main = here.points.get(here.main, {}), here.main

    def time_ratio(over: int, under: int) -> Cell:
        if over not in points or under not in points:
            return here.reason
        return ratio(points[over].row, points[under].row)

    for threads in THREADS[1:]:
        fraction = karp_flatt_cell(points[threads]) if threads in points else here.reason
        findings.add(f"karp-flatt-{threads}", fraction, main)
    steps = [(1, 2), (2, 4), (4, 8)]
    findings.add("falls", [Case(f"{a} to {b} threads", time_ratio(a, b)) for a, b in steps], main)
    findings.add("rises", time_ratio(16, 8), main)
    findings.add(
        "proportional",
        [
            Case(plural(t, "thread"), efficiency_cell(p))
            for t, p in points.items()
            if 1 < t <= min(here.cores, 8)
        ]
        or [Case("", here.reason)],
        main,
    )
