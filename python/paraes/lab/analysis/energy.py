"""Energy, or why there is none."""

from __future__ import annotations

from paraes.lab.analysis.rows import (
    JOB_COLUMNS,
    job_cells,
    known_cell,
)
from paraes.lab.derived import (
    energy,
    joules_per_gigabyte,
)
from paraes.lab.document import (
    Bullets,
    Column,
    Paragraph,
    Section,
    Table,
)
from paraes.lab.rows import Row


def energy_section(rows: list[Row]) -> Section:
    """Tabulate energy where a counter was read, or list why there is none."""
    counted = [row for row in rows if energy(row).value is not None]
    if not counted:
        reasons = sorted({energy(row).why for row in rows})
        return Section(
            "energy-section",
            "Energy",
            [Paragraph("No energy was measured:"), Bullets(reasons or ["no rows"])],
        )
    body = [
        [*job_cells(r, rows), known_cell(energy(r)), known_cell(joules_per_gigabyte(r))]
        for r in rows
    ]
    columns = [
        *JOB_COLUMNS,
        Column("energy of a call", unit="J"),
        Column("energy", unit="J/GB, 10⁹ bytes"),
    ]
    note = (
        "A counter covers a whole CPU package or GPU: "
        "the values are meaningful only if the machine did nothing else."
    )
    table = Table("energy", "Energy as counted", columns, body, [note])
    return Section("energy-section", "Energy", [table])
