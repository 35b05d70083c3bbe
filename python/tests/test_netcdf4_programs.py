"""Programs that use the package netCDF4 run on ours."""

import subprocess
import sys

import numpy as np
import pytest

from nczarr import netCDF4

_XARRAY = """
import sys
from nczarr import netCDF4
netCDF4.__name__ = "netCDF4"
sys.modules["netCDF4"] = netCDF4
import numpy as np, pickle, xarray
path, format = sys.argv[1:]
times = np.array(["2000-01-01", "2000-01-02", "2000-01-03"], "M8[ns]")
whole = xarray.Dataset(
    {"t": (("time", "x"), np.array([[0, 1, 2, np.nan]] * 3)), "s": ("x", list("abcd")), "i": ("x", np.arange(4))},
    coords={"time": times}, attrs={"title": "x", "number": 1},
)
encoding = {"t": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1, "zlib": True}}
whole.to_netcdf(path, engine="netcdf4", format=format, encoding=encoding, unlimited_dims=["time"])
with xarray.open_dataset(path, engine="netcdf4", chunks={}) as lazy:
    xarray.testing.assert_allclose(pickle.loads(pickle.dumps(lazy)).load(), whole)
    assert lazy.t.encoding["dtype"] == "i2" and lazy.attrs == whole.attrs
print("equal")
"""


@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_64BIT"])
def test_xarray_writes_and_reads(tmp_path, format):
    command = [sys.executable, "-c", _XARRAY, str(tmp_path / "a.nc"), format]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "equal\n", done.stderr


CDL = """netcdf a {
dimensions:
\tx = 3 ;
variables:
\tint x(x) ;
\tshort v(x) ;
\t\tv:units = "m" ;
data:

 x = 1, 2, 3 ;

 v = 4, _, 6 ;
}
"""


def test_cdl(tmp_path):
    text, made = tmp_path / "a.cdl", tmp_path / "made.nc"
    text.write_text(CDL)
    with netCDF4.Dataset.fromcdl(text, made, format="NETCDF3_CLASSIC") as file:
        assert file.filepath() == str(made) and file.data_model == "NETCDF3_CLASSIC"
        assert file["v"][:].tolist() == [4, None, 6] and file["v"].units == "m"
        header, coordinates, everything = file.tocdl(), file.tocdl(coordvars=True), file.tocdl(data=True)
        assert "data:" not in header and "x = 1, 2, 3" in coordinates and "v = 4, _, 6" not in coordinates
        assert "v = 4, _, 6" in everything
        file.tocdl(data=True, outfile=tmp_path / "b.cdl")
        assert (tmp_path / "b.cdl").read_text() == everything


def test_wrong_arguments_of_cdl(tmp_path):
    (tmp_path / "a.cdl").write_text(CDL)
    (tmp_path / "wrong.cdl").write_text("netcdf a { no text }")
    with pytest.raises(FileExistsError):
        netCDF4.Dataset.fromcdl(tmp_path / "a.cdl", tmp_path / "a.cdl")
    with pytest.raises(FileNotFoundError, match="absent"):
        netCDF4.Dataset.fromcdl(tmp_path / "absent.cdl")
    with pytest.raises(ValueError, match="format"):
        netCDF4.Dataset.fromcdl(tmp_path / "a.cdl", format="NETCDF9")
    with pytest.raises(OSError, match="wrong.cdl:1"):
        netCDF4.Dataset.fromcdl(tmp_path / "wrong.cdl")
    assert not (tmp_path / "wrong.nc").exists()


def test_a_url_with_append_keeps_the_data(tmp_path):
    """The file system has no file of a URL's name, and yet the dataset is not replaced."""
    place = f"file://{tmp_path}/a.zarr#mode=nczarr,file"
    for number in range(3):
        with netCDF4.Dataset(place, "a") as file:
            if not file.dimensions:
                file.createDimension("t")
                file.createVariable("v", "i4", ("t",))
            file["v"][number] = number
    with netCDF4.Dataset(place) as file:
        assert file["v"][:].tolist() == [0, 1, 2]


def test_a_dataset_without_references_is_closed(tmp_path):
    path = str(tmp_path / "a.nc")
    file = netCDF4.Dataset(path, "w", keepweakref=True)
    file.createDimension("x", 2)
    variable = file.createVariable("v", "i4", ("x",))
    variable[:] = [1, 2]
    del file
    with pytest.raises(RuntimeError):
        variable[:]
    with netCDF4.Dataset(path) as file:
        assert file["v"][:].tolist() == [1, 2]


def test_long_strings_are_cut_with_a_warning(tmp_path):
    with netCDF4.Dataset(str(tmp_path / "a.nc"), "w") as file:
        file.createDimension("n", 3)
        variable = file.createVariable("v", "S1", ("n",))
        variable._Encoding = "utf-8"
        with pytest.warns(UserWarning, match="is cut"):
            variable[:] = np.array("abcdef")
        assert variable[:] == "abc"


def test_numbers_that_do_not_fit_an_attribute_are_an_error(tmp_path):
    with netCDF4.Dataset(str(tmp_path / "a.nc"), "w", format="NETCDF3_CLASSIC") as file:
        file.small = np.int64(5)
        with pytest.raises(OverflowError, match="large"):
            file.large = np.int64(2**40)
        assert file.ncattrs() == ["small"]
