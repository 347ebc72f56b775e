"""A run of `paraes bench`: its axes, its flags, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from paraes.lab.rows import AXES
from paraes.lab.units import size_text

GPU = "gpu"  # in Run.devices: the GPU that look_at chooses
DISTRIBUTION = "shared"  # of data to ranks: the papers timed encryption without communication


# For estimates of the time that a run takes: seconds a byte on one core, by kernel, from a Zen 4 of
# 2023; seconds to start a process of the bench, and to launch one with MPI.
PACES = {"reference": 27e-9, "ttable": 5e-9}
FAST_PACE = 1e-9
START_SECONDS, LAUNCH_SECONDS = 0.15, 1.0


@dataclass(frozen=True)
class Run:
    """One run of `paraes bench`, over the product of its axes. `size` is in bytes."""

    scope: str
    devices: tuple[str, ...]
    kernels: tuple[str, ...]
    size: int
    directions: tuple[str, ...] = ("encrypt",)
    key_bits: tuple[int, ...] = (128,)
    threads: tuple[int, ...] = (1,)
    executors: tuple[str, ...] = ("threads",)  # used in memory scope with several threads
    ranks: int = 1
    mode: str = "ecb"
    rivals: tuple[str, ...] = ("none",)
    key_expansions: tuple[str, ...] = ("host",)
    group_threads: tuple[int, ...] = ()  # of a GPU's kernels; empty for their own
    samples: int = 21
    min_time: float = 0.0  # seconds of timed work per row; for energy 0.1 (CPU) or 2 (GPU)

    @property
    def on_gpu(self) -> bool:
        """Whether the run needs the GPU."""
        return GPU in self.devices

    def cost(self, cores: int = 1) -> float:
        """Estimate the seconds that one process of the run takes on so many cores."""
        each = len(self.directions) * len(self.key_bits) * len(self.key_expansions)
        each *= max(1, len(self.group_threads))
        seconds = START_SECONDS + (LAUNCH_SECONDS if self.ranks > 1 else 0.0)
        for device, kernel, threads in product(self.devices, self.kernels, self.threads):
            pace = PACES.get(kernel, FAST_PACE) if device == "cpu" else FAST_PACE
            call = self.size * pace / min(cores, threads * self.ranks)
            rows = each * (len(self.executors) if threads > 1 else 1)
            # Calibration and verification have a call each, and so has warm-up unless it is long.
            calls = self.samples + (2 if call >= 1 else 3)
            seconds += rows * max(calls * max(2e-3, call), self.min_time)
        return seconds

    def arguments(self, gpu: str | None) -> list[str]:
        """Return the flags of `paraes bench`, with `gpu` as the GPU."""
        devices = [gpu if device == GPU and gpu else device for device in self.devices]
        values: dict[str, Sequence[Any]] = {
            "--scope": [self.scope],
            "--device": devices,
            "--kernel": self.kernels,
            "--mode": [self.mode],
            "--key-bits": self.key_bits,
            "--direction": self.directions,
            "--threads": self.threads,
            "--size": [self.size],
            "--rivals": self.rivals,
            "--samples": [self.samples],
            "--min-time": [f"{self.min_time:g}"],
            # Without these, the bench does what is meant.
            "--executor": self.executors if self.executors != ("threads",) else (),
            "--key-expansion": self.key_expansions if self.key_expansions != ("host",) else (),
            "--group-threads": self.group_threads,
        }
        flags: list[str] = []
        for flag, of in values.items():
            flags += [flag, ",".join(map(str, of))] if of else []
        if self.scope == "file":
            flags += ["--format", "raw"]
        if self.scope in ("transfer", "file"):
            flags += ["--no-overlap"]  # the papers ran one phase after another
        if self.ranks > 1:
            flags += ["--distribute", DISTRIBUTION]
        return flags

    def without_gpu(self) -> Run | None:
        """Return the run without its GPU; None if nothing is left."""
        rest = tuple(device for device in self.devices if device != GPU)
        return replace(self, devices=rest) if rest else None

    @property
    def kind(self) -> tuple[Any, ...]:
        """What two runs must have in common to be united: all that is not an axis of the bench."""
        own = self.group_threads  # as an axis it would multiply the rows of all other kernels
        return (self.scope, self.kernels, self.size, self.mode, self.ranks, own)

    def united(self, other: Run) -> Run:
        """Return one run that measures all configurations of both, which are of one `kind`."""

        def both(name: str) -> tuple[Any, ...]:
            return tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))

        rivals = tuple(r for r in both("rivals") if r != "none") or ("none",)
        return replace(
            self,
            devices=both("devices"),
            directions=tuple(sorted(both("directions"), reverse=True)),  # encryption first
            key_bits=tuple(sorted(both("key_bits"))),
            threads=tuple(sorted(both("threads"))),
            executors=both("executors"),
            rivals=rivals,
            key_expansions=both("key_expansions"),
            samples=max(self.samples, other.samples),
            min_time=max(self.min_time, other.min_time),
        )

    def absent(self, reason: str) -> dict[str, Any]:
        """Return the skipped row of an absent GPU, with the axes that the bench lists for one."""
        return self._skip(reason, device=GPU, threads=0, ranks=1, bytes=0)

    def _skip(self, reason: str, **axes: Any) -> dict[str, Any]:
        row: dict[str, Any] = dict.fromkeys(AXES)
        row |= {"messages": 1, "scope": self.scope, "in_place": False, "overlap": False}
        return row | axes | {"reason": reason}

    def skipped(self, device: str | None, reason: str) -> list[dict[str, Any]]:
        """Return the skipped rows of this run on `device`, as the bench would list them."""
        axes = (
            self.kernels,
            self.key_bits,
            self.directions,
            self.key_expansions,
            self.group_threads or (None,),
        )
        return [
            self._skip(
                reason,
                device=device,
                kernel=kernel,
                mode=self.mode,
                key_bits=bits,
                direction=direction,
                bytes=self.size,
                threads=0 if device != "cpu" else self.threads[0],
                ranks=self.ranks,
                distribution=DISTRIBUTION if self.ranks > 1 else None,
                key_expansion=key_expansion,
                group_threads=group_threads,
            )
            for kernel, bits, direction, key_expansion, group_threads in product(*axes)
        ]

    def title(self, gpu: str | None) -> str:
        """Describe the run for the progress display."""
        devices = "+".join(gpu or GPU if device == GPU else device for device in self.devices)
        kernels = "+".join(self.kernels)
        ranks = f", {self.ranks} ranks" if self.ranks > 1 else ""
        return f"{devices} {kernels} {self.scope} {size_text(self.size)}{ranks}"
