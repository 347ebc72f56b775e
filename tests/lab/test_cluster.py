"""The model of docs/cluster.md: its predictions, its constants from rows, and its figure."""

import pytest
from synthetic import loaded, row, written

from paraes.lab import cli, cluster
from paraes.lab.cluster import Constant, Model
from paraes.lab.document import Missing, Predicted
from paraes.lab.errors import LabError

GIB = 1 << 30


def model(**changes) -> Model:
    """Return a model with the constants that docs/cluster.md assumes."""
    values = {
        "node": Constant(5e9, ""),
        "file_system": Constant(100e9, ""),
        "processors": Constant(40e9, ""),
        "link": Constant(12e9, ""),
        "start": Constant(2.0, ""),
    }
    return Model(**(values | changes))


FILE = {"scope": "file", "mode": "gcm", "format": "paraes", "bytes": GIB}


@pytest.mark.parametrize(
    ("nodes", "seconds"), [(1, 202), (2, 102), (4, 52), (8, 27), (16, 14.5), (32, 12), (1024, 12)]
)
def test_model_predicts_the_table_of_the_document(nodes, seconds):
    assert model().shared_seconds(1e12, nodes) == pytest.approx(seconds)
    assert model().scatter_seconds(1e12, nodes) == pytest.approx(202)


def test_scatter_is_bound_by_its_slowest_part():
    slow_link = model(link=Constant(1e9, ""))
    assert slow_link.scatter_seconds(1e12, 1) == pytest.approx(202)  # nothing is sent
    assert slow_link.scatter_seconds(1e12, 2) == pytest.approx(2 + 500)
    assert slow_link.scatter_seconds(1e12, 4) == pytest.approx(2 + 750)
    slow_cores = model(processors=Constant(1e9, ""))
    assert slow_cores.scatter_seconds(1e12, 4) == pytest.approx(2 + 250)
    assert model(link=None).scatter_seconds(1e12, 2) is None
    assert model(processors=None).scatter_seconds(1e12, 2) is None


def test_constants_come_from_the_rows_unless_given():
    moved = {"scatter": GIB * 0.75 / 5, "kernel": 1.0, "gather": GIB * 0.75 / 6}
    rows = loaded(
        row(**FILE, threads=1, ns=1e9),
        row(**FILE, threads=2, ns=GIB / 3),  # 3 GB/s, the fastest run of one process
        row(**FILE, threads=2, ns=GIB / 9, ranks=2, distribution="shared"),
        row(**FILE, threads=2, ns=GIB / 7, direction="decrypt"),
        row(**FILE, threads=2, ns=GIB / 8) | {"rival": "cp", "kernel": None},
        row(mode="gcm", bytes=GIB, threads=2, ns=GIB / 20),
        row(mode="ctr", bytes=GIB, threads=2, ns=GIB / 40),
        row(mode="ctr", bytes=GIB, ranks=4, distribution="scatter", ns=GIB, timeline=moved),
    )
    found = cluster.constants(rows)
    assert found.node.value == pytest.approx(3e9)
    assert found.processors.value == pytest.approx(20e9)
    assert found.link.value == pytest.approx(5e9)  # 3/4 of the data, slower direction
    assert found.file_system is None and found.start.value == 0
    given = cluster.constants(rows, file_system=7e9, link=8e9, start=1.5)
    assert (given.file_system.value, given.link.value, given.start.value) == (7e9, 8e9, 1.5)
    assert cluster.constants(rows, "decrypt").node.value == pytest.approx(7e9)


def test_without_a_file_row_the_error_says_how_to_measure_one():
    with pytest.raises(LabError, match="paraes bench --scope file"):
        cluster.constants(loaded(row(mode="gcm")))


def test_figure_marks_predictions_and_shows_measured_ranks():
    rows = loaded(
        row(**FILE, threads=2, ns=GIB / 3),
        row(**FILE, threads=1, ns=GIB / 2, ranks=2, distribution="shared"),
        row(**(FILE | {"bytes": GIB // 2}), ns=GIB / 8, ranks=2, distribution="shared"),
    )
    found = cluster.constants(rows)
    drawn = cluster.figure(rows, found, 1e12)
    assert [(s.name, s.origin) for s in drawn.series] == [
        ("shared, predicted", "predicted"),
        ("shared, measured", "measured"),
    ]
    assert drawn.series[0].x[-1] >= 1000
    assert drawn.series[0].y[:2] == pytest.approx([3000, 6000])
    assert (drawn.series[1].x, drawn.series[1].y) == ([2.0], pytest.approx([2000]))
    assert all(isinstance(cell, Predicted) for line in drawn.table.rows for cell in line[1:])
    constants, predictions = cluster.tables(found, drawn)
    assert "scatter is left out" in " ".join(constants.footnotes())
    assert isinstance(constants.rows[1][1], Missing)
    assert len(predictions.columns) == 3


def test_figure_cluster_writes_svg_and_prints_predictions(tmp_path, capsys):
    results = written(tmp_path / "r.json", row(**FILE, ns=GIB / 3))
    picture = tmp_path / "cluster.svg"
    arguments = ["figure", "cluster", str(results), "-o", str(picture), "--size", "1TB"]
    assert cli.main([*arguments, "--file-system", "100", "--link", "12.5", "--start", "2"]) == 0
    assert "<svg" in picture.read_text()
    shown = capsys.readouterr().out
    assert "(predicted)" in shown and "12500" in shown
    assert cli.main([*arguments, "--link", "fast"]) == 2
    assert "GB/s" in capsys.readouterr().err
