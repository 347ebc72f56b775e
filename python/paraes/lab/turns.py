"""Measure programs in turns, for `compare`: the same rows by every program, in several processes.

A machine changes with time, and a change between two measurements looks like one between programs.
So the programs take turns, in a random order in every round.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraes.lab.discovery import devices_of, digest_of, find_program
from paraes.lab.errors import USAGE, LabError
from paraes.lab.execution import execute
from paraes.lab.files import dumps, locked, make_folder, write_whole
from paraes.lab.measure import kept, rounds, sweep
from paraes.lab.rows import SCHEMA

# Flags of the bench that this module gives itself.
OWN_FLAGS = ("--json", "--samples", "--machine")


@dataclass(frozen=True)
class Entry:
    """A program under a name, which is also the name of its result."""

    name: str
    program: Path


def entry_of(text: str) -> Entry:
    """Parse NAME=PROGRAM."""
    name, equals, path = text.partition("=")
    if not equals or not path or not re.fullmatch(r"[A-Za-z0-9._-]+", name) or name.startswith("."):
        raise LabError(
            f"'{text}' is not NAME=PROGRAM, such as new=build/release/cli/paraes; a name has "
            "letters, digits, . _ and -",
            USAGE,
        )
    return Entry(name, find_program(path, source=name))


def check_axes(axes: Sequence[str]) -> None:
    """Refuse flags of the bench that the laboratory gives."""
    for word in axes:
        flag = word.split("=")[0]
        if flag in OWN_FLAGS:
            instead = "-o DIR" if flag == "--json" else f"{flag} before the --"
            raise LabError(f"{flag} after the -- : give {instead} instead", USAGE)


def _check_target(target: Path, flags: list[str]) -> None:
    """Refuse to replace a file that is not an earlier result of the same axes."""
    if not target.exists():
        return
    try:
        known = json.loads(target.read_text(encoding="utf-8")).get("axes")
    except (OSError, ValueError, AttributeError):
        known = None
    if known != flags:
        raise LabError(
            f"{target}: holds something else than a measurement with these axes: choose another "
            "-o, or remove it"
        )


def measure(
    entries: Sequence[Entry],
    axes: Sequence[str],
    folder: Path,
    processes: int,
    samples: int,
    machine: str | None = None,
    progress: Callable[[str, float, float], None] | None = None,
    warn: Callable[[str], None] = print,
) -> tuple[list[Path], int]:
    """Measure the axes with every program; return the files, FOLDER/NAME.json, and wrong rows.

    Processes kept in FOLDER/parts are not repeated. A failed bench ends the measurement.
    """
    names = [entry.name for entry in entries]
    if len(set(names)) != len(names):
        raise LabError("two programs have one name: give each NAME=PROGRAM its own", USAGE)
    check_axes(axes)
    parts = folder / "parts"
    make_folder(parts)
    sweep(parts)
    flags = [*axes, "--samples", str(samples), *(["--machine", machine] if machine else [])]
    executables = {}
    together = hashlib.sha256("\0".join(flags).encode())
    for entry in entries:
        _, devices = devices_of(entry.program)
        executables[entry.name] = digest_of(entry.program, devices).hexdigest()[:16]
        together.update(f"{entry.name} {executables[entry.name]}".encode())
    # All programs are in the names of the parts: if one changes, none is as old as the others.
    key = together.hexdigest()[:16]
    for entry in entries:
        _check_target(folder / f"{entry.name}.json", flags)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    total = processes * len(entries)
    with locked(parts):
        for turn, (process, index) in enumerate(rounds(len(entries), processes)):
            entry = entries[index]
            path = parts / f"{entry.name}-{process + 1}-{key}.json"
            report = kept(path)
            if report is None:
                if progress is not None:
                    progress(f"{process + 1}/{processes} {entry.name}", turn, total)
                report, complaint = execute([str(entry.program), "bench", *flags], path)
                if report is None:
                    raise LabError(f"{entry.name}: {complaint}")
                if complaint:
                    warn(f"{entry.name}: {complaint}")
            context = {**report["context"], "executable": executables[entry.name]}
            runs[entry.name].append({**report, "context": context, "turn": turn})
    written = []
    for name in names:
        target = folder / f"{name}.json"
        write_whole(target, dumps({"schema": SCHEMA, "axes": flags, "runs": runs[name]}))
        written.append(target)
    rows = [row for own in runs.values() for report in own for row in report["results"]]
    wrong = sum(row["verified"] is False for row in rows)
    return written, wrong
