"""A paper's claims, with the rule of each, beside what this machine shows.

The claims are data: `claims` in the paper's JSON says what the paper states, which quantity of this
machine is compared, by which rule, and what a machine needs to show it. Every verdict is decided by
the 95 % interval of the quantity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from paraes.lab.crossover import CERTAIN, Crossover, crossover_text
from paraes.lab.document import (
    Cell,
    Column,
    Estimate,
    Missing,
    Predicted,
    Section,
    Table,
    format_cell,
)
from paraes.lab.papers.cells import Rows, common, ratio
from paraes.lab.papers.data import Paper
from paraes.lab.papers.direction import joined, of_crossover, side
from paraes.lab.papers.evidence import Evidence, LeftOut
from paraes.lab.rows import Row
from paraes.lab.statistics import LEAST_UNITS, Interval
from paraes.lab.units import plural, significant, size_text

# The bench writes the files that it reads, so they are in memory, wherever the folder is.
FILES_FROM_DISK = False
AGREEMENT = "Agreement with the paper"  # title of the last section of every chapter
AGREES, DIFFERS, UNDECIDED = MEASURED = "agrees", "differs", "undecided"
NOT_MEASURED, NOT_TESTABLE, PREDICTED = "not measured", "not testable here", "predicted"
VERDICT_NOTE = (
    "A claim agrees if the whole 95 % interval of the quantity meets the rule, differs if the "
    "whole interval breaks it, and is undecided if the interval crosses a limit or there are "
    "too few processes for one. It is not testable where the machine lacks what the claim is about."
)
TOO_FEW = ", too few processes for an interval"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    `paper` is what it states, `where` the place. `quantity` names what is compared, in `unit`.
    `rule` is one of:

        {"is": "above", "limit": L}, {"is": "below", "limit": L}
        {"is": "within", "low": L, "high": H}
        {"is": "crossover", "between": [bytes, bytes]}

    With `"each": true` the quantity has several cases, and all must fit; with `"each": "most"` more
    than half of them.
    `needs` may have `cpus` and `cpus_below` (CPUs that can run at once), `gpu`, and `disk` (files
    that are read from one). `means` says for `lower` and `higher` what it tells about the machine
    if the quantity is outside the rule on that side.
    """

    id: str
    about: str
    where: str
    paper: str
    quantity: str
    rule: dict[str, Any]
    unit: str = ""
    needs: dict[str, Any] = field(default_factory=dict)
    means: dict[str, str] = field(default_factory=dict)

    def rule_text(self) -> str:
        """Say what counts as agreement."""
        kind = self.rule["is"]
        if kind == "crossover":
            low, high = (size_text(size) for size in self.rule["between"])
            return f"{self.quantity} is between {low} and {high}"
        each = {True: "every ", "most": "in most cases, "}.get(self.rule.get("each", False), "")
        if kind == "within":
            low, high = self.rule["low"], self.rule["high"]
            limits = f"from {self._number(low)} to {self._number(high)}"
        else:
            limits = f"{kind} {self._number(self.rule['limit'])}"
        return f"{each}{self.quantity} is {limits}"

    def _number(self, value: float) -> str:
        return f"{significant(value)}{self.unit}"


@dataclass(frozen=True)
class Finding:
    """A claim beside the result on this machine.

    `effect` is the quantity with its interval in one line, of several cases the one that fits the
    rule least. `lacks` says what the machine lacks to show the claim, in the order of `unmet`.
    `direction` is that of a claim that differs. `value` is the number of the effect, in the unit of
    the claim, and `at` the size or the case that it is of. `command` measures the sizes that were
    left out, where only they are lacking.
    """

    claim: Claim
    about: str
    paper: str
    here: str
    verdict: str
    rule: str
    effect: str
    lacks: tuple[str, ...] = ()
    direction: str = ""
    value: Cell = None
    at: str = ""
    command: str = ""

    @property
    def verdict_text(self) -> str:
        """The verdict, which says in which direction a claim differs."""
        return f"{self.verdict}: {self.direction}" if self.direction else self.verdict


@dataclass(frozen=True)
class _Judged:
    """A verdict on a claim, and what a Finding says of it."""

    here: str
    verdict: str
    effect: str
    direction: str = ""
    value: Cell = None
    at: str = ""


@dataclass
class FindingsTable(Table):
    """A table of findings that keeps them, for the page's first screen."""

    findings: Sequence[Finding] = ()


def judge(rule: dict[str, Any], interval: Interval) -> str:
    """Judge one quantity by its interval: undecided if it extends past the limit.

    The limit itself is neither above nor below it, but within a range.
    """
    if rule["is"] == "within":
        if rule["low"] <= interval.low and interval.high <= rule["high"]:
            return AGREES
        outside = interval.high < rule["low"] or interval.low > rule["high"]
        return DIFFERS if outside else UNDECIDED
    limit = rule["limit"]
    if rule["is"] == "below":
        agrees, differs = interval.high < limit, interval.low >= limit
    else:
        agrees, differs = interval.low > limit, interval.high <= limit
    return AGREES if agrees else DIFFERS if differs else UNDECIDED


def all_of(verdicts: Sequence[str]) -> str:
    """Judge cases that must all agree: one that differs refutes the claim."""
    if DIFFERS in verdicts:
        return DIFFERS
    return AGREES if all(v == AGREES for v in verdicts) else UNDECIDED


def most_of(verdicts: Sequence[str], cases: int) -> str:
    """Judge cases of which more than half must agree; some of them may not be measured."""
    half = cases / 2
    if verdicts.count(AGREES) > half:
        return AGREES
    return DIFFERS if verdicts.count(DIFFERS) >= half else UNDECIDED


# A machine may lack one of these to show a claim.
GPU_LACKS, CPUS_LACK, CPUS_EXCEED = "a GPU", "CPUs", "fewer CPUs"
DISK_LACKS = "files on a disk"
# This note is below a table of findings that need such files.
DISK_NOTE = "files on a disk: the bench reads files that it has just written, which are in memory."


def unmet(needs: dict[str, Any], evidence: Evidence) -> dict[str, str]:
    """Return what this machine lacks to show a claim, and the words for it; empty if nothing."""
    lacks = {}
    cores = evidence.setting.cores
    device = evidence.device
    if needs.get("gpu") and device.id is None:
        lacks[GPU_LACKS] = "needs a GPU"
    elif needs.get("gpu") and device.is_cpu:
        lacks[GPU_LACKS] = f"needs a GPU, and {device.id} is this machine's CPU"
    if cores < needs.get("cpus", 1):
        lacks[CPUS_LACK] = f"needs {needs['cpus']} CPUs"
    if "cpus_below" in needs and cores >= needs["cpus_below"]:
        lacks[CPUS_EXCEED] = f"needs fewer than {needs['cpus_below']} CPUs"
    if needs.get("disk") and not FILES_FROM_DISK:
        lacks[DISK_LACKS] = "needs files on a disk"
    return lacks


def margin(rule: dict[str, Any], interval: Interval | None) -> float:
    """Return how far an interval is inside a rule; below 0 it crosses a limit."""
    if interval is None or rule["is"] == "crossover":
        return float("inf")
    if rule["is"] == "within":
        return min(interval.low - rule["low"], rule["high"] - interval.high)
    return rule["limit"] - interval.high if rule["is"] == "below" else interval.low - rule["limit"]


@dataclass(frozen=True)
class Case:
    """One of several cases of a claim."""

    name: str
    cell: Cell


def by_size(sizes: Iterable[int], cell: Callable[[int], Cell]) -> list[Case]:
    """Return a case of each size."""
    return [Case(size_text(size), cell(size)) for size in sizes]


def verdicts_text(verdicts: Sequence[str]) -> str:
    """Count verdicts: of 21 claims, 6 agree, 9 differ."""
    verbs = {
        AGREES: ("agrees", "agree"),
        DIFFERS: ("differs", "differ"),
        UNDECIDED: ("is undecided", "are undecided"),
        PREDICTED: ("is only predicted", "are only predicted"),
        NOT_TESTABLE: ("is not testable here", "are not testable here"),
        NOT_MEASURED: ("was not measured", "were not measured"),
    }
    counts = {verdict: verdicts.count(verdict) for verdict in verbs}
    parts = [f"{n} {verbs[verdict][n != 1]}" for verdict, n in counts.items() if n]
    return f"Of {plural(len(verdicts), 'claim')}, {', '.join(parts)}"


def _counts_text(verdicts: Sequence[str], cases: int) -> str:
    """Say how many cases fit the rule, of which only those with a verdict were measured."""
    fit, broken, undecided = map(verdicts.count, (AGREES, DIFFERS, UNDECIDED))
    if cases in (fit, broken):
        return f"all {cases} cases fit" if fit else f"none of {cases} cases fits"
    parts = [f"{fit} fit" if fit > 1 else "1 fits"] if fit else []
    parts += [f"{broken} do not fit" if broken > 1 else "1 does not fit"] if broken else []
    parts += [f"{undecided} undecided"] if undecided else []
    absent = cases - len(verdicts)
    parts += [f"{absent} not measured"] if absent else []
    return f"of {cases} cases {', '.join(parts)}"


class Findings:
    """The findings of a chapter, in the order of the claims in the paper's data."""

    def __init__(self, paper: Paper, evidence: Evidence):
        self.paper = paper
        self.evidence = evidence
        self.claims = {claim["id"]: Claim(**claim) for claim in paper.raw["claims"]}
        self._found: dict[str, Finding] = {}
        # Samples of one process say nothing about the next one, so they decide no claim.
        self._one_process = all(len(row.samples_of) < LEAST_UNITS for row in evidence.report.valid)

    def add(
        self,
        name: str,
        value: Cell | Sequence[Case] | Crossover | None,
        size: int | None = None,
        theirs: str | None = None,
        note: str = "",
    ) -> None:
        """Judge a claim by a measured value, by cases, or by a crossover.

        `size` is added to what the claim is about, `note` to what was found. `theirs` replaces the
        paper's statement where it depends on the size.
        """
        claim = self.claims[name]
        if name in self._found:
            raise ValueError(f"the claim {name} was judged twice")
        about = f"{claim.about}, {size_text(size)}" if size is not None else claim.about
        if isinstance(value, Crossover) or (value is None and claim.rule["is"] == "crossover"):
            judged = self._crossover(claim, value)
        elif isinstance(value, (list, tuple)):
            judged = self._cases(claim, value)
        else:
            judged = self._one(claim, value, size_text(size) if size is not None else "")
        here, verdict, effect = judged.here, judged.verdict, judged.effect
        lacks = unmet(claim.needs, self.evidence)
        if lacks:
            effect = lacking = "; ".join(lacks.values())
            found = dict.fromkeys(MEASURED, f" (measured: {here})") | {PREDICTED: f"; {here}"}
            here = lacking + found.get(verdict, "")
            verdict = NOT_TESTABLE
        direction = judged.direction if verdict == DIFFERS else ""
        for more in (note if verdict in MEASURED else "", claim.means.get(direction)):
            here, effect = (f"{text}; {more}" if more else text for text in (here, effect))
        undecided = verdict in (NOT_MEASURED, UNDECIDED)
        if command := self._command(claim, value) if undecided else "":
            what = "decide it" if verdict == NOT_MEASURED else "measure the other sizes"
            here = f"{here}; to {what}: {command}"
        self._found[name] = Finding(
            claim,
            about,
            theirs or claim.paper,
            here,
            verdict,
            claim.rule_text(),
            effect,
            tuple(lacks),
            direction,
            judged.value if verdict in MEASURED else None,
            judged.at,
            command,
        )

    def add_at_largest(
        self,
        name: str,
        sizes: Sequence[int],
        over: Rows,
        under: Rows,
        theirs: Callable[[int], str] | None = None,
        how: Callable[[Row | Missing, Row | Missing], Cell] = ratio,
        note: str = "",
    ) -> None:
        """Judge a claim by a comparison at the largest of `sizes` that both were measured at.

        `theirs` gives the paper's statement for that size. Without one, the reason is that of the
        first of `sizes`.
        """
        size = max(set(common(over, under)) & set(sizes), default=None)
        shown = sizes[0] if size is None else size
        said = theirs(size) if theirs is not None and size is not None else None
        self.add(name, how(over[shown], under[shown]), size, said, note)

    def _command(self, claim: Claim, value: Cell | Sequence[Case] | Crossover | None) -> str:
        """Return the command that measures the sizes whose lack leaves a claim undecided.

        It is empty if other things are lacking, too.
        """
        if claim.rule["is"] == "crossover":
            high = claim.rule["between"][1]
            sizes = [high] if self.evidence.leaves_out(high) else []
        else:
            cells = [c.cell for c in value] if isinstance(value, (list, tuple)) else [value]
            missing = [cell for cell in cells if isinstance(cell, Missing)]
            sizes = [cell.size for cell in missing if isinstance(cell, LeftOut)]
            sizes = sizes if len(sizes) == len(missing) else []
        return self.evidence.setting.command(self.paper.id, max(sizes)) if sizes else ""

    def _value(self, claim: Claim, cell: Cell) -> tuple[str, str]:
        if isinstance(cell, Missing):
            return shorten(cell.reason), NOT_MEASURED
        if cell is None:
            return "no value", NOT_MEASURED
        text = format_cell(cell, "number")
        text = text.replace(" [", f"{claim.unit} [", 1) if " [" in text else f"{text}{claim.unit}"
        if isinstance(cell, Predicted):
            return text, PREDICTED
        interval = cell.interval if isinstance(cell, Estimate) else None
        if interval is None or interval.is_range or self._one_process:
            return f"{text}{TOO_FEW}", UNDECIDED
        return text, judge(claim.rule, interval)

    def _one(self, claim: Claim, cell: Cell, at: str) -> _Judged:
        text, verdict = self._value(claim, cell)
        direction = side(claim.rule, cell.interval) if verdict == DIFFERS else ""
        return _Judged(text, verdict, text, direction, cell, at)

    def _cases(self, claim: Claim, cases: Sequence[Case]) -> _Judged:
        measured = [c for c in cases if not isinstance(c.cell, Missing) and c.cell is not None]
        if not measured:
            reasons = [c.cell.reason for c in cases if isinstance(c.cell, Missing)]
            here = shorten(reasons[0]) if reasons else "no rows"
            return _Judged(here, NOT_MEASURED, here)
        judged = [(case, *self._value(claim, case.cell)) for case in measured]
        verdicts = [verdict for _, _, verdict in judged]
        absent = len(cases) - len(measured)
        if PREDICTED in verdicts:
            verdict = PREDICTED
        else:
            most = claim.rule.get("each") == "most"
            verdict = most_of(verdicts, len(cases)) if most else all_of(verdicts)
        if verdict == AGREES and absent and claim.rule.get("each") is True:
            verdict = UNDECIDED  # it must hold in the other cases, too
        shown = [j for j in judged if j[2] == verdict] if verdict == DIFFERS else judged
        few = TOO_FEW if all(text.endswith(TOO_FEW) for _, text, _ in shown) else ""
        texts = "; ".join(f"{case.name}: {text.removesuffix(few)}" for case, text, _ in shown[:4])
        more = f"; and {len(shown) - 4} more" if len(shown) > 4 else ""
        head = _counts_text(verdicts, len(cases)) if len(cases) > 1 else ""
        # The case that fits least, of those that decide: one that differs is not undecided.
        margins = [margin(claim.rule, getattr(case.cell, "interval", None)) for case, *_ in shown]
        worst, text, _ = shown[margins.index(min(margins))]
        effect = f"{worst.name}: {text}" if worst.name else text
        effect += f"; {head}" if head and not few else ""
        counted = f"{head}: " if head and not few else ""
        here = f"{counted}{texts}{more}{few}"  # that there are too few is said once
        broken = [case.cell.interval for case, _, of_case in judged if of_case == DIFFERS]
        direction = joined(side(claim.rule, interval) for interval in broken)
        return _Judged(here, verdict, effect, direction, worst.cell, worst.name)

    def _crossover(self, claim: Claim, found: Crossover | None) -> _Judged:
        low, high = claim.rule["between"]
        text, verdict, direction = crossover_text(found), UNDECIDED, ""
        if found is None:
            verdict = NOT_MEASURED
        elif found.size is None and found.measured[1] < high:
            text, verdict = f"{text} (up to {size_text(found.measured[1])})", NOT_MEASURED
        elif found.share is None or self._one_process:
            text += TOO_FEW
        elif found.size is None and found.share <= 1 - CERTAIN:
            verdict = DIFFERS
        elif found.interval is None:
            share = f"{significant(100 * found.share, 3)} %"
            text += f"; {share} of the resamples have a crossover"
        else:
            verdict = judge({"is": "within", "low": low, "high": high}, found.interval)
        if found is not None and verdict == DIFFERS:
            direction = of_crossover((low, high), found)
        return _Judged(text, verdict, text, direction)

    def section(self) -> Section:
        """Return the section that ends the paper's chapter; ValueError if a claim is not judged."""
        missing = [name for name in self.claims if name not in self._found]
        if missing:
            raise ValueError(f"{self.paper.id}: not judged: {', '.join(missing)}")
        findings = [self._found[name] for name in self.claims]
        lacks = {lack for f in findings for lack in f.lacks}
        notes = []
        if lacks & {CPUS_LACK, CPUS_EXCEED}:
            notes.append(f"This machine has {plural(self.evidence.setting.cores, 'CPU')}.")
        notes += [DISK_NOTE] if DISK_LACKS in lacks else []
        if self.evidence.device.is_cpu:
            notes.append(
                f"The CPU stands in for a GPU here, as {self.evidence.device.title}: its results "
                "say nothing about GPUs."
            )
        titles = ("claim", "the paper", "this machine", "verdict", "agrees if")
        table = FindingsTable(
            f"{self.paper.id}-agreement",
            verdicts_text([f.verdict for f in findings]),
            [Column(title, "text") for title in titles],
            [[f.about, f.paper, f.here, f.verdict_text, f.rule] for f in findings],
            notes,
            keys=1,
            form="findings",
            findings=findings,
        )
        return Section(table.name, AGREEMENT, [table])


def shorten(text: str) -> str:
    """Shorten a reason to 90 characters; the footnotes of the tables have all of it."""
    return text if len(text) <= 90 else text[:89].rstrip() + "…"
