"""The verdicts on the claims of four papers, on machines whose times come from formulas."""

from __future__ import annotations

from functools import cache

import pytest
from simulated import Change, found, middle, phase_slower, simulate, slower, tables

from paraes.lab.document import Estimate, Missing
from paraes.lab.papers import claims
from paraes.lab.papers.claims import AGREES, judge
from paraes.lab.papers.data import load_paper
from paraes.lab.statistics import Interval

KB, MB = 1 << 10, 1 << 20


@pytest.fixture(autouse=True)
def files_from_disk(monkeypatch):
    """Judge the claims on loading too, as if the bench emptied the page cache."""
    monkeypatch.setattr(claims, "FILES_FROM_DISK", True)


COPY_PHASES = ("host_to_device", "device_to_host")
ON_GPU = {"device": "cuda:0", "scope": "transfer"}
KERNEL = {"device": "cuda:0", "scope": "memory"}


def later(extra_ns: float, **axes) -> Change:
    """Make rows with these axes take `extra_ns` more."""

    def change(row: dict, process: int) -> float:
        fits = all(row[k] == v for k, v in axes.items())
        return 1 + extra_ns / middle(row) if fits else 1.0

    return change


def copies(fixed_ns: float, byte_ns: float) -> Change:
    """Set what both copies take together, as a phase."""

    def change(row: dict, process: int) -> float:
        if row["scope"] == "transfer":
            for phase in COPY_PHASES:
                row["timeline_ns"][phase] = (fixed_ns + byte_ns * row["bytes"]) / 2
        return 1.0

    return change


# Worlds in which every claim of a paper agrees.
AGREEING: dict[str, tuple[Change, ...]] = {
    # The GPU with copies takes 2.7 ms + 1 ns per byte, and the CPU decrypts at 1/1.4 of its rate.
    "moreira-2026": (
        later(2.6e6, **ON_GPU),
        slower(0.7, device="cpu", direction="decrypt"),
    ),
    # Eight threads take as long as four, and the GPU is faster in total from 30 MB.
    "tybusch-2014": (slower(0.325 / 0.2125, threads=8), copies(7.5e6, 0.3)),
    # 1000 + 2 n = 100000 + n at 99000 bytes, and at fewer with longer keys.
    "luken-2009": (),
}

# Paper, claim, and what makes it differ in the world where it agrees.
DIFFERING: list[tuple[str, str, Change]] = [
    # 1000 + 10 n = 100000 + n at 11000 bytes, which is below the paper's sizes.
    ("moreira-2026", "crossover-encrypt", later(-2.6e6, **ON_GPU, direction="encrypt")),
    ("moreira-2026", "crossover-decrypt", later(-2.6e6, **ON_GPU, direction="decrypt")),
    ("moreira-2026", "speedup-encrypt", slower(20, **ON_GPU, direction="encrypt")),
    ("moreira-2026", "speedup-decrypt", slower(40, **ON_GPU, direction="decrypt")),
    ("moreira-2026", "cpu-rate", slower(2, device="cpu", bytes=100 * KB)),
    ("moreira-2026", "decrypt-cpu", slower(1 / 0.7, device="cpu", direction="decrypt")),
    ("moreira-2026", "decrypt-gpu", slower(1.5, **ON_GPU, direction="decrypt")),
    ("moreira-2026", "gpu-rate", slower(2, **ON_GPU, direction="decrypt", bytes=100 * MB)),
    ("moreira-2026", "copies-small", phase_slower(10, "kernel", **ON_GPU, bytes=KB)),
    ("tybusch-2014", "four-threads", slower(4, threads=4, scope="memory")),
    ("tybusch-2014", "scales", slower(1.1, threads=4, scope="memory")),
    ("tybusch-2014", "more-threads", slower(0.9, threads=8, bytes=100 * MB)),
    ("tybusch-2014", "gpu-processing", slower(20, **KERNEL)),
    ("tybusch-2014", "copies-1mb", phase_slower(3, *COPY_PHASES, **ON_GPU, bytes=MB)),
    ("tybusch-2014", "copies-small", phase_slower(1000, "kernel", **ON_GPU, bytes=KB)),
    ("tybusch-2014", "four-threads-total", slower(10, threads=4, scope="memory", bytes=10 * MB)),
    ("tybusch-2014", "gpu-total", phase_slower(10, *COPY_PHASES, **ON_GPU)),
    ("tybusch-2014", "crossover-total", copies(3e5, 0.3)),
    ("tybusch-2014", "loading", phase_slower(0.1, "read", scope="file")),
    ("tybusch-2014", "overhead", slower(20, **KERNEL)),
    ("luken-2009", "crossover-128", slower(20, device="cpu", key_bits=128)),
    ("luken-2009", "gpu-128", slower(5, **ON_GPU, key_bits=128)),
    ("luken-2009", "crossover-192", slower(20, device="cpu", key_bits=192)),
    ("luken-2009", "gpu-192", slower(5, **ON_GPU, key_bits=192)),
    ("luken-2009", "crossover-256", slower(20, device="cpu", key_bits=256)),
    ("luken-2009", "gpu-256", slower(5, **ON_GPU, key_bits=256)),
    ("luken-2009", "key-192", slower(1.2, device="cpu", key_bits=192)),
    ("luken-2009", "key-256", slower(1.2, device="cpu", key_bits=256)),
    ("luken-2009", "expansion", slower(0.9, **ON_GPU, key_expansion="device")),
]
PAPERS = list(AGREEING)
CLAIMS = [(paper, claim) for paper, claim, _ in DIFFERING]


@cache
def agreeing(paper: str, processes: int = 6) -> dict[str, dict[str, str]]:
    return found(simulate(paper, *AGREEING[paper], processes=processes), paper)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_is_tested_here(paper):
    claims = {claim["id"] for claim in load_paper(paper).raw["claims"]}
    assert claims == {claim for name, claim in CLAIMS if name == paper}


@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_claim_agrees(paper, claim):
    assert agreeing(paper)[claim]["verdict"] == "agrees", agreeing(paper)[claim]


@pytest.mark.parametrize(("paper", "claim", "change"), DIFFERING)
def test_claim_differs(paper, claim, change):
    line = found(simulate(paper, *AGREEING[paper], change), paper)[claim]
    assert line["verdict"] == "differs", line


@pytest.mark.parametrize(("paper", "claim"), CLAIMS)
def test_claim_is_undecided_with_too_few_processes(paper, claim):
    line = agreeing(paper, 5)[claim]
    assert line["verdict"] == "undecided" and "too few processes" in line["here"], line


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize(
    ("need", "machine", "reason"),
    [
        ("cpus", {"cores": 2}, "needs 4 CPUs"),
        ("gpu", {"gpu": None}, "needs a GPU"),
        ("gpu", {"gpu_is_cpu": True}, "needs a GPU, and cuda:0 is this machine's CPU"),
        ("disk", {}, "needs files on a disk"),
    ],
)
def test_claim_is_not_testable_without_what_it_needs(paper, need, machine, reason, monkeypatch):
    monkeypatch.setattr(claims, "FILES_FROM_DISK", need != "disk")
    lines = found(simulate(paper, *AGREEING[paper], **machine), paper)
    for claim in load_paper(paper).raw["claims"]:
        line = lines[claim["id"]]
        lacking = need in claim.get("needs", {})
        assert (line["verdict"] == "not testable here") == lacking, line
        assert (reason in line["here"]) == lacking, line


NEEDS = {
    "moreira-2026": {
        "gpu": {"crossover-encrypt", "crossover-decrypt", "speedup-encrypt", "speedup-decrypt"}
        | {"decrypt-gpu", "gpu-rate", "copies-small"}
    },
    "tybusch-2014": {
        "cpus": {"four-threads", "scales", "gpu-processing", "four-threads-total", "gpu-total"}
        | {"crossover-total", "loading"},
        "gpu": {"gpu-processing", "copies-1mb", "copies-small", "gpu-total", "crossover-total"}
        | {"overhead"},
        "disk": {"four-threads-total", "gpu-total", "crossover-total", "loading", "overhead"},
    },
    "luken-2009": {
        "gpu": {f"{name}-{bits}" for name in ("crossover", "gpu") for bits in (128, 192, 256)}
        | {"expansion"}
    },
}


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_need_what_they_are_about(paper):
    listed = load_paper(paper).raw["claims"]
    for need in ("cpus", "cpus_below", "gpu", "disk"):
        having = {claim["id"] for claim in listed if need in claim.get("needs", {})}
        assert having == NEEDS[paper].get(need, set()), need


def ratios(paper: str) -> dict[str, list[float]]:
    """Return the quantities of claims as the paper's own tables have them, where they do."""
    of = load_paper(paper).tables
    if paper == "moreira-2026":
        encrypt, decrypt = of["encrypt"], of["decrypt"]
        last = {d: {k: p.value for k, p in of[d].cells[-1].items()} for d in of}
        gpu = [t.number(s, "gpu_rate") / t.cells[-1]["gpu_rate"].value
               for t in (encrypt, decrypt) for s in (100 * MB, 500 * MB)]  # fmt: skip
        return {
            "speedup-encrypt": [last["encrypt"]["cpu_time"] / last["encrypt"]["gpu_time"]],
            "speedup-decrypt": [last["decrypt"]["cpu_time"] / last["decrypt"]["gpu_time"]],
            "cpu-rate": [
                p.value / last["encrypt"]["cpu_rate"] for p in encrypt.column("cpu_rate").values()
            ],
            "decrypt-cpu": [last["decrypt"]["cpu_rate"] / last["encrypt"]["cpu_rate"]],
            "decrypt-gpu": [last["decrypt"]["gpu_rate"] / last["encrypt"]["gpu_rate"]],
            "gpu-rate": gpu,
        }
    if paper == "tybusch-2014":
        size = 1000 * MB
        one, four, gpu = (of["processing"].number(size, k) for k in ("cpu1", "cpu4", "gpu"))
        load, moved = (of["transfer"].number(size, k) for k in ("load", "transfer"))
        total = of["total"]
        return {
            "four-threads": [one / four],
            "scales": [one / four / 4],
            "gpu-processing": [four / gpu],
            "copies-1mb": [of["transfer"].number(MB, "transfer") / 0.062],
            "copies-small": [of["transfer"].number(s, "transfer") / 0.0156 for s in (KB, MB)],
            "four-threads-total": [
                total.number(s, "cpu1") / total.number(s, "cpu4") for s in total.sizes[1:]
            ],
            "gpu-total": [total.number(size, "cpu4") / total.number(size, "gpu")],
            "loading": [load / four],
            "overhead": [(load + moved) / gpu],
        }
    times, size = of["times"], 100 * MB
    keys = {128: "16", 192: "24", 256: "32"}
    cpu = {bits: times.number(size, f"{key}-CPU") for bits, key in keys.items()}
    return {
        **{f"gpu-{b}": [cpu[b] / times.number(size, f"{k}-GPU CPU")] for b, k in keys.items()},
        "key-192": [cpu[192] / cpu[128]],
        "key-256": [cpu[256] / cpu[128]],
        "expansion": [
            times.number(s, f"{k}-GPU GPU") / times.number(s, f"{k}-GPU CPU")
            for s in times.sizes
            for k in keys.values()
        ],
    }


@pytest.mark.parametrize("paper", PAPERS)
def test_the_papers_own_numbers_keep_the_rules(paper):
    claims = {claim["id"]: claim for claim in load_paper(paper).raw["claims"]}
    for name, values in ratios(paper).items():
        rule = claims[name]["rule"]
        fit = [judge(rule, Interval(value, value)) == AGREES for value in values]
        if rule.get("each") == "most":
            assert sum(fit) > len(fit) / 2, name
        else:
            assert all(fit), (name, values)


def test_crossovers_of_rules_are_those_of_the_tables():
    for paper, cases in {
        "moreira-2026": [(f"crossover-{d}", d, "cpu_time", "gpu_time") for d in
                         ("encrypt", "decrypt")],
        "tybusch-2014": [("crossover-total", "total", "cpu4", "gpu")],
        "luken-2009": [(f"crossover-{b}", "times", f"{k}-CPU", f"{k}-GPU CPU")
                       for b, k in ((128, 16), (192, 24), (256, 32))],
    }.items():  # fmt: skip
        data = load_paper(paper)
        claims = {claim["id"]: claim for claim in data.raw["claims"]}
        for claim, name, cpu, gpu in cases:
            low, high = claims[claim]["rule"]["between"]
            table = data.tables[name]
            assert table.sizes.index(high) == table.sizes.index(low) + 1
            assert table.number(low, cpu) < table.number(low, gpu), claim
            assert table.number(high, cpu) > table.number(high, gpu), claim


def test_claims_are_judged_at_sizes_for_which_the_paper_has_them():
    """At smaller sizes the paper's own numbers are missing, or say the contrary."""
    for paper, size, stated in (
        ("moreira-2026", 100 * KB, ("speedup-encrypt", "speedup-decrypt", "gpu-rate")),
        ("tybusch-2014", MB, ("four-threads", "scales", "gpu-processing", "gpu-total", "loading")),
        ("tybusch-2014", 10 * MB, ("scales", "gpu-total", "loading", "crossover-total")),
        ("luken-2009", 10 * KB, ("gpu-128", "crossover-128")),
    ):
        lines = found(simulate(paper, *AGREEING[paper], max_size=size), paper)
        for claim in stated:
            assert lines[claim]["verdict"] == "not measured", (size, claim, lines[claim])


def test_findings_state_the_papers_number_at_the_size_that_was_measured():
    for paper, size, claim, about, theirs in (
        ("moreira-2026", 10 * MB, "speedup-encrypt", "10 MiB", "10.91×"),
        ("moreira-2026", None, "speedup-decrypt", "1 GiB", "51.00×"),
        ("tybusch-2014", 100 * MB, "four-threads", "100 MiB", "3.281×"),
        ("tybusch-2014", None, "scales", "1000 MiB", "0.8633"),
        ("tybusch-2014", 100 * MB, "loading", "100 MiB", "0.421 s / 0.281 s"),
        ("luken-2009", None, "gpu-256", "100 MiB", "3.747×"),
    ):
        line = found(simulate(paper, *AGREEING[paper], max_size=size), paper)[claim]
        assert line["about"].endswith(about) and line["paper"] == theirs, line


def test_an_interval_over_the_limit_is_undecided():
    def noise(row, process):
        return 1.0 if row["device"] == "cpu" else (9.0, 11.5)[process % 2]

    lines = found(simulate("moreira-2026", noise), "moreira-2026")
    assert lines["speedup-encrypt"]["verdict"] == "undecided"
    assert "too few" not in lines["speedup-encrypt"]["here"]


def test_luken_expansion_agrees_with_two_slower_cases_as_in_the_table():
    change = slower(0.9, **ON_GPU, key_expansion="device", key_bits=256)
    line = found(simulate("luken-2009", change), "luken-2009")["expansion"]
    assert line["verdict"] == "agrees"
    assert line["here"].startswith("of 18 cases 12 fit, 6 do not fit: ")
    few = found(simulate("luken-2009", change, max_size=10 * KB), "luken-2009")["expansion"]
    assert few["verdict"] == "undecided"  # 4 of 18 are not most
    assert few["here"].startswith("of 18 cases 4 fit, 2 do not fit, 12 not measured: ")


def test_a_claim_on_every_size_is_undecided_while_sizes_are_left_out():
    changes = AGREEING["moreira-2026"]
    few = found(simulate("moreira-2026", *changes, max_size=100 * MB), "moreira-2026")["cpu-rate"]
    assert few["verdict"] == "undecided" and ", 2 not measured" in few["here"]
    slow = slower(2, device="cpu", bytes=100 * KB)
    refuted = simulate("moreira-2026", *changes, slow, max_size=100 * MB)
    assert found(refuted, "moreira-2026")["cpu-rate"]["verdict"] == "differs"


def test_tybusch_compares_a_thread_for_each_cpu_with_twice_as_many():
    for cores in (1, 2, 4, 8):
        # Threads beyond the CPUs gain nothing.
        def limited(row, process, cores=cores):
            p = row["threads"]
            return 1.0 if p <= cores else (0.1 + 0.9 / cores) / (0.1 + 0.9 / p)

        line = found(simulate("tybusch-2014", limited, cores=cores), "tybusch-2014")["more-threads"]
        assert line["verdict"] == "agrees", line
        assert line["here"].endswith(f"{cores} thread{'s' * (cores > 1)} and {2 * cores}")


def test_totals_have_intervals_over_processes():
    def noise(row, process):
        row["timeline_ns"] = {
            p: ns and ns * (1 + 0.01 * process) for p, ns in row["timeline_ns"].items()
        }
        return 1 + 0.01 * process

    whole = simulate("tybusch-2014", noise)
    n = 10 * MB
    cell = tables(whole)["tybusch-2014-total"].rows[2][2]
    expected = (n + 1000 + 2 * n) * 1e-9
    assert isinstance(cell, Estimate)
    assert cell.interval.low == pytest.approx(expected)
    assert cell.interval.high == pytest.approx(1.05 * expected)
    cell = tables(simulate("luken-2009", noise))["luken-2009-128"].rows[2][2]
    expected = (1000 + 2 * 100 * KB + 100) * 1e-6
    assert (cell.interval.low, cell.interval.high) == pytest.approx((expected, 1.05 * expected))


def derived(paper, **how) -> dict[tuple[str, str, str], list]:
    table = tables(simulate(paper, **how))[f"{paper}-derived"]
    return {tuple(row[:3]): row[3:] for row in table.rows}


def test_derived_rates_of_moreira_follow_from_the_times():
    rows = derived("moreira-2026")
    assert rows["CPU, encryption", "MB/s", "paper"][0] == pytest.approx(1024 / 16)
    assert rows["GPU, decryption", "MB/s", "paper"][-1] == pytest.approx(2**30 / 0.403454e6)
    here = rows["GPU, encryption", "MB/s", "here"][2]
    assert here.value == pytest.approx(MB * 1e3 / (100000 + MB))


def test_derived_numbers_of_tybusch_follow_from_the_times():
    rows = derived("tybusch-2014")
    assert rows["4 threads", "efficiency", "paper"][-1] == pytest.approx(9.172 / 2.656 / 4)
    assert rows["4 threads", "efficiency", "here"][-1].value == pytest.approx(1 / 0.325 / 4)
    assert rows["4 threads", "Karp–Flatt", "here"][-1].value == pytest.approx(0.1)
    assert rows["loading", "MB/s", "paper"][-1] == pytest.approx(1048.576 / 4.39)
    assert rows["GPU, processing", "MB/s", "paper"][-1] == pytest.approx(1048.576 / 0.625)
    assert rows["GPU, total", "transfers, %", "paper"][-1] == pytest.approx(92.2 / 5.937)
    assert rows["GPU, total", "loading, %", "paper"][-1] == pytest.approx(439 / 5.937)
    # The paper's totals of 1 KB and 1 MB lack the times that it has a * for.
    for quantity in ("transfers, %", "loading, %"):
        assert all(isinstance(c, Missing) for c in rows["GPU, total", quantity, "paper"][:2])
    n = 1000 * MB
    moved, total = 80000 + 0.9 * n, n + 80000 + 0.9 * n + 20000 + 0.1 * n
    assert rows["GPU, total", "transfers, %", "here"][-1].value == pytest.approx(
        100 * moved / total
    )
    assert rows["GPU, total", "loading, %", "here"][-1].value == pytest.approx(100 * n / total)
    few = derived("tybusch-2014", cores=2)
    assert ("4 threads on 2 cores here", "efficiency", "here") in few


def test_derived_rates_of_luken_follow_from_the_times():
    rows = derived("luken-2009")
    assert len(rows) == 18
    assert rows["GPU GPU, 192-bit keys", "MB/s", "paper"][-1] == pytest.approx(104857.6 / 1177)
    n = 10 * MB
    here = rows["CPU, 256-bit keys", "MB/s", "here"][4]
    assert here.value == pytest.approx(n * 1e3 / (1000 + 2.8 * n + 100))


def test_derived_table_says_where_a_cpu_stands_in():
    for paper, name in (
        ("moreira-2026", "GPU, here cuda:0 (a CPU), encryption"),
        ("tybusch-2014", "GPU, here cuda:0 (a CPU), processing"),
        ("luken-2009", "GPU GPU, 128-bit keys, here cuda:0 (a CPU)"),
    ):
        assert (name, "MB/s", "here") in derived(paper, gpu_is_cpu=True)


def test_moreira_shows_the_speedups_that_are_printed_as_0():
    found_tables = tables(simulate("moreira-2026"))
    for direction, text in (("encrypt", "0.0016"), ("decrypt", "0.0014")):
        table = found_tables[f"moreira-2026-{direction}-speedup"]
        assert table.rows[0][1:3] == ["0.00", text]
        assert any(note.startswith("Crossover of the kernel only") for note in table.notes)
    assert found_tables["moreira-2026-encrypt-speedup"].rows[-1][1:3] == ["39.68", "39.68"]


def test_crossover_of_the_kernel_only_is_no_finding():
    abouts = [line["about"] for line in agreeing("moreira-2026").values()]
    assert not any("kernel only" in about for about in abouts)


def test_soares_speedups_of_two_and_four_threads_follow_from_karp_flatt():
    table = tables(simulate("soares", max_size=MB))["soares-speedup"]
    theirs = {row[0]: row[1] for row in table.rows}
    assert (theirs[2], theirs[4]) == ("1.909", "3.151")


def soares_time(row: dict, process: int) -> float:
    """Take as long as the paper's serial fractions and times say."""
    fractions = {1: 0.0, 2: 0.0476, 4: 0.0898, 8: 0.1175, 16: 0.2093}
    threads = row["threads"]
    share = fractions[threads] + (1 - fractions[threads]) / threads
    return share / (0.1 + 0.9 / threads)


SOARES = {
    "karp-flatt-2": ("agrees", slower(1.2, threads=2)),
    "karp-flatt-4": ("agrees", slower(1.5, threads=4)),
    "karp-flatt-8": ("agrees", slower(1.5, threads=8)),
    # Its own times give 0.2093, and its table 0.1955: both are within the rule.
    "karp-flatt-16": ("agrees", slower(1.5, threads=16)),
    "falls": ("agrees", slower(3, threads=4)),
    "rises": ("agrees", slower(0.5, threads=16)),
}


@pytest.mark.parametrize("claim", SOARES)
def test_soares_claims_agree_with_its_own_times_and_differ_from_others(claim):
    word, change = SOARES[claim]
    own = found(simulate("soares", soares_time, cores=8, gpu=None), "soares")[claim]
    assert own["verdict"] == word, own
    other = found(simulate("soares", soares_time, change, cores=8, gpu=None), "soares")[claim]
    assert other["verdict"] == "differs", other


def test_soares_growth_in_proportion_to_the_cores_contradicts_its_own_times():
    own = found(simulate("soares", soares_time, cores=8, gpu=None), "soares")["proportional"]
    assert own["verdict"] == "differs" and "8 threads: 0.549" in own["here"]
    ideal = found(
        simulate("soares", lambda r, _: 1 / r["threads"] / (0.1 + 0.9 / r["threads"]), cores=8),
        "soares",
    )
    assert ideal["proportional"]["verdict"] == "agrees"


def test_soares_claims_on_8_and_16_threads_are_not_testable_on_2_or_16_cpus():
    two = found(simulate("soares", soares_time, cores=2, gpu=None), "soares")
    lacking = {name for name, line in two.items() if line["verdict"] == "not testable here"}
    assert lacking == {"karp-flatt-4", "karp-flatt-8", "karp-flatt-16", "falls", "rises"}
    assert two["rises"]["here"].startswith("needs 8 CPUs (measured: 1.14")
    many = found(simulate("soares", soares_time, cores=16, gpu=None), "soares")
    assert many["rises"]["here"].startswith("needs fewer than 16 CPUs")


def test_soares_claims_are_undecided_with_too_few_processes():
    few = found(simulate("soares", soares_time, processes=5, cores=8, gpu=None), "soares")
    assert {line["verdict"] for line in few.values()} == {"undecided"}


def test_soares_speedups_are_drawn_for_all_threads_of_its_table():
    whole = simulate("soares", soares_time, cores=8, gpu=None)
    lines = {row[0]: row[1] for row in tables(whole)["soares-speedup"].rows}
    assert lines == {1: "1", 2: "1.909", 4: "3.151", 8: "4.39", 16: "3.865"}
