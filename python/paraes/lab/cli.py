"""`paraes-lab`: the command line."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paraes.lab import (
    analysis,
    bench,
    bundle,
    compare,
    drawing,
    export,
    latex,
    reproduce,
    turns,
)
from paraes.lab.document import Document, Figure, Table
from paraes.lab.errors import FAILED, USAGE, LabError
from paraes.lab.files import make_folder, write_whole
from paraes.lab.measure import dumps, find_program, look_at
from paraes.lab.papers.data import NAMES
from paraes.lab.papers.setting import PROCESS_SAMPLES, PROCESSES, Setting
from paraes.lab.units import duration_text, parse_size, plural
from paraes.lab.verdicts import LEAST_EFFECT

INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """A parser that reports usage errors as LabError, so that they print as one line."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise LabError(f"{message} (see {self.prog} --help)", USAGE)


class _Version(argparse.Action):
    """Prints the versions, a line each."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(bundle.version_text(), end="")
        parser.exit()


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return number


def _share(text: str) -> float:
    """Parse a percentage, such as 3%; return it as a fraction."""
    try:
        share = float(text.removesuffix("%").strip()) / 100
    except ValueError:
        share = -1.0
    if not 0 < share <= 10:
        raise argparse.ArgumentTypeError(f"'{text}' is not a percentage above 0, such as 3%")
    return share


def _machine_name(text: str) -> str:
    if not text.strip() or len(text.encode()) > 64 or not text.isprintable():
        raise argparse.ArgumentTypeError(
            f"{text!r} is no name of a machine: 1 to 64 bytes of printable text"
        )
    return text


def _ranks(text: str) -> list[int]:
    numbers = sorted({_positive(part) for part in text.split(",")})
    if numbers[0] < 2:
        raise argparse.ArgumentTypeError(f"'{text}': numbers of ranks must be at least 2")
    return numbers


def _millimetres(text: str) -> float:
    try:
        width = float(text.lower().removesuffix("mm"))
    except ValueError:
        width = 0.0
    if not 60 <= width <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a width from 60 to 1000 mm")
    return width


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds from 0 to 86400")
    return seconds


def _rate(text: str) -> float:
    try:
        rate = float(text.lower().removesuffix("gb/s")) * 1e9
    except ValueError:
        rate = 0.0
    if not 1e3 <= rate <= 1e18:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a rate in GB/s (10⁹ bytes a second), such as 12.5"
        )
    return rate


def _clock(text: str) -> float:
    try:
        hertz = float(text.lower().removesuffix("hz").removesuffix("g")) * 1e9
    except ValueError:
        hertz = 0.0
    if not 1e8 <= hertz <= 1e11:
        raise argparse.ArgumentTypeError(f"'{text}' is not a clock frequency in GHz, such as 3.7")
    return hertz


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="all tables as Markdown")
    parser.add_argument("--latex", type=Path, metavar="FILE", help="all tables as LaTeX (booktabs)")
    parser.add_argument("--csv", type=Path, metavar="DIR", help="every table as a CSV file")
    for kind in drawing.KINDS:
        parser.add_argument(
            f"--{kind}", type=Path, metavar="DIR", help=f"every figure as {kind.upper()}"
        )
    parser.add_argument(
        "--width",
        type=_millimetres,
        default=drawing.COLUMN_MM,
        metavar="MM",
        help=f"width of these figures (default: {drawing.COLUMN_MM:g}, a column of a two-column "
        "paper)",
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="paraes-lab",
        description="Runs `paraes bench`, analyses its JSON, and reproduces the papers' "
        "experiments.",
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        help="print the version, and those of Python and of the packages that it computes with",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Parser)
    _add_reproduce(verbs)
    _add_report(verbs)
    _add_measure(verbs)
    _add_compare(verbs)
    _add_figure(verbs)
    _add_bundle(verbs)
    return parser


def _add_reproduce(verbs: Any) -> None:
    verb = verbs.add_parser(
        "reproduce",
        help="run a paper's experiment on this machine and compare with the paper's numbers",
        description="Runs the paper's axes, prints the tables, and writes results.json and "
        "report.html. Measurements are kept in DIR/parts: an interrupted run resumes where it "
        "stopped.",
    )
    verb.add_argument("paper", metavar="PAPER", help=", ".join((*NAMES, "all")))
    verb.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="folder for the results"
    )
    verb.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, one process and few samples; takes seconds, and decides little",
    )
    verb.add_argument(
        "--processes",
        type=_positive,
        metavar="N",
        help=f"processes of each run of the bench, in rounds (default: {PROCESSES}; 1 with "
        "--quick); the intervals are over processes and need 6",
    )
    verb.add_argument(
        "--device",
        metavar="DEV",
        help="the GPU to use: cuda:0, hip:0, opencl:0; cpu for none (default: the first real GPU)",
    )
    verb.add_argument("--max-size", type=_size, metavar="SIZE", help="leave out larger sizes")
    verb.add_argument(
        "--samples",
        type=_positive,
        metavar="N",
        help=f"samples per row and process (default: {PROCESS_SAMPLES}; with one process 21, or 7 "
        "above 16 MiB and with --quick)",
    )
    verb.add_argument(
        "--min-time",
        type=_seconds,
        default=0.0,
        metavar="S",
        help="least seconds of timed work per row (default: 0); energy counters need 0.1 on a "
        "CPU, 2 on a GPU",
    )
    verb.add_argument(
        "--paraes", metavar="PATH", help="the paraes program (default: PARAES_PROGRAM, then PATH)"
    )
    verb.add_argument(
        "--paraes-mpi",
        metavar="PATH",
        help="the paraes-mpi program (default: PARAES_MPI_PROGRAM, then beside paraes, then PATH)",
    )
    verb.add_argument(
        "--mpirun",
        metavar="CMD",
        help="the launcher with its options, used unchanged (default: the mpirun of the MPI that "
        "paraes-mpi is built with)",
    )
    verb.add_argument(
        "--ranks",
        type=_ranks,
        metavar="N,...",
        help="numbers of ranks, which may exceed the cores (default: those of 2,4,8,16,32 that do "
        "not)",
    )
    verb.add_argument(
        "--dir",
        metavar="DIR",
        help="folder for the files of the file scope, passed to paraes bench",
    )
    _add_machine(verb)
    _add_outputs(verb)


def _add_machine(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--machine",
        type=_machine_name,
        metavar="NAME",
        help="the machine's name in the results; machines without names are told apart by their "
        "processor, cores, memory and hypervisor",
    )


def _add_measure(verbs: Any) -> None:
    verb = verbs.add_parser(
        "measure",
        usage="paraes-lab measure NAME=PROGRAM... -o DIR [--processes N] [--samples N] -- AXES...",
        help="measure one or more programs in turns, for compare",
        description="Runs `PROGRAM bench AXES` of all programs in turns, several processes of "
        "each, and writes DIR/NAME.json for each. Compare two builds with `paraes-lab measure "
        "old=old/paraes new=new/paraes -o ab -- --size 1MiB` and `paraes-lab compare ab/old.json "
        "ab/new.json`. An interrupted measurement resumes where it stopped.",
    )
    verb.add_argument("programs", nargs="+", metavar="NAME=PROGRAM", help="a paraes program")
    verb.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="folder for the results"
    )
    verb.add_argument(
        "--processes",
        type=_positive,
        default=PROCESSES,
        metavar="N",
        help=f"processes of each program (default: {PROCESSES})",
    )
    verb.add_argument(
        "--samples",
        type=_positive,
        default=PROCESS_SAMPLES,
        metavar="N",
        help=f"samples per row and process (default: {PROCESS_SAMPLES})",
    )
    _add_machine(verb)


def _add_report(verbs: Any) -> None:
    verb = verbs.add_parser("report", help="write everything in bench JSON as one page")
    verb.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS.json", help="JSON of the bench"
    )
    verb.add_argument("-o", "--output", type=Path, metavar="FILE", help="HTML page to write")
    verb.add_argument(
        "--clock",
        type=_clock,
        metavar="GHZ",
        help="clock frequency of the CPU, for cycles per byte (default: as the bench measured it)",
    )
    _add_outputs(verb)


def _add_compare(verbs: Any) -> None:
    verb = verbs.add_parser(
        "compare",
        help="say for each row whether b is faster than a",
        description="Compares two results of `paraes-lab measure` row by row. With one file, its "
        "odd processes are compared with its even ones: how often noise alone looks like a "
        "difference.",
    )
    verb.add_argument("a", type=Path, metavar="A.json", help="results of the first program")
    verb.add_argument(
        "b", type=Path, nargs="?", metavar="B.json", help="results of the second program"
    )
    verb.add_argument("-o", "--output", type=Path, metavar="FILE", help="HTML page to write")
    verb.add_argument(
        "--least-effect",
        type=_share,
        default=LEAST_EFFECT,
        metavar="PERCENT",
        help=f"smaller differences count as none (default: {100 * LEAST_EFFECT:g}%%)",
    )
    verb.add_argument(
        "--fail-slower",
        type=_share,
        metavar="PERCENT",
        help="exit with status 1 if b is certainly slower by that much in a row",
    )
    verb.add_argument(
        "--allow-drift",
        action="store_true",
        help="decide also what was not measured in turns; what changed in between counts as b's",
    )
    _add_outputs(verb)


def _add_bundle(verbs: Any) -> None:
    verb = verbs.add_parser(
        "bundle",
        help="put a measurement and all that belongs to it into a ZIP file",
        description="Writes what an artifact evaluation asks for: the JSON of every process, the "
        "commands, the machine, the versions, the report with its tables and figures, BibTeX of "
        "the papers, and checksums.",
    )
    verb.add_argument("folder", type=Path, metavar="DIR", help="folder of reproduce or measure")
    verb.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="ZIP file to write (default: DIR.zip)"
    )


def _add_figure(verbs: Any) -> None:
    verb = verbs.add_parser("figure", help="draw one figure as SVG, for light and dark pages")
    verb.add_argument(
        "figure",
        choices=["throughput", "files", "cluster"],
        metavar="FIGURE",
        help="throughput (kernels, devices and rivals by size), files (programs by size of the "
        "file) or cluster (predicted throughput of N nodes)",
    )
    verb.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS.json", help="JSON of the bench"
    )
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="SVG file to write; PNG or PDF if its name ends in .png or .pdf",
    )
    verb.add_argument(
        "--mode",
        choices=["ecb", "cbc", "ctr", "xts", "gcm"],
        help="default: ctr if it was measured, else the mode with most rows",
    )
    verb.add_argument("--key-bits", type=int, choices=[128, 192, 256], default=128)
    verb.add_argument("--direction", choices=["encrypt", "decrypt"], default="encrypt")
    verb.add_argument(
        "--threads",
        type=_positive,
        metavar="N",
        help="threads of the rows of memory scope on the CPU (default: 1)",
    )
    model = verb.add_argument_group(
        "cluster", "constants of the model in docs/cluster.md that are not in the results"
    )
    model.add_argument(
        "--size", type=_size, default=10**12, metavar="SIZE", help="size of the file (default: 1TB)"
    )
    model.add_argument(
        "--file-system",
        type=_rate,
        metavar="GB/S",
        help="rate of the shared file system for all nodes together (default: no limit)",
    )
    model.add_argument(
        "--link",
        type=_rate,
        metavar="GB/S",
        help="rate of rank 0's network link, each way (default: from rows with scatter)",
    )
    model.add_argument(
        "--start", type=_seconds, metavar="S", help="seconds to start a job (default: 0)"
    )


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
            print(f"{100 * done / total:3.0f} %  {title}", file=sys.stderr, flush=True)

        yield line, lambda text: print(f"paraes-lab: warning: {text}", file=sys.stderr, flush=True)
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
    for name in ("output", "markdown", "latex", "csv", *drawing.KINDS):
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


def _reproduce(arguments: argparse.Namespace) -> int:
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
    setting = Setting(
        machine.cores,
        quick=arguments.quick,
        max_size=arguments.max_size,
        samples=arguments.samples,
        min_time=arguments.min_time,
        processes=arguments.processes or (1 if arguments.quick else PROCESSES),
        ranks=arguments.ranks,
    )
    make_folder(arguments.output)
    count, seconds = reproduce.estimate(papers, setting, machine, arguments.output)
    if count:
        what = "one process" if count == 1 else f"{count} processes"
        print(
            f"paraes-lab: {what} of the bench, about {duration_text(seconds)}; then the report",
            file=sys.stderr,
            flush=True,
        )
    with _progress() as (progress, warn):
        whole = reproduce.measure(
            papers, setting, machine, arguments.output, progress=progress, warn=warn
        )
    results = arguments.output / "results.json"
    document = _document([whole], [str(results)], None)
    write_whole(results, dumps(whole))
    from paraes.lab.report import render

    write_whole(arguments.output / "report.html", render(document))
    _export(document, arguments)
    own = [s for s in document.sections if s.name.startswith(tuple(papers))]
    own.append(document.sections[0])  # the verdicts come last, where a terminal shows them
    _print_tables(Document("", "", own).tables())
    print(f"paraes-lab: {results} and {arguments.output / 'report.html'} written", file=sys.stderr)
    return _wrong_rows([whole])


def _count_wrong(value: dict) -> int:
    if "results" not in value:  # runs, which may be files of runs themselves
        return sum(map(_count_wrong, value["runs"]))
    return sum(not row["verified"] for row in value["results"])


def _wrong_rows(values: list[dict]) -> int:
    """Say how many rows have wrong bytes; return the exit status."""
    wrong = sum(map(_count_wrong, values))
    if wrong:
        print(
            f"paraes-lab: {plural(wrong, 'row')} {'is' if wrong == 1 else 'are'} WRONG: the bytes "
            "differ from OpenSSL's, or the run failed",
            file=sys.stderr,
        )
    return FAILED if wrong else 0


def _measure(arguments: argparse.Namespace) -> int:
    entries = [turns.entry_of(text) for text in arguments.programs]
    with _progress() as (progress, warn):
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
    print(f"paraes-lab: {', '.join(map(str, written))} written", file=sys.stderr)
    return _wrong_rows([bench.read(path) for path in written]) if wrong else 0


def _document(values: list[dict], sources: list[str], clock_hz: float | None) -> Document:
    report = bench.merge([bench.from_object(v, s) for v, s in zip(values, sources, strict=True)])
    everything = analysis.sections(report, clock_hz)
    if all(map(reproduce.is_reproduction, values)):
        return reproduce.document(values, everything, sources)
    return analysis.document(report, clock_hz)


def _report(arguments: argparse.Namespace) -> int:
    outputs = ("output", "markdown", "latex", "csv", *drawing.KINDS)
    if not any(getattr(arguments, name) for name in outputs):
        raise LabError(
            "nothing to write: give -o FILE, --markdown FILE, --latex FILE, --csv DIR, --png DIR, "
            "--svg DIR or --pdf DIR",
            USAGE,
        )
    values = [bench.read(path) for path in arguments.results]
    document = _document(values, list(map(bench.name_of, arguments.results)), arguments.clock)
    if arguments.output:
        from paraes.lab.report import render

        write_whole(arguments.output, render(document))
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
        from paraes.lab.report import render

        write_whole(arguments.output, render(document))
    _export(document, arguments)
    for block in document.sections[0].blocks[:-1]:
        print(block.text + "\n")  # type: ignore[union-attr]
    _print_tables(document.tables())
    status = 0
    if found.count(compare.WRONG):
        wrong = plural(found.count(compare.WRONG), "row")
        print(f"paraes-lab: {wrong} WRONG: see the reasons in the table", file=sys.stderr)
        status = FAILED
    if arguments.fail_slower is not None:
        slower, text = compare.slower_text(found, arguments.fail_slower)
        print(f"paraes-lab: {text}", file=sys.stderr)
        status = FAILED if slower else status
    return status


def _figure(arguments: argparse.Namespace) -> int:
    report = bench.load_all(arguments.results)
    figure: Figure
    tables: list[Table] = []
    if arguments.figure == "cluster":
        from paraes.lab import cluster

        direction = arguments.direction
        model = cluster.constants(
            report, direction, arguments.file_system, arguments.link, arguments.start
        )
        figure = cluster.figure(report, model, arguments.size, direction)
        tables = cluster.tables(model, figure)
    elif arguments.figure == "files":
        from paraes.lab import throughput

        figure = throughput.files_figure(report, arguments.direction)
    else:
        from paraes.lab import throughput

        figure = throughput.figure(
            report, arguments.mode, arguments.key_bits, arguments.direction, arguments.threads
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
    print(f"paraes-lab: {output} written", file=sys.stderr)
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

    0: done; 1: failure; 2: usage; 130: interrupted; 141: the reader closed the pipe.
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
        arguments = _parser().parse_args(words)
        if arguments.verb == "measure":
            arguments.axes = axes
        _check_outputs(arguments)
        return VERBS[arguments.verb](arguments)
    except LabError as error:
        print(f"paraes-lab: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("paraes-lab: interrupted; run the same command again to resume", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Python would complain again when it flushes its standard streams at exit.
        sys.stderr.close()
        return 141
