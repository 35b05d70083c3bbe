"""Functions that programs import from ``netCDF4.utils``."""
import itertools

import numpy as np

from ._dimension import find_dimension
from ._index import axes


def quantized(data, least_significant_digit):
    """Returns values that are rounded to a power of two below the given decimal digit."""
    exponent = np.log10(10.0 ** -least_significant_digit)
    exponent = int(np.floor(exponent) if exponent < 0 else np.ceil(exponent))
    scale = 2.0 ** np.ceil(np.log2(10.0**-exponent))
    rounded = np.around(scale * data) / scale
    if isinstance(rounded, np.ma.MaskedArray):
        rounded.set_fill_value(data.fill_value)
    return rounded


_quantize = quantized


def _StartCountStride(elem, shape, dimensions=None, grp=None, datashape=None, put=False, use_get_vars=True):
    """Returns arrays of starts, counts, strides and places for the regular parts of an index.

    The last axis of each array has one element for each dimension. An array of positions that are not at equal
    distances is one part for each position. The place of an integer is -1.
    """
    unlimited = None
    if put and dimensions:
        unlimited = [find_dimension(grp, dimensions[dim]).isunlimited() for dim in range(len(shape))]
    parts = [_parts(axis) for axis in axes(elem, shape, unlimited, datashape)]
    lengths = [len(part) for part in parts]
    start, count, stride = (np.empty([*lengths, len(parts)], np.intp) for _ in range(3))
    places = np.empty([*lengths, len(parts)], object)
    for at in itertools.product(*map(range, lengths)):
        for dim, part in enumerate(parts):
            start[(*at, dim)], count[(*at, dim)], stride[(*at, dim)], places[(*at, dim)] = part[at[dim]]
    return start, count, stride, places


def _parts(axis):
    if axis.positions is not None:
        return [(int(position), 1, 1, place) for place, position in enumerate(axis.positions)]
    return [(axis.start, axis.count, axis.stride, -1 if axis.single else slice(None))]


def _out_array_shape(count):
    """Returns the shape of the values for an array of counts."""
    shape = []
    for dim, parts in enumerate(count.shape[:-1]):
        shape.append(int(count[..., dim].ravel()[0]) if parts == 1 and count.size else parts)
    return shape
