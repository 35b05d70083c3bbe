"""Makes scaleoffset.h5, nbit.h5, lzf.h5, szip.h5 and registered.h5 here, filters of HDF5, and beside each what h5py reads in it; partial.h5;
shared.h5, of which shared.cdl is what ncdump says; external.h5 and the files it names; stretches.h5, whose files a
test makes; virtual datasets, with what h5py reads in them (virtual.txt).

usage: python make.py   (h5py 3.16, HDF5 2.0, hdf5plugin 7.1)
"""
import ctypes, glob, os
import h5py, hdf5plugin, numpy as np
from h5py import h5p, h5d, h5s, h5t, h5z

lib = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(h5py.__file__), '..', 'h5py.libs', 'libhdf5-*'))[0])
lib.H5Pset_fill_value.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]

def create(path):
    fapl = h5p.create(h5p.FILE_ACCESS); fapl.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    f = h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, fapl=fapl))
    return f

def scaleoffset(f):
    # scale-offset of integers: every size, sign, byte order; fill or none; edge chunks (7 of chunks of 3)
    for kind in 'iu':
        for size in (1, 2, 4, 8):
            for order in '<>':
                dt = np.dtype(f'{order}{kind}{size}')
                info = np.iinfo(dt)
                base = info.min + 3 if kind == 'i' else info.max - 90
                data = (base + np.arange(20).astype(object) * 3).reshape(4, 5)
                data = np.array(data.tolist(), dtype=dt)
                name = f'so_{kind}{size}_{"le" if order == "<" else "be"}'
                f.create_dataset(name, data=data, chunks=(2, 3), scaleoffset=0)
                data2 = data.copy(); data2[1, :] = 5; data2[3, 4] = 5
                f.create_dataset(name + '_fill', data=data2, chunks=(2, 3), scaleoffset=0, fillvalue=5)
                # undefined fill value
                if (size, order) not in ((1, '<'), (2, '>'), (8, '>')):
                    continue
                d = h5p.create(h5p.DATASET_CREATE); d.set_chunk((2, 3)); d.set_scaleoffset(h5z.SO_INT, 0)
                if lib.H5Pset_fill_value(d.id, h5t.NATIVE_INT32.id, None) < 0:
                    raise RuntimeError('fill value')
                raw(f, name + '_nofill', data, d, dt)
    # all values alike, whole range, given bits, all fill, a missing chunk
    f.create_dataset('so_alike', data=np.full(9, 77, 'i4'), chunks=(4,), scaleoffset=0)
    f.create_dataset('so_whole', data=np.array([-2**31, 2**31 - 1, 0, 5], '>i4'), chunks=(4,), scaleoffset=0)
    f.create_dataset('so_bits12', data=np.arange(10, dtype='<i4') + 1000, chunks=(4,), scaleoffset=12)
    f.create_dataset('so_bits32', data=np.arange(10, dtype='>i4') + 1000, chunks=(4,), scaleoffset=32)
    f.create_dataset('so_all_fill', data=np.full(8, -9, 'i2'), chunks=(4,), scaleoffset=0, fillvalue=-9)
    v = f.create_dataset('so_gap', shape=(12,), dtype='i2', chunks=(4,), scaleoffset=0, fillvalue=-9); v[0:3] = [1, 2, 3]; v[9] = 40
    # decimal scaling of floats
    for size in (4, 8):
        for order in '<>':
            dt = np.dtype(f'{order}f{size}')
            data = (np.linspace(-3.14159, 271.828, 20).reshape(4, 5)).astype(dt)
            for digits in (0, 4):
                f.create_dataset(f'sd_f{size}_{"le" if order == "<" else "be"}_{digits}', data=data, chunks=(2, 3), scaleoffset=digits)
            data2 = data.copy(); data2[0, 1] = 1e20; data2[3] = 1e20
            f.create_dataset(f'sd_f{size}_{"le" if order == "<" else "be"}_fill', data=data2, chunks=(2, 3), scaleoffset=3, fillvalue=1e20)
    f.create_dataset('sd_huge', data=np.array([1e30, -1e30, 0.5, 2], 'f4'), chunks=(4,), scaleoffset=2)
    f.create_dataset('sd_tens', data=np.arange(8, dtype='f8') * 1000, chunks=(4,), scaleoffset=0)
    f.create_dataset('so_chain', data=np.arange(50, dtype='<i4').reshape(5, 10) - 7, chunks=(2, 4), scaleoffset=0, shuffle=True, compression='gzip')
    d = h5p.create(h5p.DATASET_CREATE); d.set_chunk((4,)); d.set_scaleoffset(h5z.SO_INT, 0)
    lib.H5Pset_fill_value(d.id, h5t.NATIVE_INT32.id, None)
    raw(f, 'so_alike_nofill', np.full(9, -77, 'i8'), d, h5t.STD_I64BE)
    v = f.create_dataset('so_skips', shape=(8,), dtype='<i4', chunks=(4,), scaleoffset=0, compression='gzip')
    v.id.write_direct_chunk((0,), np.arange(4, dtype='<i4').tobytes(), filter_mask=3)
    v[4:] = [9, 8, 7, 6]

def nbit(f):
    # nbit: precision and offset, every size and order
    for sign, kind in ((1, 'i'), (0, 'u')):
        for at, (size, precision, offset) in enumerate(((1, 5, 0), (1, 3, 2), (2, 9, 0), (2, 11, 3), (4, 17, 0), (4, 20, 5), (4, 3, 26), (8, 40, 0), (8, 33, 7), (4, 32, 0), (2, 8, 8), (8, 64, 0))):
            # HDF5 forgets the sign where it turns bytes and does nothing else: a byte of the other order.
            for order in '<' if size == 1 else '<>'[(at + sign) % 2]:
                t = h5t.STD_I8LE.copy()
                t = {1: h5t.STD_I8LE, 2: h5t.STD_I16LE, 4: h5t.STD_I32LE, 8: h5t.STD_I64LE}[size].copy()
                t.set_order(h5t.ORDER_LE if order == '<' else h5t.ORDER_BE)
                t.set_sign(h5t.SGN_2 if sign else h5t.SGN_NONE)
                t.set_precision(precision); t.set_offset(offset)
                low = -(1 << (precision - 1)) if sign else 0
                top = (1 << (precision - 1)) - 1 if sign else (1 << precision) - 1
                values = [low, top, 0, 1] + [low + (top - low) * k // 16 for k in range(16)]
                data = np.array(values, dtype=f'{"i" if sign else "u"}8').reshape(4, 5)
                name = f'nb_{kind}{size}_p{precision}_o{offset}_{"le" if order == "<" else "be"}'
                d = h5p.create(h5p.DATASET_CREATE); d.set_chunk((2, 3)); d.set_filter(5, h5z.FLAG_OPTIONAL, ())
                raw(f, name, data, d, t)
                if (size, precision) in ((4, 17), (4, 20), (2, 8)):
                    # the same without a filter, in one piece
                    raw(f, 'raw' + name[2:], data, h5p.create(h5p.DATASET_CREATE), t)
    for order, t in (('le', h5t.IEEE_F32LE), ('be', h5t.IEEE_F64BE)):
        d = h5p.create(h5p.DATASET_CREATE); d.set_chunk((2, 3)); d.set_filter(5, h5z.FLAG_OPTIONAL, ())
        raw(f, f'nb_float_{order}', np.linspace(-1, 1, 20).reshape(4, 5), d, t)
    # a fill value under nbit
    t = h5t.STD_I32BE.copy(); t.set_precision(17); t.set_offset(4)
    d = h5p.create(h5p.DATASET_CREATE); d.set_chunk((4,)); d.set_filter(5, h5z.FLAG_OPTIONAL, ()); d.set_fill_value(np.array(-77, 'i4'))
    raw(f, 'nb_gap', np.array([5, -6, 7], 'i4'), d, t, shape=(12,))
    # nbit, shuffle, deflate, fletcher32
    t = h5t.STD_I32LE.copy(); t.set_precision(13)
    d = h5p.create(h5p.DATASET_CREATE); d.set_chunk((2, 3)); d.set_filter(5, h5z.FLAG_OPTIONAL, ()); d.set_shuffle(); d.set_deflate(4); d.set_fletcher32()
    raw(f, 'nb_chain', np.arange(20, dtype='i4').reshape(4, 5) * 100 - 1700, d, t)
    t = h5t.STD_I16LE.copy(); t.set_precision(7)
    d = h5p.create(h5p.DATASET_CREATE); d.set_chunk((4,)); d.set_filter(5, h5z.FLAG_OPTIONAL, ()); d.set_deflate(1)
    raw(f, 'nb_skips', np.array([1, -2, 3, -4], 'i2'), d, t, shape=(8,))
    f['nb_skips'].id.write_direct_chunk((4,), np.array([5, 0x7a, 7, 0x78], '<i2').tobytes(), filter_mask=3)
    # nbit of compounds: members with bits of their own, an array, text
    c = h5t.create(h5t.COMPOUND, 24)
    a = h5t.STD_I32LE.copy(); a.set_precision(11)
    c.insert(b'a', 0, h5t.STD_I32LE); c.insert(b'b', 4, h5t.array_create(h5t.STD_U16LE, (3,)))
    s = h5t.C_S1.copy(); s.set_size(5); c.insert(b's', 10, s); c.insert(b'd', 16, h5t.IEEE_F64LE)
    d = h5p.create(h5p.DATASET_CREATE); d.set_chunk((2,)); d.set_filter(5, h5z.FLAG_OPTIONAL, ())
    rec = np.zeros(3, dtype={'names': ['a', 'b', 's', 'd'], 'formats': ['<i4', ('<u2', (3,)), 'S5', '<f8'], 'offsets': [0, 4, 10, 16], 'itemsize': 24})
    for i in range(3): rec[i] = (i - 1, (i, 2 * i, 500 + i), b'ab%d' % i, i / 4)
    raw(f, 'nb_record', rec, d, c)

def lzf(f):
    rng = np.random.default_rng(5)
    f.create_dataset('lzf', data=np.arange(300, dtype='<i4') // 7, chunks=(100,), compression='lzf')
    f.create_dataset('lzf_shuffle', data=(np.arange(350) // 3).reshape(5, 70).astype('>i2'), chunks=(2, 30), compression='lzf', shuffle=True, fletcher32=True)
    f.create_dataset('lzf_noise', data=rng.integers(0, 255, 64, dtype='u1'), chunks=(16,), compression='lzf')
    f.create_dataset('lzf_far', data=np.concatenate([rng.integers(0, 255, 700, dtype='u1')] * 2), chunks=(1400,), compression='lzf')
    # fletcher32 alone, and filters left out of some chunks
    f.create_dataset('sums', data=np.arange(35, dtype='<i2').reshape(5, 7), chunks=(2, 3), fletcher32=True)
    v = f.create_dataset('skips_sum', shape=(8,), dtype='<i4', chunks=(4,), compression='lzf', fletcher32=True)
    v.id.write_direct_chunk((0,), np.arange(4, dtype='<i4').tobytes(), filter_mask=3)
    v[4:] = [7, 7, 7, 7]

def szip(f):
    for at, dt in enumerate(('<i1', '>i2', '<i4', '>i8', '<u2', '<f4', '>f8')):
        data = (np.arange(4 * 37).reshape(4, 37) ** 2 % 1009 - 100).astype(dt) if dt[1] != 'u' else np.arange(4 * 37, dtype=dt).reshape(4, 37)
        for coding in ('nn', 'ec'):
            f.create_dataset(f'szip_{coding}_{dt[1:]}', data=data, chunks=(3, 13 + 4 * at), compression='szip',
                             compression_opts=(coding, (8, 16, 32)[at % 3]), shuffle=at == 2, fletcher32=at == 4)

def registered(f):
    """Filters that HDF5 has registered, by hdf5plugin."""
    rng = np.random.default_rng(9)
    ramp, waves = np.arange(150, dtype='<i4').reshape(10, 15) // 7, np.round(np.sin(np.arange(150) / 9).reshape(10, 15), 2).astype('>f8')
    mixed = np.concatenate([np.arange(75) // 9, rng.integers(0, 1 << 15, 75)]).astype('<i2').reshape(10, 15)
    # LZ4: one block; several, the last one short; blocks that do not get smaller; beside other filters
    for name, size in (('one', 0), ('blocks', 256), ('odd', 101), ('tiny', 8)):
        for what, data in (('ramp', ramp), ('waves', waves), ('mixed', mixed)):
            f.create_dataset(f'lz4_{name}_{what}', data=data, chunks=(7, 15), **hdf5plugin.LZ4(nbytes=size))
    f.create_dataset('lz4_chain', data=ramp, chunks=(6, 7), shuffle=True, fletcher32=True, **hdf5plugin.LZ4(nbytes=64))
    v = f.create_dataset('lz4_skips', shape=(8,), dtype='<i4', chunks=(4,), **hdf5plugin.LZ4())
    v.id.write_direct_chunk((0,), np.arange(4, dtype='<i4').tobytes(), filter_mask=1)
    v[4:] = [9, 9, 9, 9]
    for cname in ('blosclz', 'lz4', 'lz4hc', 'zlib', 'zstd'):
        for shuffle in (0, 1, 2):
            f.create_dataset(f'blosc_{cname}_{shuffle}', data=(waves, ramp, mixed)[shuffle], chunks=(7, 15), **hdf5plugin.Blosc(cname, 5, shuffle))
    for level in (-3, 3, 19):
        f.create_dataset(f'zstd_{level}', data=ramp, chunks=(7, 15), **hdf5plugin.Zstd(level))
    for level in (1, 9):
        f.create_dataset(f'bzip2_{level}', data=mixed, chunks=(7, 15), **hdf5plugin.BZip2(level))

def raw(f, name, data, dcpl, t, shape=None):
    space = h5s.create_simple(shape or data.shape)
    tid = t if isinstance(t, h5t.TypeID) else h5t.py_create(t)
    ds = h5d.create(f.id, name.encode(), tid, space, dcpl)
    if shape:
        m = h5s.create_simple(data.shape); space.select_hyperslab((0,), data.shape)
        ds.write(m, space, np.ascontiguousarray(data))
    else:
        ds.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(data))

def answers(path, text):
    """A line for each dataset: its name, and its values; floats as the bits of a double."""
    with h5py.File(path) as f, open(text, 'w') as out:
        for name in f:
            values = f[name][...].ravel()
            if values.dtype.kind not in 'iuf':
                continue
            if values.dtype.kind == 'f':
                shown = ['%016x' % int(v) for v in values.astype('<f8').view('<u8')]
            else:
                shown = [str(int(v)) for v in values]
            print(name, values.dtype.kind, *shown, file=out)

for make in scaleoffset, nbit, lzf, szip, registered:
    with create(make.__name__ + '.h5') as f:
        make(f)
    answers(make.__name__ + '.h5', make.__name__ + '.txt')

# A variable with a dimension that has a name: nothing but its filter keeps it from being written to.
with h5py.File('scaled.h5', 'w', libver=('v110', 'v110'), track_order=True) as f:
    x = f.create_dataset('x', data=np.arange(4, dtype='i4'), track_order=True)
    x.make_scale('x')
    v = f.create_dataset('v', data=np.arange(4, dtype='i4') + 70, chunks=(4,), scaleoffset=0, track_order=True)
    v.dims[0].attach_scale(x)

# An attribute of 12-bit integers: netCDF shows the numbers and has no type for them.
with h5py.File('partial.h5', 'w', libver=('v110', 'v110'), track_order=True) as f:
    x = f.create_dataset('x', data=np.arange(4, dtype='i4'), track_order=True)
    x.make_scale('x')
    t = h5t.STD_I16LE.copy(); t.set_precision(12)
    a = h5py.h5a.create(x.id, b'range', t, h5s.create_simple((2,)))
    a.write(np.array([-2048, 2047], 'i2'))

# Messages that objects share: attributes, and all other kinds
lib.H5Pset_shared_mesg_nindexes.argtypes = [ctypes.c_int64, ctypes.c_uint]
lib.H5Pset_shared_mesg_index.argtypes = [ctypes.c_int64, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint]
lib.H5Pset_shared_mesg_phase_change.argtypes = [ctypes.c_int64, ctypes.c_uint, ctypes.c_uint]
fcpl = h5p.create(h5p.FILE_CREATE)
assert lib.H5Pset_shared_mesg_nindexes(fcpl.id, 2) >= 0
assert lib.H5Pset_shared_mesg_index(fcpl.id, 0, 0x1000, 10) >= 0   # attributes
assert lib.H5Pset_shared_mesg_index(fcpl.id, 1, 0x82a, 10) >= 0   # dataspace, datatype, fill, pipeline
assert lib.H5Pset_shared_mesg_phase_change(fcpl.id, 6, 4) >= 0
fapl = h5p.create(h5p.FILE_ACCESS); fapl.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
f = h5py.File(h5py.h5f.create(b'shared.h5', h5py.h5f.ACC_TRUNC, fcpl=fcpl, fapl=fapl))
for i in range(5):
    d = f.create_dataset(f'd{i}', data=np.arange(24, dtype='>i4').reshape(4, 6) * (i + 1), chunks=(2, 6), compression='gzip', shuffle=True, fillvalue=7)
    d.attrs['units'] = np.bytes_(b'metres per second and more')
    d.attrs['numbers'] = np.arange(12, dtype='i8')
    d.attrs['own'] = np.int16(i)
gap = f.create_dataset('gap', shape=(4, 6), dtype='>i4', chunks=(2, 6), compression='gzip', shuffle=True, fillvalue=7)
gap[0:1] = 3
many = f.create_dataset('many', data=np.arange(4, dtype='f8'))
for i in range(20):
    many.attrs[f'a{i:02}'] = np.arange(10, dtype='i4') + i
f.attrs['numbers'] = np.arange(12, dtype='i8')
f.close()
# Data in other files
f = h5py.File('external.h5', 'w', libver=('v110', 'v110'))
a = np.arange(12, dtype='<i4'); open('external.raw', 'wb').write(b'head' + a.tobytes()[:20]); open('external2.raw', 'wb').write(a.tobytes()[20:])
f.create_dataset('two', shape=(3, 4), dtype='<i4', external=[('external.raw', 4, 20), ('external2.raw', 0, h5py.h5f.UNLIMITED)])
f.create_dataset('record', shape=(2,), dtype=np.dtype([('a', '<i4'), ('b', '<i4')]), external=[('external2.raw', 0, 16)])
f.create_dataset('short', shape=(100,), dtype='<i4', external=[('external2.raw', 0, h5py.h5f.UNLIMITED)])
f.create_dataset('absent', shape=(2,), dtype='<i4', external=[('nowhere.raw', 0, 8)])
f.create_dataset('above', shape=(2,), dtype='<i4', external=[('../external.raw', 0, 8)])
f.create_dataset('root', shape=(2,), dtype='<i4', external=[('/etc/hostname', 0, 8)])
f.create_dataset('here', data=np.arange(3, dtype='i4'))
# Data in other datasets
layout = h5py.VirtualLayout(shape=(2, 3), dtype='<i4')
layout[0] = h5py.VirtualSource('source.h5', 'data', shape=(3,))
layout[1] = h5py.VirtualSource('.', 'here', shape=(3,))
f.create_virtual_dataset('virtual', layout, fillvalue=-1)
f.close()
# Many stretches: all of one file, from its end to its start; each of a file of its own
with h5py.File('stretches.h5', 'w', libver=('v110', 'v110')) as f:
    f.create_dataset('one', shape=(150,), dtype='<u2', external=[('one.raw', 2 * (149 - k), 2) for k in range(150)])
    f.create_dataset('many', shape=(100,), dtype='<u2', external=[(f'many{k}.raw', 0, 2) for k in range(100)])

# Virtual datasets, with the selections of the oldest and of newer versions; and what h5py reads in them
UNLIMITED = h5s.UNLIMITED

def slab(shape, start, count, stride=None, block=None, most=None):
    space = h5s.create_simple(shape, most)
    space.select_hyperslab(start, count, stride, block)
    return space

def several(shape, *blocks):
    space = h5s.create_simple(shape)
    space.select_none()
    for start, count in blocks:
        space.select_hyperslab(start, count, op=h5s.SELECT_OR)
    return space

def virtual(f, name, dtype, space, *mappings, fill=None):
    """Mappings: the selection, and that of which dataset of which file."""
    d = h5p.create(h5p.DATASET_CREATE)
    d.set_layout(h5d.VIRTUAL)
    if fill is not None:
        d.set_fill_value(np.array(fill, dtype))
    for own, file, dataset, other in mappings:
        d.set_virtual(own, file.encode(), dataset.encode(), other)
    h5d.create(f.id, name.encode(), h5t.py_create(np.dtype(dtype), logical=True), space, d)

def simple(*shape, most=None):
    return h5s.create_simple(shape, most)

def sources():
    for number in range(3):
        with h5py.File(f'virtual-{number}.h5', 'w', libver=('v110', 'v110')) as f:
            grid = np.arange(24, dtype='<i4').reshape(4, 6) + 100 * number
            f.create_dataset('grid', data=grid, chunks=(3, 4), compression='gzip', shuffle=True)
            f.create_dataset('g/plain', data=grid.astype('>i2'))
            f.create_dataset('series', data=np.arange(5 + 3 * number, dtype='<i4') + 1000 * number, maxshape=(None,), chunks=(4,))
            f.create_dataset('one', data=np.float64(number + 0.5))
            f.create_dataset('text', data=np.array([b'ab', b'cde', b''], 'S4'))
            f.create_dataset('record', data=np.array([(number, 0.5), (2, -1)], dtype=[('a', '<i2'), ('b', '>f4')]))
            f['soft'] = h5py.SoftLink('/g/plain')

def virtuals(f):
    rows = lambda row, rank=2: slab((4, 6), (row, 0), (1, 6))
    files = [f'virtual-{number}.h5' for number in range(3)]
    # A row of each of three files, and of one that is not there.
    virtual(f, 'rows', '<i4', simple(4, 6), *[(rows(k), name, 'grid', slab((4, 6), (k, 0), (1, 6))) for k, name in enumerate([*files, 'virtual-nowhere.h5'])], fill=-1)
    virtual(f, 'no_dataset', '>i4', simple(4), (slab((4,), (1,), (2,)), files[0], 'nothing', slab((2,), (0,), (2,))), fill=7)
    virtual(f, 'no_fill', '<f4', simple(2, 3), (slab((2, 3), (1, 0), (1, 3)), files[1], '/g/plain', slab((4, 6), (2, 1), (1, 3))))
    # All of one, also in another shape, by a link, and of another type.
    virtual(f, 'all', '<i4', simple(4, 6), (simple(4, 6), files[2], 'grid', simple(4, 6)))
    virtual(f, 'shaped', '<i4', simple(6, 4), (simple(6, 4), files[1], 'grid', simple(4, 6)))
    virtual(f, 'flat', '<i8', simple(30), (slab((30,), (2,), (24,)), files[1], 'soft', simple(4, 6)), fill=-9)
    virtual(f, 'scalars', '<f8', simple(3), *[(slab((3,), (k,), (1,)), name, 'one', h5s.create(h5s.SCALAR)) for k, name in enumerate(files)])
    # Every other element; blocks of two; both, in other orders.
    virtual(f, 'strided', '<i4', simple(5, 13), (slab((5, 13), (1, 1), (2, 6), (3, 2)), files[0], 'grid', slab((4, 6), (0, 0), (2, 6), (2, 1))), fill=-1)
    virtual(f, 'blocks', '<i4', simple(7, 9), (slab((7, 9), (0, 1), (2, 3), (4, 3), (2, 2)), files[0], 'grid', simple(4, 6)), fill=-1)
    virtual(f, 'unlike', '<i4', simple(6, 8), (slab((6, 8), (0, 0), (3, 4), (2, 2)), files[2], 'grid', slab((4, 6), (1, 0), (1, 2), (2, 3), (3, 2))), fill=-1)
    virtual(f, 'blocks3', '<i4', simple(9), (slab((9,), (0,), (2,), (5,), (3,)), files[0], 'grid', slab((4, 6), (1, 0), (1, 2), (1, 3), (1, 3))), fill=-1)
    # No grids: an L, a stair, blocks that touch.
    virtual(f, 'corner', '<i4', simple(4, 5), (several((4, 5), ((0, 0), (4, 1)), ((3, 1), (1, 4))), files[0], 'grid', slab((4, 6), (0, 2), (4, 2))), fill=-1)
    virtual(f, 'stair', '<i4', simple(8), (simple(8), files[1], 'grid', several((4, 6), ((0, 0), (1, 2)), ((1, 1), (1, 2)), ((2, 2), (2, 1)), ((3, 4), (1, 2)))), fill=-1)
    virtual(f, 'touching', '<i4', simple(3, 6), (several((3, 6), ((0, 0), (2, 3)), ((1, 2), (2, 4))), files[1], 'grid', several((4, 6), ((0, 0), (2, 6)), ((3, 5), (1, 1)))), fill=-1)
    virtual(f, 'cube', '<i4', simple(2, 3, 4), (several((2, 3, 4), ((0, 0, 0), (1, 3, 4)), ((1, 1, 1), (1, 2, 2))), files[2], 'g/plain', several((4, 6), ((0, 0), (2, 6)), ((3, 1), (1, 4)))), fill=-1)
    virtual(f, 'nothing', '<i4', simple(3), fill=4)
    # Within the file, also of a virtual one, and by a name with a sign in it.
    f.create_dataset('part0', data=np.arange(3, dtype='<i2'))
    f.create_dataset('part1', data=np.arange(3, dtype='<i2') + 10)
    f.create_dataset('part3', data=np.arange(3, dtype='<i2') + 30)
    f.create_dataset('p%bc', data=np.arange(3, dtype='<i2') + 50)
    virtual(f, 'here', '<i2', simple(3, 2), (slab((3, 2), (0, 1), (3, 1)), '.', '/part1', simple(3)), (slab((3, 2), (0, 0), (3, 1)), '.', 'p%%bc', simple(3)), fill=-1)
    virtual(f, 'nested', '<i4', simple(6), (slab((6,), (0,), (6,)), '.', 'blocks', slab((7, 9), (1, 1), (1, 6))), fill=-1)
    # Without end: as long as the longest source, each after the other; a block for each source.
    virtual(f, 'longest', '<i4', simple(0, 2, most=(UNLIMITED, 2)),
            *[(slab((0, 2), (0, k), (UNLIMITED, 1), most=(UNLIMITED, 2)), files[k], 'series', slab((0,), (0,), (UNLIMITED,), most=(UNLIMITED,))) for k in range(2)], fill=-1)
    virtual(f, 'turns', '<i4', simple(0, most=(UNLIMITED,)),
            *[(slab((0,), (k,), (UNLIMITED,), (3,), most=(UNLIMITED,)), name, 'series', slab((0,), (0,), (UNLIMITED,), most=(UNLIMITED,))) for k, name in enumerate(files)], fill=-1)
    virtual(f, 'pairs', '<i4', simple(0, most=(UNLIMITED,)),
            (slab((0,), (1,), (UNLIMITED,), (3,), (2,), most=(UNLIMITED,)), files[2], 'series', slab((0,), (2,), (UNLIMITED,), (4,), (3,), most=(UNLIMITED,))), fill=-1)
    virtual(f, 'endless', '<i4', simple(0, most=(UNLIMITED,)),
            (slab((0,), (2,), (1,), (1,), (UNLIMITED,), most=(UNLIMITED,)), files[1], 'series', slab((0,), (1,), (1,), (1,), (UNLIMITED,), most=(UNLIMITED,))), fill=-1)
    virtual(f, 'numbered', '<i4', simple(0, 6, most=(UNLIMITED, 6)), (slab((0, 6), (1, 0), (UNLIMITED, 1), (3, 6), (2, 6), most=(UNLIMITED, 6)), 'virtual-%b.h5', 'grid', slab((4, 6), (1, 0), (2, 6))), fill=-1)
    virtual(f, 'parts', '<i2', simple(0, most=(UNLIMITED,)), (slab((0,), (0,), (UNLIMITED,), (4,), (3,), most=(UNLIMITED,)), '.', 'part%b', simple(3)), fill=-1)
    virtual(f, 'shorter', '<i4', simple(4, 2, most=(UNLIMITED, 2)),
            (slab((4, 2), (0, 0), (4, 1), most=(UNLIMITED, 2)), files[0], 'series', slab((5,), (0,), (4,))),
            (slab((4, 2), (0, 1), (UNLIMITED, 1), most=(UNLIMITED, 2)), 'virtual-nowhere.h5', 'series', slab((0,), (0,), (UNLIMITED,), most=(UNLIMITED,))), fill=-1)
    # Values that are no numbers.
    record = [('a', '<i2'), ('b', '>f4')]
    virtual(f, 'record', record, simple(6), *[(slab((6,), (2 * k,), (2,)), name, 'record', simple(2)) for k, name in enumerate(files)])
    virtual(f, 'text', 'S4', simple(4), (slab((4,), (1,), (3,)), files[0], 'text', simple(3)))
    f.create_dataset('words', data=['one', 'two', ''], dtype=h5py.string_dtype())
    virtual(f, 'strings', h5py.string_dtype(), simple(2), (simple(2), '.', 'words', slab((3,), (0,), (2,))))

sources()
for name, bounds in (('virtual.h5', ('earliest', 'v110')), ('virtual-new.h5', ('v112', 'v200'))):
    with h5py.File(name, 'w', libver=bounds) as f:
        virtuals(f)
answers('virtual.h5', 'virtual.txt')
answers('virtual-new.h5', 'virtual-new.txt')
assert open('virtual.txt').read() == open('virtual-new.txt').read()
os.remove('virtual-new.txt')

# Virtual datasets that are errors: circles, files elsewhere, sources that are too small, or of another type
with h5py.File('virtual-odd.h5', 'w', libver=('v110', 'v110')) as f:
    virtual(f, 'self', '<i4', simple(3), (simple(3), '.', 'self', simple(3)))
    virtual(f, 'to', '<i4', simple(3), (simple(3), 'virtual-odd.h5', 'fro', simple(3)))
    virtual(f, 'fro', '<i4', simple(3), (simple(3), '.', 'to', simple(3)))
    virtual(f, 'growing', '<i4', simple(0, most=(UNLIMITED,)), (slab((0,), (0,), (UNLIMITED,), most=(UNLIMITED,)), '.', 'growing', slab((0,), (0,), (UNLIMITED,), most=(UNLIMITED,))))
    virtual(f, 'above', '<i4', simple(3), (simple(3), '../virtual-0.h5', 'series', slab((5,), (0,), (3,))))
    virtual(f, 'root', '<i4', simple(3), (simple(3), '/etc/hostname', 'series', slab((5,), (0,), (3,))))
    virtual(f, 'beyond', '<i4', simple(9), (simple(9), 'virtual-0.h5', 'series', slab((9,), (0,), (9,))))
    virtual(f, 'unlike', '<i4', simple(3), (simple(3), 'virtual-0.h5', 'text', simple(3)))
    virtual(f, 'small', 'i1', simple(24), (simple(24), 'virtual-2.h5', 'grid', simple(4, 6)))
    virtual(f, 'no_file', '<i4', simple(3), (simple(3), 'virtual.txt', 'series', simple(3)))
    virtual(f, 'group', '<i4', simple(3), (simple(3), 'virtual-0.h5', 'g', simple(3)))
    f['part'] = np.arange(3, dtype='i4')
    f['out'] = h5py.ExternalLink('virtual-0.h5', '/series')
    virtual(f, 'linked', '<i4', simple(3), (simple(3), '.', 'out', slab((5,), (0,), (3,))))
    virtual(f, 'right', '<i4', simple(3), (simple(3), './virtual-0.h5', 'series', slab((5,), (0,), (3,))))
