"""Indices: numpy's and orthogonal ones as reads and writes of regular parts.

A *part* is ``(start, count, stride)``, as the native half transfers it. Every chunk is read once per index.
"""
import itertools
import operator

import numpy as np


class OuterIndex:
    """Orthogonal indexing: each array selects along its own dimension."""

    def __init__(self, get):
        self._get = get

    def __getitem__(self, key):
        return self._get(key, outer=True)


def expand(key, shape):
    """Returns one entry per dimension, and the positions of new axes in the result.

    An entry is an ``int``, a ``slice`` or an array of integers. A boolean array of several dimensions becomes
    one array for each of them.
    """
    key = key if isinstance(key, tuple) else (key,)
    entries, given = [], 0
    for entry in key:
        if entry is None or entry is Ellipsis:
            given += 0
        elif _is_mask(entry):
            given += np.ndim(entry)
        else:
            given += 1
    if sum(entry is Ellipsis for entry in key) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if given > len(shape):
        raise IndexError(f"too many indices: the variable has {len(shape)} dimensions, the index {given}")
    if not any(entry is Ellipsis for entry in key):
        key += (Ellipsis,)
    dim = 0
    for entry in key:
        if entry is None:
            entries.append(None)
        elif entry is Ellipsis:
            entries += [slice(None)] * (len(shape) - given)
            dim += len(shape) - given
        elif _is_mask(entry):
            mask = np.asarray(entry)
            if mask.shape != tuple(shape[dim : dim + mask.ndim]):
                raise IndexError(f"boolean index of shape {mask.shape}, the dimensions have {tuple(shape[dim : dim + mask.ndim])}")
            entries += list(np.nonzero(mask))
            dim += mask.ndim
        else:
            entries.append(_entry(entry, shape[dim], dim))
            dim += 1
    return entries


def shape_for_write(key, shape, unlimited, given):
    """Returns the shape, made longer where a write goes beyond the end of an unlimited dimension.

    :param unlimited: whether each dimension is unlimited.
    :param given: the shape of the values.
    """
    shape = list(shape)
    if not any(unlimited):
        return shape
    key = key if isinstance(key, tuple) else (key,)
    if any(entry is None or isinstance(entry, np.ndarray) and entry.dtype == bool for entry in key):
        return shape
    if not any(entry is Ellipsis for entry in key):
        key += (Ellipsis,)
    at = next(place for place, entry in enumerate(key) if entry is Ellipsis)
    rest = len(shape) - (len(key) - 1)
    full = key[:at] + (slice(None),) * rest + key[at + 1 :]
    # Lengths of the values, from the last kept dimension backwards.
    lengths = list(given)
    for dim in reversed(range(min(len(full), len(shape)))):
        entry = full[dim]
        if isinstance(entry, (int, np.integer)):
            if unlimited[dim] and entry >= 0:
                shape[dim] = max(shape[dim], int(entry) + 1)
            continue
        length = lengths.pop() if lengths else 1
        if not unlimited[dim]:
            continue
        if isinstance(entry, slice):
            if entry.stop is not None:
                shape[dim] = max(shape[dim], entry.stop)
            elif entry.step in (None, 1) and (entry.start or 0) >= 0:
                shape[dim] = max(shape[dim], (entry.start or 0) + length)
        elif np.size(entry):
            shape[dim] = max(shape[dim], int(np.max(entry)) + 1)
    return shape


def _is_mask(entry):
    return not isinstance(entry, (slice, int)) and entry is not None and entry is not Ellipsis and np.asarray(entry).dtype == bool


def _entry(entry, length, dim):
    if isinstance(entry, slice):
        return entry
    try:
        position = operator.index(entry)
    except TypeError:
        pass
    else:
        if not -length <= position < length:
            raise IndexError(f"index {position} is out of bounds for dimension {dim} with size {length}")
        return position % length if length else position
    array = np.asarray(entry)
    if array.size == 0:
        array = array.astype(np.intp)
    if array.dtype.kind not in "iu":
        raise IndexError(f"an index is an integer, a slice or an array of those, found {entry!r}")
    array = array.astype(np.int64)
    if array.size and not (-length <= array.min() and array.max() < length):
        wrong = array[(array < -length) | (array >= length)].flat[0]
        raise IndexError(f"index {wrong} is out of bounds for dimension {dim} with size {length}")
    return np.where(array < 0, array + length, array)


def regular(entry, length):
    """Returns ``(start, count, stride, reversed)`` of an integer or slice."""
    if isinstance(entry, int):
        return entry, 1, 1, False
    start, stop, step = entry.indices(length)
    count = len(range(start, stop, step))
    if count == 0:
        return 0, 0, 1, False
    if step < 0:
        return start + (count - 1) * step, count, -step, True
    return start, count, step, False


class Regular:
    """The regular part of some entries, and how its values become the result."""

    def __init__(self, entries, shape):
        parts = [regular(entry, length) for entry, length in zip(entries, shape)]
        self.start = [part[0] for part in parts]
        self.count = [part[1] for part in parts]
        self.stride = None if all(part[2] == 1 for part in parts) else [part[2] for part in parts]
        flips = [slice(None, None, -1 if part[3] else None) for part in parts]
        #: The index of the result in an array of the part's shape.
        self.result = tuple(0 if isinstance(entry, int) else flip for entry, flip in zip(entries, flips))

    @property
    def part(self):
        return self.start, self.count, self.stride


def spans(positions, chunk):
    """Yields ``(start, count, where, offsets)`` of reads that touch each chunk of a dimension once.

    ``where`` are places in ``positions`` in ascending order, and ``offsets`` the places of their values in the
    read.
    """
    if positions.size == 0:
        return
    steps = np.diff(positions)
    if (steps == 1).all():
        yield int(positions[0]), positions.size, slice(None), slice(None)
        return
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    # A gap of a chunk or more starts a new read.
    cuts = np.nonzero(np.diff(ordered // max(chunk, 1)) > 1)[0] + 1
    for where in map(np.sort, np.split(order, cuts)):
        first, last = int(positions[where].min()), int(positions[where].max())
        yield first, last - first + 1, where, positions[where] - first


def orthogonal(entries, shape, chunks, read, dtype):
    """Reads where each array selects along its own dimension."""
    axes = []
    for entry, length, chunk in zip(entries, shape, chunks):
        if isinstance(entry, np.ndarray):
            axes.append([(first, count, 1, where, offsets) for first, count, where, offsets in spans(entry, chunk)])
        else:
            first, count, step, back = regular(entry, length)
            turn = slice(None, None, -1) if back else slice(None)
            axes.append([(first, count, step, slice(None), turn)])
    lengths = [entry.size if isinstance(entry, np.ndarray) else regular(entry, length)[1] for entry, length in zip(entries, shape)]
    blocks = list(itertools.product(*axes))
    drop = tuple(0 if isinstance(entry, int) else slice(None) for entry in entries)
    if len(blocks) == 1:
        return _pick(read(*_part(blocks[0])), [axis[4] for axis in blocks[0]])[drop]
    out = np.empty(lengths, dtype)
    for block in blocks:
        values = _pick(read(*_part(block)), [axis[4] for axis in block])
        out[np.ix_(*(_places(axis[3], length) for axis, length in zip(block, lengths)))] = values
    return out[drop]


def _part(block):
    return [axis[0] for axis in block], [axis[1] for axis in block], [axis[2] for axis in block]


def _places(where, length):
    return np.arange(length) if isinstance(where, slice) else where


def _pick(values, selections):
    for axis, selection in enumerate(selections):
        if not (isinstance(selection, slice) and selection == slice(None)):
            values = values[(slice(None),) * axis + (selection,)]
    return values


def pointwise(entries, shape, chunks, read, dtype):
    """Reads where arrays are broadcast together, as numpy does."""
    dims = [dim for dim, entry in enumerate(entries) if isinstance(entry, (np.ndarray, int))]
    arrays = np.broadcast_arrays(*(entries[dim] for dim in dims))
    points = np.stack([array.ravel() for array in arrays])
    others = [dim for dim in range(len(shape)) if dim not in dims]
    pieces = {dim: regular(entries[dim], shape[dim]) for dim in others}
    out = np.empty([points.shape[1], *(pieces[dim][1] for dim in others)], dtype)
    cells = points // np.array([max(chunks[dim], 1) for dim in dims])[:, None]
    _, groups = np.unique(cells, axis=1, return_inverse=True)
    groups = groups.ravel()
    order = np.argsort(groups, kind="stable")
    for where in np.split(order, np.nonzero(np.diff(groups[order]))[0] + 1) if order.size else ():
        first = points[:, where].min(axis=1)
        extent = points[:, where].max(axis=1) - first + 1
        start, count, stride = [0] * len(shape), [0] * len(shape), [1] * len(shape)
        for at, dim in enumerate(dims):
            start[dim], count[dim] = int(first[at]), int(extent[at])
        for dim in others:
            start[dim], count[dim], stride[dim] = pieces[dim][:3]
        values = np.moveaxis(read(start, count, stride), dims, range(len(dims)))
        out[where] = values[tuple(points[:, where] - first[:, None])]
    turn = (slice(None), *(slice(None, None, -1 if pieces[dim][3] else None) for dim in others))
    out = out[turn].reshape(arrays[0].shape + out.shape[1:])
    # Arrays side by side leave their axes in place; otherwise numpy puts them first.
    if dims == list(range(dims[0], dims[0] + len(dims))):
        out = np.moveaxis(out, range(arrays[0].ndim), range(dims[0], dims[0] + arrays[0].ndim))
    return out


def read(key, shape, chunks, read, dtype, outer=False):
    """Reads an index. ``read(start, count, stride)`` returns the values of a part."""
    with_axes = expand(key, shape)
    entries = [entry for entry in with_axes if entry is not None]
    arrays = [entry for entry in entries if isinstance(entry, np.ndarray)]
    if not arrays:
        part = Regular(entries, shape)
        values = read(*part.part)[part.result]
    elif outer or (len(arrays) == 1 and arrays[0].ndim == 1 and not any(isinstance(entry, int) for entry in entries)):
        values = orthogonal(entries, shape, chunks, read, dtype)
    else:
        values = pointwise(entries, shape, chunks, read, dtype)
    if len(entries) == len(with_axes):
        return values
    if arrays and not outer:
        raise IndexError("a new axis beside an array of indices is not supported")
    return values[tuple(None if entry is None else slice(None) for entry in with_axes if not isinstance(entry, int))]
