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
from paraes.lab.units import parse_size
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


def _number(
    what: str,
    least: float,
    most: float,
    *units: str,
    scale: Callable[[float], float] = lambda number: number,
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


_share = _number(
    "a percentage above 0, such as 3%",
    math.nextafter(0, 1),
    10,
    "%",
    scale=lambda number: number / 100,
)
_millimetres = _number("a width from 60 to 1000 mm", 60, 1000, "mm")
_seconds = _number("a number of seconds from 0 to 86400", 0, 86400)
_rate = _number(
    "a rate in GB/s (10⁹ bytes a second), such as 12.5",
    1e3,
    1e18,
    "gb/s",
    scale=lambda number: number * 1e9,
)
_clock = _number(
    "a clock frequency in GHz, such as 3.7",
    1e8,
    1e11,
    "hz",
    "g",
    scale=lambda number: number * 1e9,
)


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
