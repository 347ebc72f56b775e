"""Every verb on sshfs, over a pipe to sftp-server: hard links get other inode numbers, numbers are made up,
and RENAME_NOREPLACE, unnamed files and folders that sync are missing."""

import types

import bench
from bench import LONG, BenchCase, sample, sftp_server, sshfs
from test_names import NamesCase

RENAMES = "rename,posix-rename,hardlink"
# Requests that a server denies (sftp-server -P): whether every run succeeds nevertheless, and its message.
DENIED = {
    "hardlink": (True, None),
    "fsync": (True, None),
    "statvfs": (True, None),
    "hardlink,posix-rename": (False, None),
    "setstat,fsetstat": (False, None),
    "write": (False, None),
    "remove": (False, None),
    "mkdir": (False, None),
    "open": (False, None),
    RENAMES: (False, "cannot rename"),
}
SECOND = 10**9  # the steps of times in SFTP
QUICK = ("encrypt --rm", "encrypt -f --rm", "decrypt two --rm", "rekey to a key", "encrypt -r -o --rm")


def setUpModule():
    sftp_server()
    bench.setUpModule()


class Sshfs(BenchCase):
    def check_all(self, mount, works=True):
        self.check_jobs(mount, self.jobs, works=works, times=SECOND if works else 0)

    def test_every_verb(self):
        self.check_all(self.mount(sshfs()))

    # sshfs then renames onto existing files by itself, in several steps.
    def test_a_server_that_does_not_replace(self):
        self.check_all(self.mount(sshfs("-o", "workaround=rename", server_flags="-P posix-rename")))

    def test_without_links(self):
        self.check_all(self.mount(sshfs("-o", "disable_hardlink")))

    def test_a_server_that_only_reads(self):
        self.check_all(self.mount(sshfs(server_flags="-R")), works=False)

    def test_what_servers_deny(self):
        for denied, (works, says) in DENIED.items():
            mount = self.mount(sshfs(server_flags=f"-P {denied}"))
            runs = self.check_jobs(mount, self.jobs if LONG else sample(QUICK, 2, denied), works=works,
                                   without_unlink="remove" in denied)
            for name, done in runs.items():
                job, onto = self.jobs[name]
                if says and any(not onto or out.startswith("m/") for out in job.wanted):
                    self.assertIn(says, done.stderr.decode(), (name, denied))


class Mac(NamesCase):
    """sshfs to a computer whose file system folds case, as a Mac's does."""

    def test_two_files_of_a_folder(self):
        for fold in ("case", "both"):
            computer = self.mount(fold=fold)
            mounted = self.mount(sshfs(over=computer.place))
            mac = types.SimpleNamespace(place=mounted.place, back=computer.back)
            for mode in ("", "-f --rm", "--update, the first is newer", "--update, the second is newer"):
                for verb in ("encrypt", "decrypt"):
                    with self.subTest(mode, fold=fold, verb=verb):
                        self.pair(mac, "by_name", fold, mode, verb)
            self.release(mounted)
            self.release(computer)

    def test_every_verb(self):
        computer = self.mount(fold="both")
        mounted = self.mount(sshfs(over=computer.place))
        mac = types.SimpleNamespace(place=mounted.place, back=computer.back, top=mounted.top)
        for name, (job, onto) in self.jobs.items():
            with self.subTest(name):
                self.check_job(mac, job, onto, works=True, times=SECOND)
