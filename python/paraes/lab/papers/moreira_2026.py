"""Moreira and Canal 2026: the round function on one CPU thread and on a GPU, with copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from paraes.lab.crossover import crossover_text
from paraes.lab.document import Cell, Column, Figure, Missing, Section, Table
from paraes.lab.papers.cells import (
    COPIES,
    Rows,
    common,
    crossover_between,
    rate,
    rate_ratio,
    ratio,
    scaled,
    together,
    value_of,
)
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings, by_size
from paraes.lab.papers.data import PaperTable
from paraes.lab.papers.derived_table import Line, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import (
    Pair,
    here_series,
    line_figure,
    measured_series,
    pairs_figure,
    paper_series,
)
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import Row
from paraes.lab.runs import GPU, Run
from paraes.lab.units import significant, size_text

NAME = "moreira-2026"
SIZES = [1 << 10, 100 << 10, MIB, 10 * MIB, 100 * MIB, 500 * MIB, 1 << 30]
# Direction → its figures, those of rates and of speedups, and what it is called.
DIRECTIONS = {
    "encrypt": ("Figures 5 (upper), 6, 7", "Figure 6", "Figure 7", "encryption"),
    "decrypt": ("Figures 5 (lower), 8, 9", "Figure 8", "Figure 9", "decryption"),
}
LARGE = [100 * MIB, 500 * MIB, 1 << 30]  # files at which the GPU settles (Figures 6 and 8)
SMALL = [1 << 10, 100 << 10]  # files that the CPU encrypts faster (section VI-A)
TIMES = ("cpu_time", "gpu_time")  # the paper's columns
MEGABYTE = MIB / 1e6  # the paper's; rates here are in 10⁶ bytes a second


@dataclass(frozen=True)
class _Direction:
    """The rows of one direction by size: the CPU, the GPU with both copies, and its kernel."""

    cpu: Rows
    whole: Rows
    alone: Rows


def plan(setting: Setting) -> list[Run]:
    """List the runs: AES-128 ECB with `reference` on one CPU thread, and on a GPU with and without
    copies."""
    runs = []
    both = tuple(DIRECTIONS)
    for size in setting.sizes(SIZES):
        samples = setting.samples_of(size)
        run = Run("memory", ("cpu", GPU), ("reference",), size, both, samples=samples)
        runs.append(replace(run, rivals=("memcpy",)))
        runs.append(replace(run, scope="transfer", devices=(GPU,), rivals=("pinned-copy",)))
    return runs


def chapter(evidence: Evidence, findings: Findings) -> list[Section]:
    """Compare time, rate, speedup and crossover of both directions with Figure 5."""
    sections = [
        introduction(
            findings,
            "kernel reference on one CPU thread in host memory (scope memory), and on the GPU "
            "with both copies (scope transfer, no overlap) and without (kernel only).",
        )
    ]
    measured: dict[str, _Direction] = {}
    lines: list[Line] = []
    for direction, (*_, noun) in DIRECTIONS.items():
        printed = findings.paper.tables[direction]
        axes = {"kernel": "reference", "direction": direction}
        rows = measured[direction] = _Direction(
            {s: evidence.cpu(size=s, **axes) for s in SIZES},
            {s: evidence.gpu(size=s, scope="transfer", **axes) for s in SIZES},
            {s: evidence.gpu(size=s, **axes) for s in SIZES},
        )
        sections.append(_section(direction, printed, rows, evidence.device.title))
        gpu = evidence.device.beside_theirs
        for name, key, of in (("CPU", "cpu_time", rows.cpu), (gpu, "gpu_time", rows.whole)):
            lines.append(Line(f"{name}, {noun}", printed.seconds(key), of.__getitem__))
        _judge_direction(findings, direction, rows)
    _judge_rates(findings, measured["encrypt"], measured["decrypt"])
    return [*sections, derived_section(NAME, SIZES, lines, None)]


def _section(direction: str, printed: PaperTable, rows: _Direction, gpu: str) -> Section:
    noun = DIRECTIONS[direction][-1]
    times = pairs_figure(
        (f"{NAME}-{direction}-times", f"{NAME}-{direction}-time"),
        f"Time of {noun}",
        f"Seconds over the size of the data for {noun} on the CPU and the GPU, the paper's "
        "and this machine's.",
        f"Time of {noun} ({printed.where})",
        "s",
        [
            Pair("CPU", "CPU", printed.column("cpu_time"), rows.cpu),
            Pair("GPU", gpu, printed.column("gpu_time"), rows.whole),
        ],
        more={f"{gpu}, kernel only": rows.alone},
    )
    blocks = [times, _rates(direction, printed, rows, gpu), _speedups(direction, printed, rows)]
    return Section(f"{NAME}-{direction}", noun.capitalize(), blocks)


def _rates(direction: str, printed: PaperTable, rows: _Direction, gpu: str) -> Figure:
    _, figure, _, noun = DIRECTIONS[direction]

    def text(column: str) -> Callable[[int], Cell]:
        return lambda size: printed.at(size, column).text

    def theirs(column: str) -> Callable[[int], Cell]:
        return lambda size: printed.number(size, column) * MEGABYTE

    def ours(of: Rows) -> Callable[[int], Cell]:
        return lambda size: rate(of[size])

    table = Table.of(
        f"{NAME}-{direction}-rate",
        f"Throughput of {noun}; the paper's MB of 2²⁰ bytes converted to 10⁶ ({printed.where})",
        SIZES,
        [
            (Column("size", "size"), int),
            (Column("CPU, paper", "printed", "MB/s as printed"), text("cpu_rate")),
            (Column("CPU, paper", unit="10⁶ B/s"), theirs("cpu_rate")),
            (Column("CPU, here", unit="10⁶ B/s"), ours(rows.cpu)),
            (Column("GPU, paper", "printed", "MB/s as printed"), text("gpu_rate")),
            (Column("GPU, paper", unit="10⁶ B/s"), theirs("gpu_rate")),
            (Column(f"{gpu}, here", unit="10⁶ B/s"), ours(rows.whole)),
        ],
    )
    here = {"CPU": rows.cpu, gpu: rows.whole, f"{gpu}, kernel only": rows.alone}
    return line_figure(
        f"{NAME}-{direction}-rates",
        f"Throughput of {noun} (as {figure})",
        f"Throughput in 10⁶ bytes a second over the size for {noun}: CPU and GPU, the "
        "paper's and this machine's.",
        "10⁶ bytes a second",
        [
            *here_series({name: ours(of) for name, of in here.items()}, SIZES),
            paper_series("CPU, paper", printed.column("cpu_rate"), MEGABYTE),
            paper_series("GPU, paper", printed.column("gpu_rate"), MEGABYTE),
        ],
        table,
    )


def _speedups(direction: str, printed: PaperTable, rows: _Direction) -> Figure:
    figures, _, figure, noun = DIRECTIONS[direction]

    def faster(size: int) -> Cell:
        return ratio(rows.cpu[size], rows.whole[size])

    def faster_alone(size: int) -> Cell:
        return ratio(rows.cpu[size], rows.alone[size])

    crossover = crossover_between(rows.cpu, rows.alone)
    table = Table.of(
        f"{NAME}-{direction}-speedup",
        f"Speedup of {noun}: CPU time over GPU time ({figures})",
        SIZES,
        [
            (Column("size", "size"), int),
            (Column("paper", "printed", "×"), lambda s: printed.at(s, "speedup").text),
            (Column("paper, from its times", "printed", "×"), partial(_speedup_text, printed)),
            (Column("here", unit="×"), faster),
            (Column("kernel only, here", unit="×"), faster_alone),
            (
                Column("here / paper's times"),
                lambda s: scaled(faster(s), 1 / printed.ratio(s, *TIMES)),
            ),
        ],
        [
            "Crossover of the kernel only, for which the paper has no time: "
            f"{crossover_text(crossover)}."
        ]
        if crossover is not None
        else [],
    )
    return line_figure(
        f"{NAME}-{direction}-speedups",
        f"Speedup of {noun} (as {figure})",
        f"CPU time over GPU time with copies for {noun}, over the size. Above 1 the GPU is faster.",
        "CPU time / GPU time",
        [
            measured_series("here", ((s, faster(s)) for s in SIZES)),
            measured_series("kernel only, here", ((s, faster_alone(s)) for s in SIZES)),
            paper_series("paper", printed.column("speedup")),
        ],
        table,
        level=1.0,
        level_name="equally fast",
    )


def _speedup_text(printed: PaperTable, size: int) -> str:
    """Return the speedup from the paper's times, with as many digits as the shorter, at most 4."""
    texts = (printed.at(size, name).text for name in TIMES)
    digits = (len(text.replace(".", "").lstrip("0")) for text in texts)
    return significant(printed.ratio(size, *TIMES), min(4, *digits))


def _judge_direction(findings: Findings, direction: str, rows: _Direction) -> None:
    printed = findings.paper.tables[direction]
    findings.add(f"crossover-{direction}", crossover_between(rows.cpu, rows.whole))
    # At smaller sizes the paper's GPU is slower, and no speedup is claimed.
    claimed = [s for s in SIZES if printed.number(s, "speedup") > 1]
    findings.add_at_largest(
        f"speedup-{direction}",
        claimed,
        rows.cpu,
        rows.whole,
        lambda size: f"{printed.at(size, 'speedup').text}×",
    )


def _judge_rates(findings: Findings, encrypt: _Direction, decrypt: _Direction) -> None:
    findings.add("cpu-rate", _against_largest(encrypt.cpu, SIZES) or [_too_few(findings, SIZES)])
    for name, over, under in (
        ("decrypt-cpu", decrypt.cpu, encrypt.cpu),
        ("decrypt-gpu", decrypt.whole, encrypt.whole),
    ):
        findings.add_at_largest(name, SIZES, over, under, how=rate_ratio)
    cases, rates = [], []
    for noun, rows in (("encryption", encrypt.whole), ("decryption", decrypt.whole)):
        cases += _against_largest(rows, LARGE, f"{noun}, ")
        if found := [r for s in LARGE if (r := value_of(rate(rows[s]))) is not None]:
            rates.append(f"{noun} at {significant(min(found))} to {significant(max(found))} MB/s")
    findings.add("gpu-rate", cases or [_too_few(findings, LARGE)], note=", ".join(rates))
    findings.add("copies-small", by_size(SMALL, lambda s: _copies_over_kernel(encrypt.whole[s])))


def _against_largest(rows: Rows, sizes: list[int], name: str = "") -> list[Case]:
    """Compare the rate at every size with that at the largest measured one; none with one size."""
    there = [s for s in common(rows, rows) if s in sizes]
    if len(there) < 2:
        return []
    largest = rows[there[-1]]
    others = [s for s in sizes if s != there[-1]]
    return [Case(f"{name}{size_text(s)}", rate_ratio(rows[s], largest)) for s in others]


def _too_few(findings: Findings, sizes: list[int]) -> Case:
    reason = f"needs two sizes of {', '.join(map(size_text, sizes))}"
    return Case("", findings.evidence.missing(reason, sizes[-1]))


def _copies_over_kernel(row: Row | Missing) -> Cell:
    return ratio(together((row, COPIES)), together((row, ("kernel",))))
