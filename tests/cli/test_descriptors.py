"""Names that mean descriptors of paraes itself, such as /dev/stdout, /dev/fd/3 and >(...)."""

import json
import os
import socket
import stat
import unittest

from recipients import new_identity
from support import DEADLINE, KEYS, POSIX_ONLY, Case, Terminal, pattern

KEY = ["-k", "k"]


class Descriptors(Case):
    GIVEN = {"k": KEYS[256], "pw": b"a passphrase"}

    def setUp(self):
        super().setUp()
        self.plain = pattern(20000)
        self.write("f", self.plain)
        self.ok("encrypt", *KEY, "f")

    def refused(self, says, script, *args, status=2):
        """Runs a script that paraes refuses before any work: no file changes."""
        before = self.contents()
        done = self.shell(script, *args, status=status)
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(says, lines[0])
        self.assertEqual(self.contents(), before)

    def from_socket(self, data, *args):
        """Runs paraes with a last argument that names a socket from which `data` comes."""
        ours, its = socket.socketpair()
        with ours, its:
            ours.sendall(data)
            ours.shutdown(socket.SHUT_WR)
            return self.ok(*args, f"/dev/fd/{its.fileno()}", pass_fds=[its.fileno()])

    def contents(self):
        """The files by name. A link leads to a descriptor of these tests, and so to their own log."""
        return {name: self.read(name) for name in self.names()
                if self.path(name).is_file() and not self.path(name).is_symlink()}

    def own_names(self, number):
        """Names of the descriptor `number` of paraes."""
        self.path("d").unlink(missing_ok=True)
        os.symlink("/dev/fd", self.path("d"))
        os.symlink(f"/dev/fd/{number}", self.path(f"to{number}"))
        os.symlink(f"to{number}", self.path(f"again{number}"))
        names = [f"/dev/fd/{number}", f"to{number}", f"again{number}"]
        if number < 3:
            names += [f"/dev/{['stdin', 'stdout', 'stderr'][number]}"]
        if not POSIX_ONLY:
            names += [f"d/{number}", f"/dev/../dev/fd/{number}", f"/proc/self/fd/{number}",
                      f"/proc/thread-self/fd/{number}", f"{'../' * 20}dev/fd/{number}"]
        return names


class Outputs(Descriptors):
    def with_neighbours(self, name, number, how=">", flags=""):
        """The file that the descriptor has, when two other programs write there too."""
        self.write("all", b"old\n")
        self.shell(f'{{ echo a >&{number}; "$@" {flags}; echo z >&{number}; }} {number}{how} all',
                   "decrypt", *KEY, "-o", name, "f.paes")
        return self.read("all")

    def test_neighbours_keep_what_they_write(self):
        names = [(name, number) for number in (1, 3) for name in self.own_names(number)]
        for name, number in [*names, ("/dev/stderr", 2), ("/dev/fd/13", 13)]:
            with self.subTest(name=name):
                self.assertEqual(self.with_neighbours(name, number), b"a\n" + self.plain + b"z\n")

    def test_f_replaces_nothing_and_append_appends(self):
        for name, number in (("/dev/stdout", 1), ("/dev/fd/5", 5)):
            self.assertEqual(self.with_neighbours(name, number, flags="-f"),
                             b"a\n" + self.plain + b"z\n")
            self.assertEqual(self.with_neighbours(name, number, how=">>"),
                             b"old\na\n" + self.plain + b"z\n")

    def test_every_format_and_verb_writes_there(self):
        raw = ["--format", "raw", "--mode", "ctr", "--iv-hex", "00" * 16]
        sealed = self.shell('"$@" > out; cat out', "encrypt", *raw, *KEY, "-o", "/dev/stdout",
                            "f").stdout
        self.assertEqual(sealed, self.ok("encrypt", *raw, *KEY, "-c", "f"))
        self.shell('"$@" -o /dev/fd/4 4> sealed', "encrypt", *KEY, "f")
        self.assertEqual(self.ok("decrypt", *KEY, "-c", "sealed"), self.plain)
        done = self.shell('"$@" -o /dev/stdout', "decrypt", *KEY, "--offset", "5", "--length", "7",
                          "f.paes")
        self.assertEqual(done.stdout, self.plain[5:12])

    def test_process_substitution_needs_no_f(self):
        self.shell('"$@" -o >(cat > got; echo > done); while ! test -e done; do sleep 0.01; done',
                   "decrypt", *KEY, "f.paes")
        self.assertEqual(self.read("got"), self.plain)

    def test_socket_is_written(self):
        ours, its = socket.socketpair()
        with ours, its:
            self.ok("decrypt", *KEY, "-o", f"/dev/fd/{its.fileno()}", "f.paes",
                    pass_fds=[its.fileno()])
            its.close()
            got = b""
            while part := ours.recv(65536):
                got += part
        self.assertEqual(got, self.plain)

    def test_a_failed_run_leaves_what_was_there(self):
        self.damage("f.paes", -1)
        self.write("all", b"old\n")
        self.shell('"$@" 3>> all', "decrypt", *KEY, "-f", "-o", "/dev/fd/3", "f.paes", status=4)
        self.assertEqual(self.read("all"), b"old\n" + self.plain[:16384])

    def test_closed_and_wrong_descriptors_are_refused(self):
        decrypt = ["decrypt", *KEY]
        os.symlink("/dev/fd/9", self.path("to9"))
        for name, number in (("/dev/fd/9", 9), ("to9", 9), ("/dev/stdout", 1)):
            with self.subTest(name=name):
                self.refused(f"{name}: this file descriptor is not open to write",
                             f'"$@" -o {name} f.paes {number}< f', *decrypt)
        for name in ("/dev/fd/9", "to9", "/dev/fd/3", "/dev/fd/4", "/dev/fd/5"):
            with self.subTest(name=name):
                self.refused(f"{name}: there is no such open file descriptor",
                             f'"$@" -o {name} f.paes', *decrypt)
        self.refused("/dev/stdout: this file descriptor is not open to write",
                     '"$@" -o /dev/stdout f.paes >&-', *decrypt)

    def test_several_inputs_need_a_folder(self):
        for script in ('"$@" -o /dev/fd/3 f.paes f.paes 3> /dev/null',
                       '"$@" -o /dev/stdout -r . > /dev/null'):
            self.refused("which takes one output: name a folder with -o", script, "decrypt", *KEY)

    def test_descriptor_of_a_folder_is_that_folder(self):
        self.path("o").mkdir()
        self.shell('"$@" -o /dev/fd/3 f.paes 3< o', "decrypt", *KEY)
        self.assertEqual(self.read("o/f"), self.plain)

    def test_rm_and_update_are_refused(self):
        for flag in ("--rm", "--update"):
            self.refused(f"{flag} ", f'"$@" {flag} -o /dev/stdout f > /dev/null', "encrypt", *KEY)
            self.refused("/dev/fd/3 is a file descriptor", f'"$@" {flag} -o /dev/fd/3 f 3> /dev/null',
                         "encrypt", *KEY)
            self.refused("/dev/fd/3 is a file descriptor", f'"$@" {flag} -o out /dev/fd/3 3< f',
                         "encrypt", *KEY)
            os.symlink("/dev/fd/3", self.path(flag + "x"))
            self.refused("it is a file descriptor", f'"$@" {flag} -o out ./{flag}x 3< f', "encrypt",
                         *KEY)

    def test_input_and_secrets_are_never_the_output(self):
        self.refused("it is the input file itself", '"$@" -o /dev/fd/3 f 3>> f', "encrypt", *KEY)
        self.refused("it is the input file itself", '"$@" -f -o /dev/stdout f >> f', "encrypt", *KEY)
        for name, number in (("/dev/fd/3", 3), ("/dev/stdout", 1)):
            self.refused("which is the file of --key-file", f'"$@" -f -o {name} f {number}>> k',
                         "encrypt", *KEY)
            self.write("copy", KEYS[256])
            self.refused("it holds the secret of --key-command",
                         f'"$@" -f -o {name} f {number}>> copy', "encrypt", "--key-command", "cat k")
        self.refused("this descriptor is the output",
                     'mkfifo p; "$@" -o /dev/fd/4 f 3<> p 4<> p', "encrypt", "--passphrase-fd", "3")

    def test_log_with_the_secret_among_other_lines_is_written(self):
        self.write("log", KEYS[256] + b"\nand more\n")
        self.shell('"$@" -o /dev/fd/3 f.paes 3>> log', "decrypt", *KEY)
        self.assertEqual(self.read("log"), KEYS[256] + b"\nand more\n" + self.plain)

    def test_json_stays_out_of_the_data(self):
        done = self.shell('"$@" -o /dev/stdout f.paes', "decrypt", "--json", *KEY)
        self.assertEqual((done.stdout, json.loads(done.stderr)["output"]), (self.plain, "-"))
        done = self.shell('"$@" -o /dev/fd/3 f.paes 3> out', "decrypt", "--json", *KEY)
        self.assertEqual(json.loads(done.stdout)["output"], "/dev/fd/3")
        self.assertEqual(self.read("out"), self.plain)
        done = self.shell('"$@" -o /dev/fd/3 f.paes 3>&1', "decrypt", "--json", *KEY)
        self.assertEqual((done.stdout, json.loads(done.stderr)["exit"]), (self.plain, 0))

    def test_c_and_another_output_are_refused(self):
        self.assertEqual(self.shell('"$@" -c -o /dev/stdout', "decrypt", *KEY, "f.paes").stdout,
                         self.plain)
        self.refused("-c and -o name two outputs", '"$@" -c -o /dev/fd/3 f 3> /dev/null', "encrypt",
                     *KEY)

    def test_terminals_are_refused_without_f(self):
        for name in ("/dev/stdout", "/dev/stderr", "/dev/tty"):
            shown = Terminal(self, "encrypt", *KEY, "-o", name, "f").ends(2)
            self.assertIn(b"it is a terminal", shown)
        self.write("text", b"some words\n")
        self.ok("encrypt", *KEY, "text")
        for name in ("/dev/stdout", "/dev/stderr", "/dev/tty"):
            self.assertIn(b"some words",
                          Terminal(self, "decrypt", *KEY, "-f", "-o", name, "text.paes").ends())

    def test_pipes_and_devices_of_other_outputs_need_f(self):
        os.mkfifo(self.path("g.paes"))
        self.write("g", b"data")
        self.refused("g.paes: it exists already", '"$@" g', "encrypt", *KEY)
        self.refused("g.paes: it exists already", '"$@" --update -o g.paes g', "encrypt", *KEY)
        self.path("t").mkdir()
        os.rename(self.path("g"), self.path("t/g"))
        os.rename(self.path("g.paes"), self.path("t/g.paes"))
        self.fails(3, "encrypt", "-q", *KEY, "-r", "t", says="t/g.paes: it exists already")
        self.assertTrue(stat.S_ISFIFO(self.path("t/g.paes").stat().st_mode))

    def test_keygen_writes_to_descriptors_and_pipes(self):
        self.shell('{ echo -n a; "$@"; echo -n z; } > made', "keygen", "-o", "/dev/stdout")
        made = self.read("made")
        self.assertEqual((made[:1], len(made), made[-1:]), (b"a", 34, b"z"))
        self.assertEqual(len(self.shell('"$@" -o /dev/fd/3 3> made; cat made', "keygen").stdout), 32)
        os.mkfifo(self.path("pipe"))
        process = self.start("keygen", "-o", "pipe")
        self.assertEqual(len(self.read("pipe")), 32)
        self.assertEqual(process.wait(DEADLINE), 0)
        self.ok("keygen", "-o", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.refused("/dev/fd/9: there is no such open file descriptor", '"$@" -o /dev/fd/9',
                     "keygen")

    def test_tune_writes_its_profile_in_place(self):
        self.shell('{ echo a; "$@" && echo z; } > made', "tune", "-q", "--seconds", "1",
                   "-o", "/dev/stdout")
        lines = self.read("made").decode().splitlines()
        self.assertEqual((lines[0], lines[-1]), ("a", "z"))
        self.assertIn("rates", json.loads("\n".join(lines[1:-1])))


class Inputs(Descriptors):
    def test_inputs_are_read_from_where_the_descriptor_is(self):
        self.write("g", b"skipped\n" + self.plain)
        for number in (0, 3):
            for name in self.own_names(number):
                with self.subTest(name=name):
                    done = self.shell(f'{{ read -r -u {number} line; "$@"; }} {number}< g > out; '
                                      '"$1" decrypt -k k -c out', "encrypt", *KEY, "-c", name)
                    self.assertEqual(done.stdout, self.plain)

    def test_folder_is_searched(self):
        self.path("t").mkdir()
        os.rename(self.path("f.paes"), self.path("t/f.paes"))
        done = self.shell('"$@" -r /dev/fd/3 3< t', "verify", *KEY)
        self.assertIn(b"1 file intact", done.stderr)

    def test_every_verb_reads_them(self):
        self.shell('"$@" <(cat f.paes) <(cat f.paes)', "verify", *KEY)
        self.shell('"$@" /dev/fd/3 3< f.paes', "verify", *KEY)
        done = self.shell('"$@" /dev/fd/3 3< f.paes', "info", "--json")
        self.assertEqual(json.loads(done.stdout)["plain_bytes"], len(self.plain))
        self.assertEqual(self.shell('"$@" -c /dev/stdin', "decrypt", *KEY,
                                    stdin=self.read("f.paes")).stdout, self.plain)

    def test_socket_is_read(self):
        sealed = self.read("f.paes")
        self.assertEqual(self.from_socket(sealed, "decrypt", *KEY, "-c"), self.plain)
        self.from_socket(sealed, "verify", *KEY)
        self.from_socket(sealed, "info")

    def test_output_has_no_name_without_o_or_c(self):
        os.symlink("/dev/fd/3", self.path("to3"))
        for verb in ("encrypt", "decrypt"):
            for script in ('"$@" /dev/stdin < f.paes', '"$@" <(cat f.paes)', '"$@" to3 3< f.paes'):
                self.refused("its output has no name: give -o FILE or -c", script, verb, *KEY)
        self.assertFalse(os.path.exists("/dev/stdin.paes"))
        self.path("o").mkdir()
        self.shell('"$@" -o o /dev/stdin < f', "encrypt", *KEY)
        self.assertEqual(self.ok("decrypt", *KEY, "-c", "o/stdin.paes"), self.plain)

    def test_one_descriptor_is_one_input(self):
        os.symlink("/dev/fd/3", self.path("to3"))
        for script in ('"$@" /dev/fd/3 /dev/fd/3 3< f.paes', '"$@" /dev/fd/3 to3 3< f.paes',
                       'cat f.paes | "$@" /dev/stdin /dev/fd/3 3<&0'):
            done = self.shell(script, "verify", "-T", "1", *KEY, status=3)
            self.assertIn(b"another input of this run reads this file descriptor", done.stderr)
            self.assertIn(b"1 file intact", done.stderr)

    def test_closed_and_wrong_descriptors_are_refused(self):
        self.refused("/dev/fd/9: there is no such open file descriptor", '"$@" -o out /dev/fd/9',
                     "encrypt", *KEY)
        self.refused("/dev/fd/9: this file descriptor is not open to read",
                     '"$@" -o out /dev/fd/9 9>> f', "encrypt", *KEY)
        for number in range(3, 8):  # among these are files that paraes has opened
            os.symlink(f"/dev/fd/{number}", self.path(f"to{number}"))
            self.refused(f"to{number}: th", f'"$@" -o out to{number}', "encrypt", *KEY)

    def test_rekey_replaces_no_descriptor(self):
        os.symlink("/dev/fd/3", self.path("x.paes"))
        self.write("new", KEYS[128])
        for name in ("/dev/fd/3", "x.paes"):
            self.refused("rekey replaces files: name the file itself", f'"$@" {name} 3< f.paes',
                         "rekey", *KEY, "--to-key-file", "new")

    def test_standard_input_serves_one_purpose(self):
        for flag, file in (("-k", "k"), ("--passphrase-file", "pw")):
            self.refused("needs standard input, but the data comes from there",
                         f'cat {file} | "$@" {flag} /dev/stdin -c -', "encrypt")
            self.refused("needs standard input, but the data comes from there",
                         f'cat {file} | "$@" {flag} - -c /dev/stdin', "encrypt")
        # A command does not read what is data.
        os.symlink("/dev/stdin", self.path("in"))
        for name in ("/dev/stdin", "in"):
            done = self.shell(f'"$@" --key-command "cat k; cat" -c {name} < f > out; '
                              '"$1" decrypt -k k -c out', "encrypt")
            self.assertEqual(done.stdout, self.plain)


class Secrets(Descriptors):
    def test_descriptor_of_a_file_serves_several_runs(self):
        done = self.shell('exec 3< k; "$@" -k /dev/fd/3 -c f > a; "$@" -k /dev/fd/3 -c f > b; '
                          '"$1" decrypt -k k -c a; "$1" decrypt -k k -c b', "encrypt")
        self.assertEqual(done.stdout, 2 * self.plain)

    def test_secret_comes_from_a_socket(self):
        self.ok("encrypt", "--scrypt-log2n", "4", "--passphrase-file", "pw", "-o", "p.paes", "f")
        for flag, secret, file in (("-k", "k", "f.paes"), ("--passphrase-file", "pw", "p.paes")):
            plain = self.from_socket(self.read(secret), "decrypt", "-c", file, flag)
            self.assertEqual(plain, self.plain)

    def test_identities_and_recipients_come_from_sockets(self):
        public = new_identity(self.path("me")).encode()
        self.from_socket(public, "encrypt", "-o", "r.paes", "f", "--recipients-file")
        self.from_socket(self.read("me"), "verify", "r.paes", "-i")

    def test_file_that_only_the_shell_could_open_is_read(self):
        nobody = self.as_another_user()
        self.dir.chmod(0o755)
        key = os.open(self.path("k"), os.O_RDONLY)
        self.addCleanup(os.close, key)
        self.fails(1, "verify", *KEY, "f.paes", says="Permission denied", **nobody)
        self.ok("verify", "-k", f"/dev/fd/{key}", "f.paes", pass_fds=[key], **nobody)

    def test_closed_and_wrong_descriptors_are_refused(self):
        for flag in ("-k", "--passphrase-file", "-i"):
            self.refused("/dev/fd/9: there is no such open file descriptor",
                         f'"$@" {flag} /dev/fd/9 f.paes', "verify")
            self.refused("/dev/fd/9: this file descriptor is not open to read",
                         f'"$@" {flag} /dev/fd/9 f.paes 9>> f', "verify")


class Elsewhere(Descriptors):
    def test_link_to_a_descriptor_as_key(self):
        for number in range(3, 12):
            os.symlink(f"/dev/fd/{number}", self.path(f"l{number}"))
            self.shell(f'exec {number}< k; "$@" -k l{number} f.paes', "verify")
        # An input of the size of a key, which paraes has open.
        self.write("small", KEYS[256])
        for number in range(3, 12):
            self.fails(2, "encrypt", "-k", f"l{number}", "-c", "small", says="file descriptor")

    def test_report_of_bench_replaces_nothing(self):
        bench = ["bench", "--mode", "ctr", "--size", "16", "--samples", "1", "--warmup", "0",
                 "--json"]
        self.write("all", b"old\n")
        self.shell('"$@" /dev/fd/3 3>> all > table', *bench)
        report = self.read("all")
        self.assertTrue(report.startswith(b"old\n{"), report[:40])
        self.assertIn("results", json.loads(report[4:]))

    @unittest.skipIf(POSIX_ONLY, "other systems have no such names")
    def test_own_process_is_known_by_its_number(self):
        for name in ("/proc/$$/fd/3", "/proc/$$/task/$$/fd/3", "/proc/self/task/$$/fd/3"):
            self.write("all", b"old\n")
            self.shell(f'exec 3>> all; exec "$@" -o {name} f.paes', "decrypt", *KEY)
            self.assertEqual(self.read("all"), b"old\n" + self.plain)

    @unittest.skipIf(POSIX_ONLY, "other systems have no such names")
    def test_descriptors_of_other_processes_are_files(self):
        self.write("all", b"old")
        with open(self.path("all"), "ab") as theirs:
            name = f"/proc/{os.getpid()}/fd/{theirs.fileno()}"
            self.fails(2, "decrypt", *KEY, "-o", name, "f.paes", says="it exists already")
            self.assertEqual(self.read("all"), b"old")
            # It is a link to the file, which is replaced.
            self.ok("decrypt", *KEY, "-f", "-o", name, "f.paes")
        self.assertEqual(self.read("all"), self.plain)

    def test_similar_names_are_files(self):
        for name in ("stdout", "1", "fd/1", "dev/fd/1"):
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.assertEqual(self.ok("decrypt", *KEY, "-o", name, "f.paes"), b"")
            self.assertEqual(self.read(name), self.plain)
        os.symlink("loop", self.path("loop"))
        self.fails(1, "encrypt", *KEY, "-c", "loop", says="Too many levels of symbolic links")

    def test_block_devices_need_f(self):
        disk = self.path("disk")
        try:
            os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(7, 250))
        except PermissionError:
            self.skipTest("making a device is not permitted")
        for args in (["encrypt", *KEY, "f"], ["keygen"]):
            self.fails(2, *args, "-o", "disk", says="disk: it exists already")
        self.assertTrue(stat.S_ISBLK(disk.stat().st_mode))
