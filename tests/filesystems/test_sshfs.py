"""Every verb on sshfs, over a pipe to sftp-server: hard links get other inode numbers, numbers are made up,
and RENAME_NOREPLACE, unnamed files and folders that sync are missing."""

import unittest

from bench import BenchCase, require_fuse, sftp_server, sshfs


def setUpModule():
    sftp_server()
    require_fuse()


class Sshfs(BenchCase):
    def check_all(self, mount):
        for name, (job, onto) in self.all_jobs().items():
            with self.subTest(name):
                self.check_job(mount, job, onto, works=True)

    def test_every_verb(self):
        self.check_all(self.mount(sshfs()))

    # sshfs then renames onto existing files by itself, in several steps.
    def test_a_server_that_does_not_replace(self):
        self.check_all(self.mount(sshfs("-o", "workaround=rename")))


if __name__ == "__main__":
    unittest.main()
