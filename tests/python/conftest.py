"""Settings of all tests: the same examples every time, and no deadlines on a busy machine."""

import os
import signal
import sys
import tempfile
from pathlib import Path

import device_arrays
import pytest
from hypothesis import configuration, settings

sys.path.append(str(Path(__file__).parents[1] / "interop"))  # clients of the formats
# A shell without job control ignores SIGINT in what it starts in the background, and so would these
# tests.
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("python", derandomize=True, database=None, deadline=None,
                          max_examples=60)
settings.load_profile("python")
configuration.set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "paraes-python-hypothesis")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def opencl():
    """The first OpenCL device, and a stand-in for pyopencl."""
    try:
        made = device_arrays.OpenCl()
    except (OSError, RuntimeError) as error:
        if os.environ.get("PARAES_REQUIRE_DEVICE"):
            raise
        pytest.skip(f"there is no OpenCL device: {error}")
    device_arrays.install_pyopencl(made)
    return made
