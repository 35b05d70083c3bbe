#!/usr/bin/env python3
"""Compares two C libraries under the same program: the cases of HDF5, classic files, metadata and appends.

exchange.py RUNNER THEIRS OURS. RUNNER is runners/netcdf_c.c, linked to libnetcdf.so.19 or .22. THEIRS and OURS are folders
with a library of that name. DATA names the values, as for run.py; IN and OUT in its folder are replaced."""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess

from cases import cases

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("runner")
parser.add_argument("libraries", nargs=2, metavar=("THEIRS", "OURS"))
parser.add_argument("--data", required=True, type=pathlib.Path)
parser.add_argument("--rounds", type=int, default=3)
given = parser.parse_args()
source, target = given.data.parent / "exchange-in", given.data.parent / "exchange-out"


def run(library, arguments):
    words = [given.runner]
    for name, value in arguments.items():
        if not name.startswith("_"):
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    environment = dict(os.environ, LD_LIBRARY_PATH=library)
    lines = subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return next(json.loads(line) for line in reversed(lines) if line.startswith("{"))


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


made = None
print("| case | theirs ms | ours ms | ratio |\n|---|---|---|---|")
for case in cases("128"):
    # The runner writes Zarr V2 only.
    if case.group not in ("hdf5", "classic", "meta", "append") or "v3" in case.name:
        continue
    if case.input and case.input != made:
        remove(source)
        run(given.libraries[0], {"op": "write", **case.input, "path": source, "data": given.data})
        made = case.input
    seconds = [[], []]
    for turn in range(given.rounds):
        for which in sorted((0, 1), reverse=turn % 2 == 1):
            if not case.input:
                remove(target)
            place = source if case.input else target
            done = run(given.libraries[which], {**case.args, "path": place, "data": given.data})
            seconds[which].append(done["seconds"])
    theirs, ours = (statistics.median(times) * 1e3 for times in seconds)
    print(f"| {case.name} | {theirs:.1f} | {ours:.1f} | {theirs / ours:.2f} |", flush=True)
remove(source)
remove(target)
