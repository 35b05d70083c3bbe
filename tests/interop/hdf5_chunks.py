"""Compares the stored chunks of HDF5 datasets, as `interop chunks` prints them, with those that h5py reads without
decoding.

The datasets of the repository are always included.

usage: hdf5_chunks.py INTEROP CORPUS [--whole]
"""

import json
import subprocess
import sys
import zlib
from pathlib import Path

import h5py

from hdf5_copies import datasets

# Chunks of one dataset to read; all are compared by their lengths.
MOST = 200


def theirs(path):
    """Returns filter mask, length and checksum of the stored chunks of each dataset."""
    found = {}

    def visit(name, item):
        if not isinstance(item, h5py.Dataset) or item.chunks is None or item.is_virtual:
            return
        chunks = {}
        for at in range(item.id.get_num_chunks()):
            place = item.id.get_chunk_info(at)
            offset = place.chunk_offset
            index = ".".join(str(start // side) for start, side in zip(offset, item.chunks))
            if any(start >= size for start, size in zip(offset, item.shape)):
                continue
            if at < MOST:
                mask, data = item.id.read_direct_chunk(offset)
                chunks[index] = [mask, len(data), zlib.crc32(data)]
            else:
                chunks[index] = [place.filter_mask, place.size, None]
        found["/" + name] = chunks

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def main():
    interop, corpus = sys.argv[1], Path(sys.argv[2]).resolve()
    failed, files, count = [], 0, 0
    for name, path in datasets(corpus):
        done = subprocess.run([interop, "chunks", path], capture_output=True, text=True, check=False)
        if done.returncode:
            failed.append(f"{name}: {done.stderr.strip()}")
            continue
        ours = json.loads(done.stdout)
        try:
            expected = theirs(path)
        except Exception as error:
            print(f"{name}: h5py: {type(error).__name__}: {error}")
            continue
        files += 1
        # Other datasets are not variables, such as scales without values, or the library reads them in another form.
        for variable in sorted(ours.keys() & expected.keys()):
            found, wanted = ours[variable], expected[variable]
            if found.keys() != wanted.keys():
                failed.append(f"{name}: {variable}: chunks {sorted(found)[:5]}, expected {sorted(wanted)[:5]}")
                continue
            for index, (mask, length, checksum) in wanted.items():
                count += 1
                if found[index][:2] != [mask, length] or checksum not in (None, found[index][2]):
                    failed.append(f"{name}: {variable}: chunk {index}: {found[index]}, expected {[mask, length, checksum]}")
        missing = sorted(variable for variable in expected.keys() - ours.keys() if expected[variable])
        if missing:
            print(f"{name}: not compared: {', '.join(missing[:5])}")
    for line in failed[:20]:
        print(line)
    print(f"h5py: {count} stored chunks of {files} datasets, {len(failed)} differ")
    return bool(failed or not count)


if __name__ == "__main__":
    sys.exit(main())
