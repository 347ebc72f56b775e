"""Medians, intervals, tests and fits: exact counts, coverage, and scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import lsq_linear, nnls
from scipy.stats import binom, median_abs_deviation, quantile_test
from scipy.stats import bootstrap as scipy_bootstrap

from paraes.lab import statistics
from paraes.lab.scaling import fit_amdahl, fit_gustafson
from paraes.lab.statistics import (
    Interval,
    mad,
    median_interval,
    part_medians,
    percentiles,
    ratio_of_pairs,
    ratio_of_two,
    resampled,
)


def test_median_interval_of_few_samples_states_its_coverage():
    interval = median_interval([3.0, 1.0, 2.0])
    assert (interval.low, interval.high, interval.coverage) == (1.0, 3.0, 0.75)
    assert median_interval([5.0]).coverage == 0.0


def test_resampled_medians_are_the_same_every_time():
    groups = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 3.0, 5.0, 7.0, 8.0, 9.0]]
    for first, second in zip(resampled(groups), resampled(groups), strict=True):
        assert np.array_equal(first, second)


LEVELS = (0.05, 0.01, 0.05 / 321)


def check_ends(found, alpha, p_of):
    """Shift one group to each end of the interval: scipy's p passes alpha there, and only there."""
    for end, outward in ((found.low, 1 - 1e-9), (found.high, 1 + 1e-9)):
        assert p_of(end * outward) <= alpha < p_of(end / outward)


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize(("n", "m"), [(6, 6), (8, 8), (7, 9), (21, 21), (40, 35)])
def test_ratio_of_two_holds_what_scipy_does_not_reject(n, m, alpha):
    rng = np.random.default_rng(n * 100 + m)
    over, under = np.exp(rng.normal(0.3, 0.2, m)), np.exp(rng.normal(0, 0.1, n))
    found = ratio_of_two(over, under, alpha).interval
    if found is None:
        # Even complete separation is not significant at this level.
        p = stats.mannwhitneyu(np.arange(n), np.arange(m) + n, method="exact").pvalue
        assert p > alpha
        return
    method = "exact" if n + m <= 60 else "asymptotic"
    check_ends(
        found, alpha, lambda r: stats.mannwhitneyu(over / r, under, method=method).pvalue
    )


@pytest.mark.parametrize("alpha", LEVELS)
@pytest.mark.parametrize("n", [6, 8, 12, 21, 60])
def test_ratio_of_pairs_holds_what_scipy_does_not_reject(n, alpha):
    rng = np.random.default_rng(n)
    under = np.exp(rng.normal(0, 0.5, n))
    over = under * np.exp(rng.normal(0.3, 0.1, n))
    found = ratio_of_pairs(over, under, alpha).interval
    if found is None:
        assert 2.0 ** (1 - n) > alpha
        return
    check_ends(
        found, alpha, lambda r: stats.wilcoxon(np.log(over / under / r), method="exact").pvalue
    )


def test_ratio_estimates_are_medians_of_all_pairs():
    over, under = [2.0, 4.0, 9.0], [1.0, 3.0]
    ratios = [a / b for a in over for b in under]
    assert ratio_of_two(over, under).value == pytest.approx(math.exp(np.median(np.log(ratios))))
    d = np.log([2.0, 4.0 / 3, 9.0 / 2])
    walsh = [(d[i] + d[j]) / 2 for i in range(3) for j in range(i, 3)]
    assert ratio_of_pairs([2, 4, 9], [1, 3, 2]).value == pytest.approx(math.exp(np.median(walsh)))


@pytest.mark.parametrize("estimate", [ratio_of_two, ratio_of_pairs])
def test_ratios_of_fewer_than_6_units_have_no_interval(estimate):
    # The Mann–Whitney test could decide 4 against 4 at 5 %, but 4 processes are too few to trust.
    assert estimate([5.0] * 5, [1.0] * 5).interval is None
    assert estimate([5.0] * 6, [1.0] * 6).interval is not None


def test_8_against_8_decide_321_rows_at_once_and_no_more():
    a, b = np.arange(1.0, 9.0), np.arange(10.0, 18.0)
    assert ratio_of_two(b, a, 0.05 / 321).interval is not None
    assert ratio_of_two(b, a, 0.05 / 322).interval is None


@pytest.mark.parametrize("size", [30, 2000])
def test_ratio_of_many_samples_needs_no_list_of_all_differences(size, monkeypatch):
    rng = np.random.default_rng(4)
    over, under = rng.lognormal(0.1, 0.2, size), rng.lognormal(0, 0.2, size)
    monkeypatch.setattr(statistics, "MOST_DIFFERENCES", 10**9)
    listed = ratio_of_two(over, under)
    monkeypatch.setattr(statistics, "MOST_DIFFERENCES", 1)
    counted = ratio_of_two(over, under)
    assert counted.value == pytest.approx(listed.value, rel=1e-12)
    assert counted.interval.low == pytest.approx(listed.interval.low, rel=1e-12)
    assert counted.interval.high == pytest.approx(listed.interval.high, rel=1e-12)


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


@pytest.mark.parametrize(("n", "m"), [(6, 9), (20, 21)])
def test_bootstrap_of_a_ratio_of_medians_agrees_with_scipy(n, m):
    rng = np.random.default_rng(6)
    a, b = 100 + rng.exponential(5, n), 50 + rng.exponential(5, m)
    of_a, of_b = resampled([a, b], 20000)
    ours = percentiles(of_a / of_b)

    def ratio(x, y, axis):
        return np.median(x, axis=axis) / np.median(y, axis=axis)

    theirs = scipy_bootstrap(
        (a, b), ratio, n_resamples=20000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.05 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.05 * width)


# One worker and at least two larger numbers.
workers = st.lists(st.integers(2, 64), min_size=2, max_size=7, unique=True).map(lambda p: [1, *p])


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
    assert fit.residual == pytest.approx(norm / math.sqrt(len(p)), abs=1e-9)


@given(st.lists(st.integers(2, 64), min_size=2, max_size=8, unique=True), st.data())
def test_gustafsons_law_is_the_least_squares_fit_of_scipy(p, data):
    times = np.array(data.draw(st.lists(st.floats(1, 1e3), min_size=len(p), max_size=len(p))))
    base = data.draw(st.floats(1, 1e3))
    fit = fit_gustafson(p, times[:, np.newaxis], [base])
    over = np.array(p)
    # s = p - f (p - 1), relative to p.
    matrix, wanted = ((over - 1) / over)[:, np.newaxis], 1 - base / times
    (fraction,) = lsq_linear(matrix, wanted, bounds=(0, 1), tol=1e-14).x
    assert fit.fraction == pytest.approx(fraction, abs=1e-5)


def test_medians_of_parts_keep_the_order_of_time():
    assert list(part_medians([1, 2, 9, 4, 5, 6])) == [2, 5]
    assert list(part_medians([1, 2])) == [1.5]
    assert part_medians(np.arange(29)).size == 9 and part_medians(np.arange(1000)).size == 10


def test_a_widened_interval_is_a_factor_longer_at_both_ends():
    wide = Interval(0.8, 1.2, 0.99).widened(1.25)
    assert (wide.low, wide.high, wide.coverage) == pytest.approx((0.64, 1.5, 0.99))
