"""paraes.objects on files and in memory, its parts, its state, and the command paraes-objects.

test_object_stores.py has S3, Dask, MPI, and networks that fail.
"""

import base64
import errno
import json
import multiprocessing
import os
import pickle
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.connection import Client
from pathlib import Path

import fsspec
import pytest
from helpers import (
    KEY,
    content,
    new_identity,
    once,
    refuses_without_secrets,
    rewrite,
    run_python,
)
from hypothesis import given
from hypothesis import strategies as st

import paraes
from paraes import FileError, IntegrityError, InvalidArgument, WrongKey, _native, objects
from paraes.objects import _channel, _engines, _parts, _state, _work
from paraes.objects._state import State

pytestmark = pytest.mark.usefixtures("folder")
MIB = 1 << 20
SEGMENT = 16384
BLOCK = os.urandom(12 * MIB + 7)
SMALL = 5 * MIB  # the smallest parts


@pytest.fixture(autouse=True)
def states(folder, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "home"))
    Path("my.key").write_bytes(KEY)
    Path("plain").write_bytes(BLOCK)
    return folder / "home/paraes/objects"


def left():
    """All files but those that a test has made."""
    found = {str(path) for path in Path().rglob("*") if path.is_file()}
    return sorted(found - {"my.key", "plain"})


def encrypt(target="sealed", **options):
    """From `plain`, with the key and the smallest parts unless the options name others."""
    if not {"key", "key_file", "key_command", "passphrase", "recipients"} & options.keys():
        options["key"] = KEY
    return objects.encrypt("plain", target, **{"part_size": SMALL, **options})


def check_sealed(plain=BLOCK, name="sealed", **options):
    assert paraes.unseal(content(name), **(options or {"key": KEY})) == plain


def segments(**options):
    return _native.Secret(True, {"key": KEY, **options}).new_segments()


# ---- Parts


TEBI = 1 << 40


@given(size=st.integers(0, 45 * TEBI), format=st.sampled_from(["paraes", "c2sp", "tink"]))
def test_parts_cover_an_object(size, format):
    message = segments(format=format)
    per_part = _parts.segments_of_parts(message, size, None)
    parts = _parts.Parts(message, size, per_part)
    assert 0 < parts.count <= _parts.MOST_PARTS
    first, last = parts[0], parts[parts.count - 1]
    assert first.plain[0] == first.sealed[0] == 0
    assert last.ends and last.plain[1] == size
    assert last.sealed[1] == message.sealed_bytes(size)
    for number in {1, parts.count // 2, parts.count - 1} - {0, parts.count}:
        before, part = parts[number - 1], parts[number]
        assert not before.ends
        assert before.after == part.first
        assert before.plain[1] == part.plain[0] and before.sealed[1] == part.sealed[0]
        assert before.plain_bytes >= _parts.LEAST_BYTES and before.sealed_bytes <= _parts.MOST_BYTES


def test_too_large_and_too_small():
    message = segments()
    with pytest.raises(InvalidArgument, match="more than 10000 parts of 5 GiB"):
        _parts.segments_of_parts(message, 60 * TEBI, None)
    with pytest.raises(InvalidArgument, match="choose larger ones"):
        _parts.segments_of_parts(message, TEBI, SMALL)
    for size in (SMALL - 1, (5 << 30) + 1, 0, -1):
        with pytest.raises(InvalidArgument, match="part_size: it is 5242880"):
            encrypt(part_size=size)
    assert left() == []


# ---- Files


@pytest.mark.parametrize("size", [0, 1, SEGMENT - 1, SEGMENT, SMALL - 1, SMALL, SMALL + 1,
                                  2 * SMALL, 2 * SMALL + SEGMENT])
def test_sizes(size):
    Path("plain").write_bytes(BLOCK[:size])
    assert encrypt(key_file="my.key") == (
        f"file://{os.getcwd()}/sealed", size, size // SMALL + 1)
    check_sealed(BLOCK[:size])
    assert objects.verify("sealed", key=KEY, part_size=SMALL).bytes == size
    assert objects.decrypt("sealed", "out", key=KEY, part_size=SMALL).bytes == size
    assert content("out") == BLOCK[:size]
    assert left() == ["out", "sealed"]


@pytest.mark.parametrize("options", [
    {"format": "c2sp", "context": b"name"},
    {"format": "tink"},
    {"format": "tink", "segment_size": 4096, "tink_hash": "sha512"},
    {"context": b"name"},
])
def test_formats(options):
    encrypt(key_file="my.key", **options)
    check_sealed(key=KEY, **options)
    objects.decrypt("sealed", "out", key=KEY, part_size=SMALL, **options)
    assert content("out") == BLOCK
    Path("other").write_bytes(paraes.seal(BLOCK, key=KEY, **options))
    objects.decrypt("other", "out", key=KEY, overwrite=True, **options)
    assert content("out") == BLOCK


def test_secrets():
    objects.encrypt("plain", "a", key_command="cat my.key")
    assert objects.verify("a", key_file="my.key").bytes == len(BLOCK)
    objects.encrypt("plain", "b", passphrase="open sesame", scrypt_log2n=4, key_bits=128)
    check_sealed(name="b", passphrase="open sesame")
    assert objects.verify("b", passphrase=b"open sesame").bytes == len(BLOCK)
    with pytest.raises(WrongKey):
        objects.decrypt("b", "out", passphrase="sesame")
    with pytest.raises(WrongKey):
        objects.verify("a", key=bytes(32))
    assert left() == ["a", "b"]


def test_recipients():
    me = new_identity("me")
    encrypt(recipients=[me])
    check_sealed(identity="me")
    objects.decrypt("sealed", "out", identity="me")
    assert content("out") == BLOCK
    os.unlink("sealed")
    # The identity resumes what the recipient began.
    interrupted_run(recipients=[me])
    objects.resume("sealed", identity="me")
    check_sealed(identity="me")


def test_a_command_that_fails():
    for command, text in (("exit 3", "key_command: it failed with exit status 3"),
                          ("echo abc", "the key has 4 bytes"),
                          ("head -c 100000 /dev/zero", "key_command: what it prints is no key")):
        with pytest.raises(InvalidArgument, match=text):
            objects.encrypt("plain", "sealed", key_command=command)
    with pytest.raises(InvalidArgument, match="another secret is given, too"):
        objects.encrypt("plain", "sealed", key_command="cat my.key", key=KEY)
    with pytest.raises(TypeError, match="no option 'keyfile'"):
        objects.encrypt("plain", "sealed", keyfile="my.key")
    assert left() == []


def test_tracebacks():
    for arguments in ({"passphrase": "secret", "recipient": 1},
                      {"passphrase": "secret", "key": KEY},
                      {"passphrase": "secret", "scrypt_log2n": 99}):
        refuses_without_secrets(lambda given=arguments: objects.encrypt("plain", "out", **given))
    refuses_without_secrets(lambda: objects.encrypt("no", "out", passphrase="secret"))


def test_what_a_target_takes_over():
    os.chmod("plain", 0o640)
    os.utime("plain", ns=(1, 1_000_000_000_123_456_789))
    objects.encrypt("plain", "sealed", key=KEY)
    objects.decrypt("sealed", "out", key=KEY)
    for name in ("sealed", "out"):
        status = os.stat(name)
        assert stat.S_IMODE(status.st_mode) == 0o640
        assert status.st_mtime_ns == 1_000_000_000_123_456_789


def test_an_existing_target():
    Path("sealed").write_bytes(b"old")
    with pytest.raises(FileExistsError, match="exists already and was not replaced"):
        objects.encrypt("plain", "sealed", key=KEY)
    assert content("sealed") == b"old"
    Path("folder").mkdir()
    Path("folder/to").symlink_to("../sealed")
    objects.encrypt("plain", "folder/to", key=KEY, overwrite=True)
    assert Path("folder/to").is_symlink()
    check_sealed()
    with pytest.raises(IsADirectoryError):
        objects.encrypt("plain", "folder", key=KEY, overwrite=True)


def test_a_target_that_appears_meanwhile():
    def progress(done, total):
        if done == total:
            Path("sealed").write_bytes(b"of another program")

    with pytest.raises(FileExistsError):
        objects.encrypt("plain", "sealed", key=KEY, progress=progress)
    assert content("sealed") == b"of another program"
    assert left() == ["sealed"]


def test_files_of_keys_and_the_source():
    for call in (objects.encrypt, objects.decrypt):
        with pytest.raises(InvalidArgument, match="my.key"):
            call("my.key", "out", key_file="my.key")
    with pytest.raises(InvalidArgument, match="my.key"):
        objects.encrypt("plain", "my.key", key_file="my.key", overwrite=True)
    Path("copy").write_bytes(KEY)
    with pytest.raises(InvalidArgument, match="copy"):
        objects.encrypt("plain", "copy", key=KEY, overwrite=True)
    os.link("plain", "again")
    with pytest.raises(InvalidArgument, match="it is the source itself"):
        objects.encrypt("plain", "again", key=KEY, overwrite=True)
    assert content("my.key") == content("copy") == KEY
    assert content("plain") == BLOCK


def test_what_is_no_source():
    with pytest.raises(FileNotFoundError):
        objects.encrypt("no", "out", key=KEY)
    with pytest.raises(IsADirectoryError):
        objects.encrypt(".", "out", key=KEY)
    os.mkfifo("pipe")
    with pytest.raises(InvalidArgument, match="it is no regular file"):
        objects.encrypt("pipe", "out", key=KEY)
    with pytest.raises(InvalidArgument, match="it is no regular file"):
        objects.encrypt("plain", "pipe", key=KEY, overwrite=True)
    with pytest.raises(InvalidArgument, match="compressed by fsspec"):
        objects.encrypt(fsspec.open("plain", compression="gzip"), "out", key=KEY)
    with pytest.raises(InvalidArgument, match="would encrypt it once more"):
        objects.encrypt("plain", "paraes::file://out", key=KEY, target_options={
            "paraes": {"key_file": "my.key"}})
    assert left() == []


def test_damage():
    objects.encrypt("plain", "sealed", key=KEY)
    sealed = bytearray(content("sealed"))
    sealed[9 * MIB] ^= 1
    Path("bad").write_bytes(sealed)
    with pytest.raises(IntegrityError):
        objects.decrypt("bad", "out", key=KEY, part_size=SMALL)
    with pytest.raises(IntegrityError):
        objects.verify("bad", key=KEY)
    Path("bad").write_bytes(sealed[:8 * MIB])
    with pytest.raises(IntegrityError):
        objects.decrypt("bad", "out", key=KEY)
    Path("bad").write_bytes(b"")
    with pytest.raises(IntegrityError):
        objects.decrypt("bad", "out", key=KEY)
    assert left() == ["bad", "sealed"]


# ---- Other file systems, and executors


def test_memory_in_order():
    fsspec.filesystem("memory").store.clear()
    fsspec.filesystem("memory").pipe("/plain", BLOCK)
    objects.encrypt("memory://plain", "memory://sealed", key=KEY, part_size=SMALL, workers=3)
    sealed = fsspec.filesystem("memory").cat("/sealed")
    assert paraes.unseal(sealed, key=KEY) == BLOCK
    with pytest.raises(FileExistsError):
        objects.encrypt("plain", "memory://sealed", key=KEY)
    objects.decrypt(fsspec.open("memory://sealed"), "out", key=KEY, part_size=SMALL)
    assert content("out") == BLOCK
    with pytest.raises(WrongKey):
        objects.decrypt("memory://sealed", "memory://other", key=bytes(32))
    with pytest.raises(ZeroDivisionError):
        objects.encrypt("plain", "memory://other", key=KEY, part_size=SMALL,
                        progress=lambda done, total: done and 1 // 0)
    assert sorted(fsspec.filesystem("memory").store) == ["/plain", "/sealed"]


def test_a_source_that_is_encrypted():
    Path("old").write_bytes(paraes.seal(BLOCK, key=bytes(32)))
    Path("old.key").write_bytes(bytes(32))
    objects.encrypt("paraes::file://old", "sealed", key=KEY, source_options={
        "paraes": {"key_file": "old.key"}})
    check_sealed()


def test_a_pool_of_threads():
    with ThreadPoolExecutor(3) as pool:
        encrypt(executor=pool)
        objects.decrypt("sealed", "out", key=KEY, executor=pool)
        with pytest.raises(InvalidArgument, match="its own number"):
            objects.verify("sealed", key=KEY, executor=pool, workers=2)
        assert pool.submit(int).result() == 0  # it goes on
    assert content("out") == BLOCK
    with pytest.raises(InvalidArgument, match="workers: it is at least 1, not 0"):
        objects.verify("sealed", key=KEY, workers=0)


def test_what_is_no_executor():
    with pytest.raises(InvalidArgument, match="not builtins.int"):
        objects.encrypt("plain", "sealed", key=KEY, executor=5)

    class Other(Executor):
        def submit(self, function, *arguments):
            done = Future()
            try:
                done.set_result(function(*arguments))
            except Exception as error:
                done.set_exception(error)
            return done

    with pytest.raises(InvalidArgument, match="nobody knows how .*Other sends it"):
        objects.encrypt("plain", "sealed", key=KEY, executor=Other())
    encrypt(key_file="my.key", executor=Other())
    check_sealed()


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("secret", [{"key": KEY}, {"key_file": "my.key"},
                                    {"key_command": "cat my.key"}])
def test_processes(processes, secret):
    encrypt(executor=processes, **secret)
    check_sealed()
    objects.decrypt("sealed", "out", executor=processes, part_size=SMALL, **secret)
    assert content("out") == BLOCK
    objects.encrypt("plain", "memory://of_processes", executor=processes,
                    overwrite=True, **secret)
    sealed = fsspec.filesystem("memory").cat("/of_processes")
    assert paraes.unseal(sealed, key=KEY) == BLOCK
    assert objects.verify("sealed", executor=processes, **secret).bytes == len(BLOCK)
    with pytest.raises(WrongKey):
        objects.verify("sealed", key=bytes(32), executor=processes)


def test_a_key_that_the_workers_do_not_have(processes):
    """The coordinator has read it, and then it is gone."""
    with pytest.raises(paraes.Unavailable, match="this worker cannot read the key: /.*/my.key"):
        encrypt(key_file="my.key", executor=processes,
                progress=lambda done, total: Path("my.key").unlink(missing_ok=True))
    Path("my.key").write_bytes(KEY)
    objects.resume("sealed", key_file="my.key", executor=processes)  # it was kept
    check_sealed()


def known_jobs():
    return len(_work._jobs._items)


def test_processes_forget_keys(processes):
    encrypt(executor=processes)
    time.sleep(0.2)
    for _ in range(20):
        assert processes.submit(known_jobs).result() == 0


def test_forked_processes_do_not_keep_the_state():
    """Nor what the others are connected with: they would wait for ever."""
    for _ in range(5):
        with ProcessPoolExecutor(4, multiprocessing.get_context("fork")) as pool:
            interrupted_run(workers=None, executor=pool)
            objects.resume("sealed", key=KEY, executor=pool)
        check_sealed()
        os.unlink("sealed")


def test_strangers_at_the_desk():
    """Who has not the key of the run gets no answer, and takes no thread for ever."""
    asked = []
    desk = _channel.Desk(lambda number, mark: bool(asked.append(number)) or number == 7, True)
    strangers = []
    for _ in range(20):
        strangers.append(socket.create_connection(("127.0.0.1", desk.address.port)))
    with pytest.raises((multiprocessing.AuthenticationError, EOFError, OSError)):
        Client(("127.0.0.1", desk.address.port), "AF_INET", b"another key")
    assert desk.address.claim(7, b"m" * 32) and not desk.address.claim(8, b"m" * 32)
    elsewhere = pickle.loads(pickle.dumps(desk.address))
    elsewhere.host = "another host"
    assert elsewhere.claim(7, b"m" * 32)
    # A worker that dies while it waits.
    with Client(("127.0.0.1", desk.address.port), "AF_INET", desk.address.key) as worker:
        worker.send_bytes(_channel._QUESTION.pack(7, b"m" * 32))
    assert desk.error is None
    desk.close()
    for thread in threading.enumerate():
        if thread.name.startswith("paraes-claim"):
            thread.join(10)
            assert not thread.is_alive()
    assert set(asked) == {7, 8}
    for one in strangers:
        one.close()
    with pytest.raises(paraes.Error, match="cannot reach the program"):
        desk.address.claim(7, b"m" * 32)


def test_a_desk_whose_claims_fail():
    def full(number, mark):
        raise OSError(errno.ENOSPC, "full")

    desk = _channel.Desk(full, False)
    with pytest.raises(paraes.Error, match="could not write its state"):
        desk.address.claim(0, b"m" * 32)
    assert desk.error.errno == errno.ENOSPC
    desk.close()


def test_a_worker_that_is_killed():
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(paraes.Error, match="a worker has died") as caught:
            encrypt(key_file="my.key", executor=pool, progress=once(
                lambda: os.kill(next(iter(pool._processes)), signal.SIGKILL)))
    assert "resume" in caught.value.__notes__[0]
    objects.resume("sealed", key_file="my.key")
    check_sealed()
    assert left() == ["sealed"]


# ---- Sources that change, and runs that are interrupted


def failing(after, error=None):
    """A callback that fails once so many bytes are done, as a network does."""
    def progress(done, total):
        if done >= after:
            raise error or OSError(errno.EIO, "a cable")
    return progress


@pytest.mark.parametrize("change", [lambda path, data: Path(path).write_bytes(data), rewrite],
                         ids=["written", "in place with its old time"])
def test_a_source_that_changes_once(change):
    new = os.urandom(len(BLOCK))
    encrypt(workers=1, progress=once(lambda: change("plain", new)))
    check_sealed(new)
    assert left() == ["sealed"]


def test_a_source_that_changes_all_the_time():
    def progress(done, total):
        if done:
            Path("plain").write_bytes(os.urandom(len(BLOCK)))

    with pytest.raises(FileError, match="it changed while it was read") as caught:
        encrypt(workers=1, progress=progress)
    assert caught.value.errno == errno.ESTALE
    assert left() == []


def test_a_message_that_is_replaced_while_it_is_read():
    objects.encrypt("plain", "sealed", key=KEY)
    other = paraes.seal(BLOCK, key=KEY)
    with pytest.raises(FileError, match="it changed while it was read"):
        objects.decrypt("sealed", "out", key=KEY, part_size=SMALL, workers=1,
                        progress=once(lambda: Path("sealed").write_bytes(other)))
    assert left() == ["sealed"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_leaves_nothing(error):
    with pytest.raises(error):
        encrypt(progress=failing(1, error))
    assert left() == []


def interrupted_run(**options):
    with pytest.raises(OSError, match="a cable") as caught:
        encrypt(**{"workers": 1, "progress": failing(SMALL), **options})
    return caught.value


def the_partial():
    (path,) = Path().glob("sealed.*.partial")
    return content(path)


def test_resume():
    error = interrupted_run()
    assert f"resume file://{os.getcwd()}/sealed" in error.__notes__[0]
    (one,) = objects.interrupted()
    assert one == ("encrypt", f"file://{os.getcwd()}/sealed", f"file://{os.getcwd()}/plain",
                   len(BLOCK), 3, 1, one.state, False)
    for again in ({}, {"overwrite": True}):
        with pytest.raises(FileExistsError, match="an encryption of it was interrupted"):
            objects.encrypt("plain", "sealed", key=KEY, **again)
    with pytest.raises(WrongKey):
        objects.resume("sealed", key=bytes(32))
    done = objects.resume("sealed", key_file="my.key")
    assert done.parts == 3
    check_sealed()
    assert left() == ["sealed"]
    assert objects.interrupted() == []
    with pytest.raises(FileNotFoundError, match="no interrupted run of it is known"):
        objects.resume("sealed", key=KEY)


def test_resume_keeps_the_salt_if_the_source_is_the_same():
    interrupted_run()
    before = the_partial()[:SMALL]
    objects.resume("sealed", key=KEY)
    assert content("sealed")[:SMALL] == before


def test_resume_takes_another_salt_if_the_source_is_another_one():
    interrupted_run()
    before = the_partial()
    other = BLOCK[:100] + b"?" + BLOCK[101:]
    rewrite("plain", other)
    objects.resume("sealed", key=KEY)
    assert content("sealed")[32:56] != before[32:56]
    check_sealed(other)
    assert left() == ["sealed"]


def test_abort_and_restart():
    interrupted_run()
    objects.abort("sealed")
    assert left() == []
    with pytest.raises(FileNotFoundError):
        objects.abort("sealed")
    interrupted_run()
    objects.encrypt("plain", "sealed", key=KEY, restart=True)
    assert left() == ["sealed"]
    os.unlink("sealed")
    interrupted_run(state="my.state")
    assert objects.interrupted() == []
    with pytest.raises(InvalidArgument, match="it is the state of"):
        objects.abort("another", state="my.state")
    with pytest.raises(InvalidArgument, match="it is the state of .*, not of"):
        objects.resume("another", key=KEY, state="my.state")
    objects.resume("sealed", key=KEY, state="my.state")
    assert left() == ["sealed"]


def test_nothing_is_kept_if_nobody_wants_it():
    error = interrupted_run(keep=False)
    assert "resume" not in " ".join(getattr(error, "__notes__", ()))
    assert left() == []


def test_two_runs_for_one_target():
    begun, end = threading.Event(), threading.Event()

    def progress(done, total):
        begun.set()
        assert end.wait(60)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(objects.encrypt, "plain", "sealed", key=KEY, progress=progress)
        assert begun.wait(60)
        for call in (encrypt, lambda: encrypt(restart=True), lambda: objects.abort("sealed"),
                     lambda: objects.resume("sealed", key=KEY)):
            with pytest.raises(FileError, match="another process works on this object"):
                call()
        assert objects.interrupted()[0].running
        end.set()
        first.result()
    check_sealed()


def test_memory_is_bounded_by_parts_and_workers():
    with open("large", "wb") as file:
        file.truncate(300 * MIB)
    code = """if True:
        import resource, sys
        from paraes import objects
        def most():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        objects.verify("small", key_file="my.key", workers=2)
        before = most()
        objects.encrypt("large", "sealed", key_file="my.key", workers=2, part_size=16 << 20)
        objects.decrypt("sealed", "out", key_file="my.key", workers=2, part_size=16 << 20)
        print(most() - before)"""
    objects.encrypt("plain", "small", key=KEY)
    done = run_python(code)
    assert int(done.stdout) < 2 * 2 * 16 * MIB + 16 * MIB
    os.unlink("large")


# ---- The state


def test_the_state_has_no_key_and_is_for_its_owner_alone(states):
    os.umask(0)
    interrupted_run()
    os.umask(0o022)
    (path,) = states.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(states.stat().st_mode) == 0o700
    text = path.read_bytes()
    message = _native.Secret(False, {"key": KEY}).segments(
        base64.b64decode(json.loads(text.splitlines()[0])["facts"]["header"]))
    _, key, nonce, _ = message.parts()
    for secret in (KEY, key, nonce):
        for shown in (secret, secret.hex().encode(), base64.b64encode(secret)[:16]):
            assert shown not in text
    objects.abort("sealed")
    interrupted_run(passphrase="correct horse", scrypt_log2n=10)
    assert b"horse" not in path.read_bytes()
    # The hash of a part is no hash that somebody else can compute.
    (mark,) = {json.loads(line)["mark"] for line in text.splitlines()[1:2]}
    assert len(base64.b64decode(mark)) == 32


def test_a_mark_is_one_of_the_plaintext():
    message = segments()
    def mark(plain, first=0):
        sealed = bytearray(len(plain) + 16 * -(-len(plain) // SEGMENT))
        message.seal(first, False, plain, sealed)
        return message.fingerprint(first, sealed)
    plain = BLOCK[:3 * SEGMENT]
    assert mark(plain) == mark(plain)
    marks = {mark(plain), mark(plain, 3), mark(plain[:2 * SEGMENT])}
    for at in (0, SEGMENT - 1, SEGMENT, 3 * SEGMENT - 1):
        marks.add(mark(plain[:at] + bytes([plain[at] ^ 1]) + plain[at + 1:]))
    assert len(marks) == 7


FACTS = _state.Facts("encrypt", "file:///t", {}, False, "file:///s", "v", 1, None, 1, 1, [], b"")


def test_claims(folder):
    path = str(folder / "x.state")
    state = State.create(path, FACTS, b"proof")
    assert state.claim(3, b"a" * 32) and state.claim(3, b"a" * 32)
    assert not state.claim(3, b"b" * 32)
    state.add_done(3, "tag")
    state.close()
    with pytest.raises(FileError, match="the run has ended"):
        state.claim(4, b"c" * 32)
    with open(path, "ab") as file:
        file.write(b'{"part":4,"ma')  # the power failed
    state = State.load(path)
    assert (state.facts, state.proof) == (FACTS, b"proof")
    assert state.claims == {3: b"a" * 32} and state.done == {3: "tag"}
    assert not state.claim(3, b"b" * 32)
    assert state.claim(4, b"c" * 32)
    state.close()
    assert State.load(path).claims == {3: b"a" * 32, 4: b"c" * 32}


def test_claims_of_many_threads(folder):
    path = str(folder / "x.state")
    state = State.create(path, FACTS, b"")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: state.claim(n % 50, bytes([n // 50]) * 32), range(400)))
    assert sum(made) == 50
    state.close()
    assert len(State.load(path).claims) == 50


def test_a_state_that_another_run_has_replaced(folder):
    """Its owner removes the file of its own alone."""
    path = str(folder / "x.state")
    state = State.create(path, FACTS, b"")
    os.unlink(path)
    Path(path).write_bytes(b"of another run")
    state.remove()
    assert content(path) == b"of another run"
    with pytest.raises(FileError, match="another run has begun meanwhile"):
        State.create(path, FACTS, b"")
    assert [one.name for one in folder.iterdir() if one.suffix == ".partial"] == []


@pytest.mark.parametrize("text", [b"", b"{}\n", b"text\n", b'{"kind":"paraes.objects"}\n',
                                  b'{"kind":"paraes.objects","version":1}\n5\n', b"\xff\xfe\n"])
def test_what_is_no_state(text):
    Path("x.state").write_bytes(text)
    with pytest.raises(InvalidArgument, match="no state of paraes.objects, or it is damaged"):
        State.load("x.state")


@pytest.mark.parametrize(("name", "value"), [
    ("segments", 0), ("parts", -1), ("plain_bytes", "1"), ("target", 5), ("header", "?"),
    ("upload", []), ("layout", None), ("overwrite", 1), ("part_size", "a"), ("source", None)])
def test_facts_that_are_none(name, value):
    State.create("x.state", FACTS, b"").close()
    first = json.loads(content("x.state"))
    first["facts"][name] = value
    Path("x.state").write_text(json.dumps(first) + "\n")
    with pytest.raises(InvalidArgument, match="no state of paraes.objects, or it is damaged"):
        State.load("x.state")


def test_a_state_of_a_later_version():
    Path("x.state").write_text('{"kind":"paraes.objects","version":2}\n')
    with pytest.raises(InvalidArgument, match="another version"):
        State.load("x.state")


def changed(path, **facts):
    """A state in which somebody has changed something."""
    lines = path.read_text().splitlines(True)
    first = json.loads(lines[0])
    first["facts"].update(facts)
    path.write_text(json.dumps(first) + "\n" + "".join(lines[1:]))


def test_a_state_that_names_somebody_elses_file(states):
    interrupted_run()
    Path("precious").write_bytes(b"1")
    (path,) = states.iterdir()
    for name in ("precious", "sealed", "sealed.partial", "sealed.../../precious.partial"):
        changed(path, upload={"partial": str(Path(name).absolute())})
        with pytest.raises(InvalidArgument, match="it is no name for a part"):
            objects.abort("sealed")
        with pytest.raises(WrongKey, match="somebody changed the state"):
            objects.resume("sealed", key=KEY)
    changed(path, upload={})
    with pytest.raises(InvalidArgument, match="it is damaged: remove it"):
        objects.abort("sealed")
    assert content("precious") == b"1"


def test_a_state_with_the_salt_of_another_object(states):
    """Whoever can write the state would get the XOR of that object and of another plaintext."""
    objects.encrypt("plain", "old", key=KEY)
    interrupted_run()
    (path,) = states.iterdir()
    changed(path, header=base64.b64encode(content("old")[:88]).decode())
    with pytest.raises(WrongKey, match="somebody changed the state"):
        objects.resume("sealed", key=KEY)
    for facts in ({"source": f"file://{os.getcwd()}/my.key"}, {"segments": 1}, {"plain_bytes": 5}):
        changed(path, **facts)
        with pytest.raises(WrongKey, match="somebody changed the state"):
            objects.resume("sealed", key=KEY)


@pytest.mark.parametrize("data", [BLOCK, BLOCK[::-1]], ids=["same", "changed"])
def test_an_old_copy_of_the_state(states, data):
    """Somebody brings back a state from before the first part."""
    interrupted_run()
    (path,) = states.iterdir()
    path.write_text(path.read_text().splitlines(True)[0])
    before = the_partial()
    rewrite("plain", data)
    objects.resume("sealed", key=KEY)
    assert content("sealed")[32:56] != before[32:56]
    check_sealed(data)


def test_tink_has_no_commitment_but_the_state_has(processes):
    options = {"format": "tink", "context": b"a"}
    interrupted_run(**options)
    for wrong in ({"key": bytes(32)}, {"key": KEY, "context": b"b"},
                  {"key": KEY, "tink_hash": "sha1"}):
        with pytest.raises(WrongKey, match="another key or context"):
            objects.resume("sealed", **{**options, **wrong})
    with pytest.raises(InvalidArgument, match="format, segment_size: not those"):
        objects.resume("sealed", key=KEY, segment_size=4096, **options)
    objects.resume("sealed", key=KEY, **options)
    check_sealed(key=KEY, **options)
    # A worker that reads another key than the program.
    command = (f"cd {os.getcwd()}; if [ -e read ]; then head -c 32 /dev/zero; "
               "else touch read; cat my.key; fi")
    with pytest.raises(paraes.Unavailable, match="the key of this worker is not that of the"):
        objects.encrypt("plain", "two", key_command=command, executor=processes, format="tink")
    objects.abort("two")
    os.unlink("read")
    assert left() == ["sealed"]


def test_a_state_that_is_the_target_or_the_source():
    for path in ("sealed", "plain"):
        with pytest.raises(InvalidArgument, match="is the source or the target"):
            objects.encrypt("plain", "sealed", key=KEY, state=path)
    os.link("plain", "again")
    with pytest.raises(InvalidArgument, match="is the source or the target"):
        objects.encrypt("plain", "sealed", key=KEY, state="again")
    with pytest.raises(InvalidArgument, match=r"my\.key"):
        objects.encrypt("plain", "sealed", key_file="my.key", state="my.key", restart=True)
    assert content("plain") == BLOCK and content("my.key") == KEY


def test_restarting_looks_before_it_gives_up(states):
    interrupted_run()
    for wrong in ({"source": "no"}, {"part_size": 1}, {"key": b"short"}):
        with pytest.raises((InvalidArgument, FileNotFoundError)):
            objects.encrypt(**{"source": "plain", "target": "sealed", "key": KEY, "restart": True,
                               **wrong})
        assert len(list(states.iterdir())) == 1
    objects.resume("sealed", key=KEY)


def test_a_full_disk_below_the_state(monkeypatch):
    """Nothing has left before the claim is on the disk."""
    sent = []
    monkeypatch.setattr(_work, "send", lambda *arguments: sent.append(arguments))

    def full(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    made = State.create

    def create(*arguments):
        state = made(*arguments)
        monkeypatch.setattr(os, "fdatasync", full)
        return state

    monkeypatch.setattr(State, "create", create)
    with pytest.raises(FileError, match="cannot write the state: No space left") as caught:
        encrypt()
    assert caught.value.errno == errno.ENOSPC
    assert sent == []
    objects.abort("sealed")


def test_a_state_that_is_a_link(states):
    states.mkdir(parents=True)
    path = Path(_state.default_path(f"file://{os.getcwd()}/sealed"))
    path.symlink_to(Path("plain").absolute())
    with pytest.raises(InvalidArgument):
        objects.encrypt("plain", "sealed", key=KEY)
    path.unlink()
    path.symlink_to("nothing")
    with pytest.raises(FileError, match="cannot open the state"):
        objects.encrypt("plain", "sealed", key=KEY)
    assert content("plain") == BLOCK


# ---- What is pickled and printed


def test_nothing_shows_keys():
    key = _work.SentKey(segments().parts())
    job = _work.Job("verify", None, None, key.message(), 0, 1, key)
    packed = _work.pack(job)
    raw = key._parts[1]
    for shown in (repr(key), str(key), f"{key}", repr(packed), str(packed), f"{packed}", repr(job),
                  repr(_engines._Prepared(None, "w"))):
        assert raw.hex() not in shown and repr(raw)[2:-1] not in shown
    assert pickle.loads(packed).key.message().header == key.message().header


# ---- The command


def command(*arguments, status=0, **options):
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, "-m", "paraes.objects", *map(str, arguments)],
                          capture_output=True, text=True, env=environment, **options)
    assert done.returncode == status, done.stderr
    return done


def test_command():
    done = command("encrypt", "-k", "my.key", "plain", "sealed")
    assert done.stdout == "" and done.stderr.startswith("sealed: encrypted 12.58 MB in ")
    done = command("verify", "--key-hex", KEY.hex(), "sealed", "--json", "--processes", 2)
    assert {**json.loads(done.stdout), "seconds": 0} == {
        "input": "sealed", "output": None, "bytes": len(BLOCK), "parts": 2, "seconds": 0,
        "status": "ok", "exit": 0}
    done = command("decrypt", "--key-command", "cat my.key", "sealed", "out", "-q")
    assert (done.stdout, done.stderr) == ("", "")
    assert content("out") == BLOCK
    assert command("list").stderr == "paraes-objects: nothing was interrupted\n"


def test_command_with_passphrases():
    Path("word").write_bytes(b"open sesame\r\n")
    command("encrypt", "--passphrase-file", "word", "--scrypt-log2n", 4, "plain", "sealed")
    with open("word", "rb") as file:
        command("verify", "--passphrase-fd", file.fileno(), "sealed", pass_fds=[file.fileno()])
    command("verify", "--passphrase-command", "cat word", "sealed")
    command("verify", "--passphrase-env", "WORD", "sealed", status=2)
    os.environ["WORD"] = "open sesame"
    command("verify", "--passphrase-env", "WORD", "sealed")
    del os.environ["WORD"]


@pytest.mark.parametrize(("arguments", "status", "text"), [
    (["encrypt", "-k", "my.key", "no", "x"], 1, "no: there is no such object"),
    (["encrypt", "-k", "none", "plain", "x"], 1, "none: cannot open it: No such file"),
    (["encrypt", "plain", "x"], 2, "name a key: "),
    (["encrypt", "-k", "my.key", "plain"], 2, "the following arguments are required: TARGET"),
    (["encrypt", "-k", "my.key", "--key-hex", "00", "plain", "x"], 2, "name one kind of secret"),
    (["encrypt", "--key-hex", "0g", "plain", "x"], 2, "argument --key-hex: it is no string of hex"),
    (["encrypt", "-k", "-", "plain", "x"], 2, "--key-file: workers cannot read standard input"),
    (["encrypt", "-k", "my.key", "plain", "plain", "-f"], 2, "it is the source itself"),
    (["encrypt", "-k", "my.key", "plain", "x", "--part-size", "1K"], 2, "part_size: it is 5242880"),
    (["encrypt", "-k", "my.key", "plain", "x", "--part-size", "some"], 2, "'some' is not a size"),
    (["encrypt", "-k", "my.key", "plain", "x", "--workers", "0"], 2, "--workers: at least 1"),
    (["encrypt", "-k", "my.key", "plain", "x", "--workers", "1", "--mpi"], 2, "take one of"),
    (["encrypt", "-k", "my.key", "plain", "x", "--tls-key", "k"], 2, "these go with --dask"),
    (["encrypt", "-k", "my.key", "plain", "x", "--target-option", "a"], 2, "'a' is not NAME=VALUE"),
    (["verify", "-k", "my.key", "plain"], 4, ""),
    (["resume", "-k", "my.key", "x"], 1, "no interrupted run of it is known"),
    (["abort", "x"], 1, "no interrupted run of it is known"),
    (["frobnicate"], 2, "argument VERB: invalid choice: 'frobnicate'"),
])
def test_errors_of_the_command(arguments, status, text):
    line = command(*arguments, status=status, stdin=subprocess.DEVNULL).stderr
    assert line.startswith("paraes-objects: ") and text in line
    assert "Traceback" not in line and line.count("\n") == 1
    assert left() == []


def test_wrong_keys_and_damage_have_their_own_status():
    objects.encrypt("plain", "sealed", key=KEY)
    done = command("decrypt", "--key-hex", "00" * 32, "sealed", "out", "--json", status=5)
    assert json.loads(done.stdout)["exit"] == 5 and "wrong key" in json.loads(done.stdout)["status"]
    sealed = bytearray(content("sealed"))
    sealed[-1] ^= 1
    Path("sealed").write_bytes(sealed)
    command("decrypt", "-k", "my.key", "sealed", "out", status=4)
    command("encrypt", "-k", "my.key", "plain", "sealed", status=2)
    assert left() == ["sealed"]


SLOW = """\
import os, sys, time
from paraes.objects import _targets, cli
put = _targets.LocalTarget.put
def slow(self, number, *rest):
    if number == 1:
        open("begun", "w").close()
        time.sleep(60)
    return put(self, number, *rest)
_targets.LocalTarget.put = slow
sys.exit(cli.main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals(number):
    Path("slow.py").write_text(SLOW.replace("60", "2"))
    run = subprocess.Popen([sys.executable, "slow.py", "encrypt", "-k", "my.key", "plain", "sealed",
                            "--part-size", "5M", "--workers", "1"],
                           stderr=subprocess.PIPE, text=True)
    while not os.path.exists("begun"):
        assert run.poll() is None
        time.sleep(0.01)
    time.sleep(0.1)
    run.send_signal(number)
    _, text = run.communicate(timeout=60)
    os.unlink("begun")
    os.unlink("slow.py")
    if number != signal.SIGKILL:
        assert run.returncode == 128 + number
        assert text == "paraes-objects: interrupted\n"
        assert left() == []
        return
    assert command("list").stdout.startswith(
        f"file://{os.getcwd()}/sealed: encrypt was interrupted: from file://")
    done = command("encrypt", "-k", "my.key", "plain", "sealed", status=2)
    assert "an encryption of it was interrupted" in done.stderr
    assert command("resume", "-k", "my.key", "sealed").stderr.startswith("sealed: encrypted")
    check_sealed()
    assert left() == ["sealed"]


def test_a_decryption_that_is_killed():
    objects.encrypt("plain", "sealed", key=KEY)
    code = """if True:
        import os
        from paraes import objects
        objects.decrypt("sealed", "out", key_file="my.key", part_size=5 << 20, workers=1,
                        progress=lambda done, total: done and os.kill(os.getpid(), 9))"""
    for mend in (lambda: objects.abort("out"),
                 lambda: objects.decrypt("sealed", "out", key=KEY)):
        run_python(code)
        assert len(left()) == 3
        assert command("list").stdout.startswith(f"file://{os.getcwd()}/out: decrypt was")
        with pytest.raises(InvalidArgument, match="decryption was interrupted: decrypt it"):
            objects.resume("out", key=KEY)
        mend()
    assert left() == ["out", "sealed"]


def test_a_run_that_is_killed_when_the_object_is_complete(states):
    code = """if True:
        import os
        from paraes import objects
        objects.State.remove = lambda self: os.kill(os.getpid(), 9)
        objects.encrypt("plain", "sealed", key_file="my.key", part_size=5 << 20)"""
    run_python(code)
    before = content("sealed")
    assert len(list(states.iterdir())) == 1
    assert objects.resume("sealed", key=KEY).parts == 3
    assert content("sealed") == before
    assert left() == ["sealed"]


def test_help():
    text = command("--help").stdout
    for verb in ("encrypt", "decrypt", "verify", "resume", "abort", "list"):
        assert verb in text
        assert command(verb, "--help").stdout.startswith(f"usage: paraes-objects {verb}")
    assert command("--version").stdout == f"paraes-objects {paraes.__version__}\n"
