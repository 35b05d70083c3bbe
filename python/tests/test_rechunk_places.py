"""Sources and targets of ``rechunk``: open datasets, groups and variables, and storages of Python."""
import pickle

import fsspec
import numpy as np
import obstore
import pytest
import zarr

import nczarr
from nczarr._rechunk import copy_block

VALUES = np.arange(240 * 90, dtype="i4").reshape(240, 90)
OPTIONS = {"chunks": {"t": 60, "x": 30}, "kind": "zarr-v3", "memory": "64KiB"}


def fill(file):
    file.attrs["title"] = "A field"
    file.create_dimension("t", 240)
    file.create_dimension("x", 90)
    file.create_variable("x", "f8", ["x"])[:] = np.linspace(0, 1, 90)
    file.create_variable("v", "i4", ["t", "x"], chunks=(7, 90), attrs={"units": "K"})[:] = VALUES
    group = file.create_group("g")
    group.create_variable("w", "i4", ["t", "x"], chunks=(50, 40))[:] = -VALUES
    group.create_group("h").create_variable("u", "i4", ["t", "x"])[:] = 2 * VALUES


@pytest.fixture
def source(tmp_path):
    place = str(tmp_path / "in.zarr")
    with nczarr.create(place, "zarr-v3") as file:
        fill(file)
    return place


def check(place, names=("v", "g/w", "g/h/u")):
    with nczarr.open(place) as file:
        for name, values in zip(("v", "g/w", "g/h/u"), (VALUES, -VALUES, 2 * VALUES)):
            if name in names:
                assert np.array_equal(file[name][:], values) and file[name].chunks == (60, 30), name
            else:
                with pytest.raises(KeyError):
                    file[name]
        return dict(file.attrs)


@pytest.mark.parametrize("mode", ["r", "a"])
def test_an_open_file(source, mode, tmp_path):
    with nczarr.open(source, mode) as file:
        if mode == "a":
            file["v"][-1] = -1
            file["v"][-1] = VALUES[-1]
        nczarr.rechunk(file, tmp_path / "o.zarr", **OPTIONS)
    assert check(tmp_path / "o.zarr") == {"title": "A field"}


def test_a_file_that_is_being_created(tmp_path):
    with nczarr.create(tmp_path / "in.zarr", "nczarr-v3") as file:
        fill(file)
        nczarr.rechunk(file, tmp_path / "o.zarr", **OPTIONS)
    check(tmp_path / "o.zarr")
    with nczarr.create(tmp_path / "in.nc", "netcdf4") as file:
        fill(file)
        with pytest.raises(PermissionError, match="open for writing"):
            nczarr.rechunk(file, tmp_path / "p.zarr", **OPTIONS)


def test_a_group_and_a_variable(source, tmp_path):
    with nczarr.open(source) as file:
        nczarr.rechunk(file["g"], tmp_path / "g.zarr", **OPTIONS)
        nczarr.rechunk(file["g/w"], tmp_path / "w.zarr", **OPTIONS)
        nczarr.rechunk(file["x"], tmp_path / "x.zarr", **OPTIONS)
    check(tmp_path / "g.zarr", ("g/w", "g/h/u"))
    check(tmp_path / "w.zarr", ("g/w",))
    with nczarr.open(tmp_path / "x.zarr") as file:
        assert list(file.variables) == ["x"] and file["x"][-1] == 1


class Objects(nczarr.Map):
    """A map that knows no conditional writes and, perhaps, no list of all keys."""

    def __init__(self, objects):
        self.objects = objects

    def size(self, key):
        data = self.objects.get(key)
        return None if data is None else len(data)

    def read(self, key, start, stop):
        data = self.objects.get(key)
        return None if data is None else data[start:stop]

    def children(self, prefix):
        below = f"{prefix}/" if prefix else ""
        return {key[len(below):].partition("/")[0] for key in list(self.objects) if key.startswith(below)}

    def write(self, key, data):
        self.objects[key] = data

    def delete(self, key):
        return self.objects.pop(key, None) is not None


class ReadOnly(nczarr.Map):
    size = Objects.size
    read = Objects.read


class Listed(Objects):
    def list(self, prefix):
        return [key for key in list(self.objects) if key.startswith(f"{prefix}/" if prefix else "")]


def storages(tmp_path):
    return {
        "dict": {}, "children": Objects({}), "map": Listed({}), "fsspec": fsspec.get_mapper(f"memory://{tmp_path}/m"),
        "url": f"memory2://{tmp_path}/u", "obstore": obstore.store.MemoryStore(), "zarr": zarr.storage.MemoryStore(),
        "local": fsspec.get_mapper(str(tmp_path / "local.zarr")),
    }


@pytest.fixture(params=["dict", "children", "map", "fsspec", "url", "obstore", "zarr", "local"])
def storage(request, tmp_path):
    class Other(type(fsspec.filesystem("memory"))):
        """A filesystem whose scheme the library does not know."""

        protocol = "memory2"
        store, pseudo_dirs = {}, [""]

    fsspec.register_implementation("memory2", Other, clobber=True)
    yield storages(tmp_path)[request.param]


def test_a_storage_of_python_is_a_target_and_a_source(source, storage, tmp_path):
    nczarr.rechunk(source, storage, **OPTIONS)
    assert check(storage) == {"title": "A field"}
    with pytest.raises(OSError, match="not empty|NC_EOBJECT"):
        nczarr.rechunk(source, storage, **OPTIONS)
    nczarr.rechunk(source, storage, **OPTIONS, clobber=True)
    with nczarr.open(storage) as file:
        nczarr.rechunk(file, tmp_path / "back.zarr", **OPTIONS)
        nczarr.rechunk(file["g/w"], tmp_path / "w.zarr", **OPTIONS)
    nczarr.rechunk(storage, tmp_path / "back.nc", {"t": 60, "x": 30}, kind="netcdf4", memory="64KiB")
    check(tmp_path / "back.zarr")
    check(tmp_path / "back.nc")
    check(tmp_path / "w.zarr", ("g/w",))
    assert nczarr.diff(source, tmp_path / "back.zarr") == []


def test_a_file_of_fsspec(source, tmp_path):
    nczarr.copy(source, tmp_path / "in.nc", kind="netcdf4")
    memory = fsspec.filesystem("memory")
    memory.pipe_file(f"{tmp_path}/f.nc", (tmp_path / "in.nc").read_bytes())
    nczarr.rechunk(fsspec.FSMap(f"{tmp_path}/f.nc", memory), tmp_path / "o.zarr", **OPTIONS)
    check(tmp_path / "o.zarr")


def test_tasks_of_other_processes_open_the_storage(source, tmp_path):
    with nczarr.open(source) as file:
        graph = nczarr.rechunk(file, tmp_path / "o.zarr", compute=False, **OPTIONS)
    tasks = [task for key, task in dict(graph.dask).items() if isinstance(key, tuple)]
    assert len(tasks) > 3
    for task in tasks:
        arguments = getattr(task, "args", None) or task[1:]
        arguments = [value.value if hasattr(value, "value") else value for value in arguments]
        copy_block(*pickle.loads(pickle.dumps(arguments)))
    check(tmp_path / "o.zarr")
    graph = nczarr.rechunk(source, {}, compute=False, **OPTIONS)
    with pytest.raises(TypeError, match="a dict cannot be the place of a dataset in other processes"):
        pickle.dumps(dict(graph.dask))


def test_no_two_tasks_share_an_object_without_conditional_writes(source):
    options = {"kind": "zarr-v3", "shards": {"t": 240, "x": 90}, "memory": "32KiB"}
    with pytest.raises(ValueError, match="/v: memory=32768: a shard of the target has 86400 bytes"):
        nczarr.rechunk(source, Listed({}), {"t": 60, "x": 30}, **options)
    objects = {}
    nczarr.rechunk(source, objects, {"t": 60, "x": 30}, **options)
    check(objects)


def test_datasets_in_memory_are_refused(source, tmp_path):
    target = tmp_path / "o.zarr"
    nczarr.copy(source, tmp_path / "in.nc", kind="netcdf4")
    content = (tmp_path / "in.nc").read_bytes()
    with nczarr.open(content) as file, pytest.raises(TypeError, match="in memory"):
        nczarr.rechunk(file, target, **OPTIONS)
    with pytest.raises(TypeError, match="in memory"):
        nczarr.rechunk(content, target, **OPTIONS)
    with nczarr.create("x.nc", "netcdf4", in_memory=True) as file:
        fill(file)
        with pytest.raises(TypeError, match="in memory"):
            nczarr.rechunk(file, target, **OPTIONS)
        file.close_to_bytes()
    with nczarr.create("memory://rechunked") as file, pytest.raises(TypeError, match="in memory"):
        nczarr.rechunk(file, target, **OPTIONS)
    with pytest.raises(TypeError, match="in memory"):
        nczarr.rechunk(source, "memory://rechunked", **OPTIONS)
    with pytest.raises(ValueError, match="closed"):
        nczarr.rechunk(file, target, **OPTIONS)
    with nczarr.open(source) as file, pytest.raises(TypeError, match="the target is a path"):
        nczarr.rechunk(source, file, **OPTIONS)
    with pytest.raises(TypeError, match="ReadOnly: a target needs the methods write and list"):
        nczarr.rechunk(source, ReadOnly(), **OPTIONS)
    with pytest.raises(ValueError, match="datasets of Zarr only"):
        nczarr.rechunk(source, {}, kind="netcdf4")
    assert not target.exists()
