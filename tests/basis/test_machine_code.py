"""Rounds, key schedules, GHASH and tweaks in the machine code of the GPU programs, on inputs that
decide them for all keys and texts: docs/proofs.md. bench/gpu_model runs it.

Run with the Python of tests/interop/environment and the variables of gpu_programs.py.
PARAES_LONG=1: with every bit of factors, not some.
"""

import pathlib
import struct
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "gpu_model"), str(ROOT / "tests" / "support")]
import gpu_programs
import launch
import processor
from gpu_programs import CASES, LONG, TENSOR_CASES

MEMORY = 1 << 28
ONE = 1 << 127
program = gpu_programs.fixture(CASES)
tensor_program = gpu_programs.fixture(TENSOR_CASES, "HASH_TENSOR")
generator = gpu_programs.generator


# ---- FIPS 197 and SP 800-38D


def byte_product(a, b):
    product = 0
    for bit in range(8):
        product ^= a << bit if b >> bit & 1 else 0
    for bit in range(15, 7, -1):
        product ^= 0x11B << bit - 8 if product >> bit & 1 else 0
    return product


def substituted(a):
    inverse = next((b for b in range(256) if byte_product(a, b) == 1), 0)
    bits = [inverse >> i & 1 for i in range(8)]
    return sum(
        (sum(bits[(i + k) % 8] for k in (0, 4, 5, 6, 7)) + (0x63 >> i)) % 2 << i for i in range(8)
    )


SBOX = bytes(substituted(a) for a in range(256))
INVERSE_SBOX = bytes(SBOX.index(a) for a in range(256))
TIMES = {a: bytes(byte_product(a, b) for b in range(256)) for a in (1, 2, 3, 9, 11, 13, 14)}


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def mixed(state, row):
    """Each column times the circulant matrix with this first row."""
    out = bytearray(16)
    for at in range(16):
        for k in range(4):
            out[at] ^= TIMES[row[(k - at) % 4]][state[at // 4 * 4 + k]]
    return bytes(out)


def encrypted(state, keys):
    state = xor(state, keys[0])
    for number, key in enumerate(keys[1:], 1):
        state = bytes(SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16))
        if number + 1 < len(keys):
            state = mixed(state, (2, 3, 1, 1))
        state = xor(state, key)
    return state


def decrypted(state, keys):
    for number in range(len(keys) - 1, 0, -1):
        state = xor(state, keys[number])
        if number + 1 < len(keys):
            state = mixed(state, (14, 11, 13, 9))
        state = bytes(INVERSE_SBOX[state[(i - 4 * (i % 4)) % 16]] for i in range(16))
    return xor(state, keys[0])


def expanded(key):
    words = [key[i : i + 4] for i in range(0, len(key), 4)]
    nk, constant = len(words), 1
    for i in range(nk, 4 * (nk + 7)):
        word = words[-1]
        if i % nk == 0:
            word = bytes(SBOX[b] for b in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = byte_product(constant, 2)
        elif nk == 8 and i % nk == 4:
            word = bytes(SBOX[b] for b in word)
        words.append(xor(word, words[i - nk]))
    return [b"".join(words[i : i + 4]) for i in range(0, len(words), 4)]


def times_x(a):
    return a >> 1 ^ (0xE1 << 120 if a & 1 else 0)


def product(a, b):
    """Algorithm 1, on integers whose top bit is the coefficient of x^0."""
    result = 0
    for bit in range(127, -1, -1):
        if b >> bit & 1:
            result ^= a
        a = times_x(a)
    return result


def next_tweak(tweak):
    number = int.from_bytes(tweak, "little")
    number = number << 1 ^ (0x87 if number >> 127 else 0)
    return (number & (1 << 128) - 1).to_bytes(16, "little")


def unit(bit):
    return (1 << bit).to_bytes(16, "big")


UNITS = [unit(bit) for bit in range(127, -1, -1)]


def single_bytes(base):
    """`base` with each value added to each byte."""
    return [
        base[:at] + bytes([base[at] ^ value]) + base[at + 1 :]
        for at in range(len(base))
        for value in range(256)
    ]


# ---- Launches


def words(*blocks):
    return b"".join(blocks)


def schedule(keys):
    """A paraes_schedule, with the round keys of the equivalent inverse cipher."""
    inverse = [mixed(key, (14, 11, 13, 9)) for key in keys]
    inverse[0], inverse[-1] = keys[0], keys[-1]
    return words(*keys).ljust(240, b"\0") + words(*reversed(inverse)).ljust(240, b"\0")


def device_with(program, keys):
    """A model whose key has these round keys only."""
    device = launch.Device(program, [bytes(16)], memory_bytes=MEMORY)
    device.rounds = len(keys) - 1
    device.schedules = [device.memory.allocate(schedule(keys))]
    device.keys = [device.sliced(device.schedules[0])]
    return device


def split(text):
    return [text[at : at + 16] for at in range(0, len(text), 16)]


def check(found, expected, of):
    wrong = [i for i, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b]
    assert not wrong, f"{len(wrong)} wrong, the first of {of[wrong[0]].hex()}, number {wrong[0]}"


@pytest.mark.parametrize("rounds", [1, 2])
def test_every_value_of_every_byte_in_every_lane(program, generator, rounds):
    """One round is the last one, and with two the other one is as every other."""
    keys = [generator.randbytes(16) for _ in range(rounds + 1)]
    blocks = single_bytes(generator.randbytes(16))
    results = {
        "ecb_encrypt": {b: encrypted(b, keys) for b in blocks},
        "ecb_decrypt": {b: decrypted(b, keys) for b in blocks},
    }
    # Blocks of a thread are 32 apart, and in tables each thread of a warp has its own copy.
    slices = 32 if program.option("KEYS_SLICED") or LONG else 2
    copies = 32 if program.option("TABLES") and LONG else 3
    moves = [*range(0, 32 * slices, 32), *range(1, 11 * copies, 11)]
    text = [block for move in moves for block in blocks[move:] + blocks[:move]]
    device = device_with(program, keys)
    for entry, result in results.items():
        found = split(device.run(entry, words(*text)))
        check(found, [result[b] for b in text], text)


@pytest.mark.parametrize("rounds", [1, 2])
def test_single_blocks(program, generator, rounds):
    keys = [generator.randbytes(16) for _ in range(rounds + 1)]
    blocks = single_bytes(generator.randbytes(16))
    blocks = [*blocks, bytes(16), *blocks]  # an odd number moves the pairs
    device = device_with(program, keys)
    messages = [launch.Message(0, 16, block) for block in blocks]
    messages, _ = device.send(messages, device.tile_blocks)
    masks = device.memory.allocate(bytes(16 * len(blocks)))
    device.launch(
        "gcm_masks", key=device.schedules[0], messages=messages, count=len(blocks), scratch=masks
    )
    result = {b: encrypted(b, keys) for b in set(blocks)}
    found = split(device.memory.content(masks, 16 * len(blocks)))
    check(found, [result[b] for b in blocks], blocks)


@pytest.mark.parametrize("size", [16, 24, 32])
def test_expansions(program, generator, size):
    """Every value of the bytes that are substituted first, every bit of a key, keys at random."""
    base = generator.randbytes(size)
    keys = [key for key in single_bytes(base) if LONG or key[:-4] == base[:-4]]
    keys += [xor(base, (1 << bit).to_bytes(size, "big")) for bit in range(8 * size)]
    keys += [generator.randbytes(size) for _ in range(4000 if LONG else 500)]
    device = launch.Device(program, [bytes(size)], memory_bytes=MEMORY)
    out = device.memory.allocate(bytes(480 * len(keys)))
    device.launch(
        "expand_keys", **{"in": device.memory.allocate(words(*keys))}, out=out, count=len(keys)
    )
    found = device.memory.content(out, 480 * len(keys))
    check(
        [found[480 * k :][:480] for k in range(len(keys))],
        [schedule(expanded(key)) for key in keys],
        keys,
    )


# ---- GHASH


def powers_of(device, special):
    """The powers of a hash key: 1, but for those that are given by their exponents."""
    numbers = [special.get(n, ONE) for n in range(1, device.hash_threads + 1)]
    return b"".join(
        struct.pack("<4I", *(number >> shift & 0xFFFFFFFF for shift in (96, 64, 32, 0)))
        for number in numbers
    )


def bits_of_factors(step):
    return range(0, 128, 1 if LONG else step)


def hashed(device, texts, powers, lanes):
    device.memory = processor.Memory(MEMORY)
    device.nothing = device.memory.allocate(bytes(16))
    found = device.ghash(texts, powers, 1, lanes, True)
    return [int.from_bytes(hash, "big") for hash in found]


def check_products(device, cases, powers, lanes):
    """cases: (number of the key, number of blocks, where the bits are, the factor of that place)"""
    texts, expected, of = [], [], []
    for key, blocks, place, factor in cases:
        for block in UNITS:
            texts.append((bytes(16 * place) + block + bytes(16 * (blocks - 1 - place)), key))
            expected.append(factor)
            of.append(block)
            factor = times_x(factor)
    check(hashed(device, texts, powers, lanes), expected, of)


def test_own_powers(program):
    """Each lane multiplies by its own power last: by each bit of it, each bit of a block."""
    device = launch.Device(program, [bytes(16)], memory_bytes=MEMORY)
    bits = bits_of_factors(5)
    factors = [1 << bit for bit in bits]
    powers = [powers_of(device, dict.fromkeys(range(1, 9), factor)) for factor in factors]
    cases = [(k, 1 + k % 8, 0, factor) for k, factor in enumerate(factors)]
    check_products(device, cases, powers, 8)


def check_factors(program, lanes, terms, bits):
    """By H^lanes, or without tables by that and seven powers of it, multiply all lanes. All but one
    of these are 1, so that one in the place of another shows."""
    device = launch.Device(program, [bytes(16)], memory_bytes=MEMORY)
    factors = [(lanes * term, 1 << bit) for bit in bits for term in terms]
    powers = [powers_of(device, {exponent: factor}) for exponent, factor in factors]
    cases = [(k, 1 + exponent, 0, factor) for k, (exponent, factor) in enumerate(factors)]
    check_products(device, cases, powers, lanes)


@pytest.mark.parametrize("first", [1, 3, 5, 7])
def test_factors(program, first):
    """The number of lanes says where the factors are in memory; the same instructions multiply. So
    each bit is tried with few lanes, of which all but one compute zeros: two, which is fewer than
    the host uses, but with tables eight."""
    if not program.option("HASH_TABLES"):
        check_factors(program, 2, (first, first + 1), bits_of_factors(17))
    elif first == 1:
        check_factors(program, 8, (1,), bits_of_factors(5))
    else:
        pytest.skip("there is one factor with tables")


def test_factors_with_more_lanes(program):
    terms = (1,) if program.option("HASH_TABLES") else range(1, 9) if LONG else (1, 8)
    for lanes in (8, 32):
        check_factors(program, lanes, terms, range(0, 128, 33))


def check_tables(program, blocks, factors):
    """Products by tables. blocks: (number of the factor, block, lane that multiplies)"""
    device = launch.Device(program, [bytes(16)], memory_bytes=MEMORY)
    powers = [powers_of(device, {8: factor}) for factor in factors]
    texts, expected = [], []
    for key, block, lane in blocks:
        texts.append((block + bytes(16 * (8 + lane)), key))
        result = product(factors[key], int.from_bytes(block, "big"))
        if lane == 7:  # its own power, by which it multiplies without tables, is H^8, too
            result = product(factors[key], result)
        expected.append(result)
    check(hashed(device, texts, powers, 8), expected, [block for _, block, _ in blocks])


def copies_of_tables(program):
    """How many threads next to each other use different copies of the tables."""
    if not program.option("HASH_TABLES"):
        pytest.skip("this kernel has no such tables")
    return program.option("HASH_COPIES")


def test_table_entries(program, generator):
    """Every entry of the tables of one factor, in each copy: two tables serve the bytes in turn."""
    copies = copies_of_tables(program)
    blocks = single_bytes(bytes(16))
    cases = [(0, block, n // 512 % copies) for n, block in enumerate(blocks)]
    check_tables(program, cases, [generator.getrandbits(128)])


@pytest.mark.parametrize("part", range(4 if LONG else 1))
def test_table_products_at_random(program, generator, part):
    """The product is a sum of functions of one byte of the block each, which are linear in the
    factor. If one is wrong, half of all factors show it for a value of a byte."""
    copies = copies_of_tables(program)
    factors = [generator.getrandbits(128) for _ in range(64 if LONG else 16)]
    blocks = range(256 * len(factors))
    cases = [(n // 256, generator.randbytes(16), n % copies) for n in blocks]
    check_tables(program, cases, factors)


@pytest.mark.parametrize("exponent", [32, 16])
def test_tensor_matrices(tensor_program, exponent):
    """Each bit of the matrices of a basis: that of H^32 in the first of two steps, that of H^16 in
    the last one, in each stream in turn."""
    device = launch.Device(tensor_program, [bytes(16)], memory_bytes=MEMORY)
    factors = [1 << bit for bit in bits_of_factors(8)]
    powers = [powers_of(device, {exponent: factor}) for factor in factors]
    # Stream 0 multiplies by H^16 once more.
    cases = [
        (k, 64, 1 + k % 15 + (0 if exponent == 32 else 32), factor)
        for k, factor in enumerate(factors)
    ]
    check_products(device, cases, powers, 32)


@pytest.mark.parametrize("lanes", [32, 16])
def test_tensor_streams(tensor_program, generator, lanes):
    """Each bit of each block of three steps, under powers that are those of one H."""
    device = launch.Device(tensor_program, [bytes(16)], memory_bytes=MEMORY)
    subkey = generator.getrandbits(128)
    weights = [ONE]
    for _ in range(device.hash_threads):
        weights.append(product(weights[-1], subkey))
    powers = [powers_of(device, dict(enumerate(weights)))]
    blocks = 70 if lanes == 32 else 64
    places = range(blocks) if LONG else range(lanes // 16, blocks, 9)
    cases = [(0, blocks, place, weights[blocks - place]) for place in places]
    check_products(device, cases, powers, lanes)


def test_tensor_products_at_random(tensor_program, generator):
    """Under powers at random, which need not be those of one H: the hash is a polynomial of degree
    4 in their bits and those of a text of two steps."""
    device = launch.Device(tensor_program, [bytes(16)], memory_bytes=MEMORY)
    texts, powers, expected = [], [], []
    for k in range(1000 if LONG else 120):
        p = {n: generator.getrandbits(128) for n in range(1, 33)}
        text = [generator.getrandbits(128) for _ in range(64)]
        total = 0
        for stream in range(16):
            z = product(text[stream], p[32]) ^ product(text[16 + stream], p[16])
            z = product(z ^ text[32 + stream], p[16]) ^ text[48 + stream]
            total ^= product(z, p[16 - stream])
        texts.append((b"".join(block.to_bytes(16, "big") for block in text), k))
        powers.append(powers_of(device, p))
        expected.append(total)
    check(hashed(device, texts, powers, 32), expected, [text[:16] for text, _ in texts])


# ---- Tweaks


def test_stretches(program):
    device = launch.Device(program, [bytes(16)], memory_bytes=MEMORY)
    for blocks in (5, 40, 4200):
        each = launch.up(blocks, launch.STRETCH_BLOCKS)
        out = device.memory.allocate(bytes(16 * 128 * each))
        device.launch(
            "xts_stretches",
            **{"in": device.memory.allocate(words(*UNITS))},
            out=out,
            tiles=128 * each,
            unit_blocks=blocks,
        )
        expected, of = [], []
        for tweak in UNITS:
            number = int.from_bytes(tweak, "little")
            for _ in range(each):
                expected.append(number.to_bytes(16, "little"))
                of.append(tweak)
                for _ in range(launch.STRETCH_BLOCKS):
                    number = number << 1 ^ (1 << 128 | 0x87 if number >> 127 else 0)
        check(split(device.memory.content(out, 16 * 128 * each)), expected, of)


def test_tweaks_of_blocks(program, generator):
    keys = [generator.randbytes(16) for _ in range(2)]
    device = device_with(program, keys)
    for blocks in (5, 32, 40):
        stretches, tweaks = [], []
        for tweak in UNITS:
            for i in range(blocks):
                if i % 32 == 0:
                    stretches.append(tweak)
                tweaks.append(tweak)
                tweak = next_tweak(tweak)
        scratch = device.memory.allocate(words(*stretches))
        text = [generator.randbytes(16) for _ in tweaks]
        given = device.memory.allocate(words(*text))
        out = device.memory.allocate(bytes(16 * len(text)))
        for entry, cipher in (("xts_encrypt", encrypted), ("xts_decrypt", decrypted)):
            message = [launch.Message(0, 16 * len(text))]
            device.tiles(entry, message, given, out, scratch=scratch, unit_blocks=blocks)
            expected = [
                xor(cipher(xor(block, tweak), keys), tweak)
                for block, tweak in zip(text, tweaks, strict=True)
            ]
            check(split(device.memory.content(out, 16 * len(text))), expected, tweaks)
