"""Reads boxes of large h5py files over HTTP. Each kind of chunk index takes few requests and few bytes.

Usage: far.py NCZ FOLDER"""
import http.server
import os
import subprocess
import sys
import threading

import h5py
import numpy as np

NCZ, FOLDER = sys.argv[1:3]
MOST = 2 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves ranges of files of a folder, and counts requests and bytes."""

    protocol_version = "HTTP/1.1"
    requests = sent = 0

    def do_GET(self):
        path = os.path.join(FOLDER, os.path.basename(self.path))
        size = os.path.getsize(path)
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last), size - 1)
        with open(path, "rb") as file:
            file.seek(first)
            body = file.read(last - first + 1)
        Handler.requests, Handler.sent = Handler.requests + 1, Handler.sent + len(body)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"one"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def value(number):
    """Returns the values of a chunk by its number, or of several chunks."""
    return ((np.asarray(number)[..., None, None] * 7 + np.arange(100).reshape(10, 10)) % 127).astype("i1")


def make(path, kind, count):
    """Makes a netCDF-4 file with `count` chunks, or with one chunk of the same total size."""
    old = kind == "tree1"
    with h5py.File(path, "w", libver=("earliest", "v108") if old else ("v110", "v110")) as file:
        how = {"chunks": (1, 10, 10)}
        if kind == "single":
            how["chunks"] = (count, 10, 10)
        if kind == "small fixed":
            how["chunks"] = (count // 500, 10, 10)
        if kind in ("tree1", "extensible", "packed extensible"):
            how["maxshape"] = (None, 10, 10)
        if kind in ("tree2", "packed tree2"):
            how["maxshape"] = (None, None, 10)
        if kind.startswith("packed"):
            how["compression"] = 1
        if kind == "implicit":
            plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plist.set_chunk((1, 10, 10))
            plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            h5py.h5d.create(file.id, b"v", h5py.h5t.STD_I8LE, h5py.h5s.create_simple((count, 10, 10)), plist)
            v = file["v"]
        else:
            v = file.create_dataset("v", (count, 10, 10), "i1", **how)
        v.attrs["units"] = "K"
        for at in range(0, count, 20_000):
            v[at : at + 20_000] = value(np.arange(at, at + 20_000))
        for axis, (name, size) in enumerate([("time", count), ("lat", 10), ("lon", 10)]):
            most = {"maxshape": (None,), "chunks": (1024,)} if v.maxshape[axis] is None else {}
            scale = file.create_dataset(name, data=np.arange(size, dtype="f4"), **most)
            scale.make_scale(name)
            v.dims[axis].attach_scale(scale)


def levels(count, per_node):
    """Returns the number of levels of a tree."""
    depth = 1
    while per_node**depth < count:
        depth += 1
    return depth


def box(url, at):
    """Reads one chunk and counts requests and bytes. Returns an error message, or `None`."""
    Handler.requests = Handler.sent = 0
    command = [NCZ, "cat", url + "#mode=bytes", "/v", "--format", "raw", "--start", f"{at},0,0", "--count", "1,10,10"]
    done = subprocess.run(command, capture_output=True, check=False, env={"NCRCENV_IGNORE": "1"})
    if done.returncode != 0:
        return done.stderr.decode()
    if not np.array_equal(np.frombuffer(done.stdout, "i1").reshape(10, 10), value(at)):
        return "other values"
    return None


def main():
    os.makedirs(FOLDER, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    # A client may close its connection early, so errors of connections are ignored.
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failed = False
    # The number of structures on the way to a chunk. Tree nodes are at least half full.
    kinds = {
        "tree1": lambda count: levels(count, 32),
        "single": lambda count: 0,
        "implicit": lambda count: 0,
        "small fixed": lambda count: 2,
        "fixed": lambda count: 3,
        "packed fixed": lambda count: 3,
        "extensible": lambda count: 5,
        "packed extensible": lambda count: 5,
        "tree2": lambda count: 1 + levels(count, 25),
        "packed tree2": lambda count: 1 + levels(count, 25),
    }
    for count in (20_000, 200_000):
        for kind, depth in kinds.items():
            name = f"{kind.replace(' ', '-')}-{count}.nc"
            make(os.path.join(FOLDER, name), kind, count)
            for at in (0, count // 2 + 7, count - 1):
                wrong = box(f"http://127.0.0.1:{server.server_port}/{name}", at)
                summary = f"{Handler.requests} requests, {Handler.sent} bytes"
                if not wrong and (Handler.requests > depth(count) + 4 or Handler.sent > MOST):
                    wrong = f"more than {depth(count)} + 4 requests or {MOST} bytes"
                if wrong:
                    print(f"far: {kind} of {count}, chunk {at}: {summary}: {wrong}")
                    failed = True
            os.remove(os.path.join(FOLDER, name))
    print("far: boxes of", len(kinds), "kinds of index:", "failed" if failed else "as expected")
    sys.exit(failed)


main()
