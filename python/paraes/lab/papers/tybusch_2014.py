"""Tybusch and Cantarelli 2014: table-based AES on one and four threads and a GPU, by phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.papers.cells import (
    COPIES,
    WHOLE,
    Rows,
    common,
    crossover_between,
    ratio,
    scaled,
    together,
)
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Findings, by_size
from paraes.lab.papers.data import Paper
from paraes.lab.papers.derived_table import Line, Share, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import Pair, pairs_figure
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import Row
from paraes.lab.runs import GPU, Run
from paraes.lab.units import plural, significant

NAME = "tybusch-2014"
SIZES = [1 << 10, MIB, 10 * MIB, 100 * MIB, 1000 * MIB]
CPU, GPU_KERNEL = "ttable", "ttable-simple"
SMALL = [1 << 10, MIB]  # files that the paper calls small (section 6.2)
CACHED = "files are read from the page cache, not from the disk"
NAMES = {  # of the columns of the paper's tables
    "cpu1": "1 thread",
    "cpu4": "4 threads",
    "gpu": "GPU",
    "load": "loading",
    "transfer": "transfers",
}


def plan(setting: Setting) -> list[Run]:
    """List the runs: `ttable` on one and four threads, in memory and file to file; `ttable-simple`
    on the GPU; `ttable` also with a thread for each core, and with twice as many."""
    runs = []
    for size in setting.sizes(SIZES):
        threads = {1, 4, setting.cores, 2 * setting.cores} if size <= 100 * MIB else {1, 4}
        on_cpu = Run("memory", ("cpu",), (CPU,), size, samples=setting.samples_of(size))
        on_gpu = replace(on_cpu, devices=(GPU,), kernels=(GPU_KERNEL,))
        runs += [
            replace(on_cpu, threads=tuple(sorted(threads))),
            replace(on_cpu, scope="file", threads=(1, 4)),
            on_gpu,
            replace(on_gpu, scope="transfer", rivals=("pinned-copy",)),
        ]
    return runs


# The paper's tables: number, name, titles of the section and of the figure, description, caption.
TABLES = (
    (
        2,
        "processing",
        "Processing",
        "Processing only",
        "Seconds of processing over the size: one thread, four threads, GPU; the paper's and this "
        "machine's.",
        "Processing only",
    ),
    (
        3,
        "transfer",
        "Loading and transfer",
        "Loading and transfer",
        "Seconds of loading and of copies over the size, the paper's and this machine's.",
        "Loading from a file, and copies to the GPU and back",
    ),
    (
        4,
        "total",
        "Total",
        "Total",
        "Total seconds over the size: one thread, four threads, GPU; the paper's and this "
        "machine's.",
        "Total: the sum of the measured phases",
    ),
)


def chapter(evidence: Evidence, findings: Findings) -> list[Section]:
    """Compare with Tables 2, 3 and 4."""
    paper = findings.paper
    rows = _rows_of(evidence)
    ours = NAMES | {"gpu": evidence.device.title}
    cores = evidence.setting.cores
    few = [f"4 threads run on {cores} cores here."] if cores < 4 else []
    cached = f"{CACHED.capitalize()}."
    sums = "As in the paper, the total is loading, processing and transfers, without writing."
    notes = {"processing": few, "transfer": [cached], "total": [*few, sums, cached]}
    sections = []
    for number, key, title, figure, description, caption in TABLES:
        table = paper.tables[key]
        drawn = pairs_figure(
            (f"{NAME}-{key}-figure", f"{NAME}-{key}"),
            figure,
            description,
            f"{caption} ({table.where}; *: not significant)",
            "s",
            [
                Pair(NAMES[column], ours[column], table.column(column), of)
                for column, of in rows.tables[key].items()
            ],
            notes[key],
        )
        more = [_speedups(paper, rows, ours["gpu"], few)] if key == "processing" else []
        sections.append(Section(f"{NAME}-{number}", f"{title} (Table {number})", [drawn, *more]))
    _judge_processing(findings, rows)
    _judge_totals(findings, rows)
    return [
        introduction(
            findings,
            "kernel ttable on one and four threads, ttable-simple on the GPU (one block per "
            "thread, with a grid chosen for the GPU; the paper used 2048 threads); AES-128 ECB "
            "encryption. Loading is the reading phase of scope file, from a folder in memory "
            f"unless --dir names another. This machine has {cores} cores.",
        ),
        *sections,
        _derived(paper, evidence, rows),
    ]


@dataclass(frozen=True)
class _Rows:
    """Rows by size: those of the paper's tables by their columns, and others.

    These are the kernel between two copies, and the processing by a thread for each core and by
    twice as many.
    """

    tables: Mapping[str, Mapping[str, Rows]]
    kernel: Rows
    threads: Mapping[int, Rows]


def _rows_of(evidence: Evidence) -> _Rows:
    cores = evidence.setting.cores
    threads = {
        n: {s: evidence.cpu(CPU, s, n, "threads") for s in SIZES} for n in (1, 4, cores, 2 * cores)
    }
    files = {s: evidence.cpu(CPU, s, scope="file") for s in SIZES}
    whole = {s: evidence.gpu(GPU_KERNEL, s, "transfer") for s in SIZES}
    on_gpu = {s: evidence.gpu(GPU_KERNEL, s) for s in SIZES}
    processing = {"cpu1": threads[1], "cpu4": threads[4], "gpu": on_gpu}

    def total(key: str, size: int) -> Row | Missing:
        copied = [(whole[size], COPIES)] if key == "gpu" else []
        return together((files[size], ("read",)), *copied, (processing[key][size], (WHOLE,)))

    def phases(of: Rows, *names: str) -> Rows:
        return {s: together((of[s], names)) for s in SIZES}

    tables = {
        "processing": processing,
        "transfer": {"load": phases(files, "read"), "transfer": phases(whole, *COPIES)},
        "total": {key: {s: total(key, s) for s in SIZES} for key in processing},
    }
    return _Rows(tables, phases(whole, "kernel"), threads)


def _speedups(paper: Paper, rows: _Rows, gpu: str, notes: list[str]) -> Table:
    columns: list[tuple[Column, Callable[[int], Cell]]] = [(Column("size", "size"), int)]
    for theirs, ours, over, under in (
        ("4 threads against 1", "4 threads against 1", "cpu1", "cpu4"),
        ("GPU against 4 threads", f"{gpu} against 4 threads", "cpu4", "gpu"),
    ):
        slow, fast = (rows.tables["processing"][key] for key in (over, under))
        columns += [
            (
                Column(f"{theirs}, paper", unit="×"),
                partial(_paper_ratio, paper, over=over, under=under),
            ),
            (Column(f"{ours}, here", unit="×"), lambda s, a=slow, b=fast: ratio(a[s], b[s])),
        ]
    return Table.of(f"{NAME}-speedup", "Speedup, processing only", SIZES, columns, notes)


def _paper_ratio(paper: Paper, size: int, over: str, under: str) -> Cell:
    ratio = paper.tables["processing"].ratio(size, over, under)
    return Missing("the paper has a * for one of the two times") if ratio is None else ratio


def _paper_overhead(paper: Paper, size: int) -> float | None:
    """Return the paper's loading and copies over the processing of the GPU; None for a *."""
    transfer, processing = paper.tables["transfer"], paper.tables["processing"]
    load, copies = (transfer.at(size, name).value for name in ("load", "transfer"))
    kernel = processing.at(size, "gpu").value
    return None if None in (load, copies, kernel) else (load + copies) / kernel


def _derived(paper: Paper, evidence: Evidence, rows: _Rows) -> Section:
    processing, transfer, total = (paper.tables[t] for t in ("processing", "transfer", "total"))
    gpu = evidence.device.beside_theirs
    cores = evidence.setting.cores

    def share(name: str) -> dict[int, float | None]:
        """Return the paper's percentage of the GPU's total, where all parts have times."""
        return {
            s: 100 * transfer.number(s, name) / total.number(s, "gpu")
            for s in SIZES
            if _paper_overhead(paper, s) is not None
        }

    def here(part: Rows, size: int) -> Cell:
        return scaled(ratio(part[size], rows.tables["total"]["gpu"][size]), 100)

    parts = rows.tables["transfer"]

    titles = {
        "cpu1": "1 thread",
        "cpu4": f"4 threads on {plural(cores, 'core')} here" if cores < 4 else "4 threads",
        "gpu": f"{gpu}, processing",
    }
    lines = [
        Line(
            title,
            processing.seconds(key),
            rows.tables["processing"][key].__getitem__,
            workers,
            workers,
        )
        for (key, title), workers in zip(titles.items(), (1, 4, 1), strict=True)
    ]
    lines.append(Line("loading", transfer.seconds("load"), parts["load"].__getitem__))
    return derived_section(
        NAME,
        SIZES,
        lines,
        lines[0],
        [
            Share(f"{gpu}, total", share(key), partial(here, parts[key]), part)
            for key, part in (("transfer", "transfers"), ("load", "loading"))
        ],
    )


def _judge_processing(findings: Findings, rows: _Rows) -> None:
    cores = findings.evidence.setting.cores
    table = findings.paper.tables["processing"]
    processing, transfer = rows.tables["processing"], rows.tables["transfer"]["transfer"]
    for claim, over, under in (("four-threads", "cpu1", "cpu4"), ("gpu-processing", "cpu4", "gpu")):
        findings.add_at_largest(
            claim,
            table.above(over, under),
            processing[over],
            processing[under],
            lambda s, of=(over, under): f"{significant(table.ratio(s, *of))}×",
        )
    # At 10 MB the paper's own efficiency is 0.51.
    findings.add_at_largest(
        "scales",
        table.above("cpu1", "cpu4", 3),
        processing["cpu1"],
        processing["cpu4"],
        lambda size: significant(table.ratio(size, "cpu1", "cpu4") / 4),
        lambda over, under: scaled(ratio(over, under), 1 / 4),
    )
    note = f"{plural(cores, 'thread')} and {2 * cores}"
    same, twice = rows.threads[cores], rows.threads[2 * cores]
    findings.add_at_largest("more-threads", SIZES, same, twice, note=note)
    copies = by_size(SMALL, lambda size: ratio(transfer[size], rows.kernel[size]))
    findings.add("copies-small", copies)
    findings.add("copies-1mb", ratio(transfer[MIB], transfer[1 << 10]))


def _judge_totals(findings: Findings, rows: _Rows) -> None:
    paper = findings.paper
    whole = paper.tables["total"]
    one, four, gpu = rows.tables["total"].values()
    processing, transfer = rows.tables["processing"], rows.tables["transfer"]

    # At 1 KB the paper has a * for both.
    there = [s for s in whole.above("cpu1", "cpu4") if s in common(one, four)] or [MIB]
    findings.add("four-threads-total", by_size(there, lambda size: ratio(one[size], four[size])))
    findings.add("crossover-total", crossover_between(four, gpu))
    findings.add_at_largest(
        "gpu-total",
        whole.above("cpu4", "gpu"),
        four,
        gpu,
        lambda size: f"{whole.at(size, 'cpu4').text} s / {whole.at(size, 'gpu').text} s",
    )

    load = paper.tables["transfer"].column("load")
    kernel = paper.tables["processing"].column("cpu4")
    # At 10 MB the paper's two times are equal.
    sizes = [s for s in SIZES if (load[s].value or 0) > (kernel[s].value or float("inf"))]
    findings.add_at_largest(
        "loading",
        sizes,
        transfer["load"],
        processing["cpu4"],
        lambda size: f"{load[size].text} s / {kernel[size].text} s",
    )
    parts = {s: together(*[(of[s], (WHOLE,)) for of in transfer.values()]) for s in SIZES}
    findings.add_at_largest(
        "overhead",
        [s for s in SIZES if _paper_overhead(paper, s) is not None],
        parts,
        processing["gpu"],
        lambda size: f"{significant(_paper_overhead(paper, size))}×",
    )
