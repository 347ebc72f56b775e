"""The style of figures: colours in both themes, markers, and the sizes of layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraes.lab.document import Series

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
CARD = Layout(3.7, 1.2, 8.5, 4, 4, False)  # beside others on a wide page, alone on a narrow one
COLUMN_MM = 88.0  # a column of the two-column formats of IEEE and ACM


def look(index: int, series: Series) -> dict[str, Any]:
    """Return how matplotlib draws a series: no two of 72 have the same colour and marker.

    Lines of one subject share their colour, not their marker.
    """
    colour = LIGHT[(index if series.colour is None else series.colour) % len(LIGHT)]
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


def theme_css(scope: str) -> str:
    """Return CSS with the colours of figures as variables of `scope`, for both themes."""
    light = "".join(f"--fig-{name}:{colour};" for colour, (name, _) in THEME.items())
    dark = "".join(f"--fig-{name}:{colour};" for name, colour in THEME.values())
    return f"{scope}{{{light}}}@media (prefers-color-scheme:dark){{{scope}{{{dark}}}}}"
