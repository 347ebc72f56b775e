"""Encrypted safetensors files: what `paraes encrypt model.safetensors` writes, read lazily.

    with paraes.safetensors.safe_open("model.safetensors.paes", "pt", key_file="team.key") as file:
        part = file.get_slice("embedding")[1000:2000]

paraes.safetensors.numpy and paraes.safetensors.torch have load_file, save_file, load and save, as
the package safetensors has them. Install it with them: `pip install 'paraes[safetensors]'`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from paraes.exceptions import InvalidArgument
from paraes.safetensors import _model
from paraes.safetensors._header import HeaderError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self, Unpack

    from paraes.files import LoadOptions, Path

__all__ = ["HeaderError", "safe_open"]

_NUMPY = ("np", "numpy")
_TORCH = ("pt", "torch", "pytorch")


def _framework(name: str, device: Any, options: dict[str, Any]) -> _model.Framework:
    made: _model.Framework
    if name in _NUMPY:
        if str(device) != "cpu":
            raise InvalidArgument(f"device: numpy's arrays are on the CPU, not on {device}")
        made = importlib.import_module("paraes.safetensors.numpy").Framework()
    elif name in _TORCH:
        made, _ = importlib.import_module("paraes.safetensors.torch")._split(device, options)
    else:
        raise InvalidArgument(f"framework: it is 'pt' or 'np', not {name!r}")
    return made


class safe_open:
    """An encrypted safetensors file, or the index of a sharded model, of which tensors are read
    when they are asked for: only their segments are read, and authenticated before anything is
    handed out. A call from within another one of the same thread, as by a signal handler, is a
    RuntimeError.

    framework: "pt" or "np". device: as torch names it. options: see paraes.files.LoadOptions. The
    header is authentic when the object exists. Errors as in load_file(). Any number of threads may
    use an object.
    """

    def __init__(self, filename: Path, framework: str, device: Any = "cpu",
                 **options: Unpack[LoadOptions]) -> None:
        given: dict[str, Any] = options  # type: ignore[assignment]
        try:
            self._framework = _framework(framework, device, given)
            self._model = _model.Model(filename, given)
        finally:
            given.clear()  # tracebacks show no secrets

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        self._model.require_open()
        return sorted(self._model.names())

    def offset_keys(self) -> list[str]:
        """The names of the tensors, in the order of their places."""
        return self._model.names()

    def metadata(self) -> dict[str, str] | None:
        """Return the metadata of the header; for shards, that of the first one."""
        return self._model.metadata

    def get_tensor(self, name: str) -> Any:
        """Read one tensor, into memory of its own."""
        return self._model.file_of(name).tensor(self._framework, name)

    def get_tensors(self) -> dict[str, Any]:
        """Read all tensors, as load_file() does."""
        self._model.require_open()
        return self._model.tensors(self._framework)

    def get_slice(self, name: str) -> Slice:
        """A tensor of which a part can be read: get_slice(name)[2:5, :, 0]."""
        return Slice(self._model.file_of(name), self._framework, name)

    def close(self) -> None:
        """Close the files. Reading is a ValueError then; closing twice is no error."""
        self._model.close()

    def __enter__(self) -> Self:
        self._model.require_open()
        return self

    def __exit__(self, _type: type[BaseException] | None, _value: BaseException | None,
                 _traceback: TracebackType | None) -> None:
        self.close()


class Slice:
    """Part of a tensor. Of its first dimension, only what an index needs is read."""

    def __init__(self, file: _model.File, framework: _model.Framework, name: str) -> None:
        self._file, self._framework, self._name = file, framework, name
        self._entry = file.header.entries[name]

    def get_shape(self) -> list[int]:
        return list(self._entry.shape)

    def get_dtype(self) -> str:
        """Return the type by its name in the header, such as "F32" or "BF16"."""
        return self._entry.dtype

    def __getitem__(self, index: Any) -> Any:
        """Index like the whole tensor; steps are positive."""
        rest = index if isinstance(index, tuple) else (index,)
        head = rest[0] if rest else ...
        shape = self._entry.shape
        if not shape or not isinstance(head, (int, slice)) or isinstance(head, bool):
            return self._file.tensor(self._framework, self._name)[index]
        if isinstance(head, slice):
            first, stop, step = head.indices(shape[0])
            if step < 0:
                raise InvalidArgument(f"tensor {self._name!r}: a step is positive, not {step}")
            count = max(stop - first, 0)
            rows = self._file.rows(self._framework, self._name, first if count else 0, count)
            return rows[(slice(None, None, step),) + rest[1:]]
        if not -shape[0] <= head < shape[0]:
            raise IndexError(
                f"tensor {self._name!r}: index {head} is not within its {shape[0]} rows")
        row = self._file.rows(self._framework, self._name, head % shape[0], 1)
        return row[(0,) + rest[1:]]
