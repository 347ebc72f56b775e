"""Compute medians and ratios with their intervals.

Nothing assumes normally distributed times: they have a lower bound and a long tail. All functions
take units, which are independent of each other: the medians of processes, or the samples of one
process for statements about that process only (see configurations.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

Samples = Sequence[float] | np.ndarray

CONFIDENCE = 0.95
ALPHA = 1 - CONFIDENCE
LEAST_UNITS = 6  # fewer give no interval of 95 %
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

    @property
    def is_range(self) -> bool:
        """Whether it is only the range of too few units: its coverage is below 95 %."""
        return self.coverage < CONFIDENCE - 1e-9

    def scaled(self, factor: float) -> Interval:
        """Convert to another unit: multiply both ends by `factor`, which must be positive."""
        return Interval(self.low * factor, self.high * factor, self.coverage)

    def widened(self, factor: float) -> Interval:
        """Return the interval of a ratio that may be wrong by up to `factor`, which is above 1."""
        return Interval(self.low / factor, self.high * factor, self.coverage)

    def mapped(self, function: Callable[[float], float]) -> Interval:
        """Return the interval of a monotonic function of the value."""
        ends = sorted((function(self.low), function(self.high)))
        return Interval(ends[0], ends[1], self.coverage)


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
        # Logarithms are used because 2**-n underflows for large n.
        term = math.lgamma(n + 1) - math.lgamma(k) - math.lgamma(n - k + 2) - n * math.log(2)
        below += math.exp(term)
        coverage = 1 - 2 * below
        if coverage < confidence:
            break
        best, best_coverage = k, coverage
    return Interval(float(values[best - 1]), float(values[n - best]), max(0.0, best_coverage))


LEAST_PART = 3  # samples
MOST_PARTS = 10


def part_medians(samples: Samples) -> np.ndarray:
    """Return the medians of consecutive parts of one process's samples, which are in time order.

    Samples that follow each other are alike, because the clock and the neighbours change slowly: as
    units they would give too narrow an interval. The medians of parts depend less on each other
    (the method of batch means, Conway 1963). There are up to 10 parts of at least 3 samples.
    """
    values = np.asarray(samples, dtype=float)
    count = min(MOST_PARTS, values.size // LEAST_PART)
    return np.array([float(np.median(part)) for part in np.array_split(values, max(1, count))])


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


def resampled_together(
    series: Sequence[Sequence[Samples]], replicates: int = REPLICATES
) -> list[list[np.ndarray]]:
    """Return the medians of the resamples of each group, with a fixed seed.

    A resample takes the same units of all groups of a series, if they have as many: what is
    particular to a process is in all sizes that it measured. Groups of different processes lose
    nothing by it.
    """
    rng = np.random.default_rng(SEED)
    drawn = []
    for groups in series:
        counts = {len(group) for group in groups}
        if len(counts) > 1:
            drawn.append([bootstrap_medians(group, rng, replicates) for group in groups])
            continue
        values = np.stack([np.asarray(group, dtype=float) for group in groups])
        chosen = rng.integers(0, values.shape[1], (replicates, values.shape[1]))
        drawn.append([np.median(group[chosen], axis=1) for group in values])
    return drawn


def percentiles(values: np.ndarray, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the central interval of `values` without NaN; None if there are no others."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return Interval(float(low), float(high), confidence)


# Up to this many values the distribution of a rank statistic is computed exactly.
EXACT = 60


def _rank_sum_counts(n: int, m: int) -> np.ndarray:
    """Count the orders of n and m values without ties by their U (Mann and Whitney 1947).

    f(n, m, u) = f(n-1, m, u-m) + f(n, m-1, u).
    """
    counts = np.zeros((n + 1, n * m + 1))
    counts[:, 0] = 1.0
    # After step j, counts[i, u] is the number of orders of i and j values with this U.
    for j in range(1, m + 1):
        for i in range(1, n + 1):
            counts[i, j:] += counts[i - 1, : n * m + 1 - j]
    return counts[n]


def _signed_rank_counts(n: int) -> np.ndarray:
    """Count the signs of n differences without ties by the sum of the positive ranks."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        counts[rank:] += counts[:-rank].copy()
    return counts


def _critical(counts: np.ndarray, alpha: float) -> tuple[int, float]:
    """Return (k, level): the k-th smallest and k-th largest value enclose the true one.

    `counts` is the exact distribution of the rank statistic, which is symmetric. k is the largest
    whose error is at most `alpha`; 0 if there is none.
    """
    below = np.cumsum(counts) / counts.sum()
    k = int(np.searchsorted(2 * below, alpha * (1 + 1e-12), side="right"))
    return k, 1 - 2 * float(below[k - 1]) if k else 0.0


def _approximate(mean: float, variance: float, alpha: float) -> tuple[int, float]:
    k = math.floor(mean + 0.5 - NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(variance))
    return max(0, k), 1 - alpha


@dataclass(frozen=True)
class Ratio:
    """The Hodges–Lehmann estimate of a ratio; no interval if there are too few units for one.

    `units` is how many the smaller side has.
    """

    value: float
    interval: Interval | None
    units: int


def _kth_difference(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Return the k-th smallest of all y[j] - x[i], k from 1, without listing them."""
    x = np.sort(x)
    y = np.sort(y)
    low, high = y[0] - x[-1], y[-1] - x[0]

    def not_above(limit: float) -> int:
        return int(np.searchsorted(y, x + limit, side="right").sum())

    for _ in range(200):  # halving a double's range needs fewer
        middle = low + (high - low) / 2
        if not low < middle < high:
            break
        if not_above(middle) >= k:
            high = middle
        else:
            low = middle
    return float(low if not_above(low) >= k else high)


MOST_DIFFERENCES = 1_000_000
MOST_PAIRS = 1000


def _ordered(x: np.ndarray, y: np.ndarray) -> Callable[[int], float]:
    """Return a function of k: the k-th smallest of all y[j] - x[i], k from 1."""
    if x.size * y.size > MOST_DIFFERENCES:
        return lambda k: _kth_difference(x, y, k)
    differences = np.sort(np.subtract.outer(y, x), axis=None)
    return lambda k: float(differences[k - 1])


def _ratio(of: Callable[[int], float], count: int, k: int, level: float, units: int) -> Ratio:
    middle = (of((count + 1) // 2) + of(count // 2 + 1)) / 2
    interval = None
    if k > 0 and units >= LEAST_UNITS:
        interval = Interval(math.exp(of(k)), math.exp(of(count + 1 - k)), level)
    return Ratio(math.exp(middle), interval, units)


def ratio_of_two(over: Samples, under: Samples, alpha: float = ALPHA) -> Ratio:
    """Estimate how many times as large `over` is as `under`, from independent positive units.

    The estimate is the median of all ratios of a unit of `over` to one of `under`. The interval
    holds the ratios that the two-sided Mann–Whitney test does not reject at `alpha` (Hodges and
    Lehmann 1963). It is None with fewer than 6 units on a side, or too few for `alpha`.
    """
    x, y = np.log(np.asarray(under, dtype=float)), np.log(np.asarray(over, dtype=float))
    n, m = x.size, y.size
    if n == 0 or m == 0:
        raise ValueError("no samples")
    if n + m <= EXACT:
        k, level = _critical(_rank_sum_counts(n, m), alpha)
    else:
        k, level = _approximate(n * m / 2, n * m * (n + m + 1) / 12, alpha)
    return _ratio(_ordered(x, y), n * m, k, level, min(n, m))


def ratio_of_pairs(over: Samples, under: Samples, alpha: float = ALPHA) -> Ratio:
    """Estimate how many times as large `over` is as `under`, from units that belong together.

    Unit i of both was measured in one process, so what slows the whole process cancels. The
    estimate is the median of the Walsh averages of the ratios' logarithms. The interval holds the
    ratios that the two-sided signed-rank test does not reject at `alpha` (Wilcoxon 1945, Hodges and
    Lehmann 1963); it takes the logarithms to be symmetric. It is None with fewer than 6 pairs, or
    too few for `alpha`.
    """
    d = np.log(np.asarray(over, dtype=float)) - np.log(np.asarray(under, dtype=float))
    n = d.size
    if n == 0:
        raise ValueError("no samples")
    if n > MOST_PAIRS:  # all averages would not fit into memory; fewer units widen the interval
        d = np.quantile(d, (np.arange(MOST_PAIRS) + 0.5) / MOST_PAIRS)
        n = MOST_PAIRS
    i, j = np.triu_indices(n)
    averages = np.sort((d[i] + d[j]) / 2)
    if n <= EXACT:
        k, level = _critical(_signed_rank_counts(n), alpha)
    else:
        k, level = _approximate(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, alpha)
    return _ratio(lambda rank: float(averages[rank - 1]), averages.size, k, level, n)
