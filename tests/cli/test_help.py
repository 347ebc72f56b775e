"""The texts of --help: they name every verb, and their examples work. tests/mpi checks the layout."""

import os
import pathlib
import re
import shutil
import subprocess

from help_texts import examples
from support import BIN, KEYS, Case, environment

VERBS = ("encrypt", "decrypt", "verify", "rekey", "info", "keygen", "devices", "bench", "tune", "version",
         "help")
# Examples that would take long, ask for a passphrase, or need the keys of the test.
CHANGED = {"paraes rekey -i me.txt --to-recipient age1... --new-key secrets.tar.paes":
           "paraes rekey -i me.txt --to-recipient $(age-keygen -y me.txt) --new-key secrets.tar.paes",
           "paraes rekey -k my.key --to-passphrase notes.txt.paes":
           "paraes rekey -k my.key --to-passphrase-file pw notes.txt.paes",
           "paraes info -i ~/.ssh/id_ed25519 big.tar.paes":
           "paraes info -i me.txt secrets.tar.paes",
           "paraes encrypt big.tar": "paraes encrypt --passphrase-file pw big.tar",
           "paraes encrypt backup.tar": "paraes encrypt --passphrase-file pw backup.tar",
           "paraes decrypt big.tar.paes": "paraes decrypt --passphrase-file pw big.tar.paes",
           "paraes decrypt backup.tar.paes": "paraes decrypt --passphrase-file pw backup.tar.paes"}


class Help(Case):
    def test_help_lists_every_verb(self):
        listed = re.findall(r"(?m)^  ([a-z]+) +[A-Z]", self.ok("--help").decode())
        self.assertEqual(sorted(listed), sorted((*VERBS, "lab")))

    def prepare(self):
        """Makes the files that the examples name."""
        self.write("my.key", KEYS[256])
        self.write("pw", b"a passphrase\n", 0o600)
        for folder in ("photos", "letters", "dir"):
            self.write(f"{folder}/a", b"x" * 3000)
        for name in ("big.tar", "big.bin", "backup.tar", "notes", "damaged", "secrets.tar"):
            self.write(name, b"y" * 2_000_000)
        self.ok("encrypt", "-r", "-k", "my.key", "-o", "backup", "photos")
        self.ok("encrypt", "-k", "my.key", "-o", "photos/b.paes", "photos/a")
        self.ok("encrypt", "-k", "my.key", "damaged")
        self.ok("encrypt", "--format", "openssl", "-q", "--passphrase-file", "pw", "-o",
                "notes.enc", "notes")
        self.ok("encrypt", "-k", "my.key", "--format", "tink", "--segment-size", "4KiB", "-o",
                "stream.bin", "notes")
        subprocess.run("umask 077; age-keygen -o me.txt; age-keygen -y me.txt > team.txt; "
                       "cp pw old; echo another > new", shell=True, cwd=self.dir, check=True,
                       stderr=subprocess.DEVNULL)
        self.ok("encrypt", "--recipients-file", "team.txt", "secrets.tar")
        self.ok("encrypt", "-k", "my.key", "-o", "notes.txt.paes", "notes")
        self.ok("encrypt", "-k", "my.key", "-o", "model.safetensors.paes", "notes")
        for name in ("notes", "damaged", "secrets.tar"):
            self.path(name).unlink()
        subprocess.run(f"tar c dir | {BIN} encrypt -k my.key > dir.tar.paes", shell=True,
                       cwd=self.dir, check=True, env=environment())

    def test_examples_run(self):
        self.prepare()
        prepared = self.dir
        for verb in ("", *VERBS):
            lines = examples(self.ok(*verb.split(), "--help").decode())
            self.assertTrue(lines or verb in ("version", "help"), verb)
            for line in lines:
                with self.subTest(line=line):
                    self.dir = self.new_folder()
                    self.addCleanup(shutil.rmtree, self.dir)
                    shutil.copytree(prepared, self.dir, dirs_exist_ok=True)
                    key = ["-k", "my.key"] if "my.key" in line else ["--passphrase-file", "pw"]
                    if "-i me.txt" in line and line.endswith("-r backup"):
                        shutil.rmtree(self.path("backup"))
                        self.ok("encrypt", "-r", "--recipients-file", "team.txt", "-o", "backup",
                                "photos")
                    if line.endswith("*.paes"):
                        for sealed in self.dir.glob("*.paes"):
                            sealed.unlink()
                        self.ok("encrypt", "--passphrase-file", "old", "big.tar")
                    for sealed in re.findall(r"\b(\w+\.tar)\.paes", line):
                        if sealed not in ("dir.tar", "secrets.tar") and " encrypt " not in line:
                            self.ok("encrypt", *key, "-f", sealed)
                    if "-o backup" in line:
                        shutil.rmtree(self.path("backup"))
                    for made in re.findall(r"keygen.* -o (\S+)", line):
                        self.path(made).unlink(missing_ok=True)
                    if " decrypt big.tar" in line or " decrypt backup.tar" in line:
                        self.path(re.search(r"(\w+\.tar)\.paes", line)[1]).unlink()
                    self.check(line)

    def check(self, line):
        command = CHANGED.get(line, line)
        command = re.sub(r"^paraes (bench|tune)\b",
                         lambda m: f"paraes {m[1]} {'--list' if m[1] == 'bench' else '--show'}",
                         command.replace(" --list", "").replace(" --show", ""))
        path = f"{pathlib.Path(BIN).resolve().parent}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.dir,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=300,
                              env=environment(PATH=path, IV="00" * 16,
                                              PARAES_NVRTC="/nowhere/libnvrtc.so"))
        said = done.stderr.decode()
        if "keyset.json" in line:  # Tink makes it
            self.assertRegex(said, "keyset.json: cannot open it")
        elif command.startswith("paraes tune"):
            self.assertRegex(said, "no profile|no file for the profile")
        elif "cuda" in line:
            self.assertRegex(said + "ok" * (done.returncode == 0), "ok|cuda|CUDA")
        elif "--compile" in line:  # takes most of a minute
            self.assertIn("cannot open /nowhere/libnvrtc.so", said)
        else:
            self.assertEqual(done.returncode, 0, said)
        self.assertNotIn("--help`)", said)
