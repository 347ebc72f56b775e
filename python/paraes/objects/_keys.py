"""Options that name a secret."""

from __future__ import annotations

from typing import Any

from paraes import _native
from paraes.exceptions import InvalidArgument
from paraes.fsspec._options import FORMAT, OPENS, SEALS
from paraes.objects._engines import Engine
from paraes.objects._work import OwnKey, SentKey

_TO_SEAL = (*SEALS, "key_bits", "scrypt_log2n", *FORMAT)
_TO_OPEN = (*OPENS, "max_scrypt_log2n", *FORMAT)


class Keys:
    """The secret of a call: what the coordinator uses, and what the workers get."""

    def __init__(self, options: Any, seals: bool) -> None:
        try:
            self._take(options, _TO_SEAL if seals else _TO_OPEN, seals)
        finally:
            options.clear()  # tracebacks show no secrets

    def _take(self, options: dict[str, Any], names: tuple[str, ...], seals: bool) -> None:
        command = options.pop("key_command", None)
        for name in list(options):
            if name not in names:
                raise TypeError(f"there is no option {name!r}")
        format_options = {name: options[name] for name in FORMAT if options.get(name) is not None}
        if "context" in format_options:
            format_options["context"] = bytes(format_options["context"])
        file = options.get("key_file")
        self.own: OwnKey | None = None  # how the workers read the key
        if command is not None:
            if any(options.get(name) is not None for name in (*SEALS, *OPENS)):
                raise InvalidArgument("key_command: another secret is given, too")
            self.own = OwnKey(None, command, format_options)
            self.secret: _native.Secret = self.own.secret()
            return
        if file is not None:
            self.own = OwnKey(file, None, format_options)
        options["threads"] = 1
        self.secret = _native.Secret(seals, options)

    def for_workers(self, message: _native.Segments, engine: Engine) -> OwnKey | SentKey:
        """How the workers get the key of the message. In this process, they share it."""
        if self.own is not None:
            return self.own
        if engine.why_no_key is not None:
            raise InvalidArgument(f"key: {engine.why_no_key}")
        return SentKey(message.parts())
