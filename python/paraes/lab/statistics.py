"""Medians, their intervals, and whether two sets of samples differ.

Nothing assumes a normal distribution: times have a floor and a long tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Samples = Sequence[float] | np.ndarray

CONFIDENCE = 0.95
ALPHA = 1 - CONFIDENCE
REPLICATES = 2000
# Intervals by resampling must come out the same for the same JSON, or a report would change by itself.
SEED = 20260611


@dataclass(frozen=True)
class Interval:
    """`low` to `high`, in the unit of what it is of. `coverage` is the confidence it really has."""

    low: float
    high: float
    coverage: float = CONFIDENCE

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def overlaps(self, other: Interval) -> bool:
        """Whether the two have a point in common."""
        return self.low <= other.high and other.low <= self.high

    def scaled(self, factor: float) -> Interval:
        """Both ends times `factor`, which is positive: another unit."""
        return Interval(self.low * factor, self.high * factor, self.coverage)


def mad(samples: Samples) -> float:
    """The median absolute deviation from the median."""
    values = np.asarray(samples, dtype=float)
    return float(np.median(np.abs(values - np.median(values))))


def median_interval(samples: Samples, confidence: float = CONFIDENCE) -> Interval:
    """The interval of the median from order statistics: exact for any continuous distribution.

    [x(k), x(n+1-k)] covers the median with 1 - 2 P(B < k), B binomial (n, 1/2). Takes the largest k
    that still has `confidence`. Fewer than 6 samples cannot have 95 %: then it is the whole range,
    and `coverage` says what that is worth.
    """
    values = np.sort(np.asarray(samples, dtype=float))
    n = values.size
    if n == 0:
        raise ValueError("no samples")
    best, best_coverage, below = 1, 1 - 2 * 0.5**n, 0.0
    for k in range(1, n // 2 + 1):
        # In logarithms: 2**-n underflows long before there are 100000 samples.
        term = math.lgamma(n + 1) - math.lgamma(k) - math.lgamma(n - k + 2) - n * math.log(2)
        below += math.exp(term)
        coverage = 1 - 2 * below
        if coverage < confidence:
            break
        best, best_coverage = k, coverage
    return Interval(float(values[best - 1]), float(values[n - best]), max(0.0, best_coverage))


def bootstrap_medians(
    samples: Samples, rng: np.random.Generator, replicates: int = REPLICATES
) -> np.ndarray:
    """Medians of `replicates` resamples (with replacement, same size), drawn directly.

    A resample is sorted[floor(n U)] for n uniform U, so that its median needs only the middle order
    statistics of U, which are Beta distributed. Same distribution as resampling, without n × draws.
    """
    values = np.sort(np.asarray(samples, dtype=float))
    n = values.size
    if n == 0:
        raise ValueError("no samples")
    half = n // 2
    if n % 2 == 1:
        middle = rng.beta(half + 1, half + 1, replicates)
        return values[np.minimum((middle * n).astype(int), n - 1)]
    lower = rng.beta(half, half + 1, replicates)
    # Given the lower middle one, the upper is the least of the `half` uniforms that lie above it.
    upper = lower + (1 - lower) * rng.beta(1, half, replicates)
    pick = [np.minimum((u * n).astype(int), n - 1) for u in (lower, upper)]
    return (values[pick[0]] + values[pick[1]]) / 2


def resampled(groups: Sequence[Samples], replicates: int = REPLICATES) -> list[np.ndarray]:
    """For each group, the medians of its resamples; the same ones every time."""
    rng = np.random.default_rng(SEED)
    return [bootstrap_medians(group, rng, replicates) for group in groups]


def percentiles(values: np.ndarray, confidence: float = CONFIDENCE) -> Interval | None:
    """The middle of `values`; NaN counts as no value, and None is of none."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return Interval(float(low), float(high), confidence)


def bootstrap(
    groups: Sequence[Samples],
    statistic: Callable[..., np.ndarray],
    replicates: int = REPLICATES,
    confidence: float = CONFIDENCE,
) -> tuple[Interval | None, np.ndarray]:
    """The percentile interval of `statistic(medians of group 0, medians of group 1, …)`.

    `statistic` works on arrays of replicates; NaN means that a replicate has no value. None when no
    replicate has one. Also gives the replicates.
    """
    values = statistic(*resampled(groups, replicates))
    return percentiles(values, confidence), values


def _exact_p(u: float, n: int, m: int) -> float:
    """Two-sided p of U without ties, by counting the orders: f(n, m, u) = f(n-1, m, u-m) + f(n, m-1, u)."""
    counts = np.zeros((n + 1, n * m + 1))
    counts[0, 0] = 1.0
    # After step j, counts[i, u] is how many orders of i and j values have this U.
    counts[:, 0] = 1.0
    for j in range(1, m + 1):
        for i in range(1, n + 1):
            counts[i, j:] += counts[i - 1, : n * m + 1 - j]
    orders = counts[n]
    lower = min(u, n * m - u)
    tail = orders[: math.floor(lower) + 1].sum() / orders.sum()
    return float(min(1.0, 2 * tail))


def mann_whitney(a: Samples, b: Samples) -> tuple[float, float]:
    """(U of a, two-sided p): are values of `a` and `b` equally often above each other?

    Exact while both have at most 20 values and no ties, else normal with corrections for ties and
    continuity (Mann and Whitney 1947).
    """
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    n, m = x.size, y.size
    if n == 0 or m == 0:
        raise ValueError("no samples")
    values, inverse, counts = np.unique(
        np.concatenate([x, y]), return_inverse=True, return_counts=True
    )
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse]
    u = float(ranks[:n].sum() - n * (n + 1) / 2)
    if values.size == n + m and n <= 20 and m <= 20:
        return u, _exact_p(u, n, m)
    total = n + m
    ties = float((counts.astype(float) ** 3 - counts).sum())
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return u, 1.0
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return u, math.erfc(z / math.sqrt(2))


@dataclass(frozen=True)
class Comparison:
    """How `a` compares with `b`: `verdict` is faster, slower or undecided (of a).

    `ratio` is how many times as fast a is: median time of b over that of a.
    """

    verdict: str
    ratio: float
    ratio_interval: Interval
    p: float


def compare(a: Samples, b: Samples) -> Comparison:
    """Compares times. Decided only when the test and the interval of the ratio both say so.

    Each alone can be fooled: the test by spread of unequal width, the interval by few samples.
    """
    ratio = float(np.median(b) / np.median(a))
    interval, _ = bootstrap([a, b], lambda ma, mb: mb / ma)
    assert interval is not None  # times are positive
    _, p = mann_whitney(a, b)
    verdict = "undecided"
    if p < ALPHA and 1.0 not in interval:
        verdict = "faster" if ratio > 1 else "slower"
    return Comparison(verdict, ratio, interval, p)
