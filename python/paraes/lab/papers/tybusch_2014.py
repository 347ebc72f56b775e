"""Tybusch and Cantarelli 2014: table-based AES on one and four threads and a GPU, by phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.papers.cells import (
    WHOLE,
    Rows,
    common,
    crossover_between,
    mapped,
    ratio,
    scaled,
    together,
)
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Findings, by_size
from paraes.lab.papers.data import Paper, PaperTable
from paraes.lab.papers.derived_table import Line, Share, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import Pair, pairs_figure
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import Row
from paraes.lab.runs import GPU, Run
from paraes.lab.scaling import efficiency
from paraes.lab.units import plural, significant

NAME = "tybusch-2014"
SIZES = [1 << 10, MIB, 10 * MIB, 100 * MIB, 1000 * MIB]
CPU, GPU_KERNEL = "ttable", "ttable-simple"
SMALL = [1 << 10, MIB]  # files that the paper calls small (section 6.2)
COPIES = ("host_to_device", "device_to_host")
CACHED = "files are read from the page cache, not from the disk"
NAMES = {"cpu1": "1 thread", "cpu4": "4 threads", "gpu": "GPU"}  # by the paper's columns


def plan(setting: Setting) -> list[Run]:
    """List the runs: `ttable` on one and four threads, in memory and file to file; `ttable-simple`
    on the GPU; `ttable` also with a thread for each core, and with twice as many."""
    runs = []
    for size in setting.sizes(SIZES):
        samples = setting.samples_of(size)
        threads = {1, 4, setting.cores, 2 * setting.cores} if size <= 100 * MIB else {1, 4}
        runs.append(
            Run("memory", ("cpu",), (CPU,), size, threads=tuple(sorted(threads)), samples=samples)
        )
        runs.append(Run("file", ("cpu",), (CPU,), size, threads=(1, 4), samples=samples))
        runs.append(Run("memory", (GPU,), (GPU_KERNEL,), size, samples=samples))
        runs.append(
            Run("transfer", (GPU,), (GPU_KERNEL,), size, rivals=("pinned-copy",), samples=samples)
        )
    return runs


def chapter(evidence: Evidence, findings: Findings) -> list[Section]:
    """Compare with Tables 2, 3 and 4."""
    paper = findings.paper
    gpu = evidence.device.title
    rows = _rows_of(evidence)
    names = NAMES | {"gpu": gpu}
    cores = evidence.setting.cores
    notes = [f"4 threads run on {cores} cores here."] if cores < 4 else []

    def section(
        number: int,
        key: str,
        title: str,
        figure: str,
        description: str,
        caption: str,
        labels: dict[str, str],
        ours: Mapping[str, Rows],
        notes: list[str],
        *more: Table,
    ) -> Section:
        table = paper.tables[key]
        pairs = [
            Pair(label.replace(gpu, "GPU"), label, table.column(column), ours[column])
            for column, label in labels.items()
        ]
        drawn = pairs_figure(
            (f"{NAME}-{key}-figure", f"{NAME}-{key}"),
            figure,
            description,
            f"{caption} ({table.where}; *: not significant)",
            "s",
            pairs,
            notes,
        )
        return Section(f"{NAME}-{number}", f"{title} (Table {number})", [drawn, *more])

    one, four, on_gpu = (rows.processing[key] for key in NAMES)
    speed = Table.of(
        f"{NAME}-speedup",
        "Speedup, processing only",
        SIZES,
        [
            (Column("size", "size"), int),
            (
                Column("4 threads against 1, paper", unit="×"),
                lambda s: _paper_ratio(paper, s, "cpu1", "cpu4"),
            ),
            (Column("4 threads against 1, here", unit="×"), lambda s: ratio(one[s], four[s])),
            (
                Column("GPU against 4 threads, paper", unit="×"),
                lambda s: _paper_ratio(paper, s, "cpu4", "gpu"),
            ),
            (
                Column(f"{gpu} against 4 threads, here", unit="×"),
                lambda s: ratio(four[s], on_gpu[s]),
            ),
        ],
        notes,
    )
    cached = f"{CACHED.capitalize()}."
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
        section(
            2,
            "processing",
            "Processing",
            "Processing only",
            "Seconds of processing over the size: one thread, four threads, GPU; the paper's and "
            "this machine's.",
            "Processing only",
            names,
            rows.processing,
            notes,
            speed,
        ),
        section(
            3,
            "transfer",
            "Loading and transfer",
            "Loading and transfer",
            "Seconds of loading and of copies over the size, the paper's and this machine's.",
            "Loading from a file, and copies to the GPU and back",
            {"load": "loading", "transfer": "transfers"},
            {"load": rows.load, "transfer": rows.transfer},
            [cached],
        ),
        section(
            4,
            "total",
            "Total",
            "Total",
            "Total seconds over the size: one thread, four threads, GPU; the paper's and this "
            "machine's.",
            "Total: the sum of the measured phases",
            names,
            rows.total,
            [
                *notes,
                "As in the paper, the total is loading, processing and transfers, without writing.",
                cached,
            ],
        ),
        _derived(paper, evidence, rows),
    ]


@dataclass(frozen=True)
class _Rows:
    """Rows by size, for each column of the paper where there are several.

    `load` is reading the file, `transfer` both copies. `threads` and `kernel` are not in the
    paper's tables: the processing by a thread for each core and by twice as many, and the kernel
    between two copies.
    """

    processing: Mapping[str, Rows]
    load: Rows
    transfer: Rows
    kernel: Rows
    total: Mapping[str, Rows]
    threads: Mapping[int, Rows]


def _rows_of(evidence: Evidence) -> _Rows:
    cores = evidence.setting.cores

    threads = {
        n: {s: evidence.cpu(CPU, s, n, "threads") for s in SIZES} for n in (1, 4, cores, 2 * cores)
    }
    files = {s: evidence.cpu(CPU, s, scope="file") for s in SIZES}
    whole = {s: evidence.gpu(GPU_KERNEL, s, "transfer") for s in SIZES}
    processing = {
        "cpu1": threads[1],
        "cpu4": threads[4],
        "gpu": {s: evidence.gpu(GPU_KERNEL, s) for s in SIZES},
    }

    def total(key: str, size: int) -> Row | Missing:
        copied = [(whole[size], COPIES)] if key == "gpu" else []
        return together((files[size], ("read",)), *copied, (processing[key][size], (WHOLE,)))

    return _Rows(
        processing,
        {s: together((files[s], ("read",))) for s in SIZES},
        {s: together((whole[s], COPIES)) for s in SIZES},
        {s: together((whole[s], ("kernel",))) for s in SIZES},
        {key: {s: total(key, s) for s in SIZES} for key in NAMES},
        threads,
    )


def _paper_ratio(paper: Paper, size: int, over: str, under: str) -> Cell:
    table = paper.tables["processing"]
    a, b = table.at(size, over).value, table.at(size, under).value
    if a is None or b is None:
        return Missing("the paper has a * for one of the two times")
    return a / b


def _paper_overhead(paper: Paper, size: int) -> Cell:
    """Return the paper's loading and copies over the processing of the GPU."""
    transfer = paper.tables["transfer"]
    load, copies = (transfer.at(size, name).value for name in ("load", "transfer"))
    kernel = paper.tables["processing"].at(size, "gpu").value
    if load is None or copies is None or kernel is None:
        return Missing("the paper has a * for one of the times")
    return (load + copies) / kernel


def _derived(paper: Paper, evidence: Evidence, rows: _Rows) -> Section:
    processing, transfer, total = (paper.tables[t] for t in ("processing", "transfer", "total"))
    gpu = evidence.device.beside_theirs
    cores = evidence.setting.cores

    def share(name: str) -> dict[int, float | None]:
        """Return the paper's percentage of the GPU's total, where all parts have times."""
        return {
            s: 100 * transfer.number(s, name) / total.number(s, "gpu")
            for s in SIZES
            if not isinstance(_paper_overhead(paper, s), Missing)
        }

    def here(part: Rows, size: int) -> Cell:
        return scaled(ratio(part[size], rows.total["gpu"][size]), 100)

    titles = {
        "cpu1": "1 thread",
        "cpu4": f"4 threads on {plural(cores, 'core')} here" if cores < 4 else "4 threads",
        "gpu": f"{gpu}, processing",
    }
    lines = [
        Line(title, processing.seconds(key), rows.processing[key].__getitem__, workers, workers)
        for (key, title), workers in zip(titles.items(), (1, 4, 1), strict=True)
    ]
    lines.append(Line("loading", transfer.seconds("load"), rows.load.__getitem__))
    return derived_section(
        NAME,
        SIZES,
        lines,
        lines[0],
        [
            Share(f"{gpu}, total", share("transfer"), lambda s: here(rows.transfer, s)),
            Share(f"{gpu}, total", share("load"), lambda s: here(rows.load, s), "loading"),
        ],
    )


def _claimed(table: PaperTable, over: str, under: str, limit: float = 1.0) -> list[int]:
    """Return the sizes at which the paper's own ratio of times is above the limit."""
    times = ((s, table.at(s, over).value, table.at(s, under).value) for s in SIZES)
    return [s for s, a, b in times if a is not None and b is not None and a / b > limit]


def _judge_processing(findings: Findings, rows: _Rows) -> None:
    paper, cores = findings.paper, findings.evidence.setting.cores
    table = paper.tables["processing"]
    one, four, gpu = (rows.processing[key] for key in NAMES)

    def theirs(size: int, over: str, under: str) -> float:
        return table.number(size, over) / table.number(size, under)

    def of_four(over: Row | Missing, under: Row | Missing) -> Cell:
        return mapped(ratio(over, under), lambda speedup: efficiency(speedup, 4))

    findings.add_at_largest(
        "four-threads",
        _claimed(table, "cpu1", "cpu4"),
        one,
        four,
        lambda size: f"{significant(theirs(size, 'cpu1', 'cpu4'))}×",
    )
    # At 10 MB the paper's own efficiency is 0.51.
    findings.add_at_largest(
        "scales",
        _claimed(table, "cpu1", "cpu4", 3),
        one,
        four,
        lambda size: significant(theirs(size, "cpu1", "cpu4") / 4),
        of_four,
    )
    note = f"{plural(cores, 'thread')} and {2 * cores}"
    by_threads = rows.threads
    findings.add_at_largest(
        "more-threads", SIZES, by_threads[cores], by_threads[2 * cores], note=note
    )
    findings.add_at_largest(
        "gpu-processing",
        _claimed(table, "cpu4", "gpu"),
        four,
        gpu,
        lambda size: f"{significant(theirs(size, 'cpu4', 'gpu'))}×",
    )
    copies = by_size(SMALL, lambda size: ratio(rows.transfer[size], rows.kernel[size]))
    findings.add("copies-small", copies)
    findings.add("copies-1mb", ratio(rows.transfer[MIB], rows.transfer[1 << 10]))


def _judge_totals(findings: Findings, rows: _Rows) -> None:
    paper = findings.paper
    whole = paper.tables["total"]
    one, four, gpu = (rows.total[key] for key in NAMES)

    # At 1 KB the paper has a * for both.
    there = [s for s in _claimed(whole, "cpu1", "cpu4") if s in common(one, four)] or [MIB]
    findings.add("four-threads-total", by_size(there, lambda size: ratio(one[size], four[size])))
    findings.add("crossover-total", crossover_between(four, gpu))
    findings.add_at_largest(
        "gpu-total",
        _claimed(whole, "cpu4", "gpu"),
        four,
        gpu,
        lambda size: f"{whole.at(size, 'cpu4').text} s / {whole.at(size, 'gpu').text} s",
    )

    load = paper.tables["transfer"].column("load")
    processing = paper.tables["processing"].column("cpu4")
    # At 10 MB the paper's two times are equal.
    sizes = [s for s in SIZES if (load[s].value or 0) > (processing[s].value or float("inf"))]
    findings.add_at_largest(
        "loading",
        sizes,
        rows.load,
        rows.processing["cpu4"],
        lambda size: f"{load[size].text} s / {processing[size].text} s",
    )
    parts = {s: together((rows.load[s], (WHOLE,)), (rows.transfer[s], (WHOLE,))) for s in SIZES}
    findings.add_at_largest(
        "overhead",
        [s for s in SIZES if not isinstance(_paper_overhead(paper, s), Missing)],
        parts,
        rows.processing["gpu"],
        lambda size: f"{significant(_paper_overhead(paper, size))}×",
    )
