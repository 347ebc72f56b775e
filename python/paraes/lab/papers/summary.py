"""The first screen of a reproduction: every claim, its verdict, the effect, the rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paraes.lab.document import Bullets, Cell, Column, Paragraph, Section, Table
from paraes.lab.papers.claims import (
    AGREES,
    CPUS_EXCEED,
    CPUS_LACK,
    DIFFERS,
    DISK_LACKS,
    GPU_LACKS,
    NOT_MEASURED,
    NOT_TESTABLE,
    PREDICTED,
    UNDECIDED,
    VERDICT_NOTE,
    Finding,
    verdicts_text,
)
from paraes.lab.papers.evidence import Device
from paraes.lab.papers.setting import Setting
from paraes.lab.units import plural

# In the order of the rows: what the machine decided comes first.
ORDER = (DIFFERS, AGREES, UNDECIDED, PREDICTED)


@dataclass(frozen=True)
class Result:
    """What one machine found for the papers, by their names; `described` names its hardware."""

    machine: str
    described: str
    setting: Setting
    device: Device
    findings: Mapping[str, Sequence[Finding]]

    def each(self) -> list[tuple[str, Finding]]:
        """Return all findings with their papers."""
        return [(paper, finding) for paper, own in self.findings.items() for finding in own]


def _counts(found: Sequence[tuple[str, Finding]]) -> str:
    """Say how many claims there are of which paper."""
    counts = Counter(paper for paper, _ in found)
    total = plural(len(found), "claim")
    if len(counts) == 1:
        return f"{total} of {found[0][0]}"
    return f"{total}: " + ", ".join(f"{paper} {count}" for paper, count in counts.items())


def _lacking(result: Result) -> list[list[Cell]]:
    """Return lines of claims that the machine cannot show: which, and why.

    A claim that lacks several things is counted with the first of them.
    """
    groups: dict[str, list[tuple[str, Finding]]] = {}
    for paper, finding in result.each():
        if finding.lacks:
            groups.setdefault(finding.lacks[0], []).append((paper, finding))
    cores = result.setting.cores
    lines: list[list[Cell]] = []
    for lack in (GPU_LACKS, CPUS_LACK, CPUS_EXCEED, DISK_LACKS):
        if not (found := groups.get(lack)):
            continue
        needs = [finding.claim.needs for _, finding in found]
        if lack == GPU_LACKS:
            device = result.device
            why = "a GPU is needed" + (f"; {device.id} is the CPU" if device.is_cpu else "")
        elif lack == CPUS_LACK:
            many = sorted({need["cpus"] for need in needs})
            words = str(many[0]) if len(many) == 1 else f"{many[0]} to {many[-1]}"
            why = f"{words} CPUs are needed; this machine has {cores}"
        elif lack == CPUS_EXCEED:
            least = min(need["cpus_below"] for need in needs)
            why = f"fewer than {least} CPUs are needed; this machine has {cores}"
        else:
            why = "files on a disk are needed; those of the bench are in memory"
        lines.append([_counts(found), why, ""])
    return lines


def _not_measured(result: Result) -> list[list[Cell]]:
    """Return lines of claims without rows: several with one reason share a line."""
    reasons: dict[str, list[tuple[str, Finding]]] = {}
    for paper, finding in result.each():
        if finding.verdict == NOT_MEASURED:
            reasons.setdefault(finding.effect, []).append((paper, finding))
    lines: list[list[Cell]] = []
    for reason, found in reasons.items():
        if len(found) > 3:
            lines.append([_counts(found), reason, ""])
        else:
            lines += [[f"{paper}: {f.about}", reason, f.rule] for paper, f in found]
    return lines


def summary_section(results: Sequence[Result]) -> Section:
    """Return the section that a report of reproductions begins with."""
    several = len(results) > 1
    body: list[list[Cell]] = []
    for result in results:
        rows: list[list[Cell]] = []
        found = result.each()
        for verdict in ORDER:
            rows += [
                [f.verdict, f"{paper}: {f.about}", f.effect, f.rule]
                for paper, f in found
                if f.verdict == verdict
            ]
        rows += [[NOT_MEASURED, *line] for line in _not_measured(result)]
        rows += [[NOT_TESTABLE, *line] for line in _lacking(result)]
        body += [[*row, result.machine] for row in rows] if several else rows
    titles = ["verdict", "claim", "effect, 95 %", "agrees if", *(["machine"] if several else [])]
    columns = [Column(title, "text") for title in titles]
    table = Table("claims", "Claims of the papers", columns, body, [VERDICT_NOTE], 2, "claims")
    lines = []
    for result in results:
        processes = result.setting.processes
        runs = "one process" if processes == 1 else f"{processes} processes"
        verdicts = verdicts_text([finding.verdict for _, finding in result.each()])
        text = f"{result.described}, {runs} of each run. {verdicts}."
        if result.device.id is None:
            asked = (result.device.reason or "").startswith("left out")
            text += " GPU rows were left out (--device cpu)." if asked else " It has no GPU."
        lines.append(text)
    head = Bullets(lines) if several else Paragraph(lines[0])
    return Section("verdicts", "Verdicts", [head, table], level=1)
