"""Standard input where no FILE is given."""

import json
import os
import pathlib
import subprocess

from support import BIN, DEADLINE, KEYS, Case, Terminal, environment

KEY = ["-k", "k"]


class NoFile(Case):
    GIVEN = {"k": KEYS[256], "p": b"a passphrase"}
    data = b"some data" * 5000

    def refused(self, *args, says, **kwargs):
        before = self.names()
        self.fails(2, *args, says=says, **kwargs)
        self.assertEqual(self.names(), before)

    def redirected(self, source, *args, **kwargs):
        """Runs paraes with `source` as its standard input."""
        return subprocess.run([BIN, *args], cwd=self.dir, stdin=source, capture_output=True,
                              env=environment(), timeout=DEADLINE, **kwargs)

    def test_verbs_read_a_pipe(self):
        sealed = self.ok("encrypt", *KEY, stdin=self.data)
        self.assertEqual(self.ok("decrypt", *KEY, stdin=sealed), self.data)
        self.assertEqual(self.ok("verify", *KEY, stdin=sealed), b"")
        self.assertEqual(self.report("info", stdin=sealed)["input"], "-")

    def test_a_redirected_file_is_read(self):
        sealed = self.ok("encrypt", *KEY, stdin=self.data)
        self.write("s", sealed)
        with open(self.path("s"), "rb") as file:
            done = self.redirected(file, "decrypt", *KEY, "-o", "d")
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        self.assertEqual(self.read("d"), self.data)

    def test_result_is_that_of_a_dash(self):
        sealed = self.ok("encrypt", *KEY, "-o", "s", stdin=self.data)
        self.assertEqual(sealed, b"")
        done = self.run_paraes("decrypt", *KEY, "--json", stdin=self.read("s"))
        same = self.run_paraes("decrypt", *KEY, "--json", "-", stdin=self.read("s"))
        self.assertEqual(done.stdout, self.data)
        for field in ("input", "output", "bytes", "exit"):
            self.assertEqual(json.loads(done.stderr)[field], json.loads(same.stderr)[field], field)
        self.ok("encrypt", *KEY, "-c", stdin=b"")
        self.ok("encrypt", *KEY, "--", stdin=b"")
        self.ok("encrypt", "--passphrase-command", "cat p", stdin=self.data)
        self.fails(2, "decrypt", *KEY, "--offset", "3", stdin=self.read("s"), says="pipe")

    def test_flags_that_need_a_file_say_so(self):
        for verb in ("encrypt", "decrypt", "verify"):
            self.refused(verb, *KEY, "-r", stdin=b"x", says="-r needs a folder or FILE")
        for verb in ("encrypt", "decrypt"):
            self.refused(verb, *KEY, "--rm", stdin=b"x", says="--rm needs a FILE to remove")
            self.refused(verb, *KEY, "-c", "--rm", stdin=b"x", says="--rm needs a FILE to remove")
        done = self.run_paraes("encrypt", *KEY, "-r", "--json", stdin=b"x")
        report, summary = map(json.loads, done.stdout.splitlines())
        self.assertEqual((report["exit"], summary["exit"]), (2, 2))

    def test_secrets_on_standard_input_leave_it_to_no_data(self):
        for flags in (["--key-file", "-"], ["-k-"], ["--passphrase-file", "-"],
                      ["--passphrase-fd", "0"]):
            for verb in ("encrypt", "decrypt", "verify"):
                self.refused(verb, *flags, stdin=KEYS[256], says="needs an input FILE: --")
            self.refused("encrypt", *flags, "-", stdin=KEYS[256], says="needs standard input")

    def test_terminals_are_not_read(self):
        for args in (["encrypt", *KEY], ["decrypt", *KEY], ["verify", *KEY], ["info"]):
            shown = Terminal(self, *args).ends(2)
            self.assertIn(b"needs an input FILE, or - for standard input", shown)

    def test_standard_input_that_cannot_be_read_is_an_error(self):
        before = self.names()
        for args in (["encrypt", *KEY, "-o", "new"], ["verify", *KEY], ["info"]):
            closed = self.redirected(None, *args, preexec_fn=lambda: os.close(0))
            self.assertEqual(closed.returncode, 1, closed.stderr)
            self.assertIn(b"standard input", closed.stderr)
            folder = os.open(self.dir, os.O_RDONLY)
            done = self.redirected(folder, *args)
            os.close(folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"standard input: it is a folder", done.stderr)
        self.assertEqual(self.names(), before)

    def test_dev_null_is_an_empty_input(self):
        done = self.redirected(subprocess.DEVNULL, "encrypt", *KEY)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.ok("decrypt", *KEY, stdin=done.stdout), b"")
        self.assertEqual(self.redirected(subprocess.DEVNULL, "verify", *KEY).returncode, 4)


class FilesWithoutTheirSize(Case):
    """/proc and /sys announce a size that is not that of what they hold."""

    GIVEN = {"k": KEYS[256]}

    def test_they_are_read_to_their_end(self):
        for name in ("/proc/version", "/proc/self/mountinfo", "/sys/kernel/mm/transparent_hugepage/enabled",
                     "/sys/devices/system/cpu/online"):
            try:
                text = pathlib.Path(name).read_bytes()
            except OSError:
                continue  # a system without it
            for flags in ([], ["--format", "tink"], ["--format", "raw", "--mode", "ecb"]):
                with self.subTest(name=name, flags=flags):
                    flags = ["-q", "-k", "k", *flags]
                    made = self.ok("encrypt", *flags, "-c", name)
                    self.assertEqual(self.ok("decrypt", *flags, "-", stdin=made), text)
                    made = self.shell(f'"$@" < {name}', "encrypt", *flags, "-").stdout
                    self.assertEqual(self.ok("decrypt", *flags, "-", stdin=made), text)

    def test_with_r(self):
        top = pathlib.Path("/sys/devices/system/cpu/cpu0/topology")
        if not top.is_dir():
            self.skipTest(f"there is no {top}")
        self.ok("encrypt", "-q", "-r", "-k", "k", "-o", "out", top)
        self.ok("decrypt", "-q", "-r", "-k", "k", "-o", "back", "out/.")
        for file in top.iterdir():
            self.assertEqual(self.read(f"back/topology/{file.name}"), file.read_bytes())
