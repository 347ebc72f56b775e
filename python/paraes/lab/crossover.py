"""Find the size from which one implementation is faster than another.

Between two measured sizes, the logarithm of the ratio of times is taken to be linear in the
logarithm of the size. Nothing is extrapolated beyond the measured sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paraes.lab.configurations import units_of
from paraes.lab.rows import Row
from paraes.lab.statistics import LEAST_UNITS, REPLICATES, Interval, resampled_together
from paraes.lab.units import size_text

CERTAIN = 0.975  # share of the replicates that have a crossover, for an interval of 95 %


@dataclass(frozen=True)
class Crossover:
    """Where the challenger becomes faster. Sizes in bytes.

    `size` is None if there is no crossover in the range; `verdict` then says how the challenger
    compares there. `between` holds the measured sizes on both sides. `changes` counts how often
    the faster one changes as the size grows: more than one means that the curves cross several
    times, perhaps within noise. `share` is the fraction of the bootstrap replicates that have a
    crossover; None without enough units. `interval` is that of the crossovers if nearly all
    replicates have one, else None. `measured` holds the smallest and the largest size that both
    have.
    """

    size: float | None
    between: tuple[int, int] | None
    interval: Interval | None
    share: float | None
    changes: int
    verdict: str
    measured: tuple[int, int]


def crossover_text(found: Crossover | None) -> str:
    """Describe a crossover in one line."""
    if found is None:
        return "fewer than two sizes were measured on both"
    if found.size is None or found.between is None:
        return found.verdict
    text = size_text(found.size)
    if found.interval is not None:
        text += f", 95 % from {size_text(found.interval.low)} to {size_text(found.interval.high)}"
    text += f", between {size_text(found.between[0])} and {size_text(found.between[1])}"
    if found.changes > 1:
        text += f"; the faster one changes {found.changes} times"
    return text


def _last_crossing(log_sizes: np.ndarray, log_ratio: np.ndarray) -> float:
    """Return the log size of the last change from below 0 to 0 or more; NaN without one.

    `log_ratio` is the logarithm of the incumbent's time over the challenger's.
    """
    ahead = log_ratio >= 0
    found = np.nonzero(~ahead[:-1] & ahead[1:])[0]
    if found.size == 0 or not ahead[-1]:
        return float("nan")
    i = found[-1]
    step = log_ratio[i + 1] - log_ratio[i]
    return float(log_sizes[i] - log_ratio[i] * (log_sizes[i + 1] - log_sizes[i]) / step)


def crossover(
    incumbent: dict[int, np.ndarray],
    challenger: dict[int, np.ndarray],
    replicates: int = REPLICATES,
    interval: bool = True,
) -> Crossover | None:
    """Compare samples (ns) by size (bytes). None with fewer than two sizes in common.

    There is no interval if `interval` is false, which says that the samples are not units of one
    statement, or if a size has fewer than 6 of them.
    """
    sizes = sorted(set(incumbent) & set(challenger))
    if len(sizes) < 2:
        return None
    log_sizes = np.log(np.array(sizes, dtype=float))
    medians = [(float(np.median(incumbent[s])), float(np.median(challenger[s]))) for s in sizes]
    ratio = np.array([np.log(a / b) for a, b in medians])
    ahead = ratio >= 0
    changes = int(np.count_nonzero(ahead[1:] != ahead[:-1]))
    point = _last_crossing(log_sizes, ratio)

    first, second = resampled_together(
        [[times[s] for s in sizes] for times in (incumbent, challenger)], replicates
    )
    columns = [np.log(a) - np.log(b) for a, b in zip(first, second, strict=True)]
    table = np.stack(columns, axis=1)
    draws = np.array([_last_crossing(log_sizes, line) for line in table])
    finite = np.exp(draws[np.isfinite(draws)])
    least = min(len(times[s]) for times in (incumbent, challenger) for s in sizes)
    share = finite.size / replicates if interval and least >= LEAST_UNITS else None

    if np.isnan(point):
        if ahead.all():
            verdict = "none in the range: faster at every size"
        elif not ahead.any():
            verdict = "none in the range: slower at every size"
        else:
            verdict = "none in the range: faster in the middle only"
        return Crossover(None, None, None, share, changes, verdict, (sizes[0], sizes[-1]))
    size = float(np.exp(point))
    upper = next(s for s in sizes if s >= size * (1 - 1e-12))
    lower = sizes[max(0, sizes.index(upper) - 1)]
    ends = None
    if share is not None and share >= CERTAIN:
        low, high = np.quantile(finite, [0.025, 0.975])
        ends = Interval(float(low), float(high))
    return Crossover(size, (lower, upper), ends, share, changes, "found", (sizes[0], sizes[-1]))


def crossover_of(incumbent: Sequence[Row], challenger: Sequence[Row]) -> Crossover | None:
    """Find the crossover of two series of rows of different sizes."""
    rows = [*incumbent, *challenger]
    units = units_of(rows)
    samples = units or [row.samples_ns for row in rows]
    split = len(incumbent)
    first = {row.bytes: times for row, times in zip(incumbent, samples[:split], strict=True)}
    second = {row.bytes: times for row, times in zip(challenger, samples[split:], strict=True)}
    return crossover(first, second, interval=units is not None)
