"""``rechunk`` and ``Writer``: copies and writes by tasks that may be killed and repeated."""
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import dask.array
import netCDF4
import numpy as np
import pytest
import zarr

import nczarr
from nczarr._blocks import block_shape, blocks
from nczarr._rechunk import copy_block

#: More than the 64 KiB that are copied at once.
VALUES = np.arange(240 * 90, dtype="i4").reshape(240, 90)


@pytest.fixture
def source(tmp_path):
    return make(tmp_path / "in.zarr")


def make(place, with_group=True):
    with nczarr.create(place, "zarr-v3") as file:
        file.attrs["title"] = "A field"
        file.create_dimension("t", 240)
        file.create_dimension("x", 90)
        file.create_variable("x", "f8", ["x"])[:] = np.linspace(0, 1, 90)
        file.create_variable("v", "i4", ["t", "x"], chunks=(7, 90), codecs=[("zstd", [1])], attrs={"units": "K"})[:] = VALUES
        if with_group:
            file.create_group("g").create_variable("w", "i4", ["t", "x"], chunks=(50, 40))[:] = -VALUES
    return place


@pytest.mark.parametrize("target, kind, more", [
    ("out.zarr", "zarr-v3", {"shards": {"t": 80, "x": 60}}),
    ("out.zarr", "zarr-v2", {}),
    ("out.zarr", "nczarr-v3", {"deflate": 1, "shuffle": True}),
    ("out.nc", "netcdf4", {"deflate": 1}),
    ("out.nc", "cdf5", {}),
])
def test_every_format_is_a_source_and_a_target(source, tmp_path, target, kind, more):
    place = tmp_path / target
    chunks = None if kind == "cdf5" else {"t": 40, "x": 30}
    if kind == "cdf5":
        # The classic model has no groups.
        source = make(tmp_path / "flat.zarr", with_group=False)
    nczarr.rechunk(source, place, chunks, kind=kind, memory="16KiB", **more)
    assert nczarr.diff(source, place) == []
    with nczarr.open(place) as file:
        assert file["v"].chunks == (chunks and (40, 30)) and file.attrs["title"] == "A field"
    nczarr.rechunk(place, tmp_path / "back.zarr", {"t": 33, "x": 11}, kind="zarr-v3", memory=20000)
    assert nczarr.diff(source, tmp_path / "back.zarr") == []


def test_files_of_another_library_are_sources(tmp_path):
    with netCDF4.Dataset(tmp_path / "n.nc", "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 90)
        file.createVariable("v", "i4", ("t", "x"), zlib=True, chunksizes=(1, 90))[:] = VALUES
    nczarr.rechunk(tmp_path / "n.nc", tmp_path / "n.zarr", {"t": 120, "x": 10}, kind="zarr-v3", memory="64KiB")
    assert np.array_equal(zarr.open_array(tmp_path / "n.zarr" / "v", mode="r")[:], VALUES)


def tasks_of(graph):
    return {key: task for key, task in dict(graph.dask).items() if isinstance(key, tuple)}


def parts_of(graph, path):
    found = []
    for task in tasks_of(graph).values():
        arguments = getattr(task, "args", None) or task[1:]
        writer, part = (value.value if hasattr(value, "value") else value for value in arguments[1:])
        if writer.path == path:
            found.append(part)
    return found


def test_no_two_tasks_write_one_shard(source, tmp_path):
    options = {"shards": {"t": 60, "x": 60}, "kind": "zarr-v3", "compute": False, "memory": "20KiB"}
    graph = nczarr.rechunk(source, tmp_path / "o.zarr", {"t": 20, "x": 30}, **options)
    parts = parts_of(graph, "/v")
    assert sum((part[0].stop - part[0].start) * (part[1].stop - part[1].start) for part in parts) == VALUES.size
    shards = [(part[0].start // 60, part[1].start // 60) for part in parts]
    assert len(set(shards)) == len(shards) == 8
    with nczarr.open(tmp_path / "o.zarr") as file:
        assert not file["v"][:].any() or (file["v"][:] < 0).all()
        assert file["x"][-1] == 1


def test_blocks_fit_the_memory_and_the_units():
    # Time series of maps: the unit is a column, and the block covers as many columns as the memory allows.
    assert block_shape((100, 1000), 4, (1, 1000), (100, 10), (100, 10), 100 * 250 * 4) == (100, 250)
    assert block_shape((100, 1000), 4, (1, 1000), (100, 10), (100, 10), 1 << 30) == (100, 1000)
    # A shard that does not fit is written by its chunks.
    assert block_shape((100, 100), 4, (10, 10), (100, 100), (10, 10), 30 * 10 * 4) in ((10, 30), (30, 10))
    with pytest.raises(ValueError, match="memory"):
        block_shape((100, 100), 8, (10, 10), (100, 100), (100, 100), 1000)
    assert list(blocks((5, 3), (3, 3))) == [(slice(0, 3), slice(0, 3)), (slice(3, 5), slice(0, 3))]
    for shape, chunks, unit, limit in [((17, 23, 5), (3, 4, 5), (6, 8, 5), 5000), ((64, 64, 64), (1, 64, 64), (64, 4, 4), 9000)]:
        block = block_shape(shape, 4, chunks, unit, unit, limit)
        assert np.prod(block) * 4 <= limit
        seen = np.zeros(shape, "u1")
        for part in blocks(shape, block):
            seen[part] += 1
            assert all(one.start % step == 0 for one, step in zip(part, unit))
        assert (seen == 1).all()


def test_too_little_memory_is_an_error_that_names_the_variable(source, tmp_path):
    with pytest.raises(ValueError, match="/v: memory=1024: a chunk of the target has 86400 bytes"):
        nczarr.rechunk(source, tmp_path / "o.zarr", {"t": 240, "x": 90}, kind="zarr-v3", memory="1KiB")
    with pytest.raises(ValueError, match="memory"):
        nczarr.rechunk(source, tmp_path / "o.zarr", memory="much")


MEASURED = """
import re, sys
import dask, nczarr

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10

source, target, memory = sys.argv[1:4]
graph = nczarr.rechunk(source, target, {"t": 1024, "x": 64}, kind="zarr-v3", memory=memory, compute=False)
before = peak()
graph.compute(scheduler="threads", num_workers=2)
print(peak() - before, len(graph.dask))
"""


def test_the_peak_of_the_memory_is_bounded(tmp_path):
    """128 MiB from chunks of rows into chunks of columns."""
    rows = 1 << 12
    with nczarr.create(tmp_path / "in.zarr", "zarr-v3") as file:
        file.create_dimension("t", rows)
        file.create_dimension("x", 8192)
        variable = file.create_variable("v", "f4", ["t", "x"], chunks=(16, 8192))
        for start in range(0, rows, 512):
            variable[start:start + 512] = np.arange(start, start + 512, dtype="f4")[:, None] + np.arange(8192)
    peaks = {}
    for memory in (4 << 20, 64 << 20):
        command = [sys.executable, "-c", MEASURED, tmp_path / "in.zarr", tmp_path / f"{memory}.zarr", str(memory)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks[memory], count = map(int, done.stdout.split())
        with nczarr.open(tmp_path / f"{memory}.zarr") as file:
            assert float(file["v"][rows - 1, 8191]) == rows - 1 + 8191 and count > 1
    # Two tasks at once, each with its values and their encoded chunks, and the modules that the first task imports.
    assert peaks[4 << 20] < 64 << 20, peaks
    # The measure sees what a task has.
    assert peaks[64 << 20] > 64 << 20, peaks


KILLED = """
import os, pickle, signal, sys
tasks = pickle.load(open(sys.argv[1], "rb"))
for number, (copy, *arguments) in enumerate(tasks):
    copy(*arguments)
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_and_repeated_tasks_lose_nothing(source, tmp_path):
    target = tmp_path / "o.zarr"
    graph = nczarr.rechunk(source, target, {"t": 40, "x": 30}, kind="zarr-v3", compute=False, memory="16KiB")
    calls = []
    for task in tasks_of(graph).values():
        arguments = getattr(task, "args", None) or task[1:]
        calls.append((copy_block, *(value.value if hasattr(value, "value") else value for value in arguments)))
    (tmp_path / "tasks").write_bytes(pickle.dumps(calls))
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "tasks"], check=False)
    assert done.returncode == -signal.SIGKILL
    stored = sum(1 for path in target.rglob("*") if "/c/" in str(path) and path.is_file())
    assert 0 < stored < 36
    # All tasks again, and some of them twice.
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for future in [pool.submit(*call) for call in calls + calls[::3]]:
            future.result()
    assert nczarr.diff(source, target) == []


def write_rows(writer, start, stop):
    writer[start:stop] = VALUES[start:stop]


def append_row(writer, number):
    return writer.append(np.full((1, 90), number, "i4"))


def test_a_writer_is_pickled_into_any_process(tmp_path):
    with nczarr.create(tmp_path / "o.zarr", "nczarr-v3") as file:
        file.create_dimension("t", 240)
        file.create_dimension("record")
        file.create_dimension("x", 90)
        file.create_variable("v", "i4", ["t", "x"], chunks=(16, 90), shards=None)
        file.create_group("g").create_variable("log", "i4", ["record", "x"], chunks=(4, 90))
    writer, log = nczarr.Writer(tmp_path / "o.zarr", "v"), nczarr.Writer(tmp_path / "o.zarr", "g/log")
    assert len(pickle.dumps(writer)) < 1000
    edges = [0, 17, 35, 52, 71, 103, 240]
    with ProcessPoolExecutor(3, get_context("spawn")) as pool:
        rows = [pool.submit(write_rows, writer, *part) for part in zip(edges, edges[1:])]
        starts = [pool.submit(append_row, log, number) for number in range(6)]
        for future in rows:
            future.result()
        starts = [future.result() for future in starts]
    with nczarr.open(tmp_path / "o.zarr") as file:
        assert np.array_equal(file["v"][:], VALUES)
        assert [int(file["g/log"][start, 0]) for start in starts] == list(range(6))


@pytest.mark.parametrize("name, kind", [("o.nc", "netcdf4"), ("o.zarr", "zarr-v3")])
def test_dask_stores_through_a_writer(tmp_path, name, kind):
    with nczarr.create(tmp_path / name, kind) as file:
        file.create_dimension("t", 240)
        file.create_dimension("x", 90)
        file.create_variable("v", "i4", ["t", "x"], chunks=(50, 50))
    array = dask.array.from_array(VALUES, chunks=(33, 41))
    with nczarr.Writer(tmp_path / name, "v") as writer:
        dask.array.store(array, writer, lock=False, scheduler="threads")
    with nczarr.open(tmp_path / name) as file:
        assert np.array_equal(file["v"][:], VALUES)
