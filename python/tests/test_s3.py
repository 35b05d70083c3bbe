"""What users of xarray expect in S3. The numbers are those of the list of behaviours."""
import multiprocessing

import numpy as np
import pytest
import s3
import xarray as xr

from nczarr.xarray import to_nczarr

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def server():
    with s3.server() as running:
        yield running


def record(number):
    return xr.Dataset({"v": (("time", "x"), np.full((1, 8), number, "f4"))}, coords={"time": [float(number)]})


@pytest.mark.parametrize("count", [5, 500])
def test_24_opening_takes_as_many_requests_for_any_number_of_variables(server, count):
    data = {f"v{number}": (("time", "x"), np.zeros((2, 3))) for number in range(count)}
    place = f"s3://bench/a{count}.zarr"
    dataset = xr.Dataset(data, coords={"x": [1, 2, 3], "time": [0, 1]})
    to_nczarr(dataset, place, consolidated=True, storage_options=server.options)
    # With the format in the URL: the metadata, and one listing. Otherwise the format is found first.
    for fragment, requests in (("#mode=zarr,v3", 2), ("", 7)):
        server.counts()
        with xr.open_dataset(place + fragment, engine="nczarr", storage_options=server.options) as found:
            counts = server.counts()
            assert counts["requests"] == requests + len(found.indexes) and counts["list"] == 1, counts
            assert len(found.data_vars) == count and float(found["v0"].sum()) == 0
            assert server.counts()["requests"] == 1


def append_records(barrier, place, options, first):
    barrier.wait()
    for number in range(first, first + 4):
        to_nczarr(record(number), place, append_dim="time", storage_options=options)


def test_04_appends_give_distinct_records(server):
    place, options = "s3://bench/append.zarr", server.options
    encoding = {"v": {"chunks": (4, 8)}, "time": {"chunks": (16,)}}
    to_nczarr(record(0), place, encoding=encoding, unlimited_dims=["time"], storage_options=options)
    barrier = SPAWN.Barrier(3)
    processes = [
        SPAWN.Process(target=append_records, args=(barrier, place, options, 1 + 4 * number)) for number in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 3
    with xr.open_dataset(place, engine="nczarr", storage_options=options) as found:
        assert sorted(found["time"].values.tolist()) == list(range(13))
        assert (found["v"].values == found["time"].values[:, None]).all()


def test_an_absent_dataset_is_not_found(server):
    with pytest.raises(OSError):
        xr.open_dataset("s3://bench/absent.zarr", engine="nczarr", storage_options=server.options)
