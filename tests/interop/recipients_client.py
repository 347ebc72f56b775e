"""A client of paraes files with recipients (kdf 2), written from docs/formats.md alone. The program
age holds a key, and the module cobblestone of the package cryptography opens with it."""

import os
import subprocess

from cryptography.cobblestone import (
    Cobblestone128Decryptor,
    Cobblestone128Encryptor,
    Cobblestone256Decryptor,
    Cobblestone256Encryptor,
)


def run_age(arguments, data):
    return subprocess.run(["age", *arguments], input=data, capture_output=True, check=True).stdout


def recipients_open(message, age_flags, context=b"", age=run_age):
    wrap, key_bytes = int.from_bytes(message[12:16], "big"), 16 * message[10]
    bound = message[:12] + bytes(4) + message[16:32]
    age_file, slot = message[32:32 + wrap - 72 - key_bytes], message[32 + wrap - 72 - key_bytes:32 + wrap]
    slot_reader = Cobblestone256Decryptor(age(["-d", *age_flags], age_file), bound)
    key = slot_reader.update(slot) + slot_reader.finalize()
    reader = {16: Cobblestone128Decryptor, 32: Cobblestone256Decryptor}[key_bytes](key, bound + context)
    return reader.update(message[32 + wrap:]) + reader.finalize()


def recipients_seal(plain, age_flags, context=b"", key_bytes=32, age=run_age):
    bound = b"PARAES\r\n" + bytes([1, 2, key_bytes // 16]) + bytes(21)
    run_key, key = os.urandom(32), os.urandom(key_bytes)
    slot_writer = Cobblestone256Encryptor(run_key, bound)
    wrap = age(age_flags, run_key) + slot_writer.update(key) + slot_writer.finalize()
    writer = {16: Cobblestone128Encryptor, 32: Cobblestone256Encryptor}[key_bytes](key, bound + context)
    return (bound[:12] + len(wrap).to_bytes(4, "big") + bound[16:] + wrap +
            writer.update(plain) + writer.finalize())
