#!/usr/bin/env python3
"""Prints one row per case from files of run.py --out: the best peer's median, then two ratios for each peer.
The first is the paired ratio of wall time to the best peer. The second is the ratio of processor time to the
peer with the least.

    summary.py results.json … [--rss]
"""
import json
import sys

ORDER = ["floor", "zarrs", "tensorstore", "zarr-zarrs", "zarr-python", "netcdf-c", "netcdf4-python", "h5py", "scipy"]


def cell(row, best, rss):
    if "wall" not in row:
        return "**wrong data**" if "WRONG" in row["note"] else ""
    if rss:
        return f"{row['rss_mib']:.0f} (+{row['rss_delta_mib']:.0f})"
    text = f"{row['paired']:.2f} / {row['cpu_ratio']:.2f}"
    if "WRONG" in row["note"] or "DIFFERS" in row["note"]:
        text += " **!**"
    return f"**{text}**" if row is best else text


def main():
    rss = "--rss" in sys.argv
    found = []
    for path in sys.argv[1:]:
        if not path.startswith("--"):
            with open(path) as file:
                found += json.load(file)["results"]
    seen = {row["peer"] for case in found for row in case["rows"] if "wall" in row}
    columns = [peer for peer in ORDER if peer in seen] + sorted(seen - set(ORDER))
    print("| case | best peer, s | " + " | ".join(columns) + " |")
    print("|---|---|" + "---|" * len(columns))
    for case in found:
        by_peer = {row["peer"]: row for row in case["rows"]}
        real = [row for row in case["rows"] if "wall" in row and row["peer"] != "floor"]
        if not real:
            continue
        best = min(real, key=lambda row: row["wall"])
        cells = [cell(by_peer[peer], best, rss) if peer in by_peer else "" for peer in columns]
        print(f"| {case['case']} | {best['peer']} {best['wall']:.4f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
