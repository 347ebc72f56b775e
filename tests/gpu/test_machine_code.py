"""The machine code of the GPU programs computes what OpenSSL does: bench/gpu_model runs it, for chips
that need not be there.

Run with the Python of tests/interop/environment and the variables of gpu_programs.py.
"""

import pathlib
import sys

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / folder) for folder in ("bench/gpu_model", "tests/support", "tests/secrets")
]
import gpu_programs
import instructions
import launch
import operands
import processor
from aes import ghash_product
from gpu_programs import CASES, LONG, TENSOR_CASES, name_of, program_of

KEY_BYTES = (16, 24, 32)
program = gpu_programs.fixture(CASES)
generator = gpu_programs.generator


def some(values, first=0, step=3):
    """All values, or without PARAES_LONG=1 each third one: the model is slow."""
    return values if LONG else values[first::step]


def texts_for(program, generator):
    """A text with more than one tile for a warp of eight, which ends within a tile, and in CTR
    within a block."""
    tile = 32 * program.option("BLOCKS_PER_THREAD")
    return generator.randbytes(16 * (9 * tile + 5))


def openssl(key, mode, text, decrypt=False):
    cipher = Cipher(algorithms.AES(key), mode)
    context = cipher.decryptor() if decrypt else cipher.encryptor()
    return context.update(text) + context.finalize()


@pytest.mark.parametrize("size", some(KEY_BYTES, 0))
def test_ecb(program, generator, size):
    key, text = generator.randbytes(size), texts_for(program, generator)
    device = launch.Device(program, [key])
    assert device.run("ecb_encrypt", text) == openssl(key, modes.ECB(), text)
    assert device.run("ecb_decrypt", text) == openssl(key, modes.ECB(), text, decrypt=True)


@pytest.mark.parametrize("size", some(KEY_BYTES, 1))
def test_cbc_and_ctr(program, generator, size):
    key, text = generator.randbytes(size), texts_for(program, generator)
    iv = b"\xff" * 14 + b"\xf0\1"
    device = launch.Device(program, [key])
    expected = openssl(key, modes.CBC(iv), text, decrypt=True)
    assert device.run("cbc_decrypt", text, iv) == expected
    text = text[:-3]
    assert device.run("ctr", text, iv, groups=2) == openssl(key, modes.CTR(iv), text)


# The sizes of a range of a text and of a segment, sizes around the blocks that 32 lanes take at once,
# and around those that 8 and 32 lanes take before they multiply for the second time.
GCM_BYTES = (0, 1, 16, 100, 495, 496, 497, 512, 1136, 1137, 1152, 4097, 4592, 4608, 16384, 16400)


def check_gcm(program, generator, size, **hashing):
    key = generator.randbytes(size)
    check_gcm_on(launch.Device(program, [key]), key, generator, **hashing)


def check_gcm_on(device, key, generator, **hashing):
    texts = [generator.randbytes(length) for length in GCM_BYTES]
    nonces = [generator.randbytes(12) for _ in texts]
    expected = [AESGCM(key).encrypt(n, text, None) for n, text in zip(nonces, texts, strict=True)]
    sealed = device.gcm(texts, nonces, **hashing)
    assert [text + tag for text, tag in sealed] == expected
    ciphertexts = [text for text, _ in sealed]
    opened = device.gcm(ciphertexts, nonces, decrypt=True, **hashing, **narrow_tiles(device.program))
    assert opened == [(text, tag) for text, (_, tag) in zip(texts, sealed, strict=True)]


@pytest.mark.parametrize("size", some(KEY_BYTES, 2))
def test_gcm(program, generator, size):
    check_gcm(program, generator, size, hash_groups=4)


FEW_LANES = [
    (32, {"hash_lanes": 32}),
    (16, {"hash_lanes": 32, "hash_groups": 3}),
    (24, {"hash_lanes": 16, "hash_groups": 2}),
    (16, {"hash_lanes": 8}),
]


@pytest.mark.parametrize(("size", "hashing"), some(FEW_LANES, 2))
def test_gcm_hashed_by_few_lanes(program, generator, size, hashing):
    check_gcm(program, generator, size, **hashing)


TENSOR_LANES = [
    (32, {"hash_lanes": 32}),
    (24, {"hash_lanes": 32, "hash_groups": 2}),
    (32, {"hash_lanes": 16}),
    (16, {"hash_lanes": 16, "hash_groups": 3}),
    (16, {"hash_groups": 4}),
]


@pytest.mark.parametrize(("size", "hashing"), some(TENSOR_LANES))
@pytest.mark.parametrize("case", TENSOR_CASES, ids=name_of)
def test_gcm_hashed_by_tensor_cores(case, generator, size, hashing):
    program = program_of(*case, "HASH_TENSOR")
    opcodes = {fields["opcode"] for fields in program.functions["ghash_tensor"].instructions}
    assert "BMMA.168256.AND.POPC" in opcodes
    check_gcm(program, generator, size, **hashing)


def hash_of(subkey, text, partial):
    """GHASH of a text without associated data; partial: without the lengths."""
    padded = text + bytes(-len(text) % 16)
    if not partial:
        padded += bytes(8) + (8 * len(text)).to_bytes(8, "big")
    result = 0
    for at in range(0, len(padded), 16):
        result = ghash_product(result ^ int.from_bytes(padded[at : at + 16], "big"), subkey)
    return result.to_bytes(16, "big")


def check_hash(program, generator, groups, lanes):
    """More messages than a group hashes at once, and runs of messages of two keys."""
    device = launch.Device(program, [bytes(16)])
    subkeys = [generator.getrandbits(128) for _ in range(2)]
    powers = []
    for subkey in subkeys:
        power = 1 << 127
        words = b""
        for _ in range(device.hash_threads):
            power = ghash_product(power, subkey)
            words += b"".join(
                (power >> shift & 0xFFFFFFFF).to_bytes(4, "little") for shift in (96, 64, 32, 0)
            )
        powers.append(words)
    count = 2 * device.hash_threads // lanes + 5
    bytes_of = [0, 1040, 600, 512, 16, 0, 1, 2000]
    texts = [
        (generator.randbytes(bytes_of[i % len(bytes_of)]), int(i in (3, 4) or i > count - 4))
        for i in range(count)
    ]
    for partial in (False, True):
        expected = [hash_of(subkeys[key], text, partial) for text, key in texts]
        assert device.ghash(texts, powers, groups, lanes, partial) == expected


def test_hash_of_two_keys(program, generator):
    check_hash(program, generator, 1, 32)
    check_hash(program, generator, 2, 8)


@pytest.mark.parametrize("case", TENSOR_CASES, ids=name_of)
def test_hash_of_two_keys_by_tensor_cores(case, generator):
    program = program_of(*case, "HASH_TENSOR")
    check_hash(program, generator, 1, 16)
    check_hash(program, generator, 2, 32)


def narrow_tiles(program):
    """The entries of short messages, where a kernel has such."""
    return {"narrow": 128} if program.option("KEYS_SLICED") else {}


# Key size, bytes of a unit, units, the number of the first one.
XTS = [
    (16, 512, 21, (1 << 64) - 5),
    (32, 512, 21, (1 << 64) - 5),
    (32, 4096, 9, 77),
    (16, 4096, 9, 77),
    (16, 4112, 3, 77),
    (32, 4112, 3, 77),
]


@pytest.mark.parametrize(("size", "unit", "units", "first"), some(XTS, 0, 2))
def test_xts(program, generator, size, unit, units, first):
    keys = [generator.randbytes(size) for _ in range(2)]
    text = generator.randbytes(unit * units)
    expected = b"".join(
        openssl(
            b"".join(keys),
            modes.XTS((first + i).to_bytes(16, "little")),
            text[unit * i : unit * (i + 1)],
        )
        for i in range(units)
    )
    device = launch.Device(program, keys)
    assert device.xts("xts_encrypt", text, first, unit) == expected
    few = program.option("KEYS_SLICED") > 0
    assert device.xts("xts_decrypt", expected, first, unit, few=few) == text


# Texts that begin so many bytes after a multiple of 16, for each mode.
SHIFTS = {"ECB": 1, "CBC": 6, "CTR": 11, "XTS": 15, "GCM": 3}


@pytest.mark.parametrize("mode", SHIFTS)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_texts_at_any_address(case, generator, mode):
    """Also that nothing behind a text is read: the model knows which bytes are allocated."""
    program = program_of(*case, "ANY_ADDRESS=1")
    key, iv = generator.randbytes(16), generator.randbytes(16)
    text = generator.randbytes(16 * (3 * 32 * program.option("BLOCKS_PER_THREAD") + 5))
    keys = [key, iv] if mode == "XTS" else [key]
    device = launch.Device(program, keys, shift=SHIFTS[mode])
    if mode == "ECB":
        assert device.run("ecb_encrypt", text) == openssl(key, modes.ECB(), text)
        assert device.run("ecb_decrypt", text) == openssl(key, modes.ECB(), text, decrypt=True)
    elif mode == "CBC":
        assert device.run("cbc_decrypt", text, iv) == openssl(key, modes.CBC(iv), text, decrypt=True)
    elif mode == "CTR":
        assert device.run("ctr", text[:-3], iv) == openssl(key, modes.CTR(iv), text[:-3])
    elif mode == "XTS":
        text = text[: 512 * (len(text) // 512)]
        units = (modes.XTS(i.to_bytes(16, "little")) for i in range(len(text) // 512))
        parts = [openssl(key + iv, unit, text[512 * i :][:512]) for i, unit in enumerate(units)]
        assert device.xts("xts_encrypt", text, 0, 512) == b"".join(parts)
        assert device.xts("xts_decrypt", b"".join(parts), 0, 512) == text
    else:
        check_gcm_on(device, key, generator, hash_groups=4)


@pytest.mark.parametrize("case", TENSOR_CASES, ids=name_of)
def test_hashes_by_tensor_cores_at_any_address(case, generator):
    program = program_of(*case, "ANY_ADDRESS=1", "HASH_TENSOR=1")
    key = generator.randbytes(16)
    for shift in (1, 14):
        device = launch.Device(program, [key], shift=shift)
        check_gcm_on(device, key, generator, hash_groups=2, hash_lanes=16)


def test_a_wrong_instruction_is_noticed(program, generator):
    """Otherwise the other tests would show nothing."""
    key = generator.randbytes(16)
    device = launch.Device(program, [key])
    text = generator.randbytes(16 * 1024)
    expected = openssl(key, modes.ECB(), text)
    assert device.run("ecb_encrypt", text) == expected
    device.program.prepared.pop("ecb_encrypt")
    function = device.program.functions["ecb_encrypt"]
    executed = device.ran["ecb_encrypt"].issued
    number = max(
        i
        for i, fields in enumerate(function.instructions)
        if fields["opcode"] == "LOP3.LUT" and executed[i] and ",0x96," in fields["operands"]
    )
    original = dict(function.instructions[number])
    changed = original["operands"].replace(",0x96,", ",0x69,")
    function.instructions[number]["operands"] = changed
    try:
        assert device.run("ecb_encrypt", text) != expected
    finally:
        function.instructions[number] = original
        device.program.prepared.pop("ecb_encrypt")


def test_accesses_out_of_bounds_are_faults(program, generator):
    device = launch.Device(program, [generator.randbytes(16)])
    given = device.memory.allocate(bytes(4096))
    message = [launch.Message(0, 8192)]
    with pytest.raises(processor.Fault, match="an access of"):
        device.tiles("ecb_encrypt", message, given, device.memory.allocate(bytes(8192)))


def test_unknown_instructions_are_errors():
    with pytest.raises(operands.Unknown):
        instructions.compile_instruction("FADD", "R0,R1,R2")
    with pytest.raises(operands.Unknown):
        instructions.compile_instruction("IMAD.WIDE", "R0,R1,R2,R4")
