"""Cobblestone (c2sp.org/chunked-encryption), with the names of cryptography.cobblestone.

Cobblestone128 and Cobblestone256 are our own: whole messages, and ranges of them, in one call.
"""

from paraes._native import (
    Cobblestone128,
    Cobblestone128Decryptor,
    Cobblestone128Encryptor,
    Cobblestone256,
    Cobblestone256Decryptor,
    Cobblestone256Encryptor,
)

__all__ = [
    "Cobblestone128",
    "Cobblestone128Decryptor",
    "Cobblestone128Encryptor",
    "Cobblestone256",
    "Cobblestone256Decryptor",
    "Cobblestone256Encryptor",
]
