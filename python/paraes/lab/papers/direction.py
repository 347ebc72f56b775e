"""On which side of its rule a claim differs.

A claim says in its data, as `means`, what being lower or higher tells about the machine: that one
of the two that it compares is faster than the paper has it, for example.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paraes.lab.crossover import Crossover
from paraes.lab.statistics import Interval

LOWER, HIGHER = "lower", "higher"


def sides(rule: dict[str, Any]) -> tuple[str, ...]:
    """Return the directions in which a rule can be broken."""
    return {"above": (LOWER,), "below": (HIGHER,)}.get(rule["is"], (LOWER, HIGHER))


def side(rule: dict[str, Any], interval: Interval) -> str:
    """Return the side on which an interval lies that breaks the rule."""
    if rule["is"] == "within":
        return LOWER if interval.high < rule["low"] else HIGHER
    return sides(rule)[0]


def joined(found: Iterable[str]) -> str:
    """Return the direction of several cases, which may lie on both sides."""
    kinds = set(found)
    return " and ".join(word for word in (LOWER, HIGHER) if word in kinds)


def of_crossover(between: tuple[int, int], found: Crossover) -> str:
    """Return whether a crossover outside these sizes is at smaller or larger ones.

    Without one in the range, the challenger is faster or slower at every size; if it is faster in
    the middle only, there is no direction.
    """
    if found.interval is not None:
        low, high = between
        return side({"is": "within", "low": low, "high": high}, found.interval)
    if found.verdict.endswith("faster at every size"):
        return LOWER
    return HIGHER if found.verdict.endswith("slower at every size") else ""
