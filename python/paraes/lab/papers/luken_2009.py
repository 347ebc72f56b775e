"""Luken, Ouyang and Desoky 2009, as Tybusch cites them: key sizes, and places of key expansion."""

from __future__ import annotations

from paraes.lab.document import Cell, Column, Missing, Section, Table
from paraes.lab.measure import GPU, Run
from paraes.lab.papers.cells import add, phase, printed_text, seconds, value_of
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import (
    AGREEMENT,
    Finding,
    compare_crossover,
    compare_near,
    compare_order,
    cross,
    findings_table,
    judge,
    paper_crossover,
)
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import line_figure, measured_series, paper_series
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.units import size_text

NAME = "luken-2009"
SIZES = [1 << 10, 10 << 10, 100 << 10, MIB, 10 * MIB, 100 * MIB]
KEYS = {128: "16", 192: "24", 256: "32"}  # bits → the paper's bytes
# The paper's name: where it encrypts and where it expands the key → our place of key expansion.
WAYS = {"CPU": None, "GPU GPU": "device", "GPU CPU": "host"}


def plan(setting: Setting) -> list[Run]:
    """List the runs of all three key sizes.

    `ttable` on one thread; `ttable-simple` with copies, and keys expanded on the CPU and the GPU.
    """
    runs = []
    for size in setting.sizes(SIZES):
        samples = setting.samples_of(size)
        keys = tuple(KEYS)
        runs.append(Run("memory", ("cpu",), ("ttable",), size, key_bits=keys, samples=samples))
        runs.append(
            Run(
                "transfer",
                (GPU,),
                ("ttable-simple",),
                size,
                key_bits=keys,
                key_expansions=("host", "device"),
                rivals=("pinned-copy",),
                samples=samples,
            )
        )
    return runs


def _milliseconds(cell: Cell) -> Cell:
    value = value_of(cell)
    return cell if value is None else value * 1e3


def chapter(evidence: Evidence) -> list[Section]:
    """Compare with Table 1, in milliseconds."""
    paper = load_paper(NAME)
    printed = paper.tables["times"]

    def row_of(bits: int, way: str, size: int):
        axes = {"mode": "ecb", "key_bits": bits, "direction": "encrypt", "bytes": size}
        if way == "CPU":
            return evidence.need(device="cpu", kernel="ttable", scope="memory", threads=1, **axes)
        return evidence.need(
            device=GPU, kernel="ttable-simple", scope="transfer", key_expansion=WAYS[way], **axes
        )

    def here(bits: int, way: str, size: int) -> Cell:
        row = row_of(bits, way, size)
        # The timed calls reuse an expanded key; the paper's total includes the expansion.
        return _milliseconds(add(seconds(row), phase(row, "key_expansion")))

    gpu = evidence.device.title
    ours = {
        "CPU": "CPU",
        "GPU GPU": f"{gpu}, keys expanded there",
        "GPU CPU": f"{gpu}, keys expanded on the CPU",
    }
    sections = [
        introduction(
            paper,
            evidence,
            "kernel ttable on one thread; ttable-simple on the GPU with both copies, keys expanded "
            "on the GPU (GPU GPU) and on the CPU (GPU CPU). AES ECB encryption. Each time is the "
            "median of a call plus one key expansion, both measured; the sum has no interval.",
        )
    ]
    findings: list[Finding] = []
    for bits, name in KEYS.items():
        columns = [Column("size", "size")]
        for way in WAYS:
            columns += [
                Column(f"{way}, paper", "printed", "ms"),
                Column(f"{ours[way]}, here", unit="ms"),
            ]
        rows = []
        for size in SIZES:
            row: list[Cell] = [size]
            for way in WAYS:
                row += [printed_text(printed.at(size, f"{name}-{way}")), here(bits, way, size)]
            rows.append(row)
        table = Table(
            f"{NAME}-{bits}", f"{bits}-bit keys, milliseconds ({printed.where})", columns, rows
        )
        series = [
            measured_series(f"{ours[way]}, here", ((s, here(bits, way, s)) for s in SIZES))
            for way in WAYS
        ]
        series += [paper_series(f"{way}, paper", printed.column(f"{name}-{way}")) for way in WAYS]
        sections.append(
            Section(
                f"{NAME}-{bits}-section",
                f"{bits}-bit keys",
                [
                    line_figure(
                        f"{NAME}-{bits}-figure",
                        f"Time with {bits}-bit keys",
                        f"Milliseconds over the size with {bits}-bit keys: CPU, GPU with keys "
                        "expanded there, GPU with keys expanded on the CPU; the paper's and this "
                        "machine's.",
                        "milliseconds",
                        series,
                        table,
                    )
                ],
            )
        )
        cpu_times = [float(c[f"{name}-CPU"].text) for c in printed.cells]
        gpu_times = [float(c[f"{name}-GPU CPU"].text) for c in printed.cells]
        findings.append(
            compare_crossover(
                f"crossover, {bits}-bit keys",
                paper_crossover(printed.sizes, cpu_times, gpu_times),
                cross(
                    [row_of(bits, "CPU", s) for s in SIZES],
                    [row_of(bits, "GPU CPU", s) for s in SIZES],
                ),
            )
        )
        size = max(
            (s for s in SIZES if value_of(here(bits, "CPU", s)) is not None), default=SIZES[-1]
        )
        findings.append(
            compare_order(
                f"order of times, {bits}-bit keys",
                size,
                {way: printed.number(size, f"{name}-{way}") for way in WAYS},
                {way: here(bits, way, size) for way in WAYS},
            )
        )
    size = max((s for s in SIZES if value_of(here(128, "CPU", s)) is not None), default=SIZES[-1])
    for bits in (192, 256):
        theirs = printed.number(size, f"{KEYS[bits]}-CPU") / printed.number(size, "16-CPU")
        a, b = here(bits, "CPU", size), here(128, "CPU", size)
        va, vb = value_of(a), value_of(b)
        factor: Cell = va / vb if va and vb else Missing("no CPU row")
        rounds = 10 + (bits - 128) // 32
        about = f"{bits}-bit keys against 128, CPU, {size_text(size)} (rounds: {rounds}/10)"
        findings.append(compare_near(about, theirs, factor, "×", 0.1))
    cpu_is_as_fast = []
    for bits in KEYS:
        for size in SIZES:
            a, b = value_of(here(bits, "GPU GPU", size)), value_of(here(bits, "GPU CPU", size))
            if a is not None and b is not None:
                cpu_is_as_fast.append(a >= b)
    findings.append(
        Finding(
            "keys expanded on the CPU are at least as fast as on the GPU",
            "in 16 of 18 cases",
            f"in {sum(cpu_is_as_fast)} of {len(cpu_is_as_fast)} cases"
            if cpu_is_as_fast
            else "no GPU rows",
            judge(sum(cpu_is_as_fast) > len(cpu_is_as_fast) / 2 if cpu_is_as_fast else None),
            "more than half of the cases",
        )
    )
    sections.append(
        Section(f"{NAME}-agreement", AGREEMENT, [findings_table(NAME, findings, evidence.device)])
    )
    return sections
