"""Pousa, Sanz and De Giusti 2014: the round function (AES-CI) against tables (AES-AIM)."""

from __future__ import annotations

from collections.abc import Callable

from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.papers.cells import duration, mapped, rate, ratio, ratio_of_ratios
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings, by_size
from paraes.lab.papers.derived_table import Line, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import Cells, figure_section, here_series, sizes_table
from paraes.lab.papers.pousa_common import (
    MODEL_NOTE,
    NOBODY,
    THREADS,
    Family,
    mpi_predictions,
    runs_of,
    workers_note,
)
from paraes.lab.papers.pousa_common import SIZES as ALL_SIZES
from paraes.lab.papers.setting import Setting
from paraes.lab.rows import Row
from paraes.lab.runs import GPU, Run
from paraes.lab.units import plural, size_text

NAME = "pousa-2014"
SIZES = ALL_SIZES[1:]  # without 1 KB
GROUP_THREADS = (64, 128, 256, 512, 1024)
FASTEST_GROUP = 256  # the paper's


def plan(setting: Setting) -> list[Run]:
    """List the runs: `reference` and `ttable` on the CPU by threads and ranks, and the GPU's
    `reference-shared` and `ttable-simple`, at the largest size also with other groups."""
    runs = [
        *runs_of(setting, "reference", "reference-shared", SIZES),
        *runs_of(setting, "ttable", "ttable-simple", SIZES),
    ]
    for size in setting.sizes(SIZES)[-1:]:
        samples = setting.samples_of(size)
        for kernel in ("reference-shared", "ttable-simple"):
            runs.append(
                Run("memory", (GPU,), (kernel,), size, group_threads=GROUP_THREADS, samples=samples)
            )
    return runs


def reduction(
    ci: Family, aim: Family, row: Callable[[Family, int], Row | Missing]
) -> Callable[[int], Cell]:
    """Return how much less time `aim` takes, in percent of `ci`, by size; `row` finds either's."""
    return lambda size: mapped(ratio(row(aim, size), row(ci, size)), lambda t: 100 * (1 - t))


def chapter(evidence: Evidence, findings: Findings) -> list[Section]:
    """Compare with the statements on Figures 3 to 6, which are plots without printed numbers."""
    ci = Family(evidence, "reference", "reference-shared")
    aim = Family(evidence, "ttable", "ttable-simple")
    reductions = {
        "serial": reduction(ci, aim, Family.serial),
        ci.openmp_title: reduction(ci, aim, Family.openmp),
        **{
            ci.mpi_title(n): reduction(ci, aim, lambda family, size, n=n: family.mpi(n, size))
            for n in ci.measured_ranks
        },
        ci.kernel_title: reduction(ci, aim, Family.gpu),
    }
    stated = dict.fromkeys(reductions, "about 99") | {ci.kernel_title: "56 to 62"}
    table = Table(
        f"{NAME}-reduction",
        "Reduction of the time by using tables, in percent (Figures 4 and 5; section 6)",
        [
            Column("implementation", "text"),
            Column("paper's text", "printed", "%"),
            *[Column(size_text(s), "percent") for s in SIZES],
        ],
        [[title, stated[title], *map(cell, SIZES)] for title, cell in reductions.items()],
        ["(1 − t(tables) / t(round function)) × 100"],
    )
    _judge_reductions(findings, ci, reductions)
    _judge_speeds(findings, ci, aim)
    for family, key in ((ci, "ci"), (aim, "aim")):
        size = _largest_grouped(family)
        others = [threads for threads in GROUP_THREADS if threads != FASTEST_GROUP]
        cases = [Case(plural(n, "thread"), _group_ratio(family, n)) for n in others]
        findings.add(f"group-{key}", cases, size)
        family.judge_decryption(findings, f"decryption-{key}", SIZES)
    return [
        introduction(
            findings,
            "AES-CI is kernel reference (GPU: reference-shared), AES-AIM is ttable (GPU: "
            "ttable-simple); AES-128 ECB encryption, speedups against the same kernel on one "
            "thread.",
        ),
        figure_section(
            (f"{NAME}-45", "Reduction (Figures 4 and 5)"),
            f"{NAME}-reduction-figure",
            "Reduction of the time by using tables",
            "How much less time the table-based kernel takes, in percent, over the size, for each "
            "implementation on this machine.",
            "percent less time",
            here_series(reductions, SIZES),
            table,
            y_scale="linear",
        ),
        _speedups(ci, "Figure 3", "AES-CI"),
        _speedups(aim, "Figure 6", "AES-AIM"),
        _groups(ci, aim),
        _derived(ci, "AES-CI"),
        _derived(aim, "AES-AIM"),
    ]


def _largest_grouped(family: Family) -> int:
    return (family.evidence.setting.sizes(SIZES) or SIZES)[-1]


def _group_ratio(family: Family, threads: int) -> Cell:
    """Return the time with so many threads of a block over the time with the paper's number."""
    size = _largest_grouped(family)
    return ratio(
        family.gpu(size, group_threads=threads), family.gpu(size, group_threads=FASTEST_GROUP)
    )


def _groups(ci: Family, aim: Family) -> Section:
    body: list[list[Cell]] = []
    size = _largest_grouped(ci)
    for family, name in ((ci, "AES-CI"), (aim, "AES-AIM")):
        title = f"{name}, {family.evidence.device.title}"
        rows = [family.gpu(size, group_threads=threads) for threads in GROUP_THREADS]
        body.append([title, "s", *map(duration, rows)])
        body.append([title, "MB/s", *map(rate, rows)])
        ratios = [_group_ratio(family, threads) for threads in GROUP_THREADS]
        body.append([title, f"time / time with {FASTEST_GROUP}", *ratios])
    table = Table(
        f"{NAME}-groups",
        f"The GPU's kernels by threads of a block, {size_text(size)} (section 6)",
        [
            Column("kernel", "text"),
            Column("quantity", "text"),
            *[Column(f"{threads} threads") for threads in GROUP_THREADS],
        ],
        body,
        ["The paper states that 256 are fastest for both kernels, and no times."],
    )
    return Section(f"{NAME}-groups-section", "Threads of a block", [table])


def _derived(family: Family, name: str) -> Section:
    lines = [
        *family.lines(family.threads, family.measured_ranks, lambda column: {}),
        Line("GPU, kernel", {}, family.gpu),
        Line("GPU, with copies", {}, family.transfer),
    ]
    of = f" of {name}"
    return derived_section(f"{NAME}-{name.lower()}", SIZES, lines, lines[0], of=of)


def _speedups(family: Family, figure: str, name: str) -> Section:
    gpu = family.evidence.device.title
    cells = family.speedups() | {f"{gpu}, with copies": family.over(family.transfer)}
    key = name.lower()
    table = sizes_table(
        f"{NAME}-{key}-speedup",
        f"Speedup of {name} on this machine ({figure} has no printed numbers)",
        ["implementation"],
        SIZES,
        [[title, *map(cell, SIZES)] for title, cell in cells.items()],
        [MODEL_NOTE],
    )
    return figure_section(
        (f"{NAME}-{key}", f"Speedup of {name} ({figure})"),
        f"{NAME}-{key}-figure",
        f"Speedup of {name} (as {figure})",
        f"Speedup of {name} against one thread over the size, for each implementation on this "
        "machine.",
        "speedup",
        here_series(cells, SIZES) + mpi_predictions(cells, SIZES),
        table,
        level=1.0,
        level_name="serial",
    )


def _judge_reductions(findings: Findings, ci: Family, reductions: Cells) -> None:
    threads = ci.threads
    serial = by_size(SIZES, reductions["serial"])
    openmp = by_size(SIZES, reductions[ci.openmp_title])
    gpu = by_size(SIZES, reductions[ci.kernel_title])
    mpi = [
        Case(f"{plural(ranks, 'rank')}, {case.name}", case.cell)
        for ranks in ci.fair_ranks
        for case in by_size(SIZES, reductions[ci.mpi_title(ranks)])
    ]
    findings.add("reduction-serial", serial)
    findings.add("reduction-openmp", openmp, note=workers_note(threads, "thread"))
    findings.add("reduction-mpi", mpi or NOBODY)
    findings.add("reduction-gpu", gpu)
    named = {"serial": serial, "OpenMP": openmp if threads > 1 else [], "MPI": mpi}
    on_cpu = [Case(f"{name}, {case.name}", case.cell) for name, of in named.items() for case in of]
    findings.add("tables-less-cpu", on_cpu)
    findings.add("tables-less-gpu", gpu)


def _judge_speeds(findings: Findings, ci: Family, aim: Family) -> None:
    def helps_less(size: int) -> Cell:
        on_gpu, on_cpu = (aim.gpu(size), ci.gpu(size)), (aim.serial(size), ci.serial(size))
        return ratio_of_ratios(on_gpu, on_cpu)

    cells: Cells = {
        "tables-help-gpu-less": helps_less,
        "ci-gpu-openmp-8": lambda size: ratio(ci.openmp(size, threads=THREADS), ci.gpu(size)),
        "ci-gpu-mpi-32": lambda size: ratio(ci.mpi(32, size), ci.gpu(size)),
        # These need more than one machine.
        "aim-mpi-16-gpu": lambda size: ratio(aim.gpu(size), aim.mpi(16, size)),
        "aim-mpi-32-gpu": lambda size: ratio(aim.gpu(size), aim.mpi(32, size)),
    }
    for claim, cell in cells.items():
        findings.add(claim, by_size(SIZES, cell))
