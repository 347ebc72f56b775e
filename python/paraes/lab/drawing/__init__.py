"""Draw figures in one style with matplotlib: for pages, for papers (SVG, PNG, PDF), for the README.

Lines are named where they end if there is room, else in a legend below. In an SVG, text stays text.
Pages and the README's figure follow the reader's light or dark theme: their colours are CSS
variables, and every point has a tooltip with its value.
"""

from paraes.lab.drawing.plots import draw, write_all
from paraes.lab.drawing.style import CARD, COLUMN_MM, KINDS, MM, PAGE, PHONE, theme_css
from paraes.lab.drawing.svg import page_svg, standalone_svg

__all__ = [
    "CARD",
    "COLUMN_MM",
    "KINDS",
    "MM",
    "PAGE",
    "PHONE",
    "draw",
    "page_svg",
    "standalone_svg",
    "theme_css",
    "write_all",
]
