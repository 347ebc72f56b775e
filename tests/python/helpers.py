"""What the tests of the package share."""

import io
import os
import subprocess
import sys
import traceback
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


def in_child(work):
    """Calls `work` in a child process, which ends without cleaning up, and expects no exception."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def run_python(program, *arguments, flags=(), **options):
    """The finished process that ran a program, with what it printed."""
    return subprocess.run([sys.executable, *flags, "-c", program, *arguments], capture_output=True,
                          text=True, timeout=300, **options)


def new_identity(name):
    """Makes the file of an identity; returns its recipient."""
    subprocess.run(["age-keygen", "-o", name], check=True, capture_output=True)
    return subprocess.run(["age-keygen", "-y", name], check=True, capture_output=True,
                          text=True).stdout.strip()


def rewrite(path, data):
    """Other data in the same file, and its size and time stay what they were."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(path).st_size == before.st_size
    assert os.stat(path).st_mtime_ns == before.st_mtime_ns


def once(act):
    """A callback of progress that calls `act` when the first bytes are done."""
    left = [act]

    def progress(done, total):
        if done and left:
            left.pop()()

    return progress


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
    """A file in memory, which can seek or not, and gives and takes at most `most` bytes at once."""

    def __init__(self, data=b"", seeks=False, most=None):
        self.inner = io.BytesIO(data)
        self.seeks, self.most = seeks, most

    def readable(self):
        return True

    def writable(self):
        return True

    def seekable(self):
        return self.seeks

    def readinto(self, buffer):
        return self.inner.readinto(memoryview(buffer)[:self.most])

    def write(self, data):
        return self.inner.write(data[:self.most])

    def seek(self, *args):
        return self.inner.seek(*args)

    def tell(self):
        return self.inner.tell()
