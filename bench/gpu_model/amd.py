"""What Clang makes of the HIP C++ for AMD's chips. Nothing runs: the round loops are found in the
assembly, and their instructions are counted.

Needs a Clang that has the target amdgcn, as Debian's have, and no ROCm: what the programs use of
HIP is defined here.
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile

import chips
import cubin
import nvrtc

# This replaces HIP's headers.
PRELUDE = """
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __syncthreads() \\
  (__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup"), __builtin_amdgcn_s_barrier())
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct model_index { unsigned x; };
using model_packet = const __attribute__((address_space(4))) unsigned*;
#define threadIdx (model_index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (model_index{__builtin_amdgcn_workgroup_id_x()})
#define blockDim (model_index{PARAES_GROUP_THREADS})
#define gridDim \\
  (model_index{((model_packet)__builtin_amdgcn_dispatch_ptr())[3] / PARAES_GROUP_THREADS})
"""
ENTRIES = {"ECB": "ecb_encrypt", "ECB decryption": "ecb_decrypt", "CTR": "ctr"}
# A round loop has at least so many vector instructions for the blocks of a thread.
LEAST = {"ttable": 50, "ttable-simple": 50, "bitslice": 1000}
WAVE = 64  # threads
LANES = 16  # of a SIMD unit, of which a compute unit has four
REGISTERS = 512  # for each lane of a SIMD unit
WAVES = 8  # the most of a SIMD unit
LDS_BYTES = 128  # that the local memory of a compute unit moves in a cycle


@dataclasses.dataclass
class Rounds:
    """A round of a mode: what it takes of a SIMD unit for a block."""

    kernel: str
    mode: str
    registers: int
    scratch_bytes: int
    waves: int  # that a SIMD unit holds at once
    vector: float  # vector instructions
    count: int  # such rounds of a block of AES-128
    units: dict  # cycles of each unit


def clang():
    """The newest Clang that compiles for AMD. Throws cubin.Missing."""
    for release in range(40, 13, -1):
        path = shutil.which(f"clang-{release}")
        if path is None:
            continue
        listed = subprocess.run([path, "--print-targets"], capture_output=True, text=True)
        if "amdgcn" in listed.stdout:
            return path
    raise cubin.Missing("there is no Clang for amdgcn: install clang-14 or later")


def assembly(source_tool, kernel, target, changes=()):
    """The assembly of a kernel's program, and its flags as numbers."""
    source, options = nvrtc.program_text(source_tool, kernel, target, changes=changes)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "program.hip")
        file.write_text(source, encoding="utf-8")
        prelude = pathlib.Path(folder, "prelude.h")
        prelude.write_text(PRELUDE, encoding="utf-8")
        result = pathlib.Path(folder, "program.s")
        command = [
            *(clang(), "-x", "hip", "--cuda-device-only", f"--offload-arch={target}"),
            *("-nogpuinc", "-nogpulib", "-std=c++17", "-O3", *nvrtc.definitions(options)),
            *("-include", prelude, "-S", file, "-o", result),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(f"Clang does not compile {kernel} for {target}: {done.stderr[-800:]}")
        return result.read_text(), options


def object_file(source_tool, kernel, target, output):
    """Writes the machine code of a kernel's program."""
    text, _ = assembly(source_tool, kernel, target)
    command = [clang(), "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-x", "assembler", "-c"]
    done = subprocess.run([*command, "-", "-o", output], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"Clang does not assemble {kernel} for {target}: {done.stderr[-800:]}")


def inner_loops(text, entry):
    """The loops of an entry that are one basic block: the instructions of each."""
    begin = text.index(f"\n{entry}:")
    body = text[begin : text.index(".Lfunc_end", begin)]
    for block in re.split(r"\n(?=\.LBB|; %bb\.)", body):
        if "Inner Loop Header" not in block:
            continue
        label = re.match(r"(\.LBB\w+):", block)[1]
        found = re.findall(r"^\t((?:[vs]|ds|global|flat|buffer|scratch)_\w+)(.*)$", block, re.M)
        if any(name.startswith("s_cbranch") and label in rest for name, rest in found):
            yield [name for name, _ in found]


def lds_bytes(name):
    """What an access to local memory moves for a thread."""
    if not name.startswith("ds_"):
        return 0
    width = int((re.search(r"_[bu](8|16|32|64|96|128)", name) or [0, 32])[1])
    return max(width, 32) // 8 * (2 if "read2" in name or "write2" in name else 1)


def metadata(text, entry, name):
    """A number of an entry's metadata: names come after .name in the alphabet."""
    begin = re.search(rf"^    \.name: +{entry}$", text, re.M).end()
    return int(re.search(rf"\.{name}: +(\d+)", text[begin:])[1])


def rounds(source_tool, kernel, target, modes, changes=()):
    """The Rounds of each mode."""
    text, options = assembly(source_tool, kernel, target, changes)
    batch = options["BATCH"]
    for mode in modes:
        entry = ENTRIES[mode]
        loop = max(inner_loops(text, entry), key=len)
        vector = sum(name.startswith("v_") for name in loop)
        if vector < LEAST[kernel]:
            raise ValueError(f"no round loop found in {entry} of {kernel} for {target}")
        lds = sum(map(lds_bytes, loop)) * WAVE / LDS_BYTES
        scratch = sum(name.startswith(("scratch_", "buffer_")) for name in loop)
        if scratch:
            raise ValueError(f"the rounds of {entry} keep their state in scratch")
        registers = metadata(text, entry, "vgpr_count")
        # The four SIMD units share the local memory.
        units = {
            "vector": vector * WAVE / LANES / (WAVE * batch),
            "local memory": lds * chips.SCHEDULERS / (WAVE * batch),
        }
        yield Rounds(
            kernel,
            mode,
            registers,
            metadata(text, entry, "private_segment_fixed_size"),
            min(WAVES, REGISTERS // max(8 * -(-registers // 8), 1)),
            vector / batch,
            # Blocks of a thread that are counted up share most of their first two rounds.
            8 if mode == "CTR" and "OWN_COUNTERS" in options else 10,
            units,
        )


def bound(chip, found):
    """Tbit/s, if its rounds were all that a block costs."""
    cycles = found.count * max(found.units.values())
    rate = chip.processors * chips.SCHEDULERS * chip.ghz * 1e9 * 128 / cycles / 1e12
    return min(rate, chip.memory * 8 / 2 / 1e12)
