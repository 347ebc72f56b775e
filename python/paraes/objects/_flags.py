"""The flags of `paraes-objects`, and the texts of its help."""

from __future__ import annotations

import argparse
import json
from typing import Any

import paraes
from paraes.lab.units import parse_size

_ABOUT = """\
Encrypts and decrypts large objects, in S3 or wherever else fsspec reaches, with many workers:
threads of this machine, or the processes of Dask or MPI. What it writes is what `paraes encrypt`
writes. SOURCE and TARGET are URLs, as s3://bucket/name, or names of files."""

_MORE = """\
Stores are configured as for all programs of fsspec: credentials of S3 come from the environment,
~/.aws or the machine's role, and an endpoint from AWS_ENDPOINT_URL or ~/.config/fsspec.
Exit status: 0 done, 1 input or output failed, 2 usage or refusal, 4 damaged, 5 wrong key.
docs/how-to/object-storage.md has examples."""


class UsageError(Exception):
    pass


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(f"{message} (see {self.prog} --help)")


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise argparse.ArgumentTypeError("it is no string of hex digits") from None


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _add_keys(parser: argparse.ArgumentParser, verb: str) -> None:
    keys = parser.add_argument_group("keys")
    keys.add_argument("-k", "--key-file", metavar="FILE",
                      help="key of 16 or 32 bytes, or a Tink keyset; each worker reads it")
    keys.add_argument("--key-command", metavar="CMD",
                      help="key that a shell command prints; each worker runs it")
    keys.add_argument("--key-hex", type=_hex, metavar="HEX",
                      help="key in hex; only for tests: the process list shows it")
    keys.add_argument("--passphrase-file", metavar="FILE",
                      help="passphrase from a file, without one final newline")
    keys.add_argument("--passphrase-fd", type=int, metavar="N",
                      help="passphrase from an open file descriptor")
    keys.add_argument("--passphrase-env", metavar="VAR",
                      help="passphrase from an environment variable")
    keys.add_argument("--passphrase-command", metavar="CMD",
                      help="passphrase that a shell command prints")
    if verb == "encrypt":
        keys.add_argument("--recipient", action="append", metavar="KEY",
                          help="public key that can decrypt; repeatable; needs age")
        keys.add_argument("--recipients-file", action="append", metavar="FILE",
                          help="recipients from a file, one a line; repeatable")
    else:
        keys.add_argument("-i", "--identity", action="append", metavar="FILE",
                          help="private key, as of age or SSH; repeatable; needs age")
    form = parser.add_argument_group("format")
    form.add_argument("--format", choices=("paraes", "c2sp", "tink"),
                      help="layout of the object (default: paraes)")
    form.add_argument("--context-hex", type=_hex, metavar="HEX",
                      help="context: decryption needs the same bytes")
    form.add_argument("--segment-size", type=_size, metavar="SIZE",
                      help="tink with a raw key: size of a segment (default 1MiB)")
    form.add_argument("--tink-hash", choices=("sha1", "sha256", "sha512"), type=str.lower,
                      help="tink with a raw key: hash of HKDF (default sha256)")
    if verb == "encrypt":
        form.add_argument("--key-bits", type=int, choices=(128, 256),
                          help="size of the AES key, with a passphrase or recipients")
        form.add_argument("--scrypt-log2n", type=int, metavar="N",
                          help="with a passphrase: scrypt's cost is 2^N (default 17)")
    else:
        form.add_argument("--max-scrypt-log2n", type=int, metavar="N",
                          help="with a passphrase: the highest cost to accept (default 22)")


def _add_workers(parser: argparse.ArgumentParser) -> None:
    workers = parser.add_argument_group("workers")
    workers.add_argument("--workers", type=int, metavar="N",
                         help="threads of this machine (default: twice the cores, up to 32)")
    workers.add_argument("--processes", type=int, metavar="N", help="processes of this machine")
    workers.add_argument("--dask", metavar="ADDRESS",
                         help="the scheduler of a Dask cluster, as tls://host:8786")
    workers.add_argument("--tls-ca-file", metavar="FILE", help="Dask: certificate of the authority")
    workers.add_argument("--tls-cert", metavar="FILE", help="Dask: certificate of this client")
    workers.add_argument("--tls-key", metavar="FILE", help="Dask: private key of this client")
    workers.add_argument("--mpi", action="store_true",
                         help="the other ranks of MPI: start this with `mpiexec -n 17`")


def _add_reports(parser: argparse.ArgumentParser) -> None:
    reports = parser.add_argument_group("reports")
    reports.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    reports.add_argument("--json", action="store_true", help="print the result as a JSON object")
    reports.add_argument("--progress", action=argparse.BooleanOptionalAction, default=None,
                         help="show how far it is (default: if standard error is a terminal)")


_VERBS = {
    "encrypt": "Encrypt SOURCE to TARGET.",
    "decrypt": "Decrypt SOURCE to TARGET, which appears when all of it is authenticated.",
    "verify": "Authenticate all of SOURCE, and write nothing.",
    "resume": "Go on with an encryption to TARGET that was interrupted.",
    "abort": "Give up a run for TARGET that was interrupted, and remove its parts.",
    "list": "List runs that were interrupted.",
}


def parser() -> argparse.ArgumentParser:
    top = _Parser("paraes-objects", description=_ABOUT, epilog=_MORE, allow_abbrev=False,
                  formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"paraes-objects {paraes.__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, about in _VERBS.items():
        one = verbs.add_parser(verb, help=about, description=about, allow_abbrev=False)
        if verb in ("encrypt", "decrypt", "verify"):
            one.add_argument("source", metavar="SOURCE")
        if verb in ("encrypt", "decrypt", "resume", "abort"):
            one.add_argument("target", metavar="TARGET")
        if verb not in ("abort", "list"):
            _add_keys(one, verb)
            _add_workers(one)
        store = one.add_argument_group("objects")
        if verb in ("encrypt", "decrypt"):
            store.add_argument("-f", "--force", dest="overwrite", action="store_true",
                               help="replace an existing target")
        if verb in ("encrypt", "decrypt", "verify"):
            store.add_argument("--part-size", type=_size, metavar="SIZE",
                               help="5MiB to 5GiB (default: by the size of SOURCE)")
        if verb in ("encrypt", "resume"):
            store.add_argument("--abort-on-failure", dest="keep", action="store_false",
                               help="keep nothing for `resume` if the network or a worker fails")
        if verb == "encrypt":
            store.add_argument("--restart", action="store_true",
                               help="give up what an interrupted run has left, and start anew")
        if verb in ("encrypt", "resume", "abort"):
            store.add_argument("--state", metavar="FILE",
                               help="where the state is (default: below ~/.local/state/paraes)")
        if verb in ("encrypt", "decrypt", "verify", "resume"):
            store.add_argument("--source-option", dest="source_options", type=_option,
                               action="append", default=[], metavar="NAME=VALUE",
                               help="option of fsspec for SOURCE; repeatable")
        if verb in ("encrypt", "decrypt", "resume", "abort"):
            store.add_argument("--target-option", dest="target_options", type=_option,
                               action="append", default=[], metavar="NAME=VALUE",
                               help="option of fsspec for TARGET; repeatable")
        _add_reports(one)
    return top
