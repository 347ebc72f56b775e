"""Several inputs and folders: output names, skipped files, bad files, and --rm."""

import json
import os
import re
import stat
import subprocess
import threading

from support import BIN, KEYS, LONG, POSIX_ONLY, Case, file_reports, pattern

KEY = ["--key-file", "../k"]


class FolderCase(Case):
    def setUp(self):
        super().setUp()
        self.path("work").mkdir()
        self.write("k", KEYS[256])
        self.dir = self.dir / "work"

    def tree(self, top="."):
        """The contents of all files below `top`, by path."""
        found = {}
        for folder, _, names in os.walk(self.dir / top):
            for name in names:
                path = os.path.join(folder, name)
                if not os.path.islink(path):
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.dir / top)] = file.read()
        return found

    def make(self, files):
        for name, data in files.items():
            self.write(name, data)

    def summary(self, *args, status=0, **kwargs):
        """Runs paraes, expects exit `status` and returns standard error."""
        return self.exits(status, *args, **kwargs).stderr.decode()

    def run_slowly(self, outputs, interfere, *args, status):
        """Runs paraes, with a pause of 0.3 s while it writes its large file, and calls interfere()
        once `outputs` exist. Returns standard error."""
        def meanwhile():
            self.wait_for(lambda: all(self.path(name).exists() for name in outputs), "outputs")
            interfere()

        thread = threading.Thread(target=meanwhile)
        thread.start()
        # Small files take one write each, so the twentieth belongs to the large one.
        done = self.strace("-e", "inject=pwrite64:delay_enter=300000:when=20", BIN, *args)
        thread.join()
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()


class SeveralFiles(FolderCase):
    def test_tree_round_trips(self):
        files = {f"t/{n}/{i}": pattern(n * 1000 + i) for n in range(5) for i in range(20)}
        files["t/large"] = pattern(5 << 20)
        self.make(files)
        self.assertIn("101 files encrypted", self.summary("encrypt", "-r", *KEY, "-o", "out", "t"))
        self.assertEqual(sorted(self.tree("out")), sorted(name + ".paes" for name in files))
        self.assertIn("101 files intact", self.summary("verify", "-r", *KEY, "out"))
        self.summary("decrypt", "-r", *KEY, "-o", "back", "out/.")
        self.assertEqual(self.tree("back"), files)

    def test_output_folder_mirrors_the_named_folder(self):
        self.make({"t/a": b"1"})
        for given, made in (("t", "t/a.paes"), ("t/", "t/a.paes"), ("t/.", "a.paes"),
                            ("./t", "t/a.paes"), ("t/../t", "t/a.paes")):
            with self.subTest(given=given):
                self.summary("encrypt", "-r", "-q", *KEY, "-o", "out", given)
                self.assertEqual(list(self.tree("out")), [made])
                self.path("out/" + made).unlink()

    def test_one_bad_file_does_not_stop_the_others(self):
        self.make({"a": b"1", "b": b"2", "c": b"3"})
        self.summary("encrypt", *KEY, "a", "b", "c")
        self.damage("b.paes", -1)
        self.path("out").mkdir()
        text = self.summary("decrypt", *KEY, "-o", "out", "a.paes", "b.paes", "c.paes", "missing.paes",
                            "k", status=3)
        self.assertEqual(self.tree("out"), {"a": b"1", "c": b"3"})
        lines = text.splitlines()
        self.assertEqual(len(lines), 4, text)
        self.assertEqual(sum("b.paes" in line for line in lines), 1)
        self.assertEqual(sum("missing.paes" in line for line in lines), 1)
        self.assertIn("2 files decrypted", lines[-1])
        self.assertIn("3 failed", lines[-1])

    def test_json_has_one_object_per_file(self):
        self.make({"a": b"1", "b": b"22", "b.paes": b"old"})
        done = self.exits(3, "encrypt", "--json", *KEY, "a", "b", "gone")
        reports = file_reports(done.stdout)
        self.assertEqual({name: r["exit"] for name, r in reports.items()},
                         {"a": 0, "b": 2, "gone": 1})
        self.assertEqual(reports["a"]["output"], "a.paes")
        self.assertIn("exists already", reports["b"]["status"])
        self.assertEqual(self.read("b.paes"), b"old")

    def test_json_of_a_file_comes_before_the_next_one_ends(self):
        self.make({"a": b"1", "b": b"2"})
        os.mkfifo(self.path("waits"))
        process = self.start("encrypt", *KEY, "--json", "-q", "-T", 1, "a", "b", "waits",
                             stdout=subprocess.PIPE)
        self.assertEqual([json.loads(process.stdout.readline())["input"] for _ in range(2)],
                         ["a", "b"])
        with open(self.path("waits"), "wb"):
            pass
        self.assertEqual(json.loads(process.stdout.readline())["input"], "waits")
        self.assertEqual(process.wait(30), 0)

    def test_second_input_for_one_output_is_refused(self):
        self.make({"x/a": b"1", "y/a": b"2"})
        text = self.summary("encrypt", *KEY, "-o", "out", "x/a", "y/a", status=3)
        self.assertIn("another input", text)
        self.assertEqual(list(self.tree("out")), ["a.paes"])

    def test_folders_need_r_and_standard_input_must_be_the_only_input(self):
        self.make({"t/a": b"1", "b": b"2"})
        self.assertIn("use -r to process", self.summary("encrypt", *KEY, "t", "b", status=3))
        self.fails(2, "encrypt", *KEY, "t", says="folder")
        self.fails(2, "encrypt", *KEY, "-c", "b", "b", says="name a folder with -o")
        self.fails(2, "encrypt", *KEY, "-", "b", says="only input")
        self.fails(2, "encrypt", "-r", *KEY, "-", says="only input")
        self.fails(2, "encrypt", *KEY, "-o", "b", "t/a", "b", says="not a folder")

    def test_scrypt_runs_once_for_all_files(self):
        self.make({str(i): pattern(i) for i in range(20)})
        self.write("pw", b"word")
        self.summary("encrypt", "--passphrase-file", "pw", "--scrypt-log2n", "10",
                     *map(str, range(20)))
        headers = {self.read(f"{i}.paes")[:32] for i in range(20)}
        self.assertEqual(len(headers), 1, "scrypt ran more than once")
        self.assertEqual(len({self.read(f"{i}.paes")[32:56] for i in range(20)}), 20)
        self.summary("verify", "--passphrase-file", "pw", *(f"{i}.paes" for i in range(20)))

    def test_many_files_round_trip(self):
        count = 1000 if LONG else 200
        self.make({f"t/{i % 7}/{i}": str(i).encode() for i in range(count)})
        before = self.tree("t")
        self.assertIn(f"{count} files", self.summary("encrypt", "-r", "--rm", *KEY, "t"))
        self.assertEqual(set(self.tree("t")), {f"{name}.paes" for name in before})
        self.summary("decrypt", "-r", "--rm", *KEY, "t")
        self.assertEqual(self.tree("t"), before)


class OutputFolders(FolderCase):
    """Folders that a run creates."""

    def mode(self, name):
        return stat.S_IMODE(self.path(name).stat().st_mode)

    def test_folder_modes_and_empty_folders_are_kept(self):
        self.make({"t/private/a": b"1", "t/open/b": b"2", "t/open/deep/c": b"3"})
        self.path("t/empty").mkdir()
        self.path("t/closed").mkdir()
        modes = {"t/private": 0o700, "t/open": 0o755, "t/open/deep": 0o750, "t/empty": 0o711,
                 "t/closed": 0o500, "t": 0o751}
        for name, mode in modes.items():
            os.chmod(self.path(name), mode)
        self.summary("encrypt", "-r", *KEY, "-o", "out", "t", umask=0o022)
        for name, mode in modes.items():
            self.assertEqual(oct(self.mode(f"out/{name}")), oct(mode), name)
        # The folder named by -o mirrors no input, so the umask sets its mode.
        self.assertEqual(oct(self.mode("out")), oct(0o755))
        self.summary("decrypt", "-r", *KEY, "-o", "back", "out/t/.", umask=0o027)
        for name, mode in modes.items():
            self.assertEqual(oct(self.mode("back" + name[1:])), oct(mode & ~0o027), name)

    def test_output_folder_inside_the_input_is_skipped(self):
        self.make({"a": b"1", "s/b": b"2"})
        self.path("empty").mkdir()
        for flags in ([], ["-f"], ["-f"]):
            text = self.summary("encrypt", "-r", *flags, *KEY, "-o", "s/backup", ".")
            self.assertIn("2 files encrypted", text)
            self.assertEqual("skipped the output folder" in text, flags != [])
            self.assertEqual(self.names("s/backup"), ["a.paes", "empty", "s"])
            self.assertEqual(self.names("s/backup/s"), ["b.paes"])

    def test_existing_output_folders_keep_their_mode(self):
        self.make({"t/s/a": b"1"})
        self.path("out/t/s").mkdir(parents=True)
        os.chmod(self.path("out/t/s"), 0o710)
        self.summary("encrypt", "-r", *KEY, "-o", "out", "t")
        self.assertEqual(self.mode("out/t/s"), 0o710)

    def test_output_folders_get_their_modes_even_if_one_vanishes(self):
        self.make({"t/s/a": b"1", "t/s/big": pattern(64 << 20)})
        for name in ("t/b", "t/z"):
            self.path(name).mkdir()
        text = self.run_slowly(["out/t/s/a.paes"], self.path("out/t/z").rmdir, "encrypt", "-r", *KEY,
                               "-o", "out", "t", status=3)
        self.assertIn("out/t/z", text)
        for name in ("t", "t/s", "t/b"):
            self.assertEqual(self.mode("out/" + name), self.mode(name))

    def test_output_folders_are_private_until_complete(self):
        self.make({"t/s/a": b"1", "t/s/big": pattern(64 << 20)})
        seen = []

        def look():
            seen.extend(self.mode(name) for name in ("out", "out/t", "out/t/s"))

        self.run_slowly(["out/t/s/a.paes"], look, "encrypt", "-r", *KEY, "-o", "out", "t", status=0)
        self.assertEqual(seen, [0o700] * 3)
        self.assertEqual(self.mode("out/t/s"), self.mode("t/s"))

    def test_every_created_folder_is_synced_before_sources_are_removed(self):
        self.make({"t/s/a": b"1", "there/x": b"2"})
        self.path("t/empty").mkdir()
        done = self.strace("-y", "-e", "trace=fsync,unlinkat", BIN, "encrypt", "-r", "--rm", *KEY,
                           "-o", "there/new/out", "t", log="../log")
        self.assertEqual(done.returncode, 0, done.stderr)
        log = (self.dir.parent / "log").read_text()
        removed = re.search(r'unlinkat\([^"]*"a"', log)  # no temporary file
        synced = {os.path.relpath(line.split("<")[1].split(">")[0], self.dir)
                  for line in log[:removed.start()].splitlines() if "fsync(" in line}
        for name in ("there", "there/new", "there/new/out", "there/new/out/t",
                     "there/new/out/t/s", "there/new/out/t/empty"):
            self.assertIn(name, synced)

    def test_paths_longer_than_path_max_round_trip(self):
        names = ["n" * 200] * 30  # 6,000 bytes; the limit of a system call is 4,096
        inner = os.open(self.dir, os.O_RDONLY)
        for name in ["t", *names]:
            os.mkdir(name, dir_fd=inner)
            outer, inner = inner, os.open(name, os.O_RDONLY, dir_fd=inner)
            os.close(outer)
        file = os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=inner)
        os.write(file, b"deep")
        os.close(file)
        os.close(inner)
        self.summary("encrypt", "-r", "--rm", *KEY, "-o", "out", "t")
        self.summary("decrypt", "-r", "--rm", *KEY, "-o", "back", "out/t")
        os.chdir(self.path("back/t"))
        self.addCleanup(os.chdir, "/")
        for name in names:
            os.chdir(name)
        with open("f", "rb") as f:
            self.assertEqual(f.read(), b"deep")


class Removal(FolderCase):
    def test_rm_removes_only_sources_whose_output_was_written(self):
        self.make({"a": b"1", "b": b"2", "t/c": b"3", "b.paes": b"in the way"})
        self.ok("encrypt", "--rm", *KEY, "a")
        self.summary("encrypt", "-r", "--rm", *KEY, "b", "t", status=3)
        self.assertEqual(sorted(self.tree()), ["a.paes", "b", "b.paes", "t/c.paes"])
        self.ok("decrypt", "--rm", *KEY, "a.paes")
        self.assertEqual(self.read("a"), b"1")
        self.assertFalse(self.path("a.paes").exists())

    def test_rm_is_refused_with_pipes_and_salvage(self):
        self.make({"a": b"1"})
        self.fails(2, "encrypt", "--rm", *KEY, "-c", "a", says="--rm")
        self.fails(2, "encrypt", "--rm", *KEY, "-", stdin=b"x", says="--rm")
        self.fails(2, "decrypt", "--rm", "--salvage", *KEY, "-o", "b", "a", says="--rm")

    def test_rm_refuses_devices_and_named_pipes(self):
        self.make({"a": b"1"})
        os.mkfifo(self.path("pipe"))
        self.fails(2, "encrypt", "-f", "--rm", *KEY, "-o", "/dev/null", "a", says="/dev/null")
        self.fails(2, "encrypt", "-f", "--rm", *KEY, "-o", "pipe", "a", says="pipe")
        process = self.start("encrypt", "--rm", *KEY, "-o", "out", "pipe")
        with open(self.path("pipe"), "wb"):
            self.assertEqual(process.wait(30), 2)
        self.assertRegex(process.stderr.read(), rb"\Aparaes: pipe: [^\n]*--rm[^\n]*\n\Z")
        self.assertEqual(self.names(), ["a", "pipe"])

    def test_rm_keeps_sources_if_a_folder_cannot_be_synced(self):
        self.make({"a": b"1", "b": b"2"})
        self.path("drop").mkdir()
        os.chmod(self.dir.parent, 0o755)
        os.chmod(self.dir.parent / "k", 0o644)
        nobody = self.as_another_user()
        for name in (".", "drop", "a", "b"):
            os.chown(self.path(name), nobody["user"], nobody["group"])
        os.chmod(self.path("drop"), 0o300)
        if POSIX_ONLY:  # opening the folder takes the right to read it
            self.fails(1, "encrypt", "--rm", *KEY, "-o", "drop/x", "a", says="Permission denied",
                       **nobody)
            self.assertEqual(self.names(), ["a", "b", "drop"])
            return
        self.fails(1, "encrypt", "--rm", *KEY, "-o", "drop/x", "a", says="cannot sync the folder",
                   **nobody)
        text = self.summary("encrypt", "--rm", *KEY, "-o", "drop", "a", "b", status=3, **nobody)
        self.assertIn("may not be on the disk", text)
        self.assertEqual(self.names(), ["a", "b", "drop"])
        # Without --rm a failed sync is not an error.
        self.summary("encrypt", "-f", *KEY, "-o", "drop", "a", "b", **nobody)

    def test_rm_removes_hard_linked_sources(self):
        # Removing one link changes the ctime of the other, but not the data.
        self.make({"a": b"1"})
        os.link(self.path("a"), self.path("b"))
        self.summary("encrypt", "--rm", *KEY, "a", "b")
        self.assertEqual(self.names(), ["a.paes", "b.paes"])

    def test_rm_keeps_sources_if_source_or_output_changed_meanwhile(self):
        # A large file keeps the run busy while finished files are changed.
        self.make({"a": b"1", "b": b"2", "c": b"3", "d": b"4", "big": pattern(64 << 20)})

        def interfere():
            self.write("other", b"somebody else's")
            os.rename(self.path("other"), self.path("a.paes"))
            self.path("b.paes").unlink()
            self.write("c", b"33")
            self.write("d", b"5")

        text = self.run_slowly([f"{name}.paes" for name in "abcd"], interfere, "encrypt", "--rm",
                               *KEY, "a", "b", "c", "d", "big", status=3)
        for name, why in (("a", "a.paes is not the file that was written for it"),
                          ("b", "its output b.paes"), ("c", "it was written to after it was read"),
                          ("d", "it was written to after it was read")):
            self.assertRegex(text, f"paraes: {name}: not removed: {why}")
            self.assertTrue(self.path(name).exists())
        self.assertFalse(self.path("big").exists())

    def test_rm_does_not_remove_a_symbolic_link(self):
        self.make({"real": b"1"})
        self.path("link").symlink_to("real")
        done = self.exits(1, "encrypt", "--rm", *KEY, "link")
        self.assertIn(b"not removed", done.stderr)
        self.assertTrue(self.path("link.paes").exists() and self.path("real").exists())
