"""The classes and functions of the package netCDF4, for every format and storage of this library.

>>> from nczarr import netCDF4
>>> with netCDF4.Dataset("memory://netcdf4", "w") as file:
...     time = file.createDimension("time")
...     t = file.createVariable("t", "f4", ("time",), fill_value=-1)
...     t.units = "K"
...     t[:] = [281.5, -1]
...     print(t[:], t.units)
[281.5 --] K
"""
import sys as _sys

from . import _settings, utils
from ._dataset import Dataset, Group
from ._dimension import Dimension
from ._errors import NetCDF4MissingFeatureException
from ._multifile import MFDataset, MFTime
from ._settings import (
    NC_DISKLESS,
    NC_PERSIST,
    __hdf5libversion__,
    __netcdf4libversion__,
    __version__,
    default_encoding,
    default_fillvals,
    dtype_is_complex,
    get_alignment,
    get_chunk_cache,
    getlibversion,
    is_native_big,
    is_native_little,
    rc_get,
    rc_set,
    set_alignment,
    set_chunk_cache,
    unicode_error,
)
from ._strings import chartostring, stringtoarr, stringtochar
from ._time import date2index, date2num, num2date
from ._types import CompoundType, EnumType, VLType
from ._variable import Variable

globals().update({name: value for name, value in vars(_settings).items() if name.startswith("__has_")})

__all__ = [
    "CompoundType", "Dataset", "Dimension", "EnumType", "Group", "MFDataset", "MFTime", "NC_DISKLESS", "NC_PERSIST",
    "NetCDF4MissingFeatureException", "VLType", "Variable", "chartostring", "date2index", "date2num",
    "default_encoding", "default_fillvals", "dtype_is_complex", "get_alignment", "get_chunk_cache", "getlibversion",
    "is_native_big", "is_native_little", "num2date", "rc_get", "rc_set", "set_alignment", "set_chunk_cache",
    "stringtoarr", "stringtochar", "unicode_error", "utils",
]

#: The module's other name in programs.
_netCDF4 = _sys.modules[__name__]

# Programs print these names, so they do not show the files of this package.
for _class in (CompoundType, Dataset, Dimension, EnumType, Group, MFDataset, MFTime, VLType, Variable):
    _class.__module__ = __name__
