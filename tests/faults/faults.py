"""What the tests of faults share. They work in memory, where there is a /dev/shm.

PARAES_NO_TMPFILE and PARAES_SHORT_IO name libraries to preload, see tests/support; what needs one
that is not named is skipped."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from support import BIN, KEYS, Case, as_a_shell_does, environment, pattern

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
KEY = ["--key-file", "k"]
MIB = 1 << 20
# None of the size of a block, a segment or a piece.
SMALL = pattern(2 * 16384 + 100)


def preloaded(variable):
    """The environment with the library that `variable` names, or a skip."""
    if not os.environ.get(variable):
        raise unittest.SkipTest(f"{variable} names no library")
    return {"LD_PRELOAD": os.environ[variable],
            "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}


def sanitized():
    data = pathlib.Path(BIN).read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


def strace_reason():
    """Why strace cannot be used, or nothing."""
    if shutil.which("strace") is None:
        return "there is no strace"
    done = subprocess.run(["strace", "-o", os.devnull, "-e", "inject=fsync:error=EIO", "true"],
                          capture_output=True)
    return None if done.returncode == 0 else "strace: " + done.stderr.decode().strip()


class FaultCase(Case):
    """A folder with a key. `env` is the environment of what runs in it."""

    env = {}

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="paraes-faults-", dir=MEMORY))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.write("k", KEYS[256])

    def run_paraes(self, *args, env=None, **kwargs):
        return super().run_paraes(*args, env={**self.env, **(env or {})}, **kwargs)

    def start(self, *args, env=None, **kwargs):
        process = super().start(*args, env={**self.env, **(env or {})}, **kwargs)
        self.addCleanup(process.stderr.close)
        return process

    def left_over(self):
        return [name for name in self.names() if name.endswith(".paraes-tmp")]

    def shell(self, script, *args, timeout=300):
        """Runs a script of bash with `paraes` as its $1, and `args` behind that."""
        return subprocess.run(["bash", "-c", script, "bash", BIN, *map(str, args)], cwd=self.dir,
                              env=environment(**self.env), capture_output=True, timeout=timeout,
                              preexec_fn=as_a_shell_does)

    def check_opens(self, name, plain, *flags):
        """That the message in `name` is whole and is that of `plain`."""
        self.assertTrue(self.ok("decrypt", *KEY, *flags, "-c", name) == plain, name)


class Strace:
    """One run under strace, to its end, with the faults in `inject`."""

    LINE = re.compile(r"(?:\d+ +)?(\w+)\(")

    def __init__(self, case, *args, inject=(), env=None, stdin=b""):
        self.log = case.path("strace.log")
        flags = [flag for what in inject for flag in ("-e", f"inject={what}")]
        # The library is for the program alone.
        env = dict(env or {})
        env.setdefault("ASAN_OPTIONS", "detect_leaks=0")
        sets = [flag for name, value in env.items() for flag in ("-E", f"{name}={value}")]
        self.done = subprocess.run(
            ["strace", "-f", "-o", self.log, *flags, *sets, BIN, *map(str, args)], cwd=case.dir,
            env=environment(), input=stdin, capture_output=True, timeout=60)
        text = self.log.read_text(errors="replace")
        self.log.unlink()
        self.injected = text.count("(INJECTED)")
        self.text = text
        self.killed = self.done.returncode in (-9, 137)

    def calls_from(self, marker):
        """(name, its index among all calls of that name) of each call from the first one on that
        has `marker` in its line."""
        counts, found, started = {}, [], False
        for line in self.text.splitlines():
            match = self.LINE.match(line)
            if not match:
                continue
            name = match[1]
            counts[name] = counts.get(name, 0) + 1
            started = started or (marker in line and name != "execve")
            if started:
                found.append((name, counts[name]))
        return found
