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
from paraes.lab.scaling import Fit, Point, Scaling, scalings, weak_scalings

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


def speedup_cell(point: Point) -> Cell:
    """Return the speedup with its interval."""
    return Estimate(point.speedup, point.speedup_interval)


def efficiency_cell(point: Point) -> Cell:
    """Return the efficiency with its interval."""
    return Estimate(point.efficiency, point.efficiency_interval)


def karp_flatt_cell(point: Point) -> Cell:
    """Return the serial fraction with its interval; None for one worker."""
    if point.karp_flatt is None:
        return None
    return Estimate(point.karp_flatt, point.karp_flatt_interval)


def _marks(point: Point) -> str:
    marks = []
    if point.superlinear:
        marks.append("superlinear" if point.superlinear == "yes" else "superlinear within noise")
    if point.more_than_cores:
        marks.append("more workers than cores")
    return ", ".join(marks)


def scaling_section(rows: list[Row], cores: int | None) -> Section | None:
    """Tabulate speedup, efficiency and Karp–Flatt over threads and ranks, with fits."""
    found = scalings(rows, cores)
    weak = weak_scalings(rows, cores)
    if not found:
        return None
    points = [(_series_text(s), p) for s in found for p in s.points]
    columns = [
        (Column("series", "text"), lambda of: of[0]),
        (Column("workers"), lambda of: of[1].workers),
        (Column("median", "ns"), lambda of: of[1].row.median_ns),
        (Column("speedup, 95 %", unit="×"), lambda of: speedup_cell(of[1])),
        (Column("against the best serial kernel", unit="×"), lambda of: of[1].best_serial),
        (Column("efficiency"), lambda of: efficiency_cell(of[1])),
        (Column("Karp–Flatt e, 95 %"), lambda of: karp_flatt_cell(of[1])),
        (Column("note", "text"), lambda of: _marks(of[1])),
    ]
    caption = "Speedup, efficiency and Karp–Flatt"
    table = Table.of("scaling", caption, points, columns, [UNITS_NOTE], keys=2)
    fits = [["Amdahl", _series_text(s), *fit_cells(s.fit)] for s in found if s.fit is not None]
    for w in weak:
        text = f"{w.base.name}, {job_text(w.base)} a thread"
        text += " by OpenMP" if w.executor == OPENMP else ""
        fits.append(["Gustafson", text, *fit_cells(w.fit)])
    notes = [FITS_NOTE, RESIDUAL_NOTE]
    if not weak:
        notes.append("Gustafson: not fitted; it needs rows whose size grows with the threads.")
    fit_columns = [Column("law", "text"), Column("series", "text"), *FIT_COLUMNS]
    caption = "Amdahl's and Gustafson's laws, fitted"
    fit_table = Table("scaling-fits", caption, fit_columns, fits, notes)
    several = [s for s in found if len(s.points) > 2]
    block: Any = table
    if several:
        names, shared = _without_shared([_series_text(s) for s in several])
        lines = [
            Series.of(name, ((p.workers, speedup_cell(p)) for p in s.points))
            for name, s in zip(names, several, strict=True)
        ]
        top = max(max(line.x) for line in lines)
        lines.append(Series("ideal", [1.0, top], [1.0, top], origin="predicted"))
        block = Figure(
            "scaling-speedup",
            f"Speedup over workers: {shared}" if shared else "Speedup over workers",
            "Speedup against one worker over the number of threads or ranks, with the ideal line.",
            Axis("workers", "log", "count"),
            Axis("speedup", "log"),
            lines,
            table,
        )
    return Section("scaling-section", "Scaling", [block, fit_table])
