"""Output names, refused outputs, and no incomplete output under a final name."""

import os
import stat
import struct
import subprocess
import unittest

from support import DEADLINE, IV, KEYS, POSIX_ONLY, Case, pattern

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex(), "--key-file", "k"]
CBC = ["--format", "raw", "--mode", "cbc", "--iv-hex", IV.hex(), "--key-file", "k"]


def let_owner_read(folder):
    """For users other than root, from whom the umask has hidden their own folders."""
    subprocess.run(["chmod", "-R", "u+rwX", folder], check=True)


class Output(Case):
    plain = pattern(5000)
    GIVEN = {"k": KEYS[256], "f": plain}

    def setUp(self):
        super().setUp()
        self.cipher = self.ok("encrypt", *CBC, "-c", "f")

    def only(self, *names):
        self.assertEqual(self.names(), sorted([*names, "k"]))

    def mode(self, name):
        return stat.S_IMODE(self.path(name).stat().st_mode)

    def test_default_names_add_and_strip_paes(self):
        self.ok("encrypt", *CBC, "f")
        self.assertEqual(self.read("f.paes"), self.cipher)
        self.assertEqual(self.read("f"), self.plain)  # without --rm
        self.path("f").unlink()
        self.ok("decrypt", *CBC, "f.paes")
        self.assertEqual(self.read("f"), self.plain)
        self.only("f", "f.paes")

    def test_default_output_is_in_the_folder_of_the_input(self):
        self.write("d.paes/g", self.plain)
        self.ok("encrypt", *CBC, "d.paes/g")
        self.assertEqual(self.read("d.paes/g.paes"), self.cipher)
        self.fails(2, "decrypt", *CBC, "d.paes/g", says=".paes")

    def test_decrypting_other_suffixes_needs_o_or_c(self):
        for name in ("g", ".paes", "g.PAES", "g.paes.x"):
            self.write(name, self.cipher)
            with self.subTest(name=name):
                self.fails(2, "decrypt", *CBC, name, says=[".paes", "-o", "-c"])
                self.assertEqual(self.ok("decrypt", *CBC, "-c", name), self.plain)
                self.ok("decrypt", *CBC, "-f", "-o", "out", name)
                self.assertEqual(self.read("out"), self.plain)

    def test_o_names_the_output(self):
        self.ok("encrypt", *CBC, "-o", "g", "f")
        self.assertEqual(self.read("g"), self.cipher)
        self.ok("encrypt", *CBC, "-o", "h", "-", stdin=self.plain)
        self.assertEqual(self.read("h"), self.cipher)
        self.assertEqual(self.ok("encrypt", *CBC, "-o", "-", "f"), self.cipher)
        self.only("f", "g", "h")

    def test_output_name_may_have_255_bytes(self):
        name = "n" * 255
        self.ok("encrypt", *CBC, "-o", name, "f")
        self.assertEqual(self.read(name), self.cipher)
        self.fails(1, "encrypt", *CBC, "-o", name + "n", "f", says="File name too long")

    def test_existing_output_is_refused_without_f(self):
        self.write("f.paes", b"old")
        self.fails(2, "encrypt", *CBC, "f", says=["f.paes", "exists", "-f"])
        self.assertEqual(self.read("f.paes"), b"old")
        self.ok("encrypt", *CBC, "-f", "f")
        self.assertEqual(self.read("f.paes"), self.cipher)
        self.only("f", "f.paes")

    def test_existing_output_is_refused_before_the_passphrase_is_read(self):
        self.write("g", b"old")
        # Reading the missing passphrase file first would give another error.
        self.fails(2, "encrypt", "--format", "openssl", "--passphrase-file", "nowhere", "-o", "g",
                   "f", says="exists")

    def test_input_file_as_output_is_refused(self):
        os.symlink("f", self.path("link"))
        os.link(self.path("f"), self.path("hard"))
        for name in ("f", "./f", "link", "hard", os.fspath(self.path("f"))):
            for force in ([], ["-f"]):
                with self.subTest(name=name, force=force):
                    self.fails(2, "encrypt", *CBC, *force, "-o", name, "f", says="input file")
        self.assertEqual(self.read("f"), self.plain)

    def test_redirected_input_file_as_output_is_refused(self):
        for script in ('"$@" - < f >> f', '"$@" -c f >> f', '"$@" -f -o f - < f'):
            self.assertIn(b"input file", self.shell(script, "encrypt", *CTR, status=2).stderr)
        self.assertEqual(self.read("f"), self.plain)

    def test_link_named_by_o_is_followed(self):
        self.write("d/real", b"old")
        for target in ("d/real", "d/nowhere"):
            os.symlink(target, self.path("link"))
            self.fails(2, "encrypt", *CBC, "-o", "link", "f", says="exists")
            self.ok("encrypt", *CBC, "-f", "-o", "link", "f")
            self.assertEqual(self.read("link"), self.cipher)
            self.assertEqual(self.path("link").is_symlink(), target == "d/real")
            self.path("link").unlink()
        self.assertEqual(self.read("d/real"), self.cipher)
        self.assertEqual(os.listdir(self.path("d")), ["real"])

    def test_folder_as_output_is_refused(self):
        self.path("d/f.paes").mkdir(parents=True)
        for force in ([], ["-f"]):
            for output in ("d", "d/f.paes/../"):
                self.fails(2, "encrypt", *CBC, *force, "-o", output, "f", says="folder")
        self.fails(1, "encrypt", *CBC, "-o", "no/such/g", "f", says=["no/such/g", "No such file"])
        self.fails(1, "encrypt", *CBC, "-o", "f/g", "f", says="f/g")

    def test_mode_and_time_of_the_input_are_kept(self):
        for mode in (0o600, 0o640, 0o444, 0o755):
            self.path("f").chmod(mode)
            os.utime(self.path("f"), ns=(1, 1234567890123456789))
            self.ok("encrypt", *CBC, "-f", "-o", "g.paes", "f")
            self.path("g").unlink(missing_ok=True)
            self.ok("decrypt", *CBC, "g.paes")
            for name in ("g.paes", "g"):
                status = self.path(name).stat()
                self.assertEqual(stat.S_IMODE(status.st_mode), mode)
                self.assertEqual(status.st_mtime_ns, 1234567890123456789)

    def test_decrypted_mode_is_limited_by_the_umask(self):
        for mode, mask, expected in ((0o644, 0o077, 0o600), (0o666, 0o027, 0o640),
                                     (0o600, 0o022, 0o600), (0o755, 0o022, 0o755)):
            with self.subTest(mode=oct(mode), umask=oct(mask)):
                self.path("f").chmod(mode)
                self.ok("encrypt", *CBC, "-f", "-o", "g.paes", "f")
                self.path("g").unlink(missing_ok=True)
                self.ok("decrypt", *CBC, "g.paes", umask=mask)
                self.assertEqual(self.mode("g"), expected)
                # Ciphertext is no secret: encryption keeps the mode.
                self.ok("encrypt", *CBC, "-f", "-o", "h.paes", "f", umask=mask)
                self.assertEqual(self.mode("h.paes"), mode)

    def test_decrypting_does_not_widen_the_mode_of_a_replaced_file(self):
        self.write("g.paes", self.cipher)
        self.path("g.paes").chmod(0o666)
        for mode, expected in ((0o600, 0o600), (0o640, 0o640), (0o660, 0o640), (0o777, 0o644)):
            with self.subTest(mode=oct(mode)):
                self.write("g", b"old", mode)
                for args in (["g.paes"], ["-o", "g", "-"]):
                    self.ok("decrypt", *CBC, "-f", *args, stdin=self.cipher, umask=0o022)
                    self.assertEqual(self.mode("g"), expected)
                self.path("g").unlink()

    @unittest.skipIf(POSIX_ONLY, "POSIX has no access control lists")
    def test_access_control_lists_do_not_widen_a_mode(self):
        def access(*entries):
            """The kernel's encoding of a list; each entry is a tag, permissions and an ID."""
            return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)

        # The owner and user 1000 may read and write, the group nothing; stat shows 0660.
        closed = access((1, 6, 0xffffffff), (2, 6, 1000), (4, 0, 0xffffffff), (16, 6, 0xffffffff),
                        (32, 0, 0xffffffff))
        self.write("g.paes", self.cipher)
        for name in ("g", "g.paes"):
            self.write("g", b"old", 0o660)
            self.path("g.paes").chmod(0o664)
            try:
                os.setxattr(self.path(name), "system.posix_acl_access", closed)
            except OSError as error:
                self.skipTest(f"the file system has no access control lists: {error}")
            self.assertEqual(self.mode(name), 0o660)
            self.ok("decrypt", *CBC, "-f", "g.paes", umask=0o002)
            self.assertEqual(self.mode("g"), 0o600)
            self.path("g").unlink()

    def test_trees_round_trip_under_a_umask_that_masks_the_owner(self):
        self.write("t/s/a", self.plain)
        for mask in (0o177, 0o777):
            self.ok("encrypt", "-r", "-q", "--key-file", "k", "-o", f"e{mask}", "t", umask=mask)
            let_owner_read(self.path(f"e{mask}"))
            self.ok("decrypt", "-r", "-q", "--key-file", "k", "-o", f"d{mask}", f"e{mask}/t",
                    umask=mask)
            let_owner_read(self.path(f"d{mask}"))
            self.assertEqual(stat.S_IMODE(self.path(f"d{mask}/t/s/a").stat().st_mode) & 0o077, 0)
            self.assertEqual(self.read(f"d{mask}/t/s/a"), self.plain)

    def test_owner_of_a_replaced_file_is_kept(self):
        if os.getuid() != 0:
            self.skipTest("only root can give files away")
        for verb, name in (("encrypt", "f"), ("decrypt", "g.paes")):
            self.write("g.paes", self.cipher)
            self.path(name).chmod(0o640)
            self.write("old", b"old", 0o640)
            os.chown(self.path("old"), 4321, 1234)
            self.ok(verb, *CBC, "-f", "-o", "old", name)
            status = self.path("old").stat()
            self.assertEqual((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)),
                             (4321, 1234, 0o640))
            self.path("old").unlink()

    def test_replaced_file_is_private_if_its_owner_cannot_be_kept(self):
        self.dir.chmod(0o777)
        self.write("old", b"old")
        for name in ("k", "f", "old"):
            self.path(name).chmod(0o666)
        self.ok("encrypt", *CBC, "-f", "-o", "old", "f", **self.as_another_user())
        status = self.path("old").stat()
        self.assertEqual((status.st_uid, stat.S_IMODE(status.st_mode)), (65534, 0o600))
        self.assertEqual(self.read("old"), self.cipher)

    def test_umask_sets_the_mode_of_output_from_a_pipe(self):
        self.ok("encrypt", *CBC, "-o", "g", "-", stdin=b"x", umask=0o027)
        self.assertEqual(self.mode("g"), 0o640)

    def test_temporary_file_has_mode_0600(self):
        self.path("f").chmod(0o644)
        process = self.start("encrypt", *CTR, "-o", "g", "-", stdin=subprocess.PIPE)
        self.wait_for(lambda: self.temporaries(process), "a temporary")
        self.assertEqual(stat.S_IMODE(self.temporaries(process)[0].stat().st_mode), 0o600)
        self.assertFalse(self.path("g").exists())
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE), 0)
        self.only("f", "g")

    def test_existing_output_survives_a_failed_run_with_f(self):
        self.write("g", b"precious")
        self.write("bad.paes", self.cipher[:-16] + bytes(16))
        for args, status in ((["decrypt", *CBC, "bad.paes"], 4),
                             (["decrypt", *CBC, "-"], 4),
                             (["encrypt", *CBC, "--nopad", "-"], 2)):
            self.fails(status, args[0], "-f", "-o", "g", *args[1:], stdin=pattern(4097))
            self.assertEqual(self.read("g"), b"precious")
            self.only("bad.paes", "f", "g")

    def test_devices_and_pipes_are_written_in_place(self):
        os.mkfifo(self.path("pipe"))
        os.symlink("pipe", self.path("link"))
        for flags in ([], ["-f"]):
            self.ok("encrypt", *CBC, *flags, "-o", "/dev/null", "f")
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
            for name in ("pipe", "link"):
                process = self.start("encrypt", *CBC, *flags, "-o", name, "f")
                self.assertEqual(self.read(name), self.cipher)
                self.assertEqual(process.wait(DEADLINE), 0)
        self.only("f", "link", "pipe")

    def test_named_pipe_is_read_as_input(self):
        os.mkfifo(self.path("pipe"))
        process = self.start("encrypt", *CBC, "-c", "pipe", stdout=subprocess.PIPE)
        self.write("pipe", self.plain)
        self.assertEqual(process.stdout.read(), self.cipher)
        self.assertEqual(process.wait(DEADLINE), 0)

    def test_standard_input_is_read_from_its_current_position(self):
        self.write("g", b"skipped\n" + self.plain)
        done = self.shell('{ read -r first; "$@" -; } < g', "encrypt", *CBC)
        self.assertEqual(done.stdout, self.cipher)

    def test_writing_to_dev_full_is_an_error(self):
        # tests/faults has other verbs, and disks that are full.
        for verb in (["encrypt", *CBC, "-c", "f"], ["devices"], ["--help"], ["--version"]):
            with open("/dev/full", "wb") as full:
                self.fails(1, *verb, stdout=full,
                           says="standard output: cannot write it: No space left")

    def test_closed_standard_output_is_an_error(self):
        self.shell('"$@" >&-', "encrypt", *CBC, "-c", "f", status=1)

    def test_messages_stay_out_of_the_output_if_stderr_is_closed(self):
        # With standard error closed, the output file must not become descriptor 2.
        self.shell('"$@" 2>&-', "encrypt", *CBC, "-v", "f")
        self.assertEqual(self.read("f.paes"), self.cipher)

    def test_unwritable_output_folder_is_an_error(self):
        if os.getuid() == 0:
            self.skipTest("root can write to every folder")
        self.path("d").mkdir(mode=0o500)
        self.fails(1, "encrypt", *CBC, "-o", "d/g", "f", says="Permission denied")
