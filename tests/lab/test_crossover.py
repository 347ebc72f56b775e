"""Crossovers of two series of times: exact ones, none in the range, and noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraes.lab.crossover import crossover

SIZES = [1 << k for k in range(10, 31, 2)]


def lines(sizes, overhead, slope, width=0.0, n=9):
    noise = np.linspace(-width, width, n)
    return {s: (overhead + slope * s) * (1 + noise) for s in sizes}


@given(st.floats(1e4, 1e8), st.floats(1.5, 3.0))
def test_power_laws_cross_exactly(at, power):
    # Power laws are straight lines in the logarithms, which the interpolation assumes.
    cpu = {s: np.array([s**power]) for s in SIZES}
    gpu = {s: np.array([at ** (power - 1) * s]) for s in SIZES}
    assert crossover(cpu, gpu, replicates=1).size == pytest.approx(at, rel=1e-6)


def test_affine_times_cross_near_the_exact_size():
    found = crossover(lines(SIZES, 1000, 10), lines(SIZES, 100000, 1))
    assert found.size == pytest.approx(11000, rel=0.05)
    assert found.between == (4096, 16384)
    assert found.changes == 1
    assert found.share == 1.0
    assert found.interval.low == pytest.approx(found.interval.high)


@pytest.mark.parametrize(("factor", "word"), [(0.5, "faster"), (2.0, "slower")])
def test_no_crossover_in_the_range_has_a_verdict(factor, word):
    cpu = lines(SIZES, 0, 1)
    gpu = {s: v * factor for s, v in cpu.items()}
    found = crossover(cpu, gpu)
    assert found.size is None and found.interval is None
    assert found.verdict == f"none in the range: {word} at every size"
    assert found.measured == (SIZES[0], SIZES[-1])


def test_faster_in_the_middle_only_is_no_crossover():
    cpu = lines(SIZES, 0, 1)
    gpu = {s: v * (0.5 if 1 << 16 <= s <= 1 << 20 else 2.0) for s, v in cpu.items()}
    found = crossover(cpu, gpu)
    assert found.size is None and found.changes == 2
    assert "in the middle only" in found.verdict


def test_of_several_crossovers_the_last_counts():
    cpu = lines(SIZES, 0, 1)
    gpu = {s: v * (2.0 if s == 1 << 20 or s < 1 << 14 else 0.5) for s, v in cpu.items()}
    found = crossover(cpu, gpu)
    assert found.changes == 3
    assert found.between == (1 << 20, 1 << 22)


def test_share_counts_the_replicates_with_a_crossover():
    cpu = {1024: np.full(9, 100.0), 4096: np.linspace(90, 112, 9)}
    gpu = {1024: np.full(9, 200.0), 4096: np.full(9, 100.0)}
    found = crossover(cpu, gpu)
    assert found.size is not None
    assert 0.3 < found.share < 1.0


def test_one_common_size_gives_no_crossover():
    assert crossover(lines([1024], 1, 1), lines(SIZES, 1, 1)) is None


def test_a_crossover_of_too_few_units_has_no_interval():
    few = crossover(lines(SIZES, 1000, 10, 0.2, n=5), lines(SIZES, 100000, 1, 0.2, n=5))
    assert few.size is not None and few.interval is None and few.share is None
    other = (lines(SIZES, 1000, 10, 0.2), lines(SIZES, 100000, 1, 0.2))
    assert crossover(*other, interval=False).interval is None
    enough = crossover(*other)
    assert enough.interval.low < enough.size < enough.interval.high
    assert 11000 in enough.interval


def test_what_is_particular_to_a_process_is_in_all_of_its_sizes():
    """The interval is wider than if each size had processes of its own."""
    rng = np.random.default_rng(2)
    shared = rng.lognormal(0, 0.1, 9)
    sizes = SIZES[:4]
    gpu = {s: (20000.0 + s) * rng.lognormal(0, 0.01, 9) for s in sizes}
    together = {s: 4.0 * s * shared * rng.lognormal(0, 0.02, 9) for s in sizes}
    apart = {s: rng.permutation(times) for s, times in together.items()}

    def width(cpu):
        ends = crossover(cpu, gpu).interval
        return np.log(ends.high / ends.low)

    assert width(together) > 1.1 * width(apart)


def test_a_crossover_in_noise_has_no_interval():
    """Equally fast but for noise: about half of the resamples cross."""
    rng = np.random.default_rng(1)
    one, other = ({s: s * rng.lognormal(0, 0.05, 9) for s in SIZES[:3]} for _ in range(2))
    found = crossover(one, other)
    assert 0.025 < found.share < 0.975 and found.interval is None
