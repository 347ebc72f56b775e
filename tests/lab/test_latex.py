"""Tables as LaTeX: they fit their columns, and every letter is one that LaTeX knows."""

import re
import shutil
import subprocess

import pytest
from simulated import simulate
from test_report import sample

from paraes.lab import analysis, bench, latex, reproduce
from paraes.lab.document import Column, Document, Estimate, Section, Table
from paraes.lab.statistics import Interval

PAGE = r"""\documentclass[twocolumn]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[textwidth=516pt,columnsep=12pt,textheight=680pt]{geometry}
\usepackage{booktabs,tabularx}
\setcounter{totalnumber}{50}
\maxdeadcycles=1000
\begin{document}
\extrafloats{500}
"""


def of_one(table):
    return latex.latex(Document("Title", "Lead.", [Section("s", "Section", [table])]))


def test_special_characters_are_escaped():
    text = latex.latex(sample())
    line = (
        r"50 \% \& \_x\_ & 2 KiB & \shortstack[r]{1.5 $\mu$s\\{}[1.4 $\mu$s; 1.6 $\mu$s]} & 1.5 \\"
    )
    assert line in text
    assert text.count(r"\begin{tabular}{lrrr}") == 1
    assert latex.escape("add --rivals memcpy") == "add -{}-rivals memcpy"
    assert latex.escape("a|b ≤ 你 ~") == r"a\textbar{}b $\leq$ ? \textasciitilde{}"


def test_a_narrow_table_is_as_wide_as_a_column_and_a_wide_one_as_the_page():
    narrow = Table("t", "A caption", [Column("a", "text"), Column("b")], [["x", 1.0]])
    assert r"\begin{table}" in of_one(narrow) and "tabularx" not in of_one(narrow).split("\n", 1)[1]
    texts = [Column(f"text {i}", "text") for i in range(6)]
    wide = Table("t", "A caption", texts, [["some words that go on " * 3] * 6])
    assert r"\begin{table*}" in of_one(wide) and r"\begin{tabularx}{\linewidth}" in of_one(wide)


def test_a_table_that_is_wider_than_a_page_is_cut_into_several_with_the_same_keys():
    columns = [Column("kernel", "text"), *[Column(f"{1 << i} MiB") for i in range(30)]]
    value = Estimate(1234.5, Interval(1200.0, 1300.0))
    text = of_one(Table("t", "A caption", columns, [["aesni", *[value] * 30]]))
    parts = text.count(r"\begin{table")
    assert parts > 1 and text.count("aesni") == parts
    assert all(str(1 << i) in text for i in range(30))
    assert text.count(r"\label{tab:t}") == 1 and text.count("(continued)") == parts - 1


def test_a_table_that_is_longer_than_a_page_is_cut_and_no_row_is_lost():
    rows = [[f"row{i}", float(i)] for i in range(200)]
    text = of_one(Table("t", "A caption", [Column("name", "text"), Column("b")], rows, ["a note"]))
    assert text.count(r"\begin{table}") > 3
    assert re.findall(r"^(row\d+) &", text, re.MULTILINE) == [f"row{i}" for i in range(200)]
    assert text.count("a note") == 1


@pytest.mark.parametrize("paper", reproduce.NAMES)
def test_latex_sets_every_table_of_a_reproduction_without_an_overfull_line(paper, tmp_path):
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not installed (apt-get install texlive-latex-recommended)")
    whole = simulate(paper, processes=6, cores=8)
    everything = analysis.sections(bench.from_object(whole, "all"))
    document = reproduce.document([whole], everything, ["all"])
    (tmp_path / "t.tex").write_text(PAGE + latex.latex(document) + "\\end{document}\n")
    done = subprocess.run(
        [program, "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    log = (tmp_path / "t.log").read_text(errors="replace")
    assert re.findall(r"Overfull.*", log) == []
    assert "Float too large" not in log
    assert "(t.pdf" in log or "Output written on t.pdf" in log
