"""Datasets for the tests: one of each kind that can be written."""
import pytest

#: Every kind, with a file name for it.
KINDS = {
    "nczarr-v2": "a.nczarr",
    "nczarr-v3": "a.nczarr3",
    "zarr-v2": "a.zarr2",
    "zarr-v3": "a.zarr",
    "netcdf4": "a.nc",
    "cdf5": "a.cdf",
}


@pytest.fixture(params=list(KINDS))
def kind(request):
    return request.param


@pytest.fixture
def place(kind, tmp_path):
    return str(tmp_path / KINDS[kind])
