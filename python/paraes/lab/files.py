"""Write output files atomically."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paraes.lab.errors import LabError


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def make_folder(folder: Path) -> None:
    """Make `folder` and its parents; raise LabError with the reason if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"{folder}: cannot make this folder: {_why(error)}") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder for one measurement: two at once would disturb each other.

    Raises LabError if another process has it.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(
                f"{folder}: another paraes-lab is measuring into this folder: wait for it, or "
                "choose another -o"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes | str) -> None:
    """Write `data` to a temporary file beside `path`, then rename it to `path`.

    Readers see the old file or the whole new one.
    """
    if isinstance(data, str):
        data = data.encode("utf-8")
    if path.is_dir():
        raise LabError(f"{path}: is a folder; name a file")
    temporary = None
    try:
        name = path.parent / f".{path.name}.{secrets.token_hex(4)}"
        with name.open("xb") as file:
            temporary = name
            file.write(data)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise LabError(f"{path}: cannot write: {_why(error)}") from error


def dumps(value: Any) -> str:
    """Return a value as the JSON text that this package writes."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
