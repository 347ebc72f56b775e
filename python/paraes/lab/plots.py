"""Draw figures with matplotlib as PNG and SVG files, for papers and slides."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

from paraes.lab.document import Document, Figure
from paraes.lab.files import make_folder, write_whole
from paraes.lab.report.svg import LIGHT
from paraes.lab.units import size_text

MARKERS = "os^Dv+x"  # 7 markers and 12 colours: their pairs repeat after 84 series
DASHES = {"measured": "-", "program": "-.", "paper": "--", "predicted": ":"}


def _plain(text: str) -> str:
    """Return text that matplotlib shows as it is: it takes $ for formulas, and leaves labels that
    begin with _ out of legends."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def plot(figure: Figure, kind: str) -> bytes:
    """Draw the figure as an image; `kind` is png or svg."""
    import matplotlib

    matplotlib.use("Agg")  # draws without a display
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    with matplotlib.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": figure.name, "font.size": 9}
    ):
        canvas, axes = pyplot.subplots(
            figsize=(7.2, 4.2 + 0.08 * len(figure.series)), layout="constrained"
        )
        try:
            if figure.form == "stack":
                _stack(figure, axes)
            else:
                _lines(figure, axes)
                if figure.x.kind == "size":
                    axes.set_xscale("log", base=2)
                    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: size_text(v)))
            axes.set_title(_plain(figure.title), fontsize=10, loc="left")
            count = len(figure.series)
            if count:
                canvas.legend(fontsize=7, ncols=1 if count < 4 else 2, loc="outside lower center")
            buffer = io.BytesIO()
            # Without date and version, the same data gives the same file.
            metadata = {"Date": None} if kind == "svg" else {"Software": None}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                canvas.savefig(buffer, format=kind, dpi=150, metadata=metadata)
        finally:
            pyplot.close(canvas)
    return buffer.getvalue()


def _lines(figure: Figure, axes) -> None:
    axes.set_xscale(figure.x.scale)
    axes.set_yscale(figure.y.scale)
    for i, s in enumerate(figure.series):
        kept = [n for n in range(len(s.x)) if s.y[n] > 0 or figure.y.scale == "linear"]
        xs, ys = [s.x[n] for n in kept], [s.y[n] for n in kept]
        errors = None
        if s.low and s.high:
            errors = [
                [max(0.0, s.y[n] - s.low[n]) for n in kept],
                [max(0.0, s.high[n] - s.y[n]) for n in kept],
            ]
        axes.errorbar(
            xs,
            ys,
            yerr=errors,
            label=_plain(s.name),
            color=LIGHT[i % len(LIGHT)],
            marker=MARKERS[i % len(MARKERS)],
            linestyle=DASHES[s.origin],
            markerfacecolor=None if s.origin in ("measured", "program") else "white",
            markersize=5,
            linewidth=1.4,
            elinewidth=0.9,
        )
    if figure.level is not None:
        axes.axhline(figure.level, color="black", linewidth=0.7, linestyle=(0, (2, 3)))
    axes.set_xlabel(_plain(figure.x.title))
    axes.set_ylabel(_plain(figure.y.title))
    axes.grid(True, linewidth=0.4, alpha=0.6)


def _stack(figure: Figure, axes) -> None:
    lefts = [0.0] * len(figure.categories)
    hatches = ["", "//", "\\\\", "..", "xx", "--", "++", "oo"]
    categories = list(map(_plain, figure.categories))
    for i, s in enumerate(figure.series):
        axes.barh(
            categories,
            s.y,
            left=lefts,
            label=_plain(s.name),
            color=LIGHT[i % len(LIGHT)],
            hatch=hatches[i % len(hatches)],
            edgecolor="white",
            linewidth=0.5,
        )
        lefts = [a + b for a, b in zip(lefts, s.y, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel(_plain(figure.y.title))


def write_all(document: Document, folder: Path, kind: str) -> list[Path]:
    """Write every figure that has a series as a file in `folder`; return the paths."""
    make_folder(folder)
    written = []
    for figure in document.figures():
        if not figure.series:
            continue
        path = folder / f"{figure.name}.{kind}"
        write_whole(path, plot(figure, kind))
        written.append(path)
    return written
