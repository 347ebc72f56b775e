"""Pages, figures and exports: self-contained, accessible, complete, with the same numbers."""

import csv
import html
import io
import json
import re
from html.parser import HTMLParser

import pytest
from simulated import KIB, simulate, slower
from synthetic import loaded, row

from paraes.lab import analysis, bench, drawing, export, reproduce
from paraes.lab.document import Column, Document, Estimate, Missing, Predicted, Section, Table
from paraes.lab.report import render
from paraes.lab.statistics import Interval

VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Checks that tags are closed in order, and collects ids, links and labels."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.labels = [], [], [], [], []
        self.elements = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.append(tag)
        self.elements.append((tag, named))
        self.ids += [named["id"]] if "id" in named else []
        self.labels += named.get("aria-labelledby", "").split()
        self.links += [v for k, v in attributes if k in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def full():
    """Return a document with every kind of section."""
    sizes = [1 << k for k in range(10, 22, 2)]
    rows = [row(ns=1000 + 10 * n / p, bytes=n, threads=p) for n in sizes for p in (1, 2, 4)]
    phases = {"host_to_device": 100.0, "kernel": 200.0, "device_to_host": 100.0}
    rows += [
        row(ns=1e5 + n, bytes=n, device="cuda:0", threads=0, scope="transfer", timeline=phases)
        for n in sizes
    ]
    return analysis.document(loaded(*rows))


def reproduced(paper="tybusch-2014", *changes, **machine):
    """Return the report of a paper on a simulated machine; by default one claim differs."""
    changes = changes or (slower(4, threads=4, scope="memory"),)
    whole = simulate(paper, *changes, **machine)
    sections = analysis.sections(bench.from_object(whole, "simulated"))
    return reproduce.document([whole], sections, ["simulated"])


@pytest.mark.parametrize("document", [full, reproduced])
def test_page_is_one_accessible_file_without_network_or_scripts(document):
    text = render(document())
    page = Page(text)
    assert [link for link in page.links if not link.startswith(("#", "data:"))] == []
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "script" not in page.tags and "@import" not in text and "url(" not in text
    # Ids are unique, and references lead to them.
    assert len(page.ids) == len(set(page.ids))
    targets = {link[1:] for link in page.links if link.startswith("#")} | set(page.labels)
    assert targets <= set(page.ids)
    # Tables and figures have names, and tables are reached by the keyboard.
    regions = [named for tag, named in page.elements if named.get("role") == "region"]
    assert len(regions) == page.tags.count("table") > 0
    assert all(named["aria-label"].strip() and named["tabindex"] == "0" for named in regions)
    pictures = [named for tag, named in page.elements if tag == "svg"]
    assert pictures and all(
        named["role"] == "img" and len(named["aria-labelledby"].split()) == 2 for named in pictures
    )


def test_every_figure_has_title_description_table_and_json():
    document = full()
    text = render(document)
    assert len(document.figures()) >= 3
    for figure in document.figures():
        assert (
            f'id="{figure.name}-wide-title"' in text and f'id="{figure.name}-narrow-desc"' in text
        )
        assert figure.description and figure.table is not None and figure.table.rows
    blocks = re.findall(r'<pre tabindex="0">(.*?)</pre>', text, re.DOTALL)
    assert len(blocks) >= len(document.figures())
    for block in blocks:
        json.loads(html.unescape(block))


def first_screen(text):
    """Return the HTML of the first section, which the contents follow."""
    start, end = text.index('<section id="verdicts"'), text.index("<nav ")
    assert start < end < text.index('<section id="claims"') < text.index('<section id="figures"')
    return text[start:end]


def test_the_page_begins_with_the_machine_and_its_gpu():
    facts = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", first_screen(render(reproduced())))
    assert facts[:2] == [("Machine", "Formula 1, 4 cores"), ("GPU", "Formula GPU (cuda:0)")]
    without = first_screen(render(reproduced(gpu=None)))
    assert "<dt>GPU</dt><dd>none</dd>" in without


def test_a_card_has_a_bar_a_sentence_a_figure_and_links_to_more():
    document = reproduced()
    text = first_screen(render(document))
    cards = document.sections[0].blocks[1].cards
    assert text.count("<article") == len(cards) == 1
    (bar,) = cards[0].bars
    shares = re.findall(r'<span class="(\w+)" style="flex-grow:(\d+)"></span>', text)
    classes = {"agrees": "good", "differs": "other", "undecided": "open"}
    assert len(shares) >= 3
    assert shares == [(classes.get(kind, "none"), str(count)) for kind, count, _ in bar.counts]
    words = re.findall(r'<li class="\w+">(.*?)</li>', text)
    assert words == [words for _, _, words in bar.counts]
    assert f'<p class="out">{html.escape(bar.sentence)}</p>' in text
    # The picture has a title, a description, and points of the paper and of this machine.
    assert 'id="tybusch-2014-main-card-title"' in text and "the paper's are dashed" in text
    points = re.findall(r"<title>(GPU, \w+): (\S+ \S+), (.*?)</title>", text)
    assert ("GPU, paper", "1000 MiB", "625 ms") in points
    assert {(name, size) for name, size, _ in points} >= {("GPU, here", "1000 MiB")}
    for place in ("table-tybusch-2014-claims", "tybusch-2014-figures", "tybusch-2014"):
        assert f'href="#{place}"' in text


def test_a_claim_that_differs_has_its_direction_and_not_the_colour_of_an_error():
    text = render(reproduced())
    cells = re.findall(r'<td data-heading="verdict" class="(.*?)">(differs.*?)</td>', text)
    assert set(cells) == {("text other", f"differs: {way}") for way in ("lower", "higher")}
    assert "bad" not in re.findall(r'class="text (\w+)"', text)
    wrong = render(analysis.document(loaded(row(verified=False), row(bytes=64))))
    assert re.search(r'class="text bad">WRONG<', wrong)


def test_a_report_of_a_small_experiment_has_a_card_without_points_of_the_machine():
    text = first_screen(render(reproduced("luken-2009", fails=lambda run: True, gpu=None)))
    assert re.findall(r"<title>(\w+, here)", text) == []
    assert re.search(r"<title>CPU, paper: 100 MiB, ", text)
    small = first_screen(render(reproduced("luken-2009", gpu=None, max_size=KIB)))
    assert re.findall(r"<title>(\w+, here: 1 KiB)", small) == ["CPU, here: 1 KiB"]


def test_page_escapes_text_from_the_report():
    evil = '<script>alert(1)</script>&"'
    text = render(
        analysis.document(loaded(row(kernel=evil, bytes=64), row(kernel=evil), host=evil))
    )
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def sample():
    """Return a document with every kind of cell, and characters that need escaping."""
    columns = [
        Column("a|b", "text"),
        Column("size", "size"),
        Column("time", "ns"),
        Column("x_1", unit="%"),
    ]
    rows = [
        ["50 % & _x_", 2048, Estimate(1500.0, Interval(1400.0, 1600.0)), 1.5],
        ["gone", 1 << 20, Missing("no GPU <here>"), Predicted(3.0)],
        ["again", 1, Missing("no GPU <here>"), None],
        ["a < b", 2, None, Predicted(3.0, Interval(2.0, 5.0))],
    ]
    table = Table("t", "A caption", columns, rows, ["a note"])
    return Document("Title", "Lead.", [Section("s", "Section", [table])])


def test_markdown_has_captions_intervals_footnotes_and_notes():
    text = export.markdown(sample())
    assert "| a\\|b | size | time | x_1 (%) |" in text
    assert "| 50 % & _x_ | 2 KiB | 1.5 µs [1.4 µs; 1.6 µs] | 1.5 |" in text
    assert "| gone | 1 MiB | – [1] | 3 (predicted) |" in text
    assert "| a < b | 2 B | – | 3 [2; 5] (predicted) |" in text
    assert "[1] no GPU &lt;here>" in text and "a note" in text
    assert text.count("[1] no GPU") == 1


def test_csv_has_full_numbers_intervals_and_reasons():
    lines = list(csv.DictReader(io.StringIO(export.csv_table(sample().tables()[0]))))

    def cells(row, column):
        return [lines[row][f"{column}{end}"] for end in ("", " low", " high", " note")]

    assert lines[0]["size (bytes)"] == "2048"
    assert cells(0, "time (ns)") == ["1500.0", "1400.0", "1600.0", ""]
    assert lines[1]["time (ns) note"] == "no GPU <here>"
    assert cells(3, "x_1 (%)") == ["3.0", "2.0", "5.0", "predicted"]


def test_page_json_has_predictions_with_their_intervals():
    text = html.unescape(render(sample()))
    assert '"x_1 (%)": {"predicted": 3.0, "low": 2.0, "high": 5.0}' in text


def test_figures_are_written_in_every_kind(tmp_path):
    document = full()
    for kind, magic in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        paths = drawing.write_all(document, tmp_path / kind, kind)
        assert len(paths) == len(document.figures())
        assert all(p.read_bytes().startswith(magic) for p in paths)
