"""AES in counter mode on symbols, as FIPS 197 and SP 800-38A define it."""

from symbols import ONE, ZERO


def times(a, b):
    """A product in the field of 2^8 elements (FIPS 197 section 4.2)."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return product


def substituted(x):
    """Section 5.1.1: the inverse, then the affine map."""
    inverse = next((y for y in range(256) if times(x, y) == 1), 0)
    bits = [
        sum(inverse >> (i + k) % 8 for k in (0, 4, 5, 6, 7)) ^ 0x63 >> i for i in range(8)
    ]
    return sum((bit & 1) << i for i, bit in enumerate(bits))


SBOX = [substituted(x) for x in range(256)]
INVERSE_SBOX = [SBOX.index(x) for x in range(256)]


def plus(symbols, word, number):
    """A word of the counter's bits, lowest first, plus a number."""
    total, carry = [], ZERO
    for i, bit in enumerate(word):
        other = ONE if number >> i & 1 else ZERO
        total.append(symbols.add(symbols.add(bit, other), carry))
        # The carry is the majority of the three.
        carry = symbols.logic(0xE8, [bit, other, carry])
    return total


def doubled(symbols, byte):
    """A byte times x (section 4.2.1)."""
    return [
        symbols.add(byte[i - 1], byte[7]) if i in (1, 3, 4) else byte[(i + 7) % 8]
        for i in range(8)
    ]


def mixed(symbols, column, factors):
    """Sections 5.1.3 and 5.3.3: each byte times the first factor, and those below it times the others."""
    powers = [column]
    for _ in range(max(factors).bit_length() - 1):
        powers.append([doubled(symbols, byte) for byte in powers[-1]])
    return [
        [
            total(
                symbols,
                *(
                    power[(r + k) % 4][i]
                    for k, factor in enumerate(factors)
                    for exponent, power in enumerate(powers)
                    if factor >> exponent & 1
                ),
            )
            for i in range(8)
        ]
        for r in range(4)
    ]


def total(symbols, *bits):
    result = ZERO
    for bit in bits:
        result = symbols.add(result, bit)
    return result


def with_key(symbols, state, number):
    return [
        [symbols.add(bit, symbols.key(number, 8 * at + i)) for i, bit in enumerate(byte)]
        for at, byte in enumerate(state)
    ]


def crypted(symbols, block, state, rounds, inverse):
    """The Cipher (section 5.1) or EqInvCipher (section 5.3.5) of a state of 16 bytes, each of 8 bits,
    with any round keys, in the order in which it uses them."""
    step, factors = (-1, (14, 11, 13, 9)) if inverse else (1, (2, 3, 1, 1))
    state = with_key(symbols, state, 0)
    for number in range(1, rounds + 1):
        state = [symbols.declare(number - 1, at, block, byte) for at, byte in enumerate(state)]
        state = [state[r + 4 * ((c + step * r) % 4)] for c in range(4) for r in range(4)]
        if number != rounds:
            columns = [mixed(symbols, state[4 * c : 4 * c + 4], factors) for c in range(4)]
            state = [byte for column in columns for byte in column]
        state = with_key(symbols, state, number)
    return state


def counter_block(counter):
    """The bytes of a counter, of which bit 0 is in the last one."""
    return [counter[8 * (15 - at) : 8 * (16 - at)] for at in range(16)]
