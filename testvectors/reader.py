"""Opens messages of the format `c2sp` and files of `paraes`: docs/formats.md in 54 lines."""

from hashlib import scrypt

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.constant_time import bytes_eq
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand


def message(data, key, context):  # C2SP chunked encryption, version 1
    if len(data) < 72:
        return "header failure", b""
    info = b"c2sp.org/chunked-encryption@v1+AEAD_AES_%d_GCM\0" % (8 * len(key))
    keys = HKDFExpand(SHA512(), len(key) + 44, info + data[:24] + context).derive(key)
    if not bytes_eq(keys[-32:], data[24:56]):
        return "key failure", b""
    aes, base, text = AESGCM(keys[: len(key)]), int.from_bytes(keys[-44:-32], "big"), b""
    for k, at in enumerate(range(56, len(data) + 1, 16400)):
        try:
            text += aes.decrypt((base ^ k).to_bytes(12, "big"), data[at : at + 16400], None)
        except InvalidTag:
            return "payload failure", text
    return "success", text


def file(data, secrets, context):  # secrets: key, passphrase or run-key (what the age file holds)
    (version, kdf, aead, cost), salt = (data[8:12] + bytes(4))[:4], data[16:32]
    wrap, length = int.from_bytes(data[12:16], "big"), 16 * aead
    if data[:8] != b"PARAES\r\n" or version != 1 or kdf > 2 or aead not in (1, 2):
        return "header failure", b""
    if (cost == 0 if kdf == 1 else cost or any(salt)) or (kdf < 2 and wrap) or len(data) < 104:
        return "header failure", b""
    if not secrets.keys() & ({"key"}, {"passphrase"}, {"run-key"})[kdf]:
        return "other kind of secret", b""
    if kdf == 0:
        key = bytes.fromhex(secrets["key"])
    elif kdf == 1:
        if cost > 22:
            return "cost too high", b""
        words, most = secrets["passphrase"].encode(), 2**31 - 1
        key = scrypt(words, salt=salt, n=1 << cost, r=8, p=1, maxmem=most, dklen=length)
    else:
        age, slot = data[32 : wrap - 40 - length], data[wrap - 40 - length : wrap + 32]
        if not 72 + length < wrap <= min(1 << 18, len(data) - 88) or b"\n-> scrypt " in age:
            return "header failure", b""
        if not age.startswith(b"age-encryption.org/v1\n"):
            return "header failure", b""
        bound = data[:12] + bytes(20)
        result, key = message(slot, bytes.fromhex(secrets["run-key"]), bound)
        if result != "success":
            return result.replace("payload", "header"), b""
    return message(data[32 + wrap :], key, data[:12] + bytes(4) + salt + context)
