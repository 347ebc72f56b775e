"""Save figures as files, which are the same for the same data."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

from paraes.lab.document import Document, Figure
from paraes.lab.drawing.plots import draw_on_sheet
from paraes.lab.drawing.style import COLUMN_MM, FONT, POINTS, Layout
from paraes.lab.files import make_folder, write_whole


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
        sheet = draw_on_sheet(figure, layout, title)
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
