"""A call of an object from within a call of it is refused: it would wait for itself for ever."""

import contextlib
import faulthandler
import os
import signal
import threading
from pathlib import Path

import pytest
from helpers import KEY, FileObject

import paraes
from paraes.ciphers import Cipher, algorithms, modes

pytestmark = pytest.mark.usefixtures("folder")
DATA = os.urandom(3_000_000)
REENTRANT = pytest.raises(RuntimeError, match="reentrant call")


@pytest.fixture(autouse=True)
def no_hang():
    """Ends the tests if one waits for ever, where no signal handler would run."""
    faulthandler.dump_traceback_later(60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


class Calls(FileObject):
    """Calls `within` when it is read or written."""

    def __init__(self, data=b"", seeks=False):
        super().__init__(data, seeks)
        self.within = None

    def _call(self):
        within, self.within = self.within, None
        if within is not None:
            within()

    def readinto(self, buffer):
        self._call()
        return super().readinto(buffer)

    def write(self, data):
        self._call()
        return super().write(data)


@pytest.mark.parametrize("seeks", [False, True])
@pytest.mark.parametrize("name", ["close", "read", "readinto", "peek"])
def test_a_file_object_that_calls_its_reader(seeks, name):
    file = Calls(paraes.seal(DATA, key=KEY), seeks)
    reader = paraes.open(file, key=KEY)
    if name == "peek" and not seeks:
        return  # reads nothing
    arguments = {"read": [10], "readinto": [bytearray(10)]}.get(name, [])
    seen = []

    def within():
        with REENTRANT:
            getattr(reader, name)(*arguments)
        seen.append(name)

    file.within = within
    assert reader.read() == DATA
    assert seen == [name]
    reader.close()


@pytest.mark.parametrize("name", ["close", "write", "abort"])
def test_a_file_object_that_calls_its_writer(name):
    file = Calls()
    writer = paraes.open(file, "wb", key=KEY)
    seen = []

    def within():
        with REENTRANT:
            getattr(writer, name)(*([b"1"] if name == "write" else []))
        seen.append(name)

    file.within = within
    writer.write(DATA)
    assert seen == [name]
    writer.close()
    assert paraes.unseal(file.inner.getvalue(), key=KEY) == DATA


def test_a_signal_handler_that_closes_the_reader():
    file = Calls(paraes.seal(DATA, key=KEY))
    reader = paraes.open(file, key=KEY)
    before = signal.signal(signal.SIGUSR1, lambda *_: reader.close())
    file.within = lambda: signal.raise_signal(signal.SIGUSR1)
    try:
        with REENTRANT:
            reader.read()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_another_thread_waits_for_its_turn():
    context = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor()
    for one in (context, paraes.Cobblestone256Encryptor(KEY, b"")):
        thread = threading.Thread(target=lambda one=one: one.update(bytes(5_000_000)))
        thread.start()
        one.update(bytes(5_000_000))
        thread.join()


def test_a_progress_callback_may_use_other_objects():
    Path("plain").write_bytes(DATA)
    with paraes.open("other", "wb", key=KEY) as writer:
        paraes.encrypt_file("plain", key=KEY, progress=lambda *_: writer.write(b"x"))
    with paraes.open("other", key=KEY) as reader:
        assert set(reader.read()) == {ord("x")}


def test_a_signal_handler_that_reads_and_seeks():
    Path("plain").write_bytes(DATA * 20)
    paraes.encrypt_file("plain", key=KEY)
    with paraes.open("plain.paes", key=KEY) as reader:
        seen = []

        def within(*_):
            # Before read() has begun, and after its end, nothing is refused.
            with contextlib.suppress(pytest.fail.Exception):
                for call in (lambda: reader.read(1000), lambda: reader.seek(0),
                             lambda: reader.readinto(bytearray(9))):
                    with REENTRANT:
                        call()
                seen.append(reader.tell())

        before = signal.signal(signal.SIGUSR1, within)
        try:
            for _ in range(100):
                reader.seek(0)
                timer = threading.Timer(0.002, lambda: os.kill(os.getpid(), signal.SIGUSR1))
                timer.start()
                read = reader.read()
                timer.join()
                if seen:
                    break
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert read == DATA * 20
        assert reader.tell() == len(DATA) * 20 and seen
