"""The secrets of each format, computed from a file and its key without paraes (docs/formats.md)."""

import base64
import hashlib
import random
import string

import aes
import hashes
from memory import Secrets

POWERS = 64  # of a GHASH key
LABEL = b"c2sp.org/chunked-encryption@v1+"
PREFACE_BYTES = 32


def random_key(size, seed):
    """A key that nobody else has in memory: the same in each run of the test."""
    return random.Random(f"{seed} {size}").randbytes(size)


def random_passphrase(seed):
    letters = random.Random(seed)
    return "".join(letters.choice(string.ascii_letters) for _ in range(40)).encode()


def add_text(secrets, name, text):
    # Eight digits of hex alone could be there by chance.
    secrets.add(name, text, least=12)


def add_key(secrets, name, key):
    """A key, also as it is typed."""
    secrets.add(name, key)
    add_text(secrets, f"{name} in hex", key.hex().encode())
    add_text(secrets, f"{name} in HEX", key.hex().upper().encode())
    add_text(secrets, f"{name} in base64", base64.b64encode(key))


def add_schedule(secrets, name, key):
    keys = aes.round_keys(key)
    secrets.add(name, key)
    for number, round_key in enumerate(keys):
        secrets.add(f"{name}, round key {number}", round_key)
    for number, round_key in enumerate(aes.decryption_keys(keys), 1):
        secrets.add(f"{name}, round key {number} of decryption", round_key)
    for number, planes in enumerate(aes.sliced_keys(keys)):
        # A byte has two bits of the key.
        secrets.add(f"{name}, bit planes {number}", planes, least=32)


def add_gcm(secrets, name, key):
    add_schedule(secrets, name, key)
    for form, power in aes.hash_keys(key, POWERS).items():
        secrets.add(f"{name}, {form}", power)


def add_xts(secrets, key, units=4, blocks=8):
    half = len(key) // 2
    add_schedule(secrets, "data key", key[:half])
    add_schedule(secrets, "tweak key", key[half:])
    for unit in range(units):
        for number, tweak in enumerate(aes.xts_tweaks(key[half:], unit, blocks)):
            secrets.add(f"tweak {number} of unit {unit}", tweak)


def add_hmac(secrets, name, hash_name, key):
    for part, data in hashes.hmac_secrets(hash_name, key).items():
        secrets.add(f"{name}, HMAC: {part}", data)


def add_c2sp(secrets, message, input_key, context=b"", name="message"):
    """Returns the key and the base nonce of the message."""
    aead = b"AEAD_AES_256_GCM" if len(input_key) == 32 else b"AEAD_AES_128_GCM"
    add_hmac(secrets, f"input key of the {name}", "sha512", input_key)
    derived = hashes.hkdf_expand("sha512", input_key, LABEL + aead + b"\0" + message[:24] + context,
                                 len(input_key) + 44)
    key, nonce = derived[:len(input_key)], derived[len(input_key):len(input_key) + 12]
    if derived[len(input_key) + 12:] != message[24:56]:
        raise AssertionError(f"the {name} has another key")
    add_gcm(secrets, f"{name} key", key)
    return key, nonce


def add_scrypt(secrets, passphrase, salt, log2n, size):
    add_hmac(secrets, "passphrase", "sha256", passphrase)
    secrets.add("first block of scrypt",
                hashlib.pbkdf2_hmac("sha256", passphrase, salt, 1, 128 * 8)[:256])
    derived = hashlib.scrypt(passphrase, salt=salt, n=1 << log2n, r=8, p=1, dklen=size,
                             maxmem=1 << 30)
    add_key(secrets, "key of scrypt", derived)
    return derived


def add_slot(secrets, header, run_key):
    """The key of a file for recipients, from its slot."""
    wrap_bytes = int.from_bytes(header[12:16], "big")
    slot_bytes = 88 if header[10] == 1 else 104
    slot = header[PREFACE_BYTES:PREFACE_BYTES + wrap_bytes][-slot_bytes:]
    key, nonce = add_c2sp(secrets, slot, run_key, header[:12] + bytes(4) + header[16:32], "slot")
    return aes.ctr(key, nonce + bytes([0, 0, 0, 2]), slot[56:-16])


def add_paraes(secrets, file, key=None, passphrase=None, run_key=None, context=b"", name="message"):
    """Of a file in the format paraes; exactly one of the three is given."""
    preface = file[:PREFACE_BYTES]
    at = PREFACE_BYTES
    if passphrase is not None:
        add_text(secrets, "passphrase", passphrase)
        key = add_scrypt(secrets, passphrase, preface[16:32], preface[11], 16 * preface[10])
    elif run_key is not None:
        add_key(secrets, "run key", run_key)
        key = add_slot(secrets, file, run_key)
        at += int.from_bytes(preface[12:16], "big")
        preface = preface[:12] + bytes(4) + preface[16:]
    add_key(secrets, f"input key of the {name}", key)
    add_c2sp(secrets, file[at:], key, preface + context, name)


def add_tink(secrets, file, value, hash_name="sha256", associated_data=b""):
    size = file[0] - 8
    prk = hashes.hkdf_extract(hash_name, file[1:1 + size], value)
    secrets.add("pseudorandom key of HKDF", prk)
    add_hmac(secrets, "pseudorandom key of HKDF", hash_name, prk)
    add_gcm(secrets, "derived key", hashes.hkdf_expand(hash_name, prk, associated_data, size))


def add_openssl(secrets, file, passphrase, iterations):
    add_text(secrets, "passphrase", passphrase)
    add_hmac(secrets, "passphrase", "sha256", passphrase)
    derived = hashlib.pbkdf2_hmac("sha256", passphrase, file[8:16], iterations, 48)
    add_key(secrets, "derived key", derived[:32])
    add_schedule(secrets, "derived key", derived[:32])


def of(*adds):
    """Secrets that functions of this module add: each of `adds` is one with its arguments."""
    secrets = Secrets()
    for add, *arguments in adds:
        add(secrets, *arguments)
    return secrets


def of_paraes(*files, **known):
    """The secrets of files in the format paraes: see add_paraes."""
    secrets = Secrets()
    for file in files:
        add_paraes(secrets, file, **known)
    return secrets
