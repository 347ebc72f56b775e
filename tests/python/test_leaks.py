"""Memory and references do not grow over many calls."""

import gc
import os
import sys

import pytest

import paraes
from paraes.ciphers import Cipher, algorithms, modes

KEY = bytes(range(32))
NONCE = bytes(12)
LONG = os.environ.get("PARAES_LONG", "0") not in ("", "0")
CALLS = 100_000 if LONG else 30_000
ALLOWED = 3 << 20 if LONG else 1 << 20  # bytes that memory may vary by


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def refused(call, *arguments, kind=Exception):
    try:
        call(*arguments)
    except kind:
        return
    raise AssertionError("nothing was raised")


CIPHER = paraes.AESGCM(KEY)
OUT = bytearray(4096 + 16)
BLOCK = bytes(4096)
MESSAGE = paraes.seal(b"data", key=KEY)
ONE_SHOT = paraes.Cobblestone256(KEY, b"")
SEALED = ONE_SHOT.encrypt(b"data")


def stream():
    context = paraes.Cobblestone256Encryptor(KEY, b"")
    context.update(b"data")
    context.finalize()


def mode():
    context = Cipher(algorithms.AES(KEY), modes.CBC(bytes(16))).encryptor()
    context.update(b"data")


WORK = {
    "encrypt": lambda: CIPHER.encrypt(NONCE, BLOCK, b"aad"),
    "encrypt_into": lambda: CIPHER.encrypt_into(NONCE, BLOCK, None, OUT),
    "decrypt_fails": lambda: refused(CIPHER.decrypt, NONCE, BLOCK, None, kind=paraes.InvalidTag),
    "wrong_type": lambda: refused(CIPHER.encrypt, NONCE, "text", None, kind=TypeError),
    "wrong_size": lambda: refused(CIPHER.encrypt_into, NONCE, BLOCK, None, bytearray(5),
                                  kind=ValueError),
    "construct": lambda: paraes.AESGCM(KEY),
    "construct_fails": lambda: refused(paraes.AESGCM, b"short", kind=ValueError),
    "one_shot": lambda: ONE_SHOT.decrypt(SEALED),
    "stream": stream,
    "range": lambda: ONE_SHOT.decrypt_range(SEALED, 1, 2),
    "mode": mode,
    "unseal": lambda: paraes.unseal(MESSAGE, key=KEY),
    "seal": lambda: paraes.seal(b"data", key=KEY),
    "unseal_fails": lambda: refused(lambda: paraes.unseal(MESSAGE, key=bytes(32)),
                                    kind=paraes.WrongKey),
}


@pytest.mark.parametrize("name", WORK)
def test_memory_does_not_grow(name):
    work = WORK[name]
    for _ in range(2000):
        work()
    gc.collect()
    references = [sys.getrefcount(x) for x in (KEY, NONCE, BLOCK, OUT, MESSAGE, SEALED)]
    objects = len(gc.get_objects())
    before = resident()
    for _ in range(CALLS):
        work()
    gc.collect()
    assert resident() < before + ALLOWED
    assert [sys.getrefcount(x) for x in (KEY, NONCE, BLOCK, OUT, MESSAGE, SEALED)] == references
    assert len(gc.get_objects()) < objects + 100
