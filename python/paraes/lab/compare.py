"""Compare two measurements of the same rows: faster, slower or undecided."""

from __future__ import annotations

from paraes.lab.analysis.rivals import VERDICT_NOTE
from paraes.lab.analysis.rows import distinct, job_text
from paraes.lab.bench import Report, Row, machine_of
from paraes.lab.document import Block, Cell, Column, Document, Estimate, Paragraph, Section, Table
from paraes.lab.errors import LabError
from paraes.lab.statistics import compare


def _by_axes(report: Report) -> dict[tuple, Row]:
    # `cache` follows from the size and the machine, so it does not identify a row.
    found: dict[tuple, Row] = {}
    for row in distinct(report.valid):
        found.setdefault(row.axes("cache"), row)
    return found


def document(a: Report, b: Report) -> Document:
    """Compare every row that both reports have."""
    before, after = _by_axes(a), _by_axes(b)
    common = [key for key in before if key in after]
    names = (a.sources[0], b.sources[0])
    if not common:
        raise LabError(
            f"{names[0]} and {names[1]} have no row in common: measure both with the same axes"
        )
    body: list[list[Cell]] = []
    counts = {"faster": 0, "slower": 0, "undecided": 0}
    for key in common:
        x, y = before[key], after[key]
        c = compare(y.samples_ns, x.samples_ns)
        counts[c.verdict] += 1
        body.append(
            [
                x.label(),
                job_text(x, size=False),
                x.bytes,
                x.mb_per_s,
                y.mb_per_s,
                Estimate(c.ratio, c.ratio_interval),
                c.p,
                c.verdict,
            ]
        )
    columns = [
        Column("device and kernel; (rival)", "text"),
        Column("job", "text"),
        Column("size", "size"),
        Column("a", unit="MB/s"),
        Column("b", unit="MB/s"),
        Column("a's time / b's time, 95 %"),
        Column("p"),
        Column("b is", "text"),
    ]
    notes = [VERDICT_NOTE]
    if len(common) >= 20:
        notes.append(
            f"Expect a few of {len(common)} comparisons to be decided by chance: the tests are not "
            "corrected for their number."
        )
    words = [
        f"b is faster in {counts['faster']}, slower in {counts['slower']}, "
        f"undecided in {counts['undecided']} of {len(common)} rows."
    ]
    if machine_of(a.context) != machine_of(b.context):
        words.append(
            "The reports come from different machines, so this also compares the machines."
        )
    only = (len(before) - len(common), len(after) - len(common))
    if any(only):
        words.append(f"Not compared: {only[0]} rows that only a has, {only[1]} that only b has.")
    table = Table("comparison", f"a: {names[0]}; b: {names[1]}", columns, body, notes)
    blocks: list[Block] = [*(Paragraph(w) for w in words), table]
    return Document(
        "Comparison",
        f"a is {names[0]}, b is {names[1]}.",
        [Section("comparison-section", "Rows in common", blocks)],
    )
