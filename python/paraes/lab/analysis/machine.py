"""The machines that the rows were measured on."""

from __future__ import annotations

from typing import Any

from paraes.lab.document import Cell, Column, Paragraph, Section, Table
from paraes.lab.machines import GIB, Machine, hypervisor_text, labels_of, machine_of
from paraes.lab.rows import Report, is_cpu_device
from paraes.lab.units import significant, size_text

# Context field → how the table calls it. The first five identify a machine.
FIELDS = {
    "machine": "name",
    "cpu": "processor",
    "cpu_id": "processor's identity",
    "cores": "cores",
    "memory_bytes": "memory",
    "hypervisor": "hypervisor",
    "microcode": "microcode",
    "clock_hz": "clock, as measured",
    "threads": "threads at once",
    "features": "features of the processor",
    "numa": "NUMA nodes",
    "last_level_cache_bytes": "last-level cache",
    "governor": "governor of the clock",
    "thp": "huge pages",
    "first_touch": "memory first touched",
    "kernel_release": "system",
    "container": "container",
    "host": "host name",
    "time": "measured at",
    "git": "commit of paraes",
    "dirty": "with uncommitted changes",
    "compiler": "compiler",
    "flags": "compiler's flags",
}


def machine_section(report: Report) -> Section:
    """Describe each machine in a column. Rates mean nothing without it."""
    machines: dict[Machine, list[dict[str, Any]]] = {}
    for context in report.contexts:
        if context:
            machines.setdefault(machine_of(context), []).append(context)
    labels = labels_of(machines)
    columns = [Column("", "text")] + [Column(labels[machine], "text") for machine in machines]
    rows: list[list[Cell]] = [
        [title, *[_field(contexts, name) for contexts in machines.values()]]
        for name, title in FIELDS.items()
    ]
    everywhere = [c for contexts in machines.values() for c in contexts]
    for library in sorted({name for c in everywhere for name in _libraries(c)}):
        texts = [
            _texts([_libraries(c).get(library) for c in contexts]) for contexts in machines.values()
        ]
        rows.append([library, *texts])
    gpus = [_texts([_gpus_text(c) for c in contexts]) for contexts in machines.values()]
    rows.append(["GPUs and OpenCL devices", *gpus])
    notes = ["unknown: the bench could not detect it. Several values: they changed between runs."]
    if len(machines) > 1:
        notes.append("Compare rates within one machine only.")
    table = Table("machine", "Machine as detected by the bench", columns, rows, notes, keys=1)
    text = f"The rows come from {len(machines)} machines. Each has its own columns."
    head = [Paragraph(text)] if len(machines) > 1 else []
    return Section("machine-section", "Machine", [*head, table])


def _libraries(context: dict[str, Any]) -> dict[str, Any]:
    return context.get("libraries") or {}


def _field(contexts: list[dict[str, Any]], name: str) -> str:
    values = [context.get(name) for context in contexts]
    known = [value for value in values if value is not None]
    if name == "clock_hz" and known:
        low, high = (significant(hz * 1e-9, 3) for hz in (min(known), max(known)))
        return f"{low} GHz" if low == high else f"{low} to {high} GHz"
    if name == "memory_bytes" and known:
        return _texts([f"{significant(n / GIB, 3)} GiB" for n in known])
    if name == "last_level_cache_bytes" and known:
        return _texts([size_text(n) for n in known])
    if name == "hypervisor":
        return _texts([value and hypervisor_text(value) for value in values])
    if name == "time":
        times = sorted(str(value) for value in values if value)
        if len(set(times)) > 1:
            return f"{times[0]} to {times[-1]}"
    return _texts(values)


def _texts(values: list[Any]) -> str:
    """Write each distinct value once, in order."""
    return "; ".join(dict.fromkeys(map(_text, values)))


def _text(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(str(v) for v in value)
    return str(value)


def _gpus_text(context: dict[str, Any]) -> str:
    words = []
    for gpu in context.get("gpus") or []:
        kind = " (a CPU)" if is_cpu_device(gpu) else ""
        words.append(f"{gpu.get('id')}{kind}: {gpu.get('name')}, {gpu.get('driver')}")
    return "; ".join(words) or "none"
