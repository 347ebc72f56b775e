"""The first screen of a reproduction: the machine, a card for each paper, then every claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from paraes.lab.document import Block, Cell, Column, Facts, Section, Table
from paraes.lab.papers.cards import Result, cards_of
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
    Finding,
    verdicts_text,
)
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.evidence import Device
from paraes.lab.papers.setting import Setting
from paraes.lab.units import plural, size_text

# In the order of the rows: what the machine decided comes first.
ORDER = (DIFFERS, AGREES, UNDECIDED, PREDICTED)


def _lacking(result: Result, findings: Sequence[Finding]) -> list[list[Cell]]:
    """Return lines of claims that the machine cannot show: how many, and why.

    A claim that lacks several things is counted with the first of them.
    """
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.lacks:
            groups.setdefault(finding.lacks[0], []).append(finding)
    cores = result.setting.cores
    lines: list[list[Cell]] = []
    for lack in (GPU_LACKS, CPUS_LACK, CPUS_EXCEED, DISK_LACKS):
        if not (found := groups.get(lack)):
            continue
        needs = [finding.claim.needs for finding in found]
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
        lines.append([plural(len(found), "claim"), "", why, ""])
    return lines


def _not_measured(findings: Sequence[Finding]) -> list[list[Cell]]:
    """Return lines of claims without rows: several with one reason share a line."""
    reasons: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.verdict == NOT_MEASURED:
            reasons.setdefault(finding.effect, []).append(finding)
    lines: list[list[Cell]] = []
    for reason, found in reasons.items():
        if len(found) > 3:
            lines.append([plural(len(found), "claim"), "", reason, ""])
        else:
            lines += [[f.about, f.paper, reason, f.rule] for f in found]
    return lines


def _commands(findings: Sequence[Finding], machine: str) -> list[str]:
    """Return notes with the commands that would decide claims, and how many each decides."""
    counts = Counter(finding.command for finding in findings if finding.command)
    on = f" on {machine}" if machine else ""
    return [f"To decide {plural(n, 'claim')}{on}: {command}" for command, n in counts.items()]


def _claims(paper: str, results: Sequence[Result]) -> Table:
    """Return the table of a paper's claims: first those that were decided."""
    several = len(results) > 1
    body: list[list[Cell]] = []
    counts: list[str] = []
    notes: list[str] = []
    for result in results:
        if not (findings := result.findings.get(paper)):
            continue
        rows: list[list[Cell]] = [
            [f.verdict_text, f.about, f.paper, f.effect, f.rule]
            for verdict in ORDER
            for f in findings
            if f.verdict == verdict
        ]
        rows += [[NOT_MEASURED, *line] for line in _not_measured(findings)]
        rows += [[NOT_TESTABLE, *line] for line in _lacking(result, findings)]
        body += [[*row, result.machine] for row in rows] if several else rows
        notes += _commands(findings, result.machine if several else "")
        text = verdicts_text([f.verdict for f in findings])
        counts.append(f"{text} ({result.machine})" if several else text)
    titles = ["verdict", "claim", "the paper", "here, 95 %", "agrees if"]
    titles += ["machine"] if several else []
    caption = f"{load_paper(paper).raw['short']} ({paper}). {'; '.join(counts)}"
    columns = [Column(title, "text") for title in titles]
    return Table(f"{paper}-claims", caption, columns, body, notes, keys=2, form="claims")


def _gpu(device: Device) -> str:
    """Say which GPU was measured, or that there is none."""
    if device.id is None:
        left_out = (device.reason or "").startswith("left out")
        return "left out (--device cpu)" if left_out else "none"
    if device.is_cpu:
        return f"none; {device.id} ({device.name}) is the CPU and stands in for one"
    return f"{device.name or 'without a name'} ({device.id})"


def _measured(setting: Setting) -> str:
    """Say how much was measured."""
    processes = setting.processes
    words = [f"{'one process' if processes == 1 else f'{processes} processes'} of each run"]
    if setting.quick:
        words.append("a quick run with few samples")
    if setting.max_size is not None:
        words.append(f"sizes up to {size_text(setting.max_size)}")
    return ", ".join(words)


def _facts(result: Result) -> Facts:
    verdicts = verdicts_text([finding.verdict for _, finding in result.each()])
    return Facts(
        [
            ("Machine", result.described),
            ("GPU", _gpu(result.device)),
            ("Measured", _measured(result.setting)),
            ("Verdicts", f"{verdicts}."),
        ]
    )


def summary_section(results: Sequence[Result]) -> Section:
    """Return the section that a report of reproductions begins with."""
    papers = dict.fromkeys(paper for result in results for paper in result.findings)
    blocks: list[Block] = [*map(_facts, results), cards_of(results)]
    blocks += [_claims(paper, results) for paper in papers]
    return Section("verdicts", "Verdicts", blocks, level=1)
