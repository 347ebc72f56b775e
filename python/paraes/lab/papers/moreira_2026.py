"""Moreira and Canal 2026: the round function on one CPU thread and on a GPU, with copies."""

from __future__ import annotations

from paraes.lab.document import Column, Missing, Section, Table
from paraes.lab.measure import GPU, Run
from paraes.lab.papers.cells import divide, printed_text, rate, ratio, seconds, value_of
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import (
    AGREEMENT,
    Finding,
    compare_crossover,
    compare_near,
    compare_order,
    compare_ratio,
    cross,
    findings_table,
    judge,
    paper_crossover,
)
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import line_figure, measured_series, paper_series
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.units import significant, size_text

NAME = "moreira-2026"
SIZES = [1 << 10, 100 << 10, MIB, 10 * MIB, 100 * MIB, 500 * MIB, 1 << 30]
DIRECTIONS = {
    "encrypt": ("Figures 5 (upper), 6, 7", "encryption"),
    "decrypt": ("Figures 5 (lower), 8, 9", "decryption"),
}


def plan(setting: Setting) -> list[Run]:
    """List the runs: AES-128 ECB with `reference` on one CPU thread, and on a GPU with and without
    copies."""
    runs = []
    both = tuple(DIRECTIONS)
    for size in setting.sizes(SIZES):
        samples = setting.samples_of(size)
        runs.append(
            Run(
                "memory",
                ("cpu", GPU),
                ("reference",),
                size,
                both,
                rivals=("memcpy",),
                samples=samples,
            )
        )
        runs.append(
            Run(
                "transfer",
                (GPU,),
                ("reference",),
                size,
                both,
                rivals=("pinned-copy",),
                samples=samples,
            )
        )
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
    findings: list[Finding] = []
    cpu_rates, gpu_rates = {}, {}
    for direction, (figures, noun) in DIRECTIONS.items():
        printed = paper.tables[direction]
        axes = {"kernel": "reference", "mode": "ecb", "key_bits": 128, "direction": direction}
        cpu = {
            s: evidence.need(device="cpu", scope="memory", bytes=s, threads=1, **axes)
            for s in SIZES
        }
        whole = {s: evidence.need(device=GPU, scope="transfer", bytes=s, **axes) for s in SIZES}
        alone = {s: evidence.need(device=GPU, scope="memory", bytes=s, **axes) for s in SIZES}
        speedups = {s: ratio(cpu[s], whole[s]) for s in SIZES}
        cpu_rates[direction] = {s: rate(cpu[s]) for s in SIZES}
        gpu_rates[direction] = {s: rate(whole[s]) for s in SIZES}

        times = Table(
            f"{NAME}-{direction}-time",
            f"Time of {noun} in seconds ({printed.where})",
            [
                Column("size", "size"),
                Column("CPU, paper", "printed", "s"),
                Column("CPU, here", unit="s"),
                Column("GPU, paper", "printed", "s"),
                Column(f"{gpu}, here", unit="s"),
                Column(f"{gpu}, kernel only, here", unit="s"),
            ],
            [
                [
                    s,
                    printed_text(printed.at(s, "cpu_time")),
                    seconds(cpu[s]),
                    printed_text(printed.at(s, "gpu_time")),
                    seconds(whole[s]),
                    seconds(alone[s]),
                ]
                for s in SIZES
            ],
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
                Column("here", unit="×"),
                Column("kernel only, here", unit="×"),
                Column("here / paper"),
            ],
            [
                [
                    s,
                    printed_text(printed.at(s, "speedup")),
                    speedups[s],
                    ratio(cpu[s], alone[s]),
                    divide(speedups[s], printed.at(s, "speedup").value),
                ]
                for s in SIZES
            ],
        )
        blocks = [
            line_figure(
                f"{NAME}-{direction}-times",
                f"Time of {noun}",
                f"Seconds over the size of the data for {noun} on the CPU and the GPU, the paper's "
                "and this machine's.",
                "seconds",
                [
                    measured_series("CPU, here", ((s, seconds(cpu[s])) for s in SIZES)),
                    measured_series(f"{gpu}, here", ((s, seconds(whole[s])) for s in SIZES)),
                    paper_series("CPU, paper", printed.column("cpu_time")),
                    paper_series("GPU, paper", printed.column("gpu_time")),
                ],
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

        theirs = paper_crossover(
            printed.sizes,
            [float(c["cpu_time"].text) for c in printed.cells],
            [float(c["gpu_time"].text) for c in printed.cells],
        )
        findings.append(
            compare_crossover(
                f"crossover of {noun}, with copies", theirs, cross(cpu.values(), whole.values())
            )
        )
        kernel_only = compare_crossover(
            f"crossover of {noun}, kernel only", None, cross(cpu.values(), alone.values())
        )
        findings.append(Finding(kernel_only.about, "–", kernel_only.here, "not in the paper"))
        largest = max((s for s in SIZES if value_of(speedups[s]) is not None), default=SIZES[-1])
        theirs_at = printed.number(largest, "speedup")
        if theirs_at > 0:
            findings.append(
                compare_ratio(
                    f"speedup of {noun}, {size_text(largest)}", theirs_at, speedups[largest]
                )
            )
        findings.append(
            compare_order(
                f"order of times, {noun}",
                largest,
                {
                    "CPU": printed.number(largest, "cpu_time"),
                    "GPU": printed.number(largest, "gpu_time"),
                },
                {"CPU": seconds(cpu[largest]), "GPU": seconds(whole[largest])},
            )
        )
    findings += _statements(cpu_rates, gpu_rates)
    sections.append(
        Section(f"{NAME}-agreement", AGREEMENT, [findings_table(NAME, findings, evidence.device)])
    )
    return sections


def _statements(cpu_rates: dict, gpu_rates: dict) -> list[Finding]:
    found = []
    encrypt = [v for c in cpu_rates["encrypt"].values() if (v := value_of(c)) is not None]
    if len(encrypt) > 1:
        spread = max(encrypt) / min(encrypt)
        found.append(
            Finding(
                "the CPU encrypts at the same rate at every size",
                "about 68 MB/s throughout",
                f"from {significant(min(encrypt))} to {significant(max(encrypt))} · 10⁶ B/s",
                judge(spread <= 1.15),
                "largest rate at most 1.15 times the smallest",
            )
        )
    pairs = [(value_of(cpu_rates["decrypt"][s]), value_of(cpu_rates["encrypt"][s])) for s in SIZES]
    ratios = [d / e for d, e in pairs if d is not None and e is not None]
    ours = ratios[-1] if ratios else Missing("no CPU rows")
    found.append(
        compare_near("rate of decryption over that of encryption, CPU", 48 / 68, ours, "×", 0.15)
    )
    pairs = [(value_of(gpu_rates["decrypt"][s]), value_of(gpu_rates["encrypt"][s])) for s in SIZES]
    ratios = [d / e for d, e in pairs if d is not None and e is not None]
    ours = ratios[-1] if ratios else Missing("no GPU rows")
    found.append(
        compare_near("rate of decryption over that of encryption, GPU", 1.0, ours, "×", 0.1)
    )
    return found
