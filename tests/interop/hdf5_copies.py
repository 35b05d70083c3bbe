"""Copies the HDF5 datasets of the corpus with `ncz copy`, and lets netCDF-C, h5py and h5netcdf read both.

The datasets of the repository are always included. The readers must find the same in copy and original:
groups, dimensions, types (also user-defined ones), attributes, and the bits of values. The comparison leaves
out HDF5's internal data: references, dimension numbers, the writer.

usage: hdf5_copies.py NCZ CORPUS WORK [--whole]
"""

import subprocess
import sys
import warnings
from pathlib import Path

import h5netcdf
import h5py
import netCDF4
import numpy

from check import Report
from known import HDF5_COPIES

# In HDF5 a dimension without a variable is a dataset. It may have any length, and is never written.
MOST = 1 << 24
NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
MAGIC = b"\x89HDF\r\n\x1a\n"
OWN = {
    "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "DIMENSION_LIST", "REFERENCE_LIST", "_nc3_strict", "CLASS", "NAME",
}


def plain(value):
    """Returns values in a comparable form: bits, texts as bytes, types by their parts."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, (bytes, numpy.bytes_)):
        return bytes(value)
    if isinstance(value, h5py.Empty):
        return "nothing"
    if isinstance(value, (h5py.Reference, h5py.RegionReference)):
        return "a reference"
    if value is None:
        return None
    array = numpy.asarray(value)
    if array.dtype.names:
        return array.shape, [(name, plain(array[name])) for name in array.dtype.names]
    if array.dtype.kind in "OUT":
        return array.shape, [plain(item) for item in array.ravel()]
    if array.dtype.kind == "S":
        return array.shape, [bytes(item) for item in array.ravel()]
    array = array.astype(array.dtype.newbyteorder("="))
    return array.dtype.str, array.shape, array.tobytes()


def flat(value):
    """Returns an attribute in a comparable form. One value equals a list of one value."""
    found = plain(value)
    array = numpy.asarray(value) if not isinstance(value, (str, bytes, h5py.Empty)) else None
    if array is not None and array.ndim <= 1 and array.size == 1:
        return plain(array.reshape(())[()])
    return found


def by_netcdf_c(path):
    found = {}
    root = netCDF4.Dataset(path)
    root.set_auto_maskandscale(False)
    root.set_auto_chartostring(False)

    def walk(group, path):
        found[f"{path}/ dimensions"] = [(dim.name, len(dim), dim.isunlimited()) for dim in group.dimensions.values()]
        found[f"{path}/ groups"] = list(group.groups)
        found[f"{path}/ variables"] = list(group.variables)
        found[f"{path}/ enums"] = {name: (str(ty.dtype), ty.enum_dict) for name, ty in group.enumtypes.items()}
        found[f"{path}/ compounds"] = {name: str(ty.dtype) for name, ty in group.cmptypes.items()}
        found[f"{path}/ vlens"] = {name: str(ty.dtype) for name, ty in group.vltypes.items()}
        for name in group.ncattrs():
            found[f"{path}/@{name}"] = flat(group.getncattr(name))
        for name, var in group.variables.items():
            var.set_auto_maskandscale(False)
            found[f"{path}/{name} type"] = str(var.datatype), var.dimensions, var.shape
            found[f"{path}/{name}"] = read(lambda: var[...])
            for att in var.ncattrs():
                found[f"{path}/{name}@{att}"] = read(lambda: var.getncattr(att), flat)
        for name, child in group.groups.items():
            walk(child, f"{path}/{name}")

    walk(root, "")
    root.close()
    return found


def by_h5py(path):
    found = {}
    with h5py.File(path) as file:
        def look(name, object):
            if isinstance(object, h5py.Datatype):
                found[f"{name} type"] = str(object.dtype), object.dtype.metadata and str(object.dtype.metadata)
            elif isinstance(object, h5py.Dataset):
                if bytes(object.attrs.get("NAME", b"")).startswith(NO_VARIABLE):
                    # netCDF-C gives it the length of the written data along it.
                    found[f"{name} dimension"] = object.maxshape, object.is_scale
                    return
                shape = [most and length for length, most in zip(object.shape, object.maxshape)]
                found[f"{name} type"] = str(object.dtype), shape, object.maxshape, object.is_scale
                scales = [[scale.name for scale in axis.values()] for axis in object.dims] if not object.is_scale else []
                found[f"{name} scales"] = scales
                found[name] = read(lambda: object[()]) if object.size <= MOST else "not read"
            else:
                found[f"{name} members"] = sorted(object)
            for att in object.attrs:
                if att not in OWN:
                    found[f"{name}@{att}"] = read(lambda: object.attrs[att], flat)

        look("/", file)
        file.visititems(lambda name, object: look(f"/{name}", object))
    return found


def by_h5netcdf(path):
    found = {}

    def walk(group, path):
        dims = [(name, dim.size, dim.isunlimited()) for name, dim in group.dims.items()]
        found[f"{path}/ dimensions"] = sorted(dims)
        found[f"{path}/ groups"] = sorted(group.groups)
        found[f"{path}/ variables"] = sorted(group.variables)
        for kind in ("enumtypes", "cmptypes", "vltypes"):
            found[f"{path}/ {kind}"] = {name: str(ty.dtype) for name, ty in sorted(getattr(group, kind).items())}
        for name in group.attrs:
            found[f"{path}/@{name}"] = read(lambda: group.attrs[name], flat)
        for name, var in group.variables.items():
            found[f"{path}/{name} type"] = str(var.dtype), var.dimensions, var.shape
            found[f"{path}/{name}"] = read(lambda: var[...]) if numpy.prod(var.shape) <= MOST else "not read"
            for att in var.attrs:
                found[f"{path}/{name}@{att}"] = read(lambda: var.attrs[att], flat)
        for name, child in group.groups.items():
            walk(child, f"{path}/{name}")

    with h5netcdf.File(path, "r", phony_dims="sort", decode_vlen_strings=False) as file:
        walk(file, "")
    return found


def read(value, form=plain):
    """Returns the value, or the reason of a failure. Copy and original must also agree on the reason."""
    try:
        return form(value())
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:60]}"


READERS = {"netcdf-c": by_netcdf_c, "h5py": by_h5py, "h5netcdf": by_h5netcdf}


def datasets(corpus):
    """Returns the names and paths of the datasets."""
    found = {}
    for root in (Path(__file__).resolve().parent.parent / "corpus", corpus):
        for path in (path for part in ("netcdf-c", "hdf5") for path in (root / part).rglob("*") if path.is_file()):
            with path.open("rb") as file:
                if file.read(8) == MAGIC:
                    found[str(path.relative_to(root))] = path
    return sorted(found.items())


def main():
    ncz, corpus, work = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    warnings.simplefilter("ignore")
    report, seen = Report(HDF5_COPIES), 0
    work.mkdir()
    for name, path in datasets(corpus):
        copy = work / name.replace("/", "-")
        kind = subprocess.run([ncz, "dump", "-k", path], capture_output=True, text=True, check=True).stdout.strip()
        kind = "nc4-classic" if kind == "netCDF-4 classic model" else "nc4"
        done = subprocess.run([ncz, "copy", "-k", kind, path, copy], capture_output=True, text=True, check=False)
        if done.returncode:
            report.check("ncz", name, "copy", done.stderr, None)
            continue
        for line in done.stderr.splitlines():
            report.check("ncz", name, "reported", line, None)
        seen += 1
        for reader, open in READERS.items():
            try:
                before = open(str(path))
            except Exception as error:
                report.check(reader, name, "original", f"{type(error).__name__}: {error}", None)
                continue
            try:
                after = open(str(copy))
            except Exception as error:
                report.check(reader, name, "open", f"{type(error).__name__}: {error}", None)
                continue
            for what in sorted(before.keys() | after.keys()):
                report.check(reader, name, what, after.get(what), before.get(what))
    if not seen:
        report.failed.append("nothing was copied")
    return report.finish(f"others read {seen} HDF5 datasets of the corpus that nczarr copied", "--whole" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
