"""The groups of bench/python_package that work on files, and on parts of them."""

import contextlib
import filecmp
import importlib
import itertools
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

from package_memory import KEY, KIB, MIB, THREADS, Row, check
from scripts import Contestant, check_room, size_text

import paraes

TREE = pathlib.Path(__file__).resolve().parent.parent
SEED = 1
RANDOM_READS = 4096  # offsets that are read again and again


@contextlib.contextmanager
def new_folder(arguments, files=0):
    """Yield a folder for so many files of --large, and remove it."""
    check_room(arguments.folder, files * arguments.large, "a smaller --large")
    with tempfile.TemporaryDirectory(prefix="paraes-bench-", dir=arguments.folder) as path:
        yield pathlib.Path(path)


def random_offsets(size, part):
    choose = random.Random(SEED)
    return [choose.randrange(size - part + 1) for _ in range(RANDOM_READS)]


def random_reads(name, file, size, part):
    """Return the Contestant that reads parts of a file of this size at random offsets."""
    offsets = itertools.cycle(random_offsets(size, part))
    names = {"file": file, "buffer": bytearray(part), "offsets": offsets}
    return Contestant(name, "file.seek(next(offsets)); file.readinto(buffer)", names)


def read_in_order(open_file, buffer):
    with open_file() as file:
        while file.readinto(buffer):
            pass


class Files:
    """A plain and an encrypted file in a folder, and the functions that are timed with them."""

    OPTIONS = {"key": KEY, "threads": THREADS}

    def __init__(self, folder, size):
        self.size = size
        self.data = os.urandom(size)
        self.plain = folder / "plain"
        self.sealed = folder / "sealed"
        self.targets = folder / "targets"
        self.targets.mkdir()
        self.numbers = itertools.count()
        self.plain.write_bytes(self.data)
        paraes.encrypt_file(self.plain, self.sealed, **self.OPTIONS)

    def new_target(self):
        """Return a new name: replacing a file would add the time of freeing the old one."""
        return self.targets / str(next(self.numbers))

    def remove_targets(self):
        for target in self.targets.iterdir():
            target.unlink()

    def write(self, part):
        target = self.new_target()
        view = memoryview(self.data)
        with paraes.open(target, "wb", **self.OPTIONS) as file:
            for begin in range(0, self.size, part):
                file.write(view[begin:begin + part])
        return target

    def open(self):
        return paraes.open(self.sealed, **self.OPTIONS)

    def read(self):
        with self.open() as file:
            return file.read()

    def reads_right(self, part):
        """Return whether readinto, for so many bytes each, gives the plaintext."""
        buffer = bytearray(part)
        view = memoryview(self.data)
        begin = 0
        with self.open() as file:
            while (done := file.readinto(buffer)) > 0:
                if buffer[:done] != view[begin:begin + done]:
                    return False
                begin += done
        return begin == self.size

    def opens_right(self, sealed):
        """Return whether paraes decrypts a file to the plaintext."""
        target = self.new_target()
        paraes.decrypt_file(sealed, target, **self.OPTIONS)
        right = target.read_bytes() == self.data
        self.remove_targets()
        return right

    def whole_file(self, function, source):
        """Return the rival that processes the whole file."""
        return Contestant(function.__name__,
                          lambda: function(source, self.new_target(), **self.OPTIONS),
                          clean=self.remove_targets)

    def reading_rows(self):
        parts = [part for part in (MIB, 64 * KIB, 16 * MIB) if part <= self.size] or [self.size]
        for part in parts:
            call = f"open, readinto {size_text(part)}"
            check(lambda p=part: self.reads_right(p), "paraes", call)
            buffer = bytearray(part)
            ours = Contestant("paraes", lambda b=buffer: read_in_order(self.open, b))
            yield Row("files", call, self.size, ours, self.whole_file(paraes.decrypt_file, self.sealed),
                      required=0.9)
        check(lambda: self.read() == self.data, "paraes", "open, read")
        yield Row("files", "open, read()", self.size, Contestant("paraes", self.read),
                  self.whole_file(paraes.decrypt_file, self.sealed), required=0.9)

    def random_rows(self):
        for part in (64 * KIB, 4 * KIB):
            if part > self.size:
                continue
            buffer = bytearray(part)
            call = f"seek, readinto {size_text(part)}"
            with self.open() as file:
                def is_right(file=file, buffer=buffer, part=part):
                    return all(file.seek(offset) == offset and file.readinto(buffer) == part
                               and buffer == self.data[offset:offset + part]
                               for offset in random_offsets(self.size, part)[:256])
                check(is_right, "paraes", call)
                yield Row("files", call, part, random_reads("paraes", file, self.size, part))

    def writing_rows(self):
        part = min(MIB, self.size)
        call = f"open, write {size_text(part)}"
        check(lambda: self.opens_right(self.write(part)), "paraes", call)
        yield Row("files", call, self.size,
                  Contestant("paraes", lambda: self.write(part), clean=self.remove_targets),
                  self.whole_file(paraes.encrypt_file, self.plain))

    def rows(self):
        check(lambda: self.opens_right(self.sealed), "paraes", "decrypt_file")
        yield from self.reading_rows()
        yield from self.random_rows()
        yield from self.writing_rows()


def file_rows(arguments):
    with new_folder(arguments, 4) as folder:
        yield from Files(folder, arguments.large).rows()


def weights_rows(arguments):
    import numpy
    import safetensors.numpy

    import paraes.safetensors.numpy

    size = arguments.large
    count = max(size // (32 * MIB), 1)
    with new_folder(arguments, 3) as folder:
        plain, sealed = folder / "model.safetensors", folder / "model.safetensors.paes"
        tensors = {f"layer.{i}": numpy.frombuffer(os.urandom(size // count), numpy.float16)
                   for i in range(count)}
        safetensors.numpy.save_file(tensors, plain)
        del tensors
        paraes.encrypt_file(plain, sealed, key=KEY, threads=THREADS)

        def load():
            return paraes.safetensors.numpy.load_file(sealed, key=KEY, threads=THREADS)

        def load_plain():
            return safetensors.numpy.load_file(plain)

        def is_right():
            found, expected = load(), load_plain()
            return found.keys() == expected.keys() and all(
                numpy.array_equal(found[name].view("u2"), expected[name].view("u2"))
                for name in expected)

        check(is_right, "paraes", "safetensors.numpy.load_file")
        yield Row("weights", "load_file, beside the plain file", size, Contestant("paraes", load),
                  Contestant("safetensors", load_plain), required=0.77)
        content = sealed.read_bytes()
        yield Row("weights", "load_file, beside unseal in memory", size,
                  Contestant("paraes", load),
                  Contestant("unseal", lambda: paraes.unseal(content, key=KEY, threads=THREADS)),
                  required=0.9)


def object_rows(arguments):
    import fsspec

    importlib.import_module("paraes.fsspec")  # fsspec would, later
    size = arguments.large
    with new_folder(arguments) as folder:
        files = Files(folder, size)
        part = min(64 * KIB, size)
        buffer = bytearray(part)

        def opened():
            return fsspec.open(f"paraes::file://{files.sealed}", paraes=files.OPTIONS).open()

        def is_right():
            with opened() as file:
                return file.read() == files.data

        check(is_right, "paraes", "fsspec.open")
        yield Row("objects", f"fsspec.open, readinto {size_text(part)}", size,
                  Contestant("paraes", lambda: read_in_order(opened, buffer)),
                  Contestant("paraes.open", lambda: read_in_order(files.open, buffer)),
                  required=0.8)
        with opened() as ours, files.open() as theirs:
            yield Row("objects", f"fsspec, seek, readinto {size_text(part)}", part,
                      random_reads("paraes", ours, size, part),
                      random_reads("paraes.open", theirs, size, part), required=0.8)


@contextlib.contextmanager
def workers_setting(arguments):
    """A folder with a plain file, and the parts that paraes.objects makes of it."""
    from paraes.objects import _parts

    size = arguments.large
    with new_folder(arguments, 3) as folder:
        plain = folder / "plain"
        with plain.open("wb") as file:
            for begin in range(0, size, 64 * MIB):
                file.write(os.urandom(min(64 * MIB, size - begin)))
        message = paraes._native.Secret(True, {"key": KEY}).new_segments()
        parts = _parts.Parts(message, size, _parts.segments_of_parts(message, size, None))
        yield folder, plain, [parts[number].plain for number in range(parts.count)]


def read_part(path, begin, memory):
    with path.open("rb", buffering=0) as source:
        assert os.preadv(source.fileno(), [memory], begin) == len(memory)


def remove(*paths):
    for path in paths:
        path.unlink(missing_ok=True)


def worker_rows(arguments):
    with workers_setting(arguments) as (folder, plain, parts):
        from paraes import objects

        size = arguments.large
        sealed, out, copied = folder / "sealed", folder / "out", folder / "copied"
        options = {"key": KEY, "workers": THREADS}
        buffers = threading.local()

        def copy_part(file, part):
            begin, end = part
            if len(getattr(buffers, "memory", b"")) < end - begin:
                buffers.memory = memoryview(bytearray(end - begin))
            view = buffers.memory[:end - begin]
            read_part(plain, begin, view)
            assert os.pwrite(file, view, begin) == len(view)

        def copy():
            with copied.open("wb") as file, ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(lambda part: copy_part(file.fileno(), part), parts))
                os.fsync(file.fileno())

        def encrypt():
            objects.encrypt(plain, sealed, state=folder / "state", **options)

        def decrypt():
            objects.decrypt(sealed, out, **options)

        def row(direction, crypt, leaves, required):
            """Return the row of a direction, whose decrypted output has been written."""
            call = f"{direction}, parts of {size_text(parts[0][1])}"
            check(lambda: filecmp.cmp(plain, out, shallow=False), "paraes", call)

            def clean():
                remove(copied, *leaves)

            clean()
            return Row("workers", call, size, Contestant("paraes", crypt, clean=clean),
                       Contestant("copy", copy, clean=clean), required=required)

        encrypt()
        paraes.decrypt_file(sealed, out, key=KEY)
        yield row("encrypt", encrypt, (sealed, out), 0.9)
        encrypt()
        decrypt()
        yield row("decrypt", decrypt, (out,), None)


def upload_rows(arguments):
    import s3fs

    size = arguments.large
    with workers_setting(arguments) as (folder, plain, parts), subprocess.Popen(
            [sys.executable, TREE / "tests/python/s3_sink.py"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True) as sink:
        from paraes import objects
        from paraes.objects import _targets

        store = {"endpoint_url": f"http://127.0.0.1:{int(sink.stdout.readline())}", "key": "bench",
                 "secret": "bench", "client_kwargs": {"region_name": "us-east-1"},
                 # Over TLS, the payload has no checksum of its own; neither does it here.
                 "config_kwargs": {"request_checksum_calculation": "when_required",
                                   "s3": {"payload_signing_enabled": False}}}
        fs = s3fs.S3FileSystem(**store)

        def upload_part(target, number):
            begin, end = parts[number]
            data = bytearray(end - begin)
            read_part(plain, begin, data)
            return target.put(number, begin, data)

        def upload():
            target = _targets.S3Target(fs, "bench/plain", True)
            target.begin()
            with ThreadPoolExecutor(THREADS) as pool:
                tags = list(pool.map(lambda number: upload_part(target, number),
                                     range(len(parts))))
            target.complete(tags, size, b"")

        def encrypt():
            done = objects.encrypt(plain, "s3://bench/sealed", key=KEY, workers=THREADS,
                                   target_options=store, overwrite=True, state=folder / "state")
            assert done.bytes == size

        # The server keeps nothing but sizes; python.object_stores checks what is uploaded.
        upload()
        encrypt()
        yield Row("uploads", f"encrypt to S3, parts of {size_text(parts[0][1])}", size,
                  Contestant("paraes", encrypt), Contestant("plain upload", upload), required=0.9)
        sink.stdin.close()


def zarr_rows(arguments):
    import numpy
    import zarr

    from paraes.zarr import EncryptedStore

    size = arguments.large
    # Every thread that zarr and the stores start works on two cores.
    with new_folder(arguments) as path, \
            zarr.config.set({"threading.max_workers": THREADS, "async.concurrency": 10}):
        data = numpy.frombuffer(os.urandom(size), numpy.uint8)
        stores = {"paraes": EncryptedStore(zarr.storage.LocalStore(f"{path}/sealed"), KEY),
                  "plain store": zarr.storage.LocalStore(f"{path}/plain")}
        arrays = {name: zarr.create_array(store, data=data, chunks=(min(MIB, size),),
                                          compressors=None)
                  for name, store in stores.items()}
        check(lambda: numpy.array_equal(arrays["paraes"][:], data), "paraes", "zarr")
        reads = [Contestant(name, lambda a=array: a[:]) for name, array in arrays.items()]
        yield Row("zarr", f"read, chunks of {size_text(min(MIB, size))}", size, *reads,
                  required=0.7)

        def write(array):
            array[:] = data

        writes = [Contestant(name, lambda a=array: write(a)) for name, array in arrays.items()]
        yield Row("zarr", f"write, chunks of {size_text(min(MIB, size))}", size, *writes)


# Each of these may lack a package.
GROUPS = {"files": file_rows, "weights": weights_rows, "objects": object_rows,
          "workers": worker_rows, "uploads": upload_rows, "zarr": zarr_rows}
