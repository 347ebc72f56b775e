"""What follows from one row: shares of phases, cycles a byte, percent of a roof, energy.

Each gives a value, or None with the reason why there is none. Never an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraes.lab.bench import PHASES, Row

# What a roof is a roof of: copying on the processor, and copying to a GPU and back.
ROOFS = {"memory": "memcpy", "transfer": "pinned-copy", "file": "cp"}


@dataclass(frozen=True)
class Known:
    """A value with where it is from, or no value with the reason."""

    value: float | None
    why: str


def phase_shares(row: Row) -> dict[str, float]:
    """Each measured phase as a part (0 to 1) of the sum of all measured phases.

    Of the sum, not of the median: with overlap phases run at once, and their sum is longer.
    """
    measured = {p: ns for p in PHASES if (ns := row.timeline_ns.get(p)) is not None}
    total = sum(measured.values())
    return {p: t / total for p, t in measured.items()} if total > 0 else {}


def clock_of(context: dict[str, Any], given_hz: float | None = None) -> Known:
    """The processor's clock in hertz: given by the user, or measured by the bench (`clock_hz`)."""
    if given_hz is not None:
        return Known(given_hz, "given with --clock")
    value = context.get("clock_hz")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return Known(float(value), "measured by the bench")
    return Known(None, "the clock frequency is not known: the JSON's context has no clock_hz")


def cycles_per_byte(row: Row, clock: Known) -> Known:
    """Clock cycles of one thread for a byte of plaintext."""
    if row.on_gpu:
        return Known(None, "it ran on a GPU, whose clock is not recorded")
    if row.workers > 1:
        return Known(None, "more than one thread: cycles of which?")
    if row.scope != "memory":
        return Known(None, "the time contains more than computing")
    if clock.value is None:
        return Known(None, clock.why)
    return Known(row.median_ns * 1e-9 * clock.value / row.bytes, f"clock {clock.why}")


def roof_of(row: Row, rows: list[Row]) -> Row | None:
    """The copy in the same report with the same size and threads, which no way can outrun twice."""
    wanted = ROOFS.get(row.scope)
    for other in rows:
        if (
            other.rival == wanted
            and other.report == row.report
            and other.scope == row.scope
            and other.device == row.device
            and other.bytes == row.bytes
            and other.in_place == row.in_place
            and (other.overlap == row.overlap or row.scope != "transfer")
            and (other.threads == row.threads or row.scope == "file")
        ):
            return other
    return None


def percent_of_roof(row: Row, rows: list[Row]) -> Known:
    """The rate in percent of the measured roof's; may be above 100 (non-temporal stores are)."""
    roof = roof_of(row, rows)
    if roof is None:
        wanted = ROOFS.get(row.scope, "a copy")
        return Known(None, f"no {wanted} row of this size and threads: add --rivals {wanted}")
    if roof is row:
        return Known(100.0, f"({roof.rival})")
    return Known(100 * row.mb_per_s / roof.mb_per_s, f"({roof.rival})")


def port_limit(clock: Known) -> Known:
    """The rate at which the AES units issue. It is in bytes a cycle, so that it needs the clock."""
    if clock.value is None:
        return Known(None, clock.why)
    return Known(None, "the number of AES units of this processor is not recorded")


def energy(row: Row) -> Known:
    """Joules of one call, as counted."""
    if row.energy_joules is None:
        return Known(None, row.energy_reason or "no counter")
    return Known(row.energy_joules, "counted")


def joules_per_gigabyte(row: Row) -> Known:
    """Joules for 10**9 bytes of plaintext."""
    known = energy(row)
    if known.value is None:
        return known
    return Known(known.value / row.bytes * 1e9, known.why)
