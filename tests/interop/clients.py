"""A client of the formats c2sp and paraes: testvectors/reader.py opens messages, and testvectors/make
makes them. Both are written from docs/formats.md alone. Messages are held in memory."""

import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import sys

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "testvectors"
sys.path.append(str(FOLDER))
import reader

loader = importlib.machinery.SourceFileLoader("make", str(FOLDER / "make"))
make = importlib.util.module_from_spec(importlib.util.spec_from_loader("make", loader))
loader.exec_module(make)


def c2sp_keys(key, salt, context):
    """The cipher of the segments, the function nonce(k) of segment k, and the commitment."""
    derived, base, commitment = make.message_keys(key, salt, context)
    base = int.from_bytes(base, "big")
    return AESGCM(derived), lambda k: (base ^ k).to_bytes(12, "big"), commitment


def c2sp_seal(key, plain, context=b""):
    return make.message(key, plain, context, os.urandom(8).hex())


def c2sp_open(key, message, context=b""):
    return opened(*reader.message(message, key, context))


def opened(result, text):
    if result != "success":
        raise ValueError(result)
    return text


def scrypt(passphrase, salt, log2n, length):
    # scrypt takes a little more than 128 r N bytes. OpenSSL's default limit is 32 MiB.
    return hashlib.scrypt(passphrase, salt=salt, n=1 << log2n, r=8, p=1, dklen=length,
                          maxmem=128 * 8 * ((1 << log2n) + 4))


def paraes_seal(plain, *, key=None, passphrase=None, context=b"", key_bytes=32, log2n=17):
    """Takes a key of 16 or 32 bytes, or a passphrase; key_bytes and log2n go with a passphrase."""
    kdf, log2n, salt = (0, 0, bytes(16)) if passphrase is None else (1, log2n, os.urandom(16))
    if passphrase is not None:
        key = scrypt(passphrase, salt, log2n, key_bytes)
    preface = make.preface(kdf, len(key) // 16, log2n, salt=salt)
    return preface + c2sp_seal(key, plain, preface + context)


def paraes_open(message, *, key=None, passphrase=None, context=b""):
    if passphrase is None:
        return opened(*reader.file(message, {"key": key.hex()}, context))
    # The reader takes no passphrases that are not text.
    key = scrypt(passphrase, message[16:32], message[11], 16 * message[10])
    return c2sp_open(key, message[32:], message[:32] + context)
