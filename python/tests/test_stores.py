"""Storages of other packages as places: fsspec, obstore, zarr and mappings."""
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import fsspec
import maps
import numpy as np
import obstore.store
import pandas as pd
import pytest
import xarray as xr
import zarr
from fsspec.implementations.memory import MemoryFileSystem

import nczarr
from nczarr._mount import Mounted, mount
from nczarr.xarray import to_nczarr

OCEAN = xr.Dataset(
    {"t": (("time", "x"), np.arange(40, dtype="f4").reshape(10, 4), {"units": "K"})},
    coords={"time": pd.date_range("2000-01-01", periods=10)},
)


@pytest.fixture
def folder(tmp_path):
    to_nczarr(OCEAN, tmp_path / "o.zarr", unlimited_dims=["time"], encoding={"t": {"chunks": (4, 4)}})
    return tmp_path / "o.zarr"


@pytest.fixture
def memory():
    filesystem = MemoryFileSystem(skip_instance_cache=True)
    filesystem.store, filesystem.pseudo_dirs = {}, [""]
    return filesystem


@pytest.fixture(params=["fsspec", "obstore", "zarr", "dict", "map"])
def place(request, memory):
    if request.param == "fsspec":
        return memory.get_mapper("bucket/o.zarr")
    if request.param == "obstore":
        return obstore.store.MemoryStore()
    if request.param == "zarr":
        return zarr.storage.MemoryStore()
    return {} if request.param == "dict" else maps.Shared()


def test_xarray_writes_and_reads_each_storage(place):
    to_nczarr(OCEAN, place, encoding={"t": {"chunks": (4, 4), "shards": (8, 4)}}, mode="w")
    with xr.open_dataset(place, engine="nczarr", chunks={}) as opened:
        xr.testing.assert_identical(opened.load(), OCEAN)
    with nczarr.open(place) as file:
        assert file["t"].shards == (8, 4) and file["t"][9, 3] == 39
    to_nczarr(OCEAN + 1, place, mode="w")
    with pytest.raises(FileExistsError):
        to_nczarr(OCEAN, place)
    with xr.open_dataset(place, engine="nczarr") as opened:
        assert float(opened["t"][0, 0]) == 1
    nczarr.delete(place)
    with pytest.raises(OSError):
        nczarr.open(place)


def test_zarr_reads_every_storage(memory):
    to_nczarr(OCEAN, memory.get_mapper("o.zarr"), consolidated=True)
    stored = zarr.storage.MemoryStore()
    to_nczarr(OCEAN, stored)
    for group in (zarr.open_group(stored, mode="r"), zarr.open_group(memory.get_mapper("o.zarr"), mode="r")):
        assert np.array_equal(group["t"][:], OCEAN["t"])


def test_parts_and_appends_of_threads(place):
    if not isinstance(place, dict | maps.Shared | obstore.store.MemoryStore):
        to_nczarr(OCEAN, place, unlimited_dims=["time"], encoding={"t": {"chunks": (4, 4)}})
        part = OCEAN.isel(time=slice(1, 3)).drop_vars("time")
        with pytest.raises(PermissionError, match="exclusive"):
            to_nczarr(part + 50, place, region={"time": slice(1, 3)})
        to_nczarr(part + 50, place, region={"time": slice(1, 3)}, exclusive=True)
        with xr.open_dataset(place, engine="nczarr") as opened:
            assert opened["t"][:4, 0].values.tolist() == [0, 54, 58, 12]
        return
    to_nczarr(OCEAN.isel(time=[0]), place, unlimited_dims=["time"], encoding={"t": {"chunks": (8, 4)}})

    def append(number):
        return to_nczarr(OCEAN.isel(time=[number]), place, append_dim="time")

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(append, range(1, 10))) == list(range(1, 10))
    with xr.open_dataset(place, engine="nczarr") as opened:
        xr.testing.assert_identical(opened.load().sortby("time"), OCEAN)


def test_local_storages_are_paths(folder):
    root = str(folder)
    places = [
        fsspec.filesystem("file").get_mapper(root),
        fsspec.get_mapper(f"file://{root}"),
        fsspec.filesystem("dir", path=root, target_protocol="file"),
        obstore.store.LocalStore(root),
        zarr.storage.LocalStore(root),
        f"local://{root}",
    ]
    for place in places:
        assert Path(mount(place)) == folder, place
        with xr.open_dataset(place, engine="nczarr") as opened:
            xr.testing.assert_identical(opened.load(), OCEAN)


def test_urls_of_fsspec_open(folder, tmp_path):
    url = f"simplecache::file://{folder}"
    with xr.open_dataset(url, engine="nczarr", storage_options={"simplecache": {"cache_storage": str(tmp_path)}}) as ds:
        xr.testing.assert_identical(ds.load(), OCEAN)
    with nczarr.open(url) as file:
        assert file["t"].shape == (10, 4)
    OCEAN.to_netcdf(tmp_path / "o.nc", engine="h5netcdf")
    with nczarr.open(f"simplecache::file://{tmp_path}/o.nc") as file:
        assert file.info()["driver"] == "hdf5" and file["t"][9, 3] == 39
    with pytest.raises(FileNotFoundError):
        nczarr.open(f"simplecache::file://{tmp_path}/absent.zarr")


def test_objects_of_other_writers_are_seen(memory):
    """fsspec keeps listings; a reader must not take those for the truth."""
    place = memory.get_mapper("o.zarr")
    to_nczarr(OCEAN.isel(time=slice(4)), place, unlimited_dims=["time"], encoding={"t": {"chunks": (4, 4)}})
    with xr.open_dataset(place, engine="nczarr") as opened:
        assert opened.sizes["time"] == 4
    to_nczarr(OCEAN.isel(time=slice(4, 10)), place, append_dim="time", exclusive=True)
    with xr.open_dataset(place, engine="nczarr") as opened:
        xr.testing.assert_identical(opened.load(), OCEAN)


def test_the_place_that_is_read_is_not_replaced(place):
    to_nczarr(OCEAN, place)
    with xr.open_dataset(place, engine="nczarr", chunks={}) as opened:
        with pytest.raises(ValueError, match="read lazily"):
            to_nczarr(opened, place, mode="w")
    with xr.open_dataset(place, engine="nczarr") as opened:
        xr.testing.assert_identical(opened.load(), OCEAN)


def total(dataset):
    return float(dataset["t"].sum())


def write_rows(store, start, stop):
    part = OCEAN.isel(time=slice(start, stop)).drop_vars("time")
    to_nczarr(part, store, region={"time": slice(start, stop)})


def test_other_processes_open_the_same_storage(folder):
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        with xr.open_dataset(maps.Folder(folder), engine="nczarr", chunks={}) as opened:
            assert pool.submit(total, opened).result() == 780
        empty = OCEAN.copy(deep=True)
        empty["t"][:] = 0
        to_nczarr(empty, maps.Folder(folder), mode="w", encoding={"t": {"chunks": (5, 4)}})
        parts = [(0, 5), (5, 10)]
        for done in [pool.submit(write_rows, maps.Folder(folder), *part) for part in parts]:
            done.result()
    with xr.open_dataset(folder, engine="nczarr") as opened:
        xr.testing.assert_identical(opened.load(), OCEAN)


def test_a_dict_is_refused_in_other_processes():
    place = {}
    to_nczarr(OCEAN, place)
    with xr.open_dataset(place, engine="nczarr", chunks={}) as opened, pytest.raises(TypeError, match="dict"):
        pickle.dumps(opened)


def test_no_secret_is_in_names():
    store = obstore.store.S3Store("bucket", access_key_id="AKIA123", secret_access_key="hidden", region="eu-west-1")
    place = mount(store)
    assert isinstance(place, Mounted) and "hidden" not in repr(place) and "AKIA123" not in repr(place)


def test_packages_are_not_imported_for_paths():
    program = (
        "import sys, nczarr; nczarr.create('memory://x').close();"
        "print([name for name in ('fsspec', 'obstore', 'zarr') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
