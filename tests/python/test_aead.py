"""AESGCM beside that of the package cryptography."""

import mmap
import os

import numpy
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM as Other
from hypothesis import given
from hypothesis import strategies as st

from paraes import AESGCM, Error, InvalidArgument, InvalidTag, Unavailable

KEY = bytes(range(32))
NONCE = bytes(range(12))
keys = st.sampled_from([16, 24, 32]).flatmap(lambda n: st.binary(min_size=n, max_size=n))
nonces = st.binary(min_size=8, max_size=128)
associated = st.none() | st.binary(max_size=300)


@given(keys, nonces, associated, st.binary(max_size=5000), st.sampled_from([0, 1, 2]))
def test_matches_cryptography(key, nonce, aad, data, threads):
    ours, other = AESGCM(key, threads=threads), Other(key)
    sealed = other.encrypt(nonce, data, aad)
    assert ours.encrypt(nonce, data, aad) == sealed
    assert ours.decrypt(nonce, sealed, aad) == data


@pytest.mark.parametrize("threads", [0, 1, 2, 3])
@pytest.mark.parametrize("size", [2047, 2049, 65536, 1 << 20, (3 << 20) + 5, (9 << 20) + 1])
def test_large_data_matches_cryptography(size, threads):
    data = os.urandom(size)
    sealed = Other(KEY).encrypt(NONCE, data, b"x")
    ours = AESGCM(KEY, threads=threads)
    assert ours.encrypt(NONCE, data, b"x") == sealed
    assert ours.decrypt(NONCE, sealed, b"x") == data


def buffers(data):
    mapped = mmap.mmap(-1, max(len(data), 1))
    mapped[: len(data)] = data
    array = numpy.frombuffer(data, dtype=numpy.uint8)
    return [data, bytearray(data), memoryview(data), mapped, array, array.view(numpy.int32),
            array.reshape(4, -1), memoryview(bytearray(data)).cast("I")]


def test_every_kind_of_buffer_is_taken():
    data = bytes(range(256)) * 16
    for given_data in buffers(data):
        out = numpy.zeros(len(data) + 16, dtype=numpy.uint8)
        assert AESGCM(KEY).encrypt_into(NONCE, given_data, None, out) == len(out)
        assert out.tobytes() == Other(KEY).encrypt(NONCE, data, None)
        assert AESGCM(KEY).encrypt(bytearray(NONCE), b"", given_data) == Other(KEY).encrypt(
            NONCE, b"", data)
    for key in buffers(KEY):
        assert AESGCM(key).encrypt(NONCE, b"a", None) == Other(KEY).encrypt(NONCE, b"a", None)


@pytest.mark.parametrize("wrong", [numpy.zeros(20, numpy.uint8)[::2], memoryview(bytes(20))[::2],
                                   numpy.zeros((4, 4), numpy.uint8).T[:, :2]])
def test_memory_with_gaps_is_refused(wrong):
    for call in (lambda: AESGCM(KEY).encrypt(NONCE, wrong, None),
                 lambda: AESGCM(KEY).encrypt(NONCE, b"", wrong),
                 lambda: AESGCM(KEY).encrypt_into(NONCE, b"", None, wrong)):
        with pytest.raises(BufferError, match="contiguous"):
            call()


def test_wrong_types_are_refused():
    cipher = AESGCM(KEY)
    for wrong in ("text", 5, [1, 2], object()):
        for call in (lambda x=wrong: cipher.encrypt(x, b"", None),
                     lambda x=wrong: cipher.encrypt(NONCE, x, None),
                     lambda x=wrong: cipher.encrypt(NONCE, b"", x),
                     lambda x=wrong: cipher.encrypt_into(NONCE, b"", None, x),
                     lambda x=wrong: AESGCM(x)):
            with pytest.raises(TypeError, match="bytes-like"):
                call()
    with pytest.raises(TypeError, match="writable"):
        cipher.encrypt_into(NONCE, b"", None, bytes(16))
    with pytest.raises(TypeError):
        cipher.encrypt(NONCE, b"")


def test_in_place():
    data = os.urandom(100_000)
    buffer = bytearray(data + bytes(16))
    view = memoryview(buffer)
    AESGCM(KEY).encrypt_into(NONCE, view[:-16], None, buffer)
    assert buffer == Other(KEY).encrypt(NONCE, data, None)
    assert AESGCM(KEY).decrypt_into(NONCE, buffer, None, view[:-16]) == len(data)
    assert buffer[:-16] == data


def test_partial_overlap_is_refused():
    buffer = bytearray(2000)
    view = memoryview(buffer)
    for call in (lambda: AESGCM(KEY).encrypt_into(NONCE, view[1:101], None, view[:116]),
                 lambda: AESGCM(KEY).encrypt_into(NONCE, view[110:120], None, view[100:126]),
                 lambda: AESGCM(KEY).decrypt_into(NONCE, view[1:101], None, view[:84]),
                 lambda: AESGCM(KEY).encrypt_into(view[:12], b"a" * 10, None, view[:26]),
                 lambda: AESGCM(KEY).encrypt_into(NONCE, b"a" * 10, view[5:9], view[:26])):
        with pytest.raises(InvalidArgument, match="overlap"):
            call()
    assert buffer == bytes(2000)


@pytest.mark.parametrize("size", [0, 7, 129, 1000])
def test_wrong_nonces_are_value_errors(size):
    with pytest.raises(ValueError, match="8 to 128"):
        AESGCM(KEY).encrypt(bytes(size), b"", None)
    with pytest.raises(InvalidArgument, match="8 to 128"):
        AESGCM(KEY).decrypt(bytes(size), bytes(16), None)


@pytest.mark.parametrize("size", [0, 1, 15, 17, 33, 64])
def test_wrong_keys_are_value_errors(size):
    with pytest.raises(ValueError, match=f"16, 24 or 32 bytes, not {size}"):
        AESGCM(bytes(size))


def test_wrong_outputs_are_value_errors():
    for size in (0, 25, 27):
        with pytest.raises(ValueError, match=f"26 bytes, not {size}"):
            AESGCM(KEY).encrypt_into(NONCE, bytes(10), None, bytearray(size))
        with pytest.raises(ValueError, match=f"10 bytes, not {size}"):
            AESGCM(KEY).decrypt_into(NONCE, bytes(26), None, bytearray(size))


def test_every_changed_bit_is_noticed():
    sealed = bytearray(AESGCM(KEY).encrypt(NONCE, b"0123456789", b"aad"))
    for i in range(8 * len(sealed)):
        sealed[i // 8] ^= 1 << i % 8
        out = bytearray(b"x" * 10)
        with pytest.raises(InvalidTag):
            AESGCM(KEY).decrypt_into(NONCE, sealed, b"aad", out)
        assert out == bytes(10)
        with pytest.raises(InvalidTag):
            AESGCM(KEY).decrypt(NONCE, sealed, b"aad")
        sealed[i // 8] ^= 1 << i % 8
    for n in range(len(sealed)):
        with pytest.raises(InvalidTag):
            AESGCM(KEY).decrypt(NONCE, sealed[:n], b"aad")
    for wrong in (None, b"", b"aae"):
        with pytest.raises(InvalidTag):
            AESGCM(KEY).decrypt(NONCE, sealed, wrong)
    assert AESGCM(KEY).decrypt(NONCE, sealed, b"aad") == b"0123456789"


def test_large_damage_is_wiped_on_all_threads():
    data = os.urandom(4 << 20)
    sealed = bytearray(AESGCM(KEY, threads=2).encrypt(NONCE, data, None))
    sealed[3 << 20] ^= 1
    out = bytearray(b"x" * len(data))
    with pytest.raises(InvalidTag):
        AESGCM(KEY, threads=2).decrypt_into(NONCE, sealed, None, out)
    assert out == bytes(len(data))


def test_generated_keys():
    assert {len(AESGCM.generate_key(bits)) for bits in (128, 192, 256)} == {16, 24, 32}
    assert AESGCM.generate_key(bit_length=256) != AESGCM.generate_key(256)
    for wrong in (0, 129, 512, -128, 2**70, -(2**70)):
        with pytest.raises(ValueError, match="128, 192 or 256"):
            AESGCM.generate_key(wrong)


def test_named_arguments():
    cipher = AESGCM(key=KEY)
    sealed = cipher.encrypt(nonce=NONCE, data=b"a", associated_data=None)
    assert cipher.decrypt(nonce=NONCE, data=sealed, associated_data=None) == b"a"
    out = bytearray(17)
    assert cipher.encrypt_into(nonce=NONCE, data=b"a", associated_data=None, buf=out) == 17


def test_kernels_give_the_same_bytes_and_say_who_they_are():
    tried = 0
    for kernel in ("reference", "ttable", "bitslice", "aesni", "vaes256", "vaes512", "armv8",
                   "openssl"):
        try:
            cipher = AESGCM(KEY, kernel=kernel, threads=1)
        except (Unavailable, InvalidArgument):  # of another machine, or of another architecture
            continue
        tried += 1
        assert cipher.kernel == kernel and cipher.device == "cpu" and cipher.threads == 1
        assert cipher.encrypt(NONCE, KEY * 9, None) == Other(KEY).encrypt(NONCE, KEY * 9, None)
    assert tried >= 4


def test_unknown_kernels_devices_and_threads_are_refused():
    with pytest.raises(InvalidArgument, match="nonsense"):
        AESGCM(KEY, kernel="nonsense")
    with pytest.raises(Error, match="nonsense"):
        AESGCM(KEY, device="nonsense")
    with pytest.raises(Unavailable):
        AESGCM(KEY, device="cuda:77")
    with pytest.raises(TypeError):
        AESGCM(KEY, 2)
