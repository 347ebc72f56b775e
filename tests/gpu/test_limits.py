"""bench/gpu_limits prints what a program takes of a chip, without a GPU, and a change shows."""

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "bench" / "gpu_limits"
SOURCE_TOOL = os.environ["PARAES_GPU_SOURCE"]


def run(*arguments, path=None):
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = path
    return subprocess.run(
        [sys.executable, "-B", TOOL, "--source-tool", SOURCE_TOOL, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
    )


def limits(*arguments, folder):
    file = folder / "limits.json"
    done = run(*arguments, "--json", file)
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text()), done.stdout


def test_a_change_to_a_program_shows_its_price(tmp_path):
    usual, text = limits("--kernel", "ttable", "--mode", "CTR", folder=tmp_path)
    assert re.search(r"^ttable +CTR +H100 ", text, re.M)
    (row,) = usual
    (part,) = row["parts"]
    assert part["entry"] == "ctr"
    assert part["groups"] == 3
    assert 0 < row["predicted"] <= row["bound"]
    # Four tables need no rotations, but so much shared memory that one group fits.
    changes = ["--option", "TABLES=4", "--option", "GROUP_THREADS=1024"]
    other, _ = limits("--kernel", "ttable", "--mode", "CTR", *changes, folder=tmp_path)
    (four,) = other[0]["parts"]
    assert four["groups"] == 1
    assert four["shared_bytes"] > part["shared_bytes"]
    assert four["units"]["logic"] < part["units"]["logic"]


def test_tensor_cores_are_those_of_chips_that_have_them(tmp_path):
    name = "GCM with tensor cores"
    arguments = ["--kernel", "ttable", "--mode", name, "--chip", "T4,H100"]
    page = tmp_path / "page.md"
    page.write_text("<!-- begin: bench/gpu_limits --><!-- end: bench/gpu_limits -->")
    found, _ = limits(*arguments, "--into", page, folder=tmp_path)
    (row,) = found
    assert (row["chip"], row["mode"]) == ("H100", name)
    text_part, hash_part = row["parts"]
    assert hash_part["entry"] == "ghash_tensor"
    assert hash_part["groups"] == 4
    assert hash_part["units"]["tensor"] > 0
    assert "tensor" not in text_part["units"]
    (line,) = (line for line in page.read_text().splitlines() if name in line)
    assert re.search(r"\| – \| [0-9.]+ \|$", line), line


def test_rounds_on_amd_are_counted_in_the_assembly(tmp_path):
    found, text = limits("--kernel", "ttable", "--mode", "all", "--chip", "MI210", folder=tmp_path)
    assert [row["mode"] for row in found] == ["ECB", "ECB decryption", "CTR"]
    for row in found:
        # A look-up takes an instruction for its address at least, and another to add it.
        assert 32 <= row["vector"] < 80
        # A block has 16 look-ups of 4 bytes per round; 64 threads take 128 bytes per cycle.
        assert row["units"]["local memory"] == 2
        assert row["scratch_bytes"] == 0
    assert re.search(r"^ttable +CTR +\d+ +0 B +\d+ ", text, re.M)


def test_what_is_missing_is_named(tmp_path):
    done = run("--kernel", "ttable", "--chip", "MI210", path=str(tmp_path))
    assert done.returncode == 1
    assert "there is no Clang for amdgcn: install clang-14 or later" in done.stderr
    done = run("--chip", "MI100")
    assert done.returncode == 2
    assert "there is no 'MI100'; there are H100," in done.stderr


def test_the_table_goes_into_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- begin: bench/gpu_limits -->\nold\n<!-- end: bench/gpu_limits -->\nb\n")
    run("--kernel", "ttable", "--mode", "ECB", "--chip", "H100,MI210", "--into", page)
    text = page.read_text()
    assert text.startswith("a\n<!-- begin") and text.endswith("-->\nb\n") and "old" not in text
    assert re.search(r"^\| `ttable` \| ECB \| \d+ \| 3 \| memory [\d.]+ \|", text, re.M)
    assert re.search(r"^\| `ttable` \| ECB \| \d+ \| 0 B \|", text, re.M)
    page.write_text("no place")
    assert (
        "has no place for the table"
        in run("--mode", "ECB", "--kernel", "ttable", "--into", page).stderr
    )
