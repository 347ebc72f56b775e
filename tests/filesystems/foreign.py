"""A file system that behaves as foreign ones do: a FUSE pass-through to a folder, with switches. It speaks
the kernel's protocol (linux/fuse.h) itself, because libfuse hides what the switches are about: numbers of
inodes, unnamed files, renames with flags, and which times a call sets.

    foreign.py FOLDER MOUNT-POINT [SWITCHES]      SWITCHES: an object in JSON

It prints "ready" once it answers, and a line with the reason if it cannot mount. When its standard input
ends, it unmounts and ends.

Switches:
  fold     "case", "norm" (Unicode normalisation) or "both": which names are one name
  store    "lower", "upper" or "nfd": how names are stored; otherwise as they were created
  strip    true: dots and spaces at the end of names are dropped, as on FAT
  forbid   characters that no name may have (EINVAL)
  inodes   "true" (default); "by_name": made up for each name, as libfuse does; "changing": made up anew each
           time that a name is looked up. Without unnamed files, whose number no name could have, unless
           `unnamed` is true
  fail     {operation: errno}: the operation fails. `flush` and `fsync` fail for written files alone, as
           where writes are delayed, and {"flush": "ENOSYS"} for all. `rename2` is a rename with flags
  after    {operation: errno}: it is done, and says that it failed, as when an answer is lost and the
           question repeated
  no_replace  errno of a rename onto an existing file (SFTP)
  in_use   [errno, seconds]: a file that is open cannot be removed, nor until so long after its last descriptor
           was closed, of which servers hear late: libfuse where it cannot rename, file systems of Windows
  hold     a file: until it exists, at most 20 s long, nothing says that a file is in use
  sizes    "zero" or "big": the size that files seem to have
  limit    [bytes, errno]: no file grows past it
  times    "drop": they cannot be set, and nothing says so; "2s": all are rounded down, as on FAT; "omit": ignored
           unless both are set, as libfuse 2 does; "now": a file was always modified just now
  log      a file to which the names of the operations are appended
"""

import array
import ctypes
import errno
import json
import os
import select
import shlex
import socket
import stat
import struct
import sys
import time
import unicodedata

MAX_WRITE = 1 << 17
ROOT = 1
OPERATIONS = {
    1: "lookup", 2: "forget", 3: "getattr", 4: "setattr", 5: "readlink", 6: "symlink", 8: "mknod",
    9: "mkdir", 10: "unlink", 11: "rmdir", 12: "rename", 13: "link", 14: "open", 15: "read",
    16: "write", 17: "statfs", 18: "release", 20: "fsync", 21: "setxattr", 22: "getxattr",
    23: "listxattr", 24: "removexattr", 25: "flush", 26: "init", 27: "opendir", 28: "readdir",
    29: "releasedir", 30: "fsyncdir", 34: "access", 35: "create", 36: "interrupt", 38: "destroy",
    42: "batch_forget", 45: "rename2", 47: "copy_file_range", 51: "tmpfile",
}
WITHOUT_ANSWER = {"forget", "batch_forget", "interrupt"}
# Calls are passed to a folder of this machine. FUSE offers no locks here: the kernel keeps them.
ATTRIBUTES = struct.Struct("=6Q10I")
ENTRY = struct.Struct("=4Q2I")
IN_HEADER = struct.Struct("=2I2Q4I")


def number_of(name):
    return getattr(errno, name)


def proc(descriptor):
    """A path to an open file, through which what its descriptor may not do is possible."""
    return f"/proc/self/fd/{descriptor}"


def identity(status):
    return status.st_dev, status.st_ino


class Failure(OSError):
    pass


class Node:
    """A file that the kernel knows: its number, and a descriptor (O_PATH) of what it stands for."""

    def __init__(self, number, descriptor, key):
        self.number = number
        self.descriptor = descriptor
        self.key = key
        self.lookups = 0

    def move_to(self, descriptor):
        os.close(self.descriptor)
        self.descriptor = descriptor


class Handle:
    def __init__(self, descriptor, entries=None):
        self.descriptor = descriptor
        self.entries = entries
        self.written = False


class FileSystem:
    def __init__(self, folder, switches):
        self.switches = switches
        self.fold = switches.get("fold")
        self.inodes = switches.get("inodes", "true")
        self.fail = {name: number_of(code) for name, code in switches.get("fail", {}).items()}
        if self.inodes != "true" and not switches.get("unnamed"):
            self.fail.setdefault("tmpfile", errno.ENOSYS)
        self.after = {name: number_of(code) for name, code in switches.get("after", {}).items()}
        self.nodes = {ROOT: Node(ROOT, os.open(folder, os.O_PATH | os.O_DIRECTORY), None)}
        self.by_key = {}
        self.handles = {}
        self.in_use = {}  # by identity: how many handles a file has, and when the last one was released
        self.implicit = {}  # handles of nodes, where the kernel has none because `open` is missing
        self.last_node = ROOT
        self.last_handle = 0
        self.log = None
        if "log" in switches:
            self.log = os.open(switches["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    # ---- Names

    def key_of(self, name):
        """What names have in common that are one name."""
        text = self.stored(name).decode("utf-8", "surrogateescape")
        if self.fold in ("norm", "both"):
            text = unicodedata.normalize("NFC", text)
        if self.fold in ("case", "both"):
            text = text.casefold()
            if self.fold == "both":
                text = unicodedata.normalize("NFC", text)
        return text

    def stored(self, name):
        """The name that a new file gets."""
        text = name.decode("utf-8", "surrogateescape")
        if self.switches.get("strip"):
            text = text.rstrip(". ") or text
        store = self.switches.get("store")
        if store == "nfd":
            text = unicodedata.normalize("NFD", text)
        elif store:
            text = getattr(text, store)()
        return text.encode("utf-8", "surrogateescape")

    def real_name(self, parent, name):
        """The name in the folder beneath that `name` means."""
        if any(character.encode() in name for character in self.switches.get("forbid", "")):
            raise Failure(errno.EINVAL, "forbidden")
        if self.fold:
            key = self.key_of(name)
            for entry in os.listdir(os.fsencode(proc(parent.descriptor))):
                if self.key_of(entry) == key:
                    return entry
        return self.stored(name)

    # ---- Nodes

    def look_up(self, parent, name, real):
        """The node of a name. `real`: its name in the folder beneath."""
        descriptor = os.open(real, os.O_PATH | os.O_NOFOLLOW, dir_fd=parent.descriptor)
        if self.inodes == "true":
            key = identity(os.fstat(descriptor))
        elif self.inodes == "by_name":
            key = (parent.number, name)
        else:
            key = None
        node = self.by_key.get(key) if key else None
        if node is None:
            return self.new_node(descriptor, key)
        node.move_to(descriptor)
        node.lookups += 1
        return node

    def new_node(self, descriptor, key):
        self.last_node += 1
        node = self.nodes[self.last_node] = Node(self.last_node, descriptor, key)
        if key:
            self.by_key[key] = node
        node.lookups = 1
        return node

    def forget_node(self, number, count):
        node = self.nodes.get(number)
        if node is None or number == ROOT:
            return
        node.lookups -= count
        if node.lookups <= 0:
            os.close(node.descriptor)
            del self.nodes[number]
            if number in self.implicit:
                os.close(self.implicit.pop(number).descriptor)
            if self.by_key.get(node.key) is node:
                del self.by_key[node.key]

    def attributes(self, node, descriptor=None):
        status = os.fstat(node.descriptor if descriptor is None else descriptor)
        size, modified = status.st_size, status.st_mtime_ns
        if stat.S_ISREG(status.st_mode):
            lie = self.switches.get("sizes")
            size = {"zero": 0, "big": size + 100}.get(lie, size)
            if self.switches.get("times") == "now":
                modified = time.time_ns()
        changed = status.st_ctime_ns
        if self.switches.get("times") == "2s":
            modified, changed = (t - t % (2 * 10**9) for t in (modified, changed))
        number = status.st_ino if self.inodes == "true" else node.number
        times = (status.st_atime_ns, modified, changed)
        return ATTRIBUTES.pack(
            number, size, status.st_blocks, *(t // 10**9 for t in times),
            *(t % 10**9 for t in times), status.st_mode, status.st_nlink, status.st_uid,
            status.st_gid, 0, 4096, 0)

    def entry(self, node):
        return ENTRY.pack(node.number, 0, 0, 0, 0, 0) + self.attributes(node)

    def new_handle(self, descriptor, entries=None):
        self.last_handle += 1
        self.handles[self.last_handle] = Handle(descriptor, entries)
        self.note_use(descriptor, 1)
        # Without the page cache, which would believe a wrong size (FOPEN_DIRECT_IO).
        flags = 1 if self.switches.get("sizes") and entries is None else 0
        return struct.pack("=Q2I", self.last_handle, flags, 0)

    def handle_of(self, node, number):
        if number in self.handles:
            return self.handles[number]
        if node.number not in self.implicit:
            try:
                descriptor = os.open(proc(node.descriptor), os.O_RDWR)
            except OSError:
                descriptor = os.open(proc(node.descriptor), os.O_RDONLY)
            self.implicit[node.number] = Handle(descriptor)
        return self.implicit[node.number]

    def note_use(self, descriptor, change):
        file = identity(os.fstat(descriptor))
        count, _ = self.in_use.get(file, (0, 0))
        self.in_use[file] = (count + change, time.monotonic())

    def check_use(self, folder, real):
        code, seconds = self.switches.get("in_use", (None, 0))
        file = identity(os.stat(real, dir_fd=folder.descriptor, follow_symlinks=False))
        count, last = self.in_use.get(file, (0, 0))
        if code and (count or time.monotonic() - last < seconds):
            end = time.monotonic() + 20
            while "hold" in self.switches and time.monotonic() < end and not os.path.exists(self.switches["hold"]):
                time.sleep(0.002)
            raise Failure(number_of(code), "in use")

    def entries_of(self, descriptor):
        entries = [(b".", 1, 4), (b"..", 1, 4)]
        for entry in os.scandir(descriptor):
            kind = (entry.stat(follow_symlinks=False).st_mode >> 12) & 15
            number = entry.inode() if self.inodes == "true" else 1
            entries.append((os.fsencode(entry.name), number, kind))
        return entries

    # ---- Operations: of a node, with the rest of the request

    def init(self, node, body):
        major, _, ahead, offered = struct.unpack_from("=4I", body)
        wanted = offered & (1 << 5 | 1 << 22)  # writes of more than a page, FUSE_MAX_PAGES
        return struct.pack("=4I2H2I2H8I", major, 31, ahead, wanted, 12, 9, MAX_WRITE, 1,
                           MAX_WRITE // 4096, 0, *[0] * 8)

    def lookup(self, node, body):
        name = body.rstrip(b"\0")
        return self.entry(self.look_up(node, name, self.real_name(node, name)))

    def forget(self, node, body):
        self.forget_node(node.number, struct.unpack_from("=Q", body)[0])

    def batch_forget(self, node, body):
        count = struct.unpack_from("=I", body)[0]
        for i in range(count):
            self.forget_node(*struct.unpack_from("=2Q", body, 8 + 16 * i))

    def interrupt(self, node, body):
        pass  # no operation waits

    def getattr(self, node, body):
        return struct.pack("=Q2I", 0, 0, 0) + self.attributes(node)

    def setattr(self, node, body):
        (valid, _, handle, size, _, accessed, modified, _, accessed_ns, modified_ns, _, mode, _, owner,
         group, _) = struct.unpack_from("=2I6Q8I", body)
        place = proc(node.descriptor)
        if valid & 1:
            self.refuse("chmod")
            os.chmod(place, stat.S_IMODE(mode))
        if valid & 6:
            self.refuse("chown")
            os.chown(place, owner if valid & 2 else -1, group if valid & 4 else -1)
        if valid & 8:
            self.refuse("truncate")
            self.check_limit(size)
            os.truncate(place, size)
        if valid & 48:
            self.refuse("utimens")
            self.set_times(node, valid, accessed * 10**9 + accessed_ns,
                           modified * 10**9 + modified_ns)
        return self.getattr(node, b"")

    def set_times(self, node, valid, accessed, modified):
        way = self.switches.get("times")
        if way == "drop" or (way == "omit" and valid & 48 != 48):
            return
        status, now = os.fstat(node.descriptor), time.time_ns()
        if not valid & 16:
            accessed = status.st_atime_ns
        elif valid & 128:
            accessed = now
        if not valid & 32:
            modified = status.st_mtime_ns
        elif valid & 256:
            modified = now
        os.utime(proc(node.descriptor), ns=(accessed, modified))

    def readlink(self, node, body):
        return os.fsencode(os.readlink(b"", dir_fd=node.descriptor))

    def symlink(self, node, body):
        name, target = body.rstrip(b"\0").split(b"\0")
        real = self.real_name(node, name)
        os.symlink(target, real, dir_fd=node.descriptor)
        return self.entry(self.look_up(node, name, real))

    def mknod(self, node, body):
        mode, _, _, _ = struct.unpack_from("=4I", body)
        name = body[16:].rstrip(b"\0")
        real = self.real_name(node, name)
        os.mknod(real, mode, dir_fd=node.descriptor)
        return self.entry(self.look_up(node, name, real))

    def mkdir(self, node, body):
        mode, _ = struct.unpack_from("=2I", body)
        name = body[8:].rstrip(b"\0")
        real = self.real_name(node, name)
        os.mkdir(real, mode, dir_fd=node.descriptor)
        return self.entry(self.look_up(node, name, real))

    def unlink(self, node, body):
        name = body.rstrip(b"\0")
        real = self.real_name(node, name)
        self.check_use(node, real)
        os.unlink(real, dir_fd=node.descriptor)
        self.by_key.pop((node.number, name), None)
        return b""

    def rmdir(self, node, body):
        name = body.rstrip(b"\0")
        os.rmdir(self.real_name(node, name), dir_fd=node.descriptor)
        self.by_key.pop((node.number, name), None)
        return b""

    def rename(self, node, body):
        return self.rename_to(node, struct.unpack_from("=Q", body)[0], body[8:], 0)

    def rename2(self, node, body):
        target, flags, _ = struct.unpack_from("=Q2I", body)
        return self.rename_to(node, target, body[16:], flags)

    def rename_to(self, node, target, names, flags):
        old, new = names.rstrip(b"\0").split(b"\0")
        folder = self.nodes[target]
        real_old, real_new = self.real_name(node, old), self.real_name(folder, new)
        there = real_new in os.listdir(os.fsencode(proc(folder.descriptor)))
        if flags & 1 and there:
            raise Failure(errno.EEXIST, "it exists")
        if flags & ~1:
            raise Failure(errno.EINVAL, "flags")
        if there and "no_replace" in self.switches:
            raise Failure(number_of(self.switches["no_replace"]), "it exists")
        os.rename(real_old, real_new, src_dir_fd=node.descriptor, dst_dir_fd=folder.descriptor)
        if self.inodes == "by_name":
            moved = self.by_key.pop((node.number, old), None)
            if moved:
                moved.key = (folder.number, new)
                self.by_key[moved.key] = moved
        return b""

    def link(self, node, body):
        other = self.nodes[struct.unpack_from("=Q", body)[0]]
        name = body[8:].rstrip(b"\0")
        real = self.real_name(node, name)
        os.link(proc(other.descriptor), real, dst_dir_fd=node.descriptor, follow_symlinks=True)
        return self.entry(self.look_up(node, name, real))

    def open(self, node, body):
        flags = struct.unpack_from("=I", body)[0]
        if flags & os.O_ACCMODE != os.O_RDONLY:
            self.refuse("open_for_writing")
        flags &= os.O_ACCMODE | os.O_TRUNC
        return self.new_handle(os.open(proc(node.descriptor), flags))

    def create(self, node, body):
        flags, mode, _, _ = struct.unpack_from("=4I", body)
        name = body[16:].rstrip(b"\0")
        real = self.real_name(node, name)
        flags = flags & (os.O_ACCMODE | os.O_EXCL | os.O_TRUNC) | os.O_CREAT | os.O_NOFOLLOW
        descriptor = os.open(real, flags, mode, dir_fd=node.descriptor)
        return self.entry(self.look_up(node, name, real)) + self.new_handle(descriptor)

    def tmpfile(self, node, body):
        flags, mode, _, _ = struct.unpack_from("=4I", body)
        descriptor = os.open(proc(node.descriptor), flags & os.O_ACCMODE | os.O_TMPFILE, mode)
        key = identity(os.fstat(descriptor)) if self.inodes == "true" else None
        made = self.new_node(os.open(proc(descriptor), os.O_PATH), key)
        return self.entry(made) + self.new_handle(descriptor)

    def read(self, node, body):
        handle, offset, size, _, _, _, _ = struct.unpack_from("=2Q2IQ2I", body)
        return os.pread(self.handle_of(node, handle).descriptor, size, offset)

    def check_limit(self, end):
        limit, code = self.switches.get("limit", (None, None))
        if limit is not None and end > limit:
            raise Failure(number_of(code), "limit")

    def write(self, node, body):
        number, offset, size, _, _, _, _ = struct.unpack_from("=2Q2IQ2I", body)
        self.check_limit(offset + size)
        handle = self.handle_of(node, number)
        handle.written = True
        return struct.pack("=2I", os.pwrite(handle.descriptor, body[40:40 + size], offset), 0)

    def copy_file_range(self, node, body):
        source, begin, other, target, offset, size, _ = struct.unpack_from("=7Q", body)
        self.check_limit(offset + size)
        to = self.handle_of(self.nodes[other], target)
        to.written = True
        done = os.copy_file_range(self.handle_of(node, source).descriptor, to.descriptor, size, begin,
                                  offset)
        return struct.pack("=2I", done, 0)

    def statfs(self, node, body):
        s = os.statvfs(node.descriptor)
        return struct.pack("=5Q4I6I", s.f_blocks, s.f_bfree, s.f_bavail, s.f_files, s.f_ffree, s.f_bsize,
                           s.f_namemax, s.f_frsize, 0, *[0] * 6)

    def release(self, node, body):
        descriptor = self.handles.pop(struct.unpack_from("=Q", body)[0]).descriptor
        self.note_use(descriptor, -1)
        os.close(descriptor)
        return b""

    releasedir = release

    def flush(self, node, body):
        self.refuse_written("flush", node, body)
        return b""

    def fsync(self, node, body):
        os.fsync(self.refuse_written("fsync", node, body).descriptor)
        return b""

    def opendir(self, node, body):
        folder = os.open(proc(node.descriptor), os.O_RDONLY | os.O_DIRECTORY)
        return self.new_handle(folder, self.entries_of(folder))

    def readdir(self, node, body):
        handle, offset, size, _, _, _, _ = struct.unpack_from("=2Q2IQ2I", body)
        folder = self.handle_of(node, handle)
        if folder.entries is None or handle not in self.handles and offset == 0:
            folder.entries = self.entries_of(folder.descriptor)
        answer = b""
        for at, (name, number, kind) in enumerate(folder.entries[offset:], offset + 1):
            entry = struct.pack("=2Q2I", number, at, len(name), kind) + name
            entry += b"\0" * (-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer

    def access(self, node, body):
        return b""

    destroy = fsyncdir = access

    # ---- Requests

    def refuse(self, operation):
        if operation in self.fail:
            raise Failure(self.fail[operation], operation)

    def refuse_written(self, operation, node, body):
        handle = self.handle_of(node, struct.unpack_from("=Q", body)[0])
        code = self.fail.get(operation)
        if code is not None and (handle.written or code == errno.ENOSYS):
            raise Failure(code, operation)
        return handle

    def answer(self, operation, number, body):
        """The error of a request, and the data of its answer."""
        if operation is None or not hasattr(self, operation):
            return errno.ENOSYS, b""
        if self.log is not None and operation not in WITHOUT_ANSWER:
            os.write(self.log, operation.encode() + b"\n")
        try:
            if operation not in ("flush", "fsync"):
                self.refuse(operation)
            node = self.nodes.get(number)
            if node is None and operation not in ("init", "batch_forget", "interrupt", "destroy"):
                raise Failure(errno.ESTALE, "no such node")
            data = getattr(self, operation)(node, body)
            if operation in self.after:
                return self.after[operation], b""
            return 0, data
        except OSError as error:
            return error.errno or errno.EIO, b""


# ---- Mounting

libc = ctypes.CDLL(None, use_errno=True)


def mount_by_helper(place):
    """Lets fusermount3, which may mount for every user, mount; returns the device."""
    import subprocess  # late, because most mounts need none and begin sooner
    ours, theirs = socket.socketpair()
    done = subprocess.run(["fusermount3", "-o", "fsname=foreign,subtype=foreign", "--", place],
                          pass_fds=[theirs.fileno()], capture_output=True, text=True,
                          env={**os.environ, "_FUSE_COMMFD": str(theirs.fileno())})
    theirs.close()
    if done.returncode != 0:
        raise OSError(errno.EPERM, done.stderr.strip() or "fusermount3 failed")
    _, data, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
    found = array.array("i")
    found.frombytes(data[0][2][:4])
    return found[0]


def mount(place):
    if os.geteuid() != 0:
        return mount_by_helper(place)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    mode = stat.S_IFMT(os.stat(place).st_mode)
    options = f"fd={device},rootmode={mode:o},user_id={os.getuid()},group_id={os.getgid()},allow_other"
    if libc.mount(b"foreign", os.fsencode(place), b"fuse.foreign", 6, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount: {os.strerror(ctypes.get_errno())}")
    return device


def unmount(place):
    """Whether or not something uses it; nothing waits."""
    if libc.umount2(os.fsencode(place), 2) != 0 and os.geteuid() != 0:
        os.system(f"fusermount3 -u -z -- {shlex.quote(place)} 2>/dev/null")


def serve(files, device):
    waiting = select.poll()
    waiting.register(device, select.POLLIN)
    waiting.register(0, select.POLLIN | select.POLLHUP)
    while True:
        ready = dict(waiting.poll())
        if 0 in ready:
            return
        try:
            request = os.read(device, MAX_WRITE + 4096)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                continue  # the request was interrupted
            if error.errno == errno.ENODEV:
                return  # unmounted
            raise
        length, code, unique, number, *_ = IN_HEADER.unpack_from(request)
        operation = OPERATIONS.get(code)
        error, data = files.answer(operation, number, request[IN_HEADER.size:length])
        if operation not in WITHOUT_ANSWER:
            data = b"" if error else data
            try:
                os.write(device, struct.pack("=IiQ", 16 + len(data), -error, unique) + data)
            except OSError as failed:
                if failed.errno not in (errno.ENOENT, errno.ENODEV):
                    raise
        if operation == "init":
            print("ready", flush=True)


def main():
    folder, place = sys.argv[1:3]
    os.umask(0)
    files = FileSystem(folder, json.loads(sys.argv[3]) if len(sys.argv) > 3 else {})
    try:
        device = mount(place)
    except OSError as error:
        print(f"{error.strerror or error} ({place})", flush=True)
        return 1
    try:
        serve(files, device)
    finally:
        unmount(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
