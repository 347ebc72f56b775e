"""Medians, intervals and tests, against published values, exact counts and coverage."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraes.lab import statistics
from paraes.lab.statistics import (
    bootstrap,
    bootstrap_medians,
    compare,
    mad,
    mann_whitney,
    median_interval,
)

times = st.lists(st.floats(1, 1e6), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("n", "k", "coverage"),
    # From the binomial distribution, see Conover, Practical Nonparametric Statistics.
    [
        (6, 1, 0.96875),
        (7, 1, 0.984375),
        (10, 2, 0.978516),
        (21, 6, 0.973396),
        (31, 10, 0.970551),
        (100, 40, 0.9648),
    ],
)
def test_median_interval_matches_published_tables(n, k, coverage):
    interval = median_interval(list(range(1, n + 1)))
    assert (interval.low, interval.high) == (k, n + 1 - k)
    assert interval.coverage == pytest.approx(coverage, abs=1e-5)


def test_median_interval_of_few_samples_states_its_coverage():
    interval = median_interval([3.0, 1.0, 2.0])
    assert (interval.low, interval.high, interval.coverage) == (1.0, 3.0, 0.75)
    assert median_interval([5.0]).coverage == 0.0


@given(times)
def test_median_interval_contains_the_median(samples):
    assert np.median(samples) in median_interval(samples)


def test_median_interval_covers_as_often_as_stated():
    rng = np.random.default_rng(1)
    draws = rng.exponential(1, (4000, 15))
    true = math.log(2)
    covered = sum(true in median_interval(draw) for draw in draws) / 4000
    expected = median_interval(np.arange(15.0)).coverage
    assert covered == pytest.approx(expected, abs=0.012)


def test_mad_is_the_median_of_absolute_deviations():
    assert mad([1, 1, 2, 2, 4, 6, 9]) == 1


@pytest.mark.parametrize("n", [1, 2, 5, 6, 31])
def test_bootstrap_medians_are_distributed_as_by_resampling(n):
    rng = np.random.default_rng(2)
    samples = rng.exponential(1, n)
    direct = bootstrap_medians(samples, rng, 40000)
    resampled = np.median(samples[rng.integers(0, n, (40000, n))], axis=1)
    probes = [0.05, 0.25, 0.5, 0.75, 0.95]
    spread = max(float(np.ptp(samples)), 1e-9)
    for quantile in probes:
        # Compares shares below a value, because quantiles of a discrete distribution jump.
        value = np.quantile(resampled, quantile) + spread * 1e-9
        assert np.mean(direct <= value) == pytest.approx(np.mean(resampled <= value), abs=0.015)


def test_bootstrap_gives_the_same_interval_every_time():
    a, b = [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0]
    first, _ = bootstrap([a, b], lambda x, y: y / x)
    second, _ = bootstrap([a, b], lambda x, y: y / x)
    assert first == second


def by_counting(a, b):
    """Return the two-sided p from all orders."""
    pool = sorted([*a, *b])
    n, m = len(a), len(b)

    def u_of(chosen):
        return sum(i for i in chosen) - n * (n - 1) / 2

    observed = u_of([pool.index(x) for x in a])
    us = [u_of(c) for c in combinations(range(n + m), n)]
    low = min(observed, n * m - observed)
    return min(1.0, 2 * sum(u <= low for u in us) / len(us))


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=11, unique=True), st.integers(2, 8))
def test_mann_whitney_of_few_samples_is_exact(values, cut):
    cut = min(cut, len(values) - 2)
    a, b = values[:cut], values[cut:]
    assert mann_whitney(a, b)[1] == pytest.approx(by_counting(a, b), rel=1e-9)


def test_mann_whitney_with_ties_matches_scipy():
    # From scipy.stats.mannwhitneyu(a, b, method="asymptotic").
    a = [1, 2, 2, 3, 3, 3, 4, 5, 5, 6]
    b = [3, 4, 4, 5, 6, 6, 7, 7, 8, 9]
    u, p = mann_whitney(a, b)
    assert u == 15.5
    assert p == pytest.approx(0.00949586, rel=1e-5)


def test_compare_of_equal_samples_is_undecided():
    assert compare([5.0] * 9, [5.0] * 9).verdict == "undecided"
    assert mann_whitney([1, 1], [1, 1])[1] == 1.0


def test_compare_decides_faster_slower_and_undecided():
    base = [100.0 + i for i in range(11)]
    half = [50.0 + i / 2 for i in range(11)]
    c = compare(half, base)
    assert (c.verdict, c.ratio) == ("faster", pytest.approx(2.0))
    assert compare(base, half).verdict == "slower"
    assert compare(base, [x + 0.5 for x in base]).verdict == "undecided"


def test_compare_is_undecided_if_only_the_ranks_differ():
    # Same medians with tails on different sides.
    a, b = [10.0] * 6 + [1.0] * 5, [10.0] * 6 + [20.0] * 5
    assert mann_whitney(a, b)[1] < 0.05
    assert compare(a, b).verdict == "undecided"


def test_compare_of_three_samples_each_is_undecided():
    # p is at least 0.1, however far apart they are.
    assert compare([1.0, 1.1, 1.2], [9.0, 9.1, 9.2]).verdict == "undecided"


def test_compare_rarely_decides_for_equal_distributions():
    rng = np.random.default_rng(3)
    decided = sum(
        compare(rng.exponential(1, 21), rng.exponential(1, 21)).verdict != "undecided"
        for _ in range(400)
    )
    assert decided / 400 <= 0.06


def test_bootstrap_seed_is_a_constant():
    assert isinstance(statistics.SEED, int)
