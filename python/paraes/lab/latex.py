"""Write tables as LaTeX that fits the columns of a two-column paper.

A table is as wide as a column, or as the page if it has more text. What is wider even so is cut:
into several tables with the same columns at the left, and into several with some of the rows. Text
is broken into lines, and an interval stands below its value.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from paraes.lab.document import Document, Table
from paraes.lab.units import superscript

# Characters in a line, at the size of footnotes (8 points): of a column of 252 points, as in IEEE's
# and ACM's formats, and of a page of 516 points.
COLUMN, PAGE = 54.0, 112.0
GAP = 1.6  # between two columns, in characters: twice \tabcolsep
LEAST_TEXT = 12.0  # a text column may become as narrow as this, or as its longest word
SHORT_TEXT = 18.0  # a text column no wider than this is not wrapped, such as that of verdicts
MOST_LINES = 44  # of the rows of one table

_LATEX = {
    "\0": "{}",
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "·": r"$\cdot$",
    "µ": r"$\mu$",
    "∞": r"$\infty$",
    "→": r"$\to$",
    "…": r"\dots{}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "|": r"\textbar{}",
    "<": r"$<$",
    ">": r"$>$",
    "⁻": "$^{-}$",
    **{superscript(digit): f"$^{digit}$" for digit in range(10)},
}


def escape(text: str) -> str:
    """Escape what LaTeX takes for commands."""
    # Two hyphens would be a dash, as in --rivals. LaTeX stops at letters that no loaded font has.
    text = text.replace("--", "-\0-")
    return "".join(_LATEX.get(c, c if ord(c) < 0x180 else "?") for c in text)


@dataclass
class _Column:
    """A column: the lines of its heading, and those of each of its cells."""

    numeric: bool
    heading: list[str]
    cells: list[list[str]]
    width: float  # of its longest line, in characters
    least: float  # to which its text can be wrapped

    @property
    def kind(self) -> str:
        """Its letter in a tabular."""
        return "r" if self.numeric else "l"


def _wrapped(text: str, width: float) -> list[str]:
    """Break a text into lines at its spaces."""
    widest = max(1, int(width))
    lines = textwrap.wrap(text, widest, break_long_words=False, break_on_hyphens=False)
    return lines or [""]


def _columns(table: Table) -> list[_Column]:
    texts = table.texts()
    found = []
    for i, column in enumerate(table.columns):
        if column.numeric:
            cells = [_number_lines(row[i]) for row in texts]
            longest = max((len(line) for cell in cells for line in cell), default=0)
            words = max(map(len, column.heading.split()), default=0)
            width = float(max(longest, words, 4))
            found.append(_Column(True, _wrapped(column.heading, width), cells, width, width))
            continue
        cells = [[row[i]] for row in texts]
        every = [column.heading, *(row[i] for row in texts)]
        width = float(max(map(len, every)))
        words = max((len(word) for text in every for word in text.split()), default=1)
        # 1.1: letters such as m and w are wider than the mean.
        least = width if width <= SHORT_TEXT else min(width, max(LEAST_TEXT, 1.1 * words))
        found.append(_Column(False, [column.heading], cells, width, least))
    return found


def _number_lines(text: str) -> list[str]:
    """Put an interval below its value."""
    value, bracket, interval = text.partition(" [")
    return [value, f"[{interval}"] if bracket and not text.startswith("–") else [text]


def _total(columns: Sequence[_Column], least: bool) -> float:
    return sum((c.least if least else c.width) + GAP for c in columns)


def _parts(columns: list[_Column], keys: int) -> list[list[_Column]]:
    """Cut a table that is too wide for a page into several with the same columns at the left."""
    if _total(columns, True) <= PAGE:
        return [columns]
    fixed = columns[:keys]
    parts: list[list[_Column]] = [[]]
    for column in columns[keys:]:
        if parts[-1] and _total([*fixed, *parts[-1], column], True) > PAGE:
            parts.append([])
        parts[-1].append(column)
    return [[*fixed, *part] for part in parts]


def _stacked(lines: Sequence[str], column: _Column) -> str:
    escaped = [escape(line) for line in lines]
    # A bracket after \\ would be taken for a distance.
    escaped = [f"{{}}{line}" if line.startswith("[") else line for line in escaped]
    if len(lines) == 1:
        return escaped[0]
    return rf"\shortstack[{column.kind}]{{" + r"\\".join(escaped) + "}"


def _chunks(columns: Sequence[_Column], rows: int, wide: float) -> list[range]:
    """Divide the rows into tables that fit on a page."""
    scale = [wide * c.least / max(1.0, _total(columns, True)) for c in columns]
    chunks, first, lines = [], 0, 0
    for n in range(rows):
        tall = max(
            len(c.cells[n]) if c.numeric else len(_wrapped(c.cells[n][0], scale[i]))
            for i, c in enumerate(columns)
        )
        if n > first and lines + tall > MOST_LINES:
            chunks.append(range(first, n))
            first, lines = n, 0
        lines += tall
    return [*chunks, range(first, rows)]


def latex_table(table: Table) -> str:
    """Return the table as one or more table environments (booktabs, tabularx)."""
    columns = _columns(table)
    texts = []
    parts = _parts(columns, table.key_columns())
    for part in parts:
        wide = COLUMN if _total(part, True) <= COLUMN else PAGE
        for chunk in _chunks(part, len(table.rows), wide):
            texts.append(_environment(table, part, chunk, wide, not texts))
    if notes := table.all_notes():
        end = texts[-1].rindex(r"\end{")
        lines = [rf"\par\raggedright\footnotesize {escape(note)}" for note in notes]
        texts[-1] = texts[-1][:end] + "\n".join(lines) + "\n" + texts[-1][end:]
    return "\n".join(texts)


def _environment(
    table: Table,
    columns: Sequence[_Column],
    rows: range,
    wide: float,
    first: bool,
) -> str:
    name = "table" if wide == COLUMN else "table*"
    wraps = _total(columns, False) > wide and any(not c.numeric for c in columns)
    if wraps:
        texts = [c for c in columns if not c.numeric and c.width > SHORT_TEXT]
        texts = texts or [c for c in columns if not c.numeric]
        # A column is as wide as its text asks for, within limits; the mean of all is 1.
        wishes = {id(c): max(c.least, min(c.width, 3 * LEAST_TEXT)) for c in texts}
        mean = sum(wishes.values()) / len(wishes)
        kinds = "".join(
            rf">{{\hsize={wishes[id(c)] / mean:.3f}\hsize\linewidth=\hsize"
            r"\raggedright\arraybackslash}X"
            if id(c) in wishes
            else c.kind
            for c in columns
        )
        begin, end = rf"\begin{{tabularx}}{{\linewidth}}{{{kinds}}}", r"\end{tabularx}"
    else:
        kinds = "".join(c.kind for c in columns)
        begin, end = rf"\begin{{tabular}}{{{kinds}}}", r"\end{tabular}"
    lines = [
        rf"\begin{{{name}}}",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{escape(table.caption)}{'' if first else ' (continued)'}}}",
        *([rf"\label{{tab:{table.name}}}"] if first else []),
        begin,
        r"\toprule",
        " & ".join(_stacked(c.heading, c) for c in columns) + r" \\",
        r"\midrule",
        *[" & ".join(_stacked(c.cells[n], c) for c in columns) + r" \\" for n in rows],
        r"\bottomrule",
        end,
        rf"\end{{{name}}}",
    ]
    return "\n".join(lines) + "\n"


def latex(document: Document) -> str:
    """Return all tables, for inclusion in a document that loads booktabs and tabularx."""
    head = f"% {document.title}: needs \\usepackage{{booktabs,tabularx}}\n"
    head += "% All at once, with no text between them, they also need \\extrafloats{500} and\n"
    head += "% \\maxdeadcycles=1000\n"
    return head + "\n".join(latex_table(table) for table in document.tables() if table.rows)
