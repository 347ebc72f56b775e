"""Pousa, Sanz and De Giusti 2011: the round function, serial and with OpenMP, MPI and CUDA."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from paraes.lab.document import AsPrinted, Cell, Missing, Section, Series
from paraes.lab.papers.cells import duration, phase, rate_ratio, ratio, ratio_of_ratios, scaled
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings, by_size
from paraes.lab.papers.data import Paper, PaperTable, Printed
from paraes.lab.papers.derived_table import Line, Share, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import Cells, figure_section, here_series, paper_series, sizes_table
from paraes.lab.papers.pousa_common import (
    MODEL_NOTE,
    NOBODY,
    RANKS,
    SIZES,
    THREADS,
    Family,
    mpi_predictions,
    runs_of,
    workers_note,
)
from paraes.lab.papers.setting import Setting
from paraes.lab.rows import Row
from paraes.lab.runs import Run
from paraes.lab.units import plural, significant, size_text

NAME = "pousa-2011"
SMALL, LARGE = SIZES[0], SIZES[-1]


def plan(setting: Setting) -> list[Run]:
    """List the runs: encryption with `reference` on the CPU, `reference-shared` on the GPU."""
    return runs_of(setting, "reference", "reference-shared", SIZES)


def chapter(evidence: Evidence, findings: Findings) -> list[Section]:
    """Compare with Tables 1 to 3 and Figure 3."""
    paper = findings.paper
    family = Family(evidence, "reference", "reference-shared")
    _judge_openmp(findings, paper, family)
    _judge_mpi(findings, family)
    _judge_gpu(findings, paper, family)
    family.judge_decryption(findings, "decryption", SIZES)
    return [
        introduction(
            findings,
            f"kernel reference on one thread, on {plural(family.threads, 'thread')} (the paper: 8) "
            "and on ranks of paraes-mpi; reference-shared on the GPU. AES-128 ECB encryption. "
            "Its numbers of ranks that were not measured here are predicted, and marked as such, "
            "if two other numbers were measured.",
        ),
        _time_section(paper.tables["times"], family),
        _speedup_section(paper.tables["speedups"], family),
        _phase_section(paper.tables["transfers"], family, evidence.device.title),
        _derived(paper, family),
    ]


def _titles(table: PaperTable) -> dict[str, str]:
    return {c["id"]: c["printed"] for c in table.columns}


def _time_section(printed: PaperTable, family: Family) -> Section:
    here: dict[str, Callable[[int], Cell]] = {
        "serial": lambda s: duration(family.serial(s)),
        family.openmp_title: lambda s: duration(family.openmp(s)),
        **{family.mpi_title(n): partial(family.mpi_time, n) for n in family.rank_columns},
        family.kernel_title: lambda s: duration(family.gpu(s)),
    }
    names = _titles(printed)
    drawn = {key: names[key] for key in ("serial", "omp8", "mpi32", "cuda")}
    return figure_section(
        (f"{NAME}-1", "Times (Table 1)"),
        f"{NAME}-times-figure",
        "Time of encryption",
        "Seconds over the size by implementation, the paper's and this machine's.",
        "s",
        [*here_series(here, SIZES), *_paper_series(printed, drawn)],
        sizes_table(
            f"{NAME}-times",
            f"Time of encryption ({printed.where})",
            ["implementation", "source"],
            SIZES,
            [*_theirs(printed, names), *_here(here)],
            [MODEL_NOTE],
            "s",
        ),
    )


def _speedup_section(printed: PaperTable, family: Family) -> Section:
    here, names = family.speedups(), _titles(printed)
    return figure_section(
        (f"{NAME}-2", "Speedup (Table 2, Figure 3)"),
        f"{NAME}-speedups-figure",
        "Speedup against serial (as Figure 3)",
        "Speedup over the size by implementation, the paper's and this machine's; predictions "
        "are marked.",
        "speedup",
        [
            *here_series(here, SIZES),
            *mpi_predictions(here, SIZES),
            *_paper_series(printed, names),
        ],
        sizes_table(
            f"{NAME}-speedups",
            f"Speedup against the serial implementation ({printed.where})",
            ["implementation", "source"],
            SIZES,
            [*_theirs(printed, names), *_here(here)],
            [MODEL_NOTE],
        ),
        level=1.0,
        level_name="serial",
    )


def _phase_section(printed: PaperTable, family: Family, gpu: str) -> Section:
    phases: dict[str, tuple[str, Callable[[int], Cell]]] = {
        "h2d": ("copy to the GPU", lambda s: phase(family.transfer(s), "host_to_device")),
        "d2h": ("copy from the GPU", lambda s: phase(family.transfer(s), "device_to_host")),
        "kernel": ("encryption", lambda s: phase(family.transfer(s), "kernel")),
        "total": ("sum", lambda s: duration(family.gpu_phases(s))),
    }
    titles = {key: title for key, (title, _) in phases.items()}
    rows: list[list[Cell]] = []
    for key, (title, cells) in phases.items():
        rows += [*_theirs(printed, {key: title}), *_here({title: cells}, f"{gpu}, here")]
    rows += _here({"whole call": lambda s: duration(family.transfer(s))}, f"{gpu}, here")
    return figure_section(
        (f"{NAME}-3", "Transfers (Table 3)"),
        f"{NAME}-transfers-figure",
        "Phases on the GPU",
        "Seconds of each phase on the GPU over the size, the paper's and this machine's.",
        "s",
        [*here_series(dict(phases.values()), SIZES), *_paper_series(printed, titles)],
        sizes_table(
            f"{NAME}-transfers",
            f"Phases on the GPU ({printed.where})",
            ["phase", "source"],
            SIZES,
            rows,
            ["whole call: the measured time of a call, including time between the phases"],
            "s",
        ),
    )


def _theirs(table: PaperTable, titles: dict[str, str]) -> list[list[Cell]]:
    """Return a line for each column of a table of the paper, whose titles these are."""

    def cell(printed: Printed) -> Cell:
        return AsPrinted(printed.text, "s") if printed.unit == "s" else printed.text

    return [
        [title, "paper", *[cell(table.at(size, key)) for size in SIZES]]
        for key, title in titles.items()
    ]


def _here(cells: Cells, source: str = "here") -> list[list[Cell]]:
    return [[title, source, *map(cell, SIZES)] for title, cell in cells.items()]


def _paper_series(table: PaperTable, titles: dict[str, str]) -> list[Series]:
    return [paper_series(f"{title}, paper", table.column(key)) for key, title in titles.items()]


def _derived(paper: Paper, family: Family) -> Section:
    times, transfers = paper.tables["times"], paper.tables["transfers"]

    def theirs(key: str) -> dict[int, float | None]:
        printed = any(column["id"] == key for column in times.columns)
        return times.seconds(key) if printed else {}

    lines = [
        *family.lines(THREADS, family.rank_columns, theirs),
        Line("GPU, kernel (Table 1)", theirs("cuda"), family.gpu),
        Line("GPU, with copies (Table 3)", transfers.seconds("total"), family.gpu_phases),
    ]
    shares = {
        size: 100 * (1 - transfers.ratio(size, "kernel", "total")) for size in transfers.sizes
    }
    share = Share("GPU, with copies (Table 3)", shares, family.copies_share)
    return derived_section(NAME, SIZES, lines, lines[0], [share])


def _times(value: float) -> str:
    return f"{significant(value)}×"


def _judge_openmp(findings: Findings, paper: Paper, family: Family) -> None:
    size = family.largest(SIZES)
    speedups = paper.tables["speedups"]
    eight = family.over(partial(family.openmp, threads=THREADS))
    theirs = _times(speedups.number(size, "omp8"))
    findings.add("openmp-8-speedup", eight(size), size, theirs)
    findings.add("openmp-8-efficiency", scaled(eight(LARGE), 1 / THREADS), LARGE)
    reason = f"{size_text(SMALL)} is the only size that was measured"
    small: Cell = findings.evidence.missing(reason, SIZES[1])
    if size > SMALL:
        small = ratio_of_ratios(
            (family.serial(SMALL), family.openmp(SMALL)), (family.serial(size), family.openmp(size))
        )
    findings.add(
        "openmp-small",
        small,
        theirs=f"{_times(speedups.number(SMALL, 'omp8'))} at {size_text(SMALL)}, "
        f"{_times(speedups.number(size, 'omp8'))} at {size_text(size)}",
        note=f"{workers_note(family.threads, 'thread')}, against {size_text(size)}",
    )


def _judge_mpi(findings: Findings, family: Family) -> None:
    for ranks in RANKS:
        findings.add(f"mpi-{ranks}-efficiency", family.mpi_efficiency(ranks, LARGE), LARGE)
    size = family.largest(SIZES)
    fair = family.fair_ranks
    findings.add(
        "mpi-linear-cores",
        [Case(plural(ranks, "rank"), family.mpi_efficiency(ranks, size)) for ranks in fair]
        or NOBODY,
        size,
    )

    def per_byte(size: int) -> Cell:
        return rate_ratio(family.mpi(fair[-1], LARGE), family.mpi(fair[-1], size))

    findings.add(
        "mpi-linear-size",
        by_size(SIZES[1:-1], per_byte) if fair else NOBODY,
        note=workers_note(fair[-1] if fair else None, "rank"),
    )
    workers = family.equal_workers

    def over_mpi(size: int) -> Cell:
        if workers is None:
            return Missing("no number of ranks with a core each is also one of threads")
        return ratio(family.openmp(size, threads=workers), family.mpi(workers, size))

    note = workers_note(workers, "thread") + (f" and {plural(workers, 'rank')}" if workers else "")
    findings.add("openmp-like-mpi", by_size(SIZES[1:], over_mpi), note=note)
    findings.add("mpi-better-small", over_mpi(SMALL), note=note)
    # The paper assumes ranks that scale linearly.
    cores: Cell = NOBODY
    if fair:
        cores = scaled(ratio(family.mpi(fair[-1], LARGE), family.gpu_phases(LARGE)), fair[-1])
    findings.add("cores-for-gpu", cores, note=f"from {plural(fair[-1], 'rank')}" if fair else "")


def _judge_gpu(findings: Findings, paper: Paper, family: Family) -> None:
    size = family.largest(SIZES)
    theirs = _times(paper.tables["speedups"].number(size, "cuda"))
    findings.add("gpu-kernel-speedup", family.over(family.gpu)(size), size, theirs)

    def over_gpu(row: Callable[[int], Row | Missing]) -> Callable[[int], Cell]:
        return lambda size: ratio(row(size), family.gpu_phases(size))

    findings.add("gpu-total-serial", by_size(SIZES, over_gpu(family.serial)))
    eight = over_gpu(partial(family.openmp, threads=THREADS))
    findings.add("gpu-total-openmp-8", by_size(SIZES, eight))
    for ranks in RANKS:
        cell = over_gpu(partial(family.mpi, ranks))
        if ranks == RANKS[0]:  # on one machine
            findings.add(f"gpu-total-mpi-{ranks}", by_size(SIZES, cell))
            continue
        findings.add(f"gpu-total-mpi-{ranks}", by_size(SIZES[1:], cell))
        findings.add(f"gpu-total-mpi-{ranks}-small", cell(SMALL))
    findings.add("copies-share", family.copies_share(LARGE), LARGE)
