"""Reads the datasets of `interop types` with zarr-python and xarray: types that netCDF lacks, and JSON attributes.

usage: zarr_types.py DIR
"""

import sys
from pathlib import Path

import numpy
import xarray
import zarr

TIMES = ["1969-12-31", "2024-02-29", "NaT", "NaT", "NaT"]
EXPECTED = {
    "mask": numpy.array([True, False, True, False, False]),
    "half": numpy.array([0.5, 65504.0, -1.25, numpy.nan, numpy.nan], "<f2"),
    "big": numpy.array([0.5, 65504.0, -1.25, 2.0, 2.0], ">f2"),
    "complex": numpy.array([1.5 - 2j, 1j, 3 + 4j, 0, 0], "<c8"),
    "wide": numpy.array([1.5 - 2j, 1j, 3 + 4j, 0, 0], "<c16"),
    "days": numpy.array(TIMES, "<M8[D]"),
    "seconds": numpy.array(TIMES, "<M8[s]"),
    "nanos": numpy.array(TIMES, "<M8[ns]"),
    "spans": numpy.array([1, -2000, "NaT", "NaT", "NaT"], "<m8[ms]"),
}


def same(found, expected):
    """Whether values and type are the same. NaN and NaT equal themselves."""
    if found.dtype.newbyteorder("=") != expected.dtype.newbyteorder("="):
        return False
    if expected.dtype.kind in "mM":
        return numpy.array_equal(found.astype("i8"), expected.astype("i8"))
    return numpy.array_equal(found, expected, equal_nan=expected.dtype.kind == "f")


def main():
    failed, count = [], 0
    for name in ["v2.zarr", "v3.zarr"]:
        path = Path(sys.argv[1]) / name
        group = zarr.open_group(path, mode="r")
        for variable, expected in EXPECTED.items():
            found = group[variable][...]
            count += 1
            if not same(found, expected):
                failed.append(f"{name}/{variable}: expected {expected!r}, found {found!r}")
        attributes = {
            "multiscales": (group.attrs, [{"axes": ["y", "x"], "version": "0.4"}]),
            "truth": (group.attrs, True),
            "nested": (group["half"].attrs, {"a": [1, None, {"b": True}], "c": "日本"}),
        }
        for attribute, (found, expected) in attributes.items():
            count += 1
            if found[attribute] != expected or type(found[attribute]) is not type(expected):
                failed.append(f"{name}:{attribute}: expected {expected!r}, found {found[attribute]!r}")
        # xarray takes the fill value of V2 for missing data, so only written elements count.
        dataset = xarray.open_zarr(path, consolidated=False, mask_and_scale=False)
        for variable, expected in EXPECTED.items():
            found = dataset[variable].values[:3]
            count += 1
            # xarray shows days as seconds.
            expected = expected[:3].astype(found.dtype) if expected.dtype.kind == "M" else expected[:3]
            if not same(found, expected):
                failed.append(f"xarray {name}/{variable}: expected {expected!r}, found {found!r}")
    print("\n".join([*failed, f"{count} values of types that only Zarr has, {len(failed)} differ"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
