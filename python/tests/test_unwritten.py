"""Elements that nobody has written yet: their values, and records during an append."""
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

import nczarr
from nczarr.xarray import _target, to_nczarr

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
DAYS = {"datetime": pd.date_range("2000-01-01", periods=4), "duration": pd.timedelta_range("1h", periods=4, freq="h"),
        "float": np.arange(4.0)}


def opened(place, **options):
    return xr.open_dataset(place, engine="nczarr", **options)


def record(number, time):
    values = {"v": (("time", "x"), np.full((1, 3), number, "f4")), "w": ("time", np.full(1, number, "f8"))}
    return xr.Dataset(values, coords={"time": time[number : number + 1]})


@pytest.fixture(params=["zarr,v3,annotate", "zarr,annotate", "nczarr,v3", "nczarr"])
def place(request, tmp_path):
    return f"file://{tmp_path}/a#mode={request.param}"


@pytest.mark.parametrize("kind", DAYS)
def test_a_record_without_its_coordinate_is_seen(place, kind):
    """A record that was reserved has no time, until its coordinate is stored."""
    to_nczarr(record(0, DAYS[kind]), place, mode="w", unlimited_dims=["time"])
    with nczarr.open(place, "a") as file:
        assert file.dimension("time").reserve(1) == 1
    with opened(place) as found:
        assert found["time"].dtype.kind == DAYS[kind].dtype.kind and found["time"].isnull().values.tolist() == [False, True]
        xr.testing.assert_equal(found.isel(time=found["time"].notnull().values), record(0, DAYS[kind]))
    if "mode=zarr" in place:
        path = place.partition("#")[0].removeprefix("file://")
        with xr.open_dataset(path, engine="zarr", consolidated=False) as found:
            assert found["time"].isnull().values.tolist() == [False, True]


@pytest.mark.parametrize("kind", DAYS)
@pytest.mark.parametrize("unique", [False, True])
def test_a_record_with_its_coordinate_is_complete(place, kind, unique, monkeypatch):
    """A reader opens the dataset before and after each write of an append."""
    to_nczarr(record(0, DAYS[kind]), place, mode="w", unlimited_dims=["time"])
    write, seen = _target.Target.__setitem__, []

    def check():
        with opened(place) as found:
            stored = found.isel(time=found["time"].notnull().values).load()
            seen.append((found.sizes["time"], stored.sizes["time"]))
        for number in range(stored.sizes["time"]):
            xr.testing.assert_equal(stored.isel(time=[number]), record(number, DAYS[kind]))

    def checked(target, key, value):
        check()
        write(target, key, value)
        target.handle.file.sync()
        check()

    monkeypatch.setattr(_target.Target, "__setitem__", checked)
    for number in (1, 2):
        to_nczarr(record(number, DAYS[kind]).chunk(), place, append_dim="time", unique=unique)
    check()
    assert (2, 1) in seen and seen[-1] == (3, 3)


KILLED = """
import os, pickle, signal, sys
from nczarr.xarray import _target, to_nczarr
write = _target.Target.__setitem__
def killed(target, key, value):
    write(target, key, value)
    if target.name == "v":
        os.kill(os.getpid(), signal.SIGKILL)
_target.Target.__setitem__ = killed
to_nczarr(pickle.load(sys.stdin.buffer), sys.argv[1], append_dim="time", unique=True)
"""


def test_a_killed_append_is_repeated(place):
    import pickle

    time = DAYS["datetime"]
    to_nczarr(record(0, time), place, mode="w", unlimited_dims=["time"])
    command = [sys.executable, "-c", KILLED, place]
    done = subprocess.run(command, input=pickle.dumps(record(1, time)), env=ENVIRONMENT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert to_nczarr(record(1, time), place, append_dim="time", unique=True) == 2
    with pytest.raises(KeyError):
        to_nczarr(record(1, time), place, append_dim="time", unique=True)
    with opened(place) as found:
        stored = found.isel(time=found["time"].notnull().values)
        xr.testing.assert_equal(stored, xr.concat([record(0, time), record(1, time)], "time"))


def test_coordinates_that_readers_cannot_tell_come_first(tmp_path, monkeypatch):
    """With zeros of another program, or a calendar of cftime, a reader cannot see that a record waits."""
    calendar = xr.date_range("2000-01-01", periods=2, calendar="noleap", use_cftime=True)
    foreign = str(tmp_path / "foreign.zarr")
    record(0, DAYS["datetime"]).to_zarr(foreign)
    ours = str(tmp_path / "ours.zarr")
    to_nczarr(record(0, calendar), ours, unlimited_dims=["time"])
    write, names = _target.Target.__setitem__, []

    def noted(target, key, value):
        names.append(target.name)
        write(target, key, value)

    monkeypatch.setattr(_target.Target, "__setitem__", noted)
    for place, time in ((foreign, DAYS["datetime"]), (ours, calendar)):
        names.clear()
        to_nczarr(record(1, time), place, append_dim="time")
        assert names[0] == "time" and sorted(names) == ["time", "v", "w"]
        with opened(place) as found:
            assert found.sizes["time"] == 2 and found["w"].values.tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_the_fill_value_of_zarr_masks_nothing(tmp_path, dtype):
    place, again = str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")
    data = xr.Dataset({"v": ("x", np.zeros(4, dtype), {"units": "m"})}).chunk(x=2)
    to_nczarr(data, place, encoding={"v": {"fill_value": -1, "chunks": (2,)}}, compute=False)
    to_nczarr(data.isel(x=slice(2)), place, region={"x": slice(0, 2)})
    with opened(place) as found:
        assert found["v"].dtype == dtype and found["v"].values.tolist() == [0, 0, -1, -1]
        assert found["v"].encoding["fill_value"] == -1
        to_nczarr(found, again)
        found.load().to_netcdf(tmp_path / "a.nc", engine="nczarr")
    for path in (place, again):
        assert zarr.open_group(path, mode="r")["v"].fill_value == -1
    with opened(place, use_zarr_fill_value_as_mask=True) as found:
        assert np.isnan(found["v"].values[2:]).all() or dtype == "f8"


def test_a_fill_value_without_a_place_is_refused(tmp_path):
    data = xr.Dataset({"v": ("x", np.zeros(3, "i2"))})
    for value, options in ((-1, {"zarr_format": 2}), (70000, {}), (0.5, {}), ("a", {})):
        with pytest.raises(ValueError, match="_FillValue"):
            to_nczarr(data, tmp_path / "a.zarr", mode="w", encoding={"v": {"fill_value": value}}, **options)
    with pytest.raises(ValueError, match="_FillValue"):
        data.to_netcdf(tmp_path / "a.nc", engine="nczarr", encoding={"v": {"fill_value": -1}})
    # Of another dataset, it is a wish.
    data["v"].encoding["fill_value"] = 70000
    to_nczarr(data, tmp_path / "b.zarr")
    assert json.loads((tmp_path / "b.zarr/v/zarr.json").read_text())["fill_value"] == -32767
