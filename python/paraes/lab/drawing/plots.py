"""Draw the two forms of figures on a sheet: lines, and bars of shares; save them as files.

The same data gives the same files.
"""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraes.lab.document import Document, Figure, Series
from paraes.lab.drawing.axes import axis_span, below, shown_points, ticks, value_text, y_span
from paraes.lab.drawing.sheet import Sheet, legend, spread
from paraes.lab.drawing.style import (
    COLUMN_MM,
    FONT,
    GRID,
    INK,
    LIGHT,
    MUTED,
    PAPER,
    POINTS,
    Layout,
    look,
)
from paraes.lab.files import make_folder, write_whole
from paraes.lab.units import significant


def _lines(figure: Figure, layout: Layout, sheet: Sheet, top: float) -> None:
    font = layout.font
    series = figure.series
    low_x, high_x = axis_span(figure.x, [x for s in series for x in s.x])
    low_y, high_y = y_span(figure)
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

    drawn = {i: shown for i, s in enumerate(series) if (shown := shown_points(figure, s))}
    names = _names_at_ends(figure, layout, sheet, drawn, high_y, up, (top, top + plot))
    if names is not None:
        right = max(right, names.width + 16)

    bottom = top + plot + font * 1.5
    middle = left + (sheet.width - left - right) / 2
    sheet.text(middle, bottom + font * 1.35, figure.x.title, font, MUTED, "center")
    height = bottom + font * 2.0
    if names is None:
        height += font * 1.2
        height += legend(sheet, series, 6 if not layout.at_ends else left, height, False)
    sheet.finish(height)

    wide = sheet.width - left - right
    axes = sheet.canvas.add_axes(
        (left / sheet.width, 1 - (top + plot) / height, wide / sheet.width, plot / height)
    )
    axes.set_xscale(figure.x.scale)
    axes.set_yscale(figure.y.scale)
    axes.set_xticks(x_ticks, x_texts)
    axes.set_yticks(y_ticks, y_texts)
    axes.minorticks_off()
    axes.set_xlim(low_x, high_x)
    axes.set_ylim(low_y, high_y)
    _style(axes, figure, font)
    for i, shown in drawn.items():
        _line(axes, figure, i, shown, (low_y, high_y))
    if names is not None:
        names.write(sheet, axes, left + wide)


def _style(axes: Any, figure: Figure, font: float) -> None:
    """Set the looks of the axes, and draw the level that values are compared with."""
    axes.patch.set_visible(False)
    axes.tick_params(length=0, labelsize=font, labelcolor=MUTED, pad=3)
    axes.grid(True, color=GRID, linewidth=0.7, clip_on=False)
    axes.set_axisbelow(True)
    axes.spines[["left", "bottom"]].set(color=MUTED, linewidth=0.8)
    axes.spines[["right", "top"]].set_visible(False)
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
    line = list(below(figure, xs, ys, top))
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
    series: list[Series]
    labels: list[tuple[int, float, float, float, list[str]]]

    def write(self, sheet: Sheet, axes: Any, edge: float) -> None:
        """Write the names right of the plot, whose edge is at `edge`, and lead the ends to them."""
        for i, x, y, middle, lines in self.labels:
            colour = look(i, self.series[i])["color"]
            at = axes.transData.transform((x, y))  # in pixels, which are points
            start, end = max(float(at[0]) + 4, 0.0), sheet.height - float(at[1])
            xs, ys = [start, edge + 5, edge + 10], [end, end, middle]
            if start < edge - 2:  # the line ends early: lead straight to the name
                xs, ys = [start, edge + 10], [end, middle]
            sheet.line(xs, ys, color=colour, linewidth=0.6)
            first = middle - (len(lines) - 1) * self.font * 0.6 + self.font * 0.35
            for n, text in enumerate(lines):
                sheet.text(edge + 13, first + n * self.font * 1.2, text, self.font, colour)


def _names_at_ends(
    figure: Figure,
    layout: Layout,
    sheet: Sheet,
    drawn: dict[int, list[int]],
    top: float,
    up: Any,
    between: tuple[float, float],
) -> _Names | None:
    """Place the names of all lines beside their ends; None if there is no room."""
    if not layout.at_ends or not drawn or len(drawn) < len(figure.series):
        return None
    font, most = layout.font, sheet.width * 0.34
    ends: list[tuple[int, float, float, list[str]]] = []
    for i, shown in drawn.items():
        s = figure.series[i]
        last = max(shown, key=lambda n, s=s: s.x[n])
        name, y = s.name, s.y[last]
        if y > top:
            name, y = f"↑ {name}: {value_text(figure.y, y)}", top
        lines = sheet.wrap(name, font, most)
        if len(lines) > 3:
            return None
        ends.append((i, s.x[last], y, lines))
    wanted = [(up(y), len(lines) * font * 1.2) for _, _, y, lines in ends]
    places = spread(wanted, between[0] - font, between[1] + font)
    if places is None:
        return None
    width = max(sheet.measure(text, font) for *_, lines in ends for text in lines)
    labels = [(i, x, y, at, lines) for (i, x, y, lines), at in zip(ends, places, strict=True)]
    return _Names(width, font, figure.series, labels)


# Bars of shares


def shares_of(figure: Figure) -> list[dict[int, float]]:
    """Return the shares of each series by the indices of the categories that have it."""
    return [dict(zip(map(int, s.x), s.y, strict=True)) for s in figure.series]


def _stack(figure: Figure, layout: Layout, sheet: Sheet, top: float) -> None:
    font, left, tall = layout.font, 6.0, layout.font * 2
    room, y = sheet.width - 12, top + 4
    shares = shares_of(figure)
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
    sheet.finish(y + legend(sheet, figure.series, left, y, True))


# Output


def _drawn(figure: Figure, layout: Layout, title: bool) -> Sheet:
    sheet = Sheet(layout)
    top = 2.0
    if title:
        size = layout.font * 1.25
        for text in sheet.wrap(figure.title, size, sheet.width - 16, bold=True):
            top += size * 1.3
            sheet.text(4, top, text, size, INK, fontweight="bold")
        top += size * 0.5
    (_stack if figure.form == "stack" else _lines)(figure, layout, sheet, top)
    return sheet


def saved(figure: Figure, layout: Layout, kind: str, title: bool) -> bytes:
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
        sheet = _drawn(figure, layout, title)
        buffer = io.BytesIO()
        sheet.canvas.savefig(
            buffer, format=kind, dpi=300 if kind == "png" else POINTS, metadata=metadata[kind]
        )
    return buffer.getvalue()


def draw(figure: Figure, kind: str, width_mm: float = COLUMN_MM) -> bytes:
    """Draw a figure for a paper, without a title, as svg, png or pdf."""
    return saved(figure, Layout.of_width(width_mm), kind, False)


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
