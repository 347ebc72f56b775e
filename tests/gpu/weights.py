#!/usr/bin/env python3
"""Checks and measures paraes.safetensors.torch on one device.

    tests/gpu/weights.py [-o FILE.json] [--device cuda:0] [--size 8GiB] [--rounds 5] [--folder /dev/shm]

Random bf16 tensors, in a plain file and an encrypted one, in the page cache:
- all tensors that load_file() and safe_open() give are right;
- the memory of a process that has loaded the encrypted file to the device is searched for 32 bytes
  of each tensor, which must not be there, and so is one that has loaded it to the CPU, where they
  must be;
- the times of load_file() of both (the plain one by safetensors), of loading to the CPU and
  copying, and of a bare copy of as many page-locked bytes, in turns; medians.

Needs paraes, which tests/gpu/pack puts beside it, torch and safetensors.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

KEY = bytes(range(32))
TENSOR_BYTES = 64 << 20
SAMPLE_BYTES = 32
SEARCHED_BYTES = 512 << 20  # of tensors, when memory is searched: each is looked for in all of it
# Limits for paraes's load_file: at most so much of the time of safetensors', and at least so much of
# the rate of a bare copy.
MOST_TIME, LEAST_RATE = 1.1, 0.8

LOAD = """
import sys
import torch
import paraes.safetensors.torch
key = bytes(range(32))
tensors = paraes.safetensors.torch.load_file(sys.argv[1], sys.argv[2], key=key)
file = paraes.safetensors.safe_open(sys.argv[1], "pt", sys.argv[2], key=key)
one_by_one = [file.get_tensor(name) for name in tensors]
if torch.device(sys.argv[2]).type == "cuda":
    torch.cuda.synchronize()
print()
print(f"loaded {len(tensors)}", flush=True)
sys.stdin.readline()
"""


def parse_size(text):
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if text.endswith(unit):
            return int(text[: -len(unit)]) * factor
    return int(text)


def make_files(torch, folder, size):
    """Writes a plain file and an encrypted one. Returns their paths, and a sample of each tensor."""
    import safetensors.torch

    import paraes

    generator = torch.Generator().manual_seed(time.time_ns())
    tensors, samples = {}, {}
    # Not all of one size, and none that begins where a segment does.
    for i in range(max(size // TENSOR_BYTES, 1)):
        items = min(size, TENSOR_BYTES) // 2 - 100 * i
        # int64 at a time: 8 GiB of bytes one by one take minutes.
        raw = torch.randint(-(1 << 62), 1 << 62, ((items + 3) // 4,), generator=generator)
        tensors[f"layers.{i}.weight"] = raw.view(torch.bfloat16)[:items].clone()
    for name, tensor in tensors.items():
        middle = tensor.view(torch.int16)[len(tensor) // 2 :][: SAMPLE_BYTES // 2]
        samples[name] = b"".join(
            (item & 0xFFFF).to_bytes(2, "little") for item in middle.tolist())
    plain, sealed = folder / "model.safetensors", folder / "model.safetensors.paes"
    safetensors.torch.save_file(tensors, plain)
    # The host opens the beginning of the file for the header.
    with open(plain, "rb") as file:
        begin = 8 + int.from_bytes(file.read(8), "little")
        file.seek(begin)
        samples["the first bytes"] = file.read(SAMPLE_BYTES)
        file.seek(-SAMPLE_BYTES, os.SEEK_END)
        samples["the last bytes"] = file.read()
    del tensors
    paraes.encrypt_file(plain, sealed, key=KEY)
    return plain, sealed, samples


def is_same(torch, one, other):
    return one.dtype == other.dtype and one.shape == other.shape and bool(
        torch.equal(one.view(torch.int16), other.view(torch.int16)))


def check(torch, plain, sealed, device):
    """Raises AssertionError where a tensor is wrong. Returns how many it compared."""
    import safetensors.torch

    import paraes.safetensors.torch

    expected = safetensors.torch.load_file(plain, device)
    found = paraes.safetensors.torch.load_file(sealed, device, key=KEY)
    assert list(sorted(found)) == sorted(expected)
    for name, tensor in expected.items():
        assert is_same(torch, tensor, found[name]), name
        assert found[name].device == tensor.device, name
    compared = len(found)
    del found
    with paraes.safetensors.safe_open(sealed, "pt", device, key=KEY) as file:
        for name in file.keys()[:10]:
            assert is_same(torch, expected[name], file.get_tensor(name)), name
            part = file.get_slice(name)[12345:54321]
            assert is_same(torch, expected[name][12345:54321], part), name
            compared += 2
    return compared


# ---- Memory


def found_in(process, samples):
    """The names of the tensors whose samples are in the memory of a process."""
    found, searched = set(), 0
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
        for line in maps:
            words = line.split()
            begin, end = (int(word, 16) for word in words[0].split("-"))
            name = words[5] if len(words) > 5 else ""
            if not words[1].startswith("r") or name in ("[vvar]", "[vsyscall]"):
                continue
            at, rest = begin, b""
            while at < end:
                try:
                    memory.seek(at)
                    piece = memory.read(min(end - at, 16 << 20))
                except (OSError, ValueError, OverflowError):
                    break  # memory of the device
                if not piece:
                    break
                searched += len(piece)
                text = rest + piece
                found |= {name for name, sample in samples.items() if sample in text}
                rest = text[-SAMPLE_BYTES + 1 :]
                at += len(piece)
    return found, searched


def search(sealed, device, samples):
    """What is found after a load, and how many bytes were searched."""
    with subprocess.Popen([sys.executable, "-c", LOAD, sealed, device], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            # Libraries print as well.
            lines = iter(process.stdout.readline, "")
            line = next((line for line in lines if line.startswith("loaded ")), "nothing")
            assert line != "nothing", "the file was not loaded"
            return found_in(process.pid, samples)
        finally:
            process.kill()


# ---- Times


def measure(torch, plain, sealed, device, rounds, size):
    import safetensors.torch

    import paraes.safetensors.torch

    loads = paraes.safetensors.torch.load_file
    on_gpu = device != "cpu"
    host = torch.empty(size, dtype=torch.uint8, pin_memory=on_gpu)
    host.fill_(1)

    def bare():
        return torch.empty(size, dtype=torch.uint8, device=device).copy_(host, non_blocking=True)

    def by_the_cpu():
        return {name: tensor.to(device) for name, tensor in loads(sealed, "cpu", key=KEY).items()}

    contestants = {
        "paraes": lambda: loads(sealed, device, key=KEY),
        "safetensors, plain file": lambda: safetensors.torch.load_file(plain, device),
        "paraes on the CPU, and a copy": by_the_cpu,
        "bare copy": bare,
    }
    times = {name: [] for name in contestants}
    for turn in range(rounds + 1):  # the first is not counted
        order = list(contestants)
        for name in order if turn % 2 else reversed(order):
            start = time.perf_counter()
            loaded = contestants[name]()
            if on_gpu:
                torch.cuda.synchronize()
            taken = time.perf_counter() - start
            del loaded
            if turn:
                times[name].append(taken)
    medians = {name: statistics.median(all_times) for name, all_times in times.items()}
    against_plain = medians["paraes"] / medians["safetensors, plain file"]
    of_bare = medians["bare copy"] / medians["paraes"]
    for name, median in medians.items():
        print(f"  {name}: {median:.3f} s, {size / median / 1e9:.2f} GB/s")
    print(f"  paraes takes {against_plain:.2f} of the time of safetensors for the plain file "
          f"(at most {MOST_TIME}): {'met' if against_plain <= MOST_TIME else 'MISSED'}")
    print(f"  paraes has {of_bare:.2f} of the rate of a bare copy "
          f"(at least {LEAST_RATE}): {'met' if of_bare >= LEAST_RATE else 'MISSED'}")
    return {"seconds": times, "medians": medians, "time_against_plain": against_plain,
            "rate_of_bare_copy": of_bare}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("-o", "--output")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--size", type=parse_size, default=parse_size("8GiB"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", default="/dev/shm")
    options = parser.parse_args()
    try:
        import safetensors  # noqa: F401
        import torch

        if options.device != "cpu" and not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")
    except ImportError as error:
        print(f"no torch with a GPU: {error}")
        return 0
    result = {"device": options.device, "bytes": options.size, "torch": torch.__version__}
    failed = False
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        plain, sealed, _ = make_files(torch, pathlib.Path(name), options.size)
        try:
            result["compared"] = check(torch, plain, sealed, options.device)
            print(f"{result['compared']} tensors and slices are right")
        except AssertionError as error:
            failed = True
            print(f"FAILED: a tensor is wrong: {error}")
        small = pathlib.Path(name) / "small"
        small.mkdir()
        _, searched_file, samples = make_files(torch, small, min(options.size, SEARCHED_BYTES))
        for device in dict.fromkeys([options.device, "cpu"]):
            found, searched = search(searched_file, device, samples)
            right = set(samples) if device == "cpu" else set()
            result[f"found in memory, {device}"] = len(found)
            print(f"{device}: of {len(samples)} samples, {len(found)} were found in "
                  f"{searched >> 20} MiB of the process's memory")
            if found != right or searched < 1 << 20:
                failed = True
                print(f"FAILED: it should be {len(right)}")
        result.update(measure(torch, plain, sealed, options.device, options.rounds,
                              os.stat(plain).st_size))
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    sys.exit(main())
