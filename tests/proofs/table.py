"""The harnesses: for which layouts and windows each is proven, and faults that it has to find.

A fault is (file, text that is in it exactly once, other text). It is made in a copy of the file,
and one of the runs of the harness must then fail.
"""

from dataclasses import dataclass

COUNTER = "src/core/counter.hpp"
BYTES = "src/core/bytes.hpp"
CARRYLESS = "src/core/carryless.hpp"
NONCE = "src/cipher/segment_nonce.hpp"
PREFACE = "src/messages/preface_fields.hpp"
SEGMENTS = "src/messages/segment_arithmetic.hpp"


@dataclass(frozen=True)
class Harness:
    """The function prove_NAME of FILE.cpp, for each set of definitions in `runs`."""

    name: str
    file: str
    faults: tuple
    runs: tuple = ("",)
    wraps: bool = False  # the code means unsigned sums to wrap, and integers to be cut


def window(layout, base, bits):
    """Numbers of `bits` bits behind `base`."""
    return f"-DPARAES_LAYOUT={layout} -DPARAES_BASE={base}ull -DPARAES_WINDOW={bits}"


# Segments: bytes of plaintext in the first and in others, how many, and how many bits of sizes from
# 0 on are proven. For tink, with the longer header.
LAYOUTS = {
    "c2sp": (16384, 16384, 2**38, 32),
    "tink_4k": (4096 - 40, 4096 - 16, 2**32, 24),
    "tink_1m": (2**20 - 40, 2**20 - 16, 2**32, 28),
    "tink_least": (57 - 56, 57 - 16, 2**32, 14),
    "tink_most": (2**31 - 41, 2**31 - 17, 2**32, 32),
}


def sizes():
    """From 0 on, around 2^32, at the largest plaintext and message, and at the end of 64 bits."""
    found = []
    for layout, (first, full, most, bits) in LAYOUTS.items():
        narrow = min(bits, 16)
        half = 2 ** (narrow - 1)
        plain = first + (most - 1) * full
        found.append(window(layout, 0, bits))
        found += [window(layout, base - half, narrow) for base in (2**32, plain, plain + 16 * most)]
        found.append(window(layout, 2**64 - 2 * half, narrow))
    return tuple(found)


def indexes(bits):
    """Numbers of segments: from 0 on, around 2^31, and up to the last one of the format."""
    return tuple(window(layout, base, bits) for layout, (_, _, most, _) in LAYOUTS.items()
                 for base in (0, 2**31 - 2**(bits - 1), most - 2**bits + 1))


SHARES = tuple(f"-DPARAES_SHARES={shares} {window('c2sp', base, 12)}"
               for shares in (1, 2, 3, 7, 16) for base in (0, 2**32 - 2**11, 2**64 - 2**12))

# The places of the bits of both factors.
PLACES = tuple(f"-DPARAES_A={a} -DPARAES_B={b}" for a in range(4) for b in range(4))

# Both orders of bytes in memory.
ORDERS = ("", "--big-endian -DPARAES_BIG_ENDIAN")

HARNESSES = [
    Harness("loads", "bytes", runs=ORDERS, faults=(
        (BYTES, "  std::memcpy(&v, p, 4);\n  if (std::endian::native == std::endian::big)",
         "  std::memcpy(&v, p, 4);\n  if (false)"),
        (BYTES, "  std::memcpy(&v, p, 8);\n  if (std::endian::native == std::endian::big)",
         "  std::memcpy(&v, p, 8);\n  if (true)"))),
    Harness("stores", "bytes", runs=ORDERS, faults=(
        (BYTES, "std::uint32_t v) noexcept {\n  if (std::endian::native == std::endian::big)",
         "std::uint32_t v) noexcept {\n  if (false)"),
        (BYTES, "    high = __builtin_bswap64(high);\n", ""),
        (BYTES, "{low, high}", "{high, low}"))),
    Harness("add_be128", "counter", wraps=True, runs=ORDERS, faults=(
        (COUNTER, "load_be64(counter) + (sum < low ? 1 : 0), sum", "load_be64(counter), sum"),
        (COUNTER, "load_be64(counter) + (sum < low ? 1 : 0), sum",
         "load_be64(counter) + (sum <= low ? 1 : 0), sum"),
        (BYTES, "store_le128(p, __builtin_bswap64(high), __builtin_bswap64(low))",
         "store_le128(p, __builtin_bswap64(low), __builtin_bswap64(high))"))),
    Harness("add_le128", "counter", wraps=True, runs=ORDERS, faults=(
        (COUNTER, "load_le64(counter + 8) + (sum < low ? 1 : 0)", "load_le64(counter + 8)"),
        (COUNTER, "load_le64(counter + 8)", "load_le64(counter + 9)"))),
    Harness("add_be32", "counter", wraps=True, runs=ORDERS, faults=(
        (COUNTER, "(low & 0xffffffff00000000) | sum", "(low & 0xffffffff00000000) + low + n"),)),
    Harness("carryless_low", "carryless", wraps=True, runs=PLACES, faults=(
        (CARRYLESS, "(c0 & mask0)", "c0"),
        (CARRYLESS, "(a0 * b1)", "(a0 * b2)"))),
    Harness("reverse_bits", "carryless", wraps=True, faults=(
        (CARRYLESS, "(a & 0x0f0f0f0f0f0f0f0f) << 4", "(a & 0x0f0f0f0f0f0f0f07) << 4"),)),
    Harness("counted_nonce", "nonce", runs=ORDERS, faults=(
        (NONCE, "index >> 32", "index >> 33"),
        (NONCE, "    rest = __builtin_bswap64(rest);\n", ""),
        (NONCE, "first ^= static_cast<std::uint64_t>(__builtin_bswap32(high)) << 32;", ""))),
    Harness("prefixed_nonce", "nonce", runs=ORDERS, faults=(
        (NONCE, "0x00ffffffffffffff", "0x01ffffffffffffff"),
        (NONCE, "last ? 0x01000000 : 0", "last ? 0x00010000 : 0"))),
    Harness("read_preface", "preface", faults=(
        (PREFACE, "bytes < preface_bytes", "bytes < preface_bytes - 1"),
        (PREFACE, "> kdf_recipients", "> kdf_recipients + 1"),
        (PREFACE, "fields.wrap_bytes <= slot", "fields.wrap_bytes < slot"),
        (PREFACE, "fields.scrypt_log2n != 0 || any_salt != 0", "fields.scrypt_log2n != 0"))),
    Harness("begins_like_preface", "preface", faults=(
        (PREFACE, "i < sizeof preface_magic && i < bytes", "i < sizeof preface_magic"),
        (PREFACE, "i < sizeof preface_magic && i < bytes",
         "i < sizeof preface_magic - 1 && i < bytes"))),
    Harness("offsets", "segments", runs=(window("c2sp", 0, 64), *indexes(12)), faults=(
        (SEGMENTS, "(index - 1) * sizes.segment_bytes", "index * sizes.segment_bytes"),
        (SEGMENTS, "plain_offset(sizes, index) + index * tag_bytes",
         "plain_offset(sizes, index) + static_cast<std::uint32_t>(index) * tag_bytes"))),
    Harness("segment_at", "segments", runs=sizes(), faults=(
        (SEGMENTS, "offset < sizes.first_bytes", "offset <= sizes.first_bytes"),)),
    Harness("contents_of_sealed", "segments", runs=sizes(), faults=(
        (SEGMENTS, "rest != 0 && rest < tag_bytes", "rest < tag_bytes"),
        (SEGMENTS, "!sizes.shorter_last && bytes != 0", "bytes != 0"))),
    Harness("contents_of_any_size", "segments", runs=sizes(), faults=(
        (SEGMENTS, "rest != 0 && rest < tag_bytes", "false"),
        (SEGMENTS, "body < tag_bytes", "body + 1 < tag_bytes"),
        (SEGMENTS, "rest == 0 && sizes.shorter_last", "rest == 1 && sizes.shorter_last"))),
    Harness("refused_sizes", "segments", runs=sizes(), faults=(
        (SEGMENTS, "body < tag_bytes", "body <= tag_bytes"),
        (SEGMENTS, "rest != 0 && rest < tag_bytes", "rest != 0 && rest <= tag_bytes"))),
    Harness("is_within", "segments", faults=(
        (SEGMENTS, "offset <= bytes && length <= bytes - offset", "offset + length <= bytes"),
        (SEGMENTS, "offset <= bytes && length", "length"))),
    Harness("segments_of_range", "segments", runs=sizes(), faults=(
        (SEGMENTS, "segment_at(sizes, end - 1) + 1", "segment_at(sizes, end - 1)"),
        (SEGMENTS, "at < contents.segments ? at : contents.segments - 1", "at"))),
    Harness("place_of", "segments", runs=indexes(4), faults=(
        (SEGMENTS, "(index - first) * tag_bytes", "index * tag_bytes"),
        (SEGMENTS, "is_last ? plain_bytes - place.plain : plain_offset(sizes, index + 1) - begin",
         "is_last ? plain_bytes : plain_offset(sizes, index + 1) - begin"))),
    Harness("contents_of_truncated", "segments", runs=sizes(), faults=(
        (SEGMENTS, "sealed_size -= rest", "sealed_size -= tag_bytes"),
        (SEGMENTS, "if (rest >= tag_bytes)", "if (rest > 0)"))),
    Harness("share_begin", "segments", runs=SHARES, faults=(
        (SEGMENTS, "count % shares * index / shares", "count % shares * index"),
        (SEGMENTS, "count / shares * index + count % shares * index / shares",
         "count * index / shares"))),
]
