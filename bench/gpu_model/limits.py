"""The rates that the arithmetic allows: a kernel's program, a mode, and a chip."""

import dataclasses
import random

import chips
import launch
import processor
import timing

BLOCK_BITS = 128
SEGMENT = 16384  # of a GCM message, the usual one
UNIT = 4096  # of XTS
HASH_LANES = 8  # threads that hash a segment, where there are many
TENSOR_LANES = 16  # the same with tensor cores
TENSOR_GCM = "GCM with tensor cores"  # of the variant HASH_TENSOR
MODES = ("ECB", "ECB decryption", "CBC decryption", "CTR", "GCM", TENSOR_GCM, "XTS", "XTS decryption")
GCM_MODES = ("GCM", TENSOR_GCM)
# Bytes that global memory moves for a byte of text. GHASH reads the ciphertext once more.
TRAFFIC = dict.fromkeys(GCM_MODES, 3)


@dataclasses.dataclass
class Part:
    """An entry that a mode runs."""

    entry: str
    registers: int
    stack_bytes: int
    shared_bytes: int
    groups: int  # that a multiprocessor holds at once
    units: dict  # cycles of each unit of a scheduler, for a block of text
    cycles: float  # that a scheduler takes for a block of text


@dataclasses.dataclass
class Limit:
    kernel: str
    mode: str
    chip: str
    parts: list
    bound: float  # Tbit/s
    predicted: float


def part(program, chip, entry, threads, less, more, blocks):
    """What `blocks` more blocks of text of a group cost. `less`: the Counts without them, of the same
    grid; None: those of nothing, so that all that the group prepares counts."""
    function, prepared = program.functions[entry], program.entry(entry)
    shared = launch.shared_bytes(program, entry)
    groups = timing.groups_at_once(chip, function, threads, shared)
    if groups == 0:
        raise ValueError(f"{entry} does not fit {chip.name}")
    before = timing.unit_cycles(prepared, less) if less else {}
    units = {
        unit: (cycles - before.get(unit, 0)) / blocks
        for unit, cycles in timing.unit_cycles(prepared, more).items()
    }
    warps = max(groups * threads // processor.WARP // chips.SCHEDULERS, 1)

    def simulated(counts):
        return timing.simulate(prepared, counts.path, timing.costs(prepared, counts), warps)

    cycles = simulated(more) - (simulated(less) if less else 0)
    return Part(
        entry,
        function.registers,
        function.frame_bytes,
        shared,
        groups,
        units,
        cycles / (blocks / (threads // processor.WARP) * warps),
    )


ENTRIES = {
    "ECB": "ecb_encrypt",
    "ECB decryption": "ecb_decrypt",
    "CBC decryption": "cbc_decrypt",
    "CTR": "ctr",
    "GCM": "gcm_ctr",
    TENSOR_GCM: "gcm_ctr",
    "XTS": "xts_encrypt",
    "XTS decryption": "xts_decrypt",
}


def drawn(what, size):
    """Random bytes, the same for every kernel, mode and run: a longer draw begins with the shorter.
    Bank conflicts depend on them, by about a per cent."""
    return random.Random(what).randbytes(size)


def run_mode(device, mode, size):
    text = drawn("text", size)
    if mode in GCM_MODES:
        texts = [text[at : at + SEGMENT] for at in range(0, size, SEGMENT)]
        lanes = TENSOR_LANES if device.program.option("HASH_TENSOR") else HASH_LANES
        nonces = drawn("nonces", 12 * len(texts))
        device.gcm(texts, [nonces[at : at + 12] for at in range(0, len(nonces), 12)], hash_lanes=lanes)
    elif mode.startswith("XTS"):
        device.xts(ENTRIES[mode], text, 1, UNIT)
    else:
        device.run(ENTRIES[mode], text, drawn("iv", 16))
    return dict(device.ran)


def parts_of(program, mode, chip, shift):
    """The parts of a mode. Left out is what is short beside the text: the masks of tags, and the
    tweaks of units."""
    threads, each = program.option("GROUP_THREADS", 256), program.option("BLOCKS_PER_THREAD")
    keys = [drawn(what, 16) for what in (("key", "tweak key") if mode.startswith("XTS") else ("key",))]
    device = launch.Device(program, keys, 1 << 27, shift)
    entry = ENTRIES[mode]
    # A tile for each warp of a group, and then two more.
    step = max(16 * threads * each, UNIT)
    if mode in GCM_MODES:
        # A group hashes this many segments at once, or half as many.
        step = max(step, SEGMENT * device.hash_threads // HASH_LANES)
    less, more = (run_mode(device, mode, step * times) for times in (1, 3))
    blocks = 2 * step // 16
    if each == 1:  # a grid as large as the text
        one = run_mode(device, mode, 16 * threads)
        parts = [part(program, chip, entry, threads, None, one[entry], threads)]
    else:
        parts = [part(program, chip, entry, threads, less[entry], more[entry], blocks)]
    if mode in GCM_MODES:
        name = launch.hash_entry(program, TENSOR_LANES)
        given = (device.hash_threads, less[name], more[name], blocks)
        parts.append(part(program, chip, name, *given))
    return parts


def limit(program, mode, chip, shift=0):
    """`shift`: how many bytes after a multiple of 16 texts begin."""
    parts = parts_of(program, mode, chip, shift)
    bound = sum(max(each.units.values()) for each in parts)
    cycles = sum(each.cycles for each in parts)
    rate = chip.processors * chips.SCHEDULERS * chip.ghz * 1e9 * BLOCK_BITS / 1e12
    memory = chip.memory * 8 / TRAFFIC.get(mode, 2) / 1e12
    return Limit(
        program.kernel,
        mode,
        chip.name,
        parts,
        min(rate / bound, memory),
        min(rate / max(cycles, bound), memory),
    )
