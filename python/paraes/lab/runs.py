"""A run of `paraes bench`: its axes and its flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from paraes.lab.rows import AXES
from paraes.lab.units import size_text

GPU = "gpu"  # in Run.devices: the GPU that look_at chooses
DISTRIBUTION = "shared"  # of data to ranks: the papers timed encryption without communication


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

    def arguments(self, gpu: str | None, sizes: Sequence[int] = ()) -> list[str]:
        """Return the flags of `paraes bench`, with `gpu` as the GPU.

        With `sizes`, the process measures those rather than the run's own.
        """
        devices = [gpu if device == GPU and gpu else device for device in self.devices]
        values: dict[str, Sequence[Any]] = {
            "--scope": [self.scope],
            "--device": devices,
            "--kernel": self.kernels,
            "--mode": [self.mode],
            "--key-bits": self.key_bits,
            "--direction": self.directions,
            "--threads": self.threads,
            "--size": sizes or [self.size],
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

    @property
    def implementation(self) -> Run:
        """What runs have in common that one process can make: all but the size."""
        return replace(self, size=0)

    def by_direction(self) -> list[Run]:
        """Return a run for each direction."""
        return [replace(self, directions=(direction,)) for direction in self.directions]

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
        axes: dict[str, Sequence[Any]] = {
            "device": [device],
            "mode": [self.mode],
            "bytes": [self.size],
            "threads": [0 if device != "cpu" else self.threads[0]],
            "ranks": [self.ranks],
            "distribution": [DISTRIBUTION if self.ranks > 1 else None],
            "kernel": self.kernels,
            "key_bits": self.key_bits,
            "direction": self.directions,
            "key_expansion": self.key_expansions,
            "group_threads": self.group_threads or [None],
        }
        lines = product(*axes.values())
        return [self._skip(reason, **dict(zip(axes, line, strict=True))) for line in lines]

    def title(self, gpu: str | None, sizes: Sequence[int] = ()) -> str:
        """Describe the run for the progress display, with `sizes` rather than its own."""
        devices = "+".join(gpu or GPU if device == GPU else device for device in self.devices)
        kernels = "+".join(self.kernels)
        ranks = f", {self.ranks} ranks" if self.ranks > 1 else ""
        size = size_text(self.size)
        if len(sizes) > 1:
            size = f"{size_text(min(sizes))} to {size_text(max(sizes))}"
        elif sizes:
            size = size_text(sizes[0])
        return f"{devices} {kernels} {self.scope} {size}{ranks}"
