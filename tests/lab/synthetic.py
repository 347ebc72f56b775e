"""Make bench JSON with given times, for tests with known answers."""

import json
import sys
from pathlib import Path
from typing import Any

import fake_paraes
import numpy as np

from paraes.lab import analysis, bench, discovery
from paraes.lab.document import Table

CONTEXT: dict[str, Any] = {
    "time": "2026-01-01T00:00:00Z",
    "host": "synthetic",
    "kernel_release": "Linux 6",
    "container": None,
    "cpu": "Formula 1",
    "features": ["aes"],
    "cores": 4,
    "threads": 4,
    "numa": 1,
    "governor": None,
    "thp": None,
    "gpus": [],
    "drivers": {},
    "compiler": "none",
    "flags": "",
    "git": None,
    "dirty": None,
    "libraries": {"paraes": "0"},
    "omp": {},
}


def fake_programs(folder: Path) -> Path:
    """Write fake paraes, paraes-mpi and mpirun into `folder`; return it."""
    text = Path(__file__).with_name("fake_paraes.py").read_text()
    for name in ("paraes", "paraes-mpi", "mpirun"):
        (folder / name).write_text(text.replace("#!/usr/bin/env python3", f"#!{sys.executable}"))
        (folder / name).chmod(0o755)
    return folder


def machine_of(folder: Path, device: str | None = None) -> discovery.Machine:
    """Return what the laboratory finds with the fake programs in this folder."""
    return discovery.look_at(folder / "paraes", device, str(folder / "mpirun"))


def log_of(tmp_path: Path) -> list[str]:
    """Return the benches that fake_paraes was told to run."""
    path = tmp_path / "log"
    return path.read_text().splitlines() if path.is_file() else []


def row(**changes: Any) -> dict[str, Any]:
    """Return a result row. `ns` is the median of its 9 samples, which lie within 1 % of it.

    `timeline` gives medians of phases, `phases` the samples of phases. Other keywords are axes.
    """
    ns = changes.pop("ns", 1000.0)
    samples = changes.pop("samples_ns", [ns * (1 + 0.0025 * i) for i in range(-4, 5)])
    timeline = dict.fromkeys(bench.PHASES) | changes.pop("timeline", {})
    counters = changes.pop("counters", None)  # those of the processor, in newer files
    phases = changes.pop("phases", None)  # phase → samples, as in newer files
    base: dict[str, Any] = fake_paraes.one(
        "memory", "cpu", "reference", 128, "encrypt", 1, None, 1, 1 << 20, "host"
    )
    base |= dict.fromkeys(("keys", "group_threads", "gpu_tuning", "traffic", "verified_reason"))
    base |= {"samples_ns": samples, "timeline_ns": timeline, "energy_reason": "no counter"}
    unknown = set(changes) - set(base)
    assert not unknown, unknown
    if phases is not None:
        base["timeline_ns"] = timeline | {p: float(np.median(s)) for p, s in phases.items()}
        base["timeline_samples_ns"] = phases
    if counters is not None:
        base["counters"] = counters
    whole = base | changes
    # Several threads on the CPU are the library's own, unless the test says otherwise.
    memory = whole["device"] == "cpu" and whole["scope"] == "memory"
    if memory and "executor" not in changes and whole["threads"] not in (0, 1):
        whole["executor"] = "threads"
    return whole


def report(*rows: dict[str, Any], skipped: tuple = (), **context: Any) -> dict[str, Any]:
    """Return a bench JSON object."""
    return {
        "schema": 1,
        "seed": 1,
        "context": CONTEXT | context,
        "results": list(rows),
        "skipped": list(skipped),
    }


def loaded(*rows: dict[str, Any], **context: Any) -> bench.Report:
    """Return a report with these rows, as read from JSON."""
    return bench.from_object(report(*rows, **context), "synthetic")


def table(rep: bench.Report, name: str, **options: Any) -> Table:
    """Return the table with this name of a report's document."""
    return next(t for t in analysis.document(rep, **options).tables() if t.name == name)


def merged(*reports: dict[str, Any]) -> bench.Report:
    """Return the report of several JSON objects, as of several files."""
    return bench.merge([bench.from_object(r, f"file {i}") for i, r in enumerate(reports)])


def reproduction(*parts: tuple[int, list[dict[str, Any]]]) -> bench.Report:
    """Return the report of a reproduction whose parts are (process, rows)."""
    begin, listed = 0, []
    for process, rows in parts:
        listed.append({"process": process, "results": [begin, len(rows)], "time": None})
        begin += len(rows)
    whole = report(*[r for _, rows in parts for r in rows])
    return bench.from_object(whole | {"lab": {"parts": listed}}, "synthetic")


def written(path: Path, *rows: dict[str, Any], **context: Any) -> Path:
    """Write a report with these rows to `path`; return `path`."""
    path.write_text(json.dumps(report(*rows, **context)))
    return path


def runs(*processes: list[dict[str, Any]], **context: Any) -> dict[str, Any]:
    """Return one JSON object of several processes; each is the list of its rows.

    Process i began i seconds after midnight, or at `start` seconds with `step` between them.
    """
    start, step = context.pop("start", 0), context.pop("step", 1)
    reports = []
    for i, rows in enumerate(processes):
        second = start + i * step
        time = f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
        reports.append(report(*rows, **{"time": time, **context}))
    return {"schema": 1, "runs": reports}


def processes(*processes: list[dict[str, Any]], **context: Any) -> bench.Report:
    """Return a report of several processes, as read from JSON; see `runs`."""
    return bench.from_object(runs(*processes, **context), "synthetic")
