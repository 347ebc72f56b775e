"""Words of symbols: 32 bits, from the lowest on, and arithmetic on them."""

from symbols import ONE, ZERO, NotProven

WORD_BITS = 32
ZEROS = (ZERO,) * WORD_BITS


class PerThread(tuple):
    """A word, or a bit, for each thread."""


def is_constant(bit):
    return type(bit) is frozenset and len(bit) < 2 and (not bit or 0 in bit)


def bits_of(number):
    return tuple(ONE if number >> i & 1 else ZERO for i in range(WORD_BITS))


def number_of(word):
    return sum(len(bit) << i for i, bit in enumerate(word))


class Arithmetic:
    """Sums and products of words, as circuits of the operations of Symbols."""

    def __init__(self, symbols):
        self.symbols = symbols

    def plus(self, a, b, carry, size):
        """The sum of two words and a carry, and the carry out of the highest bit."""
        symbols, result = self.symbols, []
        for x, y in zip(a[:size], b[:size], strict=True):
            result.append(symbols.add(symbols.add(x, y), carry))
            carry = symbols.logic(0xE8, [x, y, carry])
        return result, carry

    def signed_term(self, word, sign, size):
        """The word of a term of a sum, and what else is to be added: -x is 2^32 - x."""
        extra = (ZERO,) * (size - WORD_BITS)
        if sign == "":
            return (*word, *extra), ZERO
        inverse = tuple(self.symbols.invert(bit) for bit in word)
        return (*inverse, *extra), (ONE if sign == "-" else ZERO)

    def sum_of(self, terms, carries):
        """The sum of terms, each a word and a sign, and of carries; with two bits more."""
        size = WORD_BITS + 2
        total = (ZERO,) * size
        ones = list(carries)
        for word, sign in terms:
            value, one = self.signed_term(word, sign, size)
            if one != ZERO:
                ones.append(one)
            if all(bit == ZERO for bit in value):
                continue
            carry = ones.pop() if ones else ZERO
            total, _ = self.plus(total, value, carry, size)
        for one in ones:
            total, _ = self.plus(total, (ZERO,) * size, one, size)
        return tuple(total)

    def product(self, a, b):
        """The low word of a product, one factor of which is a number."""
        if all(map(is_constant, a)):
            a, b = b, a
        if not all(map(is_constant, b)):
            raise NotProven("a product of two words of symbols")
        total, number = ZEROS, number_of(b)
        for shift in range(WORD_BITS):
            if number >> shift & 1:
                moved = ((ZERO,) * shift + tuple(a))[:WORD_BITS]
                total, _ = self.plus(total, moved, ZERO, WORD_BITS)
        return tuple(total)

    def any_of(self, word, more=ZERO):
        for bit in word:
            more = self.symbols.logic(0xFC, [more, bit, ZERO])
        return more
