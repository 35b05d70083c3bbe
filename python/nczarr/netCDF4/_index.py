"""Indices as netCDF4 reads them: each one selects along its own dimension, and writes may pass the end."""
import numpy as np

_KINDS = "only integers, slices (`:`), ellipsis (`...`), and 1-d integer or boolean arrays are valid indices"


class Axis:
    """The selection along one dimension: ``count`` elements from ``start`` on, or those at ``positions``.

    ``stride`` may be negative. ``single`` says that an integer selects, so the result lacks the dimension.
    """

    __slots__ = ("start", "count", "stride", "positions", "single")

    def __init__(self, start, count=1, stride=1, positions=None, single=False):
        self.start, self.count, self.stride, self.positions, self.single = start, count, stride, positions, single

    @property
    def entry(self):
        """The selection as the core of the package takes it."""
        if self.positions is not None:
            return self.positions
        if self.single:
            return self.start
        if self.stride > 0:
            return slice(self.start, self.start + self.count * self.stride, self.stride)
        stop = self.start + self.count * self.stride
        return slice(self.start, stop if stop >= 0 else None, self.stride) if self.count else slice(0, 0)


def axes(key, shape, unlimited=None, given=None):
    """Returns one :class:`Axis` for each dimension.

    :param unlimited: for a write, whether each dimension can grow.
    :param given: for a write, the shape of the values.
    :raises IndexError: if an index is outside of its dimension, or is no index.
    """
    shape = tuple(shape) or (1,)
    growing = list(unlimited or ()) or [False] * len(shape)
    entries = _spread(_checked(_as_list(key, len(shape)), shape, growing), len(shape))
    if len(entries) > len(shape):
        raise ValueError("slicing expression exceeds the number of dimensions of the variable")
    given = _aligned(given, entries)
    return [_axis(entry, dim, shape[dim], growing[dim], given, shape[-1]) for dim, entry in enumerate(entries)]


def _as_list(key, rank):
    """Returns the entries of an index. One sequence of integers belongs to the first dimension."""
    if isinstance(key, np.ndarray) or np.iterable(key) and not isinstance(key, tuple) and all(map(_is_integer, key)):
        return [key]
    entries = list(key) if np.iterable(key) and not isinstance(key, (str, bytes)) else [key]
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexError("At most one ellipsis allowed in a slicing expression")
    return entries


def _is_integer(value):
    try:
        return int(value) == value
    except (TypeError, ValueError):
        return False


def _checked(entries, shape, growing):
    """Turns every entry into an integer, a slice, an ellipsis or an array of positions, inside of the bounds."""
    checked, dim = [], 0
    for entry in entries:
        if entry is Ellipsis:
            checked.append(entry)
            dim += 1 + len(shape) - len(entries)
            continue
        if dim >= len(shape):
            raise ValueError("slicing expression exceeds the number of dimensions of the variable")
        checked.append(entry if isinstance(entry, slice) else _positions(entry, shape[dim], growing[dim]))
        dim += 1
    return checked


def _positions(entry, length, growing):
    if isinstance(entry, (str, bytes)):
        return _integer(entry)
    array = np.asarray(entry)
    if array.ndim > 1:
        raise IndexError("Index cannot be multidimensional")
    if array.ndim == 0:
        return _integer(entry)
    if array.dtype.kind == "b":
        if not growing and len(array) != length:
            raise IndexError("\nBoolean array must have the same shape as the data along this dimension.")
        array = np.flatnonzero(array)
    elif array.size == 0:
        array = array.astype(np.int64)
    elif array.dtype.kind not in "iu":
        raise IndexError(_KINDS)
    array = array.astype(np.int64)
    array = np.where(array < 0, array + length, array)
    if (array < 0).any():
        raise IndexError("integer index out of range")
    if not growing and array.size and array.max() >= length:
        raise IndexError("integer index exceeds dimension size")
    return _regular(array)


def _integer(entry):
    """Returns the integer of an index. A number between two integers selects no element."""
    try:
        integer = int(entry)
    except (TypeError, ValueError, OverflowError):
        raise IndexError(_KINDS) from None
    if not isinstance(entry, (str, bytes)) and integer != entry:
        raise IndexError(_KINDS)
    return integer


def _regular(positions):
    """Returns a slice for ascending positions at equal distances."""
    if positions.size == 0:
        return positions
    step = int(positions[1] - positions[0]) if positions.size > 1 else 1
    if step > 0 and (np.diff(positions) == step).all():
        return slice(int(positions[0]), int(positions[-1]) + 1, step)
    return positions


def _spread(entries, rank):
    """Puts slices where an ellipsis, or nothing, stands for dimensions."""
    if not any(entry is Ellipsis for entry in entries):
        return entries + [slice(None)] * (rank - len(entries))
    at = next(place for place, entry in enumerate(entries) if entry is Ellipsis)
    return entries[:at] + [slice(None)] * (rank - len(entries) + 1) + entries[at + 1 :]


def _aligned(given, entries):
    """Returns the shape of the values with one length for each dimension, where that is possible."""
    if not given or len(given) == len(entries) or len(given) != sum(isinstance(entry, slice) for entry in entries):
        return given
    lengths = iter(given)
    return tuple(next(lengths) if isinstance(entry, slice) else 0 for entry in entries)


def _axis(entry, dim, length, growing, given, last):
    if isinstance(entry, np.ndarray):
        return Axis(0, entry.size, 1, entry)
    if isinstance(entry, int):
        if entry < -length:
            raise IndexError("Index out of range")
        return Axis(entry + length if entry < 0 else entry, single=True)
    if growing and entry.stop is not None and entry.stop > length:
        length = entry.stop
    elif growing and entry.stop is None and given:
        if dim >= len(given):
            raise IndexError("shape of data does not conform to slice")
        length = max(length if entry.start is not None and entry.start < 0 else 0, (entry.start or 0) + given[dim])
    elif growing and given == () and last == 0:
        # One value for all of a variable without elements makes it one element long.
        length = 1
    start, stop, step = entry.indices(length)
    return Axis(start, len(range(start, stop, step)), step)
