"""What the checks of this folder share: where the sources are, and how to say what is wrong."""

import pathlib
import sys

SUFFIXES = {".hpp", ".cpp", ".h", ".inc"}


def root():
    """The tree that the command line names, or the one that holds this script."""
    named = sys.argv[1:] or [pathlib.Path(__file__).parents[2]]
    return pathlib.Path(named[0]).resolve()


def sources(top, *folders):
    return [file for folder in folders for file in sorted((top / folder).rglob("*"))
            if file.suffix in SUFFIXES]


def report(found, count, what="files"):
    """Prints what was found to be wrong; returns the exit status."""
    for text in found:
        print(text)
    print(f"{count} {what}, {len(found)} wrong")
    return 1 if found or not count else 0
