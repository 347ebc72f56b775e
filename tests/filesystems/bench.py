"""A bench of foreign file systems: mounts, and the rule that every run on them has to keep.

    exit 0      Every input has an output of its own that opens to its bytes, and what --rm removed does.
    otherwise   Each input still exists, or has an output that opens to its bytes. The error names a file
                and what was wrong.
    always      No file under a final name is partial, no other file has changed, and no temporary is left.

The folder beneath a mount shows what is stored, whatever the mount says."""

import contextlib
import ctypes
import errno
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("faults", "cli", "mpi")]

from faults import KEY, SMALL, environment, namespace, preloaded, restore_signals
from support import BIN, LONG
from trees import FOLDER, OLD, TIME, Job, TreeCase, is_bytes, read_tree, sample

__all__ = ["KEY", "LONG", "OLD", "SMALL", "BenchCase", "Job", "detach", "in_own_namespace",
           "is_bytes", "preloaded_calls", "sample", "setUpModule"]
SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server",
                "/usr/libexec/sftp-server")
HIDDEN = ".fuse_hidden"  # how libfuse calls a removed file until its last descriptor is closed
SECONDS = 30  # within which a run ends and a mount begins
FOREIGN = [sys.executable, "-I", "-S", str(HERE / "foreign.py")]
# A process ends when its standard input does, and that when this process ends, however it does.
WITH_US = ["bash", "-c", """trap : INT
"$@" </dev/null &
while kill -0 $! 2>/dev/null; do
  read -r -t .5
  [ $? -gt 128 ] || break # not the time-out
done
kill $! 2>/dev/null
wait $!""", "bash"]
libc = ctypes.CDLL(None, use_errno=True)


def enter_namespace():
    """Restarts the tests in a namespace of their own, with which all mounts vanish."""
    may_mount = os.geteuid() == 0 or os.access("/dev/fuse", os.R_OK | os.W_OK)
    if not in_own_namespace() and may_mount and namespace() is not None:
        os.environ["PARAES_NAMESPACE"] = "1"
        os.execvp(namespace()[0], [*namespace(), *sys.orig_argv])


def in_own_namespace():
    """Whether the tests may mount whatever they like."""
    return "PARAES_NAMESPACE" in os.environ


def detach(place):
    """Unmounts what may be in use."""
    if libc.umount2(os.fsencode(place), 2) != 0 and os.geteuid() != 0:
        subprocess.run(["fusermount3", "-u", "-z", "--", place], capture_output=True)


class Mount:
    """A mount that serves `back`: by foreign.py, or by the command `server`."""

    def __init__(self, top, server=None, **switches):
        self.place, self.back = top / "m", pathlib.Path(f"{top}.back")
        self.top = top
        self.kind = switches or "a server"
        for folder in (self.place, self.back):
            folder.mkdir(parents=True, exist_ok=True)
        self.reason = None
        device = os.stat(self.place).st_dev
        if server is None:
            command = [*FOREIGN, str(self.back), str(self.place), json.dumps(switches)]
        else:
            command = [*WITH_US, *server(self.back, self.place)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, preexec_fn=restore_signals)
        if server is None:
            said = self.process.stdout.readline().decode().strip()
            if said != "ready":
                self.reason = said or "foreign.py ended"
        else:
            end = time.monotonic() + SECONDS
            while os.stat(self.place).st_dev == device and self.reason is None:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.process.kill()
                    self.reason = self.process.stdout.read().decode().strip() or "it did not mount"
                time.sleep(0.01)
        if self.reason:
            self.close()

    def close(self):
        detach(self.place)
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def abort(self):
        """Ends the mount and with it the calls that wait for it."""
        self.process.kill()
        detach(self.place)


def sshfs(*options, server_flags="", over=None):
    """What serves a folder, or the one named `over`, over SFTP: without a daemon and without ssh."""

    def server(back, place):
        script = place.parent / f"{place.name}.sftp"
        script.write_text(f"#!/bin/sh\nexec {sftp_server()} {server_flags}\n")
        script.chmod(0o755)
        return ["sshfs", "-f", "-o", f"ssh_command={script}", *options, f"localhost:{over or back}",
                str(place)]

    return server


def sftp_server():
    found = [server for server in SFTP_SERVERS if os.access(server, os.X_OK)]
    if shutil.which("sshfs") is None or not found:
        raise unittest.SkipTest("sshfs or sftp-server is not installed")
    return found[0]


def setUpModule():
    """For the tests of a file: skips them where FUSE cannot mount."""
    if not os.path.exists("/dev/fuse"):
        raise unittest.SkipTest("there is no /dev/fuse")
    top = pathlib.Path(f"/tmp/paraes-probe-{os.getpid()}")
    mount = Mount(top)
    if mount.reason is None:
        mount.close()
    shutil.rmtree(top, ignore_errors=True)
    shutil.rmtree(mount.back, ignore_errors=True)
    if mount.reason:
        raise unittest.SkipTest(f"FUSE does not mount here: {mount.reason}")


def lay(path, data, mode):
    """Writes a file with the usual time, also where modes cannot be set, as on FAT."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    with contextlib.suppress(PermissionError):
        path.chmod(mode)
    os.utime(path, ns=(TIME, TIME))


def preloaded_calls(calls, log=None):
    """Environment variables that make calls fail: see tests/support/failing_calls.cpp."""
    env = {**preloaded("PARAES_FAILING_CALLS_LIBRARY"),
           "PARAES_FAILING_CALLS": ",".join(f"{call}={error}" for call, error in calls.items())}
    return {**env, "PARAES_FAILING_CALLS_LOG": str(log)} if log else env


def reasons(code):
    """How the text of an error may name what was wrong. `code`: the name of an errno."""
    texts = ["cannot", "the same name", "exists already", "it appeared while", "not removed: ",
             "it is the input file itself", "it grew while", "it shrank while", "it was written to while",
             "it was replaced while", "its size of"]
    return [*texts, os.strerror(getattr(errno, code))] if code else texts


class BenchCase(TreeCase):
    def setUp(self):
        super().setUp()
        self.mounts = []
        self.number = 0
        self.addCleanup(self.unmount)

    def unmount(self):
        while self.mounts:
            self.mounts.pop().close()

    def mount(self, server=None, **switches):
        with self.lock:
            self.number += 1
            top = self.path(f"mount{self.number}")
        mount = Mount(top, server, **switches)
        if mount.reason:
            raise AssertionError(f"{switches or 'the server'}: {mount.reason}")
        with self.lock:
            self.mounts.append(mount)
        return mount

    def release(self, mount):
        with self.lock:
            self.mounts.remove(mount)
        mount.close()
        shutil.rmtree(mount.back, ignore_errors=True)
        shutil.rmtree(mount.top, ignore_errors=True)

    def run_in(self, folder, *args, env=None, program=(BIN,)):
        """Runs paraes in a folder. A run that hangs is a failure, and does not hang the tests."""
        process = subprocess.Popen(
            [*program, *map(str, args)], cwd=folder, env=environment(**self.env, **(env or {})),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=restore_signals)
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            for mount in list(self.mounts):
                mount.abort()
            process.communicate()
            raise AssertionError(f"it hangs: {args}") from None
        return subprocess.CompletedProcess(args, process.returncode, out, err)

    def outcome(self, *args, folder=None, **kwargs):
        """Runs paraes, expects success and returns its standard output."""
        done = self.run_in(folder or self.dir, *args, **kwargs)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    # ---- Jobs: in a mount (its folder is the working folder), and onto one (the mount is m)

    @functools.cached_property
    def jobs(self):
        """Jobs of every verb by name, and whether they are onto a mount."""
        inside = {**self.file_jobs(*KEY), **self.rekey_jobs(), "keygen": self.keygen_job(),
                  **self.folder_jobs(threads=2)}
        message = self.sealed(*KEY)
        two = {"f": SMALL, "g": SMALL[:-1]}
        sealed_two = self.messages_of(two, *KEY)
        messages = {f"{name}.paes": self.sealed(*KEY, data=data) for name, data in two.items()}
        inside |= {
            "info": Job({"g.paes": message}, ["info", "g.paes"], {}),
            "encrypt two": Job(two, ["encrypt", "-q", *KEY, "f", "g"], sealed_two),
            "encrypt two --rm -f": Job({**two, "g.paes": OLD},
                                       ["encrypt", "-q", *KEY, "--rm", "-f", "f", "g"], sealed_two),
            "encrypt two --update": Job(two, ["encrypt", "-q", *KEY, "--update", "f", "g"], sealed_two),
            "decrypt two --rm": Job(messages, ["decrypt", "-q", *KEY, "--rm", "f.paes", "g.paes"],
                                    {name: is_bytes(data) for name, data in two.items()}),
        }
        tree = {f"t/{name}": data for name, data in FOLDER.items()}
        onto = {
            "encrypt -o": Job({"f": SMALL}, ["encrypt", *KEY, "-o", "m/f.paes", "f"],
                              {"m/f.paes": self.opens(*KEY)}),
            "encrypt -o --rm": Job({"f": SMALL}, ["encrypt", *KEY, "--rm", "-o", "m/f.paes", "f"],
                                   {"m/f.paes": self.opens(*KEY)}),
            "encrypt -o -f": Job({"f": SMALL, "m/f.paes": OLD},
                                 ["encrypt", *KEY, "-f", "-o", "m/f.paes", "f"],
                                 {"m/f.paes": self.opens(*KEY)}),
            "encrypt -r -o --rm": Job(
                tree, ["encrypt", "-q", "-r", *KEY, "--rm", "-o", "m/out", "t"],
                {f"m/out/{name}.paes": self.opens(*KEY, plain=data) for name, data in tree.items()}),
            "encrypt -r -o --update": Job(
                tree, ["encrypt", "-q", "-r", *KEY, "--update", "-o", "m/out", "t"],
                {f"m/out/{name}.paes": self.opens(*KEY, plain=data) for name, data in tree.items()}),
            "decrypt -o --rm": Job({"f.paes": message}, ["decrypt", *KEY, "--rm", "-o", "m/f", "f.paes"],
                                   {"m/f": is_bytes(SMALL)}),
            "decrypt from it": Job({"m/f.paes": message}, ["decrypt", *KEY, "-o", "f", "m/f.paes"],
                                   {"f": is_bytes(SMALL)}),
            "keygen onto it": Job({}, ["keygen", "-o", "m/new"],
                                  {"m/new": lambda data: len(data) == 32}),
        }
        return {**{name: (job, False) for name, job in inside.items()},
                **{name: (job, True) for name, job in onto.items()}}

    def output_of(self, job, name):
        """The output of the input `name` of a job with --rm."""
        base = name.rsplit("/", 1)[-1]
        names = (f"{base}.paes", base.removesuffix(".paes"))
        found = [out for out in job.wanted if out.rsplit("/", 1)[-1] in names and out != name]
        self.assertTrue(found, f"{name} is gone")
        return found[0]

    def check_job(self, mount, job, onto, code=None, works=False, without_unlink=False, env=None,
                  times=0, statuses=(0, 1, 2, 3)):
        """Runs a job on a mount, and checks the rule. `code`: the error that the mount gives, if any.
        `works`: the run must succeed. `times`: outputs have the times of their inputs in steps of so many
        nanoseconds; 0 if they are lost. `statuses`: of the run."""
        with self.lock:
            self.number += 1
            name = f"j{self.number}"
        back, folder = mount.back / name, mount.place / name
        back.mkdir()
        local = back  # where the files are that are not below m
        if onto:
            local = folder = mount.top / name
            local.mkdir()
            (local / "m").symlink_to(mount.place / name)

        def stored(path):
            return back / path[2:] if path.startswith("m/") else local / path

        begin = {**self.secrets, **job.begin}
        for path, data in begin.items():
            lay(stored(path), data, 0o600 if path in self.secrets else 0o640)
        done = self.run_in(folder, *job.args, env=env)
        if not without_unlink:
            self.await_releases(back)
        left = read_tree(local)
        if onto:
            left = {path: data for path, data in left.items() if not path.startswith("m/")}
            left |= {f"m/{path}": data for path, data in read_tree(back).items()}
        self.assertIn(done.returncode, statuses, done)
        self.check_rule(job, begin, left, done, code, works, without_unlink)
        if times and done.returncode == 0 and job.args[0] != "keygen":
            for path in job.wanted:
                self.assertEqual(stored(path).stat().st_mtime_ns, TIME - TIME % times, f"time of {path}")
        return done

    def check_jobs(self, mount, names, **how):
        """Checks these jobs as check_job() does, and releases the mount; returns the runs by name."""
        runs = {}
        for name in names:
            with self.subTest(name, on=mount.kind):
                runs[name] = self.check_job(mount, *self.jobs[name], **how)
        self.release(mount)
        return runs

    def await_releases(self, back):
        """The servers of mounts hear late that a descriptor was closed."""
        end = time.monotonic() + 5
        while list(back.rglob(f"{HIDDEN}*")) and time.monotonic() < end:
            time.sleep(0.01)

    def check_rule(self, job, begin, left, done, code, works, without_unlink):
        text = done.stderr.decode()
        note = f"exit {done.returncode}: {text}"
        for name, data in left.items():
            if name.lower().endswith(".paraes-tmp") or HIDDEN in name:
                self.assertTrue(without_unlink, f"{name} is left; {note}")
                continue
            self.assertIn(name, begin.keys() | job.wanted, f"a file is left over; {note}")
            if name not in job.wanted:
                self.assertTrue(data == begin[name], f"{name} has changed; {note}")
            elif data != begin.get(name):
                self.assertTrue(job.wanted[name](data), f"{name} is not whole; {note}")
        for name in begin.keys() - left:
            self.assertIn("--rm", job.args, f"{name} is gone; {note}")
            output = self.output_of(job, name)
            self.assertIn(output, left, f"{name} is gone; {note}")
            self.assertTrue(job.wanted[output](left[output]), f"{name} is gone; {note}")
        self.assertGreaterEqual(done.returncode, 0, note)
        if works:
            self.assertEqual(done.returncode, 0, note)
        if done.returncode == 0:
            for name in job.wanted:
                self.assertNotIn(left.get(name), (None, begin.get(name)), f"no {name}; {note}")
            for name in job.begin.keys() - job.wanted:
                self.assertEqual(name in left, "--rm" not in job.args, f"{name}; {note}")
            return
        lines = [line for line in text.splitlines() if not line.startswith("paraes: note:")]
        self.assertTrue(lines, "it says nothing")
        for line in lines:
            self.assertRegex(line, r"\Aparaes: .*\S", note)
        subjects = [*begin, *job.wanted, "folder", "t", "m"]
        self.assertTrue(any(subject in text for subject in subjects), f"no file is named; {note}")
        self.assertTrue(any(word in text for word in reasons(code)), f"no reason is named; {note}")


enter_namespace()
