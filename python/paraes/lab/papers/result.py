"""What one machine found, as the first screen of a report needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paraes.lab.document import Section
from paraes.lab.papers.claims import Finding
from paraes.lab.papers.evidence import Device
from paraes.lab.papers.setting import Setting


@dataclass(frozen=True)
class Result:
    """What one machine found for the papers, by their names.

    `described` names its hardware, and `sections` are the papers' chapters.
    """

    machine: str
    described: str
    setting: Setting
    device: Device
    findings: Mapping[str, Sequence[Finding]]
    sections: Sequence[Section] = ()

    def each(self) -> list[tuple[str, Finding]]:
        """Return all findings with their papers."""
        return [(paper, finding) for paper, own in self.findings.items() for finding in own]
