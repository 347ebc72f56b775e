"""Rows of paraes beside rivals that do the same job."""

from __future__ import annotations

from paraes.lab.analysis.rows import (
    JOB,
    UNITS_NOTE,
    job_text,
    label_in,
    values_of,
)
from paraes.lab.configurations import ratio_of
from paraes.lab.document import (
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
    compared = [(row, rival, ratio_of(rival, row, alpha)) for row, rival in pairs]
    columns = [
        (Column("paraes", "text"), lambda of: label_in(of[0], rows)),
        (Column("rival", "text"), lambda of: of[1].name),
        (Column("job", "text"), lambda of: job_text(of[0], size=False)),
        (Column("size", "size"), lambda of: of[0].bytes),
        (
            Column(f"rival's time / paraes' time, {level_text(alpha)}"),
            lambda of: Estimate(of[2].value, of[2].interval),
        ),
        (Column("paraes is", "text"), lambda of: verdict(of[2].interval)),
    ]
    caption = "paraes and rivals on the same job"
    table = Table.of("rivals", caption, compared, columns, [rule(len(pairs)), UNITS_NOTE])
    return Section("rivals", "Comparison with rivals", [table])


def _same_job(row: Row, rival: Row) -> bool:
    if row.rival or values_of(row, JOB) != values_of(rival, JOB) or row.on_gpu != rival.on_gpu:
        return False
    return row.scope != "memory" or row.threads == rival.threads
