"""The documents' pictures are those that the code draws from the stored results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "pictures"


def check(script=SCRIPT):
    command = [sys.executable, "-B", script, "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_pictures_are_up_to_date():
    done = check()
    assert done.returncode == 0, done.stderr


@pytest.fixture
def copied(tmp_path):
    """The script and the pictures in another folder, with the same results."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "results").symlink_to(ROOT / "bench" / "results")
    for name in ("pictures", "files.svg", "throughput.svg", "report.png"):
        (tmp_path / "docs" / name).write_bytes((ROOT / "docs" / name).read_bytes())
    return tmp_path / "docs"


def test_pictures_from_other_numbers_or_without_their_digest_are_stale(copied):
    figure = copied / "throughput.svg"
    text = figure.read_text()
    figure.write_text(re.sub(r'data-digest="[0-9a-f]', 'data-digest="x', text, count=1))
    assert figure.read_text() != text
    picture = copied / "report.png"
    Image.open(picture).convert("RGB").save(picture)
    done = check(copied / "pictures")
    assert done.returncode == 1
    stale = re.findall(r"docs/(\S+) is stale", done.stderr)
    assert sorted(stale) == ["report.png", "throughput.svg"]
