#!/usr/bin/env python3
"""Runner for the libraries with a Python interface. One process runs one operation; see ../README.md.

Imports run before the clock starts. The time includes the cost of Python calls, because users pay it too.
"""
import argparse
import json
import math
import os
import shutil
import time

import numpy as np

from libraries import ADAPTERS, Skip

MASK = (1 << 64) - 1


def ints(text):
    return tuple(int(n) for n in text.split(",")) if text else ()


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True, choices=ADAPTERS)
    parser.add_argument("--op", required=True)
    parser.add_argument("--format", default="v2")
    parser.add_argument("--store", default="file")
    parser.add_argument("--codec", default="none")
    parser.add_argument("--dtype", default="f4")
    parser.add_argument("--shape", type=ints, default=())
    parser.add_argument("--chunks", type=ints, default=())
    parser.add_argument("--shards", type=ints, default=())
    parser.add_argument("--path", required=True)
    parser.add_argument("--data", default="")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", default="open")
    parser.add_argument("--cache", type=int, default=256 << 20)
    parser.add_argument("--box", type=ints, default=(32, 32, 32))
    parser.add_argument("--stride", type=ints, default=(2, 2, 2))
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--nvars", type=int, default=100)
    parser.add_argument("--consolidated", action="store_true")
    parser.add_argument("--fsync", action="store_true")
    parser.add_argument("--url", default="")
    job = parser.parse_args()
    job.native = np.dtype(job.dtype.lstrip(">"))
    job.stored = np.dtype(job.dtype if job.dtype.startswith(">") else "<" + job.dtype)
    return job


def peak_kb():
    """Returns VmHWM. An exec inherits ru_maxrss from the parent, so that value would be wrong."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


class Sum:
    """The sum over little-endian 64-bit words w_i of w_i * (2 i + 1), the last word padded with zeros."""

    def __init__(self):
        self.total, self.words, self.rest = 0, 0, b""

    def add(self, array):
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        data = memoryview(array).cast("B") if array.size else b""
        for at in range(0, len(data), 8 << 20):
            self.add_bytes(self.rest + bytes(data[at:at + (8 << 20)]))

    def add_bytes(self, data):
        whole = len(data) // 8 * 8
        self.rest = data[whole:]
        words = np.frombuffer(data[:whole], "<u8")
        factors = np.arange(self.words, self.words + len(words), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self.total = (self.total + int((words * factors).sum(dtype=np.uint64))) & MASK
        self.words += len(words)

    def hex(self):
        if self.rest:
            self.add_bytes(self.rest.ljust(8, b"\0"))
        return "%016x" % self.total


class Timed:
    """Measures the body of `with`: wall and process CPU seconds, and peak memory before and after."""

    def __enter__(self):
        self.base = peak_kb()
        self.cpu, self.seconds = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds, self.cpu = time.perf_counter() - self.seconds, time.process_time() - self.cpu
        self.peak = peak_kb()

    def line(self, arrays=(), n=1, checksum=None):
        total = Sum()
        for array in arrays:
            total.add(array)
        return {"seconds": self.seconds, "cpu": self.cpu, "bytes": int(sum(array.nbytes for array in arrays)),
                "base_rss_kb": self.base, "rss_kb": self.peak, "checksum": total.hex() if checksum is None else checksum,
                "n": n}


def load(job):
    """Returns the elements to write. At the end of the file it starts again from the beginning."""
    count = math.prod(job.shape)
    array = np.fromfile(job.data, job.native, count=count)
    if array.size < count:
        array = np.resize(array, count)
    return array.reshape(job.shape).astype(job.stored, copy=False)


def wipe(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def selections(job):
    """Returns the parts to read. Positions come from the sequence of all runners: one number per axis, except
    for axes that are read whole."""
    counts = [1] * len(job.shape)
    if job.op == "row":
        counts[-1] = job.shape[-1]
    elif job.op == "series":
        counts[0] = job.shape[0]
    elif job.op == "box":
        counts = job.box
    state = job.seed & MASK
    for _ in range(job.count):
        part = []
        for count, length in zip(counts, job.shape):
            start = 0
            if count != length or count == 1 or job.op == "box":
                state = (state * 6364136223846793005 + 1442695040888963407) & MASK
                start = (state >> 33) % (length - count + 1)
            part.append(slice(start, start + count))
        yield tuple(part)


def access(job, library):
    parts = list(selections(job))
    if job.mode == "cold":
        with Timed() as timed:
            found = [library.read(library.open(), part) for part in parts]
        return timed.line(found, len(parts))
    handle = library.open(job.cache if job.mode == "warm" else 0)
    if job.mode == "warm":
        for part in parts:
            library.read(handle, part)
    with Timed() as timed:
        found = [library.read(handle, part) for part in parts]
    return timed.line(found, len(parts))


def do(job, library):
    whole = tuple(slice(0, length) for length in job.shape)
    if job.op in ("elem", "row", "box", "series"):
        return access(job, library)
    if job.op in ("write", "append"):
        data = load(job)
        wipe(job.path)
        with Timed() as timed:
            library.write(data) if job.op == "write" else library.append_all(data, job.count)
        return timed.line([data]) if job.op == "write" else timed.line([data[:job.count]], job.count)
    if job.op == "read":
        with Timed() as timed:
            found = library.read(library.open(), whole)
        return timed.line([found])
    if job.op == "conv":
        with Timed() as timed:
            found = library.read(library.open(), whole).astype("f8")
            found *= 0.005
            found += 273.0
        return timed.line([found])
    if job.op == "vars":
        part = tuple(slice(0, length, step) for length, step in zip(job.shape, job.stride))
        with Timed() as timed:
            found = library.read(library.open(), part)
        return timed.line([found])
    if job.op == "open":
        with Timed() as timed:
            for _ in range(job.count):
                library.open()
        return timed.line(n=job.count, checksum="")
    if job.op == "list":
        with Timed() as timed:
            count = library.list_keys()
        return timed.line(n=count, checksum=str(count))
    if job.op == "meta_write":
        wipe(job.path)
        with Timed() as timed:
            library.meta_write()
        return timed.line(n=job.nvars, checksum="")
    if job.op == "meta_open":
        with Timed() as timed:
            total = library.meta_open()
        return timed.line(n=job.nvars, checksum=str(total))
    raise Skip("op")


def main():
    job = arguments()
    try:
        stores = ("file", "s3") if job.peer == "tensorstore" else ("file",)
        if job.store not in stores + (("zip",) if job.format not in ("h5", "cdf5") else ()):
            raise Skip(f"store {job.store} for format {job.format}")
        line = do(job, ADAPTERS[job.peer](job))
    except Skip as why:
        line = {"skip": str(why)}
    except (AttributeError, KeyError, NotImplementedError) as error:
        line = {"skip": f"unsupported: {error!r}"}
    print(json.dumps({"peer": job.peer, "op": job.op, **line}))


if __name__ == "__main__":
    main()
