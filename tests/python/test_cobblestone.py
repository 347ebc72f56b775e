"""Cobblestone beside cryptography.cobblestone."""

import mmap
import os

import pytest
from cryptography import cobblestone as other
from hypothesis import given
from hypothesis import strategies as st

from paraes import AlreadyFinalized, IntegrityError, InvalidArgument, InvalidTag, WrongKey
from paraes import cobblestone as ours

SEGMENT = 16384
BITS = pytest.mark.parametrize("bits", [128, 256])
SIZES = [0, 1, 100, SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT, 3 * SEGMENT + 7]
cuts = st.lists(st.integers(0, 3 * SEGMENT), max_size=8)


def key_of(bits):
    return bytes(range(bits // 8))


def encryptor(module, bits, context=b"ctx", **where):
    return getattr(module, f"Cobblestone{bits}Encryptor")(key_of(bits), context, **where)


def decryptor(module, bits, context=b"ctx", **where):
    return getattr(module, f"Cobblestone{bits}Decryptor")(key_of(bits), context, **where)


def one_shot(bits, context=b"ctx", **where):
    return getattr(ours, f"Cobblestone{bits}")(key_of(bits), context, **where)


def pieces(data, places):
    """`data` in pieces, cut at these places."""
    edges = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[a:b] for a, b in zip(edges, edges[1:], strict=False)]


def sealed_by(bits, data, context=b"ctx"):
    context = encryptor(other, bits, context)
    return context.update(data) + context.finalize()


@BITS
@given(cuts=cuts, size=st.sampled_from(SIZES) | st.integers(0, 5 * SEGMENT))
def test_pieces_match_cryptography(bits, cuts, size):
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    mine, theirs = encryptor(ours, bits), encryptor(other, bits)
    out = b""
    for piece in pieces(data, cuts):
        part = mine.update(piece)
        assert len(part) == len(theirs.update(piece))
        out += part
    last = mine.finalize()
    assert len(last) == len(theirs.finalize())
    out += last
    check = decryptor(other, bits)
    assert check.update(out) + check.finalize() == data
    mine, theirs = decryptor(ours, bits), decryptor(other, bits)
    for piece in pieces(out, cuts):
        assert mine.update(piece) == theirs.update(piece)
    assert mine.finalize() == theirs.finalize()


@BITS
@pytest.mark.parametrize("size", [*SIZES, (5 << 20) + 3])
def test_one_call_matches_cryptography(bits, size):
    data = os.urandom(size)
    for threads in (0, 1, 2):
        cipher = one_shot(bits, threads=threads)
        sealed = cipher.encrypt(data)
        check = decryptor(other, bits)
        assert check.update(sealed) + check.finalize() == data
        assert cipher.decrypt(sealed_by(bits, data)) == data
        out = bytearray(len(sealed))
        assert cipher.encrypt_into(data, out) == len(out)
        plain = bytearray(size)
        assert cipher.decrypt_into(out, plain) == size
        assert plain == data


def test_update_into():
    data = os.urandom(3 * SEGMENT + 5)
    context = encryptor(ours, 256)
    for size in (0, 56 + 3 * (SEGMENT + 16) - 1):
        with pytest.raises(ValueError, match="at least 49256 bytes"):
            context.update_into(data, bytearray(size))
    out = bytearray(60_000)
    n = context.update_into(data, out)
    sealed = bytes(out[:n]) + context.finalize()
    check = decryptor(ours, 256)
    n = check.update_into(sealed, out)
    assert bytes(out[:n]) + check.finalize() == data
    with pytest.raises(InvalidArgument, match="overlap"):
        encryptor(ours, 256).update_into(memoryview(out)[:20000], out)


def test_calls_after_the_end_are_refused():
    context = encryptor(ours, 256)
    context.finalize()
    failed = decryptor(ours, 256)
    with pytest.raises(InvalidTag):
        failed.update(bytes(100))
    for ended in (context, failed):
        for call in (ended.finalize, lambda x=ended: x.update(b""),
                     lambda x=ended: x.update_into(b"", bytearray(100))):
            with pytest.raises(AlreadyFinalized):
                call()


@BITS
def test_wrong_keys_and_contexts(bits):
    sealed = sealed_by(bits, b"data")
    wrong_key = getattr(ours, f"Cobblestone{bits}")(bytes(bits // 8), b"ctx")
    for cipher in (one_shot(bits, b""), one_shot(bits, b"ctX"), wrong_key):
        with pytest.raises(WrongKey):
            cipher.decrypt(sealed)
        out = bytearray(b"xxxx")
        with pytest.raises(WrongKey):
            cipher.decrypt_into(sealed, out)
        assert out == bytes(4)
        with pytest.raises(InvalidTag):
            cipher.decrypt(sealed)
    with pytest.raises(WrongKey):
        decryptor(ours, bits, b"other").update(sealed)


def test_damage_is_noticed():
    data = os.urandom(3 * SEGMENT + 5)
    sealed = one_shot(256).encrypt(data)
    segment = SEGMENT + 16
    body = sealed[56:]
    parts = [body[i : i + segment] for i in range(0, len(body), segment)]
    head = sealed[:56]
    changed = [sealed[:n] for n in (0, 1, 55, 56, 71, 72, 56 + segment, 56 + 2 * segment + 20,
                                    len(sealed) - 1)]
    changed += [sealed + b"x", head + parts[1] + parts[0] + parts[2] + parts[3],
                head + parts[0] + parts[0] + parts[2] + parts[3], head + b"".join(parts[1:]),
                head + parts[0] + parts[3]]
    for place in (0, 24, 55, 56, 70, 56 + segment, 56 + 2 * segment + 5, len(sealed) - 1):
        flipped = bytearray(sealed)
        flipped[place] ^= 1
        changed.append(bytes(flipped))
    for wrong in changed:
        with pytest.raises(InvalidTag):
            one_shot(256).decrypt(wrong)
        context = decryptor(ours, 256)
        out = b""
        with pytest.raises(InvalidTag):
            out += context.update(wrong)
            out += context.finalize()
        assert data.startswith(out)
    out = bytearray(b"x" * len(data))
    flipped = bytearray(sealed)
    flipped[56 + 2 * segment] ^= 1
    with pytest.raises(IntegrityError) as caught:
        one_shot(256).decrypt_into(flipped, out)
    assert (caught.value.segment, caught.value.offset) == (2, 2 * SEGMENT)
    assert out == bytes(len(data))


@given(st.integers(0, 5 * SEGMENT + 9), st.integers(0, 5 * SEGMENT + 9))
def test_ranges(a, b):
    data = (bytes(range(251)) * 400)[: 5 * SEGMENT + 9]
    sealed = one_shot(256).encrypt(data)
    begin, end = min(a, b), max(a, b)
    assert one_shot(256).decrypt_range(sealed, begin, end - begin) == data[begin:end]


def test_range_edges_and_damage():
    data = os.urandom(4 * SEGMENT)
    sealed = bytearray(one_shot(256).encrypt(data))
    mapped = mmap.mmap(-1, len(sealed))
    mapped[:] = bytes(sealed)
    for offset, length in ((0, 0), (0, len(data)), (len(data), 0), (len(data) - 1, 1),
                           (SEGMENT, SEGMENT)):
        got = one_shot(256).decrypt_range(mapped, offset, length)
        assert got == data[offset : offset + length]
    size = len(data)
    for offset, length in ((0, size + 1), (size + 1, 0), (1 << 63, 1), (1, (1 << 64) - 1),
                           (1 << 70, 1), (1, 1 << 70)):
        with pytest.raises(ValueError, match="after"):
            one_shot(256).decrypt_range(sealed, offset, length)
    for offset, length in ((-1, 1), (1, -1), (-(1 << 70), 1)):
        with pytest.raises(ValueError, match="negative"):
            one_shot(256).decrypt_range(sealed, offset, length)
    sealed[56 + 2 * (SEGMENT + 16)] ^= 1  # segment 2
    assert one_shot(256).decrypt_range(sealed, 0, 2 * SEGMENT) == data[: 2 * SEGMENT]
    with pytest.raises(IntegrityError):
        one_shot(256).decrypt_range(sealed, 2 * SEGMENT - 1, 2)


@BITS
def test_arguments(bits):
    right = key_of(bits)
    for name in ("Encryptor", "Decryptor", ""):
        kind = getattr(ours, f"Cobblestone{bits}{name}")
        for size in (0, 15, 17, 24, 48 - len(right)):
            with pytest.raises(ValueError, match=f"takes {bits // 8} bytes, not {size}"):
                kind(bytes(size), b"")
        with pytest.raises(ValueError, match="544"):
            kind(right, bytes(545))
        kind(right, bytes(544))
        with pytest.raises(TypeError):
            kind(right, "context")
        with pytest.raises(InvalidArgument):
            kind(right, b"", kernel="nonsense")
    for kind in (f"Cobblestone{bits}Encryptor", f"Cobblestone{bits}"):
        assert len(getattr(ours, kind).generate_key()) == bits // 8
