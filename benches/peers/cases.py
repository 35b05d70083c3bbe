"""Defines the cases: operation, runners and input of each.

Some runners lack some cases. Such a runner prints a skip line.
"""
import dataclasses

SIZES = {"small": (32, 256, 256), "32": (128, 256, 256), "128": (128, 512, 512), "512": (512, 512, 512)}
CODECS = ["none", "deflate5s", "zlib5", "zstd3", "zstd3s", "blosclz4", "blosczstdbit"]
ZARR = ["zarrs", "tensorstore", "zarr-zarrs", "zarr-python"]
NETCDF = ["netcdf-c", "netcdf4-python"]


@dataclasses.dataclass
class Case:
    """One row of the comparison."""
    name: str
    group: str
    #: Flags for the runners.
    args: dict
    peers: list
    #: Flags of the write that makes the input; None if the case makes its own store. "_writer" names the
    #: writer; the default is zarr-python.
    input: dict = None


def commas(shape):
    return ",".join(str(n) for n in shape)


def fitting(chunk, shape):
    return tuple(min(a, b) for a, b in zip(chunk, shape))


def peers(format, codec):
    """Returns the runners that support a format and codec."""
    found = ["floor"] + ZARR
    if codec in ("deflate5s", "zstd3s"):
        found.remove("tensorstore")
    return found + NETCDF if format == "v2" else found


def cases(size, chunks=None, dtype="f4"):
    """Returns all cases for a cube of this named size and element type.

    `chunks` replaces the grid of 64 cubed. The cube has the same shape for every type.
    """
    cube = SIZES[size]
    grids = {"64": chunks or (64,) * 3, "128": (128,) * 3, "slab": (1,) + cube[1:]}
    grids = {name: fitting(grid, cube) for name, grid in grids.items()}
    arrays = {}
    for format in ("v2", "v3", "v3s"):
        for codec in CODECS:
            for name, grid in grids.items():
                if name != "64" and (format == "v3s" or codec in ("zlib5", "zstd3s")):
                    continue
                array = {"format": format, "codec": codec, "shape": commas(cube), "chunks": commas(grid), "dtype": dtype}
                if format == "v3s":
                    # Chunks of 64 cubed are too large for partial reads of a shard.
                    array["chunks"] = commas(fitting((32,) * 3, cube))
                    array["shards"] = commas(fitting((128, 256, 256), cube))
                arrays[format, codec, name] = array
    yield from whole(arrays)
    yield from hdf5(cube, grids["64"])
    yield from slabs(arrays)
    yield from many({"small": 5000, "32": 5000, "128": 20000, "512": 100000}[size])
    yield from metadata({"small": 300, "32": 2000, "128": 2000, "512": 10000}[size])
    yield from append({"small": 200, "32": 1000, "128": 1000, "512": 10000}[size])
    yield from archives(arrays)
    yield from object_stores(arrays)
    yield from classic(cube)
    yield from conversion(cube, grids["64"])


def whole(arrays):
    for (format, codec, grid), array in arrays.items():
        able = peers(format, codec)
        yield Case(f"write/{format}/{codec}/{grid}", "whole", dict(array, op="write"), able)
        yield Case(f"read/{format}/{codec}/{grid}", "whole", dict(array, op="read"), able, array)


def hdf5(cube, grid):
    for codec in ("none", "deflate5s"):
        array = {"format": "h5", "codec": codec, "shape": commas(cube), "chunks": commas(grid), "dtype": "f4"}
        yield Case(f"write/h5/{codec}/64", "hdf5", dict(array, op="write"), ["netcdf-c", "h5py"])
        yield Case(f"read/h5/{codec}/64", "hdf5", dict(array, op="read"), ["netcdf-c", "h5py"],
                   dict(array, _writer="netcdf-c"))


def slabs(arrays):
    kinds = [("v2", "none"), ("v2", "zlib5"), ("v2", "zstd3"), ("v3", "zstd3"), ("v3", "blosclz4"), ("v3s", "zstd3"),
             ("v3s", "none")]
    for format, codec in kinds:
        array, able = arrays[format, codec, "64"], peers(format, codec)
        for op, count in (("elem", 200), ("row", 50), ("box", 50), ("series", 20)):
            for mode in ("cold", "open", "warm"):
                args = dict(array, op=op, mode=mode, count=count, cache=512 << 20)
                yield Case(f"{op}-{mode}/{format}/{codec}", "slab", args, able, array)
        for name, stride in (("vars2", "2,2,2"), ("vars8x", "1,1,8")):
            yield Case(f"{name}/{format}/{codec}", "slab", dict(array, op="vars", stride=stride), able, array)


def many(count):
    for format in ("v2", "v3", "v3s"):
        array = {"format": format, "codec": "none", "shape": f"{count},16,16", "chunks": "1,16,16", "dtype": "f4"}
        if format == "v3s":
            array["shards"] = "1000,16,16"
        able = peers(format, "none")
        yield Case(f"manychunks-write/{format}", "chunks", dict(array, op="write"), able)
        yield Case(f"manychunks-read/{format}", "chunks", dict(array, op="read"), able, array)
        yield Case(f"manychunks-list/{format}", "chunks", dict(array, op="list"),
                   ["zarrs", "tensorstore", "zarr-python"], array)
        yield Case(f"manychunks-open/{format}", "chunks", dict(array, op="open", count=20), able, array)


def metadata(nvars):
    for format in ("v2", "v3"):
        args, able = {"format": format, "nvars": nvars, "shape": "1"}, peers(format, "none")
        write = dict(args, op="meta_write")
        yield Case(f"meta-write/{format}", "meta", write, able)
        yield Case(f"meta-open/{format}", "meta", dict(args, op="meta_open"), able, write)
        yield Case(f"meta-open-consolidated/{format}", "meta", dict(args, op="meta_open", consolidated=True),
                   [peer for peer in able if peer != "tensorstore"], dict(write, consolidated=True))
    for format in ("h5", "cdf5"):
        args = {"format": format, "nvars": nvars, "shape": "1"}
        yield Case(f"meta-write/{format}", "meta", dict(args, op="meta_write"), ["netcdf-c"])
        yield Case(f"meta-open/{format}", "meta", dict(args, op="meta_open"), ["netcdf-c"],
                   dict(args, op="meta_write", _writer="netcdf-c"))


def append(count):
    for format in ("v2", "v3", "h5"):
        for chunk in ("1,64,64", "64,64,64"):
            args = {"format": format, "codec": "none", "shape": f"{count},64,64", "chunks": chunk, "dtype": "f4"}
            yield Case(f"append/{format}/{chunk}", "append", dict(args, op="append", count=count),
                       ["netcdf-c"] if format == "h5" else peers(format, "none"))


def archives(arrays):
    for codec in ("none", "zstd3"):
        array = dict(arrays["v2", codec, "64"], store="zip")
        yield Case(f"zip-write/v2/{codec}", "zip", dict(array, op="write"), ["zarr-python", "zarr-zarrs"])
        yield Case(f"zip-read/v2/{codec}", "zip", dict(array, op="read"), ZARR, array)
        yield Case(f"zip-elem/v2/{codec}", "zip", dict(array, op="elem", count=100), ZARR, array)


def object_stores(arrays):
    """Returns the cases on S3. Inputs are in a folder, and a server with a delay per request serves them."""
    able = ["zarrs", "tensorstore"]
    for format in ("v2", "v3", "v3s"):
        array = arrays[format, "zstd3", "64"]
        there = dict(array, store="s3")
        yield Case(f"s3-read/{format}/zstd3", "s3", dict(there, op="read"), ["floor"] + able, array)
        yield Case(f"s3-elem-cold/{format}/zstd3", "s3", dict(there, op="elem", mode="cold", count=5), able, array)
        yield Case(f"s3-box-open/{format}/zstd3", "s3", dict(there, op="box", mode="open", count=5), able, array)
    for format in ("v2", "v3"):
        args = {"format": format, "nvars": 200, "shape": "1"}
        there, write = dict(args, store="s3"), dict(args, op="meta_write")
        yield Case(f"s3-meta-open/{format}", "s3", dict(there, op="meta_open"), able, write)
        yield Case(f"s3-meta-open-consolidated/{format}", "s3", dict(there, op="meta_open", consolidated=True),
                   ["zarrs"], dict(write, consolidated=True))


def classic(cube):
    args = {"format": "cdf5", "codec": "none", "shape": commas(cube), "dtype": "f4"}
    written = dict(args, op="write", _writer="netcdf-c")
    yield Case("write/cdf5", "classic", dict(args, op="write"), NETCDF + ["scipy"])
    yield Case("read/cdf5", "classic", dict(args, op="read"), NETCDF, written)
    yield Case("row/cdf5", "classic", dict(args, op="row", count=2000), NETCDF, written)
    yield Case("vars2/cdf5", "classic", dict(args, op="vars"), NETCDF, written)


def conversion(cube, grid):
    for format in ("v2", "v3"):
        array = {"format": format, "codec": "none", "shape": commas(cube), "chunks": commas(grid), "dtype": "i2"}
        yield Case(f"conv-i2-f64/{format}", "conv", dict(array, op="conv"), peers(format, "none"), array)
    array = {"format": "v2", "codec": "none", "shape": commas(cube), "chunks": commas(grid), "dtype": ">f4"}
    yield Case("read-bigendian/v2", "conv", dict(array, op="read"), peers("v2", "none"), array)
