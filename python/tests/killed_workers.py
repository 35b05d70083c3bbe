"""Kills workers of a dask cluster at random while they write, and compares what was written.

    python killed_workers.py [--rounds N] [--seed N] [--place FOLDER_OR_URL]

Each round writes one dataset. dask starts killed workers anew and repeats their tasks. A round prints a line of JSON;
the program fails if a value differs, or if no worker died during a write.
"""
import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time

import numpy as np
import xarray as xr

from nczarr.xarray import to_nczarr

ROWS, COLUMNS = 240, 4096
#: The rows of a block do not fit the chunks: several tasks write each chunk.
BLOCK = 11
#: Encodings by ending. A file and each shard is written by many tasks as well.
LAYOUTS = {
    "chunks.zarr": {"chunks": (16, COLUMNS), "zlib": True},
    "shards.zarr": {"chunks": (8, COLUMNS // 2), "shards": (80, COLUMNS)},
    "file.nc": {"chunksizes": (16, COLUMNS), "zlib": True, "complevel": 1},
}


@contextlib.contextmanager
def cluster_of(workers=2, threads=2):
    """A cluster whose tasks may lose any number of workers."""
    import dask
    import distributed

    config = {
        "distributed.scheduler.allowed-failures": 1000, "distributed.deploy.lost-worker-timeout": "1 hour",
        # New workers need not load everything again.
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with dask.config.set(config), distributed.LocalCluster(
        n_workers=workers, threads_per_worker=threads, dashboard_address=None, silence_logs=60
    ) as cluster, distributed.Client(cluster):
        yield cluster


class Killer(threading.Thread):
    """Kills a few workers that have tasks, at random times, until ``stop``."""

    def __init__(self, cluster, seed, most):
        super().__init__(daemon=True)
        self.cluster, self.random, self.most = cluster, random.Random(seed), most
        self.kills, self._stopped = 0, threading.Event()

    def run(self):
        while self.kills < self.most and not self._stopped.wait(self.random.uniform(0, 0.2)):
            busy = [nanny.process for nanny in self.cluster.workers.values() if self._is_busy(nanny)]
            process = self.random.choice(busy) if busy else None
            if process is not None and process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
                self.kills += 1

    def _is_busy(self, nanny):
        # dask gives up a worker that dies before its nanny knows that it runs.
        state = self.cluster.scheduler.workers.get(nanny.worker_address)
        return state is not None and bool(state.processing) and nanny.status.name == "running"

    def stop(self):
        self._stopped.set()
        self.join()


def values_of(seed):
    return np.random.default_rng(seed).random((ROWS, COLUMNS), dtype="f4")


def one_round(cluster, place, encoding, seed, most=3):
    """Writes a dataset while workers die; returns the number of dead workers and of rows that differ."""
    import dask.array

    values = values_of(seed)
    blocks = dask.array.concatenate([
        dask.array.from_delayed(_block(seed, first), (min(BLOCK, ROWS - first), COLUMNS), "f4")
        for first in range(0, ROWS, BLOCK)
    ])
    killer = Killer(cluster, seed, most)
    killer.start()
    try:
        to_nczarr(xr.Dataset({"v": (("y", "x"), blocks)}), place, mode="w", encoding={"v": encoding})
    finally:
        killer.stop()
    with xr.open_dataset(place, engine="nczarr", missing_chunks="error") as found:
        differ = (found["v"].values != values).any(axis=1)
    return killer.kills, int(differ.sum())


def _block(seed, first):
    import dask

    return dask.delayed(_rows)(seed, first, dask_key_name=f"rows-{seed}-{first}")


def _rows(seed, first):
    return values_of(seed)[first : first + BLOCK]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--place", default=None)
    arguments = parser.parse_args()
    layouts, kills, lost = list(LAYOUTS.items()), 0, 0
    with tempfile.TemporaryDirectory() as folder, cluster_of() as cluster:
        for number in range(arguments.rounds):
            name, encoding = layouts[number % len(layouts)]
            place, started = f"{arguments.place or folder}/{number}-{name}", time.monotonic()
            dead, differ = one_round(cluster, place, encoding, arguments.seed + number)
            kills, lost = kills + dead, lost + differ
            seconds = round(time.monotonic() - started, 2)
            line = {"round": number, "layout": name, "killed": dead, "rows_lost": differ, "s": seconds}
            print(json.dumps(line), flush=True)
    print(json.dumps({"rounds": arguments.rounds, "killed": kills, "rows_lost": lost}))
    return 1 if lost or not kills else 0


if __name__ == "__main__":
    sys.exit(main())
