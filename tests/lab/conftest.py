"""Fixtures: the fake machine, the real programs (PARAES_PROGRAM), Chromium, the command line."""

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import configuration, settings
from synthetic import fake_programs

from paraes.lab import cli, discovery

# A shell without job control ignores SIGINT in what it starts in the background, and so would these
# tests.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Use the same examples every time, leave no folder behind, and set no deadlines on a busy machine.
settings.register_profile("lab", derandomize=True, database=None, deadline=None)
settings.load_profile("lab")
configuration.set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "paraes-lab-hypothesis")


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A folder with fake paraes, paraes-mpi and mpirun (fake_paraes.py), and 4 cores."""
    folder = tmp_path / "fake"
    folder.mkdir()
    fake_programs(folder)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    for name in ("PARAES_PROGRAM", "PARAES_MPI_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(discovery.os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    return folder


@pytest.fixture
def program() -> Path:
    """The real paraes; skips without PARAES_PROGRAM."""
    path = os.environ.get("PARAES_PROGRAM")
    if not path:
        pytest.skip("PARAES_PROGRAM does not name the paraes program")
    return Path(path)


@pytest.fixture
def mpi_program(program) -> Path:
    """The real paraes-mpi; skips without it or its launcher."""
    path = discovery.find_mpi_program(program, None)
    if path is None:
        pytest.skip("no paraes-mpi: PARAES_MPI_PROGRAM does not name it, and none is beside paraes")
    _, reason = discovery.find_launcher(path, None)
    if reason is not None:
        pytest.skip(reason)
    if not Path("/sys/devices/system/cpu").is_dir():
        pytest.skip("MPI starts no rank without /sys, which is not mounted here")
    return path


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium; skips if it is not installed."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("chromium is not installed (apt-get install --no-install-recommends chromium)")
    return path


@pytest.fixture
def lab(capsys):
    """A function that runs the command line: (status, standard output, standard error)."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = cli.main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run
