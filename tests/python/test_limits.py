"""paraes.open on the longest messages, of which only the end is there."""

import os
import tempfile
from pathlib import Path

import pytest
from clients import c2sp_keys
from helpers import KEY

import paraes
from paraes import IntegrityError

SEGMENT = 16384
SEGMENTS = 2**38
LONGEST = SEGMENTS * SEGMENT - 1
HEADER = 88


@pytest.fixture
def path():
    """A file in memory: file systems on disks do not allow these sizes."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("/dev/shm cannot be written")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder) / "sealed"


def sealed_segment(header, index, plain):
    """docs/formats.md: the segment `index` of the paraes message with this header."""
    preface, salt, commitment = header[:32], header[32:56], header[56:]
    cipher, nonce, derived = c2sp_keys(KEY, salt, preface)
    assert derived == commitment
    return cipher.encrypt(nonce(index), plain, None)


def make(path, size, segments):
    """A file of this size with these segments, a dict by number."""
    header = paraes.seal(b"", key=KEY)[:HEADER]
    with path.open("wb") as file:
        try:
            file.truncate(size)
        except OSError as error:
            pytest.skip(f"/dev/shm: no files of {size} bytes: {error}")
        file.write(header)
        for index, plain in segments.items():
            file.seek(HEADER + (SEGMENT + 16) * index)
            file.write(sealed_segment(header, index, plain))


def test_end_of_the_longest_message_is_read(path):
    last = os.urandom(SEGMENT - 1)
    before = os.urandom(SEGMENT)
    make(path, HEADER + LONGEST + 16 * SEGMENTS, {SEGMENTS - 2: before, SEGMENTS - 1: last})
    with paraes.open(path, key=KEY, threads=1) as file:
        assert file.seek(0, os.SEEK_END) == LONGEST
        assert file.read() == b""
        assert file.seek(-1, os.SEEK_END) == LONGEST - 1
        assert file.read() == last[-1:]
        assert file.seek(-SEGMENT - 99, os.SEEK_END) == LONGEST - SEGMENT - 99
        assert file.read() == before[-100:] + last
        file.seek(-SEGMENT - 99, os.SEEK_END)
        assert file.read(101) == before[-100:] + last[:1]
        file.seek(2**51)
        with pytest.raises(IntegrityError):
            file.read(1)  # a hole
        assert file.seek(2**62) == 2**62
        assert file.read(1) == b""


def test_damaged_end_of_the_longest_message_is_refused(path):
    make(path, HEADER + LONGEST + 16 * SEGMENTS, {})
    with pytest.raises(IntegrityError):
        paraes.open(path, key=KEY)


@pytest.mark.parametrize("size", [HEADER + LONGEST + 16 * SEGMENTS + 17, 2**63 - 1])
def test_longer_message_is_refused(path, size):
    make(path, size, {SEGMENTS - 1: bytes(SEGMENT)})
    with pytest.raises(IntegrityError, match="more than this format allows"):
        paraes.open(path, key=KEY)
