"""The papers' data files: complete, as printed, and consistent with known contradictions."""

import re
from importlib import resources
from operator import truediv

import pytest
from synthetic import loaded, reproduction, row

from paraes.lab.configurations import group
from paraes.lab.document import Missing
from paraes.lab.errors import LabError
from paraes.lab.papers import EXPERIMENTS
from paraes.lab.papers.cells import phase
from paraes.lab.papers.data import NAMES, Printed, follows, load_paper, recompute
from paraes.lab.papers.setting import Setting
from paraes.lab.scaling import amdahl

KARP_FLATT = "section 4, 'Tabela da Métrica de Karp-Flat usando OpenMP'"
# Paper → how many of its numbers follow from its other numbers, and the range of
# printed / recomputed of those that contradict them.
RECOMPUTED = {
    "moreira-2026": (42, {"Figure 5, upper table, 1KB": (1.05, 1.06)}),
    "tybusch-2014": (14, {}),
    "luken-2009": (0, {}),
    "pousa-2011": (
        42,
        {f"Table 1, {s}": (1.39, 1.47) for s in ("512KB", "1MB", "15MB", "128MB", "255MB")},
    ),
    "pousa-2014": (0, {}),
    "soares": (2, {f"{KARP_FLATT}, 16 threads": (0.93, 0.94)}),
}


def paper_crossover(
    sizes: list[int], incumbent: list[float], challenger: list[float]
) -> tuple[int, int] | None:
    """Return the printed sizes between which the challenger becomes faster and stays so."""
    ahead = [c <= i for i, c in zip(incumbent, challenger, strict=True)]
    for i in range(len(ahead) - 1, 0, -1):
        if ahead[i] and not ahead[i - 1]:
            return sizes[i - 1], sizes[i]
        if not ahead[i]:
            return None
    return None


@pytest.mark.parametrize("name", NAMES)
def test_data_file_has_a_source_and_unit_for_every_number(name):
    paper = load_paper(name)
    for key in ("short", "title", "authors", "where", "machine", "what", "size_unit"):
        assert paper.raw[key], key
    for table in paper.tables.values():
        assert table.where
        for column in table.columns:
            assert column["unit"] in ("s", "ms", "x", "MB/s", "")
        for cells in table.cells:
            for printed in cells.values():
                assert printed.text == "*" or re.fullmatch(r"\d*\.?\d+", printed.text), printed
    for statement in paper.raw["statements"]:
        assert statement["where"] and statement["says"]
    for item in paper.raw["contradictions"]:
        assert len(item["sides"]) == 2
        assert all(side["where"] and side["value"] for side in item["sides"])


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_follow_from_others_agree_but_for_the_known_contradictions(name):
    count, contradictions = RECOMPUTED[name]
    numbers = recompute(load_paper(name))
    assert len(numbers) == count
    ratios = {n.where: n.printed.value / n.value for n in numbers if not n.agrees}
    assert ratios.keys() == contradictions.keys()
    for where, ratio in ratios.items():
        low, high = contradictions[where]
        assert low < ratio < high, (where, ratio)


def test_pousa_2011_needs_347_cores_not_256():
    paper = load_paper("pousa-2011")
    mpi = paper.tables["times"].at(267386880, "mpi32").value
    total = paper.tables["transfers"].at(267386880, "total").value
    assert round(32 * mpi / total) == 347
    sides = next(c for c in paper.raw["contradictions"] if c["id"] == "cores")["sides"]
    assert sides[1]["value"] == "347"


def test_soares_karp_flatt_gives_the_speedups_that_the_text_lacks():
    table = load_paper("soares").tables["karp_flatt"]
    speedups = {t: amdahl(table.number(t, "karp_flatt"), t) for t in (2, 4)}
    assert {t: round(s, 3) for t, s in speedups.items()} == {2: 1.909, 4: 3.151}


def test_paper_crossover_of_moreira_is_between_100_kb_and_1_mb():
    paper = load_paper("moreira-2026")
    for table in paper.tables.values():
        cpu, gpu = ([c[k].value for c in table.cells] for k in ("cpu_time", "gpu_time"))
        assert paper_crossover(table.sizes, cpu, gpu) == (102400, 1048576)


@pytest.mark.parametrize(
    ("text", "low", "high", "may"),
    [
        ("1.15", 1.151, 1.151, True),
        ("1.15", 1.159, 1.159, True),
        ("1.15", 1.161, 1.161, False),
        ("1.15", 1.144, 1.144, False),
        ("36", 36.9, 36.9, True),
        ("36", 39.68, 39.68, False),
    ],
)
def test_may_show_allows_rounding_and_truncation_only(text, low, high, may):
    assert Printed(text, "").may_show(low, high) is may


def test_phases_are_added_process_by_process():
    moved = [1e9, 2e9, 3e9, 4e9, 5e9, 6e9]
    phases = [{"host_to_device": a, "kernel": 7e9 - a, "read": 7e9} for a in moved]
    (r,) = group(reproduction(*[(i, [row(timeline=t)]) for i, t in enumerate(phases)])).rows
    both = phase(r, "host_to_device", "kernel")
    assert both.value == pytest.approx(7.0)
    assert (both.interval.low, both.interval.high) == pytest.approx((7.0, 7.0))
    one = phase(r, "host_to_device")
    assert (one.interval.low, one.interval.high) == pytest.approx((1.0, 6.0))
    assert isinstance(phase(r, "write"), Missing)


def test_phases_of_a_single_process_have_no_interval():
    r = loaded(row(timeline={"host_to_device": 4e9, "kernel": 1e9})).rows[0]
    both = phase(r, "host_to_device", "kernel")
    assert both.value == pytest.approx(5.0) and both.interval is None


def test_what_follows_from_a_mark_is_none():
    mark, one = Printed("*", "s"), Printed("1", "s")
    assert follows("", "", mark, truediv, one, one) is None
    assert follows("", "", one, truediv, mark, one) is None


def test_printed_numbers_keep_their_text_and_convert_to_seconds():
    assert Printed("3596", "ms").seconds == pytest.approx(3.596)
    assert load_paper("luken-2009").tables["times"].at(1024, "16-CPU").text == ".039"


@pytest.mark.parametrize("name", NAMES)
def test_plan_has_exactly_the_sizes_of_the_paper(name):
    """Soares is an exception: the paper states no sizes."""
    runs = EXPERIMENTS[name].plan(Setting(cores=8))
    sizes = {run.size for run in runs}
    tables = load_paper(name).tables.values()
    printed = {size for t in tables for size in t.sizes if name != "soares"}
    if printed:
        assert sizes == printed
    assert all(run.mode == "ecb" for run in runs)


def test_plans_have_the_axes_of_the_papers():
    def runs(name):
        return EXPERIMENTS[name].plan(Setting(cores=32))

    assert {r.directions for r in runs("moreira-2026")} == {("encrypt", "decrypt")}
    in_memory = [r for r in runs("tybusch-2014") if (r.devices, r.scope) == (("cpu",), "memory")]
    # Twice as many threads as cores as well, but not at 1000 MB.
    assert {r.size: r.threads for r in in_memory} == {
        size: (1, 4, 32, 64) if size < 1000 << 20 else (1, 4)
        for size in (1 << 10, 1 << 20, 10 << 20, 100 << 20, 1000 << 20)
    }
    assert {r.threads for r in runs("tybusch-2014") if r.scope == "file"} == {(1, 4)}
    assert {r.key_bits for r in runs("luken-2009")} == {(128, 192, 256)}
    assert {r.ranks for r in runs("pousa-2011")} == {1, 2, 4, 8, 16, 32}
    kernels = {k for r in runs("pousa-2014") for k in r.kernels}
    assert kernels == {"reference", "ttable", "reference-shared", "ttable-simple"}
    assert {r.threads for r in runs("soares")} == {(1, 2, 4, 8, 16)}
    for run in (run for name in NAMES for run in runs(name)):
        # The papers ran one phase after another.
        assert ("--no-overlap" in run.arguments(None)) == (run.scope in ("transfer", "file"))
    for name in ("pousa-2011", "pousa-2014", "soares"):
        several = [r for r in runs(name) if r.scope == "memory" and len(r.threads) > 1]
        assert {r.executors for r in several} == {("openmp",)}


def test_load_paper_of_an_unknown_name_is_a_usage_error():
    with pytest.raises(LabError) as error:
        load_paper("nobody-1999")
    assert error.value.status == 2


def test_package_contains_the_data_files():
    names = {p.name for p in resources.files("paraes.lab.papers").iterdir()}
    assert {f"{name}.json" for name in NAMES} <= names
