"""Says which addresses an instruction accesses, as sums of registers, with Capstone.

A decoder's addresses(code, at) returns a list of Address, or None for a mark (see mark.hpp). It
raises Refused for an instruction whose addresses it cannot tell, so that none is left out
silently. A prefetch accesses its address; `lea` and `nop` access nothing.
"""

import dataclasses
import re

import capstone
from capstone import arm64, x86

# How a register of 32 bits enters an address.
NONE, UNSIGNED32, SIGNED32 = range(3)


class Refused(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Address:
    displacement: int
    terms: tuple = ()  # of (register, factor, extension)

    def line(self):
        flat = [number for term in self.terms for number in term]
        return " ".join(map(str, [self.displacement, len(self.terms), *flat]))


class Decoder:
    def __init__(self, architecture, mode):
        self.capstone = capstone.Cs(architecture, mode)
        self.capstone.detail = True

    def instruction(self, code, at):
        for instruction in self.capstone.disasm(code, at, 1):
            return instruction
        raise Refused(f"Capstone does not know the instruction {code.hex()} at {at:#x}")

    def text(self, code, at):
        instruction = self.instruction(code, at)
        return f"{instruction.mnemonic} {instruction.op_str}"

    def addresses(self, code, at):
        instruction = self.instruction(code, at)
        try:
            return self.accesses(instruction)
        except Refused as reason:
            text = f"{instruction.mnemonic} {instruction.op_str} at {at:#x}"
            raise Refused(f"{text}: {reason}") from None


class X86Decoder(Decoder):
    """Registers in the order of machine.hpp: 16 general ones, fs and gs, k0 to k7."""

    NAMES = [
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ]
    RSP, RBP, FS, GS, K0 = 4, 5, 16, 17, 18
    # Instructions with an operand in memory that they do not access.
    NO_ACCESS = {"lea", "nop"}
    # Access memory without, or besides, an operand that Capstone shows.
    STACK = {"push": -8, "call": -8, "pop": 0, "ret": 0}
    HIDDEN = {
        "pushf", "pushfq", "popf", "popfq", "enter", "xlatb", "maskmovq", "maskmovdqu",
        "vmaskmovdqu", "syscall", "sysenter", "int", "int1", "iretq", "xsave", "xrstor", "fxsave",
        "fxrstor", "ins", "outs", "clzero", "monitor", "retf",
    }

    def __init__(self):
        super().__init__(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self.numbers = {name: number for number, name in enumerate(self.NAMES)}

    def accesses(self, instruction):
        mnemonic = instruction.mnemonic.split()[-1]  # without rep, lock, bnd, notrack
        if mnemonic == "int3":
            return None
        if mnemonic in self.HIDDEN or mnemonic.startswith(("xsave", "xrstor")):
            raise Refused("its addresses are not known")
        if mnemonic in self.NO_ACCESS:
            return []
        operands = instruction.operands
        found = [
            self.address(instruction, operand.mem)
            for operand in operands
            if operand.type == x86.X86_OP_MEM
        ]
        if found and mnemonic == "pop":
            raise Refused("a stack pointer in the operand would be the changed one")
        if mnemonic in self.STACK:
            found.append(Address(self.STACK[mnemonic], ((self.RSP, 1, NONE),)))
        if mnemonic == "leave":
            found.append(Address(0, ((self.RBP, 1, NONE),)))
        if found:
            found += self.masks(instruction, mnemonic)
        return found

    def address(self, instruction, memory):
        if instruction.addr_size != 8:
            raise Refused("its address has 32 bits")
        displacement, terms = memory.disp, []
        if memory.segment in (x86.X86_REG_FS, x86.X86_REG_GS):
            number = self.FS if memory.segment == x86.X86_REG_FS else self.GS
            terms.append((number, 1, NONE))
        if memory.base == x86.X86_REG_RIP:
            displacement += instruction.address + instruction.size
        elif memory.base:
            terms.append((self.number(instruction, memory.base), 1, NONE))
        if memory.index and memory.index not in (x86.X86_REG_RIZ, x86.X86_REG_EIZ):
            terms.append((self.number(instruction, memory.index), memory.scale, NONE))
        return Address(displacement, tuple(terms))

    def number(self, instruction, register):
        name = instruction.reg_name(register)
        if name not in self.numbers:  # vectors of addresses: gathers and scatters
            raise Refused(f"its address depends on {name}")
        return self.numbers[name]

    def masks(self, instruction, mnemonic):
        """Which bytes a mask selects is a part of the address."""
        if "maskmov" in mnemonic:
            raise Refused("its mask is in a vector")
        names = [
            instruction.reg_name(operand.reg)
            for operand in instruction.operands
            if operand.type == x86.X86_OP_REG
        ]
        return [
            Address(0, ((self.K0 + int(name[1]), 1, NONE),))
            for name in names
            if len(name) == 2 and name[0] == "k"
        ]


class Arm64Decoder(Decoder):
    """Registers in the order of machine.hpp: x0 to x30, then sp."""

    ACCESSING = ("ld", "st", "prf", "cas", "swp", "dc", "ic", "at", "sys")
    REFUSED = (
        *("ldx", "stx", "ldax", "stlx"),  # never succeed step by step
        *("svc", "hvc", "smc", "eret", "dc", "ic", "at", "sys"),
    )

    def __init__(self):
        super().__init__(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)

    def accesses(self, instruction):
        mnemonic = instruction.mnemonic
        if mnemonic == "brk":
            return None
        zeroes_line = mnemonic == "dc" and instruction.op_str.startswith("zva")
        if zeroes_line:
            register = instruction.operands[-1].reg
            return [Address(0, (self.term(instruction, register, 1, NONE),))]
        if mnemonic.startswith(self.REFUSED):
            raise Refused("its addresses are not known")
        found = [
            self.address(instruction, operand)
            for operand in instruction.operands
            if operand.type == arm64.ARM64_OP_MEM
        ]
        if found and re.search(r"\b[zp]\d", instruction.op_str):
            raise Refused("which bytes it accesses depends on a predicate")
        if found or not mnemonic.startswith(self.ACCESSING):
            return found
        last = instruction.operands[-1]
        if last.type == arm64.ARM64_OP_IMM and mnemonic.startswith(("ldr", "prfm")):
            return [Address(last.imm)]  # relative to the program counter
        raise Refused("its addresses are not known")

    def address(self, instruction, operand):
        memory = operand.mem
        terms = [self.term(instruction, memory.base, 1, NONE)]
        if memory.index:
            if operand.shift.type not in (arm64.ARM64_SFT_INVALID, arm64.ARM64_SFT_LSL):
                raise Refused("its index is shifted in another way than left")
            extensions = {
                arm64.ARM64_EXT_INVALID: NONE,
                arm64.ARM64_EXT_SXTX: NONE,
                arm64.ARM64_EXT_UXTX: NONE,
                arm64.ARM64_EXT_UXTW: UNSIGNED32,
                arm64.ARM64_EXT_SXTW: SIGNED32,
            }
            if operand.ext not in extensions:
                raise Refused("its index is extended in an unknown way")
            terms.append(
                self.term(
                    instruction, memory.index, 1 << operand.shift.value, extensions[operand.ext]
                )
            )
        return Address(memory.disp, tuple(terms))

    def term(self, instruction, register, factor, extension):
        name = instruction.reg_name(register)
        if name == "sp":
            return (31, factor, extension)
        if name in ("fp", "lr"):
            return ({"fp": 29, "lr": 30}[name], factor, extension)
        if name[0] == "x" and name[1:].isdigit() or (name[0] == "w" and extension != NONE):
            return (int(name[1:]), factor, extension)
        raise Refused(f"its address depends on {name}")
