"""Reads NVIDIA's machine code: ELF files that nvdisasm disassembles."""

import dataclasses
import json
import struct
import subprocess

INSTRUCTION_BYTES = 16
PARAM_CBANK = 0x0A  # attribute of an entry: where its parameters lie in constant bank 0


@dataclasses.dataclass
class Function:
    name: str
    instructions: list  # as nvdisasm prints them: opcode, operands, predicate
    parameters: int  # the offset of the first in constant bank 0
    parameter_bytes: int
    symbols: dict  # addresses of subroutines


class Elf:
    def __init__(self, data):
        self.data = data
        (at,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, at + size * i) for i in range(count)]
        self.sections = [
            (self.text(headers[names][4] + name), kind, offset, length, link)
            for name, kind, _, _, offset, length, link, _, _, _ in headers
        ]

    def text(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode()

    def content(self, name):
        return next(
            self.data[offset : offset + length]
            for found, _, offset, length, _ in self.sections
            if found == name
        )

    def symbols(self):
        """Name, number of the section, and address of each symbol."""
        for _, kind, offset, length, link in self.sections:
            if kind == 2:  # SHT_SYMTAB
                for at in range(offset, offset + length, 24):
                    name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.data, at)
                    yield self.text(self.sections[link][2] + name), section, value

    def parameters(self, entry):
        """The offset and the size of an entry's parameters in constant bank 0."""
        info = self.content(f".nv.info.{entry}")
        at = 0
        while at < len(info):
            form, attribute, size = struct.unpack_from("<BBH", info, at)
            if attribute == PARAM_CBANK:
                return struct.unpack_from("<HH", info, at + 8)
            at += 4 + (size if form == 4 else 0)
        raise ValueError(f"{entry} says nothing of its parameters")


def functions(nvdisasm, path):
    """The entries of a cubin."""
    elf = Elf(path.read_bytes())
    done = subprocess.run([nvdisasm, "-json", path], stdout=subprocess.PIPE, check=True)
    symbols = list(elf.symbols())
    names = [name for name, *_ in elf.sections]
    for function in json.loads(done.stdout)[1]:
        name = function["function-name"]
        section = names.index(f".text.{name}")
        yield Function(
            name,
            function["sass-instructions"],
            *elf.parameters(name),
            {symbol: value for symbol, where, value in symbols if where == section},
        )
