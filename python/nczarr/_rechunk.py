"""``rechunk``: a copy with other chunks as a graph of dask, in bounded memory."""
import math
import re
import uuid

from ._blocks import block_shape, blocks
from ._file import open as open_dataset
from ._handle import Handle
from ._rechunk_places import Source, Target
from ._writer import Writer

#: Variables of fewer bytes are copied at once, with the metadata.
_SMALL = 1 << 16
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def rechunk(source, target, chunks=None, *, shards=None, kind=None, filters=None, deflate=None, shuffle=False,
            memory="256MiB", compute=True, clobber=False):
    """Copies a dataset into other chunks, or another format, with dask.

    The metadata, small variables and text are copied at once. Each task then reads one block and stores it. A task that
    was killed or runs twice loses nothing. No two tasks write the same chunk, or the same shard if one fits ``memory``.

    :param source: a dataset of any format: a path, a URL, a storage as ``nczarr.open`` takes it, or an open ``File``.
        Also an open ``Group``, which is copied with the groups in it, or an open ``Variable``. Tasks open it again.
    :param target: the place of the new dataset: a path, a URL or a storage.
    :param chunks: the chunk length of each dimension, such as ``{"time": 1}``.
    :param shards: the shard length of each dimension, for Zarr V3.
    :param kind: the format of the target, as in ``nczarr.create``; by default its path decides.
    :param filters: as in ``nczarr.copy``; also ``deflate`` and ``shuffle``.
    :param memory: the bytes of the values of one task: an integer, or text such as ``"2GiB"``.
    :param compute: otherwise returns a ``dask.delayed.Delayed`` with the tasks.
    :raises ValueError: if ``memory`` is less than one chunk of the target, or less than one shard in a storage without
        conditional writes.
    :raises TypeError: if tasks cannot open the source again, such as a dataset in memory.
    """
    limit = _bytes(memory)
    source, target = Source(source), Target(target, kind, clobber)
    with open_dataset(source.place) as file:
        variables = list(source.variables(file))
        large = [variable.path for variable in variables if _is_large(variable)]
        small = [variable.path for variable in variables if not _is_large(variable)]
    with source.twin(large) as twin:
        made = target.create(
            twin, chunks=chunks, shards=shards, filters=filters, deflate=deflate, shuffle=shuffle, data_of=small,
            **source.selection,
        )
    with open_dataset(source.place) as old, open_dataset(made) as new:
        planned = {path: _plan(old[path], new[path], limit, target.shares_objects) for path in large}
    graph = _graph(source.place, made, target.options, planned)
    return graph.compute() if compute else graph


def _is_large(variable):
    dtype = variable.dtype
    return dtype.kind in "biufS" and dtype.names is None and variable.size * dtype.itemsize > _SMALL


def _plan(old, new, limit, shares_objects):
    """Returns the blocks of a variable."""
    shape = old.shape
    chunks = new.chunks or _rows(shape, new.dtype.itemsize, limit)
    unit = new.shards or chunks
    try:
        block = block_shape(shape, new.dtype.itemsize, old.chunks or chunks, unit, chunks, limit)
    except ValueError as error:
        raise ValueError(f"{new.path}: {error}") from None
    if not shares_objects and any(one % step and one < length for one, step, length in zip(block, unit, shape)):
        raise ValueError(
            f"{new.path}: memory={limit}: a shard of the target has {math.prod(unit) * new.dtype.itemsize} bytes, and "
            "the storage has no conditional writes for parts of it; give more memory or smaller shards"
        )
    return list(blocks(shape, block))


def _rows(shape, itemsize, limit):
    """Returns the unit of contiguous data: as many of the last dimensions as fit."""
    unit, room = [1] * len(shape), max(limit // itemsize, 1)
    for axis in range(len(shape) - 1, -1, -1):
        unit[axis] = min(shape[axis], room)
        room //= max(unit[axis], 1)
    return tuple(unit)


def _graph(source, target, more, planned):
    from dask.delayed import Delayed

    token = uuid.uuid4().hex
    # Blocks are read once, so a cache would only take memory.
    options = {"cache_bytes": 0, "threads": 1}
    handle = Handle(source, "r", options)
    tasks = {}
    for path, parts in planned.items():
        writer = Writer(target, path, **options, **more)
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
