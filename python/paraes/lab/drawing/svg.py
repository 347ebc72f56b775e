"""Figures as SVG for pages: in the colours of the reader's theme, and with tooltips."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from paraes.lab.document import Figure
from paraes.lab.drawing.axes import shown_points, value_text, y_span
from paraes.lab.drawing.plots import saved, shares_of
from paraes.lab.drawing.style import BROWSER_FONTS, FONT, PAGE, THEME, Layout, theme_css
from paraes.lab.units import significant

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
        for i, (s, shares) in enumerate(zip(figure.series, shares_of(figure), strict=True)):
            for n, share in shares.items():
                add(groups.get(f"b{i}-{n}"), f"{s.name}: {significant(share, 3)} %")
        return
    top = y_span(figure)[1]
    for i, s in enumerate(figure.series):
        if (group := groups.get(f"s{i}")) is None:
            continue
        kept = [n for n in shown_points(figure, s) if s.y[n] <= top]
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
    root = ElementTree.fromstring(saved(figure, layout, "svg", title))
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
    """Draw a figure as an SVG element of a page that contains `theme_css`."""
    return _text_of(_themed(figure, layout, f"{figure.name}{suffix}", False))


def standalone_svg(figure: Figure, digest: str = "") -> str:
    """Draw a figure as a file that follows the light or dark theme of whoever shows it.

    `digest` is kept in the file: a check can tell from it what the picture was drawn from.
    """
    root = _themed(figure, PAGE, figure.name, True)
    element = ElementTree.Element(f"{{{_SVG}}}style")
    element.text = theme_css("svg")
    root.insert(2, element)
    if digest:
        root.set("data-digest", digest)
    return _text_of(root) + "\n"
