"""Draw figures in one style with matplotlib: for pages, for papers (SVG, PNG, PDF), for the README.

Lines are named where they end if there is room, else in a legend below. In an SVG, text stays text.
Pages and the README's figure follow the reader's light or dark theme: their colours are CSS
variables, and every point has a tooltip with its value.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from paraes.lab.document import NANOSECONDS, Axis, Document, Figure, Series
from paraes.lab.files import make_folder, write_whole
from paraes.lab.units import significant, size_text, superscript, time_text

POINTS = 72  # in an inch; a figure is drawn with one pixel a point, so that lengths are points
MM = 25.4  # in an inch

# After Okabe and Ito, for colour-blind readers. Neighbours in this order, and every sixth, which
# has the same marker, differ most.
LIGHT = ("#0072b2", "#c2410c", "#00734f", "#a0307a", "#8a6100", "#3d5afe")
LIGHT += ("#5b5f66", "#00808a", "#b3261e", "#5b7f00", "#6a3fb5", "#7a4a2b")
DARK = ("#56b4e9", "#ff8a4c", "#34d399", "#f08cc8", "#f0c040", "#9aa8ff")
DARK += ("#b6bcc6", "#3fd6e0", "#ff8a80", "#b5d334", "#c4a1ff", "#d9a27a")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES: dict[str, Any] = {
    "measured": "solid",
    "program": (0, (7, 2)),
    "roof": (0, (4, 1.5, 1, 1.5)),
    "paper": (0, (4, 2.5)),
    "predicted": (0, (1, 2)),
}
INK, MUTED, GRID, PAPER = "#1f2328", "#57606a", "#d8dee4", "#ffffff"
# Colour of the light theme → CSS variable and colour of the dark theme.
THEME = {
    INK: ("ink", "#e6edf3"),
    MUTED: ("muted", "#9ba6b2"),
    GRID: ("grid", "#363d46"),
    PAPER: ("paper", "#0d1117"),
    **{light: (f"c{i}", dark) for i, (light, dark) in enumerate(zip(LIGHT, DARK, strict=True))},
}
# The layout is made with the metrics of DejaVu Sans, which comes with matplotlib. It is wider than
# the fonts of browsers, so labels that fit in it fit there.
FONT = "DejaVu Sans"
BROWSER_FONTS = f"system-ui, -apple-system, 'Segoe UI', '{FONT}'"
KINDS = ("svg", "png", "pdf")


@dataclass(frozen=True)
class Layout:
    """The size of a figure: width and height of the plot in inches, font size in points."""

    width: float
    plot: float
    font: float
    x_ticks: int
    y_ticks: int
    at_ends: bool  # whether lines may be named where they end

    @classmethod
    def of_width(cls, millimetres: float) -> Layout:
        """Return the layout of a figure in a paper."""
        width = millimetres / MM
        wide = width >= 5
        plot = 3.0 if wide else 0.62 * width
        return cls(width, plot, 8.0 if wide else 7.0, 8 if wide else 5, 7 if wide else 5, wide)


# A hundred units of a page's CSS are an inch here, so 9 points are 12.5 pixels.
PAGE = Layout(7.6, 3.2, 9.0, 8, 7, True)
PHONE = Layout(3.44, 2.3, 9.0, 4, 5, False)
COLUMN_MM = 88.0  # a column of the two-column formats of IEEE and ACM


# Values and axes


def _usable(axis: Axis, values: Sequence[float]) -> list[float]:
    return [v for v in values if math.isfinite(v) and (v > 0 or axis.scale != "log")]


def _span(axis: Axis, values: Sequence[float]) -> tuple[float, float]:
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


def _y_span(figure: Figure) -> tuple[float, float]:
    """Return the ends of the vertical axis. A lone roof far above all lines does not stretch it."""
    roofs = [s for s in figure.series if s.origin == "roof"]
    others = [s for s in figure.series if s.origin != "roof"]
    if not others or not _usable(figure.y, [y for s in others for y in s.y]):
        return _span(figure.y, _values(figure, figure.series))
    low, high = _span(figure.y, _values(figure, others))
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


def look(index: int, series: Series) -> dict[str, Any]:
    """Return how matplotlib draws a series: no two of 72 have the same colour and marker."""
    colour = LIGHT[index % len(LIGHT)]
    open_marker = series.origin in ("paper", "predicted")
    return {
        "color": colour,
        "marker": "" if series.name == "ideal" else MARKERS[(index + index // 12) % len(MARKERS)],
        "linestyle": DASHES[series.origin],
        "linewidth": 1.4,
        "markersize": 4.5,
        "markerfacecolor": PAPER if open_marker else colour,
        "markeredgewidth": 1.0,
    }


def _shown(figure: Figure, s: Series) -> list[int]:
    """Return the indices of the points that the axes can show."""
    return [
        n
        for n in range(len(s.x))
        if all(
            math.isfinite(v) and (v > 0 or axis.scale != "log")
            for v, axis in ((s.x[n], figure.x), (s.y[n], figure.y))
        )
    ]


def _below(
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


# Texts and their places, in points from the upper left corner


class _Sheet:
    """A matplotlib figure on which texts and lines have places in points."""

    def __init__(self, layout: Layout) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
        from matplotlib.font_manager import FontProperties

        self.width, self.font = layout.width * POINTS, layout.font
        self.canvas = Canvas(figsize=(layout.width, 1), dpi=POINTS, facecolor=PAPER)
        self._renderer = FigureCanvasAgg(self.canvas).get_renderer()
        self._family = FontProperties(family=FONT)
        self._later: list[Any] = []
        self.height = 0.0

    def measure(self, text: str, font: float, bold: bool = False) -> float:
        """Return the width of a text."""
        family = self._family.copy()
        family.set_size(font)
        family.set_weight("bold" if bold else "normal")
        return self._renderer.get_text_width_height_descent(text, family, False)[0]

    def wrap(self, text: str, font: float, width: float, bold: bool = False) -> list[str]:
        """Break a text into lines of at most this width; a long word is broken as well."""
        lines, line = [], ""
        for word in text.split(" "):
            while self.measure(word, font, bold) > width and len(word) > 1:
                fits = next(
                    n
                    for n in range(len(word) - 1, 0, -1)
                    if n == 1 or self.measure(word[:n], font, bold) <= width
                )
                if line:
                    lines.append(line)
                    line = ""
                lines.append(word[:fits])
                word = word[fits:]
            longer = f"{line} {word}" if line else word
            if line and self.measure(longer, font, bold) > width:
                lines.append(line)
                line = word
            else:
                line = longer
        return [*lines, line]

    def text(
        self, x: float, y: float, text: str, font: float, colour: str, at: str = "left", **more
    ):
        """Write a text whose baseline is at `y`."""
        self._later.append(("text", x, y, text, font, colour, at, more))

    def line(self, xs: Sequence[float], ys: Sequence[float], **how: Any) -> None:
        """Draw a line."""
        self._later.append(("line", xs, ys, how))

    def bar(self, x: float, y: float, width: float, height: float, colour: str, gid: str) -> None:
        """Fill a rectangle; (x, y) is its upper left corner."""
        self._later.append(("bar", x, y, width, height, colour, gid))

    def place(self) -> Any:
        """Return what maps points from the upper left corner to the canvas at its height."""
        from matplotlib.transforms import Affine2D

        flipped = Affine2D().scale(1 / POINTS, -1 / POINTS).translate(0, self.height / POINTS)
        return flipped + self.canvas.dpi_scale_trans

    def finish(self, height: float) -> None:
        """Give the sheet its height, and place everything on it."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Rectangle

        self.height = height
        self.canvas.set_size_inches(self.width / POINTS, height / POINTS)
        place = self.place()
        for kind, *rest in self._later:
            if kind == "text":
                x, y, text, font, colour, at, more = rest
                self.canvas.text(
                    x,
                    y,
                    text,
                    transform=place,
                    fontsize=font,
                    color=colour,
                    ha=at,
                    va="baseline",
                    **more,
                )
            elif kind == "line":
                xs, ys, how = rest
                self.canvas.add_artist(Line2D(xs, ys, transform=place, **how))
            else:
                x, y, width, tall, colour, gid = rest
                patch = Rectangle((x, y), width, tall, transform=place, facecolor=colour)
                patch.set_linewidth(0)
                patch.set_gid(gid)
                self.canvas.add_artist(patch)


def _spread(wanted: list[tuple[float, float]], low: float, high: float) -> list[float] | None:
    """Place labels (wanted middle, height) without overlap between `low` and `high`.

    Each stays as near its wanted place as the others allow. None if they do not fit.
    """
    if sum(height for _, height in wanted) > high - low:
        return None
    # Labels that would overlap form a block, which stands where its labels want to be on average.
    order = sorted(range(len(wanted)), key=lambda i: wanted[i][0])
    blocks: list[tuple[float, float, list[int]]] = []  # wanted top, height, labels

    def top_of(wish: float, height: float) -> float:
        return min(max(wish, low), high - height)

    for i in order:
        middle, tall = wanted[i]
        wish, height, labels = middle - tall / 2, tall, [i]
        while blocks and top_of(*blocks[-1][:2]) + blocks[-1][1] > top_of(wish, height):
            above, over, others = blocks.pop()
            # Each label counts once in the wish of the block's top.
            count = len(others) + len(labels)
            wish = (above * len(others) + (wish - over) * len(labels)) / count
            height, labels = over + height, [*others, *labels]
        blocks.append((wish, height, labels))
    places = [0.0] * len(wanted)
    for wish, height, labels in blocks:
        y = top_of(wish, height)
        for i in labels:
            places[i] = y + wanted[i][1] / 2
            y += wanted[i][1]
    return places


def _legend(
    sheet: _Sheet, series: Sequence[Series], left: float, top: float, swatches: bool
) -> float:
    """Name every series below the plot, in columns of equal width; return the height."""
    if not series:
        return 0.0
    font = sheet.font
    sample = font if swatches else 26.0
    room = sheet.width - left - 6
    widest = max(sheet.measure(s.name, font) for s in series) + sample + 20
    columns = max(1, min(len(series), int(room // widest)))
    width = room / columns
    line = font * 1.45
    y = top
    for first in range(0, len(series), columns):
        tallest = 1
        for column, s in enumerate(series[first : first + columns]):
            x, i = left + column * width, first + column
            lines = sheet.wrap(s.name, font, width - sample - 12)
            tallest = max(tallest, len(lines))
            if swatches:
                sheet.bar(x, y - font * 0.8, font, font, LIGHT[i % len(LIGHT)], f"k{i}")
            else:
                how = look(i, s)
                middle = y - font * 0.35
                sheet.line([x, x + sample], [middle] * 2, **{**how, "marker": ""})
                sheet.line([x + sample / 2], [middle], **{**how, "linestyle": "none"})
            for n, text in enumerate(lines):
                sheet.text(x + sample + 6, y + n * font * 1.25, text, font, INK)
        y += line + (tallest - 1) * font * 1.25
    return y - top


# Lines


def _lines(figure: Figure, layout: Layout, sheet: _Sheet, top: float) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    font = layout.font
    series = figure.series
    low_x, high_x = _span(figure.x, [x for s in series for x in s.x])
    low_y, high_y = _y_span(figure)
    x_ticks = ticks(figure.x, low_x, high_x, layout.x_ticks)
    y_ticks = ticks(figure.y, low_y, high_y, layout.y_ticks)
    x_texts = [value_text(figure.x, v) for v in x_ticks]
    y_texts = [value_text(figure.y, v) for v in y_ticks]

    left = max([sheet.measure(text, font) for text in y_texts], default=0.0) + 8
    left = max(left, sheet.measure(x_texts[0], font) / 2 if x_texts else 0.0)
    right = max(10.0, sheet.measure(x_texts[-1], font) / 2 if x_texts else 0.0)
    plot = layout.plot * POINTS
    top += font * 1.9  # the title of the vertical axis
    sheet.text(4, top - font * 0.9, figure.y.title, font, MUTED)

    def up(value: float) -> float:
        """Return the place of a value on the vertical axis, in points."""
        scale = math.log if figure.y.scale == "log" else float
        part = (scale(value) - scale(low_y)) / (scale(high_y) - scale(low_y))
        return top + plot * (1 - part)

    drawn = {i: shown for i, s in enumerate(series) if (shown := _shown(figure, s))}
    names = _names_at_ends(figure, layout, sheet, drawn, high_y, up, (top, top + plot))
    if names is not None:
        right = max(right, names.width + 16)

    bottom = top + plot + font * 1.5
    middle = left + (sheet.width - left - right) / 2
    sheet.text(middle, bottom + font * 1.35, figure.x.title, font, MUTED, "center")
    height = bottom + font * 2.0
    if names is None:
        height += font * 1.2
        height += _legend(sheet, series, 6 if not layout.at_ends else left, height, False)
    sheet.finish(height)

    wide = sheet.width - left - right
    axes = sheet.canvas.add_axes(
        (left / sheet.width, 1 - (top + plot) / height, wide / sheet.width, plot / height)
    )
    axes.patch.set_visible(False)
    axes.set_xscale(figure.x.scale)
    axes.set_yscale(figure.y.scale)
    for axis, places, texts in (
        (axes.xaxis, x_ticks, x_texts),
        (axes.yaxis, y_ticks, y_texts),
    ):
        axis.set_major_locator(FixedLocator(places))
        axis.set_major_formatter(FixedFormatter(texts))
        axis.set_minor_locator(NullLocator())
    axes.set_xlim(low_x, high_x)
    axes.set_ylim(low_y, high_y)
    axes.tick_params(length=0, labelsize=font, labelcolor=MUTED, pad=3)
    axes.grid(True, color=GRID, linewidth=0.7, clip_on=False)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(MUTED)
        spine.set_linewidth(0.8)
    if figure.level is not None:
        line = axes.axhline(figure.level, color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
        line.set_clip_on(False)
        axes.annotate(
            figure.level_name,
            (1, figure.level),
            (-3, 3),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            fontsize=font * 0.9,
            color=MUTED,
        )
    for i, shown in drawn.items():
        _line(axes, figure, i, shown, (low_y, high_y))
    if names is not None:
        names.write(sheet, axes, left + wide)


def _line(
    axes: Any, figure: Figure, i: int, shown: list[int], between: tuple[float, float]
) -> None:
    s, how = figure.series[i], look(i, figure.series[i])
    bottom, top = between
    if s.low and s.high:
        ends = [(s.x[n], max(s.low[n], bottom), min(s.high[n], top)) for n in shown]
        ends = [(x, low, high) for x, low, high in ends if low < high]
        if ends:
            axes.vlines(*zip(*ends, strict=True), colors=how["color"], linewidth=0.9, clip_on=False)
    xs, ys = [s.x[n] for n in shown], [s.y[n] for n in shown]
    line = list(_below(figure, xs, ys, top))
    axes.plot([x for x, _ in line], [y for _, y in line], clip_on=False, **{**how, "marker": ""})
    kept = [n for n in shown if s.y[n] <= top]
    if how["marker"] and kept:
        how["linestyle"] = "none"
        points = axes.plot(
            [s.x[n] for n in kept], [s.y[n] for n in kept], clip_on=False, zorder=3, **how
        )
        points[0].set_gid(f"s{i}")


@dataclass
class _Names:
    """The names of lines, beside their ends: (series, x and y of the end, place, lines of text)."""

    width: float
    font: float
    labels: list[tuple[int, float, float, float, list[str]]]

    def write(self, sheet: _Sheet, axes: Any, edge: float) -> None:
        """Write the names right of the plot, whose edge is at `edge`, and lead the ends to them."""
        from matplotlib.lines import Line2D

        height, place = sheet.height, sheet.place()
        for i, x, y, middle, lines in self.labels:
            colour = LIGHT[i % len(LIGHT)]
            at = axes.transData.transform((x, y))  # in pixels, which are points
            start = max(float(at[0]) + 4, 0.0)
            xs, ys = [start, edge + 5, edge + 10], [height - float(at[1])] * 2 + [middle]
            if start < edge - 2:  # the line ends early: lead straight to the name
                xs, ys = [start, edge + 10], [height - float(at[1]), middle]
            sheet.canvas.add_artist(
                Line2D(xs, ys, transform=place, color=colour, linewidth=0.6)
            )
            first = middle - (len(lines) - 1) * self.font * 0.6 + self.font * 0.35
            for n, text in enumerate(lines):
                sheet.canvas.text(
                    edge + 13,
                    first + n * self.font * 1.2,
                    text,
                    transform=place,
                    fontsize=self.font,
                    color=colour,
                    va="baseline",
                )


def _names_at_ends(
    figure: Figure,
    layout: Layout,
    sheet: _Sheet,
    drawn: dict[int, list[int]],
    top: float,
    up: Any,
    between: tuple[float, float],
) -> _Names | None:
    """Place the names of all lines beside their ends; None if there is no room."""
    if not layout.at_ends or not drawn or len(drawn) < len(figure.series):
        return None
    font, most = layout.font, sheet.width * 0.34
    ends: list[tuple[int, float, float]] = []
    texts: list[list[str]] = []
    for i, shown in drawn.items():
        s = figure.series[i]
        last = max(shown, key=lambda n, s=s: s.x[n])
        name = s.name
        y = s.y[last]
        if y > top:
            name, y = f"↑ {name}: {value_text(figure.y, y)}", top
        lines = sheet.wrap(name, font, most)
        if len(lines) > 3:
            return None
        ends.append((i, s.x[last], y))
        texts.append(lines)
    wanted = [
        (up(y), len(lines) * font * 1.2) for (_, _, y), lines in zip(ends, texts, strict=True)
    ]
    places = _spread(wanted, between[0] - font, between[1] + font)
    if places is None:
        return None
    width = max(sheet.measure(text, font) for lines in texts for text in lines)
    labels = [
        (i, x, y, place, lines) for (i, x, y), place, lines in zip(ends, places, texts, strict=True)
    ]
    return _Names(width, font, labels)


# Bars of shares


def _shares(figure: Figure) -> list[dict[int, float]]:
    """Return the shares of each series by the indices of the categories that have it."""
    return [dict(zip(map(int, s.x), s.y, strict=True)) for s in figure.series]


def _stack(figure: Figure, layout: Layout, sheet: _Sheet, top: float) -> None:
    font, left, tall = layout.font, 6.0, layout.font * 2
    room, y = sheet.width - 12, top + 4
    shares = _shares(figure)
    for n, category in enumerate(figure.categories):
        for text in sheet.wrap(category, font, room):
            y += font * 1.25
            sheet.text(left, y, text, font, INK)
        y += font * 0.4
        total = sum(own.get(n, 0.0) for own in shares) or 1.0
        x = left
        for i, s in enumerate(figure.series):
            share = shares[i].get(n, 0.0)
            wide = room * share / total
            if wide > 0:
                colour = LIGHT[i % len(LIGHT)]
                sheet.bar(x, y, max(wide - 1.0, 0.4), tall, colour, f"b{i}-{n}")
            percent = f"{significant(share, 2)} %"
            for text in (f"{s.name} {percent}", percent):
                if sheet.measure(text, font) + 8 < wide:
                    sheet.text(x + 4, y + tall / 2 + font * 0.35, text, font, PAPER)
                    break
            x += wide
        y += tall + font * 0.6
    y += font * 1.3
    sheet.finish(y + _legend(sheet, figure.series, left, y, True))


# Output


def _draw(figure: Figure, layout: Layout, title: bool) -> _Sheet:
    sheet = _Sheet(layout)
    top = 2.0
    if title:
        size = layout.font * 1.25
        for text in sheet.wrap(figure.title, size, sheet.width - 16, bold=True):
            top += size * 1.3
            sheet.text(4, top, text, size, INK, fontweight="bold")
        top += size * 0.5
    (_stack if figure.form == "stack" else _lines)(figure, layout, sheet, top)
    return sheet


def _saved(figure: Figure, layout: Layout, kind: str, title: bool) -> bytes:
    import matplotlib

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": figure.name,
        "pdf.fonttype": 42,  # TrueType, as publishers want it
        "font.family": [FONT],
        "text.parse_math": False,  # a $ in a label is a $
        "path.simplify": False,  # keeps every point, for the tooltips
        "axes.unicode_minus": True,
    }
    # Without date and version, the same data gives the same file.
    metadata = {"svg": {"Date": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # the user's own settings would change sizes and texts
        matplotlib.rcParams.update(settings)
        warnings.simplefilter("ignore")  # of glyphs that the font lacks
        sheet = _draw(figure, layout, title)
        buffer = io.BytesIO()
        sheet.canvas.savefig(
            buffer, format=kind, dpi=300 if kind == "png" else POINTS, metadata=metadata[kind]
        )
    return buffer.getvalue()


def draw(figure: Figure, kind: str, width_mm: float = COLUMN_MM) -> bytes:
    """Draw a figure for a paper, without a title, as svg, png or pdf."""
    return _saved(figure, Layout.of_width(width_mm), kind, False)


def style(scope: str) -> str:
    """Return CSS with the colours of figures as variables of `scope`, for both themes."""
    light = "".join(f"--fig-{name}:{colour};" for colour, (name, _) in THEME.items())
    dark = "".join(f"--fig-{name}:{colour};" for name, colour in THEME.values())
    return f"{scope}{{{light}}}@media (prefers-color-scheme:dark){{{scope}{{{dark}}}}}"


_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"


def _tooltips(root: ElementTree.Element, figure: Figure) -> None:
    """Give every marker and bar its value as a title, which browsers show as a tooltip."""
    groups = {g.get("id"): g for g in root.iter(f"{{{_SVG}}}g")}

    def add(element: ElementTree.Element | None, text: str) -> None:
        if element is not None:
            title = ElementTree.Element(f"{{{_SVG}}}title")
            title.text = text
            element.insert(0, title)

    if figure.form == "stack":
        for i, (s, shares) in enumerate(zip(figure.series, _shares(figure), strict=True)):
            for n, share in shares.items():
                add(groups.get(f"b{i}-{n}"), f"{s.name}: {significant(share, 3)} %")
        return
    top = _y_span(figure)[1]
    for i, s in enumerate(figure.series):
        if (group := groups.get(f"s{i}")) is None:
            continue
        kept = [n for n in _shown(figure, s) if s.y[n] <= top]
        for n, marker in zip(kept, group.iter(f"{{{_SVG}}}use"), strict=True):
            texts = [value_text(figure.x, s.x[n]), value_text(figure.y, s.y[n])]
            text = f"{s.name}: {', '.join(texts)}"
            if s.low and s.high and s.high[n] > s.low[n]:
                ends = (value_text(figure.y, end) for end in (s.low[n], s.high[n]))
                text += f" [{'; '.join(ends)}]"
            add(marker, text)


def _themed(figure: Figure, layout: Layout, name: str, title: bool) -> ElementTree.Element:
    """Draw a figure as an SVG element for a page.

    Its ids begin with `name`, its colours are variables.
    """
    root = ElementTree.fromstring(_saved(figure, layout, "svg", title))
    for element in (*root.findall(f"{{{_SVG}}}metadata"), *root.findall(f"{{{_SVG}}}defs")):
        root.remove(element)  # the RDF of the metadata, and rules that would hold for a whole page
    _tooltips(root, figure)
    for element in root.iter():
        if (known := element.get("id")) is not None:
            element.set("id", f"{name}-{known}")
        if (link := element.attrib.pop(_HREF, None)) is not None:
            element.set("href", f"#{name}-{link[1:]}")
        for attribute in ("style", "fill", "stroke"):
            if (text := element.get(attribute)) is not None:
                element.set(attribute, _css(text))
    _, _, width, height = (root.get("viewBox") or "").split()
    root.attrib.clear()
    root.attrib |= {
        "viewBox": f"0 0 {width} {height}",
        "role": "img",
        "stroke-linejoin": "round",
        "aria-labelledby": f"{name}-title {name}-desc",
    }
    for place, tag, text in ((0, "title", figure.title), (1, "desc", figure.description)):
        element = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag}"})
        element.text = text
        root.insert(place, element)
    return root


def _css(text: str) -> str:
    text = re.sub(
        "|".join(THEME), lambda m: f"var(--fig-{THEME[m[0]][0]})", text, flags=re.IGNORECASE
    )
    return text.replace(f"'{FONT}'", BROWSER_FONTS)


def _text_of(root: ElementTree.Element) -> str:
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")


def page_svg(figure: Figure, layout: Layout, suffix: str = "") -> str:
    """Draw a figure as an SVG element of a page that contains `style`."""
    return _text_of(_themed(figure, layout, f"{figure.name}{suffix}", False))


def standalone_svg(figure: Figure, digest: str = "") -> str:
    """Draw a figure as a file that follows the light or dark theme of whoever shows it.

    `digest` is kept in the file: a check can tell from it what the picture was drawn from.
    """
    root = _themed(figure, PAGE, figure.name, True)
    element = ElementTree.Element(f"{{{_SVG}}}style")
    element.text = style("svg")
    root.insert(2, element)
    if digest:
        root.set("data-digest", digest)
    return _text_of(root) + "\n"


def write_all(
    document: Document, folder: Path, kind: str, width_mm: float = COLUMN_MM
) -> list[Path]:
    """Write every figure that has a series as a file in `folder`; return the paths."""
    make_folder(folder)
    written = []
    for figure in document.figures():
        if not figure.series:
            continue
        path = folder / f"{figure.name}.{kind}"
        write_whole(path, draw(figure, kind, width_mm))
        written.append(path)
    return written
