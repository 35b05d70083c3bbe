"""Tasks of Ray write misaligned regions of one variable, and append records.

    pip install ray
    python ray_regions.py FOLDER
"""
import sys
from pathlib import Path

import numpy as np
import ray

import nczarr

ROWS, COLUMNS, PARTS = 60, 8, 7


@ray.remote
def write(writer, start, stop):
    """Stores its rows before it returns, so Ray may run it again at any time."""
    writer[start:stop] = np.arange(start * COLUMNS, stop * COLUMNS, dtype="f4").reshape(-1, COLUMNS)


@ray.remote
def append(writer, value):
    return writer.append(np.full((1, COLUMNS), value, "f4"))


def main(folder):
    place = Path(folder, "ray.zarr")
    with nczarr.create(place, "nczarr-v3") as file:
        file.create_dimension("row", ROWS)
        file.create_dimension("record")
        file.create_dimension("column", COLUMNS)
        file.create_variable("t", "f4", ["row", "column"], chunks=(16, COLUMNS))
        file.create_variable("log", "f4", ["record", "column"], chunks=(4, COLUMNS))
    edges = np.linspace(0, ROWS, PARTS + 1, dtype=int).tolist()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        ray.get([write.remote(nczarr.Writer(place, "t"), *part) for part in zip(edges, edges[1:])])
        starts = ray.get([append.remote(nczarr.Writer(place, "log"), value) for value in range(8)])
    finally:
        ray.shutdown()
    with nczarr.open(place) as file:
        assert np.array_equal(file["t"][:].ravel(), np.arange(ROWS * COLUMNS))
        assert sorted(starts) == list(range(8)) and [file["log"][at, 0] for at in starts] == list(range(8))
    print(f"{PARTS} tasks wrote {ROWS} rows, and 8 appended; none is lost")


if __name__ == "__main__":
    main(sys.argv[1])
