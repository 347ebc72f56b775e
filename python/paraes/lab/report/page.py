"""Render a Document as one HTML page that contains its styles, figures and data."""

from __future__ import annotations

import json

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from paraes.lab.document import (
    Bullets,
    Cell,
    Column,
    Document,
    Estimate,
    Figure,
    Missing,
    Paragraph,
    Predicted,
    Table,
)
from paraes.lab.report import svg

# Tables with more rows are folded, to keep the page short enough to scroll through.
OPEN_ROWS = 30
VERDICTS = {
    "agrees": "good",
    "faster": "good",
    "the same": "",
    "yes": "",
    "differs": "bad",
    "slower": "bad",
    "WRONG": "bad",
    "undecided": "open",
    "not measured": "open",
    "not testable here": "open",
    "predicted": "open",
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
    return cell


def _lines(values: list) -> str:
    """Return a JSON array with one value per line, for people to read."""
    texts = [json.dumps(value, ensure_ascii=False, allow_nan=False) for value in values]
    return "[\n  " + ",\n  ".join(texts) + "\n ]"


def _table_data(table: Table) -> str:
    headings = [column.heading for column in table.columns]
    return _lines([dict(zip(headings, map(_plain, row), strict=True)) for row in table.rows])


def _figure_data(figure: Figure) -> str:
    data = figure.data()
    series = data.pop("series")
    head = json.dumps(data, ensure_ascii=False, allow_nan=False)[:-1]
    table = f',\n "table": {_table_data(figure.table)}' if figure.table else ""
    return f'{head},\n "series": {_lines(series)}{table}}}'


def _cell(text: str, column: Column) -> Markup:
    """Return a cell's HTML. Intervals get their own line to keep columns narrow."""
    value, bracket, interval = text.partition(" [")
    if not column.numeric or not bracket or value == "–":
        return escape(text)
    return Markup('{}<span class="interval">[{}</span>').format(value, interval)


def _kind(block: object) -> str:
    return {Table: "table", Figure: "figure", Paragraph: "paragraph", Bullets: "bullets"}[
        type(block)
    ]


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
        draw=lambda figure, width, suffix: Markup(svg.draw(figure, width, suffix=suffix)),
        table_data=_table_data,
        figure_data=_figure_data,
        open_rows=OPEN_ROWS,
        verdict_class=lambda text: VERDICTS.get(text, ""),
    )
    template = environment.get_template("report.html")
    return template.render(document=document, figure_style=Markup(svg.style(".figure ")))
