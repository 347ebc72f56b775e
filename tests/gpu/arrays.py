#!/usr/bin/env python3
"""Checks paraes.gpu with the libraries of arrays that are installed: torch, CuPy and JAX.

    tests/gpu/arrays.py [-o FILE.json] [--quick]

Every mode against cryptography, or else OpenSSL's libcrypto through ctypes, on slices that begin at
every residue of 16; then rates of encrypt_into, and the time of a call of 1 KiB beside torch.add's.
Needs paraes, which tests/gpu/pack puts beside it.
"""

import argparse
import ctypes
import ctypes.util
import importlib
import json
import os
import sys
import time

KEY = bytes(range(32))
NONCE = bytes(range(12))
IV = bytes(range(100, 116))
TAG_BYTES = 16


class Oracle:
    """The answers, by libcrypto."""

    NAMES = {"ECB": "ecb", "CBC": "cbc", "CTR": "ctr", "XTS": "xts", "GCM": "gcm"}
    SET_TAG, GET_TAG = 0x11, 0x10

    def __init__(self):
        name = ctypes.util.find_library("crypto") or "libcrypto.so.3"
        self.library = ctypes.CDLL(name)
        for call in ("EVP_CIPHER_CTX_new", "EVP_get_cipherbyname"):
            getattr(self.library, call).restype = ctypes.c_void_p

    def crypt(self, mode, encrypts, text, aad=b""):
        """The result, and for encryption in GCM the tag behind it."""
        bits = 128 if mode == "XTS" else 256
        cipher = self.library.EVP_get_cipherbyname(f"aes-{bits}-{self.NAMES[mode]}".encode())
        context = ctypes.c_void_p(self.library.EVP_CIPHER_CTX_new())
        iv = NONCE if mode == "GCM" else IV
        out, written = ctypes.create_string_buffer(len(text) + 32), ctypes.c_int()
        try:
            self.check(self.library.EVP_CipherInit_ex(
                context, ctypes.c_void_p(cipher), None, KEY, iv, int(encrypts)))
            self.library.EVP_CIPHER_CTX_set_padding(context, 0)
            if aad:
                self.check(self.library.EVP_CipherUpdate(
                    context, None, ctypes.byref(written), aad, len(aad)))
            self.check(self.library.EVP_CipherUpdate(
                context, out, ctypes.byref(written), text, len(text)))
            result = out.raw[: len(text)]
            if mode != "GCM":
                return result
            self.check(self.library.EVP_CipherFinal_ex(context, out, ctypes.byref(written)))
            tag = ctypes.create_string_buffer(TAG_BYTES)
            self.check(self.library.EVP_CIPHER_CTX_ctrl(context, self.GET_TAG, TAG_BYTES, tag))
            return result + tag.raw
        finally:
            self.library.EVP_CIPHER_CTX_free(context)

    @staticmethod
    def check(code):
        if code != 1:
            raise RuntimeError("libcrypto failed")


class Torch:
    name = "torch"

    def __init__(self):
        self.torch = importlib.import_module("torch")
        if not self.torch.cuda.is_available():
            raise ImportError("torch sees no GPU")

    def put(self, content, shift):
        """The bytes on the GPU, `shift` bytes after the beginning of an allocation."""
        everything = self.torch.zeros(shift + len(content), dtype=self.torch.uint8, device="cuda")
        if content:
            own = self.torch.frombuffer(bytearray(content), dtype=self.torch.uint8)
            everything[shift:] = own.cuda()
        return everything[shift:]

    def get(self, array):
        return bytes(array.cpu().numpy().tobytes())

    def synchronize(self):
        self.torch.cuda.synchronize()


class Cupy:
    name = "cupy"

    def __init__(self):
        self.cupy = importlib.import_module("cupy")
        self.numpy = importlib.import_module("numpy")
        self.cupy.cuda.runtime.getDeviceCount()

    def put(self, content, shift):
        everything = self.cupy.zeros(shift + len(content), self.cupy.uint8)
        everything[shift:] = self.cupy.asarray(self.numpy.frombuffer(content, self.numpy.uint8))
        return everything[shift:]

    def get(self, array):
        return self.cupy.asnumpy(array).tobytes()

    def synchronize(self):
        self.cupy.cuda.Device().synchronize()


class Jax:
    name = "jax"

    def __init__(self):
        self.jax = importlib.import_module("jax")
        self.numpy = importlib.import_module("numpy")
        self.gpu = self.jax.devices("gpu")[0]

    def put(self, content, shift):
        """JAX has no views: a slice is a copy, at the beginning of an allocation."""
        array = self.numpy.frombuffer(bytes(shift) + content, self.numpy.uint8)
        return self.jax.device_put(array, self.gpu)[shift:]

    def get(self, array):
        return self.numpy.asarray(array).tobytes()

    def synchronize(self):
        self.jax.effects_barrier()


def text(size):
    return bytes((7 * i + (i >> 8)) % 251 for i in range(size))


def check(library, gpu, kernel, quick=False):
    """Raises AssertionError where a result is wrong. Returns how many it compared."""
    oracle, compared = Oracle(), 0
    options = {"kernel": kernel, "allow_leaky": True}
    gcm = gpu.AESGCM(KEY, **options)
    others = {
        "ECB": gpu.ECB(KEY, **options),
        "CBC": gpu.CBC(KEY, **options),
        "CTR": gpu.CTR(KEY, **options),
        "XTS": gpu.XTS(KEY, **options),
    }
    for shift in (0, 1, 8) if quick else range(16):
        whole, odd = text(16 * 1111), text(20_001 + shift)
        for mode, cipher in others.items():
            plain = odd if mode == "CTR" else whole
            arguments = () if mode == "ECB" else (IV,)
            for encrypts in (False,) if mode == "CBC" else (True, False):
                call = cipher.encrypt if encrypts else cipher.decrypt
                found = library.get(call(*arguments, library.put(plain, shift)))
                assert found == oracle.crypt(mode, encrypts, plain), (mode, encrypts, shift)
                compared += 1
        sealed = gcm.encrypt(NONCE, library.put(odd, shift), b"aad")
        right = oracle.crypt("GCM", True, odd, b"aad")
        assert library.get(sealed) == right, ("GCM", shift)
        assert library.get(gcm.decrypt(NONCE, sealed, b"aad")) == odd, ("GCM decryption", shift)
        compared += 2
    try:
        gcm.decrypt(NONCE, library.put(right[:-1] + b"\0", 1), b"aad")
    except Exception as error:
        assert type(error).__name__ == "InvalidTag", error
    else:
        raise AssertionError("a wrong tag was not noticed")
    return compared


def seconds(call, synchronize, times):
    """Of one of `times` calls, the least of five tries."""
    best = float("inf")
    for _ in range(5):
        synchronize()
        start = time.perf_counter()
        for _ in range(times):
            call()
        synchronize()
        best = min(best, (time.perf_counter() - start) / times)
    return best


def measure(library, gpu, kernel, size):
    """Rates of encrypt_into, and microseconds of small calls: to enqueue them, and until they end."""
    torch = library.torch
    cipher = gpu.AESGCM(KEY, kernel=kernel, allow_leaky=True)
    everything = torch.zeros(size + 64, dtype=torch.uint8, device="cuda")
    tag = torch.zeros(TAG_BYTES, dtype=torch.uint8, device="cuda")
    rates = {}
    for shift in (0, 8, 1):
        data = everything[shift : shift + size]
        taken = seconds(lambda data=data: cipher.encrypt_into(NONCE, data, None, data, tag),
                        library.synchronize, 5)
        rates[f"{kernel}, {shift} bytes after a multiple of 16, Tbit/s"] = 8e-12 * size / taken
    small = everything[:1024]
    one = torch.ones_like(small)
    rates[f"{kernel}, 1 KiB, us"] = 1e6 * seconds(
        lambda: cipher.encrypt_into(NONCE, small, None, small, tag), library.synchronize, 1000)
    rates["torch.add, 1 KiB, us"] = 1e6 * seconds(
        lambda: torch.add(small, one, out=small), library.synchronize, 1000)
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("-o", "--output")
    parser.add_argument("--quick", action="store_true", help="few slices, and small sizes")
    options = parser.parse_args()
    from paraes import gpu

    result, failed = {}, False
    for make in (Torch, Cupy, Jax):
        try:
            library = make()
        except Exception as error:  # not installed, or without a GPU
            result[make.name] = {"absent": f"{type(error).__name__}: {error}"}
            print(f"{make.name}: not used: {error}")
            continue
        result[make.name] = {}
        for kernel in ("bitslice", "ttable"):
            try:
                compared = check(library, gpu, kernel, options.quick)
                result[make.name][kernel] = {"compared": compared}
                print(f"{make.name}, {kernel}: {compared} results are right")
                if make is Torch:
                    size = 1 << (20 if options.quick else 30)
                    result[make.name][kernel]["rates"] = measure(library, gpu, kernel, size)
                    for name, value in result[make.name][kernel]["rates"].items():
                        print(f"  {name}: {value:.3f}")
            except Exception as error:  # the other libraries shall run
                failed = True
                result[make.name][kernel] = {"failed": f"{type(error).__name__}: {error}"}
                print(f"{make.name}, {kernel}: FAILED: {type(error).__name__}: {error}")
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    if all("absent" in found for found in result.values()):
        print("no library has a GPU")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    sys.exit(main())
