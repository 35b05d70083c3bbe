#!/usr/bin/env python3
"""Prints and rechunks a variable of 4 GiB, which is larger than the allowed memory.

    benches/large.py                 # builds ncz, optimised
    benches/large.py path/to/ncz     # one that was built
    benches/large.py --mib 256 …     # a smaller one, to try it out

* `dump`: `ncz dump` of a variable without stored chunks, to /dev/null. Peak memory is at most 64 MiB.
* `rechunk`: `ncz copy` from columns of all times (chunks of time x 16 x 16) to whole maps (1 x side x side).
  Peak memory is at most 256 MiB. For comparison `cp -r` copies the same files. Some values of the copy are
  compared.

It needs Python's standard library, and free disk space in TMPDIR for 3 times the variable.
"""

import argparse
import array
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
SIDE = 1024
COLUMN = 16


def built():
    """Builds the program, and returns its path."""
    command = ["cargo", "build", "-q", "--release", "-p", "nczarr-cli", "--manifest-path", HERE / "Cargo.toml"]
    subprocess.run(command, check=True)
    return os.path.join(os.environ.get("CARGO_TARGET_DIR", HERE / "target"), "release", "ncz")


def store(root, times, chunks):
    """Makes a Zarr store with one variable without chunks. Returns the folder for the chunks."""
    folder = root / "v"
    folder.mkdir(parents=True)
    (root / ".zgroup").write_text('{"zarr_format": 2}')
    about = {"zarr_format": 2, "shape": [times, SIDE, SIDE], "chunks": chunks, "dtype": "<f4", "fill_value": 0.0,
             "order": "C", "compressor": None, "filters": None, "dimension_separator": "."}
    (folder / ".zarray").write_text(json.dumps(about))
    (folder / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["time", "y", "x"]}')
    return folder


def value(time, y, x):
    """Returns the value at an index: a number that a float holds exactly."""
    return (time * 31 + y * 7 + x * 3) % 65536


def columns(root, times):
    """Makes the variable in columns of all times. The value of an element depends on its index."""
    folder = store(root, times, [times, COLUMN, COLUMN])
    for row in range(SIDE // COLUMN):
        for column in range(SIDE // COLUMN):
            chunk = array.array("f", bytes(4 * times * COLUMN * COLUMN))
            # One point of each time is enough for the check, and is quickly made.
            for at in range(times):
                first = at * COLUMN * COLUMN
                chunk[first] = value(at, row * COLUMN, column * COLUMN)
            if sys.byteorder == "big":
                chunk.byteswap()
            (folder / f"0.{row}.{column}").write_bytes(chunk.tobytes())


def run(name, command, **more):
    """Runs a command. Returns its time, and its peak memory in MiB."""
    began = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], **more)
    _, status, used = os.wait4(process.pid, 0)
    took = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{name}: exit code {process.returncode}")
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
    peak = used.ru_maxrss / scale
    print(f"{name:24} {took:8.1f} s {peak:8.0f} MiB", flush=True)
    return took, peak


def point(ncz, path, index):
    """Returns one value of a store."""
    start = ",".join(map(str, index))
    command = [ncz, "cat", path, "/v", "--start", start, "--count", "1,1,1", "--format", "text"]
    return float(subprocess.run([str(part) for part in command], check=True, capture_output=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ncz", nargs="?", help="the program; it is built if none is named")
    parser.add_argument("--mib", type=int, default=4096, help="the size of the variable, in MiB (a multiple of 4)")
    arguments = parser.parse_args()
    ncz = arguments.ncz or built()
    times = arguments.mib // 4
    room = pathlib.Path(tempfile.mkdtemp(prefix="ncz-large-"))
    failed = []
    try:
        print(f"{arguments.mib} MiB: {times} x {SIDE} x {SIDE} floats")
        store(room / "empty.zarr", times, [16, 256, 256])
        with open(os.devnull, "wb") as nowhere:
            _, peak = run("dump, nothing stored", [ncz, "dump", room / "empty.zarr"], stdout=nowhere)
        if peak > 64:
            failed.append(f"dump: {peak:.0f} MiB, 64 are allowed")
        columns(room / "columns.zarr", times)
        copied, _ = run("cp -r", ["cp", "-r", room / "columns.zarr", room / "copy.zarr"])
        shutil.rmtree(room / "copy.zarr")
        target = f"{room / 'maps.zarr'}#mode=zarr"
        command = [ncz, "copy", "--memory", "256M", "-c", f"time/1,y/{SIDE},x/{SIDE}", room / "columns.zarr", target]
        took, peak = run("rechunk within 256 MiB", command)
        print(f"{'':24} {took / copied:8.1f} times cp -r")
        if peak > 256:
            failed.append(f"rechunk: {peak:.0f} MiB, 256 are allowed")
        last = (times - 1, SIDE - COLUMN, SIDE - COLUMN)
        for index in [(0, 0, 0), (times // 2, 16, 512), (times // 3, 512, 16), last]:
            found = point(ncz, room / "maps.zarr", index)
            if found != value(*index):
                failed.append(f"rechunk: {found} at {index}, expected {value(*index)}")
        if point(ncz, room / "maps.zarr", (1, 1, 1)) != 0.0:
            failed.append("rechunk: a value where there is none")
    finally:
        shutil.rmtree(room)
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
