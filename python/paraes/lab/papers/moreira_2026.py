"""Moreira and Canal 2026: the round function on one CPU thread and on a GPU, with copies."""

from __future__ import annotations

from dataclasses import dataclass

from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.papers.cells import (
    printed_text,
    rate,
    rate_ratio,
    ratio,
    scaled,
    seconds,
    together,
    value_of,
)
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings, crossover_text
from paraes.lab.papers.data import PaperTable, Printed, load_paper
from paraes.lab.papers.derived_table import Line, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import (
    Pair,
    line_figure,
    measured_series,
    pairs_series,
    pairs_table,
    paper_series,
)
from paraes.lab.papers.series import Rows, at_largest, common, crossover_between, gpu_name
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import Row
from paraes.lab.runs import GPU, Run
from paraes.lab.units import significant, size_text

NAME = "moreira-2026"
SIZES = [1 << 10, 100 << 10, MIB, 10 * MIB, 100 * MIB, 500 * MIB, 1 << 30]
DIRECTIONS = {
    "encrypt": ("Figures 5 (upper), 6, 7", "encryption"),
    "decrypt": ("Figures 5 (lower), 8, 9", "decryption"),
}
LARGE = [100 * MIB, 500 * MIB, 1 << 30]  # files at which the GPU settles (Figures 6 and 8)
SMALL = [1 << 10, 100 << 10]  # files that the CPU encrypts faster (section VI-A)


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
        for scope, devices, copy in (
            ("memory", ("cpu", GPU), "memcpy"),
            ("transfer", (GPU,), "pinned-copy"),
        ):
            kernels, rivals = ("reference",), (copy,)
            runs.append(Run(scope, devices, kernels, size, both, rivals=rivals, samples=samples))
    return runs


def chapter(evidence: Evidence) -> list[Section]:
    """Compare time, rate, speedup and crossover of both directions with Figure 5."""
    paper = load_paper(NAME)
    gpu = evidence.device.title
    sections = [
        introduction(
            paper,
            evidence,
            "kernel reference on one CPU thread in host memory (scope memory), and on the GPU "
            "with both copies (scope transfer, no overlap) and without (kernel only).",
        )
    ]
    measured: dict[str, _Direction] = {}
    lines: list[Line] = []
    for direction, (figures, noun) in DIRECTIONS.items():
        printed = paper.tables[direction]
        axes = {"kernel": "reference", "mode": "ecb", "key_bits": 128, "direction": direction}
        axes["executor"] = None
        cpu = {
            s: evidence.need(device="cpu", scope="memory", bytes=s, threads=1, **axes)
            for s in SIZES
        }
        axes |= {"device": GPU, "threads": 0}
        whole = {s: evidence.need(scope="transfer", bytes=s, **axes) for s in SIZES}
        alone = {s: evidence.need(scope="memory", bytes=s, **axes) for s in SIZES}
        measured[direction] = _Direction(cpu, whole, alone)
        speedups = {s: ratio(cpu[s], whole[s]) for s in SIZES}
        for name, column, rows in (
            ("CPU", "cpu_time", cpu),
            (gpu_name(evidence.device), "gpu_time", whole),
        ):
            theirs = {s: p.seconds for s, p in printed.column(column).items()}
            lines.append(Line(f"{name}, {noun}", theirs, rows.__getitem__))

        pairs = [
            Pair("CPU", "CPU", printed.column("cpu_time"), {s: seconds(cpu[s]) for s in SIZES}),
            Pair("GPU", gpu, printed.column("gpu_time"), {s: seconds(whole[s]) for s in SIZES}),
        ]
        times = pairs_table(
            f"{NAME}-{direction}-time",
            f"Time of {noun} ({printed.where})",
            "s",
            pairs,
            more={f"{gpu}, kernel only": {s: seconds(alone[s]) for s in SIZES}},
        )
        # Rates here are in 10^6 bytes a second; the paper's are in 2^20.
        mib = MIB / 1e6
        rates = Table(
            f"{NAME}-{direction}-rate",
            f"Throughput of {noun}; the paper's MB of 2²⁰ bytes converted to 10⁶ ({printed.where})",
            [
                Column("size", "size"),
                Column("CPU, paper", "printed", "MB/s as printed"),
                Column("CPU, paper", unit="10⁶ B/s"),
                Column("CPU, here", unit="10⁶ B/s"),
                Column("GPU, paper", "printed", "MB/s as printed"),
                Column("GPU, paper", unit="10⁶ B/s"),
                Column(f"{gpu}, here", unit="10⁶ B/s"),
            ],
            [
                [
                    s,
                    printed_text(printed.at(s, "cpu_rate")),
                    printed.number(s, "cpu_rate") * mib,
                    rate(cpu[s]),
                    printed_text(printed.at(s, "gpu_rate")),
                    printed.number(s, "gpu_rate") * mib,
                    rate(whole[s]),
                ]
                for s in SIZES
            ],
        )
        speedup_table = Table(
            f"{NAME}-{direction}-speedup",
            f"Speedup of {noun}: CPU time over GPU time ({figures})",
            [
                Column("size", "size"),
                Column("paper", "printed", "×"),
                Column("paper, from its times", "printed", "×"),
                Column("here", unit="×"),
                Column("kernel only, here", unit="×"),
                Column("here / paper's times"),
            ],
            [
                [
                    s,
                    printed_text(printed.at(s, "speedup")),
                    speedup_text(printed, s),
                    speedups[s],
                    ratio(cpu[s], alone[s]),
                    scaled(speedups[s], 1 / speedup(printed, s)),
                ]
                for s in SIZES
            ],
            _kernel_note(cpu, alone),
        )
        blocks = [
            line_figure(
                f"{NAME}-{direction}-times",
                f"Time of {noun}",
                f"Seconds over the size of the data for {noun} on the CPU and the GPU, the paper's "
                "and this machine's.",
                "seconds",
                pairs_series(pairs),
                times,
            ),
            line_figure(
                f"{NAME}-{direction}-rates",
                f"Throughput of {noun} (as Figure {6 if direction == 'encrypt' else 8})",
                f"Throughput in 10⁶ bytes a second over the size for {noun}: CPU and GPU, the "
                "paper's and this machine's.",
                "10⁶ bytes a second",
                [
                    measured_series("CPU, here", ((s, rate(cpu[s])) for s in SIZES)),
                    measured_series(f"{gpu}, here", ((s, rate(whole[s])) for s in SIZES)),
                    measured_series(
                        f"{gpu}, kernel only, here", ((s, rate(alone[s])) for s in SIZES)
                    ),
                    paper_series("CPU, paper", printed.column("cpu_rate"), mib),
                    paper_series("GPU, paper", printed.column("gpu_rate"), mib),
                ],
                rates,
            ),
            line_figure(
                f"{NAME}-{direction}-speedups",
                f"Speedup of {noun} (as Figure {7 if direction == 'encrypt' else 9})",
                f"CPU time over GPU time with copies for {noun}, over the size. Above 1 the GPU is "
                "faster.",
                "CPU time / GPU time",
                [
                    measured_series("here", ((s, speedups[s]) for s in SIZES)),
                    measured_series(
                        "kernel only, here", ((s, ratio(cpu[s], alone[s])) for s in SIZES)
                    ),
                    paper_series("paper", printed.column("speedup")),
                ],
                speedup_table,
                level=1.0,
                level_name="equally fast",
            ),
        ]
        sections.append(Section(f"{NAME}-{direction}", noun.capitalize(), blocks))

    sections.append(derived_section(NAME, SIZES, lines, None))
    findings = Findings(paper, evidence)
    for direction, rows in measured.items():
        _judge_direction(findings, direction, rows)
    _judge_rates(findings, measured["encrypt"], measured["decrypt"])
    sections.append(findings.section())
    return sections


def speedup(printed: PaperTable, size: int) -> float:
    """Return the speedup that follows from the paper's times."""
    return printed.number(size, "cpu_time") / printed.number(size, "gpu_time")


def speedup_text(printed: PaperTable, size: int) -> str:
    """Return that speedup with as many digits as the shorter time has, at most 4."""

    def digits(time: Printed) -> int:
        return len(time.text.replace(".", "").lstrip("0"))

    times = (printed.at(size, name) for name in ("cpu_time", "gpu_time"))
    return significant(speedup(printed, size), min(4, *map(digits, times)))


def _kernel_note(cpu: Rows, alone: Rows) -> list[str]:
    found = crossover_between(cpu, alone)
    if found is None:
        return []
    return [
        f"Crossover of the kernel only, for which the paper has no time: {crossover_text(found)}."
    ]


def _judge_direction(findings: Findings, direction: str, rows: _Direction) -> None:
    printed = findings.paper.tables[direction]
    findings.add(f"crossover-{direction}", crossover_between(rows.cpu, rows.whole))
    # At smaller sizes the paper's GPU is slower, and no speedup is claimed.
    claimed = [s for s in SIZES if printed.number(s, "speedup") > 1]
    size, cell = at_largest(claimed, rows.cpu, rows.whole)
    theirs = None if size is None else f"{printed.at(size, 'speedup').text}×"
    findings.add(f"speedup-{direction}", cell, size, theirs)


def _judge_rates(findings: Findings, encrypt: _Direction, decrypt: _Direction) -> None:
    findings.add("cpu-rate", _against_largest(encrypt.cpu, SIZES) or [_too_few(SIZES)])
    for name, over, under in (
        ("decrypt-cpu", decrypt.cpu, encrypt.cpu),
        ("decrypt-gpu", decrypt.whole, encrypt.whole),
    ):
        size, cell = at_largest(SIZES, over, under, rate_ratio)
        findings.add(name, cell, size)
    cases, rates = [], []
    for direction, rows in (("encrypt", encrypt.whole), ("decrypt", decrypt.whole)):
        noun = DIRECTIONS[direction][1]
        cases += _against_largest(rows, LARGE, f"{noun}, ")
        if found := [r for s in LARGE if (r := value_of(rate(rows[s]))) is not None]:
            rates.append(f"{noun} at {significant(min(found))} to {significant(max(found))} MB/s")
    findings.add("gpu-rate", cases or [_too_few(LARGE)], note=", ".join(rates))
    findings.add(
        "copies-small",
        [Case(size_text(s), _copies_over_kernel(encrypt.whole[s])) for s in SMALL],
    )


def _against_largest(rows: Rows, sizes: list[int], name: str = "") -> list[Case]:
    """Compare the rate at every size with that at the largest measured one; none with one size."""
    there = [s for s in common(rows, rows) if s in sizes]
    if len(there) < 2:
        return []
    largest = rows[there[-1]]
    others = [s for s in sizes if s != there[-1]]
    return [Case(f"{name}{size_text(s)}", rate_ratio(rows[s], largest)) for s in others]


def _too_few(sizes: list[int]) -> Case:
    return Case("", Missing(f"needs two sizes of {', '.join(map(size_text, sizes))}"))


def _copies_over_kernel(row: Row | Missing) -> Cell:
    copies = together((row, ("host_to_device", "device_to_host")))
    return ratio(copies, together((row, ("kernel",))))
