"""Systems that give little: no locked memory, few descriptors, file systems that are read-only, no
/proc, /dev or /tmp. Runs succeed or fail with one clear message, and files stay whole."""

import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

from faults import BIN, KEYS, SMALL, FaultCase, environment, restore_signals, sanitized
from support import LONG
from test_full import namespace
from trees import CHEAP, PASSPHRASE, TreeCase, folder_files, is_bytes, write_tree

LIMIT = 60
NOBODY = "65534"
AS_NOBODY = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]


class VerbsCase(TreeCase):
    """Every verb, in a tree of its own."""

    def setUp(self):
        super().setUp()
        self.sealed_small = self.sealed("-k", "k")
        files = folder_files()
        deep = {f"{'t/' * 20}{name}": data for name, data in files.items()}
        sealed = {f"{name}.paes": self.sealed("-k", "k", data=data) for name, data in deep.items()}
        one = {"g.paes": self.sealed_small}
        # Each verb: the files that it begins with, its arguments, and what it makes.
        self.verbs = {
            "keygen": ({}, ["keygen", "-o", "new"], {"new": lambda data: len(data) == 32}),
            "encrypt": (
                {"f": SMALL},
                ["encrypt", "-k", "k", "f"],
                {"f.paes": self.opens("-k", "k")},
            ),
            "decrypt": (one, ["decrypt", "-k", "k", "g.paes"], {"g": is_bytes(SMALL)}),
            "verify": (one, ["verify", "-k", "k", "g.paes"], {}),
            "rekey": (
                one,
                ["rekey", "-k", "k", "--to-key-file", "k2", "g.paes"],
                {"g.paes": self.opens("-k", "k2")},
            ),
            "passphrase": (
                {"f": SMALL},
                ["encrypt", *PASSPHRASE, *CHEAP, "f"],
                {"f.paes": self.opens(*PASSPHRASE)},
            ),
            "encrypt -r": (
                deep,
                ["encrypt", "-q", "-r", "-k", "k", "-o", "out", "t"],
                {
                    f"out/{name}.paes": self.opens("-k", "k", plain=data)
                    for name, data in deep.items()
                },
            ),
            "decrypt -r": (
                sealed,
                ["decrypt", "-q", "-r", "-k", "k", "t"],
                {name: is_bytes(data) for name, data in deep.items()},
            ),
            "verify -r": (sealed, ["verify", "-q", "-r", "-k", "k", "t"], {}),
            "rekey -r": (
                sealed,
                ["rekey", "-q", "-r", "-k", "k", "--to-key-file", "k2", "t"],
                {f"{name}.paes": self.opens("-k", "k2", plain=data) for name, data in deep.items()},
            ),
        }

    def run_verb(self, folder, name, command=(), limit=None, env=None):
        """Runs a verb through `command`, after limit()."""
        begin, args, wanted = self.verbs[name]
        self.begin = {**self.secrets, **begin}
        write_tree(folder, self.begin)

        def prepare():
            restore_signals()
            if limit:
                limit()

        done = subprocess.run(
            [*command, BIN, *args],
            cwd=folder,
            env=env or environment(**self.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT,
            preexec_fn=prepare,
        )
        return done, args, wanted


class LockedMemory(VerbsCase):
    """RLIMIT_MEMLOCK 0, without the capability that lifts it."""

    def test_runs_go_on_without_locked_memory(self):
        command = ["prlimit", "--memlock=0:0"]
        if os.geteuid() == 0:
            command += ["setpriv", "--bounding-set", "-ipc_lock"]
        # Otherwise the test would prove nothing.
        locks = subprocess.run(
            [
                *command,
                "python3",
                "-c",
                "import ctypes, mmap\n"
                "page = ctypes.c_char.from_buffer(mmap.mmap(-1, 4096))\n"
                "print(ctypes.CDLL(None).mlock(ctypes.byref(page), 4096))",
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(locks.stdout.strip(), "-1", locks.stderr)
        for name in self.verbs:
            with self.subTest(name):
                done, args, wanted = self.run_verb(self.path("w"), name, command)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.check_tree(self.path("w"), args, wanted, True)


@unittest.skipIf(sanitized(), "the sanitizers open files themselves")
class FewDescriptors(VerbsCase):
    def test_runs_succeed_or_say_that_too_many_files_are_open(self):
        ends = {}
        for name in self.verbs:
            for most in range(3, 41) if LONG else (3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 40):

                def limit(most=most):
                    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

                with self.subTest(name, descriptors=most):
                    done, args, wanted = self.run_verb(self.path("w"), name, limit=limit)
                    text = done.stderr.decode()
                    ends.setdefault(name, []).append((most, done.returncode))
                    self.check_tree(self.path("w"), args, wanted, done.returncode == 0)
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


class MountCase(FaultCase):
    """Runs in a mount namespace of their own."""

    def setUp(self):
        super().setUp()
        self.namespace = namespace()
        if self.namespace is None:
            self.skipTest("mounting a tmpfs is not permitted")
        self.write("k2", KEYS[128])
        self.write("f", SMALL)
        self.ok("encrypt", "-k", "k", "-o", "g.paes", "f")

    def in_namespace(self, mounts, *args, command=(), env=None, folder=None):
        return subprocess.run(
            [
                *self.namespace,
                "bash",
                "-c",
                f'set -e\n{mounts}\nexec "$@"',
                "bash",
                *command,
                BIN,
                *args,
            ],
            cwd=folder or self.dir,
            stdin=subprocess.DEVNULL,
            env=env or environment(**self.env),
            capture_output=True,
            timeout=LIMIT,
            preexec_fn=restore_signals,
        )


class ReadOnly(MountCase):
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
        self.path("ro").mkdir()

    def fails_in(self, status, *args, says="Read-only file system", lines=1):
        done = self.in_namespace(self.MOUNTS, *args)
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
            done = self.in_namespace(self.MOUNTS, *args)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.read("plain"), SMALL)


class Missing(VerbsCase, MountCase):
    """Systems without some of the usual places, for root and for another user."""

    # What hides each place, and what then must fail.
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
        MountCase.setUp(self)
        VerbsCase.setUp(self)
        # Neither in /dev/shm nor in /tmp.
        self.work = tempfile.mkdtemp(prefix="paraes-faults-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def check_without(self, mounts, command, env):
        tree = pathlib.Path(self.work) / "w"
        for name, (begin, args, wanted) in self.verbs.items():
            with self.subTest(name, command=command[:1]):
                self.begin = {**self.secrets, **begin}
                write_tree(tree, self.begin)
                if command:
                    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", tree], check=True)
                    os.chmod(self.work, 0o755)
                done = self.in_namespace(mounts, *args, command=command, env=env, folder=tree)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.check_tree(tree, args, wanted, True)

    def test_runs_need_none_of_these(self):
        users = [[], AS_NOBODY] if os.geteuid() == 0 else [[]]
        env = {
            name: value
            for name, value in environment(**self.env).items()
            if name not in ("HOME", "XDG_CACHE_HOME", "TMPDIR", "LANG", "USER")
        }
        for place in self.PLACES if LONG else ("/proc", "any of these"):
            mounts, probe = self.PLACES[place]
            found = subprocess.run(
                [*self.namespace, "bash", "-c", f"{mounts}\n{probe}"], capture_output=True
            )
            self.assertNotEqual(found.returncode, 0, "the place is still there")
            for command in users:
                with self.subTest(place=place):
                    self.check_without(mounts, command, env)

    def test_passphrase_without_a_terminal_is_an_error(self):
        done = self.in_namespace(
            self.PLACES["/dev/shm"][0], "encrypt", "f", command=["setsid", "-w"]
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, rb"\Aparaes: [^\n]*terminal[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
