#!/usr/bin/env python3
"""Runs each command with the library of netCDF-C and with that in LIBRARY, on CDF-1, netCDF-4, NCZarr and Zarr V3.

compare.py LIBRARY FOLDER. Outputs are compared by `ncdump` of netCDF-C. The reference for Zarr input is netCDF-4 input."""
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys

import commands

library, folder = sys.argv[1], pathlib.Path(sys.argv[2])
# NCO copies the input as a file first, with `cp`, also when it is a URL.
COPYING = ("ncatted", "ncrename")

QUIET = dict(os.environ, CDO_HISTORY_INFO="0", LC_ALL="C")
QUIET.pop("LD_LIBRARY_PATH", None)
OURS = dict(QUIET, LD_LIBRARY_PATH=library)


def cdl(seed):
    """Describes a small model output with missing values, packed values and two kinds of vertical axis."""
    draw = random.Random(seed)
    times, levels, lats, lons = 12, 3, 8, 16

    def values(count, low, high, digits, missing=None):
        drawn = (f"{draw.uniform(low, high):.{digits}f}" for _ in range(count))
        return ", ".join(missing if missing and draw.random() < 0.05 else value for value in drawn)

    one, deep = times * lats * lons, times * levels * lats * lons
    return f"""netcdf model {{
dimensions: time = UNLIMITED ; lev = {levels} ; lat = {lats} ; lon = {lons} ;
variables:
  double time(time) ; time:units = "days since 1980-01-01 00:00:00" ; time:calendar = "standard" ;
    time:standard_name = "time" ; time:axis = "T" ;
  double lev(lev) ; lev:units = "hPa" ; lev:standard_name = "air_pressure" ; lev:positive = "down" ; lev:axis = "Z" ;
  double lat(lat) ; lat:units = "degrees_north" ; lat:standard_name = "latitude" ; lat:axis = "Y" ;
  double lon(lon) ; lon:units = "degrees_east" ; lon:standard_name = "longitude" ; lon:axis = "X" ;
  float tas(time, lat, lon) ; tas:units = "K" ; tas:long_name = "near-surface temperature" ;
    tas:_FillValue = 1.e20f ; tas:missing_value = 1.e20f ;
  float ta(time, lev, lat, lon) ; ta:units = "K" ; ta:long_name = "temperature" ;
  short pr(time, lat, lon) ; pr:units = "mm" ; pr:scale_factor = 0.01 ; pr:add_offset = 100. ; pr:_FillValue = -32768s ;
  double orog(lat, lon) ; orog:units = "m" ; orog:long_name = "height" ;
  :Conventions = "CF-1.8" ; :title = "made for tests" ;
data:
  time = {", ".join(str(15.5 + 30.5 * month) for month in range(times))} ;
  lev = 850, 500, 250 ;
  lat = {", ".join(str(-78.75 + 22.5 * row) for row in range(lats))} ;
  lon = {", ".join(str(22.5 * column) for column in range(lons))} ;
  tas = {values(one, 240, 310, 2, "1.e20")} ;
  ta = {values(deep, 200, 300, 3)} ;
  pr = {values(one, -9000, 9000, 0, "-32768")} ;
  orog = {values(lats * lons, 1, 4000, 1)} ;
}}
"""


def run(environment, command):
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def must(environment, *command):
    done = run(environment, command)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def inputs():
    """Returns, for each kind of input, its two files with our library and with the reference."""
    made = {}
    for seed, name in ((1, "one"), (2, "two")):
        text = folder / f"{name}.cdl"
        text.write_text(cdl(seed))
        for kind, flag in (("cdf1", "-3"), ("netcdf4", "-4")):
            file = folder / f"{name}-{kind}.nc"
            must(QUIET, "ncgen", flag, "-o", file, text)
            made.setdefault(kind, ([], []))
            for side in made[kind]:
                side.append(str(file))
        # ncks sorts variables, so the reference reads a copy by ncks as well.
        sorted_file = folder / f"{name}-sorted.nc"
        must(QUIET, "ncks", "-h", "-O", folder / f"{name}-netcdf4.nc", sorted_file)
        for kind, mode in (("nczarr2", "nczarr,file"), ("nczarr3", "nczarr,v3")):
            url = f"file://{folder}/{name}-{kind}#mode={mode}"
            must(OURS, "ncks", "-h", "-O", folder / f"{name}-netcdf4.nc", url)
            made.setdefault(kind, ([], []))[0].append(url)
            made[kind][1].append(str(sorted_file))
    return made


def outcome(environment, command, files, path):
    """Runs the command and returns its text, or the content of its output."""
    names = {"{in}": files[0], "{other}": files[1], "{out}": str(path)}
    done = run(environment, [names.get(word, word) for word in command.split(" ")])
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.strip()}"
    if not path.exists():
        return normal(done.stdout)
    text = must(QUIET, "ncdump", "-k", path) + must(QUIET, "ncdump", "-n", "x", "-p9,17", path)
    path.unlink()
    return text


def normal(text):
    """Removes the names of files and the lines that name the format of the input."""
    lines = [line for line in text.splitlines() if "File format" not in line and not line.startswith("netcdf ")]
    return re.sub(r"\S*/(one|two)-\S+", "INPUT", "\n".join(lines))


def compare(number, kind, command, ours, theirs):
    """Returns why the outputs differ, or None."""
    expected = outcome(QUIET, command, theirs, folder / f"{number}-theirs.nc")
    if expected.startswith("exit"):
        return f"{kind}: {command}: the reference fails: {expected}"
    found = outcome(OURS, command, ours, folder / f"{number}-ours.nc")
    return None if found == expected else f"{kind}: {command}:\n{difference(expected, found)}"


def main():
    cases = []
    for kind, (ours, theirs) in inputs().items():
        written = "nc" if kind == "cdf1" else "nc4"
        for command in commands.NCO + commands.CDO:
            if kind.startswith("nczarr") and command.startswith(COPYING):
                continue
            cases.append((len(cases), kind, command.replace("{format}", written), ours, theirs))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        failures = list(filter(None, workers.map(lambda case: compare(*case), cases)))
    print(f"{len(cases) - len(failures)} of {len(cases)} outputs of NCO and CDO are equal")
    print(*failures, sep="\n", end="")
    return 1 if failures or not cases else 0


def difference(expected, found):
    """Returns the first lines that differ."""
    lines = zip(expected.splitlines(), found.splitlines())
    pairs = [(left, right) for left, right in lines if left != right][:4]
    return "\n".join(f"  expected {left[:150]}\n  found    {right[:150]}" for left, right in pairs) or "  lengths differ"


sys.exit(main())
