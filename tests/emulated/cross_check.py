#!/usr/bin/env python3
"""Compares the paraes of another architecture, run by QEMU, with this machine's paraes and openssl.

    tests/emulated/cross_check.py ARCHITECTURE PROCESSOR EMULATED-PARAES NATIVE-PARAES

Each kernel encrypts for the native programs, and decrypts what they encrypted, in every format and
raw mode: texts of up to 64 KiB, and with PARAES_LONG=1 of up to a mebibyte. Also checks what
`devices` says, and PARAES_CPU_MASK.
"""

import json
import os
import pathlib
import platform
import random
import shutil
import subprocess
import sys
import tempfile

QEMU = pathlib.Path(__file__).with_name("qemu")
ELF_MACHINES = {"aarch64": 183, "s390x": 22, "x86_64": 62}
MODELS = {
    "aarch64/max": "AArch64, implementer 0x00, part 0x051",  # QEMU's own
    "aarch64/neoverse-n1": "Arm Neoverse N1",
    "aarch64/cortex-a53": "Arm Cortex-A53",
    "aarch64/cortex-a72": "Arm Cortex-A72",
    "s390x/max": "s390x",
}
KERNELS = pathlib.Path(__file__).parents[1] / "kernels.txt"
FEATURES = {
    "aarch64/max": "asimd aes pmull sha3",
    "aarch64/neoverse-n1": "asimd aes pmull",
    "aarch64/cortex-a53": "asimd aes pmull",
    "aarch64/cortex-a72": "asimd aes pmull",
    "s390x/max": "",
}
IV = "f0f1f2f3f4f5f6f7f8f9fafbfcfffffe"  # the last 16 bits of the counter wrap soon
SIZES = [0, 1, 15, 16, 17, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4095, 4096]
SIZES += [4097, 65541]
if os.environ.get("PARAES_LONG"):
    SIZES += [262144, 1048577]  # a third of the whole time
# XTS needs 16 bytes in each data unit (4,096 bytes).
XTS_SIZES = [n for n in SIZES if n >= 16 and (n % 4096 == 0 or n % 4096 >= 16)] + [4113, 65553]
if os.environ.get("PARAES_LONG"):
    XTS_SIZES.append(1048593)


class Failed(Exception):
    pass


def kernels_with(architecture, features):
    """The kernels that a processor with these features can run, in the order of `auto`."""
    found = []
    for line in KERNELS.read_text().splitlines():
        of, name, _, _, *needs = line.split() if line[:1] not in ("#", "") else ("none",) * 4
        if of in (architecture, "any") and set(needs) <= set(features):
            found.append(name)
    return list(dict.fromkeys(found))


def check(condition, text):
    if not condition:
        raise Failed(text)


def run(command, environment=None, status=0):
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    text = " ".join(map(str, command[:14])) + f"\nexit {done.returncode}\n" + done.stderr
    check(done.returncode == status, text)
    return done


class Paraes:
    """One of the two programs; `command` runs it."""

    def __init__(self, command, environment):
        self.command = command
        self.environment = environment

    def run(self, *arguments, status=0, mask=None):
        environment = dict(self.environment)
        if mask is not None:
            environment["PARAES_CPU_MASK"] = mask
        return run([*self.command, *arguments], environment, status)

    def crypt(self, verb, files, folder, flags, kernel=None, mask=None):
        """Encrypts or decrypts all files with one process, and checks which kernel that used."""
        folder.mkdir()
        chosen = [] if kernel is None else ["--kernel", kernel]
        done = self.run(verb, "--json", "-o", folder, *flags, *chosen, *files, mask=mask)
        reports = [json.loads(line) for line in done.stdout.splitlines()]
        reports = [report for report in reports if "input" in report]
        check(len(reports) == len(files), f"{verb}: {len(reports)} reports for {len(files)} files")
        for report in reports:
            check(report["exit"] == 0 and report["device"] == "cpu", report)
            check(kernel in (None, report["kernel"]), f"--kernel {kernel} ran {report['kernel']}")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def same(got, expected, text):
    check(got.keys() == expected.keys(), f"{text}: other files")
    for name, data in expected.items():
        check(got[name] == data, f"{text}: {name} differs")


class CrossCheck:
    def __init__(self, architecture, processor, emulated, native, scratch):
        self.scratch = scratch
        self.name = f"{architecture}/{processor}"
        here = platform.machine()
        check(here != architecture, f"this machine itself is {architecture}")
        for program, machine in ((emulated, architecture), (native, here)):
            header = pathlib.Path(program).read_bytes()[:20]
            order = "big" if header[5] == 2 else "little"
            found = int.from_bytes(header[18:20], order)
            check(found == ELF_MACHINES[machine], f"{program} is no program for {machine}")
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PARAES_")
        }
        environment["XDG_CACHE_HOME"] = str(scratch)
        self.emulated = Paraes(
            [QEMU, architecture, emulated], {**environment, "PARAES_EMULATED_CPU": processor}
        )
        self.native = Paraes([native], environment)
        self.folders = 0
        self.native_folders = {}
        self.files = 0
        random.seed(17)
        self.keys = {}
        for size in (16, 24, 32, 64):
            self.keys[size] = scratch / f"key{size}"
            self.keys[size].write_bytes(random.randbytes(size))
            self.keys[size].chmod(0o600)
        self.passphrase = scratch / "passphrase"
        self.passphrase.write_text("correct horse battery staple\n")
        self.passphrase.chmod(0o600)
        self.plain = self.write_plain("plain", SIZES)
        self.plain_xts = self.write_plain("xts", XTS_SIZES)

    def write_plain(self, name, sizes):
        folder = self.scratch / name
        folder.mkdir()
        for size in sizes:
            (folder / f"{size:07}").write_bytes(random.randbytes(size))
        return folder

    def folder(self, name):
        self.folders += 1
        return self.scratch / f"{self.folders}-{name}"

    def expected_kernels(self):
        return kernels_with(self.name.partition("/")[0], FEATURES[self.name].split())

    def check_devices(self):
        found = json.loads(self.emulated.run("devices", "--json").stdout)
        check(found["cpu"]["model"] == MODELS[self.name], found["cpu"])
        check(found["cpu"]["features"] == FEATURES[self.name].split(), found["cpu"])
        kernels = [row["name"] for row in found["kernels"] if "cpu" in row["devices"]]
        usable = [row["name"] for row in found["kernels"] if row["available"]]
        usable = [name for name in usable if name in kernels]
        check(usable == self.expected_kernels(), f"usable kernels: {usable}")
        check(MODELS[self.name] in self.emulated.run("devices").stdout, "devices: no CPU model")
        print(f"{self.name}: {found['cpu']['model']}: {' '.join(usable)}")
        return usable

    def check_bench(self, usable):
        """The bench runs and verifies every kernel, and measures the clock where it can."""
        rivals = ["openssl-evp"]
        if "armv8" in usable:
            rivals += ["ports-armv8", "ports-gcm-armv8"]
        arguments = ["bench", "--kernel", ",".join(usable), "--mode", "gcm", "--size", "16KiB"]
        arguments += ["--samples", "1", "--warmup", "0", "--min-time", "0", "--json", "-"]
        report = json.loads(self.emulated.run(*arguments, "--rivals", ",".join(rivals)).stdout)
        rows = report["results"]
        ran = {row["kernel"] for row in rows if row["kernel"]}
        check(ran == set(usable), f"bench ran {ran}")
        check({row["rival"] for row in rows if row["rival"]} == set(rivals), "rivals are missing")
        check(all(row["verified"] for row in rows), f"bench: wrong bytes: {rows}")
        clock = report["context"]["clock_hz"]
        if self.name.startswith("aarch64"):
            check(clock > 0, f"bench: clock_hz is {clock}")
        print(f"bench: {len(rows)} rows verified", flush=True)

    def check_errors(self):
        source = self.plain / f"{257:07}"

        def refused(text, status, *flags, mask=None):
            arguments = ["encrypt", "-c", "--key-file", self.keys[32], *flags, source]
            done = self.emulated.run(*arguments, status=status, mask=mask)
            check(text in done.stderr, f"no '{text}' in: {done.stderr}")
            check(done.stdout == "", "an error with output")

        refused("there is no kernel 'vaes512'", 2, "--kernel", "vaes512")
        refused("no CPU feature is called 'sse9'", 2, mask="sse9")
        if "pmull" not in FEATURES[self.name]:
            return
        refused("lacks pmull (hidden by PARAES_CPU_MASK)", 1, "--kernel", "armv8", mask="pmull")
        refused("PARAES_CPU_MASK is inconsistent", 2, mask="asimd")
        if "sha3" not in FEATURES[self.name]:
            refused("lacks sha3", 1, "--kernel", "armv8-eor3")

    def check_masks(self):
        """What `auto` takes under every mask that hides features consistently."""
        features = FEATURES[self.name].split()
        masks = {"": self.expected_kernels()[0]}
        if "sha3" in features:
            masks["sha3"] = "armv8"
        if features:
            masks["pmull"] = "bitslice"
            masks[",".join(features)] = "bitslice"
        source = self.plain / f"{65541:07}"
        for mask, kernel in masks.items():
            target = self.folder("mask.paes")
            flags = ["--key-file", self.keys[16]]
            done = self.emulated.run("encrypt", "--json", *flags, "-o", target, source, mask=mask)
            ran = json.loads(done.stdout.splitlines()[0])["kernel"]
            check(ran == kernel, f"PARAES_CPU_MASK={mask} ran {ran}, not {kernel}")
            back = self.folder("mask-back")
            self.native.crypt("decrypt", [target], back, flags)
            expected = {target.stem: source.read_bytes()}
            same(contents(back), expected, f"PARAES_CPU_MASK={mask}")

    def both_ways(self, label, kernel, mask, plain, flags, deterministic=False, openssl=None):
        """Encryption in emulation for the native programs, and the other way.

        `openssl` holds the arguments of `openssl enc`. In a deterministic mode, all three programs
        must write the same bytes.
        """
        text = f"{label} with {kernel}" + (f" and PARAES_CPU_MASK={mask}" if mask else "")
        sources = sorted(plain.iterdir())
        expected = contents(plain)
        sealed = self.folder("sealed")
        self.emulated.crypt("encrypt", sources, sealed, flags, kernel, mask)
        back = self.folder("back")
        self.native.crypt("decrypt", sorted(sealed.iterdir()), back, flags)
        same(contents(back), expected, f"{text}: native decryption")
        if openssl is not None and not deterministic:
            for name, data in expected.items():
                self.check_openssl(openssl, sealed / f"{name}.paes", data, text)
        done = [sealed, back]
        for folder in self.native_files(label, sources, flags, openssl):
            if deterministic:
                same(contents(sealed), contents(folder), f"{text}: encryption")
            opened = self.folder("opened")
            self.emulated.crypt("decrypt", sorted(folder.iterdir()), opened, flags, kernel, mask)
            same(contents(opened), expected, f"{text}: decryption of {folder.name}")
            done.append(opened)
        for folder in done:
            shutil.rmtree(folder)
        self.files += len(sources)

    def native_files(self, label, sources, flags, openssl):
        """Folders with what the native programs encrypt, made once for all kernels."""
        if label in self.native_folders:
            return self.native_folders[label]
        folders = [self.folder("native")]
        self.native.crypt("encrypt", sources, folders[0], flags)
        if openssl is not None:
            folders.append(self.folder("openssl"))
            folders[1].mkdir()
            for source in sources:
                target = folders[1] / f"{source.name}.paes"
                run(["openssl", "enc", "-e", *openssl, "-in", source, "-out", target])
        self.native_folders[label] = folders
        return folders

    def check_openssl(self, arguments, path, expected, text):
        command = ["openssl", "enc", "-d", *arguments, "-in", path]
        done = subprocess.run(command, capture_output=True)
        check(done.returncode == 0, f"{text}: {path.name}: {done.stderr.decode()}")
        check(done.stdout == expected, f"{text}: openssl decrypts {path.name} to something else")

    def check_kernel(self, kernel, mask):
        for name in ("paraes", "c2sp", "tink"):
            for size in (16, 32):
                flags = ["--format", name, "--key-file", self.keys[size]]
                self.both_ways(f"{name}, key of {size}", kernel, mask, self.plain, flags)
        for mode in ("ecb", "cbc", "ctr"):
            for size in (16, 24, 32):
                key = self.keys[size]
                iv = [] if mode == "ecb" else ["--iv-hex", IV]
                flags = ["--format", "raw", "--mode", mode, "--key-file", key, *iv]
                openssl = [f"-aes-{8 * size}-{mode}", "-K", key.read_bytes().hex()]
                openssl += [] if mode == "ecb" else ["-iv", IV]
                label = f"raw {mode}, key of {size}"
                self.both_ways(label, kernel, mask, self.plain, flags, True, openssl)
        for size in (32, 64):
            flags = ["--format", "raw", "--mode", "xts", "--key-file", self.keys[size]]
            flags += ["--iv-hex", IV]
            self.both_ways(f"raw xts, key of {size}", kernel, mask, self.plain_xts, flags, True)
        for mode, bits in (("cbc", 256), ("ctr", 128)):
            flags = ["--format", "openssl", "--mode", mode, "--iter", "100"]
            flags += ["--passphrase-file", self.passphrase, "--key-bits", str(bits)]
            openssl = [f"-aes-{bits}-{mode}", "-pbkdf2", "-iter", "100"]
            openssl += ["-pass", f"file:{self.passphrase}"]
            self.both_ways(f"openssl {mode}", kernel, mask, self.plain, flags, False, openssl)

    def run_all(self):
        usable = self.check_devices()
        self.check_bench(usable)
        self.check_errors()
        self.check_masks()
        rows = [(kernel, "") for kernel in usable]
        if FEATURES[self.name]:  # the build of the kernel that needs no feature
            rows.append(("bitslice", ",".join(FEATURES[self.name].split())))
        for kernel, mask in rows:
            before = self.files
            self.check_kernel(kernel, mask)
            print(f"{kernel}{f' (without {mask})' if mask else ''}: {self.files - before} files, "
                  "both ways", flush=True)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    # paraes syncs each file, which costs nothing in memory.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch:
        try:
            CrossCheck(*sys.argv[1:], pathlib.Path(scratch)).run_all()
        except Failed as failure:
            sys.exit(f"cross_check: {failure}")


if __name__ == "__main__":
    main()
