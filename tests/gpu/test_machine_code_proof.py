"""bench/gpu_model/counter_proof.py proves the machine code of the bitsliced kernel, and fails where an
instruction is changed.

Run with the Python of tests/interop/environment and the variables of gpu_programs.py.
With PARAES_LONG=1, all modes and keys.
"""

import pathlib
import random
import re
import runpy
import struct
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "gpu_model"), str(ROOT / "tests" / "support")]
import counter_proof
import cubin
import decisions
import gpu_programs
import numpy as np
import operands
import processor
import standard
import symbolic
import symbols
from gpu_programs import CASES, LONG
from rules import Region
from symbols import ONE, ZERO, NotProven

CTR = counter_proof.MODES["CTR"]
LOW, ABOVE = CTR.counters[:2]
few_rounds = {}
program = gpu_programs.fixture(CASES)


def test_ctr_with_aes_128_is_proven(program, capsys):
    prove = runpy.run_path(str(ROOT / "bench" / "gpu_proof"))["prove"]
    prove(program, "CTR", 10, types.SimpleNamespace(tile=0, check=()))
    printed = capsys.readouterr().out
    assert len(re.findall("^  path ", printed, re.M)) == len(CTR.counters)
    expected = f"`ctr` of bitslice on {program.chip}, CTR with 10 rounds, all round keys, all counters"
    assert f"proven: {expected}, all texts: tile 0, 1024 blocks" in printed


def test_the_command_says_what_is_wrong_with_its_arguments():
    for argument, message in (
        ("--mode=XTS", "there is no 'XTS'"),
        ("--tile=4", "a multiple of 8"),
        ("--rounds=1", "from 2 to 14"),
    ):
        tool = [sys.executable, "-B", ROOT / "bench" / "gpu_proof", argument]
        done = subprocess.run(tool, capture_output=True, text=True)
        assert done.returncode == 2
        assert message in done.stderr


MODES = [(mode, bits) for mode in counter_proof.MODES for bits in counter_proof.ROUNDS if LONG]


@pytest.mark.parametrize(("mode", "bits"), MODES)
def test_other_modes_and_keys_are_proven(program, mode, bits):
    rounds = counter_proof.ROUNDS[bits]
    assert list(counter_proof.prove(program, counter_proof.MODES[mode], rounds=rounds))


def test_a_tile_far_into_a_message_is_proven(program):
    for counter in CTR.counters if LONG else CTR.counters[2:]:
        assert counter_proof.run_path(program, CTR, counter, rounds=2, tile=(1 << 33) + 16)


def test_symbols_have_the_values_of_the_numbers(program):
    """At every instruction."""
    for mode in ("CTR", "ECB decryption") if LONG else ("CTR",):
        mode, threads = counter_proof.MODES[mode], (0, 31) if LONG else (31,)
        assert list(counter_proof.prove(program, mode, rounds=2, check=threads))


def test_a_path_that_is_left_out_is_noticed(program):
    fewer = counter_proof.Mode(CTR.entry, CTR.counters[:1], CTR.counted_bits)
    with pytest.raises(NotProven, match="counters with another path"):
        list(counter_proof.prove(program, fewer, rounds=2))


# ---- Wrong instructions

IN_LOOP = 2  # how often the loop of three rounds runs: the first is before it


def is_of_sbox(fields, times):
    table = re.search(r"(0x[0-9a-f]+),!PT$", fields["operands"])
    return times == IN_LOOP and table and not symbols.IS_LINEAR[int(table[1], 16)]


def with_other_table(text):
    return re.sub(r"0x([0-9a-f]+)(?=,!PT$)", lambda m: f"{int(m[1], 16) ^ 16:#x}", text)


def next_register(pattern, step=1):
    return lambda text: re.sub(pattern, lambda m: f"R{(int(m[1]) + step) % 252}", text, count=1)


def replace(old, new):
    return lambda text: text.replace(old, new, 1)


def has(text, times=None):
    return lambda fields, found: text in fields["operands"] and times in (None, found)


# The first counter, the opcode, which of these instructions, and what its operands become.
WRONG = {
    "S-box": (ABOVE, "LOP3", is_of_sbox, with_other_table),
    "linear layer": (ABOVE, "LOP3", has(",0x96,", IN_LOOP), next_register(r"R(\d+)(?=(?:\.reuse)?,0x96)")),
    "linear layer, inverted": (ABOVE, "LOP3", has(",0x96,", IN_LOOP), replace(",0x96,", ",0x69,")),
    "key of a round": (ABOVE, "LDG", has("+0x10]", IN_LOOP), replace("+0x10]", "+0x20]")),
    "first key": (LOW, "LDG", has("+0x3c04]"), replace("+0x3c04]", "+0x3c08]")),
    "sum of the counter": (LOW, "IADD3", has(",RZ"), replace(",RZ", ",0x1")),
    "carry of the counter": (LOW, "SEL", has("RZ,0x1,"), replace("RZ,0x1,", "0x1,RZ,")),
    "counters of slices": (ABOVE, "LOP3", has("0xf0f0f0f0"), replace("0xf0f0f0f0", "0xf0f0f0f1")),
    "bound of a path": (LOW, "ISETP", has(",0x10000"), replace(",0x10000", ",0x10001")),
    "multiplication by x": (LOW, "IMAD", has(",0x1b,"), replace(",0x1b,", ",0x1d,")),
    "transposition": (ABOVE, "PRMT", has(",0x5410,", 1), replace(",0x5410,", ",0x5401,")),
    "stack": (ABOVE, "STL", has("R1+"), next_register(r"R(\d+)$")),
    "text": (ABOVE, "LDG", has("+0x400]", 1), replace("+0x400]", "+0x600]")),
    "place of the output": (ABOVE, "STG", has("+0x400]"), replace("+0x400]", "+0x600]")),
    "output": (ABOVE, "STG", has("+0x400]"), next_register(r"R(\d+)$", 4)),
}


def path_of_three_rounds(program, counter):
    return counter_proof.run_path(program, CTR, counter, rounds=3)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_instruction_is_noticed(program, name):
    counter, opcode, fits, wrong = WRONG[name]
    if (program.chip, counter) not in few_rounds:
        few_rounds[program.chip, counter] = path_of_three_rounds(program, counter)
    code = program.functions[CTR.entry].instructions
    fitting = (
        at
        for at, times in sorted(few_rounds[program.chip, counter].symbolic.items())
        if code[at]["opcode"].startswith(opcode)
        and fits(code[at], times)
        and wrong(code[at]["operands"]) != code[at]["operands"]
    )
    at = next(fitting, None)
    assert at is not None
    fields = code[at]
    right = fields["operands"]
    fields["operands"] = wrong(right)
    program.prepared.pop(CTR.entry, None)
    try:
        with pytest.raises((NotProven, operands.Unknown)) as error:
            path_of_three_rounds(program, counter)
        print(f"{at * processor.INSTRUCTION_BYTES:#x}: {fields}: {error.value}")
    finally:
        fields["operands"] = right
        program.prepared.pop(CTR.entry, None)


# ---- What is refused

LOAD = "ULDC.64 UR4,c[0x0][0x208]; LDC.64 R2,c[0x0][0x210]; LDG.E R4,desc[UR4][R2.64]"


def run_lines(text, words=1, name="the key"):
    """Runs lines for 32 threads. The first parameter points to words of a key, or of what has another
    name, the second to the output."""
    memory = processor.Memory(1 << 16)
    key, out = (memory.allocate(bytes(4 * words)) for _ in range(2))
    instructions = []
    for line in filter(None, map(str.strip, f"{text}; EXIT".split(";"))):
        guard, line = line.split(" ", 1) if line.startswith("@") else ("", line)
        opcode, _, rest = line.partition(" ")
        instructions.append({"opcode": opcode, "operands": rest, "predicate": guard})
    code = bytes(16 * len(instructions))
    function = cubin.Function("lines", instructions, 0x210, 16, {}, code, 0, 0, {})
    entry = processor.prepare(function, 90)
    known = symbols.Symbols(standard.SBOX)
    machine = symbolic.Machine(
        known,
        np.arange(32),
        *(entry, memory, struct.pack("<QQ", key, out), 32, 0, 1, 0, processor.Counts(entry)),
    )
    of_key = {4 * w: tuple(known.key(0, 32 * w + i) for i in range(32)) for w in range(words)}
    stored = Region("output", [out] * 32, 4 * words, {})
    machine.regions = [Region(name, [key] * 32, 4 * words, of_key), stored]
    machine.run()
    return stored.words


def test_sums_shifts_and_moves_of_words():
    lines = f"""{LOAD}; LDC.64 R6,c[0x0][0x218]; LOP3.LUT R5,R4,0xff,RZ,0x3c,!PT;
        SHF.L.W.U32.HI R5,R5,0x8,R5; PRMT R5,R5,0x123,RZ; STG.E desc[UR4][R6.64],R5"""
    (word,) = run_lines(lines).values()
    original = [symbols.Symbols.key(0, i) ^ (ONE if i < 8 else ZERO) for i in range(32)]
    turned = original[24:] + original[:24]
    assert list(word) == [turned[8 * (3 - i // 8) + i % 8] for i in range(32)]


ONE_BIT = "LOP3.LUT P0,RZ,R4,0x1,RZ,0xc0,!PT"
# Lines after LOAD, which has a word of the key in R4, and the message.
REFUSED = {
    "sum": ("IADD3 R5,P0,R4,R4,RZ", "no inputs of one S-box|no inputs of S-box"),
    "product": ("SHF.R.U32.HI R5,RZ,0x1,R4; LOP3.LUT R6,R5,R4,RZ,0xc0,!PT", "S-box"),
    "wide product": ("IMAD.WIDE.U32 R6,R4,0x4,R2", "wide product"),
    "address": ("LOP3.LUT R2,R4,0x1,RZ,0xc0,!PT; LDG.E R5,desc[UR4][R2.64]", "in an address"),
    "branch": (f"{ONE_BIT}; @P0 EXIT", "more than the counter"),
    "condition": (f"{ONE_BIT}; @P0 MOV R5,RZ", "more than the counter"),
    "opcode": ("LEA R6,R4,R4,0x2", "no rule"),
    "store": ("STG.E desc[UR4][R2.64],R4", "something else than the output"),
    "end of the key": ("LDG.E.64 R6,desc[UR4][R2.64]", "not the same for all threads"),
    "byte": ("LDG.E.U8 R6,desc[UR4][R2.64+0x1]", "part of a word"),
    "byte that is stored": ("STG.E.U8 desc[UR4][R2.64],RZ", "part of a word"),
    "distance": ("SHF.R.U32.HI R5,RZ,0x20,R4", "beyond a word"),
    "distance, wrapped": ("SHF.R.W.U64 R5,R4,0x1,RZ", "beyond a word"),
    "register without a value": ("LOP3.LUT R5,R4,R9,RZ,0x3c,!PT", "R9 is used and was never set"),
    "predicate without a value": ("@!P1 MOV R5,R4", "P1 is used and was never set"),
    "stack without a value": ("LDC R1,c[0x0][0x28]; LDL R5,[R1+-0x8]", "never set"),
    "barrier": ("BAR.SYNC 0x0", "exchange"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused(name):
    lines, message = REFUSED[name]
    with pytest.raises(NotProven, match=message):
        run_lines(f"{LOAD}; {lines}")


def test_text_is_not_read_behind_its_result():
    """If input and output are the same memory, it would be the result."""
    lines = f"{LOAD}; LDC.64 R6,c[0x0][0x218]; STG.E desc[UR4][R6.64],R4"
    assert run_lines(lines, name="the text")
    with pytest.raises(NotProven, match="behind the store"):
        run_lines(f"{lines}; LDG.E R5,desc[UR4][R2.64]", name="the text")


# ---- Symbols


def test_an_sbox_is_recognized_in_any_circuit():
    known = symbols.Symbols(standard.SBOX)
    inputs = [known.add(known.key(0, i), known.text(0, i)) for i in range(8)]
    outputs = known.declare(0, 0, 0, inputs)

    def chosen(values):
        """The value with the number that the inputs are, by selecting with one after the other."""
        for bit in inputs:
            pairs = zip(values[1::2], values[::2], strict=True)
            values = [known.logic(0xCA, (bit, one, zero)) for one, zero in pairs]
        return values[0]

    for i in range(8):
        column = [ONE if value >> i & 1 else ZERO for value in standard.SBOX]
        assert chosen(column) == outputs[i]
        column[77] = known.invert(column[77])
        assert chosen(column) != outputs[i]


def test_diagrams_are_equal_if_and_only_if_functions_are():
    generator = random.Random(1)
    known = symbols.Symbols(standard.SBOX)
    diagrams = known.diagrams
    counter = [known.counter(diagrams.variable(i)) for i in range(64)]
    once = standard.plus(known, counter, 0x123456789)
    assert standard.plus(known, standard.plus(known, counter, 0x23456789), 1 << 32) == once
    for _ in range(50):
        number = generator.getrandbits(64)
        bits = [known.of_counter(bit) for bit in once]
        total = sum(diagrams.value(bit, number) << i for i, bit in enumerate(bits))
        assert total == (number + 0x123456789) % (1 << 64)
    a, b, care = (diagrams.variable(i) for i in range(3))
    assert diagrams.within(diagrams.both(a, care), care) == diagrams.within(a, care)
    assert diagrams.within(diagrams.sum(a, b), care) != diagrams.within(a, care)
    assert diagrams.either(a, diagrams.opposite(a)) == decisions.TRUE


def test_functions_of_three_bits():
    known = symbols.Symbols(standard.SBOX)
    variables = [known.diagrams.variable(i) for i in range(3)]
    for table in range(256):
        result = known.of_counter(known.logic(table, list(map(known.counter, variables))))
        for x in range(8):
            bits = (x >> 2 & 1) | (x >> 1 & 1) << 1 | (x & 1) << 2
            assert known.diagrams.value(result, bits) == table >> x & 1
