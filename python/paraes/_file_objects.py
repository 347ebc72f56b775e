"""How file objects are shared by threads, and how those that are written end."""

from __future__ import annotations

import _thread
import dis
import io
import os
import sys
from typing import Any, cast


class Turns:
    """Lets the calls of an object take turns, and refuses one from within another of its thread."""

    def __init__(self) -> None:
        self._new()

    def _new(self) -> None:
        # The thread that has it may take it again, as in a signal handler: a plain lock would wait.
        self._lock = _thread.RLock()
        self._taken = False
        self._process = os.getpid()

    def __enter__(self) -> None:
        # In a child, a thread that does not exist there may hold the lock of the parent.
        if self._process != os.getpid():
            self._new()
        self._lock.acquire()
        if self._taken:
            self._lock.release()
            raise RuntimeError("reentrant call: another call of this object is not over")
        self._taken = True

    def __exit__(self, *_: object) -> None:
        self._taken = False
        self._lock.release()


_EXIT_BY_EXCEPTION = dis.opmap["WITH_EXCEPT_START"]
# Packages whose objects close a file at the end of a `with` block, in functions of their own.
_CLOSERS = frozenset({"codecs", "contextlib", "dask", "fsspec", "pandas", "paraes", "xarray"})


def _leaves_by_exception() -> bool:
    """Whether a `with` block is being left by an exception, and therefore a file is closed.

    io.TextIOWrapper, fsspec.open() and pandas close their files then, and say nothing of the
    exception: what is half written would look complete. A file that other code closes, in a handler
    or in an __exit__() of its own, is closed on purpose.
    """
    if sys.exc_info()[1] is None:
        return False
    frame = sys._getframe(3)  # behind complete() and close()
    while frame is not None:
        if frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _EXIT_BY_EXCEPTION:
            return True
        if str(frame.f_globals.get("__name__")).split(".")[0] not in _CLOSERS:
            return False
        frame = cast(Any, frame.f_back)
    return False


def complete(file: Any) -> None:
    """What close() of a file that is written does: complete it, or leave nothing."""
    if file.closed:
        return
    if _leaves_by_exception():
        file.abort()
        return
    try:
        file._complete()
    except BaseException:
        file._clean_up()
        raise
    io.BufferedIOBase.close(file)
