"""Functions shared by the scripts in this folder."""

import argparse
import json
import pathlib
import subprocess

UNITS = ("B", "KiB", "MiB", "GiB")


class Failed(Exception):
    """Something could not be measured; the message says what."""


def run(program, *arguments):
    """Run a program and return the JSON object that it prints."""
    command = [program, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              check=False)
    except OSError as error:
        raise Failed(f"{program}: {error.strerror}") from error
    lines = done.stderr.strip().splitlines()
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}\n" + "\n".join(lines[-5:]))
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise Failed(f"{' '.join(command)}: printed no JSON: {error}") from error


def write_json(path, report):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")


def markdown_table(head, rows):
    """Return a table of texts."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def insert(path, begin, end, text):
    """Replace what is between two markers in a document; raise Failed if it does not have them."""
    document = pathlib.Path(path)
    old = document.read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1 or old.index(begin) > old.index(end):
        raise Failed(f"{document}: it has no place for the table: the markers '{begin}', then '{end}'")
    new = f"{old[:old.index(begin)]}{begin}\n\n{text}\n{old[old.index(end):]}"
    document.write_text(new, encoding="utf-8")


def size_text(size):
    for unit in UNITS[:-1]:
        if size % 1024 != 0:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} {UNITS[-1]}"


def parse_sizes(text):
    """Return the bytes of each size in a comma list of numbers with B, KiB, MiB or GiB."""
    sizes = []
    for word in text.split(","):
        unit = next((unit for unit in reversed(UNITS) if word.endswith(unit)), "")
        digits = word.removesuffix(unit)
        if not digits.isascii() or not digits.isdigit() or int(digits) == 0:
            raise argparse.ArgumentTypeError(f"'{word}' is not a size, such as 64KiB")
        sizes.append(int(digits) * 1024 ** UNITS.index(unit or "B"))
    return sizes


def parse_size(text):
    if "," in text:
        raise argparse.ArgumentTypeError(f"'{text}' is not one size")
    return parse_sizes(text)[0]


def parse_count(text):
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 on")
    return int(text)
