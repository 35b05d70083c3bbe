"""Lazy arrays: each index of xarray becomes one read."""
import asyncio

import numpy as np
from xarray.backends.common import BackendArray
from xarray.core import indexing

from .._zarr_types import form_of, form_of_complex, form_of_dtype


class NczarrArray(BackendArray):
    """A variable on its storage. It is pickled as location, options, group and name."""

    __slots__ = ("dtype", "group", "handle", "name", "shape")

    def __init__(self, handle, group, name, dtype, shape):
        self.handle, self.group, self.name = handle, group, name
        self.dtype, self.shape = dtype, shape

    @property
    def variable(self):
        """The open variable.

        :raises OSError: if it has another shape than at the first time.
        """
        forms = None if self.dtype == object else form_of_complex if self.dtype.kind == "c" else form_of
        variable = self.handle.variable(self.group, self.name, forms)
        found = variable.shape
        if len(found) != len(self.shape) or any(now < was for now, was in zip(found, self.shape)):
            raise OSError(
                f"{self.handle.place}: variable {variable.path} has the shape {tuple(found)}, expected {self.shape}: "
                "the dataset was changed since it was opened; open it again"
            )
        self.handle.check(self.group, self.name)
        return variable

    def __getitem__(self, key):
        if isinstance(key, indexing.VectorizedIndexer):
            method = self._points
        elif isinstance(key, indexing.OuterIndexer):
            method = self._outer
        else:
            method = self._basic
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.VECTORIZED, method)

    async def async_getitem(self, key):
        """As ``array[key]``, without blocking the event loop."""
        return await asyncio.to_thread(self.__getitem__, key)

    def _within(self, key):
        """Bounds slices by the shape of opening: a dataset that others append to is longer by now."""
        return tuple(
            _bounded(entry, length) if isinstance(entry, slice) else entry for entry, length in zip(key, self.shape)
        )

    def _basic(self, key):
        return self._array(self.variable[self._within(key)])

    def _outer(self, key):
        return self._array(self.variable.oindex[self._within(key)])

    def _points(self, key):
        values = self.variable[self._within(key)]
        places = [place for place, entry in enumerate(key) if isinstance(entry, np.ndarray)]
        # xarray expects the axes of the arrays first; numpy leaves them in place if the arrays are neighbours.
        if places and places == list(range(places[0], places[0] + len(places))):
            axes = np.broadcast_shapes(*(key[place].shape for place in places))
            values = np.moveaxis(values, range(places[0], places[0] + len(axes)), range(len(axes)))
        return self._array(values)

    def _array(self, values):
        if not isinstance(values, np.ndarray):
            out = np.empty((), self.dtype)
            out[()] = values
            return out
        if self.dtype.kind in "mM" and values.dtype != self.dtype:
            # xarray has fewer units of time than numpy.
            return form_of_dtype(self.dtype).memory(values, self.name)
        return values


def _bounded(entry, length):
    start, stop, step = entry.indices(length)
    return slice(start, None if stop < 0 else stop, step)
