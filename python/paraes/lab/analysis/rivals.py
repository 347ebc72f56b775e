"""Rows of paraes beside rivals that do the same job."""

from __future__ import annotations

from paraes.lab.analysis.rows import (
    UNITS_NOTE,
    job_of,
    job_text,
    label_in,
)
from paraes.lab.configurations import ratio_of
from paraes.lab.document import (
    Cell,
    Column,
    Estimate,
    Section,
    Table,
)
from paraes.lab.rows import Row
from paraes.lab.verdicts import alpha_of, level_text, rule, verdict


def rivals_section(rows: list[Row]) -> Section | None:
    """Compare every row of paraes with every rival that does the same job.

    In memory scope the rival must have run on as many threads.
    """
    pairs = [
        (row, rival)
        for rival in rows
        if rival.rival and rival.mode is not None and not rival.is_ports
        for row in rows
        if _same_job(row, rival)
    ]
    if not pairs:
        return None
    alpha = alpha_of(len(pairs))
    body: list[list[Cell]] = []
    for row, rival in pairs:
        ratio = ratio_of(rival, row, alpha)
        body.append(
            [
                label_in(row, rows),
                rival.name,
                job_text(row, size=False),
                row.bytes,
                Estimate(ratio.value, ratio.interval),
                verdict(ratio.interval),
            ]
        )
    columns = [
        Column("paraes", "text"),
        Column("rival", "text"),
        Column("job", "text"),
        Column("size", "size"),
        Column(f"rival's time / paraes' time, {level_text(alpha)}"),
        Column("paraes is", "text"),
    ]
    caption = "paraes and rivals on the same job"
    table = Table("rivals", caption, columns, body, [rule(len(pairs)), UNITS_NOTE])
    return Section("rivals", "Comparison with rivals", [table])


def _same_job(row: Row, rival: Row) -> bool:
    if row.rival or job_of(row) != job_of(rival) or row.on_gpu != rival.on_gpu:
        return False
    return row.scope != "memory" or row.threads == rival.threads
