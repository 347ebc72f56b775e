"""Pousa, Sanz and De Giusti 2014: the round function (AES-CI) against tables (AES-AIM)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from paraes.lab.bench import Row
from paraes.lab.document import Cell, Column, Estimate, Missing, Predicted, Section, Table
from paraes.lab.measure import Run
from paraes.lab.papers.cells import ratio, shorten, value_of
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import AGREEMENT, Finding, compare_near, findings_table, judge
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import line_figure, measured_series, predicted_series
from paraes.lab.papers.pousa_common import MODEL_NOTE, Family, runs_of
from paraes.lab.papers.pousa_common import SIZES as ALL_SIZES
from paraes.lab.papers.setting import Setting
from paraes.lab.statistics import Interval, bootstrap
from paraes.lab.units import plural, significant, size_text

NAME = "pousa-2014"
SIZES = ALL_SIZES[1:]  # without 1 KB


def plan(setting: Setting) -> list[Run]:
    """List the runs: `reference` and `ttable` on the CPU by threads and ranks, and the GPU's
    `reference-shared` and `ttable-simple`."""
    return [
        *runs_of(setting, "reference", "reference-shared", SIZES),
        *runs_of(setting, "ttable", "ttable-simple", SIZES),
    ]


def reduction(ci: Row | Missing, aim: Row | Missing) -> Cell:
    """Return how much less time `aim` takes, in percent of `ci`, with a bootstrap interval."""
    for row in (ci, aim):
        if isinstance(row, Missing):
            return row
    assert isinstance(ci, Row) and isinstance(aim, Row)
    interval, _ = bootstrap([ci.samples_ns, aim.samples_ns], lambda c, a: 100 * (1 - a / c))
    assert isinstance(interval, Interval)
    return Estimate(100 * (1 - aim.median_ns / ci.median_ns), interval)


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
            *[Column(size_text(s), unit="%") for s in SIZES],
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
        Section(
            f"{NAME}-45",
            "Reduction (Figures 4 and 5)",
            [
                line_figure(
                    f"{NAME}-reduction-figure",
                    "Reduction of the time by using tables",
                    "How much less time the table-based kernel takes, in percent, over the size, "
                    "for each implementation on this machine.",
                    "percent less time",
                    [
                        measured_series(f"{t}, here", ((s, c(s)) for s in SIZES))
                        for t, c in pairs.items()
                    ],
                    table,
                    y_scale="linear",
                )
            ],
        ),
    ]
    for family, figure, name in ((ci, "Figure 3", "AES-CI"), (aim, "Figure 6", "AES-AIM")):
        sections.append(_speedups(family, figure, name, gpu, openmp))
    sections.append(
        Section(
            f"{NAME}-agreement",
            AGREEMENT,
            [findings_table(NAME, _findings(ci, aim, pairs, openmp, gpu), evidence.device)],
        )
    )
    return sections


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
    series = [measured_series(f"{t}, here", ((s, c(s)) for s in SIZES)) for t, c in cells.items()]
    series += [
        predicted_series(f"{t}, predicted", [(s, c(s)) for s in SIZES])
        for t, c in cells.items()
        if t.startswith("MPI")
    ]
    return Section(
        f"{NAME}-{key}",
        f"Speedup of {name} ({figure})",
        [
            line_figure(
                f"{NAME}-{key}-figure",
                f"Speedup of {name} (as {figure})",
                f"Speedup of {name} against one thread over the size, for each implementation on "
                "this machine.",
                "speedup",
                series,
                table,
                level=1.0,
                level_name="serial",
            )
        ],
    )


def _findings(ci: Family, aim: Family, pairs, openmp: str, gpu: str) -> list[Finding]:
    found = []
    size = max((s for s in SIZES if isinstance(ci.serial(s), Row)), default=SIZES[-1])
    for title, cells in pairs.items():
        cell = cells(size)
        about = f"reduction by tables, {title}, {size_text(size)}"
        if title.startswith(gpu):
            value = value_of(cell)
            if value is None:
                reason = cell.reason if isinstance(cell, Missing) else "no value"
                here, verdict = f"– ({shorten(reason)})", "not measured"
            else:
                here, verdict = f"{significant(value, 3)} %", judge(56 <= value <= 62)
            found.append(Finding(about, "56 to 62 %", here, verdict, "median from 56 to 62 %"))
        else:
            found.append(compare_near(about, 99, cell, " %", 1))
    values = [v for cells in pairs.values() for s in SIZES if (v := value_of(cells(s))) is not None]
    if values:
        less = sum(v > 0 for v in values)
        found.append(
            Finding(
                "tables take less time",
                "in every case",
                f"in {less} of {len(values)} cases",
                judge(less == len(values)),
                "less in every case",
            )
        )
    rule = "the same one is faster"
    for family, about, paper, gpu_wins in (
        (ci, "AES-CI: which is faster, the GPU's kernel or OpenMP", "the GPU", True),
        (
            aim,
            "AES-AIM: which is faster, the GPU's kernel or MPI with most ranks",
            "MPI with 16 and 32 cores",
            False,
        ),
    ):
        a = value_of(ratio(family.serial(size), family.gpu(size)))
        if gpu_wins:
            other, b = openmp, value_of(ratio(family.serial(size), family.openmp(size)))
        else:
            ranks = family.rank_columns[-1]
            cell = family.mpi_speedup(ranks, size)
            b = cell.value if isinstance(cell, Predicted) else value_of(cell)
            other = family.mpi_title(ranks) + (
                " (predicted)" if isinstance(cell, Predicted) else ""
            )
        if a is None or b is None:
            found.append(Finding(about, paper, "not both were measured", "not measured", rule))
            continue
        verdict = "predicted" if "predicted" in other else judge((a > b) == gpu_wins)
        winner = "the GPU" if a > b else other
        here = f"{winner}: speedup {significant(max(a, b))} against {significant(min(a, b))}"
        found.append(Finding(about, paper, here, verdict, rule))
    return found
