"""Check fields of parsed JSON. WrongField names the field, and says what was expected and found."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

DEPTH = 32  # the deepest that objects and lists may be nested
LONGEST_NAME = 200  # characters of a name: longer ones cannot be shown in figures
LARGEST = (1 << 63) - 1
# Control characters (except tab and line breaks), lone surrogates and non-characters: UTF-8 or XML
# has no form for them, and terminals obey some.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_KINDS = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


class WrongField(Exception):
    """A field has a wrong value. `where` is its path, such as results[3].outliers, or ""."""

    def __init__(self, where: str, text: str) -> None:
        super().__init__(f"{where}: {text}" if where else text)
        self.where = where


class Repeated(dict):
    """An object that JSON text gave the member `name` more than once."""

    def __init__(self, pairs: list[tuple[str, Any]], name: str) -> None:
        super().__init__(pairs)
        self.name = name


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these members; for object_pairs_hook of the json module."""
    whole = dict(pairs)
    if len(whole) == len(pairs):
        return whole
    names = [name for name, _ in pairs]
    return Repeated(pairs, next(name for name in names if names.count(name) > 1))


def printable(text: str) -> str:
    """Return the text in one line, with escapes for characters that cannot be printed."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def shown(value: Any) -> str:
    """Return a value as JSON in one line, cut to 40 characters."""
    text = "null" if value is None else printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 40 else text[:40] + "…"


def at(where: str, name: str | int) -> str:
    """Return the path of a member or an element of the field `where`."""
    if isinstance(name, int):
        return f"{where}[{name}]"
    name = printable(name[:40])
    return f"{where}.{name}" if where else name


def inside(members: dict[str, Any], where: str) -> Callable[[str], tuple[Any, str]]:
    """Return a function that gives a member of the object `where`, None if absent, and its path."""
    return lambda name: (members.get(name), at(where, name))


def check_values(value: Any, where: str = "", depth: int = 0) -> None:
    """Raise WrongField for the first value that cannot be computed with, printed or written.

    These are numbers that are not finite or have 2**64 or more, text that UTF-8 or XML cannot hold,
    members given twice, and values nested more than DEPTH deep.
    """
    if isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise WrongField(where, f"expected a finite number, found {shown(value)}")
    elif isinstance(value, int):
        if abs(value) >= 1 << 64:
            raise WrongField(where, f"expected a number below 2⁶⁴, found {shown(value)}")
    elif isinstance(value, (dict, list)):
        if depth == DEPTH:
            raise WrongField(where, f"is nested more than {DEPTH} deep")
        if isinstance(value, Repeated):
            raise WrongField(where, f"has the member {shown(value.name)} twice")
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for name, member in members:
            if isinstance(name, str):
                _check_text(name, at(where, name))
            check_values(member, at(where, name), depth + 1)


def _check_text(text: str, where: str) -> None:
    found = _UNPRINTABLE.search(text)
    if found is not None:
        raise WrongField(where, f"has a character that cannot be printed, {printable(found[0])}")


def expect(value: Any, where: str, kind: type, nullable: bool = False) -> Any:
    """Return the value, which must be of this kind of _KINDS, or null if `nullable`."""
    if value is None and nullable:
        return None
    # bool is a subclass of int in Python.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise WrongField(where, f"expected {_KINDS[kind]}, found {shown(value)}")
    return value


def name(value: Any, where: str, nullable: bool = False) -> Any:
    """Return text that may stand in a label: one line of at most LONGEST_NAME characters."""
    expect(value, where, str, nullable)
    if value is not None and not value.isprintable():
        raise WrongField(where, f"expected text in one line, found {shown(value)}")
    if value is not None and len(value) > LONGEST_NAME:
        raise WrongField(
            where, f"expected at most {LONGEST_NAME} characters of text, found {len(value)}"
        )
    return value


def whole(
    value: Any, where: str, least: int = 0, most: int = LARGEST, nullable: bool = False
) -> Any:
    """Return a whole number from `least` to `most`, or null if `nullable`."""
    expect(value, where, int, nullable)
    return None if value is None else _within(value, where, "a whole number", least, most)


def number(value: Any, where: str, least: float, most: float, nullable: bool = False) -> Any:
    """Return a number from `least` to `most` as a float, or null if `nullable`."""
    if value is None and nullable:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongField(where, f"expected a number, found {shown(value)}")
    return float(_within(value, where, "a number", least, most))


def _within(value: Any, where: str, kind: str, least: float, most: float) -> Any:
    # A NaN is in no range.
    if value >= least and value <= most:
        return value
    words, limit = ("at most", most) if value > most else ("at least", least)
    text = f"{limit:g}" if isinstance(limit, float) else str(limit)
    raise WrongField(where, f"expected {kind} of {words} {text}, found {shown(value)}")


def items(value: Any, where: str, nullable: bool = False) -> list[tuple[str, Any]]:
    """Return the elements of a list with their paths; none for null if `nullable`."""
    expect(value, where, list, nullable)
    return [(at(where, i), element) for i, element in enumerate(value or [])]


def members(value: Any, where: str, nullable: bool = False) -> dict[str, Any]:
    """Return an object; an empty one for null if `nullable`."""
    return expect(value, where, dict, nullable) or {}
