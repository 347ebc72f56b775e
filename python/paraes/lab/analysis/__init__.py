"""Turn bench JSON into the sections of a report."""

from __future__ import annotations

from dataclasses import replace

from paraes.lab.analysis.all_rows import rows_section, skipped_section
from paraes.lab.analysis.crossover import crossover_section
from paraes.lab.analysis.machine import machine_section
from paraes.lab.analysis.phases import phases_section
from paraes.lab.analysis.rivals import rivals_section
from paraes.lab.analysis.roofs import energy_section, roofs_section
from paraes.lab.analysis.rows import UNITS_NOTE, absent_devices
from paraes.lab.analysis.scaling import scaling_section
from paraes.lab.analysis.throughput import throughput_figures
from paraes.lab.beside import beside
from paraes.lab.configurations import group
from paraes.lab.document import Bullets, Document, Paragraph, Section
from paraes.lab.machines import Machine, labels_of, machine_of
from paraes.lab.rows import Report
from paraes.lab.units import plural


def sections(report: Report, clock_hz: float | None = None) -> list[Section]:
    """Return all sections of a report, without those that would be empty.

    Each machine is analysed alone. Several of them have columns of their own in every table.
    """
    grouped = group(report)
    machines: dict[Machine, list[int]] = {}
    for index, context in enumerate(grouped.contexts):
        machines.setdefault(machine_of(context), []).append(index)
    labels = labels_of(machines)
    own = {
        labels[machine]: _machine_sections(
            replace(grouped, rows=[row for row in grouped.rows if row.report in indices]), clock_hz
        )
        for machine, indices in machines.items()
    }
    after = own.popitem()[1] if len(own) == 1 else beside(own)
    processes = {len(row.samples_of) for row in grouped.valid}
    counts = " to ".join(map(str, sorted({min(processes), max(processes)}))) if processes else "no"
    head = Section(
        "measurements",
        "Measurements",
        [
            Paragraph(
                f"{plural(len(grouped.rows), 'configuration')} in "
                f"{plural(len(report.rows), 'row')}, "
                f"each measured by {counts} {'process' if counts == '1' else 'processes'}. "
                f"{len(grouped.rows) - len(grouped.valid)} are wrong or failed, "
                f"{len(report.skipped)} rows were skipped. Times are medians with 95 % intervals "
                "from order statistics."
            ),
            Paragraph(UNITS_NOTE),
            *_absent(report),
        ],
        level=1,
    )
    return [head, machine_section(report), *after, *filter(None, [skipped_section(report)])]


def _absent(report: Report) -> list[Bullets]:
    """Say once which devices were asked for and are not there."""
    lines = [f"No rows of {skip.axes['device']}: {skip.reason}." for skip in absent_devices(report)]
    return [Bullets(list(dict.fromkeys(lines)))] if lines else []


def _machine_sections(report: Report, clock_hz: float | None) -> list[Section]:
    """Analyse the rows of one machine; `report` is grouped."""
    rows = report.valid
    threads = [report.contexts[row.report].get("threads") for row in rows]
    cores = max(filter(None, threads), default=None)
    figures = throughput_figures(rows)
    found = [
        Section("throughput", "Throughput", list(figures)) if figures else None,
        rivals_section(rows),
        scaling_section(rows, cores),
        crossover_section(rows),
        phases_section(rows),
        roofs_section(rows, report.contexts, clock_hz) if rows else None,
        energy_section(rows) if rows else None,
        rows_section(report.rows) if report.rows else None,
    ]
    return list(filter(None, found))


def document(report: Report, clock_hz: float | None = None) -> Document:
    """Return the document for any bench JSON."""
    names = ", ".join(report.sources[:3]) + (" …" if len(report.sources) > 3 else "")
    return Document("paraes bench", f"From {names}.", sections(report, clock_hz))
