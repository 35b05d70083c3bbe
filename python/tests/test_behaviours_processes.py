"""What users of xarray expect of threads, processes and clusters. The numbers are those of the list of behaviours."""
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import xarray as xr

import nczarr
from nczarr.xarray import to_nczarr

SPAWN = multiprocessing.get_context("spawn")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
ROWS = 96


def opened(place, **options):
    return xr.open_dataset(place, engine="nczarr", **options)


def run(target, arguments):
    """Runs a function in several processes at once; each must succeed."""
    barrier = SPAWN.Barrier(len(arguments))
    processes = [SPAWN.Process(target=target, args=(barrier, *given)) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    os.environ["PYTHONPATH"] = ENVIRONMENT["PYTHONPATH"]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=None, silence_logs=50
    ) as local, distributed.Client(local) as client:
        client.run(__import__, "nczarr.xarray")
        yield client


@pytest.mark.parametrize("name", ["a.nc", "a.zarr"])
def test_02_a_cluster_writes_the_right_file(cluster, tmp_path, name):
    import dask.array

    place = str(tmp_path / name)
    values = dask.array.arange(16 * 32 * 32, chunks=1024).reshape(16, 32, 32).rechunk((5, 16, 16))
    data = xr.Dataset({"v": (("t", "y", "x"), values)})
    encoding = {"v": {"zlib": True, "complevel": 1, "chunksizes": (4, 16, 16)}}
    if name == "a.nc":
        data.to_netcdf(place, engine="nczarr", encoding=encoding)
    else:
        to_nczarr(data, place, encoding=encoding)
    with opened(place, chunks={}) as found:
        assert np.array_equal(found["v"].values, np.arange(16 * 32 * 32).reshape(16, 32, 32))


def test_02_delayed_writes_on_a_cluster(cluster, tmp_path):
    data = xr.Dataset({"v": (("t", "x"), np.arange(64.0).reshape(8, 8))}).chunk({"t": 3, "x": 5})
    for name in ("a.nc", "a.zarr"):
        place = str(tmp_path / name)
        delayed = to_nczarr(data, place, compute=False)
        delayed.compute()
        with opened(place) as found:
            assert np.array_equal(found["v"].values, data["v"].values)


def write_stripes(barrier, place, first, step):
    values = np.arange(ROWS, dtype="f4")[:, None] + np.ones((1, 16), "f4")
    data = xr.Dataset({"v": (("y", "x"), values)})
    barrier.wait()
    for y in range(first * step, ROWS, 4 * step):
        part = slice(y, min(y + step, ROWS))
        to_nczarr(data.isel(y=part), place, region={"y": part})


@pytest.mark.parametrize("name, encoding", [
    ("a.zarr", {"chunks": (25, 16)}), ("b.zarr", {"chunks": (8, 16), "shards": (96, 16)}),
    ("a.nc", {"chunks": (25, 16)}),
    ("c.zarr", {"chunks": (25, 16), "zlib": True}),
])
def test_03_misaligned_regions_lose_nothing(name, encoding, tmp_path):
    place = str(tmp_path / name)
    to_nczarr(xr.Dataset({"v": (("y", "x"), np.zeros((ROWS, 16), "f4"))}), place, encoding={"v": encoding})
    run(write_stripes, [(place, first, 8) for first in range(4)])
    with opened(place) as found:
        assert np.array_equal(found["v"].values, np.arange(ROWS, dtype="f4")[:, None] + np.ones((1, 16), "f4"))


def record(number):
    return xr.Dataset({"v": (("time", "x"), np.full((1, 8), number, "f4"))}, coords={"time": [float(number)]})


def append_records(barrier, place, first):
    barrier.wait()
    for number in range(first, first + 8):
        to_nczarr(record(number), place, append_dim="time")


def open_always(barrier, place):
    barrier.wait()
    end = time.monotonic() + 3
    while time.monotonic() < end:
        with xr.open_dataset(place, engine="zarr", consolidated=True) as found:
            assert found.sizes["time"] >= 1


@pytest.mark.parametrize("options", [
    {"zarr_format": 3}, {"zarr_format": 2}, {"zarr_format": 3, "consolidated": True},
], ids=str)
def test_04_appends_give_distinct_records(options, tmp_path):
    place = str(tmp_path / "a.zarr")
    encoding = {"v": {"chunks": (4, 8)}, "time": {"chunks": (16,)}}
    to_nczarr(record(0), place, encoding=encoding, unlimited_dims=["time"], **options)
    # Only consolidated metadata change for all arrays at once.
    count = 1 if options.get("consolidated") else 0
    barrier = SPAWN.Barrier(4 + count)
    readers = [SPAWN.Process(target=open_always, args=(barrier, place)) for _ in range(count)]
    processes = [SPAWN.Process(target=append_records, args=(barrier, place, 1 + 8 * at)) for at in range(4)]
    processes += readers
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
    with opened(place) as found:
        assert sorted(found["time"].values.tolist()) == list(range(33))
        assert (found["v"].values == found["time"].values[:, None]).all()


def append_the_same(barrier, place, results):
    barrier.wait()
    try:
        to_nczarr(record(1), place, append_dim="time", unique=True)
        results.put("written")
    except KeyError:
        results.put("known")


def test_05_one_of_several_equal_appends_is_written(tmp_path):
    for name in ("a.zarr", "a.nc"):
        place, results = str(tmp_path / name), SPAWN.Queue()
        to_nczarr(record(0), place, unlimited_dims=["time"])
        run(append_the_same, [(place, results)] * 3)
        assert sorted(results.get() for _ in range(3)) == ["known", "known", "written"]
        with opened(place) as found:
            assert found["time"].values.tolist() == [0, 1]


KILLED = """
import os, pickle, signal, sys
target = pickle.load(sys.stdin.buffer)
import numpy as np
target[0:3, 0:4] = np.full((3, 4), 7.0)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("name", ["a.zarr", "a.nc"])
def test_09_a_part_is_stored_when_its_task_ends(name, tmp_path):
    import pickle

    from nczarr._handle import Handle
    from nczarr.xarray._target import Target

    place = str(tmp_path / name)
    to_nczarr(xr.Dataset({"v": (("y", "x"), np.zeros((5, 4)))}), place, encoding={"v": {"chunks": (2, 4)}})
    task = pickle.dumps(Target(Handle(place, "a"), "/", "v"))
    done = subprocess.run([sys.executable, "-c", KILLED], input=task, env=ENVIRONMENT)
    assert done.returncode == -signal.SIGKILL
    with opened(place) as found:
        assert found["v"].values[:, 0].tolist() == [7, 7, 7, 0, 0]


def test_29_a_forked_child_reads(tmp_path):
    place = str(tmp_path / "a.zarr")
    to_nczarr(xr.Dataset({"v": ("x", np.arange(4096.0))}), place, encoding={"v": {"chunks": (64,)}})
    with opened(place) as found:
        total = found["v"].values.sum()
        process = multiprocessing.get_context("fork").Process(target=read_total, args=(place, total))
        started = time.monotonic()
        process.start()
        process.join(5)
        assert process.exitcode == 0 and time.monotonic() - started < 5


def read_total(place, total):
    with opened(place) as found:
        os._exit(0 if found["v"].values.sum() == total else 3)


def test_29_an_open_writer_flushes_at_exit(tmp_path):
    program = (
        "import nczarr, sys; f = nczarr.create(sys.argv[1], 'zarr-v3'); f.create_dimension('x', 2);"
        "v = f.create_variable('v', 'f4', 'x'); v[:] = [1, 2]"
    )
    place = str(tmp_path / "a.zarr")
    done = subprocess.run([sys.executable, "-c", program, place], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with nczarr.open(place) as file:
        assert file["v"][...].tolist() == [1, 2]


INTERRUPTED = """
import os, signal, sys, threading, time
import xarray as xr
import nczarr.xarray
dataset = xr.open_dataset(sys.argv[1], engine="nczarr", cache_bytes=0, threads=1)
sent = []
def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.2, interrupt).start()
try:
    while True:
        dataset["v"].load() if not dataset["v"]._in_memory else None
        dataset = xr.open_dataset(sys.argv[1], engine="nczarr", cache_bytes=0, threads=1)
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
"""


def test_30_ctrl_c_ends_a_read(tmp_path):
    place = str(tmp_path / "a.zarr")
    values = np.arange(128**3, dtype="f8").reshape(128, 128, 128)
    encoding = {"v": {"chunks": (16, 16, 16), "zlib": True}}
    to_nczarr(xr.Dataset({"v": (("z", "y", "x"), values)}), place, encoding=encoding)
    command, times = [sys.executable, "-c", INTERRUPTED, place], []
    # A busy machine may delay one attempt.
    while len(times) < 3 and min(times, default=1) >= 0.3:
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        times.append(float(done.stdout))
    assert min(times) < 0.3, times


PANIC = """
import sys
import xarray as xr
import nczarr.errors
dataset = xr.open_dataset(sys.argv[1], engine="nczarr")
with nczarr.open(sys.argv[1], "a") as file:
    try:
        # A part whose steps are fewer than its dimensions: the native half panics.
        file["s"]._native.read_strings(([0], [1], []))
    except nczarr.errors.InternalError as error:
        assert isinstance(error, Exception) and "panicked" in str(error), error
    else:
        raise AssertionError("no panic")
    file["v"][0] = 2.5
assert dataset["v"].values.tolist() == [2.5]
dataset.close()
print("closed")
"""


def test_31_after_a_panic_the_dataset_can_still_be_used_and_closed(tmp_path):
    place = str(tmp_path / "a.zarr")
    with nczarr.create(place, "nczarr-v3") as file:
        file.create_dimension("x", 1)
        file.create_dimension("y", 4)
        file.create_variable("s", str, ["y"], chunks=(1,))
        file.create_variable("v", "f4", ["x"])[:] = [1]
    done = subprocess.run([sys.executable, "-c", PANIC, place], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == "closed", done.stderr
    assert "index out of bounds" in done.stderr


def test_31_after_a_panic_the_dataset_can_be_closed(tmp_path, monkeypatch):
    from nczarr.errors import InternalError, _of_native

    place = str(tmp_path / "a.zarr")
    to_nczarr(xr.Dataset({"v": ("x", [1.0])}), place)
    dataset = opened(place)

    def panic(*_):
        raise _of_native("NC_EINTERNAL", -92, "the library panicked")

    with monkeypatch.context() as patch:
        patch.setattr(nczarr.Variable, "read", panic)
        with pytest.raises(InternalError):
            dataset["v"].load()
        dataset.close()
    assert dataset["v"].values == 1
