"""Shared by the experiments of all papers: settings, lookups of rows, cells, findings, chapters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraes.lab.bench import AXES, OPENMP, Report, Row, Skip
from paraes.lab.crossover import Crossover, crossover
from paraes.lab.derived import phase_times
from paraes.lab.document import (
    Axis,
    Bullets,
    Cell,
    Column,
    Estimate,
    Figure,
    Missing,
    Paragraph,
    Predicted,
    Section,
    Series,
    Table,
    median_estimate,
)
from paraes.lab.measure import GPU
from paraes.lab.papers.data import Paper, Printed, recompute
from paraes.lab.statistics import bootstrap
from paraes.lab.units import significant, size_text

MIB = 1 << 20
AGREEMENT = "Agreement with the paper"  # title of the last section of every chapter
QUICK_SIZE = 1 * MIB
QUICK_SAMPLES = 7  # a 95 % interval of the median needs at least 6


@dataclass(frozen=True)
class Setting:
    """How an experiment is run on this machine. Sizes are in bytes."""

    cores: int
    quick: bool = False
    max_size: int | None = None
    samples: int | None = None
    min_time: float = 0.0  # least seconds of timed work per row
    ranks: Sequence[int] | None = None  # numbers of ranks of --ranks; they may exceed the cores

    def sizes(self, wanted: Iterable[int]) -> list[int]:
        """Return the sizes that are measured."""
        limit = self.max_size or (QUICK_SIZE if self.quick else None)
        return [size for size in wanted if limit is None or size <= limit]

    def samples_of(self, size: int) -> int:
        """Return the samples per row: fewer for sizes at which one call may take seconds."""
        if self.samples is not None:
            return self.samples
        if self.quick or size > 16 * MIB:
            return QUICK_SAMPLES
        return 21

    def why_left_out(self) -> str:
        """Return the reason shown for sizes that were left out."""
        if self.max_size is not None:
            return f"left out: --max-size {size_text(self.max_size)}"
        return "left out by --quick"

    def thread_counts(self, limit: int = 8) -> list[int]:
        """Return 1, 2, 4, … and the number of cores, none above the cores or `limit`."""
        top = max(1, min(self.cores, limit))
        counts = [1 << i for i in range(top.bit_length()) if 1 << i <= top]
        return counts if counts[-1] == top else [*counts, top]

    def rank_counts(self) -> list[int]:
        """Return the numbers of --ranks, or those of 2, 4, 8, 16, 32 that the cores allow."""
        if self.ranks is not None:
            return list(self.ranks)
        return [ranks for ranks in (2, 4, 8, 16, 32) if ranks <= self.cores]


@dataclass
class Device:
    """The GPU of the experiment. `reason` says why there is none if `id` is None."""

    id: str | None
    name: str | None
    is_cpu: bool
    reason: str | None

    @property
    def title(self) -> str:
        """The name for headings, which says so if a CPU stands in for a GPU."""
        if self.id is None:
            return "GPU"
        return f"{self.id} (a CPU)" if self.is_cpu else self.id


@dataclass
class Evidence:
    """The rows of one paper's experiment."""

    report: Report
    setting: Setting
    device: Device

    def find(self, **axes: Any) -> Row | None:
        """Return the first valid row of paraes with these axes; GPU stands for `self.device`."""
        if axes.get("device") == GPU:
            axes["device"] = self.device.id or GPU
        for row in self.report.valid:
            if row.rival is None and all(getattr(row, k) == v for k, v in axes.items()):
                return row
        return None

    def why(self, **axes: Any) -> str:
        """Return the reason why there is no such row."""
        if axes.get("device") == GPU:
            if self.device.id is None:
                return self.device.reason or "no GPU"
            axes["device"] = self.device.id
        size = axes.get("bytes")
        if size is not None and not self.setting.sizes([size]):
            return self.setting.why_left_out()
        for row in self.report.rows:
            if all(getattr(row, k) == v for k, v in axes.items()) and not row.verified:
                return "the output was WRONG or the run failed"
        for skip in self.report.skipped:
            if _fits(skip, axes):
                return skip.reason
        return "not measured"

    def need(self, **axes: Any) -> Row | Missing:
        """Return the row, or a Missing with the reason."""
        row = self.find(**axes)
        return row if row is not None else Missing(self.why(**axes))


def _fits(skip: Skip, axes: dict[str, Any]) -> bool:
    # An absent device is listed once for each scope, without the other axes.
    whole_device = not skip.axes.get("bytes")
    names = ("device", "scope", "rival") if whole_device else tuple(a for a in AXES if a in axes)
    return all(skip.axes.get(name) == axes[name] for name in names if name in axes)


def executor_of(threads: int) -> str | None:
    """Return the executor axis of a row run by OpenMP: None for one thread."""
    return OPENMP if threads > 1 else None


# ------------------------------------------------------------------------------------------ cells


def seconds(row: Row | Missing) -> Cell:
    """Return the median in seconds, with its interval."""
    if isinstance(row, Missing):
        return row
    return median_estimate(row.samples_ns, 1e-9)


def phase(row: Row | Missing, *names: str) -> Cell:
    """Return the sum of phases in seconds; Missing if one of them was not measured.

    It has an interval if every phase has samples.
    """
    if isinstance(row, Missing):
        return row
    times = phase_times(row, *names)
    if times is None:
        return Missing("the bench did not measure this phase")
    return times * 1e-9 if isinstance(times, float) else median_estimate(times, 1e-9)


def add(*cells: Cell) -> Cell:
    """Return the sum of cells, or the first of them that has no value."""
    total = 0.0
    for cell in cells:
        if isinstance(cell, Missing) or cell is None:
            return cell
        total += cell.value if isinstance(cell, Estimate) else float(cell)
    return total


def ratio(over: Row | Missing, under: Row | Missing) -> Cell:
    """Return the median time of `over` divided by that of `under`, with a bootstrap interval."""
    for row in (over, under):
        if isinstance(row, Missing):
            return row
    assert isinstance(over, Row) and isinstance(under, Row)
    interval, _ = bootstrap([over.samples_ns, under.samples_ns], lambda a, b: a / b)
    return Estimate(over.median_ns / under.median_ns, interval)


def rate(row: Row | Missing) -> Cell:
    """Return the rate in 10**6 bytes a second."""
    return row if isinstance(row, Missing) else row.mb_per_s


def value_of(cell: Cell) -> float | None:
    """Return the measured number of a cell; None for a Missing, a Predicted or text."""
    if isinstance(cell, Estimate):
        return cell.value
    return float(cell) if isinstance(cell, (int, float)) else None


def divide(over: Cell, under: float | None) -> Cell:
    """Divide a cell by a paper's number."""
    if isinstance(over, Missing):
        return over
    value = value_of(over)
    if value is None or not under:
        return None
    return value / under


# --------------------------------------------------------------------------------------- findings


@dataclass(frozen=True)
class Finding:
    """A statement of the paper beside the result on this machine.

    `verdict` is agrees, differs, undecided (the interval extends past the limit), predicted, not
    measured, or not in the paper. `rule` says what counts as agreement.
    """

    about: str
    paper: str
    here: str
    verdict: str
    rule: str = ""


def findings_table(name: str, findings: list[Finding], device: Device) -> Table:
    """Return the table of findings that ends every reproduction."""
    counts = {v: sum(f.verdict == v for f in findings) for v in ("agrees", "differs")}
    notes = [
        "A finding on a number with a 95 % interval is undecided if the interval extends past the "
        "limit of agreement. Findings without an interval compare medians.",
        "Intervals cover the variation within one run of the bench. Each size is a run of its own: "
        "no interval covers the variation between runs.",
    ]
    if device.is_cpu:
        notes.append(
            f"The CPU stands in for a GPU here, as {device.title}: "
            "its results say nothing about GPUs."
        )
    return Table(
        f"{name}-agreement",
        f"{AGREEMENT}: {counts['agrees']} agree, {counts['differs']} differ, "
        f"{len(findings) - sum(counts.values())} could not be compared or decided",
        [Column(t, "text") for t in ("about", "the paper", "this machine", "verdict", "agrees if")],
        [[f.about, f.paper, f.here, f.verdict, f.rule] for f in findings],
        notes,
    )


def judge(agrees: bool | None) -> str:
    """Return the verdict for yes, no, or None if there are no rows."""
    return "not measured" if agrees is None else "agrees" if agrees else "differs"


def ends_of(cell: Cell) -> tuple[float, float] | None:
    """Return the ends of a cell's interval; a number without one is its own interval."""
    value = value_of(cell)
    if value is None:
        return None
    interval = cell.interval if isinstance(cell, Estimate) else None
    return (interval.low, interval.high) if interval else (value, value)


def judge_within(cell: Cell, low: float, high: float) -> str:
    """Judge whether a cell lies in [low, high]: undecided if its interval contains an end."""
    ends = ends_of(cell)
    if ends is None:
        return "not measured"
    if low <= ends[0] and ends[1] <= high:
        return "agrees"
    return "differs" if ends[1] < low or ends[0] > high else "undecided"


def compare_order(
    about: str, size: int, paper: dict[str, float | None], ours: dict[str, Cell]
) -> Finding:
    """Judge whether the implementations measured here are in the paper's order, fastest first."""
    rule = "same order of those measured"
    about = f"{about}, {size_text(size)}"
    stated = {name: value for name, value in paper.items() if value}
    known = {n: ends for n, c in ours.items() if (ends := ends_of(c)) is not None and n in stated}
    if len(known) < 2:
        text = " < ".join(sorted(stated, key=lambda n: stated[n]))
        return Finding(about, text, "fewer than two of them were measured", "not measured", rule)
    theirs = sorted(known, key=lambda n: stated[n])
    mine = sorted(known, key=lambda n: value_of(ours[n]) or 0.0)
    pairs = [(a, b) for i, a in enumerate(theirs) for b in theirs[i + 1 :]]
    verdict = "agrees"
    if any(known[a][1] >= known[b][0] for a, b in pairs):
        verdict = "undecided"
    if any(known[a][0] > known[b][1] for a, b in pairs):
        verdict = "differs"
    return Finding(about, " < ".join(theirs), " < ".join(mine), verdict, rule)


def _missing(cell: Cell) -> str:
    reason = cell.reason if isinstance(cell, Missing) else "no value"
    return f"– ({shorten(reason)})"


def compare_ratio(about: str, theirs: float, ours: Cell) -> Finding:
    """Judge a speedup against the paper's.

    Speedups depend on the machine, so they agree if the same implementation is faster; the finding
    also states how far apart they are.
    """
    rule = "same side of 1"
    value, paper = value_of(ours), f"{significant(theirs)}×"
    if value is None:
        return Finding(about, paper, _missing(ours), "not measured", rule)
    text = f"{significant(value)}×, {significant(value / theirs, 3)} times the paper's"
    side = (1.0, float("inf")) if theirs > 1 else (0.0, 1.0)
    return Finding(about, paper, text, judge_within(ours, *side), rule)


def compare_near(about: str, theirs: float, ours: Cell, unit: str, tolerance: float) -> Finding:
    """Judge whether a number is within `tolerance` of the paper's, in the same unit."""
    rule = f"the paper's ± {significant(tolerance)}{unit}"
    value, paper = value_of(ours), f"{significant(theirs)}{unit}"
    if value is None:
        return Finding(about, paper, _missing(ours), "not measured", rule)
    verdict = judge_within(ours, theirs - tolerance, theirs + tolerance)
    return Finding(about, paper, f"{significant(value)}{unit}", verdict, rule)


def crossover_text(found: Crossover | None) -> str:
    """Describe a crossover in one line."""
    if found is None:
        return "fewer than two sizes were measured on both"
    if found.size is None or found.interval is None or found.between is None:
        return found.verdict
    text = (
        f"{size_text(found.size)}, 95 % from {size_text(found.interval.low)} to "
        f"{size_text(found.interval.high)}, between {size_text(found.between[0])} and "
        f"{size_text(found.between[1])}"
    )
    if found.changes > 1:
        text += f"; the faster one changes {found.changes} times"
    return text


def paper_crossover(
    sizes: list[int], incumbent: list[float], challenger: list[float]
) -> tuple[int, int] | None:
    """Return the printed sizes between which the challenger becomes faster and stays so."""
    ahead = [c <= i for i, c in zip(incumbent, challenger, strict=True)]
    for i in range(len(ahead) - 1, 0, -1):
        if ahead[i] and not ahead[i - 1]:
            return sizes[i - 1], sizes[i]
        if not ahead[i]:
            return None
    return None


def compare_crossover(
    about: str, theirs: tuple[int, int] | None, ours: Crossover | None
) -> Finding:
    """Judge whether the crossover lies between the same two sizes as the paper's."""
    rule = "between the same two sizes"
    paper = "none"
    if theirs is not None:
        paper = f"between {size_text(theirs[0])} and {size_text(theirs[1])}"
    if ours is None:
        return Finding(about, paper, crossover_text(ours), "not measured", rule)
    here = crossover_text(ours)
    if ours.size is None or ours.interval is None:
        if theirs is not None and ours.measured[1] < theirs[1]:
            here += f" (up to {size_text(ours.measured[1])})"
            return Finding(about, paper, here, "not measured", rule)
        return Finding(about, paper, here, judge(theirs is None), rule)
    if theirs is None:
        return Finding(about, paper, here, "differs", rule)
    ends = Estimate(ours.size, ours.interval)
    return Finding(about, paper, here, judge_within(ends, *theirs), rule)


def samples_by_size(rows: Iterable[Row | Missing]) -> dict[int, np.ndarray]:
    """Return the samples (ns) by size (bytes) of the rows that are not missing."""
    return {row.bytes: row.samples_ns for row in rows if isinstance(row, Row)}


def cross(
    incumbent: Iterable[Row | Missing], challenger: Iterable[Row | Missing]
) -> Crossover | None:
    """Find the crossover of two series of rows."""
    return crossover(samples_by_size(incumbent), samples_by_size(challenger))


def shorten(text: str, limit: int = 90) -> str:
    """Shorten a reason; the footnotes of the tables have all of it."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


# ---------------------------------------------------------------------------------------- figures


def measured_series(name: str, points: Iterable[tuple[float, Cell]]) -> Series | None:
    """Return a line through the points with measured values; None without any."""
    kept = [(x, c) for x, c in points if value_of(c) is not None]
    return Series.of(name, kept) if kept else None


def predicted_series(name: str, points: Iterable[tuple[float, Cell]]) -> Series | None:
    """Return a line through the points that are predictions; None without any."""
    kept = [(x, c) for x, c in points if isinstance(c, Predicted)]
    return Series.of(name, kept, "predicted") if kept else None


def paper_series(name: str, printed: dict[int, Printed], factor: float = 1.0) -> Series | None:
    """Return a line through the paper's numbers other than 0; None without any.

    0 has no place on a logarithmic axis.
    """
    kept = [(x, p.value * factor) for x, p in printed.items() if p.value]
    if not kept:
        return None
    return Series(name, [float(x) for x, _ in kept], [y for _, y in kept], origin="paper")


def line_figure(
    name: str,
    title: str,
    description: str,
    y_title: str,
    series: Iterable[Series | None],
    table: Table,
    x: Axis | None = None,
    y_scale: str = "log",
    level: float | None = None,
    level_name: str = "",
) -> Figure:
    """Return a figure of lines, by default over the size of the data."""
    return Figure(
        name,
        title,
        description,
        x or Axis("size of the data", "log", "size"),
        Axis(y_title, y_scale),
        [s for s in series if s is not None],
        table,
        level=level,
        level_name=level_name,
    )


# --------------------------------------------------------------------------------------- chapters


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


def printed_text(printed: Printed | None) -> str | None:
    """Return a paper's number as a cell."""
    return None if printed is None else printed.text


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
