"""The claims of Pousa 2011 and 2014, on machines whose times the tests choose."""

from __future__ import annotations

import json

import fake_paraes
import pytest
from simulated import tables
from synthetic import CONTEXT, row

from paraes.lab import bench, measure, reproduce
from paraes.lab.configurations import group
from paraes.lab.document import Estimate, Missing, Predicted
from paraes.lab.papers.cells import ratio_of_ratios
from paraes.lab.papers.claims import judge
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.setting import Setting
from paraes.lab.statistics import Interval

KIB, MIB = 1 << 10, 1 << 20
LARGE = 255 * MIB
GPU = "cuda:0"
CPU = "cpu"
COPIES = ("host_to_device", "device_to_host")


def scale(factor, *phases, **axes):
    """Return a change that multiplies the times, or only phases, of rows with these axes."""

    def change(line):
        if any(line.get(name) != value for name, value in axes.items()):
            return
        if phases:
            line["timeline_ns"] |= {p: factor * line["timeline_ns"][p] for p in phases}
        else:
            line["samples_ns"] = [ns * factor for ns in line["samples_ns"]]

    return change


def as_printed(line):
    """Change a row to what the papers printed or state, where they do."""
    tables = load_paper("pousa-2011").tables
    size, workers = line["bytes"], max(1, line["threads"]) * line["ranks"]
    small = size == KIB
    times, transfers = tables["times"], tables["transfers"]
    if line["device"] == GPU:
        phases = {"host_to_device": "h2d", "kernel": "kernel", "device_to_host": "d2h"}
        for name, key in phases.items():
            line["timeline_ns"][name] = 1e9 * transfers.number(size, key)
        seconds = times.number(size, "cuda")
        if line["scope"] == "transfer":
            seconds = transfers.number(size, "total")
        if line.get("group_threads", 256) != 256:
            seconds *= 1.1
    elif workers == 1:
        seconds = times.number(size, "serial")
    elif line["ranks"] in (8, 16, 32):
        seconds = times.number(size, f"mpi{line['ranks']}")
    elif line["threads"] == 8:
        seconds = times.number(size, "omp8")
    else:
        seconds = times.number(size, "serial") / workers / 0.99
        if line["threads"] > 1:
            seconds *= 1.9 if small else 1.01
    seconds *= {"ttable": 0.01, "ttable-simple": 0.4}.get(line["kernel"], 1)
    line["samples_ns"] = [1e9 * seconds * (1 + 0.001 * i) for i in range(-4, 5)]


@pytest.fixture
def simulate(fake, tmp_path, monkeypatch):
    """A function that reproduces a paper on a machine with the printed times, after changes."""
    folders = []

    def run(name, *changes, cores=32, processes=6, max_size=LARGE, ranks=None, first=as_printed):
        def execute(command, target, ranks=1):
            words = command[command.index("bench") + 1 :]
            monkeypatch.setenv("FAKE_RANKS", str(ranks))
            rows = fake_paraes.rows(dict(zip(words, [*words[1:], ""], strict=True)))
            for line in rows:
                for change in (first, *changes):
                    change(line)
            report = {
                "schema": 1,
                "seed": 7,
                "context": {"cpu": "Formula 1", "threads": cores, "gpus": [fake_paraes.GPU]},
                "results": rows,
                "skipped": [],
            }
            target.write_text(json.dumps(report))
            return report, ""

        monkeypatch.setattr(measure, "execute", execute)
        monkeypatch.setattr(measure.os, "sched_getaffinity", lambda pid: set(range(cores)))
        machine = measure.look_at(fake / "paraes", None, str(fake / "mpirun"))
        setting = Setting(cores, max_size=max_size, processes=processes, ranks=ranks)
        folders.append(tmp_path / f"out-{len(folders)}")
        return reproduce.measure([name], setting, machine, folders[-1])

    return run


def findings(whole):
    """Return the rows of the findings by the names of the claims."""
    (name,) = whole["lab"]["papers"]
    names = [claim["id"] for claim in load_paper(name).raw["claims"]]
    return dict(zip(names, tables(whole)[f"{name}-agreement"].rows, strict=True))


def verdicts(whole):
    return {name: line[3] for name, line in findings(whole).items()}


@pytest.mark.parametrize("name", ["pousa-2011", "pousa-2014"])
def test_every_claim_agrees_with_the_papers_own_times(simulate, name):
    found = verdicts(simulate(name))
    assert {claim: v for claim, v in found.items() if v != "agrees"} == {}


@pytest.mark.parametrize("name", ["pousa-2011", "pousa-2014"])
def test_every_claim_is_undecided_with_too_few_processes(simulate, name):
    found = findings(simulate(name, processes=5))
    assert {claim: r[3] for claim, r in found.items() if r[3] != "undecided"} == {}
    assert all("too few processes" in r[2] for r in found.values())


TRANSFER = {"device": GPU, "scope": "transfer"}
ALL_PHASES = (*COPIES, "kernel")
DIFFERENT_2011 = {
    "openmp-8-speedup": scale(10, threads=8, bytes=LARGE),
    "openmp-8-efficiency": scale(1.3, threads=8, bytes=LARGE),
    "openmp-small": scale(0.4, threads=8, bytes=KIB),
    "mpi-8-efficiency": scale(1.3, ranks=8, bytes=LARGE),
    "mpi-16-efficiency": scale(1.3, ranks=16, bytes=LARGE),
    "mpi-32-efficiency": scale(1.3, ranks=32, bytes=LARGE),
    "mpi-linear-cores": scale(1.2, ranks=2, bytes=LARGE),
    "mpi-linear-size": scale(1.2, ranks=32, bytes=MIB),
    "openmp-like-mpi": scale(1.2, threads=8, bytes=MIB),
    "mpi-better-small": scale(0.4, threads=8, bytes=KIB),
    "cores-for-gpu": scale(0.09, ranks=32, bytes=LARGE),
    "gpu-kernel-speedup": scale(600, device=GPU, scope="memory", bytes=LARGE),
    "gpu-total-serial": scale(400, *ALL_PHASES, bytes=MIB, **TRANSFER),
    "gpu-total-openmp-8": scale(60, *ALL_PHASES, bytes=MIB, **TRANSFER),
    "gpu-total-mpi-8": scale(2, *ALL_PHASES, bytes=KIB, **TRANSFER),
    "gpu-total-mpi-16": scale(25, *ALL_PHASES, bytes=MIB, **TRANSFER),
    "gpu-total-mpi-16-small": scale(0.8, *ALL_PHASES, bytes=KIB, **TRANSFER),
    "gpu-total-mpi-32": scale(12, *ALL_PHASES, bytes=MIB, **TRANSFER),
    "gpu-total-mpi-32-small": scale(0.4, *ALL_PHASES, bytes=KIB, **TRANSFER),
    "copies-share": scale(0.5, *COPIES, bytes=LARGE, **TRANSFER),
    "decryption-serial": scale(1.2, device=CPU, threads=1, direction="decrypt", bytes=MIB),
    "decryption-openmp": scale(1.2, threads=8, direction="decrypt", bytes=MIB),
    "decryption-gpu": scale(0.8, device=GPU, direction="decrypt", bytes=MIB),
}
TTABLE_GPU = {"kernel": "ttable-simple", "scope": "memory"}
DIFFERENT_2014 = {
    "reduction-serial": scale(3, kernel="ttable", threads=1, ranks=1),
    "reduction-openmp": scale(3, kernel="ttable", threads=8, bytes=MIB),
    "reduction-mpi": scale(3, kernel="ttable", ranks=16, bytes=MIB),
    "reduction-gpu": scale(0.9, bytes=MIB, **TTABLE_GPU),
    "tables-less-cpu": scale(200, kernel="ttable", ranks=2, bytes=MIB),
    "tables-less-gpu": scale(3, bytes=MIB, **TTABLE_GPU),
    "tables-help-gpu-less": scale(0.02, bytes=MIB, **TTABLE_GPU),
    "ci-gpu-openmp-8": scale(0.01, kernel="reference", threads=8, bytes=MIB),
    "ci-gpu-mpi-32": scale(0.05, kernel="reference", ranks=32, bytes=MIB),
    "aim-mpi-16-gpu": scale(2, kernel="ttable", ranks=16, bytes=MIB),
    "aim-mpi-32-gpu": scale(4, kernel="ttable", ranks=32, bytes=MIB),
}
for key, cpu_kernel, gpu_kernel in (
    ("ci", "reference", "reference-shared"),
    ("aim", "ttable", "ttable-simple"),
):
    back = {"direction": "decrypt", "bytes": MIB}
    DIFFERENT_2014 |= {
        f"group-{key}": scale(0.8, kernel=gpu_kernel, group_threads=512),
        f"decryption-{key}-serial": scale(1.2, kernel=cpu_kernel, threads=1, **back),
        f"decryption-{key}-openmp": scale(1.2, kernel=cpu_kernel, threads=8, **back),
        f"decryption-{key}-gpu": scale(0.8, kernel=gpu_kernel, **back),
    }
CASES = [("pousa-2011", *case) for case in DIFFERENT_2011.items()]
CASES += [("pousa-2014", *case) for case in DIFFERENT_2014.items()]


@pytest.mark.parametrize(("name", "claim", "change"), CASES, ids=[c[1] for c in CASES])
def test_a_claim_differs_on_a_machine_with_other_times(simulate, name, claim, change):
    assert verdicts(simulate(name, change))[claim] == "differs"


@pytest.mark.parametrize("name", ["pousa-2011", "pousa-2014"])
def test_every_claim_has_a_machine_on_which_it_differs(name):
    tested = {case[1] for case in CASES if case[0] == name}
    assert tested == {claim["id"] for claim in load_paper(name).raw["claims"]}


NEEDS = {
    "pousa-2011": {
        1: {"decryption-serial"},
        2: {
            "openmp-small",
            "mpi-linear-cores",
            "mpi-linear-size",
            "openmp-like-mpi",
            "mpi-better-small",
            "decryption-openmp",
        },
        8: {"openmp-8-speedup", "openmp-8-efficiency", "mpi-8-efficiency"},
        16: {"mpi-16-efficiency"},
        32: {"mpi-32-efficiency"},
    },
    "pousa-2014": {
        1: {
            "reduction-serial",
            "tables-less-cpu",
            "decryption-ci-serial",
            "decryption-aim-serial",
        },
        2: {
            "reduction-openmp",
            "reduction-mpi",
            "decryption-ci-openmp",
            "decryption-aim-openmp",
        },
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
@pytest.mark.parametrize("name", ["pousa-2011", "pousa-2014"])
def test_claims_without_a_gpu_are_testable_from_their_number_of_cpus(
    simulate, monkeypatch, name, cores
):
    monkeypatch.setenv("FAKE_NO_GPU", "1")
    found = verdicts(simulate(name, cores=cores))
    testable = {c for least, claims in NEEDS[name].items() for c in claims if cores >= least}
    assert {c for c, v in found.items() if v != "not testable here"} == testable
    assert {found[claim] for claim in testable} == {"agrees"}


@pytest.mark.parametrize("cores", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("name", ["pousa-2011", "pousa-2014"])
def test_claims_on_the_gpu_need_the_paper_s_number_of_cpus(simulate, name, cores):
    found = findings(simulate(name, cores=cores))
    for least, claims in NEEDS_WITH_GPU[name].items():
        for claim in claims:
            assert (found[claim][3] == "agrees") == (cores >= least), claim
            if cores < least:
                # Fewer threads or ranks are not shown as if they were the paper's.
                assert found[claim][2] == f"needs {least} CPUs"


@pytest.mark.parametrize("name", ["pousa-2011", "pousa-2014"])
def test_without_a_gpu_tables_have_no_row_of_it(simulate, monkeypatch, name):
    monkeypatch.setenv("FAKE_NO_GPU", "1")
    whole = simulate(name, cores=4)
    for table in tables(whole).values():
        assert "no usable" not in " ".join(table.footnotes()), table.name
        if table.name.endswith(("-agreement", "-contradictions", "-recomputed")):
            continue
        assert table.rows, table.name
        own = [row for row in table.rows if "GPU" in str(row[:2]) and "paper" not in row[:3]]
        assert own == [], table.name


def test_eight_threads_of_the_paper_are_not_compared_with_two(simulate):
    found = findings(simulate("pousa-2011", cores=2))
    for claim in ("openmp-8-speedup", "openmp-8-efficiency"):
        assert found[claim][2:4] == ["needs 8 CPUs", "not testable here"]


def test_speedups_state_the_paper_s_number_of_the_same_size(simulate):
    found = findings(simulate("pousa-2011", max_size=MIB))
    line = found["gpu-kernel-speedup"]
    assert (line[0], line[1]) == ("the GPU's kernel against serial, 1 MiB", "450.3×")
    assert line[2].startswith("450× [")
    assert found["openmp-small"][1] == "4.113× at 1 KiB, 7.576× at 1 MiB"


def test_numbers_of_255_mb_are_not_compared_with_those_of_other_sizes(simulate):
    found = findings(simulate("pousa-2011", max_size=MIB))
    for claim in ("openmp-8-efficiency", "mpi-8-efficiency", "copies-share", "mpi-linear-size"):
        assert found[claim][3] == "not measured", claim
        assert "left out: --max-size 1 MiB" in found[claim][2]


def test_cores_for_the_gpu_are_computed_as_the_paper_does(simulate):
    assert findings(simulate("pousa-2011"))["cores-for-gpu"][2].startswith("347 cores [")
    # From fewer ranks the number is nearly the same, because they scale linearly.
    line = findings(simulate("pousa-2011", cores=4))["cores-for-gpu"]
    assert line[2].startswith("347 cores [") and line[2].endswith("; from 4 ranks")


def test_openmp_and_mpi_are_compared_on_as_many_threads_as_ranks(simulate):
    line = findings(simulate("pousa-2011", cores=6))["openmp-like-mpi"]
    assert line[3] == "agrees" and line[2].endswith("; with 4 threads and 4 ranks")
    found = findings(simulate("pousa-2011", cores=8, ranks=[3]))
    assert found["openmp-like-mpi"][3] == "not measured"
    assert found["mpi-better-small"][3] == "not measured"


def test_ranks_that_share_cores_say_nothing_about_scaling(simulate):
    slow = scale(4, ranks=8)
    found = findings(simulate("pousa-2011", slow, cores=4, ranks=[2, 4, 8]))
    assert (
        found["mpi-linear-cores"][3] == "agrees" and "8 ranks" not in found["mpi-linear-cores"][2]
    )
    here, verdict = found["mpi-8-efficiency"][2:4]
    assert here.startswith("needs 8 CPUs (measured: 0.248 [")
    assert verdict == "not testable here"


def test_most_sizes_decide_the_serial_reduction(simulate):
    one = scale(3, kernel="ttable", threads=1, ranks=1, bytes=MIB)
    assert verdicts(simulate("pousa-2014", one))["reduction-serial"] == "agrees"


def test_predictions_name_their_points_and_have_intervals_over_processes(simulate):
    whole = simulate("pousa-2011", cores=4)
    for table, value in (("speedups", 15.84), ("times", 36.49)):
        lines = {(r[0], r[1]): r[2:] for r in tables(whole)[f"pousa-2011-{table}"].rows}
        cell = lines[("MPI, 16 ranks", "here")][-1]
        assert isinstance(cell, Predicted) and cell.points == 2
        # The ranks of this machine have efficiency 0.99 where the paper's have 0.989.
        assert cell.value == pytest.approx(value, rel=0.1)
        assert cell.interval is not None
    here, verdict = findings(whole)["mpi-16-efficiency"][2:4]
    assert here.startswith("needs 16 CPUs; ")
    assert here.endswith("(predicted from 2 points)") and verdict == "not testable here"


def test_predictions_from_too_few_processes_have_no_interval(simulate):
    for processes in (1, 5):
        rows = tables(simulate("pousa-2011", cores=4, processes=processes))
        lines = {(r[0], r[1]): r[2:] for r in rows["pousa-2011-speedups"].rows}
        cell = lines[("MPI, 16 ranks", "here")][-1]
        assert isinstance(cell, Predicted) and cell.interval is None


def test_a_prediction_where_the_cpus_suffice_is_called_so(simulate):
    found = findings(simulate("pousa-2011", cores=8, ranks=[2, 4]))
    assert found["mpi-8-efficiency"][3] == "predicted"


@pytest.mark.parametrize("name", ["pousa-2011-times", "pousa-2011-speedups"])
def test_one_number_of_ranks_predicts_nothing(simulate, name):
    lines = {(r[0], r[1]): r[2:] for r in tables(simulate("pousa-2011", cores=2))[name].rows}
    reason = "one number of ranks was measured; a prediction needs two"
    for ranks in (8, 16, 32):
        assert lines[(f"MPI, {ranks} ranks", "here")] == [Missing(reason)] * 6


def test_the_derived_table_of_pousa_2011_repeats_the_paper_s_own_numbers(simulate):
    rows = tables(simulate("pousa-2011"))["pousa-2011-derived"].rows
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


def test_the_derived_table_says_where_workers_differ_from_the_paper_s(simulate):
    rows = tables(simulate("pousa-2011", cores=4))["pousa-2011-derived"].rows
    here = {(r[0], r[1]) for r in rows if r[2] == "here" and r[0].startswith("OpenMP")}
    quantities = ("MB/s", "efficiency", "Karp–Flatt")
    assert here == {("OpenMP, 8 threads, here 4", quantity) for quantity in quantities}


def test_the_derived_tables_of_pousa_2014_have_only_this_machine(simulate):
    found = tables(simulate("pousa-2014", cores=4))
    for name in ("aes-ci", "aes-aim"):
        rows = found[f"pousa-2014-{name}-derived"].rows
        assert {r[2] for r in rows} == {"here"}
        lines = {(r[0], r[1]): r[3:] for r in rows}
        assert lines[("MPI, 4 ranks", "efficiency")][-1].value == pytest.approx(0.99)
        assert lines[("MPI, 4 ranks", "Karp–Flatt")][-1].value == pytest.approx(0.0034, rel=0.02)


def test_threads_of_a_block_have_times_and_rates(simulate):
    table = tables(simulate("pousa-2014"))["pousa-2014-groups"]
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


def test_a_failed_run_of_groups_is_the_reason_in_its_table(simulate, monkeypatch):
    whole = simulate("pousa-2014")  # also sets up measure.execute
    inner = measure.execute

    def execute(command, target, ranks=1):
        if "--group-threads" in command:
            return None, "it broke"
        return inner(command, target, ranks)

    def again(*arguments, **options):
        monkeypatch.setattr(measure, "execute", execute)
        return make(*arguments, **options)

    make = measure.make
    monkeypatch.setattr(measure, "make", again)
    whole = simulate("pousa-2014")
    cells = tables(whole)["pousa-2014-groups"].rows[0][2:]
    assert {c.reason for c in cells} == {"the bench failed: it broke"}
    assert findings(whole)["group-ci"][3] == "not measured"


def in_rounds(*times, turns=None, **axes):
    """Return a row with one sample of each process, whose turns are 0, 1, …"""
    turns = turns or range(len(times))
    rows = [row(samples_ns=[t], **axes) for t in times]
    parts = [{"process": turn, "results": [i, 1]} for i, turn in enumerate(turns)]
    whole = {"schema": 1, "seed": 1, "context": CONTEXT, "results": rows, "skipped": []}
    (found,) = group(bench.from_object(whole | {"lab": {"parts": parts}}, "rounds")).rows
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


def test_ratio_of_ratios_uses_only_rounds_of_all_four():
    a = in_rounds(1, 1, 1, 1, 1, 1, 1)
    b = in_rounds(8, 4, 4, 4, 4, 4, 4, turns=[9, 1, 2, 3, 4, 5, 6])
    cell = ratio_of_ratios((a, b), (a, a))
    assert cell.value == pytest.approx(0.25)
    assert (cell.interval.low, cell.interval.high) == pytest.approx((0.25, 0.25))


def test_ratio_of_ratios_without_enough_rounds_has_no_interval():
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
