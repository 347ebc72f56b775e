"""The command paraes: formats, verbs, and where secrets come from."""

import base64
import fcntl
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
    def sealed(self, *flags):
        return self.write("sealed", self.ok("encrypt", *flags, "-c", "plain"))

    def test_paraes_encrypt(self):
        run = self.blocked_on_output("encrypt", "-k", "k", "-c", "plain")
        secrets = needles.new()
        needles.add_paraes(secrets, run.output, key=self.key)
        needles.add_key(secrets, "key", self.key)
        self.check(run, secrets)

    def test_paraes_decrypt(self):
        self.sealed("-k", "k")
        run = self.blocked_on_output("decrypt", "-k", "k", "-c", "sealed")
        secrets = needles.new()
        needles.add_paraes(secrets, self.read("sealed"), key=self.key)
        self.check(run, secrets)
        self.assertEqual(run.output, self.plain)

    def test_paraes_verify(self):
        sealed = self.sealed("-k", "k").read_bytes()
        run = self.blocked_on_input(sealed, "verify", "-k", "k", "-")
        secrets = needles.new()
        needles.add_paraes(secrets, sealed, key=self.key)
        self.check(run, secrets)

    def test_paraes_128(self):
        key = needles.random_key(16, self.id())
        self.write("k", key)
        run = self.blocked_on_input(self.plain, "encrypt", "-k", "k", "-", "-o", "sealed")
        secrets = needles.new()
        needles.add_paraes(secrets, self.read("sealed"), key=key)
        self.check(run, secrets)

    def test_c2sp(self):
        run = self.blocked_on_output("encrypt", "--format", "c2sp", "--context-hex", "0102", "-k",
                                     "k", "-c", "plain")
        secrets = needles.new()
        needles.add_key(secrets, "key", self.key)
        needles.add_c2sp(secrets, run.output, self.key, b"\1\2")
        self.check(run, secrets)

    def test_tink_with_a_raw_key(self):
        for hash_name in ("sha1", "sha256", "sha512"):
            with self.subTest(hash_name):
                flags = ("--tink-hash", hash_name.upper(), "--segment-size", "64KiB")
                run = self.blocked_on_output("encrypt", "--format", "tink", *flags, "-k", "k", "-c",
                                             "plain")
                secrets = needles.new()
                needles.add_key(secrets, "key", self.key)
                needles.add_tink(secrets, run.output, self.key, hash_name)
                self.check(run, secrets)

    def test_openssl(self):
        for mode in ("cbc", "ctr"):
            with self.subTest(mode):
                flags = ("--format", "openssl", "--mode", mode, "--iter", ITERATIONS,
                         "--passphrase-file", "pass", "-c")
                run = self.blocked_on_output("encrypt", *flags, "plain")
                self.write("sealed", run.output)
                secrets = needles.new()
                needles.add_openssl(secrets, run.output, self.passphrase, int(ITERATIONS))
                self.check(run, secrets)
                run = self.blocked_on_output("decrypt", *flags, "sealed")
                self.check(run, secrets)

    def test_raw(self):
        for mode in ("ecb", "cbc", "ctr"):
            iv = () if mode == "ecb" else ("--iv-hex", "0" * 32)
            for bits in (128, 192, 256):
                with self.subTest(mode, bits=bits):
                    key = needles.random_key(bits // 8, self.id())
                    self.write("k", key)
                    secrets = needles.new()
                    needles.add_key(secrets, "key", key)
                    needles.add_schedule(secrets, "key", key)
                    flags = ("--format", "raw", "--mode", mode, *iv, "-k", "k", "-c")
                    run = self.blocked_on_output("encrypt", *flags, "plain")
                    self.check(run, secrets)
                    self.write("sealed", run.output)
                    self.check(self.blocked_on_output("decrypt", *flags, "sealed"), secrets)

    def test_raw_xts(self):
        for size in (32, 64):
            with self.subTest(size=size):
                key = needles.random_key(size, self.id())
                self.write("k", key)
                secrets = needles.new()
                needles.add_key(secrets, "key", key)
                needles.add_xts(secrets, key)
                flags = ("--format", "raw", "--mode", "xts", "-k", "k", "-c")
                run = self.blocked_on_output("encrypt", *flags, "plain")
                self.check(run, secrets)
                self.write("sealed", run.output)
                self.check(self.blocked_on_output("decrypt", *flags, "sealed"), secrets)


class Sources(SecretsCase):
    """Where keys and passphrases come from."""

    def check_key(self, *flags, **kwargs):
        run = self.blocked_on_output("encrypt", *flags, "-c", "plain", **kwargs)
        secrets = needles.new()
        needles.add_key(secrets, "key", self.key)
        needles.add_paraes(secrets, run.output, key=self.key)
        self.check(run, secrets)

    def check_passphrase(self, *flags, **kwargs):
        run = self.blocked_on_output("encrypt", "--scrypt-log2n", LOG2N, *flags, "-c", "plain",
                                     **kwargs)
        secrets = needles.new()
        needles.add_paraes(secrets, run.output, passphrase=self.passphrase)
        self.check(run, secrets)

    def test_key_hex(self):
        self.check_key("--key-hex", self.key.hex())
        self.check_key(f"--key-hex={self.key.hex()}")

    def test_key_file_in_hex(self):
        self.write("hex", self.key.hex().encode() + b"\n")
        self.check_key("--key-file", "hex")

    def test_key_command(self):
        self.check_key("--key-command", "cat k")

    def test_key_from_standard_input(self):
        with open(self.dir / "k", "rb") as key:
            self.check_key("--key-file", "-", stdin=key)

    def test_passphrase_file(self):
        self.check_passphrase("--passphrase-file", "pass")

    def test_passphrase_fd(self):
        with open(self.dir / "pass", "rb") as passphrase:
            self.check_passphrase("--passphrase-fd", "0", stdin=passphrase)

    def test_passphrase_command(self):
        self.check_passphrase("--passphrase-command", "cat pass")

    def test_passphrase_env(self):
        self.check_passphrase("--passphrase-env", "PASS", env={"PASS": self.passphrase.decode()})

    def test_passphrase_of_usual_cost(self):
        run = self.blocked_on_output("encrypt", "--passphrase-file", "pass", "-c", "plain")
        secrets = needles.new()
        needles.add_paraes(secrets, run.output, passphrase=self.passphrase)
        self.check(run, secrets)


@unittest.skipIf(AGE is None, "age is not installed")
class Recipients(SecretsCase):
    def setUp(self):
        super().setUp()
        self.public, self.private = self.new_identity("me.txt")

    def secrets_of(self, sealed, identity="me.txt", name="message"):
        secrets = needles.new()
        needles.add_paraes(secrets, sealed, run_key=self.run_key(sealed, identity), name=name)
        needles.add_text(secrets, "identity", self.private)
        return secrets

    def test_encrypt(self):
        run = self.blocked_on_output("encrypt", "--recipient", self.public, "-c", "plain")
        self.check(run, self.secrets_of(run.output))

    def test_decrypt(self):
        sealed = self.ok("encrypt", "--recipient", self.public, "-c", "plain")
        self.write("sealed", sealed)
        run = self.blocked_on_output("decrypt", "-i", "me.txt", "-c", "sealed")
        self.check(run, self.secrets_of(sealed))

    def test_identity_through_a_pipe(self):
        sealed = self.ok("encrypt", "--recipient", self.public, "-c", "plain")
        self.write("sealed", sealed)
        reading, writing = os.pipe()
        os.write(writing, self.read("me.txt"))
        os.close(writing)
        run = self.blocked_on_output("decrypt", "-i", f"/dev/fd/{reading}", "-c", "sealed",
                                     pass_fds=[reading])
        os.close(reading)
        self.check(run, self.secrets_of(sealed))

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
        secrets = needles.new()
        needles.add_text(secrets, "keyset in base64", self.value[16:])
        needles.add_key(secrets, "key", self.key)
        needles.add_tink(secrets, sealed, self.key)
        self.check(run, secrets)

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
        secrets = needles.new()
        needles.add_key(secrets, "key", self.key)
        for path in sorted(folder.glob("*.paes")):
            needles.add_paraes(secrets, path.read_bytes(), key=self.key, name=path.name)
        self.check(run, secrets)

    def rekeyed(self, *flags, stop=2, **kwargs):
        self.write("f", self.ok("encrypt", *self.old_flags, "-c", "plain"))
        old = self.read("f")
        run = self.stopped_at_write(stop, "rekey", *flags, "f", **kwargs)
        return run, old, self.read("f")

    def test_rekey_to_another_key(self):
        self.old_flags = ("-k", "k")
        new_key = needles.random_key(32, self.id() + "new")
        self.write("new", new_key)
        run, old, new = self.rekeyed("-k", "k", "--to-key-file", "new")
        secrets = needles.new()
        needles.add_paraes(secrets, old, key=self.key, name="old message")
        needles.add_paraes(secrets, new, key=new_key, name="new message")
        self.check(run, secrets)

    def test_rekey_to_a_passphrase(self):
        self.old_flags = ("-k", "k")
        run, old, new = self.rekeyed("--key-hex", self.key.hex(), "--to-passphrase-file", "pass",
                                     "--scrypt-log2n", LOG2N)
        secrets = needles.new()
        needles.add_key(secrets, "old key", self.key)
        needles.add_paraes(secrets, old, key=self.key, name="old message")
        needles.add_paraes(secrets, new, passphrase=self.passphrase, name="new message")
        self.check(run, secrets)

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
                secrets = needles.new()
                needles.add_key(secrets, "key",
                                bytes.fromhex(key.decode()) if "--hex" in flags else key)
                self.check(run, secrets)


if __name__ == "__main__":
    unittest.main()
