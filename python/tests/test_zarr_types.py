"""Types of plain Zarr that netCDF lacks: truth values, half floats, complex numbers and times."""
import json

import numpy as np
import pytest
import zarr

import nczarr
from nczarr import netCDF4

VALUES = {
    "b1": np.array([True, False, True, True, False]),
    "f2": np.array([0.1, -65504, np.inf, np.nan, 6e-8], "f2"),
    "c8": np.array([1 + 2j, -0.5j, 0, np.inf, 3e38], "c8"),
    "c16": np.array([1 + 2j, -0.5j, 0, np.inf, 3e300], "c16"),
    "M8[s]": np.array(["2024-02-29T12:30:00", "NaT", "1969-12-31T23:59:59", "0001-01-01", "9999-12-31"], "M8[s]"),
    "M8[ns]": np.array([2**63 - 1, -(2**63), -(2**63) + 1, 0, 1]).view("M8[ns]"),
    "M8[D]": np.array(["2024-02-29", "NaT", "1970-01-01", "-0400-01-01", "12345-01-01"], "M8[D]"),
    "m8[ms]": np.array([25, -2000, 2**63 - 1, -(2**63), 0]).view("m8[ms]"),
}
UNWRITTEN = {"b1": False, "f2": np.float16("nan"), "c8": 0, "c16": 0}
V2_NAMES = {"b1": "|b1", "f2": "<f2", "c8": "<c8", "c16": "<c16"}


def same(found, expected):
    """Equal, missing values included, and of one type."""
    return found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


@pytest.fixture(params=["zarr-v2", "zarr-v3"])
def version(request):
    return request.param


@pytest.fixture(params=list(VALUES))
def code(request):
    return request.param


@pytest.fixture
def made(version, code, tmp_path):
    """A dataset with the variable ``v`` of two chunks and a half."""
    place = str(tmp_path / "a.zarr")
    with nczarr.create(place, version) as file:
        file.create_dimension("x", 5)
        file.create_variable("v", code, ["x"], chunks=(2,), zlib=True)[:] = VALUES[code]
    return place


def test_values_come_back_and_zarr_reads_the_same_type(made, code):
    with nczarr.open(made) as file:
        v = file["v"]
        assert v.dtype == np.dtype(code) and same(v[:], VALUES[code])
        assert same(v[::-2], VALUES[code][::-2]) and same(v[[4, 1]], VALUES[code][[4, 1]])
        assert same(np.asarray(v[2]), VALUES[code][2])
        assert same(v.read_into(np.empty(2, code), slice(1, 3)), VALUES[code][1:3])
    array = zarr.open_group(made, mode="r")["v"]
    assert array.dtype == np.dtype(code) and same(array[:], VALUES[code])


def test_the_stored_type_is_that_of_the_format(made, version, code):
    name = ".zarray" if version == "zarr-v2" else "zarr.json"
    with open(f"{made}/v/{name}") as text:
        document = json.load(text)
    if version == "zarr-v2":
        assert document["dtype"] == V2_NAMES.get(code, "<" + code)
    elif code[0] not in "Mm":
        assert document["data_type"] == np.dtype(code).name
    else:
        unit = np.datetime_data(code)[0]
        name = "numpy.datetime64" if code[0] == "M" else "numpy.timedelta64"
        assert document["data_type"] == {"name": name, "configuration": {"unit": unit, "scale_factor": 1}}


def test_parts_and_points_are_written(made, code):
    expected = VALUES[code].copy()
    with nczarr.open(made, "a") as file:
        file["v"][1:4] = expected[1:4] = VALUES[code][[4, 0, 2]]
        file["v"][[0, 4]] = expected[[0, 4]] = VALUES[code][[1, 3]]
        file["v"][2] = expected[2] = VALUES[code][0]
    with nczarr.open(made) as file:
        assert same(file["v"][:], expected)


def test_an_array_of_zarr_is_read(version, code, tmp_path):
    place = str(tmp_path / "z.zarr")
    group = zarr.open_group(place, mode="w", zarr_format=int(version[-1]))
    group.create_array("v", shape=(5,), chunks=(2,), dtype=code)[:] = VALUES[code]
    with nczarr.open(place) as file:
        assert same(file["v"][:], VALUES[code])


def test_unwritten_elements(version, code, tmp_path):
    place = str(tmp_path / "a.zarr")
    with nczarr.create(place, version) as file:
        file.create_dimension("time")
        v = file.create_variable("v", code, ["time"], chunks=(2,))
        filled = file.create_variable("filled", code, ["time"], chunks=(2,), fill_value=VALUES[code][0])
        v[3] = filled[3] = VALUES[code][2]
        filled[0] = np.ma.masked_all((), code)
    with nczarr.open(place) as file:
        unwritten = np.array(UNWRITTEN.get(code, "NaT"), code)
        assert same(file["v"][:3], np.repeat(unwritten, 3)) and same(file["v"][3:], VALUES[code][2:3])
        assert same(file["filled"][:3], np.repeat(VALUES[code][:1], 3))
        assert same(np.asarray(file["filled"].fill_value), VALUES[code][0])
    array = zarr.open_group(place, mode="r")["filled"]
    assert same(np.asarray(array.fill_value).astype(code), VALUES[code][0])


@pytest.mark.parametrize("code, value", [
    ("b1", 2), ("b1", 0.5), ("b1", np.nan), ("f2", 1e5), ("f2", 70000), ("c8", 1e300), ("M8[s]", np.datetime64(1, "ms")),
    ("M8[D]", np.datetime64("2024-01-01T01")), ("M8[ns]", np.datetime64("9999-01-01", "s")), ("m8[ms]", np.timedelta64(1, "us")),
])
def test_a_value_that_does_not_fit_is_refused(code, value, version, tmp_path):
    with nczarr.create(str(tmp_path / "a.zarr"), version) as file:
        file.create_dimension("x", 5)
        v = file.create_variable("v", code, ["x"])
        v[:] = VALUES[code]
        with pytest.raises(ValueError, match="/v"):
            v[0] = value
        assert same(v[:], VALUES[code])


@pytest.mark.parametrize("code, value", [("b1", "yes"), ("b1", 1j), ("f2", "1"), ("M8[s]", 5), ("m8[ms]", np.datetime64(1, "s"))])
def test_a_value_of_another_kind_is_refused(code, value, tmp_path):
    with nczarr.create(str(tmp_path / "a.zarr"), "zarr-v3") as file:
        file.create_dimension("x", 5)
        v = file.create_variable("v", code, ["x"])
        with pytest.raises(TypeError, match="/v"):
            v[0] = value


def test_values_convert_where_nothing_is_lost(tmp_path):
    with nczarr.create(str(tmp_path / "a.zarr"), "zarr-v3") as file:
        file.create_dimension("x", 5)
        made = {code: file.create_variable(f"v{number}", code, ["x"]) for number, code in enumerate(VALUES)}
        made["b1"][:] = [1, 0.0, 1, 0, 1]
        made["f2"][:] = [1, 2, 3, 4, True]
        made["c8"][:] = [1, 2.5, 3, 4j, 5]
        made["M8[s]"][:] = ["2024-01-01", "NaT", "2024-01-01T01", "2024-01-01T01:02:03", "1900-01-01"]
        made["M8[D]"][:] = np.array(["2024-01-01"] * 5, "M8[ns]")
        made["m8[ms]"][:] = np.timedelta64(2, "s")
        assert made["b1"][:].tolist() == [True, False, True, False, True]
        assert made["b1"].read_into(np.empty(5, "i4")).tolist() == [1, 0, 1, 0, 1]
        assert made["f2"].read_into(np.empty(5, "f8")).tolist() == made["f2"][:].tolist() == [1, 2, 3, 4, 1]
        made["f2"][0] = 0.1
        with pytest.raises(ValueError, match="0.09"):
            made["f2"].read_into(np.empty(5, "i4"))
        assert made["c8"][:].tolist() == [1, 2.5, 3, 4j, 5]
        assert made["M8[s]"][2] == np.datetime64("2024-01-01T01") and np.isnat(made["M8[s]"][1])
        assert made["M8[D]"][0] == np.datetime64("2024-01-01") and made["m8[ms]"][0] == np.timedelta64(2, "s")


def test_a_double_is_rounded_once(tmp_path):
    # Rounded to float first, this number would become 1.
    value = 1 + 2**-11 + 2**-40
    with nczarr.create(str(tmp_path / "a.zarr"), "zarr-v3") as file:
        v = file.create_variable("v", "f2")
        v[()] = value
        assert v[()] == np.float16(value) > 1


def test_bytes_that_are_no_truth_values_are_true(tmp_path):
    place = tmp_path / "a.zarr"
    with nczarr.create(str(place), "zarr-v3") as file:
        file.create_dimension("x", 3)
        file.create_variable("v", bool, ["x"])[:] = [True, False, True]
    chunk = place / "v" / "c" / "0"
    assert chunk.read_bytes() == b"\1\0\1"
    chunk.write_bytes(b"\0\7\1")
    with nczarr.open(str(place)) as file:
        found = file["v"][:]
    assert found.view("u1").tolist() == [0, 1, 1]


@pytest.mark.parametrize("kind", ["nczarr-v2", "nczarr-v3", "netcdf4", "cdf5"])
def test_other_formats_refuse_the_types(kind, tmp_path):
    with nczarr.create(str(tmp_path / "a"), kind) as file:
        file.create_dimension("x", 5)
        for code in VALUES:
            with pytest.raises(TypeError, match="netCDF has no type"):
                file.create_variable("v", code, ["x"])
        assert not file.variables


def test_a_unit_with_a_multiple_is_read_only(tmp_path):
    place, values = str(tmp_path / "z.zarr"), np.array([0, 5, -1, -(2**63)]).view("M8[25us]")
    zarr.open_group(place, mode="w", zarr_format=2).create_array("v", shape=(4,), dtype="M8[25us]")[:] = values
    with nczarr.open(place, "a") as file:
        assert same(file["v"][:], values)
        file["v"][0] = values[1]
        with pytest.raises(TypeError, match="25us"):
            file.create_variable("w", "M8[25us]", [])
    assert zarr.open_group(place, mode="r")["v"][0] == values[1]


def test_the_model_of_netcdf_has_its_own_types(made, code, tmp_path):
    with netCDF4.Dataset(made) as file:
        v = file["v"]
        if code == "b1":
            assert v.dtype == "u1" and v[:].tolist() == [1, 0, 1, 1, 0]
        elif code == "f2":
            assert v.dtype == "f4" and np.array_equal(v[:].filled(), VALUES[code].astype("f4"), equal_nan=True)
    if code in ("b1", "f2", "c8"):
        nczarr.copy(made, str(tmp_path / "b.nc"), kind="netcdf4")
        with nczarr.open(str(tmp_path / "b.nc")) as file:
            assert file["v"].dtype == {"b1": "u1", "f2": "f4"}.get(code, [("r", "f4"), ("i", "f4")])
            assert file["v"][0].item() == ((1, 2) if code == "c8" else VALUES[code][0])


def test_copies_and_rechunks_keep_the_values(made, code, tmp_path):
    pytest.importorskip("dask")
    nczarr.copy(made, str(tmp_path / "b.zarr"), kind="zarr-v3")
    nczarr.rechunk(made, str(tmp_path / "c.zarr"), {"x": 3}, kind="zarr-v2")
    for name in "b.zarr", "c.zarr":
        with nczarr.open(str(tmp_path / name)) as file:
            found = file["v"][:]
            if code[0] == "m":
                found = np.array([text.removesuffix("ms") for text in found])
            assert same(found.astype(code), VALUES[code])


@pytest.mark.parametrize("code", ["b1", "f2"])
@pytest.mark.parametrize("kind", ["zarr-v3", "netcdf4"])
def test_a_large_variable_is_rechunked(code, kind, tmp_path):
    pytest.importorskip("dask")
    source, target = str(tmp_path / "a.zarr"), str(tmp_path / "b")
    values = (np.arange(200_000) % 7 == 0).astype(code)
    with nczarr.create(source, "zarr-v3") as file:
        file.create_dimension("x", values.size)
        file.create_variable("v", code, ["x"], chunks=(7000,))[:] = values
    nczarr.rechunk(source, target, {"x": 30_000}, kind=kind, memory=200_000)
    with nczarr.open(target) as file:
        assert np.array_equal(file["v"][:], values) and file["v"].chunks == (30_000,)
