"""Phase shares, cycles, roofs and energy: known values, and reasons where there is none."""

import pytest
from synthetic import CONTEXT, loaded, processes, row, table

from paraes.lab import derived
from paraes.lab.configurations import group
from paraes.lab.derived import (
    clock_of,
    counted,
    cycles_per_byte,
    joules_per_gigabyte,
    percent_of_roof,
    phase_shares,
)
from paraes.lab.document import Missing

NO_CIPHER = {"kernel": None, "mode": None, "key_bits": None, "direction": None}
COUNTS = {"cycles": 2000.0, "instructions": 6000.0, "cache_misses": 8.0}


def test_cycles_that_the_processor_counted_win_over_the_clock():
    r = loaded(row(ns=1000.0, bytes=4000, threads=2, counters=COUNTS)).rows[0]
    assert cycles_per_byte(r, clock_of({}, 4e9)).value == pytest.approx(0.5)
    assert counted(r, "instructions").value == 6000
    without = loaded(row(ns=1000.0, bytes=4000)).rows[0]
    assert cycles_per_byte(without, clock_of({}, 4e9)).value == pytest.approx(1.0)
    assert "were not read" in counted(without, "cycles").why


def test_report_has_what_the_processor_counted_or_why_not():
    rows = (row(bytes=4000, counters=COUNTS), row(bytes=64, counters={"cycles": 0.0}))
    roofs = table(loaded(*rows), "roofs")
    names = [c.title for c in roofs.columns]
    lines = [dict(zip(names, line, strict=True)) for line in roofs.rows]
    assert lines[0]["cycles per byte, 95 %"] == pytest.approx(0.5)
    assert lines[0]["instructions per byte"] == pytest.approx(1.5)
    assert lines[0]["instructions per cycle"] == pytest.approx(3.0)
    assert lines[0]["cache misses per KiB"] == pytest.approx(8 / 4000 * 1024)
    assert isinstance(lines[1]["instructions per byte"], Missing)
    not_allowed = {"counters": None, "counters_reason": "the system does not allow it"}
    none = table(loaded(row() | not_allowed), "roofs")
    assert "instructions per byte" not in [c.title for c in none.columns]
    assert any("the system does not allow it" in note for note in none.notes)


def test_counts_of_a_configuration_are_medians_over_its_processes():
    counts = [{"cycles": c, "instructions": 1.0} for c in (10.0, 30.0, 20.0)]
    report = processes(*[[row(counters=c)] for c in counts])
    assert group(report).rows[0].counters == {"cycles": 20.0, "instructions": 1.0}
    some = processes([row(counters=counts[0])], [row()])
    assert group(some).rows[0].counters == {}


def test_phase_shares_are_of_the_sum_of_measured_phases():
    phases = {"kernel": 300.0, "host_to_device": 100.0, "device_to_host": 100.0}
    r = loaded(row(timeline=phases)).rows[0]
    assert phase_shares(r) == pytest.approx({name: ns / 500 for name, ns in phases.items()})
    assert phase_shares(loaded(row()).rows[0]) == {}


def test_cycles_per_byte_need_a_clock():
    r = loaded(row(ns=1000.0, bytes=4000)).rows[0]
    unknown = cycles_per_byte(r, clock_of(CONTEXT))
    assert unknown.value is None and "clock" in unknown.why
    assert cycles_per_byte(r, clock_of(CONTEXT, 4e9)).value == pytest.approx(1.0)
    assert cycles_per_byte(r, clock_of(CONTEXT | {"clock_hz": 2e9})).value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("axes", "word"),
    [
        ({"device": "cuda:0", "threads": 0}, "GPU"),
        ({"threads": 2}, "thread"),
        ({"scope": "file"}, "more than computing"),
    ],
)
def test_cycles_per_byte_have_a_reason_where_they_are_undefined(axes, word):
    known = cycles_per_byte(loaded(row(**axes)).rows[0], clock_of({}, 4e9))
    assert known.value is None and word in known.why


def test_percent_of_roof_is_of_the_copy_of_equal_size_and_threads():
    copy = {"rival": "memcpy", **NO_CIPHER}
    rows = loaded(
        row(ns=2000.0),
        row(ns=500.0, **copy),
        row(ns=100.0, threads=2, **copy),
        row(ns=100.0, bytes=64, **copy),
    ).rows
    assert percent_of_roof(rows[0], rows).value == pytest.approx(25.0)
    none = percent_of_roof(loaded(row(bytes=32)).rows[0], rows)
    assert none.value is None and "memcpy" in none.why


def test_roof_of_a_file_is_copy_threads_with_as_many_threads_or_else_cp():
    copy = {"scope": "file", **NO_CIPHER}
    ours = [
        row(ns=2000.0, scope="file", threads=threads, direction=direction)
        for threads in (1, 2)
        for direction in ("encrypt", "decrypt")
    ]
    cp = row(ns=1000.0, rival="cp", **copy)
    copies = [
        row(ns=500.0 / threads, rival="copy-threads", threads=threads, **copy) for threads in (1, 2)
    ]

    def percents(*rows):
        rows = loaded(*rows).rows
        return [percent_of_roof(r, rows) for r in rows[: len(ours)]]

    with_both = percents(*ours, cp, *copies)
    assert [known.value for known in with_both] == pytest.approx([25.0, 25.0, 12.5, 12.5])
    assert {known.why for known in with_both} == {"(copy-threads)"}
    # Results from before copy-threads have cp, and a copy with other threads is no roof.
    assert [k.value for k in percents(*ours, cp)] == pytest.approx([50.0] * 4)
    one_thread = percents(*ours, cp, copies[0])
    assert [known.why for known in one_thread] == ["(copy-threads)"] * 2 + ["(cp)"] * 2
    other_size = [copies[0] | {"bytes": 64}, copies[1] | {"bytes": 64}]
    none = percents(*ours, *other_size)[0]
    assert none.value is None and "--rivals copy-threads" in none.why


def test_percent_of_roof_and_cycles_have_the_interval_of_their_samples():
    copy = {"rival": "memcpy", **NO_CIPHER}
    ours = row(samples_ns=[2000.0] * 5 + [2500.0] * 4)
    rows = loaded(ours, row(samples_ns=[500.0] * 9, **copy)).rows
    known = percent_of_roof(rows[0], rows)
    assert known.value == pytest.approx(25.0)
    assert (known.interval.low, known.interval.high) == pytest.approx((20.0, 25.0))
    known = cycles_per_byte(rows[0], clock_of({}, 1e9 * rows[0].bytes))
    assert (known.value, known.interval.low, known.interval.high) == (2000, 2000, 2500)


def test_an_overlapped_copy_is_no_roof_of_a_row_without_overlap():
    copy = {"rival": "pinned-copy", **NO_CIPHER}
    axes = {"device": "cuda:0", "threads": 0, "scope": "transfer"}
    rows = loaded(
        row(ns=2e3, **axes), row(ns=1e3, overlap=True, **copy, **axes), row(ns=5e2, **copy, **axes)
    ).rows
    assert percent_of_roof(rows[0], rows).value == pytest.approx(25.0)


PORTS = {"kernel": None, "key_expansion": None}


def test_port_limit_is_of_the_same_kernel_key_size_threads_and_ranks():
    rows = loaded(
        row(ns=2000.0, kernel="vaes256", mode="gcm", direction="decrypt"),
        row(ns=100.0, bytes=1 << 17, rival="ports-vaes256", **PORTS),  # 1.25 times as fast
        row(ns=90.0, bytes=1 << 16, rival="ports-vaes256", **PORTS),
        row(ns=1.0, rival="ports-vaes512", **PORTS),
        row(ns=1.0, rival="ports-vaes256", threads=2, **PORTS),
        row(ns=1.0, rival="ports-vaes256", key_bits=256, **PORTS),
        row(ns=1.0, rival="ports-vaes256", ranks=2, **PORTS),
        # Two kernels on the same units share a limit.
        row(ns=2000.0, kernel="armv8-eor3"),
        row(ns=1000.0, kernel="armv8"),
        row(ns=500.0, rival="ports-armv8", **PORTS),
    ).rows
    shared = [derived.percent_of_ports(r, rows).value for r in rows[-3:-1]]
    assert shared == pytest.approx([25.0, 50.0])
    known = derived.percent_of_ports(rows[0], rows)
    assert (known.value, known.why) == (pytest.approx(100 * 100 * 8 / 2000), "(ports-vaes256)")
    assert derived.percent_of_ports(rows[1], rows).value == 100.0
    assert percent_of_roof(rows[1], rows).why == "it touches no memory"


def test_port_limit_of_gcm_rows_is_that_of_gcm_where_there_is_one():
    gcm = {"mode": "gcm", **PORTS}
    own = [
        row(ns=2000.0, kernel="vaes256", mode="gcm", direction="decrypt"),
        row(ns=2000.0, kernel="vaes256", mode="ctr"),
        row(ns=2000.0, kernel="armv8-eor3", mode="gcm"),
    ]
    limits = [
        row(ns=100.0, mode="ecb", rival="ports-vaes256", **PORTS),
        row(ns=400.0, rival="ports-gcm-vaes256", **gcm),
        row(ns=1.0, rival="ports-gcm-vaes512", **gcm),
        row(ns=1.0, rival="ports-gcm-vaes256", threads=2, **gcm),
        row(ns=1.0, rival="ports-gcm-vaes256", key_bits=256, **gcm),
        row(ns=200.0, mode="ecb", rival="ports-armv8", **PORTS),
        row(ns=800.0, rival="ports-gcm-armv8", **gcm),
    ]
    rows = loaded(*own, *limits).rows
    known = [derived.percent_of_ports(r, rows) for r in rows[:3]]
    assert [k.value for k in known] == pytest.approx([20.0, 5.0, 40.0])
    of = ["(ports-gcm-vaes256)", "(ports-vaes256)", "(ports-gcm-armv8)"]
    assert [k.why for k in known] == of
    assert derived.percent_of_ports(rows[4], rows).value == 100.0
    assert percent_of_roof(rows[4], rows).why == "it touches no memory"


ONLY_THESE = "only the kernels aesni, vaes256, vaes512, armv8, armv8-eor3 have"


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"kernel": "aesni"}, "add --rivals ports-aesni"),
        ({"kernel": "armv8-eor3"}, "add --rivals ports-armv8"),
        ({"kernel": "armv8-eor3", "mode": "gcm"}, "add --rivals ports-gcm-armv8"),
        ({"kernel": "vaes256", "mode": "gcm"}, "add --rivals ports-gcm-vaes256"),
        ({"kernel": "ttable"}, ONLY_THESE),
        ({"kernel": None, "rival": "openssl-evp"}, ONLY_THESE),
        ({"kernel": "vaes512", "scope": "file"}, "more than computing"),
        ({"kernel": "vaes512", "threads": 2}, "add --rivals ports-vaes512"),
        ({"kernel": "aesni", "device": "cuda:0", "threads": 0}, "only the kernels aesni"),
    ],
)
def test_a_missing_port_limit_has_a_reason(axes, words):
    rows = loaded(row(**axes), row(ns=1.0, rival="ports-vaes512", **PORTS)).rows
    known = derived.percent_of_ports(rows[0], rows)
    assert known.value is None and words in known.why


def test_phase_times_are_added_sample_by_sample():
    phases = {"host_to_device": [1.0, 9.0, 2.0], "device_to_host": [3.0, 1.0, 9.0]}
    r = loaded(row(phases=phases | {"key_expansion": [5.0]}, timeline={"read": 7.0})).rows[0]
    both = derived.phase_times(r, "host_to_device", "device_to_host")
    assert list(both) == [4.0, 10.0, 11.0]
    assert derived.phase_times(r, "key_expansion", "host_to_device") == 5.0 + 2.0
    assert derived.phase_times(r, "read", "host_to_device") == 7.0 + 2.0
    assert derived.phase_times(r, "write", "host_to_device") is None


def test_energy_per_gigabyte_is_counted_or_has_a_reason():
    counted, none = loaded(
        row(energy_joules=2.0, bytes=10**9), row(energy_reason="no powercap")
    ).rows
    assert joules_per_gigabyte(counted).value == pytest.approx(2.0)
    assert joules_per_gigabyte(none) == derived.Known(None, "no powercap")
