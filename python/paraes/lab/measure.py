"""Run `paraes bench`: find the programs and the GPU, and keep the result of every run.

The JSON that a process wrote is kept in a file whose name depends on the run's axes, the machine,
the program and the number of the process. A process whose file exists is not repeated, so an
interrupted call can be resumed.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from paraes.lab import bench
from paraes.lab.errors import USAGE, LabError
from paraes.lab.files import locked, make_folder
from paraes.lab.units import size_text

GPU = "gpu"  # in Run.devices: the GPU that look_at chooses
DISTRIBUTION = "shared"  # of data to ranks: the papers timed encryption without communication


# For estimates of the time that a run takes: seconds a byte on one core, by kernel, from a Zen 4 of
# 2023; seconds to start a process of the bench, and to launch one with MPI.
PACES = {"reference": 27e-9, "ttable": 5e-9}
FAST_PACE = 1e-9
START_SECONDS, LAUNCH_SECONDS = 0.15, 1.0


@dataclass(frozen=True)
class Run:
    """One run of `paraes bench`, over the product of its axes. `size` is in bytes."""

    scope: str
    devices: tuple[str, ...]
    kernels: tuple[str, ...]
    size: int
    directions: tuple[str, ...] = ("encrypt",)
    key_bits: tuple[int, ...] = (128,)
    threads: tuple[int, ...] = (1,)
    executors: tuple[str, ...] = ("threads",)  # used in memory scope with several threads
    ranks: int = 1
    mode: str = "ecb"
    rivals: tuple[str, ...] = ("none",)
    key_expansions: tuple[str, ...] = ("host",)
    group_threads: tuple[int, ...] = ()  # of a GPU's kernels; empty for their own
    samples: int = 21
    min_time: float = 0.0  # seconds of timed work per row; for energy 0.1 (CPU) or 2 (GPU)

    @property
    def on_gpu(self) -> bool:
        """Whether the run needs the GPU."""
        return GPU in self.devices

    def cost(self, cores: int = 1) -> float:
        """Estimate the seconds that one process of the run takes on so many cores."""
        each = len(self.directions) * len(self.key_bits) * len(self.key_expansions)
        each *= max(1, len(self.group_threads))
        seconds = START_SECONDS + (LAUNCH_SECONDS if self.ranks > 1 else 0.0)
        for device, kernel, threads in product(self.devices, self.kernels, self.threads):
            pace = PACES.get(kernel, FAST_PACE) if device == "cpu" else FAST_PACE
            call = self.size * pace / min(cores, threads * self.ranks)
            rows = each * (len(self.executors) if threads > 1 else 1)
            # Calibration and verification have a call each, and so has warm-up unless it is long.
            calls = self.samples + (2 if call >= 1 else 3)
            seconds += rows * max(calls * max(2e-3, call), self.min_time)
        return seconds

    def arguments(self, gpu: str | None) -> list[str]:
        """Return the flags of `paraes bench`, with `gpu` as the GPU."""
        devices = [gpu if device == GPU and gpu else device for device in self.devices]
        flags = [
            "--scope",
            self.scope,
            "--device",
            ",".join(devices),
            "--kernel",
            ",".join(self.kernels),
            "--mode",
            self.mode,
            "--key-bits",
            ",".join(map(str, self.key_bits)),
            "--direction",
            ",".join(self.directions),
            "--threads",
            ",".join(map(str, self.threads)),
            "--size",
            str(self.size),
            "--rivals",
            ",".join(self.rivals),
            "--samples",
            str(self.samples),
            "--min-time",
            f"{self.min_time:g}",
        ]
        if self.executors != ("threads",):
            flags += ["--executor", ",".join(self.executors)]
        if self.key_expansions != ("host",):
            flags += ["--key-expansion", ",".join(self.key_expansions)]
        if self.group_threads:
            flags += ["--group-threads", ",".join(map(str, self.group_threads))]
        if self.scope == "file":
            flags += ["--format", "raw"]
        if self.scope in ("transfer", "file"):
            flags += ["--no-overlap"]  # the papers ran one phase after another
        if self.ranks > 1:
            flags += ["--distribute", DISTRIBUTION]
        return flags

    def without_gpu(self) -> Run | None:
        """Return the run without its GPU; None if nothing is left."""
        rest = tuple(device for device in self.devices if device != GPU)
        return replace(self, devices=rest) if rest else None

    @property
    def kind(self) -> tuple[Any, ...]:
        """What two runs must have in common to be united: all that is not an axis of the bench."""
        own = self.group_threads  # as an axis it would multiply the rows of all other kernels
        return (self.scope, self.kernels, self.size, self.mode, self.ranks, own)

    def united(self, other: Run) -> Run:
        """Return one run that measures all configurations of both, which are of one `kind`."""

        def both(name: str) -> tuple[Any, ...]:
            return tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))

        rivals = tuple(r for r in both("rivals") if r != "none") or ("none",)
        return replace(
            self,
            devices=both("devices"),
            directions=tuple(sorted(both("directions"), reverse=True)),  # encryption first
            key_bits=tuple(sorted(both("key_bits"))),
            threads=tuple(sorted(both("threads"))),
            executors=both("executors"),
            rivals=rivals,
            key_expansions=both("key_expansions"),
            samples=max(self.samples, other.samples),
            min_time=max(self.min_time, other.min_time),
        )

    def absent(self, reason: str) -> dict[str, Any]:
        """Return the skipped row of an absent GPU, with the axes that the bench lists for one."""
        row: dict[str, Any] = dict.fromkeys(bench.AXES)
        row |= {"device": GPU, "threads": 0, "ranks": 1, "bytes": 0, "messages": 1}
        return row | {"scope": self.scope, "in_place": False, "overlap": False, "reason": reason}

    def skipped(self, device: str | None, reason: str) -> list[dict[str, Any]]:
        """Return the skipped rows of this run on `device`, as the bench would list them."""
        rows = []
        axes = (
            self.kernels,
            self.key_bits,
            self.directions,
            self.key_expansions,
            self.group_threads or (None,),
        )
        for kernel, bits, direction, key_expansion, group_threads in product(*axes):
            row: dict[str, Any] = dict.fromkeys(bench.AXES)
            row |= {
                "device": device,
                "kernel": kernel,
                "mode": self.mode,
                "key_bits": bits,
                "direction": direction,
                "bytes": self.size,
                "threads": 0 if device != "cpu" else self.threads[0],
                "ranks": self.ranks,
                "distribution": DISTRIBUTION if self.ranks > 1 else None,
                "messages": 1,
                "scope": self.scope,
                "in_place": False,
                "key_expansion": key_expansion,
                "overlap": False,
                "group_threads": group_threads,
                "reason": reason,
            }
            rows.append(row)
        return rows

    def title(self, gpu: str | None) -> str:
        """Describe the run for the progress display."""
        devices = "+".join(gpu or GPU if device == GPU else device for device in self.devices)
        kernels = "+".join(self.kernels)
        ranks = f", {self.ranks} ranks" if self.ranks > 1 else ""
        return f"{devices} {kernels} {self.scope} {size_text(self.size)}{ranks}"


@dataclass
class Machine:
    """The machine and the programs. `cores` is how many threads can run at once.

    `identity` is a digest of the programs, the devices, the host and the folder: runs with
    different ones must not be mixed.
    """

    program: Path
    cores: int
    gpu: str | None
    gpu_name: str | None
    gpu_is_cpu: bool
    gpu_reason: str | None
    identity: str
    mpi: list[str] | None = None  # the launcher with its options, without -n
    mpi_program: Path | None = None
    mpi_reason: str | None = None
    folder: str | None = None  # where the bench puts the files of file scope
    name: str | None = None  # as --machine names it


def find_program(given: str | None, name: str = "paraes", source: str = "--paraes") -> Path:
    """Find the program: `given`, else PARAES_PROGRAM, else the one on PATH.

    `source` says in errors who gave it.
    """
    wanted = given or os.environ.get("PARAES_PROGRAM")
    if wanted:
        path = Path(wanted)
        if path.is_file() and os.access(path, os.X_OK):
            return path.resolve()
        source = source if given else "PARAES_PROGRAM"
        raise LabError(f"{source}: {wanted} is not a program that can be run", USAGE)
    found = shutil.which(name)
    if found is None:
        raise LabError(
            f"{name} is not on PATH: install it, or name it with --paraes PATH (in a build tree: "
            "build/release/cli/paraes)"
        )
    return Path(found).resolve()


def _call(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"{command[0]}: cannot run: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise LabError(f"{' '.join(command[:2])}: {lines[-1]}")
    return done.stdout


def _choose_gpu(
    devices: list[dict[str, Any]], wanted: str | None
) -> tuple[dict[str, Any] | None, str | None]:
    """Choose the GPU for the runs; return (device, None) or (None, reason)."""
    if wanted == "cpu":
        return None, "left out: --device cpu"
    if wanted:
        name = wanted if ":" in wanted else f"{wanted}:0"
        for device in devices:
            if device.get("id") == name and device.get("available"):
                return device, None
        runtime = name.split(":")[0]
        reasons = [d.get("reason") for d in devices if str(d.get("id")).startswith(runtime)]
        available = [str(d["id"]) for d in devices if d.get("available")]
        reason = next((r for r in reasons if r), "no such device")
        raise LabError(f"--device {wanted}: {reason} (available: {', '.join(available)})", USAGE)
    for device in devices:
        if (
            device.get("available")
            and not device.get("same_as")
            and not bench.is_cpu_device(device)
        ):
            return device, None
    said = [f"{d['id']}: {d['reason']}" for d in devices if d.get("reason")]
    stand_ins = [str(d["id"]) for d in devices if d.get("available") and d.get("id") != "cpu"]
    reason = "this machine has no usable GPU"
    if said:
        reason += f" ({'; '.join(said)})"
    if stand_ins:
        reason += f"; --device {stand_ins[0]} runs the GPU kernels on the CPU instead"
    return None, reason


def devices_of(program: Path) -> tuple[list[dict[str, Any]], str]:
    """Return the devices that the program lists, and text that identifies them."""
    text = _call([str(program), "devices", "--json"])
    listed = bench.parse(text, f"{program} devices --json")
    found = listed.get("devices", []) if isinstance(listed, dict) else []
    devices = [device for device in found if isinstance(device, dict)]
    # Not `memory`: PoCL reports the memory that is free just now.
    names = ("id", "name", "driver", "compiler", "target", "available")
    return devices, json.dumps([[device.get(name) for name in names] for device in devices])


def digest_of(program: Path, devices: str, *more: str) -> Any:
    """Return a hash of all that the times of a program on this machine depend on."""
    digest = hashlib.sha256()
    # Times of different builds must not be mixed.
    digest.update(program.read_bytes())
    digest.update(devices.encode())
    digest.update(os.uname().nodename.encode() + os.uname().release.encode())
    for text in more:
        digest.update(text.encode())
    return digest


def look_at(
    program: Path,
    device: str | None = None,
    mpirun: str | None = None,
    mpi_program: str | None = None,
    folder: str | None = None,
    name: str | None = None,
) -> Machine:
    """Inspect this machine. `device` is as in `paraes --device`; None takes the first real GPU."""
    devices, text = devices_of(program)
    gpu, reason = _choose_gpu(devices, device)
    digest = digest_of(program, text, folder or "")
    found = find_mpi_program(program, mpi_program)
    launcher = None
    mpi_reason: str | None = (
        "paraes-mpi was not found: build paraes with Open MPI or MPICH, or name it with "
        "--paraes-mpi PATH"
    )
    if found is not None:
        launcher, mpi_reason = find_launcher(found, mpirun)
        digest.update(found.read_bytes())
    return Machine(
        program=program,
        cores=len(os.sched_getaffinity(0)),
        gpu=str(gpu["id"]) if gpu else None,
        gpu_name=str(gpu["name"]) if gpu else None,
        gpu_is_cpu=bool(gpu) and bench.is_cpu_device(gpu or {}),
        gpu_reason=reason,
        identity=digest.hexdigest(),
        mpi=launcher,
        mpi_program=found,
        mpi_reason=mpi_reason,
        folder=folder,
        name=name,
    )


def find_mpi_program(program: Path, given: str | None) -> Path | None:
    """Find paraes-mpi: `given`, else PARAES_MPI_PROGRAM, else beside `program`, else on PATH.

    Beside it means in the same folder, or in mpi/ next to cli/ of a build tree. None if there is
    none.
    """
    wanted = given or os.environ.get("PARAES_MPI_PROGRAM")
    on_path = shutil.which("paraes-mpi")
    candidates = [program.parent / "paraes-mpi", program.parent.parent / "mpi" / "paraes-mpi"]
    candidates += [Path(on_path)] if on_path else []
    for path in [Path(wanted)] if wanted else candidates:
        if path.is_file() and os.access(path, os.X_OK):
            return path.resolve()
    if wanted:
        source = "--paraes-mpi" if given else "PARAES_MPI_PROGRAM"
        raise LabError(f"{source}: {wanted} is not a program that can be run", USAGE)
    return None


def _mpi_of(program: Path) -> str | None:
    """Tell which MPI the program is built with, from the names of the libraries in it.

    The launcher of another MPI would start unconnected jobs of one rank each.
    """
    names = set(re.findall(rb"libmpi(?:ch)?\.so\.\d+", program.read_bytes()))
    if names & {b"libmpich.so.12", b"libmpi.so.12"}:
        return "mpich"
    return "openmpi" if names else None


def find_launcher(program: Path, given: str | None) -> tuple[list[str] | None, str | None]:
    """Return (mpirun with its options, None) or (None, reason). `given` is used unchanged."""
    name = _mpi_of(program)
    names = [f"mpirun.{name}", "mpirun"] if name else ["mpirun"]
    launcher = shlex.split(given) if given else [n for n in names if shutil.which(n)][:1]
    if not launcher or shutil.which(launcher[0]) is None:
        wanted = launcher[0] if launcher else "mpirun"
        return None, f"{wanted} is not installed: install Open MPI or MPICH, or give --mpirun CMD"
    if given:
        return launcher, None
    try:
        version = _call([launcher[0], "--version"])
    except LabError as error:
        return None, str(error)
    if re.search("Open MPI|OpenRTE|open-mpi", version):
        # Open MPI counts cores rather than hardware threads, pins each rank to one core, and
        # refuses to run as root.
        launcher += ["--oversubscribe", "--bind-to", "none"]
        launcher += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return launcher, None


@dataclass
class Part:
    """The result of one run: bench JSON, and the command that made it.

    The command has the names of the programs without their folders: results are published, and
    should not show where somebody builds.
    """

    run: Run
    file: str | None
    command: list[str]
    report: dict[str, Any]
    fresh: bool = False
    papers: list[str] = field(default_factory=list)
    process: int = 0


def _command(run: Run, machine: Machine) -> list[str]:
    flags = run.arguments(machine.gpu)
    if machine.folder and run.scope == "file":
        flags += ["--dir", machine.folder]
    if machine.name:
        flags += ["--machine", machine.name]
    if run.ranks > 1:
        assert machine.mpi is not None
        return [*machine.mpi, "-n", str(run.ranks), str(machine.mpi_program), "bench", *flags]
    return [str(machine.program), "bench", *flags]


def _named(command: list[str], machine: Machine) -> list[str]:
    programs = {str(machine.program), str(machine.mpi_program)}
    return [Path(word).name if word in programs else word for word in command]


def part_file(run: Run, machine: Machine, process: int = 0) -> str:
    """Return the part's file name: readable, and unique for axes, machine, program and process."""
    words = [machine.identity, str(process), *_command(run, machine)]
    key = hashlib.sha256("\0".join(words).encode())
    names = [run.scope, *run.arguments(machine.gpu)[3].split(","), *run.kernels, str(run.size)]
    readable = "-".join("".join(c if c.isalnum() else "_" for c in name) for name in names)
    return f"{readable}-{process + 1}-{key.hexdigest()[:16]}.json"


def _empty(skipped: list[dict[str, Any]]) -> dict[str, Any]:
    return {"schema": 1, "seed": None, "context": {}, "results": [], "skipped": skipped}


@contextmanager
def _interruption_waits() -> Iterator[None]:
    """Delay KeyboardInterrupt to the end of the block."""
    held = []
    before = signal.signal(signal.SIGINT, lambda *_: held.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt


def _abandon(process: subprocess.Popen[str]) -> None:
    """End the bench after an interruption, ignoring further Ctrl-C until it has ended."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.terminate()
        process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _finish(command: list[str]) -> tuple[subprocess.Popen[str], str]:
    """Run `command` to its end; return the process and its standard error."""
    process = None
    try:
        # An interruption inside Popen could leave a child that nobody ends.
        with _interruption_waits():
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        return process, process.communicate()[1]
    except BaseException:
        if process is not None:
            _abandon(process)
        raise


def _error_line(stderr: str) -> str:
    """Pick the line that says what went wrong: the last of paraes, else the first of any.

    mpirun surrounds its errors with lines of dashes and explains at length.
    """
    lines = [line.strip() for line in stderr.splitlines() if line.strip("- \t")]
    own = [line for line in lines if line.startswith("paraes")]
    return own[-1] if own else lines[0] if lines else ""


def sweep(folder: Path) -> None:
    """Remove temporary files of killed processes from `folder`, but not those of running ones."""
    for path in folder.glob(".*.json.*"):
        pid = path.name.rpartition(".")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            path.unlink(missing_ok=True)


def _not_one_job(command: list[str], ranks: int) -> str:
    return (
        f"{command[0]} did not start {ranks} ranks as one job: it belongs to another MPI than "
        "paraes-mpi"
    )


def execute(command: list[str], target: Path, ranks: int = 1) -> tuple[dict[str, Any] | None, str]:
    """Run the bench with its JSON beside `target`, then rename that to `target`.

    Returns (report, "") or (report, error), and None for a report that is missing or unusable.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        try:
            process, stderr = _finish([*command, "--json", str(temporary)])
        except OSError as error:
            return None, f"{command[0]}: cannot run: {error.strerror}"
        failure = _error_line(stderr) or f"exit status {process.returncode}"
        if not temporary.is_file():
            return None, failure
        try:
            report = bench.parse(temporary.read_text(encoding="utf-8"), str(temporary))
            rows = bench.from_object(report, str(temporary)).rows
        except LabError as error:
            # Ranks that are not connected each write the file, at the same time.
            unconnected = ranks > 1 and process.returncode == 0
            return None, _not_one_job(command, ranks) if unconnected else str(error)
        if rows and not any(row.ranks == ranks for row in rows):
            return None, _not_one_job(command, ranks)
        os.replace(temporary, target)
        return report, "" if process.returncode == 0 else failure
    finally:
        temporary.unlink(missing_ok=True)


def kept(path: Path) -> dict[str, Any] | None:
    """Return the report of an earlier call, or None if it is absent or damaged."""
    if not path.is_file():
        return None
    try:
        report = bench.parse(path.read_text(encoding="utf-8"), str(path))
        bench.from_object(report, str(path))
    except (LabError, OSError, UnicodeDecodeError):
        return None
    return report


def make(
    run: Run, machine: Machine, folder: Path, warn: Callable[[str], None], process: int = 0
) -> Part:
    """Return the part of one process of a run: kept from an earlier call, or measured now.

    A run that is not possible or fails gives a part with skipped rows.
    """
    skipped: list[dict[str, Any]] = []
    rest: Run | None = run
    if run.on_gpu and machine.gpu is None:
        # Listed once, however many processes there are.
        skipped = [run.absent(machine.gpu_reason or "no GPU")] if process == 0 else []
        rest = run.without_gpu()
    if rest is not None and rest.ranks > 1 and machine.mpi_reason is not None:
        skipped += rest.skipped("cpu", machine.mpi_reason)
        rest = None
    if rest is None:
        return Part(run, None, [], _empty(skipped), process=process)
    command = _command(rest, machine)
    path = folder / part_file(rest, machine, process)
    report = kept(path)
    fresh = report is None
    if report is None:
        report, complaint = execute(command, path, rest.ranks)
        if complaint:
            warn(f"{rest.title(machine.gpu)}: {complaint}")
        if report is None:
            reason = f"the bench failed: {complaint}"
            device = machine.gpu if rest.on_gpu else "cpu"
            failed = _empty(skipped + rest.skipped(device, reason))
            return Part(run, None, _named(command, machine), failed, True, process=process)
    report = {**report, "skipped": [*report.get("skipped", []), *skipped]}
    return Part(run, path.name, _named(command, machine), report, fresh, process=process)


def _on_machine(run: Run, machine: Machine) -> Run | None:
    """Return the run without its GPU if the machine has none; None if nothing is left."""
    return run.without_gpu() if run.on_gpu and machine.gpu is None else run


def is_idle(run: Run, machine: Machine) -> bool:
    """Tell whether nothing of the run can be measured here."""
    rest = _on_machine(run, machine)
    return rest is None or (rest.ranks > 1 and machine.mpi_reason is not None)


def rounds(count: int, processes: int) -> list[list[int]]:
    """Return the order of `count` runs in each round: a round is one process of every run.

    So the processes of one run are spread over the whole time. The order changes from round to
    round, so that no run always follows the same other one, and is the same when resumed.
    """
    orders = []
    for number in range(processes):
        order = list(range(count))
        random.Random(number).shuffle(order)
        orders.append(order)
    return orders


def costs_of(
    runs: Sequence[Run], machine: Machine, folder: Path, processes: int
) -> dict[tuple[int, int], float]:
    """Estimate the seconds of every process of every run, by (run, process).

    Kept ones take none, and runs that nothing can be measured of are left out.
    """
    costs: dict[tuple[int, int], float] = {}
    for index, run in enumerate(runs):
        if is_idle(run, machine):
            continue
        rest = _on_machine(run, machine)
        for process in range(processes):
            there = (folder / part_file(rest or run, machine, process)).is_file()
            costs[index, process] = 0.0 if there else (rest or run).cost(machine.cores)
    return costs


def make_all(
    runs: Iterable[tuple[Run, list[str]]],
    machine: Machine,
    folder: Path,
    processes: int = 1,
    progress: Callable[[str, float, float], None] | None = None,
    warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
) -> list[Part]:
    """Make all runs in so many processes each, in rounds; `runs` lists each with its papers.

    `progress` is called before each process that has to be measured, with its title, the cost done
    so far and the total cost; kept ones cost nothing. A run that nothing can be measured of gives
    one part. The parts of a run follow each other in the result.
    """
    make_folder(folder)
    sweep(folder)
    listed = list(runs)
    costs = costs_of([run for run, _ in listed], machine, folder, processes)
    parts: dict[tuple[int, int], Part] = {}
    done, total = 0.0, sum(costs.values())
    with locked(folder):
        for process, order in enumerate(rounds(len(listed), processes)):
            for index in order:
                run, papers = listed[index]
                if process > 0 and is_idle(run, machine):
                    continue
                cost = costs.get((index, process), 0.0)
                if progress is not None and cost > 0:
                    progress(f"{process + 1}/{processes} {run.title(machine.gpu)}", done, total)
                part = make(run, machine, folder, warn, process)
                part.papers = papers
                parts[index, process] = part
                done += cost
    return [parts[key] for key in sorted(parts)]


def join(parts: list[Part], lab: dict[str, Any]) -> dict[str, Any]:
    """Join all parts into one bench JSON.

    `lab` says what they were measured for; its `parts` locate the rows of each part.
    """
    contexts = [p.report["context"] for p in parts if p.report["context"]]
    seeds = [p.report["seed"] for p in parts if p.report["seed"] is not None]
    clocks = [hz for context in contexts if (hz := context.get("clock_hz")) is not None]
    whole: dict[str, Any] = {
        "schema": bench.SCHEMA,
        "seed": seeds[0] if seeds else None,
        "context": contexts[0] if contexts else {},
        "lab": {**lab, "parts": []},
        "results": [],
        "skipped": [],
    }
    if clocks:
        whole["context"] = {**whole["context"], "clock_hz": statistics.median(clocks)}
    folders = [context["folder"] for context in contexts if context.get("folder")]
    if folders:  # only runs of file scope have one
        whole["context"] = {**whole["context"], "folder": folders[0]}
    for part in parts:
        whole["lab"]["parts"].append(
            {
                "file": part.file,
                "papers": part.papers,
                "command": part.command,
                "process": part.process,
                "seed": part.report["seed"],
                "time": part.report["context"].get("time"),
                "results": [len(whole["results"]), len(part.report["results"])],
                "skipped": [len(whole["skipped"]), len(part.report["skipped"])],
            }
        )
        whole["results"] += part.report["results"]
        whole["skipped"] += part.report["skipped"]
    return whole


def dumps(value: Any) -> str:
    """Return a value as the JSON text that this package writes."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
