"""`paraes-lab`: the command line."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paraes.lab import (
    analysis,
    bench,
    bundle,
    cluster,
    compare,
    drawing,
    export,
    latex,
    reproduce,
    throughput,
    turns,
)
from paraes.lab.calls import NAME as CALLS
from paraes.lab.discovery import find_program, look_at
from paraes.lab.document import Document, Table
from paraes.lab.errors import FAILED, UNFINISHED, USAGE, LabError
from paraes.lab.execution import Terminated, terminated_raises
from paraes.lab.files import dumps, write_whole
from paraes.lab.measure import Measured
from paraes.lab.options import parser
from paraes.lab.papers.setting import PROCESSES, Setting
from paraes.lab.units import duration_text, plural

INTERRUPTED, TERMINATED = 130, 143
REPORT_SECONDS = 15  # of --limit, to write the report and to end
OUTPUTS = ("output", "markdown", "latex", "csv", *drawing.KINDS)


def _print_tables(tables: list[Table]) -> None:
    """Print tables, as Markdown if standard output is not a terminal."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        for table in tables:
            print(export.markdown_table(table))
        return
    from rich import box
    from rich.markup import escape
    from rich.table import Table as RichTable

    for table in tables:
        shown = RichTable(title=escape(table.caption), title_justify="left", box=box.SIMPLE_HEAD)
        for column in table.columns:
            shown.add_column(escape(column.heading), justify="right" if column.numeric else "left")
        for row in table.texts():
            shown.add_row(*map(escape, row))
        console.print(shown)
        for i, reason in enumerate(table.footnotes(), 1):
            console.print(escape(f"[{i}] {reason}"))
        for note in table.notes:
            console.print(escape(note))


@contextmanager
def _progress():
    """Show progress on standard error: a bar on a terminal, else one line per run of the bench.

    Yields the functions that report progress and print a warning.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:

        def line(title: str, done: float, total: float) -> None:
            print(f"{100 * done / (total or 1):3.0f} %  {title}", file=sys.stderr, flush=True)

        yield line, lambda text: _say(f"warning: {text}")
        return
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("inspecting this machine", total=None)

        def move(title: str, done: float, total: float) -> None:
            bar.update(task, description=title, completed=done, total=total)

        yield move, lambda text: bar.console.print(f"paraes-lab: warning: {text}", markup=False)


def _check_outputs(arguments: argparse.Namespace) -> None:
    """Check that all outputs can be written, before anything is measured or written."""
    folders = ["csv", *drawing.KINDS]
    folders += ["output"] if arguments.verb in ("reproduce", "measure") else []
    inputs = [*getattr(arguments, "results", []), *filter(None, map(vars(arguments).get, "ab"))]
    if arguments.verb == "bundle":
        inputs += arguments.folder.glob("*.json")
    for name in OUTPUTS:
        path: Path | None = getattr(arguments, name, None)
        if path is None:
            continue
        if name not in folders:
            if path.is_dir():
                raise LabError(f"{path}: is a folder; name a file")
            if path.exists() and any(p.exists() and p.samefile(path) for p in inputs):
                raise LabError(f"{path}: is an input, which would be lost; name another file")
            if not path.parent.is_dir():
                raise LabError(f"{path}: there is no folder {path.parent}; make it first")
        nearest = path if name in folders else path.parent
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        if not nearest.is_dir():
            raise LabError(f"{path}: {nearest} is not a folder; choose another place")
        if not os.access(nearest, os.W_OK):
            raise LabError(f"{path}: no permission to write to {nearest}; choose another place")


def _write_page(path: Path, document: Document) -> None:
    from paraes.lab.report import render

    write_whole(path, render(document))


def _export(document: Document, arguments: argparse.Namespace) -> None:
    if arguments.markdown:
        write_whole(arguments.markdown, export.markdown(document))
    if arguments.latex:
        write_whole(arguments.latex, latex.latex(document))
    if arguments.csv:
        export.write_csv(document, arguments.csv)
    for kind in drawing.KINDS:
        if (folder := getattr(arguments, kind)) is not None:
            drawing.write_all(document, folder, kind, arguments.width)


def _say(text: str) -> None:
    print(f"paraes-lab: {text}", file=sys.stderr, flush=True)


def _setting(arguments: argparse.Namespace, cores: int) -> Setting:
    return Setting(
        cores,
        quick=arguments.quick,
        max_size=arguments.max_size,
        samples=arguments.samples,
        min_time=arguments.min_time,
        processes=arguments.processes or (1 if arguments.quick else PROCESSES),
        ranks=arguments.ranks,
    )


@terminated_raises()
def _reproduce(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    papers = reproduce.papers_of(arguments.paper)
    program = find_program(arguments.paraes)
    machine = look_at(
        program,
        arguments.device,
        arguments.mpirun,
        arguments.paraes_mpi,
        arguments.dir,
        arguments.machine,
    )
    setting = _setting(arguments, machine.cores)
    if arguments.limit is not None and arguments.limit <= REPORT_SECONDS:
        raise LabError(
            f"--limit {duration_text(arguments.limit)} is too short: the report alone takes about "
            f"{duration_text(REPORT_SECONDS)}"
        )
    paces = reproduce.paces_of(papers, setting, machine, arguments.output, _say)
    left = reproduce.left(papers, setting, machine, arguments.output, paces)
    if left.processes:
        _say(f"{left.text}; then the report")
    prepared = time.monotonic() - began
    end = None if arguments.limit is None else began + arguments.limit - REPORT_SECONDS
    with _progress() as (progress, warn):
        whole, done = reproduce.measure_what_fits(
            papers,
            setting,
            machine,
            arguments.output,
            progress=progress,
            warn=warn,
            paces=paces,
            end=end,
        )
    # A measurement that has only begun has nothing to report.
    begun = whole["results"] or not done.left.processes
    wrong = _report_reproduction(whole, papers, arguments) if begun else 0
    unfinished = _unfinished(done, arguments.limit, prepared)
    return unfinished if done.interruption is not None else wrong or unfinished


def _set_aside(results: Path, whole: dict) -> None:
    """Keep earlier results of the folder that the new ones do not contain, under another name."""

    def parts(value: Any) -> set[str]:
        lab = value.get("lab") if isinstance(value, dict) else None
        listed = lab.get("parts") if isinstance(lab, dict) else None
        return {part["file"] for part in listed or () if part.get("file")}

    try:
        old = json.loads(results.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if parts(old) <= parts(whole):
        return
    when = time.strftime("%Y%m%dT%H%M%S", time.localtime(results.stat().st_mtime))
    aside = results.with_name(f"results-{when}.json")
    os.replace(results, aside)
    _say(f"{results} had other measurements, which are now in {aside}: paraes-lab report reads it")


def _report_reproduction(whole: dict, papers: list[str], arguments: argparse.Namespace) -> int:
    """Write and print what was measured; return the exit status."""
    results = arguments.output / "results.json"
    _set_aside(results, whole)
    document = _document([whole], [str(results)], None)
    write_whole(results, dumps(whole))
    _write_page(arguments.output / "report.html", document)
    _export(document, arguments)
    own = [s for s in document.sections if s.name.startswith((*papers, CALLS))]
    own.append(document.sections[0])  # the verdicts come last, where a terminal shows them
    _print_tables(Document("", "", own).tables())
    _say(f"{results} and {arguments.output / 'report.html'} written")
    return _wrong_rows([whole])


def _unfinished(done: Measured, limit: float | None, prepared: float) -> int:
    """Say why a measurement is incomplete and how to continue; return the exit status, or 0.

    `prepared` are the seconds before the first process.
    """
    if done.interruption is not None:
        again = "run the same command again to resume"
        text = "terminated" if done.interruption == signal.SIGTERM else "interrupted"
        left = f"; {done.left.sentence}" if done.left.processes else ""
        _say(f"{text}{left}; {again}")
        return 128 + done.interruption
    if not done.left.processes:
        return 0
    if not done.started and limit is not None:
        needed = duration_text(math.ceil(done.left.shortest + REPORT_SECONDS + prepared + 1))
        raise LabError(
            f"--limit {duration_text(limit)} is too short: the trial, the shortest process that is "
            f"left and the report take about {needed}"
        )
    _say(
        f"the time is over; {done.left.sentence}: run the same command again to continue, here or "
        "on a machine of the same kind"
    )
    return UNFINISHED


def _count_wrong(value: dict) -> int:
    if "results" not in value:  # runs, which may be files of runs themselves
        return sum(map(_count_wrong, value["runs"]))
    return sum(row["verified"] is False for row in value["results"])


def _wrong_rows(values: list[dict]) -> int:
    """Say how many rows have wrong bytes; return the exit status."""
    wrong = sum(map(_count_wrong, values))
    if wrong:
        _say(
            f"{plural(wrong, 'row')} {'is' if wrong == 1 else 'are'} WRONG: the bytes differ from "
            "OpenSSL's, or the run failed"
        )
    return FAILED if wrong else 0


def _measure(arguments: argparse.Namespace) -> int:
    entries = [turns.entry_of(text) for text in arguments.programs]
    with terminated_raises(), _progress() as (progress, warn):
        written, wrong = turns.measure(
            entries,
            arguments.axes,
            arguments.output,
            arguments.processes,
            arguments.samples,
            arguments.machine,
            progress=progress,
            warn=warn,
        )
    _say(f"{', '.join(map(str, written))} written")
    return _wrong_rows([bench.read(path) for path in written]) if wrong else 0


def _document(values: list[dict], sources: list[str], clock_hz: float | None) -> Document:
    reports = [bench.from_object(v, s) for v, s in zip(values, sources, strict=True)]
    report = bench.merge(reports)
    everything = analysis.sections(report, clock_hz)
    if all(value.get("lab") is not None for value in values):
        return reproduce.document(values, everything, sources)
    return analysis.document(report, clock_hz)


def _report(arguments: argparse.Namespace) -> int:
    if not any(getattr(arguments, name) for name in OUTPUTS):
        raise LabError(
            "nothing to write: give -o FILE, --markdown FILE, --latex FILE, --csv DIR, --png DIR, "
            "--svg DIR or --pdf DIR",
            USAGE,
        )
    values = [bench.read(path) for path in arguments.results]
    document = _document(values, list(map(bench.name_of, arguments.results)), arguments.clock)
    if arguments.output:
        _write_page(arguments.output, document)
    _export(document, arguments)
    return _wrong_rows(values)


def _compare(arguments: argparse.Namespace) -> int:
    a = bench.load(arguments.a)
    if arguments.b is None:
        first, second = compare.split(a)
        first.sources = [f"{arguments.a}, odd processes"]
        second.sources = [f"{arguments.a}, even processes"]
    else:
        first, second = a, bench.load(arguments.b)
    found = compare.comparison(
        first,
        second,
        arguments.least_effect,
        drift=arguments.allow_drift,
        halves=arguments.b is None,
    )
    document = compare.document(found)
    if arguments.output:
        _write_page(arguments.output, document)
    _export(document, arguments)
    for block in document.sections[0].blocks[:-1]:
        print(block.text + "\n")  # type: ignore[union-attr]
    _print_tables(document.tables())
    status = 0
    if found.count(compare.WRONG):
        wrong = plural(found.count(compare.WRONG), "row")
        _say(f"{wrong} WRONG: see the reasons in the table")
        status = FAILED
    if arguments.fail_slower is not None:
        slower, text = compare.slower_text(found, arguments.fail_slower)
        _say(text)
        status = status or slower
    return status


def _figure(arguments: argparse.Namespace) -> int:
    report = bench.load_all(arguments.results)
    direction = arguments.direction
    tables: list[Table] = []
    if arguments.figure == "cluster":
        model = cluster.constants(
            report, direction, arguments.file_system, arguments.link, arguments.start
        )
        figure = cluster.figure(report, model, arguments.size, direction)
        tables = cluster.tables(model, figure)
    elif arguments.figure == "files":
        figure = throughput.files_figure(report, direction)
    else:
        figure = throughput.figure(
            report, arguments.mode, arguments.key_bits, direction, arguments.threads
        )
    kind = arguments.output.suffix.lower().removeprefix(".")
    if kind in ("png", "pdf"):
        write_whole(arguments.output, drawing.draw(figure, kind, drawing.PAGE.width * drawing.MM))
    else:
        write_whole(arguments.output, drawing.standalone_svg(figure))
    _print_tables(tables)
    return 0


def _bundle(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.folder
    if not folder.is_dir():
        raise LabError(f"{folder}: is not a folder", USAGE)
    paths = bundle.results_in(folder)
    values = [bench.read(path) for path in paths]
    document = _document(values, list(map(bench.name_of, paths)), None)
    output = arguments.output or Path(f"{folder.resolve()}.zip")
    bundle.write(folder, paths, document, values, output)
    _say(f"{output} written")
    return _wrong_rows(values)


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "reproduce": _reproduce,
    "report": _report,
    "measure": _measure,
    "compare": _compare,
    "figure": _figure,
    "bundle": _bundle,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status.

    0: done; 1: failure; 2: usage; 3: --limit left something to measure, or --fail-slower could
    decide no row; 130: interrupted; 143: terminated; 141: the reader closed the pipe.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # In a locale without UTF-8, tables have escapes for ×, µ and others.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        axes: list[str] = []
        if words[:1] == ["measure"] and "--" in words:
            at = words.index("--")
            words, axes = words[:at], words[at + 1 :]
        arguments = parser().parse_args(words)
        if arguments.verb == "measure":
            arguments.axes = axes
        _check_outputs(arguments)
        return VERBS[arguments.verb](arguments)
    except LabError as error:
        _say(str(error))
        return error.status
    except KeyboardInterrupt as interruption:
        terminated = isinstance(interruption, Terminated)
        what = "terminated" if terminated else "interrupted"
        _say(f"{what}; run the same command again to resume")
        return TERMINATED if terminated else INTERRUPTED
    except BrokenPipeError:
        # Python would complain again when it flushes its standard streams at exit.
        sys.stderr.close()
        return 141
