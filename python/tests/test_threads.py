"""Threads, processes, signals and forks."""
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nczarr

#: Children of `fork` and `spawn` find the package like this process.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def cube(place, kind, length=64):
    values = np.arange(length**3, dtype="f4").reshape(length, length, length)
    with nczarr.create(place, kind) as file:
        for name in "zyx":
            file.create_dimension(name, length)
        chunks = None if kind == "cdf5" else (16, 16, 16)
        file.create_variable("v", "f4", "zyx", chunks=chunks, zlib=kind != "cdf5", complevel=1)[...] = values
    return values


def test_threads_open_read_and_close_without_a_lock(place, kind):
    """4 threads, 30 times each: 120 equal sums."""
    values = cube(place, kind, 32)

    def total(_):
        with nczarr.open(place) as file:
            return float(file["v"][...].sum(dtype="f8"))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(total, range(120))) == {float(values.sum(dtype="f8"))}


def test_threads_share_a_dataset(place, kind):
    values = cube(place, kind, 32)
    with nczarr.open(place) as file, ThreadPoolExecutor(4) as pool:
        variable = file["v"]
        for plane, found in enumerate(pool.map(lambda plane: variable[plane], range(32))):
            assert np.array_equal(found, values[plane])


def test_reads_release_the_interpreter(tmp_path):
    """Python code runs while another thread reads: the counter moves during the reads."""
    place = str(tmp_path / "a.zarr")
    cube(place, "zarr-v3", 128)
    counts, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counts[0] += 1

    with nczarr.open(place, cache_bytes=0, threads=1) as file:
        variable, moved = file["v"], 0
        thread = threading.Thread(target=count)
        thread.start()
        try:
            for _ in range(5):
                out = np.empty((128, 128, 128), "f4")
                before = counts[0]
                variable._native.read_into(([0] * 3, [128] * 3, None), out.reshape(-1).view("u1"), None)
                moved += counts[0] - before
        finally:
            done.set()
            thread.join()
    assert moved > 1000


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np, nczarr
place = sys.argv[1]
file = nczarr.open(place, cache_bytes=0, threads=1)
out = np.empty((8, 128, 128, 128), "f4")
def press():
    time.sleep(0.1)
    press.at = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    while True:
        file["v"][...]
except KeyboardInterrupt:
    print(time.monotonic() - press.at)
file.close()
"""


def test_ctrl_c_ends_a_read(tmp_path):
    """The exception comes within 0.3 s of the signal, and the dataset can be closed."""
    place = str(tmp_path / "a.zarr")
    with nczarr.create(place, "zarr-v3") as file:
        for name, length in zip("tzyx", (8, 128, 128, 128)):
            file.create_dimension(name, length)
        variable = file.create_variable("v", "f4", "tzyx", chunks=(1, 64, 64, 64), codecs=[("zstd", [1])])
        variable[...] = np.random.default_rng(1).random((8, 128, 128, 128), "f4")
    command = [sys.executable, "-c", INTERRUPTED, place]
    times = []
    # A busy machine may delay one attempt.
    while len(times) < 3 and min(times, default=1) >= 0.3:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
        assert done.returncode == 0, done.stderr
        times.append(float(done.stdout))
    assert min(times) < 0.3, times


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_reads(tmp_path):
    place = str(tmp_path / "a.zarr")
    values = cube(place, "zarr-v3")
    with nczarr.open(place) as file:
        assert np.array_equal(file["v"][...], values)
    script = f"""
import os, numpy as np, nczarr
with nczarr.open({place!r}) as file:
    expected = float(file["v"][...].sum(dtype="f8"))
child = os.fork()
if child == 0:
    with nczarr.open({place!r}) as file:
        os._exit(0 if float(file["v"][...].sum(dtype="f8")) == expected else 1)
_, status = os.waitpid(child, 0)
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=20, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


APPENDER = """
import sys, numpy as np, nczarr
place, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with nczarr.open(place, "a") as file:
    time, v = file.dimension("t"), file["v"]
    for turn in range(count):
        start = time.reserve(1)
        v[start] = number * 1000 + turn
        file.sync()
"""


@pytest.mark.parametrize("kind", ["nczarr-v2", "nczarr-v3"])
def test_processes_append_through_reserve(kind, tmp_path):
    """4 processes append 8 records each: all 32 are there once."""
    place = str(tmp_path / "a.zarr")
    with nczarr.create(place, kind) as file:
        file.create_dimension("t")
        file.create_variable("v", "i4", ["t"], chunks=(5,))
    started = [
        subprocess.Popen([sys.executable, "-c", APPENDER, place, str(number), "8"], env=ENVIRONMENT) for number in range(4)
    ]
    assert [process.wait(60) for process in started] == [0] * 4
    with nczarr.open(place) as file:
        assert sorted(file["v"][:].tolist()) == sorted(number * 1000 + turn for number in range(4) for turn in range(8))
