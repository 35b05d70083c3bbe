"""The program ``ncz`` from Python."""
import subprocess
import sys

import numpy as np
import pytest

import nczarr


@pytest.fixture
def source(tmp_path):
    place = str(tmp_path / "in.nc")
    with nczarr.create(place, "netcdf4") as file:
        file.create_dimension("time")
        file.create_dimension("x", 4)
        file.create_variable("t", "f4", ["time", "x"], chunks=(2, 4), attrs={"units": "K"})[:6] = np.arange(24).reshape(6, 4)
        file.create_variable("u", "i2", ["x"])[:] = [1, 2, 3, 4]
    return place


def test_copies_and_compares(source, tmp_path):
    target = str(tmp_path / "out.zarr")
    nczarr.copy(source, target, kind="zarr-v3", chunks={"time": 1}, filters="*,zstd,3", memory="64MiB", jobs=2)
    with nczarr.open(target) as file:
        assert file["t"].chunks == (1, 4) and file["t"].filters[0][0] == "zstd"
        assert np.array_equal(file["t"][...].ravel(), np.arange(24)) and file["t"].attrs["units"] == "K"
    assert nczarr.diff(source, source) == []
    with nczarr.open(source, "a") as file:
        file["u"][2] = 9
    found = nczarr.diff(source, target)
    assert any(difference["path"].endswith("u") for difference in found), found


def test_a_copy_of_some_variables(source, tmp_path):
    target = str(tmp_path / "out.nc")
    nczarr.copy(source, target, variables=["u"], deflate=1, shuffle=True)
    with nczarr.open(target) as file:
        assert list(file) == ["u"]


def test_failures_carry_the_message(tmp_path):
    with pytest.raises(OSError, match="absent.nc"):
        nczarr.copy(str(tmp_path / "absent.nc"), str(tmp_path / "out.zarr"))
    with pytest.raises(OSError, match="absent.nc"):
        nczarr.diff(str(tmp_path / "absent.nc"), str(tmp_path / "absent.nc"))


def test_validate_finds_damage(tmp_path):
    place = tmp_path / "a.zarr"
    with nczarr.create(str(place), "zarr-v3") as file:
        file.create_dimension("x", 4)
        file.create_variable("v", "i4", ["x"], chunks=(2,))[:] = 1
    assert nczarr.validate(str(place))["valid"] is True
    (place / "v/c/0").write_bytes(b"short")
    report = nczarr.validate(str(place))
    assert report["valid"] is False and "v/c/0" in str(report)


def test_info_and_explain(source):
    assert nczarr.info(source)["driver"] == "hdf5"
    assert nczarr.explain(source)["driver"][0] == "hdf5"


def test_the_package_is_the_program():
    done = subprocess.run([sys.executable, "-m", "nczarr", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ncz ")
