"""What users of xarray expect of reading. The numbers are those of the list of behaviours."""
import pickle
import subprocess
import sys
import threading
import time
import traceback

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import nczarr
from nczarr._stamp import birth_of
from nczarr.xarray import NczarrArray, NczarrBackendEntrypoint, to_nczarr


def opened(place, **options):
    return xr.open_dataset(place, engine="nczarr", **options)


def lazy_array(variable):
    """The array on storage of an undecoded variable."""
    data = variable._data
    while not isinstance(data, NczarrArray):
        data = data.array
    return data


@pytest.fixture
def numbers(place, kind):
    values = np.arange(24 * 5 * 6, dtype="i4").reshape(24, 5, 6)
    with nczarr.create(place, kind) as file:
        for name, length in zip("zyx", values.shape):
            file.create_dimension(name, length)
        file.create_variable("v", "i4", "zyx", chunks=None if kind == "cdf5" else (7, 2, 4))[...] = values
    return place, values


def test_01_threads_open_read_and_close(numbers):
    place, values = numbers
    totals = []

    def work():
        for _ in range(30):
            with opened(place) as dataset:
                totals.append(int(dataset["v"].values.sum()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [int(values.sum())] * 120


def test_06_integers_with_a_fill_value_become_float_and_return(place, kind):
    raw = np.array([1, -99, 3], "i2")
    with nczarr.create(place, kind) as file:
        file.create_dimension("x", 3)
        file.create_variable("a", "i2", "x", fill_value=-99)[...] = raw
        file.create_variable("b", "i4", "x")[...] = [0, 0, 7]
    with opened(place) as dataset:
        assert dataset["a"].dtype == "f4" and np.isnan(dataset["a"].values[1])
        assert dataset["b"].dtype == "i4" and dataset["b"].values.tolist() == [0, 0, 7]
        loaded = dataset.load()
    again = place + ".again.nc"
    loaded.to_netcdf(again, engine="nczarr", format="NETCDF3_64BIT_DATA" if kind == "cdf5" else "NETCDF4")
    with nczarr.open(again) as file:
        assert file["a"].dtype == "i2" and file["a"][...].tolist() == raw.tolist()
        assert file["b"].dtype == "i4"


def test_07_the_default_fill_of_zarr_v2_masks_nothing(tmp_path):
    place = str(tmp_path / "a.zarr2")
    with nczarr.create(place, "zarr-v2") as file:
        file.create_dimension("x", 3)
        file.create_variable("v", "u1", "x")[...] = [0, 255, 7]
    with opened(place) as dataset:
        assert dataset["v"].dtype == "u1" and dataset["v"].values.tolist() == [0, 255, 7]
    with opened(place, use_zarr_fill_value_as_mask=True) as dataset:
        assert dataset["v"].dtype.kind == "f" and np.isnan(dataset["v"].values[1])


def test_08_attributes_keep_their_type(place, kind):
    # Zarr's attributes are JSON, whose texts are UTF-8.
    text = "a\0b" if "zarr" in kind else b"a\0\xffb"
    attributes = {"f": np.float32(2.5), "b": np.array([1, -2], "i1"), "i": np.int16(3), "nul": text, "d": 0.5}
    if kind != "cdf5":
        attributes["l"] = ["one", "two"]
    with nczarr.create(place, kind) as file:
        file.create_dimension("x", 1)
        file.create_variable("v", "i4", "x", attrs=attributes)
    with opened(place) as dataset:
        found = dataset["v"].attrs
    assert found["nul"] == text
    assert found.get("l", ["one", "two"]) == ["one", "two"] and found["d"] == 0.5
    if not kind.startswith("zarr"):
        assert found["f"].dtype == "f4" and found["b"].dtype == "i1" and found["i"].dtype == "i2"


def test_08_attributes_of_to_nczarr_keep_their_type(tmp_path):
    place = str(tmp_path / "a.zarr")
    data = xr.Dataset({"v": ("x", [1.0], {"f": np.float32(2.5), "b": np.array([1, -2], "i1"), "l": ["one", "two"]})})
    to_nczarr(data, place)
    with opened(place) as dataset:
        found = dataset["v"].attrs
    assert found["f"].dtype == "f4" and found["b"].dtype == "i1" and found["l"] == ["one", "two"]


def test_10_pickles_open_again(numbers):
    place, values = numbers
    with opened(place) as dataset:
        pickled = pickle.dumps(dataset)
        assert np.array_equal(pickle.loads(pickled)["v"].values, values)
    again = pickle.loads(pickled)
    assert np.array_equal(again["v"].values, values)
    program = "import pickle, sys; print(int(pickle.load(sys.stdin.buffer)['v'].values.sum()))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, input=pickled, capture_output=True, env=environment(), check=True)
    assert int(done.stdout) == values.sum()


def environment():
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def test_10_no_secret_is_printed(tmp_path):
    from nczarr._handle import Handle
    from nczarr._location import with_storage_options

    options = {"key": "me", "secret": "hush", "endpoint_url": "http://127.0.0.1:9"}
    handle = Handle("s3://bucket/x.zarr", "r", {}, options)
    assert "hush" in with_storage_options(handle.place, options)
    with pytest.raises(OSError) as caught:
        handle.file
    trace = "".join(traceback.format_exception(caught.value))
    for text in (repr(handle), str(caught.value), repr(caught.value), repr(handle.__dask_tokenize__()), trace):
        assert "hush" not in text
    # A secret in the URL itself.
    with pytest.raises(OSError) as caught:
        opened("s3://me:hush@bucket/x.zarr#endpoint=http://127.0.0.1:9", chunks={})
    assert "hush" not in str(caught.value) + repr(caught.value) + str(caught.value.path)


def test_10_no_secret_is_in_a_graph(tmp_path):
    import dask

    from nczarr._handle import Handle
    from nczarr.xarray import NczarrDataStore

    place = str(tmp_path / "a.zarr")
    to_nczarr(xr.Dataset({"v": ("x", np.zeros(8))}), place)
    handle = Handle(place, "r", {}, {"secret": "hush"})
    handle.adopt(nczarr.open(place))
    dataset = xr.open_dataset(NczarrDataStore(handle, None, "r"), chunks={"x": 4})
    graph = dataset["v"].__dask_graph__()
    assert graph and "hush" not in repr(list(graph)) + repr(dict(graph)) + dask.base.tokenize(dataset) + repr(dataset)


def pass_a_tick(folder):
    """Waits until the clock of the file system is past this moment: it cannot tell two events of one tick apart."""
    moment, born = time.time_ns(), 0
    while born <= moment:
        probe = folder / "probe"
        probe.mkdir()
        born = birth_of(probe) or moment + 1
        probe.rmdir()


def test_11_a_replaced_file_is_new_or_an_error(tmp_path):
    for name in ("a.nc", "a.zarr"):
        place = str(tmp_path / name)
        write = to_nczarr
        write(xr.Dataset({"v": ("x", np.zeros(8)), "w": ("x", np.zeros(8))}), place)
        old = opened(place)
        pickled = pickle.dumps(old)
        assert old["v"].values.sum() == 0
        if name == "a.nc":
            # A reader of a netCDF-4 file keeps it; closed, it lets go.
            old.close()
        pass_a_tick(tmp_path)
        write(xr.Dataset({"v": ("x", np.ones(8)), "w": ("x", np.ones(8))}), place, mode="w")
        with opened(place) as new:
            assert new["v"].values.sum() == 8
        for dataset in (old, pickle.loads(pickled)):
            try:
                total = dataset["w"].values.sum()
            except OSError:
                continue
            assert total == 0


def test_17_a_time_of_length_zero_opens(place, kind):
    with nczarr.create(place, kind) as file:
        file.create_dimension("time")
        file.create_variable("time", "f8", ["time"], attrs={"units": "days since 2000-01-01"})
    with opened(place) as dataset:
        assert dataset["time"].shape == (0,) and dataset["time"].dtype.kind == "M"


def test_18_calendars_leave_raw_numbers(place, kind, monkeypatch):
    with nczarr.create(place, kind) as file:
        file.create_dimension("time", 3)
        attributes = {"units": "days since 2000-01-01", "calendar": "360_day"}
        file.create_variable("time", "f8", ["time"], attrs=attributes)[...] = [0, 30, 59]
    with opened(place) as dataset:
        assert [str(value)[:10] for value in dataset["time"].values] == ["2000-01-01", "2000-02-01", "2000-02-30"]
    reads = count_reads(monkeypatch)
    with opened(place, decode_times=False, create_default_indexes=False) as dataset:
        assert reads == []
        assert dataset["time"].values.tolist() == [0, 30, 59]


def count_reads(monkeypatch):
    """Records the names of variables that are read."""
    reads, read = [], nczarr.Variable.read

    def counted(self, *part):
        reads.append(self.name)
        return read(self, *part)

    monkeypatch.setattr(nczarr.Variable, "read", counted)
    return reads


@pytest.mark.parametrize("key", [
    [3, 1, 2], [-1, 0, -3], [4, 4, 4, 0], slice(None, None, -1), slice(20, 3, -4), np.arange(24) % 3 == 0, [], 5, -2,
])
def test_19_every_index_is_that_of_numpy(numbers, key):
    place, values = numbers
    with opened(place) as dataset:
        assert np.array_equal(dataset["v"].isel(z=key).values, values[key])
        outer = dataset["v"].isel(z=key, x=[5, 0, 0]).values
    assert np.array_equal(outer, values[key][..., [5, 0, 0]])


def test_19_points_read_each_chunk_once(numbers, monkeypatch, kind):
    place, values = numbers
    z, y, x = [3, 1, 20, 3, 22], [0, 1, 4, 0, 4], [5, 0, 2, 5, 1]
    reads = count_reads(monkeypatch)
    with opened(place) as dataset:
        found = dataset["v"].isel(z=xr.DataArray(z, dims="p"), y=xr.DataArray(y, dims="p"), x=xr.DataArray(x, dims="p"))
        assert np.array_equal(found.values, values[z, y, x])
        assert len(reads) <= len({(a // 7, b // 2, c // 4) for a, b, c in zip(z, y, x)})
        apart = dataset["v"].isel(z=xr.DataArray(z, dims="p"), x=xr.DataArray(x, dims="p"))
        assert apart.dims == ("p", "y") and np.array_equal(apart.values, values[z, :, x])
        inner = dataset["v"].isel(y=xr.DataArray(y, dims="p"), x=xr.DataArray(x, dims="p"))
        assert np.array_equal(inner.transpose("z", "p").values, values[:, y, x])
    with opened(place) as dataset, pytest.raises(IndexError):
        dataset["v"].isel(z=[99]).load()


def test_22_a_missing_chunk_by_policy(tmp_path):
    place = str(tmp_path / "a.zarr")
    with nczarr.create(place, "zarr-v3") as file:
        file.create_dimension("x", 4)
        file.create_variable("v", "i4", "x", chunks=[2])[0:2] = [1, 2]
    with opened(place) as dataset:
        assert dataset["v"].values[:2].tolist() == [1, 2]
    with opened(place, missing_chunks="error") as dataset, pytest.raises(OSError):
        dataset["v"].load()


def serve(answer):
    """Starts a web server; ``answer`` returns the status and the bytes of a path."""
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, content = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", '"1"')
            self.end_headers()
            self.wfile.write(content if self.command == "GET" else b"")

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.mark.parametrize("status", [403, 500])
def test_22_an_error_of_a_server_is_not_fill(status):
    root = b'{"zarr_format":3,"node_type":"group","attributes":{}}'
    server = serve(lambda path: (200, root) if path == "/a.zarr/zarr.json" else (status, b""))
    try:
        with pytest.raises(OSError):
            opened(f"http://127.0.0.1:{server.server_port}/a.zarr/v#mode=zarr,v3")
    finally:
        server.shutdown()


@pytest.mark.parametrize("status", [403, 404, 500])
def test_22_an_error_at_a_chunk_is_not_fill(status, tmp_path):
    place = tmp_path / "a.zarr"
    encoding = {"v": {"chunks": (2,), "_FillValue": -1.0}}
    to_nczarr(xr.Dataset({"v": ("x", [1.0, 2, 3, 4])}), str(place), consolidated=True, encoding=encoding)

    def answer(path):
        file = tmp_path / path.lstrip("/")
        if path.endswith("c/1"):
            return status, b""
        return (200, file.read_bytes()) if file.is_file() else (404, b"")

    server = serve(answer)
    try:
        with opened(f"http://127.0.0.1:{server.server_port}/a.zarr#mode=zarr,v3") as dataset:
            assert dataset["v"][:2].values.tolist() == [1, 2]
            if status == 404:
                assert np.isnan(dataset["v"][2:].values).all()
                return
            with pytest.raises(OSError, match="c/1"):
                dataset["v"][1:].load()
    finally:
        server.shutdown()


def test_23_an_unknown_codec_concerns_one_variable(tmp_path):
    import json

    place = tmp_path / "a.zarr"
    to_nczarr(xr.Dataset({"good": ("x", [1.0, 2.0]), "bad": ("x", [1.0, 2.0])}), str(place))
    document = place / "bad" / "zarr.json"
    described = json.loads(document.read_text())
    described["codecs"].append({"name": "example.unknown", "configuration": {}})
    document.write_text(json.dumps(described))
    with opened(str(place)) as dataset:
        assert "bad" in repr(dataset)
        assert dataset["good"].values.tolist() == [1, 2]
        with pytest.raises((OSError, ValueError), match="example.unknown"):
            dataset["bad"].load()


def test_24_opening_reads_index_coordinates_only(tmp_path, monkeypatch):
    place = str(tmp_path / "a.zarr")
    data = {f"v{number}": (("time", "x"), np.zeros((2, 3))) for number in range(500)}
    to_nczarr(xr.Dataset(data, coords={"x": [1, 2, 3], "time": [0, 1]}), place)
    reads = count_reads(monkeypatch)
    with opened(place) as dataset:
        assert len(dataset.data_vars) == 500
        assert set(reads) <= {"x", "time"}


def test_26_big_endian_is_read_as_native(tmp_path):
    place = str(tmp_path / "a.nc")
    with nczarr.create(place, "netcdf4") as file:
        file.create_dimension("x", 2)
        file.create_variable("v", "f4", "x", endian="big")[...] = [1, 2]
    with opened(place) as dataset:
        assert dataset["v"].dtype.isnative and dataset["v"].values.tolist() == [1, 2]
        dataset.load().to_netcdf(place + "2", engine="nczarr")
    with nczarr.open(place + "2") as file:
        assert file["v"].endian != "big"
    xr.Dataset({"v": ("x", [1.0])}).to_netcdf(place + "3", engine="nczarr", encoding={"v": {"endian": "big"}})
    with nczarr.open(place + "3") as file:
        assert file["v"].endian == "big" and file["v"][0] == 1


def test_27_many_files_stay_within_their_descriptors(tmp_path):
    import os

    places = []
    for day in range(10):
        places.append(str(tmp_path / f"{day}.nc"))
        time = pd.date_range("2000-01-01", periods=1) + pd.Timedelta(days=day)
        data = xr.Dataset({"v": (("time", "x"), np.full((1, 4), day))}, coords={"time": time})
        data.to_netcdf(places[-1], engine="nczarr")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        with xr.open_mfdataset(places, engine="nczarr", parallel=True) as dataset:
            assert dataset["v"].values[:, 0].tolist() == list(range(10))
            assert len(os.listdir("/proc/self/fd")) <= before + 50
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_33_guessing_asks_for_one_small_thing(tmp_path, monkeypatch):
    import os

    engine = NczarrBackendEntrypoint()
    huge = tmp_path / "huge"
    huge.mkdir()
    monkeypatch.setattr(os, "listdir", None)
    monkeypatch.setattr(os, "scandir", None)
    assert not engine.guess_can_open(str(huge))
    (huge / ".zgroup").write_text("{}")
    assert engine.guess_can_open(str(huge))
    assert engine.guess_can_open("s3://bucket/x.zarr#mode=nczarr")
    for other in ("a.nc", "a.zarr", "http://192.0.2.1/slow", "s3://bucket/x", "a.grib", 3, b"CDF"):
        assert not engine.guess_can_open(other)
