"""Shared by Pousa 2011 and 2014: serial, OpenMP, MPI and GPU rows, and the model of MPI."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from paraes.lab.configurations import units_of
from paraes.lab.document import Cell, Missing, Predicted, Series
from paraes.lab.papers.cells import COPIES, duration, ratio, scaled, together
from paraes.lab.papers.claims import Findings, by_size
from paraes.lab.papers.derived_table import Line
from paraes.lab.papers.evidence import Evidence, LeftOut
from paraes.lab.papers.figures import Cells, predicted_series
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.rows import OPENMP, Row
from paraes.lab.runs import DISTRIBUTION, GPU, Run
from paraes.lab.scaling import LEAST_POINTS, AmdahlFit, fit_amdahl
from paraes.lab.units import plural

SIZES = [1 << 10, 512 << 10, MIB, 15 * MIB, 128 * MIB, 255 * MIB]
# Both papers leave out decryption because it takes about as long; up to here that is checked.
LARGEST_DECRYPTED = 15 * MIB
RANKS = (8, 16, 32)
THREADS = 8


def runs_of(setting: Setting, kernel: str, gpu_kernel: str, sizes: list[int]) -> list[Run]:
    """List the runs: encryption with `kernel` by threads and ranks, and `gpu_kernel` on the GPU.

    The GPU runs both with and without copies.
    """
    runs = []
    for size in setting.sizes(sizes):
        on_cpu = Run("memory", ("cpu",), (kernel,), size, samples=setting.samples_of(size))
        on_gpu = replace(on_cpu, devices=(GPU,), kernels=(gpu_kernel,))
        directions = ("encrypt", "decrypt") if size <= LARGEST_DECRYPTED else ("encrypt",)
        runs += [
            replace(
                on_cpu,
                directions=directions,
                threads=tuple(setting.thread_counts(THREADS)),
                executors=(OPENMP,),
                rivals=("memcpy",),
            ),
            *[replace(on_cpu, ranks=ranks) for ranks in setting.rank_counts()],
            replace(on_gpu, directions=directions),
            replace(on_gpu, scope="transfer", rivals=("pinned-copy",)),
        ]
    return runs


@dataclass
class Family:
    """The rows of one kernel: serial, OpenMP, MPI and GPU."""

    evidence: Evidence
    kernel: str
    gpu_kernel: str

    @property
    def threads(self) -> int:
        """Threads of the OpenMP row: the paper's 8, or the number of cores if that is less."""
        return self.evidence.setting.thread_counts(THREADS)[-1]

    @property
    def openmp_title(self) -> str:
        """The name of that row."""
        return f"OpenMP, {plural(self.threads, 'thread')}"

    @property
    def kernel_title(self) -> str:
        """The name of the GPU's row without copies."""
        return f"{self.evidence.device.title}, kernel"

    @property
    def measured_ranks(self) -> list[int]:
        """Numbers of ranks that are measured."""
        return self.evidence.setting.rank_counts()

    @property
    def fair_ranks(self) -> list[int]:
        """Measured numbers of ranks with a core each; others say nothing about scaling."""
        return [r for r in self.measured_ranks if not self.more_than_cores(r)]

    def more_than_cores(self, ranks: int) -> bool:
        """Tell whether so many ranks have to share cores."""
        return ranks > self.evidence.setting.cores

    def mpi_title(self, ranks: int) -> str:
        """Return the name of the row for so many ranks."""
        if ranks in self.measured_ranks and self.more_than_cores(ranks):
            return f"MPI, {ranks} ranks on {plural(self.evidence.setting.cores, 'core')}"
        return f"MPI, {ranks} ranks"

    @property
    def equal_workers(self) -> int | None:
        """The largest number that was measured both of threads and of ranks with a core each."""
        both = {*self.evidence.setting.thread_counts(THREADS)} & {*self.fair_ranks}
        return max(both - {1}, default=None)

    def largest(self, sizes: Iterable[int]) -> int:
        """Return the largest size with a serial row, or the largest of all without one."""
        known = [size for size in sizes if isinstance(self.serial(size), Row)]
        return max(known or sizes)

    def serial(self, size: int, direction: str = "encrypt") -> Row | Missing:
        """Look up the row of one thread, which OpenMP has no part in."""
        return self.openmp(size, direction, 1)

    def openmp(
        self, size: int, direction: str = "encrypt", threads: int | None = None
    ) -> Row | Missing:
        """Look up the row of OpenMP with so many threads, by default `self.threads`."""
        threads = self.threads if threads is None else threads
        return self.evidence.cpu(self.kernel, size, threads, direction=direction)

    def mpi(self, ranks: int, size: int) -> Row | Missing:
        """Look up the row of so many ranks of one thread each."""
        if ranks not in self.measured_ranks:
            return Missing(f"{plural(ranks, 'rank')} were not measured")
        return self.evidence.cpu(self.kernel, size, ranks=ranks, distribution=DISTRIBUTION)

    def gpu(self, size: int, direction: str = "encrypt", **axes: Any) -> Row | Missing:
        """Look up the row of the GPU, by default of its kernel only."""
        return self.evidence.gpu(self.gpu_kernel, size, direction=direction, **axes)

    def transfer(self, size: int) -> Row | Missing:
        """Look up the row of the GPU with copies."""
        return self.gpu(size, scope="transfer")

    def gpu_phases(self, size: int, *names: str) -> Row | Missing:
        """Return a row whose time is the sum of phases on the GPU, by default of copies and kernel.

        That sum is the paper's total.
        """
        return together((self.transfer(size), names or (*COPIES, "kernel")))

    def copies_share(self, size: int) -> Cell:
        """Return the share of both copies in the total of the GPU, in percent."""
        return scaled(ratio(self.gpu_phases(size, *COPIES), self.gpu_phases(size)), 100)

    def mpi_efficiency(self, ranks: int, size: int) -> Cell:
        """Return the efficiency against one thread: measured, else predicted, else missing."""
        return scaled(self.mpi_speedup(ranks, size), 1 / ranks)

    def model(self, size: int) -> AmdahlFit | Missing:
        """Fit Amdahl's law to the serial row and the ranks with a core each, where possible."""
        serial = self.serial(size)
        ranks = [row for r in self.fair_ranks if isinstance(row := self.mpi(r, size), Row)]
        if isinstance(serial, Missing) or not ranks:
            return self._no_model(size)
        rows = [serial, *ranks]
        units = units_of(rows)
        samples = units or [row.samples_ns for row in rows]
        fit = fit_amdahl([row.ranks for row in rows], samples, units is not None)
        if fit is None:
            assert len(ranks) < LEAST_POINTS
            return Missing("one number of ranks was measured; a prediction needs two")
        if fit.fraction >= 1:
            return Missing(
                "more ranks took no less time than one, which Amdahl's law cannot describe: "
                "no prediction"
            )
        return fit

    def mpi_time(self, ranks: int, size: int) -> Cell:
        """Return the seconds: measured, else predicted by the model, else missing."""
        if ranks in self.measured_ranks:
            return duration(self.mpi(ranks, size))
        fit = self.model(size)
        if isinstance(fit, Missing):
            return fit
        time, interval = fit.time(ranks)
        return Predicted(time * 1e-9, interval and interval.scaled(1e-9), fit.points)

    def mpi_speedup(self, ranks: int, size: int) -> Cell:
        """Return the speedup against one thread: measured, else predicted, else missing."""
        if ranks in self.measured_ranks:
            return ratio(self.serial(size), self.mpi(ranks, size))
        fit = self.model(size)
        return fit if isinstance(fit, Missing) else Predicted(*fit.speedup(ranks), fit.points)

    def over(self, row: Callable[[int], Row | Missing]) -> Callable[[int], Cell]:
        """Return the speedup of a row against one thread, by size."""
        return lambda size: ratio(self.serial(size), row(size))

    def speedups(self) -> dict[str, Callable[[int], Cell]]:
        """Return the speedups against one thread by the names of the implementations."""
        cells = {self.openmp_title: self.over(self.openmp)}
        for ranks in self.rank_columns:
            cells[self.mpi_title(ranks)] = partial(self.mpi_speedup, ranks)
        return cells | {self.kernel_title: self.over(self.gpu)}

    def lines(
        self,
        threads: int,
        ranks: Iterable[int],
        theirs: Callable[[str], Mapping[int, float | None]],
    ) -> list[Line]:
        """Return the lines of one thread, of OpenMP and of MPI for derived_section.

        `threads` are the paper's, and `theirs` gives its times by the names of the columns.
        """
        title = f"OpenMP, {plural(threads, 'thread')}"
        return [
            Line("serial", theirs("serial"), self.serial),
            Line(title, theirs("omp8"), self.openmp, threads, self.threads),
            *[
                Line(self.mpi_title(n), theirs(f"mpi{n}"), partial(self.mpi, n), n, n)
                for n in ranks
            ],
        ]

    def judge_decryption(self, findings: Findings, claims: str, sizes: Iterable[int]) -> None:
        """Judge the claims that decryption takes about as long as encryption, at each size."""
        decrypted = [size for size in sizes if size <= LARGEST_DECRYPTED]
        for name, row in (("serial", self.serial), ("openmp", self.openmp), ("gpu", self.gpu)):
            note = workers_note(self.threads, "thread") if name == "openmp" else ""

            def longer(size: int, row: Callable[..., Row | Missing] = row) -> Cell:
                return ratio(row(size, "decrypt"), row(size, "encrypt"))

            findings.add(f"{claims}-{name}", by_size(decrypted, longer), note=note)

    def _no_model(self, size: int) -> Missing:
        setting = self.evidence.setting
        if not setting.sizes([size]):
            return LeftOut(setting.why_left_out(), size)
        row = self.mpi(self.fair_ranks[0], size) if self.fair_ranks else None
        reason = "no serial row"
        if isinstance(row, Missing):
            reason = row.reason
        elif row is None:
            here = plural(setting.cores, "core")
            reason = f"{here} here, too few for ranks with one each (--ranks 2 lets ranks share)"
        return Missing(f"{reason}; no prediction without measured ranks")

    @property
    def rank_columns(self) -> list[int]:
        """Numbers of ranks that are measured or in the paper."""
        return sorted({*self.measured_ranks, *RANKS})


def workers_note(count: int | None, noun: str) -> str:
    """Say with how many workers something was measured."""
    return "" if count is None else f"with {plural(count, noun)}"


def mpi_predictions(cells: Cells, sizes: Iterable[int]) -> list[Series]:
    """Return the lines through the predictions for numbers of ranks."""
    return [
        predicted_series(f"{name}, predicted", [(size, of(size)) for size in sizes])
        for name, of in cells.items()
        if name.startswith("MPI")
    ]


NOBODY = Missing("no number of ranks with a core each was measured")


MODEL_NOTE = (
    "predicted: by Amdahl's law, fitted to the serial time and to the measured numbers of ranks "
    "with a core each, at the same size on this machine. These numbers of ranks are the points; a "
    "prediction needs two. It has an interval only if every row has at least 6 processes, and it "
    "does not model a network. Ranks compute on their own range of the data; communication is not "
    "timed."
)
