"""The rows of an experiment, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraes.lab.bench import AXES, OPENMP, Report, Row, Skip
from paraes.lab.document import (
    Missing,
)
from paraes.lab.measure import GPU
from paraes.lab.papers.setting import Setting


@dataclass
class Device:
    """The GPU of the experiment. `reason` says why there is none if `id` is None."""

    id: str | None
    name: str | None
    is_cpu: bool
    reason: str | None

    @property
    def title(self) -> str:
        """The name for headings, which says so if a CPU stands in for a GPU."""
        if self.id is None:
            return "GPU"
        return f"{self.id} (a CPU)" if self.is_cpu else self.id


@dataclass
class Evidence:
    """The rows of one paper's experiment."""

    report: Report
    setting: Setting
    device: Device

    def find(self, **axes: Any) -> Row | None:
        """Return the first valid row of paraes with these axes; GPU stands for `self.device`."""
        if axes.get("device") == GPU:
            axes["device"] = self.device.id or GPU
        for row in self.report.valid:
            if row.rival is None and all(getattr(row, k) == v for k, v in axes.items()):
                return row
        return None

    def why(self, **axes: Any) -> str:
        """Return the reason why there is no such row."""
        if axes.get("device") == GPU:
            if self.device.id is None:
                return self.device.reason or "no GPU"
            axes["device"] = self.device.id
        size = axes.get("bytes")
        if size is not None and not self.setting.sizes([size]):
            return self.setting.why_left_out()
        for row in self.report.rows:
            if all(getattr(row, k) == v for k, v in axes.items()) and not row.verified:
                return "the output was WRONG or the run failed"
        for skip in self.report.skipped:
            if _fits(skip, axes):
                return skip.reason
        return "not measured"

    def need(self, **axes: Any) -> Row | Missing:
        """Return the row, or a Missing with the reason."""
        row = self.find(**axes)
        return row if row is not None else Missing(self.why(**axes))


def _fits(skip: Skip, axes: dict[str, Any]) -> bool:
    # An absent device is listed once for each scope, without the other axes.
    whole_device = not skip.axes.get("bytes")
    names = ("device", "scope", "rival") if whole_device else tuple(a for a in AXES if a in axes)
    return all(skip.axes.get(name) == axes[name] for name in names if name in axes)


def executor_of(threads: int) -> str | None:
    """Return the executor axis of a row run by OpenMP: None for one thread."""
    return OPENMP if threads > 1 else None
