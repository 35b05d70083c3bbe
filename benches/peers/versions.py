#!/usr/bin/env python3
"""Compares Zarr V3 with V2 for whole arrays in one runner, in turns within each round.

    versions.py 'RUNNER' [--only REGEX] [--repeats 9]

It prints the medians, and the speed of V3 as a multiple of V2's, paired within rounds. Pairs help because the
machine's speed changes between rounds, but hardly between two consecutive runs. It also prints the ratio of
the fastest runs, because disturbances only make runs slower. Inputs are stored twice in each version, in the
order V2, V3, V3, V2, and read in turns. The place of an input in memory changes the time by a tenth.
"""
import argparse
import os
import re
import shlex
import statistics
import types

import run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runner")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    settings = types.SimpleNamespace(root=run.STORES, data=os.path.join(run.ROOT, "data"), seed=1, timeout=120)
    driver = run.Driver(settings, {**run.runners(), "ours": shlex.split(given.runner)})
    known = {case.name: case for case in run.cases("128", None, "f4")}
    print("| case | V2 | V3 | V3 is × as fast, least to most | by the fastest of each |\n|---|---|---|---|---|")
    for name, older in known.items():
        newer = known.get(name.replace("/v2/", "/v3/"))
        if not re.match(r"(read|write)/v2/", name) or newer is None or not re.search(given.only, name):
            continue
        times = {older.name: [], newer.name: []}
        places = {older.name: [], newer.name: []}
        for case in (older, newer, newer, older):
            if case.input:
                # The driver keeps one input at a time.
                path, missing = driver.prepare(case)
                assert missing is None, missing
                place = f"{path}_{case.args['format']}_{len(places[case.name])}"
                os.rename(path, place)
                places[case.name].append(place)
                driver.input = None, None
        for turn in range(given.repeats):
            for case in (older, newer) if turn % 2 else (newer, older):
                inputs = places[case.name] or [os.path.join(settings.root, "output")]
                args = dict(case.args, path=inputs[turn // 2 % len(inputs)])
                if not case.input:
                    run.remove(args["path"])
                    args["data"] = driver.raw(args)
                said = driver.run("ours", args, settings.timeout)
                if "skip" in said:
                    raise SystemExit(f"{case.name}: {said['skip']}")
                times[case.name].append(said["seconds"])
        for path in [*places[older.name], *places[newer.name], os.path.join(settings.root, "output")]:
            run.remove(path)
        ratios = sorted(old / new for old, new in zip(times[older.name], times[newer.name]))
        medians = [statistics.median(times[case.name]) * 1e3 for case in (older, newer)]
        least = [min(times[case.name]) for case in (older, newer)]
        print(f"| {name.replace('v2/', '')} | {medians[0]:.1f} ms | {medians[1]:.1f} ms | "
              f"{statistics.median(ratios):.2f} ({ratios[1]:.2f}–{ratios[-2]:.2f}) | "
              f"{least[0] / least[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
