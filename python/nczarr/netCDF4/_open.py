"""Opening and creating: modes, formats, and datasets in memory."""
import operator
import os
import shutil
import sys
import tempfile
from pathlib import Path

from .. import _file, _native
from . import _settings

#: The engine's kind for each format. Names of the engine's own kinds are formats as well.
FORMATS = {
    "NETCDF4": "netcdf4",
    "NETCDF4_CLASSIC": "netcdf4-classic",
    "NETCDF3_CLASSIC": "cdf1",
    "NETCDF3_64BIT": "cdf2",
    "NETCDF3_64BIT_OFFSET": "cdf2",
    "NETCDF3_64BIT_DATA": "cdf5",
    **{kind: kind for kind in ("nczarr-v2", "nczarr-v3", "zarr-v2", "zarr-v3")},
}
_DATA_MODELS = {
    1: "NETCDF3_CLASSIC", 2: "NETCDF3_64BIT_OFFSET", 3: "NETCDF4", 4: "NETCDF4_CLASSIC", 5: "NETCDF3_64BIT_DATA",
}
_DISK_FORMATS = {"classic": "NETCDF3", "hdf5": "HDF5", "hdf4": "HDF4"}


class Opened:
    """An open dataset of the engine, and the end of its life."""

    def __init__(self, handle, memory=None, persist=None, work_copy=None):
        self.handle = handle
        #: The least size of the content that closing returns; ``None`` if it returns nothing.
        self.memory = memory
        #: The file that gets the content of a dataset in memory at the end.
        self.persist = persist
        #: The temporary file that stands for a file opened without a disk.
        self.work_copy = work_copy
        info = handle.info()
        self.data_model = _DATA_MODELS[info["format"]]
        self.disk_format = _DISK_FORMATS.get(info["driver"]) or ("NCZARR" if info["flavour"] == "nczarr" else "ZARR")

    def close(self):
        """Closes it; returns the content of a dataset that was created with ``memory``."""
        if self.handle.is_closed():
            return None
        if self.memory is not None:
            content = self.handle.close_to_bytes()
            # The C library has files of the classic formats in memory of the given size.
            return memoryview(content.ljust(self.memory, b"\0") if self.disk_format == "NETCDF3" else content)
        if self.work_copy is not None:
            return self._close_copy()
        if self.persist is not None:
            content = self.handle.close_to_bytes()
            Path(self.persist).write_bytes(content)
        else:
            self.handle.close()
        return None

    def _close_copy(self):
        try:
            self.handle.close()
            if self.persist is not None:
                shutil.copyfile(self.work_copy, self.persist)
        finally:
            os.remove(self.work_copy)


def is_url(place):
    """Whether a place is a URL; anything else is a path."""
    return "://" in place


def place_text(filename, encoding):
    """Returns the path or URL of a file name."""
    if isinstance(filename, bytes):
        return filename.decode(encoding or sys.getfilesystemencoding())
    return str(filename)


def open_dataset(place, mode, clobber, format, diskless, persist, memory):
    """Opens or creates a dataset as netCDF4's arguments say.

    :raises ValueError: if the arguments contradict one another.
    """
    if memory is not None and mode not in ("r", "w"):
        raise ValueError("if memory kwarg specified, mode must be 'r' or 'w'")
    asked = mode
    if mode == "x":
        mode, clobber = "w", False
    mode = mode.replace("r+", "a")
    if mode not in ("r", "rs", "w", "ws", "a", "as"):
        raise ValueError(f"mode must be 'w', 'x', 'r', 'a' or 'r+', got {asked!r}")
    mode = mode[0]
    if format not in FORMATS:
        raise ValueError(f"unrecognized format requested: {format!r}, expected one of {', '.join(FORMATS)}")
    if mode == "r" and memory is not None:
        return Opened(_native.open_bytes(place, bytes(memory), _options()))
    if mode == "a":
        return _append(place, format, diskless, persist)
    if mode == "r":
        return Opened(_native.open(_place(place), False, _options()))
    return _create(place, clobber, format, diskless, persist, memory)


def _options():
    return _file._options(None, _settings.cache_bytes(), None, False, None)


def _place(place):
    return place if is_url(place) else Path(place)


def _create(place, clobber, format, diskless, persist, memory):
    in_memory = diskless or memory is not None
    if in_memory and not clobber and memory is None and os.path.exists(place):
        raise FileExistsError(f"{place}: File exists && NC_NOCLOBBER")
    # The URL itself says the kind where it has a mode.
    kind = None if is_url(place) and ("mode=" in place or not place.startswith("file:")) else FORMATS[format]
    handle = _native.create(_place(place), bool(clobber), kind, in_memory, _options())
    size = None if memory is None else operator.index(memory)
    return Opened(handle, size, place if diskless and persist else None)


def _append(place, format, diskless, persist):
    if is_url(place):
        try:
            return Opened(_native.open(place, True, _options()))
        except FileNotFoundError:
            return _create(place, False, format, diskless, persist, None)
    if not os.path.exists(place):
        return _create(place, True, format, diskless, persist, None)
    if not diskless:
        return Opened(_native.open(Path(place), True, _options()))
    number, copy = tempfile.mkstemp(suffix=os.path.splitext(place)[1])
    os.close(number)
    try:
        shutil.copyfile(place, copy)
        return Opened(_native.open(Path(copy), True, _options()), None, place if persist else None, copy)
    except BaseException:
        os.remove(copy)
        raise
