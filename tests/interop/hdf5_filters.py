"""Tests registered HDF5 filters in HDF5 files. HDF5 with hdf5plugin reads the files of `ncz`, and `ncz` reads
its files.

usage: hdf5_filters.py NCZ WORK
"""

import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin
import numpy

# Each filter in the notation of CDL and of hdf5plugin.
FILTERS = {
    "lz4": ("32004", hdf5plugin.LZ4()),
    "lz4_blocks": ("32004,64", hdf5plugin.LZ4(nbytes=64)),
    "lz4_odd": ("2|32004,101", {"shuffle": True, **hdf5plugin.LZ4(nbytes=101)}),
    "lz4_sum": ("32004,0,10|3", {"fletcher32": True, **hdf5plugin.LZ4(nbytes=1 << 20)}),
    "zstd": ("32015,5", hdf5plugin.Zstd(5)),
    "zstd_fast": ("32015,4294967291", hdf5plugin.Zstd(-5)),
    "bzip2": ("307,1", hdf5plugin.BZip2(1)),
    "bzip2_shuffled": ("2|307,9", {"shuffle": True, **hdf5plugin.BZip2(9)}),
    "lzf": ("32000", {"compression": "lzf"}),
    "gzip": ("2|1,5", {"shuffle": True, "compression": "gzip", "compression_opts": 5}),
}
for number, cname in enumerate(("blosclz", "lz4", "lz4hc", None, "zlib", "zstd")):
    for shuffle in range(3) if cname else ():
        FILTERS[f"blosc_{cname}_{shuffle}"] = (f"32001,0,0,0,0,5,{shuffle},{number}", hdf5plugin.Blosc(cname, 5, shuffle))

RNG = numpy.random.default_rng(3)
DATA = {
    "int": numpy.concatenate([numpy.arange(150) // 7, RNG.integers(0, 1 << 30, 60)]).astype("<i4"),
    "double": numpy.round(numpy.sin(numpy.arange(210) / 9), 2),
}
KINDS = {"int": "i", "double": "f"}


def main():
    ncz, work = sys.argv[1], Path(sys.argv[2])
    work.mkdir()
    failed = []

    def check(what, found, expected):
        if not (found.shape == expected.shape and (found == expected).all()):
            failed.append(f"{what}: {found.tolist()!r:.80}")

    names = [(f"{kind}_{name}", kind, *how) for kind in DATA for name, how in FILTERS.items()]
    text = ["netcdf x {", "dimensions: x = 210 ;", "variables:"]
    for name, kind, ours, _ in names:
        text.append(f'{kind} {name}(x) ; {name}:_ChunkSizes = 80 ; {name}:_Filter = "{ours}" ;')
    text.append("data:")
    text += [f"{name} = {', '.join(repr(value) for value in DATA[kind].tolist())} ;" for name, kind, *_ in names]
    (work / "ours.cdl").write_text("\n".join([*text, "}"]))
    subprocess.run([ncz, "gen", "-4", work / "ours.cdl", "-o", work / "ours.nc"], check=True)
    with h5py.File(work / "ours.nc") as file:
        for name, kind, ours, _ in names:
            found = [file[name].id.get_create_plist().get_filter(at)[0] for at in range(ours.count("|") + 1)]
            expected = [int(one.split(",")[0]) for one in ours.split("|")]
            check(f"filters of {name}", numpy.array(found), numpy.array(expected))
            try:
                check(f"HDF5 reads {name}", file[name][:], DATA[kind])
            except OSError as error:
                failed.append(f"HDF5 reads {name}: {error}")
    with h5py.File(work / "theirs.h5", "w") as file:
        for name, kind, _, theirs in names:
            file.create_dataset(name, data=DATA[kind], chunks=(80,), **theirs)
    # Copies to a file without filters, which HDF5 reads without plug-ins, and copies by way of Zarr.
    for way in (["-F", "none"], ["-k", "nczarr"], ["-k", "nczarr", "v3"]):
        kind = way[:2]
        between = work / ("between-" + "-".join(way).strip("-").replace(" ", ""))
        target = f"{between}#mode=v3" if len(way) > 2 else str(between)
        args = ["-k", "nc4", "--filter", "none"] if kind[0] == "-F" else kind
        done = subprocess.run([ncz, "copy", *args, work / "theirs.h5", target], capture_output=True, text=True, check=False)
        if done.returncode:
            failed.append(f"copy {way}: {done.stderr}")
            continue
        last = between
        if kind[0] != "-F":
            last = work / (between.name + ".nc")
            subprocess.run([ncz, "copy", "-k", "nc4", between, last], check=True, capture_output=True)
        with h5py.File(last) as file:
            for name, kind, *_ in names:
                check(f"{' '.join(way)}: {name}", file[name][:], DATA[kind])
    for line in failed:
        print("  FAILED", line)
    print(f"HDF5 and nczarr read each other's chunks with {len(FILTERS)} filters: {len(failed)} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
