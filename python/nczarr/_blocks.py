"""Blocks: parts of an array that fit the chunks of two datasets and a limit of memory."""
import itertools
import math


def block_shape(shape, itemsize, source_chunks, unit, chunks, limit):
    """Returns the shape of the blocks that are read and written.

    A block is a whole number of units of the target, which are shards or chunks, so that no object is written twice.
    It grows to the chunks of the source as far as the memory allows, so that few chunks are read twice. If one unit
    does not fit, it is a whole number of chunks in a shard.

    :raises ValueError: if not even one chunk of the target fits.
    """
    unit = [min(one, length) for one, length in zip(unit, shape)]
    chunks = [min(one, length) for one, length in zip(chunks, shape)]
    most = limit // itemsize
    if math.prod(unit) > most:
        if math.prod(chunks) > most:
            raise ValueError(
                f"memory={limit}: a chunk of the target has {math.prod(chunks) * itemsize} bytes; give more memory or "
                "smaller chunks"
            )
        return _grown(chunks, unit, chunks, most)
    wanted = [_cover(one, source, length) for one, source, length in zip(unit, source_chunks, shape)]
    return _grown(unit, wanted, unit, most)


def _cover(unit, source, length):
    """Returns the fewest whole units that cover a chunk of the source."""
    return min(-(-source // unit) * unit, length)


def _grown(block, wanted, steps, most):
    """Grows a block towards the wanted shape, first where it covers the smallest part of it."""
    block = list(block)
    for axis in sorted(range(len(block)), key=lambda axis: block[axis] / max(wanted[axis], 1)):
        others = math.prod(block) // max(block[axis], 1)
        room = most // max(others, 1) // max(steps[axis], 1) * steps[axis]
        if room >= wanted[axis]:
            block[axis] = max(wanted[axis], block[axis])
        else:
            block[axis] = max(room, block[axis])
    return tuple(block)


def blocks(shape, block):
    """Yields the blocks of an array, as tuples of slices in C order."""
    axes = [
        [slice(start, min(start + step, length)) for start in range(0, length, max(step, 1))]
        for length, step in zip(shape, block)
    ]
    yield from itertools.product(*axes)
