"""Luken, Ouyang and Desoky 2009, as Tybusch cites them: key sizes, and places of key expansion."""

from __future__ import annotations

from collections.abc import Mapping

from paraes.lab.document import Missing, Section
from paraes.lab.papers.cells import WHOLE, milliseconds, ratio, together
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.derived_table import Line, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import Pair, figure_section, pairs_series, pairs_table
from paraes.lab.papers.series import Rows, at_largest, crossover_between, gpu_name
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import Row
from paraes.lab.runs import GPU, Run
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


def chapter(evidence: Evidence) -> list[Section]:
    """Compare with Table 1, in milliseconds."""
    paper = load_paper(NAME)
    printed = paper.tables["times"]

    def row_of(bits: int, way: str, size: int) -> Row | Missing:
        axes = {"key_bits": bits, "bytes": size, "executor": None}
        if way == "CPU":
            row = evidence.need(device="cpu", kernel="ttable", scope="memory", threads=1, **axes)
        else:
            axes |= {"key_expansion": WAYS[way], "threads": 0}
            row = evidence.need(device=GPU, kernel="ttable-simple", scope="transfer", **axes)
        # The timed calls reuse an expanded key; the paper's total includes the expansion.
        return together((row, (WHOLE, "key_expansion")))

    rows_of = {
        (bits, way): {size: row_of(bits, way, size) for size in SIZES}
        for bits in KEYS
        for way in WAYS
    }

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
            "median of a call plus one key expansion, both measured.",
        )
    ]
    lines: list[Line] = []
    for bits, name in KEYS.items():
        pairs = [
            Pair(
                way,
                ours[way],
                printed.column(f"{name}-{way}"),
                {size: milliseconds(row) for size, row in rows_of[bits, way].items()},
            )
            for way in WAYS
        ]
        caption = f"Time with {bits}-bit keys ({printed.where})"
        sections.append(
            figure_section(
                (f"{NAME}-{bits}-section", f"{bits}-bit keys"),
                f"{NAME}-{bits}-figure",
                f"Time with {bits}-bit keys",
                f"Milliseconds over the size with {bits}-bit keys: CPU, GPU with keys expanded "
                "there, GPU with keys expanded on the CPU; the paper's and this machine's.",
                "milliseconds",
                pairs_series(pairs),
                pairs_table(f"{NAME}-{bits}", caption, "ms", pairs),
            )
        )
        for way in WAYS:
            theirs = {s: p.seconds for s, p in printed.column(f"{name}-{way}").items()}
            stand_in = "" if way == "CPU" else gpu_name(evidence.device).removeprefix("GPU")
            title = f"{way}, {bits}-bit keys{stand_in}"
            lines.append(Line(title, theirs, rows_of[bits, way].__getitem__))
    sections.append(derived_section(NAME, SIZES, lines, None))
    findings = Findings(paper, evidence)
    _judge(findings, rows_of)
    sections.append(findings.section())
    return sections


def _judge(findings: Findings, rows_of: Mapping[tuple[int, str], Rows]) -> None:
    printed = findings.paper.tables["times"]
    for bits, name in KEYS.items():
        cpu, gpu = rows_of[bits, "CPU"], rows_of[bits, "GPU CPU"]
        findings.add(f"crossover-{bits}", crossover_between(cpu, gpu))

        def theirs(size: int, name: str = name) -> float:
            return printed.number(size, f"{name}-CPU") / printed.number(size, f"{name}-GPU CPU")

        # At smaller sizes the paper's GPU is slower.
        size, cell = at_largest([s for s in SIZES if theirs(s) > 1], cpu, gpu)
        findings.add(f"gpu-{bits}", cell, size, None if size is None else f"{theirs(size):.3f}×")
    for bits in (192, 256):
        size, cell = at_largest(SIZES, rows_of[bits, "CPU"], rows_of[128, "CPU"])
        findings.add(f"key-{bits}", cell, size)
    findings.add(
        "expansion",
        [
            Case(
                f"{bits} bits, {size_text(size)}",
                ratio(rows_of[bits, "GPU GPU"][size], rows_of[bits, "GPU CPU"][size]),
            )
            for bits in KEYS
            for size in SIZES
        ],
    )
