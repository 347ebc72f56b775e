"""AES-GCM, with the names of cryptography.hazmat.primitives.ciphers.aead."""

# A module of its own, so that users of cryptography change nothing but the package's name.

from paraes._native import AESGCM

__all__ = ["AESGCM"]
