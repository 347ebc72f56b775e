"""Helpers of the fault tests, which work in /dev/shm where it exists.

PARAES_NO_TMPFILE, PARAES_SHORT_IO, PARAES_ANOTHER_HOST and PARAES_FEW_THREADS_LIBRARY name
libraries to preload, see tests/support. Tests whose library is not named are skipped."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from support import (  # noqa: F401
    BIN,
    KEYS,
    POSIX_ONLY,
    Case,
    environment,
    file_reports,
    pattern,
    restore_signals,
    sanitized,
)

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
KEY = ["--key-file", "k"]
MIB = 1 << 20
# A small process, because its size when it forks counts as that of its child.
MEASURE = ("import resource, subprocess, sys\n"
           "status = subprocess.run(sys.argv[1:]).returncode\n"
           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n"
           "sys.exit(status)")
# Its size is not a multiple of that of a block, a segment or a chunk.
SMALL = pattern(2 * 16384 + 100)


def preloaded(variable):
    """Environment variables that preload the library that `variable` names; without one, skips."""
    if not os.environ.get(variable):
        raise unittest.SkipTest(f"{variable} names no library")
    return {"LD_PRELOAD": os.environ[variable],
            "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}


@functools.cache
def strace_reason():
    """Why strace cannot inject faults, or None."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(["strace", "-o", os.devnull, "-e", "inject=fsync:error=EIO", "true"],
                          capture_output=True)
    return None if done.returncode == 0 else "strace: " + done.stderr.decode().strip()


@functools.cache
def namespace():
    """The command that runs another one in a namespace where it may mount, or None."""
    for command in (["unshare", "-m"], ["unshare", "-rm"]):
        script = ["sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]
        if shutil.which("unshare") and subprocess.run([*command, *script],
                                                      capture_output=True).returncode == 0:
            return command
    return None


def in_namespace(script):
    """The command that runs `script` in a namespace where it may mount. Its $@ are the arguments."""
    if namespace() is None:
        raise unittest.SkipTest("mounting a tmpfs is not permitted")
    return [*namespace(), "bash", "-c", script, "bash"]


def on_small_disk(size, old, name):
    """The command that runs another one where the folder small is a disk of `size` with a copy of the
    file `old`. It prints the status and the names on the disk, and what should not be."""
    # The number of free blocks shows leftovers, even those without a name.
    return in_namespace(f"""set -e
        mkdir -p small
        mount -t tmpfs -o size={size} tmpfs small
        cp {old} small/{name}
        before=$(stat -f -c %f small)
        set +e
        "$@"
        echo status=$?
        ls -A small
        cmp {old} small/{name} || echo changed
        test $before = $(stat -f -c %f small) || echo occupied""")


class FaultCase(Case):
    """Gives each test a folder with a key file. `env` is added to the environment of every run."""

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

    def shell(self, script, *args, timeout=300):
        """Runs a bash script; its $1 is the path of paraes, and `args` follow."""
        return subprocess.run(["bash", "-c", script, "bash", BIN, *map(str, args)], cwd=self.dir,
                              env=environment(**self.env), capture_output=True, timeout=timeout,
                              preexec_fn=restore_signals)

    def pause(self, call, number, interfere, *args, status, says=(), inject=(), may_end=False):
        """Runs paraes with a pause at its `number`-th `call`, and calls interfere() meanwhile. Expects
        exit `status`, unless that is None, and all of `says` on standard error, which it returns.
        `may_end`: the run may end before that call."""
        if strace_reason():
            self.skipTest(strace_reason())
        log = self.path("strace.log")
        failures, over = [], threading.Event()

        def calls():
            try:
                return log.read_bytes().count(call.encode() + b"(")
            except FileNotFoundError:  # before the run or after it
                return 0

        def when_it_pauses():
            try:
                while not over.is_set():
                    if calls() >= number:
                        return interfere()
                    time.sleep(0.005)
                self.assertTrue(may_end, f"it ended before call {number} of {call}")
            except Exception as error:  # would end with its thread
                failures.append(error)

        thread = threading.Thread(target=when_it_pauses)
        thread.start()
        try:
            run = Strace(self, *args, env=self.env,
                         inject=[f"{call}:delay_enter=500000:when={number}", *inject])
        finally:
            over.set()
            thread.join()
        if failures:
            raise failures[0]
        if status is not None:
            self.assertEqual(run.done.returncode, status, run.done.stderr)
        for word in says:
            self.assertIn(word, run.done.stderr)
        return run.done.stderr

    def peak(self, script, *args):
        """The peak memory, in MiB, of the runs of P in a bash script, whose $@ are `args`."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f'P() {{ "{sys.executable}" -S -c "$M" "$B" "$@"; }}\n'
             + script, "bash", *args], cwd=self.dir, capture_output=True, timeout=300,
            env=environment(**self.env, M=MEASURE, B=BIN))
        self.assertEqual(done.returncode, 0, done.stderr)
        return max(int(line) for line in done.stderr.split()) / 1024

    def check_opens(self, name, plain, *flags):
        """Checks that the message in the file `name` decrypts to `plain`."""
        self.assertTrue(self.ok("decrypt", *KEY, *flags, "-c", name) == plain, name)


class NoTmpfile:
    """Repeats the tests of its other base without O_TMPFILE: temporary files have names."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.env = preloaded("PARAES_NO_TMPFILE")


class Strace:
    """One complete run under strace, with the faults in `inject`. Without `children`, only the first
    thread of paraes is traced. `status`: that the run must have, if it is known."""

    LINE = re.compile(r"(?:(\d+) +)?(\w+)\(")

    def __init__(self, case, *args, inject=(), env=None, stdin=b"", program=BIN, folder=None,
                 children=True, status=None):
        folder = folder or case.dir
        self.log = folder.with_suffix(".strace") if folder != case.dir else case.path("strace.log")
        flags = [flag for fault in inject for flag in ("-e", f"inject={fault}")]
        # strace -E: preload libraries into paraes, not into strace.
        env = dict(env or {})
        env.setdefault("ASAN_OPTIONS", "detect_leaks=0")
        whole = environment(**env)
        sets = [flag for name in {*env, "LD_PRELOAD"} & whole.keys()
                for flag in ("-E", f"{name}={whole[name]}")]
        self.done = subprocess.run(
            ["strace", *(["-f"] if children else []), "-o", self.log, *flags, *sets, program,
             *map(str, args)], cwd=folder, env=environment(), input=stdin, capture_output=True, timeout=60)
        text = self.log.read_text(errors="replace")
        self.log.unlink()
        self.injected = text.count("(INJECTED)")
        self.text = text
        self.killed = self.done.returncode in (-9, 137)
        if status is not None:
            case.assertEqual(self.done.returncode, status, self.done.stderr)

    def calls_from(self, marker):
        """Every call from the first one whose line contains `marker`: its name, and its number
        among the calls of that name by the same thread, as strace's `when` counts them. Without
        those whose number a thread already reached before the marker: a fault with such a number
        would meet the loader."""
        counts, before, found, started = {}, {}, [], False
        for line in self.text.splitlines():
            match = self.LINE.match(line)
            if not match:
                continue
            thread, name = match.groups()
            started = started or (marker in line and name != "execve")
            number = counts[thread, name] = counts.get((thread, name), 0) + 1
            if not started:
                before[name] = max(number, before.get(name, 0))
            elif number > before.get(name, 0):
                found.append((name, number))
        return list(dict.fromkeys(found))  # once for all threads
