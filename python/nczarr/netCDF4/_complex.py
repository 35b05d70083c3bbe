"""Complex numbers: pairs of numbers in a compound type, or along a last dimension of length 2.

The conventions are those of the library nc-complex: the two fields of a compound begin with ``r`` and ``i``, and a
dimension has one of three names.
"""
import numpy as np

from .._zarr_types import PAIRS, form_of_dtype, form_of_pairs, has_types

_DIMENSIONS = ("complex", "ri", "_pfnc_complex")


def complex_type(native, described):
    """Returns the complex type of a variable's pairs; ``None`` if it has other values."""
    if isinstance(described, str):
        dimensions = native.dimensions()
        if not dimensions or described not in ("f4", "f8"):
            return None
        name, length, _ = dimensions[-1]
        return _of_part(described) if name in _DIMENSIONS and length == 2 else None
    form = form_of_pairs(described)
    return form and form.dtype


def _of_part(part):
    return np.dtype("c8" if part == "f4" else "c16")


def add_variable(grp, name, dtype, dims):
    """Returns a new native variable of complex numbers; defines a type or dimension that is missing."""
    part, compound = PAIRS[dtype.str[1:]]
    if grp.data_model != "NETCDF4":
        if "_pfnc_complex" not in grp.dimensions:
            grp.createDimension("_pfnc_complex", 2)
        return grp._native.add_variable(name, part, [*dims, "_pfnc_complex"])
    info = grp._opened.handle.info()
    if has_types(info):
        return form_of_dtype(dtype).add_variable(grp._native, name, dims, info)
    if compound not in {described[1] for described in grp._native.types()}:
        grp._native.add_compound(compound, [("r", part, []), ("i", part, [])])
    return grp._native.add_variable(name, compound, dims)


def adapted(core, dtype):
    """Returns the core variable, or one that joins its pairs to complex numbers."""
    if getattr(dtype, "kind", None) != "c":
        return core
    return _Compounds(core) if core.dtype.names else _Pairs(core)


def is_compound(variable):
    """Whether a variable stores complex numbers as compounds. As other compounds, they are not masked or scaled."""
    return isinstance(variable._core, _Compounds)


class _Compounds:
    """A variable of compounds as complex numbers."""

    def __init__(self, core):
        self._core = core
        part = core.dtype.fields[core.dtype.names[0]][0]
        self.dtype = _of_part(part.str[1:])

    def __getattr__(self, name):
        return getattr(self._core, name)

    def read(self, start, count, stride=None):
        pairs = self._core.read(start, count, stride)
        out = np.empty(pairs.shape, self.dtype)
        out.real, out.imag = (pairs[name] for name in self._core.dtype.names)
        return out

    def write(self, values, start, count, stride=None):
        pairs = np.zeros(values.shape, self._core.dtype)
        for name, part in zip(self._core.dtype.names, (values.real, values.imag)):
            pairs[name] = part
        self._core.write(pairs, start, count, stride)


class _Pairs:
    """A variable with a last dimension of length 2 as complex numbers."""

    def __init__(self, core):
        self._core = core
        self.dtype = _of_part(core.dtype.str[1:])

    def __getattr__(self, name):
        return getattr(self._core, name)

    @property
    def dims(self):
        return self._core.dims[:-1]

    @property
    def shape(self):
        return self._core.shape[:-1]

    @property
    def unlimited(self):
        return self._core.unlimited[:-1]

    @property
    def chunks(self):
        chunks = self._core.chunks
        return chunks and chunks[:-1]

    def read(self, start, count, stride=None):
        pairs = self._core.read([*start, 0], [*count, 2], None if stride is None else [*stride, 1])
        return np.ascontiguousarray(pairs).view(self.dtype)[..., 0]

    def write(self, values, start, count, stride=None):
        pairs = np.stack([values.real, values.imag], axis=-1)
        self._core.write(pairs, [*start, 0], [*count, 2], None if stride is None else [*stride, 1])
