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

# Rows without end, of which no block of elements that is read at once holds all
with create('tall.h5') as f:
    for row in range(4):
        data = (np.arange(300_000) * (row + 3) // 7919 % 100 + row).astype('i1')
        f.create_dataset(f's{row}', data=data, maxshape=(None,), chunks=(50_000,), compression='gzip')
    virtual(f, 'tall', 'i1', simple(4, 0, most=(4, UNLIMITED)),
            *[(slab((4, 0), (row, 0), (1, UNLIMITED), most=(4, UNLIMITED)), '.', f's{row}',
               slab((0,), (0,), (UNLIMITED,), most=(UNLIMITED,))) for row in range(4)])
