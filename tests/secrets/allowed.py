"""Where secrets may be outside of locked memory, and why. docs/threat-model.md has the same list.

Each entry must be hit in each test that it names, or it is stale: the test then fails."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Allowed:
    tests: str  # a regular expression, as the following
    times: str
    secrets: str
    places: str
    reason: str
    always: bool = True  # False: it depends on the kernel that this machine's CPU gets

    def fits(self, test, time, hit):
        return (re.search(self.tests, test) is not None
                and all(re.fullmatch(pattern, text) for pattern, text in (
                    (self.times, time), (self.secrets, hit.secret), (self.places, hit.place))))


LIST = (
    Allowed("test_passphrase_env$", "at work|at the end", "passphrase", "environment",
            "the environment of the process, which belongs to its caller"),
    Allowed("test_", "at work",
            r"(?!.* in (hex|HEX|base64)$).*(key|H\^\d+|tweak|bit planes).*", "stack",
            "registers that the compiler spilled, or that the dynamic loader saved when a function "
            "of a shared library was called for the first time; overwritten when the cipher is "
            "destroyed, its threads end or go to sleep", always=False),
    Allowed("test_python", "at work", "passphrase|input key of the message", "heap|anonymous",
            "the object in which the caller of encrypt_file passes a secret", always=False),
    Allowed("test_ranks", "at work", "message key", "shared|heap",
            "buffers of the MPI library, which pass the key of the message on"),
    Allowed("test_ranks", "at the end", "message key", "heap",
            "buffers of the MPI library that it has freed", always=False),
)

_seen = set()


def is_allowed(test, time, hit):
    fitting = [entry for entry in LIST if entry.fits(test, time, hit)]
    _seen.update((test, entry) for entry in fitting)
    return bool(fitting)


def wrong_places(test, time, hits):
    """The hits that are not allowed. At work, secrets are in locked memory."""
    return [hit for hit in hits if not (time == "at work" and hit.place == "locked")
            and not is_allowed(test, time, hit)]


def stale(test):
    """The entries for a test that has ended which nothing has hit."""
    return [entry for entry in LIST
            if entry.always and re.search(entry.tests, test) is not None
            and (test, entry) not in _seen]
