"""Which predicates are the same condition, and what registers hold if it is true or false.

Compilers compute an address under the condition of its access, often in several steps: the offset
first, the sum with a pointer much later. If the condition is false, the register still holds
something older, which may be a secret; but then nothing uses it. To see that, the analysis has to
know the condition again when its predicate has been in a bit of another register meanwhile, or has
been computed a second time.

A condition is a pair: where it was computed, and whether it holds or is negated. The place stands
for what the instruction there computed last, so all that is known of it goes when the instruction
is met again. A predicate without a name is its own place until it is written.
"""

import sass
import values

# The condition of a bit that is known to be 0, in a register that collects predicates.
NO = (None, False)
# In the bits of a register, if all that are not listed are 0.
ALL_ELSE = "else"
# Clears of more bits than this are not of a register that collects predicates.
MOST_CLEARED = 8
AND, OR = 0xC0, 0xFC


def negated(condition, sign):
    return (condition[0], condition[1] ^ (sign == "!"))


def is_replaced(condition, instruction):
    """Whether the instruction computes another condition in its place."""
    place = condition[0]
    return place == instruction.at or any(-place in registers for registers in instruction.results)


def equal_entries(mine, other):
    return {key: value for key, value in mine.items() if other.get(key) == value}


def bits_that(bits, stay):
    """The bits of a register that `stay` accepts. If another is not known any more, neither is that
    all others are 0."""
    kept = {bit: at for bit, at in bits.items() if bit == ALL_ELSE or stay(bit, at)}
    if len(kept) < len(bits):
        kept.pop(ALL_ELSE, None)
    return kept


class Conditions:
    def __init__(self, other=None):
        # The conditions that predicates are, by register.
        self.names = dict(other.names) if other else {}
        # The conditions in the bits of other registers and of stack slots.
        self.bits = dict(other.bits) if other else {}
        # Comparisons whose operands have not changed, with the condition that each is.
        self.compared = dict(other.compared) if other else {}
        # By register: its values under conditions.
        self.facts = dict(other.facts) if other else {}

    def joined(self, other):
        """These, or new ones that hold in both states."""
        new = Conditions()
        new.names = equal_entries(self.names, other.names)
        new.compared = equal_entries(self.compared, other.compared)
        for register, bits in self.bits.items():
            theirs = other.bits.get(register, {})
            if both := equal_entries(bits, theirs):
                if len(both) < max(len(bits), len(theirs)):
                    both.pop(ALL_ELSE, None)
                new.bits[register] = both
        for register, facts in self.facts.items():
            theirs = other.facts.get(register, {})
            both = {at: values.join(facts[at], theirs[at]) for at in facts if at in theirs}
            if both:
                new.facts[register] = both
        return self if new == self else new

    def __eq__(self, other):
        return vars(self) == vars(other)

    # ---- What is known

    def of(self, predicate):
        """The condition of a guard or an operand that is a predicate."""
        return negated(
            self.names.get(predicate.register, (-predicate.register, True)), predicate.sign
        )

    def add_fact(self, condition, register, value):
        self.facts[register] = {**self.facts.get(register, {}), condition: value}

    def copy(self, source, target):
        """A register or a slot has been copied to another."""
        for known in (self.facts, self.bits):
            if source in known:
                known[target] = known[source]

    # ---- What ceases to be known

    def forget_place(self, place):
        def others(entries):
            return {key: value for key, value in entries.items() if value[0] != place}

        self.names, self.compared = others(self.names), others(self.compared)
        self.bits = {
            register: kept
            for register, bits in self.bits.items()
            if (kept := bits_that(bits, lambda _, at: at[0] != place))
        }
        self.facts = {
            register: kept
            for register, facts in self.facts.items()
            if (kept := {at: value for at, value in facts.items() if at[0] != place})
        }

    def forget_register(self, register):
        self.facts.pop(register, None)
        self.bits.pop(register, None)
        if self.compared:
            self.compared = {key: at for key, at in self.compared.items() if register not in key[1]}
        if register >= sass.PREDICATES and register < sass.STACK_SLOTS:
            self.names.pop(register, None)
            self.forget_place(-register)

    # ---- What an instruction makes known

    def of_results(self, instruction):
        """What the instruction's results will be: conditions by predicate, and bits by register.
        A new condition has the instruction's place; what is known of the last one there is
        forgotten. To be asked before the results are written."""
        first = instruction.results[0][0] if instruction.results else None
        name, names, bits = instruction.name, {}, {}
        if name in ("ISETP", "UISETP"):
            names[first] = self.comparison(instruction)
        elif name in ("PLOP3", "UPLOP3"):
            names[first] = (instruction.at, True)
        elif name in ("LOP3", "ULOP3"):
            condition, bits = self.logic(instruction)
            if len(instruction.results) == 2:
                names[first] = condition
        elif instruction.guard is not None:
            pass
        elif name == "R2P":
            names = self.unpacked(instruction)
        elif name in ("P2R", "UP2UR"):
            bits = self.packed(instruction)
        elif (
            instruction.width == 1 and instruction.sources and not instruction.sources[-1].sign
        ) and (
            name in ("MOV", "UMOV")
            or (name in ("IMAD", "UIMAD") and "MOV" in instruction.modifiers)
        ):
            bits = self.bits.get(instruction.sources[-1].register, {})
        gone = {
            -register for registers in instruction.results for register in registers if register
        }
        if (instruction.at, True) in names.values():
            self.forget_place(instruction.at)
        else:
            gone.add(instruction.at)
        names = {key: at for key, at in names.items() if key is not None and at[0] not in gone}
        bits = bits_that(bits, lambda _, at: at[0] not in gone)
        register = instruction.results[-1][0] if instruction.results else None
        return names, {register: bits} if register is not None and bits else {}

    def add_results(self, instruction, names, bits):
        """Adds what `of_results` has returned, after the results were written."""
        self.names.update(names)
        self.bits.update(bits)
        if instruction.name in ("ISETP", "UISETP") and instruction.guard is None:
            expression = self.expression(instruction)
            written = {register for registers in instruction.results for register in registers}
            condition = names.get(instruction.results[0][0])
            if condition is not None and not written & expression[1]:
                self.compared[expression] = condition

    def comparison(self, instruction):
        left, right, given = instruction.sources[:3]
        kinds = instruction.modifiers
        packed = self.bits.get(left.register, {})
        new = (instruction.at, True)
        if instruction.guard is not None:
            return new
        if (
            kinds & {"NE", "EQ"}
            and "AND" in kinds
            and not kinds & {"EX", "U64", "S64"}
            and right.value == values.ZERO
            and right.register is None
            and given.value == values.TRUE
            and given.register is None
            and ALL_ELSE in packed
            and not left.sign
        ):
            named = [at for bit, at in packed.items() if bit != ALL_ELSE and at != NO]
            if len(named) == 1:
                return negated(named[0], "!" if "EQ" in kinds else "")
        return self.compared.get(self.expression(instruction), new)

    @staticmethod
    def expression(instruction):
        """A comparison, and the registers that it reads."""
        registers = set()
        words = 2 if instruction.modifiers & {"U64", "S64"} else 1
        for source in instruction.sources:
            if source.register is not None:
                registers |= {source.register + i for i in range(words)}
            if source.constant_at is not None and source.constant_at[1].address:
                registers |= {register for register, *_ in source.constant_at[1].address}
        opcode, operands = instruction.text.split(None, 1)
        return (opcode, frozenset(registers), operands.split(",", 1)[1].replace(".reuse", ""))

    def logic(self, instruction):
        """Of LOP3 with a constant: a test of one bit, a clear, or a set under a condition."""
        new = (instruction.at, True)
        a, b, c, table = instruction.sources[:4]
        if table.value[1] != values.ALL or a.register is None or b.register is not None:
            return new, {}
        if b.value[1] != values.ALL or (c.register, c.value) != (None, values.ZERO) or a.sign:
            return new, {}
        bits, mask = self.bits.get(a.register, {}), b.value[2]
        if instruction.guard is not None:
            return new, self.set_bit(instruction, bits, mask)
        if table.value[2] == AND:
            condition = new
            if mask.bit_count() == 1 and instruction.sources[-1].value == values.FALSE:
                condition = bits.get(mask.bit_length() - 1, new)
                condition = new if condition == NO else condition
            kept = {bit: at for bit, at in bits.items() if bit == ALL_ELSE or mask >> bit & 1}
            cleared = ~mask & values.ALL
            if cleared.bit_count() <= MOST_CLEARED:
                kept |= {bit: NO for bit in range(32) if cleared >> bit & 1}
            return condition, kept
        if table.value[2] == OR:
            kept = {bit: at for bit, at in bits.items() if bit != ALL_ELSE and not mask >> bit & 1}
            return new, kept
        return new, {}

    def set_bit(self, instruction, bits, mask):
        """Of LOP3 under a condition: if it sets a bit that was 0, the bit is the condition."""
        bit = mask.bit_length() - 1
        if (
            instruction.sources[3].value[2] == OR
            and mask.bit_count() == 1
            and bits.get(bit) == NO
            and instruction.results == [[instruction.sources[0].register]]
        ):
            return {**bits, bit: self.of(instruction.guard)}
        return {}

    def packed(self, instruction):
        """Of P2R: the predicates that its mask names, and the bits of another register."""
        given, mask = instruction.sources[-2:]
        base = sass.PREDICATES if instruction.name == "P2R" else sass.UNIFORM_PREDICATES
        if mask.value[1] != values.ALL:
            return {}
        if given.register is None and given.value == values.ZERO:
            bits = {ALL_ELSE: NO}
        else:
            bits = dict(self.bits.get(given.register, {}))
        for i in range(7):
            if mask.value[2] >> i & 1:
                bits[i] = self.names.get(base + i, (-base - i, True))
        return bits

    def unpacked(self, instruction):
        """Of R2P: by predicate, the condition that it becomes."""
        bits = self.bits.get(instruction.sources[0].register, {})
        found = {}
        for [register] in instruction.results:
            condition = bits.get(register - sass.PREDICATES, NO)
            if condition != NO and condition[0] != -register:
                found[register] = condition
        return found
