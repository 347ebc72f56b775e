"""What a run finds, skips and leaves out: nothing found, --update, and the summary in JSON."""

import json
import os

from support import KEYS, pattern
from test_many import KEY, FolderCase

SECOND = 1_000_000_000


class FoundCase(FolderCase):
    def json_lines(self, *args, status=0):
        """The objects that --json prints."""
        done = self.exits(status, *args, "--json")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def set_time(self, name, nanoseconds):
        os.utime(self.path(name), ns=(nanoseconds, nanoseconds))

    def time_of(self, name):
        return self.path(name).stat().st_mtime_ns

    def encrypted(self, data):
        return self.run_paraes("encrypt", *KEY, stdin=data).stdout

    def inode(self, name):
        return self.path(name).stat().st_ino


class NothingFound(FoundCase):
    def test_an_empty_folder_is_an_error(self):
        self.path("empty").mkdir()
        for verb in ("encrypt", "decrypt", "verify"):
            for more in ([], ["-o", "out"]) if verb != "verify" else ([],):
                with self.subTest(verb=verb, more=more):
                    done = self.fails(2, verb, "-r", *KEY, *more, "empty", says=["empty: ", verb])
                    self.assertNotIn(b"0 files", done.stderr)
        self.assertEqual(self.names(), ["empty"])

    def test_a_folder_without_paes_files_says_what_was_looked_for_and_skipped(self):
        self.make({"t/a.txt": b"1", "t/s/b.txt": b"2", "t/c.txt": b"3"})
        os.symlink("a.txt", self.path("t/link"))
        for verb in ("decrypt", "verify"):
            self.fails(2, verb, "-r", *KEY, "--exclude", "c.txt", "t",
                       says=["t: ", "*.paes", "2 files that are not *.paes", "1 symbolic link",
                             "--exclude"])
        self.fails(2, "decrypt", "-r", *KEY, "-o", "out", "t", says="*.paes")
        self.assertEqual(self.names(), ["t"])

    def test_encrypting_only_paes_files_is_an_error(self):
        self.make({"t/a.paes": b"1"})
        self.fails(2, "encrypt", "-r", *KEY, "t", says=["t: ", "1 *.paes file"])

    def test_folders_of_empty_folders_are_found(self):
        self.path("t/a/b").mkdir(parents=True)
        self.summary("encrypt", "-r", *KEY, "-o", "out", "t")
        self.assertTrue(self.path("out/t/a/b").is_dir())
        self.assertIn("no files, only 2 folders", self.summary("verify", "-r", *KEY, "out/t"))
        self.summary("decrypt", "-r", *KEY, "-o", "back", "out/.")
        self.assertTrue(self.path("back/t/a/b").is_dir())
        # Where something was skipped, the folders are not all that is there.
        self.make({"t/a/b/x": b"1"})
        self.fails(2, "verify", "-r", *KEY, "t", says="1 file that is not *.paes")

    def test_folders_with_nothing_are_named_beside_others(self):
        self.make({"t/a": b"1"})
        self.path("empty").mkdir()
        text = self.summary("encrypt", "-r", *KEY, "t", "empty")
        self.assertIn("1 file encrypted", text)
        self.assertIn("nothing found in empty", text)

    def test_an_unreadable_argument_is_its_own_error(self):
        self.path("empty").mkdir()
        text = self.summary("verify", "-r", *KEY, "missing", "empty", status=3)
        self.assertIn("missing: ", text)

    def test_a_recipient_after_r_is_explained(self):
        name = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
        self.make({"f": b"1"})
        text = self.summary("encrypt", *KEY, "-r", name, "f", status=3)
        self.assertIn("--recursive", text.splitlines()[0])


class Skipped(FoundCase):
    temporary = "t/.x.host.1.0123abcd.paraes-tmp"

    def setUp(self):
        super().setUp()
        self.make({"t/a": b"1", "t/b.paes": b"2", "t/c.o": b"3", self.temporary: b"4"})
        os.symlink("a", self.path("t/link"))
        os.mkfifo(self.path("t/pipe"))
        self.skipped = {"t/b.paes": ".paes", "t/c.o": "--exclude", "t/link": "symbolic link",
                        "t/pipe": "special", self.temporary: "temporary"}

    def test_v_names_each_skipped_entry(self):
        text = self.summary("encrypt", "-v", "-r", *KEY, "--exclude", "*.o", "t")
        for name, why in self.skipped.items():
            with self.subTest(name=name):
                lines = [line for line in text.splitlines() if line.startswith(f"paraes: {name}: ")]
                self.assertEqual(len(lines), 1, text)
                self.assertIn("skipped", lines[0])
                self.assertIn(why, lines[0])
        self.assertNotIn("t/link", self.summary("encrypt", "-f", "-r", *KEY, "t"))

    def test_json_names_each_skipped_entry(self):
        lines = self.json_lines("encrypt", "-r", *KEY, "--exclude", "*.o", "t")
        found = {line["input"]: line for line in lines if line.get("status") == "skipped"}
        self.assertEqual(sorted(found), sorted(self.skipped))
        for name, why in self.skipped.items():
            self.assertIn(why, found[name]["reason"])
            self.assertEqual((found[name]["exit"], found[name]["bytes"]), (0, 0))
        self.assertEqual(lines[-1]["skipped"], 5)


class Summary(FoundCase):
    KEYS = {"files", "bytes", "salvaged", "up_to_date", "skipped", "failed", "seconds", "exit"}

    def test_json_of_several_ends_with_a_summary(self):
        self.make({"t/a": pattern(1000), "t/b": pattern(2000), "t/c.paes": b"0"})
        for args in (["-r", "t"], ["-f", "t/a", "t/b"]):
            lines = self.json_lines("encrypt", *KEY, *args)
            last = lines[-1]
            self.assertEqual(set(last), self.KEYS)
            self.assertEqual((last["files"], last["bytes"], last["failed"], last["exit"]),
                             (2, 3000, 0, 0))
            self.assertGreater(last["seconds"], 0)
            self.assertEqual([set(line) & self.KEYS - {"bytes", "seconds", "exit"}
                              for line in lines[:-1]], [set()] * (len(lines) - 1))

    def test_failures_are_counted(self):
        self.make({"a": b"1", "b": b"2", "b.paes": b"there already"})
        last = self.json_lines("encrypt", *KEY, "a", "b", "missing", status=3)[-1]
        self.assertEqual((last["files"], last["failed"], last["exit"]), (1, 2, 3))

    def test_a_refused_run_has_a_summary_too(self):
        self.make({"t/a": b"1"})
        self.write("t/k", KEYS[256])
        done = self.exits(2, "encrypt", "--json", "-r", "--key-file", "t/k", "t")
        last = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((last["files"], last["failed"], last["exit"]), (0, 1, 2))

    def test_a_summary_that_cannot_be_written_is_an_error(self):
        self.path("e/x").mkdir(parents=True)
        with open("/dev/full", "wb") as full:
            done = self.exits(3, "verify", "--json", "-r", *KEY, "e", stdout=full)
        self.assertIn(b"standard output: cannot write it", done.stderr)

    def test_salvaged_files_are_counted(self):
        self.make({"t/a": pattern(40000), "t/b": pattern(40000)})
        self.path("t").chmod(0o755)
        self.summary("encrypt", "-r", *KEY, "-o", "out", "t")
        self.damage("out/t/a.paes", 20000)
        text = self.summary("decrypt", "-r", "--salvage", *KEY, "-o", "back", "out/t", status=3)
        self.assertIn("1 file decrypted", text)
        self.assertIn("1 file salvaged with losses", text)
        self.path("out/t/b.paes").unlink()
        self.write("out/t/c.paes", b"no message")
        done = self.run_paraes("decrypt", "-r", "--salvage", "--json", *KEY, "-o", "again", "out/t")
        last = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((last["files"], last["salvaged"], last["failed"], last["exit"]),
                         (0, 1, 1, 3))
        self.assertNotIn(b"empty", done.stderr)
        self.assertEqual(self.path("again/t").stat().st_mode & 0o777, 0o755)

    def test_nothing_found_has_a_summary_too(self):
        self.make({"t/a": b"1"})
        lines = self.json_lines("verify", "-r", *KEY, "t", status=2)
        self.assertEqual(lines[0]["input"], "t/a")
        self.assertEqual((lines[-1]["files"], lines[-1]["skipped"], lines[-1]["exit"]), (0, 1, 2))

    def test_json_goes_to_no_file_of_a_secret(self):
        """JSON goes to standard error when data goes to standard output."""
        self.make({"a": b"1"})
        secret = self.path("../k")
        for args in (["-c", "a"], ["-o", "-", "a"], ["-"]):
            with self.subTest(args=args), open(secret, "ab") as stream:
                self.exits(2, "encrypt", *KEY, "--json", *args, stdin=b"data", stderr=stream)
                self.assertNotIn(b"{", secret.read_bytes())
                secret.write_bytes(KEYS[256])


class Update(FoundCase):
    def test_new_and_changed_inputs_are_processed(self):
        self.make({"t/a": b"1", "t/b": b"2", "t/c": b"3"})
        self.summary("encrypt", "--update", "-r", *KEY, "-o", "out", "t")
        self.write("t/b", b"changed")
        self.make({"t/d": b"new"})
        kept = self.inode("out/t/a.paes")
        text = self.summary("encrypt", "--update", "-r", *KEY, "-o", "out", "t")
        self.assertIn("2 files encrypted", text)
        self.assertIn("2 files are up to date", text)
        self.assertEqual(self.inode("out/t/a.paes"), kept)
        self.summary("decrypt", "-r", *KEY, "-o", "back", "out/t/.")
        self.assertEqual(self.tree("back"), self.tree("t"))

    def test_an_input_that_an_older_one_replaced_is_processed(self):
        """As mv, cp -p, tar x and package managers do."""
        self.make({"t/time": b"same", "t/size": b"first", "t/both": b"first", "t/kept": b"kept"})
        run = ("encrypt", "--update", "-r", *KEY, "-o", "out", "t")
        self.summary(*run)
        times = {name: self.time_of(f"t/{name}") for name in ("time", "size", "both")}
        self.write("t/time", b"SAME")
        self.write("t/size", b"longer")
        self.write("t/both", b"longer")
        self.set_time("t/time", times["time"] - 3 * SECOND)
        self.set_time("t/size", times["size"])
        self.set_time("t/both", times["both"] - 1000 * SECOND)
        text = self.summary(*run)
        self.assertIn("3 files encrypted", text)
        self.assertIn("1 file is up to date", text)
        self.assertIn("nothing new: 4 files", self.summary(*run))
        self.summary("decrypt", "-r", *KEY, "-o", "back", "out/t/.")
        self.assertEqual(self.tree("back"), self.tree("t"))
        self.assertEqual([name for name in self.tree(".") if "paraes-" in name], [])

    def test_sizes_fit_in_every_format(self):
        """An output is up to date, and no longer once its input has another size."""
        raw = ["--format", "raw", *KEY, "--mode"]
        iv = ["--iv-hex", "00" * 16]
        formats = {"c2sp": ["--format", "c2sp", *KEY], "tink": ["--format", "tink", *KEY],
                   "cbc": [*raw, "cbc", *iv], "nopad": [*raw, "cbc", *iv, "--nopad"],
                   "ecb": [*raw, "ecb"], "ctr": [*raw, "ctr", *iv],
                   "openssl": ["--format", "openssl", "--passphrase-file", "../k"],
                   "passphrase": ["--passphrase-file", "../k", "--scrypt-log2n", "4"]}
        for name, flags in formats.items():
            for size in (0, 16, 32, 1 << 20):
                with self.subTest(name=name, size=size):
                    self.write("f", pattern(size))
                    at = self.time_of("f")
                    run = ("encrypt", "--update", *flags, "-o", f"{name}.out", "f")
                    self.summary(*run)
                    self.assertIn("up to date", self.summary(*run))
                    self.write("f", pattern(size + 16))
                    self.set_time("f", at)
                    changed = self.summary(*run)
                    self.assertEqual("up to date" in changed, name == "tink", changed)

    def test_decrypting_keeps_newer_plaintext(self):
        self.make({"t/a": b"old", "t/b": b"old"})
        self.summary("encrypt", "-r", *KEY, "t")
        self.write("t/a", b"edited later")
        self.set_time("t/a", self.time_of("t/a.paes") + SECOND)
        self.set_time("t/b", self.time_of("t/b.paes") - SECOND)
        self.path("t/b").write_bytes(b"older")
        self.set_time("t/b", self.time_of("t/b.paes") - SECOND)
        text = self.summary("decrypt", "--update", "-r", *KEY, "t")
        self.assertIn("1 file decrypted", text)
        self.assertEqual((self.read("t/a"), self.read("t/b")), (b"edited later", b"old"))

    def test_a_single_file_is_left_out(self):
        self.make({"a": b"1"})
        for more in ([], ["-o", "x"]):
            self.summary("encrypt", "--update", *KEY, *more, "a")
            output = more[-1] if more else "a.paes"
            kept = self.inode(output)
            text = self.summary("encrypt", "--update", *KEY, *more, "a")
            self.assertIn(f"a: {output} is up to date", text)
            self.assertEqual(self.inode(output), kept)
            self.set_time("a", self.time_of("a") + 3 * SECOND)
            self.summary("encrypt", "--update", *KEY, *more, "a")
            self.assertNotEqual(self.inode(output), kept)
        self.assertEqual(self.summary("encrypt", "--update", "-q", *KEY, "a"), "")

    def test_rm_spares_what_was_left_out(self):
        self.make({"t/a": b"1", "t/b": b"2"})
        self.summary("encrypt", *KEY, "t/a")
        text = self.summary("encrypt", "--update", "--rm", "-r", *KEY, "t")
        self.assertIn("1 file encrypted", text)
        self.assertEqual(sorted(self.tree("t")), ["a", "a.paes", "b.paes"])
        self.summary("encrypt", "--update", "--rm", *KEY, "t/a")
        self.assertTrue(self.path("t/a").exists())

    def test_json_says_what_is_up_to_date(self):
        self.make({"t/a": b"1", "t/b": b"2"})
        self.summary("encrypt", *KEY, "t/a")
        for args in (["-r", "t"], ["t/a", "t/b"]):
            lines = self.json_lines("encrypt", "--update", *KEY, *args)
            kept = next(line for line in lines if line.get("input") == "t/a")
            self.assertEqual((kept["output"], kept["status"], kept["exit"]),
                             ("t/a.paes", "up to date", 0))
            self.assertGreaterEqual(lines[-1]["up_to_date"], 1)
        line, = self.json_lines("encrypt", "--update", *KEY, "t/a")
        self.assertEqual(line["status"], "up to date")

    def test_a_link_is_no_output_that_is_up_to_date(self):
        self.make({"t/a": b"1"})
        self.write("other", b"2")
        self.set_time("other", self.time_of("t/a") + 60 * SECOND)
        os.symlink("../other", self.path("t/a.paes"))
        self.assertIn("t/a.paes", self.summary("encrypt", "--update", "-r", *KEY, "t", status=3))
        self.assertEqual(self.read("other"), b"2")

    def test_an_input_is_not_its_own_output(self):
        self.make({"a.paes": b"1"})
        os.link(self.path("a.paes"), self.path("a"))
        self.fails(2, "decrypt", "--update", *KEY, "a.paes", says="itself")
        self.assertIn("an input of this run",
                      self.summary("decrypt", "--update", "-r", *KEY, ".", status=3))

    def test_inputs_are_not_overwritten(self):
        """a.paes is an output and an input: an older one must not be replaced."""
        self.make({"a": b"1"})
        self.write("a.paes", b"an input of its own")
        self.set_time("a.paes", self.time_of("a") - SECOND)
        text = self.summary("encrypt", "--update", *KEY, "a", "a.paes", status=3)
        self.assertIn("input of this run", text)
        self.assertEqual(self.read("a.paes"), b"an input of its own")

    def test_an_input_is_not_the_output_of_another(self):
        """b.paes is a hard link of a: it is no encrypted b, though it is not older."""
        self.make({"a": b"1", "b": b"2"})
        os.link(self.path("a"), self.path("b.paes"))
        text = self.summary("encrypt", "--update", *KEY, "a", "b", status=3)
        self.assertIn("paraes: b: its output would be b.paes, which is an input of this run", text)
        self.assertNotIn("up to date", text)

    def test_the_key_is_no_output(self):
        self.make({"t/a": b"1", "t/a.paes": KEYS[256]})
        self.path("t/a.paes").chmod(0o600)
        for age in (-SECOND, SECOND):
            self.set_time("t/a.paes", self.time_of("t/a") + age)
            self.fails(2, "encrypt", "--update", "-r", "--key-file", "t/a.paes", "t", says="t/a.paes")
            self.fails(2, "encrypt", "--update", "--key-file", "t/a.paes", "t/a", says="t/a.paes")
        self.assertEqual(self.read("t/a.paes"), KEYS[256])

    def test_the_target_of_a_link_is_not_replaced_without_f(self):
        self.make({"b": b"new", "precious": b"old"})
        self.set_time("precious", self.time_of("b") - 10 * SECOND)
        self.path("b.paes").symlink_to("precious")
        self.fails(2, "encrypt", "--update", *KEY, "b", says="b.paes: it exists already")
        self.assertEqual(self.read("precious"), b"old")
        self.path("precious").write_bytes(self.encrypted(b"own"))
        self.set_time("precious", self.time_of("b"))
        self.assertIn("up to date", self.summary("encrypt", "--update", *KEY, "b"))
        self.set_time("precious", self.time_of("b") - 10 * SECOND)
        self.summary("encrypt", "--update", "-f", *KEY, "b")
        self.assertNotEqual(self.read("precious"), b"old")

    def test_update_needs_files_and_whole_messages(self):
        self.make({"a": b"1"})
        self.summary("encrypt", *KEY, "a")
        for args in (["encrypt", "-c", "a"], ["encrypt", "-"], ["encrypt", "-o", "-", "a"],
                     ["encrypt", "-o", "a.paes", "-"], ["encrypt", "-o", "a.paes"],
                     ["decrypt", "--salvage", "-o", "x", "a.paes"],
                     ["decrypt", "--offset", "0", "-o", "x", "a.paes"],
                     ["decrypt", "--length", "1", "-o", "x", "a.paes"]):
            with self.subTest(args=args):
                self.fails(2, args[0], "--update", *KEY, *args[1:], says="--update")


class OutputFolder(FoundCase):
    """-o FOLDER with a single input."""

    def test_an_existing_folder_receives_the_file(self):
        self.make({"m": pattern(5000)})
        self.path("d").mkdir()
        self.path("link").symlink_to("d")
        for folder in ("d", "d/", "link", "./d"):
            with self.subTest(folder=folder):
                self.summary("encrypt", *KEY, "-f", "-o", folder, "m")
                self.assertEqual(sorted(self.tree("d")), ["m.paes"])
        self.summary("decrypt", *KEY, "-o", "d", "d/m.paes")
        self.assertEqual(self.read("d/m"), pattern(5000))

    def test_a_name_with_a_slash_is_made(self):
        self.make({"s/m": b"1"})
        line, = self.json_lines("encrypt", *KEY, "-o", "new/sub/", "s/m")
        self.assertEqual(line["output"], "new/sub/m.paes")
        self.assertEqual(sorted(self.tree("new")), ["sub/m.paes"])
        self.assertEqual(self.path("new/sub").stat().st_mode & 0o777, 0o755)

    def test_it_is_not_made_for_an_input_that_fails(self):
        self.make({"m": b"1"})
        self.summary("encrypt", *KEY, "m")
        self.fails(1, "encrypt", *KEY, "-o", "new/", "missing", says="missing")
        self.write("../other", KEYS[128])
        self.fails(5, "decrypt", "--key-file", "../other", "-o", "new/sub/", "m.paes")
        self.fails(2, "decrypt", *KEY, "-o", "new/", "m", says="m")
        self.assertEqual(self.names(), ["m", "m.paes"])

    def test_an_existing_output_in_it_is_refused(self):
        output = self.encrypted(b"1")
        self.make({"m": b"1", "d/m.paes": output})
        self.set_time("d/m.paes", self.time_of("m"))
        self.fails(2, "encrypt", *KEY, "-o", "d", "m", says=["d/m.paes", "-f"])
        self.assertEqual(self.read("d/m.paes"), output)
        self.assertIn("up to date", self.summary("encrypt", *KEY, "--update", "-o", "d", "m"))

    def test_a_name_without_suffix_gets_advice_that_works(self):
        self.make({"s/x": b"1", "s/y": b"1"})
        self.path("d").mkdir()
        done = self.fails(2, "decrypt", *KEY, "-o", "d", "s/x", says="s/x: its name does not end")
        self.assertIn(b"give -o FILE\n", done.stderr)
        text = self.summary("decrypt", *KEY, "s/x", "s/y", status=3)
        self.assertIn("s/y: its name does not end in .paes, so its output has no name: decrypt it "
                      "alone, with -o FILE", text)

    def test_the_output_may_not_be_the_input(self):
        self.make({"d/m.paes": b"1"})
        self.path("d/m").symlink_to("m.paes")
        self.fails(2, "decrypt", *KEY, "-o", "d", "d/m.paes", says="d/m")

    def test_standard_input_and_parts_have_no_name_in_it(self):
        self.make({"m": b"1"})
        self.path("d").mkdir()
        self.summary("encrypt", *KEY, "m")
        self.fails(2, "encrypt", *KEY, "-o", "d", "-", says=["d: ", "folder"])
        self.fails(2, "encrypt", *KEY, "-o", "new/", "-", says=["new/", "folder"])
        self.fails(2, "decrypt", *KEY, "--offset", "0", "-o", "d", "m.paes", says=["d: ", "folder"])
        self.assertEqual(sorted(self.tree()), ["m", "m.paes"])

    def test_a_file_with_a_slash_is_refused(self):
        self.make({"m": b"1", "x": b"2"})
        self.fails(2, "encrypt", *KEY, "-o", "x/", "m", says=["x", "not a folder"])
        self.assertEqual(self.read("x"), b"2")

    def test_rm_removes_the_source_after_the_folder_is_synced(self):
        self.make({"m": b"1"})
        self.summary("encrypt", "--rm", *KEY, "-o", "new/", "m")
        self.assertEqual(sorted(self.tree()), ["new/m.paes"])
