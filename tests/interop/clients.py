"""Two clients of the formats c2sp and paraes, written from docs/formats.md alone. AES-GCM comes
from the package cryptography, everything else from the standard library. Messages are held in
memory."""

import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

# ---- c2sp: salt(24), commitment(32), segments ----

SEGMENT = 16384
AEADS = {16: b"AEAD_AES_128_GCM", 32: b"AEAD_AES_256_GCM"}


def expand(key, info, length):
    """HKDF-Expand with SHA-512 (RFC 5869). There is no Extract step."""
    block, output = b"", b""
    while len(output) < length:
        block = hmac.digest(key, block + info + bytes([len(output) // 64 + 1]), "sha512")
        output += block
    return output[:length]


def c2sp_keys(key, salt, context):
    """The cipher of the segments, the function nonce(k) of segment k, and the commitment."""
    info = b"c2sp.org/chunked-encryption@v1+" + AEADS[len(key)] + b"\0" + salt + context
    derived = expand(key, info, len(key) + 12 + 32)
    base = int.from_bytes(derived[-44:-32], "big")
    return AESGCM(derived[:-44]), lambda k: (base ^ k).to_bytes(12, "big"), derived[-32:]


def c2sp_seal(key, plain, context=b""):
    salt = os.urandom(24)
    cipher, nonce, commitment = c2sp_keys(key, salt, context)
    # The last segment is always shorter than the others: empty after a full one.
    segments = [plain[at:at + SEGMENT] for at in range(0, len(plain) + 1, SEGMENT)]
    sealed = [cipher.encrypt(nonce(k), segment, None) for k, segment in enumerate(segments)]
    return salt + commitment + b"".join(sealed)


def c2sp_open(key, message, context=b""):
    cipher, nonce, commitment = c2sp_keys(key, message[:24], context)
    if not hmac.compare_digest(message[24:56], commitment):
        raise ValueError("wrong key or context, or a damaged header")
    sealed, size = message[56:], SEGMENT + 16
    segments = [sealed[at:at + size] for at in range(0, len(sealed) + 1, size)]
    if len(segments[-1]) < 16:
        raise ValueError("truncated: the last segment, shorter than the others, is missing")
    try:
        return b"".join(cipher.decrypt(nonce(k), segment, None)
                        for k, segment in enumerate(segments))
    except InvalidTag:
        raise ValueError("a segment is damaged") from None


# ---- paraes: preface(32), then a c2sp message whose context begins with the preface ----

BY_KEY_FILE, BY_PASSPHRASE = 0, 1
KEY_BYTES = {1: 16, 2: 32}


def scrypt(passphrase, salt, log2n, length):
    # scrypt takes a little more than 128 r N bytes. OpenSSL's default limit is 32 MiB.
    return hashlib.scrypt(passphrase, salt=salt, n=1 << log2n, r=8, p=1, dklen=length,
                          maxmem=128 * 8 * ((1 << log2n) + 4))


def paraes_seal(plain, *, key=None, passphrase=None, context=b"", key_bytes=32, log2n=17):
    """Takes a key of 16 or 32 bytes, or a passphrase; key_bytes and log2n go with a passphrase."""
    if passphrase is None:
        kdf, log2n, salt = BY_KEY_FILE, 0, bytes(16)
    else:
        kdf, salt = BY_PASSPHRASE, os.urandom(16)
        key = scrypt(passphrase, salt, log2n, key_bytes)
    aead = {16: 1, 32: 2}[len(key)]
    preface = b"PARAES\r\n" + bytes([1, kdf, aead, log2n]) + bytes(4) + salt
    return preface + c2sp_seal(key, plain, preface + context)


def paraes_open(message, *, key=None, passphrase=None, context=b""):
    preface = message[:32]
    version, kdf, aead, log2n = preface[8:12]
    if preface[:8] != b"PARAES\r\n" or version != 1 or aead not in KEY_BYTES or any(preface[12:16]):
        raise ValueError("not a paraes message of version 1")
    if kdf == BY_PASSPHRASE and passphrase is not None:
        key = scrypt(passphrase, preface[16:], log2n, KEY_BYTES[aead])
    elif kdf != BY_KEY_FILE or key is None or log2n or any(preface[16:]):
        raise ValueError("the message needs a key instead of a passphrase or vice versa, or it is "
                         "damaged")
    if len(key) != KEY_BYTES[aead]:
        raise ValueError("wrong key: the message needs one of another length")
    return c2sp_open(key, message[32:], preface + context)
