"""What outputs take over from their inputs: times of folders, owners, and holes."""

from __future__ import annotations

import os
import stat

from support import KEYS, POSIX_ONLY, pattern
from test_many import KEY, FolderCase

THEN = 1_000_000_000_123_456_789


class FolderTimes(FolderCase):
    def setUp(self):
        super().setUp()
        self.make({"d/s/t/f": b"1", "d/g": b"2"})
        self.path("d/empty").mkdir()
        self.folders = ["d", "d/s", "d/s/t", "d/empty"]
        for number, name in enumerate(reversed(self.folders)):
            os.utime(self.path(name), ns=(THEN, THEN + number))

    def times(self, top):
        return [self.path(top, name).stat().st_mtime_ns for name in self.folders]

    def path(self, *parts):
        return super().path("/".join(parts))

    def test_new_folders_get_the_times_of_those_that_they_mirror(self):
        before = self.times(".")
        self.summary("encrypt", "-r", *KEY, "-o", "e", "d")
        self.assertEqual(self.times("e"), before)
        self.summary("decrypt", "-r", *KEY, "-o", "b", "e/d")
        self.assertEqual(self.times("b"), before)
        self.summary("decrypt", "-r", "--rm", *KEY, "-o", "removed", "e/d")
        self.assertEqual(self.times("removed"), before)
        # The folder that -o names mirrors none, except here.
        self.summary("encrypt", "-r", *KEY, "-o", "top", "d/.")
        self.assertEqual(self.path("top").stat().st_mtime_ns, before[0])

    def test_later_runs_set_them_again(self):
        self.summary("encrypt", "-r", *KEY, "-o", "e", "d")
        self.write("d/s/t/new", b"3")
        os.utime(self.path("d/s/t"), ns=(THEN, THEN + 9))
        self.summary("encrypt", "-r", "--update", *KEY, "-o", "e", "d")
        self.assertEqual(self.times("e"), self.times("."))

    def test_an_existing_top_keeps_its_own(self):
        self.path("e").mkdir()
        os.utime(self.path("e"), ns=(THEN, THEN))
        self.summary("encrypt", "-r", *KEY, "-o", "e", "d/.")
        self.assertNotIn(self.path("e").stat().st_mtime_ns, [THEN, *self.times(".")])


class Owners(FolderCase):
    def setUp(self):
        super().setUp()
        self.make({"d/f": b"1"})
        self.path("d/f").chmod(0o640)
        if os.getuid() != 0:
            self.skipTest("only root gives files to others")
        os.chown(self.path("d/f"), 12345, 23456)
        os.chown(self.path("d"), 12346, 23457)

    def owner(self, name):
        status = self.path(name).stat()
        return status.st_uid, status.st_gid

    def test_root_keeps_owner_and_group(self):
        self.summary("encrypt", "-r", *KEY, "-o", "e", "d")
        self.summary("decrypt", "-r", *KEY, "-o", "b", "e/d")
        self.summary("encrypt", *KEY, "-o", "alone", "d/f")
        for name in ("e/d/f.paes", "b/d/f", "alone"):
            self.assertEqual(self.owner(name), (12345, 23456), name)
        for name in ("e/d", "b/d"):
            self.assertEqual(self.owner(name), (12346, 23457), name)
        self.assertEqual(self.path("b/d/f").stat().st_mode & 0o7777, 0o640)
        self.assertEqual(self.owner("e"), (os.getuid(), os.getgid()))

    def test_a_replaced_file_keeps_its_own(self):
        self.write("out", b"old")
        os.chown(self.path("out"), 1111, 2222)
        self.summary("encrypt", "-f", *KEY, "-o", "out", "d/f")
        self.assertEqual(self.owner("out"), (1111, 2222))

    def test_a_set_user_id_bit_never_comes_from_an_input(self):
        self.summary("encrypt", *KEY, "-o", "m.paes", "d/f")
        os.chown(self.path("m.paes"), 12345, 23456)
        self.path("m.paes").chmod(0o6755)
        self.summary("decrypt", *KEY, "m.paes")
        status = self.path("m").stat()
        self.assertEqual((status.st_uid, stat.S_IMODE(status.st_mode)), (12345, 0o755))


class Attributes(FolderCase):
    LIST = "system.posix_acl_access"
    # Version 2; the owner rw, the user 12345 r, the group none, the mask r, others none (acl(5)).
    GRANTS = bytes.fromhex("02000000" "01000600ffffffff" "0200040039300000" "04000000ffffffff"
                           "10000400ffffffff" "20000000ffffffff")

    def setUp(self):
        super().setUp()
        self.make({"d/f": b"1", "big": pattern(5 << 20)})
        if POSIX_ONLY:
            self.fails(1, "encrypt", "--xattrs", *KEY, "d/f", says="of Linux alone")
            self.skipTest("only Linux has these attributes")
        try:
            os.setxattr(self.path("d/f"), "user.origin", b"https://example.org")
            os.setxattr(self.path("d/f"), "user.empty", b"")
            os.setxattr(self.path("d/f"), self.LIST, self.GRANTS)
            os.setxattr(self.path("big"), "user.origin", b"elsewhere")
        except OSError as error:
            self.skipTest(f"this file system has no attributes: {error}")

    def attributes(self, name):
        path = self.path(name)
        return {key: os.getxattr(path, key) for key in os.listxattr(path)
                if key.startswith("user.") or key == self.LIST}

    def test_each_verb_keeps_them_on_demand(self):
        wanted = self.attributes("d/f")
        self.assertEqual(len(wanted), 3)
        self.summary("encrypt", "-r", "--xattrs", *KEY, "-o", "e", "d")
        self.write("new", KEYS[128])
        self.summary("rekey", "--xattrs", *KEY, "--to-key-file", "new", "e/d/f.paes")
        self.assertEqual(self.attributes("e/d/f.paes"), wanted)
        self.summary("decrypt", "-r", "--xattrs", "--key-file", "new", "-o", "b", "e/d")
        self.assertEqual(self.attributes("b/d/f"), wanted)
        self.summary("encrypt", "--xattrs", *KEY, "big")
        self.assertEqual(self.attributes("big.paes"), {"user.origin": b"elsewhere"})
        # A file that its owner cannot write gets them as well.
        self.path("d/f").chmod(0o400)
        self.summary("encrypt", "--xattrs", *KEY, "-o", "readonly", "d/f")
        self.assertEqual(self.attributes("readonly")["user.origin"], b"https://example.org")

    def test_without_the_flag_v_names_what_is_left(self):
        text = self.summary("encrypt", "-v", *KEY, "-o", "m", "d/f")
        line, = [line for line in text.splitlines() if "not kept" in line]
        for name in ("m: ", "user.origin", "user.empty", self.LIST, "--xattrs"):
            self.assertIn(name, line)
        self.assertEqual(self.attributes("m"), {})
        self.assertNotIn("not kept", self.summary("encrypt", "-f", *KEY, "-o", "m", "d/f"))

    def test_folders_have_them_too(self):
        later = "system.posix_acl_default"
        self.write("d/f2", b"2")
        os.setxattr(self.path("d"), "user.origin", b"a shop")
        os.setxattr(self.path("d"), self.LIST, self.GRANTS)
        os.setxattr(self.path("d"), later, self.GRANTS)
        self.path("d").chmod(0o540)  # without the right to write, which user.* need
        wanted = {name: os.getxattr(self.path("d"), name) for name in ("user.origin", self.LIST, later)}
        self.write("list", b"d/f\nd/./f2\n")
        for top, inputs in (("e", ["-r", "d"]), ("listed", ["--files-from", "list"])):
            text = self.summary("encrypt", "-v", "--xattrs", *KEY, "-o", top, *inputs)
            self.assertNotIn("not kept", text)
            self.summary("decrypt", "-r", "--xattrs", *KEY, "-o", f"{top}-back", f"{top}/.")
            for folder in (f"{top}/d", f"{top}-back/d"):
                self.assertEqual({name: os.getxattr(self.path(folder), name) for name in wanted}, wanted)
            # New files in the folder would get the default list; those of the run do not.
            self.assertEqual(self.attributes(f"{top}-back/d/f2"), {})
        # An existing folder keeps its own, and -v names what a new one lacks.
        os.removexattr(self.path("e/d"), "user.origin")
        self.summary("encrypt", "-r", "-f", "--xattrs", *KEY, "-o", "e", "d")
        self.assertNotIn("user.origin", os.listxattr(self.path("e/d")))
        text = self.summary("encrypt", "-r", "-v", *KEY, "-o", "plain", "d")
        self.assertIn(f"plain/d: not kept: {self.LIST}, {later} and user.origin (--xattrs", text)

    def test_a_folder_that_mirrors_two_has_those_of_none(self):
        self.make({"x/d/g": b"1"})
        os.setxattr(self.path("d"), "user.origin", b"one")
        text = self.summary("encrypt", "-r", "-v", "--xattrs", *KEY, "-o", "e", "d", "x/d")
        self.assertEqual(self.attributes("e/d"), {})
        self.assertIn("e/d: not kept: user.origin", text)

    def test_a_list_does_not_open_a_file_that_is_replaced(self):
        self.summary("encrypt", "--xattrs", *KEY, "-o", "m", "d/f")
        self.write("out", b"old", 0o600)
        text = self.summary("decrypt", "-v", "-f", "--xattrs", *KEY, "-o", "out", "m")
        self.assertIn(f"out: not kept: {self.LIST}", text)
        self.assertEqual(sorted(self.attributes("out")), ["user.empty", "user.origin"])
        self.assertEqual(self.path("out").stat().st_mode & 0o777, 0o600)


class Holes(FolderCase):
    MIB = 1 << 20

    def blocks(self, name):
        return self.path(name).stat().st_blocks * 512

    def setUp(self):
        super().setUp()
        with open(self.path("probe"), "wb") as file:
            file.truncate(self.MIB)
        if self.blocks("probe") != 0:
            self.skipTest("this file system has no holes")

    def sparse(self, name, size, parts):
        with open(self.path(name), "wb") as file:
            file.truncate(size)
            for at, data in parts:
                file.seek(at)
                file.write(data)

    def test_zeros_come_back_as_holes(self):
        """At the beginning, between, and at the end; of files that one and several threads decrypt."""
        some = pattern(5000)
        for size, parts in ((64 * self.MIB, [(20 * self.MIB + 77, some)]),
                            (9 * self.MIB + 5, [(0, b"a"), (9 * self.MIB + 4, b"b")]),
                            (300_000, [(100_000, some)]), (self.MIB, []), (5, []), (0, [])):
            self.sparse("f", size, parts)
            data = self.read("f")
            formats = [[], ["--format", "c2sp"]]
            formats.append(["--format", "raw", "--mode", "ctr", "--iv-hex", "00" * 16])
            for flags in formats:
                with self.subTest(size=size, flags=flags):
                    self.summary("encrypt", "-f", *KEY, *flags, "-o", "m", "f")
                    self.summary("decrypt", "-f", *KEY, *flags, "-o", "back", "m")
                    self.assertEqual(self.read("back"), data)
                    self.assertLessEqual(self.blocks("back"), 4 * 4096 + 4096 * len(parts))
                    self.summary("decrypt", "-f", "--sparse", "never", *KEY, *flags, "-o", "full", "m")
                    self.assertEqual(self.read("full"), data)
                    self.assertGreaterEqual(self.blocks("full"), size)

    def test_in_folders_and_with_salvage(self):
        self.make({"k2": KEYS[128]})
        self.sparse("d-f", 3 * self.MIB, [(self.MIB + 9, b"data")])
        self.path("d").mkdir()
        os.rename(self.path("d-f"), self.path("d/f"))
        data = self.read("d/f")
        self.summary("encrypt", "-r", *KEY, "-o", "e", "d")
        self.summary("decrypt", "-r", *KEY, "-o", "b", "e/d")
        self.assertEqual(self.read("b/d/f"), data)
        self.assertLess(self.blocks("b/d/f"), self.MIB)
        message = bytearray(self.read("e/d/f.paes"))
        message[-100] ^= 1
        self.write("bad.paes", bytes(message))
        self.run_paraes("decrypt", "--salvage", *KEY, "bad.paes")
        self.assertEqual(self.read("bad"), data)
        self.assertLess(self.blocks("bad"), self.MIB)
