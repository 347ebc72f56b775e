"""Runs in copies of a small tree, several at a time, whose files must be whole afterwards."""

import concurrent.futures
import os
import pathlib
import random
import shutil
import threading

from faults import KEYS, SMALL, FaultCase
from support import LONG

SEED = int(os.environ.get("PARAES_SEED", "1"))
WORKERS = os.cpu_count() or 1
PASSPHRASE = ["--passphrase-file", "p"]
CHEAP = ["--scrypt-log2n", "10"]
RAW = ["--format", "raw", "--mode", "ctr", "--iv-hex", "00" * 16]


def read_tree(top):
    """The files below the folder `top`: their bytes by name."""
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in sorted(pathlib.Path(top).rglob("*"))
        if path.is_file()
    }


def write_tree(top, files):
    """Makes the folder `top` with these files and nothing else."""
    shutil.rmtree(top, ignore_errors=True)
    pathlib.Path(top).mkdir()
    for name, data in files.items():
        path = pathlib.Path(top) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o600)


def sample(items, most, name):
    """All items in `tests/run long:PART`; otherwise about `most`, evenly from a place that PARAES_SEED
    decides."""
    step = 1 if LONG else max(1, -(-len(items) // most))
    return items[random.Random(f"{SEED} {name}").randrange(step) :: step]


def is_bytes(plain):
    """A function that says whether a file holds `plain`."""
    return lambda data: data == plain


class TreeCase(FaultCase):
    """Each run begins with the files of `begin`, a dictionary of names and bytes. `wanted` has the
    files that it may make or change: its values say whether their bytes are whole."""

    begin = {}

    def setUp(self):
        super().setUp()
        self.write("k2", KEYS[128])
        self.write("p", b"passphrase\n")
        self.secrets = {"k": KEYS[256], "k2": KEYS[128], "p": b"passphrase\n"}
        self.lock = threading.Lock()

    def start_with(self, **files):
        """Files by name, with _ for the dot of .paes."""
        self.begin = {
            **self.secrets,
            **{name.replace("_", "."): data for name, data in files.items()},
        }

    def sealed(self, *flags, data=SMALL):
        return self.ok("encrypt", "-q", *flags, "-c", "-", stdin=data)

    def opens(self, *flags, plain=SMALL):
        """A function that says whether a message opens with `flags` as `plain`."""

        def opens(data):
            done = self.run_paraes("decrypt", "-q", *flags, "-c", "-", stdin=data)
            return done.returncode == 0 and done.stdout == plain

        return opens

    def check_tree(self, folder, args, wanted, succeeded):
        """Checks that each file is the old one or whole, that none is left over, and that sources are
        gone only where --rm allows it. After success, all that was wanted is there."""
        left = read_tree(folder)
        for name, data in left.items():
            self.assertIn(name, self.begin.keys() | wanted, "a file is left over")
            if name not in wanted:
                self.assertEqual(data, self.begin[name], f"{name} has changed")
            elif data != self.begin.get(name):
                self.assertTrue(wanted[name](data), f"{name} is not whole")
        for name in set(self.begin) - set(left):
            self.assertIn("--rm", args, f"{name} is gone")
            self.assertIn(name + ".paes", left, f"{name} is gone")
        if succeeded:
            for name in wanted:
                self.assertIn(name, left)
                self.assertNotEqual(left[name], self.begin.get(name), f"{name} is the old one")

    def each(self, items, work):
        """Calls work(folder, item) for all items, in WORKERS folders at a time."""

        def part(number):
            for item in items[number::WORKERS]:
                work(self.path(f"w{number}"), item)

        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(part, range(WORKERS)))


def folder_files():
    """Files of a folder t, for -r: two to be read whole, an empty one, and a larger one below."""
    return {"t/a": SMALL, "t/b": b"", "t/c/d": b"small", "t/c/e": bytes(300000)}
