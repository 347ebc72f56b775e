"""Which files a run takes: --files-from, --exclude-from, and --dry-run, which only says so."""

from __future__ import annotations

import json
import os

from support import KEYS
from test_many import KEY, FolderCase


class SelectionCase(FolderCase):
    def setUp(self):
        super().setUp()
        self.make({"t/a": b"1", "t/b": b"22", "t/sub/a": b"333", "t/sub/new\nline": b"4444"})

    def piped(self, text, *args, status=0):
        """Runs paraes with `text` as standard input, and returns its standard error."""
        return self.summary(*args, status=status, stdin=text)


class FilesFrom(SelectionCase):
    def test_lists_of_lines_and_of_nul_bytes(self):
        self.write("lines", b"t/a\n\nt/sub/a")
        self.write("nul", b"t/b\0t/sub/new\nline\0")
        self.summary("encrypt", *KEY, "--files-from", "lines", "-o", "out")
        self.summary("encrypt", *KEY, "--files-from", "nul", "-0", "-o", "out")
        self.summary("decrypt", "-r", *KEY, "-o", "back", "out/.")
        self.assertEqual(self.tree("back/t"), self.tree("t"))

    def test_a_list_on_standard_input_for_each_verb(self):
        self.piped(b"t/a\n", "encrypt", *KEY, "--files-from", "-")
        self.assertIn("1 file intact", self.piped(b"t/a.paes", "verify", *KEY, "--files-from", "-"))
        self.write("new", KEYS[128])
        self.piped(b"t/a.paes\n", "rekey", *KEY, "--to-key-file", "new", "--files-from", "-")
        self.piped(b"t/a.paes\n", "decrypt", "--key-file", "new", "--files-from", "-", "-o", "back")
        self.assertEqual(self.tree("back"), {"t/a": b"1"})

    def test_outputs_keep_paths_and_modes_of_folders(self):
        self.path("t/sub").chmod(0o750)
        absolute = os.fspath(self.path("t/sub/a"))
        self.piped(f"./t/./a\n{absolute}\n".encode(), "encrypt", *KEY, "--files-from", "-", "-o", "out")
        self.assertEqual(sorted(self.tree("out")), sorted(["t/a.paes", absolute[1:] + ".paes"]))
        self.assertEqual(self.path("out" + absolute).parent.stat().st_mode & 0o777, 0o750)
        text = self.piped(b"t/../t/a\nt/b\n", "encrypt", *KEY, "--files-from", "-", "-o", "o2", status=3)
        self.assertIn("t/../t/a: its output would be outside", text)
        self.assertEqual(sorted(self.tree("o2")), ["t/b.paes"])

    def test_arguments_and_folders_beside_a_list(self):
        self.make({"x/t/z": b"z"})
        self.piped(b"x/t\n", "encrypt", "-r", *KEY, "--files-from", "-", "-o", "out", "t/a")
        self.assertEqual(sorted(self.tree("out")), ["a.paes", "x/t/z.paes"])
        self.assertIn("use -r", self.piped(b"t\n", "encrypt", *KEY, "--files-from", "-", status=3))

    def test_one_name_is_a_list_all_the_same(self):
        self.piped(b"t/a", "encrypt", *KEY, "--files-from", "-", "-o", "out")
        self.assertEqual(list(self.tree("out")), ["t/a.paes"])

    def test_a_key_that_a_list_names_ends_the_run(self):
        """Also where its path would be refused for itself."""
        for name in ("../k", "t/../../k"):
            text = self.piped(f"t/a\n{name}\n".encode(), "encrypt", *KEY, "--files-from", "-", "-o", "out",
                              status=2)
            self.assertIn(f"{name}: it is the file of --key-file", text)
            self.assertFalse(self.path("out").exists())

    def test_what_is_no_list_of_names_is_refused(self):
        data = b"t/a\n" + b"x" * 100_000
        text = self.piped(data, "encrypt", *KEY, "--files-from", "-", status=2)
        self.assertIn("it has an entry of 100000 bytes", text)
        self.assertLess(len(text), 300)
        self.assertEqual(len(self.tree("t")), 4)

    def test_folders_above_that_cannot_be_read(self):
        """As /home often is: it can be searched."""
        nobody = self.as_another_user()
        self.write("key", KEYS[256], 0o644)
        for name in ("t", "t/sub"):
            self.path(name).chmod(0o711)
        self.dir.chmod(0o777)
        for flags in ([], ["--xattrs"]):
            top = "out" + "".join(flags)
            self.ok("encrypt", "-q", "-k", "key", "--files-from", "-", *flags, "-o", top,
                    stdin=b"t/a\nt/b\nt/sub/a\n", **nobody)
            self.assertEqual(sorted(self.tree(top)), ["t/a.paes", "t/b.paes", "t/sub/a.paes"])

    def test_the_list_is_protected(self):
        self.write("t/list", b"t/a\nt/list\n")
        for more in (["--rm"], ["--rm", "-r", "t"]):
            self.fails(2, "encrypt", *KEY, "--files-from", "t/list", *more,
                       says="t/list: it is the file of --files-from")
        self.write("list.paes", b"t/a\nlist\n")
        self.write("list", b"data")
        self.fails(2, "encrypt", "-f", *KEY, "--files-from", "list.paes", says="--files-from")
        self.assertEqual(self.read("list.paes"), b"t/a\nlist\n")
        self.assertEqual([name for name in self.tree("t") if name.endswith(".paes")], [])
        self.summary("encrypt", *KEY, "--files-from", "t/list")  # reading it harms nothing

    def test_standard_input_has_one_reader(self):
        for args, says in (
                (["--files-from", "-", "--key-file", "-"], "both need standard input"),
                (["--files-from", "/dev/stdin", "--passphrase-file", "-"], "both need standard"),
                (["--files-from", "-", "--exclude-from", "-", *KEY], "both need standard input"),
                (["--exclude-from", "-", *KEY, "-"], "the data comes from there"),
                (["--files-from", "-", *KEY, "/dev/stdin"], "the data comes from there")):
            with self.subTest(args=args):
                self.assertIn(says, self.piped(b"t/a\n", "encrypt", *args, status=2))
        self.assertEqual(len(self.tree("t")), 4)

    def test_lists_that_are_wrong_are_refused(self):
        cases = ((b"t/a\0t/b\0", [], "NUL bytes"), (b"t/a\nt/b\n", ["-0"], "leave -0 out"),
                 (b"t/a\r\nt/b\r\n", [], "CR LF"), (b"\xef\xbb\xbft/a\n", [], "byte order mark"),
                 (b"", [], "it names no files"), (b"\n\n", [], "it names no files"))
        for text, more, says in cases:
            self.assertIn(says, self.piped(text, "encrypt", *KEY, "--files-from", "-", *more, status=2))
        self.fails(1, "encrypt", *KEY, "--files-from", "missing", says="missing")
        self.fails(2, "encrypt", *KEY, "--files-from", "t", says="it is a folder")
        self.fails(2, "encrypt", *KEY, "--files-from", "", says="empty name")
        self.fails(2, "encrypt", *KEY, "-0", "t/a", says="--files-from")
        text = self.piped(b"t/a\ngone\n", "encrypt", *KEY, "--files-from", "-", status=3)
        self.assertIn("gone: cannot open it", text)
        self.assertTrue(self.path("t/a.paes").exists())

    def test_a_list_may_come_through_a_descriptor(self):
        self.shell('"$@" --files-from <(echo t/a)', "encrypt", *KEY)
        self.assertTrue(self.path("t/a.paes").exists())


class ExcludeFrom(SelectionCase):
    def test_patterns_are_those_of_exclude(self):
        self.write("p", b"a\n\nsub/\n")
        text = self.summary("encrypt", "-r", *KEY, "--exclude-from", "p", "--exclude", "c", "-o", "out", "t")
        self.assertEqual(list(self.tree("out")), ["t/b.paes"])
        self.assertIn("skipped 2 that --exclude matches", text)
        self.assertIn("1 file", self.piped(b"a\nsub\n", "verify", "-r", *KEY, "--exclude-from", "-", "out"))

    def test_the_file_is_protected(self):
        self.write("t/p", b"*.o")
        self.fails(2, "encrypt", "--rm", "-r", *KEY, "--exclude-from", "t/p", "t",
                   says="t/p: it is the file of --exclude-from")


class DryRun(SelectionCase):
    def states(self):
        """What would tell a change of a file or folder. Without the time of the last access."""
        found = {path: os.stat(path) for path in self.dir.rglob("*")}
        return {path: (s.st_ino, s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
                for path, s in found.items()}

    def foreseen(self, *args, status=0):
        """The lines that a dry run prints. It must leave everything as it is."""
        before = self.states()
        done = self.exits(status, *args, "--dry-run")
        self.assertEqual(self.states(), before)
        return done.stdout.decode().splitlines()

    def test_each_verb_says_what_it_would_do_and_does_it(self):
        self.path("t/sub/new\nline").unlink()
        self.assertEqual(self.foreseen("encrypt", "-r", "--rm", *KEY, "t"), [
            "reads t/a, writes t/a.paes, removes t/a", "reads t/b, writes t/b.paes, removes t/b",
            "reads t/sub/a, writes t/sub/a.paes, removes t/sub/a"])
        self.summary("encrypt", "-r", *KEY, "t")
        self.assertEqual(self.foreseen("encrypt", "-f", *KEY, "t/a"), ["reads t/a, replaces t/a.paes"])
        self.assertEqual(self.foreseen("encrypt", "--update", *KEY, "-r", "t"), [])
        self.assertEqual(self.foreseen("decrypt", *KEY, "-r", "-o", "new", "t"), [
            "reads t/a.paes, writes new/t/a", "reads t/b.paes, writes new/t/b",
            "reads t/sub/a.paes, writes new/t/sub/a"])
        self.assertEqual(self.foreseen("verify", *KEY, "t/a.paes"), ["reads t/a.paes"])
        self.assertEqual(self.foreseen("rekey", *KEY, "--to-passphrase", "t/a.paes"),
                         ["reads t/a.paes, replaces it"])
        self.assertEqual(self.foreseen("encrypt", *KEY, "-c", "t/a"),
                         ["reads t/a, writes standard output"])
        self.assertEqual(self.foreseen("encrypt", *KEY, "-o", "new/", "t/a"),
                         ["reads t/a, writes new/a.paes"])

    def test_it_asks_for_no_secret(self):
        """Neither on a terminal nor from a file or program."""
        for secret in ([], ["--passphrase-file", "missing"], ["--key-command", "touch ran"]):
            self.assertEqual(self.foreseen("encrypt", *secret, "t/a"), ["reads t/a, writes t/a.paes"])
        self.assertFalse(self.path("ran").exists())

    def test_it_refuses_what_the_run_would_refuse(self):
        self.write("t/a.paes", b"there already")
        self.foreseen("encrypt", *KEY, "t/a", status=2)
        self.assertEqual(self.foreseen("encrypt", *KEY, "t/a", "t/b", "gone", status=3),
                         ["reads t/b, writes t/b.paes"])
        self.foreseen("encrypt", "--key-file", "t/b", "t/b", status=2)

    def test_it_foresees_folders_in_the_place_of_outputs(self):
        self.summary("encrypt", *KEY, "-o", "e/t/", "t/a", "t/b")
        self.make({"e/t/a/in.paes": b"", "back/t/b/in": b"", "file": b""})
        flags = ["decrypt", "-r", *KEY, "-o", "back", "e/."]
        self.assertEqual(self.foreseen(*flags, status=3), ["reads e/./t/a/in.paes, writes back/t/a/in"])
        text = self.summary(*flags, status=3)
        for name in ("back/t/a", "back/t/b"):
            self.assertIn(f"{name}: it is a folder", text)
        self.foreseen("encrypt", *KEY, "-o", "file/sub/", "t/a", "t/b", status=1)
        self.make({"o/t/sub": b"a file"})
        self.assertEqual(len(self.foreseen("encrypt", "-r", *KEY, "-o", "o", "t", status=3)), 2)

    def test_it_foresees_links_hard_links_and_closed_folders(self):
        os.symlink("a", self.path("t/link"))
        self.assertEqual(self.foreseen("encrypt", "--rm", *KEY, "t/link"), [
            "reads t/link, writes t/link.paes, cannot remove t/link because it is a symbolic link"])
        self.summary("encrypt", *KEY, "-o", "1.paes", "t/a")
        os.link(self.path("1.paes"), self.path("2.paes"))
        self.assertEqual(self.foreseen("rekey", *KEY, "--to-passphrase", "-r", "."),
                         ["reads ./1.paes, replaces it", "reads ./2.paes, replaces it"])
        if os.getuid() != 0:  # who may write everywhere
            self.path("t/sub").chmod(0o500)
            self.assertEqual(self.foreseen("encrypt", *KEY, "-r", "t/sub", status=3), [])

    def test_in_json(self):
        self.write("t/b.paes", b"there already")
        lines = [json.loads(line) for line in
                 self.foreseen("encrypt", "--json", "-f", *KEY, "t/a", "t/b")]
        self.assertEqual([(line["output"], line["status"], line["replaces"], line["bytes"])
                          for line in lines[:-1]],
                         [("t/a.paes", "dry run", False, 1), ("t/b.paes", "dry run", True, 2)])
        self.assertEqual((lines[-1]["files"], lines[-1]["exit"]), (2, 0))
        self.assertEqual(self.foreseen("encrypt", "-q", *KEY, "t/a"), [])
