"""Estimate the seconds that a process of the bench takes, from its axes and a machine's paces.

The terms follow the bench: for each row it calibrates, warms up, takes samples with an untimed call
before each, times the key expansion and verifies every byte by OpenSSL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

from paraes.lab.runs import GPU, Run

SAMPLE = 0.5e-3  # least seconds of a sample
LONG_CALL = 0.1  # seconds from which the bench takes a call for its own warm-up
WARM = 128 << 20  # bytes, above which no call is made to bring them into a cache
OPENMP_LEAD_IN = 5e-3  # before each sample, until OpenMP's threads are placed
FILL_BYTE = 1.0e-9  # seconds to write and touch a byte of the input and the output
ORACLE_BYTE = 1.2e-9  # seconds to compute a byte by OpenSSL and compare it
FILE_BYTE = 3e-9  # seconds to read and write a byte of a file in memory
SYNC = 0.02  # seconds to make and remove the files of a row

# Seconds a byte of one thread, by kernel and direction: of a Zen 4 of 2023.
CPU_PACES = {
    ("reference", "encrypt"): 27e-9,
    ("reference", "decrypt"): 40e-9,
    ("ttable", "encrypt"): 5e-9,
    ("ttable", "decrypt"): 5e-9,
}
COUNTED = 5  # samples that are counted
LONGER_KEYS = {128: 1.0, 192: 1.2, 256: 1.4}  # in proportion to the rounds


@dataclass
class Pace:
    """The seconds of a call: a fixed part, and one for each byte."""

    call: float
    byte: float

    def seconds(self, size: int) -> float:
        """Return the seconds of a call over `size` bytes."""
        return self.call + size * self.byte


@dataclass
class Paces:
    """How fast a machine starts the bench and computes. The defaults are those of an H200."""

    cores: int
    start: float = 0.1  # seconds to start a process
    gpu_start: float = 0.3  # more, to start the GPU and load a kernel
    gpu_row: float = 0.05  # a row with copies has a context of its own, and expands its key there
    launch: float = 0.4  # more, to launch ranks by MPI
    launch_rank: float = 0.04  # and for each of them
    rank_sample: float = 0.02  # a sample of ranks, who wait for each other
    counted: bool = False  # whether the processor's counters can be read
    cpu: dict[tuple[str, str], float] = field(default_factory=lambda: dict(CPU_PACES))
    gpu: dict[tuple[str, str], Pace] = field(default_factory=dict)  # by scope and kernel

    def on_gpu(self, scope: str, kernel: str) -> Pace:
        """Return the pace of a kernel of the GPU, that of an H200 if it is not known."""
        usual = {"memory": Pace(25e-6, 0.07e-9), "transfer": Pace(80e-6, 0.28e-9)}
        return self.gpu.get((scope, kernel), usual.get(scope, Pace(1e-3, 1e-9)))


def seconds_of(runs: Sequence[Run], paces: Paces) -> float:
    """Estimate the seconds of one process that makes these runs, which differ in size only."""
    first = runs[0]
    seconds = paces.start
    if first.on_gpu:
        seconds += paces.gpu_start * len(first.kernels) * max(1, len(first.group_threads))
    if first.ranks > 1:
        seconds += paces.launch + paces.launch_rank * first.ranks
    return seconds + sum(size_seconds(run, paces) for run in runs)


def size_seconds(run: Run, paces: Paces) -> float:
    """Estimate the seconds of a run in a process that has started."""
    own = (run.kernels, run.directions, run.key_bits, run.key_expansions)
    return sum(
        _on_gpu(run, own, paces) if device == GPU else _on_cpu(run, own, paces)
        for device in run.devices
    )


def _on_gpu(run: Run, own: Iterable[Sequence], paces: Paces) -> float:
    seconds = 0.0
    for kernel, *_ in product(*own):
        call = paces.on_gpu(run.scope, kernel).seconds(run.size)
        row = _row_seconds(run, call) + run.min_time  # energy takes calls of its own
        row += run.size * (FILL_BYTE + 2 * ORACLE_BYTE)
        row += paces.gpu_row if run.scope == "transfer" else 0.0
        seconds += row * max(1, len(run.group_threads))
    return seconds


def _on_cpu(run: Run, own: Iterable[Sequence], paces: Paces) -> float:
    # Each number of threads has buffers of its own.
    seconds = run.size * FILL_BYTE * len(run.threads)
    for threads, (kernel, direction, bits, _) in product(run.threads, product(*own)):
        pace = paces.cpu.get((kernel, direction), 1e-9) * LONGER_KEYS[bits]
        call = run.size * pace / min(paces.cores, threads * run.ranks)
        if run.scope == "file":
            call += run.size * FILE_BYTE
            seconds += SYNC
        for executor in run.executors if threads > 1 and run.scope == "memory" else ("",):
            lead_in = OPENMP_LEAD_IN * run.samples if executor == "openmp" else 0.0
            counted = paces.counted and run.scope == "memory" and run.ranks == 1
            row = _row_seconds(run, call, counted)
            waits = paces.rank_sample * (run.samples + 1) if run.ranks > 1 else 0.0
            seconds += row + lead_in + waits + run.size * ORACLE_BYTE
    return seconds


def _row_seconds(run: Run, call: float, counted: bool = False) -> float:
    """Estimate the seconds of the calls of one row, and of its key expansion.

    `counted` says whether the processor counts cycles, in calls of their own.
    """
    lead_in = call if run.size <= WARM else 0.0
    if call >= LONG_CALL:
        # Calibration and verification have a call each.
        calls = (2 + max(run.samples, run.min_time / call)) * call
        return calls + (call + lead_in if counted else 0.0)
    sample = max(call, SAMPLE)
    timed = max(run.samples * sample, run.min_time) + run.samples * lead_in
    counting = COUNTED * (sample + lead_in) + lead_in if counted else 0.0
    return sample + 2 * call + timed + counting + 3 * SAMPLE
