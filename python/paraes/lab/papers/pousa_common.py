"""Shared by Pousa 2011 and 2014: serial, OpenMP, MPI and GPU rows, and the model of MPI."""

from __future__ import annotations

from dataclasses import dataclass

from paraes.lab.bench import OPENMP, Row
from paraes.lab.document import Cell, Missing, Predicted
from paraes.lab.measure import DISTRIBUTION, GPU, Run
from paraes.lab.papers.cells import ratio, seconds
from paraes.lab.papers.evidence import Evidence, executor_of
from paraes.lab.papers.setting import MIB, Setting
from paraes.lab.scaling import AmdahlFit, fit_amdahl
from paraes.lab.units import plural

SIZES = [1 << 10, 512 << 10, MIB, 15 * MIB, 128 * MIB, 255 * MIB]
RANKS = (8, 16, 32)
THREADS = 8


def runs_of(setting: Setting, kernel: str, gpu_kernel: str, sizes: list[int]) -> list[Run]:
    """List the runs: encryption with `kernel` by threads and ranks, and `gpu_kernel` on the GPU.

    The GPU runs both with and without copies.
    """
    runs = []
    for size in setting.sizes(sizes):
        samples = setting.samples_of(size)
        threads = tuple(setting.thread_counts(THREADS))
        runs.append(
            Run(
                "memory",
                ("cpu",),
                (kernel,),
                size,
                threads=threads,
                executors=(OPENMP,),
                rivals=("memcpy",),
                samples=samples,
            )
        )
        for ranks in setting.rank_counts():
            runs.append(Run("memory", ("cpu",), (kernel,), size, ranks=ranks, samples=samples))
        runs.append(Run("memory", (GPU,), (gpu_kernel,), size, samples=samples))
        runs.append(
            Run("transfer", (GPU,), (gpu_kernel,), size, rivals=("pinned-copy",), samples=samples)
        )
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

    def _need(self, **axes) -> Row | Missing:
        base = {"mode": "ecb", "key_bits": 128, "direction": "encrypt"}
        return self.evidence.need(**base, **axes)

    def serial(self, size: int) -> Row | Missing:
        """Look up the row of one thread."""
        return self._need(
            device="cpu", kernel=self.kernel, scope="memory", threads=1, ranks=1, bytes=size
        )

    def openmp(self, size: int) -> Row | Missing:
        """Look up the row of OpenMP with all threads."""
        return self._need(
            device="cpu",
            kernel=self.kernel,
            scope="memory",
            threads=self.threads,
            executor=executor_of(self.threads),
            ranks=1,
            bytes=size,
        )

    def mpi(self, ranks: int, size: int) -> Row | Missing:
        """Look up the row of so many ranks of one thread each."""
        return self._need(
            device="cpu",
            kernel=self.kernel,
            scope="memory",
            threads=1,
            ranks=ranks,
            distribution=DISTRIBUTION,
            bytes=size,
        )

    def gpu(self, size: int, scope: str = "memory") -> Row | Missing:
        """Look up the row of the GPU: kernel only, or with copies in scope transfer."""
        return self._need(device=GPU, kernel=self.gpu_kernel, scope=scope, bytes=size)

    def model(self, size: int) -> AmdahlFit | Missing:
        """Fit Amdahl's law to the serial row and the ranks with a core each, where possible."""
        lookups = [self.serial(size), *(self.mpi(r, size) for r in self.fair_ranks)]
        rows = [row for row in lookups if isinstance(row, Row)]
        fit = None
        if any(row.ranks > 1 for row in rows):
            fit = fit_amdahl([r.ranks for r in rows], [r.samples_ns for r in rows])
        if fit is None:
            return self._no_model(size)
        if fit.fraction >= 1:
            return Missing(
                "more ranks took no less time than one, which Amdahl's law cannot describe: "
                "no prediction"
            )
        return fit

    def mpi_time(self, ranks: int, size: int) -> Cell:
        """Return the seconds: measured, else predicted by the model, else missing."""
        if ranks in self.measured_ranks:
            return seconds(self.mpi(ranks, size))
        fit = self.model(size)
        if isinstance(fit, Missing):
            return fit
        time, interval = fit.time(ranks)
        return Predicted(time * 1e-9, interval and interval.scaled(1e-9))

    def mpi_speedup(self, ranks: int, size: int) -> Cell:
        """Return the speedup against one thread: measured, else predicted, else missing."""
        if ranks in self.measured_ranks:
            return ratio(self.serial(size), self.mpi(ranks, size))
        fit = self.model(size)
        return fit if isinstance(fit, Missing) else Predicted(*fit.speedup(ranks))

    def _no_model(self, size: int) -> Missing:
        setting = self.evidence.setting
        if not setting.sizes([size]):
            return Missing(setting.why_left_out())
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


MODEL_NOTE = (
    "predicted: by Amdahl's law, fitted to the measured numbers of ranks at the same size on this "
    "machine; it does not model a network. Ranks compute on their own range of the data; "
    "communication is not timed."
)
