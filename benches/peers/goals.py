#!/usr/bin/env python3
"""Compares measured speeds with the goals, case by case. A goal is a ratio to the speed of the best peer.

    goals.py first.json second.json … [--missed] [--scale 0.9] [--write NAME]

Every run (a file of run.py --out) must reach the goal. A ratio is a ratio of medians. The memory goal is for
whole reads: beside its result, a read takes at most two chunks per thread and 2 MiB.

"floor" has two figures. The first is the floor's speed as a multiple of the best peer's (the maximum of all
runs). The second is the floor's processor time as a share of ours (the median of the runs). Above 100 %, the
floor is slower than our library, and gives no bound.

--write NAME replaces the table between `<!-- NAME -->` and `<!-- end of NAME -->` in benches/RESULTS.md. A
new name goes to the end.
"""
import json
import os
import re
import statistics
import sys

#: Patterns of case names, and their goals.
GOALS = [
    # V3 without shards has the same goals as V2.
    (r"read/v[23]/none/64", 2.0), (r"read/v[23]/none/128", 1.7), (r"read/v[23]/none/slab", 1.6),
    (r"read/v[23]/deflate5s/64", 3.2), (r"read/v[23]/zlib5/64", 1.95),
    (r"read/v[23]/zstd3/64", 1.45), (r"read/v[23]/zstd3/128", 1.4), (r"read/v[23]/zstd3/slab", 1.15),
    (r"read/v[23]/blosclz4/64", 1.9), (r"read/v[23]/blosczstdbit/64", 1.35),
    (r"write/v[23]/none/64", 1.25), (r"write/v[23]/none/slab", 1.35),
    (r"write/v[23]/deflate5s/64", 1.45), (r"write/v[23]/zlib5/64", 1.4),
    (r"write/v[23]/zstd3/64", 1.05), (r"write/v[23]/blosclz4/64", 1.2),
    (r"read/v3s/\w+/64", 1.3), (r"write/v3s/none/64", 1.3), (r"(elem|box)-open/v3s/\w+", 1.5),
    (r"elem-cold/v2/none", 1.6), (r"elem-open/v2/none", 2.5), (r"elem-warm/v2/none", 5.0),
    (r"box-open/v2/none", 2.8), (r"box-open/v2/zlib5", 1.75), (r"box-open/v2/zstd3", 1.25), (r"box-warm/v2/\w+", 3.0),
    (r"series-open/v2/zlib5", 1.7),
    (r"vars2/v2/none", 2.5), (r"vars2/v2/zlib5", 1.85), (r"vars2/v2/zstd3", 1.3),
    (r"meta-open/v2", 2.0), (r"meta-open-consolidated/v2", 6.0), (r"meta-write/v2", 2.0),
    (r"append/v2/1,64,64", 2.3), (r"append/v2/64,64,64", 2.4),
    (r"manychunks-read/v2", 1.7), (r"manychunks-write/v2", 1.1), (r"manychunks-list/v2", 1.5),
    (r"conv-i2-f64/v[23]", 3.2), (r"read-bigendian/v2", 2.5),
    (r"zip-read/v2/\w+", 1.5), (r"zip-write/v2/\w+", 3.0), (r"zip-elem/v2/\w+", 4.0),
    (r"read/cdf5", 1.8), (r"write/cdf5", 1.4), (r"vars2/cdf5", 3.0), (r"row/cdf5", 1.5),
    (r"s3-read/\w+/zstd3", 1.5), (r"s3-box-open/v3s/zstd3", 1.5),
    (r"s3-meta-open/v\d", 1.6), (r"s3-meta-open-consolidated/v\d", 2.0),
]
#: The maximum number of requests of a case. A whole read takes one for each of 128 chunks and one to open. An
#: element takes two, and a box in shards three; there are five of each. All metadata take one.
REQUESTS = [
    (r"s3-read/v[23]/zstd3", 129), (r"s3-elem-cold/v[23]/zstd3", 10), (r"s3-box-open/v3s/zstd3", 15),
    (r"s3-meta-open-consolidated/v\d", 1),
]
#: Cases on another file system have other goals.
ON_DISK = [(r"write/v2/none/64", 1.4)]


def load(path):
    """Returns the cases of one run by name, and whether the run was on a disk."""
    with open(path) as file:
        run = json.load(file)
    return {case["case"]: case for case in run["results"]}, not run["root"].startswith("/dev/shm")


def goal_of(name, on_disk):
    for pattern, goal in ON_DISK if on_disk else GOALS:
        if re.fullmatch(pattern, name):
            return goal
    return None


def duel(case):
    """Returns our row and that of the best peer."""
    rows = [row for row in case["rows"] if "wall" in row]
    ours = next((row for row in rows if row["peer"] == "ours"), None)
    peers = [row for row in rows if row["peer"] not in ("ours", "floor")]
    return ours, min(peers, key=lambda row: row["wall"]) if ours and peers else None


def floor(runs, name):
    """Returns the floor's speed as a multiple of the best peer's, and its share of our processor time."""
    found = []
    for run, _ in runs:
        rows = {row["peer"]: row for row in run[name]["rows"] if "wall" in row} if name in run else {}
        if "floor" in rows and "ours" in rows:
            found.append((duel(run[name])[1]["wall"] / rows["floor"]["wall"], rows["floor"]["cpu"] / rows["ours"]["cpu"]))
    if not found:
        return ""
    return f"{max(ratio for ratio, _ in found):.2f}, {statistics.median(part for _, part in found):.0%}"


def time(seconds, n):
    """Returns the duration of one of `n` operations as text."""
    each = seconds / n
    return f"{each * 1e6:.2f} µs" if each < 1e-3 else f"{each * 1e3:.1f} ms"


def excess(case):
    """Returns the memory of a whole read beside its result in MiB, and its limit."""
    ours, args = duel(case)[0], case["args"]
    if args["op"] != "read" or args["format"] not in ("v2", "v3") or args.get("store") == "s3" or ours is None:
        return None
    item = int(args["dtype"][-1])
    chunk = item
    for length in args["chunks"].split(","):
        chunk *= int(length)
    return ours["rss_delta_mib"] - ours["bytes"] / 2**20, 2 * (os.cpu_count() or 1) * chunk / 2**20 + 2


def write(name, lines):
    """Replaces the table of this name in benches/RESULTS.md."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "RESULTS.md")
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    with open(path) as file:
        text = file.read()
    if begin not in text:
        text += f"\n## {name}\n\n{begin}\n{end}\n"
    head, rest = text.split(begin, 1)
    with open(path, "w") as file:
        file.write(head + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + rest.split(end, 1)[1])


def main():
    lines = []
    name_of_table = sys.argv[sys.argv.index("--write") + 1] if "--write" in sys.argv else None
    paths = [arg for arg in sys.argv[1:] if arg.endswith(".json")]
    scale = float(sys.argv[sys.argv.index("--scale") + 1]) if "--scale" in sys.argv else 1.0
    runs = [load(path) for path in paths]
    on_disk = runs[0][1]
    lines.append("| case | best peer | ours | " + " | ".join(f"× run {i + 1}" for i in range(len(runs))) + " | goal | floor | |")
    lines.append("|---|---|---|" + "---|" * len(runs) + "---|---|---|")
    missed = 0
    for name, first in runs[0][0].items():
        goal = goal_of(name, on_disk)
        duels = [duel(run[name]) for run, _ in runs if name in run]
        if goal is None or any(peer is None for _, peer in duels):
            continue
        ratios = [peer["wall"] / ours["wall"] for ours, peer in duels]
        met = min(ratios) >= goal * scale - 0.005
        missed += not met
        if met and "--missed" in sys.argv:
            continue
        ours = statistics.median(ours["wall"] for ours, _ in duels)
        peer = duels[0][1]
        wrong = any("WRONG" in row["note"] or "DIFFERS" in row["note"] for row in first["rows"])
        lines.append(f"| {name} | {peer['peer']} {time(peer['wall'], peer['n'])} | {time(ours, duels[0][0]['n'])} | "
              + " | ".join(f"{ratio:.2f}" for ratio in ratios)
              + f" | {goal * scale:.2f} | {floor(runs, name)} | {'' if met else 'missed'}{' **DATA DIFFER**' if wrong else ''} |")
    for name, case in runs[0][0].items():
        over = excess(case)
        if over and over[0] > over[1]:
            missed += 1
            lines.append(f"| {name}: memory above the result | | {over[0]:.1f} MiB | {'| ' * len(runs)}| {over[1]:.1f} MiB | | missed |")
    for name, case in runs[0][0].items():
        most = next((most for pattern, most in REQUESTS if re.fullmatch(pattern, name)), None)
        ours, peer = duel(case)
        if most and ours:
            met = ours["requests"] <= most
            missed += not met
            theirs = f"{peer['peer']} {peer['requests']}" if peer else ""
            lines.append(f"| {name}: requests | {theirs} | {ours['requests']} {'| ' * len(runs)}| {most} | | {'' if met else 'missed'} |")
    if name_of_table:
        write(name_of_table, lines)
    else:
        print("\n".join(lines))
    print(f"\n{missed} missed", file=sys.stderr)


if __name__ == "__main__":
    main()
