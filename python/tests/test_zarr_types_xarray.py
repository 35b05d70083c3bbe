"""Types of plain Zarr that netCDF lacks, by the engine for xarray."""
import numpy as np
import pytest

import nczarr

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")
from nczarr.xarray import to_nczarr  # noqa: E402

VALUES = {
    "truth": np.arange(12).reshape(4, 3) % 5 == 0,
    "half": np.array([[0.1, np.nan, 3], [4, 5, 6], [7, 8, -65504], [np.inf, 1, 0]], "f2"),
    "complex": (np.arange(12).reshape(4, 3) * (1 - 2j)).astype("c8"),
    "wide": np.arange(12).reshape(4, 3) * (1 - 2j),
}


@pytest.fixture(params=[2, 3])
def version(request):
    return request.param


@pytest.fixture
def dataset():
    variables = {name: (("time", "x"), values, {"units": "1"}) for name, values in VALUES.items()}
    return xr.Dataset(variables, {"time": [10, 20, 30, 40]})


def check(place, expected):
    """Both engines and zarr-python read the same values of the same types."""
    for engine in "nczarr", "zarr":
        with xr.open_dataset(place, engine=engine) as found:
            for owner in (found, *found.variables.values()):
                # What plain Zarr has no place for; other engines show it.
                owner.attrs.pop("_netcdf", None)
            xr.testing.assert_identical(found.load(), expected)
            assert {name: v.dtype for name, v in found.items()} == {name: v.dtype for name, v in expected.items()}
    group = zarr.open_group(place, mode="r")
    for name, variable in expected.items():
        assert group[name].dtype == variable.dtype and "dtype" not in group[name].attrs


@pytest.mark.parametrize("chunked", [False, True])
def test_a_dataset_comes_back(dataset, version, chunked, tmp_path):
    place = str(tmp_path / "a.zarr")
    to_nczarr(dataset.chunk(time=3) if chunked else dataset, place, zarr_format=version)
    check(place, dataset)
    with xr.open_dataset(place, engine="nczarr", chunks={}) as found:
        to_nczarr(found, str(tmp_path / "b.zarr"), zarr_format=5 - version)
    check(str(tmp_path / "b.zarr"), dataset)


def test_regions_and_appends(dataset, version, tmp_path):
    place = str(tmp_path / "a.zarr")
    to_nczarr(dataset.isel(time=slice(0, 2)), place, zarr_format=version, unlimited_dims=["time"],
              encoding={name: {"chunks": (3, 2)} for name in VALUES})
    to_nczarr(dataset.isel(time=slice(2, 4)).chunk(time=1), place, append_dim="time")
    check(place, dataset)
    changed = dataset.copy(deep=True)
    changed["truth"][1:3] = ~changed["truth"][1:3]
    for name in "half", "complex", "wide":
        changed[name][1:3] = -changed[name][1:3]
    part = changed.isel(time=slice(1, 3)).drop_vars("time")
    to_nczarr(part, place, region={"time": slice(1, 3)})
    check(place, changed)


def test_delayed_writes(dataset, version, tmp_path):
    place = str(tmp_path / "a.zarr")
    to_nczarr(dataset.chunk(time=3, x=2), place, zarr_format=version, compute=False,
              encoding={name: {"chunks": (2, 2)} for name in VALUES}).compute()
    check(place, dataset)


def test_a_store_of_the_engine_zarr_is_continued(dataset, version, tmp_path):
    place = str(tmp_path / "a.zarr")
    dataset.to_zarr(place, zarr_format=version)
    part = ~dataset[["truth"]].isel(time=slice(0, 2)).drop_vars("time")
    to_nczarr(part, place, region={"time": slice(0, 2)})
    dataset["truth"][:2] = ~dataset["truth"][:2]
    check(place, dataset)
    with xr.open_dataset(place, engine="nczarr") as found:
        found.load().drop_encoding().to_zarr(str(tmp_path / "b.zarr"), zarr_format=version)
    check(str(tmp_path / "b.zarr"), dataset)


def test_truth_values_as_bytes_of_older_programs(dataset, version, tmp_path):
    place = str(tmp_path / "a.zarr")
    truths = dataset["truth"].values
    with nczarr.create(place, f"zarr-v{version}") as file:
        file.create_dimension("time")
        file.create_dimension("x", 3)
        file.create_variable("truth", "i1", ["time", "x"], attrs={"dtype": "bool"})[:] = truths
    part = dataset[["truth"]].drop_vars("time")
    to_nczarr(part.isel(time=slice(1, 3)), place, region={"time": slice(1, 3)})
    if version == 2:
        to_nczarr(part, place, append_dim="time")
        truths = np.concatenate([truths, truths])
    with xr.open_dataset(place, engine="nczarr") as found:
        assert found["truth"].dtype == bool and np.array_equal(found["truth"], truths)
    assert zarr.open_group(place, mode="r")["truth"].dtype == "i1"


def test_fill_values(version, tmp_path):
    place = str(tmp_path / "a.zarr")
    dataset = xr.Dataset({"truth": ("x", [True, False, True]), "half": ("x", np.array([1, np.nan, 3], "f2"))})
    encoding = {"half": {"_FillValue": np.float16(-1)}}
    if version == 3:
        encoding["truth"] = {"fill_value": True}
    to_nczarr(dataset.chunk(), place, zarr_format=version, encoding=encoding, compute=False)
    with xr.open_dataset(place, engine="nczarr") as found:
        assert found["truth"].dtype == bool and found["truth"].values.tolist() == [version == 3] * 3
        assert found["half"].dtype == "f2" and np.isnan(found["half"]).all()
    to_nczarr(dataset, place, mode="r+")
    with xr.open_dataset(place, engine="nczarr") as found:
        assert found["truth"].values.tolist() == [True, False, True]
        assert found["half"].encoding["_FillValue"] == -1
        assert np.array_equal(found["half"], [1, np.nan, 3], equal_nan=True)
        to_nczarr(found, str(tmp_path / "b.zarr"), zarr_format=3, compute=False)
    with nczarr.open(str(tmp_path / "b.zarr")) as file:
        assert file["truth"].fill_value == (version == 3) and file["half"].fill_value == -1
    with pytest.raises(ValueError, match="'truth'.*fill_value=2"):
        to_nczarr(dataset, str(tmp_path / "c.zarr"), encoding={"truth": {"fill_value": 2}})


def test_a_false_of_zarr_is_not_missing(tmp_path):
    place = str(tmp_path / "z.zarr")
    array = zarr.open_group(place, mode="w", zarr_format=2).create_array("v", shape=(3,), dtype=bool, fill_value=False)
    array[:] = [True, False, True]
    array.attrs["_ARRAY_DIMENSIONS"] = ["x"]
    with xr.open_dataset(place, engine="nczarr") as found:
        assert found["v"].dtype == bool and found["v"].values.tolist() == [True, False, True]
    with xr.open_dataset(place, engine="nczarr", use_zarr_fill_value_as_mask=True) as found:
        assert found["v"].isnull().values.tolist() == [False, True, False]


@pytest.mark.parametrize("code", ["M8[ns]", "M8[s]", "M8[D]", "m8[us]", "M8[Y]"])
def test_times_of_zarr(code, version, tmp_path):
    place, values = str(tmp_path / "z.zarr"), np.array([5, -(2**63), -7]).view(code)
    keys = {} if version == 2 else {"dimension_names": ["x"]}
    array = zarr.open_group(place, mode="w", zarr_format=version).create_array("v", shape=(3,), dtype=code, **keys)
    array[:] = values
    array.attrs["_ARRAY_DIMENSIONS"] = ["x"]
    with xr.open_dataset(place, engine="nczarr", chunks={}) as found:
        assert "_FillValue" not in found["v"].attrs or code == "M8[Y]"
        if code == "M8[Y]":
            assert found["v"].isel(x=[0, 2]).values.tolist() == ["1975", "1963"]
            return
        assert found["v"].dtype == values.astype({"M8[D]": "M8[s]"}.get(code, code)).dtype
        assert np.array_equal(found["v"].values, values, equal_nan=True)
        assert np.array_equal(found["v"].isel(x=[2, 0]).values, values[[2, 0]])
        to_nczarr(found, str(tmp_path / "b.zarr"))
    with xr.open_dataset(str(tmp_path / "b.zarr"), engine="nczarr") as again:
        assert np.array_equal(again["v"].values, values, equal_nan=True)


@pytest.mark.parametrize("mode", ["nczarr", "nczarr,v3"])
def test_nczarr_and_netcdf_keep_the_convention_of_xarray(mode, dataset, tmp_path):
    truths = dataset[["truth"]]
    place = f"file://{tmp_path}/a#mode={mode}"
    to_nczarr(truths, str(tmp_path / "z.zarr"))
    with xr.open_dataset(str(tmp_path / "z.zarr"), engine="nczarr") as found:
        to_nczarr(found, place, mode="w")
        found.to_netcdf(tmp_path / "a.nc", engine="nczarr")
    for written in place, tmp_path / "a.nc":
        with nczarr.open(written) as file:
            assert file["truth"].dtype == "i1" and file["truth"].attrs["dtype"] == "bool"
        with xr.open_dataset(written, engine="nczarr") as found:
            xr.testing.assert_identical(found.load(), truths)
    with xr.open_dataset(tmp_path / "a.nc", engine="nczarr") as found:
        to_nczarr(found, str(tmp_path / "b.zarr"))
    check(str(tmp_path / "b.zarr"), truths)
    for name in "half", "complex":
        with pytest.raises(TypeError, match=f"'{name}' in format"):
            to_nczarr(dataset[[name]], f"file://{tmp_path}/{name}#mode={mode}")


def test_an_integer_that_means_truth_stays_an_integer(tmp_path):
    raw = xr.Dataset({"v": ("x", np.array([0, 1, -1], "i1"), {"dtype": "bool"})})
    to_nczarr(raw, str(tmp_path / "a.zarr"))
    with nczarr.open(str(tmp_path / "a.zarr")) as file:
        assert file["v"].dtype == "i1" and file["v"][:].tolist() == [0, 1, -1]
