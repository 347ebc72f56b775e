"""The programs of kernels, taken apart. Needs no GPU, but NVRTC and nvdisasm, which
tests/interop/environment installs."""

import argparse
import dataclasses
import pathlib
import tempfile

import chips
import cubin
import nvrtc
import processor

SOURCE_TOOL = "build/release/tests/gpu/paraes_gpu_source"


def words(known, convert=str, everything=None):
    """A reader of a comma list of known words for argparse. `everything` is what `all` stands for."""

    def parse(text):
        chosen = everything or known
        if text != "all":
            chosen = [convert(word) for word in text.split(",")]
        for word in chosen:
            if word not in known:
                names = ", ".join(map(str, known))
                raise argparse.ArgumentTypeError(f"there is no '{word}'; there are {names}")
        return list(chosen)

    return parse


def add_source_tool(parser):
    parser.add_argument(
        "--source-tool",
        default=pathlib.Path(__file__).resolve().parents[2] / SOURCE_TOOL,
        help=f"paraes_gpu_source of a build (default: {SOURCE_TOOL})",
    )


@dataclasses.dataclass
class Program:
    kernel: str
    chip: str  # such as sm_90
    options: dict  # the numbers of its -DPARAES_… flags, without that prefix
    functions: dict  # cubin.Function by the name of the entry
    prepared: dict  # processor.Entry, made when an entry first runs

    def entry(self, name):
        if name not in self.prepared:
            chip = int(self.chip.removeprefix("sm_"))
            self.prepared[name] = processor.prepare(self.functions[name], chip)
        return self.prepared[name]

    def option(self, name, default=0):
        return self.options.get(name, default)


def build(source_tool, kernel, chip, changes=()):
    """The Program of a kernel, as nvrtc.compile_program()."""
    shared = next(c.group_shared_bytes for c in chips.CHIPS.values() if c.target == chip)
    binary, options = nvrtc.compile_program(source_tool, kernel, chip, shared, changes)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "program.cubin")
        path.write_bytes(binary)
        functions = {
            function.name: function for function in cubin.functions(cubin.find_nvdisasm(), path)
        }
    return Program(kernel, chip, options, functions, {})
