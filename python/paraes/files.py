"""Encrypted files, and messages in memory."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple, TypedDict, cast, overload

from paraes import _native
from paraes._file_objects import Turns, complete
from paraes.exceptions import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from typing_extensions import Buffer, Self, Unpack


Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Progress = Callable[[int, "int | None"], object]

__all__ = [
    "DecryptedReader",
    "EncryptedWriter",
    "FileResult",
    "decrypt_file",
    "encrypt_file",
    "open",
    "rekey_file",
    "seal",
    "unseal",
    "verify_file",
]


_LARGEST_OFFSET = (1 << 63) - 1  # as in ordinary files


class Where(TypedDict, total=False):
    """Where the work is done."""

    threads: int  # of the CPU; 0, the default: all cores
    device: str  # "cpu" (the default), "cuda:0", "hip", "opencl"
    kernel: str  # "auto" (the default), or one of `paraes devices`


class MessageOptions(TypedDict, total=False):
    """Options that must be the same for sealing and opening a message."""

    context: Buffer  # up to 512 bytes that are authenticated and not stored
    format: Literal["paraes", "c2sp", "tink"]
    segment_size: int  # tink: bytes of ciphertext in a segment
    tink_hash: Literal["sha1", "sha256", "sha512"]


class SealOptions(Where, MessageOptions, total=False):
    """Exactly one of key, key_file, passphrase and recipients (or recipients_file) is needed."""

    key: Buffer  # 16 or 32 bytes
    key_file: Path  # as `paraes keygen` makes one
    passphrase: str | Buffer
    recipients: str | Iterable[str]  # "age1…", "ssh-ed25519 AAAA…"; needs the program age
    recipients_file: Path | Iterable[Path]  # one a line
    key_bits: Literal[128, 256]  # with a passphrase or recipients; 256 is the default
    scrypt_log2n: int  # cost of a passphrase; 17 is the default


class OpenSecret(MessageOptions, total=False):
    """Exactly one of key, key_file, passphrase and identity is needed."""

    key: Buffer
    key_file: Path
    passphrase: str | Buffer
    identity: Path | Iterable[Path]  # files of private keys; needs the program age
    max_scrypt_log2n: int  # the highest cost that is accepted; 22 is the default


class OpenOptions(Where, OpenSecret, total=False):
    """See Where and OpenSecret."""


class LoadOptions(OpenSecret, total=False):
    """Options for loading arrays to a device that another argument names."""

    threads: int
    kernel: str


class SealFileOptions(SealOptions, total=False):
    progress: Progress | None


class OpenFileOptions(OpenOptions, total=False):
    progress: Progress | None


class RekeyOptions(OpenFileOptions, total=False):
    """The options without to_ open the file as it is."""

    to_key: Buffer
    to_key_file: Path
    to_passphrase: str | Buffer
    to_recipients: str | Iterable[str]
    to_recipients_file: Path | Iterable[Path]
    key_bits: Literal[128, 256]
    scrypt_log2n: int


class FileResult(NamedTuple):
    """The result of an operation on a file."""

    output: str  # the file that was written or verified
    bytes: int  # of plaintext
    device: str | None  # None if no data was encrypted or decrypted
    kernel: str | None


def _call(function: Callable[..., Any], *arguments: object, options: Any) -> Any:
    """Call a function of _native with the options last, and forget these."""
    try:
        return function(*arguments, options)
    finally:
        # The module empties the dictionary, too, unless it refuses an argument before it begins.
        # Then tracebacks would show the secrets.
        options.clear()


def encrypt_file(source: Path, target: Path | None = None, *, overwrite: bool = False,
                 **options: Unpack[SealFileOptions]) -> FileResult:
    """Encrypt the file `source` to `target`; without one, to its name with .paes.

    The target appears under its name when it is complete: if anything fails, nothing is left, and
    an existing file stays as it was. An existing target is a FileExistsError unless `overwrite`.
    Mode and modification time are those of the source.

    options: see SealOptions. progress(done, total) is called in this thread about ten times a
    second and at the end, with numbers of bytes; an exception of it ends the work and is raised
    here, and so does KeyboardInterrupt. In the call at the end, when `done` is `total`, the target
    is there already.
    """
    return FileResult(*_call(_native.encrypt_file, source, target, overwrite, options=options))


def decrypt_file(source: Path, target: Path | None = None, *, overwrite: bool = False,
                 **options: Unpack[OpenFileOptions]) -> FileResult:
    """Decrypt the file `source` to `target`; without one, to its name without .paes.

    The target appears only when all of the source is authenticated. IntegrityError if it is damaged
    or truncated, WrongKey if it was encrypted with another key, passphrase or context. The mode is
    that of the source without the bits of the umask. Everything else is as in encrypt_file.

    options: see OpenOptions.
    """
    return FileResult(*_call(_native.decrypt_file, source, target, overwrite, options=options))


def verify_file(source: Path, **options: Unpack[OpenFileOptions]) -> FileResult:
    """Authenticate all of a file and write nothing. Options and errors as in decrypt_file."""
    return FileResult(*_call(_native.verify_file, source, options=options))


def rekey_file(file: Path, *, new_key: bool = False, verify: bool = False,
               **options: Unpack[RekeyOptions]) -> FileResult:
    """Give a file in the paraes format to another key, passphrase or other recipients, in place.

    It takes exactly one of the options that open the file, and one of to_key, to_key_file,
    to_passphrase and to_recipients (or to_recipients_file). From recipients to recipients, only the
    header is replaced: the data stays encrypted with the same keys, unless `new_key`, and
    unverified, unless `verify`. In all other cases the data is authenticated and encrypted again.
    Owner, mode and time are kept; if anything fails, the file stays as it was. progress as in
    encrypt_file.
    """
    return FileResult(*_call(_native.rekey_file, file, new_key, verify, options=options))


def seal(data: Buffer, **options: Unpack[SealOptions]) -> bytes:
    """Return `data` as a message: the bytes that encrypt_file would write."""
    return cast(bytes, _call(_native.seal, data, options=options))


def unseal(data: Buffer, **options: Unpack[OpenOptions]) -> bytes:
    """Return the plaintext of a message, all of it authenticated. Errors as in decrypt_file."""
    return cast(bytes, _call(_native.unseal, data, options=options))


@overload
def open(file: Path | BinaryIO, mode: Literal["rb"] = "rb",
         **options: Unpack[OpenOptions]) -> DecryptedReader: ...


@overload
def open(file: Path | BinaryIO, mode: Literal["wb", "xb"],
         **options: Unpack[SealOptions]) -> EncryptedWriter: ...


def open(file: Path | BinaryIO, mode: str = "rb",
         **options: Any) -> DecryptedReader | EncryptedWriter:
    """Open an encrypted file as a binary file object of its plaintext.

    file: a path or a binary file object, which is used from its current position and not closed.
    Its read, readinto and write must block until there is data or room: a raw file that does not
    block is a FileError (EAGAIN). If the object is an io.RawIOBase, write returns the number of
    bytes that it took. Other objects may return that number too; any other value means all bytes.

    - "rb" returns a DecryptedReader. Only authenticated bytes are read. It can seek if `file` can,
      and then the header and the end have been authenticated when this function returns, so that a
      truncated file is an IntegrityError here. options: see OpenOptions.
    - "wb" returns an EncryptedWriter. Under a path, the file appears, or replaces an existing one,
      when the writer is closed, and not at all after an exception in a `with` block. "xb" refuses
      an existing file (FileExistsError). options: see SealOptions.
    """
    try:
        if mode == "rb":
            return DecryptedReader(file, _native.open_reader(file, options))
        if mode in ("wb", "xb"):
            return EncryptedWriter(file, _native.open_writer(file, mode == "xb", options), mode)
        raise InvalidArgument(f"mode: it is 'rb', 'wb' or 'xb', not {mode!r}")
    finally:
        options.clear()  # as in _call


class _PlaintextFile(io.BufferedIOBase):
    """The parts that DecryptedReader and EncryptedWriter share."""

    def __init__(self, file: Any, mode: str) -> None:
        is_path = isinstance(file, str | bytes | os.PathLike)
        self.name: object = file if is_path else getattr(file, "name", None)
        self.mode = mode
        self._offset = 0

    def __repr__(self) -> str:
        return f"<paraes.{type(self).__name__} name={self.name!r}>"

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def tell(self) -> int:
        """Return the offset in the plaintext."""
        self._check()
        return self._offset

    def __reduce__(self) -> Any:
        raise TypeError("an open file cannot be pickled")


class DecryptedReader(_PlaintextFile):
    """The plaintext of an encrypted file. open() makes it.

    Sequential reads are opened ahead, on all cores. Several threads may use one object; they take
    turns. read, readinto and seek raise IntegrityError where the file is damaged, and
    the rest of it stays readable.
    """

    def __init__(self, file: Any, native: _native.PlainReader | _native.StreamReader) -> None:
        super().__init__(file, "rb")
        self._file = file  # an object must not be closed while it is used
        self._native = native
        self._turns = Turns()  # the offset belongs to one call at a time
        self._plain = native if isinstance(native, _native.PlainReader) else None

    def readable(self) -> bool:
        self._check()
        return True

    def seekable(self) -> bool:
        self._check()
        return self._plain is not None

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill `buffer`, and return how many bytes there were: fewer only at the end."""
        self._check()
        if self._plain is not None:
            with self._turns:
                done = self._plain.readinto(self._offset, buffer)
                self._offset += done
            return done
        view = memoryview(buffer)
        if view.nbytes == 0:
            return 0  # cast() takes no view without items
        view = view.cast("B")
        done = 0
        while done < len(view):
            n = self.readinto1(view[done:])
            if n == 0:
                break
            done += n
        return done

    def _readinto_device(self, out: tuple[int, int, int], device: str, stream: int,
                         waits: list[int], kernel: str) -> int:
        """For paraes.gpu.readinto: `out` is (memory, offset, bytes)."""
        self._check()
        if self._plain is None:
            raise io.UnsupportedOperation("the file cannot seek: read it, and copy to the GPU")
        memory, begin, size = out
        with self._turns:
            size = min(size, max(self._plain.size() - self._offset, 0))
            if size:
                self._plain.read_to_device(self._offset, (memory, begin, size), device, stream,
                                           waits, kernel)
            self._offset += size
        return size

    def _forget(self) -> None:
        """Overwrite the plaintext that was read beyond what anybody asked for, and free what
        paraes.gpu.readinto keeps."""
        if self._plain is not None:
            self._plain.forget()

    def readinto1(self, buffer: Buffer, /) -> int:
        """Like readinto, but reads at most 1 MiB at a time from a file that cannot seek."""
        self._check()
        if isinstance(self._native, _native.StreamReader):
            n = self._native.readinto(buffer)
            self._offset += n
            return n
        return self.readinto(buffer)

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to `size` bytes: fewer only at the end. All that is left without a size."""
        self._check()
        left = -1 if size is None else size
        if self._plain is not None:
            wanted = self._plain.size() if left < 0 else min(left, self._plain.size())
            with self._turns:
                data = self._plain.read(self._offset, wanted)
                self._offset += len(data)
            return data
        parts = []
        while left != 0:
            part = bytearray(1 << 20 if left < 0 else min(left, 1 << 20))
            n = self.readinto1(part)
            if n == 0:
                break
            parts.append(bytes(memoryview(part)[:n]))
            left -= n
        return b"".join(parts)

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, or some, with as little work as possible."""
        if self._plain is not None:
            return self.read(min(size, 1 << 18) if size >= 0 else 1 << 18)
        part = bytearray(size if 0 <= size < 1 << 18 else 1 << 18)
        return bytes(memoryview(part)[: self.readinto1(part)])

    def peek(self, size: int = 0, /) -> bytes:
        """Return the next bytes without moving on; none where the file cannot seek."""
        self._check()
        if self._plain is None:
            return b""
        return self._plain.read(self._offset, min(max(size, 1 << 12), self._plain.size()))

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to an offset in the plaintext and return it."""
        self._check()
        if self._plain is None:
            raise io.UnsupportedOperation("the file cannot seek")
        with self._turns:
            begins = {os.SEEK_SET: 0, os.SEEK_CUR: self._offset, os.SEEK_END: self._plain.size()}
            if whence not in begins:
                raise InvalidArgument(f"whence: it is 0, 1 or 2, not {whence}")
            offset += begins[whence]
            if offset < 0:
                raise InvalidArgument(f"offset: {offset} is before the start")
            if offset > _LARGEST_OFFSET:
                raise InvalidArgument(f"offset: {offset} is more than {_LARGEST_OFFSET}")
            self._offset = offset
            return offset

    def close(self) -> None:
        if not self.closed:
            self._native.close()
            self._file = None
        super().close()


class EncryptedWriter(_PlaintextFile):
    """Encrypts what is written to it. open() makes it.

    close() ends the message, and a file appears under its name. abort(), an exception in a `with`
    block, and deletion without close() leave nothing, and an existing file as it was. The block may
    also be that of io.TextIOWrapper, or of another object that closes this one. What was written to
    a file object stays there, as a message that cannot be decrypted to its end.

    It belongs to the process that made it: in a child of os.fork(), write and close raise
    WrongProcess, and everything else leaves the file to the parent.
    """

    def __init__(self, file: Any, native: _native.PlainWriter, mode: str) -> None:
        super().__init__(file, mode)
        self._native = native

    def writable(self) -> bool:
        self._check()
        return True

    def write(self, data: Buffer, /) -> int:
        """Encrypt `data`, and return its size in bytes."""
        self._check()
        n = self._native.write(data)
        self._offset += n
        return n

    def flush(self) -> None:
        """Do nothing: a segment is written when it is full, and the rest when the file closes."""
        self._check()

    def abort(self) -> None:
        """Close without a file."""
        self._native.abort()
        io.BufferedIOBase.close(self)

    def close(self) -> None:
        """End the message and commit the file. If that fails, nothing is left."""
        complete(self)

    def _complete(self) -> None:
        self._native.finish()

    def _clean_up(self) -> None:
        self.abort()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __enter__(self) -> Self:
        self._check()
        return self

    def __del__(self) -> None:
        native = getattr(self, "_native", None)
        if native is None or self.closed:
            return
        # A child process that ends must not speak of its parent's file.
        if native.is_pending():
            warnings.warn(f"{self!r} was not closed: nothing was written", ResourceWarning,
                          stacklevel=2, source=self)
        self._drop()

    def _drop(self) -> None:
        """Abort, in any thread: Python deletes objects where it likes."""
        self.abort()
