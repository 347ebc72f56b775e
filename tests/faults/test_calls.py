"""System calls that fail in runs that test_inject leaves out: verify, rekey, folders, recipients; and,
for every verb, calls that a run can do without. `tests/run long:faults` fails every call."""

import collections
import unittest

from faults import SMALL, Strace, strace_reason
from recipients import AGE, RecipientsCase
from test_inject import ERRORS, MUST_FAIL
from trees import CHEAP, PASSPHRASE, TreeCase, folder_files, is_bytes, sample, write_tree

SAMPLES = 45  # of the faults of each run
# Without these, a run goes on: memory that is not locked or not left out of core dumps, pages that are
# not huge, fewer threads, signals that are not handled, limits and access lists that are not known.
NEEDLESS = {
    "mlock2": ("ENOMEM", "EPERM", "ENOSYS"),
    "madvise": ("EINVAL", "ENOMEM"),
    "munmap": ("ENOMEM",),
    "prctl": ("EINVAL",),
    "prlimit64": ("EPERM",),
    "sched_getaffinity": ("ENOSYS",),
    "rt_sigaction": ("EINVAL",),
    "rt_sigprocmask": ("EINVAL",),
    "ioctl": ("EIO",),
    "fadvise64": ("EIO",),
    "uname": ("EFAULT",),
}
# These may fail a run, or not.
NEEDED = {
    "mmap": ("ENOMEM",),
    "mprotect": ("ENOMEM",),
    "clone3": ("EAGAIN", "ENOSYS"),
    "pipe2": ("EMFILE",),
    "eventfd2": ("EMFILE",),
    "mkdirat": ("EIO", "ENOSPC", "EROFS"),
    "fgetxattr": ("EIO", "EOPNOTSUPP", "EPERM"),
    "fremovexattr": ("EIO", "EPERM"),
    "copy_file_range": ("EIO", "EDQUOT", "EINTR"),
    "sync_file_range": ("EIO",),
    "wait4": ("EINTR",),
    "getrandom": ("EINTR", "EAGAIN"),
}
# A quota that is used up shows in any call that makes or enlarges a file.
QUOTA = ("openat", "linkat", "renameat", "mkdirat", "fsync", "pwrite64", "copy_file_range")
# The first call of main, for all of a run; what comes before is the loader's.
MAIN = "F_GETFD"
ALL = {
    call: errors + (("EDQUOT",) if call in QUOTA and "EDQUOT" not in errors else ())
    for call, errors in {**ERRORS, **NEEDED}.items()
}


@unittest.skipIf(strace_reason(), strace_reason())
class CallsCase(TreeCase):
    def inject(self, name, args, wanted, marker=MAIN, errors=None, children=True):
        """Fails each call from the first one on whose line in the log of strace has `marker`."""
        errors = errors or ALL

        def strace(folder, *inject):
            write_tree(folder, self.begin)
            return Strace(self, *args, inject=inject, folder=folder, children=children)

        plain = strace(self.path("w0"))
        self.assertEqual(plain.done.returncode, 0, plain.done.stderr)
        self.check_tree(self.path("w0"), args, wanted, True)
        calls = plain.calls_from(marker)
        self.assertGreater(len(calls), 10)
        # Some numbers are not reached: threads share the files of a folder out anew each time, and how
        # many reads a pipe takes depends on how busy the machine is.
        faults = sample(
            [(call, error, number) for call, number in calls for error in errors.get(call, ())],
            SAMPLES,
            name,
        )
        ends = collections.Counter()

        def work(folder, fault):
            call, error, number = fault
            run = strace(folder, f"{call}:error={error}:when={number}")
            with self.lock, self.subTest(name, call=call, error=error, when=number):
                ends[run.done.returncode if run.injected else "not reached"] += 1
                self.check(folder, args, wanted, call, error, run)

        self.each(faults, work)
        self.assertGreater(ends[0] + ends[1] + ends[3], len(faults) // 4)
        print(f"\n{name}: {len(faults)} faults; ends: {dict(ends)}", flush=True)

    def check(self, folder, args, wanted, call, error, run):
        status, text = run.done.returncode, run.done.stderr.decode()
        self.assertIn(status, (0, 1, 3), text)
        lines = text.splitlines()
        for line in lines:
            self.assertRegex(line, r"\Aparaes: .*\S.*")
        if status == 0:
            self.assertEqual(text, "")
            if run.injected and error not in ("EINTR", "EINVAL"):
                self.assertNotIn(call, MUST_FAIL)
        else:
            self.assertNotEqual(error, "EINTR", f"{call}: a signal ended it: {text}")
            self.assertNotIn(call, NEEDLESS, text)
        if status == 1 and "-r" not in args:
            self.assertEqual(len(lines), 1, text)
        # A temporary that cannot be removed stays.
        if call == "unlinkat" and status != 0:
            for path in folder.rglob(".*.paraes-tmp"):
                path.unlink()
        self.check_tree(folder, args, wanted, status == 0)


class OneFile(CallsCase):
    def test_verify(self):
        self.start_with(g_paes=self.sealed("-k", "k"))
        self.inject("verify", ["verify", "-k", "k", "-T", "1", "g.paes"], {})

    def test_rekey(self):
        for name, flags, key in (
            ("a key", ["--to-key-file", "k2"], ["-k", "k2"]),
            ("a passphrase", ["--to-passphrase-file", "p", *CHEAP], PASSPHRASE),
        ):
            self.start_with(g_paes=self.sealed("-k", "k"))
            self.inject(
                f"rekey to {name}",
                ["rekey", "-k", "k", *flags, "-T", "1", "g.paes"],
                {"g.paes": self.opens(*key)},
            )

    def test_keygen(self):
        self.start_with()
        self.inject("keygen", ["keygen", "-o", "new"], {"new": lambda data: len(data) == 32})

    def test_calls_that_are_needless(self):
        self.start_with(f=SMALL)
        self.inject(
            "encrypt, needless calls",
            ["encrypt", "-k", "k", "-T", "3", "--rm", "f"],
            {"f.paes": self.opens("-k", "k")},
            errors=NEEDLESS,
        )
        sealed = self.sealed("-k", "k")
        self.start_with(g_paes=sealed)
        self.inject(
            "decrypt, needless calls",
            ["decrypt", "-k", "k", "-T", "3", "g.paes"],
            {"g": is_bytes(SMALL)},
            errors=NEEDLESS,
        )
        self.inject(
            "rekey, needless calls",
            ["rekey", "-k", "k", "--to-key-file", "k2", "-T", "3", "g.paes"],
            {"g.paes": self.opens("-k", "k2")},
            errors=NEEDLESS,
        )

    def test_encrypt_and_decrypt(self):
        # test_inject has the others.
        self.start_with(f=SMALL)
        self.inject(
            "encrypt",
            ["encrypt", "-k", "k", "-T", "1", "--rm", "f"],
            {"f.paes": self.opens("-k", "k")},
            errors=NEEDED,
        )
        self.start_with(g_paes=self.sealed("-k", "k"))
        self.inject(
            "decrypt",
            ["decrypt", "-k", "k", "-T", "1", "g.paes"],
            {"g": is_bytes(SMALL)},
            errors=NEEDED,
        )


class Folders(CallsCase):
    """-r: files that are processed whole, and one by all threads. One thread, so that numbers are
    exact; and three."""

    threads = "1"

    def setUp(self):
        super().setUp()
        self.files = folder_files()
        self.flags = ["-q", "-r", "-k", "k", "-T", self.threads]

    def title(self, verb):
        return f"{verb} -r, {self.threads} threads"

    def start_with_sealed(self):
        self.begin = {
            **self.secrets,
            **{
                f"{name}.paes": self.sealed("-k", "k", data=data)
                for name, data in self.files.items()
            },
        }

    def test_encrypt(self):
        self.begin = {**self.secrets, **self.files}
        self.inject(
            self.title("encrypt"),
            ["encrypt", *self.flags, "--rm", "t"],
            {
                f"{name}.paes": self.opens("-k", "k", plain=data)
                for name, data in self.files.items()
            },
            '"t"',
        )

    def test_decrypt(self):
        self.start_with_sealed()
        self.inject(
            self.title("decrypt"),
            ["decrypt", *self.flags, "-o", "out", "t"],
            {f"out/{name}": is_bytes(data) for name, data in self.files.items()},
            '"t"',
        )

    def test_verify(self):
        self.start_with_sealed()
        self.inject(self.title("verify"), ["verify", *self.flags, "t"], {}, '"t"')

    def test_rekey(self):
        self.start_with_sealed()
        self.inject(
            self.title("rekey"),
            ["rekey", *self.flags, "--to-key-file", "k2", "t"],
            {
                f"{name}.paes": self.opens("-k", "k2", plain=data)
                for name, data in self.files.items()
            },
            '"t"',
        )


class FoldersAndThreads(Folders):
    threads = "3"


@unittest.skipIf(AGE is None, "age is not installed")
class Recipients(RecipientsCase, CallsCase):
    """Only calls of paraes fail, and none of age. A call of close that fails here leaves the file
    open, unlike those of Linux, and age would wait for the end of a pipe: these are left out."""

    errors = {call: errors for call, errors in ALL.items() if call != "close"}

    def setUp(self):
        CallsCase.setUp(self)
        self.me = self.new_identity("me.txt")
        self.you = self.new_identity("you.txt")
        self.secrets |= {name: self.read(name) for name in ("me.txt", "you.txt")}

    def test_encrypt_and_decrypt(self):
        self.start_with(f=SMALL)
        self.inject(
            "encrypt, recipients",
            ["encrypt", "--recipient", self.me, "-T", "1", "f"],
            {"f.paes": self.opens("-i", "me.txt")},
            errors=self.errors,
            children=False,
        )
        self.start_with(g_paes=self.seal(SMALL))
        self.inject(
            "decrypt, recipients",
            ["decrypt", "-i", "me.txt", "-T", "1", "g.paes"],
            {"g": is_bytes(SMALL)},
            errors=self.errors,
            children=False,
        )

    def test_rekey(self):
        self.start_with(g_paes=self.sealed("-k", "k"))
        self.inject(
            "rekey to recipients",
            ["rekey", "-k", "k", "--to-recipient", self.me, "-T", "1", "g.paes"],
            {"g.paes": self.opens("-i", "me.txt")},
            errors=self.errors,
            children=False,
        )
        self.start_with(g_paes=self.seal(SMALL))
        self.inject(
            "rekey, recipients to recipients",
            ["rekey", "-q", "-i", "me.txt", "--to-recipient", self.you, "-T", "1", "g.paes"],
            {"g.paes": self.opens("-i", "you.txt")},
            errors=self.errors,
            children=False,
        )


if __name__ == "__main__":
    unittest.main()
