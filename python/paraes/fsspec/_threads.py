"""Work that a thread does."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


def start(thread: ThreadPoolExecutor, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Work in the thread or, when the interpreter ends, here: it starts no more threads."""
    try:
        return thread.submit(work, *arguments)
    except RuntimeError as error:
        # If the system has no more threads, the work waits in the queue: it must not be done twice.
        if "cannot schedule new futures" not in str(error):
            raise
        done: Future[Any] = Future()
        try:
            done.set_result(work(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done
