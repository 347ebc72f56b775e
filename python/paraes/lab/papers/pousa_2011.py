"""Pousa, Sanz and De Giusti 2011: the round function, serial and with OpenMP, MPI and CUDA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from paraes.lab.bench import Row
from paraes.lab.document import Cell, Column, Missing, Predicted, Section, Table, format_cell
from paraes.lab.measure import Run
from paraes.lab.papers.cells import add, phase, printed_text, ratio, seconds, value_of
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import (
    AGREEMENT,
    Finding,
    compare_near,
    compare_order,
    compare_ratio,
    findings_table,
    judge,
)
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import line_figure, measured_series, paper_series, predicted_series
from paraes.lab.papers.pousa_common import MODEL_NOTE, RANKS, SIZES, Family, runs_of
from paraes.lab.papers.setting import Setting
from paraes.lab.units import plural, significant, size_text

NAME = "pousa-2011"


def plan(setting: Setting) -> list[Run]:
    """List the runs: encryption with `reference` on the CPU, `reference-shared` on the GPU."""
    return runs_of(setting, "reference", "reference-shared", SIZES)


def chapter(evidence: Evidence) -> list[Section]:
    """Compare with Tables 1 to 3 and Figure 3."""
    paper = load_paper(NAME)
    family = Family(evidence, "reference", "reference-shared")
    gpu = evidence.device.title
    openmp = f"OpenMP, {plural(family.threads, 'thread')}"
    times_p, speedups_p, transfers_p = (paper.tables[t] for t in ("times", "speedups", "transfers"))
    size_columns = [Column(size_text(s), unit="s") for s in SIZES]

    def by_size(cells) -> list[Cell]:
        return [cells(s) for s in SIZES]

    # Implementation → its cell for a size, on this machine.
    ours_time: dict[str, Callable[[int], Cell]] = {
        "serial": lambda s: seconds(family.serial(s)),
        openmp: lambda s: seconds(family.openmp(s)),
    }
    ours_speedup: dict[str, Callable[[int], Cell]] = {
        openmp: lambda s: ratio(family.serial(s), family.openmp(s))
    }
    for ranks in family.rank_columns:
        ours_time[family.mpi_title(ranks)] = partial(family.mpi_time, ranks)
        ours_speedup[family.mpi_title(ranks)] = partial(family.mpi_speedup, ranks)
    ours_time[f"{gpu}, kernel"] = lambda s: seconds(family.gpu(s))
    ours_speedup[f"{gpu}, kernel"] = lambda s: ratio(family.serial(s), family.gpu(s))
    paper_names = {c["id"]: c["printed"] for c in times_p.columns}
    rows: list[list[Cell]] = []
    for key, title in paper_names.items():
        rows.append([title, "paper", *[printed_text(times_p.at(s, key)) for s in SIZES]])
    for title, cells in ours_time.items():
        rows.append([title, "here", *by_size(cells)])
    table1 = Table(
        f"{NAME}-times",
        f"Time of encryption in seconds ({times_p.where})",
        [Column("implementation", "text"), Column("source", "text"), *size_columns],
        rows,
        [MODEL_NOTE],
    )
    rows = []
    for column in speedups_p.columns:
        rows.append(
            [
                column["printed"],
                "paper",
                *[printed_text(speedups_p.at(s, column["id"])) for s in SIZES],
            ]
        )
    for title, cells in ours_speedup.items():
        rows.append([title, "here", *by_size(cells)])
    table2 = Table(
        f"{NAME}-speedups",
        f"Speedup against the serial implementation ({speedups_p.where})",
        [
            Column("implementation", "text"),
            Column("source", "text"),
            *[Column(size_text(s)) for s in SIZES],
        ],
        rows,
        [MODEL_NOTE],
    )

    phases = {
        "h2d": ("copy to the GPU", lambda s: phase(family.gpu(s, "transfer"), "host_to_device")),
        "d2h": ("copy from the GPU", lambda s: phase(family.gpu(s, "transfer"), "device_to_host")),
        "kernel": ("encryption", lambda s: phase(family.gpu(s, "transfer"), "kernel")),
        "total": (
            "sum",
            lambda s: phase(
                family.gpu(s, "transfer"), "host_to_device", "kernel", "device_to_host"
            ),
        ),
    }
    rows = []
    for key, (title, cells) in phases.items():
        rows.append([title, "paper", *[printed_text(transfers_p.at(s, key)) for s in SIZES]])
        rows.append([title, f"{gpu}, here", *by_size(cells)])
    rows.append(
        ["whole call", f"{gpu}, here", *by_size(lambda s: seconds(family.gpu(s, "transfer")))]
    )
    table3 = Table(
        f"{NAME}-transfers",
        f"Phases on the GPU in seconds ({transfers_p.where})",
        [Column("phase", "text"), Column("source", "text"), *size_columns],
        rows,
        ["whole call: the measured time of a call, including time between the phases"],
    )

    times_series = [
        measured_series(f"{t}, here", ((s, c(s)) for s in SIZES))
        for t, c in ours_time.items()
        if not t.startswith("MPI") or _is_measured(family, t)
    ]
    times_series += [
        paper_series(f"{title}, paper", times_p.column(key))
        for key, title in paper_names.items()
        if key in ("serial", "omp8", "mpi32", "cuda")
    ]
    speed_series = [
        measured_series(f"{t}, here", ((s, c(s)) for s in SIZES))
        for t, c in ours_speedup.items()
        if not t.startswith("MPI") or _is_measured(family, t)
    ]
    speed_series += [
        predicted_series(f"{t}, predicted", [(s, c(s)) for s in SIZES])
        for t, c in ours_speedup.items()
        if t.startswith("MPI")
    ]
    speed_series += [
        paper_series(f"{c['printed']}, paper", speedups_p.column(c["id"]))
        for c in speedups_p.columns
    ]
    phase_series = [
        measured_series(f"{title}, here", ((s, cells(s)) for s in SIZES))
        for title, cells in phases.values()
    ]
    phase_series += [
        paper_series(f"{title}, paper", transfers_p.column(key))
        for key, (title, _) in phases.items()
    ]
    sections = [
        introduction(
            paper,
            evidence,
            f"kernel reference on one thread, on {plural(family.threads, 'thread')} (the paper: 8) "
            "and on ranks of paraes-mpi; reference-shared on the GPU. AES-128 ECB encryption. "
            "Numbers of ranks that were not measured are predicted, and marked as such.",
        ),
        Section(
            f"{NAME}-1",
            "Times (Table 1)",
            [
                line_figure(
                    f"{NAME}-times-figure",
                    "Time of encryption",
                    "Seconds over the size by implementation, the paper's and this machine's.",
                    "seconds",
                    times_series,
                    table1,
                )
            ],
        ),
        Section(
            f"{NAME}-2",
            "Speedup (Table 2, Figure 3)",
            [
                line_figure(
                    f"{NAME}-speedups-figure",
                    "Speedup against serial (as Figure 3)",
                    "Speedup over the size by implementation, the paper's and this machine's; "
                    "predictions are marked.",
                    "speedup",
                    speed_series,
                    table2,
                    level=1.0,
                    level_name="serial",
                )
            ],
        ),
        Section(
            f"{NAME}-3",
            "Transfers (Table 3)",
            [
                line_figure(
                    f"{NAME}-transfers-figure",
                    "Phases on the GPU",
                    "Seconds of each phase on the GPU over the size, the paper's and this "
                    "machine's.",
                    "seconds",
                    phase_series,
                    table3,
                )
            ],
        ),
    ]
    sections.append(
        Section(
            f"{NAME}-agreement",
            AGREEMENT,
            [findings_table(NAME, _findings(paper, family, phases, openmp), evidence.device)],
        )
    )
    return sections


def _is_measured(family: Family, title: str) -> bool:
    return any(title == family.mpi_title(ranks) for ranks in family.measured_ranks)


def _findings(paper, family: Family, phases, openmp: str) -> list[Finding]:
    found = []
    times, transfers = paper.tables["times"], paper.tables["transfers"]
    size = max((s for s in SIZES if isinstance(family.serial(s), Row)), default=SIZES[-1])
    top = (family.fair_ranks or family.rank_columns)[-1]
    ours: dict[str, Cell] = {
        "serial": seconds(family.serial(size)),
        "OpenMP": seconds(family.openmp(size)),
        "MPI": family.mpi_time(top, size),
        "GPU": seconds(family.gpu(size)),
    }
    theirs = {
        n: times.at(size, k).value
        for n, k in {"serial": "serial", "OpenMP": "omp8", "MPI": "mpi8", "GPU": "cuda"}.items()
    }
    found.append(compare_order("order of times", size, theirs, ours))
    speedups = paper.tables["speedups"]
    found.append(
        compare_ratio(
            f"speedup of the GPU's kernel, {size_text(size)}",
            speedups.number(size, "cuda"),
            ratio(family.serial(size), family.gpu(size)),
        )
    )
    speed = ratio(family.serial(size), family.openmp(size))
    value = value_of(speed)
    efficiency: Cell = speed if value is None else value / family.threads
    found.append(
        compare_near(
            f"efficiency of {openmp} (paper: 8 threads), {size_text(size)}",
            speedups.number(size, "omp8") / 8,
            efficiency,
            "",
            0.15,
        )
    )
    for ranks in RANKS:
        cell = family.mpi_speedup(ranks, size)
        value = value_of(cell)
        theirs_e = speedups.number(size, f"mpi{ranks}") / ranks
        if isinstance(cell, Predicted):
            here = Predicted(cell.value / ranks, cell.interval and cell.interval.scaled(1 / ranks))
            found.append(
                Finding(
                    f"efficiency of MPI on {ranks} ranks, {size_text(size)}",
                    significant(theirs_e),
                    format_cell(here, "number"),
                    "predicted",
                )
            )
        else:
            finding = compare_near(
                f"efficiency of MPI on {ranks} ranks, {size_text(size)}",
                theirs_e,
                cell if value is None else value / ranks,
                "",
                0.15,
            )
            if value is not None and family.more_than_cores(ranks):
                cores = plural(family.evidence.setting.cores, "core")
                finding = replace(finding, here=f"{finding.here}; {cores} here")
            found.append(finding)
    whole = value_of(phases["total"][1](size))
    copies = value_of(add(phases["h2d"][1](size), phases["d2h"][1](size)))
    part: Cell = Missing("no GPU phases") if not whole or copies is None else 100 * copies / whole
    theirs_part = 100 * (1 - transfers.number(size, "kernel") / transfers.number(size, "total"))
    found.append(
        compare_near(
            f"share of the copies in the GPU's time, {size_text(size)}", theirs_part, part, " %", 10
        )
    )
    below = []
    for s in SIZES:
        gpu_total, omp = value_of(phases["total"][1](s)), value_of(seconds(family.openmp(s)))
        if gpu_total is not None and omp is not None:
            below.append(gpu_total < omp)
    found.append(
        Finding(
            "the GPU's total is below OpenMP's time",
            "at every size",
            f"at {sum(below)} of {len(below)} sizes" if below else "no GPU phases",
            judge(all(below) if below else None),
            "below at every size",
        )
    )
    small, large = family.openmp(SIZES[0]), family.openmp(size)
    if isinstance(small, Row) and isinstance(large, Row) and family.threads > 1:
        a, b = (
            value_of(ratio(family.serial(SIZES[0]), small)),
            value_of(ratio(family.serial(size), large)),
        )
        if a is not None and b is not None:
            found.append(
                Finding(
                    "OpenMP's speedup is lower at 1 KB than at large sizes",
                    "4.11 at 1 KB, 7.82 at 255 MB",
                    f"{significant(a)} at 1 KiB, {significant(b)} at {size_text(size)}",
                    judge(a < b),
                    "lower",
                )
            )
    return found
