#!/usr/bin/env python3
"""Makes data as in geoscience: waves, a trend and some white noise, rounded to 1/128. All runs are equal.

    field.py --shape 128,512,512 --dtype f4 --out cube.raw

Types: f4, f8, i2 (packed: (T - 273) / 0.005). With shuffle the data compress 3 to 4 times.
"""
import argparse
import math
import os

import numpy as np


def layers(shape, seed):
    """Yields the field, one (y, x) layer after another."""
    *lead, ys, xs = (1, 1) + tuple(shape) if len(shape) < 3 else shape
    rng = np.random.Generator(np.random.Philox(seed))
    x, y = np.arange(xs)[None, :] / 512.0, np.arange(ys)[:, None] / 512.0
    base = 273.15 + 25 * np.cos(np.pi * (y - 0.5)) + 4 * np.sin(6 * np.pi * x)
    for layer in range(math.prod(lead)):
        phase = 2 * np.pi * (layer % lead[-1]) / 97.0
        field = base + 6 * np.sin(phase) + 3 * np.sin(4 * np.pi * x + 2 * np.pi * y + phase) \
            + 1.5 * np.cos(14 * np.pi * x - 10 * np.pi * y + 3 * phase)
        yield np.round((field + rng.normal(0, 0.05, size=field.shape)) * 128) / 128


def write(path, shape, dtype, seed=1):
    """Writes the field as raw little-endian elements. The file appears when it is complete."""
    with open(path + ".part", "wb") as out:
        for field in layers(shape, seed):
            packed = np.round((field - 273.0) / 0.005) if dtype == "i2" else field
            out.write(packed.astype("<" + dtype).tobytes())
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", required=True)
    parser.add_argument("--dtype", default="f4", choices=["f4", "f8", "i2"])
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    write(args.out, [int(n) for n in args.shape.split(",")], args.dtype, args.seed)


if __name__ == "__main__":
    main()
