#!/usr/bin/env python3
"""Writes the CPU kernels as implementations for SUPERCOP, https://bench.cr.yp.to/supercop.html.

    packaging/supercop/write.py FOLDER [KERNEL...]

FOLDER is a SUPERCOP tree, or an empty folder to copy into one. Into it go, for each KERNEL
(default: all of them), the folders

    crypto_aead/aes128gcmv1/paraes/KERNEL      crypto_stream/aes128ctr/paraes/KERNEL
    crypto_aead/aes256gcmv1/paraes/KERNEL      crypto_stream/aes256ctr/paraes/KERNEL

Each is flat, holds all sources that it needs, and needs no library. They are C++20, which
SUPERCOP's compilers must be told: add -std=gnu++20 to the lines of okcompilers/cpp.
"""

import argparse
import pathlib
import re
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^([ \t]*#[ \t]*include[ \t]+)"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Kernel:
    """A kernel: the sources that define it, and SUPERCOP's name of its architecture, if any."""

    sources: tuple[str, ...]
    architecture: str | None

    @property
    def features(self) -> str:
        folder = {"amd64": "x86", "aarch64": "arm", None: "generic"}[self.architecture]
        return f"src/kernels/{folder}/cpu.cpp"


FEATURES = "packaging/supercop/features.cpp"
AESNI = "src/kernels/x86/aesni.cpp"  # expands keys for those of wider vectors, too
ARMV8 = "src/kernels/arm/armv8.cpp"
KERNELS = {
    "aesni": Kernel((AESNI,), "amd64"),
    "vaes256": Kernel(("src/kernels/x86/vaes256.cpp", AESNI), "amd64"),
    "vaes512": Kernel(("src/kernels/x86/vaes512.cpp", AESNI), "amd64"),
    "armv8": Kernel((ARMV8,), "aarch64"),
    "armv8_eor3": Kernel(("src/kernels/arm/armv8_eor3.cpp", ARMV8), "aarch64"),
    "bitslice": Kernel(("src/kernels/bitslice/portable.cpp",), None),
}


@dataclass(frozen=True)
class Primitive:
    """What SUPERCOP measures: its folder, the caller of the mode, the mode, and api.h's numbers."""

    folder: str
    source: str
    mode: str
    numbers: dict[str, int]


PRIMITIVES = [
    primitive
    for bits in (128, 256)
    for primitive in (
        Primitive(
            f"crypto_aead/aes{bits}gcmv1",
            "packaging/supercop/encrypt.cpp",
            "src/modes/gcm.cpp",
            {"KEYBYTES": bits // 8, "NSECBYTES": 0, "NPUBBYTES": 12, "ABYTES": 16, "NOOVERLAP": 1},
        ),
        Primitive(
            f"crypto_stream/aes{bits}ctr",
            "packaging/supercop/stream.cpp",
            "src/modes/ctr.cpp",
            {"KEYBYTES": bits // 8, "NONCEBYTES": 16},
        ),
    )
]


def path_of(name: str) -> str:
    """Return the path in the tree of what a source includes under this name."""
    for path in (name, f"include/{name}"):
        if (ROOT / path).is_file():
            return path
    sys.exit(f"packaging/supercop/write.py: a source includes {name}, which is not in {ROOT}")


def flat(path: str) -> str:
    """Name a file in the one folder: src/kernels/x86/steps.inc is kernels_x86_steps.inc."""
    return re.sub(r"^(src|include|packaging/supercop)/", "", path).replace("/", "_")


def flatten(text: str) -> tuple[str, list[str]]:
    """Let a source include its files in the one folder; return them, too."""
    included = []

    def here(match: re.Match[str]) -> str:
        included.append(path_of(match[2]))
        return f'{match[1]}"{flat(included[-1])}"'

    return INCLUDE.sub(here, text), included


def collect(sources: list[str]) -> dict[str, str]:
    """Return the texts of sources and of all that they include, by the names in the one folder."""
    files: dict[str, str] = {}
    left = list(sources)
    while left:
        path = left.pop()
        if flat(path) not in files:
            files[flat(path)], included = flatten((ROOT / path).read_text(encoding="utf-8"))
            left += included
    return files


def version() -> str:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(paraes VERSION ([0-9.]+)", text)
    return found[1] if found else "unknown"


def api(primitive: Primitive) -> str:
    numbers = [f"#define CRYPTO_{name} {number}\n" for name, number in primitive.numbers.items()]
    return "".join(numbers) + f'#define CRYPTO_VERSION "paraes {version()}"\n'


def implementation(primitive: Primitive, name: str) -> dict[str, str]:
    """Return the files of one implementation by their names."""
    kernel = KERNELS[name]
    sources = [primitive.source, FEATURES, kernel.features, *kernel.sources, primitive.mode]
    files = {
        **collect(sources),
        "implementation.h": "// The kernel of this folder.\n#pragma once\n\n"
        f"#define PARAES_KERNEL paraes::{name}_kernel\n",
        "api.h": api(primitive),
        "implementors": "The paraes contributors\n",
        "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"),
    }
    if kernel.architecture is not None:
        files["architectures"] = f"{kernel.architecture}\n"
    return files


def write(folder: pathlib.Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("kernels", metavar="KERNEL", nargs="*", help=", ".join(KERNELS))
    arguments = parser.parse_args()
    for name in arguments.kernels:
        if name not in KERNELS:
            parser.error(
                f"there is no kernel '{name}' for SUPERCOP; there are {', '.join(KERNELS)}"
            )
    places = [
        (arguments.folder / primitive.folder / "paraes" / name, primitive, name)
        for primitive in PRIMITIVES
        for name in dict.fromkeys(arguments.kernels or KERNELS)
    ]
    for folder, _, _ in places:
        if folder.exists():
            parser.error(f"{folder} exists: remove it first, or name another folder")
    try:
        for folder, primitive, name in places:
            write(folder, implementation(primitive, name))
    except OSError as error:
        parser.error(f"{error.filename}: cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
