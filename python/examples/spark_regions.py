"""Tasks of Spark write misaligned regions of one variable.

    pip install pyspark        # Spark needs Java
    python spark_regions.py FOLDER
"""
import os
import sys
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

import nczarr

ROWS, COLUMNS, PARTS = 60, 8, 7


def main(folder):
    place = Path(folder, "spark.zarr")
    with nczarr.create(place, "zarr-v3") as file:
        file.create_dimension("row", ROWS)
        file.create_dimension("column", COLUMNS)
        file.create_variable("t", "f4", ["row", "column"], chunks=(16, COLUMNS))
    writer = nczarr.Writer(place, "t")

    def write(part):
        # Stores its rows before it returns, so Spark may run it again at any time, or twice at once.
        start, stop = part
        writer[start:stop] = np.arange(start * COLUMNS, stop * COLUMNS, dtype="f4").reshape(-1, COLUMNS)
        return stop - start

    edges = np.linspace(0, ROWS, PARTS + 1, dtype=int).tolist()
    # The workers need the packages of this interpreter.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        parts = session.sparkContext.parallelize(list(zip(edges, edges[1:])), PARTS)
        rows = parts.map(write).sum()
    finally:
        session.stop()
    with nczarr.open(place) as file:
        assert rows == ROWS and np.array_equal(file["t"][:].ravel(), np.arange(ROWS * COLUMNS))
    print(f"{PARTS} tasks wrote {rows} rows; none is lost")


if __name__ == "__main__":
    main(sys.argv[1])
