"""Arrays in device memory for tests: of OpenCL, whose PoCL computes on the CPU, and of the stand-in
for CUDA's driver (tests/gpu/fake_cuda.cpp), in the shapes of torch, CuPy and JAX."""

import contextlib
import ctypes
import sys
import types

# ---- OpenCL


class OpenCl:
    """A context, and a queue of the first device."""

    ALL_DEVICES, READ_WRITE = 0xFFFFFFFF, 1

    def __init__(self):
        self.library = ctypes.CDLL("libOpenCL.so.1")
        platform, device, code = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        count = ctypes.c_uint()
        self.check(self.library.clGetPlatformIDs(1, ctypes.byref(platform), ctypes.byref(count)))
        self.check(self.library.clGetDeviceIDs(
            platform, ctypes.c_uint64(self.ALL_DEVICES), 1, ctypes.byref(device), None))
        self.library.clCreateContext.restype = ctypes.c_void_p
        self.library.clCreateCommandQueue.restype = ctypes.c_void_p
        self.library.clCreateBuffer.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.clCreateContext(
            None, 1, ctypes.byref(device), None, None, ctypes.byref(code)))
        self.check(code.value)
        self.queue = self.library.clCreateCommandQueue(
            self.context, device, ctypes.c_uint64(0), ctypes.byref(code))
        self.check(code.value)

    @staticmethod
    def check(code):
        if code != 0:
            raise RuntimeError(f"an OpenCL call failed: {code}")

    def buffer(self, content):
        return ClBuffer(self, content)


class ClBuffer:
    """As pyopencl.Buffer: a handle and a size."""

    def __init__(self, opencl, content):
        code = ctypes.c_int()
        self.opencl, self.size = opencl, len(content)
        self.int_ptr = opencl.library.clCreateBuffer(
            opencl.context, ctypes.c_uint64(opencl.READ_WRITE), ctypes.c_size_t(max(self.size, 1)),
            None, ctypes.byref(code))
        opencl.check(code.value)
        if content:
            self.transfer(opencl.library.clEnqueueWriteBuffer, bytes(content), 0)

    def transfer(self, call, data, offset):
        self.opencl.check(call(
            ctypes.c_void_p(self.opencl.queue), ctypes.c_void_p(self.int_ptr), 1,
            ctypes.c_size_t(offset), ctypes.c_size_t(len(data)), data, 0, None, None))

    def read(self, offset=0, size=None):
        data = ctypes.create_string_buffer(self.size - offset if size is None else size)
        if len(data):
            self.transfer(self.opencl.library.clEnqueueReadBuffer, data, offset)
        return data.raw


class ClArray:
    """As pyopencl.array.Array: a part of a buffer, with its queue."""

    def __init__(self, buffer, offset=0, nbytes=None):
        self.base_data, self.offset = buffer, offset
        self.nbytes = buffer.size - offset if nbytes is None else nbytes
        self.queue = types.SimpleNamespace(int_ptr=buffer.opencl.queue)

    def read(self):
        return self.base_data.read(self.offset, self.nbytes)


ClArray.__module__ = "pyopencl.array"


def install_pyopencl(opencl):
    module = types.ModuleType("pyopencl.array")
    module.empty = lambda queue, size, dtype: ClArray(opencl.buffer(bytes(size)))
    sys.modules["pyopencl.array"] = module


# ---- The stand-in for CUDA


class DlDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DlDevice),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class DlManaged(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(DlManaged))
DlManaged._fields_ = [
    ("tensor", DlTensor),
    ("context", ctypes.c_void_p),
    ("deleter", DELETER),
]
ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
exported = {}  # what consumers of capsules still use, by the address of its structure


@DELETER
def forget(managed):
    exported.pop(ctypes.addressof(managed.contents), None)


class Cuda:
    """The device 0 of the stand-in."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.driver.cuInit(0)
        self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self.driver.cuCtxSetCurrent(context)
        self.driver.paraes_fake_calls.restype = ctypes.c_long
        self.driver.paraes_fake_calls.argtypes = [ctypes.c_char_p]

    def calls(self, name):
        return self.driver.paraes_fake_calls(name.encode())

    def allocate(self, size):
        address = ctypes.c_uint64()
        if self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(size, 1))) != 0:
            raise MemoryError
        return address.value

    def stream(self):
        handle = ctypes.c_void_p()
        self.driver.cuStreamCreate(ctypes.byref(handle), 1)
        return handle.value


class Array:
    """An array with DLPack. `asked` lists the streams that __dlpack__ got."""

    DEVICE = (2, 0)

    def __init__(self, address, size, *, device=None, shape=None, strides=None, bits=8):
        self.address, self.size = address, size
        self.dlpack_device = device or self.DEVICE
        self.shape = shape or (size * 8 // bits,)
        self.strides, self.bits = strides, bits
        self.asked = []

    def __dlpack_device__(self):
        return self.dlpack_device

    def __dlpack__(self, *, stream=None, **_):
        self.asked.append(stream)
        numbers = ctypes.c_int64 * len(self.shape)
        shape = numbers(*self.shape)
        strides = numbers(*self.strides) if self.strides else None
        managed = DlManaged(deleter=forget)
        tensor = managed.tensor
        tensor.data, tensor.ndim, tensor.bits, tensor.lanes = self.address, len(shape), self.bits, 1
        tensor.code = 1
        tensor.device = DlDevice(*self.dlpack_device)
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        if strides is not None:
            tensor.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
        exported[ctypes.addressof(managed)] = (managed, shape, strides, self)
        return ctypes.pythonapi.PyCapsule_New(ctypes.addressof(managed), b"dltensor", None)


class Interface:
    """An array with __cuda_array_interface__ alone, as Numba's are."""

    def __init__(self, address, size, *, stream=None, strides=None, read_only=False):
        self.__cuda_array_interface__ = {
            "data": (address, read_only), "shape": (size,), "typestr": "|u1", "version": 3,
            "strides": strides, "stream": stream,
        }


def library(name, cuda, current=0):
    """A stand-in for torch, CuPy or JAX: its class of arrays, installed as that module."""
    module = types.ModuleType(name)
    made = type("Made", (Array,), {"__module__": name})
    module.array = made
    module.current = current
    module.recorded = []
    module.available = True
    if name == "torch":
        made.device = "cuda:0"
        made.detach = lambda self: self
        made.record_stream = lambda self, stream: module.recorded.append((self, stream.cuda_stream))
        module.uint8 = "uint8"
        module.empty = lambda size, dtype, device: made(cuda.allocate(size), size)
        module.cuda = types.SimpleNamespace(
            is_available=lambda: module.available,
            device=lambda index: contextlib.nullcontext(),
            current_stream=lambda device: types.SimpleNamespace(cuda_stream=module.current),
            ExternalStream=lambda handle, device: types.SimpleNamespace(cuda_stream=handle))
    elif name == "cupy":
        module.empty = lambda size, dtype: made(cuda.allocate(size), size)
        module.cuda = types.SimpleNamespace(
            Device=lambda index: contextlib.nullcontext(),
            get_current_stream=lambda: types.SimpleNamespace(ptr=module.current))
    elif name == "jax":
        sys.modules["jax.dlpack"] = types.SimpleNamespace(
            from_dlpack=lambda array: made(array.address, array.size))
    sys.modules[name] = module
    return module
