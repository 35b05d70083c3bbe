"""``rechunk``: a copy with other chunks as a graph of dask, in bounded memory."""
import math
import os
import re
import uuid

from . import _tool
from ._blocks import block_shape, blocks
from ._file import open as open_dataset
from ._handle import Handle
from ._location import normalize
from ._writer import Writer

#: Variables of fewer bytes are copied at once, with the metadata.
_SMALL = 1 << 16
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def rechunk(source, target, chunks=None, *, shards=None, kind=None, filters=None, deflate=None, shuffle=False,
            memory="256MiB", compute=True, clobber=False):
    """Copies a dataset into other chunks, or another format, with dask.

    The metadata, small variables and text are copied at once. Each task then reads one block and stores it. A task that
    was killed or runs twice loses nothing. No two tasks write the same chunk, or the same shard if one fits ``memory``.

    :param source: a path or URL of a dataset of any format.
    :param target: the path or URL of the new dataset.
    :param chunks: the chunk length of each dimension, such as ``{"time": 1}``.
    :param shards: the shard length of each dimension, for Zarr V3.
    :param kind: the format of the target, as in ``nczarr.create``; by default its path decides.
    :param filters: as in ``nczarr.copy``; also ``deflate`` and ``shuffle``.
    :param memory: the bytes of the values of one task: an integer, or text such as ``"2GiB"``.
    :param compute: otherwise returns a ``dask.delayed.Delayed`` with the tasks.
    :raises ValueError: if ``memory`` is less than one chunk of the target.
    """
    limit = _bytes(memory)
    source, target = os.fspath(source), os.fspath(target)
    with open_dataset(source) as file:
        large = [variable.path for variable in _variables(file) if _is_large(variable)]
        small = [variable.path for variable in _variables(file) if not _is_large(variable)]
    _tool.copy(
        source, target, kind=kind, chunks=chunks, shards=shards, filters=filters, deflate=deflate, shuffle=shuffle,
        clobber=clobber, data_of=small,
    )
    made = normalize(target)
    with open_dataset(source) as old, open_dataset(made) as new:
        planned = {path: _plan(old[path], new[path], limit) for path in large}
    graph = _graph(normalize(source), made, planned)
    return graph.compute() if compute else graph


def _variables(group):
    yield from group.variables.values()
    for child in group.groups.values():
        yield from _variables(child)


def _is_large(variable):
    dtype = variable.dtype
    return dtype.kind in "biufS" and dtype.names is None and variable.size * dtype.itemsize > _SMALL


def _plan(old, new, limit):
    """Returns the blocks of a variable."""
    shape = old.shape
    chunks = new.chunks or _rows(shape, new.dtype.itemsize, limit)
    unit = new.shards or chunks
    try:
        block = block_shape(shape, new.dtype.itemsize, old.chunks or chunks, unit, chunks, limit)
    except ValueError as error:
        raise ValueError(f"{new.path}: {error}") from None
    return list(blocks(shape, block))


def _rows(shape, itemsize, limit):
    """Returns the unit of contiguous data: as many of the last dimensions as fit."""
    unit, room = [1] * len(shape), max(limit // itemsize, 1)
    for axis in range(len(shape) - 1, -1, -1):
        unit[axis] = min(shape[axis], room)
        room //= max(unit[axis], 1)
    return tuple(unit)


def _graph(source, target, planned):
    from dask.delayed import Delayed

    token = uuid.uuid4().hex
    # Blocks are read once, so a cache would only take memory.
    options = {"cache_bytes": 0, "threads": 1}
    handle = Handle(source, "r", options)
    tasks = {}
    for path, parts in planned.items():
        writer = Writer(target, path, **options)
        for part in parts:
            tasks[f"rechunk-block-{token}", len(tasks)] = (copy_block, handle, writer, part)
    end = f"rechunk-{token}"
    return Delayed(end, {**tasks, end: (_end, list(tasks))})


def copy_block(handle, writer, part):
    """Copies one block. It is the task, so it runs in any process."""
    writer[part] = handle.variable("/", writer.path)[part]


def _end(_):
    return None


def _bytes(memory):
    """Returns a number of bytes from a number or text.

    :raises ValueError: for other text.
    """
    if not isinstance(memory, str):
        return int(memory)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", memory.lower())
    if found is None:
        raise ValueError(f"memory={memory!r}: expected a number of bytes, such as 256MiB")
    return math.floor(float(found[1]) * 2 ** _UNITS[found[2]])
