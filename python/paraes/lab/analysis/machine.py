"""The machine that the rows were measured on."""

from __future__ import annotations

from typing import Any

from paraes.lab.bench import Report, is_cpu_device, machine_of
from paraes.lab.document import (
    Cell,
    Column,
    Paragraph,
    Section,
    Table,
)


def machine_section(report: Report) -> Section:
    """Describe the machine of each report. Rates mean nothing without it."""
    names = (
        "time",
        "host",
        "cpu",
        "features",
        "cores",
        "threads",
        "numa",
        "governor",
        "thp",
        "first_touch",
        "last_level_cache_bytes",
        "kernel_release",
        "container",
        "compiler",
        "flags",
        "git",
        "dirty",
    )
    distinct_contexts: list[dict[str, Any]] = []
    for context in report.contexts:
        if context and context not in distinct_contexts:
            distinct_contexts.append(context)
    # Reports of one machine and one commit share a column, which shows the first of them.
    seen: dict[tuple, dict[str, Any]] = {}
    for context in distinct_contexts:
        seen.setdefault((machine_of(context), context.get("git")), context)
    columns = [Column("", "text")] + [
        Column(f"report {i}", "text") for i in range(1, len(seen) + 1)
    ]
    rows: list[list[Cell]] = []
    for name in names:
        rows.append([name, *[_context_text(c.get(name)) for c in seen.values()]])
    libraries = sorted({k for c in seen.values() for k in (c.get("libraries") or {})})
    for library in libraries:
        rows.append(
            [
                library,
                *[_context_text((c.get("libraries") or {}).get(library)) for c in seen.values()],
            ]
        )
    gpus = [_gpus_text(c.get("gpus") or []) for c in seen.values()]
    rows.append(["GPUs and OpenCL devices", *gpus])
    table = Table(
        "machine",
        "Machine as detected by the bench (unknown: could not be detected)",
        columns,
        rows,
    )
    blocks: list[Any] = [table]
    if len({machine_of(c) for c in seen.values()}) > 1:
        blocks.append(
            Paragraph(
                "These reports come from different machines: compare rates only within one machine."
            )
        )
    return Section("machine-section", "Machine", blocks)


def _context_text(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(str(v) for v in value)
    return str(value)


def _gpus_text(gpus: list[dict[str, Any]]) -> str:
    words = []
    for gpu in gpus:
        kind = " (a CPU)" if is_cpu_device(gpu) else ""
        words.append(f"{gpu.get('id')}{kind}: {gpu.get('name')}, {gpu.get('driver')}")
    return "; ".join(words) or "none"
