"""The options of a file system, and what they open and seal messages with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paraes import _native
from paraes.exceptions import InvalidArgument

# The arguments of a file system. Secrets that are not in a file are kept in locked memory only.
IN_MEMORY = ("key", "passphrase")
OPENS = ("key", "key_file", "passphrase", "identity")
SEALS = ("key", "key_file", "passphrase", "recipients", "recipients_file")
FORMAT = ("context", "format", "segment_size", "tink_hash")
_OPTIONS_OF_BOTH = (*FORMAT, "threads", "device", "kernel")
_OPTIONS_TO_OPEN = (*OPENS, *_OPTIONS_OF_BOTH, "max_scrypt_log2n")
_OPTIONS_TO_SEAL = (*SEALS, *_OPTIONS_OF_BOTH, "key_bits", "scrypt_log2n")


class Secret:
    """What messages are opened and sealed with."""

    def __init__(self, options: dict[str, Any]) -> None:
        for name in options:
            if name not in _OPTIONS_TO_OPEN and name not in _OPTIONS_TO_SEAL:
                raise TypeError(f"the file system 'paraes' has no option {name!r}")
        given = {name for name, value in options.items() if value is not None}
        self.opens = self._made(False, OPENS, _OPTIONS_TO_OPEN, options, given)
        self.seals = self._made(True, SEALS, _OPTIONS_TO_SEAL, options, given)
        if self.opens is None and self.seals is None:
            raise InvalidArgument("pass one of key_file, key, passphrase, identity and recipients, "
                                  'as in paraes={"key_file": "my.key"}')

    @staticmethod
    def _made(seals: bool, needed: Sequence[str], names: Sequence[str], options: dict[str, Any],
              given: set[str]) -> _native.Secret | None:
        if given.isdisjoint(needed):
            return None
        return _native.Secret(seals, {name: options[name] for name in names if name in options})

    def to_open(self) -> _native.Secret:
        if self.opens is None:
            raise InvalidArgument("recipients encrypt only: pass identity to read, too")
        return self.opens

    def to_seal(self) -> _native.Secret:
        if self.seals is None:
            raise InvalidArgument("identity decrypts only: pass recipients to write, too")
        return self.seals
