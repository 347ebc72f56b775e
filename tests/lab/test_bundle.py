"""`bundle`: everything of a measurement in one file, which somebody else can check."""

import hashlib
import json
import re
import zipfile

import pytest
from synthetic import report, row, runs

from paraes.lab import bundle, cli
from paraes.lab.papers.data import NAMES


@pytest.fixture
def measured(fake, tmp_path, lab):
    """A folder with a quick reproduction by the fake paraes."""
    folder = tmp_path / "out"
    status, _, err = lab("reproduce", "soares", "--quick", "-o", folder)
    assert status == 0, err
    return folder


def opened(path):
    """Return the files of a bundle by their names, without the folder that they are in."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        folders = {name.split("/", 1)[0] for name in names}
        assert folders == {path.stem}
        return {name.split("/", 1)[1]: archive.read(name) for name in names}


def test_bundle_has_what_an_artifact_evaluation_asks_for(measured, lab, tmp_path):
    status, _, err = lab("bundle", measured)
    assert status == 0 and f"{measured}.zip written" in err
    files = opened(tmp_path / "out.zip")
    assert files["results/results.json"] == (measured / "results.json").read_bytes()
    parts = {path.name for path in (measured / "parts").glob("*.json")}
    assert parts and parts == {n.split("/")[1] for n in files if n.startswith("parts/")}
    for name in ("report.html", "report.md", "tables.tex", "machine.json", "versions.txt"):
        assert files[name]
    assert any(n.startswith("tables/") and n.endswith(".csv") for n in files)
    assert any(n.startswith("figures/") and files[n].startswith(b"%PDF") for n in files)
    assert b"@misc{soares," in files["papers.bib"]
    commands = files["commands.sh"].decode()
    assert commands.startswith("#!/bin/sh\n")
    # The command that measures again, and those of the bench.
    assert "\nparaes-lab reproduce soares -o again --quick --processes 1\n" in commands
    assert commands.count("#   paraes bench --scope memory") == 1  # of three sizes
    assert json.loads(files["machine.json"])[0]["cpu"]
    for word in ("paraes-lab", "Python 3", "numpy", "matplotlib"):
        assert word in files["versions.txt"].decode()


def test_checksums_are_those_of_all_other_files(measured, lab, tmp_path):
    assert lab("bundle", measured, "-o", tmp_path / "b.zip")[0] == 0
    files = opened(tmp_path / "b.zip")
    sums = dict(
        reversed(line.split("  ", 1)) for line in files.pop("SHA256SUMS").decode().splitlines()
    )
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def test_bundle_and_report_can_be_made_again(measured, lab, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        assert lab("bundle", measured, "-o", tmp_path / name / "x.zip")[0] == 0
    assert (tmp_path / "a/x.zip").read_bytes() == (tmp_path / "b/x.zip").read_bytes()
    files = opened(tmp_path / "b/x.zip")
    (tmp_path / "results.json").write_bytes(files["results/results.json"])
    assert lab("report", tmp_path / "results.json", "--markdown", tmp_path / "again.md")[0] == 0
    again = (tmp_path / "again.md").read_text()
    assert again == files["report.md"].decode()


def test_bundle_of_measure_has_every_program(tmp_path, lab):
    folder = tmp_path / "ab"
    folder.mkdir()
    for name, factor in (("old", 1.0), ("new", 2.0)):
        value = runs(*[[row(ns=1000 * factor)] for _ in range(8)]) | {"axes": ["--size", "1 MiB"]}
        (folder / f"{name}.json").write_text(json.dumps(value))
    assert lab("bundle", folder)[0] == 0
    files = opened(tmp_path / "ab.zip")
    assert {"results/old.json", "results/new.json", "report.html"} <= set(files)
    assert "papers.bib" not in files
    measure = "paraes-lab measure new=./new old=./old -o again --processes 8 -- --size '1 MiB'\n"
    assert measure in files["commands.sh"].decode()
    assert "| `parts/`" not in files["README.md"].decode()


def test_parts_of_other_programs_are_left_out(measured, lab, tmp_path):
    (measured / "parts" / "memory-other.json").write_text("{}")
    assert lab("bundle", measured)[0] == 0
    names = opened(tmp_path / "out.zip")
    assert "parts/memory-other.json" not in names and any(n.startswith("parts/") for n in names)


def test_bundle_with_a_wrong_row_says_so_and_exits_with_1(tmp_path, lab):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(report(row(), row(bytes=64, verified=False))))
    status, _, err = lab("bundle", folder)
    assert status == 1 and "1 row is WRONG" in err and (tmp_path / "out.zip").exists()


@pytest.mark.parametrize(
    ("files", "said", "status"),
    [
        (None, "is not a folder", 2),
        ({}, "has no bench JSON", 1),
        ({"a.json": "{"}, "a.json: ", 1),
        ({"a.json": '{"results": 5}'}, "a.json", 1),
    ],
)
def test_what_is_no_measurement_is_refused(tmp_path, lab, files, said, status):
    folder = tmp_path / "out"
    if files is not None:
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    found, _, err = lab("bundle", folder)
    assert found == status and said in err and not (tmp_path / "out.zip").exists()


def test_bundle_is_not_written_into_its_own_input(measured, lab):
    before = (measured / "results.json").read_bytes()
    status, _, err = lab("bundle", measured, "-o", measured / "results.json")
    assert status == 1 and "is an input" in err
    assert (measured / "results.json").read_bytes() == before


def test_every_paper_has_an_entry():
    text = bundle.bibtex(NAMES)
    assert re.findall(r"@\w+\{([^,]+),", text) == list(NAMES)
    for entry in text.split("\n\n"):
        assert "author = {" in entry and "title = {" in entry
        assert entry.count("{") == entry.count("}")


def test_version_names_the_packages(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--version"])
    assert stopped.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"paraes-lab (\d+\.\d+\.\d+|from a source tree)", lines[0])
    assert [line.split()[0] for line in lines[1:]] == ["Python", *bundle.PACKAGES]
    assert lines[1].startswith("Python 3.")
