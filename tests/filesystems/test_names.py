"""File systems that take several names for one: by case, by Unicode normalisation, without dots at the end.
With numbers of inodes that are made up, nothing tells that two names lead to one file.

Two inputs of a run never share an output: the second is refused, and its source stays."""

import functools
import itertools
import os
import pathlib
import random
import re
import socket

from bench import KEY, OLD, BenchCase, sample, setUpModule  # noqa: F401
from support import KEYS

NFC, NFD = "\u00e9t\u00e9", "e\u0301te\u0301"
INODES = ("true", "by_name", "changing")
# Switches of a mount, and names that are one name there.
FOLDS = {
    "case": ({"fold": "case"}, ("A", "a")),
    "case, stored in lower case": ({"fold": "case", "store": "lower"}, ("A", "a")),
    "case, stored in upper case": ({"fold": "case", "store": "upper"}, ("A", "a")),
    "case of other letters": ({"fold": "case"}, ("\u00c9", "\u00e9")),
    "case that changes the length": ({"fold": "case"}, ("stra\u00dfe", "STRASSE")),
    "normalisation": ({"fold": "norm"}, (NFC, NFD)),
    "normalisation, stored decomposed": ({"fold": "norm", "store": "nfd"}, (NFC, NFD)),
    "a second ideograph for the same": ({"fold": "norm"}, ("\uf900", "\u8c48")),
    "both": ({"fold": "both"}, (NFC.upper(), NFD)),
    "folders": ({"fold": "case"}, ("D/x", "d/x")),
    "folders in folders": ({"fold": "both"}, (f"p/{NFC}/D/x", f"p/{NFD}/d/X")),
}
# Flags, and whether they permit that an existing output is replaced. `newer`: which source is.
MODES = {
    "": ([], None),
    "-f": (["-f"], None),
    "--rm": (["--rm"], None),
    "-f --rm": (["-f", "--rm"], None),
    "--update, the first is newer": (["--update"], 0),
    "--update, the second is newer": (["--update"], 1),
    "--update --rm": (["--update", "--rm"], 1),
    "-f, one thread": (["-f", "-T", "1"], None),
}
# As names of temporary files have it.
HOST = re.sub("[^A-Za-z0-9_]", "-", socket.gethostname())
DATA = (b"the first file", b"the second file, which is longer")


def listed(top):
    """The files below a folder by name, as bytes of names that need no encoding."""
    return {os.path.relpath(os.path.join(at, name), top): os.path.join(at, name)
            for at, _, names in os.walk(top) for name in names}


def stored(mount):
    return sorted(name.lower() for name in os.listdir(mount.back))


def on_each(**switches):
    """Runs a test on mounts that fold by case, one for each way of numbering inodes."""

    def decorated(test):
        @functools.wraps(test)
        def tests(self):
            for inodes in INODES:
                with self.subTest(inodes=inodes):
                    mount = self.mount(inodes=inodes, fold="case", **switches)
                    test(self, inodes, mount)
                    self.release(mount)

        return tests

    return decorated


class NamesCase(BenchCase):
    MODES = MODES

    def run_verb(self, *args):
        """The run that is tested."""
        return self.run_in(self.dir, *args)

    def plain_of(self, path, verb):
        """What an output holds: nothing if it does not open."""
        if verb == "decrypt":
            return pathlib.Path(path).read_bytes()
        done = self.run_in(self.dir, "decrypt", "-q", *KEY, "-c", path)
        return done.stdout if done.returncode == 0 else None

    def make_sources(self, folder, names, verb, newer=None):
        """The paths of the two sources by the bytes that they stand for."""
        sources = {}
        for i, (name, data) in enumerate(zip(names, DATA, strict=True)):
            path = folder / (name if verb == "encrypt" else f"{name}.paes")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data if verb == "encrypt" else self.sealed(*KEY, data=data))
            time = 1_000_000_000 if newer is None or i == newer else 900_000_000
            os.utime(path, (time, time))
            sources[data] = path
        return sources

    def check_names(self, done, verb, sources, outputs, removes, shared=True, inodes="true"):
        """Checks the rule for sources that were given once each. `shared`: the mount takes their outputs
        for one. Where numbers of inodes change with each look-up, all may fail."""
        text = done.stderr.decode()
        note = f"exit {done.returncode}: {text}; outputs: {sorted(outputs)}"
        found = []
        for name, path in outputs.items():
            self.assertFalse(name.lower().endswith(".paraes-tmp"), note)
            plain = self.plain_of(path, verb)
            self.assertIn(plain, sources, f"{name} is partial; {note}")
            found.append(plain)
        for data, source in sources.items():
            if not source.exists():
                self.assertTrue(removes, note)
            self.assertTrue(source.exists() or data in found, f"{data} is lost; {note}")
            if done.returncode == 0:
                self.assertIn(data, found, f"{data} has no output, and exit 0; {note}")
                self.assertEqual(source.exists(), not removes, note)
        self.assertEqual(len(found), len(set(found)), note)
        if inodes == "changing":
            return
        if not shared:
            self.assertEqual(done.returncode, 0, note)
            return
        # One is done and the other refused: it can be done elsewhere.
        self.assertEqual(len(found), 1, note)
        self.assertEqual(done.returncode, 3, note)
        self.assertIn("the same name", text)
        for data, source in sources.items():
            self.assertEqual(source.exists(), data not in found or not removes, note)

    def pair(self, mount, inodes, fold, mode, verb):
        """Both sources in one folder, onto the mount."""
        flags, newer = self.MODES[mode]
        self.check_pair(mount, inodes, FOLDS[fold][1], verb, *flags, newer=newer)

    def check_pair(self, mount, inodes, names, verb, *flags, newer=None, shared=True):
        self.number += 1
        name = f"{self.number}"  # in no case
        source = self.path(f"local{name}/src")
        sources = self.make_sources(source, names, verb, newer)
        done = self.run_verb(verb, "-q", "-r", *KEY, *flags, "-o", mount.place / name, source)
        self.check_names(done, verb, sources, listed(mount.back / name), "--rm" in flags, shared, inodes)


class Folders(NamesCase):
    def test_two_files_of_a_folder(self):
        kinds = [(fold, inodes) for fold in FOLDS for inodes in INODES]
        runs = list(itertools.product(kinds, MODES, ("encrypt", "decrypt")))
        random.Random(0).shuffle(runs)  # steps through a product would miss some of its factors
        known = sample(runs, 24, "two files of a folder")
        for fold, inodes in kinds:
            chosen = [(mode, verb) for kind, mode, verb in known if kind == (fold, inodes)]
            if not chosen:
                continue
            mount = self.mount(inodes=inodes, **FOLDS[fold][0])
            for mode, verb in chosen:
                with self.subTest(fold, inodes=inodes, mode=mode, verb=verb):
                    self.pair(mount, inodes, fold, mode, verb)
            self.release(mount)

    @on_each()
    def test_the_modes_that_lost_files(self, inodes, mount):
        for mode in ("-f --rm", "--update, the first is newer", "--update, the second is newer"):
            with self.subTest(mode):
                self.pair(mount, inodes, "case", mode, "encrypt")

    @on_each()
    def test_many_threads_and_files(self, inodes, mount):
        """Twenty pairs: whichever comes first, each content is in an output or still in its source."""
        source = self.path(f"many {inodes}")
        source.mkdir()
        sources = {}
        for i in range(20):
            for name in (f"File{i}", f"fILE{i}"):
                sources[name.encode()] = source / name
                (source / name).write_bytes(name.encode())
        done = self.run_in(self.dir, "encrypt", "-q", "-r", *KEY, "-f", "--rm", "-T", "4", "-o",
                           mount.place / "o", source)
        paths = listed(mount.back / "o")
        self.assertEqual([name for name in paths if name.lower().endswith(".paraes-tmp")], [])
        outputs = [self.plain_of(path, "encrypt") for path in paths.values()]
        self.assertNotEqual(done.returncode, 0)
        for data, path in sources.items():
            self.assertEqual(path.exists(), data not in outputs, f"{data}: {done}")
        if inodes != "changing":
            self.assertEqual(len(outputs), 20)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(done.stderr.count(b"the same name"), 20)

    @on_each()
    def test_folders_that_are_one_there_merge(self, inodes, mount):
        """Their files have other names, and nothing is refused."""
        self.check_pair(mount, inodes, ("D/x", "d/y"), "encrypt", shared=False)

    @on_each()
    def test_an_existing_output_is_replaced_once(self, inodes, mount):
        """-f replaces what was there before, and not what the run has written."""
        (mount.back / "src").mkdir()
        (mount.back / "src/a.paes").write_bytes(OLD)
        source = self.path(f"l {inodes}") / "src"
        sources = self.make_sources(source, ("A", "a"), "encrypt")
        done = self.run_in(self.dir, "encrypt", "-q", "-r", *KEY, "-f", "--rm", "-o", mount.place, source)
        self.check_names(done, "encrypt", sources, listed(mount.back), True, inodes=inodes)

    @on_each()
    def test_a_second_run_updates(self, inodes, mount):
        """The run after a refusal refuses again, and loses nothing."""
        source = self.path(f"l {inodes}")
        sources = self.make_sources(source, ("A", "a"), "encrypt", newer=0)
        run = ["encrypt", "-q", "-r", *KEY, "--update", "-o", mount.place / "o", source]
        self.run_in(self.dir, *run)
        done = self.run_in(self.dir, *run, "--rm")
        paths = listed(mount.back / "o").values()
        self.assertLessEqual(len(paths), 1, done)
        found = [self.plain_of(path, "encrypt") for path in paths]
        for data, path in sources.items():
            self.assertTrue(path.exists() or data in found, f"{data} is lost: {done}")
        self.assertNotEqual(done.returncode, 0, "one source has no output")

    @on_each(strip=True)
    def test_dots_at_the_end(self, inodes, mount):
        """FAT drops them: a. and a are one output of decrypt -r."""
        for flags in (["-f", "--rm"], ["--update"], []):
            with self.subTest(flags=flags):
                self.check_pair(mount, inodes, ("a", "a. "), "decrypt", *flags)

    @on_each()
    def test_a_file_and_a_folder(self, inodes, mount):
        """One output would be a folder of the other's path."""
        names = {"encrypt": ("name", "NAME.paes/x"), "decrypt": ("name", "NAME/x")}
        for verb, flags in itertools.product(names, ([], ["-f", "--rm"], ["--update"])):
            with self.subTest(verb=verb, flags=flags):
                out = "".join([verb, *flags])
                source = self.path(f"{inodes} {out}")
                sources = self.make_sources(source, names[verb], verb)
                done = self.run_in(self.dir, verb, "-q", "-r", *KEY, *flags, "-o", mount.place / out, source)
                self.assertNotEqual(done.returncode, 0, done)
                found = [self.plain_of(path, verb) for path in listed(mount.back / out).values()]
                for data, path in sources.items():
                    self.assertTrue(path.exists() or data in found, f"{data} is lost: {done}")
                    self.assertTrue(path.exists() or "--rm" in flags)
                self.assertIn(len(found), (0, 1) if inodes == "changing" else (1,), done)
                self.assertLessEqual(set(found), set(DATA), done)

    def test_temporaries_of_a_killed_run_however_their_names_are_stored(self):
        """They are no inputs, and the next run removes them."""
        for store in ("lower", "upper"):
            with self.subTest(store):
                mount = self.mount(fold="case", store=store)
                left = f".Out.{HOST}.1.0123cdef.paraes-tmp"
                (mount.place / "a").write_bytes(b"a")
                (mount.place / left).write_bytes(b"partial")
                self.outcome("encrypt", "-q", *KEY, "--rm", "-r", mount.place)
                self.assertEqual(stored(mount), [left.lower(), "a.paes"])
                self.outcome("decrypt", "-q", *KEY, "-o", mount.place / "Out", mount.place / "a.paes")
                self.assertEqual(stored(mount), ["a.paes", "out"])

    def test_names_that_it_cannot_have(self):
        mount = self.mount(fold="case", forbid='"*:<>?|')
        sources = self.make_sources(self.path("s"), ("a:b", "c"), "encrypt")
        done = self.run_in(self.dir, "encrypt", "-q", "-r", *KEY, "--rm", "-o", mount.place / "o", "s")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(b"a:b", done.stderr)
        self.assertTrue(sources[DATA[0]].exists())
        self.assertFalse(sources[DATA[1]].exists())
        self.assertEqual([self.plain_of(path, "encrypt") for path in listed(mount.back / "o").values()],
                         [DATA[1]])


class Arguments(NamesCase):
    """Several inputs, or one, that arguments name."""

    @on_each()
    def test_several_inputs_and_a_folder_for_outputs(self, inodes, mount):
        for flags in (["-f", "--rm"], ["--update"]):
            (mount.place / "o").mkdir(exist_ok=True)
            name = f"{inodes}{flags[0]}"
            sources = self.make_sources(self.path(name), ("A", "a"), "encrypt")
            done = self.run_in(self.path(name), "encrypt", "-q", "-k", "../k", *flags, "-o",
                               f"{mount.place}/o/", "A", "a")
            self.check_names(done, "encrypt", sources, listed(mount.back / "o"), "--rm" in flags,
                                     inodes=inodes)
            for path in (mount.back / "o").iterdir():
                path.unlink()

    @on_each()
    def test_the_mount_is_below_the_folder_of_outputs(self, inodes, mount):
        source = self.path(f"b {inodes}") / mount.place.name
        sources = self.make_sources(source, ("A", "a"), "encrypt")
        done = self.run_in(self.dir, "encrypt", "-q", "-r", *KEY, "-f", "--rm", "-o",
                           mount.place.parent, source)
        self.check_names(done, "encrypt", sources, listed(mount.back), True, inodes=inodes)

    @on_each()
    def test_other_names_in_foreign_letters(self, _, mount):
        """Their outlines are the same, and they are two files."""
        names = ("\u0444\u0430\u0439\u043b.txt", "\u0448\u0438\u0444\u0440.txt")
        sources = self.make_sources(mount.place, names, "encrypt")
        for name in sources.values():
            done = self.run_in(self.dir, "encrypt", "-q", *KEY, "-f", "-o",
                               mount.place / "\u0446\u0435\u043b\u044c.txt", name)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        done = self.run_in(self.dir, "encrypt", "-q", *KEY, "-o", f"{mount.place}/o/",
                           *sources.values())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(len(os.listdir(mount.back / "o")), 2)

    @on_each()
    def test_folders_with_names_that_fold(self, inodes, mount):
        sources = self.make_sources(self.path(f"f {inodes}"), ("Src/x", "src/x"), "encrypt")
        done = self.run_in(self.path(f"f {inodes}"), "encrypt", "-q", "-r", "-k", "../k", "-f", "--rm",
                           "-o", mount.place / "o", "Src", "src")
        self.check_names(done, "encrypt", sources, listed(mount.back / "o"), True, inodes=inodes)

    @on_each()
    def test_one_file_under_two_names(self, inodes, mount):
        """The second name leads to the same file: no run says that both have an output, and removes one."""
        for number, flags in enumerate(([], ["-f"], ["--rm"], ["-f", "--rm"], ["--update"])):
            folder = mount.place / f"n{number}"
            folder.mkdir()
            (folder / "name").write_bytes(DATA[0])
            done = self.run_in(self.dir, "encrypt", "-q", *KEY, *flags, folder / "name", folder / "NAME")
            back = mount.back / f"n{number}"
            paths = [path for name, path in listed(back).items() if name != "name"]
            self.assertIn(len(paths), (0, 1) if inodes == "changing" else (1,), done)
            for path in paths:
                self.assertEqual(self.plain_of(path, "encrypt"), DATA[0], done)
            if "--rm" not in flags or not paths:
                self.assertEqual((back / "name").read_bytes(), DATA[0], done)
            if flags != ["--update"]:
                self.assertNotEqual(done.returncode, 0, done)

    @on_each()
    def test_rekey_of_one_file_under_two_names(self, inodes, mount):
        (mount.place / "x.paes").write_bytes(self.sealed(*KEY, data=DATA[0]))
        self.run_in(self.dir, "rekey", "-q", *KEY, "--to-key-file", "k2", mount.place / "x.paes",
                    mount.place / "X.paes")
        self.assertEqual(os.listdir(mount.back), ["x.paes"])
        found = [self.run_in(self.dir, "decrypt", "-q", "-k", key, "-c", mount.back / "x.paes").stdout
                 for key in (("k2", "k") if inodes == "changing" else ("k2",))]
        self.assertIn(DATA[0], found)

    @on_each()
    def test_the_output_is_the_input(self, _, mount):
        """-o names the input in other letters."""
        for flags in (["-f"], ["-f", "--rm"], ["--update"]):
            (mount.place / "name").write_bytes(DATA[0])
            os.utime(mount.place / "name", (1_000_000_000, 1_000_000_000))
            done = self.run_in(self.dir, "encrypt", "-q", *KEY, *flags, "-o", mount.place / "NAME",
                               mount.place / "name")
            self.assertEqual(os.listdir(mount.back), ["name"], done)
            self.assertEqual((mount.back / "name").read_bytes(), DATA[0], done)
            self.assertNotEqual(done.returncode, 0, done)

    @on_each()
    def test_the_output_is_a_key(self, _, mount):
        (mount.place / "key").write_bytes(KEYS[256])
        (mount.place / "key").chmod(0o600)
        (mount.place / "name").write_bytes(DATA[0])
        for flags in (["-f"], ["-f", "--rm"]):
            done = self.run_in(self.dir, "encrypt", "-q", "-k", mount.place / "key", *flags, "-o",
                               mount.place / "KEY", mount.place / "name")
            self.assertEqual((mount.back / "key").read_bytes(), KEYS[256], done)
            self.assertNotEqual(done.returncode, 0, done)
        done = self.run_in(self.dir, "keygen", "-o", mount.place / "Key")
        self.assertEqual((mount.back / "key").read_bytes(), KEYS[256], done)
        self.assertNotEqual(done.returncode, 0, done)

    @on_each()
    def test_the_key_is_an_input_to_remove(self, _, mount):
        (mount.place / "key").write_bytes(KEYS[256])
        (mount.place / "key").chmod(0o600)
        done = self.run_in(self.dir, "encrypt", "-q", "-k", mount.place / "key", "--rm",
                           mount.place / "KEY")
        self.assertEqual((mount.back / "key").read_bytes(), KEYS[256], done)

    @on_each()
    def test_the_key_is_in_a_folder_to_remove(self, _, mount):
        folder = mount.place / "all"
        folder.mkdir()
        for name, data in (("key", KEYS[256]), ("file", DATA[0])):
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o600)
        for flags in (["--rm"], ["-f", "--rm"]):
            done = self.run_in(self.dir, "encrypt", "-q", "-r", "-k", folder / "KEY", *flags, folder)
            self.assertEqual((mount.back / "all/key").read_bytes(), KEYS[256], done)

    @on_each()
    def test_an_input_is_the_output_of_another(self, _, mount):
        """f becomes f.paes, which is F.PAES, an input too: no input is replaced before it is read."""
        for number, flags in enumerate((["-f", "-T", "1"], ["-f", "--rm"], [])):
            folder, back = mount.place / f"n{number}", mount.back / f"n{number}"
            folder.mkdir()
            (folder / "f").write_bytes(DATA[0])
            (folder / "F.PAES").write_bytes(DATA[1])
            done = self.run_in(self.dir, "encrypt", "-q", *KEY, *flags, folder / "f", folder / "F.PAES")
            contents = [pathlib.Path(path).read_bytes() for path in listed(back).values()]
            contents += [self.plain_of(path, "encrypt") for path in listed(back).values()]
            for data in DATA:
                self.assertIn(data, contents, f"lost: {done}")


class EveryVerb(BenchCase):
    """Where no names meet, every verb does its work, whatever the numbers of inodes."""

    def test_every_verb(self):
        """Numbers that change with each look-up leave nothing to recognise a file by: runs may fail there,
        and unnamed files may stay so where their names give them other numbers."""
        mounts = {
            "case": {"fold": "case"},
            "names": {"inodes": "by_name"},
            "names, both": {"inodes": "by_name", "fold": "both"},
            "names, unnamed": {"inodes": "by_name", "unnamed": True},
            "changing": {"inodes": "changing"},
            "changing, case": {"inodes": "changing", "fold": "case"},
            "changing, unnamed": {"inodes": "changing", "unnamed": True},
        }
        items = list(itertools.product(mounts, self.jobs))
        random.Random(0).shuffle(items)
        chosen = sample(items, 40, "every verb on names that fold")
        for kind, switches in mounts.items():
            self.check_jobs(self.mount(**switches), [name for of, name in chosen if of == kind],
                            works=kind in ("case", "names", "names, both"), times=1)
