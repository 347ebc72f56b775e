"""The first screen of a reproduction: machine, GPU, a card for each paper, then every claim."""

import re
from collections import Counter

import pytest
from simulated import KIB, MIB, ON_GPU, simulate, slower

from paraes.lab import analysis, bench, export, latex, reproduce
from paraes.lab.document import Cards, Facts
from paraes.lab.drawing.style import look
from paraes.lab.papers.claims import margin
from paraes.lab.papers.data import load_paper
from paraes.lab.papers.main_figures import main_figure
from paraes.lab.statistics import Interval

ORDER = ["agrees", "differs", "undecided", "predicted", "not measured", "not testable here"]


def document_of(*wholes):
    values = list(wholes)
    sources = [f"file{i}" for i in range(len(values))]
    report = bench.merge([bench.from_object(v, s) for v, s in zip(values, sources, strict=True)])
    return reproduce.document(values, analysis.sections(report), sources)


def first_section(document):
    section = document.sections[0]
    assert section.name == "verdicts" and section.level == 1
    return section


def facts_of(document):
    blocks = first_section(document).blocks
    return [dict(block.items) for block in blocks if isinstance(block, Facts)]


def cards_of(document):
    cards = next(b for b in first_section(document).blocks if isinstance(b, Cards))
    return {card.name: card for card in cards.cards}


def claims_of(document, paper):
    return next(t for t in document.tables() if t.name == f"{paper}-claims")


def verdicts_of(document, paper):
    """Count the verdicts in the table that ends the paper's chapter, without directions."""
    table = next(t for t in document.tables() if t.name == f"{paper}-agreement")
    return Counter(row[3].partition(":")[0] for row in table.rows)


@pytest.fixture(scope="module")
def six():
    """A report of all papers, on a machine with 16 cores and a GPU."""
    wholes = [simulate(paper, cores=16) for paper in reproduce.NAMES]
    return {paper: document_of(whole) for paper, whole in zip(reproduce.NAMES, wholes, strict=True)}


@pytest.mark.parametrize("paper", reproduce.NAMES)
def test_every_claim_is_in_the_table_of_its_paper(six, paper):
    table = claims_of(six[paper], paper)
    claims = load_paper(paper).raw["claims"]
    lines = [row for row in table.rows if row[4]]
    grouped = [row for row in table.rows if row not in lines]
    counted = sum(int(re.fullmatch(r"(\d+) claims?", row[1])[1]) for row in grouped)
    assert len(lines) + counted == len(claims)
    assert len({row[1] for row in lines}) == len(lines)
    for verdict, claim, theirs, effect, rule in lines:
        assert theirs and rule and effect, (verdict, claim)


@pytest.mark.parametrize("paper", reproduce.NAMES)
def test_the_bar_of_a_card_counts_the_verdicts_of_the_chapter(six, paper):
    counts = verdicts_of(six[paper], paper)
    (bar,) = cards_of(six[paper])[paper].bars
    assert {kind: count for kind, count, _ in bar.counts} == counts
    assert [kind for kind, _, _ in bar.counts] == [kind for kind in ORDER if counts[kind]]
    assert sum(counts.values()) == len(load_paper(paper).raw["claims"])
    for kind, count, words in bar.counts:
        plurals = {"agrees": "agree", "differs": "differ"}
        assert words == f"{count} {kind if count == 1 else plurals.get(kind, kind)}"


# Paper → a point of its main figure that is printed, and the line's name.
PRINTED = {
    "moreira-2026": ("GPU, paper", MIB, 1.048576 * 75.48),
    "tybusch-2014": ("GPU, paper", 1000 * MIB, 0.625),
    "luken-2009": ("CPU, paper", 100 * MIB, 3596),
    "pousa-2011": ("GPU, paper", KIB, 15.2123288),
    "pousa-2014": ("serial, paper", MIB, 99),
    "soares": ("paper, computed", 8, 4.39),
}
# Paper → a line of this machine: its figure and name in the chapter, its name in the card, and x.
HERE = {
    "moreira-2026": ("encrypt-rates", "cuda:0, here", "GPU, here", MIB),
    "tybusch-2014": ("processing-figure", "cuda:0, here", "GPU, here", MIB),
    "luken-2009": ("128-figure", "cuda:0, keys expanded on the CPU, here", "GPU, here", MIB),
    "pousa-2011": ("speedups-figure", "cuda:0, kernel, here", "GPU, here", MIB),
    "pousa-2014": ("reduction-figure", "cuda:0, kernel, here", "GPU, here", MIB),
    "soares": ("speedups-figure", "64 MiB, here", "64 MiB, here", 8),
}


def point(figure, name, x):
    series = next(s for s in figure.series if s.name == name)
    return series.y[series.x.index(x)]


@pytest.mark.parametrize("paper", reproduce.NAMES)
def test_the_figure_of_a_card_has_points_of_the_paper_and_of_this_machine(six, paper):
    figure = cards_of(six[paper])[paper].figure
    name, x, value = PRINTED[paper]
    assert point(figure, name, x) == pytest.approx(value, rel=2e-3)
    assert next(s for s in figure.series if s.name == name).origin == "paper"
    chapter, its_name, name, x = HERE[paper]
    whole = next(f for f in six[paper].figures() if f.name == f"{paper}-{chapter}")
    assert point(figure, name, x) == point(whole, its_name, x)
    assert next(s for s in figure.series if s.name == name).origin == "measured"
    assert len({s.name for s in figure.series}) == len(figure.series) <= 6


def test_lines_of_one_subject_share_a_colour():
    figure = cards_of(document_of(simulate("tybusch-2014")))["tybusch-2014"].figure
    colours = {s.name: s.colour for s in figure.series}
    for subject in ("1 thread", "4 threads", "GPU"):
        assert colours[f"{subject}, here"] == colours[f"{subject}, paper"], subject
    assert len(set(colours.values())) == 3


def test_a_cpu_that_stands_in_for_a_gpu_is_called_one_in_the_figure():
    whole = simulate("moreira-2026", gpu="opencl:0", gpu_is_cpu=True)
    figure = cards_of(document_of(whole))["moreira-2026"].figure
    assert [s.name for s in figure.series] == [
        "CPU, here",
        "CPU, paper",
        "GPU (a CPU), here",
        "GPU, paper",
    ]


def test_a_figure_without_points_of_this_machine_has_those_of_the_paper():
    gone = simulate("luken-2009", gpu=None, fails=lambda run: True)
    card = cards_of(document_of(gone))["luken-2009"]
    assert {s.name for s in card.figure.series} == {"CPU, paper", "GPU, paper"}
    assert [kind for kind, _, _ in card.bars[0].counts] == ["not measured", "not testable here"]
    assert card.bars[0].sentence == (
        "No claim could be tested, 7 of 9 for this reason: needs a GPU."
    )
    assert card.figure.title.endswith(": the paper's only")
    assert main_figure("luken-2009", []) is None


@pytest.mark.parametrize(
    ("paper", "machine", "sentence"),
    [
        ("moreira-2026", {}, "With both copies, the GPU encrypts"),
        (
            "moreira-2026",
            {"gpu": None},
            "The CPU decrypts at 0.5× of the rate at which it encrypts",
        ),
        ("tybusch-2014", {}, "Without copies, the GPU is"),
        ("tybusch-2014", {"gpu": None}, "Four threads are 3.08× as fast as one"),
        ("tybusch-2014", {"gpu": None, "cores": 2}, "Twice as many threads as CPUs are"),
        ("luken-2009", {}, "With 128-bit keys and both copies, the GPU is"),
        ("luken-2009", {"gpu": None}, "On the CPU, 256-bit keys take 1.4× as long"),
        ("pousa-2011", {}, "Without copies, the GPU is"),
        ("pousa-2011", {"gpu": None, "cores": 8}, "Eight threads of OpenMP are 4.71× as fast"),
        ("pousa-2011", {"gpu": None, "cores": 2}, "MPI scales with an efficiency of"),
        ("pousa-2014", {}, "Tables save 80 % of the time on one thread"),
        ("soares", {"gpu": None}, "The efficiency is 0.769; 1 would be growth in proportion"),
    ],
)
def test_the_sentence_of_a_card_is_about_what_the_machine_can_show(paper, machine, sentence):
    (bar,) = cards_of(document_of(simulate(paper, **machine)))[paper].bars
    assert bar.sentence.startswith(sentence)
    assert "the paper: " in bar.sentence
    assert re.search(r"\): (agrees|undecided|differs, (lower|higher))\.$", bar.sentence)


def test_a_card_says_what_was_found_where_its_usual_claims_say_nothing():
    only_decryption = simulate(
        "pousa-2014", gpu=None, fails=lambda run: run.kernels != ("reference",)
    )
    (bar,) = cards_of(document_of(only_decryption))["pousa-2014"].bars
    assert bar.sentence.startswith("AES-CI: decryption takes about as long as encryption, serial: ")
    assert bar.sentence.endswith(": differs, higher.")


def test_the_effect_of_a_claim_has_its_interval_and_the_rule():
    table = claims_of(document_of(simulate("luken-2009")), "luken-2009")
    row = next(row for row in table.rows if "192-bit keys against 128, CPU" in row[1])
    assert row[2] == "4226 ms / 3596 ms = 1.175×"
    assert re.fullmatch(r"[\d.]+× \[[\d.]+; [\d.]+\]", row[3]), row
    assert row[4].startswith("time with 192-bit keys / time with 128-bit keys is from ")


def test_a_claim_of_several_cases_shows_the_one_that_fits_least_and_its_direction():
    slow = slower(1.5, kernel="reference", direction="decrypt", bytes=15 << 20)
    whole = simulate("pousa-2011", slow, cores=8)
    table = claims_of(document_of(whole), "pousa-2011")
    row = next(
        r for r in table.rows if "decryption takes about as long" in r[1] and "serial" in r[1]
    )
    assert row[0] == "differs: higher"
    # Decryption takes twice as long in the formulas, and here three times at one size.
    meaning = "decryption takes longer than encryption"
    assert row[3] == f"15 MiB: 3 [3; 3]; none of 4 cases fits; {meaning}", row


def test_a_claim_that_fails_because_the_gpu_is_faster_says_so():
    fast = slower(1e-6, **ON_GPU)
    table = claims_of(document_of(simulate("moreira-2026", fast)), "moreira-2026")
    row = next(r for r in table.rows if r[1].startswith("crossover of encryption"))
    assert row[0] == "differs: lower"
    assert row[3].endswith("; the GPU is faster from a smaller size on")


def test_margin_is_how_far_an_interval_keeps_a_rule():
    interval = Interval(1.2, 1.5, 0.95)
    assert margin({"is": "above", "limit": 1}, interval) == pytest.approx(0.2)
    assert margin({"is": "below", "limit": 1}, interval) == pytest.approx(-0.5)
    assert margin({"is": "within", "low": 1, "high": 1.6}, interval) == pytest.approx(0.1)


def test_what_the_machine_lacks_is_said_in_one_line_for_all_claims_of_a_paper():
    document = document_of(simulate("pousa-2011", gpu=None, cores=2))
    table = claims_of(document, "pousa-2011")
    lacking = [row for row in table.rows if row[0] == "not testable here"]
    assert [row[3] for row in lacking] == [
        "a GPU is needed",
        "8 to 32 CPUs are needed; this machine has 2",
    ]
    assert all(re.fullmatch(r"\d+ claims", row[1]) for row in lacking)
    # The tables do not mention it, and the reason is in two places at the end.
    text = export.markdown(document)
    assert text.count("no GPU here") <= 2, text.count("no GPU here")
    assert "- **GPU**: none\n" in text


def test_the_first_screen_begins_with_the_machine_its_gpu_and_how_many_verdicts():
    whole = simulate("soares")
    (facts,) = facts_of(document_of(whole))
    assert facts["Machine"] == "Formula 1, 4 cores"
    assert facts["GPU"] == "Formula GPU (cuda:0)"
    assert facts["Measured"] == "6 processes of each run"
    assert facts["Verdicts"].startswith("Of 7 claims, ")
    whole["context"]["machine"] = "lab-7"
    (facts,) = facts_of(document_of(whole))
    assert facts["Machine"] == "lab-7 (Formula 1, 4 cores)"


@pytest.mark.parametrize(
    ("machine", "reason", "text"),
    [
        ({"gpu": None}, "no GPU here", "none"),
        ({"gpu": None}, "left out: --device cpu", "left out (--device cpu)"),
        (
            {"gpu": "opencl:0", "gpu_is_cpu": True},
            None,
            "none; opencl:0 (Formula GPU) is the CPU and stands in for one",
        ),
    ],
)
def test_the_first_screen_says_why_there_are_no_rows_of_a_gpu(machine, reason, text):
    whole = simulate("soares", **machine)
    whole["lab"]["device"]["reason"] = reason
    assert facts_of(document_of(whole))[0]["GPU"] == text


def test_the_first_screen_says_how_much_was_measured():
    whole = simulate("soares", max_size=MIB, processes=1)
    assert facts_of(document_of(whole))[0]["Measured"] == (
        "one process of each run, sizes up to 1 MiB"
    )
    whole["lab"]["setting"]["quick"] = True
    assert "a quick run with few samples" in facts_of(document_of(whole))[0]["Measured"]


def test_several_machines_have_bars_lines_and_claims_of_their_own():
    named = simulate("soares")
    named["context"]["machine"] = "lab-7"
    document = document_of(named, simulate("soares"), simulate("soares"))
    machines = [facts["Machine"] for facts in facts_of(document)]
    assert ["(file2)" in machine for machine in machines] == [False, False, True]
    card = cards_of(document)["soares"]
    assert [bar.label for bar in card.bars][0] == "lab-7" and len(card.bars) == 3
    here = [s.name for s in card.figure.series if s.origin == "measured"]
    assert here[0] == "64 MiB, here, lab-7" and len(here) == 3
    assert [s.name for s in card.figure.series].count("paper, computed") == 1
    table = claims_of(document, "soares")
    assert table.columns[-1].title == "machine" and "lab-7" in {row[-1] for row in table.rows}


def test_no_two_lines_of_several_machines_look_the_same():
    other = simulate("tybusch-2014")
    other["context"]["machine"] = "lab-7"
    figure = cards_of(document_of(simulate("tybusch-2014"), other))["tybusch-2014"].figure
    assert len(figure.series) == 9
    drawn = [look(i, s) for i, s in enumerate(figure.series)]
    assert len({(d["color"], d["marker"], str(d["linestyle"])) for d in drawn}) == 9


def test_a_paper_that_one_of_two_machines_measured_has_its_bar_only():
    other = simulate("luken-2009")
    other["context"]["machine"] = "lab-7"
    cards = cards_of(document_of(simulate("soares"), other))
    assert list(cards) == ["soares", "luken-2009"]
    assert [bar.label for bar in cards["luken-2009"].bars] == ["lab-7"]


def test_outputs_without_cards_have_a_table_of_them():
    document = document_of(simulate("luken-2009"))
    (bar,) = cards_of(document)["luken-2009"].bars
    table = next(t for t in document.tables() if t.name == "papers")
    counts = verdicts_of(document, "luken-2009")
    kinds = [column.title for column in table.columns[1:-1]]
    assert table.rows == [["luken-2009", *(counts[kind] for kind in kinds), bar.sentence]]
    assert sum(table.rows[0][1:-1]) == 9
    line = export.markdown_table(table).splitlines()[4]
    assert line == f"| {' | '.join(map(str, table.rows[0]))} |"
    assert r"\label{tab:papers}" in latex.latex(document)


def test_a_table_of_claims_has_the_commands_that_would_decide_them():
    notes = claims_of(document_of(simulate("tybusch-2014", max_size=MIB)), "tybusch-2014").notes
    assert notes and all(
        re.match(r"To decide \d+ claims?: paraes-lab reproduce ", n) for n in notes
    )
    whole = claims_of(document_of(simulate("tybusch-2014")), "tybusch-2014")
    assert whole.notes == []
