"""The estimate of a measurement's time: its terms, this machine's paces, and recorded times."""

import json
import statistics
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from synthetic import log_of, machine_of

from paraes.lab import cli, discovery, measure, reproduce
from paraes.lab.costs import Pace, Paces, seconds_of
from paraes.lab.papers.data import NAMES
from paraes.lab.papers.setting import Setting
from paraes.lab.runs import GPU, Run
from paraes.lab.trial import LARGER, SMALL, _pace, trial

MIB = 1 << 20
RECORDED = Path(__file__).resolve().parents[2] / "bench/results/h200-16cores-papers-1MiB.json"
CPU_RUN = Run("memory", ("cpu",), ("reference",), MIB, samples=3)
GPU_RUN = replace(CPU_RUN, devices=(GPU,))


def test_a_process_starts_the_gpu_once_for_all_sizes():
    paces = Paces(4, start=1, gpu_start=10)
    sizes = [replace(GPU_RUN, size=size) for size in (1024, MIB, 2 * MIB)]
    assert 11 < seconds_of(sizes, paces) < 12
    assert sum(seconds_of([run], paces) for run in sizes) > 33
    assert seconds_of([CPU_RUN], paces) < 2
    ranks = replace(CPU_RUN, ranks=4)
    launched = seconds_of([ranks], replace(paces, launch=5, launch_rank=0.5))
    alone = seconds_of([ranks], replace(paces, launch=0, launch_rank=0))
    assert launched - alone == pytest.approx(5 + 4 * 0.5)


def test_rows_cost_what_the_bench_does_for_them():
    paces = Paces(4, start=0)
    one = seconds_of([CPU_RUN], paces)
    call = MIB * 27e-9
    # Calibration, warm-up, three samples with a call before each, and verification.
    assert one == pytest.approx(9 * call, rel=0.1)
    assert seconds_of([replace(CPU_RUN, threads=(4,))], paces) < one / 2
    both = seconds_of([replace(CPU_RUN, directions=("encrypt", "decrypt"))], paces)
    assert 2.2 * one < both < 2.7 * one
    # From 0.1 s on, a call brings its data itself.
    long = replace(CPU_RUN, size=16 * MIB)
    assert seconds_of([long], paces) == pytest.approx(5 * 16 * call, rel=0.1)
    # With a fast GPU, the processor takes longest: filling, and checking by OpenSSL.
    fast = replace(GPU_RUN, size=1024 * MIB)
    assert seconds_of([fast], Paces(4, start=0, gpu_start=0)) > 2
    timed = replace(GPU_RUN, min_time=2.0)
    assert seconds_of([timed], Paces(4)) > seconds_of([GPU_RUN], Paces(4)) + 3.9


def test_trial_measures_the_paces_of_this_machine(fake, tmp_path):
    machine = machine_of(fake)
    setting = Setting(4, processes=6, ranks=[2, 4])
    runs = [run for run, _ in reproduce.plan(list(NAMES), setting)]
    paces = trial(runs, machine, tmp_path)
    assert paces.cpu["reference", "encrypt"] == pytest.approx(10e-9, rel=0.01)
    assert paces.cpu["ttable", "decrypt"] == pytest.approx(4e-9, rel=0.01)
    assert paces.gpu["memory", "reference"].byte == pytest.approx(0.1e-9, rel=0.1)
    assert paces.gpu["transfer", "ttable-simple"].byte == pytest.approx(1e-9, rel=0.1)
    assert paces.gpu["memory", "reference"].call == pytest.approx(20e-6, rel=0.1)
    assert paces.start >= 0.01 and paces.gpu_start >= 0.01 and paces.launch >= 0
    log = log_of(tmp_path)
    assert all("--size 65536" in line for line in log)
    assert any(f"--size {SMALL},{LARGER} " in line for line in log)
    assert {line.split()[0] for line in log if "--distribute" in line} == {"2", "4"}
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_trial_of_programs_that_fail_keeps_the_usual_paces(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", "bench")
    machine = machine_of(fake)
    assert trial([CPU_RUN, GPU_RUN, replace(CPU_RUN, ranks=2)], machine, tmp_path) == Paces(4)


def test_rows_of_the_trial_that_failed_keep_the_usual_pace(fake, tmp_path, monkeypatch):
    assert _pace([{"bytes": SMALL, "samples_ns": [1.0]}]) is None
    machine = machine_of(fake)
    failed = {"results": [{"bytes": SMALL, "samples_ns": [], "kernel": "ttable"}]}
    monkeypatch.setattr("paraes.lab.trial.execute", lambda *_: (failed, ""))
    assert trial([CPU_RUN, GPU_RUN], machine, tmp_path) == Paces(4)


def test_processes_that_ended_correct_the_estimate(fake, tmp_path, monkeypatch):
    machine = machine_of(fake)
    setting = Setting(4, max_size=16 * MIB, processes=2, ranks=[2])
    seconds, told = 0.0, []
    bench = measure._bench

    def twice_as_long(batch, *more):
        nonlocal seconds
        seconds += 2 * seconds_of([step.rest for step in batch], Paces(4))
        return bench(batch, *more)

    monkeypatch.setattr(measure, "_bench", twice_as_long)
    clock = type("Clock", (), {"monotonic": staticmethod(lambda: seconds)})
    monkeypatch.setattr(measure, "time", clock)
    left = reproduce.left(["moreira-2026"], setting, machine, tmp_path)
    reproduce.measure(
        ["moreira-2026"],
        setting,
        machine,
        tmp_path,
        progress=lambda title, done, total: told.append((title, done, total)),
    )
    assert told[0][2] == pytest.approx(left.seconds)
    assert told[-1][2] == pytest.approx(2 * left.seconds)
    assert "left" in told[-1][0] and left.processes == len(told)


@pytest.fixture(scope="module")
def recorded():
    """The reproduction on an H200, and the paces that its rows have."""
    whole = json.loads(RECORDED.read_text())
    paces = Paces(whole["lab"]["setting"]["cores"])
    for kernel, direction in paces.cpu:
        medians = [
            row["median_ns"] * 1e-9 / row["bytes"]
            for row in whole["results"]
            if (row["device"], row["kernel"], row["direction"]) == ("cpu", kernel, direction)
            and (row["bytes"], row["threads"], row["key_bits"]) == (MIB, 1, 128)
            and row["scope"] == "memory"
        ]
        paces.cpu[kernel, direction] = statistics.median(medians)
    for kernel in ("reference", "reference-shared"):
        paces.gpu["memory", kernel] = Pace(22e-6, 0.07e-9)
    return whole, paces


def test_estimate_of_recorded_processes_on_an_h200_is_right_within_30_percent(recorded):
    whole, paces = recorded
    setting = Setting(**whole["lab"]["setting"])
    planned = {
        tuple(run.arguments("cuda:0")): run for run, _ in reproduce.plan(list(NAMES), setting)
    }
    # The call of which nothing else took the machine's time, but for its first process.
    parts = sorted(
        (part for part in whole["lab"]["parts"] if (part["time"] or "") > "2026-11-27T17"),
        key=lambda part: part["time"],
    )
    begin, end = (datetime.fromisoformat(parts[i]["time"].rstrip("Z")) for i in (0, -1))
    estimated = sum(seconds_of([planned[tuple(part["command"][2:])]], paces) for part in parts[1:])
    assert len(parts) > 80
    assert estimated == pytest.approx((end - begin).total_seconds(), rel=0.3)


def test_papers_up_to_16_mib_on_an_h200_fit_four_minutes(recorded):
    _, paces = recorded
    machine = discovery.Machine(Path("paraes"), 16, "cuda:0", "H200", False, None, "here")
    setting = Setting(16, max_size=16 * MIB, samples=1, processes=6, ranks=[])
    left = reproduce.left(list(NAMES), setting, machine, Path("none"), paces)
    assert left.processes == 6 * 19
    assert left.seconds + cli.REPORT_SECONDS < 240
    single = [run for run, _ in reproduce.plan(list(NAMES), setting)]
    assert 6 * len(single) == 294  # processes, if each size had its own
    full = replace(setting, max_size=None)
    left = reproduce.left(list(NAMES), full, machine, Path("none"), paces)
    assert left.longest < 240 - cli.REPORT_SECONDS
