"""Reading bench JSON: the values of rows, and errors that name the wrong field; sizes and units."""

import json
import math
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import CONTEXT, loaded, report, row, table, written

from paraes.lab import bench, units
from paraes.lab.errors import LabError

RESULTS = Path(__file__).parents[2] / "bench/results"


def test_records_have_one_dict_per_row_with_rates_and_phases():
    measured = row(ns=1000.0, bytes=1000, timeline={"kernel": 900.0})
    rep = loaded(measured, row(verified=False), row(samples_ns=[]))
    assert (len(rep.rows), len(rep.valid)) == (3, 1)
    records = rep.records()
    assert [r["verified"] for r in records] == [True, False, True]
    assert {name: records[0][name] for name in bench.AXES} == {
        name: measured[name] for name in bench.AXES
    }
    assert (records[0]["mb_per_s"], records[0]["samples"]) == (pytest.approx(1000), 9)
    assert (records[0]["kernel_ns"], records[0]["read_ns"]) == (900.0, None)
    failed = records[2]
    assert (failed["median_ns"], failed["mb_per_s"], failed["samples"]) == (None, None, 0)


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


def test_reports_older_than_keys_are_read_with_none_and_other_axes_are_required():
    older = row()
    del older["keys"]
    skipped = dict(older) | {"reason": "why"}
    with pytest.raises(LabError, match=r"results\[0\]\.ranks: is missing"):
        loaded({name: value for name, value in row().items() if name != "ranks"})
    read = loaded(older, skipped=[skipped])
    assert (read.rows[0].keys, read.skipped[0].axes["keys"]) == (None, None)


def test_rows_that_differ_in_keys_or_messages_have_different_axes():
    many = {"mode": "gcm", "messages": 1024, "keys": "one"}
    read = loaded(row(**many), row(**many | {"keys": "each"}), row(**many | {"messages": 512}))
    assert len({r.axes() for r in read.rows}) == 3


def test_the_rival_openssl_evp_is_named_with_the_version_of_openssl():
    rivals = ("openssl-evp", "openssl-evp@3.0.19", "ipsec-mb")
    rows = [*[row(kernel=None, rival=rival) for rival in rivals], row()]
    for unknown in (None, {}, {"openssl": None}):
        assert loaded(*rows, libraries=unknown).rows[0].name == "(openssl-evp)"
    libraries = {"openssl": "3.0.19", "ipsec-mb": "1.3.0"}
    names = ["(OpenSSL 3.0.19)", "(OpenSSL 3.0.19 from a file)", "(ipsec-mb)", "reference"]
    read = loaded(*rows, libraries=libraries)
    assert [r.name for r in read.rows] == names
    assert read.rows[0].label() == "(OpenSSL 3.0.19) · 1 thread"
    merged = bench.merge([loaded(*rows), read])  # each report has its own version
    assert [r.name for r in merged.rows] == ["(openssl-evp)", *names[1:], *names]


def test_a_rival_that_generates_only_is_named_so_and_nobody_can_tell_whether_it_is_right():
    reason = "it generates only, and stores nothing"
    rival = {"rival": "mine", "kernel": None, "device": "cuda:0", "threads": 0, "mode": "ctr"}
    generates = {**rival, "traffic": "generates only"}
    rep = loaded(
        row(**generates, verified=None, verified_reason=reason),
        row(**generates, bytes=2 << 20, verified=True),
        row(**rival, traffic="reads and writes"),
    )
    assert [r.name for r in rep.rows] == ["(mine, generates only)"] * 2 + ["(mine)"]
    assert [r.verified for r in rep.rows] == [False, True, True]
    assert len({r.axes("bytes") for r in rep.rows}) == 2
    shown = [cells[-1] for cells in table(rep, "rows").texts()]
    assert sorted(shown) == sorted([f"no: {reason}", "yes", "yes"])
    # Without a reason it has to be known.
    with pytest.raises(LabError, match="verified: expected true or false, found null"):
        loaded(row(**generates, verified=None))


def test_a_file_with_runs_gives_the_rows_of_all_runs(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"schema": 1, "runs": [report(row()), report(row(), row())]}))
    r = bench.load(path)
    assert [x.report for x in r.rows] == [0, 1, 1]


# Where the wrong field is: what it is, and the words about it.
WRONG_FIELDS = {
    "results[1].": [
        ({"bytes": "1"}, "bytes: expected a whole number, found "),
        ({"bytes": 1.0}, "bytes: expected a whole number, found 1.0"),
        ({"bytes": 0}, "bytes: expected a whole number of at least 1, found 0"),
        ({"bytes": 1 << 63}, "bytes: expected a whole number of at most 9223372036854775807"),
        ({"bytes": 10**400}, "bytes: expected a number below 2⁶⁴, found 1000"),
        ({"threads": -1}, "threads: expected a whole number of at least 0, found -1"),
        ({"threads": 1 << 31}, "threads: expected a whole number of at most 2147483647"),
        ({"ranks": 0}, "ranks: expected a whole number of at least 1, found 0"),
        ({"messages": 0}, "messages: expected a whole number of at least 1, found 0"),
        ({"key_bits": 0}, "key_bits: expected a whole number of at least 1, found 0"),
        ({"keys": 1}, "keys: expected text, found 1"),
        ({"scope": None}, "scope: expected text, found null"),
        ({"kernel": "\ud800"}, "kernel: has a character that cannot be printed, \\ud800"),
        ({"kernel": "a\0"}, "kernel: has a character that cannot be printed, \\x00"),
        ({"kernel": "a\nb"}, "kernel: expected text in one line, found "),
        ({"kernel": "k" * 201}, "kernel: expected at most 200 characters of text, found 201"),
        ({"verified": None}, "verified: expected true or false, found null"),
        ({"samples_ns": None}, "samples_ns: expected a list, found null"),
        ({"samples_ns": [1.0, "2"]}, "samples_ns[1]: expected a number, found "),
        ({"samples_ns": [True]}, "samples_ns[0]: expected a number, found true"),
        ({"samples_ns": [0]}, "samples_ns[0]: expected a number of at least 0.001, found 0"),
        ({"samples_ns": [1e300]}, "samples_ns[0]: expected a number of at most 1e+18"),
        ({"samples_ns": [math.inf]}, "samples_ns[0]: expected a finite number"),
        ({"median_ns": math.inf}, "median_ns: expected a finite number"),
        ({"outliers": 0}, "outliers: expected a list, found 0"),
        ({"outliers": {}}, "outliers: expected a list, found {}"),
        ({"outliers": [-1]}, "outliers[0]: expected a whole number of at least 0, found -1"),
        ({"outliers": [0, 9]}, "outliers[1]: expected the index of one of 9 samples, found 9"),
        ({"outliers": [1, 1]}, "outliers: expected every index once, found [1, 1]"),
        ({"timeline_ns": []}, "timeline_ns: expected an object, found []"),
        ({"timeline_ns": {"kernel": "1"}}, "timeline_ns.kernel: expected a number"),
        ({"timeline_ns": {"kernel": 1e-300}}, "timeline_ns.kernel: expected a number of at least"),
        ({"timeline_samples_ns": [1]}, "timeline_samples_ns: expected an object, found [1]"),
        ({"timeline_samples_ns": {"read": False}}, "timeline_samples_ns.read: expected a list"),
        ({"timeline_samples_ns": {"read": [1, -1]}}, "read[1]: expected a number of at least"),
        ({"energy_joules": "3"}, "energy_joules: expected a number, found "),
        ({"energy_joules": -1}, "energy_joules: expected a number of at least 0, found -1"),
        ({"energy_joules": 1e300}, "energy_joules: expected a number of at most 1e+15"),
        ({"counters": 5}, "counters: expected an object"),
        ({"counters": {"cycles": "many"}}, "counters.cycles: expected a number"),
        ({"counters": {"cycles": -1}}, "counters.cycles: expected a number of at least 0"),
        ({"counters": None, "counters_reason": 7}, "counters_reason: expected text"),
        ({"energy_reason": 5}, "energy_reason: expected text, found 5"),
        ({"extra": [[1e999]]}, "extra[0][0]: expected a finite number"),
    ],
    "skipped[0].": [
        ({"reason": None}, "reason: expected text, found null"),
        ({"bytes": -1}, "bytes: expected a whole number of at least 0, found -1"),
        ({"ranks": "2"}, "ranks: expected a whole number, found "),
        ({"device": ["gpu"]}, "device: expected text, found "),
        ({"in_place": 0}, "in_place: expected true or false, found 0"),
    ],
    "context.": [
        ({"libraries": []}, "libraries: expected an object, found []"),
        ({"libraries": {"openssl": 7}}, "libraries.openssl: expected text, found 7"),
        ({"libraries": {"\ud800": "1"}}, "libraries.\\ud800: has a character that cannot be"),
        ({"gpus": 5}, "gpus: expected a list, found 5"),
        ({"gpus": [5]}, "gpus[0]: expected an object, found 5"),
        ({"gpus": [{"id": 5}]}, "gpus[0].id: expected text, found 5"),
        ({"omp": 5}, "omp: expected an object, found 5"),
        ({"drivers": "x"}, "drivers: expected an object, found "),
        ({"features": [1]}, "features[0]: expected text, found 1"),
        ({"cores": True}, "cores: expected a whole number, found true"),
        ({"threads": 0}, "threads: expected a whole number of at least 1, found 0"),
        ({"threads": 10**15}, "threads: expected a whole number of at most 2147483647"),
        ({"numa": -1}, "numa: expected a whole number of at least 0, found -1"),
        ({"clock_hz": 0}, "clock_hz: expected a number of at least 1e+06, found 0"),
        ({"clock_hz": 1e308}, "clock_hz: expected a number of at most 1e+12"),
        ({"cpu": {}}, "cpu: expected text, found {}"),
        ({"dirty": "no"}, "dirty: expected true or false, found "),
        ({"host": "a\x1b[2J"}, "host: has a character that cannot be printed, \\x1b"),
        ({"omp": {"version": 1e999}}, "omp.version: expected a finite number"),
    ],
}


@pytest.mark.parametrize(
    ("where", "change", "words"),
    [(where, *case) for where, cases in WRONG_FIELDS.items() for case in cases],
)
def test_errors_name_the_wrong_field(where, change, words):
    with pytest.raises(LabError) as error:
        if where == "context.":
            loaded(row(), **change)
        elif where == "skipped[0].":
            loaded(skipped=[row() | {"reason": "why"} | change])
        else:
            loaded(row(), row() | change)
    assert str(error.value).startswith(f"synthetic: {where}")
    assert words in str(error.value)
    assert str(error.value).endswith("; give a file that `paraes bench --json FILE` wrote")
    str(error.value).encode()


def test_a_skipped_row_may_have_no_bytes_and_unknown_axes():
    unknown = dict.fromkeys(bench.AXES) | {"reason": "why"}
    read = loaded(skipped=[row(bytes=0, device="gpu") | {"reason": "no GPU"}, unknown])
    assert [skip.axes["bytes"] for skip in read.skipped] == [0, None]


def test_a_context_may_be_unknown_entirely():
    assert len(loaded(row(), **dict.fromkeys(CONTEXT)).rows) == 1
    assert len(bench.from_object(report(row()) | {"context": {}}, "x").rows) == 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"results": [[]]}, "results[0]: expected an object, found []"),
        ({"skipped": {}}, "skipped: expected a list, found {}"),
        ({"skipped": [5]}, "skipped[0]: expected an object, found 5"),
        ({"context": []}, "context: expected an object, found []"),
        ({"seed": 10**400}, "seed: expected a number below 2⁶⁴, found 1000"),
    ],
)
def test_errors_name_the_wrong_part_of_a_report(value, words):
    with pytest.raises(LabError) as error:
        bench.from_object(report() | value, "x")
    assert str(error.value).startswith(f"x: {words}")


def test_errors_name_the_run_of_a_file_with_several(tmp_path):
    whole = {"schema": 1, "runs": [report(row()), report(row(), row(outliers=5))]}
    with pytest.raises(LabError, match=r"^x: runs\[1\]\.results\[1\]\.outliers: expected a list"):
        bench.from_object(whole, "x")
    whole["runs"][1] = report() | {"schema": 2}
    with pytest.raises(LabError, match=r"^x: runs\[1\]: schema 2 is not supported"):
        bench.from_object(whole, "x")
    with pytest.raises(LabError, match=r"^x: runs: expected at least one report, found \[\]"):
        bench.from_object({"schema": 1, "runs": []}, "x")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ('{"schema": 1, "results": [{"bytes"', "ends in the middle of its JSON ("),
        ("[" * 100_000, "is nested more than 32 deep"),
        ('{"schema": 1, "x": ' + "[" * 40 + "]" * 40 + "}", "x[0][0]"),
        ('{"schema": 1, "schema": 1}', 'has the member "schema" twice'),
        ('{"schema": 1, "context": {"a": {"b": 1, "b": 1}}}', 'context.a: has the member "b" twi'),
        ('{"schema": 1, "x": 1e999}', "x: expected a finite number, found Infinity"),
        ('{"schema": 1, "x": 1' + "0" * 5000 + "}", "x: expected a finite number"),
        ('{"schema": 1, "x": "\\ud800"}', "x: has a character that cannot be printed, \\ud800"),
        ('{"schema": -Infinity}', "is not JSON (-Infinity is not a JSON number)"),
        ('{"schema": NaN}', "is not JSON (NaN is not a JSON number)"),
    ],
)
def test_errors_name_what_is_wrong_with_the_text_of_a_file(tmp_path, text, words):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(LabError) as error:
        bench.load(path)
    assert str(error.value).startswith(f"{path}: {words}")
    assert str(error.value).endswith("; give a file that `paraes bench --json FILE` wrote")


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = written(tmp_path / "r.json", row())
    text = path.read_text()
    for end in range(0, len(text), 37):
        path.write_text(text[:end])
        with pytest.raises(LabError, match="is empty|ends in the middle|is not JSON"):
            bench.load(path)


def test_folders_and_devices_are_named_as_such(tmp_path):
    with pytest.raises(LabError, match="is a folder; give a file"):
        bench.load(tmp_path)
    for device in ("/dev/null", "/dev/zero"):
        with pytest.raises(LabError, match="^/dev/[a-z]+: is a device; give a file"):
            bench.load(device)


def test_a_pipe_is_read_and_without_a_writer_it_is_empty(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(LabError, match="is empty"):
        bench.load(pipe)
    text = json.dumps(report(*[row()] * 100)).encode()
    reader, writer = os.pipe()
    assert len(text) > 65536  # more than a pipe holds, so the reader has to wait
    feed = threading.Thread(target=lambda: os.fdopen(writer, "wb").write(text))
    feed.start()
    assert len(bench.load(f"/dev/fd/{reader}").rows) == 100
    feed.join()
    os.close(reader)


def test_names_of_files_are_shown_in_one_line(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\n\xff.json"))
    with pytest.raises(LabError, match=r"/a\\n\\udcff\.json: cannot read: No such file"):
        bench.load(path)
    written(path, row())
    assert bench.load(path).sources == [rf"{tmp_path}/a\n\udcff.json"]


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = written(tmp_path / "r.json", row())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(bench.load(path).rows) == 1


# Results of bench/comparison have another form; its own test reads them.
RECORDED = [path for path in sorted(RESULTS.glob("*.json")) if "comparison" not in path.name]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_reports_are_read(path):
    assert bench.load(path).valid


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


@pytest.mark.parametrize("schema", [None, 0, 2, "1", True])
def test_other_schemas_are_refused(schema):
    with pytest.raises(LabError, match="schema"):
        bench.from_object(report(row()) | {"schema": schema}, "x")


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


SIZES = {"64K": 65536, "1MiB": 1 << 20, "1MB": 10**6, "1.5K": 1536, "2 GiB": 2 << 30, "7": 7}


@pytest.mark.parametrize("text", SIZES)
def test_parse_size_reads_binary_and_decimal_units(text):
    assert units.parse_size(text) == SIZES[text]


@pytest.mark.parametrize(
    "text", ["", "K", "-1", "0", "1.3", "1Q", "1e3", "٣", "9" * 400, "8388608TiB"]
)
def test_parse_size_rejects_what_is_not_a_size(text):
    with pytest.raises(ValueError, match="size|bytes"):
        units.parse_size(text)


@given(st.floats(1e-12, 1e15))
def test_significant_rounds_to_four_digits(value):
    mantissa, _, power = units.significant(value).partition("·10")
    exponent = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    shown = float(mantissa) * 10.0 ** int(exponent or 0)
    assert shown == pytest.approx(value, rel=5.1e-4)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5e-324, "4.941·10⁻³²⁴"),
        (9.99996e-7, "1·10⁻⁶"),
        (999999999.9, "1·10⁹"),
        (-0.25, "−0.25"),
        (1234.5, "1234"),
        (1e9, "1·10⁹"),
        (123456789.0, "123500000"),
    ],
)
def test_significant_examples(value, text):
    assert units.significant(value) == text
