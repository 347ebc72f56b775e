"""Render a Document as one HTML page that contains its styles, figures and data."""

from __future__ import annotations

import json

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from paraes.lab import drawing
from paraes.lab.document import (
    AsPrinted,
    Block,
    Bullets,
    Cards,
    Cell,
    Column,
    Document,
    Estimate,
    Facts,
    Figure,
    Missing,
    Paragraph,
    Predicted,
    Section,
    Table,
)

# Tables with more rows are folded, to keep the page short enough to scroll through.
OPEN_ROWS = 30
SUMMARY = "verdicts"  # the section of the first screen, before the contents
VERDICTS = {  # those that have a colour; that of an error is for wrong bytes and regressions
    **dict.fromkeys(("agrees", "faster"), "good"),
    "differs": "other",
    **dict.fromkeys(("slower", "WRONG"), "bad"),
    **dict.fromkeys(("undecided", "predicted"), "open"),
    **dict.fromkeys(("not measured", "not testable here"), "none"),
}


def _plain(cell: Cell) -> object:
    """Return a cell as a JSON value."""
    if isinstance(cell, (Estimate, Predicted)):
        interval = cell.interval
        ends = {"low": interval.low, "high": interval.high} if interval else {}
        name = "predicted" if isinstance(cell, Predicted) else "value"
        return {name: cell.value, **ends}
    if isinstance(cell, Missing):
        return {"missing": cell.reason}
    if isinstance(cell, AsPrinted):
        return f"{cell.text} {cell.unit}"
    return cell


def _lines(values: list) -> str:
    """Return a JSON array with one value per line, for people to read."""
    texts = [json.dumps(value, ensure_ascii=False, allow_nan=False) for value in values]
    return "[\n  " + ",\n  ".join(texts) + "\n ]"


def _table_data(table: Table) -> str:
    headings = [column.full_heading for column in table.columns]
    return _lines([dict(zip(headings, map(_plain, row), strict=True)) for row in table.rows])


def _figure_data(figure: Figure) -> str:
    data = figure.data()
    series = data.pop("series")
    head = json.dumps(data, ensure_ascii=False, allow_nan=False)[:-1]
    return f'{head},\n "series": {_lines(series)}}}'


def _cell(text: str, column: Column) -> Markup:
    """Return a cell's HTML. Intervals get their own line to keep columns narrow."""
    value, bracket, interval = text.partition(" [")
    if not column.numeric or not bracket or value == "–":
        return escape(text)
    return Markup('{}<span class="interval">[{}</span>').format(value, interval)


def _arranged(document: Document) -> tuple[list[Section], list[Section]]:
    """Put the figures before the details: return sections of figures, and of everything else.

    A figure's table stays in its place among the details.
    """
    figures: list[Section] = []
    details: list[Section] = []
    chapter = Section("", "", [])
    for section in document.sections:
        chapter = section if section.level == 1 else chapter
        drawn = [b for b in section.blocks if isinstance(b, Figure) and b.series]
        if drawn:
            # Figures of a paper belong together; those of other sections have its title.
            owner = chapter if chapter.name and section.name.startswith(chapter.name) else section
            if not figures or figures[-1].name != f"{owner.name}-figures":
                title = owner.name if owner is chapter else owner.title
                figures.append(Section(f"{owner.name}-figures", title, []))
            figures[-1].blocks = [*figures[-1].blocks, *drawn]
        rest = [b.table if isinstance(b, Figure) else b for b in section.blocks]
        details.append(Section(section.name, section.title, [b for b in rest if b], section.level))
    return figures, details


def _split(first: Section) -> tuple[list[Block], list[Block]]:
    """Divide the blocks of the first section: up to the cards, and the claims below."""
    end = next(i for i, b in enumerate(first.blocks, 1) if isinstance(b, Cards))
    return list(first.blocks[:end]), list(first.blocks[end:])


def _verdict_class(text: str) -> str:
    """Return the class of a cell or a count; a verdict may have its direction after a colon."""
    return VERDICTS.get(text.partition(":")[0], "")


def _kind(block: object) -> str:
    kinds = {Table: "table", Figure: "figure", Paragraph: "paragraph", Bullets: "bullets"}
    kinds |= {Facts: "facts", Cards: "cards"}
    return next(name for kind, name in kinds.items() if isinstance(block, kind))


def render(document: Document) -> str:
    """Return the page's HTML."""
    environment = Environment(
        loader=PackageLoader("paraes.lab.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        kind=_kind,
        cell=_cell,
        wide=lambda figure: Markup(drawing.page_svg(figure, drawing.PAGE, "-wide")),
        narrow=lambda figure: Markup(drawing.page_svg(figure, drawing.PHONE, "-narrow")),
        small=lambda figure: Markup(drawing.page_svg(figure, drawing.CARD, "-card")),
        table_data=_table_data,
        figure_data=_figure_data,
        open_rows=OPEN_ROWS,
        verdict_class=_verdict_class,
    )
    figures, details = _arranged(document)
    first = details.pop(0) if details and details[0].name == SUMMARY else None
    top, claims = _split(first) if first else ([], [])
    template = environment.get_template("report.html")
    return template.render(
        document=document,
        first=first and Section(first.name, first.title, top),
        claims=claims and Section("claims", "Claims of the papers", claims),
        anchors={section.name for section in (*figures, *details)},
        figures=figures,
        details=details,
        figure_style=Markup(drawing.theme_css(".figure")),
    )
