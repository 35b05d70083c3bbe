#!/usr/bin/env python3
"""Reads 1,000 slabs of v at once as futures, and all of v in one call.

futures_tensorstore.py URL ROUNDS prints the seconds of each round. 64 requests are in flight both ways."""
import json
import sys
import time

import numpy
import tensorstore

url, rounds = sys.argv[1], int(sys.argv[2])
spec = {"driver": "zarr3", "kvstore": {"driver": "http", "base_url": url}}
context = tensorstore.Context({"http_request_concurrency": {"limit": 64}, "cache_pool": {"total_bytes_limit": 0}})
array = tensorstore.open(spec, read=True, context=context).result()
for _ in range(rounds):
    start = time.perf_counter()
    batch = array.read().result()
    one = time.perf_counter() - start
    start = time.perf_counter()
    slabs = [array[y].read() for y in range(array.shape[0])]
    slabs = numpy.stack([slab.result() for slab in slabs])
    each = time.perf_counter() - start
    assert numpy.array_equal(batch, slabs)
    print(json.dumps({"peer": "tensorstore", "batch": round(one, 3), "futures": round(each, 3)}), flush=True)
