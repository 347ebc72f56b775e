"""Follows secrets through an entry's machine code, and reports where they decide anything.

Abstract interpretation to a fixpoint: the state before each block of instructions joins the states
of all ways that lead to it. A branch whose condition is known from the assumptions is followed in
one direction.
"""

import dataclasses

import sass
import values
from conditions import Conditions, is_replaced
from cubin import INSTRUCTION_BYTES
from values import SECRET, SECRET_VALUE, UNKNOWN

AFTER_BARRIER = -1  # in a state: TRUE after a barrier
# In a state, -10 - n: where threads that wait at register Bn go on. A set, unlike all other values.
MEETING_POINTS = -10
# The bytes of what is not a whole word.
SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2}


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    entry: str
    at: int
    what: str
    text: str


def meeting_points(instruction):
    """The key in a state of the barrier register of BSSY or BSYNC."""
    return MEETING_POINTS - int(instruction.raw[0].removeprefix("B"))


class State(dict):
    """What is known of each register and stack slot; one that is absent was not written.

    `conditions` says more of registers that were set under a condition.
    """

    def __init__(self, other=()):
        super().__init__(other)
        self.conditions = Conditions(getattr(other, "conditions", None))

    def joined(self, other):
        """This state, or another one if `other` adds to it."""
        added = {}
        for key in self.keys() | other.keys():
            mine, theirs = self.get(key), other.get(key)
            if mine == theirs:
                continue
            if key <= MEETING_POINTS:
                both = (mine or frozenset()) | (theirs or frozenset())
            else:
                both = values.join(mine or UNKNOWN, theirs or UNKNOWN)
            if both != mine:
                added[key] = both
        conditions = self.conditions.joined(other.conditions)
        if not added and conditions is self.conditions:
            return self
        new = State(self)
        new.update(added)
        new.conditions = conditions
        return new


def is_padding(instruction):
    """Whether it belongs to what follows the end of an entry's code."""
    return instruction.name == "NOP" or (
        instruction.name == "BRA" and instruction.target == instruction.at
    )


class Analysis:
    def __init__(self, function, memory):
        self.function = function
        self.memory = memory
        self.code = [
            sass.decode(INSTRUCTION_BYTES * i, fields, function)
            for i, fields in enumerate(function.instructions)
        ]
        self.findings = set()
        self.reached = set()
        self.leaders = self.find_leaders()

    # ---- Control flow

    def find_leaders(self):
        leaders = {0}
        for instruction in self.code:
            if instruction.is_branch:
                leaders.add(instruction.at + INSTRUCTION_BYTES)
            if instruction.target is not None:
                leaders.add(instruction.target)
            if instruction.name == "BSYNC":
                leaders.add(instruction.at + INSTRUCTION_BYTES)
        return leaders

    def run(self):
        start = State({AFTER_BARRIER: values.FALSE})
        before = {((), 0): start}
        waiting = [((), 0)]
        while waiting:
            waiting.sort(key=lambda place: (len(place[0]), -place[1]))
            place = waiting.pop()
            for following, state in self.block(*place, before[place]):
                known = before.get(following)
                after = State(state) if known is None else known.joined(state)
                if known is None or after is not known:
                    before[following] = after
                    if following not in waiting:
                        waiting.append(following)
        return self

    def block(self, calls, at, state):
        """The states after a block, each with the place that it leads to."""
        state = State(state)
        while True:
            instruction = self.code[at // INSTRUCTION_BYTES]
            self.reached.add(at)
            following = at + INSTRUCTION_BYTES
            if instruction.is_branch:
                yield from self.branch(instruction, calls, state)
                return
            if instruction.name == "BSYNC":
                for target in state[meeting_points(instruction)]:
                    yield (calls, target), state
                if instruction.guard is not None:
                    if self.value(instruction.guard, state)[0] & SECRET:
                        self.report(instruction, "secret branch")
                    yield (calls, following), state
                return
            self.step(instruction, state)
            if following in self.leaders:
                yield (calls, following), state
                return
            at = following

    def branch(self, instruction, calls, state):
        self.condition = None
        conditions = [instruction.guard] if instruction.guard else []
        conditions += [source for source in instruction.sources if instruction.name != "RET"]
        taken, falls = True, bool(conditions)
        for condition in conditions:
            value = self.value(condition, state)
            if value[0] & SECRET:
                self.report(instruction, "secret branch")
            if values.is_known(value):
                taken = taken and value[2] == 1
        if len(conditions) == 1 and values.is_known(self.value(conditions[0], state)):
            falls = not taken
        following = instruction.at + INSTRUCTION_BYTES
        if falls:
            yield (calls, following), state
        if not taken or instruction.name == "EXIT":
            return
        if instruction.name == "CALL" and self.is_in_a_register(following, state):
            yield ((*calls, following), instruction.target), state
        elif instruction.name == "RET":
            back = self.value(instruction.sources[0], state)
            if not calls or back != values.constant(calls[-1]):
                raise self.unknown(instruction, "returns to an unknown place")
            yield (calls[:-1], calls[-1]), state
        else:
            yield (calls, instruction.target), state

    @staticmethod
    def is_in_a_register(address, state):
        """Whether a CALL can return to `address`: the hardware keeps no return address, so that a
        compiler also uses CALL as a branch, which leaves loops on chips before sm_90."""
        wanted = values.constant(address)
        return any(state.get(register) == wanted for register in range(sass.UNIFORM))

    def report(self, instruction, what):
        self.findings.add(Finding(self.function.name, instruction.at, what, instruction.text))

    def unknown(self, instruction, *why):
        place = f"{self.function.name} at {instruction.at:#x}"
        return sass.Unknown(": ".join([place, instruction.text, *why]))

    # ---- Values

    def register(self, number, state):
        """A register as the current instruction finds it, if its condition holds."""
        if self.condition is not None:
            facts = state.conditions.facts.get(number)
            if facts is not None and self.condition in facts:
                return facts[self.condition]
        return state.get(number, UNKNOWN)

    def write(self, number, value, guard, state):
        """Sets a register or a slot, if the condition `guard` of the current instruction holds."""
        mine = value
        if guard is not None:
            value = self.joined_with_older(value, guard, state.get(number, UNKNOWN))
        state.conditions.forget_register(number)
        if guard is not None and mine != value and self.condition is not None:
            # Compilers compute an address under the condition of its access. There, the register
            # cannot have an older value.
            state.conditions.add_fact(self.condition, number, mine)
        state[number] = value

    def under_conditions(self, instruction, state):
        """What an instruction computes if a condition holds under which its operands were set."""
        facts = state.conditions.facts
        used = set()
        for source in instruction.sources:
            if source.register is not None:
                used |= {source.register, source.register + 1}
        found = {}
        for condition in {at for register in used for at in facts.get(register, ())}:
            self.condition = condition
            found[condition] = self.compute(instruction, state)
        self.condition = None
        return found

    @staticmethod
    def joined_with_older(value, guard, older):
        """What a register or a slot holds after an instruction that may set it to `value`."""
        if guard[0] & SECRET:
            return values.of_origin(values.combined_origin([guard, value, older]))
        # Compilers keep such conditions in many ways. Where a register or a slot may have been set
        # to a pointer to global memory, it is used as one, or not at all: an older secret that is
        # no pointer would be a wild one.
        if (
            value[0] & values.BUFFERS
            and not value[0] & SECRET
            and (older[0] & SECRET and not older[0] & values.SECRET_POINTER)
        ):
            older = (older[0] & ~SECRET, 0, 0)
        both = values.join(value, older)
        return both if both[0] & SECRET else (both[0] | guard[0], *both[1:])

    def value(self, operand, state):
        if operand.constant_at is not None:
            value = self.constant(operand, state)
        elif operand.register is not None:
            value = self.register(operand.register, state)
        else:
            return operand.value
        if operand.sign == "-":
            return values.negate(value)
        if operand.sign == "~":
            return values.invert(value)
        if operand.sign == "!":
            return values.invert((value[0], value[1] & 1, value[2] & 1))
        if operand.sign == "|":
            return values.of_origin(value[0])
        return value

    def high(self, operand, state):
        """The upper word of a pair."""
        if operand.register is not None:
            return self.register(operand.register + 1, state)
        if operand.constant_at is not None:
            return self.constant(operand, state, 4)
        return values.of_origin(operand.value[0]) if operand.value != values.ZERO else values.ZERO

    def constant(self, operand, state, more=0):
        bank, inner = operand.constant_at
        if inner.address:
            return self.memory.indexed_constant(bank)
        return self.memory.constant(bank, operand.offset + more)

    def address(self, operand, state, global_memory):
        """The value of an address: its lower word, with the origins of both."""
        origin = 0
        low = values.constant(operand.offset)
        for register, pair, factor in operand.address:
            part = self.register(register, state)
            low = values.add(low, values.multiply(part, values.constant(factor)))
            if pair or global_memory:
                origin |= self.register(register + 1, state)[0]
        origin |= low[0]
        return values.of_origin(origin) if origin & SECRET else (origin, low[1], low[2])

    # ---- Instructions

    def step(self, instruction, state):
        name = instruction.name
        guard = None
        self.condition = None
        if instruction.guard is not None:
            guard = self.value(instruction.guard, state)
            if values.is_known(guard):
                if guard[2] == 0:
                    return
                guard = None
            else:
                self.condition = state.conditions.of(instruction.guard)
        if guard is not None and guard[0] & SECRET and name in sass.NOT_UNDER_A_SECRET:
            self.report(instruction, "secret condition of an access")
        self.check_indices(instruction, state)
        if name in sass.WITHOUT_RESULT:
            if name == "BSSY":
                key = meeting_points(instruction)
                older = frozenset() if guard is None else state.get(key, frozenset())
                state[key] = older | {instruction.target}
            elif name == "BMOV" and (instruction.raw[0] != "RZ" or len(instruction.raw) != 2):
                raise self.unknown(instruction)
            elif name == "BAR" and guard is None:
                state[AFTER_BARRIER] = values.TRUE
            elif name in sass.STORES:
                self.store(instruction, state, guard)
            return
        if name in ("LDG", "LDL", "LDS"):
            new = self.load(instruction, state)
        elif name in ("LDC", "ULDC", "LDCU"):
            new = self.load_constant(instruction, state)
        elif name in sass.TENSOR:
            new = [[SECRET_VALUE] * instruction.width]
        else:
            new = self.compute(instruction, state)
        under, slot = {}, None
        if name == "LDL":
            slot = self.slot(instruction, self.address(instruction.sources[0], state, False))
        if instruction.guard is None and name not in sass.WITHOUT_CONDITIONS:
            under = self.under_conditions(instruction, state)
        names, bits = state.conditions.of_results(instruction)
        if self.condition is not None and is_replaced(self.condition, instruction):
            self.condition = None
        for place, registers in enumerate(instruction.results):
            for word, register in enumerate(registers):
                if register is not None:
                    self.write(register, new[place][word], guard, state)
        for condition, results in under.items():
            if is_replaced(condition, instruction):
                continue
            for place, registers in enumerate(instruction.results):
                for word, register in enumerate(registers):
                    if register is not None and results[place][word] != state[register]:
                        state.conditions.add_fact(condition, register, results[place][word])
        state.conditions.add_results(instruction, names, bits)
        if slot is not None and guard is None:
            for word, register in enumerate(instruction.results[0]):
                if register is not None:
                    state.conditions.copy(slot + word, register)

    def slot(self, instruction, address):
        """The first slot that LDL or STL accesses, or None if that is not known."""
        if instruction.modifiers & SIZES.keys():
            raise self.unknown(instruction)
        if address[1] != values.ALL or not address[0] & values.STACK:
            return None
        return sass.STACK_SLOTS + address[2] // 4

    def load(self, instruction, state):
        name, width = instruction.name, instruction.width
        address = self.address(instruction.sources[0], state, name == "LDG")
        if address[0] & SECRET:
            self.report(instruction, "secret address")
            return [[SECRET_VALUE] * width]
        if name == "LDS":
            return [[SECRET_VALUE] * width]  # whatever it is
        if name == "LDL":
            slot = self.slot(instruction, address)
            if slot is None:
                return [[SECRET_VALUE] * width]
            return [[state.get(slot + i, UNKNOWN) for i in range(width)]]
        size = min((SIZES[m] for m in SIZES.keys() & instruction.modifiers), default=4)
        after_barrier = state[AFTER_BARRIER] == values.TRUE
        words = [values.add(address, values.constant(4 * i)) for i in range(width)]
        return [[self.memory.load(word, size, after_barrier) for word in words]]

    def check_indices(self, instruction, state):
        """Reports constants that are read at a secret place."""
        for source in instruction.sources:
            inner = source.constant_at[1] if source.constant_at else None
            if inner and inner.address and self.address(inner, state, False)[0] & SECRET:
                self.report(instruction, "secret address")

    def load_constant(self, instruction, state):
        operand = instruction.sources[0]
        bank, inner = operand.constant_at
        if inner.address:
            if self.address(inner, state, False)[0] & SECRET:
                return [[SECRET_VALUE] * instruction.width]
            return [[self.memory.indexed_constant(bank)] * instruction.width]
        return [
            [self.memory.constant(bank, operand.offset + 4 * i) for i in range(instruction.width)]
        ]

    def store(self, instruction, state, guard):
        where, data = instruction.sources
        address = self.address(where, state, instruction.name == "STG")
        if address[0] & SECRET:
            self.report(instruction, "secret address")
        width = instruction.width
        if data.register is None:
            stored = [data.value] * width
        else:
            stored = [self.register(data.register + i, state) for i in range(width)]
        if instruction.name == "STL":
            slot = self.slot(instruction, address)
            if slot is None:
                raise self.unknown(instruction, "writes to an unknown place of the stack")
            for i, value in enumerate(stored):
                self.write(slot + i, value, guard, state)
                if guard is None and data.register is not None:
                    state.conditions.copy(data.register + i, slot + i)
        elif (
            instruction.name == "STG"
            and self.memory.is_public(address)
            and (any(value[0] & SECRET for value in stored))
        ):
            self.report(instruction, "secret written to public memory")

    def compute(self, instruction, state):
        name, sources = instruction.name, instruction.sources
        operands = [self.value(source, state) for source in sources]
        origin = values.combined_origin(operands)
        if instruction.on_64_bits:
            numbers = [source for source in sources if not source.is_predicate]
            highs = [self.high(source, state) for source in numbers]
            if name in ("MOV", "UMOV"):
                return [[*operands, *highs]]
            origin = values.combined_origin([*operands, *highs])
        if name in ("P2R", "UP2UR"):
            return [[self.packed_predicates(name, operands, state)]]
        if name == "R2P":
            public, rest = values.public_bits(operands[0]), values.of_origin(origin)
            bits = [register - sass.PREDICATES for [register] in instruction.results]
            return [[UNKNOWN if public >> bit & 1 else rest] for bit in bits]
        if name in ("IMAD", "UIMAD") and instruction.modifiers & {"WIDE", "HI"}:
            origin = values.combined_origin([*operands, self.high(sources[2], state)])
        low = self.known_result(instruction, operands, values.of_origin(origin))
        if low[0] & origin & SECRET:
            low = (low[0] | origin & values.SECRET_POINTER, *low[1:])
        rest = values.of_origin(origin)
        if name in ("LOP3", "ULOP3") and len(instruction.results) == 2:
            truth = rest
            if operands[-1] == values.FALSE:
                truth = values.differ(low, values.ZERO)
            return [[truth], [low]]
        if name in ("ISETP", "UISETP", "PLOP3", "UPLOP3"):
            return [[low], [rest]]
        if name == "CS2R" and sources[0].value == values.ZERO:
            return [[values.ZERO] * instruction.width]
        return [
            [low] + [rest] * (len(registers) - 1) if place == 0 else [rest] * len(registers)
            for place, registers in enumerate(instruction.results)
        ]

    def packed_predicates(self, name, operands, state):
        base = sass.PREDICATES if name == "P2R" else sass.UNIFORM_PREDICATES
        *rest, given, mask = operands
        if mask[1] != values.ALL or rest not in ([], [UNKNOWN]):
            return SECRET_VALUE
        public = values.public_bits(given) | mask[2]
        for i in range(7):
            if mask[2] >> i & 1 and state.get(base + i, UNKNOWN)[0] & SECRET:
                public &= ~(1 << i)
        return values.with_public_bits(public & values.ALL)

    def known_result(self, instruction, operands, otherwise):
        name, modifiers = instruction.name, instruction.modifiers
        if name in ("MOV", "UMOV", "R2UR"):
            return operands[0]
        if name in ("IMAD", "UIMAD") and not modifiers & {"X", "HI"}:
            a, b, c = operands[:3]
            if values.ZERO in (a, b):
                return c
            return values.add(values.multiply(a, b), c)
        if name in ("IADD3", "UIADD3") and "X" not in modifiers:
            return values.add(values.add(operands[0], operands[1]), operands[2])
        if name in ("VIADD", "UIADD", "IADD") and "X" not in modifiers:
            return values.add(operands[0], operands[1])
        if name in ("LEA", "ULEA") and not modifiers & {"X", "HI"}:
            return values.add(values.shift_left(operands[0], operands[2]), operands[1])
        if name in ("SHF", "USHF") and modifiers <= {"L", "U32"}:
            return values.shift_left(operands[0], operands[1])
        if name in ("LOP3", "ULOP3") and operands[3][1] == values.ALL:
            return values.logic3(*operands[:3], operands[3][2])
        if name in ("ISETP", "UISETP"):
            return self.comparison(instruction, operands, otherwise)
        if name in ("PLOP3", "UPLOP3"):
            table = operands[3]
            result = values.logic3(*operands[:3], table[2])
            return (result[0], result[1] & 1, result[2] & 1)
        if name in ("SEL", "USEL"):
            a, b, chosen = operands
            if values.is_known(chosen):
                return a if chosen[2] else b
            either = values.join(a, b)
            if chosen[0] & SECRET:
                return otherwise
            return either if either[0] & SECRET else (either[0] | chosen[0], either[1], either[2])
        return otherwise

    @staticmethod
    def comparison(instruction, operands, otherwise):
        """ISETP compares two operands and combines the result with a third."""
        modifiers = instruction.modifiers
        result = values.UNKNOWN
        if "EX" not in modifiers and modifiers & {"NE", "EQ"}:
            result = values.differ(operands[0], operands[1])
            if modifiers & {"U64", "S64"} and result != values.TRUE:
                result = values.UNKNOWN  # their upper words may differ
            if "EQ" in modifiers and values.is_known(result):
                result = values.FALSE if result[2] else values.TRUE
        given = operands[2]
        decisive = (
            values.FALSE if "AND" in modifiers else values.TRUE if "OR" in modifiers else None
        )
        if decisive in (result, given):
            return decisive
        if decisive and values.is_known(result) and values.is_known(given):
            return given
        return otherwise
