"""Medians, intervals, tests and fits: published values, exact counts, coverage, and scipy."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, lsq_linear, nnls
from scipy.stats import binom, mannwhitneyu, median_abs_deviation, quantile_test
from scipy.stats import bootstrap as scipy_bootstrap

from paraes.lab import statistics
from paraes.lab.scaling import fit_amdahl, fit_gustafson, karp_flatt
from paraes.lab.statistics import (
    bootstrap,
    bootstrap_medians,
    compare,
    mad,
    mann_whitney,
    median_interval,
    percentiles,
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


# ------------------------------------------------------------------------------------------ scipy


samples = st.lists(st.floats(1, 1e6), min_size=1, max_size=60).map(np.array)
# Few different values, so that ties are common.
tied = st.lists(st.integers(1, 8).map(float), min_size=1, max_size=60).map(np.array)


@given(samples | tied, st.sampled_from([0.6, 0.9, 0.95, 0.99]))
def test_median_interval_is_that_of_scipy(values, confidence):
    interval = median_interval(values, confidence)
    n, ordered = values.size, np.sort(values)
    ks = [k for k in range(1, n // 2 + 1) if 1 - 2 * binom.cdf(k - 1, n, 0.5) >= confidence]
    k = max(ks, default=1)
    assert (interval.low, interval.high) == (ordered[k - 1], ordered[n - k])
    assert interval.coverage == pytest.approx(1 - 2 * binom.cdf(k - 1, n, 0.5), abs=1e-12)
    # scipy gives NaN where no interval reaches the confidence; ours is the whole range then.
    theirs = quantile_test(values, q=values[0]).confidence_interval(confidence)
    assert interval.low == theirs.low or (np.isnan(theirs.low) and not ks)
    assert interval.high == theirs.high or (np.isnan(theirs.high) and not ks)


@pytest.mark.parametrize("n", [1000, 1001, 5000])
def test_median_interval_of_many_samples_has_the_coverage_of_scipy(n):
    interval = median_interval(np.arange(n, dtype=float))
    k = int(interval.low) + 1
    assert interval.coverage == pytest.approx(1 - 2 * binom.cdf(k - 1, n, 0.5), rel=1e-9)
    assert 1 - 2 * binom.cdf(k, n, 0.5) < 0.95 <= interval.coverage


@given(samples | tied)
def test_mad_is_that_of_scipy(values):
    assert mad(values) == pytest.approx(median_abs_deviation(values), rel=1e-12)


@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=40, unique=True),
    st.floats(0, 1),
)
def test_mann_whitney_without_ties_is_the_exact_test_of_scipy(values, part):
    cut = min(max(1, round(part * len(values))), len(values) - 1)
    a, b = values[:cut], values[cut:]
    method = "exact" if len(a) <= 20 and len(b) <= 20 else "asymptotic"
    theirs = mannwhitneyu(a, b, method=method)
    u, p = mann_whitney(a, b)
    assert u == theirs.statistic
    assert p == pytest.approx(theirs.pvalue, rel=1e-9)


@given(tied, tied)
def test_mann_whitney_with_ties_is_the_asymptotic_test_of_scipy(a, b):
    u, p = mann_whitney(a, b)
    pooled = np.concatenate([a, b])
    few = a.size <= 20 and b.size <= 20
    exact = few and np.unique(pooled).size == pooled.size
    theirs = mannwhitneyu(a, b, method="exact" if exact else "asymptotic")
    assert u == theirs.statistic
    if np.unique(pooled).size == 1:
        assert p == 1.0  # scipy divides by zero
    else:
        assert p == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(20, 20), (21, 20), (100, 300)])
def test_mann_whitney_of_many_samples_is_that_of_scipy(n, m):
    rng = np.random.default_rng(5)
    for shift in (0.0, 0.3, 2.0):
        a, b = rng.exponential(1, n), rng.exponential(1, m) + shift
        theirs = mannwhitneyu(a, b, method="exact" if max(n, m) <= 20 else "asymptotic")
        assert mann_whitney(a, b) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)


@pytest.mark.parametrize("n", [7, 10, 21, 31])
def test_bootstrap_of_medians_agrees_with_scipy(n):
    rng = np.random.default_rng(n)
    values = np.sort(rng.exponential(1, n))
    ours = percentiles(bootstrap_medians(values, rng, 20000))
    theirs = scipy_bootstrap(
        (values,), np.median, n_resamples=20000, method="percentile", rng=np.random.default_rng(1)
    )
    # The medians of resamples are discrete: compare the ranks of the ends, which may be neighbours.
    for own, other in zip((ours.low, ours.high), theirs.confidence_interval, strict=True):
        share = (
            np.mean(theirs.bootstrap_distribution <= own),
            np.mean(theirs.bootstrap_distribution <= other),
        )
        assert share[0] == pytest.approx(share[1], abs=0.01) or own == pytest.approx(other)


@pytest.mark.parametrize(("n", "m"), [(7, 9), (21, 21)])
def test_bootstrap_of_a_ratio_of_medians_agrees_with_scipy(n, m):
    rng = np.random.default_rng(6)
    a, b = 100 + rng.exponential(5, n), 50 + rng.exponential(5, m)
    ours, _ = bootstrap([a, b], lambda x, y: x / y, replicates=20000)

    def ratio(x, y, axis):
        return np.median(x, axis=axis) / np.median(y, axis=axis)

    theirs = scipy_bootstrap(
        (a, b), ratio, n_resamples=20000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.05 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.05 * width)


workers = st.lists(st.integers(1, 64), min_size=2, max_size=8).filter(lambda p: len(set(p)) > 1)


@given(workers, st.data())
def test_amdahls_law_is_the_least_squares_fit_of_scipy(p, data):
    times = np.array(data.draw(st.lists(st.floats(1, 1e6), min_size=len(p), max_size=len(p))))
    fit = fit_amdahl(p, times[:, np.newaxis])
    # t = a + b/p with relative errors: (a + b/p) / t - 1.
    matrix = np.column_stack([1 / times, 1 / (np.array(p) * times)])
    (a, b), norm = nnls(matrix, np.ones(len(p)))
    assert fit.t1 == pytest.approx(a + b, rel=1e-6)
    assert fit.fraction == pytest.approx(a / (a + b), abs=1e-6)
    bounded = lsq_linear(matrix, np.ones(len(p)), bounds=(0, np.inf), method="bvls")
    ours = np.array([fit.t1 * fit.fraction, fit.t1 * (1 - fit.fraction)])
    residual = np.linalg.norm(matrix @ ours - 1)
    assert residual <= norm + 1e-9 and residual <= math.sqrt(2 * bounded.cost) + 1e-9
    if fit.residual is not None:
        assert fit.residual == pytest.approx(norm / math.sqrt(len(p)), abs=1e-9)


@given(st.lists(st.integers(2, 64), min_size=1, max_size=8), st.data())
def test_gustafsons_law_is_the_least_squares_fit_of_scipy(p, data):
    times = np.array(data.draw(st.lists(st.floats(1, 1e3), min_size=len(p), max_size=len(p))))
    base = data.draw(st.floats(1, 1e3))
    fit = fit_gustafson(p, times[:, np.newaxis], [base])
    over = np.array(p)
    # s = p - f (p - 1), relative to p.
    matrix, wanted = ((over - 1) / over)[:, np.newaxis], 1 - base / times
    (fraction,) = lsq_linear(matrix, wanted, bounds=(0, 1), tol=1e-14).x
    assert fit.fraction == pytest.approx(fraction, abs=1e-5)


@given(st.floats(0.5, 100), st.integers(2, 1000))
def test_karp_flatt_inverts_amdahls_law(s, p):
    # The fraction that Amdahl's law needs for this speedup, found by bisection.
    fraction = brentq(lambda f: (f + (1 - f) / p) * s - 1, -10, 10, xtol=1e-14)
    assert karp_flatt(s, p) == pytest.approx(fraction, abs=1e-9)
