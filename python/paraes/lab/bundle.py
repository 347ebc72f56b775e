"""Put everything that an artifact evaluation asks for into one ZIP file.

It has the measurements, the commands that made them, the machine and the versions, the report with
its tables and figures, the papers as BibTeX, and a checksum of every file.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import platform
import shlex
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from paraes.lab import drawing, export, latex
from paraes.lab.calls import KIND_FILE
from paraes.lab.document import Document
from paraes.lab.errors import LabError
from paraes.lab.files import dumps, write_whole
from paraes.lab.papers.data import NAMES, load_paper

PACKAGES = ("numpy", "matplotlib", "jinja2", "rich")  # that the laboratory computes and draws with
MOMENT = (1980, 1, 1, 0, 0, 0)  # of every entry: the same files give the same archive


def version_text() -> str:
    """Return the version of the laboratory and of everything that computes its numbers."""

    def version(package: str, otherwise: str) -> str:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return otherwise

    own = version("paraes", "from a source tree")
    lines = [f"paraes-lab {own}", f"Python {platform.python_version()}"]
    lines += [f"{name} {version(name, 'is missing')}" for name in PACKAGES]
    return "\n".join(lines) + "\n"


def results_in(folder: Path) -> list[Path]:
    """Return the results in the folder of a reproduction, or those of `measure`."""
    whole = folder / "results.json"
    found = (
        [whole]
        if whole.is_file()
        else [path for path in sorted(folder.glob("*.json")) if path.name != KIND_FILE]
    )
    if not found:
        raise LabError(
            f"{folder}: has no bench JSON; name the folder that reproduce or measure wrote"
        )
    return found


def _runs(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the reports in bench JSON: itself, or those of a file of several."""
    if "results" in value:
        return [value]
    return [run for part in value["runs"] for run in _runs(part)]


def _of_labs(values: Iterable[dict[str, Any]], name: str) -> list[Any]:
    """Return the papers or the parts of all reproductions."""
    return [found for value in values for found in (value.get("lab") or {}).get(name, [])]


def bibtex(papers: Iterable[str]) -> str:
    """Return the papers' entries."""
    entries = []
    for name in papers:
        fields = dict(load_paper(name).raw["bibtex"])
        kind = fields.pop("entry")
        lines = [f"  {key} = {{{text}}}," for key, text in fields.items()]
        entries.append("\n".join([f"@{kind}{{{name},", *lines, "}"]))
    return "\n\n".join(entries) + "\n"


def _reproduce_command(lab: dict[str, Any]) -> list[str]:
    """Return the command of a reproduction."""
    setting, papers = lab["setting"], lab["papers"]
    words = ["paraes-lab", "reproduce", "all" if len(papers) > 1 else papers[0], "-o", "again"]
    words += ["--quick"] if setting.get("quick") else []
    for flag, key in (
        ("--processes", "processes"),
        ("--samples", "samples"),
        ("--max-size", "max_size"),
        ("--min-time", "min_time"),
    ):
        words += [flag, str(setting[key])] if setting.get(key) else []
    if ranks := setting.get("ranks"):
        words += ["--ranks", ",".join(map(str, ranks))]
    return words


def commands(values: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    """Return the commands that made the results, as a shell script; `names` are those of files."""
    text = ["#!/bin/sh", "set -e"]
    text += [shlex.join(_reproduce_command(v["lab"])) for v in values if v.get("lab") is not None]
    measured = [(v, name) for v, name in zip(values, names, strict=True) if "axes" in v]
    if measured:
        first = measured[0][0]
        words = ["paraes-lab", "measure", *[f"{name}=./{name}" for _, name in measured]]
        words += ["-o", "again", "--processes", str(len(_runs(first))), "--", *first["axes"]]
        text += ["# Here ./NAME stands for a paraes program.", shlex.join(words)]
    made = [part["command"] for part in _of_labs(values, "parts") if part.get("command")]
    lines = {shlex.join(map(str, command)) for command in made}
    if lines:
        text += ["", "# These were run, each in the processes that parts/ has:"]
        text += [f"#   {line}" for line in sorted(lines)]
    return "\n".join(text) + "\n"


def _contexts(values: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the distinct machines and programs, without what changes from process to process."""
    contexts: dict[str, dict[str, Any]] = {}
    for value in values:
        for run in _runs(value):
            context = {k: v for k, v in run["context"].items() if k not in ("time", "clock_hz")}
            contexts.setdefault(json.dumps(context, sort_keys=True), context)
    return list(contexts.values())


def _read_me(title: str, files: Iterable[str], contexts: list[dict[str, Any]]) -> str:
    there = set(files)
    built = {
        f"commit {c.get('git') or 'unknown'}{' with changes' if c.get('dirty') else ''}, "
        f"{c.get('compiler') or 'unknown compiler'} {c.get('flags') or ''}".rstrip()
        for c in contexts
    }
    what = {
        "results/": "the measurements: JSON with every sample, the machine and the axes",
        "parts/": "the JSON of each process of the bench",
        "commands.sh": "the commands that measured",
        "machine.json": "the machine and the program, as the bench found them",
        "versions.txt": "the versions of the laboratory and its packages",
        "report.html": "all tables and figures, beginning with what was found",
        "report.md": "the same as text",
        "tables/": "each table as CSV",
        "tables.tex": "all tables as LaTeX",
        "figures/": "each figure as PDF",
        "papers.bib": "the papers whose claims are tested",
    }
    lines = [
        f"| `{name}` | {text} |"
        for name, text in what.items()
        if any(path.startswith(name) for path in there)
    ]
    results = " ".join(sorted(path for path in there if path.startswith("results/")))
    return "\n".join(
        [
            f"# {title}",
            "",
            "paraes measured this: AES on CPUs and GPUs, every output compared with an independent "
            "computation.",
            "",
            "| file | what it is |",
            "|---|---|",
            *lines,
            "| `SHA256SUMS` | the checksum of every other file |",
            "",
            f"The program was built from {'; '.join(sorted(built))}.",
            "",
            "Check that nothing was changed:",
            "",
            "```sh",
            "sha256sum -c SHA256SUMS",
            "```",
            "",
            "To make the report again, on any machine with Python, and to measure again, install "
            "paraes from its source tree at that commit:",
            "",
            "```sh",
            "./quickstart --with lab    # or, for reports alone: pip install '.[lab]'",
            f"paraes-lab report {results} -o again.html",
            "sh commands.sh",
            "```",
            "",
        ]
    )


def write(
    folder: Path, paths: list[Path], document: Document, values: list[dict[str, Any]], output: Path
) -> None:
    """Write the bundle of a folder whose results, at `paths`, are `values`."""
    from paraes.lab.report import render

    papers = [name for name in NAMES if name in _of_labs(values, "papers")]
    contexts = _contexts(values)
    sources = {f"results/{path.name}": path for path in paths}
    # Other parts in the folder are those of other programs or settings.
    names = {str(part["file"]) for part in _of_labs(values, "parts") if part.get("file")}
    parts = {f"parts/{name}": folder / "parts" / name for name in sorted(names)}
    sources |= {name: path for name, path in parts.items() if path.is_file()}
    files: dict[str, bytes | str] = {}
    for name, path in sources.items():
        try:
            files[name] = path.read_bytes()
        except OSError as error:
            raise LabError(f"{path}: cannot be read: {error.strerror}") from error
    files |= {
        "commands.sh": commands(values, [path.stem for path in paths]),
        "machine.json": dumps(contexts),
        "versions.txt": version_text(),
        "report.html": render(document),
        "report.md": export.markdown(document),
        "tables.tex": latex.latex(document),
    }
    for table in document.tables():
        files[f"tables/{table.name}.csv"] = export.csv_table(table)
    for figure in document.figures():
        if figure.series:
            files[f"figures/{figure.name}.pdf"] = drawing.draw(figure, "pdf")
    if papers:
        files["papers.bib"] = bibtex(papers)
    files["README.md"] = _read_me(document.title, files, contexts)
    whole = {
        name: text.encode("utf-8") if isinstance(text, str) else text
        for name, text in files.items()
    }
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in whole.items()]
    whole["SHA256SUMS"] = "".join(sums).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(whole):
            entry = zipfile.ZipInfo(f"{output.stem}/{name}", MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if name.endswith(".sh") else 0o644
            entry.external_attr = mode << 16
            archive.writestr(entry, whole[name])
    write_whole(output, buffer.getvalue())
