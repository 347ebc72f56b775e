"""What the tests of the package share."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KEY = bytes(range(32))


def content(name):
    return Path(os.fsdecode(name)).read_bytes()


def together(*works):
    """Calls functions at the same time, and raises what one of them raises."""
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()
