"""Files on which other files are mounted, as those that `docker -v FILE:FILE` brings in: they cannot
be replaced. Only an open descriptor writes into them."""

import subprocess
import unittest

from faults import BIN, KEY, KEYS, POSIX_ONLY, FaultCase, environment, in_namespace
from support import DEADLINE

SAYS = b"it is a mount point, as of a file that is mounted into a container, and cannot be replaced"


class Mounts(FaultCase):
    def setUp(self):
        super().setUp()
        self.write("f", b"some data")
        self.ok("encrypt", *KEY, "f")

    def mounted(self, script, *args, statuses=(0,)):
        """Runs a script in which "$@" is paraes with `args`, `outside` is mounted on `inside`, and
        `link` leads there."""
        done = subprocess.run(
            in_namespace('set -e; touch inside; ln -sf inside link; mount --bind outside inside; '
                         'set +e; ' + script) + [BIN, *args], cwd=self.dir, capture_output=True,
            env=environment(), timeout=DEADLINE)
        self.assertEqual(self.left_over(), [])
        self.assertIn(done.returncode, statuses, done.stderr)
        return done

    @unittest.skipIf(POSIX_ONLY, "other systems do not say so before the end")
    def test_mount_point_is_refused_before_any_work(self):
        self.write("outside", b"old")
        for flag, name in (("-f", "inside"), ("-f", "link"), ("--update", "inside")):
            # With a passphrase that cannot be read, which would be the error otherwise.
            done = self.mounted('touch -t 200001010000 inside; "$@"', "encrypt", flag,
                                "--passphrase-file", "missing", "-o", name, "f", statuses=(2,))
            self.assertIn(name.encode() + b": " + SAYS, done.stderr)
            self.assertIn(b"write into it with -c > FILE", done.stderr)
        self.assertEqual(self.read("outside"), b"old")

    def test_one_file_system_leaves_out_what_is_mounted(self):
        for folder in ("d/sub", "d/same"):
            self.path(folder).mkdir(parents=True)
        self.write("outside", b"")
        self.write("d/own", b"1")
        for flags, found in ((["--one-file-system"], [b"d/own"]), ([], [b"d/own", b"d/sub/other"]),
                             (["--one-file-system", "d/sub"], [b"d/own", b"d/sub/other"])):
            done = self.mounted('mount -t tmpfs none d/sub; echo 2 > d/sub/other; "$@"',
                                "encrypt", "-r", "-v", "--dry-run", *KEY, "d", *flags)
            self.assertEqual([line.split(b",")[0].removeprefix(b"reads ")
                              for line in done.stdout.splitlines()], found)
            says = b"d/sub: skipped: another file system is mounted on it"
            self.assertEqual(says in done.stderr, bool(flags))

    def test_advice_works(self):
        self.write("outside", b"older and longer")
        self.mounted('"$@" > inside', "decrypt", *KEY, "-c", "f.paes")
        self.assertEqual(self.read("outside"), b"some data")

    @unittest.skipIf(POSIX_ONLY, "other systems do not say so before the end")
    def test_mounted_file_is_not_rekeyed(self):
        sealed = self.read("f.paes")
        self.write("outside", sealed)
        self.write("new", KEYS[128])
        done = self.mounted('"$@"', "rekey", *KEY, "--to-key-file", "new", "inside", statuses=(2,))
        self.assertIn(SAYS, done.stderr)
        self.assertIn(b"rekey a copy of it", done.stderr)
        self.assertEqual(self.read("outside"), sealed)

    @unittest.skipIf(POSIX_ONLY, "other systems do not say so before the end")
    def test_measurements_do_not_begin_if_their_file_cannot_be_replaced(self):
        self.write("outside", b"")  # they replace no file that is not theirs
        for args in (["tune", "--seconds", "1", "-o", "inside"], ["bench", "--json", "inside"]):
            done = self.mounted('"$@"', *args, statuses=(2,))
            self.assertIn(b"inside: " + SAYS + b": choose another output", done.stderr)
            self.assertEqual(done.stdout, b"")  # no row was measured

    def test_nothing_is_lost_if_a_file_cannot_be_replaced(self):
        self.write("outside", b"old")
        self.mounted('"$@"', "decrypt", *KEY, "-f", "-o", "inside", "f.paes", statuses=(1, 2))
        self.assertEqual(self.read("outside"), b"old")
