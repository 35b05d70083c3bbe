#!/usr/bin/env python3
"""Runs the cases for all peers in rounds, checks that all read the same data, prints medians and ratios.

    run.py --list
    run.py --group whole --size 128 --repeats 5 --out results.json
    run.py --only 'read/v2/.*zstd' --peers zarrs,tensorstore
    run.py --add ours='…/target/release/nczarr-runner' --baseline ours --group whole,slab

Seconds are wall seconds within the runner's process. "cpu" is the processor seconds of the same span, which
vary less on a busy machine. A ratio is to the best peer. "paired" is the median of the ratios within each
round.
"""
import argparse
import glob
import json
import mmap
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from cases import SIZES, cases

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("PEERS", os.path.expanduser("~/.cache/nczarr-peers"))
PYTHON = os.environ.get("PEER_PYTHON", os.path.join(ROOT, "py/bin/python"))
#: The folder of the stores. It is in memory if the system can do so, because fsync costs no time there.
STORES = os.path.join("/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir(), "nczarr-bench")
#: Time limit of an untimed run in seconds: a write of an input, or a read of a result.
PATIENCE = 600
SINGLE_FILE = ("h5", "cdf5")
#: The S3 server of the tests. It serves folders, and waits before each response.
SERVER = os.environ.get("PEER_SERVER", os.path.join(ROOT, "target", "release", "s3-folder"))


def runners():
    """Returns the command of each peer."""
    script = [PYTHON, os.path.join(HERE, "runners", "python.py"), "--peer"]
    found = {name: script + [name] for name in
             ("tensorstore", "zarr-zarrs", "zarr-python", "netcdf4-python", "h5py", "scipy")}
    release = os.path.join(ROOT, "target", "release")
    found["zarrs"] = [os.environ.get("PEER_ZARRS", os.path.join(release, "zarrs_runner"))]
    found["floor"] = [os.environ.get("PEER_FLOOR", os.path.join(release, "floor"))]
    found["netcdf-c"] = [os.environ.get("PEER_NETCDF_C", os.path.join(ROOT, "bin", "netcdf_c"))]
    return found


def environment():
    plugins = glob.glob(os.path.join(ROOT, "py/lib/python3*/site-packages/netCDF4/plugins"))
    return {**({"HDF5_PLUGIN_PATH": plugins[0]} if plugins else {}), **os.environ}


def warm_memory(size):
    """Uses memory and frees it, so that the next process gets memory that the machine already has.

    The host of a virtual machine may take back unused memory. The next user then waits: two seconds for a GiB
    in place of a tenth of a second.
    """
    if not size:
        return
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory[::mmap.PAGESIZE] = bytes(size // mmap.PAGESIZE)


def flags(args):
    listed = []
    for name, value in args.items():
        if not name.startswith("_"):
            listed += ["--" + name] if value is True else ["--" + name, str(value)]
    return listed


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.exists(path):
        os.unlink(path)


def stored(path):
    if not os.path.isdir(path):
        return os.path.getsize(path) if os.path.exists(path) else 0
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


class Server:
    """The S3 server of the tests. Each input line is a command, and each output line is the result."""

    def __init__(self, latency):
        self.process = subprocess.Popen([SERVER, str(latency)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Driver:
    """Runs cases and keeps their resources: commands, raw data, at most one input store, and its server if it
    is on S3."""

    def __init__(self, args, commands):
        self.args, self.commands, self.env = args, commands, environment()
        self.input = None, None
        self.server = None
        for folder in (args.root, args.data):
            os.makedirs(folder, exist_ok=True)

    def run(self, peer, args, timeout):
        """Returns the output line of a runner, or a skip line with the reason."""
        command = self.commands[peer]
        if shutil.which(command[0]) is None:
            return {"skip": f"{command[0]} is not built (setup.sh does)"}
        try:
            done = subprocess.run(command + flags(args), env=self.env, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return {"skip": f"not done after {timeout} s"}
        for line in reversed(done.stdout.splitlines()):
            if line.startswith("{"):
                return json.loads(line)
        return {"skip": "failed: " + (done.stderr.strip().splitlines() or ["no output"])[-1][:200]}

    def raw(self, args):
        """Returns a file of raw elements for a write. Shapes other than cubes use the start of a cube's
        file."""
        dtype, shape = args["dtype"].lstrip(">"), args["shape"]
        lengths = [int(n) for n in shape.split(",")]
        if not (len(lengths) == 3 and lengths[0] <= 512 and lengths[1] >= 256):
            shape = "128,512,512"
        path = os.path.join(self.args.data, f"cube_{dtype}_{shape.replace(',', 'x')}.raw")
        seed = self.args.seed
        if seed != 1:
            path = path.replace(".raw", f"_{seed}.raw")
        if not os.path.exists(path):
            script = os.path.join(HERE, "field.py")
            command = [PYTHON, script, "--shape", shape, "--dtype", dtype, "--seed", str(seed), "--out", path]
            subprocess.run(command, check=True)
        return path

    def prepare(self, case):
        """Returns the input store of a case, written once for all peers, or the reason for its absence."""
        if case.input is None:
            return None, None
        away = case.args.get("store") == "s3"
        if away and shutil.which(SERVER) is None:
            return None, f"{SERVER} is not built (setup.sh does)"
        if (case.input, away) == self.input[0]:
            return self.input[1], None
        self.forget()
        path = os.path.join(self.args.root, "input")
        remove(path)
        args = {"op": "write", **case.input, "path": path}
        if args["op"] == "write":
            args["data"] = self.raw(args)
        said = self.run(case.input.get("_writer", "zarr-python"), args, PATIENCE)
        if "skip" in said:
            remove(path)
            return None, "no input: " + said["skip"]
        self.input = (case.input, away), path
        if away:
            self.server = self.server or Server(self.args.latency)
            self.server.ask("load " + path)
        return path, None

    def forget(self):
        if self.input[1]:
            remove(self.input[1])
        self.input = None, None

    def read_back(self, peer, args, checksum):
        """Checks a written store with another library. Returns a note, which is empty if the data are
        right."""
        args = {**args, "op": "read"}
        args.pop("data", None)
        other = "zarr-python"
        if args["format"] in SINGLE_FILE:
            other = "scipy" if peer == "scipy" else "netcdf-c"
        seen = self.run(other, args, PATIENCE)
        if seen.get("checksum") == checksum:
            return None
        found = f"({seen.get('checksum', seen.get('skip'))} by {other})"
        if self.run(peer, args, PATIENCE).get("checksum") == checksum:
            return f"read by nobody but itself {found}"
        return f"WRONG DATA after write {found}"

    def case(self, case, peers):
        """Returns the rows of a case."""
        path, missing = self.prepare(case)
        lines, notes = {peer: [] for peer in peers}, {peer: missing or "" for peer in peers}
        repeats = 0 if missing else self.args.repeats
        for turn in range(repeats + (self.args.more if repeats else 0)):
            if turn == repeats:
                peers = near(peers, lines, set(self.args.added))
            # The peers take turns to go first, because memory that was unused for long is slow to get.
            first = turn % len(peers)
            for peer in peers[first:] + peers[:first]:
                if turn and not lines[peer]:
                    continue
                args = dict(case.args, path=path or os.path.join(self.args.root, "output_" + peer))
                if self.args.seed != 1 and "count" in args:
                    args["seed"] = self.args.seed
                away = args.get("store") == "s3"
                if away:
                    args.update(url=self.server.url, path=os.path.basename(path))
                    self.server.ask("counts")
                if path is None:
                    remove(args["path"])
                    if args["op"] in ("write", "append"):
                        args["data"] = self.raw(args)
                warm_memory(self.args.warm << 20)
                said = self.run(peer, args, self.args.timeout)
                if away:
                    said.update(self.server.ask("counts"))
                if "skip" in said:
                    notes[peer] = said["skip"]
                elif turn == 0 and args["op"] in ("write", "append"):
                    notes[peer] = self.read_back(peer, args, said["checksum"]) or ""
                    said["stored"] = stored(args["path"])
                if "skip" not in said and not notes[peer].startswith("WRONG"):
                    lines[peer].append(said)
                if path is None:
                    remove(args["path"])
        self.compare(lines, notes)
        return rows(lines, notes)

    @staticmethod
    def compare(lines, notes):
        """Adds a note to each peer that read other data than most."""
        sums = {peer: {line["checksum"] for line in said} for peer, said in lines.items() if said}
        if len(set().union(*sums.values())) > 1:
            # If counts are equal, the peers are right, and not the added runners, which come first.
            usual = statistics.mode(next(iter(seen)) for seen in reversed(sums.values()))
            for peer, seen in sums.items():
                if seen != {usual}:
                    notes[peer] = f"CHECKSUM DIFFERS {sorted(seen)}"


def near(peers, lines, always):
    """Returns the peers that may be the best: their fastest run takes at most twice the best time."""
    quickest = {peer: min(line["seconds"] for line in said) for peer, said in lines.items() if said}
    best = min((wall for peer, wall in quickest.items() if peer != "floor" and peer not in always), default=0)
    return [peer for peer in peers if peer in always or peer == "floor" or quickest.get(peer, 0) <= 2 * best]


def rows(lines, notes):
    """Returns the medians of each peer, and ratios to the best one. The floor does not count as a peer."""
    found = []
    for peer, said in lines.items():
        if not said:
            found.append({"peer": peer, "note": notes[peer]})
            continue
        def middle(key):
            return statistics.median(line[key] for line in said)
        found.append({
            "peer": peer, "wall": middle("seconds"), "min": min(line["seconds"] for line in said), "cpu": middle("cpu"),
            "walls": [line["seconds"] for line in said],
            "rss_mib": middle("rss_kb") / 1024, "rss_delta_mib": (middle("rss_kb") - middle("base_rss_kb")) / 1024,
            "bytes": said[0]["bytes"], "n": said[0].get("n", 1), "stored": said[0].get("stored"), "note": notes[peer],
            "requests": max(line["requests"] for line in said) if "requests" in said[0] else None,
            "at_once": max(line["at_once"] for line in said) if "at_once" in said[0] else None})
    timed = [row for row in found if "wall" in row]
    real = [row for row in timed if row["peer"] != "floor"] or timed
    if timed:
        best = min(real, key=lambda row: row["wall"])
        least = min(row["cpu"] for row in real)
        for row in timed:
            pairs = zip(lines[row["peer"]], lines[best["peer"]])
            row["ratio"] = row["wall"] / best["wall"]
            row["paired"] = statistics.median(one["seconds"] / other["seconds"] for one, other in pairs)
            row["cpu_ratio"] = row["cpu"] / least if least else 0
    return found


def show(name, found, baseline):
    print(f"\n### {name}\n")
    print("| peer | wall s (median) | min | cpu s | x best (wall) | x best (paired) | x best (cpu) | GB/s "
          "| rss MiB (added) | note |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in sorted(found, key=lambda row: row.get("wall", float("inf"))):
        if "wall" not in row:
            print(f"| {row['peer']} | - | | | | | | | | skip: {row['note']} |")
            continue
        size = f" stored {row['stored'] / 1e6:.1f} MB" if row["stored"] else ""
        if row["requests"] is not None:
            size += f" {row['requests']} requests, {row['at_once']} at once"
        print(f"| {row['peer']} | {row['wall']:.4f} | {row['min']:.4f} | {row['cpu']:.4f} | {row['ratio']:.2f} "
              f"| {row['paired']:.2f} | {row['cpu_ratio']:.2f} | {row['bytes'] / row['wall'] / 1e9:.2f} "
              f"| {row['rss_mib']:.0f} ({row['rss_delta_mib']:.0f}) | {row['note']}{size} |")
    ours = next((row for row in found if row["peer"] == baseline and "wall" in row), None)
    others = [row for row in found if row["peer"] not in (baseline, "floor") and "wall" in row]
    if ours and others:
        best = min(others, key=lambda row: row["wall"])
        print(f"\n{baseline} is {best['wall'] / ours['wall']:.2f}x as fast as the best peer ({best['peer']})")
    sys.stdout.flush()


def chosen(case, args, added):
    """Returns the runners of a case."""
    wanted = args.peers.split(",") if args.peers else case.peers
    return added + [peer for peer in case.peers if peer in wanted]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the cases and their runners")
    parser.add_argument("--group", default="", help="only these groups: whole slab chunks meta append conv zip s3 classic hdf5")
    parser.add_argument("--only", default="", metavar="REGEX", help="only the cases of such names")
    parser.add_argument("--peers", default="", help="only these, and those added")
    parser.add_argument("--add", action="append", default=[], metavar="NAME=COMMAND", help="one more runner")
    parser.add_argument("--baseline", default="", metavar="NAME", help="say how it does against the best of the others")
    parser.add_argument("--size", default="128", choices=SIZES)
    parser.add_argument("--chunks", default="", help="chunks in place of 64,64,64")
    parser.add_argument("--dtype", default="f4", choices=("f4", "f8", "i2"), help="the type of the cube's elements")
    parser.add_argument("--seed", type=int, default=1, help="of the data and of random positions")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--more", type=int, default=0,
                        help="further rounds, without the peers whose quickest run took more than twice the best's")
    parser.add_argument("--root", default=STORES, help="where the stores go (default: %(default)s)")
    parser.add_argument("--data", default=os.path.join(ROOT, "data"), help="where generated raw data is kept")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run")
    parser.add_argument("--warm", type=int, default=512, help="MiB of memory used and freed before each run (default: %(default)s)")
    parser.add_argument("--budget", type=float, default=0, help="begin no case after so many seconds")
    parser.add_argument("--latency", type=int, default=20, help="milliseconds before each answer of the S3 server")
    parser.add_argument("--out", default="", help="write all results to this file as JSON, for summary.py")
    return parser.parse_args()


def main():
    args = arguments()
    groups = args.group.split(",") if args.group else None
    grid = tuple(int(n) for n in args.chunks.split(",")) if args.chunks else None
    todo = [case for case in cases(args.size, grid, args.dtype)
            if (groups is None or case.group in groups) and re.search(args.only, case.name)]
    if args.list:
        for case in todo:
            print(f"{case.group:8} {case.name:34} {' '.join(case.peers)}")
        return
    added = {name: shlex.split(command) for name, _, command in (extra.partition("=") for extra in args.add)}
    args.added = list(added)
    driver, results, start = Driver(args, {**runners(), **added}), [], time.time()
    try:
        for case in todo:
            if args.budget and time.time() - start > args.budget:
                print("the time is up before", case.name, file=sys.stderr)
                break
            peers = chosen(case, args, args.added)
            if not peers:
                continue
            found = driver.case(case, peers)
            results.append({"case": case.name, "group": case.group, "args": case.args, "rows": found})
            show(case.name, found, args.baseline)
            if args.out:
                with open(args.out, "w") as out:
                    json.dump({"size": args.size, "repeats": args.repeats, "more": args.more, "root": args.root,
                               "results": results}, out, indent=1)
    finally:
        driver.forget()
        if driver.server:
            driver.server.stop()


if __name__ == "__main__":
    main()
