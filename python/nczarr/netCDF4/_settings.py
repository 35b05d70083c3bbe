"""Constants of the module, and settings for all datasets that are opened later."""
import sys

import numpy as np

from .. import _native
from .._types import DEFAULT_FILL

__version__ = "1.7.5"
#: The version of netCDF-C with the same functions and defaults.
__netcdf4libversion__ = "4.9.3"
#: The version of HDF5 with the same file format.
__hdf5libversion__ = "1.14.6"

__has_rename_grp__ = 1
__has_nc_inq_path__ = 1
__has_nc_inq_format_extended__ = 1
__has_nc_open_mem__ = 1
__has_nc_create_mem__ = 1
__has_cdf5_format__ = 1
__has_parallel4_support__ = 0
__has_pnetcdf_support__ = 0
__has_parallel_support__ = 0
__has_quantization_support__ = 1
__has_zstandard_support__ = 1
__has_bzip2_support__ = 1
__has_blosc_support__ = 1
__has_szip_support__ = 1
__has_set_alignment__ = 1
__has_ncfilter__ = 1
__has_nc_rc_set__ = 1

NC_DISKLESS = 0x0008
NC_PERSIST = 0x4000

is_native_little = sys.byteorder == "little"
is_native_big = not is_native_little
default_encoding = "utf-8"
unicode_error = "replace"

#: The values of elements that were never written, by type.
default_fillvals = {**DEFAULT_FILL, "c8": DEFAULT_FILL["f4"], "c16": DEFAULT_FILL["f8"]}

#: The numbers and text that every variable may have.
PRIMITIVE = tuple(code for code in default_fillvals if code[0] != "c")

_cache = [67108864, 1000, 0.75]
_cache_changed = False
_alignment = (0, 0)
_rc = {}


def getlibversion():
    """Returns the version of netCDF-C with the same functions, and that of this library."""
    return f"{__netcdf4libversion__} of nczarr {_native.version()} $"


def get_chunk_cache():
    """Returns bytes, slots and preemption of the chunk caches of datasets that are opened later."""
    return tuple(_cache)


def set_chunk_cache(size=None, nelems=None, preemption=None):
    """Sets bytes, slots and preemption of the chunk caches of datasets that are opened later."""
    global _cache_changed
    for place, value in enumerate((size, nelems, preemption)):
        if value is not None:
            _cache[place] = value
    _cache_changed = True


def cache_bytes():
    """Returns the bytes of a chunk cache; ``None`` for the engine's own default."""
    return int(_cache[0]) if _cache_changed else None


def get_alignment():
    """Returns the threshold and alignment of ``set_alignment``."""
    return _alignment


def set_alignment(threshold, alignment):
    """Keeps the wish for alignment. The engine lays out files by itself, so it changes no file."""
    global _alignment
    _alignment = (int(threshold), int(alignment))


def rc_get(key):
    """Returns the value of ``rc_set``; ``None`` without one."""
    return _rc.get(key)


def rc_set(key, value):
    """Keeps a value by key for ``rc_get``. The engine reads its own configuration from the environment."""
    _rc[key] = value


def dtype_is_complex(dtype):
    """Returns whether a type is that of complex numbers."""
    return np.dtype(dtype).str[1:] in ("c8", "c16") if not isinstance(dtype, type) or dtype is not str else False
