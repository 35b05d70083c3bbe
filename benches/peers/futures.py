#!/usr/bin/env python3
"""Compares reads as futures in one run: 1,000 slabs from a server that waits 20 ms before each answer.

OURS is benches/examples/futures_runner.rs, ZARRS is the program futures of runners/zarrs, and SERVER is the program
s3-folder of tests/s3-server. This Python needs tensorstore. The runners take turns."""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--ours", required=True)
parser.add_argument("--zarrs", required=True)
parser.add_argument("--server", required=True)
parser.add_argument("--rounds", type=int, default=7)
given = parser.parse_args()
tensorstore = pathlib.Path(__file__).parent / "runners/futures_tensorstore.py"
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/x"
    subprocess.run([given.ours, "create", path], check=True)
    serving = subprocess.Popen([given.server, "20"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    url = serving.stdout.readline().strip()
    serving.stdin.write(f"load {path}\n")
    serving.stdin.flush()
    serving.stdout.readline()
    runners = [
        [given.ours, f"{url}/bench/x/v#mode=zarr", "3"],
        [given.zarrs, f"{url}/bench/x", "3"],
        [sys.executable, tensorstore, f"{url}/bench/x/v/", "3"],
    ]
    seen = collections.defaultdict(list)
    for turn in range(given.rounds):
        for place in range(len(runners)):
            runner = runners[(turn + place) % len(runners)]
            lines = subprocess.run(runner, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
            # The first round also opens connections.
            for row in map(json.loads, lines[1:]):
                seen[row["peer"]].append((row["batch"], row["futures"]))
    serving.stdin.close()
    serving.wait()
for peer, times in seen.items():
    batch, futures = (statistics.median(column) for column in zip(*times))
    print(f"{peer:12} one call {batch:.3f} s, a future each {futures:.3f} s, ratio {futures / batch:.2f}")
