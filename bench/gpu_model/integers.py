"""Arithmetic, logic and comparisons of integers, a function for each opcode.

Each makes a function of a group and a mask of threads. A mask of None means all.
"""

import functools

import numpy as np
from operands import (
    WORD,
    ZERO,
    Sum,
    Unknown,
    elementwise,
    is_predicate,
    narrow,
    pair_writer,
    read,
    read_pair,
    read_predicate,
    read_wide,
    signed,
    writer,
)


@functools.cache
def logic_functions():
    """For each table of LOP3, a short expression: found by combining shorter ones."""
    known = {0xF0: "a", 0xCC: "b", 0xAA: "c", 0: "z", 0xFF: "~z"}
    while len(known) < 256:
        before = sorted(known.items(), key=lambda entry: len(entry[1]))
        for table, text in before:
            known.setdefault(table ^ 0xFF, f"~({text})")
        for x, left in before:
            for y, right in before:
                for table, sign in ((x & y, "&"), (x | y, "|"), (x ^ y, "^")):
                    known.setdefault(table, f"({left}){sign}({right})")
    return known


@functools.cache
def logic(table):
    text = logic_functions()[table].replace("z", "ZERO")
    return eval(f"lambda a, b, c: {text}", {"ZERO": ZERO})


def multiply_add(modifiers, texts):
    kinds = set(modifiers) - {"MOV", "SHL", "IADD", "U32"}
    if kinds - {"WIDE", "HI", "X"} or ("HI" in kinds and "U32" not in modifiers):
        raise Unknown("a form of IMAD")
    if "WIDE" in kinds and "U32" not in modifiers:
        raise Unknown("a signed IMAD.WIDE")
    total = Sum(texts[1:])
    if not kinds:
        a, b, c = map(read, total.terms)
        return elementwise(
            lambda a, b, c: np.multiply(a, b, dtype=np.uint32) + np.asarray(c),
            *(writer(texts[0]), a, b, c),
        )
    a, b = map(read_wide, total.terms[:2])
    if "WIDE" in kinds or "HI" in kinds:
        write = writer(texts[0]) if "HI" in kinds else pair_writer(texts[0])
        c = read_pair(total.terms[2])

        def wide(g, mask):
            addend = total.with_carries(g, c(g))
            value = np.asarray(a(g) * b(g)) + addend
            over = np.asarray(value < addend)
            write(g, mask, narrow(value >> np.uint64(32)) if "HI" in kinds else value)
            for carry in total.carries:
                carry(g, mask, over)

        return wide
    c = read_wide(total.terms[2])
    return total.writer(writer(texts[0]), lambda g: (a(g) * b(g) & WORD) + c(g))


def sum_words(*words):
    return functools.reduce(functools.partial(np.add, dtype=np.uint32), words)


def add(modifiers, texts):
    write, total = writer(texts[0]), Sum(texts[1:])
    if set(modifiers) - {"X"} or (total.into and "X" not in modifiers):
        raise Unknown("a form of an addition")
    if not total.carries and not total.into:
        return elementwise(sum_words, write, *map(read, total.terms))
    terms = [read_wide(text) for text in total.terms]
    return total.writer(write, lambda g: functools.reduce(np.add, [term(g) for term in terms]))


def scaled_add(modifiers, texts):
    """LEA: a << s, or the high word of that of two words, plus b."""
    total = Sum(texts[1:])
    if set(modifiers) - {"HI", "X"}:
        raise Unknown("a form of LEA")
    *words, count = total.terms
    shift = np.uint64(int(count, 0))
    a, b = read_wide(words[0]), read_wide(words[1])
    c = read_wide(words[2]) if "HI" in modifiers else None

    def compute(g):
        if c is None:
            return (a(g) << shift & WORD) + b(g)
        return (((c(g) << np.uint64(32) | a(g)) << shift) >> np.uint64(32)) + b(g)

    return total.writer(writer(texts[0]), compute)


def shift(modifiers, texts):
    """SHF: of the two words c:a, shifted by b. Without W, counts beyond the width shift all out."""
    write, a, b, c = writer(texts[0]), read_wide(texts[1]), read(texts[2]), read_wide(texts[3])
    left, high, wrap = "L" in modifiers, "HI" in modifiers, "W" in modifiers
    kind = next(m for m in modifiers if m in ("U32", "S32", "U64", "S64"))
    if kind == "S64" or (kind == "S32" and (left or wrap or not high)):
        raise Unknown("a form of SHF")

    def compute(g, mask):
        count = np.asarray(b(g)).astype(np.uint64)
        if wrap:
            count = count & np.uint64(31)
        low, top = np.asarray(a(g)), np.asarray(c(g))
        if kind == "S32":
            count = np.minimum(count, np.uint64(31)).astype(np.int32)
            return write(g, mask, (signed(narrow(top)) >> count).view(np.uint32))
        both = top << np.uint64(32) | low
        within = np.minimum(count, np.uint64(63))
        value = np.where(count == within, both << within if left else both >> within, np.uint64(0))
        return write(g, mask, narrow(value >> np.uint64(32) if high else value))

    return compute


def three_input_logic(modifiers, texts):
    if set(modifiers) != {"LUT"}:
        raise Unknown("a form of LOP3")
    condition = None
    if is_predicate(texts[0]):
        condition, texts = writer(texts[0]), texts[1:]
    write = writer(texts[0])
    a, b, c = (read(text) for text in texts[1:4])
    compute, more = logic(int(texts[4], 16)), read_predicate(texts[5])
    if condition is None:
        return lambda g, mask: write(g, mask, compute(a(g), b(g), c(g)))

    def both(g, mask):
        value = np.asarray(compute(a(g), b(g), c(g)))
        condition(g, mask, (value != 0) | more(g))
        write(g, mask, value)

    return both


def predicate_logic(modifiers, texts):
    first, second = writer(texts[0]), writer(texts[1])
    inputs = [read_predicate(text) for text in texts[2:5]]
    one, two = (logic(int(text, 16)) for text in texts[5:7])

    def compute(g, mask):
        values = [p(g) for p in inputs]
        other = np.asarray(two(*values)).astype(bool)
        first(g, mask, np.asarray(one(*values)).astype(bool))
        second(g, mask, other)

    return compute


def permute(modifiers, texts):
    if modifiers:
        raise Unknown("a form of PRMT")

    def compute(a, digits, b):
        both = np.asarray(b << np.uint64(32) | a)
        total = np.uint64(0)
        for i in range(4):
            digit = digits >> np.uint64(4 * i)
            byte = both >> (np.uint64(8) * (digit & np.uint64(7))) & np.uint64(255)
            sign = np.where(byte >= 128, np.uint64(255), np.uint64(0))
            byte = np.where(digit & np.uint64(8), sign, byte)
            total = total | byte << np.uint64(8 * i)
        return narrow(total)

    return elementwise(compute, writer(texts[0]), *map(read_wide, texts[1:4]))


COMPARISONS = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
STRICT = {"LE": np.less, "GE": np.greater, "LT": np.less, "GT": np.greater}


def compare(modifiers, texts):
    name, *kinds = modifiers
    extended = "EX" in kinds
    combine = np.logical_and if "AND" in kinds else np.logical_or
    if not {"AND", "OR"} & set(kinds) or set(kinds) - {"AND", "OR", "EX", "U32"}:
        raise Unknown("a form of ISETP")
    unsigned = "U32" in kinds
    first, second = writer(texts[0]), writer(texts[1])
    a, b, other = read(texts[2]), read(texts[3]), read_predicate(texts[4])
    low = read_predicate(texts[5]) if extended else None

    def compute(g, mask):
        x, y = np.asarray(a(g)), np.asarray(b(g))
        if not unsigned:
            x, y = signed(x), signed(y)
        if not extended:
            result = COMPARISONS[name](x, y)
        elif name == "NE":
            result = (x != y) | low(g)
        else:
            strictly = STRICT[name](x, y) if name in STRICT else np.bool_(False)
            result = strictly | ((x == y) & low(g))
        p = np.asarray(other(g))
        inverse = combine(~result, p)
        first(g, mask, combine(result, p))
        second(g, mask, inverse)

    return compute


def minimum(modifiers, texts):
    if set(modifiers) != {"U32"}:
        raise Unknown("a signed minimum")

    def compute(p, y, *terms):
        x = sum_words(*terms)  # several in VIADDMNMX
        return np.where(p, np.minimum(x, y), np.maximum(x, y))

    *terms, last = map(read, texts[1:-1])
    return elementwise(compute, writer(texts[0]), read_predicate(texts[-1]), last, *terms)


def pack_predicates(modifiers, texts):
    """P2R: a with the predicates in its low bits, as far as the mask has ones there."""
    write, a, chosen = writer(texts[0]), read(texts[1]), int(texts[2], 16)

    def compute(g, mask):
        value = np.asarray(a(g)) & np.uint32(~chosen & 0xFFFFFFFF)
        for i in range(7):
            if chosen >> i & 1:
                value = value | g.P[i].astype(np.uint32) << np.uint32(i)
        write(g, mask, value)

    return compute


def unpack_predicates(modifiers, texts):
    """R2P: sets the predicates that the mask names to the low bits of a."""
    a, chosen = read(texts[1]), int(texts[2], 16)
    if modifiers or texts[0] != "PR":
        raise Unknown("a form of R2P")
    writers = [(i, writer(f"P{i}")) for i in range(7) if chosen >> i & 1]

    def compute(g, mask):
        value = np.array(a(g))
        for i, write in writers:
            write(g, mask, (value >> np.uint32(i) & np.uint32(1)).astype(bool))

    return compute
