"""Read and check bench JSON, schema 1.

docs/benchmarking.md of paraes describes the fields. Files and rows hold bytes and nanoseconds;
rates are derived. A file is one report of `paraes bench`, or an object whose `runs` are such
reports (bench/results/).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from paraes.lab.errors import LabError
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
# Name → (type, nullable). bool is a subclass of int in Python, so _expect tells them apart.
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
}
AXES = tuple(_AXES)
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


@dataclass(frozen=True, eq=False)
class Row:
    """One row of `results`. Times in nanoseconds for one call, sizes in bytes of plaintext."""

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
    samples_ns: np.ndarray
    outliers: tuple[int, ...]
    timeline_ns: dict[str, float | None]
    timeline_samples_ns: dict[str, np.ndarray]  # only phases with samples of their own
    energy_joules: float | None
    energy_reason: str | None
    verified: bool
    report: int = 0  # index into Report.contexts
    stand_in: bool = False  # whether `device` is the CPU, seen through OpenCL
    openssl: str | None = None  # version of the libcrypto that paraes is linked to

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

    def machine_of_row(self, row: Row) -> tuple[Any, ...]:
        """Identify the machine that a row was measured on, see `machine_of`."""
        return machine_of(self.contexts[row.report]) if row.report < len(self.contexts) else ()

    @property
    def valid(self) -> list[Row]:
        """Rows that have samples and were verified: the only ones fit for analysis."""
        return [row for row in self.rows if row.verified and row.samples_ns.size]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as plain dicts: axes, `median_ns`, `mb_per_s`, `samples`,
        `energy_joules`, `verified`, and phases as `*_ns`. Values that were not measured are None.
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
            record |= {f"{phase}_ns": row.timeline_ns.get(phase) for phase in PHASES}
            records.append(record)
        return records


def _fail(where: str, text: str) -> LabError:
    return LabError(f"{where}: {text}; give a file that `paraes bench --json FILE` wrote")


def _expect(value: Any, kind: type, nullable: bool, where: str) -> Any:
    if value is None and nullable:
        return None
    wrong = not isinstance(value, kind) or (kind is int and isinstance(value, bool))
    if wrong:
        names = {
            str: "text",
            int: "a whole number",
            bool: "true or false",
            list: "a list",
            dict: "an object",
        }
        found = "null" if value is None else json.dumps(value, ensure_ascii=False)
        found = found if len(found) <= 40 else found[:40] + "…"
        raise _fail(where, f"expected {names[kind]}, found {found}")
    return value


def _number(value: Any, where: str, nullable: bool = True) -> float | None:
    if value is None and nullable:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise _fail(where, "expected a number of at least 0")
    return float(value)


def _updated(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of an older report as a row of today.

    OpenSSL's EVP was once named like the kernel `openssl`. Where there is no `executor`, several
    threads mean OpenMP. Where there is no `keys`, the row is not of many messages at once.
    """
    row = {"keys": None, **row}
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
    for name, (kind, nullable) in _AXES.items():
        if name not in row:
            raise _fail(f"{where}.{name}", "is missing")
        axes[name] = _expect(row[name], kind, nullable, f"{where}.{name}")
    if min(axes["bytes"], axes["threads"]) < 0 or min(axes["ranks"], axes["messages"]) < 1:
        raise _fail(where, "bytes and threads must be at least 0, ranks and messages at least 1")
    return axes


def _phase_samples(value: Any, where: str) -> np.ndarray:
    samples = _expect(value, list, False, where)
    numbers = [_number(s, f"{where}[{i}]", False) for i, s in enumerate(samples)]
    return np.array(numbers, dtype=float)


def _row_of(json_row: Any, where: str, stand_ins: set[str], openssl: str | None) -> Row:
    row = _updated(_expect(json_row, dict, False, where))
    axes = _axes_of(row, where)
    samples = _expect(row.get("samples_ns"), list, False, f"{where}.samples_ns")
    numbers = [_number(s, f"{where}.samples_ns[{i}]", False) for i, s in enumerate(samples)]
    if any(number == 0 for number in numbers):
        raise _fail(f"{where}.samples_ns", "a sample of 0 ns has no rate")
    timeline = row.get("timeline_ns") or {}
    _expect(timeline, dict, False, f"{where}.timeline_ns")
    phases = row.get("timeline_samples_ns") or {}
    _expect(phases, dict, False, f"{where}.timeline_samples_ns")
    return Row(
        **axes,
        samples_ns=np.array(numbers, dtype=float),
        outliers=tuple(row.get("outliers") or ()),
        timeline_ns={p: _number(timeline.get(p), f"{where}.timeline_ns.{p}") for p in PHASES},
        timeline_samples_ns={
            p: _phase_samples(phases[p], f"{where}.timeline_samples_ns.{p}")
            for p in PHASES
            if phases.get(p)
        },
        energy_joules=_number(row.get("energy_joules"), f"{where}.energy_joules"),
        energy_reason=row.get("energy_reason"),
        verified=_expect(row.get("verified"), bool, False, f"{where}.verified"),
        stand_in=axes["device"] in stand_ins,
        openssl=openssl,
    )


def _skip_of(json_row: Any, where: str) -> Skip:
    row = _updated(_expect(json_row, dict, False, where))
    reason = _expect(row.get("reason"), str, False, f"{where}.reason")
    return Skip({name: row.get(name) for name in AXES}, reason)


def _not_a_number(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def parse(text: str, source: str) -> Any:
    """Parse JSON text; errors name it `source`."""
    try:
        return json.loads(text, parse_constant=_not_a_number)
    except ValueError as error:
        raise _fail(source, f"is not JSON ({error})") from error


def _at(source: str, name: str) -> str:
    """Name a field of a file, or of an object within it, for errors."""
    return f"{source}.{name}" if ": " in source else f"{source}: {name}"


def from_object(value: Any, source: str) -> Report:
    """Return a report from parsed JSON; raise LabError that names the first wrong field."""
    value = _expect(value, dict, False, source)
    if value.get("schema") != SCHEMA or isinstance(value.get("schema"), bool):
        found = json.dumps(value.get("schema"))
        raise LabError(
            f"{source}: schema {found} is not supported (this paraes-lab reads {SCHEMA}); "
            "measure again with a paraes of the same version, or update paraes-lab"
        )
    if "runs" in value and "results" not in value:
        runs = _expect(value["runs"], list, False, _at(source, "runs"))
        return merge([from_object(run, _at(source, f"runs[{i}]")) for i, run in enumerate(runs)])
    results = _expect(value.get("results"), list, False, _at(source, "results"))
    skipped = _expect(value.get("skipped", []), list, False, _at(source, "skipped"))
    context = _expect(value.get("context"), dict, False, _at(source, "context"))
    gpus = _expect(context.get("gpus") or [], list, False, _at(source, "context.gpus"))
    stand_ins = {str(g.get("id")) for g in gpus if isinstance(g, dict) and is_cpu_device(g)}
    libraries = context.get("libraries")
    openssl = libraries.get("openssl") if isinstance(libraries, dict) else None
    openssl = openssl if isinstance(openssl, str) else None
    return Report(
        sources=[source],
        contexts=[context],
        rows=[
            _row_of(row, _at(source, f"results[{i}]"), stand_ins, openssl)
            for i, row in enumerate(results)
        ],
        skipped=[_skip_of(row, _at(source, f"skipped[{i}]")) for i, row in enumerate(skipped)],
        raw=[value],
    )


def load(path: Path | str) -> Report:
    """Read and check one file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"{path}: cannot read: {error.strerror}; `paraes bench --json {path}` writes one"
        ) from error
    except UnicodeDecodeError as error:
        raise _fail(str(path), "is not JSON (it is not UTF-8 text)") from error
    return from_object(parse(text, str(path)), str(path))


def merge(reports: list[Report]) -> Report:
    """Merge reports into one. Each row keeps the index of its report."""
    merged = Report([], [], [], [])
    for report in reports:
        offset = len(merged.contexts)
        merged.sources += report.sources
        merged.contexts += report.contexts
        merged.raw += report.raw
        merged.skipped += report.skipped
        for row in report.rows:
            merged.rows.append(_in_report(row, row.report + offset))
    return merged


def _in_report(row: Row, index: int) -> Row:
    if row.report == index:
        return row
    values = {name: getattr(row, name) for name in row.__dataclass_fields__}
    values["report"] = index
    return Row(**values)


def load_all(paths: list[Path | str]) -> Report:
    """Read several files as one report."""
    return merge([load(path) for path in paths])


def machine_of(context: dict[str, Any]) -> tuple[Any, ...]:
    """Return the fields that must be equal for rates to be comparable: same machine and cores."""
    names = ("host", "cpu", "cores", "threads", "numa", "features")
    return tuple(json.dumps(context.get(name)) for name in names)
