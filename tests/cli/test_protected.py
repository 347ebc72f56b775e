"""Files that a run neither overwrites nor removes, even with -f and --rm: files that hold its keys,
its other inputs and its own outputs. Also links and --exclude."""

import itertools
import json
import os
import subprocess

from support import IV, KEYS, Case, file_reports

CTR = ["--format", "raw", "--mode", "ctr", "--iv-hex", IV.hex()]
KEYSET = (b'{"primaryKeyId":1,"key":[{"keyData":{"typeUrl":'
          b'"type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey","value":'
          b'"GhAAAAAAAAAAAAAAAAAAAAAAEggYAxAQCICABA==","keyMaterialType":"SYMMETRIC"},'
          b'"status":"ENABLED","keyId":1,"outputPrefixType":"RAW"}]}')
NAMED = "is the file of"


class SecretFiles(Case):
    SECRETS = {"my.key": KEYS[256], "words": b"correct horse\n", "keyset.json": KEYSET}
    GIVEN = {**SECRETS, "a": b"1", **{f"t/{name}": data for name, data in SECRETS.items()}, "t/z": b"2"}

    def setUp(self):
        super().setUp()
        self.before = self.tree()

    def tree(self):
        return {os.fspath(path.relative_to(self.dir)): path.read_bytes()
                for path in self.dir.rglob("*") if path.is_file()}

    def refused(self, *args, says=(), **kwargs):
        """Expects exit 2, one error line, and no file written or removed."""
        done = self.fails(2, *args, says=[NAMED, *([says] if isinstance(says, str) else says)],
                          **kwargs)
        self.assertEqual(self.tree(), self.before)
        return done

    def sources(self, folder):
        """Flags that read a secret from a file in `folder`, each with the name of that file."""
        return [(["--key-file", f"{folder}my.key"], "my.key"),
                ([*CTR, "--key-file", f"{folder}my.key"], "my.key"),
                (["--passphrase-file", f"{folder}words", "--scrypt-log2n", "2"], "words"),
                (["--format", "tink", "--key-file", f"{folder}keyset.json"], "keyset.json")]

    def test_key_file_found_by_r_is_refused(self):
        for flags, name in self.sources("t/"):
            for rm in ([], ["--rm"]):
                for more in ([], ["-f"], ["-o", "out"]):
                    with self.subTest(flags=flags, rm=rm, more=more):
                        self.refused("encrypt", "-r", *rm, *more, *flags, "t",
                                     says=[f"t/{name}", f"--exclude /{name}"])
                self.refused("encrypt", "-r", *rm, *flags, "t/.", says=f"t/./{name}")

    def test_key_file_in_the_working_folder_is_refused_with_r(self):
        self.refused("encrypt", "-r", "--rm", "--key-file", "my.key", ".", says="./my.key")

    def test_r_skips_the_key_file_with_exclude(self):
        flags = ["encrypt", "-r", "--rm", "--key-file", "t/my.key"]
        self.ok(*flags, "--exclude", "/my.key", "t")
        self.assertEqual(sorted(os.listdir(self.path("t"))),
                         ["keyset.json.paes", "my.key", "words.paes", "z.paes"])

    def test_key_file_as_input_is_refused(self):
        for flags, name in self.sources(""):
            for inputs in ([name], ["a", name], [name, "a"], ["-r", "t", name]):
                for rm in ([], ["--rm", "-f"]):
                    with self.subTest(flags=flags, inputs=inputs, rm=rm):
                        self.refused("encrypt", *rm, *flags, *inputs, says=f"paraes: {name}: it is the file of ")

    def test_key_file_under_another_name_is_refused(self):
        os.symlink("my.key", self.path("soft"))
        os.link(self.path("my.key"), self.path("hard"))
        self.before = self.tree()
        for key, name in (("soft", "my.key"), ("my.key", "soft"), ("my.key", "hard"),
                          ("hard", "soft"), ("my.key", "t/../my.key")):
            self.refused("encrypt", "-f", "--rm", "--key-file", key, name, says=name)
            self.refused("encrypt", "-f", "--key-file", key, "-o", name, "a", says=name)

    def test_key_file_as_output_is_refused(self):
        for flags, name in self.sources(""):
            for force in ([], ["-f"]):
                for source in ("a", "-"):
                    with self.subTest(flags=flags, force=force, source=source):
                        self.refused("encrypt", *force, *flags, "-o", name, source, says=name)

    def test_key_file_as_default_output_is_refused(self):
        self.ok("encrypt", "--key-file", "my.key", "-o", "my.key.paes", "a")
        self.write("t/my.key.paes", b"x")
        self.before = self.tree()
        for key, *args in (("my.key", "my.key.paes"), ("my.key", "-r", "."),
                           ("t/my.key", "-o", "t", "-r", "t/.")):
            self.refused("decrypt", "-f", "--key-file", key, *args, says=key)

    def test_secret_file_read_from_a_descriptor_is_refused(self):
        for script in ('"$@" --key-file - my.key < my.key', '"$@" --key-file my.key - < my.key',
                       '"$@" --key-file my.key - < a >> my.key',
                       '"$@" --passphrase-fd 3 --scrypt-log2n 2 words 3< words',
                       '"$@" -f --passphrase-fd 3 --scrypt-log2n 2 -o words a 3< words'):
            with self.subTest(script=script):
                done = self.shell(script, "encrypt", status=2)
                self.assertEqual(done.stdout, b"")
                self.assertIn(NAMED.encode(), done.stderr)
                self.assertEqual(self.tree(), self.before)


class Inputs(Case):
    """-f does not overwrite an input of the same run."""

    GIVEN = {"k": KEYS[256]}

    def test_output_that_is_another_input_is_refused(self):
        self.write("a", b"1")
        self.write("a.paes", b"precious")
        for inputs in (["a", "a.paes"], ["a.paes", "a"]):
            done = self.exits(3, "encrypt", "-f", "--rm", "--key-file", "k", *inputs)
            self.assertIn(b"is an input of this run", done.stderr)
            self.assertEqual(self.read("a"), b"1")
            # a.paes itself was encrypted, and then removed by --rm.
            self.assertEqual(self.ok("decrypt", "--key-file", "k", "-c", "a.paes.paes"),
                             b"precious")
            self.assertFalse(self.path("a.paes").exists())
            os.rename(self.path("a.paes.paes"), self.path("x"))
            self.write("a.paes", b"precious")

    def test_output_that_is_an_input_found_by_r_is_refused(self):
        self.write("t/x", b"1")
        self.ok("encrypt", "--key-file", "k", "t/x")
        inner = self.read("t/x.paes")
        self.ok("encrypt", "--key-file", "k", "t/x.paes")
        done = self.exits(3, "decrypt", "-r", "-f", "--key-file", "k", "t")
        self.assertIn(b"is an input of this run", done.stderr)
        self.assertEqual(self.read("t/x.paes"), inner)
        self.assertEqual(self.read("t/x"), b"1")

    def test_refused_inputs_are_not_overwritten(self):
        for name, data in (("f", b"one"), ("p/f.paes", b"two"), ("q/f.paes", b"three")):
            self.write(name, data)
        # The third input is refused because the second one has the same output.
        self.exits(3, "encrypt", "-f", "--key-file", "k", "-o", "q", "f", "p/f.paes", "q/f.paes")
        self.assertEqual(self.read("q/f.paes"), b"three")
        self.ok("encrypt", "--key-file", "k", "-o", "x.paes", "f")
        self.write("x", b"not encrypted")
        self.exits(3, "decrypt", "-f", "--key-file", "k", "x.paes", "x")
        self.assertEqual(self.read("x"), b"not encrypted")

    def test_file_below_two_arguments_is_encrypted_once(self):
        self.write("t/a", b"1")
        self.write("t/sub/b", b"2")
        self.exits(0, "encrypt", "-r", "--rm", "--key-file", "k", "-o", "out", "t", "t/sub")
        self.assertEqual(os.listdir(self.path("t/sub")), [])
        self.assertEqual(self.ok("decrypt", "--key-file", "k", "-c", "out/sub/b.paes"), b"2")


class OtherOutputs(Case):
    """Outputs other than messages: profiles, reports and the lines of --json."""

    GIVEN = {"my.key": KEYS[256]}

    def test_tune_overwrites_no_key_file_or_folder(self):
        self.fails(2, "tune", "-q", "--seconds", "1", "-o", "my.key", says=["my.key", "no", "profile"])
        self.path("d").mkdir()
        self.fails(2, "tune", "-q", "--seconds", "1", "-o", "d", says="folder")
        self.fails(2, "tune", "-q", "--seconds", "1", "-o", "new/", says="folder")
        self.assertEqual(self.names(), ["d", "my.key"])
        self.assertEqual(self.read("my.key"), KEYS[256])

    def test_bench_overwrites_reports_but_no_key_file(self):
        flags = ["bench", "--mode", "ctr", "--size", "1KiB", "--samples", "1", "--rivals", "none",
                 "--direction", "encrypt", "--json"]
        self.fails(2, *flags, "my.key", says=["my.key", "not a bench report"])
        self.assertEqual(self.read("my.key"), KEYS[256])
        os.symlink("report", self.path("link"))
        self.write("report", b"")
        for name in ("report", "report", "link", "link"):
            self.ok(*flags, name)
            self.assertEqual(json.loads(self.read("report"))["schema"], 1)
        self.assertTrue(self.path("link").is_symlink())

    def test_old_report_survives_a_killed_bench(self):
        flags = ["bench", "--mode", "ctr", "--size", "1KiB", "--rivals", "none", "--json", "report"]
        self.ok(*flags, "--samples", "1")
        before = self.read("report")
        process = self.start(*flags, "--samples", "1", "--min-time", "60",
                             stdout=subprocess.DEVNULL)
        self.wait_for(lambda: os.path.exists(f"/proc/{process.pid}/fd") and
                      self.temporaries(process), "a temporary")
        process.kill()
        process.wait()
        self.assertEqual(self.read("report"), before)

    def test_json_is_not_written_to_a_key_file(self):
        self.write("a", b"1")
        script = '"$@" --key-file my.key --json -f -o z a 1<> my.key'
        done = self.shell(script, "encrypt", status=2)
        self.assertIn(NAMED.encode(), done.stderr)
        self.assertEqual(self.read("my.key")[:32], KEYS[256])


class OwnOutputs(Case):
    """No output of a run overwrites another one, not even through links and mounts."""

    plain = {"a": b"1", "b": b"22"}
    GIVEN = {"k": KEYS[256], **plain}

    def check_nothing_is_lost(self, folder=""):
        for name, data in self.plain.items():
            if self.path(name).exists():
                self.assertEqual(self.read(name), data)
            else:
                got = self.ok("decrypt", "--key-file", "k", "-c", f"{folder}{name}.paes")
                self.assertEqual(got, data)

    def test_links_between_the_outputs_lose_no_data(self):
        for folder, old, threads, target in itertools.product(
                ("", "out/"), (None, b"old"), ("1", "2"), ("a", "b")):
            with self.subTest(folder=folder, old=old, threads=threads, target=target):
                self.path("out").mkdir(exist_ok=True)
                if old:
                    self.write(f"{folder}{target}.paes", old)
                os.symlink(f"{target}.paes", self.path(f"{folder}{'ba'['ab'.index(target)]}.paes"))
                self.run_paraes("encrypt", "-f", "--rm", "-T", threads, "--key-file", "k",
                                *(["-o", "out"] if folder else []), "a", "b")
                self.check_nothing_is_lost(folder)
                for name, data in self.plain.items():
                    self.path(f"{folder}{name}.paes").unlink(missing_ok=True)
                    self.write(name, data)

    def test_two_names_of_one_output_folder_lose_no_data(self):
        # Like a case-insensitive file system, this gives one folder two names.
        if os.getuid() != 0:
            self.skipTest("only root can mount")
        for name in ("out/t/x", "out/t/y"):
            self.path(name).mkdir(parents=True)
        self.plain = {"t/x/f": b"1", "t/y/f": b"22"}
        for name, data in self.plain.items():
            self.write(name, data)
        mount = subprocess.run(["mount", "--bind", self.path("out/t/x"), self.path("out/t/y")],
                               capture_output=True)
        if mount.returncode != 0:
            self.skipTest("cannot mount: " + mount.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", self.path("out/t/y")], check=True)
        for old in (False, True):
            if old:
                self.write("out/t/x/f.paes", b"old")
            done = self.exits(3, "encrypt", "-r", "-f", "--rm", "--key-file", "k", "-o", "out",
                              "t")
            self.assertIn(b"is the output of another input of this run", done.stderr)
            self.check_nothing_is_lost("out/")
            self.assertEqual(sum(self.path(name).exists() for name in self.plain), 1)
            for name, data in self.plain.items():
                self.write(name, data)
            self.path("out/t/x/f.paes").unlink()


class Links(Case):
    """Symbolic links are followed where they are arguments, and nowhere else."""

    GIVEN = {"k": KEYS[256], "t/a": b"1", "outside": b"not in the tree"}

    def test_links_as_arguments_are_followed(self):
        os.symlink("t", self.path("link"))
        os.symlink("outside", self.path("file"))
        self.ok("encrypt", "-r", "--key-file", "k", "link")
        self.assertEqual(sorted(os.listdir(self.path("t"))), ["a", "a.paes"])
        self.ok("encrypt", "--key-file", "k", "file")
        self.assertEqual(self.ok("decrypt", "--key-file", "k", "-c", "file.paes"),
                         b"not in the tree")

    def test_output_in_a_folder_replaces_a_link_itself(self):
        os.symlink("../outside", self.path("t/a.paes"))
        self.path("out").mkdir()
        os.symlink("../outside", self.path("out/a.paes"))
        for args in (["t"], ["-o", "out", "t/."]):
            done = self.exits(3, "encrypt", "-r", "--key-file", "k", *args)
            self.assertIn(b"exists already", done.stderr)
            self.ok("encrypt", "-r", "-f", "--key-file", "k", *args)
        for name in ("t/a.paes", "out/a.paes"):
            self.assertFalse(self.path(name).is_symlink())
            self.assertEqual(self.ok("decrypt", "--key-file", "k", "-c", name), b"1")
        self.assertEqual(self.read("outside"), b"not in the tree")

    def test_links_inside_the_output_folder_are_not_followed(self):
        self.path("elsewhere").mkdir()
        self.path("out").mkdir()
        os.symlink("../elsewhere", self.path("out/t"))
        done = self.exits(3, "encrypt", "-r", "--rm", "--key-file", "k", "-o", "out", "t")
        self.assertIn(b"symbolic link", done.stderr)
        self.assertEqual(os.listdir(self.path("elsewhere")), [])
        self.assertEqual(self.read("t/a"), b"1")

    def test_dangling_link_as_output_folder_is_refused(self):
        os.symlink("nowhere", self.path("out"))
        self.fails(2, "encrypt", "-r", "--key-file", "k", "-o", "out", "t",
                   says="out: it is a symbolic link that leads nowhere")
        self.assertFalse(self.path("nowhere").exists())

    def test_link_as_output_folder_is_followed(self):
        self.path("elsewhere").mkdir()
        os.symlink("elsewhere", self.path("out"))
        self.ok("encrypt", "-r", "--key-file", "k", "-o", "out/new", "t")
        self.assertEqual(os.listdir(self.path("elsewhere/new/t")), ["a.paes"])


class Exclude(Case):
    """--exclude and its patterns."""

    GIVEN = {"k": KEYS[256], **dict.fromkeys(
        ("t/a.c", "t/a.o", "t/sub/b.o", "t/sub/b.c", "t/sub/deep/c.o", "t/cache/x", "t/sub/cache/y",
         "t/sub/cache.c"), b"1")}

    def taken(self, *patterns, inputs=("t",), verb="encrypt"):
        """Runs `verb` with --exclude for each pattern; returns the inputs that it processed."""
        flags = [flag for pattern in patterns for flag in ("--exclude", pattern)]
        force = [] if verb == "verify" else ["-f"]
        done = self.exits(0, verb, "-r", *force, "--json", *flags, "--key-file", "k", *inputs)
        return sorted(file_reports(done.stdout))

    def test_patterns_without_a_slash_match_names(self):
        everything = self.taken()
        self.assertEqual(len(everything), 8)
        self.assertEqual(self.taken("*.o"), [n for n in everything if not n.endswith(".o")])
        self.assertEqual(self.taken("*.o", "a.?"),
                         [n for n in everything if not n.endswith((".o", "a.c"))])
        self.assertEqual(self.taken("[ab].c"),
                         [n for n in everything if not n.endswith(("/a.c", "/b.c"))])

    def test_patterns_match_folders(self):
        rest = [n for n in self.taken() if "/cache/" not in n]
        self.assertEqual(self.taken("cache"), rest)
        self.assertEqual(self.taken("cache/"), rest)
        self.assertEqual(self.taken("cache*/"), rest)
        self.assertEqual(self.taken("cache*"), [n for n in rest if "cache" not in n])

    def test_patterns_with_a_slash_match_paths(self):
        everything = self.taken()
        for pattern in ("sub/b.o", "/sub/b.o", "t/sub/b.o"):
            self.assertEqual(self.taken(pattern), [n for n in everything if n != "t/sub/b.o"])
        # A star does not match a slash.
        self.assertEqual(self.taken("sub/*.o"), [n for n in everything if n != "t/sub/b.o"])
        self.assertEqual(self.taken("/cache"), [n for n in everything if n != "t/cache/x"])
        absolute = os.fspath(self.path("t/a.c"))
        self.assertEqual(self.taken(absolute, inputs=[os.fspath(self.path("t"))]),
                         [os.fspath(self.path(n)) for n in everything if n != "t/a.c"])

    def test_exclude_applies_to_file_arguments(self):
        self.assertEqual(self.taken("*.o", inputs=["t/a.c", "t/a.o", "t/sub/b.o"]), ["t/a.c"])

    def test_excluded_files_are_counted_and_create_no_folders(self):
        done = self.run_paraes("encrypt", "-r", "--exclude", "cache", "--exclude", "*.o",
                               "--key-file", "k", "-o", "out", "t")
        self.assertIn(b"3 files encrypted", done.stderr)
        self.assertIn(b"skipped 5 that --exclude matches", done.stderr)
        self.assertEqual(sorted(os.listdir(self.path("out/t"))), ["a.c.paes", "sub"])

    def test_exclude_works_with_decrypt_and_verify(self):
        self.taken()
        self.assertEqual(self.taken("a.*", "sub/", verb="verify"), ["t/cache/x.paes"])
        self.assertEqual(self.taken("a.*", "sub/", verb="decrypt"), ["t/cache/x.paes"])

    def test_empty_patterns_and_excluding_every_input_are_refused(self):
        for pattern in ("", "/", "//"):
            self.fails(2, "encrypt", "-r", "--exclude", pattern, "--key-file", "k", "t",
                       says="empty pattern")
        self.fails(2, "encrypt", "--exclude", "*.c", "--key-file", "k", "t/a.c",
                   says=["--exclude", "t/a.c"])
