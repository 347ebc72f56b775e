"""Reports of bench JSON, from synthetic rows with known answers."""

import json

import pytest
from synthetic import loaded, row, table

from paraes.lab import analysis, throughput
from paraes.lab.analysis.rows import absent_devices
from paraes.lab.analysis.throughput import throughput_figures
from paraes.lab.document import Bullets, Estimate, Missing
from paraes.lab.errors import LabError
from paraes.lab.statistics import Interval

COPY = {"kernel": None, "mode": None, "key_bits": None, "direction": None, "key_expansion": None}


MANY = {"mode": "gcm", "messages": 1024, "keys": "each"}


@pytest.mark.parametrize(
    ("axes", "others"),
    [
        ({}, [{"direction": "decrypt"}, {"threads": 2}]),
        (MANY, [{"keys": "one"}, {"messages": 64}, {"messages": 1, "keys": None}]),
    ],
)
def test_rivals_are_compared_on_the_same_job_threads_messages_and_keys_only(axes, others):
    rival = {"kernel": None, "rival": "openssl-evp"}
    same = (row(ns=1000.0, **axes), row(ns=3000.0, **axes, **rival))
    rep = loaded(*same, *[row(ns=10.0, **axes | other, **rival) for other in others])
    (line,) = table(rep, "rivals").rows
    assert (line[4].value, line[5]) == (pytest.approx(3.0), "faster")
    assert ("messages of 1 KiB, a key each" in line[2]) == bool(axes)


def test_throughput_by_size_has_a_figure_for_each_size_of_messages_and_number_of_keys():
    sizes = (1 << 16, 1 << 20)
    rep = loaded(
        *[row(ns=1.0 * n, mode="gcm", bytes=n) for n in sizes],
        *[
            row(ns=ns * n, mode="gcm", bytes=n, messages=n // message, keys=keys)
            for n in sizes
            for ns, message, keys in (
                (2.0, 1024, "one"),
                (3.0, 1024, "each"),
                (4.0, 4096, "each"),
                (5.0, 4096, "once"),
            )
        ],
    )
    figures = throughput_figures(rep.valid)
    assert [f.title.partition("encryption")[2] for f in figures] == [
        "",
        ", messages of 1 KiB, one key",
        ", messages of 1 KiB, a key each",
        ", messages of 4 KiB, a key each",
        ", messages of 4 KiB, keys used once",
    ]
    for figure in figures:
        (series,) = figure.series
        assert len(series.x) == 2


def test_throughput_figure_of_single_messages_leaves_out_rows_of_many():
    rep = loaded(
        row(ns=2000.0, **MANY), row(ns=1000.0, mode="gcm"), row(ns=3000.0, mode="gcm", bytes=4096)
    )
    figure = throughput.figure(rep, mode="gcm")
    assert figure.series[0].y[-1] == pytest.approx((1 << 20) / 1000e-9 / 1e6)


def test_wrong_rows_are_shown_as_wrong_and_not_compared():
    rep = loaded(
        row(ns=1000.0),
        row(ns=1.0, kernel="broken", verified=False),
        row(samples_ns=[], kernel="failed", verified=False),
        row(ns=3000.0, kernel=None, rival="openssl-evp"),
    )
    rows = table(rep, "rows").rows
    assert [line[-1] for line in rows] == ["yes", "WRONG", "WRONG", "yes"]
    assert isinstance(rows[2][4], Missing)
    assert all("broken" not in str(line[0]) for line in table(rep, "rivals").rows)


def test_crossovers_with_and_without_transfers_are_those_of_the_formulas():
    gpu = {"device": "cuda:0", "threads": 0, "mode": "gcm"}
    rows = []
    for n in (1 << k for k in range(10, 26, 2)):
        rows.append(row(ns=1000 + 10 * n, bytes=n, mode="gcm"))
        rows.append(row(ns=20000 + 0.1 * n, bytes=n, cache=None, **gpu))
        rows.append(row(ns=100000 + n, bytes=n, scope="transfer", **gpu))
        # Many messages on the CPU are a different job.
        rows.append(row(ns=1.0 * n, bytes=n, mode="gcm", messages=n // 1024, keys="one"))
    found = {line[1]: line[4] for line in table(loaded(*rows), "crossover").rows}
    assert found["kernel only"].value == pytest.approx(1919, rel=0.06)
    assert found["with transfers"].value == pytest.approx(11000, rel=0.05)


def test_phase_shares_and_their_sum_over_the_median():
    gpu = {"device": "cuda:0", "threads": 0, "scope": "transfer"}
    kernel_alone = row(timeline={"kernel": 1.0})
    for names, axes, shares in (
        (("host_to_device", "device_to_host"), gpu, [25, 50, 25]),
        (("scatter", "gather"), {"ranks": 2, "distribution": "scatter"}, [50, 25, 25]),
    ):
        phases = {"kernel": 200.0} | dict.fromkeys(names, 100.0)
        rep = loaded(row(ns=500.0, timeline=phases, **axes), kernel_alone)
        (line,) = table(rep, "phases").rows
        assert line[3:] == pytest.approx([*shares, 80.0])


def test_times_of_phases_have_intervals_where_there_are_samples():
    copy = [30.0, 10.0, 20.0, 50.0, 40.0, 60.0]
    axes = {"device": "cuda:0", "threads": 0, "scope": "transfer"}
    old = row(ns=500.0, kernel="bitslice", timeline={"kernel": 7.0, "host_to_device": 9.0}, **axes)
    new = row(ns=500.0, phases={"kernel": [5.0] * 6, "host_to_device": copy}, **axes)
    times = table(loaded(new, old), "phases-times").rows
    # With 6 samples only the whole range covers 95 %.
    assert times[0][3] == Estimate(35.0, Interval(10.0, 60.0, pytest.approx(1 - 2 / 64)))
    assert times[0][4].interval.low == times[0][4].value == 5.0
    assert times[1][3:] == [9.0, 7.0]
    assert "phases-times" not in [t.name for t in analysis.document(loaded(old)).tables()]


def absent(device="cuda:0", **axes):
    """Return the skipped row that the bench lists for an absent device."""
    skip = {k: None for k in row()} | {"threads": 0, "ranks": 1, "bytes": 0, "messages": 1}
    return skip | {"device": device, "reason": "no driver"} | axes


def test_an_absent_device_is_named_once_with_the_reason():
    rows = (row(bytes=1024, energy_joules=1.0), row(bytes=4096), row(bytes=1024, scope="file"))
    skipped = tuple(absent(scope=s) for s in ("memory", "transfer", "memory"))
    rep = loaded(*rows, skipped=skipped)
    document = analysis.document(rep)
    assert document.sections[0].blocks[-1] == Bullets(["No rows of cuda:0: no driver."])
    for t in document.tables():
        assert t.name == "skipped" or "cuda:0" not in str(t.texts()), t.name
    # Counted once for each scope, however many runs of the bench listed it.
    assert table(rep, "skipped").rows == [["no driver", 2, "cuda:0 memory; cuda:0 transfer"]]


def test_a_device_with_rows_in_one_scope_is_not_absent():
    there = row(device="cuda:0", threads=0, scope="transfer")
    skipped = (absent(scope="memory"), absent("cpu", scope="transfer"))
    rep = loaded(there, skipped=skipped)
    assert absent_devices(rep) == []


def test_port_limits_are_roofs_but_neither_rivals_nor_lines_of_figures():
    ports = {"rival": "ports-aesni", "kernel": None}
    rep = loaded(
        row(kernel="aesni", ns=4000.0),
        row(kernel="aesni", ns=400.0, bytes=1024),
        row(ns=1000.0, **ports),
        row(ns=10.0, bytes=1024, threads=2, **ports),
    )
    found = table(rep, "roofs").rows
    of_ports = [line[6] for line in found[:3]]
    assert [cell.value for cell in of_ports[:2]] == pytest.approx([25.0, 100 * 1000 / 1024 / 400])
    assert of_ports[2] == 100.0
    names = [t.name for t in analysis.document(rep).tables()]
    assert "rivals" not in names
    assert [line[0] for line in table(rep, "throughput-1").rows] == ["aesni · 1 thread"]
    assert [s.name for s in throughput.figure(rep).series] == ["aesni"]


def test_roofs_have_percent_of_the_copy_and_cycles_or_a_reason():
    rep = loaded(row(ns=2000.0, bytes=1000), row(ns=1000.0, bytes=1000, rival="memcpy", **COPY))
    line = table(rep, "roofs").rows[0]
    assert line[4].value == pytest.approx(50.0)
    assert line[4].interval.low < 50.0 < line[4].interval.high
    assert isinstance(line[5], Missing) and "clock" in line[5].reason
    assert table(rep, "roofs", clock_hz=1e9).rows[0][5].value == pytest.approx(2.0)


def test_energy_is_tabulated_or_its_absence_explained():
    sections = analysis.sections(loaded(row(energy_reason="no powercap here")))
    text = json.dumps([getattr(b, "items", "") for s in sections for b in s.blocks], default=str)
    assert "no powercap here" in text
    counted = table(loaded(row(energy_joules=3.0, bytes=10**9)), "energy")
    assert counted.rows[0][4] == pytest.approx(3.0)


def test_a_report_without_rows_still_has_sections():
    assert analysis.sections(loaded())


def test_throughput_figure_has_kernels_rivals_devices_and_whole_programs():
    file_axes = {"scope": "file", "bytes": 1 << 26}
    rep = loaded(
        row(mode="ctr", kernel="aesni", bytes=1024),
        row(mode="ctr", kernel="aesni", bytes=4096),
        row(mode="gcm", kernel="never", bytes=1024),
        row(mode="ctr", kernel="never", direction="decrypt"),
        row(mode="ctr", kernel=None, rival="openssl-evp", bytes=1024),
        row(mode="ctr", kernel="bitslice", device="cuda:0", threads=0, bytes=1024),
        row(
            mode="ctr", kernel="bitslice", device="cuda:0", threads=0, bytes=1024, scope="transfer"
        ),
        row(mode="gcm", key_bits=256, kernel="vaes512", format="paraes", threads=2, **file_axes),
        row(**{**COPY, **file_axes}, rival="age") | {"direction": "encrypt"},
        row(**{**COPY, **file_axes}, rival="cp"),  # copies are roofs, and not drawn
        row(**{**COPY, **file_axes}, rival="copy-threads"),
        row(**{**COPY, **file_axes}, rival="copy-threads", threads=2),
    )
    figure = throughput.figure(rep)
    names = [s.name for s in figure.series]
    assert set(names) == {
        "aesni",
        "(openssl-evp)",
        "cuda:0 bitslice, in its memory",
        "cuda:0 bitslice, with transfers",
        "paraes encrypt, paraes format, 2 threads, file to file",
        "(age), file to file",
    }
    aesni = next(s for s in figure.series if s.name == "aesni")
    assert aesni.y == pytest.approx([1024.0, 4096.0])  # at 1000 ns each, MB/s equals bytes


def test_throughput_figure_without_rows_names_the_flags_that_choose_them():
    with pytest.raises(LabError, match="--mode"):
        throughput.figure(loaded(row(direction="decrypt")))


def test_files_figure_has_whole_programs_and_copies_as_roofs():
    axes = {"scope": "file", "bytes": 1 << 26}
    ours = {**axes, "mode": "gcm", "key_bits": 256, "kernel": "vaes512", "format": "paraes"}
    theirs = {**axes, "kernel": None, "format": "raw", "mode": "ctr"}
    rep = loaded(
        row(mode="ctr", kernel="never", bytes=1024),
        row(**ours, direction="decrypt", threads=4),
        row(**{**ours, "bytes": 1 << 20}, threads=2, ns=1e6),
        row(**ours, threads=2, ns=1e7),
        row(**ours, threads=1, ns=2e7),
        row(**{**ours, "format": "c2sp"}, threads=1, ns=3e7),
        row(**theirs, rival="openssl-enc", ns=4e7),
        row(**{**COPY, **axes}, rival="age", ns=5e7) | {"direction": "encrypt"},
        row(**{**COPY, **axes}, rival="copy-threads", threads=2, ns=8e6),
        row(**{**COPY, **axes}, rival="cp", ns=9e6),
    )
    figure = throughput.files_figure(rep)
    assert [(s.name, s.origin) for s in figure.series] == [
        ("copy, 2 threads", "roof"),
        ("cp", "roof"),
        ("paraes, 2 threads", "measured"),
        ("paraes, 1 thread", "measured"),
        ("paraes, c2sp, 1 thread", "measured"),
        ("openssl enc", "measured"),
        ("age", "measured"),
    ]
    both = next(s for s in figure.series if s.name == "paraes, 2 threads")
    assert both.x == [1 << 20, 1 << 26]
    assert both.y == pytest.approx([(1 << 20) / 1e3, (1 << 26) / 1e4])  # 10⁶ bytes a second
    names = [s.name for s in throughput.files_figure(rep, "decrypt").series]
    assert "paraes, 4 threads" in names and "paraes, 2 threads" not in names


def test_files_figure_without_rows_says_what_to_measure():
    with pytest.raises(LabError, match="bench --scope file"):
        throughput.files_figure(loaded(row()))


def test_every_interval_contains_its_value():
    for t in analysis.document(loaded(*[row(ns=1e6 / p, threads=p) for p in (1, 2, 4)])).tables():
        for line in t.rows:
            for cell in line:
                if isinstance(cell, Estimate) and cell.interval:
                    assert cell.interval.low <= cell.value * (1 + 1e-12)
                    assert cell.value <= cell.interval.high * (1 + 1e-12)


def test_crossover_compares_with_the_fastest_and_the_same_cpu_kernel():
    sizes = (1024, 1 << 20)
    gpu = {"device": "cuda:0", "threads": 0, "kernel": "ttable-simple"}
    rows = [row(ns=5e4 + n / 9, bytes=n, **gpu) for n in sizes]
    for name, k in (("aesni", 1.0), ("ttable", 9.0), ("bitslice", 3.0)):
        rows += [row(ns=k * n, bytes=n, kernel=name) for n in sizes]
    lines = table(loaded(*rows), "crossover").rows
    assert [line[2] for line in lines] == ["aesni · 1 thread", "ttable · 1 thread"]
