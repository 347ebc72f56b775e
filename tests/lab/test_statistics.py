"""Medians, intervals, tests: against published values, exact counts, and coverage."""

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
    # k and coverage from the binomial distribution, e.g. Conover, Practical Nonparametric Statistics.
    [
        (6, 1, 0.96875),
        (7, 1, 0.984375),
        (10, 2, 0.978516),
        (21, 6, 0.973396),
        (31, 10, 0.970551),
        (100, 40, 0.9648),
    ],
)
def test_interval_of_the_median_is_that_of_the_tables(n, k, coverage):
    interval = median_interval(list(range(1, n + 1)))
    assert (interval.low, interval.high) == (k, n + 1 - k)
    assert interval.coverage == pytest.approx(coverage, abs=1e-5)


def test_too_few_samples_say_what_they_are_worth():
    interval = median_interval([3.0, 1.0, 2.0])
    assert (interval.low, interval.high, interval.coverage) == (1.0, 3.0, 0.75)
    assert median_interval([5.0]).coverage == 0.0


@given(times)
def test_interval_holds_the_median(samples):
    assert np.median(samples) in median_interval(samples)


def test_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(1)
    draws = rng.exponential(1, (4000, 15))
    true = math.log(2)
    covered = sum(true in median_interval(draw) for draw in draws) / 4000
    expected = median_interval(np.arange(15.0)).coverage
    assert covered == pytest.approx(expected, abs=0.012)


def test_mad_is_the_median_distance():
    assert mad([1, 1, 2, 2, 4, 6, 9]) == 1


@pytest.mark.parametrize("n", [1, 2, 5, 6, 31])
def test_direct_bootstrap_is_that_of_resampling(n):
    rng = np.random.default_rng(2)
    samples = rng.exponential(1, n)
    direct = bootstrap_medians(samples, rng, 40000)
    resampled = np.median(samples[rng.integers(0, n, (40000, n))], axis=1)
    probes = [0.05, 0.25, 0.5, 0.75, 0.95]
    spread = max(float(np.ptp(samples)), 1e-9)
    for quantile in probes:
        # Compared as shares below a value: a quantile of a discrete distribution may jump.
        value = np.quantile(resampled, quantile) + spread * 1e-9
        assert np.mean(direct <= value) == pytest.approx(np.mean(resampled <= value), abs=0.015)


def test_bootstrap_repeats_itself():
    a, b = [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 5.0]
    first, _ = bootstrap([a, b], lambda x, y: y / x)
    second, _ = bootstrap([a, b], lambda x, y: y / x)
    assert first == second


def by_counting(a, b):
    """Two-sided p by trying every order."""
    pool = sorted([*a, *b])
    n, m = len(a), len(b)

    def u_of(chosen):
        return sum(i for i in chosen) - n * (n - 1) / 2

    observed = u_of([pool.index(x) for x in a])
    us = [u_of(c) for c in combinations(range(n + m), n)]
    low = min(observed, n * m - observed)
    return min(1.0, 2 * sum(u <= low for u in us) / len(us))


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=11, unique=True), st.integers(2, 8))
def test_mann_whitney_is_exact(values, cut):
    cut = min(cut, len(values) - 2)
    a, b = values[:cut], values[cut:]
    assert mann_whitney(a, b)[1] == pytest.approx(by_counting(a, b), rel=1e-9)


def test_mann_whitney_with_ties_is_the_published_normal_one():
    # scipy.stats.mannwhitneyu(a, b, method="asymptotic") of these.
    a = [1, 2, 2, 3, 3, 3, 4, 5, 5, 6]
    b = [3, 4, 4, 5, 6, 6, 7, 7, 8, 9]
    u, p = mann_whitney(a, b)
    assert u == 15.5
    assert p == pytest.approx(0.00949586, rel=1e-5)


def test_equal_samples_are_undecided():
    assert compare([5.0] * 9, [5.0] * 9).verdict == "undecided"
    assert mann_whitney([1, 1], [1, 1])[1] == 1.0


def test_faster_slower_and_undecided():
    base = [100.0 + i for i in range(11)]
    half = [50.0 + i / 2 for i in range(11)]
    c = compare(half, base)
    assert (c.verdict, c.ratio) == ("faster", pytest.approx(2.0))
    assert compare(base, half).verdict == "slower"
    assert compare(base, [x + 0.5 for x in base]).verdict == "undecided"


def test_the_test_alone_does_not_decide():
    # Same median, tails on different sides: the ranks differ, the medians do not.
    a, b = [10.0] * 6 + [1.0] * 5, [10.0] * 6 + [20.0] * 5
    assert mann_whitney(a, b)[1] < 0.05
    assert compare(a, b).verdict == "undecided"


def test_too_few_samples_decide_nothing():
    # Three against three cannot have p < 0.05, however far apart they are.
    assert compare([1.0, 1.1, 1.2], [9.0, 9.1, 9.2]).verdict == "undecided"


def test_same_distribution_is_rarely_decided():
    rng = np.random.default_rng(3)
    decided = sum(
        compare(rng.exponential(1, 21), rng.exponential(1, 21)).verdict != "undecided"
        for _ in range(400)
    )
    assert decided / 400 <= 0.06


def test_seed_is_fixed():
    assert isinstance(statistics.SEED, int)
