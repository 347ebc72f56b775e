"""Memory for parts, which threads keep."""

from __future__ import annotations

import contextlib
import mmap
import threading

_kept = threading.local()


def buffer(name: str, size: int) -> memoryview:
    """Memory of this thread for `size` bytes. New memory would take as long as the work."""
    memory = getattr(_kept, name, None)
    if memory is None or len(memory) < size:
        memory = mmap.mmap(-1, max(size, mmap.PAGESIZE),
                           flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):  # the kernel has none
            memory.madvise(mmap.MADV_HUGEPAGE)  # a part has thousands of others
        setattr(_kept, name, memory)
    return memoryview(memory)[:size]


def forget_buffers() -> None:
    """Overwrite and free the memory of this thread."""
    for memory in _kept.__dict__.values():
        memory[:] = bytes(len(memory))
    _kept.__dict__.clear()
