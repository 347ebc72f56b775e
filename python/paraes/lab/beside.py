"""Join the sections of several machines: each machine has columns of its own in every table."""

from __future__ import annotations

from dataclasses import replace

from paraes.lab.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Figure,
    Missing,
    Paragraph,
    Section,
    Series,
    Table,
    format_cell,
)


def beside(sections: dict[str, list[Section]]) -> list[Section]:
    """Join the sections of several machines: each machine has columns of its own in every table.

    Rows with equal keys share a line. Figures of one title become one, whose lines name the
    machine. Other blocks that differ between the machines name theirs.
    """
    joined: list[Section] = []
    used: dict[str, int] = {}
    for name in dict.fromkeys(s.name for own in sections.values() for s in own):
        present = {
            machine: section
            for machine, own in sections.items()
            for section in own
            if section.name == name
        }
        first = next(iter(present.values()))
        # A table belongs to the tables of its name, a figure to the figures of its title.
        groups: dict[tuple[str, str], dict[str, Block]] = {}
        for machine, section in present.items():
            for block in section.blocks:
                key = ("", "")
                if isinstance(block, Table):
                    key = ("table", block.name)
                elif isinstance(block, Figure):
                    key = ("figure", block.title)
                else:
                    alike = all(block in other.blocks for other in present.values())
                    key = ("text", str(block) if alike else f"{machine} {block}")
                    block = block if alike else _of(machine, block)
                groups.setdefault(key, {})[machine] = block
        blocks = [_beside(group) for group in groups.values()]
        for block in blocks:
            _rename(block, used)
        joined.append(Section(first.name, first.title, blocks, first.level))
    return joined


def _of(machine: str, block: Block) -> Block:
    """Return a text that says whose it is."""
    if isinstance(block, Bullets):
        return Bullets([f"{machine}: {item}" for item in block.items])
    assert isinstance(block, Paragraph)
    return Paragraph(f"{machine}: {block.text}")


def _beside(group: dict[str, Block]) -> Block:
    """Join the blocks of one group, which are of one kind."""
    tables = {machine: b for machine, b in group.items() if isinstance(b, Table)}
    figures = {machine: b for machine, b in group.items() if isinstance(b, Figure)}
    if tables:
        return _beside_tables(tables)
    return _beside_figures(figures) if figures else next(iter(group.values()))


def _rename(block: Block, used: dict[str, int]) -> None:
    """Give figures and tables names of their own: figures of other jobs had equal numbers."""
    if isinstance(block, (Table, Figure)):
        used[block.name] = used.get(block.name, 0) + 1
        if used[block.name] > 1:
            block.name += f"-{used[block.name]}"
    if isinstance(block, Figure) and block.table is not None:
        block.table.name = block.name


def _beside_tables(tables: dict[str, Table]) -> Table:
    first = next(iter(tables.values()))
    keys = first.key_columns()
    starts: dict[tuple[str, ...], list[Cell]] = {}
    found: dict[tuple[str, ...], dict[str, list[Cell]]] = {}
    for machine, table in tables.items():
        seen: dict[tuple[str, ...], int] = {}
        for row in table.rows:
            cells = zip(row[:keys], first.columns[:keys], strict=True)
            texts = tuple(format_cell(cell, column.kind) for cell, column in cells)
            seen[texts] = seen.get(texts, 0) + 1
            key = (*texts, str(seen[texts]))  # no row replaces another
            starts.setdefault(key, list(row[:keys]))
            found.setdefault(key, {})[machine] = list(row[keys:])
    shared = _shared_columns(tables, keys, found)
    columns = [*first.columns[:keys], *[first.columns[keys + i] for i in shared]]
    for machine, table in tables.items():
        own = [c for i, c in enumerate(table.columns[keys:]) if i not in shared]
        columns += [Column(f"{machine}: {c.title}", c.kind, c.unit) for c in own]
    body: list[list[Cell]] = []
    for key, start in starts.items():
        of = found[key]
        line = [*start, *[next(iter(of.values()))[i] for i in shared]]
        for machine, table in tables.items():
            width = len(table.columns) - keys
            cells = of.get(machine, [Missing("not measured on this machine")] * width)
            line += [cell for i, cell in enumerate(cells) if i not in shared]
        body.append(line)
    notes: dict[str, None] = {}
    for machine, table in tables.items():
        for note in table.notes:
            alike = all(note in other.notes for other in tables.values())
            notes.setdefault(note if alike else f"{machine}: {note}")
    captions = dict.fromkeys(table.caption for table in tables.values())
    caption = first.caption if len(captions) == 1 else "; ".join(captions)
    return Table(first.name, caption, columns, body, list(notes), keys + len(shared))


def _shared_columns(
    tables: dict[str, Table], keys: int, found: dict[tuple[str, ...], dict[str, list[Cell]]]
) -> list[int]:
    """Return the value columns that are the same for all machines, such as a paper's numbers."""
    first, *others = tables.values()
    shared = []
    for i, column in enumerate(first.columns[keys:]):
        alike = all(
            keys + i < len(table.columns) and table.columns[keys + i] == column for table in others
        )
        if alike and all(
            cells[i] == next(iter(of.values()))[i] for of in found.values() for cells in of.values()
        ):
            shared.append(i)
    return shared if any(len(of) > 1 for of in found.values()) else []


def _beside_figures(figures: dict[str, Figure]) -> Figure:
    first = next(iter(figures.values()))
    series: list[Series] = []
    categories: list[str] = []
    for machine, figure in figures.items():
        if figure.form == "stack":
            offset = len(categories)
            categories += [f"{name}, {machine}" for name in figure.categories]
            for s in figure.series:
                known = next((other for other in series if other.name == s.name), None)
                if known is None:
                    known = Series(s.name, [], [], origin=s.origin)
                    series.append(known)
                known.x += [x + offset for x in s.x]
                known.y += s.y
            continue
        for s in figure.series:
            shared = s.origin in ("paper",) or s.name == "ideal"
            if shared and any(other.name == s.name for other in series):
                continue
            series.append(s if shared else replace(s, name=f"{s.name}, {machine}"))
    tables = {machine: figure.table for machine, figure in figures.items() if figure.table}
    table = _beside_tables(tables) if tables else None
    return replace(first, series=series, categories=categories, table=table)
