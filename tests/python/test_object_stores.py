"""Objects encrypted by many workers: executors, keys, nonces, and stores and workers that fail.

Most tests write to a server of S3 that keeps every byte that reached it (s3_sink.py). After each of
them, all of these bytes are searched for nonces that were used twice.
"""

import base64
import contextlib
import errno
import fcntl
import functools
import gc
import json
import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers import KEY, content, once, rewrite

pytest.importorskip("s3fs", reason="the newer versions of these packages need Python 3.11")

import fsspec  # noqa: E402
import numpy as np  # noqa: E402
import s3fs  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402
from distributed.security import Security  # noqa: E402
from moto.server import ThreadedMotoServer  # noqa: E402
from s3_sink import Cut, Refused, Short, Sink  # noqa: E402

import paraes  # noqa: E402
from paraes import (  # noqa: E402
    Error,
    FileError,
    IntegrityError,
    InvalidArgument,
    WrongKey,
    objects,
)
from paraes.objects import _engines, _sources, _state  # noqa: E402

MIB = 1 << 20
PART = 5 * MIB
DATA = np.random.default_rng(5).bytes(16 * MIB + 7)  # four parts
OTHER = np.random.default_rng(6).bytes(len(DATA))
PARTS = {1, 2, 3, 4}  # as S3 counts them
URL = "s3://bucket/x"
SALT = slice(32, 56)  # of an object in the format of paraes
SECRETS = {"key", "key_file", "key_command", "passphrase"}


# Dask warns of this: it serves its own state even without a dashboard.
pytestmark = pytest.mark.filterwarnings("ignore:Port .* is already in use")


@pytest.fixture(autouse=True)
def place(folder, monkeypatch):
    """A folder with a source and a key file, where states are kept, too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 2)  # s3fs waits long between its tries
    Path("source").write_bytes(DATA)
    Path("my.key").write_text(KEY.hex() + "\n")
    return folder


@pytest.fixture
def sink():
    made = Sink()
    made.options["config_kwargs"] = {"retries": {"max_attempts": 0}}  # s3fs tries again, too
    made.options["skip_instance_cache"] = False  # each has a port of its own
    yield made
    made.fault = None
    made.close()
    check_nonces(made)
    for held in (made.objects, made.uploads, made.all_uploads, made.requests):
        held.clear()  # pytest keeps the server until the end
    # Every client of S3 has 20 MB of descriptions, and fsspec would keep one for each port. They
    # are collected here, and not in a thread of the server, where s3fs then closes connections.
    s3fs.S3FileSystem.clear_instance_cache()
    gc.collect()


def keyed(options):
    return options if SECRETS & options.keys() else {"key": KEY, **options}


def encrypt(sink, source="source", target=URL, **options):
    return objects.encrypt(source, target, target_options=sink.options, part_size=PART,
                           **keyed(options))


def resume(sink, target=URL, **options):
    return objects.resume(target, target_options=sink.options, **keyed(options))


def decrypt(sink, target, source=URL, **options):
    return objects.decrypt(source, target, source_options=sink.options, part_size=PART,
                           **keyed(options))


def abort(sink, target=URL):
    objects.abort(target, target_options=sink.options)


def states():
    """The state files, also unfinished ones."""
    return sorted(Path("state").rglob("*.state*"))


def check_object(sink, plain=DATA, name="bucket/x"):
    """It is complete, and nothing else is left."""
    assert paraes.unseal(sink.body(name), key=KEY) == plain
    check_nothing_left(sink)


def check_nothing_left(sink):
    assert sink.uploads == {}
    assert states() == []


def sent(sink):
    """The numbers of the parts that arrived or were about to, in order."""
    return [request.part for request in sink.requests if request.part is not None]


def reads(sink, name):
    bucket, _, key = name.partition("/")
    return sum(request.method == "GET" and (request.bucket, request.key) == (bucket, key)
               for request in sink.requests)


def notes(info):
    return " ".join(getattr(info.value, "__notes__", ()))


def stored(sink, data=DATA):
    """The options of a source in the store."""
    sink.put("bucket/source", data)
    return {"source": "s3://bucket/source", "source_options": sink.options}


class Off:
    """The network is gone after some parts, and all connections are cut."""

    def __init__(self, parts, size=0):
        self.left = parts
        self.size = size
        self.lock = threading.Lock()

    def __call__(self, request):
        with self.lock:
            if request.part is not None and self.left >= 0:
                self.left -= 1
            off = self.left < 0
        if off:
            raise Cut(self.size)


def at_part(number, act):
    """A fault of the sink: it calls `act`, or raises it, when this part is uploaded."""
    def fault(request):
        if request.part == number:
            if isinstance(act, Exception):
                raise act
            act()

    return fault


def first_time(is_meant, error):
    """A fault of the sink: the first request that is meant fails, and `seen` then has it."""
    def fault(request):
        if is_meant(request) and not fault.seen:
            fault.seen.append(request)
            raise error

    fault.seen = []
    return fault


def interrupt(sink, parts=2, size=0, fault=None, match=None, **options):
    """An encryption that the network ends after some parts, or a fault, and nothing is lost."""
    sink.fault = fault or Off(parts, size)
    with pytest.raises(OSError, match=match) as info:
        encrypt(sink, **{"workers": 1, **options})
    sink.fault = None
    assert "resume" in notes(info) and "abort" in notes(info)
    assert len(states()) == 1 and len(sink.uploads) == 1
    sink.requests.clear()
    return states()[0]


# ---- Nonces


def check_nonces(sink):
    """Two bodies of one part of one message are the same, as far as the shorter one goes.

    The nonces of a part follow from its number and the salt of its message, so all bodies that ever
    came for the part must be beginnings of one ciphertext.
    """
    longest = {}
    for name, upload in sink.all_uploads.items():
        salts = {body[SALT] for number, body in upload.seen
                 if number == 1 and len(body) >= SALT.stop}
        assert len(salts) <= 1, f"{name}: two messages in one upload"
        salt = salts.pop() if salts else name.encode()
        for number, body in upload.seen:
            known = longest.get((salt, number), b"")
            size = min(len(known), len(body))
            if body[:size] != known[:size]:  # pytest would show the difference of an `assert`
                raise AssertionError(f"{name}: part {number} had two plaintexts")
            if len(body) > len(known):
                longest[salt, number] = body


def without_ctime(monkeypatch):
    """As on file systems that have none: nothing but the contents tells of a change."""
    monkeypatch.setattr(_sources.LocalSource, "_status", staticmethod(
        lambda status: (status.st_ino, status.st_size, status.st_mtime_ns)))


def test_source_that_changes_and_nothing_tells(sink, monkeypatch):
    without_ctime(monkeypatch)
    interrupt(sink, 2, 3 * MIB)
    rewrite("source", OTHER)
    resume(sink)
    assert len(sink.all_uploads) == 2
    check_object(sink, OTHER)


def test_that_the_server_would_see_a_nonce_used_twice(sink, monkeypatch):
    """Without the check that the package makes."""
    claim = _state.State.claim

    def careless(self, part, mark):
        claim(self, part, mark)
        return True

    monkeypatch.setattr(_state.State, "claim", careless)
    without_ctime(monkeypatch)
    interrupt(sink, 2, 3 * MIB)
    rewrite("source", OTHER)
    resume(sink)
    with pytest.raises(AssertionError, match="part [34] had two plaintexts"):
        check_nonces(sink)
    sink.all_uploads.clear()


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("executor", ["none", "processes", "dask_threads"], indirect=True)
def test_source_that_changes_before_it_is_resumed(sink, tells, executor):
    interrupt(sink, 2, 3 * MIB, executor=executor, workers=None)
    if tells:
        Path("source").write_bytes(OTHER)
    else:
        rewrite("source", OTHER)
    resume(sink, executor=executor)
    assert len(sink.all_uploads) == 2
    check_object(sink, OTHER)


def test_part_that_was_cut_is_never_sent_again_with_other_content(sink):
    """It had left, though the store has not got it: only the state knows."""
    interrupt(sink, 2, 3 * MIB)
    changed = DATA[:11 * MIB] + OTHER[11 * MIB:]  # in the part that was cut
    rewrite("source", changed)
    resume(sink)
    assert len(sink.all_uploads) == 2
    check_object(sink, changed)


def test_source_in_a_store_that_changes_before_it_is_resumed(sink):
    interrupt(sink, **stored(sink))
    sink.put("bucket/source", OTHER)
    resume(sink, source_options=sink.options)
    assert len(sink.all_uploads) == 2
    check_object(sink, OTHER)


def test_source_that_gets_another_size_before_it_is_resumed(sink):
    interrupt(sink)
    Path("source").write_bytes(DATA + b"more")
    resume(sink)
    check_object(sink, DATA + b"more")


@pytest.mark.parametrize("workers", [1, 3])
def test_source_that_changes_during_a_run(sink, workers):
    encrypt(sink, workers=workers, progress=once(lambda: Path("source").write_bytes(OTHER)))
    assert len(sink.all_uploads) == 2
    check_object(sink, OTHER)


def test_source_that_changes_during_a_run_to_a_target_that_takes_parts_in_order():
    objects.encrypt("source", "memory://x.paes", key=KEY, part_size=PART, workers=1,
                    overwrite=True, progress=once(lambda: Path("source").write_bytes(OTHER)))
    sealed = fsspec.filesystem("memory").cat_file("/x.paes")
    assert paraes.unseal(sealed, key=KEY) == OTHER


def test_state_that_is_lost(sink):
    state = interrupt(sink, 2, 3 * MIB)
    old = dict(sink.uploads)
    state.unlink()
    rewrite("source", OTHER)
    for call in (resume, abort):
        with pytest.raises(FileNotFoundError, match="interrupted"):
            call(sink)
    encrypt(sink)
    assert sink.uploads == old  # nobody knows of it any more, and nothing of it was used
    assert paraes.unseal(sink.body("bucket/x"), key=KEY) == OTHER


@pytest.mark.parametrize("data", [DATA, OTHER], ids=["same", "changed"])
def test_state_whose_last_line_is_torn(sink, data):
    state = interrupt(sink, 2)
    with open(state, "ab") as file:
        file.write(b'{"part":3,"ma')
    if data != DATA:
        rewrite("source", data)
    resume(sink, workers=1)
    assert len(sink.all_uploads) == (1 if data == DATA else 2)
    if data == DATA:
        assert sent(sink) == [3, 4]
    check_object(sink, data)


def test_state_that_is_damaged(sink):
    state = interrupt(sink)
    whole = content(state)
    state.write_bytes(whole.replace(b'"part"', b'"porT"', 1))
    with pytest.raises(InvalidArgument, match="damaged"):
        resume(sink)
    assert sent(sink) == []
    state.write_bytes(whole)
    abort(sink)
    check_nothing_left(sink)


# ---- Executors


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


@contextlib.contextmanager
def dask(**options):
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                      **options) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def dask_threads():
    with dask(processes=False) as client:
        yield client


@pytest.fixture(scope="module")
def dask_processes():
    with dask(processes=True) as client:
        yield client


@pytest.fixture
def dask_that_logs():
    """It logs as much as it can."""
    before = os.environ.get("DASK_LOGGING__DISTRIBUTED")
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "debug"
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        with dask(processes=True, silence_logs=False) as client:
            yield client
    finally:
        logger.setLevel(level)
        os.environ.pop("DASK_LOGGING__DISTRIBUTED")
        if before is not None:
            os.environ["DASK_LOGGING__DISTRIBUTED"] = before


EXECUTORS = ["none", "threads", "processes", "dask_threads", "dask_processes"]


@pytest.fixture
def executor(request):
    """The argument of the package, by its name in EXECUTORS."""
    if request.param == "none":
        yield None
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    else:
        yield request.getfixturevalue(request.param)


@pytest.mark.parametrize("executor", EXECUTORS, indirect=True)
def test_round_trips_with_executors(sink, executor):
    seen = []
    done = encrypt(sink, executor=executor, progress=lambda *numbers: seen.append(numbers))
    assert done == (URL, len(DATA), 4)
    assert seen[0] == (0, len(DATA)) and seen[-1] == (len(DATA), len(DATA))
    assert seen == sorted(seen) and len(seen) == 5
    check_object(sink)
    assert sorted(sent(sink)) == [1, 2, 3, 4]
    decrypt(sink, "plain", executor=executor)
    assert content("plain") == DATA
    decrypt(sink, "s3://bucket/plain", target_options=sink.options, executor=executor)
    assert sink.body("bucket/plain") == DATA
    assert objects.verify(URL, source_options=sink.options, executor=executor, key=KEY) == (
        URL, len(DATA), 3)  # of 8 MiB
    check_nothing_left(sink)


MPI = """
import json, sys
from mpi4py.futures import MPIPoolExecutor
from paraes import InvalidArgument, objects

def main():
    s3, url, part = json.loads(sys.argv[1])
    with MPIPoolExecutor() as pool:
        try:
            objects.encrypt("source", url, target_options=s3, executor=pool, key=bytes(range(32)))
        except InvalidArgument as error:
            print(error)
        try:
            objects.encrypt("source", url, target_options=s3, executor=pool, passphrase="horse",
                            scrypt_log2n=10)
        except InvalidArgument as error:
            print(error)
        done = objects.encrypt("source", url, target_options=s3, executor=pool, part_size=part,
                               key_file="my.key")
        print(done)
        objects.decrypt(url, "plain", source_options=s3, executor=pool, part_size=part,
                        key_command="cat my.key")

if __name__ == "__main__":
    main()
"""


def test_round_trip_with_mpi(sink):
    if shutil.which("mpiexec") is None:
        pytest.skip("there is no mpiexec")
    Path("script.py").write_text(MPI)
    done = subprocess.run(
        ["mpiexec", "-n", "3", "--oversubscribe", sys.executable, "-m", "mpi4py.futures",
         "script.py", json.dumps([sink.options, URL, PART])],
        env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("MPI does not encrypt what it sends") == 2
    assert "parts=4" in done.stdout
    check_object(sink)
    assert content("plain") == DATA


FORMATS = [{"format": "c2sp"}, {"format": "tink"}, {"format": "tink", "segment_size": 65536},
           {"context": b"what it is"}]


@pytest.mark.parametrize("executor", ["none", "processes"], indirect=True)
@pytest.mark.parametrize("options", FORMATS, ids=str)
def test_formats(sink, options, executor):
    encrypt(sink, executor=executor, **options)
    assert paraes.unseal(sink.body("bucket/x"), key=KEY, **options) == DATA
    decrypt(sink, "plain", executor=executor, **options)
    assert content("plain") == DATA
    with pytest.raises(Error):
        paraes.unseal(sink.body("bucket/x"), key=KEY)
    error = IntegrityError if options.get("format") == "tink" else WrongKey  # it cannot tell
    with pytest.raises(error):
        decrypt(sink, "wrong", executor=executor, **options, key=bytes(32))
    assert not Path("wrong").exists()


KEYS = [{"key": KEY}, {"key": KEY[:16]}, {"key_file": "my.key"}, {"key_command": "cat my.key"},
        {"passphrase": "correct horse", "scrypt_log2n": 10}]


@pytest.mark.parametrize("executor", ["processes", "dask_processes"], indirect=True)
@pytest.mark.parametrize("options", KEYS, ids=["long", "short", "file", "command", "passphrase"])
def test_kinds_of_keys(sink, executor, options):
    encrypt(sink, executor=executor, **options)
    opens = {name: value for name, value in options.items() if name != "scrypt_log2n"}
    decrypt(sink, "plain", executor=executor, **opens)
    assert content("plain") == DATA
    if "key_command" in opens:
        opens = {"key": KEY}
    assert paraes.unseal(sink.body("bucket/x"), **opens) == DATA
    check_nothing_left(sink)


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 2 * PART + 16384])
def test_sizes(sink, size):
    Path("source").write_bytes(DATA[:size])
    encrypt(sink)
    check_object(sink, DATA[:size])
    decrypt(sink, "plain")
    assert content("plain") == DATA[:size]
    decrypt(sink, "s3://bucket/plain", target_options=sink.options)
    assert sink.body("bucket/plain") == DATA[:size]


def test_that_everything_else_reads_what_was_written(sink, place):
    encrypt(sink)
    encrypt(sink, target="here.paes")
    with paraes.open("here.paes", key=KEY) as file:
        file.seek(9 * MIB)
        assert file.read(1000) == DATA[9 * MIB:][:1000]
        file.seek(0)
        assert file.read() == DATA
    paraes.decrypt_file("here.paes", "decrypted", key=KEY)
    assert content("decrypted") == DATA
    with fsspec.open("paraes::" + URL, paraes={"key_file": str(place / "my.key")},
                     s3=sink.options) as file:
        file.seek(9 * MIB)
        assert file.read(1000) == DATA[9 * MIB:][:1000]
    paraes.encrypt_file("source", "other.paes", key=KEY)
    sink.put("bucket/other", content("other.paes"))
    decrypt(sink, "plain", "s3://bucket/other")
    assert content("plain") == DATA


def test_objects_in_a_server_of_somebody_else():
    server = ThreadedMotoServer(port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        options = {"endpoint_url": f"http://{host}:{port}", "key": "test", "secret": "test",
                   "skip_instance_cache": True}
        s3 = s3fs.S3FileSystem(**options)
        s3.mkdir("bucket")
        s3.pipe_file("bucket/source", DATA)
        place = {"source_options": options, "target_options": options}
        objects.encrypt("s3://bucket/source", URL, key=KEY, part_size=PART, **place)
        assert paraes.unseal(s3.cat_file("bucket/x"), key=KEY) == DATA
        objects.decrypt(URL, "s3://bucket/plain", key=KEY, part_size=PART, **place)
        assert s3.cat_file("bucket/plain") == DATA

        def end(done, total):
            if done > PART:
                raise ConnectionError("in the middle")

        def uploads():
            return s3.call_s3("list_multipart_uploads", Bucket="bucket").get("Uploads", [])

        def fail():
            with pytest.raises(ConnectionError) as info:
                objects.encrypt("s3://bucket/source", URL, key=KEY, part_size=PART, workers=1,
                                overwrite=True, progress=end, **place)
            assert "resume" in notes(info) and len(uploads()) == 1

        fail()
        objects.resume(URL, key=KEY, **place)
        assert uploads() == [] and paraes.unseal(s3.cat_file("bucket/x"), key=KEY) == DATA
        fail()
        objects.abort(URL, target_options=options)
        assert uploads() == [] and states() == []
        fail()
        s3.call_s3("abort_multipart_upload", Bucket="bucket", Key="x",
                   UploadId=uploads()[0]["UploadId"])
        objects.resume(URL, key=KEY, **place)
        assert uploads() == [] and paraes.unseal(s3.cat_file("bucket/x"), key=KEY) == DATA
    finally:
        server.stop()


# ---- Keys at the workers


def forms(secret):
    """How bytes may look in a log."""
    return [secret, secret.hex().encode(), secret.hex().upper().encode(),
            base64.b64encode(secret).rstrip(b"=")[:-1], repr(secret)[2:-1].encode()]


def not_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has only its loopback interface")
        address = probe.getsockname()[0]
    if address.startswith("127."):
        pytest.skip("this machine has only its loopback interface")
    return address


def test_dask_without_tls_gets_no_key(sink):
    with dask(processes=False, protocol="tcp://", host=not_loopback()) as client:
        for options in ({"key": KEY}, {"passphrase": "correct horse", "scrypt_log2n": 10}):
            with pytest.raises(InvalidArgument, match="not encrypted. Turn TLS on"):
                encrypt(sink, executor=client, **options)
        check_nothing_left(sink)
        assert sink.all_uploads == {} and sent(sink) == []
        encrypt(sink, executor=client, key_file="my.key")
        check_object(sink)
        for call in (lambda **options: decrypt(sink, "plain", **options),
                     lambda **options: objects.verify(URL, source_options=sink.options,
                                                      **options)):
            with pytest.raises(InvalidArgument, match="not encrypted. Turn TLS on"):
                call(executor=client, key=KEY)
            call(executor=client, key_file="my.key")
        assert content("plain") == DATA


def test_dask_with_tls_gets_a_key(sink):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test", "-days", "2",
                    "-keyout", "tls.key", "-out", "tls.crt"], check=True, capture_output=True)
    files = {"tls_ca_file": "tls.crt"}
    for role in ("client", "scheduler", "worker"):
        files |= {f"tls_{role}_cert": "tls.crt", f"tls_{role}_key": "tls.key"}
    with dask(processes=False, protocol="tls://", host=not_loopback(),
              security=Security(**files, require_encryption=True)) as client:
        encrypt(sink, executor=client)
        check_object(sink)
        decrypt(sink, "plain", executor=client)
    assert content("plain") == DATA


def test_that_dask_shows_no_key(sink, dask_that_logs, monkeypatch):
    """With a failure in the middle, which Dask logs together with the task."""
    secrets = [KEY]
    start = _engines.Dask.start

    def note_key(self, job, claim):
        secrets.append(job.key._parts[1])  # the key of the message
        shown.append(repr(job.key) + repr(job) + str(job.key))
        start(self, job, claim)
        shown.append(repr(self._packed) + str(self._packed) + f"{self._packed}")

    monkeypatch.setattr(_engines.Dask, "start", note_key)
    scheduler = dask_that_logs.cluster.scheduler
    shown, names, graphs = [], set(), []

    def progress(done, total):
        for name, task in list(scheduler.tasks.items()):
            names.add(str(name))
            shown.append(repr(task) + repr(task.run_spec) + str(task.run_spec))
            graphs.append(pickle.dumps(task.run_spec))

    sink.fault = at_part(3, Refused(403, "AccessDenied"))
    with pytest.raises(PermissionError):
        encrypt(sink, executor=dask_that_logs, progress=progress)
    sink.fault = None
    abort(sink)
    encrypt(sink, executor=dask_that_logs, progress=progress)
    body = sink.body("bucket/x")
    sink.put("bucket/damaged", body[:9 * MIB] + b"damaged" + body[9 * MIB + 7:])
    with pytest.raises(IntegrityError):
        decrypt(sink, "plain", "s3://bucket/damaged", executor=dask_that_logs, progress=progress)
    decrypt(sink, "plain", executor=dask_that_logs, progress=progress)
    logs = [repr(dask_that_logs.get_scheduler_logs()), repr(dask_that_logs.get_worker_logs()),
            repr(scheduler.get_events()), repr(dask_that_logs.get_task_stream())]
    assert len(secrets) == 5
    assert any("paraes-seal-" in name for name in names)
    assert any(b"_prepare" in graph and b"source" in graph for graph in graphs)
    assert "paraes-" in logs[1]
    everything = b"\n".join([*graphs, *(text.encode() for text in [*shown, *names, *logs])])
    for secret in secrets:
        for form in forms(secret):
            assert form not in everything
    assert all(KEY not in found and KEY.hex().encode() not in found for found in graphs)


def test_that_keys_leave_the_workers(sink, dask_threads):
    """They are in this process, so that it can be seen."""
    encrypt(sink, executor=dask_threads)
    assert _engines._sent == {}
    sink.fault = Off(2)
    with pytest.raises(OSError):
        encrypt(sink, executor=dask_threads, overwrite=True)
    assert _engines._sent == {}
    sink.fault = None
    abort(sink)


def test_dask_seals_no_parts_in_order(dask_threads):
    with pytest.raises(InvalidArgument, match="in order"):
        objects.encrypt("source", "memory://y", key=KEY, executor=dask_threads)


# ---- Workers that die


@pytest.mark.parametrize("change", [None, Path("source").write_bytes,
                                    functools.partial(rewrite, "source")])
def test_source_that_changes_before_dask_runs_a_lost_task_again(sink, dask_processes, monkeypatch,
                                                               change):
    """The workers die when part 2 is sealed and may leave: Dask seals it again by itself."""
    claim = _state.State.claim
    killed = []

    def kill(self, part, mark):
        allowed = claim(self, part, mark)
        if part == 1 and not killed:
            killed.extend(dask_processes.run(os.getpid).values())
            if change is not None:
                change(OTHER)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return allowed

    monkeypatch.setattr(_state.State, "claim", kill)
    encrypt(sink, executor=dask_processes)
    assert len(killed) == 2
    assert len(sink.all_uploads) == (1 if change is None else 2)
    check_object(sink, DATA if change is None else OTHER)


RUN = """
import json, sys
from paraes import objects
if __name__ == "__main__":
    s3, url, part = json.loads(sys.argv[1])
    objects.encrypt("source", url, target_options=s3, part_size=part, key_file="my.key", workers=1)
"""


def kill_another_process(sink):
    """It encrypts, and is killed somewhere in part 3."""
    reached, go_on = threading.Event(), threading.Event()

    def wait():
        reached.set()
        go_on.wait(30)

    sink.fault = at_part(3, wait)
    with subprocess.Popen([sys.executable, "-c", RUN, json.dumps([sink.options, URL, PART])],
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            assert reached.wait(60), process.stderr.read() if process.poll() else "it hangs"
        finally:
            process.kill()
            process.wait()
            go_on.set()
    sink.fault = None
    assert len(sink.uploads) == len(states()) == 1
    sink.requests.clear()


@pytest.mark.parametrize("ends", [resume, abort])
def test_coordinator_that_is_killed(sink, ends):
    kill_another_process(sink)
    ends(sink)
    check_nothing_left(sink)
    assert ("bucket/x" in sink.objects) == (ends is resume)
    if ends is resume:
        assert sorted(sent(sink)) == [3, 4]
        check_object(sink)


def test_coordinator_that_is_killed_before_the_source_changes(sink):
    kill_another_process(sink)
    rewrite("source", OTHER)
    resume(sink)
    check_object(sink, OTHER)


@pytest.mark.parametrize("executor", EXECUTORS, indirect=True)
def test_exceptions_of_progress_leave_nothing(sink, executor):
    def progress(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encrypt(sink, executor=executor, progress=progress)
    assert len(sink.all_uploads) == 1 and sink.objects == {}
    check_nothing_left(sink)
    at_end = len(sink.requests)
    time.sleep(0.1)
    assert len(sink.requests) == at_end  # nobody goes on


# ---- Stores that fail


def test_store_that_is_busy(sink, monkeypatch):
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 3)
    tried = {}

    def busy(request):
        what = (request.method, request.key, request.part, request.headers.get("Range"))
        tried[what] = tried.get(what, 0) + 1
        if request.method != "HEAD" and tried[what] < 3:
            raise Refused(503, "SlowDown")

    sink.fault = busy
    encrypt(sink, **stored(sink))
    check_object(sink)
    tried.clear()
    decrypt(sink, "plain")
    assert content("plain") == DATA
    assert max(tried.values()) > 1


@pytest.mark.parametrize("size", [0, 100, PART - 1])
def test_part_whose_upload_is_cut_once(sink, size):
    sink.fault = first_time(lambda request: request.part == 2, Cut(size))
    encrypt(sink)
    assert sent(sink).count(2) == 2
    check_object(sink)


@pytest.mark.parametrize("kind", [Cut, Short])
def test_download_that_is_cut(sink, kind):
    source = stored(sink)
    sink.fault = first = first_time(
        lambda request: request.key == "source" and request.headers.get("Range"), kind(100_000))
    encrypt(sink, **source)
    (cut,) = first.seen
    check_object(sink)

    def always(request):
        if request.key == "source" and request.headers.get("Range") not in (
                None, cut.headers["Range"]):
            raise kind(100_000)

    interrupt(sink, fault=always, match="cut", overwrite=True, workers=None, **source)
    resume(sink, source_options=sink.options)
    check_object(sink)

    def in_the_object(request):
        if request.key == "x" and request.headers.get("Range", "").startswith("bytes=5"):
            raise kind(100_000)

    sink.fault = in_the_object
    with pytest.raises(OSError):
        decrypt(sink, "plain")
    assert not list(Path().glob("plain*"))


@pytest.mark.parametrize("size", [0, 3 * MIB])
def test_network_that_is_gone(sink, size):
    state = interrupt(sink, 2, size)
    assert b"source" in content(state)
    with pytest.raises(FileExistsError, match="interrupted"):
        encrypt(sink)
    with pytest.raises(WrongKey):
        resume(sink, key=bytes(32))
    assert sent(sink) == []
    resume(sink)
    assert sorted(sent(sink)) == [3, 4]  # what the store has is not sent again
    assert len(sink.all_uploads) == 1
    check_object(sink)
    with pytest.raises(FileNotFoundError):
        resume(sink)


def test_network_that_is_gone_for_many_workers(sink):
    interrupt(sink, 2, workers=4)
    resume(sink, workers=4)
    assert len(sink.all_uploads) == 1
    check_object(sink)


@pytest.mark.parametrize("executor", ["processes", "dask_threads", "dask_processes"],
                         indirect=True)
def test_network_that_is_gone_for_executors(sink, executor):
    interrupt(sink, 1, 1000, executor=executor, workers=None)
    interrupted = dict(sink.uploads)
    resume(sink, executor=executor)
    assert sink.all_uploads == interrupted
    check_object(sink)


def test_server_that_is_gone(sink):
    def close(done, total):
        if done:
            sink.fault = Off(-1)
            sink.close()

    with pytest.raises(OSError) as info:
        encrypt(sink, workers=1, progress=close)
    assert "resume" in notes(info) and len(states()) == 1
    with pytest.raises(OSError):
        resume(sink)
    with pytest.raises(OSError):
        abort(sink)
    assert len(states()) == 1


def test_that_an_unchanged_source_in_a_store_is_not_read_again(sink):
    interrupt(sink, 2, **stored(sink))
    resume(sink, source_options=sink.options, workers=1)
    assert sent(sink) == [3, 4]
    assert reads(sink, "bucket/source") == 2
    check_object(sink)


def test_resuming_that_is_interrupted(sink):
    interrupt(sink, 1)
    sink.fault = Off(1)
    with pytest.raises(OSError) as info:
        resume(sink, workers=1)
    assert "resume" in notes(info)
    sink.fault = None
    sink.requests.clear()
    resume(sink, workers=1)
    assert sent(sink) == [3, 4] and len(sink.all_uploads) == 1
    check_object(sink)


@pytest.mark.parametrize("options", [
    {"format": "c2sp"}, {"format": "tink"}, {"context": b"what it is"}, {"key_file": "my.key"},
    {"key_command": "cat my.key"}, {"passphrase": "correct horse"}])
@pytest.mark.parametrize("change", [False, True])
def test_resuming_with_the_same_options(sink, options, change):
    more = {"scrypt_log2n": 10} if "passphrase" in options else {}
    interrupt(sink, **options, **more)
    if change:
        rewrite("source", OTHER)
    resume(sink, **options)
    if "key_command" in options:
        options = {}
    assert paraes.unseal(sink.body("bucket/x"), **keyed(options)) == (OTHER if change else DATA)
    check_nothing_left(sink)


def test_starting_again(sink):
    interrupt(sink)
    with pytest.raises(FileExistsError, match="resume it, abort it, or restart it"):
        encrypt(sink)
    assert len(sink.uploads) == 1 and sent(sink) == []
    encrypt(sink, restart=True)
    assert len(sink.all_uploads) == 2
    check_object(sink)


def test_upload_that_expires_during_a_run(sink):
    sink.fault = at_part(3, sink.uploads.clear)
    with pytest.raises(FileError, match="given up the upload") as info:
        encrypt(sink)
    assert info.value.errno == errno.ESTALE
    check_nothing_left(sink)
    assert sink.objects == {}


@pytest.mark.parametrize("data", [DATA, OTHER], ids=["same", "changed"])
def test_upload_that_expires_before_it_is_resumed(sink, data):
    interrupt(sink, 2, 3 * MIB)
    sink.uploads.clear()
    rewrite("source", data)
    resume(sink)
    assert len(sink.all_uploads) == 2
    check_object(sink, data)


def test_upload_that_expires_before_it_is_given_up(sink):
    interrupt(sink)
    sink.uploads.clear()
    abort(sink)
    check_nothing_left(sink)


@pytest.mark.parametrize("status, code", [(403, "AccessDenied"), (500, "InternalError")])
def test_completion_that_fails(sink, status, code):
    def refuse(request):
        if request.method == "POST" and "uploadId" in request.query:
            raise Refused(status, code)

    interrupt(sink, fault=refuse, workers=None)
    assert sink.objects == {}
    resume(sink)
    assert sent(sink) == []
    check_object(sink)


@pytest.mark.parametrize("overwrite", [False, True])
def test_completion_whose_answer_is_lost(sink, overwrite):
    lost = []

    def lose(request):
        lost.append(request)
        raise Cut

    sink.after = lose
    encrypt(sink, overwrite=overwrite)
    assert lost and len(sink.all_uploads) == 1
    check_object(sink)


@pytest.mark.parametrize("overwrite", [False, True])
def test_completion_whose_answer_is_lost_with_the_network(sink, overwrite):
    """Nobody knows that the object is complete until it is resumed."""
    def lose(request):
        sink.fault = Off(-1)
        raise Cut

    sink.after = lose
    with pytest.raises(OSError) as info:
        encrypt(sink, overwrite=overwrite)
    assert "resume" in notes(info)
    sink.after = sink.fault = None
    sink.requests.clear()
    resume(sink)
    check_object(sink)


# ---- Objects that change


@pytest.mark.parametrize("workers", [1, 3])
def test_source_in_a_store_that_is_replaced_during_a_run(sink, workers):
    def replace():
        if sink.body("bucket/source") == DATA:
            sink.put("bucket/source", OTHER)

    sink.fault = at_part(2, replace)
    encrypt(sink, **stored(sink), workers=workers)
    assert len(sink.all_uploads) == 2
    check_object(sink, OTHER)


def test_source_in_a_store_that_is_always_replaced(sink):
    source = stored(sink)
    sink.fault = at_part(2, lambda: sink.put(
        "bucket/source", OTHER if sink.body("bucket/source") == DATA else DATA))
    with pytest.raises(FileError, match="source: it changed while it was read"):
        encrypt(sink, **source)
    assert len(sink.all_uploads) == 3 and "bucket/x" not in sink.objects
    check_nothing_left(sink)


@pytest.mark.parametrize("size", [len(OTHER), 9 * MIB, 0])
@pytest.mark.parametrize("when", range(1, 4))
def test_object_that_is_replaced_while_it_is_decrypted(sink, size, when):
    """At any request for it: one of both is decrypted, or there is an error."""
    plain = OTHER[:size]
    sink.put("bucket/x", paraes.seal(DATA, key=KEY))
    gets = []

    def replace(request):
        if request.key == "x" and request.method in ("GET", "HEAD"):
            gets.append(request)
            if len(gets) == when + 1:
                sink.put("bucket/x", paraes.seal(plain, key=KEY))

    sink.fault = replace
    try:
        decrypt(sink, "plain", workers=1)
    except FileError as error:
        assert "changed while it was read" in str(error)
        assert not list(Path().glob("plain*"))
    else:
        assert content("plain") in (DATA, plain)
    assert len(gets) > when


@pytest.mark.parametrize("executor", ["none", "dask_processes"], indirect=True)
@pytest.mark.parametrize("target", ["plain", "s3://bucket/plain"])
def test_objects_that_are_not_authentic(sink, executor, target):
    body = paraes.seal(DATA, key=KEY)
    sink.put("bucket/x", body)
    flipped = bytearray(body)
    flipped[12 * MIB] ^= 1
    sink.put("bucket/flipped", flipped)
    sink.put("bucket/cut", body[:9 * MIB])
    Path("here").mkdir()
    options = {"executor": executor,
               **({"target_options": sink.options} if target.startswith("s3") else {})}
    if target == "plain":
        target = "here/plain"
    for name, error, more in (("x", WrongKey, {"key": bytes(32)}),
                              ("x", WrongKey, {"context": b"another"}),
                              ("flipped", IntegrityError, {}), ("cut", IntegrityError, {})):
        with pytest.raises(error):
            decrypt(sink, target, f"s3://bucket/{name}", **options, **more)
        assert list(Path("here").iterdir()) == [] and "bucket/plain" not in sink.objects
        check_nothing_left(sink)
    with pytest.raises(IntegrityError):
        objects.verify("s3://bucket/flipped", source_options=sink.options, executor=executor,
                       key=KEY)


# ---- Targets that exist, and runs at the same time


def test_targets_that_exist(sink):
    sink.put("bucket/x", b"old")
    Path("plain").write_bytes(b"old")
    with pytest.raises(FileExistsError):
        encrypt(sink)
    with pytest.raises(FileExistsError):
        encrypt(sink, target="plain")
    assert sink.all_uploads == {} and sink.body("bucket/x") == content("plain") == b"old"
    encrypt(sink, overwrite=True)
    check_object(sink)
    with pytest.raises(FileExistsError):
        decrypt(sink, "plain")
    assert content("plain") == b"old"
    decrypt(sink, "plain", overwrite=True)
    assert content("plain") == DATA


def test_target_that_appears_during_a_run(sink):
    sink.fault = at_part(3, lambda: sink.put("bucket/x", b"of somebody else"))
    with pytest.raises(FileExistsError):
        encrypt(sink)
    assert sink.body("bucket/x") == b"of somebody else"
    check_nothing_left(sink)


def test_source_that_is_the_target(sink):
    sink.put("bucket/x", DATA)
    with pytest.raises(InvalidArgument, match="source itself"):
        encrypt(sink, URL, source_options=sink.options, overwrite=True)
    assert sink.body("bucket/x") == DATA


# ---- A disk that is full


def is_state(file):
    return ".state" in os.readlink(f"/proc/self/fd/{file}")


def fill_disk(monkeypatch, function, after):
    """Writes to states fail, after some."""
    real = getattr(os, function)
    left = [after]

    def full(file, *rest):
        if is_state(file):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, *rest)

    monkeypatch.setattr(os, function, full)


@pytest.mark.parametrize("executor", ["none", "processes"], indirect=True)
@pytest.mark.parametrize("function", ["write", "fdatasync"])
@pytest.mark.parametrize("after", [0, 1])
def test_disk_that_is_full(sink, monkeypatch, executor, function, after):
    """No byte of a part leaves before the state has it."""
    with monkeypatch.context() as patch:
        fill_disk(patch, function, after)
        with pytest.raises(OSError, match="No space left") as info:
            encrypt(sink, executor=executor)
        assert info.value.errno == errno.ENOSPC
    assert sent(sink) == []
    if after == 0:
        check_nothing_left(sink)
    else:
        assert "resume" in notes(info)
        resume(sink, executor=executor)
        check_object(sink)


def test_disk_that_fails_for_the_folder_of_states(sink, monkeypatch):
    with monkeypatch.context() as patch:
        real = os.fsync

        def fail(file):
            if os.readlink(f"/proc/self/fd/{file}").endswith("/objects"):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            real(file)

        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="Input/output"):
            encrypt(sink)
    assert sent(sink) == []
    check_nothing_left(sink)
    encrypt(sink)
    check_object(sink)


def test_that_the_state_is_locked_and_synchronized_before_parts_leave(sink, monkeypatch):
    events = []
    real = os.fdatasync

    def synchronize(file):
        real(file)
        if is_state(file):
            with open(f"/proc/self/fd/{file}") as stream:
                events.append({json.loads(line)["part"] for line in stream if '"mark"' in line})
                with pytest.raises(BlockingIOError):
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def check(request):
        if request.part is not None:
            assert request.part - 1 in events[-1]

    monkeypatch.setattr(os, "fdatasync", synchronize)
    sink.fault = check
    encrypt(sink)
    assert set.union(*events) == {number - 1 for number in PARTS}
    check_object(sink)


# ---- The command


def command(sink, *arguments, before=(), status=0):
    environment = {**os.environ, "AWS_ENDPOINT_URL": sink.url, "AWS_ACCESS_KEY_ID": "test",
                   "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    program = Path(sys.executable).with_name("paraes-objects")
    done = subprocess.run([*before, program, *arguments], env=environment, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == status, done.stderr
    return done


def test_command_on_a_store(sink):
    command(sink, "encrypt", "-k", "my.key", "source", URL, "--part-size", "5MiB")
    check_object(sink, DATA)
    command(sink, "encrypt", "-k", "my.key", "source", URL, status=2)
    command(sink, "encrypt", "-k", "my.key", URL, "s3://bucket/twice", "--processes", "2")
    command(sink, "verify", "-k", "my.key", "s3://bucket/twice")
    done = command(sink, "decrypt", "-k", "my.key", URL, "s3://bucket/plain", "--json")
    assert json.loads(done.stdout)["bytes"] == len(DATA)
    assert sink.body("bucket/plain") == DATA
    text = command(sink, "verify", "-k", "my.key", "s3://bucket/none", status=1).stderr
    assert text == "paraes-objects: bucket/none: there is no such object\n"


def test_command_resumes_and_gives_up(sink):
    for verb in ("resume", "abort"):
        sink.fault = Off(2)
        text = command(sink, "encrypt", "-k", "my.key", "source", URL, "--part-size", "5MiB",
                       "--workers", "1", status=1).stderr
        sink.fault = None
        assert f"resume {URL}, or abort it" in text
        assert command(sink, "list").stdout.startswith(f"{URL}: encrypt was interrupted: ")
        command(sink, verb, *(["-k", "my.key"] if verb == "resume" else []), URL)
        assert not sink.uploads
        if verb == "resume":
            check_object(sink, DATA)
            sink.objects.clear()
    assert not sink.objects


@pytest.mark.skipif(shutil.which("mpiexec") is None, reason="there is no mpiexec")
def test_command_with_mpi(sink):
    mpi = ["mpiexec", "--oversubscribe", "-n", "3"]
    command(sink, "encrypt", "--mpi", "-k", "my.key", "source", URL, "--part-size", "5MiB",
            before=mpi)
    check_object(sink, DATA)
    text = command(sink, "encrypt", "--mpi", "--key-hex", KEY.hex(), "source", URL, "-f",
                   before=mpi, status=2).stderr
    assert "paraes-objects: key: MPI does not encrypt what it sends" in text
    text = command(sink, "verify", "--mpi", "-k", "my.key", URL, status=2).stderr
    assert "start it with at least two ranks" in text


def test_command_with_dask(sink, dask_processes):
    address = dask_processes.cluster.scheduler_address
    command(sink, "encrypt", "--dask", address, "--key-hex", KEY.hex(), "source", "sealed")
    assert paraes.unseal(content("sealed"), key=KEY) == DATA
    command(sink, "verify", "--dask", "foo://nowhere", "-k", "my.key", "sealed", status=2)
