"""Which memory of the GPU programs is secret: the parameters of an entry (src/gpu/device/entry.h)
and what they point to.

Secret: everything that is loaded from `in`, `out`, `keys` and `scratch`, from shared memory, and
from the argument `single`. That covers texts, keys, schedules, hash keys, tag masks, hashes and
tweaks.

Public: sizes and counts, pointers, the numbers of threads and groups, and the messages of a launch
(paraes_message, paraes_gcm_end in src/gpu/device/job.h), with these exceptions:

- `iv` of a GCM message whose flags contain PARAES_SECRET_COUNTER: J0 is computed from the hash key.
- `addend` of a paraes_gcm_end, which is computed from the hash key.

One secret becomes public by design: whether a tag is right. gcm_finish writes this verdict over the
first word of the message's tag mask, and reads it after a barrier.
"""

import values
from values import COUNT, KEYS, MESSAGES, OUT, SCRATCH, SECRET_VALUE, TILES, UNKNOWN

# The first bytes of each parameter, and what is known of it. To tell the fields of structures
# apart, pointers begin at multiples of 64 bytes, and the numbers of tag masks and hashes before
# the paraes_gcm_end are multiples of 4. The code is the same for all of them, and the analysis
# decides no branch by it.
PARAMETERS = {
    0: (values.IN, 63, 0),
    4: (values.IN, 0, 0),
    8: (OUT, 63, 0),
    12: (OUT, 0, 0),
    16: (MESSAGES, 63, 0),
    20: (MESSAGES, 0, 0),
    24: (COUNT, 3, 0),
    28: UNKNOWN,
    32: (TILES, 3, 0),
    36: (TILES, 0, 0),
    40: (KEYS, 63, 0),
    44: (KEYS, 0, 0),
    48: (SCRATCH, 63, 0),
    52: (SCRATCH, 0, 0),
    56: UNKNOWN,
    60: UNKNOWN,
    64: UNKNOWN,
}
STRUCTURE_BYTES = 64
IV, FLAGS, ADDEND = range(40, 56), range(36, 40), range(48, 64)
SECRET_COUNTER = 4
ENDS_IN_SCRATCH = ("ghash_join", "gcm_finish")  # entries that read paraes_gcm_end


class Memory:
    """`secret_counter` says whether the flags of all messages contain PARAES_SECRET_COUNTER."""

    def __init__(self, function, secret_counter):
        self.function = function
        self.secret_counter = secret_counter
        self.verdicts = 0

    def constant(self, bank, offset):
        if bank != 0:
            return UNKNOWN  # tables and addresses of the program
        at = offset - self.function.parameters
        if 0 <= at < self.function.parameter_bytes:
            return PARAMETERS.get(at // 4 * 4, SECRET_VALUE)  # what follows is `single`
        return (values.STACK, values.ALL, 0) if offset in (0x28, 0x37C) else UNKNOWN

    def indexed_constant(self, bank):
        return SECRET_VALUE if bank == 0 else UNKNOWN

    def is_end(self, address):
        return self.function.name in ENDS_IN_SCRATCH and address[0] & TILES != 0

    def is_public(self, address):
        pointers = address[0] & values.BUFFERS
        return pointers == MESSAGES or (pointers == SCRATCH and self.is_end(address))

    def load(self, address, size, after_barrier):
        """The value of up to four bytes."""
        if not self.is_public(address):
            return UNKNOWN if self.is_verdict(address, size, after_barrier) else SECRET_VALUE
        place = None
        if values.low_known(address) >= 6:
            place = range(address[2] % STRUCTURE_BYTES, address[2] % STRUCTURE_BYTES + size)
        if address[0] & MESSAGES:
            return self.field_of_message(place)
        return UNKNOWN if place and not set(place) & set(ADDEND) else SECRET_VALUE

    def field_of_message(self, place):
        if not self.secret_counter:
            return UNKNOWN
        if place is None or set(place) & set(IV):
            return SECRET_VALUE
        if FLAGS.start in place:
            return (0, SECRET_COUNTER, SECRET_COUNTER)
        return UNKNOWN

    def is_verdict(self, address, size, after_barrier):
        return (
            self.function.name == "gcm_finish"
            and after_barrier
            and size == 4
            and address[0] & values.BUFFERS == SCRATCH
            and values.low_known(address) >= 4
            and address[2] % 16 == 0
        )
