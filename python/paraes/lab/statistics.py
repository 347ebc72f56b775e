"""Compute medians with their intervals, and decide whether two sets of samples differ.

Nothing assumes normally distributed times: they have a lower bound and a long tail.
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
# With a fixed seed, the same JSON always gives the same bootstrap intervals.
SEED = 20260611


@dataclass(frozen=True)
class Interval:
    """An interval in the unit of its value. `coverage` is the confidence that it really has."""

    low: float
    high: float
    coverage: float = CONFIDENCE

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def scaled(self, factor: float) -> Interval:
        """Convert to another unit: multiply both ends by `factor`, which must be positive."""
        return Interval(self.low * factor, self.high * factor, self.coverage)


def mad(samples: Samples) -> float:
    """Return the median absolute deviation from the median."""
    values = np.asarray(samples, dtype=float)
    return float(np.median(np.abs(values - np.median(values))))


def median_interval(samples: Samples, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval of the median from order statistics, exact for continuous distributions.

    [x(k), x(n+1-k)] covers the median with probability 1 - 2 P(B < k), B binomial (n, 1/2). The
    interval has the largest k that reaches `confidence`. Fewer than 6 samples cannot reach 95 %:
    then it is the whole range, and `coverage` is lower.
    """
    values = np.sort(np.asarray(samples, dtype=float))
    n = values.size
    if n == 0:
        raise ValueError("no samples")
    best, best_coverage, below = 1, 1 - 2 * 0.5**n, 0.0
    for k in range(1, n // 2 + 1):
        # In logarithms, because 2**-n underflows for large n.
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
    """Draw the medians of `replicates` resamples (with replacement, same size).

    A resample is sorted[floor(n U)] for n uniform U, so its median depends only on the middle order
    statistics of U, which have a Beta distribution. Drawing those gives the same distribution as
    resampling, with one or two draws for each replicate instead of n.
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
    # Given the lower of the middle two, the upper is the least of `half` uniforms above it.
    upper = lower + (1 - lower) * rng.beta(1, half, replicates)
    pick = [np.minimum((u * n).astype(int), n - 1) for u in (lower, upper)]
    return (values[pick[0]] + values[pick[1]]) / 2


def resampled(groups: Sequence[Samples], replicates: int = REPLICATES) -> list[np.ndarray]:
    """Return the medians of each group's resamples, with a fixed seed."""
    rng = np.random.default_rng(SEED)
    return [bootstrap_medians(group, rng, replicates) for group in groups]


def percentiles(values: np.ndarray, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the central interval of `values` without NaN; None if there are no others."""
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
    """Return the percentile interval of `statistic(medians of group 0, of group 1, …)`, and the
    replicates.

    `statistic` takes and returns arrays of replicates, with NaN for a replicate without a value.
    The interval is None if no replicate has a value.
    """
    values = statistic(*resampled(groups, replicates))
    return percentiles(values, confidence), values


def _exact_p(u: float, n: int, m: int) -> float:
    """Return the two-sided p of U without ties, by counting orders.

    The number of orders is f(n, m, u) = f(n-1, m, u-m) + f(n, m-1, u).
    """
    counts = np.zeros((n + 1, n * m + 1))
    counts[0, 0] = 1.0
    # After step j, counts[i, u] is the number of orders of i and j values with this U.
    counts[:, 0] = 1.0
    for j in range(1, m + 1):
        for i in range(1, n + 1):
            counts[i, j:] += counts[i - 1, : n * m + 1 - j]
    orders = counts[n]
    lower = min(u, n * m - u)
    tail = orders[: math.floor(lower) + 1].sum() / orders.sum()
    return float(min(1.0, 2 * tail))


def mann_whitney(a: Samples, b: Samples) -> tuple[float, float]:
    """Test whether values of `a` and `b` tend to differ; return (U of a, two-sided p).

    p is exact if both have at most 20 values and there are no ties. Otherwise it is the normal
    approximation, corrected for ties and continuity (Mann and Whitney 1947).
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
    """The comparison of times a and b: `verdict` says whether a is faster, slower or undecided.

    `ratio` is the median of b over that of a: how many times as fast a is.
    """

    verdict: str
    ratio: float
    ratio_interval: Interval
    p: float


def compare(a: Samples, b: Samples) -> Comparison:
    """Compare times: decided only if both the test and the interval of the ratio say so.

    Each alone can mislead: the test if the spreads differ, the interval if there are few samples.
    """
    ratio = float(np.median(b) / np.median(a))
    interval, _ = bootstrap([a, b], lambda ma, mb: mb / ma)
    assert interval is not None  # times are positive
    _, p = mann_whitney(a, b)
    verdict = "undecided"
    if p < ALPHA and 1.0 not in interval:
        verdict = "faster" if ratio > 1 else "slower"
    return Comparison(verdict, ratio, interval, p)
