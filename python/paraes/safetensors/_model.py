"""Encrypted safetensors files, whichever library makes the tensors."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from paraes import files
from paraes._file_objects import Turns
from paraes.exceptions import InvalidArgument
from paraes.safetensors import _header
from paraes.safetensors._header import Entry, Header, HeaderError, shown

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from paraes.files import DecryptedReader

SUFFIX = ".paes"
INDEX = ".index.json"
# Tensors begin at multiples of this in memory, whatever their place in the file is.
ALIGNMENT = 64
# Reads have at most this size. In between, Python handles signals.
_PIECE_BYTES = 1 << 30


class Framework(Protocol):
    """A library of tensors, and where these shall be."""

    def memory(self, size: int) -> Any:
        """`size` bytes that begin at a multiple of ALIGNMENT."""

    def fill(self, memory: Any, begin: int, size: int, reader: DecryptedReader) -> int:
        """Read up to `size` bytes into the memory from byte `begin` on; return how many came."""

    def tensor(self, memory: Any, begin: int, entry: Entry, name: str) -> Any:
        """The tensor whose bytes begin there. check() has passed."""

    def check(self, entry: Entry, name: str) -> None:
        """Raises InvalidArgument for a dtype or a shape that the library does not have."""


def stored_shape(entry: Entry) -> list[int]:
    """The shape, in bytes where items have less than one."""
    shape, bits = list(entry.shape), _header.ITEM_BITS[entry.dtype]
    if bits >= 8:
        return shape
    if not shape or shape[-1] * bits % 8 != 0:
        return [entry.size]
    return [*shape[:-1], shape[-1] * bits // 8]


def several(options: dict[str, Any]) -> dict[str, Any]:
    """Options that can be used more than once."""
    return {name: list(value) if isinstance(value, Iterator) else value
            for name, value in options.items()}


class File:
    """An open file, and its header. Closed when it cannot be read."""

    def __init__(self, path: files.Path, options: Mapping[str, Any]) -> None:
        self.name = os.fsdecode(path)
        reader = files.open(path, "rb", **options)
        if not isinstance(reader, files.DecryptedReader):  # for type checkers
            raise AssertionError
        self._reader = reader
        self._turns = Turns()  # the place in the file belongs to one call at a time
        try:
            if not reader.seekable():
                raise InvalidArgument(f"{self.name}: tensors are read from files that can seek")
            size = reader.seek(0, os.SEEK_END)
            reader.seek(0)
            self.header = _header.read_header(reader.read, size, self.name)
            reader._forget()  # of tensors that may go to a GPU
        except BaseException:
            reader.close()
            raise

    def close(self) -> None:
        self._reader.close()

    def forget(self) -> None:
        """Free what the next call would need again: staging buffers, and plaintext."""
        self._reader._forget()

    def read(self, framework: Framework, begin: int, size: int) -> Any:
        """Memory with bytes of the data, all of which are authentic."""
        memory = framework.memory(size)
        done = 0
        with self._turns:
            self._reader.seek(self.header.data_begin + begin)
            while done < size:
                n = framework.fill(memory, done, min(size - done, _PIECE_BYTES), self._reader)
                if n == 0:
                    raise HeaderError(f"{self.name}: the file has become shorter")
                done += n
        return memory

    def tensors(self, framework: Framework) -> dict[str, Any]:
        """All tensors, in one memory."""
        return _all_tensors(self.header, framework, lambda size: self._whole(framework, size))

    def _whole(self, framework: Framework, size: int) -> Any:
        memory = self.read(framework, 0, size)
        self.forget()
        return memory

    def tensor(self, framework: Framework, name: str) -> Any:
        entry = self.header.entries[name]
        framework.check(entry, name)
        memory = self.read(framework, entry.begin, entry.size)
        return framework.tensor(memory, 0, entry, name)

    def rows(self, framework: Framework, name: str, first: int, count: int) -> Any:
        """Part of a tensor, by its first dimension."""
        entry = self.header.entries[name]
        shape = (count, *entry.shape[1:])
        row = entry.size // entry.shape[0] if entry.shape[0] else 0
        if row * entry.shape[0] != entry.size:
            raise InvalidArgument(
                f"tensor {shown(name)}: its rows are no whole bytes: use get_tensor()")
        begin = entry.begin + first * row
        part = Entry(entry.dtype, shape, begin, begin + count * row)
        framework.check(part, name)
        return framework.tensor(self.read(framework, begin, part.size), 0, part, name)


def _all_tensors(header: Header, framework: Framework,
                 read: Callable[[int], Any]) -> dict[str, Any]:
    """read: returns memory with so many bytes of the data."""
    for name, entry in header.entries.items():
        framework.check(entry, name)
    memory = read(header.data_size)
    return {name: framework.tensor(memory, entry.begin, entry, name)
            for name, entry in header.entries.items()}


class Model:
    """The open file, or all open shards of an index."""

    def __init__(self, path: files.Path, options: dict[str, Any]) -> None:
        self._is_closed = False
        self._last: File | None = None
        self._files: list[File] = []
        self._places: dict[str, File] = {}
        shared: dict[str, Any] = {}
        try:
            self.name = os.fsdecode(path)
            shared.update(several(options))
            for file in _files_of(self.name, shared):
                self._files.append(file)
                self._places.update(dict.fromkeys(file.header.entries, file))
        except BaseException:
            self.close()
            raise
        finally:
            options.clear()  # tracebacks show no secrets
            shared.clear()

    def close(self) -> None:
        self._is_closed = True
        with contextlib.ExitStack() as closing:  # all of them, if one fails
            for file in self._files:
                closing.callback(file.close)

    def require_open(self) -> None:
        if self._is_closed:
            raise ValueError("I/O operation on closed file")

    def file_of(self, name: str) -> File:
        self.require_open()
        if name not in self._places:
            raise HeaderError(f"{self.name}: there is no tensor {shown(name)}")
        file = self._places[name]
        # Only one of a hundred shards keeps buffers.
        if self._last is not file:
            if self._last is not None:
                self._last.forget()
            self._last = file
        return file

    @property
    def metadata(self) -> dict[str, str] | None:
        return self._files[0].header.metadata

    def names(self) -> list[str]:
        return list(self._places)

    def tensors(self, framework: Framework) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for file in self._files:
            found.update(file.tensors(framework))
        return found


def _files_of(path: str, options: Mapping[str, Any]) -> Iterator[File]:
    """Opens the file, or one shard of the index after the other. Whoever gets them closes them."""
    if not path.removesuffix(SUFFIX).endswith(INDEX):
        yield File(path, options)
        return
    folder = os.path.dirname(path)
    places: dict[str, str] = {}
    for shard, names in _shards_of(path, options).items():
        file = File(os.path.join(folder, shard), options)
        try:
            _check_shard(path, file, names, places)
        except BaseException:
            file.close()
            raise
        yield file


def _check_shard(path: str, file: File, names: Sequence[str], places: dict[str, str]) -> None:
    """names: of its tensors, by the index. places: the files of all tensors so far."""
    for name in names:
        if name not in file.header.entries:
            raise HeaderError(f"{path}: tensor {shown(name)} should be in {file.name}, and is not")
    for name in file.header.entries:
        if name in places:
            raise HeaderError(f"tensor {shown(name)} is in {places[name]} and in {file.name}")
        places[name] = file.name


def _shards_of(path: str, options: Mapping[str, Any]) -> dict[str, list[str]]:
    """The encrypted files that an index names, and the tensors of each."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise HeaderError(f"{path}: an index is a regular file")
    if path.endswith(SUFFIX):
        with files.open(path, "rb", **options) as file:
            text = file.read(_header.MOST_BYTES + 1)
    else:
        with open(path, "rb") as plain:
            text = plain.read(_header.MOST_BYTES + 1)
    try:
        if len(text) > _header.MOST_BYTES:
            raise ValueError(f"it has more than {_header.MOST_BYTES} bytes")
        decoded = _header.decode_json(text)
        weight_map = decoded.get("weight_map") if isinstance(decoded, dict) else None
        if not isinstance(weight_map, dict) or not weight_map:
            raise ValueError("its weight_map is no object with tensors")
        shards: dict[str, list[str]] = {}
        for name, shard in weight_map.items():
            is_name = isinstance(shard, str) and shard == os.path.basename(shard)
            if not is_name or shard in ("", ".", "..") or "\0" in shard:
                raise ValueError(f"a shard is a file beside it, not {shown(shard)}")
            file_name = shard if shard.endswith(SUFFIX) else shard + SUFFIX
            shards.setdefault(file_name, []).append(name)
    except (ValueError, RecursionError) as error:
        raise HeaderError(f"{path}: it is no index of safetensors files: {error}") from None
    return shards


# ---- Loading and saving


def load(path: files.Path, options: dict[str, Any], framework: Framework) -> dict[str, Any]:
    """All tensors, of one file after the other."""
    found: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    try:
        shared.update(several(options))
        for file in _files_of(os.fsdecode(path), shared):
            with contextlib.closing(file):
                found.update(file.tensors(framework))
        return found
    finally:
        options.clear()  # tracebacks show no secrets
        shared.clear()


class _InMemory:
    """What a file needs of a reader, for bytes."""

    def __init__(self, content: bytes) -> None:
        self._content, self._offset = memoryview(content), 0

    def seek(self, offset: int) -> None:
        self._offset = offset

    def read(self, size: int) -> bytes:
        return bytes(self._take(size))

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        part = self._take(len(view))
        view[: len(part)] = part
        return len(part)

    def _take(self, size: int) -> memoryview:
        part = self._content[self._offset : self._offset + size]
        self._offset += len(part)
        return part


def load_bytes(data: Buffer, options: dict[str, Any], framework: Framework) -> dict[str, Any]:
    try:
        plain = files.unseal(data, **options)
    finally:
        options.clear()
    source = _InMemory(plain)
    header = _header.read_header(source.read, len(plain), "data")

    def read(size: int) -> Any:
        memory = framework.memory(size)
        source.seek(header.data_begin)
        if size:
            framework.fill(memory, 0, size, cast("DecryptedReader", source))
        return memory

    return _all_tensors(header, framework, read)


# The bytes of a tensor, made when they are written.
MakeBytes = Callable[[], memoryview]
# The dtype, shape and bytes of each tensor.
Contents = dict[str, tuple[str, Sequence[int], MakeBytes]]
# Raises for tensors that cannot be saved.
ContentsOf = Callable[[Mapping[str, Any]], Contents]


def _pieces(contents_of: ContentsOf, tensors: Mapping[str, Any],
            metadata: Mapping[str, str] | None) -> list[MakeBytes]:
    """What makes the parts of a file: its header, and the bytes of each tensor."""
    for name in tensors:
        if not isinstance(name, str):
            raise TypeError(f"tensor {name!r}: a name is a str")
    contents = contents_of(tensors)
    header, order = _header.make_header(
        {name: (dtype, shape) for name, (dtype, shape, _) in contents.items()}, metadata)
    return [lambda: memoryview(header), *(contents[name][2] for name in order)]


def save_file(contents_of: ContentsOf, tensors: Mapping[str, Any], path: files.Path,
              metadata: Mapping[str, str] | None, options: dict[str, Any]) -> None:
    try:
        pieces = _pieces(contents_of, tensors, metadata)
        with files.open(path, "wb", **options) as file:
            for make in pieces:
                file.write(make())
    finally:
        options.clear()


def save(contents_of: ContentsOf, tensors: Mapping[str, Any],
         metadata: Mapping[str, str] | None, options: dict[str, Any]) -> bytes:
    try:
        plain = bytearray()
        for make in _pieces(contents_of, tensors, metadata):
            plain += make()
        return files.seal(plain, **options)
    finally:
        options.clear()
