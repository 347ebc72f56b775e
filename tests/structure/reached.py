"""Which files of the project a source includes."""

import importlib.machinery
import importlib.util
import pathlib

TREE = pathlib.Path(__file__).resolve().parents[2]

loader = importlib.machinery.SourceFileLoader("includes", str(TREE / "tests/structure/includes"))
directives = importlib.util.module_from_spec(importlib.util.spec_from_loader("includes", loader))
loader.exec_module(directives)


def includes(path):
    """The files of the project that a file includes."""
    named = filter(None, map(directives.INCLUDE.match, path.read_text().splitlines()))
    found = (directives.resolve(TREE, match[1]) for match in named)
    return {TREE / file for file in found if file}


def reached(path, known):
    """All files that a source includes, through others too."""
    todo, seen = [path], set()
    while todo:
        file = todo.pop()
        if file not in known:
            known[file] = includes(file)
        new = known[file] - seen
        seen |= new
        todo += new
    return seen
