"""What an instruction reads and writes, by its operands."""

import re

import operands as texts_of
from cubin import split_operands

REGISTER = re.compile(r"(?<![A-Za-z0-9_])(UR|UP|R|P)(\d+)((?:\.\w+)*)")
PAIRS = {"CS2R", "F2I"}  # whose result is two registers unless they say 32


def registers_in(text):
    """The registers of an operand, with a pair where it says 64."""
    for kind, number, suffixes in REGISTER.findall(text):
        yield kind, int(number)
        if ".64" in suffixes:
            yield kind, int(number) + 1


def words_of(modifiers):
    return {"64": 2, "128": 4}.get(next((m for m in modifiers if m in ("64", "128")), ""), 1)


class Shape:
    """The registers of one instruction, and the texts of its operands."""

    def __init__(self, opcode, text, guard):
        self.name, *self.modifiers = opcode.split(".")
        if self.name == "P2R":
            text = text.removeprefix("PR,")
        self.texts = split_operands(text)
        self.guard, self.reads, self.writes = guard, set(), []
        if guard:
            self.reads.update(registers_in(guard))
        kind = self.name.lstrip("U")
        given = list(self.texts)
        if kind in ("STG", "STL", "STS"):
            self.add_reads(given[0])
            self.add_wide(given[1], words_of(self.modifiers))
            return
        if kind in ("BRA", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "NOP", "BAR", "BREAK", "WARPSYNC"):
            for operand in given:
                self.add_reads(operand)
            return
        if kind == "P2R":
            self.add_write(given[0])
            self.add_reads(given[1])
            self.reads.update(("P", i) for i in range(7) if int(given[2], 16) >> i & 1)
            return
        if kind == "R2P":
            self.add_reads(given[1])
            self.writes += [("P", i) for i in range(7) if int(given[2], 16) >> i & 1]
            return
        if kind == "LOP3" and texts_of.is_predicate(given[0]):
            self.add_write(given.pop(0))
        results = [given.pop(0)]
        if kind in ("ISETP", "PLOP3"):
            results.append(given.pop(0))
        elif kind in ("IMAD", "IADD3", "IADD", "LEA", "VIADD"):
            while texts_of.is_predicate(given[0]) and given[0][0] != "!":
                results.append(given.pop(0))
        count = words_of(self.modifiers) if kind in ("LDG", "LDL", "LDS", "LDC") else 1
        if kind in PAIRS and "32" not in self.modifiers and "U32" not in self.modifiers:
            count = 2
        if kind == "IMAD" and "WIDE" in self.modifiers:
            count = 2
        for i, result in enumerate(results):
            self.add_write(result, count if i == 0 else 1)
        wide = (kind == "LDC" and "64" in self.modifiers) or (kind == "I2F" and "U64" in self.modifiers)
        for i, operand in enumerate(given):
            if wide or (kind == "IMAD" and i == 2 and {"WIDE", "HI"} & set(self.modifiers)):
                self.add_wide(operand, 2)
            else:
                self.add_reads(operand)

    def add_reads(self, text):
        self.reads.update(registers_in(text))

    def add_wide(self, text, count):
        for kind, number in registers_in(text):
            self.reads.update((kind, number + i) for i in range(count))

    def add_write(self, text, count=1):
        found = texts_of.place_of(texts_of.bare(text))
        if found is not None and found[1] is not None:
            self.writes += [(found[0], found[1] + i) for i in range(count)]
