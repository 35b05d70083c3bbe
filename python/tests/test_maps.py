"""Maps that are written in Python."""
import threading
from concurrent.futures import ThreadPoolExecutor

import maps
import numpy as np
import pytest
import zarr

import nczarr

VALUES = np.arange(40, dtype="i4").reshape(10, 4)


def fill(place, **options):
    with nczarr.create(place, "zarr-v3", **options) as file:
        file.create_dimension("time", 10)
        file.create_dimension("x", 4)
        variable = file.create_variable("t", "i4", ["time", "x"], chunks=(2, 4), attrs={"units": "K"})
        variable[:] = VALUES
        sharded = file.create_variable("s", "i4", ["time", "x"], chunks=(1, 4), shards=(10, 4))
        sharded[:] = VALUES


def chunk_keys(objects, name):
    return [key for key in objects if key.startswith(f"{name}/c")]


@pytest.fixture
def written():
    place = maps.Writable()
    fill(place)
    return place.objects


def test_a_dataset_is_written_and_read(written):
    assert "zarr.json" in written and len(chunk_keys(written, "t")) == 5
    with nczarr.open(maps.ReadOnly(written)) as file:
        assert np.array_equal(file["t"][:], VALUES) and file["t"].attrs["units"] == "K"
        assert file["s"][3].tolist() == VALUES[3].tolist()
        with pytest.raises(nczarr.NczarrError):
            file.attrs["title"] = "x"
    assert np.array_equal(zarr.open_array(store=dict_store(written), path="t", mode="r")[:], VALUES)


def dict_store(objects):
    from zarr.core.buffer import default_buffer_prototype
    from zarr.storage import MemoryStore

    make = default_buffer_prototype().buffer.from_bytes
    return MemoryStore({key: make(value) for key, value in objects.items()})


def test_data_of_another_library_are_read(tmp_path):
    foreign = zarr.open_group(tmp_path / "f.zarr", mode="w", zarr_format=2)
    foreign.create_array("v", data=VALUES, chunks=(3, 3)).attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]
    with nczarr.open(maps.Folder(tmp_path / "f.zarr")) as file:
        assert np.array_equal(file["v"][:], VALUES)


def test_a_range_of_a_shard_is_read_alone(written):
    place = maps.ReadOnly(written)
    asked = []

    class Measured(maps.ReadOnly):
        def read(self, key, start, stop):
            found = super().read(key, start, stop)
            if found is not None and key.startswith("s/c"):
                asked.append(len(found))
            return found

    place = Measured(written)
    with nczarr.open(place) as file:
        assert file["s"][7, 2] == VALUES[7, 2]
    whole = len(written[chunk_keys(written, "s")[0]])
    assert sum(asked) < whole


class Broken(RuntimeError):
    """An error of a storage."""


def raising(error, only):
    class Raising(maps.ReadOnly):
        def read(self, key, start, stop):
            if key.startswith(only):
                raise error
            return super().read(key, start, stop)

    return Raising


@pytest.mark.parametrize("error, expected", [
    (Broken("the disk is on fire"), OSError),
    (KeyError("t/c/0/0"), OSError),
    (FileNotFoundError("t/c/0/0"), OSError),
    (PermissionError("no"), PermissionError),
    (TimeoutError("late"), TimeoutError),
])
def test_an_exception_comes_back_as_the_cause(written, error, expected):
    with nczarr.open(raising(error, "t/c")(written), threads=4) as file:
        with pytest.raises(expected) as caught:
            file["t"][:]
        assert isinstance(caught.value, nczarr.NczarrError)
        assert caught.value.__cause__ is error
        assert type(error).__name__ in str(caught.value) and "t/c/" in str(caught.value)
        # Nothing was remembered as absent, and the dataset can still be used.
        assert np.array_equal(file["s"][:], VALUES)


def test_an_exception_of_opening_and_writing_comes_back(written):
    error = Broken("gone")
    with pytest.raises(OSError) as caught:
        nczarr.open(raising(error, "zarr.json")(written))
    assert caught.value.__cause__ is error

    class Full(maps.Writable):
        def write(self, key, data):
            if "/c/" in key:
                raise error
            super().write(key, data)

    with pytest.raises(OSError) as caught:
        fill(Full())
    assert caught.value.__cause__ is error


def test_the_end_of_the_program_passes(written):
    with nczarr.open(raising(KeyboardInterrupt(), "t/c")(written)) as file, pytest.raises(KeyboardInterrupt):
        file["t"][:]


def test_only_none_is_absent(written):
    for key in chunk_keys(written, "t")[:1]:
        del written[key]
    with nczarr.open(maps.ReadOnly(written)) as file:
        found = file["t"][:]
        assert (found != VALUES).any(axis=1).sum() == 2 and (file["t"][4:] == VALUES[4:]).all()
    with nczarr.open(maps.ReadOnly(written), missing_chunks="error") as file, pytest.raises(nczarr.NczarrError):
        file["t"][:]


@pytest.mark.parametrize("change", [lambda bytes: bytes[:-1], lambda bytes: bytes[:0], lambda bytes: bytes + b"\0"])
@pytest.mark.parametrize("name", ["t", "s"])
def test_a_read_of_another_length_is_an_error(written, name, change):
    class Wrong(maps.ReadOnly):
        def read(self, key, start, stop):
            found = super().read(key, start, stop)
            return change(found) if key.startswith(f"{name}/c") else found

    with nczarr.open(Wrong(written)) as file, pytest.raises(OSError, match=f"{name}/c"):
        file[name][:]


def test_any_buffer_of_bytes_is_a_result(written):
    class Views(maps.ReadOnly):
        def read(self, key, start, stop):
            found = super().read(key, start, stop)
            return found and np.frombuffer(found, "u1")

    with nczarr.open(Views(written)) as file:
        assert np.array_equal(file["t"][:], VALUES)

    class Text(maps.ReadOnly):
        def read(self, key, start, stop):
            found = super().read(key, start, stop)
            return found and found.decode("latin-1")

    with pytest.raises(OSError) as caught:
        nczarr.open(Text(written))
    assert isinstance(caught.value.__cause__, TypeError)


def test_parts_of_chunks_need_conditional_writes(written):
    place = maps.Writable(written)
    with nczarr.open(place, "a") as file:
        with pytest.raises(PermissionError, match="exclusive"):
            file["t"][0, 1:3] = 7
    with nczarr.open(place, "a", exclusive=True) as file:
        file["t"][0, 1:3] = 7
    with nczarr.open(place) as file:
        assert file["t"][0].tolist() == [0, 7, 7, 3]


def test_many_writers_of_one_chunk_lose_nothing():
    place = maps.Shared()
    with nczarr.create(place, "zarr-v3") as file:
        file.create_dimension("x", 64)
        file.create_variable("v", "i4", ["x"], chunks=(64,), shards=None)
        file.create_variable("s", "i4", ["x"], chunks=(16,), shards=(64,))

    def write(start):
        with nczarr.open(place, "a") as file:
            for name in ("v", "s"):
                file[name][start::8] = np.arange(start, 64, 8) + 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    with nczarr.open(place) as file:
        for name in ("v", "s"):
            assert file[name][:].tolist() == list(range(1, 65))


def test_appenders_get_their_own_records():
    place = maps.Shared()
    with nczarr.create(place, "nczarr-v3") as file:
        file.create_dimension("time")
        file.create_variable("v", "i4", ["time"], chunks=(8,))

    def append(number):
        with nczarr.open(place, "a") as file:
            for _ in range(4):
                start = file.dimension("time").reserve(1)
                file["v"][start] = number * 100 + start

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(1, 5)))
    with nczarr.open(place) as file:
        found = file["v"][:].tolist()
    assert len(found) == 16 and sorted(value % 100 for value in found) == list(range(16))


def test_metadata_are_read_while_other_threads_write():
    place = maps.Shared()
    with nczarr.create(place, "nczarr-v3") as file:
        file.create_dimension("time")
        variable = file.create_variable("v", "i4", ["time"], chunks=(4,))
        done = threading.Event()

        def look():
            while not done.is_set():
                assert variable.dims == ("time",) and file.info()["driver"] == "nczarr"
                list(file.attrs.items()), variable.shape, variable.chunks, len(file.dimensions["time"])

        readers = [threading.Thread(target=look) for _ in range(3)]
        for reader in readers:
            reader.start()
        try:
            for number in range(60):
                variable[number * 3:number * 3 + 3] = number
                file.attrs["last"] = number
                file.sync()
        finally:
            done.set()
            for reader in readers:
                reader.join()
    with nczarr.open(place) as file:
        assert file["v"].shape == (180,) and file.attrs["last"] == 59


def test_an_existing_dataset_is_replaced_only_on_request(written):
    place = maps.Writable(written)
    with pytest.raises(FileExistsError):
        nczarr.create(place, clobber=False)
    fill(place)
    place.objects["note.txt"] = b"x"
    for key in [key for key in place.objects if key.endswith("zarr.json")]:
        del place.objects[key]
    with pytest.raises(FileExistsError):
        nczarr.create(place)
    assert place.objects


def test_a_dataset_is_deleted(written):
    place = maps.Writable(written)
    nczarr.delete(place)
    assert not place.objects
    with pytest.raises(FileNotFoundError):
        nczarr.open(place)
