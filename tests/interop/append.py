"""Appends by several processes, through `Dimension::reserve`, while zarr-python and xarray open the store.

Each record must exist once, at the index that its writer reserved. The stores are in a directory, and on an
S3 server: that of AWS_ENDPOINT_URL with the bucket S3_BUCKET, or moto.

usage: append.py INTEROP FOLDER PROCESSES APPENDS APPENDS_ON_S3
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy
import xarray
import zarr

# The modes of the stores, and whether they have consolidated metadata.
KINDS = {
    "nczarr2": ("nczarr,v2,consolidated", True),
    "zarr2": ("zarr,v2,consolidated,annotate", True),
    "nczarr3": ("nczarr,v3,consolidated", True),
    "zarr3": ("zarr,v3,consolidated,annotate", True),
    "alone3": ("zarr,v3,annotate", False),
}


class Server:
    """The server of the environment, or moto in a process of its own."""

    process = None

    def __enter__(self):
        if "AWS_ENDPOINT_URL" in os.environ:
            return self
        script = Path(__file__).parent.parent / "moto" / "serve.py"
        self.process = subprocess.Popen([sys.executable, "-u", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.endpoint = self.process.stdout.readline().decode().strip()
        keys = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1"}
        os.environ.update(keys, AWS_ENDPOINT_URL=self.endpoint)
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()


def storage_options(url):
    if not url.startswith("s3://"):
        return None
    # Each opening reads the server, not a listing of an earlier one.
    endpoint = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    return {"use_listings_cache": False, "client_kwargs": endpoint}


def look(url, is_consolidated):
    """Opens the store with both readers. Returns the length."""
    options = storage_options(url)
    group = zarr.open_group(url, mode="r", storage_options=options)
    lengths = {name: group[name].shape[0] for name in ("time", "value")}
    values = group["value"][-3:]
    assert values.shape[1] == 2, values
    if not is_consolidated:
        # Each array has a document of its own, so xarray could find two lengths.
        return lengths["time"]
    assert lengths["time"] == lengths["value"], lengths
    with xarray.open_zarr(url, consolidated=True, storage_options=options) as data:
        assert data["value"].dims == ("time", "pair"), data
        data["value"][-1:].load()
        return data.sizes["time"]


def check(url, records, processes, appends):
    """Checks all records with both readers. `records`: the lines of the writers, with index and value."""
    owners = {}
    for line in records:
        index, value = map(int, line.split())
        assert index not in owners, f"record {index} was reserved twice"
        owners[index] = value
    expected = numpy.array([owners[index] for index in range(processes * appends)])
    group = zarr.open_group(url, mode="r", storage_options=storage_options(url))
    with xarray.open_zarr(url, consolidated=None, storage_options=storage_options(url)) as data:
        for found in (group["time"][:], data["time"].values):
            numpy.testing.assert_array_equal(found, expected)
        for found in (group["value"][:], data["value"].values):
            numpy.testing.assert_array_equal(found, numpy.stack([expected, -expected], 1))
    assert sorted(owners.values()) == list(range(processes * appends))


def run(interop, url, kind, processes, appends):
    modes, is_consolidated = KINDS[kind]
    target = f"{url}#mode={modes}" + (",s3" if url.startswith("s3:") else ",file")
    subprocess.run([interop, "append", target], check=True)
    start = time.monotonic()
    writers = [
        subprocess.Popen([interop, "append", target, str(writer * appends), str(appends)], stdout=subprocess.PIPE, text=True)
        for writer in range(processes)
    ]
    looks, last = 0, 0
    while any(writer.poll() is None for writer in writers):
        length = look(url, is_consolidated)
        assert length >= last, f"{length} records after {last}"
        looks, last = looks + 1, length
        time.sleep(0.02)
    taken = time.monotonic() - start
    assert all(writer.returncode == 0 for writer in writers), "a writer failed"
    records = [line for writer in writers for line in writer.stdout.read().splitlines()]
    check(url, records, processes, appends)
    print(f"append: {url.split(':')[0] if ':' in url else 'directory'} {kind}: {processes} x {appends} records in {taken:.1f} s, {looks} openings meanwhile")


def main():
    interop, folder = sys.argv[1], Path(sys.argv[2]).absolute()
    processes, appends, appends_on_s3 = map(int, sys.argv[3:6])
    folder.mkdir(parents=True, exist_ok=True)
    for kind in KINDS if appends else ():
        run(interop, str(folder / f"{kind}.zarr"), kind, processes, appends)
    if appends_on_s3 == 0:
        return
    bucket = os.environ.get("S3_BUCKET", "bucket")
    with Server():
        for kind in ("nczarr2", "zarr3"):
            run(interop, f"s3://{bucket}/{kind}.zarr", kind, processes, appends_on_s3)


main()
