"""Runs of each verb in copies of a small tree, several at a time, whose files must be whole afterwards."""

import concurrent.futures
import os
import pathlib
import random
import shutil
import stat
import subprocess
import threading
import typing

from faults import BIN, KEY, KEYS, SMALL, FaultCase, environment, restore_signals
from support import LONG

SEED = int(os.environ.get("PARAES_SEED", "1"))
WORKERS = os.cpu_count() or 1
LIMIT = 60
PASSPHRASE = ["--passphrase-file", "p"]
CHEAP = ["--scrypt-log2n", "10"]
RAW = ["--format", "raw", "--mode", "ctr", "--iv-hex", "00" * 16]
OLD = b"precious" * 1000
TIME = 1234567890123456789
MODE = 0o640
# For -r: two files to be read whole, an empty one, and a larger one below.
FOLDER = {"a": SMALL, "b": b"", "c/d": b"small", "c/e": bytes(300000)}


class Job(typing.NamedTuple):
    """A run: the files that it begins with, its arguments, and those that it may make or change, with
    functions that say whether their bytes are whole."""

    begin: dict
    args: list
    wanted: dict


def read_tree(top):
    """The files below the folder `top`: their bytes by name."""
    return {str(path.relative_to(top)): path.read_bytes()
            for path in sorted(pathlib.Path(top).rglob("*")) if path.is_file()}


def write_file(path, data, mode=MODE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    os.utime(path, ns=(TIME, TIME))


def sample(items, most, name):
    """All items in `tests/run long:PART`; otherwise about `most`, evenly from a place that PARAES_SEED
    decides."""
    step = 1 if LONG else max(1, -(-len(items) // most))
    return items[random.Random(f"{SEED} {name}").randrange(step) :: step]


def is_bytes(plain):
    """A function that says whether a file holds `plain`."""
    return lambda data: data == plain


class TreeCase(FaultCase):
    def setUp(self):
        super().setUp()
        self.secrets = {"k": KEYS[256], "k2": KEYS[128], "p": b"passphrase\n"}
        for name, data in self.secrets.items():
            self.write(name, data)
        self.lock = threading.Lock()

    def sealed(self, *flags, data=SMALL):
        return self.ok("encrypt", "-q", *flags, "-c", "-", stdin=data)

    def opens(self, *flags, plain=SMALL):
        """A function that says whether a message opens with `flags` as `plain`."""

        def opens(data):
            done = self.run_paraes("decrypt", "-q", *flags, "-c", "-", stdin=data)
            return done.returncode == 0 and done.stdout == plain

        return opens

    def file_jobs(self, *key, seal=None, plain=SMALL, more=("-T", "1")):
        """Jobs on one file by name. `key`: the flags that open it; `seal`: those that encrypt it,
        where they differ."""
        seal = key if seal is None else seal
        message = {"g.paes": self.sealed(*seal, data=plain)}
        file, old = {"f": plain}, {"f": plain, "f.paes": OLD}
        sealed, opened = {"f.paes": self.opens(*key, plain=plain)}, {"g": is_bytes(plain)}
        encrypt, decrypt = ["encrypt", *seal, *more], ["decrypt", *key, *more]
        return {
            "encrypt": Job(file, [*encrypt, "f"], sealed),
            "encrypt -f": Job(old, [*encrypt, "-f", "f"], sealed),
            "encrypt --rm": Job(file, [*encrypt, "--rm", "f"], sealed),
            "encrypt -f --rm": Job(old, [*encrypt, "-f", "--rm", "f"], sealed),
            "decrypt": Job(message, [*decrypt, "g.paes"], opened),
            "decrypt -f": Job({**message, "g": OLD}, [*decrypt, "-f", "g.paes"], opened),
            "decrypt --rm": Job(message, [*decrypt, "--rm", "g.paes"], opened),
            "decrypt -f --rm": Job({**message, "g": OLD}, [*decrypt, "-f", "--rm", "g.paes"], opened),
            "verify": Job(message, ["verify", *key, *more, "g.paes"], {}),
        }

    def rekey_job(self, old, to, key, seal=None, plain=SMALL):
        """The job that rekeys from the flags `old` to those of `to`: the message then opens with
        `key`."""
        return Job({"g.paes": self.sealed(*(seal or old), data=plain)},
                   ["rekey", "-q", *old, *to, "-T", "1", "g.paes"],
                   {"g.paes": self.opens(*key, plain=plain)})

    def rekey_jobs(self):
        return {
            "rekey to a key": self.rekey_job(KEY, ["--to-key-file", "k2"], ["-k", "k2"]),
            "rekey to a passphrase": self.rekey_job(
                KEY, ["--to-passphrase-file", "p", *CHEAP], PASSPHRASE),
        }

    def keygen_job(self):
        return Job({}, ["keygen", "-o", "new"], {"new": lambda data: len(data) == 32})

    def folder_jobs(self, *flags, threads=1, depth=1):
        """Jobs with -r by name, on files that are `depth` folders deep."""
        flags = ["-q", "-r", *KEY, *flags, "-T", str(threads)]
        plain = {f"{'t/' * depth}{name}": data for name, data in FOLDER.items()}
        message = {f"{name}.paes": self.sealed(*flags[2:], data=data) for name, data in plain.items()}
        return {
            "encrypt -r --rm": Job(plain, ["encrypt", *flags, "--rm", "t"],
                                   self.messages_of(plain, *flags[2:])),
            "decrypt -r": Job(message, ["decrypt", *flags, "-o", "out", "t"],
                              {f"out/{name}": is_bytes(data) for name, data in plain.items()}),
            "verify -r": Job(message, ["verify", *flags, "t"], {}),
            "rekey -r": Job(message, ["rekey", *flags, "--to-key-file", "k2", "t"],
                            self.messages_of(plain, "-k", "k2")),
        }

    def messages_of(self, plain, *key):
        return {f"{name}.paes": self.opens(*key, plain=data) for name, data in plain.items()}

    def begin(self, folder, job):
        """Makes the folder of a job, with what it begins with and nothing else."""
        shutil.rmtree(folder, ignore_errors=True)
        for name, data in self.secrets.items():
            write_file(folder / name, data, 0o600)
        for name, data in job.begin.items():
            write_file(folder / name, data, 0o644 if data == OLD else MODE)

    def run_in(self, folder, *args, command=(), **kwargs):
        """Runs paraes in a folder, through `command`."""
        usual = {"env": environment(**self.env), "preexec_fn": restore_signals}
        if "input" not in kwargs:
            usual["stdin"] = subprocess.DEVNULL
        return subprocess.run([*command, BIN, *args], cwd=folder, capture_output=True,
                              **{"timeout": LIMIT, **usual, **kwargs})

    def is_new(self, folder, job):
        """Whether all that the job makes is there."""
        left = read_tree(folder)
        return all(left.get(name) not in (None, job.begin.get(name)) for name in job.wanted)

    def check_tree(self, folder, job, succeeded, private=False, killed=False):
        """Checks that each file is the old one or whole, with the mode and time of its source, that
        none is left over, and that sources are gone only where --rm allows it. After success, all
        that was wanted is there. `private`: new files may be for their owner alone. `killed`:
        temporaries may be left."""
        left, begin = read_tree(folder), {**self.secrets, **job.begin}
        for name, data in left.items():
            if killed and name.endswith(".paraes-tmp"):
                continue
            self.assertIn(name, begin.keys() | job.wanted, "a file is left over")
            if name not in job.wanted:
                self.assertEqual(data, begin[name], f"{name} has changed")
            elif data != begin.get(name):
                self.assertTrue(job.wanted[name](data), f"{name} is not whole")
                if job.args[0] != "keygen":
                    status = (pathlib.Path(folder) / name).stat()
                    modes = (MODE, MODE & 0o700) if private else (MODE,)
                    self.assertIn(stat.S_IMODE(status.st_mode), modes, name)
                    self.assertEqual(status.st_mtime_ns, TIME, name)
        for name in begin.keys() - left:
            self.assertIn("--rm", job.args, f"{name} is gone")
            made = f"{name}.paes" if f"{name}.paes" in job.wanted else name.removesuffix(".paes")
            self.assertIn(made, left, f"{name} is gone")
            self.assertNotEqual(left[made], begin.get(made), f"{name} is gone")
        if succeeded:
            self.assertTrue(self.is_new(folder, job), "not all is there")
            for name in job.begin.keys() - job.wanted:
                self.assertEqual(name in left, "--rm" not in job.args, name)

    def each(self, items, work):
        """Calls work(folder, item) for all items, in WORKERS folders at a time."""

        def part(number):
            for item in items[number::WORKERS]:
                work(self.path(f"w{number}"), item)

        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(part, range(WORKERS)))
