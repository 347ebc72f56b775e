#!/usr/bin/env python3
"""Stand in for paraes, paraes-mpi and mpirun: times come from formulas, for a GPU and 4 cores.

    one thread        1 µs + 10 ns per byte (reference), 2 ns (ttable); in decryption twice as many
                      per byte, and more for longer keys, in proportion to the rounds
    p workers         (0.1 + 0.9/p) of one thread: Karp–Flatt is 0.1 everywhere
    GPU kernel        20 µs + 0.1 ns per byte; both copies together 80 µs + 0.9 ns per byte;
                      --group-threads other than 256 take 10 % longer
    a file            1 ns per byte to read, and 1 ns to write

The GPU with copies is faster from 11000 bytes: 1000 + 10 n = 100000 + n.

FAKE_LOG names a file that gets a line for every bench, FAKE_FAIL fails benches whose arguments
contain it, with any one of their sizes, FAKE_NO_GPU removes the GPU, and FAKE_MPI is the version
that the launcher prints. FAKE_SLEEP is how many seconds a bench sleeps, FAKE_HOST the host's name,
and FAKE_DRIVER the version of the GPU's driver.
FAKE_RANKS carries the number of ranks from the launcher to the program.
"""

import json
import os
import sys
import time

PHASES = ("read", "key_expansion", "host_to_device", "kernel", "device_to_host", "write",
          "scatter", "gather")
GPU = {"id": "cuda:0", "name": "Formula GPU", "memory": 1 << 33, "driver": "1", "compiler": "1",
       "target": "sm_0"}
GPU["driver"] = os.environ.get("FAKE_DRIVER", GPU["driver"])


def serial_ns(kernel: str, size: int, direction: str, bits: int) -> float:
    rounds = {128: 10, 192: 12, 256: 14}[bits] / 10
    byte = 2 if kernel.startswith("ttable") else 10
    return 1000 + byte * size * rounds * (2 if direction == "decrypt" else 1)


def devices() -> dict:
    listed = [{"id": "cpu", "name": "Formula 1", "available": True, "reason": None}]
    if not os.environ.get("FAKE_NO_GPU"):
        listed.append({**GPU, "available": True, "reason": None, "same_as": None})
    listed.append({"id": "hip", "name": None, "available": False, "reason": "no hip here"})
    return {"cpu": {"model": "Formula 1", "features": []}, "kernels": [], "devices": listed}


def rows(flags: dict, ranks: int) -> list:
    def values(flag: str, usual: str | None = None) -> list:
        return (flags[flag] if usual is None else flags.get(flag, usual)).split(",")

    found = [
        one(flags["--scope"], device, kernel, int(bits), direction, threads, executor, ranks,
            size, place)
        for size in map(int, values("--size"))
        for device in values("--device")
        for kernel in values("--kernel")
        for bits in values("--key-bits")
        for direction in values("--direction")
        for threads in (map(int, values("--threads")) if device == "cpu" else [0])
        for place in values("--key-expansion", "host")
        for executor in executors(flags, threads)
    ]
    if "--group-threads" in flags:
        found = [grouped(row, int(n)) for n in values("--group-threads") for row in found]
    return found


def grouped(row: dict, threads: int) -> dict:
    factor = 1.0 if threads == 256 else 1.1
    samples = [ns * factor for ns in row["samples_ns"]]
    return {**row, "group_threads": threads, "samples_ns": samples}


def executors(flags: dict, threads: int) -> list:
    if threads <= 1 or flags["--scope"] != "memory":
        return [None]
    return flags.get("--executor", "threads").split(",")


def one(scope, device, kernel, bits, direction, threads, executor, ranks, size, place) -> dict:
    timeline = dict.fromkeys(PHASES)
    timeline["key_expansion"] = 100.0 if place == "host" else 300.0
    if device == "cpu":
        p = max(1, threads) * ranks
        kernel_ns = serial_ns(kernel, size, direction, bits) * (0.1 + 0.9 / p)
        ns = kernel_ns
        if scope == "file":
            timeline |= {"read": 1.0 * size, "write": 1.0 * size}
            ns += 2 * size
    else:
        kernel_ns = 20000 + 0.1 * size
        ns = kernel_ns
        if scope == "transfer":
            copy = 40000 + 0.45 * size
            timeline |= {"host_to_device": copy, "device_to_host": copy}
            ns += 2 * copy
    timeline["kernel"] = kernel_ns
    return {
        "rival": None,
        "device": device,
        "kernel": kernel,
        "mode": "ecb",
        "key_bits": bits,
        "direction": direction,
        "threads": threads,
        "executor": executor,
        "ranks": ranks,
        "bytes": size,
        "messages": 1,
        "scope": scope,
        "format": "raw" if scope == "file" else None,
        "in_place": False,
        "cache": "warm",
        "key_expansion": place,
        "transfer": None,
        "distribution": "shared" if ranks > 1 else None,
        "overlap": False,
        "samples_ns": [ns * (1 + 0.001 * i) for i in range(-4, 5)],
        "outliers": [],
        "timeline_ns": timeline,
        "energy_joules": None,
        "energy_reason": "a formula uses none",
        "verified": True,
    }


def main(arguments: list) -> int:
    name = os.path.basename(sys.argv[0])
    if name.startswith("mpirun"):
        if arguments == ["--version"]:
            print(os.environ.get("FAKE_MPI", "mpirun (Open MPI) 4.1"))
            return 0
        while arguments[0] != "-n":
            arguments = arguments[1:]
        os.environ["FAKE_RANKS"] = arguments[1]
        os.execv(arguments[2], arguments[2:])
    if arguments[0] == "devices":
        print(json.dumps(devices()))
        return 0
    flags = {}
    for flag, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if flag.startswith("--"):
            flags[flag] = value
    line = " ".join(arguments)
    if os.environ.get("FAKE_LOG"):
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(f"{os.environ.get('FAKE_RANKS', '1')} {line}\n")
    time.sleep(float(os.environ.get("FAKE_SLEEP", "0")))
    alone = [line.replace(flags["--size"], size) for size in flags["--size"].split(",")]
    if os.environ.get("FAKE_FAIL") and any(os.environ["FAKE_FAIL"] in each for each in alone):
        print("paraes: it broke", file=sys.stderr)
        return 1
    report = {
        "schema": 1,
        "seed": 7,
        "context": {"cpu": "Formula 1", "threads": 4, "gpus": [GPU],
                    "host": os.environ.get("FAKE_HOST", "formulas"),
                    "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())},
        "results": rows(flags, int(os.environ.get("FAKE_RANKS", "1"))),
        "skipped": [],
    }
    with open(flags["--json"], "w") as file:
        json.dump(report, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
