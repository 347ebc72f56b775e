"""Decodes instructions of NVIDIA's GPUs, and computes what is known of their results.

Each opcode that the programs use has a row here. Another one is an error: the analysis must not
guess what an instruction does.
"""

import dataclasses
import re

import values
from cubin import split_operands

UNIFORM, PREDICATES, UNIFORM_PREDICATES, STACK_SLOTS = 300, 500, 520, 1000

LOADS = {"LDG", "LDL", "LDS", "LDC", "ULDC", "LDCU"}
STORES = {"STG", "STL", "STS"}
BRANCHES = {"BRA", "EXIT", "CALL", "RET"}
# These have no results. BSSY, BSYNC and BREAK manage where the threads of a warp meet again.
# Their results count as secret.
TENSOR = {"BMMA"}
WITHOUT_RESULT = {"NOP", "BAR", "BSSY", "BSYNC", "BREAK", "BMOV", "WARPSYNC"} | STORES | BRANCHES
# If their condition is secret, they reveal it.
NOT_UNDER_A_SECRET = LOADS | STORES | {"BAR", "BREAK", "WARPSYNC"}
# Nothing is known of these instructions but what their results depend on.
PLAIN = {
    "PRMT", "UPRMT", "IMNMX", "VIMNMX", "UIMNMX", "UVIMNMX", "VIADDMNMX", "I2F", "F2I", "UI2F",
    "UF2I", "MUFU", "HFMA2", "POPC", "UPOPC", "FLO", "UFLO", "BREV", "UBREV", "VOTE", "VOTEU",
    "SGXT", "USGXT", "BMSK", "UBMSK",
}
OTHERS = {
    "MOV", "UMOV", "R2UR", "IMAD", "UIMAD", "IADD3", "UIADD3", "IADD", "VIADD", "UIADD", "LEA",
    "ULEA", "SHF", "USHF", "LOP3", "ULOP3", "ISETP", "UISETP", "PLOP3", "UPLOP3", "SEL", "USEL",
    "CS2R", "S2R", "S2UR", "P2R", "R2P", "UP2UR",
}
KNOWN = OTHERS | PLAIN | TENSOR | LOADS | WITHOUT_RESULT

# These load, or compute from registers of other threads, so the value of a register under a
# condition of one thread says nothing about their results.
WITHOUT_CONDITIONS = LOADS | TENSOR | {"VOTE", "VOTEU", "R2UR"}
# With ".64", on sm_120: pairs of registers.
ON_PAIRS = {"IADD", "UIADD3", "MOV", "UMOV", "SEL"}
# With ".U64" or ".S64".
ON_64_BITS = {"ISETP", "UISETP", "I2F", "F2I", "SHF", "USHF", "IMNMX"}


class Unknown(Exception):
    """An instruction that has no row here."""


@dataclasses.dataclass
class Operand:
    register: int | None = None
    value: tuple = values.UNKNOWN  # of a constant
    sign: str = ""
    text: str = ""
    constant_at: tuple | None = None  # bank, offset, register or None
    address: list | None = None  # registers, whether each is a pair, and factor
    offset: int = 0

    @property
    def is_predicate(self):
        if self.register is None:
            return is_predicate_text(self.text)
        return self.register >= PREDICATES


@dataclasses.dataclass
class Instruction:
    at: int
    text: str
    name: str
    modifiers: frozenset
    guard: Operand | None
    results: list  # registers
    sources: list  # operands
    width: int  # words of the result or of the stored data
    target: int | None
    raw: list

    @property
    def on_64_bits(self):
        """Whether it reads its operands as pairs of registers. SHF has an operand for each."""
        return self.name not in LOADS | STORES | {"SHF", "USHF", "F2I"} and bool(
            self.modifiers & {"64", "U64", "S64"}
        )

    @property
    def is_branch(self):
        return self.name in BRANCHES


def register_number(text):
    """The number of a register, or None; RZ and PT are constants."""
    for pattern, base in (
        (r"R(\d+)", 0),
        (r"UR(\d+)", UNIFORM),
        (r"P(\d+)", PREDICATES),
        (r"UP(\d+)", UNIFORM_PREDICATES),
    ):
        if found := re.fullmatch(pattern, text):
            return base + int(found[1])
    return None


def is_predicate_text(text):
    return re.fullmatch(r"!?U?P(\d+|T)", text) is not None


def address_operand(text):
    parts, offset = [], 0
    for part in re.findall(r"[-+]?[^-+]+", text):
        part = part.lstrip("+")
        if re.fullmatch(r"-?0x[0-9a-f]+", part):
            offset += int(part, 16)
            continue
        name, *suffixes = part.split(".")
        factor = next((int(s[1:]) for s in suffixes if re.fullmatch(r"X\d+", s)), 1)
        if name in ("RZ", "URZ"):
            continue
        number = register_number(name)
        if number is None or not set(suffixes) <= {"64", "U32", "X4", "X8", "X16", "reuse"}:
            raise Unknown(f"address {text}")
        parts.append((number, "64" in suffixes, factor))
    return Operand(address=parts, offset=offset)


def operand(text):
    parsed = parse_operand(text)
    parsed.text = text if parsed.register is None else ""
    return parsed


def parse_operand(text):
    if text.startswith("desc["):
        text = text[text.index("][") + 1 :]
    if text.startswith("["):
        return address_operand(text[1:-1])
    sign = text[0] if text[0] in "-~!|" else ""
    bare = text.strip("-~!|")
    if found := re.fullmatch(r"c\[(0x[0-9a-f]+)\]\[(.+?)\](?:\.\w+)*", bare):
        inner = address_operand(found[2])
        return Operand(sign=sign, constant_at=(int(found[1], 16), inner), offset=inner.offset)
    while (shorter := re.sub(r"\.(reuse|64|U32|H0_H0|H1_H1|ROW|COL)$", "", bare)) != bare:
        bare = shorter
    if bare in ("RZ", "URZ", "SRZ"):
        return Operand(value=values.ZERO, sign=sign)
    if bare in ("PT", "UPT"):
        return Operand(value=values.FALSE if sign else values.TRUE)
    if bare == "PR":
        return Operand(value=values.UNKNOWN)
    if re.fullmatch(r"0x[0-9a-f]+", bare):
        number = int(bare, 16)
        return Operand(value=values.constant(-number if sign == "-" else number))
    if (number := register_number(bare)) is not None:
        return Operand(register=number, sign=sign)
    if bare.startswith("SR_"):
        return Operand(value=values.UNKNOWN)
    if re.fullmatch(r"[+-]?(\d+(\.\d+)?(e[+-]?\d+)?|INF|QNAN)", bare):  # of floating point
        return Operand(value=values.UNKNOWN)
    raise Unknown(f"operand {text}")


def result_count(name, texts):
    """How many of the operands are results."""
    if name in WITHOUT_RESULT:
        return 0
    if name == "IMNMX" and is_predicate_text(texts[0]):
        return 3
    if is_predicate_text(texts[0]):
        return 1 if name in ("VOTEU", "VOTE") else 2
    count = 1
    if name in ("IADD3", "UIADD3", "IMAD", "UIMAD", "LEA", "ULEA"):  # carries follow the sum
        while count < len(texts) and is_predicate_text(texts[count]):
            count += 1
    return count


def words(name, modifiers):
    """Words of a result, or of the data that is stored."""
    if name in LOADS | STORES:
        return 4 if "128" in modifiers else 2 if "64" in modifiers else 1
    if name in ("IMAD", "UIMAD"):
        return 2 if "WIDE" in modifiers else 1
    if name in TENSOR:
        return 4
    if name in ON_PAIRS and "64" in modifiers or name == "IMNMX" and modifiers & {"U64", "S64"}:
        return 2
    if name == "CS2R":
        return 1 if "32" in modifiers else 2
    if name == "F2I":
        return 2 if modifiers & {"U64", "S64"} else 1
    return 1


def decode(at, fields, function):
    """An Instruction of one that nvdisasm prints."""
    opcode, guard = fields["opcode"], fields.get("predicate", "")
    name, *modifiers = opcode.split(".")
    text = " ".join(filter(None, (guard, opcode, fields.get("operands", ""))))
    modifiers = frozenset(modifiers)
    if (
        name not in KNOWN
        or any("64" in m and m not in ("64", "U64", "S64") for m in modifiers)
        or ("64" in modifiers and name not in LOADS | STORES | ON_PAIRS)
        or (modifiers & {"U64", "S64"} and name not in ON_64_BITS)
        or (modifiers and name in ("P2R", "R2P", "UP2UR"))  # they begin at another bit
    ):
        raise Unknown(f"{function.name} at {at:#x}: {text}")
    texts = split_operands(fields.get("operands", ""))
    target = None
    try:
        if name in ("BRA", "CALL", "BSSY"):
            last = texts.pop()
            target = int(last, 16) if last.startswith("0x") else function.symbols[last]
        if name == "RET":
            texts = texts[:1]
        if name in ("BSSY", "BSYNC", "BREAK", "BMOV", "BAR", "WARPSYNC"):
            raw, texts = texts, []
        else:
            raw = texts
        count = result_count(name, texts)
        width = words(name, modifiers)
        results = []
        if name == "R2P":  # of the predicates that its mask names
            pr, _, mask = texts
            if pr != "PR":
                raise Unknown("other predicates")
            results = [[PREDICATES + i] for i in range(7) if int(mask, 16) >> i & 1]
            texts, count = texts[1:], 0
        for operand_text in texts[:count]:
            number = register_number(operand_text.removesuffix(".reuse"))
            wide = 1 if is_predicate_text(operand_text) else width
            results.append([None if number is None else number + i for i in range(wide)])
        condition = operand(guard[1:]) if guard.startswith("@") else None
        sources = [operand(t) for t in texts[count:]]
        return Instruction(
            at, text, name, modifiers, condition, results, sources, width, target, raw
        )
    except (Unknown, KeyError) as error:
        raise Unknown(f"{function.name} at {at:#x}: {text}: {error}") from error
