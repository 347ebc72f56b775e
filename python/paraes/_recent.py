"""A mapping that keeps what was put into it lately."""

from __future__ import annotations

from typing import Generic, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(Generic[_K, _V]):
    """Threads may use one at once, and a child of os.fork() its copy: it needs no lock."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: dict[_K, _V] = {}

    def get(self, key: _K) -> _V | None:
        return self._items.get(key)

    def put(self, key: _K, value: _V) -> None:
        self._items.pop(key, None)
        self._items[key] = value
        for old in list(self._items)[:-self._most]:
            self._items.pop(old, None)

    def drop(self, key: _K) -> None:
        self._items.pop(key, None)

    def clear(self) -> None:
        self._items.clear()
