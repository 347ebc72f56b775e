"""Machines and programs: what tells them apart, and what only annotates them."""

import pytest
from synthetic import CONTEXT, loaded, merged, report, row, table

from paraes.lab import analysis, throughput
from paraes.lab.beside import beside
from paraes.lab.document import Column, Missing, Paragraph, Section, Table
from paraes.lab.machines import build_of, machine_of

GIB = 1 << 30
NODE = CONTEXT | {
    "cpu": "AMD EPYC",
    "cpu_id": "AuthenticAMD family 25 model 17 stepping 1",
    "memory_bytes": 24 * GIB,
    "hypervisor": "KVMKVMKVM",
}


OTHERS = [
    {"cpu": "AMD EPYC 9654"},
    {"cpu_id": "AuthenticAMD family 26 model 2 stepping 1"},
    {"cores": 8},
    {"memory_bytes": 64 * GIB},
    {"hypervisor": "none"},
    {"machine": "rack-7"},
]
SAME = [
    {"microcode": "0x2"},
    {"clock_hz": 1},
    {"host": "other"},
    {"kernel_release": "Linux 7"},
    {"memory_bytes": 24 * GIB - 5_000_000},  # the system reserves a little
    {"threads": 1},
]


@pytest.mark.parametrize("change", OTHERS + SAME)
def test_machines_differ_in_model_cores_memory_hypervisor_or_name_alone(change):
    assert (machine_of(NODE) == machine_of(NODE | change)) == (change in SAME)


def test_a_name_identifies_the_machine_whatever_else_changed():
    named = NODE | {"machine": "rack-7"}
    assert machine_of(named) == machine_of(named | {"cores": 1, "cpu": None})


@pytest.mark.parametrize("value", [5, [], {"a": 1}, True, ""])
def test_identities_of_damaged_contexts_are_no_traceback(value):
    names = ("machine", "cpu", "cpu_id", "cores", "memory_bytes", "hypervisor", "libraries")
    for name in names:
        machine_of(NODE | {name: value}).label.encode()
        build_of(NODE | {name: value})


def two_machines(*rows_of_second, **changes):
    other = NODE | {"cpu_id": "AuthenticAMD family 26 model 2 stepping 1"} | changes
    first = [row(ns=1000.0, bytes=n, mode="ctr") for n in (1024, 4096)]
    second = rows_of_second or [row(ns=500.0, bytes=n, mode="ctr") for n in (1024, 4096)]
    return merged(report(*first, **NODE), report(*second, **other))


FIRST = "AMD EPYC AuthenticAMD family 25 model 17 stepping 1, 4 cores, 24 GiB, KVM"
SECOND = FIRST.replace("25 model 17", "26 model 2")


def test_two_machines_with_one_cpu_name_have_columns_of_their_own_in_a_report():
    document = analysis.document(two_machines())
    tables = {t.name: t for t in document.tables()}
    assert [c.title for c in tables["machine"].columns] == ["", FIRST, SECOND]
    rows = tables["rows"]
    titles = [c.title for c in rows.columns]
    assert [t for t in titles if t.endswith("MB/s")] == [f"{FIRST}: MB/s", f"{SECOND}: MB/s"]
    assert len(rows.rows) == 2  # a line for each configuration
    at = titles.index(f"{FIRST}: MB/s"), titles.index(f"{SECOND}: MB/s")
    assert [rows.rows[0][i] for i in at] == pytest.approx([1024.0, 2048.0])
    (figure,) = document.figures()
    assert {s.name.partition(", ")[2] for s in figure.series} == {FIRST, SECOND}


def test_a_configuration_of_one_machine_is_missing_with_the_reason_on_the_other():
    report_of_two = two_machines(row(ns=500.0, bytes=1024, mode="ctr", kernel="ttable"))
    rows = table(report_of_two, "rows")
    assert len(rows.rows) == 3
    missing = [cell for cell in rows.rows[0] if isinstance(cell, Missing)]
    assert {cell.reason for cell in missing} == {"not measured on this machine"}


def test_rows_of_two_machines_are_never_compared_with_each_other():
    rival = {"kernel": None, "rival": "openssl-evp"}
    both = two_machines(*[row(ns=9.0, bytes=n, mode="ctr", **rival) for n in (1024, 4096)])
    assert not any(t.name == "rivals" for t in analysis.document(both).tables())
    threads = two_machines(*[row(ns=9.0, bytes=n, mode="ctr", threads=2) for n in (1024, 4096)])
    assert not any(t.name == "scaling" for t in analysis.document(threads).tables())


def test_figure_throughput_draws_both_machines_and_both_programs_of_one():
    for changes, names in (
        ({}, {f"reference, {FIRST}", f"reference, {SECOND}"}),
        (NODE | {"git": "1234567890"}, {"reference, unknown commit", "reference, 1234567"}),
    ):
        assert {s.name for s in throughput.figure(two_machines(**changes)).series} == names


def test_figure_throughput_draws_every_row():
    gpu = {"device": "cuda:0", "threads": 0}
    axes = [{}, {"ranks": 2}, {"threads": 2}, {"threads": 2, "executor": "openmp"}]
    axes += [gpu | {"group_threads": n} for n in (128, 256)]
    rep = loaded(*[row(mode="ctr", kernel="aesni", **own) for own in axes])
    assert {s.name for s in throughput.figure(rep).series} >= {"aesni", "aesni, 2 ranks"}
    assert sum(len(s.x) for s in throughput.figure(rep).series) == 4
    two = throughput.figure(rep, threads=2)
    assert {s.name for s in two.series} >= {"aesni", "aesni, OpenMP"}


def test_the_clocks_and_microcodes_of_one_machine_stand_in_its_column():
    both = merged(
        report(row(), **NODE, clock_hz=3.6e9, microcode="0x1"),
        report(row(), **NODE, clock_hz=3.7e9, microcode="0x2"),
    )
    lines = {line[0]: line[1:] for line in table(both, "machine").rows}
    assert lines["clock, as measured"] == ["3.6 to 3.7 GHz"]
    assert lines["microcode"] == ["0x1; 0x2"]


def test_machines_of_one_label_keep_their_rows():
    named = report(row(ns=1.0, bytes=1024), machine="4 cores")
    other = report(row(ns=2.0, bytes=1024), cpu="4 cores", cores=None, threads=None)
    both = merged(named, other)
    columns = table(both, "machine").columns
    assert [c.title for c in columns] == ["", "4 cores", "4 cores (2)"]
    (line,) = table(both, "rows").rows
    assert sum(isinstance(cell, Missing) for cell in line) == 0


def test_rows_of_one_key_stay_apart_beside_another_machine():
    columns = [Column("what", "text"), Column("value")]
    own = Table("t", "T", columns, [["a", 1.0], ["a", 2.0]])
    other = Table("t", "T", columns, [["a", 3.0]])
    sections = {n: [Section("s", "S", [t])] for n, t in (("m", own), ("n", other))}
    (joined,) = beside(sections)[0].blocks
    assert [line[1] for line in joined.rows] == [1.0, 2.0]
    assert joined.rows[0][2] == 3.0 and isinstance(joined.rows[1][2], Missing)


def test_texts_of_machines_that_differ_name_theirs():
    sections = {n: [Section("s", "S", [Paragraph(f"{n} cores"), Paragraph("all")])] for n in "24"}
    texts = [block.text for block in beside(sections)[0].blocks]
    assert texts == ["2: 2 cores", "all", "4: 4 cores"]


def test_figures_of_other_jobs_have_names_of_their_own():
    def one(mode):
        return [row(bytes=n, mode=mode) for n in (1024, 4096)]

    both = merged(report(*one("ctr"), machine="x"), report(*one("ecb"), machine="y"))
    names = [figure.name for figure in analysis.document(both).figures()]
    assert len(names) == 2 == len(set(names))
