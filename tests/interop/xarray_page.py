"""Tests the statements of docs/xarray.md. Usage: python xarray_page.py NCZ FOLDER."""
import os
import subprocess
import sys
import warnings

import numpy as np
import xarray as xr
import zarr

ncz, folder = sys.argv[1], sys.argv[2]
os.makedirs(folder, exist_ok=True)
here = os.path.dirname(os.path.abspath(__file__))
cdl = os.path.join(here, "statements.cdl")
failed = []


def check(what, found, expected):
    if found != expected:
        failed.append(f"{what}: {found!r}, the page says {expected!r}")


def made(name, fragment=""):
    path = os.path.join(folder, name)
    subprocess.run([ncz, "gen", "-o", path + fragment, cdl], check=True)
    return path


def types(ds):
    return {name: str(ds[name].dtype) for name in ("plain", "kept", "filled", "flags", "temp", "time")}


def opened(path, **how):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ds = xr.open_zarr(path, **how)
    return ds, " ".join(str(warning.message) for warning in caught)


# Zarr V3: types stay, except for variables with `_FillValue`.
v3 = made("v3.zarr", "#mode=zarr,v3")
ds, words = opened(v3)
check("V3 types", types(ds), {"plain": "int32", "kept": "int32", "filled": "float64", "flags": "uint8", "temp": "float32",
                              "time": "datetime64[ns]"})
check("V3 flags", ds["flags"].values.tolist(), [0, 255, 3])
check("V3 missing", np.isnan(ds["filled"].values).tolist(), [[False, True, False], [False] * 3])
check("V3 strings", ds["name"].values.tolist(), ["a", "bb", ""])
check("V3 text", (str(ds["code"].dtype), bytes(ds["code"].values)), ("uint8", b"xyz"))
check("V3 dims", ds["plain"].dims, ("time", "x"))
check("V3 warns of consolidated metadata", "consolidated" in words, True)
check("V3 warns of the lock", ".nczarr-lock" in words, True)
os.remove(os.path.join(v3, ".nczarr-lock"))
check("V3 warns of nothing then", opened(v3, consolidated=False)[1], "")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    zarr.consolidate_metadata(v3)
check("V3 consolidated", opened(v3)[1], "")
raw = opened(v3, mask_and_scale=False)[0]
check("V3 raw", (str(raw["filled"].dtype), raw["filled"].values[0].tolist()), ("int16", [1, -999, 3]))

# Zarr V2: the fill value of an array means missing values.
v2 = made("v2.zarr", "#mode=zarr")
ds, _ = opened(v2)
check("V2 types", types(ds), {"plain": "float64", "kept": "int32", "filled": "float64", "flags": "float32", "temp": "float32",
                              "time": "datetime64[ns]"})
check("V2 flags", np.isnan(ds["flags"].values).tolist(), [False, True, False])
raw = opened(v2, mask_and_scale=False)[0]
check("V2 raw", (str(raw["plain"].dtype), raw["flags"].values.tolist()), ("int32", [0, 255, 3]))
check("V2 strings", (str(raw["name"].dtype), raw["name"].values.tolist()), ("|S128", [b"a", b"bb", b""]))
check("V2 text", (str(raw["code"].dtype), raw["code"].values.tolist()), ("|S1", [b"x", b"y", b"z"]))

# NCZarr.
nczarr = made("nczarr.zarr", "#mode=nczarr")
try:
    opened(nczarr)
    failed.append("NCZarr V2 with text is opened")
except ValueError as error:
    check("NCZarr V2", ">S1" in str(error), True)
ds, _ = opened(made("nczarr3.zarr", "#mode=nczarr,v3"))
check("NCZarr V3 types", types(ds)["plain"], "int32")
check("NCZarr V3 attributes", "_nczarr_array" in ds["plain"].attrs, True)
ds = xr.open_dataset(f"file://{nczarr}#mode=nczarr,file", engine="netcdf4")
check("NCZarr by netCDF4", types(ds), {"plain": "int32", "kept": "int32", "filled": "float64", "flags": "uint8",
                                       "temp": "float32", "time": "datetime64[ns]"})

# A copy from NCZarr has the types of a plain V3 store.
copied = os.path.join(folder, "copied.zarr")
subprocess.run([ncz, "copy", nczarr, copied + "#mode=zarr,v3"], check=True)
check("copies", types(opened(copied, consolidated=False)[0]), types(opened(v3)[0]))
plain = os.path.join(folder, "plain.cdl")
with open(plain, "w") as file:
    file.write("netcdf p { dimensions: x = 2; variables: int i(x); i:_FillValue = -9; short s(x); s:_FillValue = -9s; "
               "byte b(x); b:_FillValue = -9b; data: i = 1, 2; s = 1, 2; b = 1, 2; }")
small = os.path.join(folder, "small.zarr")
subprocess.run([ncz, "gen", "-o", small + "#mode=zarr,v3", plain], check=True)
ds, _ = opened(small)
check("filled integers", {name: str(ds[name].dtype) for name in "isb"}, {"i": "float64", "s": "float32", "b": "float32"})

# Archives and files.
ds = xr.open_zarr(zarr.storage.ZipStore(made("v3.zip", "#mode=zarr,v3"), mode="r"), consolidated=False)
check("archive", types(ds)["plain"], "int32")
ds = xr.open_dataset(made("x.nc", "#mode=netcdf-4"), engine="netcdf4")
check("netCDF-4", types(ds)["plain"], "int32")

# The other way: files that xarray writes.
back = os.path.join(folder, "back.zarr")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    opened(v3)[0].drop_vars("name").to_zarr(back, mode="w")
text = subprocess.run([ncz, "dump", "-v", "filled", back], check=True, capture_output=True, text=True).stdout
check("back", "short filled(time, x) ;" in text and "  1, _, 3," in text, True)

print(f"docs/xarray.md: {'as it says' if not failed else failed}")
sys.exit(1 if failed else 0)
