"""A card for each paper on the first screen: its verdicts, its main figure, what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paraes.lab.beside import beside
from paraes.lab.document import (
    Bar,
    Card,
    Cards,
    Cell,
    Column,
    Estimate,
    Figure,
    Section,
    Table,
    format_cell,
)
from paraes.lab.papers.claims import (
    AGREES,
    DIFFERS,
    MEASURED,
    NOT_MEASURED,
    NOT_TESTABLE,
    PREDICTED,
    UNDECIDED,
    VERDICT_NOTE,
    Finding,
)
from paraes.lab.papers.data import Paper, load_paper
from paraes.lab.papers.evidence import Device
from paraes.lab.papers.main_figures import main_figure
from paraes.lab.papers.setting import Setting


@dataclass(frozen=True)
class Result:
    """What one machine found for the papers, by their names.

    `described` names its hardware, and `sections` are the papers' chapters.
    """

    machine: str
    described: str
    setting: Setting
    device: Device
    findings: Mapping[str, Sequence[Finding]]
    sections: Sequence[Section] = ()

    def each(self) -> list[tuple[str, Finding]]:
        """Return all findings with their papers."""
        return [(paper, finding) for paper, own in self.findings.items() for finding in own]


COUNTED = (AGREES, DIFFERS, UNDECIDED, NOT_MEASURED, NOT_TESTABLE, PREDICTED)
# Paper → what says most about it, in this order: claims, and the sentence on the number of each.
SENTENCES: dict[str, dict[str, str]] = {
    "moreira-2026": {
        "speedup-encrypt": "With both copies, the GPU encrypts {here} as fast as one CPU thread",
        "decrypt-cpu": "The CPU decrypts at {here} of the rate at which it encrypts",
        "cpu-rate": "The CPU encrypts at {here} of its rate at the largest size",
    },
    "tybusch-2014": {
        "gpu-processing": "Without copies, the GPU is {here} as fast as four threads",
        "four-threads": "Four threads are {here} as fast as one",
        "more-threads": "Twice as many threads as CPUs are {here} as fast",
        "copies-1mb": "Copies of 1 MB take {here} as long as those of 1 KB",
    },
    "luken-2009": {
        "gpu-128": "With 128-bit keys and both copies, the GPU is {here} as fast as one CPU thread",
        "key-256": "On the CPU, 256-bit keys take {here} as long as 128-bit keys",
    },
    "pousa-2011": {
        "gpu-kernel-speedup": "Without copies, the GPU is {here} as fast as one thread",
        "openmp-8-speedup": "Eight threads of OpenMP are {here} as fast as one",
        "mpi-linear-cores": "MPI scales with an efficiency of {here}",
        "openmp-small": "OpenMP's speedup at 1 KB is {here} of that at the largest size",
    },
    "pousa-2014": {
        "reduction-serial": "Tables save {here} of the time on one thread",
        "reduction-openmp": "Tables save {here} of the time with OpenMP",
    },
    "soares": {
        "proportional": "The efficiency is {here}; 1 would be growth in proportion to the cores",
        "falls": "Twice as many threads are {here} as fast",
    },
}


def _number(finding: Finding) -> str:
    """Format the number of a finding without its interval, which the tables have."""
    value = Estimate(finding.value.value)
    return f"{format_cell(value, 'number')}{finding.claim.unit}"


def _said(finding: Finding, sentence: str) -> str:
    """Return a sentence on the number of a finding, with the paper's words and the verdict."""
    words = [finding.at] if finding.at else []
    words.append(f"the paper: {finding.paper}")
    text = f"{sentence.format(here=_number(finding))} ({'; '.join(words)})"
    return f"{text}: {finding.verdict_text.replace(':', ',')}."


def what_came_out(paper: str, findings: Sequence[Finding]) -> str:
    """Say what came out for a paper: its most telling number, or why there is none."""
    by_name = {finding.claim.id: finding for finding in findings}
    for name, sentence in SENTENCES[paper].items():
        if isinstance(by_name[name].value, Estimate):
            return _said(by_name[name], sentence)
    for finding in findings:
        if finding.verdict in (*MEASURED, PREDICTED):
            about = finding.about
            verdict = finding.verdict_text.replace(":", ",")
            return f"{about[0].upper()}{about[1:]}: {finding.effect}: {verdict}."
    reasons = Counter(finding.effect for finding in findings)
    reason, count = reasons.most_common(1)[0]
    return f"No claim could be tested, {count} of {len(findings)} for this reason: {reason}."


def _figure(results: Sequence[Result], paper: str) -> Figure | None:
    """Return the main figure of a paper, with the lines of every machine."""
    found = {result.machine: main_figure(paper, result.sections) for result in results}
    figures = {machine: figure for machine, figure in found.items() if figure is not None}
    if len(figures) < 2:
        return next(iter(figures.values()), None)
    title = next(iter(figures.values())).title  # by which `beside` finds what belongs together
    sections = {
        machine: [Section(paper, "", [replace(_coloured(figure, i), title=title)])]
        for i, (machine, figure) in enumerate(figures.items())
    }
    return next(b for s in beside(sections) for b in s.blocks if isinstance(b, Figure))


def _coloured(figure: Figure, machine: int) -> Figure:
    """Give the measured lines of each machine colours of their own, lest two look the same."""
    subjects = len({s.colour for s in figure.series})
    series = [
        replace(s, colour=(s.colour or 0) + machine * subjects) if s.origin == "measured" else s
        for s in figure.series
    ]
    return replace(figure, series=series)


def _card(paper: Paper, results: Sequence[Result]) -> Card:
    several = len(results) > 1
    bars = [
        Bar(
            result.machine if several else "",
            _counts(findings),
            what_came_out(paper.id, findings),
        )
        for result in results
        if (findings := result.findings.get(paper.id))
    ]
    own = [result for result in results if paper.id in result.findings]
    raw = paper.raw
    title = raw["short"] if "year" in raw["bibtex"] else f"{raw['short']}, undated"
    return Card(paper.id, title, raw["title"], bars, _figure(own, paper.id))


def _counts(findings: Sequence[Finding]) -> list[tuple[str, int, str]]:
    """Return each verdict that there is, how often, and both in as few words as possible."""
    counts = Counter(finding.verdict for finding in findings)
    plurals = {AGREES: "agree", DIFFERS: "differ"}
    return [
        (kind, count, f"{count} {plurals.get(kind, kind) if count > 1 else kind}")
        for kind in (AGREES, DIFFERS, UNDECIDED, PREDICTED, NOT_MEASURED, NOT_TESTABLE)
        if (count := counts[kind])
    ]


def cards_of(results: Sequence[Result]) -> Cards:
    """Return a card for each paper, and the table of their counts and sentences."""
    several = len(results) > 1
    names = dict.fromkeys(name for result in results for name in result.findings)
    cards = [_card(load_paper(name), results) for name in names]
    columns = [Column("paper", "text"), *(Column(verdict) for verdict in COUNTED)]
    columns += [Column("what came out", "text")]
    columns += [Column("machine", "text")] if several else []
    rows: list[list[Cell]] = []
    for card in cards:
        for bar in card.bars:
            counts = {kind: number for kind, number, _ in bar.counts}
            line = [card.name, *(counts.get(kind, 0) for kind in COUNTED), bar.sentence]
            rows.append([*line, bar.label] if several else line)
    table = Table("papers", "Verdicts by paper", columns, rows, [VERDICT_NOTE], 1)
    return Cards(cards, table)
