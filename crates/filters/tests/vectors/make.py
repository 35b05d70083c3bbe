"""Makes the streams of this directory with numcodecs. Run here: python make.py"""
import struct

import numpy as np
import numcodecs
from numcodecs import Blosc, Fletcher32, GZip, Shuffle, VLenBytes, VLenUTF8, Zlib, Zstd


def sample(words):
    """The same bytes as `sample` in tests/it/main.rs makes."""
    i = np.arange(words, dtype=np.uint64)
    noise = np.where(i % 61 == 0, (i * 2654435761 % 2**32) >> 29, 0)
    return (i // 100 + noise).astype("<u4").tobytes()


def save(name, data):
    with open(name, "wb") as file:
        file.write(bytes(data))


small = sample(250)
save("zlib.bin", Zlib(5).encode(small))
save("gzip.bin", GZip(5).encode(small))
save("gzip-members.bin", bytes(GZip(5).encode(small[:400])) + bytes(GZip(1).encode(small[400:])))
save("zstd.bin", Zstd(3).encode(small))
save("zstd-checksum.bin", Zstd(3, checksum=True).encode(small))
skippable = struct.pack("<II", 0x184D2A53, 5) + b"skip!"
save("zstd-frames.bin", skippable + bytes(Zstd(1).encode(small[:400])) + skippable + bytes(Zstd(1).encode(small[400:])))
for size in (2, 4, 8, 10):
    save(f"shuffle-{size}.bin", Shuffle(size).encode(small))
save("fletcher32.bin", Fletcher32().encode(small))
save("fletcher32-odd.bin", Fletcher32().encode(small[:999]))

# Two blocks or more, the last one short; the element size is that of the buffer.
large = sample(20_001)
for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
    for shuffle in (0, 1, 2):
        for item in (1, 4, 8):
            if shuffle == 0 and item != 4:
                continue
            data = np.frombuffer(large[: len(large) // item * item], dtype=f"V{item}" if item > 1 else "u1")
            save(f"blosc-{cname}-{shuffle}-{item}.bin", Blosc(cname, 5, shuffle, 8192).encode(data))
data = np.frombuffer(large, "<u4")
save("blosc-auto.bin", Blosc("zstd", 9, 1).encode(data))
save("blosc-copy.bin", Blosc("lz4", 0, 1).encode(data[:50]))
save("blosc-noise.bin", Blosc("lz4", 5, 0).encode(np.random.default_rng(1).bytes(300)))
save("blosc-empty.bin", Blosc("lz4").encode(b""))
print(numcodecs.__version__)
for codec in (Zlib(5), GZip(5), Zstd(-5), Zstd(3, checksum=True), Shuffle(4), Fletcher32(), Blosc("zstd", 9, -1)):
    print(codec.get_config())
