"""The header of a safetensors file: its size in 8 bytes, and JSON with the place of each tensor."""

from __future__ import annotations

import json
import reprlib
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

try:
    from safetensors import SafetensorError
except ImportError as error:
    raise ImportError(
        f"paraes.safetensors needs the package safetensors: pip install 'paraes[safetensors]' "
        f"({error})"
    ) from None

from paraes.exceptions import Error, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# The bits of one item.
ITEM_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32,
    "F32": 32, "U64": 64, "I64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}
# safetensors writes tensors in this order of their dtypes, from the last to the first.
_ORDER = ("BOOL", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0",
          "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64",
          "F64", "I64", "U64")
LENGTH_BYTES = 8
MOST_BYTES = 100_000_000  # of the JSON, as in safetensors
_METADATA = "__metadata__"
_MOST_SIZE = 1 << 64


class HeaderError(Error, SafetensorError):
    """A file that paraes can decrypt is no safetensors file, or its header contradicts itself."""


class Entry(NamedTuple):
    """One tensor."""

    dtype: str
    shape: tuple[int, ...]
    begin: int  # in the data, which follows the header
    end: int

    @property
    def size(self) -> int:
        return self.end - self.begin


class Header(NamedTuple):
    entries: dict[str, Entry]  # in the order of their places
    metadata: dict[str, str] | None
    data_begin: int  # in the file

    @property
    def data_size(self) -> int:
        return max((entry.end for entry in self.entries.values()), default=0)


# ---- Reading


def read_header(read: Callable[[int], bytes], file_size: int, name: str) -> Header:
    """Read the header of a file of `file_size` bytes, whose next n bytes read(n) returns."""
    start = read(LENGTH_BYTES)
    if len(start) < LENGTH_BYTES:
        raise HeaderError(f"{name}: it is no safetensors file: it has only {file_size} bytes")
    (length,) = struct.unpack("<Q", start)
    if length > min(MOST_BYTES, file_size - LENGTH_BYTES):
        raise HeaderError(
            f"{name}: it is no safetensors file: its header would have {length} bytes, of a file "
            f"of {file_size}"
        )
    try:
        return _parse(read(length), file_size - LENGTH_BYTES - length)
    except HeaderError as error:
        raise HeaderError(f"{name}: {error}") from None


def _parse(text: bytes, data_size: int) -> Header:
    try:
        decoded = decode_json(text)
    except (ValueError, RecursionError) as error:
        raise HeaderError(f"its header is no JSON: {error}") from None
    if not isinstance(decoded, dict):
        raise HeaderError("its header is no JSON object")
    metadata = decoded.pop(_METADATA, None)
    if metadata is not None and not (
        isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values())
    ):
        raise HeaderError(f"{_METADATA} has other values than strings")
    entries = {name: _entry(name, value) for name, value in decoded.items()}
    placed = dict(sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)))
    end = 0
    for name, entry in placed.items():
        if entry.begin != end:
            what = "overlaps another tensor" if entry.begin < end else "leaves a hole before it"
            raise HeaderError(f"tensor {shown(name)} begins at byte {entry.begin}, which {what}")
        end = entry.end
    if end != data_size:
        raise HeaderError(
            f"the tensors end at byte {end} of the data, which has {data_size} bytes"
        )
    return Header(placed, metadata, LENGTH_BYTES + len(text))


def decode_json(text: bytes) -> Any:
    """Raises ValueError or RecursionError for what is no JSON, and for names that are there twice:
    whoever doubles one may want readers to disagree."""
    decoded = json.loads(text.decode("utf-8"), object_pairs_hook=_object,
                         parse_constant=_refuse_constant)
    return decoded


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"it has {shown(name)} twice")
        name.encode("utf-8")  # refuses half of a surrogate pair, with a ValueError
        if isinstance(value, str):
            value.encode("utf-8")
        found[name] = value
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 200
_SHORT.maxlist = _SHORT.maxdict = 20


def shown(value: object) -> str:
    """For messages, however long it is."""
    return _SHORT.repr(value)


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST_SIZE


def _entry(name: str, value: object) -> Entry:
    def refuse(why: str) -> HeaderError:
        return HeaderError(f"tensor {shown(name)}: {why}")

    if not isinstance(value, dict):
        raise refuse("its description is no JSON object")
    dtype, shape, offsets = (value.get(key) for key in ("dtype", "shape", "data_offsets"))
    bits = ITEM_BITS.get(dtype) if isinstance(dtype, str) else None
    if bits is None:
        raise refuse(f"its dtype is {shown(dtype)}, which paraes does not know")
    if not isinstance(shape, list) or not all(_is_size(length) for length in shape):
        raise refuse(f"its shape is {shown(shape)}, and not a list of sizes")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise refuse(f"its data_offsets are {shown(offsets)}, and not two offsets")
    items = 1
    for length in shape:
        items *= length
        if items >= _MOST_SIZE:
            raise refuse("its shape has more items than can be counted")
    begin, end = offsets
    if items * bits != 8 * (end - begin):
        raise refuse(
            f"{items} items of {dtype} have {items * bits / 8:g} bytes, and its data_offsets "
            f"{begin} and {end} enclose {end - begin}"
        )
    return Entry(str(dtype), tuple(shape), begin, end)


# ---- Writing


def make_header(tensors: Mapping[str, tuple[str, Iterable[int]]],
                metadata: Mapping[str, str] | None) -> tuple[bytes, list[str]]:
    """The bytes in front of the data, and the names in the order of their data. That order is that
    of safetensors, and aligns each tensor. tensors: the dtype and shape of each."""
    header: dict[str, object] = {}
    if _METADATA in tensors:
        raise InvalidArgument(f"tensor {_METADATA!r}: this name is that of the metadata")
    if metadata is not None:
        for name, value in metadata.items():
            if not isinstance(name, str) or not isinstance(value, str):
                raise TypeError("metadata: its names and values are str")
        header[_METADATA] = dict(sorted(metadata.items()))
    order = sorted(tensors, key=lambda name: (-_ORDER.index(tensors[name][0]), name))
    end = 0
    for name in order:
        dtype, shape = tensors[name][0], list(tensors[name][1])
        begin, items = end, 1
        for length in shape:
            items *= length
        end += items * ITEM_BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % LENGTH_BYTES)
    if len(text) > MOST_BYTES:
        raise HeaderError(f"its header would have {len(text)} bytes, and may have {MOST_BYTES}")
    return struct.pack("<Q", len(text)) + text, order
