#!/usr/bin/env python3
"""Shows a field in ncview with the library of netCDF-C and with that in LIBRARY; the pictures must be equal.

ncview.py LIBRARY FILE URL. FILE and URL hold the same variable. The screen is that of Xvfb."""
import os
import struct
import subprocess
import sys
import time

library, file, url = sys.argv[1:]
SECONDS = 30


def picture(display):
    """Returns the pixels of the whole screen, four bytes each; none if the screen cannot be read now."""
    dump = subprocess.run(["xwd", "-root", "-silent", "-display", display], capture_output=True).stdout
    if len(dump) < 100:
        return b""
    header, colours = struct.unpack_from(">I", dump)[0], struct.unpack_from(">I", dump, 76)[0]
    return dump[header + 12 * colours :]


def is_field(pixels):
    return len({pixels[at : at + 4] for at in range(0, len(pixels), 4)}) > 100


def shown(display, environment, place, wanted=None):
    """Returns the last picture: the one that is wanted, or a field that stays the same twenty times."""
    command = ["ncview", place]
    viewer = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    last, same, end = b"", 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        if viewer.poll() is not None:
            # The server still takes leave of the last viewer.
            viewer = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pixels = picture(display)
        same = same + 1 if pixels == last else 0
        last = pixels
        if pixels == wanted or wanted is None and same == 20 and is_field(pixels):
            break
    viewer.kill()
    viewer.wait()
    return last


def main():
    end, start = os.pipe()
    screen = ["Xvfb", "-displayfd", str(start), "-screen", "0", "1000x800x24", "-nolisten", "tcp"]
    server = subprocess.Popen(screen, pass_fds=[start], stderr=subprocess.DEVNULL)
    os.close(start)
    try:
        display = f":{os.fdopen(end).readline().strip()}"
        theirs = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        theirs["DISPLAY"] = display
        ours = dict(theirs, LD_LIBRARY_PATH=library)
        reference = shown(display, theirs, file)
        if not is_field(reference):
            return "ncview shows no field with the library of netCDF-C"
        for place in (file, url):
            if shown(display, ours, place, reference) != reference:
                return f"ncview shows another picture of {place} than with the library of netCDF-C"
    finally:
        server.kill()
        server.wait()
    print("ncview shows the same picture of a file and of NCZarr as with the library of netCDF-C")
    return 0


sys.exit(main())
