"""The names by which xarray finds the engine, also where the package is on the path but not installed."""
from xarray.backends.common import BACKEND_ENTRYPOINTS
from xarray.backends.plugins import list_engines

from .. import _xarray_hook
from ._entrypoint import NczarrBackendEntrypoint


def register():
    """Adds the engine to xarray's tables of engines, for reading and for writing."""
    _xarray_hook.install()
    if "nczarr" not in BACKEND_ENTRYPOINTS:
        BACKEND_ENTRYPOINTS["nczarr"] = ("nczarr", NczarrBackendEntrypoint)
        list_engines.cache_clear()
