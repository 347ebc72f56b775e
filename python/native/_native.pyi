"""The compiled part of paraes. Use the package's modules."""



from typing_extensions import Buffer

version: str

class AESGCM:
    """
    AES-GCM (SP 800-38D) for messages in memory.

    Made from a key of 16, 24 or 32 bytes. One object may be used by any number of threads at once.

    Common to all methods:

    - Arguments are objects with the buffer protocol: bytes, bytearray, memoryview, mmap, arrays of
      numpy. Their memory must be contiguous (BufferError) and must not change during the call. None
      stands for no associated data.
    - A nonce has 8 to 128 bytes, best 12, and is never used twice under one key.
    - data has at most 2**36 - 32 bytes. The result of encryption is 16 bytes longer than data: the tag
      comes last.
    - buf must have exactly the size of the result. It may begin at the same byte as data (in place);
      otherwise the two must not overlap. The number of bytes written is returned.
    - Errors are InvalidArgument (a ValueError) for a wrong size, TypeError for a wrong type, and
      InvalidTag if data does not authenticate. buf is then all zero.
    - More than 2 KiB are processed without the GIL, and from 64 KiB on by several threads.
    """

    def __init__(self, key: Buffer, *, threads: int = 0, device: str = 'cpu', kernel: str = 'auto') -> None:
        """
        threads: of the CPU, 0 for all cores. device: 'cpu', 'cuda:0', 'hip', 'opencl'. kernel: one of `paraes devices`.
        """

    @staticmethod
    def generate_key(bit_length: int) -> bytes:
        """A random key of 128, 192 or 256 bits."""

    def encrypt(self, nonce: Buffer, data: Buffer, associated_data: Buffer | None) -> bytes:
        """Returns the ciphertext and the tag."""

    def decrypt(self, nonce: Buffer, data: Buffer, associated_data: Buffer | None) -> bytes:
        """Returns the plaintext of a ciphertext and its tag."""

    def encrypt_into(self, nonce: Buffer, data: Buffer, associated_data: Buffer | None, buf: Buffer) -> int:
        """Writes the ciphertext and the tag to buf: 16 bytes more than data."""

    def decrypt_into(self, nonce: Buffer, data: Buffer, associated_data: Buffer | None, buf: Buffer) -> int:
        """Writes the plaintext to buf: 16 bytes fewer than data."""

    @property
    def kernel(self) -> str:
        """The kernel that runs."""

    @property
    def device(self) -> str:
        """Where it runs."""

    @property
    def threads(self) -> int:
        """The most threads that a call uses; limit_threads() may allow fewer."""

class AES:
    """
    An AES key of 16, 24 or 32 bytes; for XTS 32 or 64: two halves.

    The object keeps the only copy of the key, which repr and pickle do not show.
    """

    def __init__(self, key: Buffer) -> None: ...

    @property
    def key_size(self) -> int:
        """In bits."""

    @property
    def block_size(self) -> int:
        """In bits."""

    @property
    def name(self) -> str:
        """"AES"."""

def AES128(key: Buffer) -> AES:
    """AES with 16 bytes; not for XTS."""

def AES256(key: Buffer) -> AES:
    """AES with 32 bytes; not for XTS."""

class CipherContext:
    """
    One message that is being encrypted or decrypted.

    paraes.ciphers.Cipher makes it. Calls from several threads take turns; more than 2 KiB are processed
    without the GIL. Arguments are objects with the buffer protocol, as for AESGCM.
    """

    def __init__(self, key: AES, mode: str, iv: Buffer | None, encrypts: bool, unit_size: int, threads: int, device: str, kernel: str) -> None: ...

    def update(self, data: Buffer) -> bytes:
        """
        Returns the output for data. ECB and CBC keep what is left of a block for the next call; XTS takes all data in one call.
        """

    def update_into(self, data: Buffer, buf: Buffer) -> int:
        """
        Writes the output to buf, which may have more bytes than needed, and returns how many were written. buf may begin at the same byte as data, unless a part of a block was kept; otherwise the two must not overlap.
        """

    def finalize(self) -> bytes:
        """
        Ends the message and returns b''. InvalidArgument (a ValueError) if ECB or CBC have a part of a block left.
        """

    def reset_nonce(self, nonce: Buffer) -> None:
        """Starts a new message with another nonce of 16 bytes. CBC and CTR only."""

    @property
    def kernel(self) -> str:
        """The kernel that runs."""

    @property
    def device(self) -> str:
        """Where it runs."""

    @property
    def threads(self) -> int:
        """The most threads that a call uses; limit_threads() may allow fewer."""

class Cobblestone128Encryptor:
    """
    Encrypts one message as Cobblestone-128 (c2sp.org/chunked-encryption).

    key has 16 random bytes. context, at most 544 bytes, is authenticated and not part of the
    output: decryption needs the same. The output is 56 bytes longer than the plaintext, and 16 more for
    each segment of 16 KiB. After finalize, calls raise AlreadyFinalized.
    """

    def __init__(self, key: Buffer, context: Buffer, *, threads: int = 0, device: str = 'cpu', kernel: str = 'auto') -> None: ...

    @staticmethod
    def generate_key() -> bytes:
        """A random key."""

    def update(self, data: Buffer) -> bytes:
        """Returns the output of all segments that data completes."""

    def update_into(self, data: Buffer, buf: Buffer) -> int:
        """
        Writes the same to buf, which does not overlap data and may have more bytes than needed. Returns how many were written.
        """

    def finalize(self) -> bytes:
        """Ends the message and returns the rest of the output."""

class Cobblestone128Decryptor:
    """
    Decrypts one message of Cobblestone-128.

    update returns only what has been authenticated. The message is complete only when finalize has
    returned. WrongKey, for a wrong key or context, and IntegrityError, for damaged or missing data, are
    kinds of InvalidTag; after them, calls raise AlreadyFinalized.
    """

    def __init__(self, key: Buffer, context: Buffer, *, threads: int = 0, device: str = 'cpu', kernel: str = 'auto') -> None: ...

    def update(self, data: Buffer) -> bytes:
        """Returns the output of all segments that data completes."""

    def update_into(self, data: Buffer, buf: Buffer) -> int:
        """
        Writes the same to buf, which does not overlap data and may have more bytes than needed. Returns how many were written.
        """

    def finalize(self) -> bytes:
        """Ends the message and returns the rest of the output."""

class Cobblestone128:
    """
    Cobblestone-128 for whole messages in memory, on all cores.

    One object may be used by any number of threads at once. buf has exactly the size of the result and
    does not overlap data. Nothing is returned, and buf is all zero, unless all of data authenticates.
    """

    def __init__(self, key: Buffer, context: Buffer, *, threads: int = 0, device: str = 'cpu', kernel: str = 'auto') -> None: ...

    @staticmethod
    def generate_key() -> bytes:
        """A random key."""

    def encrypt(self, data: Buffer) -> bytes:
        """Returns the message."""

    def encrypt_into(self, data: Buffer, buf: Buffer) -> int:
        """Writes the message to buf."""

    def decrypt(self, data: Buffer) -> bytes:
        """Returns the plaintext."""

    def decrypt_into(self, data: Buffer, buf: Buffer) -> int:
        """Writes the plaintext to buf."""

    def decrypt_range(self, data: Buffer, offset: int, length: int) -> bytes:
        """
        Returns `length` bytes of the plaintext from `offset` on. Authenticates only the segments that hold them. data is the whole message: an mmap, for example.
        """

class Cobblestone256Encryptor:
    """
    Encrypts one message as Cobblestone-256 (c2sp.org/chunked-encryption).

    key has 32 random bytes. context, at most 544 bytes, is authenticated and not part of the
    output: decryption needs the same. The output is 56 bytes longer than the plaintext, and 16 more for
    each segment of 16 KiB. After finalize, calls raise AlreadyFinalized.
    """

    def __init__(self, key: Buffer, context: Buffer, *, threads: int = 0, device: str = 'cpu', kernel: str = 'auto') -> None: ...

    @staticmethod
    def generate_key() -> bytes:
        """A random key."""

    def update(self, data: Buffer) -> bytes:
        """Returns the output of all segments that data completes."""

    def update_into(self, data: Buffer, buf: Buffer) -> int:
        """
        Writes the same to buf, which does not overlap data and may have more bytes than needed. Returns how many were written.
        """

    def finalize(self) -> bytes:
        """Ends the message and returns the rest of the output."""

class Cobblestone256Decryptor:
    """
    Decrypts one message of Cobblestone-256.

    update returns only what has been authenticated. The message is complete only when finalize has
    returned. WrongKey, for a wrong key or context, and IntegrityError, for damaged or missing data, are
    kinds of InvalidTag; after them, calls raise AlreadyFinalized.
    """

    def __init__(self, key: Buffer, context: Buffer, *, threads: int = 0, device: str = 'cpu', kernel: str = 'auto') -> None: ...

    def update(self, data: Buffer) -> bytes:
        """Returns the output of all segments that data completes."""

    def update_into(self, data: Buffer, buf: Buffer) -> int:
        """
        Writes the same to buf, which does not overlap data and may have more bytes than needed. Returns how many were written.
        """

    def finalize(self) -> bytes:
        """Ends the message and returns the rest of the output."""

class Cobblestone256:
    """
    Cobblestone-256 for whole messages in memory, on all cores.

    One object may be used by any number of threads at once. buf has exactly the size of the result and
    does not overlap data. Nothing is returned, and buf is all zero, unless all of data authenticates.
    """

    def __init__(self, key: Buffer, context: Buffer, *, threads: int = 0, device: str = 'cpu', kernel: str = 'auto') -> None: ...

    @staticmethod
    def generate_key() -> bytes:
        """A random key."""

    def encrypt(self, data: Buffer) -> bytes:
        """Returns the message."""

    def encrypt_into(self, data: Buffer, buf: Buffer) -> int:
        """Writes the message to buf."""

    def decrypt(self, data: Buffer) -> bytes:
        """Returns the plaintext."""

    def decrypt_into(self, data: Buffer, buf: Buffer) -> int:
        """Writes the plaintext to buf."""

    def decrypt_range(self, data: Buffer, offset: int, length: int) -> bytes:
        """
        Returns `length` bytes of the plaintext from `offset` on. Authenticates only the segments that hold them. data is the whole message: an mmap, for example.
        """

def seal(data: Buffer, options: dict[str, object]) -> bytes: ...

def unseal(data: Buffer, options: dict[str, object]) -> bytes: ...

class PlainReader:
    """A message that can be read at any offset."""

    def readinto(self, offset: int, buffer: Buffer) -> int: ...

    def read(self, offset: int, size: int) -> bytes: ...

    def read_to_device(self, offset: int, out: tuple[int, int, int], device: str, stream: int, waits: list[int], kernel: str) -> None: ...

    def size(self) -> int: ...

    def forget(self) -> None: ...

    def close(self) -> None: ...

class StreamReader:
    """A message that is read in order."""

    def readinto(self, buffer: Buffer) -> int: ...

    def close(self) -> None: ...

def open_reader(file: object, options: dict[str, object]) -> PlainReader | StreamReader: ...

class PlainWriter:
    """A message that is being written."""

    def write(self, data: Buffer) -> int: ...

    def finish(self) -> None: ...

    def abort(self) -> None: ...

    def is_pending(self) -> bool: ...

def open_writer(file: object, exclusive: bool, options: dict[str, object]) -> PlainWriter: ...

def encrypt_file(source: object, target: object | None, overwrite: bool, options: dict[str, object]) -> tuple[str, int, str | None, str | None]: ...

def decrypt_file(source: object, target: object | None, overwrite: bool, options: dict[str, object]) -> tuple[str, int, str | None, str | None]: ...

def verify_file(source: object, options: dict[str, object]) -> tuple[str, int, str | None, str | None]: ...

def rekey_file(file: object, new_key: bool, verify: bool, options: dict[str, object]) -> tuple[str, int, str | None, str | None]: ...

def parse_dlpack(capsule: object, name: str) -> tuple[int, int, int, int, ExportedArray]: ...

class ExportedArray:
    pass

class GpuWork:
    """The work of one call on a GPU."""

    def ready(self) -> bool:
        """Whether the device has finished. Does not wait."""

    def wait(self) -> None:
        """Waits until it has."""

class GpuVerdict:
    """Which messages of one call are authentic."""

    def ready(self) -> bool:
        """Whether the device has finished. Does not wait."""

    def wait(self) -> None:
        """Waits until it has."""

    def verify(self) -> None:
        """
        Waits, and raises InvalidTag, or IntegrityError for segments, if one is not authentic.
        """

    def intact(self, index: int | None) -> bool:
        """Waits, and returns whether message `index` is authentic."""

    def __len__(self) -> int: ...

class GpuCiphers:
    def __init__(self, mode: str, key: Buffer | None, unit_size: int | None, kernel: str, allow_leaky: bool) -> None: ...

    def call(self, encrypts: bool, device: str, stream: int, texts: list[tuple[object, ...]], waits: list[int], keep: object | None) -> GpuWork | GpuVerdict: ...

class GpuSegments:
    def __init__(self, header: Buffer | None, options: dict[str, object]) -> None: ...

    def header(self) -> bytes: ...

    def sealed_bytes(self, plain_bytes: int | None) -> int: ...

    def plain_bytes(self, sealed_bytes: int | None) -> int: ...

    def plain_offset(self, segment: int | None) -> int: ...

    def sealed_offset(self, segment: int | None) -> int: ...

    def call(self, seals: bool, first: int, ends: bool, plain: tuple[int, int, int], sealed: tuple[int, int, int], device: str, stream: int, waits: list[int], keep: object | None) -> GpuWork | GpuVerdict: ...

class Segments:
    """The segments of a message."""

    def __init__(self, parts: tuple[object, ...], threads: int) -> None: ...

    @property
    def header(self) -> bytes: ...

    def parts(self) -> tuple[object, ...]:
        """
        All that another process needs to make the same object: also the key of the message.
        """

    def sealed_bytes(self, plain_bytes: int) -> int: ...

    def segments_of(self, plain_bytes: int) -> int: ...

    def offsets(self, segment: int) -> tuple[int, int]:
        """Where a segment begins in the plaintext and in the message."""

    @property
    def segment_bytes(self) -> int: ...

    def seal(self, first: int, ends: bool, plain: Buffer, sealed: Buffer) -> None:
        """
        Seals whole segments from number `first` on, of which the last ends the message.
        """

    def open_into(self, first: int, ends: bool, sealed: Buffer, plain: Buffer) -> None: ...

    def seal_file(self, file: object, offset: int, bytes: int, segments: tuple[int, int], ends: bool, sealed: Buffer) -> bool:
        """As seal, from a file. False if that ends before."""

    def open_file(self, file: object, offset: int, bytes: int, segments: tuple[int, int], ends: bool, plain: Buffer) -> bool: ...

    def fingerprint(self, first: int, sealed: Buffer) -> bytes:
        """
        A keyed hash of the plaintext of sealed segments, to compare with when they are sealed again.
        """

    def proof(self, data: Buffer) -> bytes:
        """A keyed hash of anything: shows who has the key of the message."""

    def plain_bytes(self, sealed_bytes: int) -> int: ...

    def segment_end(self, offset: int) -> int: ...

    def sealed_range(self, begin: int, end: int, sealed_bytes: int) -> tuple[int, int]:
        """Where the segments of a range of the plaintext are in the message."""

    def open(self, begin: int, end: int, sealed_bytes: int, sealed: Buffer) -> bytes:
        """The range of the plaintext, from the bytes that sealed_range names."""

class Secret:
    """A secret that seals or opens any number of messages."""

    def __init__(self, seals: bool, options: dict[str, object]) -> None: ...

    def seal(self, data: Buffer, context: Buffer | None = None) -> bytes: ...

    def unseal(self, data: Buffer, context: Buffer | None = None) -> bytes: ...

    def unseal_file(self, file: object, context: Buffer | None) -> tuple[bytes, bytes, int]:
        """
        The plaintext, the header and the size of the message in a regular file.
        """

    def open_reader(self, file: object) -> PlainReader | StreamReader: ...

    def open_writer(self, file: object, exclusive: bool) -> PlainWriter: ...

    def segments(self, start: Buffer, context: Buffer | None = None) -> Segments:
        """The message that begins with `start`, which has all of its header."""

    def new_segments(self, context: Buffer | None = None) -> Segments:
        """A new message."""

    def check_file(self, path: str) -> None:
        """Raises InvalidArgument if the file exists and holds the secret."""

    @property
    def header_varies(self) -> bool:
        """
        Whether header_bytes and plain_bytes need the first 32 bytes of a message.
        """

    def header_bytes(self, start: Buffer | None = None) -> int: ...

    def plain_bytes(self, sealed_bytes: int, start: Buffer | None = None) -> int: ...

def limit_threads(most: int) -> None:
    """
    Works on at most this many threads from now on, whatever `threads` says; 0: no limit.

    After os.fork() and in the processes of multiprocessing that it starts, the limit is 1.
    """

def thread_limit() -> int:
    """The limit; 0 if there is none."""

def after_fork_in_child() -> None: ...
