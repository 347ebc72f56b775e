"""Functions shared by the scripts in this folder."""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import timeit

UNITS = ("B", "KiB", "MiB", "GiB")


class Failed(Exception):
    """Something could not be measured; the message says what."""

    status = 2  # with which a script exits


class Wrong(Failed):
    """A result is wrong; the message says which."""

    status = 1


def exit_status(name, main):
    """Return what a script's main() returns, or say why it failed and return the status for that."""
    try:
        return main()
    except (Failed, OSError, subprocess.CalledProcessError) as failure:
        sys.stdout.flush()
        print(f"{name}: {failure}", file=sys.stderr)
        return getattr(failure, "status", Failed.status)
    except KeyboardInterrupt:
        return 130


def run(program, *arguments, **environment):
    """Run a program, with more variables in its environment; return the JSON that it prints."""
    command = [program, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env=os.environ | environment)
    except OSError as error:
        raise Failed(f"{program}: {error.strerror}") from error
    lines = done.stderr.strip().splitlines()
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}\n" + "\n".join(lines[-5:]))
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise Failed(f"{' '.join(command)}: printed no JSON: {error}") from error


def contents(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""  # the process has ended, or the system is not Linux


def peak_of_tree(process):
    """Return the peak memory so far of the largest process in a tree; 0 if unknown."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", contents(f"/proc/{process}/status"), re.MULTILINE)
    children = contents(f"/proc/{process}/task/{process}/children").split()
    return max([int(found[1]) << 10 if found else 0, *map(peak_of_tree, children)])


def run_command(command, place, is_watched=False):
    """Run a shell command in a folder; return the nanoseconds that it took, and if it is watched the
    peak memory of its largest process, 0 if unknown.

    The usage that wait4 reports would not do: it counts the memory that this process had when it
    forked.
    """
    peak = 0
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter_ns()
        process = subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=place,
            env={**os.environ, "HOME": str(place), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        while is_watched and process.poll() is None:
            peak = max(peak, peak_of_tree(process.pid))
            time.sleep(0.001)
        process.wait()
        took = time.perf_counter_ns() - begin
        if process.returncode != 0:
            output.seek(0)
            lines = output.read().decode(errors="replace").strip().splitlines()
            raise Failed(f"{command}: exit {process.returncode}\n" + "\n".join(lines[-5:]))
    return took, peak


def write_json(path, report):
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}") from error


def constant_time_kernels(listed):
    """Return the CPU's kernels of what `paraes devices --json` lists."""
    return [kernel["name"] for kernel in listed["kernels"]
            if kernel["available"] and kernel["constant_time"] and "cpu" in kernel["devices"]]


def markdown_table(head, rows, numbers=()):
    """Return a table of texts, in which the columns at these indices are aligned to the right."""
    rule = ["--:" if i in numbers else "---" for i in range(len(head))]
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def insert(path, begin, end, text):
    """Replace what is between two markers in a document; raise Failed if it does not have them."""
    document = pathlib.Path(path)
    old = document.read_text(encoding="utf-8")
    if old.count(begin) != 1 or old.count(end) != 1 or old.index(begin) > old.index(end):
        raise Failed(f"{document}: it has no place for the table: the markers '{begin}', then '{end}'")
    new = f"{old[:old.index(begin)]}{begin}\n\n{text}\n{old[old.index(end):]}"
    document.write_text(new, encoding="utf-8")


def size_text(size):
    for unit in UNITS[:-1]:
        if size % 1024 != 0:
            return f"{size} {unit}"
        size //= 1024
    return f"{size} {UNITS[-1]}"


def parse_sizes(text):
    """Return the bytes of each size in a comma list of numbers with B, KiB, MiB or GiB."""
    sizes = []
    for word in text.split(","):
        unit = next((unit for unit in reversed(UNITS) if word.endswith(unit)), "")
        digits = word.removesuffix(unit)
        if not digits.isascii() or not digits.isdigit() or int(digits) == 0:
            raise argparse.ArgumentTypeError(f"'{word}' is not a size, such as 64KiB")
        sizes.append(int(digits) * 1024 ** UNITS.index(unit or "B"))
    return sizes


def parse_size(text):
    if "," in text:
        raise argparse.ArgumentTypeError(f"'{text}' is not one size")
    return parse_sizes(text)[0]


def parse_count(text):
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 on")
    return int(text)


def check_room(folder, needed, instead):
    """Raise Failed if the folder has no room for so many bytes."""
    if shutil.disk_usage(folder).free < needed:
        raise Failed(f"{folder}: {size_text(needed)} are needed there: choose another --folder or "
                     f"{instead}")


class Contestant:
    """A statement, or a function without arguments, that is timed."""

    SAMPLE_NS = 3_000_000

    def __init__(self, name, statement, names=None, clean=None):
        self.name = name
        self.timer = timeit.Timer(statement, timer=time.perf_counter_ns, globals=names)
        self.clean = clean  # called after each sample, untimed
        self.calls = 1
        self.samples = []  # nanoseconds of one call

    def timed(self):
        """Return the nanoseconds that the calls of one sample take."""
        took = self.timer.timeit(self.calls)
        if self.clean is not None:
            self.clean()
        return max(took, 1)

    def calibrate(self):
        """Choose the number of calls of a sample. These calls also warm up."""
        while (took := self.timed()) < self.SAMPLE_NS:
            self.calls = max(self.calls + 1, min(self.calls * 16,
                                                 self.calls * self.SAMPLE_NS // took + 1))

    def sample(self):
        self.samples.append(self.timed() / self.calls)

    def median(self):
        return statistics.median(self.samples)


def aead_call(name, cipher, call, source, size):
    """Return the Contestant that makes a call of an AESGCM again and again, with the same nonce, for
    an output of so many bytes; and a function that returns what one call gives."""
    names = {"cipher": cipher, "nonce": bytes(12), "data": source, "buffer": bytearray(size)}
    if call.endswith("_into"):
        statement = f"cipher.{call}(nonce, data, None, buffer)"
        given = f"{statement} == len(buffer) and buffer"
    else:
        statement = given = f"cipher.{call}(nonce, data, None)"
    return Contestant(name, statement, names), lambda: eval(given, names)
