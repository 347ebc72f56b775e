"""ECB, CBC, CTR and XTS, with the names of cryptography.hazmat.primitives.ciphers.

None of these modes is authenticated: whoever can change the data can do so unnoticed. Use them to
exchange data with other programs, and AESGCM or paraes.open for everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraes import _native
from paraes._native import CipherContext

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Cipher", "CipherContext", "algorithms", "modes"]


class algorithms:
    """The block ciphers."""

    AES = _native.AES

    # Functions of _native: their arguments are in no frame that a traceback shows.
    AES128 = staticmethod(_native.AES128)
    AES256 = staticmethod(_native.AES256)


class _Mode:
    name = ""
    _iv: Buffer | None = None
    _unit_size = 0


class modes:
    """The modes of operation (SP 800-38A, SP 800-38E)."""

    class ECB(_Mode):
        """Section 6.1 of SP 800-38A. Equal blocks give equal blocks: for tests only."""

        name = "ECB"

    class CBC(_Mode):
        """Section 6.2, without padding. initialization_vector: 16 unpredictable bytes."""

        name = "CBC"

        def __init__(self, initialization_vector: Buffer) -> None:
            self._iv = initialization_vector

        @property
        def initialization_vector(self) -> Buffer | None:
            return self._iv

    class CTR(_Mode):
        """Section 6.5. nonce: the first counter block, 16 bytes; never repeat a counter."""

        name = "CTR"

        def __init__(self, nonce: Buffer) -> None:
            self._iv = nonce

        @property
        def nonce(self) -> Buffer | None:
            return self._iv

    class XTS(_Mode):
        """SP 800-38E. tweak: 16 bytes, the number of the first data unit in little-endian order.

        unit_size: 16 bytes to 2**24 that each data unit has; unit u has the tweak plus u. 0: all
        data is one unit.
        """

        name = "XTS"

        def __init__(self, tweak: Buffer, unit_size: int = 0) -> None:
            self._iv = tweak
            self._unit_size = unit_size

        @property
        def tweak(self) -> Buffer | None:
            return self._iv


class Cipher:
    """A key and a mode. encryptor() and decryptor() each begin a message.

    threads: of the CPU, 0 for all cores. device: "cpu", "cuda:0", "hip", "opencl". kernel: one of
    `paraes devices`. The key is not copied: repr and pickle do not show it.
    """

    def __init__(self, algorithm: _native.AES, mode: _Mode | None, *, threads: int = 0,
                 device: str = "cpu", kernel: str = "auto") -> None:
        if not isinstance(algorithm, _native.AES):
            raise TypeError("algorithm: it must be made by paraes.ciphers.algorithms")
        if not isinstance(mode, _Mode):
            raise TypeError("mode: it must be made by paraes.ciphers.modes")
        self._algorithm = algorithm
        self._mode = mode
        self._where = (threads, device, kernel)
        self.encryptor()  # so that a wrong size or name is refused here

    def _context(self, encrypts: bool) -> CipherContext:
        mode = self._mode
        return CipherContext(self._algorithm, mode.name, mode._iv, encrypts, mode._unit_size,
                             *self._where)

    def encryptor(self) -> CipherContext:
        """Return a context that encrypts one message."""
        return self._context(True)

    def decryptor(self) -> CipherContext:
        """Return a context that decrypts one message."""
        return self._context(False)
