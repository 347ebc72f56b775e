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
from paraes.lab.papers.data import Paper, recompute
from paraes.lab.papers.evidence import Device, Evidence
from paraes.lab.papers.setting import QUICK_SAMPLES
from paraes.lab.units import size_text


def gather_absent(table: Table, device: Device) -> None:
    """Replace the cells of an absent GPU in `table` by a single row with the reason."""
    if device.id is not None:
        return

    def is_absent(cell: Cell) -> bool:
        return isinstance(cell, Missing) and cell.reason == device.reason

    if table.columns[0].kind == "size":
        absent = []
        for i in range(1, len(table.columns)):
            cells = [row[i] for row in table.rows]
            # A column of the GPU also has cells that are missing because their size was left out.
            if any(map(is_absent, cells)) and all(isinstance(cell, Missing) for cell in cells):
                absent.append(i)
        for row in table.rows:
            for i in absent:
                row[i] = None
        if absent:
            reason = Missing(device.reason or "")
            rest = [reason if i in absent else None for i in range(1, len(table.columns))]
            table.rows.append([device.title, *rest])
        return
    rows = [
        row
        for row in table.rows
        if any(map(is_absent, row)) and all(isinstance(cell, (str, Missing)) for cell in row)
    ]
    if not rows:
        return
    last = rows[-1]
    for i, (column, cells) in enumerate(zip(table.columns, zip(*rows, strict=True), strict=True)):
        if not column.numeric:
            last[i] = "; ".join(dict.fromkeys(cells))
        elif isinstance(last[i], Missing):  # perhaps because its size was left out
            last[i] = Missing(device.reason or "")
    table.rows[:] = [row for row in table.rows if not any(row is other for other in rows[:-1])]


def introduction(paper: Paper, evidence: Evidence, ours: str) -> Section:
    """Return the section on the paper, its experiment and machine, and the experiment here."""
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
        items.append(f"GPU: none. {device.reason}.")
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


def contradictions(paper: Paper) -> Section | None:
    """Return where the paper contradicts itself: as listed, and as recomputed."""
    rows: list[list[Cell]] = []
    for item in paper.raw["contradictions"]:
        sides = item["sides"]
        cells = [f"{s['value']} {s['unit']} ({s['where']})".replace("  ", " ") for s in sides]
        rows.append([item["about"], *cells, item["note"]])
    numbers = recompute(paper)
    blocks: list[Any] = []
    if rows:
        blocks.append(
            Table(
                f"{paper.id}-contradictions",
                "Contradictions within the paper",
                [Column(t, "text") for t in ("about", "one side", "the other", "note")],
                rows,
            )
        )
    if numbers:
        wrong = [n for n in numbers if not n.agrees]
        blocks.append(
            Paragraph(
                f"{len(numbers)} printed numbers were recomputed from the paper's other numbers; "
                f"{len(wrong)} of them {'differs' if len(wrong) == 1 else 'differ'} by more than "
                "rounding explains."
            )
        )
        if wrong:
            blocks.append(
                Table(
                    f"{paper.id}-recomputed",
                    "Printed numbers that differ from those recomputed",
                    [
                        Column("where", "text"),
                        Column("quantity", "text"),
                        Column("printed", "printed"),
                        Column("computed"),
                    ],
                    [
                        [n.where, n.what, f"{n.printed.text} {n.printed.unit}".strip(), n.value]
                        for n in wrong
                    ],
                )
            )
    if not blocks:
        return None
    return Section(f"{paper.id}-own", "Consistency of the paper's numbers", blocks)


def pictures(paper: Paper) -> Section | None:
    """List the paper's plots, from which no numbers are taken, and its statements."""
    if not paper.raw["pictures"]:
        return None
    texts = [f"{p['figure']}: {p['shows']}." for p in paper.raw["pictures"]]
    statements = [f"{s['where']}: {s['says']}." for s in paper.raw["statements"]]
    blocks: list[Any] = [Paragraph("Plots of the paper (no numbers were read off them):")]
    blocks.append(Bullets(texts))
    if statements:
        blocks += [Paragraph("Statements in its text:"), Bullets(statements)]
    return Section(f"{paper.id}-pictures", "The paper's plots and statements", blocks)
