"""Tables and findings of Pousa 2011 and 2014, on machines whose times the tests choose.

test_claims.py has each claim."""

import pytest
from simulated import AGREEING, LARGE, MIB, found, here, slower, tables, verdicts, world
from synthetic import reproduction, row

from paraes.lab.configurations import group
from paraes.lab.document import Estimate, Missing, Predicted
from paraes.lab.papers.cells import ratio_of_ratios
from paraes.lab.papers.claims import judge
from paraes.lab.statistics import Interval

PAPERS = pytest.mark.parametrize("name", ["pousa-2011", "pousa-2014"])


def findings(*changes, name="pousa-2011", **machine):
    return found(world(name, *changes, **machine), name)


NEEDS = {
    "pousa-2011": {
        1: {"decryption-serial"},
        2: {"openmp-small", "mpi-linear-cores", "mpi-linear-size", "openmp-like-mpi"}
        | {"mpi-better-small", "decryption-openmp"},
        8: {"openmp-8-speedup", "openmp-8-efficiency", "mpi-8-efficiency"},
        16: {"mpi-16-efficiency"},
        32: {"mpi-32-efficiency"},
    },
    "pousa-2014": {
        1: {"reduction-serial", "tables-less-cpu", "decryption-ci-serial", "decryption-aim-serial"},
        2: {"reduction-openmp", "reduction-mpi", "decryption-ci-openmp", "decryption-aim-openmp"},
    },
}
NEEDS_WITH_GPU = {
    "pousa-2011": {
        8: {"gpu-total-openmp-8", "gpu-total-mpi-8"},
        16: {"gpu-total-mpi-16", "gpu-total-mpi-16-small"},
        32: {"gpu-total-mpi-32", "gpu-total-mpi-32-small"},
    },
    "pousa-2014": {
        8: {"ci-gpu-openmp-8"},
        16: {"aim-mpi-16-gpu"},
        32: {"aim-mpi-32-gpu", "ci-gpu-mpi-32"},
    },
}


@pytest.mark.parametrize("cores", [1, 2, 4, 8, 16])
@PAPERS
def test_claims_without_a_gpu_are_testable_from_their_number_of_cpus(name, cores):
    found = verdicts(world(name, cores=cores, gpu=None), name)
    testable = {c for least, claims in NEEDS[name].items() for c in claims if cores >= least}
    assert {c for c, v in found.items() if v != "not testable here"} == testable
    assert {found[claim] for claim in testable} == {"agrees"}


@pytest.mark.parametrize("cores", [1, 2, 4, 8, 16])
@PAPERS
def test_claims_on_the_gpu_need_the_paper_s_number_of_cpus(name, cores):
    lines = findings(name=name, cores=cores)
    for least, claims in NEEDS_WITH_GPU[name].items():
        for claim in claims:
            assert (lines[claim]["verdict"] == "agrees") == (cores >= least), claim
            if cores < least:
                # Fewer threads or ranks are not shown as if they were the paper's.
                assert lines[claim]["here"] == f"needs {least} CPUs"


@pytest.mark.parametrize("name", AGREEING)
def test_without_a_gpu_tables_have_no_row_of_it(name):
    whole = world(name, cores=4, gpu=None)
    for table in tables(whole).values():
        assert "no usable" not in " ".join(table.footnotes()), table.name
        assert table.rows, table.name
        if table.name.endswith(("-agreement", "-contradictions", "-recomputed")):
            continue
        own = [row for row in table.rows if "GPU" in str(row[:2]) and "paper" not in row[:3]]
        assert own == [], table.name
    if name == "moreira-2026":
        times = tables(whole)["moreira-2026-encrypt-time"]
        assert [c.title for c in times.columns] == ["size", "CPU, paper", "CPU, here", "GPU, paper"]
        assert isinstance(times.rows[0][2], Estimate)  # the CPU has its own rows
        line = found(whole, name)["crossover-encrypt"]
        assert line["verdict"] == "not testable here"


def test_up_to_1_mib_numbers_are_those_of_the_same_size():
    lines = findings(max_size=MIB)
    line = lines["gpu-kernel-speedup"]
    assert (line["about"], line["paper"]) == ("the GPU's kernel against serial, 1 MiB", "450.3×")
    assert line["here"].startswith("450× [")
    assert lines["openmp-small"]["paper"] == "4.113× at 1 KiB, 7.576× at 1 MiB"
    for claim in ("openmp-8-efficiency", "mpi-8-efficiency", "copies-share", "mpi-linear-size"):
        assert lines[claim]["verdict"] == "not measured", claim
        assert "left out: --max-size 1 MiB" in lines[claim]["here"]


def test_cores_for_the_gpu_are_computed_as_the_paper_does():
    assert findings()["cores-for-gpu"]["here"].startswith("347 cores [")
    # From fewer ranks the number is nearly the same, because they scale linearly.
    line = findings(cores=4)["cores-for-gpu"]["here"]
    assert line.startswith("347 cores [") and line.endswith("; from 4 ranks")


def test_openmp_and_mpi_are_compared_on_as_many_threads_as_ranks():
    line = findings(cores=6)["openmp-like-mpi"]
    assert line["verdict"] == "agrees"
    assert line["here"].endswith("; with 4 threads and 4 ranks")
    lines = findings(cores=8, ranks=[3])
    for claim in ("openmp-like-mpi", "mpi-better-small"):
        assert lines[claim]["verdict"] == "not measured"
    # The CPUs suffice, but not all ranks were measured.
    assert findings(cores=8, ranks=[2, 4])["mpi-8-efficiency"]["verdict"] == "predicted"


def test_ranks_that_share_cores_say_nothing_about_scaling():
    lines = findings(slower(4, ranks=8), cores=4, ranks=[2, 4, 8])
    assert lines["mpi-linear-cores"]["verdict"] == "agrees"
    assert "8 ranks" not in lines["mpi-linear-cores"]["here"]
    assert lines["mpi-8-efficiency"]["here"].startswith("needs 8 CPUs (measured: 0.248 [")
    assert lines["mpi-8-efficiency"]["verdict"] == "not testable here"


def test_most_sizes_decide_the_serial_reduction():
    one = slower(3, kernel="ttable", threads=1, ranks=1, bytes=MIB)
    assert findings(one, name="pousa-2014")["reduction-serial"]["verdict"] == "agrees"


def test_predictions_name_their_points_and_have_intervals_over_processes():
    whole = world("pousa-2011", cores=4)
    for table, value in (("speedups", 15.84), ("times", 36.49)):
        cell = here(whole, f"pousa-2011-{table}")["MPI, 16 ranks"][-1]
        assert isinstance(cell, Predicted) and cell.points == 2
        # The ranks of this machine have efficiency 0.99 where the paper's have 0.989.
        assert cell.value == pytest.approx(value, rel=0.1)
        assert cell.interval is not None
    line = found(whole, "pousa-2011")["mpi-16-efficiency"]
    assert line["here"].startswith("needs 16 CPUs; ")
    assert line["here"].endswith("(predicted from 2 points)")
    assert line["verdict"] == "not testable here"
    few = world("pousa-2011", cores=4, processes=5)
    cell = here(few, "pousa-2011-speedups")["MPI, 16 ranks"][-1]
    assert isinstance(cell, Predicted) and cell.interval is None


@pytest.mark.parametrize("table", ["pousa-2011-times", "pousa-2011-speedups"])
def test_one_number_of_ranks_predicts_nothing(table):
    lines = here(world("pousa-2011", cores=2), table)
    reason = "one number of ranks was measured; a prediction needs two"
    for ranks in (8, 16, 32):
        assert lines[f"MPI, {ranks} ranks"] == [Missing(reason)] * 6


def test_the_derived_table_of_pousa_2011_repeats_the_paper_s_own_numbers():
    rows = tables(world("pousa-2011"))["pousa-2011-derived"].rows
    lines = {tuple(r[:3]): r[3:] for r in rows}
    for (name, quantity, source), cells in lines.items():
        if source == "here" and (name, quantity, "paper") in lines:
            theirs = lines[(name, quantity, "paper")]
            assert [c.value for c in cells] == pytest.approx(theirs, rel=1e-6), (name, quantity)
    assert lines[("OpenMP, 8 threads", "efficiency", "paper")][-1] == pytest.approx(0.97705, 1e-4)
    share = lines[("GPU, with copies (Table 3)", "transfers, %", "here")][-1]
    assert share.value == pytest.approx(53.679, rel=1e-4) and share.interval is not None
    assert ("MPI, 4 ranks", "MB/s", "here") in lines
    assert ("MPI, 4 ranks", "MB/s", "paper") not in lines


def test_the_derived_table_says_where_workers_differ_from_the_paper_s():
    rows = tables(world("pousa-2011", cores=4))["pousa-2011-derived"].rows
    here = {(r[0], r[1]) for r in rows if r[2] == "here" and r[0].startswith("OpenMP")}
    quantities = ("MB/s", "efficiency", "Karp–Flatt")
    assert here == {("OpenMP, 8 threads, here 4", quantity) for quantity in quantities}


def test_the_derived_tables_of_pousa_2014_have_only_this_machine():
    derived = tables(world("pousa-2014", cores=4))
    for name in ("aes-ci", "aes-aim"):
        rows = derived[f"pousa-2014-{name}-derived"].rows
        assert {r[2] for r in rows} == {"here"}
        lines = {(r[0], r[1]): r[3:] for r in rows}
        assert lines[("MPI, 4 ranks", "efficiency")][-1].value == pytest.approx(0.99)
        assert lines[("MPI, 4 ranks", "Karp–Flatt")][-1].value == pytest.approx(0.0034, rel=0.02)


def test_threads_of_a_block_have_times_and_rates():
    table = tables(world("pousa-2014"))["pousa-2014-groups"]
    assert [c.title for c in table.columns[2:]] == [
        f"{n} threads" for n in (64, 128, 256, 512, 1024)
    ]
    lines = {(r[0], r[1]): r[2:] for r in table.rows}
    seconds = lines[("AES-AIM, cuda:0", "s")]
    assert [c.value for c in seconds] == pytest.approx(
        [0.4 * 1.139361 * f for f in (1.1, 1.1, 1, 1.1, 1.1)]
    )
    rates = lines[("AES-AIM, cuda:0", "MB/s")]
    assert rates[2].value == pytest.approx(LARGE / 1e6 / (0.4 * 1.139361))
    ratios = lines[("AES-CI, cuda:0", "time / time with 256")]
    assert [c.value for c in ratios] == pytest.approx([1.1, 1.1, 1, 1.1, 1.1])


def test_a_failed_run_of_groups_is_the_reason_in_its_table():
    whole = world("pousa-2014", fails=lambda run: bool(run.group_threads))
    cells = tables(whole)["pousa-2014-groups"].rows[0][2:]
    assert {c.reason for c in cells} == {"the bench failed: it broke"}
    assert verdicts(whole, "pousa-2014")["group-ci"] == "not measured"


def in_rounds(*times, turns=None):
    """Return a row with one sample of each process, whose turns are 0, 1, …"""
    turns = turns or range(len(times))
    parts = [(turn, [row(samples_ns=[t])]) for turn, t in zip(turns, times, strict=True)]
    (found,) = group(reproduction(*parts)).rows
    return found


def test_ratio_of_ratios_pairs_the_rounds():
    a = in_rounds(10, 20, 30, 40, 50, 60, 70)
    b = in_rounds(1, 2, 3, 4, 5, 6, 7)
    c = in_rounds(4, 8, 12, 16, 20, 24, 28.4)
    cell = ratio_of_ratios((a, b), (c, b))
    assert cell.value == pytest.approx(2.5)
    # Every round has 2.5 but the last. Two of 28 averages are left out on each side, of which the
    # last one of the low side is that of 2.5 and the last round.
    last = 70 / 28.4
    ends = ((2.5 * last) ** 0.5, 2.5)
    assert (cell.interval.low, cell.interval.high) == pytest.approx(ends)


def test_ratio_of_ratios_uses_only_rounds_of_all_four_and_needs_enough_of_them():
    a = in_rounds(1, 1, 1, 1, 1, 1, 1)
    b = in_rounds(8, 4, 4, 4, 4, 4, 4, turns=[9, 1, 2, 3, 4, 5, 6])
    cell = ratio_of_ratios((a, b), (a, a))
    assert cell.value == pytest.approx(0.25)
    assert (cell.interval.low, cell.interval.high) == pytest.approx((0.25, 0.25))
    few = in_rounds(1, 2, 3, 4, 5)
    assert ratio_of_ratios((few, few), (few, few)) == Estimate(1.0, None)
    one = in_rounds(3)
    other = in_rounds(6)
    assert ratio_of_ratios((one, other), (other, one)) == Estimate(0.25, None)
    assert ratio_of_ratios((one, Missing("no")), (one, one)) == Missing("no")


@pytest.mark.parametrize(
    ("rule", "low", "high", "verdict"),
    [
        ({"is": "above", "limit": 1}, 1.0, 1.0, "differs"),
        ({"is": "above", "limit": 1}, 1.0, 1.1, "undecided"),
        ({"is": "above", "limit": 1}, 1.01, 1.1, "agrees"),
        ({"is": "below", "limit": 1}, 1.0, 1.0, "differs"),
        ({"is": "below", "limit": 1}, 0.9, 1.0, "undecided"),
        ({"is": "below", "limit": 1}, 0.9, 0.99, "agrees"),
        ({"is": "within", "low": 1, "high": 2}, 1.0, 2.0, "agrees"),
        ({"is": "within", "low": 1, "high": 2}, 0.9, 1.5, "undecided"),
        ({"is": "within", "low": 1, "high": 2}, 2.1, 2.5, "differs"),
    ],
)
def test_the_limit_itself_is_neither_above_nor_below(rule, low, high, verdict):
    assert judge(rule, Interval(low, high)) == verdict
