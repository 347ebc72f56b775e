#!/usr/bin/env python3
"""Writes the manual pages, the completions and the reference of the command line.

    packaging/manual/write.py DESCRIPTION OUTPUT DATE

DESCRIPTION is what paraes_describe writes: what --help prints, as JSON. That of paraes-lab is in
lab.json. The files are in folders of OUTPUT. The pages have the day of SOURCE_DATE_EPOCH, if that
is set, else DATE. It runs while paraes is built, and needs nothing but Python.
"""

import datetime
import json
import os
import pathlib
import re
import sys

import completions
import man_pages
from reference import reference
from texts import joined_lines, parse_text, sentence

HERE = pathlib.Path(__file__).resolve().parent


def read_groups(owner):
    """Takes apart what --help has in one line: "Output (with -o)"."""
    for group in owner["groups"]:
        group["title"], _, note = group.pop("name").partition(" (")
        group["note"] = sentence(note) if note else ""
        for flag in group["flags"]:
            flag["text"] = joined_lines(flag["text"])
    owner["text"] = parse_text(owner.pop("footer"))


def read_executable(executable, version):
    executable["version"] = version
    read_groups(executable)
    for verb in executable["verbs"]:
        read_groups(verb)
        for argument in verb["arguments"]:
            argument["text"] = joined_lines(argument["text"])
    return executable


def read_lab(version):
    lab = json.loads((HERE / "lab.json").read_text(encoding="utf-8"))
    lab["version"] = version
    examples = [(example, "") for example in lab["examples"]]
    lab["text"] = {"paragraphs": [], "examples": examples, "exit_statuses": lab["exit_statuses"]}
    for verb in lab["verbs"]:
        verb["text"] = {"paragraphs": verb["paragraphs"], "examples": [], "exit_statuses": []}
    for owner in (lab, *lab["verbs"]):
        for group in owner["groups"]:
            for flag in group["flags"]:
                flag.update(repeats=False, value_is_optional=False)
    return lab


def day(date):
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return date
    try:
        if re.fullmatch("-?[0-9]+", epoch) is None:  # int() takes " 1_2", too
            raise ValueError
        time = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
        return time.strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        sys.exit("packaging/manual/write.py: SOURCE_DATE_EPOCH is no number of seconds")


def pages(paraes, mpi, lab, date):
    yield man_pages.overview_page(paraes, date)
    for verb in filter(man_pages.has_page, paraes["verbs"]):
        if verb["name"] != "lab":  # its page is that of paraes-lab
            yield man_pages.verb_page(paraes, verb, date)
    yield man_pages.difference_page(mpi, paraes, date)
    yield man_pages.whole_page(lab, date)


def main(description, output, date):
    described = json.loads(pathlib.Path(description).read_text(encoding="utf-8"))
    version, words_of = described["version"], described["words"]
    paraes, mpi = (read_executable(one, version) for one in described["executables"])
    lab = read_lab(version)
    engine = (HERE / "engine.bash").read_text(encoding="utf-8")
    files = {f"man/{name}": text for name, text in pages(paraes, mpi, lab, day(date))}
    for executable, nested in ((paraes, lab), (mpi, None), (lab, None)):
        name = executable["name"]
        files[f"bash/{name}"] = completions.bash(executable, nested, words_of, engine)
        files[f"zsh/_{name}"] = completions.zsh(executable, nested, words_of)
        files[f"fish/{name}.fish"] = completions.fish(executable, nested, words_of)
    files["reference.md"] = reference((paraes, mpi, lab))
    for name, text in files.items():
        path = pathlib.Path(output, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: packaging/manual/write.py DESCRIPTION OUTPUT DATE")
    main(*sys.argv[1:])
