"""Checks before anything is created: what cannot be written is an error, and the old dataset stays."""
import os

import numpy as np
from xarray import DataArray, Dataset, Variable
from xarray.core import indexing

from .._location import local_path
from .._mount import Mounted
from ._array import NczarrArray

#: Classes that have another array inside.
_WRAPPERS = (indexing.ExplicitlyIndexed, indexing.ImplicitToExplicitIndexingAdapter)
#: The most bytes of a variable in the formats with offsets of 32 and of 64 bits.
_MOST_BYTES = 2**31 - 4
_SMALL_FORMATS = ("NETCDF3_CLASSIC", "NETCDF3_64BIT", "NETCDF3_64BIT_OFFSET")


def check(variables, place, format, unlimited_dims):
    """Checks variables against the format.

    :raises ValueError: if a variable is larger than the format allows.
    """
    if (format or "").upper() not in _SMALL_FORMATS:
        return
    for name, variable in variables.items():
        shape = [length for dim, length in variable.sizes.items() if dim not in (unlimited_dims or ())]
        size = int(np.prod(shape, dtype=object)) * variable.dtype.itemsize
        if size > _MOST_BYTES:
            raise ValueError(
                f"{place}: variable {name!r} has {size} bytes, and format {format} allows {_MOST_BYTES}: "
                "use NETCDF3_64BIT_DATA or NETCDF4"
            )


def check_name(name):
    """Checks the name of a variable or dimension.

    :raises ValueError: if it has a slash.
    """
    if "/" in name:
        raise ValueError(
            f"Forward slashes '/' are not allowed in variable and dimension names (got {name!r}): they separate groups"
        )


def check_attributes(dataset):
    """Checks that no attribute is an object of xarray, which no format has.

    :raises TypeError: with the name of such an attribute.
    """
    for owner in (dataset, *dataset.variables.values()):
        for name, value in owner.attrs.items():
            if isinstance(value, (DataArray, Dataset, Variable)):
                raise TypeError(
                    f"Invalid attribute in Dataset.attrs: {name!r} is a {type(value).__name__}; use its values"
                )


def check_sources(variables, place):
    """Checks that no variable is read lazily from the place that will be replaced.

    :raises ValueError: with the name of such a variable.
    """
    path = _real(place)
    for name, variable in variables.items():
        for array in _lazy_arrays(variable._data):
            if _real(array.handle.place) == path:
                raise ValueError(
                    f"{place}: variable {name!r} is read lazily from the dataset that would be replaced: "
                    "load it first, or write to another place"
                )


def _real(place):
    if isinstance(place, Mounted):
        return place.map.identity
    path = local_path(place)
    if path is None:
        return place.partition("#")[0] if isinstance(place, str) else id(place)
    return os.path.realpath(path)


def _lazy_arrays(data):
    """Yields the arrays on storage that some data consist of."""
    if hasattr(data, "__dask_graph__"):
        for layer in _layers(data.__dask_graph__()):
            # Data on storage are in layers of one task; a layer of blocks refers to it.
            if len(layer) <= 2:
                for task in layer.values():
                    yield from _lazy_arrays(getattr(task, "value", task))
        return
    for _ in range(32):
        if isinstance(data, NczarrArray):
            yield data
            return
        if not isinstance(data, _WRAPPERS) or isinstance(data, indexing.PandasIndexingAdapter):
            return
        if not hasattr(data, "array"):
            return
        data = data.array


def _layers(graph):
    layers = getattr(graph, "layers", None)
    return [layer for layer in layers.values() if isinstance(layer, dict) or hasattr(layer, "values")] if layers else []
