"""The engine for xarray: ``xr.open_dataset(place, engine="nczarr")``, ``ds.to_netcdf(place, engine="nczarr")`` and
``to_nczarr(ds, place)``; ``tree_to_nczarr(tree, place)`` for a ``DataTree``.

Datasets are read lazily, from any number of threads and processes and without locks. Several processes may write
parts of one dataset and append to it at the same time.
"""
from ._array import NczarrArray
from ._entrypoint import NczarrBackendEntrypoint
from ._register import register
from ._store import NczarrDataStore
from ._to_nczarr import to_nczarr
from ._tree import tree_to_nczarr

__all__ = ["NczarrArray", "NczarrBackendEntrypoint", "NczarrDataStore", "to_nczarr", "tree_to_nczarr"]

register()
