"""The main figure of each paper, small: the paper's own lines and those of this machine.

It is for the first screen of a report; the chapters have the whole figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from paraes.lab.document import Figure, Section, Series
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.pousa_2014 import SIZES as POUSA_2014_SIZES


@dataclass(frozen=True)
class _Subject:
    """What a figure shows, here and in the paper, in lines of one colour.

    `ours` is a regular expression of the names of this machine's lines, of which the last is
    shown; `theirs` is the name of the paper's line. `label` replaces longer names.
    """

    ours: str
    theirs: str
    label: str | None = None


STAND_IN = " (a CPU)"  # in the names of lines of a device that stands in for a GPU
# Lines of a GPU have the name of the device, and those of CPUs are told apart by theirs.
_GPU = _Subject(r"(?!CPU|\d threads?,)(?!.*kernel only).*, here", "GPU, paper", "GPU")
# Paper → its figure in the chapter, and what is shown of it.
KEPT: dict[str, tuple[str, Sequence[_Subject]]] = {
    "moreira-2026": ("encrypt-rates", [_Subject("CPU, here", "CPU, paper"), _GPU]),
    "tybusch-2014": (
        "processing-figure",
        [
            _Subject("1 thread, here", "1 thread, paper"),
            _Subject("4 threads, here", "4 threads, paper"),
            _GPU,
        ],
    ),
    "luken-2009": (
        "128-figure",
        [
            _Subject("CPU, here", "CPU, paper"),
            _Subject(".*, keys expanded on the CPU, here", "GPU CPU, paper", "GPU"),
        ],
    ),
    "pousa-2011": (
        "speedups-figure",
        [
            _Subject("OpenMP, .*, here", "OMP (8 cores), paper"),
            _Subject("MPI, .*, here", "MPI (32 cores), paper"),
            _Subject(".*, kernel, here", "CUDA, paper", "GPU"),
        ],
    ),
    "pousa-2014": (
        "reduction-figure",
        [
            _Subject("serial, here", "serial, paper"),
            _Subject(".*, kernel, here", "GPU, paper", "GPU"),
        ],
    ),
    "soares": (
        "speedups-figure",
        [_Subject(".*iB, here", "paper, computed"), _Subject("", "ideal")],
    ),
}


def main_figure(paper: str, sections: Sequence[Section]) -> Figure | None:
    """Return the main figure of a paper from the sections of its chapter; None without its lines.

    The lines of a subject follow each other: this machine's, then the paper's.
    """
    name, subjects = KEPT[paper]
    blocks = [block for section in sections for block in section.blocks]
    figures = [b for b in blocks if isinstance(b, Figure) and b.name == f"{paper}-{name}"]
    lines = [s for figure in figures for s in figure.series]
    lines += _stated() if paper == "pousa-2014" else []
    series: list[Series] = []
    for colour, subject in enumerate(subjects):
        here = [s for s in lines if re.fullmatch(subject.ours, s.name)][-1:]
        there = [s for s in lines if s.name == subject.theirs]
        series += [replace(s, name=_name(subject, s), colour=colour) for s in (*here, *there)]
    if not figures or not series:
        return None
    figure = figures[0]
    alone = all(s.origin != "measured" for s in series)
    return replace(
        figure,
        name=f"{paper}-main",
        title=f"{figure.title}: the paper's only" if alone else figure.title,
        description=f"{figure.description} Only the main lines; the paper's are dashed.",
        series=series,
        table=None,
        level=None,
    )


def _name(subject: _Subject, series: Series) -> str:
    """Return the name of a line in the small figure, which says if a CPU stands in for a GPU."""
    if subject.label is None:
        return series.name
    stand_in = STAND_IN if STAND_IN in series.name else ""
    source = "paper" if series.origin == "paper" else "here"
    return f"{subject.label}{stand_in}, {source}"


def _stated() -> list[Series]:
    """Return how much time tables save by the text of Pousa 2014, whose plots have no numbers.

    It states one number for CPUs, and for the GPU the two that the reduction is between.
    """
    statements = load_paper("pousa-2014").statements
    low, high, serial = (
        float(statements[f"reduction_{name}"]["value"])
        for name in ("cuda_low", "cuda_high", "serial")
    )
    sizes = list(map(float, POUSA_2014_SIZES))
    ends = {"low": [low] * len(sizes), "high": [high] * len(sizes)}
    return [
        Series("serial, paper", sizes, [serial] * len(sizes), origin="paper"),
        Series("GPU, paper", sizes, [(low + high) / 2] * len(sizes), **ends, origin="paper"),
    ]
