"""AES for arrays in the memory of a GPU: of torch, CuPy, JAX, Numba and pyopencl.

    cipher = paraes.gpu.AESGCM(key)
    sealed = cipher.encrypt(nonce, tensor, None)          # a new tensor: ciphertext and tag
    cipher.decrypt_into(nonce, sealed, None, out=tensor).verify()

Arrays have any dtype, shape and offset, and must be contiguous: their bytes are processed where
they lie. Anything with DLPack or __cuda_array_interface__ will do, and for OpenCL the buffers and
arrays of pyopencl. Results that are made are arrays of bytes, of the library of the input.

- stream: a stream of torch, CuPy or Numba, its handle as an int, or a queue of pyopencl. By default
  it is the library's current one. Work that the library has already enqueued on its current stream
  comes first, and what it enqueues there later sees the results.
- Nothing is copied to the host. The first call of an object on a device loads programs, and waits;
  later ones only enqueue work, but for decrypt(), which waits for the verdict.
- Calls return an object with ready() and wait(). That of decrypt_into() also has verify(), which
  waits, and raises InvalidTag. `out` gets the plaintext, or zeros if it is not authentic, whether
  somebody calls that or not.
- Lists: for one call with many messages, pass lists of arrays, and a nonce, and a tag, for each.
- Arrays are kept until a later call, or the end of the object, finds that the device no longer
  needs them. torch's tensors on torch's current stream are not: torch orders their memory. An array
  with __cuda_array_interface__ alone that names no device is taken to be on cuda:0. For OpenCL an
  object also keeps the queues that it has worked on, and their contexts.
- Arrays of one call must not overlap, unless `out` is `data`. Sub-buffers of OpenCL count as memory
  of their own, so that this cannot be checked for them: do not mix them with their buffer.
- Errors: InvalidArgument (a ValueError) for arrays of the CPU, of several devices, with gaps, that
  overlap, or of a wrong size; for streams that are being captured, or of another context than the
  device's primary one. Unavailable in a process that was forked after a GPU was used. TypeError for
  what is no array, and for JAX's arrays as outputs: they are immutable.

One object may be used by any number of threads, whose calls take turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from paraes import _native, files
from paraes._device_arrays import Call, empty, given_back
from paraes._native import GpuVerdict, GpuWork
from paraes.exceptions import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer, Unpack

    from paraes.files import DecryptedReader, OpenOptions, SealOptions

__all__ = ["CBC", "CTR", "ECB", "XTS", "AESGCM", "GpuVerdict", "GpuWork", "Segments", "readinto"]

_TAG_BYTES = 16


def _as_list(value: Any, many: bool, count: int, name: str) -> Sequence[Any]:
    """One item for each message: of a list, or the only one; nothing for None."""
    if value is None:
        return [None] * count
    if not many:
        return [value]
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise InvalidArgument(f"{name}: pass a list with one for each of the {count} messages")
    return value


class _Cipher:
    """What the modes share."""

    _MODE = ""
    _TAG = 0

    def __init__(
        self, key: Buffer, *, kernel: str = "auto", allow_leaky: bool = False, unit_size: int = 0
    ) -> None:
        try:
            if not isinstance(kernel, str):
                raise TypeError(f"kernel: a str is required, not {type(kernel).__name__!r}")
            self._native = _native.GpuCiphers(
                self._MODE, key, unit_size, kernel, bool(allow_leaky)
            )
        finally:
            del key  # tracebacks show no secrets

    def _into(self, encrypts: bool, nonce: Any, data: Any, aad: Any, out: Any, tag: Any,
              stream: Any) -> Any:
        many = isinstance(data, (list, tuple))
        datas: Sequence[Any] = data if many else [data]
        if not datas:
            raise InvalidArgument("data: there is no message")
        count = len(datas)
        nonces = _as_list(nonce, many, count, "nonce")
        aads = _as_list(aad, many, count, "associated_data")
        outs = _as_list(out, many, count, "out")
        tags = _as_list(tag, many, count, "tag")
        call = Call(datas[0], stream)
        texts = [
            self._text(call, encrypts, *message)
            for message in zip(nonces, datas, aads, outs, tags, strict=True)
        ]
        return self._native.call(encrypts, *call.place(), texts, call.waits, call.kept())

    def _text(self, call: Call, encrypts: bool, nonce: Any, data: Any, aad: Any, out: Any,
              tag: Any) -> tuple[object, ...]:
        in_place = out is data
        given = call.part(data, "out" if in_place else "data", write=in_place)
        result = given if in_place else call.part(out, "out", write=True)
        if not self._TAG:
            if result.size != given.size:
                raise InvalidArgument(
                    f"out: it must have {given.size} bytes, as data has, not {result.size}"
                )
            return given.all, result.all, None, nonce, aad
        # The tag is an array of its own, or the end of the ciphertext.
        sealed, plain = (result, given) if encrypts else (given, result)
        if tag is not None:
            tags = call.part(tag, "tag", write=encrypts)
            if tags.size != self._TAG:
                raise InvalidArgument(f"tag: it has 16 bytes, not {tags.size}")
            place, size = tags.all, sealed.size
        else:
            size = sealed.size - self._TAG
            if size < 0:
                raise InvalidArgument(f"{'out' if encrypts else 'data'}: it is shorter than a tag")
            place = sealed.range(size, sealed.size)
        if size != plain.size:
            right = plain.size + (0 if tag is not None else self._TAG) if encrypts else size
            raise InvalidArgument(f"out: it must have {right} bytes, not {result.size}")
        text = sealed.range(0, size)
        return (plain.all, text, place, nonce, aad) if encrypts else (
            text, plain.all, place, nonce, aad)

    def _new(self, data: Any, more: int, stream: Any) -> Any:
        """New arrays, `more` bytes longer than data."""
        if isinstance(data, (list, tuple)):
            return [self._new(one, more, stream) for one in data]
        call = Call(data, stream)
        size = call.part(data, "data").size + more
        if size < 0:
            raise InvalidArgument("data: it is shorter than a tag")
        return empty(data, size, call)


class _Unauthenticated(_Cipher):
    """Modes without a tag."""

    def _made(self, encrypts: bool, iv: Any, data: Any, stream: Any) -> Any:
        out = self._new(data, 0, stream)
        self._work(encrypts, iv, data, out, stream)
        return given_back(data, out)

    def _work(self, encrypts: bool, iv: Any, data: Any, out: Any, stream: Any) -> GpuWork:
        return cast(GpuWork, self._into(encrypts, iv, data, None, out, None, stream))


class AESGCM(_Cipher):
    """AES-GCM (SP 800-38D) with nonces of 12 bytes, and tags of 16 behind the ciphertext.

    key: 16, 24 or 32 bytes. kernel: a kernel of `paraes devices`; allow_leaky: `auto` may be one
    that looks tables up, which is faster, but its timing depends on key and data. Never use a nonce
    twice under one key.
    """

    _MODE = "GCM"
    _TAG = _TAG_BYTES

    def encrypt(self, nonce: Any, data: Any, associated_data: Any = None, *,
                stream: Any = None) -> Any:
        """Return a new array with the ciphertext of `data` and its tag; lists for lists."""
        out = self._new(data, _TAG_BYTES, stream)
        self._into(True, nonce, data, associated_data, out, None, stream)
        return given_back(data, out)

    def encrypt_into(self, nonce: Any, data: Any, associated_data: Any, out: Any, tag: Any = None,
                     *, stream: Any = None) -> GpuWork:
        """Write the ciphertext to `out`, and the tag behind it, or to `tag`. out may be data if tag
        is given: in place."""
        return cast(GpuWork, self._into(True, nonce, data, associated_data, out, tag, stream))

    def decrypt(self, nonce: Any, data: Any, associated_data: Any = None, *,
                stream: Any = None) -> Any:
        """Return a new array with the plaintext of a ciphertext and its tag. Waits, and raises
        InvalidTag if it is not authentic."""
        out = self._new(data, -_TAG_BYTES, stream)
        self.decrypt_into(nonce, data, associated_data, out, stream=stream).verify()
        return given_back(data, out)

    def decrypt_into(self, nonce: Any, data: Any, associated_data: Any, out: Any, tag: Any = None,
                     *, stream: Any = None) -> GpuVerdict:
        """Write the plaintext to `out`, or zeros if it is not authentic. The tag is in `tag`, or
        the end of data. out may be data if tag is given. Call verify() of what this returns."""
        return cast(GpuVerdict, self._into(False, nonce, data, associated_data, out, tag, stream))


class CTR(_Unauthenticated):
    """SP 800-38A section 6.5. nonce: the first counter block, 16 bytes; never repeat a counter. Not
    authenticated."""

    _MODE = "CTR"

    def encrypt(self, nonce: Any, data: Any, *, stream: Any = None) -> Any:
        """Return a new array with the result; lists for lists."""
        return self._made(True, nonce, data, stream)

    def encrypt_into(self, nonce: Any, data: Any, out: Any, *, stream: Any = None) -> GpuWork:
        """Write the result to `out`, of the same size, which may be data."""
        return self._work(True, nonce, data, out, stream)

    # Decryption is the same, because the key stream is added.
    decrypt = encrypt
    decrypt_into = encrypt_into


class XTS(_Unauthenticated):
    """SP 800-38E, for data units of whole blocks. tweak: the number of the first unit, 16 bytes in
    little-endian order.

    key: 32 or 64 bytes, two halves that differ. unit_size: bytes of each unit, a multiple of 16; 0:
    all data is one unit. Not authenticated.
    """

    _MODE = "XTS"

    def __init__(self, key: Buffer, unit_size: int = 0, *, kernel: str = "auto",
                 allow_leaky: bool = False) -> None:
        try:
            super().__init__(key, kernel=kernel, allow_leaky=allow_leaky, unit_size=unit_size)
        finally:
            del key

    def encrypt(self, tweak: Any, data: Any, *, stream: Any = None) -> Any:
        """Return a new array with the ciphertext; lists for lists."""
        return self._made(True, tweak, data, stream)

    def encrypt_into(self, tweak: Any, data: Any, out: Any, *, stream: Any = None) -> GpuWork:
        """Write the ciphertext to `out`, of the same size, which may be data."""
        return self._work(True, tweak, data, out, stream)

    def decrypt(self, tweak: Any, data: Any, *, stream: Any = None) -> Any:
        """Return a new array with the plaintext; lists for lists."""
        return self._made(False, tweak, data, stream)

    def decrypt_into(self, tweak: Any, data: Any, out: Any, *, stream: Any = None) -> GpuWork:
        """Write the plaintext to `out`, of the same size, which may be data."""
        return self._work(False, tweak, data, out, stream)


class CBC(_Unauthenticated):
    """CBC decryption (SP 800-38A section 6.2) of whole blocks, without padding. Encryption is
    serial: paraes.ciphers does it on the CPU. Not authenticated."""

    _MODE = "CBC"

    def decrypt(self, iv: Any, data: Any, *, stream: Any = None) -> Any:
        """Return a new array with the plaintext; lists for lists."""
        return self._made(False, iv, data, stream)

    def decrypt_into(self, iv: Any, data: Any, out: Any, *, stream: Any = None) -> GpuWork:
        """Write the plaintext to `out`, of the same size, which may be data."""
        return self._work(False, iv, data, out, stream)


class ECB(_Unauthenticated):
    """SP 800-38A section 6.1, of whole blocks, for tests: equal blocks have equal ciphertext."""

    _MODE = "ECB"

    def encrypt(self, data: Any, *, stream: Any = None) -> Any:
        """Return a new array with the ciphertext; lists for lists."""
        return self._made(True, None, data, stream)

    def encrypt_into(self, data: Any, out: Any, *, stream: Any = None) -> GpuWork:
        """Write the ciphertext to `out`, of the same size, which may be data."""
        return self._work(True, None, data, out, stream)

    def decrypt(self, data: Any, *, stream: Any = None) -> Any:
        """Return a new array with the plaintext; lists for lists."""
        return self._made(False, None, data, stream)

    def decrypt_into(self, data: Any, out: Any, *, stream: Any = None) -> GpuWork:
        """Write the plaintext to `out`, of the same size, which may be data."""
        return self._work(False, None, data, out, stream)


# ---- Segments


class Segments:
    """The segments of one message (formats paraes, c2sp and tink), sealed and opened on a GPU.

    A file's segments can be copied to the GPU as they are: the sealed text of segment i begins at
    sealed_offset(i) in the file.

        message = Segments.open(file.read(4096), key=key)
        file.seek(message.sealed_offset(0))
        sealed = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).cuda()
        size = message.plain_size(message.sealed_offset(0) + sealed.numel())
        plain = torch.empty(size, dtype=torch.uint8, device="cuda")
        message.open_segments(0, sealed, plain).verify()
    """

    def __init__(self, native: _native.GpuSegments) -> None:
        self._native = native

    @classmethod
    def open(cls, header: Buffer, **options: Unpack[OpenOptions]) -> Segments:
        """The message with this header, which anything may follow. options: see OpenOptions."""
        if header is None:
            raise TypeError("header: a bytes-like object is required, not 'NoneType'")
        return cls._made(header, options)

    @classmethod
    def new(cls, **options: Unpack[SealOptions]) -> Segments:
        """A new message. Write its `header` in front of segment 0. options: see SealOptions."""
        return cls._made(None, options)

    @classmethod
    def _made(cls, header: Buffer | None, options: Any) -> Segments:
        try:
            return cls(_native.GpuSegments(header, options))
        finally:
            options.clear()  # tracebacks show no secrets

    @property
    def header(self) -> bytes:
        """The bytes in front of segment 0."""
        return self._native.header()

    def sealed_size(self, size: int) -> int:
        """The size of the message with its header, for so many bytes of plaintext."""
        return self._native.sealed_bytes(size)

    def plain_size(self, sealed_size: int) -> int:
        """The size of the plaintext of a message of this size, header included."""
        return self._native.plain_bytes(sealed_size)

    def plain_offset(self, segment: int) -> int:
        """Where a segment begins in the plaintext."""
        return self._native.plain_offset(segment)

    def sealed_offset(self, segment: int) -> int:
        """Where a sealed segment begins in the message, header included."""
        return self._native.sealed_offset(segment)

    def seal_segments(self, first: int, plain: Any, sealed: Any, *, last: bool = True,
                      stream: Any = None) -> GpuWork:
        """Seal whole segments from number `first` on. last: the message ends with the last of them,
        which may be shorter. sealed has 16 bytes more for each. Never seal a segment of a message
        twice with other bytes: both would have the same nonce."""
        call = Call(plain, stream)
        places = (call.part(plain, "plain").all, call.part(sealed, "sealed", write=True).all)
        return cast(GpuWork, self._on_device(True, first, last, places, call))

    def open_segments(self, first: int, sealed: Any, plain: Any, *, last: bool = True,
                      stream: Any = None) -> GpuVerdict:
        """Open segments; those that are not authentic become zeros. Message i of the verdict is
        segment first + i; its verify() raises IntegrityError."""
        call = Call(sealed, stream)
        sealed_place = call.part(sealed, "sealed").all
        places = (call.part(plain, "plain", write=True).all, sealed_place)
        return cast(GpuVerdict, self._on_device(False, first, last, places, call))

    def _on_device(self, seals: bool, first: int, last: bool,
                   places: tuple[tuple[int, int, int], tuple[int, int, int]], call: Call) -> Any:
        return self._native.call(
            seals, first, bool(last), *places, *call.place(), call.waits, call.kept()
        )


# ---- Files


def readinto(reader: DecryptedReader, out: Any, *, stream: Any = None,
             kernel: str = "auto") -> int:
    """Read from a reader of paraes.open() into an array on a GPU, from where the reader stands, and
    return how many bytes there were: fewer than `out` has only at the end.

    The segments are read, copied to the GPU and opened there, all three at the same time, and the
    host sees no plaintext of them. Waits, and raises IntegrityError if one is not authentic: `out`
    then has zeros in its place. Until it is closed, the reader keeps 8 MiB of page-locked memory,
    and 8 MiB of the GPU, for each core up to eight; the page-locked memory then waits for the next
    reader.
    """
    if not isinstance(reader, files.DecryptedReader):
        raise TypeError(
            f"reader: a reader of paraes.open() is required, not {type(reader).__name__!r}")
    if not isinstance(kernel, str):
        raise TypeError(f"kernel: a str is required, not {type(kernel).__name__!r}")
    call = Call(out, stream, "out")
    part = call.part(out, "out", write=True)
    return reader._readinto_device(part.all, *call.place(), call.waits, kernel)
