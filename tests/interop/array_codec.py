"""Tests a codec of arrays that a plugin adds. zarr-python with numcodecs reads what the example program writes
through `pcodec`, and the program reads the stores of zarr-python.

usage: array_codec.py LINKED_NCZ WORK
"""

import io
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numcodecs
import numpy
import zarr
from zarr.codecs import BytesCodec, ZstdCodec
from zarr.codecs import numcodecs as v3

TYPES = ["i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8"]
SHAPE, CHUNKS = (10, 7, 5), (4, 7, 2)
RNG = numpy.random.default_rng(11)


def data(kind):
    steps = numpy.cumsum(RNG.integers(-50, 60, SHAPE), axis=0) + 1000
    return steps.astype(kind) if kind[0] != "f" else (steps / 8).astype(kind)


def layouts(pcodec):
    """The chains of Zarr V3 in which the codec may stand. numcodecs cannot encode it after a transposition."""
    yield "alone", {"serializer": pcodec, "compressors": None}
    yield "compressed", {"serializer": pcodec, "compressors": [ZstdCodec(level=1)]}
    yield "sharded", {"serializer": pcodec, "compressors": None, "shards": (8, 7, 4)}
    yield "none", {"serializer": BytesCodec(), "compressors": None}


def main():
    ncz, work = sys.argv[1], Path(sys.argv[2])
    work.mkdir()
    passed, failed = 0, []

    def check(what, found, expected):
        nonlocal passed
        if found.shape == expected.shape and (found == expected).all():
            passed += 1
        else:
            failed.append(f"{what}: {found.tolist()!r:.80}")

    def call(*args):
        done = subprocess.run([ncz, *map(str, args)], capture_output=True)
        if done.returncode:
            failed.append(f"{args}: {done.stderr.decode()}")
        return done.stdout

    def ours(url, name):
        return numpy.load(io.BytesIO(call("cat", url, name)))

    def codecs(array):
        found = json.loads((array / "zarr.json").read_text())["codecs"]
        return [codec["name"] for codec in found]

    for kind in TYPES:
        values = data(kind)
        theirs = work / f"theirs_{kind}.zarr"
        group = zarr.open_group(theirs, mode="w", zarr_format=3)
        for level in (0, 8):
            for name, layout in layouts(v3.PCodec(level=level)):
                array = group.create_array(
                    f"{name}_{level}", shape=SHAPE, chunks=CHUNKS, dtype=kind, fill_value=3,
                    dimension_names=["t", "y", "x"], **layout)
                # The last chunks are absent.
                array[:8] = values[:8]
        expected = values.copy()
        expected[8:] = 3
        for name in group:
            check(f"V3 {kind} {name}: their store", ours(f"{theirs}#mode=zarr,v3", name), expected)
        copy = work / f"ours_{kind}.zarr"
        for level in (0, 8):
            call("copy", "-F", f"*,pcodec,{level}", f"{theirs}#mode=zarr,v3", f"{copy}{level}#mode=zarr,v3")
            found = zarr.open_group(f"{copy}{level}", mode="r")
            for name in group:
                check(f"V3 {kind} {name}, level {level}: our store", found[name][:], expected)
                if "shard" not in name and codecs(Path(f"{copy}{level}") / name) != ["numcodecs.pcodec"]:
                    failed.append(f"V3 {kind} {name}: codecs {codecs(Path(f'{copy}{level}') / name)}")
        old = work / f"theirs_v2_{kind}.zarr"
        group = zarr.open_group(old, mode="w", zarr_format=2)
        codec = numcodecs.PCodec(level=5)
        for name, layout in {
            "filter": {"filters": [codec], "compressors": None},
            "compressor": {"compressors": codec},
            "both": {"filters": [codec], "compressors": numcodecs.Zstd(1)},
        }.items():
            array = group.create_array(name, shape=SHAPE, chunks=CHUNKS, dtype=kind, fill_value=3, **layout)
            array[:8] = values[:8]
        for name in group:
            check(f"V2 {kind} {name}: their store", ours(f"{old}#mode=zarr", name), expected)
        call("copy", "-F", "*,pcodec,8", f"{old}#mode=zarr", f"{work}/ours_v2_{kind}.zarr#mode=zarr")
        found = zarr.open_group(work / f"ours_v2_{kind}.zarr", mode="r", zarr_format=2)
        for name in group:
            check(f"V2 {kind} {name}: our store", found[name][:], expected)
    print(f"pcodec: {passed} passed, {len(failed)} failed")
    print("\n".join(failed[:20]))
    sys.exit(bool(failed))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
