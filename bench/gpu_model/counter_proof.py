"""Shows that the machine code of the bitsliced kernel's `ctr` computes AES in counter mode, for all
round keys, all counters and all texts: see docs/proofs.md.
"""

import dataclasses
import gc
import random
import struct
import time

import launch
import numpy as np
import processor
import standard
import symbolic
from decisions import FALSE, TRUE, Diagrams
from rules import Region
from symbols import FIRST_OUTPUT, FIRST_TEXT, ONE, ROUND_KEYS, ZERO, NotProven, Symbols
from words import PerThread

BLOCKS = 32  # of a thread
LANES = 32
TILE = BLOCKS * LANES
SLICED_WORDS = 128 * ROUND_KEYS
ROUNDS = {128: 10, 192: 12, 256: 14}


@dataclasses.dataclass(frozen=True)
class Mode:
    """What an entry computes. Its paths are those of `counters`, which are the first thread's; that
    there are no others is checked."""

    entry: str
    counters: tuple
    counted_bits: int = 0  # how many bits of the counter block count
    before_first: int = 0  # blocks between the message's counter and its first block
    flags: int = 0
    inverse: bool = False


LOW, ABOVE = 0x00112233445566778899AABBCCDD1234, 0x00112233445566778899AABBCCDDFFC0
MODES = {
    "CTR": Mode("ctr", (LOW, ABOVE, 0xF0112233FFFFFFFFFFFFFFFFFFFFFF80), 128),
    "GCM": Mode("gcm_ctr", (LOW, ABOVE), 32, 1),
    "GCM with a secret counter": Mode("gcm_ctr", (LOW,), 32, 1, launch.SECRET_COUNTER),
    "ECB": Mode("ecb_encrypt", (0,)),
    "ECB decryption": Mode("ecb_decrypt", (0,), inverse=True),
}


@dataclasses.dataclass
class Result:
    """A path that is right, for all counters for which the decision diagram `path` is true."""

    path: int
    decisions: list  # branches that the counter decides: the instruction, and whether it holds
    executed: int  # instructions of the warp
    symbolic: dict  # how many of them have symbols, by their numbers in the entry
    opcodes: set  # of these
    substitutions: int  # different S-boxes, by the forms of their inputs
    seconds: float


class Assignment:
    """The values that bits have in some threads of the model."""

    def __init__(self, symbols, sbox, keys, texts, counters, threads):
        self.symbols, self.sbox, self.threads = symbols, sbox, threads
        self.keys, self.texts, self.counters = keys, texts, counters
        self.bytes = [{} for _ in counters]  # what leaves the S-boxes
        self.inputs = {}

    def atom(self, atom, t):
        if atom == 0:
            return 1
        if atom < FIRST_TEXT:
            number, bit = divmod(atom - 1, 128)
            return self.keys[number][bit // 8] >> bit % 8 & 1
        if atom < FIRST_OUTPUT:
            block, bit = divmod(atom - FIRST_TEXT, 128)
            return self.texts[t][block][bit // 8] >> bit % 8 & 1
        first, bit = atom - (atom - FIRST_OUTPUT) % 8, (atom - FIRST_OUTPUT) % 8
        found = self.bytes[t].get(first)
        if found is None:
            if len(self.inputs) != len(self.symbols.substitutions):
                self.inputs = {s.first: s for s in self.symbols.substitutions.values()}
            found = self.bytes[t][first] = self.sbox[self.byte(self.inputs[first], t)]
        return found >> bit & 1

    def byte(self, substitution, t):
        return sum(self.bit(bit, t) << i for i, bit in enumerate(substitution.inputs))

    def bit(self, value, t):
        if type(value) is frozenset:
            return sum(self.atom(atom, t) for atom in value) & 1
        total = sum(self.atom(atom, t) for atom in value.atoms)
        total += self.symbols.diagrams.value(value.counter, self.counters[t])
        for substitution, table in value.tables.items():
            total += table >> self.byte(substitution, t) & 1
        return total & 1


def sliced_key(keys, rounds, inverse):
    """The words of a sliced key, as slice_keys makes them, and the symbols of those that an entry
    may read: all that are for encryption, or for decryption."""
    numbers, symbols = [], {}
    for number in range(ROUND_KEYS):
        constant = 0x63 if number != (rounds if inverse else 0) else 0
        for bit in range(128):
            offset = constant >> bit % 8 & 1
            value = keys[number][bit // 8] >> bit % 8 & 1 ^ offset
            symbol = Symbols.key(number, bit) ^ (ONE if offset else ZERO)
            numbers.append(0xFFFFFFFF * value)
            symbols[4 * (SLICED_WORDS * inverse + 128 * number + bit)] = (symbol,) * 32
    nothing = [0] * SLICED_WORDS
    numbers = [*nothing, *numbers] if inverse else [*numbers, *nothing]
    plain = b"".join(keys[:2])
    if not inverse:
        for w in range(8):
            bits = (Symbols.key(w // 4, 32 * (w % 4) + bit) for bit in range(32))
            symbols[4 * (2 * SLICED_WORDS + w)] = tuple(bits)
    return struct.pack(f"<{len(numbers)}I", *numbers) + plain, symbols


def added(symbols, counter, mode, number):
    """A counter plus a number, in the bits that count in a mode."""
    bits = mode.counted_bits
    return standard.plus(symbols, counter[:bits], number % (1 << bits)) + counter[bits:]


def message_counter(symbols, mode, firsts):
    """The words of the message's counter for each thread: its own first counter, of which bit i is
    variable i, less the number of its first block."""
    own = [symbols.counter(symbols.diagrams.variable(i)) for i in range(128)]
    per_thread = []
    for first in firsts:
        counter = added(symbols, own, mode, -first - mode.before_first)
        bits = [bit for byte in standard.counter_block(counter) for bit in byte]
        per_thread.append([tuple(bits[32 * w : 32 * w + 32]) for w in range(4)])
    words = {4 * w: PerThread(own[w] for own in per_thread) for w in range(4)}
    return own, words


def message_start(mode, counter, first):
    """The message's counter, as a number, if that of block `first` is this one."""
    counted = (1 << mode.counted_bits) - 1
    start = (counter - first - mode.before_first) & counted
    return (counter & ~counted | start).to_bytes(16, "big")


def expected_words(symbols, mode, own, rounds):
    """What the standards say that each word of the thread's blocks is, by its offset in the text."""
    expected = {}
    for j in range(BLOCKS):
        text = [symbols.text(j, bit) for bit in range(128)]
        if mode.counted_bits:
            block = standard.counter_block(added(symbols, own, mode, LANES * j))
        else:
            block = [text[8 * at : 8 * at + 8] for at in range(16)]
        state = standard.crypted(symbols, j, block, rounds, mode.inverse)
        bits = [bit for byte in state for bit in byte]
        if mode.counted_bits:
            bits = [symbols.add(*pair) for pair in zip(bits, text, strict=True)]
        for w in range(4):
            expected[16 * LANES * j + 4 * w] = tuple(bits[32 * w : 32 * w + 32])
    return expected


def of_all_lanes(address, step=16):
    return [address + step * lane for lane in range(LANES)]


class Tile:
    """A tile of a message of whole blocks, and the launch in which a warp works on it."""

    def __init__(self, program, mode, counter, rounds, tile, check, diagrams):
        generator = random.Random(counter)
        sbox = standard.INVERSE_SBOX if mode.inverse else standard.SBOX
        self.symbols = symbols = Symbols(sbox, diagrams)
        self.mode, self.rounds, self.expected = mode, rounds, None
        firsts = [TILE * tile + lane for lane in range(LANES)]
        keys = [generator.randbytes(16) for _ in range(ROUND_KEYS)]
        text = generator.randbytes(16 * TILE)

        memory = processor.Memory(1 << 20)
        key, key_words = sliced_key(keys, rounds, mode.inverse)
        key_at, in_at = memory.allocate(key), memory.allocate(text)
        out_at = memory.allocate(bytes(len(text)))
        start = message_start(mode, counter, firsts[0])
        message = launch.Message(0, 16 * TILE * (tile + 1), start, mode.flags)
        message_at = memory.allocate(message.packed(0))
        before = 16 * TILE * tile
        arguments = launch.packed_arguments(
            **{"in": (in_at - before) % (1 << 64)},
            out=(out_at - before) % (1 << 64),
            messages=message_at,
            count=1,
            tiles=tile + 1,
            key=key_at,
            scratch=0,
            unit_blocks=0,
            tile_blocks=TILE,
            rounds=rounds,
        )
        entry = program.entry(mode.entry)
        threads = program.option("GROUP_THREADS", 256)
        group, warp = divmod(tile, threads // LANES)
        self.machine = symbolic.Machine(
            symbols,
            np.arange(LANES * warp, LANES * (warp + 1)),
            *(entry, memory, arguments, threads, group, group + 1),
            *(launch.shared_bytes(program, mode.entry), processor.Counts(entry)),
        )

        self.own, counter_words = message_counter(symbols, mode, firsts)
        blocks = {
            16 * LANES * j + 4 * w: tuple(symbols.text(j, 32 * w + bit) for bit in range(32))
            for j in range(BLOCKS)
            for w in range(4)
        }
        size = 16 * LANES * (BLOCKS - 1) + 16
        self.output = Region("output", of_all_lanes(out_at), size, {})
        self.machine.regions = [
            Region("the key", of_all_lanes(key_at, 0), len(key), key_words),
            Region("the counter", of_all_lanes(message_at + 40, 0), 16, counter_words),
            Region("the text", of_all_lanes(in_at), size, blocks),
            self.output,
        ]
        if check:
            texts = [
                [text[16 * (lane + LANES * j) :][:16] for j in range(BLOCKS)]
                for lane in range(LANES)
            ]
            counters = [(counter + lane) % (1 << 128) for lane in range(LANES)]
            self.machine.evaluate = Assignment(symbols, sbox, keys, texts, counters, check)
        symbols.prepare = self.prepare

    def prepare(self):
        """Before the first S-box: the path is known, and the standard says which bytes enter S-boxes."""
        self.symbols.care = self.machine.path
        self.expected = expected_words(self.symbols, self.mode, self.own, self.rounds)

    def run(self):
        started = time.perf_counter()
        machine = self.machine
        collects = gc.isenabled()
        gc.disable()  # the forms have no cycles, and there are many
        try:
            machine.run()
        except (NotProven, processor.Fault, processor.Unknown) as error:
            text = machine.entry.texts[machine.at]
            where = f"{machine.entry.name} at {machine.at * processor.INSTRUCTION_BYTES:#x}: {text}"
            raise NotProven(f"{where}: {error}") from error
        finally:
            if collects:
                gc.enable()
        if self.expected is None:
            raise NotProven(f"{machine.entry.name} computes no S-box")
        compare(self.expected, self.output.words)
        return Result(
            machine.path,
            machine.decisions,
            machine.executed,
            machine.symbolic,
            {machine.entry.opcodes[at] for at in machine.symbolic},
            len(self.symbols.substitutions),
            time.perf_counter() - started,
        )


def run_path(program, mode, counter, *, rounds=10, tile=0, check=(), diagrams=None):
    """Shows that the path of this counter is right. `check`: threads for which the symbols of each
    instruction are compared with the numbers of the model."""
    return Tile(program, mode, counter, rounds, tile, check, diagrams).run()


def compare(expected, stored):
    if set(stored) != set(expected):
        raise NotProven(f"{len(stored)} words are stored, not {len(expected)}")
    for at, word in expected.items():
        where = f"word {at % (16 * LANES) // 4} of block {at // (16 * LANES)} of a thread"
        if type(stored[at]) is PerThread:
            raise NotProven(f"{where} is not the same in all threads")
        for i, (found, wanted) in enumerate(zip(stored[at], word, strict=True)):
            if found != wanted:
                raise NotProven(f"bit {i} of {where} is wrong")


def prove(program, mode, **options):
    """Shows that all paths are right. Yields a Result for each, and then checks that every counter
    has one."""
    diagrams, covered = Diagrams(), FALSE
    for counter in mode.counters:
        result = run_path(program, mode, counter, diagrams=diagrams, **options)
        covered = diagrams.either(covered, result.path)
        yield result
    if covered != TRUE:
        raise NotProven("there are counters with another path")
