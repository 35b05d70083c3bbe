"""Copies datasets with unwritten elements, and lets netCDF-C, h5py and zarr-python read the copies.

A printed seed selects kinds of files, fill modes and absent chunks at random. All readers must find the
values of `ncz cat`, in the copy and in its source.

usage: unfilled.py NCZ WORK [SEED]
"""

import io
import json
import random
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import h5py
import netCDF4
import numpy
import zarr

from check import Report

SEED = 20261125
# The number of rounds of all writers, and the time after which no round begins.
ROUNDS, SECONDS = 4, 25
NUMBERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
# Kind of a copy, the suffix of its name, and its readers.
TARGETS = [
    ("nc4", "", ["netcdf-c", "h5py", "ncdump"]),
    ("nc4-classic", "", ["netcdf-c", "h5py", "ncdump"]),
    ("classic", "", ["netcdf-c"]),
    ("cdf5", "", ["netcdf-c"]),
    ("zarr", "", ["zarr-python"]),
    ("zarr", "#mode=zarr,v3", ["zarr-python"]),
    ("nczarr", "", ["zarr-python", "netcdf-c"]),
    ("nczarr", "#mode=nczarr,v3", ["zarr-python"]),
]
DEFAULTS = {
    -32767.0, -2147483647.0, float(numpy.float32(9.96920996838687e36)), 9.96920996838687e36, 65535.0, 4294967295.0,
    -9223372036854775806.0, 18446744073709551614.0,
}
HAS_NCDUMP = shutil.which("ncdump") is not None


def values(rng, dtype, count):
    """Returns values. Readers may take some of them for unwritten elements."""
    if dtype == "s":
        return numpy.array([rng.choice(["one", "two", "x y"]) for _ in range(count)], object)
    return numpy.array([rng.choice([0, 1, 7, 100]) for _ in range(count)], dtype)


def fill_of(rng, dtype):
    return rng.choice([0, 9, 99]) if dtype != "f4" else rng.choice([0.0, -9.5, float("nan")])


def blocks(rng, shape, chunks):
    """Yields the slabs of some chunks."""
    for _ in range(rng.randrange(4)):
        start = [rng.randrange(0, len_, chunk) for len_, chunk in zip(shape, chunks)]
        yield tuple(slice(at, min(at + chunk, len_)) for at, chunk, len_ in zip(start, chunks, shape))


def write_netcdf_c(rng, path):
    """Writes variables of unequal lengths along an unlimited dimension."""
    with netCDF4.Dataset(path, "w") as file:
        if rng.random() < 0.6:
            file.set_fill_off()
        file.createDimension("t", None)
        file.createDimension("x", 3)
        for at, dtype in enumerate([*rng.sample(NUMBERS, 5), str]):
            fill = fill_of(rng, dtype) if dtype is not str and rng.random() < 0.4 else None
            dims = ("t", "x") if dtype is not str and rng.random() < 0.5 else ("t",)
            chunks = [rng.randint(1, 3), 2][: len(dims)]
            var = file.createVariable(f"v{at}", dtype, dims, fill_value=fill, chunksizes=chunks)
            records = rng.choice([0, 1, 3, 7])
            if dtype is str and records:
                var[0:records] = values(rng, "s", records)
            elif records:
                shape = (records, 3)[: len(dims)]
                var[0:records] = values(rng, dtype, int(numpy.prod(shape))).reshape(shape)
        file.createVariable("long", "i4", ("t",))[0:8] = range(8)


def write_h5py(rng, path):
    """Writes variables with every fill time, contiguous and in chunks."""
    with h5py.File(path, "w", libver=rng.choice([None, ("earliest", "v108"), ("v110", "v110")])) as file:
        for at in range(8):
            dtype = rng.choice([*NUMBERS, "s"])
            kind = h5py.string_dtype() if dtype == "s" else numpy.dtype(rng.choice("<>") + dtype)
            shape, chunks = (rng.randint(5, 9), 4), (rng.randint(1, 3), 2)
            layout = {} if rng.random() < 0.2 else {"chunks": chunks, "maxshape": (None, 4)}
            if layout and rng.random() < 0.3:
                layout["compression"] = 1
            fill = {} if dtype == "s" or rng.random() < 0.6 else {"fillvalue": fill_of(rng, dtype)}
            when = rng.choice(["ifset", "alloc"] if dtype == "s" else ["ifset", "alloc", "never"])
            # With `never`, HDF5 does not fill contiguous data, so these have `ifset`.
            var = file.create_dataset(f"v{at}", shape, kind, fill_time=when if layout else "ifset", **fill, **layout)
            if dtype != "s" and rng.random() < 0.4:
                var.attrs["_FillValue"] = numpy.array([fill_of(rng, dtype)], kind)
            for block in blocks(rng, shape, chunks):
                count = [place.stop - place.start for place in block]
                var[block] = values(rng, dtype, count[0] * count[1]).reshape(count)


def write_zarr(rng, path, version):
    group = zarr.open_group(path, mode="w", zarr_format=version)
    for at in range(8):
        dtype = rng.choice(NUMBERS)
        shape, chunks = (rng.randint(5, 9), 4), (rng.randint(1, 3), 2)
        attributes = {} if rng.random() < 0.6 else {"_FillValue": int(fill_of(rng, "i2"))}
        default = {"i2": -32767, "u2": 65535, "i4": -2147483647, "u4": 4294967295, "i8": -9223372036854775806}
        fill = rng.choice([None, 0, 5, default.get(dtype, 1)] if version == 2 else [0, 5, default.get(dtype, 1)])
        names = {"dimension_names": [f"y{at}", "x"]} if version == 3 else {}
        if version == 2:
            attributes["_ARRAY_DIMENSIONS"] = [f"y{at}", "x"]
        array = group.create_array(
            f"v{at}", shape=shape, chunks=chunks, dtype=dtype, fill_value=fill, attributes=attributes, **names
        )
        for block in blocks(rng, shape, chunks):
            count = [place.stop - place.start for place in block]
            array[block] = values(rng, dtype, count[0] * count[1]).reshape(count)


def write_text(rng, ncz, path):
    """Makes a file with `ncz gen`: no-fill variables with and without a fill value, and shorter ones."""
    types = rng.sample(["byte", "short", "int", "float", "double", "ushort", "uint64", "string"], 6)
    lines = ["netcdf t {", "dimensions: t = UNLIMITED ; x = 7 ;", "variables:"]
    data = []
    for at, ty in enumerate([*types, "int"]):
        dim = "t" if rng.random() < 0.6 or at == 6 else "x"
        lines.append(f" {ty} v{at}({dim}) ; v{at}:_ChunkSizes = {rng.randint(1, 3)} ;")
        if rng.random() < 0.5 and at < 6:
            lines.append(f' v{at}:_NoFill = "true" ;')
        if rng.random() < 0.4 and ty != "string":
            lines.append(f" {ty} v{at}:_FillValue = 9 ;")
        count = 7 if at == 6 else rng.choice([0, 1, 4])
        if count:
            word = (lambda: '"w"') if ty == "string" else (lambda: rng.choice(["0", "1", "9", "_"]))
            data.append(f" v{at} = {', '.join(word() for _ in range(count))} ;")
    text = path.with_suffix(".cdl")
    text.write_text("\n".join([*lines, "data:", *data, "}"]))
    kind = rng.choice(["nc4", "zarr", "nczarr"])
    mode = rng.choice(["", f"#mode={kind},v3"]) if kind != "nc4" else ""
    made = path.with_suffix(f".{kind}")
    call(ncz, "gen", "-k", kind, "-o", f"{made}{mode}", text)
    return made, mode


def call(*args, stderr=False):
    """Runs a command. Returns its standard output, or its standard error if `stderr` is set."""
    done = subprocess.run(list(map(str, args)), capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, args[1:]))}: {done.stderr.decode()}")
    return done.stderr.decode() if stderr else done.stdout


def plain(array):
    """Returns values in a form that is comparable between readers."""
    array = numpy.asarray(array)
    if array.dtype.kind in "OSUT":
        text = lambda item: item.decode() if isinstance(item, bytes) else item or ""
        return array.shape, [text(item) for item in array.ravel()]
    array = array.astype(array.dtype.newbyteorder("="))
    return array.shape, [str(item) for item in array.ravel()]


def ours(ncz, url, name, is_text):
    if is_text:
        found = json.loads(call(ncz, "cat", url, name, "--format", "json"))
        return tuple(found["shape"]), [item or "" for item in found["values"]]
    return plain(numpy.load(io.BytesIO(call(ncz, "cat", url, name))))


def by_netcdf_c(path, kind, names):
    url = str(path) if path.is_file() else f"file://{path}#mode={kind},file"
    with netCDF4.Dataset(url) as file:
        file.set_auto_maskandscale(False)
        return {name: plain(file[name][...]) for name in names}


def by_h5py(path, names):
    """Reads into memory with a pattern, so that unfilled elements are visible."""
    found = {}
    with h5py.File(path) as file:
        for name in names:
            var = file[name]
            if var.dtype.kind == "O":
                found[name] = plain(var[...])
                continue
            memory = numpy.frombuffer(bytearray(b"\xa5" * (var.size * var.dtype.itemsize)), var.dtype).reshape(var.shape)
            if var.size:
                var.read_direct(memory)
            found[name] = plain(memory)
    return found


def by_zarr(path, names):
    group = zarr.open_group(path, mode="r")
    return {name: plain(group[name][...]) for name in names}


def by_ncdump(ncz, path):
    """Returns the data section of ncdump and of `ncz dump`, with single spaces."""
    data = lambda text: " ".join(text.decode().split("\ndata:\n")[-1].split())
    # Other tests check the digits of floats.
    return data(call("ncdump", "-p", "9,17", path)), data(call(ncz, "dump", "-p", "9,17", path))


def check_copy(report, ncz, dataset, source, target, expected):
    kind, mode, readers = target
    copy = source.parent / f"copy-{kind}{mode[-2:]}"
    url = f"{copy}{mode}"
    shutil.rmtree(copy, ignore_errors=True)
    copy.unlink(missing_ok=True)
    reports = call(ncz, "copy", dataset, url, *([] if mode else ["-k", kind]), stderr=True)
    name = f"{source.name} as {kind}{mode}"
    there = {var["path"][1:] for var in walk(json.loads(call(ncz, "info", "--json", url)))}
    for var in expected.keys() - there:
        report.check("ncz", name, f"{var} is reported", f"/{var} (" in reports, True)
    expected = {var: found for var, found in expected.items() if var in there}
    texts = {var for var, (is_text, _) in expected.items() if is_text}
    in_text = texts if kind in ("classic", "cdf5", "nc4-classic") else set()
    found = {var: ours(ncz, url, var, var in texts - in_text) for var in expected if var not in in_text}
    for var, here in found.items():
        same = here == expected[var][1]
        if not same and kind in ("classic", "nc4-classic"):
            # Numbers may have a wider type. Missing numbers are then the default fill value of that type.
            pairs = zip(map(float, here[1]), map(float, expected[var][1][1]))
            same = all(a == b or a in DEFAULTS and b in DEFAULTS or a != a and b != b for a, b in pairs)
        report.check("ncz", name, f"{var} values", same or here, True)
    for reader in readers:
        if reader == "ncdump":
            if HAS_NCDUMP:
                report.check(reader, name, "text", *by_ncdump(ncz, copy))
            continue
        names = list(found) if reader != "zarr-python" else [var for var in found if var not in texts]
        read = {"netcdf-c": lambda: by_netcdf_c(copy, kind, names), "h5py": lambda: by_h5py(copy, names),
                "zarr-python": lambda: by_zarr(copy, names)}[reader]()
        for var in names:
            report.check(reader, name, f"{var} values", [list(read[var][0]), read[var][1]], [list(found[var][0]), found[var][1]])


def check_source(report, ncz, work, at, writer, rng):
    source, mode = work / f"{at}-{writer}", ""
    if writer == "netcdf-c":
        write_netcdf_c(rng, source)
    elif writer == "h5py":
        write_h5py(rng, source)
    elif writer == "text":
        source, mode = write_text(rng, ncz, source)
    else:
        write_zarr(rng, source, int(writer[-1]))
    dataset = f"{source}{mode}"
    variables = json.loads(call(ncz, "info", "--json", dataset))
    expected = {}
    for var in walk(variables):
        is_text = var["type"] == "string"
        name = var["path"][1:]
        expected[name] = is_text, ours(ncz, dataset, name, is_text)
    if writer == "netcdf-c":
        for name, found in by_netcdf_c(source, "", list(expected)).items():
            report.check("netcdf-c", source.name, f"{name} values", [list(found[0]), found[1]], [list(expected[name][1][0]), expected[name][1][1]])
    if writer.startswith("zarr"):
        for name, found in by_zarr(source, list(expected)).items():
            report.check("zarr-python", source.name, f"{name} values", [list(found[0]), found[1]], [list(expected[name][1][0]), expected[name][1][1]])
    for target in TARGETS:
        if target[0] == "classic" and any(var["type"] in ("uint64", "int64") for var in walk(variables)):
            continue
        check_copy(report, ncz, dataset, source, target, expected)


def walk(info):
    return info["variables"]


def main():
    ncz, work = Path(sys.argv[1]).absolute(), Path(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else SEED
    work.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    report, begin, rounds = Report({}), time.monotonic(), 0
    for round_ in range(ROUNDS):
        if time.monotonic() - begin > SECONDS:
            break
        for writer in ["netcdf-c", "h5py", "zarr2", "zarr3", "text"]:
            try:
                check_source(report, ncz, work, round_, writer, random.Random(f"{seed} {round_} {writer}"))
            except Exception as error:  # A reader that fails is a failure.
                report.failed.append(f"{round_} {writer}: {error}")
        rounds += 1
    return report.finish(f"others read what is not written (seed {seed}, {rounds} rounds)")


if __name__ == "__main__":
    sys.exit(main())
