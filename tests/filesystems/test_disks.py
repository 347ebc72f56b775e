"""File systems of the kernel: FAT, exFAT, folders of ext4 and tmpfs that fold case, and overlays. Each is
skipped where the kernel, or the program that makes it, is missing."""

import json
import os
import pathlib
import shutil
import subprocess
import types
import unittest

from bench import KEY, OLD, BenchCase, detach, in_own_namespace
from test_names import DATA


def run(*command):
    """Runs a command, without which the test is skipped."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip() or "it failed").splitlines()[0]
        raise unittest.SkipTest(f"{' '.join(command[:-1])}: {reason}")


class DiskCase(BenchCase):
    def setUp(self):
        super().setUp()
        if not in_own_namespace():
            self.skipTest("mounting is not permitted")
        self.top = self.path("disk")
        self.place = self.top / "m"
        self.place.mkdir(parents=True)

    def mounted(self, kind, *options, source="none"):
        self.load(kind)
        run("mount", "-t", kind, *options, source, str(self.place))
        self.addCleanup(detach, self.place)
        return types.SimpleNamespace(top=self.top, place=self.place, back=self.place)

    def load(self, kind):
        """Skips the test where the kernel has no file system of a kind, also as a module."""
        if shutil.which("modprobe"):
            subprocess.run(["modprobe", "-q", kind], capture_output=True)
        known = pathlib.Path("/proc/filesystems").read_text().split()
        if kind not in known:
            self.skipTest(f"the kernel has no {kind}")

    def image(self, program, *flags, size=64):
        """A disk of `size` MiB that `program` made."""
        self.load(program.split(".")[1])
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")
        path = self.path("image")
        with open(path, "wb") as file:
            os.truncate(file.fileno(), size << 20)
        run(program, *flags, str(path))
        return str(path)

    def check_verbs(self, mount, works=True, times=1):
        for name, (job, onto) in self.jobs.items():
            with self.subTest(name):
                self.check_job(mount, job, onto, works=works, times=times)

    def check_folding(self, place, verb="encrypt"):
        """Two names that are one there: each file is in the output, or still in its source."""
        for number, flags in enumerate((["-f", "--rm"], ["--update"], ["--rm"], [])):
            with self.subTest(flags=flags):
                source = self.path(f"s{number}")
                source.mkdir()
                for name, data in zip("Aa", DATA, strict=True):
                    (source / name).write_bytes(data)
                out = place / f"o{number}"
                done = self.run_in(self.dir, verb, "-q", "-r", *KEY, *flags, "-o", out, source)
                self.assertEqual(done.returncode, 3, done)
                self.assertIn(b"the same name", done.stderr)
                found = [self.run_in(self.dir, "decrypt", *KEY, "-c", path).stdout
                         for path in pathlib.Path(out).rglob("*") if path.is_file()]
                self.assertEqual(len(found), 1, done)
                for name, data in zip("Aa", DATA, strict=True):
                    self.assertEqual((source / name).exists(), data not in found or "--rm" not in flags)


class Fat(DiskCase):
    def make(self):
        options = f"loop,uid={os.getuid()},utf8=1"
        return self.mounted("vfat", "-o", options, source=self.image("mkfs.vfat", "-F", "32"))

    def test_every_verb(self):
        self.check_verbs(self.make(), times=0)

    def test_names_that_fold(self):
        self.check_folding(self.make().place)

    def test_a_full_disk(self):
        mount = self.make()
        self.write("f", bytes(80 << 20))
        done = self.run_in(self.dir, "encrypt", "-q", *KEY, "--rm", "-o", mount.place / "f.paes", "f")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(b"No space left", done.stderr)
        self.assertEqual(os.listdir(mount.place), [])
        self.assertTrue(self.path("f").exists())


class ExFat(Fat):
    def make(self):
        return self.mounted("exfat", "-o", "loop", source=self.image("mkfs.exfat"))


class BlockDevices(DiskCase):
    """A message on a block device, which may be larger."""

    PLAIN = 40 * 512 - 88 - 2 * 16  # with its header and tags, whole sectors

    def device(self, sectors_more=0):
        if shutil.which("losetup") is None:
            self.skipTest("losetup is not installed")
        self.write("plain", os.urandom(self.PLAIN))
        self.outcome("encrypt", "-q", *KEY, "-o", "image", "plain")
        with open(self.path("image"), "ab") as file:
            self.assertEqual(file.tell() % 512, 0)
            file.write(b"\xff" * (512 * sectors_more))
        made = subprocess.run(["losetup", "--find", "--show", self.path("image")], capture_output=True,
                              text=True)
        if made.returncode != 0:
            self.skipTest(f"losetup: {made.stderr.strip()}")
        device = made.stdout.strip()
        self.addCleanup(subprocess.run, ["losetup", "-d", device], check=True)
        return device

    def test_info_ranges_and_all_of_it(self):
        device = self.device()
        plain = self.path("plain").read_bytes()
        report = json.loads(self.outcome("info", "--json", device))
        self.assertEqual((report["bytes"], report["plain_bytes"], report["segments"]),
                         (40 * 512, self.PLAIN, 2))
        self.assertIn(b"20480 bytes of a device, of which at most", self.outcome("info", device))
        self.assertEqual(self.outcome("decrypt", "-q", *KEY, "-c", device), plain)
        self.assertEqual(self.outcome("decrypt", "-q", *KEY, "--offset", 17000, "--length", 99, "-c", device),
                         plain[17000:17099])
        self.outcome("verify", *KEY, device)

    def test_ranges_on_one_that_is_larger(self):
        device = self.device(sectors_more=100)
        plain = self.path("plain").read_bytes()
        self.assertEqual(self.outcome("decrypt", "-q", *KEY, "--offset", 5, "--length", 16000, "-c", device),
                         plain[5:16005])
        done = self.run_in(self.dir, "verify", *KEY, device)
        self.assertEqual(done.returncode, 4, done)
        self.assertIn(f"head -c BYTES {device} | paraes verify -", done.stderr.decode())

    def refused(self, says, *args):
        done = self.run_in(self.dir, "encrypt", "-q", *KEY, *args)
        self.assertIn(done.returncode, (1, 2), done)
        self.assertIn(says, done.stderr.decode())

    def test_another_node_is_the_same_device(self):
        device = self.device()
        status = os.stat(device)
        other = self.path("node")
        os.mknod(other, status.st_mode, status.st_rdev)
        for one, two in ((device, other), (other, device)):
            self.refused("it is the input file itself", "-f", "-o", one, two)
        self.assertEqual(self.outcome("decrypt", "-q", *KEY, "-c", device), self.path("plain").read_bytes())

    def test_a_mounted_device_is_not_written_to(self):
        device = self.device(sectors_more=1 << 15)
        self.load("ext4")
        run("mkfs.ext4", "-q", "-F", device)
        run("mount", device, str(self.place))
        self.addCleanup(detach, self.place)
        (self.place / "f").write_bytes(b"precious")
        self.refused("busy", "-f", "-o", device, "plain")
        self.assertEqual((self.place / "f").read_bytes(), b"precious")

    def test_update_takes_a_device_every_time(self):
        device = self.device()
        self.outcome("encrypt", "-q", "--update", *KEY, "-o", "copy", device)
        with open(device, "r+b") as file:
            file.write(b"changed")
        self.outcome("encrypt", "-q", "--update", *KEY, "-o", "copy", device)
        self.assertTrue(self.outcome("decrypt", "-q", *KEY, "-c", "copy").startswith(b"changed"))

    def test_a_dry_run_says_that_it_is_replaced(self):
        device = self.device()
        self.refused("it exists already", "-o", device, "plain")
        self.assertEqual(self.outcome("encrypt", *KEY, "--dry-run", "-f", "-o", device, "plain").decode(),
                         f"reads plain, replaces {device}\n")

    def test_rekey_replaces_files_alone(self):
        device = self.device()
        done = self.run_in(self.dir, "rekey", *KEY, "--to-key-file", KEY[-1], device)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn(b"not a regular file", done.stderr)
        self.assertTrue(pathlib.Path(device).is_block_device())

    def test_a_device_can_be_encrypted_and_raw_reads_it(self):
        device = self.device(sectors_more=3)
        self.outcome("encrypt", "-q", *KEY, "-o", "sealed", device)
        self.assertEqual(self.outcome("decrypt", "-q", *KEY, "-c", "sealed"), self.path("image").read_bytes())
        self.outcome("encrypt", "-q", "--format", "raw", "--mode", "xts", *KEY, "-o", "raw", device)
        self.assertEqual(self.path("raw").stat().st_size, self.path("image").stat().st_size)


class FoldingFolders(DiskCase):
    """A folder that folds case, of a file system with true numbers of inodes."""

    def folded(self):
        folder = self.place / "folds"
        folder.mkdir()
        run("chattr", "+F", str(folder))
        return types.SimpleNamespace(top=folder.parent.parent / "t", place=folder, back=folder)

    def check_both(self, mount):
        mount.top.mkdir()
        self.check_verbs(mount)
        self.check_folding(mount.place)

    def test_ext4(self):
        image = self.image("mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8")
        self.mounted("ext4", "-o", "loop", source=image)
        self.check_both(self.folded())

    def test_tmpfs(self):
        self.mounted("tmpfs", "-o", "casefold")
        self.check_both(self.folded())


class Overlay(DiskCase):
    """Files of the lower folder move to the upper one when they are written to, and get other numbers."""

    def make(self, *more):
        self.mounted("tmpfs")  # overlays need a file system with attributes, which many are not
        folders = {name: self.place / name for name in ("lower", "upper", "work")}
        for folder in folders.values():
            folder.mkdir()
        place = self.place / "over"
        place.mkdir()
        self.below = folders["lower"]
        options = ",".join([*(f"{name}dir={folder}" for name, folder in folders.items()), *more])
        self.load("overlay")
        run("mount", "-t", "overlay", "-o", options, "none", str(place))
        self.addCleanup(detach, place)
        return types.SimpleNamespace(top=self.top / "t", place=place, back=place)

    def test_every_verb(self):
        mount = self.make()
        mount.top.mkdir()
        self.check_verbs(mount)

    def test_files_of_the_lower_folder(self):
        mount = self.make("xino=off")
        for name, data in (("f", DATA[0]), ("f.paes", OLD), ("g.paes", self.sealed(*KEY, data=DATA[1]))):
            (self.below / name).write_bytes(data)
        for flags in (["encrypt", *KEY, "-f", "--rm", "f"], ["decrypt", *KEY, "--rm", "g.paes"],
                      ["rekey", *KEY, "--to-key-file", self.path("k2"), "f.paes"]):
            flags = [self.path("k") if flag == "k" else flag for flag in flags]
            self.outcome(*flags, folder=mount.place)
        self.assertEqual(sorted(os.listdir(mount.place)), ["f.paes", "g"])
        self.assertEqual((mount.place / "g").read_bytes(), DATA[1])
        self.assertEqual(self.outcome("decrypt", "-k", "k2", "-c", mount.place / "f.paes"), DATA[0])
