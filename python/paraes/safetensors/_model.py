"""Encrypted safetensors files, whichever library makes the tensors."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from paraes import files
from paraes.exceptions import InvalidArgument
from paraes.safetensors import _header
from paraes.safetensors._header import Entry, HeaderError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from paraes.files import DecryptedReader

SUFFIX = ".paes"
INDEX = ".index.json"
# Tensors begin at multiples of this in memory, whatever their place in the file is.
ALIGNMENT = 64
# What is read at once. In between, Python handles signals.
_PIECE_BYTES = 1 << 30


class Framework(Protocol):
    """A library of tensors, and where these shall be."""

    def memory(self, size: int) -> Any:
        """`size` bytes that begin at a multiple of ALIGNMENT."""

    def fill(self, memory: Any, begin: int, size: int, reader: DecryptedReader) -> int:
        """Read up to `size` bytes into the memory from byte `begin` on; return how many came."""

    def tensor(self, memory: Any, begin: int, entry: Entry, name: str) -> Any:
        """The tensor whose bytes begin there. Raises InvalidArgument for a dtype that the library
        does not have."""

    def check(self, entry: Entry, name: str) -> None:
        """Raises as tensor() would."""


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
        self._lock = threading.RLock()
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
        with self._lock:
            self._reader.seek(self.header.data_begin + begin)
            while done < size:
                n = framework.fill(memory, done, min(size - done, _PIECE_BYTES), self._reader)
                if n == 0:
                    raise HeaderError(f"{self.name}: the file has become shorter")
                done += n
        return memory

    def tensors(self, framework: Framework) -> dict[str, Any]:
        """All tensors, in one memory."""
        entries = self.header.entries
        for name, entry in entries.items():
            framework.check(entry, name)
        memory = self.read(framework, 0, self.header.data_size)
        self.forget()
        return {name: framework.tensor(memory, entry.begin, entry, name)
                for name, entry in entries.items()}

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
            raise InvalidArgument(f"tensor {name!r}: its rows are no whole bytes: use get_tensor()")
        begin = entry.begin + first * row
        part = Entry(entry.dtype, shape, begin, begin + count * row)
        framework.check(part, name)
        return framework.tensor(self.read(framework, begin, part.size), 0, part, name)


class Model:
    """A file, or all shards of an index."""

    def __init__(self, path: files.Path, options: dict[str, Any]) -> None:
        self.name = os.fsdecode(path)
        self._is_closed = False
        self._last: File | None = None
        self._files: list[File] = []
        self._places: dict[str, File] = {}
        try:
            if self.name.removesuffix(SUFFIX).endswith(INDEX):
                self._open_shards(several(options))
            else:
                self._add(File(path, options))
        except BaseException:
            self.close()
            raise
        finally:
            options.clear()  # tracebacks show no secrets

    def _add(self, file: File) -> None:
        self._files.append(file)
        for name in file.header.entries:
            other = self._places.setdefault(name, file)
            if other is not file:
                raise HeaderError(f"tensor {name!r} is in {other.name} and in {file.name}")

    def _open_shards(self, options: dict[str, Any]) -> None:
        names = _shards_of(self.name, options)
        folder = os.path.dirname(self.name)
        opened: dict[str, File] = {}
        for tensor, shard in names.items():
            if shard not in opened:
                file = shard if shard.endswith(SUFFIX) else shard + SUFFIX
                opened[shard] = File(os.path.join(folder, file), options)
                self._add(opened[shard])
            if tensor not in opened[shard].header.entries:
                raise HeaderError(
                    f"{self.name}: tensor {tensor!r} should be in {opened[shard].name}, and is not"
                )

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._is_closed = True

    def require_open(self) -> None:
        if self._is_closed:
            raise ValueError("I/O operation on closed file")

    def file_of(self, name: str) -> File:
        self.require_open()
        if name not in self._places:
            raise HeaderError(f"{self.name}: there is no tensor {name!r}")
        file = self._places[name]
        # Not each of a hundred shards keeps buffers.
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


def _shards_of(path: str, options: Mapping[str, Any]) -> dict[str, str]:
    """The shard of each tensor."""
    if path.endswith(SUFFIX):
        with files.open(path, "rb", **options) as file:
            text = file.read()
    else:
        with open(path, "rb") as plain:
            text = plain.read()
    try:
        weight_map = json.loads(text)["weight_map"]
        if not isinstance(weight_map, dict) or not weight_map:
            raise ValueError("its weight_map is no object with tensors")
        for shard in weight_map.values():
            is_name = isinstance(shard, str) and shard == os.path.basename(shard)
            if not is_name or shard in ("", ".", ".."):
                raise ValueError(f"a shard is a file beside it, not {shard!r}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise HeaderError(f"{path}: it is no index of safetensors files: {error}") from None
    return weight_map


# ---- Loading and saving


def load(model: Model, framework: Framework) -> dict[str, Any]:
    try:
        return model.tensors(framework)
    finally:
        model.close()


def load_bytes(data: Buffer, options: dict[str, Any], framework: Framework) -> dict[str, Any]:
    try:
        plain = memoryview(files.unseal(data, **options))
    finally:
        options.clear()
    source = io.BytesIO(plain)
    header = _header.read_header(source.read, len(plain), "data")
    found = {}
    for name, entry in header.entries.items():
        framework.check(entry, name)
        memory = framework.memory(entry.size)
        source.seek(header.data_begin + entry.begin)
        framework.fill(memory, 0, entry.size, cast("DecryptedReader", source))
        found[name] = framework.tensor(memory, 0, entry, name)
    return found


# The bytes of a tensor, made when they are written.
MakeBytes = Callable[[], memoryview]
# The dtype, shape and bytes of each tensor.
Contents = dict[str, tuple[str, Sequence[int], MakeBytes]]
# Raises for tensors that cannot be saved.
ContentsOf = Callable[[Mapping[str, Any]], Contents]


def _header_of(contents: Contents, metadata: Mapping[str, str] | None) -> tuple[bytes, list[str]]:
    return _header.make_header(
        {name: (dtype, shape) for name, (dtype, shape, _) in contents.items()}, metadata)


def save_file(contents_of: ContentsOf, tensors: Mapping[str, Any], path: files.Path,
              metadata: Mapping[str, str] | None, options: dict[str, Any]) -> None:
    try:
        contents = contents_of(tensors)
        header, order = _header_of(contents, metadata)
        with files.open(path, "wb", **options) as file:
            file.write(header)
            for name in order:
                file.write(contents[name][2]())
    finally:
        options.clear()


def save(contents_of: ContentsOf, tensors: Mapping[str, Any],
         metadata: Mapping[str, str] | None, options: dict[str, Any]) -> bytes:
    try:
        contents = contents_of(tensors)
        header, order = _header_of(contents, metadata)
        plain = bytearray(header)
        for name in order:
            plain += contents[name][2]()
        return files.seal(plain, **options)
    finally:
        options.clear()
