"""Encrypted files wherever fsspec reaches: `pip install paraes[fsspec]`.

fsspec.open("paraes::s3://bucket/x.paes", paraes={"key_file": "my.key"}) reads and writes encrypted
objects. Paths are those of the file system below; sizes are those of the plaintext.
docs/how-to/data-tools.md has examples with pandas, pyarrow, polars and others.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, cast

try:
    import fsspec
    import fsspec.asyn
    from fsspec.callbacks import DEFAULT_CALLBACK
    from fsspec.implementations.chained import ChainedFileSystem
except ImportError as _error:
    raise ImportError("paraes.fsspec needs fsspec 2025.10.0 or later: "
                      "pip install 'paraes[fsspec]'") from _error

from fsspec.compression import compr
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem
from fsspec.utils import infer_compression, isfilelike, stringify_path

from paraes import _native
from paraes._messages import Message, MessagesBelow, Wanted, attempt, may_be_replaced
from paraes._recent import Recent
from paraes.exceptions import IntegrityError, InvalidArgument
from paraes.files import DecryptedReader
from paraes.fsspec._options import IN_MEMORY, Secret
from paraes.fsspec._reading import EncryptedFile, InOrder
from paraes.fsspec._reading import ReadAhead as ReadAhead
from paraes.fsspec._upload import Upload, protocols
from paraes.fsspec._writing import Compressed, Text, Writer

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["EncryptedFile", "ParaesFileSystem"]

_OPTIONS_OF_FSSPEC = ("asynchronous", "listings_expiry_time", "loop", "max_paths",
                      "use_listings_cache")
# The pipe_file() of these replaces an object as a whole.
_REPLACES = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "az", "memory"})

_HASH_KEY = os.urandom(32)


class ParaesFileSystem(ChainedFileSystem):  # type: ignore[misc]
    """Encrypted files in another file system.

    fs, or target_protocol and target_options: the other one, of which any will do.
    Options of paraes, one of which has to be a secret: key_file, key, passphrase, identity (to
    read) or recipients and recipients_file (to write), and those of paraes.open(). Pickles have no
    secrets: a file system with key= or passphrase= refuses to be pickled.
    """

    protocol: ClassVar[str] = "paraes"
    root_marker = ""
    # fsspec would keep the secrets until the process ends, and return the same object after a key
    # file was replaced.
    cachable = False
    _strip_tokenize_options = ("fo",)  # that of all URLs is equal

    def __init__(self, fs: AbstractFileSystem | None = None, fo: str | None = None,
                 target_protocol: str | None = None, target_options: dict[str, Any] | None = None,
                 **options: Any) -> None:
        general = {name: options.pop(name) for name in _OPTIONS_OF_FSSPEC if name in options}
        super().__init__(**general)
        if general.get("asynchronous"):
            raise InvalidArgument("asynchronous: this file system has no asynchronous calls; for "
                                  "zarr, take paraes.zarr.EncryptedStore")
        self._has_secret_options = any(options.get(name) is not None for name in IN_MEMORY)
        try:
            self._secret = Secret(options)
        finally:
            options.clear()  # tracebacks show no secrets
        if fs is None:
            if target_protocol is None:
                raise InvalidArgument("name the file system below: paraes::s3://…, fs= or "
                                      "target_protocol=")
            fs = fsspec.filesystem(target_protocol, **(target_options or {}))
        if fs.async_impl and fs.asynchronous:
            raise InvalidArgument("fs: an asynchronous instance cannot be used; pass one without "
                                  "asynchronous=True")
        self.fs = fs
        self._is_local = type(fs) is LocalFileSystem
        self._strip_protocol = self._path  # type: ignore[method-assign]
        self._parent = self._folder_of
        self._messages = MessagesBelow(fs, self._secret.to_open)
        self._known: Recent[str, Message] = Recent(256)

    # ---- What fsspec keeps of an instance, without the secrets

    @property
    def storage_options(self) -> dict[str, Any]:
        return self._storage_options

    @storage_options.setter
    def storage_options(self, options: dict[str, Any]) -> None:
        self._storage_options = {name: value for name, value in options.items()
                                 if name not in IN_MEMORY}

    @property
    def _fs_token_(self) -> str | None:
        return self._token

    @_fs_token_.setter
    def _fs_token_(self, token: str | None) -> None:
        # Whoever sees a fast hash of the options could try passphrases: Dask shows it.
        if token is not None and self._has_secret_options:
            token = hashlib.blake2b(token.encode(), key=_HASH_KEY, digest_size=16).hexdigest()
        self._token = token

    def __reduce__(self) -> Any:
        if self._has_secret_options:
            raise TypeError("a file system with key= or passphrase= cannot be pickled, because the "
                            "pickle would have the secret: pass key_file=")
        return super().__reduce__()

    # ---- Paths

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = _without_paraes(stringify_path(path))
        if "://" in path or "::" in path:
            protocol = path.split("::", 1)[0].split("://", 1)[0]
            return fsspec.get_filesystem_class(protocol)._strip_protocol(path)
        return path.rstrip("/")

    def _path(self, path: Any) -> Any:
        if isinstance(path, list):
            return [self._path(one) for one in path]
        return self.fs._strip_protocol(_without_paraes(stringify_path(path)))

    def _folder_of(self, path: Any) -> str:
        return cast(str, self.fs._parent(self._path(path)))

    def unstrip_protocol(self, name: str) -> str:
        return "paraes::" + cast(str, self.fs.unstrip_protocol(self._path(name)))

    # ---- What the file system below does

    def invalidate_cache(self, path: str | None = None) -> None:
        self._forget(None if path is None else self._path(path))
        self.fs.invalidate_cache(path if path is None else self._path(path))

    def exists(self, path: str, **kwargs: Any) -> bool:
        return cast(bool, self.fs.exists(self._path(path), **kwargs))

    def lexists(self, path: str, **kwargs: Any) -> bool:
        return cast(bool, self.fs.lexists(self._path(path), **kwargs))

    def isdir(self, path: str) -> bool:
        return cast(bool, self.fs.isdir(self._path(path)))

    def isfile(self, path: str) -> bool:
        return cast(bool, self.fs.isfile(self._path(path)))

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        self.fs.mkdir(self._path(path), create_parents=create_parents, **kwargs)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self.fs.makedirs(self._path(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        self.fs.rmdir(self._path(path))

    def rm_file(self, path: str) -> None:
        self._forget(self._path(path))
        self.fs.rm_file(self._path(path))

    _rm = rm_file

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        self._forget(None)
        self.fs.rm(self._path(path), recursive=recursive, maxdepth=maxdepth)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Copy the message as it is."""
        self._forget(self._path(path2))
        self.fs.cp_file(self._path(path1), self._path(path2), **kwargs)

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None,
           **kwargs: Any) -> None:
        """Move messages as they are."""
        self._forget(None)
        # SFTP's takes neither.
        if recursive:
            kwargs["recursive"] = True
        if maxdepth is not None:
            kwargs["maxdepth"] = maxdepth
        self.fs.mv(self._path(path1), self._path(path2), **kwargs)

    def checksum(self, path: str) -> Any:
        return self.fs.checksum(self._path(path))

    def ukey(self, path: str) -> str:
        return cast(str, self.fs.ukey(self._path(path)))

    def created(self, path: str) -> Any:
        return self.fs.created(self._path(path))

    def modified(self, path: str) -> Any:
        return self.fs.modified(self._path(path))

    # ---- Names and sizes

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        """Return what the file system below returns, with the plaintext's size as `size`.

        It is computed from the size of the message, `sealed_size`, and None if no message has that
        size. open() authenticates it."""
        return self._with_plain_sizes([self.fs.info(self._path(path), **kwargs)])[0]

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        if not detail:
            return self.fs.ls(self._path(path), detail=False, **kwargs)
        return self._with_plain_sizes(self.fs.ls(self._path(path), detail=True, **kwargs))

    def find(self, path: str, maxdepth: int | None = None, withdirs: bool = False,
             detail: bool = False, **kwargs: Any) -> Any:
        found = self.fs.find(self._path(path), maxdepth=maxdepth, withdirs=withdirs, detail=detail,
                             **kwargs)
        if not detail:
            return found
        return dict(zip(found, self._with_plain_sizes(list(found.values())), strict=True))

    def du(self, path: str, total: bool = True, maxdepth: int | None = None,
           withdirs: bool = False, **kwargs: Any) -> Any:
        """The bytes of plaintext. What is no message has none."""
        found = self.find(path, maxdepth=maxdepth, withdirs=withdirs, detail=True, **kwargs)
        sizes = {name: info["size"] or 0 for name, info in found.items()}
        return sum(sizes.values()) if total else sizes

    def _with_plain_sizes(self, infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
        infos = [dict(info) for info in infos]
        files = [info for info in infos if info.get("type") != "directory"]
        secret = self._secret.opens or self._secret.to_seal()
        starts: list[Any] = [None] * len(files)
        if secret.header_varies and files:
            count = len(files)
            starts = self._messages.cat_ranges([info["name"] for info in files], [0] * count,
                                               [32] * count, {})
        for info, start in zip(files, starts, strict=True):
            sealed_size = info["sealed_size"] = info.get("size")
            info["size"] = None
            if sealed_size is None or isinstance(start, Exception):
                continue
            with contextlib.suppress(IntegrityError):
                info["size"] = secret.plain_bytes(sealed_size, start)
        return infos

    # ---- Reading

    def _forget(self, path: str | None) -> None:
        if path is None:
            self._known.clear()
        else:
            self._known.drop(path)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None,
                 **kwargs: Any) -> bytes:
        """Return all of the plaintext, or a range of it."""
        path = self._path(path)
        if start is None and end is None:
            return self._secret.to_open().unseal(self.fs.cat_file(path, **kwargs))
        return cast(bytes, self.cat_ranges([path], [start], [end], on_error="raise", **kwargs)[0])

    def cat_ranges(self, paths: list[str], starts: Any, ends: Any, max_gap: int | None = None,
                   on_error: str = "return", **kwargs: Any) -> list[Any]:
        """Return ranges of the plaintext of one or more objects, which are fetched at once."""
        if max_gap is not None:
            raise NotImplementedError("max_gap: ranges are not merged")
        if not isinstance(paths, list):
            raise TypeError("paths: a list is required")
        count = len(paths)
        starts = list(starts) if isinstance(starts, Iterable) else [starts] * count
        ends = list(ends) if isinstance(ends, Iterable) else [ends] * count
        if len(starts) != count or len(ends) != count:
            raise ValueError("paths, starts and ends: they have different lengths")
        paths = [self._path(path) for path in paths]
        known: dict[str, Any] = {}
        if not kwargs:
            known = {path: self._known.get(path) for path in paths}
        out = self._plain_ranges(paths, starts, ends, known=known, options=kwargs)
        # An object may have been replaced since it was opened: then nothing of it authenticates.
        stale = [at for at, part in enumerate(out) if may_be_replaced(part)]
        if stale:
            columns = [[column[at] for at in stale] for column in (paths, starts, ends)]
            again = self._plain_ranges(*columns, known={}, options=kwargs)
            for at, part in zip(stale, again, strict=True):
                out[at] = part
        if on_error != "return":
            for part in out:
                if isinstance(part, BaseException):
                    raise part
        return out

    def _plain_ranges(self, paths: list[Any], starts: list[Any], ends: list[Any], *,
                      known: dict[str, Any], options: dict[str, Any]) -> list[Any]:
        messages = dict.fromkeys(paths) | known
        missing = [path for path, message in messages.items() if message is None]
        for path, message in zip(missing, self._messages.open(missing, options), strict=True):
            messages[path] = message
            if isinstance(message, Message) and not options:
                self._known.put(path, message)
        ranges: list[tuple[str, int, int]] = []
        parts: list[Any] = []
        for path, start, end in zip(paths, starts, ends, strict=True):
            part: Any = messages[path]
            if isinstance(part, Message):
                begin, stop, _ = slice(start, end).indices(part.size)
                part = Wanted(part, begin, max(begin, stop))
                ranges += [(path, *sealed) for sealed in part.sealed]
            parts.append(part)
        fetched = iter(self._messages.fetch(ranges, options))
        out: list[Any] = []
        for part in parts:
            if isinstance(part, Wanted):
                part = attempt(part.plain, [next(fetched) for _ in part.sealed])
            out.append(part)
        return out

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise",
            **kwargs: Any) -> Any:
        """Return the plaintext of an object, or of several by their names."""
        paths = self.expand_path(path, recursive=recursive)
        if len(paths) == 1 and not isinstance(path, list) and paths[0] == self._path(path):
            return self.cat_file(paths[0], **kwargs)
        paths = [one for one in paths if not (recursive and self.isdir(one))]
        anything = [None] * len(paths)
        fetched = self._messages.cat_ranges(paths, anything, anything, kwargs) if paths else []
        secret = self._secret.to_open()
        out: dict[str, Any] = {}
        for name, data in zip(paths, fetched, strict=True):
            found = data if isinstance(data, BaseException) else attempt(secret.unseal, data)
            if not isinstance(found, BaseException) or on_error == "return":
                out[name] = found
            elif on_error == "raise":
                raise found
        return out

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None,
              autocommit: bool = True, cache_options: dict[str, Any] | None = None,
              **kwargs: Any) -> Any:
        if mode == "rb":
            return self._open_to_read(path, block_size, cache_options, kwargs)
        if mode not in ("wb", "xb"):
            raise InvalidArgument(f"mode: it is 'rb', 'wb' or 'xb', not {mode!r}: an encrypted "
                                  "object is written as a whole")
        secret = self._secret.to_seal()
        written = functools.partial(self._forget, path)
        if self._is_local:
            if self.fs.auto_mkdir:
                self.fs.makedirs(self._parent(path), exist_ok=True)
            native = secret.open_writer(path, mode == "xb")
            return Writer(path, native, mode, None, autocommit, written)
        if block_size is not None:
            kwargs["block_size"] = block_size
        upload = Upload(self.fs, path, mode, kwargs)
        try:
            native = secret.open_writer(upload, False)
        except BaseException:
            upload.discard(wait=True)
            raise
        return Writer(path, native, mode, upload, autocommit, written)

    def _open_to_read(self, path: str, block_size: int | None,
                      cache_options: dict[str, Any] | None, kwargs: dict[str, Any]) -> Any:
        secret = self._secret.to_open()
        kwargs.pop("size", None)  # of a file that was pickled: the present one is authenticated
        cache_type = kwargs.pop("cache_type", None)
        source: Any
        if self._is_local:
            native = secret.open_reader(path)
            if not isinstance(native, _native.PlainReader):
                return DecryptedReader(path, native)
            source = native
        else:
            info = self.fs.info(path, **kwargs)
            if info["type"] != "directory" and info.get("size") is None:
                return InOrder(self.fs.open(path, "rb", **kwargs), secret)
            source = self._messages.open([path], kwargs)[0]
            if isinstance(source, Exception):
                raise source
        return EncryptedFile(self, path, source, block_size=block_size, cache_type=cache_type,
                             cache_options=cache_options, **kwargs)

    def open(self, path: str, mode: str = "rb", block_size: int | None = None,
             cache_options: dict[str, Any] | None = None, compression: str | None = None,
             **kwargs: Any) -> Any:
        """Open an object as a file of its plaintext.

        A written file appears when it is closed, and not at all after an exception in a `with`
        block. compression="infer" looks at the name without .paes.
        """
        path = self._path(path)
        if compression == "infer":
            compression = infer_compression(path.removesuffix(".paes"))
        if "r" in mode:
            return super().open(path, mode, block_size, cache_options, compression, **kwargs)
        if compression is not None and compression not in compr:
            raise InvalidArgument(f"compression: fsspec has no {compression!r}; it has "
                                  f"{', '.join(map(str, compr))}")
        text = {name: kwargs.pop(name) for name in ("encoding", "errors", "newline")
                if name in kwargs}
        file = super().open(path, mode.replace("t", "").replace("b", "") + "b", block_size,
                            cache_options, **kwargs)
        if compression is not None:
            file = Compressed(compr[compression](file, mode="w"), file)
        return file if "b" in mode else Text(file, **text)

    # ---- Writing

    def pipe_file(self, path: str, value: Buffer, mode: str = "overwrite", **kwargs: Any) -> None:
        """Encrypt `value` as an object."""
        path = self._path(path)
        if mode == "create":
            kwargs["mode"] = mode
        if _REPLACES.isdisjoint(protocols(self.fs)):
            with self.open(path, "xb" if mode == "create" else "wb") as file:
                file.write(value)
        else:
            self.fs.pipe_file(path, self._secret.to_seal().seal(value), **kwargs)
        self._forget(path)

    def pipe(self, path: Any, value: Buffer | None = None, **kwargs: Any) -> None:
        if not isinstance(path, dict) or _REPLACES.isdisjoint(protocols(self.fs)):
            super().pipe(path, value, **kwargs)
            return
        secret = self._secret.to_seal()
        self.fs.pipe({self._path(name): secret.seal(data) for name, data in path.items()}, **kwargs)
        self._forget(None)

    def get_file(self, rpath: str, lpath: Any = None, callback: Any = DEFAULT_CALLBACK,
                 outfile: Any = None, **kwargs: Any) -> None:
        """Decrypt an object to a local file, which appears when it is complete."""
        if outfile is not None or isfilelike(lpath) or self.isdir(rpath):
            super().get_file(rpath, lpath, callback=callback, outfile=outfile, **kwargs)
            return
        target = os.fspath(lpath)
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        name = f"{target}.{secrets.token_hex(8)}.partial"
        try:
            with open(name, "xb") as file:
                super().get_file(rpath, name, callback=callback, outfile=file, **kwargs)
            os.replace(name, target)
        except BaseException:
            if os.path.exists(name):
                os.unlink(name)
            raise

    def sign(self, path: str, expiration: int = 100, **kwargs: Any) -> str:
        raise NotImplementedError("a signed URL leads to the ciphertext: sign it with the file "
                                  "system below")


def _without_paraes(path: str) -> str:
    for prefix in ("paraes::", "paraes://"):
        path = path.removeprefix(prefix)
    return path
