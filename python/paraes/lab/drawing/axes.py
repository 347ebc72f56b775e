"""Which values an axis shows, where its ticks are, and how values are written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from paraes.lab.document import NANOSECONDS, Axis, Figure, Series
from paraes.lab.units import significant, size_text, superscript, time_text


def _shows(axis: Axis, value: float) -> bool:
    return math.isfinite(value) and (value > 0 or axis.scale != "log")


def _usable(axis: Axis, values: Sequence[float]) -> list[float]:
    return [value for value in values if _shows(axis, value)]


def axis_span(axis: Axis, values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis that shows these values with some room around them."""
    usable = _usable(axis, values)
    low, high = (min(usable), max(usable)) if usable else (1.0, 10.0)
    if axis.scale == "log":
        if high / low < 1.5:
            low, high = low / 1.5, high * 1.5
        factor = (high / low) ** 0.04
        return low / factor, high * factor
    low, high = min(low, 0.0), max(high, 0.0)
    if high == low:
        high = low + 1
    room = (high - low) * 0.05
    return low - (room if low < 0 else 0), high + room


def _values(figure: Figure, series: Sequence[Series]) -> list[float]:
    found = [v for s in series for v in (*s.y, *(s.low or []), *(s.high or []))]
    return found if figure.level is None else [*found, figure.level]


def y_span(figure: Figure) -> tuple[float, float]:
    """Return the ends of the vertical axis. A lone roof far above all lines does not stretch it."""
    roofs = [s for s in figure.series if s.origin == "roof"]
    others = [s for s in figure.series if s.origin != "roof"]
    if not others or not _usable(figure.y, [y for s in others for y in s.y]):
        return axis_span(figure.y, _values(figure, figure.series))
    low, high = axis_span(figure.y, _values(figure, others))
    seen = _usable(figure.y, [y for s in roofs for y in s.y])
    if not seen:
        return low, high
    # A roof below the lines is no limit to them, and stays in sight.
    if figure.y.scale == "log":
        most = high * (high / low) ** 0.2
        return min(low, min(seen) / 1.05), max(high, min(max(seen) * 1.05, most))
    return min(low, min(seen)), max(high, min(max(seen) * 1.05, high + 0.25 * (high - low)))


def _powers(low: float, high: float, base: int, most: int) -> list[float]:
    first = math.ceil(math.log(low, base) - 1e-9)
    last = math.floor(math.log(high, base) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / most))
    # Multiples of the step: 1 KiB and 1 MiB are among every second, fifth or tenth power.
    start = math.ceil(first / step) * step
    found = [float(base) ** e for e in range(start, last + 1, step)]
    return found if len(found) > 1 or step == 1 else [float(base) ** first, float(base) ** last]


def ticks(axis: Axis, low: float, high: float, most: int) -> list[float]:
    """Return round values from `low` to `high`, about `most` of them at most.

    Counts and sizes on a logarithmic axis are powers of two, such as 1, 2, 4, 8 threads, unless the
    axis has fewer than two of them.
    """
    if axis.kind in ("size", "count") and axis.scale == "log":
        found = _powers(low, high, 2, most)
        if len(found) >= 2:
            return found
    if axis.scale == "log" and high / low > 1.2:
        span = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for bases in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3)):
            found = [b * 10.0**e for e in span for b in bases]
            found = [v for v in found if low <= v <= high]
            if len(found) <= most + 1:
                return found
        return _powers(low, high, 10, most)
    raw = (high - low) / most
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(s * magnitude for s in (1, 2, 2.5, 5, 10) if s * magnitude >= raw)
    if axis.kind == "count":
        step = max(1.0, math.ceil(step))
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def value_text(axis: Axis, value: float) -> str:
    """Format a value of an axis."""
    if axis.kind == "size":
        return size_text(value)
    if axis.kind == "count":
        return significant(value, 6)
    if axis.kind in NANOSECONDS:
        return time_text(value * NANOSECONDS[axis.kind])
    if value and axis.scale == "log":
        exponent = round(math.log10(value))
        if (exponent >= 6 or exponent <= -4) and abs(value / 10.0**exponent - 1) < 1e-9:
            return f"10{superscript(exponent)}"
    return significant(value, 3)


def shown_points(figure: Figure, s: Series) -> list[int]:
    """Return the indices of the points that the axes can show."""
    points = zip(s.x, s.y, strict=True)
    return [n for n, (x, y) in enumerate(points) if _shows(figure.x, x) and _shows(figure.y, y)]


def below(
    figure: Figure, xs: list[float], ys: list[float], top: float
) -> Iterator[tuple[float, float]]:
    """Cut a line where it rises above `top`: yield its points below, and those on the border."""

    def scaled(axis: Axis, value: float) -> float:
        return math.log(value) if axis.scale == "log" else value

    def crossing(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
        (ya, yb), level = (scaled(figure.y, p[1]) for p in (a, b)), scaled(figure.y, top)
        part = (level - ya) / (yb - ya)
        x = scaled(figure.x, a[0]) * (1 - part) + scaled(figure.x, b[0]) * part
        return (math.exp(x) if figure.x.scale == "log" else x), top

    points = list(zip(xs, ys, strict=True))
    if points and points[0][1] <= top:
        yield points[0]
    for a, b in pairwise(points):
        if (a[1] <= top) != (b[1] <= top):
            yield crossing(a, b)
        if b[1] <= top:
            yield b
