"""What users of xarray expect of writing. The numbers are those of the list of behaviours."""
import os

import dask.array
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import nczarr
from nczarr.xarray import to_nczarr

FORMATS = ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT", "NETCDF3_64BIT_DATA", "ZARR2", "ZARR3"]


def opened(place, **options):
    return xr.open_dataset(place, engine="nczarr", **options)


def write(dataset, place, format, **options):
    """Writes through the door of the format."""
    if format.startswith("ZARR"):
        return to_nczarr(dataset, place, mode="w", zarr_format=int(format[-1]), **options)
    return dataset.to_netcdf(place, engine="nczarr", format=format, **options)


@pytest.fixture(params=FORMATS)
def format(request):
    return request.param


@pytest.fixture
def place(format, tmp_path):
    return str(tmp_path / ("a.zarr" if format.startswith("ZARR") else "a.nc"))


def days(first, count=1):
    time = pd.date_range("2000-01-01", periods=count) + pd.Timedelta(days=first)
    return xr.Dataset({"v": (("time", "x"), np.full((count, 4), first, "f4"))}, coords={"time": time})


def test_05_a_repeated_append_is_a_key_error(tmp_path):
    for name in ("a.zarr", "a.nc"):
        place = str(tmp_path / name)
        to_nczarr(days(0), place, unlimited_dims=["time"])
        assert to_nczarr(days(1), place, append_dim="time", unique=True) == 1
        with pytest.raises(KeyError):
            to_nczarr(days(1), place, append_dim="time", unique=True)
        with opened(place) as dataset:
            assert dataset["v"].values[:, 0].tolist() == [0, 1]


def test_12_writing_to_the_place_of_reading_is_an_error(place, format):
    write(xr.Dataset({"v": ("x", [1.0, 2.0])}), place, format)
    for chunks in (None, {}):
        with opened(place, chunks=chunks) as dataset:
            with pytest.raises(ValueError, match="'v' is read lazily"):
                write(dataset + 1 if chunks else dataset, place, format)
            assert dataset["v"].values.tolist() == [1, 2]
    with opened(place) as dataset:
        assert dataset["v"].values.tolist() == [1, 2]


def test_13_too_large_for_the_format(tmp_path):
    place = str(tmp_path / "a.nc")
    big = xr.Dataset({"small": ("y", [1.0]), "big": ("x", dask.array.zeros(2**31 + 8, dtype="i1", chunks=2**28))})
    with pytest.raises(ValueError, match="'big'"):
        big.to_netcdf(place, engine="nczarr", format="NETCDF3_64BIT")
    assert not os.path.exists(place)


def test_14_foreign_encodings_are_translated(tmp_path):
    import numcodecs
    import zarr

    data = xr.Dataset({"v": (("y", "x"), np.arange(64.0).reshape(8, 8))})
    zlib = {"zlib": True, "complevel": 3, "shuffle": True, "chunksizes": (4, 4)}
    for version in (2, 3):
        place = str(tmp_path / f"{version}.zarr")
        to_nczarr(data, place, zarr_format=version, encoding={"v": zlib})
        with nczarr.open(place) as file:
            assert file["v"].chunks == (4, 4)
            assert [filter[0] for filter in file["v"].filters][-1] in ("deflate", "zlib", "gzip")
        with xr.open_zarr(place, consolidated=False) as found:
            assert np.array_equal(found["v"].values, data["v"].values)
    place = str(tmp_path / "c.nc")
    given = {"chunks": (2, 8), "compressors": [numcodecs.Zlib(2)]}
    data.to_netcdf(place, engine="nczarr", encoding={"v": given})
    with opened(place) as found:
        assert found["v"].encoding["zlib"] and found["v"].encoding["chunksizes"] == (2, 8)
    to_nczarr(data, str(tmp_path / "z.zarr"), encoding={"v": {"compressors": [zarr.codecs.ZstdCodec(level=3)]}})
    with opened(str(tmp_path / "z.zarr")) as found:
        # Written on, the compression stays; to a classic file it is left out.
        found.load().to_netcdf(str(tmp_path / "d.nc"), engine="nczarr")
        found.to_netcdf(str(tmp_path / "e.nc"), engine="nczarr", format="NETCDF3_64BIT")
    with opened(str(tmp_path / "d.nc")) as found:
        assert found["v"].encoding["zstd"] and found.equals(data)
    with opened(str(tmp_path / "e.nc")) as found:
        assert found.equals(data)
    for given in ({"shards": (4, 4)}, {"nonsense": 1}, {"compressors": [{"id": "nonsense"}]}):
        with pytest.raises(ValueError):
            data.to_netcdf(str(tmp_path / "f.nc"), engine="nczarr", encoding={"v": given})


@pytest.mark.parametrize("version", [2, 3])
def test_14_codecs_are_those_of_the_version(version, tmp_path):
    import numcodecs
    import zarr.codecs as v3

    data = xr.Dataset({"v": ("x", np.arange(64.0))})
    given = {
        2: [numcodecs.Zstd(3), numcodecs.Zlib(2), numcodecs.Blosc("zstd", 3, 2)],
        3: [v3.ZstdCodec(level=3), v3.GzipCodec(level=2), v3.BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle")],
    }
    for number, codec in enumerate(given[version]):
        places = [str(tmp_path / f"{number}{name}") for name in ("a.zarr", "b.zarr", "c.zarr", "d.nc")]
        data.to_zarr(places[0], zarr_format=version, encoding={"v": {"compressors": [codec]}})
        with opened(places[0]) as found:
            if version == 3:
                # zarr-python takes the codecs of the encoding as they are.
                found.load().to_zarr(places[1], zarr_format=3)
                assert opened(places[1])["v"].encoding["compressors"] == found["v"].encoding["compressors"]
            to_nczarr(found, places[2], zarr_format=version)
            assert opened(places[2])["v"].encoding["compressors"] == found["v"].encoding["compressors"]
            found.to_netcdf(places[3], engine="nczarr")
        with opened(places[3]) as found:
            assert found.equals(data)
            if number == 2:
                assert found["v"].encoding["blosc"] == {"compressor": "blosc_zstd", "shuffle": 2}


def test_14_an_unknown_key_leaves_the_old_dataset(place, format):
    data = xr.Dataset({"v": ("x", [1.0, 2.0])})
    write(data, place, format)
    with pytest.raises(ValueError, match="nonsense"):
        write(data + 1, place, format, encoding={"v": {"nonsense": 1}})
    with opened(place) as dataset:
        assert dataset["v"].values.tolist() == [1, 2]


def test_15_inherited_chunks_are_cut(tmp_path):
    place, part = str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")
    data = xr.Dataset({"v": (("time", "x"), np.zeros((8, 8)))})
    to_nczarr(data, place, encoding={"v": {"chunks": (6, 6)}}, unlimited_dims=["time"])
    with opened(place) as dataset:
        to_nczarr(dataset.isel(time=slice(2), x=slice(3)), part)
    with nczarr.open(part) as file:
        assert file["v"].chunks == (6, 3)


def test_16_unlimited_dimensions_survive(place, format, tmp_path):
    data = xr.Dataset({"v": (("time", "x"), np.zeros((2, 3)))})
    with pytest.raises(ValueError, match="nothing"):
        write(data, place, format, unlimited_dims=["nothing"])
    write(data, place, format, unlimited_dims=["time"])
    with opened(place) as dataset:
        assert dataset.encoding["unlimited_dims"] == {"time"}
        again = place.replace("a.", "b.")
        write(dataset, again, format)
    with opened(again) as dataset:
        assert dataset.encoding["unlimited_dims"] == {"time"} and dataset.equals(data)
    data.encoding["unlimited_dims"] = ["nothing"]
    with pytest.warns(UserWarning, match="nothing"):
        write(data, place, format)


def test_20_bytes_and_text(place, format):
    data = xr.Dataset(
        {"b": ("x", np.array([b"ab", b"c", b""])), "t": ("x", np.array(["ä", "bcd", ""], object))},
    )
    data["b"].encoding["char_dim_name"] = "letters"
    if not format.startswith("ZARR"):
        data["t"].encoding["dtype"] = "S1"
    write(data, place, format)
    with opened(place) as dataset:
        assert dataset["b"].values.tolist() == [b"ab", b"c", b""]
        assert dataset["t"].values.tolist() == ["ä", "bcd", ""]
        assert dataset["b"].encoding["char_dim_name"] == "letters"
    with opened(place, concat_characters=False) as dataset:
        assert dataset["b"].dims == ("x", "letters") and dataset["b"].dtype == "S1"


def test_21_enums_keep_their_members(tmp_path):
    place, again = str(tmp_path / "a.nc"), str(tmp_path / "b.nc")
    with nczarr.create(place, "netcdf4") as file:
        file.create_dimension("x", 3)
        file.create_enum("cloud_t", "u1", {"clear": 0, "cumulus": 1, "missing": 255})
        file.create_variable("c", "cloud_t", "x")[...] = [0, 1, 1]
    with opened(place) as dataset:
        dtype = dataset["c"].encoding["dtype"]
        assert dtype.metadata == {"enum": {"clear": 0, "cumulus": 1, "missing": 255}, "enum_name": "cloud_t"}
        assert dataset["c"].values.tolist() == [0, 1, 1]
        dataset.to_netcdf(again, engine="nczarr")
    with nczarr.open(again) as file:
        assert file["c"].nc_type[1] == "cloud_t" and file["c"][...].tolist() == [0, 1, 1]


@pytest.mark.parametrize("values", [
    np.array([True, False]), np.array(["2000-01-01", "NaT"], "M8[ns]"), np.array(["abcde", "ä"]),
    np.array([1 + 2j, 3j], "c8"), np.array([1.5, 2], "f2"), np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")]),
], ids=lambda values: str(values.dtype.kind))
def test_25_types_round_trip_or_are_a_type_error(values, place, format):
    data = xr.Dataset({"special": ("x", values)})
    try:
        write(data, place, format)
    except TypeError as error:
        # Plain Zarr has types for all of these; netCDF has compounds only.
        assert "special" in str(error) and values.dtype.kind in "cfV" and not format.startswith("ZARR")
        return
    except ValueError as error:
        assert values.dtype.kind == "V" or "safely cast" in str(error), error
        return
    with opened(place) as dataset:
        found = dataset["special"]
        assert found.dtype.kind == values.dtype.kind or values.dtype.kind == "U"
        assert found.dtype == values.dtype or values.dtype.kind in "MUV"
        if values.dtype.kind == "M":
            assert np.array_equal(found.values, values, equal_nan=True)
        else:
            assert found.values.tolist() == values.tolist() and found.dtype.names == values.dtype.names


def test_32_names_round_trip(place, format):
    names = ["v", "V", "größe", "長さ", "a b", "a.b"]
    data = xr.Dataset({name: ("x", [number]) for number, name in enumerate(names)})
    write(data, place, format)
    with opened(place) as dataset:
        assert {name: int(dataset[name].values[0]) for name in names} == {name: at for at, name in enumerate(names)}
    with pytest.raises(ValueError, match="Forward slashes"):
        write(xr.Dataset({"a/b": ("x", [1])}), place, format)


@pytest.mark.parametrize("engine", ["nczarr", "zarr"])
@pytest.mark.parametrize("version", [2, 3])
def test_04_any_dimension_of_plain_zarr_grows(engine, version, tmp_path):
    place = str(tmp_path / "a.zarr")
    if engine == "zarr":
        days(0, 2).to_zarr(place, zarr_format=version, consolidated=False)
    else:
        to_nczarr(days(0, 2), place, zarr_format=version)
    assert to_nczarr(days(2, 3), place, append_dim="time") == 2
    for reader in ("nczarr", "zarr"):
        with xr.open_dataset(place, engine=reader, **({"consolidated": False} if reader == "zarr" else {})) as found:
            assert found["v"].values[:, 0].tolist() == [0, 0, 2, 2, 2]
            assert found["time"].values[-1] == np.datetime64("2000-01-05")


def test_20_longer_strings_are_not_cut(place, format):
    if format not in ("NETCDF4", "ZARR2", "ZARR3"):
        format, place = "ZARR3", place + ".zarr"
    data = xr.Dataset({"t": ("time", np.array(["a", "bc"]))})
    write(data, place, format, unlimited_dims=["time"])
    longer = xr.Dataset({"t": ("time", np.array(["much longer"]))})
    to_nczarr(longer, place, append_dim="time")
    to_nczarr(longer, place, region={"time": slice(0, 1)})
    with opened(place) as dataset:
        assert dataset["t"].values.tolist() == ["much longer", "bc", "much longer"]
        dataset["t"] = dataset["t"].copy(data=np.array(["much longer", "the longest of all", "much longer"]))
        again = place.replace("a.", "b.")
        write(dataset, again, format)
    with opened(again) as dataset:
        assert dataset["t"].values.tolist() == ["much longer", "the longest of all", "much longer"]


def test_34_a_region_is_found(tmp_path):
    place = str(tmp_path / "a.zarr")
    to_nczarr(days(0, 6), place)
    to_nczarr(days(2, 2) + 5, place, region="auto")
    with opened(place) as dataset:
        assert dataset["v"].values[:, 0].tolist() == [0, 0, 7, 7, 0, 0]
    with pytest.raises(KeyError):
        to_nczarr(days(5, 2), place, region="auto")
    with pytest.raises(ValueError, match="contiguous"):
        to_nczarr(days(0, 6).isel(time=[0, 2]), place, region="auto")
    with opened(place) as dataset:
        assert dataset["v"].values[:, 0].tolist() == [0, 0, 7, 7, 0, 0]


def test_an_existing_group_is_not_replaced_with_its_siblings(tmp_path):
    place = str(tmp_path / "a.zarr")
    data = xr.Dataset({"v": ("x", [1.0])})
    to_nczarr(data, place)
    to_nczarr(data + 1, place, mode="w", group="g")
    with pytest.raises(ValueError, match="'g' exists"):
        to_nczarr(data, place, mode="w", group="g")
    with opened(place) as root, opened(place, group="g") as group:
        assert root["v"].values == 1 and group["v"].values == 2


def test_bytes_and_file_objects(tmp_path):
    data = xr.Dataset({"v": ("x", [1.0, 2.0])})
    content = data.to_netcdf(engine="nczarr")
    assert opened(bytes(content)).equals(data)
    with open(tmp_path / "a.nc", "wb") as target:
        data.to_netcdf(target, engine="nczarr")
    assert opened(str(tmp_path / "a.nc")).equals(data)


def test_data_come_after_all_definitions(place, format, monkeypatch):
    """A netCDF-4 file stores its metadata when data follow a definition: once, not once per variable."""
    from nczarr.xarray import NczarrDataStore
    from nczarr.xarray._target import Target

    calls, define, put = [], NczarrDataStore.prepare_variable, Target.__setitem__

    def defining(store, *arguments, **options):
        calls.append("define")
        return define(store, *arguments, **options)

    def putting(target, key, values):
        calls.append("put")
        put(target, key, values)

    monkeypatch.setattr(NczarrDataStore, "prepare_variable", defining)
    monkeypatch.setattr(Target, "__setitem__", putting)
    write(xr.Dataset({name: ("x", np.arange(3.0)) for name in "abc"}), place, format)
    assert calls == ["define"] * 3 + ["put"] * 3
    with opened(place) as found:
        assert all(np.array_equal(found[name], np.arange(3.0)) for name in "abc")


def test_an_append_may_have_a_region_of_other_dimensions(tmp_path):
    place = tmp_path / "o.zarr"
    whole = xr.Dataset({"v": (("time", "x"), np.zeros((2, 6), "i4"))}, coords={"time": [0, 1], "x": np.arange(6)})
    to_nczarr(whole, place, unlimited_dims=["time"], encoding={"v": {"chunks": (2, 4)}})
    day = xr.Dataset({"v": (("time", "x"), np.full((1, 3), 7, "i4"))}, coords={"time": [2]})
    assert to_nczarr(day, place, append_dim="time", region={"x": slice(1, 4)}) == 2
    with opened(place) as found:
        assert found["time"].values.tolist() == [0, 1, 2] and found["x"].values.tolist() == list(range(6))
        row = found["v"][2].values.tolist()
        assert row[1:4] == [7, 7, 7] and row[0] == row[4] == row[5] != 7
    with pytest.raises(ValueError, match="cannot list the same dimension"):
        to_nczarr(day, place, append_dim="time", region={"time": slice(0, 1)})
    with pytest.raises(KeyError):
        to_nczarr(day.assign_coords(time=[3]), place, append_dim="time", region="auto")
    with pytest.raises(ValueError, match="not stored yet"):
        to_nczarr(day.assign(w=day["v"]), place, append_dim="time", region={"x": slice(1, 4)})
    with opened(place) as found:
        assert found.sizes["time"] == 3


def test_an_object_of_xarray_is_no_attribute(tmp_path):
    for attrs in ({"bad": xr.DataArray(1)}, {"bad": xr.Variable((), 1)}):
        for data in (xr.Dataset(attrs=attrs), xr.Dataset({"v": ((), 1, attrs)})):
            with pytest.raises(TypeError, match="Invalid attribute in Dataset.attrs: 'bad'"):
                to_nczarr(data, tmp_path / "o.zarr")
