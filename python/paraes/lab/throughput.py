"""Draw the throughput by size of devices, kernels and rivals for one job, and of whole programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from paraes.lab.analysis.rows import WHO, rates_figure
from paraes.lab.configurations import group
from paraes.lab.document import Figure
from paraes.lab.errors import LabError
from paraes.lab.machines import labels_of, machine_of
from paraes.lab.rows import AXES, OPENMP, Report, Row
from paraes.lab.units import plural


def _mode_of(rows: list[Row], wanted: str | None) -> str | None:
    counts = Counter(row.mode for row in rows if row.rival is None and row.scope != "file")
    if wanted is not None:
        return wanted
    return "ctr" if counts.get("ctr") else counts.most_common(1)[0][0] if counts else None


def _place_names(report: Report) -> dict[int, str]:
    """Return what tells the rows of each machine and program from those of the others."""
    machines = [machine_of(context) for context in report.contexts]
    labels = labels_of(machines)
    builds = {row.report: row.build for row in report.rows}
    names = {}
    for index, machine in enumerate(machines):
        words = [labels[machine]] if len(labels) > 1 else []
        if machines.count(machine) > 1:
            words.append(builds.get(index, ""))
        names[index] = "".join(f", {word}" for word in words)
    return names


def _lines(report: Report, name_of: Callable[[Row], str | None]) -> list[tuple[str, list[Row]]]:
    """Return the lines of a grouped report, the fastest first; rows without a name are in none.

    Those of one name get the axes in which they differ.
    """
    places = _place_names(report)
    lines: dict[tuple, tuple[str, dict[int, Row]]] = {}
    for row in report.valid:
        if (name := name_of(row)) is not None:
            key = (row.report, *row.axes("bytes", "cache"))
            lines.setdefault(key, (name + places.get(row.report, ""), {}))[1][row.bytes] = row
    named = []
    for name, by_size in lines.values():
        twins = [rows for other, rows in lines.values() if other == name and rows is not by_size]
        row = next(iter(by_size.values()))
        others = [next(iter(rows.values())) for rows in twins]
        differing = [
            axis
            for axis in AXES
            if axis not in ("bytes", "cache")
            and any(getattr(row, axis) != getattr(other, axis) for other in others)
        ]
        more = "".join(f", {axis} {getattr(row, axis)}" for axis in differing)
        named.append((name + more, list(by_size.values())))
    return sorted(named, key=lambda item: -max(row.mb_per_s for row in item[1]))


def figure(
    report: Report,
    mode: str | None = None,
    key_bits: int = 128,
    direction: str = "encrypt",
    threads: int | None = None,
) -> Figure:
    """Draw one line for every device, kernel and rival of one job, and for programs (file scope).

    `threads` applies to memory scope on the CPU; the default of 1 compares the kernels themselves.
    """
    report = group(report)
    mode = _mode_of(report.valid, mode)

    def name_of(row: Row) -> str | None:
        whole = row.scope == "file"
        if row.direction not in (direction, None) or row.in_place:
            return None
        if row.is_copy or row.is_ports:
            return None  # copies and port limits are roofs, not ways to encrypt
        if row.keys is not None:
            return None  # many messages at once: the figure is over the size of a single one
        if not whole and (row.mode not in (mode, None) or row.key_bits not in (key_bits, None)):
            return None
        if not whole and not row.on_gpu and row.threads != (threads or 1):
            return None
        name = row.name
        if whole:
            if row.rival is None:
                job = f" {row.mode}-{row.key_bits}" if row.format in ("raw", "openssl") else ""
                name = f"paraes encrypt, {row.format} format{job}, {plural(row.threads, 'thread')}"
            elif row.mode is not None:
                name = f"({row.rival} {row.mode}-{row.key_bits})"
            name += ", file to file"
        elif row.on_gpu:
            name = f"{row.label()}, " + (
                "with transfers" if row.scope == "transfer" else "in its memory"
            )
        if row.ranks > 1:
            name += f", {plural(row.ranks, 'rank')}"
        return name + (", OpenMP" if row.executor == OPENMP else "")

    lines = _lines(report, name_of)
    if not lines:
        raise LabError(
            f"{', '.join(report.sources[:2])}: no rows of {mode or 'any mode'}, {key_bits}-bit "
            f"keys, {direction}; choose with --mode, --key-bits, --direction, --threads"
        )
    many = plural(threads or 1, "thread")
    verb = "encryption" if direction == "encrypt" else "decryption"
    title = f"AES-{key_bits}-{(mode or '').upper()} {verb}, {many} on the CPU"
    return rates_figure(
        "throughput",
        title,
        "Throughput in 10⁶ bytes a second over the size of the message, both logarithmic: one line "
        "for each device and kernel, with rivals in parentheses.",
        lines,
        lambda row: "program" if row.scope == "file" else "measured",
        WHO,
    )


# Other programs are called like the rival.
PROGRAMS = {"openssl-enc": "openssl enc", "copy-threads": "copy"}


def _program(row: Row) -> str:
    """Return the name of a program that worked on whole files, with what tells its rows apart."""
    if row.is_copy:
        name = PROGRAMS.get(str(row.rival), str(row.rival))
        return name if row.threads == 1 else f"{name}, {plural(row.threads, 'thread')}"
    if row.rival is not None:
        return PROGRAMS.get(row.rival, row.rival)
    name = "paraes"
    if row.on_gpu:
        name += f" on {row.device}"
    elif row.executor == OPENMP or row.ranks > 1:
        name += f", {row.executor}"
    if row.format != "paraes":
        name += f", {row.format}"
    return name if row.on_gpu else f"{name}, {plural(row.workers, 'thread')}"


def files_figure(report: Report, direction: str = "encrypt") -> Figure:
    """Draw one line for every program that encrypted, decrypted or copied files (file scope).

    Copies are roofs: a program that reads and writes a file is hardly faster than one that only
    copies it.
    """
    report = group(report)

    def name_of(row: Row) -> str | None:
        single = row.scope == "file" and row.messages == 1
        return _program(row) if single and row.direction in (direction, None) else None

    lines = _lines(report, name_of)
    if not lines:
        raise LabError(
            f"{', '.join(report.sources[:2])}: no rows of whole files, {direction}; measure them "
            "with `paraes bench --scope file`, or choose with --direction"
        )
    verb = "Encryption" if direction == "encrypt" else "Decryption"
    title = f"{verb} of a file, from file to file"
    return rates_figure(
        "files",
        title,
        "Throughput in 10⁶ bytes a second over the size of the file, both logarithmic: one line "
        "for each program, with the start of its process.",
        lines,
        # All lines are programs here: only copies need to look different.
        lambda row: "roof" if row.is_copy else "measured",
        "program",
        "file",
    )
