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


def refuses_without_secrets(call):
    """Expects an error, in whose frames below the caller's no value has the word "secret"."""
    try:
        call()
    except Exception as error:
        frame = error.__traceback__.tb_next.tb_next
        while frame is not None:
            assert "secret" not in repr(frame.tb_frame.f_locals), frame.tb_frame.f_code
            frame = frame.tb_next
        return
    raise AssertionError("no error")


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
