"""Speedup, efficiency, Karp–Flatt; Amdahl's and Gustafson's laws and fits of them.

p is the number of workers (threads, or ranks), t times in nanoseconds, fractions from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraes.lab.bench import Row
from paraes.lab.statistics import Interval, Samples, bootstrap, percentiles, resampled


def speedup(t1: float, tp: float) -> float:
    """How many times as fast: t1 / tp."""
    return t1 / tp


def efficiency(s: float, p: float) -> float:
    """Speedup for each worker: s / p."""
    return s / p


def karp_flatt(s: float, p: float) -> float:
    """The experimentally determined serial fraction (Karp and Flatt 1990).

    e = (1/s - 1/p) / (1 - 1/p). Below 0 the speedup is superlinear. Undefined for one worker.
    """
    if p <= 1:
        raise ValueError("Karp–Flatt needs more than one worker")
    return (1 / s - 1 / p) / (1 - 1 / p)


def amdahl(fraction: float, p: float) -> float:
    """Speedup of the same work with serial `fraction` on p workers (Amdahl 1967)."""
    return 1 / (fraction + (1 - fraction) / p)


def gustafson(fraction: float, p: float) -> float:
    """Scaled speedup of work that grows with p, with serial `fraction` (Gustafson 1988)."""
    return p - fraction * (p - 1)


@dataclass(frozen=True)
class Fit:
    """A fitted law.

    `residual` is the root mean square of the relative error of its points; None with no more points
    than unknowns, through which any law goes. `interval` is that of the fraction, by resampling.
    """

    law: str
    fraction: float
    residual: float | None
    points: int
    interval: Interval | None


@dataclass(frozen=True)
class AmdahlFit(Fit):
    """t(p) = t1 · (fraction + (1 - fraction) / p), in nanoseconds; with resampled t1 and fractions."""

    t1: float
    resampled: tuple[np.ndarray, np.ndarray]

    def time(self, p: float) -> tuple[float, Interval | None]:
        """Nanoseconds on p workers: a prediction, not a measurement."""
        return self._at(lambda t1, fraction: t1 / amdahl(fraction, p))

    def speedup(self, p: float) -> tuple[float, Interval | None]:
        """That of the law, which is never above p."""
        return self._at(lambda _, fraction: amdahl(fraction, p))

    def _at(self, of: Callable[..., Any]) -> tuple[float, Interval | None]:
        return of(self.t1, self.fraction), percentiles(of(*self.resampled))


def _amdahl_terms(p: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(t1, fraction) of the least relative squares of t = a + b/p, a and b not negative.

    `times`: a row for each p, a column for each replicate. Relative errors, for the slowest point
    must not be the only one that counts.
    """
    x = 1 / times
    y = x / p[:, np.newaxis]
    xx, xy, yy, sx, sy = (v.sum(axis=0) for v in (x * x, x * y, y * y, x, y))
    determinant = xx * yy - xy * xy
    a, b = (sx * yy - sy * xy) / determinant, (sy * xx - sx * xy) / determinant
    only_a, only_b = sx / xx, sy / yy
    a, b = (
        np.where(a < 0, 0.0, np.where(b < 0, only_a, a)),
        np.where(a < 0, only_b, np.where(b < 0, 0.0, b)),
    )
    return a + b, a / (a + b)


def fit_amdahl(p: Sequence[float], samples: Sequence[Samples]) -> AmdahlFit | None:
    """Amdahl's law through the medians of `samples` (times) on p workers, and through resamples.

    None with fewer than two different p: a line through one point says nothing.
    """
    workers = np.asarray(p, dtype=float)
    if np.unique(workers).size < 2:
        return None
    medians = np.array([[np.median(group)] for group in samples])
    t1, fraction = (float(v[0]) for v in _amdahl_terms(workers, medians))
    residual = None
    if np.unique(workers).size > 2:
        expected = np.array([[t1 / amdahl(fraction, w)] for w in workers])
        residual = float(np.sqrt(np.mean((expected / medians - 1) ** 2)))
    many = _amdahl_terms(workers, np.stack(resampled(samples)))
    return AmdahlFit("Amdahl", fraction, residual, len(workers), percentiles(many[1]), t1, many)


def _gustafson_fraction(p: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """Least squares of s(p) = p - f (p - 1), f from 0 to 1; `scaled` as times of _amdahl_terms."""
    x = ((p - 1) / p)[:, np.newaxis]
    y = 1 - scaled / p[:, np.newaxis]
    return np.clip((x * y).sum(axis=0) / (x * x).sum(axis=0), 0.0, 1.0)


def fit_gustafson(p: Sequence[float], samples: Sequence[Samples], base: Samples) -> Fit | None:
    """Gustafson's law through the medians of `samples` (times of p-fold work on p workers), against
    those of `base` on one; None without a point of p > 1."""
    workers = np.asarray(p, dtype=float)
    above = workers > 1
    if not above.any():
        return None
    fair = [group for group, keep in zip(samples, above, strict=True) if keep]
    p_above = workers[above]
    medians = np.array([[np.median(group)] for group in fair])
    scaled = p_above[:, np.newaxis] * np.median(base) / medians
    fraction = float(_gustafson_fraction(p_above, scaled)[0])
    residual = None
    if above.sum() > 1:
        expected = np.array([[gustafson(fraction, w)] for w in p_above])
        residual = float(np.sqrt(np.mean((scaled / expected - 1) ** 2)))
    first, *drawn = resampled([base, *fair])
    many = _gustafson_fraction(p_above, p_above[:, np.newaxis] * first / np.stack(drawn))
    return Fit("Gustafson", fraction, residual, int(above.sum()), percentiles(many))


@dataclass(frozen=True)
class Point:
    """One number of workers. Speedups are ratios of median times; intervals are bootstrap, 95 %."""

    workers: int
    row: Row
    speedup: float
    speedup_interval: Interval
    efficiency: float
    karp_flatt: float | None
    karp_flatt_interval: Interval | None
    superlinear: str  # "", "yes", or "within noise": the interval of e reaches 0
    best_serial: float | None  # speedup against the best serial kernel
    more_than_cores: bool

    @property
    def efficiency_interval(self) -> Interval:
        """That of the speedup, for each worker."""
        low, high = self.speedup_interval.low, self.speedup_interval.high
        return Interval(efficiency(low, self.workers), efficiency(high, self.workers))


@dataclass(frozen=True)
class Scaling:
    """A series over workers with everything else equal."""

    base: Row
    best_serial: Row | None
    points: list[Point]
    fit: Fit | None


def superlinear_mark(e: float, interval: Interval) -> str:
    """How a serial fraction below 0 is to be read."""
    if e >= 0:
        return ""
    return "yes" if interval.high < 0 else "within noise"


def _point(row: Row, base: Row, serial: Row | None, cores: int | None) -> Point:
    p = row.workers
    s = speedup(base.median_ns, row.median_ns)
    interval: Interval | None = Interval(1.0, 1.0)  # of the base against itself
    if row is not base:
        interval, _ = bootstrap([base.samples_ns, row.samples_ns], lambda t1, tp: t1 / tp)
    assert interval is not None
    e = e_interval = None
    mark = ""
    if p > 1:
        e = karp_flatt(s, p)
        # e falls as s grows, so that the ends of its interval are those of s, exchanged.
        e_interval = Interval(karp_flatt(interval.high, p), karp_flatt(interval.low, p))
        mark = superlinear_mark(e, e_interval)
    return Point(
        workers=p,
        row=row,
        speedup=s,
        speedup_interval=interval,
        efficiency=efficiency(s, p),
        karp_flatt=e,
        karp_flatt_interval=e_interval,
        superlinear=mark,
        best_serial=speedup(serial.median_ns, row.median_ns) if serial else None,
        more_than_cores=cores is not None and p > cores,
    )


def best_serial(row: Row, rows: list[Row]) -> Row | None:
    """The fastest of our kernels on one thread of the processor that does the same job as `row`."""
    without = ("kernel", "threads", "ranks", "cache", "distribution", "device", "executor")
    same = [
        other
        for other in rows
        if other.rival is None
        and other.device == "cpu"
        and other.workers == 1
        and other.report == row.report
        and other.axes(*without) == row.axes(*without)
    ]
    return min(same, key=lambda other: other.median_ns, default=None)


def _executors(rows: list[Row]) -> list[str]:
    """What spread work over several threads of one process in `rows`."""
    return sorted({str(row.executor) for row in rows if row.ranks == 1 and row.threads > 1})


def _kinds_of_threads(row: Row, executors: list[str]) -> list[str]:
    """The series over threads that a row is in: one thread is in those of every executor."""
    if row.threads == 1:
        return [f"threads by {executor}" for executor in executors]
    return [f"threads by {row.executor}"]


def scalings(rows: list[Row], cores: int | None = None) -> list[Scaling]:
    """Every series over threads or ranks in `rows` that has one worker and more. `cores` marks rows
    with more workers than the machine can run at once."""
    series: dict[tuple, list[Row]] = {}
    distributions = sorted({str(row.distribution) for row in rows if row.ranks > 1})
    executors = _executors(rows)
    for row in rows:
        if row.on_gpu:
            continue
        key = (row.report, *row.axes("threads", "executor", "ranks", "cache", "distribution"))
        # One thread of one rank begins every kind of series.
        kinds = _kinds_of_threads(row, executors) if row.ranks == 1 else []
        if row.threads == 1:
            kinds += distributions if row.ranks == 1 else [str(row.distribution)]
        for kind in kinds:
            series.setdefault((kind, *key), []).append(row)
    found = []
    for members in series.values():
        by_workers: dict[int, Row] = {}
        for row in members:
            by_workers.setdefault(row.workers, row)
        if 1 not in by_workers or len(by_workers) < 2:
            continue
        base = by_workers[1]
        serial = best_serial(base, rows)
        points = [_point(by_workers[p], base, serial, cores) for p in sorted(by_workers)]
        # What has no core of its own to run on says nothing of the law.
        fair = [p for p in points if not p.more_than_cores]
        fit = fit_amdahl([p.workers for p in fair], [p.row.samples_ns for p in fair])
        found.append(Scaling(base, serial, points, fit))
    return found


@dataclass(frozen=True)
class Weak:
    """Scaled speedups of rows whose size grows with the workers, and Gustafson's law over them."""

    base: Row
    executor: str | None
    workers: list[int]
    scaled: list[float]
    fit: Fit


def weak_scalings(rows: list[Row], cores: int | None = None) -> list[Weak]:
    """Every diagonal in `rows`: bytes / workers constant, with one worker and at least two more.

    Scaled speedup: the rate on p workers over that on one, each with its own share of the work.
    """
    groups: dict[tuple, dict[tuple[int, int], Row]] = {}
    executors = _executors(rows)
    for row in rows:
        if row.on_gpu or row.ranks > 1:
            continue
        key = (row.report, *row.axes("threads", "executor", "cache", "bytes"))
        for kind in _kinds_of_threads(row, executors):
            groups.setdefault((kind, *key), {})[(row.threads, row.bytes)] = row
    found = []
    for members in groups.values():
        for (threads, size), base in members.items():
            if threads != 1:
                continue
            diagonal = sorted((t, r) for (t, b), r in members.items() if b == size * t)
            fair = [(t, r) for t, r in diagonal if cores is None or t <= cores]
            if len(diagonal) < 3:
                continue
            scaled = [r.mb_per_s / base.mb_per_s for _, r in fair]
            fit = fit_gustafson(
                [t for t, _ in fair], [r.samples_ns for _, r in fair], base.samples_ns
            )
            if fit is not None:
                executor = diagonal[-1][1].executor
                found.append(Weak(base, executor, [t for t, _ in fair], scaled, fit))
    return found
