"""Speedup, Karp–Flatt, Amdahl and Gustafson: formulas, fits, and the series found in reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import loaded, merged, report, row

from paraes.lab.scaling import (
    amdahl,
    fit_amdahl,
    fit_gustafson,
    gustafson,
    karp_flatt,
    scalings,
    weak_scalings,
)

fractions = st.floats(0.0, 1.0)
workers = st.integers(2, 4096)


@given(fractions, workers)
def test_karp_flatt_inverts_amdahl(f, p):
    assert karp_flatt(amdahl(f, p), p) == pytest.approx(f, abs=1e-9)


@given(fractions, workers)
def test_speedups_of_the_laws_are_between_one_and_ideal(f, p):
    for law in (amdahl, gustafson):
        assert 1 - 1e-9 <= law(f, p) <= p + 1e-9


def test_karp_flatt_rejects_one_worker():
    with pytest.raises(ValueError, match="more than one"):
        karp_flatt(1.0, 1)


def one_each(times):
    return [[t] for t in times]


@given(fractions, st.floats(1e3, 1e9))
def test_fit_amdahl_recovers_an_exact_law(f, t1):
    p = [1, 2, 4, 8]
    fit = fit_amdahl(p, one_each(t1 / amdahl(f, n) for n in p))
    assert fit.fraction == pytest.approx(f, abs=1e-6)
    assert fit.residual < 1e-6
    time, interval = fit.time(16)
    assert time == pytest.approx(t1 / amdahl(f, 16), rel=1e-5)
    assert interval is None  # of one sample each
    assert fit.speedup(16)[0] == pytest.approx(amdahl(f, 16), rel=1e-5)


def test_fit_amdahl_of_superlinear_times_has_fraction_zero():
    fit = fit_amdahl([1, 2, 4], one_each([100, 40, 15]))
    assert fit.fraction == 0.0
    assert fit.residual > 0.05
    assert fit.speedup(32) == (32.0, None)


def test_fit_amdahl_of_rising_times_has_fraction_one():
    assert fit_amdahl([1, 2, 4], one_each([100, 110, 130])).fraction == 1.0


def test_predictions_have_the_intervals_of_the_fitted_samples():
    # Two ranks take 50 or 60 of 100, and four 25 or 40: serial fraction 0 or 0.2.
    times = [[100.0] * 9, [50.0] * 5 + [60.0] * 4, [25.0] * 5 + [40.0] * 4]
    fit = fit_amdahl([1, 2, 4], times)
    assert fit.points == 2
    # Amdahl's law passes near both pairs, not through them.
    assert (fit.interval.low, fit.interval.high) == pytest.approx((0, 0.2), abs=0.01)
    worst = fit.interval.high
    speedup_32, interval = fit.speedup(32)
    assert speedup_32 == pytest.approx(32)
    assert (interval.low, interval.high) == pytest.approx((amdahl(worst, 32), 32))
    time, interval = fit.time(32)
    assert time == pytest.approx(100 / 32)
    assert interval.low == pytest.approx(100 / 32)
    assert interval.high == pytest.approx(100 / amdahl(worst, 32), rel=0.05)


def test_predictions_from_samples_that_are_no_units_have_no_interval():
    times = [[100.0] * 9, [50.0] * 9, [25.0] * 9]
    fit = fit_amdahl([1, 2, 4], times, interval=False)
    assert fit.interval is None and fit.time(8)[1] is None
    assert fit_gustafson([1, 2, 4], times, times[0], interval=False).interval is None


def test_one_point_above_one_worker_gives_no_fit():
    assert fit_amdahl([1, 2], one_each([100, 60])) is None
    assert fit_amdahl([2, 4, 8], one_each([60, 40, 30])) is None  # no base
    assert fit_gustafson([1], [[1]], [1]) is None
    assert fit_gustafson([1, 2], [[100.0] * 9, [110.0] * 9], [100.0] * 9) is None


def series(fraction=0.1, kernel="reference", t1=1e6, counts=(1, 2, 4, 8), **axes):
    return [row(ns=t1 / amdahl(fraction, p), threads=p, kernel=kernel, **axes) for p in counts]


def test_scalings_recover_a_known_serial_fraction():
    report = loaded(*series(0.1), row(kernel="ttable", ns=5e5))
    (found,) = scalings(report.valid, cores=4)
    assert [p.workers for p in found.points] == [1, 2, 4, 8]
    assert [p.more_than_cores for p in found.points] == [False, False, False, True]
    base = found.points[0]
    assert (base.speedup, base.speedup_interval, base.karp_flatt) == (1.0, None, None)
    for p in found.points[1:]:
        assert p.karp_flatt == pytest.approx(0.1, abs=1e-9)
        assert p.karp_flatt in p.karp_flatt_interval
        assert p.efficiency == pytest.approx(amdahl(0.1, p.workers) / p.workers)
        assert p.speedup in p.speedup_interval
    # This compares with the best serial kernel, which is twice as fast.
    assert found.points[2].best_serial == pytest.approx(amdahl(0.1, 4) / 2)
    assert found.fit.fraction == pytest.approx(0.1, abs=1e-6)
    assert found.fit.points == 2  # 2 and 4 threads: 8 on 4 cores are left out


def test_superlinear_speedups_are_marked():
    rows = [row(ns=1e6, threads=1), row(ns=3e5, threads=2)]
    (found,) = scalings(loaded(*rows).valid)
    assert found.points[1].superlinear == "yes"
    noisy = [
        row(samples_ns=[9e5, 1e6, 1.3e6] * 3),
        row(samples_ns=[4e5, 4.9e5, 9e5] * 3, threads=2),
    ]
    (found,) = scalings(loaded(*noisy).valid)
    assert found.points[1].superlinear == "within noise"


def test_executors_are_separate_series():
    ours = [row(ns=60, threads=2), row(ns=40, threads=4)]
    openmp = [row(ns=80, threads=2, executor="openmp"), row(ns=70, threads=4, executor="openmp")]
    rows = loaded(row(ns=100), *openmp, *ours).valid
    found = {
        s.points[-1].row.executor: [p.row.median_ns for p in s.points] for s in scalings(rows)
    }
    assert found == {"threads": [100, 60, 40], "openmp": [100, 80, 70]}


def test_weak_scalings_separate_executors():
    rows = [row(ns=1000, bytes=1024)]
    for executor, f in (("openmp", 0.5), ("threads", 0.25)):
        rows += [
            row(ns=1000 * p / gustafson(f, p), threads=p, bytes=1024 * p, executor=executor)
            for p in (2, 4)
        ]
    series = weak_scalings(loaded(*rows).valid)
    assert all(w.workers == [1, 2, 4] and w.fit.fraction in w.fit.interval for w in series)
    found = {w.executor: w.fit.fraction for w in series}
    assert found == {"openmp": pytest.approx(0.5), "threads": pytest.approx(0.25)}


def test_rows_of_different_sizes_or_reports_are_no_series():
    sizes = loaded(row(ns=100, bytes=64), row(ns=60, bytes=128, threads=2))
    reports = merged(*[report(*series(counts=(n,))) for n in (1, 2)])
    assert scalings(sizes.valid) == scalings(reports.valid) == scalings([]) == []


def test_distributions_of_ranks_are_separate_series():
    rows = [row(ns=1000.0)] + [
        row(ns=ns, ranks=ranks, distribution=how)
        for how, ranks, ns in (("scatter", 2, 900.0), ("shared", 2, 500.0), ("shared", 4, 250.0))
    ]
    found = {s.points[1].row.distribution: s for s in scalings(loaded(*rows).rows)}
    assert [p.speedup for p in found["shared"].points] == pytest.approx([1, 2, 4])
    assert [p.speedup for p in found["scatter"].points] == pytest.approx([1, 10 / 9])
