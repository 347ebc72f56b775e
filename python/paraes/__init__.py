"""paraes: AES as fast as the hardware allows.

AESGCM and the Cobblestone classes have the names of pyca/cryptography. open() reads and writes
encrypted files; encrypt_file, decrypt_file, verify_file and rekey_file process whole ones; seal and
unseal messages in memory. paraes.ciphers has ECB, CBC, CTR and XTS, paraes.exceptions the errors,
and paraes.lab the laboratory (`pip install paraes[lab]`). `python -m paraes` is the command.
"""

import os as _os

from paraes import exceptions

try:
    from paraes._native import version as __version__
except ImportError as _error:
    # nanobind hides the reason in the cause.
    if _error.__cause__ is None:
        raise
    raise ImportError(str(_error.__cause__)) from None

from paraes._native import (
    AESGCM,
    Cobblestone128,
    Cobblestone128Decryptor,
    Cobblestone128Encryptor,
    Cobblestone256,
    Cobblestone256Decryptor,
    Cobblestone256Encryptor,
    limit_threads,
    thread_limit,
)
from paraes._native import after_fork_in_child as _after_fork_in_child
from paraes.exceptions import (
    AlreadyFinalized,
    DeviceError,
    Error,
    FileError,
    IntegrityError,
    InvalidArgument,
    InvalidTag,
    Unavailable,
    WrongKey,
    WrongProcess,
)
from paraes.files import (
    DecryptedReader,
    EncryptedWriter,
    FileResult,
    decrypt_file,
    encrypt_file,
    open,
    rekey_file,
    seal,
    unseal,
    verify_file,
)

__all__ = [
    "AESGCM",
    "AlreadyFinalized",
    "Cobblestone128",
    "Cobblestone128Decryptor",
    "Cobblestone128Encryptor",
    "Cobblestone256",
    "Cobblestone256Decryptor",
    "Cobblestone256Encryptor",
    "DecryptedReader",
    "DeviceError",
    "EncryptedWriter",
    "Error",
    "FileError",
    "FileResult",
    "IntegrityError",
    "InvalidArgument",
    "InvalidTag",
    "Unavailable",
    "WrongKey",
    "WrongProcess",
    "__version__",
    "decrypt_file",
    "encrypt_file",
    "exceptions",
    "limit_threads",
    "open",
    "rekey_file",
    "seal",
    "thread_limit",
    "unseal",
    "verify_file",
]

_os.register_at_fork(after_in_child=_after_fork_in_child)
