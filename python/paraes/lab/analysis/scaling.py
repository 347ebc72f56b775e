"""Speedup, efficiency and Karp–Flatt over threads and ranks, with fitted laws."""

from __future__ import annotations

from typing import Any

from paraes.lab.analysis.rows import (
    UNITS_NOTE,
    job_text,
)
from paraes.lab.document import (
    Axis,
    Cell,
    Column,
    Estimate,
    Figure,
    Section,
    Series,
    Table,
)
from paraes.lab.rows import OPENMP, Row
from paraes.lab.scaling import Fit, Scaling, scalings, weak_scalings

FIT_COLUMNS = [Column("serial fraction, 95 %"), Column("residual", "percent"), Column("points")]


FITS_NOTE = (
    "points: numbers of workers above 1. A law is fitted to two or more of them, because one point "
    "cannot confirm it. More workers than cores are left out."
)
RESIDUAL_NOTE = "residual: root mean square of the relative errors of the fit"


def fit_cells(fit: Fit) -> list[Cell]:
    """Return the cells of a fit, in the order of FIT_COLUMNS."""
    return [Estimate(fit.fraction, fit.interval), 100 * fit.residual, fit.points]


def _series_text(scaling: Scaling) -> str:
    row = scaling.base
    several = [p.row for p in scaling.points if p.row.ranks > 1]
    kind = "ranks" if several else "threads"
    if several and several[0].distribution:
        kind += f" ({several[0].distribution})"
    if not several and scaling.points[-1].row.executor == OPENMP:
        kind += " by OpenMP"
    return f"{row.name}, {kind}, {job_text(row)}"


def _without_shared(names: list[str]) -> tuple[list[str], str]:
    """Return the names without the parts that all of them have, and these parts."""
    parts = [name.split(", ") for name in names]
    shared = set(parts[0]).intersection(*parts[1:]) if len(parts) > 1 else set()
    own = [", ".join(p for p in of if p not in shared) or ", ".join(of) for of in parts]
    return own, ", ".join(p for p in parts[0] if p in shared)


def _scaling_rows(scaling: Scaling) -> list[list[Cell]]:
    body: list[list[Cell]] = []
    for p in scaling.points:
        marks = []
        if p.superlinear:
            marks.append("superlinear" if p.superlinear == "yes" else "superlinear within noise")
        if p.more_than_cores:
            marks.append("more workers than cores")
        body.append(
            [
                _series_text(scaling),
                p.workers,
                p.row.median_ns,
                Estimate(p.speedup, p.speedup_interval),
                p.best_serial,
                Estimate(p.efficiency, p.efficiency_interval),
                None if p.karp_flatt is None else Estimate(p.karp_flatt, p.karp_flatt_interval),
                ", ".join(marks),
            ]
        )
    return body


def scaling_section(rows: list[Row], cores: int | None) -> Section | None:
    """Tabulate speedup, efficiency and Karp–Flatt over threads and ranks, with fits."""
    found = scalings(rows, cores)
    weak = weak_scalings(rows, cores)
    if not found:
        return None
    body = [line for scaling in found for line in _scaling_rows(scaling)]
    columns = [
        Column("series", "text"),
        Column("workers"),
        Column("median", "ns"),
        Column("speedup, 95 %", unit="×"),
        Column("against the best serial kernel", unit="×"),
        Column("efficiency"),
        Column("Karp–Flatt e, 95 %"),
        Column("note", "text"),
    ]
    table = Table(
        "scaling", "Speedup, efficiency and Karp–Flatt", columns, body, [UNITS_NOTE], keys=2
    )
    fits: list[list[Cell]] = []
    for s in found:
        if s.fit is not None:
            fits.append(["Amdahl", _series_text(s), *fit_cells(s.fit)])
    for w in weak:
        text = f"{w.base.name}, {job_text(w.base)} a thread"
        text += " by OpenMP" if w.executor == OPENMP else ""
        fits.append(["Gustafson", text, *fit_cells(w.fit)])
    notes = [FITS_NOTE, RESIDUAL_NOTE]
    if not weak:
        notes.append("Gustafson: not fitted; it needs rows whose size grows with the threads.")
    fit_table = Table(
        "scaling-fits",
        "Amdahl's and Gustafson's laws, fitted",
        [
            Column("law", "text"),
            Column("series", "text"),
            *FIT_COLUMNS,
        ],
        fits,
        notes,
    )
    several = [s for s in found if len(s.points) > 2]
    blocks: list[Any] = []
    if several:
        names, shared = _without_shared([_series_text(s) for s in several])
        lines = [
            Series.of(
                name,
                ((p.workers, Estimate(p.speedup, p.speedup_interval)) for p in s.points),
            )
            for name, s in zip(names, several, strict=True)
        ]
        top = max(max(line.x) for line in lines)
        lines.append(Series("ideal", [1.0, top], [1.0, top], origin="predicted"))
        blocks.append(
            Figure(
                "scaling-speedup",
                f"Speedup over workers: {shared}" if shared else "Speedup over workers",
                "Speedup against one worker over the number of threads or ranks, with the ideal "
                "line.",
                Axis("workers", "log", "count"),
                Axis("speedup", "log"),
                lines,
                table,
            )
        )
    else:
        blocks.append(table)
    return Section("scaling-section", "Scaling", [*blocks, fit_table])
