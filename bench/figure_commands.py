"""The figures of bench/figures that compare whole commands: the sets `programs` and `disk`."""

import contextlib
import os
import random
import statistics
import subprocess
import tempfile
import time

from figure_table import Measured
from scripts import Failed

GIB = 1 << 30


class Commands:
    """Shell commands timed in turns, in a new random order each, after one untimed round. What a
    command leaves behind, such as freed memory, would else always meet the same other one."""

    def __init__(self, folder, samples, program):
        self.folder = folder
        self.samples = samples
        self.runs = []
        # Commands find the program on PATH, so that the report does not contain its path.
        self.environment = dict(os.environ)
        self.environment["PATH"] = f"{os.path.dirname(program)}:{self.environment['PATH']}"

    def run(self, bytes_, **commands):
        """Return the median seconds of each command, given as (untimed command before, command)."""
        times = {name: [] for name in commands}
        for turn in range(self.samples + 1):
            for name in random.sample(list(commands), len(commands)):
                before, command = commands[name]
                self.shell(before)
                begin = time.perf_counter()
                self.shell(command)
                if turn != 0:
                    times[name].append(time.perf_counter() - begin)
        for name, seconds in times.items():
            self.runs.append({"name": name, "bytes": bytes_, "command": commands[name][1],
                              "samples_ns": [round(1e9 * s) for s in seconds],
                              "median_ns": round(1e9 * statistics.median(seconds))})
        return {name: statistics.median(seconds) for name, seconds in times.items()}

    def shell(self, command):
        done = subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=self.folder,
                              env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise Failed(f"{command}: {done.stderr.decode().strip()}")


@contextlib.contextmanager
def commands_in(folder, samples, program):
    """Yield Commands in a new folder with a file `key`, and the key; remove the folder."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        key = os.urandom(32)
        with open(os.path.join(work, "key"), "wb") as file:
            file.write(key)
        yield Commands(work, samples, program), key


def ratio(medians, over, under, where):
    """Return how many times as long one of the commands takes as another."""
    return medians[over] / medians[under], where


def disk(table, program, folder, samples):
    """A file on a disk, until all of it is there: paraes syncs what it writes."""
    file_system = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True,
                                 text=True, check=True).stdout.strip()
    with commands_in(folder, samples, program) as (commands, _):
        commands.shell("head -c 1G /dev/urandom > big")
        commands.shell("paraes encrypt --key-file key big")
        before = "rm -f out; sync"
        copy = Measured(table, lambda: commands.run(
            GIB,
            paraes_encrypt_disk=(before, "paraes encrypt --key-file key -o out big"),
            paraes_decrypt_disk=(before, "paraes decrypt --key-file key -o out big.paes"),
            cp_and_sync=(before, "cp big out && sync out")))
        for direction in ("encrypt", "decrypt"):
            copy.add(f"1 GiB on a disk, {direction} / cp and sync", 1.0, ratio, "cp_and_sync",
                     f"paraes_{direction}_disk", file_system)
        return commands.runs


def programs(table, program, folder, samples):
    """verify, pipes, many files and one small file; beside cat and openssl enc."""
    with commands_in(folder, samples, program) as (commands, key):
        openssl = f"openssl enc -aes-256-ctr -K {key.hex()} -iv {bytes(16).hex()}"
        pipes_and_verify(table, commands, openssl)
        many_files(table, commands, openssl)
        one_small_file(table, commands, openssl)
        return commands.runs


def pipes_and_verify(table, commands, openssl):
    commands.shell("head -c 1G /dev/urandom > big")
    commands.shell("paraes encrypt --key-file key big")
    pipes = Measured(table, lambda: commands.run(
        GIB,
        paraes_encrypt_pipe=("", "cat big | paraes encrypt --key-file key - | cat"),
        paraes_decrypt_pipe=("", "cat big.paes | paraes decrypt --key-file key - | cat"),
        openssl_enc_pipe=("", f"cat big | {openssl} | cat")))
    for direction in ("encrypt", "decrypt"):
        pipes.add(f"pipe, {direction} / openssl enc -aes-256-ctr", 2.0, ratio, "openssl_enc_pipe",
                  f"paraes_{direction}_pipe", "1 GiB")
    reading = Measured(table, lambda: commands.run(
        GIB,
        paraes_verify=("", "paraes verify --key-file key big.paes"),
        cat=("", "cat big.paes")))
    reading.add("verify / reading by cat", 1.0, ratio, "cat", "paraes_verify", "1 GiB")
    commands.shell("rm big big.paes")


def many_files(table, commands, openssl):
    """Leaves one of the files in the folder `small`, plain and encrypted."""
    for name in ("many", "small"):
        os.mkdir(os.path.join(commands.folder, name))
    for number in range(10000):
        with open(os.path.join(commands.folder, "many", str(number)), "wb") as file:
            file.write(os.urandom(4096))
    commands.shell("cp many/1 small/file")
    commands.shell("paraes encrypt -q --key-file key small/file")
    commands.samples = min(commands.samples, 5)
    # The loop encrypts 90 of the 10,000 files; its time is proportional to their number.
    loop = f"for f in many/?00?; do {openssl} -in $f -out looped/${{f##*/}}; done"
    many = Measured(table, lambda: commands.run(
        10000 * 4096,
        paraes_many=("rm -rf out", "paraes encrypt -r -q --key-file key -o out many"),
        openssl_enc_loop_of_90=("rm -rf looped; mkdir looped", loop)))
    many.add("10,000 files of 4 KiB / loop of openssl enc", 20.0, lambda medians: (
        medians["openssl_enc_loop_of_90"] * 10000 / 90 / medians["paraes_many"], "encrypt"))


def one_small_file(table, commands, openssl):
    def own_seconds(medians, name):
        return medians[name] - medians["nothing"]

    where = "without the shell's start"
    commands.samples = 51
    tiny = Measured(table, lambda: commands.run(
        4096,
        paraes_small=(
            "rm -f small/o", "exec paraes encrypt --key-file key -o small/o small/file"),
        paraes_small_decrypt=(
            "rm -f small/o", "exec paraes decrypt --key-file key -o small/o small/file.paes"),
        openssl_enc_small=("rm -f small/o", f"exec {openssl} -in small/file -out small/o"),
        nothing=("", "exec true")))
    for name, direction in (("paraes_small", "encrypt"), ("paraes_small_decrypt", "decrypt")):
        tiny.add(f"one small file, {direction} / openssl enc", 1.33, lambda medians, name: (
            own_seconds(medians, "openssl_enc_small") / own_seconds(medians, name), where), name)
        tiny.add(f"one small file, {direction}, start to exit, ms", 2.0, lambda medians, name: (
            1000 * own_seconds(medians, name), where), name, unit="ms")
