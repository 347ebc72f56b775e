"""Reproductions with fake_paraes.py, whose formulas give every value; some with the real paraes."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from simulated import here, tables
from synthetic import log_of, machine_of

from paraes.lab import discovery, execution, reproduce
from paraes.lab.document import Estimate, Missing, Predicted
from paraes.lab.errors import LabError
from paraes.lab.papers.data import NAMES
from paraes.lab.papers.setting import Setting

MIB = 1 << 20


def run(folder, tmp_path, *papers, quick=False, max_size=16 * MIB, device=None, ranks=None):
    machine = machine_of(folder, device)
    setting = Setting(machine.cores, quick, max_size, ranks=ranks)
    return reproduce.measure(list(papers), setting, machine, tmp_path / "out", warn=print)


def agreement(whole, name):
    return {row[0]: row for row in tables(whole)[f"{name}-agreement"].rows}


def test_kept_commands_name_programs_without_their_folders(fake, tmp_path):
    whole = run(fake, tmp_path, "pousa-2011", max_size=1024)
    commands = [part["command"] for part in whole["lab"]["parts"] if part["command"]]
    assert {"paraes", "paraes-mpi"} <= {word for command in commands for word in command}
    assert not any(word.startswith(str(fake / "paraes")) for c in commands for word in c)


def test_pousa_2011_measures_ranks_up_to_the_cores_and_predicts_the_rest(fake, tmp_path):
    whole = run(fake, tmp_path, "pousa-2011")
    lines = here(whole, "pousa-2011-speedups")
    four = lines["MPI, 4 ranks"][2]
    assert isinstance(four, Estimate) and four.value == pytest.approx(1 / 0.325)
    for ranks in (8, 16, 32):
        cell = lines[f"MPI, {ranks} ranks"][2]
        assert isinstance(cell, Predicted), ranks
        assert cell.value == pytest.approx(1 / (0.1 + 0.9 / ranks), rel=1e-6)
        assert cell.points == 2 and cell.interval is None  # one process of each
    predicted = here(whole, "pousa-2011-times")["MPI, 32 ranks"][2]
    assert isinstance(predicted, Predicted)
    assert predicted.value == pytest.approx((1000 + 10 * MIB) * (0.1 + 0.9 / 32) * 1e-9, rel=1e-6)
    texts = [text for row in tables(whole)["pousa-2011-speedups"].texts() for text in row]
    assert any("(predicted from 2 points)" in text for text in texts)


def test_no_prediction_from_ranks_that_are_slower_than_one(fake, tmp_path):
    text = (fake / "paraes-mpi").read_text().replace("(0.1 + 0.9 / p)", "(1 if p == 1 else 1.5)")
    (fake / "paraes-mpi").write_text(text)
    whole = run(fake, tmp_path, "pousa-2011", max_size=1024, ranks=[2, 4])
    for table in ("pousa-2011-times", "pousa-2011-speedups"):
        lines = here(whole, table)
        cell = lines["MPI, 8 ranks"][0]
        assert isinstance(cell, Missing) and "took no less time" in cell.reason


def test_no_prediction_without_paraes_mpi(fake, tmp_path):
    (fake / "paraes-mpi").unlink()
    whole = run(fake, tmp_path, "pousa-2011", max_size=MIB)
    assert any(s["reason"].startswith("paraes-mpi was not found") for s in whole["skipped"])
    lines = here(whole, "pousa-2011-times")
    for ranks in (2, 8, 32):
        cell = lines[f"MPI, {ranks} ranks"][2]
        assert isinstance(cell, Missing) and "paraes-mpi was not found" in cell.reason


def test_one_core_measures_ranks_only_with_the_flag(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(discovery.os, "sched_getaffinity", lambda pid: {0})
    whole = run(fake, tmp_path, "pousa-2011", max_size=1024)
    assert {r["ranks"] for r in whole["results"]} == {1}
    lines = here(whole, "pousa-2011-times")
    assert "1 core here" in lines["MPI, 8 ranks"][0].reason
    whole = run(fake, tmp_path, "pousa-2011", max_size=1024, ranks=[2])
    lines = here(whole, "pousa-2011-times")
    assert isinstance(lines["MPI, 2 ranks on 1 core"][0], Estimate)
    # Ranks that share a core predict nothing about ranks with a core each.
    assert isinstance(lines["MPI, 8 ranks"][0], Missing)


def test_ranks_above_the_cores_are_marked_and_left_out_of_the_model(fake, tmp_path):
    text = (fake / "paraes-mpi").read_text().replace("(0.1 + 0.9 / p)", "(0.1 + 0.9 / min(p, 4))")
    (fake / "paraes-mpi").write_text(text)
    whole = run(fake, tmp_path, "pousa-2011", max_size=1024, ranks=[2, 4, 8])
    lines = here(whole, "pousa-2011-speedups")
    assert lines["MPI, 8 ranks on 4 cores"][0].value == pytest.approx(1 / 0.325)
    predicted = lines["MPI, 16 ranks"][0]
    assert isinstance(predicted, Predicted)
    assert predicted.value == pytest.approx(1 / (0.1 + 0.9 / 16), rel=1e-6)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        # Several ranks write the JSON at once.
        ("for last; do :; done\necho '{}{}' > \"$last\"\n", "another MPI"),
        (
            "printf '%s\\n' ------ 'not enough slots' 'and advice' ------ >&2\nexit 1\n",
            "the bench failed: not enough slots",
        ),
    ],
)
def test_a_launcher_that_fails_is_the_reason_of_skipped_rows(fake, tmp_path, script, reason):
    (fake / "mpirun").write_text(f"#!/bin/sh\n{script}")
    whole = run(fake, tmp_path, "pousa-2011", max_size=1024)
    assert whole["skipped"] and all(reason in s["reason"] for s in whole["skipped"])


def test_a_launcher_of_another_mpi_is_the_reason_of_skipped_rows(fake, tmp_path):
    # An MPI's launcher starts a program of another MPI as unconnected jobs of one rank.
    text = (fake / "mpirun").read_text()
    (fake / "mpirun").write_text(
        text.replace('["FAKE_RANKS"] = arguments[1]', '["FAKE_RANKS"] = "1"')
    )
    whole = run(fake, tmp_path, "pousa-2011", max_size=1024)
    reasons = {s["reason"] for s in whole["skipped"]}
    assert all("another MPI" in r for r in reasons) and len(reasons) == 2
    assert all(r["ranks"] == 1 for r in whole["results"])
    names = [p.name for p in (tmp_path / "out" / "parts").iterdir()]
    assert len(names) == 3  # threads, and the GPU with and without copies


@pytest.mark.parametrize(
    ("library", "version", "name", "options"),
    [
        ("libmpi.so.40", "mpirun (Open MPI) 4.1", "mpirun.openmpi", True),
        ("libmpi.so.40", "mpirun (Open MPI) 4.1", "mpirun", True),
        ("libmpich.so.12", "HYDRA build details:", "mpirun.mpich", False),
        ("", "HYDRA build details:", "mpirun", False),
    ],
)
def test_find_launcher_chooses_the_mpi_of_the_program(
    fake, monkeypatch, library, version, name, options
):
    monkeypatch.setenv("PATH", str(fake))
    monkeypatch.setenv("FAKE_MPI", version)
    (fake / "mpirun").rename(fake / name)
    if name == "mpirun.openmpi":  # a launcher of another MPI, not to be chosen
        (fake / "mpirun").write_text("")
        (fake / "mpirun").chmod(0o755)
    program = fake / "paraes-mpi"
    program.write_text(program.read_text() + f"# {library}\n")
    launcher, reason = discovery.find_launcher(program, None)
    assert reason is None and launcher[0] == name
    assert ("--oversubscribe" in launcher) == options
    assert ("--allow-run-as-root" in launcher) == (options and os.geteuid() == 0)
    assert discovery.find_launcher(program, f"{name} -x 'a b'") == ([name, "-x", "a b"], None)
    (fake / name).unlink()
    (fake / "mpirun").unlink(missing_ok=True)
    assert "mpirun is not installed" in discovery.find_launcher(program, None)[1]


def test_find_mpi_program_prefers_flag_then_variable_then_build_tree(fake, tmp_path, monkeypatch):
    build = tmp_path / "build"
    for folder in ("cli", "mpi"):
        (build / folder).mkdir(parents=True)
    program = (fake / "paraes").rename(build / "cli" / "paraes")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert discovery.find_mpi_program(program, None) is None
    beside = (fake / "paraes-mpi").rename(build / "mpi" / "paraes-mpi")
    assert discovery.find_mpi_program(program, None) == beside
    other = fake / "mpirun"
    monkeypatch.setenv("PARAES_MPI_PROGRAM", str(other))
    assert discovery.find_mpi_program(program, None) == other
    assert discovery.find_mpi_program(program, str(beside)) == beside
    monkeypatch.setenv("PARAES_MPI_PROGRAM", str(tmp_path / "none"))
    with pytest.raises(LabError, match="PARAES_MPI_PROGRAM: .* is not a program") as error:
        discovery.find_mpi_program(program, None)
    assert error.value.status == 2


def test_pousa_2014_finds_the_reductions_of_the_formulas(fake, tmp_path):
    whole = run(fake, tmp_path, "pousa-2014")
    rows = {r[0]: r[2:] for r in tables(whole)["pousa-2014-reduction"].rows}
    n = MIB
    assert rows["serial"][1].value == pytest.approx(100 * (1 - (1000 + 2 * n) / (1000 + 10 * n)))
    # Each kernel is a run of its own, and one process of each gives no interval.
    assert rows["serial"][1].interval is None
    found = agreement(whole, "pousa-2014")
    assert found["reduction by tables, serial"][3] == "undecided"


def test_soares_finds_the_serial_fraction_of_the_formulas(fake, tmp_path):
    whole = run(fake, tmp_path, "soares")
    table = tables(whole)["soares-karp-flatt"]
    for row in table.rows[1:]:
        for cell in row[2:]:
            assert cell.value == pytest.approx(0.1, abs=1e-6)
            assert cell.interval.low < 0.1 < cell.interval.high
    fits = tables(whole)["soares-fits"].rows
    amdahl = [row for row in fits if row[0].startswith("Amdahl")]
    assert amdahl
    for row in amdahl:
        assert row[2].value == pytest.approx(0.1, abs=1e-4)
        assert row[2].interval.low < 0.1 < row[2].interval.high
    assert any(row[0].startswith("Gustafson") for row in fits)
    growth = agreement(whole, "soares")["performance grows in proportion to the cores, 16 MiB"]
    assert growth[3] == "undecided"  # one process
    assert {(r["threads"] > 1, r["executor"]) for r in whole["results"]} == {
        (False, None),
        (True, "openmp"),
    }


@pytest.mark.parametrize("name", ["soares", "pousa-2011"])
def test_papers_with_openmp_ignore_rows_of_other_executors(fake, tmp_path, name):
    whole = run(fake, tmp_path, name)
    alone = tables(whole)
    results, parts = [], []
    for part in whole["lab"]["parts"]:
        begin, count = part["results"]
        rows = whole["results"][begin : begin + count]
        ours = [
            {**r, "executor": "threads", "samples_ns": [s / 8 for s in r["samples_ns"]]}
            for r in rows
            if r["executor"] == "openmp"
        ]
        parts.append({**part, "results": [len(results), len(ours) + count]})
        results += [*ours, *rows]
    assert len(results) > len(whole["results"])
    both = tables(whole | {"lab": {**whole["lab"], "parts": parts}, "results": results})
    for table in alone:
        if not table.endswith("-agreement"):
            assert both[table].rows == alone[table].rows, table


def test_report_lists_contradictions_with_both_sides(fake, tmp_path):
    whole = run(fake, tmp_path, *NAMES, quick=True, max_size=1024)
    text = json.dumps([t.texts() for t in tables(whole).values()], ensure_ascii=False)
    for one, other in (
        ("36 x", "39.68 x"),
        ("52 x", "51.00 x"),
        ("68 MB/s", "65.02 MB/s"),
        ("1.139361 s", "0.780433 s"),
        ("0.1955", "0.2093"),
    ):
        assert one in text and other in text


def test_min_time_is_passed_to_the_bench(fake, tmp_path, lab):
    options = ("--quick", "--min-time", "2", "-o", tmp_path / "o", "--paraes", fake / "paraes")
    assert lab("reproduce", "soares", *options)[0] == 0
    # Runs with other samples only find out how fast the machine is.
    lines = [line for line in log_of(tmp_path) if "--samples 7 " in line]
    assert lines and all("--min-time 2 " in line for line in lines)


def test_papers_share_equal_runs(fake, tmp_path):
    run(fake, tmp_path, *NAMES, quick=True, max_size=MIB)
    kept = [line.split(" --json ")[0] for line in log_of(tmp_path)]
    assert len(kept) == len(set(kept))


def test_temporary_files_of_killed_calls_are_removed(fake, tmp_path):
    parts = tmp_path / "out" / "parts"
    parts.mkdir(parents=True)
    dead = parts / ".memory-x.json.999999999"
    alive = parts / f".memory-y.json.{os.getpid()}"
    dead.touch()
    alive.touch()
    run(fake, tmp_path, "soares", quick=True, max_size=None)
    assert not dead.exists() and alive.exists()


def test_another_build_is_measured_again(fake, tmp_path):
    run(fake, tmp_path, "soares", max_size=MIB)
    count = len(log_of(tmp_path))
    with (fake / "paraes").open("a") as file:
        file.write("# another build\n")
    run(fake, tmp_path, "soares", max_size=MIB)
    assert len(log_of(tmp_path)) == 2 * count


def test_a_failed_bench_is_a_skipped_row_and_is_tried_again(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", "--size 1048576")
    whole = run(fake, tmp_path, "soares", max_size=MIB)
    assert any("it broke" in s["reason"] for s in whole["skipped"])
    names = [p.name for p in (tmp_path / "out" / "parts").iterdir()]
    assert not any("1048576" in name for name in names)
    monkeypatch.delenv("FAKE_FAIL")
    whole = run(fake, tmp_path, "soares", max_size=MIB)
    assert whole["skipped"] == []


def test_a_second_interruption_does_not_stop_the_cleanup(tmp_path):
    # A bench that interrupts its parent at once, and again when it is told to end.
    interrupting = """
import os, signal, sys, time
def end(*_):
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(0.6)
    open("ended", "w")
    sys.exit()
signal.signal(signal.SIGTERM, end)
open(sys.argv[-1], "w").write("{")
os.kill(os.getppid(), signal.SIGINT)
time.sleep(60)
"""
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        execution.execute(
            ["env", "-C", str(tmp_path), sys.executable, "-c", interrupting], tmp_path / "part.json"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["ended"]
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interruption_during_popen_leaves_no_child(monkeypatch, tmp_path):
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            started.append(self)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)  # Python runs the signal handler here

    monkeypatch.setattr(execution.subprocess, "Popen", Popen)
    with pytest.raises(KeyboardInterrupt):
        execution.execute(["sh", "-c", "sleep 60"], tmp_path / "part.json")
    assert started[0].returncode == -signal.SIGTERM


def test_pocl_stands_in_for_a_gpu_only_if_named_and_a_gpu_of_two_runtimes_counts_once():
    opencl = {"id": "opencl:0", "name": "RX", "driver": "AMD", "available": True}
    pocl = opencl | {"name": "cpu-zen", "driver": "Portable Computing Language 7"}
    listed = [{"id": "cpu", "available": True}, pocl]
    device, reason = discovery._choose_gpu(listed, None)
    assert device is None and "--device opencl:0" in reason
    device, _ = discovery._choose_gpu(listed, "opencl")
    assert device["id"] == "opencl:0"
    both = [opencl | {"same_as": "hip:0"}, opencl | {"id": "hip:0", "same_as": None}]
    assert discovery._choose_gpu(both, None)[0]["id"] == "hip:0"


def reproduce_quickly(lab, tmp_path, program, name, *options, size="1K"):
    """Reproduce a paper with the real program; return the results and standard output."""
    size = "512K" if name == "pousa-2014" else size  # its smallest size is 512 KB
    status, out, err = lab(
        *("reproduce", name, "--quick", "--max-size", size, "--samples", "6"),
        *("-o", tmp_path / "out", "--paraes", program, *options),
    )
    assert status == 0, err
    assert "warning" not in err or "--ranks" not in options, err
    return json.loads((tmp_path / "out" / "results.json").read_text()), out


@pytest.mark.parametrize("name", ["pousa-2011", "pousa-2014"])
def test_pousa_measures_ranks_of_the_real_paraes_mpi(program, mpi_program, tmp_path, lab, name):
    whole, out = reproduce_quickly(lab, tmp_path, program, name, "--ranks", "2,3")
    rows = [r for r in whole["results"] if r["ranks"] > 1]
    kernels = {"reference"} if name == "pousa-2011" else {"reference", "ttable"}
    assert {(r["kernel"], r["ranks"], r["threads"]) for r in rows} == {
        (k, ranks, 1) for k in kernels for ranks in (2, 3)
    }
    assert all(r["verified"] and r["distribution"] == "shared" for r in rows)
    assert not any(s["ranks"] > 1 for s in whole["skipped"])
    commands = [p["command"] for p in whole["lab"]["parts"] if "-n" in p["command"]]
    assert commands and all("paraes-mpi" in command for command in commands)
    cores = len(os.sched_getaffinity(0))
    table = "pousa-2011-times" if name == "pousa-2011" else "pousa-2014-aes-ci-speedup"
    about = "MPI, 2 ranks" if cores > 1 else "MPI, 2 ranks on 1 core"
    (line,) = [r for r in tables(whole)[table].rows if r[0] == about]
    measured = [cell for cell in line[1:] if isinstance(cell, Estimate)]
    # Speedups of one process of each have no interval.
    assert len(measured) == 1 and (measured[0].interval is not None) == (name == "pousa-2011")
    # At 1 KiB more ranks may take longer than one, and then nothing is predicted.
    modelled = "(predicted from 2 points)" in out or "took no less time" in out
    assert modelled == (cores > 2)
    assert ("one number of ranks was measured" in out) == (cores == 2)


def test_pousa_2011_with_the_other_real_mpi_and_wrong_launcher(program, mpi_program, tmp_path, lab):
    other = mpi_program.parents[2] / "mpich" / "mpi" / "paraes-mpi"
    if not other.is_file():
        pytest.skip(f"{other} is not built: cmake --preset mpich && cmake --build --preset mpich")
    launcher, reason = discovery.find_launcher(other, None)
    if reason is not None:
        pytest.skip(reason)
    options = ("--ranks", "2,3", "--paraes-mpi", other)
    whole, _ = reproduce_quickly(lab, tmp_path, program, "pousa-2011", *options)
    assert {r["ranks"] for r in whole["results"]} == {1, 2, 3}
    # An MPI's launcher starts a program of another MPI as unconnected jobs of one rank.
    given = ["--paraes-mpi", mpi_program, "--mpirun", " ".join(launcher)]
    status, _, err = lab(
        *("reproduce", "pousa-2011", "--quick", "--max-size", "1K", "--samples", "6"),
        *("--ranks", "2", "-o", tmp_path / "wrong", "--paraes", program, *given),
    )
    assert status == 0 and "it belongs to another MPI" in err


@pytest.mark.parametrize("name", NAMES)
def test_each_paper_end_to_end_with_the_real_program(program, tmp_path, lab, name):
    whole, out = reproduce_quickly(lab, tmp_path, program, name, size="4K")
    assert whole["results"] and all(row["verified"] for row in whole["results"])
    html = (tmp_path / "out" / "report.html").read_text()
    assert "Claims of the papers" in html and "Verdicts by paper" in out
    assert "A quick run" in html


def test_moreira_with_the_real_program_on_opencl_labels_the_cpu(program, tmp_path, lab):
    listed = json.loads(
        subprocess.run([program, "devices", "--json"], capture_output=True, check=True).stdout
    )
    if not any(d["id"] == "opencl:0" and d["available"] for d in listed["devices"]):
        pytest.skip("no OpenCL device: install pocl-opencl-icd")
    whole, out = reproduce_quickly(lab, tmp_path, program, "moreira-2026", "--device", "opencl:0")
    scopes = {r["scope"] for r in whole["results"] if r["device"] == "opencl:0"}
    assert {"memory", "transfer"} <= scopes
    assert "opencl:0 (a CPU)" in out
