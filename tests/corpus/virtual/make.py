"""Virtual datasets whose sources are virtual ones in further files, whose mappings have no end, and whose sources are no data,
with what h5py reads in them (`*.txt`; `-`: it reads nothing).

usage: python make.py   (h5py 3.16, HDF5 2.0)
"""
import h5py, numpy as np
from h5py import h5d, h5p, h5s, h5t

UNLIMITED = h5s.UNLIMITED

def slab(shape, start, count, stride=None, block=None, most=None):
    space = h5s.create_simple(shape, most)
    space.select_hyperslab(start, count, stride, block)
    return space

def simple(*shape, most=None):
    return h5s.create_simple(shape, most)

def virtual(f, name, dtype, space, *mappings, fill=-1):
    """Mappings: the selection, and that of which dataset of which file."""
    d = h5p.create(h5p.DATASET_CREATE)
    d.set_layout(h5d.VIRTUAL)
    d.set_fill_value(np.array(fill, dtype))
    for own, file, dataset, other in mappings:
        d.set_virtual(own, file.encode(), dataset.encode(), other)
    h5d.create(f.id, name.encode(), h5t.py_create(np.dtype(dtype)), space, d)

def create(name):
    return h5py.File(name, 'w', libver=('earliest', 'v110'))

def answers(*names):
    """Shape and values of each virtual dataset."""
    for name in names:
        with h5py.File(name) as f, open(name.replace('.h5', '.txt'), 'w') as out:
            for dataset in f:
                if not f[dataset].is_virtual:
                    continue
                try:
                    found = f[dataset][()]
                except Exception as error:
                    print(dataset, '-', file=out)
                    print(name, dataset, error)
                    continue
                print(dataset, ','.join(map(str, found.shape)), *found.flat, file=out)

# In files alike the mappings lie at one address
with create('base.h5') as f:
    f['x'] = np.arange(5, dtype='<i4')
    f['y'] = np.arange(5, dtype='<i4') + 10
with create('other.h5') as f:
    f['p'] = np.arange(5, dtype='<i4') + 900
with create('mid.h5') as f:
    for name in 'xy':
        virtual(f, name, '<i4', simple(5), (simple(5), 'base.h5', name, simple(5)))
with create('top.h5') as f:
    virtual(f, 'y', '<i4', simple(5), (simple(5), 'mid.h5', 'y', simple(5)))
    virtual(f, 'p', '<i4', simple(5), (simple(5), 'other.h5', 'p', simple(5)))
with create('over.h5') as f:
    virtual(f, 'x', '<i4', simple(5), (simple(5), 'top.h5', 'y', simple(5)))
    virtual(f, 'y', '<i4', simple(10),
            (slab((10,), (0,), (5,)), 'mid.h5', 'x', simple(5)), (slab((10,), (5,), (5,)), 'top.h5', 'p', simple(5)))
answers('mid.h5', 'top.h5', 'over.h5')

# Unlimited rows. No block of elements that is read at once holds all of them
with create('tall.h5') as f:
    for row in range(4):
        data = (np.arange(300_000) * (row + 3) // 7919 % 100 + row).astype('i1')
        f.create_dataset(f's{row}', data=data, maxshape=(None,), chunks=(50_000,), compression='gzip')
    virtual(f, 'tall', 'i1', simple(4, 0, most=(4, UNLIMITED)),
            *[(slab((4, 0), (row, 0), (1, UNLIMITED), most=(4, UNLIMITED)), '.', f's{row}',
               slab((0,), (0,), (UNLIMITED,), most=(UNLIMITED,))) for row in range(4)])

# Mappings without end, in shapes that have one or not: as long as the sources, whatever is stored
def endless(shape, most, *start):
    """From there on along the last dimension."""
    return slab(shape, start, (1,) * (len(start) - 1) + (UNLIMITED,), most=most)

with create('lengths.h5') as f:
    f.create_dataset('a', data=np.arange(7, dtype='<i4'), maxshape=(20,), chunks=(4,))
    f.create_dataset('b', data=np.arange(5, dtype='<i4') + 50, maxshape=(20,), chunks=(4,))
    f.create_dataset('c', data=np.arange(3, dtype='<i4') + 30, maxshape=(20,), chunks=(4,))
    for k in 0, 1:
        f[f'p{k}'] = np.arange(4, dtype='<i4') + 100 * k
    all = lambda name: ('.', name, endless((0,), (20,), 0))
    for name, stored, most in ('shorter', 1, 20), ('longer', 9, 20), ('same', 7, 7), ('open', 9, UNLIMITED), ('cut', 2, 6):
        virtual(f, name, '<i4', simple(stored, most=(most,)), (endless((0,), (most,), 0), *all('a')))
    virtual(f, 'none', '<i4', simple(4, most=(9,)), (endless((0,), (9,), 0), *all('nothing')))
    virtual(f, 'later', '<i4', simple(4, most=(20,)), (endless((0,), (20,), 3), *all('c')))
    virtual(f, 'least', '<i4', simple(9, most=(20,)), (endless((0,), (20,), 0), *all('c')), (slab((9,), (4,), (2,)), '.', 'a', slab((7,), (0,), (2,))))
    for name, most in ('rows', 9), ('rows_cut', 4), ('rows_5', 5):
        virtual(f, name, '<i4', simple(2, 4, most=(2, most)),
                *[(endless((2, 0), (2, most), row, 0), *all(source)) for row, source in enumerate('bc')])
    blocks = lambda most: slab((0, 4), (0, 0), (UNLIMITED, 1), (1, 4), (1, 4), most=(most, 4))
    for name, most in ('blocks', 6), ('blocks_cut', 1), ('blocks_2', 2):
        virtual(f, name, '<i4', simple(min(4, most), 4, most=(most, 4)), (blocks(most), '.', 'p%b', simple(4)))
    virtual(f, 'ended', '<i4', simple(9, most=(20,)), (slab((9,), (0,), (7,)), '.', 'a', simple(7)))

# Numbered sources. One of them is missing
with create('gap.h5') as f:
    for k in 0, 1, 3, 4, 5:
        f[f'p{k}'] = np.arange(3, dtype='<i2') + 10 * k
    f['last'] = np.arange(3, dtype='<i2') + 90
    blocks = (slab((0, 3), (0, 0), (UNLIMITED, 1), (1, 3), (1, 3), most=(UNLIMITED, 3)), '.', 'p%b', simple(3))
    virtual(f, 'alone', '<i2', simple(0, 3, most=(UNLIMITED, 3)), blocks)
    virtual(f, 'among', '<i2', simple(6, 3, most=(UNLIMITED, 3)), blocks, (slab((6, 3), (4, 0), (1, 3)), '.', 'last', simple(3)))
    virtual(f, 'beside', '<i2', simple(6, 3, most=(UNLIMITED, 3)), blocks,
            (slab((0, 3), (0, 0), (UNLIMITED, 1), (1, 3), (1, 3), most=(UNLIMITED, 3)), 'gap-%b.h5', 'p', simple(3)))
for k in range(5):
    with create(f'gap-{k}.h5') as f:
        if k != 1:
            f['p'] = np.arange(3, dtype='<i2') + 100 * k

# A dataset without elements is no source: HDF5 takes any memory for its length
with create('empty.h5') as f:
    f['no'] = h5py.Empty('<i4')
    f['p0'] = np.arange(1, 2, dtype='<i4')
    f['p1'] = h5py.Empty('<i4')
    f['p2'] = np.arange(3, 4, dtype='<i4')
    f['s'] = np.int32(8)
    virtual(f, 'scalar', '<i4', simple(1), (simple(1), '.', 's', h5s.create(h5s.SCALAR)))
    virtual(f, 'one', '<i4', simple(1), (simple(1), '.', 'no', h5s.create(h5s.SCALAR)))
    virtual(f, 'all', '<i4', simple(1), (simple(1), '.', 'no', simple(1)))
    virtual(f, 'endless', '<i4', simple(2, most=(UNLIMITED,)), (endless((0,), (UNLIMITED,), 0), '.', 'no', endless((0,), (20,), 0)))
    virtual(f, 'blocks', '<i4', simple(0, most=(UNLIMITED,)), (slab((0,), (0,), (UNLIMITED,), (1,), (1,), most=(UNLIMITED,)), '.', 'p%b', simple(1)))
answers('lengths.h5', 'gap.h5', 'empty.h5')

# Many mappings of few sources, whose chunks are large
with create('many.h5') as f:
    for k in range(12):
        f.create_dataset(f's{k}', data=np.arange(1 << 19, dtype='<i4') // 65536 + 10 * k, chunks=(1 << 19,), compression=9)
    part = lambda k, start, count: ('.', f's{k}', slab((1 << 19,), (start,), (count,)))
    virtual(f, 'one', '<i4', simple(64, 3), *[(slab((64, 3), (j, 0), (1, 3)), *part(0, j * 8190, 3)) for j in range(64)])
    virtual(f, 'turns', '<i4', simple(4, 12), *[(slab((4, 12), (j, k), (1, 1)), *part(k, j * 100_000, 1)) for j in range(4) for k in range(12)])
answers('many.h5')
