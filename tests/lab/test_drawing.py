"""Figures: one style for pages, papers and the README, and nothing cut off or out of sight."""

import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paraes.lab import drawing
from paraes.lab.document import Axis, Figure, Series
from paraes.lab.drawing import axes, sheet, style

SVG = "{http://www.w3.org/2000/svg}"
LAYOUTS = {"page": drawing.PAGE, "phone": drawing.PHONE}
SIZES = [float(1 << k) for k in range(10, 26, 3)]


def figure(*series, x=None, y=None, **more):
    return Figure(
        "figure",
        "A title",
        "A description.",
        x or Axis("size of the message", "log", "size"),
        y or Axis("10⁶ bytes a second", "log"),
        list(series),
        **more,
    )


def line(name, factor=1.0, origin="measured", xs=SIZES):
    ys = [factor * (100 + i) for i in range(len(xs))]
    return Series(name, list(xs), ys, [0.9 * y for y in ys], [1.1 * y for y in ys], origin)


def svg_of(drawn, layout=drawing.PAGE, suffix=""):
    return ElementTree.fromstring(drawing.page_svg(drawn, layout, suffix))


def texts_of(root):
    return ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]


def tooltips_of(root):
    """Return the texts of all points."""
    return [t.text for use in root.iter(f"{SVG}use") for t in use.iter(f"{SVG}title")]


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_svg_of_a_page_has_only_variables_for_colours_and_ids_of_its_own(layout):
    text = drawing.page_svg(figure(line("a"), line("b", 2, "paper")), layout, "-x")
    assert not re.search(r"#[0-9a-fA-F]{6}\b", text)
    assert "url(" not in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "<style" not in text and "<metadata" not in text
    root = ElementTree.fromstring(text)
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids)) and all(i.startswith("figure-x-") for i in ids)
    used = {e.get("href")[1:] for e in root.iter() if e.get("href")}
    assert used and used <= set(ids)
    assert root.get("aria-labelledby").split() == ["figure-x-title", "figure-x-desc"]
    variables = set(re.findall(r"var\(--fig-(\w+)\)", text))
    assert variables <= {name for name, _ in style.THEME.values()}
    assert {"c0", "c1", "ink" if layout is drawing.PHONE else "muted"} <= variables


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_point_has_a_tooltip_with_value_and_interval(layout):
    root = svg_of(figure(line("a"), line("b", 3)), layout)
    titles = tooltips_of(root)
    assert len(titles) == 2 * len(SIZES)
    assert "a: 1 KiB, 100 [90; 110]" in titles
    assert "b: 32 MiB, 315 [284; 346]" in titles


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("count", [1, 3, 8, 24])
def test_every_line_is_named(layout, count):
    series = [line(f"kernel{i}, with a name that is long", 1 + i) for i in range(count)]
    words = " ".join(texts_of(svg_of(figure(*series), layout)))
    for i in range(count):
        assert f"kernel{i}," in words


@settings(max_examples=200)
@given(st.lists(st.tuples(st.floats(-50, 350), st.sampled_from([10.0, 20.0])), max_size=20))
def test_names_do_not_overlap_and_keep_the_order_of_the_ends(wanted):
    places = sheet.spread(wanted, 0.0, 300.0)
    if sum(height for _, height in wanted) > 300:
        assert places is None
        return
    order = sorted(range(len(wanted)), key=lambda i: wanted[i][0])
    for a, b in itertools.pairwise(order):
        assert places[a] + wanted[a][1] / 2 <= places[b] - wanted[b][1] / 2 + 1e-6
    for place, (_, height) in zip(places, wanted, strict=True):
        assert height / 2 - 1e-6 <= place <= 300 - height / 2 + 1e-6


def test_threads_are_marked_at_powers_of_two():
    axis = Axis("threads", "log", "count")
    assert axes.ticks(axis, 0.9, 17, 8) == [1, 2, 4, 8, 16]
    assert axes.ticks(axis, 0.8, 5000, 8) == [1, 4, 16, 64, 256, 1024, 4096]
    # An axis without a power of two has numbers all the same.
    assert len(axes.ticks(axis, 9.8, 15.2, 8)) >= 2


@pytest.mark.parametrize(
    ("factor", "in_sight"), [(0.01, True), (3.5, True), (1e4, False)], ids=["low", "near", "far"]
)
def test_a_roof_is_in_sight_unless_it_would_stretch_the_axis(factor, in_sight):
    roof = line("(memcpy)", factor, "roof")
    drawn = figure(line("aes", 1), line("other", 3), roof)
    low, high = axes.y_span(drawn)
    assert (low <= min(roof.y) and max(roof.y) <= high) == in_sight
    root = svg_of(drawn)
    assert len(tooltips_of(root)) == (3 if in_sight else 2) * len(SIZES)
    named = "(memcpy)" if in_sight else "↑ (memcpy): 1050000"
    assert any(text.startswith(named) for text in texts_of(root))


def test_times_have_units_in_ticks_and_tooltips():
    times = Series("aes", [1024.0, 1 << 20], [1.62e-5, 0.0228])
    root = svg_of(figure(times, y=Axis("time", "log", "s")))
    titles = tooltips_of(root)
    assert titles == ["aes: 1 KiB, 16.2 µs", "aes: 1 MiB, 22.8 ms"]
    assert "1 ms" in texts_of(root)


def test_a_line_is_cut_where_it_leaves_the_axes():
    drawn = figure(line("a"), x=Axis("x", "linear"), y=Axis("y", "linear"))
    cut = list(axes.below(drawn, [0.0, 1.0, 2.0], [0.0, 10.0, 0.0], 5.0))
    assert cut == [(0, 0), (0.5, 5), (1.5, 5), (2, 0)]
    assert list(axes.below(drawn, [0.0, 1.0], [6.0, 7.0], 5.0)) == []


numbers = st.floats(1e-9, 1e12)


@settings(max_examples=40)
@given(
    st.lists(
        st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6), min_size=1, max_size=10
    ),
    st.sampled_from(["log", "linear"]),
    st.sampled_from(["size", "count", "number"]),
    st.sampled_from(list(LAYOUTS.values())),
    st.lists(st.sampled_from(list(style.DASHES)), min_size=10, max_size=10),
)
def test_texts_of_any_figure_stay_within_it(lines, scale, kind, layout, origins):
    series = [
        Series(f"line <{i}>", [x for x, _ in points], [y for _, y in points], origin=origins[i])
        for i, points in enumerate(lines)
    ]
    drawn = figure(*series, x=Axis("x", "log", kind), y=Axis("y", scale), level=1.0)
    root = svg_of(drawn, layout)
    _, _, width, height = map(float, root.get("viewBox").split())
    ruler = sheet.Sheet(layout)
    for text in root.iter(f"{SVG}text"):
        words = "".join(text.itertext())
        css = text.get("style")
        size = float(re.search(r"font(?:-size)?: ?([0-9.]+)px", css)[1])
        long = ruler.measure(words, size)
        x, y = float(text.get("x")), float(text.get("y"))
        left = x - long if "text-anchor: end" in css else x
        left = x - long / 2 if "text-anchor: middle" in css else left
        assert left >= -2 and left + long <= width + 2, (words, left, long, width)
        assert 0 <= y <= height, words


@pytest.mark.parametrize("kind", drawing.KINDS)
@pytest.mark.parametrize("width", [60.0, 88.0, 180.0])
def test_figures_of_papers_have_the_width_and_are_reproducible(kind, width):
    drawn = figure(line("a"), line("b", 2))
    data = drawing.draw(drawn, kind, width)
    assert data == drawing.draw(drawn, kind, width)
    if kind == "svg":
        root = ElementTree.fromstring(data)
        assert float(root.get("width").removesuffix("pt")) / 72 * 25.4 == pytest.approx(width, 1e-3)
        assert b"var(" not in data
    elif kind == "pdf":
        box = re.search(rb"/MediaBox \[ ?0 0 ([0-9.]+)", data)
        assert float(box[1]) / 72 * 25.4 == pytest.approx(width, abs=0.5)
        assert b"/Type3" not in data  # publishers refuse such fonts
    else:
        columns = int.from_bytes(data[16:20], "big")
        assert columns == pytest.approx(width / 25.4 * 300, abs=2)


def test_shares_have_bars_with_names_and_tooltips():
    series = [Series("copy", [0.0, 1.0], [80.0, 30.0]), Series("kernel", [0.0, 1.0], [20.0, 65.0])]
    series.append(Series("read", [1.0], [5.0]))  # which not all categories have
    drawn = figure(*series, form="stack", categories=["small", "large"], x=Axis("", "linear"))
    for layout in LAYOUTS.values():
        root = svg_of(drawn, layout)
        titles = {t.text for g in root.iter(f"{SVG}g") for t in g.findall(f"{SVG}title")}
        assert titles == {"copy: 80 %", "kernel: 20 %", "copy: 30 %", "kernel: 65 %", "read: 5 %"}
        texts = texts_of(root)
        assert {"small", "large", "copy", "kernel", "read"} <= set(texts)
        assert any(text.endswith("80 %") for text in texts)


def test_a_figure_without_usable_points_is_drawn():
    root = svg_of(figure(Series("a", [1.0, 2.0], [0.0, 0.0]), y=Axis("y", "log")))
    assert any(text == "a" for text in texts_of(root))


# Colours


def linear(colour):
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    high, low = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("colours", "paper"), [(style.LIGHT, "#ffffff"), (style.DARK, "#0d1117")]
)
def test_line_colours_contrast_with_the_background(colours, paper):
    assert all(contrast(colour, paper) >= 4.5 for colour in colours)  # WCAG 2, as for text


# Machado, Oliveira and Fernandes 2009, severity 1: linear RGB as people see it without the cones
# for long, middle or short waves.
DEFICIENCIES = {
    "protanopia": [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216]
    + [-0.003882, -0.048116, 1.051998],
    "deuteranopia": [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413]
    + [-0.011820, 0.042940, 0.968881],
    "tritanopia": [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602]
    + [0.004733, 0.691367, 0.303900],
}


def lab(rgb):
    xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ) @ np.clip(rgb, 0, 1)
    x, y, z = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 1e-9))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("colours", [style.LIGHT, style.DARK])
def test_lines_are_told_apart_without_colour_vision(deficiency, colours):
    """Lines with the same marker differ in colour, also as colour-blind readers see it."""
    series, matrix = Series("a", [], []), np.reshape(DEFICIENCIES[deficiency], (3, 3))
    seen = [lab(matrix @ linear(colour)) for colour in colours]
    looks = [style.look(i, series) for i in range(12)]
    for a, b in itertools.combinations(range(12), 2):
        if looks[a]["marker"] == looks[b]["marker"]:
            assert np.linalg.norm(seen[a] - seen[b]) >= 10, (a, b)


def test_series_differ_by_more_than_colour():
    series = Series("", [], [])
    looks = [(how["color"], how["marker"]) for how in (style.look(i, series) for i in range(72))]
    assert len(set(looks)) == 72
    dashes = {
        str(style.look(0, Series("", [], [], origin=o))["linestyle"]) for o in style.DASHES
    }
    assert len(dashes) == len(style.DASHES)
