"""Sections that every paper's chapter has."""

from __future__ import annotations

from typing import Any

from paraes.lab.document import (
    Bullets,
    Cell,
    Column,
    Missing,
    Paragraph,
    Section,
    Table,
)
from paraes.lab.papers.claims import Findings
from paraes.lab.papers.data import Paper, recompute
from paraes.lab.papers.evidence import Device
from paraes.lab.papers.setting import QUICK_SAMPLES
from paraes.lab.units import size_text


def drop_absent(table: Table, device: Device) -> None:
    """Leave out the rows and columns of an absent GPU; its other cells become plain dashes.

    The reason is said once, on the first screen, and not below every table.
    """
    if device.id is not None:
        return

    def is_absent(cell: Cell) -> bool:
        return isinstance(cell, Missing) and cell.reason == device.reason

    by_size = table.columns[0].kind == "size"
    table.rows[:] = [
        row
        for row in table.rows
        if by_size
        or not any(map(is_absent, row))
        or not all(isinstance(cell, (str, Missing)) for cell in row)
    ]
    # A column of the GPU also has cells that are missing because their size was left out.
    gone = [
        i
        for i in range(1, len(table.columns))
        if by_size
        and any(is_absent(row[i]) for row in table.rows)
        and all(isinstance(row[i], Missing) for row in table.rows)
    ]
    table.columns = [column for i, column in enumerate(table.columns) if i not in gone]
    table.rows[:] = [
        [None if is_absent(cell) else cell for i, cell in enumerate(row) if i not in gone]
        for row in table.rows
    ]


def introduction(findings: Findings, ours: str) -> Section:
    """Return the section on the paper, its experiment and machine, and the experiment here."""
    paper, evidence = findings.paper, findings.evidence
    raw, setting = paper.raw, evidence.setting
    items = [
        f"{raw['authors']}: {raw['title']}. {raw['where']}.",
        f"Their experiment: {raw['what']}.",
        f"Their machine: {raw['machine']}.",
        f"Sizes: {raw['size_unit']}.",
        f"Here: {ours}",
    ]
    device = evidence.device
    if device.id is None:
        left_out = (device.reason or "").startswith("left out")
        items.append("GPU: left out (--device cpu)." if left_out else "GPU: none.")
    elif device.is_cpu:
        items.append(
            f"{device.id} ({device.name}) is this machine's CPU, through OpenCL. It stands in for "
            "a GPU because --device named it: its rows show that the GPU kernels are correct, and "
            "nothing about the speed of GPUs."
        )
    else:
        items.append(f"GPU: {device.id}, {device.name}.")
    if setting.processes > 1:
        items.append(f"Each run of the bench was repeated in {setting.processes} processes.")
    else:
        items.append("Each run of the bench is one process: most claims stay undecided.")
    if setting.quick:
        largest = max((row.bytes for row in evidence.report.rows), default=0)
        items.append(
            f"A quick run: sizes up to {size_text(largest)}, {setting.samples or QUICK_SAMPLES} "
            "samples. It checks that everything works; for numbers to cite, run without --quick."
        )
    items += raw.get("remarks", [])
    return Section(paper.id, f"{raw['short']} ({paper.id})", [Bullets(items)], level=1)


def _side(side: dict[str, str]) -> str:
    return f"{side['value']} {side['unit']} ({side['where']})".replace("  ", " ")


def contradictions(paper: Paper) -> Section:
    """Return where the paper contradicts itself: as listed, and as recomputed."""
    listed = Table(
        f"{paper.id}-contradictions",
        "Contradictions within the paper",
        [Column(t, "text") for t in ("about", "one side", "the other", "note")],
        [
            [item["about"], *map(_side, item["sides"]), item["note"]]
            for item in paper.raw["contradictions"]
        ],
    )
    numbers = recompute(paper)
    wrong = [n for n in numbers if not n.agrees]
    text = (
        f"{len(numbers)} printed numbers were recomputed from the paper's other numbers; "
        f"{len(wrong)} of them {'differs' if len(wrong) == 1 else 'differ'} by more than "
        "rounding explains."
    )
    recomputed = Table(
        f"{paper.id}-recomputed",
        "Printed numbers that differ from those recomputed",
        [
            Column("where", "text"),
            Column("quantity", "text"),
            Column("printed", "printed"),
            Column("computed"),
        ],
        [[n.where, n.what, f"{n.printed.text} {n.printed.unit}".strip(), n.value] for n in wrong],
    )
    blocks = [listed, *([Paragraph(text)] if numbers else []), recomputed]
    return Section(f"{paper.id}-own", "Consistency of the paper's numbers", blocks)


def pictures(paper: Paper) -> Section:
    """List the paper's plots, from which no numbers are taken, and its statements."""
    texts = [f"{p['figure']}: {p['shows']}." for p in paper.raw["pictures"]]
    statements = [f"{s['where']}: {s['says']}." for s in paper.raw["statements"]]
    blocks: list[Any] = [Paragraph("Plots of the paper (no numbers were read off them):")]
    blocks.append(Bullets(texts))
    if statements:
        blocks += [Paragraph("Statements in its text:"), Bullets(statements)]
    title = "The paper's plots and statements"
    return Section(f"{paper.id}-pictures", title, blocks if texts else [])
