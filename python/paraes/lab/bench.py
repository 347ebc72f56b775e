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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from paraes.lab import fields
from paraes.lab.errors import LabError
from paraes.lab.fields import LARGEST, WrongField, at, expect, shown
from paraes.lab.units import megabytes_per_second, plural

SCHEMA = 1
PHASES = (
    "read",
    "key_expansion",
    "host_to_device",
    "kernel",
    "device_to_host",
    "write",
    "scatter",
    "gather",
)
PORTS = "ports-"  # with a kernel's name: a rival that only keeps that kernel's AES units busy
# Name → (type, nullable).
_AXES: dict[str, tuple[type, bool]] = {
    "rival": (str, True),
    "device": (str, True),
    "kernel": (str, True),
    "mode": (str, True),
    "key_bits": (int, True),
    "direction": (str, True),
    "threads": (int, False),
    "executor": (str, True),
    "ranks": (int, False),
    "bytes": (int, False),
    "messages": (int, False),
    "keys": (str, True),
    "scope": (str, False),
    "format": (str, True),
    "in_place": (bool, False),
    "cache": (str, True),
    "key_expansion": (str, True),
    "transfer": (str, True),
    "distribution": (str, True),
    "overlap": (bool, False),
    "group_threads": (int, True),
    "gpu_tuning": (str, True),
}
AXES = tuple(_AXES)
COUNTERS = ("cycles", "instructions", "cache_misses")  # of the processor
OPENMP = "openmp"  # an executor


def is_cpu_device(device: dict[str, Any]) -> bool:
    """Tell whether a device of `paraes devices --json` (or of context.gpus) is the CPU itself.

    Its `type` decides if it has one. Otherwise PoCL is recognised by its driver and its device
    names: pthread…, cpu… and basic….
    """
    if device.get("type") is not None:
        return str(device["type"]).lower() == "cpu"
    if str(device.get("id")) == "cpu":
        return True
    pocl = "portable computing language" in str(device.get("driver")).lower()
    return pocl and str(device.get("name")).startswith(("pthread", "cpu", "basic"))


@dataclass(frozen=True)
class Process:
    """One process of the bench. `number` is unique in a report.

    `time` is when it began, as in its context. `turn` orders the processes of one measurement whose
    times are equal to the second; None where the file does not say.
    """

    number: int
    time: str | None = None
    turn: int | None = None


@dataclass(frozen=True, eq=False)
class Row:
    """One row of `results`. Times in nanoseconds for one call, sizes in bytes of plaintext.

    In files, a row is what one process measured, and `samples_ns` are its samples. In a report that
    `configurations.group` returned, it is what all processes measured of one configuration: then
    `samples_ns` has the median of each process if there are several, and `samples_of` has all.
    """

    rival: str | None
    device: str | None
    kernel: str | None
    mode: str | None
    key_bits: int | None
    direction: str | None
    threads: int
    executor: str | None
    ranks: int
    bytes: int
    messages: int
    keys: str | None  # "one" for all of many messages or "each" its own; None: a single message
    scope: str
    format: str | None
    in_place: bool
    cache: str | None
    key_expansion: str | None
    transfer: str | None
    distribution: str | None
    overlap: bool
    group_threads: int | None
    gpu_tuning: str | None
    samples_ns: np.ndarray
    outliers: tuple[int, ...]
    timeline_ns: dict[str, float | None]
    timeline_samples_ns: dict[str, np.ndarray]  # only phases with samples of their own
    energy_joules: float | None
    energy_reason: str | None
    verified: bool
    report: int = 0  # index into Report.contexts
    process: Process = Process(0)  # the only, or the first
    samples_of: dict[Process, np.ndarray] = field(default_factory=dict)
    stand_in: bool = False  # whether `device` is the CPU, seen through OpenCL
    openssl: str | None = None  # version of the libcrypto that paraes is linked to
    build: str = ""  # names the program, where rows of several are together
    counters: dict[str, float] = field(default_factory=dict)  # of one call, by names of COUNTERS
    counters_reason: str | None = None  # why there are not all

    @property
    def median_ns(self) -> float:
        """Nanoseconds of one call, the median of the samples."""
        return float(np.median(self.samples_ns))

    @property
    def mb_per_s(self) -> float:
        """10**6 bytes of plaintext a second, from the median."""
        return megabytes_per_second(self.bytes, self.median_ns)

    @property
    def on_gpu(self) -> bool:
        """Whether the device is not `cpu`; an OpenCL device may still be the CPU (`stand_in`)."""
        return self.device is not None and self.device != "cpu"

    @property
    def is_ports(self) -> bool:
        """Whether the row measures the limit of the AES units, and encrypts no message."""
        return self.rival is not None and self.rival.startswith(PORTS)

    @property
    def is_copy(self) -> bool:
        """Whether the row copies bytes and encrypts nothing; age has no mode either, and does."""
        return self.rival not in (None, "age") and self.mode is None and not self.is_ports

    @property
    def workers(self) -> int:
        """The number of threads of all ranks together; 1 on a GPU."""
        return max(1, self.threads) * self.ranks

    @property
    def message_bytes(self) -> int | None:
        """The mean size of many messages; None where `keys` is, and the message has all bytes."""
        return None if self.keys is None else -(-self.bytes // self.messages)

    @property
    def name(self) -> str:
        """The kernel, or the rival in parentheses. Names the version of OpenSSL where known."""
        if self.rival == "openssl-evp" and self.openssl is not None:
            return f"(OpenSSL {self.openssl})"
        if self.rival and self.rival.startswith("openssl-evp@"):
            return f"(OpenSSL {self.rival.removeprefix('openssl-evp@')} from a file)"
        return f"({self.rival})" if self.rival else (self.kernel or "?")

    def label(self, threads: bool = True) -> str:
        """Return device, name and number of workers, for legends."""
        parts = [self.name]
        if self.on_gpu:
            parts.insert(0, f"{self.device} (a CPU)" if self.stand_in else str(self.device))
        elif threads and self.ranks == 1:
            by = " by OpenMP" if self.executor == OPENMP else ""
            parts.append(f"· {plural(self.threads, 'thread')}{by}")
        if self.ranks > 1:
            parts.append(f"· {plural(self.ranks, 'rank')}")
        return " ".join(parts)

    def axes(self, *without: str) -> tuple[Any, ...]:
        """Return the values of all axes except those in `without`, to group rows by."""
        return tuple(getattr(self, name) for name in AXES if name not in without)


@dataclass(frozen=True)
class Skip:
    """A row that did not run: its axes as far as they are known, and the reason."""

    axes: dict[str, Any]
    reason: str


@dataclass
class Report:
    """One report, or several merged: `rows` ran, `skipped` did not."""

    sources: list[str]
    contexts: list[dict[str, Any]]
    rows: list[Row]
    skipped: list[Skip]
    raw: list[dict[str, Any]] = field(default_factory=list)

    @property
    def context(self) -> dict[str, Any]:
        """The context of the first report."""
        return self.contexts[0] if self.contexts else {}

    @property
    def valid(self) -> list[Row]:
        """Rows that have samples and were verified: the only ones fit for analysis."""
        return [row for row in self.rows if row.verified and row.samples_ns.size]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as plain dicts: axes, `median_ns`, `mb_per_s`, `samples`,
        `energy_joules`, `verified`, the names of COUNTERS, and phases as `*_ns`. Values that were
        not measured are None.
        """
        records = []
        for row in self.rows:
            record = {name: getattr(row, name) for name in AXES}
            measured = row.samples_ns.size > 0
            record["median_ns"] = row.median_ns if measured else None
            record["mb_per_s"] = row.mb_per_s if measured else None
            record["samples"] = int(row.samples_ns.size)
            record["energy_joules"] = row.energy_joules
            record["verified"] = row.verified
            record |= {name: row.counters.get(name) for name in COUNTERS}
            record |= {f"{phase}_ns": row.timeline_ns.get(phase) for phase in PHASES}
            records.append(record)
        return records


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
    kind = _AXES[name][0]
    if kind is str:
        return fields.name(value, where, nullable)
    if kind is bool:
        return expect(value, bool, where, nullable)
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
    row = {"keys": None, "group_threads": None, "gpu_tuning": None, **row}
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
    for name, (_, nullable) in _AXES.items():
        if name not in row:
            raise WrongField(at(where, name), "is missing")
        axes[name] = _axis(row[name], name, at(where, name), nullable)
    return axes


def _row_of(
    json_row: Any, where: str, stand_ins: set[str], openssl: str | None, process: Process
) -> Row:
    row = _updated(expect(json_row, dict, where))
    axes = _axes_of(row, where)
    samples = _times(row.get("samples_ns"), at(where, "samples_ns"), zero=False)
    in_timeline = at(where, "timeline_ns")
    timeline = fields.members(row.get("timeline_ns"), in_timeline, nullable=True)
    in_phases = at(where, "timeline_samples_ns")
    phases = fields.members(row.get("timeline_samples_ns"), in_phases, nullable=True)
    return Row(
        **axes,
        samples_ns=samples,
        outliers=_outliers(row.get("outliers"), at(where, "outliers"), samples.size),
        timeline_ns={
            p: _nanoseconds(timeline.get(p), at(in_timeline, p), zero=True, nullable=True)
            for p in PHASES
        },
        timeline_samples_ns={
            p: _times(phases[p], at(in_phases, p), zero=True)
            for p in PHASES
            if phases.get(p) not in (None, [])
        },
        energy_joules=fields.number(
            row.get("energy_joules"), at(where, "energy_joules"), 0, _MOST_JOULES, nullable=True
        ),
        energy_reason=expect(row.get("energy_reason"), str, at(where, "energy_reason"), True),
        counters={
            name: fields.number(count, at(where, f"counters.{name}"), 0, _MOST_COUNTS)
            for name, count in fields.members(
                row.get("counters"), at(where, "counters"), nullable=True
            ).items()
            if name in COUNTERS
        },
        counters_reason=expect(row.get("counters_reason"), str, at(where, "counters_reason"), True),
        verified=expect(row.get("verified"), bool, at(where, "verified")),
        stand_in=axes["device"] in stand_ins,
        openssl=openssl,
        process=process,
        samples_of={process: samples} if samples.size else {},
    )


def _processes(value: dict[str, Any], rows: int, where: str) -> list[Process]:
    """Return the process of each row: the part that measured it, or one process for all."""
    time = value["context"].get("time")
    turn = fields.whole(value.get("turn"), at(where, "turn"), nullable=True)
    found = [Process(0, time, turn)] * rows
    lab = value.get("lab")
    parts = lab.get("parts") if isinstance(lab, dict) else None
    for number, (place, part) in enumerate(fields.items(parts, at(where, "lab.parts"), True)):
        part = expect(part, dict, place)
        at_rows = at(place, "results")
        span = [fields.whole(n, spot) for spot, n in fields.items(part.get("results"), at_rows)]
        if len(span) != 2 or sum(span) > rows:
            text = f"expected the first of {rows} rows and their number, found {shown(span)}"
            raise WrongField(at_rows, text)
        first, count = span
        process = Process(
            number + 1,
            expect(part.get("time"), str, at(place, "time"), nullable=True),
            fields.whole(part.get("process"), at(place, "process"), nullable=True),
        )
        found[first : first + count] = [process] * count
    return found


def _skip_of(json_row: Any, where: str) -> Skip:
    row = _updated(expect(json_row, dict, where))
    reason = expect(row.get("reason"), str, at(where, "reason"))
    # Any axis may be unknown, and a row that stands for a device has 0 bytes.
    axes = {name: _axis(row.get(name), name, at(where, name), True, least=0) for name in AXES}
    return Skip(axes, reason)


def _check_context(context: dict[str, Any], where: str) -> None:
    """Check the members of a context that reports show or compute with; all may be unknown."""

    def inside(name: str) -> tuple[Any, str]:
        return context.get(name), at(where, name)

    for name in _CONTEXT_TEXTS:
        expect(context.get(name), str, at(where, name), nullable=True)
    for name in ("cores", "threads"):
        fields.whole(*inside(name), 1, MOST_WORKERS, nullable=True)
    for name in ("numa", "last_level_cache_bytes", "memory_bytes"):
        fields.whole(*inside(name), nullable=True)
    fields.number(*inside("clock_hz"), 1e6, 1e12, nullable=True)
    expect(context.get("dirty"), bool, at(where, "dirty"), nullable=True)
    for place, feature in fields.items(*inside("features"), nullable=True):
        expect(feature, str, place)
    for name in ("libraries", "drivers"):
        value, place = inside(name)
        for member, version in fields.members(value, place, nullable=True).items():
            expect(version, str, at(place, member), nullable=True)
    fields.members(*inside("omp"), nullable=True)
    for place, gpu in fields.items(*inside("gpus"), nullable=True):
        fields.members(gpu, place)
        for name in _GPU_TEXTS:
            expect(gpu.get(name), str, at(place, name), nullable=True)


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
    value = expect(value, dict, where)
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
    context = expect(value.get("context"), dict, at(where, "context"))
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


def merge(reports: list[Report]) -> Report:
    """Merge reports into one. Each row keeps the index of its report, and a process of its own."""
    merged = Report([], [], [], [])
    processes = 0
    for report in reports:
        offset = len(merged.contexts)
        merged.sources += report.sources
        merged.contexts += report.contexts
        merged.raw += report.raw
        merged.skipped += report.skipped
        for row in report.rows:
            process = replace(row.process, number=row.process.number + processes)
            samples = {process: row.samples_ns} if row.samples_ns.size else {}
            merged.rows.append(
                replace(row, report=row.report + offset, process=process, samples_of=samples)
            )
        processes += 1 + max((row.process.number for row in report.rows), default=0)
    return merged


def load_all(paths: list[Path | str]) -> Report:
    """Read several files as one report."""
    return merge([load(path) for path in paths])
