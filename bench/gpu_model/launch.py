"""Does with a program what the host does: keys, messages, and the entries of each mode in turn.

src/gpu/launches.cpp and src/gpu/key_slots.cpp are the originals. Here every launch has one key, and
as many groups as it is told.
"""

import dataclasses
import struct

import processor

SCHEDULE_BYTES = 480
SLICED_KEY_BYTES = 4 * 3848
HASH_PARTIAL, HASH_INPUT, SECRET_COUNTER = 1, 2, 4
STRETCH_BLOCKS = 32


def packed_arguments(**given):
    """The parameters of an entry, without the argument `single`."""
    names = ("in", "out", "messages", "count", "tiles", "key", "scratch")
    names += ("unit_blocks", "tile_blocks", "rounds")
    return struct.pack("<QQQI4xQQQIII", *(given[name] for name in names))


@dataclasses.dataclass
class Message:
    start: int  # offset in input and output
    size: int  # in bytes
    iv: bytes = bytes(16)
    flags: int = 0
    tag: int = 0
    key: int = 0

    def packed(self, first_tile):
        return struct.pack(
            "<QQQQII16sQ",
            self.start,
            self.start,
            self.size,
            first_tile,
            self.key,
            self.flags,
            self.iv,
            self.tag,
        )


def up(number, step):
    return (number + step - 1) // step


def joined(texts, step=16):
    """Where each of the texts starts, and their bytes, each padded to a multiple of `step`."""
    starts, content = [], b""
    for text in texts:
        starts.append(len(content))
        content += text + bytes(-len(text) % step)
    return starts, content


class Device:
    """A model of a GPU with a program and a key, or for XTS two. Input and output begin `shift` bytes
    after a multiple of 256. With a program for any address, texts of one launch follow each other
    without padding."""

    def __init__(self, program, keys, memory_bytes=1 << 25, shift=0):
        self.program = program
        self.shift = shift
        self.step = 1 if program.option("ANY_ADDRESS") else 16
        self.memory = processor.Memory(memory_bytes)
        self.rounds = len(keys[0]) // 4 + 6
        self.nothing = self.memory.allocate(bytes(16))
        self.ran = {}  # Counts of the last launch of each entry
        self.schedules = []  # without one, the launches that expand keys have zeros
        self.schedules = [self.expanded(key) for key in keys]
        self.keys = [self.sliced(schedule) for schedule in self.schedules]

    # ---- Sizes, as src/gpu/device/sizes.h has them

    @property
    def group_threads(self):
        return self.program.option("GROUP_THREADS", 256)

    @property
    def hash_threads(self):
        return self.program.option("HASH_THREADS", 256)

    @property
    def tile_blocks(self):
        return processor.WARP * self.program.option("BLOCKS_PER_THREAD")

    # ---- Launches

    def launch(self, name, *, threads=None, groups=1, key=0, single=0, **arguments):
        given = {"in": 0, "out": 0, "messages": 0, "count": 1, "tiles": 0, "scratch": 0}
        given |= {"unit_blocks": 0, "tile_blocks": 0} | arguments
        pointers = {name: given[name] for name in ("in", "out", "messages", "scratch")}
        pointers = {name: at or self.nothing for name, at in (pointers | {"key": key}).items()}
        packed = packed_arguments(**(given | pointers), rounds=self.rounds)
        if not self.program.option("KEYS_IN_MEMORY"):
            found = self.schedules[single : single + 1]
            packed += self.memory.content(*found, SCHEDULE_BYTES) if found else bytes(SCHEDULE_BYTES)
        self.ran[name] = processor.run(
            self.program.entry(name),
            self.memory,
            packed,
            threads or self.group_threads,
            groups,
            shared_bytes(self.program, name),
        )

    def expanded(self, key):
        schedule = self.memory.allocate(bytes(SCHEDULE_BYTES))
        self.launch("expand_keys", **{"in": self.memory.allocate(key)}, out=schedule)
        return schedule

    def sliced(self, schedule):
        if not self.program.option("KEYS_SLICED"):
            return schedule
        key = self.memory.allocate(bytes(SLICED_KEY_BYTES))
        self.launch("slice_keys", **{"in": schedule}, out=key)
        return key

    def send(self, messages, tile_blocks):
        """The address of the messages, and the number of their tiles."""
        packed, tiles = b"", 0
        for message in messages:
            packed += message.packed(tiles)
            tiles += up(up(message.size, 16), tile_blocks)
        return self.memory.allocate(packed), tiles

    def tiles(self, entry, messages, given, out, *, groups=1, narrow=0, **more):
        """Runs an entry that works on tiles. `narrow`: blocks of a tile, if not the usual."""
        tile_blocks = narrow or self.tile_blocks
        at, count = self.send(messages, tile_blocks)
        self.launch(
            entry + ("_narrow" if narrow and self.program.option("KEYS_SLICED") else ""),
            groups=groups,
            messages=at,
            count=len(messages),
            tiles=count,
            tile_blocks=tile_blocks,
            out=out,
            key=self.keys[more.pop("which", 0)],
            **{"in": given},
            **more,
        )

    # ---- Modes

    def run(self, entry, text, iv=bytes(16), **more):
        """ECB, CBC and CTR of one message."""
        given = self.memory.allocate(text, self.shift)
        out = self.memory.allocate(b"\xa5" * len(text), self.shift)
        self.tiles(entry, [Message(0, len(text), iv)], given, out, **more)
        return self.memory.content(out, len(text))

    def hash_key(self):
        key = self.memory.allocate(bytes(16 * self.hash_threads))
        self.launch("ghash_prepare", threads=self.hash_threads, key=self.schedules[0], scratch=key)
        return key

    def launch_hash(self, key, groups, lanes, **common):
        self.launch(
            hash_entry(self.program, lanes),
            threads=self.hash_threads,
            groups=groups,
            key=key,
            tile_blocks=lanes,
            **common,
        )

    def gcm(self, texts, nonces, decrypt=False, hash_groups=1, hash_lanes=0, **more):
        """The results and the tags of messages of one launch."""
        starts, content = joined(texts, self.step)
        total = len(content) + -(len(content) + self.shift) % 16  # where the tags begin
        flags = HASH_INPUT if decrypt else 0
        messages = [
            Message(start, len(text), nonce + b"\0\0\0\1", flags, total + 16 * i)
            for i, (start, text, nonce) in enumerate(zip(starts, texts, nonces, strict=True))
        ]
        given = self.memory.allocate(content, self.shift)
        out = self.memory.allocate(b"\xa5" * (total + 16 * len(texts)), self.shift)
        self.tiles("gcm_ctr", messages, given, out, **more)
        masks = self.memory.allocate(bytes(16 * len(texts)))
        at, _ = self.send(messages, self.tile_blocks)
        common = {"messages": at, "count": len(texts), "scratch": masks, "in": given, "out": out}
        self.launch("gcm_masks", key=self.schedules[0], **common)
        self.launch_hash(self.hash_key(), hash_groups, hash_lanes or self.hash_threads, **common)
        result = self.memory.content(out, total + 16 * len(texts))
        return [(result[m.start : m.start + m.size], result[m.tag : m.tag + 16]) for m in messages]

    def ghash(self, texts, powers, groups, lanes, partial):
        """The hashes of texts, each with the number of its key, of which `powers` has the powers."""
        starts, content = joined([text for text, _ in texts])
        flags = HASH_INPUT | (HASH_PARTIAL if partial else 0)
        messages = [
            Message(start, len(text), flags=flags, tag=16 * i, key=key)
            for i, (start, (text, key)) in enumerate(zip(starts, texts, strict=True))
        ]
        out = self.memory.allocate(b"\xa5" * (16 * len(texts)))
        at, _ = self.send(messages, self.tile_blocks)
        self.launch_hash(
            self.memory.allocate(b"".join(powers)),
            groups,
            lanes,
            messages=at,
            count=len(texts),
            scratch=self.memory.allocate(bytes(16 * len(texts))),  # masks of zeros
            out=out,
            **{"in": self.memory.allocate(content)},
        )
        result = self.memory.content(out, 16 * len(texts))
        return [result[16 * i : 16 * i + 16] for i in range(len(texts))]

    def xts(self, entry, text, first_unit, unit_bytes, few=False, **more):
        """XTS of whole units; the device has the data key and then the tweak key."""
        unit_blocks = unit_bytes // 16
        units = len(text) // unit_bytes
        stretches = units * up(unit_blocks, STRETCH_BLOCKS)
        message = Message(0, len(text), first_unit.to_bytes(16, "little"))
        tweaks = self.memory.allocate(bytes(16 * units))
        at, _ = self.send([message], self.tile_blocks)
        common = {"messages": at, "unit_blocks": unit_blocks, "scratch": tweaks}
        if few:
            self.launch("xts_few_unit_tweaks", key=self.schedules[1], **common)
        else:
            tiles = {"tiles": up(units, self.tile_blocks), "tile_blocks": self.tile_blocks}
            self.launch("xts_unit_tweaks", key=self.keys[1], single=1, **tiles, **common)
        spread = self.memory.allocate(bytes(16 * stretches))
        self.launch(
            "xts_stretches", **{"in": tweaks}, out=spread, tiles=stretches, unit_blocks=unit_blocks
        )
        given = self.memory.allocate(text, self.shift)
        out = self.memory.allocate(b"\xa5" * len(text), self.shift)
        self.tiles(entry, [message], given, out, scratch=spread, unit_blocks=unit_blocks, **more)
        return self.memory.content(out, len(text))


def hash_entry(program, lanes):
    """The entry that hashes, if so many threads hash a message."""
    return "ghash_tensor" if program.option("HASH_TENSOR") and lanes in (16, 32) else "ghash"


def shared_bytes(program, entry):
    """Shared memory of a group, as in src/gpu/device/sizes.h."""
    hash_threads = program.option("HASH_THREADS", 256)
    if entry == "ghash_tensor":
        return 16 * 256 + 4096
    if entry == "ghash" and program.option("HASH_TABLES"):
        return 8192 * program.option("HASH_COPIES", 8) + 16 * hash_threads
    if entry == "ghash":
        return 16 * hash_threads + 288 * program.option("HASH_TERMS", 8)
    if entry in ("ghash_prepare", "ghash_join", "gcm_finish"):
        return 16 * hash_threads
    if entry in ("expand_keys", "slice_keys", "xts_stretches"):
        return 0
    if program.option("TABLES"):
        return 32768 * program.option("TABLES")
    if program.kernel == "ttable-simple":
        return 4352
    if program.kernel == "reference-shared" or program.option("KEYS_SLICED"):
        return 16 * program.option("GROUP_THREADS", 256)
    return 0
