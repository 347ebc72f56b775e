"""Bits as symbols: what a bit is, as a function of the key, the counter and the text.

A bit is a sum modulo 2 of

- atoms: bits of round keys and texts, and output bits of S-boxes;
- one Boolean function of the counter's bits, as a decision diagram;
- while an S-box is being computed, functions of its 8 input bits, as tables of 256 bits.

Bits of the same form are the same function. No atom is assumed to be independent of another, so what
is shown for the forms holds for all keys, counters and texts. Bits of different forms may be the same
function, too; then a proof fails that could succeed.

The circuits of the machine code are not told where an S-box begins. `Symbols.declare()` says which
bytes the standard substitutes. Where the code multiplies two bits, each must be a sum of the bits of
the same one of these bytes. A table that is a sum of output bits of the S-box, its inputs and a
constant becomes the sum of these.
"""

from decisions import FALSE, TRUE, Diagrams

ZERO, ONE = frozenset(), frozenset((0,))  # atom 0 is the constant 1
ROUND_KEYS = 15
FIRST_KEY = 1
FIRST_TEXT = FIRST_KEY + 128 * ROUND_KEYS
FIRST_OUTPUT = FIRST_TEXT + 128 * 32  # of S-boxes
EVERYWHERE = (1 << 256) - 1
# A table is an affine function if it is the one with its values at 0 and at the powers of two.
SAMPLES = [0, *(1 << i for i in range(8))]
SAMPLED = sum(1 << at for at in SAMPLES)


class NotProven(Exception):
    """The code does something of which this method cannot show that it is right."""


def table_of(function):
    return sum((function(x) & 1) << x for x in range(256))


# The tables of the sums of input bits, and affine tables by their samples.
SUMS = [table_of(lambda x, a=a: (x & a).bit_count()) for a in range(256)]
AFFINE = {
    (SUMS[a] ^ (EVERYWHERE if constant else 0)) & SAMPLED: (a, constant)
    for a in range(256)
    for constant in (0, 1)
}


AFFINE_TABLES = [[table ^ flip for table in SUMS] for flip in (0, EVERYWHERE)]


class Mixed:
    """A sum that has more than atoms."""

    __slots__ = ("atoms", "counter", "tables")

    def __init__(self, atoms, counter, tables):
        self.atoms, self.counter, self.tables = atoms, counter, tables

    def __eq__(self, other):
        return type(other) is Mixed and (
            (self.atoms, self.counter, self.tables) == (other.atoms, other.counter, other.tables)
        )

    __hash__ = None


class Substitution:
    """An S-box with the eight bits that enter it, lowest first."""

    def __init__(self, symbols, inputs, first):
        self.inputs, self.first = inputs, first
        self.blocks = set()
        self.known = {}  # results of Symbols.recognized
        self.sums = {0: ZERO}
        self.symbols = symbols

    def outputs(self):
        return [frozenset((self.first + i,)) for i in range(8)]

    def sum_of(self, chosen):
        """The sum of the input bits that `chosen` has ones for."""
        found = self.sums.get(chosen)
        if found is None:
            low = (chosen & -chosen).bit_length() - 1
            rest = self.sum_of(chosen & (chosen - 1))
            found = self.sums[chosen] = self.symbols.add(rest, self.inputs[low])
        return found


class Symbols:
    def __init__(self, sbox, diagrams=None):
        self.diagrams = diagrams or Diagrams()
        self.care = TRUE  # what is assumed of the counter
        self.substitutions = {}  # by their inputs
        self.declared = {}  # by round and byte: the different ones
        self.prepare = None  # called before the first product of other bits than the counter's
        self.block = 0  # the block that bits probably belong to
        self.looked_up = set()
        self.resolved = {}
        # Sums of output bits, by their tables without the affine part.
        self.of_output = {}
        columns = [table_of(lambda x, i=i: sbox[x] >> i) for i in range(8)]
        for chosen in range(256):
            table = 0
            for i in range(8):
                if chosen >> i & 1:
                    table ^= columns[i]
            rest, affine = self.without_affine(table)
            self.of_output[rest] = (chosen, affine)
        assert len(self.of_output) == 256

    @staticmethod
    def without_affine(table):
        a, constant = AFFINE[table & SAMPLED]
        return table ^ AFFINE_TABLES[constant][a], (a, constant)

    # ---- Atoms

    @staticmethod
    def key(number, bit):
        return frozenset((FIRST_KEY + 128 * number + bit,))

    @staticmethod
    def text(block, bit):
        return frozenset((FIRST_TEXT + 128 * block + bit,))

    def counter(self, function):
        return self.normal(ZERO, function, {})

    # ---- Sums

    def normal(self, atoms, counter, tables):
        """The one form of such a sum: the counter's function is 0 for the counter 0."""
        if counter and self.diagrams.of_zeros(counter):
            counter = self.diagrams.opposite(counter)
            atoms ^= ONE
        if counter == FALSE and not tables:
            return atoms
        return Mixed(atoms, counter, tables)

    def add(self, a, b):
        if type(a) is frozenset and type(b) is frozenset:
            return a ^ b
        if type(a) is frozenset:
            a, b = b, a
        if type(b) is frozenset:
            return self.normal(a.atoms ^ b, a.counter, a.tables)
        counter = self.diagrams.sum(a.counter, b.counter)
        tables = dict(a.tables)
        for substitution, table in b.tables.items():
            tables[substitution] = tables.get(substitution, 0) ^ table
        total = self.normal(a.atoms ^ b.atoms, counter, {})
        return self.with_tables(total, tables)

    def with_tables(self, total, tables):
        """A sum without tables, plus these, where S-boxes are recognized."""
        kept = {}
        for substitution, table in tables.items():
            found = self.recognized(substitution, table)
            if found is None:
                kept[substitution] = table
            else:
                total = self.add(total, found)
        if not kept:
            return total
        if type(total) is frozenset:
            return Mixed(total, FALSE, kept)
        return Mixed(total.atoms, total.counter, kept)

    def recognized(self, substitution, table):
        """The sum that a table is of inputs and outputs of the S-box, or None."""
        a, constant = AFFINE[table & SAMPLED]
        found = self.of_output.get(table ^ AFFINE_TABLES[constant][a])
        if found is None:
            return None
        chosen, (b, other) = found
        name = chosen, a ^ b, constant ^ other
        result = substitution.known.get(name)
        if result is None:
            outputs = [substitution.first + i for i in range(8) if chosen >> i & 1]
            result = frozenset(outputs) ^ (ONE if name[2] else ZERO)
            result = self.add(result, substitution.sum_of(a ^ b))
            substitution.known[name] = result
        return result

    def invert(self, a):
        return self.add(a, ONE)

    # ---- Products

    def of_counter(self, a):
        """The diagram of a function of the counter alone, or None."""
        if type(a) is frozenset:
            return None if a and a != ONE else int(bool(a))
        if a.tables or (a.atoms and a.atoms != ONE):
            return None
        return self.diagrams.opposite(a.counter) if a.atoms else a.counter

    def declare(self, number, byte, block, inputs):
        """A byte that round `number` substitutes in a block, lowest bit first. Returns the result."""
        inputs = tuple(self.assumed(bit) for bit in inputs)
        name = tuple(self.name(bit) for bit in inputs)
        found = self.substitutions.get(name)
        if found is None:
            first = FIRST_OUTPUT + 8 * len(self.substitutions)
            found = self.substitutions[name] = Substitution(self, inputs, first)
            self.declared.setdefault((number, byte), []).append(found)
        found.blocks.add(block)
        return found.outputs()

    def assumed(self, a):
        """The one form of all bits that are equal under the assumption."""
        if type(a) is frozenset:
            return a
        return self.normal(a.atoms, self.diagrams.within(a.counter, self.care), a.tables)

    @staticmethod
    def name(a):
        return a if type(a) is frozenset else (a.atoms, a.counter)

    def resolve(self, a):
        """The substitutions of whose input bits this is a sum: for each, which bits, and whether 1 is
        added."""
        if self.prepare is not None:
            prepare, self.prepare = self.prepare, None
            prepare()
        name = self.name(a)
        found = self.resolved.get(name)
        if found is None:
            found = self.resolved[name] = self.look_up(self.assumed(a))
        return found

    def look_up(self, a):
        """Which S-box it may be is seen from the bits of the round key, each of which is added to one
        input. Whether the bit is the sum of these inputs is then compared."""
        atoms = a if type(a) is frozenset else a.atoms
        keys = [atom - FIRST_KEY for atom in atoms if FIRST_KEY <= atom < FIRST_TEXT]
        places = {(key // 128, key % 128 // 8) for key in keys}
        if len(places) != 1:
            raise NotProven("a product of bits that are no inputs of one S-box")
        (place,) = places
        chosen = sum(1 << key % 8 for key in keys)
        if (place, chosen) not in self.looked_up:
            self.looked_up.add((place, chosen))
            for substitution in self.declared.get(place, []):
                for constant in (0, 1):
                    total = self.add(substitution.sum_of(chosen), ONE if constant else ZERO)
                    name = self.name(self.assumed(total))
                    self.resolved.setdefault(name, {})[substitution] = (chosen, constant)
        found = self.resolved.get(self.name(a))
        if found is None:
            raise NotProven(
                f"a product of bits that are no inputs of S-box {place[1]} in round {place[0] + 1}"
            )
        return found

    def common(self, factors):
        """A substitution that has all factors as sums of inputs, if possible one of this block."""
        first, *others = (self.resolve(factor) for factor in factors)
        fitting = [known for known in first if all(known in other for other in others)]
        if not fitting:
            raise NotProven("a product of bits of different S-boxes")
        return next((known for known in fitting if self.block in known.blocks), fitting[0])

    def table(self, a, substitution):
        """A bit as a function of the inputs of a substitution."""
        table, rest = 0, a
        if type(a) is Mixed and a.tables:
            if list(a.tables) != [substitution]:
                raise NotProven("a product of results of different S-boxes")
            table = a.tables[substitution]
            rest = self.normal(a.atoms, a.counter, {})
        if rest in (ZERO, ONE):
            return table ^ (EVERYWHERE if rest else 0)
        found = self.resolve(rest)
        if substitution not in found:
            raise NotProven("a product of bits of different S-boxes")
        chosen, constant = found[substitution]
        return table ^ AFFINE_TABLES[constant][chosen]

    def multiply(self, factors):
        kept = []
        for factor in factors:
            if type(factor) is frozenset and len(factor) < 2:
                if not factor:
                    return ZERO
                if 0 in factor:
                    continue
            kept.append(factor)
        if len(kept) < 2:
            return kept[0] if kept else ONE
        functions = [self.of_counter(factor) for factor in kept]
        if None not in functions:
            product = functions[0]
            for function in functions[1:]:
                product = self.diagrams.both(product, function)
            return self.counter(product)
        tables = next((f.tables for f in kept if type(f) is Mixed and f.tables), None)
        substitution = next(iter(tables)) if tables else self.common(kept)
        product = EVERYWHERE
        for factor in kept:
            product &= self.table(factor, substitution)
        return self.with_tables(ZERO, {substitution: product})

    # ---- Functions of three bits

    def logic(self, table, bits):
        """The function of LOP3: bit 4 a + 2 b + c of the table is the result."""
        for i, bit in enumerate(bits):
            if type(bit) is frozenset and len(bit) < 2 and (not bit or 0 in bit):
                table = FIXED[table][i][len(bit)]
        while (merge := MERGES[table]) is not None:
            keep, gone, table = merge
            bits = list(bits)
            bits[keep] = self.add(bits[keep], bits[gone])
            bits[gone] = ZERO
        terms = POLYNOMIALS[table]
        if IS_LINEAR[table]:
            total = ZERO
            for chosen in terms:
                term = bits[chosen[0]] if chosen else ONE
                if type(total) is type(term) is frozenset:
                    total ^= term
                else:
                    total = self.add(total, term)
            return total
        return self.polynomial(terms, bits)

    def polynomial(self, terms, bits):
        total = ZERO
        for chosen in terms:
            total = self.add(total, self.multiply([bits[i] for i in chosen]))
        return total


def fixed(table, i, value):
    """The table of the function with operand i set."""
    bit = 4 >> i
    return sum((table >> ((x & ~bit) | bit * value) & 1) << x for x in range(8))


def polynomial(table):
    """The products of operands whose sum the function is."""
    return [
        tuple(i for i in range(3) if x & 4 >> i)
        for x in range(8)
        if sum(table >> y & 1 for y in range(8) if y & ~x == 0) & 1
    ]


def merged(table):
    """Operands i and j, and a table, if the function has products and only the sum of the two
    matters."""
    if all(len(chosen) < 2 for chosen in polynomial(table)):
        return None
    for i, j in ((0, 1), (0, 2), (1, 2)):
        other = 4 >> i | 4 >> j
        if all(table >> x & 1 == table >> (x ^ other) & 1 for x in range(8)):
            return i, j, fixed(table, j, 0)
    return None


FIXED = [[[fixed(t, i, v) for v in (0, 1)] for i in range(3)] for t in range(256)]
POLYNOMIALS = [polynomial(t) for t in range(256)]
MERGES = [None if fixed(t, 0, 0) == t or fixed(t, 1, 0) == t or fixed(t, 2, 0) == t else merged(t)
          for t in range(256)]
IS_LINEAR = [all(len(chosen) < 2 for chosen in polynomial(t)) for t in range(256)]
