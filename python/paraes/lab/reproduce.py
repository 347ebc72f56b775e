"""Reproduce the papers' experiments: plan and measure them on this machine, and report."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from paraes.lab import bench
from paraes.lab.document import Document, Section
from paraes.lab.errors import USAGE, LabError
from paraes.lab.measure import Machine, Part, Run, join, make_all
from paraes.lab.papers import EXPERIMENTS
from paraes.lab.papers.chapters import contradictions, gather_absent, pictures
from paraes.lab.papers.data import NAMES, load_paper
from paraes.lab.papers.evidence import Device, Evidence
from paraes.lab.papers.setting import Setting


def papers_of(name: str) -> list[str]:
    """Return the papers that `name` stands for: one, or all."""
    if name == "all":
        return list(NAMES)
    if name not in NAMES:
        raise LabError(f"no paper '{name}'; there are {', '.join(NAMES)}, all", USAGE)
    return [name]


def plan(papers: list[str], setting: Setting) -> list[tuple[Run, list[str]]]:
    """List every run once, with the papers that use it: papers share equal measurements."""
    planned: dict[Run, list[str]] = {}
    for name in papers:
        for run in EXPERIMENTS[name].plan(setting):
            planned.setdefault(replace(run, min_time=setting.min_time), []).append(name)
    return list(planned.items())


def measure(
    papers: list[str], setting: Setting, machine: Machine, folder: Path, **callbacks: Any
) -> dict[str, Any]:
    """Make all runs of the papers and return them as one bench JSON.

    Runs kept in `folder`/parts are read from there.
    """
    parts: list[Part] = make_all(plan(papers, setting), machine, folder / "parts", **callbacks)
    device = Device(machine.gpu, machine.gpu_name, machine.gpu_is_cpu, machine.gpu_reason)
    lab = {"papers": papers, "setting": asdict(setting), "device": asdict(device)}
    return join(parts, lab)


def evidence_of(whole: dict[str, Any], paper: str, source: str) -> Evidence:
    """Extract the rows of one paper's experiment from the JSON that `measure` returned."""
    lab = whole["lab"]
    results: list[Any] = []
    skipped: list[Any] = []
    for part in lab["parts"]:
        if paper not in part["papers"]:
            continue
        for target, name in ((results, "results"), (skipped, "skipped")):
            first, count = part[name]
            target += whole[name][first : first + count]
    report = bench.from_object({**whole, "results": results, "skipped": skipped}, source)
    return Evidence(report, Setting(**lab["setting"]), Device(**lab["device"]))


def chapters(whole: dict[str, Any], source: str = "results") -> list[Section]:
    """Return the sections of every paper in the JSON."""
    sections: list[Section] = []
    for name in whole["lab"]["papers"]:
        evidence = evidence_of(whole, name, source)
        own = EXPERIMENTS[name].chapter(evidence)
        for table in Document("", "", own).tables():
            gather_absent(table, evidence.device)
        paper = load_paper(name)
        extra = [section for section in (contradictions(paper), pictures(paper)) if section]
        # The last section of a chapter is its findings; they stay at the end.
        sections += [*own[:-1], *extra, own[-1]]
    return sections


def is_reproduction(value: dict[str, Any]) -> bool:
    """Tell whether bench JSON is that of a reproduction."""
    lab = value.get("lab")
    return isinstance(lab, dict) and {"papers", "parts", "setting", "device"} <= set(lab)


def document(whole: dict[str, Any], analysis: list[Section], source: str) -> Document:
    """Return the report: the papers first, then everything that was measured."""
    papers = whole["lab"]["papers"]
    quick = whole["lab"]["setting"]["quick"]
    title = (
        f"Reproduction: {', '.join(papers)}" if len(papers) == 1 else "Reproduction of six papers"
    )
    lead = "The papers' measurements beside the same experiments on this machine."
    if quick:
        lead += " A quick run: small sizes and few samples."
    try:
        sections = chapters(whole, source)
    except (KeyError, TypeError, IndexError) as error:
        raise LabError(
            f"{source}: its `lab` part is damaged ({error!r}); make the file again with "
            "paraes-lab reproduce"
        ) from error
    return Document(title, lead, [*sections, *analysis])
