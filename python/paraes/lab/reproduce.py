"""Reproduce the papers' experiments: plan and measure them on this machine, and report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, asdict, replace
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any

from paraes.lab import bench, fields
from paraes.lab.beside import beside
from paraes.lab.calls import Left, check_kind
from paraes.lab.calls import section as calls_section
from paraes.lab.configurations import group
from paraes.lab.costs import Paces
from paraes.lab.discovery import Machine
from paraes.lab.document import Document, Section, Table
from paraes.lab.errors import LabError
from paraes.lab.fields import WrongField, at, expect, shown
from paraes.lab.files import locked, make_folder
from paraes.lab.machines import described, machine_of
from paraes.lab.measure import Measured, join, left_of, make_all
from paraes.lab.papers import EXPERIMENTS
from paraes.lab.papers.cards import Result
from paraes.lab.papers.chapters import contradictions, drop_absent, pictures
from paraes.lab.papers.claims import Findings, FindingsTable
from paraes.lab.papers.data import NAMES, load_paper
from paraes.lab.papers.evidence import Device, Evidence
from paraes.lab.papers.setting import LARGE, Setting
from paraes.lab.papers.summary import summary_section
from paraes.lab.runs import Run
from paraes.lab.trial import trial

WORTH_A_TRIAL = 5.0  # estimated seconds from which the machine's paces are measured first


def papers_of(name: str) -> list[str]:
    """Return the papers that `name` stands for: one, or all."""
    return list(NAMES) if name == "all" else [load_paper(name).id]


def plan(papers: list[str], setting: Setting) -> list[tuple[Run, list[str]]]:
    """List the runs with the papers that use them.

    Papers share measurements: runs of one kind become one, so that each configuration is measured
    by one run only, beside everything that it is compared with at its size.
    """
    planned: dict[tuple, tuple[Run, list[str]]] = {}
    for name in papers:
        for run in EXPERIMENTS[name].plan(setting):
            timed = replace(run, min_time=setting.min_time)
            known, users = planned.get(run.kind, (timed, []))
            planned[run.kind] = (known.united(timed), [*dict.fromkeys((*users, name))])
    return [
        (part, users)
        for run, users in planned.values()
        for part in (run.by_direction() if _is_divided(run, setting) else [run])
    ]


def _is_divided(run: Run, setting: Setting) -> bool:
    """Tell whether each direction is a run of its own, lest one process take many minutes.

    Their ratio then is one of separate processes, of which there must be several.
    """
    return run.size > LARGE and setting.processes > 1 and len(run.directions) > 1


def paces_of(
    papers: list[str],
    setting: Setting,
    machine: Machine,
    folder: Path,
    say: Callable[[str], None],
) -> Paces:
    """Return the paces of this machine: measured if there is more to do than that takes."""
    usual = Paces(machine.cores)
    if left(papers, setting, machine, folder).seconds < WORTH_A_TRIAL:
        return usual
    make_folder(folder / "parts")
    check_kind(folder, machine)
    with locked(folder / "parts"):
        say("short runs of the bench show how fast this machine is, and compile what the GPU needs")
        return trial([run for run, _ in plan(papers, setting)], machine, folder / "parts")


def left(
    papers: list[str], setting: Setting, machine: Machine, folder: Path, paces: Paces | None = None
) -> Left:
    """Estimate the processes that `measure` will start, and the seconds that they take."""
    paces = paces or Paces(machine.cores)
    return left_of(plan(papers, setting), machine, folder / "parts", setting.processes, paces)


def measure(
    papers: list[str], setting: Setting, machine: Machine, folder: Path, **options: Any
) -> dict[str, Any]:
    """Make all runs of the papers and return them as one bench JSON.

    Processes kept in `folder`/parts are read from there. `options` are those of make_all.
    """
    return measure_what_fits(papers, setting, machine, folder, **options)[0]


def measure_what_fits(
    papers: list[str], setting: Setting, machine: Machine, folder: Path, **options: Any
) -> tuple[dict[str, Any], Measured]:
    """Do as `measure`, and return also what is left: of an interruption, or for want of time."""
    make_folder(folder)
    check_kind(folder, machine)
    done = make_all(plan(papers, setting), machine, folder / "parts", setting.processes, **options)
    device = Device(machine.gpu, machine.gpu_name, machine.gpu_is_cpu, machine.gpu_reason)
    lab: dict[str, Any] = {"papers": papers, "setting": asdict(setting), "device": asdict(device)}
    if done.left.processes:
        lab["left"] = {"processes": done.left.processes, "seconds": done.left.seconds}
    return join(done.parts, lab), done


def evidence_of(whole: dict[str, Any], paper: str, source: str) -> Evidence:
    """Extract the rows of one paper's experiment from the JSON that `measure` returned."""
    lab = whole["lab"]
    results: list[Any] = []
    skipped: list[Any] = []
    parts = []
    for part in lab["parts"]:
        if paper not in part["papers"]:
            continue
        moved = dict(part)
        for target, name in ((results, "results"), (skipped, "skipped")):
            first, count = part[name]
            moved[name] = [len(target), count]
            target += whole.get(name, [])[first : first + count]
        parts.append(moved)
    own = {**whole, "results": results, "skipped": skipped, "lab": {**lab, "parts": parts}}
    report = group(bench.from_object(own, source))
    unfinished = lab.get("left") is not None
    return Evidence(report, Setting(**lab["setting"]), Device(**lab["device"]), unfinished)


def chapters(whole: dict[str, Any], source: str = "results") -> list[Section]:
    """Return the sections of every paper in the JSON."""
    sections: list[Section] = []
    for name in whole["lab"]["papers"]:
        evidence = evidence_of(whole, name, source)
        paper = load_paper(name)
        findings = Findings(paper, evidence)
        own = EXPERIMENTS[name].chapter(evidence, findings)
        for table in Document("", "", own).tables():
            drop_absent(table, evidence.device)
        own += [contradictions(paper), pictures(paper), findings.section()]
        sections += filter(None, map(_without_empty, own))
    return sections


def _without_empty(section: Section) -> Section | None:
    """Leave out tables without rows; None if nothing is left."""
    blocks = [b for b in section.blocks if not isinstance(b, Table) or b.rows]
    return replace(section, blocks=blocks) if blocks else None


def _check_names(
    found: dict[str, Any], required: Iterable[str], known: Iterable[str], where: str
) -> None:
    """Check that an object has the required members, and no others than the known ones."""
    for name in required:
        if name not in found:
            raise WrongField(at(where, name), "is missing")
    for name in found:
        if name not in known:
            raise WrongField(at(where, name), "is unknown to this version of paraes-lab")


def _check_setting(value: Any, where: str) -> None:
    setting = fields.members(value, where)
    known = dataclass_fields(Setting)
    required = [field.name for field in known if field.default is MISSING]
    _check_names(setting, required, [field.name for field in known], where)

    inside = fields.inside({field.name: field.default for field in known} | setting, where)
    fields.whole(*inside("cores"), 1, bench.MOST_WORKERS)
    expect(*inside("quick"), bool)
    fields.whole(*inside("max_size"), 1, nullable=True)
    fields.whole(*inside("samples"), 1, nullable=True)
    fields.number(*inside("min_time"), 0, 86400)
    fields.whole(*inside("processes"), 1)
    ranks = fields.items(*inside("ranks"), nullable=True)
    for place, count in ranks:
        fields.whole(count, place, 2, bench.MOST_WORKERS)
    if setting.get("ranks") == []:
        raise WrongField(at(where, "ranks"), "expected at least one number, found []")


def _check_papers(value: Any, where: str) -> list[str]:
    papers = fields.items(value, where)
    if not papers:
        raise WrongField(where, "expected at least one paper, found []")
    for place, name in papers:
        if name not in NAMES:
            known = ", ".join(NAMES)
            raise WrongField(place, f"expected one of {known}, found {shown(name)}")
    if len(set(value)) < len(value):
        raise WrongField(where, f"expected every paper once, found {shown(value)}")
    return value


def _check_parts(value: Any, where: str, whole: dict[str, Any]) -> None:
    """Check that the rows of the parts follow each other, and are all rows."""
    ends = {"results": 0, "skipped": 0}
    rows = {name: len(whole.get(name, [])) for name in ends}
    for place, part in fields.items(value, where):
        inside = fields.inside(fields.members(part, place), place)
        for name in ("host", "call", "time"):
            expect(*inside(name), str, nullable=True)
        fields.items(*inside("command"), nullable=True)
        _check_papers(part.get("papers"), at(place, "papers"))
        for name, end in ends.items():
            at_rows = at(place, name)
            found = [
                fields.whole(number, at_number)
                for at_number, number in fields.items(part.get(name), at_rows)
            ]
            if len(found) != 2:
                text = f"expected the first row and the number of rows, found {shown(found)}"
                raise WrongField(at_rows, text)
            if found[0] != end:
                text = f"expected the first row to be {end}, where the part before it ends"
                raise WrongField(at_rows, f"{text}, found {found[0]}")
            ends[name] = sum(found)
            if ends[name] > rows[name]:
                raise WrongField(
                    at_rows, f"expected at most {rows[name] - end} rows, found {found[1]}"
                )
    for name, end in ends.items():
        if end != rows[name]:
            raise WrongField(
                where, f"expected parts with all {rows[name]} rows of {name}, found {end} rows"
            )


def check(whole: dict[str, Any], source: str) -> None:
    """Check the `lab` part of bench JSON; raise LabError that names the first wrong field."""
    try:
        if "results" not in whole:
            raise WrongField("results", "is missing beside lab")
        lab = fields.members(whole["lab"], "lab")
        _check_names(lab, ["papers", "setting", "device", "parts"], lab, "lab")
        _check_papers(lab["papers"], "lab.papers")
        _check_setting(lab["setting"], "lab.setting")
        device = fields.members(lab["device"], "lab.device")
        known = asdict(Device(None, None, False, None))
        _check_names(device, list(known), known, "lab.device")
        for name in ("id", "name", "reason"):
            expect(device[name], at("lab.device", name), str, nullable=True)
        expect(device["is_cpu"], "lab.device.is_cpu", bool)
        _check_parts(lab["parts"], "lab.parts", whole)
        if lab.get("left") is not None:
            inside = fields.inside(fields.members(lab["left"], "lab.left"), "lab.left")
            fields.whole(*inside("processes"), 1)
            fields.number(*inside("seconds"), 0, 1e12)
    except WrongField as error:
        raise LabError(f"{source}: {error}; {bench.AGAIN}") from error


def document(values: list[dict[str, Any]], analysis: list[Section], sources: list[str]) -> Document:
    """Return the report: the papers first, then everything that was measured.

    Several reproductions have columns of their own in every table.
    """
    of: dict[str, list[Section]] = {}
    results: list[Result] = []
    labels: list[str] = []
    for whole, source in zip(values, sources, strict=True):
        check(whole, source)
        label = machine_of(whole["context"]).label
        label = f"{label}, {source}" if label in of else label
        labels.append(label)
        of[label] = chapters(whole, source)
        results.append(_result(whole, label, of[label]))
    papers = list(dict.fromkeys(name for result in results for name in result.findings))
    own = next(iter(of.values())) if len(of) == 1 else beside(of)
    title = f"Reproduction: {papers[0]}" if len(papers) == 1 else "Reproduction of papers"
    machines = "this machine" if len(of) == 1 else f"{len(of)} machines"
    lead = f"The papers' measurements beside the same experiments on {machines}."
    if any(result.setting.quick for result in results):
        lead += " A quick run: small sizes and few samples."
    lead += "".join(_unfinished(whole, label) for whole, label in zip(values, labels, strict=True))
    parts = calls_section(list(zip(labels, values, strict=True)))
    named = [parts] if parts is not None else []
    return Document(title, lead, [summary_section(results), *own, *named, *analysis])


def _unfinished(whole: dict[str, Any], label: str) -> str:
    """Say that a reproduction is incomplete, if it is."""
    left = whole["lab"].get("left")
    if left is None:
        return ""
    text = Left(left["processes"], left["seconds"]).sentence
    return f" On {label} the measurement is incomplete: {text}; the same command continues."


def _result(whole: dict[str, Any], label: str, sections: list[Section]) -> Result:
    """Collect the findings of a reproduction for the first screen."""
    lab = whole["lab"]
    blocks = [block for section in sections for block in section.blocks]
    found = [block.findings for block in blocks if isinstance(block, FindingsTable)]
    return Result(
        label,
        described(whole["context"], label),
        Setting(**lab["setting"]),
        Device(**lab["device"]),
        dict(zip(lab["papers"], found, strict=True)),  # every chapter has one such table
        sections,
    )
