"""Draw figures as SVG for pages: text stays text, and every point has a tooltip with its value.

matplotlib is not used here, because a page needs figures that follow its light or dark theme, in
two layouts: wide for screens, narrow for phones.
"""

from __future__ import annotations

import math
from html import escape

from paraes.lab.document import Axis, Figure, Series
from paraes.lab.units import significant, size_text, superscript

# After Okabe and Ito, for colour-blind readers; markers and dashes distinguish series as well.
LIGHT = ("#0072b2", "#c2410c", "#00734f", "#a0307a", "#8a6100", "#3d5afe", "#5b5f66", "#b3261e")
LIGHT += ("#5b7f00", "#7a4a2b", "#00808a", "#6a3fb5")
DARK = ("#56b4e9", "#ff8a4c", "#34d399", "#f08cc8", "#f0c040", "#9aa8ff", "#b6bcc6", "#ff8a80")
DARK += ("#b5d334", "#d9a27a", "#3fd6e0", "#c4a1ff")
CORNERS: dict[str, list[tuple[float, float]]] = {
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "triangle": [(0, -1.2), (1.15, 0.9), (-1.15, 0.9)],
    "down": [(0, 1.2), (1.15, -0.9), (-1.15, -0.9)],
    "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
}
MARKERS = ("circle", "square", "triangle", "diamond", "down", "plus")


def style(scope: str = "") -> str:
    """Return the CSS of figures. `scope` is put before every selector."""
    rules = []
    for ink, muted, grid, paper, colours, media in (
        ("#1f2328", "#57606a", "#d8dee4", "#ffffff", LIGHT, ""),
        ("#e6edf3", "#9ba6b2", "#363d46", "#0d1117", DARK, "dark"),
    ):
        lines = [
            f"{scope}.paper{{fill:{paper}}}",
            f"{scope}.t{{fill:{ink};font-family:system-ui,-apple-system,'Segoe UI',sans-serif}}",
            f"{scope}.m{{fill:{muted}}}",
            f"{scope}.grid{{stroke:{grid};stroke-width:1}}",
            f"{scope}.axis{{stroke:{muted};stroke-width:1;fill:none}}",
            f"{scope}.level{{stroke:{ink};stroke-width:1;stroke-dasharray:2 3;fill:none}}",
            f"{scope}.in{{fill:{paper};font-family:system-ui,-apple-system,'Segoe UI',sans-serif}}",
        ]
        for i, colour in enumerate(colours):
            lines.append(f"{scope}.c{i}{{stroke:{colour};fill:{colour}}}")
            lines.append(f"{scope}.h{i}{{stroke:{colour};fill:{paper}}}")
            lines.append(f"{scope}.l{i}{{stroke:{colour};fill:none}}")
        text = "".join(lines)
        rules.append(f"@media (prefers-color-scheme:{media}){{{text}}}" if media else text)
    return "".join(rules)


class _Scale:
    """Maps values to pixels along one axis."""

    def __init__(self, axis: Axis, values: list[float], first: float, last: float) -> None:
        self.axis, self.first, self.last = axis, first, last
        self.log = axis.scale == "log"
        usable = [v for v in values if math.isfinite(v) and (v > 0 or not self.log)]
        low, high = (min(usable), max(usable)) if usable else (1.0, 10.0)
        if self.log:
            if high / low < 1.5:
                low, high = low / 1.5, high * 1.5
            self.low, self.high = low, high
        else:
            low, high = min(low, 0.0), max(high, 0.0)
            if high == low:
                high = low + 1
            self.low, self.high = low, high

    def widen(self) -> None:
        """Add room at both ends, so that no point lies on the frame."""
        if self.log:
            factor = (self.high / self.low) ** 0.04
            self.low, self.high = self.low / factor, self.high * factor
        else:
            step = (self.high - self.low) * 0.05
            self.low -= step if self.low < 0 else 0
            self.high += step

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        if self.log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.first + part * (self.last - self.first)

    def ticks(self, most: int, values: list[float]) -> list[float]:
        """Return round values within the axis, about `most` of them at most."""
        if self.axis.kind == "count":
            found = sorted({v for v in values if self.low <= v <= self.high})
            return found if len(found) <= most else found[:: math.ceil(len(found) / most)]
        if self.axis.kind == "size":
            return self._powers(2, most)
        if self.log:
            span = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for bases in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3)):
                found = [b * 10.0**e for e in span for b in bases]
                found = [v for v in found if self.low <= v <= self.high]
                if len(found) <= most + 1:
                    return found
            return self._powers(10, most)
        raw = (self.high - self.low) / most
        magnitude = 10.0 ** math.floor(math.log10(raw))
        step = next(s * magnitude for s in (1, 2, 2.5, 5, 10) if s * magnitude >= raw)
        first = math.ceil(self.low / step - 1e-9)
        return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _powers(self, base: int, most: int) -> list[float]:
        first = math.ceil(math.log(self.low, base) - 1e-9)
        last = math.floor(math.log(self.high, base) + 1e-9)
        step = max(1, math.ceil((last - first + 1) / most))
        # Starting at a multiple of the step puts 1 KiB, 1 MiB and 10^0 among the labels.
        start = math.ceil(first / step) * step
        found = [float(base) ** e for e in range(start, last + 1, step)]
        return found if len(found) > 1 or step == 1 else [float(base) ** first, float(base) ** last]


def _label(axis: Axis, value: float) -> str:
    if axis.kind == "size":
        return size_text(value)
    if axis.kind == "count":
        return str(int(value))
    if value and axis.scale == "log":
        exponent = round(math.log10(value))
        if (exponent >= 6 or exponent <= -4) and abs(value / 10.0**exponent - 1) < 1e-9:
            return f"10{superscript(exponent)}"
    return significant(value, 3)


def _marker(shape: str, x: float, y: float, css: str, title: str, r: float = 4.0) -> str:
    inner = f"<title>{escape(title)}</title>"
    width = 2.5 if shape == "plus" else 1.5
    css = f'class="{css}" stroke-width="{width}"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" {css}>{inner}</circle>'
    if shape == "plus":
        path = f"M{x - r:.1f} {y:.1f}H{x + r:.1f}M{x:.1f} {y - r:.1f}V{y + r:.1f}"
        return f'<path d="{path}" {css}>{inner}</path>'
    corners = CORNERS[shape]
    points = " ".join(f"{x + dx * r * 0.9:.1f},{y + dy * r * 0.9:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" {css}>{inner}</polygon>'


def _look(index: int, series: Series) -> tuple[str, str, str, str]:
    """Return (marker, its CSS class, the line's CSS class, the line's dashes)."""
    colour = index % len(LIGHT)
    shape = MARKERS[index % len(MARKERS)]
    if series.origin == "paper":
        return shape, f"h{colour}", f"l{colour}", ' stroke-dasharray="7 4"'
    if series.origin == "predicted":
        return shape, f"h{colour}", f"l{colour}", ' stroke-dasharray="1.5 4" stroke-linecap="round"'
    dash = ' stroke-dasharray="10 3"' if series.origin == "program" else ""
    return shape, f"c{colour}", f"l{colour}", dash


def _text(css: str, x: float, y: float, font: float, text: str, anchor: str = "") -> str:
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return (
        f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" font-size="{font}"{anchored}>'
        f"{escape(text)}</text>"
    )


def _text_width(text: str, font: float) -> float:
    return len(text) * font * 0.55


def _wrap(text: str, font: float, width: float) -> list[str]:
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}".strip()
        if line and _text_width(longer, font) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line]


def _legend(
    series: list[Series], left: float, top: float, width: float, font: float
) -> tuple[str, float]:
    """Return (elements, height)."""
    parts, x, y, line = [], left, top, font * 1.6
    for i, s in enumerate(series):
        texts = _wrap(s.name, font, width - 40)
        item = 36 + max(_text_width(t, font) for t in texts) + 16
        if x > left and x + item > left + width:
            x, y = left, y + line
        shape, marker, css, dash = _look(i, s)
        middle = y - font * 0.35
        parts.append(f'<path d="M{x:.1f} {middle:.1f}h28" class="{css}" stroke-width="2"{dash}/>')
        if s.name != "ideal":
            parts.append(_marker(shape, x + 14, middle, marker, s.name))
        for n, text in enumerate(texts):
            parts.append(_text("t", x + 34, y + n * font * 1.25, font, text))
        y += (len(texts) - 1) * font * 1.25
        x += item
    return "".join(parts), y - top + font * 0.4 if series else 0.0


def _lines(figure: Figure, width: int, font: float) -> tuple[str, float]:
    narrow = width < 500
    left, right, top, plot = (46.0 if narrow else 64.0), 14.0, 26.0, (230.0 if narrow else 320.0)
    series = figure.series
    xs = [x for s in series for x in s.x]
    ys = [y for s in series for y in s.y]
    for s in series:
        # The axis also covers the intervals.
        ys += [v for v in (s.low or []) + (s.high or []) if v > 0 or figure.y.scale == "linear"]
    if figure.level is not None:
        ys.append(figure.level)
    h = _Scale(figure.x, xs, left, width - right)
    v = _Scale(figure.y, ys, top + plot, top)
    h.widen()
    v.widen()
    parts = [_text("t m", 4, font, font, figure.y.title)]
    for tick in v.ticks(5 if narrow else 7, ys):
        y = v.at(tick)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}H{width - right}"/>')
        label = _label(figure.y, tick)
        parts.append(_text("t m", left - 6, y + font * 0.35, font, label, "end"))
    ticks = h.ticks(4 if narrow else 8, xs)
    for tick in ticks:
        x = h.at(tick)
        text = _label(figure.x, tick)
        half = _text_width(text, font) / 2
        place = min(max(x, half + 2), width - half - 2)
        parts.append(f'<path class="grid" d="M{x:.1f} {top}V{top + plot}"/>')
        parts.append(_text("t m", place, top + plot + font * 1.5, font, text, "middle"))
    parts.append(f'<path class="axis" d="M{left} {top}V{top + plot}H{width - right}"/>')
    if figure.level is not None and v.low <= figure.level <= v.high:
        y = v.at(figure.level)
        parts.append(f'<path class="level" d="M{left} {y:.1f}H{width - right}"/>')
        small = round(font * 0.9, 1)
        parts.append(_text("t m", width - right - 4, y - 4, small, figure.level_name, "end"))
    for i, s in enumerate(series):
        shape, marker, css, dash = _look(i, s)
        shown = [n for n in range(len(s.x)) if s.y[n] > 0 or not v.log]
        places = {n: (h.at(s.x[n]), v.at(s.y[n])) for n in shown}
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places.values())
        if len(places) > 1:
            parts.append(f'<path class="{css}" stroke-width="2" d="M{path}"{dash}/>')
        for n in shown:
            x, y = places[n]
            title = f"{s.name}: {_label(figure.x, s.x[n])}, {significant(s.y[n])}"
            if s.low and s.high and s.high[n] > s.low[n]:
                low, high = v.at(max(s.low[n], v.low)), v.at(min(s.high[n], v.high))
                whisker = f"M{x:.1f} {low:.1f}V{high:.1f}"
                parts.append(f'<path class="{css}" stroke-width="1.2" d="{whisker}"/>')
                title += f" [{significant(s.low[n])}; {significant(s.high[n])}]"
            if s.name != "ideal":
                parts.append(_marker(shape, x, y, marker, title, 3.5 if narrow else 4.0))
    bottom = top + plot + font * 3.1
    middle = (left + width - right) / 2
    parts.append(_text("t m", middle, bottom, font, figure.x.title, "middle"))
    legend, height = _legend(
        series,
        left if not narrow else 6,
        bottom + font * 2,
        width - 16 - (left if not narrow else 6),
        font,
    )
    return "".join(parts) + legend, bottom + font * 2 + height


def _stack(figure: Figure, width: int, font: float) -> tuple[str, float]:
    left, bar, y = 6.0, 26.0, 6.0
    parts: list[str] = []
    for n, category in enumerate(figure.categories):
        for text in _wrap(category, font, width - 12):
            y += font * 1.25
            parts.append(_text("t", left, y, font, text))
        y += 6
        total = sum(s.y[n] for s in figure.series) or 1.0
        x = left
        for i, s in enumerate(figure.series):
            wide = (width - 12) * s.y[n] / total
            title = f"{s.name}: {significant(s.y[n], 3)} %"
            if wide > 0:
                parts.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(wide - 1.5, 0.5):.1f}" '
                    f'height="{bar}" class="c{i % 8}" stroke-width="0">'
                    f"<title>{escape(title)}</title></rect>"
                )
            short = f"{s.name} {significant(s.y[n], 2)} %"
            for text in (short, f"{significant(s.y[n], 2)} %"):
                if _text_width(text, font) + 8 < wide:
                    parts.append(_text("in", x + 5, y + bar / 2 + font * 0.35, font, text))
                    break
            x += wide
        y += bar + 8
    x, y = left, y + font * 1.2
    for i, s in enumerate(figure.series):
        item = 20 + _text_width(s.name, font) + 18
        if x > left and x + item > width:
            x, y = left, y + font * 1.6
        parts.append(
            f'<rect x="{x:.1f}" y="{y - font * 0.85:.1f}" width="{font:.1f}" '
            f'height="{font:.1f}" class="c{i % 8}" stroke-width="0"/>'
        )
        parts.append(_text("t", x + 19, y, font, s.name))
        x += item
    return "".join(parts), y + font


def draw(figure: Figure, width: int = 760, standalone: bool = False, suffix: str = "") -> str:
    """Draw the figure as an SVG element of `width` units.

    A standalone figure is a complete file with style, title and background.
    """
    font = 12.5 if width < 500 else 13.5
    make = _stack if figure.form == "stack" else _lines
    body, height = make(figure, width - 20 if standalone else width, font)
    name = f"{figure.name}{suffix}"
    head = ""
    shift = 0.0
    if standalone:
        shift = 40.0
        head = (
            f"<style>{style()}</style>"
            f'<rect class="paper" width="{width}" height="{height + shift + 8:.0f}" rx="6"/>'
            f'<text class="t" x="14" y="27" font-size="16" font-weight="600">'
            f"{escape(figure.title)}</text>"
        )
        body = f'<g transform="translate(10 {shift})">{body}</g>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + shift + 8:.0f}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(figure.title)}</title>'
        f'<desc id="{name}-desc">{escape(figure.description)}</desc>{head}{body}</svg>'
    )
