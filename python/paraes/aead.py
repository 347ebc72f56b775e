"""AES-GCM, with the names of cryptography.hazmat.primitives.ciphers.aead."""

from paraes._native import AESGCM

__all__ = ["AESGCM"]
