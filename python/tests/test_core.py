"""Datasets, attributes, types and data through the package's own classes."""
import asyncio
import pickle

import numpy as np
import pytest

import nczarr

NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
#: Formats whose model has every type.
COMPLETE = ("nczarr-v2", "nczarr-v3", "netcdf4")


def test_numbers_keep_their_type_and_value(place, kind):
    with nczarr.create(place, kind) as file:
        file.create_dimension("x", 3)
        for code in NUMBERS:
            limits = np.finfo(code) if code[0] == "f" else np.iinfo(code)
            values = np.array([limits.min, 1, limits.max], code)
            file.create_variable("v" + code, code, ["x"], attrs={"a": values, "one": values[2]})[:] = values
    with nczarr.open(place) as file:
        for code in NUMBERS:
            variable = file["v" + code]
            limits = np.finfo(code) if code[0] == "f" else np.iinfo(code)
            values = np.array([limits.min, 1, limits.max], code)
            assert variable.dtype == code and variable[:].dtype == code
            assert np.array_equal(variable[:], values)
            if kind.startswith("zarr"):
                assert np.array_equal(np.asarray(variable.attrs["a"], code), values), "JSON keeps values, not types"
            else:
                assert variable.attrs["a"].dtype == code and np.array_equal(variable.attrs["a"], values)
                assert variable.attrs["one"].dtype == code and variable.attrs["one"] == values[2]


def test_attributes_are_a_mapping(place, kind):
    with nczarr.create(place, kind) as file:
        file.attrs["title"] = "Größe"
        file.attrs["empty"] = ""
        file.attrs["number"] = 7
        file.attrs["gone"] = 1.5
        del file.attrs["gone"]
        with pytest.raises(KeyError):
            file.attrs["gone"]
        with pytest.raises(KeyError):
            del file.attrs["gone"]
        file.attrs.update(title="a title")
        assert list(file.attrs) == ["title", "empty", "number"] and len(file.attrs) == 3
    with nczarr.open(place) as file:
        assert file.attrs.as_dict() == {"title": "a title", "empty": "", "number": 7} == dict(file.attrs)


def test_text_and_strings(place, kind):
    with nczarr.create(place, kind) as file:
        file.create_dimension("x", 2)
        file.create_dimension("n", 3)
        if not kind.startswith("zarr"):
            file.create_variable("c", "S1", ["x", "n"])[...] = np.array([[b"a", b"b", b"c"], [b"d", b"", b""]])
        if kind != "cdf5":
            file.create_variable("s", str, ["x"])[:] = ["sea", "Eis ✓"]
            file.attrs["list"] = ["one", "two"]
    with nczarr.open(place) as file:
        if not kind.startswith("zarr"):
            assert file["c"][...].tolist() == [[b"a", b"b", b"c"], [b"d", b"", b""]]
        if kind != "cdf5":
            assert file["s"][:].tolist() == ["sea", "Eis ✓"] and file["s"][1] == "Eis ✓"
            assert list(file.attrs["list"]) == ["one", "two"]


@pytest.mark.parametrize("kind", COMPLETE)
def test_user_defined_types(kind, tmp_path):
    place = str(tmp_path / "a.nc")
    point = np.dtype([("x", "f4"), ("ids", "i2", (2,))], align=True)
    with nczarr.create(place, kind) as file:
        file.create_dimension("x", 2)
        file.create_compound("point", point)
        file.create_enum("cloud", "i1", {"clear": 0, "rain": 3})
        file.create_vlen("row", "i4")
        file.create_opaque("blob", 3)
        points = np.zeros(2, point)
        points["x"], points["ids"] = [1.5, 2.5], [[1, 2], [3, 4]]
        file.create_variable("p", "point", ["x"])[:] = points
        file.create_variable("e", "cloud", ["x"])[:] = [3, 0]
        rows = file.create_variable("r", "row", ["x"])
        rows[0], rows[1] = np.array([1, 2, 3]), np.array([], int)
        file.create_variable("o", "blob", ["x"])[:] = np.array([b"abc", b"xyz"], "V3")
    with nczarr.open(place) as file:
        assert np.array_equal(file["p"][:]["ids"], points["ids"]) and np.array_equal(file["p"][:]["x"], points["x"])
        assert file["e"].dtype.metadata == {"enum": {"clear": 0, "rain": 3}, "enum_name": "cloud"}
        assert file["e"][:].tolist() == [3, 0]
        assert [row.tolist() for row in file["r"][:]] == [[1, 2, 3], []]
        assert file["o"][:].tolist() == [b"abc", b"xyz"]
        assert sorted(file.types) == ["blob", "cloud", "point", "row"]


def test_unlimited_dimensions_grow(place, kind):
    with nczarr.create(place, kind) as file:
        file.create_dimension("t")
        file.create_dimension("x", 2)
        variable = file.create_variable("v", "f8", ["t", "x"])
        variable[0] = [1, 2]
        variable[1:3] = [[3, 4], [5, 6]]
        variable[4] = 9
        assert variable.shape == (5, 2) and variable.unlimited == (True, False)
    with nczarr.open(place) as file:
        assert file["v"][:3].tolist() == [[1, 2], [3, 4], [5, 6]] and file["v"][4].tolist() == [9, 9]
        assert len(file.dimension("t")) == 5 and file.dimension("t").is_unlimited != kind.startswith("zarr")


def test_values_are_converted_and_checked(place, kind):
    with nczarr.create(place, kind) as file:
        file.create_dimension("x", 3)
        variable = file.create_variable("v", "i2", ["x"])
        variable[:] = [1.0, 2.0, 3.0]
        with pytest.raises(ValueError, match="NC_ERANGE"):
            variable[:] = np.array([1, 70000, 3])
        out = np.empty(2, "f4")
        assert variable.read_into(out, slice(0, 3, 2)) is out and out.tolist() == [1, 3]
        with pytest.raises(ValueError, match="shape"):
            variable.read_into(out)


def test_errors_are_python_exceptions(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        nczarr.open(str(tmp_path / "absent.nc"))
    assert (caught.value.name, caught.value.code) == ("NC_ENOTFOUND", -90)
    assert "absent.nc" in str(caught.value)
    place = tmp_path / "a.zarr"
    with nczarr.create(str(place), "zarr-v3") as file:
        file.create_dimension("x", 4)
        file.create_variable("v", "i4", ["x"], chunks=(2,))[:] = 1
        with pytest.raises(KeyError):
            file["w"]
        with pytest.raises(TypeError):
            file.create_variable("w", "c32", ["x"])
        with pytest.raises(ValueError, match="kind"):
            nczarr.create(str(tmp_path / "b"), "zarr-v9")
    with pytest.raises(nczarr.NczarrError) as closed:
        file["v"]
    assert closed.value.name == "NC_EBADID"
    (place / "v/c/0").write_bytes(b"short")
    with nczarr.open(str(place)) as file, pytest.raises(OSError) as damaged:
        file["v"][:]
    assert (damaged.value.path, damaged.value.variable, damaged.value.key) == (str(place), "/v", "v/c/0")
    assert "expected 8 bytes, found 5" in str(damaged.value)
    again = pickle.loads(pickle.dumps(damaged.value))
    assert (type(again), str(again), again.key) == (type(damaged.value), str(damaged.value), damaged.value.key)


def test_missing_chunks_by_policy(tmp_path):
    place = str(tmp_path / "a.zarr")
    with nczarr.create(place, "zarr-v3") as file:
        file.create_dimension("x", 4)
        file.create_variable("v", "i4", ["x"], chunks=(2,), fill_value=7)[:2] = [1, 2]
    with nczarr.open(place) as file:
        assert file["v"][:].tolist() == [1, 2, 7, 7]
    with nczarr.open(place, missing_chunks="error") as file, pytest.raises(OSError):
        file["v"][:]


def test_bytes_in_memory(tmp_path):
    file = nczarr.create("made.nc", "netcdf4", in_memory=True)
    file.create_dimension("x", 2)
    file.create_variable("v", "i4", ["x"])[:] = [1, 2]
    content = file.close_to_bytes()
    with nczarr.open(content) as file:
        assert file["v"][:].tolist() == [1, 2]
    path = tmp_path / "b.nc"
    path.write_bytes(content)
    with nczarr.open(path) as file:
        assert file["v"][:].tolist() == [1, 2]


def test_groups_are_mappings(tmp_path):
    with nczarr.create(str(tmp_path / "a.nc"), "netcdf4") as file:
        inner = file.create_group("g").create_group("h")
        file.create_dimension("x", 1)
        inner.create_variable("v", "i4", ["x"])[0] = 5
        assert file["g/h/v"][0] == 5 and inner.path == "/g/h" and inner.parent.name == "g"
        assert list(file) == ["g"] and list(file["g/h"]) == ["v"] and "g" in file and "q" not in file
        assert file["g/h/v"].path == "/g/h/v" and len(file["g/h"].dimension("x")) == 1


def test_an_open_writer_warns(tmp_path):
    file = nczarr.create(str(tmp_path / "a.zarr"), "nczarr-v3")
    file.create_dimension("x", 1)
    with pytest.warns(ResourceWarning, match="was not closed"):
        del file
    with nczarr.open(str(tmp_path / "a.zarr")) as file:
        assert len(file.dimension("x")) == 1


async def test_reads_do_not_block_the_loop(tmp_path):
    place = str(tmp_path / "a.zarr")
    with nczarr.create(place, "zarr-v3") as file:
        file.create_dimension("x", 100)
        file.create_variable("v", "i4", ["x"], chunks=(10,))[:] = np.arange(100)
    with nczarr.open(place) as file:
        parts = await asyncio.gather(*(file["v"].get_async(slice(i, i + 10)) for i in range(0, 100, 10)))
        assert np.array_equal(np.concatenate(parts), np.arange(100))
