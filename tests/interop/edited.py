"""Edits copies of the Zarr V3 stores in the corpus. Other readers must find the edits, and no other changes.

usage: edited.py INTEROP CORPUS WORK
"""

import json
import logging
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy
import tensorstore
import xarray
import zarr

from check import Report, native

ADDED = "added_here"


def stores(corpus):
    """Yields the directories of format 3: part and name."""
    rows = {
        "zarr": lambda row: row[4] == "3" and row[11] not in ("error", "tree"),
        # The documents of the other stores are not JSON.
        "nczarr-v3": lambda row: row[1] == "dir" and not row[0].startswith("fork-consolidated/"),
    }
    for part, of in rows.items():
        lines = (corpus / part / "MANIFEST.tsv").read_text().splitlines()[1:]
        names = {row[0] for row in (line.split("\t") for line in lines) if of(row)}
        yield from ((part, name) for name in sorted(names) if (corpus / part / name / "zarr.json").is_file())


def arrays(place):
    """Yields the arrays of a store with their paths."""
    for document in sorted(place.rglob("zarr.json")):
        try:
            if json.loads(document.read_text()).get("node_type") == "array":
                yield document.parent, "/" + document.parent.relative_to(place).as_posix().lstrip(".")
        except ValueError:
            continue


def by_zarr_python(place):
    array = zarr.open_array(place, mode="r", zarr_format=3)
    return native(array[...]), dict(array.attrs).get(ADDED)


def by_tensorstore(place):
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{place}/"}}
    return native(tensorstore.open(spec, open=True, read=True).result().read().result()), None


READERS = {"zarr-python": by_zarr_python, "tensorstore": by_tensorstore}


def read(place):
    """Returns the values that each reader finds, for readers that can read the array."""
    found = {}
    for folder, path in arrays(place):
        for name, reader in READERS.items():
            try:
                found[name, path] = reader(folder)
            except Exception:
                continue
    return found


def opens_in_xarray(place):
    try:
        with xarray.open_dataset(place, engine="zarr", zarr_format=3, consolidated=False) as group:
            return {str(name): value for name, value in group.sizes.items()}
    except Exception:
        return None


def same_but_last(before, after, put):
    if before.shape != after.shape or before.dtype != after.dtype:
        return f"{after.dtype} {after.shape}"
    flat = [numpy.ascontiguousarray(array).ravel() for array in (before, after)]
    end = None if put is None else -1
    if before.dtype.kind in "OT":
        equal = list(flat[0][:end]) == list(flat[1][:end])
    else:
        equal = flat[0][:end].tobytes() == flat[1][:end].tobytes()
    if not equal:
        return "other values"
    if put is not None and complex(flat[1][-1]) != put:
        return f"last {flat[1][-1]}, put {put}"
    return "same"


def main():
    interop, corpus, work = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore")
    report, before = Report({}), {}
    for part, name in stores(corpus):
        place = work / part / name
        shutil.copytree(corpus / part / name, place, copy_function=shutil.copyfile)
        before[place] = read(place), opens_in_xarray(place)
    names = "\n".join(map(str, before))
    placed = subprocess.run([interop, "edit"], input=names, stdout=subprocess.PIPE, text=True, check=True).stdout
    for place, put in json.loads(placed).items():
        name = str(Path(place).relative_to(work))
        report.check("nczarr", name, "edit", put.pop("", None), None)
        was, sizes = before[Path(place)]
        now = read(Path(place))
        for (reader, path), (values, _) in was.items():
            # For an array at the root, our library uses the name of the store.
            key = next(iter(put), path) if path == "/" else path
            if (reader, path) not in now:
                report.check(reader, name, path, "it does not open any more", "same")
                continue
            found, attribute = now[reader, path]
            if values.dtype.names or values.dtype.kind in "mM" and put.get(key) is not None:
                continue
            report.check(reader, name, path, same_but_last(values, found, put.get(key)), "same")
            if reader == "zarr-python" and key in put:
                report.check(reader, name, f"{path} attribute", attribute, 7)
        report.check("xarray", name, "dimensions", opens_in_xarray(Path(place)), sizes)
    return report.finish("others read what nczarr edited")


if __name__ == "__main__":
    sys.exit(main())
