"""Convert bytes and nanoseconds, which everything else uses, to the text that people read.

KiB, MiB and GiB are powers of 2**10; kB, MB and GB powers of 10**3. MB/s is 10**6 bytes a second.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

_BINARY = {"K": 10, "M": 20, "G": 30, "T": 40}
# 40 digits are more than any size has, and few enough to convert.
_SIZE = re.compile(r"([0-9]{1,40}(?:\.[0-9]{1,40})?)\s*([KMGT]?)(iB|B)?", re.IGNORECASE)
_LARGEST = (1 << 63) - 1


def parse_size(text: str) -> int:
    """Return the bytes of a size in the syntax of `paraes`.

    K M G T and KiB MiB GiB TiB are binary, kB MB GB TB decimal.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a size; write 64K, 1MiB or 1000000")
    # A float would round sizes above 2**53.
    number, prefix, suffix = Fraction(match[1]), match[2].upper(), match[3] or ""
    if prefix and suffix.upper() == "B":
        factor = 1000 ** ("KMGT".index(prefix) + 1)
    else:
        factor = 1 << _BINARY.get(prefix, 0)
    size = number * factor
    if size < 1 or size.denominator != 1:
        raise ValueError(f"'{text}' is not a whole number of bytes of at least 1")
    if size > _LARGEST:
        raise ValueError(f"'{text}' is more than 2⁶³ − 1 bytes")
    return int(size)


def size_text(size: float) -> str:
    """Format a number of bytes with 4 significant digits, for example `64 KiB`."""
    for prefix, bits in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << bits:
            return f"{significant(size / (1 << bits), 4)} {prefix}"
    return f"{significant(size, 4)} B"


def exact_size_text(size: int) -> str:
    """Format a number of bytes without rounding, as parse_size reads it: 64KiB."""
    for prefix, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size and size % (1 << bits) == 0:
            return f"{size >> bits}{prefix}"
    return str(size)


def significant(value: float, digits: int = 4) -> str:
    """Format a value with `digits` significant digits; exponents only far from 1."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "–"
    rounded, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    magnitude, power = int(exponent), ""
    value = float(f"{rounded}e{exponent}")  # 25468 with 3 digits is 25500
    if magnitude < -5 or magnitude > 8:
        text, power = rounded, f"·10{superscript(magnitude)}"
    else:
        text = f"{value:.{max(0, digits - 1 - magnitude)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−") + power


def superscript(number: int) -> str:
    """Format a whole number as an exponent: ⁻⁶."""
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def time_text(nanoseconds: float) -> str:
    """Format a time in s, ms, µs or ns, whichever fits, with 3 significant digits."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(nanoseconds) >= 0.9995 * factor:  # 999.7 µs are 1 ms
            return f"{significant(nanoseconds / factor, 3)} {unit}"
    return f"{significant(nanoseconds, 3)} ns"


def duration_text(seconds: float) -> str:
    """Format an estimated time for people who wait: 50 s, 8 min, 2.5 h."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    if seconds < 100 * 60:
        return f"{round(seconds / 60)} min"
    return f"{significant(seconds / 3600, 2)} h"


_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(s|min|h)?")


def parse_duration(text: str) -> float:
    """Return the seconds of a time such as 90, 90s, 4min or 1.5h."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or float(match[1]) == 0:
        raise ValueError(f"'{text}' is not a time; write 90s, 4min or 1.5h")
    return float(match[1]) * {"s": 1, "min": 60, "h": 3600}[match[2] or "s"]


def megabytes_per_second(size: float, nanoseconds: float) -> float:
    """Return the rate of `size` bytes in `nanoseconds`, in 10**6 bytes a second."""
    return size * 1e3 / nanoseconds


def plural(count: int, noun: str) -> str:
    """Return `1 thread`, `2 threads` and so on."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
