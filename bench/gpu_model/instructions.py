"""What instructions of NVIDIA's GPUs do: one function for each opcode that the programs use.

A function computes all threads of a group at once, with numpy, where registers are rows of arrays.
Another opcode or form is an error: the model must not guess. There is no public definition of
these instructions; the forms here follow from the PTX that they are compiled from, and the tests
compare what the programs compute with FIPS 197.
"""

import re

import numpy as np
from cubin import split_operands
from integers import (
    add,
    compare,
    minimum,
    multiply_add,
    pack_predicates,
    permute,
    predicate_logic,
    scaled_add,
    shift,
    three_input_logic,
    unpack_predicates,
)
from operands import (
    Unknown,
    address,
    constant_bank,
    elementwise,
    pair_writer,
    place_of,
    read,
    read_pair,
    read_predicate,
    writer,
)

# These do nothing that the model needs: it finds by itself where the threads of a warp meet again.
WITHOUT_EFFECT = {"NOP", "BSSY", "BSYNC", "BREAK", "BMOV", "WARPSYNC"}
CONTROL = {"BRA", "EXIT", "CALL", "RET", "BAR"}
SPACES = ("global", "shared", "local")
BYTES = {"U8": 1, "S8": 1, "U16": 2, "64": 8, "128": 16}


def move(modifiers, texts):
    return elementwise(np.asarray, writer(texts[0]), read(texts[1]))


def select(modifiers, texts):
    inputs = read_predicate(texts[3]), read(texts[1]), read(texts[2])
    return elementwise(np.where, writer(texts[0]), *inputs)

def zero(modifiers, texts):
    if texts[1] != "SRZ":
        raise Unknown("a special register")
    write = writer(texts[0]) if "32" in modifiers else pair_writer(texts[0])
    return lambda g, mask: write(g, mask, np.uint64(0))


def special(modifiers, texts):
    return elementwise(np.asarray, writer(texts[0]), lambda g: g.special(texts[1]))

# Quotients are computed by an estimate in floating point that integers then correct.


def to_float(modifiers, texts):
    if set(modifiers) not in ({"U32", "RP"}, {"U64", "RP"}):
        raise Unknown("a form of I2F")

    def compute(number):
        exact = np.asarray(number).astype(np.uint64)
        value = exact.astype(np.float32)
        below = value.astype(np.float64) < exact.astype(np.float64)
        up = np.where(below, np.nextafter(value, np.float32(np.inf)), value)
        return up.astype(np.float32).view(np.uint32)

    a = read_pair(texts[1]) if "U64" in modifiers else read(texts[1])
    return elementwise(compute, writer(texts[0]), a)


def to_integer(modifiers, texts):
    wide = "U64" in modifiers
    if "TRUNC" not in modifiers or not {"U32", "U64"} & set(modifiers):
        raise Unknown("a form of F2I")

    def compute(word):
        value = np.array(word, dtype=np.uint32).view(np.float32).astype(np.float64)
        value = np.nan_to_num(value, nan=0.0)
        return np.clip(value, 0, 2.0**64 - 2048 if wide else 2.0**32 - 1).astype(np.uint64)

    write = pair_writer(texts[0]) if wide else writer(texts[0])
    return elementwise(compute, write, read(texts[1]))


def reciprocal(modifiers, texts):
    if list(modifiers) != ["RCP"]:
        raise Unknown("a form of MUFU")

    def compute(word):
        with np.errstate(divide="ignore", over="ignore"):
            value = np.float32(1) / np.array(word, dtype=np.uint32).view(np.float32)
        return value.astype(np.float32).view(np.uint32)

    return elementwise(compute, writer(texts[0]), read(texts[1]))


# Tensor cores.


def binary_product(modifiers, texts):
    """BMMA: of 16 rows of a and 8 columns of b, of 256 bits each, the number of ones that both have.
    PTX ISA, "Matrix Fragments for mma.m16n8k256": lane 4 g + w has words w and 4 + w of rows g and
    g + 8 of a and of column g of b, and columns 2 w and 2 w + 1 of the results."""
    if list(modifiers) != ["168256", "AND", "POPC"]:
        raise Unknown("a form of BMMA")
    rows = [place_of(re.sub(r"\.(reuse|ROW|COL)", "", text)) for text in texts]
    if any(place is None or place[0] != "R" for place in rows):
        raise Unknown("operands of BMMA")
    to, a, b, c = (row for _, row in rows)

    def registers(g, first, count):
        """By warp, register, group of four lanes, and lane in it."""
        if first is None:
            return np.zeros((g.threads // 32, count, 8, 4), np.uint32)
        return g.R[first : first + count].reshape(count, -1, 8, 4).transpose(1, 0, 2, 3)

    def compute(g, mask):
        if mask is not None and mask.reshape(-1, 32).any(axis=1).sum() * 32 != mask.sum():
            raise Unknown("BMMA by a part of a warp")
        words, columns = registers(g, a, 4), registers(g, b, 2)
        left = np.empty((len(words), 16, 8), np.uint32)
        left[:, :8, :4], left[:, 8:, :4] = words[:, 0], words[:, 1]
        left[:, :8, 4:], left[:, 8:, 4:] = words[:, 2], words[:, 3]
        right = np.concatenate([columns[:, 0], columns[:, 1]], axis=2)
        ones = np.bitwise_count(left[:, :, None, :] & right[:, None, :, :]).sum(axis=3)
        ones = ones.reshape(len(words), 16, 4, 2).astype(np.uint32)
        sums = np.stack(
            [ones[:, :8, :, 0], ones[:, :8, :, 1], ones[:, 8:, :, 0], ones[:, 8:, :, 1]]
        )
        sums = sums + registers(g, c, 4).transpose(1, 0, 2, 3)
        for i in range(4):
            value = sums[i].reshape(g.threads)
            np.copyto(g.R[to + i], value, where=True if mask is None else mask)

    return compute


# Loads and stores.


def size_of(modifiers):
    return next((BYTES[m] for m in modifiers if m in BYTES), 4)


def load_constant(modifiers, texts):
    size = size_of(modifiers)
    if size > 8 or {"S8", "S16"} & set(modifiers):
        raise Unknown("a form of a load")
    if size == 8:
        return elementwise(np.asarray, pair_writer(texts[0]), read_pair(texts[1]))
    return elementwise(np.asarray, writer(texts[0]), constant_bank(texts[1], size))


def load(space):
    def make(modifiers, texts):
        size, at = size_of(modifiers), address(texts[1], space == "global")
        array, row = place_of(texts[0])
        if {"S8", "S16"} & set(modifiers) or array != "R":
            raise Unknown("a form of a load")

        def compute(g, mask):
            words = g.load(space, at(g), size, mask)
            if row is None:
                return
            for i, word in enumerate(words):
                np.copyto(g.R[row + i], word, where=True if mask is None else mask)

        return compute

    return make


def store(space):
    def make(modifiers, texts):
        size, at = size_of(modifiers), address(texts[0], space == "global")
        array, row = place_of(texts[1].removesuffix(".reuse"))
        if array != "R":
            raise Unknown("a form of a store")
        rows = range(max(size // 4, 1))

        def compute(g, mask):
            words = [g.zeros if row is None else g.R[row + i] for i in rows]
            g.store(space, at(g), size, words, mask)

        return compute

    return make


OPCODES = {
    name: make
    for make, names in (
        (move, ("MOV", "UMOV", "R2UR")),
        (select, ("SEL", "USEL")),
        (multiply_add, ("IMAD", "UIMAD")),
        (add, ("IADD3", "UIADD3", "IADD", "VIADD", "UIADD")),
        (scaled_add, ("LEA", "ULEA")),
        (shift, ("SHF", "USHF")),
        (three_input_logic, ("LOP3", "ULOP3")),
        (predicate_logic, ("PLOP3", "UPLOP3")),
        (permute, ("PRMT", "UPRMT")),
        (compare, ("ISETP", "UISETP")),
        (minimum, ("IMNMX", "VIMNMX", "UVIMNMX", "VIADDMNMX")),
        (zero, ("CS2R",)),
        (special, ("S2R", "S2UR")),
        (pack_predicates, ("P2R",)),
        (unpack_predicates, ("R2P",)),
        (to_float, ("I2F",)),
        (to_integer, ("F2I",)),
        (reciprocal, ("MUFU",)),
        (binary_product, ("BMMA",)),
        (load_constant, ("LDC", "ULDC")),
        *((load(space), (f"LD{space[0].upper()}",)) for space in SPACES),
        *((store(space), (f"ST{space[0].upper()}",)) for space in SPACES),
    )
    for name in names
}


def compile_instruction(opcode, operands):
    """The function of an instruction, or None if it has no effect."""
    name, *modifiers = opcode.split(".")
    if name in WITHOUT_EFFECT or name in CONTROL:
        return None
    if name not in OPCODES:
        raise Unknown("an unknown opcode")
    if name == "P2R":
        operands = operands.removeprefix("PR,")
    return OPCODES[name](modifiers, split_operands(operands))
