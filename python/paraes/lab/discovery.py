"""Find the programs, the GPU and the launcher of MPI on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraes.lab import bench
from paraes.lab.errors import USAGE, LabError
from paraes.lab.rows import is_cpu_device

# The times of a GPU depend on these. Its memory is left out: PoCL reports what is free just now.
GPU_FACTS = ("name", "driver", "compiler", "target")


@dataclass
class Machine:
    """The machine and the programs. `cores` is how many threads can run at once.

    `identity` is a digest of the programs, the kind of machine and the folder: runs with different
    ones must not be mixed. Runs on the GPU depend on `gpu_facts`, too.
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
    processor: str = ""  # its name, family and model
    mpi_identity: str = ""  # a digest of paraes-mpi, for runs that need it
    device_is_given: bool = False  # by --device
    gpu_facts: tuple[str, ...] = ()  # the GPU's name, driver, compiler and target


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _named_program(given: str | None, source: str, variable: str) -> Path | None:
    """Return the program that is given, as `source` says in errors, else that of the variable."""
    wanted = given or os.environ.get(variable)
    if not wanted:
        return None
    if _is_program(Path(wanted)):
        return Path(wanted).resolve()
    source = source if given else variable
    raise LabError(f"{source}: {wanted} is not a program that can be run", USAGE)


def find_program(given: str | None, source: str = "--paraes") -> Path:
    """Find the program: `given`, else PARAES_PROGRAM, else the one on PATH.

    `source` says in errors who gave it.
    """
    if found := _named_program(given, source, "PARAES_PROGRAM") or shutil.which("paraes"):
        return Path(found).resolve()
    raise LabError(
        "paraes is not on PATH: install it, or name it with --paraes PATH (in a build tree: "
        "build/release/cli/paraes)"
    )


def _call(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"{command[0]}: cannot run: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise LabError(f"{' '.join(command[:2])}: {lines[-1]}")
    return done.stdout


def _processor(listed: dict[str, Any]) -> str:
    """Return the processor's name with its family and model, which tell virtual machines apart."""
    cpu = listed.get("cpu")
    words = [str(cpu.get("model"))] if isinstance(cpu, dict) else []
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        first = ""
    for name in ("cpu family", "model", "CPU implementer", "CPU part"):
        if found := re.search(rf"^{name}\s*:\s*(\S+)", first, re.MULTILINE):
            words.append(f"{name.removeprefix('cpu ')} {found[1]}")
    return ", ".join(words)


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
        if device.get("available") and not device.get("same_as") and not is_cpu_device(device):
            return device, None
    said = [f"{d['id']}: {d['reason']}" for d in devices if d.get("reason")]
    stand_ins = [str(d["id"]) for d in devices if d.get("available") and d.get("id") != "cpu"]
    reason = "this machine has no usable GPU"
    if said:
        reason += f" ({'; '.join(said)})"
    if stand_ins:
        reason += f"; --device {stand_ins[0]} runs the GPU kernels on the CPU instead"
    return None, reason


def _listed(program: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the devices that the program lists, and all that it says."""
    text = _call([str(program), "devices", "--json"])
    value = bench.parse(text, f"{program} devices --json")
    listed = value if isinstance(value, dict) else {}
    found = listed.get("devices", [])
    return [device for device in found if isinstance(device, dict)], listed


def devices_of(program: Path) -> tuple[list[dict[str, Any]], str]:
    """Return the devices that the program lists, and text that identifies them."""
    devices, _ = _listed(program)
    names = ("id", *GPU_FACTS, "available")
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
    devices, listed = _listed(program)
    gpu, reason = _choose_gpu(devices, device)
    cores = len(os.sched_getaffinity(0))
    processor = _processor(listed)
    # The host's name is left out: a measurement may continue on another machine of the same kind.
    digest = hashlib.sha256(program.read_bytes())
    for part in (processor, str(cores), folder or ""):
        digest.update(f"{part}\0".encode())
    found = find_mpi_program(program, mpi_program)
    launcher = None
    mpi_identity = ""
    mpi_reason: str | None = (
        "paraes-mpi was not found: build paraes with Open MPI or MPICH, or name it with "
        "--paraes-mpi PATH"
    )
    if found is not None:
        launcher, mpi_reason = find_launcher(found, mpirun)
        mpi_identity = hashlib.sha256(found.read_bytes()).hexdigest()
    return Machine(
        program=program,
        cores=cores,
        gpu=str(gpu["id"]) if gpu else None,
        gpu_name=str(gpu["name"]) if gpu else None,
        gpu_is_cpu=bool(gpu) and is_cpu_device(gpu or {}),
        gpu_reason=reason,
        identity=digest.hexdigest(),
        mpi_identity=mpi_identity,
        device_is_given=device is not None,
        mpi=launcher,
        mpi_program=found,
        mpi_reason=mpi_reason,
        folder=folder,
        name=name,
        processor=processor,
        gpu_facts=tuple(str(gpu.get(fact)) for fact in GPU_FACTS) if gpu else (),
    )


def find_mpi_program(program: Path, given: str | None) -> Path | None:
    """Find paraes-mpi: `given`, else PARAES_MPI_PROGRAM, else beside `program`, else on PATH.

    Beside it means in the same folder, or in mpi/ next to cli/ of a build tree. None if there is
    none.
    """
    if named := _named_program(given, "--paraes-mpi", "PARAES_MPI_PROGRAM"):
        return named
    on_path = shutil.which("paraes-mpi")
    candidates = [program.parent / "paraes-mpi", program.parent.parent / "mpi" / "paraes-mpi"]
    candidates += [Path(on_path)] if on_path else []
    return next((path.resolve() for path in candidates if _is_program(path)), None)


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
