"""Makes the streams of this directory with numcodecs. Run here: python make.py"""
import lzma
import struct

import numpy as np
import numcodecs
from numcodecs import BZ2, LZ4, LZMA, Blosc, Fletcher32, GZip, Shuffle, VLenBytes, VLenUTF8, Zlib, Zstd
from numcodecs.checksum32 import CRC32, CRC32C, Adler32, JenkinsLookup3


def sample(words):
    """Returns the bytes of `sample` in tests/it/main.rs."""
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
save("bz2.bin", BZ2(9).encode(small))
save("bz2-streams.bin", BZ2(1).encode(small[:400]) + BZ2(9).encode(small[400:]))
save("lz4.bin", LZ4(1).encode(small))
save("lz4-noise.bin", LZ4(10).encode(np.random.default_rng(2).bytes(300)))
delta, lzma1, lzma2 = {"id": 3, "dist": 4}, {"id": lzma.FILTER_LZMA1, "preset": 1, "lc": 2, "pb": 1}, {"id": 33, "preset": 1}
save("lzma-xz.bin", LZMA().encode(small))
save("lzma-xz-nocheck.bin", LZMA(check=0, preset=9).encode(small))
save("lzma-xz-crc32.bin", LZMA(check=1).encode(small))
save("lzma-xz-sha256.bin", LZMA(check=10, preset=0).encode(small))
save("lzma-xz-delta.bin", LZMA(filters=[delta, lzma2]).encode(small))
save("lzma-xz-x86.bin", LZMA(filters=[{"id": 4}, lzma2]).encode(small))
save("lzma-xz-streams.bin", LZMA().encode(small[:400]) + bytes(8) + LZMA(check=0).encode(small[400:]))
save("lzma-alone.bin", LZMA(format=2).encode(small))
save("lzma-alone-streams.bin", LZMA(format=2).encode(small[:400]) + LZMA(format=2, preset=9).encode(small[400:]))
save("lzma-raw.bin", LZMA(format=3, filters=[delta, lzma2]).encode(small))
save("lzma-raw-lzma1.bin", LZMA(format=3, filters=[lzma1]).encode(small))
for place in ("start", "end"):
    for codec in (CRC32, CRC32C, Adler32):
        save(f"{codec.codec_id}-{place}.bin", codec(location=place).encode(small))
save("jenkins.bin", JenkinsLookup3().encode(small[:999]))
save("jenkins-prefix.bin", JenkinsLookup3(initval=0xDEADBEEF, prefix=b"before").encode(small))

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
for codec in (Zlib(5), GZip(5), Zstd(-5), Zstd(3, checksum=True), Shuffle(4), Fletcher32(), Blosc("zstd", 9, -1), BZ2(9), LZ4(3), LZMA(),
              CRC32(), CRC32C("start"), Adler32("end"), JenkinsLookup3()):
    print(codec.get_config())


def noise(count):
    """Returns the bytes of `noise` in tests/it/main.rs."""
    state, out = 0x9E3779B97F4A7C15, bytearray()
    for _ in range(count):
        state ^= state << 13 & (1 << 64) - 1
        state ^= state >> 7
        state ^= state << 17 & (1 << 64) - 1
        out.append(state >> 32 & 255)
    return bytes(out)


# The output of HDF5's filter for a chunk, by h5py and hdf5plugin.
import h5py
import hdf5plugin

data = np.frombuffer(small + noise(600), "u1")
with h5py.File.in_memory() as file:
    chunk = file.create_dataset("chunk", data=data, chunks=data.shape, **hdf5plugin.LZ4(nbytes=400))
    save("lz4-hdf5.bin", chunk.id.read_direct_chunk((0,))[1])
