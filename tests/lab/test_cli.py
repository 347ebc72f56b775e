"""The command line: what it writes, and its one-line errors with exit status and no output."""

import json
import os
import re
import subprocess
import sys

import pytest
from synthetic import report, row, runs, written


def rows(factor=1.0):
    return [row(ns=factor * (1000 + n), bytes=n) for n in (1024, 4096, 16384)]


@pytest.fixture
def good(tmp_path):
    return written(tmp_path / "good.json", *rows())


# The arguments, the status, and the beginning of the line on standard error.
GOLDEN = [
    ("report", 2, "the following arguments are required: RESULTS.json (see "),
    ("frobnicate", 2, "argument VERB: invalid choice: 'frobnicate'"),
    ("reproduce nobody-1999 -o {tmp}/x", 2, "no paper 'nobody-1999'; there are moreira-2026, "),
    ("reproduce soares -o {tmp}/x --paraes {tmp}/none", 2,
     "--paraes: {tmp}/none is not a program that can be run"),
    ("reproduce soares -o {tmp}/x --max-size lots", 2,
     "argument --max-size: 'lots' is not a size; write 64K, 1MiB or 1000000"),
    ("reproduce soares -o {tmp}/x --samples 0", 2,
     "argument --samples: '0' is not a whole number of at least 1"),
    ("reproduce pousa-2011 -o {tmp}/x --ranks 1,2", 2,
     "argument --ranks: '1,2': numbers of ranks must be at least 2"),
    ("report {tmp}/none.json -o {tmp}/x.html", 1,
     "{tmp}/none.json: cannot read: No such file or directory; `paraes bench --json "),
    ("report {tmp}/text.json -o {tmp}/x.html", 1, "{tmp}/text.json: is not JSON (Expecting value"),
    ("report {tmp}/binary.json -o {tmp}/x.html", 1,
     "{tmp}/binary.json: is not JSON (it is not UTF-8 text); give a file that `paraes bench"),
    ("report {tmp}/list.json -o {tmp}/x.html", 1, "{tmp}/list.json: expected an object, found []"),
    ("report {tmp}/schema.json -o {tmp}/x.html", 1,
     "{tmp}/schema.json: schema 9 is not supported (this paraes-lab reads 1); measure again "),
    ("report {tmp}/field.json -o {tmp}/x.html", 1,
     '{tmp}/field.json: results[1].threads: expected a whole number, found "2"'),
    ("report {tmp}/lab.json -o {tmp}/x.html", 1,
     "{tmp}/lab.json: lab.parts[0].results: expected a list, found null; make the file again "),
    ("report {tmp}/good.json", 2, "nothing to write: give -o FILE, --markdown FILE, --latex FILE"),
    ("report {tmp}/good.json -o {tmp}", 1, "{tmp}: is a folder; name a file"),
    ("report {tmp}/other.json {tmp}/good.json --markdown {tmp}/./good.json", 1,
     "{tmp}/good.json: is an input, which would be lost; name another file"),
    ("compare {tmp}/other.json {tmp}/good.json -o {tmp}/good.json", 1,
     "{tmp}/good.json: is an input, which would be lost; name another file"),
    ("figure throughput {tmp}/good.json -o {tmp}/good.json", 1,
     "{tmp}/good.json: is an input, which would be lost; name another file"),
    ("report {tmp}/good.json -o {tmp}/no/x.html", 1,
     "{tmp}/no/x.html: there is no folder {tmp}/no; make it first"),
    ("report {tmp}/good.json -o {tmp}/x.html --csv {tmp}/good.json/x", 1,
     "{tmp}/good.json/x: {tmp}/good.json is not a folder; choose another place"),
    ("reproduce soares -o {tmp}/good.json", 1,
     "{tmp}/good.json: {tmp}/good.json is not a folder; choose another place"),
    ("report {tmp}/good.json -o {tmp}/x.html --clock fast", 2,
     "argument --clock: 'fast' is not a clock frequency in GHz, such as 3.7"),
    ("report {tmp}/good.json --pdf {tmp}/p --width 59", 2,
     "argument --width: '59' is not a width from 60 to 1000 mm"),
    ("report {tmp}/good.json --pdf {tmp}/p --width nan", 2,
     "argument --width: 'nan' is not a width from 60 to 1000 mm"),
    ("figure files {tmp}/good.json -o {tmp}/g.svg", 1,
     "{tmp}/good.json: no rows of whole files, encrypt"),
    ("compare {tmp}/good.json {tmp}/other.json", 1,
     "{tmp}/good.json and {tmp}/other.json have no row in common: measure both with the same axes"),
    ("figure pie {tmp}/good.json -o {tmp}/x.svg", 2, "argument FIGURE: invalid choice: 'pie'"),
    ("figure throughput {tmp}/good.json --direction decrypt -o {tmp}/x.svg", 1,
     "{tmp}/good.json: no rows of ecb, 128-bit keys, decrypt; choose with --mode, --key-bits, "),
]


@pytest.mark.parametrize(("arguments", "status", "words"), GOLDEN, ids=range(len(GOLDEN)))
def test_errors_are_one_line_and_leave_no_files(tmp_path, good, lab, arguments, status, words):
    (tmp_path / "text.json").write_text("hello")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "schema.json").write_text(json.dumps(report() | {"schema": 9}))
    written(tmp_path / "field.json", row(), row(threads="2"))
    damaged = {"papers": ["soares"], "parts": [{}], "setting": {"quick": True}, "device": {}}
    (tmp_path / "lab.json").write_text(json.dumps(report() | {"lab": damaged}))
    written(tmp_path / "other.json", row(kernel="ttable"))
    before = sorted(p.name for p in tmp_path.iterdir())
    got, out, err = lab(*arguments.replace("{tmp}", str(tmp_path)).split())
    assert got == status
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("paraes-lab: " + words.replace("{tmp}", str(tmp_path)))
    assert sorted(p.name for p in tmp_path.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_report_refuses_a_folder_without_write_permission(tmp_path, good, lab):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    status, _, err = lab("report", good, "-o", closed / "x.html")
    assert status == 1 and "no permission to write" in err


def test_report_keeps_the_old_file_on_a_full_disk(tmp_path, good, lab, monkeypatch):
    target = tmp_path / "r.html"
    target.write_text("old")

    def full(source, destination):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    status, _, err = lab("report", good, "-o", target)
    assert status == 1
    assert err == f"paraes-lab: {target}: cannot write: No space left on device\n"
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_report_writes_every_requested_format(tmp_path, good, lab):
    outputs = {"-o": "r.html", "--markdown": "r.md", "--latex": "r.tex"}
    outputs |= {"--csv": "csv", "--png": "png", "--svg": "svg"}
    flags = [word for flag, name in outputs.items() for word in (flag, tmp_path / name)]
    status, out, err = lab("report", good, *flags, "--clock", "3.7")
    assert (status, out, err) == (0, "", "")
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "r.md").read_text().startswith("# paraes bench")
    assert r"\begin{tabular}" in (tmp_path / "r.tex").read_text()
    for folder, ending in (("csv", ".csv"), ("png", ".png"), ("svg", ".svg")):
        names = [p.suffix for p in (tmp_path / folder).iterdir()]
        assert names and set(names) == {ending}


def test_compare_says_faster_slower_the_same_or_undecided(tmp_path, lab):
    def file(name, start, *times):
        sizes = (1024, 4096, 16384, 65536)
        rows = [row(ns=ns, bytes=size) for size, ns in zip(sizes, times, strict=True)]
        more = [row(kernel="ttable")] if name == "b.json" else []
        path = tmp_path / name
        path.write_text(json.dumps(runs(*[[*rows, *more]] * 8, start=start, step=2)))
        return path

    a = file("a.json", 0, 1000.0, 2000.0, 3000.0, 4000.0)
    b = file("b.json", 1, 2000.0, 2000.8, 1500.0, 4079.99)
    status, out, err = lab("compare", a, b, "-o", tmp_path / "c.html")
    assert (status, err) == (0, "")
    verdicts = [
        line.rsplit("|", 2)[1].strip()
        for line in out.splitlines()
        if line.startswith("| reference")
    ]
    assert verdicts == ["slower", "the same", "faster", "the same"]
    assert "b is faster in 1, slower in 1, the same in 2, undecided in 0 of 4 rows." in out
    assert "1 that only b has" in out
    assert "faster: the whole interval is above 1.02" in out
    assert (tmp_path / "c.html").exists()


def test_compare_prints_in_a_locale_without_utf_8(good):
    environment = dict(os.environ, PYTHONIOENCODING="ascii", PYTHONPATH=os.pathsep.join(sys.path))
    command = [sys.executable, "-B", "-m", "paraes.lab", "compare", good, good]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"undecided" in done.stdout and b"\\u2013" in done.stdout


def test_reproduce_says_how_long_it_takes_before_it_begins(fake, tmp_path, lab):
    arguments = ["reproduce", "soares", "--quick", "-o", tmp_path / "out"]
    status, _, err = lab(*arguments)
    assert status == 0
    lines = err.splitlines()
    said = r"paraes-lab: 1 process of the bench, about \d+ s; then the report"
    assert re.fullmatch(said, lines[0]), lines[0]
    assert lines[1].startswith("  0 %")
    # All processes are kept: nothing is left to estimate.
    status, _, err = lab(*arguments)
    assert status == 0 and "about" not in err


def test_figures_of_a_report_have_the_width_that_was_asked_for(tmp_path, good, lab):
    assert lab("report", good, "--svg", tmp_path / "s", "--width", "120mm")[0] == 0
    (figure,) = (tmp_path / "s").iterdir()
    width = re.search(r'<svg [^>]*width="([0-9.]+)pt"', figure.read_text())[1]
    assert float(width) / 72 * 25.4 == pytest.approx(120, abs=0.1)


def test_report_of_a_reproduction_is_the_same_page(fake, tmp_path, lab):
    status, out, err = lab("reproduce", "soares", "--quick", "-o", tmp_path / "out")
    assert status == 0, err
    assert "0.1955" in out and "Of 7 claims, " in out and "Verdicts by paper" in out
    first = (tmp_path / "out" / "report.html").read_text()
    assert lab("report", tmp_path / "out" / "results.json", "-o", tmp_path / "again.html")[0] == 0
    assert (tmp_path / "again.html").read_text() == first


def test_reproduce_refuses_a_missing_device_and_fails_if_outputs_are_wrong(fake, tmp_path, lab):
    arguments = ("reproduce", "soares", "--quick", "-o", tmp_path / "out")
    status, out, err = lab(*arguments, "--device", "hip:0")
    assert (status, out) == (2, "")
    assert err == "paraes-lab: --device hip:0: no hip here (available: cpu, cuda:0)\n"
    assert not (tmp_path / "out").exists()
    text = (fake / "paraes").read_text().replace('"verified": True', '"verified": False')
    (fake / "paraes").write_text(text)
    status, _, err = lab(*arguments)
    assert status == 1 and "15 rows are WRONG" in err


def test_reproduce_without_paraes_or_with_another_program_says_so(tmp_path, lab, monkeypatch):
    with monkeypatch.context() as without:
        without.setenv("PATH", str(tmp_path))
        without.delenv("PARAES_PROGRAM", raising=False)
        status, _, err = lab("reproduce", "soares", "-o", tmp_path / "out")
    assert status == 1 and "paraes is not on PATH" in err and "--paraes" in err
    program = tmp_path / "paraes"
    program.write_text("#!/bin/sh\necho nonsense\n")
    program.chmod(0o755)
    status, _, err = lab("reproduce", "soares", "-o", tmp_path / "out", "--paraes", program)
    assert status == 1 and "is not JSON" in err and len(err.splitlines()) == 1
