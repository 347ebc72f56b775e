"""Runs the machine code of an entry with symbols for what is secret, beside the numbers of the model.

The numbers decide where the code goes. A register that depends on a key, a counter or a text has a
word of symbols besides its numbers: one for all threads, if they are the same for each, where a
thread names the bits of its own blocks. Whatever has no symbols is the same for all keys, counters
and texts, because each instruction with symbols among its operands has symbols as its result, or is
refused: as an address, as a condition of other things than the counter, or by an opcode without a
rule here.

Where a branch depends on the counter, `Machine.path` gathers what the numbers have decided. What is
shown then holds for all counters of that path.
"""

import collections

import numpy as np
import operands as texts_of
import processor
from decisions import FALSE, TRUE
from shapes import Shape, registers_in, words_of
from symbols import ONE, ZERO, NotProven
from words import WORD_BITS, Arithmetic, PerThread, bits_of, is_constant, number_of

PARTS = {"U8", "S8", "U16", "S16"}
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


class Region:
    """A part of global memory that has symbols: its address for each thread, and the word of symbols
    for each offset."""

    def __init__(self, name, starts, size, words):
        self.name, self.starts, self.size, self.words = name, starts, size, words


class Machine(processor.Group):
    """A group of which one warp has symbols."""

    def __init__(self, symbols, lanes, *arguments, **named):
        super().__init__(*arguments, **named)
        self.symbols, self.lanes = symbols, lanes
        self.arithmetic = Arithmetic(symbols)
        self.used, self.changed = set(), set()
        for kind in ("R", "UR", "P", "UP"):
            setattr(self, kind, Rows(kind, getattr(self, kind), self.used, self.changed))
        self.shadows = {}  # the symbols of registers
        self.stack = {}  # likewise of words of the stack
        self.set_by = {}  # the threads that have set a register or a word of the stack
        self.regions = []
        self.path = TRUE
        self.decisions = []
        self.shapes = {}
        self.checked = set()
        self.executed = 0
        self.symbolic = collections.Counter()  # by instruction: how often it had to do with symbols
        self.evaluate = None  # for checks: the value of a bit in a thread

    # ---- Values

    def uniform(self, value):
        """The number that all threads of the warp have, or None."""
        value = np.broadcast_to(np.asarray(value), (self.threads,))[self.lanes]
        return int(value[0]) if (value == value[0]).all() else None

    def of_threads(self, value):
        return [int(v) for v in np.broadcast_to(np.asarray(value), (self.threads,))[self.lanes]]

    def magnitude(self, text):
        """The symbols of an operand without its sign: a word, or PerThread."""
        bare = texts_of.bare(text)
        place = texts_of.place_of(bare)
        if place is not None and place in self.shadows:
            return self.shadows[place]
        numbers = texts_of.read(bare)(self)
        number = self.uniform(numbers)
        if number is not None:
            return bits_of(number)
        return PerThread(bits_of(n) for n in self.of_threads(numbers))

    @staticmethod
    def sign_of(text):
        return text[0] if text[0] in "-~" and texts_of.constant_of(text) is None else ""

    def word(self, text):
        """The symbols of an operand: a word, or PerThread."""
        if (number := texts_of.constant_of(text)) is not None:
            return bits_of(int(number))
        sign = self.sign_of(text)
        if not sign:
            return self.magnitude(text)
        return self.each(lambda w: self.arithmetic.sum_of([(w, sign)], [])[:WORD_BITS], self.magnitude(text))

    def one_number(self, text, what):
        """The number that an operand is for all threads, whatever the symbols are."""
        word = self.word(text)
        if type(word) is PerThread or not all(map(is_constant, word)):
            raise NotProven(f"{what} by a variable")
        return number_of(word)

    def predicate(self, text):
        place = texts_of.place_of(texts_of.bare(text))
        if place is not None and place in self.shadows:
            value = self.shadows[place]
            if text[0] != "!":
                return value
            return self.each(self.symbols.invert, value)
        values = texts_of.read_predicate(text)(self)
        value = self.uniform(values)
        if value is not None:
            return ONE if value else ZERO
        return PerThread(ONE if v else ZERO for v in self.of_threads(values))

    def each(self, compute, *values):
        """The function of the values of each thread, as one if all are equal."""
        if not any(type(value) is PerThread for value in values):
            return compute(*values)
        results = PerThread(
            compute(*(v[t] if type(v) is PerThread else v for v in values))
            for t in range(len(self.lanes))
        )
        return results[0] if all(r == results[0] for r in results) else results

    # ---- Instructions: each returns what its results are, in the order of Shape.writes

    def sum_terms(self, given):
        """Terms, carries into the sum."""
        words = [text for text in given if not texts_of.is_predicate(text)]
        carries = [self.predicate(text) for text in given if texts_of.is_predicate(text)]
        signs = [self.sign_of(text) for text in words]
        values = [
            self.magnitude(text) if sign else self.word(text)
            for text, sign in zip(words, signs, strict=True)
        ]
        return values, signs, carries

    def carry_bits(self, total, count):
        """Whether the total is at least 2^32, and at least 2^33."""
        high = self.symbols.logic(0xFC, [total[32], total[33], ZERO])
        return [high, total[33]][:count]

    def results_of(self, shape):
        """How many operands name results, PT and RZ included."""
        count = 1
        while texts_of.is_predicate(shape.texts[count]) and shape.texts[count][0] != "!":
            count += 1
        return count

    def finish(self, shape, results, values):
        """Results by place: those that go to RZ or PT are dropped."""
        written = {}
        for text, value in zip(shape.texts[:results], values, strict=True):
            place = texts_of.place_of(texts_of.bare(text))
            if place[1] is not None:
                written[place] = value
        return written

    def do_sum(self, shape):
        results = self.results_of(shape)
        values, signs, carries = self.sum_terms(shape.texts[results:])
        multiplies = shape.name == "IMAD"
        if multiplies and {"WIDE", "HI"} & set(shape.modifiers):
            raise NotProven("a wide product of symbols")
        count = len(values)

        def compute(*given):
            words, ones = given[:count], given[count:]
            terms = list(zip(words, signs, strict=True))
            if multiplies:
                factors = [self.arithmetic.signed_term(w, s, WORD_BITS) for w, s in terms[:2]]
                if any(one != ZERO for _, one in factors):
                    raise NotProven("a negative factor")
                terms = [(self.arithmetic.product(factors[0][0], factors[1][0]), ""), terms[2]]
            total = self.arithmetic.sum_of(terms, ones)
            return [total[:WORD_BITS], *self.carry_bits(total, results - 1)]

        return self.separated(shape, results, self.each(compute, *values, *carries))

    def separated(self, shape, results, found):
        """Results of all threads, from lists of results of each."""
        if type(found) is PerThread:
            columns = [self.each(lambda x: x, PerThread(column)) for column in zip(*found, strict=True)]
        else:
            columns = found
        return self.finish(shape, results, columns)

    def do_logic(self, shape):
        given = list(shape.texts)
        condition = texts_of.is_predicate(given[0])
        results = 2 if condition else 1
        table = int(given[results + 3], 16)
        words = [self.word(text) for text in given[results : results + 3]]
        more = self.predicate(given[results + 4]) if condition else ZERO

        def compute(a, b, c, more):
            found, symbols = [], self.symbols
            for i in range(WORD_BITS):
                symbols.block = i
                found.append(symbols.logic(table, (a[i], b[i], c[i])))
            found = tuple(found)
            return [self.arithmetic.any_of(found, more), found] if condition else [found]

        return self.separated(shape, results, self.each(compute, *words, more))

    def do_permute(self, shape):
        digits = self.one_number(shape.texts[2], "PRMT")

        def compute(a, b):
            both, result = (*a, *b), ()
            for i in range(4):
                digit = digits >> 4 * i
                byte = both[8 * (digit & 7) : 8 * (digit & 7) + 8]
                result += (byte[7],) * 8 if digit & 8 else byte
            return [result]

        words = self.word(shape.texts[1]), self.word(shape.texts[3])
        return self.separated(shape, 1, self.each(compute, *words))

    def do_shift(self, shape):
        kinds, count = shape.modifiers, self.one_number(shape.texts[2], "SHF")
        kind = next(m for m in kinds if m in ("U32", "S32", "U64", "S64"))
        left, high = "L" in kinds, "HI" in kinds
        # The forms whose counts wrap at 64, or end at 32, are not needed.
        if count > (63 if kind == "U64" else 31) or ("W" in kinds and kind == "U64"):
            raise NotProven("SHF beyond a word")

        def compute(low, top):
            if kind == "S32":
                extended = (*top, *(top[31],) * 32)
                return [extended[count:][:WORD_BITS]]
            both, none = (*low, *top), (ZERO,) * 64
            moved = (none[:count] + both)[:64] if left else (both + none)[count : count + 64]
            return [moved[32:] if high else moved[:32]]

        words = self.word(shape.texts[1]), self.word(shape.texts[3])
        return self.separated(shape, 1, self.each(compute, *words))

    def do_select(self, shape):
        chosen = self.predicate(shape.texts[3])

        def compute(p, a, b):
            if is_constant(p):
                return [a if p else b]
            return [tuple(self.symbols.logic(0xCA, (p, x, y)) for x, y in zip(a, b, strict=True))]

        words = self.word(shape.texts[1]), self.word(shape.texts[2])
        return self.separated(shape, 1, self.each(compute, chosen, *words))

    def do_move(self, shape):
        return self.finish(shape, 1, [self.word(shape.texts[1])])

    def do_compare(self, shape):
        name, *kinds = shape.modifiers
        extended = "EX" in kinds
        if name not in ("EQ", "NE") and "U32" not in kinds:
            raise NotProven("a signed comparison")
        words = [self.word(text) for text in shape.texts[2:4]]
        other = self.predicate(shape.texts[4])
        low = self.predicate(shape.texts[5]) if extended else ZERO
        symbols = self.symbols

        def compute(a, b, other, low):
            if name in ("EQ", "NE"):
                differs = self.arithmetic.any_of([symbols.add(x, y) for x, y in zip(a, b, strict=True)])
                if extended and name == "EQ":
                    raise NotProven("ISETP.EQ.EX")
                result = self.arithmetic.any_of([differs], low) if extended else differs
                result = symbols.invert(result) if name == "EQ" else result
            else:
                # a >= b where a + ~b + 1 has a carry, and a > b where a + ~b has one.
                x, y = (a, b) if name in ("GE", "GT") else (b, a)
                carry = low if extended else (ONE if name in ("GE", "LE") else ZERO)
                inverse = [symbols.invert(bit) for bit in y]
                _, result = self.arithmetic.plus(x, inverse, carry, WORD_BITS)
            table = 0xC0 if "AND" in kinds else 0xFC
            return [
                symbols.logic(table, (result, other, ZERO) if table == 0xFC else (result, other, ONE)),
                symbols.logic(table, (symbols.invert(result), other, ZERO if table == 0xFC else ONE)),
            ]

        return self.separated(shape, 2, self.each(compute, *words, other, low))

    # ---- Memory

    def place_in(self, at, size):
        """The region that holds what all threads access, and the offset; or None."""
        at = np.broadcast_to(at, (self.threads,))[self.lanes].astype(object)
        for region in self.regions:
            offsets = [int(a) - int(s) for a, s in zip(at, region.starts, strict=True)]
            inside = [-size < offset < region.size for offset in offsets]
            if not any(inside):
                continue
            if len(set(offsets)) != 1 or not 0 <= offsets[0] <= region.size - size:
                raise NotProven(f"an access to {region.name} that is not the same for all threads")
            return region, offsets[0]
        return None, None

    def place_in_stack(self, text):
        at = self.uniform(texts_of.address(text)(self) & texts_of.WORD)
        if at is None:
            raise NotProven("an access to the stack that is not the same for all threads")
        return at

    def do_load(self, shape):
        size = 4 * words_of(shape.modifiers)
        if PARTS & set(shape.modifiers):
            return self.refuse_part(shape)
        if shape.name == "LDL":
            at = self.place_in_stack(shape.texts[1])
            words = [self.stack.get(at + 4 * i) for i in range(size // 4)]
        else:
            region, at = self.place_in(texts_of.address(shape.texts[1], True)(self), size)
            if region is None:
                return {}
            words = [region.words.get(at + 4 * i) for i in range(size // 4)]
            if region.name == "the text" and not self.is_unwritten(at, size):
                raise NotProven("a load of text behind the store to its place")
            if None in words:
                raise NotProven(f"a load of what {region.name} does not have")
        return {
            place: word for place, word in zip(shape.writes, words, strict=False) if word is not None
        }

    def is_unwritten(self, at, size):
        """Whether the output has nothing yet where these bytes are, if it is the input's memory."""
        stored = [region.words for region in self.regions if region.name == "output"]
        return not any(at + 4 * i in words for words in stored for i in range(size // 4))

    def refuse_part(self, shape):
        if shape.name == "LDL" or (
            self.place_in(texts_of.address(shape.texts[1], True)(self), 1)[0] is not None
        ):
            raise NotProven("an access to a part of a word")
        return {}

    def do_store(self, shape):
        size = 4 * words_of(shape.modifiers)
        kind, row = texts_of.place_of(texts_of.bare(shape.texts[1]))
        words = [
            None if row is None else self.shadows.get((kind, row + i)) for i in range(size // 4)
        ]
        if PARTS & set(shape.modifiers):
            raise NotProven("a part of a word is stored")
        if shape.name == "STL":
            at = self.place_in_stack(shape.texts[0])
            target = self.stack
        else:
            region, at = self.place_in(texts_of.address(shape.texts[0], True)(self), size)
            if region is None or region.name != "output":
                raise NotProven("a store to something else than the output")
            target = region.words
        for i, word in enumerate(words):
            if word is None and shape.name == "STL":
                target.pop(at + 4 * i, None)
            elif word is None:
                raise NotProven("something without symbols is stored")
            else:
                target[at + 4 * i] = word
        return {}

    # ---- Execution

    RULES = {
        "LOP3": do_logic,
        "IADD3": do_sum,
        "VIADD": do_sum,
        "IADD": do_sum,
        "IMAD": do_sum,
        "PRMT": do_permute,
        "SHF": do_shift,
        "SEL": do_select,
        "MOV": do_move,
        "UMOV": do_move,
        "ISETP": do_compare,
    }
    ACCESSES = {"LDG": do_load, "LDL": do_load, "STG": do_store, "STL": do_store}

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
            guard_text = entry.texts[at].split(" ")[0][1:]
            self.require_set(registers_in(guard_text), mask[self.lanes])
            self.decide(guard_text, mask)
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
        if type(value) is PerThread:
            return all(map(self.is_plain, value))
        if type(value) is tuple:
            return all(map(is_constant, value))
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
        text, self.at = self.entry.texts[at], at
        if mask[self.lanes].any():
            self.refuse_shared(self.shape_of(at))
            self.require_set(self.shape_of(at).reads, mask[self.lanes])
        if text.startswith("@"):
            self.decide(text.split(" ")[0][1:], mask)
        if any(place in self.shadows for place in self.shape_of(at).reads):
            places = set(registers_in(text.split(" ")[0])) if text.startswith("@") else set()
            if any(p in self.shadows for p in self.shape_of(at).reads - places):
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
