"""Damaged bench JSON: every verb and output ends with one line, never with a traceback."""

import copy
import io
import json
import math
import os
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import machine_of, report, row, written

from paraes.lab import cli, reproduce
from paraes.lab.files import dumps
from paraes.lab.papers.setting import Setting

SVG = "{http://www.w3.org/2000/svg}"
# More by hand: PARAES_LAB_EXAMPLES=5000.
FEW = "60" if os.environ.get("PARAES_LONG") else "15"
EXAMPLES = int(os.environ.get("PARAES_LAB_EXAMPLES", FEW))
JUNK = (None, 5, "x", [], {}, -1, 0, math.inf, 1e-300, True, 1e300, 10**400, "\ud800", "$a$_{")
JUNK += ([[]],)
# Extreme values that a field may have; the reports must hold whatever follows from them.
EXTREME = (1e-3, 1e18, 1, 2, (1 << 31) - 1, (1 << 63) - 1, 0, "$\\x$", "_", "<&>\\", [], None, 1e15)


def everything() -> dict[str, Any]:
    """Return a report with every kind of row, so that every section has something to show."""
    sizes = (1 << 10, 1 << 20)
    phases = {"read": [5.0, 6.0], "kernel": [7.0, 8.0], "write": [9.0, 9.5]}
    moved = {"scatter": 300.0, "kernel": 400.0, "gather": 300.0}
    rows = [
        *[row(ns=n / p, bytes=n, threads=p, mode="gcm") for n in sizes for p in (1, 2, 4)],
        *[row(ns=1e4 + n / 9, bytes=n, threads=0, device="cuda:0", mode="gcm") for n in sizes],
        row(ns=500.0, kernel=None, rival="memcpy", mode=None, key_bits=None, direction=None),
        row(ns=900.0, kernel=None, rival="openssl-evp", mode="gcm"),
        row(kernel="aesni", mode="gcm", messages=8, keys="one"),
        row(kernel=None, rival="ports-aesni"),
        row(scope="file", format="paraes", phases=phases, timeline={"read": 1.0}),
        row(scope="transfer", device="cuda:0", threads=0, timeline={"kernel": 7.0, "read": 0.0}),
        row(ranks=2, mode="gcm", distribution="scatter", timeline=moved),
        row(ranks=2, scope="file", format="paraes", distribution="shared"),
        row(verified=False, samples_ns=[]),
    ]
    rows[0] |= {"energy_joules": 1.0, "outliers": [8]}
    skipped = (
        row(bytes=0, kernel=None, device="hip:0") | {"reason": "no GPU"},
        row(kernel="ttable") | {"reason": "why"},
    )
    gpus = [{"id": "cuda:0", "name": "one", "driver": "two", "type": "gpu", "memory": 1 << 30}]
    return report(*rows, skipped=skipped, gpus=gpus, clock_hz=3.7e9)


def places(value: Any, path: tuple = ()) -> list[tuple]:
    """Return the paths of all members and elements. Of many samples only the first two count."""
    found = []
    if isinstance(value, dict):
        inside = list(value.items())
    else:
        inside = list(enumerate(value))[:2] if path[-1:] == ("samples_ns",) else enumerate(value)
    for name, member in inside:
        found.append((*path, name))
        if isinstance(member, (dict, list)):
            found += places(member, (*path, name))
    return found


def changed(value: Any, path: tuple, junk: Any) -> Any:
    """Return a copy of `value` with `junk` at `path`."""
    copied = copy.deepcopy(value)
    inner = copied
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = junk
    return copied


def text_of(value: Any) -> str:
    # Python writes an infinity as a word that is not JSON.
    return json.dumps(value).replace("Infinity", "1e999")


def line_of(*arguments: object) -> tuple[int, str]:
    """Run the command line; return the status and the only line on standard error, if any."""
    out_file, err_file = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(out_file), redirect_stderr(err_file):
        warnings.simplefilter("error", RuntimeWarning)
        status = cli.main([str(argument) for argument in arguments])
    out, err = out_file.getvalue(), err_file.getvalue()
    assert status in (0, 1, 2)
    (out + err).encode()  # a lone surrogate could not be printed
    assert len(err.split("\n")) == (1 if status == 0 else 2), err
    if status != 0:
        assert err.startswith("paraes-lab: "), err
    return status, err


def run_all(folder: Path, pictures: bool, name: str = "bad.json") -> None:
    """Run every verb that reads JSON on the file, with every output."""
    bad, good = folder / name, folder / "good.json"
    texts = ["-o", folder / "o.html", "--markdown", folder / "o.md"]
    texts += ["--latex", folder / "o.tex", "--csv", folder / "csv"]
    drawn = ["--png", folder / "png", "--svg", folder / "svg"] if pictures else []
    line_of("report", bad, *texts, *drawn)
    line_of("report", bad, good, *texts)
    line_of("compare", bad, good, *texts, *drawn)
    line_of("compare", good, bad, *texts)
    line_of("compare", bad, bad)
    for figure in ("throughput", "files", "cluster"):
        line_of("figure", figure, bad, "-o", folder / "f.svg")
        if pictures:
            line_of("figure", figure, bad, "-o", folder / "f.png")


def test_the_undamaged_report_gives_every_output(tmp_path):
    (tmp_path / "good.json").write_text(dumps(everything()))
    run_all(tmp_path, True, "good.json")
    for name in ("o.html", "o.md", "o.tex", "csv/energy.csv", "png/cluster.png", "f.svg", "f.png"):
        assert (tmp_path / name).exists() or name.startswith("png/"), name
    assert {p.stem for p in (tmp_path / "svg").iterdir()} >= {"scaling-speedup", "phases-figure"}
    names = {p.stem for p in (tmp_path / "csv").iterdir()}
    status, line = line_of("report", tmp_path / "good.json", "--csv", tmp_path / "all")
    assert status == 1 and "1 row is WRONG" in line  # the failed one
    names = {p.stem for p in (tmp_path / "all").iterdir()}
    assert names >= {"crossover", "energy", "phases", "phases-times", "rivals", "roofs", "scaling"}


WHOLE = everything()
PLACES = places(WHOLE)


VALUES = st.sampled_from((*JUNK, *EXTREME))


@settings(max_examples=2 * EXAMPLES)
@given(
    st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=4),
    st.sampled_from((False,) * 9 + (True,)),
)
def test_damage_anywhere_ends_with_one_line(tmp_path_factory, changes, pictures):
    folder = tmp_path_factory.getbasetemp()
    (folder / "good.json").write_text(dumps(WHOLE))
    value = WHOLE
    for path, junk in changes:
        try:
            value = changed(value, path, junk)
        except (KeyError, IndexError, TypeError):
            pass  # an earlier change removed this place
    (folder / "bad.json").write_text(text_of(value))
    run_all(folder, pictures)


@pytest.mark.parametrize("times", [(1e-3, 1e18, 1e18), (1e18, 1e-3, 1e-3), (1e-3, 1.0, 1e18)])
def test_times_far_apart_have_fits_and_figures(tmp_path, times):
    rows = [
        row(samples_ns=[ns] * 7, threads=p, bytes=n * p)
        for ns, p in zip(times, (1, 2, 4), strict=True)
        for n in (1, 1 << 20, 1 << 60)
    ]
    rows += [row(samples_ns=[ns] * 7, threads=t) for ns, t in zip(times, (1, 2, 3), strict=True)]
    (tmp_path / "good.json").write_text(dumps(report(*rows)))
    run_all(tmp_path, True, "good.json")
    assert line_of("report", tmp_path / "good.json", "--png", tmp_path / "all") == (0, "")


@pytest.mark.parametrize("name", ["$a$_{", "$\\frac$", "_a", "a$", "<&>\\"])
def test_figures_show_names_as_they_are(tmp_path, name):
    path = written(tmp_path / "good.json", *[row(bytes=n, kernel=name) for n in (1, 2)])
    assert line_of("report", path, "--svg", tmp_path, "--png", tmp_path) == (0, "")
    drawn = ElementTree.parse(tmp_path / "throughput-1.svg").getroot()
    texts = {"".join(node.itertext()).strip() for node in drawn.iter(f"{SVG}text")}
    assert f"{name} · 1 thread" in texts


MADE: dict[tuple[str, ...], dict[str, Any]] = {}


def reproduction(fake: Path, folder: Path, *papers: str) -> dict[str, Any]:
    """Return a quick reproduction with the fake programs, which is made once."""
    if papers not in MADE:
        machine = machine_of(fake)
        setting = Setting(machine.cores, quick=True)
        MADE[papers] = reproduce.measure(list(papers), setting, machine, folder / "out")
    return copy.deepcopy(MADE[papers])


AGAIN = "make the file again with paraes-lab reproduce"


@pytest.mark.parametrize(
    ("path", "junk", "words"),
    [
        ((), 5, "lab: expected an object, found 5"),
        ((), {}, "lab.papers: is missing"),
        (("papers",), [], "lab.papers: expected at least one paper, found []"),
        (("papers",), ["nobody"], "lab.papers[0]: expected one of moreira-2026, "),
        (("papers",), ["soares"] * 2, "lab.papers: expected every paper once"),
        (("setting",), None, "lab.setting: expected an object, found null"),
        (("setting",), {"quick": True}, "lab.setting.cores: is missing"),
        (("setting", "more"), 1, "lab.setting.more: is unknown to this version of paraes-lab"),
        (("setting", "cores"), 0, "lab.setting.cores: expected a whole number of at least 1"),
        (("setting", "quick"), 1, "lab.setting.quick: expected true or false, found 1"),
        (("setting", "samples"), "7", "lab.setting.samples: expected a whole number, found "),
        (("setting", "min_time"), None, "lab.setting.min_time: expected a number, found null"),
        (("setting", "ranks"), [2, 1], "lab.setting.ranks[1]: expected a whole number of at least"),
        (("setting", "ranks"), [], "lab.setting.ranks: expected at least one number, found []"),
        (("device",), {"id": None}, "lab.device.name: is missing"),
        (("device", "is_cpu"), None, "lab.device.is_cpu: expected true or false, found null"),
        (("device", "more"), 1, "lab.device.more: is unknown to this version of paraes-lab"),
        (("parts",), {}, "lab.parts: expected a list, found {}"),
        (("parts",), [], "lab.parts: expected parts with all 15 rows of results, found 0 rows"),
        (("parts", 1), 5, "lab.parts[1]: expected an object, found 5"),
        (("parts", 1, "papers"), None, "lab.parts[1].papers: expected a list, found null"),
        (("parts", 1, "results"), [5], "lab.parts[1].results: expected the first of 15 rows"),
        (("parts", 1, "results"), [-1, 5], "lab.parts[1].results[0]: expected a whole number of"),
        (("parts", 1, "results"), [4, 5], "expected the first row to be 5, where the part before"),
        (("parts", 1, "results"), [5, 11], "lab.parts[1].results: expected the first of 15 rows"),
        (("parts", 1, "results", 1), 1.5, "lab.parts[1].results[1]: expected a whole number"),
        (("parts", 2, "results", 1), 4, "expected parts with all 15 rows of results, found 14"),
        (("parts", 0, "skipped"), [0, 1], "lab.parts[0].skipped: expected at most 0 rows, found 1"),
    ],
)
def test_errors_name_the_wrong_field_of_a_reproduction(fake, tmp_path, path, junk, words):
    whole = reproduction(fake, tmp_path, "soares")
    assert len(whole["results"]) == 15 and len(whole["lab"]["parts"]) == 3
    bad = tmp_path / "bad.json"
    bad.write_text(dumps(changed(whole, ("lab", *path), junk)))
    status, err = line_of("report", bad, "-o", tmp_path / "o.html")
    assert status == 1 and words in err and err.endswith(f"; {AGAIN}\n")
    assert err.startswith(f"paraes-lab: {bad}: lab")


def test_a_reproduction_among_several_runs_is_refused(fake, tmp_path):
    whole = reproduction(fake, tmp_path, "soares")
    bad = tmp_path / "bad.json"
    runs = {"schema": 1, "lab": whole["lab"], "runs": [whole | {"lab": None}]}
    bad.write_text(dumps(runs))
    status, err = line_of("report", bad, "-o", tmp_path / "o.html")
    assert (status, err) == (1, f"paraes-lab: {bad}: results: is missing beside lab; {AGAIN}\n")


def test_a_reproduction_older_than_ranks_is_read(fake, tmp_path):
    whole = reproduction(fake, tmp_path, "soares")
    for name in ("ranks", "min_time", "samples", "max_size"):
        del whole["lab"]["setting"][name]
    (tmp_path / "old.json").write_text(dumps(whole))
    assert line_of("report", tmp_path / "old.json", "-o", tmp_path / "o.html") == (0, "")


@pytest.mark.parametrize("papers", [["soares", "pousa-2011"], ["moreira-2026"], ["tybusch-2014"]])
def test_damage_anywhere_in_a_reproduction_ends_with_one_line(fake, tmp_path, papers):
    whole = reproduction(fake, tmp_path, *papers)
    parts = [("lab", *path) for path in places(whole["lab"])]
    anywhere = st.sampled_from(parts) | st.sampled_from(places(whole))

    @settings(max_examples=max(8, EXAMPLES // 4))
    @given(anywhere, VALUES)
    def check(path: tuple, junk: Any) -> None:
        (tmp_path / "bad.json").write_text(text_of(changed(whole, path, junk)))
        line_of("report", tmp_path / "bad.json", "-o", tmp_path / "o.html")
        line_of("report", tmp_path / "bad.json", "--csv", tmp_path / "csv")

    check()
