"""Filters in the encodings of xarray: those of a variable describe it, and make the same variable again."""
import numpy as np
import pytest
import xarray as xr

import nczarr

GIVEN = {
    "blosc_zstd": {"complevel": 7, "blosc_shuffle": 2}, "blosc_lz4hc": {"complevel": 3, "blosc_shuffle": 0},
    "szip": {"szip_coding": "ec", "szip_pixels_per_block": 16}, "zlib": {"complevel": 2, "shuffle": True},
    "zstd": {"complevel": 9}, "bzip2": {"complevel": 3},
}


@pytest.mark.parametrize("compression", GIVEN)
def test_filters_of_another_file_are_made_again(tmp_path, compression):
    netCDF4 = pytest.importorskip("netCDF4")
    values = np.arange(1600, dtype="i4").reshape(40, 40)
    given = {"compression": compression, "chunksizes": (20, 20), **GIVEN[compression]}
    first, again = tmp_path / "a.nc", tmp_path / "b.nc"
    xr.Dataset({"v": (("y", "x"), values)}).to_netcdf(first, engine="nczarr", encoding={"v": given})
    with netCDF4.Dataset(first) as file:
        expected = file["v"].filters()
    with xr.open_dataset(first, engine="nczarr") as found:
        assert expected.items() <= found["v"].encoding.items()
        found.load().to_netcdf(again, engine="nczarr")
    with nczarr.open(first) as one, nczarr.open(again) as other:
        assert one["v"].filters == other["v"].filters and len(one["v"].filters) >= 1
        assert np.array_equal(other["v"][...], values)


def test_settings_belong_to_one_variable(tmp_path):
    place = tmp_path / "a.nc"
    given = {"compression": "blosc_lz4", "chunksizes": (5,)}
    data = xr.Dataset({name: ("x", np.arange(10)) for name in "ab"})
    data.to_netcdf(place, engine="nczarr", encoding={"a": given, "b": given})
    with xr.open_dataset(place, engine="nczarr") as found:
        found["a"].encoding["blosc"]["shuffle"] = 99
        assert found["b"].encoding["blosc"] == {"compressor": "blosc_lz4", "shuffle": 1}
