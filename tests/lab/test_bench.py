"""Reading bench JSON: the values of rows, and errors that name the wrong field; sizes and units."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import loaded, report, row, written

from paraes.lab import bench, units
from paraes.lab.errors import LabError


def test_rows_keep_axes_and_samples():
    r = loaded(row(ns=2000.0, bytes=4096, threads=2)).rows[0]
    assert (r.bytes, r.threads, r.workers, r.kernel, r.rival) == (4096, 2, 2, "reference", None)
    assert r.median_ns == pytest.approx(2000)
    assert r.mb_per_s == pytest.approx(4096 / 2000e-9 / 1e6)


def test_records_have_one_dict_per_row_with_rates_and_phases():
    measured = row(ns=1000.0, bytes=1000, timeline={"kernel": 900.0})
    records = loaded(measured, row(verified=False), row(samples_ns=[])).records()
    assert [r["verified"] for r in records] == [True, False, True]
    assert {name: records[0][name] for name in bench.AXES} == {
        name: measured[name] for name in bench.AXES
    }
    assert (records[0]["mb_per_s"], records[0]["samples"]) == (pytest.approx(1000), 9)
    assert (records[0]["kernel_ns"], records[0]["read_ns"]) == (900.0, None)
    failed = records[2]
    assert (failed["median_ns"], failed["mb_per_s"], failed["samples"]) == (None, None, 0)


def test_wrong_and_failed_rows_are_read_but_not_valid():
    r = loaded(row(), row(verified=False), row(samples_ns=[]))
    assert (len(r.rows), len(r.valid)) == (3, 1)


def test_opencl_devices_on_the_cpu_are_labelled_as_a_cpu():
    gpus = [
        {"id": "opencl:0", "name": "pthread-skylake", "driver": "Portable Computing Language 3.1"},
        {"id": "opencl:1", "name": "gfx1100", "driver": "AMD"},
        {"id": "opencl:2", "name": "anything", "driver": "any", "type": "cpu"},
    ]
    rows = [row(device=g["id"], threads=0) for g in gpus]
    labels = [r.label() for r in loaded(*rows, gpus=gpus).rows]
    assert ["(a CPU)" in label for label in labels] == [True, False, True]


def test_the_former_name_of_the_rival_openssl_evp_is_read_as_that():
    former = loaded(
        row(kernel=None, rival="openssl"),
        row(kernel="openssl"),
        skipped=[row(kernel=None, rival="openssl") | {"reason": "why"}],
    )
    assert [r.name for r in former.rows] == ["(openssl-evp)", "openssl"]
    assert former.skipped[0].axes["rival"] == "openssl-evp"


def test_reports_older_than_keys_are_read_with_none():
    older = row()
    del older["keys"]
    skipped = dict(older) | {"reason": "why"}
    read = loaded(older, skipped=[skipped])
    assert (read.rows[0].keys, read.skipped[0].axes["keys"]) == (None, None)


def test_rows_that_differ_in_keys_or_messages_have_different_axes():
    many = {"mode": "gcm", "messages": 1024, "keys": "one"}
    read = loaded(row(**many), row(**many | {"keys": "each"}), row(**many | {"messages": 512}))
    assert len({r.axes() for r in read.rows}) == 3


def test_the_rival_openssl_evp_is_named_with_the_version_of_openssl():
    rivals = ("openssl-evp", "openssl-evp@3.0.19", "ipsec-mb")
    rows = [*[row(kernel=None, rival=rival) for rival in rivals], row()]
    libraries = {"openssl": "3.0.19", "ipsec-mb": "1.3.0"}
    names = ["(OpenSSL 3.0.19)", "(OpenSSL 3.0.19 from a file)", "(ipsec-mb)", "reference"]
    read = loaded(*rows, libraries=libraries)
    assert [r.name for r in read.rows] == names
    assert read.rows[0].label() == "(OpenSSL 3.0.19) · 1 thread"
    merged = bench.merge([loaded(*rows), read])  # each report has its own version
    assert [r.name for r in merged.rows] == ["(openssl-evp)", *names[1:], *names]


@pytest.mark.parametrize("libraries", [None, [], {"openssl": None}, {"openssl": 3}])
def test_without_a_version_the_rival_openssl_evp_keeps_its_name(libraries):
    (r,) = loaded(row(kernel=None, rival="openssl-evp"), libraries=libraries).rows
    assert r.name == "(openssl-evp)"


def test_a_file_with_runs_gives_the_rows_of_all_runs(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"schema": 1, "runs": [report(row()), report(row(), row())]}))
    r = bench.load(path)
    assert [x.report for x in r.rows] == [0, 1, 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bytes": "1"}, "results[0].bytes: expected a whole number"),
        ({"bytes": True}, "results[0].bytes: expected a whole number"),
        ({"bytes": None}, "results[0].bytes: expected a whole number, found null"),
        ({"threads": -1}, "results[0]: bytes and threads"),
        ({"messages": 0}, "results[0]: bytes and threads"),
        ({"keys": 1}, "results[0].keys: expected text"),
        ({"verified": None}, "results[0].verified: expected true or false"),
        ({"samples_ns": None}, "results[0].samples_ns: expected a list"),
        ({"samples_ns": [1.0, "2"]}, "results[0].samples_ns[1]: expected a number"),
        ({"samples_ns": [0]}, "a sample of 0 ns"),
        ({"energy_joules": "3"}, "results[0].energy_joules"),
        ({"scope": None}, "results[0].scope: expected text"),
        ({"timeline_samples_ns": [1]}, "results[0].timeline_samples_ns: expected an object"),
        ({"timeline_samples_ns": {"read": 1}}, "timeline_samples_ns.read: expected a list"),
        (
            {"timeline_samples_ns": {"read": [1, -1]}},
            "timeline_samples_ns.read[1]: expected a number",
        ),
    ],
)
def test_errors_name_the_wrong_field(change, words):
    with pytest.raises(LabError, match="^synthetic") as error:
        loaded(row() | change)
    assert words in str(error.value)


def test_samples_of_phases_are_read_where_the_file_has_them():
    new, old = loaded(row(phases={"kernel": [1.0, 2.0]}), row()).rows
    assert {p: list(s) for p, s in new.timeline_samples_ns.items()} == {"kernel": [1.0, 2.0]}
    assert old.timeline_samples_ns == {}


def test_rows_without_executor_are_openmp_if_they_have_several_threads():
    def old(**axes):
        found = row(**axes)
        del found["executor"]
        return found

    rows = [
        old(),
        old(threads=2),
        old(threads=2, rival="memcpy", kernel=None),
        old(threads=2, scope="file"),
        old(threads=0, device="cuda:0"),
        row(threads=2),
    ]
    skip = old(threads=2) | {"reason": "none"}
    found = bench.from_object(report(*rows, skipped=(skip,)), "old")
    assert [r.executor for r in found.rows] == [None, "openmp", "openmp", None, None, "threads"]
    assert found.skipped[0].axes["executor"] == "openmp"
    assert found.rows[1].label() == "reference · 2 threads by OpenMP"
    assert found.rows[5].label() == "reference · 2 threads"


def test_errors_name_a_missing_axis():
    broken = row()
    del broken["ranks"]
    with pytest.raises(LabError, match=r"results\[0\]\.ranks: is missing"):
        loaded(broken)


@pytest.mark.parametrize("schema", [None, 0, 2, "1", True])
def test_other_schemas_are_refused(schema):
    with pytest.raises(LabError, match="schema"):
        bench.from_object(report(row()) | {"schema": schema}, "x")


def test_nan_is_rejected(tmp_path):
    path = written(tmp_path / "r.json", row())
    path.write_text(path.read_text().replace("1000.0", "NaN"))
    with pytest.raises(LabError, match="is not JSON"):
        bench.load(path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
        max_leaves=8,
    )
)
def test_any_json_value_is_read_or_raises_lab_error(value):
    for candidate in (
        value,
        {"schema": 1, "context": {}, "results": value, "skipped": value},
        {"schema": 1, "context": value, "results": [], "skipped": []},
    ):
        try:
            bench.from_object(candidate, "x")
        except LabError:
            pass


@given(st.integers(1, 2**63 - 1))
def test_parse_size_reads_every_number_of_bytes(size):
    assert units.parse_size(str(size)) == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64K", 65536),
        ("1MiB", 1 << 20),
        ("1MB", 10**6),
        ("1.5K", 1536),
        ("2 GiB", 2 << 30),
        ("7", 7),
    ],
)
def test_parse_size_reads_binary_and_decimal_units(text, size):
    assert units.parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "K", "-1", "0", "1.3", "1Q", "1e3", "٣", "9" * 400, "8388608TiB"]
)
def test_parse_size_rejects_what_is_not_a_size(text):
    with pytest.raises(ValueError, match="size|bytes"):
        units.parse_size(text)


@given(st.floats(1e-12, 1e15))
def test_significant_rounds_to_four_digits(value):
    text = units.significant(value)
    if "·" in text:
        mantissa, power = text.split("·10")
        digits = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
        shown = float(mantissa) * 10.0 ** int(
            "".join("-0123456789"[digits.index(c)] for c in power)
        )
    else:
        shown = float(text)
    assert shown == pytest.approx(value, rel=5.1e-4)


@given(st.floats() | st.integers(-(2**64), 2**64))
def test_significant_formats_every_number(value):
    mantissa = units.significant(value).partition("·")[0]
    assert len(mantissa.strip("−0.").replace(".", "")) <= 9 or mantissa in ("∞", "−∞", "–")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5e-324, "4.941·10⁻³²⁴"),
        (9.99996e-7, "1·10⁻⁶"),
        (999999999.9, "1·10⁹"),
        (-0.25, "−0.25"),
        (1234.5, "1234"),
        (1e9, "1·10⁹"),
        (123456789.0, "123456789"),
    ],
)
def test_significant_examples(value, text):
    assert units.significant(value) == text
