"""A machine whose times come from the formulas of fake_paraes, which tests change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fake_paraes

from paraes.lab import measure, reproduce
from paraes.lab.document import Document
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.setting import Setting

Change = Callable[[dict, int], float]  # a row and its process → how many times as long it takes


def simulate(
    paper: str,
    *changes: Change,
    processes: int = 6,
    cores: int = 4,
    gpu: str | None = "cuda:0",
    gpu_is_cpu: bool = False,
    max_size: int | None = None,
):
    """Measure a paper's plan with the formulas of fake_paraes, which the changes modify."""
    reason = None if gpu else "no GPU here"
    name = "Formula GPU" if gpu else None
    machine = measure.Machine(Path("paraes"), cores, gpu, name, gpu_is_cpu, reason, "formulas")
    setting = Setting(cores, max_size=max_size, processes=processes)
    parts = []
    for run, users in reproduce.plan([paper], setting):
        for process in range(processes):
            skipped, rest = [], run
            if gpu is None and run.on_gpu:
                skipped, rest = [run.absent(machine.gpu_reason)], run.without_gpu()
            results = rows_of(rest, gpu) if rest is not None else []
            for row in results:
                for change in changes:
                    factor = change(row, process)
                    row["samples_ns"] = [factor * ns for ns in row["samples_ns"]]
            context = {"cpu": "Formula 1", "threads": cores, "gpus": []}
            report = {"schema": 1, "seed": 7, "context": context}
            report |= {"results": results, "skipped": skipped}
            part = measure.Part(run, None, [], report, papers=users, process=process)
            parts.append(part)
    device = {"id": gpu, "name": name, "is_cpu": gpu_is_cpu, "reason": reason}
    lab = {"papers": [paper], "setting": vars(setting), "device": device}
    return measure.join(parts, lab)


def rows_of(run: measure.Run, gpu: str | None) -> list[dict]:
    """Return what fake_paraes would write for a run."""
    words = run.arguments(gpu)
    flags = {a: b for a, b in zip(words, [*words[1:], ""], strict=True) if a.startswith("--")}
    return fake_paraes.rows(flags)


def tables(whole) -> dict:
    return {table.name: table for table in Document("", "", reproduce.chapters(whole)).tables()}


def found(whole, paper: str) -> dict[str, dict[str, str]]:
    """Return the findings of the chapter's last table by the names of the claims."""
    table = tables(whole)[f"{paper}-agreement"]
    names = [claim["id"] for claim in load_paper(paper).raw["claims"]]
    titles = ("about", "paper", "here", "verdict", "rule")
    return {
        name: dict(zip(titles, row, strict=True))
        for name, row in zip(names, table.rows, strict=True)
    }


def middle(row: dict) -> float:
    samples = sorted(row["samples_ns"])
    return samples[len(samples) // 2]


def slower(factor: float, **axes) -> Change:
    """Make rows with these axes take `factor` times as long."""
    return lambda row, process: factor if all(row[k] == v for k, v in axes.items()) else 1.0


def phase_slower(factor: float, *phases: str, **axes) -> Change:
    """Make phases of rows with these axes take `factor` times as long, and not the call."""

    def change(row: dict, process: int) -> float:
        if all(row[k] == v for k, v in axes.items()):
            for phase in phases:
                row["timeline_ns"][phase] *= factor
        return 1.0

    return change
