"""--format tink against the PyPI package tink, in both directions."""

import base64
import io
import itertools
import json
import os
import resource
import unittest

import tink
from common import (
    KERNELS,
    KEYS,
    InteropCase,
    in_hex,
    pattern,
    ranges_around,
    restore_signals,
    sanitized,
    spread,
)
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from tink import json_proto_keyset_format, secret_key_access, streaming_aead
from tink.proto import aes_gcm_hkdf_streaming_pb2, common_pb2

streaming_aead.register()

HASHES = {"SHA1": common_pb2.SHA1, "SHA256": common_pb2.SHA256, "SHA512": common_pb2.SHA512}
TYPE_URL = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey"
LARGE_SEGMENT = 1 << 20  # tests take fewer segments of this size and above


class Key:
    """A streaming key and its parameters."""

    def __init__(self, segment, derived, hash_name="SHA256", value=None, id=1):
        self.segment, self.derived, self.hash, self.id = segment, derived, hash_name, id
        self.value = os.urandom(derived) if value is None else value
        self.header = derived + 8
        self.first = segment - self.header - 16  # bytes of plaintext in segment 0
        self.more = segment - 16  # and in each after it

    def json(self, status="ENABLED", **changed):
        """The entry of a keyset for this key; `changed` replaces fields of the protocol buffer."""
        params = {"ciphertext_segment_size": self.segment, "derived_key_size": self.derived,
                  "hkdf_hash_type": HASHES[self.hash]}
        params.update((n, v) for n, v in changed.items() if n in params)
        key = aes_gcm_hkdf_streaming_pb2.AesGcmHkdfStreamingKey(
            version=changed.get("version", 0), key_value=changed.get("key_value", self.value),
            params=aes_gcm_hkdf_streaming_pb2.AesGcmHkdfStreamingParams(**params))
        value = base64.b64encode(key.SerializeToString()).decode()
        return {"keyData": {"typeUrl": TYPE_URL, "value": value, "keyMaterialType": "SYMMETRIC"},
                "status": status, "keyId": self.id, "outputPrefixType": "RAW"}

    def sizes(self):
        """Lengths of plaintext around each bound of the format, and several segments."""
        s, h, second = self.segment, self.header, self.first + self.more
        sizes = {0, 1, 15, 16, 17, h, self.first - 1, self.first, self.first + 1, s - 1, s, s + 1,
                 second - 1, second, second + 1, second + self.more}
        if s < LARGE_SEGMENT:
            sizes |= {second + 9 * self.more + 5, second + 29 * self.more}
        return sorted(n for n in sizes if n >= 0)

    def plains(self):
        return {f"f{n}": pattern(n) for n in self.sizes()}

    def seal(self, segments):
        """A message of exactly these segments, even where Tink would choose others."""
        salt, prefix = os.urandom(self.derived), os.urandom(7)
        hkdf = HKDF(getattr(hashes, self.hash)(), self.derived, salt, b"")
        cipher = AESGCM(hkdf.derive(self.value))
        sealed = []
        for i, plain in enumerate(segments):
            last = bytes([i == len(segments) - 1])
            sealed.append(cipher.encrypt(prefix + i.to_bytes(4, "big") + last, plain, None))
        return bytes([self.header]) + salt + prefix + b"".join(sealed)


def new_keyset(name):
    """A keyset that Tink makes from a template."""
    template = getattr(streaming_aead.streaming_aead_key_templates, name)
    return json_proto_keyset_format.serialize(tink.new_keyset_handle(template),
                                              secret_key_access.TOKEN)


def keyset(*rows, primary=1):
    """A keyset in JSON. Each row is a Key or an entry from its json()."""
    rows = [row.json() if isinstance(row, Key) else row for row in rows]
    return json.dumps({"primaryKeyId": primary, "key": rows})


def key_of(text):
    """The only key of a keyset that Tink wrote."""
    [row] = json.loads(text)["key"]
    key = aes_gcm_hkdf_streaming_pb2.AesGcmHkdfStreamingKey.FromString(
        base64.b64decode(row["keyData"]["value"]))
    names = {number: name for name, number in HASHES.items()}
    return Key(key.params.ciphertext_segment_size, key.params.derived_key_size,
               names[key.params.hkdf_hash_type], key.key_value, row["keyId"])


class TinkCase(InteropCase):
    def keys(self, text, name="keyset"):
        """Writes a keyset; returns the flags for it, and Tink's primitive with the same keys."""
        self.write(name, text.encode())
        handle = json_proto_keyset_format.parse(text, secret_key_access.TOKEN)
        return (["--format", "tink", "--key-file", name],
                handle.primitive(streaming_aead.StreamingAead))

    def tink_seal(self, aead, plain, associated_data=b""):
        with open(self.path("tink"), "wb") as file:
            with aead.new_encrypting_stream(file, associated_data) as stream:
                stream.write(plain)
        return self.read("tink")

    def tink_open(self, aead, message, associated_data=b""):
        with aead.new_decrypting_stream(io.BytesIO(message), associated_data) as stream:
            return stream.read()

    def opens(self, flags, message, data):
        """Checks that paraes opens the message, from a file and from a pipe."""
        self.write("m", message)
        self.assertTrue(self.ok("decrypt", *flags, "-c", "m") == data)
        self.assertTrue(self.ok("decrypt", *flags, "-", stdin=message) == data)

    def check_both_ways(self, aead, plains, *flags, associated_data=b""):
        flags = [*flags, *in_hex(associated_data)]
        made = self.encrypt_all(plains, *flags)
        self.check_same({n: self.tink_open(aead, m, associated_data) for n, m in made.items()},
                        plains)
        made = {n: self.tink_seal(aead, data, associated_data) for n, data in plains.items()}
        self.check_same(self.decrypt_all(made, *flags), plains)


class Templates(TinkCase):
    def test_keysets_of_tink_templates_agree_with_tink(self):
        for bits, (size, segment) in itertools.product(
                (128, 256), (("4KB", 4096), ("1MB", 1 << 20))):
            with self.subTest(bits=bits, segment=segment):
                text = new_keyset(f"AES{bits}_GCM_HKDF_{size}")
                flags, aead = self.keys(text)
                key = key_of(text)
                self.assertEqual((key.segment, key.derived), (segment, bits // 8))
                self.check_both_ways(aead, key.plains(), *flags)

    def test_files_pipes_and_threads_agree_with_tink(self):
        for name in ("AES128_GCM_HKDF_4KB", "AES256_GCM_HKDF_1MB"):
            text = new_keyset(name)
            flags, aead = self.keys(text)
            key = key_of(text)
            sizes = (0, key.first, key.first + 1, key.first + key.more, 2 * key.segment + 5)
            for size, threads in itertools.product(sizes, (1, 5)):
                data = pattern(size)
                with self.subTest(template=name, threads=threads):
                    self.four_ways("encrypt", data, lambda made: self.assertTrue(
                        self.tink_open(aead, made) == data), *flags, "-T", threads)
                    self.four_ways("decrypt", self.tink_seal(aead, data), lambda got:
                                   self.assertTrue(got == data), *flags, "-T", threads)


class Parameters(TinkCase):
    def test_segment_hash_and_key_sizes_agree_with_tink(self):
        # A key value of 32 bytes derives keys of 16 and of 32 bytes.
        for segment, hash_name, (length, derived) in spread(itertools.product(
                (64, 100, 4097, 65536), HASHES, ((16, 16), (32, 32), (32, 16))), 2):
            with self.subTest(segment=segment, hash=hash_name, length=length, derived=derived):
                key = Key(segment, derived, hash_name, os.urandom(length))
                flags, aead = self.keys(keyset(key))
                self.check_both_ways(aead, key.plains(), *flags)

    def test_messages_are_as_long_as_those_of_tink(self):
        for key in (Key(64, 16), Key(4096, 32)):
            flags, aead = self.keys(keyset(key))
            plains = key.plains()
            for name, message in self.encrypt_all(plains, *flags).items():
                # No empty segment follows a full one, so messages are as long as Tink's.
                self.assertEqual(len(message), len(self.tink_seal(aead, plains[name])))

    def test_smallest_segment_size_agrees_with_tink(self):
        # Segment 0 holds one byte of plaintext; one byte less is refused.
        for derived in (16, 32):
            key = Key(derived + 25, derived)
            flags, aead = self.keys(keyset(key))
            self.check_both_ways(aead, key.plains(), *flags)
            self.write("short", keyset(Key(derived + 24, derived)).encode())
            self.fails(2, "encrypt", "--format", "tink", "--key-file", "short", "-",
                       says=str(derived + 25))

    def test_associated_data_agrees_with_tink(self):
        key = Key(4096, 32)
        flags, aead = self.keys(keyset(key))
        plains = {f"f{n}": pattern(n) for n in (0, 1, key.first, 3 * key.more)}
        for ad in (b"", b"\0", b"photos/2019", pattern(512)):
            with self.subTest(bytes=len(ad)):
                self.check_both_ways(aead, plains, *flags, associated_data=ad)
        message = self.tink_seal(aead, b"data", b"right")
        for wrong in (b"", b"wrong", b"right\0"):
            with self.assertRaises(tink.TinkError):
                self.tink_open(aead, message, wrong)
            self.refused(4, "wrong key", {"m": message}, *flags, *in_hex(wrong))
        self.fails(2, "encrypt", *flags, *in_hex(bytes(513)), "-", says="512")

    def test_every_kernel_agrees_with_tink(self):
        for key in (Key(100, 32), Key(4097, 16)):
            flags, aead = self.keys(keyset(key))
            for kernel in KERNELS:
                with self.subTest(kernel=kernel, segment=key.segment):
                    self.check_both_ways(aead, key.plains(), *flags, "--kernel", kernel)

    def test_offset_and_length_select_a_range(self):
        for key in (Key(64, 32), Key(4096, 16)):
            flags, aead = self.keys(keyset(key))
            bounds = (key.first, key.first + key.more, key.first + 20 * key.more)
            for size in (bounds[-1] + 50, bounds[-1]):
                data = pattern(size)
                message = self.tink_seal(aead, data)
                ranges = spread(ranges_around(size, bounds), 6)
                self.check_ranges(message, data, ranges, *flags)

    def test_info_states_sizes_and_segments(self):
        for key in (Key(100, 16), Key(4096, 32)):
            flags, aead = self.keys(keyset(key))
            for size in spread(key.sizes(), 2):
                with self.subTest(segment=key.segment, size=size):
                    self.write("m", self.tink_seal(aead, pattern(size)))
                    said = json.loads(self.ok("info", "--json", "--format", "tink",
                                              "--segment-size", key.segment, "m"))
                    self.assertEqual(said["cipher"], f"AES-{8 * key.derived}-GCM")
                    self.assertEqual(said["header_bytes"], key.header)
                    self.assertEqual(said["bytes"], len(self.read("m")))
                    self.assertEqual(said["plain_bytes"], size)
                    self.assertEqual(said["segments"],
                                     1 + max(0, -(-(size - key.first) // key.more)))


class RawKeys(TinkCase):
    def test_raw_key_and_keyset_with_the_same_parameters_agree(self):
        for segment, hash_name, (length, derived) in spread(itertools.product(
                (100, 4096), HASHES, ((16, 16), (32, 32), (32, 16))), 2):
            with self.subTest(segment=segment, hash=hash_name, length=length, derived=derived):
                key = Key(segment, derived, hash_name, KEYS[8 * length])
                in_set, aead = self.keys(keyset(key))
                self.write("raw", key.value)
                raw = ["--format", "tink", "--key-file", "raw", "--segment-size", segment,
                       "--tink-hash", hash_name, "--key-bits", 8 * derived]
                plains = {f"f{n}": pattern(n) for n in (0, key.first, key.first + 1, 3 * segment)}
                self.check_both_ways(aead, plains, *raw)
                self.check_same(self.decrypt_all(self.encrypt_all(plains, *raw), *in_set), plains)
                self.check_same(self.decrypt_all(self.encrypt_all(plains, *in_set), *raw), plains)

    def test_defaults_of_raw_keys_are_the_1mb_templates(self):
        for bits in (128, 256):
            flags = ["--format", "tink", "--key-file", self.write("raw", KEYS[bits])]
            _, aead = self.keys(keyset(Key(1 << 20, bits // 8, value=KEYS[bits])))
            self.check_both_ways(aead, {"f": pattern((1 << 20) + 99), "g": b""}, *flags)

    def test_hex_key_file_agrees_with_tink(self):
        key = Key(4096, 32, value=KEYS[256])
        _, aead = self.keys(keyset(key))
        self.write("hex", key.value.hex().encode() + b"\n")
        flags = ["--format", "tink", "--key-file", "hex", "--segment-size", "4KiB"]
        self.check_both_ways(aead, {"f": pattern(9999)}, *flags)

    def test_other_parameters_of_a_raw_key_are_refused(self):
        key = Key(4096, 16, "SHA256", KEYS[256])
        _, aead = self.keys(keyset(key))
        messages = {f"f{n}": self.tink_seal(aead, pattern(n)) for n in (5, 9999)}
        self.write("raw", key.value)
        flags = ["--format", "tink", "--key-file", "raw", "--key-bits", 128]
        self.refused(4, "wrong key", messages, *flags, "--segment-size", 4096,
                     "--tink-hash", "SHA1")
        self.refused(4, "wrong key", {"m": messages["f9999"]}, *flags, "--segment-size", 2048)
        self.refused(4, "header", messages, "--format", "tink", "--key-file", "raw",
                     "--segment-size", 4096)

    def test_flags_of_raw_keys_are_refused_with_a_keyset(self):
        flags, _ = self.keys(keyset(Key(4096, 16)))
        for more in (["--segment-size", 4096], ["--tink-hash", "SHA1"], ["--key-bits", 128]):
            self.fails(2, "encrypt", *flags, *more, "-", says=[more[0], "raw key"])


@unittest.skipIf(sanitized(), "sanitizers reserve terabytes of address space")
class LargestSegments(TinkCase):
    """Memory follows the data, not the segment size of the keyset."""

    def small(self, *args, **kwargs):
        """Runs paraes with 256 MiB of address space."""
        def limit():
            restore_signals()
            resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
        return self.ok(*args, preexec_fn=limit, **kwargs)

    def test_small_files_and_pipes_take_little_memory(self):
        key = Key((1 << 31) - 1, 32)
        for name, keys in (("one key", [key]), ("two keys that fit", [key, Key(4096, 32, id=2)])):
            with self.subTest(name):
                flags, aead = self.keys(keyset(*keys))
                flags += ["-T", 2]
                for size in (0, 4, (20 << 20) + 3):
                    data = pattern(size)
                    self.write("plain", data)
                    message = self.small("encrypt", *flags, "-c", "plain")
                    self.write("m", message)
                    if size == 4:  # Tink takes 2 GiB
                        self.assertEqual(self.tink_open(aead, message), data)
                    for source, stdin in (("m", b""), ("-", message)):
                        for more in ([], ["--salvage"]):
                            got = self.small("decrypt", *flags, *more, "-c", source, stdin=stdin)
                            self.assertTrue(got == data)
                        self.small("verify", *flags, source, stdin=stdin)
                    got = self.small("decrypt", *flags, "--offset", size // 2, "-c", "m")
                    self.assertTrue(got == data[size // 2:])
                    message = self.small("encrypt", *flags, "-c", "-", stdin=data)
                    self.write("m", message)
                    self.assertTrue(self.small("decrypt", *flags, "-c", "m") == data)
                self.small("info", "--format", "tink", "--segment-size", key.segment, "m")


class Damage(TinkCase):
    def setUp(self):
        super().setUp()
        self.key = Key(256, 16)
        self.flags, self.aead = self.keys(keyset(self.key))
        self.segments = [pattern(self.key.first), pattern(self.key.more), pattern(50)]
        self.message = self.tink_seal(self.aead, b"".join(self.segments))

    def test_wrong_header_length_is_refused(self):
        for length in (0, 23, 25, 40, 255):
            changed = {"m": bytes([length]) + self.message[1:]}
            self.refused(4, f"header says that it has {length} bytes", changed, *self.flags)

    def test_empty_segment_after_a_full_one_is_accepted_with_a_note(self):
        for full in (self.segments[:1], self.segments[:2]):
            data = b"".join(full)
            message = self.key.seal([*full, b""])
            self.assertEqual(self.tink_open(self.aead, message), data)
            self.four_ways("decrypt", message, lambda got: self.assertEqual(got, data), *self.flags)
            self.write("m", message)
            for name, stdin in (("m", b""), ("-", message)):
                done = self.exits(0, "verify", "-v", *self.flags, name, stdin=stdin)
                self.assertIn(b"the last segment is empty and follows a full one", done.stderr)
            # Tink writes no empty segment, so nothing is said of its message.
            done = self.run_paraes("verify", "-v", *self.flags, "-",
                                   stdin=self.tink_seal(self.aead, data))
            self.assertNotIn(b"is empty", done.stderr)

    def test_wrong_last_segment_mark_is_refused(self):
        # A short segment that is not marked as the last one, and a segment after the last one.
        short = self.key.seal([self.segments[0][:-1], b"data"])
        self.refused(4, "", {"short": short}, *self.flags)
        ended = self.key.seal(self.segments[:1])
        self.refused(4, "", {"ended": ended + self.message[self.key.segment:]}, *self.flags)


class SeveralKeys(TinkCase):
    def test_any_enabled_key_opens_and_the_primary_key_encrypts(self):
        keys = [Key(4096, 16, id=1), Key(100, 32, "SHA512", id=2), Key(65536, 16, "SHA1", id=3),
                Key(4097, 32, id=4)]
        for primary in (1, 2, 3, 4):
            flags, aead = self.keys(keyset(*keys, primary=primary))
            own = keys[primary - 1]
            self.check_both_ways(aead, own.plains(), *flags)
            # The primary key encrypts: a keyset with this key only opens the message.
            alone, _ = self.keys(keyset(own, primary=primary), "alone")
            made = self.ok("encrypt", *flags, "-", stdin=b"data")
            self.assertEqual(self.ok("decrypt", *alone, "-", stdin=made), b"data")
        flags, _ = self.keys(keyset(*keys))
        for key in keys:
            _, aead = self.keys(keyset(key, primary=key.id), "alone")
            for size in (0, 1, key.first, key.first + 1, 5 * key.segment):
                data = pattern(size)
                self.four_ways("decrypt", self.tink_seal(aead, data),
                               lambda got: self.assertTrue(got == data), *flags)

    def test_keys_with_the_same_header_length_are_told_apart(self):
        # Only segment 0 tells the keys apart, and its end depends on the key.
        for a, b in ((64, 4096), (4096, 64), (4096, 4096), (100, 1 << 20), (1 << 20, 65536)):
            keys = [Key(a, 16, id=1), Key(b, 16, id=2)]
            flags, _ = self.keys(keyset(*keys))
            for key in keys:
                _, aead = self.keys(keyset(key, primary=key.id), "alone")
                for size in spread((0, 1, a, b, key.first - 1, key.first, key.first + 1,
                                    key.first + key.more, 2 * max(a, b) + 5), 2):
                    with self.subTest(first=a, second=b, made_by=key.id):
                        data = pattern(size)
                        self.opens(flags, self.tink_seal(aead, data), data)
                # A full first segment and an empty one: each key divides these bytes differently.
                data = pattern(key.first)
                self.opens(flags, key.seal([data, b""]), data)

    def test_damage_does_not_hide_the_key(self):
        keys = [Key(4096, 16, id=1), Key(4096, 16, id=2), Key(64, 16, id=3)]
        flags, _ = self.keys(keyset(*keys))
        for key in keys:
            _, aead = self.keys(keyset(key, primary=key.id), "alone")
            with self.subTest(made_by=key.id):
                self.check_bytes_behind(key, aead, flags)
                for intact in ([1], [2, 3], [3]):
                    self.check_damaged(key, aead, flags, intact)

    def check_bytes_behind(self, key, aead, flags):
        data = pattern(key.first)
        for more in (1, 15, 16, 40):
            longer = self.tink_seal(aead, data) + pattern(more)
            self.write("longer", longer)
            zeros = bytes(max(0, more - 16))
            for source, stdin in (("longer", b""), ("-", longer)):
                command = ["decrypt", *flags, "-c", source]
                done = self.exits(3, *command, "--salvage", stdin=stdin)
                self.assertTrue(done.stdout == data + zeros)
                if more < 16:
                    done = self.exits(4, *command, stdin=stdin)
                    self.assertNotIn(b"wrong key", done.stderr)

    def check_damaged(self, key, aead, flags, intact):
        """Of four segments, those that are not named are damaged."""
        data = pattern(key.first + 2 * key.more + 5)
        message = bytearray(self.tink_seal(aead, data))
        starts = [0, key.first, key.first + key.more, key.first + 2 * key.more, len(data)]
        expected = bytearray(data)
        for n in {0, 1, 2, 3} - set(intact):
            message[min((n + 1) * key.segment, len(message)) - 1] ^= 1
            expected[starts[n]:starts[n + 1]] = bytes(starts[n + 1] - starts[n])
        self.write("damaged", message)
        done = self.exits(3, "decrypt", *flags, "--salvage", "-c", "damaged")
        self.assertTrue(done.stdout == expected)
        part = slice(starts[intact[0]], starts[intact[0] + 1])
        got = self.ok("decrypt", *flags, "--offset", part.start,
                      "--length", part.stop - part.start, "-c", "damaged")
        self.assertTrue(got == data[part])

    def test_offset_and_length_work_with_the_second_key(self):
        keys = [Key(4096, 16, id=1), Key(64, 16, id=2)]
        flags, _ = self.keys(keyset(*keys))
        _, aead = self.keys(keyset(keys[1], primary=2), "alone")
        data = pattern(1000)
        ranges = [(0, 1), (30, 400), (999, 1), (1000, None), (500, None)]
        self.check_ranges(self.tink_seal(aead, data), data, ranges, *flags)

    def test_message_of_a_key_outside_the_keyset_is_refused(self):
        for keys in ((Key(4096, 16, id=1), Key(64, 16, id=2)), (Key(4096, 16, id=1),)):
            flags, _ = self.keys(keyset(*keys))
            _, aead = self.keys(keyset(Key(4096, 16)), "other")
            messages = {f"f{n}": self.tink_seal(aead, pattern(n)) for n in (0, 20, 9999)}
            self.refused(4, "wrong key", messages, *flags)

    def test_disabled_and_destroyed_keys_do_not_open(self):
        used, other = Key(4096, 16, id=1), Key(4096, 16, id=2)
        _, aead = self.keys(keyset(other, primary=2), "alone")
        message = self.tink_seal(aead, b"data")
        for status in ("DISABLED", "DESTROYED"):
            text = keyset(used, other.json(status=status))
            flags, both = self.keys(text)
            self.check_both_ways(both, {"f": pattern(9999)}, *flags)
            with self.assertRaises(tink.TinkError):
                self.tink_open(both, message)
            self.refused(4, "wrong key", {"m": message}, *flags)

    def test_destroyed_key_without_data_and_disabled_key_of_another_type_are_ignored(self):
        # A destroyed key has no keyData, and Tink uses the other keys.
        destroyed = {"status": "DESTROYED", "keyId": 2, "outputPrefixType": "RAW"}
        disabled = Key(4096, 16, id=2).json(status="DISABLED")
        disabled["keyData"]["typeUrl"] = "type.googleapis.com/google.crypto.tink.AesGcmKey"
        for row in (destroyed, disabled):
            flags, aead = self.keys(keyset(Key(4096, 16), row))
            self.check_both_ways(aead, {"f": pattern(9999)}, *flags)

    def test_primary_key_that_is_not_enabled_is_refused(self):
        keys = [Key(4096, 16, id=1), Key(4096, 16, id=2)]
        for status in ("DISABLED", "DESTROYED"):
            self.write("keyset", keyset(keys[0].json(status=status), keys[1]).encode())
            for verb in ("encrypt", "decrypt"):
                self.fails(2, verb, "--format", "tink", "--key-file", "keyset", "-",
                           says="primary key")


class BadKeysets(TinkCase):
    def refuses(self, text, *secrets, says="keyset"):
        """Expects exit 2, and no eight characters of a secret in the output."""
        data = text if isinstance(text, bytes) else text.encode()
        self.write("keyset", data)
        for verb in ("encrypt", "decrypt"):
            done = self.fails(2, verb, "--format", "tink", "--key-file", "keyset", "-v", "-",
                              says=says)
            said = (done.stdout + done.stderr).decode()
            for secret in secrets:
                for at in range(len(secret) - 7):
                    self.assertNotIn(secret[at:at + 8], said)

    def check(self, text, key, **more):
        secrets = [key.value.hex(), key.json()["keyData"]["value"],
                   base64.b64encode(key.value).decode()]
        self.refuses(text, *secrets, **more)

    def test_encrypted_keyset_is_refused(self):
        with_value = base64.b64encode(os.urandom(90)).decode()
        info = {"primaryKeyId": 1, "keyInfo": [{"typeUrl": TYPE_URL, "status": "ENABLED",
                                                "keyId": 1, "outputPrefixType": "RAW"}]}
        self.refuses(json.dumps({"encryptedKeyset": with_value, "keysetInfo": info}), with_value,
                     says="encrypted")

    def test_keyset_of_another_key_type_is_refused(self):
        text = new_keyset("AES128_CTR_HMAC_SHA256_4KB")
        [row] = json.loads(text)["key"]
        self.refuses(text, row["keyData"]["value"], says="AesCtrHmacStreamingKey")

    def test_keys_with_bad_parameters_are_refused(self):
        key = Key(4096, 16)
        for changed, says in (({"version": 1}, "version 1"),
                              ({"ciphertext_segment_size": 40}, "segment"),
                              ({"ciphertext_segment_size": 1 << 31}, "segment"),
                              ({"ciphertext_segment_size": 0}, "segment"),
                              ({"derived_key_size": 24}, "24"), ({"derived_key_size": 0}, "0"),
                              ({"derived_key_size": 32}, "16 bytes"),
                              ({"key_value": key.value[:15]}, "15 bytes"),
                              ({"key_value": b""}, "0 bytes"),
                              ({"hkdf_hash_type": common_pb2.SHA224}, "hash"),
                              ({"hkdf_hash_type": common_pb2.SHA384}, "hash"),
                              ({"hkdf_hash_type": common_pb2.UNKNOWN_HASH}, "hash")):
            with self.subTest(changed=list(changed)):
                row = key.json(**changed)
                self.check(keyset(row), key, says=["keyset", says])
                self.refuses(keyset(row), row["keyData"]["value"])

    def test_missing_primary_key_is_refused(self):
        key = Key(4096, 16)
        self.check(keyset(key, primary=2), key, says="primary key")
        # Spaces, because paraes takes so short a text for a raw key of the wrong size.
        self.refuses(json.dumps({"primaryKeyId": 1, "key": []}) + 200 * " ", says="primary key")

    def test_two_primary_keys_are_refused(self):
        # It is ambiguous which key encrypts, and Tink refuses such a keyset.
        text = keyset(Key(4096, 16), Key(4096, 16))
        with self.assertRaises(tink.TinkError):
            self.keys(text)
        self.refuses(text)

    def test_damaged_keysets_are_refused(self):
        # Damage to JSON and base64: unit.TinkKeyset.
        key = Key(4096, 16)
        text = keyset(key)
        value = key.json()["keyData"]["value"]
        for name, changed in {
            "no message": text.replace(value, base64.b64encode(b"\xff" * 24).decode()),
            "cut message": text.replace(value, base64.b64encode(
                base64.b64decode(value)[:-1]).decode()),
            "no status": text.replace("status", "stetus"),
            "text": json.dumps(text), "binary": b"\x08\x01\x12" + text.encode(),
        }.items():
            with self.subTest(name):
                self.check(changed, key, says="key")
