"""A machine whose times come from the formulas of fake_paraes, which tests change."""

from collections.abc import Callable
from pathlib import Path

import fake_paraes

from paraes.lab import discovery, measure, reproduce, runs
from paraes.lab.document import Document
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.setting import Setting

Change = Callable[[dict, int], float]  # a row and its process → how many times as long it takes
KIB, MIB = 1 << 10, 1 << 20
LARGE = 255 * MIB  # the largest size of Pousa 2011 and 2014
COPIES = ("host_to_device", "device_to_host")
ON_GPU = {"device": "cuda:0", "scope": "transfer"}


def simulate(
    paper: str,
    *changes: Change,
    processes: int = 6,
    cores: int = 4,
    gpu: str | None = "cuda:0",
    gpu_is_cpu: bool = False,
    max_size: int | None = None,
    ranks: list[int] | None = None,
    fails: Callable[[runs.Run], bool] = lambda run: False,
):
    """Measure a paper's plan with the formulas of fake_paraes, which the changes modify."""
    reason = None if gpu else "no GPU here"
    name = "Formula GPU" if gpu else None
    machine = discovery.Machine(Path("paraes"), cores, gpu, name, gpu_is_cpu, reason, "formulas")
    setting = Setting(cores, max_size=max_size, processes=processes, ranks=ranks)
    parts = []
    for run, users in reproduce.plan([paper], setting):
        for process in range(processes):
            skipped, rest = [], run
            if gpu is None and run.on_gpu:
                skipped, rest = [run.absent(machine.gpu_reason)], run.without_gpu()
            if fails(run):
                skipped, rest = run.skipped(gpu, "the bench failed: it broke"), None
            results = rows_of(rest, gpu) if rest is not None else []
            for row in results:
                for change in changes:
                    factor = change(row, process)
                    row["samples_ns"] = [factor * ns for ns in row["samples_ns"]]
            context = {"cpu": "Formula 1", "threads": cores, "gpus": []}
            report = {"schema": 1, "seed": 7, "context": context}
            report |= {"results": results, "skipped": skipped}
            part = measure.Part(None, [], report, papers=users, process=process)
            parts.append(part)
    device = {"id": gpu, "name": name, "is_cpu": gpu_is_cpu, "reason": reason}
    lab = {"papers": [paper], "setting": vars(setting), "device": device}
    return measure.join(parts, lab)


def rows_of(run: runs.Run, gpu: str | None) -> list[dict]:
    """Return what fake_paraes would write for a run."""
    words = run.arguments(gpu)
    flags = {a: b for a, b in zip(words, [*words[1:], ""], strict=True) if a.startswith("--")}
    return fake_paraes.rows(flags, run.ranks)


def tables(whole) -> dict:
    return {table.name: table for table in Document("", "", reproduce.chapters(whole)).tables()}


def here(whole, name: str) -> dict:
    """Return the lines of a table that this machine measured, by what they are about."""
    return {row[0]: row[2:] for row in tables(whole)[name].rows if row[1] == "here"}


def found(whole, paper: str) -> dict[str, dict[str, str]]:
    """Return the findings of the chapter's last table by the names of the claims."""
    table = tables(whole)[f"{paper}-agreement"]
    names = [claim["id"] for claim in load_paper(paper).raw["claims"]]
    titles = ("about", "paper", "here", "verdict", "rule")
    lines = {
        name: dict(zip(titles, row, strict=True))
        for name, row in zip(names, table.rows, strict=True)
    }
    for line in lines.values():
        line["verdict"], _, line["direction"] = line["verdict"].partition(": ")
    return lines


def verdicts(whole, paper: str) -> dict[str, str]:
    return {claim: line["verdict"] for claim, line in found(whole, paper).items()}


def middle(row: dict) -> float:
    samples = sorted(row["samples_ns"])
    return samples[len(samples) // 2]


def fits(row: dict, axes: dict) -> bool:
    return all(row.get(name) == value for name, value in axes.items())


def slower(factor: float, **axes) -> Change:
    """Make rows with these axes take `factor` times as long."""
    return lambda row, process: factor if fits(row, axes) else 1.0


def phase_slower(factor: float, *phases: str, **axes) -> Change:
    """Make phases of rows with these axes take `factor` times as long, and not the call."""

    def change(row: dict, process: int) -> float:
        if fits(row, axes):
            for phase in phases:
                row["timeline_ns"][phase] *= factor
        return 1.0

    return change


def later(extra_ns: float, **axes) -> Change:
    """Make rows with these axes take `extra_ns` more."""
    return lambda row, process: 1 + extra_ns / middle(row) if fits(row, axes) else 1.0


def copies(fixed_ns: float, byte_ns: float) -> Change:
    """Set what both copies take together, as a phase."""

    def change(row: dict, process: int) -> float:
        if row["scope"] == "transfer":
            for phase in COPIES:
                row["timeline_ns"][phase] = (fixed_ns + byte_ns * row["bytes"]) / 2
        return 1.0

    return change


def soares_time(row: dict, process: int) -> float:
    """Take as long as the paper's serial fractions and times say."""
    fractions = {1: 0.0, 2: 0.0476, 4: 0.0898, 8: 0.1175, 16: 0.2093}
    threads = row["threads"]
    share = fractions[threads] + (1 - fractions[threads]) / threads
    return share / (0.1 + 0.9 / threads)


def pousa_time(row: dict, process: int) -> float:
    """Take as long as Pousa 2011 and 2014 printed or state, where they do."""
    printed = load_paper("pousa-2011").tables
    size, workers = row["bytes"], max(1, row["threads"]) * row["ranks"]
    times, transfers = printed["times"], printed["transfers"]
    if row["device"] == "cuda:0":
        phases = {"host_to_device": "h2d", "kernel": "kernel", "device_to_host": "d2h"}
        for name, key in phases.items():
            row["timeline_ns"][name] = 1e9 * transfers.number(size, key)
        seconds = times.number(size, "cuda")
        if row["scope"] == "transfer":
            seconds = transfers.number(size, "total")
        if row.get("group_threads", 256) != 256:
            seconds *= 1.1
    elif workers == 1:
        seconds = times.number(size, "serial")
    elif row["ranks"] in (8, 16, 32):
        seconds = times.number(size, f"mpi{row['ranks']}")
    elif row["threads"] == 8:
        seconds = times.number(size, "omp8")
    else:
        seconds = times.number(size, "serial") / workers / 0.99
        if row["threads"] > 1:
            seconds *= 1.9 if size == KIB else 1.01
    seconds *= {"ttable": 0.01, "ttable-simple": 0.4}.get(row["kernel"], 1)
    return 1e9 * seconds / middle(row)


# Worlds in which every claim of a paper agrees: what changes the formulas, and the machine.
AGREEING: dict[str, tuple[tuple[Change, ...], dict]] = {
    # The GPU with copies takes 2.7 ms + 1 ns per byte, and the CPU decrypts at 1/1.4 of its rate.
    "moreira-2026": ((later(2.6e6, **ON_GPU), slower(0.7, device="cpu", direction="decrypt")), {}),
    # Eight threads take as long as four, and the GPU is faster in total from 30 MB.
    "tybusch-2014": ((slower(0.325 / 0.2125, threads=8), copies(7.5e6, 0.3)), {}),
    # 1000 + 2 n = 100000 + n at 99000 bytes, and at fewer with longer keys.
    "luken-2009": ((), {}),
    "pousa-2011": ((pousa_time,), {"cores": 32, "max_size": LARGE}),
    "pousa-2014": ((pousa_time,), {"cores": 32, "max_size": LARGE}),
    "soares": ((soares_time,), {"cores": 8, "gpu": None}),
}


def world(paper: str, *changes: Change, **machine):
    """Return the measurements in the world where the claims agree, after these changes."""
    own, usual = AGREEING[paper]
    return simulate(paper, *own, *changes, **{**usual, **machine})
