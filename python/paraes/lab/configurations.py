"""Group rows by configuration, and compare configurations.

A configuration is one set of axes on one machine with one program. The unit of every interval is
the process: the samples of one process say nothing about the next one, which finds other pages,
other neighbours and another clock. With one process its samples are the units, and the interval
holds for that process only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paraes.lab.machines import Machine, build_of, build_text, machine_of
from paraes.lab.rows import COUNTERS, PHASES, Process, Report, Row
from paraes.lab.statistics import ALPHA, LEAST_UNITS, Ratio, ratio_of_pairs, ratio_of_two

NOT_IDENTIFYING = ("cache",)  # follows from the size and the machine


def file_of(source: str) -> str:
    """Return the file of a source: each run of a file is a source of its own."""
    return source.partition(": runs[")[0]


def environments(report: Report) -> list[tuple[Machine, tuple[str, ...]]]:
    """Return the machine of each context, and what identifies the program.

    A changed tree and an unknown commit say nothing about the program. Then it is that of the file,
    and of the executable if the laboratory measured it.
    """
    found = []
    for number, context in enumerate(report.contexts):
        program = build_of(context)
        if context.get("dirty") is not False or not context.get("git"):
            source = report.sources[number] if number < len(report.sources) else ""
            program = (*program, file_of(source))
        found.append((machine_of(context), (*program, str(context.get("executable")))))
    return found


def group(report: Report) -> Report:
    """Return a report with one row for each configuration, which holds all of its processes.

    Its contexts are the first of each machine and program. A configuration of which one process
    gave wrong bytes is wrong. No row is dropped.
    """
    contexts: list[dict[str, Any]] = []
    sources: list[str] = []
    places: dict[tuple, int] = {}
    index: list[int] = []
    for number, key in enumerate(environments(report)):
        if key not in places:
            places[key] = len(contexts)
            contexts.append(report.contexts[number])
            sources.append(report.sources[number] if number < len(report.sources) else "")
        index.append(places[key])
    builds = _build_texts(contexts, sources)
    members: dict[tuple, list[Row]] = {}
    for row in report.rows:
        place = index[row.report] if row.report < len(index) else 0
        members.setdefault((place, row.axes(*NOT_IDENTIFYING)), []).append(row)
    rows = [
        replace(_configuration(rows, place), build=builds[place] if builds else "")
        for (place, _), rows in members.items()
    ]
    return replace(report, contexts=contexts, rows=rows)


def _build_texts(contexts: list[dict[str, Any]], sources: list[str]) -> list[str]:
    """Name the program of each context; programs of one machine have different names."""
    texts = list(map(build_text, contexts))
    machines = list(map(machine_of, contexts))
    for more in (list(map(file_of, sources)), [f"{i + 1}" for i in range(len(texts))]):
        pairs = list(zip(machines, texts, strict=True))
        texts = [
            f"{text} ({extra})" if pairs.count(pair) > 1 else text
            for text, extra, pair in zip(texts, more, pairs, strict=True)
        ]
    return texts


def _configuration(rows: list[Row], report: int) -> Row:
    first = rows[0]
    samples: dict[Process, np.ndarray] = {}
    for row in rows:
        known = samples.get(row.process)
        both = row.samples_ns if known is None else np.concatenate([known, row.samples_ns])
        samples[row.process] = both
    measured = {process: times for process, times in samples.items() if times.size}
    verified = all(row.verified for row in rows)
    reasons = [row.verified_reason for row in rows if row.verified_reason is not None]
    reason = reasons[0] if reasons and not any(row.is_wrong for row in rows) else None
    state = {"verified": verified, "verified_reason": reason}
    if len(measured) <= 1:
        only = next(iter(measured.values()), first.samples_ns)
        return replace(first, report=report, samples_of=measured, samples_ns=only, **state)
    joules = [row.energy_joules for row in rows if row.energy_joules is not None]
    medians = np.array([float(np.median(times)) for times in measured.values()])
    timed = [row for row in rows if row.samples_ns.size]
    counted = {
        name: float(np.median([row.counters[name] for row in timed]))
        for name in COUNTERS
        if all(name in row.counters for row in timed)
    }
    timelines = {p: [row.timeline_ns.get(p) for row in timed] for p in PHASES}
    # The median of a phase in each process; only of phases that every process measured.
    phases = {
        p: np.array(times, dtype=float)
        for p, times in timelines.items()
        if all(ns is not None for ns in times)
    }
    return replace(
        first,
        report=report,
        samples_of=measured,
        samples_ns=medians,
        outliers=(),
        timeline_ns={p: float(np.median(phases[p])) if p in phases else None for p in PHASES},
        timeline_samples_ns=phases,
        energy_joules=float(np.median(joules)) if len(joules) == len(rows) else None,
        counters=counted,
        counters_reason=next((row.counters_reason for row in timed if row.counters_reason), None),
        **state,
    )


def common_processes(rows: Sequence[Row]) -> list[Process]:
    """Return the processes that measured all of the rows."""
    first = rows[0].samples_of
    return [process for process in first if all(process in row.samples_of for row in rows)]


def units_of(rows: Sequence[Row]) -> list[np.ndarray] | None:
    """Return the units of each row for statements about all of them; None if there are none.

    They are the medians of processes if every row has at least 6, else the samples of the one
    process that measured all rows. Otherwise what happened between the processes is unknown.
    """
    if not rows:
        return None
    if min(len(row.samples_of) for row in rows) >= LEAST_UNITS:
        return [medians_of(row) for row in rows]
    common = common_processes(rows)
    if len(common) == 1 and all(len(row.samples_of) == 1 for row in rows):
        return [row.samples_of[common[0]] for row in rows]
    return None


def medians_of(row: Row, processes: Iterable[Process] | None = None) -> np.ndarray:
    """Return the median of each process."""
    chosen = row.samples_of if processes is None else processes
    return np.array([float(np.median(row.samples_of[process])) for process in chosen])


def ratio_of(
    over: Row,
    under: Row,
    alpha: float = ALPHA,
    scale: Callable[[Row], float] | None = None,
) -> Ratio:
    """Estimate how many times as long `over` takes as `under`.

    The processes that measured both give one ratio each, if they are enough for `alpha`. Otherwise
    the medians of all processes are compared. Rows of one and the same process are compared by its
    samples. `scale` multiplies the times of each row. The interval is None where the units are too
    few.
    """
    factor = 1.0 if scale is None else scale(over) / scale(under)
    common = common_processes([over, under])
    pairs = len(common)
    if pairs == len(over.samples_of) == len(under.samples_of) == 1:
        a, b = over.samples_of[common[0]], under.samples_of[common[0]]
        return ratio_of_two(a * factor, b, alpha)
    if pairs < LEAST_UNITS or 2.0 ** (1 - pairs) > alpha:
        all_of = ratio_of_two(medians_of(over) * factor, medians_of(under), alpha)
        if all_of.interval is not None or pairs == 0:
            return all_of
    a, b = medians_of(over, common), medians_of(under, common)
    return ratio_of_pairs(a * factor, b, alpha)


def processes_text(row: Row) -> str:
    """Say what the units of a row's interval are."""
    count = len(row.samples_of)
    if count > 1:
        return f"{count} processes"
    samples = next(iter(row.samples_of.values()), row.samples_ns)
    return f"{samples.size} samples of one process"
