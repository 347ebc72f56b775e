"""paraes.gpu: on PoCL every mode against cryptography, and with the stand-in for CUDA's driver what
is asked of torch, CuPy and JAX, and every refusal."""

import gc
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import textwrap
import types

import device_arrays
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from helpers import KEY, refuses_without_secrets, run_python

import paraes
import paraes.gpu

NONCE = bytes(range(100, 112))
IV = bytes(range(200, 216))
FAKE = os.environ.get("PARAES_FAKE_DRIVERS", "")
FAKE_NVRTC = os.environ.get("PARAES_FAKE_NVRTC", "")
KERNEL = "reference"  # PoCL compiles it soonest


def text(size, seed=1):
    return bytes((i * 7 + seed + (i >> 8)) % 256 for i in range(size))


def placed(opencl, content, shift):
    """The content in the midst of a buffer, `shift` bytes after its beginning."""
    return device_arrays.ClArray(opencl.buffer(b"\xee" * shift + content), shift)


# ---- On PoCL


def test_gcm_is_that_of_cryptography_at_every_residue(opencl):
    cipher, other = paraes.gpu.AESGCM(KEY, kernel=KERNEL), AESGCM(KEY)
    for shift in range(16):
        plain = text(1000 + shift, shift)
        nonce = bytes([shift]) + NONCE[1:]
        expected = other.encrypt(nonce, plain, b"aad")
        data = placed(opencl, plain, shift)
        sealed = cipher.encrypt(nonce, data, b"aad")
        assert sealed.read() == expected
        assert cipher.decrypt(nonce, sealed, b"aad").read() == plain
        # In place, with the tag elsewhere.
        tag = placed(opencl, bytes(16), 15 - shift)
        cipher.encrypt_into(nonce, data, b"aad", data, tag).wait()
        assert data.read() + tag.read() == expected
        cipher.decrypt_into(nonce, data, b"aad", data, tag).verify()
        assert data.read() == plain
        assert data.base_data.read(0, shift) == b"\xee" * shift


def test_what_is_not_authentic_becomes_zeros(opencl):
    cipher = paraes.gpu.AESGCM(KEY, kernel=KERNEL)
    sealed = bytearray(AESGCM(KEY).encrypt(NONCE, text(500), None))
    sealed[77] ^= 1
    out = placed(opencl, b"\xaa" * 500, 3)
    verdict = cipher.decrypt_into(NONCE, placed(opencl, bytes(sealed), 1), None, out)
    with pytest.raises(paraes.InvalidTag, match="the tag does not match"):
        verdict.verify()
    assert out.read() == bytes(500)
    with pytest.raises(paraes.InvalidTag):
        cipher.decrypt(NONCE, placed(opencl, bytes(sealed), 1), None)


def test_lists_have_a_nonce_and_a_tag_each(opencl):
    cipher, other = paraes.gpu.AESGCM(KEY, kernel=KERNEL), AESGCM(KEY)
    plains = [text(size, size) for size in (0, 1, 16, 333)]
    nonces = [bytes([i]) * 12 for i in range(4)]
    aads = [None, b"a", b"", b"bc"]
    expected = [other.encrypt(*three) for three in zip(nonces, plains, aads, strict=True)]
    datas = [placed(opencl, plain, i) for i, plain in enumerate(plains)]
    sealed = cipher.encrypt(nonces, datas, aads)
    assert [one.read() for one in sealed] == expected
    wrong = bytearray(expected[2])
    wrong[-1] ^= 8
    sealed[2] = placed(opencl, bytes(wrong), 9)
    verdict = cipher.decrypt_into(nonces, sealed, aads, datas)
    assert len(verdict) == 4
    assert [verdict.intact(i) for i in range(4)] == [True, True, False, True]
    with pytest.raises(paraes.InvalidTag, match="the tag of message 2"):
        verdict.verify()
    with pytest.raises(paraes.InvalidArgument, match="index: it is a whole number from 0 to 3"):
        verdict.intact(4)
    with pytest.raises(paraes.InvalidArgument, match="nonce: pass a list with one for each"):
        cipher.encrypt(NONCE, datas)


def test_units_of_xts_are_those_of_cryptography(opencl):
    """test_what_the_check_of_a_gpu_compares has whole texts in this and all other modes."""
    plain = text(4096 + 48)
    data = placed(opencl, plain, 5)
    units = paraes.gpu.XTS(KEY, 512, kernel=KERNEL)
    first = Cipher(algorithms.AES(KEY), modes.XTS(IV)).encryptor()
    sealed = units.encrypt(IV, data)
    assert sealed.read()[:512] == first.update(plain[:512])
    assert units.decrypt(IV, sealed).read() == plain


@pytest.mark.parametrize("form", ["paraes", "c2sp", "tink"])
def test_segments_of_a_message(opencl, form):
    plain = text(100_000)
    options = {"key": KEY, "format": form} | ({"segment_size": 4096} if form == "tink" else {})
    sealed = paraes.seal(plain, **options)
    segments = paraes.gpu.Segments.open(sealed, **options, kernel=KERNEL)
    assert sealed.startswith(segments.header)
    assert segments.plain_size(len(sealed)) == len(plain)
    assert segments.sealed_size(len(plain)) == len(sealed)
    file = opencl.buffer(sealed)
    for first in (0, 1, 3):
        at, begin = segments.sealed_offset(first), segments.plain_offset(first)
        out = placed(opencl, bytes(len(plain) - begin), 7)
        segments.open_segments(first, device_arrays.ClArray(file, at), out).verify()
        assert out.read() == plain[begin:]
    damaged = bytearray(sealed)
    damaged[segments.sealed_offset(2) + 9] ^= 1
    file, out = opencl.buffer(bytes(damaged)), placed(opencl, bytes(len(plain)), 0)
    at = segments.sealed_offset(0)
    verdict = segments.open_segments(0, device_arrays.ClArray(file, at), out)
    with pytest.raises(paraes.IntegrityError, match="segment 2 does not authenticate"):
        verdict.verify()
    begin, end = segments.plain_offset(2), segments.plain_offset(3)
    assert out.read() == plain[:begin] + bytes(end - begin) + plain[end:]

    made = paraes.gpu.Segments.new(**options, kernel=KERNEL)
    size = made.sealed_size(len(plain)) - len(made.header)
    result = placed(opencl, bytes(size), 2)
    made.seal_segments(0, placed(opencl, plain, 1), result).wait()
    assert paraes.unseal(made.header + result.read(), **options) == plain
    with pytest.raises(paraes.InvalidArgument, match="only the last segment"):
        made.seal_segments(0, placed(opencl, plain, 1), result, last=False)


def test_what_the_check_of_a_gpu_compares(opencl):
    """tests/gpu/arrays.py, which runs with torch, CuPy and JAX where there is a GPU."""
    script = pathlib.Path(__file__).parents[1] / "gpu" / "arrays.py"
    arrays = types.SimpleNamespace(**runpy.run_path(str(script)))
    library = types.SimpleNamespace(
        put=lambda content, shift: placed(opencl, content, shift), get=lambda array: array.read())
    assert arrays.check(library, paraes.gpu, KERNEL, quick=True) == 27
    wrong = types.SimpleNamespace(put=library.put, get=lambda array: array.read()[:-1] + b"?")
    with pytest.raises(AssertionError):
        arrays.check(wrong, paraes.gpu, KERNEL, quick=True)


def test_sizes_and_types_are_checked(opencl):
    cipher = paraes.gpu.AESGCM(KEY, kernel=KERNEL)
    data, out = placed(opencl, text(100), 1), placed(opencl, bytes(116), 2)
    for arguments, says in (
        ((bytes(11), data, None, out), "nonce: it has 12 bytes, not 11"),
        ((NONCE, data, None, placed(opencl, bytes(9), 0)), "out: it is shorter than a tag"),
        ((NONCE, data, None, placed(opencl, bytes(50), 0)), "out: it must have 116 bytes, not 50"),
        ((NONCE, data, None, out, out), "tag: it has 16 bytes, not 116"),
        ((NONCE, data, None, out, placed(opencl, bytes(16), 0)), "out: it must have 100 bytes"),
        ((NONCE, [], None, out), "data: there is no message"),
    ):
        with pytest.raises(paraes.InvalidArgument, match=says):
            cipher.encrypt_into(*arguments)
    with pytest.raises(paraes.InvalidArgument, match="data: it is shorter than a tag"):
        cipher.decrypt(NONCE, placed(opencl, bytes(15), 0), None)
    with pytest.raises(paraes.InvalidArgument, match="overlaps"):
        both = opencl.buffer(bytes(300))
        cipher.encrypt_into(NONCE, device_arrays.ClArray(both, 0, 100), None,
                            device_arrays.ClArray(both, 50, 116))
    with pytest.raises(paraes.InvalidArgument, match="for a buffer of OpenCL, pass its queue"):
        cipher.encrypt_into(NONCE, opencl.buffer(text(100)), None, opencl.buffer(bytes(116)))
    buffers = opencl.buffer(text(100)), opencl.buffer(bytes(116))
    cipher.encrypt_into(NONCE, buffers[0], None, buffers[1], stream=opencl.queue).wait()
    assert buffers[1].read() == AESGCM(KEY).encrypt(NONCE, text(100), None)
    for wrong in (b"bytes", bytearray(5), None, 7):
        with pytest.raises(TypeError, match="an array in the memory of a GPU is required"):
            cipher.encrypt(NONCE, wrong)
    with pytest.raises(TypeError, match="stream: a stream of torch"):
        cipher.encrypt_into(NONCE, data, None, out, stream="one")
    with pytest.raises(paraes.InvalidArgument, match="key: AES takes 16, 24 or 32 bytes, not 5"):
        paraes.gpu.AESGCM(b"12345")
    with pytest.raises(paraes.InvalidArgument, match="key: XTS takes 32 or 64 bytes"):
        paraes.gpu.XTS(bytes(16))


def test_nonces_are_not_forgotten(opencl):
    data = placed(opencl, text(32), 1)
    modes_of = {"GCM": paraes.gpu.AESGCM, "CTR": paraes.gpu.CTR, "XTS": paraes.gpu.XTS}
    for make in modes_of.values():
        with pytest.raises(TypeError, match="a bytes-like object is required, not 'NoneType'"):
            make(KEY, kernel=KERNEL).encrypt(None, data)
    with pytest.raises(TypeError, match="nonce: a bytes-like object is required"):
        paraes.gpu.AESGCM(KEY, kernel=KERNEL).encrypt([NONCE, None], [data, data])
    with pytest.raises(TypeError, match="header: a bytes-like object is required"):
        paraes.gpu.Segments.open(None, key=KEY)


def test_empty_arrays_are_messages(opencl):
    cipher = paraes.gpu.AESGCM(KEY, kernel=KERNEL)
    empty = device_arrays.ClArray(opencl.buffer(b"x"), 0, 0)
    empty.base_data = None  # as pyopencl makes them
    sealed = cipher.encrypt(NONCE, empty, b"aad")
    assert sealed.read() == AESGCM(KEY).encrypt(NONCE, b"", b"aad")
    cipher.decrypt_into(NONCE, sealed, b"aad", empty).verify()


def test_tracebacks_show_no_key():
    key, gpu = b"secret" * 5, paraes.gpu
    for call in (lambda: gpu.AESGCM(key), lambda: gpu.XTS(key), lambda: gpu.AESGCM(key, kernel=5),
                 lambda: gpu.Segments.open(b"junk", key=key + b"12"),
                 lambda: gpu.Segments.new(key=key + b"12", format="zip")):
        refuses_without_secrets(call)


def test_wrong_arguments_are_named(opencl):
    gpu = paraes.gpu
    data, out = placed(opencl, text(100), 1), placed(opencl, bytes(116), 2)
    cipher = gpu.AESGCM(KEY, kernel=KERNEL)
    segments = gpu.Segments.open(paraes.seal(b"text", key=KEY), key=KEY, kernel=KERNEL)

    def into(stream):
        cipher.encrypt_into(NONCE, data, None, out, stream=stream)

    wrong_offset = device_arrays.ClArray(opencl.buffer(bytes(100)), -4, 50)
    for call, kind, says in (
        (lambda: into(-1), ValueError, "stream: -1 is no handle"),
        (lambda: into(1 << 64), ValueError, "is no handle of a stream"),
        (lambda: into(type("S", (), {"__cuda_stream__": 5})()), TypeError, "stream: a stream of"),
        (lambda: cipher.encrypt(NONCE, wrong_offset), ValueError, "data: an array cannot have"),
        (lambda: gpu.AESGCM(KEY, kernel="nosuch"), ValueError, "no GPU kernel 'nosuch'"),
        (lambda: gpu.AESGCM(KEY, kernel=5), TypeError, "kernel: a str is required"),
        (lambda: gpu.AESGCM(None), TypeError, "key: a bytes-like object is required"),
        (lambda: gpu.XTS(bytes(range(32)), 17), ValueError, "unit_size: on a GPU, units are whole"),
        (lambda: segments.plain_offset(None), TypeError, "segment: it is an int"),
        (lambda: segments.plain_offset(1 << 63), ValueError, "segment: a message has at most"),
        (lambda: segments.open_segments(1 << 60, data, out), ValueError, "first: a message has"),
        (lambda: gpu.Segments.new(key=KEY, device="cuda"), ValueError, "the arrays of a call say"),
    ):
        with pytest.raises(kind, match=says):
            call()


# ---- With the stand-in for CUDA's driver


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    """Runs a program with the stand-in, and with programs that it accepts."""
    if not FAKE or not FAKE_NVRTC:
        pytest.skip("PARAES_FAKE_DRIVERS names no folder")
    folder = tmp_path_factory.mktemp("fake")
    nvrtc = folder / "nvrtc" / "libnvrtc.so"
    nvrtc.parent.mkdir()
    shutil.copy(FAKE_NVRTC, nvrtc)
    nvrtc.with_name("libnvrtc.so.says").write_text("version 1 2\ntargets 80 90\n")
    compile_programs = [
        sys.executable, "-m", "paraes", "devices", "--compile", "--arch", "sm_90",
        "--kernel", KERNEL, "--any-address", "-o", folder / "programs",
    ]
    subprocess.run(compile_programs, check=True, env={**os.environ, "PARAES_NVRTC": str(nvrtc)})

    def run(program, directives=""):
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": FAKE,
            "PARAES_PROGRAM_PATH": str(folder / "programs"),
            "PARAES_FAKE_CUDA": f"kernels:1{directives}",
            "PYTHONPATH": str(pathlib.Path(__file__).parent),
        }
        start = """
            import os, sys, paraes, paraes.gpu, device_arrays
            from device_arrays import Array, Interface
            cuda = device_arrays.Cuda()
            torch = device_arrays.library("torch", cuda)
            cupy = device_arrays.library("cupy", cuda)
            jax = device_arrays.library("jax", cuda)
            cipher = paraes.gpu.AESGCM(bytes(32), kernel="reference")
            nonce = bytes(12)
            def on(module, size, **more): return module.array(cuda.allocate(size), size, **more)
            def refusal(call):
                try:
                    call()
                except Exception as error:
                    return f"{type(error).__name__}: {error}"
                return "no error"
        """
        done = run_python(textwrap.dedent(start) + textwrap.dedent(program), env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_streams_are_the_current_ones_of_the_library(fake):
    fake("""
        torch.current, cupy.current, other = cuda.stream(), cuda.stream(), cuda.stream()
        for module in (torch, cupy):
            data = on(module, 100)
            sealed = cipher.encrypt(nonce, data)
            assert type(sealed) is module.array and sealed.size == 116
            assert set(data.asked) == {module.current} == set(sealed.asked), data.asked
            cipher.encrypt_into(nonce, data, None, sealed, stream=other)
            assert data.asked[-1] == other == sealed.asked[-1]
        assert [stream for _, stream in torch.recorded] == [other, other]
        # A class that is derived from torch's, and a tensor on a stream of another library.
        derived = type("Derived", (torch.array,), {"__module__": "somewhere"})
        data = derived(cuda.allocate(100), 100)
        assert type(cipher.encrypt(nonce, data)) is torch.array
        assert set(data.asked) == {torch.current}
        torch.recorded.clear()
        out = on(torch, 116)
        cipher.encrypt_into(nonce, on(cupy, 100), None, out)
        assert torch.recorded == [(out, cupy.current)]
        class Stream: __cuda_stream__ = (0, other)
        for stream in (Stream(), type("Torch", (), {"cuda_stream": other})()):
            data = on(cupy, 100)
            cipher.encrypt_into(nonce, data, None, on(cupy, 116), stream=stream)
            assert data.asked == [other]
        cupy.current = 0
        data = on(cupy, 100)
        cipher.encrypt(nonce, data)
        assert set(data.asked) == {1}, "0 is ambiguous in DLPack"
    """)


def test_readers_fill_arrays_in_order_on_the_stream_of_their_library(fake, tmp_path):
    (tmp_path / "x.paes").write_bytes(paraes.seal(bytes(200_000), key=KEY))
    program = f"""
        readinto, size = paraes.gpu.readinto, 200_000
        reader = paraes.open({str(tmp_path / "x.paes")!r}, key=bytes(range(32)))
        def read(out, **more):
            reader.seek(0)
            return readinto(reader, out, kernel="reference", **more)
        torch.current, other = cuda.stream(), cuda.stream()
        out = on(torch, size)
    """
    fake(program + """
        copies = cuda.calls("cuMemcpyHtoDAsync_v2")
        def locked_by_a_new_reader():
            frees, before = cuda.calls("cuMemFree_v2"), cuda.calls("cuMemHostAlloc")
            assert read(out) == size
            locked = cuda.calls("cuMemHostAlloc") - before
            reader._forget()
            assert cuda.calls("cuMemFree_v2") > frees
            return locked
        # Memory of the device is freed, and page-locked memory kept for the next one.
        assert locked_by_a_new_reader() == locked_by_a_new_reader() + 1
        out.asked.clear()
        assert read(out) == size and set(out.asked) == {torch.current}
        assert cuda.calls("cuMemcpyHtoDAsync_v2") > copies
        assert read(out, stream=other) == size and out.asked[-1] == other
        # Work of another stream on the memory comes first.
        def waits(stream):
            before = cuda.calls("cuStreamWaitEvent")
            read(Interface(cuda.allocate(size), size, stream=stream), stream=other)
            return cuda.calls("cuStreamWaitEvent") - before
        waits(None)
        usual = waits(None)
        assert waits(torch.current) == usual + 1 and waits(other) == usual
        says = refusal(lambda: read(on(jax, size)))
        assert says.startswith("TypeError: out: JAX's arrays are immutable"), says
        says = refusal(lambda: read(Array(5, 10, device=(1, 0))))
        assert "out: the array is in the memory of the CPU" in says, says
    """, ",authentic:1")
    # On a device that is nearly full, fewer threads read.
    fake("""
        size = 40_000_000
        with open(PATH, "wb") as file:
            file.write(paraes.seal(bytes(size), key=bytes(32)))
        reader = paraes.open(PATH, key=bytes(32), threads=8)
        out = on(torch, size)
        assert paraes.gpu.readinto(reader, out, kernel="reference") == size
    """.replace("PATH", repr(str(tmp_path / "large.paes"))), ",authentic:1")
    # The stand-in's tags do not match without that.
    fake(program + """
        says = refusal(lambda: read(out))
        assert "IntegrityError: segment 0 does not authenticate" in says, says
        assert reader.tell() == 0 and reader.read() == bytes(size)
    """)


def test_results_for_jax_are_made_by_another_library(fake):
    fake("""
        sealed = cipher.encrypt(nonce, on(jax, 100))
        assert type(sealed) is jax.array and sealed.size == 116
        says = refusal(lambda: cipher.encrypt_into(nonce, on(torch, 100), None, on(jax, 116)))
        assert says.startswith("TypeError: out: JAX's arrays are immutable"), says
        says = refusal(lambda: cipher.encrypt(nonce, on(jax, 100), stream=cuda.stream()))
        assert "JAX chooses" in says, says
        sys.modules["cupy"] = None  # as if it were not installed
        assert cipher.encrypt(nonce, on(jax, 100)).size == 116
        torch.available = False
        says = refusal(lambda: cipher.encrypt(nonce, on(jax, 100)))
        assert "for results in JAX, CuPy or torch must be installed" in says, says
    """)


def test_stream_of_the_interface_is_waited_for(fake):
    fake("""
        a, b = cuda.stream(), cuda.stream()
        def made(size, **more): return Interface(cuda.allocate(size), size, **more)
        def waits(stream):
            before = cuda.calls("cuStreamWaitEvent")
            into(nonce, made(100, stream=stream), None, made(116), stream=a)
            return cuda.calls("cuStreamWaitEvent") - before
        into = cipher.encrypt_into
        waits(None)
        usual = waits(None)  # for the earlier call on the same stream
        assert waits(a) == usual
        assert waits(b) == usual + 1
        assert waits(1) == usual + 1
        says = refusal(lambda: into(nonce, made(100), None, made(116, read_only=True), stream=a))
        assert says == "InvalidArgument: out: the array is read-only", says
        says = refusal(lambda: into(nonce, made(100, strides=(2,)), None, made(116), stream=a))
        assert "not contiguous" in says, says
    """)


def test_arrays_are_kept_until_the_device_is_done(fake):
    fake("""
        import gc
        def pending(yes):
            os.environ["PARAES_FAKE_CUDA"] = "kernels:1" + (",pending:1" if yes else "")
        first = on(cupy, 100)
        cipher.encrypt(nonce, first)  # makes the cipher
        gc.collect()
        device_arrays.exported.clear()
        pending(True)
        work = cipher.encrypt_into(nonce, on(cupy, 100), None, on(cupy, 116))
        gc.collect()
        assert len(device_arrays.exported) == 2 and not work.ready()
        cipher.encrypt_into(nonce, on(torch, 100), None, on(torch, 116))
        gc.collect()
        assert len(device_arrays.exported) == 2, "torch knows of the stream itself"
        pending(False)
        assert work.ready()
        cipher.encrypt_into(nonce, on(torch, 100), None, on(torch, 116))
        gc.collect()
        assert not device_arrays.exported
    """)


def test_refusals(fake):
    fake("""
        good, out = on(cupy, 100), on(cupy, 116)
        def capsule(value):
            array = on(cupy, 100)
            array.__class__ = type("Odd", (cupy.array,), {"__dlpack__": lambda *_, **__: value})
            return array
        class Other(Interface): device = 1
        masked = Interface(cuda.allocate(100), 100)
        masked.__cuda_array_interface__["mask"] = good
        contiguous = "InvalidArgument: data: the array is not contiguous: copy it first"
        for data, to, says in (
            (on(cupy, 100, device=(1, 0)), out,
             "InvalidArgument: data: the array is in the memory of the CPU"),
            (good, on(cupy, 116, device=(2, 1)),
             "out: the array is on cuda:1, and others of this call on cuda:0"),
            (good, on(cupy, 116, device=(1, 0)), "out: the array is in the memory of the CPU"),
            (on(cupy, 100, device=(8, 0)), out, "does not know the array's device (DLPack: 8)"),
            (on(cupy, 100, shape=(10, 10), strides=(20, 1)), out, contiguous),
            (on(cupy, 100, shape=(10, 10), strides=(1, 10)), out, contiguous),
            (capsule(None), out, "TypeError: data: its __dlpack__ returned no capsule"),
            (capsule(good.__dlpack__()), out, "no error"),  # a capsule can be taken once
            (on(cupy, 100, shape=(1 << 60, 16)), out, "data: an array cannot have this shape"),
            (good, Other(cuda.allocate(116), 116), "out: the array is on cuda:1"),
            (masked, out, "data: the array has a mask"),
            # Strides of lengths of 1 mean nothing; four bytes each.
            (on(cupy, 100, shape=(1, 25), strides=(7, 1), bits=32), out, "no error"),
        ):
            found = refusal(lambda: cipher.encrypt_into(nonce, data, None, to))
            assert says in found, (says, found)
        found = refusal(lambda: paraes.gpu.CTR(bytes(16), kernel="reference").encrypt_into(
            bytes(16), in_place := on(jax, 32), in_place))
        assert found.startswith("TypeError: out: JAX's arrays are immutable"), found
        os.environ["PARAES_FAKE_CUDA"] = "kernels:1,captured:1"
        found = refusal(lambda: cipher.encrypt_into(nonce, good, None, out))
        assert "the stream is being captured" in found, found
    """)


def test_a_forked_process_refuses(fake):
    says = fake("""
        data, out = on(cupy, 100), on(cupy, 116)
        verdict = cipher.decrypt_into(nonce, out, None, data)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            print(refusal(lambda: cipher.encrypt_into(nonce, data, None, out)))
            print(refusal(lambda: paraes.gpu.CTR(bytes(16)).encrypt_into(bytes(16), data, data)))
            print(refusal(verdict.verify), refusal(verdict.ready))
            del cipher
            sys.stdout.flush()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """)
    assert says.count("start processes with") == 4, says


def test_calls_wait_for_nothing_after_the_first(fake):
    fake("""
        data, out = on(cupy, 100), on(cupy, 116)
        cipher.encrypt_into(nonce, data, None, out)
        os.environ["PARAES_FAKE_CUDA"] = "kernels:1,pending:1"
        shifted = cupy.array(data.address + 1, 99)
        for _ in range(50):
            cipher.encrypt_into(nonce, shifted, None, cupy.array(out.address, 115))
            cipher.decrypt_into(nonce, cupy.array(out.address, 115), None, shifted)
        for call in ("cuStreamSynchronize", "cuEventSynchronize", "cuModuleLoadData"):
            assert cuda.calls(call) == 0, call
        assert cuda.calls("cuMemcpyDtoHAsync_v2") == 50, "verdicts"
        os.environ["PARAES_FAKE_CUDA"] = "kernels:1"
    """)


def test_objects_end_while_arrays_are_in_use(opencl):
    cipher = paraes.gpu.AESGCM(KEY, kernel=KERNEL)
    data = placed(opencl, text(100), 1)
    verdict = cipher.decrypt_into(NONCE, cipher.encrypt(NONCE, data), None, data)
    del cipher
    gc.collect()
    verdict.verify()
    assert data.read() == text(100)
