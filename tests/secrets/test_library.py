"""The C++ library: each cipher with each kernel, while it exists and after it was destroyed."""

import json
import os
import subprocess
import unittest

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
        secrets = needles.new()
        needles.add_key(secrets, "key", key)
        if use == "xts":
            needles.add_xts(secrets, key)
        elif use in ("message", "messages"):
            needles.add_paraes(secrets, header, key=key)
        elif use == "gcm":
            needles.add_gcm(secrets, "key", key)
        else:
            needles.add_schedule(secrets, "key", key)
        return secrets

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


if __name__ == "__main__":
    unittest.main()
