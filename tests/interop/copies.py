"""Copies the datasets of the corpus with `ncz copy`, to NCZarr and to plain Zarr. Other readers read the
copies.

They must find the values of the corpus, in the corresponding netCDF types. For a dataset by netCDF-C, they
must find the values that netCDF-C reads from the original. Datasets of earlier styles are left out there:
netCDF-C crashes on some and misreads others.

usage: copies.py NCZ CORPUS WORK [--whole]
"""

import concurrent.futures
import json
import logging
import os
import subprocess
import sys
import warnings
import zipfile
from collections import defaultdict
from pathlib import Path

import netCDF4
import numpy
import tensorstore
import xarray
import zarr

from check import Report, native, same
from known import COPIES

KINDS = ("nczarr", "zarr")


def rows(part):
    lines = (part / "MANIFEST.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines[1:]]


def of_zarr(folder):
    """Yields the stores of format 2: name, URL, and the paths of the files with their values."""
    stores = defaultdict(dict)
    for row in rows(folder):
        if row[4] == "2" and row[11] in ("exact", "lossy"):
            stores[row[0]]["" if row[1] == "/" else row[1]] = str(folder / row[10])
    for store, arrays in stores.items():
        yield store.removeprefix("stores/"), f"file://{folder / store}#mode=zarr", arrays


def of_netcdf_c(folder, scratch):
    """Yields the NCZarr and plain Zarr datasets by netCDF-C, unpacked: name, URL, `None`."""
    for row in rows(folder):
        if not row[1].startswith("nczarr/") or row[0].startswith("old"):
            continue
        place = scratch / row[0]
        with zipfile.ZipFile(folder / row[1]) as archive:
            archive.extractall(place)
        inner = place / f"{row[0]}.zarr"
        modes = row[3].removeprefix("mode=").split("&")[0].replace("zip", "file")
        yield f"netcdf-c/{row[0]}", f"file://{inner if inner.is_dir() else place}#mode={modes}", None


def as_netcdf(array):
    """Returns values in their netCDF type."""
    array = native(array)
    if array.dtype.kind == "b":
        return array.astype("u1")
    if array.dtype.kind == "f" and array.dtype.itemsize == 2:
        return array.astype("f4")
    if array.dtype.kind == "M":
        texts = [str(item) for item in numpy.datetime_as_string(array).ravel()]
        # The sign does not count as a digit of the year.
        texts = [f"-{text[1:].zfill(4)}" if text.startswith("-") else text for text in texts]
        return numpy.array([*texts, None], object)[:-1].reshape(array.shape)
    if array.dtype.kind == "m":
        unit = numpy.datetime_data(array.dtype)[0]
        text = ["NaT" if numpy.isnat(item) else f"{item.astype('i8')}{unit}" for item in array.ravel()]
        return numpy.array(text, object).reshape(array.shape)
    if array.dtype.kind == "U":
        return array.astype(object)
    if array.dtype.kind == "S":
        return text_of(array)
    return array


def str_of(item):
    """Returns fixed bytes as text, or as bytes if they are not text."""
    item = bytes(item).rstrip(b"\0")
    try:
        return item.decode()
    except UnicodeDecodeError:
        return item


def text_of(array):
    array = numpy.asarray(array)
    return numpy.array([*map(str_of, array.ravel()), None], object)[:-1].reshape(array.shape)


def load(path):
    """Returns the expected values of the corpus; `None` if netCDF has no common form for them."""
    if path.endswith(".npy"):
        return as_netcdf(numpy.load(path))
    content = json.loads(Path(path).read_text())
    if not all(isinstance(item, str) for item in content["values"]):
        return None
    return numpy.array(content["values"] + [None], object)[:-1].reshape(content["shape"])


def by_netcdf_c(url):
    """Returns the values of every variable, by path."""
    found = {}
    root = netCDF4.Dataset(url)
    root.set_auto_maskandscale(False)
    root.set_auto_chartostring(False)

    def walk(group, path):
        for name, var in group.variables.items():
            values = numpy.array(var[...], object) if var.dtype is str else native(numpy.array(var[...]))
            found[f"{path}/{name}"] = values
        for name, child in group.groups.items():
            walk(child, f"{path}/{name}")

    walk(root, "")
    root.close()
    return found


def by_zarr_python(url):
    group = zarr.open_group(url, mode="r", zarr_format=2, use_consolidated=False)
    return lambda path: group[path[1:]][...]


def by_xarray(url):
    groups = {}

    def read(path):
        group, _, name = path.rpartition("/")
        if group not in groups:
            options = {"decode_cf": False, "consolidated": False, "zarr_format": 2}
            groups[group] = xarray.open_dataset(url, group=group or None, engine="zarr", **options)
        return groups[group].variables[name].values

    return read


def by_tensorstore(url):
    def read(path):
        spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{url}{path}/"}}
        values = native(tensorstore.open(spec, open=True, read=True).result().read().result())
        if values.dtype.kind == "S" and values.dtype.itemsize == 1 and values.ndim:
            values = numpy.ascontiguousarray(values)
        return values

    return read


READERS = {"zarr-python": by_zarr_python, "xarray": by_xarray, "tensorstore": by_tensorstore}


def comparable(found, expected):
    """Brings found and expected values into one form: text, single elements, parts of numbers, fields."""
    found = native(found)
    if found.dtype.kind == "S" and expected.dtype.kind == "O":
        if found.ndim > expected.ndim and found.shape[: expected.ndim] == expected.shape:
            found = numpy.ascontiguousarray(found).view(f"S{found.shape[-1] or 1}").reshape(expected.shape)
        found = text_of(found)
    if found.dtype.kind in "OU":
        texts = [str_of(item) if isinstance(item, bytes) else item for item in found.ravel()]
        found = numpy.array([*texts, None], object)[:-1].reshape(found.shape)
    if expected.dtype == "S1" and found.dtype.kind == "O":
        # Plain Zarr lacks characters, so netCDF-C reads them as text of length one.
        found = numpy.array([str(text).encode() for text in found.ravel()], "S").reshape(found.shape)
    if found.size == expected.size == 1:
        found = found.reshape(expected.shape)
    if expected.dtype.kind == "c" and found.dtype == expected.dtype:
        part = f"f{expected.dtype.itemsize // 2}"
        return [numpy.ascontiguousarray(array).reshape(-1).view(part) for array in (found, expected)]
    if expected.dtype.names and found.dtype.kind == "V" and not found.dtype.names:
        # Nested records are stored as bytes.
        if found.dtype.itemsize == expected.dtype.itemsize:
            found = numpy.ascontiguousarray(found).view(expected.dtype).reshape(expected.shape)
    if expected.dtype.names and expected.dtype.names == found.dtype.names:
        pairs = [(found[name], as_netcdf(expected[name])) for name in expected.dtype.names]
        pairs = [comparable(mine if right.dtype.names else as_netcdf(mine), right) for mine, right in pairs]
        equal = all(same(numpy.asarray(mine), numpy.asarray(right)) for mine, right in pairs)
        return equal or found, True if equal else expected
    return found, expected


def check(ncz, name, url, arrays, work):
    """Checks both copies of one dataset."""
    report = Report(COPIES)
    try:
        if arrays is None:
            values = by_netcdf_c(url)
        else:
            values = {path: load(file) for path, file in arrays.items()}
    except Exception as error:
        report.check("netcdf-c", name, "original", f"{type(error).__name__}: {error}", None)
        return report
    for kind in KINDS:
        target = work / f"{name.replace('/', '-')}.{kind}"
        copy = f"{name} {kind}"
        done = subprocess.run([ncz, "copy", "-k", kind, url, str(target)], capture_output=True, text=True, check=False)
        if done.returncode:
            report.check("ncz", copy, "copy", done.stderr, None)
            continue
        # An array at the root of a store becomes a variable with the name of its file.
        variables = {path or "/" + next(target.glob("*/.zarray")).parent.name: item for path, item in values.items()}
        readers = dict(READERS)
        try:
            found = by_netcdf_c(f"file://{target}#mode={kind},file")
            readers["netcdf-c"] = lambda _, found=found: found.__getitem__
        except Exception as error:
            report.check("netcdf-c", copy, "open", f"{type(error).__name__}: {error}", None)
        for reader, open in readers.items():
            try:
                read = open(str(target))
            except Exception as error:
                report.check(reader, copy, "open", f"{type(error).__name__}: {error}", None)
                continue
            for path, expected in variables.items():
                if expected is None:
                    # NCZarr has a special form for lists, which these readers show as bytes.
                    stored = (target / path[1:] / ".zarray").exists()
                    report.check("ncz", copy, f"{path} stored", stored, kind == "nczarr" and "/vlen-" in name)
                    continue
                if kind == "nczarr" and expected.dtype.kind == "c":
                    # A complex number becomes a record of two parts.
                    part = f"f{expected.dtype.itemsize // 2}"
                    expected = expected.view([("r", part), ("i", part)])
                try:
                    report.check(reader, copy, path, *comparable(read(path), expected))
                except Exception as error:
                    report.check(reader, copy, path, f"{type(error).__name__}: {error}", expected)
    return report


def quiet():
    """Hides the messages of the readers. The program reports failures itself."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")


def main():
    ncz, corpus, work = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    (work / "originals").mkdir()
    datasets = [*of_zarr(corpus / "zarr"), *of_netcdf_c(corpus / "netcdf-c", work / "originals")]
    total = Report(COPIES)
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), initializer=quiet) as pool:
        for done in [pool.submit(check, ncz, *dataset, work) for dataset in datasets]:
            total.add(done.result())
    return total.finish(f"others read {len(datasets)} datasets of the corpus that nczarr copied", "--whole" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
