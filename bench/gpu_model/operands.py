"""Operands of NVIDIA's instructions: what each reads from a group of threads, and where it writes.

Registers are rows of arrays, with a column for each thread of the group.
"""

import re

import numpy as np

WORD = np.uint64(0xFFFFFFFF)
TOP = np.uint64(1) << np.uint64(32)
ZERO = np.uint32(0)

class Unknown(Exception):
    """An instruction, or a form of one, that is not modelled."""


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


def elementwise(compute, write, *inputs):
    """A function that writes what `compute` makes of the inputs of each thread."""
    return lambda g, mask: write(g, mask, compute(*[value(g) for value in inputs]))


class Sum:
    """The operands of a sum behind its result: its own carries, its terms, carries of earlier sums."""

    def __init__(self, texts):
        terms = [i for i, text in enumerate(texts) if not is_predicate(text)]
        self.terms = [texts[i] for i in terms]
        self.carries = [writer(text) for text in texts[: terms[0]]]
        self.into = [read_predicate(text) for text in texts[terms[0] :] if is_predicate(text)]

    def with_carries(self, g, total):
        for carry in self.into:
            total = total + np.asarray(carry(g)).astype(np.uint64)
        return total

    def writer(self, write, compute):
        """A function that writes the sum of compute(g) and the earlier carries, and its carries."""

        def finish(g, mask):
            total = self.with_carries(g, compute(g))
            write(g, mask, narrow(total))
            for number, carry in enumerate(self.carries):
                carry(g, mask, total >> np.uint64(32) > np.uint64(number))

        return finish
