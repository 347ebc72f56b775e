"""The first screen of a reproduction: each claim once, with verdict, effect, rule and machine."""

from __future__ import annotations

import re

import pytest
from simulated import simulate, slower

from paraes.lab import analysis, bench, export, reproduce
from paraes.lab.papers.claims import margin
from paraes.lab.papers.data import load_paper
from paraes.lab.statistics import Interval


def document_of(*wholes):
    values = list(wholes)
    sources = [f"file{i}" for i in range(len(values))]
    report = bench.merge([bench.from_object(v, s) for v, s in zip(values, sources, strict=True)])
    return reproduce.document(values, analysis.sections(report), sources)


def first_of(document):
    section = document.sections[0]
    assert section.name == "verdicts" and section.level == 1
    return section.blocks[-1]


@pytest.mark.parametrize("paper", reproduce.NAMES)
def test_every_claim_is_on_the_first_screen(paper):
    table = first_of(document_of(simulate(paper, cores=16)))
    claims = load_paper(paper).raw["claims"]
    lines = [row for row in table.rows if row[3]]
    grouped = [row for row in table.rows if row not in lines]
    counted = sum(int(re.match(r"(\d+) claims?( of|:) ", row[1])[1]) for row in grouped)
    assert len(lines) + counted == len(claims)
    assert len({row[1] for row in lines}) == len(lines)
    for verdict, claim, effect, rule in lines:
        assert claim.startswith(f"{paper}: ")
        assert rule and effect, (verdict, claim)


def test_the_effect_of_a_claim_has_its_interval_and_the_rule():
    table = first_of(document_of(simulate("luken-2009")))
    row = next(row for row in table.rows if "192-bit keys against 128, CPU" in row[1])
    assert re.fullmatch(r"[\d.]+× \[[\d.]+; [\d.]+\]", row[2]), row
    assert row[3].startswith("time with 192-bit keys / time with 128-bit keys is from ")


def test_a_claim_of_several_cases_shows_the_one_that_fits_least():
    slow = slower(1.5, kernel="reference", direction="decrypt", bytes=15 << 20)
    whole = simulate("pousa-2011", slow, cores=8)
    table = first_of(document_of(whole))
    row = next(
        r for r in table.rows if "decryption takes about as long" in r[1] and "serial" in r[1]
    )
    assert row[0] == "differs"
    # Decryption takes twice as long in the formulas, and here three times at one size.
    assert row[2] == "15 MiB: 3 [3; 3]; none of 4 cases fits", row


def test_margin_is_how_far_an_interval_keeps_a_rule():
    interval = Interval(1.2, 1.5, 0.95)
    assert margin({"is": "above", "limit": 1}, interval) == pytest.approx(0.2)
    assert margin({"is": "below", "limit": 1}, interval) == pytest.approx(-0.5)
    assert margin({"is": "within", "low": 1, "high": 1.6}, interval) == pytest.approx(0.1)


def test_what_the_machine_lacks_is_said_in_one_line_for_all_claims():
    document = document_of(simulate("pousa-2011", gpu=None, cores=2))
    table = first_of(document)
    lacking = [row for row in table.rows if row[0] == "not testable here"]
    assert [row[2] for row in lacking] == [
        "a GPU is needed",
        "8 to 32 CPUs are needed; this machine has 2",
    ]
    assert all(re.fullmatch(r"\d+ claims of pousa-2011", row[1]) for row in lacking)
    # Nothing is said of it in the tables, and the reason stands in two places at the end.
    text = export.markdown(document)
    assert text.count("no GPU here") <= 2, text.count("no GPU here")
    assert "It has no GPU." in text


def test_the_first_screen_says_which_machine_and_how_many_verdicts():
    whole = simulate("soares")
    section = document_of(whole).sections[0]
    text = section.blocks[0].text
    assert text.startswith("Formula 1, 4 cores, 6 processes of each run. Of 7 claims, ")
    whole["context"]["machine"] = "lab-7"
    text = document_of(whole).sections[0].blocks[0].text
    assert text.startswith("lab-7 (Formula 1, 4 cores), ")
    # Another machine has a line of its own, and its name is in a column.
    document = document_of(whole, simulate("soares"), simulate("soares"))
    lines = document.sections[0].blocks[0].items
    assert ["(file2)" in line for line in lines] == [False, False, True]
    table = first_of(document)
    assert table.columns[-1].title == "machine" and "lab-7" in {row[-1] for row in table.rows}


def test_a_gpu_that_was_left_out_is_not_called_absent():
    whole = simulate("soares", gpu=None)
    whole["lab"]["device"]["reason"] = "left out: --device cpu"
    assert "GPU rows were left out" in document_of(whole).sections[0].blocks[0].text
