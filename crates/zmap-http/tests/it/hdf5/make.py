"""Makes files of 200,000 chunks with few stored ones, for each kind of chunk index in HDF5 1.10.

Element k of "v" in C order is k % 251 in the stored chunks, and 0 in all others."""
import gzip, sys
import h5py
import numpy as np

COUNT = 200_000
STORED = [*range(0, 40), *range(700, 720), 1023, 1024, 4095, 4096, 65_535, 65_536, *range(123_450, 123_470), COUNT - 1]
KINDS = {
    "implicit": dict(),
    "fixed": dict(),
    "fixed-filtered": dict(compression=1),
    "extensible": dict(maxshape=(None, 4)),
    "extensible-filtered": dict(maxshape=(None, 4), compression=1),
    "tree2": dict(maxshape=(None, None)),
    "tree2-filtered": dict(maxshape=(None, None), compression=1),
}
for kind, how in KINDS.items():
    name = f"{sys.argv[1]}/far-{kind}.h5"
    with h5py.File(name, "w", libver=("v110", "v110")) as f:
        if kind == "implicit":
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((1, 4))
            plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            h5py.h5d.create(f.id, b"v", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((COUNT, 4)), plist)
            v = f["v"]
        else:
            v = f.create_dataset("v", (COUNT, 4), "u1", chunks=(1, 4), **how)
        v.attrs["units"] = "K"
        for at in STORED:
            v[at] = (np.arange(4 * at, 4 * at + 4) % 251).astype("u1")
    with open(name, "rb") as f, gzip.GzipFile(name + ".gz", "wb", 9, mtime=0) as z:
        z.write(f.read())
