"""Read and check bench JSON, schema 1.

docs/benchmarking.md of paraes describes the fields. Files and rows hold bytes and nanoseconds;
rates are derived. A file is one report of `paraes bench`, or an object whose `runs` are such
reports (bench/results/).
"""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np

from paraes.lab import fields
from paraes.lab.errors import LabError
from paraes.lab.fields import LARGEST, WrongField, at, expect, shown
from paraes.lab.rows import (
    AXES,
    AXIS_TYPES,
    COUNTERS,
    OPENMP,
    PHASES,
    SCHEMA,
    Process,
    Report,
    Row,
    Skip,
    is_cpu_device,
    merge,
)

AGAIN = "make the file again with paraes-lab reproduce"  # a damaged `lab` part
GIVE = "give a file that `paraes bench --json FILE` wrote"
# The shortest and the longest time that a sample can be: 1/1000 ns and 30 years. Rates from times
# in this range, and their squares, are finite.
SHORTEST_NS = 1e-3
LONGEST_NS = 1e18
_MOST_JOULES = 1e15
_MOST_COUNTS = 1e24
MOST_WORKERS = (1 << 31) - 1
# Axis → (least, most) of those that are numbers. A skipped row may stand for a device, without
# size.
_LIMITS = {
    "group_threads": (1, 1 << 16),
    "key_bits": (1, 1 << 16),
    "threads": (0, MOST_WORKERS),
    "ranks": (1, MOST_WORKERS),
    "bytes": (1, LARGEST),
    "messages": (1, LARGEST),
}
_CONTEXT_TEXTS = (
    "time",
    "host",
    "kernel_release",
    "container",
    "machine",
    "cpu",
    "cpu_id",
    "hypervisor",
    "microcode",
    "governor",
    "thp",
    "first_touch",
    "compiler",
    "flags",
    "git",
    "folder",
)
_GPU_TEXTS = ("id", "name", "type", "driver", "compiler", "target")


def _axis(value: Any, name: str, where: str, nullable: bool, least: int | None = None) -> Any:
    kind = AXIS_TYPES[name].removesuffix(" | None")
    if kind == "str":
        return fields.name(value, where, nullable)
    if kind == "bool":
        return expect(value, where, bool, nullable)
    low, high = _LIMITS[name]
    return fields.whole(value, where, low if least is None else least, high, nullable)


def _nanoseconds(value: Any, where: str, zero: bool, nullable: bool = False) -> float | None:
    """Return a time; `zero` says whether it may be 0, as the time of a phase may."""
    if zero and value == 0 and not isinstance(value, bool):
        return 0.0
    return fields.number(value, where, SHORTEST_NS, LONGEST_NS, nullable)


def _times(value: Any, where: str, zero: bool) -> np.ndarray:
    times = [_nanoseconds(ns, place, zero) for place, ns in fields.items(value, where)]
    return np.array(times, dtype=float)


def _outliers(value: Any, where: str, samples: int) -> tuple[int, ...]:
    found = []
    for place, index in fields.items(value, where, nullable=True):
        if fields.whole(index, place) >= samples:
            text = f"expected the index of one of {samples} samples, found {index}"
            raise WrongField(place, text)
        found.append(index)
    if len(set(found)) < len(found):
        raise WrongField(where, f"expected every index once, found {shown(value)}")
    return tuple(found)


def _updated(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of an older report as a row of today.

    OpenSSL's EVP was once named like the kernel `openssl`. Where there is no `executor`, several
    threads mean OpenMP. Where there is no `keys`, the row is not of many messages at once.
    """
    row = {"keys": None, "group_threads": None, "gpu_tuning": None, "traffic": None, **row}
    if row.get("rival") == "openssl":
        row = {**row, "rival": "openssl-evp"}
    if "executor" in row:
        return row
    memory = row.get("device") == "cpu" and row.get("scope") == "memory"
    threads = row.get("threads")
    several = isinstance(threads, int) and threads > 1
    return {**row, "executor": OPENMP if memory and several else None}


def _axes_of(row: dict[str, Any], where: str) -> dict[str, Any]:
    axes = {}
    for name, kind in AXIS_TYPES.items():
        if name not in row:
            raise WrongField(at(where, name), "is missing")
        axes[name] = _axis(row[name], name, at(where, name), kind.endswith("None"))
    return axes


def _row_of(
    json_row: Any, where: str, stand_ins: set[str], openssl: str | None, process: Process
) -> Row:
    row = _updated(expect(json_row, where, dict))
    axes = _axes_of(row, where)
    member = fields.inside(row, where)
    samples = _times(*member("samples_ns"), zero=False)
    timeline = fields.inside(*_object(member("timeline_ns")))
    phases = fields.inside(*_object(member("timeline_samples_ns")))
    counters, in_counters = _object(member("counters"))
    reason = expect(*member("verified_reason"), str, nullable=True)
    return Row(
        **axes,
        samples_ns=samples,
        outliers=_outliers(*member("outliers"), samples.size),
        timeline_ns={p: _nanoseconds(*timeline(p), zero=True, nullable=True) for p in PHASES},
        timeline_samples_ns={
            p: _times(*phases(p), zero=True) for p in PHASES if phases(p)[0] not in (None, [])
        },
        energy_joules=fields.number(*member("energy_joules"), 0, _MOST_JOULES, nullable=True),
        energy_reason=expect(*member("energy_reason"), str, nullable=True),
        counters={
            name: fields.number(count, at(in_counters, name), 0, _MOST_COUNTS)
            for name, count in counters.items()
            if name in COUNTERS
        },
        counters_reason=expect(*member("counters_reason"), str, nullable=True),
        verified=bool(expect(*member("verified"), bool, nullable=reason is not None)),
        verified_reason=reason,
        stand_in=axes["device"] in stand_ins,
        openssl=openssl,
        process=process,
        samples_of={process: samples} if samples.size else {},
    )


def _object(member: tuple[Any, str]) -> tuple[dict[str, Any], str]:
    """Return a member that is an object, empty if it is null, and its path."""
    value, where = member
    return fields.members(value, where, nullable=True), where


def _processes(value: dict[str, Any], rows: int, where: str) -> list[Process]:
    """Return the process of each row: the part that measured it, or one process for all."""
    time = value["context"].get("time")
    turn = fields.whole(value.get("turn"), at(where, "turn"), nullable=True)
    found = [Process(0, time, turn)] * rows
    lab = value.get("lab")
    parts = lab.get("parts") if isinstance(lab, dict) else None
    for number, (place, part) in enumerate(fields.items(parts, at(where, "lab.parts"), True)):
        member = fields.inside(expect(part, place, dict), place)
        span = [fields.whole(n, spot) for spot, n in fields.items(*member("results"))]
        if len(span) != 2 or sum(span) > rows:
            text = f"expected the first of {rows} rows and their number, found {shown(span)}"
            raise WrongField(at(place, "results"), text)
        first, count = span
        process = Process(
            number + 1,
            expect(*member("time"), str, nullable=True),
            fields.whole(*member("process"), nullable=True),
        )
        found[first : first + count] = [process] * count
    return found


def _skip_of(json_row: Any, where: str) -> Skip:
    row = _updated(expect(json_row, where, dict))
    reason = expect(row.get("reason"), at(where, "reason"), str)
    # Any axis may be unknown, and a row that stands for a device has 0 bytes.
    axes = {name: _axis(row.get(name), name, at(where, name), True, least=0) for name in AXES}
    return Skip(axes, reason)


def _check_context(context: dict[str, Any], where: str) -> None:
    """Check the members of a context that reports show or compute with; all may be unknown."""

    member = fields.inside(context, where)
    for name in _CONTEXT_TEXTS:
        expect(*member(name), str, nullable=True)
    for name in ("cores", "threads"):
        fields.whole(*member(name), 1, MOST_WORKERS, nullable=True)
    for name in ("numa", "last_level_cache_bytes", "memory_bytes"):
        fields.whole(*member(name), nullable=True)
    fields.number(*member("clock_hz"), 1e6, 1e12, nullable=True)
    expect(*member("dirty"), bool, nullable=True)
    for place, feature in fields.items(*member("features"), nullable=True):
        expect(feature, place, str)
    for name in ("libraries", "drivers"):
        versions, place = _object(member(name))
        for library, version in versions.items():
            expect(version, at(place, library), str, nullable=True)
    _object(member("omp"))
    for place, gpu in fields.items(*member("gpus"), nullable=True):
        text = fields.inside(fields.members(gpu, place), place)
        for name in _GPU_TEXTS:
            expect(*text(name), str, nullable=True)


def _too_long(text: str) -> float:
    # Python refuses to convert more than 4300 digits; no field holds as much as 10**400.
    return int(text) if len(text) <= 400 else math.copysign(math.inf, -(text[0] == "-"))


def _not_a_number(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def parse(text: str, source: str) -> Any:
    """Parse JSON text; errors name it `source`."""
    trimmed = text.strip()
    if not trimmed:
        raise LabError(f"{source}: is empty; {GIVE}")
    try:
        return json.loads(
            text,
            parse_constant=_not_a_number,
            parse_int=_too_long,
            object_pairs_hook=fields.object_of,
        )
    except RecursionError as error:
        raise LabError(f"{source}: is nested more than {fields.DEPTH} deep; {GIVE}") from error
    except ValueError as error:
        cut = trimmed[0] == "{" and trimmed[-1] != "}"
        what = "ends in the middle of its JSON" if cut else "is not JSON"
        raise LabError(f"{source}: {what} ({error}); {GIVE}") from error


def from_object(value: Any, source: str) -> Report:
    """Return a report from parsed JSON; raise LabError that names the first wrong field."""
    try:
        fields.check_values(value)
        return _report_of(value, source, "")
    except WrongField as error:
        advice = AGAIN if error.where.startswith("lab") else GIVE
        raise LabError(f"{source}: {error}; {advice}") from error


def _report_of(value: Any, source: str, where: str) -> Report:
    value = expect(value, where, dict)
    name = f"{source}: {where}" if where else source
    if value.get("schema") != SCHEMA or isinstance(value.get("schema"), bool):
        raise LabError(
            f"{name}: schema {shown(value.get('schema'))} is not supported (this paraes-lab reads "
            f"{SCHEMA}); measure again with a paraes of the same version, or update paraes-lab"
        )
    if "runs" in value and "results" not in value:
        runs = fields.items(value["runs"], at(where, "runs"))
        if not runs:
            raise WrongField(at(where, "runs"), "expected at least one report, found []")
        return merge([_report_of(run, source, place) for place, run in runs])
    results = fields.items(value.get("results"), at(where, "results"))
    skipped = fields.items(value.get("skipped", []), at(where, "skipped"))
    context = expect(value.get("context"), at(where, "context"), dict)
    _check_context(context, at(where, "context"))
    stand_ins = {str(gpu.get("id")) for gpu in context.get("gpus") or [] if is_cpu_device(gpu)}
    openssl = (context.get("libraries") or {}).get("openssl")
    processes = _processes(value, len(results), where)
    return Report(
        sources=[name],
        contexts=[context],
        rows=[
            _row_of(row, place, stand_ins, openssl, process)
            for (place, row), process in zip(results, processes, strict=True)
        ],
        skipped=[_skip_of(row, place) for place, row in skipped],
        raw=[value],
    )


def _open(path: str, flags: int) -> int:
    # Opening a named pipe waits for a writer, unless it is opened without waiting. Then a pipe
    # without a writer is empty.
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def name_of(path: Path | str) -> str:
    """Return the name of a file as reports and errors show it."""
    return fields.printable(str(path))


def read(path: Path | str) -> Any:
    """Read and parse one file, which may be a pipe. Its fields are not checked."""
    name = name_of(path)
    try:
        with open(path, "rb", opener=_open) as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise LabError(f"{name}: is a device; {GIVE}")
            # Editors on Windows begin UTF-8 files with a byte order mark.
            text = file.read().decode("utf-8-sig")
    except IsADirectoryError as error:
        raise LabError(f"{name}: is a folder; {GIVE}") from error
    except OSError as error:
        raise LabError(
            f"{name}: cannot read: {error.strerror}; `paraes bench --json {name}` writes one"
        ) from error
    except UnicodeDecodeError as error:
        raise LabError(f"{name}: is not JSON (it is not UTF-8 text); {GIVE}") from error
    return parse(text, name)


def load(path: Path | str) -> Report:
    """Read and check one file."""
    return from_object(read(path), name_of(path))


def load_all(paths: list[Path | str]) -> Report:
    """Read several files as one report."""
    return merge([load(path) for path in paths])
