"""Luken, Ouyang and Desoky 2009, as Tybusch cites them: key sizes, and places of key expansion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from paraes.lab.document import Missing, Section
from paraes.lab.papers.cells import WHOLE, Rows, crossover_between, ratio, together
from paraes.lab.papers.chapters import introduction
from paraes.lab.papers.claims import Case, Findings
from paraes.lab.papers.derived_table import Line, derived_section
from paraes.lab.papers.evidence import Evidence
from paraes.lab.papers.figures import Pair, pairs_figure
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
        run = Run("memory", ("cpu",), ("ttable",), size, key_bits=tuple(KEYS), samples=samples)
        on_gpu = replace(run, scope="transfer", devices=(GPU,), kernels=("ttable-simple",))
        places = ("host", "device")
        runs += [run, replace(on_gpu, key_expansions=places, rivals=("pinned-copy",))]
    return runs


def chapter(evidence: Evidence, findings: Findings) -> list[Section]:
    """Compare with Table 1, in milliseconds."""
    printed = findings.paper.tables["times"]

    def row_of(bits: int, way: str, size: int) -> Row | Missing:
        if way == "CPU":
            row = evidence.cpu("ttable", size, key_bits=bits)
        else:
            place = WAYS[way]
            row = evidence.gpu(
                "ttable-simple", size, "transfer", key_bits=bits, key_expansion=place
            )
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
            findings,
            "kernel ttable on one thread; ttable-simple on the GPU with both copies, keys expanded "
            "on the GPU (GPU GPU) and on the CPU (GPU CPU). AES ECB encryption. Each time is the "
            "median of a call plus one key expansion, both measured.",
        )
    ]
    lines: list[Line] = []
    for bits, name in KEYS.items():
        figure = pairs_figure(
            (f"{NAME}-{bits}-figure", f"{NAME}-{bits}"),
            f"Time with {bits}-bit keys",
            f"Milliseconds over the size with {bits}-bit keys: CPU, GPU with keys expanded "
            "there, GPU with keys expanded on the CPU; the paper's and this machine's.",
            f"Time with {bits}-bit keys ({printed.where})",
            "ms",
            [
                Pair(way, ours[way], printed.column(f"{name}-{way}"), rows_of[bits, way])
                for way in WAYS
            ],
        )
        sections.append(Section(f"{NAME}-{bits}-section", f"{bits}-bit keys", [figure]))
        for way in WAYS:
            stand_in = "" if way == "CPU" else evidence.device.beside_theirs.removeprefix("GPU")
            title = f"{way}, {bits}-bit keys{stand_in}"
            theirs = printed.seconds(f"{name}-{way}")
            lines.append(Line(title, theirs, rows_of[bits, way].__getitem__))
    _judge(findings, rows_of)
    return [*sections, derived_section(NAME, SIZES, lines, None)]


def _judge(findings: Findings, rows_of: Mapping[tuple[int, str], Rows]) -> None:
    printed = findings.paper.tables["times"]
    for bits, name in KEYS.items():
        cpu, gpu = rows_of[bits, "CPU"], rows_of[bits, "GPU CPU"]
        findings.add(f"crossover-{bits}", crossover_between(cpu, gpu))

        def theirs(size: int, columns: tuple[str, str] = (f"{name}-CPU", f"{name}-GPU CPU")) -> str:
            return f"{printed.ratio(size, *columns):.3f}×"

        # At smaller sizes the paper's GPU is slower.
        faster = printed.above(f"{name}-CPU", f"{name}-GPU CPU")
        findings.add_at_largest(f"gpu-{bits}", faster, cpu, gpu, theirs)
    for bits in (192, 256):
        cpu = rows_of[bits, "CPU"]
        findings.add_at_largest(f"key-{bits}", SIZES, cpu, rows_of[128, "CPU"])
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
