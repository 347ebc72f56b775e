"""Configurations: processes are the units, no row is dropped, and each has one speedup."""

import numpy as np
import pytest
from synthetic import loaded, merged, processes, report, reproduction, row, runs, table

from paraes.lab.configurations import group, medians_of, ratio_of, units_of
from paraes.lab.scaling import scalings

MIB = 1 << 20


def test_a_row_of_several_processes_is_one_configuration_with_all_samples():
    rep = processes(*[[row(samples_ns=[n, n + 1.0, n + 2.0])] for n in (10.0, 30.0, 20.0)])
    (only,) = group(rep).rows
    samples = [list(times) for times in only.samples_of.values()]
    assert samples == [[n, n + 1, n + 2] for n in (10, 30, 20)]
    assert list(only.samples_ns) == list(medians_of(only)) == [11, 31, 21]
    assert only.median_ns == 21


def test_with_one_process_its_samples_are_the_units():
    (only,) = group(loaded(row(samples_ns=[1.0, 2.0, 3.0]))).rows
    assert list(only.samples_ns) == [1, 2, 3]
    assert [list(times) for times in units_of([only])] == [[1, 2, 3]]


def test_phases_and_energy_are_medians_of_processes():
    phases = {"kernel": [4.0, 5.0, 6.0]}
    rep = processes(
        [row(phases=phases, energy_joules=1.0)],
        [row(phases={"kernel": [7.0, 8.0, 9.0]}, energy_joules=3.0)],
        [row(phases={"kernel": [1.0, 2.0, 3.0]}, energy_joules=2.0)],
    )
    (only,) = group(rep).rows
    assert only.timeline_ns["kernel"] == 5.0 and only.timeline_ns["read"] is None
    assert list(only.timeline_samples_ns["kernel"]) == [5, 8, 2]
    assert only.energy_joules == 2.0


def test_one_wrong_process_makes_the_configuration_wrong():
    rep = processes([row()], [row(verified=False)], [row()])
    assert [r.verified for r in group(rep).rows] == [False]


def test_rows_of_two_programs_are_two_configurations():
    found = group(merged(runs([row()], git="1111111"), runs([row()], git="2222222")))
    assert [r.build for r in found.rows] == ["1111111", "2222222"]


def test_no_row_of_a_reproduction_is_dropped():
    """Of the 170 rows of an older file, 32 were dropped in silence."""
    found = group(reproduction((0, [row(ns=10), row(ns=6, threads=2)]), (0, [row(ns=12)]))).rows
    assert sum(times.size for r in found for times in r.samples_of.values()) == 3 * 9
    assert {r.threads: len(r.samples_of) for r in found} == {1: 2, 2: 1}


def test_one_configuration_has_one_speedup_from_the_calls_that_measured_both():
    """`reference` at 1 MiB on 2 threads had 1.59, 1.26 and 1.48 in one report."""
    parts = [
        (0, [row(ns=10.0), row(ns=6.0, threads=2)]),
        (0, [row(ns=900.0)]),  # another call, in which the machine was slow
        (0, [row(ns=20.0), row(ns=12.0, threads=2)]),
    ]
    whole = reproduction(*parts)
    (found,) = scalings(group(whole).rows)
    assert found.points[1].speedup == pytest.approx(10 / 6)
    lines = [line for line in table(whole, "scaling").rows if line[1] == 2]
    assert len(lines) == 1 and lines[0][3].value == pytest.approx(10 / 6)


def test_ratios_are_paired_by_process():
    # The second process is ten times slower as a whole; the ratio is 2 in each.
    slow = [1, 10, 1, 1, 10, 1, 1, 10]
    rep = processes(*[[row(ns=2.0 * s), row(ns=1.0 * s, kernel="ttable")] for s in slow])
    a, b = group(rep).rows
    found = ratio_of(a, b)
    assert found.value == pytest.approx(2)
    assert (found.interval.low, found.interval.high) == pytest.approx((2, 2))


def test_ratios_of_rows_of_different_processes_are_over_all_pairs():
    of_a = [[row(ns=2.0 + i / 10)] for i in range(8)]
    of_b = [[row(ns=1.0 + i / 10, kernel="ttable")] for i in range(8)]
    a, b = group(processes(*of_a, *of_b)).rows
    found = ratio_of(a, b)
    ratios = [(2 + i / 10) / (1 + j / 10) for i in range(8) for j in range(8)]
    assert found.value == pytest.approx(np.median(ratios), rel=1e-3) and found.units == 8
    # 8 against 8 at 5 %: the 14th smallest and largest of 64 ratios.
    ends = sorted(ratios)[13], sorted(ratios)[-14]
    assert (found.interval.low, found.interval.high) == pytest.approx(ends)


def test_rows_of_one_process_are_compared_by_their_samples_and_of_two_without_an_interval():
    over, under = row(ns=2.0), row(ns=1.0, kernel="ttable")
    a, b = group(loaded(over, under)).rows
    assert ratio_of(a, b).value == pytest.approx(2) and ratio_of(a, b).interval is not None
    a, b = group(processes([over], [under])).rows
    assert ratio_of(a, b).value == pytest.approx(2) and ratio_of(a, b).interval is None
    assert units_of([a, b]) is None


def test_fewer_than_6_processes_give_no_interval():
    rep = processes(*[[row(ns=2.0), row(ns=1.0, kernel="ttable")]] * 5)
    a, b = group(rep).rows
    assert ratio_of(a, b).interval is None
    assert all(line[4].interval.is_range for line in table(rep, "rows").rows)  # of 5 medians


def test_the_range_of_too_few_units_is_not_called_an_interval():
    rep = processes(*[[row(ns=1000.0 + 10 * i)] for i in range(3)])
    (line,) = table(rep, "rows").texts()
    assert line[4] == "1.01 µs [range 1 µs; 1.02 µs]" and line[7] == "3 processes"


def test_one_common_process_does_not_outweigh_all_others():
    """Both have 8 processes, of which the first is common and unlike the others."""
    first = [[row(ns=1000.0), row(ns=500.0, kernel="ttable")]]
    of_a = [[row(ns=1000.0 + i)] for i in range(7)]
    of_b = [[row(ns=2000.0 + i, kernel="ttable")] for i in range(7)]
    a, b = group(processes(*first, *of_a, *of_b)).rows
    found = ratio_of(a, b)
    assert found.value == pytest.approx(0.5, rel=0.01) and found.interval.high < 2.1


def test_pairs_that_cannot_reach_the_level_are_compared_as_two_groups():
    rows = [[row(ns=1000.0 + i), row(ns=500.0 + i, kernel="ttable")] for i in range(8)]
    a, b = group(processes(*rows)).rows
    assert ratio_of(a, b, 0.05 / 100).interval is not None  # 8 pairs reach 2/256 only
    assert ratio_of(a, b, 0.05 / 400).interval is None


def test_rivals_of_8_processes_are_decided_for_many_rows():
    rival = {"kernel": None, "rival": "openssl-evp"}
    sizes = [1024 * (i + 1) for i in range(10)]
    rows = [
        [row(ns=n + i, bytes=n) for n in sizes]
        + [row(ns=3 * n + i, bytes=n, **rival) for n in sizes]
        for i in range(8)
    ]
    lines = table(processes(*rows), "rivals").rows
    assert [line[-1] for line in lines] == ["faster"] * 10


@pytest.mark.parametrize("context", [{"git": "1234567", "dirty": True}, {"git": None}])
def test_files_of_changed_or_unknown_trees_are_programs_of_their_own(context):
    found = group(merged(*[report(row(ns=ns), **context) for ns in (1.0, 2.0)])).rows
    assert [r.median_ns for r in found] == [1, 2]
    assert len({r.build for r in found}) == 2
