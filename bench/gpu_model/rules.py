"""What instructions do with symbols: the operands, and a rule for each opcode."""

import numpy as np
import operands as texts_of
import processor
from shapes import words_of
from symbols import ONE, ZERO, NotProven
from words import WORD_BITS, Arithmetic, PerThread, bits_of, is_constant, number_of

PARTS = {"U8", "S8", "U16", "S16"}


class Region:
    """A part of global memory that has symbols: its address for each thread, and the word of symbols
    for each offset."""

    def __init__(self, name, starts, size, words):
        self.name, self.starts, self.size, self.words = name, starts, size, words


class Rules(processor.Group):
    """A group, and the symbols of one of its warps."""

    def __init__(self, symbols, lanes, *arguments, **named):
        super().__init__(*arguments, **named)
        self.symbols, self.lanes = symbols, lanes
        self.arithmetic = Arithmetic(symbols)
        self.shadows = {}  # the symbols of registers
        self.stack = {}  # likewise of words of the stack
        self.regions = []

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

    # ---- Instructions: each returns its results by place

    def results(self, shape, compute, *values):
        """What `compute` makes of the values of each thread: a list, in the order of the operands.
        Results that go to RZ or PT are dropped."""
        found = self.each(compute, *values)
        if type(found) is PerThread:
            found = [self.each(lambda x: x, PerThread(column)) for column in zip(*found, strict=True)]
        written = {}
        for text, value in zip(shape.texts, found, strict=False):
            place = texts_of.place_of(texts_of.bare(text))
            if place[1] is not None:
                written[place] = value
        return written

    def do_sum(self, shape):
        count = 1  # of operands that name results, PT and RZ included
        while texts_of.is_predicate(shape.texts[count]) and shape.texts[count][0] != "!":
            count += 1
        given = shape.texts[count:]
        words = [text for text in given if not texts_of.is_predicate(text)]
        carries = [self.predicate(text) for text in given if texts_of.is_predicate(text)]
        signs = [self.sign_of(text) for text in words]
        values = [
            self.magnitude(text) if sign else self.word(text)
            for text, sign in zip(words, signs, strict=True)
        ]
        multiplies = shape.name == "IMAD"
        if multiplies and {"WIDE", "HI"} & set(shape.modifiers):
            raise NotProven("a wide product of symbols")

        def compute(*given):
            words, ones = given[: len(values)], given[len(values) :]
            terms = list(zip(words, signs, strict=True))
            if multiplies:
                factors = [self.arithmetic.signed_term(w, s, WORD_BITS) for w, s in terms[:2]]
                if any(one != ZERO for _, one in factors):
                    raise NotProven("a negative factor")
                terms = [(self.arithmetic.product(factors[0][0], factors[1][0]), ""), terms[2]]
            total = self.arithmetic.sum_of(terms, ones)
            # Carries: whether the total is at least 2^32, and at least 2^33.
            carried = [self.arithmetic.any_of(total[32:34]), total[33]]
            return [total[:WORD_BITS], *carried[: count - 1]]

        return self.results(shape, compute, *values, *carries)

    def do_logic(self, shape):
        given = list(shape.texts)
        condition = texts_of.is_predicate(given[0])
        first = 2 if condition else 1
        table = int(given[first + 3], 16)
        words = [self.word(text) for text in given[first : first + 3]]
        more = self.predicate(given[first + 4]) if condition else ZERO

        def compute(a, b, c, more):
            found, symbols = [], self.symbols
            for i in range(WORD_BITS):
                symbols.block = i
                found.append(symbols.logic(table, (a[i], b[i], c[i])))
            found = tuple(found)
            return [self.arithmetic.any_of(found, more), found] if condition else [found]

        return self.results(shape, compute, *words, more)

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
        return self.results(shape, compute, *words)

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
        return self.results(shape, compute, *words)

    def do_select(self, shape):
        chosen = self.predicate(shape.texts[3])

        def compute(p, a, b):
            if is_constant(p):
                return [a if p else b]
            return [tuple(self.symbols.logic(0xCA, (p, x, y)) for x, y in zip(a, b, strict=True))]

        words = self.word(shape.texts[1]), self.word(shape.texts[2])
        return self.results(shape, compute, chosen, *words)

    def do_move(self, shape):
        return self.results(shape, lambda word: [word], self.word(shape.texts[1]))

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
            return [symbols.logic(table, (x, other, ZERO)) for x in (result, symbols.invert(result))]

        return self.results(shape, compute, *words, other, low)

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
        count, is_part = words_of(shape.modifiers), PARTS & set(shape.modifiers)
        if shape.name == "LDL":
            name, source, at = "the stack", self.stack, self.place_in_stack(shape.texts[1])
        else:
            address = texts_of.address(shape.texts[1], True)(self)
            region, at = self.place_in(address, 1 if is_part else 4 * count)
            if region is None:
                return {}
            name, source = region.name, region.words
        if is_part:
            raise NotProven("an access to a part of a word")
        words = [source.get(at + 4 * i) for i in range(count)]
        if name == "the text" and not self.is_unwritten(at, 4 * count):
            raise NotProven("a load of text behind the store to its place")
        if None in words and name != "the stack":
            raise NotProven(f"a load of what {name} does not have")
        return {
            place: word for place, word in zip(shape.writes, words, strict=False) if word is not None
        }

    def is_unwritten(self, at, size):
        """Whether the output has nothing yet where these bytes are, if it is the input's memory."""
        stored = [region.words for region in self.regions if region.name == "output"]
        return not any(at + 4 * i in words for words in stored for i in range(size // 4))

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
