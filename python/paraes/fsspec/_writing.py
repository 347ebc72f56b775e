"""Objects that are written, also compressed and as text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, cast

from paraes import _native
from paraes._file_objects import complete
from paraes.files import EncryptedWriter
from paraes.fsspec._upload import Upload, warn_if_it_fails

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Writer(EncryptedWriter):
    """An encrypted object that is being written. It appears when it is closed or, in a transaction
    of fsspec, when that ends."""

    def __init__(self, path: str, native: _native.PlainWriter, mode: str, upload: Upload | None,
                 autocommit: bool, written: Any) -> None:
        super().__init__(path, native, mode)
        self.path = path
        self.autocommit = autocommit
        self._upload = upload
        self._written = written
        self._discarded = False

    def _complete(self) -> None:
        if self._upload is not None:
            self._native.finish()
            self._upload.finish()
        if self.autocommit:
            self.commit()

    def _clean_up(self) -> None:
        warn_if_it_fails(self.path, self.abort)

    def commit(self) -> None:
        """Give the object its name: close() does, but not in a transaction."""
        if self._discarded:
            return
        if not self.closed and not self.autocommit:
            self.close()
        if self._upload is None:
            self._native.finish()
        else:
            self._upload.commit()
        self._written()

    def discard(self) -> None:
        self._give_up(wait=True)

    def _give_up(self, *, wait: bool) -> None:
        self._discarded = True
        self._native.abort()
        if self._upload is not None:
            self._upload.discard(wait=wait)

    def abort(self) -> None:
        self._end(wait=True)

    def _drop(self) -> None:
        self._end(wait=False)

    def _end(self, *, wait: bool) -> None:
        try:
            self._give_up(wait=wait)
        finally:
            io.BufferedIOBase.close(self)


class Compressed(io.BufferedIOBase):
    """Compresses what is written, and ends both files as one."""

    def __init__(self, compressor: Any, file: Writer) -> None:
        super().__init__()
        self._compressor = compressor
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        return cast(int, self._compressor.write(data))

    def flush(self) -> None:
        if not self._compressor.closed and not self._file.closed:
            self._compressor.flush()

    def abort(self) -> None:
        try:
            self._file.abort()
        finally:
            io.BufferedIOBase.close(self)

    def close(self) -> None:
        complete(self)

    def _complete(self) -> None:
        self._compressor.close()
        self._file.close()

    _clean_up = abort

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if not self.closed:
            self._file.__del__()
            io.BufferedIOBase.close(self)


class Text(io.TextIOWrapper):
    """Text that is written. Deletion without close() leaves nothing, as of the file below."""

    def __del__(self) -> None:
        if not self.closed:
            self.buffer.__del__()  # type: ignore[attr-defined]
