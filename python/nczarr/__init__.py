"""Reads and writes netCDF datasets: NCZarr, Zarr V2 and V3, classic and netCDF-4 files, in directories, zip
archives, S3, on web servers and in memory.

>>> import nczarr
>>> with nczarr.create("memory://readme") as file:
...     time = file.create_dimension("time")
...     t = file.create_variable("t", "f4", ["time"], attrs={"units": "K"})
...     t[:] = [281.5, 282.0]
...     print(t[1], t.attrs["units"])
282.0 K
"""
import os as _os

from . import _native, _xarray_hook
from ._dimension import Dimension
from ._file import File, Group, create, delete, info, open
from ._map import Map
from ._native import explain
from ._rechunk import rechunk
from ._tool import copy, diff, validate
from ._variable import Variable
from ._writer import Writer
from .errors import NczarrError

__all__ = [
    "Dimension", "File", "Group", "Map", "NczarrError", "Variable", "Writer", "copy", "create", "delete", "diff", "explain", "info", "open",
    "rechunk", "validate",
]
__version__ = _native.version()

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native.after_fork)

_xarray_hook.install()
