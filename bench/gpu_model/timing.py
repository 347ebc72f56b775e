"""How long the threads of a multiprocessor take for what the model executed.

Two answers. The bound: the busiest unit of a scheduler works all the time. The prediction: a
scheduler that issues one instruction a cycle runs as many warps as fit a multiprocessor along the
path of one warp, and waits as the compiler's scheduling hints say (processor.Scheduling). Left out
are misses of the instruction cache, the barriers, and everything that a driver does; so a GPU is
slower.
"""

import dataclasses
import math

import chips
import processor


def cost_of(opcode, wavefronts):
    """The unit of an instruction, and for how many cycles it keeps it busy."""
    name, *modifiers = opcode.split(".")
    if name in chips.MEMORY_ACCESSES:
        width = 4 if "128" in modifiers else 2 if "64" in modifiers else 1
        return chips.MEMORY, chips.MEMORY_CYCLES * (wavefronts or width)
    unit, cycles = chips.UNITS[name]
    if name == "IMAD" and ("WIDE" in modifiers or "HI" in modifiers):
        cycles *= 2
    return unit, cycles


def costs(entry, counts):
    """The cost of each instruction of an entry."""
    found = []
    for number, opcode in enumerate(entry.opcodes):
        issued = counts.issued[number]
        wavefronts = counts.wavefronts[number] / issued if issued else 0
        found.append(cost_of(opcode, wavefronts))
    return found


def unit_cycles(entry, counts):
    """Cycles of each unit, of all warps together, and those of the scheduler itself."""
    total = {"issue": int(counts.issued.sum())}
    for (unit, cycles), issued in zip(costs(entry, counts), counts.issued, strict=True):
        total[unit] = total.get(unit, 0) + cycles * int(issued)
    return total


def groups_at_once(chip, function, threads, shared_bytes):
    """How many groups of an entry a multiprocessor holds."""
    warps = math.ceil(threads / processor.WARP)
    of_warp = math.ceil(function.registers * processor.WARP / chips.REGISTER_UNIT)
    of_warp *= chips.REGISTER_UNIT
    return min(
        chip.groups,
        chip.warps // warps,
        chips.REGISTERS // (of_warp * warps),
        chip.shared_bytes // max(shared_bytes + chip.system_shared_bytes, 1),
    )


@dataclasses.dataclass
class Warp:
    place: int = 0  # in the path
    ready: float = 0
    done: list = dataclasses.field(default_factory=lambda: [0.0] * 6)  # of each scoreboard


def simulate(entry, path, cost, warps):
    """Cycles that a scheduler takes for `warps` warps that all follow the path."""
    steps = []
    for number in path:
        hints = entry.control[number]
        name = entry.opcodes[number].split(".")[0]
        waits = [i for i in range(6) if hints.waits >> i & 1]
        latency = chips.LATENCY.get(name, chips.OTHER_LATENCY)
        steps.append(
            (*cost[number], max(hints.stall, 1), hints.writes, hints.reads, waits, latency)
        )
    running = [Warp() for _ in range(warps)]
    free = {}  # when a unit has done what it was given
    now = end = 0.0
    while running:
        best, start = None, math.inf
        for warp in running:
            unit, _, _, _, _, waits, _ = steps[warp.place]
            at = max(warp.ready, now)
            for board in waits:
                at = max(at, warp.done[board])
            queue = chips.MEMORY_QUEUE if unit == chips.MEMORY else 0
            at = max(at, free.get(unit, 0) - queue)
            if at < start:
                best, start = warp, at
                if at <= now:
                    break
        unit, cycles, stall, writes, reads, _, latency = steps[best.place]
        begin = max(free.get(unit, 0), start)
        free[unit] = begin + cycles
        if writes < 6:
            best.done[writes] = max(best.done[writes], begin + cycles + latency)
        if reads < 6:
            best.done[reads] = max(best.done[reads], begin + cycles + 4)
        now = start + 1
        best.ready = start + stall
        best.place += 1
        end = max(end, start + stall)
        if best.place == len(steps):
            running.remove(best)
        else:
            # The warp that was issued goes on as long as it can.
            running.remove(best)
            running.insert(0, best)
    return end
