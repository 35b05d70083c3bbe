"""Complex numbers in netCDF's formats, by the conventions of the library nc-complex."""
import netCDF4 as original
import numpy as np
import pytest

import nczarr
from nczarr import netCDF4

VALUES = np.arange(12).reshape(4, 3) * (1 - 2j)
FORMATS = ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]


def make(module, path, format, code):
    with module.Dataset(path, "w", format=format, auto_complex=True) as file:
        file.createDimension("t")
        file.createDimension("x", 3)
        v = file.createVariable("v", code, ("t", "x"))
        v.units = "m"
        v[0:2] = VALUES[:2]
        v[2:4] = VALUES[2:]
        file.createVariable("scalar", code, ())[...] = 1 + 2j
        if format == "NETCDF4":
            group = file.createGroup("g")
            group.createVariable("w", code, ("x",))[1] = 5j
            group.createVariable("unwritten", code, ("x",))


def describe(variable):
    values = variable[...]
    parts = [values.tolist(), variable[::2, 1:].tolist(), variable[-1].tolist()] if variable.ndim == 2 else [values.tolist()]
    return str(variable.dtype), variable.dimensions, variable.shape, type(values), parts


def content(module, path, auto_complex):
    with module.Dataset(path, auto_complex=auto_complex) as file:
        places = ["v", "scalar", *(["g/w", "g/unwritten"] if file.groups else [])]
        return list(file.dimensions), {place: describe(file[place]) for place in places}


@pytest.mark.parametrize("code", ["c8", "c16"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("writer", [original, netCDF4], ids=["netCDF4", "nczarr"])
def test_both_packages_read_the_same(writer, format, code, tmp_path):
    path = str(tmp_path / "a.nc")
    make(writer, path, format, code)
    found = content(netCDF4, path, True)
    assert found == content(original, path, True)
    assert found[1]["v"][0] == np.dtype(code).name and found[1]["v"][4][0] == VALUES.tolist()
    assert content(netCDF4, path, False)[0] == content(original, path, False)[0]


@pytest.mark.parametrize("format", ["zarr-v2", "zarr-v3", "nczarr-v2", "nczarr-v3"])
def test_formats_of_zarr(format, tmp_path):
    path = str(tmp_path / "a.zarr")
    with netCDF4.Dataset(path, "w", format=format, auto_complex=True) as file:
        file.createDimension("x", 3)
        file.createVariable("v", "c8", ("x",))[:] = VALUES[1]
    with netCDF4.Dataset(path, auto_complex=True) as file:
        assert file["v"].dtype == "c8" and file["v"][:].tolist() == VALUES[1].tolist()
    with nczarr.open(path) as file:
        assert (file["v"].dtype == "c8") == (not format.startswith("nc"))


def test_names_of_the_conventions(tmp_path):
    path = str(tmp_path / "a.nc")
    pairs = [("r", "i"), ("Re", "Im"), ("real", "imaginary"), ("REAL", "IMAG"), ("realpart", "imagpart"), ("i", "r"), ("x", "y")]
    with original.Dataset(path, "w") as file:
        for code in "f4", "f8", "i4":
            for one, other in pairs:
                kind = file.createCompoundType(np.dtype([(one, code), (other, code)]), f"type_{one}_{other}_{code}")
                file.createVariable(f"{one}_{other}_{code}", kind, ())[...] = np.array((1, 2), kind.dtype)
        three = file.createCompoundType(np.dtype([("r", "f4"), ("i", "f4"), ("k", "f4")]), "three")
        file.createVariable("triple", three, ())
        for name in "complex", "ri", "_pfnc_complex", "Complex", "cplx":
            file.createDimension(name, 2)
            for code in "f4", "f8":
                file.createVariable(f"{name}_{code}", code, (name,))[:] = [1, 2]
    with original.Dataset(path, auto_complex=True) as one, netCDF4.Dataset(path, auto_complex=True) as other:
        for name, variable in one.variables.items():
            assert describe(other[name])[1:] == describe(variable)[1:], name
        assert other["realpart_imagpart_f8"][...] == other["ri_f4"][...] == 1 + 2j


@pytest.mark.parametrize("kind", ["netcdf4", "nczarr-v3", "zarr-v3"])
def test_an_assignment_never_drops_a_part(kind, tmp_path):
    with nczarr.create(str(tmp_path / "a"), kind) as file:
        file.create_dimension("x", 3)
        file.create_compound("pair", [("r", "f8"), ("i", "f8")])
        file.create_compound("other", [("a", "f8"), ("b", "f8")])
        pairs = file.create_variable("pairs", "pair", ["x"])
        pairs[:] = VALUES[1]
        assert pairs[:].tolist() == [(value.real, value.imag) for value in VALUES[1]]
        for dtype in "other", "f8", "i4":
            v = file.create_variable(f"v_{dtype}", dtype, ["x"])
            with pytest.raises(TypeError, match="complex"):
                v[:] = VALUES[1]


xr = pytest.importorskip("xarray")
DATASET = xr.Dataset({"v": (("t", "x"), VALUES), "w": (("t", "x"), VALUES, {"units": "m"})})


@pytest.mark.parametrize("chunks", [None, {"t": 1}])
@pytest.mark.parametrize("reader, writer", [("nczarr", "netcdf4"), ("netcdf4", "nczarr"), ("nczarr", "nczarr")])
@pytest.mark.parametrize("code", ["c8", "c16"])
def test_the_engine_for_xarray(reader, writer, chunks, code, tmp_path):
    path = str(tmp_path / "a.nc")
    expected = DATASET.astype(code)
    dataset = expected if chunks is None else expected.chunk(chunks)
    dataset.to_netcdf(path, engine=writer, auto_complex=True)
    with xr.open_dataset(path, engine=reader, auto_complex=True, chunks=chunks) as found:
        assert found["w"].dtype == code
        assert np.array_equal(found["w"].isel(t=[3, 0], x=slice(None, None, -2)), VALUES[[3, 0], ::-2])
        xr.testing.assert_identical(found.load(), expected)
    with nczarr.open(path) as file:
        assert file["v"].dtype.names == ("r", "i")
        assert list(file.types) == [f"_PFNC_{'FLOAT' if code == 'c8' else 'DOUBLE'}_COMPLEX_TYPE"]


def test_the_engine_without_complex_numbers(tmp_path):
    path = str(tmp_path / "a.nc")
    with pytest.raises(TypeError, match="'v' in format NETCDF4.*auto_complex=True"):
        DATASET.to_netcdf(path, engine="nczarr")
    for format in "NETCDF3_64BIT", "NETCDF4_CLASSIC":
        with pytest.raises(TypeError, match="'v'"):
            DATASET.to_netcdf(path, engine="nczarr", auto_complex=True, format=format)
    DATASET.to_netcdf(path, engine="nczarr", auto_complex=True)
    with xr.open_dataset(path, engine="nczarr") as found:
        assert found["v"].dtype.names == ("r", "i")


def test_fill_values_and_groups_of_complex_numbers(tmp_path):
    path = str(tmp_path / "a.nc")
    tree = xr.DataTree.from_dict({"/": DATASET, "/g": DATASET * 2})
    encoding = {"/": {"v": {"_FillValue": np.complex128(-1j)}}}
    for name, group in tree.children.items():
        DATASET.to_netcdf(path, engine="nczarr", auto_complex=True, encoding=encoding["/"])
        group.to_dataset().to_netcdf(path, engine="nczarr", auto_complex=True, mode="a", group=name)
    with nczarr.open(path) as file:
        assert file["v"].fill_value.item() == (0, -1)
    found = xr.open_datatree(path, engine="nczarr", auto_complex=True)
    xr.testing.assert_equal(found["g"].to_dataset().load(), DATASET * 2)
    found.close()
