"""`compare` and `measure`: verdicts that hold, in turns, and never from too little."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import loaded, log_of, report, reproduction, row, runs

from paraes.lab import bench, compare, turns
from paraes.lab.errors import LabError
from paraes.lab.files import locked
from paraes.lab.statistics import Interval
from paraes.lab.verdicts import is_slower_by, verdict

RESULTS = Path(__file__).parents[2] / "bench" / "results"


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.03, 1.2, "faster"),
        (0.8, 0.97, "slower"),
        (0.99, 1.01, "the same"),
        (1.01, 1.2, "undecided"),  # may be below the least effect
        (0.9, 1.1, "undecided"),
        (1 / 1.02, 1.02, "the same"),
    ],
)
def test_verdict_of_an_interval(low, high, word):
    assert verdict(Interval(low, high), 0.02) == word


def test_verdict_without_an_interval_is_undecided():
    assert verdict(None) == "undecided" and is_slower_by(None, 0.03) is None


@pytest.mark.parametrize(
    ("low", "high", "slower"),
    [(0.5, 0.9, True), (0.98, 1.1, False), (0.95, 1.0, None), (0.9, 1 / 1.03, None)],
)
def test_slower_by_a_share_needs_the_whole_interval(low, high, slower):
    assert is_slower_by(Interval(low, high), 0.03) is slower


def noisy(rng, ns, spread=0.004):
    return row(samples_ns=list(ns * np.exp(rng.normal(0, spread, 3))))


def pair(of_a, of_b, count=8, in_turns=True, rows=1, spread=0.004, seed=1):
    """Return two reports of `count` processes: a takes of_a ns, b of_b, in `rows` sizes."""
    rng = np.random.default_rng(seed)

    def one(ns):
        return [noisy(rng, ns, spread) | {"bytes": 1024 * (i + 1)} for i in range(rows)]

    a = runs(*[one(of_a) for _ in range(count)], start=0, step=2 if in_turns else 1)
    b = runs(*[one(of_b) for _ in range(count)], start=1 if in_turns else count, step=2)
    return bench.from_object(a, "a.json"), bench.from_object(b, "b.json")


@pytest.mark.parametrize(
    ("of_b", "word"), [(500.0, "faster"), (2000.0, "slower"), (1000.0, "the same")]
)
def test_compare_decides_what_8_processes_in_turns_show(of_b, word):
    found = compare.comparison(*pair(1000.0, of_b))
    assert [line.verdict for line in found.lines] == [word]
    ratio = found.lines[0].ratio
    assert ratio.value == pytest.approx(1000 / of_b, rel=0.01)
    assert ratio.interval.low <= ratio.value <= ratio.interval.high


def test_a_difference_below_the_least_effect_is_not_called_faster():
    a, b = pair(1000.0, 990.0, spread=0.0005)
    assert compare.comparison(a, b).lines[0].verdict == "the same"
    assert compare.comparison(a, b, least_effect=0.005).lines[0].verdict == "faster"


@pytest.mark.parametrize("count", [2, 3, 5])
def test_fewer_than_6_processes_decide_nothing(count):
    (line,) = compare.comparison(*pair(1000.0, 500.0, count)).lines
    assert line.verdict == "undecided" and line.ratio.interval is None
    assert "needs 6 of each: measure both with paraes-lab measure" in line.reason


def test_measurements_one_after_the_other_decide_nothing():
    a, b = pair(1000.0, 500.0, in_turns=False)
    (line,) = compare.comparison(a, b).lines
    assert line.verdict == "undecided" and "paraes-lab measure" in line.reason
    assert compare.comparison(a, b, drift=True).lines[0].verdict == "faster"


def test_turns_of_one_second_are_told_apart():
    # Calls shorter than a second have one time; `turn` orders them.
    in_turns, in_a_row = (lambda i, b: 2 * i + b), (lambda i, b: 8 * b + i)
    for turn_of, word in ((in_turns, "faster"), (in_a_row, "undecided")):
        both = [runs(*[[row(ns=ns)] for _ in range(8)], step=0) for ns in (10.0, 5.0)]
        for b, whole in enumerate(both):
            for i, run in enumerate(whole["runs"]):
                run["turn"] = turn_of(i, b)
        (line,) = compare.comparison(*[bench.from_object(whole, "x") for whole in both]).lines
        assert line.verdict == word


def test_the_level_is_shared_by_all_rows():
    found = compare.comparison(*pair(1000.0, 500.0, rows=10))
    assert {line.verdict for line in found.lines} == {"faster"}
    alone = compare.comparison(*pair(1000.0, 500.0)).lines[0].ratio.interval
    assert found.lines[0].ratio.interval.coverage > 0.995 > alone.coverage
    (table,) = compare.document(found).tables()
    assert "99.5 %" in table.columns[5].title
    assert "Hodges–Lehmann intervals of level 99.5 % (95 % for all 10 rows" in table.notes[0]


def test_a_wrong_row_is_called_wrong():
    a, b = pair(1000.0, 500.0)
    wrong = bench.from_object(
        runs(*[[row(ns=500.0, bytes=1024, verified=i != 3)] for i in range(8)], start=1, step=2),
        "b",
    )
    (line,) = compare.comparison(a, wrong).lines
    assert line.verdict == "WRONG" and "the bytes of b are wrong" in line.reason
    (line,) = compare.comparison(wrong, b).lines
    assert line.verdict == "WRONG" and "the bytes of a are wrong" in line.reason


def test_two_programs_in_one_file_are_refused():
    a, b = pair(1000.0, 500.0)
    two = bench.merge([a, bench.from_object(runs([row()], git="1234567"), "x")])
    with pytest.raises(LabError, match="a has several programs on"):
        compare.comparison(two, b)


def processes(rng, ns, count=31, spread=0.01, rows=1, **context):
    """Return a file of one process with `count` samples a row, which drift as a clock does."""
    drift = np.cumsum(rng.normal(0, spread / 5, count))
    listed = [
        row(samples_ns=list(ns * np.exp(drift + rng.normal(0, spread, count))), bytes=1024 * i)
        for i in range(1, rows + 1)
    ]
    return bench.from_object(report(*listed, **context), "x.json")


@pytest.mark.parametrize(
    ("of_b", "word"),
    [(2000.0, "slower"), (500.0, "faster"), (1000.0, "undecided"), (1150.0, "undecided")],
)
def test_one_process_each_decides_only_large_differences(of_b, word):
    rng = np.random.default_rng(3)
    found = compare.comparison(processes(rng, 1000.0, rows=4), processes(rng, of_b, rows=4))
    assert [line.verdict for line in found.lines] == [word] * 4
    assert all(line.one_process and line.reason is None for line in found.lines)
    ratio = found.lines[0].ratio
    # The interval includes the difference between processes of one program.
    assert ratio.interval.low < ratio.value / 1.25 and ratio.value * 1.25 < ratio.interval.high


def test_verdicts_from_one_process_are_marked_as_weaker():
    rng = np.random.default_rng(3)
    document = compare.document(compare.comparison(processes(rng, 1000.0), processes(rng, 2000.0)))
    (table,) = document.tables()
    assert table.rows[0][-1] == "slower, from one process"
    assert "weaker: differences from process to process are not in it" in table.notes[1]
    assert "1 row with one process each: such verdicts are weaker." in (
        document.sections[0].blocks[0].text
    )


def test_verdicts_from_8_processes_are_not_marked():
    (table,) = compare.document(compare.comparison(*pair(1000.0, 2000.0))).tables()
    assert table.rows[0][-1] == "slower" and not any("weaker" in note for note in table.notes)


def test_one_process_of_several_threads_decides_nothing():
    a = loaded(row(samples_ns=[1000.0 + i for i in range(30)], threads=4))
    b = loaded(row(samples_ns=[2000.0 + i for i in range(30)], threads=4))
    (line,) = compare.comparison(a, b).lines
    assert line.verdict == "undecided" and "with several threads or ranks" in line.reason


def test_17_samples_of_one_process_decide_nothing_and_18_do():
    rng = np.random.default_rng(3)
    for count, word in ((17, "undecided"), (18, "slower")):
        a, b = processes(rng, 1000.0, count), processes(rng, 2000.0, count)
        (line,) = compare.comparison(a, b).lines
        assert line.verdict == word
        assert (line.reason is not None) == (word == "undecided")
        if line.reason:
            assert "one process with 17 samples, and a verdict from samples needs 18" in line.reason


def test_samples_too_few_for_all_rows_say_how_many_are_needed():
    rng = np.random.default_rng(3)
    found = compare.comparison(
        processes(rng, 1000.0, 18, rows=40), processes(rng, 2000.0, 18, rows=40)
    )
    assert {line.verdict for line in found.lines} == {"undecided"}
    assert "too few for 40 rows at once: 21 samples of each" in found.lines[0].reason


def test_a_slow_drift_within_a_process_widens_the_interval():
    # In order, the 31 times are a drift, and neighbours are alike; mixed, they are noise.
    times = list(1000.0 * np.exp(np.linspace(0, 1, 31)))
    mixed = [times[(7 * i) % 31] for i in range(31)]

    def width(samples):
        a, b = (bench.from_object(report(row(samples_ns=samples)), name) for name in "ab")
        (line,) = compare.comparison(a, b).lines
        return line.ratio.interval.high / line.ratio.interval.low

    assert width(times) > 1.25 * width(mixed)


def machine(name, ns):
    reports = [report(row(ns=ns, bytes=1024), machine=name, time=f"t{i}") for i in range(8)]
    return bench.merge([bench.from_object(r, name) for r in reports])


def test_machines_are_compared_by_name_and_never_mixed():
    a = bench.merge([machine("rack-1", 10.0), machine("rack-2", 100.0)])
    b = bench.merge([machine("rack-2", 50.0), machine("rack-1", 10.0)])
    found = compare.comparison(a, b, drift=True)
    assert [line.verdict for line in found.lines] == ["the same", "faster"]
    assert not any("also compares the machines" in text for text in found.remarks)


def test_a_comparison_of_two_machines_says_so():
    found = compare.comparison(machine("rack-1", 10.0), machine("rack-2", 5.0), drift=True)
    assert "a is from rack-1, b from rack-2" in found.remarks[0]
    with pytest.raises(LabError, match="compare one machine with one other"):
        both = bench.merge([machine("rack-1", 1.0), machine("rack-2", 1.0)])
        compare.comparison(both, machine("rack-3", 1.0))


def drifting(rows=144, count=16, seed=7):
    """Return one program's processes on a machine that is 10 % slower in the second half."""
    rng = np.random.default_rng(seed)
    bases = rng.uniform(1e3, 1e6, rows)
    listed = []
    for i in range(count):
        slower = (1.1 if i >= count // 2 else 1.0) + rng.normal(0, 0.003)
        listed.append(
            [noisy(rng, ns * slower, 0.01) | {"bytes": 16 * (n + 1)} for n, ns in enumerate(bases)]
        )
    return listed


def decided(found):
    return sum(line.verdict in ("faster", "slower") for line in found.lines) / len(found.lines)


def test_first_half_against_second_half_is_undecided_and_would_be_wrong():
    listed = drifting()
    a = bench.from_object(runs(*listed[:8]), "a")
    b = bench.from_object(runs(*listed[8:], start=8), "b")
    assert decided(compare.comparison(a, b)) == 0
    assert decided(compare.comparison(a, b, drift=True)) > 0.5  # what a comparison must not say


def test_a_program_in_turns_with_itself_is_decided_in_at_most_5_percent():
    first, second = compare.split(bench.from_object(runs(*drifting()), "x"))
    found = compare.comparison(first, second)
    assert decided(found) <= 0.05
    assert all(line.reason is None for line in found.lines)


def test_the_stored_measurement_of_a_program_with_itself_holds():
    """What this machine's noise makes of one program, measured in turns with itself."""
    a, b = (bench.load(RESULTS / f"zen4-2cores-aa-{name}.json") for name in "ab")
    found = compare.comparison(a, b)
    assert len(found.lines) >= 144
    assert all(line.reason is None for line in found.lines)
    assert {len(line.a.samples_of) for line in found.lines} == {8}
    assert decided(found) <= 0.05
    # The data could have shown a difference: with b ten times as slow, it does.
    b.rows = [replace(row_of_b, samples_ns=10 * row_of_b.samples_ns) for row_of_b in b.rows]
    assert compare.comparison(a, b).count("slower") == len(found.lines)


def one_process(of, chosen):
    """Return the report of one process that took the samples of the `chosen` processes."""
    listed = []
    for one in compare.group(of).rows:
        taken = np.concatenate([list(one.samples_of.values())[i] for i in chosen])
        listed.append(replace(one, samples_ns=taken, samples_of={one.process: taken}))
    return replace(of, contexts=of.contexts[:1], sources=of.sources[:1], rows=listed)


@pytest.mark.parametrize("chosen", [[0], list(range(8))], ids=["3 samples", "24 samples"])
def test_one_process_of_a_program_and_one_of_the_same_are_not_called_different(chosen):
    a, b = (bench.load(RESULTS / f"zen4-2cores-aa-{name}.json") for name in "ab")
    found = compare.comparison(one_process(a, chosen), one_process(b, chosen))
    assert len(found.lines) >= 144 and all(line.one_process for line in found.lines)
    assert decided(found) == 0
    assert compare.slower_text(found, 0.03)[0] == 3


def test_a_split_keeps_the_processes_of_one_turn_together():
    # paraes-mpi measures threads beside its ranks, so one turn has two processes of a row.
    parts = [(i // 2, [row(ns=10.0 if i % 2 else 20.0)]) for i in range(32)]
    first, second = compare.split(reproduction(*parts))
    (line,) = compare.comparison(first, second).lines
    assert (len(line.a.samples_of), len(line.b.samples_of)) == (16, 16)
    assert line.reason is None and line.verdict != "faster" and line.verdict != "slower"


def test_a_split_needs_processes():
    first, second = compare.split(bench.from_object(report(row()), "x"))
    with pytest.raises(LabError, match="no row in common"):
        compare.comparison(first, second)


def file(path, value):
    path.write_text(json.dumps(value))
    return path


def test_fail_slower_exits_1_if_a_row_is_slower_and_0_if_undecided(tmp_path, lab):
    def written(name, ns, count=8, start=0):
        rows = [[row(ns=ns)] for _ in range(count)]
        return file(tmp_path / name, runs(*rows, start=start, step=2))

    a = written("a.json", 1000.0)
    slower = written("slower.json", 1100.0, start=1)
    little = written("little.json", 1010.0, start=1)
    few = written("few.json", 1100.0, 3, start=1)
    status, out, err = lab("compare", a, slower, "--fail-slower", "3%")
    assert status == 1 and "slower in 1" in out
    assert err.startswith("paraes-lab: b is slower by 3 % or more in 1 row (reference")
    status, _, err = lab("compare", a, little, "--fail-slower", "3%")
    assert (status, err) == (0, "paraes-lab: b is slower by 3 % or more in 0 rows.\n")
    status, _, err = lab("compare", a, few, "--fail-slower", "3%")
    assert status == 3 and "in 0 rows; 1 of 1 is undecided. No row could be decided" in err
    assert lab("compare", a, slower)[0] == 0


def two_rows(rng, of_first, of_second, **times):
    rows = [
        [noisy(rng, of_first) | {"bytes": 1024}, noisy(rng, of_second) | {"bytes": 2048}]
        for _ in range(8)
    ]
    return runs(*rows, step=2, **times)


def test_fail_slower_exits_0_if_one_row_is_decided_and_3_if_none_is(tmp_path, lab):
    rng = np.random.default_rng(5)
    a = file(tmp_path / "a.json", two_rows(rng, 1000.0, 1000.0))
    same = file(tmp_path / "b.json", two_rows(rng, 1000.0, 1029.5, start=1))
    status, _, err = lab("compare", a, same, "--fail-slower", "3%")
    assert status == 0 and err.endswith("in 0 rows; 1 of 2 is undecided.\n")
    near = file(tmp_path / "c.json", two_rows(rng, 1029.5, 1029.5, start=1))
    status, _, err = lab("compare", a, near, "--fail-slower", "3%")
    assert status == 3 and "2 of 2 are undecided. No row could be decided; the rule and the" in err
    assert lab("compare", a, near)[0] == 0


def test_fail_slower_of_one_process_each(tmp_path, lab):
    rng = np.random.default_rng(5)

    def written(name, ns):
        samples = list(ns * np.exp(rng.normal(0, 0.01, 31)))
        return file(tmp_path / name, report(row(samples_ns=samples)))

    a, twice, same = written("a", 1000.0), written("twice", 2000.0), written("same", 1000.0)
    status, out, err = lab("compare", a, twice, "--fail-slower", "3%")
    assert status == 1 and "slower, from one process" in out
    assert "in 1 row (reference" in err and "from one process)" in err
    status, _, err = lab("compare", a, same, "--fail-slower", "3%")
    assert status == 3 and "No row could be decided" in err


def test_fail_slower_of_a_wrong_row_exits_1_whatever_the_others_are(tmp_path, lab):
    wrong = row(bytes=1024, verified=False)
    a = file(tmp_path / "a.json", runs(*[[wrong, row()] for _ in range(8)], step=2))
    alone = file(tmp_path / "b.json", runs(*[[wrong] for _ in range(8)], start=1, step=2))
    beside = file(tmp_path / "c.json", runs(*[[wrong, row()] for _ in range(8)], start=1, step=2))
    for b in (alone, beside):
        status, _, err = lab("compare", a, b, "--fail-slower", "3%")
        assert status == 1 and "1 row WRONG" in err


def test_percentages_are_above_0_and_may_have_the_sign(tmp_path, lab):
    a = file(tmp_path / "a.json", runs(*[[row()] for _ in range(8)]))
    for text in ("3", "3%", "0.5 %"):
        assert lab("compare", a, a, "--least-effect", text)[0] == 0
    for text in ("0", "-1%", "x", "nan", "inf", "5000%"):
        status, _, err = lab("compare", a, a, f"--fail-slower={text}")
        assert status == 2 and "is not a percentage above 0, such as 3%" in err


def test_compare_of_a_wrong_row_exits_1(tmp_path, lab):
    a = file(tmp_path / "a.json", runs(*[[row()] for _ in range(8)], step=2))
    b = file(tmp_path / "b.json", runs(*[[row(verified=False)] for _ in range(8)], start=1, step=2))
    status, out, err = lab("compare", a, b)
    assert status == 1 and "WRONG in 1" in out and "1 row WRONG" in err


def test_compare_of_one_file_compares_its_odd_and_even_processes(tmp_path, lab):
    a = file(tmp_path / "a.json", runs(*[[row(ns=1000.0 + i)] for i in range(16)]))
    status, out, _ = lab("compare", a)
    assert status == 0 and "a.json, odd processes" in out and "the same in 1" in out


def measured(fake, tmp_path, lab, *options, name="out", axes=("--size", "1024")):
    axes = [
        *("--scope", "memory", "--device", "cpu", "--kernel", "reference,ttable", "--mode", "ecb"),
        *("--key-bits", "128", "--direction", "encrypt", "--threads", "1", *axes),
    ]
    folder = tmp_path / name
    status, out, err = lab(
        *("measure", f"old={fake / 'paraes'}", f"new={fake / 'paraes-mpi'}", "-o", folder),
        *options,
        *("--", *axes),
    )
    return status, out, err, folder


def test_measure_takes_turns_and_compare_accepts_them(fake, tmp_path, lab):
    text = (fake / "paraes-mpi").read_text().replace("return 1000 + byte", "return 500 + byte")
    (fake / "paraes-mpi").write_text(text)
    status, _, err, folder = measured(fake, tmp_path, lab, "--machine", "rack-1")
    assert status == 0, err
    log = log_of(tmp_path)
    assert len(log) == 16 and all("--samples 3" in line for line in log)
    assert all("--machine rack-1" in line for line in log)
    old = json.loads((folder / "old.json").read_text())
    new = json.loads((folder / "new.json").read_text())
    order = sorted((run["turn"], name) for name, v in (("o", old), ("n", new)) for run in v["runs"])
    names = [name for _, name in order]
    assert [turn for turn, _ in order] == list(range(16))
    assert all({names[i], names[i + 1]} == {"o", "n"} for i in range(0, 16, 2))
    assert names[::2] != ["o"] * 8  # the order changes
    status, out, _ = lab("compare", folder / "old.json", folder / "new.json")
    assert status == 0 and "faster in 2" in out


def test_an_interrupted_measurement_resumes(fake, tmp_path, lab, monkeypatch):
    assert measured(fake, tmp_path, lab, "--processes", "2")[0] == 0
    lines = log_of(tmp_path)
    assert measured(fake, tmp_path, lab, "--processes", "3")[0] == 0
    assert len(log_of(tmp_path)) == len(lines) + 2
    assert len(json.loads((tmp_path / "out" / "new.json").read_text())["runs"]) == 3


def test_a_failed_bench_ends_a_measurement_with_its_reason(fake, tmp_path, lab, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", "--size 1024")
    status, _, err, folder = measured(fake, tmp_path, lab)
    assert status == 1 and "it broke" in err
    assert not (folder / "old.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["paraes"], "'paraes' is not NAME=PROGRAM"),
        (["a/b=paraes"], "is not NAME=PROGRAM"),
        (["a=/no/such/file"], "is not a program that can be run"),
        (["a={fake}/paraes", "a={fake}/paraes"], "two programs have one name"),
    ],
)
def test_measure_refuses_bad_programs(fake, tmp_path, lab, words, message):
    words = [word.format(fake=fake) for word in words]
    status, _, err = lab("measure", *words, "-o", tmp_path / "o", "--", "--size", "1K")
    assert status == 2 and message in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("flag", ["--json", "--samples", "--machine", "--samples=5"])
def test_measure_refuses_axes_that_it_gives_itself(fake, tmp_path, lab, flag):
    status, _, err, _ = measured(fake, tmp_path, lab, axes=("--size", "1024", flag, "5"))
    assert status == 2 and ("before the --" in err or "-o DIR" in err)


def test_entry_of_keeps_equals_signs_of_the_path(tmp_path):
    program = tmp_path / "a=b"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert turns.entry_of(f"x={program}").program == program


def test_a_row_that_failed_everywhere_is_wrong_in_both_halves():
    failed = row(kernel="ttable", samples_ns=[], verified=False)
    halves = compare.split(bench.from_object(runs(*[[row(), failed]] * 16), "x"))
    assert compare.comparison(*halves, halves=True).count("WRONG") == 1


def test_a_burst_at_the_end_is_not_in_turns():
    a = runs(*[[row()]] * 100, step=2)
    b = runs(*[[row()]] * 6, start=500)
    b["runs"][0]["context"]["time"] = "2026-01-01T00:00:03Z"
    (line,) = compare.comparison(bench.from_object(a, "a"), bench.from_object(b, "b")).lines
    assert line.verdict == "undecided" and "not measured in turns" in line.reason


def test_too_few_processes_of_one_file_name_the_number_that_is_needed(tmp_path, lab):
    eight = file(tmp_path / "8.json", runs(*[[row()]] * 8))
    assert "a half has 4 processes" in lab("compare", eight)[1]
    one = file(tmp_path / "1.json", runs([row()]))
    status, _, err = lab("compare", one)
    assert status == 1 and "each row has one process, which has no halves" in err


def test_a_rebuilt_program_measures_all_programs_again(fake, tmp_path, lab):
    assert measured(fake, tmp_path, lab, "--processes", "2")[0] == 0
    with (fake / "paraes").open("a") as program:
        program.write("# another build\n")
    assert measured(fake, tmp_path, lab, "--processes", "2")[0] == 0
    assert len(log_of(tmp_path)) == 8


def test_measure_keeps_a_file_of_other_axes(fake, tmp_path, lab):
    assert measured(fake, tmp_path, lab, "--processes", "2")[0] == 0
    before = (tmp_path / "out" / "old.json").read_bytes()
    status, _, err, _ = measured(fake, tmp_path, lab, "--processes", "2", axes=("--size", "2048"))
    assert status == 1 and "choose another -o" in err
    assert (tmp_path / "out" / "old.json").read_bytes() == before


def test_two_measurements_do_not_share_a_folder(fake, tmp_path, lab):
    (tmp_path / "out" / "parts").mkdir(parents=True)
    with locked(tmp_path / "out" / "parts"):
        status, _, err, _ = measured(fake, tmp_path, lab)
    assert status == 1 and "another paraes-lab is measuring into this folder" in err


def test_files_of_files_of_runs_count_wrong_rows(tmp_path, lab):
    nested = {"schema": 1, "runs": [runs([row()], [row(verified=False)])]}
    page = tmp_path / "o.html"
    status, _, err = lab("report", file(tmp_path / "n.json", nested), "-o", page)
    assert status == 1 and "1 row is WRONG" in err and "WRONG" in page.read_text()
