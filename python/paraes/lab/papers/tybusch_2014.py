"""Tybusch and Cantarelli 2014: table-based AES on one and four threads and a GPU, by phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.papers.cells import (
    WHOLE,
    mapped,
    ratio,
    scaled,
    seconds,
    together,
)
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings
from paraes.lab.papers.data import Paper, PaperTable, load_paper
from paraes.lab.papers.derived_table import Line, Share, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import (
    Pair,
    figure_section,
    line_figure,
    pairs_series,
    pairs_table,
)
from paraes.lab.papers.series import Rows, at_largest, common, crossover_between, gpu_name
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import Row
from paraes.lab.runs import GPU, Run
from paraes.lab.scaling import efficiency
from paraes.lab.units import plural, significant, size_text

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


def chapter(evidence: Evidence) -> list[Section]:
    """Compare with Tables 2, 3 and 4."""
    paper = load_paper(NAME)
    gpu = evidence.device.title
    rows = _rows_of(evidence)
    processing = {key: _seconds(rows.processing[key]) for key in NAMES}
    total = {key: _seconds(rows.total[key]) for key in NAMES}
    part_cells = {"load": _seconds(rows.load), "transfer": _seconds(rows.transfer)}
    names = NAMES | {"gpu": gpu}
    cores = evidence.setting.cores
    notes = [f"4 threads run on {cores} cores here."] if cores < 4 else []

    def pairs(
        table_id: str, ours: dict[str, dict[int, Cell]], labels: dict[str, str]
    ) -> list[Pair]:
        columns = paper.tables[table_id].column
        return [
            Pair(label.replace(gpu, "GPU"), label, columns(key), ours[key])
            for key, label in labels.items()
        ]

    def caption(text: str, table_id: str) -> str:
        return f"{text} ({paper.tables[table_id].where}; *: not significant)"

    processed = pairs("processing", processing, names)
    parts = pairs("transfer", part_cells, {"load": "loading", "transfer": "transfers"})
    whole = pairs("total", total, names)
    table2 = pairs_table(
        f"{NAME}-processing", caption("Processing only", "processing"), "s", processed, notes
    )
    table3 = pairs_table(
        f"{NAME}-transfer",
        caption("Loading from a file, and copies to the GPU and back", "transfer"),
        "s",
        parts,
        [f"{CACHED.capitalize()}."],
    )
    table4 = pairs_table(
        f"{NAME}-total",
        caption("Total: the sum of the measured phases", "total"),
        "s",
        whole,
        [
            *notes,
            "As in the paper, the total is loading, processing and transfers, without writing.",
            f"{CACHED.capitalize()}.",
        ],
    )
    speed = Table(
        f"{NAME}-speedup",
        "Speedup, processing only",
        [
            Column("size", "size"),
            Column("4 threads against 1, paper", unit="×"),
            Column("4 threads against 1, here", unit="×"),
            Column("GPU against 4 threads, paper", unit="×"),
            Column(f"{gpu} against 4 threads, here", unit="×"),
        ],
        [
            [
                s,
                _paper_ratio(paper, s, "cpu1", "cpu4"),
                ratio(rows.processing["cpu1"][s], rows.processing["cpu4"][s]),
                _paper_ratio(paper, s, "cpu4", "gpu"),
                ratio(rows.processing["cpu4"][s], rows.processing["gpu"][s]),
            ]
            for s in SIZES
        ],
        notes,
    )
    sections = [
        introduction(
            paper,
            evidence,
            "kernel ttable on one and four threads, ttable-simple on the GPU (one block per "
            "thread, with a grid chosen for the GPU; the paper used 2048 threads); AES-128 ECB "
            "encryption. Loading is the reading phase of scope file, from a folder in memory "
            f"unless --dir names another. This machine has {cores} cores.",
        ),
        Section(
            f"{NAME}-2",
            "Processing (Table 2)",
            [
                line_figure(
                    f"{NAME}-processing-figure",
                    "Processing only",
                    "Seconds of processing over the size: one thread, four threads, GPU; the "
                    "paper's and this machine's.",
                    "seconds",
                    pairs_series(processed),
                    table2,
                ),
                speed,
            ],
        ),
        figure_section(
            (f"{NAME}-3", "Loading and transfer (Table 3)"),
            f"{NAME}-transfer-figure",
            "Loading and transfer",
            "Seconds of loading and of copies over the size, the paper's and this machine's.",
            "seconds",
            pairs_series(parts),
            table3,
        ),
        figure_section(
            (f"{NAME}-4", "Total (Table 4)"),
            f"{NAME}-total-figure",
            "Total",
            "Total seconds over the size: one thread, four threads, GPU; the paper's and this "
            "machine's.",
            "seconds",
            pairs_series(whole),
            table4,
        ),
    ]
    sections.append(_derived(paper, evidence, rows))
    findings = Findings(paper, evidence)
    _judge_processing(findings, rows)
    _judge_totals(findings, rows)
    sections.append(findings.section())
    return sections


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

    def cpu(size: int, threads: int) -> Row | Missing:
        return evidence.need(
            device="cpu",
            kernel=CPU,
            scope="memory",
            bytes=size,
            threads=threads,
            executor="threads" if threads > 1 else None,
        )

    def on_gpu(size: int, scope: str) -> Row | Missing:
        return evidence.need(
            device=GPU, kernel=GPU_KERNEL, scope=scope, bytes=size, threads=0, executor=None
        )

    def file(size: int) -> Row | Missing:
        return evidence.need(
            device="cpu", kernel=CPU, scope="file", bytes=size, threads=1, executor=None
        )

    threads = {n: {s: cpu(s, n) for s in SIZES} for n in (1, 4, cores, 2 * cores)}
    files = {s: file(s) for s in SIZES}
    whole = {s: on_gpu(s, "transfer") for s in SIZES}
    processing = {
        "cpu1": threads[1],
        "cpu4": threads[4],
        "gpu": {s: on_gpu(s, "memory") for s in SIZES},
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


def _seconds(rows: Rows) -> dict[int, Cell]:
    return {size: seconds(row) for size, row in rows.items()}


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
    gpu = gpu_name(evidence.device)
    cores = evidence.setting.cores

    def theirs(table: PaperTable, name: str) -> dict[int, float | None]:
        return {size: printed.seconds for size, printed in table.column(name).items()}

    def share(name: str) -> dict[int, float | None]:
        """Return the paper's percentage of the GPU's total, where all parts have times."""
        return {
            s: 100 * transfer.number(s, name) / total.number(s, "gpu")
            for s in SIZES
            if not isinstance(_paper_overhead(paper, s), Missing)
        }

    def here(part: Rows, size: int) -> Cell:
        return scaled(ratio(part[size], rows.total["gpu"][size]), 100)

    one = Line("1 thread", theirs(processing, "cpu1"), rows.processing["cpu1"].__getitem__)
    four = Line(
        f"4 threads on {plural(cores, 'core')} here" if cores < 4 else "4 threads",
        theirs(processing, "cpu4"),
        rows.processing["cpu4"].__getitem__,
        workers=4,
        workers_here=4,
    )
    return derived_section(
        NAME,
        SIZES,
        [
            one,
            four,
            Line(
                f"{gpu}, processing", theirs(processing, "gpu"), rows.processing["gpu"].__getitem__
            ),
            Line("loading", theirs(transfer, "load"), rows.load.__getitem__),
        ],
        one,
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

    def theirs(size: int | None, over: str, under: str, divisor: int = 1) -> str | None:
        if size is None:
            return None
        return significant(table.number(size, over) / table.number(size, under) / divisor)

    size, cell = at_largest(_claimed(table, "cpu1", "cpu4"), one, four)
    text = theirs(size, "cpu1", "cpu4")
    findings.add("four-threads", cell, size, text and f"{text}×")
    # At 10 MB the paper's own efficiency is 0.51.
    size, cell = at_largest(_claimed(table, "cpu1", "cpu4", 3), one, four)
    findings.add(
        "scales",
        mapped(cell, lambda speedup: efficiency(speedup, 4)),
        size,
        theirs(size, "cpu1", "cpu4", 4),
    )
    size, cell = at_largest(SIZES, rows.threads[cores], rows.threads[2 * cores])
    note = f"{plural(cores, 'thread')} and {2 * cores}"
    findings.add("more-threads", cell, size, note=note)
    size, cell = at_largest(_claimed(table, "cpu4", "gpu"), four, gpu)
    text = theirs(size, "cpu4", "gpu")
    findings.add("gpu-processing", cell, size, text and f"{text}×")
    findings.add(
        "copies-small", [Case(size_text(s), ratio(rows.transfer[s], rows.kernel[s])) for s in SMALL]
    )
    findings.add("copies-1mb", ratio(rows.transfer[MIB], rows.transfer[1 << 10]))


def _judge_totals(findings: Findings, rows: _Rows) -> None:
    paper = findings.paper
    whole = paper.tables["total"]
    one, four, gpu = (rows.total[key] for key in NAMES)

    # At 1 KB the paper has a * for both.
    there = [s for s in _claimed(whole, "cpu1", "cpu4") if s in common(one, four)] or [MIB]
    cases = [Case(size_text(s), ratio(one[s], four[s])) for s in there]
    findings.add("four-threads-total", cases)
    findings.add("crossover-total", crossover_between(four, gpu))
    size, cell = at_largest(_claimed(whole, "cpu4", "gpu"), four, gpu)
    theirs = (
        None
        if size is None
        else f"{whole.at(size, 'cpu4').text} s / {whole.at(size, 'gpu').text} s"
    )
    findings.add("gpu-total", cell, size, theirs)

    load = paper.tables["transfer"].column("load")
    processing = paper.tables["processing"].column("cpu4")
    # At 10 MB the paper's two times are equal.
    sizes = [s for s in SIZES if (load[s].value or 0) > (processing[s].value or float("inf"))]
    size, cell = at_largest(sizes, rows.load, rows.processing["cpu4"])
    theirs = None if size is None else f"{load[size].text} s / {processing[size].text} s"
    findings.add("loading", cell, size, theirs)

    parts = _overhead(rows)
    known = [s for s in SIZES if not isinstance(_paper_overhead(paper, s), Missing)]
    size, cell = at_largest(known, parts, rows.processing["gpu"])
    theirs = None if size is None else f"{significant(_paper_overhead(paper, size))}×"
    findings.add("overhead", cell, size, theirs)


def _overhead(rows: _Rows) -> Rows:
    """Return loading and copies together."""
    return {s: together((rows.load[s], (WHOLE,)), (rows.transfer[s], (WHOLE,))) for s in SIZES}
