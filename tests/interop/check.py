"""Opens the datasets of `interop write` with other readers. Compares values, types, dimensions and
attributes.

usage: check.py DIR
"""

import ctypes
import fnmatch
import json
import logging
import math
import sys
import warnings
from pathlib import Path

import h5netcdf
import h5py
import netCDF4
import numpy
import tensorstore
import xarray
import zarr

DTYPES = {
    "byte": "i1", "ubyte": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "int64": "i8", "uint64": "u8", "float": "f4", "double": "f8", "char": "S1", "string": "O",
}

CHAR = "the dtype >S1, by which netCDF-C tells characters from strings, has a byte order it refuses, with the whole group"
TEXT = "text of fixed length does not open, or reads as nothing, after any writer"
FILTERS = "its driver has no filters before the compressor"
CODECS = "it has none of these codecs"
LENGTH = "numcodecs shuffles whole elements only, and a filter before made the chunk another length"
UNSIGNED = "netCDF-C reads these and wants levels without sign; it takes none above 22"
SCALAR = "release 4.10.1 does not show arrays of rank 0 of pure Zarr"

# The attribute for properties that plain Zarr lacks. Other readers see it as an ordinary attribute.
ANNOTATION = "_netcdf"

# Known differences of readers with their reasons, by patterns of (reader, dataset, object). The program
# reports an entry that matches no difference, so that outdated entries are found.
KNOWN = {
    ("zarr-python", "chars.nczarr.*", "open"): CHAR,
    ("zarr-python", "chars.consolidated.*", "open"): CHAR,
    ("xarray", "chars.nczarr.*", "open"): CHAR,
    ("xarray", "chars.consolidated.*", "open"): CHAR,
    ("tensorstore", "chars.*", "* values"): TEXT,
    ("tensorstore", "strings.*", "* values"): TEXT,
    ("tensorstore", "scalars.*", "/string values"): TEXT,
    ("tensorstore", "filters.*", "/*shuffle_* values"): FILTERS,
    ("tensorstore", "filters.*", "/fletcher32_* values"): FILTERS,
    ("tensorstore", "filters.*", "/all_* values"): FILTERS,
    ("tensorstore", "unlimited.*", "/packed values"): FILTERS,
    ("tensorstore", "chains.*", "/*_text values"): TEXT,
    ("tensorstore", "chains.*", "/*_* values"): FILTERS,
    ("tensorstore", "chains.*", "/shuffle values"): FILTERS,
    ("tensorstore", "chains.*", "/fletcher32 values"): FILTERS,
    ("zarr-python", "chains.*", "/*_shuffle* values"): LENGTH,
    ("xarray", "chains.*", "/*_shuffle* values"): LENGTH,
    ("tensorstore", "codecs.*", "* values"): CODECS,
    ("netcdf-c", "codecs.*", "open"): CODECS,
    ("netcdf-c", "negative.zarr.*", "open"): "a negative level of zstd is an illegal parameter to it",
    ("tensorstore", "negative.nczarr.*", "/zstd values"): UNSIGNED,
    ("tensorstore", "negative.consolidated.*", "/zstd values"): UNSIGNED,
    ("netcdf-c", "wide.zarr.*", "open"): "without recorded types it takes that of the first number for all",
    ("netcdf-c", "scalars.zarr.*", "/ variables"): SCALAR,
    ("netcdf-c", "chars.zarr.*", "/ variables"): SCALAR,
}

STRING = "row 7 of the table in the notes on format 3: it has not the type `string`"
NUMCODECS = "rows 15, 16 and 19 of that table: it has no codec of numcodecs"
RAW = "raw bytes in shards cannot be opened by it, after any writer"
NO_STRING = "*string data type is not one of the supported data types*"
NOT_REGISTERED = "*\"numcodecs.*\" is not registered*"

# The same for format 3, with a fourth pattern for the found value.
KNOWN_V3 = {
    ("tensorstore", "strings.*nczarr3.*", "/default values", NO_STRING): STRING,
    ("tensorstore", "strings.*nczarr3.*", "/deflated values", NO_STRING): STRING,
    ("tensorstore", "strings*[._]zarr3.*", "/* values", NO_STRING): STRING,
    ("tensorstore", "scalars*[._]zarr3.*", "/string values", NO_STRING): STRING,
    ("tensorstore", "chains.*", "/*_text values", NO_STRING): STRING,
    ("zarr-python", "strings.sharded_nczarr3.*", "open", "*writeable void-scalar*"): RAW,
    ("xarray", "strings.sharded_nczarr3.*", "open", "*writeable void-scalar*"): RAW,
    ("tensorstore", "filters.*", "/bzip2_* values", NOT_REGISTERED): NUMCODECS,
    ("tensorstore", "codecs.*", "/* values", NOT_REGISTERED): NUMCODECS,
}


# The same for HDF5.
KNOWN_HDF5 = {}

# The filters of its library without plug-ins: deflate, shuffle, fletcher32, szip.
FILTERS_OF_H5PY = (1, 2, 3, 4)


class Report:
    def __init__(self, known):
        self.known, self.passed, self.failed, self.used = known, 0, [], {}

    def check(self, reader, dataset, what, found, expected):
        if same(found, expected):
            self.passed += 1
            return
        # Other readers treat an annotated store like any plain Zarr store.
        plain = dataset.replace(".annotated.", ".zarr.").replace(".annotated3.", ".zarr3.")
        plain = plain.replace(".edited3.", ".nczarr3.")
        for pattern, why in self.known.items():
            if all(fnmatch.fnmatchcase(a, b) for a, b in zip((reader, plain, what, str(found)), pattern)):
                self.used.setdefault((pattern, why), 0)
                self.used[(pattern, why)] += 1
                return
        self.failed.append(f"{reader} {dataset} {what}: {found!r}, expected {expected!r}")

    def add(self, other):
        """Adds the results of another report."""
        self.passed += other.passed
        self.failed += other.failed
        for pattern, count in other.used.items():
            self.used[pattern] = self.used.get(pattern, 0) + count

    def finish(self, what, whole=True):
        """Prints the results. `whole`: the run covered all places of known differences."""
        known = sum(self.used.values())
        print(f"{what}: {self.passed} passed, {len(self.failed)} failed, {known} skipped")
        for (pattern, why), count in self.used.items():
            print(f"  skipped {count}: known difference of {' '.join(pattern)}: {why}")
        for pattern in self.known.keys() - {pattern for pattern, _ in self.used} if whole else ():
            self.failed.append(f"the known difference {pattern} was not met: take it off the list")
        for line in self.failed:
            print("  FAILED", line)
        return 1 if self.failed else 0


def same(found, expected):
    """Returns whether type and bits are equal. All NaNs count as equal."""
    if isinstance(expected, numpy.ndarray):
        if not isinstance(found, numpy.ndarray) or found.shape != expected.shape or found.dtype != expected.dtype:
            return False
        if expected.dtype.kind == "f":
            both_nan = numpy.isnan(found) & numpy.isnan(expected)
            equal = (found == expected) & (numpy.signbit(found) == numpy.signbit(expected))
            return bool(numpy.all(both_nan | equal))
        return bool(numpy.all(found == expected))
    if isinstance(expected, float):
        return isinstance(found, float) and (found == expected or math.isnan(found) and math.isnan(expected))
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    return type(found) is type(expected) and found == expected


def numbers(items, dtype):
    """Returns an array of a list of JSON numbers, with NaN and infinities as text."""
    return numpy.array([float(item) if isinstance(item, str) else item for item in items], dtype=dtype)


class Var:
    """An expected variable, with the path of its group."""

    def __init__(self, group, var, lengths, scalar_as_vector):
        self.group, self.name, self.type = group, var["name"], var["type"]
        self.path = f"{group}/{self.name}"
        self.dims = list(var["dims"])
        self.shape = tuple(lengths[dim] for dim in self.dims)
        # NCZarr stores a scalar as a vector of one element, with a dimension of this name.
        self.stored_dims = ["_scalar_"] if scalar_as_vector and not self.dims else self.dims
        self.stored_shape = (1,) if scalar_as_vector and not self.dims else self.shape
        self.atts = var["atts"]
        values = var["values"]
        if self.type == "char":
            self.values = numpy.frombuffer(values.encode(), "S1").reshape(self.shape)
        elif self.type == "string":
            self.values = numpy.array(values, object).reshape(self.shape)
        else:
            self.values = numbers(values, DTYPES[self.type]).reshape(self.shape)


def walk(content, scalar_as_vector, path="", lengths=None):
    """Yields every group as (path, content, variables). Groups see the dimensions of their parents."""
    lengths = dict(lengths or {}) | {dim["name"]: dim["len"] for dim in content["dims"]}
    yield path, content, [Var(path, var, lengths, scalar_as_vector) for var in content["vars"]]
    for group in content["groups"]:
        yield from walk(group["content"], scalar_as_vector, f"{path}/{group['name']}", lengths)


def is_plain(dataset):
    return dataset["flavour"] in ("zarr", "annotated", "zip", "zarr3", "sharded_zarr3", "annotated3")


def zarr_format(dataset):
    if dataset["flavour"] == "nc4":
        return 0
    return 3 if dataset["flavour"].endswith("3") else 2


def scalar_as_vector(dataset):
    """Returns whether the dataset is NCZarr of format 2. In format 3 a scalar is stored as a scalar."""
    return zarr_format(dataset) == 2 and not is_plain(dataset)


def store_of(folder, dataset):
    """Returns the store for zarr-python and xarray: a directory, or an archive."""
    path = folder / dataset["path"]
    return zarr.storage.ZipStore(path, mode="r") if dataset["flavour"] == "zip" else path


def native(array):
    """Returns the array in native byte order. Fixed bytes and other objects become text."""
    array = numpy.asarray(array)
    if array.dtype.kind == "T":
        array = array.astype(object)
    return array.astype(array.dtype.newbyteorder("=")) if array.dtype.kind not in "SO" else array


def as_text(array):
    """Returns an array of fixed bytes as an array of text."""
    texts = [bytes(item).rstrip(b"\0").decode() for item in numpy.asarray(array).ravel()]
    return numpy.array(texts, object).reshape(numpy.shape(array))


def netcdf_c(report, folder, dataset):
    if dataset["flavour"] == "zip" or zarr_format(dataset) == 3:
        return  # The wheel's library is built without archives, and no release reads format 3.
    flavour = "zarr" if is_plain(dataset) else "nczarr"
    url = f"file://{folder / dataset['path']}#mode={flavour},file"
    if not zarr_format(dataset):
        url = str(folder / dataset["path"])
    check = lambda what, found, expected: report.check("netcdf-c", dataset["path"], what, found, expected)
    root = netCDF4.Dataset(url)
    root.set_auto_maskandscale(False)
    root.set_auto_chartostring(False)
    for path, content, variables in walk(dataset["content"], False):
        group = root if not path else root[path[1:]]
        if flavour == "nczarr":
            dims = [(dim.name, len(dim), dim.isunlimited()) for dim in group.dimensions.values()]
            check(f"{path}/ dimensions", dims, [(d["name"], d["len"], d["unlimited"]) for d in content["dims"]])
        check(f"{path}/ variables", sorted(group.variables), sorted(var.name for var in variables))
        check(f"{path}/ groups", sorted(group.groups), sorted(group["name"] for group in content["groups"]))
        netcdf_c_atts(check, path + "/", group, content["atts"], flavour == "nczarr")
        for expected in variables:
            var = group.variables.get(expected.name)
            if var is None:
                continue
            dtype = "O" if var.dtype is str else numpy.dtype(var.dtype).newbyteorder("=").str.lstrip("<>|=")
            if flavour == "nczarr":
                check(f"{expected.path} type", dtype, DTYPES[expected.type])
                check(f"{expected.path} dimensions", list(var.dimensions), expected.dims)
            values = numpy.array(var[...], object) if dtype == "O" else native(numpy.array(var[...]))
            if flavour == "zarr" and expected.type == "char":
                values = numpy.array([str(item).encode() for item in values.ravel()], "S1").reshape(values.shape)
            check(f"{expected.path} values", values.reshape(expected.shape), expected.values)
            netcdf_c_atts(check, expected.path, var, expected.atts, flavour == "nczarr")
    root.close()


def netcdf_c_atts(check, place, owner, atts, typed):
    names = [name for name in owner.ncattrs() if name != ANNOTATION]
    check(f"{place} attributes", sorted(names), sorted(att["name"] for att in atts))
    for att in atts:
        if att["name"] not in owner.ncattrs():
            continue
        found, values = owner.getncattr(att["name"]), att["values"]
        if att["type"] in ("char", "string"):
            expected = values[0] if isinstance(values, list) and len(values) == 1 else values
            if not typed and isinstance(expected, list):
                # A list of strings without a recorded type reads as JSON text.
                found = json.loads(found)
        else:
            expected = numbers(values, DTYPES[att["type"]])
            found = numpy.atleast_1d(numpy.asarray(found))
            if not typed:
                found = found.astype(expected.dtype)
        check(f"{place}@{att['name']}", found, expected)


def stored_values(expected, dataset):
    """Returns the values in their stored shape. Characters of format 3 become numbers."""
    values = expected.values.reshape(expected.stored_shape)
    return values.view("u1") if expected.type == "char" and zarr_format(dataset) == 3 else values


def values_of(check, dataset, expected, read):
    """Compares the values of a variable. A failed read is a difference of this variable only."""
    try:
        values = native(read())
    except (RuntimeError, ValueError) as error:
        check(f"{expected.path} values", str(error), None)
        return
    if expected.type == "string":
        # Format 3 has text, and a scalar text is not an array.
        values = as_text(values) if values.dtype.kind in "SV" or zarr_format(dataset) == 2 else values.astype(object)
    check(f"{expected.path} values", values, stored_values(expected, dataset))


def stored_dims(array):
    """Returns the dimensions as zarr-python shows them."""
    if array.metadata.zarr_format == 2:
        return array.attrs.get("_ARRAY_DIMENSIONS")
    return list(array.metadata.dimension_names)


def hidden(name):
    return name.startswith("_nczarr_") or name in ("_ARRAY_DIMENSIONS", "_NCProperties", ANNOTATION)


def json_atts(check, place, found, atts):
    """Compares attributes as JSON, in which numbers have no type."""
    found = {name: value for name, value in found.items() if not hidden(name)}
    expected = {att["name"]: att for att in atts if not hidden(att["name"])}
    check(f"{place} attributes", sorted(found), sorted(expected))
    for name in found.keys() & expected.keys():
        att, value = expected[name], found[name]
        values = att["values"]
        if att["type"] == "char" or att["type"] == "string":
            wanted = values[0] if isinstance(values, list) and len(values) == 1 else values
        else:
            items = value if isinstance(value, list) else [value]
            value = numbers(items, DTYPES[att["type"]])
            wanted = numbers(values, DTYPES[att["type"]])
        check(f"{place}@{name}", value, wanted)


def zarr_python(report, folder, dataset):
    check = lambda what, found, expected: report.check("zarr-python", dataset["path"], what, found, expected)
    consolidated = dataset["flavour"].startswith("consolidated")
    root = zarr.open_group(
        store_of(folder, dataset), mode="r", zarr_format=zarr_format(dataset), use_consolidated=consolidated
    )
    for path, content, variables in walk(dataset["content"], scalar_as_vector(dataset)):
        group = root if not path else root[path[1:]]
        check(f"{path}/ variables", sorted(group.array_keys()), sorted(var.name for var in variables))
        check(f"{path}/ groups", sorted(group.group_keys()), sorted(group["name"] for group in content["groups"]))
        json_atts(check, path + "/", dict(group.attrs), content["atts"])
        for expected in variables:
            array = group[expected.name]
            values_of(check, dataset, expected, lambda: array[...])
            for att in expected.atts if zarr_format(dataset) == 3 else ():
                if att["name"] == "_FillValue":
                    found = numpy.array([array.fill_value], DTYPES[att["type"]])
                    check(f"{expected.path} fill value", found, numbers(att["values"], DTYPES[att["type"]]))
            check(f"{expected.path} dimensions", stored_dims(array), expected.stored_dims)
            atts = {name: value for name, value in array.attrs.items() if name != "_FillValue"}
            json_atts(check, expected.path, atts, [att for att in expected.atts if att["name"] != "_FillValue"])


def with_xarray(report, folder, dataset):
    check = lambda what, found, expected: report.check("xarray", dataset["path"], what, found, expected)
    for path, content, variables in walk(dataset["content"], scalar_as_vector(dataset)):
        group = xarray.open_dataset(
            store_of(folder, dataset), group=path or None, engine="zarr", decode_cf=False,
            consolidated=dataset["flavour"].startswith("consolidated"), zarr_format=zarr_format(dataset),
        )
        check(f"{path}/ variables", sorted(map(str, group.variables)), sorted(var.name for var in variables))
        json_atts(check, path + "/", dict(group.attrs), content["atts"])
        for expected in variables:
            array = group.variables[expected.name]
            check(f"{expected.path} dimensions", list(array.dims), expected.stored_dims)
            values_of(check, dataset, expected, lambda: array.values)
            for att in expected.atts if zarr_format(dataset) == 3 else ():
                if att["name"] == "_FillValue":
                    found = numpy.array([array.attrs.get("_FillValue")], DTYPES[att["type"]])
                    check(f"{expected.path}@_FillValue", found, numbers(att["values"], DTYPES[att["type"]]))
            atts = {name: value for name, value in array.attrs.items() if name != "_FillValue"}
            json_atts(check, expected.path, atts, [att for att in expected.atts if att["name"] != "_FillValue"])


def raw_bytes(array):
    """Returns raw bytes as characters. The binding gives the right shape and address, but items of width
    0."""
    if array.dtype != "V0" or not array.size:
        return array
    end = 1 + sum((length - 1) * stride for length, stride in zip(array.shape, array.strides))
    memory = (ctypes.c_char * end).from_address(array.ctypes.data)
    return numpy.ndarray(array.shape, "S1", buffer=memory, strides=array.strides).copy()


def with_h5py(report, folder, dataset):
    """Checks details that netCDF-C ignores: creation order, attached dimensions, and stored data."""
    check = lambda what, found, expected: report.check("h5py", dataset["path"], what, found, expected)
    root = h5py.File(folder / dataset["path"])
    for path, content, variables in walk(dataset["content"], False):
        group = root[path or "/"]
        order = group.id.get_create_plist().get_link_creation_order()
        check(f"{path}/ order", order, h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED)
        for expected in variables:
            name = expected.name
            if name in {dim["name"] for dim in content["dims"]} and expected.dims[:1] != [name]:
                name = f"_nc4_non_coord_{name}"
            array = group[name]
            order = array.id.get_create_plist().get_attr_creation_order()
            check(f"{expected.path} order", order, h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED)
            if not array.is_scale:
                scales = [[scale.name.rsplit("/", 1)[1] for scale in axis.values()] for axis in array.dims]
                check(f"{expected.path} scales", scales, [[dim] for dim in expected.dims])
            check(f"{expected.path} shape", array.shape, expected.shape)
            if expected.type == "string":
                check(f"{expected.path} values", numpy.array(array.asstr()[...], object), expected.values)
            elif all(array.id.get_create_plist().get_filter(i)[0] in FILTERS_OF_H5PY
                     for i in range(array.id.get_create_plist().get_nfilters())):
                check(f"{expected.path} values", native(numpy.asarray(array[...])), expected.values)


def with_h5netcdf(report, folder, dataset):
    """Checks dimensions, attributes and values without netCDF-C."""
    check = lambda what, found, expected: report.check("h5netcdf", dataset["path"], what, found, expected)
    with h5netcdf.File(folder / dataset["path"], "r", decode_vlen_strings=True) as root:
        for path, content, variables in walk(dataset["content"], False):
            group = root[path[1:]] if path else root
            dims = sorted((name, dim.size, dim.isunlimited()) for name, dim in group.dims.items())
            expected = sorted((dim["name"], dim["len"], dim["unlimited"]) for dim in content["dims"])
            check(f"{path}/ dimensions", dims, expected)
            check(f"{path}/ variables", sorted(group.variables), sorted(var.name for var in variables))
            check(f"{path}/ groups", sorted(group.groups), sorted(group["name"] for group in content["groups"]))
            h5netcdf_atts(check, path + "/", group.attrs, content["atts"])
            for expected in variables:
                var = group.variables[expected.name]
                check(f"{expected.path} dimensions", list(var.dimensions), expected.dims)
                h5netcdf_atts(check, expected.path, var.attrs, expected.atts)
                try:
                    values = var[...]
                except OSError as error:
                    # Like h5py, it has only the filters of the library.
                    check(f"{expected.path} values", str(error), None)
                    continue
                values = numpy.array(values, object) if expected.type == "string" else native(numpy.asarray(values))
                check(f"{expected.path} values", values.reshape(expected.shape), expected.values)


def h5netcdf_atts(check, place, found, atts):
    names = {name for name in found if not hidden(name)}
    check(f"{place} attributes", sorted(names), sorted(att["name"] for att in atts if not hidden(att["name"])))
    for att in atts:
        if att["name"] not in names:
            continue
        value, values = found[att["name"]], att["values"]
        if att["type"] in ("char", "string"):
            texts = [value] if isinstance(value, (str, bytes)) else list(value)
            # netCDF's text has the character set ASCII in the file.
            texts = [text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text for text in texts]
            texts = [text.decode() for text in texts]
            check(f"{place}@{att['name']}", texts, values if isinstance(values, list) else [values])
        else:
            check(f"{place}@{att['name']}", numpy.atleast_1d(value), numbers(values, DTYPES[att["type"]]))


def with_tensorstore(report, folder, dataset):
    check = lambda what, found, expected: report.check("tensorstore", dataset["path"], what, found, expected)
    for _, _, variables in walk(dataset["content"], scalar_as_vector(dataset)):
        for expected in variables:
            kvstore = {"driver": "file", "path": f"{folder / dataset['path']}{expected.path}/"}
            if dataset["flavour"] == "zip":
                archive = {"driver": "file", "path": str(folder / dataset["path"])}
                kvstore = {"driver": "zip", "base": archive, "path": f"{expected.path[1:]}/"}
            try:
                driver = "zarr3" if zarr_format(dataset) == 3 else "zarr"
                store = tensorstore.open({"driver": driver, "kvstore": kvstore}, open=True, read=True).result()
                values = native(raw_bytes(store.read().result()))
            except ValueError as error:
                check(f"{expected.path} values", str(error), None)
                continue
            if expected.type == "string" or expected.type == "char" and zarr_format(dataset) == 2:
                # Characters of text form one more dimension.
                width = values.shape[-1] if values.ndim > len(expected.stored_shape) else 1
                values = numpy.ascontiguousarray(values).view(f"S{width}").reshape(expected.stored_shape)
                values = as_text(values) if expected.type == "string" else values
            check(f"{expected.path} values", values, stored_values(expected, dataset))


READERS = {
    "netcdf-c": netcdf_c, "zarr-python": zarr_python, "xarray": with_xarray, "tensorstore": with_tensorstore,
}
READERS_OF_HDF5 = {"netcdf-c": netcdf_c, "h5py": with_h5py, "h5netcdf": with_h5netcdf}


def main():
    folder = Path(sys.argv[1]).resolve()
    reports = {2: Report(KNOWN), 3: Report(KNOWN_V3), 0: Report(KNOWN_HDF5)}
    # The program reports failures itself, so the readers' own messages are hidden.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    for dataset in json.loads((folder / "expected.json").read_text()):
        report = reports[zarr_format(dataset)]
        for name, reader in (READERS if zarr_format(dataset) else READERS_OF_HDF5).items():
            try:
                reader(report, folder, dataset)
            except Exception as error:
                report.check(name, dataset["path"], "open", f"{type(error).__name__}: {error}", None)
    formats = {2: "format 2", 3: "format 3", 0: "HDF5"}
    return max([report.finish(f"others read what nczarr wrote in {formats[at]}") for at, report in reports.items()])


if __name__ == "__main__":
    sys.exit(main())
