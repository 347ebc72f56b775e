"""ECB, CBC, CTR and XTS beside cryptography.hazmat.primitives.ciphers."""

import os

import pytest
from cryptography.hazmat.primitives import ciphers as other
from hypothesis import given
from hypothesis import strategies as st

from paraes import AlreadyFinalized
from paraes import ciphers as ours

IV = bytes(range(100, 116))
MODES = ["ECB", "CBC", "CTR"]


def cipher(module, key, mode, iv=IV, **where):
    kind = getattr(module.modes, mode)
    return module.Cipher(module.algorithms.AES(key), kind() if mode == "ECB" else kind(iv), **where)


@pytest.mark.parametrize("mode", MODES)
@given(size=st.sampled_from([16, 24, 32]), blocks=st.integers(0, 300), data=st.data())
def test_pieces_match_cryptography(mode, size, blocks, data):
    key, text = bytes(range(size)), bytes(range(256)) * 20
    text = text[: 16 * blocks]
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    edges = [0, *places, len(text)]
    parts = [text[a:b] for a, b in zip(edges, edges[1:], strict=False)]
    for name in ("encryptor", "decryptor"):
        mine = getattr(cipher(ours, key, mode), name)()
        theirs = getattr(cipher(other, key, mode), name)()
        for part in parts:
            assert mine.update(part) == theirs.update(part)
        assert mine.finalize() == theirs.finalize() == b""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 2])
def test_large_data_matches_cryptography(mode, threads):
    text = os.urandom((3 << 20) + 16)
    for name in ("encryptor", "decryptor"):
        out = bytearray(len(text))
        mine = getattr(cipher(ours, bytes(16), mode, threads=threads), name)()
        assert mine.update_into(text, out) == len(text)
        assert out == getattr(cipher(other, bytes(16), mode), name)().update(text)


def test_ctr_continues_within_blocks():
    text = os.urandom(1000)
    context = cipher(ours, bytes(16), "CTR").encryptor()
    out = b"".join(context.update(text[i : i + 7]) for i in range(0, 1000, 7))
    assert out == cipher(other, bytes(16), "CTR").encryptor().update(text)


@pytest.mark.parametrize("size", [32, 64])
@given(length=st.integers(16, 5000))
def test_xts_matches_cryptography(size, length):
    key, text = bytes(range(size)), (bytes(range(256)) * 20)[:length]
    for name in ("encryptor", "decryptor"):
        mine = getattr(cipher(ours, key, "XTS"), name)()
        theirs = getattr(cipher(other, key, "XTS"), name)()
        assert mine.update(text) == theirs.update(text)
        assert mine.finalize() == b""


def test_xts_units_have_consecutive_tweaks():
    key, text = bytes(range(64)), os.urandom(4096 * 3 + 20)
    first = 2**64 - 2  # carries into the second half
    mine = ours.Cipher(ours.algorithms.AES(key),
                       ours.modes.XTS(first.to_bytes(16, "little"), unit_size=4096))
    expected = b"".join(
        cipher(other, key, "XTS", (first + unit).to_bytes(16, "little")).encryptor().update(
            text[4096 * unit : 4096 * (unit + 1)]) for unit in range(4))
    assert mine.encryptor().update(text) == expected
    assert mine.decryptor().update(expected) == text


def test_xts_takes_one_update():
    context = cipher(ours, bytes(range(32)), "XTS").encryptor()
    context.update(bytes(16))
    with pytest.raises(ValueError, match="one call"):
        context.update(bytes(16))
    with pytest.raises(ValueError, match="16 bytes"):
        cipher(ours, bytes(range(32)), "XTS").encryptor().update(bytes(15))


@pytest.mark.parametrize("mode", ["ECB", "CBC"])
def test_part_of_a_block_cannot_end_a_message(mode):
    context = cipher(ours, bytes(16), mode).encryptor()
    assert context.update(bytes(17))[:16] and context.update(b"") == b""
    with pytest.raises(ValueError, match="multiple of 16"):
        context.finalize()
    context.update(bytes(15))
    assert context.finalize() == b""
    with pytest.raises(AlreadyFinalized):
        context.update(b"")
    with pytest.raises(AlreadyFinalized):
        context.finalize()


def test_update_into_in_place_and_overlapping():
    text = os.urandom(4096)
    buffer = bytearray(text + bytes(16))
    view = memoryview(buffer)
    assert cipher(ours, bytes(16), "CBC").encryptor().update_into(view[:4096], buffer) == 4096
    assert buffer[:4096] == cipher(other, bytes(16), "CBC").encryptor().update(text)
    context = cipher(ours, bytes(16), "CBC").encryptor()
    with pytest.raises(ValueError, match="overlap"):
        context.update_into(view[8:4104], buffer)
    with pytest.raises(ValueError, match="at least 4096"):
        context.update_into(text, bytearray(4095))
    context.update(b"a")  # a part of a block is kept: not in place
    with pytest.raises(ValueError, match="overlap"):
        context.update_into(view[:4096], buffer)


@pytest.mark.parametrize("mode", ["CTR", "CBC"])
def test_reset_nonce_starts_again(mode):
    context = cipher(ours, bytes(16), mode).encryptor()
    context.update(bytes(40))
    context.reset_nonce(IV[::-1])
    expected = cipher(other, bytes(16), mode, IV[::-1]).encryptor().update(b"a" * 32)
    assert context.update(b"a" * 32) == expected
    with pytest.raises(ValueError, match="nonce"):
        cipher(ours, bytes(16), "ECB").encryptor().reset_nonce(IV)


def test_wrong_arguments():
    for size in (0, 15, 17, 33, 65):
        with pytest.raises(ValueError, match=f"not {size}"):
            ours.algorithms.AES(bytes(size))
    for module in (ours, other):
        for name, right in (("AES128", 16), ("AES256", 32)):
            algorithm = getattr(module.algorithms, name)
            for size in (0, 15, 16, 17, 24, 32, 48, 64):
                if size != right:
                    with pytest.raises(ValueError, match="AES"):
                        algorithm(bytes(size))
            key = algorithm(bytes(range(right)))
            assert key.key_size == 8 * right and key.block_size == 128 and key.name == "AES"
            module.Cipher(key, module.modes.CTR(IV))
            with pytest.raises(TypeError, match="AES128 and AES256"):
                module.Cipher(key, module.modes.XTS(IV))
    with pytest.raises(ValueError, match="AES-128 takes 16 bytes, not 32"):
        ours.algorithms.AES128(bytes(32))
    for mode in ("CBC", "CTR", "XTS"):
        for size in (0, 12, 15, 17):
            with pytest.raises(ValueError, match="16 bytes"):
                cipher(ours, bytes(range(32)), mode, bytes(size))
    for mode, key in (("CBC", 64), ("XTS", 16), ("XTS", 24)):
        with pytest.raises(ValueError, match="key|XTS"):
            cipher(ours, bytes(range(key)), mode)
    with pytest.raises(ValueError, match="halves"):
        cipher(ours, bytes(32), "XTS")
    with pytest.raises(TypeError):
        ours.Cipher(ours.algorithms.AES(bytes(16)), None)
    with pytest.raises(TypeError):
        ours.Cipher(bytes(16), ours.modes.ECB())
    with pytest.raises(ValueError, match="nonsense"):
        cipher(ours, bytes(16), "CTR", kernel="nonsense")
