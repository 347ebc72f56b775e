"""rekey: files for other keys, passphrases and recipients, in place."""

import fcntl
import json
import os
import pathlib
import shutil
import stat
import struct
import subprocess
import unittest

from recipients import HEADER, PREFACE, RecipientsCase, joined, split, wrap_bytes
from support import (
    BIN,
    DEADLINE,
    KEYS,
    POSIX_ONLY,
    Terminal,
    environment,
    file_reports,
    flipped,
    pattern,
)

CHEAP = ["--scrypt-log2n", "2"]


class RekeyCase(RecipientsCase):
    GIVEN = {"k": KEYS[256], "k16": KEYS[128], "pw": b"pw\n", "pw2": b"pw2\n"}
    mine = ["-i", "me.txt"]
    yours = ["-i", "you.txt"]

    def setUp(self):
        super().setUp()
        # By kind: the flags to encrypt, to read, and to rekey to it.
        self.kinds = {
            "key": (["-k", "k"], ["-k", "k"], ["--to-key-file", "k"]),
            "short key": (["-k", "k16"], ["-k", "k16"], ["--to-key-file", "k16"]),
            "passphrase": (["--passphrase-file", "pw", *CHEAP], ["--passphrase-file", "pw"],
                           ["--to-passphrase-file", "pw", *CHEAP]),
            "new passphrase": (["--passphrase-file", "pw2", *CHEAP], ["--passphrase-file", "pw2"],
                               ["--to-passphrase-file", "pw2", *CHEAP]),
            "me": (["--recipient", self.me], self.mine, ["--to-recipient", self.me]),
            "you": (["--recipient", self.you], self.yours, ["--to-recipient", self.you]),
        }
        self.to_you = ["--to-recipient", self.you]

    def make(self, name, data, flags):
        self.write("plain", data)
        self.ok("encrypt", "-f", *flags, "-o", name, "plain")
        return self.read(name)

    def make_mine(self, data=b"data", name="f.paes"):
        return self.make(name, data, ["--recipient", self.me])

    def rekey(self, *flags, status=0, **kwargs):
        """Rekeys f.paes from me to you."""
        return self.exits(status, "rekey", *self.mine, *self.to_you, *flags, "f.paes", **kwargs)

    def refuses(self, status, says, *flags, **kwargs):
        """Expects that f.paes is not rekeyed from me to you, and that nothing is left over."""
        self.fails(status, "rekey", *self.mine, *self.to_you, *flags, "f.paes", says=says, **kwargs)
        self.assertEqual(self.left_over(), [])

    def check_opens(self, name, data, flags):
        self.assertTrue(self.ok("decrypt", *flags, "-c", name) == data, name)


class Kinds(RekeyCase):
    def test_from_every_kind_to_every_other(self):
        data = pattern(100_000)
        for old, (seal, read, _) in self.kinds.items():
            for new, (_, read_new, to) in self.kinds.items():
                with self.subTest(old=old, new=new):
                    before = self.make("f.paes", data, seal)
                    self.ok("rekey", "-q", *read, *to, "f.paes")
                    self.check_opens("f.paes", data, read_new)
                    self.assertNotEqual(self.read("f.paes"), before)
                    if old != new:
                        self.assertIn(self.run_paraes("verify", *read, "f.paes").returncode, (2, 5))
        self.assertEqual(self.left_over(), [])

    def test_passphrases_are_asked_for_on_the_terminal(self):
        self.make("f.paes", b"data", ["--passphrase-file", "pw", *CHEAP])
        terminal = Terminal(self, "rekey", "--to-passphrase", *CHEAP, "f.paes")
        terminal.answer(b"Passphrase: ", b"pw\n")
        terminal.answer(b"New passphrase: ", b"pw2\n")
        terminal.answer(b"The same again: ", b"pw2\n")
        terminal.ends()
        self.check_opens("f.paes", b"data", ["--passphrase-file", "pw2"])

    def test_new_keys_from_each_source(self):
        environ = {"WORD": "pw2"}
        for to, read in ((["--to-key-command", "cat k16"], ["-k", "k16"]),
                         (["--to-key-hex", KEYS[128].hex()], ["-k", "k16"]),
                         (["--to-key-file", "-"], ["-k", "k16"]),
                         (["--to-passphrase-env", "WORD", *CHEAP], ["--passphrase-file", "pw2"]),
                         (["--to-passphrase-command", "cat pw2", *CHEAP],
                          ["--passphrase-file", "pw2"]),
                         (["--to-passphrase-fd", "0", *CHEAP], ["--passphrase-file", "pw"])):
            with self.subTest(to=to):
                self.make("f.paes", b"data", ["-k", "k"])
                stdin = b"pw\n" if "--to-passphrase-fd" in to else KEYS[128]
                self.ok("rekey", "-q", "-k", "k", *to, "f.paes", stdin=stdin, env=environ)
                self.check_opens("f.paes", b"data", read)

    def test_key_bits(self):
        self.make_mine()
        self.refuses(2, "--key-bits 128 needs --new-key", "--key-bits", "128")
        self.ok("rekey", "-q", *self.mine, "--to-recipient", self.me, "--key-bits", "256", "f.paes")
        self.rekey("-q", "--key-bits", "128", "--new-key")
        self.assertEqual(self.read("f.paes")[10], 1)
        self.ok("rekey", "-q", *self.yours, "--to-passphrase-file", "pw", *CHEAP, "f.paes")
        self.assertEqual(self.read("f.paes")[9:11], bytes([1, 2]))
        self.check_opens("f.paes", b"data", ["--passphrase-file", "pw"])

    def test_context_stays(self):
        context = ["--context-hex", "c0ffee"]
        for flags in ([], ["--new-key"]):
            before = self.make("f.paes", b"data", ["--recipient", self.me, *context])
            self.refuses(5, "context", *flags)
            self.assertEqual(self.read("f.paes"), before)
            self.rekey("-q", *context, *flags)
            self.check_opens("f.paes", b"data", [*self.yours, *context])


class Header(RekeyCase):
    """From recipients to recipients, only the header changes."""

    def setUp(self):
        super().setUp()
        self.data = pattern(200_000)
        self.old = self.make_mine(self.data)

    def test_the_message_stays_and_the_wrap_is_new(self):
        for flags in ([], ["--verify"]):
            self.write("f.paes", self.old)
            self.rekey("-q", *flags)
            old, new = split(self.old), split(self.read("f.paes"))
            self.assertEqual(old[3], new[3])
            self.assertNotEqual(old[1], new[1])
            self.assertNotEqual(old[2], new[2])
            self.check_opens("f.paes", self.data, self.yours)
            self.fails(5, "verify", *self.mine, "f.paes", says="age refuses")
            self.assertEqual(self.input_key(self.read("f.paes"), "you.txt"),
                             self.input_key(self.old))

    def test_wrap_of_another_length(self):
        many = [flag for i in range(30)
                for flag in ("--to-recipient", self.new_identity(f"id{i}"))]
        self.ok("rekey", "-q", *self.mine, *many, *self.to_you, "f.paes")
        self.assertGreater(wrap_bytes(self.read("f.paes")), 3000)
        self.check_opens("f.paes", self.data, self.yours)
        self.ok("rekey", "-q", "-i", "you.txt", "--to-recipient", self.me, "f.paes")
        self.assertEqual(len(self.read("f.paes")), len(self.old))
        self.check_opens("f.paes", self.data, self.mine)

    def test_new_key_encrypts_the_data_again(self):
        self.rekey("--new-key", "-q")
        old, new = split(self.old), split(self.read("f.paes"))
        self.assertEqual(len(old[3]), len(new[3]))
        same = sum(a == b for a, b in zip(old[3], new[3], strict=True))
        self.assertLess(same, len(old[3]) / 50)
        self.check_opens("f.paes", self.data, self.yours)
        self.assertNotEqual(self.input_key(self.read("f.paes"), "you.txt"),
                            self.input_key(self.old))

    def test_it_says_that_keys_stay(self):
        self.assertIn(b"--new-key encrypts it again", self.rekey().stderr)
        for flags in (["-q"], ["--new-key"]):
            self.write("f.paes", self.old)
            self.assertNotIn(b"--new-key", self.rekey(*flags).stderr)

    def test_it_says_that_the_origin_is_unknown(self):
        done = self.run_paraes("rekey", *self.mine, "--to-key-file", "k", "f.paes")
        self.assertIn(b"unknown origin", done.stderr)
        done = self.run_paraes("rekey", "-k", "k", "--to-key-file", "k16", "f.paes")
        self.assertEqual(done.stderr, b"")

    def test_damaged_data_is_found_by_verify_and_new_key_alone(self):
        damaged = flipped(self.old, len(self.old) - 20_000)
        self.write("f.paes", damaged)
        for flags in ([*self.to_you, "--verify"], [*self.to_you, "--new-key"],
                      ["--to-key-file", "k"]):
            self.fails(4, "rekey", *self.mine, *flags, "f.paes", says="does not authenticate")
            self.assertEqual(self.read("f.paes"), damaged)
            self.assertEqual(self.left_over(), [])
        self.rekey("-q")
        self.fails(4, "verify", *self.yours, "f.paes", says="does not authenticate")

    def test_wrong_slot_commitment_or_length_leaves_the_file(self):
        end = PREFACE + wrap_bytes(self.old)
        cases = {"slot": (flipped(self.old, end - 90), 5), "sealed key": (flipped(self.old, end - 5), 4),
                 "commitment": (flipped(self.old, end + 30), 5), "salt": (flipped(self.old, end), 5),
                 "preface": (flipped(self.old, 20), 4), "age file": (flipped(self.old, 60), 5),
                 "header alone": (self.old[:end + HEADER], 4),
                 "ends with a full segment": (self.old[:end + HEADER + 16400], 4),
                 "ends in a tag": (self.old[:end + HEADER + 16405], 4),
                 "ends in the wrap": (self.old[:100], 4), "empty": (b"", 4),
                 "another format": (b"Salted__" + bytes(100), 2)}
        for name, (message, status) in cases.items():
            with self.subTest(case=name):
                self.write("f.paes", message)
                before = self.path("f.paes").stat()
                self.rekey("-q", status=status)
                self.assertEqual(self.read("f.paes"), message)
                after = self.path("f.paes").stat()
                self.assertEqual((before.st_ino, before.st_mtime_ns),
                                 (after.st_ino, after.st_mtime_ns))
                self.assertEqual(self.left_over(), [])

    def test_wrong_identity_or_bad_new_recipient_leaves_the_file(self):
        for status, reader, to in ((5, self.yours, self.you), (2, self.mine, "age1x")):
            self.fails(status, "rekey", *reader, "--to-recipient", to, "f.paes", says="age refuses")
            self.assertEqual(self.read("f.paes"), self.old)
            self.assertEqual(self.left_over(), [])

    def test_new_recipient_of_one_file_opens_no_other_of_the_run(self):
        for name in ("a", "b"):
            self.write(name, name.encode() * 5000)
        self.ok("encrypt", "-q", "--recipient", self.me, "a", "b")
        self.ok("rekey", "-q", *self.mine, *self.to_you, "a.paes")
        self.check_opens("a.paes", b"a" * 5000, self.yours)
        a, b = split(self.read("a.paes")), split(self.read("b.paes"))
        yours = self.age("-d", "-i", "you.txt", stdin=a[1])
        mine = self.age("-d", "-i", "me.txt", stdin=b[1])
        self.assertNotEqual(yours, mine)
        # Neither the new wrap, nor its age file or slot, opens the other file.
        for name, message in {"whole wrap": joined(b[0], a[1], a[2], b[3]),
                              "age file": joined(b[0], a[1], b[2], b[3]),
                              "slot": joined(b[0], b[1], a[2], b[3])}.items():
            self.write("m", message)
            for identity in ("you.txt", "me.txt"):
                with self.subTest(part=name, identity=identity):
                    self.fails(5, "verify", "-i", identity, "m")
        self.check_opens("b.paes", b"b" * 5000, self.mine)

    def test_age_runs_twice_for_the_files_of_a_run(self):
        names = [self.write(f"f{i}", b"x" * i) for i in range(12)]
        self.ok("encrypt", "-q", "--recipient", self.me, *names)
        sealed = [f"{name}.paes" for name in names]
        self.ok("rekey", "-q", *self.mine, *self.to_you, *sealed, env=self.counting())
        self.assertEqual(len(self.calls()), 2)
        slots = {split(self.read(name))[2] for name in sealed}
        self.assertEqual(len(slots), 12)


class Files(RekeyCase):
    def test_mode_owner_and_time_stay(self):
        for to in (self.to_you, [*self.to_you, "--new-key"], ["--to-key-file", "k"]):
            self.make_mine()
            self.path("f.paes").chmod(0o640)
            if os.geteuid() == 0:
                os.chown(self.path("f.paes"), 1234, 2345)
            os.utime(self.path("f.paes"), ns=(0, 1_234_567_890_123_456_789))
            before = self.path("f.paes").stat()
            self.ok("rekey", "-q", *self.mine, *to, "f.paes")
            after = self.path("f.paes").stat()
            for field in ("st_mode", "st_uid", "st_gid", "st_mtime_ns"):
                self.assertEqual(getattr(before, field), getattr(after, field), field)
            self.assertNotEqual(before.st_ino, after.st_ino)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_owner_that_cannot_be_kept_is_an_error(self):
        self.dir.chmod(0o777)
        old = self.make_mine(pattern(1000))
        for name in ("f.paes", "me.txt"):
            self.path(name).chmod(0o666)
        done = subprocess.run(
            ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", BIN, "rekey", "-q",
             *self.mine, *self.to_you, "f.paes"], cwd=self.dir,
            # The link to it in PATH may be in a folder of root's alone, as where root has cloned paraes.
            env=environment(PARAES_AGE=os.path.realpath(shutil.which("age"))),
            capture_output=True, timeout=DEADLINE)
        if b"Permission denied" in done.stderr and done.returncode == 127:
            self.skipTest("another user cannot run this executable")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"f.paes: cannot keep its owner and group", done.stderr)
        self.assertEqual(self.read("f.paes"), old)
        self.assertEqual(self.left_over(), [])

    def test_folder(self):
        os.makedirs(self.path("t/sub"))
        for name in ("t/a", "t/sub/b", "t/other"):
            self.write(name, name.encode())
        self.ok("encrypt", "-q", "--recipient", self.me, "t/a", "t/sub/b")
        self.write("t/bad.paes", b"PARAES\r\nnonsense")
        done = self.exits(3, "rekey", "-r", "--json", *self.mine, *self.to_you, "t")
        rows = file_reports(done.stdout)
        self.assertEqual({name: row["exit"] for name, row in rows.items()},
                         {"t/a.paes": 0, "t/sub/b.paes": 0, "t/bad.paes": 4})
        self.assertEqual(rows["t/a.paes"]["rekeyed"], "header")
        self.assertNotIn("rekeyed", rows["t/bad.paes"])
        self.assertEqual(rows["t/a.paes"]["output"], "t/a.paes")
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["files"], 2)
        self.assertIn(b"2 files rekeyed", done.stderr)
        self.assertEqual(self.read("t/other"), b"t/other")
        for name in ("t/a", "t/sub/b"):
            self.check_opens(name + ".paes", name.encode(), self.yours)
        self.ok("rekey", "-q", "-r", "--exclude", "bad.paes", "-i", "you.txt", "--to-key-file", "k",
                "t")
        self.check_opens("t/a.paes", b"t/a", ["-k", "k"])

    def test_json_of_a_file(self):
        self.make_mine(pattern(50_000))
        row = json.loads(self.rekey("-q", "--json").stdout)
        self.assertEqual([row[name] for name in ("input", "output", "bytes", "status", "exit",
                                                 "rekeyed", "kernel")],
                         ["f.paes", "f.paes", 50_000, "ok", 0, "header", None])
        row = self.report("rekey", "-q", *self.yours, "--to-key-file", "k", "--kernel", "bitslice",
                          "f.paes")
        self.assertEqual([row["rekeyed"], row["kernel"]], ["data", "bitslice"])

    def test_symbolic_link_is_followed(self):
        self.make_mine()
        self.path("t").mkdir()
        os.symlink("../f.paes", self.path("t/link.paes"))
        self.ok("rekey", "-q", *self.mine, *self.to_you, "t/link.paes")
        self.assertTrue(self.path("t/link.paes").is_symlink())
        self.check_opens("f.paes", b"data", self.yours)
        self.assertEqual(sorted(os.listdir(self.path("t"))), ["link.paes"])

    def test_hard_link_is_named(self):
        old = self.make_mine()
        os.link(self.path("f.paes"), self.path("g.paes"))
        self.assertIn(b"note: f.paes: the file had 2 names", self.rekey().stderr)
        self.assertEqual(self.read("g.paes"), old)
        self.check_opens("f.paes", b"data", self.yours)

    def test_same_file_by_several_names(self):
        for threads in ("1", "2", "8"):
            old = self.make_mine()
            for name in ("link.paes", "hard.paes"):
                self.path(name).unlink(missing_ok=True)
            os.symlink("f.paes", self.path("link.paes"))
            os.link(self.path("f.paes"), self.path("hard.paes"))
            done = self.exits(0, "rekey", "-q", "--json", "-T", threads, *self.mine, *self.to_you,
                              "f.paes", "./f.paes", "link.paes", "hard.paes")
            rows = {row["input"]: row["status"] for row in map(json.loads, done.stdout.splitlines())
                    if "input" in row}
            self.assertEqual(rows, {"f.paes": "ok", "./f.paes": "skipped", "link.paes": "skipped",
                                    "hard.paes": "ok"})
            for name in ("f.paes", "hard.paes"):
                self.check_opens(name, b"data", self.yours)
                self.assertNotEqual(self.read(name), old)

    def test_only_names_that_still_lead_to_the_old_file_are_noted(self):
        for names, left in ((["hard.paes"], 0), (["hard.paes", "more.paes", "./f.paes"], 0),
                            (["./f.paes"], 1), (["link.paes", "hard.paes", "./hard.paes"], 1)):
            with self.subTest(names=names):
                self.make_mine()
                for name in ("link.paes", "hard.paes", "more.paes"):
                    self.path(name).unlink(missing_ok=True)
                os.symlink("f.paes", self.path("link.paes"))
                os.link(self.path("f.paes"), self.path("hard.paes"))
                if "more.paes" in names or ("hard.paes" in names and left):
                    os.link(self.path("f.paes"), self.path("more.paes"))
                links = self.path("f.paes").stat().st_nlink
                text = self.exits(0, "rekey", *self.mine, *self.to_you, "f.paes", *names).stderr.decode()
                note = f"the file had {links} names (hard links), of which 1 still leads to the old file"
                self.assertEqual(note in text, left == 1, text)
                self.assertEqual("hard links" in text, left == 1, text)

    def test_file_that_changes_meanwhile_stays_as_it_is(self):
        self.write("other", b"of another program")
        for change, says in (("cp other new; mv new f.paes", "f.paes: it was replaced while"),
                             ("rm f.paes", "removed"), ("echo more >> f.paes", "grew"),
                             ("chmod 600 f.paes", "changed while")):
            with self.subTest(change=change):
                old = self.make_mine()
                self.path("f.paes").chmod(0o644)
                # The second call is that for the new recipients, when the old header is open.
                env = self.program(f'case "$1" in -r) {change};; esac\nexec age "$@"\n')
                self.refuses(1, says, "-q", env=env)
                if says == "removed":
                    self.assertNotIn("f.paes", self.names())
                    continue
                expected = {"grew": old + b"more\n", "changed while": old}
                self.assertEqual(self.read("f.paes"), expected.get(says, b"of another program"))
                mode = self.path("f.paes").stat().st_mode & 0o777
                self.assertEqual(mode, 0o600 if says == "changed while" else 0o644)

    @unittest.skipIf(POSIX_ONLY, "POSIX has no calls for access control lists")
    def test_access_lists_of_the_folder_are_not_taken(self):
        # Named user 65534 may read and write new files of this folder.
        self.path("t").mkdir()
        undefined = 0xffffffff
        entries = [(1, 7, undefined), (2, 7, 65534), (4, 0, undefined), (16, 7, undefined),
                   (32, 0, undefined)]
        self.write("t/f.paes", self.make_mine(), 0o640)
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
        try:
            os.setxattr(self.path("t"), "system.posix_acl_default", acl)
        except OSError as error:
            self.skipTest(f"no access control lists here: {error}")
        self.ok("rekey", "-q", *self.mine, *self.to_you, "t/f.paes")
        self.assertNotIn("system.posix_acl_access", os.listxattr(self.path("t/f.paes")))
        self.assertEqual(self.path("t/f.paes").stat().st_mode & 0o777, 0o640)
        # The list is not kept when decrypting over a file that kept that user out, either.
        self.write("t/plain", b"old")
        os.removexattr(self.path("t/plain"), "system.posix_acl_access")
        self.path("t/plain").chmod(0o640)
        self.ok("decrypt", "-f", "-i", "you.txt", "-o", "t/plain", "t/f.paes")
        self.assertNotIn("system.posix_acl_access", os.listxattr(self.path("t/plain")))
        self.assertEqual(self.path("t/plain").stat().st_mode & 0o777, 0o640)

    def test_file_that_another_process_has_locked(self):
        self.make_mine()
        with open(self.path("f.paes"), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.refuses(1, "it is locked")
        self.rekey("-q")

    def test_folder_that_is_read_only(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.path("t").mkdir()
        old = self.make_mine(name="t/f.paes")
        self.path("t").chmod(0o500)
        self.fails(1, "rekey", *self.mine, *self.to_you, "t/f.paes", says="t/f.paes")
        self.path("t").chmod(0o700)
        self.assertEqual(self.read("t/f.paes"), old)

    def test_what_is_no_regular_file_is_refused(self):
        os.mkfifo(self.path("pipe.paes"))
        # Nobody writes to it, and nobody waits for that.
        self.fails(2, "rekey", *self.mine, *self.to_you, "pipe.paes", says="not a regular file")
        self.assertTrue(stat.S_ISFIFO(self.path("pipe.paes").stat().st_mode))


class Usage(RekeyCase):
    def test_usage(self):
        self.make_mine()
        for args, says in (
                ([*self.mine, "f.paes"], "rekey needs new keys"),
                ([*self.mine, *self.to_you], "needs a FILE"),
                ([*self.mine, *self.to_you, "-"], "needs a FILE"),
                ([*self.mine, *self.to_you, "-", "f.paes"], "needs a FILE"),
                ([*self.mine, *self.to_you, "--to-key-file", "k", "f.paes"], "give one of the two"),
                ([*self.mine, "-k", "k", *self.to_you, "f.paes"], "give one of the two"),
                (["-k", "-", "--to-key-file", "-", "f.paes"], "both need standard input"),
                ([*self.mine, *self.to_you, "-o", "x", "f.paes"], "rekey has no flag '-o'"),
                ([*self.mine, "--recipient", self.you, "f.paes"], "did you mean '--to-recipient'?"),
                ([*self.mine, *self.to_you, "--format", "tink", "f.paes"], "has no flag"),
                ([*self.mine, "--to-recipients-file", "-", "f.paes"], "cannot be standard input"),
                ([*self.mine, *self.to_you, "--scrypt-log2n", "3", "f.paes"],
                 "passphrases, not with recipients"),
                (["-k", "k", *self.to_you, "f.paes"], "encrypted to recipients"),
                ([*self.mine, "--to-key-encoding", "hex", *self.to_you, "f.paes"],
                 "--to-key-encoding goes with --to-key-file")):
            with self.subTest(args=args):
                self.fails(2, "rekey", *args, says=says)
        self.check_opens("f.paes", b"data", self.mine)

    def test_standard_input_is_not_waited_for(self):
        # As in a script, whose standard input nobody writes to.
        process = self.start("rekey", *self.mine, *self.to_you, stdin=subprocess.PIPE)
        self.assertEqual(process.wait(DEADLINE), 2)

    def test_new_secrets_are_no_inputs(self):
        self.make_mine()
        self.write("k.paes", KEYS[256])
        self.write("pw.paes", b"word\n", 0o600)
        for to in (["--to-key-file", "k.paes"], ["--to-passphrase-file", "pw.paes"]):
            self.fails(2, "rekey", *self.mine, *to, to[1], says=f"is the file of {to[0]}")
            self.fails(2, "rekey", "-r", *self.mine, *to, ".", says=f"is the file of {to[0]}")
        self.assertEqual(self.read("k.paes"), KEYS[256])

    def test_interrupted_run_leaves_the_old_file(self):
        old = self.make_mine(pattern(20_000_000))
        process = self.start("rekey", "-q", "--kernel", "reference", "-T", "1", "--new-key",
                             *self.mine, *self.to_you, "f.paes")
        self.wait_for(lambda: self.temporaries(process) and
                      self.temporaries(process)[0].stat().st_size > 0, "output")
        process.terminate()
        self.assertEqual(process.wait(DEADLINE), 143)
        self.assertTrue(self.read("f.paes") == old)
        self.assertEqual(self.left_over(), [])

    def test_secrets_of_the_command_line_are_overwritten(self):
        self.make("f.paes", b"data", ["-k", "k"])
        digits = KEYS[128].hex()
        process = self.start("rekey", "-q", "-k", "-", "--to-key-hex", digits, "f.paes",
                             stdin=subprocess.PIPE)
        words = pathlib.Path(f"/proc/{process.pid}/cmdline")
        self.wait_for(lambda: b"x" * 32 in words.read_bytes(), "the x's")
        self.assertNotIn(digits.encode(), words.read_bytes())
        process.stdin.write(KEYS[256])
        process.stdin.close()
        self.assertEqual(process.wait(DEADLINE), 0)
        self.check_opens("f.paes", b"data", ["-k", "k16"])
