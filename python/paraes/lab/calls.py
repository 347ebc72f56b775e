"""A measurement in several calls: on which kind of machine they must be, and which there were.

A folder of results belongs to one kind of machine, which `measured-on.json` in it names: the
processor, the cores, and each GPU with its driver. Another machine of that kind may continue.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from paraes.lab.discovery import GPU_FACTS, Machine
from paraes.lab.document import Column, Section, Table
from paraes.lab.errors import LabError
from paraes.lab.files import write_whole
from paraes.lab.units import duration_text

KIND_FILE = "measured-on.json"
NAME = "calls"
UNKNOWN = "unknown"


def now() -> str:
    """Return the time as the bench writes it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _known_kind(path: Path) -> dict[str, Any] | None:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LabError(
            f"{path}: cannot be read: {error}: remove it if this machine is of the kind that "
            "measured, or choose another -o"
        ) from error
    if not isinstance(known, dict) or not isinstance(known.get("gpus"), dict):
        raise LabError(
            f"{path}: does not name a kind of machine: remove it if this machine is of the kind "
            "that measured, or choose another -o"
        )
    return known


def check_kind(folder: Path, machine: Machine) -> None:
    """Check that a folder's results are of this kind of machine, and note the kind in a new one.

    Raises LabError that names what differs.
    """
    path = folder / KIND_FILE
    kind: dict[str, Any] = {"processor": machine.processor, "cores": machine.cores, "gpus": {}}
    known = _known_kind(path) or kind
    pairs = [(name, known.get(name), kind[name]) for name in ("processor", "cores")]
    gpus = dict(known["gpus"])
    if gpus and machine.gpu not in gpus and not machine.device_is_given:
        here = machine.gpu or f"none, because {machine.gpu_reason or 'there is none'}"
        raise LabError(
            f"{folder}: was measured with {' and '.join(gpus)}, and the GPU here is {here}: "
            "continue where there is one, name one with --device, or choose another -o"
        )
    if machine.gpu is not None:
        own = dict(zip(GPU_FACTS, machine.gpu_facts, strict=True))
        there = gpus.setdefault(machine.gpu, own)
        there = there if isinstance(there, dict) else {}
        pairs += [(f"{fact} of {machine.gpu}", there.get(fact), own[fact]) for fact in GPU_FACTS]
    other = [f"{name}: {was} there, {here} here" for name, was, here in pairs if was != here]
    if other:
        raise LabError(
            f"{folder}: was measured on another kind of machine ({'; '.join(other)}): continue on "
            "one of that kind, or choose another -o"
        )
    whole = {**kind, "gpus": gpus}
    if known != whole or not path.is_file():
        write_whole(path, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")


@dataclass
class Left:
    """What a measurement has not measured yet: processes of the bench, and their seconds."""

    processes: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    shortest: float = 0.0

    def add(self, seconds: float) -> None:
        """Count a process."""
        self.shortest = min(self.shortest, seconds) if self.processes else seconds
        self.longest = max(self.longest, seconds)
        self.processes += 1
        self.seconds += seconds

    @property
    def text(self) -> str:
        """Describe it: 9 processes of the bench, about 3 min."""
        return f"{self._count}, about {duration_text(self.seconds)}"

    @property
    def sentence(self) -> str:
        """Say that it is left: 9 processes of the bench are left, about 3 min."""
        verb = "is" if self.processes == 1 else "are"
        return f"{self._count} {verb} left, about {duration_text(self.seconds)}"

    @property
    def _count(self) -> str:
        return f"{self.processes} {'process' if self.processes == 1 else 'processes'} of the bench"


@dataclass
class _Call:
    host: str
    began: str
    last: str = ""
    processes: set[tuple[Any, ...]] = field(default_factory=set)
    rows: int = 0


def _calls(parts: Sequence[dict[str, Any]]) -> list[_Call]:
    """Return the calls that measured the parts, in the order of time."""
    found: dict[tuple[str, str], _Call] = {}
    for part in parts:
        time = part.get("time")
        if not isinstance(time, str):
            continue
        host = str(part.get("host") or UNKNOWN)
        # Parts of earlier versions have no call: those of one day are shown together.
        began = str(part.get("call") or time[:10])
        call = found.setdefault((began, host), _Call(host, began))
        call.last = max(call.last, time)
        command = " ".join(map(str, part.get("command") or []))
        call.processes.add((time, part.get("process"), command))
        call.rows += part["results"][1]
    return sorted(found.values(), key=lambda call: (call.began, call.host))


def _minute(time: str) -> str:
    """Return a time without seconds, for reading."""
    return time[:16].replace("T", " ")


def section(wholes: Sequence[tuple[str, dict[str, Any]]]) -> Section | None:
    """Return the section that names the calls of each reproduction.

    None if all had one call, or are of versions that did not note it.
    `wholes` are the machines' labels with their results.
    """
    listed = [(label, _calls(whole["lab"]["parts"])) for label, whole in wholes]
    noted = any(part.get("call") for _, whole in wholes for part in whole["lab"]["parts"])
    if not noted or all(len(calls) <= 1 for _, calls in listed):
        return None
    titles = ("call", "host", "began (UTC)", "last process (UTC)")
    columns = [Column(title, "text") for title in titles]
    columns += [Column("processes"), Column("rows")]
    tables = []
    for number, (label, calls) in enumerate(listed):
        rows = [
            [str(i), call.host, _minute(call.began), _minute(call.last)]
            + [len(call.processes), call.rows]
            for i, call in enumerate(calls, 1)
        ]
        name = NAME if number == 0 else f"{NAME}-{number + 1}"
        caption = f"Calls that measured, on {label}: all rows of this report are theirs"
        tables.append(Table(name, caption, columns, rows, keys=1))
    return Section(NAME, "Calls that measured", list(tables))
