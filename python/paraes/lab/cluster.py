"""Predict the throughput of N nodes with the model of docs/cluster.md and measured constants."""

from __future__ import annotations

from dataclasses import dataclass

from paraes.lab.analysis.rows import rate_series
from paraes.lab.configurations import group
from paraes.lab.document import Axis, Cell, Column, Figure, Missing, Predicted, Series, Table
from paraes.lab.errors import LabError
from paraes.lab.machines import machine_of
from paraes.lab.rows import Report, Row
from paraes.lab.units import megabytes_per_second, plural, size_text

NODES = tuple(1 << i for i in range(13))  # 1 to 4096


@dataclass(frozen=True)
class Constant:
    """A rate in bytes a second, or a time in seconds, with its source."""

    value: float
    source: str


@dataclass(frozen=True)
class Model:
    """The constants of docs/cluster.md. Only scatter uses `processors` and `link`."""

    node: Constant  # n, file to file
    file_system: Constant | None = None  # F, and W where that is less
    processors: Constant | None = None  # c
    link: Constant | None = None  # L, of rank 0, each way
    start: Constant = Constant(0.0, "left out (--start)")

    def shared_seconds(self, size: float, nodes: int) -> float:
        """Return the seconds when every node reads and writes its own range of the file."""
        rate = nodes * self.node.value
        if self.file_system is not None:
            rate = min(rate, self.file_system.value)
        return self.start.value + size / rate

    def scatter_seconds(self, size: float, nodes: int) -> float | None:
        """Return the seconds when node 0 reads, scatters, gathers and writes everything.

        None if a constant of scatter is not known.
        """
        if self.processors is None or self.link is None:
            return None
        computing = 1 / (nodes * self.processors.value)
        sending = (nodes - 1) / (nodes * self.link.value)
        return self.start.value + size * max(computing, 1 / self.node.value, sending)


def _described(row: Row) -> str:
    ranks = f"{plural(row.ranks, 'rank')} of " if row.ranks > 1 else ""
    return f"measured: {row.name}, {size_text(row.bytes)}, {ranks}{plural(row.threads, 'thread')}"


def link_rate(row: Row) -> float | None:
    """Return the bytes a second over rank 0's link in the slower direction; None without scatter.

    Rank 0 sends and receives everything except its own share.
    """
    ways = [row.timeline_ns.get("scatter"), row.timeline_ns.get("gather")]
    if row.ranks < 2 or None in ways:
        return None
    slower = max(way for way in ways if way is not None)
    return row.bytes * (row.ranks - 1) / row.ranks / slower * 1e9 if slower > 0 else None


def constants(
    report: Report,
    direction: str = "encrypt",
    file_system: float | None = None,
    link: float | None = None,
    start: float | None = None,
) -> Model:
    """Take the constants from the rows of `report`; given ones (bytes a second, seconds) win."""
    report = group(report)
    machines = {machine_of(context): None for context in report.contexts}
    if len(machines) > 1:
        raise LabError(
            f"{', '.join(report.sources[:2])}: rows of {len(machines)} machines "
            f"({'; '.join(machine.label for machine in machines)}), but the model's nodes are "
            "equal: give the files of one machine"
        )
    rows = [r for r in report.valid if r.rival is None and r.direction == direction]
    alone = [r for r in rows if r.ranks == 1 and not r.on_gpu]
    files = [r for r in alone if r.scope == "file" and r.format == "paraes"]
    node = max(files, key=lambda r: r.mb_per_s, default=None)
    if node is None:
        raise LabError(
            f"{', '.join(report.sources[:2])}: no row of file scope and one process, {direction}; "
            "measure one with: paraes bench --scope file --threads 0 --dir DIR --json FILE"
        )
    # Most threads first, then most data: the rate in one core's cache says little about a node.
    computed = [r for r in alone if r.scope == "memory" and r.mode == "gcm"]
    processors = max(computed, key=lambda r: (r.threads, r.bytes, r.mb_per_s), default=None)
    scattered = [r for r in rows if r.scope == "memory" and link_rate(r) is not None]
    sent = max(scattered, key=lambda r: link_rate(r) or 0.0, default=None)

    def choose(given: float | None, row: Row | None, rate: float | None) -> Constant | None:
        if given is not None:
            return Constant(given, "given on the command line")
        return None if row is None or rate is None else Constant(rate, _described(row))

    return Model(
        Constant(node.mb_per_s * 1e6, _described(node)),
        choose(file_system, None, None),
        choose(None, processors, processors and processors.mb_per_s * 1e6),
        choose(link, sent, sent and link_rate(sent)),
        choose(start, None, None) or Model.start,
    )


def _measured(report: Report, direction: str, distribution: str) -> Series | None:
    """Return the measured rates of the largest file for each number of ranks."""
    found: dict[int, Row] = {}
    for row in group(report).valid:
        if (row.scope, row.distribution, row.direction) != ("file", distribution, direction):
            continue
        if row.ranks not in found or row.bytes > found[row.ranks].bytes:
            found[row.ranks] = row
    if not found:
        return None
    ranks = sorted(found)
    return rate_series(f"{distribution}, measured", ranks, [found[n] for n in ranks])


def _constants_table(model: Model) -> Table:
    def line(name: str, constant: Constant | None, missing: str, unit: float = 1e6) -> list[Cell]:
        if constant is None:
            return [name, Missing(missing), "unknown"]
        return [name, constant.value / unit, constant.source]

    return Table(
        "cluster-constants",
        "Constants of the model (docs/cluster.md)",
        [Column("constant", "text"), Column("10⁶ bytes a second; s"), Column("source", "text")],
        [
            line("n: one node, file to file", model.node, ""),
            line(
                "F: the shared file system, all nodes together",
                model.file_system,
                "no --file-system given: assumed to have no limit",
            ),
            line(
                "c: the CPUs of one node",
                model.processors,
                "no row of one process in memory scope with GCM: scatter is left out",
            ),
            line(
                "L: the network link of rank 0, each way",
                model.link,
                "no row with --distribute scatter in memory scope, and no --link: "
                "scatter is left out",
            ),
            line("S: start of a job, in seconds", model.start, "", 1.0),
        ],
    )


def figure(report: Report, model: Model, size: float, direction: str = "encrypt") -> Figure:
    """Draw the throughput over the number of nodes: predicted for `size` bytes, and measured.

    Measured rows have their own sizes, and may have run several ranks on one node.
    """
    series: list[Series] = []
    columns = [Column("nodes", "number")]
    cells: list[list[Cell]] = [[float(nodes)] for nodes in NODES]
    for name, seconds in (("shared", model.shared_seconds), ("scatter", model.scatter_seconds)):
        times = [t for nodes in NODES if (t := seconds(size, nodes)) is not None]
        if times:
            rates = [megabytes_per_second(size, t * 1e9) for t in times]
            nodes = [float(n) for n in NODES]
            series.append(Series(f"{name}, predicted", nodes, rates, origin="predicted"))
            columns += [Column(name, "s"), Column(name, "number", "MB/s")]
            for line, t, rate in zip(cells, times, rates, strict=True):
                line += [Predicted(t), Predicted(rate)]
        measured = _measured(report, direction, name)
        if measured is not None:
            series.append(measured)
    verb = "encryption" if direction == "encrypt" else "decryption"
    title = f"{size_text(size)}: {verb} on many nodes, predicted"
    return Figure(
        "cluster",
        title,
        "Throughput in 10⁶ bytes a second over the number of nodes, both logarithmic: predictions "
        "of the model in docs/cluster.md (dotted), and measured numbers of ranks. Predictions are "
        "not measurements.",
        Axis("nodes (measured: ranks)", "log", "count"),
        Axis("10⁶ bytes a second", "log"),
        series,
        Table("cluster", f"{title}. MB/s: 10⁶ bytes a second", columns, cells),
    )


def tables(model: Model, drawn: Figure) -> list[Table]:
    """Return the tables of the constants and of the predictions."""
    return [_constants_table(model), *([drawn.table] if drawn.table else [])]
