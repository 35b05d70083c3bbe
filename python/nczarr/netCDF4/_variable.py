"""Variables."""
import numpy as np

from .._variable import Variable as CoreVariable
from . import _complex, _define, _layout, _read, _settings, _write
from ._attributes import Attributed
from ._dimension import find_dimension
from ._errors import translated
from ._group import reference
from ._settings import default_fillvals
from ._types import CompoundType, EnumType, VLType, of_description

_SLOTS = (
    "_native", "_core", "_grp", "dtype", "mask", "scale", "always_mask", "chartostring", "_isprimitive", "_iscompound",
    "_isvlen", "_isenum", "_cmptype", "_vltype", "_enumtype", "_use_get_vars", "_ncstring_attrs__", "auto_complex",
    "_cache", "__weakref__",
)
#: Attributes that have the type of the variable.
_OF_VARIABLE_TYPE = ("valid_min", "valid_max", "valid_range", "missing_value")


class Variable(Attributed):
    """A variable. ``Dataset.createVariable`` makes it.

    :param datatype: a numpy type, ``str``, or a user-defined type.
    :param dimensions: the dimensions.
    :param compression: ``zlib``, ``szip``, ``zstd``, ``bzip2``, ``blosc_lz``, ``blosc_lz4``, ``blosc_lz4hc``,
        ``blosc_zlib`` or ``blosc_zstd``, at the level ``complevel``; ``zlib=True`` is ``"zlib"``.
    :param chunksizes: the shape of a chunk.
    :param endian: the byte order of the stored numbers.
    :param least_significant_digit: round values to this decimal place.
    :param significant_digits: round values to this number of digits, or of bits for ``BitRound``.
    :param fill_value: the value of elements that were never written; ``False`` leaves them undefined, and
        ``"default"`` writes the default as an attribute.
    :param chunk_cache: the bytes of its chunk cache.
    """

    __slots__ = _SLOTS
    __orthogonal_indexing__ = True

    def __init__(self, grp, name, datatype, dimensions=(), compression=None, zlib=False, complevel=4, shuffle=True,
                 szip_coding="nn", szip_pixels_per_block=8, blosc_shuffle=1, fletcher32=False, contiguous=False,
                 chunksizes=None, endian="native", least_significant_digit=None, significant_digits=None,
                 quantize_mode="BitGroom", fill_value=None, chunk_cache=None, **kwargs):
        layout = _layout.Layout(compression or ("zlib" if zlib else None), complevel, shuffle, szip_coding,
                                szip_pixels_per_block, blosc_shuffle, fletcher32, contiguous, chunksizes, endian,
                                significant_digits, quantize_mode)
        self._set_type(grp, datatype, endian, layout)
        native = kwargs.get("id") or _define.define(self, grp, name, dimensions, layout)
        core = CoreVariable(native, None, form_of=None)
        self._init(_native=native, _core=_complex.adapted(core, self.dtype))
        if "id" not in kwargs:
            _define.set_fill(self, fill_value)
            if chunk_cache is not None:
                self.set_var_chunk_cache(chunk_cache)
            if least_significant_digit is not None:
                self.least_significant_digit = least_significant_digit

    def _set_type(self, grp, datatype, endian, layout):
        self._init(_grp=reference(grp), mask=True, scale=True, always_mask=True, chartostring=True, _use_get_vars=True,
                   _ncstring_attrs__=grp._ncstring_attrs__, auto_complex=grp.auto_complex, _cache=None)
        kind = _define.resolve(grp, datatype, endian)
        compound, vlen, enum = (isinstance(kind, cls) for cls in (CompoundType, VLType, EnumType))
        user = compound or vlen or enum
        self._init(_iscompound=compound, _isvlen=vlen, _isenum=enum, _isprimitive=not user,
                   _cmptype=kind if compound else None, _vltype=kind if vlen else None,
                   _enumtype=kind if enum else None, dtype=kind.dtype if user else kind)

    @property
    def __dict__(self):
        """The attributes of the file by name."""
        return self._attributes()

    def _attribute_group(self):
        return self._grp

    @property
    def name(self):
        """Its name."""
        with translated():
            return self._native.name()

    @name.setter
    def name(self, value):
        raise AttributeError("name cannot be altered")

    _name = name

    @property
    def datatype(self):
        """Its numpy type, or its user-defined type."""
        return self._cmptype or self._vltype or self._enumtype or self.dtype

    @property
    def dimensions(self):
        """The names of its dimensions."""
        with translated():
            return self._core.dims

    @property
    def ndim(self):
        """The number of its dimensions."""
        return len(self.dimensions)

    @property
    def shape(self):
        """The current lengths of its dimensions."""
        with translated():
            return self._core.shape

    @property
    def size(self):
        """The number of its elements."""
        return int(np.prod(self.shape))

    @property
    def _has_lsd(self):
        return "least_significant_digit" in self.ncattrs()

    def group(self):
        """Returns the group that defines it."""
        return self._grp

    def get_dims(self):
        """Returns its dimensions."""
        return tuple(find_dimension(self._grp, name) for name in self.dimensions)

    def get_fill_value(self):
        """Returns the value of elements that were never written; ``None`` if they are undefined."""
        with translated():
            if self._native.fill_value() is None:
                return None
        if "_FillValue" in self.ncattrs():
            return self.getncattr("_FillValue")
        return np.array(default_fillvals[self.dtype.str[1:]], self.dtype) if self._isprimitive else None

    def _put_attribute(self, name, value, force_string):
        if name == "_FillValue":
            raise AttributeError("_FillValue attribute must be set when variable is created "
                                 "(using fill_value keyword to createVariable)")
        super()._put_attribute(name, value, force_string)

    def __setattr__(self, name, value):
        if name in _OF_VARIABLE_TYPE and self._isprimitive:
            value = _define.in_type_of(self, name, value)
        super().__setattr__(name, value)

    def filters(self):
        """Returns its filters as a ``dict``; ``None`` for the classic formats."""
        return _layout.filters(self)

    def chunking(self):
        """Returns the shape of a chunk, or ``"contiguous"``; ``None`` for the classic formats."""
        return _layout.chunking(self)

    def quantization(self):
        """Returns digits and method of quantization; ``None`` without it."""
        with translated():
            found = self._native.quantize()
        return found and (found[1], found[0])

    def endian(self):
        """Returns the byte order of the stored numbers; ``"native"`` for user-defined types."""
        with translated():
            return self._native.endian() if self._isprimitive else "native"

    def get_var_chunk_cache(self):
        """Returns bytes, slots and preemption of its chunk cache."""
        _layout.check_has_chunks(self)
        return self._cache or _settings.get_chunk_cache()

    def set_var_chunk_cache(self, size=None, nelems=None, preemption=None):
        """Sets bytes, slots and preemption of its chunk cache, while the dataset is open."""
        old = self.get_var_chunk_cache()
        cache = tuple(now if new is None else new for new, now in zip((size, nelems, preemption), old))
        with translated():
            self._native.set_cache(*cache)
        self._init(_cache=cache)

    def set_collective(self, value):
        """Changes nothing: processes write independently."""

    def use_nc_get_vars(self, use_nc_get_vars):
        """Changes nothing: the engine reads strided parts by itself."""
        self._init(_use_get_vars=bool(use_nc_get_vars))

    def set_auto_chartostring(self, chartostring):
        """Sets whether characters with ``_Encoding`` are read as strings."""
        self._init(chartostring=bool(chartostring))

    def set_auto_maskandscale(self, maskandscale):
        """Sets masking and scaling."""
        self._init(scale=bool(maskandscale), mask=bool(maskandscale))

    def set_auto_scale(self, scale):
        """Sets whether ``scale_factor``, ``add_offset`` and ``_Unsigned`` are applied."""
        self._init(scale=bool(scale))

    def set_auto_mask(self, mask):
        """Sets whether missing values are masked."""
        self._init(mask=bool(mask))

    def set_always_mask(self, always_mask):
        """Sets whether an array without missing values is a masked array, too."""
        self._init(always_mask=bool(always_mask))

    def __getitem__(self, elem):
        with translated():
            return _read.read(self, elem)

    def __setitem__(self, elem, data):
        with translated():
            _write.write(self, elem, data)

    def __array__(self, dtype=None, copy=None):
        values = np.asarray(self[...])
        return values if dtype is None else values.astype(dtype)

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def assignValue(self, val):
        """Writes the value of a variable without dimensions."""
        if self.ndim:
            raise IndexError("to assign values to a non-scalar variable, use a slice")
        self[:] = val

    def getValue(self):
        """Returns the value of a variable without dimensions."""
        if self.ndim:
            raise IndexError("to retrieve values from a non-scalar variable, use slicing")
        return self[:]

    def __str__(self):
        user = {"compound": self._iscompound, "vlen": self._isvlen, "enum": self._isenum}
        kind = next((word for word, is_kind in user.items() if is_kind), None)
        lines = [repr(type(self)), f"{kind or self.dtype} {self.name}({', '.join(self.dimensions)})"]
        lines += [f"    {name}: {value}" for name, value in self._attributes().items()]
        if kind:
            lines.append(f"{kind} data type: {self.dtype}")
        if self._grp.path != "/":
            lines.append(f"path = {self._grp.path}")
        unlimited = [name for name, _, grows in self._native.dimensions() if grows]
        lines.append(f"unlimited dimensions: {', '.join(unlimited)}")
        lines.append(f"current shape = {self.shape!r}")
        if self._isprimitive:
            lines.append(_filling(self))
        return "\n".join(lines)

    __repr__ = __str__


def _filling(variable):
    if variable._native.fill_value() is None:
        return "filling off"
    if "_FillValue" in variable.ncattrs():
        return "filling on"
    default = default_fillvals[variable.dtype.str[1:]]
    return f"filling on, default _FillValue of {default} {'ignored' if variable.dtype.itemsize == 1 else 'used'}"


def variable_of(group, native):
    """Returns the object for a variable of a file; ``None`` if netCDF4 has not its kind of type."""
    described = native.nc_type()
    order = {"little": "<", "big": ">"}.get(native.endian(), "=")
    datatype = _complex.complex_type(native, described) if group.auto_complex else None
    if datatype is None and described != "str" and isinstance(described, str):
        datatype = np.dtype(order + described)
    if datatype is None:
        datatype = of_description(group, described, "=" if described[0] == "enum" else order)
    if datatype is None:
        return None
    return Variable(group, native.name(), datatype, (), endian=native.endian(), id=native)
