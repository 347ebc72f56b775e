"""Rows of paraes beside rivals that do the same job."""

from __future__ import annotations

from paraes.lab.analysis.rows import (
    job_of,
    job_text,
    label_in,
)
from paraes.lab.bench import Row
from paraes.lab.document import (
    Cell,
    Column,
    Estimate,
    Section,
    Table,
)
from paraes.lab.statistics import compare

VERDICT_NOTE = (
    "faster or slower: the two-sided Mann–Whitney test has p < 0.05 and the bootstrap interval of "
    "the ratio of medians excludes 1; otherwise undecided."
)


def rivals_section(rows: list[Row]) -> Section | None:
    """Compare every row of paraes with every rival that does the same job.

    In memory scope the rival must have run on as many threads.
    """
    body: list[list[Cell]] = []
    rivals = [r for r in rows if r.rival and r.mode is not None and not r.is_ports]
    for rival in rivals:
        for row in rows:
            if row.rival or job_of(row) != job_of(rival):
                continue
            if row.scope == "memory" and row.threads != rival.threads:
                continue
            if row.on_gpu != rival.on_gpu:
                continue
            c = compare(row.samples_ns, rival.samples_ns)
            body.append(
                [
                    label_in(row, rows),
                    rival.name,
                    job_text(row, size=False),
                    row.bytes,
                    Estimate(c.ratio, c.ratio_interval),
                    c.p,
                    c.verdict,
                ]
            )
    if not body:
        return None
    columns = [
        Column("paraes", "text"),
        Column("rival", "text"),
        Column("job", "text"),
        Column("size", "size"),
        Column("rival's time / paraes' time, 95 %"),
        Column("p"),
        Column("paraes is", "text"),
    ]
    return Section(
        "rivals",
        "Comparison with rivals",
        [Table("rivals", "paraes and rivals on the same job", columns, body, [VERDICT_NOTE])],
    )
