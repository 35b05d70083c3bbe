"""Groups: variables, groups, dimensions and types by name, and their definition."""
import json
from collections.abc import Mapping

import numpy as np

from . import _types, _zarr_types
from ._attributes import Attributes, pair_of
from ._dimension import Dimension
from ._variable import Variable


class Group(Mapping):
    """A group. As a mapping it has its variables and groups, by name or path."""

    def __init__(self, native, file):
        self._native, self._file = native, file

    @property
    def name(self):
        """Its name; ``/`` for the root."""
        return self._native.name()

    @property
    def path(self):
        """Its path from the root, such as ``/g/h``."""
        return self._native.full_name()

    @property
    def file(self):
        """The open dataset."""
        return self._file

    @property
    def parent(self):
        """The group that contains it; ``None`` for the root."""
        native = self._native.parent()
        return native and Group(native, self._file)

    @property
    def attrs(self):
        """Its attributes, as a mapping."""
        return Attributes(self._native)

    @property
    def variables(self):
        """Its variables by name."""
        return {native.name(): Variable(native, self._file) for native in self._native.variables()}

    @property
    def groups(self):
        """Its groups by name."""
        return {native.name(): Group(native, self._file) for native in self._native.groups()}

    @property
    def dimensions(self):
        """The dimensions that are defined in it, by name."""
        return {dim.name: dim for dim in map(Dimension, self._native.dimensions())}

    @property
    def types(self):
        """The user-defined types that are defined in it: the native half's descriptions by name."""
        return {described[1]: described for described in self._native.types()}

    def dimension(self, name):
        """Returns a dimension that is visible from it: its own, or one of a group above."""
        return Dimension(self._native.dimension(name))

    def __getitem__(self, path):
        try:
            return Variable(self._native.variable(path), self._file)
        except KeyError as missing:
            try:
                return Group(self._native.group(path), self._file)
            except (KeyError, ValueError):
                raise missing from None

    def __iter__(self):
        yield from (native.name() for native in self._native.variables())
        yield from (native.name() for native in self._native.groups())

    def __len__(self):
        return len(self._native.variables()) + len(self._native.groups())

    def create_group(self, name):
        """Creates a group."""
        return Group(self._native.add_group(name), self._file)

    def create_dimension(self, name, length=None):
        """Creates a dimension; without a length it is unlimited."""
        return Dimension(self._native.add_dimension(name, length))

    def create_compound(self, name, dtype):
        """Creates a compound type with the fields of a structured numpy type."""
        dtype = np.dtype(dtype)
        fields = []
        for field in dtype.names:
            part = dtype.fields[field][0]
            fields.append((field, _types.code_of(part.base), list(part.shape)))
        self._native.add_compound(name, fields)

    def create_enum(self, name, base, members):
        """Creates an enum type. ``members`` are the values by name."""
        self._native.add_enum(name, _types.code_of(base), [(member, int(value)) for member, value in members.items()])

    def create_vlen(self, name, base):
        """Creates a type of sequences of any length."""
        self._native.add_vlen(name, base if isinstance(base, str) else _types.code_of(base))

    def create_opaque(self, name, size):
        """Creates a type of elements of ``size`` bytes without structure."""
        self._native.add_opaque(name, size)

    def create_variable(self, name, dtype, dims=(), *, chunks=None, shards=None, fill_value=None, zlib=False,
                        complevel=4, shuffle=True, fletcher32=False, codecs=None, endian="native", quantize=None,
                        attrs=None):
        """Creates a variable.

        :param dtype: a numpy type, ``str``, or the name of a user-defined type. Plain Zarr has some types that netCDF
            lacks: ``bool``, ``float16``, complex numbers, ``datetime64`` and ``timedelta64``.
        :param dims: names of dimensions that are visible from the group.
        :param chunks: the shape of a chunk; the library chooses one if the variable needs chunks.
        :param shards: the shape of a shard, for Zarr V3.
        :param fill_value: the value of elements that were never written; ``False`` leaves them undefined.
        :param zlib: compress with deflate at ``complevel``, after ``shuffle``.
        :param codecs: the filters in the order of encoding: JSON descriptions, dicts, or
            ``(name, HDF5 parameters)``.
        :param quantize: ``("BitGroom", 3)``, ``("GranularBitRound", 3)`` or ``("BitRound", 10)``.
        :raises TypeError: if the format has no type for ``dtype``.
        """
        native, code, form = self._add_variable(name, dtype, list(dims))
        if chunks is not None:
            native.set_chunking([int(length) for length in chunks])
        if shards is not None:
            native.set_shards([int(length) for length in shards])
        if codecs is not None:
            native.set_codecs([_codec(codec) for codec in codecs])
        if zlib:
            native.set_deflate(complevel, bool(shuffle))
        if fletcher32:
            native.set_fletcher32()
        if quantize is not None:
            native.set_quantize(*quantize)
        if endian != "native":
            native.set_endian(endian == "big")
        if fill_value is False:
            native.set_no_fill()
        elif fill_value is not None and form is not None:
            native.set_fill(*form.fill_pair(native, fill_value, name))
        elif fill_value is not None:
            native.set_fill(code, _payload(code, fill_value))
        for attribute, value in (attrs or {}).items():
            native.put_attribute(attribute, *pair_of(value))
        return Variable(native, self._file)

    def _add_variable(self, name, dtype, dims):
        """Returns a new native variable with the name of its netCDF type, or with its form."""
        if isinstance(dtype, str) and dtype in self._visible_types():
            return self._native.add_variable(name, dtype, dims), dtype, None
        form = _zarr_types.form_of_dtype(dtype)
        if form is None or form.code is None or not _zarr_types.has_types(self._file.info()):
            code = _types.code_of(dtype)
            return self._native.add_variable(name, code, dims), code, None
        return form.add_variable(self._native, name, dims, self._file.info()), None, form

    def _visible_types(self):
        group, names = self._native, set()
        while group is not None:
            names.update(described[1] for described in group.types())
            group = group.parent()
        return names

    def rename(self, name):
        """Renames it."""
        self._native.rename(name)

    def __repr__(self):
        return f"<nczarr.Group {self.path!r}: {', '.join(self) or 'empty'}>"


def _codec(codec):
    if isinstance(codec, str):
        return codec, None
    if isinstance(codec, dict):
        return json.dumps(codec), None
    name, params = codec
    return name, [int(param) for param in params]


def _payload(code, value):
    if code == "str":
        return [value]
    if code == "S1":
        return value.encode() if isinstance(value, str) else bytes(value)
    if code in _types.ATOMIC:
        return np.asarray(value, _types.ATOMIC[code]).tobytes()
    return [value]
