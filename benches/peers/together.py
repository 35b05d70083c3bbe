#!/usr/bin/env python3
"""Which code of `ncz` runs when datasets are opened, read, made and appended to: a linker script that lays it together.

    together.py …/target/release/ncz > ../../crates/cli/link/together.ld

The system takes 64 KiB of a program into memory where one byte of it runs. Each function of the program stops it where it
begins, once, while `ncz bench op` does what is in OPS; what an operation that is skipped runs as well is the program's
start, and comes last. Names go without their hashes, so the script holds for other builds; functions that have their name
in common with many that did not run are left out. Linux on x86-64; the program with symbols, of the profile `release`.
"""
import collections
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from run import PYTHON

CUBE = "--shape 128,512,512 --chunks 64,64,64"
#: What is read is written before.
OPS = [f"--op read {CUBE} --codec {codec}" for codec in ("none", "zlib5", "deflate5s", "zstd3", "blosclz4", "blosczstdbit")]
OPS += [f"--op read --dtype i2 {CUBE} --codec {codec}" for codec in ("zlib5", "zstd3", "blosclz4")]
OPS += [f"--op read --format v3 {CUBE} --codec {codec}" for codec in ("none", "zlib5", "zstd3")]
OPS += ["--op read --shape 5000,16,16 --chunks 1,16,16", f"--op elem --count 5 {CUBE} --codec zstd3",
        f"--op elem --count 200 {CUBE} --codec none",
        f"--op box --mode warm --count 5 {CUBE} --codec zlib5", f"--op box --count 5 {CUBE}",
        "--op meta_open --nvars 200", "--op meta_open --nvars 200 --consolidated", "--op meta_write --nvars 200",
        "--op append --count 200 --shape 200,64,64 --chunks 1,64,64", "--op append --count 200 --shape 200,64,64 --chunks 64,64,64",
        f"--op write {CUBE} --codec none"]
#: Who makes what an operation reads; others need nothing.
MAKERS = {"read": "write", "elem": "write", "box": "write", "meta_open": "meta_write"}
SKIPPED = "--op read --format none --shape 1 --chunks 1"
#: A name is taken if this part of what it names ran, or if so many bytes of it did not.
PART, WASTE = 0.25, 12_000
HERE = os.path.dirname(os.path.abspath(__file__))
TRACEME, CONT, GETREGS, SETREGS, SETOPTIONS = 0, 7, 12, 13, 0x4200
TRACECLONE, EXITKILL, WALL, RIP = 8, 1 << 20, 1 << 30, 16

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def functions(program):
    """Name and length of each function by its place."""
    found = {}
    listing = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    for place, length, name in re.findall(r"(?m)^([0-9a-f]{16}) ([0-9a-f]{16}) [tTwW] (.*)$", listing):
        found.setdefault(int(place, 16), (name, int(length, 16)))
    return found


def ran(program, places, flags):
    """The places that the program came to, in order."""
    child = subprocess.Popen([program, "bench", "op"] + flags.split(), stdout=subprocess.DEVNULL,
                             preexec_fn=lambda: libc.ptrace(TRACEME, 0, None, None))
    os.waitpid(child.pid, 0)
    with open(f"/proc/{child.pid}/maps") as maps:
        base = int(next(line for line in maps if line.rstrip().endswith(os.path.realpath(program))).split("-")[0], 16)
    came, first = [], {}
    with open(f"/proc/{child.pid}/mem", "r+b", buffering=0) as memory:
        for place in places:
            memory.seek(base + place)
            first[place] = memory.read(1)
            memory.seek(base + place)
            memory.write(b"\xcc")
        libc.ptrace(SETOPTIONS, child.pid, None, TRACECLONE | EXITKILL)
        libc.ptrace(CONT, child.pid, None, None)
        while True:
            thread, status = os.waitpid(-1, WALL)
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                if thread == child.pid:
                    child.returncode = status
                    return came
                continue
            stopped = os.WSTOPSIG(status)
            if stopped == signal.SIGTRAP and status >> 16 == 0:
                registers = (ctypes.c_ulonglong * 27)()
                libc.ptrace(GETREGS, thread, None, registers)
                registers[RIP] -= 1
                place = registers[RIP] - base
                if place not in came:
                    came.append(place)
                    memory.seek(base + place)
                    memory.write(first[place])
                libc.ptrace(SETREGS, thread, None, registers)
            own = stopped in (signal.SIGTRAP, signal.SIGSTOP)
            libc.ptrace(CONT, thread, None, 0 if own else stopped)


def pattern(name):
    """Matches the sections of a function in other builds."""
    name = re.sub(r"\.llvm\.\d+$", "", name)
    if hashed := re.fullmatch(r"(_ZN.*)17h[0-9a-f]{16}E", name):
        return hashed[1] + "17h*"
    return re.sub(r"Cs[0-9A-Za-z]+_(?=\d)", "Cs*_", name).split(".")[0] + "*"


def traces(program, places):
    """What each operation ran."""
    raw = {}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as root:
        for at, flags in enumerate(OPS):
            dtype = "i2" if "i2" in flags else "f4"
            if dtype not in raw:
                raw[dtype] = f"{root}/{dtype}.raw"
                field = [PYTHON, f"{HERE}/field.py", "--shape", "128,512,512", "--dtype", dtype, "--out", raw[dtype]]
                subprocess.run(field, check=True, stdout=sys.stderr)
            flags += f" --path {root}/{at}"
            op = flags.split()[1]
            flags += f" --data {raw[dtype]}"
            if op in MAKERS:
                maker = flags.replace(f"--op {op}", f"--op {MAKERS[op]}")
                subprocess.run([program, "bench", "op"] + maker.split(), check=True, stdout=sys.stderr)
            yield ran(program, places, flags)
            shutil.rmtree(f"{root}/{at}")


def main():
    program = sys.argv[1]
    known = functions(program)
    start = set(ran(program, known, SKIPPED + " --path /nowhere"))
    total, part = collections.Counter(), collections.Counter()
    # The operations that ran it, by name, in the order in which the names came first.
    users = {}
    for name, length in known.values():
        total[pattern(name)] += length
    seen = set()
    for at, trace in enumerate(traces(program, known)):
        for place in trace:
            if place in start:
                continue
            name, length = known[place]
            users.setdefault(pattern(name), {})[at] = None
            if place not in seen:
                part[pattern(name)] += length
                seen.add(place)
    starting = {pattern(known[place][0]) for place in start}
    taken = [name for name in users if part[name] >= PART * total[name] or total[name] - part[name] < WASTE]
    # What all use comes first, and what the same ones use is together.
    taken.sort(key=lambda name: (name in starting, -len(users[name]), list(users[name])))
    print("/* Code that opens, reads, makes and appends to datasets; made by benches/peers/together.py. Names that are not there do no harm. */")
    print("SECTIONS\n{\n  .text.together :\n  {")
    for name in taken:
        print(f"    *(.text.{name} .text.unlikely.{name})")
    print("  }\n}\nINSERT BEFORE .text;")
    print(f"{len(taken)} names, {sum(total[name] for name in taken)} bytes, of which {sum(part[name] for name in taken)} ran",
          file=sys.stderr)


if __name__ == "__main__":
    main()
