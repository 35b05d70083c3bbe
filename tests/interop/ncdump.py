"""Compares the output of `ncz dump` with that of an installed `ncdump`, byte for byte, for every flag. The
input files are the classic and netCDF-4 files of the corpus, and files from the reference's own texts.

usage: ncdump.py NCZ CORPUS [NCDUMP]
"""

import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

# The arguments of -v and -g depend on the file, so they are added below.
FLAGS = [
    [], ["-h"], ["-c"], ["-k"], ["-b", "c"], ["-b", "f"], ["-f", "c"], ["-f", "f"], ["-l", "20"], ["-l", "1000"], ["-n", "a name"],
    ["-p", "3"], ["-p", "4,6"], ["-p", "9,17"], ["-s"], ["-s", "-h"], ["-t"], ["-i"], ["-t", "-h"], ["-t", "-b", "c"],
    ["-i", "-f", "f"], ["-x"], ["-w"], ["-F", "-s", "-h"], ["-b", "f", "-l", "30"],
]  # fmt: skip
MAGIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05", b"\x89HDF")
LARGEST = 300_000

STREAMING = "it takes the mark of a stream for a number of records, and prints them all"
# Files that are not compared, and the reasons.
LEFT_OUT = {
    "cdf1_streaming.nc": STREAMING,
    "cdf2_streaming.nc": STREAMING,
    "cdf5_streaming.nc": STREAMING,
    "f03tst_open_mem.nc": "it prints memory where the file has ended",
}


def printed(command):
    run = subprocess.run(command, capture_output=True, timeout=60, check=False)
    return run.returncode, run.stdout


# Known differences: file, flags, reason.
KNOWN = [
    ("cdf5_atts.nc", ["-x"], "it prints integers of 64 bits in attributes as what a double makes of them"),
    ("cdf5_userfill.nc", ["-x"], "the same"),
    ("nc4_scalars.nc", ["-s"], "4.9.0 does not see that netCDF made it; later releases do"),
    ("nc4c_cf.nc", ["-s"], "the same"),
    ("nc4c_rec.nc", ["-s"], "the same"),
    ("nc4c_types.nc", ["-s"], "the same"),
    ("ref_null_byte_padding_test.nc", ["-t"], "for a number too large for a time it prints a comment that says nothing"),
    ("ref_null_byte_padding_test.nc", ["-i"], "the same"),
    ("nc4_ut_grouptypes.nc", [], "it prints the name of a type that another one hides, which means that one"),
    ("nc4_ut_opaque_vlen.nc", ["-l", "20"], "where attributes of user-defined types are folded depends on what was printed before"),
]
# In other HDF5 files unwritten elements are zeros, and other HDF5 readers show zeros.
KNOWN += [
    (name, ["-s"], "it takes HDF5's default fill value for none, and prints _NoFill")
    for name in [
        "ref_hdf5_compat3.nc", "ref_szip.h5", "tdset.h5", "ref_tst_compounds2.nc", "ref_tst_compounds3.nc",
        "ref_tst_irish_rover.nc", "ref_groups.h5",
    ]
]  # fmt: skip
# Files from texts without data and fill values. ncdump prints arbitrary memory contents.
KNOWN += [
    (f"{folder}_{name}.nc4", [], "nobody wrote the values")
    for folder, name in [
        ("cdl", "ref_tst_special_atts.cdl"), ("cdl", "ref_tst_special_atts3.cdl"), ("expected", "ref_tst_special_atts.dmp"),
        ("expected", "ref_tst_special_atts3.dmp"), ("ncdump", "ref_tst_special_atts.cdl"),
        ("ncdump", "ref_tst_special_atts3.cdl"), ("ncdump", "ref_tst_ncf213.cdl"),
    ]
]  # fmt: skip
KNOWN += [("cdl_ref_typescope.cdl.nc4", [], "types that are equal but for their names are one to it")]
# ncdump prints an undefined index for a scalar with `-f`.
SCALAR = re.compile(rb"  // [^,]*\(\d+\)$")


def known(path, flags):
    return any(path.name == name and all(flag in flags for flag in of) for name, of, _ in KNOWN)


def lines(text, flags):
    for line in text.split(b"\n"):
        yield SCALAR.sub(b"", line) if "-f" in flags else line


def compare(job):
    ncdump, ncz, path, flags = job
    code, theirs = printed([ncdump, *flags, str(path)])
    if code != 0:
        return None
    ours = printed([ncz, "dump", *flags, str(path)])[1]
    pairs = zip(lines(theirs, flags), lines(ours, flags), strict=False)
    differs = next(((a, b) for a, b in pairs if a != b), None)
    if differs is None and theirs.count(b"\n") != ours.count(b"\n"):
        differs = (theirs.count(b"\n"), ours.count(b"\n"))
    return path, flags, differs


def jobs(ncdump, ncz, corpus):
    for path in sorted(corpus.rglob("*")):
        if path.name not in LEFT_OUT and path.is_file() and path.stat().st_size < LARGEST and path.read_bytes()[:4] in MAGIC:
            for flags in FLAGS:
                yield ncdump, ncz, path, flags
            names = [line.split()[1].split(b"(")[0] for line in printed([ncdump, "-h", str(path)])[1].split(b"\n")
                     if line.startswith(b"\t") and line.endswith(b" ;") and b":" not in line and b"=" not in line]  # fmt: skip
            if names and b"\\" not in names[-1]:
                yield ncdump, ncz, path, ["-v", names[-1].decode()]
            yield ncdump, ncz, path, ["-g", "/"]


def made_of_texts(ncz, corpus, folder):
    """Makes a netCDF-4 and a classic file from each text of the reference, where possible."""
    for source in [*sorted((corpus / "upstream").rglob("*.cdl")), *sorted((corpus / "upstream").rglob("*.dmp"))]:
        if source.stat().st_size > LARGEST or "/big" in str(source):
            continue
        for kind in ("nc4", "classic"):
            made = folder / f"{source.parent.name}_{source.name}.{kind}"
            if printed([ncz, "gen", "-k", kind, "-o", str(made), str(source)])[0] == 0:
                yield made


def main():
    with tempfile.TemporaryDirectory() as folder:
        return compare_all(Path(folder))


def compare_all(folder):
    ncz, corpus = sys.argv[1], Path(sys.argv[2]) / "netcdf-c"
    ncdump = sys.argv[3] if len(sys.argv) > 3 else "ncdump"
    same, bad, excused = Counter(), [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = ((ncdump, ncz, made, []) for made in made_of_texts(ncz, corpus, folder))
        for found in pool.map(compare, itertools.chain(jobs(ncdump, ncz, corpus), texts)):
            if found is None:
                continue
            path, flags, differs = found
            if differs is None:
                same[flags[0] if flags else "none"] += 1
            elif known(path, flags):
                excused += 1
            else:
                bad.append(f"{path} {' '.join(flags)}: {differs}")
    print("ncdump:", ", ".join(f"{flag} {count}" for flag, count in sorted(same.items())), f"the same; {excused} known to differ")
    for line in bad:
        print(line)
    return bool(bad) or not same


if __name__ == "__main__":
    sys.exit(main())
