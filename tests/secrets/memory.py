"""Searches the whole memory of another process for secrets.

PARAES_FIND_NEEDLES names the library of find_needles.cpp."""

import ctypes
import dataclasses
import os
import pathlib
import re

WINDOW = 8  # bytes: the least part of a secret that is found
_library = ctypes.CDLL(os.environ["PARAES_FIND_NEEDLES"])
_library.find_needles.restype = ctypes.c_size_t
_library.find_needles.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                  ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
_library.make_needles.restype = ctypes.c_void_p
_library.make_needles.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_library.free_needles.argtypes = [ctypes.c_void_p]
_ROOM = 1 << 16
_offsets = (ctypes.c_uint64 * _ROOM)()
_indices = (ctypes.c_int64 * _ROOM)()


@dataclasses.dataclass(frozen=True)
class Mapping:
    begin: int
    end: int
    access: str
    name: str  # a path, [heap], [stack], or "" for anonymous memory
    flags: frozenset

    @property
    def locked(self):
        """Never swapped out, and left out of core dumps."""
        return {"lo", "dd"} <= self.flags

    @property
    def readable(self):
        # The kernel's own pages cannot be read from outside.
        return self.access[0] == "r" and not self.name.startswith(("[vvar", "[vsyscall"))


def mappings(process):
    found = []
    header = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)")
    for line in pathlib.Path(f"/proc/{process}/smaps").read_text().splitlines():
        if match := header.fullmatch(line):
            begin, end, access, name = match.groups()
        elif line.startswith("VmFlags:"):
            found.append(Mapping(int(begin, 16), int(end, 16), access, name,
                                 frozenset(line.split()[1:])))
    return found


def stack_pointers(process):
    """The stack pointers of all threads that are blocked in a system call or stopped."""
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        fields = (task / "syscall").read_text().split()
        if len(fields) >= 2:
            found.append(int(fields[-2], 16))
    return found


@dataclasses.dataclass(frozen=True)
class Hit:
    secret: str
    part: slice  # of the secret
    address: int
    place: str  # locked, heap, stack, static, anonymous, shared, file, arguments or environment
    mapping: Mapping

    def __str__(self):
        name = self.mapping.name or "anonymous memory"
        return (f"{self.secret} [{self.part.start}:{self.part.stop}] in {self.place} memory at "
                f"{self.address:#x} ({name}, +{self.address - self.mapping.begin:#x})")


def place_of(mapping, pointers):
    if mapping.locked:
        return "locked"
    if mapping.name == "[heap]":
        return "heap"
    if mapping.access[3] == "s":
        return "shared"
    if mapping.name.startswith("[stack") or any(mapping.begin <= p < mapping.end
                                                for p in pointers):
        return "stack"
    if mapping.name and not mapping.name.startswith("["):
        # The zeroed part of a library's data is anonymous, and counts as such.
        return "static" if "w" in mapping.access else "file"
    return "anonymous"


class Secrets:
    """Secrets by name. `least`: how many consecutive bytes of one make a hit."""

    def __init__(self):
        self.least = {}
        self.bytes = {}
        self.windows = {}
        self._prepared = None  # for the search, until more is added
        self._order = []

    def __del__(self):
        self._forget()

    def _forget(self):
        if self._prepared is not None:
            _library.free_needles(self._prepared)
            self._prepared = None

    def _needles(self):
        if self._prepared is None:
            self._order = list(self.windows.values())
            values = (ctypes.c_uint64 * len(self.windows))(
                *(int.from_bytes(window, "little") for window in self.windows))
            self._prepared = _library.make_needles(values, len(values))
        return self._prepared

    def add(self, name, data, least=WINDOW):
        self._forget()
        data = bytes(data)
        if len(data) < WINDOW:
            raise ValueError(f"{name}: too short to be looked for")
        self.least[name] = least
        self.bytes[name] = data
        for at in range(len(data) - WINDOW + 1):
            window = data[at:at + WINDOW]
            # Nothing can be told from equal bytes. A secret that is a part of another one, as a key
            # is of its round keys, is found under the name that was added first.
            if window.count(window[0]) != WINDOW:
                self.windows.setdefault(window, (name, at))

    def found_in(self, memory, base=0):
        """(name, part, address) of each run of bytes of a secret."""
        count = _library.find_needles(self._needles(), memory, len(memory), _offsets, _indices,
                                      _ROOM)
        if count > _ROOM:
            raise AssertionError(f"{count} hits: more than the search has room for")
        runs = []  # each: name, start in the secret, start in memory, end in memory
        for i in range(count):
            at = _offsets[i]
            name, start = self._order[_indices[i]]
            last = runs[-1] if runs else None
            if last and last[0] == name and at - last[2] == start - last[1] and at <= last[3]:
                last[3] = at + WINDOW
            else:
                runs.append([name, start, at, at + WINDOW])
        return [(name, slice(start, start + end - begin), base + begin)
                for name, start, begin, end in runs if end - begin >= self.least[name]]


def _areas(process):
    """Where the arguments and the environment of a process lie: fields 48 to 51 of its stat."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    arguments, arguments_end, environment, environment_end = map(int, fields[45:49])
    return {"arguments": range(arguments, arguments_end),
            "environment": range(environment, environment_end)}


class Snapshot:
    """All memory of a process that stands still, to be searched later: some secrets are known only
    from what the process writes afterwards."""

    def __init__(self, process):
        self.areas = _areas(process)
        self.pointers = stack_pointers(process)
        self.parts = []
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            for mapping in mappings(process):
                if mapping.readable:
                    self.parts.append((mapping, _read(memory.fileno(), mapping)))

    def place(self, mapping, address):
        for name, area in self.areas.items():
            if address in area:
                return name
        return place_of(mapping, self.pointers)

    def hits(self, secrets):
        return [Hit(name, part, address, self.place(mapping, address), mapping)
                for mapping, data in self.parts
                for name, part, address in secrets.found_in(data, mapping.begin)]


def _read(memory, mapping):
    data = b""
    while len(data) < mapping.end - mapping.begin:
        part = os.pread(memory, mapping.end - mapping.begin - len(data), mapping.begin + len(data))
        if not part:
            raise OSError(f"cannot read all of {mapping}")
        data = data + part if data else part
    return data
