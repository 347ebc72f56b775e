"""paraes-mpi on foreign file systems: two ranks, whose outputs the file system may take for one name."""

import subprocess

import test_names
from bench import KEY, LONG, BenchCase, Job, sample, setUpModule, sshfs  # noqa: F401
from ranks import KEYS, LAUNCHER, OPEN_MPI, OPEN_MPI_ENVIRONMENT, PROGRAM, SCATTER, SHARED, messages
from test_names import FOLDS, INODES, MODES, NamesCase


class MpiCase(BenchCase):
    def setUp(self):
        super().setUp()
        self.path("scratch").mkdir()
        self.mpi = {**(OPEN_MPI_ENVIRONMENT if OPEN_MPI else {}), "TMPDIR": str(self.path("scratch"))}

    def run_ranks(self, folder, *args, ranks=2):
        done = self.run_in(folder, *args, env=self.mpi,
                           program=(*LAUNCHER, "-n", str(ranks), PROGRAM))
        # Without the lines of the launcher.
        text = "\n".join(messages(done.stderr)).encode()
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout, text)


class Names(MpiCase, NamesCase):
    MODES = {name: ([flag for flag in flags if flag not in ("-T", "1")], newer)
             for name, (flags, newer) in MODES.items()}

    def run_verb(self, *args):
        return self.run_ranks(self.dir, *args)

    def test_two_files_of_a_folder(self):
        kinds = [(fold, inodes) for fold in FOLDS for inodes in INODES]
        runs = [(fold, inodes, mode, verb) for fold, inodes in kinds for mode in MODES
                for verb in ("encrypt", "decrypt")]
        known = [("case", "by_name", "-f --rm", "encrypt"),
                 ("case", "by_name", "--update, the first is newer", "encrypt"),
                 ("case", "true", "--update, the second is newer", "decrypt")]
        for fold, inodes, mode, verb in [*known, *(runs[::3] if LONG else sample(runs, 2, "ranks"))]:
            with self.subTest(fold, inodes=inodes, mode=mode, verb=verb):
                mount = self.mount(inodes=inodes, **FOLDS[fold][0])
                self.pair(mount, inodes, fold, mode, verb)
                self.release(mount)


class EveryVerb(MpiCase):
    """Files that all ranks write together."""

    def jobs(self):
        data = test_names.DATA[1] * 10000
        message = self.sealed(*KEY, data=data)
        return {
            "encrypt --rm": Job({"f": data}, ["encrypt", *KEY, "--rm", "f"],
                                {"f.paes": self.opens(*KEY, plain=data)}),
            "encrypt -f": Job({"f": data, "f.paes": b"old"}, ["encrypt", *KEY, "-f", "f"],
                              {"f.paes": self.opens(*KEY, plain=data)}),
            "decrypt --rm": Job({"f.paes": message}, ["decrypt", *KEY, "--rm", "f.paes"],
                                {"f": lambda left: left == data}),
        }

    def check(self, mount, works, names=None, ways=(SHARED, SCATTER)):
        for name, job in self.jobs().items():
            for way in ways if LONG or names is None or name in names else ():
                with self.subTest(name, way=way):
                    self.number += 1
                    back, place = mount.back / f"r{self.number}", mount.place / f"r{self.number}"
                    back.mkdir()
                    begin = {**job.begin, "k": KEYS[256]}
                    for path, data in begin.items():
                        (back / path).write_bytes(data)
                        (back / path).chmod(0o600)
                    done = self.run_ranks(place, *job.args, *way)
                    left = {path.name: path.read_bytes() for path in back.iterdir()}
                    self.check_rule(job, begin, left, done, None, works, False)

    def test_numbers_of_inodes(self):
        for inodes in ("by_name", "changing"):
            self.check(self.mount(inodes=inodes), inodes == "by_name", ("encrypt --rm",))

    def test_sshfs(self):
        self.check(self.mount(sshfs()), True, ways=(SHARED, SCATTER) if LONG else (SHARED,))

    def test_calls_that_are_missing(self):
        for fail in ({"chmod": "ENOSYS"}, {"utimens": "EOPNOTSUPP"}, {"link": "EACCES", "rename2": "ENOSYS"},
                     {"rename": "ENOSYS", "rename2": "ENOSYS", "link": "ENOSYS"}):
            with self.subTest(fail):
                mount = self.mount(fail={"tmpfile": "ENOSYS", **fail})
                self.check(mount, "rename" not in fail, ("encrypt -f",), (SHARED,))
