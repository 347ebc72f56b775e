"""How an object is cut into parts: ranges of whole segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from paraes.exceptions import InvalidArgument

if TYPE_CHECKING:
    from paraes import _native

# S3 and similar stores allow this many parts, of which all but the last have at least 5 MiB.
MOST_PARTS = 10_000
LEAST_BYTES = 5 << 20
MOST_BYTES = 5 << 30
# Parts of this size hide the time of a request. Larger ones take more memory, and are needed only
# where there would be too many.
_SMALLEST = 8 << 20
_LARGEST = 256 << 20
_AIM = 1000  # parts of an object


class Part(NamedTuple):
    """Some segments of an object. The first part has its header, too. Sizes are in bytes."""

    number: int  # from 0
    first: int  # segment
    after: int  # segment
    ends: bool
    plain: tuple[int, int]  # begin and end in the plaintext
    sealed: tuple[int, int]  # begin and end in the object

    @property
    def plain_bytes(self) -> int:
        return self.plain[1] - self.plain[0]

    @property
    def sealed_bytes(self) -> int:
        return self.sealed[1] - self.sealed[0]


class Parts:
    """All parts of an object of `plain_bytes` bytes of plaintext, of up to `segments` segments."""

    def __init__(self, message: _native.Segments, plain_bytes: int, segments: int) -> None:
        self._message = message
        self.plain_bytes = plain_bytes
        self.sealed_bytes = message.sealed_bytes(plain_bytes)
        self.per_part = segments
        self.segments = message.segments_of(plain_bytes)
        self.count = -(-self.segments // segments)

    def bounds(self, segment: int) -> tuple[int, int]:
        """Where a segment begins in the plaintext and in the object; the ends behind the last."""
        if segment >= self.segments:
            return self.plain_bytes, self.sealed_bytes
        return self._message.offsets(segment)

    def __getitem__(self, number: int) -> Part:
        first = number * self.per_part
        after = min(first + self.per_part, self.segments)
        begin, end = self.bounds(first), self.bounds(after)
        sealed_begin = 0 if number == 0 else begin[1]
        return Part(number, first, after, after == self.segments, (begin[0], end[0]),
                    (sealed_begin, end[1]))


def segments_of_parts(message: _native.Segments, plain_bytes: int, part_size: int | None) -> int:
    """How many segments a part has. part_size: what the caller wants, in bytes."""
    size = part_size
    if size is None:
        size = min(max(plain_bytes // _AIM, _SMALLEST), _LARGEST)
        size = max(size, -(-plain_bytes // (MOST_PARTS - 1)))
    elif not LEAST_BYTES <= size <= MOST_BYTES:
        raise InvalidArgument(f"part_size: it is {LEAST_BYTES} (5 MiB) to {MOST_BYTES} (5 GiB) "
                              f"bytes, not {size}")
    segments = max(1, -(-size // message.segment_bytes))
    # The first segment may be smaller, and the header is in the first part.
    if Parts(message, plain_bytes, segments)[0].plain_bytes < min(LEAST_BYTES, plain_bytes):
        segments += 1
    most = (MOST_BYTES - len(message.header)) // (message.segment_bytes + 16)
    segments = min(segments, most)
    count = Parts(message, plain_bytes, segments).count
    if count <= MOST_PARTS:
        return segments
    if part_size is None or segments == most:
        raise InvalidArgument(f"source: {plain_bytes} bytes are more than {MOST_PARTS} parts of "
                              "5 GiB hold: encrypt it as several objects")
    raise InvalidArgument(f"part_size: an object of {plain_bytes} bytes would have {count} parts "
                          f"of {size} bytes, and at most {MOST_PARTS} are possible: choose larger "
                          "ones, or no size")
