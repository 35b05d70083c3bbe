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
import importlib as _importlib
import os as _os

from . import _native, _xarray_hook
from .errors import NczarrError

#: The module of each name. The first use imports it, so the import of the package does not import numpy.
_MODULES = {
    "Dimension": "_dimension",
    "File": "_file",
    "Group": "_group",
    "Map": "_map",
    "Variable": "_variable",
    "Writer": "_writer",
    "copy": "_tool",
    "create": "_file",
    "delete": "_file",
    "diff": "_tool",
    "explain": "_native",
    "info": "_file",
    "open": "_file",
    "rechunk": "_rechunk",
    "validate": "_tool",
}
__all__ = sorted([*_MODULES, "NczarrError"])
__version__ = _native.version()


def __getattr__(name):
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_importlib.import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_MODULES})


if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native.after_fork)

_xarray_hook.install()
