"""Helpers of the command-line tests. PARAES_BIN names the program under test."""

import contextlib
import fcntl
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

BIN = os.environ.get("PARAES_BIN", "")
if not os.access(BIN, os.X_OK):
    raise SystemExit(f"PARAES_BIN={BIN!r} is no executable file: set it to the paraes program, as "
                     "ctest does")

KEYS = {bits: bytes(range(1, bits // 8 + 1)) for bits in (128, 192, 256)}
IV = bytes(range(0xF0, 0x100))
DEADLINE = 30
# `PARAES_LONG=1`: more of what the first tier does once.
LONG = os.environ.get("PARAES_LONG", "0") not in ("", "0")
# The program uses nothing that only Linux has (PARAES_POSIX_ONLY).
POSIX_ONLY = os.environ.get("PARAES_SYSTEM") == "posix"


def pattern(size):
    """Bytes that repeat with period 251, so that swapped blocks, pages or units show."""
    period = bytes(range(251))
    return (period * (size // 251 + 1))[:size]


def may_inspect():
    """Whether this process has CAP_SYS_PTRACE."""
    status = pathlib.Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return int(effective.split()[1], 16) >> 19 & 1 == 1


def file_reports(lines):
    """The objects that --json printed about files, by input. Several inputs end with a summary,
    which must be the last line and fit them."""
    objects = [json.loads(line) for line in lines.splitlines()]
    if objects and "files" in objects[-1]:
        summary = objects.pop()
        done = [o for o in objects if o["exit"] == 0 and o["status"] == "ok"]
        if summary["files"] != len(done) or summary["bytes"] != sum(o["bytes"] for o in done):
            raise AssertionError(f"{summary} does not fit {objects}")
    return {report["input"]: report for report in objects if report["status"] != "skipped"}


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PARAES_")}
    env["PARAES_PROFILE"] = "none"  # ignore the tune profile of this machine
    # tests/run names another folder where paraes would not use this one.
    env.setdefault("XDG_CACHE_HOME", str(pathlib.Path(__file__).resolve().parents[2] / "build/cache"))
    # ctest names a library to preload into paraes alone: see tests/support/no_tmpfile.cpp.
    if "PARAES_PRELOAD" in os.environ:
        env["LD_PRELOAD"] = os.environ["PARAES_PRELOAD"]
        env["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    env.update(more)
    # Without CAP_SYS_PTRACE, tests could not see the open files of a run, nor strace its strings.
    if not may_inspect() and "PARAES_OBSERVABLE" in os.environ:
        libraries = [env.get("LD_PRELOAD"), os.environ["PARAES_OBSERVABLE"]]
        env["LD_PRELOAD"] = ":".join(filter(None, libraries))
        env.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0")
    return env


def sanitized():
    data = pathlib.Path(BIN).read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


def restore_signals():
    """Restores default signal handling in a child; the test runner may ignore some signals."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def flipped(data, at, mask=1):
    """`data` with the bits of `mask` flipped in the byte at `at`."""
    changed = bytearray(data)
    changed[at] ^= mask
    return bytes(changed)


def end(process):
    """Ends a process that may have ended by itself, and closes its pipes."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Case(unittest.TestCase):
    """Gives each test a folder, which is the working folder of the commands it runs. It has the
    files GIVEN, which only their owner can read, because most are secrets."""

    GIVEN = {}

    def setUp(self):
        self.dir = self.new_folder()
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        for name, data in self.GIVEN.items():
            self.write(name, data, 0o600)

    def new_folder(self):
        return pathlib.Path(tempfile.mkdtemp(prefix="paraes-cli-"))

    def path(self, name):
        return self.dir / name

    def write(self, name, data, mode=None):
        """Writes a file, and makes its folder if there is none."""
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_bytes(data)
        if mode is not None or data in KEYS.values():
            self.path(name).chmod(mode or 0o600)  # as keygen does, else paraes warns
        return name

    def damage(self, name, at, mask=1):
        """Flips bits of a byte of a file, in its place: the file may be larger than memory."""
        with self.path(name).open("r+b") as file:
            file.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
            damaged = bytes([file.read(1)[0] ^ mask])
            file.seek(-1, os.SEEK_CUR)
            file.write(damaged)

    def read(self, name):
        return self.path(name).read_bytes()

    def names(self, folder="."):
        return sorted(os.listdir(self.dir / folder))

    def left_over(self):
        return [name for name in self.names() if name.endswith(".paraes-tmp")]

    def run_paraes(self, *args, stdin=b"", env=None, **kwargs):
        return subprocess.run([BIN, *map(str, args)], cwd=self.dir, input=stdin,
                              **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                                 "env": environment(**(env or {})), "timeout": DEADLINE, **kwargs})

    def exits(self, status, *args, **kwargs):
        """Runs paraes and expects exit `status`."""
        done = self.run_paraes(*args, **kwargs)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def ok(self, *args, **kwargs):
        """Runs paraes, expects success and returns its standard output."""
        return self.exits(0, *args, **kwargs).stdout

    def fails(self, status, *args, says=(), **kwargs):
        """Runs paraes, expects exit `status` and one error `line` that contains all of `says`."""
        done = self.exits(status, *args, **kwargs)
        text = done.stderr.decode()
        lines = [line for line in text.splitlines()
                 if not line.startswith(("paraes: note:", "paraes: warning:"))]
        self.assertEqual(len(lines), 1, text)
        done.line = lines[0]
        self.assertTrue(done.line.startswith("paraes: "), text)
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, done.line)
        return done

    def report(self, *args, **kwargs):
        """The object that --json prints."""
        return json.loads(self.ok(*args, "--json", **kwargs))

    def shell(self, script, *args, status=0, stdin=b"", **kwargs):
        """Runs a script of Bash, in which "$@" is paraes with `args`."""
        done = subprocess.run(["bash", "-c", script, "bash", BIN, *map(str, args)], cwd=self.dir,
                              input=stdin, capture_output=True, env=environment(),
                              timeout=DEADLINE, **kwargs)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def strace(self, *args, log=os.devnull):
        """Runs strace, with its own flags first."""
        if shutil.which("strace") is None:
            self.skipTest("strace is not installed")
        return subprocess.run(["strace", "-f", "-o", log, *map(str, args)], cwd=self.dir,
                              env=environment(ASAN_OPTIONS="detect_leaks=0"), capture_output=True)

    def openssl(self, *args, stdin=b""):
        done = subprocess.run(["openssl", *map(str, args)], cwd=self.dir, input=stdin,
                              capture_output=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def ecb(self, key, blocks, decrypt=False):
        """AES-ECB by openssl: the block cipher for independent implementations of other modes."""
        if not blocks:
            return b""
        return self.openssl("enc", *(["-d"] if decrypt else []), f"-aes-{8 * len(key)}-ecb", "-nopad",
                            "-K", key.hex(), stdin=blocks)

    def start(self, *args, env=None, **kwargs):
        options = {"preexec_fn": restore_signals, "stderr": subprocess.PIPE, **kwargs}
        process = subprocess.Popen([BIN, *map(str, args)], cwd=self.dir,
                                   env=environment(**(env or {})), **options)
        self.addCleanup(end, process)
        return process

    def as_another_user(self):
        """The arguments of run_paraes() for a user who may not do what root may."""
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        try:
            self.ok("--version", **nobody)
        except (PermissionError, FileNotFoundError):
            self.skipTest("another user cannot reach the program")
        return nobody

    def named_by(self, variable):
        """The program or library that a variable of the environment names; without one, skips."""
        if not os.environ.get(variable):
            self.skipTest(f"{variable} is not set")
        return os.environ[variable]

    def wait_for(self, condition, description):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, f"timed out waiting for {description}")
            time.sleep(0.005)

    def temporaries(self, process):
        """The temporary files of a running process: named ones in the folder, and unnamed ones
        (O_TMPFILE), which only the process has open."""
        found = [self.path(name) for name in self.left_over()]
        for entry in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                target = os.readlink(entry)
            except FileNotFoundError:
                continue
            if target.startswith(f"{self.dir.resolve()}/#") and target.endswith(" (deleted)"):
                found.append(entry)
        return found


class Screen:
    """What a terminal of `columns` columns shows: `rows`, and the longest line that was drawn."""

    def __init__(self, shown, columns):
        self.rows = [""]
        self.longest = 0
        self.wrapped = False
        column = 0
        text = shown.decode()
        at = 0
        while at < len(text):
            if text.startswith("\x1b[K", at):
                self.rows[-1] = self.rows[-1][:column]
                at += 3
                continue
            char = text[at]
            at += 1
            if char == "\r":
                column = 0
            elif char == "\n":
                self.rows.append("")
                column = 0
            elif char.isprintable():
                if column == columns:
                    self.wrapped = True
                    self.rows.append("")
                    column = 0
                row = self.rows[-1].ljust(column)
                self.rows[-1] = row[:column] + char + row[column + 1:]
                column += 1
                self.longest = max(self.longest, column)
            else:
                raise ValueError(f"{char!r} in {shown!r}")

    @property
    def text(self):
        return "\n".join(self.rows)


class Terminal:
    """Runs paraes with a pseudo-terminal as its controlling terminal."""

    def __init__(self, case, *args, stdin=None, stdout=None, stderr=None, env=None, columns=0):
        try:
            self.master, slave = pty.openpty()
        except OSError as error:
            case.skipTest(f"no pseudo-terminal (is /dev/pts mounted?): {error}")
        self.slave = slave
        self.resize(columns)

        def take_terminal():
            restore_signals()
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        def pick(stream):
            return slave if stream is None else stream

        self.began = time.monotonic()
        self.process = subprocess.Popen([BIN, *map(str, args)], cwd=case.dir, stdin=pick(stdin),
                                        stdout=pick(stdout), stderr=pick(stderr),
                                        env=environment(**(env or {})), preexec_fn=take_terminal)
        case.addCleanup(self.close)
        self.case = case
        self.seen = b""

    def close(self):
        end(self.process)
        os.close(self.master)
        os.close(self.slave)

    def resize(self, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read_some(self, seconds=0.02):
        """Reads what is shown within `seconds`; returns whether there was anything."""
        if select.select([self.master], [], [], seconds)[0]:
            self.seen += os.read(self.master, 65536)
            return True
        return False

    def expect(self, text):
        """Reads until `text` is shown; returns the output before it, keeps the rest."""
        end = time.monotonic() + DEADLINE
        while text not in self.seen:
            self.case.assertLess(time.monotonic(), end, f"no {text!r} in {self.seen!r}")
            self.read_some()
        before, self.seen = self.seen.split(text, 1)
        return before

    def type(self, text):
        os.write(self.master, text)

    def answer(self, prompt, text):
        """Types `text` when `prompt` is shown; returns the output before it."""
        before = self.expect(prompt)
        self.type(text)
        return before

    def echoes(self):
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def finish(self):
        """Waits for the end; returns the status and the output since the last expect(). `seconds`
        is then how long the run took: rather too much, never too little."""
        end = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            self.case.assertLess(time.monotonic(), end, f"still running; shown: {self.seen!r}")
            self.read_some()
        self.seconds = time.monotonic() - self.began
        while self.read_some(0.05):
            pass
        return self.process.returncode, self.seen

    def ends(self, expected=0):
        """Waits for the end with the status `expected`; returns the output as finish() does."""
        status, shown = self.finish()
        self.case.assertEqual(status, expected, shown)
        return shown
