"""What is known of chips of NVIDIA's: the sizes of a multiprocessor, clocks and memory.

Sources: the CUDA C++ Programming Guide (compute capabilities, throughput of arithmetic), and
NVIDIA's data sheets (multiprocessors, boost clock, memory). Cycles of an instruction are those for
which a warp keeps a unit of one of the four schedulers of a multiprocessor busy; a unit that the
four share counts four times. Where NVIDIA publishes nothing, the number is the larger one of what
others have measured, and says so here.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Chip:
    name: str
    target: str
    processors: int  # multiprocessors
    ghz: float  # boost clock
    memory: float  # bytes a second, from the data sheet
    shared_bytes: int  # of a multiprocessor
    group_shared_bytes: int  # the most of a group
    warps: int  # the most of a multiprocessor
    groups: int  # likewise

    @property
    def system_shared_bytes(self):
        """What the system takes of a group."""
        return 1024 if int(self.target.removeprefix("sm_")) >= 80 else 0

    @property
    def binary_products(self):
        """Whether its tensor cores multiply bits."""
        return 80 <= int(self.target.removeprefix("sm_")) <= 90


CHIPS = {
    chip.name: chip
    for chip in (
        Chip("H100", "sm_90", 132, 1.980, 3.35e12, 228 << 10, 227 << 10, 64, 32),
        Chip("H200", "sm_90", 132, 1.980, 4.80e12, 228 << 10, 227 << 10, 64, 32),
        Chip("A100", "sm_80", 108, 1.410, 1.56e12, 164 << 10, 163 << 10, 64, 32),
        Chip("RTX 4090", "sm_89", 128, 2.520, 1.01e12, 100 << 10, 99 << 10, 48, 24),
        Chip("RTX 3090", "sm_86", 82, 1.695, 0.94e12, 100 << 10, 99 << 10, 48, 16),
        Chip("T4", "sm_75", 40, 1.590, 0.32e12, 64 << 10, 64 << 10, 32, 16),
    )
}


@dataclasses.dataclass(frozen=True)
class AmdChip:
    name: str
    target: str
    processors: int  # compute units of what HIP calls a device
    ghz: float
    memory: float


# From AMD's CDNA 2 white paper and data sheets. An MI250X is two devices.
AMD_CHIPS = {
    chip.name: chip
    for chip in (
        AmdChip("MI250X", "gfx90a", 110, 1.700, 1.638e12),
        AmdChip("MI210", "gfx90a", 104, 1.700, 1.638e12),
    )
}

SCHEDULERS = 4  # of a multiprocessor; AMD's SIMD units of a compute unit
REGISTERS = 65536  # of a multiprocessor
REGISTER_UNIT = 256  # warps get multiples of this

# Cycles for which an instruction of a warp keeps its unit busy. The logic unit and the integer
# multipliers have 16 lanes for each scheduler. A product of 64 bits takes the multipliers twice.
LOGIC, MULTIPLY, MEMORY, SPECIAL = "logic", "multiply", "memory", "special"
UNIFORM, CONTROL, TENSOR = "uniform", "control", "tensor"
KINDS = (
    (LOGIC, 2, ("LOP3", "PRMT", "SHF", "IADD3", "IADD", "VIADD", "LEA", "ISETP", "SEL", "PLOP3")),
    (LOGIC, 2, ("IMNMX", "VIMNMX", "VIADDMNMX", "MOV", "P2R", "R2P", "CS2R")),
    (MULTIPLY, 2, ("IMAD",)),
    (SPECIAL, 8, ("MUFU", "I2F", "F2I", "POPC")),
    (SPECIAL, 4, ("R2UR", "S2R", "S2UR", "LDC")),
    (UNIFORM, 2, ("ULOP3", "UPRMT", "USHF", "UIADD3", "UIADD", "ULEA", "UISETP", "USEL", "UPLOP3")),
    (UNIFORM, 2, ("UMOV", "UIMAD", "UVIMNMX", "ULDC")),
    (CONTROL, 1, ("BRA", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "BREAK", "BMOV", "BAR", "NOP")),
    (CONTROL, 1, ("WARPSYNC",)),
    # A binary product of 16 × 8 × 256 bits: 4096 products of bits a cycle and scheduler, as on A100.
    (TENSOR, 8, ("BMMA",)),
)
UNITS = {name: (unit, cycles) for unit, cycles, names in KINDS for name in names}
# The path to shared and global memory moves 128 bytes a cycle for the four schedulers together.
MEMORY_CYCLES = 4
MEMORY_ACCESSES = {"LDS", "STS", "LDG", "STG", "LDL", "STL"}

# Cycles until the result of an instruction whose time varies, as measured on sm_80 and sm_90 by
# others; for global memory under load.
LATENCY = {"LDS": 30, "LDG": 800, "LDL": 40, "BMMA": 34, "LDC": 40, "ULDC": 30}
OTHER_LATENCY = 24
# The queue of accesses to memory: as many cycles of work may wait before a warp does.
MEMORY_QUEUE = 32
