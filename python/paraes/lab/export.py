"""Write a Document as Markdown or CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

from paraes.lab.document import (
    AsPrinted,
    Bullets,
    Cell,
    Document,
    Estimate,
    Facts,
    Missing,
    Paragraph,
    Predicted,
    Table,
    predicted_text,
    table_of,
)
from paraes.lab.files import make_folder, write_whole


def _pipe(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
    # A < before a space begins no tag; it is left alone to stay readable on a terminal.
    return re.sub(r"<(?! )", "&lt;", text)


def markdown_table(table: Table) -> str:
    """Return a pipe table with its caption, footnotes and notes."""
    lines = [f"**{_pipe(table.caption)}**", ""]
    lines.append("| " + " | ".join(_pipe(c.heading) or " " for c in table.columns) + " |")
    lines.append("|" + "|".join("---:" if c.numeric else "---" for c in table.columns) + "|")
    lines += ["| " + " | ".join(_pipe(text) for text in row) + " |" for row in table.texts()]
    for note in table.all_notes():
        lines += ["", _pipe(note)]
    return "\n".join(lines) + "\n"


def markdown(document: Document) -> str:
    """Return the document as Markdown, with the tables of figures in place of the figures."""
    parts = [f"# {document.title}\n\n{document.lead}\n"]
    for section in document.sections:
        parts.append(f"{'#' * (section.level + 1)} {section.title}\n")
        for block in section.blocks:
            if isinstance(block, Paragraph):
                parts.append(f"{block.text}\n")
            elif isinstance(block, Bullets):
                parts.append("".join(f"- {item}\n" for item in block.items))
            elif isinstance(block, Facts):
                parts.append("".join(f"- **{name}**: {text}\n" for name, text in block.items))
            elif table := table_of(block):
                parts.append(markdown_table(table))
    return "\n".join(parts)


def _csv_cells(cell: Cell) -> list[object]:
    """Return value, low, high and note of a cell."""
    if isinstance(cell, (Estimate, Predicted)):
        ends = [cell.interval.low, cell.interval.high] if cell.interval else ["", ""]
        note = "range, no interval" if cell.interval and cell.interval.is_range else ""
        if isinstance(cell, Predicted):
            note = predicted_text(cell)
        return [cell.value, *ends, note]
    if isinstance(cell, Missing):
        return ["", "", "", cell.reason]
    if isinstance(cell, AsPrinted):
        return [cell.text, "", "", ""]
    return ["" if cell is None else cell, "", "", ""]


def csv_table(table: Table) -> str:
    """Return the table as CSV, with all digits of its numbers.

    A column with intervals, predictions or missing values is followed by three more: low, high,
    note. Where a heading has no unit of its own, sizes are in bytes and times in ns, ms or s.
    """
    rich = [
        any(isinstance(row[i], (Estimate, Missing, Predicted)) for row in table.rows)
        for i in range(len(table.columns))
    ]

    def line(of: Iterable[list[object]]) -> list[object]:
        return [c for cells, more in zip(of, rich, strict=True) for c in cells[: 4 if more else 1]]

    names = [column.full_heading for column in table.columns]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(line([name, f"{name} low", f"{name} high", f"{name} note"] for name in names))
    writer.writerows(line(map(_csv_cells, row)) for row in table.rows)
    return buffer.getvalue()


def write_csv(document: Document, folder: Path) -> None:
    """Write every table as a file in `folder`."""
    make_folder(folder)
    for table in document.tables():
        write_whole(folder / f"{table.name}.csv", csv_table(table))
