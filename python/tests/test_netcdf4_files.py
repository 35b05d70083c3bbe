"""Opening, definitions, layouts and errors: ours does what the package netCDF4 does."""

import os

import numpy as np
import pytest
from conftest import KINDS
from netcdf4_pair import FORMATS, MODULES, difference, outcome, pair  # noqa: F401

from nczarr import netCDF4 as ours

LAYOUTS = [
    {},
    {"zlib": True},
    {"compression": "zlib", "complevel": 9, "shuffle": False},
    {"compression": "zlib", "complevel": 0},
    {"fletcher32": True},
    {"compression": "bzip2", "complevel": 3},
    {"compression": "zstd", "fletcher32": True},
    {"compression": "szip", "szip_coding": "ec", "szip_pixels_per_block": 4},
    {"compression": "szip"},
    {"compression": "blosc_lz4", "blosc_shuffle": 2},
    {"compression": "blosc_zstd", "complevel": 1},
    {"chunksizes": (2, 5)},
    {"contiguous": True},
    {"endian": "big"},
    {"endian": "little", "zlib": True},
    {"least_significant_digit": 2, "zlib": True},
    {"significant_digits": 3},
    {"significant_digits": 4, "quantize_mode": "GranularBitRound"},
    {"significant_digits": 9, "quantize_mode": "BitRound"},
]
WRONG_LAYOUTS = [
    {"contiguous": True, "chunksizes": (2, 5)},
    {"compression": "none such"},
    {"endian": "middle"},
    {"chunksizes": (99, 99)},
    {"chunksizes": (1,)},
    {"significant_digits": 3, "quantize_mode": "x"},
    {"compression": "szip", "szip_coding": "x"},
]


@pytest.mark.parametrize("format", FORMATS)
def test_layouts(pair, format):  # noqa: F811
    def program(module, path):
        values = np.random.default_rng(1).uniform(size=(8, 10)) * 100
        found = []
        with module.Dataset(path, "w", format=format) as file:
            file.createDimension("y", 8)
            file.createDimension("x", 10)
            for number, layout in enumerate(LAYOUTS):
                for code in ("f8", "i4"):
                    name = f"v{number}{code}"
                    result = outcome(lambda: file.createVariable(name, code, ("y", "x"), **layout) and None)
                    found.append((repr(layout), result))
                    if result[0] == "raises":
                        continue
                    variable = file[name]
                    variable[:] = values
                    found.append(
                        [variable.filters(), variable.endian(), outcome(variable.quantization), str(variable.dtype)]
                    )
                    if layout:
                        found.append(variable.chunking() if "chunksizes" in layout or "contiguous" in layout else None)
        return found

    pair.run(program)


@pytest.mark.parametrize("format", FORMATS)
def test_wrong_layouts(pair, format):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w", format=format) as file:
            file.createDimension("y", 8)
            file.createDimension("x", 10)
            return [
                outcome(lambda: file.createVariable(f"v{number}", "f4", ("y", "x"), **layout) and None)
                for number, layout in enumerate(WRONG_LAYOUTS)
            ]

    # The other package leaves variables of wrong layouts in the file.
    pair.run(program, files=False)


def test_definitions(pair):  # noqa: F811
    def program(module, path):
        found = []
        with module.Dataset(path, "w") as file:
            file.createDimension("x", 3)
            file.createVariable("/a/b/v", "f4", "x")
            file.createVariable("w", np.int16, ("x",))
            group = file.createGroup("/a/c")
            group.createDimension("x", 5)
            group.createVariable("x", "i8", ("x",))
            for action in (
                lambda: file["/a/b/v"].shape,
                lambda: file["a/c/x"].shape,
                lambda: file["absent"],
                lambda: file["a/b"].path,
                lambda: file.createDimension("x", 4),
                lambda: file.createVariable("w", "f4", ("x",)),
                lambda: file.createVariable("q", "f4", ("absent",)),
                lambda: file.createVariable("q", "c16", ("x",)),
                lambda: file.createVariable("q", "no type", ("x",)),
                lambda: file.createVariable("q", "M8[s]", ("x",)),
                lambda: file.renameDimension("x", "y"),
                lambda: file["w"].dimensions,
                lambda: list(file.dimensions),
                lambda: file.renameVariable("w", "ww"),
                lambda: list(file.variables),
                lambda: file["ww"].name,
                lambda: file.renameGroup("a", "aa"),
                lambda: list(file.groups),
                lambda: file.renameVariable("absent", "z"),
                lambda: file.renameDimension("absent", "z"),
                lambda: file.renameGroup("absent", "z"),
                lambda: list(file),
                lambda: "ww" in file,
                lambda: file["aa"].close(),
                lambda: len(file["ww"]),
                lambda: file["ww"].size,
                lambda: file["ww"].ndim,
                lambda: file["aa"].parent.path,
                lambda: file.parent,
                lambda: file.name,
                lambda: file["aa/b"].name,
                lambda: [dim.name for dim in file["ww"].get_dims()],
                lambda: file.data_model,
                lambda: file["aa/c/x"].group().path,
                lambda: file.disk_format,
                lambda: file.isopen(),
                lambda: [v.name for v in file.get_variables_by_attributes(units="m")],
            ):
                found.append(outcome(action))
        found.append(outcome(lambda: file.isopen()))
        found.append(outcome(file.close))
        return found

    pair.run(program)


@pytest.mark.parametrize("name", MODULES)
def test_modes(tmp_path, name):
    Dataset, path = MODULES[name].Dataset, str(tmp_path / "a.nc")
    with pytest.raises(FileNotFoundError):
        Dataset(path)
    with Dataset(path, "a") as file:
        file.createDimension("x", 1)
    for mode, kwargs in (("x", {}), ("w", {"clobber": False})):
        with pytest.raises(OSError):
            Dataset(path, mode, **kwargs)
    for mode in ("r+", "a", "as", "r+s"):
        with Dataset(path, mode) as file:
            file.createDimension(f"x{mode}", 1)
    with Dataset(path, "rs") as file:
        assert list(file.dimensions) == ["x", "xr+", "xa", "xas", "xr+s"]
        with pytest.raises((RuntimeError, OSError, AttributeError)):
            file.title = "no"
    with Dataset(path, "w") as file:
        assert not file.dimensions
    for arguments in (("q",), ("w", True, "NETCDF9"), ("a", True, "NETCDF4", False, False, False, b"x")):
        with pytest.raises((ValueError, OSError)):
            Dataset(path, *arguments)
    with pytest.raises(ValueError):
        Dataset(path, parallel=True)
    with pytest.raises(OSError):
        Dataset(__file__)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("writer, reader", [("ours", "real"), ("real", "ours"), ("ours", "ours")])
def test_memory(format, writer, reader):
    file = MODULES[writer].Dataset("memory.nc", "w", memory=1000, format=format)
    file.createDimension("x", 3)
    file.createVariable("v", "i4", ("x",))[:] = [1, 2, 3]
    content = file.close()
    assert isinstance(content, memoryview) and not os.path.exists("memory.nc")
    with MODULES[reader].Dataset("any name", memory=bytes(content)) as file:
        assert file["v"][:].tolist() == [1, 2, 3] and file.data_model == format


def test_diskless(tmp_path):
    path = str(tmp_path / "a.nc")
    for persist in (False, True):
        with ours.Dataset(path, "w", diskless=True, persist=persist) as file:
            file.createDimension("x", 3)
            file.createVariable("v", "i4", ("x",))[:] = [1, 2, 3]
            assert not os.path.exists(path)
        assert os.path.exists(path) == persist
    for persist, expected in ((False, 1), (True, 9)):
        with ours.Dataset(path, "a", diskless=True, persist=persist) as file:
            file["v"][0] = 9
        with ours.Dataset(path, diskless=True) as file:
            assert file["v"][0] == expected
    assert os.listdir(tmp_path) == ["a.nc"]


def test_joined_datasets(tmp_path):
    def write(folder, module):
        paths = []
        for number in range(3):
            paths.append(str(folder / f"{number}.nc"))
            with module.Dataset(paths[-1], "w", format="NETCDF4_CLASSIC") as file:
                file.createDimension("t")
                file.createDimension("x", 2)
                file.title = f"part {number}"
                time = file.createVariable("t", "f8", ("t",))
                time.units, time.calendar = f"days since 2000-01-0{number + 1}", "standard"
                time[:] = np.arange(number + 1)
                values = file.createVariable("v", "f4", ("t", "x"), fill_value=-1)
                values[:] = np.arange(2 * (number + 1)).reshape(-1, 2) - (number == 1)
                file.createVariable("fixed", "i2", ("x",))[:] = [1, 2]
        return paths

    found = {}
    for name, module in MODULES.items():
        folder = tmp_path / name
        folder.mkdir()
        paths = write(folder, module)
        with module.MFDataset(paths, check=True) as file:
            keys = (
                ...,
                0,
                -1,
                slice(1, 5),
                slice(None, None, 2),
                [0, 3, 5],
                (slice(None), 1),
                (4, 0),
                (slice(2, 4), slice(0, 1)),
            )
            time = module.MFTime(file.variables["t"])
            found[name] = [
                [outcome(lambda key=key: file.variables["v"][key]) for key in keys],
                [outcome(lambda: time[:]), time.units, time.calendar],
                file.title,
                file.variables["v"].shape,
                len(file.dimensions["t"]),
                outcome(lambda: file.variables["fixed"][:]),
                file.data_model,
                file.ncattrs(),
            ]
        found[name] += [outcome(lambda: module.MFDataset([])), outcome(lambda: module.MFDataset(paths, aggdim="none"))]
    text = difference(found["ours"], found["real"])
    assert text is None, text


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_the_engine(tmp_path, kind):
    """The classes work on every kind: by a URL, or by the name of the kind."""
    path = str(tmp_path / KINDS[kind])
    urls = {"nczarr-v2": "#mode=nczarr,file", "zarr-v3": "#mode=zarr,v3,file"}
    formats = {"netcdf4": "NETCDF4", "cdf5": "NETCDF3_64BIT_DATA"}
    place = f"file://{path}{urls[kind]}" if kind in urls else path
    values = np.ma.masked_array(np.arange(12).reshape(3, 4), mask=np.arange(12).reshape(3, 4) % 5 == 0)
    with ours.Dataset(place, "w", format=formats.get(kind, "NETCDF4" if kind in urls else kind)) as file:
        file.createDimension("t", 3)
        file.createDimension("x", 4)
        file.title = "kinds"
        variable = file.createVariable("v", "i2", ("t", "x"), fill_value=-9, zlib=True)
        variable.scale_factor = 0.5
        variable[:] = values
    with ours.Dataset(place) as file:
        assert (file.title, file["v"].dtype, file["v"].get_fill_value()) == ("kinds", np.dtype("i2"), -9)
        assert file["v"][:].tolist() == values.astype("f8").tolist()
        file.set_auto_maskandscale(False)
        assert file["v"][0].tolist() == [-9, 2, 4, 6] and file["v"][:].dtype == np.dtype("i2")
