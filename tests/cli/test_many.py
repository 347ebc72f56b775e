"""Several inputs and folders: names, what is skipped, what one bad file does, --rm."""

import json
import os
import shutil
import stat
import subprocess
import threading

from support import BIN, KEYS, Case, environment, pattern

KEY = ["--key-file", "../k"]


class Folder(Case):
    def setUp(self):
        super().setUp()
        self.path("work").mkdir()
        self.write("k", KEYS[256])
        self.dir = self.dir / "work"

    def tree(self, where="."):
        """All files below, with their contents."""
        found = {}
        for folder, _, names in os.walk(self.dir / where):
            for name in names:
                path = os.path.join(folder, name)
                if not os.path.islink(path):
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.dir / where)] = file.read()
        return found

    def make(self, files):
        for name, data in files.items():
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.write(name, data)

    def summary(self, *args, status=0, **kwargs):
        done = self.run_paraes(*args, **kwargs)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, status, text)
        return text


    def run_slowly(self, *args):
        """With a pause before the large file of the run gets its first byte."""
        if shutil.which("strace") is None:
            self.skipTest("there is no strace")
        # Small files have one write each.
        return subprocess.run(["strace", "-f", "-o", os.devnull, "-e",
                               "inject=pwrite64:delay_enter=300000:when=20", BIN,
                               *map(str, args)],
                              cwd=self.dir, env=environment(ASAN_OPTIONS="detect_leaks=0"),
                              capture_output=True)


class Many(Folder):
    def test_several_files_beside_themselves(self):
        self.make({"a": b"1", "b": pattern(70000), "c": b""})
        text = self.summary("encrypt", *KEY, "a", "b", "c")
        self.assertIn("3 files encrypted", text)
        self.assertEqual(sorted(self.tree()), ["a", "a.paes", "b", "b.paes", "c", "c.paes"])
        self.summary("decrypt", "-f", *KEY, "a.paes", "b.paes", "c.paes")
        self.assertEqual(self.read("b"), pattern(70000))

    def test_a_tree_there_and_back(self):
        files = {f"t/{n}/{i}": pattern(n * 1000 + i) for n in range(5) for i in range(20)}
        files["t/large"] = pattern(5 << 20)
        self.make(files)
        self.assertIn("101 files encrypted", self.summary("encrypt", "-r", *KEY, "-o", "out", "t"))
        self.assertEqual(sorted(self.tree("out")), sorted(name + ".paes" for name in files))
        self.assertIn("101 files intact", self.summary("verify", "-r", *KEY, "out"))
        self.summary("decrypt", "-r", *KEY, "-o", "back", "out/.")
        self.assertEqual(self.tree("back"), files)

    def test_names_of_folders(self):
        self.make({"t/a": b"1"})
        for given, made in (("t", "t/a.paes"), ("t/", "t/a.paes"), ("t/.", "a.paes"),
                            ("./t", "t/a.paes"), ("t/../t", "t/a.paes")):
            with self.subTest(given=given):
                self.summary("encrypt", "-r", "-q", *KEY, "-o", "out", given)
                self.assertEqual(list(self.tree("out")), [made])
                self.path("out/" + made).unlink()

    def test_what_is_skipped_is_counted(self):
        self.make({"t/a": b"1", "t/b.paes": b"2", "t/c.paes": b"3"})
        self.path("t/link").symlink_to("a")
        self.path("t/loop").symlink_to(".")
        os.mkfifo(self.path("t/pipe"))
        text = self.summary("encrypt", "-r", *KEY, "t")
        for part in ("1 file encrypted", "2 *.paes files", "2 symbolic links", "1 special file"):
            self.assertIn(part, text)
        text = self.summary("decrypt", "-r", "-f", *KEY, "t", status=3)
        for part in ("1 file decrypted", "2 failed", "1 file that is not *.paes"):
            self.assertIn(part, text)

    def test_one_bad_file_does_not_stop_the_others(self):
        self.make({"a": b"1", "b": b"2", "c": b"3"})
        self.summary("encrypt", *KEY, "a", "b", "c")
        damaged = bytearray(self.read("b.paes"))
        damaged[-1] ^= 1
        self.write("b.paes", damaged)
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

    def test_json_has_one_object_a_file(self):
        self.make({"a": b"1", "b": b"22", "b.paes": b"old"})
        done = self.run_paraes("encrypt", "--json", *KEY, "a", "b", "gone")
        self.assertEqual(done.returncode, 3)
        reports = {r["input"]: r for r in map(json.loads, done.stdout.splitlines())}
        self.assertEqual({name: r["exit"] for name, r in reports.items()},
                         {"a": 0, "b": 2, "gone": 1})
        self.assertEqual(reports["a"]["output"], "a.paes")
        self.assertIn("exists already", reports["b"]["status"])
        self.assertEqual(self.read("b.paes"), b"old")

    def test_two_inputs_for_one_output(self):
        self.make({"x/a": b"1", "y/a": b"2"})
        text = self.summary("encrypt", *KEY, "-o", "out", "x/a", "y/a", status=3)
        self.assertIn("another input", text)
        self.assertEqual(list(self.tree("out")), ["a.paes"])

    def test_folders_and_pipes_need_their_flags(self):
        self.make({"t/a": b"1", "b": b"2"})
        self.assertIn("use -r to process", self.summary("encrypt", *KEY, "t", "b", status=3))
        self.fails(2, "encrypt", *KEY, "t", says="folder")
        self.fails(2, "encrypt", *KEY, "-c", "b", "b", says="name a folder with -o")
        self.fails(2, "encrypt", *KEY, "-", "b", says="only input")
        self.fails(2, "encrypt", "-r", *KEY, "-", says="only input")
        self.fails(2, "encrypt", *KEY, "-o", "b", "t/a", "b", says="not a folder")

    def test_one_passphrase_and_one_scrypt_for_all(self):
        self.make({str(i): pattern(i) for i in range(20)})
        self.write("pw", b"word")
        self.summary("encrypt", "--passphrase-file", "pw", "--scrypt-log2n", "10",
                     *map(str, range(20)))
        headers = {self.read(f"{i}.paes")[:32] for i in range(20)}
        self.assertEqual(len(headers), 1, "scrypt would run once a file")
        self.assertEqual(len({self.read(f"{i}.paes")[32:56] for i in range(20)}), 20)
        self.summary("verify", "--passphrase-file", "pw", *(f"{i}.paes" for i in range(20)))

    def test_modes_and_times_are_kept(self):
        self.make({"t/a": b"1"})
        os.chmod(self.path("t/a"), 0o640)
        os.utime(self.path("t/a"), ns=(0, 1234567890123456789))
        self.summary("encrypt", "-r", *KEY, "-o", "out", "t")
        status = self.path("out/t/a.paes").stat()
        self.assertEqual((status.st_mode & 0o777, status.st_mtime_ns), (0o640, 1234567890123456789))

    def test_thousands_of_files(self):
        self.make({f"t/{i % 7}/{i}": str(i).encode() for i in range(1000)})
        self.assertIn("1000 files", self.summary("encrypt", "-r", "--rm", *KEY, "t"))
        self.assertEqual(len(self.tree("t")), 1000)
        self.summary("decrypt", "-r", "--rm", *KEY, "t")
        self.assertEqual(self.tree("t"), {f"{i % 7}/{i}": str(i).encode() for i in range(1000)})


class Folders(Folder):
    """Folders that a run makes, and how it reaches them."""

    def mode(self, name):
        return stat.S_IMODE(self.path(name).stat().st_mode)

    def test_modes_and_empty_folders_are_kept(self):
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
        # The folder that -o names mirrors none, but here.
        self.assertEqual(oct(self.mode("out")), oct(0o755))
        self.summary("decrypt", "-r", *KEY, "-o", "back", "out/t/.", umask=0o027)
        for name, mode in modes.items():
            self.assertEqual(oct(self.mode("back" + name[1:])), oct(mode & ~0o027), name)

    def test_the_folder_of_the_outputs_is_not_searched(self):
        self.make({"a": b"1", "s/b": b"2"})
        self.path("empty").mkdir()
        for flags in ([], ["-f"], ["-f"]):
            text = self.summary("encrypt", "-r", *flags, *KEY, "-o", "s/backup", ".")
            self.assertIn("2 files encrypted", text)
            self.assertEqual("skipped the output folder" in text, flags != [])
            self.assertEqual(sorted(os.listdir(self.path("s/backup"))), ["a.paes", "empty", "s"])
            self.assertEqual(os.listdir(self.path("s/backup/s")), ["b.paes"])

    def test_no_folder_is_made_for_nothing(self):
        self.make({"a": b"1"})
        self.summary("encrypt", *KEY, "-o", "out", "gone", "gone too", status=3)
        self.assertEqual(self.names(), ["a"])

    def test_folders_that_are_there_keep_their_mode(self):
        self.make({"t/s/a": b"1"})
        self.path("out/t/s").mkdir(parents=True)
        os.chmod(self.path("out/t/s"), 0o710)
        self.summary("encrypt", "-r", *KEY, "-o", "out", "t")
        self.assertEqual(self.mode("out/t/s"), 0o710)

    def test_a_folder_that_vanishes_does_not_leave_others_closed(self):
        self.make({"t/s/a": b"1", "t/s/big": pattern(64 << 20)})
        for name in ("t/b", "t/z"):
            self.path(name).mkdir()

        def meddle():
            self.wait_for(lambda: self.path("out/t/s/a.paes").exists(), "an output")
            self.path("out/t/z").rmdir()

        thread = threading.Thread(target=meddle)
        thread.start()
        done = self.run_slowly("encrypt", "-r", *KEY, "-o", "out", "t")
        thread.join()
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"out/t/z", done.stderr)
        for name in ("t", "t/s", "t/b"):
            self.assertEqual(self.mode("out/" + name), self.mode(name))

    def test_folders_are_private_until_all_is_there(self):
        self.make({"t/s/a": b"1", "t/s/big": pattern(64 << 20)})
        seen = []

        def look():
            self.wait_for(lambda: self.path("out/t/s/a.paes").exists(), "an output")
            seen.extend(self.mode(name) for name in ("out", "out/t", "out/t/s"))

        thread = threading.Thread(target=look)
        thread.start()
        done = self.run_slowly("encrypt", "-r", *KEY, "-o", "out", "t")
        thread.join()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(seen, [0o700] * 3)
        self.assertEqual(self.mode("out/t/s"), self.mode("t/s"))

    def test_every_folder_that_was_made_is_synced(self):
        if shutil.which("strace") is None:
            self.skipTest("there is no strace")
        self.make({"t/s/a": b"1", "there/x": b"2"})
        self.path("t/empty").mkdir()
        done = subprocess.run(["strace", "-f", "-y", "-o", "../log", "-e", "trace=fsync,unlinkat",
                               BIN, "encrypt", "-r", "--rm", *KEY, "-o", "there/new/out", "t"],
                              cwd=self.dir, env=environment(ASAN_OPTIONS="detect_leaks=0"),
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        log = (self.dir.parent / "log").read_text()
        synced = {os.path.relpath(line.split("<")[1].split(">")[0], self.dir)
                  for line in log[:log.index("unlinkat")].splitlines() if "fsync(" in line}
        for name in ("there", "there/new", "there/new/out", "there/new/out/t",
                     "there/new/out/t/s", "there/new/out/t/empty"):
            self.assertIn(name, synced)

    def test_folders_deeper_than_a_path_may_be_long(self):
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


class Removal(Folder):
    def test_sources_go_when_their_output_is_there(self):
        self.make({"a": b"1", "b": b"2", "t/c": b"3", "b.paes": b"in the way"})
        self.ok("encrypt", "--rm", *KEY, "a")
        self.summary("encrypt", "-r", "--rm", *KEY, "b", "t", status=3)
        self.assertEqual(sorted(self.tree()), ["a.paes", "b", "b.paes", "t/c.paes"])
        self.ok("decrypt", "--rm", *KEY, "a.paes")
        self.assertEqual(self.read("a"), b"1")
        self.assertFalse(self.path("a.paes").exists())

    def test_json_beside_it(self):
        self.make({"a": b"12"})
        report = json.loads(self.ok("encrypt", "--rm", "--json", *KEY, "a"))
        self.assertEqual((report["input"], report["output"], report["bytes"], report["exit"]),
                         ("a", "a.paes", 2, 0))

    def test_a_failure_keeps_the_source(self):
        self.make({"a.paes": b"PARAES\r\n" + bytes(200)})
        self.fails(4, "decrypt", "--rm", *KEY, "a.paes")
        self.assertEqual(list(self.tree()), ["a.paes"])

    def test_refused_without_files(self):
        self.make({"a": b"1"})
        self.fails(2, "encrypt", "--rm", *KEY, "-c", "a", says="--rm")
        self.fails(2, "encrypt", "--rm", *KEY, "-", stdin=b"x", says="--rm")
        self.fails(2, "decrypt", "--rm", "--salvage", *KEY, "-o", "b", "a", says="--rm")

    def test_only_files_are_removed(self):
        self.make({"a": b"1"})
        os.mkfifo(self.path("pipe"))
        self.fails(2, "encrypt", "-f", "--rm", *KEY, "-o", "/dev/null", "a", says="/dev/null")
        self.fails(2, "encrypt", "-f", "--rm", *KEY, "-o", "pipe", "a", says="pipe")
        writer = threading.Thread(target=lambda: self.write("pipe", b"data"))
        writer.start()
        self.fails(2, "encrypt", "--rm", *KEY, "-o", "out", "pipe", says=["pipe", "--rm"])
        # Nobody read it.
        os.close(os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK))
        writer.join()
        self.assertEqual(self.names(), ["a", "pipe"])

    def test_sources_stay_if_a_folder_cannot_be_synced(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        self.make({"a": b"1", "b": b"2"})
        self.path("drop").mkdir()
        for name in (".", "drop", "a", "b"):
            os.chown(self.path(name), 65534, 65534)
        os.chmod(self.dir.parent, 0o755)
        os.chmod(self.dir.parent / "k", 0o644)
        os.chmod(self.path("drop"), 0o300)
        try:
            self.ok("--version", **nobody)
        except (PermissionError, FileNotFoundError):
            self.skipTest("the program lies where others cannot reach it")
        self.fails(1, "encrypt", "--rm", *KEY, "-o", "drop/x", "a", says="cannot sync the folder",
                   **nobody)
        text = self.summary("encrypt", "--rm", *KEY, "-o", "drop", "a", "b", status=3, **nobody)
        self.assertIn("was not synced", text)
        self.assertEqual(self.names(), ["a", "b", "drop"])
        # Without --rm nothing depends on it.
        self.summary("encrypt", "-f", *KEY, "-o", "drop", "a", "b", **nobody)

    def test_hard_links(self):
        # Removing one changes the other's ctime, which is no change of the file.
        self.make({"a": b"1"})
        os.link(self.path("a"), self.path("b"))
        self.summary("encrypt", "--rm", *KEY, "a", "b")
        self.assertEqual(self.names(), ["a.paes", "b.paes"])

    def test_a_source_is_kept_for_an_output_that_is_there_no_longer(self):
        # A large file keeps the run busy while somebody works on what is done.
        self.make({"a": b"1", "b": b"2", "c": b"3", "d": b"4", "big": pattern(64 << 20)})

        def meddle():
            self.wait_for(lambda: all(self.path(f"{n}.paes").exists() for n in "abcd"), "outputs")
            self.write("other", b"somebody else's")
            os.rename(self.path("other"), self.path("a.paes"))
            self.path("b.paes").unlink()
            self.write("c", b"33")
            self.write("d", b"5")

        thread = threading.Thread(target=meddle)
        thread.start()
        done = self.run_slowly("encrypt", "--rm", *KEY, "a", "b", "c", "d", "big")
        thread.join()
        text = done.stderr.decode()
        self.assertEqual(done.returncode, 3, text)
        for name, why in (("a", "a.paes is not the file that was written for it"),
                          ("b", "its output b.paes"), ("c", "it was written to after it was read"),
                          ("d", "it was written to after it was read")):
            self.assertRegex(text, f"paraes: {name} was not removed: {why}")
            self.assertTrue(self.path(name).exists())
        self.assertFalse(self.path("big").exists())

    def test_a_link_is_not_what_was_read(self):
        self.make({"real": b"1"})
        self.path("link").symlink_to("real")
        done = self.run_paraes("encrypt", "--rm", *KEY, "link")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"not removed", done.stderr)
        self.assertTrue(self.path("link.paes").exists() and self.path("real").exists())
