"""Compute speedup, efficiency and Karp–Flatt, and fit Amdahl's and Gustafson's laws.

p is the number of workers (threads or ranks), t a time in nanoseconds; fractions are 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraes.lab.configurations import ratio_of, units_of
from paraes.lab.rows import Row
from paraes.lab.statistics import LEAST_UNITS, Interval, Samples, percentiles, resampled


def efficiency(s: float, p: float) -> float:
    """Return the speedup per worker: s / p."""
    return s / p


def karp_flatt(s: float, p: float) -> float:
    """Return the experimentally determined serial fraction (Karp and Flatt 1990).

    e = (1/s - 1/p) / (1 - 1/p). It is negative if the speedup is superlinear. Raises ValueError for
    one worker, for which it is undefined.
    """
    if p <= 1:
        raise ValueError("Karp–Flatt needs more than one worker")
    return (1 / s - 1 / p) / (1 - 1 / p)


def amdahl(fraction: float, p: float) -> float:
    """Return the speedup of fixed work with serial `fraction` on p workers (Amdahl 1967)."""
    return 1 / (fraction + (1 - fraction) / p)


def gustafson(fraction: float, p: float) -> float:
    """Return the scaled speedup of work that grows with p (Gustafson 1988)."""
    return p - fraction * (p - 1)


@dataclass(frozen=True)
class Fit:
    """A fitted law.

    `points` counts the numbers of workers above 1: one worker is the base of all of them.
    `residual` is the root mean square of the relative errors. `interval` is the fraction's
    bootstrap interval.
    """

    fraction: float
    residual: float
    points: int
    interval: Interval | None


@dataclass(frozen=True)
class AmdahlFit(Fit):
    """t(p) = t1 · (fraction + (1 - fraction) / p), in nanoseconds.

    `resampled` holds t1 and the fraction of every bootstrap replicate; None without an interval.
    """

    t1: float
    resampled: tuple[np.ndarray, np.ndarray] | None

    def time(self, p: float) -> tuple[float, Interval | None]:
        """Predict the nanoseconds on p workers, with an interval."""
        return self._predict(lambda t1, fraction: t1 / amdahl(fraction, p))

    def speedup(self, p: float) -> tuple[float, Interval | None]:
        """Predict the speedup on p workers, with an interval. It never exceeds p."""
        return self._predict(lambda _, fraction: amdahl(fraction, p))

    def _predict(self, law: Callable[..., Any]) -> tuple[float, Interval | None]:
        value = law(self.t1, self.fraction)
        return value, percentiles(law(*self.resampled)) if self.resampled else None


def _amdahl_terms(p: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit t = a + b/p, a and b not negative, by least relative squares; return (t1, fraction).

    `times` has a row for each p and a column for each replicate. With absolute errors the slowest
    point would dominate the fit.
    """
    x = 1 / times
    y = x / p[:, np.newaxis]
    # The normal equations, as sums over pairs of points (Lagrange's identity). Differences of
    # products of sums would cancel to 0/0 if the times differ by a factor of 10**8.
    i, j = np.triu_indices(len(p), 1)
    area = x[i] * y[j] - x[j] * y[i]
    determinant = (area * area).sum(axis=0)
    a = (area * (y[j] - y[i])).sum(axis=0) / determinant
    b = (area * (x[i] - x[j])).sum(axis=0) / determinant
    xx, yy, sx, sy = (v.sum(axis=0) for v in (x * x, y * y, x, y))
    only_a, only_b = sx / xx, sy / yy
    a, b = (
        np.where(a < 0, 0.0, np.where(b < 0, only_a, a)),
        np.where(a < 0, only_b, np.where(b < 0, 0.0, b)),
    )
    return a + b, a / (a + b)


LEAST_POINTS = 2  # one point above one worker determines a fraction, but cannot confirm a law


def _enough(groups: Sequence[Samples]) -> bool:
    return min(np.size(group) for group in groups) >= LEAST_UNITS


def fit_amdahl(
    p: Sequence[float], samples: Sequence[Samples], interval: bool = True
) -> AmdahlFit | None:
    """Fit Amdahl's law to the medians of `samples` (times) on p workers, and to their resamples.

    None without one worker and at least two larger numbers. There is no interval if `interval` is
    false, which says that the samples are not units of one statement, or with fewer than 6 of them.
    """
    workers = np.asarray(p, dtype=float)
    points = int(np.unique(workers[workers > 1]).size)
    if 1 not in workers or points < LEAST_POINTS:
        return None
    medians = np.array([[np.median(group)] for group in samples])
    t1, fraction = (float(v[0]) for v in _amdahl_terms(workers, medians))
    expected = t1 / np.array([[amdahl(fraction, w)] for w in workers])
    residual = float(np.sqrt(np.mean((expected / medians - 1) ** 2)))
    many = None
    if interval and _enough(samples):
        many = _amdahl_terms(workers, np.stack(resampled(samples)))
    ends = percentiles(many[1]) if many else None
    return AmdahlFit(fraction, residual, points, ends, t1, many)


def _gustafson_fraction(p: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """Fit s(p) = p - f (p - 1), f from 0 to 1, by least squares; `scaled` is laid out as `times` in
    _amdahl_terms."""
    x = ((p - 1) / p)[:, np.newaxis]
    y = 1 - scaled / p[:, np.newaxis]
    return np.clip((x * y).sum(axis=0) / (x * x).sum(axis=0), 0.0, 1.0)


def fit_gustafson(
    p: Sequence[float], samples: Sequence[Samples], base: Samples, interval: bool = True
) -> Fit | None:
    """Fit Gustafson's law to the medians of `samples` (times of p-fold work on p workers).

    `base` has the times of one worker. None without two points of p > 1. `interval` is as in
    `fit_amdahl`.
    """
    workers = np.asarray(p, dtype=float)
    above = workers > 1
    points = int(np.unique(workers[above]).size)
    if points < LEAST_POINTS:
        return None
    groups = [group for group, keep in zip(samples, above, strict=True) if keep]
    p_above = workers[above]
    medians = np.array([[np.median(group)] for group in groups])
    scaled = p_above[:, np.newaxis] * np.median(base) / medians
    fraction = float(_gustafson_fraction(p_above, scaled)[0])
    expected = np.array([[gustafson(fraction, w)] for w in p_above])
    residual = float(np.sqrt(np.mean((scaled / expected - 1) ** 2)))
    ends = None
    if interval and _enough([base, *groups]):
        first, *drawn = resampled([base, *groups])
        many = _gustafson_fraction(p_above, p_above[:, np.newaxis] * first / np.stack(drawn))
        ends = percentiles(many)
    return Fit(fraction, residual, points, ends)


@dataclass(frozen=True)
class Point:
    """A number of workers. Speedups and their intervals are those of `ratio_of`."""

    workers: int
    row: Row
    speedup: float
    speedup_interval: Interval | None
    efficiency: float
    karp_flatt: float | None
    karp_flatt_interval: Interval | None
    superlinear: str  # "", "yes", or "within noise" if the interval of karp_flatt reaches 0
    best_serial: float | None  # speedup against the best serial kernel
    more_than_cores: bool

    @property
    def efficiency_interval(self) -> Interval | None:
        """The interval of the speedup, divided by the workers."""
        return self.speedup_interval and self.speedup_interval.scaled(1 / self.workers)


@dataclass(frozen=True)
class Scaling:
    """A series over numbers of workers in which all else is equal."""

    base: Row
    best_serial: Row | None
    points: list[Point]
    fit: Fit | None


def superlinear_mark(e: float, interval: Interval | None) -> str:
    """Classify a serial fraction: "" from 0 up, else whether it is below 0 beyond noise."""
    if e >= 0:
        return ""
    return "yes" if interval is not None and interval.high < 0 else "within noise"


def _point(row: Row, base: Row, serial: Row | None, cores: int | None) -> Point:
    p = row.workers
    s, interval = 1.0, None
    if row is not base:
        ratio = ratio_of(base, row)
        s, interval = ratio.value, ratio.interval
    e = e_interval = None
    mark = ""
    if p > 1:
        e = karp_flatt(s, p)
        e_interval = interval and interval.mapped(lambda speed: karp_flatt(speed, p))
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
        best_serial=ratio_of(serial, row).value if serial else None,
        more_than_cores=cores is not None and p > cores,
    )


def best_serial(row: Row, rows: list[Row]) -> Row | None:
    """Find the fastest kernel of paraes on one CPU thread that does the same job as `row`."""
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
    """List the executors of the rows with several threads in one process."""
    return sorted({str(row.executor) for row in rows if row.ranks == 1 and row.threads > 1})


def _kinds_of_threads(row: Row, executors: list[str]) -> list[str]:
    """Name the series over threads that a row belongs to; one thread belongs to all of them."""
    if row.threads == 1:
        return [f"threads by {executor}" for executor in executors]
    return [f"threads by {row.executor}"]


def scalings(rows: list[Row], cores: int | None = None) -> list[Scaling]:
    """Find the series over threads or ranks that have one worker and at least one larger number.

    Points with more workers than `cores` are marked and left out of the fit.
    """
    series: dict[tuple, list[Row]] = {}
    distributions = sorted({str(row.distribution) for row in rows if row.ranks > 1})
    executors = _executors(rows)
    for row in rows:
        if row.on_gpu:
            continue
        key = (row.report, *row.axes("threads", "executor", "ranks", "cache", "distribution"))
        # A row with one rank of one thread is the base of every kind of series.
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
        # The law assumes that every worker has its own core.
        own_core = [p for p in points if not p.more_than_cores]
        units = units_of([p.row for p in own_core])
        samples = units or [p.row.samples_ns for p in own_core]
        fit = fit_amdahl([p.workers for p in own_core], samples, units is not None)
        found.append(Scaling(base, serial, points, fit))
    return found


@dataclass(frozen=True)
class Weak:
    """Scaled speedups of rows whose size grows with the workers, and the fit of Gustafson's law."""

    base: Row
    executor: str | None
    workers: list[int]
    scaled: list[float]
    fit: Fit


def weak_scalings(rows: list[Row], cores: int | None = None) -> list[Weak]:
    """Find the series in `rows` with constant bytes / workers, one worker and two larger numbers.

    The scaled speedup is the rate on p workers over the rate on one.
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
            own_core = [(t, r) for t, r in diagonal if cores is None or t <= cores]
            if len(diagonal) < 3:
                continue
            workers = [t for t, _ in own_core]
            scaled = [r.mb_per_s / base.mb_per_s for _, r in own_core]
            units = units_of([base, *(r for _, r in own_core)])
            first, *samples = units or [base.samples_ns, *(r.samples_ns for _, r in own_core)]
            fit = fit_gustafson(workers, samples, first, units is not None)
            if fit is not None:
                executor = diagonal[-1][1].executor
                found.append(Weak(base, executor, workers, scaled, fit))
    return found
