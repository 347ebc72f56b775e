"""lab.json, from which the page and the completions of paraes-lab are made, is up to date."""

import pathlib
import subprocess
import sys

MANUAL = pathlib.Path(__file__).resolve().parents[2] / "packaging/manual"


def test_lab_json_is_what_the_parser_says():
    done = subprocess.run(
        [sys.executable, "-B", MANUAL / "describe_lab"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    committed = (MANUAL / "lab.json").read_text(encoding="utf-8")
    assert committed == done.stdout, (
        "build/venv/bin/python packaging/manual/describe_lab > packaging/manual/lab.json"
    )
