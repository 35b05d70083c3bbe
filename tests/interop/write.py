"""Writes datasets with other libraries for `interop read`, and a list of their contents.

usage: write.py DIR
"""

import json
import sys
import warnings
from pathlib import Path

import netCDF4
import numpy
import tensorstore
import xarray
import zarr
from numcodecs import BZ2, LZ4, LZMA, Blosc, Fletcher32, GZip, Shuffle, Zlib, Zstd
from numcodecs.checksum32 import CRC32, CRC32C, Adler32, JenkinsLookup3
from zarr.codecs import (
    BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec, numcodecs,
)

NAMES = {
    "i1": "byte", "u1": "ubyte", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint",
    "i8": "int64", "u8": "uint64", "f4": "float", "f8": "double",
}


def type_of(values):
    return NAMES[numpy.asarray(values).dtype.str[1:]]


def items(values):
    """Returns numbers for JSON, with NaN and infinities as text."""
    flat = numpy.asarray(values).ravel()
    if flat.dtype.kind == "f":
        return [float(item) if numpy.isfinite(item) else str(float(item)).replace("nan", "NaN") for item in flat]
    return [int(item) for item in flat]


def att(name, values, type=None):
    if isinstance(values, str):
        return {"name": name, "type": type or "char", "values": [values] if type == "string" else values}
    if isinstance(values, list) and values and isinstance(values[0], str):
        return {"name": name, "type": "string", "values": values}
    return {"name": name, "type": type or type_of(values), "values": items(values)}


def dim(name, len, unlimited=False):
    return {"name": name, "len": len, "unlimited": unlimited}


def var(name, dims, values, atts=(), type=None):
    if type in ("string", "char"):
        values = "".join(values) if type == "char" else list(values)
    else:
        type, values = type or type_of(values), items(values)
    return {"name": name, "type": type, "dims": list(dims), "atts": list(atts), "values": values}


def group(dims=(), atts=(), vars=(), groups=()):
    return {"dims": list(dims), "atts": list(atts), "vars": list(vars), "groups": list(groups)}


def numbers():
    """Yields five values of each number type."""
    for dtype in NAMES:
        if dtype[0] == "f":
            yield dtype, numpy.array([numpy.finfo(dtype).min, -0.5, 0.1, numpy.inf, numpy.nan], dtype)
        else:
            info = numpy.iinfo(dtype)
            yield dtype, numpy.array([info.min, 1, 2, info.max - 1, info.max], dtype)


def with_netcdf_c(path, mode):
    dataset = netCDF4.Dataset(f"file://{path}#mode={mode},file", "w")
    dims, atts, variables = [], [], []
    dataset.createDimension("time", None)
    dataset.createDimension("x", 5)
    dataset.createDimension("wide", 90)
    unlimited = mode == "nczarr"
    dataset.setncattr("title", "größe 日本")
    # The binding writes text beyond ASCII as a string.
    atts.append(att("title", "größe 日本", "string" if mode == "nczarr" else "char"))
    for dtype, values in numbers():
        # Plain Zarr records no types of attributes. A reader derives them from the number.
        limit = values[1:2] if mode == "nczarr" else values[1:2].astype("f8" if dtype[0] == "f" else "i4")
        for order in "<>":
            name = f"{NAMES[dtype]}_{'little' if order == '<' else 'big'}"
            endian = "little" if order == "<" else "big"
            made = dataset.createVariable(name, order + dtype, ("x",), endian=endian, chunksizes=(2,))
            made[:] = values
            made.setncattr("limit", values[1])
            variables.append(var(name, ["x"], values, [att("limit", limit)]))
    for name, options in {
        "shuffled": {"zlib": True, "complevel": 4, "shuffle": True},
        "checked": {"fletcher32": True},
        "zstd": {"compression": "zstd", "complevel": 3, "shuffle": False},
        # netCDF-C refuses chunks that compression does not shrink, so these are large.
        "blosc": {"compression": "blosc_lz4", "blosc_shuffle": 1, "chunksizes": (4, 90)},
    }.items():
        values = (numpy.arange(360, dtype="f4") / 8).reshape(4, 90)
        made = dataset.createVariable(name, "f4", ("time", "wide"), **{"chunksizes": (3, 40)} | options)
        made[0:4] = values
        variables.append(var(name, ["time", "wide"], values))
    scalar = dataset.createVariable("scalar", "i4", ())
    scalar[...] = 42
    # Without NCZarr's keys, a scalar reads as its stored vector.
    variables.append(var("scalar", [] if mode == "nczarr" else ["_scalar_"], numpy.array(42, "i4")))
    if mode == "nczarr":
        made = dataset.createVariable("char", "S1", ("x",))
        made[:] = numpy.array(list("ab cd"), "S1")
        variables.append(var("char", ["x"], "ab cd", type="char"))
        made = dataset.createVariable("string", str, ("x",))
        made[:] = numpy.array(["a", "größe", "c d", "日本", "e"], object)
        variables.append(var("string", ["x"], ["a", "größe", "c d", "日本", "e"], type="string"))
        made = dataset.createVariable("shuffled_string", str, ("x",), chunksizes=(3,), zlib=True, shuffle=True)
        made[:] = numpy.array(["a", "größe", "c d", "日本", "e"], object)
        variables.append(var("shuffled_string", ["x"], ["a", "größe", "c d", "日本", "e"], type="string"))
    inner = dataset.createGroup("outer").createGroup("inner")
    inner.createDimension("z", 2)
    inner.createVariable("own", "i4", ("z",))[:] = numpy.array([1, 2])
    dataset.close()
    dims = [dim("time", 4, unlimited), dim("x", 5), dim("wide", 90)]
    dims += [] if mode == "nczarr" else [dim("_scalar_", 1)]
    own = group([dim("z", 2)], vars=[var("own", ["z"], numpy.array([1, 2], "i4"))])
    outer = group(groups=[{"name": "inner", "content": own}])
    content = group(dims, atts, variables, [{"name": "outer", "content": outer}])
    return content if mode == "nczarr" else by_name(content)


def by_name(content):
    """Sorts arrays and groups by name, because there the metadata list no order."""
    content["vars"].sort(key=lambda var: var["name"].encode())
    content["groups"].sort(key=lambda group: group["name"].encode())
    seen = []
    for variable in content["vars"]:
        seen += [name for name in variable["dims"] if name not in seen]
    content["dims"].sort(key=lambda dim: seen.index(dim["name"]))
    for child in content["groups"]:
        by_name(child["content"])
    return content


def with_zarr_python(path):
    root = zarr.open_group(path, mode="w", zarr_format=2)
    root.attrs.update({"title": "größe", "count": 7, "ratio": 2.5, "list": [1, 2], "big": 5_000_000_000})
    atts = [
        att("title", "größe"), att("count", numpy.array([7], "i4")), att("ratio", numpy.array([2.5])),
        att("list", numpy.array([1, 2], "i4")), att("big", numpy.array([5_000_000_000])),
    ]
    variables = []

    def add(name, values, type=None, dtype=None, expected=None, **options):
        options = {"chunks": (2,) * values.ndim, "filters": None, "compressors": None, "fill_value": 0} | options
        array = root.create_array(name, shape=values.shape, dtype=dtype or values.dtype, **options)
        array[...] = values
        array.attrs["_ARRAY_DIMENSIONS"] = [f"{name}_{axis}" for axis in range(values.ndim)]
        dims = [f"{name}_{axis}" for axis in range(values.ndim)]
        expected = values if expected is None else expected
        # netCDF shows the fill value of a number as an attribute, unless it is the default.
        fill = [] if type == "string" else [att("_FillValue", numpy.zeros(1, expected.dtype))]
        variables.append((var(name, dims, expected, fill, type=type), values.shape))

    for dtype, values in numbers():
        add(f"little_{dtype}", values.astype("<" + dtype))
        add(f"big_{dtype}", values.astype(">" + dtype))
    grid = numpy.arange(42, dtype="i4").reshape(6, 7)
    add("order_c", grid, order="C")
    add("order_f", grid, order="F")
    add("slashes", grid, chunk_key_encoding={"name": "v2", "separator": "/"})
    add("zlib", grid, compressors=Zlib(4))
    add("gzip", grid, compressors=GZip(4))
    add("zstd", grid, compressors=Zstd(3))
    add("blosc", grid, compressors=Blosc("zstd", 5, Blosc.BITSHUFFLE))
    add("shuffle", grid, filters=[Shuffle(4)], compressors=Zlib(1))
    add("fletcher32", grid, filters=[Fletcher32()])
    add("bz2", grid, compressors=BZ2(5))
    add("lz4", grid, compressors=LZ4(3))
    add("lzma", grid, compressors=LZMA())
    add("lzma_alone", grid, compressors=LZMA(format=2, preset=1))
    add("lzma_raw", grid, compressors=LZMA(format=3, filters=[{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]))
    add("sums", grid, filters=[CRC32(), CRC32C(), Adler32(), JenkinsLookup3()])
    add("sums_elsewhere", grid, filters=[CRC32("end"), CRC32C("start"), Adler32("end")], compressors=LZMA(check=10))
    add("bool", numpy.array([True, False, True]), fill_value=False, expected=numpy.array([1, 0, 1], "u1"))
    texts = ["a", "größe", "", "日本", "e f"]
    add("unicode", numpy.array(texts, "<U6"), type="string", expected=texts, fill_value="")
    add("unicode_big", numpy.array(texts, ">U6"), type="string", expected=texts, fill_value="")
    add("bytes", numpy.array([b"ab", b"c", b"", b"def", b"x y"], "S3"), type="string",
        expected=["ab", "c", "", "def", "x y"], fill_value=b"")
    add("variable", numpy.array(texts, object), type="string", dtype=str, expected=texts, fill_value="",
        filters="auto")
    scalar = root.create_array("scalar", shape=(), dtype="f8", fill_value=0)
    scalar[...] = 0.1
    scalar.attrs["_ARRAY_DIMENSIONS"] = []
    variables.append((var("scalar", [], numpy.array(0.1), [att("_FillValue", numpy.zeros(1))]), ()))
    dims = [dim(name, len) for item, shape in sorted(variables, key=lambda pair: pair[0]["name"].encode())
            for name, len in zip(item["dims"], shape)]
    return by_name(group(dims, atts, [item for item, _ in variables]))


def with_zarr_python_v3(path):
    root = zarr.open_group(path, mode="w", zarr_format=3)
    root.attrs.update({"title": "größe", "count": 7, "ratio": 2.5, "list": [1, 2], "big": 5_000_000_000})
    atts = [
        att("title", "größe"), att("count", numpy.array([7], "i4")), att("ratio", numpy.array([2.5])),
        att("list", numpy.array([1, 2], "i4")), att("big", numpy.array([5_000_000_000])),
    ]
    variables = []

    def add(name, values, type=None, dtype=None, expected=None, **options):
        dims = [f"{name}_{axis}" for axis in range(values.ndim)]
        options = {"chunks": (2,) * values.ndim, "compressors": None, "fill_value": 0} | options
        array = root.create_array(
            name, shape=values.shape, dtype=dtype or values.dtype, dimension_names=dims, **options
        )
        array[...] = values
        expected = values if expected is None else expected
        # Every array of format 3 has a fill value, so netCDF does not show it as an attribute.
        variables.append((var(name, dims, expected, type=type), values.shape))

    for dtype, values in numbers():
        add(f"little_{dtype}", values)
        if values.itemsize > 1:
            add(f"big_{dtype}", values, serializer=BytesCodec(endian="big"))
    grid = numpy.arange(42, dtype="i4").reshape(6, 7)
    add("transposed", grid, filters=[TransposeCodec(order=(1, 0))])
    add("dots", grid, chunk_key_encoding={"name": "default", "separator": "."})
    add("keys_of_v2", grid, chunk_key_encoding={"name": "v2", "separator": "/"})
    add("gzip", grid, compressors=GzipCodec(level=4))
    add("zstd", grid, compressors=ZstdCodec(level=3))
    add("zstd_checked", grid, compressors=ZstdCodec(level=3, checksum=True))
    add("blosc", grid, compressors=BloscCodec(cname="zstd", clevel=5, shuffle="bitshuffle"))
    add("crc32c", grid, compressors=[ZstdCodec(level=3), Crc32cCodec()])
    for name in ["BZ2", "LZ4", "LZMA", "Zlib"]:
        add(f"numcodecs_{name}", grid, compressors=[getattr(numcodecs, name)()])
    shards = {"shards": (4, 4)}
    add("sharded", grid, **shards)
    add("sharded_big", grid, serializer=BytesCodec(endian="big"), **shards)
    add("sharded_zstd", grid, compressors=ZstdCodec(level=3), **shards)
    add("sharded_blosc", grid, compressors=BloscCodec(cname="lz4"), **shards)
    add("sharded_transposed", grid, filters=[TransposeCodec(order=(1, 0))], compressors=GzipCodec(), **shards)
    add("sharded_at_start", grid, chunks=(4, 6), serializer=ShardingCodec(
        chunk_shape=(2, 3), codecs=[BytesCodec(), ZstdCodec(level=1)], index_location="start"))
    add("sharded_twice", grid, chunks=(4, 4), serializer=ShardingCodec(
        chunk_shape=(2, 4), codecs=[ShardingCodec(chunk_shape=(1, 2), codecs=[BytesCodec()])]))
    sparse = numpy.zeros((6, 7), "i4")
    sparse[5, 6] = 1
    add("sharded_sparse", sparse, **shards)
    add("bool", numpy.array([True, False, True]), fill_value=False, expected=numpy.array([1, 0, 1], "u1"))
    texts = ["a", "größe", "", "日本", "e f"]
    add("unicode", numpy.array(texts, "<U6"), type="string", expected=texts, fill_value="")
    add("bytes", numpy.array([b"ab", b"c", b"", b"def", b"x y"], "S3"), type="string",
        expected=["ab", "c", "", "def", "x y"], fill_value=b"")
    add("variable", numpy.array(texts, object), type="string", dtype=str, expected=texts, fill_value="")
    add("sharded_variable", numpy.array(texts, object), type="string", dtype=str, expected=texts, fill_value="",
        shards=(4,))
    add("scalar", numpy.array(0.1))
    dims = [dim(name, len) for item, shape in sorted(variables, key=lambda pair: pair[0]["name"].encode())
            for name, len in zip(item["dims"], shape)]
    return by_name(group(dims, atts, [item for item, _ in variables]))


def with_xarray(path, consolidated, zarr_format=2):
    dataset = xarray.Dataset(
        {
            "t2m": (("time", "lat"), numpy.arange(6, dtype="f4").reshape(3, 2) / 8, {"units": "K"}),
            "count": (("time",), numpy.array([1, 2, 3], "i2")),
            "label": (("lat",), numpy.array(["north", "süd"], object)),
        },
        coords={"lat": ("lat", numpy.array([45.0, -45.5]))},
        attrs={"title": "small"},
    )
    encoding = {"t2m": {"_FillValue": None}, "lat": {"_FillValue": None}}
    dataset.to_zarr(path, mode="w", zarr_format=zarr_format, consolidated=consolidated, encoding=encoding)
    variables = [
        var("t2m", ["time", "lat"], dataset["t2m"].values, [att("units", "K")]),
        var("count", ["time"], dataset["count"].values),
        var("label", ["lat"], ["north", "süd"], type="string"),
        var("lat", ["lat"], dataset["lat"].values),
    ]
    return by_name(group([dim("time", 3), dim("lat", 2)], [att("title", "small")], variables))


def with_tensorstore_v3(path):
    zarr.open_group(path, mode="w", zarr_format=3)
    little, variables = {"name": "bytes", "configuration": {"endian": "little"}}, []
    gzip = {"name": "gzip", "configuration": {"level": 5}}
    for name, dtype, codecs in [
        ("plain", "int32", [little]),
        ("big", "float64", [{"name": "bytes", "configuration": {"endian": "big"}}]),
        ("gzip", "uint16", [little, gzip]),
        ("order_f", "int64", [{"name": "transpose", "configuration": {"order": [1, 0]}}, little]),
        ("sharded", "uint8", [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [1, 3], "codecs": [little, gzip],
            "index_codecs": [little, {"name": "crc32c"}], "index_location": "start"}}]),
    ]:
        values = numpy.arange(35).reshape(5, 7).astype(dtype)
        spec = {
            "driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/{name}/"},
            "metadata": {
                "shape": [5, 7], "data_type": dtype, "codecs": codecs, "dimension_names": ["y", "x"],
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
            },
        }
        tensorstore.open(spec, create=True, open=True).result().write(values).result()
        variables.append(var(name, ["y", "x"], values))
    return by_name(group([dim("y", 5), dim("x", 7)], vars=variables))


def with_tensorstore(path):
    zarr.open_group(path, mode="w", zarr_format=2)
    variables, dims = [], []
    for name, dtype, metadata in [
        ("blosc", "<i4", {"compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}}),
        ("zlib", ">f8", {"compressor": {"id": "zlib", "level": 5}}),
        ("zstd", "<u2", {"compressor": {"id": "zstd", "level": 3}}),
        ("order_f", ">i8", {"order": "F", "compressor": None}),
        ("slashes", "|u1", {"dimension_separator": "/", "compressor": None}),
    ]:
        values = numpy.arange(35).reshape(5, 7).astype(dtype[1:])
        spec = {
            "driver": "zarr", "kvstore": {"driver": "file", "path": f"{path}/{name}/"},
            "metadata": {"shape": [5, 7], "chunks": [2, 3], "dtype": dtype, **metadata},
        }
        tensorstore.open(spec, create=True, open=True).result().write(values).result()
        names = [f"_Anonymous_Dim_{len}" for len in values.shape]
        variables.append(var(name, names, values))
    dims = [dim("_Anonymous_Dim_5", 5), dim("_Anonymous_Dim_7", 7)]
    return by_name(group(dims, vars=variables))


def main():
    folder = Path(sys.argv[1]).resolve()
    # zarr-python warns that some types and codecs of format 3 may change. The test ignores that.
    warnings.simplefilter("ignore")
    written = []

    def add(name, write, *arguments):
        written.append({"path": name, "content": write(folder / name, *arguments)})

    add("netcdf-c.nczarr.zarr", with_netcdf_c, "nczarr")
    add("netcdf-c.zarr.zarr", with_netcdf_c, "zarr")
    add("zarr-python.zarr", with_zarr_python)
    add("xarray.zarr", with_xarray, False)
    add("xarray-consolidated.zarr", with_xarray, True)
    add("tensorstore.zarr", with_tensorstore)
    add("zarr-python.v3.zarr", with_zarr_python_v3)
    add("xarray.v3.zarr", with_xarray, False, 3)
    add("xarray-consolidated.v3.zarr", with_xarray, True, 3)
    add("tensorstore.v3.zarr", with_tensorstore_v3)
    (folder / "expected.json").write_text(json.dumps(written))
    print(f"{len(written)} datasets written by others")


if __name__ == "__main__":
    main()
