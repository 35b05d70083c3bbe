"""Filters of hdf5plugin's shared libraries: h5py writes with them, ncz reads with the same libraries in its host.

usage: filter_plugins.py NCZ DIRECTORY
"""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np

# The filters that the library has not built in.
FILTERS = {
    "bitshuffle": hdf5plugin.Bitshuffle(),
    "bitshuffle_zstd": hdf5plugin.Bitshuffle(cname="zstd"),
    "blosc2": hdf5plugin.Blosc2(cname="zstd"),
    "zfp": hdf5plugin.Zfp(reversible=True),
    "sz3": hdf5plugin.SZ3(absolute=0.01),
    "sperr": hdf5plugin.Sperr(absolute=0.01),
}
SHAPE = (100, 120, 40)


def write(path):
    """Write one dataset for each filter. Return the values that h5py reads back."""
    field = np.sin(np.arange(np.prod(SHAPE), dtype="f4") / 1000).reshape(SHAPE)
    with h5py.File(path, "w") as file:
        for name, options in FILTERS.items():
            file.create_dataset(name, data=field, chunks=(50, 60, 40), **options)
    with h5py.File(path) as file:
        return {name: file[name][:] for name in FILTERS}


def run(ncz, path, name, enabled):
    environment = dict(os.environ, HDF5_PLUGIN_PATH=hdf5plugin.PLUGIN_PATH)
    if enabled:
        environment["NCZARR_FILTER_PLUGINS"] = "1"
    command = [ncz, "cat", str(path), f"/{name}", "--format", "raw"]
    return subprocess.run(command, env=environment, capture_output=True)


def main():
    ncz, directory = sys.argv[1], Path(sys.argv[2])
    directory.mkdir(parents=True)
    path = directory / "plugins.h5"
    failed = 0
    for name, expected in write(path).items():
        done = run(ncz, path, name, enabled=True)
        if done.returncode or done.stdout != expected.tobytes():
            print(f"{name}: {len(done.stdout)} bytes, {done.stderr.decode(errors='replace')[:300]}")
            failed += 1
        without = run(ncz, path, name, enabled=False)
        if without.returncode == 0 or b"filter" not in without.stderr:
            print(f"{name}: read without its plugin: {without.stderr.decode(errors='replace')[:300]}")
            failed += 1
    print(f"filter plugins: {len(FILTERS)} filters of hdf5plugin, {failed} failures")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
