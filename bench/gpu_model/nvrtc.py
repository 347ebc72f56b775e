"""Compiles the GPU programs for NVIDIA's chips, without a GPU."""

import ctypes
import subprocess

import cubin

NVRTC_NAMES = ("libnvrtc.so.12", "libnvrtc.so.13")


class Nvrtc:
    """The compiler of CUDA C++ as a library."""

    def __init__(self):
        paths = [
            path
            for root in cubin.python_packages()
            for name in NVRTC_NAMES
            for path in sorted(root.glob(f"*/lib/{name}"))
        ]
        for path in [*paths, *NVRTC_NAMES]:
            try:
                self.library = ctypes.CDLL(str(path))
                return
            except OSError:
                continue
        raise cubin.Missing("NVRTC is not installed (PyPI: nvidia-cuda-nvrtc-cu12)")

    def call(self, name, *arguments):
        if (code := getattr(self.library, name)(*arguments)) != 0:
            raise RuntimeError(f"{name} returned {code}")

    def compile(self, source, options):
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            source.encode(),
            b"program.cu",
            0,
            None,
            None,
        )
        texts = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        try:
            self.call("nvrtcCompileProgram", program, len(options), texts)
        except RuntimeError as error:
            self.call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            self.call("nvrtcGetProgramLog", program, log)
            raise RuntimeError(f"{error}:\n{log.value.decode()[:2000]}") from None
        self.call("nvrtcGetCUBINSize", program, ctypes.byref(size))
        binary = ctypes.create_string_buffer(size.value)
        self.call("nvrtcGetCUBIN", program, binary)
        self.call("nvrtcDestroyProgram", ctypes.byref(program))
        return binary.raw


def number_of(flag):
    name, _, value = flag.removeprefix("-DPARAES_").partition("=")
    return name, int(value or 1)


def program_text(source_tool, kernel, chip, *shared_bytes, changes=()):
    """The source of a kernel's program, and the numbers of its -DPARAES_… flags, without that
    prefix. `source_tool` is paraes_gpu_source, and shared_bytes what a group may have; `changes` are
    flags such as TABLES=4, which replace the usual ones."""
    command = [source_tool, kernel, chip, *map(str, shared_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    flags, source = done.stdout.split("\n\n", 1)
    options = dict(number_of(flag) for flag in flags.split("\n"))
    options.update(number_of(change) for change in changes)
    return source, options


def definitions(options):
    return [f"-DPARAES_{name}={value}" for name, value in options.items()]


def compile_program(source_tool, kernel, chip, shared_bytes, changes=()):
    """The ELF file of a kernel's program, and its flags, as program_text()."""
    source, options = program_text(source_tool, kernel, chip, shared_bytes, changes=changes)
    arguments = [f"--gpu-architecture={chip}", "-std=c++17", "-DPARAES_CUDA=1"]
    return Nvrtc().compile(source, arguments + definitions(options)), options
