"""The options of `paraes-lab`, and how their values are read."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paraes.lab import bundle, drawing
from paraes.lab.errors import USAGE, LabError
from paraes.lab.papers.data import NAMES
from paraes.lab.papers.setting import PROCESS_SAMPLES, PROCESSES
from paraes.lab.units import parse_duration, parse_size
from paraes.lab.verdicts import LEAST_EFFECT


class _Parser(argparse.ArgumentParser):
    """A parser that reports usage errors as LabError, so that they print as one line."""

    def error(self, message: str) -> None:  # type: ignore[override]
        raise LabError(f"{message} (see {self.prog} --help)", USAGE)


class _Version(argparse.Action):
    """Prints the versions, a line each."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(bundle.version_text(), end="")
        parser.exit()


def _reader(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a reader for argparse from a parser that raises ValueError."""

    def read(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return number


def _number(
    what: str,
    least: float,
    most: float,
    *units: str,
    scale: Callable[[float], float] = float,
) -> Callable[[str], float]:
    """Return a parser of numbers from `least` to `most`, once scaled; a unit may follow them."""

    def parse(text: str) -> float:
        digits = text.lower()
        for unit in units:
            digits = digits.removesuffix(unit)
        try:
            number = scale(float(digits))
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not {what}")
        return number

    return parse


def _giga(number: float) -> float:
    return number * 1e9


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


# The name of an argument's value → how it is read. Values of other names are texts.
_READERS: dict[str, Callable[[str], Any]] = {
    "GB/S": _number(
        "a rate in GB/s (10⁹ bytes a second), such as 12.5", 1e3, 1e18, "gb/s", scale=_giga
    ),
    "GHZ": _number("a clock frequency in GHz, such as 3.7", 1e8, 1e11, "hz", "g", scale=_giga),
    "MM": _number("a width from 60 to 1000 mm", 60, 1000, "mm"),
    "N": _positive,
    "N,...": _ranks,
    "NAME": _machine_name,
    "PERCENT": _number(
        "a percentage above 0, such as 3%", math.nextafter(0, 1), 10, "%", scale=lambda n: n / 100
    ),
    "S": _number("a number of seconds from 0 to 86400", 0, 86400),
    "SIZE": _reader(parse_size),
    "TIME": _reader(parse_duration),
    **dict.fromkeys(("A.json", "B.json", "DIR", "FILE", "RESULTS.json"), Path),
}


def _add(parser: Any, usage: str, text: str | None, **more: Any) -> None:
    """Add the argument that is used like `-o --output FILE`, `--quick` or `folder DIR`.

    A last word without dashes names its value. `more` is for argparse, as that has it.
    """
    names = usage.split()
    if not names[-1].startswith("-"):
        more["metavar"] = names.pop()
        more.setdefault("type", _READERS.get(more["metavar"]))
    elif "choices" not in more:
        more["action"] = "store_true"
    parser.add_argument(*names, help=text, **more)


def _add_all(parser: Any, texts: dict[str, str]) -> None:
    for usage, text in texts.items():
        _add(parser, usage, text)


FOLDER = {"usage": "-o --output DIR", "text": "folder for the results", "required": True}
PAGE = {"-o --output FILE": "HTML page to write"}
RESULTS = {"usage": "results RESULTS.json", "text": "JSON of the bench", "nargs": "+"}
MACHINE = {
    "--machine NAME": "the machine's name in the results; machines without names are told apart by "
    "their processor, cores, memory and hypervisor",
}
_OUTPUTS = {
    "--markdown FILE": "all tables as Markdown",
    "--latex FILE": "all tables as LaTeX (booktabs)",
    "--csv DIR": "every table as a CSV file",
    **{f"--{kind} DIR": f"every figure as {kind.upper()}" for kind in drawing.KINDS},
    "--width MM": f"width of these figures (default: {drawing.COLUMN_MM:g}, a column of a "
    "two-column paper)",
}


def _add_outputs(verb: argparse.ArgumentParser) -> None:
    _add_all(verb, _OUTPUTS)
    verb.set_defaults(width=drawing.COLUMN_MM)


def parser() -> argparse.ArgumentParser:
    top = _Parser(
        prog="paraes-lab",
        description="Runs `paraes bench`, analyses its JSON, and reproduces the papers' "
        "experiments.",
    )
    top.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        help="print the version, and those of Python and of the packages that it computes with",
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=_Parser)
    _add_reproduce(verbs)
    _add_report(verbs)
    _add_measure(verbs)
    _add_compare(verbs)
    _add_figure(verbs)
    _add_bundle(verbs)
    return top


def _add_reproduce(verbs: Any) -> None:
    verb = verbs.add_parser(
        "reproduce",
        help="run a paper's experiment on this machine and compare with the paper's numbers",
        description="Runs the paper's axes, prints the tables, and writes results.json and "
        "report.html. Measurements are kept in DIR/parts: an interrupted run writes the report of "
        "what it has, and the same command resumes where it stopped, also on another machine of "
        "the same kind (processor, cores, GPU and its driver) that has DIR.",
    )
    _add(verb, "paper PAPER", ", ".join((*NAMES, "all")))
    _add(verb, **FOLDER)
    texts = {
        "--quick": "small sizes, one process and few samples; takes seconds, and decides little",
        "--processes N": "processes of each run of the bench, in rounds (default: "
        f"{PROCESSES}; 1 with --quick); the intervals are over processes and need 6",
        "--device DEV": "the GPU to use: cuda:0, hip:0, opencl:0; cpu for none (default: the first "
        "real GPU)",
        "--max-size SIZE": "leave out larger sizes",
        "--limit TIME": "end within that time, such as 4min: start no process that would end "
        "later, and report what there is; exit status 3 if something is left, which the same "
        "command continues",
        "--samples N": f"samples per row and process (default: {PROCESS_SAMPLES}; with one process "
        "21, or 7 above 16 MiB and with --quick)",
        "--min-time S": "least seconds of timed work per row (default: 0); energy counters need "
        "0.1 on a CPU, 2 on a GPU",
        "--paraes PATH": "the paraes program (default: PARAES_PROGRAM, then PATH)",
        "--paraes-mpi PATH": "the paraes-mpi program (default: PARAES_MPI_PROGRAM, then beside "
        "paraes, then PATH)",
        "--mpirun CMD": "the launcher with its options, used unchanged (default: the mpirun of the "
        "MPI that paraes-mpi is built with)",
        "--ranks N,...": "numbers of ranks, which may exceed the cores (default: those of "
        "2,4,8,16,32 that do not)",
    }
    _add_all(verb, texts)
    verb.set_defaults(min_time=0.0)
    _add(
        verb,
        "--dir DIR",
        "folder for the files of the file scope, passed to paraes bench",
        type=None,
    )
    _add_all(verb, MACHINE)
    _add_outputs(verb)


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
    _add(verb, "programs NAME=PROGRAM", "a paraes program", nargs="+")
    _add(verb, **FOLDER)
    texts = {
        "--processes N": f"processes of each program (default: {PROCESSES})",
        "--samples N": f"samples per row and process (default: {PROCESS_SAMPLES})",
        **MACHINE,
    }
    _add_all(verb, texts)
    verb.set_defaults(processes=PROCESSES, samples=PROCESS_SAMPLES)


def _add_report(verbs: Any) -> None:
    verb = verbs.add_parser("report", help="write everything in bench JSON as one page")
    _add(verb, **RESULTS)
    clock = "clock frequency of the CPU, for cycles per byte (default: as the bench measured it)"
    _add_all(verb, PAGE | {"--clock GHZ": clock})
    _add_outputs(verb)


def _add_compare(verbs: Any) -> None:
    verb = verbs.add_parser(
        "compare",
        help="say for each row whether b is faster than a",
        description="Compares two results of `paraes-lab measure` row by row. With one file, its "
        "odd processes are compared with its even ones: how often noise alone looks like a "
        "difference.",
    )
    _add(verb, "a A.json", "results of the first program")
    _add(verb, "b B.json", "results of the second program", nargs="?")
    texts = {
        **PAGE,
        "--least-effect PERCENT": f"smaller differences count as none (default: "
        f"{100 * LEAST_EFFECT:g}%%)",
        "--fail-slower PERCENT": "exit with status 1 if b is certainly slower by that much in a "
        "row, and 3 if no row could be decided",
        "--allow-drift": "decide also what was not measured in turns; what changed in between "
        "counts as b's",
    }
    _add_all(verb, texts)
    verb.set_defaults(least_effect=LEAST_EFFECT)
    _add_outputs(verb)


def _add_bundle(verbs: Any) -> None:
    verb = verbs.add_parser(
        "bundle",
        help="put a measurement and all that belongs to it into a ZIP file",
        description="Writes what an artifact evaluation asks for: the JSON of every process, the "
        "commands, the machine, the versions, the report with its tables and figures, BibTeX of "
        "the papers, and checksums.",
    )
    _add(verb, "folder DIR", "folder of reproduce or measure")
    _add(verb, "-o --output FILE", "ZIP file to write (default: DIR.zip)")


def _add_figure(verbs: Any) -> None:
    verb = verbs.add_parser("figure", help="draw one figure as SVG, for light and dark pages")
    _add(
        verb,
        "figure FIGURE",
        "throughput (kernels, devices and rivals by size), files (programs by size of the file) or "
        "cluster (predicted throughput of N nodes)",
        choices=["throughput", "files", "cluster"],
    )
    _add(verb, **RESULTS)
    text = "SVG file to write; PNG or PDF if its name ends in .png or .pdf"
    _add(verb, "-o --output FILE", text, required=True)
    text = "default: ctr if it was measured, else the mode with most rows"
    _add(verb, "--mode", text, choices=["ecb", "cbc", "ctr", "xts", "gcm"])
    _add(verb, "--key-bits", None, type=int, choices=[128, 192, 256], default=128)
    _add(verb, "--direction", None, choices=["encrypt", "decrypt"], default="encrypt")
    _add(verb, "--threads N", "threads of the rows of memory scope on the CPU (default: 1)")
    model = verb.add_argument_group(
        "cluster", "constants of the model in docs/cluster.md that are not in the results"
    )
    texts = {
        "--size SIZE": "size of the file (default: 1TB)",
        "--file-system GB/S": "rate of the shared file system for all nodes together (default: no "
        "limit)",
        "--link GB/S": "rate of rank 0's network link, each way (default: from rows with scatter)",
        "--start S": "seconds to start a job (default: 0)",
    }
    _add_all(model, texts)
    verb.set_defaults(size=10**12)
