"""paraes.safetensors with numpy, beside the package safetensors; and on GPUs with a stand-in for
torch, whose tensors are buffers of PoCL or of the stand-in for CUDA's driver."""

import functools
import gc
import io
import json
import multiprocessing
import os
import pathlib
import runpy
import signal
import struct
import subprocess
import sys
import threading
import time

import device_arrays
import numpy
import pytest
import safetensors
import safetensors.numpy
from helpers import KEY, in_child, refuses_without_secrets, run_python, together
from hypothesis import given
from hypothesis import strategies as st

import paraes
import paraes.gpu
import paraes.safetensors
import paraes.safetensors.numpy as encrypted
from paraes.safetensors import _header, _model

SEGMENT = 16384
DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "float16", "uint32", "int32", "float32",
          "uint64", "int64", "float64", "complex64"]


def array(seed, dtype, *shape):
    raw = numpy.random.default_rng(seed).integers(
        0, 2 if dtype == "bool" else 256, numpy.dtype(dtype).itemsize * int(numpy.prod(shape)),
        dtype=numpy.uint8)
    return raw.view(dtype).reshape(shape)


def same(one, other):
    """The same names, dtypes, shapes and bytes."""
    assert sorted(one) == sorted(other)
    for name in one:
        assert one[name].dtype == other[name].dtype, name
        assert one[name].shape == other[name].shape, name
        assert one[name].tobytes() == other[name].tobytes(), name
        assert one[name].flags.aligned and one[name].flags.writeable, name


MODEL = {
    "embedding": array(1, "float16", 700, 128),
    "norm": array(2, "float32", 77),
    "head": array(3, "float16", 12 * SEGMENT),
    "scale": array(4, "float64"),
    "nothing": array(5, "int32", 0, 5),
    "mask": array(6, "bool", 3, 3, 3),
}


@pytest.fixture
def model(folder):
    """An encrypted file as the package and the command `paraes encrypt` make it."""
    safetensors.numpy.save_file(MODEL, folder / "model.safetensors", {"format": "np"})
    paraes.encrypt_file("model.safetensors", key=KEY)
    os.remove("model.safetensors")
    return folder / "model.safetensors.paes"


# ---- Reading


def test_load_file_is_that_of_safetensors(model):
    found = encrypted.load_file(model, key=KEY)
    same(found, MODEL)
    for name, tensor in found.items():
        if tensor.size and name != "nothing":
            assert tensor.ctypes.data % tensor.dtype.itemsize == 0
    # In the order of their places.
    with paraes.safetensors.safe_open(model, "np", key=KEY) as file:
        assert list(found) == file.offset_keys()
    same(encrypted.load(model.read_bytes(), key=KEY), MODEL)


def test_safe_open_is_that_of_safetensors(model, folder):
    plain = folder / "plain.safetensors"
    plain.write_bytes(paraes.unseal(model.read_bytes(), key=KEY))
    with paraes.safetensors.safe_open(model, "np", key=KEY) as ours:
        with safetensors.safe_open(plain, "np") as theirs:
            assert ours.keys() == theirs.keys()
            assert ours.offset_keys() == theirs.offset_keys()
            assert ours.metadata() == theirs.metadata() == {"format": "np"}
            for name in theirs.keys():  # noqa: SIM118
                same({name: ours.get_tensor(name)}, {name: theirs.get_tensor(name)})
                slices = ours.get_slice(name), theirs.get_slice(name)
                assert slices[0].get_shape() == list(MODEL[name].shape)
                assert slices[0].get_dtype() == slices[1].get_dtype()
        same(ours.get_tensors(), MODEL)
        with pytest.raises(safetensors.SafetensorError, match="there is no tensor 'nosuch'"):
            ours.get_tensor("nosuch")
        with pytest.raises(safetensors.SafetensorError, match="there is no tensor 'nosuch'"):
            ours.get_slice("nosuch")
    for call in (lambda: ours.get_tensor("norm"), lambda: ours.get_tensors(),
                 lambda: ours.get_slice("norm")):
        with pytest.raises(ValueError, match="closed file"):
            call()


WHOLE = MODEL["embedding"].reshape(100, 7, 128)


@pytest.fixture(scope="module")
def slices_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("slices") / "x.paes"
    encrypted.save_file({"w": MODEL["norm"], "x": WHOLE}, path, key=KEY)
    return path


@given(data=st.data())
def test_slices_are_those_of_numpy(slices_file, data):
    whole = WHOLE

    def index(length):
        bound = st.one_of(st.none(), st.integers(-2 * length, 2 * length))
        step = st.one_of(st.none(), st.integers(1, 9))
        return st.one_of(st.integers(-length, length - 1), st.builds(slice, bound, bound, step))
    part = data.draw(st.one_of(
        index(100), st.tuples(index(100)), st.tuples(index(100), index(7)),
        st.tuples(index(100), index(7), index(128)), st.tuples(st.just(...), index(128)),
        st.tuples(index(100), st.just(...), index(128)), st.just(...), st.just(())))
    with paraes.safetensors.safe_open(slices_file, "np", key=KEY) as opened:
        found = opened.get_slice("x")[part]
    assert numpy.array_equal(found.view(numpy.uint16), whole[part].view(numpy.uint16))


def damage(model, place):
    content = bytearray(model.read_bytes())
    content[place] ^= 1
    model.write_bytes(content)


WITHIN_HEAD = 88 + 15 * (SEGMENT + 16) + 5  # in segment 15 of the model


def test_slices_read_only_their_segments(model):
    with paraes.safetensors.safe_open(model, "np", key=KEY) as file:
        header = file._model.file_of("head").header
        rows = (15 * SEGMENT - header.data_begin - header.entries["head"].begin) // 2
    damage(model, WITHIN_HEAD)
    with paraes.safetensors.safe_open(model, "np", key=KEY) as file:
        head = file.get_slice("head")
        assert head[:100].tobytes() == MODEL["head"][:100].tobytes()
        assert head[-100:].tobytes() == MODEL["head"][-100:].tobytes()
        same({"norm": file.get_tensor("norm")}, {"norm": MODEL["norm"]})
        with pytest.raises(paraes.IntegrityError, match="segment 15 does not authenticate"):
            head[rows : rows + 10]
        with pytest.raises(paraes.IntegrityError, match="segment 15 does not authenticate"):
            file.get_tensor("head")
        with pytest.raises(paraes.IntegrityError):
            file.get_tensors()
        with pytest.raises(IndexError, match="is not within its 196608 rows"):
            head[12 * SEGMENT]
        with pytest.raises(paraes.InvalidArgument, match="a step is positive, not -1"):
            head[::-1]
    with pytest.raises(paraes.IntegrityError, match="segment 15"):
        encrypted.load_file(model, key=KEY)


def test_all_kinds_of_keys_open(model, folder):
    paraes.rekey_file(model, key=KEY, to_passphrase="four words in a row", scrypt_log2n=10)
    same(encrypted.load_file(model, passphrase="four words in a row"), MODEL)
    subprocess.run([sys.executable, "-m", "paraes", "keygen", "-q", "-o", "k.key"], check=True)
    encrypted.save_file(MODEL, "k.safetensors.paes", key_file="k.key", context=b"model 7")
    same(encrypted.load_file("k.safetensors.paes", key_file=b"k.key", context=b"model 7"), MODEL)
    for options, error in (
        ({"key_file": "k.key"}, paraes.WrongKey),
        ({"key": bytes(32), "context": b"model 7"}, paraes.WrongKey),
        ({}, paraes.InvalidArgument),
        ({"key_file": "none.key"}, FileNotFoundError),
    ):
        with pytest.raises(error):
            encrypted.load_file("k.safetensors.paes", **options)
        with pytest.raises(error):
            paraes.safetensors.safe_open("k.safetensors.paes", "np", **options)
    with pytest.raises(TypeError, match="nosuch"):
        encrypted.load_file("k.safetensors.paes", key_file="k.key", nosuch=1)


def test_tracebacks_show_no_key(model):
    pathlib.Path("a.index.json").write_text('{"weight_map": {"x": "nosuch"}}')
    pathlib.Path("b.index.json").write_text('{"weight_map": {"x": "model.safetensors"}}')
    pathlib.Path("c.index.json").write_text("nothing")
    for call in (
        *(lambda path=path: encrypted.load_file(path, key=b"secret" * 5 + b"12") for path in (
            "a.index.json", "b.index.json", "c.index.json", "none.index.json", None, model)),
        lambda: paraes.safetensors.safe_open("b.index.json", "np", key=b"secret" * 5 + b"12"),
        lambda: encrypted.load(model.read_bytes(), key=b"secret" * 5 + b"12"),
        lambda: encrypted.save_file({"x": 5}, "x.paes", key=b"secret" * 5 + b"12"),
        lambda: encrypted.save({"x": array(1, "uint8", 5)}, {1: "x"}, key=b"secret" * 5 + b"12"),
        lambda: paraes.safetensors.safe_open(model, "np", key=b"secret" * 5 + b"12"),
        lambda: paraes.safetensors.safe_open(model, "tf", key=b"secret" * 5 + b"12"),
    ):
        refuses_without_secrets(call)


def test_what_is_no_encrypted_file(folder):
    with pytest.raises(FileNotFoundError):
        encrypted.load_file("nosuch.paes", key=KEY)
    safetensors.numpy.save_file(MODEL, "plain.safetensors")
    with pytest.raises(paraes.Error, match="does not begin like"):
        encrypted.load_file("plain.safetensors", key=KEY)
    paraes.encrypt_file("plain.safetensors", "x.paes", key=KEY)
    os.truncate("x.paes", os.stat("x.paes").st_size - 5000)
    with pytest.raises(paraes.IntegrityError):
        encrypted.load_file("x.paes", key=KEY)
    with pytest.raises(paraes.InvalidArgument, match="framework: it is 'pt' or 'np', not 'tf'"):
        paraes.safetensors.safe_open("x.paes", "tf", key=KEY)
    with pytest.raises(paraes.InvalidArgument, match="numpy's arrays are on the CPU"):
        paraes.safetensors.safe_open("x.paes", "np", "cuda:0", key=KEY)
    with pytest.raises(TypeError, match="str, bytes or os.PathLike"):
        encrypted.load_file(io.BytesIO(), key=KEY)


def test_damage_in_the_header(model):
    damage(model, 100)
    with pytest.raises(paraes.IntegrityError, match="segment 0"):
        paraes.safetensors.safe_open(model, "np", key=KEY)


# ---- Writing


def test_files_are_those_of_safetensors(folder):
    # safetensors writes several entries of the metadata in any order.
    several = {"zeta": "ü", "alpha": "1"}
    sealed = encrypted.save(MODEL, several, key=KEY)
    (folder / "x").write_bytes(paraes.unseal(sealed, key=KEY))
    with safetensors.safe_open("x", "np") as file:
        assert file.metadata() == several
    for tensors, about in (
        (MODEL, None), (MODEL, {"\n": 'ü"'}), ({}, None), ({"ü\u2028\x7f": MODEL["norm"]}, {}),
    ):
        sealed = encrypted.save(tensors, about, key=KEY)
        assert paraes.unseal(sealed, key=KEY) == safetensors.numpy.save(tensors, about)
        encrypted.save_file(tensors, "x.paes", about, key=KEY)
        paraes.decrypt_file("x.paes", "x", key=KEY, overwrite=True)
        assert pathlib.Path("x").read_bytes() == safetensors.numpy.save(tensors, about)
        same(encrypted.load_file("x.paes", key=KEY), tensors)


def test_all_dtypes_are_saved_and_loaded(folder):
    tensors = {dtype: array(i, dtype, i + 1, 3) for i, dtype in enumerate(DTYPES)}
    plain = paraes.unseal(encrypted.save(tensors, key=KEY), key=KEY)
    assert plain == safetensors.numpy.save(tensors)
    same(encrypted.load(paraes.seal(plain, key=KEY), key=KEY), tensors)
    for odd in (MODEL["embedding"].T, MODEL["norm"].astype(">f4"), MODEL["embedding"][::3, ::2]):
        found = encrypted.load(encrypted.save({"x": odd}, key=KEY), key=KEY)["x"]
        assert numpy.array_equal(found.view(numpy.uint8), numpy.ascontiguousarray(
            odd.astype(odd.dtype.newbyteorder("="))).view(numpy.uint8))
    assert encrypted.load(encrypted.save({"x": numpy.float32(2.5)}, key=KEY), key=KEY)["x"] == 2.5


def test_what_cannot_be_saved_leaves_nothing(folder):
    for tensors, metadata, error, says in (
        ({"x": [1, 2]}, None, TypeError, "tensor 'x': a numpy array is required, not 'list'"),
        ({5: MODEL["norm"]}, None, TypeError, "a name is a str"),
        ({"x": numpy.array(["a"])}, None, paraes.InvalidArgument, "safetensors has no <U1"),
        ({"x": numpy.array([None])}, None, paraes.InvalidArgument, "safetensors has no object"),
        ({"x": MODEL["norm"]}, {"a": 1}, TypeError, "its names and values are str"),
        ({"__metadata__": MODEL["norm"]}, None, paraes.InvalidArgument, "that of the metadata"),
    ):
        with pytest.raises(error, match=says):
            encrypted.save_file(tensors, "x.paes", metadata, key=KEY)
    with pytest.raises(paraes.InvalidArgument):
        encrypted.save_file(MODEL, "x.paes")
    assert os.listdir() == []
    encrypted.save_file(MODEL, "x.paes", key=KEY)
    before = pathlib.Path("x.paes").read_bytes()
    with pytest.raises(ZeroDivisionError):
        _model.save_file(lambda _: {"x": ("F32", (1,), lambda: 1 / 0)}, {}, "x.paes", None,
                         {"key": KEY})
    assert pathlib.Path("x.paes").read_bytes() == before


# ---- Headers


def file_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def ours(content):
    """What paraes reads of such a file, or nothing where it refuses it."""
    try:
        found = encrypted.load(paraes.seal(content, key=KEY), key=KEY)
    except safetensors.SafetensorError as error:
        assert isinstance(error, paraes.Error)
        return None, str(error)
    return {name: (one.dtype.name, one.shape, one.tobytes()) for name, one in found.items()}, ""


def theirs(content):
    try:
        found = safetensors.numpy.load(content)
    except safetensors.SafetensorError:
        return None
    return {name: (one.dtype.name, one.shape, one.tobytes()) for name, one in found.items()}


U8 = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
LIES = [
    (b"", b"", "its header is no JSON"),
    (b"[]", b"", "no JSON object"),
    (b'{"a":1}', b"", "its description is no JSON object"),
    ({"a": {**U8, "data_offsets": [1, 5]}}, b"abcde", "leaves a hole before it"),
    ({"a": U8}, b"abcde", "end at byte 4 of the data, which has 5"),
    ({"a": U8}, b"abc", "end at byte 4 of the data, which has 3"),
    ({"a": U8, "b": U8}, b"abcd", "overlaps another tensor"),
    ({"a": U8, "b": {"dtype": "U8", "shape": [0], "data_offsets": [2, 2]}}, b"abcd", "overlaps"),
    ({"a": {**U8, "data_offsets": [4, 0]}}, b"abcd", "enclose -4"),
    ({"a": {**U8, "data_offsets": [0, 4, 8]}}, b"abcd", "not two offsets"),
    ({"a": {**U8, "data_offsets": [0.0, 4.0]}}, b"abcd", "not two offsets"),
    ({"a": {**U8, "data_offsets": [False, 4]}}, b"abcd", "not two offsets"),
    ({"a": {**U8, "shape": [-4]}}, b"abcd", "not a list of sizes"),
    ({"a": {**U8, "shape": [True, 4]}}, b"abcd", "not a list of sizes"),
    ({"a": {**U8, "shape": 4}}, b"abcd", "not a list of sizes"),
    ({"a": {**U8, "shape": [2**64]}}, b"abcd", "not a list of sizes"),
    ({"a": {**U8, "shape": [2**63, 4]}}, b"abcd", "more items than can be counted"),
    ({"a": {**U8, "shape": [2**63, 4, 0]}}, b"abcd", "more items than can be counted"),
    ({"a": {**U8, "shape": [5]}}, b"abcd", "5 items of U8 have 5 bytes"),
    ({"a": {**U8, "dtype": "F1000"}}, b"abcd", "its dtype is 'F1000', which paraes does not know"),
    ({"a": {**U8, "dtype": ["U8"]}}, b"abcd", "which paraes does not know"),
    ({"a": {"dtype": "U8", "shape": [4]}}, b"abcd", "not two offsets"),
    ({"a": {**U8, "dtype": "F4", "shape": [3], "data_offsets": [0, 2]}}, b"ab", "1.5 bytes"),
    ({"a": U8, "__metadata__": {"x": 1}}, b"abcd", "other values than strings"),
    ({"a": U8, "__metadata__": []}, b"abcd", "other values than strings"),
    (b'{"__metadata__":{"a":"\\ud800"}}', b"", "no JSON"),
    (b'{"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}}', b"abcd", "twice"),
    (b'{"\\ud800":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}', b"abcd", "no JSON"),
    (b'{"\xff":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}', b"abcd", "no JSON"),
    (b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":NaN}', b"abcd", "no number"),
    (b'{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}} x', b"abcd", "no JSON"),
    (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"", "its header is no JSON"),
]


@pytest.mark.parametrize("header, data, says", LIES)
def test_headers_that_lie(header, data, says):
    content = file_of(header, data)
    assert theirs(content) is None
    found, error = ours(content)
    assert found is None and says in error


def test_names_twice_are_refused():
    """safetensors takes the last one, and other readers may take another."""
    one = b'"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}'
    assert "it has 'a' twice" in ours(file_of(b"{" + one + b"," + one + b"}", b"abcd"))[1]


def test_many_names_are_compared_at_once():
    names = ",".join(f'"t{i}":0' for i in range(200_000))
    start = time.process_time()
    assert "it has 't7' twice" in ours(file_of(f'{{{names},"t7":0}}'.encode()))[1]
    assert time.process_time() - start < 30, "quadratic"  # half an hour if it were


def test_errors_show_the_beginning_of_what_is_wrong():
    _, error = ours(file_of({"a" * 10**6: {**U8, "dtype": "x" * 10**6}}, b"abcd"))
    assert "'aaa" in error and "'xxx" in error and len(error) < 1000


def test_shapes_that_the_library_does_not_have_are_refused_before_data_is_read(folder):
    for shape in ([0] + [1] * 69, [0, 2**64 - 1], [0, 2**63]):
        header = {"x": {"dtype": "F64", "shape": shape, "data_offsets": [0, 0]}}
        with pytest.raises(paraes.InvalidArgument, match="tensor 'x': numpy has no such shape"):
            encrypted.load(paraes.seal(file_of(header), key=KEY), key=KEY)
    for dtype, shape, size in (("F4", [4, 3], 6), ("F6_E2M3", [4, 3], 9), ("F4", [2, 1], 1)):
        header = {"x": {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}}
        content = paraes.seal(file_of(header, bytes(range(size))), key=KEY)
        assert encrypted.load(content, key=KEY)["x"].tobytes() == bytes(range(size))


@pytest.mark.parametrize("content, says", [
    (b"", "only 0 bytes"),
    (b"1234567", "only 7 bytes"),
    (struct.pack("<Q", 0), "no JSON"),
    (struct.pack("<Q", 3) + b"{}", "would have 3 bytes"),
    (struct.pack("<Q", 2**63) + b"{}", "would have 9223372036854775808 bytes"),
])
def test_sizes_of_headers_that_lie(content, says):
    assert theirs(content) is None
    found, error = ours(content)
    assert found is None and says in error


@given(st.data())
def test_headers_are_read_as_safetensors_reads_them(data):
    """Headers that are nearly right: both accept and refuse the same ones."""
    content, begin = {}, 0
    for i in range(data.draw(st.integers(0, 4))):
        dtype = data.draw(st.sampled_from(["BOOL", "U8", "I16", "F32", "F64", "C64"]))
        shape = data.draw(st.lists(st.integers(0, 4), max_size=3))
        size = int(numpy.prod(shape)) * _header.ITEM_BITS[dtype] // 8
        content[f"t{data.draw(st.integers(0, 99))}-{i}"] = {
            "dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}
        begin += size
    end = begin
    if content and data.draw(st.booleans()):
        entry = content[data.draw(st.sampled_from(sorted(content)))]
        which = data.draw(st.sampled_from(["begin", "end", "shape", "dtype", "length"]))
        step = data.draw(st.sampled_from([-1, 1, 4, -4, 2**63]))
        if which in ("begin", "end"):
            entry["data_offsets"][which == "end"] += step
        elif which == "shape":
            entry["shape"] = [*entry["shape"], data.draw(st.integers(0, 3))]
        elif which == "dtype":
            entry["dtype"] = data.draw(st.sampled_from(["U8", "I64", "F16", "X"]))
        else:
            end = max(0, end + data.draw(st.integers(-2, 2)))
    text = json.dumps(content).encode() + b" " * data.draw(st.integers(0, 9))
    whole = struct.pack("<Q", len(text)) + text + bytes(i % 2 for i in range(end))
    assert ours(whole)[0] == theirs(whole)


@given(st.lists(st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 9), max_size=4)),
                max_size=6), st.integers(0, 2**31))
def test_any_tensors_come_back(kinds, seed):
    tensors = {f"{i}": array(seed + i, dtype, *shape) for i, (dtype, shape) in enumerate(kinds)}
    sealed = encrypted.save(tensors, key=KEY)
    assert paraes.unseal(sealed, key=KEY) == safetensors.numpy.save(tensors)
    same(encrypted.load(sealed, key=KEY), tensors)


def test_tensors_at_odd_places_are_aligned(folder):
    """Other writers may put a tensor anywhere."""
    data = bytes(range(3)) + MODEL["norm"].tobytes() + MODEL["embedding"].tobytes()
    ends = [3, 3 + MODEL["norm"].nbytes, len(data)]
    header = {
        "odd": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
        "norm": {"dtype": "F32", "shape": [77], "data_offsets": ends[:2]},
        "embedding": {"dtype": "F16", "shape": [700, 128], "data_offsets": ends[1:]},
    }
    (folder / "x.paes").write_bytes(paraes.seal(file_of(header, data), key=KEY))
    expected = {"odd": numpy.arange(3, dtype="uint8"), "norm": MODEL["norm"],
                "embedding": MODEL["embedding"]}
    same(encrypted.load_file("x.paes", key=KEY), expected)
    with paraes.safetensors.safe_open("x.paes", "np", key=KEY) as file:
        same({name: file.get_tensor(name) for name in file.keys()}, expected)  # noqa: SIM118


def test_types_that_numpy_does_not_have(folder, monkeypatch):
    header = {
        "bf": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
        "four": {"dtype": "F4", "shape": [2, 4], "data_offsets": [8, 12]},
        "six": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [12, 15]},
        "u8": {"dtype": "U8", "shape": [1], "data_offsets": [15, 16]},
    }
    sealed = paraes.seal(file_of(header, bytes(range(16))), key=KEY)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(paraes.InvalidArgument, match="tensor 'bf': numpy has no BF16: install"):
        encrypted.load(sealed, key=KEY)
    (folder / "x.paes").write_bytes(sealed)
    with paraes.safetensors.safe_open("x.paes", "np", key=KEY) as file:
        assert file.get_tensor("four").tolist() == [[8, 9], [10, 11]]
        assert file.get_tensor("six").tolist() == [12, 13, 14]
        assert file.get_slice("four")[1].tolist() == [10, 11]
        with pytest.raises(paraes.InvalidArgument, match="its rows are no whole bytes"):
            file.get_slice("six")[1:]
        with pytest.raises(paraes.InvalidArgument, match="tensor 'bf'"):
            file.get_tensor("bf")
    # As ml_dtypes names them.
    stand_in = type(sys)("ml_dtypes")
    stand_in.bfloat16 = numpy.uint16
    monkeypatch.setitem(sys.modules, "ml_dtypes", stand_in)
    assert encrypted.load(sealed, key=KEY)["bf"].tobytes() == bytes(range(8))


# ---- Shards


@pytest.fixture
def shards(folder):
    first = {name: MODEL[name] for name in ("embedding", "norm")}
    second = {name: MODEL[name] for name in MODEL if name not in first}
    encrypted.save_file(first, "model-00001-of-00002.safetensors.paes", {"part": "1"}, key=KEY)
    encrypted.save_file(second, "model-00002-of-00002.safetensors.paes", key=KEY)
    weight_map = {name: f"model-0000{1 + (name in second)}-of-00002.safetensors" for name in MODEL}
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return weight_map


def test_shards_are_loaded_by_their_index(shards, folder):
    paraes.encrypt_file("model.safetensors.index.json", key=KEY)
    for name in ("model.safetensors.index.json", folder / "model.safetensors.index.json.paes"):
        same(encrypted.load_file(name, key=KEY), MODEL)
        with paraes.safetensors.safe_open(name, "np", key=KEY) as model:
            assert model.keys() == sorted(MODEL)
            assert model.metadata() == {"part": "1"}
            assert model.get_slice("head")[5:7].tobytes() == MODEL["head"][5:7].tobytes()
            same({"norm": model.get_tensor("norm")}, {"norm": MODEL["norm"]})
    (folder / "model-00001-of-00002.safetensors").write_bytes(b"a plain shard is never used")
    same(encrypted.load_file("model.safetensors.index.json", key=KEY), MODEL)


@pytest.mark.parametrize("change, error, says", [
    (lambda m: m.update(norm="model-00002-of-00002.safetensors"), paraes.Error,
     "tensor 'norm' should be in .*model-00002"),
    (lambda m: m.update(new="model-00002-of-00002.safetensors"), paraes.Error, "'new' should be"),
    (lambda m: m.update(norm="../x.safetensors"), paraes.Error, "a shard is a file beside it"),
    (lambda m: m.update(norm="/etc/passwd"), paraes.Error, "a shard is a file beside it"),
    (lambda m: m.update(norm=""), paraes.Error, "a shard is a file beside it"),
    (lambda m: m.update(norm=5), paraes.Error, "a shard is a file beside it"),
    (lambda m: m.update(norm="a\0b"), paraes.Error, "a shard is a file beside it"),
    (lambda m: m.update(norm="a\ud800b"), paraes.Error, "it is no index"),
    (lambda m: m.update(norm="nosuch.safetensors"), FileNotFoundError, "nosuch.safetensors.paes"),
    (lambda m: m.clear(), paraes.Error, "no object with tensors"),
])
def test_an_index_that_lies(shards, folder, change, error, says):
    change(shards)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    with pytest.raises(error, match=says):
        encrypted.load_file("model.safetensors.index.json", key=KEY)


def test_an_index_that_is_none_and_shards_with_the_same_tensor(shards, folder):
    for text in ("", "[]", "{}", '{"weight_map": 5}', "[" * 100_000, "\xff",
                 '{"weight_map": {"x": "a"}, "weight_map": {"x": "b"}}'):
        (folder / "bad.index.json").write_bytes(text.encode("latin1"))
        with pytest.raises(paraes.Error, match="it is no index of safetensors files"):
            encrypted.load_file("bad.index.json", key=KEY)
    encrypted.save_file(MODEL, "model-00002-of-00002.safetensors.paes", key=KEY)
    with pytest.raises(paraes.Error, match="is in .*00001-of.* and in .*00002-of"):
        encrypted.load_file("model.safetensors.index.json", key=KEY)


def test_one_shard_is_open_at_a_time(shards, monkeypatch):
    opened = []
    close = _model.File.close

    def closed(self):
        close(self)
        opened.append(sum(name.startswith("/") and name.endswith(".safetensors.paes") for name in (
            os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{fd}"))))

    monkeypatch.setattr(_model.File, "close", closed)
    # A name with and without .paes is the same shard.
    shards["norm"] += ".paes"
    pathlib.Path("model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    same(encrypted.load_file("model.safetensors.index.json", key=KEY), MODEL)
    assert opened == [0, 0]


def test_an_index_is_a_regular_file(shards):
    os.mkfifo("fifo.index.json")
    os.symlink("/dev/zero", "zero.index.json")
    for name in ("fifo.index.json", "zero.index.json"):
        with pytest.raises(paraes.Error, match="an index is a regular file"):
            encrypted.load_file(name, key=KEY)


def test_options_that_can_be_used_once_serve_all_shards(shards):
    assert _model.several({"identity": iter(["a", "b"]), "key": b"x"}) == {
        "identity": ["a", "b"], "key": b"x"}


# ---- Threads and processes


def test_threads_share_a_file(model):
    with paraes.safetensors.safe_open(model, "np", key=KEY) as file:
        wrong = []

        def read(name):
            for _ in range(20):
                if file.get_tensor(name).tobytes() != MODEL[name].tobytes():
                    wrong.append(name)

        together(*[functools.partial(read, name) for name in MODEL])
        assert not wrong


def test_a_call_from_within_a_call_is_refused(model):
    """A signal handler would move the place that the interrupted call reads from."""
    with paraes.safetensors.safe_open(model, "np", key=KEY) as file:
        inner = []

        class Interrupted(encrypted.Framework):
            def fill(self, memory, begin, size, reader):
                with pytest.raises(RuntimeError, match="reentrant call"):
                    file.get_tensor("norm")
                inner.append(size)
                return super().fill(memory, begin, size, reader)

        file._framework = Interrupted()
        assert file.get_tensor("head").tobytes() == MODEL["head"].tobytes()
        assert len(inner) == 1


def test_a_child_does_not_wait_for_a_thread_of_its_parent(model):
    with paraes.safetensors.safe_open(model, "np", key=KEY) as file:
        reading, go_on = threading.Event(), threading.Event()

        class Slow(encrypted.Framework):
            def fill(self, memory, begin, size, reader):
                reading.set()
                go_on.wait()
                return super().fill(memory, begin, size, reader)

        slow = threading.Thread(
            target=lambda: file._model.file_of("head").tensor(Slow(), "head"))
        slow.start()
        reading.wait()

        def work():
            signal.alarm(20)
            same({"norm": file.get_tensor("norm")}, {"norm": MODEL["norm"]})

        in_child(work)
        go_on.set()
        slow.join()


def _load_in_process(path):
    same(encrypted.load_file(path, key=KEY), MODEL)


def _read_in_child(file):
    assert file.get_tensor("norm").tobytes() == MODEL["norm"].tobytes()
    assert file.get_slice("head")[7:9].tobytes() == MODEL["head"][7:9].tobytes()


def test_processes_share_a_file(model):
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=_load_in_process, args=(model,)) for _ in range(2)]
    with paraes.safetensors.safe_open(model, "np", key=KEY) as file:
        file.get_tensor("embedding")
        processes += [fork.Process(target=_read_in_child, args=(file,)) for _ in range(2)]
        for process in processes:
            process.start()
        _read_in_child(file)
        for process in processes:
            process.join()
    assert [process.exitcode for process in processes] == [0] * 4


def test_files_are_closed(model):
    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    encrypted.load_file(model, key=KEY)
    before = descriptors()
    for _ in range(5):
        encrypted.load_file(model, key=KEY)
        with paraes.safetensors.safe_open(model, "np", key=KEY):
            pass
        with pytest.raises(paraes.WrongKey):
            encrypted.load_file(model, key=bytes(32))
    assert descriptors() == before


def test_a_missing_package_is_named():
    done = run_python("import sys; sys.modules['safetensors'] = None; import paraes.safetensors")
    assert "pip install 'paraes[safetensors]'" in done.stderr, done.stderr


OPEN = """
import sys
import paraes.safetensors
file = paraes.safetensors.safe_open(sys.argv[1], "np", key=bytes(range(32)))
print("opened", flush=True)
sys.stdin.readline()
tensors = file.get_tensors()
print("loaded", flush=True)
sys.stdin.readline()
"""


def test_an_open_file_leaves_no_tensors_in_memory(model):
    """Those that are in the segments of the header, and in the last one."""
    found_in = runpy.run_path(str(pathlib.Path(__file__).parents[1] / "gpu/weights.py"))["found_in"]
    samples = {name: MODEL[name].tobytes()[-32:] for name in ("norm", "head")}
    with subprocess.Popen([sys.executable, "-c", OPEN, model], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "opened\n"
            assert found_in(process.pid, samples)[0] == set()
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "loaded\n"
            assert found_in(process.pid, samples)[0] == {"norm", "head"}
        finally:
            process.kill()


# ---- On GPUs


KERNEL = "reference"  # PoCL compiles it soonest


class OnOpenCl:
    """A framework whose tensors are a buffer of OpenCL, a place in it, and the entry."""

    def __init__(self, opencl):
        self.opencl = opencl

    def memory(self, size):
        return device_arrays.ClArray(self.opencl.buffer(b"\xee" * (size + 8)), 8, size)

    def fill(self, memory, begin, size, reader):
        part = device_arrays.ClArray(memory.base_data, memory.offset + begin, size)
        return paraes.gpu.readinto(reader, part, kernel=KERNEL)

    def check(self, entry, name):
        pass

    def tensor(self, memory, begin, entry, name):
        return memory.base_data.read(memory.offset + begin, entry.size), entry


def test_files_are_opened_in_device_memory(opencl, model, monkeypatch):
    monkeypatch.setattr(_model, "_PIECE_BYTES", 100_000)
    made = _model.Model(model, {"key": KEY})
    found = made.tensors(OnOpenCl(opencl))
    for name, (content, entry) in found.items():
        assert content == MODEL[name].tobytes(), name
        assert entry.shape == MODEL[name].shape
    part, _ = made.file_of("head").rows(OnOpenCl(opencl), "head", 1000, 70_000)
    assert part == MODEL["head"][1000:71_000].tobytes()
    made.close()
    damage(model, WITHIN_HEAD)
    made = _model.Model(model, {"key": KEY})
    assert made.file_of("norm").tensor(OnOpenCl(opencl), "norm")[0] == MODEL["norm"].tobytes()
    with pytest.raises(paraes.IntegrityError, match="segment 15 does not authenticate"):
        made.tensors(OnOpenCl(opencl))
    made.close()


def test_a_reader_fills_arrays_on_a_device(opencl, folder):
    plain = bytes(i * 7 % 251 for i in range(3 * SEGMENT + 100))
    (folder / "x.paes").write_bytes(paraes.seal(plain, key=KEY))
    with paraes.open("x.paes", key=KEY) as reader:
        out = device_arrays.ClArray(opencl.buffer(b"\xee" * (len(plain) + 3)), 3)
        assert paraes.gpu.readinto(reader, out, kernel=KERNEL) == len(plain)
        assert out.read() == plain and reader.tell() == len(plain)
        assert paraes.gpu.readinto(reader, out, kernel=KERNEL) == 0
        reader.seek(30_000)
        small = opencl.buffer(bytes(1000))
        assert paraes.gpu.readinto(reader, small, stream=opencl.queue, kernel=KERNEL) == 1000
        assert small.read() == plain[30_000:31_000] and reader.read(3) == plain[31_000:31_003]
        reader.seek(len(plain) - 10)
        assert paraes.gpu.readinto(reader, out, kernel=KERNEL) == 10
        assert out.read()[:10] == plain[-10:]
        for wrong in (None, io.BytesIO(), "x.paes"):
            with pytest.raises(TypeError, match="reader: a reader of paraes.open"):
                paraes.gpu.readinto(wrong, out)
        with pytest.raises(TypeError, match="kernel: a str is required"):
            paraes.gpu.readinto(reader, out, kernel=5)
        with pytest.raises(TypeError, match="out: an array in the memory of a GPU"):
            paraes.gpu.readinto(reader, bytearray(5))
        with pytest.raises(paraes.InvalidArgument, match="no GPU kernel 'nosuch'"):
            reader.seek(0)
            paraes.gpu.readinto(reader, out, kernel="nosuch")
    with pytest.raises(ValueError, match="closed file"):
        paraes.gpu.readinto(reader, out, kernel=KERNEL)
    # File objects: those that seek, and those that do not.
    with paraes.open(io.BytesIO((folder / "x.paes").read_bytes()), key=KEY) as reader:
        assert paraes.gpu.readinto(reader, out, kernel=KERNEL) == len(plain)
        assert out.read() == plain
    end, beginning = os.pipe()
    os.write(beginning, (folder / "x.paes").read_bytes()[:1000])
    os.close(beginning)
    with os.fdopen(end, "rb") as pipe, paraes.open(pipe, key=KEY) as reader:
        with pytest.raises(OSError, match="the file cannot seek: read it, and copy to the GPU"):
            paraes.gpu.readinto(reader, out, kernel=KERNEL)


def test_a_child_does_not_use_its_parents_device(opencl, folder):
    (folder / "x.paes").write_bytes(paraes.seal(bytes(1000), key=KEY))
    with paraes.open("x.paes", key=KEY) as reader:
        out = device_arrays.ClArray(opencl.buffer(bytes(1000)))
        paraes.gpu.readinto(reader, out, kernel=KERNEL)

        def work():
            reader.seek(0)
            with pytest.raises(paraes.Unavailable):
                paraes.gpu.readinto(reader, out, kernel=KERNEL)
            reader.seek(0)
            assert reader.read() == bytes(1000)
            reader.close()

        in_child(work)
