"""safetensors.torch for encrypted files: load_file, save_file, load and save.

    tensors = paraes.safetensors.torch.load_file("model.safetensors.paes", "cuda:0",
                                                 key_file="team.key")

To a GPU, files go as ciphertext and are opened there: beside the header, and the other bytes of the
segments that it is in, the host sees no plaintext. Where paraes cannot open them on the device, it
warns, opens them on the CPU and copies. F4 becomes torch's type of pairs if it has that; otherwise,
and for F6, an array of bytes, as they are in the file.
"""

from __future__ import annotations

import ctypes
import warnings
from typing import TYPE_CHECKING, Any, cast

import torch

from paraes import gpu
from paraes.exceptions import InvalidArgument, Unavailable
from paraes.safetensors import _header, _model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Buffer, Unpack

    from paraes.files import DecryptedReader, LoadOptions, Path, SealOptions
    from paraes.safetensors._header import Entry

__all__ = ["load", "load_file", "save", "save_file"]

_TYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "F16": "float16",
    "BF16": "bfloat16", "U32": "uint32", "I32": "int32", "F32": "float32", "U64": "uint64",
    "I64": "int64", "F64": "float64", "C64": "complex64", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz", "F4": "float4_e2m1fn_x2",
}
_NAMES = {name: dtype for dtype, name in _TYPES.items()}
_STAGING_BYTES = 64 << 20  # where the CPU opens what a device gets


class Framework:
    """torch, and the memory of one device."""

    def __init__(self, device: Any, kernel: str = "auto") -> None:
        self.device = torch.device(device)
        self._kernel = kernel
        self._opens = self.device.type == "cuda"  # the device does; torch calls HIP's so, too

    def memory(self, size: int) -> torch.Tensor:
        everything = torch.empty(size + _model.ALIGNMENT, dtype=torch.uint8, device=self.device)
        begin = -everything.data_ptr() % _model.ALIGNMENT
        return everything[begin : begin + size]

    def fill(self, memory: torch.Tensor, begin: int, size: int, reader: DecryptedReader) -> int:
        part = memory[begin : begin + size]
        if self.device.type == "cpu":
            return reader.readinto(_bytes(part))
        if self._opens:
            try:
                return gpu.readinto(reader, part, kernel=self._kernel)
            except Unavailable as error:
                warnings.warn(
                    f"paraes opens the file on the CPU, and copies it to {self.device}: {error}",
                    RuntimeWarning, stacklevel=2)
                self._opens = False
        # Other threads have their own: they may fill memory from other shards.
        staging = torch.empty(min(size, _STAGING_BYTES), dtype=torch.uint8, device="cpu",
                              pin_memory=self.device.type == "cuda")
        done = 0
        while done < size:
            n = reader.readinto(_bytes(staging[: size - done]))
            if n == 0:
                break
            part[done : done + n].copy_(staging[:n])
            done += n
        return done

    def check(self, entry: Entry, name: str) -> None:
        dtype = self._dtype(entry, name)
        try:
            torch.empty((), dtype=torch.uint8, device="cpu").expand(_model.stored_shape(entry))
        except (RuntimeError, TypeError, OverflowError) as error:
            raise InvalidArgument(
                f"tensor {_header.shown(name)}: torch has no such shape for {dtype}: {error}"
            ) from None

    def tensor(self, memory: torch.Tensor, begin: int, entry: Entry, name: str) -> torch.Tensor:
        dtype = self._dtype(entry, name)
        shape = _model.stored_shape(entry)
        if entry.size == 0:
            return torch.empty(shape, dtype=dtype, device=self.device)
        part = memory[begin : begin + entry.size]
        if part.data_ptr() % max(_header.ITEM_BITS[entry.dtype] // 8, 1) != 0:
            part = part.clone()
        return part.view(dtype).reshape(shape)

    @staticmethod
    def _dtype(entry: Entry, name: str) -> torch.dtype:
        known = _TYPES.get(entry.dtype, "")
        found = getattr(torch, known, None)
        if isinstance(found, torch.dtype):
            return found
        if _header.ITEM_BITS[entry.dtype] < 8:
            return torch.uint8
        raise InvalidArgument(
            f"tensor {_header.shown(name)}: torch {torch.__version__} has no {entry.dtype} "
            f"(torch.{known}): a newer one has it"
        )


def _bytes(tensor: torch.Tensor) -> Any:
    """The memory of a contiguous tensor on the CPU, which must outlive it."""
    size = tensor.nelement() * tensor.element_size()
    return (ctypes.c_char * size).from_address(tensor.data_ptr() if size else ctypes.addressof(
        ctypes.c_char()))


def load_file(filename: Path, device: Any = "cpu", **options: Unpack[LoadOptions]
              ) -> dict[str, torch.Tensor]:
    """Return all tensors of an encrypted file, in the order of their places; or of all shards that
    an index names (`model.safetensors.index.json`, encrypted or not).

    device: as torch names it: "cpu", "cuda:0", 0. The tensors share one memory for each file, and
    are handed out when all of it is authentic. An index that is not encrypted is not authenticated.
    options: see paraes.files.LoadOptions. Raises as paraes.open() does, and HeaderError for what is
    no safetensors file.
    """
    made, rest = _split(device, options)
    return _model.load(filename, rest, made)


def load(data: Buffer, **options: Unpack[LoadOptions]) -> dict[str, torch.Tensor]:
    """Return all tensors of an encrypted file that is in memory, as save() returns it."""
    made, rest = _split("cpu", options)
    return _model.load_bytes(data, rest, made)


def _split(device: Any, options: Any) -> tuple[Framework, dict[str, Any]]:
    rest: dict[str, Any] = options
    try:
        made = Framework(device)
    except BaseException:
        rest.clear()  # tracebacks show no secrets
        raise
    if made.device.type != "cpu" and "kernel" in rest:
        made._kernel = rest.pop("kernel")
    return made, rest


def save_file(tensors: Mapping[str, torch.Tensor], filename: Path,
              metadata: Mapping[str, str] | None = None, **options: Unpack[SealOptions]) -> None:
    """Write tensors to an encrypted file. It appears, or replaces an existing one, when it is
    complete. What it contains is what safetensors.torch.save() makes. Those on a GPU are copied to
    the CPU, one at a time. options: see paraes.files.SealOptions."""
    _model.save_file(_contents, tensors, filename, metadata, cast("dict[str, Any]", options))


def save(tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str] | None = None,
         **options: Unpack[SealOptions]) -> bytes:
    """Return the bytes that save_file() would write."""
    return _model.save(_contents, tensors, metadata, cast("dict[str, Any]", options))


def _contents(tensors: Mapping[str, torch.Tensor]) -> _model.Contents:
    contents: _model.Contents = {}
    places: list[tuple[str, int, int, str]] = []
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"tensor {name!r}: a torch.Tensor is required, not {type(tensor).__name__!r}")
        if tensor.layout != torch.strided:
            raise InvalidArgument(
                f"tensor {name!r} is sparse: to_dense() makes one that can be saved")
        if not tensor.is_contiguous():
            raise InvalidArgument(
                f"tensor {name!r} is not contiguous: contiguous() makes one that can be saved")
        known = str(tensor.dtype).partition(".")[2]
        dtype = _NAMES.get(known)
        if dtype is None:
            raise InvalidArgument(f"tensor {name!r}: safetensors has no {tensor.dtype}")
        shape = list(tensor.shape)
        if dtype == "F4" and shape:
            shape[-1] *= 2
        contents[name] = (dtype, shape, _bytes_of(tensor))
        size = tensor.nelement() * tensor.element_size()
        if size:
            _check_memory(tensor, size, name)
            begin = tensor.data_ptr()
            places.append((str(tensor.device), begin, begin + size, name))
    places.sort()
    for before, after in zip(places, places[1:], strict=False):
        if before[0] == after[0] and after[1] < before[2]:
            raise InvalidArgument(
                f"tensors {before[3]!r} and {after[3]!r} share memory, and would be different ones "
                "when they are loaded: save one of them, or a clone() of the other"
            )
    return contents


def _check_memory(tensor: torch.Tensor, size: int, name: str) -> None:
    """A tensor may have no memory, or less than its shape says: meta tensors, and those whose
    storage was made smaller."""
    try:
        storage: Any = (tensor.untyped_storage() if hasattr(tensor, "untyped_storage")
                        else tensor.storage())
        held = 0 if tensor.device.type == "meta" else int(storage.nbytes())
    except (RuntimeError, NotImplementedError):  # the tensors of some subclasses have none
        held = 0
    needed = tensor.storage_offset() * tensor.element_size() + size if held else size
    if held < needed:
        raise InvalidArgument(
            f"tensor {name!r} has no memory of {size} bytes, but a storage of {held} "
            f"(device {tensor.device})"
        )


def _bytes_of(tensor: torch.Tensor) -> _model.MakeBytes:
    def make() -> memoryview:
        # A tensor that is conjugated or negated only when it is read has the bytes of the original.
        whole = tensor.detach().resolve_conj().resolve_neg().cpu()
        found = memoryview(_bytes(whole)).cast("B")
        _keep_alive(found.obj, whole)
        return found

    return make


def _keep_alive(memory: Any, owner: object) -> None:
    memory._owner = owner
