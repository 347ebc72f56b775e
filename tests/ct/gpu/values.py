"""What the analysis knows of the contents of a 32-bit register, and how instructions combine it.

A value is a tuple (origin, known, bits):

    origin   SECRET if it depends on a secret, and which pointers and counts it was computed from.
             Where states join, a value may be both: in one state a secret and in another a pointer.
    known    a mask of the bits that are the same in every run; `bits` has these bits. If the origin
             is SECRET: a mask of the bits that are public nevertheless, and `bits` is 0. Compilers
             keep conditions in single bits of registers.

Known bits tell which field of a structure an address leads to, and decide the branches that depend
only on flags that the analysis assumes.
"""

SECRET = 1
IN, OUT, MESSAGES, KEYS, SCRATCH = 2, 4, 8, 16, 32
COUNT, TILES, STACK = 64, 128, 256
SECRET_POINTER = 512  # with SECRET: a pointer and a secret were added
BUFFERS = IN | OUT | MESSAGES | KEYS | SCRATCH
OF_SECRETS = SECRET | SECRET_POINTER | BUFFERS  # these matter of a secret value
ALL = 0xFFFFFFFF

SECRET_VALUE = (SECRET, 0, 0)
UNKNOWN = (0, 0, 0)


def constant(number):
    return (0, ALL, number & ALL)


ZERO = constant(0)
TRUE = (0, 1, 1)
FALSE = (0, 1, 0)


def of_origin(origin):
    return (origin & OF_SECRETS, 0, 0) if origin & SECRET else (origin, 0, 0)


def combined_origin(operands):
    """The origin of what is computed from these values."""
    origin = secrets = pointers = 0
    for value in operands:
        origin |= value[0]
        secrets += value[0] & SECRET
        pointers += value[0] & BUFFERS != 0
    if (
        secrets
        and pointers
        and any(value[0] & SECRET and pointers > (value[0] & BUFFERS != 0) for value in operands)
    ):
        origin |= SECRET_POINTER
    return origin


def with_public_bits(mask):
    """A value whose other bits are secret."""
    return UNKNOWN if mask == ALL else (SECRET, mask, 0)


def public_bits(value):
    return value[1] if value[0] & SECRET else ALL


def known_bits(value):
    return 0 if value[0] & SECRET else value[1]


def join(a, b):
    """A value that may be either."""
    if a == b:
        return a
    origin = a[0] | b[0]
    if origin & SECRET:
        public = public_bits(a) & public_bits(b)
        return (origin & OF_SECRETS, public, 0) if public != ALL else UNKNOWN
    known = a[1] & b[1] & ~(a[2] ^ b[2])
    return (origin, known, a[2] & known)


def low_known(value):
    """How many bits from the lowest on are known."""
    unknown = ~value[1] & ALL
    return (unknown & -unknown).bit_length() - 1 if unknown else 32


def trailing_zeros(value):
    """How many bits from the lowest on are known to be zero."""
    other = (~value[1] | value[2]) & ALL
    return (other & -other).bit_length() - 1 if other else 32


def with_low_bits(origin, count, number):
    if origin & SECRET:
        return of_origin(origin)
    mask = (1 << min(count, 32)) - 1
    return (origin, mask, number & mask)


def add(a, b):
    return with_low_bits(a[0] | b[0], min(low_known(a), low_known(b)), a[2] + b[2])


def negate(a):
    return with_low_bits(a[0], low_known(a), -a[2])


def invert(a):
    return a if a[0] & SECRET else (a[0], a[1], ~a[2] & a[1])


def multiply(a, b):
    count = min(low_known(a) + trailing_zeros(b), low_known(b) + trailing_zeros(a))
    if ZERO in (a, b):
        count = 32
    return with_low_bits(a[0] | b[0], count, a[2] * b[2])


def shift_left(a, count):
    """`count` is a value."""
    if count[1] != ALL:
        return of_origin(a[0] | count[0])
    return multiply(a, constant(1 << min(count[2], 32)))


# For each input of a table, the bits of the other two where the result depends on it.
def dependencies(table):
    found = []
    for place in (4, 2, 1):
        others = [weight for weight in (4, 2, 1) if weight != place]
        found.append(
            [
                (i, j)
                for i in (0, 1)
                for j in (0, 1)
                if table >> (others[0] * i + others[1] * j) & 1
                != table >> (others[0] * i + others[1] * j + place) & 1
            ]
        )
    return found


def possible(value, bit):
    """A mask of where a value can have this bit."""
    return ~known_bits(value) | (value[2] if bit else ~value[2])


def public_bits_of_logic3(inputs, table):
    secret = 0
    for place, rows in enumerate(dependencies(table)):
        hidden = ~public_bits(inputs[place])
        if hidden:
            one, other = (inputs[i] for i in range(3) if i != place)
            for i, j in rows:
                secret |= hidden & possible(one, i) & possible(other, j)
    return ~secret & ALL


def logic3(a, b, c, table):
    """LOP3: bit 4 i + 2 j + k of the table is the result of the bits i, j and k."""
    origin = a[0] | b[0] | c[0]
    if origin & SECRET and not (known_bits(a) | known_bits(b) | known_bits(c) | a[1] | b[1] | c[1]):
        return of_origin(origin)
    if not a[1] | b[1] | c[1]:
        return (origin, 0, 0)
    if origin & SECRET:
        public = public_bits_of_logic3((a, b, c), table)
        if public != ALL:
            return (origin & OF_SECRETS, public, 0)
        origin &= ~SECRET
    can_be = [0, 0]
    for row in range(8):
        rows = possible(a, row >> 2 & 1) & possible(b, row >> 1 & 1) & possible(c, row & 1)
        can_be[table >> row & 1] |= rows & ALL
    known = (can_be[0] ^ can_be[1]) & ALL
    return (origin, known, can_be[1] & known)


def is_known(value):
    """Of a predicate."""
    return value[1] & 1 == 1 and not value[0]


def differ(a, b):
    """Whether two values differ: TRUE, FALSE or of unknown truth."""
    origin = a[0] | b[0]
    if origin == 0:
        if a[1] & b[1] & (a[2] ^ b[2]):
            return TRUE
        if a[1] & b[1] == ALL:
            return FALSE
    return of_origin(origin)
