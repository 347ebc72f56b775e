"""Systems that give little: no locked memory, few descriptors, file systems that are read-only, no
/proc, /dev or /tmp. Runs succeed or fail with one clear message, and files stay whole."""

import itertools
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

from faults import KEY, SMALL, environment, in_namespace, restore_signals, sanitized
from support import LONG
from trees import CHEAP, PASSPHRASE, TreeCase

NOBODY = "65534"
AS_NOBODY = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]


class VerbsCase(TreeCase):
    """Every verb, in a tree of its own."""

    def setUp(self):
        super().setUp()
        jobs = self.file_jobs(*KEY, more=[])
        with_passphrase = self.file_jobs(*PASSPHRASE, seal=[*PASSPHRASE, *CHEAP])
        self.verbs = {
            "keygen": self.keygen_job(),
            **{name: jobs[name] for name in ("encrypt", "decrypt", "verify")},
            "passphrase": with_passphrase["encrypt"],
            "rekey": self.rekey_jobs()["rekey to a key"],
            **self.folder_jobs(threads=0, depth=20),
        }

    def run_verb(self, name, folder=None, owner=None, **kwargs):
        """Runs a verb; checks the tree. `kwargs`: see run_in."""
        job, folder = self.verbs[name], folder or self.path("w")
        self.begin(folder, job)
        if owner:
            subprocess.run(["chown", "-R", f"{owner}:{owner}", folder], check=True)
        done = self.run_in(folder, *job.args, **kwargs)
        self.check_tree(folder, job, done.returncode == 0)
        return done


class LockedMemory(VerbsCase):
    """RLIMIT_MEMLOCK 0, without the capability that lifts it."""

    def test_runs_go_on_without_locked_memory(self):
        command = ["prlimit", "--memlock=0:0"]
        if os.geteuid() == 0:
            command += ["setpriv", "--bounding-set", "-ipc_lock"]
        # Otherwise the test would prove nothing.
        probe = ("import ctypes, mmap\n"
                 "page = ctypes.c_char.from_buffer(mmap.mmap(-1, 4096))\n"
                 "print(ctypes.CDLL(None).mlock(ctypes.byref(page), 4096))")
        locks = subprocess.run([*command, "python3", "-c", probe], capture_output=True, text=True)
        self.assertEqual(locks.stdout.strip(), "-1", locks.stderr)
        for name in self.verbs:
            with self.subTest(name):
                done = self.run_verb(name, command=command)
                self.assertEqual((done.returncode, done.stderr), (0, b""))


@unittest.skipIf(sanitized(), "the sanitizers open files themselves")
class FewDescriptors(VerbsCase):
    def test_runs_succeed_or_say_that_too_many_files_are_open(self):
        ends = {}
        for name in self.verbs:
            for most in range(3, 41) if LONG else (4, 6, 8, 10, 12, 15, 20, 40):

                def limit(most=most):
                    restore_signals()
                    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

                with self.subTest(name, descriptors=most):
                    done = self.run_verb(name, preexec_fn=limit)
                    text = done.stderr.decode()
                    ends.setdefault(name, []).append((most, done.returncode))
                    if done.returncode == 127:  # no descriptor for a library
                        self.assertIn("error while loading shared libraries", text)
                        self.assertLess(most, 5)
                        continue
                    self.assertIn(done.returncode, (0, 1, 3), text)
                    if done.returncode == 0:
                        self.assertEqual(text, "")
                    else:
                        for line in text.splitlines():
                            self.assertRegex(line, r"\Aparaes: .*Too many open files")
                        self.assertNotEqual(text, "")
        for name, found in ends.items():
            enough = [most for most, status in found if status == 0]
            self.assertTrue(enough, name)
            # More descriptors never make a run fail.
            self.assertEqual(enough, [most for most, _ in found if most >= enough[0]], name)
            self.assertLessEqual(enough[0], 20, name)
            print(f"\n{name}: succeeds with {enough[0]} descriptors", flush=True)


def after(mounts):
    """The command that runs another one where `mounts` were done."""
    return in_namespace(f'set -e\n{mounts}\nexec "$@"')


class ReadOnly(TreeCase):
    # ro/ has f, g.paes and the folder t with the same two.
    MOUNTS = """mount -t tmpfs -o size=4m tmpfs ro
        mkdir ro/t
        cp -p f g.paes ro
        cp -p f g.paes ro/t
        mount -o remount,ro ro
        trap 'rm -f listing; (cd ro && find . -type f | sort && cmp f ../f && cmp g.paes ../g.paes) \
            > listing' EXIT
        exec() { "$@"; }"""
    LISTING = "./f\n./g.paes\n./t/f\n./t/g.paes\n"

    def setUp(self):
        super().setUp()
        self.read_only = after(self.MOUNTS)
        self.path("ro").mkdir()
        self.write("f", SMALL)
        self.ok("encrypt", *KEY, "-o", "g.paes", "f")

    def fails_in(self, status, *args, says="Read-only file system", lines=1):
        done = self.run_in(self.dir, *args, command=self.read_only)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, status, text)
        self.assertEqual(len(text.splitlines()), lines, text)
        self.assertRegex(text, rf"\Aparaes: [^\n]*{says}")
        self.assertEqual(self.read("listing").decode(), self.LISTING)

    def test_outputs_are_refused(self):
        for args in (
            ["encrypt", "-k", "k", "-o", "ro/new", "f"],
            ["encrypt", "-k", "k", "ro/f"],
            ["decrypt", "-k", "k", "-o", "ro/new", "g.paes"],
            ["decrypt", "-f", "-k", "k", "ro/g.paes"],
            ["keygen", "-o", "ro/new"],
            ["encrypt", "-q", "-r", "-k", "k", "-o", "ro/out", "ro/t"],
        ):
            with self.subTest(args=args):
                self.fails_in(1, *args)
        self.fails_in(3, "encrypt", "-q", "-r", "-k", "k", "ro/t")

    def test_rekey_leaves_the_file(self):
        self.fails_in(1, "rekey", "-k", "k", "--to-key-file", "k2", "ro/g.paes")
        self.fails_in(3, "rekey", "-q", "-r", "-k", "k", "--to-key-file", "k2", "ro", lines=2)

    def test_rm_keeps_the_source_and_the_output(self):
        self.fails_in(1, "encrypt", "--rm", "-k", "k", "-o", "new", "ro/f")
        self.check_opens("new", SMALL)
        self.fails_in(3, "encrypt", "-q", "-r", "--rm", "-k", "k", "-o", "out", "ro/t")
        self.check_opens("out/t/f.paes", SMALL)

    def test_reading_succeeds(self):
        for args in (
            ["verify", "-k", "k", "ro/g.paes"],
            ["verify", "-q", "-r", "-k", "k", "ro"],
            ["decrypt", "-k", "k", "-o", "plain", "ro/g.paes"],
        ):
            done = self.run_in(self.dir, *args, command=self.read_only)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.read("plain"), SMALL)


class Missing(VerbsCase):
    """Systems without some of the usual places, for root and for another user."""

    # The command that hides each place, and one that must then fail.
    TMP = "mount --bind /tmp /tmp; mount -o remount,bind,ro /tmp"
    PLACES = {
        "/proc": ("mount -t tmpfs -o ro tmpfs /proc", "test -e /proc/self/stat"),
        "/sys": ("mount -t tmpfs -o ro tmpfs /sys", "test -e /sys/kernel"),
        "/dev/shm": ("mount -t tmpfs -o ro tmpfs /dev/shm", "touch /dev/shm/x"),
        "/dev and all in it": ("mount -t tmpfs -o ro tmpfs /dev", "test -e /dev/urandom"),
        "a /tmp to write to": (TMP, "touch /tmp/x"),
        "any of these": (
            TMP + "; for f in /sys /dev /proc; do mount -t tmpfs -o ro tmpfs $f; done",
            "touch /tmp/x || test -e /proc/self/stat -o -e /dev/null",
        ),
    }

    def setUp(self):
        super().setUp()
        # The tests hide /dev/shm and /tmp.
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="paraes-faults-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.work.chmod(0o755)

    def test_runs_need_none_of_these(self):
        users = [[], AS_NOBODY] if os.geteuid() == 0 else [[]]
        env = {name: value for name, value in environment(**self.env).items()
               if name not in ("HOME", "XDG_CACHE_HOME", "TMPDIR", "LANG", "USER")}
        for place in self.PLACES if LONG else ("/proc", "any of these"):
            mounts, probe = self.PLACES[place]
            found = subprocess.run(in_namespace(f"{mounts}\n{probe}"), capture_output=True)
            self.assertNotEqual(found.returncode, 0, "the place is still there")
            for user, name in itertools.product(users, self.verbs):
                with self.subTest(name, place=place, user=user[:1]):
                    done = self.run_verb(name, self.work / "w", NOBODY if user else None,
                                         command=after(mounts) + user, env=env)
                    self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_passphrase_without_a_terminal_is_an_error(self):
        self.write("f", SMALL)
        command = after(self.PLACES["/dev/shm"][0])
        done = self.run_in(self.dir, "encrypt", "f", command=[*command, "setsid", "-w"])
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, rb"\Aparaes: [^\n]*terminal[^\n]*\n\Z")
