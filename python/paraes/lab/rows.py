"""The rows and reports of `paraes bench`."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

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
GENERATES = "generates only"  # a key stream, without any text
PORTS = "ports-"  # with a kernel's name: a rival that only keeps that kernel's AES units busy
PORTS_GCM = "ports-gcm-"  # the same with the rounds and carry-less multiplications of GCM
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
class Axes:
    """The axes of a row, as it has them in files: of these types, or null."""

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
    # "one" for all of many messages, "each" its own, "once": each its own, expanded in the call;
    # None: a single message
    keys: str | None
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
    traffic: str | None  # of a rival on a GPU: "reads and writes" the text, or GENERATES


AXIS_TYPES = {axis.name: axis.type for axis in fields(Axes)}  # as they are written above
AXES = tuple(AXIS_TYPES)


@dataclass(frozen=True, eq=False)
class Row(Axes):
    """One row of `results`. Times in nanoseconds for one call, sizes in bytes of plaintext.

    In files, a row is what one process measured, and `samples_ns` are its samples. In a report that
    `configurations.group` returned, it is what all processes measured of one configuration: then
    `samples_ns` has the median of each process if there are several, and `samples_of` has all.
    """

    samples_ns: np.ndarray
    outliers: tuple[int, ...]
    timeline_ns: dict[str, float | None]
    timeline_samples_ns: dict[str, np.ndarray]  # only phases with samples of their own
    energy_joules: float | None
    energy_reason: str | None
    verified: bool
    verified_reason: str | None = None  # why nobody can tell, if not `verified`; None: it is wrong
    report: int = 0  # index into Report.contexts
    process: Process = Process(0)  # the only, or the first
    samples_of: dict[Process, np.ndarray] = field(default_factory=dict)
    stand_in: bool = False  # whether `device` is the CPU, seen through OpenCL
    openssl: str | None = None  # version of the libcrypto that paraes is linked to
    build: str = ""  # names the program, where rows of several are together
    counters: dict[str, float] = field(default_factory=dict)  # of one call, by names of COUNTERS
    counters_reason: str | None = None  # why there are not all

    @property
    def is_wrong(self) -> bool:
        """Whether the output was not the expected one, as far as anybody can tell."""
        return not self.verified and self.verified_reason is None

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
        """Whether the row measures a limit of the AES units, and encrypts no message."""
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
        if self.rival and self.traffic == GENERATES:
            return f"({self.rival}, {GENERATES})"
        return f"({self.rival})" if self.rival else (self.kernel or "?")

    def label(self) -> str:
        """Return device, name and number of workers, for legends."""
        parts = [self.name]
        if self.on_gpu:
            parts.insert(0, f"{self.device} (a CPU)" if self.stand_in else str(self.device))
        elif self.ranks == 1:
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
            measured = row.samples_ns.size > 0
            record = {name: getattr(row, name) for name in AXES} | {
                "median_ns": row.median_ns if measured else None,
                "mb_per_s": row.mb_per_s if measured else None,
                "samples": int(row.samples_ns.size),
                "energy_joules": row.energy_joules,
                "verified": row.verified,
            }
            record |= {name: row.counters.get(name) for name in COUNTERS}
            record |= {f"{phase}_ns": row.timeline_ns.get(phase) for phase in PHASES}
            records.append(record)
        return records


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
