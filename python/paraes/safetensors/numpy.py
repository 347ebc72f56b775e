"""safetensors.numpy for encrypted files: load_file, save_file, load and save.

BF16 and F8 need the package ml_dtypes. What has less than a byte for each item (F4, F6) becomes an
array of bytes, as they are in the file, whose last dimension is that many bytes.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, cast

import numpy

from paraes.exceptions import InvalidArgument
from paraes.safetensors import _header, _model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Buffer, Unpack

    from paraes.files import DecryptedReader, OpenOptions, Path, SealOptions
    from paraes.safetensors._header import Entry

    Array = numpy.ndarray[Any, Any]

__all__ = ["load", "load_file", "save", "save_file"]

_TYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "F16": "float16",
    "U32": "uint32", "I32": "int32", "F32": "float32", "U64": "uint64", "I64": "int64",
    "F64": "float64", "C64": "complex64",
}
_OTHER_TYPES = {  # of ml_dtypes
    "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
_NAMES = {name: dtype for dtype, name in {**_TYPES, **_OTHER_TYPES}.items()}


class Framework:
    """numpy, and the memory of the host."""

    def memory(self, size: int) -> Array:
        everything = numpy.empty(size + _model.ALIGNMENT, numpy.uint8)
        begin = -everything.ctypes.data % _model.ALIGNMENT
        return everything[begin : begin + size]

    def fill(self, memory: Array, begin: int, size: int, reader: DecryptedReader) -> int:
        return reader.readinto(memory[begin : begin + size].data)

    def check(self, entry: Entry, name: str) -> None:
        dtype = self._dtype(entry, name)
        try:
            numpy.broadcast_to(numpy.empty((), dtype), _model.stored_shape(entry))
        except (ValueError, OverflowError) as error:
            raise InvalidArgument(
                f"tensor {_header.shown(name)}: numpy has no such shape: {error}") from None

    def tensor(self, memory: Array, begin: int, entry: Entry, name: str) -> Array:
        dtype = self._dtype(entry, name)
        shape = _model.stored_shape(entry)
        if entry.size == 0:
            return numpy.empty(shape, dtype)
        part = memory[begin : begin + entry.size]
        if part.ctypes.data % dtype.alignment != 0:
            part = part.copy()
        return part.view(dtype).reshape(shape)

    @staticmethod
    def _dtype(entry: Entry, name: str) -> numpy.dtype[Any]:
        if entry.dtype in _TYPES:
            return numpy.dtype(_TYPES[entry.dtype])
        if _header.ITEM_BITS[entry.dtype] < 8:
            return numpy.dtype(numpy.uint8)
        other = _OTHER_TYPES[entry.dtype]
        try:
            found: numpy.dtype[Any] = numpy.dtype(
                getattr(importlib.import_module("ml_dtypes"), other))
            return found
        except (ImportError, AttributeError):
            raise InvalidArgument(
                f"tensor {_header.shown(name)}: numpy has no {entry.dtype}: install ml_dtypes, "
                f"which has {other}, or load it with torch"
            ) from None


def load_file(filename: Path, **options: Unpack[OpenOptions]) -> dict[str, Array]:
    """Return all tensors of an encrypted file, in the order of their places; or of all shards that
    an index names (`model.safetensors.index.json`, encrypted or not).

    They share one memory for each file, and are handed out when all of it is authentic. An index
    that is not encrypted is not authenticated. options: see paraes.files.OpenOptions. Raises as
    paraes.open() does, and HeaderError for what is no safetensors file.
    """
    return _model.load(filename, cast("dict[str, Any]", options), Framework())


def load(data: Buffer, **options: Unpack[OpenOptions]) -> dict[str, Array]:
    """Return all tensors of an encrypted file that is in memory, as save() returns it."""
    return _model.load_bytes(data, cast("dict[str, Any]", options), Framework())


def save_file(tensor_dict: Mapping[str, Array], filename: Path,
              metadata: Mapping[str, str] | None = None, **options: Unpack[SealOptions]) -> None:
    """Write tensors to an encrypted file. It appears, or replaces an existing one, when it is
    complete. What it contains is what safetensors.numpy.save() makes. options: see
    paraes.files.SealOptions."""
    _model.save_file(_contents, tensor_dict, filename, metadata, cast("dict[str, Any]", options))


def save(tensor_dict: Mapping[str, Array], metadata: Mapping[str, str] | None = None,
         **options: Unpack[SealOptions]) -> bytes:
    """Return the bytes that save_file() would write."""
    return _model.save(_contents, tensor_dict, metadata, cast("dict[str, Any]", options))


def _contents(tensors: Mapping[str, Array]) -> _model.Contents:
    contents: _model.Contents = {}
    for name, array in tensors.items():
        if not isinstance(array, (numpy.ndarray, numpy.generic)):
            raise TypeError(
                f"tensor {name!r}: a numpy array is required, not {type(array).__name__!r}")
        dtype = _NAMES.get(array.dtype.name)
        if dtype is None:
            raise InvalidArgument(f"tensor {name!r}: safetensors has no {array.dtype}")
        contents[name] = (dtype, array.shape, _bytes_of(array))
    return contents


def _bytes_of(array: Array | numpy.generic[Any]) -> _model.MakeBytes:
    def make() -> memoryview:
        whole = numpy.ascontiguousarray(array)
        order = whole.dtype.byteorder
        if order == ">" or (order == "=" and sys.byteorder == "big"):
            whole = whole.byteswap()
        return whole.reshape(-1).view(numpy.uint8).data

    return make
