"""Makes szip.bin with the libaec of the netCDF4 package. Run here: python make_szip.py

Each case has seven numbers of four bytes: mask, pixels per block, bits per pixel, pixels per scanline,
decoded bytes, kind of data, coded bytes. The coded stream follows."""
import ctypes
import glob
import os
import struct
import sys

import netCDF4
import numpy as np


class Parameters(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("mask", "bits_per_pixel", "pixels_per_block", "pixels_per_scanline")]


folder = os.path.join(os.path.dirname(netCDF4.__file__), "..", "netcdf4.libs")
library = ctypes.CDLL(glob.glob(os.path.join(folder, "libsz-*"))[0])
code = library.SZ_BufftoBuffCompress


def encode(data, mask, block, bits, line):
    parameters = Parameters(mask, bits, block, line)
    out = ctypes.create_string_buffer(2 * len(data) + 1000)
    size = ctypes.c_size_t(len(out))
    status = code(out, ctypes.byref(size), bytes(data), ctypes.c_size_t(len(data)), ctypes.byref(parameters))
    assert status == 0, status
    return out.raw[: size.value]


def kinds(size):
    """Returns the bytes of `szip_data` in tests/it/foreign.rs."""
    i = np.arange(size, dtype=np.uint64)
    yield np.zeros(size, "u1")
    yield (i // 7 % 256).astype("u1")
    yield (i * i * 2654435761 % 2**32 >> 24).astype("u1")
    yield np.where(i % 97 == 0, i % 256, 0).astype("u1")
    yield (i % 8 // 5).astype("u1")


def main():
    out = open("szip.bin", "wb") if len(sys.argv) == 1 else sys.stdout.buffer
    for mask in (4, 32):
        for bits, order in ((8, 8), (16, 8), (16, 16), (32, 8), (64, 8)):
            for block, line, count in ((2, 29, 90), (2, 256, 600), (8, 16, 64), (16, 50, 120), (32, 32, 100)):
                size = count * bits // 8 if bits <= 16 else count // 4 * bits // 8
                for kind, data in enumerate(kinds(size)):
                    full = mask | order | 129
                    coded = encode(data.tobytes(), full, block, bits, line)
                    out.write(struct.pack("<7I", full, block, bits, line, size, kind, len(coded)) + coded)


if __name__ == "__main__":
    main()
