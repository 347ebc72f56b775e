"""The rows of an experiment, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraes.lab.document import Missing
from paraes.lab.errors import LabError
from paraes.lab.papers.setting import Setting
from paraes.lab.rows import AXES, OPENMP, Report, Row, Skip
from paraes.lab.runs import GPU
from paraes.lab.units import size_text

NOT_YET = "not measured yet: the same command continues"
# Axes of the papers' experiments where a lookup names no other.
DEFAULTS = {
    "mode": "ecb",
    "key_bits": 128,
    "direction": "encrypt",
    "ranks": 1,
    "key_expansion": "host",
    "group_threads": None,
}


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

    @property
    def beside_theirs(self) -> str:
        """The name beside a paper's GPU, which says so if a CPU stands in for one."""
        return f"GPU, here {self.title}" if self.is_cpu else "GPU"


@dataclass(frozen=True)
class LeftOut(Missing):
    """The reason why there is no value of a size that --max-size or --quick left out."""

    size: int


@dataclass
class Evidence:
    """The rows of one paper's experiment."""

    report: Report
    setting: Setting
    device: Device
    unfinished: bool = False  # whether processes are left to measure

    def cpu(
        self, kernel: str, size: int, threads: int = 1, executor: str = OPENMP, **axes: Any
    ) -> Row | Missing:
        """Return a row of the CPU, in memory scope; the executor is that of several threads."""
        axes = {"scope": "memory", "executor": executor if threads > 1 else None} | axes
        return self.need(device="cpu", kernel=kernel, bytes=size, threads=threads, **axes)

    def gpu(self, kernel: str, size: int, scope: str = "memory", **axes: Any) -> Row | Missing:
        """Return a row of the GPU: kernel only, or with copies in scope transfer."""
        axes |= {"device": GPU, "threads": 0, "executor": None}
        return self.need(kernel=kernel, bytes=size, scope=scope, **axes)

    def need(self, **axes: Any) -> Row | Missing:
        """Return the valid row of paraes with these axes, or a Missing with the reason.

        GPU stands for `self.device`. Axes that are not given are those of DEFAULTS. Raises LabError
        if several rows fit, because the choice of one would be silent.
        """
        axes = DEFAULTS | axes
        if axes["device"] == GPU and self.device.id is not None:
            axes["device"] = self.device.id
        found = [
            row
            for row in self.report.valid
            if row.rival is None and all(getattr(row, k) == v for k, v in axes.items())
        ]
        if len(found) > 1:
            raise LabError(
                f"{self.report.sources[0]}: {len(found)} configurations are "
                f"{found[0].label()}, {size_text(found[0].bytes)}, where one is expected: "
                "reproduce into a folder of its own"
            )
        if found:
            return found[0]
        reason = self.why(**axes)
        return Missing(reason) if axes["device"] == GPU else self.missing(reason, axes["bytes"])

    def missing(self, reason: str, size: int) -> Missing:
        """Return a Missing that tells whether the size was left out."""
        return LeftOut(reason, size) if self.leaves_out(size) else Missing(reason)

    def leaves_out(self, size: int) -> bool:
        """Tell whether --max-size or --quick leaves out a size."""
        return not self.setting.sizes([size])

    def why(self, **axes: Any) -> str:
        """Return the reason why there is no such row."""
        axes = DEFAULTS | axes
        if axes["device"] == GPU:
            return self.device.reason or "no GPU"
        if self.leaves_out(axes["bytes"]):
            return self.setting.why_left_out()
        wrong = [row for row in self.report.rows if row.is_wrong]
        if any(all(getattr(row, k) == v for k, v in axes.items()) for row in wrong):
            return "the output was WRONG or the run failed"
        fitting = (skip.reason for skip in self.report.skipped if _fits(skip, axes))
        return next(fitting, NOT_YET if self.unfinished else "not measured")


def _fits(skip: Skip, axes: dict[str, Any]) -> bool:
    # An absent device is listed once for each scope, without the other axes.
    whole_device = not skip.axes.get("bytes")
    names = ("device", "scope", "rival") if whole_device else tuple(a for a in AXES if a in axes)
    return all(skip.axes.get(name) == axes[name] for name in names if name in axes)
