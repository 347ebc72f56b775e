"""Texts and their places, in points from the upper left corner; names of series in a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paraes.lab.document import Series
from paraes.lab.drawing.style import FONT, INK, LIGHT, PAPER, POINTS, Layout, look


class Sheet:
    """A matplotlib figure on which texts and lines have places in points."""

    def __init__(self, layout: Layout) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
        from matplotlib.font_manager import FontProperties
        from matplotlib.transforms import Affine2D

        self.width, self.font = layout.width * POINTS, layout.font
        self.canvas = Canvas(figsize=(layout.width, 1), dpi=POINTS, facecolor=PAPER)
        self._renderer = FigureCanvasAgg(self.canvas).get_renderer()
        self._family = FontProperties(family=FONT)
        # Points from the upper left corner become inches when the sheet has its height.
        self._flip = Affine2D()
        self._place = self._flip + self.canvas.dpi_scale_trans
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
        how = {"fontsize": font, "color": colour, "ha": at, "va": "baseline"} | more
        self.canvas.text(x, y, text, transform=self._place, **how)

    def line(self, xs: Sequence[float], ys: Sequence[float], **how: Any) -> None:
        """Draw a line."""
        from matplotlib.lines import Line2D

        self.canvas.add_artist(Line2D(xs, ys, transform=self._place, **how))

    def bar(self, x: float, y: float, width: float, height: float, colour: str, gid: str) -> None:
        """Fill a rectangle; (x, y) is its upper left corner."""
        from matplotlib.patches import Rectangle

        how = {"facecolor": colour, "linewidth": 0, "gid": gid}
        patch = Rectangle((x, y), width, height, transform=self._place, **how)
        self.canvas.add_artist(patch)

    def finish(self, height: float) -> None:
        """Give the sheet its height, which decides where everything on it is."""
        self.height = height
        self.canvas.set_size_inches(self.width / POINTS, height / POINTS)
        self._flip.scale(1 / POINTS, -1 / POINTS).translate(0, height / POINTS)


def spread(wanted: list[tuple[float, float]], low: float, high: float) -> list[float] | None:
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


def legend(
    sheet: Sheet, series: Sequence[Series], left: float, top: float, swatches: bool
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
