#!/usr/bin/env python3
"""Prints a table per case: the time in each kind of kernel operation, for our library and the floor.

    profile.py '…/target/profiling/nczarr-runner' [--only REGEX] [--runs 400] [--rate 20000]

Both run repeatedly under `perf record`. Only samples within the runner's own timing count (`start` and
`seconds` of its line). So the table leaves out process start, data input and checksum. A sample has the first
matching kind: a page fault (also within a system call), its system call, other work of the kernel, the
program. It needs `perf` with the kernel's symbols, and the privilege to use them.
"""
import argparse
import bisect
import collections
import json
import os
import re
import shlex
import statistics
import subprocess
import tempfile

from cases import cases
from run import ROOT, STORES, Driver, flags, runners, warm_memory

CASES = r"^(elem-open/v2/none|(read|write)/v2/none/slab|write/v2/none/64|append/v2/1,64,64)$"
#: Function names that give the kind of a sample.
ENTRY = re.compile(r"^(entry_SYSCALL_64|el0_svc)")
FAULT = re.compile(r"^(asm_)?exc_page_fault|^handle_mm_fault")
#: System calls that count as their simpler variants.
SAME = {"openat2": "openat", "statx": "fstat", "writev": "write"}
CALL = re.compile(r"^(?:__x64_sys|__arm64_sys|__se_sys|__do_sys|ksys)_(?:new)?(\w+?)(?:64)?$")


def kinds(samples):
    """Counts samples by kind. Frames are (address, name and offset), the innermost first."""
    # The return addresses of system calls. The kernel allows no interrupt on its way out, so that time
    # appears there.
    back = {frames[i][1] for frames in samples for i in range(1, len(frames)) if ENTRY.match(frames[i - 1][1])}
    found = collections.Counter()
    for frames in samples:
        names = [name.partition("+")[0] for _, name in frames]
        call = next(filter(None, map(CALL.match, names)), None)
        if any(map(FAULT.match, names)):
            found["page faults"] += 1
        elif call:
            found[SAME.get(call[1], call[1])] += 1
        # Kernel addresses have their highest bit set.
        elif int(frames[0][0], 16) >> 63 or frames[0][1] in back:
            found["into the kernel and back"] += 1
        else:
            found["the program"] += 1
    return found


def record(commands, runs, rate, folder):
    """Runs the runners in turns. Returns their samples by kind, and the processor seconds per operation."""
    data, lines = os.path.join(folder, "perf.data"), os.path.join(folder, "lines")
    loop = f"for i in $(seq {runs}); do {'; '.join(commands)}; done > {shlex.quote(lines)}"
    subprocess.run(["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F", str(rate), "-g", "-o", data,
                    "sh", "-c", loop], check=True, stderr=subprocess.DEVNULL)
    said = [json.loads(line) for line in open(lines)]
    starts, samples = [line["start"] for line in said], {line["peer"]: [] for line in said}
    text = subprocess.run(["perf", "script", "-i", data, "--ns", "-F", "time,ip,sym,symoff"], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for sample in text.split("\n\n"):
        time, _, frames = sample.strip().partition("\n")
        time = float(time.strip(" :") or 0)
        run = said[bisect.bisect(starts, time) - 1]
        if frames and 0 <= time - run["start"] <= run["seconds"]:
            samples[run["peer"]].append([(line.split(None, 1) + ["?"])[:2] for line in frames.splitlines()])
    for peer, found in samples.items():
        mine = [line for line in said if line["peer"] == peer]
        yield kinds(found), statistics.median(line["cpu"] / line["n"] for line in mine)


def table(name, ours, floor):
    """Prints our shares, and the processor microseconds per operation of both."""
    (mine, cpu), (its, floor_cpu) = ours, floor
    print(f"\n### {name}: {mine.total()} and {its.total()} samples, the floor {100 * floor_cpu / cpu:.0f} %\n")
    print("| | share | ours, µs | the floor, µs |\n|---|---|---|---|")
    for what, _ in (mine + its).most_common():
        share, its_share = mine[what] / mine.total(), its[what] / its.total()
        if max(share, its_share) >= 0.002:
            print(f"| {what} | {100 * share:.1f} % | {1e6 * cpu * share:.2f} | {1e6 * floor_cpu * its_share:.2f} |")
    # A kind is common to both if the floor has at least half our samples of it. Fewer come from side work
    # like documents or new threads.
    alike = [what for what in mine if what != "the program" and its[what] * 2 >= mine[what]]
    common = sum(mine[what] for what in alike) / mine.total()
    print(f"| all that the floor has the kernel do, too | {100 * common:.1f} % | | |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="our runner")
    parser.add_argument("--only", default=CASES, metavar="REGEX", help="the cases (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=400, help="of a case of microseconds, a tenth of others")
    parser.add_argument("--rate", type=int, default=20000, help="samples a second, likewise")
    parser.add_argument("--root", default=STORES, help="where the stores go (default: %(default)s)")
    parser.add_argument("--data", default=os.path.join(ROOT, "data"), help="where generated raw data is kept")
    args = parser.parse_args()
    args.seed, args.latency = 1, 0
    driver = Driver(args, runners())
    for case in cases("128"):
        if not re.search(args.only, case.name):
            continue
        path, missing = driver.prepare(case)
        assert not missing, missing
        out = path or os.path.join(args.root, "output")
        given = dict(case.args, path=out, **({} if path else {"data": driver.raw(case.args)}))
        commands = [shlex.join(command + flags(given)) for command in (shlex.split(args.command), runners()["floor"])]
        if path is None:
            commands = [f"{command}; rm -rf {shlex.quote(out)}" for command in commands]
        share = 1 if "count" in given else 10
        with tempfile.TemporaryDirectory(dir=args.root) as folder:
            warm_memory(512 << 20)
            table(case.name, *record(commands, args.runs // share, args.rate // share, folder))
    driver.forget()


if __name__ == "__main__":
    main()
