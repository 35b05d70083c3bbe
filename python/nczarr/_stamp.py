"""The identity of a local dataset, so that an old handle never mixes two datasets.

A file that was replaced or changed has another inode, size or time. In a directory, writers append all the time, so
only the birth of an array's directory says that another dataset took its place. The clock of a file system has ticks of
some milliseconds: a dataset that is replaced in the tick of its opening looks like the old one.
"""
import ctypes
import os
import sys
import time

from ._location import local_path

_BIRTH = 0x800
_HERE = -100


class _Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_uint32), ("reserved", ctypes.c_int32)]


class _Statx(ctypes.Structure):
    _fields_ = [
        ("mask", ctypes.c_uint32), ("before", ctypes.c_uint8 * 60), ("access", _Time), ("birth", _Time),
        ("after", ctypes.c_uint8 * 160),
    ]


def _library():
    """Returns the C library's ``statx``; ``None`` where there is none."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "statx", None)


_STATX = _library()


def birth_of(path):
    """Returns when a file was made, in nanoseconds; 0 if the system does not say it."""
    if _STATX is None:
        return 0
    found = _Statx()
    if _STATX(_HERE, os.fsencode(path), 0, _BIRTH, ctypes.byref(found)) != 0 or not found.mask & _BIRTH:
        return 0
    return found.birth.seconds * 1_000_000_000 + found.birth.nanoseconds


class Stamp:
    """The identity of a dataset when its handle opened it."""

    __slots__ = ("identity", "is_directory", "moment", "path")

    def __init__(self, path):
        found = os.stat(path)
        self.path, self.is_directory = path, os.path.isdir(path)
        # The clock of a file server may be ahead of ours.
        self.moment = max(time.time_ns(), found.st_ctime_ns)
        self.identity = (found.st_dev, found.st_ino)
        if not self.is_directory:
            self.identity += found.st_size, found.st_mtime_ns

    @classmethod
    def of(cls, place, mode):
        """Returns the stamp of a local dataset that is read; ``None`` for others."""
        path = local_path(place)
        if path is None or mode != "r":
            return None
        try:
            return cls(path)
        except OSError:
            return None

    def was_replaced(self, group, name):
        """Whether another array has come to the place of this one. Files are locked or compared at opening."""
        return self.is_directory and birth_of(os.path.join(self.path, group.strip("/"), name)) > self.moment

    def __getstate__(self):
        return self.path, self.is_directory, self.moment, self.identity

    def __setstate__(self, state):
        self.path, self.is_directory, self.moment, self.identity = state
