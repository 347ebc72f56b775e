"""Whole files, and messages in memory."""

import base64
import errno
import os
import shutil
import signal
import stat
import threading
from pathlib import Path

import pytest
from cryptography import cobblestone
from helpers import KEY, content, new_identity

import paraes
from paraes import FileError, IntegrityError, InvalidArgument, InvalidTag, WrongKey

OTHER = bytes(32)
FAST = {"scrypt_log2n": 10}


pytestmark = pytest.mark.usefixtures("folder")


def make(name="plain", size=100_000):
    data = os.urandom(size)
    Path(name).write_bytes(data)
    return data


def names():
    return sorted(os.listdir())


@pytest.mark.parametrize("size", [0, 1, 16384, 16385, 300_000, (5 << 20) + 3])
def test_round_trip(size):
    data = make(size=size)
    done = paraes.encrypt_file("plain", key=KEY)
    assert (done.output, done.bytes, done.device) == ("plain.paes", size, "cpu")
    assert paraes.verify_file("plain.paes", key=KEY).bytes == size
    os.remove("plain")
    assert paraes.decrypt_file("plain.paes", key=KEY, threads=1).output == "plain"
    assert content("plain") == data
    assert names() == ["plain", "plain.paes"]


def test_every_source_of_keys():
    data = make()
    Path("raw").write_bytes(KEY)
    Path("hex").write_text(KEY.hex() + "\n")
    sources = [{"key": KEY}, {"key": bytearray(KEY[:16])}, {"key_file": "raw"},
               {"key_file": os.fsencode("hex")}, {"passphrase": "pässword"},
               {"passphrase": b"\x00\xff"}, {"key": KEY, "format": "c2sp"},
               {"key": KEY, "format": "tink", "segment_size": 5000, "tink_hash": "sha1"},
               {"key": KEY, "context": b"context"}]
    for options in sources:
        cost = FAST if "passphrase" in options else {}
        paraes.encrypt_file("plain", "sealed", overwrite=True, **options, **cost)
        paraes.decrypt_file("sealed", "out", overwrite=True, **options)
        assert content("out") == data, options
        assert paraes.unseal(content("sealed"), **options) == data
        message = paraes.seal(data, **options, **cost)
        with paraes.open("sealed", "wb", **options, **cost) as file:
            file.write(data)
        assert paraes.unseal(content("sealed"), **options) == data
        assert len(message) == os.path.getsize("sealed")


def test_c2sp_is_that_of_cryptography():
    data = make()
    paraes.encrypt_file("plain", "sealed", key=KEY, format="c2sp", context=b"ctx")
    other = cobblestone.Cobblestone256Decryptor(KEY, b"ctx")
    assert other.update(content("sealed")) + other.finalize() == data


def test_defaults_of_tink():
    # As the command has them, which interop.tink compares with Tink.
    data = bytes((1 << 20) + 99)  # two segments
    message = paraes.seal(data, key=KEY, format="tink", context=b"aad")
    named = {"segment_size": 1 << 20, "tink_hash": "sha256", "context": b"aad"}
    assert message[0] == 40  # derived keys of 32 bytes
    assert paraes.unseal(message, key=KEY, format="tink", **named) == data


@pytest.fixture
def identity():
    """The file of an identity, and its recipient."""
    for program in ("age", "age-keygen"):
        if shutil.which(program) is None:
            assert os.environ.get("PARAES_REQUIRE_LAB") != "1", f"{program} is not installed"
            pytest.skip(f"{program} is not installed")
    return "identity", new_identity("identity")


def test_recipients(identity):
    file, recipient = identity
    data = make()
    Path("recipients").write_text(recipient + "\n")
    for options in ({"recipients": recipient}, {"recipients": [recipient], "key_bits": 128},
                    {"recipients_file": "recipients"}):
        paraes.encrypt_file("plain", "sealed", overwrite=True, **options)
        paraes.decrypt_file("sealed", "out", overwrite=True, identity=[file])
        assert content("out") == data
    with paraes.open("sealed", identity=file) as reader:
        assert reader.read() == data
    assert paraes.unseal(paraes.seal(b"a", recipients=recipient), identity=file) == b"a"
    new_identity("another")
    with pytest.raises(WrongKey):
        paraes.unseal(content("sealed"), identity="another")
    with pytest.raises(InvalidArgument, match="to recipients: pass identity"):
        paraes.unseal(content("sealed"), key=KEY)
    for wrong in ("age1nonsense", ["age1nonsense"], []):
        with pytest.raises(InvalidArgument):
            paraes.seal(b"", recipients=wrong)
    with pytest.raises(TypeError):
        paraes.seal(b"", recipients=[5])


def test_rekey(identity):
    file, recipient = identity
    data = make()
    os.chmod("plain", 0o640)
    paraes.encrypt_file("plain", key=KEY, context=b"ctx")
    before = os.stat("plain.paes")
    paraes.rekey_file("plain.paes", key=KEY, to_key=OTHER, context=b"ctx")
    assert paraes.unseal(content("plain.paes"), key=OTHER, context=b"ctx") == data
    after = os.stat("plain.paes")
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    with pytest.raises(WrongKey):
        paraes.rekey_file("plain.paes", key=KEY, to_key=OTHER, context=b"ctx")
    calls = []
    paraes.rekey_file("plain.paes", key=OTHER, to_recipients=recipient, context=b"ctx",
                      progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(data), len(data))
    old = content("plain.paes")
    again = {"identity": file, "to_recipients": recipient, "context": b"ctx"}
    assert paraes.rekey_file("plain.paes", **again).kernel is None
    new = content("plain.paes")
    assert new != old and new[-50_000:] == old[-50_000:]
    paraes.rekey_file("plain.paes", verify=True, **again)
    assert content("plain.paes")[-50_000:] == old[-50_000:]
    done = paraes.rekey_file("plain.paes", new_key=True, **again)
    assert done.bytes == len(data) and content("plain.paes")[-50_000:] != old[-50_000:]
    paraes.rekey_file("plain.paes", identity=file, to_passphrase="new", context=b"ctx", **FAST)
    assert paraes.unseal(content("plain.paes"), passphrase="new", context=b"ctx") == data
    with pytest.raises(InvalidArgument, match="exactly one of to_key"):
        paraes.rekey_file("plain.paes", passphrase="new")
    assert names() == ["identity", "plain", "plain.paes"]


def test_outputs_are_never_lost():
    data = make()
    paraes.encrypt_file("plain", key=KEY)
    sealed = content("plain.paes")
    for call in (lambda: paraes.encrypt_file("plain", key=KEY),
                 lambda: paraes.decrypt_file("plain.paes", key=KEY),
                 lambda: paraes.open("plain", "xb", key=KEY)):
        with pytest.raises(FileExistsError, match="exists"):
            call()
    for name in ("plain", "./plain", "link", "hard"):
        if name == "link":
            os.symlink("plain", "link")
        if name == "hard":
            os.link("plain", "hard")
        with pytest.raises(InvalidArgument, match="the input itself"):
            paraes.encrypt_file("plain", name, key=KEY, overwrite=True)
    assert content("plain") == data and content("plain.paes") == sealed
    paraes.encrypt_file("plain.paes", "link", key=KEY, overwrite=True)  # what the link leads to
    assert os.path.islink("link")
    assert paraes.unseal(content("plain"), key=KEY) == sealed


def test_target_that_appears_meanwhile_stays():
    data = make(size=64 << 20)
    Path("sealed").write_bytes(paraes.seal(data, key=KEY))

    def appear(done, total):
        if done < total and not os.path.exists("out"):
            Path("out").write_bytes(b"somebody else's")

    slowly = {"key": KEY, "threads": 1, "kernel": "reference", "progress": appear}
    for call in (lambda: paraes.encrypt_file("plain", "out", **slowly),
                 lambda: paraes.decrypt_file("sealed", "out", **slowly)):
        with pytest.raises(FileExistsError, match="appeared") as caught:
            call()
        assert caught.value.errno == errno.EEXIST and isinstance(caught.value, FileError)
        assert content("out") == b"somebody else's" and names() == ["out", "plain", "sealed"]
        os.remove("out")


def test_secrets_are_no_inputs_and_no_outputs():
    make()
    Path("key").write_bytes(KEY)
    os.symlink("key", "link")
    paraes.encrypt_file("plain", key_file="key")
    for call in (lambda: paraes.encrypt_file("key", key_file="key"),
                 lambda: paraes.encrypt_file("link", key_file="key"),
                 lambda: paraes.encrypt_file("plain", "key", key_file="key", overwrite=True),
                 lambda: paraes.encrypt_file("plain", "key", key_file="link", overwrite=True),
                 lambda: paraes.decrypt_file("plain.paes", "link", key_file="key", overwrite=True),
                 lambda: paraes.rekey_file("key", key=OTHER, to_key_file="key"),
                 lambda: paraes.open("key", "wb", key_file="key"),
                 lambda: paraes.open("key", key_file="key")):
        with pytest.raises(InvalidArgument, match="neither input nor output"):
            call()
    assert content("key") == KEY
    assert names() == ["key", "link", "plain", "plain.paes"]


def test_descriptors_are_not_replaced():
    make()
    paraes.encrypt_file("plain", key=KEY)
    with open("sealed", "w+b") as file:
        file.write(content("plain.paes"))
        os.symlink(f"/dev/fd/{file.fileno()}", "link")
        for name in (f"/dev/fd/{file.fileno()}", "link"):
            for call in (lambda to=name: paraes.encrypt_file("plain", to, key=KEY, overwrite=True),
                         lambda to=name: paraes.decrypt_file("plain.paes", to, key=KEY),
                         lambda to=name: paraes.rekey_file(to, key=KEY, to_key=OTHER),
                         lambda to=name: paraes.open(to, "wb", key=KEY)):
                file.flush()
                with pytest.raises(InvalidArgument, match="it is a file descriptor"):
                    call()
        assert os.stat("sealed").st_ino == os.fstat(file.fileno()).st_ino
    assert content("sealed") == content("plain.paes")
    # As the message says.
    with open("out", "w+b") as file:
        with paraes.open(open(file.fileno(), "wb", closefd=False), "wb", key=KEY) as sealed:
            sealed.write(b"data")
    assert paraes.open("out", key=KEY).read() == b"data"


def test_only_regular_files_are_replaced_and_read():
    make()
    os.mkfifo("fifo")
    os.mkdir("sub")
    paraes.encrypt_file("plain", key=KEY)
    for target in ("fifo", "/dev/null"):
        with pytest.raises(InvalidArgument, match="not a regular file"):
            paraes.encrypt_file("plain", target, key=KEY, overwrite=True)
        with pytest.raises(InvalidArgument, match="not a regular file"):
            paraes.open(target, "wb", key=KEY)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode) and stat.S_ISFIFO(os.stat("fifo").st_mode)
    for source in ("fifo", "/dev/null"):
        with pytest.raises(InvalidArgument, match="not a regular file"):
            paraes.encrypt_file(source, "out", key=KEY)
    for call in (lambda: paraes.encrypt_file("sub", key=KEY),
                 lambda: paraes.encrypt_file("plain", "sub", key=KEY, overwrite=True),
                 lambda: paraes.open("sub", key=KEY)):
        with pytest.raises(IsADirectoryError):
            call()
    for call in (lambda: paraes.encrypt_file("missing", key=KEY),
                 lambda: paraes.encrypt_file("plain", "missing/out", key=KEY),
                 lambda: paraes.open("missing", key=KEY),
                 lambda: paraes.seal(b"", key_file="missing")):
        with pytest.raises(FileNotFoundError, match="missing") as caught:
            call()
        assert isinstance(caught.value, FileError) and caught.value.errno == 2
    with pytest.raises(InvalidArgument, match="paes"):
        paraes.decrypt_file("plain", key=KEY)
    assert names() == ["fifo", "plain", "plain.paes", "sub"]


def test_files_that_announce_another_size():
    text = Path("/proc/version").read_bytes()
    assert os.stat("/proc/version").st_size != len(text)
    paraes.encrypt_file("/proc/version", "sealed", key=KEY)
    paraes.decrypt_file("sealed", "opened", key=KEY)
    assert Path("opened").read_bytes() == text


def test_modes_and_times():
    make()
    os.chmod("plain", 0o666)
    os.utime("plain", ns=(10**18, 10**18 + 123))
    mask = os.umask(0o027)
    try:
        paraes.encrypt_file("plain", key=KEY)
        paraes.decrypt_file("plain.paes", "out", key=KEY)
        with paraes.open("new", "wb", key=KEY):
            pass
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(mask)
    for name, mode in (("plain.paes", 0o666), ("out", 0o640), ("new", 0o640)):
        assert stat.S_IMODE(os.stat(name).st_mode) == mode, name
    for name in ("plain.paes", "out"):
        assert os.stat(name).st_mtime_ns == 10**18 + 123


def test_damage_leaves_nothing():
    make(size=300_000)
    paraes.encrypt_file("plain", key=KEY)
    whole = content("plain.paes")
    Path("out").write_text("old")
    for place in (0, 20, 40, 87, 88, 150_000, len(whole) - 1):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        for wrong in (damaged, whole[:place], whole[:-1], whole + b"x"):
            Path("bad.paes").write_bytes(wrong)
            for call in (lambda: paraes.decrypt_file("bad.paes", key=KEY),
                         lambda: paraes.decrypt_file("bad.paes", "out", key=KEY, overwrite=True),
                         lambda: paraes.verify_file("bad.paes", key=KEY),
                         lambda w=wrong: paraes.unseal(w, key=KEY)):
                with pytest.raises((InvalidTag, InvalidArgument)):
                    call()
            assert names() == ["bad.paes", "out", "plain", "plain.paes"]
            assert content("out") == b"old"
    with pytest.raises(WrongKey):
        paraes.decrypt_file("plain.paes", "new", key=OTHER)
    with pytest.raises(WrongKey):
        paraes.decrypt_file("plain.paes", "new", key=KEY, context=b"x")
    with pytest.raises(InvalidArgument, match="with a key"):
        paraes.decrypt_file("plain.paes", "new", passphrase="x")
    assert "new" not in names()


def test_progress_and_cancellation():
    size = 256 << 20
    with open("plain", "wb") as file:
        file.truncate(size)
    calls = []
    paraes.encrypt_file("plain", key=KEY,
                        progress=lambda *now: calls.append((*now, threading.current_thread())))
    assert calls[-1][:2] == (size, size) and {call[2] for call in calls} == {
        threading.main_thread()}
    assert [call[0] for call in calls] == sorted(call[0] for call in calls)
    cancelled = 0
    for call in (lambda p: paraes.encrypt_file("plain", "out", key=KEY, threads=1, progress=p),
                 lambda p: paraes.decrypt_file("plain.paes", "out", key=KEY, threads=1, progress=p),
                 lambda p: paraes.rekey_file("plain.paes", key=KEY, to_key=OTHER, threads=1,
                                             progress=p)):
        def stop(done, total):
            raise LookupError(done)

        before = os.stat("plain.paes")
        with pytest.raises(LookupError) as caught:
            call(stop)
        if caught.value.args[0] < size:  # else it ended before the first call
            cancelled += 1
            after = os.stat("plain.paes")
            assert names() == ["plain", "plain.paes"]
            assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
        for name in set(names()) - {"plain", "plain.paes"}:
            os.remove(name)
    assert cancelled or os.cpu_count() > 64


def test_interrupt_ends_the_work():
    with open("plain", "wb") as file:
        file.truncate(1 << 30)
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            paraes.encrypt_file("plain", key=KEY, threads=1)
            timer.join()
            raise AssertionError("it was not interrupted")
    finally:
        timer.join()
    assert names() in (["plain"], ["plain", "plain.paes"])


def test_arguments():
    make()
    Path("key").write_bytes(KEY)
    with pytest.raises(TypeError, match="unexpected keyword argument 'keyfile'"):
        paraes.encrypt_file("plain", key=KEY, keyfile="x")
    with pytest.raises(TypeError, match="'new_key'"):
        paraes.verify_file("plain", key=KEY, new_key=True)
    for options in ({}, {"key": KEY, "passphrase": "x"}, {"key": None}):
        with pytest.raises(InvalidArgument, match="exactly one"):
            paraes.seal(b"", **options)
    for options, says in (({"key": bytes(24)}, "24 bytes"), ({"key": b""}, "0 bytes"),
                          ({"passphrase": ""}, "empty"),
                          ({"key": KEY, "format": "raw"}, "raw"),
                          ({"passphrase": "x", "format": "c2sp"}, "paraes"),
                          ({"key": KEY, "key_bits": 192}, "key_bits"),
                          ({"key": KEY, "key_bits": 128}, "contradicts"),
                          ({"key_file": "key", "key_bits": 128}, "contradicts"),
                          ({"key": KEY, "scrypt_log2n": 12}, "passphrase"),
                          ({"key": KEY, "segment_size": 100}, "tink"),
                          ({"passphrase": "x", "scrypt_log2n": 0}, "scrypt_log2n"),
                          ({"key": KEY, "context": bytes(513)}, "512"),
                          ({"key": KEY, "device": "\ud800"}, "device: .* UTF-8"),
                          ({"passphrase": "x", "scrypt_log2n": 2**70}, "scrypt_log2n"),
                          ({"recipients": "age1\ud800"}, "recipients: .* UTF-8"),
                          ({"key": KEY, "kernel": "nonsense"}, "nonsense")):
        with pytest.raises(InvalidArgument, match=says):
            paraes.seal(b"a", **options)
    for options in ({"key": "text"}, {"key": KEY, "threads": "2"}, {"key": KEY, "format": 5},
                    {"passphrase": 5}, {"key": KEY, "device": 5},
                    {"passphrase": "x", "scrypt_log2n": "12"}):
        with pytest.raises(TypeError):
            paraes.seal(b"a", **options)
    message = paraes.seal(b"a", passphrase="x", scrypt_log2n=12)
    with pytest.raises(InvalidArgument, match="max_scrypt_log2n is 11"):
        paraes.unseal(message, passphrase="x", max_scrypt_log2n=11)
    with pytest.raises(IntegrityError, match="Salted__"):
        paraes.unseal(b"Salted__" + bytes(100), key=KEY)


def test_names_that_are_no_text():
    name = os.fsencode("plain-") + b"\xff"
    Path(os.fsdecode(name)).write_bytes(b"data")
    done = paraes.encrypt_file(name, key=KEY)
    assert os.fsencode(done.output) == name + b".paes"
    with pytest.raises(FileExistsError):
        paraes.encrypt_file(name, key=KEY)
    with pytest.raises((ValueError, TypeError)):
        paraes.encrypt_file("a\0b", key=KEY)


@pytest.mark.parametrize(("contents", "secret"), [
    (KEY, {"key": KEY}), (KEY.hex().encode() + b"\n", {"key": KEY}),
    (base64.b64encode(KEY), {"key": KEY}), (KEY, {"key_file": "copy"}),
    (b"correct horse\n", {"passphrase": "correct horse", **FAST}),
    (b"correct horse", {"passphrase": b"correct horse", **FAST}),
])
def test_nothing_replaces_a_file_that_holds_a_secret(contents, secret):
    make()
    Path("copy").write_bytes(KEY)
    Path("only").write_bytes(contents)
    os.symlink("only", "link")
    refusal = f"it holds the secret of {next(iter(secret))}, "
    for name in ("only", "link"):
        for call in (lambda: paraes.encrypt_file("plain", name, overwrite=True, **secret),
                     lambda: paraes.open(name, "wb", **secret)):
            with pytest.raises(InvalidArgument, match=f"^{name}: {refusal}"):
                call()
    assert content("only") == contents
    Path("only").write_bytes(contents[::-1] + b"x")
    paraes.encrypt_file("plain", "only", overwrite=True, **secret)


def test_rekey_does_not_replace_its_new_passphrase():
    make(size=1)
    paraes.encrypt_file("plain", "small", key=KEY)
    before = content("small")  # a passphrase may be any bytes
    with pytest.raises(InvalidArgument, match="small: it holds the secret of to_passphrase"):
        paraes.rekey_file("small", key=KEY, to_passphrase=before, **FAST)
    assert content("small") == before
