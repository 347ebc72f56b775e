"""paraes.safetensors.torch: with torch, if there is one (Debian's has no CUDA), beside the package
safetensors; and with a stand-in for torch how files get to a GPU."""

import json
import os
import struct
import sys

import pytest
import safetensors
from helpers import KEY, refuses_without_secrets, together

import paraes
import paraes.safetensors

try:
    import torch
except ImportError:
    # Debian's, for the Python that made this environment.
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import torch
    except ImportError as error:
        pytest.skip(f"there is no torch: {error}", allow_module_level=True)
    finally:
        sys.path.remove("/usr/lib/python3/dist-packages")

import safetensors.torch

import paraes.safetensors.torch as encrypted

DTYPES = [dtype for dtype in (
    "bool", "uint8", "int8", "uint16", "int16", "float16", "bfloat16", "uint32", "int32", "float32",
    "uint64", "int64", "float64", "complex64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
    "float8_e4m3fnuz", "float8_e5m2fnuz") if hasattr(torch, dtype)]


def tensor(seed, dtype, *shape):
    """Random bytes: also numbers that are none, whose bytes shall stay what they are."""
    size = torch.empty(shape, dtype=getattr(torch, dtype)).element_size()
    count = size
    for length in shape:
        count *= length
    most = 2 if dtype == "bool" else 256
    raw = torch.randint(0, most, (count,), dtype=torch.uint8,
                        generator=torch.Generator().manual_seed(seed))
    return raw.view(getattr(torch, dtype)).reshape(shape)


def raw(one):
    return bytes(one.contiguous().reshape(-1).view(torch.uint8).tolist())


def same(one, other):
    assert sorted(one) == sorted(other)
    for name in one:
        assert one[name].dtype == other[name].dtype, name
        assert one[name].shape == other[name].shape, name
        assert raw(one[name]) == raw(other[name]), name
        assert one[name].device == other[name].device, name


MODEL = {
    "embedding": tensor(1, "bfloat16", 700, 128),
    "norm": tensor(2, "float32", 77),
    "scale": tensor(4, "float64"),
    "nothing": tensor(5, "int32", 0, 5),
    "mask": tensor(6, "bool", 3, 3, 3),
}


def on_the_host(*args, device=None, pin_memory=False, empty=torch.empty, **more):
    """In place of torch.empty, where the device is none that torch has here."""
    return empty(*args, **more)


@pytest.fixture
def model(folder):
    safetensors.torch.save_file(MODEL, folder / "model.safetensors", {"format": "pt"})
    paraes.encrypt_file("model.safetensors", key=KEY)
    return folder / "model.safetensors.paes"


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_load_file_is_that_of_safetensors(model, device):
    same(encrypted.load_file(model, device, key=KEY), MODEL)
    same(encrypted.load_file(model, device=device, key=KEY, threads=1), MODEL)
    same(encrypted.load_file(model, key=KEY), safetensors.torch.load_file("model.safetensors"))
    same(encrypted.load(model.read_bytes(), key=KEY), MODEL)


def test_safe_open_is_that_of_safetensors(model):
    with paraes.safetensors.safe_open(model, "pt", key=KEY) as ours:
        with safetensors.safe_open("model.safetensors", "pt") as theirs:
            assert ours.keys() == theirs.keys()
            assert ours.metadata() == theirs.metadata()
            for name in theirs.keys():  # noqa: SIM118
                same({name: ours.get_tensor(name)}, {name: theirs.get_tensor(name)})
            one, other = ours.get_slice("embedding"), theirs.get_slice("embedding")
            for index in (3, slice(5, 600), (slice(7, None), slice(3, 9)), (-1, 5), ...):
                same({"x": one[index]}, {"x": other[index]})
        same(ours.get_tensors(), MODEL)


def test_files_are_those_of_safetensors(folder):
    tensors = {dtype: tensor(i, dtype, i + 1, 3) for i, dtype in enumerate(DTYPES)}
    for model, metadata in ((MODEL, {"format": "pt"}), (tensors, None), ({}, None)):
        plain = safetensors.torch.save(model, metadata)
        assert paraes.unseal(encrypted.save(model, metadata, key=KEY), key=KEY) == plain
        encrypted.save_file(model, "x.paes", metadata, key=KEY)
        same(encrypted.load_file("x.paes", key=KEY), model)
    parameter = torch.nn.Linear(3, 4)
    encrypted.save_file(parameter.state_dict(), "x.paes", key=KEY)
    other = torch.nn.Linear(3, 4)
    other.load_state_dict(encrypted.load_file("x.paes", key=KEY))
    same(dict(other.state_dict()), dict(parameter.state_dict()))


def test_what_cannot_be_saved(folder):
    whole = torch.zeros(10)
    for tensors, says in (
        ({"a": whole, "b": whole}, "tensors 'a' and 'b' share memory"),
        ({"a": whole[:6], "b": whole[5:]}, "tensors 'a' and 'b' share memory"),
        ({"a": torch.zeros(3, 4).t()}, "tensor 'a' is not contiguous"),
        ({"a": torch.zeros(3, 4).to_sparse()}, "tensor 'a' is sparse"),
        ({"a": torch.zeros(3, dtype=torch.complex128)}, "safetensors has no torch.complex128"),
    ):
        with pytest.raises(paraes.InvalidArgument, match=says):
            encrypted.save_file(tensors, "x.paes", key=KEY)
    freed, cut = torch.ones(1000), torch.ones(1000)
    freed.storage().resize_(0)
    cut.storage().resize_(10)
    for tensors in ({"a": freed}, {"a": cut}, {"a": torch.empty(5, device="meta")},
                    {"a": torch.empty(5, device="meta"), "b": torch.empty(5, device="meta")}):
        with pytest.raises(paraes.InvalidArgument, match="tensor 'a' has no memory of"):
            encrypted.save_file(tensors, "x.paes", key=KEY)
    with pytest.raises(TypeError, match="a torch.Tensor is required, not 'list'"):
        encrypted.save({"a": [1]}, key=KEY)
    assert os.listdir() == []
    same(encrypted.load(encrypted.save({"a": whole[:5], "b": whole[5:]}, key=KEY), key=KEY),
         {"a": whole[:5], "b": whole[5:]})


def test_what_is_conjugate_or_negative_when_it_is_read(folder):
    for one in (torch.tensor([1 + 2j, 3 - 4j]).to(torch.complex64).conj(),
                torch._neg_view(torch.tensor([1.0, 2.0]))):
        assert torch.equal(encrypted.load(encrypted.save({"a": one}, key=KEY), key=KEY)["a"], one)


def test_tracebacks_show_no_key(model):
    for call in (lambda: encrypted.load_file(model, "nonsense", key=b"secret" * 5 + b"12"),
                 lambda: encrypted.load_file(model, None, key=b"secret" * 5 + b"12"),
                 lambda: encrypted.save({"a": 1}, key=b"secret" * 5 + b"12"),
                 lambda: paraes.safetensors.safe_open(model, "pt", 1.5, key=b"secret" * 5 + b"12")):
        refuses_without_secrets(call)


def test_tensors_at_odd_places_and_types_of_less_than_a_byte(folder):
    header = {
        "odd": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
        "norm": {"dtype": "F32", "shape": [2], "data_offsets": [3, 11]},
        "six": {"dtype": "F6_E2M3", "shape": [4], "data_offsets": [11, 14]},
        "four": {"dtype": "F4", "shape": [2, 4], "data_offsets": [14, 18]},
        "eight": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [18, 20]},
    }
    text = json.dumps(header).encode()
    content = struct.pack("<Q", len(text)) + text + bytes(range(20))
    (folder / "x.paes").write_bytes(paraes.seal(content, key=KEY))
    with paraes.safetensors.safe_open("x.paes", "pt", key=KEY) as file:
        assert raw(file.get_tensor("norm")) == bytes(range(3, 11))
        assert file.get_tensor("norm").data_ptr() % 4 == 0
        assert file.get_tensor("six").tolist() == [11, 12, 13]
        four = file.get_tensor("four")
        assert four.shape == (2, 2) and raw(four) == bytes(range(14, 18))
        if hasattr(torch, "float8_e4m3fn"):
            assert raw(file.get_tensor("eight")) == bytes(range(18, 20))
            assert raw(file.get_tensors()["norm"]) == bytes(range(3, 11))
        else:
            with pytest.raises(paraes.InvalidArgument, match="has no F8_E4M3"):
                file.get_tensor("eight")
            with pytest.raises(paraes.InvalidArgument, match="has no F8_E4M3"):
                file.get_tensors()


def test_devices_that_paraes_cannot_open_on_get_copies(model, monkeypatch, recwarn):
    """What a GPU without a program gets: read in pieces by the CPU, and copied."""
    made = encrypted.Framework("cpu")
    made.device = type("Device", (), {"type": "xpu"})()  # of torch, and nothing that paraes knows
    monkeypatch.setattr(torch, "empty", on_the_host)
    monkeypatch.setattr(encrypted, "_STAGING_BYTES", 10_000)
    same(paraes.safetensors._model.Model(model, {"key": KEY}).tensors(made), MODEL)
    made.device.type = "cuda"
    made._opens = True

    def refuse(reader, out, kernel):
        raise paraes.Unavailable("no program for this GPU")

    monkeypatch.setattr(paraes.gpu, "readinto", refuse)
    same(paraes.safetensors._model.Model(model, {"key": KEY}).tensors(made), MODEL)
    says = [str(one.message) for one in recwarn if one.category is RuntimeWarning]
    assert len(says) == 1 and says[0].startswith("paraes opens the file on the CPU, and copies")
    assert says[0].endswith("no program for this GPU")


def test_threads_copy_from_their_own_staging(folder):
    """Shards have locks of their own, and one framework."""
    index = {"weight_map": {str(i): f"{i}.safetensors" for i in range(2)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    for i in range(2):
        encrypted.save_file({str(i): torch.full((300_000,), i + 1, dtype=torch.uint8)},
                            f"{i}.safetensors.paes", key=KEY)
    file = paraes.safetensors.safe_open("model.safetensors.index.json", "pt", key=KEY)
    file._framework.device = type("Device", (), {"type": "xpu"})()
    wrong = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "empty", on_the_host)

        def read(i):
            for _ in range(20):
                if not torch.all(file.get_tensor(str(i)) == i + 1):
                    wrong.append(i)

        together(lambda: read(0), lambda: read(1))
    assert not wrong
    file.close()


