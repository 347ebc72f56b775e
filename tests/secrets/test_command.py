"""The command paraes: formats, verbs, and where secrets come from."""

import base64
import fcntl
import itertools
import json
import os
import unittest

import needles
from cases import AGE, ITERATIONS, LOG2N, SecretsCase, setUpModule  # noqa: F401

MOST_PIPE = 1 << 20


def full_pipe():
    """Both ends of a pipe that has no room, however large paraes makes it, and the bytes in it."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, MOST_PIPE)
    os.set_blocking(writing, False)
    filled = 0
    try:
        while True:
            filled += os.write(writing, bytes(4096))
    except BlockingIOError:
        os.set_blocking(writing, True)
    return reading, writing, filled


class Formats(SecretsCase):
    def test_paraes(self):
        run = self.blocked_on_output("encrypt", "-k", "k", "-c", "plain")
        secrets = needles.of_paraes(run.output, key=self.key)
        self.check(run, secrets)
        self.write("sealed", run.output)
        opened = self.blocked_on_output("decrypt", "-k", "k", "-c", "sealed")
        self.check(opened, secrets)
        self.assertEqual(opened.output, self.plain)
        self.check(self.blocked_on_input(run.output, "verify", "-k", "k", "-"), secrets)

    def test_paraes_128(self):
        key = needles.random_key(16, self.id())
        self.write("k", key)
        run = self.blocked_on_input(self.plain, "encrypt", "-k", "k", "-", "-o", "sealed")
        self.check(run, needles.of_paraes(self.read("sealed"), key=key))

    def test_c2sp(self):
        run = self.blocked_on_output("encrypt", "--format", "c2sp", "--context-hex", "0102", "-k",
                                     "k", "-c", "plain")
        self.check(run, needles.of((needles.add_key, "key", self.key),
                                   (needles.add_c2sp, run.output, self.key, b"\1\2")))

    def test_tink_with_a_raw_key(self):
        for hash_name in ("sha1", "sha256", "sha512"):
            with self.subTest(hash_name):
                flags = ("--tink-hash", hash_name.upper(), "--segment-size", "64KiB")
                run = self.blocked_on_output("encrypt", "--format", "tink", *flags, "-k", "k", "-c",
                                             "plain")
                self.check(run, needles.of((needles.add_key, "key", self.key),
                                           (needles.add_tink, run.output, self.key, hash_name)))

    def test_openssl(self):
        for mode in ("cbc", "ctr"):
            with self.subTest(mode):
                flags = ("--format", "openssl", "--mode", mode, "--iter", ITERATIONS,
                         "--passphrase-file", "pass", "-c")
                run = self.blocked_on_output("encrypt", *flags, "plain")
                self.write("sealed", run.output)
                secrets = needles.of(
                    (needles.add_openssl, run.output, self.passphrase, int(ITERATIONS)))
                self.check(run, secrets)
                run = self.blocked_on_output("decrypt", *flags, "sealed")
                self.check(run, secrets)

    def check_raw(self, mode, key, add, *flags):
        self.write("k", key)
        secrets = needles.of((needles.add_key, "key", key), add)
        flags = ("--format", "raw", "--mode", mode, *flags, "-k", "k", "-c")
        run = self.blocked_on_output("encrypt", *flags, "plain")
        self.check(run, secrets)
        self.write("sealed", run.output)
        self.check(self.blocked_on_output("decrypt", *flags, "sealed"), secrets)

    def test_raw(self):
        for mode, bits in itertools.product(("ecb", "cbc", "ctr"), (128, 192, 256)):
            with self.subTest(mode, bits=bits):
                key = needles.random_key(bits // 8, self.id())
                iv = () if mode == "ecb" else ("--iv-hex", "0" * 32)
                self.check_raw(mode, key, (needles.add_schedule, "key", key), *iv)
        for size in (32, 64):
            with self.subTest("xts", size=size):
                key = needles.random_key(size, self.id())
                self.check_raw("xts", key, (needles.add_xts, key))


class Sources(SecretsCase):
    """Where keys and passphrases come from."""

    def check_key(self, *flags, **kwargs):
        run = self.blocked_on_output("encrypt", *flags, "-c", "plain", **kwargs)
        self.check(run, needles.of_paraes(run.output, key=self.key))

    def check_passphrase(self, *flags, cost=("--scrypt-log2n", LOG2N), **kwargs):
        run = self.blocked_on_output("encrypt", *cost, *flags, "-c", "plain", **kwargs)
        self.check(run, needles.of_paraes(run.output, passphrase=self.passphrase))

    def test_key(self):
        self.write("hex", self.key.hex().encode() + b"\n")
        for flags in (("--key-hex", self.key.hex()), (f"--key-hex={self.key.hex()}",),
                      ("--key-file", "hex"), ("--key-command", "cat k")):
            with self.subTest(flags[0]):
                self.check_key(*flags)
        with open(self.dir / "k", "rb") as key:
            self.check_key("--key-file", "-", stdin=key)

    def test_passphrase(self):
        self.check_passphrase("--passphrase-file", "pass")
        self.check_passphrase("--passphrase-command", "cat pass")
        with open(self.dir / "pass", "rb") as passphrase:
            self.check_passphrase("--passphrase-fd", "0", stdin=passphrase)
        # This one has the usual cost.
        self.check_passphrase("--passphrase-file", "pass", cost=())

    def test_passphrase_env(self):
        self.check_passphrase("--passphrase-env", "PASS", env={"PASS": self.passphrase.decode()})


@unittest.skipIf(AGE is None, "age is not installed")
class Recipients(SecretsCase):
    def setUp(self):
        super().setUp()
        self.public, self.private = self.new_identity("me.txt")

    def secrets_of(self, sealed, identity="me.txt", name="message"):
        secrets = needles.of_paraes(sealed, run_key=self.run_key(sealed, identity), name=name)
        needles.add_text(secrets, "identity", self.private)
        return secrets

    def test_encrypt(self):
        run = self.blocked_on_output("encrypt", "--recipient", self.public, "-c", "plain")
        self.check(run, self.secrets_of(run.output))

    def test_decrypt(self):
        sealed = self.ok("encrypt", "--recipient", self.public, "-c", "plain")
        self.write("sealed", sealed)
        reading, writing = os.pipe()
        os.write(writing, self.read("me.txt"))
        os.close(writing)
        for identity, more in (("me.txt", {}), (f"/dev/fd/{reading}", {"pass_fds": [reading]})):
            with self.subTest(identity):
                run = self.blocked_on_output("decrypt", "-i", identity, "-c", "sealed", **more)
                self.check(run, self.secrets_of(sealed))
        os.close(reading)

    def test_rekey_to_other_recipients(self):
        other, other_private = self.new_identity("you.txt")
        self.write("f", self.ok("encrypt", "--recipient", self.public, "-c", "plain"))
        old = self.read("f")
        for flags in ((), ("--new-key",)):
            with self.subTest(flags):
                self.write("f", old)
                # Before the file, an age file was written to memory for age.
                run = self.stopped_at_write(3, "rekey", *flags, "-i", "me.txt", "--to-recipient",
                                            other, "f")
                secrets = self.secrets_of(old, name="old message")
                new = self.read("f")
                needles.add_paraes(secrets, new, run_key=self.run_key(new, "you.txt"),
                                   name="new message")
                needles.add_text(secrets, "other identity", other_private)
                self.check(run, secrets)


class Keysets(SecretsCase):
    """Tink's keysets in JSON."""

    def setUp(self):
        super().setUp()
        # google.crypto.tink.AesGcmHkdfStreamingKey: parameters (segments of 4096 bytes, a derived
        # key of 32 bytes, SHA-256), then the key.
        self.message = bytes.fromhex("1207" "088020" "1020" "1803" "1a20") + self.key
        self.value = base64.b64encode(self.message)
        self.write("keyset", json.dumps({"primaryKeyId": 7, "key": [{
            "keyId": 7, "status": "ENABLED", "outputPrefixType": "RAW", "keyData": {
                "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
                "keyMaterialType": "SYMMETRIC", "value": self.value.decode()}}]}).encode())

    def check_keyset(self, run, sealed):
        self.check(run, needles.of((needles.add_text, "keyset in base64", self.value[16:]),
                                   (needles.add_key, "key", self.key),
                                   (needles.add_tink, sealed, self.key)))

    def test_encrypt_and_decrypt(self):
        flags = ("--format", "tink", "-k", "keyset", "-c")
        run = self.blocked_on_output("encrypt", *flags, "plain")
        self.check_keyset(run, run.output)
        self.write("sealed", run.output)
        self.check_keyset(self.blocked_on_output("decrypt", *flags, "sealed"), run.output)


class Verbs(SecretsCase):
    def test_folder(self):
        """Many small files, and one large."""
        folder = self.dir / "folder"
        folder.mkdir()
        for number in range(40):
            (folder / str(number)).write_bytes(os.urandom(3000))
        (folder / "large").write_bytes(self.plain)
        run = self.stopped_at_write(20, "encrypt", "-k", "k", "-r", "folder")
        files = [path.read_bytes() for path in sorted(folder.glob("*.paes"))]
        self.check(run, needles.of_paraes(*files, key=self.key))

    def check_rekey(self, *flags, **new):
        """`new`: the secret with which the new file opens."""
        old = self.write("f", self.ok("encrypt", "-k", "k", "-c", "plain")).read_bytes()
        run = self.stopped_at_write(2, "rekey", *flags, "f")
        secrets = needles.of_paraes(old, key=self.key, name="old message")
        needles.add_paraes(secrets, self.read("f"), **new, name="new message")
        self.check(run, secrets)

    def test_rekey_to_another_key(self):
        new_key = needles.random_key(32, self.id() + "new")
        self.write("new", new_key)
        self.check_rekey("-k", "k", "--to-key-file", "new", key=new_key)

    def test_rekey_to_a_passphrase(self):
        self.check_rekey("--key-hex", self.key.hex(), "--to-passphrase-file", "pass",
                         "--scrypt-log2n", LOG2N, passphrase=self.passphrase)

    def test_keygen(self):
        for flags in ((), ("--hex",), ("--mode", "xts")):
            with self.subTest(flags):
                reading, writing, filled = full_pipe()
                run = self.watch("keygen", *flags, "-o", "-", stdout=writing)
                os.close(writing)
                run.process.stdout = os.fdopen(reading, "rb", buffering=0)
                run.look("at work")
                self.finish(run)
                key = run.output[filled:]
                key = bytes.fromhex(key.decode()) if "--hex" in flags else key
                self.check(run, needles.of((needles.add_key, "key", key)))
