"""AES key schedules, GHASH keys and XTS tweaks: secrets to look for, computed without paraes."""

import subprocess


def _double(a):
    return (a << 1) ^ (0x11B if a & 0x80 else 0)


def _product(a, b):
    result = 0
    while b:
        if b & 1:
            result ^= a
        a, b = _double(a), b >> 1
    return result


def _make_sbox():
    """FIPS 197 section 5.1.1: the inverse in GF(2^8), then an affine map."""
    powers = [1]
    for _ in range(254):
        powers.append(_product(powers[-1], 3))
    logarithm = {value: i for i, value in enumerate(powers)}
    box = []
    for value in range(256):
        inverse = powers[-logarithm[value] % 255] if value else 0
        spread = inverse
        for shift in range(1, 5):
            spread ^= (inverse << shift | inverse >> (8 - shift)) & 0xFF
        box.append(spread ^ 0x63)
    return bytes(box)


SBOX = _make_sbox()


def _xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def _inverse_mix_columns(block):
    """FIPS 197 section 5.3.3."""
    factors = (14, 11, 13, 9)
    mixed = []
    for column in range(0, 16, 4):
        for row in range(4):
            products = [_product(block[column + i], factors[(i - row) % 4]) for i in range(4)]
            mixed.append(products[0] ^ products[1] ^ products[2] ^ products[3])
    return bytes(mixed)


def round_keys(key):
    """The round keys of encryption (FIPS 197 section 5.2)."""
    words = [key[i:i + 4] for i in range(0, len(key), 4)]
    nk = len(words)
    rcon = 1
    while len(words) < 4 * (nk + 7):
        word = words[-1]
        i = len(words)
        if i % nk == 0:
            word = bytes(SBOX[b] for b in word[1:] + word[:1])
            word = bytes([word[0] ^ rcon]) + word[1:]
            rcon = _double(rcon)
        elif nk > 6 and i % nk == 4:
            word = bytes(SBOX[b] for b in word)
        words.append(_xor(word, words[-nk]))
    return [b"".join(words[i:i + 4]) for i in range(0, len(words), 4)]


def decryption_keys(keys):
    """The inner round keys of the equivalent inverse cipher (section 5.3.5)."""
    return [_inverse_mix_columns(key) for key in keys[1:-1]]


def _openssl(key, mode, data, *more):
    command = ["openssl", "enc", f"-aes-{8 * len(key)}-{mode}", "-nopad", "-K", key.hex(), *more]
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout


def encrypt_block(key, block):
    return _openssl(key, "ecb", block)


def ctr(key, counter, data):
    """CTR from the counter block `counter` on (SP 800-38A section 6.5)."""
    return _openssl(key, "ctr", data, "-iv", counter.hex())


def ghash_product(a, b):
    """In the field of GHASH, on integers whose top bit is the coefficient of x^0."""
    result = 0
    for bit in range(127, -1, -1):
        if b >> bit & 1:
            result ^= a
        a = a >> 1 ^ (0xE1 << 120 if a & 1 else 0)
    return result


def _without_x(a):
    """`a` divided by x: the form of powers for carry-less multiplication."""
    return (a << 1 ^ (0x1C2 << 120 | 1 if a >> 127 else 0)) & (1 << 128) - 1


def hash_keys(key, powers):
    """H and its powers, as kernels may store them: the bytes of the standard and the reverse, as
    they are and divided by x."""
    h = int.from_bytes(encrypt_block(key, bytes(16)), "big")
    forms = {}
    power = h
    for n in range(1, powers + 1):
        forms[f"H^{n}"] = power.to_bytes(16, "big")
        forms[f"H^{n} reversed"] = power.to_bytes(16, "little")
        forms[f"H^{n} / x reversed"] = _without_x(power).to_bytes(16, "little")
        power = ghash_product(power, h)
    return forms


def sliced_keys(keys):
    """The round keys in the bit planes of src/kernels/bitslice/portable.cpp: byte 2 r + p of plane
    b has bit b of row r in columns 2 p (low four bits) and 2 p + 1. From round 1 on they include
    the constant of SubBytes."""
    sliced = []
    for number, key in enumerate(keys):
        block = bytes(b ^ (0x63 if number else 0) for b in key)
        planes = b""
        for b in range(8):
            for row in range(4):
                for pair in (0, 2):
                    low, high = (block[4 * (pair + i) + row] >> b & 1 for i in (0, 1))
                    planes += bytes([0x0F * low | 0xF0 * high])
        sliced.append(planes)
    return sliced


def xts_tweaks(key, unit, count):
    """The tweaks of the first `count` blocks of a data unit (IEEE 1619 section 5.2)."""
    tweak = int.from_bytes(encrypt_block(key, unit.to_bytes(16, "little")), "little")
    tweaks = []
    for _ in range(count):
        tweaks.append(tweak.to_bytes(16, "little"))
        tweak = (tweak << 1 ^ (0x87 if tweak >> 127 else 0)) & (1 << 128) - 1
    return tweaks
