"""How the papers' experiments are run on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paraes.lab.statistics import LEAST_UNITS
from paraes.lab.units import exact_size_text, size_text

MIB = 1 << 20

QUICK_SIZE = 1 * MIB
PROCESSES = 8  # two sets of 8 decide up to 321 comparisons at once
PROCESS_SAMPLES = 3
LARGE = 256 * MIB  # above it a call may take a minute: several processes have one sample each
QUICK_SAMPLES = 7  # a 95 % interval of the median needs at least 6


@dataclass(frozen=True)
class Setting:
    """How an experiment is run on this machine. Sizes are in bytes."""

    cores: int
    quick: bool = False
    max_size: int | None = None
    samples: int | None = None
    min_time: float = 0.0  # least seconds of timed work per row
    processes: int = 1  # of each run
    ranks: Sequence[int] | None = None  # numbers of ranks of --ranks; they may exceed the cores

    def sizes(self, wanted: Iterable[int]) -> list[int]:
        """Return the sizes that are measured."""
        limit = self.max_size or (QUICK_SIZE if self.quick else None)
        return [size for size in wanted if limit is None or size <= limit]

    def samples_of(self, size: int) -> int:
        """Return the samples per row of one process.

        Fewer for sizes at which one call may take seconds, and with several processes, which are
        the units of the intervals.
        """
        if self.samples is not None:
            return self.samples
        if self.processes > 1:
            return PROCESS_SAMPLES if size <= LARGE else 1
        if self.quick or size > 16 * MIB:
            return QUICK_SAMPLES
        return 21

    def why_left_out(self) -> str:
        """Return the reason shown for sizes that were left out."""
        if self.max_size is not None:
            return f"left out: --max-size {size_text(self.max_size)}"
        return "left out by --quick"

    def command(self, paper: str, size: int) -> str:
        """Return the command that measures a paper up to `size` with enough processes.

        In a new folder: one paper alone has other runs than all papers, which share theirs.
        """
        words = ["paraes-lab reproduce", paper, "-o NEW --max-size", exact_size_text(size)]
        if self.processes >= LEAST_UNITS and self.processes != PROCESSES:
            words.append(f"--processes {self.processes}")
        words += [f"--samples {self.samples}"] if self.samples is not None else []
        words += [f"--ranks {','.join(map(str, self.ranks))}"] if self.ranks is not None else []
        return " ".join(words)

    def thread_counts(self, limit: int = 8) -> list[int]:
        """Return 1, 2, 4, … and the number of cores, none above the cores or `limit`."""
        top = max(1, min(self.cores, limit))
        counts = [1 << i for i in range(top.bit_length()) if 1 << i <= top]
        return counts if counts[-1] == top else [*counts, top]

    def rank_counts(self) -> list[int]:
        """Return the numbers of --ranks, or those of 2, 4, 8, 16, 32 that the cores allow."""
        if self.ranks is not None:
            return list(self.ranks)
        return [ranks for ranks in (2, 4, 8, 16, 32) if ranks <= self.cores]
