"""Pousa, Sanz and De Giusti 2011: the round function, serial and with OpenMP, MPI and CUDA."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.papers.cells import (
    phase,
    printed_seconds,
    printed_text,
    rate_ratio,
    ratio,
    ratio_of_ratios,
    scaled,
    seconds,
)
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings
from paraes.lab.papers.data import Paper, load_paper
from paraes.lab.papers.derived_table import Line, Share, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import figure_section, here_series, paper_series
from paraes.lab.papers.pousa_common import (
    MODEL_NOTE,
    RANKS,
    SIZES,
    THREADS,
    Family,
    by_size,
    decryption_cases,
    mpi_predictions,
    runs_of,
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


def chapter(evidence: Evidence) -> list[Section]:
    """Compare with Tables 1 to 3 and Figure 3."""
    paper = load_paper(NAME)
    family = Family(evidence, "reference", "reference-shared")
    gpu = evidence.device.title
    openmp = f"OpenMP, {plural(family.threads, 'thread')}"
    times_p, speedups_p, transfers_p = (paper.tables[t] for t in ("times", "speedups", "transfers"))

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
    table1 = _table(
        "times",
        f"Time of encryption ({times_p.where})",
        "implementation",
        [
            *[
                [title, "paper", *[printed_seconds(times_p.at(s, key)) for s in SIZES]]
                for key, title in paper_names.items()
            ],
            *[[title, "here", *map(cells, SIZES)] for title, cells in ours_time.items()],
        ],
        [MODEL_NOTE],
        "s",
    )
    table2 = _table(
        "speedups",
        f"Speedup against the serial implementation ({speedups_p.where})",
        "implementation",
        [
            *[
                [c["printed"], "paper", *[printed_text(speedups_p.at(s, c["id"])) for s in SIZES]]
                for c in speedups_p.columns
            ],
            *[[title, "here", *map(cells, SIZES)] for title, cells in ours_speedup.items()],
        ],
        [MODEL_NOTE],
    )
    phases: dict[str, tuple[str, Callable[[int], Cell]]] = {
        "h2d": ("copy to the GPU", lambda s: phase(family.gpu(s, "transfer"), "host_to_device")),
        "d2h": ("copy from the GPU", lambda s: phase(family.gpu(s, "transfer"), "device_to_host")),
        "kernel": ("encryption", lambda s: phase(family.gpu(s, "transfer"), "kernel")),
        "total": ("sum", lambda s: seconds(family.gpu_phases(s))),
    }
    rows: list[list[Cell]] = []
    for key, (title, cells) in phases.items():
        rows.append([title, "paper", *[printed_seconds(transfers_p.at(s, key)) for s in SIZES]])
        rows.append([title, f"{gpu}, here", *map(cells, SIZES)])
    whole_calls = [seconds(family.gpu(s, "transfer")) for s in SIZES]
    table3 = _table(
        "transfers",
        f"Phases on the GPU ({transfers_p.where})",
        "phase",
        [*rows, ["whole call", f"{gpu}, here", *whole_calls]],
        ["whole call: the measured time of a call, including time between the phases"],
        "s",
    )

    times_series = here_series(ours_time, SIZES)
    times_series += [
        paper_series(f"{title}, paper", times_p.column(key))
        for key, title in paper_names.items()
        if key in ("serial", "omp8", "mpi32", "cuda")
    ]
    speed_series = here_series(ours_speedup, SIZES)
    speed_series += mpi_predictions(ours_speedup, SIZES)
    speed_series += [
        paper_series(f"{c['printed']}, paper", speedups_p.column(c["id"]))
        for c in speedups_p.columns
    ]
    phase_series = here_series(dict(phases.values()), SIZES)
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
            "Its numbers of ranks that were not measured here are predicted, and marked as such, "
            "if two other numbers were measured.",
        ),
        figure_section(
            (f"{NAME}-1", "Times (Table 1)"),
            f"{NAME}-times-figure",
            "Time of encryption",
            "Seconds over the size by implementation, the paper's and this machine's.",
            "seconds",
            times_series,
            table1,
        ),
        figure_section(
            (f"{NAME}-2", "Speedup (Table 2, Figure 3)"),
            f"{NAME}-speedups-figure",
            "Speedup against serial (as Figure 3)",
            "Speedup over the size by implementation, the paper's and this machine's; predictions "
            "are marked.",
            "speedup",
            speed_series,
            table2,
            level=1.0,
            level_name="serial",
        ),
        figure_section(
            (f"{NAME}-3", "Transfers (Table 3)"),
            f"{NAME}-transfers-figure",
            "Phases on the GPU",
            "Seconds of each phase on the GPU over the size, the paper's and this machine's.",
            "seconds",
            phase_series,
            table3,
        ),
    ]
    sections.append(_derived(paper, family))
    findings = Findings(paper, evidence)
    _judge(findings, paper, family)
    sections.append(findings.section())
    return sections


def _table(
    name: str,
    caption: str,
    what: str,
    rows: list[list[Cell]],
    notes: list[str],
    kind: str = "number",
) -> Table:
    columns = [Column(what, "text"), Column("source", "text")]
    columns += [Column(size_text(size), kind) for size in SIZES]
    return Table(f"{NAME}-{name}", caption, columns, rows, notes)


def _derived(paper: Paper, family: Family) -> Section:
    times, transfers = paper.tables["times"], paper.tables["transfers"]

    def printed(key: str) -> dict[int, float | None]:
        return {size: number.seconds for size, number in times.column(key).items()}

    serial = Line("serial", printed("serial"), family.serial)
    lines = [
        serial,
        Line(
            f"OpenMP, {plural(THREADS, 'thread')}",
            printed("omp8"),
            family.openmp,
            THREADS,
            family.threads,
        ),
    ]
    for ranks in family.rank_columns:
        theirs = printed(f"mpi{ranks}") if ranks in RANKS else {}
        row = partial(family.mpi, ranks)
        lines.append(Line(family.mpi_title(ranks), theirs, row, ranks, ranks))
    totals = {size: number.seconds for size, number in transfers.column("total").items()}
    lines.append(Line("GPU, kernel (Table 1)", printed("cuda"), family.gpu))
    lines.append(Line("GPU, with copies (Table 3)", totals, family.gpu_phases))
    shares = {
        size: 100 * (1 - transfers.number(size, "kernel") / transfers.number(size, "total"))
        for size in transfers.sizes
    }
    share = Share("GPU, with copies (Table 3)", shares, family.copies_share)
    return derived_section(NAME, SIZES, lines, serial, [share])


def _times(value: float) -> str:
    return f"{significant(value)}×"


def _judge(findings: Findings, paper: Paper, family: Family) -> None:
    _judge_openmp(findings, paper, family)
    _judge_mpi(findings, paper, family)
    _judge_gpu(findings, paper, family)
    findings.add("decryption-serial", decryption_cases(SIZES, family.serial))
    findings.add(
        "decryption-openmp",
        decryption_cases(SIZES, lambda size, way: family.openmp(size, direction=way)),
        note=_workers_note(family.threads, "thread"),
    )
    findings.add(
        "decryption-gpu",
        decryption_cases(SIZES, lambda size, way: family.gpu(size, direction=way)),
    )


def _workers_note(count: int | None, noun: str) -> str:
    return "" if count is None else f"with {plural(count, noun)}"


def _judge_openmp(findings: Findings, paper: Paper, family: Family) -> None:
    size = family.largest(SIZES)
    speedups = paper.tables["speedups"]
    findings.add(
        "openmp-8-speedup",
        ratio(family.serial(size), family.openmp(size, THREADS)),
        size,
        _times(speedups.number(size, "omp8")),
    )
    eight = ratio(family.serial(LARGE), family.openmp(LARGE, THREADS))
    findings.add("openmp-8-efficiency", scaled(eight, 1 / THREADS), LARGE)
    small: Cell = Missing(f"{size_text(SMALL)} is the only size that was measured")
    if size > SMALL:
        small = ratio_of_ratios(
            (family.serial(SMALL), family.openmp(SMALL)), (family.serial(size), family.openmp(size))
        )
    findings.add(
        "openmp-small",
        small,
        theirs=f"{_times(speedups.number(SMALL, 'omp8'))} at {size_text(SMALL)}, "
        f"{_times(speedups.number(size, 'omp8'))} at {size_text(size)}",
        note=f"{_workers_note(family.threads, 'thread')}, against {size_text(size)}",
    )


def _judge_mpi(findings: Findings, paper: Paper, family: Family) -> None:
    for ranks in RANKS:
        findings.add(f"mpi-{ranks}-efficiency", family.mpi_efficiency(ranks, LARGE), LARGE)
    size = family.largest(SIZES)
    fair = family.fair_ranks
    nobody = Missing("no number of ranks with a core each was measured")
    findings.add(
        "mpi-linear-cores",
        [Case(plural(ranks, "rank"), family.mpi_efficiency(ranks, size)) for ranks in fair]
        or nobody,
        size,
    )

    def per_byte(size: int) -> Cell:
        return rate_ratio(family.mpi(fair[-1], LARGE), family.mpi(fair[-1], size))

    findings.add(
        "mpi-linear-size",
        by_size(SIZES[1:-1], per_byte) if fair else nobody,
        note=_workers_note(fair[-1] if fair else None, "rank"),
    )
    workers = family.equal_workers

    def over_mpi(size: int) -> Cell:
        if workers is None:
            return Missing("no number of ranks with a core each is also one of threads")
        return ratio(family.openmp(size, workers), family.mpi(workers, size))

    note = _workers_note(workers, "thread") + (f" and {plural(workers, 'rank')}" if workers else "")
    findings.add("openmp-like-mpi", by_size(SIZES[1:], over_mpi), note=note)
    findings.add("mpi-better-small", over_mpi(SMALL), note=note)
    # As the paper computes it: ranks that scale linearly.
    cores: Cell = nobody
    if fair:
        cores = scaled(ratio(family.mpi(fair[-1], LARGE), family.gpu_phases(LARGE)), fair[-1])
    findings.add("cores-for-gpu", cores, note=f"from {plural(fair[-1], 'rank')}" if fair else "")


def _judge_gpu(findings: Findings, paper: Paper, family: Family) -> None:
    size = family.largest(SIZES)
    findings.add(
        "gpu-kernel-speedup",
        ratio(family.serial(size), family.gpu(size)),
        size,
        _times(paper.tables["speedups"].number(size, "cuda")),
    )

    def over_gpu(row: Callable[[int], Row | Missing]) -> Callable[[int], Cell]:
        return lambda size: ratio(row(size), family.gpu_phases(size))

    findings.add("gpu-total-serial", by_size(SIZES, over_gpu(family.serial)))
    eight = over_gpu(lambda size: family.openmp(size, THREADS))
    findings.add("gpu-total-openmp-8", by_size(SIZES, eight))
    for ranks in RANKS:
        cell = over_gpu(partial(family.mpi, ranks))
        if ranks == RANKS[0]:  # on one machine
            findings.add(f"gpu-total-mpi-{ranks}", by_size(SIZES, cell))
            continue
        findings.add(f"gpu-total-mpi-{ranks}", by_size(SIZES[1:], cell))
        findings.add(f"gpu-total-mpi-{ranks}-small", cell(SMALL))
    findings.add("copies-share", family.copies_share(LARGE), LARGE)
