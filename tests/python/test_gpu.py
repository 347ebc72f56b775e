"""device="opencl", on whatever OpenCL device there is (PoCL computes on the CPU)."""

import os

import pytest
from helpers import KEY, run_python

import paraes

# In a process of its own: drivers start threads.
PROGRAM = """
import os, sys, paraes
key, data = bytes(range(32)), os.urandom(3 << 20)
host, gpu = paraes.AESGCM(key), paraes.AESGCM(key, device="opencl")
assert gpu.device.startswith("opencl:"), gpu.device
for nonce in (bytes(12), bytes(16)):
    sealed = host.encrypt(nonce, data, b"aad")
    assert gpu.encrypt(nonce, data, b"aad") == sealed
    assert gpu.decrypt(nonce, sealed, b"aad") == data
host, one_shot = paraes.Cobblestone256(key, b""), paraes.Cobblestone256(key, b"", device="opencl")
assert host.decrypt(one_shot.encrypt(data)) == data
assert one_shot.decrypt(host.encrypt(data)) == data
path = sys.argv[1]
with paraes.open(path, "wb", key=key, device="opencl") as file:
    file.write(data)
with paraes.open(path, key=key, device="opencl") as file:
    assert file.read(1000) == data[:1000] and file.read() == data[1000:]
assert paraes.verify_file(path, key=key, device="opencl").device == gpu.device
child = os.fork()
if child == 0:
    refused = 0
    for call in (lambda: gpu.encrypt(bytes(12), data, None),
                 lambda: paraes.AESGCM(key, device="opencl")):
        try:
            call()
        except paraes.Unavailable as error:
            refused += "spawn" in str(error)
    paraes.AESGCM(key).encrypt(bytes(12), data, None)  # the CPU still works
    os._exit(0 if refused == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
print("all done")
"""


def test_opencl_gives_the_same_bytes_and_is_refused_after_a_fork(tmp_path):
    try:
        paraes.AESGCM(KEY, device="opencl")
    except paraes.Unavailable as error:
        assert os.environ.get("PARAES_REQUIRE_DEVICE") != "1", error
        pytest.skip(str(error))
    done = run_python(PROGRAM, tmp_path / "file")
    assert done.returncode == 0 and "all done" in done.stdout, done.stdout + done.stderr
