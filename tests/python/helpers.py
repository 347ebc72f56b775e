"""What the tests of the package share."""

import io
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


class FileObject(io.RawIOBase):
    """A file in memory, which can seek or not."""

    def __init__(self, data=b"", seeks=False):
        self.inner = io.BytesIO(data)
        self.seeks = seeks

    def readable(self):
        return True

    def writable(self):
        return True

    def seekable(self):
        return self.seeks

    def seek(self, *args):
        return self.inner.seek(*args)

    def tell(self):
        return self.inner.tell()
