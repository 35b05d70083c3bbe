"""Datasets that claim more than the memory holds: the program gets an exception and goes on."""
import subprocess
import sys

import numpy as np
import pytest

import nczarr

#: Enough for the array of the result, and too little for its elements in the native half.
PROGRAM = """
import resource, sys
import numpy as np
import nczarr
with nczarr.open(sys.argv[1]) as file:
    v = file["v"]
    v[0]
    now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 30), resource.RLIM_INFINITY))
    try:
        v[:]
    except MemoryError as error:
        print("refused:", error)
    print(v.shape == (1 << 26,), v[1 << 25])
"""


def run(place):
    done = subprocess.run([sys.executable, "-c", PROGRAM, place], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process as Linux does")
@pytest.mark.parametrize("kind, type", [
    ("zarr-v2", "str"), ("zarr-v3", "str"), ("netcdf4", "str"), ("nczarr-v3", "str"), ("netcdf4", "ragged"),
    ("netcdf4", "named"), ("zarr-v3", "M8[s]"),
])
def test_a_huge_variable_of_small_objects_is_a_memory_error(kind, type, tmp_path):
    place = str(tmp_path / "a")
    with nczarr.create(place, kind) as file:
        file.create_dimension("x", 1 << 26)
        if type == "ragged":
            file.create_vlen("ragged", "i4")
        elif type == "named":
            file.create_compound("named", [("name", object), ("n", "i4")])
        file.create_variable("v", str if type == "str" else type, ["x"], chunks=(16,))
    assert run(place).startswith("refused: ")


def test_a_part_of_a_huge_variable_is_read(tmp_path):
    with nczarr.create(str(tmp_path / "a.zarr"), "zarr-v3") as file:
        file.create_dimension("x", 1 << 60)
        v = file.create_variable("v", str, ["x"], chunks=(4,))
        v[1 << 40] = "far"
        assert v[(1 << 40) - 1 : (1 << 40) + 1].tolist() == ["", "far"]
        with pytest.raises((MemoryError, ValueError)):
            v[:]
        with pytest.raises((MemoryError, ValueError)):
            file.create_variable("n", "f4", ["x"], chunks=(4,))[:]
        assert np.asarray(v[1 << 40]) == "far"
