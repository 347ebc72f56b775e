"""Derive numbers from one row: phase times and shares, cycles per byte, percent of a roof, energy.

A roof is a measured upper bound: a copy of the same data, or the AES units working on registers
alone. Every number is a value, or None with the reason; none is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paraes.lab.configurations import ratio_of
from paraes.lab.rows import PHASES, PORTS, PORTS_GCM, Row
from paraes.lab.statistics import Interval, median_interval

# Scope → the rivals that are its roof; the first that a report has counts.
ROOFS = {"memory": ("memcpy",), "transfer": ("pinned-copy",), "file": ("copy-threads", "cp")}
# Rivals that have no number of threads: they are the roof of rows of any.
WITHOUT_THREADS = ("cp",)
# Kernel → the name of its AES instructions in rivals that keep the same AES units busy.
PORTS_OF = {kernel: kernel for kernel in ("aesni", "vaes256", "vaes512", "armv8")}
PORTS_OF["armv8-eor3"] = "armv8"


@dataclass(frozen=True)
class Known:
    """A value with its source, or None with the reason; `why` holds either."""

    value: float | None
    why: str
    interval: Interval | None = None


def phase_shares(row: Row) -> dict[str, float]:
    """Return the share (0 to 1) of each measured phase in the sum of all measured phases.

    The sum may exceed the median of the whole call, because overlapping phases run at once.
    """
    measured = {p: ns for p in PHASES if (ns := row.timeline_ns.get(p)) is not None}
    total = sum(measured.values())
    return {p: t / total for p, t in measured.items()} if total > 0 else {}


def phase_times(row: Row, *names: str) -> np.ndarray | float | None:
    """Add the nanoseconds of the named phases; None if one of them was not measured.

    If the phases have equally many samples, their sum is returned for every sample, else the sum of
    their medians.
    """
    medians = [row.timeline_ns.get(name) for name in names]
    if any(ns is None for ns in medians):
        return None
    samples = [row.timeline_samples_ns.get(name) for name in names]
    timed = [s for s in samples if s is not None]
    if len(timed) == len(names) and len({s.size for s in timed}) == 1:
        return np.sum(timed, axis=0)
    return float(sum(ns for ns in medians if ns is not None))


def clock_of(context: dict[str, Any], given_hz: float | None = None) -> Known:
    """Return the CPU's clock in hertz: given by the user, or measured by the bench (`clock_hz`)."""
    if given_hz is not None:
        return Known(given_hz, "given with --clock")
    value = context.get("clock_hz")
    if value is not None:
        return Known(float(value), "measured by the bench")
    return Known(None, "the clock frequency is unknown: the JSON's context has no clock_hz")


def _counted(value: float | None, reason: str) -> Known:
    return Known(value, reason if value is None else "counted")


def counted(row: Row, name: str) -> Known:
    """Return what one of the processor's counters counted in one call, over all threads."""
    reason = row.counters_reason or "the processor's counters were not read"
    return _counted(row.counters.get(name), reason)


def cycles_per_byte(row: Row, clock: Known) -> Known:
    """Return the cycles that the processor spends on a byte of plaintext, in all threads together.

    They are those that it counted, else the time of one thread by the clock frequency.
    """
    if (cycles := counted(row, "cycles")).value is not None:
        return Known(cycles.value / row.bytes, cycles.why)
    if row.on_gpu:
        return Known(None, "it ran on a GPU, whose clock is not recorded")
    if row.workers > 1:
        return Known(None, "it ran on several threads, whose cycles were not counted")
    if row.scope != "memory":
        return Known(None, "the time includes more than computing")
    if clock.value is None:
        return Known(None, clock.why)
    cycles = 1e-9 * clock.value / row.bytes  # cycles per byte for each nanosecond
    interval = median_interval(row.samples_ns).scaled(cycles)
    return Known(row.median_ns * cycles, f"clock {clock.why}", interval)


def roof_of(row: Row, rows: list[Row]) -> Row | None:
    """Find the copy of the same size and with as many threads in the same report.

    In file scope, reports without such a copy may have `cp`.
    """
    for wanted in ROOFS.get(row.scope, ()):
        for other in rows:
            if (
                other.rival == wanted
                and other.report == row.report
                and other.scope == row.scope
                and other.device == row.device
                and other.bytes == row.bytes
                and other.in_place == row.in_place
                and (other.overlap == row.overlap or row.scope != "transfer")
                and (other.threads == row.threads or wanted in WITHOUT_THREADS)
            ):
                return other
    return None


def _percent_of(row: Row, roof: Row) -> Known:
    """Return the rate of `row` in percent of that of `roof`, from the medians of both."""
    sizes = 100 * row.bytes / roof.bytes
    ratio = ratio_of(roof, row)
    interval = ratio.interval.scaled(sizes) if ratio.interval else None
    return Known(sizes * ratio.value, f"({roof.rival})", interval)


def percent_of_roof(row: Row, rows: list[Row]) -> Known:
    """Return the rate in percent of the copy's.

    It may exceed 100: a kernel with non-temporal stores can be faster than memcpy.
    """
    if row.is_ports:
        return Known(None, "it touches no memory")
    roof = roof_of(row, rows)
    if roof is None:
        wanted = ROOFS.get(row.scope, ("a copy",))[0]
        return Known(None, f"no {wanted} row of this size and threads: add --rivals {wanted}")
    if roof is row:
        return Known(100.0, f"({roof.rival})")
    return _percent_of(row, roof)


def ports_rivals(row: Row) -> list[str]:
    """Return the rivals that are the limit of the AES units for the row; the first there counts."""
    prefixes = (PORTS_GCM, PORTS) if row.mode == "gcm" else (PORTS,)
    return [prefix + PORTS_OF[row.kernel] for prefix in prefixes if row.kernel in PORTS_OF]


def ports_of(row: Row, rows: list[Row]) -> Row | None:
    """Find the row of the AES units' limit for the row's mode, kernel, key size and threads.

    It must be in the same report. Of several sizes the fastest counts, because it is a limit.
    """
    for rival in ports_rivals(row):
        limits = [
            other
            for other in rows
            if other.rival == rival
            and (other.report, other.scope, other.device) == (row.report, row.scope, row.device)
            and (other.key_bits, other.threads, other.ranks)
            == (row.key_bits, row.threads, row.ranks)
        ]
        if limits:
            return max(limits, key=lambda other: other.mb_per_s)
    return None


def percent_of_ports(row: Row, rows: list[Row]) -> Known:
    """Return the rate in percent of the limit of the AES units.

    Relative to the limit of the rounds alone, CTR and GCM may exceed 100, because they compute
    round 1 once for 256 counters.
    """
    if row.is_ports:
        return Known(100.0, f"({row.rival})")
    if row.on_gpu or row.kernel not in PORTS_OF:
        return Known(None, f"only the kernels {', '.join(PORTS_OF)} have a port limit")
    if row.scope != "memory":
        return Known(None, "the time includes more than computing")
    ports = ports_of(row, rows)
    if ports is None:
        wanted = ports_rivals(row)[0]
        return Known(None, f"no {wanted} row of this key size and threads: add --rivals {wanted}")
    return _percent_of(row, ports)


def energy(row: Row) -> Known:
    """Return the joules of one call, as counted."""
    return _counted(row.energy_joules, row.energy_reason or "no counter")


def joules_per_gigabyte(row: Row) -> Known:
    """Return the joules for 10**9 bytes of plaintext."""
    known = energy(row)
    if known.value is None:
        return known
    return Known(known.value / row.bytes * 1e9, known.why)
