"""Helpers for tests of recipients: identities, and programs that stand in for age."""

import shutil
import subprocess

from support import DEADLINE, Case

AGE = shutil.which("age")
PREFACE = 32
SLOT = 104  # for AES-256
HEADER = 56  # of the C2SP message
MOST_WRAP = 1 << 18


def wrap_bytes(sealed):
    return int.from_bytes(sealed[12:16], "big")


def split(sealed):
    """The preface, age file, slot and C2SP message of a file for recipients."""
    end = PREFACE + wrap_bytes(sealed)
    slot = SLOT if sealed[10] == 2 else SLOT - 16
    return sealed[:PREFACE], sealed[PREFACE:end - slot], sealed[end - slot:end], sealed[end:]


def joined(preface, age_file, slot, message):
    """The file with these parts, whose preface has the right W."""
    wrap = (len(age_file) + len(slot)).to_bytes(4, "big")
    return preface[:12] + wrap + preface[16:] + age_file + slot + message


def new_identity(path):
    """Makes an identity file. Returns its recipient."""
    for command in (["age-keygen", "-o", path], ["age-keygen", "-y", path]):
        made = subprocess.run(command, check=True, capture_output=True, timeout=DEADLINE, text=True)
    return made.stdout.strip()


class RecipientsCase(Case):
    """Gives each test two people, with the identities me.txt and you.txt."""

    def setUp(self):
        super().setUp()
        self.me = self.new_identity("me.txt")
        self.you = self.new_identity("you.txt")

    def new_identity(self, name):
        return new_identity(self.path(name))

    def new_ssh_key(self, name, kind="ed25519"):
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", self.path(name)],
                       check=True, timeout=DEADLINE)
        return self.path(name + ".pub").read_text().strip()

    def age(self, *args, stdin=b""):
        done = subprocess.run([AGE, *map(str, args)], cwd=self.dir, input=stdin,
                              capture_output=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def input_key(self, sealed, identity="me.txt"):
        """The key of a file: what its slot holds under the key in its age file."""
        preface, age_file, slot, _ = split(sealed)
        self.write("run-key", self.age("-d", "-i", identity, stdin=age_file), 0o600)
        context = preface[:12] + bytes(4) + preface[16:]
        key = self.ok("decrypt", "-q", "--format", "c2sp", "-k", "run-key", "--context-hex",
                      context.hex(), "-", stdin=slot)
        self.path("run-key").unlink()
        return key

    def seal(self, data, *flags, to=None):
        """The file that paraes makes of `data` for `to`, or for me."""
        recipients = [flag for key in to or [self.me] for flag in ("--recipient", key)]
        return self.ok("encrypt", *recipients, *flags, "-", stdin=data)

    def program(self, script, name="age-stand-in"):
        """Writes a program that stands in for age. Returns the environment that names it."""
        path = self.path(name)
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o700)
        return {"PARAES_AGE": str(path)}

    def counting(self):
        """An age that writes a line to the file `calls` each time it is called."""
        return self.program(f'echo "$@" >> {self.path("calls")}\nexec {AGE} "$@"\n')

    def calls(self):
        path = self.path("calls")
        return path.read_text().splitlines() if path.exists() else []
