"""Uses the package paraes with a secret, and stops (SIGSTOP) where a test may look into the memory
of this process while the objects exist. After they were closed or deleted it waits for SIGUSR1.

python_work.py USE FOLDER reads the secret from standard input right into a bytearray, which it
wipes as soon as paraes has taken it: what is left are the copies of paraes."""

import gc
import os
import signal
import sys

import paraes
from paraes.ciphers import Cipher, algorithms, modes

DATA = os.urandom((1 << 20) + 321)
NONCE = bytes(12)
FOLDER = sys.argv[2]


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def read_secret():
    secret = bytearray(64)
    view = memoryview(secret)
    size = os.readv(0, [view])
    view.release()
    del secret[size:]
    return secret


def wipe(secret):
    secret[:] = bytes(len(secret))


def path(name):
    return os.path.join(FOLDER, name)


def use_aesgcm(secret):
    gcm = paraes.AESGCM(secret)
    wipe(secret)
    for size in (0, 5, 1000, len(DATA)):
        sealed = gcm.encrypt(NONCE, DATA[:size], None)
        assert gcm.decrypt(NONCE, sealed, None) == DATA[:size]
    stop()
    del gcm


def use_cipher(mode):
    def use(secret):
        cipher = Cipher(algorithms.AES(secret), mode)
        wipe(secret)
        encryptor, decryptor = cipher.encryptor(), cipher.decryptor()
        sealed = encryptor.update(DATA[:1 << 20]) + encryptor.finalize()
        assert decryptor.update(sealed) + decryptor.finalize() == DATA[:1 << 20]
        encryptor = cipher.encryptor()
        encryptor.update(DATA[:1 << 20])
        stop()
        del cipher, encryptor, decryptor

    return use


def use_cobblestone(secret):
    cipher = paraes.Cobblestone256(secret, b"")
    encryptor = paraes.Cobblestone256Encryptor(secret, b"")
    wipe(secret)
    sealed = cipher.encrypt(DATA)
    assert cipher.decrypt(sealed) == DATA
    start = encryptor.update(DATA)
    os.write(1, start[:56])
    stop()
    encryptor.finalize()
    del cipher, encryptor


def use_writer(option, ends):
    def use(secret):
        # One segment at a time leaves the writer at work.
        writer = paraes.open(path("sealed"), "wb", **{option: secret}, **COSTS.get(option, {}))
        wipe(secret)
        writer.write(DATA)
        stop()
        ends(writer)
        del writer

    return use


def use_reader(option):
    def use(secret):
        reader = paraes.open(path("sealed"), **{option: secret})
        wipe(secret)
        reader.read(300_000)
        stop()
        reader.close()
        del reader

    return use


def use_seal(option):
    def use(secret):
        sealed = paraes.seal(DATA, **{option: secret}, **COSTS.get(option, {}))
        assert paraes.unseal(sealed, **{option: secret}) == DATA
        wipe(secret)
        with open(path("sealed"), "wb") as file:
            file.write(sealed)
        stop()

    return use


def use_files(work, source, target, option=None, **known):
    """A library that is preloaded stops this process in the middle."""

    def use(secret):
        if option is None:
            wipe(secret)
        given = {} if option is None else {option: secret, **COSTS.get(option, {})}
        work(path(source), path(target), **given, **known)
        wipe(secret)

    return use


def use_recipients(secret):
    paraes.encrypt_file(path("plain"), path("sealed"), recipients=secret.decode())


COSTS = {"passphrase": {"scrypt_log2n": 4}}
ENCRYPT = (paraes.encrypt_file, "plain", "sealed")
DECRYPT = (paraes.decrypt_file, "sealed", "opened")
USES = {
    "aesgcm": use_aesgcm,
    "ecb": use_cipher(modes.ECB()),
    "cbc": use_cipher(modes.CBC(bytes(16))),
    "ctr": use_cipher(modes.CTR(bytes(16))),
    "cobblestone": use_cobblestone,
    "xts": use_cipher(modes.XTS(bytes(16))),
    "writer": use_writer("key", lambda writer: writer.close()),
    "writer with a passphrase": use_writer("passphrase", lambda writer: writer.close()),
    "writer that is left": use_writer("key", lambda writer: writer.__exit__(None, None, None)),
    "writer that fails": use_writer("key", lambda writer: writer.__exit__(OSError, None, None)),
    "reader": use_reader("key"),
    "seal": use_seal("key"),
    "seal with a passphrase": use_seal("passphrase"),
    "encrypt_file": use_files(*ENCRYPT, "key", overwrite=True),
    "encrypt_file with a passphrase": use_files(*ENCRYPT, "passphrase", overwrite=True),
    "encrypt_file with a key file": use_files(*ENCRYPT, key_file=path("k"), overwrite=True),
    "encrypt_file to recipients": use_recipients,
    "decrypt_file": use_files(*DECRYPT, "key"),
    "decrypt_file with an identity": use_files(*DECRYPT, identity=path("me.txt")),
}

if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    USES[sys.argv[1]](read_secret())
    gc.collect()
    signal.sigwait({signal.SIGUSR1})
