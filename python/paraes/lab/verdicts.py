"""Decide what an interval says about a ratio of times.

A difference below the least effect is called none, because no program's user notices it, and other
code around it or another layout of its memory makes as much.
"""

from __future__ import annotations

from paraes.lab.statistics import ALPHA, Interval
from paraes.lab.units import significant

LEAST_EFFECT = 0.02
FASTER, SLOWER, SAME, UNDECIDED = "faster", "slower", "the same", "undecided"


def verdict(interval: Interval | None, least_effect: float = LEAST_EFFECT) -> str:
    """Return the verdict on a ratio: how many times as fast something is, with its interval."""
    if interval is None:
        return UNDECIDED
    above, below = 1 + least_effect, 1 / (1 + least_effect)
    if interval.low > above:
        return FASTER
    if interval.high < below:
        return SLOWER
    return SAME if below <= interval.low and interval.high <= above else UNDECIDED


def is_slower_by(interval: Interval | None, share: float) -> bool | None:
    """Tell whether something takes at least `share` longer; None if the interval leaves it open."""
    if interval is None:
        return None
    limit = 1 / (1 + share)
    if interval.high < limit:
        return True
    return False if interval.low >= limit else None


def alpha_of(comparisons: int) -> float:
    """Return the error of one of so many comparisons, so that all together err in 5 % at most."""
    return ALPHA / max(1, comparisons)


def level_text(alpha: float) -> str:
    """Write the confidence of an interval as a percentage."""
    return f"{significant(100 * (1 - alpha), 5)} %"


def rule(comparisons: int, least_effect: float = LEAST_EFFECT) -> str:
    """Say how the verdicts of a table are decided."""
    effect = significant(100 * least_effect)
    several = f"95 % for all {comparisons} rows together" if comparisons > 1 else "95 %"
    return (
        f"faster: the whole interval is above {significant(1 + least_effect)}; slower: below "
        f"{significant(1 / (1 + least_effect))}; the same: between them, so less than {effect} % "
        "apart; otherwise undecided. Intervals are Hodges–Lehmann intervals of level "
        f"{level_text(alpha_of(comparisons))} ({several})."
    )
