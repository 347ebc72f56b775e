"""Runs the machine code of an entry for groups of threads, and counts what they execute.

All threads of a group are computed together. Where they diverge, those with the lowest address go
first, until the others meet them, and a barrier waits for all. The order in which a GPU would run
the warps between two barriers differs, which a program without races does not notice.
"""

import dataclasses

import cubin
import instructions
import numpy as np
from operands import WORD, Unknown, read, read_predicate

WARP = 32
INSTRUCTION_BYTES = 16
# sm_90 and later: the system keeps this much at the beginning of shared memory.
SYSTEM_SHARED_BYTES = 0x400
LOCAL_BYTES = 1 << 14
MOST_STEPS = 50_000_000


class Fault(Exception):
    """A program that does what it must not: an access out of bounds, or one that never ends."""


class Memory:
    """Global memory: regions with gaps between them, whose use is an error."""

    BASE = 1 << 32

    def __init__(self, total_bytes):
        self.bytes = np.zeros(total_bytes, np.uint8)
        self.valid = np.zeros(total_bytes, bool)
        self.used = 0

    def allocate(self, content, shift=0):
        """The address of a new region with these bytes, `shift` bytes after a multiple of 256; beside
        it lie others that are invalid, but for the word in which it begins."""
        data = np.frombuffer(bytes(content), np.uint8)
        start = self.used + 4096 + shift
        end = start + len(data)
        if end > len(self.bytes):
            raise MemoryError("the memory of the model is too small")
        self.bytes[start:end] = data
        self.valid[start // 4 * 4 : end] = True
        self.used = (end + 255) // 256 * 256
        return self.BASE + start

    def content(self, address, size):
        start = address - self.BASE
        return self.bytes[start : start + size].tobytes()

    def places(self, at, size, mask):
        """The indices of what is accessed, and of something valid for the other threads."""
        place = at - np.uint64(self.BASE)
        if mask is not None:
            place = place[mask]
        wrong = (place >= len(self.bytes)) | (place % np.uint64(size) != 0)
        if not wrong.any():
            wrong = ~(self.valid[place] & self.valid[place + np.uint64(size - 1)])
        if wrong.any():
            raise Fault(f"an access of {size} bytes at {int(place[wrong][0]) + self.BASE:#x}")
        return place


@dataclasses.dataclass
class Entry:
    """An entry that is ready to run."""

    name: str
    chip: int  # such as 90
    parameters: int  # where they begin in constant bank 0
    texts: list
    opcodes: list
    control: list  # the scheduling hints of the compiler
    actions: list  # functions, or None
    guards: list
    branches: dict  # number: (kind, conditions, target or register)
    banks: dict  # contents of the constant banks of the program


def prepare(function, chip):
    """An Entry of a cubin.Function."""
    banks = {number: np.frombuffer(content, np.uint8) for number, content in function.banks.items()}
    entry = Entry(function.name, chip, function.parameters, [], [], [], [], [], {}, banks)
    for number, fields in enumerate(function.instructions):
        opcode, guard = fields["opcode"], fields.get("predicate", "")
        operands = fields.get("operands", "")
        guard = guard if guard.startswith("@") else ""
        text = " ".join(filter(None, (guard, opcode, operands)))
        try:
            kind = opcode.split(".")[0]
            action = instructions.compile_instruction(opcode, operands)
            if kind in instructions.CONTROL:
                entry.branches[number] = control_of(kind, operands, function)
            condition = read_predicate(guard[1:]) if guard else None
        except (Unknown, KeyError, IndexError, ValueError, TypeError) as error:
            at = f"{function.name} at {number * INSTRUCTION_BYTES:#x}"
            raise Unknown(f"{at}: {text}: {error}") from error
        entry.texts.append(text)
        entry.opcodes.append(opcode)
        entry.actions.append(action)
        entry.guards.append(condition)
        entry.control.append(scheduling(function.code, number))
    return entry


def control_of(kind, operands, function):
    texts = cubin.split_operands(operands)
    if kind in ("EXIT", "BAR"):
        return kind, [read_predicate(t) for t in texts if kind == "EXIT"], None
    if kind == "RET":
        return kind, [], read(texts[0])
    target = texts.pop()
    address = int(target, 16) if target.startswith("0x") else function.symbols[target]
    conditions = [read_predicate(text) for text in texts]
    return kind, conditions, address // INSTRUCTION_BYTES


@dataclasses.dataclass(frozen=True)
class Scheduling:
    """What the compiler says of an instruction: cycles until the next one may be issued, the
    counters ("scoreboards") that it holds until its result, or its operands, are done with, and
    those that it waits for."""

    stall: int
    writes: int  # 7: none
    reads: int  # 7: none
    waits: int  # a mask


def scheduling(code, number):
    word = int.from_bytes(
        code[number * INSTRUCTION_BYTES + 8 : number * INSTRUCTION_BYTES + 16], "little"
    )
    bits = word >> 41
    return Scheduling(bits & 15, bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 63)


class Counts:
    """What the groups of a launch executed."""

    def __init__(self, entry):
        self.issued = np.zeros(len(entry.texts), np.int64)  # by warps
        self.wavefronts = np.zeros(len(entry.texts), np.int64)  # of accesses to memory
        self.path = []  # the instructions of the first warp of the first group


class Group:
    """The threads of a group, their registers and memories."""

    def __init__(self, entry, memory, arguments, threads, group, groups, shared_bytes, counts):
        self.entry, self.memory, self.counts = entry, memory, counts
        self.threads, self.number = threads, group
        self.R = np.zeros((256, threads), np.uint32)
        self.UR = np.zeros((64, threads), np.uint32)
        self.P = np.zeros((7, threads), bool)
        self.UP = np.zeros((7, threads), bool)
        self.zeros = np.zeros(threads, np.uint32)
        self.shared_base = SYSTEM_SHARED_BYTES if entry.chip >= 90 else 0
        self.shared = np.zeros(self.shared_base + shared_bytes, np.uint8)
        self.local = np.zeros((threads, LOCAL_BYTES // 4), np.uint32)
        self.rows = np.arange(threads)
        self.at = 0  # the instruction that is executed
        self.active = None  # the threads that execute it; None: all
        self.banks = dict(entry.banks)
        self.banks[0], self.known = self.bank_of_arguments(arguments, groups)

    def bank_of_arguments(self, arguments, groups):
        first = self.entry.parameters
        bank = np.zeros(first + len(arguments) + 16, np.uint8)
        known = np.zeros(len(bank), bool)
        # sm_75 to sm_90: sizes of a group and the grid, the stack, and descriptors of memory.
        words = {
            0x0: self.threads,
            0x4: 1,
            0x8: 1,
            0xC: groups,
            0x10: 1,
            0x14: 1,
            0x28: LOCAL_BYTES,
        }
        for at, value in words.items():
            bank[at : at + 4] = np.frombuffer(value.to_bytes(4, "little"), np.uint8)
            known[at : at + 4] = True
        for descriptor in (0x118, 0x208):
            if descriptor < first:
                known[descriptor : descriptor + 8] = True
        bank[first : first + len(arguments)] = np.frombuffer(arguments, np.uint8)
        known[first : first + len(arguments)] = True
        return bank, known

    def special(self, name):
        values = {
            "SR_TID.X": self.rows,
            "SR_CTAID.X": np.full(self.threads, self.number),
            "SR_CgaCtaId": np.zeros(self.threads),
            "SR_LANEID": self.rows % WARP,
        }
        if name not in values:
            raise Unknown(f"the special register {name}")
        return values[name].astype(np.uint32)

    def constants(self, bank, at, size):
        if bank not in self.banks:
            raise Unknown(f"constant bank {bank}")
        content = self.banks[bank]
        at = np.minimum(at.astype(np.int64), len(content) - size)
        checked = at if self.active is None else at[self.active]
        if bank == 0 and not self.known[checked].all():
            raise Unknown(f"constant {int(at[0]):#x} of bank 0")
        value = np.zeros(self.threads, np.uint32)
        for i in range(size):
            value |= content[at + i].astype(np.uint32) << np.uint32(8 * i)
        return value

    # ---- Memory

    def load(self, space, at, size, mask):
        if space == "local":
            place = self.local_places(at, size, mask)
            return [self.local[self.rows, place + i] for i in range(max(size // 4, 1))]
        source = self.memory.bytes if space == "global" else self.shared
        place = self.places(space, at, size, mask)
        if size < 4:
            found = [source[place + np.uint64(i)].astype(np.uint32) << 8 * i for i in range(size)]
            words = [sum(found[1:], found[0])]
        else:
            view = source.view(np.uint32)
            place = place >> np.uint64(2)
            words = [view[place + np.uint64(i)] for i in range(size // 4)]
        return words if mask is None else [self.spread(word, mask) for word in words]

    def store(self, space, at, size, words, mask):
        if space == "local":
            place = self.local_places(at, size, mask)
            chosen = slice(None) if mask is None else mask
            for i, word in enumerate(words):
                self.local[self.rows[chosen], place[chosen] + i] = word[chosen]
            return
        source = self.memory.bytes if space == "global" else self.shared
        place = self.places(space, at, size, mask)
        if mask is not None:
            words = [word[mask] for word in words]
        if size < 4:
            for i in range(size):
                source[place + np.uint64(i)] = (words[0] >> np.uint32(8 * i)).astype(np.uint8)
        else:
            view = source.view(np.uint32)
            for i, word in enumerate(words):
                view[(place >> np.uint64(2)) + np.uint64(i)] = word

    def spread(self, values, mask):
        everywhere = np.zeros(self.threads, np.uint32)
        everywhere[mask] = values
        return everywhere

    def local_places(self, at, size, mask):
        place = at & WORD
        if mask is not None:
            place = np.where(mask, place, np.uint64(0))
        if size < 4 or (place >= LOCAL_BYTES).any() or (place % np.uint64(size) != 0).any():
            raise Fault(f"an access of {size} bytes to the stack")
        return (place >> np.uint64(2)).astype(np.int64)

    def places(self, space, at, size, mask):
        if space == "global":
            self.count_lines(at, size, mask)
            return self.memory.places(at, size, mask)
        at = at & WORD
        self.count_wavefronts(at, size, mask)
        place = at if mask is None else at[mask]
        wrong = (place < self.shared_base) | (place + np.uint64(size) > len(self.shared))
        wrong |= place % np.uint64(size) != 0
        if wrong.any():
            raise Fault(f"an access of {size} bytes at {int(place[wrong][0]):#x} of shared memory")
        return place

    def count_wavefronts(self, at, size, mask):
        """A wavefront accesses at most one word of each of the 32 banks: of eight threads for 16
        bytes each, of sixteen for 8. Threads that access the same word share it."""
        words = max(size // 4, 1)
        phases = at.reshape(-1, WARP // words).astype(np.int64) >> 2
        active = None if mask is None else mask.reshape(phases.shape)
        if active is not None:
            keep = active.any(axis=1)
            phases, active = phases[keep], active[keep]
            if not len(phases):
                return
            # Threads that do not take part do what another does.
            first = phases[np.arange(len(phases)), active.argmax(axis=1)]
            phases = np.where(active, phases, first[:, None])
        every = np.sort((phases[:, :, None] + np.arange(words)).reshape(len(phases), -1), axis=1)
        new = np.ones(every.shape, bool)
        new[:, 1:] = every[:, 1:] != every[:, :-1]
        row, column = np.nonzero(new)
        banks = np.zeros((len(phases), WARP), np.int64)
        np.add.at(banks, (row, every[row, column] % WARP), 1)
        self.counts.wavefronts[self.at] += int(banks.max(axis=1).sum())

    def count_lines(self, at, size, mask):
        """A wavefront accesses a line of 128 bytes, for eight threads with 16 bytes each, sixteen with
        8, or a warp."""
        lines = at.reshape(-1, WARP // max(size // 4, 1)).astype(np.int64) >> 7
        if mask is not None:
            lines = np.where(mask.reshape(lines.shape), lines, -1)
        lines = np.sort(lines, axis=1)
        new = np.ones(lines.shape, bool)
        new[:, 1:] = lines[:, 1:] != lines[:, :-1]
        self.counts.wavefronts[self.at] += int((new & (lines >= 0)).sum())

    # ---- Execution

    def run(self):
        everyone = np.ones(self.threads, bool)
        waiting = None  # the threads at a barrier, and the instruction after it
        fragments = [(0, everyone)]  # threads that are at the same instruction
        steps = 0
        while fragments or waiting:
            if not fragments:
                fragments, waiting = [waiting], None
            fragments.sort(key=lambda fragment: fragment[0])
            at, mask = fragments.pop(0)
            while fragments and fragments[0][0] == at:
                mask = mask | fragments.pop(0)[1]
            limit = fragments[0][0] if fragments else len(self.entry.texts)
            at, mask, steps = self.straight(at, mask, limit, steps)
            if at == limit:
                fragments.append((at, mask))
                continue
            for kind, target, threads in self.branch(at, mask):
                if kind != "barrier":
                    fragments.append((target, threads))
                elif waiting is None:
                    waiting = (target, threads)
                elif waiting[0] == target:
                    waiting = (target, waiting[1] | threads)
                else:
                    raise Fault("two barriers at once")
            if steps > MOST_STEPS:
                raise Fault("the entry does not end")

    def straight(self, at, mask, limit, steps):
        """Executes up to a branch, or to the instruction `limit`."""
        entry, counts = self.entry, self.counts
        warps = int(mask.reshape(-1, WARP).any(axis=1).sum())
        path = counts.path if self.number == 0 and mask[:WARP].any() else None
        some = None if mask.all() else mask
        while at != limit:
            steps += 1
            counts.issued[at] += warps
            if path is not None:
                path.append(at)
            if at in entry.branches:
                break
            self.at = at
            if entry.actions[at] is not None:
                self.step(at, mask, some)
            at += 1
        return at, mask, steps

    def step(self, at, mask, some):
        """Executes an instruction; `some` is the mask, or None for all threads."""
        guard = self.entry.guards[at]
        self.active, chosen = some, some
        if guard is not None:
            chosen = np.broadcast_to(guard(self), mask.shape) & mask
            if not chosen.any():
                return
        self.entry.actions[at](self, chosen)

    def branch(self, at, mask):
        """Where the threads go: (kind, instruction, threads) of each part."""
        kind, conditions, target = self.entry.branches[at]
        taken = mask
        if self.entry.guards[at] is not None:
            taken = taken & self.entry.guards[at](self)
        for condition in conditions:
            taken = taken & condition(self)
        stay = mask & ~taken
        if stay.any():
            yield "goes on", at + 1, stay
        if not taken.any() or kind == "EXIT":
            return
        if kind == "BAR":
            yield "barrier", at + 1, taken
        elif kind == "RET":
            addresses = np.asarray(target(self))
            for address in np.unique(addresses[taken]):
                yield "goes on", int(address) // INSTRUCTION_BYTES, taken & (addresses == address)
        else:
            yield "goes on", target, taken


def run(entry, memory, arguments, threads, groups, shared_bytes):
    """Runs all groups of a launch, and returns the Counts."""
    counts = Counts(entry)
    for number in range(groups):
        group = Group(entry, memory, arguments, threads, number, groups, shared_bytes, counts)
        try:
            group.run()
        except (Fault, Unknown) as error:
            text = entry.texts[group.at]
            at = f"{entry.name} at {group.at * INSTRUCTION_BYTES:#x}: {text}"
            raise type(error)(f"{at}: {error}") from error
    return counts
