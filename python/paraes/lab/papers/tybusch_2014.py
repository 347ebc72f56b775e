"""Tybusch and Cantarelli 2014: table-based AES on one and four threads and a GPU, by phase."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paraes.lab.bench import Row
from paraes.lab.crossover import interpolate
from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.measure import GPU, Run
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
    paper_crossover,
)
from paraes.lab.papers.data import Paper, load_paper
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import line_figure, measured_series, paper_series
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.units import significant, size_text

NAME = "tybusch-2014"
SIZES = [1 << 10, MIB, 10 * MIB, 100 * MIB, 1000 * MIB]
CPU, GPU_KERNEL = "ttable", "ttable-simple"
NAMES = {"cpu1": "1 thread", "cpu4": "4 threads", "gpu": "GPU"}  # by the paper's columns


def plan(setting: Setting) -> list[Run]:
    """List the runs: `ttable` on one and four threads, in memory and file to file; `ttable-simple`
    on the GPU."""
    runs = []
    for size in setting.sizes(SIZES):
        samples = setting.samples_of(size)
        runs.append(Run("memory", ("cpu",), (CPU,), size, threads=(1, 4), samples=samples))
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
    base = {"mode": "ecb", "key_bits": 128, "direction": "encrypt"}

    def cpu(size: int, threads: int, scope: str = "memory") -> Row | Missing:
        return evidence.need(
            device="cpu", kernel=CPU, scope=scope, bytes=size, threads=threads, **base
        )

    def on_gpu(size: int, scope: str) -> Row | Missing:
        return evidence.need(device=GPU, kernel=GPU_KERNEL, scope=scope, bytes=size, **base)

    processing: dict[str, dict[int, Cell]] = {
        "cpu1": {s: seconds(cpu(s, 1)) for s in SIZES},
        "cpu4": {s: seconds(cpu(s, 4)) for s in SIZES},
        "gpu": {s: seconds(on_gpu(s, "memory")) for s in SIZES},
    }
    load = {s: phase(cpu(s, 1, "file"), "read") for s in SIZES}
    transfer = {s: phase(on_gpu(s, "transfer"), "host_to_device", "device_to_host") for s in SIZES}
    total = {
        "cpu1": {s: add(load[s], processing["cpu1"][s]) for s in SIZES},
        "cpu4": {s: add(load[s], processing["cpu4"][s]) for s in SIZES},
        "gpu": {s: add(load[s], transfer[s], processing["gpu"][s]) for s in SIZES},
    }
    names = NAMES | {"gpu": gpu}
    cores = evidence.setting.cores
    notes = [f"4 threads run on {cores} cores here."] if cores < 4 else []

    def beside(
        name: str,
        caption: str,
        table_id: str,
        ours: dict[str, dict[int, Cell]],
        labels: dict[str, str],
    ) -> Table:
        printed = paper.tables[table_id]
        columns = [Column("size", "size")]
        for label in labels.values():
            theirs = label.replace(gpu, "GPU")
            columns += [
                Column(f"{theirs}, paper", "printed", "s"),
                Column(f"{label}, here", unit="s"),
            ]
        rows = []
        for s in SIZES:
            row: list[Cell] = [s]
            for key in labels:
                row += [printed_text(printed.at(s, key)), ours[key][s]]
            rows.append(row)
        return Table(name, f"{caption} ({printed.where}; *: not significant)", columns, rows, notes)

    def figure(
        name: str,
        title: str,
        description: str,
        table_id: str,
        ours: dict[str, dict[int, Cell]],
        labels: dict[str, str],
        table: Table,
    ):
        series = [
            measured_series(f"{label}, here", ours[key].items()) for key, label in labels.items()
        ]
        series += [
            paper_series(f"{label.replace(gpu, 'GPU')}, paper", paper.tables[table_id].column(key))
            for key, label in labels.items()
        ]
        return line_figure(name, title, description, "seconds", series, table)

    parts = {"load": "loading", "transfer": "transfers"}
    part_cells = {"load": load, "transfer": transfer}
    table2 = beside(
        f"{NAME}-processing", "Processing only, in seconds", "processing", processing, names
    )
    table3 = beside(
        f"{NAME}-transfer",
        "Loading from a file, and copies to the GPU and back, in seconds",
        "transfer",
        part_cells,
        parts,
    )
    table4 = beside(
        f"{NAME}-total",
        "Total in seconds: the sum of the measured phases",
        "total",
        total,
        names,
    )
    table4.notes = [
        *notes,
        "As in the paper, the total is loading, processing and transfers, without writing.",
    ]
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
                ratio(cpu(s, 1), cpu(s, 4)),
                _paper_ratio(paper, s, "cpu4", "gpu"),
                ratio(cpu(s, 4), on_gpu(s, "memory")),
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
                figure(
                    f"{NAME}-processing-figure",
                    "Processing only",
                    "Seconds of processing over the size: one thread, four threads, GPU; the "
                    "paper's and this machine's.",
                    "processing",
                    processing,
                    names,
                    table2,
                ),
                speed,
            ],
        ),
        Section(
            f"{NAME}-3",
            "Loading and transfer (Table 3)",
            [
                figure(
                    f"{NAME}-transfer-figure",
                    "Loading and transfer",
                    "Seconds of loading and of copies over the size, the paper's and this "
                    "machine's.",
                    "transfer",
                    part_cells,
                    parts,
                    table3,
                )
            ],
        ),
        Section(
            f"{NAME}-4",
            "Total (Table 4)",
            [
                figure(
                    f"{NAME}-total-figure",
                    "Total",
                    "Total seconds over the size: one thread, four threads, GPU; the paper's and "
                    "this machine's.",
                    "total",
                    total,
                    names,
                    table4,
                )
            ],
        ),
    ]
    measured = _Measured(evidence, paper, processing, load, transfer, total)
    findings = [
        *measured.orders(),
        measured.threads(ratio(cpu(measured.largest, 1), cpu(measured.largest, 4))),
        measured.gpu(ratio(cpu(measured.largest, 4), on_gpu(measured.largest, "memory"))),
        measured.crossover(),
        measured.loading(),
        measured.overhead(),
    ]
    sections.append(
        Section(f"{NAME}-agreement", AGREEMENT, [findings_table(NAME, findings, evidence.device)])
    )
    return sections


def _paper_ratio(paper: Paper, size: int, over: str, under: str) -> Cell:
    table = paper.tables["processing"]
    a, b = table.at(size, over).value, table.at(size, under).value
    if a is None or b is None:
        return Missing("the paper has a * for one of the two times")
    return a / b


@dataclass
class _Measured:
    """Cells of this machine by size, and their comparison with the paper's claims."""

    evidence: Evidence
    paper: Paper
    processing: dict[str, dict[int, Cell]]
    load: dict[int, Cell]
    transfer: dict[int, Cell]
    total: dict[str, dict[int, Cell]]

    @property
    def largest(self) -> int:
        """The largest size that was measured with four threads."""
        measured = [s for s in SIZES if value_of(self.processing["cpu4"][s]) is not None]
        return max(measured, default=SIZES[-1])

    @property
    def printed_size(self) -> int:
        """The paper's size to compare the largest with, at least 10 MB: it has a * for smaller."""
        return max(self.largest, 10 * MIB)

    def _sizes(self) -> str:
        if self.largest == self.printed_size:
            return size_text(self.largest)
        return f"{size_text(self.largest)} (the paper: {size_text(self.printed_size)})"

    def orders(self) -> list[Finding]:
        """Compare the order of the implementations, for processing and in total."""
        found = []
        for title, table_id, ours in (
            ("order of times, processing", "processing", self.processing),
            ("order of times, total", "total", self.total),
        ):
            table = self.paper.tables[table_id]
            sizes = [s for s in SIZES if sum(value_of(ours[k][s]) is not None for k in ours) > 1]
            size = max((s for s in sizes if s >= 10 * MIB), default=10 * MIB)
            theirs = {NAMES[k]: table.at(size, k).value for k in ours}
            here = {NAMES[k]: ours[k][size] for k in ours}
            found.append(compare_order(title, size, theirs, here))
        return found

    def threads(self, ours: Cell) -> Finding:
        """Compare the speedup of four threads."""
        theirs = value_of(_paper_ratio(self.paper, self.printed_size, "cpu1", "cpu4"))
        assert theirs is not None
        found = compare_ratio(f"speedup of four threads, {self._sizes()}", theirs, ours)
        cores = self.evidence.setting.cores
        if cores >= 4:
            return found
        return replace(found, here=f"{found.here}; {cores} cores here, 4 in the paper")

    def gpu(self, ours: Cell) -> Finding:
        """Compare the speedup of the GPU against four threads."""
        theirs = value_of(_paper_ratio(self.paper, self.printed_size, "cpu4", "gpu"))
        assert theirs is not None
        return compare_ratio(f"GPU against four threads, processing, {self._sizes()}", theirs, ours)

    def crossover(self) -> Finding:
        """Compare the size from which the GPU is faster in total.

        It has no interval, because the totals are sums of phases without samples.
        """
        about, rule = "crossover in total, GPU against four threads", "between the same two sizes"
        table = self.paper.tables["total"]
        printed = SIZES[1:]  # at 1 KB the paper has a * for four threads
        theirs = paper_crossover(
            printed,
            [table.number(s, "cpu4") for s in printed],
            [table.number(s, "gpu") for s in printed],
        )
        assert theirs is not None
        text = f"between {size_text(theirs[0])} and {size_text(theirs[1])}"
        pairs = [
            (s, value_of(self.total["cpu4"][s]), value_of(self.total["gpu"][s])) for s in SIZES
        ]
        both = [(s, a, b) for s, a, b in pairs if a is not None and b is not None]
        if len(both) < 2:
            here = "fewer than two sizes were measured on both"
            return Finding(about, text, here, "not measured", rule)
        sizes, cpu, gpu = zip(*both, strict=True)
        at = interpolate(sizes, cpu, gpu)
        if at is None and sizes[-1] < theirs[1]:
            here = f"none up to {size_text(sizes[-1])}"
            return Finding(about, text, here, "not measured", rule)
        if at is None:
            return Finding(about, text, "none in the range", "differs", rule)
        here = f"{size_text(at)}, without an interval (sums of phases)"
        return Finding(about, text, here, judge(theirs[0] <= at <= theirs[1]), rule)

    def loading(self) -> Finding:
        """Judge whether reading the file takes longer than encrypting it."""
        about, theirs = "loading takes longer than processing on four threads", "4.390 s, 2.656 s"
        rule = "loading takes longer"
        a, b = value_of(self.load[self.largest]), value_of(self.processing["cpu4"][self.largest])
        if a is None or b is None:
            return Finding(about, theirs, "no rows", "not measured", rule)
        here = f"{significant(a)} s, {significant(b)} s"
        return Finding(about, theirs, here, judge(a > b), rule)

    def overhead(self) -> Finding:
        """Judge whether copying 1 MB takes as long as copying 1 KB."""
        small, large = self.transfer[1 << 10], self.transfer[MIB]
        a, b = value_of(small), value_of(large)
        cell: Cell = b / a if a and b else small if a is None else large
        return compare_near("copies of 1 MB against those of 1 KB", 1.0, cell, "×", 1.0)
