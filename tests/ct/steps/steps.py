#!/usr/bin/env python3
"""Shows that a kernel executes the same instructions and accesses the same addresses with any key.

    steps.py KERNEL              checks a kernel that is marked constant; one with tables is the
                                 control: the differences of its runs must be found
    steps.py --covers KERNEL...  checks that these are all that are marked constant, and a control
    steps.py --probes            checks that programs that leak on purpose are caught

PARAES_STEPS names the program that is traced, PARAES_STEPS_TRACER the tracer, PARAES_ADDR2LINE the
program addr2line. With PARAES_QEMU and PARAES_SYSROOT, QEMU runs the traced program, which is one
for AArch64. PARAES_LONG=1 checks all operations with more sizes and keys. Keys and texts are
random: --seed repeats those of another run.

Every operation of a kernel runs in one process, again and again, on the same memory: under random
keys with the same text; under random keys with random texts; and where there are many keys, under
keys and texts of zeros and of ones. Of the control, the second run has the key of the first one and
must agree with it, and the third run must not.
"""

import argparse
import dataclasses
import os
import pathlib
import random
import re
import secrets
import subprocess
import sys
import tempfile

import decode

PROGRAM = os.environ["PARAES_STEPS"]
TRACER = os.environ["PARAES_STEPS_TRACER"]
QEMU = os.environ.get("PARAES_QEMU")
LONG = os.environ.get("PARAES_LONG") == "1"
SKIPPED = 77

# The sizes reach each loop: several batches and a part of one, a part of a block, one block,
# several blocks, at most one batch, pairs of batches. A batch of vaes512 has 512 bytes. The first
# size is checked most.
SIZES = [1100, 1, 16, 100, 500, 2100]
# QEMU takes 0.2 ms for a step. A batch has 128 bytes there.
EMULATED_SIZES = [100, 1, 16, 500, 1100]
# Batches of the bit-sliced kernels take thousands of instructions: up to two batches and a part of
# one.
SLICED_SIZES = {
    "bitslice_portable": [16, 1, 100],
    "bitslice_neon": [16, 1, 300],
    "bitslice_avx2": [100, 1, 16, 600],
    "bitslice_avx512": [100, 1, 16, 1100, 2100],
}
SLICED_CBC_SIZES = [32, 16]  # a batch for each block
# These are checked under fewer keys, because the tests under valgrind follow their secrets.
UNDER_VALGRIND = {"aesni", "bitslice_avx2", "bitslice_portable"}
CONTROL_SIZE = 48
XTS_SIZES = {1: 17}  # a data unit has 16 bytes at least
# Without a text, or with one of a fixed size.
ONE_SIZE = {
    "expand": 0,
    "ghash-key": 0,
    "gcm-expand": 0,
    "gcm-join": 64,
    "tag-compare": 16,
    "tag-compare-4": 16,
}
# One key size is enough for these. All others compute AES, and differ in a table row.
NOT_AES = {"ghash-key", "ghash", "gcm-join", "tag-compare", "tag-compare-4"}
# The quick version checks all operations of the kernels that no other test of constant time
# reaches, if they are quick to trace, and of others these.
FEW = {"ecb-encrypt", "gcm-seal", "tag-compare"}
QUICK = {
    "vaes512": None,
    "vaes256": None,
    "bitslice_avx512": FEW | {"expand", "ecb-decrypt", "ctr", "xts-encrypt", "gcm-open-nonce-60"},
}


class Failed(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Case:
    kernel: str
    operation: str
    key_bytes: int
    text_bytes: int
    keys: int  # with one text
    texts: int  # with texts of their own
    control: bool = False

    def __str__(self):
        bits = "" if self.operation in NOT_AES else f", AES-{8 * self.key_bytes}"
        return f"{self.kernel}: {self.operation}{bits}, text of {self.text_bytes} bytes"

    def records(self, generator):
        """(key, text) of every run."""
        draw = generator.randbytes
        text = draw(self.text_bytes)
        records = [(draw(64), text) for _ in range(self.keys)]
        if self.control:
            return [records[0], *records]
        records += [(draw(64), draw(self.text_bytes)) for _ in range(self.texts)]
        if self.keys >= 5:
            records += [(byte * 64, byte * self.text_bytes) for byte in (b"\x00", b"\xff")]
        return records


@dataclasses.dataclass(frozen=True)
class Equal:
    runs: int
    steps: int  # of each run
    hash: str


@dataclasses.dataclass(frozen=True)
class Difference:
    run: int  # from 1
    step: int
    kind: str  # "path" or "address"
    at: int
    first: int
    this: int
    module: list


def listed(*arguments):
    command = [*emulator(), PROGRAM, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stderr}")
    return done.stdout.splitlines()


def emulator(*flags):
    if QEMU is None:
        return []
    # Without SVE, with whose predicates the C library would copy bytes: see decode.py.
    return [QEMU, "-cpu", "max,sve=off", "-L", os.environ["PARAES_SYSROOT"], *flags]


class Tracer:
    """Traces cases, and remembers decoded instructions."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.decoder = decode.X86Decoder() if QEMU is None else decode.Arm64Decoder()
        self.answers = {}  # address and bytes -> answer to the tracer
        self.code = {}  # address -> bytes

    def trace(self, case, records):
        records_file = self.folder / "records"
        records_file.write_bytes(b"".join(key + text for key, text in records))
        sizes = [str(case.key_bytes), str(case.text_bytes)]
        program = [PROGRAM, "run", case.kernel, case.operation, *sizes]
        if QEMU is None:
            command = [TRACER, "native", records_file, *program]
        else:
            socket = self.folder / "gdb"
            socket.unlink(missing_ok=True)
            emulated = emulator("-g", str(socket))
            command = [TRACER, "emulated", socket, records_file, *emulated, *program]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(command, **pipes, text=True, bufsize=1) as tracer:
            try:
                result = self.converse(case, tracer)
                tracer.wait(60)
                return result
            finally:
                tracer.kill()  # if it has not ended

    def converse(self, case, tracer):
        for line in tracer.stdout:
            word, *rest = line.split()
            if word == "decode":
                tracer.stdin.write(self.answer(*rest) + "\n")
            elif word == "equal":
                return Equal(int(rest[0]), int(rest[1]), rest[2])
            elif word == "differ":
                numbers = [int(number, 16) for number in rest[3:6]]
                return Difference(int(rest[0]), int(rest[1]), rest[2], *numbers, rest[6:])
            elif word == "skipped:":
                print(line, end="")
                sys.exit(SKIPPED)
        raise Failed(f"{case}: {tracer.stderr.read().strip()}")

    def answer(self, at, code):
        key = (at, code)
        if key not in self.answers:
            place, data = int(at, 16), bytes.fromhex(code)
            self.code[place] = data
            try:
                addresses = self.decoder.addresses(data, place)
            except decode.Refused as reason:
                return str(reason)  # with which the tracer ends
            self.answers[key] = (
                "mark"
                if addresses is None
                else " ".join([str(len(addresses)), *(address.line() for address in addresses)])
            )
        return self.answers[key]

    def describe(self, case, records, found):
        key, text = records[found.run - 1]
        same = " (the same as in run 1)" if (key, text) == records[0] else ""
        if found.kind == "path":
            what = f"runs {found.first:#x} in run 1, {found.this:#x} in this run"
        else:
            what = f"accesses {found.first:#x} in run 1, {found.this:#x} in this run"
        lines = [
            f"{case}: run {found.run} of {len(records)} differs at step {found.step}",
            f"  {what}",
            f"  {self.place(found)}",
            f"  key of run 1: {records[0][0].hex()}",
            f"  key of run {found.run}: {key.hex()}{same}",
        ]
        if text != records[0][1]:
            lines += [
                f"  text of run 1: {records[0][1].hex()}",
                f"  text of run {found.run}: {text.hex()}",
            ]
        return "\n".join(lines)

    def place(self, found):
        code = self.code.get(found.at)
        text = self.decoder.text(code, found.at) if code else "an instruction of run 1 only"
        if len(found.module) != 2:
            return f"at {found.at:#x}: {text}"
        path, load_address = found.module
        offset = found.at - int(load_address, 16)
        command = [os.environ["PARAES_ADDR2LINE"], "-fCe", path, hex(offset)]
        done = subprocess.run(command, capture_output=True, text=True)
        symbol = done.stdout.splitlines()[0] if done.stdout else "?"
        return f"at {pathlib.Path(path).name}+{offset:#x}: {text}, in {symbol}"


def text_sizes(kernel, operation):
    if operation in ONE_SIZE:
        return [ONE_SIZE[operation]]
    sizes = SLICED_SIZES.get(kernel, SIZES if QEMU is None else EMULATED_SIZES)
    if kernel in SLICED_SIZES and operation == "cbc-encrypt":
        return SLICED_CBC_SIZES
    if operation.startswith("xts"):
        return [XTS_SIZES.get(size, size) for size in sizes]
    if operation.startswith(("ecb", "cbc", "ghash")):
        return [16 * (size // 16) for size in sizes if size >= 16]
    return sizes


def key_sizes(operation):
    if operation in NOT_AES:
        return [16]
    return [16, 32] if operation.startswith("xts") else [16, 24, 32]


def is_quick(kernel, operation):
    if QEMU is None and kernel in QUICK:
        return QUICK[kernel] is None or operation in QUICK[kernel]
    # A hash takes thousands of instructions.
    slow = QEMU is not None and kernel in SLICED_SIZES
    return operation in FEW and not (slow and operation.startswith("gcm"))


def quick_cases(kernel, operations):
    """One key size and one text size of each operation, under two keys with a text each."""
    slow = kernel in SLICED_SIZES or QEMU is not None
    for number, operation in enumerate(operations):
        if is_quick(kernel, operation):
            sizes, keys = text_sizes(kernel, operation), key_sizes(operation)
            size = min(sizes) if slow else sizes[number % len(sizes)]
            yield Case(kernel, operation, keys[number % len(keys)], size, 1, 1)


def long_cases(kernel, operations):
    """One size of each operation under many keys, and the other sizes under few."""
    many = 5 if kernel in UNDER_VALGRIND else 20
    slow = kernel in SLICED_SIZES or QEMU is not None
    for number, operation in enumerate(operations):
        sizes, keys = text_sizes(kernel, operation), key_sizes(operation)
        for place, key_bytes in enumerate(keys):
            few = slow and place != number % len(keys) and operation != "expand"
            yield Case(kernel, operation, key_bytes, sizes[0], 1 if few else many, 1 if slow else 3)
        for place, size in enumerate(sizes[1:]):
            yield Case(kernel, operation, keys[place % len(keys)], size, 1 if slow else 3, 1)


def control_cases(kernel, operations):
    for number, operation in enumerate(operations):
        if operation in NOT_AES or not (LONG or operation == "ecb-encrypt"):
            continue
        keys = key_sizes(operation)
        size = min(text_sizes(kernel, operation)[0], CONTROL_SIZE)
        yield Case(kernel, operation, keys[number % len(keys)], size, 2, 0, control=True)


def check_two_processes(tracer, case, records):
    """Nothing but the secrets differs between processes either: address randomisation is off."""
    results = [tracer.trace(case, records[:1]) for _ in range(2)]
    if results[0] != results[1] or not isinstance(results[0], Equal):
        raise Failed(f"{case}: two processes with one key differ: {results}")


class Totals:
    def __init__(self):
        self.operations = set()
        self.cases = self.runs = self.steps = 0

    def add(self, case, result):
        self.operations.add(case.operation)
        self.cases += 1
        self.runs += result.runs
        self.steps += result.runs * result.steps


def fail(text):
    """Prints it at once, so that a run that is cut off shows what it has found."""
    print(text, flush=True)
    return 1


def check_kernel(kernel, only, seed, folder):
    timings = {
        name: (timing, reason)
        for name, timing, reason in (line.split("\t") for line in listed("kernels"))
    }
    timing, reason = timings[kernel]
    if reason:
        print(f"skipped: kernel {kernel} cannot run: {reason}")
        return SKIPPED
    control = timing != "constant"
    tracer, totals, failures = Tracer(folder), Totals(), 0
    cases = control_cases if control else long_cases if LONG else quick_cases
    operations = [name for name in listed("operations", kernel) if re.search(only, name)]
    for number, case in enumerate(cases(kernel, operations)):
        records = case.records(random.Random(f"{seed} {case}"))
        if number == 0:
            check_two_processes(tracer, case, records)
        result = tracer.trace(case, records)
        if isinstance(result, Equal):
            if result.runs != len(records) or result.steps < 10:
                raise Failed(f"{case}: {result} of {len(records)} runs")
            totals.add(case, result)
            if LONG:
                print(f"{case}: {result.runs} runs of {result.steps} instructions", flush=True)
            if control:
                failures += fail(f"{case}: no difference is found, though the kernel uses tables")
        elif control:
            if result.run <= 2:
                failures += fail(tracer.describe(case, records, result))
            totals.operations.add(case.operation)
            totals.cases += 1
        else:
            failures += fail(tracer.describe(case, records, result))
    if failures:
        print(f"{kernel}: {failures} cases failed (seed {seed})")
        return 1
    verb = "differ, as they must" if control else "agree"
    print(
        f"{kernel}: {len(totals.operations)} operations, {totals.cases} cases that {verb}"
        + ("" if control else f"; {totals.runs} runs, {totals.steps} instructions")
        + f" (seed {seed})"
    )
    return 0


def check_probes(folder):
    """The tracer finds each kind of leak, and finds none where there is none."""
    tracer = Tracer(folder)
    expected = {
        "nothing": None,
        "branch": "path",
        "address": "address",
        "repetitions": "path",
        "mask": "address",
    }
    names = listed("operations", "probes")
    for name in names:
        case = Case("probes", name, 16, 0, 0, 0)
        found = tracer.trace(case, [(bytes([first]) * 64, b"") for first in (6, 6, 7)])
        if isinstance(found, Equal):
            kind, run = None, 3
            if found.runs != 3:
                raise Failed(f"{case}: {found}")
        else:
            kind, run = found.kind, found.run
        if kind != expected[name] or run != 3:
            raise Failed(f"probe {name}: {found} instead of a difference of {expected[name]}")
    print(f"probes: {', '.join(names)}")
    return 0


def check_coverage(kernels):
    timings = dict(line.split("\t")[:2] for line in listed("kernels"))
    missing = [
        name for name, timing in timings.items() if timing == "constant" and name not in kernels
    ]
    if missing or "leaky" not in [timings.get(kernel) for kernel in kernels]:
        raise Failed(f"no test of {missing or 'a table kernel'}")
    unknown = [kernel for kernel in kernels if kernel not in timings]
    if unknown:
        raise Failed(f"there is no kernel {unknown}")
    print(
        f"{len(kernels)} kernels have tests; not constant and not controls: "
        f"{[name for name in timings if name not in kernels]}"
    )
    return 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--covers", action="store_true")
    parser.add_argument("--probes", action="store_true")
    parser.add_argument(
        "--only",
        metavar="EXPRESSION",
        default="",
        help="only the operations with this regular expression in their names",
    )
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    arguments = parser.parse_args()
    if len(arguments.kernels) != 1 and not arguments.probes and not arguments.covers:
        parser.error("name one kernel")
    if QEMU is not None and not pathlib.Path(QEMU).is_file():
        print("skipped: qemu-aarch64-static is missing")
        return SKIPPED
    if not pathlib.Path(TRACER).is_file():
        raise Failed(f"there is no {TRACER}: build paraes_steps_tracer with the preset release")
    if arguments.covers:
        return check_coverage(arguments.kernels)
    # A short path, because that of a socket has a limit.
    with tempfile.TemporaryDirectory(prefix="steps-", dir="/tmp") as folder:
        if arguments.probes:
            return check_probes(folder)
        return check_kernel(arguments.kernels[0], arguments.only, arguments.seed, folder)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(f"steps: {failure}")
