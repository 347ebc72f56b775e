"""Helpers for the tests of paraes-mpi, in addition to tests/cli/support.py.

PARAES_BIN is paraes, whose results are the expected ones. PARAES_MPI is paraes-mpi, and
PARAES_MPIRUN the command that starts its ranks. PARAES_RESEAL names an executable that encrypts
with a given salt in one process; without it, the tests that need it are skipped. The tests use
/dev/shm if it exists."""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "cli"), str(TESTS / "faults")]

import support
from faults import in_namespace, on_small_disk, strace_reason
from help_texts import check_layout, examples  # for the tests
from support import BIN, DEADLINE, KEYS, LONG, Case, file_reports, pattern, restore_signals

PROGRAM = os.environ.get("PARAES_MPI", "")
LAUNCHER = shlex.split(os.environ.get("PARAES_MPIRUN", ""))
if not os.access(PROGRAM, os.X_OK) or not LAUNCHER:
    raise SystemExit(f"PARAES_MPI={PROGRAM!r} is not the executable paraes-mpi, or PARAES_MPIRUN "
                     "is empty; run the tests with ctest, which sets both")

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
KEY = ["--key-file", "k"]
MIB = 1 << 20
SEGMENT = 16384
RANKS = (1, 2, 3, 4, 7)
SHARED = ["--distribute", "shared"]
SCATTER = ["--distribute", "scatter"]
WAYS = (SHARED, SCATTER)
# A slow kernel, so that a fault hits the run between its first byte and its last.
SLOW = ["--kernel", "reference", "-T", "1"]
# The build of another MPI runs all.
SAMPLE = os.environ.get("PARAES_MPI_SAMPLE") == "1" and not LONG
with_one_mpi = unittest.skipIf(SAMPLE, "runs with the other MPI, and in long:mpi with each")
LIMIT = 10  # seconds within which all ranks must end after a fault
MARK = "RANKS_OF_TEST"
NO_STRACE = strace_reason()  # None where strace works

# Allows root and more ranks than cores, as containers need it. Skips the search for networks and
# batch systems, which takes longer than the runs. Open MPI 5 has renamed some of these variables:
# both names are here.
OPEN_MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "HWLOC_COMPONENTS": "-gl,-opencl",  # nor for displays and GPUs
    # The delay from the first rank that fails to SIGKILL for the others; one second by default.
    "OMPI_MCA_odls_base_sigkill_timeout": "0",
    "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
OPEN_MPI = re.search(rb"Open MPI|OpenRTE|open-mpi", subprocess.run(
    [*LAUNCHER, "--version"], capture_output=True, timeout=DEADLINE,
    env={**os.environ, **OPEN_MPI_ENVIRONMENT}).stdout) is not None

if not os.path.isdir("/sys/devices/system/cpu"):
    print("skipped: Open MPI and MPICH start no rank without /sys, which is not mounted here")
    raise SystemExit(77)


def environment(**more):
    """The environment of support.py, with a mark by which processes_of finds the processes."""
    sets = {**(OPEN_MPI_ENVIRONMENT if OPEN_MPI else {}), MARK: uuid.uuid4().hex, **more}
    # Slurm's variables describe the surrounding job, and would mislead the launcher.
    return {k: v for k, v in support.environment(**sets).items() if not k.startswith("SLURM_")}


def processes_of(env):
    """The processes that were started with `env`, as {pid: environment}."""
    mark = f"{MARK}={env[MARK]}".encode()
    found = {}
    for file in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            text = file.read_bytes().split(b"\0")
            if mark in text:
                found[int(file.parent.name)] = dict(item.split(b"=", 1) for item in text if b"=" in item)
    found.pop(os.getpid(), None)
    return found


def ranks_of(env, program=PROGRAM):
    """The ranks of a run that have started, as {rank: pid}."""
    found = {}
    for pid, its in processes_of(env).items():
        rank = its.get(b"OMPI_COMM_WORLD_RANK", its.get(b"PMIX_RANK", its.get(b"PMI_RANK")))
        try:
            same = os.path.samefile(f"/proc/{pid}/exe", program)
        except OSError:
            continue
        if same and rank is not None:
            found[int(rank)] = pid
    return found


def kill_all(env):
    for pid in processes_of(env):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def shared_memory():
    """The files of MPI libraries in /dev/shm. A killed rank cannot remove its own."""
    return {path for names in ("mpich_shar_tmp*", "ucx_shm_posix_*", "vader_segment*")
            for path in pathlib.Path("/dev/shm").glob(names)}


def remove_shared_memory(before):
    """Removes files that are newer than the set `before` and that no process has mapped."""
    used = set()
    for maps in pathlib.Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            used.update(re.findall(r"/dev/shm/\S+", maps.read_text()))
    for path in shared_memory() - before:
        if str(path) not in used:
            path.unlink(missing_ok=True)


def messages(text):
    """The error lines of paraes-mpi: no notes, no warnings, no lines of the launcher."""
    return [line for line in text.decode(errors="replace").splitlines()
            if line.startswith("paraes")
            and not line.split(": ", 1)[-1].startswith(("note:", "warning:"))]


class MpiCase(Case):
    """A test in a folder that contains two keys. `prefix` is a command that runs the launcher."""

    prefix = ()

    def setUp(self):
        above = pathlib.Path(tempfile.mkdtemp(prefix="paraes-mpi-", dir=MEMORY))
        self.addCleanup(shutil.rmtree, above, ignore_errors=True)
        self.dir = above / "files"
        self.dir.mkdir()
        # The launcher's TMPDIR: a killed launcher leaves files behind.
        self.scratch = above / "scratch"
        self.scratch.mkdir()
        self.write("k", KEYS[256])
        self.write("other", KEYS[256][::-1])

    def environment(self, **more):
        return environment(TMPDIR=str(self.scratch), **more)

    def command(self, ranks, *args, program=PROGRAM):
        return [*self.prefix, *LAUNCHER, "-n", str(ranks), program, *map(str, args)]

    def finish(self, command, stdin=None, env=None, limit=DEADLINE, **kwargs):
        """Runs a command to its end. After `limit` seconds, kills all its processes and fails."""
        env = self.environment(**(env or {}))
        source = {"stdin": subprocess.DEVNULL} if stdin is None else {"stdin": subprocess.PIPE}
        process = subprocess.Popen(command, cwd=self.dir, env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=restore_signals,
                                   **{**source, **kwargs})
        try:
            out, err = process.communicate(stdin, timeout=limit)
        except subprocess.TimeoutExpired:
            kill_all(env)
            out, err = process.communicate()
            self.fail(f"still running after {limit} s: {command}\n{out[-2000:]}\n{err.decode()}")
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def run_mpi(self, ranks, *args, **kwargs):
        return self.finish(self.command(ranks, *args), **kwargs)

    def at_work(self, command):
        """Starts a run, and returns it once its ranks are working."""
        run = Running(self, command)
        self.wait_for(run.at_work, "ranks at work")
        return run

    def mpi(self, ranks, *args, says=b"", **kwargs):
        """Runs paraes-mpi, expects success and `says` on standard error, returns standard output."""
        done = self.run_mpi(ranks, *args, **kwargs)
        self.assertEqual(done.returncode, 0, (args, done.stderr.decode()))
        self.assertIn(says, done.stderr)
        return done.stdout

    def mpi_fails(self, status, ranks, *args, says=(), **kwargs):
        """Runs paraes-mpi, expects `status` and one error line that contains all of `says`."""
        return self.failed(self.run_mpi(ranks, *args, **kwargs), status, says)

    def failed(self, done, status, says=()):
        text = done.stderr.decode()
        self.assertEqual(done.returncode, status, text)
        lines = messages(done.stderr)
        self.assertEqual(len(lines), 1, text)
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, lines[0])
        return done

    def mpmd(self, *parts, **kwargs):
        """One run whose ranks execute different commands, each given with its number of ranks."""
        command = [*self.prefix, *LAUNCHER]
        for i, (ranks, *args) in enumerate(parts):
            command += [":"] * (i > 0) + ["-n", str(ranks), *map(str, args)]
        return self.finish(command, **kwargs)

    def same(self, got, expected, what):
        """assertEqual with a short message for long byte strings."""
        self.assertEqual(len(got), len(expected), what)
        if got != expected:
            at = next(i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b)
            self.fail(f"{what}: byte {at} of {len(expected)} differs")

    def damage(self, name, *offsets):
        for at in offsets:
            super().damage(name, at)


class Running:
    """A run that continues while the test interferes with it."""

    def __init__(self, case, command, program=PROGRAM, **kwargs):
        self.case = case
        self.launcher_hung = False
        self.env = case.environment()
        self.program = program
        self.process = subprocess.Popen(
            command, cwd=case.dir, env=self.env, preexec_fn=restore_signals,
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
               "stderr": subprocess.PIPE, **kwargs})
        case.addCleanup(self.close)

    def close(self):
        kill_all(self.env)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def ranks(self):
        return ranks_of(self.env, self.program)

    def everything(self):
        return sorted(processes_of(self.env))

    def over(self):
        return self.process.poll() is not None

    def at_work(self):
        """Whether rank 0 has opened a file of the test, or the run has ended. Rank 0 opens files
        only after all ranks have met in MPI_Init. Tests must not kill a rank before that: the
        launcher of Open MPI 4 then sometimes waits for ever."""
        if self.over():
            return True
        try:
            files = list(pathlib.Path(f"/proc/{self.ranks()[0]}/fd").iterdir())
            return any(os.readlink(file).startswith(f"{self.case.dir.resolve()}/") for file in files)
        except (KeyError, OSError):
            return False

    def end(self, limit=LIMIT, launcher_may_hang=False):
        """Waits for the end of the launcher and of every rank; returns status and messages.

        With `launcher_may_hang` one of Open MPI that goes on without ranks is killed, and
        `launcher_hung` set: version 4 sometimes waits for ever for a rank that was killed while it
        ended.
        """
        start = time.monotonic()
        try:
            _, err = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            if launcher_may_hang and OPEN_MPI and not self.ranks():
                self.launcher_hung = True
                kill_all(self.env)
                _, err = self.process.communicate()
                return self.process.returncode, err or b""
            self.case.fail(f"still running {limit} s later, with ranks {sorted(self.ranks())}")
        while self.ranks():
            self.case.assertLess(time.monotonic(), start + limit, "ranks outlive their launcher")
            time.sleep(0.01)
        return self.process.returncode, err or b""
