"""What instructions of NVIDIA's GPUs do: one function for each opcode that the programs use.

A function computes all threads of a group at once, with numpy, where registers are rows of arrays.
Another opcode or form is an error: the model must not guess. There is no public definition of
these instructions; the forms here follow from the PTX that they are compiled from, and the tests
compare what the programs compute with FIPS 197.
"""

import functools
import re

import numpy as np
from cubin import split_operands

WORD = np.uint64(0xFFFFFFFF)
TOP = np.uint64(1) << np.uint64(32)
ZERO = np.uint32(0)

# These do nothing that the model needs: it finds by itself where the threads of a warp meet again.
WITHOUT_EFFECT = {"NOP", "BSSY", "BSYNC", "BREAK", "BMOV", "WARPSYNC"}
CONTROL = {"BRA", "EXIT", "CALL", "RET", "BAR"}
BYTES = {"U8": 1, "S8": 1, "U16": 2, "64": 8, "128": 16}


class Unknown(Exception):
    """An instruction, or a form of one, that is not modelled."""


# ---- Operands


def place_of(text):
    """The array and the row of a register, or None: R3, UR3, P3, UP3. RZ and PT are constants."""
    found = re.fullmatch(r"(R|UR|P|UP)(\d+|Z|T)", text)
    if not found:
        return None
    return found[1], None if found[2] in "ZT" else int(found[2])


def bare(text):
    """An operand without its sign and without hints to the register file."""
    return re.sub(r"\.(reuse|64)(?=\.|$)", "", text.lstrip("-~!"))


def constant_of(text):
    if re.fullmatch(r"-?0x[0-9a-f]+|-?\d+", text):
        return np.uint32(int(text, 0) & 0xFFFFFFFF)
    return None


def read(text):
    """A function that returns a word of each thread."""
    if (number := constant_of(text)) is not None:
        return lambda g: number
    sign, name = text[0] if text[0] in "-~" else "", bare(text)
    if name.startswith("c["):
        plain = constant_bank(name, 4)
    elif (place := place_of(name)) is None or place[0] not in ("R", "UR"):
        raise Unknown(f"operand {text}")
    elif place[1] is None:
        plain = lambda g: ZERO  # noqa: E731
    else:
        array, row = place
        plain = (lambda g: g.R[row]) if array == "R" else (lambda g: g.UR[row])
    if sign == "-":
        return lambda g: np.subtract(ZERO, plain(g), dtype=np.uint32)
    if sign == "~":
        return lambda g: ~plain(g)
    return plain


def read_wide(text):
    """The same as 64-bit numbers, for sums with a carry: there -x is 2^32 - x."""
    if text[0] != "-" or constant_of(text) is not None:
        narrow = read(text)
        return lambda g: np.asarray(narrow(g)).astype(np.uint64)
    positive = read(text[1:])
    return lambda g: TOP - np.asarray(positive(g)).astype(np.uint64)


def read_pair(text):
    """A function that returns two words of each thread as one number."""
    name = bare(text)
    if name.startswith("c["):
        low, high = constant_bank(name, 4), constant_bank(name, 4, 4)
    elif (place := place_of(name)) is not None and place[1] is not None:
        low, high = read(name), read(f"{place[0]}{place[1] + 1}")
    else:
        low, high = read(name), lambda g: ZERO
    if text[0] in "-~":
        raise Unknown(f"operand {text}")
    return lambda g: (
        np.asarray(low(g)).astype(np.uint64)
        | np.asarray(high(g)).astype(np.uint64) << np.uint64(32)
    )


def read_predicate(text):
    place = place_of(bare(text))
    if place is None or place[0] not in ("P", "UP"):
        raise Unknown(f"predicate {text}")
    array, row = place
    if row is None:
        value = np.bool_(text[0] != "!")
        return lambda g: value
    plain = (lambda g: g.P[row]) if array == "P" else (lambda g: g.UP[row])
    return (lambda g: ~plain(g)) if text[0] == "!" else plain


def constant_bank(text, size, more=0):
    found = re.fullmatch(r"c\[0x([0-9a-f]+)\]\[(.+)\]", text)
    if not found:
        raise Unknown(f"operand {text}")
    bank, at = int(found[1], 16), address(f"[{found[2]}]")
    return lambda g: g.constants(bank, at(g) + np.uint64(more), size)


def address(text, wide=False):
    """A function that returns an address of each thread, from [R2.64+UR4+0x10] and the like.
    `wide`: registers are pairs, as on sm_75, unless they say otherwise."""
    inner = text[text.rindex("[") + 1 : -1] if text.startswith("desc[") else text[1:-1]
    terms, offset = [], 0
    for part in re.findall(r"[-+]?[^-+]+", inner):
        part = part.lstrip("+")
        if re.fullmatch(r"-?0x[0-9a-f]+", part):
            offset += int(part, 16)
            continue
        name, *suffixes = part.split(".")
        scale = next((int(s[1:]) for s in suffixes if re.fullmatch(r"X\d+", s)), 1)
        if not set(suffixes) <= {"64", "U32", "reuse", f"X{scale}"}:
            raise Unknown(f"address {text}")
        pair = "64" in suffixes or (wide and "U32" not in suffixes)
        word = read_pair(name) if pair else read_wide(name)
        terms.append((word, np.uint64(scale)))
    first = np.uint64(offset & 0xFFFFFFFFFFFFFFFF)

    def total(g):
        at = np.full(g.threads, first)
        for word, scale in terms:
            at += word(g) * scale
        return at

    return total


# ---- Results


def writer(text):
    """A function that sets a register of the threads in a mask; a mask of None means all."""
    place = place_of(text.removesuffix(".reuse"))
    if place is None:
        raise Unknown(f"result {text}")
    array, row = place
    if row is None:
        return lambda g, mask, value: None

    def write(g, mask, value):
        rows = getattr(g, array)
        if mask is None:
            rows[row] = value
        else:
            np.copyto(rows[row], value, where=mask)

    return write


def pair_writer(text):
    array, row = place_of(text)
    if row is None:
        return lambda g, mask, value: None
    low, high = writer(text), writer(f"{array}{row + 1}")

    def write(g, mask, value):
        low(g, mask, narrow(value))
        high(g, mask, narrow(value >> np.uint64(32)))

    return write


def narrow(value):
    return np.asarray(value & WORD).astype(np.uint32)


def signed(value):
    return np.asarray(value).astype(np.uint32).view(np.int32)


def is_predicate(text):
    place = place_of(bare(text))
    return place is not None and place[0] in ("P", "UP")


def carries_of(texts):
    """The writers of the carries that follow a sum, and the operands after them."""
    count = 0
    while count < len(texts) and is_predicate(texts[count]):
        count += 1
    return [writer(text) for text in texts[:count]], texts[count:]


def plus_carries(total, into, g):
    """A sum with the carries of earlier ones."""
    for carry in into:
        total = total + np.asarray(carry(g)).astype(np.uint64)
    return total


def write_carries(writers, g, mask, total):
    carry = total >> np.uint64(32)
    for number, write in enumerate(writers):
        write(g, mask, carry > np.uint64(number))


# ---- Logic


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


def truth(table):
    """The same for truth values."""

    def value(a, b, c):
        index = (
            np.asarray(a).astype(np.uint8) << 2
            | np.asarray(b).astype(np.uint8) << 1
            | np.asarray(c).astype(np.uint8)
        )
        return (np.uint8(table) >> index & 1).astype(bool)

    return value


# ---- The opcodes: each makes a function of a group and a mask


def move(modifiers, texts):
    write, value = writer(texts[0]), read(texts[1])
    return lambda g, mask: write(g, mask, value(g))


def select(modifiers, texts):
    write, a, b, p = writer(texts[0]), read(texts[1]), read(texts[2]), read_predicate(texts[3])
    return lambda g, mask: write(g, mask, np.where(p(g), a(g), b(g)))


def multiply_add(modifiers, texts):
    kinds = set(modifiers) - {"MOV", "SHL", "IADD", "U32"}
    if kinds - {"WIDE", "HI", "X"} or ("HI" in kinds and "U32" not in modifiers):
        raise Unknown("a form of IMAD")
    if "WIDE" in kinds and "U32" not in modifiers:
        raise Unknown("a signed IMAD.WIDE")
    carries, (a, b, c, *carry_in) = carries_of(texts[1:])
    if not kinds:
        write, a, b, c = writer(texts[0]), read(a), read(b), read(c)
        return lambda g, mask: write(
            g, mask, np.multiply(a(g), b(g), dtype=np.uint32) + np.asarray(c(g))
        )
    into = [read_predicate(text) for text in carry_in]
    a, b = read_wide(a), read_wide(b)
    if "WIDE" in kinds or "HI" in kinds:
        write = writer(texts[0]) if "HI" in kinds else pair_writer(texts[0])
        c = read_pair(c)

        def wide(g, mask):
            total = np.asarray(a(g) * b(g))
            addend = plus_carries(c(g), into, g)
            total = total + addend
            over = np.asarray(total < addend)
            write(g, mask, narrow(total >> np.uint64(32)) if "HI" in kinds else total)
            for carry in carries:
                carry(g, mask, over)

        return wide
    write, c = writer(texts[0]), read_wide(c)

    def with_carry(g, mask):
        total = (a(g) * b(g) & WORD) + c(g)
        total = plus_carries(total, into, g)
        write(g, mask, narrow(total))
        write_carries(carries, g, mask, total)

    return with_carry


def add(modifiers, texts):
    write = writer(texts[0])
    carries, rest = carries_of(texts[1:])
    into = [read_predicate(text) for text in rest if is_predicate(text)]
    terms = [text for text in rest if not is_predicate(text)]
    if set(modifiers) - {"X"} or (into and "X" not in modifiers):
        raise Unknown("a form of an addition")
    if not carries and not into:
        terms = [read(text) for text in terms]

        def plain(g, mask):
            total = np.asarray(terms[0](g))
            for term in terms[1:]:
                total = np.add(total, term(g), dtype=np.uint32)
            write(g, mask, total)

        return plain
    terms = [read_wide(text) for text in terms]

    def with_carry(g, mask):
        total = np.asarray(terms[0](g))
        for term in terms[1:]:
            total = total + term(g)
        total = plus_carries(total, into, g)
        write(g, mask, narrow(total))
        write_carries(carries, g, mask, total)

    return with_carry


def scaled_add(modifiers, texts):
    """LEA: a << s, or the high word of that of two words, plus b."""
    write = writer(texts[0])
    carries, rest = carries_of(texts[1:])
    into = [read_predicate(text) for text in rest if is_predicate(text)]
    words = [text for text in rest if not is_predicate(text)]
    if set(modifiers) - {"HI", "X"}:
        raise Unknown("a form of LEA")
    shift = np.uint64(int(words[-1], 0))
    a, b = read_wide(words[0]), read_wide(words[1])
    c = read_wide(words[2]) if "HI" in modifiers else None

    def compute(g, mask):
        value = np.asarray(a(g))
        if c is None:
            value = value << shift & WORD
        else:
            value = ((c(g) << np.uint64(32) | value) << shift) >> np.uint64(32)
        total = value + b(g)
        total = plus_carries(total, into, g)
        write(g, mask, narrow(total))
        write_carries(carries, g, mask, total)

    return compute


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
        if not high and left:
            # One word: the low one.
            beyond = count > np.uint64(31)
            value = np.where(beyond, np.uint64(0), low << np.minimum(count, np.uint64(31)))
        elif kind == "U32" and high and not left:
            beyond = count > np.uint64(31)
            value = np.where(beyond, np.uint64(0), top >> np.minimum(count, np.uint64(31)))
        else:
            both = top << np.uint64(32) | low
            beyond = count > np.uint64(63)
            count = np.minimum(count, np.uint64(63))
            value = both << count if left else both >> count
            value = np.where(beyond, np.uint64(0), value)
            if high:
                value = value >> np.uint64(32)
        return write(g, mask, narrow(value))

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
    one, two = (truth(int(text, 16)) for text in texts[5:7])

    def compute(g, mask):
        values = [p(g) for p in inputs]
        other = two(*values)
        first(g, mask, one(*values))
        second(g, mask, other)

    return compute


def permute(modifiers, texts):
    if modifiers:
        raise Unknown("a form of PRMT")
    write, a, selector, b = (
        writer(texts[0]),
        read_wide(texts[1]),
        read_wide(texts[2]),
        read_wide(texts[3]),
    )

    def compute(g, mask):
        both = np.asarray(b(g) << np.uint64(32) | a(g))
        digits = selector(g)
        total = np.uint64(0)
        for i in range(4):
            digit = digits >> np.uint64(4 * i)
            byte = both >> (np.uint64(8) * (digit & np.uint64(7))) & np.uint64(255)
            sign = np.where(byte >= 128, np.uint64(255), np.uint64(0))
            byte = np.where(digit & np.uint64(8), sign, byte)
            total = total | byte << np.uint64(8 * i)
        write(g, mask, narrow(total))

    return compute


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
    write, p = writer(texts[0]), read_predicate(texts[-1])
    *terms, last = (read(text) for text in texts[1:-1])
    if set(modifiers) != {"U32"}:
        raise Unknown("a signed minimum")

    def compute(g, mask):
        x = np.asarray(terms[0](g))
        for term in terms[1:]:  # VIADDMNMX
            x = np.add(x, term(g), dtype=np.uint32)
        y = last(g)
        write(g, mask, np.where(p(g), np.minimum(x, y), np.maximum(x, y)))

    return compute


def zero(modifiers, texts):
    if texts[1] != "SRZ":
        raise Unknown("a special register")
    write = writer(texts[0]) if "32" in modifiers else pair_writer(texts[0])
    none = np.uint32(0) if "32" in modifiers else np.uint64(0)
    return lambda g, mask: write(g, mask, none)


def special(modifiers, texts):
    write, name = writer(texts[0]), texts[1]
    return lambda g, mask: write(g, mask, g.special(name))


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


# Quotients are computed by an estimate in floating point that integers then correct.


def to_float(modifiers, texts):
    write, wide = writer(texts[0]), "U64" in modifiers
    a = read_pair(texts[1]) if wide else read(texts[1])
    if set(modifiers) not in ({"U32", "RP"}, {"U64", "RP"}):
        raise Unknown("a form of I2F")

    def compute(g, mask):
        exact = np.asarray(a(g)).astype(np.uint64)
        value = exact.astype(np.float32)
        below = value.astype(np.float64) < exact.astype(np.float64)
        up = np.where(below, np.nextafter(value, np.float32(np.inf)), value)
        write(g, mask, up.astype(np.float32).view(np.uint32))

    return compute


def to_integer(modifiers, texts):
    a, wide = read(texts[1]), "U64" in modifiers
    write = pair_writer(texts[0]) if wide else writer(texts[0])
    if "TRUNC" not in modifiers or not {"U32", "U64"} & set(modifiers):
        raise Unknown("a form of F2I")

    def compute(g, mask):
        value = np.array(a(g), dtype=np.uint32).view(np.float32).astype(np.float64)
        value = np.nan_to_num(value, nan=0.0)
        top = 2.0**64 - 2048 if wide else 2.0**32 - 1
        number = np.clip(value, 0, top).astype(np.uint64)
        write(g, mask, number if wide else narrow(number))

    return compute


def reciprocal(modifiers, texts):
    if list(modifiers) != ["RCP"]:
        raise Unknown("a form of MUFU")
    write, a = writer(texts[0]), read(texts[1])

    def compute(g, mask):
        with np.errstate(divide="ignore", over="ignore"):
            value = np.float32(1) / np.array(a(g), dtype=np.uint32).view(np.float32)
        write(g, mask, value.astype(np.float32).view(np.uint32))

    return compute


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
    word = constant_bank(texts[1], min(size, 4))
    if size > 8 or "S8" in modifiers:
        raise Unknown("a form of a load")
    if size < 8:
        write = writer(texts[0])
        return lambda g, mask: write(g, mask, word(g))
    write, pair = pair_writer(texts[0]), read_pair(texts[1])
    return lambda g, mask: write(g, mask, pair(g))


def load(space):
    def make(modifiers, texts):
        size, at = size_of(modifiers), address(texts[1], space == "global")
        array, row = place_of(texts[0])
        if "S8" in modifiers or array != "R":
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
    "MOV": move,
    "UMOV": move,
    "R2UR": move,
    "SEL": select,
    "USEL": select,
    "IMAD": multiply_add,
    "UIMAD": multiply_add,
    "IADD3": add,
    "UIADD3": add,
    "IADD": add,
    "VIADD": add,
    "UIADD": add,
    "LEA": scaled_add,
    "ULEA": scaled_add,
    "SHF": shift,
    "USHF": shift,
    "LOP3": three_input_logic,
    "ULOP3": three_input_logic,
    "PLOP3": predicate_logic,
    "UPLOP3": predicate_logic,
    "PRMT": permute,
    "UPRMT": permute,
    "ISETP": compare,
    "UISETP": compare,
    "IMNMX": minimum,
    "VIMNMX": minimum,
    "UVIMNMX": minimum,
    "VIADDMNMX": minimum,
    "CS2R": zero,
    "S2R": special,
    "S2UR": special,
    "P2R": pack_predicates,
    "R2P": unpack_predicates,
    "I2F": to_float,
    "F2I": to_integer,
    "MUFU": reciprocal,
    "BMMA": binary_product,
    "LDC": load_constant,
    "ULDC": load_constant,
    "LDG": load("global"),
    "STG": store("global"),
    "LDS": load("shared"),
    "STS": store("shared"),
    "LDL": load("local"),
    "STL": store("local"),
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
