"""The programs of GPU kernels for NVIDIA's chips, taken apart, for tests that have bench/gpu_model
on their path. PARAES_GPU_SOURCE names paraes_gpu_source; KERNELS and CHIPS say what is tested,
separated by commas. A test fails without NVRTC or nvdisasm: ctest starts it only if both are there.
"""

import functools
import os
import random

import programs
import pytest

KERNELS = os.environ["KERNELS"].split(",")
CHIPS = os.environ["CHIPS"].split(",")
CASES = [(kernel, chip) for kernel in KERNELS for chip in CHIPS]
# The GHASH of the tensor cores, which sm_80 to sm_90 have. It is the same in all kernels, and this
# one compiles quickly.
TENSOR_CASES = [
    (kernel, chip)
    for kernel, chip in CASES
    if kernel == "ttable" and chip in ("sm_80", "sm_86", "sm_89", "sm_90")
]
LONG = os.environ.get("PARAES_LONG") == "1"


@functools.cache
def program_of(kernel, chip, *changes):
    return programs.build(os.environ["PARAES_GPU_SOURCE"], kernel, chip, changes)


def name_of(case):
    return ".".join(case)


def fixture(cases, *changes):
    """A fixture that is the program of each of these cases."""

    @pytest.fixture(params=cases, ids=name_of)
    def program(request):
        return program_of(*request.param, *changes)

    return program


@pytest.fixture
def generator(request):
    return random.Random(request.node.name)
