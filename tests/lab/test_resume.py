"""Measurements in several calls: interrupted ones, those with --limit, on other machines."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from synthetic import log_of, machine_of

from paraes.lab import cli, discovery, measure, reproduce
from paraes.lab.costs import Paces, seconds_of
from paraes.lab.errors import LabError
from paraes.lab.papers.data import NAMES
from paraes.lab.papers.setting import Setting

MIB = 1 << 20


def setting_of(**more):
    return Setting(4, **{"max_size": 16 * MIB, "processes": 6, "ranks": [2], **more})


def rows_of(whole):
    """Return the rows without what differs from call to call."""
    return sorted(json.dumps(row, sort_keys=True) for row in whole["results"])


# ---- One process, several sizes --------------------------------------------------------------


def test_one_process_measures_all_sizes_of_an_implementation(fake, tmp_path):
    machine, setting = machine_of(fake), setting_of(processes=1)
    runs = [run for run, _ in reproduce.plan(list(NAMES), setting)]
    whole = reproduce.measure(list(NAMES), setting, machine, tmp_path / "out")
    log = log_of(tmp_path)
    # On a GPU, each implementation starts it once.
    on_gpu = {run.implementation for run in runs if run.on_gpu}
    assert sum("cuda:0" in line for line in log) == len(on_gpu) < sum(run.on_gpu for run in runs)
    assert len(log) <= len({run.implementation for run in runs}) + 2  # some end by MOST_SECONDS
    parts = [part for part in whole["lab"]["parts"] if part["file"]]
    assert len(parts) == len(runs)  # a file of each size, as before
    measured = {
        (part["file"], row["bytes"])
        for part in parts
        for row in whole["results"][part["results"][0] : sum(part["results"])]
    }
    assert len(measured) == len(parts)


def test_a_process_measures_only_the_sizes_that_are_missing(fake, tmp_path):
    machine = machine_of(fake)
    small = reproduce.measure(["soares"], setting_of(max_size=MIB, processes=1), machine, tmp_path)
    count = len(log_of(tmp_path))
    large = reproduce.measure(["soares"], setting_of(processes=1), machine, tmp_path)
    sizes = [re.search(r"--size ([\d,]+)", line)[1] for line in log_of(tmp_path)[count:]]
    again = {int(size) for line in sizes for size in line.split(",")}
    assert again == {row["bytes"] for row in large["results"]} - {
        row["bytes"] for row in small["results"]
    }


def test_a_part_of_one_size_from_another_version_counts(fake, tmp_path):
    machine, setting = machine_of(fake), setting_of(processes=1)
    first = reproduce.measure(["soares"], setting, machine, tmp_path)
    count = len(log_of(tmp_path))
    for path in (tmp_path / "parts").iterdir():
        report = json.loads(path.read_text())
        del report["made"]  # which earlier versions did not write
        path.write_text(json.dumps(report))
    again = reproduce.measure(["soares"], setting, machine, tmp_path)
    assert len(log_of(tmp_path)) == count and rows_of(again) == rows_of(first)
    commands = [part["command"] for part in again["lab"]["parts"]]
    assert all(re.search(r"--size \d+ ", " ".join(command)) for command in commands)


def test_a_size_that_ends_the_bench_does_not_take_the_others_with_it(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_FAIL", f"--size {2 * MIB} ")
    said = []
    whole = reproduce.measure(
        ["soares"], setting_of(processes=1), machine_of(fake), tmp_path, warn=said.append
    )
    sizes = {row["bytes"] for row in whole["results"]}
    assert 2 * MIB not in sizes and {64 << 10, 4 * MIB, 16 * MIB} <= sizes
    assert len(said) == 1 and "2 MiB: paraes: it broke" in said[0]
    (skip,) = whole["skipped"]
    assert skip["bytes"] == 2 * MIB and "it broke" in skip["reason"]


def test_no_process_of_several_sizes_takes_longer_than_what_an_interruption_may_lose():
    paces = Paces(16)
    setting = Setting(16, processes=8, ranks=[2, 16])
    machine = discovery.Machine(
        Path("paraes"), 16, "cuda:0", "H200", False, None, "here", ["mpirun"], Path("paraes-mpi")
    )
    planned = reproduce.plan(list(NAMES), setting)
    for steps in measure.steps_of(planned, machine, Path("none"), 1):
        for batch in measure.batches_of(steps, paces):
            seconds = seconds_of([step.run for step in batch], paces)
            assert seconds <= measure.MOST_SECONDS or len(batch) == 1
            assert seconds < 240 - cli.REPORT_SECONDS  # fits a call of four minutes


# ---- Interruptions ---------------------------------------------------------------------------


def started(fake, tmp_path, *more, paper="soares"):
    command = [sys.executable, "-m", "paraes.lab", "reproduce", paper, "--max-size", "1M", *more]
    command += ["-o", str(tmp_path / "out"), "--paraes", str(fake / "paraes")]
    environment = os.environ | {"PYTHONPATH": str(Path(measure.__file__).parents[2])}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    return process, tmp_path / "out"


def wait_for_parts(folder):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list((folder / "parts").glob("m*.json")):
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "status", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_an_interrupted_call_reports_what_it_has_and_resumes(
    fake, tmp_path, monkeypatch, number, status, word
):
    monkeypatch.setenv("FAKE_SLEEP", "0.1")
    process, folder = started(fake, tmp_path)
    wait_for_parts(folder)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    assert re.fullmatch(
        rf"paraes-lab: {word}; \d+ process(es)? of the bench (is|are) left, about \d+ s; run the "
        "same command again to resume",
        err.splitlines()[-1],
    )
    assert "Traceback" not in err
    whole = json.loads((folder / "results.json").read_text())
    assert whole["results"] and whole["lab"]["left"]["processes"] >= 1
    assert "is incomplete" in (folder / "report.html").read_text()
    assert [p.name for p in (folder / "parts").iterdir() if p.name.startswith(".")] == []
    done = {path.name for path in (folder / "parts").iterdir()}
    before = len(log_of(tmp_path))
    process, _ = started(fake, tmp_path)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(log_of(tmp_path)) - before >= 8 - before
    whole = json.loads((folder / "results.json").read_text())
    assert done < {part["file"] for part in whole["lab"]["parts"]}
    assert "left" not in whole["lab"]
    assert "is incomplete" not in (folder / "report.html").read_text()


def test_an_interruption_while_parts_are_written_keeps_all_of_them(fake, tmp_path, monkeypatch):
    write = measure.write_whole

    def interrupting(path, data):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)  # Python runs the signal handler here
        write(path, data)

    monkeypatch.setattr(measure, "write_whole", interrupting)
    _, done = reproduce.measure_what_fits(
        ["soares"], setting_of(processes=1, max_size=MIB), machine_of(fake), tmp_path
    )
    assert done.interruption == signal.SIGINT and done.left.processes == 0
    planned = reproduce.plan(["soares"], setting_of(processes=1, max_size=MIB))
    sizes = {row["bytes"] for part in done.parts for row in part.report["results"]}
    assert sizes == {run.size for run, _ in planned} and len(sizes) >= 3
    assert len(list((tmp_path / "parts").glob("m*.json"))) == len(sizes)
    assert [p.name for p in (tmp_path / "parts").iterdir() if p.name.startswith(".")] == []


def test_an_interruption_before_the_first_part_writes_no_report(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_SLEEP", "60")
    monkeypatch.setenv("FAKE_NO_GPU", "1")  # whose rows are skipped before anything is measured
    process, folder = started(fake, tmp_path, "--quick", paper="moreira-2026")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not log_of(tmp_path):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=50)  # less than the bench would sleep
    assert process.returncode == 130 and "resume" in err.splitlines()[-1]
    assert not (folder / "results.json").exists()
    assert list((folder / "parts").iterdir()) == []


def test_every_paper_reports_a_measurement_that_has_only_begun(fake, tmp_path, monkeypatch):
    count = 0

    def interrupt(*arguments):
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return bench(*arguments)

    bench = measure._bench
    monkeypatch.setattr(measure, "_bench", interrupt)
    whole, done = reproduce.measure_what_fits(
        list(NAMES), setting_of(), machine_of(fake), tmp_path / "out"
    )
    assert done.interruption == signal.SIGINT and done.left.processes > 90
    assert [part["papers"] for part in whole["lab"]["parts"]]
    document = reproduce.document([whole], [], ["results.json"])
    assert "is incomplete" in document.lead
    text = json.dumps([table.texts() for table in document.tables()])
    assert "not measured yet: the same command continues" in text


# ---- A limit of time -------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances only while a bench runs, by what was estimated for it."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(measure, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    monkeypatch.setattr(cli, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    monkeypatch.setattr(reproduce, "paces_of", lambda *_: Paces(4))
    bench = measure._bench

    def timed(batch, *more):
        now.seconds += seconds_of([step.rest for step in batch], Paces(4))
        return bench(batch, *more)

    monkeypatch.setattr(measure, "_bench", timed)
    return now


def test_a_limit_divides_a_measurement_into_calls_that_continue(
    fake, tmp_path, lab, clock, monkeypatch
):
    command = ["reproduce", "moreira-2026", "--max-size", "16M", "--processes", "2", "--ranks", "2"]
    whole_status, _, err = lab(*command, "-o", tmp_path / "whole")
    assert whole_status == 0, err
    expected = json.loads((tmp_path / "whole" / "results.json").read_text())
    count, limit = len(log_of(tmp_path)), cli.REPORT_SECONDS + 5
    for call in range(20):
        monkeypatch.setenv("FAKE_HOST", f"host{call}")
        began = clock.seconds
        status, _, err = lab(*command, "--limit", f"{limit}s", "-o", tmp_path / "parts")
        assert clock.seconds - began <= limit - cli.REPORT_SECONDS
        assert clock.seconds > began
        if status == 0:
            break
        assert status == 3
        assert re.fullmatch(
            r"paraes-lab: the time is over; \d+ process(es)? of the bench (is|are) left, about "
            r"\d+ s: run the same command again to continue, here or on a machine of the same kind",
            err.splitlines()[-1],
        )
        assert "is incomplete" in (tmp_path / "parts" / "report.html").read_text()
    assert status == 0 and call >= 1
    whole = json.loads((tmp_path / "parts" / "results.json").read_text())
    assert rows_of(whole) == rows_of(expected)
    # No size is measured twice.
    sizes = [re.search(r"--size ([\d,]+)", line)[1].split(",") for line in log_of(tmp_path)]
    assert sum(map(len, sizes[count:])) == sum(map(len, sizes[:count]))
    (calls,) = [t for t in reproduce.document([whole], [], ["r"]).tables() if t.name == "calls"]
    assert [row[1] for row in calls.rows] == [f"host{n}" for n in range(call + 1)]
    assert sum(row[5] for row in calls.rows) == len(whole["results"])


def test_a_limit_that_is_too_short_for_any_process_says_what_is_needed(fake, tmp_path, lab, clock):
    status, _, err = lab("reproduce", "soares", "--limit", "15s", "-o", tmp_path / "out")
    assert status == 1 and clock.seconds == 0
    assert "--limit 15 s is too short: the report alone takes about 15 s" in err
    status, _, err = lab("reproduce", "soares", "--limit", "15.1s", "-o", tmp_path / "out")
    assert status == 1 and clock.seconds == 0
    needed = re.search(r"too short: the trial, the shortest .* take about (\d+) s", err)[1]
    status, _, err = lab("reproduce", "soares", "--limit", f"{needed}s", "-o", tmp_path / "out")
    assert status == 3 and clock.seconds > 0, err
    status, _, err = lab("reproduce", "soares", "--limit", "soon", "-o", tmp_path / "out")
    assert status == 2 and "'soon' is not a time; write 90s, 4min or 1.5h" in err


# ---- Other machines --------------------------------------------------------------------------


def test_another_machine_of_the_same_kind_continues(fake, tmp_path, monkeypatch):
    machine, setting = machine_of(fake), setting_of(processes=1)
    monkeypatch.setenv("FAKE_HOST", "monday")
    reproduce.measure(["soares"], setting_of(max_size=MIB, processes=1), machine, tmp_path)
    monkeypatch.setenv("FAKE_HOST", "tuesday")
    monkeypatch.setattr(os, "uname", lambda: pytest.fail("the host's name does not matter"))
    moved = fake.rename(fake.with_name("elsewhere"))
    whole = reproduce.measure(["soares"], setting, machine_of(moved), tmp_path)
    assert {part["host"] for part in whole["lab"]["parts"]} == {"monday", "tuesday"}
    (calls,) = [t for t in reproduce.document([whole], [], ["r"]).tables() if t.name == "calls"]
    assert sorted(row[1] for row in calls.rows) == ["monday", "tuesday"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("driver", "driver of cuda:0: 1 there, 2 here"),
        ("cores", "cores: 4 there, 2 here"),
        ("processor", r"processor: Formula 1, .* there, Formula 2, .* here"),
    ],
)
def test_another_kind_of_machine_is_refused(fake, tmp_path, lab, monkeypatch, change, said):
    assert lab("reproduce", "soares", "--quick", "-o", tmp_path / "out")[0] == 0
    before = log_of(tmp_path)
    if change == "driver":
        monkeypatch.setenv("FAKE_DRIVER", "2")
    elif change == "cores":
        monkeypatch.setattr(discovery.os, "sched_getaffinity", lambda pid: {0, 1})
    else:
        text = (fake / "paraes").read_text()
        (fake / "paraes").write_text(text.replace("Formula 1", "Formula 2"))
    status, _, err = lab("reproduce", "soares", "--quick", "-o", tmp_path / "out")
    assert status == 1 and log_of(tmp_path) == before
    assert re.search(rf"was measured on another kind of machine \({said}\): continue on one", err)


def test_a_machine_without_the_gpu_that_measured_is_refused(fake, tmp_path, lab, monkeypatch):
    command = ["reproduce", "moreira-2026", "--max-size", "1KiB", "-o", tmp_path / "out"]
    assert lab(*command)[0] == 0
    before = (tmp_path / "out" / "results.json").read_bytes()
    monkeypatch.setattr(discovery, "_choose_gpu", lambda *_: (None, "the driver is gone"))
    status, _, err = lab(*command)
    assert status == 1
    assert "was measured with cuda:0, and the GPU here is none, because the driver is gone" in err
    assert (tmp_path / "out" / "results.json").read_bytes() == before
    status, _, err = lab(*command, "--device", "cpu")  # as somebody wants it
    assert status == 0, err


def test_parts_of_one_rank_do_not_depend_on_paraes_mpi(fake, tmp_path):
    runs = [run for run, _ in reproduce.plan(["pousa-2011"], setting_of(processes=1))]
    runs = [run for run in runs if not run.on_gpu]
    with_mpi = machine_of(fake)
    (fake / "paraes-mpi").unlink()
    without = discovery.look_at(fake / "paraes")
    for run in runs:
        same = measure.part_file(run, with_mpi) == measure.part_file(run, without)
        assert same == (run.ranks == 1), run


def test_a_damaged_part_is_measured_again(fake, tmp_path, lab):
    command = ["reproduce", "soares", "--max-size", "1MiB", "-o", tmp_path / "out"]
    assert lab(*command)[0] == 0
    expected = rows_of(json.loads((tmp_path / "out" / "results.json").read_text()))
    part = max((tmp_path / "out" / "parts").glob("*.json"))
    for damage in (b"", part.read_bytes()[:-9], b'{"schema": 1, "results": [], "skipped": []}'):
        part.write_bytes(damage)
        status, _, err = lab(*command)
        assert status == 0, err
        whole = json.loads((tmp_path / "out" / "results.json").read_text())
        assert rows_of(whole) == expected


def test_results_that_the_new_ones_do_not_contain_are_kept(fake, tmp_path, lab):
    command = ["reproduce", "soares", "--max-size", "1MiB", "-o", tmp_path / "out"]
    assert lab(*command)[0] == 0
    before = (tmp_path / "out" / "results.json").read_bytes()
    assert lab(*command)[0] == 0  # the same
    assert list((tmp_path / "out").glob("results-*.json")) == []
    with open(fake / "paraes", "a") as program:
        program.write("# another build\n")
    status, _, err = lab(*command)
    assert status == 0
    (aside,) = (tmp_path / "out").glob("results-*.json")
    assert aside.read_bytes() == before
    assert f"had other measurements, which are now in {aside}" in err


def test_a_full_disk_ends_the_measurement(fake, tmp_path, monkeypatch):
    said = f"x.json: {os.strerror(28)}"
    monkeypatch.setattr(measure, "_bench", lambda *_: (None, said, ["paraes"]))
    with pytest.raises(LabError, match="make room, and run the same command again"):
        reproduce.measure(["soares"], setting_of(processes=1), machine_of(fake), tmp_path)


def test_two_at_once_are_refused_before_the_trial(fake, tmp_path, lab, monkeypatch):
    monkeypatch.setattr(reproduce, "WORTH_A_TRIAL", 0.0)
    parts = tmp_path / "out" / "parts"
    parts.mkdir(parents=True)
    with measure.locked(parts):
        status, _, err = lab("reproduce", "soares", "--quick", "-o", tmp_path / "out")
    assert status == 1 and "another paraes-lab is measuring into this folder" in err
    assert log_of(tmp_path) == []


def test_a_folder_without_a_gpu_may_get_one(fake, tmp_path):
    setting = setting_of(processes=1, max_size=1024)
    reproduce.measure(["moreira-2026"], setting, machine_of(fake, "cpu"), tmp_path)
    whole = reproduce.measure(["moreira-2026"], setting, machine_of(fake), tmp_path)
    assert any(row["device"] == "cuda:0" for row in whole["results"])
    kind = json.loads((tmp_path / "measured-on.json").read_text())
    assert kind["gpus"]["cuda:0"]["name"] == "Formula GPU"
    (tmp_path / "measured-on.json").write_text("[]")
    with pytest.raises(LabError, match="does not name a kind of machine"):
        reproduce.measure(["moreira-2026"], setting, machine_of(fake), tmp_path)
