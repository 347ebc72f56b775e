"""System calls that fail in runs that test_inject leaves out: verify, rekey, folders, recipients; and,
for every verb, calls that a run can do without. `tests/run long:faults` fails every call."""

import unittest

from faults import KEY
from injection import ERRORS, NEEDLESS, InjectCase
from recipients import AGE, RecipientsCase


class OneFile(InjectCase):
    def test_verify(self):
        self.inject("verify", self.file_jobs(*KEY)["verify"])

    def test_rekey(self):
        for name, job in self.rekey_jobs().items():
            self.inject(name, job)

    def test_keygen(self):
        self.inject("keygen", self.keygen_job())

    def test_calls_that_are_needless(self):
        jobs = {**self.file_jobs(*KEY, more=["-T", "3"]), **self.rekey_jobs()}
        for name in ("encrypt --rm", "decrypt", "rekey to a key"):
            self.inject(f"{name}, needless calls", jobs[name], errors=NEEDLESS)


class Folders(InjectCase):
    """-r: files that are processed whole, and one by all threads. One thread, so that numbers are
    exact; and three."""

    def test_one_and_three_threads(self):
        for threads in (1, 3):
            for name, job in self.folder_jobs(threads=threads).items():
                self.inject(f"{name}, {threads} threads", job, marker='"t"')


@unittest.skipIf(AGE is None, "age is not installed")
class Recipients(RecipientsCase, InjectCase):
    """Only calls of paraes fail, and none of age. A call of close that fails here leaves the file
    open, unlike those of Linux, and age would wait for the end of a pipe: these are left out."""

    def setUp(self):
        super().setUp()
        self.secrets |= {name: self.read(name) for name in ("me.txt", "you.txt")}

    def test_every_verb(self):
        to_me, mine, yours = ["--recipient", self.me], ["-i", "me.txt"], ["-i", "you.txt"]
        jobs = self.file_jobs(*mine, seal=to_me)
        errors = {call: errors for call, errors in ERRORS.items() if call != "close"}
        for name, job in {
            "encrypt, recipients": jobs["encrypt"],
            "decrypt, recipients": jobs["decrypt"],
            "rekey to recipients": self.rekey_job(KEY, ["--to-recipient", self.me], mine),
            "rekey, recipients to recipients": self.rekey_job(
                mine, ["--to-recipient", self.you], yours, seal=to_me),
        }.items():
            self.inject(name, job, errors=errors, children=False)
