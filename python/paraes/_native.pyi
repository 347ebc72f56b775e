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

    def size(self) -> int: ...

    def close(self) -> None: ...

class StreamReader:
    """A message that is read in order."""

    def readinto(self, buffer: Buffer) -> int: ...

    def close(self) -> None: ...

class PlainWriter:
    """A message that is being written."""

    def write(self, data: Buffer) -> int: ...

    def finish(self) -> None: ...

    def abort(self) -> None: ...

    def is_pending(self) -> bool: ...

def open_reader(file: object, options: dict[str, object]) -> PlainReader | StreamReader: ...

def open_writer(file: object, exclusive: bool, options: dict[str, object]) -> PlainWriter: ...

def encrypt_file(source: object, target: object, overwrite: bool, options: dict[str, object]) -> tuple[str, int, str | None, str | None]: ...

def decrypt_file(source: object, target: object, overwrite: bool, options: dict[str, object]) -> tuple[str, int, str | None, str | None]: ...

def verify_file(source: object, options: dict[str, object]) -> tuple[str, int, str | None, str | None]: ...

def rekey_file(file: object, new_key: bool, verify: bool, options: dict[str, object]) -> tuple[str, int, str | None, str | None]: ...

def limit_threads(most: int) -> None:
    """
    Works on at most this many threads from now on, whatever `threads` says; 0: no limit.

    After os.fork() and in the processes of multiprocessing that it starts, the limit is 1.
    """

def thread_limit() -> int:
    """The limit; 0 if there is none."""

def available_cores() -> int:
    """Processors that this process may run on."""

def after_fork_in_child() -> None: ...
