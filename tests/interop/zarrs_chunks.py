"""Compares the encoded chunks of Zarr datasets, as `interop chunks` prints them, with those that zarrs reads.

The datasets of the repository are always included. ZARRS_CHUNKS is the program of `tests/interop/zarrs`, which cargo
builds apart from the workspace. zarrs 0.23 panics when a chunk of a shard is absent.

usage: zarrs_chunks.py INTEROP ZARRS_CHUNKS CORPUS
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def stores(*folders):
    """Returns the outermost directories with metadata of Zarr."""
    found = set()
    for folder in folders:
        for name in ("zarr.json", ".zarray", ".zgroup"):
            found.update(path.parent for path in folder.rglob(name))
    return sorted(path for path in found if found.isdisjoint(path.parents))


def main():
    interop, zarrs, corpus = sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve()
    failed, compared, count, left = [], 0, 0, {}
    for store in stores(HERE.parent / "corpus", corpus):
        ours = subprocess.run([interop, "chunks", store], capture_output=True, text=True, check=False)
        if ours.returncode:
            left.setdefault(f"not opened here: {ours.stderr.strip()[-100:]}", []).append(store)
            continue
        theirs = subprocess.run([zarrs, store], capture_output=True, text=True, check=False)
        if theirs.returncode:
            left.setdefault("zarrs panicked", []).append(store)
            continue
        ours, theirs = json.loads(ours.stdout), json.loads(theirs.stdout)
        for path, wanted in sorted(theirs.items()):
            if isinstance(wanted, str):
                left.setdefault(f"zarrs: {wanted[:100]}", []).append(store)
                continue
            # The array of a root has the name of its directory. Blanks in names are escaped.
            path = path.replace(" ", "\\ ") if path != "/" else f"/{store.name.removesuffix('.zarr')}"
            if path not in ours:
                left.setdefault("no variable with stored chunks here", []).append(f"{store}{path}")
                continue
            found = {index: chunk[1:] for index, chunk in ours[path].items()}
            compared += 1
            count += len(wanted)
            if found != wanted:
                index = sorted(key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key))[0]
                failed.append(f"{store}: {path}: chunk {index}: {found.get(index)}, expected {wanted.get(index)}")
    for reason, where in sorted(left.items()):
        print(f"{len(where)} not compared: {reason}: {where[0]}")
    for line in failed[:40]:
        print(line)
    print(f"zarrs: {count} encoded chunks of {compared} arrays, {len(failed)} arrays differ")
    return bool(failed or not count)


if __name__ == "__main__":
    sys.exit(main())
