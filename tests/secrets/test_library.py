"""The C++ library: each cipher with each kernel, while it exists and after it was destroyed."""

import json
import os
import subprocess

import needles
from cases import SecretsCase, setUpModule  # noqa: F401
from support import BIN, LONG

THREADS = 2
PROGRAM = os.environ["PARAES_LIBRARY_WORK"]
USES = ("cbc", "ctr", "ecb", "gcm", "xts", "message", "messages")


def tested_kernels():
    """All kernels of this machine's CPU; outside of `tests/run long:command` two."""
    if not LONG:
        return ["auto", "bitslice"]
    told = json.loads(subprocess.run([BIN, "devices", "--json"], capture_output=True,
                                     check=True).stdout)
    return [kernel["name"] for kernel in told["kernels"]
            if kernel["available"] and "cpu" in kernel["devices"]]


class Library(SecretsCase):
    program = (PROGRAM,)

    def secrets_of(self, use, key, header):
        add = {
            "xts": (needles.add_xts, key),
            "message": (needles.add_paraes, header, key),
            "messages": (needles.add_paraes, header, key),
            "gcm": (needles.add_gcm, "key", key),
        }.get(use, (needles.add_schedule, "key", key))
        return needles.of((needles.add_key, "key", key), add)

    def test_destroyed_ciphers_leave_nothing(self):
        for kernel in tested_kernels():
            for use in USES:
                with self.subTest(kernel=kernel, use=use):
                    self.check_use(kernel, use)

    def check_use(self, kernel, use):
        key = needles.random_key(64 if use == "xts" else 32, self.id())
        with open(self.write("k", key), "rb") as file:
            run = self.used_and_closed(["at work", "after destruction"], use, kernel, THREADS,
                                       stdin=file)
        self.check(run, self.secrets_of(use, key, run.output))
