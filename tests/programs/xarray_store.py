#!/usr/bin/env python3
"""NCO and CDO read a sharded Zarr V3 store of xarray with the library in LIBRARY; xarray opens the stores they write.

xarray_store.py LIBRARY FOLDER"""
import os
import subprocess
import sys

import numpy
import xarray

library, folder = sys.argv[1:]
ENVIRONMENT = dict(os.environ, LD_LIBRARY_PATH=library, CDO_HISTORY_INFO="0")


def run(*command):
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")


def zarr(name):
    return f"file://{folder}/{name}#mode=zarr,v3"


def opened(name):
    return xarray.open_zarr(f"{folder}/{name}", consolidated=False).load()


made = xarray.Dataset(
    {"tas": (("time", "lat", "lon"), numpy.random.default_rng(1).normal(280, 9, (24, 16, 32)).astype("f4"))},
    {
        "time": ("time", numpy.arange(24.0), {"units": "hours since 2000-01-01", "calendar": "standard"}),
        "lat": ("lat", numpy.linspace(-75, 75, 16), {"units": "degrees_north", "standard_name": "latitude"}),
        "lon": ("lon", numpy.linspace(0, 348.75, 32), {"units": "degrees_east", "standard_name": "longitude"}),
    },
)
made.tas.attrs["units"] = "K"
# NCO of Debian is built without zstd, the default of xarray, and refuses to copy it.
gzip = {"compressors": [{"name": "gzip", "configuration": {"level": 3}}]}
encoding = {name: gzip for name in made.variables}
encoding["tas"] = {"chunks": (6, 8, 8), "shards": (12, 16, 16), **gzip}
made.to_zarr(f"{folder}/made", zarr_format=3, consolidated=False, encoding=encoding)
made = opened("made")
mean = made.tas.values.mean(0, dtype="f8")

run("ncks", "-h", "-O", zarr("made"), zarr("copied"))
xarray.testing.assert_identical(opened("copied"), made)

run("ncks", "-h", "-O", "-d", "lat,2,9", "-v", "tas", zarr("made"), zarr("part"))
numpy.testing.assert_array_equal(opened("part").tas.values, made.tas.values[:, 2:10])

# In plain Zarr no dimension is unlimited, and ncra needs one.
run("ncks", "-h", "-O", "--mk_rec_dmn", "time", zarr("made"), f"file://{folder}/records#mode=nczarr,v3")
run("ncra", "-h", "-O", f"file://{folder}/records#mode=nczarr,v3", zarr("averaged"))
numpy.testing.assert_allclose(opened("averaged").tas.values[0], mean, rtol=1e-6)

run("cdo", "-s", "-f", "nc4", "-timmean", zarr("made"), f"{folder}/timmean.nc")
found = xarray.open_dataset(f"{folder}/timmean.nc", engine="netcdf4")
numpy.testing.assert_allclose(found.tas.values[0], mean, rtol=1e-6)
run("ncks", "-h", "-O", f"{folder}/timmean.nc", zarr("timmean"))
numpy.testing.assert_array_equal(opened("timmean").tas.values, found.tas.values)
print("NCO and CDO read a sharded store of xarray, and xarray opens four stores of theirs")
