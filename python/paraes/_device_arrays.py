"""Arrays in the memory of a GPU: where their libraries say that they are, and on which stream."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any, NamedTuple

from paraes import _native
from paraes.exceptions import InvalidArgument

# DLPack's numbers of devices, and the runtime that paraes uses for them.
_RUNTIMES = {2: "cuda", 13: "cuda", 10: "hip"}
_DLPACK_CPU = (1, 3, 11)
_JAX = ("jax", "jaxlib")
_LIBRARIES = ("torch", "cupy", *_JAX, "numba", "pyopencl")
_NOT_AN_ARRAY = (
    "{name}: an array in the memory of a GPU is required (DLPack, __cuda_array_interface__, or a "
    "buffer of pyopencl), not {type!r}"
)


def _jax_maker() -> Any:
    """What makes arrays for JAX, whose own are immutable: CuPy or torch, or None."""
    for name in ("cupy", "torch"):
        try:
            module: Any = importlib.import_module(name)
        except ImportError:
            continue
        if name != "torch" or module.cuda.is_available():  # torch may be that for CPUs
            return module
    return None


def _library(array: object) -> str:
    """The package that the type of an array is from, or that it is derived from."""
    packages = [base.__module__.partition(".")[0] for base in type(array).__mro__]
    return next((package for package in packages if package in _LIBRARIES), packages[0])


def _guard(library: str, device: str) -> Any:
    """Makes the array's device the current one, which torch and CuPy take events of."""
    module: Any = sys.modules.get(library)
    if not device.startswith(("cuda", "hip")) or module is None:
        return contextlib.nullcontext()
    index = int(device.partition(":")[2])
    if library == "torch":
        return module.cuda.device(index)
    return module.cuda.Device(index) if library == "cupy" else contextlib.nullcontext()


class _Part(NamedTuple):
    """Bytes of device memory, and what keeps them."""

    memory: int
    offset: int
    size: int
    device: str
    owner: object

    def range(self, start: int, stop: int) -> tuple[int, int, int]:
        return (self.memory, self.offset + start, stop - start)

    @property
    def all(self) -> tuple[int, int, int]:
        return (self.memory, self.offset, self.size)


# ---- Streams


def _handle(stream: Any) -> int:
    found = _handle_of(stream)
    if not 0 <= found < 1 << 64:
        raise InvalidArgument(f"stream: {found} is no handle of a stream")
    return found


def _handle_of(stream: Any) -> int:
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr", "int_ptr"):  # torch, CuPy, pyopencl
        found = getattr(stream, name, None)
        if isinstance(found, int):
            return found
    try:
        protocol = getattr(stream, "__cuda_stream__", None)  # a version and the handle
        if protocol is not None:
            return int((protocol() if callable(protocol) else protocol)[1])
        number = getattr(stream, "handle", None)  # Numba: a ctypes pointer, or an int
        if number is not None:
            return int(getattr(number, "value", number) or 0)
    except (TypeError, IndexError, ValueError):
        pass
    raise TypeError(
        "stream: a stream of torch, CuPy or Numba, a queue of pyopencl, or its handle as an int is "
        f"required, not {type(stream).__name__!r}"
    )


def _current_stream(array: Any, device: str) -> int:
    """The current stream of the array's library. Those without one use the default stream."""
    library = _library(array)
    module: Any = sys.modules.get(library)
    if library in _JAX:  # that of the library which makes results for it
        module = _jax_maker()
        library = "" if module is None else module.__name__
    index = int(device.partition(":")[2] or 0)
    if library == "torch" and module is not None:
        return int(module.cuda.current_stream(index).cuda_stream)
    if library == "cupy" and module is not None:
        with module.cuda.Device(index):
            return int(module.cuda.get_current_stream().ptr)
    return 0


class Call:
    """One call: the device and the stream of its arrays, and what it must wait for."""

    def __init__(self, array: Any, stream: Any, name: str = "data") -> None:
        self.waits: list[int] = []
        self.keep: list[object] = []
        self.device = _device_of(array, name)
        self.given = stream is not None
        if self.given:
            self.stream = _handle(stream)
        elif self.device == "opencl":
            queue = getattr(array, "queue", None)  # of a pyopencl array
            if queue is None:
                raise InvalidArgument("stream: for a buffer of OpenCL, pass its queue")
            self.stream = _handle(queue)
        else:
            self.stream = _current_stream(array, self.device)

    def part(self, array: Any, name: str, *, write: bool = False) -> _Part:
        """The memory of an array, in order on the stream of the call."""
        where = _device_of(array, name)
        if where != self.device:
            raise InvalidArgument(
                f"{name}: the array is on {where}, and others of this call on {self.device}"
            )
        if self.device == "opencl":
            found = self._of_opencl(array, name)
        else:
            found = self._of_driver(array, name, write)
        if not (0 <= found.memory < 1 << 64 and min(found.offset, found.size) >= 0
                and max(found.offset, found.size) < 1 << 56):
            raise InvalidArgument(f"{name}: an array cannot have this address and this size")
        if found.device != self.device:
            raise InvalidArgument(f"{name}: the array is not on the device that it names")
        if _library(array) != "torch":
            self.keep.append(found.owner)
        elif self.stream != _current_stream(array, self.device):
            # It may also be memory of another library, whose use torch does not know.
            _record_stream(array, self.stream, self.device)
            self.keep.append(found.owner)
        return found

    def _of_opencl(self, array: Any, name: str) -> _Part:
        if not hasattr(array, "base_data"):
            return _Part(int(array.int_ptr), 0, int(array.size), "opencl", array)
        if getattr(getattr(array, "flags", None), "forc", True) is False:
            raise InvalidArgument(f"{name}: the array is not contiguous: copy it first")
        if array.base_data is None:  # empty
            return _Part(0, 0, 0, "opencl", array)
        memory = int(array.base_data.int_ptr)
        queue = getattr(array, "queue", None)
        if queue is not None and _handle(queue) != self.stream:
            self.waits.append(_handle(queue))
        return _Part(memory, int(array.offset), int(array.nbytes), "opencl", array)

    def _of_driver(self, array: Any, name: str, write: bool) -> _Part:
        if write and _library(array) in _JAX:
            raise TypeError(
                f"{name}: JAX's arrays are immutable: let encrypt() or decrypt() make one, or pass "
                "an array of torch or CuPy"
            )
        if _has_dlpack(array):
            return self._of_dlpack(array, name)
        return self._of_interface(array, name, write)

    def _of_dlpack(self, array: Any, name: str) -> _Part:
        source = array.detach() if _library(array) == "torch" else array
        # 0 would be ambiguous in CUDA, where 1 is the default stream; in HIP that is 0.
        handle = self.stream or (1 if self.device.startswith("cuda") else 0)
        with _guard(_library(array), self.device):
            capsule = source.__dlpack__(stream=handle)
        kind, index, address, size, owner = _native.parse_dlpack(capsule, name)
        device = f"{_RUNTIMES[kind]}:{index}" if kind in _RUNTIMES else "the CPU"
        return _Part(address, 0, size, device, (array, owner))

    def _of_interface(self, array: Any, name: str, write: bool) -> _Part:
        interface = array.__cuda_array_interface__
        try:
            address, read_only = interface["data"]
            shape, strides = tuple(interface["shape"]), interface.get("strides")
            size = int(interface["typestr"][2:])
            is_empty = 0 in shape
            is_contiguous = True
            for k in reversed(range(len(shape))):
                if strides is not None and shape[k] != 1 and strides[k] != size:
                    is_contiguous = is_empty
                size *= shape[k]
            address = int(address or 0)
            producer = interface.get("stream")
            producer = None if producer is None else int(producer)
        except (TypeError, ValueError, KeyError, IndexError) as error:
            raise TypeError(f"{name}: its __cuda_array_interface__ is none: {error}") from None
        if write and read_only:
            raise InvalidArgument(f"{name}: the array is read-only")
        if not is_contiguous:
            raise InvalidArgument(f"{name}: the array is not contiguous: copy it first")
        if interface.get("mask") is not None:
            raise InvalidArgument(f"{name}: the array has a mask: pass its data")
        # 1 is the default stream, as 0 is here.
        if producer is not None and producer != self.stream and (producer, self.stream) != (1, 0):
            self.waits.append(_handle(producer) if producer != 1 else 0)
        return _Part(address, 0, size, _device_of(array, name), array)

    def place(self) -> tuple[str, int]:
        return self.device, self.stream

    def kept(self) -> object:
        return tuple(self.keep) if self.keep else None


def _has_dlpack(array: Any) -> bool:
    return hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__")


def _is_opencl(array: Any) -> bool:
    return hasattr(array, "base_data") or (hasattr(array, "int_ptr") and hasattr(array, "size"))


def _device_of(array: Any, name: str = "data") -> str:
    """The device of an array, as paraes calls it."""
    if _is_opencl(array):
        return "opencl"
    if _has_dlpack(array):
        found = array.__dlpack_device__()
        try:
            kind, index = (int(number) for number in found)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name}: its __dlpack_device__ returned {found!r}, and not two numbers"
            ) from None
        runtime = _RUNTIMES.get(int(kind))
        if runtime is not None:
            return f"{runtime}:{int(index)}"
        if int(kind) in _DLPACK_CPU:
            raise InvalidArgument(
                f"{name}: the array is in the memory of the CPU: move it to a GPU, or use "
                "paraes.AESGCM and paraes.ciphers"
            )
        raise InvalidArgument(f"{name}: paraes does not know the array's device (DLPack: {kind})")
    if hasattr(array, "__cuda_array_interface__"):
        device = getattr(array, "device", None)
        number = getattr(device, "id", device)
        if _library(array) == "numba":
            number = sys.modules["numba.cuda"].get_current_device().id
        return f"cuda:{number}" if isinstance(number, int) else "cuda:0"
    raise TypeError(_NOT_AN_ARRAY.format(name=name, type=type(array).__name__))


def _record_stream(tensor: Any, stream: int, device: str) -> None:
    cuda = sys.modules["torch"].cuda
    tensor.record_stream(cuda.ExternalStream(stream, device=int(device.partition(":")[2])))


def empty(like: Any, size: int, call: Call) -> Any:
    """A new array of `size` bytes, of the library and on the device of another."""
    library = _library(like)
    module: Any = sys.modules.get(library)
    if library in _JAX:
        # JAX takes over the memory of the others, and waits for their stream.
        if call.given:
            raise InvalidArgument("stream: JAX chooses that of its results; use encrypt_into()")
        module = _jax_maker()
        if module is None:
            raise InvalidArgument(
                "data: for results in JAX, CuPy or torch must be installed; or pass `out`"
            )
        library = module.__name__
    index = int(call.device.partition(":")[2] or 0)
    if library == "torch":
        return module.empty(size, dtype=module.uint8, device=f"cuda:{index}")
    if library == "cupy":
        with module.cuda.Device(index):
            return module.empty(size, dtype="uint8")
    if library == "numba":
        return sys.modules["numba.cuda"].device_array(size, dtype="uint8")
    if library == "pyopencl" and hasattr(like, "queue"):
        return sys.modules["pyopencl.array"].empty(like.queue, size, "uint8")
    raise TypeError(
        f"data: paraes cannot make arrays of {library!r}: make one, and pass it as `out` to "
        "encrypt_into() or decrypt_into()"
    )


def given_back(like: Any, out: Any) -> Any:
    """The result as an array of the library of `like`."""
    if isinstance(like, (list, tuple)):
        return [given_back(*pair) for pair in zip(like, out, strict=True)]
    if _library(like) in _JAX:
        with _guard(_library(out), _device_of(out)):
            return importlib.import_module("jax.dlpack").from_dlpack(out)
    return out
