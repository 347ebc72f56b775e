"""Turn bench JSON into the sections of a report: a module a section."""

from __future__ import annotations

from paraes.lab.analysis.all_rows import rows_section
from paraes.lab.analysis.crossover import crossover_section
from paraes.lab.analysis.energy import energy_section
from paraes.lab.analysis.machine import machine_section
from paraes.lab.analysis.phases import phases_section
from paraes.lab.analysis.rivals import rivals_section
from paraes.lab.analysis.roofs import roofs_section
from paraes.lab.analysis.rows import absent_devices, distinct
from paraes.lab.analysis.scaling import scaling_section
from paraes.lab.analysis.skipped import skipped_section
from paraes.lab.analysis.throughput import throughput_figures
from paraes.lab.bench import Report
from paraes.lab.document import Document, Paragraph, Section
from paraes.lab.units import plural


def sections(report: Report, clock_hz: float | None = None) -> list[Section]:
    """Return all sections of a report, without those that would be empty."""
    rows = distinct(report.valid)
    every = distinct(report.rows)
    cores = report.context.get("threads")
    cores = cores if isinstance(cores, int) else None
    absent = absent_devices(report)
    figures = throughput_figures(rows, report, absent)
    found: list[Section | None] = [
        Section(
            "measurements",
            "Measurements",
            [
                Paragraph(
                    f"{plural(len(every), 'row')} measured, {len(every) - len(rows)} of them wrong "
                    f"or failed, {len(report.skipped)} skipped. Times are medians with 95 % "
                    "intervals from order statistics."
                )
            ],
            level=1,
        ),
        machine_section(report),
        Section("throughput", "Throughput", list(figures)) if figures else None,
        rivals_section(rows),
        scaling_section(rows, cores),
        crossover_section(rows, report, absent),
        phases_section(rows, absent),
        roofs_section(rows, report.contexts, clock_hz, absent) if rows else None,
        energy_section(rows, absent) if rows else None,
        rows_section(every, absent) if every else None,
        skipped_section(report),
    ]
    return [section for section in found if section is not None]


def document(report: Report, clock_hz: float | None = None) -> Document:
    """Return the document for any bench JSON."""
    names = ", ".join(report.sources[:3]) + (" …" if len(report.sources) > 3 else "")
    return Document("paraes bench", f"From {names}.", sections(report, clock_hz))
