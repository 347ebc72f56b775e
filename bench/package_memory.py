"""Rows of bench/python_package, and those of data in memory: the groups aead and cobblestone."""

import dataclasses
import itertools
import os
import statistics

from cryptography import cobblestone
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from scripts import Contestant, Wrong, aead_call, size_text

import paraes

KEY_BITS = (128, 256)
DIRECTIONS = ("encrypt", "decrypt")
THREADS = 2  # of paraes for large data
NONCE = bytes(12)
KEY = bytes(range(32))
CONTEXT = b"bench/python_package"
KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass
class Row:
    """One job of paraes, and its rival; reads at offsets have none."""

    group: str
    call: str
    size: int  # bytes that one call processes
    ours: Contestant
    rival: Contestant | None = None
    key_bits: int = 256
    threads: int = THREADS
    required: float | None = None

    def measure(self, rounds):
        contestants = [self.ours] if self.rival is None else [self.ours, self.rival]
        for contestant in contestants:
            contestant.calibrate()
        for number in range(rounds):
            for contestant in contestants if number % 2 == 0 else reversed(contestants):
                contestant.sample()

    def report(self):
        row = {"group": self.group, "call": self.call, "bytes": self.size,
               "key_bits": self.key_bits, "threads": self.threads,
               "paraes_ns": self.ours.samples, "paraes_median_ns": self.ours.median(),
               "paraes_calls": self.ours.calls}
        if self.rival is None:
            row["reads_per_second"] = 1e9 / self.ours.median()
        else:
            ratios = [theirs / ours for ours, theirs
                      in zip(self.ours.samples, self.rival.samples, strict=True)]
            ratio = statistics.median(ratios)
            row |= {"rival": self.rival.name, "rival_ns": self.rival.samples,
                    "rival_median_ns": self.rival.median(), "rival_calls": self.rival.calls,
                    "ratios": ratios, "ratio": ratio, "required": self.required,
                    "met": None if self.required is None else ratio >= self.required}
        return row


def check(is_right, who, what):
    """Raise Wrong unless is_right() is true. An exception of a cipher is a wrong result, too."""
    try:
        if is_right():
            return
    except (paraes.Error, InvalidTag, ValueError) as error:
        if isinstance(error, OSError):
            raise
        raise Wrong(f"{who}: {what}: {type(error).__name__}: {error}") from error
    raise Wrong(f"{who}: wrong result: {what}")


def aead_figure(size, threads, is_into):
    if size <= KIB:
        return 1.0
    if size >= MIB and is_into:
        return 1.1 if threads == 1 else 1.9
    return None


def aead_contestant(name, cipher, call, source, expected):
    contestant, result = aead_call(name, cipher, call, source, len(expected))
    size = min(len(source), len(expected))  # of the message without its tag
    check(lambda: result() == expected, name, f"{call} of {size_text(size)}")
    return contestant


def aead_rows(arguments):
    for size, bits in itertools.product(arguments.sizes, KEY_BITS):
        key = bytes(range(bits // 8))
        rival = AESGCM(key)
        plain = os.urandom(size)
        sealed = rival.encrypt(NONCE, plain, None)
        for threads in (1,) if size < MIB else (1, THREADS):
            cipher = paraes.AESGCM(key, threads=threads)
            for direction, into in itertools.product(DIRECTIONS, ("_into", "")):
                data = (plain, sealed) if direction == "encrypt" else (sealed, plain)
                call = direction + into
                ours, theirs = (aead_contestant(*contestant, call, *data) for contestant
                                in (("paraes", cipher), ("cryptography", rival)))
                yield Row("aead", f"AESGCM.{call}", size, ours, theirs, key_bits=bits,
                          threads=threads, required=aead_figure(size, threads, into != ""))


def update(new, data):
    """Return a function that calls update and finalize and returns the parts of the output."""
    def call():
        stream = new()
        return stream.update(data), stream.finalize()
    return call


def update_into(new, data, buffer):
    def call():
        stream = new()
        size = stream.update_into(data, buffer)
        return memoryview(buffer)[:size], stream.finalize()
    return call


def cobblestone_rows(arguments):
    size = arguments.large

    def new(module, side, **options):
        return lambda: getattr(module, f"Cobblestone256{side}")(KEY, CONTEXT, **options)

    def opened(message):
        return b"".join(update(new(cobblestone, "Decryptor"), message)())

    def verified(name, direction, what, call):
        """Return the contestant after a check of its result with that of cryptography."""
        check(lambda: (opened(b"".join(call())) if direction == "encrypt"
                       else b"".join(call())) == plain, name, what)
        return Contestant(name, call)

    plain = os.urandom(size)
    message = b"".join(update(new(cobblestone, "Encryptor"), plain)())
    whole = paraes.Cobblestone256(KEY, CONTEXT, threads=THREADS)
    for direction, side in zip(DIRECTIONS, ("Encryptor", "Decryptor"), strict=True):
        data = plain if direction == "encrypt" else message
        our_new = new(paraes, side, threads=THREADS)
        their_new = new(cobblestone, side)
        one_shot = getattr(whole, direction)
        for kind in ("update", "update_into", direction):
            name = "Cobblestone256" if kind == direction else f"Cobblestone256{side}"
            what = f"{name}.{kind} of {size_text(size)}"
            if kind == "update_into":
                # Both write to the same pages. paraes is checked first, while they are empty.
                buffer = bytearray(len(message))
                calls = [update_into(each, data, buffer) for each in (our_new, their_new)]
            elif kind == "update":
                calls = [update(each, data) for each in (our_new, their_new)]
            else:
                calls = [lambda f=one_shot, d=data: (f(d),), update(their_new, data)]
            ours, theirs = (verified(who, direction, what, call) for who, call
                            in zip(("paraes", "cryptography"), calls, strict=True))
            yield Row("cobblestone", f"{name}.{kind}", size, ours, theirs, required=2.0)


GROUPS = {"aead": aead_rows, "cobblestone": cobblestone_rows}
