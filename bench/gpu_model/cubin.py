"""Reads NVIDIA's machine code: ELF files that nvdisasm disassembles."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

INSTRUCTION_BYTES = 16
# Attributes of an entry: where its parameters lie in constant bank 0, and, in the section of all
# entries, their registers and the bytes of their stack.
PARAM_CBANK, REGISTER_COUNT, FRAME_BYTES = 0x0A, 0x2F, 0x11


def split_operands(text):
    """The operands that nvdisasm prints, which may have commas in brackets."""
    return re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text)


class Missing(Exception):
    """A tool is not installed; the message says which, and how to get it."""


def python_packages():
    folders = [os.environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    for folder in filter(None, [*folders, sys.prefix]):
        yield from pathlib.Path(folder).glob("lib/python3*/site-packages/nvidia")


def find_nvdisasm():
    for root in python_packages():
        if found := sorted(root.glob("*/bin/nvdisasm")):
            return str(found[-1])
    if found := shutil.which("nvdisasm"):
        return found
    raise Missing("nvdisasm is not installed (PyPI: nvidia-cuda-nvdisasm)")


@dataclasses.dataclass
class Function:
    name: str
    instructions: list  # as nvdisasm prints them: opcode, operands, predicate
    parameters: int  # the offset of the first in constant bank 0
    parameter_bytes: int
    symbols: dict  # addresses of subroutines
    code: bytes
    registers: int
    frame_bytes: int
    banks: dict  # constants


class Elf:
    def __init__(self, data):
        self.data = data
        (at,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, at + size * i) for i in range(count)]
        offsets = [header[4] for header in headers]
        self.sections = [self.text(offsets[names] + header[0]) for header in headers]
        self.content = {
            name: data[header[4] : header[4] + header[5]]
            for name, header in zip(self.sections, headers, strict=True)
        }
        self.texts_of_symbols = offsets[headers[self.sections.index(".symtab")][6]]

    def text(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode()

    def symbols(self):
        """Name, number of the section, and address of each symbol."""
        for name, _, _, section, value, _ in struct.iter_unpack("<IBBHQQ", self.content[".symtab"]):
            yield self.text(self.texts_of_symbols + name), section, value

    def attributes(self, section):
        """Number and content of each attribute that has a content."""
        info = self.content[section]
        at = 0
        while at < len(info):
            form, attribute, size = struct.unpack_from("<BBH", info, at)
            at += 4
            if form == 4:
                yield attribute, info[at : at + size]
                at += size

    def parameters(self, entry):
        """The offset and the size of an entry's parameters in constant bank 0."""
        for attribute, content in self.attributes(f".nv.info.{entry}"):
            if attribute == PARAM_CBANK:
                return struct.unpack_from("<HH", content, 4)
        raise ValueError(f"{entry} says nothing of its parameters")

    def of_symbols(self, wanted):
        """A number that an attribute gives for each entry, by name."""
        names = [name for name, *_ in self.symbols()]
        return {
            names[symbol]: number
            for attribute, content in self.attributes(".nv.info")
            if attribute == wanted
            for symbol, number in [struct.unpack("<II", content)]
        }

    def constant_banks(self, entry):
        """The constants of the program and of an entry, by the number of their bank. Bank 0 is the
        driver's."""
        found = {}
        for name, content in self.content.items():
            number, _, owner = name.removeprefix(".nv.constant").partition(".")
            if name.startswith(".nv.constant") and number != "0" and owner in ("", entry):
                found[int(number)] = content
        return found


def functions(nvdisasm, path):
    """The entries of a cubin."""
    elf = Elf(path.read_bytes())
    # Its warnings are of a form of debug information that the programs do not have.
    done = subprocess.run([nvdisasm, "-json", path], capture_output=True, check=True)
    symbols = list(elf.symbols())
    registers, frames = elf.of_symbols(REGISTER_COUNT), elf.of_symbols(FRAME_BYTES)
    for function in json.loads(done.stdout)[1]:
        name = function["function-name"]
        section = elf.sections.index(f".text.{name}")
        yield Function(
            name,
            function["sass-instructions"],
            *elf.parameters(name),
            {symbol: value for symbol, where, value in symbols if where == section},
            elf.content[f".text.{name}"],
            registers[name],
            frames.get(name, 0),
            elf.constant_banks(name),
        )
