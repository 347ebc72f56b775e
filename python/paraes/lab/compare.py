"""Compare two measurements of the same configurations: faster, slower, the same or undecided.

The unit is the process, and both measurements must have been taken in turns: what a machine does
between two measurements is larger than most differences between programs. Where each measurement is
one process, its samples decide large differences only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from paraes.lab.analysis.rows import JOB_COLUMNS, job_text, label_in
from paraes.lab.configurations import NOT_IDENTIFYING, file_of, group, medians_of
from paraes.lab.document import (
    Block,
    Cell,
    Column,
    Document,
    Estimate,
    Missing,
    Paragraph,
    Section,
    Table,
)
from paraes.lab.errors import FAILED, NOTHING_DECIDED, LabError
from paraes.lab.machines import Machine, build_text, machine_of
from paraes.lab.rows import Process, Report, Row
from paraes.lab.statistics import (
    LEAST_PART,
    LEAST_UNITS,
    MOST_PARTS,
    Ratio,
    part_medians,
    ratio_of_two,
)
from paraes.lab.units import plural, significant
from paraes.lab.verdicts import (
    FASTER,
    LEAST_EFFECT,
    SAME,
    SLOWER,
    UNDECIDED,
    alpha_of,
    is_slower_by,
    level_text,
    rule,
    verdict,
)

WRONG = "WRONG"
# Two processes of one program may differ by this much without a reason. In bench/results, processes
# with enough samples differ by up to 15 % in rows of one thread; rows of several stay undecided.
PROCESS_SPREAD = 0.25
MEASURE = "paraes-lab measure a=PROGRAM b=PROGRAM -o DIR -- AXES"


@dataclass(frozen=True)
class Line:
    """One configuration of both. `ratio` is a's time over b's; None if one is wrong."""

    a: Row
    b: Row
    ratio: Ratio | None
    verdict: str
    reason: str | None  # why it is undecided or wrong
    one_process: bool = False  # a and b are one process each: the verdict is from their samples


@dataclass(frozen=True)
class Comparison:
    """All configurations that both measurements have."""

    names: tuple[str, str]
    lines: list[Line]
    remarks: list[str]
    least_effect: float

    def count(self, word: str) -> int:
        """Return how many verdicts are this word."""
        return sum(line.verdict == word for line in self.lines)

    def slower_by(self, share: float) -> tuple[list[Line], list[Line]]:
        """Return the lines in which b is slower by `share`, and those that leave it open."""
        judged = [
            (line, is_slower_by(line.ratio.interval, share))
            for line in self.lines
            if line.ratio is not None and line.reason is None
        ]
        open_ones = [line for line in self.lines if line.verdict != WRONG and line.reason]
        return [line for line, is_slower in judged if is_slower], [
            *open_ones,
            *[line for line, is_slower in judged if is_slower is None],
        ]


def split(report: Report) -> tuple[Report, Report]:
    """Split the processes of each configuration in two: the odd and the even ones, in time order.

    Processes of one turn stay together. Both halves are of the same programs, so a comparison that
    calls them different is wrong.
    """
    halves: tuple[list[Row], list[Row]] = ([], [])
    grouped = group(report)
    for row in grouped.rows:
        ordered = sorted(row.samples_of, key=_when)
        turns = list(dict.fromkeys(process.turn for process in ordered))
        in_turns = None not in turns and len(turns) > 1
        for i, process in enumerate(ordered):
            half = (turns.index(process.turn) if in_turns else i) % 2
            samples = row.samples_of[process]
            one = replace(row, process=process, samples_ns=samples, samples_of={process: samples})
            halves[half].append(one)
        if not ordered:  # it failed everywhere
            halves[0].append(row)
            halves[1].append(row)
    first, second = (replace(grouped, rows=rows) for rows in halves)
    return first, second


def _when(process: Process) -> tuple[str, int, int]:
    return (process.time or "", process.turn if process.turn is not None else -1, process.number)


def in_turns(a: Row, b: Row) -> bool:
    """Tell whether the processes of a and b took turns.

    There is at least one change for two processes, and each has at least a quarter of its processes
    in either half of the time. Then what changed on the machine in the meantime met both alike.
    """
    both = [*a.samples_of, *b.samples_of]
    timed = all(process.time for process in both)
    if not timed and not all(process.turn is not None for process in both):
        return False  # nothing is known of their order
    of_a = [(*_when(process), "a") for process in a.samples_of]
    of_b = [(*_when(process), "b") for process in b.samples_of]
    order = [when[-1] for when in sorted([*of_a, *of_b])]
    changes = sum(one != other for one, other in zip(order, order[1:], strict=False))
    early = order[: len(order) // 2]
    spread = all(
        4 * min(early.count(who), order.count(who) - early.count(who)) >= order.count(who)
        for who in "ab"
    )
    return spread and 2 * changes >= min(len(of_a), len(of_b))


def _by_axes(report: Report) -> dict[tuple, Row]:
    """Return the configurations of a grouped report by what identifies them."""
    return {(row.report, *row.axes(*NOT_IDENTIFYING)): row for row in report.rows}


def _places(a: Report, b: Report) -> list[tuple[int, int, Machine, Machine]]:
    """Pair the machines and programs of both: by machine, or the only ones of each."""

    def first_of(report: Report) -> dict[Machine, list[int]]:
        found: dict[Machine, list[int]] = {}
        for index, context in enumerate(report.contexts):
            found.setdefault(machine_of(context), []).append(index)
        return found

    of_a, of_b = first_of(a), first_of(b)
    for name, found, report in (("a", of_a, a), ("b", of_b, b)):
        for machine, indices in found.items():
            if len(indices) > 1:
                texts = ", ".join(build_text(report.contexts[i]) for i in indices)
                raise LabError(
                    f"{name} has several programs on {machine.label} ({texts}): give each program "
                    "a file of its own"
                )
    shared = [machine for machine in of_a if machine in of_b]
    if shared:
        return [(of_a[m][0], of_b[m][0], m, m) for m in shared]
    if len(of_a) == len(of_b) == 1:
        (m,), (n,) = of_a, of_b
        return [(of_a[m][0], of_b[n][0], m, n)]
    raise LabError(
        f"a has the machines {'; '.join(m.label for m in of_a)}, b has "
        f"{'; '.join(m.label for m in of_b)}: compare one machine with one other"
    )


def _processes(count: int) -> str:
    return "one process" if count == 1 else f"{count} processes"


def _needed(comparisons: int) -> int:
    """Return how many processes of each can decide so many comparisons at once."""
    count = LEAST_UNITS
    while 2 / math.comb(2 * count, count) > alpha_of(comparisons):
        count += 1
    return count


def _reason(
    a: Row, b: Row, ratio: Ratio, comparisons: int, drift: bool, halves: bool
) -> str | None:
    least = min(len(a.samples_of), len(b.samples_of))
    if least < LEAST_UNITS and halves:
        return (
            f"a half has {_processes(least)}, and an interval needs {LEAST_UNITS} in each: measure "
            "with --processes 16"
        )
    if least < LEAST_UNITS:
        return (
            f"a or b has {_processes(least)}, and an interval needs {LEAST_UNITS} of each: measure "
            f"both with {MEASURE}"
        )
    if not drift and not in_turns(a, b):
        return (
            "a and b were not measured in turns, so what changed between them is in no interval: "
            f"measure both with {MEASURE}, or give --allow-drift"
        )
    if ratio.interval is None:
        return (
            f"{_processes(least)} are too few for {plural(comparisons, 'row')} at once: "
            f"{_needed(comparisons)} of each decide them, or compare fewer rows"
        )
    return None


def _samples_reason(a: Row, b: Row, ratio: Ratio, comparisons: int) -> str | None:
    """Say why the samples of one process each decide nothing."""
    if a.threads > 1 or a.ranks > 1:
        return (
            "with several threads or ranks, processes of one program differ by more than their "
            f"samples show: measure both with {MEASURE}"
        )
    least = min(a.samples_ns.size, b.samples_ns.size)
    if least < LEAST_PART * LEAST_UNITS:
        return (
            f"a or b is one process with {plural(least, 'sample')}, and a verdict from samples "
            f"needs {LEAST_PART * LEAST_UNITS} of each: measure both with {MEASURE}"
        )
    if ratio.interval is None:
        needed = _needed(comparisons)
        return (
            f"the samples of one process each are too few for {plural(comparisons, 'row')} at "
            "once: "
            + (f"{LEAST_PART * needed} samples of each, or " if needed <= MOST_PARTS else "")
            + f"fewer rows, or {MEASURE}"
        )
    return None


def _judge_samples(a: Row, b: Row, comparisons: int, least_effect: float) -> Line:
    """Judge one process of each by its samples.

    What differs from process to process is not in the samples, so the interval is widened by
    PROCESS_SPREAD.
    """
    alpha = alpha_of(comparisons)
    ratio = ratio_of_two(part_medians(a.samples_ns), part_medians(b.samples_ns), alpha)
    reason = _samples_reason(a, b, ratio, comparisons)
    interval = ratio.interval.widened(1 + PROCESS_SPREAD) if ratio.interval else None
    ratio = replace(ratio, interval=None if reason else interval)
    return Line(a, b, ratio, verdict(ratio.interval, least_effect), reason, one_process=True)


def comparison(
    a: Report,
    b: Report,
    least_effect: float = LEAST_EFFECT,
    drift: bool = False,
    halves: bool = False,
) -> Comparison:
    """Compare every configuration that both reports have.

    `drift` decides also what was not measured in turns; `halves` says that both are of one file.
    """
    names = (file_of(a.sources[0]), file_of(b.sources[0]))
    one, other = group(a), group(b)
    rows_a, rows_b = _by_axes(one), _by_axes(other)
    pairs: list[tuple[Row, Row]] = []
    remarks = []
    for i, j, m, n in _places(one, other) if one.contexts and other.contexts else []:
        if m != n:
            remarks.append(
                f"a is from {m.label}, b from {n.label}: this also compares the machines."
            )
        for key, row in rows_a.items():
            if key[0] == i and (j, *key[1:]) in rows_b:
                pairs.append((row, rows_b[(j, *key[1:])]))
    if not pairs and halves:
        raise LabError(
            f"{names[0]}: each row has one process, which has no halves: measure with "
            "--processes 16"
        )
    if not pairs:
        raise LabError(
            f"{names[0]} and {names[1]} have no row in common: measure both with the same axes"
        )
    right = [p for p in pairs if all(not row.is_wrong and row.samples_of for row in p)]
    alpha = alpha_of(len(right))
    lines = []
    for x, y in pairs:
        wrong = [
            name for name, row in (("a", x), ("b", y)) if row.is_wrong or not row.samples_of
        ]
        if wrong:
            words = f"the bytes of {' and '.join(wrong)} are wrong, or the run failed"
            lines.append(Line(x, y, None, WRONG, words))
            continue
        if len(x.samples_of) == len(y.samples_of) == 1 and not halves:
            lines.append(_judge_samples(x, y, len(right), least_effect))
            continue
        ratio = ratio_of_two(medians_of(x), medians_of(y), alpha)
        reason = _reason(x, y, ratio, len(right), drift, halves)
        if reason is not None:
            ratio = replace(ratio, interval=None)
        lines.append(Line(x, y, ratio, verdict(ratio.interval, least_effect), reason))
    only = (len(rows_a) - len(pairs), len(rows_b) - len(pairs))
    if any(only):
        remarks.append(
            f"Not compared: {plural(only[0], 'row')} that only a has, {only[1]} that only b has."
        )
    if drift:
        remarks.append("--allow-drift: what changed between a and b counts as b's.")
    return Comparison(names, lines, remarks, least_effect)


def summary(found: Comparison) -> str:
    """Count the verdicts in one sentence."""
    words = ", ".join(f"{word} in {found.count(word)}" for word in (FASTER, SLOWER, SAME))
    wrong = f", {WRONG} in {found.count(WRONG)}" if found.count(WRONG) else ""
    weak = sum(line.one_process for line in found.lines)
    weaker = f" {plural(weak, 'row')} with one process each: such verdicts are weaker."
    return (
        f"b is {words}, {UNDECIDED} in {found.count(UNDECIDED)}{wrong} of "
        f"{plural(len(found.lines), 'row')}." + (weaker if weak else "")
    )


ONE_PROCESS = "from one process"


def _verdict_text(line: Line) -> str:
    decided = line.one_process and line.verdict != UNDECIDED
    return f"{line.verdict}, {ONE_PROCESS}" if decided else line.verdict


def _one_process_note() -> str:
    return (
        f"{ONE_PROCESS}: a verdict from samples of one process each, which is weaker: differences "
        "from process to process are not in it. The units are the medians of up to "
        f"{MOST_PARTS} parts of the samples in time order, and both ends of the interval are moved "
        f"out by {significant(100 * PROCESS_SPREAD)} % for what one program may differ by. "
        f"Smaller differences need several processes in turns: {MEASURE}."
    )


def document(found: Comparison) -> Document:
    """Return the comparison as a document."""
    # Two programs are compared, so their names tell nothing apart.
    plain = [replace(row, report=0) for line in found.lines for row in (line.a, line.b)]
    labels = [label_in(row, plain) for row in plain[::2]]
    body: list[list[Cell]] = []
    for line, label in zip(found.lines, labels, strict=True):
        estimate: Cell = Missing(line.reason or "")
        if line.ratio is not None:
            estimate = Estimate(line.ratio.value, line.ratio.interval)
        body.append(
            [
                label,
                job_text(line.a, size=False),
                line.a.bytes,
                line.a.mb_per_s if line.a.samples_ns.size else Missing("it failed"),
                line.b.mb_per_s if line.b.samples_ns.size else Missing("it failed"),
                estimate,
                f"{len(line.a.samples_of)}, {len(line.b.samples_of)}",
                _verdict_text(line),
            ]
        )
    compared = [line for line in found.lines if line.verdict != WRONG]
    columns = [
        *JOB_COLUMNS,
        Column("a", unit="MB/s"),
        Column("b", unit="MB/s"),
        Column(f"a's time / b's time, {level_text(alpha_of(len(compared)))}"),
        Column("processes", "printed"),
        Column("b is", "text"),
    ]
    reasons = dict.fromkeys(
        f"{line.verdict}: {line.reason}." for line in found.lines if line.reason is not None
    )
    weaker = [_one_process_note()] if any(line.one_process for line in found.lines) else []
    notes = [rule(len(compared), found.least_effect), *weaker, *reasons]
    caption = f"a: {found.names[0]}; b: {found.names[1]}"
    blocks: list[Block] = [Paragraph(summary(found)), *(Paragraph(r) for r in found.remarks)]
    blocks.append(Table("comparison", caption, columns, body, notes))
    return Document(
        "Comparison",
        f"a is {found.names[0]}, b is {found.names[1]}.",
        [Section("comparison-section", "Rows in common", blocks)],
    )


def slower_text(found: Comparison, share: float) -> tuple[int, str]:
    """Say in how many rows b is slower by `share`; return the exit status and the sentence.

    One row that is slower fails. If none is, one row that is certainly not slower passes; if every
    row leaves it open, the status says so.
    """
    slower, unknown = found.slower_by(share)
    percent = f"{significant(100 * share)} %"
    names = "; ".join(
        f"{line.a.label()}, {job_text(line.a)}" + (f", {ONE_PROCESS}" if line.one_process else "")
        for line in slower[:5]
    )
    more = f"; and {len(slower) - 5} more" if len(slower) > 5 else ""
    text = f"b is slower by {percent} or more in {plural(len(slower), 'row')}"
    text += f" ({names}{more})" if slower else ""
    if unknown:
        verb = "is" if len(unknown) == 1 else "are"
        text += f"; {len(unknown)} of {len(found.lines)} {verb} undecided"
    text += "."
    if slower:
        return FAILED, text
    if len(unknown) + found.count(WRONG) < len(found.lines):
        return 0, text
    return (
        NOTHING_DECIDED,
        f"{text} No row could be decided; the rule and the reasons are below the table.",
    )
