"""Runs the machine code of an entry with symbols for what is secret, beside the numbers of the model.

The numbers decide where the code goes. A register that depends on a key, a counter or a text has a
word of symbols besides its numbers: one for all threads, if they are the same for each, where a
thread names the bits of its own blocks. Whatever has no symbols is the same for all keys, counters
and texts, because each instruction with symbols among its operands has symbols as its result, or is
refused: as an address, as a condition of other things than the counter, or by an opcode without a
rule in rules.py.

Where a branch depends on the counter, `Machine.path` gathers what the numbers have decided. What is
shown then holds for all counters of that path.
"""

import collections

import numpy as np
from decisions import FALSE, TRUE
from rules import Rules
from shapes import Shape, registers_in, words_of
from symbols import NotProven
from words import PerThread, is_constant

SHARED = {"LDS", "STS", "BAR"}  # through which threads reach each other


class Rows:
    """An array of registers that notes which rows are used, and which of them are set."""

    def __init__(self, kind, content, used, changed):
        self.kind, self.content, self.used, self.changed = kind, content, used, changed

    def __getitem__(self, row):
        self.used.add((self.kind, row))
        return self.content[row]

    def __setitem__(self, row, value):
        self.changed.add((self.kind, row))
        self.content[row] = value


class Machine(Rules):
    """A group of which one warp runs with symbols."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.used, self.changed = set(), set()
        for kind in ("R", "UR", "P", "UP"):
            setattr(self, kind, Rows(kind, getattr(self, kind), self.used, self.changed))
        self.set_by = {}  # the threads that have set a register or a word of the stack
        self.path = TRUE
        self.decisions = []
        self.shapes = {}
        self.checked = set()
        self.executed = 0
        self.symbolic = collections.Counter()  # by instruction: how often it had to do with symbols
        self.evaluate = None  # for checks: the value of a bit in a thread

    # ---- Execution

    def shape_of(self, at):
        if at not in self.shapes:
            text = self.entry.texts[at]
            guard = text.split(" ")[0] if text.startswith("@") else ""
            opcode, _, rest = text.removeprefix(guard).strip().partition(" ")
            self.shapes[at] = Shape(opcode, rest, guard[1:])
        return self.shapes[at]

    def step(self, at, mask, some):
        entry = self.entry
        action, guard = entry.actions[at], entry.guards[at]
        chosen = some
        shape = self.shape_of(at)
        if guard is not None:
            self.require_set(registers_in(shape.guard), mask[self.lanes])
            self.decide(shape.guard, mask)
            chosen = np.broadcast_to(guard(self), mask.shape) & mask
            if not chosen.any():
                return
        here = np.ones(len(self.lanes), bool) if chosen is None else chosen[self.lanes]
        written = {}
        touched = False
        if here.any():
            self.executed += 1
            self.refuse_shared(shape)
            self.require_set(self.sources(shape), here)
            held = len(self.stack)
            written, touched = self.symbolic_results(shape)
            if (touched or len(self.stack) != held) and not here.all():
                raise NotProven("symbols where the threads of the warp diverge")
        self.active = some
        self.used.clear()
        self.changed.clear()
        first = at not in self.checked
        before = self.registers() if first else None
        action(self, chosen)
        if first:
            self.check_shape(at, shape, before)
        if here.any():
            for place in self.targets(shape):
                self.set_by[place] = self.set_by.get(place, False) | here
            for place in shape.writes:
                self.shadows.pop(place, None)
            self.shadows.update(written)
            if self.evaluate is not None and written:
                self.compare_with_numbers(written)

    # ---- What has a value: registers and the stack are zero in the model, and anything on a chip

    def words_of_stack(self, shape, name, operand):
        if shape.name != name:
            return set()
        at = self.place_in_stack(shape.texts[operand])
        return {("stack", at + 4 * i) for i in range(words_of(shape.modifiers))}

    def sources(self, shape):
        return shape.reads | self.words_of_stack(shape, "LDL", 1)

    def targets(self, shape):
        return self.words_of_stack(shape, "STL", 0) | set(shape.writes)

    def require_set(self, places, here):
        for kind, row in places:
            if not (self.set_by.get((kind, row), False) | ~here).all():
                raise NotProven(f"{kind}{row} is used and was never set")

    def symbolic_results(self, shape):
        """The symbols of the results, and whether the instruction has to do with symbols."""
        involved = [place for place in shape.reads if place in self.shadows]
        if shape.name in self.ACCESSES:
            operand = shape.texts[0] if shape.name in ("STG", "STL") else shape.texts[1]
            if any(place in self.shadows for place in registers_in(operand)):
                raise NotProven("symbols in an address")
            written = self.ACCESSES[shape.name](self, shape)
            touched = bool(involved or written) or any(p in self.shadows for p in shape.writes)
            self.note(involved or written)
            return written, touched
        if not involved:
            return {}, any(place in self.shadows for place in shape.writes)
        if shape.name not in self.RULES:
            raise NotProven(f"no rule for symbols in {shape.name}")
        written = self.RULES[shape.name](self, shape)
        if set(written) != set(shape.writes):
            raise NotProven(f"the rule for {shape.name} gives other results than it writes")
        self.note(True)
        return {place: value for place, value in written.items() if not self.is_plain(value)}, True

    def is_plain(self, value):
        """Whether a result has no symbols: then its numbers are right for every key and counter."""
        if isinstance(value, tuple):
            return all(map(self.is_plain, value))
        return is_constant(value)

    def note(self, is_symbolic):
        if is_symbolic:
            self.symbolic[self.at] += 1

    # ---- Checks

    def registers(self):
        return {kind: getattr(self, kind).content.copy() for kind in ("R", "UR", "P", "UP")}

    def check_shape(self, at, shape, before):
        """Whether the model reads and writes what the operands say."""
        self.checked.add(at)
        named = shape.reads | set(shape.writes)
        changed = self.changed | {
            (kind, int(row))
            for kind, content in before.items()
            for row in np.nonzero((content != getattr(self, kind).content).any(axis=1))[0]
        }
        if not self.used <= named or not changed <= set(shape.writes):
            raise NotProven(f"the model uses {sorted(self.used | changed)}, not {sorted(named)}")

    def compare_with_numbers(self, written):
        """Whether the symbols have the values that the model computes."""
        for (kind, row), value in written.items():
            numbers = getattr(self, kind)[row][self.lanes]
            for t in self.evaluate.threads:
                bits = value[t] if type(value) is PerThread else value
                bits = bits if type(bits) is tuple else (bits,)
                found = sum(self.evaluate.bit(bit, t) << i for i, bit in enumerate(bits))
                if found != int(numbers[t]):
                    raise NotProven(f"{kind}{row} is {found:#x} in symbols, {int(numbers[t]):#x} in numbers")

    # ---- Conditions

    @staticmethod
    def refuse_shared(shape):
        if shape.name in SHARED:
            raise NotProven("an exchange between threads")

    def branch(self, at, mask):
        shape, self.at = self.shape_of(at), at
        if mask[self.lanes].any():
            self.refuse_shared(shape)
            self.require_set(shape.reads, mask[self.lanes])
        if shape.guard:
            self.decide(shape.guard, mask)
        if any(place in self.shadows for place in shape.reads - set(registers_in(shape.guard))):
            raise NotProven("symbols in a branch")
        return super().branch(at, mask)

    def decide(self, guard, mask):
        """If a condition has symbols, assumes for them what the numbers say."""
        place = next(registers_in(guard), None)
        if place not in self.shadows or not mask[self.lanes].any():
            return
        if not mask[self.lanes].all():
            raise NotProven("a condition of symbols where the threads of the warp diverge")
        bit = self.shadows[place]
        function = None if type(bit) is PerThread else self.symbols.of_counter(bit)
        if function is None:
            raise NotProven("a condition that depends on more than the counter")
        row = self.P if place[0] == "P" else self.UP
        value = self.uniform(row[place[1]])
        if value is None:
            raise NotProven("a condition that the numbers do not decide for all threads alike")
        diagrams = self.symbols.diagrams
        new = diagrams.both(self.path, function if value else diagrams.opposite(function))
        if new == FALSE:
            raise NotProven("the numbers contradict the symbols")
        if new != self.path:
            if self.symbols.declared:
                raise NotProven("a branch that depends on the counter behind the first S-box")
            self.path = new
            self.decisions.append((self.at, value))
