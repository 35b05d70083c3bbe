"""Runs the tests of the package netCDF4 on ``nczarr.netCDF4``.

    python run_netcdf4_tests.py FOLDER [--real] [--least N] [FILE...]

FOLDER is the folder ``test`` of netcdf4-python. Each file runs in its own process, in a copy of the folder.
``--real`` runs them on the package netCDF4 itself, for a comparison. ``NETCDF4.md`` explains each failure.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

#: Runs pytest with this library under the name of the other one.
_PROGRAM = """
import sys
if sys.argv[1] == "ours":
    from nczarr import netCDF4
    netCDF4.__name__ = "netCDF4"
    sys.modules["netCDF4"] = netCDF4
    sys.modules["netCDF4.utils"] = netCDF4.utils
import pytest
sys.exit(pytest.main(sys.argv[2:]))
"""
_LIMIT = 300


def run(file, library, folder):
    """Runs a test file; returns the outcome and a line of text by test."""
    report = Path(folder, f"{file.stem}.xml")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), folder])}
    command = [
        sys.executable,
        "-c",
        _PROGRAM,
        library,
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=short",
        f"--junitxml={report}",
        file.name,
    ]
    try:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=_LIMIT)
        output = done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        output = f"no result in {_LIMIT} s"
    if not report.exists():
        return {f"{file.name}": ("failed", output[-2000:])}, output
    results = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag: child.get("message") or "" for child in case}
        outcome = "failed" if {"failure", "error"} & kinds.keys() else "skipped" if "skipped" in kinds else "passed"
        name = f"{file.name}::{case.get('classname').rsplit('.')[-1]}::{case.get('name')}"
        results[name] = (outcome, next(iter(kinds.values()), ""))
    return results, output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*", help="names of test files; all without one")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--least", type=int, default=105, help="fail if fewer tests pass")
    parser.add_argument("-v", action="store_true", help="print the output of files with failures")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = shutil.copytree(args.folder, Path(scratch, "test"))
        files = [folder / name for name in args.files] or sorted(folder.glob("test_*.py"))
        library = "real" if args.real else "ours"
        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(lambda file: run(file, library, str(folder)), files))
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for results, output in outcomes:
        for name, (outcome, text) in results.items():
            counts[outcome] += 1
            if outcome != "passed":
                print(f"{outcome}: {name}: {' '.join(text.split())[:160]}")
        if args.v and any(outcome == "failed" for outcome, _ in results.values()):
            print(output)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 0 if args.files or counts["passed"] >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())
