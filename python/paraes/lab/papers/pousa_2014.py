"""Pousa, Sanz and De Giusti 2014: the round function (AES-CI) against tables (AES-AIM)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.papers.cells import mapped, rate, ratio, ratio_of_ratios, seconds
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.derived_table import Line, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import figure_section, here_series
from paraes.lab.papers.pousa_common import (
    MODEL_NOTE,
    THREADS,
    Family,
    by_size,
    decryption_cases,
    mpi_predictions,
    runs_of,
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
CLUSTER_RANKS = (16, 32)  # on more than one machine


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


def reduction(ci: Row | Missing, aim: Row | Missing) -> Cell:
    """Return how much less time `aim` takes, in percent of `ci`, with its interval."""
    return mapped(ratio(aim, ci), lambda share: 100 * (1 - share))


def chapter(evidence: Evidence) -> list[Section]:
    """Compare with the statements on Figures 3 to 6, which are plots without printed numbers."""
    paper = load_paper(NAME)
    ci = Family(evidence, "reference", "reference-shared")
    aim = Family(evidence, "ttable", "ttable-simple")
    gpu = evidence.device.title
    openmp = f"OpenMP, {plural(ci.threads, 'thread')}"

    def mpi(ranks: int, size: int) -> Cell:
        return reduction(ci.mpi(ranks, size), aim.mpi(ranks, size))

    pairs: dict[str, Callable[[int], Cell]] = {
        "serial": lambda s: reduction(ci.serial(s), aim.serial(s)),
        openmp: lambda s: reduction(ci.openmp(s), aim.openmp(s)),
    }
    for ranks in ci.measured_ranks:
        pairs[ci.mpi_title(ranks)] = partial(mpi, ranks)
    pairs[f"{gpu}, kernel"] = lambda s: reduction(ci.gpu(s), aim.gpu(s))
    stated = {"serial": "about 99", openmp: "about 99", f"{gpu}, kernel": "56 to 62"}
    stated |= {ci.mpi_title(ranks): "about 99" for ranks in ci.measured_ranks}
    table = Table(
        f"{NAME}-reduction",
        "Reduction of the time by using tables, in percent (Figures 4 and 5; section 6)",
        [
            Column("implementation", "text"),
            Column("paper's text", "printed", "%"),
            *[Column(size_text(s), "percent") for s in SIZES],
        ],
        [[title, stated[title], *[cells(s) for s in SIZES]] for title, cells in pairs.items()],
        ["(1 − t(tables) / t(round function)) × 100"],
    )
    sections = [
        introduction(
            paper,
            evidence,
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
            here_series(pairs, SIZES),
            table,
            y_scale="linear",
        ),
    ]
    for family, figure, name in ((ci, "Figure 3", "AES-CI"), (aim, "Figure 6", "AES-AIM")):
        sections.append(_speedups(family, figure, name, gpu, openmp))
    sections.append(_groups(ci, aim))
    sections += [_derived(ci, "AES-CI"), _derived(aim, "AES-AIM")]
    findings = Findings(paper, evidence)
    _judge(findings, ci, aim)
    sections.append(findings.section())
    return sections


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
        body.append([title, "s", *map(seconds, rows)])
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
    threads = family.threads
    serial = Line("serial", {}, family.serial)
    lines = [
        serial,
        Line(f"OpenMP, {plural(threads, 'thread')}", {}, family.openmp, threads, threads),
    ]
    for ranks in family.measured_ranks:
        lines.append(Line(family.mpi_title(ranks), {}, partial(family.mpi, ranks), ranks, ranks))
    lines.append(Line("GPU, kernel", {}, family.gpu))
    lines.append(Line("GPU, with copies", {}, lambda size: family.gpu(size, "transfer")))
    section = derived_section(f"{NAME}-{name.lower()}", SIZES, lines, serial)
    return replace(section, title=f"Derived from the times of {name}")


def _speedups(family: Family, figure: str, name: str, gpu: str, openmp: str) -> Section:
    cells: dict[str, Callable[[int], Cell]] = {
        openmp: lambda s: ratio(family.serial(s), family.openmp(s)),
    }
    for ranks in family.rank_columns:
        cells[family.mpi_title(ranks)] = partial(family.mpi_speedup, ranks)
    cells[f"{gpu}, kernel"] = lambda s: ratio(family.serial(s), family.gpu(s))
    cells[f"{gpu}, with copies"] = lambda s: ratio(family.serial(s), family.gpu(s, "transfer"))
    key = name.lower()
    table = Table(
        f"{NAME}-{key}-speedup",
        f"Speedup of {name} on this machine ({figure} has no printed numbers)",
        [Column("implementation", "text"), *[Column(size_text(s)) for s in SIZES]],
        [[title, *[c(s) for s in SIZES]] for title, c in cells.items()],
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


def _judge(findings: Findings, ci: Family, aim: Family) -> None:
    threads, fair = ci.threads, ci.fair_ranks
    with_threads = f"with {plural(threads, 'thread')}"
    nobody = Missing("no number of ranks with a core each was measured")

    def serial(size: int) -> Cell:
        return reduction(ci.serial(size), aim.serial(size))

    def openmp(size: int) -> Cell:
        return reduction(ci.openmp(size), aim.openmp(size))

    def gpu(size: int) -> Cell:
        return reduction(ci.gpu(size), aim.gpu(size))

    on_ranks = [
        Case(
            f"{plural(ranks, 'rank')}, {size_text(size)}",
            reduction(ci.mpi(ranks, size), aim.mpi(ranks, size)),
        )
        for ranks in fair
        for size in SIZES
    ]
    on_threads = by_size(SIZES, openmp)
    findings.add("reduction-serial", by_size(SIZES, serial))
    findings.add("reduction-openmp", on_threads, note=with_threads)
    findings.add("reduction-mpi", on_ranks or nobody)
    findings.add("reduction-gpu", by_size(SIZES, gpu))
    named = [
        *[Case(f"serial, {case.name}", case.cell) for case in by_size(SIZES, serial)],
        *[Case(f"OpenMP, {case.name}", case.cell) for case in on_threads if threads > 1],
        *[Case(f"MPI, {case.name}", case.cell) for case in on_ranks],
    ]
    findings.add("tables-less-cpu", named)
    findings.add("tables-less-gpu", by_size(SIZES, gpu))
    findings.add(
        "tables-help-gpu-less",
        by_size(
            SIZES,
            lambda size: ratio_of_ratios(
                (aim.gpu(size), ci.gpu(size)), (aim.serial(size), ci.serial(size))
            ),
        ),
    )
    findings.add(
        "ci-gpu-openmp-8",
        by_size(SIZES, lambda size: ratio(ci.openmp(size, THREADS), ci.gpu(size))),
    )
    findings.add(
        "ci-gpu-mpi-32", by_size(SIZES, lambda size: ratio(ci.mpi(32, size), ci.gpu(size)))
    )
    for ranks in CLUSTER_RANKS:

        def over_mpi(size: int, ranks: int = ranks) -> Cell:
            return ratio(aim.gpu(size), aim.mpi(ranks, size))

        findings.add(f"aim-mpi-{ranks}-gpu", by_size(SIZES, over_mpi))
    for family, key in ((ci, "ci"), (aim, "aim")):
        size = _largest_grouped(family)
        others = [threads for threads in GROUP_THREADS if threads != FASTEST_GROUP]
        cases = [Case(plural(n, "thread"), _group_ratio(family, n)) for n in others]
        findings.add(f"group-{key}", cases, size)
        findings.add(f"decryption-{key}-serial", decryption_cases(SIZES, family.serial))
        findings.add(
            f"decryption-{key}-openmp",
            decryption_cases(SIZES, lambda n, way, f=family: f.openmp(n, direction=way)),
            note=with_threads,
        )
        findings.add(
            f"decryption-{key}-gpu",
            decryption_cases(SIZES, lambda n, way, f=family: f.gpu(n, direction=way)),
        )
